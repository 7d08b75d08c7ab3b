import pickle
import subprocess
import sys
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.cluster import KMeans
from sklearn.dummy import DummyClassifier
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    TunedThresholdClassifierCV,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from skfair.classification import ConstrainedERMClassifier
from skfair.exceptions import MissingSensitiveFeaturesError
from skfair.metrics import (
    METRICS,
    additive_violation,
    demographic_parity_difference,
    get_scorer,
    get_scorer_names,
    make_scorer,
    wasserstein_distance_between_groups,
)
from skfair.metrics import balance_score as balance
from skfair.regression import ConstrainedERMRegressor


class GroupAwareKMeans(KMeans):
    """Assigns the members of each group to the clusters in turn."""

    __metadata_request__fit = {"sensitive_features": True}
    __metadata_request__predict = {"sensitive_features": True}

    def fit(self, X, y=None, *, sensitive_features=None, sample_weight=None):
        self.fitted_with_groups_ = sensitive_features is not None
        return super().fit(X, y, sample_weight)

    def predict(self, X, *, sensitive_features=None):
        if sensitive_features is None:
            return super().predict(X)
        groups = np.asarray(sensitive_features)
        labels = np.empty(len(groups), dtype=int)
        for group in np.unique(groups):
            members = np.flatnonzero(groups == group)
            labels[members] = np.arange(len(members)) % self.n_clusters
        return labels


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    groups = np.array(["a", "b"] * 24)
    X = rng.normal(size=(48, 2)) + (groups == "b")[:, None]
    return X, groups


CV = KFold(3)
PLAIN = KMeans(n_clusters=2, n_init=1, random_state=0)
AWARE = GroupAwareKMeans(n_clusters=2, n_init=1, random_state=0)


def test_score_is_the_metric_of_the_predictions(data):
    X, groups = data
    kmeans = clone(PLAIN).fit(X)
    labels = kmeans.predict(X)
    score = get_scorer("balance")(kmeans, X, sensitive_features=groups)
    assert score == balance(labels, sensitive_features=groups)
    score = get_scorer("relative_balance")(kmeans, X, None, sensitive_features=groups)
    assert score == balance(labels, sensitive_features=groups, relative=True)
    score = get_scorer("neg_additive_violation")(kmeans, X, sensitive_features=groups)
    assert score == -additive_violation(labels, sensitive_features=groups)


@pytest.mark.parametrize("estimator", [AWARE, make_pipeline(StandardScaler(), AWARE)])
@pytest.mark.parametrize("enable", [True, False])
def test_groups_reach_the_predict_that_asks_for_them(estimator, enable, data):
    X, groups = data
    with sklearn.config_context(enable_metadata_routing=enable):
        fitted = clone(estimator).fit(X)
        assert get_scorer("balance")(fitted, X, sensitive_features=groups) == 1


def test_sample_weight_reaches_the_metric(data):
    X, groups = data
    kmeans = clone(PLAIN).fit(X)
    weights = np.arange(len(X)) % 3
    expected = balance(kmeans.predict(X), sensitive_features=groups, sample_weight=weights)
    scorer = get_scorer("balance")
    assert scorer(kmeans, X, sensitive_features=groups, sample_weight=weights) == expected


@pytest.mark.parametrize("as_container", [list, np.array, pd.Series, pd.Categorical])
def test_cross_validate(enable_routing, data, as_container):
    X, groups = data
    params = {"sensitive_features": as_container(groups)}
    scores = cross_validate(
        PLAIN, X, scoring=get_scorer("balance"), params=params, cv=CV, error_score="raise"
    )["test_score"]
    expected = [
        balance(clone(PLAIN).fit(X[train]).predict(X[test]), sensitive_features=groups[test])
        for train, test in CV.split(X)
    ]
    assert scores.tolist() == expected
    aware = cross_validate(AWARE, X, scoring=get_scorer("balance"), params=params, cv=CV)
    assert aware["test_score"].tolist() == [1, 1, 1]


def test_cross_validate_through_a_pipeline_with_several_scorers(enable_routing, data):
    X, groups = data
    scores = cross_validate(
        make_pipeline(StandardScaler(), AWARE),
        X,
        scoring={name: get_scorer(name) for name in ("balance", "neg_additive_violation")},
        params={"sensitive_features": groups},
        cv=CV,
        return_estimator=True,
        return_train_score=True,
    )
    assert scores["test_balance"].tolist() == scores["train_balance"].tolist() == [1, 1, 1]
    assert scores["test_neg_additive_violation"].tolist() == [0, 0, 0]
    assert all(pipeline[-1].fitted_with_groups_ for pipeline in scores["estimator"])


@pytest.mark.parametrize("estimator", [AWARE, make_pipeline(StandardScaler(), AWARE)])
def test_grid_search(enable_routing, data, estimator):
    X, groups = data
    prefix = "" if estimator is AWARE else "groupawarekmeans__"
    search = GridSearchCV(
        estimator,
        {f"{prefix}n_clusters": [3, 2]},
        scoring=get_scorer("balance"),
        cv=CV,
    ).fit(X, sensitive_features=groups)
    np.testing.assert_array_equal(search.cv_results_["mean_test_score"], 1)
    assert search.score(X, sensitive_features=groups) == balance(
        search.best_estimator_.predict(X, sensitive_features=groups), sensitive_features=groups
    )


def test_grid_search_picks_the_fairest(enable_routing):
    # Along x the groups are apart, and two clusters separate them; a single cluster holds both.
    groups = np.array(["a", "b"] * 12)
    X = np.c_[np.where(groups == "a", 0.0, 10.0), np.zeros(24)]
    search = GridSearchCV(PLAIN, {"n_clusters": [2, 1]}, scoring=get_scorer("balance"), cv=CV)
    search.fit(X, sensitive_features=groups)
    assert search.best_params_ == {"n_clusters": 1}
    assert search.cv_results_["mean_test_score"].tolist() == [0, 1]


def test_sample_weight_can_be_requested(enable_routing, data):
    X, groups = data
    scorer = get_scorer("balance").set_score_request(sample_weight=True)
    weights = np.where(groups == "a", 1.0, 2.0)
    scores = cross_validate(
        clone(AWARE).set_fit_request(sample_weight=True),
        X,
        scoring=scorer,
        params={"sensitive_features": groups, "sample_weight": weights},
        cv=CV,
    )
    assert scores["test_score"].tolist() == [0.5, 0.5, 0.5]


SINGLE = get_scorer("balance")
SEVERAL = {"balance": get_scorer("balance")}


@pytest.mark.parametrize("scoring", [SINGLE, SEVERAL], ids=["single", "several"])
@pytest.mark.parametrize("weights", [None, np.ones(48)], ids=["unweighted", "weighted"])
def test_a_search_of_clusterings_without_routing_raises(data, scoring, weights):
    X, groups = data
    settings = {"scoring": scoring, "refit": False, "cv": CV, "error_score": "raise"}
    search = GridSearchCV(AWARE, {"n_clusters": [2, 3]}, **settings)
    advice = r"sklearn\.set_config\(enable_metadata_routing=True\)"
    with pytest.raises(MissingSensitiveFeaturesError, match=advice):
        search.fit(X, sensitive_features=groups, sample_weight=weights)
    with pytest.raises(MissingSensitiveFeaturesError):
        cross_validate(AWARE, X, scoring=scoring, cv=CV, error_score="raise")


def test_missing_groups_raise_in_a_search_with_routing(enable_routing, data):
    search = GridSearchCV(PLAIN, {"n_clusters": [2, 3]}, scoring=SINGLE, cv=CV, error_score="raise")
    with pytest.raises(MissingSensitiveFeaturesError, match="sensitive_features is missing"):
        search.fit(data[0])


def test_misaligned_groups_are_refused(data):
    X = pd.DataFrame(data[0])
    groups = pd.Series(data[1])
    kmeans = clone(PLAIN).fit(X)
    with pytest.raises(ValueError, match="X and sensitive_features must have the same pandas"):
        SINGLE(kmeans, X, sensitive_features=groups[::-1])


def test_scorers_are_plain_objects(data):
    X, groups = data
    scorer = get_scorer("neg_additive_violation")
    assert repr(scorer) == "FairnessScorer(metric='additive_violation')"
    kmeans = clone(PLAIN).fit(X)
    expected = scorer(kmeans, X, sensitive_features=groups)
    for copy in (pickle.loads(pickle.dumps(scorer)), clone(scorer)):
        assert copy(kmeans, X, sensitive_features=groups) == expected
        assert copy.get_params() == {"metric": "additive_violation", "pos_label": None}


def test_a_custom_metric(data):
    X, groups = data

    def n_clusters(y_true, labels, *, sensitive_features, sample_weight=None):
        return len(np.unique(labels))

    scorer = make_scorer(n_clusters, greater_is_better=False)
    kmeans = clone(PLAIN).fit(X)
    assert scorer(kmeans, X, sensitive_features=groups) == -2


# Classifiers --------------------------------------------------------------------------

LOGISTIC = LogisticRegression()
PARITY = get_scorer("neg_demographic_parity_difference")
DISTANCE = get_scorer("neg_wasserstein_distance_between_groups")


class QuotaClassifier(ClassifierMixin, BaseEstimator):
    """Selects every second member of each group, whatever they are like."""

    __metadata_request__predict = {"sensitive_features": True}
    __metadata_request__decision_function = {"sensitive_features": True}

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X, *, sensitive_features):
        groups = np.asarray(sensitive_features)
        scores = np.empty(len(X))
        for group in np.unique(groups):
            members = np.flatnonzero(groups == group)
            scores[members] = np.arange(len(members)) % 2 - 0.5
        return scores

    def predict(self, X, *, sensitive_features):
        selected = self.decision_function(X, sensitive_features=sensitive_features) > 0
        return self.classes_[selected.astype(int)]


@pytest.fixture
def applicants(data):
    X, groups = data
    return X, np.where(X.sum(axis=1) > 1, "yes", "no"), groups


@pytest.mark.parametrize("name", [n for n, m in METRICS.items() if m.kind == "classification"])
def test_score_of_a_classifier_is_the_metric_of_its_predictions(applicants, name):
    X, y, groups = applicants
    model = clone(LOGISTIC).fit(X[:, :1], y)
    metric = METRICS[name]
    value = metric(y, model.predict(X[:, :1]), sensitive_features=groups, pos_label="yes")
    scorer = get_scorer(name if metric.greater_is_better else f"neg_{name}", pos_label="yes")
    score = scorer(model, X[:, :1], y, sensitive_features=groups)
    assert score == (value if metric.greater_is_better else -value)
    assert value != metric.best


class WithPosLabel(LogisticRegression):
    """A classifier with the parameter pos_label."""

    def __init__(self, pos_label=None):
        super().__init__()
        self.pos_label = pos_label


@pytest.mark.covering(1)
@pytest.mark.parametrize(
    "estimator",
    [WithPosLabel("no"), make_pipeline(StandardScaler(), WithPosLabel("no"))],
    ids=["alone", "inside"],
)
@pytest.mark.parametrize(
    "name",
    [
        n
        for n, m in METRICS.items()
        if m.kind not in ("clustering", "labelled_margin", "regression")
    ],
)
def test_the_positive_class_is_that_of_the_estimator_or_the_one_inside(applicants, estimator, name):
    X, y, groups = applicants
    scorer = get_scorer(name if METRICS[name].greater_is_better else f"neg_{name}")
    model = clone(estimator).fit(X[:, :1], y)
    other = clone(LOGISTIC).fit(-X[:, :1], np.where(y == "no", 1, 0))
    metadata = {"sensitive_features": groups}
    score = scorer(model, X[:, :1], y, **metadata)
    assert score == pytest.approx(
        scorer(other, -X[:, :1], np.where(y == "no", 1, 0), **metadata), abs=0.03
    )
    fixed = scorer.set_params(pos_label="no")(
        clone(LOGISTIC).fit(X[:, :1], y), X[:, :1], y, **metadata
    )
    assert score == pytest.approx(fixed, abs=0.03)


def test_labels_that_leave_the_positive_class_open_are_refused(applicants):
    X, y, groups = applicants
    model = clone(LOGISTIC).fit(X, y)
    for scorer in (PARITY, DISTANCE):
        with pytest.raises(ValueError, match=r"pos_label must name .* \['no', 'yes'\]"):
            scorer(model, X, y, sensitive_features=groups)
    with pytest.raises(ValueError, match="make_scorer"):
        get_scorer("f1", pos_label="yes")


def test_pos_label_of_a_scorer(applicants):
    X, y, groups = applicants
    model = clone(LOGISTIC).fit(X, np.where(y == "yes", 2, 1))
    selected = np.flatnonzero(model.predict(X) == 2)
    score = clone(PARITY).set_params(pos_label=2)(
        model, X[selected], np.full(len(selected), 2), sensitive_features=groups[selected]
    )
    # The labels alone leave the positive class open.
    assert score == 0
    opportunity = get_scorer("equal_opportunity_ratio", pos_label=2)
    assert opportunity(model, X, np.where(y == "yes", 2, 1), sensitive_features=groups) < 1


def test_metrics_of_scores_take_probabilities_or_the_decision_function(applicants):
    X, y, groups = applicants
    for estimator, method in (LOGISTIC, "predict_proba"), (RidgeClassifier(), "decision_function"):
        model = make_pipeline(StandardScaler(), estimator).fit(X, y)
        scores = getattr(model, method)(X)
        scores = scores[:, 1] if method == "predict_proba" else scores
        expected = wasserstein_distance_between_groups(scores, sensitive_features=groups)
        distance = clone(DISTANCE).set_params(pos_label="yes")
        assert distance(model, X, y, sensitive_features=groups) == -expected < 0
        assert distance(model, X, sensitive_features=groups) == -expected


def test_groups_reach_the_classifier_that_asks_for_them(enable_routing, applicants):
    X, y, groups = applicants
    for model in QuotaClassifier(), make_pipeline(StandardScaler(), QuotaClassifier()):
        scores = cross_validate(
            model,
            X,
            y == "yes",
            scoring={"parity": PARITY, "distance": DISTANCE},
            params={"sensitive_features": groups},
            cv=CV,
            error_score="raise",
        )
        assert scores["test_parity"].tolist() == scores["test_distance"].tolist() == [0, 0, 0]


@pytest.mark.parametrize("group_interactions", [False, "intercept"])
def test_groups_reach_the_decision_function_of_the_last_step(applicants, group_interactions):
    X, y, groups = applicants
    model = ConstrainedERMClassifier(
        tolerance=0.2, group_interactions=group_interactions, pos_label="yes"
    ).fit(X, y, sensitive_features=groups)
    scores = model.decision_function(X, sensitive_features=groups)
    pipeline = make_pipeline("passthrough", make_pipeline(model))
    auc = get_scorer("roc_auc")(pipeline, X, y, sensitive_features=groups)
    assert auc == roc_auc_score(y, scores)


def test_overlapping_groups_are_split_with_the_samples(enable_routing, applicants):
    X, y, groups = applicants
    y = y == "yes"
    members = sparse.csr_array(np.column_stack((groups == "a", X[:, 0] > 0)))
    scores = cross_validate(
        LOGISTIC, X, y, scoring=PARITY, params={"sensitive_features": members}, cv=CV
    )["test_score"]
    expected = [
        -demographic_parity_difference(
            y[test],
            clone(LOGISTIC).fit(X[train], y[train]).predict(X[test]),
            sensitive_features=members[test],
        )
        for train, test in CV.split(X)
    ]
    assert scores.tolist() == expected


def test_a_search_without_routing_raises_an_error_that_names_it(applicants):
    X, y, _ = applicants
    search = GridSearchCV(LOGISTIC, {"C": [0.1, 1]}, scoring=PARITY, cv=CV, error_score="raise")
    with pytest.raises(MissingSensitiveFeaturesError, match="enable_metadata_routing=True"):
        search.fit(X, y)


# More than two classes -----------------------------------------------------------------


@pytest.fixture
def three_classes():
    rng = np.random.default_rng(1)
    groups = rng.integers(2, size=300)
    X = rng.normal(size=(300, 2)) + 0.7 * groups[:, np.newaxis]
    y = np.array(["low", "mid", "high"])[np.digitize(X[:, 0] + rng.normal(size=300), [-0.3, 0.9])]
    return X, y, groups, LogisticRegression().fit(X, y)


@pytest.mark.parametrize("name", [n for n, m in METRICS.items() if m.kind == "classification"])
def test_the_worst_class_counts_and_one_may_be_chosen(three_classes, name):
    X, y, groups, model = three_classes
    metric = METRICS[name]
    sign = 1 if METRICS[name].greater_is_better else -1
    name = name if metric.greater_is_better else f"neg_{name}"
    metadata = {"sensitive_features": groups}
    y_pred = model.predict(X)
    by_class = {c: sign * metric(y == c, y_pred == c, **metadata) for c in model.classes_}
    assert len(set(by_class.values())) == 3
    assert get_scorer(name)(model, X, y, **metadata) == min(by_class.values())
    for label, value in by_class.items():
        assert get_scorer(name, pos_label=label)(model, X, y, **metadata) == value


def test_scores_of_a_class_are_its_probabilities(three_classes):
    X, y, groups, model = three_classes
    distances = [
        -wasserstein_distance_between_groups(scores, sensitive_features=groups)
        for scores in model.predict_proba(X).T
    ]
    for label, distance in zip(model.classes_, distances, strict=True):
        scorer = get_scorer("neg_wasserstein_distance_between_groups", pos_label=label)
        assert scorer(model, X, sensitive_features=groups) == pytest.approx(distance, rel=1e-12)
    assert DISTANCE(model, X, sensitive_features=groups) == pytest.approx(min(distances), rel=1e-12)


class WithoutMargins(ClassifierMixin, BaseEstimator):
    """A classifier of which probabilities alone are known."""

    def __init__(self, model):
        self.model, self.classes_ = model, model.classes_

    def predict(self, X):
        return self.model.predict(X)

    def predict_proba(self, X):
        return self.model.predict_proba(X)


def test_decisions_for_a_class_are_those_of_argmax(three_classes):
    X, y, groups, model = three_classes
    partial = "partial_demographic_parity_difference"
    metric = replace(METRICS[partial], params={"interval": (0.0, 1.0)})
    name = "neg_demographic_parity_difference"
    metadata = {"sensitive_features": groups}
    for label in model.classes_:
        # All thresholds shift one cut-off: without a tolerance it is the plain gap of decisions.
        decided = get_scorer(name, pos_label=label)(model, X, y, **metadata)
        margins = model.decision_function(X)
        position = model.classes_.tolist().index(label)
        beaten = margins[:, position] - np.delete(margins, position, axis=1).max(axis=1)
        expected = -metric(beaten, threshold=0.0, **metadata)
        score = make_scorer(partial, pos_label=label, interval=(0.0, 1.0))(model, X, y, **metadata)
        assert score == pytest.approx(expected, rel=1e-12)
        assert -demographic_parity_difference(y == label, beaten > 0, **metadata) == decided
        by_probability = make_scorer(partial, pos_label=label, interval=(0.0, 1.0))(
            WithoutMargins(model), X, y, **metadata
        )
        assert np.isfinite(by_probability)


@pytest.mark.slow
def test_every_metric_of_classifiers_scores_several_classes(three_classes):
    X, y, groups, model = three_classes
    for name, metric in METRICS.items():
        if metric.kind not in ("clustering", "regression"):
            scorer = get_scorer(name if metric.greater_is_better else f"neg_{name}")
            score = scorer(model, X, y, sensitive_features=groups)
            singles = [
                clone(scorer).set_params(pos_label=label)(model, X, y, sensitive_features=groups)
                for label in model.classes_
            ]
            assert score == min(singles)


def test_several_classes_are_scored_in_searches(enable_routing, three_classes):
    X, y, groups, _ = three_classes
    search = GridSearchCV(LogisticRegression(), {"C": [1e-3, 1.0]}, scoring=PARITY, cv=CV)
    search.fit(X, y, sensitive_features=groups)
    assert (search.cv_results_["mean_test_score"] < 0).all()


def test_scorers_of_two_classes_refuse_several(three_classes):
    X, y, groups, model = three_classes
    with pytest.raises(ValueError, match=r"pos_label must be one of the classes 'high', 'low'"):
        get_scorer("neg_demographic_parity_difference", pos_label="top")(
            model, X, y, sensitive_features=groups
        )
    pairs = SVC(decision_function_shape="ovo").fit(
        np.vstack((X, X + 9)), np.concatenate((y, np.full(300, "top")))
    )
    scorer = get_scorer("neg_partial_demographic_parity_difference")
    with pytest.raises(ValueError, match=r'shape \(300, 6\) for 4 .*decision_function_shape="ovr"'):
        scorer(pairs, X, y, sensitive_features=groups)
    with pytest.raises(ValueError, match="Compare each class with the rest by .*class_report"):
        demographic_parity_difference(y, model.predict(X), sensitive_features=groups)


# Regressors ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", [n for n, m in METRICS.items() if m.kind == "regression"])
def test_metrics_of_errors_score_regressors(data, name):
    X, groups = data
    y = X[:, 0] ** 2 + X[:, 1]
    model = LinearRegression().fit(X, y)
    value = METRICS[name](y, model.predict(X), sensitive_features=groups)
    assert get_scorer(f"neg_{name}")(model, X, y, sensitive_features=groups) == -value < 0


@pytest.mark.parametrize("name", [n for n, m in METRICS.items() if m.kind == "score"])
def test_metrics_of_scores_use_the_predictions_of_regressors(data, name):
    X, groups = data
    model = LinearRegression().fit(X, X[:, 0] ** 2)
    expected = METRICS[name](model.predict(X), sensitive_features=groups)
    sign, prefix = (1, "") if METRICS[name].greater_is_better else (-1, "neg_")
    score = get_scorer(f"{prefix}{name}")(model, X, sensitive_features=groups)
    assert score == sign * expected != 0


def test_a_fair_regressor_wins_a_search(enable_routing, data):
    X, groups = data
    scoring = {"r2": "r2", "neg_gap": get_scorer("neg_mean_score_difference")}
    model = ConstrainedERMRegressor("mean_parity")
    search = GridSearchCV(
        model, {"tolerance": [0.01, 2.0]}, scoring=scoring, refit="neg_gap", cv=CV
    )
    search.fit(X, X[:, 0], sensitive_features=groups)
    assert search.best_params_ == {"tolerance": 0.01}


def test_a_model_of_an_unknown_kind_may_be_scored_by_its_numbers(data):
    X, groups = data

    class Ranking(BaseEstimator):
        def predict(self, X):
            return X[:, 0]

    scorer = get_scorer("neg_mean_score_difference")
    assert scorer(Ranking(), X, sensitive_features=groups) < 0
    with pytest.raises(ValueError, match="is not a metric of a model without classes"):
        PARITY(Ranking(), X, groups, sensitive_features=groups)


def test_scores_need_a_method_that_returns_them(data):
    X, groups = data

    class Decisions(ClassifierMixin, BaseEstimator):
        classes_ = np.array([0, 1])

        def predict(self, X):
            return (X[:, 0] > 0).astype(int)

    with pytest.raises(ValueError, match="has no predict_proba and no decision_function"):
        DISTANCE(Decisions(), X, sensitive_features=groups)
    with pytest.raises(ValueError, match="but this LogisticRegression has no classes_"):
        PARITY(LogisticRegression(), X, groups, sensitive_features=groups)


# A single class ------------------------------------------------------------------------


@pytest.mark.parametrize("label", ["yes", "no"])
def test_a_classifier_trained_on_one_class_has_no_gap(data, label):
    X, groups = data
    model = DummyClassifier().fit(X, [label] * 48)
    assert DISTANCE(model, X, sensitive_features=groups) == 0
    with pytest.raises(ValueError, match=rf"labels are \['{label}'\]"):
        PARITY(model, X, [label] * 48, sensitive_features=groups)


def test_unknown_response_methods_are_refused():
    with pytest.raises(ValueError, match="one of 'predict'.* got 'rank'"):
        make_scorer(max, response_method="rank", greater_is_better=False)


@pytest.mark.parametrize(
    "response_method, expected",
    [("predict", [0, 1]), ("decision_function", None), ("predict_proba", None)],
)
def test_functions_of_ones_own_take_the_requested_response(applicants, response_method, expected):
    X, y, groups = applicants
    model = clone(LOGISTIC).fit(X, y)
    received = []

    def record(y_true, response, *, sensitive_features, sample_weight, pos_label):
        received.append(np.asarray(response))
        return 2.0

    scorer = make_scorer(
        record, response_method=response_method, greater_is_better=True, pos_label="yes"
    )
    assert scorer(model, X, y, sensitive_features=groups) == 2.0
    if response_method == "predict":
        np.testing.assert_array_equal(received[0], model.predict(X))
    else:
        np.testing.assert_allclose(received[0], model.predict_proba(X)[:, 1])


def test_names_of_scorers_are_listed():
    assert all(callable(get_scorer(name)) for name in get_scorer_names())
    assert len(get_scorer_names()) == len(METRICS)


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match="'balance'.*got 'additive_violation'"):
        get_scorer("additive_violation")
    assert "additive_violation" in METRICS
    with pytest.raises(ValueError, match=r"Did you mean 'neg_equalized_odds_difference'\?"):
        get_scorer("equalized_odds_difference")
    with pytest.raises(ValueError, match=r"Did you mean 'balanced_accuracy'\?"):
        get_scorer("balanced_acuracy")


class ThresholdPerGroup(ClassifierMixin, BaseEstimator):
    """Decides by a threshold of each group: predictions need groups."""

    __metadata_request__fit = {"sensitive_features": True}
    __metadata_request__predict = {"sensitive_features": True}

    def fit(self, X, y, sensitive_features=None):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X, *, sensitive_features):
        return self.classes_[(X[:, 0] > np.asarray(sensitive_features)).astype(int)]


def test_scorers_of_scikit_learn_hand_groups_on_to_predict(enable_routing):
    X = np.arange(40.0)[:, np.newaxis] % 4
    groups = np.arange(40) % 3
    y = (X[:, 0] > groups).astype(int)
    model = ThresholdPerGroup()
    scores = cross_validate(
        model,
        X,
        y,
        scoring={name: get_scorer(name) for name in ("accuracy", "f1")},
        params={"sensitive_features": groups},
        error_score="raise",
    )
    assert scores["test_accuracy"].tolist() == scores["test_f1"].tolist() == [1.0] * 5
    weights = np.ones(40)
    assert (
        get_scorer("accuracy")(
            model.fit(X, y), X, y, sensitive_features=groups, sample_weight=weights
        )
        == 1.0
    )


def test_scorers_equal_those_of_scikit_learn_for_other_estimators(data):
    X = np.random.default_rng(0).normal(size=(50, 2))
    y = np.arange(50) % 2
    model = LogisticRegression().fit(X, y)
    for name in ("accuracy", "roc_auc", "neg_log_loss"):
        expected = sklearn.metrics.get_scorer(name)(model, X, y)
        assert get_scorer(name)(model, X, y) == expected
        assert get_scorer(name)(model, X, y, sensitive_features=y) == expected
    assert clone(get_scorer("accuracy")).scoring == "accuracy"


@pytest.mark.slow
def test_constraints_and_metrics_alone_make_scorers_with_a_confidence_level():
    """In a new process, where no other module of the package is imported."""
    code = """
from skfair.constraints import EqualOpportunity
from skfair.metrics import make_scorer
make_scorer(EqualOpportunity(), confidence_level=0.95)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


# Scikit-learn's meta-estimators ---------------------------------------------------------


def draw_unequal(n_samples=200):
    rng = np.random.default_rng(0)
    groups = rng.integers(2, size=n_samples)
    X = rng.normal(size=(n_samples, 2)) + groups[:, np.newaxis]
    return X, (X[:, 0] + rng.normal(size=n_samples) > 0.5).astype(int), groups


THRESHOLDS = np.linspace(0.05, 0.95, 7)


@pytest.mark.parametrize(
    "scorer",
    [
        get_scorer("neg_demographic_parity_difference"),
        make_scorer("recall", transform="group_min"),
        get_scorer("accuracy"),
    ],
    ids=["gap", "smallest recall", "accuracy"],
)
@pytest.mark.parametrize("classes", [(0, 1), ("yes", "no")], ids=["numbers", "text"])
@pytest.mark.usefixtures("enable_routing")
def test_thresholds_are_tuned_by_scores_of_their_decisions(scorer, classes):
    X, y, groups = draw_unequal()
    y = np.array(classes)[y]
    if hasattr(scorer, "pos_label"):
        scorer = clone(scorer).set_params(pos_label=classes[1])
    model = LogisticRegression().fit(X, y)
    settings = {"cv": "prefit", "refit": False, "thresholds": THRESHOLDS}
    tuned = TunedThresholdClassifierCV(model, scoring=scorer, store_cv_results=True, **settings)
    tuned.fit(X, y, sensitive_features=groups)
    # The positive class of scikit-learn is the second of the classes in ascending order.
    positive = classes[1] if hasattr(scorer, "pos_label") else model.classes_[1]
    (rest,) = set(classes) - {positive}
    probability = model.predict_proba(X)[:, model.classes_.tolist().index(positive)]
    expected = []
    for threshold in THRESHOLDS:
        decisions = np.where(probability >= threshold, positive, rest)

        def predict(X, decisions=decisions):
            return decisions

        made = DummyClassifier().fit(X, y)
        made.predict = predict
        expected.append(scorer(made, X, y, sensitive_features=groups))
    np.testing.assert_allclose(tuned.cv_results_["scores"], expected, rtol=0, atol=1e-12)
    assert tuned.best_score_ == max(expected)


@pytest.mark.usefixtures("enable_routing")
def test_thresholds_are_not_tuned_by_what_they_do_not_change():
    X, y, groups = draw_unequal()
    scorer = get_scorer("neg_mean_score_difference")
    tuned = TunedThresholdClassifierCV(LogisticRegression(), scoring=scorer)
    with pytest.raises(ValueError, match="mean_score_difference compares scores.*predicted class"):
        tuned.fit(X, y, sensitive_features=groups)


def test_permutation_importance_of_a_gap():
    X, y, groups = draw_unequal()
    model = LogisticRegression().fit(X, y)
    scorer = get_scorer("neg_demographic_parity_difference")
    with pytest.raises(MissingSensitiveFeaturesError, match="functools.partial"):
        permutation_importance(model, X, y, scoring=scorer)
    scorer = partial(scorer, sensitive_features=groups)
    result = permutation_importance(model, X, y, scoring=scorer, n_repeats=2, random_state=0)
    # Without the feature that tells of the group the gap is smaller: the score is larger.
    assert result.importances_mean[0] < -0.1
