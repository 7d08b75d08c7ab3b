"""Fits on intervals of percentiles to partitioned samples: threads, Dask, and files."""

import warnings

import numpy as np
import pandas as pd
import pytest

from skfair._fitting import linear
from skfair.classification import ConstrainedERMClassifier, PartialParityClassifier
from skfair.constraints import DemographicParity, PartialStatisticalParity
from skfair.datasets import open_blocks
from skfair.metrics import partial_statistical_parity_difference
from skfair.solvers import SQP

INTERVAL = (0.1, 0.4)
# Without a client threads read the collections, and a warning says so.
pytestmark = [
    pytest.mark.filterwarnings("ignore:There is no Dask client"),
    pytest.mark.usefixtures("no_small_data"),
]


def draw(n_samples=8000, seed=0):
    """Features, classes, groups and weights; the plain fit does not keep the tolerance."""
    rng = np.random.default_rng(seed)
    sex = rng.integers(2, size=n_samples)
    X = rng.normal(size=(n_samples, 3)) + 0.5 * sex[:, np.newaxis]
    y = X @ [1.0, -0.5, 0.3] + rng.logistic(size=n_samples) > 0.8
    return X, y.astype(int), sex, rng.integers(0, 3, n_samples)


def make_chunks(*columns, chunks=3000):
    da = pytest.importorskip("dask.array")
    return [da.from_array(column, chunks=(chunks, *column.shape[1:])) for column in columns]


def fit_model(X, y, sex, weights=None, **settings):
    model = PartialParityClassifier(interval=INTERVAL, tolerance=0.05, **settings)
    return model.fit(X, y, sensitive_features=sex, sample_weight=weights)


def gap(model, X, sex, weights=None):
    return partial_statistical_parity_difference(
        model.decision_function(X), sensitive_features=sex, interval=INTERVAL, sample_weight=weights
    )


def assert_within_tolerance(model, X, sex, weights=None):
    assert 0.04 <= gap(model, X, sex, weights) <= 0.05
    assert model.status_ == "optimal"
    assert model.constraint_violation_ == 0.0
    reported = model.constraint_report_["gap"].to_numpy()
    np.testing.assert_allclose(reported, gap(model, X, sex, weights), atol=1e-9)


@pytest.mark.slow
@pytest.mark.covering(0)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_fit_to_a_collection_is_as_good_as_one_in_memory(weighted):
    *data, weights = draw()
    data += [weights] if weighted else []
    partitioned = fit_model(*make_chunks(*data))
    in_memory = fit_model(*data)
    for model in (partitioned, in_memory):
        assert_within_tolerance(model, data[0], *data[2:])
    assert partitioned.score(*data[:2]) == pytest.approx(in_memory.score(*data[:2]), abs=5e-4)
    assert (
        partitioned.constraint_report_["n"].tolist() == in_memory.constraint_report_["n"].tolist()
    )
    assert partitioned.groups_.counts == in_memory.groups_.counts


@pytest.mark.slow
def test_files_give_any_number_of_threads_the_same_bits(tmp_path):
    X, y, sex, _ = draw()
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y, sex=sex)
    pytest.importorskip("pyarrow")
    table.to_parquet(tmp_path / "samples.parquet", row_group_size=3000)
    samples = open_blocks(tmp_path / "samples.parquet")
    columns = samples[["a", "b", "c"]], samples["y"], samples["sex"]
    one, two = (fit_model(*columns, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert np.array_equal(one.coef_, two.coef_)
    assert one.constraint_report_.equals(two.constraint_report_)
    assert np.array_equal(one.coef_, fit_model(*make_chunks(X, y, sex)).coef_)


@pytest.mark.slow
def test_blocks_of_many_samples_give_any_number_of_threads_the_same_bits():
    X, y, sex, _ = draw(140_000)
    one, two = (fit_model(X, y, sex, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert np.array_equal(one.coef_, two.coef_)
    assert np.array_equal(one.thresholds_, two.thresholds_)
    assert one.constraint_report_.equals(two.constraint_report_)
    assert_within_tolerance(one, X, sex)


@pytest.mark.slow
def test_a_group_may_be_in_one_partition_alone():
    X, y, sex, _ = draw()
    order = np.argsort(sex, kind="stable")
    X = X[order]
    y = y[order]
    sex = sex[order]
    assert_within_tolerance(fit_model(*make_chunks(X, y, sex, chunks=(0, 2000, 6000, 0))), X, sex)


@pytest.mark.slow
def test_without_enforcement_the_fit_is_that_in_memory():
    X, y, sex, _ = draw()
    settings = {"enforcement": None, "solver": SQP(tol=1e-8)}
    partitioned = fit_model(*make_chunks(X, y, sex), **settings)
    in_memory = fit_model(X, y, sex, **settings)
    np.testing.assert_allclose(partitioned.coef_, in_memory.coef_, rtol=1e-3)
    assert partitioned.objective_ == pytest.approx(in_memory.objective_, rel=1e-6)


@pytest.mark.slow
def test_without_a_client_one_warning_says_that_threads_read():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit_model(*make_chunks(*draw()[:3]), enforcement=None)
    assert len([one for one in caught if "no Dask client" in str(one.message)]) == 1


def test_the_error_about_bad_values_names_the_partition():
    X, y, sex, _ = draw()
    X[7500, 1] = np.nan
    with pytest.raises(ValueError, match="Partition 2: Input X contains NaN"):
        fit_model(*make_chunks(X, y, sex))
    dd = pytest.importorskip("dask.dataframe")
    samples = dd.from_pandas(pd.DataFrame({"word": sex.astype(str), "y": y}), npartitions=2)
    samples["word"] = samples["word"].map({"0": "f", "1": "m"}, meta=("word", object))
    with pytest.raises(ValueError, match="Partition 0: could not convert string to float"):
        fit_model(samples[["word"]], samples["y"], samples["word"])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"constraint": "partial_demographic_parity"},
            "sums over partitions.*'statistical_parity' bounds the same",
        ),
        ({"constraint": "partial_group_auc"}, "sums over partitions"),
        ({"loss": "auc"}, "cannot be compared in pairs"),
        ({"solver": "idca"}, "need solver='sqp'"),
        ({"confidence_level": 0.9}, "confidence_level=None"),
        ({"group_interactions": "intercept"}, "group_interactions=False"),
    ],
)
def test_settings_that_are_no_sum_over_partitions_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        fit_model(*make_chunks(*draw()[:3]), **settings)


def test_percentiles_and_rates_are_not_compared_at_once():
    X, y, sex = make_chunks(*draw()[:3])
    both = [PartialStatisticalParity(INTERVAL), DemographicParity()]
    with pytest.raises(ValueError, match="cannot be compared together with rates"):
        ConstrainedERMClassifier(both).fit(X, y, sensitive_features=sex)


@pytest.mark.parametrize("make", [PartialParityClassifier, ConstrainedERMClassifier])
def test_small_collections_are_fitted_in_memory(make, monkeypatch):
    """The fit is the one in memory."""
    monkeypatch.undo()
    X, y, sex, weights = draw(1200)
    X = np.round(X)  # many ties
    data = {"sensitive_features": sex, "sample_weight": weights}
    in_memory = make(tolerance=0.1).fit(X, y, **data)
    X, y, sex, weights = make_chunks(X, y, sex, weights, chunks=500)
    monkeypatch.setattr(linear, "make_partitioned", None)  # not called
    partitioned = make(tolerance=0.1).fit(X, y, sensitive_features=sex, sample_weight=weights)
    np.testing.assert_allclose(
        partitioned.coef_, in_memory.coef_, rtol=1e-4
    )  # the solver's tolerance
    assert partitioned.objective_ == pytest.approx(in_memory.objective_, rel=1e-6)
    assert partitioned.status_ == in_memory.status_
    assert (
        partitioned.constraint_report_["n"].tolist() == in_memory.constraint_report_["n"].tolist()
    )
    assert partitioned.groups_.counts == in_memory.groups_.counts
