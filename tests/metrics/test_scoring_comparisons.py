"""Scorers that compare a metric between groups."""

import pickle
from functools import partial

import numpy as np
import pytest
import sklearn
import sklearn.metrics as sk
from sklearn.base import clone
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.svm import LinearSVC

from skfair.metrics import Rate, equalized_odds_difference, group_report, make_scorer

RNG = np.random.default_rng(0)
N = 300
GROUP = RNG.choice(["a", "b", "c"], size=N)
X = RNG.normal(size=(N, 3)) + (GROUP == "a")[:, np.newaxis]
Y = np.where(X.sum(axis=1) + RNG.normal(size=N) > 1, "yes", "no")
WEIGHTS = RNG.random(N) + 0.1
MODEL = LogisticRegression().fit(X, Y)
COST = Rate("cost", {"fp": 1, "fn": 5})


def values(metric, **params):
    report = group_report(
        Y,
        MODEL.predict(X),
        y_proba=MODEL.predict_proba(X)[:, 1],
        sensitive_features=GROUP,
        sample_weight=WEIGHTS,
        pos_label="yes",
        metrics=[metric],
    )
    return report.iloc[:-1, 1].to_numpy()


COMPARED = {
    ("difference", None): lambda v: -np.ptp(v),
    ("ratio", None): lambda v: v.min() / v.max(),
    ("group_min", None): np.min,
    ("group_min", False): lambda v: -v.min(),
    ("group_max", True): np.max,
    ("group_max", None): lambda v: -v.max(),
}


@pytest.mark.covering(1)
@pytest.mark.parametrize("transform, direction", COMPARED)
@pytest.mark.parametrize(
    "metric",
    ["recall", COST, "mcc", "brier_score", "roc_auc", sk.f1_score],
    ids=["recall", "cost", "mcc", "brier_score", "roc_auc", "f1_score"],
)
def test_scores_compare_the_group_report(transform, direction, metric):
    scorer = make_scorer(metric, transform=transform, greater_is_better=direction, pos_label="yes")
    score = scorer(MODEL, X, Y, sensitive_features=GROUP, sample_weight=WEIGHTS)
    assert score == pytest.approx(COMPARED[transform, direction](values(metric)))


def test_metrics_that_compare_groups_take_their_parameters():
    scorer = make_scorer(equalized_odds_difference, agg="mean", pos_label="yes")
    score = scorer(MODEL, X, Y, sensitive_features=GROUP)
    settings = {"sensitive_features": GROUP, "agg": "mean", "pos_label": "yes"}
    assert score == -equalized_odds_difference(Y, MODEL.predict(X), **settings)
    by_name = make_scorer("equalized_odds_difference", agg="mean", pos_label="yes")
    assert by_name(MODEL, X, Y, sensitive_features=GROUP) == score


def test_a_search_selects_the_best_worst_group():
    scorer = make_scorer("recall", transform="group_min", pos_label="yes")
    grid = {"C": [1e-4, 1.0]}
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(LogisticRegression(), grid, scoring=scorer, cv=3)
        search.fit(X, Y, sensitive_features=GROUP)
    assert search.best_params_ == {"C": 1.0}


def test_the_value_of_one_group():
    scorer = make_scorer("precision", group="b", pos_label="yes")
    score = scorer(MODEL, X, Y, sensitive_features=GROUP, sample_weight=WEIGHTS)
    assert score == pytest.approx(values("precision")[1])
    with pytest.raises(ValueError, match="group must be one of the groups 'a', 'b', 'c'"):
        make_scorer("recall", group="x", pos_label="yes")(MODEL, X, Y, sensitive_features=GROUP)


def test_in_cross_validation_after_clone_and_pickle():
    scorer = pickle.loads(
        pickle.dumps(make_scorer("recall", transform="group_min", pos_label="yes"))
    )
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
    score = make_scorer(macro, transform="group_min")(model, X, y, sensitive_features=GROUP)
    assert score == min(macro(y[GROUP == g], predicted[GROUP == g]) for g in "abc")
    one = make_scorer("selection_rate", transform="group_min", pos_label="x")
    expected = min(np.mean(predicted[GROUP == g] == "x") for g in "abc")
    assert one(model, X, y, sensitive_features=GROUP) == expected


def test_regressors():
    y = X.sum(axis=1) + RNG.normal(size=N)
    model = LinearRegression().fit(X, y)
    errors = np.abs(model.predict(X) - y)
    scorer = make_scorer("mean_absolute_error", transform="group_max")
    expected = -max(errors[GROUP == g].mean() for g in "abc")
    assert scorer(model, X, y, sensitive_features=GROUP) == pytest.approx(expected)
    with pytest.raises(ValueError, match="true_positive_rate is not a metric of a regressor"):
        make_scorer("recall", transform="group_min")(model, X, y, sensitive_features=GROUP)


def test_groups_without_a_value_are_named():
    rejecting = LogisticRegression().fit(np.zeros((4, 3)), ["no", "no", "no", "yes"])
    scorer = make_scorer("precision", transform="group_min", pos_label="yes")
    with pytest.warns(UndefinedMetricWarning, match="precision|positive_predictive_value"):
        assert np.isnan(scorer(rejecting, X, Y, sensitive_features=GROUP))


def test_probabilities_need_a_method():
    model = LinearSVC().fit(X, Y)
    auc = make_scorer("auc", transform="group_min", pos_label="yes")
    assert 0.5 < auc(model, X, Y, sensitive_features=GROUP) <= 1.0
    with pytest.raises(ValueError, match="no predict_proba"):
        make_scorer("brier_score", transform="group_max", pos_label="yes")(
            model, X, Y, sensitive_features=GROUP
        )


@pytest.mark.parametrize(
    "metric, params, message",
    [
        ("recall", {"transform": "diference"}, "Did you mean 'difference'"),
        ("recal", {"transform": "group_min"}, "Did you mean 'recall'"),
        ("recall", {}, "or transform must be one of"),
        ("recall", {"transform": "group_min", "group": "a"}, "Pass transform or group"),
        ("recall", {"transform": "group_min", "agg": "mean"}, "agg must be parameters of a metric"),
        ("equalized_odds_difference", {"k": 3}, "pass transform= too"),
        (sk.f1_score, {}, "or transform must be one of"),
    ],
)
def test_refused_requests(metric, params, message):
    with pytest.raises(ValueError, match=message):
        make_scorer(metric, **params)
