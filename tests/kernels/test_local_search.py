"""Moves and exchanges against a clustering computed from scratch and against all of their kind."""

from itertools import combinations, permutations
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skfair._kernels import local_search as kernels

# Compiled kernels divide by zero in silence; run by the interpreter, they warn.
pytestmark = pytest.mark.filterwarnings("ignore:.* encountered in scalar:RuntimeWarning")


class Problem(NamedTuple):
    X: np.ndarray
    weights: np.ndarray
    codes: np.ndarray
    labels: np.ndarray
    n_clusters: int
    n_groups: int

    def clustering(self):
        """A new one, which kernels may change."""
        return kernels.tabulate(*self)

    def with_labels(self, labels):
        return self._replace(labels=np.array(labels))

    def distances(self):
        return ((self.X[:, None] - self.clustering().centers) ** 2).sum(axis=2)


def make_problem(rng, n_samples, n_clusters, n_groups, equal_weights=False):
    """Samples of all groups in all clusters, in random order."""
    X = rng.normal(size=(n_samples, 2))
    weights = np.ones(n_samples) if equal_weights else rng.uniform(0.5, 2.0, n_samples)
    codes = rng.permutation(np.arange(n_samples) % n_groups)
    labels = np.empty(n_samples, dtype=np.int32)
    for g in range(n_groups):
        labels[codes == g] = np.arange((codes == g).sum()) % n_clusters
    return Problem(X, weights, codes, labels, n_clusters, n_groups)


@st.composite
def problems(draw, equal_weights=False):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_clusters, n_groups = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    n_samples = draw(st.integers(2 * n_clusters * n_groups, 30))
    return make_problem(rng, n_samples, n_clusters, n_groups, equal_weights)


def cost_by_definition(problem):
    cost = 0.0
    for k in np.unique(problem.labels):
        x, w = problem.X[problem.labels == k], problem.weights[problem.labels == k]
        cost += w @ ((x - np.average(x, axis=0, weights=w)) ** 2).sum(axis=1)
    return cost


def ratios_by_definition(problem):
    """Balance of every cluster, 0 where a group is missing."""
    counts = np.zeros((problem.n_clusters, problem.n_groups))
    np.add.at(counts, (problem.labels, problem.codes), problem.weights)
    return counts.min(axis=1) / counts.max(axis=1)


def check_against_scratch(problem, clustering):
    """What moves left in a clustering is what its labels say."""
    fresh = problem.with_labels(clustering.labels).clustering()
    np.testing.assert_allclose(clustering.centers, fresh.centers, atol=1e-10)
    np.testing.assert_allclose(clustering.sizes, fresh.sizes, rtol=1e-12)
    np.testing.assert_allclose(clustering.counts, fresh.counts, atol=1e-10)
    np.testing.assert_array_equal(clustering.members, fresh.members)


def moved(problem, *changes):
    """The problem after samples went to other clusters."""
    labels = problem.labels.copy()
    for p, k in changes:
        labels[p] = k
    return problem.with_labels(labels)


def allowed(problem, floor):
    """No cluster is empty and none is below the floor."""
    full = np.bincount(problem.labels, minlength=problem.n_clusters).all()
    return full and (floor == 0 or ratios_by_definition(problem).min() >= floor * (1 - 1e-12))


def all_moves(problem):
    for p in range(len(problem.X)):
        for k in range(problem.n_clusters):
            if k != problem.labels[p]:
                yield moved(problem, (p, k))


def all_exchanges(problem):
    labels = problem.labels
    for p, q in combinations(range(len(problem.X)), 2):
        if labels[p] != labels[q]:
            yield moved(problem, (p, labels[q]), (q, labels[p]))


def assert_none_is_cheaper(problem, neighbours, floor):
    least = cost_by_definition(problem)
    for neighbour in neighbours:
        if allowed(neighbour, floor):
            assert cost_by_definition(neighbour) >= least * (1 - 1e-9)


# Tables -------------------------------------------------------------------------------


@given(problems())
@settings(max_examples=25, deadline=None)
def test_a_clustering_is_what_its_labels_say(problem):
    X, weights, codes, labels, n_clusters, n_groups = problem
    clustering = problem.clustering()
    in_cluster, in_group = np.eye(n_clusters)[labels], np.eye(n_groups)[codes]
    counts = (in_cluster * weights[:, None]).T @ in_group
    np.testing.assert_allclose(clustering.counts, counts, atol=1e-12)
    np.testing.assert_allclose(clustering.sizes, counts.sum(axis=1))
    np.testing.assert_array_equal(clustering.members, in_cluster.T @ in_group)
    for k in range(n_clusters):
        mean = np.average(X[labels == k], axis=0, weights=weights[labels == k])
        np.testing.assert_allclose(clustering.centers[k], mean, atol=1e-12)
    assert kernels.cost_of(X, weights, clustering) == pytest.approx(cost_by_definition(problem))


def test_labels_are_copied_and_an_empty_cluster_has_no_centre():
    labels = np.array([0, 2], dtype=np.uint8)
    X = np.array([[1.0], [3.0]])
    clustering = kernels.tabulate(X, np.ones(2), np.array([0, 0]), labels, 3, 1)
    assert clustering.labels.dtype == np.int32
    clustering.labels[0] = 1
    assert labels.tolist() == [0, 2]
    np.testing.assert_array_equal(clustering.centers, [[1], [np.nan], [3]])
    assert clustering.sizes.tolist() == [1, 0, 1]


def test_the_ratio_is_rarest_over_commonest():
    assert kernels._ratio(np.array([2.0, 8.0, 4.0]), np.array([1, 3, 2])) == 0.25
    assert kernels._ratio(np.array([5.0]), np.array([2])) == 1
    # Rounding may leave some weight where the last member has gone: members decide.
    assert kernels._ratio(np.array([1e-17, 8.0]), np.array([0, 3])) == 0


def test_the_ratio_after_a_change_leaves_the_table_as_it_is():
    counts, members = np.array([2.0, 4.0]), np.array([1, 2])
    assert kernels._ratio_after(counts, members, 0, 2.0, 1) == 1
    assert kernels._ratio_after(counts, members, 0, 2.0, -1) == 0
    assert counts.tolist() == [2, 4]
    assert members.tolist() == [1, 2]


@given(problems(), st.integers(0, 2**32))
@settings(max_examples=25, deadline=None)
def test_moves_keep_the_tables_and_their_change_is_that_of_the_cost(problem, seed):
    X, weights, codes, _, n_clusters, _ = problem
    rng = np.random.default_rng(seed)
    clustering = problem.clustering()
    labels, centers, sizes = clustering.labels, clustering.centers, clustering.sizes
    for p in rng.integers(len(X), size=10):
        a, k = labels[p], rng.integers(n_clusters)
        if k == a or not kernels._may_leave(clustering, p, weights[p]):
            continue
        before = cost_by_definition(problem.with_labels(labels))
        to, away = kernels._distance(X[p], centers[k]), kernels._distance(X[p], centers[a])
        change = kernels._change(to, away, sizes[k], sizes[a], weights[p])
        kernels._move(X, weights, codes, clustering, p, k)
        after = cost_by_definition(problem.with_labels(labels))
        assert change == pytest.approx(after - before, abs=1e-10)
    check_against_scratch(problem, clustering)


def test_the_last_member_may_not_leave():
    problem = make_problem(np.random.default_rng(0), 4, 2, 1).with_labels([0, 1, 1, 1])
    clustering = problem.clustering()
    assert not kernels._may_leave(clustering, 0, problem.weights[0])
    assert kernels._may_leave(clustering, 1, problem.weights[1])


# Hartigan passes ----------------------------------------------------------------------


def hartigan(problem, floor):
    """A pass from the problem's labels: the number of moves, and the problem it leads to."""
    X, weights, codes, *_ = problem
    clustering, distances = problem.clustering(), problem.distances()
    n_moves = kernels.hartigan_pass(X, distances, weights, codes, clustering, floor)
    check_against_scratch(problem, clustering)
    return n_moves, problem.with_labels(clustering.labels)


@given(problems(), st.sampled_from([0.0, 0.5, 0.9, 1.0]))
@settings(max_examples=25, deadline=None)
def test_a_pass_lowers_the_cost_and_keeps_the_balance(problem, share):
    floor = share * ratios_by_definition(problem).min()
    n_moves, after = hartigan(problem, floor)
    assert allowed(after, floor)
    if n_moves:
        assert cost_by_definition(after) < cost_by_definition(problem)
    else:
        np.testing.assert_array_equal(after.labels, problem.labels)


@given(problems(), st.sampled_from([0.0, 0.5, 1.0]))
@settings(max_examples=25, deadline=None)
def test_a_pass_without_a_move_proves_that_none_lowers_the_cost(problem, share):
    floor = share * ratios_by_definition(problem).min()
    n_moves = 1
    while n_moves:
        n_moves, problem = hartigan(problem, floor)
    assert_none_is_cheaper(problem, all_moves(problem), floor)


def test_a_sample_moves_to_where_it_costs_least():
    X = np.array([[0.0], [0.0], [5.0], [9.0], [9.0], [5.4], [5.4]])
    problem = Problem(X, np.ones(7), np.zeros(7, int), np.array([0, 0, 0, 1, 1, 2, 2]), 3, 1)
    n_moves, after = hartigan(problem, 0.0)
    assert n_moves == 1
    assert after.labels.tolist() == [0, 0, 2, 1, 1, 2, 2]


def test_a_pass_moves_what_kmeans_would_leave():
    """The sample at 2 is as near to its own mean at 1 as to that at 3, but drags its own along."""
    X = np.array([[0.0], [2.0], [3.0], [3.0], [3.0]])
    problem = Problem(X, np.ones(5), np.zeros(5, int), np.array([0, 0, 1, 1, 1]), 2, 1)
    n_moves, after = hartigan(problem, 0.0)
    assert n_moves == 1
    assert after.labels.tolist() == [0, 1, 1, 1, 1]


# Exchanges ----------------------------------------------------------------------------


def exchange(problem, floor):
    X, weights, codes, *_ = problem
    clustering, distances = problem.clustering(), problem.distances()
    n_exchanges = kernels.exchange_pass(X, distances, weights, codes, clustering, floor)
    check_against_scratch(problem, clustering)
    return n_exchanges, problem.with_labels(clustering.labels)


@given(problems(equal_weights=True), st.sampled_from([0.0, 0.5, 0.9, 1.0]))
@settings(max_examples=25, deadline=None)
def test_exchanges_lower_the_cost_and_keep_the_balance(problem, share):
    floor = share * ratios_by_definition(problem).min()
    n_exchanges, after = exchange(problem, floor)
    assert allowed(after, floor)
    np.testing.assert_array_equal(np.bincount(after.labels), np.bincount(problem.labels))
    if n_exchanges:
        assert cost_by_definition(after) < cost_by_definition(problem)
    else:
        np.testing.assert_array_equal(after.labels, problem.labels)


@given(problems(equal_weights=True), st.sampled_from([0.0, 0.5, 1.0]))
@settings(max_examples=25, deadline=None)
def test_a_pass_without_an_exchange_proves_that_none_lowers_the_cost(problem, share):
    floor = share * ratios_by_definition(problem).min()
    n_exchanges = 1
    while n_exchanges:
        n_exchanges, problem = exchange(problem, floor)
    assert_none_is_cheaper(problem, all_exchanges(problem), floor)


@given(problems(equal_weights=True))
@settings(max_examples=25, deadline=None)
def test_two_bounds_add_up_to_less_than_their_exchange(problem):
    clustering = problem.clustering()
    bounds, lowest = kernels._exchange_bounds(problem.distances(), problem.codes, 1.0, clustering)
    cost = cost_by_definition(problem)
    labels, codes = problem.labels, problem.codes
    for p, q in permutations(range(len(labels)), 2):
        a, c = labels[p], labels[q]
        if a != c:
            change = cost_by_definition(moved(problem, (p, c), (q, a))) - cost
            assert bounds[p, c] + bounds[q, a] <= change + 1e-9
        assert lowest[a, c, codes[p]] <= bounds[p, c]


@given(problems(equal_weights=True), st.floats(0, 1))
@settings(max_examples=25, deadline=None)
def test_an_exchange_is_allowed_where_both_balances_stay(problem, bound):
    clustering = problem.clustering()
    labels, codes = problem.labels, problem.codes
    for p, q in combinations(range(len(labels)), 2):
        a, c, g, h = labels[p], labels[q], codes[p], codes[q]
        if a != c and g != h:
            after = ratios_by_definition(moved(problem, (p, c), (q, a)))[[a, c]].min()
            assert kernels._may_exchange(clustering, a, c, g, h, 1.0, bound) == (after >= bound)
            assert kernels._may_exchange(clustering, a, c, g, g, 1.0, 1.0)
    check_against_scratch(problem, clustering)


def test_samples_are_sorted_by_cluster():
    order, starts = kernels._by_cluster(np.array([2, 0, 2, 0, 0], dtype=np.int32), 4)
    assert starts.tolist() == [0, 3, 3, 5, 5]
    assert order.tolist() == [1, 3, 4, 0, 2]


def test_samples_of_one_group_change_places_at_any_floor():
    X = np.array([[0.0], [9.0], [0.1], [9.1]])
    problem = Problem(X, np.ones(4), np.array([0, 0, 1, 1]), np.array([0, 1, 1, 0]), 2, 2)
    n_exchanges, after = exchange(problem, 1.0)
    assert n_exchanges == 1
    assert after.labels[0] == after.labels[2] != after.labels[1] == after.labels[3]


# Paths upward -------------------------------------------------------------------------


def unbalanced(rng, n_samples, n_clusters, n_groups, equal_weights=False):
    """Most samples in the cluster of their group, as a start for a path."""
    problem = make_problem(rng, n_samples, n_clusters, n_groups, equal_weights)
    stay = rng.random(n_samples) < 0.6
    labels = np.where(stay, problem.codes % n_clusters, rng.integers(n_clusters, size=n_samples))
    labels[:n_clusters] = np.arange(n_clusters)
    return problem.with_labels(labels)


def climb(problem, goal, rows=None, max_moves=100):
    """The path from the problem's labels, and the clustering it leads to."""
    X, weights, codes, *_ = problem
    rows = np.arange(len(X)) if rows is None else rows
    clustering, distances = problem.clustering(), problem.distances()[rows]
    path = kernels.raise_balance(X, weights, codes, clustering, rows, distances, goal, max_moves)
    return path, clustering


@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(1, 3), st.booleans())
@settings(max_examples=25, deadline=None)
def test_every_prefix_of_a_path_is_what_it_says(seed, n_clusters, n_groups, equal_weights):
    rng = np.random.default_rng(seed)
    problem = unbalanced(rng, 30, n_clusters, n_groups, equal_weights)
    path, clustering = climb(problem, 1.0)
    cost = cost_by_definition(problem)
    for p, k, gain, reached in zip(*path, strict=True):
        assert k != problem.labels[p]
        problem = moved(problem, (p, k))
        assert gain == pytest.approx(cost_by_definition(problem) - cost, abs=1e-9)
        assert reached == pytest.approx(ratios_by_definition(problem).min())
        assert np.bincount(problem.labels, minlength=n_clusters).all()
        cost = cost_by_definition(problem)
    np.testing.assert_array_equal(clustering.labels, problem.labels)
    check_against_scratch(problem, clustering)


@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(1, 3), st.booleans())
@settings(max_examples=25, deadline=None)
def test_the_balance_never_falls_on_a_path_which_comes_to_an_end(
    seed, n_clusters, n_groups, equal_weights
):
    rng = np.random.default_rng(seed)
    problem = unbalanced(rng, 30, n_clusters, n_groups, equal_weights)
    path, _ = climb(problem, 1.0, max_moves=1000)
    balances = np.array([ratios_by_definition(problem).min(), *path.balances])
    assert (np.diff(balances) >= -1e-12).all()
    assert len(path.samples) < 1000


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n_groups", [2, 3])
def test_a_path_ends_once_it_has_reached_the_goal(seed, n_groups):
    problem = unbalanced(np.random.default_rng(seed), 60, 3, n_groups, equal_weights=True)
    path, clustering = climb(problem, 0.7)
    assert ratios_by_definition(problem).min() < 0.5 < 0.7 <= path.balances[-1]
    assert (path.balances[:-1] < 0.7).all()
    nothing, _ = climb(problem.with_labels(clustering.labels), 0.7)
    assert len(nothing.samples) == 0


def test_a_path_takes_no_more_moves_than_allowed_and_only_the_rows_given():
    problem = unbalanced(np.random.default_rng(1), 60, 3, 2)
    full, _ = climb(problem, 1.0)
    assert len(full.samples) > 2
    for whole, cut in zip(full, climb(problem, 1.0, max_moves=2)[0], strict=True):
        np.testing.assert_array_equal(cut, whole[:2])
    rows = np.arange(0, 60, 3)
    some, _ = climb(problem, 1.0, rows=rows)
    assert len(some.samples) > 0
    assert np.isin(some.samples, rows).all()


def test_the_cheapest_helpful_sample_moves_first():
    """Cluster 0 has a a a b, cluster 1 has b b b a; one b must come, and that at 6 is nearest."""
    X = np.array([[0.0], [0.0], [0.0], [1.0], [6.0], [9.0], [10.0], [9.0]])
    codes, labels = np.array([0, 0, 0, 1, 1, 1, 1, 0]), np.array([0, 0, 0, 0, 1, 1, 1, 1])
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
    codes, labels = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 0, 1, 1, 1, 1])
    path, clustering = climb(Problem(X, np.ones(6), codes, labels, 2, 2), 0.1)
    assert path.balances[-1] > 0
    assert (clustering.members > 0).all()


def test_a_path_ends_below_the_goal_where_no_move_helps():
    """One member of a group cannot be in two clusters."""
    X = np.arange(6.0)[:, None]
    codes, labels = np.array([1, 0, 0, 0, 0, 0]), np.array([0, 0, 0, 1, 1, 1])
    path, clustering = climb(Problem(X, np.ones(6), codes, labels, 2, 2), 1.0)
    assert len(path.samples) == 0
    np.testing.assert_array_equal(clustering.labels, labels)
