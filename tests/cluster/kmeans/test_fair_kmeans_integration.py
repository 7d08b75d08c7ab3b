"""FairKMeans by its methods, and among scikit-learn's pipelines, searches and callbacks."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, normalize, scale

from skfair.callbacks import FitMonitor
from skfair.cluster import AlternatingSwaps, FairKMeans, Homotopy
from skfair.datasets import fetch_adult, make_fair_blobs
from skfair.exceptions import MissingSensitiveFeaturesError, MissingSensitiveFeaturesWarning
from skfair.metrics import balance_score, get_scorer

CV = KFold(3)


@pytest.fixture(scope="module")
def data():
    X, _, groups = make_fair_blobs(240, centers=3, group_separation=0.8, random_state=0)
    return X, np.array(["a", "b"])[groups]


def model(**settings):
    return FairKMeans(**{"n_clusters": 3, "random_state": 0, **settings})


def pipeline(**settings):
    return make_pipeline(StandardScaler(), model(**settings))


@pytest.fixture(scope="module")
def fitted_model(data):
    X, groups = data
    return model().fit(X, sensitive_features=groups)


# Methods ------------------------------------------------------------------------------


def test_predict_with_groups_adds_the_offsets(fitted_model, data):
    X, groups = data
    squares = ((X[:, None] - fitted_model.cluster_centers_) ** 2).sum(axis=2)
    codes = (groups == "b").astype(int)
    expected = (squares + fitted_model.offsets_.T[codes]).argmin(axis=1)
    predicted = fitted_model.predict(X, sensitive_features=groups)
    np.testing.assert_array_equal(predicted, expected)
    assert predicted.dtype == np.int32
    # Few sit on a tie or were moved by the local search.
    assert (predicted == fitted_model.labels_).mean() > 0.9


def test_predict_without_groups_is_the_nearest_centre(fitted_model, data):
    X, _ = data
    squares = ((X[:, None] - fitted_model.cluster_centers_) ** 2).sum(axis=2)
    predicted = fitted_model.predict(X)
    np.testing.assert_array_equal(predicted, squares.argmin(axis=1))
    assert predicted.dtype == np.int32


def test_transform_and_score_are_distances(fitted_model, data):
    X, _ = data
    distances = np.linalg.norm(X[:, None] - fitted_model.cluster_centers_, axis=2)
    np.testing.assert_allclose(fitted_model.transform(X), distances)
    nearest = (distances**2).min(axis=1)
    assert fitted_model.score(X) == pytest.approx(-nearest.sum())
    weights = np.arange(len(X))
    assert fitted_model.score(X, sample_weight=weights) == pytest.approx(-(weights @ nearest))


def test_fit_predict_and_fit_transform_fit(data):
    X, groups = data
    estimator = model()
    labels = estimator.fit_predict(X, sensitive_features=groups)
    np.testing.assert_array_equal(labels, estimator.labels_)
    distances = estimator.fit_transform(X, sensitive_features=groups)
    np.testing.assert_array_equal(distances, estimator.transform(X))
    assert estimator.relative_balance_ >= 0.8


def test_columns_of_transform_are_named(fitted_model):
    assert fitted_model.get_feature_names_out().tolist() == [f"fairkmeans{k}" for k in range(3)]


def test_predict_with_groups_repeats_a_fit_without_offsets():
    X = np.array([[0.0], [0.1], [9.0], [9.1]])
    groups = [0, 1, 0, 1]
    fitted_model = model(n_clusters=2, min_balance=1).fit(X, sensitive_features=groups)
    np.testing.assert_array_equal(
        fitted_model.predict(X, sensitive_features=groups), fitted_model.labels_
    )


def test_new_samples_are_better_balanced_with_their_groups():
    folder = Path(os.environ.get("SKFAIR_DATA") or "no such folder") / "adult"
    if not all((folder / name).is_file() for name in ("adult.data", "adult.test")):
        pytest.skip("adult is not in SKFAIR_DATA")
    adult = fetch_adult(subset="all", columns="clustering")
    rows = np.random.default_rng(0).choice(len(adult.data), 12_000, replace=False)
    X = normalize(scale(adult.data.iloc[rows]))
    sex = adult.sensitive_features.iloc[rows].to_numpy()
    fitted_model = model(n_clusters=10, min_balance=0.95).fit(
        X[:6000], sensitive_features=sex[:6000]
    )
    with_groups = fitted_model.predict(X[6000:], sensitive_features=sex[6000:])
    without_groups = fitted_model.predict(X[6000:])
    balances = [
        balance_score(labels, sensitive_features=sex[6000:])
        for labels in (with_groups, without_groups)
    ]
    assert balances[0] > 1.5 * balances[1]


# Pipelines ----------------------------------------------------------------------------


def test_groups_travel_through_a_pipeline(enable_routing, data):
    X, groups = data
    labels = pipeline().fit_predict(X, sensitive_features=groups)
    alone = model().fit(StandardScaler().fit_transform(X), sensitive_features=groups)
    np.testing.assert_array_equal(labels, alone.labels_)
    assert balance_score(labels, sensitive_features=groups, relative=True) >= 0.8


def test_predict_of_a_pipeline_takes_groups(enable_routing, data):
    X, groups = data
    fitted_model = pipeline().fit(X, sensitive_features=groups)
    scaled = fitted_model[0].transform(X)
    with_groups = fitted_model.predict(X, sensitive_features=groups)
    np.testing.assert_array_equal(
        with_groups, fitted_model[-1].predict(scaled, sensitive_features=groups)
    )
    np.testing.assert_array_equal(fitted_model.predict(X), fitted_model[-1].predict(scaled))
    assert (with_groups != fitted_model.predict(X)).any()
    np.testing.assert_array_equal(fitted_model.transform(X), fitted_model[-1].transform(scaled))


def test_a_pipeline_names_its_columns(enable_routing, data):
    X, groups = data
    fitted_model = pipeline().set_output(transform="pandas").fit(X, sensitive_features=groups)
    assert fitted_model.transform(X).columns.tolist() == [
        "fairkmeans0",
        "fairkmeans1",
        "fairkmeans2",
    ]


# Searches -----------------------------------------------------------------------------


@pytest.mark.parametrize("container", [list, np.array, pd.Series])
def test_cross_validation_scores_the_balance_of_held_out_data(enable_routing, data, container):
    X, groups = data
    scoring = {name: get_scorer(name) for name in ("balance", "neg_additive_violation")}
    params = {"sensitive_features": container(groups)}
    scores = cross_validate(model(), X, scoring=scoring, params=params, cv=CV)
    for fold, (train, test) in enumerate(CV.split(X)):
        fitted_model = model().fit(X[train], sensitive_features=groups[train])
        labels = fitted_model.predict(X[test], sensitive_features=groups[test])
        balance = balance_score(labels, sensitive_features=groups[test])
        assert scores["test_balance"][fold] == balance
    assert (scores["test_balance"] > 0).all()
    assert np.isfinite(scores["test_neg_additive_violation"]).all()


@pytest.mark.parametrize("estimator", [model(), pipeline()], ids=["alone", "pipeline"])
def test_a_grid_search_finds_the_better_balanced(enable_routing, data, estimator):
    X, groups = data
    prefix = "" if isinstance(estimator, FairKMeans) else "fairkmeans__"
    grid = {f"{prefix}min_balance": [0, 0.9]}
    search = GridSearchCV(estimator, grid, scoring=get_scorer("balance"), cv=CV)
    search.fit(X, sensitive_features=groups)
    scores = search.cv_results_["mean_test_score"]
    assert np.isfinite(scores).all()
    assert search.best_params_ == {f"{prefix}min_balance": 0.9}
    labels = search.best_estimator_.predict(X, sensitive_features=groups)
    assert search.score(X, sensitive_features=groups) == balance_score(
        labels, sensitive_features=groups
    )


def test_a_grid_search_by_the_default_score_needs_no_scorer(enable_routing, data):
    X, groups = data
    search = GridSearchCV(model(), {"n_clusters": [2, 3]}, cv=CV)
    search.fit(X, sensitive_features=groups)
    assert search.best_params_ == {"n_clusters": 3}


def test_settings_of_the_algorithm_can_be_searched(enable_routing, data):
    X, groups = data
    search = GridSearchCV(
        model(algorithm=Homotopy()), {"algorithm__max_samples": [100, 200]}, cv=CV
    )
    search.fit(X, sensitive_features=groups)
    assert search.best_estimator_.algorithm.max_samples in (100, 200)


def test_a_search_without_routing_is_refused(data):
    X, groups = data
    search = GridSearchCV(
        model(),
        {"min_balance": [0.5, 0.9]},
        scoring=get_scorer("balance"),
        cv=CV,
        error_score="raise",
    )
    with pytest.raises(MissingSensitiveFeaturesError, match="enable_metadata_routing=True"):
        search.fit(X, sensitive_features=groups)
    with (
        pytest.raises(MissingSensitiveFeaturesError, match="enable_metadata_routing=True"),
        pytest.warns(MissingSensitiveFeaturesWarning),
    ):
        cross_validate(model(), X, scoring=get_scorer("balance"), cv=CV, error_score="raise")


def test_weights_are_routed_on_request(enable_routing, data):
    X, groups = data
    weights = np.where(groups == "a", 1.0, 2.0)
    weighted = make_pipeline(StandardScaler(), model().set_fit_request(sample_weight=True))
    weighted[0].set_fit_request(sample_weight=False)
    weighted.fit(X, sensitive_features=groups, sample_weight=weights)
    assert weighted[-1].group_weights_.sum() == weights.sum()


def test_out_of_fold_labels_can_be_collected(enable_routing, data):
    X, groups = data
    labels = cross_val_predict(model(), X, params={"sensitive_features": groups}, cv=CV)
    assert labels.shape == (240,)


# Parameters ---------------------------------------------------------------------------


def test_settings_change_for_the_next_fit(data):
    X, groups = data
    fitted_model = model().fit(X, sensitive_features=groups)
    fitted_model.set_params(n_clusters=2, min_balance=None).fit(X, sensitive_features=groups)
    assert fitted_model.cluster_centers_.shape == (2, 2)
    fresh = model(n_clusters=2, min_balance=None).fit(X, sensitive_features=groups)
    np.testing.assert_array_equal(fitted_model.labels_, fresh.labels_)
    fitted_model.set_params(algorithm=AlternatingSwaps()).set_params(algorithm__n_iter=5)
    assert fitted_model.algorithm.n_iter == 5


# Callbacks ----------------------------------------------------------------------------


class Callback:
    """The hooks that every callback must have, doing nothing."""

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass


class Recorder(Callback):
    """Keeps the fitted views it is shown and asks to stop after some of them."""

    def __init__(self, stop_after=None):
        self.stop_after = stop_after
        self.views = []

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        if context.parent is not None:
            self.views.append(fitted_estimator)
            return len(self.views) == self.stop_after
        return None


@pytest.mark.callbacks
def test_the_progress_bar_shows_the_fit(data, capsys):
    callback = pytest.importorskip("sklearn.callback")
    X, groups = data
    fitted_model = model().set_callbacks(callback.ProgressBar()).fit(X, sensitive_features=groups)
    assert "FairKMeans" in capsys.readouterr().out
    np.testing.assert_array_equal(
        fitted_model.labels_, model().fit(X, sensitive_features=groups).labels_
    )


@pytest.mark.callbacks
@pytest.mark.parametrize("min_balance", [None, 0.8])
def test_the_monitor_has_a_row_for_every_round(data, min_balance):
    X, groups = data
    monitor = FitMonitor()
    fitted_model = model(min_balance=min_balance, tol=0).set_callbacks(monitor)
    fitted_model.fit(X, sensitive_features=groups)
    log = monitor.log
    assert log["iteration"].tolist() == list(range(fitted_model.n_iter_))
    assert log["objective"].iloc[-1] == pytest.approx(fitted_model.objective_, rel=0.02)
    assert log["balance"].iloc[-1] == pytest.approx(fitted_model.balance_, abs=0.1)
    assert log["balance"].between(0, 1).all()


@pytest.mark.callbacks
def test_callbacks_see_a_fitted_view_of_every_round(data):
    X, groups = data
    recorder = Recorder()
    fitted_model = model().set_callbacks(recorder).fit(X, sensitive_features=groups)
    assert len(recorder.views) == fitted_model.n_iter_
    for view in recorder.views:
        np.testing.assert_array_equal(np.bincount(view.labels_), view.group_counts_.sum(axis=1))
        assert view.balance_ == view.cluster_balances_.min()


@pytest.mark.callbacks
def test_a_fit_stopped_by_a_callback_keeps_the_balance(data):
    X, groups = data
    settings = {"tol": 0, "min_balance": 0.9}
    patient = model(**settings).fit(X, sensitive_features=groups)
    assert patient.n_iter_ > 1
    recorder = Recorder(stop_after=1)
    stopped = model(**settings).set_callbacks(recorder).fit(X, sensitive_features=groups)
    assert stopped.n_iter_ == len(recorder.views) == 1
    assert stopped.relative_balance_ >= 0.9
    assert stopped.status_ == "stopped"


@pytest.mark.callbacks
def test_a_callback_may_end_the_local_search(data):
    X, groups = data
    settings = {"n_init": 1, "min_balance": 0.9}
    patient = Recorder()
    cost = model(**settings).set_callbacks(patient).fit(X, sensitive_features=groups).inertia_
    costs = [view.inertia_ for view in patient.views]
    recorder = Recorder(stop_after=len(costs) - 1)
    stopped = model(**settings).set_callbacks(recorder).fit(X, sensitive_features=groups)
    assert stopped.n_iter_ == len(recorder.views) == len(costs) - 1
    assert cost <= costs[-1] <= stopped.inertia_ * (1 + 1e-12)
    assert stopped.status_ == "stopped"
    assert stopped.relative_balance_ >= 0.9


@pytest.mark.callbacks
def test_a_monitor_watches_all_fits_of_a_search(enable_routing, data):
    X, groups = data
    monitor = FitMonitor()
    search = GridSearchCV(model().set_callbacks(monitor), {"min_balance": [0.5, 0.9]}, cv=CV)
    search.fit(X, sensitive_features=groups)
    assert monitor.log["run"].nunique() == 2 * 3 + 1
    assert np.isfinite(monitor.log[["objective", "balance"]]).all(axis=None)
