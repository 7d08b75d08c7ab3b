"""What both clusterers have in common: callbacks, status, failed fits and reproducibility."""

import json
import os
import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import skfair
from skfair.callbacks import FitMonitor
from skfair.cluster import (
    FairKMeans,
    FairSpectralClustering,
    cluster_front,
)
from skfair.datasets import make_fair_blobs
from skfair.exceptions import MissingSensitiveFeaturesWarning

CLUSTERERS = [FairKMeans, FairSpectralClustering]
STATUSES = {"optimal", "feasible", "stopped", "max_iter", "not_found", "infeasible"}


@pytest.fixture(scope="module")
def data():
    X, _, groups = make_fair_blobs(120, centers=3, group_separation=0.9, random_state=0)
    return X, groups


@pytest.fixture(params=CLUSTERERS)
def model(request):
    """A clusterer of several rounds."""
    settings = {"tol": 0} if request.param is FairKMeans else {"gamma": 0.1}
    return request.param(3, min_balance=0.9, random_state=0, **settings)


class Callback:
    """Counts the tasks of fits, keeps the views of rounds, and can stop or break a fit."""

    def __init__(self, stop_after=None, raise_in=None, error=KeyboardInterrupt):
        self.stop_after, self.raise_in, self.error = stop_after, raise_in, error
        self.begun = self.ended = 0
        self.views = []

    def _arrive(self, where):
        if where == self.raise_in:
            raise self.error

    def setup(self, estimator, context):
        self._arrive("setup")

    def teardown(self, estimator, context):
        self._arrive("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.begun += 1
        self._arrive("begin" if context.parent is None else "begin of round")

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        self.ended += 1
        self.last_view = fitted_estimator
        self._arrive("end" if context.parent is None else f"round {len(self.views)}")
        if context.parent is not None:
            self.views.append(fitted_estimator)
            return len(self.views) == self.stop_after
        return None


@pytest.mark.callbacks
def test_every_task_that_begins_ends(model, data):
    X, groups = data
    callback = Callback()
    model.set_callbacks(callback).fit(X, sensitive_features=groups)
    assert model.n_iter_ == len(callback.views) > 1
    assert callback.begun == callback.ended == model.n_iter_ + 1


@pytest.mark.callbacks
def test_the_views_of_rounds_are_fitted(model, data):
    X, groups = data
    callback = Callback()
    model.set_callbacks(callback).fit(X, sensitive_features=groups)
    assert [view.n_iter_ for view in callback.views] == list(range(1, model.n_iter_ + 1))
    for view in callback.views:
        assert view.status_ in {"stopped", "not_found"}
        assert view.predict(X).shape == (120,)
        np.testing.assert_array_equal(np.bincount(view.labels_), view.group_counts_.sum(axis=1))
        assert view.balance_ == view.cluster_balances_.min()
        assert sum(view.groups_.counts) == 120
    assert callback.last_view.labels_ is model.labels_  # the end of the whole fit


@pytest.mark.callbacks
def test_callbacks_change_nothing(model, data, capsys):
    callback = pytest.importorskip("sklearn.callback")
    X, groups = data
    labels = model.fit(X, sensitive_features=groups).labels_
    monitor = FitMonitor()
    model.set_callbacks(callback.ProgressBar(), monitor).fit(X, sensitive_features=groups)
    np.testing.assert_array_equal(model.labels_, labels)
    assert type(model).__name__ in capsys.readouterr().out
    assert monitor.log["iteration"].tolist() == list(range(model.n_iter_))
    assert np.isfinite(monitor.log[["objective", "balance"]]).all(axis=None)


@pytest.mark.callbacks
def test_a_fit_stopped_by_a_callback_is_not_called_optimal(model, data):
    X, groups = data
    callback = Callback(stop_after=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)  # a stop by a callback is no warning
        warnings.simplefilter("ignore")
        model.set_callbacks(callback).fit(X, sensitive_features=groups)
    assert model.n_iter_ == len(callback.views) == 1
    holds = model.constraint_violation_ == 0
    assert model.status_ in ({"stopped"} if holds else {"not_found", "infeasible"})


@pytest.mark.callbacks
def test_a_fit_without_balance_that_is_stopped(model, data):
    X, groups = data
    model.set_params(min_balance=None).set_callbacks(Callback(stop_after=1))
    assert model.fit(X, sensitive_features=groups).status_ == "stopped"


@pytest.mark.covering(1)
@pytest.mark.callbacks
@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
@pytest.mark.parametrize(
    "where", ["setup", "begin", "begin of round", "round 0", "round 1", "end", "teardown"]
)
def test_an_interrupted_refit_leaves_the_earlier_fit(model, data, where, error):
    X, groups = data
    model.fit(X, sensitive_features=groups)
    earlier = dict(vars(model))
    labels = model.predict(X)
    model.set_callbacks(Callback(raise_in=where, error=error))
    with pytest.raises(error):
        model.fit(np.hstack([X, X])[::2], sensitive_features=groups[::2])
    for name, value in earlier.items():
        assert getattr(model, name) is value
    np.testing.assert_array_equal(model.predict(X), labels)


@pytest.mark.callbacks
def test_a_broken_first_fit_leaves_no_fit(model, data):
    X, groups = data
    with pytest.raises(KeyboardInterrupt):
        model.set_callbacks(Callback(raise_in="end")).fit(X, sensitive_features=groups)
    assert not [name for name in vars(model) if name.endswith("_")]


def test_a_refit_forgets_what_it_does_not_set(model, data):
    X, groups = data
    model.fit(X, sensitive_features=groups).stale_ = 1
    assert not hasattr(model.fit(X, sensitive_features=groups), "stale_")


def test_the_status_is_one_of_four(model, data):
    X, groups = data
    for min_balance in (None, 0.5, 1):
        model.set_params(min_balance=min_balance).fit(X, sensitive_features=groups)
        assert model.status_ in STATUSES
        assert model.n_iter_ >= 1


@pytest.mark.callbacks
def test_a_fit_without_the_groups_it_asks_for_certifies_nothing(model, data):
    X, groups = data
    callback = Callback()
    model.set_callbacks(callback)
    for y in (None, groups):  # groups by position are y, which is ignored
        with pytest.warns(MissingSensitiveFeaturesWarning, match="sensitive_features"):
            model.fit(X, y)
        assert model.status_ == "unconstrained"
        assert model.constraint_violation_ is None
    assert {view.status_ for view in callback.views} == {"unconstrained"}
    model.set_params(min_balance=None).fit(X)
    assert model.status_ in STATUSES
    assert model.constraint_violation_ == 0


def test_verbose_prints_every_round(model, data, capsys):
    X, groups = data
    model.set_params(verbose=1).fit(X, sensitive_features=groups)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == model.n_iter_
    assert all(line.startswith("cost ") and "balance" in line for line in lines)


# Embeddings that are not accurate -----------------------------------------------------


@pytest.mark.callbacks
def test_an_embedding_that_has_not_converged_identify_groups(data):
    X, groups = data
    model = FairSpectralClustering(3, eigen_solver="dca-admm", random_state=0)
    with pytest.warns(ConvergenceWarning, match="'dca-admm'.*3e-05.*Use eigen_solver") as caught:
        model.fit(X, sensitive_features=groups)
    assert caught[0].filename == __file__
    assert model.status_ == "max_iter"
    with pytest.warns(ConvergenceWarning, match="'dca-admm'"):  # also after a callback
        model.set_params(min_balance=None).set_callbacks(Callback(stop_after=1)).fit(X)
    with pytest.warns(ConvergenceWarning, match="'dca-admm'.*eigen_tol=3e-05") as caught:
        cluster_front(
            FairSpectralClustering(3, eigen_solver="dca-admm", random_state=0),
            X,
            sensitive_features=groups,
            n_levels=2,
        )
    assert caught[0].filename == __file__


# Fronts -------------------------------------------------------------------------------


@pytest.fixture(params=[FairKMeans, FairSpectralClustering])
def make_front(request):
    def make(X, groups, random_state=0):
        estimator = request.param(3, random_state=random_state)
        return cluster_front(estimator, X, sensitive_features=groups, n_levels=3)

    return make


def test_a_pickled_front_makes_the_same_estimators(make_front, data):
    X, groups = data
    front = make_front(X, groups)
    copy = pickle.loads(pickle.dumps(front))
    np.testing.assert_array_equal(copy.cost, front.cost)
    for i in (0, -1):
        one = copy.to_estimator(i)
        other = front.to_estimator(i)
        np.testing.assert_array_equal(one.labels_, other.labels_)
        np.testing.assert_array_equal(one.predict(X), other.predict(X))
        assert one.objective_ == other.objective_
        assert one.status_ == "feasible"
        assert one.n_features_in_ == 2
        assert one.min_balance == min(1, one.relative_balance_)


def test_a_front_without_groups_warns_of_what_it_has(make_front, data):
    X, _ = data
    with pytest.warns(MissingSensitiveFeaturesWarning) as caught:
        front = make_front(X, None)
    assert [w.filename for w in caught] == [__file__]
    assert "sensitive_features=None" in str(caught[0].message)
    assert "min_balance" not in str(caught[0].message)
    assert front.balance.tolist() == [1]


def test_a_front_draws_from_its_random_state(make_front, data):
    X, groups = data
    random_state = np.random.RandomState(0)
    front = make_front(X, groups, random_state=random_state)
    assert random_state.get_state()[2] != np.random.RandomState(0).get_state()[2]
    np.testing.assert_array_equal(front.cost, make_front(X, groups, random_state=0).cost)


FITS = """
import hashlib, json
import numpy as np
from skfair.cluster import FairKMeans, FairSpectralClustering
from skfair.datasets import make_fair_blobs

X, _, groups = make_fair_blobs(5000, n_features=8, centers=6, random_state=0)
model = FairKMeans(6, random_state=0, n_jobs=2).fit(X, sensitive_features=groups)
arrays = [model.labels_, model.group_counts_, model.inertia_]
X, _, groups = make_fair_blobs(700, centers=4, random_state=1)  # too many for a dense solver
for affinity in ("rbf", "nearest_neighbors"):
    model = FairSpectralClustering(4, affinity=affinity, random_state=0)
    arrays.append(model.fit_predict(X, sensitive_features=groups))
    assert len(set(model.labels_)) == 4
digests = json.dumps([hashlib.sha256(np.asarray(one).tobytes()).hexdigest() for one in arrays])
"""


@pytest.mark.slow
def test_the_number_of_threads_changes_no_bit():
    # Thread pools read their size when they are loaded: the other number needs a process.
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    other = "2" if os.environ.get("OMP_NUM_THREADS") == "1" else "1"
    here = {}
    exec(FITS, here)
    done = subprocess.run(
        [sys.executable, "-c", f"{FITS}\nprint(digests)"],
        cwd=Path(skfair.__file__).parents[1],
        env=os.environ | dict.fromkeys(names, other),
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert len(json.loads(here["digests"])) == 5
    assert json.loads(done.stdout) == json.loads(here["digests"])
