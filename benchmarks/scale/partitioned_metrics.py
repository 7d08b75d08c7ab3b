"""Metrics of many samples: two threads against one."""

from functools import partial
from statistics import median
from time import perf_counter

import joblib
import numpy as np
import pandas as pd
from sklearn.metrics import accuracy_score

from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report
from skfair.metrics import balance_score, equalized_odds_difference, group_report

SIZES = 1_000_000, 10_000_000
NAMES = np.array(["amber", "blue", "cyan", "dune"])


@smallest(SIZES=(2000, 20_000))
def partitioned_metrics(budget):
    """Metrics of a million and of ten million samples by one thread and by two.

    With a million samples a metric takes as long as the start of a few threads, so only the bits
    are compared there. scikit-learn's accuracy is timed for scale.
    """
    records, checks = [], []
    for size in SIZES:
        n_samples = int(max(0.1, budget.fraction) * size)
        for what, compute in _metrics(n_samples):
            compute()
            one, two = zip(
                *[(_time(compute, 1), _time(compute, 2)) for _ in range(budget.n_runs)],
                strict=True,
            )
            times = [median(seconds for _, seconds in runs) for runs in (one, two)]
            records.append({"samples": n_samples, "metric": what})
            records[-1] |= {"1 thread (ms)": 1e3 * times[0], "2 threads (ms)": 1e3 * times[1]}
            if what == "accuracy":
                continue
            values, other = (np.asarray(runs[0][0], dtype=float) for runs in (one, two))
            n_different = int((values.view(np.int64) != other.view(np.int64)).sum())
            what = f"{what}, {n_samples}"
            checks.append(Check(f"bits that differ, threads, {what}", [n_different], "<=", 0))
            if size == max(SIZES):
                ratios = [a / b for (_, a), (_, b) in zip(one, two, strict=True)]
                checks.append(Check(f"time, 1 thread / 2, {what}", ratios, ">=", 1.7))
    return Report("Metrics of many samples", records, checks)


def _metrics(n_samples):
    """Yield names, and functions without arguments."""
    rng = np.random.default_rng(0)
    codes, truth = rng.integers(4, size=n_samples), rng.integers(2, size=n_samples)
    decisions = (rng.random(n_samples) < 0.4 + 0.05 * codes).astype(int)
    weights = rng.random(n_samples)
    names = NAMES[codes]
    table = pd.DataFrame({"name": pd.Series(names, dtype="str"), "late": decisions > truth})
    categories = pd.Series(pd.Categorical.from_codes(codes, NAMES))
    yield "accuracy", lambda: accuracy_score(truth, decisions, sample_weight=weights)
    for what, metric, columns, groups in (
        ("equalized odds of integers", equalized_odds_difference, (truth, decisions), codes),
        ("equalized odds of strings", equalized_odds_difference, (truth, decisions), names),
        ("report of categories", group_report, (truth, decisions), categories),
        ("report of two attributes", group_report, (truth, decisions), table),
        ("balance of integers", balance_score, (codes,), decisions),
    ):
        yield what, partial(metric, *columns, sensitive_features=groups, sample_weight=weights)


def _time(compute, n_jobs):
    """Result of a computation and its elapsed seconds."""
    with joblib.parallel_config(n_jobs=n_jobs):
        start = perf_counter()
        return compute(), perf_counter() - start
