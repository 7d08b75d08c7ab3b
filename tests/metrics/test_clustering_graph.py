"""Metrics of graphs, by hand and by their definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from skfair.metrics import normalized_cut

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
