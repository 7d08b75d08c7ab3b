"""FitMonitor on a tiny estimator with known iterations."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from skfair.callbacks import FitMonitor
from skfair.classification import ConstrainedClassifierCV

callback = pytest.importorskip("sklearn.callback", reason="callbacks came with scikit-learn 1.9")

COLUMNS = ["run", "iteration", "seconds", "objective", "violation", "residual", "balance"]


class Halving(callback.CallbackSupportMixin, BaseEstimator):
    """Its objective starts at `start` and halves in each of `n_iter` iterations."""

    def __init__(self, start=8.0, n_iter=3):
        self.start = start
        self.n_iter = n_iter

    @callback.with_callbacks
    def fit(self, X, y=None):
        context = self._init_callback_context(max_subtasks=self.n_iter)
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        for t in range(self.n_iter):
            step = context.subcontext(task_name="iteration")
            step.call_on_fit_task_begin(estimator=self, X=X, y=y)
            view = self.state(t)
            if step.call_on_fit_task_end(estimator=self, X=X, y=y, reconstruction_attributes=view):
                break
        vars(self).update(view)
        context.call_on_fit_task_end(
            estimator=self, X=X, y=y, reconstruction_attributes=lambda: view
        )
        return self

    def state(self, t):
        return {"objective_": self.start / 2**t, "balance_": t / 10}

    def score(self, X, y=None):
        return -self.objective_


class Silent(Halving):
    """Shows its callbacks no fitted view of itself."""

    def state(self, t):
        return None

    @callback.with_callbacks
    def fit(self, X, y=None):
        context = self._init_callback_context(max_subtasks=1)
        context.subcontext().call_on_fit_task_end(estimator=self, X=X, y=y)
        return self


@pytest.fixture
def X():
    return np.zeros((12, 1))


@pytest.mark.callbacks
def test_one_row_per_iteration(X):
    monitor = FitMonitor()
    Halving().set_callbacks(monitor).fit(X)
    log = monitor.log
    assert log.columns.tolist() == COLUMNS
    assert log["iteration"].tolist() == [0, 1, 2]
    assert log["objective"].tolist() == [8.0, 4.0, 2.0]
    assert log["balance"].tolist() == [0.0, 0.1, 0.2]
    assert log["seconds"].is_monotonic_increasing and (log["seconds"] >= 0).all()


@pytest.mark.callbacks
def test_what_is_not_reported_is_nan(X):
    monitor = FitMonitor()
    Halving().set_callbacks(monitor).fit(X)
    assert monitor.log[["violation", "residual"]].isna().all(axis=None)


@pytest.mark.callbacks
def test_an_empty_log_has_the_same_columns(X):
    monitor = FitMonitor()
    assert monitor.log.columns.tolist() == COLUMNS
    Silent().set_callbacks(monitor).fit(X)
    assert monitor.log.empty


@pytest.mark.callbacks
def test_every_fit_is_a_run(X):
    monitor = FitMonitor()
    model = Halving(n_iter=2).set_callbacks(monitor)
    model.fit(X)
    model.set_params(start=2.0).fit(X)
    assert monitor.log["run"].tolist() == [0, 0, 1, 1]
    assert monitor.log["objective"].tolist() == [8.0, 4.0, 2.0, 1.0]


@pytest.mark.callbacks
def test_clones_share_the_monitor(X):
    monitor = FitMonitor()
    model = Halving().set_callbacks(monitor)
    clone(model).fit(X)
    assert len(monitor.log) == 3


@pytest.mark.callbacks
def test_a_pickled_copy_keeps_its_rows_and_goes_on_alone(X):
    monitor = FitMonitor()
    model = Halving().set_callbacks(monitor).fit(X)
    copy = pickle.loads(pickle.dumps(model))
    (restored,) = copy._skl_callbacks
    pd.testing.assert_frame_equal(restored.log, monitor.log)
    copy.fit(X)
    assert len(restored.log) == 6 and len(monitor.log) == 3


@pytest.mark.callbacks
@pytest.mark.parametrize("n_jobs", [None, pytest.param(2, marks=pytest.mark.slow)])
def test_a_search_fills_the_log_for_any_n_jobs(X, n_jobs):
    monitor = FitMonitor()
    model = Halving().set_callbacks(monitor)
    GridSearchCV(model, {"start": [8.0, 2.0]}, cv=2, n_jobs=n_jobs).fit(X)
    first = monitor.log.query("iteration == 0")
    assert first["run"].tolist() == list(range(5))  # two candidates on two folds, and the refit
    assert sorted(first["objective"]) == [2.0, 2.0, 2.0, 8.0, 8.0]


@pytest.mark.callbacks
def test_stands_beside_the_progress_bar(X, capsys):
    monitor = FitMonitor()
    Halving().set_callbacks(callback.ProgressBar(), monitor).fit(X)
    assert len(monitor.log) == 3
    assert "Halving" in capsys.readouterr().out


class Predictions:
    """Callback that keeps the decisions of every iterate about some samples."""

    def __init__(self, X):
        self.X = X
        self.decisions = []

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        if fitted_estimator is not None and context.max_subtasks == 0:
            self.decisions.append(fitted_estimator.predict(self.X))


@pytest.mark.callbacks
def test_iterates_of_a_wrapper_predict_by_the_features_of_their_rule():
    rng = np.random.default_rng(0)
    group = rng.integers(2, size=400)
    X = rng.normal(size=(400, 3)) + 0.8 * group[:, np.newaxis]
    y = (X.sum(axis=1) + rng.logistic(size=400) > 1).astype(int)
    model = ConstrainedClassifierCV(LogisticRegression(), tolerance=0.02)
    listener = Predictions(X)
    model.set_callbacks(listener).fit(X, y, sensitive_features=group)
    # The rule reads probabilities of groups, and the scores alone keep no bound.
    assert len(model.rule_coef_) == 2
    assert len(listener.decisions) > 1
