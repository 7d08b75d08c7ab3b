"""What metrics and clusterings know of a graph's nodes."""

import numpy as np
import pytest
from scipy import sparse

from skfair.cluster import RBFAffinity
from skfair.utils._graph import cluster_links, degrees_of, group_constraint

PATH = np.array([[0.0, 2, 0, 0], [2, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]])


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_a_node_without_edges_counts_as_of_degree_one(storage):
    degrees, isolated = degrees_of(storage(PATH))
    assert degrees.tolist() == [2, 3, 1, 1]
    assert isolated.tolist() == [False, False, False, True]


def test_degrees_of_a_kernel_that_is_not_stored():
    kernel = RBFAffinity(np.array([[0.0], [1.0]]))
    np.testing.assert_allclose(degrees_of(kernel)[0], 1 + np.exp(-1))


def test_links_by_hand():
    links, within, volumes = cluster_links(PATH, np.array([0, 0, 1, 1]), 2)
    assert links.tolist() == [[2, 0], [2, 1], [1, 0], [0, 0]]
    assert within.tolist() == [4, 0]
    assert volumes.tolist() == [5, 1]


def test_dependent_group_columns_lose_their_rank():
    # Attributes that say the same give groups of which some columns of F depend on others.
    degrees = np.arange(1.0, 9.0)
    codes = np.array([0, 1, 2, 0, 1, 2, 0, 1])
    C = group_constraint(codes, 3, degrees)
    assert C.shape == (8, 2)
    np.testing.assert_allclose(C.T @ C, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(C.T @ np.sqrt(degrees), 0, atol=1e-12)
