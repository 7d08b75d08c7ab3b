"""Time and memory of audits of counts and rows, in a process that imports nothing else."""

import json
import sys
from time import process_time
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from benchmarks.subprocesses import peak_gigabytes
from skfair.audit import Audit

LEVELS = {"sex": 2, "race": 7, "age": 10, "region": 7, "product": 25}
"""Attributes of the table of counts with their numbers of values: 98,000 rows with outcomes."""


class Timed(NamedTuple):
    """Result of a function and its CPU seconds."""

    result: Any
    seconds: float


def _time(function):
    """Call a function, and measure its time."""
    start = process_time()
    result = function()
    return Timed(result, process_time() - start)


def draw_counts(n_samples, rng):
    """Table of counts by five attributes, outcome and decision, of so many samples."""
    grid = np.indices([*LEVELS.values(), 2, 2]).reshape(len(LEVELS) + 2, -1)
    table = pd.DataFrame(dict(zip([*LEVELS, "outcome", "decision"], grid, strict=True)))
    rate = 0.3 + 0.02 * (table["sex"] == 0) + 0.01 * table["race"] / 7
    sizes = rng.gamma(2.0, size=len(table) // 4).repeat(4)
    share = np.where(table["outcome"] == 1, 0.4, 0.6)
    share = share * np.where(table["decision"] == 1, rate, 1.0 - rate) * sizes
    return table.assign(n=rng.multinomial(n_samples, share / share.sum()))


def measure_counts(n_samples, n_attributes):
    """Time and memory of a report, and times of a certificate and a search, of counts."""
    table = draw_counts(n_samples, np.random.default_rng(0))
    names = [*LEVELS][:n_attributes]
    columns = {"counts": "n", "y_true": "outcome", "y_pred": "decision"}
    load = _time(lambda: Audit.from_counts(table, sensitive_features=names, **columns))
    report = _time(load.result.report)
    record = {"data": f"{len(table):,} counts", "samples": n_samples}
    record |= {"groups": int(np.prod([LEVELS[name] for name in names]))}
    record |= {"load s": load.seconds, "report s": report.seconds}
    record |= {"report peak GB": peak_gigabytes()}
    if n_attributes == 2:
        certificate = _time(lambda: load.result.certify("demographic_parity", 0.05))
        search = Audit.from_counts(table, sensitive_features=[*LEVELS], **columns)
        record |= {"certificate s": certificate.seconds}
        record |= {"subgroups s": _time(search.subgroups).seconds}
    return record


def measure_rows(n_rows):
    """Time and memory of a report of rows, and whether that of their counts is equal."""
    rng = np.random.default_rng(0)
    groups = pd.DataFrame(
        {
            "sex": pd.Categorical.from_codes(rng.integers(2, size=n_rows), ["f", "m"]),
            "race": pd.Categorical.from_codes(rng.integers(5, size=n_rows), list("abcde")),
        }
    )
    outcome = (rng.random(n_rows) < 0.4).astype(int)
    decision = (rng.random(n_rows) < np.where(groups["sex"] == "f", 0.38, 0.41)).astype(int)
    report = _time(
        lambda: Audit.from_predictions(outcome, decision, sensitive_features=groups).report()
    )
    peak = peak_gigabytes()
    table = groups.assign(outcome=outcome, decision=decision)
    counts = table.groupby(list(table), observed=True).size().reset_index(name="n")
    of_counts = Audit.from_counts(
        counts.assign(sex=counts["sex"].astype(str), race=counts["race"].astype(str)),
        counts="n",
        sensitive_features=["sex", "race"],
        y_true="outcome",
        y_pred="decision",
    )
    is_equal = report.result.to_json() == of_counts.report().to_json()
    record = {"data": f"{n_rows:,} rows", "samples": n_rows, "groups": 10}
    return record | {"report s": report.seconds, "report peak GB": peak, "is equal": int(is_equal)}


def measure_impact(n_samples):
    """Time of adverse impact for two groups of so many samples each."""
    table = pd.DataFrame({"sex": ["f", "f", "m", "m"], "hired": [0, 1, 0, 1]})
    hired = int(0.3 * n_samples), int(0.3002 * n_samples)
    table["n"] = [n_samples - hired[0], hired[0], n_samples - hired[1], hired[1]]
    audit = Audit.from_counts(table, counts="n", sensitive_features="sex", y_pred="hired")
    impact = _time(audit.report().adverse_impact)
    record = {"data": "4 counts", "samples": 2 * n_samples, "groups": 2}
    return record | {"impact s": impact.seconds, "report peak GB": peak_gigabytes()}


MEASUREMENTS = {"counts": measure_counts, "rows": measure_rows, "impact": measure_impact}

if __name__ == "__main__":
    name, *numbers = sys.argv[1:]
    print(json.dumps(MEASUREMENTS[name](*map(int, numbers))))
