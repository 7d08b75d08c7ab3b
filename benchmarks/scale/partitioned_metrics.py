"""Metrics of many people: threads side by side, against one."""

from statistics import median
from time import perf_counter

import joblib
import numpy as np
import pandas as pd
from sklearn.metrics import accuracy_score

from benchmarks.tables import Check, Report
from skfair.metrics import balance_score, equalized_odds_difference, group_report

SIZES = 1_000_000, 10_000_000
NAMES = np.array(["amber", "blue", "cyan", "dune"])


def partitioned_metrics(budget):
    """Metrics of a million and of ten million people by one thread and by two.

    Of a million they take as long as starting a few threads; there only the bits are compared.
    Their accuracy by scikit-learn is timed for scale.
    """
    records, checks = [], []
    for size in SIZES:
        n_people = int(max(0.1, budget.share) * size)
        for what, compute in _metrics(n_people):
            compute()
            alone, two = zip(
                *[(_timed(compute, 1), _timed(compute, 2)) for _ in range(budget.n_runs)],
                strict=True,
            )
            times = [median(own for _, own in runs) for runs in (alone, two)]
            records.append({"people": n_people, "what": what})
            records[-1] |= {"1 thread (ms)": 1e3 * times[0], "2 threads (ms)": 1e3 * times[1]}
            if what == "accuracy":
                continue
            one, other = (np.asarray(runs[0][0], dtype=float) for runs in (alone, two))
            differing = int((one.view(np.int64) != other.view(np.int64)).sum())
            what = f"{what}, {n_people}"
            checks.append(Check(f"bits that differ, threads, {what}", [differing], "<=", 0))
            if size == max(SIZES):
                ratios = [a / b for (_, a), (_, b) in zip(alone, two, strict=True)]
                checks.append(Check(f"time, 1 thread / 2, {what}", ratios, ">=", 1.7))
    return Report("Metrics of many people", records, checks)


def _metrics(n_people):
    """Names and functions of no argument."""
    rng = np.random.default_rng(0)
    codes, truth = rng.integers(4, size=n_people), rng.integers(2, size=n_people)
    decided = (rng.random(n_people) < 0.4 + 0.05 * codes).astype(int)
    weights, names = rng.random(n_people), NAMES[codes]
    table = pd.DataFrame({"name": pd.Series(names, dtype="str"), "late": decided > truth})
    categories = pd.Series(pd.Categorical.from_codes(codes, NAMES))
    yield "accuracy", lambda: accuracy_score(truth, decided, sample_weight=weights)
    for what, metric, columns, groups in (
        ("equalized odds of integers", equalized_odds_difference, (truth, decided), codes),
        ("equalized odds of strings", equalized_odds_difference, (truth, decided), names),
        ("report of categories", group_report, (truth, decided), categories),
        ("report of two attributes", group_report, (truth, decided), table),
        ("balance of integers", balance_score, (codes,), decided),
    ):
        people = {"sensitive_features": groups, "sample_weight": weights}
        yield what, lambda of=metric, data=columns, people=people: of(*data, **people)


def _timed(compute, n_jobs):
    """What was computed, and the seconds that one waits for it."""
    with joblib.parallel_config(n_jobs=n_jobs):
        start = perf_counter()
        return compute(), perf_counter() - start
