"""ConstrainedERMClassifier among scikit-learn's pipelines, searches, ensembles and callbacks."""

import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier, VotingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import (
    GridSearchCV,
    StratifiedKFold,
    TunedThresholdClassifierCV,
    cross_validate,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skfair.callbacks import FitMonitor
from skfair.classification import ConstrainedERMClassifier
from skfair.exceptions import (
    InfeasibleConstraintWarning,
    MissingSensitiveFeaturesError,
    MissingSensitiveFeaturesWarning,
)
from skfair.metrics import demographic_parity_difference, get_scorer
from skfair.model_selection import best_subject_to

GAP = "neg_demographic_parity_difference"
CV = StratifiedKFold(3)


@pytest.fixture
def enable_routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    groups = rng.integers(2, size=300)
    y = (rng.normal(size=300) + 0.8 * groups > 0.4).astype(int)
    X = rng.normal(size=(300, 3)) + np.column_stack((groups, y, 0 * y))
    return X, y, np.array(["a", "b"])[groups]


def model(**params):
    return ConstrainedERMClassifier(**{"tolerance": 0.02} | params)


def gap(fitted, data):
    X, y, groups = data
    return demographic_parity_difference(y, fitted.predict(X), sensitive_features=groups)


# Pipelines, searches, ensembles -------------------------------------------------------


def test_groups_are_routed_through_a_pipeline(enable_routing, data):
    X, y, groups = data
    pipeline = make_pipeline(StandardScaler(), model()).fit(X, y, sensitive_features=groups)
    alone = model().fit(StandardScaler().fit_transform(X), y, sensitive_features=groups)
    np.testing.assert_array_equal(pipeline[-1].coef_, alone.coef_)
    assert gap(pipeline, data) <= 0.02


def test_a_pipeline_takes_groups_by_name_without_routing(data):
    X, y, groups = data
    pipeline = make_pipeline(StandardScaler(), model())
    pipeline.fit(X, y, constrainedermclassifier__sensitive_features=groups)
    assert gap(pipeline, data) <= 0.02
    with pytest.warns(MissingSensitiveFeaturesWarning, match="enable_metadata_routing"):
        pipeline.fit(X, y)
    assert gap(pipeline, data) > 0.02


def test_a_search_selects_the_most_accurate_candidate_within_the_bound(enable_routing, data):
    X, y, groups = data
    search = GridSearchCV(
        make_pipeline(StandardScaler(), model()),
        {"constrainedermclassifier__tolerance": [0.01, 0.1, 1.0]},
        scoring={"accuracy": "accuracy", GAP: get_scorer(GAP)},
        refit=best_subject_to(GAP, 0.2),
        cv=CV,
        n_jobs=2,
        error_score="raise",
    )
    with joblib.parallel_config("threading"):
        search.fit(X, y, sensitive_features=groups)
    gaps = -search.cv_results_[f"mean_test_{GAP}"]
    accuracies = search.cv_results_["mean_test_accuracy"]
    assert gaps[0] < gaps[2]
    assert gaps[2] > 0.2
    assert search.best_index_ == np.flatnonzero(gaps <= 0.2)[accuracies[gaps <= 0.2].argmax()]
    assert gap(search, data) <= search.best_params_["constrainedermclassifier__tolerance"]


def test_without_routing_a_fairness_search_stops(data):
    X, y, _ = data
    search = GridSearchCV(model(), {"tolerance": [0.1]}, scoring=get_scorer(GAP), cv=CV)
    search.set_params(error_score="raise")
    with (
        pytest.raises(MissingSensitiveFeaturesError, match="enable_metadata_routing"),
        pytest.warns(MissingSensitiveFeaturesWarning),
    ):
        search.fit(X, y)


def test_cross_validation_indexes_the_groups(enable_routing, data):
    X, y, groups = data
    scores = cross_validate(
        model(),
        pd.DataFrame(X),
        pd.Series(y),
        scoring=get_scorer(GAP),
        params={"sensitive_features": pd.Series(groups)},
        cv=CV,
        return_estimator=True,
        error_score="raise",
    )
    assert (scores["test_score"] > -0.25).all()
    assert [sum(fold.groups_.counts) for fold in scores["estimator"]] == [200] * 3


@pytest.mark.slow
def test_calibration_and_a_tuned_threshold_route_groups(enable_routing, data):
    X, y, groups = data
    calibrated = CalibratedClassifierCV(model(), cv=CV).fit(X, y, sensitive_features=groups)
    for one in calibrated.calibrated_classifiers_:
        assert one.estimator.groups_.names == ["a", "b"]
    tuned = TunedThresholdClassifierCV(model(), cv=CV).fit(X, y, sensitive_features=groups)
    assert tuned.estimator_.constraint_violation_ == 0.0
    assert tuned.score(X, y) > 0.5


def test_ensembles(enable_routing, data):
    X, y, groups = data
    bag = BaggingClassifier(model(), n_estimators=3, random_state=0)
    bag.fit(X, y, sensitive_features=groups)
    assert all(one.constraint_violation_ == 0.0 for one in bag.estimators_)
    vote = VotingClassifier([("fair", model()), ("plain", model(constraint=None))], voting="soft")
    vote.fit(X, y, sensitive_features=groups)
    fair, plain = (gap(one, data) for one in vote.estimators_)
    assert fair <= 0.02 < plain
    assert vote.predict_proba(X).shape == (300, 2)


def test_one_vs_rest_keeps_the_tolerance_of_each_class(enable_routing, data):
    X, y, groups = data
    classes = np.array(["no", "yes", "maybe"])[np.where(X[:, 2] > 0.8, 2, y)]
    rest = OneVsRestClassifier(model(tolerance=0.05)).fit(X, classes, sensitive_features=groups)
    assert rest.classes_.tolist() == ["maybe", "no", "yes"]
    for one, label in zip(rest.estimators_, rest.classes_, strict=True):
        decisions = one.predict(X)
        reached = demographic_parity_difference(
            classes == label, decisions, sensitive_features=groups, pos_label=1
        )
        assert reached <= 0.05


@pytest.mark.parametrize("solver", ["sqp", "sqp-lbfgs"])
def test_clone_and_pickle(solver, data):
    X, y, groups = data
    fitted = model(solver=solver).fit(X, y, sensitive_features=groups)
    restored = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(restored.predict_proba(X), fitted.predict_proba(X))
    again = clone(fitted).fit(X, y, sensitive_features=groups)
    np.testing.assert_array_equal(again.coef_, fitted.coef_)


def test_responses_agree_with_one_another(data):
    X, y, groups = data
    fitted = model().fit(X, y, sensitive_features=groups)
    scores = fitted.decision_function(X)
    np.testing.assert_allclose(scores, X @ fitted.coef_[0] + fitted.intercept_)
    np.testing.assert_array_equal(fitted.predict(X), (scores > 0).astype(int))
    probabilities = fitted.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    np.testing.assert_allclose(np.log(probabilities[:, 1] / probabilities[:, 0]), scores)
    assert fitted.score(X, y) == (fitted.predict(X) == y).mean()


# Callbacks ----------------------------------------------------------------------------


class AfterIterations:
    """Callback that stops, or raises, at the end of an iteration."""

    def __init__(self, n_iterations, error=None):
        self.n_iterations, self.error, self.n_ended = n_iterations, error, 0

    def setup(self, estimator, context):
        self.n_ended = 0

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        if context.max_subtasks != 0:
            return False
        self.n_ended += 1
        if self.n_ended >= self.n_iterations and self.error:
            raise self.error
        return self.n_ended >= self.n_iterations


@pytest.mark.callbacks
def test_a_monitor_logs_every_iteration(data):
    X, y, groups = data
    monitor = FitMonitor()
    fitted = model().set_callbacks(monitor).fit(X, y, sensitive_features=groups)
    log = monitor.log
    assert len(log) == fitted.n_iter_
    assert log["run"].unique().tolist() == [0]
    assert log["objective"].iloc[0] < np.log(2)
    assert log["seconds"].is_monotonic_increasing
    assert (log["violation"] >= 0).all()
    assert log["residual"].min() < 1e-3


@pytest.mark.callbacks
def test_a_progress_bar_does_not_change_the_fit(data, capsys):
    callback = pytest.importorskip("sklearn.callback")
    X, y, groups = data
    shown = model().set_callbacks(callback.ProgressBar()).fit(X, y, sensitive_features=groups)
    np.testing.assert_array_equal(shown.coef_, model().fit(X, y, sensitive_features=groups).coef_)


@pytest.mark.callbacks
def test_a_callback_stops_a_fit_that_keeps_the_tolerance(data):
    X, y, groups = data
    stop = AfterIterations(2)
    with pytest.warns(ConvergenceWarning):
        fitted = model().set_callbacks(stop).fit(X, y, sensitive_features=groups)
    assert fitted.n_iter_ == stop.n_ended == 2
    assert fitted.status_ == "stopped"
    assert gap(fitted, data) <= 0.02


@pytest.mark.callbacks
def test_the_warning_of_a_stopped_fit_that_misses_its_bound_names_the_callback(data):
    X, y, groups = data
    stopped = model(enforcement=None, tolerance=1e-3).set_callbacks(AfterIterations(1))
    with pytest.warns(InfeasibleConstraintWarning, match="A callback ended the fit before its end"):
        stopped.fit(X, y, sensitive_features=groups)
    assert stopped.status_ == "infeasible"


@pytest.mark.callbacks
def test_an_interrupt_leaves_the_earlier_fit(data):
    X, y, groups = data
    fitted = model().fit(X, y, sensitive_features=groups)
    before = {name: value for name, value in vars(fitted).items() if name.endswith("_")}
    fitted.set_callbacks(AfterIterations(3, KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        fitted.fit(X[:100, :2], y[:100], sensitive_features=groups[:100])
    assert {name: vars(fitted)[name] for name in before} == before
    assert gap(fitted, data) <= 0.02


def test_verbose_prints_iterations(data, capsys):
    X, y, groups = data
    fitted = model(verbose=1).fit(X, y, sensitive_features=groups)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == fitted.n_iter_
    assert lines[0].startswith("problem 1, iteration 1: objective 0.")
