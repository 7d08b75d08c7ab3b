"""Requirements of clusters: limits, shortfalls, the reported balance and the status."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skfair._kernels.limits import balance_limits, composition_ratios, has_rows, satisfies_rows
from skfair.cluster import FairKMeans
from skfair.cluster._base import (
    ClusterRequirements,
    balance_attributes,
    check_requirements,
    keeps_balance,
    list_shortfalls,
    status_attributes,
)

COUNTS = np.array([[2.0, 8.0], [4.0, 4.0]])  # of groups of 6 and 12


def test_composition_ratios_in_the_scales_of_the_limits_by_hand():
    limits = balance_limits(2)
    np.testing.assert_array_equal(composition_ratios(COUNTS, limits), [0.25, 1])
    shares = limits._replace(scales=np.array([[1 / 6, 1 / 12]]))
    np.testing.assert_allclose(
        composition_ratios(COUNTS, shares), [(2 / 6) / (8 / 12), (4 / 12) / (4 / 6)]
    )
    both = limits._replace(
        scales=np.array([[1, 1], [1 / 6, 1 / 12]]), factors=np.array([1, 0.5]), slack=np.zeros(2)
    )
    np.testing.assert_allclose(composition_ratios(COUNTS, both), [0.25, 0.25])
    with_slack = limits._replace(slack=np.ones(1))
    np.testing.assert_allclose(composition_ratios(COUNTS, with_slack), [3 / 7, 5 / 3])
    assert composition_ratios(np.array([[0.0, 5.0]]), with_slack) == 0  # a group is missing
    optional = with_slack._replace(required=np.array([False, True]))
    assert composition_ratios(np.array([[0.0, 5.0]]), optional) == 1 / 4


def test_limits_of_requirements():
    weights = np.array([6.0, 12.0])
    balance = ClusterRequirements(balance=0.8).limits(weights)
    assert balance.level == 0.4
    np.testing.assert_array_equal(balance.scales, [[1, 1]])
    for required in (
        ClusterRequirements(share_ratio=0.8),
        ClusterRequirements(balance=0.8, share_ratio=0.8),
    ):
        limits = required.limits(weights)
        assert limits.level == 0.8
        np.testing.assert_array_equal(limits.scales, [[1, 0.5]])
    assert ClusterRequirements().limits(weights).level == 0
    assert not has_rows(balance)


@given(st.integers(0, 2**32), st.sampled_from([0, 0.5, 0.8, 1]), st.sampled_from([0, 0.5, 0.8, 1]))
def test_the_level_is_reached_where_all_requirements_hold(seed, balance, share_ratio):
    rng = np.random.default_rng(seed)
    n_groups = rng.integers(1, 4)
    counts = rng.integers(1, 12, (3, n_groups)).astype(float)
    weights = counts.sum(axis=0)
    required = ClusterRequirements(balance, share_ratio)
    limits = required.limits(weights)
    level = balance * weights.min() / weights.max()
    for with_slack in (0, 1):
        holds = keeps_balance(counts, level, with_slack) and keeps_balance(
            counts, share_ratio, with_slack, 1 / weights
        )
        slack = np.full(len(limits.factors), float(with_slack))
        reached = composition_ratios(counts, limits._replace(slack=slack)).min()
        assert (reached >= limits.level * (1 - 1e-9)) == holds


def parameters(n_clusters=4, **sizes):
    sizes = {"min_cluster_size": None, "max_cluster_size": None} | sizes
    return FairKMeans(n_clusters, **sizes)


def test_sizes_are_counts_or_shares():
    required = check_requirements(
        parameters(min_cluster_size=20, max_cluster_size=30), 101, is_count=True
    )
    assert (required.smallest, required.largest) == (20, 30)
    required = check_requirements(
        parameters(min_cluster_size=0.2, max_cluster_size=0.3), 101, is_count=True
    )
    assert (required.smallest, required.largest) == (21, 30)  # integers: 20.2 and 30.3
    weighted = check_requirements(parameters(min_cluster_size=0.2), 5.0, is_count=False)
    assert weighted.smallest == 1
    nothing = check_requirements(parameters(), 9, is_count=True)
    assert (nothing.smallest, nothing.largest) == (0, np.inf)
    counts = np.array([[20.0], [30.0]])
    assert satisfies_rows(counts, required._replace(smallest=20.0).limits(np.ones(1)))
    assert not satisfies_rows(counts + [[0], [1]], required.limits(np.ones(1)))


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        (
            {"min_cluster_size": 26},
            "requires 26 samples.*100: 25 is the maximum",
        ),
        ({"min_cluster_size": 0.3}, "min_cluster_size=0.3 requires 30 samples.*25 is the maximum"),
        ({"max_cluster_size": 24}, "max_cluster_size=24 allows 24.*100: 25 is the minimum"),
        ({"min_cluster_size": 20, "max_cluster_size": 10}, "10.*25 is the minimum"),
    ],
)
def test_infeasible_sizes_are_refused_with_the_best_feasible_one(sizes, message):
    X = np.arange(100.0)[:, None]
    with pytest.raises(ValueError, match=message):
        FairKMeans(4, min_balance=None, **sizes).fit(X)


def test_tight_sizes_are_met():
    X = np.random.default_rng(0).normal(size=(103, 2))
    model = FairKMeans(
        4, min_balance=None, min_cluster_size=25, max_cluster_size=26, random_state=0
    )
    assert sorted(model.fit(X).cluster_sizes_) == [25, 26, 26, 26]


@pytest.mark.parametrize("size", [0, -1, 1.5, 1.0, "some"])
def test_sizes_of_the_wrong_kind_are_refused(size):
    X = np.arange(10.0)[:, None]
    for name in ("min_cluster_size", "max_cluster_size"):
        with pytest.raises(ValueError, match=f"'{name}' parameter of FairKMeans"):
            FairKMeans(2, min_balance=None, **{name: size}).fit(X)


@pytest.mark.parametrize(
    ("counts", "ratio", "largest_weight", "holds"),
    [
        ([[8, 12]], 0.8, 1, True),  # 8 + 1 >= 0.8 * (12 - 1)
        ([[7, 13]], 0.8, 1, False),  # 7 + 1 < 0.8 * (13 - 1)
        ([[7, 13]], 0.8, 2, True),
        ([[7, 13]], 0, 1, True),
        ([[0, 1], [5, 5]], 0.5, 1, False),  # forgiven by rounding, but a group lacks
        ([[5, 5], [1, 9]], 0.5, 1, False),  # every cluster counts
    ],
)
def test_balance_up_to_one_sample_by_hand(counts, ratio, largest_weight, holds):
    assert keeps_balance(np.array(counts, dtype=float), ratio, largest_weight) is holds


def test_a_group_with_fewer_members_than_clusters_may_lack():
    counts = np.array([[0.0, 2.0], [1.0, 2.0]])
    assert keeps_balance(counts, 0.5, 1, members=np.array([1, 4]))
    assert not keeps_balance(counts, 0.5, 1, members=np.array([2, 4]))  # of two light members
    assert not keeps_balance(counts + [[0, 2], [0, 0]], 0.5, 1, members=np.array([1, 6]))


def test_reported_figures_by_hand():
    counts = np.array([[2.0, 4.0], [4.0, 4.0]])
    reported = balance_attributes(counts, ClusterRequirements(balance=0.9))
    assert reported["balance_"] == 0.5
    assert reported["relative_balance_"] == 0.5 / 0.75
    assert reported["cluster_balances_"].tolist() == [0.5, 1.0]
    assert reported["constraint_violation_"] == 0  # within one sample
    larger = balance_attributes(10 * counts, ClusterRequirements(balance=0.9))
    # 20 members beside 40, at .9 of a balance of 60 / 80: 27 are needed.
    assert larger["constraint_violation_"] == pytest.approx(0.9 * 0.75 * 40 - 20)
    assert larger["violated_bound_"] == "min_balance"
    assert balance_attributes(10 * counts, ClusterRequirements())["constraint_violation_"] == 0


@pytest.mark.parametrize("search", ["optimal", "feasible", "max_iter"])
def test_infeasible_takes_precedence_over_the_status_of_the_search(search):
    for lacks_groups in (False, True):
        violation = {"constraint_violation_": 0.1}
        reported = status_attributes(violation, search, lacks_groups)
        assert reported == {"status_": "not_found", "constraint_violation_": 0.1}
        reported = status_attributes(violation, search, lacks_groups, is_infeasible=True)
        assert reported == {"status_": "infeasible", "constraint_violation_": 0.1}
    reported = status_attributes({"constraint_violation_": 0.0}, search, lacks_groups=False)
    assert reported == {"status_": search, "constraint_violation_": 0.0}


def test_each_violated_requirement_is_reported():
    counts = np.array([[10.0, 40.0], [30.0, 20.0]])  # shares of 1/4, 2/3 and 3/4, 1/3
    required = ClusterRequirements(balance=0.9, share_ratio=0.8, smallest=49.0, largest=51.0)
    reported = balance_attributes(counts, required)
    assert reported["share_ratio_"] == pytest.approx(0.25 / (2 / 3))
    np.testing.assert_allclose(reported["cluster_share_ratios_"], [0.375, 4 / 9])
    assert reported["cluster_sizes_"].tolist() == [50, 50]
    lacks = list_shortfalls(reported, required, 1.0)
    assert [one.sentence[:15] for one in lacks] == ["min_balance=0.9", "min_share_ratio"]
    # Beside 40 members of the first cluster .9 * 40 / 60 of them are needed. Beside 3 / 4 of a
    # group in the second cluster .8 * 3 / 4 of the other one are needed, of 60.
    needed = [0.9 * (40 / 60) * 40, 0.8 * 0.75 * 60]
    assert [one.amount for one in lacks] == pytest.approx([needed[0] - 10, needed[1] - 20])
    assert reported["constraint_violation_"] == pytest.approx(16)
    assert reported["violated_bound_"] == "min_share_ratio"
    uneven = ClusterRequirements(smallest=51.0, largest=48.0)
    lacks = list_shortfalls(balance_attributes(counts, uneven), uneven, 1.0)
    assert [one.amount for one in lacks] == [1, 2]
    assert "cluster 0 has 50, 1 too few for 51; cluster 1" in lacks[0].sentence
    assert "cluster 0 has 50, 2 too many for 48; cluster 1" in lacks[1].sentence
    # Sizes have no slack, whatever the lightest sample weighs.
    assert len(list_shortfalls(balance_attributes(counts, uneven), uneven, 3.0)) == 2
