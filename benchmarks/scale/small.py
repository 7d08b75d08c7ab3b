"""Time of fits to small and medium data against plain fits, where the constraint binds.

``python -m benchmarks small`` prints one row for each of the `CASES`.
"""

import warnings
from collections.abc import Callable
from functools import cache, partial
from statistics import median
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from benchmarks.data import fetch_adult, fetch_compas
from benchmarks.packages import is_installed
from benchmarks.scale.speed import draw_columns
from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report
from benchmarks.timing import median_seconds, run_alternately
from skfair._kernels import compile_at_first_call
from skfair.classification import ConstrainedClassifierCV, ConstrainedERMClassifier
from skfair.cluster import FairKMeans
from skfair.constraints import PartialStatisticalParity

N_DRAWS = 5
"""Draws of generated samples."""

N_PAIRS = 4
"""Pairs of fits per run of the budget."""

N_CLUSTERS = 5


class Case(NamedTuple):
    """A fit under a constraint, and the plain fit that it is compared with."""

    name: str
    loads: tuple  # () -> X, y, groups, of each draw
    fit: Callable  # (X, y, groups) -> fitted estimator
    fit_plain: Callable  # (X, y, groups) -> fitted estimator
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


def _fit_logistic(X, y, groups):
    return LogisticRegression(max_iter=1000).fit(X, y)


def _fit_ranks(X, y, groups):
    """Parity among the samples from the second to the seventh decile of scores."""
    return _fit_linear(PartialStatisticalParity((0.2, 0.7)), 0.05, X, y, groups)


def _fit_boosting(X, y, groups):
    return HistGradientBoostingClassifier(random_state=0).fit(X, y)


def _fit_any_model(X, y, groups):
    """Boosting on five folds, and a small boosted model of the group."""
    model = ConstrainedClassifierCV(
        HistGradientBoostingClassifier(random_state=0),
        tolerance=0.05,
        group_estimator=HistGradientBoostingClassifier(
            max_iter=30, max_leaf_nodes=4, random_state=0
        ),
    )
    return model.fit(X, y, sensitive_features=groups)


def _measure_any_model(model):
    """Largest gap out of fold, and status."""
    return {"gap": float(model.constraint_report_["gap"].max()), "status": model.status_}


def _draw_separable(seed):
    """Classes that a plane separates."""
    X, _, groups = draw(1000, 5, 2, seed)
    return X, (X @ np.array([1.0, 0.5, -0.5, 0.3, 0.2]) > 0.5).astype(int), groups


def _measure_linear(model):
    """Largest gap, status, and whether the constraint binds."""
    return {
        "gap": float(model.constraint_report_["gap"].max()),
        "status": model.status_,
        "binds": bool(model.multipliers_.any()),
    }


def linear_case(name, loads, criterion, tolerance, max_ratio):
    """A linear classifier against a logistic regression."""
    short = {"demographic_parity": "DP", "equalized_odds": "EO"}[criterion]
    fit = partial(_fit_linear, criterion, tolerance)
    title = f"{name}, {short} {tolerance:g}"
    return Case(title, loads, fit, _fit_logistic, max_ratio, _measure_linear)


def _fit_clusters(X, y, groups, **limits):
    groups = groups if limits.get("min_balance", 0.8) else None
    return FairKMeans(N_CLUSTERS, random_state=0, **limits).fit(X, sensitive_features=groups)


def _fit_one_more(X, y, groups):
    """The same fit to one sample more."""
    X, groups = draw_columns(len(X) + 1, 1.5)
    return _fit_clusters(X, y, groups)


def _fit_plain_clusters(X, y, groups):
    return KMeans(N_CLUSTERS, random_state=0).fit(X)


def _size_bounds(X):
    """Sizes within a fifth of the mean."""
    size = len(X) / N_CLUSTERS
    return int(0.8 * size), int(np.ceil(1.2 * size))


def _fit_sizes(X, y, groups):
    smallest, largest = _size_bounds(X)
    limits = {"min_cluster_size": smallest, "max_cluster_size": largest}
    return _fit_clusters(X, y, groups, min_balance=None, **limits)


def _fit_peer_sizes(X, y, groups):
    from k_means_constrained import KMeansConstrained

    smallest, largest = _size_bounds(X)
    return KMeansConstrained(N_CLUSTERS, smallest, largest, random_state=0).fit(X)


def _measure_clusters(model):
    """Cost, balance and status."""
    return {
        "cost": model.objective_,
        "relative balance": model.relative_balance_,
        "status": model.status_,
    }


def _load_columns(n_samples):
    X, groups = draw_columns(n_samples, 1.5)
    return X, None, groups


def cluster_case(name, n_samples, fit, fit_plain, max_ratio):
    """Clusters of ten columns without clusters."""
    load = partial(_load_columns, n_samples)
    return Case(name, (load,), fit, fit_plain, max_ratio, _measure_clusters)


DP, EO = "demographic_parity", "equalized_odds"

CASES = [
    *(
        linear_case(
            f"{n} x {p}, {k} groups",
            tuple(partial(draw, n, p, k, seed) for seed in range(1, 1 + N_DRAWS)),
            criterion,
            tolerance,
            bound,
        )
        for n, p, k, bound in (
            (200, 5, 2, 8.0),
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
            (partial(load_one_hot, fetch, sensitive),),
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
    *(
        Case(
            f"percentiles / DP 0.05, {name}",
            tuple(partial(load, seed) for seed in range(1, 1 + N_DRAWS)),
            _fit_ranks,
            partial(_fit_linear, DP, 0.05),
            3.0,
            _measure_linear,
        )
        for name, load in (
            ("1000 x 5", partial(draw, 1000, 5, 2)),
            ("1000 x 5, separable", _draw_separable),
        )
    ),
    *(
        Case(
            f"any model / boosting, {n:,} x 10",
            (partial(draw, n, 10, 2, 1),),
            _fit_any_model,
            _fit_boosting,
            5.5,
            _measure_any_model,
        )
        for n in (1000, 30_000)
    ),
    cluster_case("FairKMeans, 100 rows / 101", 100, _fit_clusters, _fit_one_more, 4.0),
    *(
        cluster_case(
            f"FairKMeans / KMeansConstrained, sizes, {n} rows", n, _fit_sizes, _fit_peer_sizes, 1.0
        )
        for n in (30, 60, 100)
    ),
    *(
        cluster_case(f"FairKMeans / KMeans, {n:,} rows", n, _fit_clusters, _fit_plain_clusters, 3.0)
        for n in (1000, 20_000, 300_000)
    ),
]
"""Fits that are timed; each kind of fit has a function that makes its cases."""


@smallest(
    N_PAIRS=1,
    CASES=[
        case
        for case in CASES
        if case.name.startswith(
            ("1000 x 5, 2 groups, DP 0.02", "FairKMeans / KMeansConstrained, sizes, 30 ")
        )
    ],
)
def small(budget):
    """Time of fits to 30 to 300,000 samples against plain fits, where the constraint binds."""
    cases = [
        case
        for case in CASES
        if (not budget.cells or _is_named(case, budget.cells))
        and (case.fit_plain is not _fit_peer_sizes or is_installed("k_means_constrained"))
    ]
    records = [_time(case, budget) for case in cases]
    checks = [
        Check(f"fit / plain, {case.name}", [record["ratio"]], "<=", case.max_ratio)
        for case, record in zip(cases, records, strict=True)
    ]
    return Report("Small and medium data: CPU time of a fit / plain fit", records, checks)


def _is_named(case, texts):
    return any(text in case.name for text in texts)


def _time(case, budget):
    """The record of a case: medians over its draws of medians of pairs of fits."""
    n_pairs = max(1, N_PAIRS * budget.n_runs // len(case.loads))
    records = [_time_draw(case, load, n_pairs) for load in case.loads]
    return records[0] | {
        key: median(record[key] for record in records) for key in ("plain ms", "fit ms", "ratio")
    }


def _time_draw(case, load, n_pairs):
    """The record of one draw: medians of pairs of fits, after a fit of each."""
    X, y, groups = load()
    contenders = {
        "plain": lambda _: case.fit_plain(X, y, groups),
        "fit": lambda _: case.fit(X, y, groups),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of columns that reveal the group, and of small groups
        with compile_at_first_call():  # as after many fits, or where kernels are stored on disk
            case.fit(X, y, groups)
        runs = run_alternately(contenders, n_pairs)
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
