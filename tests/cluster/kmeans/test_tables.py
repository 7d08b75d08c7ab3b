"""Whole tables of counts within limits, and the labels that have them."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skfair._kernels.limits import satisfies_rows
from skfair.cluster._base import ClusterRequirements
from skfair.cluster.kmeans import _tables
from skfair.cluster.kmeans._problem import ClusteringProblem, recompute_point
from skfair.cluster.kmeans._tables import (
    Moves,
    controlled_rounding,
    find_feasible_counts,
    repair_to_limits,
)


def samples_of(rng, n_samples, n_groups, required):
    codes = rng.permutation(np.arange(n_samples) % n_groups)
    limits = required.limits(np.bincount(codes).astype(float))
    return ClusteringProblem(rng.normal(size=(n_samples, 2)), np.ones(n_samples), codes, limits)


@st.composite
def tasks(draw):
    """Samples with requirements, labels and the number of clusters."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_groups, n_clusters = draw(st.integers(1, 3)), draw(st.integers(1, 4))
    n_samples = draw(st.integers(n_groups * n_clusters, 60))
    required = ClusterRequirements(
        draw(st.sampled_from([0, 0.8, 1])),
        draw(st.sampled_from([0, 0.8, 1])),
        float(draw(st.integers(0, n_samples // n_clusters))),
        float(draw(st.integers(-(-n_samples // n_clusters), n_samples))),
    )
    labels = rng.integers(n_clusters, size=n_samples) ** 2 // n_clusters
    labels[:n_clusters] = np.arange(n_clusters)
    return samples_of(rng, n_samples, n_groups, required), labels, n_clusters


def no_moves(counts):
    """No listed moves: a table costs what its counts differ by."""
    return Moves(*np.empty((4, 0), np.int64), counts.ravel(), np.zeros(counts.size))


@pytest.mark.slow
@given(tasks())
def test_a_table_keeps_its_limits(task):
    samples, labels, n_clusters = task
    counts = recompute_point(samples, labels, n_clusters).clustering.counts
    table = find_feasible_counts(samples, counts, samples.limits.level, no_moves(counts))
    np.testing.assert_array_equal(table.sum(axis=0), counts.sum(axis=0))
    assert (table >= 0).all()
    assert samples.keeps_limits(table, samples.limits.level)


@pytest.mark.slow
@given(tasks())
def test_labels_get_the_counts_of_a_table(task):
    samples, labels, n_clusters = task
    point = recompute_point(samples, labels, n_clusters)
    level = samples.limits.level
    settled = repair_to_limits(samples, point, level)
    counts = recompute_point(samples, settled, n_clusters).clustering.counts
    assert samples.keeps_limits(counts, level)
    assert satisfies_rows(counts, samples.limits)
    np.testing.assert_array_equal(point.clustering.labels, labels)


def test_a_table_is_near_the_counts():
    samples = samples_of(np.random.default_rng(0), 60, 2, ClusterRequirements(share_ratio=0.8))
    counts = np.array([[12.0, 10.0], [18.0, 20.0]])
    table = find_feasible_counts(samples, counts, 0.5, no_moves(counts))
    np.testing.assert_array_equal(table, counts)  # as 10 - 1 >= .5 (12 + 1)
    counts = np.array([[10.0, 0.0], [20.0, 30.0]])
    table = find_feasible_counts(samples, counts, 0.5, no_moves(counts))
    assert np.abs(table - [[10, 0], [20, 30]]).sum() <= 14


def test_the_best_ratio_is_searched_for_once_for_all_starts(monkeypatch):
    # No three clusters of 5 and 7 members of two groups have equal shares of them.
    codes = np.repeat([0, 1], [5, 7])
    limits = ClusterRequirements(balance=1.0).limits(np.bincount(codes).astype(float))
    X = np.random.default_rng(0).normal(size=(12, 2))
    samples = ClusteringProblem(X, np.ones(12), codes, limits)
    n_programs = []
    solve = _tables._find_cheapest
    monkeypatch.setattr(
        _tables,
        "_find_cheapest",
        lambda *args: n_programs.append(1) or solve(*args),
    )
    tables = []
    for counts in ([[5.0, 0.0], [0.0, 7.0], [0.0, 0.0]], [[1.0, 3.0], [2.0, 2.0], [2.0, 2.0]]):
        n_programs.clear()
        counts = np.array(counts)
        tables.append(find_feasible_counts(samples, counts, 1.0, no_moves(counts)))
        if len(tables) == 1:
            assert len(n_programs) > 2
    assert len(n_programs) == 1
    # The best smallest ratio of counts, by enumeration of tables.
    columns = [[one for one in product(range(n + 1), repeat=3) if sum(one) == n] for n in (5, 7)]
    best = max(smallest_ratio(np.transpose(pair)) for pair in product(*columns))
    assert all(smallest_ratio(one) >= 0.98 * best for one in tables)


def smallest_ratio(counts):
    """The smallest quotient of group sizes, relative to those of all samples, in any cluster."""
    shares = counts / counts.sum(axis=0)
    return (shares.min(axis=1) / np.maximum(shares.max(axis=1), 1e-12)).min()


@pytest.mark.covering(1)
@pytest.mark.parametrize("counts", [(5, 3, 1), (1, 1, 7), (9, 0, 0), (3, 3, 3), (0, 4, 5)])
@pytest.mark.parametrize(("smallest", "largest"), [(2, 4), (3, 3), (1, 7), (0, 4), (2, np.inf)])
def test_sizes_without_groups_are_the_nearest_within_their_bounds(counts, smallest, largest):
    required = ClusterRequirements(smallest=float(smallest), largest=float(largest))
    samples = samples_of(np.random.default_rng(0), 9, 1, required)
    table = np.array(counts, float)[:, None]
    table = find_feasible_counts(samples, table, 0.0, no_moves(table))
    sizes = range(max(smallest, 1), int(min(largest, 9)) + 1)
    feasible = [other for other in product(sizes, repeat=3) if sum(other) == 9]
    nearest = min(np.abs(np.subtract(other, counts)).sum() for other in feasible)
    assert tuple(table[:, 0]) in feasible
    assert np.abs(table[:, 0] - counts).sum() == nearest


@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(1, 4))
def test_controlled_rounding_keeps_sums(seed, n_rows, n_columns):
    rng = np.random.default_rng(seed)
    table = rng.uniform(0, 4, (n_rows, n_columns))
    table *= np.round(table.sum(axis=0)) / table.sum(axis=0)
    rounded = controlled_rounding(table)
    assert (np.abs(rounded - table) < 1 + 1e-9).all()
    np.testing.assert_allclose(rounded.sum(axis=0), table.sum(axis=0))
    assert (np.abs(rounded.sum(axis=1) - table.sum(axis=1)) < 1 + 1e-9).all()


@pytest.mark.parametrize("seed", range(5))
def test_members_go_where_it_costs_least(seed):
    """From nearest centres no cheaper labels have the counts of the table."""
    rng = np.random.default_rng(seed)
    samples = samples_of(rng, 8, 1, ClusterRequirements(smallest=2.0, largest=3.0))
    centers = samples.X[:3] + 0.1
    distances = ((samples.X[:, None] - centers) ** 2).sum(axis=2)
    labels = distances.argmin(axis=1)
    point = recompute_point(samples, labels, 3)
    point = point._replace(clustering=point.clustering._replace(centers=centers))
    settled = repair_to_limits(samples, point, 0.0)
    sizes = np.bincount(settled, minlength=3)
    assert 2 <= sizes.min() <= sizes.max() <= 3
    costs = [
        distances[np.arange(8), list(other)].sum()
        for other in product(range(3), repeat=8)
        if (np.bincount(other, minlength=3) == sizes).all()
    ]
    assert distances[np.arange(8), settled].sum() == pytest.approx(min(costs))
