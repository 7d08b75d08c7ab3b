import hypothesis.extra.numpy as hnp
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skfair.metrics import (
    METRICS,
    additive_violation,
    balance_score,
    cluster_composition,
    cluster_share_ratios,
    share_ratio_score,
)

# Two clusters: (2 a, 1 b, 1 c) and (2 a, 2 b, 4 c).
LABELS = np.array([0] * 4 + [1] * 8)
GROUPS = np.array(list("aabc" + "aabbcccc"))

CLUSTERING = {name: metric for name, metric in METRICS.items() if metric.kind == "clustering"}


def test_balance_by_hand():
    assert balance_score(LABELS, sensitive_features=GROUPS) == 0.5
    assert balance_score(LABELS, sensitive_features=GROUPS, agg="mean") == 0.5
    assert balance_score(LABELS, sensitive_features=GROUPS, relative=True) == 0.5 / (3 / 5)
    assert balance_score([0, 0, 1, 1], sensitive_features=list("abaa")) == 0
    assert balance_score([0, 0, 1, 1], sensitive_features=list("abaa"), agg="mean") == 0.5
    assert isinstance(balance_score(LABELS, sensitive_features=GROUPS), float)


def test_share_ratios_by_hand():
    # Of the four a two, one and one; of the two b one and one; of the one c one.
    labels = [0, 0, 1, 2, 0, 1, 0]
    groups = list("aaaabbc")
    ratios = cluster_share_ratios(labels, sensitive_features=groups)
    assert ratios.to_dict() == {0: (2 / 4) / 1, 1: 0, 2: 0}
    assert share_ratio_score(labels, sensitive_features=groups) == 0
    assert share_ratio_score(labels, sensitive_features=groups, agg="mean") == 0.5 / 3
    assert METRICS["share_ratio"](labels, sensitive_features=groups) == 0
    with pytest.raises(ValueError, match="agg must be"):
        share_ratio_score(labels, sensitive_features=groups, agg="max")


def test_share_ratios_detect_a_group_that_dominates_a_cluster():
    """A rare group that fills half of a small cluster leaves the balance high."""
    labels = [0] * 20 + [1] * 80
    groups = ["rare"] * 10 + ["other"] * 10 + ["rare"] * 20
    groups += ["other"] * 60
    assert balance_score(labels, sensitive_features=groups, relative=True) >= 0.77
    assert share_ratio_score(labels, sensitive_features=groups) == pytest.approx((1 / 7) / (1 / 3))


def test_additive_violation_by_hand():
    # Expected counts: (4/3, 1, 5/3) and (8/3, 2, 10/3); the largest departure is 2/3.
    assert additive_violation(LABELS, sensitive_features=GROUPS) == pytest.approx(2 / 3)
    assert additive_violation(LABELS, sensitive_features=GROUPS, normalize=True) == pytest.approx(
        (2 / 3) / 4
    )
    assert additive_violation([0, 0, 1, 1], sensitive_features=list("abab")) == 0


def test_composition_by_hand():
    table = cluster_composition(LABELS, sensitive_features=GROUPS)
    expected = pd.DataFrame(
        [[2.0, 1.0, 1.0], [2.0, 2.0, 4.0]],
        index=pd.Index([0, 1], name="cluster"),
        columns=["a", "b", "c"],
    )
    pd.testing.assert_frame_equal(table, expected, check_column_type=False)
    rows = cluster_composition(LABELS, sensitive_features=GROUPS, normalize="cluster")
    np.testing.assert_allclose(rows, [[0.5, 0.25, 0.25], [0.25, 0.25, 0.5]])
    columns = cluster_composition(LABELS, sensitive_features=GROUPS, normalize="group")
    np.testing.assert_allclose(columns, [[0.5, 1 / 3, 0.2], [0.5, 2 / 3, 0.8]])


def test_the_composition_has_named_rows_and_columns():
    groups = pd.DataFrame({"sex": list("fmfm"), "age": [1, 2, 2, 1]})
    table = cluster_composition(["x", "x", "y", "y"], sensitive_features=groups)
    assert table.index.tolist() == ["x", "y"]
    assert table.columns.names == ["sex", "age"]
    assert table.columns.tolist() == [("f", 1), ("f", 2), ("m", 1), ("m", 2)]
    assert table.loc["y", ("f", 2)] == 1
    one = cluster_composition([0, 0, 1, 1], sensitive_features=groups["sex"])
    assert one.columns.name == "sex"
    assert one.columns.nlevels == 1
    unnamed = cluster_composition([0, 0, 1, 1], sensitive_features=groups.to_numpy())
    assert unnamed.columns.names == [None, None]


cluster_labels = hnp.arrays(np.intp, 15, elements=st.integers(-1, 2))
group_labels = hnp.arrays(np.intp, 15, elements=st.integers(0, 2))
repeats = hnp.arrays(np.intp, 15, elements=st.integers(0, 3)).filter(np.any)


@pytest.mark.covering(0)
@pytest.mark.parametrize("metric", CLUSTERING.values(), ids=CLUSTERING)
@given(labels=cluster_labels, groups=group_labels, repeats=repeats)
def test_integer_weights_equal_repeated_rows(metric, labels, groups, repeats):
    weighted = metric(labels, sensitive_features=groups, sample_weight=repeats)
    repeated = metric(np.repeat(labels, repeats), sensitive_features=np.repeat(groups, repeats))
    assert weighted == pytest.approx(repeated, rel=1e-12, abs=1e-12)


@pytest.mark.covering(0)
@pytest.mark.parametrize("metric", CLUSTERING.values(), ids=CLUSTERING)
@given(labels=cluster_labels, groups=group_labels)
def test_names_do_not_matter(metric, labels, groups):
    expected = metric(labels, sensitive_features=groups)
    clusters = np.array(["z", "y", "x", "w"])
    names = np.array([30.0, -1.0, 2.0])
    renamed = metric(clusters[labels], sensitive_features=names[groups])
    assert renamed == pytest.approx(expected, rel=1e-12, abs=1e-12)


@given(cluster_labels, group_labels)
def test_balance_against_its_definition(labels, groups):
    def ratio(k):
        sizes = [np.sum((labels == k) & (groups == j)) for j in np.unique(groups)]
        return min((a / b for a in sizes for b in sizes if b > 0), default=1)

    per_cluster = [ratio(k) for k in np.unique(labels)]
    assert balance_score(labels, sensitive_features=groups) == min(per_cluster)
    assert balance_score(labels, sensitive_features=groups, agg="mean") == pytest.approx(
        np.mean(per_cluster)
    )
    assert balance_score(labels, sensitive_features=groups, relative=True) <= 1 + 1e-12


@given(cluster_labels, group_labels)
def test_additive_violation_against_its_definition(labels, groups):
    departures = {
        (k, j): abs(
            np.sum((labels == k) & (groups == j)) - np.sum(labels == k) * np.mean(groups == j)
        )
        for k in labels
        for j in groups
    }
    sizes = {k: np.sum(labels == k) for k in labels}
    assert additive_violation(labels, sensitive_features=groups) == pytest.approx(
        max(departures.values()), abs=1e-12
    )
    assert additive_violation(labels, sensitive_features=groups, normalize=True) == pytest.approx(
        max(departure / sizes[k] for (k, _), departure in departures.items()), abs=1e-12
    )


@pytest.mark.parametrize("metric", CLUSTERING.values(), ids=CLUSTERING)
def test_the_best_value_is_reached(metric):
    balanced = metric([0, 0, 1, 1], sensitive_features=list("abab"))
    assert balanced == metric.best
    one_group = metric([0, 0, 1], sensitive_features=list("aaa"))
    assert one_group == metric.best


@pytest.mark.parametrize("metric", CLUSTERING.values(), ids=CLUSTERING)
def test_a_less_fair_clustering_has_a_worse_value(metric):
    fair = metric([0, 0, 0, 1, 1, 1], sensitive_features=list("aabaab"))
    unfair = metric([0, 0, 1, 0, 1, 1], sensitive_features=list("aabaab"))
    assert (fair > unfair) == metric.greater_is_better
    assert fair != unfair


def test_samples_of_zero_weight_are_absent():
    labels = [0, 0, 1, 2]
    groups = ["a", "b", "c", "a"]
    weights = [1, 1, 0, 0]
    assert balance_score(labels, sensitive_features=groups, sample_weight=weights) == 1
    table = cluster_composition(labels, sensitive_features=groups, sample_weight=weights)
    assert table.shape == (1, 2)


@pytest.mark.parametrize("container", [list, pd.Series, pd.Categorical, "polars"])
def test_labels_in_any_container(container):
    container = pytest.importorskip("polars").Series if container == "polars" else container
    assert balance_score(container(["x", "x", "y", "y"]), sensitive_features=list("abab")) == 1


@pytest.mark.parametrize("metric", [balance_score, additive_violation, cluster_composition])
@pytest.mark.parametrize(
    "labels, params, match",
    [
        ([0, 1], {"sensitive_features": ["a"]}, "has 1 rows but there are 2 samples"),
        ([0, 1], {"sensitive_features": ["a", None]}, "missing value"),
        ([0, np.nan], {"sensitive_features": ["a", "b"]}, "labels contains NaN"),
        ([[0, 1], [1, 0]], {"sensitive_features": ["a", "b"]}, "1d array"),
        ([], {"sensitive_features": []}, "minimum of 1 is required"),
        ([0, 1], {"sensitive_features": ["a", "b"], "sample_weight": [1, -1]}, "[Nn]egative"),
        ([0, 1], {"sensitive_features": ["a", "b"], "sample_weight": [0, 0]}, "zero"),
        ([0, 1], {"sensitive_features": ["a", "b"], "sample_weight": [1]}, "sample_weight"),
        (
            pd.Series([0, 1], index=[0, 1]),
            {"sensitive_features": pd.Series(["a", "b"], index=[1, 0])},
            "labels and sensitive_features must have the same pandas index",
        ),
    ],
)
def test_refusals(metric, labels, params, match):
    with pytest.raises(ValueError, match=match):
        metric(labels, **params)


def test_unknown_options_are_refused():
    with pytest.raises(ValueError, match="agg must be .* got 'max'"):
        balance_score([0], sensitive_features=["a"], agg="max")
    with pytest.raises(ValueError, match="normalize must be .* got 'all'"):
        cluster_composition([0], sensitive_features=["a"], normalize="all")
