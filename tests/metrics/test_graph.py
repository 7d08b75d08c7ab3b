"""Metrics of graphs, by hand and by their definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from skfair.metrics import group_constraint_residual, normalized_cut, spectral_objective

TWO_TRIANGLES = np.array(
    [
        [0, 1, 1, 0, 0, 0],
        [1, 0, 1, 0, 0, 0],
        [1, 1, 0, 1, 0, 0],
        [0, 0, 1, 0, 1, 1],
        [0, 0, 0, 1, 0, 1],
        [0, 0, 0, 1, 1, 0],
    ]
)


def test_by_hand():
    # Each triangle has volume 7, and one edge leaves it.
    assert normalized_cut([0, 0, 0, 1, 1, 1], TWO_TRIANGLES) == pytest.approx(2 / 7)
    assert normalized_cut(np.zeros(6, dtype=int), TWO_TRIANGLES) == 0
    assert normalized_cut(range(6), TWO_TRIANGLES) == pytest.approx(6)


def test_labels_are_names():
    names = ["b", "b", "b", "a", "a", "a"]
    assert normalized_cut(names, TWO_TRIANGLES.tolist()) == pytest.approx(2 / 7)


def test_loops_count_in_the_volume_only():
    loops = TWO_TRIANGLES + np.eye(6)
    assert normalized_cut([0, 0, 0, 1, 1, 1], loops) == pytest.approx(2 / 10)


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.coo_array, sparse.csc_matrix])
def test_sparse_equals_dense(container):
    labels = [0, 1, 0, 1, 2, 2]
    assert normalized_cut(labels, container(TWO_TRIANGLES)) == pytest.approx(
        normalized_cut(labels, TWO_TRIANGLES)
    )


def test_the_affinity_may_be_a_linear_operator():
    class Doubled:
        shape = (6, 6)

        def __matmul__(self, V):
            return 2 * (TWO_TRIANGLES @ V)

    assert normalized_cut([0, 0, 0, 1, 1, 1], Doubled()) == pytest.approx(2 / 7)


def test_a_cluster_of_isolated_nodes_adds_zero():
    graph = np.zeros((4, 4))
    graph[0, 1] = graph[1, 0] = 1
    assert normalized_cut([0, 1, 2, 2], graph) == 2
    assert normalized_cut([0, 0, 2, 2], graph) == 0


@given(st.integers(0, 2**32), st.integers(1, 5))
def test_definition_and_scale(seed, n_clusters):
    rng = np.random.default_rng(seed)
    K = rng.random((9, 9))
    K += K.T
    labels = rng.integers(0, n_clusters, 9)
    cut = 0.0
    for k in np.unique(labels):
        inside = labels == k
        cut += K[inside][:, ~inside].sum() / K[inside].sum()
    assert normalized_cut(labels, K) == pytest.approx(cut)
    assert normalized_cut(labels, 1e-3 * K) == pytest.approx(cut)
    assert 0 <= normalized_cut(labels, K) <= n_clusters


def test_shapes_are_checked():
    with pytest.raises(ValueError, match=r"one row and one column per node; got shape \(6, 2\)"):
        normalized_cut([0] * 6, TWO_TRIANGLES[:, :2])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        normalized_cut([0, 1], TWO_TRIANGLES)


# Embeddings ---------------------------------------------------------------------------


def indicator(labels, affinity):
    """The clustering as an embedding with orthonormal columns."""
    member = np.eye(max(labels) + 1)[labels]
    degrees = affinity.sum(axis=1)
    return np.sqrt(degrees[:, None] / (degrees @ member)) * member


def test_objective_by_hand():
    H = indicator([0, 0, 0, 1, 1, 1], TWO_TRIANGLES)
    assert spectral_objective(H, TWO_TRIANGLES) == pytest.approx(2 - 2 / 7)
    trivial = np.sqrt(TWO_TRIANGLES.sum(axis=1, keepdims=True) / TWO_TRIANGLES.sum())
    assert spectral_objective(trivial, TWO_TRIANGLES) == pytest.approx(1)
    assert spectral_objective([[1], [0], [0], [0], [0], [0]], TWO_TRIANGLES) == 0


@given(st.integers(0, 2**32), st.integers(1, 4))
def test_the_objective_of_clusters_is_their_number_minus_their_cut(seed, n_clusters):
    rng = np.random.default_rng(seed)
    K = rng.random((9, 9)) + 1e-3
    K += K.T
    labels = rng.permutation(np.arange(9) % n_clusters)
    H = indicator(labels, K)
    expected = n_clusters - normalized_cut(labels, K)
    assert spectral_objective(H, K) == pytest.approx(expected)
    assert spectral_objective(H, 1e-3 * K) == pytest.approx(expected)


def test_the_objective_is_greatest_for_the_leading_eigenvectors():
    rng = np.random.default_rng(0)
    K = rng.random((12, 12))
    K += K.T
    degrees = K.sum(axis=1)
    values, vectors = np.linalg.eigh(K / np.sqrt(degrees[:, None] * degrees))
    assert spectral_objective(vectors[:, -3:], K) == pytest.approx(values[-3:].sum())
    for _ in range(20):
        H, _ = np.linalg.qr(rng.normal(size=(12, 3)))
        assert spectral_objective(H, K) <= values[-3:].sum() + 1e-12


def definition_of_residual(H, affinity, groups):
    """Projection of H on the group constraint, by least squares on all its columns."""
    member = (np.unique(groups) == np.asarray(groups)[:, None]).astype(float)
    degrees = affinity.sum(axis=1)
    linked = degrees > 0
    degrees[~linked] = np.median(degrees[linked]) if linked.any() else 1
    F = (member - member.mean(axis=0)) / np.sqrt(degrees)[:, None]
    return np.linalg.norm(F @ np.linalg.lstsq(F, H, rcond=1e-12)[0])


@given(st.integers(0, 2**32), st.integers(1, 5))
def test_the_residual_is_the_part_of_the_embedding_that_is_unfair(seed, n_groups):
    rng = np.random.default_rng(seed)
    K = np.triu(rng.random((11, 11)) < 0.4, 1) * rng.random((11, 11))
    K += K.T
    groups = rng.permutation(np.arange(11) % n_groups)
    H = np.linalg.qr(rng.normal(size=(11, 3)))[0]
    residual = group_constraint_residual(H, K, sensitive_features=groups)
    assert residual == pytest.approx(definition_of_residual(H, K, groups), abs=1e-9)
    assert 0 <= residual <= np.sqrt(min(n_groups - 1, 3)) + 1e-12


def test_residual_by_hand():
    # On a ring the degrees are equal, and the constraint is that the groups have equal means.
    ring = np.roll(np.eye(4), 1, axis=0) + np.roll(np.eye(4), -1, axis=0)
    H = np.array([[3.0], [1.0], [0.0], [0.0]])
    # C is (1, 1, -1, -1) / 2.
    assert group_constraint_residual(H, ring, sensitive_features=list("aabb")) == pytest.approx(2)
    H = np.array([[2.0], [-1.0], [1.0], [0.0]])
    assert group_constraint_residual(H, ring, sensitive_features=list("aabb")) == pytest.approx(0)


def test_one_group_has_no_residual():
    H = np.random.default_rng(0).normal(size=(6, 2))
    assert group_constraint_residual(H, TWO_TRIANGLES, sensitive_features=["all"] * 6) == 0


def test_equal_means_have_no_residual_at_any_scale():
    rng = np.random.default_rng(0)
    K = rng.random((8, 8))
    K += K.T
    groups = np.arange(8) % 2
    T = rng.normal(size=(8, 3))
    H = T * np.sqrt(K.sum(axis=1, keepdims=True))
    unfair = group_constraint_residual(H, K, sensitive_features=groups)
    assert unfair > 0.1
    assert group_constraint_residual(H, 1e6 * K, sensitive_features=groups) == pytest.approx(unfair)
    T[groups == 1] += T[groups == 0].mean(axis=0) - T[groups == 1].mean(axis=0)
    H = T * np.sqrt(K.sum(axis=1, keepdims=True))
    assert group_constraint_residual(H, K, sensitive_features=groups) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.coo_array, np.ndarray.tolist])
def test_embeddings_are_measured_on_graphs_in_any_container(container):
    H = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 2)))[0]
    graph, groups = container(TWO_TRIANGLES), [0, 1, 1, 0, 1, 0]
    assert spectral_objective(H, graph) == pytest.approx(spectral_objective(H, TWO_TRIANGLES))
    assert group_constraint_residual(H, graph, sensitive_features=groups) == pytest.approx(
        group_constraint_residual(H, TWO_TRIANGLES, sensitive_features=groups)
    )


def test_isolated_nodes_have_the_median_degree_of_the_others():
    graph = np.zeros((4, 4))
    graph[0, 1] = graph[1, 0] = 1
    H = np.eye(4)[:, [0, 3]]
    assert spectral_objective(H, graph) == 0
    assert group_constraint_residual(H, graph, sensitive_features=[0, 0, 1, 1]) == pytest.approx(
        np.sqrt(0.5)
    )


def test_bad_embeddings_are_refused():
    H = np.eye(6)[:, :2]
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        spectral_objective(H[:5], TWO_TRIANGLES)
    with pytest.raises(ValueError, match="embedding contains NaN"):
        spectral_objective(np.full((6, 1), np.nan), TWO_TRIANGLES)
    with pytest.raises(ValueError, match="one row and one column per node"):
        group_constraint_residual(H, TWO_TRIANGLES[:, :5], sensitive_features=[0, 1] * 3)
    with pytest.raises(ValueError, match="5 rows but there are 6 samples"):
        group_constraint_residual(H, TWO_TRIANGLES, sensitive_features=[0] * 5)
