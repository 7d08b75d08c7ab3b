"""The estimators of partial parity among scikit-learn's pipelines, searches and ensembles."""

import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict, cross_validate
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skfair.classification import (
    ConstrainedERMClassifier,
    PartialParityClassifier,
    PartialParityPostprocessor,
)
from skfair.constraints import PartialStatisticalParity
from skfair.exceptions import (
    InfeasibleConstraintWarning,
    MissingSensitiveFeaturesError,
    MissingSensitiveFeaturesWarning,
)
from skfair.metrics import (
    METRICS,
    make_scorer,
    partial_statistical_parity_difference,
)
from skfair.model_selection import best_subject_to
from skfair.regression import PartialParityRegressor

INTERVAL = (0.1, 0.6)
CV = StratifiedKFold(3)
GAP = "neg_partial_statistical_parity_difference"
CLASSIFIERS = (PartialParityClassifier, PartialParityPostprocessor)
PARTIAL = [name for name in METRICS if name.startswith("partial_")]

every_classifier = pytest.mark.parametrize("kind", CLASSIFIERS, ids=lambda one: one.__name__)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    groups = rng.integers(2, size=500)
    X = rng.normal(size=(500, 3))
    X[:, 0] += groups
    y = X.sum(axis=1) + rng.logistic(size=500) > 0.7
    return X, y.astype(int), np.array(["a", "b"])[groups]


def make(kind, **params):
    return kind(**({"interval": INTERVAL, "tolerance": 0.15} | params))


def allow_gap(kind):
    """The tolerance; the postprocessor keeps it for other scores, each by the model of one fold."""
    return 0.2 if kind is PartialParityPostprocessor else 0.15


def on_interval(name):
    """The scorer of a partial metric on the interval of the models."""
    return make_scorer(name, interval=INTERVAL)


def accuracy(y_true, y_pred, *, sensitive_features, sample_weight, pos_label):
    return accuracy_score(y_true, y_pred, sample_weight=sample_weight)


# score(X, y) cannot have groups, which some of the models need; a scorer of ours passes them on.
ACCURACY = make_scorer(accuracy, greater_is_better=True)


def gap(scores, groups):
    return partial_statistical_parity_difference(
        scores, sensitive_features=groups, interval=INTERVAL
    )


# Pipelines ----------------------------------------------------------------------------


@every_classifier
def test_groups_are_routed_through_a_pipeline(kind, enable_routing, data):
    X, y, groups = data
    pipeline = make_pipeline(StandardScaler(), make(kind)).fit(X, y, sensitive_features=groups)
    alone = make(kind).fit(StandardScaler().fit_transform(X), y, sensitive_features=groups)
    scores = pipeline.decision_function(X, sensitive_features=groups)
    expected = alone.decision_function(StandardScaler().fit_transform(X), sensitive_features=groups)
    np.testing.assert_array_equal(scores, expected)
    np.testing.assert_array_equal(pipeline.predict(X, sensitive_features=groups), scores > 0)
    assert gap(scores, groups) <= allow_gap(kind)


def test_groups_are_routed_to_a_regressor(enable_routing, data):
    X, _, groups = data
    y = X @ [1.0, 2.0, 3.0]
    model = make(PartialParityRegressor, tolerance=0.2, group_interactions=True)
    pipeline = make_pipeline(StandardScaler(), model).fit(X, y, sensitive_features=groups)
    assert gap(pipeline.predict(X, sensitive_features=groups), groups) <= 0.2
    with pytest.raises(ValueError, match="need sensitive_features"):
        pipeline.predict(X)


def test_columns_of_text_are_encoded_in_a_pipeline(enable_routing, data):
    X, y, groups = data
    frame = pd.DataFrame(X, columns=[*"abc"]).assign(kind=np.where(X[:, 2] > 0, "x", "y"))
    encode = make_column_transformer((OneHotEncoder(), ["kind"]), remainder="passthrough")
    pipeline = make_pipeline(encode, make(PartialParityClassifier))
    pipeline.fit(frame, pd.Series(y), sensitive_features=pd.Series(groups))
    assert gap(pipeline.decision_function(frame, sensitive_features=groups), groups) <= 0.15


@every_classifier
def test_a_pipeline_takes_groups_by_name_without_routing(kind, data):
    X, y, groups = data
    pipeline = make_pipeline(StandardScaler(), make(kind))
    step = kind.__name__.lower()
    pipeline.fit(X, y, **{f"{step}__sensitive_features": groups})
    fitted = pipeline[-1]
    assert fitted.groups_.names == ["a", "b"]
    scores = fitted.decision_function(pipeline[:-1].transform(X), sensitive_features=groups)
    assert gap(scores, groups) <= allow_gap(kind)
    with pytest.warns(MissingSensitiveFeaturesWarning, match="enable_metadata_routing"):
        pipeline.fit(X, y)
    assert gap(pipeline.decision_function(X), groups) > 0.3


# Searches and cross-validation --------------------------------------------------------


@pytest.mark.slow
@every_classifier
def test_a_search_selects_the_most_accurate_candidate_within_the_bound(kind, enable_routing, data):
    X, y, groups = data
    pipeline = make_pipeline(StandardScaler(), make(kind))
    parameter = f"{kind.__name__.lower()}__tolerance"
    search = GridSearchCV(
        pipeline,
        {parameter: [0.2, 0.3, 1.0]},
        scoring={"accuracy": ACCURACY, GAP: on_interval(GAP.removeprefix("neg_"))},
        refit=best_subject_to(GAP, 0.5),
        cv=CV,
        n_jobs=2,
        error_score="raise",
    )
    with joblib.parallel_config("threading"):
        search.fit(X, y, sensitive_features=groups)
    gaps = -search.cv_results_[f"mean_test_{GAP}"]
    accuracies = search.cv_results_["mean_test_accuracy"]
    assert gaps[0] < 0.5 < gaps[2]
    within_bound = gaps <= 0.5
    assert search.best_index_ == np.flatnonzero(within_bound)[accuracies[within_bound].argmax()]
    fitted = search.best_estimator_  # a search itself passes no groups on to predictions
    # The tolerance of a postprocessor holds for its out-of-fold scores.
    assert fitted[-1].constraint_report_["gap"].max() <= search.best_params_[parameter]
    if kind is PartialParityClassifier:
        scores = fitted.decision_function(X, sensitive_features=groups)
        assert gap(scores, groups) <= search.best_params_[parameter]


@every_classifier
def test_without_a_candidate_within_the_bound_the_fairest_is_selected(kind, enable_routing, data):
    X, y, groups = data
    search = GridSearchCV(
        make(kind),
        {"tolerance": [0.3, 1.0]},
        scoring={"accuracy": ACCURACY, GAP: on_interval(GAP.removeprefix("neg_"))},
        refit=best_subject_to(GAP, 0.01),
        cv=CV,
        error_score="raise",
    )
    with pytest.warns(InfeasibleConstraintWarning, match="No candidate"):
        search.fit(X, y, sensitive_features=groups)
    assert search.best_params_ == {"tolerance": 0.3}


@pytest.mark.covering(0)
@every_classifier
@pytest.mark.parametrize("name", PARTIAL)
def test_every_partial_metric_scores_on_an_interval(kind, name, enable_routing, data):
    X, y, groups = data
    scores = cross_validate(
        make(kind, tolerance=0.4),
        pd.DataFrame(X),
        pd.Series(y),
        scoring=on_interval(name),
        params={"sensitive_features": pd.Series(groups)},
        cv=CV,
        return_estimator=True,
        error_score="raise",
    )
    assert (scores["test_score"] <= 0).all()
    assert (scores["test_score"] > -0.8).all()
    assert [sum(fold.groups_.counts) for fold in scores["estimator"]] == [333, 333, 334]


@every_classifier
def test_without_routing_a_fairness_search_stops(kind, data):
    X, y, groups = data
    scoring = on_interval(GAP.removeprefix("neg_"))
    search = GridSearchCV(make(kind), {"tolerance": [0.2]}, scoring=scoring, cv=CV)
    search.set_params(error_score="raise")
    with (
        pytest.raises(MissingSensitiveFeaturesError, match="enable_metadata_routing"),
        pytest.warns(MissingSensitiveFeaturesWarning),
    ):
        search.fit(X, y)


def test_cross_val_predict_refuses_predictions_that_need_groups(enable_routing, data):
    X, y, groups = data
    # scikit-learn hands cross_val_predict's params to fit alone.
    settings = {"params": {"sensitive_features": groups}, "cv": CV}
    with pytest.raises(ValueError, match="predictions need sensitive_features"):
        cross_val_predict(make(PartialParityPostprocessor), X, y, **settings)
    blind = make(PartialParityClassifier, tolerance=0.3)
    scores = cross_val_predict(blind, X, y, method="decision_function", **settings)
    assert gap(scores, groups) < gap(X.sum(axis=1), groups)


# Copies and responses -----------------------------------------------------------------


def test_responses_agree_with_one_another(data):
    X, y, groups = data
    fitted = make(PartialParityClassifier).fit(X, y, sensitive_features=groups)
    scores = fitted.decision_function(X)
    np.testing.assert_allclose(scores, X @ fitted.coef_[0] + fitted.intercept_)
    np.testing.assert_array_equal(fitted.predict(X), (scores > 0).astype(int))
    odds = fitted.predict_proba(X)
    np.testing.assert_allclose(odds.sum(axis=1), 1.0)
    np.testing.assert_allclose(np.log(odds[:, 1] / odds[:, 0]), scores)
    assert fitted.score(X, y) == (fitted.predict(X) == y).mean()


# Classifiers in and around ------------------------------------------------------------


@pytest.mark.parametrize(
    "scorer",
    [
        make_pipeline(StandardScaler(), LogisticRegression()),
        RandomForestClassifier(20, min_samples_leaf=20, random_state=0),
        PartialParityClassifier(interval=INTERVAL, tolerance=0.3),
    ],
    ids=lambda scorer: type(scorer).__name__,
)
def test_a_postprocessor_of_a_frozen_classifier_fits_the_rates_alone(scorer, data):
    X, y, groups = data
    metadata = {"sensitive_features": groups[:250]}
    needs_groups = isinstance(scorer, PartialParityClassifier)
    fitted = clone(scorer).fit(X[:250], y[:250], **(metadata if needs_groups else {}))
    before = pickle.dumps(fitted)
    model = make(PartialParityPostprocessor, estimator=FrozenEstimator(fitted), tolerance=0.25)
    model.fit(X[250:], y[250:], sensitive_features=groups[250:])
    scores = model.decision_function(X[250:], sensitive_features=groups[250:])
    assert gap(scores, groups[250:]) <= 0.25
    assert model.estimator_.estimator is fitted
    assert pickle.dumps(fitted) == before


def test_calibration_routes_groups(enable_routing, data):
    X, y, groups = data
    model = make(PartialParityClassifier, tolerance=0.3)
    calibrated = CalibratedClassifierCV(model, cv=CV).fit(X, y, sensitive_features=groups)
    for one in calibrated.calibrated_classifiers_:
        assert one.estimator.groups_.names == ["a", "b"]
    assert calibrated.score(X, y) > 0.6


def test_ensembles_route_groups(enable_routing, data):
    X, y, groups = data
    model = make(PartialParityClassifier, tolerance=0.3)
    bag = BaggingClassifier(model, n_estimators=2, random_state=0)
    bag.fit(X, y, sensitive_features=groups)
    assert all(one.constraint_violation_ == 0.0 for one in bag.estimators_)
    vote = VotingClassifier([("fair", model), ("plain", make(type(model), tolerance=1.0))])
    vote.set_params(voting="soft").fit(X, y, sensitive_features=groups)
    fair, plain = (gap(one.decision_function(X), groups) for one in vote.estimators_)
    assert fair <= 0.3 < plain


def test_one_vs_rest_keeps_the_tolerance_of_each_class(enable_routing, data):
    X, y, groups = data
    classes = np.array(["no", "yes", "maybe"])[np.where(X[:, 2] > 0.8, 2, y)]
    model = make(PartialParityClassifier, tolerance=0.3)
    rest = OneVsRestClassifier(model).fit(X, classes, sensitive_features=groups)
    assert rest.classes_.tolist() == ["maybe", "no", "yes"]
    for one in rest.estimators_:
        assert gap(one.decision_function(X), groups) <= 0.3


def test_a_transformed_target_routes_groups(enable_routing, data):
    X, _, groups = data
    y = np.exp(X.sum(axis=1) / 3)
    model = TransformedTargetRegressor(
        make(PartialParityRegressor, tolerance=0.2), func=np.log, inverse_func=np.exp
    )
    predictions = model.fit(X, y, sensitive_features=groups).predict(X)
    # An increasing function changes no rank.
    assert gap(predictions, groups) <= 0.2 + 1e-12


# One model under two names --------------------------------------------------------------


def draw_groups(seed, n_samples, n_features, n_groups, shift):
    """Scores of later groups are higher by one feature, and those of the last lower by another."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(n_groups, size=n_samples)
    X = rng.normal(size=(n_samples, n_features))
    X[:, 0] += shift * groups
    X[:, 1] -= shift / 2 * (groups == n_groups - 1)
    merit = X.sum(axis=1)
    return X, merit + 1.5 * rng.normal(size=n_samples) > np.median(merit), groups


DRAWN = {
    "two groups": (draw_groups(0, 600, 3, 2, 1.0), (0.1, 0.15)),
    "three groups": (draw_groups(1, 900, 5, 3, 0.7), (0.1, 0.15)),
    "many features": (draw_groups(2, 800, 12, 2, 0.5), (0.05, 0.1)),
}


# The best fit of one strict case is the solution of no problem.
@pytest.mark.filterwarnings("ignore:SQP stopped after")
@pytest.mark.covering(1)
@pytest.mark.parametrize("loose", [False, True], ids=["strict", "loose"])
@pytest.mark.parametrize("interval", [(0.1, 0.4), (0.2, 0.6), (0.0, 0.2)])
@pytest.mark.parametrize("name", DRAWN)
def test_the_same_constraint_gives_the_same_model_by_both_classes(name, interval, loose):
    (X, y, groups), tolerances = DRAWN[name]
    settings = {"tolerance": tolerances[loose], "random_state": 0}
    models = [
        ConstrainedERMClassifier(PartialStatisticalParity(interval), **settings),
        PartialParityClassifier(interval=interval, **settings),
    ]
    objectives = [model.fit(X, y, sensitive_features=groups).objective_ for model in models]
    assert max(objectives) <= min(objectives) * (1 + 1e-3)
    assert models[0].status_ == models[1].status_
    assert models[0].constraint_violation_ == models[1].constraint_violation_ == 0.0
    np.testing.assert_allclose(models[0].coef_, models[1].coef_, rtol=1e-3)
