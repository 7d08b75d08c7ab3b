"""What metrics and clusterings know of a graph's nodes."""

import numpy as np
import pytest
from scipy import sparse

from skfair._utils.arrays import cluster_links, filled_node_degrees, group_constraint_basis
from skfair.cluster import RBFAffinity

PATH = np.array([[0.0, 2, 0, 0], [2, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]])


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("scale", [1.0, 2.0**-500, 2.0**500])
def test_a_node_without_edges_has_the_median_degree_of_the_others(storage, scale):
    degrees, isolated = filled_node_degrees(storage(scale * PATH))
    assert (degrees / scale).tolist() == [2, 3, 1, 2]
    assert isolated.tolist() == [False, False, False, True]


def test_degrees_of_a_kernel_that_is_not_stored():
    kernel = RBFAffinity(np.array([[0.0], [1.0]]))
    np.testing.assert_allclose(filled_node_degrees(kernel)[0], 1 + np.exp(-1))


def test_links_by_hand():
    links, within, volumes = cluster_links(PATH, np.array([0, 0, 1, 1]), 2)
    assert links.tolist() == [[2, 0], [2, 1], [1, 0], [0, 0]]
    assert within.tolist() == [4, 0]
    assert volumes.tolist() == [5, 1]


def test_a_graph_without_edges_has_degrees_of_one():
    degrees, isolated = filled_node_degrees(np.zeros((3, 3)))
    assert degrees.tolist() == [1, 1, 1]
    assert isolated.all()


def test_the_group_constraint_has_one_column_less_than_there_are_groups():
    degrees = np.arange(1.0, 9.0)
    codes = np.array([0, 1, 2, 0, 1, 2, 0, 1])
    C = group_constraint_basis(codes, 3, degrees)
    assert C.shape == (8, 2)
    np.testing.assert_allclose(C.T @ C, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(C.T @ np.sqrt(degrees), 0, atol=1e-12)


@pytest.mark.parametrize("decades", [0, 10, 60, 150])
@pytest.mark.parametrize("seed", range(5))
def test_the_group_constraint_keeps_its_rank_with_degrees_of_any_size(decades, seed):
    rng = np.random.default_rng(seed)
    degrees = 10.0 ** rng.uniform(-decades, decades, 30)
    codes = np.arange(30) % 4
    C = group_constraint_basis(codes, 5, degrees)  # the last group is empty
    assert C.shape == (30, 3)
    np.testing.assert_allclose(C.T @ C, np.eye(3), atol=1e-13)
    H = rng.normal(size=30)
    H -= C @ (C.T @ H)
    # All groups have the same mean of D^-1/2 H, each compared in the scale of its own column.
    columns = np.where(codes[:, None] == np.arange(4), 1 / np.sqrt(degrees)[:, None], 0)
    lengths = np.linalg.norm(columns, axis=0)
    sums = H @ (columns / lengths)
    common = np.bincount(codes) / lengths
    common /= np.linalg.norm(common)
    np.testing.assert_allclose(sums, common * (common @ sums), atol=1e-12)
