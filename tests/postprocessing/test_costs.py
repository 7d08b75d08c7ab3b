"""ConstrainedClassifierCV(cost_matrix=...): costs by true and predicted class."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from skfair._postprocessing.costs import read_cost_matrix, split_costs
from skfair.classification import ConstrainedClassifierCV

COSTS = np.array([[0.0, 1.0, 8.0], [2.0, 0.0, 1.0], [9.0, 3.0, 0.0]])


class Known(ClassifierMixin, BaseEstimator):
    """The true probabilities of the levels."""

    def __init__(self, table=None):
        self.table = table

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return self.table[np.asarray(X)[:, 0].astype(int)]


def draw(seed, n_levels=4):
    """Samples of two groups and few levels, whose classes have exactly their probability."""
    rng = np.random.default_rng(seed)
    table = rng.multinomial(17, rng.dirichlet(np.ones(3), size=n_levels)) + 1
    counts = rng.integers(1, 12, size=(2, n_levels))[:, :, np.newaxis] * table
    group, level, y = (np.repeat(one.ravel(), counts.ravel()) for one in np.indices(counts.shape))
    costs = rng.integers(1, 11, size=(3, 3)) * (1.0 - np.eye(3))
    return table / 20, level[:, np.newaxis].astype(float), y, np.array(["a", "b"])[group], costs


def find_smallest_cost(table, level, y, group, costs, tolerance):
    """Cost of the best of all decisions by level and group that some shifts of the classes make."""
    n_levels = len(table)
    gains = -table @ costs
    assignments = np.array(list(product(range(3), repeat=n_levels)))
    of_groups = []
    for name in ("a", "b"):
        inside = group == name
        counts = np.bincount(level[inside], minlength=n_levels)
        by_level = np.zeros((n_levels, 3))
        np.add.at(by_level, level[inside], costs[y[inside]])
        cost = by_level[np.arange(n_levels), assignments].sum(axis=1)
        rates = [((assignments == k) * counts).sum(axis=1) / counts.sum() for k in range(3)]
        # Shifts exist if no circle of classes has a negative sum of leads.
        leads = np.full((3, 3, len(assignments)), np.inf)
        for one, other in product(range(3), repeat=2):
            lead = np.where(assignments == one, gains[:, one] - gains[:, other], np.inf)
            leads[one, other] = lead.min(axis=1)
        circles = [(0, 1), (0, 2), (1, 2), (0, 1, 2), (0, 2, 1)]
        sums = [sum(leads[c[i - 1], c[i]] for i in range(len(c))) for c in circles]
        reachable = np.min(sums, axis=0) >= -1e-12
        of_groups.append((cost[reachable], np.transpose(rates)[reachable]))
    (cost_a, rates_a), (cost_b, rates_b) = of_groups
    gaps = np.abs(rates_a[:, np.newaxis] - rates_b).max(axis=2)
    totals = cost_a[:, np.newaxis] + cost_b
    return totals[gaps <= tolerance + 1e-12].min()


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "tolerance"), [(1, 0.05), (2, 0.05), (3, 0.2)])
def test_no_decisions_by_level_and_group_cost_half_a_percent_less(seed, tolerance):
    table, X, y, group, costs = draw(seed)
    model = ConstrainedClassifierCV(
        FrozenEstimator(Known(table).fit(X, y)),
        tolerance=tolerance,
        cost_matrix=costs,
        group_estimator="sensitive_features",
    ).fit(X, y, sensitive_features=group)
    decisions = model.oof_decision_function_.argmax(axis=1)
    rates = [np.bincount(decisions[group == g], minlength=3) / sum(group == g) for g in ("a", "b")]
    assert np.abs(rates[0] - rates[1]).max() <= tolerance + 1e-12
    smallest = find_smallest_cost(table, X[:, 0].astype(int), y, group, costs, tolerance)
    assert smallest <= costs[y, decisions].sum() <= 1.005 * smallest


def draw_plain(n_samples=600, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    group = rng.choice(["a", "b"], size=n_samples)
    X = rng.normal(size=(n_samples, n_classes))
    X[:, 0] += group == "b"
    return X, (X + rng.gumbel(size=X.shape)).argmax(axis=1), group


def fit(data, constraint="demographic_parity", **params):
    X, y, group = data
    params = {"cv": 3, "group_estimator": LogisticRegression()} | params
    model = ConstrainedClassifierCV(LogisticRegression(), constraint, **params)
    return model.fit(X, y, sensitive_features=group)


@pytest.mark.parametrize("settings", [{"constraint": None}, {"tolerance": 1.0}])
def test_without_an_active_constraint_the_expected_cost_is_least(settings):
    data = draw_plain()
    X = data[0]
    probabilities = fit(data, None).predict_proba(X)
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    expected = probabilities @ COSTS
    model = fit(data, cost_matrix=COSTS, **settings)
    np.testing.assert_array_equal(model.predict(X), expected.argmin(axis=1))


def test_two_classes_have_the_costs_of_class_weight():
    data = draw_plain(n_classes=2)
    by_matrix = fit(data, tolerance=0.05, cost_matrix=[[-2.0, 1.0], [6.0, 5.0]])
    by_class = fit(data, tolerance=0.05, class_weight={0: 3.0, 1: 1.0})
    np.testing.assert_array_equal(by_matrix.rule_coef_, by_class.rule_coef_)
    X = data[0]
    np.testing.assert_array_equal(by_matrix.decision_function(X), by_class.decision_function(X))


@pytest.mark.covering(0)
@pytest.mark.parametrize("tolerance", [1.0, 0.05])
def test_weights_of_classes_are_a_matrix_and_its_diagonal_need_not_be_zero(tolerance):
    data = draw_plain(seed=1)
    X, weights = data[0], np.array([1.0, 2.0, 4.0])
    matrix = weights[:, np.newaxis] * (1.0 - np.eye(3)) + [[1.0], [-7.0], [0.5]]
    scores = [
        fit(data, tolerance=tolerance, **costs).decision_function(X)
        for costs in ({"cost_matrix": matrix}, {"class_weight": dict(enumerate(weights))})
    ]
    np.testing.assert_allclose(*scores, atol=1e-10)


def test_a_table_names_its_classes_in_any_order():
    labels = np.array(["buy", "hold", "sell"])
    table = pd.DataFrame(COSTS, labels, labels).loc[
        ["sell", "buy", "hold"], ["hold", "sell", "buy"]
    ]
    np.testing.assert_array_equal(read_cost_matrix(table, labels), COSTS)


def test_one_vs_rest_errors_are_costs_up_to_a_constant_of_the_sample():
    codes = np.arange(3)
    targets, weights = split_costs(codes, COSTS)
    counted = np.array(
        [[weights[i] @ (np.eye(3)[j] != (targets[i] > 0)) for j in codes] for i in codes]
    )
    np.testing.assert_allclose(counted - np.diag(counted)[:, np.newaxis], COSTS)


@pytest.mark.filterwarnings("ignore:sample_weight is one number for each class")
def test_sample_weights_multiply_costs():
    X, y, group = draw_plain(seed=2)
    frozen = FrozenEstimator(LogisticRegression().fit(X, y))
    weights = np.where(y == 2, 3.0, 1.0)
    weighted = ConstrainedClassifierCV(frozen, None, cost_matrix=COSTS)
    weighted.fit(X, y, sample_weight=weights)
    rows = np.repeat(np.arange(len(y)), weights.astype(int))
    repeated = ConstrainedClassifierCV(frozen, None, cost_matrix=COSTS).fit(X[rows], y[rows])
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X))
    assert log_loss(y, weighted.predict_proba(X) / weighted.predict_proba(X).sum(1)[:, None]) < 1.2


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        (COSTS[:2], r"^cost_matrix must have a row and a column .* shape is \(2, 3\)"),
        ("cheap", "'cost_matrix' parameter"),
        ([["a"] * 3] * 3, "^cost_matrix must be a square array of numbers"),
        (np.where(COSTS == 8, np.inf, COSTS), "^cost_matrix must have finite costs"),
        (-COSTS, "^cost_matrix must have the least cost of each row on its diagonal"),
        (np.ones((3, 3)), r"that of class 0 is \[1.0, 1.0, 1.0\]"),
        (pd.DataFrame(COSTS, columns=list("abc")), "^cost_matrix must name the classes"),
    ],
)
def test_costs_that_say_nothing_are_refused(costs, message):
    with pytest.raises(ValueError, match=message):
        fit(draw_plain(), cost_matrix=costs)


def test_costs_are_stated_once():
    with pytest.raises(ValueError, match="class_weight='balanced' must be None"):
        fit(draw_plain(), cost_matrix=COSTS, class_weight="balanced")
