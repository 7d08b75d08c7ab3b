"""Audits of a table of counts that stands for a billion samples, and of millions of rows."""

from benchmarks.sizes import smallest
from benchmarks.subprocesses import run_module
from benchmarks.tables import Check, Report

N_COUNTED, N_ROWS, N_IMPACT = 1_000_000_000, 4_000_000, 10_000_000
"""Samples of the table of counts, rows of a report, and samples of each group of adverse impact."""

MEASUREMENTS = "benchmarks.scale.audit_measurements"
"""Module that measures in a process of its own, and imports what it measures alone."""


@smallest(N_COUNTED=100_000, N_ROWS=20_000, N_IMPACT=1_000)
def audit_counts(budget):
    """A billion samples as 98,000 counts: reports, certificates, subgroups; and 4,000,000 rows."""
    n_counted, n_rows, n_impact = (
        max(1000, round(n * budget.fraction)) for n in (N_COUNTED, N_ROWS, N_IMPACT)
    )
    small, large = (run_module(MEASUREMENTS, "counts", n_counted, k) for k in (2, 4))
    rows = run_module(MEASUREMENTS, "rows", n_rows)
    impact = run_module(MEASUREMENTS, "impact", n_impact)
    checks = [
        Check("CPU seconds, report of 14 groups", [small["report s"]], "<=", 1.0),
        Check("peak GB, report of 14 groups", [small["report peak GB"]], "<=", 0.3),
        Check("CPU seconds, report of 980 groups", [large["report s"]], "<=", 5.0),
        Check("peak GB, report of 980 groups", [large["report peak GB"]], "<=", 0.65),
        Check("CPU seconds, report of the rows", [rows["report s"]], "<=", 1.5),
        Check("CPU seconds, adverse impact", [impact["impact s"]], "<=", 0.1),
        Check("reports of rows and of their counts are equal", [rows["is equal"]], "==", 1),
    ]
    return Report("Audits of counts, one per process", [small, large, rows, impact], checks)
