"""Time of fits to small and medium data against plain fits, where the constraint binds.

``python -m benchmarks small`` prints one row for each of the `CASES`.
"""

from collections.abc import Callable
from functools import cache, partial
from statistics import median
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from benchmarks.tables import Check, Report
from benchmarks.timing import median_seconds, run_alternately
from skfair.classification import ConstrainedERMClassifier
from skfair.datasets import fetch_adult, fetch_compas

N_PAIRS = 4
"""Pairs of fits per run of the budget."""


class Case(NamedTuple):
    """A fit under a constraint, and the plain fit that it is compared with."""

    name: str
    load: Callable  # () -> X, y, groups
    fit: Callable  # (X, y, groups) -> fitted estimator
    fit_plain: Callable  # (X, y) -> fitted estimator
    max_ratio: float  # of the times of both, median of the pairs
    measure: Callable  # fitted estimator -> figures for the table


def draw(n_samples, n_features, n_groups, seed=1):
    """Columns of which the first depends on the group, and classes that depend on all of them."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(n_groups, size=n_samples)
    X = rng.normal(size=(n_samples, n_features))
    X[:, 0] += 1.6 * groups / n_groups
    weights = 1.2 * rng.normal(size=n_features) / np.sqrt(n_features)
    weights[0] = 1.0
    score = X @ weights + rng.logistic(size=n_samples)
    return X, (score > np.median(score)).astype(int), groups


@cache
def load_one_hot(fetch, sensitive):
    """Real samples with one-hot columns, standardised."""
    bunch = fetch(sensitive=sensitive)
    X = StandardScaler().fit_transform(pd.get_dummies(bunch.data).to_numpy(dtype=np.float64))
    y = pd.factorize(np.asarray(bunch.target), sort=True)[0]
    return X, y, np.asarray(bunch.sensitive_features).astype(str)


def _fit_linear(criterion, tolerance, X, y, groups):
    model = ConstrainedERMClassifier(criterion, tolerance=tolerance)
    return model.fit(X, y, sensitive_features=groups)


def _fit_logistic(X, y):
    return LogisticRegression(max_iter=1000).fit(X, y)


def _measure_linear(model):
    """Largest gap, status, and whether the constraint binds."""
    return {
        "gap": float(model.constraint_report_["gap"].max()),
        "status": model.status_,
        "binds": bool(model.multipliers_.any()),
    }


def linear_case(name, load, criterion, tolerance, max_ratio):
    """A linear classifier against a logistic regression."""
    short = {"demographic_parity": "DP", "equalized_odds": "EO"}[criterion]
    fit = partial(_fit_linear, criterion, tolerance)
    title = f"{name}, {short} {tolerance:g}"
    return Case(title, load, fit, _fit_logistic, max_ratio, _measure_linear)


DP, EO = "demographic_parity", "equalized_odds"

CASES = [
    *(
        linear_case(f"{n} x {p}, {k} groups", partial(draw, n, p, k), criterion, tolerance, bound)
        for n, p, k, bound in (
            (1000, 5, 2, 5.0),
            (1000, 5, 4, 10.0),
            (1000, 30, 2, 4.0),
            (10_000, 20, 2, 6.0),
            (10_000, 20, 4, 6.0),
        )
        for criterion in (DP, EO)
        for tolerance in (0.02, 0.05)
    ),
    *(
        linear_case(
            f"{name}, {sensitive}",
            partial(load_one_hot, fetch, sensitive),
            criterion,
            tolerance,
            bound,
        )
        for name, fetch, bound in (("COMPAS", fetch_compas, 6.0), ("Adult", fetch_adult, 3.0))
        for sensitive, criterion, tolerance in (
            ("sex", DP, 0.02),
            ("race", DP, 0.05),
            ("sex", EO, 0.02),
            ("race", EO, 0.05),
        )
    ),
]
"""Fits that are timed. Others, such as of clusterings, need one entry each."""


def small(budget):
    """Time of fits to 1,000 to 33,000 samples against plain fits, where the constraint binds."""
    cases = [case for case in CASES if not budget.cells or _is_named(case, budget.cells)]
    records = [_time(case, budget) for case in cases]
    checks = [
        Check(f"fit / plain, {case.name}", [record["ratio"]], "<=", case.max_ratio)
        for case, record in zip(cases, records, strict=True)
    ]
    return Report("Small and medium data: CPU time of a fit / plain fit", records, checks)


def _is_named(case, texts):
    return any(text in case.name for text in texts)


def _time(case, budget):
    """The record of a case: medians of pairs of fits, after a fit of each."""
    X, y, groups = case.load()
    contenders = {
        "plain": lambda _: case.fit_plain(X, y),
        "fit": lambda _: case.fit(X, y, groups),
    }
    runs = run_alternately(contenders, N_PAIRS * budget.n_runs)
    ratios = [
        fit.seconds / plain.seconds for plain, fit in zip(runs["plain"], runs["fit"], strict=True)
    ]
    return {
        "case": case.name,
        "plain ms": 1e3 * median_seconds(runs["plain"]),
        "fit ms": 1e3 * median_seconds(runs["fit"]),
        "ratio": median(ratios),
        **case.measure(runs["fit"][-1].result),
    }
