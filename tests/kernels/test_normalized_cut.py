"""Moves, flows and exchanges against the normalised cut by its definition."""

from itertools import pairwise, permutations

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from skfair import _kernels
from skfair._kernels import normalized_cut as flows
from skfair._kernels import normalized_cut as kernels
from tests.kernels.standalone import standalone


def ncut_by_definition(K, labels):
    cut = 0.0
    for k in np.unique(labels):
        inside = labels == k
        volume = K[inside].sum()
        cut += K[inside][:, ~inside].sum() / volume if volume > 0 else 0.0
    return cut


def random_affinity(rng, n, density=0.6):
    K = rng.integers(1, 5, (n, n)) * (rng.random((n, n)) < density)
    return (np.triu(K) + np.triu(K, 1).T).astype(float)


def partition_of(K, labels, groups, n_clusters):
    """Tables from scratch."""
    labels = np.array(labels, dtype=np.int32)
    members = np.eye(n_clusters)[labels]
    links = K @ members
    counts = members.T @ np.eye(groups.max() + 1)[groups]
    within = (members * links).sum(axis=0)
    volumes = members.T @ K.sum(axis=1)
    return kernels.NodeClustering(labels, links, within, volumes, counts.astype(np.int64))


def sparse_graph(K, groups):
    A = sparse.csr_array(K)
    A.sort_indices()
    starts = A.indptr[:-1].astype(np.int64)
    rows = (A.indices.astype(np.int32), A.data, starts, starts, np.diff(A.indptr).astype(np.int64))
    return stored_graph(K, groups, rows)


def dense_graph(K, groups):
    n = len(K)
    nodes = np.arange(n)
    zeros = np.zeros(n, dtype=np.int64)
    return stored_graph(K, groups, (nodes.astype(np.int32), K.ravel(), zeros, n * nodes, zeros + n))


def stored_graph(K, groups, rows):
    no_points = np.empty((0, 0))
    return kernels.Graph(False, no_points, 0.0, *rows, K.sum(axis=1), K.diagonal().copy(), groups)


def gaussian_graph(points, gamma, groups):
    n = len(points)
    K = np.exp(-gamma * ((points[:, None] - points) ** 2).sum(axis=2))
    zeros = np.zeros(n, dtype=np.int64)
    rows = (np.arange(n, dtype=np.int32), np.empty(n), zeros, zeros, zeros + n)
    return K, kernels.Graph(True, points, gamma, *rows, K.sum(axis=1), np.ones(n), groups)


def free(clustering):
    counts = clustering.counts
    return kernels.Bounds(np.zeros_like(counts), np.full_like(counts, counts.sum()))


def assert_is_what_its_labels_say(K, clustering, groups):
    fresh = partition_of(K, clustering.labels, groups, len(clustering.volumes))
    for name in ("links", "within", "volumes", "counts"):
        np.testing.assert_allclose(
            getattr(clustering, name), getattr(fresh, name), atol=1e-9, err_msg=name
        )


@st.composite
def problems(draw):
    """An affinity, groups that occur, and labels with members of all groups in all clusters."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_clusters, n_groups = draw(st.integers(2, 3)), draw(st.integers(1, 3))
    n = draw(st.integers(2 * n_clusters * n_groups, 24))
    K = random_affinity(rng, n, draw(st.sampled_from([0.2, 0.8])))
    shuffle = rng.permutation(n)
    groups = np.arange(n) % n_groups
    labels = np.arange(n) // n_groups % n_clusters
    return K, groups[shuffle], labels[shuffle], n_clusters


# Moves --------------------------------------------------------------------------------


@pytest.mark.parametrize("storage", ["sparse", "dense", "gaussian"])
def test_moves_keep_the_tables(storage):
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 2, 12)
    if storage == "gaussian":
        K, graph = gaussian_graph(rng.normal(size=(12, 2)), 0.7, groups)
    else:
        K = random_affinity(rng, 12)
        graph = {"sparse": sparse_graph, "dense": dense_graph}[storage](K, groups)
    clustering = partition_of(K, np.arange(12) % 3, groups, 3)
    for i, k in rng.integers(0, (12, 3), (20, 2)):
        if clustering.labels[i] != k:
            standalone(kernels.move)(graph, clustering, i, k)
    assert_is_what_its_labels_say(K, clustering, groups)
    assert kernels.normalized_cut(clustering) == pytest.approx(
        ncut_by_definition(K, clustering.labels)
    )


@pytest.mark.parametrize("storage", ["sparse", "dense", "gaussian"])
def test_an_entry_of_the_affinity(storage):
    rng = np.random.default_rng(1)
    groups = np.zeros(6, dtype=np.intp)
    if storage == "gaussian":
        K, graph = gaussian_graph(rng.normal(size=(6, 2)), 0.7, groups)
    else:
        K = random_affinity(rng, 6, 0.4)
        graph = {"sparse": sparse_graph, "dense": dense_graph}[storage](K, groups)
    entries = [[standalone(kernels.affinity)(graph, i, j) for j in range(6)] for i in range(6)]
    np.testing.assert_allclose(entries, K)


@given(problems())
def test_after_the_last_pass_no_move_lowers_the_cut(problem):
    K, groups, labels, n_clusters = problem
    graph = sparse_graph(K, groups)
    clustering = partition_of(K, labels, groups, n_clusters)
    before = ncut_by_definition(K, labels)
    while kernels.move_pass(graph, clustering, free(clustering)):
        after = ncut_by_definition(K, clustering.labels)
        assert after < before
        before = after
    assert_is_what_its_labels_say(K, clustering, groups)
    for i in np.flatnonzero(K.sum(axis=1)):
        for k in range(n_clusters):
            moved = clustering.labels.copy()
            moved[i] = k
            # A cluster keeps a volume: to empty it would lower the sum and lose a cluster.
            if all(K[moved == c].sum() > 0 for c in range(n_clusters)):
                assert ncut_by_definition(K, moved) >= before - 1e-9


@given(problems())
@settings(max_examples=15)
def test_moves_stay_within_the_bounds(problem):
    K, groups, labels, n_clusters = problem
    graph = dense_graph(K, groups)
    clustering = partition_of(K, labels, groups, n_clusters)
    bounds = kernels.Bounds(clustering.counts - 1, clustering.counts + 1)
    while kernels.move_pass(graph, clustering, bounds):
        pass
    assert (clustering.counts >= bounds.lower).all()
    assert (clustering.counts <= bounds.upper).all()


def test_isolated_nodes_stay_where_they_are():
    K = np.zeros((5, 5))
    K[0, 1] = K[1, 0] = K[2, 3] = K[3, 2] = 1
    groups = np.zeros(5, dtype=np.intp)
    clustering = partition_of(K, [0, 1, 1, 1, 2], groups, 3)
    graph = sparse_graph(K, groups)
    while kernels.move_pass(graph, clustering, free(clustering)):
        pass
    assert clustering.labels[4] == 2
    assert kernels.normalized_cut(clustering) == pytest.approx(
        ncut_by_definition(K, clustering.labels)
    )


# Flows --------------------------------------------------------------------------------


def path_cost(costs, path):
    return sum(costs[a, b] for a, b in pairwise(path))


@pytest.mark.slow
@given(st.integers(0, 2**32), st.integers(2, 5))
def test_the_cheapest_path_is_the_cheapest_of_all(seed, n_clusters):
    rng = np.random.default_rng(seed)
    costs = rng.uniform(0, 1, (n_clusters, n_clusters))
    costs[rng.random(costs.shape) < 0.3] = np.inf
    sources, sinks = np.zeros((2, n_clusters), dtype=bool)
    sources[0], sinks[-1] = True, True
    path = np.empty(n_clusters, np.int64)
    length = standalone(flows._cheapest_path)(costs, sources, sinks, path)
    every = [
        (0, *between, n_clusters - 1)
        for size in range(n_clusters - 1)
        for between in permutations(range(1, n_clusters - 1), size)
    ]
    least = min(path_cost(costs, p) for p in every)
    if np.isinf(least):
        assert length == 0
    else:
        assert path_cost(costs, path[:length]) == pytest.approx(least)


def test_no_path_returns_to_its_clusters():
    costs = np.array([[np.inf, 1, 1], [-5, np.inf, 1], [-5, -5, np.inf]])
    ends = np.array([True, False, False]), np.array([False, False, True])
    path = np.empty(3, np.int64)
    length = standalone(flows._cheapest_path)(costs, *ends, path)
    assert sorted(set(path[:length])) == sorted(path[:length])
    assert (path[0], path[length - 1]) == (0, 2)


@given(problems(), st.integers(0, 100))
def test_repair_meets_the_bounds_of_each_group(problem, seed):
    K, groups, labels, n_clusters = problem
    np.fill_diagonal(K, 1)  # no node is isolated
    target = partition_of(K, labels, groups, n_clusters).counts
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n_clusters, len(labels))
    labels[rng.choice(len(labels), n_clusters, replace=False)] = np.arange(n_clusters)
    clustering = partition_of(K, labels, groups, n_clusters)
    slack = rng.integers(0, 2, target.shape)
    bounds = kernels.Bounds(np.maximum(target - slack, 0), target + slack)
    graph = sparse_graph(K, groups)
    for _ in range(2):  # a cluster keeps its last member until others have come
        for g in range(groups.max() + 1):
            flows.repair_counts(graph, clustering, bounds, np.flatnonzero(groups == g))
    assert (clustering.counts >= bounds.lower).all()
    assert (clustering.counts <= bounds.upper).all()
    assert_is_what_its_labels_say(K, clustering, groups)


def test_repair_takes_the_cheapest_member():
    rng = np.random.default_rng(3)
    K = random_affinity(rng, 10, 0.9)
    labels = np.array([0] * 6 + [1] * 4)
    groups = np.zeros(10, dtype=np.intp)
    clustering = partition_of(K, labels, groups, 2)
    sizes = np.array([[5], [5]])
    n_paths = flows.repair_counts(
        dense_graph(K, groups), clustering, kernels.Bounds(sizes, sizes), np.arange(10)
    )
    choices = []
    for i in range(6):
        moved = labels.copy()
        moved[i] = 1
        choices.append(ncut_by_definition(K, moved))
    assert n_paths == 1
    assert ncut_by_definition(K, clustering.labels) == pytest.approx(min(choices))


def test_repair_fills_queues_again():
    n = 4 * flows.QUEUE_SIZE
    rng = np.random.default_rng(0)
    K = random_affinity(rng, n, 0.3)
    np.fill_diagonal(K, 1)
    groups = np.zeros(n, dtype=np.intp)
    labels = np.array([0] * (n - 1) + [1])
    clustering = partition_of(K, labels, groups, 2)
    sizes = np.array([[n // 2], [n // 2]])
    flows.repair_counts(
        sparse_graph(K, groups), clustering, kernels.Bounds(sizes, sizes), np.arange(n)
    )
    np.testing.assert_array_equal(clustering.counts, sizes)


# Exchanges ----------------------------------------------------------------------------


def test_an_exchange_repairs_bounds_that_no_move_can():
    blocks = np.kron(np.eye(2), np.ones((4, 4))) + 0.01
    labels = np.array([0, 0, 0, 1, 0, 1, 1, 1])
    groups = np.array([0, 1, 0, 1, 1, 0, 1, 0])
    clustering = partition_of(blocks, labels, groups, 2)
    graph = dense_graph(blocks, groups)
    assert (
        kernels.move_pass(graph, clustering, kernels.Bounds(*[clustering.counts.copy()] * 2)) == 0
    )
    assert flows.exchange_pass(graph, clustering, np.flatnonzero(groups == 1)) == 1
    assert clustering.labels.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    assert_is_what_its_labels_say(blocks, clustering, groups)


@given(problems())
def test_exchanges_lower_the_cut_and_keep_the_counts(problem):
    K, groups, labels, n_clusters = problem
    graph = sparse_graph(K, groups)
    clustering = partition_of(K, labels, groups, n_clusters)
    counts = clustering.counts.copy()
    before = ncut_by_definition(K, labels)
    for g in range(groups.max() + 1):
        n_exchanges = flows.exchange_pass(graph, clustering, np.flatnonzero(groups == g))
        after = ncut_by_definition(K, clustering.labels)
        assert after < before if n_exchanges else after == before
        before = after
    np.testing.assert_array_equal(clustering.counts, counts)
    assert_is_what_its_labels_say(K, clustering, groups)


@pytest.mark.slow
@given(problems())
def test_the_cost_of_an_exchange(problem):
    K, groups, labels, n_clusters = problem
    graph = sparse_graph(K, groups)
    clustering = partition_of(K, labels, groups, n_clusters)
    before = ncut_by_definition(K, labels)
    i = 0
    for j in np.flatnonzero(labels != labels[i]):
        swapped = labels.copy()
        swapped[[i, j]] = labels[[j, i]]
        if all(K[swapped == c].sum() > 0 for c in range(n_clusters)):
            cost = standalone(flows._exchange_cost)(graph, clustering, i, j, np.inf)
            assert cost == pytest.approx(ncut_by_definition(K, swapped) - before, abs=1e-9)


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
@pytest.mark.parametrize("storage", [sparse_graph, dense_graph])
def test_interpreted_flows_and_exchanges_equal_compiled_ones(storage):
    rng = np.random.default_rng(0)
    K = random_affinity(rng, 40) * 0.37
    groups = np.arange(40) % 2
    start = np.minimum(rng.integers(8, size=40), 3)  # the last cluster has too many
    bounds = kernels.Bounds(np.full((4, 2), 4), np.full((4, 2), 6))

    def search(*functions):
        graph = storage(K, groups)
        clustering = partition_of(K, start, groups, 4)
        members = [np.flatnonzero(groups == g) for g in range(2)]
        repair, exchange = functions
        n_paths = [repair(graph, clustering, bounds, nodes) for nodes in members]
        n_exchanges = [exchange(graph, clustering, nodes) for nodes in members]
        return n_paths, n_exchanges, *clustering

    compiled = kernels.repair_counts, kernels.exchange_pass
    with _kernels.compile_at_first_call():
        expected = search(*compiled)
    interpreted = search(*(kernel.__wrapped__ for kernel in compiled))
    assert min(expected[0]) > 0
    assert max(expected[1]) > 0
    for value, other in zip(interpreted, expected, strict=True):
        np.testing.assert_array_equal(value, other)
