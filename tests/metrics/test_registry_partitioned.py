"""Metrics of partitioned data are those of the same data in memory."""

import warnings

import numpy as np
import pandas as pd
import pytest

from skfair import metrics
from skfair.datasets import open_blocks

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")

rng = np.random.default_rng(0)
N = 300
TABLE = pd.DataFrame(
    {
        "y_true": rng.integers(2, size=N),
        "y_pred": rng.integers(2, size=N),
        "grade": rng.choice(["low", "mid", "high"], size=N),
        "given": rng.choice(["low", "mid", "high"], size=N),
        "cluster": rng.integers(3, size=N),
        "sex": rng.choice(["f", "m"], size=N),
        "age": rng.choice([20, 40, 60], size=N),
        "weight": rng.integers(4, size=N) / 2,
        "score": rng.normal(size=N),
    }
)
OF_DECISIONS = [
    metrics.demographic_parity_difference,
    metrics.equalized_odds_difference,
    metrics.demographic_parity_ratio,
    metrics.group_report,
]


@pytest.fixture(scope="module", params=["dask", "blocks"])
def partitions(request, local_client, tmp_path_factory):
    if request.param == "dask":
        return dd.from_pandas(TABLE, npartitions=4)
    pytest.importorskip("pyarrow")
    folder = tmp_path_factory.mktemp("table")
    TABLE.to_parquet(folder / "table.parquet", row_group_size=80)
    return open_blocks(folder)


def assert_same(result, expected):
    if isinstance(expected, float):
        assert result == pytest.approx(expected, abs=1e-12)
    else:
        np.testing.assert_allclose(result.to_numpy(float), expected.to_numpy(float), atol=1e-12)
        assert result.index.equals(expected.index)
        assert result.index.names == expected.index.names


@pytest.mark.covering(0)
@pytest.mark.parametrize("metric", OF_DECISIONS, ids=lambda metric: metric.__name__)
@pytest.mark.parametrize("groups", ["sex", ["sex", "age"]], ids=["one", "two"])
@pytest.mark.parametrize("weight", [None, "weight"])
def test_decisions(partitions, metric, groups, weight):
    def measure(table):
        weights = None if weight is None else table[weight]
        return metric(
            table["y_true"],
            table["y_pred"],
            sensitive_features=table[groups],
            sample_weight=weights,
        )

    assert_same(measure(partitions), measure(TABLE))


@pytest.mark.slow
@pytest.mark.covering(0)
def test_classes_strata_and_clusters(partitions):
    for measure in (
        lambda t: metrics.class_report(t["grade"], t["given"], sensitive_features=t["sex"]),
        lambda t: metrics.class_report(
            t["grade"], t["given"], sensitive_features=t["sex"], sample_weight=t["weight"]
        ),
        lambda t: metrics.demographic_parity_difference(
            t["y_true"], t["y_pred"], sensitive_features=t["sex"], control_features=t["age"]
        ),
        lambda t: metrics.balance_score(t["cluster"], sensitive_features=t[["sex", "age"]]),
    ):
        assert_same(measure(partitions), measure(TABLE))


def test_scores_are_gathered_in_memory(partitions):
    def measure(table):
        return metrics.wasserstein_distance_between_groups(
            table["score"], sensitive_features=table["sex"]
        )

    assert_same(measure(partitions), measure(TABLE))


def test_a_partition_may_be_empty(local_client):
    truth, decided, sex = (
        da.from_array(TABLE[name].to_numpy(), chunks=100) for name in ("y_true", "y_pred", "sex")
    )
    late = da.arange(N, chunks=100) >= 100
    assert_same(
        metrics.demographic_parity_difference(
            truth[late], decided[late], sensitive_features=sex[late]
        ),
        metrics.demographic_parity_difference(
            TABLE["y_true"][100:], TABLE["y_pred"][100:], sensitive_features=TABLE["sex"][100:]
        ),
    )


def test_partitions_and_columns_in_memory_are_not_compared(partitions):
    with pytest.raises(TypeError, match="y_pred in memory"):
        metrics.demographic_parity_difference(
            partitions["y_true"], TABLE["y_pred"], sensitive_features=partitions["sex"]
        )


@pytest.mark.slow
def test_negative_and_missing_weights_are_refused(local_client):
    columns = [da.from_array(TABLE[name].to_numpy(), chunks=100) for name in ("y_true", "y_pred")]
    sex = da.from_array(TABLE["sex"].to_numpy(), chunks=100)
    for wrong in (-1.0, np.nan):
        weights = np.ones(N)
        weights[250] = wrong
        with pytest.raises(ValueError, match="(?i)negative|nan"), warnings.catch_warnings():
            metrics.demographic_parity_difference(
                *columns, sensitive_features=sex, sample_weight=da.from_array(weights, chunks=100)
            )


def test_missing_groups_are_refused(partitions):
    holed = TABLE.assign(sex=TABLE["sex"].where(np.arange(N) != 7))
    lazy = dd.from_pandas(holed, npartitions=4)
    with pytest.raises(ValueError, match="missing"):
        metrics.demographic_parity_difference(
            lazy["y_true"], lazy["y_pred"], sensitive_features=lazy["sex"]
        )
