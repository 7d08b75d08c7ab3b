import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from benchmarks.datasets import make_rand_laplace
from benchmarks.datasets.graphs import largest_component, make_graph_bunch
from skfair.datasets._generators import adjacency_matrix

# 40 - 10 - 30 and 20 - 50, where 60 has no group
EDGES = np.array([[10, 30], [10, 40], [50, 20], [60, 20]])
GROUPS = pd.Series(["a", "b", "c", "a", "b"], index=[40, 50, 20, 30, 10], name="country")


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


def test_rand_laplace():
    n = 2000
    adjacency, groups = make_rand_laplace(n, random_state=0)
    assert isinstance(adjacency, sparse.csr_array)
    assert adjacency.nnz / (n * (n - 1)) == pytest.approx(0.1, abs=0.002)
    assert adjacency.data.min() > 0
    assert adjacency.data.max() <= 1
    assert adjacency.data.mean() == pytest.approx(0.5, abs=0.01)
    assert np.bincount(groups) / n == pytest.approx([0.7, 0.3], abs=0.05)


def test_rand_laplace_with_more_groups_and_all_links():
    adjacency, groups = make_rand_laplace(
        50, density=1.0, group_shares=[0.2] * 5, random_state=np.random.RandomState(0)
    )
    assert adjacency.nnz == 50 * 49
    assert set(groups) == {0, 1, 2, 3, 4}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"density": 0}, r"density must lie in \(0, 1\]; got 0"),
        ({"density": 1.5}, "got 1.5"),
        ({"group_shares": [0.5, 0.6]}, "sum 1"),
    ],
)
def test_rand_laplace_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        make_rand_laplace(**options)
