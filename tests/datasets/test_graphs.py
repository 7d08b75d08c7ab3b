import numpy as np
import pandas as pd
from scipy import sparse

from skfair.datasets._points import adjacency_matrix, largest_component, make_graph_bunch

# 40 - 10 - 30 and 20 - 50, where 60 has no group
EDGES = np.array([[10, 30], [10, 40], [50, 20], [60, 20]])
GROUPS = pd.Series(["a", "b", "c", "a", "b"], index=[40, 50, 20, 30, 10], name="country")


def test_adjacency_is_symmetric_with_zero_diagonal():
    adjacency = adjacency_matrix([0, 2], [1, 1], 4)
    assert isinstance(adjacency, sparse.csr_array)
    assert adjacency.dtype == np.float64
    assert adjacency.indices.dtype == np.int32
    assert adjacency.toarray().tolist() == [[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]]


def test_weights():
    adjacency = adjacency_matrix([0, 2], [1, 1], 3, weights=np.array([0.5, 2.0]))
    assert adjacency.toarray().tolist() == [[0, 0.5, 0], [0.5, 0, 2], [0, 2, 0]]


def test_no_edges():
    assert adjacency_matrix([], [], 3).toarray().tolist() == np.zeros((3, 3)).tolist()


def test_largest_component():
    adjacency = adjacency_matrix([0, 1, 4], [2, 3, 3], 6)
    assert largest_component(adjacency).tolist() == [1, 3, 4]


def test_bunch_of_all_nodes_that_have_a_group():
    graph = make_graph_bunch(EDGES, GROUPS, "five people", connected=False)
    assert graph.node_ids.tolist() == [40, 50, 20, 30, 10]
    assert graph.sensitive_features.tolist() == ["a", "b", "c", "a", "b"]
    assert graph.sensitive_features.index.tolist() == [0, 1, 2, 3, 4]
    assert graph.sensitive_features.name == "country"
    assert graph.DESCR == "five people"
    rows, cols = graph.adjacency.nonzero()
    links = set(zip(graph.node_ids[rows].tolist(), graph.node_ids[cols].tolist(), strict=True))
    assert links == {(10, 30), (30, 10), (10, 40), (40, 10), (20, 50), (50, 20)}


def test_bunch_of_the_largest_component():
    graph = make_graph_bunch(EDGES, GROUPS, "", connected=True)
    assert graph.node_ids.tolist() == [40, 30, 10]
    assert graph.sensitive_features.tolist() == ["a", "a", "b"]
    assert graph.sensitive_features.cat.categories.tolist() == ["a", "b"]
    assert graph.adjacency.toarray().tolist() == [[0, 0, 1], [0, 0, 1], [1, 1, 0]]
