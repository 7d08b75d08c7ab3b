"""The fair embedding against a dense oracle, and what bad affinities get."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import linalg, sparse
from sklearn.metrics.pairwise import rbf_kernel

from skfair._utils.arrays import group_constraint_basis
from skfair.cluster import RBFAffinity, fair_embedding
from skfair.cluster.spectral import _fair_embedding
from skfair.cluster.spectral._eigen_solvers import NormalizedAffinity, nystroem

ITERATIVE = ["block-lanczos", "chebyshev"]
EXACT = ["nullspace", "projected"]
WITH_ALL_LANDMARKS = "nystroem"  # exact where it draws every node, as in small graphs


def block_graph(n_nodes=240, n_clusters=6, n_groups=3, seed=0):
    """A dense random graph with clusters and groups, as 0-1 adjacency."""
    rng = np.random.default_rng(seed)
    cluster = rng.integers(n_clusters, size=n_nodes)
    group = rng.integers(n_groups, size=n_nodes)
    same_cluster = cluster[:, None] == cluster
    probability = np.where(same_cluster, 0.5, 0.05) + 0.1 * (group[:, None] == group)
    upper = np.triu(rng.random((n_nodes, n_nodes)) < probability, 1)
    return (upper | upper.T).astype(float), group


def oracle(graph, group, n_components):
    """Largest feasible value of Tr(H'MH), by scipy's null space and a dense eigenproblem."""
    degrees = graph.sum(axis=1)
    linked = degrees > 0
    degrees[~linked] = np.median(degrees[linked]) if linked.any() else 1
    M = graph / np.sqrt(np.outer(degrees, degrees))
    membership = (group[:, None] == np.unique(group)).astype(float)
    F = (membership - membership.mean(axis=0)) / np.sqrt(degrees)[:, None]
    Z = linalg.null_space(F.T)
    return linalg.eigvalsh(Z.T @ M @ Z)[-n_components:].sum(), F


@pytest.mark.covering(1)
@pytest.mark.parametrize("eigen_solver", [*EXACT, *ITERATIVE, WITH_ALL_LANDMARKS, "auto"])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array, sparse.coo_matrix])
def test_solvers_reach_the_dense_optimum(eigen_solver, storage):
    graph, group = block_graph()
    best, F = oracle(graph, group, 6)
    result = fair_embedding(
        storage(graph),
        sensitive_features=group,
        n_components=6,
        eigen_solver=eigen_solver,
        random_state=0,
    )
    H = result.embedding
    assert result.converged
    assert best - 1e-4 <= result.objective <= best + 1e-9
    np.testing.assert_allclose(H.T @ H, np.eye(6), atol=1e-9)
    assert np.linalg.norm(F.T @ H) < 1e-9
    assert result.violation < 1e-9
    np.testing.assert_allclose(result.eigenvalues.sum(), result.objective)
    assert result.eigenvalues[0] == pytest.approx(1.0)


@pytest.mark.parametrize("eigen_solver", [*EXACT, *ITERATIVE])
def test_repeated_eigenvalues_of_a_disconnected_graph(eigen_solver):
    # Eight copies of one graph: every eigenvalue of a copy occurs eight times.
    part, group = block_graph(60, 2, 2)
    graph = linalg.block_diag(*[part] * 8)
    groups = np.tile(group, 8)
    best, _ = oracle(graph, groups, 10)
    result = fair_embedding(
        sparse.csr_array(graph),
        sensitive_features=groups,
        n_components=10,
        eigen_solver=eigen_solver,
        random_state=0,
    )
    assert result.objective == pytest.approx(best, rel=1e-4)


@pytest.mark.parametrize("eigen_solver", ITERATIVE)
@pytest.mark.parametrize("n_components", [10, 20])
def test_every_copy_of_a_repeated_eigenvalue_is_computed(eigen_solver, n_components):
    # Twenty components: some eighteen copies of the eigenvalue 1 are feasible.
    parts = [block_graph(30, 1, 1, seed)[0] + 0.01 for seed in range(20)]
    graph = linalg.block_diag(*parts)
    group = np.random.default_rng(0).integers(3, size=len(graph))
    best, _ = oracle(graph, group, n_components)
    result = fair_embedding(
        graph,
        sensitive_features=group,
        n_components=n_components,
        eigen_solver=eigen_solver,
        random_state=0,
    )
    assert result.objective == pytest.approx(best, rel=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("eigen_solver", ITERATIVE)
def test_nearly_repeated_eigenvalues_do_not_hide_each_other(eigen_solver):
    # 28 components with one, two or three clusters each: many eigenvalues at and just below 1,
    # where a subspace of no more than the wanted columns is caught by wrong ones.
    n_parts, size = 28, 45
    parts = [block_graph(size, 1 + i % 3, 1, 100 + i)[0] for i in range(n_parts)]
    ring = np.kron(np.eye(n_parts), np.roll(np.eye(size), 1, axis=1))
    graph = linalg.block_diag(*parts) + 0.05 * (ring + ring.T)
    group = np.random.default_rng(1).integers(3, size=len(graph))
    best, _ = oracle(graph, group, 25)
    for seed in range(4):
        result = fair_embedding(
            graph,
            sensitive_features=group,
            n_components=25,
            eigen_solver=eigen_solver,
            random_state=seed,
        )
        assert result.converged
        assert result.objective == pytest.approx(best, rel=1e-4)


@pytest.mark.parametrize("eigen_solver", ITERATIVE)
def test_a_subspace_may_hold_copies_of_one_eigenvalue_only(eigen_solver):
    graph = linalg.block_diag(*[block_graph(30, 1, 1, 0)[0]] * 20)
    result = fair_embedding(
        graph,
        sensitive_features=np.arange(600) % 3,
        n_components=3,
        eigen_solver=eigen_solver,
        random_state=0,
    )
    assert result.converged
    np.testing.assert_allclose(result.eigenvalues, 1.0, atol=1e-4)


@pytest.mark.parametrize("eigen_solver", ITERATIVE)
@pytest.mark.parametrize("diagonal", [0.0, 1.0])
def test_complete_graphs_have_no_positive_eigenvalue_to_measure_residuals_by(
    eigen_solver, diagonal
):
    graph = np.ones((300, 300)) + (diagonal - 1) * np.eye(300)
    result = fair_embedding(
        graph,
        sensitive_features=np.arange(300) % 3,
        n_components=4,
        eigen_solver=eigen_solver,
        random_state=0,
    )
    assert result.converged
    other = (diagonal - 1) / (299 + diagonal)
    np.testing.assert_allclose(result.eigenvalues, [1.0, other, other, other], atol=1e-9)


@pytest.mark.parametrize("n_components", [2, 3, 25])
def test_block_lanczos_restarts(n_components):
    graph, group = block_graph(400, 30, 2)
    best, _ = oracle(graph, group, n_components)
    result = fair_embedding(
        graph,
        sensitive_features=group,
        n_components=n_components,
        eigen_solver="block-lanczos",
        random_state=0,
        tol=1e-8,
    )
    assert result.converged
    assert result.n_products > 3 * n_components  # the size of the basis
    assert result.objective == pytest.approx(best, abs=1e-6)


def test_nystroem_nears_the_optimum_as_landmarks_are_added():
    rng = np.random.default_rng(0)
    graph = rbf_kernel(rng.normal(size=(300, 2)), gamma=0.5)
    group = rng.integers(3, size=300)
    best, _ = oracle(graph, group, 8)
    operator = NormalizedAffinity(graph)
    basis = group_constraint_basis(group, 3, operator.degrees)
    gaps = []
    for n_landmarks in (10, 30, 100, 300):
        H, exact = nystroem(operator, basis, 8, 0, np.random.RandomState(0), n_landmarks)
        np.testing.assert_allclose(H.T @ H, np.eye(8), atol=1e-9)
        np.testing.assert_allclose(basis.T @ H, 0, atol=1e-9)
        assert exact == (n_landmarks == 300)
        gaps.append(best - np.sum(H * operator(H)))
    # The kernel of the landmarks is ill conditioned: its inverse root costs half of the digits.
    assert gaps[0] > gaps[1] > gaps[2] > 1e-6
    assert gaps[3] == pytest.approx(0, abs=1e-7)


@pytest.mark.slow
def test_nystroem_is_reported_as_not_converged():
    graph, group = block_graph(520, 4, 2)
    result = fair_embedding(
        graph, sensitive_features=group, n_components=4, eigen_solver="nystroem", random_state=0
    )
    assert not result.converged
    assert result.violation < 1e-9


def test_first_column_is_the_root_of_the_degrees():
    graph, group = block_graph()
    result = fair_embedding(graph, sensitive_features=group, n_components=4, random_state=0)
    root = np.sqrt(graph.sum(axis=1))
    np.testing.assert_allclose(result.embedding[:, 0], root / np.linalg.norm(root), atol=1e-6)


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_one_component_is_the_trivial_one(storage):
    graph, group = block_graph()
    result = fair_embedding(storage(graph), sensitive_features=group, n_components=1)
    assert result.objective == pytest.approx(1.0)
    assert result.n_products == 0


def test_dca_admm_is_orthonormal_and_reports_a_violation():
    graph, group = block_graph()
    result = fair_embedding(
        graph, sensitive_features=group, n_components=4, eigen_solver="dca-admm", random_state=0
    )
    np.testing.assert_allclose(result.embedding.T @ result.embedding, np.eye(4), atol=1e-8)
    assert not result.converged
    assert result.violation > 0


def test_dca_admm_is_near_the_optimum_of_graphs_with_negative_eigenvalues():
    half, group = block_graph(60, 2, 2)
    empty = np.zeros_like(half)
    graph = np.block([[empty, half], [half, empty]])
    group = np.tile(group, 2)
    best, _ = oracle(graph, group, 4)
    result = fair_embedding(
        graph, sensitive_features=group, n_components=4, eigen_solver="dca-admm", random_state=0
    )
    assert result.objective == pytest.approx(best, rel=0.02)


def test_one_group_is_plain_spectral_embedding():
    graph, _ = block_graph()
    degrees = graph.sum(axis=1)
    values = linalg.eigvalsh(graph / np.sqrt(np.outer(degrees, degrees)))
    result = fair_embedding(graph, sensitive_features=["all"] * len(graph), n_components=5)
    np.testing.assert_allclose(result.eigenvalues, values[::-1][:5], atol=1e-9)


def test_tiles_multiply_like_the_stored_kernel(monkeypatch):
    monkeypatch.setattr("skfair.cluster.spectral._eigen_solvers.TILE_BYTES", 8 * 50 * 7)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    V = rng.normal(size=(50, 4))
    np.testing.assert_allclose(RBFAffinity(X, 0.7) @ V, rbf_kernel(X, gamma=0.7) @ V)
    group = rng.integers(2, size=50)
    stored = fair_embedding(rbf_kernel(X, gamma=0.7), sensitive_features=group, n_components=3)
    tiled = fair_embedding(RBFAffinity(X, 0.7), sensitive_features=group, n_components=3)
    assert tiled.objective == pytest.approx(stored.objective, abs=1e-9)


@given(seed=st.integers(0, 50), n_groups=st.integers(1, 5), n_components=st.integers(1, 6))
def test_every_embedding_is_feasible_and_no_better_than_the_optimum(seed, n_groups, n_components):
    graph, group = block_graph(50, 3, n_groups, seed)
    graph += 0.01  # no isolated nodes
    best, F = oracle(graph, group, n_components)
    result = fair_embedding(
        graph,
        sensitive_features=group,
        n_components=n_components,
        eigen_solver="block-lanczos",
        random_state=seed,
    )
    assert result.objective <= best + 1e-8
    assert np.linalg.norm(F.T @ result.embedding) < 1e-8


@pytest.mark.parametrize("eigen_solver", ["nullspace", "block-lanczos", "chebyshev"])
@pytest.mark.parametrize("loop", [0.0, 1.0])
def test_equal_eigenvalues_have_an_eigenvector_each(eigen_solver, loop):
    """All eigenvalues of a graph of loops are 1; LAPACK's bisection finds fewer of them."""
    H = fair_embedding(
        sparse.csr_array(loop * np.eye(80)),
        sensitive_features=np.arange(80) % 2,
        n_components=2,
        eigen_solver=eigen_solver,
    )
    np.testing.assert_allclose(H.embedding.T @ H.embedding, np.eye(2), atol=1e-9)
    np.testing.assert_allclose(H.eigenvalues, [loop, loop])


def test_isolated_nodes_have_the_median_degree_of_the_others():
    graph, group = block_graph(40, 2, 2)
    graph[3], graph[:, 3] = 0, 0
    operator = NormalizedAffinity(graph)
    assert operator.isolated.nonzero()[0].tolist() == [3]
    assert operator.degrees[3] == np.median(np.delete(graph.sum(axis=1), 3))
    result = fair_embedding(graph, sensitive_features=group, n_components=3)
    assert np.isfinite(result.embedding).all()


def test_two_triangles_and_two_nodes_alone():
    graph = linalg.block_diag(*[np.ones((3, 3)) - np.eye(3)] * 2, np.zeros((2, 2)))
    result = fair_embedding(graph, sensitive_features=[0] * 8, n_components=2)
    assert result.objective == pytest.approx(2)


@pytest.mark.covering(1)
@pytest.mark.parametrize("eigen_solver", [*EXACT, *ITERATIVE, WITH_ALL_LANDMARKS, "auto"])
@pytest.mark.parametrize("seed", range(20))
def test_embeddings_of_graphs_with_isolated_nodes_are_optimal(eigen_solver, seed):
    rng = np.random.default_rng(seed)
    n_nodes = 24
    n_groups = 1 + seed % 3
    graph, group = block_graph(n_nodes, 2, n_groups, seed)
    alone = rng.choice(n_nodes, 1 + seed % 5, replace=False)
    graph[alone], graph[:, alone] = 0, 0
    n_components = 1 + seed % 4
    best, F = oracle(graph, group, n_components)
    result = fair_embedding(
        graph,
        sensitive_features=group,
        n_components=n_components,
        eigen_solver=eigen_solver,
        tol=1e-9,
        random_state=0,
    )
    assert result.objective == pytest.approx(best, abs=1e-5)
    np.testing.assert_allclose(
        result.embedding.T @ result.embedding, np.eye(n_components), atol=1e-8
    )
    assert np.linalg.norm(F.T @ result.embedding) < 1e-8


def test_isolated_nodes_are_not_in_the_known_vector_if_that_is_fair():
    graph = linalg.block_diag(np.ones((6, 6)), np.zeros((2, 2)))
    group = [0, 1] * 4
    result = fair_embedding(graph, sensitive_features=group, n_components=1)
    np.testing.assert_allclose(result.embedding[:, 0], np.r_[np.full(6, 6**-0.5), 0, 0])


@pytest.mark.covering(1)
@pytest.mark.parametrize("eigen_solver", [*EXACT, *ITERATIVE, WITH_ALL_LANDMARKS])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("scale", [5e-324, 1e-200, 1e-46, 1e39, 1e120, 1e305])
def test_the_scale_of_an_affinity_does_not_matter(eigen_solver, storage, scale):
    graph, group = block_graph(60, 3, 2)
    best, _ = oracle(graph, group, 3)
    result = fair_embedding(
        storage(scale * graph),
        sensitive_features=group,
        n_components=3,
        eigen_solver=eigen_solver,
        random_state=0,
    )
    assert result.objective == pytest.approx(best, abs=2e-4)


@pytest.mark.parametrize("scale", [1e-150, 1e-29, 1e-10, 1e10, 1e29, 1e150])
@pytest.mark.parametrize("seed", range(5))
def test_the_group_constraint_does_not_depend_on_the_scale_with_isolated_nodes(scale, seed):
    rng = np.random.default_rng(seed)
    graph = np.triu(rng.random((8, 8)), 1)
    graph = graph + graph.T
    group = rng.permutation([0, 1, 2, 0, 1, 0, 1, 0])
    alone = rng.choice(8, 3, replace=False)
    graph[alone], graph[:, alone] = 0, 0
    best, F = oracle(graph, group, 3)
    result = fair_embedding(scale * graph, sensitive_features=group, n_components=3)
    assert result.objective == pytest.approx(best, abs=1e-9)
    assert np.linalg.norm(F.T @ result.embedding) < 1e-12
    assert result.violation < 1e-12


@pytest.mark.parametrize("n_groups", [1, 3])
def test_nystroem_of_a_kernel_of_rank_one_is_orthonormal(n_groups):
    x = np.arange(1.0, 31)[:, None]
    result = fair_embedding(
        x @ x.T,
        sensitive_features=np.arange(30) % n_groups,
        n_components=4,
        eigen_solver="nystroem",
        random_state=0,
    )
    np.testing.assert_allclose(result.embedding.T @ result.embedding, np.eye(4), atol=1e-9)
    assert result.violation < 1e-9
    assert result.objective == pytest.approx(1)


@pytest.mark.parametrize("seed", range(30))
def test_nystroem_with_all_landmarks_is_exact_for_graphs_without_full_rank(seed):
    rng = np.random.default_rng(seed)
    graph = np.triu(rng.random((9, 9)) < 0.3, 1).astype(float)
    graph = graph + graph.T
    group = np.arange(9) % 3
    best, _ = oracle(graph, group, 5)
    result = fair_embedding(
        graph, sensitive_features=group, n_components=5, eigen_solver="nystroem", random_state=0
    )
    assert result.converged
    assert result.objective == pytest.approx(best, abs=1e-7)


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_symmetry_is_measured_by_the_degrees(storage):
    # Far below the largest entry, but all that links the last two nodes.
    graph = linalg.block_diag(1e9 * np.ones((4, 4)), [[0, 1.0], [2.0, 0]])
    with pytest.raises(ValueError, match="symmetric, .* differ by 0.67"):
        fair_embedding(storage(graph), sensitive_features=[0, 1] * 3, n_components=2)
    graph[5, 4] = 1 + 1e-10
    fair_embedding(storage(graph), sensitive_features=[0, 1] * 3, n_components=2)


def test_duplicates_and_bipartite_graphs_are_fine():
    graph, group = block_graph(60, 2, 2)
    bipartite = np.block([[np.zeros_like(graph), graph], [graph, np.zeros_like(graph)]])
    for affinity, groups in ((np.ones((20, 20)), [0, 1] * 10), (bipartite, np.tile(group, 2))):
        result = fair_embedding(affinity, sensitive_features=groups, n_components=3)
        assert result.violation < 1e-9


def test_same_seed_same_embedding():
    graph, group = block_graph(700, 4, 2)
    first, second = (
        fair_embedding(graph, sensitive_features=group, n_components=4, random_state=3)
        for _ in range(2)
    )
    np.testing.assert_array_equal(first.embedding, second.embedding)


@pytest.mark.parametrize(
    "affinity, message",
    [
        (np.ones((3, 4)), "square"),
        (np.array([[0, 1.0], [2.0, 0]]), "symmetric"),
        (sparse.csr_array(np.array([[0, 1.0], [2.0, 0]])), "symmetric"),
        (np.array([[0, -1.0], [-1.0, 0]]), "negative"),
        (np.array([[0, np.nan], [np.nan, 0]]), "NaN"),
        (np.array([[0, np.inf], [np.inf, 0]]), "infinity"),
    ],
)
def test_bad_affinities_are_refused(affinity, message):
    with pytest.raises(ValueError, match=message):
        fair_embedding(affinity, sensitive_features=[0, 1], n_components=1)


@pytest.mark.parametrize("at", [(3, 2), (35, 1), (1, 35), (20, 38), (39, 39)])
@pytest.mark.parametrize(
    "entry, message",
    [
        (np.nan, "affinity contains NaN"),
        (np.inf, "affinity contains infinity"),
        (-1, "minimum is -1"),
    ],
)
def test_one_invalid_entry_is_detected_anywhere(monkeypatch, at, entry, message):
    monkeypatch.setattr(_fair_embedding, "ROWS_PER_CHECK", 16)
    affinity = np.ones((40, 40))
    affinity[at] = entry
    with pytest.raises(ValueError, match=message):
        fair_embedding(affinity, sensitive_features=[0, 1] * 20, n_components=2)


@pytest.mark.parametrize("at", [(3, 2), (35, 1), (1, 35), (20, 38)])
def test_one_asymmetric_entry_is_detected_anywhere(monkeypatch, at):
    monkeypatch.setattr(_fair_embedding, "ROWS_PER_CHECK", 16)
    affinity = np.ones((40, 40))
    affinity[at] = 1 + 1e-3
    with pytest.raises(ValueError, match="affinity must be symmetric"):
        fair_embedding(affinity, sensitive_features=[0, 1] * 20, n_components=2)
    affinity[at] = 1 + 1e-10  # rounding
    fair_embedding(affinity, sensitive_features=[0, 1] * 20, n_components=2)


def test_other_refusals():
    graph = np.ones((10, 10))
    group = np.arange(10) % 2
    with pytest.raises(ValueError, match="between 1 and 9, the number of feasible directions"):
        fair_embedding(graph, sensitive_features=group, n_components=10)
    with pytest.raises(ValueError, match="'chebyshev'"):
        fair_embedding(graph, sensitive_features=group, n_components=2, eigen_solver="magic")
    with pytest.raises(ValueError, match="10 samples"):
        fair_embedding(graph, sensitive_features=group[:-1], n_components=2)
