"""Audits of a table of counts that stands for a billion samples, and of millions of rows."""

import json
import sys

import numpy as np
import pandas as pd

from benchmarks.sizes import smallest
from benchmarks.subprocesses import peak_gigabytes, run_module
from benchmarks.tables import Check, Report
from benchmarks.timing import time_call
from skfair.audit import Audit, FairnessReport

N_COUNTED, N_ROWS, N_IMPACT = 1_000_000_000, 4_000_000, 10_000_000
"""Samples of the table of counts, rows of a report, and samples of each group of adverse impact."""

LEVELS = {"sex": 2, "race": 7, "age": 10, "region": 7, "product": 25}
"""Attributes of the table of counts with their numbers of values: 98,000 rows with outcomes."""


@smallest(N_COUNTED=100_000, N_ROWS=20_000, N_IMPACT=1_000)
def audit_counts(budget):
    """A billion samples as 98,000 counts: reports, certificates, subgroups; and 4,000,000 rows."""
    n_counted, n_rows, n_impact = (
        max(1000, round(n * budget.fraction)) for n in (N_COUNTED, N_ROWS, N_IMPACT)
    )
    few, many = (run_module(__name__, "counts", n_counted, k) for k in (2, 4))
    rows = run_module(__name__, "rows", n_rows)
    impact = run_module(__name__, "impact", n_impact)
    checks = [
        Check("CPU seconds, report of 14 groups", [few["report s"]], "<=", 1.0),
        Check("peak GB, report of 14 groups", [few["report peak GB"]], "<=", 0.3),
        Check("CPU seconds, report of 980 groups", [many["report s"]], "<=", 5.0),
        Check("peak GB, report of 980 groups", [many["report peak GB"]], "<=", 0.65),
        Check("CPU seconds, report of the rows", [rows["report s"]], "<=", 1.5),
        Check("CPU seconds, adverse impact", [impact["impact s"]], "<=", 0.1),
        Check("reports of rows and of their counts are equal", [rows["is equal"]], "==", 1),
    ]
    return Report("Audits of counts, one per process", [few, many, rows, impact], checks)


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
    table, names = draw_counts(n_samples, np.random.default_rng(0)), [*LEVELS][:n_attributes]
    columns = {"n": "n", "outcome": "outcome", "decision": "decision"}
    load = time_call(lambda: Audit.from_counts(table, sensitive_features=names, **columns))
    report = time_call(load.result.report)
    record = {"data": f"{len(table):,} counts", "samples": n_samples}
    record |= {"groups": int(np.prod([LEVELS[name] for name in names]))}
    record |= {"load s": load.seconds, "report s": report.seconds}
    record |= {"report peak GB": peak_gigabytes()}
    if n_attributes == 2:
        certificate = time_call(lambda: load.result.certify("demographic_parity", 0.05))
        search = Audit.from_counts(table, sensitive_features=[*LEVELS], **columns)
        record |= {"certificate s": certificate.seconds}
        record |= {"subgroups s": time_call(search.subgroups).seconds}
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
    report = time_call(
        lambda: FairnessReport.from_predictions(outcome, decision, sensitive_features=groups)
    )
    peak = peak_gigabytes()
    table = groups.assign(outcome=outcome, decision=decision)
    counts = table.groupby(list(table), observed=True).size().reset_index(name="n")
    of_counts = Audit.from_counts(
        counts.assign(sex=counts["sex"].astype(str), race=counts["race"].astype(str)),
        n="n",
        sensitive_features=["sex", "race"],
        outcome="outcome",
        decision="decision",
    )
    is_equal = report.result.to_json() == of_counts.report().to_json()
    record = {"data": f"{n_rows:,} rows", "samples": n_rows, "groups": 10}
    return record | {"report s": report.seconds, "report peak GB": peak, "is equal": int(is_equal)}


def measure_impact(n_samples):
    """Time of adverse impact for two groups of so many samples each."""
    table = pd.DataFrame({"sex": ["f", "f", "m", "m"], "hired": [0, 1, 0, 1]})
    hired = int(0.3 * n_samples), int(0.3002 * n_samples)
    table["n"] = [n_samples - hired[0], hired[0], n_samples - hired[1], hired[1]]
    audit = Audit.from_counts(table, n="n", sensitive_features="sex", decision="hired")
    impact = time_call(audit.report().adverse_impact)
    record = {"data": "4 counts", "samples": 2 * n_samples, "groups": 2}
    return record | {"impact s": impact.seconds, "report peak GB": peak_gigabytes()}


MEASUREMENTS = {"counts": measure_counts, "rows": measure_rows, "impact": measure_impact}

if __name__ == "__main__":
    name, *numbers = sys.argv[1:]
    print(json.dumps(MEASUREMENTS[name](*map(int, numbers))))
