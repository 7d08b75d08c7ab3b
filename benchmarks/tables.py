"""What a benchmark found: flat records, and figures beside what they must reach, as plain text."""

from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import t

FOLDER = Path(__file__).parent / "figures"
"""Where pictures are written; git ignores it."""


class Check(NamedTuple):
    """A figure and what it must reach."""

    what: str
    values: list  # one per run or case; empty where there is nothing to compare with
    sense: str  # ">=" or "<="
    bound: float

    @property
    def worst(self):
        return min(self.values) if self.sense == ">=" else max(self.values)

    @property
    def reached(self):
        """Is it? "yes" in every run, "median" if in the median only, "no", "-" if not measured."""
        if not self.values:
            return "-"
        if self._holds(self.worst):
            return "yes"
        return "median" if self._holds(median(self.values)) else "no"

    def _holds(self, value):
        return value >= self.bound if self.sense == ">=" else value <= self.bound


class Report(NamedTuple):
    """The outcome of a benchmark."""

    title: str
    records: list  # of dicts, one per case
    checks: list  # of Check


def show(report):
    """The report as text."""
    tables = [record_table(report.records)]
    if report.checks:
        tables.append(check_table(report.checks))
    return "\n\n".join([report.title, *tables])


def record_table(records):
    """Records as a table, one line each; what a record does not have stays empty."""
    return pd.DataFrame(records).to_string(index=False, float_format="{:.4g}".format, na_rep="")


def check_table(checks):
    """Checks as a table: what it must reach, median and worst value, whether it is reached."""
    rows = [
        {
            "what": check.what,
            "must reach": f"{check.sense} {check.bound:g}",
            "median": f"{median(check.values):.4g}" if check.values else "reference not found",
            "worst": f"{check.worst:.4g}" if check.values else "",
            "reached": check.reached,
        }
        for check in checks
    ]
    return pd.DataFrame(rows).to_string(index=False)


def half_width(values):
    """Half the width of the 95 % interval of a mean by Student's t, nan for a single value."""
    n = len(values)
    if n < 2:
        return float("nan")
    return float(t.ppf(0.975, n - 1) * np.std(values, ddof=1) / np.sqrt(n))
