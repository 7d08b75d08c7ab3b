"""ConstrainedClassifierCV(class_weight=...): costs of errors, and balanced accuracy."""

from itertools import product

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, log_loss

from skfair.callbacks import FitMonitor
from skfair.classification import ConstrainedClassifierCV
from skfair.metrics import demographic_parity_difference

BASE = LogisticRegression()
ETAS = np.array([0.05, 0.15, 0.3, 0.45, 0.6, 0.8])


def draw(n_samples=3000, seed=0, shift=1.0):
    """Classes whose probability has few levels; the groups have other shares of the levels."""
    rng = np.random.default_rng(seed)
    group = rng.choice(["a", "b"], p=[0.6, 0.4], size=n_samples)
    level = np.clip(rng.integers(6, size=n_samples) + shift * (group == "b"), 0, 5).astype(int)
    y = (rng.random(n_samples) < ETAS[level]).astype(int)
    return level[:, np.newaxis].astype(float), y, group


def add_sign_of_group(data):
    """The same data with a column that shows the group: of the level alone no rule is fairer."""
    X, y, group = data
    signs = np.random.default_rng(10).normal(2.0 * (group == "b"))
    return np.column_stack((X, signs)), y, group


class Known(ClassifierMixin, BaseEstimator):
    """The true probabilities of the levels."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        success = ETAS[np.asarray(X)[:, 0].astype(int)]
        return np.column_stack((1.0 - success, success))


def fit(data, constraint="demographic_parity", estimator=BASE, **params):
    X, y, group = data
    params = {"cv": 3, "group_estimator": BASE} | params
    model = ConstrainedClassifierCV(estimator, constraint, **params)
    return model.fit(X, y, sensitive_features=group)


@pytest.fixture(scope="module")
def data():
    return draw()


@pytest.mark.covering(1)
@pytest.mark.parametrize("cost", [0.1, 0.4, 1.0, 3.0, 9.0])
@pytest.mark.parametrize("settings", [{"constraint": None}, {"tolerance": 1.0}])
def test_without_an_active_constraint_the_threshold_is_that_of_the_costs(data, cost, settings):
    X = data[0]
    success = fit(data, None).predict_proba(X)[:, 1]
    model = fit(data, class_weight={0: 1.0, 1: cost}, **settings)
    # An error about a positive costs `cost`: predict it where cost * eta > 1 - eta.
    np.testing.assert_array_equal(model.predict(X), success > 1.0 / (1.0 + cost))


@pytest.mark.slow
def test_the_threshold_is_that_of_the_costs_if_the_first_class_is_positive(data):
    X, y, group = data = add_sign_of_group(data)
    labels = np.where(y == 1, "a good one", "bad")
    as_strings = fit((X, labels, group), class_weight={"a good one": 4.0}, pos_label="a good one")
    as_numbers = fit(data, class_weight={1: 4.0})
    assert 0.0 < as_numbers.predict(X).mean() < 1.0
    np.testing.assert_array_equal(as_strings.predict(X) == "a good one", as_numbers.predict(X))


@pytest.mark.covering(1)
@pytest.mark.parametrize("weights", [{0: 1.0, 1: 3.0}, {0: 5.0, 1: 1.0}, {0: 1.0, 1: 1.0}])
@pytest.mark.parametrize("tolerance", [0.02, 0.1, 0.2])
def test_no_thresholds_of_the_groups_cost_a_hundredth_less(weights, tolerance):
    X, y, group = data = draw(600, seed=1)
    frozen = FrozenEstimator(Known().fit(X, y))
    model = fit(
        data,
        estimator=frozen,
        tolerance=tolerance,
        class_weight=weights,
        group_estimator="sensitive_features",
    )
    cost = np.where(y == 1, weights[1], weights[0])

    def outcome(decisions):
        gap = demographic_parity_difference(y, decisions, sensitive_features=group)
        return gap, cost @ (decisions != y)

    gap, reached = outcome((model.oof_decision_function_ > 0).astype(int))
    assert gap <= tolerance
    # Every pair of thresholds of the two groups.
    outcomes = [
        outcome((X[:, 0] >= np.where(group == "a", *pair)).astype(int))
        for pair in product(range(7), repeat=2)
    ]
    smallest = min(one for gap, one in outcomes if gap <= tolerance)
    assert smallest <= reached <= 1.01 * smallest


@pytest.mark.slow
def test_balanced_weights_maximise_balanced_accuracy():
    X, y, group = data = draw(4000, seed=2, shift=2.0)
    rare = (y == 1) & (np.arange(len(y)) % 5 > 0)
    X, y, group = data = add_sign_of_group((X[~rare], y[~rare], group[~rare]))
    plain, balanced = (fit(data, class_weight=one, tolerance=0.05) for one in (None, "balanced"))
    scores = [
        balanced_accuracy_score(y, one.oof_decision_function_ > 0) for one in (plain, balanced)
    ]
    assert scores[1] > scores[0] + 0.05
    decisions = balanced.oof_decision_function_ > 0
    assert demographic_parity_difference(y, decisions, sensitive_features=group) <= 0.05
    # The inverse sizes of the classes are the same costs.
    by_hand = fit(data, class_weight={0: 1 / (y == 0).sum(), 1: 1 / (y == 1).sum()}, tolerance=0.05)
    np.testing.assert_allclose(by_hand.rule_coef_, balanced.rule_coef_, rtol=1e-6)


def test_samples_of_a_class_of_twice_the_weight_count_twice():
    X, y, group = data = draw(600, seed=3)
    frozen = FrozenEstimator(Known().fit(X, y))
    weighted = fit(data, None, frozen, class_weight={1: 2.0})
    repeated = np.concatenate((np.arange(len(y)), np.flatnonzero(y == 1)))
    twice = tuple(column[repeated] for column in data)
    np.testing.assert_allclose(
        weighted.decision_function(X) > 0, fit(twice, None, frozen).decision_function(X) > 0
    )


@pytest.mark.slow
def test_weights_do_not_reach_the_rates_and_the_estimator(data):
    data = add_sign_of_group(data)
    model = fit(data, tolerance=0.05, class_weight="balanced")
    plain = fit(data, tolerance=0.05)
    for one, other in zip(model.estimators_, plain.estimators_, strict=True):
        np.testing.assert_array_equal(one.coef_, other.coef_)
    np.testing.assert_array_equal(model.calibration_, plain.calibration_)
    X, y, group = data
    decisions = model.oof_decision_function_ > 0
    rates = [decisions[group == name].mean() for name in ("a", "b")]
    np.testing.assert_allclose(model.constraint_report_["estimate"], rates)


def test_the_exported_rule_has_the_costs(data):
    X = data[0]
    model = fit(data, tolerance=0.2, class_weight={1: 2.0})
    rule = model.export_rule()
    scores, probabilities = model.rule_inputs(X)
    z = rule["slope"] * scores + rule["offset"]
    eta = 1.0 / (1.0 + np.exp(-z))
    factors = np.array([np.ones_like(eta), eta, z, eta * z])
    moved = np.einsum("tng,ti,ing->i", np.array(rule["weights"]), factors, probabilities)
    decided = rule["log_odds"] * z + rule["intercept"] + moved > 0
    np.testing.assert_array_equal(decided, model.predict(X))
    assert 1.0 > decided.mean() > fit(data, tolerance=0.2).predict(X).mean() + 0.1


@pytest.mark.callbacks
def test_the_objective_that_callbacks_get_is_the_weighted_one(data):
    X, y, group = data
    monitor = FitMonitor()
    model = ConstrainedClassifierCV(
        BASE, tolerance=0.1, cv=3, class_weight={1: 3.0}, group_estimator="sensitive_features"
    )
    model.set_params(confidence_level=0.5)  # with a margin, that no exact search has
    model = model.set_callbacks(monitor).fit(X, y, sensitive_features=group)
    weights = np.where(y == 1, 3.0, 1.0)
    # The first problem has no constraint: it is the log-loss of scores and known groups.
    scores, _ = model.rule_inputs(X, sensitive_features=group)
    features = np.column_stack((scores, group == "b"))
    plain = LogisticRegression(C=1e8, tol=1e-10).fit(features, y, sample_weight=weights)
    expected = log_loss(y, plain.predict_proba(features), sample_weight=weights)
    log = monitor.log
    last = (log["residual"].diff() > 0).idxmax() - 1  # of the first problem
    assert log["objective"][last] == pytest.approx(expected, rel=1e-4)


@pytest.mark.slow
def test_costs_of_three_classes():
    rng = np.random.default_rng(0)
    group = rng.choice(["a", "b"], size=3000)
    X = rng.normal(size=(3000, 2))
    y = np.array(["bad", "good", "ugly"])[(X + 0.8 * rng.normal(size=X.shape)).argmax(axis=1) * 2]
    y[rng.random(3000) < 0.3] = "good"
    data = X, y, group
    weights = {"bad": 1.0, "good": 1.7, "ugly": 1.0}
    success = fit(data, None).predict_proba(X)
    expected = np.array([*weights])[(success * [*weights.values()]).argmax(axis=1)]
    model = fit(data, class_weight=weights, tolerance=0.5)
    assert (expected == "good").mean() > 0.05
    # Rules of other draws of the folds agree with .936 to .969 of these decisions.
    assert np.mean(model.predict(X) == expected) > 0.93
    assert np.mean(fit(data, None).predict(X) == expected) < 0.7


@pytest.mark.parametrize(
    ("class_weight", "message"),
    [
        ("even", "'class_weight' parameter"),
        ({0: 1.0, 1: -1.0}, r"must be positive and finite, but got \{1: -1.0\}"),
        ({0: 0.0}, "must be positive and finite"),
        ({1: np.inf}, "must be positive and finite"),
        ({"no": 1.0, "yes": 2.0}, "class_weight"),
    ],
)
def test_weights_that_are_no_costs_are_refused(data, class_weight, message):
    with pytest.raises(ValueError, match=message):
        fit(data, class_weight=class_weight)
