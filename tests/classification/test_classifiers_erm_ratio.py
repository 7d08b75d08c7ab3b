"""Ratios of rates: kept on decisions by every classifier, alone and with other constraints."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from skfair import metrics
from skfair.classification import (
    ConstrainedClassifierCV,
    ConstrainedERMClassifier,
    ConstrainedMLPClassifier,
)
from skfair.constraints import (
    DemographicParity,
    EqualizedOdds,
    EqualOpportunity,
    ErrorRateParity,
    FalsePositiveRateParity,
)
from skfair.exceptions import InfeasibleConstraintWarning
from skfair.solvers import AdamPrimalDual, SwitchingSubgradient

RATIO = 0.85
PARITIES = [
    DemographicParity(ratio=RATIO),
    EqualOpportunity(ratio=RATIO),
    FalsePositiveRateParity(ratio=0.95),
    EqualizedOdds(ratio=RATIO),
    ErrorRateParity(ratio=0.95),
]


@pytest.fixture(scope="module")
def data():
    """Three groups with different means of a feature, and labels that depend on it."""
    rng = np.random.default_rng(0)
    groups = rng.choice(list("abc"), size=900, p=[0.25, 0.35, 0.4])
    X = rng.normal(size=(900, 4))
    X[:, 0] += 0.7 * (groups == "a") + 0.4 * (groups == "b")
    y = X.sum(axis=1) + (1.0 + (groups == "c")) * rng.logistic(size=900) > 0.8
    return X, y.astype(int), groups, rng.uniform(0.2, 2.0, 900)


def ratio_of(parity, y, decisions, groups, weights=None, **settings):
    """The public metric that a ratio of a constraint bounds."""
    metric = getattr(metrics, parity.ratio_metric)
    return metric(y, decisions, sensitive_features=groups, sample_weight=weights, **settings)


def keeps(parity, y, decisions, groups):
    """Whether decisions keep a ratio, which the metric divides out of two rounded rates."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of rates that are 0 in all groups, which are equal
        return not ratio_of(parity, y, decisions, groups) < parity.ratio - 1e-12


def fit(model, data):
    X, y, groups, _ = data
    return model.fit(X, y, sensitive_features=groups)


def test_by_hand():
    # Groups alternate along one feature. The threshold 5.5 makes no error, at rates 1/4 and 2/4;
    # the next ones, 4.5 and 6.5, make one, at rates 2/4 and 2/4, or 1/4 and 1/4.
    X = np.arange(1.0, 9.0)[:, np.newaxis]
    y = np.repeat([0, 1], [5, 3])
    groups = list("abababab")
    for ratio, n_errors, reached in ((0.5, 0, 0.5), (0.51, 1, 1.0), (1.0, 1, 1.0)):
        model = ConstrainedERMClassifier(DemographicParity(ratio=ratio, min_group_size=1))
        decisions = model.fit(X, y, sensitive_features=groups).predict(X)
        assert ratio_of(model.constraint, y, decisions, groups) == reached
        assert (decisions != y).sum() == n_errors


@pytest.mark.covering(1)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("parity", PARITIES, ids=str)
def test_decisions_keep_the_ratio(data, parity, weighted):
    X, y, groups, weights = data
    weights = weights if weighted else None
    metadata = {"sensitive_features": groups, "sample_weight": weights}
    model = ConstrainedERMClassifier(parity).fit(X, y, **metadata)
    plain = ConstrainedERMClassifier(None).fit(X, y, **metadata)
    ratio = ratio_of(parity, y, model.predict(X), groups, weights)
    assert ratio_of(parity, y, plain.predict(X), groups, weights) < parity.ratio <= ratio
    assert model.status_ in ("optimal", "feasible")
    assert model.constraint_violation_ == 0.0
    # The report states the ratio and its bound, as claims do.
    report = model.constraint_report_
    np.testing.assert_allclose(report["gap"], ratio)
    np.testing.assert_allclose(report["tolerance"], parity.ratio)
    assert model.tightened_tolerances_ == pytest.approx([parity.ratio])
    assert model.score(X, y, weights) > plain.score(X, y, weights) - 0.12


def test_ratios_within_strata(data):
    X, y, groups, _ = data
    parity = DemographicParity(control_features=lambda X: X[:, 1] > 0, ratio=RATIO)
    model = fit(ConstrainedERMClassifier(parity), data)
    assert ratio_of(parity, y, model.predict(X), groups, control_features=X[:, 1] > 0) >= RATIO


def test_a_ratio_of_one_is_equality(data):
    # Rates of groups of one size may be equal without being 0 or 1.
    rows = np.concatenate([np.flatnonzero(data[2] == group)[:200] for group in "ab"])
    X, y, groups = (one[rows] for one in data[:3])
    model = ConstrainedERMClassifier(DemographicParity(ratio=1.0))
    decisions = model.fit(X, y, sensitive_features=groups).predict(X)
    assert ratio_of(model.constraint, y, decisions, groups) == 1.0
    assert 0.1 < decisions.mean() < 0.9


def test_ratios_and_differences_together(data):
    X, y, groups, _ = data
    both = [DemographicParity(ratio=0.8), EqualOpportunity(tolerance=0.1)]
    model = fit(ConstrainedERMClassifier(both), data)
    decisions = model.predict(X)
    assert ratio_of(both[0], y, decisions, groups) >= 0.8
    difference = metrics.equal_opportunity_difference(y, decisions, sensitive_features=groups)
    assert difference <= 0.1
    assert model.constraint_report_["tolerance"].round(9).unique().tolist() == [0.8, 0.1]


@pytest.mark.slow
@given(seed=st.integers(0, 10**6), parity=st.sampled_from(PARITIES), is_tied=st.booleans())
def test_a_threshold_keeps_the_ratio_where_any_does(seed, parity, is_tied):
    """Brute force: with one feature all models are its thresholds, in both directions."""
    rng = np.random.default_rng(seed)
    groups = np.r_[0, 0, 1, 1, 2, 2, rng.integers(3, size=80)]
    X = rng.normal(size=(len(groups), 1)) + 0.5 * groups[:, np.newaxis]
    X = np.round(X) if is_tied else X
    y = (X[:, 0] + rng.logistic(size=len(groups)) > rng.normal()).astype(int)
    y[:6] = 0, 1, 0, 1, 0, 1
    values = np.unique(X)
    thresholds = np.r_[values[0] - 1, (values[1:] + values[:-1]) / 2, values[-1] + 1]
    errors = [
        np.mean(decisions != y)
        for one in thresholds
        for decisions in ((X[:, 0] > one).astype(int), (X[:, 0] < one).astype(int))
        if keeps(parity, y, decisions, groups)
    ]
    model = ConstrainedERMClassifier(parity.set_params(min_group_size=1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of constant decisions, and bounds that none keep
        model.fit(X, y, sensitive_features=groups)
    holds = keeps(parity, y, model.predict(X), groups)
    assert (model.status_ != "infeasible") == holds == bool(errors)
    if errors:
        assert 0 <= round(1 - model.score(X, y) - min(errors), 9) <= 0.08


# Other classifiers and solvers -----------------------------------------------------------


@pytest.mark.slow
def test_decisions_of_any_model_keep_the_ratio(data):
    model = fit(ConstrainedClassifierCV(LogisticRegression(), EqualizedOdds(ratio=RATIO)), data)
    _, y, groups, _ = data
    assert ratio_of(model.constraint, y, model.oof_decision_function_ > 0, groups) >= RATIO
    assert model.multipliers_.any()


@pytest.mark.slow
def test_decisions_of_each_class_keep_the_ratio(data):
    X, y, groups, _ = data
    y = y + (X[:, 1] > 0.8)
    model = ConstrainedClassifierCV(LogisticRegression(), DemographicParity(ratio=RATIO))
    model.fit(X, y, sensitive_features=groups)
    classes = model.classes_[model.oof_decision_function_.argmax(axis=1)]
    for label in model.classes_:
        selected = (classes == label).astype(int)
        assert ratio_of(model.constraint, (y == label).astype(int), selected, groups) >= RATIO


def test_networks_keep_the_ratio(data):
    X, y, groups, _ = data
    settings = {"hidden_layer_sizes": 4, "solver": AdamPrimalDual(max_iter=10), "random_state": 0}
    model = fit(ConstrainedMLPClassifier(DemographicParity(ratio=RATIO), **settings), data)
    assert ratio_of(model.constraint, y, model.predict(X), groups) >= RATIO
    assert model.constraint_violation_ == 0.0


@pytest.mark.covering(0)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("solver", [SwitchingSubgradient(max_iter=400), "plada"])
def test_other_solvers_bound_the_smooth_ratio(solver, data):
    parity = DemographicParity(ratio=RATIO)
    smooth = fit(ConstrainedERMClassifier(parity, enforcement=None), data)
    other = ConstrainedERMClassifier(parity, enforcement=None, solver=solver)
    other = fit(other, data)
    assert other.objective_ == pytest.approx(smooth.objective_, rel=0.02)


# Guarantees ------------------------------------------------------------------------------


def test_a_guaranteed_ratio_is_held_with_a_margin(data):
    X, y, groups, _ = data
    X, y, groups = (np.concatenate([one, one, one, one]) for one in (X, y, groups))
    X = X + np.random.default_rng(1).normal(scale=0.1, size=X.shape)
    parity = DemographicParity(ratio=0.7)
    model = ConstrainedERMClassifier(parity, confidence_level=0.9)
    model.fit(X, y, sensitive_features=groups)
    ratio = ratio_of(parity, y, model.predict(X), groups)
    assert model.guarantee_probability_ >= 0.9 and model.verdict_ == "shown"
    assert ratio >= model.tightened_tolerances_[0] > 0.7
    assert 0.7 <= model.guaranteed_tolerances_[0] < ratio


@pytest.mark.filterwarnings("ignore:The constraint and confidence_level move")
def test_a_ratio_of_few_samples_is_uncertain(data):
    X, y, groups, _ = data
    model = ConstrainedERMClassifier(DemographicParity(ratio=0.9), confidence_level=0.95)
    with pytest.warns(InfeasibleConstraintWarning, match="population keeps .* Lower the ratio,"):
        model.fit(X[:200], y[:200], sensitive_features=groups[:200])
    assert model.verdict_ == "open"


# Messages --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parity", "match"),
    [
        (DemographicParity(ratio=0.8, tolerance=0.1), "both; pass one of them"),
        (DemographicParity(ratio=0.8, reference="overall"), 'reference="groups"'),
        (EqualizedOdds(ratio=0.8, aggregate="sum"), 'aggregate="max"'),
        (DemographicParity(ratio=0.0), "'ratio' parameter"),
        (DemographicParity(ratio=1.2), "'ratio' parameter"),
    ],
    ids=str,
)
def test_parameters_that_do_not_go_together(data, parity, match):
    with pytest.raises(ValueError, match=match):
        fit(ConstrainedERMClassifier(parity), data)


def test_a_ratio_that_is_not_kept_is_named():
    # Scores are all equal, so that decisions are constant; their error rates are the base rates.
    X = np.zeros((40, 1))
    y = np.r_[np.zeros(15), np.ones(25)]
    groups = np.repeat([0, 1], 20)
    model = ConstrainedERMClassifier(ErrorRateParity(ratio=0.5))
    with pytest.warns(UserWarning) as caught:
        model.fit(X, y, sensitive_features=groups)
    assert model.status_ == "infeasible"
    message = str(caught[0].message)
    assert "ratio of ErrorRateParity is 0.25 on the training data, less than 0.5." in message
    assert "Lower the ratio" in message and "tolerance" not in message


def test_the_cost_of_a_ratio_is_named():
    rng = np.random.default_rng(0)
    groups = rng.integers(2, size=2000)
    X = 3.0 * groups[:, np.newaxis] + rng.normal(size=(2000, 1))
    with pytest.warns(UserWarning, match=r"farthest from its ratio of 0.9, .* Lower the ratio,"):
        ConstrainedERMClassifier(DemographicParity(ratio=0.9)).fit(
            X, X[:, 0] > 1.5, sensitive_features=groups
        )
