"""What is asked of clusters, as numbers, and what cannot be had."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skfair._kernels.clustering import balance_limits
from skfair.cluster import FairKMeans
from skfair.cluster._requirements import (
    ClusterRequirements,
    check_requirements,
    composition_ratios,
    keeps_balance,
    keeps_sizes,
)

COUNTS = np.array([[2.0, 8.0], [4.0, 4.0]])  # of groups of 6 and 12


def test_the_mix_in_the_scales_of_the_limits_by_hand():
    limits = balance_limits(2)
    np.testing.assert_array_equal(composition_ratios(COUNTS, limits), [0.25, 1])
    shares = limits._replace(scales=np.array([[1 / 6, 1 / 12]]))
    np.testing.assert_allclose(
        composition_ratios(COUNTS, shares), [(2 / 6) / (8 / 12), (4 / 12) / (4 / 6)]
    )
    both = limits._replace(scales=np.array([[1, 1], [1 / 6, 1 / 12]]), factors=np.array([1, 0.5]))
    np.testing.assert_allclose(composition_ratios(COUNTS, both), [0.25, 0.25])
    person = limits._replace(slack=1.0)
    np.testing.assert_allclose(composition_ratios(COUNTS, person), [3 / 7, 5 / 3])
    assert composition_ratios(np.array([[0.0, 5.0]]), person) == 0  # a group is missing


def test_limits_of_what_is_asked():
    weights = np.array([6.0, 12.0])
    balance = ClusterRequirements(balance=0.8).limits(weights)
    assert balance.level == 0.4
    np.testing.assert_array_equal(balance.scales, [[1, 1]])
    for asked in (
        ClusterRequirements(share_ratio=0.8),
        ClusterRequirements(balance=0.8, share_ratio=0.8),
    ):
        limits = asked.limits(weights)
        assert limits.level == 0.8
        np.testing.assert_array_equal(limits.scales, [[1, 0.5]])
    assert ClusterRequirements().limits(weights).level == 0
    assert balance.min_size == -np.inf
    assert balance.max_size == np.inf


@given(st.integers(0, 2**32), st.sampled_from([0, 0.5, 0.8, 1]), st.sampled_from([0, 0.5, 0.8, 1]))
@settings(max_examples=100)
def test_the_level_is_reached_where_everything_asked_for_is_kept(seed, balance, share_ratio):
    rng = np.random.default_rng(seed)
    n_groups = rng.integers(1, 4)
    counts = rng.integers(1, 12, (3, n_groups)).astype(float)
    weights, asked = counts.sum(axis=0), ClusterRequirements(balance, share_ratio)
    limits = asked.limits(weights)
    level = balance * weights.min() / weights.max()
    for person in (0, 1):
        kept = keeps_balance(counts, level, person) and keeps_balance(
            counts, share_ratio, person, 1 / weights
        )
        reached = composition_ratios(counts, limits._replace(slack=float(person))).min()
        assert (reached >= limits.level * (1 - 1e-9)) == kept


def parameters(n_clusters=4, **sizes):
    sizes = {"min_cluster_size": None, "max_cluster_size": None} | sizes
    return FairKMeans(n_clusters, **sizes)


def test_sizes_are_numbers_of_people_or_shares_of_all():
    asked = check_requirements(
        parameters(min_cluster_size=20, max_cluster_size=30), 101, is_count=True
    )
    assert (asked.smallest, asked.largest) == (20, 30)
    asked = check_requirements(
        parameters(min_cluster_size=0.2, max_cluster_size=0.3), 101, is_count=True
    )
    assert (asked.smallest, asked.largest) == (21, 30)  # whole persons: 20.2 and 30.3
    weighted = check_requirements(parameters(min_cluster_size=0.2), 5.0, is_count=False)
    assert weighted.smallest == 1
    nothing = check_requirements(parameters(), 9, is_count=True)
    assert (nothing.smallest, nothing.largest) == (0, np.inf)
    assert keeps_sizes(np.array([20.0, 30.0]), asked._replace(smallest=20.0).limits(np.ones(1)))
    assert not keeps_sizes(np.array([20.0, 31.0]), asked.limits(np.ones(1)))


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
def test_sizes_that_cannot_be_had_are_refused_with_the_best_that_can(sizes, message):
    X = np.arange(100.0)[:, None]
    with pytest.raises(ValueError, match=message):
        FairKMeans(4, min_balance=None, **sizes).fit(X)


def test_sizes_that_can_just_be_had_are_met():
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
