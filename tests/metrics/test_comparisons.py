"""Scorers that compare a measure between groups."""

import pickle
from functools import partial

import numpy as np
import pytest
import sklearn
import sklearn.metrics as sk
from sklearn.base import clone
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.svm import LinearSVC

from skfair.metrics import Rate, get_scorer, group_report

RNG = np.random.default_rng(0)
N = 300
GROUP = RNG.choice(["a", "b", "c"], size=N)
X = RNG.normal(size=(N, 3)) + (GROUP == "a")[:, np.newaxis]
Y = np.where(X.sum(axis=1) + RNG.normal(size=N) > 1, "yes", "no")
WEIGHTS = RNG.random(N) + 0.1
MODEL = LogisticRegression().fit(X, Y)
COST = Rate("cost", {"fp": 1, "fn": 5})


def values(measure, **params):
    report = group_report(
        Y,
        MODEL.predict(X),
        y_proba=MODEL.predict_proba(X)[:, 1],
        sensitive_features=GROUP,
        sample_weight=WEIGHTS,
        pos_label="yes",
        measures=[measure],
    )
    return report.iloc[:-1, 1].to_numpy()


COMPARED = {
    "neg_difference": lambda v: -np.ptp(v),
    "ratio": lambda v: v.min() / v.max(),
    "minimum": np.min,
    "neg_minimum": lambda v: -v.min(),
    "maximum": np.max,
    "neg_maximum": lambda v: -v.max(),
}


@pytest.mark.parametrize("scoring", COMPARED)
@pytest.mark.parametrize(
    "measure",
    ["recall", COST, "mcc", "brier_score", "roc_auc", sk.f1_score],
    ids=["recall", "cost", "mcc", "brier_score", "roc_auc", "f1_score"],
)
def test_scores_compare_the_group_report(scoring, measure):
    scorer = get_scorer(scoring, measure=measure, pos_label="yes")
    score = scorer(MODEL, X, Y, sensitive_features=GROUP, sample_weight=WEIGHTS)
    assert score == pytest.approx(COMPARED[scoring](values(measure)))


def test_the_value_of_one_group():
    scorer = get_scorer("group", measure="precision", group="b", pos_label="yes")
    score = scorer(MODEL, X, Y, sensitive_features=GROUP, sample_weight=WEIGHTS)
    assert score == pytest.approx(values("precision")[1])
    with pytest.raises(ValueError, match="group must be one of the groups 'a', 'b', 'c'"):
        get_scorer("group", measure="recall", group="x", pos_label="yes")(
            MODEL, X, Y, sensitive_features=GROUP
        )


def test_in_cross_validation_after_clone_and_pickle():
    scorer = pickle.loads(pickle.dumps(get_scorer("minimum", measure="recall", pos_label="yes")))
    with sklearn.config_context(enable_metadata_routing=True):
        scores = cross_val_score(
            LogisticRegression(), X, Y, scoring=scorer, params={"sensitive_features": GROUP}, cv=3
        )
    assert np.isfinite(scores).all() and clone(MODEL) is not MODEL


def test_several_classes():
    y = RNG.choice([*"xyz"], N)
    model = LogisticRegression().fit(X, y)
    predicted = model.predict(X)
    macro = partial(sk.recall_score, average="macro")
    score = get_scorer("minimum", measure=macro)(model, X, y, sensitive_features=GROUP)
    assert score == min(macro(y[GROUP == g], predicted[GROUP == g]) for g in "abc")
    one = get_scorer("minimum", measure="selection_rate", pos_label="x")
    expected = min(np.mean(predicted[GROUP == g] == "x") for g in "abc")
    assert one(model, X, y, sensitive_features=GROUP) == expected


def test_regressors():
    y = X.sum(axis=1) + RNG.normal(size=N)
    model = LinearRegression().fit(X, y)
    errors = np.abs(model.predict(X) - y)
    scorer = get_scorer("neg_maximum", measure="mean_absolute_error")
    expected = -max(errors[GROUP == g].mean() for g in "abc")
    assert scorer(model, X, y, sensitive_features=GROUP) == pytest.approx(expected)
    with pytest.raises(ValueError, match="true_positive_rate is not a metric of a regressor"):
        get_scorer("minimum", measure="recall")(model, X, y, sensitive_features=GROUP)


def test_groups_without_a_value_are_named():
    rejecting = LogisticRegression().fit(np.zeros((4, 3)), ["no", "no", "no", "yes"])
    scorer = get_scorer("minimum", measure="precision", pos_label="yes")
    with pytest.warns(UndefinedMetricWarning, match="precision|positive_predictive_value"):
        assert np.isnan(scorer(rejecting, X, Y, sensitive_features=GROUP))


def test_probabilities_need_a_method():
    model = LinearSVC().fit(X, Y)
    auc = get_scorer("minimum", measure="auc", pos_label="yes")
    assert 0.5 < auc(model, X, Y, sensitive_features=GROUP) <= 1.0
    with pytest.raises(ValueError, match="no predict_proba"):
        get_scorer("neg_maximum", measure="brier_score", pos_label="yes")(
            model, X, Y, sensitive_features=GROUP
        )


@pytest.mark.parametrize(
    "scoring, params, message",
    [
        ("difference", {"measure": "recall"}, "Did you mean 'neg_difference'"),
        ("minimum", {"measure": "recal"}, "Did you mean 'recall'"),
        ("group", {"measure": "recall"}, "group names the group"),
        ("minimum", {"measure": "recall", "group": "a"}, "group names the group"),
        ("neg_equalized_odds_difference", {"group": "a"}, "pass measure= too"),
    ],
)
def test_refused_requests(scoring, params, message):
    with pytest.raises(ValueError, match=message):
        get_scorer(scoring, **params)
