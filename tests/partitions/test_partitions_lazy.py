"""Lazy answers about lazy samples are those about the same samples in memory."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from skfair._partitions import partitions_of
from skfair._partitions.blocks import open_blocks
from skfair._partitions.collections import row_by_row
from skfair._partitions.partitions import Partitions
from skfair.classification import (
    ConstrainedClassifierCV,
    ConstrainedERMClassifier,
    ConstrainedMLPClassifier,
    PartialParityPostprocessor,
)
from skfair.cluster import FairKMeans, FairSpectralClustering
from skfair.regression import ConstrainedERMRegressor, ConstrainedRegressorCV
from skfair.solvers import AdamPrimalDual

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

rng = np.random.default_rng(0)
SEX = np.where(rng.integers(2, size=120) == 1, "f", "m")
X = rng.normal(size=(120, 3)) + (SEX == "f")[:, np.newaxis]
Y = (X.sum(axis=1) + rng.normal(size=120) > 1.5).astype(int)
TABLE = pd.DataFrame(X, columns=list("abc"))

BLIND = [
    (ConstrainedERMClassifier(tolerance=0.1), ["predict", "decision_function", "predict_proba"]),
    (
        ConstrainedMLPClassifier(
            hidden_layer_sizes=(4,),
            solver=AdamPrimalDual(max_iter=3),
            tolerance=0.5,
            random_state=0,
        ),
        ["predict_proba"],
    ),
    (
        ConstrainedClassifierCV(tolerance=0.2, cv=2),
        ["predict", "decision_function", "predict_proba"],
    ),
    (ConstrainedERMRegressor(tolerance=0.5), ["predict"]),
    (ConstrainedRegressorCV(tolerance=0.5, cv=2), ["predict"]),
    (FairKMeans(2, random_state=0), ["predict", "transform"]),
    (FairSpectralClustering(2, random_state=0), ["predict"]),
]


@pytest.mark.covering(1)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("estimator", "methods"), BLIND, ids=[type(one).__name__ for one, _ in BLIND]
)
@pytest.mark.parametrize("is_frame", [False, True], ids=["array", "frame"])
def test_lazy_answers_are_the_answers(estimator, methods, is_frame):
    data = TABLE if is_frame else X
    fitted = estimator.fit(data, Y, sensitive_features=SEX)
    lazy = dd.from_pandas(TABLE, npartitions=3) if is_frame else da.from_array(X, chunks=(50, 2))
    for method in methods:
        lazy_result, expected = getattr(fitted, method)(lazy), getattr(fitted, method)(data)
        assert isinstance(lazy_result, da.Array) != is_frame
        assert lazy_result.ndim == expected.ndim
        assert lazy_result.npartitions == 3
        result = lazy_result.compute(scheduler="sync")
        np.testing.assert_allclose(result, expected, rtol=1e-12)
        assert np.asarray(result).dtype == expected.dtype
        if is_frame:
            assert result.index.equals(TABLE.index)


@pytest.mark.parametrize(
    "estimator",
    [
        ConstrainedMLPClassifier(),
        ConstrainedClassifierCV(LogisticRegression()),
        ConstrainedRegressorCV(),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_estimators_fitted_in_memory_do_not_load_lazy_data(estimator):
    with pytest.raises(TypeError, match="partitioned. Fit a subsample"):
        estimator.fit(
            da.from_array(X, chunks=(50, 3)), Y, sensitive_features=da.from_array(SEX, chunks=50)
        )


@pytest.mark.filterwarnings("ignore")
def test_groups_are_cut_where_the_rows_are():
    kmeans = FairKMeans(2, min_balance=0.9, random_state=0).fit(X, sensitive_features=SEX)
    lazy = da.from_array(X, chunks=(50, 3))
    lazy_result = kmeans.predict(lazy, sensitive_features=da.from_array(SEX, chunks=50))
    np.testing.assert_array_equal(
        lazy_result.compute(scheduler="sync"), kmeans.predict(X, sensitive_features=SEX)
    )
    ranks = PartialParityPostprocessor().fit(TABLE, Y, sensitive_features=SEX)
    frame = dd.from_pandas(TABLE.assign(sex=SEX), npartitions=3)
    lazy_result = ranks.predict(frame[["a", "b", "c"]], sensitive_features=frame["sex"])
    np.testing.assert_array_equal(
        lazy_result.compute(scheduler="sync"), ranks.predict(TABLE, sensitive_features=SEX)
    )


def test_lazy_rows_need_lazy_groups():
    model = ConstrainedERMClassifier(tolerance=0.1).fit(X, Y, sensitive_features=SEX)
    with pytest.raises(TypeError, match="sensitive_features a numpy.ndarray"):
        model.predict(da.from_array(X, chunks=(50, 3)), sensitive_features=SEX)
    with pytest.raises(TypeError, match="both arrays"):
        model.predict(
            da.from_array(X, chunks=(50, 3)),
            sensitive_features=dd.from_pandas(TABLE["a"], npartitions=3),
        )


def test_samples_of_more_dimensions_are_not_split():
    class Sums:
        @row_by_row(lambda self: np.empty((0, 2)))
        def transform(self, X):
            return np.column_stack((X.sum(axis=(1, 2)), X[:, 0, 0]))

        @row_by_row(lambda self: np.empty(0))
        def predict(self, X):
            return X.sum(axis=(1, 2))

    images = np.arange(60.0).reshape(5, 3, 4)
    lazy = da.from_array(images, chunks=(2, 2, 4))
    for method in (Sums().predict, Sums().transform):
        np.testing.assert_array_equal(method(lazy).compute(scheduler="sync"), method(images))


@pytest.mark.parametrize("is_frame", [False, True], ids=["array", "frame"])
def test_a_frozen_classifier_is_constrained_on_partitioned_data(is_frame):
    distributed = pytest.importorskip("distributed")
    frozen = FrozenEstimator(LogisticRegression().fit(X, Y))
    expected = PartialParityPostprocessor(frozen).fit(X, Y, sensitive_features=SEX)
    with distributed.Client(processes=False, dashboard_address=":0"):
        if is_frame:
            frame = dd.from_pandas(pd.DataFrame(X).assign(y=Y, sex=SEX), npartitions=3)
            columns = frame[[0, 1, 2]].values, frame["y"], frame["sex"]
        else:
            columns = [da.from_array(one, chunks=50) for one in (X, Y, SEX)]
        there = PartialParityPostprocessor(frozen).fit(*columns[:2], sensitive_features=columns[2])
    np.testing.assert_array_equal(
        there.predict(X, sensitive_features=SEX), expected.predict(X, sensitive_features=SEX)
    )
    with pytest.raises(ValueError, match="FrozenEstimator"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # there is no client
        PartialParityPostprocessor(LogisticRegression()).fit(
            *columns[:2], sensitive_features=columns[2]
        )


def test_without_a_client_threads_read_with_a_warning():
    with pytest.warns(UserWarning, match="no Dask client"):
        partitions = partitions_of(X=da.from_array(np.arange(10.0), chunks=4), n_jobs=2)
    assert isinstance(partitions, Partitions)
    last = partitions.gather(dict)[2]
    assert last.keys() == {"X"}
    np.testing.assert_array_equal(last["X"], [8.0, 9.0])


def test_blocks_of_files_are_answered_block_by_block(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(500, 3)), columns=["a", "b", "c"])
    frame = frame.assign(group=rng.integers(2, size=500))
    frame["y"] = (frame["a"] + frame["group"] + rng.normal(size=500) > 0.5).astype(int)
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=120, index=False)
    table = open_blocks(tmp_path / "rows.parquet")
    columns = frame[["a", "b", "c"]]
    lazy = table[["a", "b", "c"]]
    model = ConstrainedERMClassifier(tolerance=0.1, group_interactions="intercept")
    model.fit(columns, frame["y"], sensitive_features=frame["group"])
    for method in ("predict", "decision_function", "predict_proba"):
        answer = getattr(model, method)
        expected = answer(columns, sensitive_features=frame["group"])
        np.testing.assert_array_equal(answer(lazy, sensitive_features=table["group"]), expected)
    with pytest.raises(TypeError, match="sensitive_features must be in blocks as X is"):
        model.predict(lazy, sensitive_features=frame["group"])
