"""Rounding of spectral embeddings, on graphs small enough to try every clustering."""

from itertools import product
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

from benchmarks.datasets import load_benchmark
from skfair._groups import check_groups
from skfair._groups.groups import balance, count_table
from skfair.cluster._base import ClusterRequirements
from skfair.cluster.kmeans._rounds import RunSettings
from skfair.cluster.spectral._eigen_solvers import NormalizedAffinity, RBFAffinity
from skfair.cluster.spectral._fair_embedding import embed
from skfair.cluster.spectral._problem import SpectralProblem
from skfair.cluster.spectral._rounding import (
    compute_bounds,
    ncut_path,
    round_kmeans,
    round_ncut,
)
from skfair.metrics import balance_score, normalized_cut


class Problem(NamedTuple):
    problem: SpectralProblem
    embedding: np.ndarray

    def round(self, n_clusters, min_balance, seed=0, rounding=round_ncut, watch=lambda _: False):
        runs = RunSettings(n_clusters, n_init=3)
        problem = self.problem._replace(requirements=ClusterRequirements(min_balance or 0.0))
        return rounding(problem, self.embedding, runs, np.random.RandomState(seed), watch)

    def counts(self, labels, n_clusters):
        groups = self.problem.groups
        return count_table(labels, groups.codes, None, n_clusters, len(groups.labels))


def problem_of(affinity, groups, n_clusters):
    operator = NormalizedAffinity(affinity)
    groups = check_groups(groups, affinity.shape[0])
    n_components = min(n_clusters, affinity.shape[0] - len(groups.labels) + 1)
    embedding = embed(operator, groups, n_components, "nullspace", 0.0, None).embedding
    return Problem(SpectralProblem(None, operator, groups, ClusterRequirements()), embedding)


def random_graph(rng, n, density=0.5):
    K = np.triu(rng.integers(1, 4, (n, n)) * (rng.random((n, n)) < density), 1)
    return (K + K.T).astype(float)


def cliques(sizes, between=0.01):
    """Cliques that are weakly joined; the clique of each node."""
    clique = np.repeat(np.arange(len(sizes)), sizes)
    K = np.where(clique[:, None] == clique, 1.0, between)
    np.fill_diagonal(K, 0)
    return K, clique


def same_partition(one, other):
    return len({*zip(one, other, strict=True)}) == len({*one}) == len({*other})


def cheapest(K, n_clusters, allowed=lambda labels: True):
    """The least normalised cut of all clusterings without an empty cluster."""
    every = (np.array(labels) for labels in product(range(n_clusters), repeat=len(K)))
    return min(
        normalized_cut(labels, K)
        for labels in every
        if len(np.unique(labels)) == n_clusters and allowed(labels)
    )


# Near the optimum ---------------------------------------------------------------------


@pytest.mark.covering(0)
@pytest.mark.parametrize(("n_clusters", "min_balance"), [(2, 0.8), (3, 0.8), (3, 0.5)])
@pytest.mark.parametrize("seed", range(2))
def test_no_fair_clustering_of_a_small_kernel_is_cheaper(n_clusters, min_balance, seed):
    rng = np.random.default_rng(seed)
    K = rbf_kernel(rng.normal(size=(8, 2)), gamma=0.5)
    groups = np.repeat([0, 1], [5, 3])
    labels = problem_of(K, groups, n_clusters).round(n_clusters, min_balance)
    counts = count_table(labels, groups, None, n_clusters, 2)
    least = min(min_balance * 0.6, balance(counts)) - 1e-9

    def is_fair(labels):
        return balance(count_table(labels, groups, None, n_clusters, 2)) >= least

    assert normalized_cut(labels, K) == pytest.approx(cheapest(K, n_clusters, is_fair))


@pytest.mark.slow
@pytest.mark.covering(0)
@pytest.mark.parametrize(("n", "has_pairs"), [(150, True), (200, False)])
def test_no_change_that_keeps_the_required_balance_lowers_the_cut(n, has_pairs):
    """No single move, and of up to 150 nodes no exchange of two."""
    rng = np.random.default_rng(0)
    blob = rng.integers(3, size=n)
    X = 2.5 * rng.normal(size=(3, 2))[blob] + rng.normal(size=(n, 2))
    K = rbf_kernel(X, gamma=1.0)
    groups = (rng.random(n) < np.array([0.3, 0.5, 0.7])[blob]) * 1
    labels = problem_of(K, groups, 3).round(3, 0.7)
    counts = count_table(labels, groups, None, 3, 2)
    totals = np.bincount(groups)
    required = min(0.7 * totals.min() / totals.max(), balance(counts)) - 1e-12
    cut = normalized_cut(labels, K)
    moved = labels.copy()
    others = range(n) if has_pairs else []
    for i in range(n):
        for k, j in [(k, i) for k in range(3)] + [(labels[j], j) for j in others if j > i]:
            # Node i goes to cluster k, and node j, if it is another one, to that of node i.
            moved[j], moved[i] = labels[i], k
            if balance(count_table(moved, groups, None, 3, 2)) >= required:
                assert fast_cut(moved, K) >= cut - 1e-9
            moved[[i, j]] = labels[[i, j]]


def fast_cut(labels, K):
    """The normalised cut."""
    member = np.eye(3)[labels]
    links = member.T @ K @ member
    return 3 - (np.diag(links) / links.sum(axis=1)).sum()


# Without groups -----------------------------------------------------------------------


@pytest.mark.parametrize("rounding", [round_ncut, round_kmeans])
def test_cliques_are_recovered(rounding):
    K, clique = cliques([4, 6, 5])
    groups = np.arange(15) % 2
    labels = problem_of(K, groups, 3).round(3, None, rounding=rounding)
    assert labels.dtype == np.int32
    assert same_partition(labels, clique)


@pytest.mark.covering(0)
@pytest.mark.parametrize("seed", range(5))
def test_no_clustering_of_a_small_graph_is_cheaper(seed):
    rng = np.random.default_rng(seed)
    K = random_graph(rng, 8, 0.7)
    labels = problem_of(K, [0] * 8, 2).round(2, None)
    assert normalized_cut(labels, K) == pytest.approx(cheapest(K, 2))


def test_the_search_is_never_worse_than_the_kmeans_of_the_papers():
    rng = np.random.default_rng(0)
    problem = problem_of(random_graph(rng, 60, 0.1), rng.integers(0, 2, 60), 4)
    K = problem.problem.operator.affinity
    searched = problem.round(4, None)
    plain = problem.round(4, None, rounding=round_kmeans)
    assert normalized_cut(searched, K) <= normalized_cut(plain, K)


def test_a_watch_sees_every_search_and_may_end_them():
    K, clique = cliques([6, 6])
    problem = problem_of(K, clique, 2)
    candidates = []
    labels = problem.round(2, 1.0, watch=candidates.append)
    np.testing.assert_array_equal(candidates[0], problem.round(2, None))
    assert any((labels == one).all() for one in candidates[1:])
    first = problem.round(2, 1.0, watch=lambda _: True)
    np.testing.assert_array_equal(first, candidates[0])


# With groups --------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_the_balanced_optimum_of_a_small_graph(seed):
    rng = np.random.default_rng(seed)
    K = random_graph(rng, 8, 0.7)
    groups = np.arange(8) % 2
    problem = problem_of(K, groups, 2)
    labels = problem.round(2, 1.0)
    counts = problem.counts(labels, 2)
    assert balance(counts) == 1
    sizes = counts.sum(axis=1)
    best = cheapest(
        K, 2, lambda labels: (problem.counts(labels, 2) == np.outer(sizes / 8, [4, 4])).all()
    )
    assert normalized_cut(labels, K) <= 1.1 * best


def test_groups_that_are_the_cliques():
    K, clique = cliques([6, 6])
    problem = problem_of(K, clique, 2)
    np.testing.assert_array_equal(problem.counts(problem.round(2, 1.0), 2), [[3, 3], [3, 3]])
    assert sorted(problem.counts(problem.round(2, None), 2).ravel()) == [0, 0, 6, 6]


@st.composite
def draw_requirement(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, n_clusters = draw(st.integers(12, 40)), draw(st.integers(1, 5))
    n_groups = draw(st.integers(1, 3))
    K = random_graph(rng, n, draw(st.sampled_from([0.05, 0.3, 0.9])))
    groups = np.r_[np.arange(n_groups), rng.integers(0, n_groups, n - n_groups)]
    return problem_of(K, groups, n_clusters), n_clusters, draw(st.sampled_from([0.3, 0.8, 1.0]))


@given(draw_requirement())
def test_min_balance_holds_up_to_one_sample(requirement):
    problem, n_clusters, min_balance = requirement
    labels = problem.round(n_clusters, min_balance)
    counts = problem.counts(labels, n_clusters)
    totals = problem.problem.groups.counts
    assert len(np.unique(labels)) == n_clusters
    ratio = min_balance * totals.min() / totals.max()
    assert (counts.min(axis=1) + 1 >= ratio * (counts.max(axis=1) - 1) - 1e-9).all()
    if totals.min() >= n_clusters:
        assert counts.min() >= 1


def test_less_balance_costs_less():
    rng = np.random.default_rng(1)
    K, clique = cliques([20, 20, 20], between=0.1)
    K *= rng.uniform(0.5, 1, K.shape)
    K += K.T
    groups = np.where(rng.random(60) < 0.9, clique, rng.integers(0, 3, 60))
    problem = problem_of(K, groups, 3)
    cuts = [normalized_cut(problem.round(3, b), K) for b in (None, 0.2, 0.5, 1.0)]
    assert cuts == sorted(cuts)


def test_one_group_is_always_balanced():
    K, _ = cliques([5, 5])
    problem = problem_of(K, ["all"] * 10, 2)
    np.testing.assert_array_equal(problem.round(2, 1.0), problem.round(2, None))


def test_a_group_of_one_cannot_be_everywhere():
    K, _ = cliques([5, 5])
    problem = problem_of(K, [1] + [0] * 9, 2)
    assert balance(problem.counts(problem.round(2, 1.0), 2)) == 0


# Isolated nodes and other corners -----------------------------------------------------


def test_isolated_nodes_go_where_their_group_is_lacking():
    K = np.zeros((10, 10))
    K[:8, :8] = cliques([4, 4], between=0)[0]
    groups = np.array([0, 0, 0, 0, 1, 1, 1, 1, 0, 1])
    problem = problem_of(K, groups, 2)
    labels = problem.round(2, None)
    assert labels[8] == labels[4] != labels[0] == labels[9]


def test_a_graph_without_edges():
    problem = problem_of(np.zeros((6, 6)), [0, 1] * 3, 3)
    assert len(np.unique(problem.round(3, None))) == 3
    assert balance(problem.counts(problem.round(3, 1.0), 3)) == 1


def test_as_many_clusters_as_nodes():
    K, _ = cliques([3, 2], between=0.5)
    problem = problem_of(K, [0, 1, 0, 1, 0], 5)
    assert sorted(problem.round(5, None)) == list(range(5))


def test_all_storages_give_the_same_clusters():
    rng = np.random.default_rng(2)
    K = random_graph(rng, 40)
    groups = rng.integers(0, 2, 40)
    expected = problem_of(K, groups, 3).round(3, 1.0)
    unsorted = sparse.coo_array(K[::-1])
    duplicated = sparse.csr_array(
        (
            np.r_[unsorted.data, unsorted.data] / 2,
            (np.r_[39 - unsorted.row, 39 - unsorted.row], np.r_[unsorted.col, unsorted.col]),
        ),
        shape=(40, 40),
    )
    for affinity in (np.asfortranarray(K), sparse.csr_array(K), duplicated):
        np.testing.assert_array_equal(problem_of(affinity, groups, 3).round(3, 1.0), expected)


def test_a_kernel_that_is_not_stored():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(50, 2))
    groups = rng.integers(0, 2, 50)
    kernel = RBFAffinity(X, 0.5)
    tiles = problem_of(kernel, groups, 4)
    stored = problem_of(kernel @ np.eye(50), groups, 4)
    np.testing.assert_array_equal(tiles.round(4, 0.8), stored.round(4, 0.8))


def test_same_seed_same_labels():
    rng = np.random.default_rng(4)
    problem = problem_of(sparse.csr_array(random_graph(rng, 60, 0.2)), rng.integers(0, 3, 60), 5)
    for rounding in (round_ncut, round_kmeans):
        one, other = (problem.round(5, 0.8, seed=7, rounding=rounding) for _ in range(2))
        np.testing.assert_array_equal(one, other)


def test_arguments_are_not_changed():
    rng = np.random.default_rng(5)
    K = random_graph(rng, 30)
    problem = problem_of(K, rng.integers(0, 2, 30), 3)
    originals = K.copy(), problem.embedding.copy()
    problem.round(3, 1.0)
    np.testing.assert_array_equal(K, originals[0])
    np.testing.assert_array_equal(problem.embedding, originals[1])


# Bounds and the path ------------------------------------------------------------------


@given(st.integers(0, 2**32), st.integers(1, 6), st.integers(1, 4), st.sampled_from([0.1, 0.8, 1]))
def test_bounds_admit_all_samples(seed, n_clusters, n_groups, level):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 30, (n_clusters, n_groups)) * (rng.random((n_clusters, 1)) < 0.7)
    counts[0] += n_clusters
    lower, upper = compute_bounds(counts, level)
    totals = counts.sum(axis=0)
    assert (lower <= upper).all()
    assert (lower >= 1).all()
    assert (lower.sum(axis=0) <= totals).all()
    assert (upper.sum(axis=0) >= totals).all()
    # Up to one sample the bounds imply the level for all counts that they allow.
    ratio = level * totals.min() / totals.max()
    assert (lower.min(axis=1) + 1 >= ratio * (upper.max(axis=1) - 1) - 1e-9).all()


def test_at_full_balance_each_count_is_within_one_of_its_share():
    counts = np.array([[40, 3, 9], [0, 11, 0], [2, 2, 30]])
    lower, upper = compute_bounds(counts, 1)
    np.testing.assert_array_equal(lower, upper)
    shares = np.outer(lower.sum(axis=1), lower.sum(axis=0)) / lower.sum()
    assert np.abs(lower - shares).max() < 1


def test_the_path_runs_from_cheap_to_balanced():
    rng = np.random.default_rng(6)
    K, clique = cliques([12, 12, 12], between=0.2)
    groups = np.where(rng.random(36) < 0.8, clique, (clique + 1) % 3)
    problem = problem_of(K, groups, 3)
    steps = ncut_path(*problem, RunSettings(3, n_init=3), np.random.RandomState(0), n_levels=5)
    for step in steps:
        assert step.ncut == pytest.approx(normalized_cut(step.labels, K))
        reached = balance(step.clustering.counts)
        assert reached == balance_score(step.labels, sensitive_features=groups)
    np.testing.assert_array_equal(steps[0].labels, problem.round(3, None))
    assert max(balance(step.clustering.counts) for step in steps) >= 0.8
    assert min(step.ncut for step in steps) == steps[0].ncut


def test_the_path_of_one_group_is_one_step():
    K, clique = cliques([4, 4])
    problem = problem_of(K, ["all"] * 8, 2)
    (step,) = ncut_path(*problem, RunSettings(2, n_init=3), np.random.RandomState(0))
    assert same_partition(step.labels, clique)


# Real data ----------------------------------------------------------------------------


@pytest.mark.slow
def test_figures_on_a_social_network():
    try:
        dataset = load_benchmark("lastfm_asia", download_if_missing=False)
    except OSError:
        pytest.skip("lastfm is not in SKFAIR_DATA")
    country = dataset.sensitive_features
    operator = NormalizedAffinity(dataset.adjacency)
    groups = check_groups(country, operator.n_nodes)
    embedding = embed(operator, groups, 25, "auto", 2e-3, np.random.RandomState(0))
    problem = Problem(
        SpectralProblem(None, operator, groups, ClusterRequirements()), embedding.embedding
    )
    assert normalized_cut(problem.round(25, None), dataset.adjacency) <= 2.85
    labels = problem.round(25, 1.0)
    assert normalized_cut(labels, dataset.adjacency) <= 9
    assert balance_score(labels, sensitive_features=country) >= 0.27
    assert balance_score(labels, sensitive_features=country, agg="mean") >= 0.32
    # Smallest and largest group are in the ratio of the data, up to one node each.
    counts = problem.counts(labels, 25)
    assert (
        counts.min(axis=1) + 1 >= balance(groups.counts[np.newaxis]) * (counts.max(axis=1) - 1)
    ).all()
    labels = problem.round(25, 0.8)
    assert balance_score(labels, sensitive_features=country, relative=True) >= 0.8
