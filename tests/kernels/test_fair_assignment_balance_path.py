"""Paths upward against clusterings computed from scratch."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skfair._kernels import fair_assignment as kernels
from skfair._kernels.limits import balance_limits
from tests.kernels.clusterings import (
    Problem,
    check_against_scratch,
    cost_by_definition,
    make_problem,
    move_samples,
    ratios_by_definition,
)

# Compiled kernels divide by zero in silence; run by the interpreter, they warn.
pytestmark = pytest.mark.filterwarnings("ignore:.* encountered in scalar:RuntimeWarning")


def make_unbalanced_problem(rng, n_samples, n_clusters, n_groups, equal_weights=False):
    """Most samples in the cluster of their group, as a start for a path."""
    problem = make_problem(rng, n_samples, n_clusters, n_groups, equal_weights)
    stay = rng.random(n_samples) < 0.6
    labels = np.where(stay, problem.codes % n_clusters, rng.integers(n_clusters, size=n_samples))
    labels[:n_clusters] = np.arange(n_clusters)
    return problem.replace_labels(labels)


def climb(problem, goal, rows=None, max_moves=100):
    """The path from the problem's labels, and the clustering it leads to."""
    rows = np.arange(len(problem.X)) if rows is None else rows
    clustering = problem.clustering()
    distances = problem.distances()[rows]
    limits = balance_limits(problem.n_groups, goal)
    samples = problem.kernel_samples
    path = kernels.raise_balance(samples, clustering, rows, distances, limits, max_moves)
    return path, clustering


@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(1, 3), st.booleans())
def test_costs_and_ratios_of_every_prefix_are_those_of_its_labels(
    seed, n_clusters, n_groups, equal_weights
):
    rng = np.random.default_rng(seed)
    problem = make_unbalanced_problem(rng, 30, n_clusters, n_groups, equal_weights)
    if not equal_weights:
        problem = problem._replace(separate_masses=rng.uniform(0.1, 3.0, 30))
    path, clustering = climb(problem, 1.0)
    cost = cost_by_definition(problem)
    for p, k, gain, reached in zip(*path, strict=True):
        assert k != problem.labels[p]
        problem = move_samples(problem, (p, k))
        assert gain == pytest.approx(cost_by_definition(problem) - cost, abs=1e-9)
        assert reached == pytest.approx(ratios_by_definition(problem).min())
        assert np.bincount(problem.labels, minlength=n_clusters).all()
        cost = cost_by_definition(problem)
    np.testing.assert_array_equal(clustering.labels, problem.labels)
    check_against_scratch(problem, clustering)


@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(1, 3), st.booleans())
def test_the_balance_never_falls_on_a_path_which_comes_to_an_end(
    seed, n_clusters, n_groups, equal_weights
):
    rng = np.random.default_rng(seed)
    problem = make_unbalanced_problem(rng, 30, n_clusters, n_groups, equal_weights)
    path, _ = climb(problem, 1.0, max_moves=1000)
    balances = np.array([ratios_by_definition(problem).min(), *path.balances])
    assert (np.diff(balances) >= -1e-12).all()
    assert len(path.samples) < 1000


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n_groups", [2, 3])
def test_a_path_ends_once_it_has_reached_the_goal(seed, n_groups):
    problem = make_unbalanced_problem(
        np.random.default_rng(seed), 60, 3, n_groups, equal_weights=True
    )
    path, clustering = climb(problem, 0.7)
    assert ratios_by_definition(problem).min() < 0.5 < 0.7 <= path.balances[-1]
    assert (path.balances[:-1] < 0.7).all()
    nothing, _ = climb(problem.replace_labels(clustering.labels), 0.7)
    assert len(nothing.samples) == 0


def test_a_path_respects_max_moves_and_rows():
    problem = make_unbalanced_problem(np.random.default_rng(1), 60, 3, 2)
    full, _ = climb(problem, 1.0)
    assert len(full.samples) > 2
    for expected, cut in zip(full, climb(problem, 1.0, max_moves=2)[0], strict=True):
        np.testing.assert_array_equal(cut, expected[:2])
    rows = np.arange(0, 60, 3)
    path, _ = climb(problem, 1.0, rows=rows)
    assert len(path.samples) > 0
    assert np.isin(path.samples, rows).all()


def test_the_cheapest_helpful_sample_moves_first():
    """Cluster 0 has a a a b, cluster 1 has b b b a; one b must come, and that at 6 is nearest."""
    X = np.array([[0.0], [0.0], [0.0], [1.0], [6.0], [9.0], [10.0], [9.0]])
    codes = np.array([0, 0, 0, 1, 1, 1, 1, 0])
    labels = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    path, _ = climb(Problem(X, np.ones(8), codes, labels, 2, 2), 0.5)
    assert (path.samples[0], path.clusters[0]) == (4, 0)


def test_a_sample_does_not_go_to_and_fro():
    """4 5 3 against 1 2 1: one more of the first group helps as little as one less."""
    codes = np.array([0] * 5 + [1] * 7 + [2] * 4)
    labels = np.array([0] * 4 + [1] + [0] * 5 + [1] * 2 + [0] * 3 + [1])
    X = np.random.default_rng(0).normal(size=(16, 2))
    path, clustering = climb(Problem(X, np.ones(16), codes, labels, 2, 3), 4 / 7, max_moves=1000)
    assert len(path.samples) < 16
    assert (clustering.counts.min(axis=1) / clustering.counts.max(axis=1)).min() >= 0.5


def test_a_missing_group_is_brought_in():
    X = np.array([[0.0], [0.1], [5.0], [5.1], [6.0], [7.0]])
    codes = np.array([0, 0, 0, 1, 1, 1])
    labels = np.array([0, 0, 1, 1, 1, 1])
    path, clustering = climb(Problem(X, np.ones(6), codes, labels, 2, 2), 0.1)
    assert path.balances[-1] > 0
    assert (clustering.members > 0).all()


def test_a_path_ends_below_the_goal_where_no_move_helps():
    """One member of a group cannot be in two clusters."""
    X = np.arange(6.0)[:, None]
    codes = np.array([1, 0, 0, 0, 0, 0])
    labels = np.array([0, 0, 0, 1, 1, 1])
    path, clustering = climb(Problem(X, np.ones(6), codes, labels, 2, 2), 1.0)
    assert len(path.samples) == 0
    np.testing.assert_array_equal(clustering.labels, labels)


@pytest.mark.parametrize(("goal", "first"), [(1.0, 6), (np.nextafter(0.25, 1.0), 0)])
def test_a_goal_that_any_gain_reaches_is_reached_as_cheaply_as_can_be(goal, first):
    """Cluster 0 has a a a a b: b at 6 would double its balance, a at 4.5 leaves for less."""
    X = np.array([4.5, 0.0, 0.0, 0.0, 0.0, 10.0, 6.0, 10.0, 10.0, 10.0, 10.0])[:, np.newaxis]
    codes = np.array([0] * 4 + [1] + [0] * 2 + [1] * 4)
    labels = np.array([0] * 5 + [1] * 6)
    codes[5:] = [0, 1, 1, 1, 0, 0]
    path, _ = climb(Problem(X, np.ones(11), codes, labels, 2, 2), goal)
    assert path.samples[0] == first
    assert path.balances[-1] > 0.25
