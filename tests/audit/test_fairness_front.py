"""Out-of-fold fronts of accuracy and gap."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, RepeatedStratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skfair.audit import fairness_front
from skfair.classification import ConstrainedERMClassifier
from skfair.constraints import DemographicParity
from skfair.metrics import (
    demographic_parity_difference,
    demographic_parity_ratio,
    equal_opportunity_difference,
)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    groups = rng.choice(["a", "b", "c"], size=900)
    X = rng.normal(size=(900, 3)) + 0.8 * (groups == "a")[:, np.newaxis]
    return X, (X.sum(axis=1) + rng.logistic(size=900) > 1).astype(int), groups


@pytest.mark.parametrize(
    ("constraint", "metric"),
    [
        ("demographic_parity", demographic_parity_difference),
        ("equal_opportunity", equal_opportunity_difference),
    ],
)
def test_decisions_are_those_of_cross_validation(data, constraint, metric):
    X, y, groups = data
    model = LogisticRegression()
    folds = KFold(4, shuffle=True, random_state=0)
    front = fairness_front(
        model, X, y, sensitive_features=groups, constraint=constraint, cv=folds
    ).iloc[0]
    decisions = cross_val_predict(model, X, y, cv=folds)
    assert front["accuracy"] == pytest.approx(np.mean(decisions == y))
    assert front["gap"] == pytest.approx(metric(y, decisions, sensitive_features=groups))
    assert np.isnan(front["tolerance"])


def test_intervals_contain_the_gap(data):
    X, y, groups = data
    front = fairness_front(
        ConstrainedERMClassifier(), X, y, sensitive_features=groups, values=[0.3, 0.05], cv=3
    )
    assert front["tolerance"].tolist() == [0.3, 0.05]
    assert front["gap"][1] < front["gap"][0]
    for name in ("gap", "accuracy"):
        assert (front[f"{name}_low"] <= front[name]).all()
        assert (front[name] <= front[f"{name}_high"]).all()
    # Wilson's interval of a share of 900.
    error = np.sqrt(front["accuracy"] * (1 - front["accuracy"]) / 900)
    width = front["accuracy_high"] - front["accuracy_low"]
    np.testing.assert_allclose(width, 2 * 1.96 * error, rtol=0.01)


def test_of_a_ratio_the_front_states_the_smallest_one(data):
    X, y, groups = data
    model = ConstrainedERMClassifier(DemographicParity(ratio=0.8))
    parity = "constraint__ratio"
    front = fairness_front(
        model, X, y, sensitive_features=groups, constraint=DemographicParity(ratio=0.8),
        parameter=parity, values=[0.3, 0.6], cv=3,
    )  # fmt: skip
    assert front["gap"][1] > front["gap"][0] + 0.2
    assert (front["gap_low"] <= front["gap"]).all() and (front["gap"] <= front["gap_high"]).all()
    folds = cross_val_predict(LogisticRegression(), X, y, cv=3)
    plain = fairness_front(
        LogisticRegression(), X, y, sensitive_features=groups, constraint=model.constraint, cv=3
    )
    ratio = demographic_parity_ratio(y, folds, sensitive_features=groups)
    assert plain["gap"].tolist() == [pytest.approx(ratio)]


def test_a_model_without_positive_decisions_has_no_ratio(data):
    X, y, groups = data
    options = {"sensitive_features": groups, "constraint": DemographicParity(ratio=0.8), "cv": 2}
    # One logistic regression is shrunk to the prior: no sample is selected.
    y = y & (X[:, 0] > 0.3)
    front = fairness_front(LogisticRegression(), X, y, parameter="C", values=[1e-6, 1.0], **options)
    assert np.isnan(front["gap"][0]) and front["gap"][1] > 0
    with pytest.raises(ValueError, match=r"ratio=0.8\) must have a value for one fit at least"):
        fairness_front(LogisticRegression(C=1e-6), X, y, **options)


def test_pipelines_name_their_parameter(data):
    X, y, groups = data
    pipeline = make_pipeline(StandardScaler(), ConstrainedERMClassifier())
    with sklearn.config_context(enable_metadata_routing=True):
        front = fairness_front(
            pipeline,
            X,
            y,
            sensitive_features=groups,
            values=[0.05],
            parameter="constrainedermclassifier__tolerance",
            cv=2,
        )
    assert front["gap"][0] < 0.2


def test_weights_count_in_fits_and_rates(data):
    X, y, groups = data
    weights = np.random.default_rng(1).uniform(0.2, 3.0, 900)
    model = LogisticRegression()
    folds = KFold(3)
    front = fairness_front(
        model, X, y, sensitive_features=groups, sample_weight=weights, cv=folds
    ).iloc[0]
    decisions = cross_val_predict(model, X, y, cv=folds, params={"sample_weight": weights})
    assert front["accuracy"] == pytest.approx(np.average(decisions == y, weights=weights))
    settings = {"sensitive_features": groups, "sample_weight": weights}
    assert front["gap"] == pytest.approx(demographic_parity_difference(y, decisions, **settings))


def test_of_several_classes_the_widest_gap_counts(data):
    X, y, groups = data
    y = y + (X[:, 0] > 1)
    folds = KFold(3)
    front = fairness_front(LogisticRegression(), X, y, sensitive_features=groups, cv=folds).iloc[0]
    decisions = cross_val_predict(LogisticRegression(), X, y, cv=folds)
    gaps = [
        demographic_parity_difference(y == one, decisions == one, sensitive_features=groups)
        for one in range(3)
    ]
    assert front["gap"] == pytest.approx(max(gaps))
    assert front["accuracy"] == pytest.approx(np.mean(decisions == y))


@pytest.mark.slow
def test_the_default_is_a_grid_that_ends_without_constraint(data):
    X, y, groups = data
    options = {"sensitive_features": groups, "cv": 3}
    front = fairness_front(ConstrainedERMClassifier(), X, y, **options)
    assert front["tolerance"].tolist() == [0.01, 0.02, 0.05, 0.1, 0.2, 1.0]
    plain = fairness_front(ConstrainedERMClassifier(None), X, y, values=[0.5], **options)
    columns = ["accuracy", "gap"]
    pd.testing.assert_series_equal(
        front.iloc[-1][columns], plain.iloc[0][columns], check_names=False
    )
    assert front["gap"].iloc[0] < front["gap"].iloc[-1]
    # Without such a parameter there is one model.
    assert len(fairness_front(LogisticRegression(), X, y, **options)) == 1


def test_errors_name_what_must_hold(data):
    X, y, groups = data
    options = {"sensitive_features": groups}
    with pytest.raises(ValueError, match="LossParity compares losses or ranks"):
        fairness_front(LogisticRegression(), X, y, constraint="loss_parity", **options)
    with pytest.raises(ValueError, match="has no parameter 'tolerance'"):
        fairness_front(LogisticRegression(), X, y, values=[0.1], **options)
    with pytest.raises(ValueError, match="but 900 are in several"):
        twice = RepeatedStratifiedKFold(n_splits=2, n_repeats=2)
        fairness_front(LogisticRegression(), X, y, cv=twice, **options)
    overlapping = [(np.arange(900), test) for _, test in KFold(3).split(X)]
    with pytest.raises(ValueError, match="300 of the 300 test rows of fold 0 of cv are among its"):
        fairness_front(LogisticRegression(), X, y, cv=overlapping, **options)
    with pytest.raises(ValueError, match="confidence_level"):
        fairness_front(LogisticRegression(), X, y, confidence_level=1.5, **options)
