"""Elapsed time of large linear fits and of plain fits on one and two threads, also of BLAS."""

import json
import os
import sys
import warnings
from statistics import median
from time import perf_counter, process_time

import numpy as np
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from benchmarks.sizes import smallest
from benchmarks.subprocesses import run_module
from benchmarks.tables import Check, Report
from skfair.classification import ConstrainedERMClassifier, PartialParityClassifier

CASES = {
    "demographic parity": lambda n_jobs: ConstrainedERMClassifier(tolerance=0.02, n_jobs=n_jobs),
    "equalized odds": lambda n_jobs: ConstrainedERMClassifier(
        "equalized_odds", tolerance=0.02, n_jobs=n_jobs
    ),
    "percentiles": lambda n_jobs: PartialParityClassifier(
        interval=(0.1, 0.4), tolerance=0.05, n_jobs=n_jobs
    ),
    "plain": lambda n_jobs: LogisticRegression(),
}
"""Estimators with a number of threads; the plain one has those of its libraries."""

TIMED = ("demographic parity", "equalized odds", "percentiles")
WIDE = (10_000, 500)
"""Fits of many samples, and samples and columns of a wide one."""

ARMS = {"1": (1, 1), "2": (2, 1), "2, BLAS as set": (2, None)}
"""Threads of the fit and of BLAS; None keeps the setting of BLAS."""


@smallest(TIMED=TIMED[:1], WIDE=(500, 20))
def thread_time(budget):
    """Elapsed time of constrained fits of a million samples on two threads against one."""
    n_samples = round(1e6 * budget.fraction)
    records = []
    checks = []
    for case in TIMED:
        seconds = _measure_in_process(case, n_samples, 10, budget.n_runs)
        records += _records(case, seconds)
        two = seconds["2"]
        gains = [one / both for (one, _), (both, _) in zip(seconds["1"], two, strict=True)]
        checks.append(Check(f"1 thread / 2, elapsed, {case}", [median(gains)], ">=", 1.6))
        checks += _blas_checks(case, two, seconds["2, BLAS as set"])
    case = "demographic parity"
    seconds = _measure_in_process(case, *WIDE, budget.n_runs)
    records += _records(f"{case}, {WIDE[0]:,} x {WIDE[1]}", seconds)
    checks += _blas_checks(f"{WIDE[0]:,} x {WIDE[1]}", seconds["2"], seconds["2, BLAS as set"])
    title = f"{n_samples:,} rows, 10 columns, two groups; medians of alternating runs"
    return Report(title, records, checks if budget.fraction == 1 else [])


@smallest()
def plain_time(budget):
    """Elapsed time of a constrained fit of 5e6 samples against LogisticRegression, two threads."""
    n_samples = round(5e6 * budget.fraction)
    seconds = _measure_in_process("demographic parity, plain", n_samples, 10, min(3, budget.n_runs))
    records = _records("", seconds)
    ours, plain = (seconds[case] for case in ("demographic parity", "plain"))
    ratios = [a / b for (a, _), (b, _) in zip(ours, plain, strict=True)]
    check = Check("constrained fit / LogisticRegression, elapsed", [median(ratios)], "<=", 1.2)
    title = f"{n_samples:,} rows, 10 columns, two threads each"
    return Report(title, records, [check] if budget.fraction == 1 else [])


def _blas_checks(case, one, as_set):
    """Bounds of elapsed and CPU time with the threads of BLAS."""
    pairs = [*zip(as_set, one, strict=True)]
    return [
        Check(f"BLAS as set / 1, {name}, {case}", [median(a[k] / b[k] for a, b in pairs)], "<=", at)
        for k, (name, at) in enumerate({"elapsed": 1.05, "CPU": 1.1}.items())
    ]


def _records(case, seconds):
    return [
        {
            "fit": case or arm,
            "threads": arm if case else "2",
            "elapsed s": median(elapsed for elapsed, _ in runs),
            "CPU s": median(cpu for _, cpu in runs),
        }
        for arm, runs in seconds.items()
    ]


def _measure_in_process(cases, n_samples, n_columns, n_runs):
    """Seconds from a process in which BLAS has its default number of threads."""
    limits = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    environment = {name: value for name, value in os.environ.items() if name not in limits}
    sizes = n_samples, n_columns, n_runs
    return run_module(__name__, cases, *sizes, environment=environment)


def measure(cases, n_samples, n_columns, n_runs):
    """Pairs of elapsed and CPU seconds by contender. Contenders alternate after a warm-up.

    One case has a contender per entry of `ARMS`. Two cases are contenders on two threads each.
    """
    X, y, groups = draw(n_samples, n_columns)
    if cases in CASES:
        contenders = {arm: (CASES[cases], *threads) for arm, threads in ARMS.items()}
    else:
        contenders = {case: (CASES[case], 2, None) for case in cases.split(", ")}
    seconds = {name: [] for name in contenders}
    for run in range(n_runs + 1):
        for name, (make, n_jobs, blas) in contenders.items():
            arguments = {} if make is CASES["plain"] else {"sensitive_features": groups}
            with threadpool_limits(blas, "blas"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                start = perf_counter()
                cpu = process_time()
                make(n_jobs).fit(X, y, **arguments)
                times = perf_counter() - start, process_time() - cpu
            if run:
                seconds[name].append(times)
    return seconds


def draw(n_samples, n_columns):
    """Normal columns, classes and groups; the second group is shifted in the first column."""
    rng = np.random.default_rng(0)
    groups = rng.integers(2, size=n_samples)
    X = rng.normal(size=(n_samples, n_columns))
    X[:, 0] += 0.8 * groups
    y = X[:, :10] @ rng.normal(size=10) / 2 + rng.logistic(size=n_samples) > 0
    return X, y, groups


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], *map(int, sys.argv[2:]))))
