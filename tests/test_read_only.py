"""Arrays that may not be written to give the results of writable ones, in every public call.

Frames of pandas, memory maps, and what joblib hands to workers are such arrays.
"""

import inspect
import multiprocessing
import os
import signal
import subprocess
import sys
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from skfair.classification import PartialParityClassifier
from skfair.cluster import (
    DCADMM,
    SFSC,
    FairKMeans,
    FairKMedoids,
    FairSpectralClustering,
    cluster_front,
)
from skfair.regression import PartialParityRegressor
from skfair.solvers import SQP
from tests.test_common import ESTIMATORS, QUICK
from tests.test_refusals import COLUMNS, GROUPS, METHODS, X, list_fits, list_functions


def freeze(column):
    frozen = np.array(column)
    frozen.flags.writeable = False
    return frozen


def freeze_sparse(column):
    """A sparse matrix of which neither values nor indices may be written to."""
    matrix = sparse.csr_array(column)
    for part in (matrix.data, matrix.indices, matrix.indptr):
        part.flags.writeable = False
    return matrix


def freeze_frame(column):
    return pd.DataFrame(freeze(column)) if np.ndim(column) == 2 else pd.Series(freeze(column))


@pytest.fixture
def map_memory(tmp_path):
    """A function that writes a column to a file, and maps the file."""

    def map_memory(column):
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.npy"
        np.save(path, column)
        return np.load(path, mmap_mode="r")

    return map_memory


def arrays_of(estimator):
    """Fitted attributes that are arrays or numbers."""
    kinds = (np.ndarray, float, int)
    return {
        name: value
        for name, value in vars(estimator).items()
        if name.endswith("_") and not name.startswith("_") and isinstance(value, kinds)
    }


def assert_close(got, expected, name=""):
    """Equal up to rounding: the columns of a frame are summed in another order."""
    if np.asarray(expected).dtype.kind == "f":
        np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-9, err_msg=name)
    else:
        np.testing.assert_array_equal(got, expected, err_msg=name)


def assert_same(got, expected):
    if isinstance(expected, dict):
        assert got.keys() == expected.keys()
        for name in expected:
            assert_close(got[name], expected[name], name)
    elif isinstance(expected, pd.DataFrame | pd.Series):
        np.testing.assert_array_equal(got.to_numpy(), expected.to_numpy())
    else:
        assert_close(np.asarray(got), np.asarray(expected))


def fit_and_predict(cls, columns):
    """Fitted attributes, and results of the methods that take the same columns."""
    model = cls(**QUICK.get(cls.__name__, {}))
    if issubclass(cls, PartialParityClassifier | PartialParityRegressor):
        # Results need not be those of a whole fit, nor of a search for a tolerance out of reach.
        model.set_params(solver=SQP(max_iter=3), tolerance=0.2)
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    if "n_clusters" in model.get_params():
        # Three territories of uneven weights take FairKMedoids 2 s a fit.
        model.set_params(n_clusters=2 if cls is FairKMedoids else 3, n_init=1)
    model.fit(**columns)
    results = arrays_of(model)
    for method in METHODS:
        call = getattr(model, method, None)
        names = inspect.signature(call).parameters if call is not None else {}
        if call is None:
            continue
        results[method] = np.asarray(call(**{one: columns[one] for one in columns if one in names}))
    return results


COLUMNS_OF_FITS = {name: columns for name, _, columns in list_fits()}
named = pytest.mark.parametrize("cls", ESTIMATORS, ids=lambda cls: cls.__name__)
quiet = pytest.mark.filterwarnings("ignore")


@pytest.mark.covering(1)
@quiet
@pytest.mark.parametrize("form", ["frozen", "mapped", "frame"])
@named
def test_fits_of_arrays_that_are_read_only(cls, form, map_memory):
    columns = COLUMNS_OF_FITS[cls.__name__]
    make = {"frozen": freeze, "mapped": map_memory, "frame": freeze_frame}[form]
    before = {name: np.array(column) for name, column in columns.items()}
    expected = fit_and_predict(cls, before)
    got = fit_and_predict(cls, {name: make(column) for name, column in columns.items()})
    got.pop("feature_names_in_", None)
    assert_same(got, expected)
    # No writable input was changed either.
    assert_same(before, dict(columns))


SPARSE = [one for one in ESTIMATORS if one().__sklearn_tags__().input_tags.sparse]


@pytest.mark.covering(1)
@quiet
@pytest.mark.parametrize("cls", SPARSE, ids=lambda cls: cls.__name__)
def test_fits_of_sparse_matrices_that_are_read_only(cls):
    columns = COLUMNS_OF_FITS[cls.__name__]
    expected = fit_and_predict(cls, columns | {"X": sparse.csr_array(X)})
    frozen = {name: freeze(column) for name, column in columns.items()}
    assert_same(fit_and_predict(cls, frozen | {"X": freeze_sparse(X)}), expected)


@quiet
@pytest.mark.parametrize(
    "function, columns", [pytest.param(*one[1:], id=one[0]) for one in list_functions()]
)
def test_functions_of_arrays_that_are_read_only(function, columns):
    expected = function(**columns)
    got = function(**{name: freeze(column) for name, column in columns.items()})
    if isinstance(expected, float | int | np.ndarray | pd.DataFrame | pd.Series):
        assert_same(got, expected)
    else:
        assert repr(got) == repr(expected)


AFFINITY = np.exp(-((X[:, np.newaxis] - X) ** 2).sum(axis=-1))


def fit_affinity(solver="auto", **settings):
    model = FairSpectralClustering(
        2, affinity="precomputed", eigen_solver=solver, random_state=0, **settings
    )
    return lambda affinity: model.fit(affinity, sensitive_features=GROUPS).labels_


GRAPHS = {
    "search": fit_affinity(),
    "k-means": fit_affinity(assign_labels="kmeans"),
    "DCADMM": fit_affinity(DCADMM()),
    "SFSC": fit_affinity(SFSC()),
    "nullspace": fit_affinity("nullspace"),
    "callable": lambda affinity: (
        FairSpectralClustering(2, affinity=lambda X, Y: affinity, random_state=0)
        .fit(X, sensitive_features=GROUPS)
        .labels_
    ),
}
"""Labels of an affinity, by the parts of the estimator that read it."""


@pytest.mark.covering(1)
@quiet
@pytest.mark.parametrize("kind", ["dense", "frame", "sparse"])
@pytest.mark.parametrize("name", GRAPHS)
def test_affinities_that_are_read_only(name, kind):
    make = {"dense": freeze, "frame": freeze_frame, "sparse": freeze_sparse}[kind]
    writable = sparse.csr_array(AFFINITY) if kind == "sparse" else AFFINITY.copy()
    assert_same(GRAPHS[name](make(AFFINITY)), GRAPHS[name](writable))


@quiet
@pytest.mark.parametrize("cls", [FairKMeans, FairSpectralClustering])
def test_fronts_of_arrays_that_are_read_only(cls):
    model = cls(2, random_state=0)
    expected = cluster_front(model, X, sensitive_features=GROUPS, n_levels=4)
    got = cluster_front(model, freeze(X), sensitive_features=freeze(GROUPS), n_levels=4)
    np.testing.assert_array_equal(got.cost, expected.cost)
    np.testing.assert_array_equal(got.balance, expected.balance)


def test_every_column_of_the_refusals_is_frozen():
    assert {name for *_, columns in list_fits() for name in columns} <= COLUMNS.keys()


HOW = ["threads", "loky", *({"fork"} & {*multiprocessing.get_all_start_methods()})]


@pytest.mark.slow
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("how", HOW)
def test_workers_with_arrays_that_are_read_only(how, tmp_path):
    """Four threads, forked processes and new ones give what one process does."""
    output = tmp_path / "output.txt"
    with output.open("w") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.read_only_workers", how],
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            status = process.wait(1200)
        finally:
            # Workers that hang end with the process.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    assert status == 0, output.read_text()
    assert "\n0 of " in output.read_text()
