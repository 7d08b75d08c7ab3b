"""Regressors fitted to partitioned samples: collections of Dask, and files read in blocks."""

import numpy as np
import pandas as pd
import pytest

from skfair.constraints import BoundedGroupLoss, LossParity, MeanParity, PartialDemographicParity
from skfair.datasets import open_blocks
from skfair.exceptions import InfeasibleConstraintWarning
from skfair.metrics import (
    mean_score_difference,
    mean_squared_error_difference,
    partial_statistical_parity_difference,
)
from skfair.regression import ConstrainedERMRegressor, PartialParityRegressor
from skfair.solvers import SQP

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

# Without a client threads read the collections, and a warning says so.
pytestmark = [
    pytest.mark.filterwarnings("ignore:There is no Dask client"),
    pytest.mark.usefixtures("no_small_data"),
]

N_SAMPLES, CHUNK = 3000, 700
NAMES = ["a", "b", "c", "d"]


@pytest.fixture(scope="module")
def data():
    """Features, target, groups and weights; the third group is hard to predict."""
    rng = np.random.default_rng(0)
    group = rng.choice(["a", "b", "c"], p=[0.5, 0.3, 0.2], size=N_SAMPLES)
    X = rng.normal(size=(N_SAMPLES, 4))
    X[:, 0] += group == "b"
    noise = np.where(group == "c", 2.5, 1.0) * rng.normal(size=N_SAMPLES)
    y = 1000 + 50 * (X @ [1.0, 1.0, -1.0, 0.0] + 0.5 * (group == "c") + noise)
    return X, y, group, rng.integers(0, 3, N_SAMPLES).astype(float)


def make_chunks(*columns, chunks=CHUNK):
    return [da.from_array(column, chunks=(chunks, *column.shape[1:])) for column in columns]


def fit_model(X, y, group, weights=None, constraint="mean_parity", **settings):
    model = ConstrainedERMRegressor(constraint, **settings)
    return model.fit(X, y, sensitive_features=group, sample_weight=weights)


def assert_same_bits(one, other):
    assert np.array_equal(one.coef_, other.coef_)
    assert one.intercept_ == other.intercept_
    assert one.constraint_report_.equals(other.constraint_report_)


@pytest.mark.covering(0)
@pytest.mark.parametrize(
    "settings",
    [
        {"constraint": None, "loss": "absolute", "solver": SQP(tol=1e-9)},
        {"constraint": "mean_parity"},
        {"constraint": "mean_parity", "loss": "absolute", "solver": SQP(tol=1e-9)},
        {"constraint": "mean_parity", "fit_intercept": False},
        {"constraint": MeanParity(reference="overall", tolerance=2.0)},
        {"constraint": MeanParity(reference="above_overall", tolerance=2.0)},
        {
            "constraint": [MeanParity(tolerance=10.0), LossParity(tolerance=7500.0)],
            "solver": SQP(tol=1e-9),
        },
        {
            "constraint": LossParity(tolerance=4e5),
            "fit_intercept": False,
            "solver": SQP(tol=1e-9),
        },
        {"constraint": BoundedGroupLoss(15_600.0), "solver": SQP(tol=1e-9)},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:Several starts:sklearn.exceptions.ConvergenceWarning")
def test_a_fit_to_partitions_is_the_one_in_memory(data, settings):
    partitioned = fit_model(*make_chunks(*data), **settings)
    in_memory = fit_model(*data, **settings)
    scale = np.abs(in_memory.coef_).max()
    np.testing.assert_allclose(partitioned.coef_, in_memory.coef_, rtol=1e-8, atol=1e-8 * scale)
    np.testing.assert_allclose(
        partitioned.intercept_, in_memory.intercept_, rtol=1e-8, atol=1e-8 * scale
    )
    assert partitioned.objective_ == pytest.approx(in_memory.objective_, rel=1e-8)
    # One of 20 other starts of two bounds on means stops at its limit of iterations.
    status = "feasible" if isinstance(settings["constraint"], list) else "optimal"
    assert (partitioned.status_, in_memory.status_) == (status, status)
    ours, theirs = partitioned.constraint_report_, in_memory.constraint_report_
    assert ours["group"].tolist() == theirs["group"].tolist()
    assert ours["n"].tolist() == theirs["n"].tolist()
    for column in ("estimate", "standard_error", "gap"):
        rates = ours[column].astype(float), theirs[column].astype(float)
        np.testing.assert_allclose(*rates, rtol=1e-6, atol=1e-7)


@pytest.mark.slow
@pytest.mark.covering(0)
@pytest.mark.parametrize(("loss", "tolerance"), [("squared", 5000.0), ("absolute", 50.0)])
def test_means_keep_the_tolerance_to_the_last_digit(data, loss, tolerance):
    X, y, group, weights = data
    model = fit_model(
        *make_chunks(*data),
        constraint=[MeanParity(tolerance=5.0), LossParity(tolerance=tolerance)],
        loss=loss,
    )
    predictions = model.predict(X)
    kwargs = {"sensitive_features": group, "sample_weight": weights}
    assert 4.99 <= mean_score_difference(predictions, **kwargs) <= 5.0 + 1e-10
    if loss == "squared":
        reached = mean_squared_error_difference(y, predictions, **kwargs)
        assert 4999.0 <= reached <= 5000.0 + 1e-7
    assert model.constraint_violation_ == 0.0
    assert model.status_ == ("feasible" if loss == "squared" else "optimal")


@pytest.mark.slow
def test_a_bound_that_no_model_keeps_is_reported_infeasible(data):
    small = make_chunks(*(column[:200] for column in data), chunks=100)
    with pytest.warns(InfeasibleConstraintWarning, match="BoundedGroupLoss"):
        model = fit_model(*small, constraint=BoundedGroupLoss(0.01), solver=SQP(max_iter=20))
    assert model.status_ == "infeasible"


@pytest.mark.slow
def test_equal_partitions_give_the_same_bits(data, tmp_path):
    """Of files, read by any number of threads, of arrays of Dask and of its dataframes."""
    pytest.importorskip("pyarrow")
    X, y, group, weights = data
    group = np.unique(group, return_inverse=True)[1]
    table = pd.DataFrame(X, columns=NAMES).assign(y=y, group=group, weight=weights)
    table.to_parquet(tmp_path / "samples.parquet", row_group_size=CHUNK)
    files = open_blocks(tmp_path / "samples.parquet")
    starts = range(0, N_SAMPLES, CHUNK)
    frame = dd.from_map(lambda start: table.iloc[start : start + CHUNK], starts)
    named = ("y", "group", "weight")
    one = fit_model(files[NAMES], *(files[name] for name in named), n_jobs=1)
    assert_same_bits(one, fit_model(files[NAMES], *(files[name] for name in named), n_jobs=2))
    assert_same_bits(one, fit_model(*make_chunks(X, y, group, weights)))
    assert_same_bits(one, fit_model(frame[NAMES], *(frame[name] for name in named)))
    # Chunks of the arrays of a dataframe have unknown lengths.
    unknown = [frame[name].to_dask_array() for name in named]
    assert_same_bits(one, fit_model(frame[NAMES].to_dask_array(), *unknown))
    assert one.feature_names_in_.tolist() == NAMES


def test_a_group_may_be_in_one_partition_and_partitions_may_be_empty(data):
    order = np.argsort(data[2], kind="stable")
    data = [column[order] for column in data]
    first = int((data[2] == "a").sum())
    rest = N_SAMPLES - first - 10
    partitioned = fit_model(*make_chunks(*data, chunks=(0, first, 0, 10, rest, 0)))
    np.testing.assert_allclose(partitioned.coef_, fit_model(*data).coef_, rtol=1e-8)


@pytest.mark.parametrize("column", ["X", "y", "weights"])
def test_the_error_about_missing_values_names_the_partition(data, column):
    data = dict(zip(("X", "y", "group", "weights"), data, strict=True))
    data[column] = data[column].copy()
    data[column][2200] = np.nan
    with pytest.raises(ValueError, match=r"Partition 3: .*(NaN|finite)"):
        fit_model(*make_chunks(*data.values()))


def test_targets_of_text_are_refused(data):
    X, _, group, _ = data
    with pytest.raises(ValueError, match="Partition 0: y must hold numbers, but it holds 'b'"):
        fit_model(*make_chunks(X, group, group))


def test_predictions_of_lazy_samples_are_lazy(data):
    X, y, group, _ = data
    model = fit_model(*make_chunks(X, y, group))
    predictions = model.predict(make_chunks(X)[0])
    assert predictions.chunks == ((CHUNK,) * 4 + (N_SAMPLES - 4 * CHUNK,),)
    np.testing.assert_array_equal(predictions.compute(), model.predict(X))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"constraint": "demographic_parity"}, "about classes and decisions"),
        ({"constraint": ["demographic_parity"]}, "about classes and decisions"),
        ({"constraint": "partial_group_auc"}, "sums over partitions"),
        ({"solver": "gda"}, "need solver='sqp'"),
        ({"group_interactions": True}, "group_interactions=False"),
    ],
)
def test_settings_that_are_no_sum_over_partitions_are_refused(data, settings, message):
    with pytest.raises(ValueError, match=message):
        fit_model(*make_chunks(*data), **settings)


def test_without_groups_a_constraint_is_refused(data):
    X, y, _, _ = data
    with pytest.raises(ValueError, match="sensitive_features"):
        ConstrainedERMRegressor().fit(*make_chunks(X, y))
    in_memory = ConstrainedERMRegressor(None).fit(X, y)
    partitioned = ConstrainedERMRegressor(None).fit(*make_chunks(X, y))
    np.testing.assert_allclose(partitioned.coef_, in_memory.coef_, rtol=1e-12)


INTERVAL = (0.1, 0.5)


def fit_ranks(X, y, group, weights=None, **settings):
    model = PartialParityRegressor(interval=INTERVAL, tolerance=0.1, **settings)
    return model.fit(X, y, sensitive_features=group, sample_weight=weights)


def assert_ranks_equal(model, X, group, weights=None):
    difference = partial_statistical_parity_difference(
        model.predict(X), sensitive_features=group, interval=INTERVAL, sample_weight=weights
    )
    assert 0.09 <= difference <= 0.1
    np.testing.assert_allclose(model.constraint_report_["gap"], difference, atol=1e-9)
    assert model.status_ == "optimal"


@pytest.mark.slow
def test_ranks_of_predictions_keep_the_tolerance_on_all_samples(data, tmp_path):
    X, y, group, weights = data
    data = X, y, (group == "b").astype(float), weights
    partitioned = fit_ranks(*make_chunks(*data))
    assert_ranks_equal(partitioned, X, *data[2:])
    assert partitioned.score(X, y) == pytest.approx(fit_ranks(*data).score(X, y), abs=1e-3)
    np.save(tmp_path / "samples.npy", np.column_stack(data))
    files = open_blocks(tmp_path / "samples.npy")
    columns = files[[0, 1, 2, 3]], files[4], files[5], files[6]
    one, two = (fit_ranks(*columns, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert np.array_equal(one.coef_, two.coef_)
    shares = PartialParityRegressor(PartialDemographicParity(threshold=0.0))
    chunks = make_chunks(*data)
    with pytest.raises(ValueError, match="sums over partitions"):
        shares.fit(*chunks[:2], sensitive_features=chunks[2])


@pytest.mark.slow
def test_blocks_of_many_ranks_give_any_number_of_threads_the_same_bits():
    rng = np.random.default_rng(1)
    group = rng.integers(2, size=140_000)
    X = rng.normal(size=(140_000, 2)) + 0.5 * group[:, np.newaxis]
    y = X @ [3.0, 1.0] + rng.normal(size=140_000)
    one, two = (fit_ranks(X, y, group, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert np.array_equal(one.coef_, two.coef_)
    assert np.array_equal(one.thresholds_, two.thresholds_)
    assert_ranks_equal(one, X, group)
