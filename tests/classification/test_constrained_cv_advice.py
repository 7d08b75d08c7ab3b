"""Advice of messages is followed: each call that a message recommends works."""

import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from skfair._groups.arguments import FitArguments
from skfair._postprocessing.scored_samples import score_samples
from skfair.classification import ConstrainedClassifierCV
from skfair.classification._constrained_cv import _warn_of_costs_above_constant
from skfair.conformal import ConformalClassifier
from skfair.constraints import DemographicParity
from skfair.exceptions import ConstraintCostWarning
from skfair.regression import ConstrainedRegressorCV

N = 600


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    sex = rng.choice(["f", "m"], N)
    X = rng.normal(size=(N, 3)) + (sex == "m")[:, np.newaxis]
    y = (X.sum(axis=1) + 2.0 * rng.normal(size=N) > 1.5).astype(int)
    return X, y, sex


def messages_of(fit):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit()
    return [str(one.message) for one in caught]


def test_weights_by_class_are_costs(data):
    X, y, sex = data
    model = ConstrainedClassifierCV(LogisticRegression(), tolerance=0.05)
    weights = np.where(y == 1, 5.0, 1.0)
    with pytest.warns(UserWarning, match=r"1 of class 0, 5 of class 1.*pass cost_matrix or class"):
        model.fit(X, y, sensitive_features=sex, sample_weight=weights)
    for costs in ({"cost_matrix": [[0, 1], [5, 0]]}, {"class_weight": {0: 1, 1: 5}}):
        model = ConstrainedClassifierCV(LogisticRegression(), tolerance=0.05, **costs)
        messages = messages_of(lambda one=model: one.fit(X, y, sensitive_features=sex))
        assert not any("one number for each class" in one for one in messages)
        # Rates are those of samples.
        decisions = model.oof_decision_function_ > 0
        rates = [decisions[sex == one].mean() for one in "fm"]
        assert abs(rates[0] - rates[1]) <= 0.05 + 1e-9
        np.testing.assert_allclose(model.constraint_report_["estimate"], rates)
    for weights in (np.ones(N), np.random.default_rng(1).uniform(1, 2, N)):
        messages = messages_of(
            lambda one=weights: model.fit(X, y, sensitive_features=sex, sample_weight=one)
        )
        assert not any("one number for each class" in one for one in messages)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_tiny_weights_are_divided_by_their_mean(data):
    X, y, sex = data
    weights = np.random.default_rng(1).uniform(1, 2, N) * 1e-9
    model = ConstrainedClassifierCV(LogisticRegression(), tolerance=0.2)
    with pytest.warns(UserWarning, match=r"mean of sample_weight is 1\..*e-09.*weight\.mean\(\)"):
        model.fit(X, y, sensitive_features=sex, sample_weight=weights)
    messages = messages_of(
        lambda: model.fit(X, y, sensitive_features=sex, sample_weight=weights / weights.mean())
    )
    assert not any("no better than chance" in one for one in messages)
    assert model.score(X, y) > 0.6


@pytest.mark.parametrize(
    "costs", [{"cost_matrix": [[0, 1], [3, 0]]}, {"class_weight": {0: 1, 1: 3}}]
)
def test_costs_above_those_of_a_constant_are_stated(data, costs):
    X, y, sex = data
    model = ConstrainedClassifierCV(LogisticRegression(), tolerance=0.05, **costs)
    scored = score_samples(model, FitArguments(X=X, y=y, sensitive_features=sex), [], {})
    wrong = np.where(y[scored.rows] == 1, -1.0, 1.0)

    def decide(scores):
        candidate = SimpleNamespace(scores=scores)
        rule = SimpleNamespace(guarantee=SimpleNamespace(candidate=candidate))
        _warn_of_costs_above_constant(scored, rule)

    mean_costs = np.mean(y == 0), 3 * np.mean(y == 1)  # of accepting all, and refusing all
    all_wrong = rf"cost {sum(mean_costs):.3g} for each .* the class 1 .* only {mean_costs[0]:.3g}"
    if "class_weight" in costs:  # weights have a unit of their own
        all_wrong = "the class 1 for every sample costs only"
    with pytest.warns(ConstraintCostWarning, match=all_wrong):
        decide(wrong)
    decide(-wrong)
    decide(np.ones(N))


def test_costs_of_three_classes(data):
    X, _, sex = data
    y = np.digitize(X[:, 0], [0.0, 1.0])
    matrix = [[0, 1, 2], [1, 0, 1], [10, 1, 0]]
    model = ConstrainedClassifierCV(LogisticRegression(), tolerance=0.05, cost_matrix=matrix)
    scored = score_samples(model, FitArguments(X=X, y=y, sensitive_features=sex), [], {})
    right = np.eye(3)[y[scored.rows]]
    candidate = SimpleNamespace(scores=right.T.ravel())
    _warn_of_costs_above_constant(
        scored, SimpleNamespace(guarantee=SimpleNamespace(candidate=candidate))
    )
    candidate = SimpleNamespace(scores=np.roll(right, 1, axis=1).T.ravel())
    with pytest.warns(ConstraintCostWarning, match="the class 1 for every sample costs only"):
        _warn_of_costs_above_constant(
            scored, SimpleNamespace(guarantee=SimpleNamespace(candidate=candidate))
        )


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_missing_groups(data):
    X, y, sex = data
    missing = np.random.default_rng(2).random(N) < 0.1
    groups = np.where(missing, None, sex.astype(object))
    # A regressor has no parameter "missing": the other ways work.
    regressor = ConstrainedRegressorCV(LinearRegression(), tolerance=0.1)
    with pytest.raises(
        ValueError, match=r"fillna\(.*leave their rows out of all inputs.*classifie"
    ):
        regressor.fit(X, X[:, 0], sensitive_features=groups)
    regressor.fit(X, X[:, 0], sensitive_features=pd.Series(groups).fillna("unknown"))
    regressor.fit(X[~missing], X[~missing, 0], sensitive_features=groups[~missing])
    classifier = ConstrainedClassifierCV(LogisticRegression(), tolerance=0.1, missing="at_random")
    assert classifier.fit(X, y, sensitive_features=groups).constraint_violation_ == 0.0
    # Groups that are known have no missing ones.
    known = {"group_estimator": "sensitive_features", "handle_unknown": "overall"}
    sets = ConformalClassifier(LogisticRegression(), missing="exclude", **known)
    with pytest.raises(ValueError, match="Leave their rows out of all inputs, or pass group_estim"):
        sets.fit(X, y, sensitive_features=groups)
    ConformalClassifier(LogisticRegression(), **known).fit(
        X[~missing], y[~missing], sensitive_features=groups[~missing]
    )
    sets = ConformalClassifier(LogisticRegression(), missing="exclude", group_estimator=None)
    sets.fit(X, y, sensitive_features=groups)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_costly_bound_on_combinations_names_bounds_on_attributes(data):
    X, y, sex = data
    rng = np.random.default_rng(3)
    groups = pd.DataFrame({"sex": sex, "old": (X[:, 1] + rng.normal(size=N) > 1.0)})
    model = ConstrainedClassifierCV(LogisticRegression(), tolerance=0.02)
    advice = r"\(attributes='each'\).*pass another estimator, such as HistGradientBoostingClass"
    with pytest.warns(ConstraintCostWarning, match=advice):
        model.fit(X, y, sensitive_features=groups)
    accuracy = np.mean((model.oof_decision_function_ > 0) == y)
    each = DemographicParity(attributes="each", tolerance=0.1)
    relaxed = model.set_params(constraint=each, tolerance=None)
    relaxed.fit(X, y, sensitive_features=groups)
    assert np.mean((relaxed.oof_decision_function_ > 0) == y) > accuracy
