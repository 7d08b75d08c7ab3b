"""Results of a benchmark as plain text: flat records, and checks of figures against bounds."""

from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import t

FOLDER = Path(__file__).parent / "figures"
"""Where pictures are written; git ignores it."""


class Check(NamedTuple):
    """A figure and the bound that it must meet."""

    what: str
    values: list  # one per run or case; empty where there is nothing to compare with
    sense: str  # ">=" or "<="
    bound: float

    @property
    def worst(self):
        """The least favourable value."""
        return min(self.values) if self.sense == ">=" else max(self.values)

    @property
    def outcome(self):
        """Whether the bound is met: "yes", "median" (by the median only), "no", "-" if unknown."""
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
    earlier_records: list = []  # those of tables in the title


def show(report):
    """The report as text."""
    tables = [record_table(report.records)]
    if report.checks:
        tables.append(check_table(report.checks))
    return "\n\n".join([report.title, *tables])


def join_reports(reports):
    """One report of several, with the tables of all but the last in its title."""
    checks = [check for report in reports for check in report.checks]
    *others, last = [report._replace(checks=[]) for report in reports]
    title = "\n\n".join([*map(show, others), last.title])
    earlier_records = [record for report in others for record in report.records]
    return Report(title, last.records, checks, earlier_records)


def save_figure(figure, name, **settings):
    """Write a picture to `FOLDER` and close it."""
    import matplotlib.pyplot as plt

    FOLDER.mkdir(exist_ok=True)
    figure.savefig(FOLDER / name, dpi=120, **settings)
    plt.close(figure)


def record_table(records):
    """Records as a table, one line each. Missing values stay empty."""
    return pd.DataFrame(records).to_string(index=False, float_format="{:.4g}".format, na_rep="")


def check_table(checks):
    """Checks as a table: requirement, median and worst value, whether the requirement is met."""
    rows = [
        {
            "check": check.what,
            "requirement": f"{check.sense} {check.bound:g}",
            "median": f"{median(check.values):.4g}" if check.values else "reference not found",
            "worst": f"{check.worst:.4g}" if check.values else "",
            "met": check.outcome,
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
