"""Where the plain fit keeps the bounds, every estimator with a tolerance returns it."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LinearRegression, LogisticRegression

from skfair._fitting import network as network_module
from skfair.classification import (
    ConstrainedClassifierCV,
    ConstrainedERMClassifier,
    ConstrainedMLPClassifier,
    PartialParityClassifier,
    PartialParityPostprocessor,
)
from skfair.constraints import BoundedGroupLoss, DemographicParity, MinimumRate
from skfair.datasets import make_ranking
from skfair.metrics import equalized_odds_difference
from skfair.ranking import ConstrainedRanker
from skfair.regression import (
    ConstrainedERMRegressor,
    ConstrainedRegressorCV,
    PartialParityRegressor,
)
from skfair.solvers import AdamPrimalDual

DECISIONS = (
    "demographic_parity",
    "equal_opportunity",
    "false_positive_rate_parity",
    "equalized_odds",
    "error_rate_parity",
)
OF_SCORES = (
    "mean_parity",
    "loss_parity",
    "equal_opportunity_loss",
    "equalized_odds_loss",
    "partial_statistical_parity",
    "partial_demographic_parity",
    "partial_equal_opportunity",
    "partial_group_auc",
)
CRITERIA = [f"partial_{name}" for name in ("statistical_parity", "demographic_parity")]
CRITERIA += ["partial_equal_opportunity", "partial_group_auc"]
N_FAST, N_SLOW = 100, 800  # a mistake in half a percent of the cases is still met by 98 of 100


def draw_samples(rng):
    """Features of any separability, classes, real targets and groups that features know."""
    n_samples, n_groups = int(rng.integers(600, 900)), int(rng.integers(2, 4))
    X, y = make_classification(
        n_samples,
        6,
        class_sep=rng.choice([0.3, 1.0, 2.0, 4.0]),
        flip_y=rng.choice([0.0, 0.1]),
        random_state=int(rng.integers(1 << 30)),
    )
    known = X[:, 0] + rng.choice([0.2, 1.0, 3.0]) * rng.normal(size=n_samples)
    groups = np.searchsorted(np.quantile(known, np.arange(1, n_groups) / n_groups), known)
    groups = np.where(rng.random(n_samples) < 0.3, groups, rng.integers(n_groups, size=n_samples))
    return X, y, X @ rng.normal(size=6) + rng.logistic(size=n_samples), groups


def draw_factor(rng):
    """Tolerance in multiples of the plain gap: exactly 1 in a third of the cases, up to 3."""
    return 1.0 if rng.random() < 1 / 3 else rng.uniform(1.0, 3.0)


def largest_gaps(model):
    """The gap of each constraint of a fit."""
    report = model.constraint_report_
    return report.groupby("constraint", sort=False)["gap"].max().to_numpy()


def fit_pair(rng, estimator, data, loose=1.0):
    """The fit at a tolerance that is never active, and that at a multiple of its gap."""
    plain = clone(estimator).set_params(tolerance=loose).fit(**data)
    tolerance = min(loose, largest_gaps(plain).max() * draw_factor(rng))
    return plain, clone(estimator).set_params(tolerance=tolerance).fit(**data)


# Each kind of case draws a plain fit and one whose bounds it keeps, and how to judge both.


def draw_linear(rng):
    """A linear classifier under a parity of decisions, losses or ranks."""
    X, y, _, groups = draw_samples(rng)
    is_of_decisions = rng.random() < 0.8
    interactions = (False, False, True, "intercept")[int(rng.integers(4))]
    estimator = ConstrainedERMClassifier(
        str(rng.choice(DECISIONS if is_of_decisions else OF_SCORES)),
        group_interactions=interactions,
        class_weight=(None, "balanced")[int(rng.integers(2))],
        alpha=float(rng.choice([1e-4, 1e-2])),
    )
    data = {"X": X, "y": y, "sensitive_features": groups}
    data["sample_weight"] = rng.choice([0.5, 1.0, 2.0], size=len(y)) if rng.random() < 0.2 else None
    needed = {"sensitive_features": groups} if interactions else {}
    is_bounded = is_of_decisions or estimator.constraint.startswith(("mean", "partial"))
    fits = fit_pair(rng, estimator, data, 1.0 if is_bounded else 1e3)
    return *fits, lambda one: ((one.predict(X, **needed) != y).sum(), one.objective_)


def draw_bounds(rng):
    """A linear classifier under a list with a floor, a ratio and a bound on losses."""

    def make(floor, ratio, largest):
        bounds = [
            MinimumRate("true_positive_rate", floor),
            DemographicParity(ratio=ratio),
            BoundedGroupLoss(largest),
        ]
        return ConstrainedERMClassifier(bounds).fit(X, y, sensitive_features=groups)

    X, y, _, groups = draw_samples(rng)
    while (plain := make(1e-6, 1e-6, 1e6)).constraint_violation_ > 0.0:  # a rate is 0
        X, y, _, groups = draw_samples(rng)
    floor, ratio, largest = largest_gaps(plain)
    gaps = 1.0 - floor, 1.0 - ratio
    settings = [np.clip(1.0 - gap * draw_factor(rng), 1e-6, 1.0).item() for gap in gaps]
    fair = make(*settings, largest * draw_factor(rng))
    return plain, fair, lambda one: ((one.predict(X) != y).sum(), one.objective_)


def draw_two_constraints(rng):
    """A linear classifier under two parities."""
    X, y, _, groups = draw_samples(rng)
    names = [str(name) for name in rng.choice(DECISIONS, size=2, replace=False)]
    data = {"X": X, "y": y, "sensitive_features": groups}
    fits = fit_pair(rng, ConstrainedERMClassifier(names), data)
    return *fits, lambda one: ((one.predict(X) != y).sum(), one.objective_)


def draw_partial_parity(rng):
    """A linear classifier under a criterion on an interval of percentiles."""
    X, y, _, groups = draw_samples(rng)
    interval = (0.0, 0.5) if rng.random() < 0.5 else (0.2, 0.8)
    estimator = PartialParityClassifier(str(rng.choice(CRITERIA)), interval=interval)
    fits = fit_pair(rng, estimator, {"X": X, "y": y, "sensitive_features": groups})
    return *fits, lambda one: ((one.predict(X) != y).sum(), one.objective_)


def draw_postprocessor(rng):
    """Ranks within groups, by the scores of any classifier."""
    X, y, _, groups = draw_samples(rng)
    criterion = str(rng.choice(["partial_statistical_parity", "partial_equal_opportunity"]))
    estimator = PartialParityPostprocessor(LogisticRegression(), constraint=criterion)
    fits = fit_pair(rng, estimator, {"X": X, "y": y, "sensitive_features": groups})
    return *fits, lambda one: (0, one.objective_)


def draw_any_model(rng):
    """Decisions by out-of-fold scores of a classifier."""
    X, y, _, groups = draw_samples(rng)
    estimator = ConstrainedClassifierCV(
        LogisticRegression(),
        str(rng.choice(DECISIONS)),
        class_weight=(None, "balanced")[int(rng.integers(2))],
        group_estimator=(None, LogisticRegression())[int(rng.integers(2))],
        ensemble=bool(rng.integers(2)),
    )
    fits = fit_pair(rng, estimator, {"X": X, "y": y, "sensitive_features": groups})
    sign = np.where(y == 1, 1.0, -1.0)

    def judge(one):
        margins = sign * one.oof_decision_function_
        return (margins <= 0).sum(), np.logaddexp(0.0, -margins).mean()

    return *fits, judge


def draw_regression(rng):
    """A regressor: linear, on percentiles, or around any other."""
    X, _, y, groups = draw_samples(rng)
    estimator, loose = (
        (ConstrainedERMRegressor("mean_parity"), 1e3),
        (ConstrainedERMRegressor("loss_parity"), 1e3),
        (PartialParityRegressor(interval=(0.2, 0.8)), 1.0),
        (ConstrainedRegressorCV(LinearRegression(), "mean_parity"), 1e3),
    )[int(rng.integers(4))]
    data = {"X": X, "y": y, "sensitive_features": groups}
    return *fit_pair(rng, estimator, data, loose), lambda one: (0, one.objective_)


def draw_ranking(rng):
    """A ranker of the documents of queries."""
    X, y, query, groups = make_ranking(20, n_documents=10, random_state=int(rng.integers(1 << 30)))
    data = {"X": X, "y": y, "query_id": query, "sensitive_features": groups}
    return *fit_pair(rng, ConstrainedRanker(), data), lambda one: (0, one.objective_)


KINDS = {
    draw_linear: 0.58,
    draw_bounds: 0.1,
    draw_two_constraints: 0.08,
    draw_partial_parity: 0.08,
    draw_regression: 0.08,
    draw_any_model: 0.04,
    draw_ranking: 0.02,
    draw_postprocessor: 0.02,
}
"""Share of each kind of case."""


def find_worse_fits(seeds):
    """Cases in which a fit makes one error more than the plain one, or has a higher objective."""
    worse = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        draw = rng.choice(list(KINDS), p=list(KINDS.values()))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            plain, fair, judge = draw(rng)
        (errors, objective), (plain_errors, plain_objective) = judge(fair), judge(plain)
        is_worse = errors > plain_errors or objective > plain_objective * (1.0 + 1e-6) + 1e-12
        if is_worse:
            worse.append((seed, draw.__name__, fair, errors - plain_errors, objective))
    return worse


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, N_FAST, 25))
def test_fits_are_no_worse_than_a_plain_one_that_keeps_the_bounds(first):
    assert find_worse_fits(range(first, first + 25)) == []


@pytest.mark.slow
@pytest.mark.parametrize("first", range(N_FAST, N_SLOW, 100))
def test_many_fits_are_no_worse_than_a_plain_one_that_keeps_the_bounds(first):
    assert find_worse_fits(range(first, first + 100)) == []


def test_plain_decisions_are_kept_where_smooth_rates_are_beyond_the_bound():
    # Scores of separable classes are huge, so that no smooth rate is that of the decisions.
    X, y = make_classification(2000, 6, random_state=0)
    noise = np.random.default_rng(0).normal(size=2000)
    sex = np.where(X[:, 0] + noise > 0, "m", "f")
    plain = ConstrainedERMClassifier(None).fit(X, y, sensitive_features=sex)
    gap = equalized_odds_difference(y, plain.predict(X), sensitive_features=sex)
    fair = ConstrainedERMClassifier("equalized_odds", tolerance=1.05 * gap)
    fair.fit(X, y, sensitive_features=sex)
    np.testing.assert_array_equal(fair.coef_, plain.coef_)
    assert fair.status_ == "optimal"


@pytest.mark.parametrize("factor", [0.5, 1.0, 2.0])
def test_the_last_layer_of_a_network_is_the_plain_one_if_that_keeps_the_bound(factor, monkeypatch):
    X, y, _, groups = draw_samples(np.random.default_rng(3))
    fitters = []
    search = network_module.enforce_in_population

    def record(fitter, *args):
        # The trained layers depend on the tolerance: it is set for the last one alone.
        gap = fitter.fit_unconstrained().gaps
        fitters.append(fitter.replace_tolerances(factor * gap))
        return search(fitters[-1], *args)

    monkeypatch.setattr(network_module, "enforce_in_population", record)
    network = ConstrainedMLPClassifier(
        "equalized_odds", solver=AdamPrimalDual(max_iter=5), random_state=0, tolerance=0.05
    )
    network.fit(X, y, sensitive_features=groups)
    fitter = fitters[0]
    plain, _ = fitter.problem.model.coefficients(fitter.fit_unconstrained().parameters)
    is_equal = np.allclose(network.coefs_[-1].ravel(), plain, rtol=1e-9)
    assert is_equal == (factor >= 1.0)


@pytest.mark.parametrize("make", [ConstrainedERMClassifier, ConstrainedClassifierCV])
def test_a_certain_plain_fit_is_returned_with_a_confidence(make):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 4))
    groups = rng.integers(2, size=2000)
    y = (X.sum(axis=1) + rng.logistic(size=2000) > 0).astype(int)
    base = {"estimator": LogisticRegression()} if make is ConstrainedClassifierCV else {}
    fits = [
        make(**base, constraint="demographic_parity", tolerance=0.15, confidence_level=level).fit(
            X, y, sensitive_features=groups
        )
        for level in (None, 0.95)
    ]
    plain = make(**base, constraint=None).fit(X, y, sensitive_features=groups)
    coef = "rule_coef_" if make is ConstrainedClassifierCV else "coef_"
    for fair in fits:
        np.testing.assert_array_equal(getattr(fair, coef), getattr(plain, coef))
    assert fits[1].guarantee_probability_ >= 0.95
