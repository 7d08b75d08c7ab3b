"""Warning for constraints that cost most of what the model improves on a constant."""

import re
import warnings

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from skfair.classification import (
    ConstrainedClassifierCV,
    ConstrainedERMClassifier,
    ConstrainedMLPClassifier,
    PartialParityPostprocessor,
)
from skfair.regression import ConstrainedERMRegressor

COSTS = "The constraint costs more than half"


@pytest.fixture(scope="module")
def data():
    """Two large groups, and 11 samples with the smallest values of the only feature."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 1))
    y = (X[:, 0] + 0.3 * rng.normal(size=2000) > 0.8).astype(int)
    groups = rng.choice(["a", "b"], size=2000).astype(object)
    groups[np.argsort(X[:, 0])[:11]] = "tiny"
    return X, y, groups


def cost_warning(model, X, y, groups):
    """The warning about the cost of a fit, or None."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y, sensitive_features=groups)
    messages = [str(one.message) for one in caught if COSTS in str(one.message)]
    assert len(messages) <= 1
    return messages[0] if messages else None


def accuracies_in(message):
    """Accuracies of the fit, of that without constraint and of the best constant prediction."""
    numbers = re.findall(r"(?:is|constraint|prediction) (0\.\d+)", message)
    return [float(one) for one in numbers[:3]]


def test_a_tiny_group_that_costs_the_accuracy_is_named(data):
    X, y, groups = data
    model = ConstrainedERMClassifier(tolerance=0.03, min_group_size=1)
    message = cost_warning(model, X, y, groups)
    assert "DemographicParity is farthest from its tolerance of 0.03" in message
    assert "with group 'tiny' (n=11) at 0 where" in message
    plain = ConstrainedERMClassifier(None).fit(X, y)
    accuracies = [model.score(X, y), plain.score(X, y), 1 - y.mean()]
    assert accuracies_in(message) == pytest.approx(accuracies, abs=6e-3)
    assert cost_warning(model.set_params(min_group_size="auto"), X, y, groups) is None


@pytest.mark.parametrize(
    "model",
    [
        ConstrainedClassifierCV(
            RandomForestClassifier(50, max_depth=5, random_state=0), tolerance=0.03, cv="oob"
        ),
        ConstrainedMLPClassifier(hidden_layer_sizes=(8,), tolerance=0.03, random_state=0),
    ],
    ids=["forest", "network"],
)
def test_other_models_warn_of_the_cost_of_a_constraint(model, data):
    X, y, _ = data
    groups = np.where(X[:, 0] > 0.5, "high", "low")
    message = cost_warning(model, X, y, groups)
    assert "with group 'high'" in message
    taken, plain, constant = accuracies_in(message)
    assert constant == pytest.approx(1 - y.mean(), abs=1e-3)
    assert plain - taken > taken - constant and plain > 0.9


def test_cheap_constraints_give_no_warning(data):
    X, y, groups = data
    halves = np.where(np.arange(len(y)) % 2, "a", "b")
    assert cost_warning(ConstrainedERMClassifier(tolerance=0.03), X, y, halves) is None
    assert cost_warning(ConstrainedERMClassifier(None), X, y, groups) is None
    # The plain fit is no better than a constant.
    noise = np.random.default_rng(1).integers(2, size=len(y))
    model = ConstrainedERMClassifier(tolerance=0.001, min_group_size=1)
    assert cost_warning(model, X, noise, groups) is None


def test_a_constant_prediction_is_warned_of_once():
    X, y = np.repeat([[0.0], [1.0]], 200, axis=0), np.repeat([0, 1], 200)
    model = ConstrainedERMClassifier(tolerance=0.0)
    groups = np.where(X[:, 0] + np.arange(400) % 7 // 6 > 0, "a", "b")
    with pytest.warns(UserWarning, match="Every training sample is given the class"):
        message = cost_warning(model, X, y, groups)
        model.fit(X, y, sensitive_features=groups)
    assert message is None and len(set(model.predict(X))) == 1


def test_regressors_compare_losses(data):
    X, _, groups = data
    target = 10.0 * X[:, 0]
    wide = ConstrainedERMRegressor(tolerance=0.05, min_group_size=1)
    message = cost_warning(wide, X, target, groups)
    assert "its mean loss is" in message and "MeanParity" in message
    assert "best constant prediction 0.5" in message  # half a variance of 1
    assert cost_warning(ConstrainedERMRegressor(tolerance=0.05), X, target, groups) is None
    assert cost_warning(ConstrainedERMRegressor(None), X, target, groups) is None


def test_the_postprocessor_does_not_compare_tiny_groups(data):
    X, y, groups = data
    model = PartialParityPostprocessor(interval=(0.0, 0.5), tolerance=0.1)
    with pytest.warns(UserWarning, match=r"are not compared: 'tiny' \(11\)"):
        model.fit(X, y, sensitive_features=groups)
    report = model.constraint_report_
    assert set(report.dropna()["group"]) == {"a", "b"}
    tiny = report[report["group"] == "tiny"]
    assert len(tiny) and tiny["n"].eq(11).all() and tiny["gap"].isna().all()
    assert report["gap"].dtype == report["tolerance"].dtype == np.float64
    largest = max("ab", key=lambda one: (groups == one).sum())
    as_largest = np.where(groups == "tiny", largest, groups)
    np.testing.assert_array_equal(
        model.decision_function(X, sensitive_features=groups),
        model.decision_function(X, sensitive_features=as_largest),
    )
