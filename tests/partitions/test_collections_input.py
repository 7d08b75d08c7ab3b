"""Frames of Dask with a mistake in one partition are refused, or give the results in memory."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from skfair import metrics
from skfair._partitions import partitions_of
from skfair.classification import (
    ConstrainedERMClassifier,
    PartialParityClassifier,
    PartialParityPostprocessor,
)
from skfair.cluster import FairKMeans, FairSpectralClustering
from skfair.regression import ConstrainedERMRegressor
from tests.audit.doors import report_model, report_predictions

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.filterwarnings("ignore")

N, N_PARTITIONS, WRONG = 240, 4, 2
SIZE = N // N_PARTITIONS

rng = np.random.default_rng(0)
SEX = rng.choice(["f", "m"], size=N)
FEATURES = pd.DataFrame(
    rng.normal(size=(N, 3)) + 0.5 * (SEX == "f")[:, np.newaxis], columns=["a", "b", "c"]
)
TARGET = FEATURES.sum(axis=1) + rng.normal(size=N)
DATA = {
    "X": FEATURES,
    "y": TARGET > 0.7,
    "groups": pd.DataFrame({"sex": SEX, "age": rng.choice([20, 40], size=N)}),
    "weights": pd.Series(rng.integers(1, 4, size=N) / 2),
}
CLASSIFIER = ConstrainedERMClassifier(tolerance=0.1).fit(
    FEATURES, DATA["y"], sensitive_features=SEX
)
CLUSTERS = FairKMeans(2, min_balance=0.8, random_state=0).fit(FEATURES, sensitive_features=SEX)
FROZEN = FrozenEstimator(LogisticRegression().fit(FEATURES, DATA["y"]))


class Decisions(ClassifierMixin, BaseEstimator):
    """The decisions of a classifier without its scores."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return CLASSIFIER.predict(X)


pytestmark = pytest.mark.usefixtures("local_client")


def fit(estimator, data, *target, **weights):
    return estimator.fit(data["X"], *target, sensitive_features=data["groups"], **weights)


FITS = {
    "classifier": lambda d: (
        fit(ConstrainedERMClassifier(tolerance=0.1), d, d["y"], sample_weight=d["weights"]).coef_
    ),
    "regressor": lambda d: fit(ConstrainedERMRegressor(tolerance=0.5), d, d["y"]).coef_,
    "percentiles": lambda d: (
        fit(
            # The gap is counted, but does not bind: where it does, minima are many.
            PartialParityClassifier(interval=(0.0, 1.0), tolerance=0.7),
            d,
            d["y"],
        ).coef_
    ),
    "k-means": lambda d: (
        fit(
            FairKMeans(2, min_balance=0.5, random_state=0), d, sample_weight=d["weights"]
        ).objective_
    ),
    "landmarks": lambda d: (
        fit(FairSpectralClustering(2, n_landmarks=20, random_state=0), d).objective_
    ),
    "postprocessor": lambda d: (
        PartialParityPostprocessor(FROZEN, interval=(0.0, 1.0))
        .fit(d["X"], d["y"], sensitive_features=d["groups"]["sex"])
        ._levels
    ),
}
PREDICTIONS = {
    "predict": lambda d: CLASSIFIER.predict(d["X"]),
    "probabilities": lambda d: CLASSIFIER.predict_proba(d["X"]),
    "scores": lambda d: CLASSIFIER.decision_function(d["X"]),
    "clusters": lambda d: CLUSTERS.predict(d["X"]),
    "distances": lambda d: CLUSTERS.transform(d["X"]),
}
MEASURES = {
    "rate": lambda d: metrics.demographic_parity_difference(
        d["y"], CLASSIFIER.predict(d["X"]), sensitive_features=d["groups"]
    ),
    "report": lambda d: metrics.group_report(
        d["y"], d["y"], sensitive_features=d["groups"], sample_weight=d["weights"]
    ),
    "balance": lambda d: metrics.balance_score(
        CLUSTERS.predict(d["X"]), sensitive_features=d["groups"]
    ),
    "distance": lambda d: metrics.wasserstein_distance_between_groups(
        d["weights"], sensitive_features=d["groups"]
    ),
    "audit of predictions": lambda d: report_predictions(
        d["y"], CLASSIFIER.predict(d["X"]), sensitive_features=d["groups"]
    ).gaps["gap"],
    "audit": lambda d: report_model(
        Decisions().fit(None, DATA["y"]), d["X"], d["y"], sensitive_features=d["groups"]
    ).gaps["gap"],
}
CALLS = FITS | PREDICTIONS | MEASURES
DAMAGES = {
    "reversed": lambda frame: frame.iloc[:, ::-1],
    "renamed": lambda frame: frame.rename(columns={frame.columns[1]: "other"}),
    "missing": lambda frame: frame.iloc[:, [0, *range(2, frame.shape[1])]],
    "added": lambda frame: frame.assign(other=frame.iloc[:, 0]),
}


def make_lazy(table, damage=None, where=(WRONG,)):
    """A collection of Dask that declares the columns of a table, with damage in one partition."""

    def read(number):
        part = table.iloc[number * SIZE : (number + 1) * SIZE]
        return damage(part) if damage and number in where else part

    return dd.from_map(read, range(N_PARTITIONS), meta=table.iloc[:0])


def call(function, data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = function(data)
        return result.compute() if hasattr(result, "__dask_graph__") else result


def assert_refused_or_equal(function, data, expected, named):
    try:
        result = call(function, data)
    except ValueError as error:
        message = str(error)
        for words in named:
            assert words in message
        return
    np.testing.assert_allclose(
        np.asarray(result, dtype=float), np.asarray(expected, dtype=float), rtol=1e-6, atol=1e-9
    )


@pytest.fixture(scope="module")
def answers_in_memory():
    return {name: call(function, DATA) for name, function in CALLS.items()}


@pytest.mark.slow
@pytest.mark.covering(0)
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("which", ["X", "groups"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_columns_of_one_partition(answers_in_memory, name, which, damage):
    data = {key: make_lazy(table) for key, table in DATA.items()}
    data[which] = make_lazy(DATA[which], DAMAGES[damage])
    changed = DATA[which].columns[1]
    names = [f"Partition {WRONG}", "'other'" if damage == "added" else repr(changed)]
    assert_refused_or_equal(CALLS[name], data, answers_in_memory[name], names)


@pytest.mark.covering(1)
@pytest.mark.parametrize("name", ["classifier", "clusters", "rate"])
@pytest.mark.parametrize("damage", ["renamed", "missing", "added"])
def test_other_columns_of_features_are_refused(name, damage):
    data = {key: make_lazy(table) for key, table in DATA.items()}
    data["X"] = make_lazy(DATA["X"], DAMAGES[damage])
    with pytest.raises(ValueError, match=f"Partition {WRONG}: the columns of X must be 'a', 'b'"):
        call(CALLS[name], data)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*FITS, *MEASURES])
@pytest.mark.parametrize("which", ["y", "groups", "weights"])
def test_other_indexes_are_refused(answers_in_memory, name, which):
    shifted = DATA[which].set_axis(DATA[which].index + 7)
    data = {key: make_lazy(table) for key, table in (DATA | {which: shifted}).items()}
    assert_refused_or_equal(
        CALLS[name], data, answers_in_memory[name], ["same pandas index", which[0]]
    )


@pytest.mark.parametrize("name", ["classifier", "k-means", "postprocessor", "rate", "balance"])
def test_groups_of_another_index_are_refused(name):
    shuffled = DATA["groups"].sample(frac=1, random_state=0)
    data = {key: make_lazy(table) for key, table in (DATA | {"groups": shuffled}).items()}
    with pytest.raises(ValueError, match=r"Partition 0: .* must have the same pandas index"):
        call(CALLS[name], data)


@pytest.mark.covering(0)
@pytest.mark.parametrize("name", CALLS)
def test_empty_partitions_have_empty_answers(name):
    late = {key: table.iloc[SIZE:] for key, table in DATA.items()}
    data = {key: make_lazy(table, lambda part: part[:0], [0]) for key, table in DATA.items()}
    result = call(CALLS[name], data)
    expected = call(CALLS[name], late)
    assert np.asarray(result).dtype == np.asarray(expected).dtype
    np.testing.assert_allclose(
        np.asarray(result, dtype=float), np.asarray(expected, dtype=float), rtol=1e-6, atol=1e-9
    )


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function"])
def test_empty_chunks_of_arrays_have_empty_answers(method):
    X = da.from_array(FEATURES.to_numpy(), chunks=(SIZE, 3))
    late_X = X[da.arange(N, chunks=SIZE) >= SIZE]
    model = ConstrainedERMClassifier(None).fit(FEATURES.to_numpy(), DATA["y"])
    answer = getattr(model, method)
    late = answer(FEATURES.to_numpy()[SIZE:])
    np.testing.assert_allclose(answer(late_X).compute(), late, rtol=1e-12)


def test_chunks_with_other_numbers_of_columns_are_refused():
    X = da.from_array(FEATURES.to_numpy(), chunks=(SIZE, 3))
    narrow = X.map_blocks(lambda chunk, block_id: chunk[:, block_id[0] // WRONG :], dtype=float)
    with pytest.raises(ValueError, match=r"Partition [23]: .*X must have shape \(3,\).* \(2,\)"):
        partitions_of(X=narrow).gather(len)
    model = ConstrainedERMClassifier(None).fit(FEATURES.to_numpy(), DATA["y"])
    with pytest.raises(ValueError, match=r"Partition [23]: .*X must have shape \(3,\).* \(2,\)"):
        model.predict(narrow).compute()
    with pytest.raises(ValueError, match="X must have a known number of columns"):
        partitions_of(X=X[:, X[0] > -10])


def test_a_partition_without_the_target_is_named():
    table = make_lazy(DATA["X"].assign(y=DATA["y"]), lambda part: part.drop(columns="y"))
    with pytest.raises(ValueError, match=r"Partition 2 could not be computed: KeyError .*y"):
        ConstrainedERMClassifier(None).fit(table[["a", "b", "c"]], table["y"])


def test_sparse_chunks_are_refused():
    sparse = pytest.importorskip("scipy.sparse")
    X = da.from_array(FEATURES.to_numpy(), chunks=(SIZE, 3)).map_blocks(sparse.csr_array)
    y = da.from_array(DATA["y"].to_numpy(), chunks=SIZE)
    with pytest.raises(TypeError, match="Partition 0: X must be dense, but it is a csr_array"):
        ConstrainedERMClassifier(None).fit(X, y)


def test_groups_of_a_prediction_have_the_index_of_the_features():
    shuffled = DATA["groups"]["sex"].sample(frac=1, random_state=0)
    answers = CLUSTERS.predict(make_lazy(FEATURES), sensitive_features=make_lazy(shuffled))
    with pytest.raises(ValueError, match=r"Partition \d: X and sensitive_features must have"):
        answers.compute()
