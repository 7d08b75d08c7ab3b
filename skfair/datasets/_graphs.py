"""Adjacency matrices, and the bunches in which graphs are returned."""

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.utils import Bunch


def adjacency_matrix(rows, cols, n_nodes, weights=None):
    """Make the symmetric adjacency matrix of the edges (row, column), each given once, no loops."""
    weights = np.ones(len(rows)) if weights is None else weights
    # 32 bits halve the memory, and some scikit-learn estimators take no wider indices.
    rows, cols = np.asarray(rows, dtype=np.int32), np.asarray(cols, dtype=np.int32)
    ends = np.concatenate([rows, cols]), np.concatenate([cols, rows])
    return sparse.coo_array((np.tile(weights, 2), ends), shape=(n_nodes, n_nodes)).tocsr()


def largest_component(adjacency):
    """Nodes of the largest connected component, ascending."""
    _, component = connected_components(adjacency, directed=False)
    return np.flatnonzero(component == np.bincount(component).argmax())


def make_graph_bunch(edges, groups, descr, *, connected):
    """Make the bunch of a graph, or with `connected` of its largest connected component.

    `edges` has one row of two node numbers per edge. `groups` is a Series indexed by node numbers;
    edges to a node without a group are left out.
    """
    # Positions of the ends in the order of the groups, -1 without a group.
    ends = groups.index.get_indexer(np.ravel(edges)).reshape(-1, 2)
    adjacency = adjacency_matrix(*ends[np.all(ends >= 0, axis=1)].T, len(groups))
    if connected:
        nodes = largest_component(adjacency)
        adjacency, groups = adjacency[nodes][:, nodes], groups.iloc[nodes]
    return Bunch(
        adjacency=adjacency,
        sensitive_features=groups.reset_index(drop=True).astype("category"),
        node_ids=groups.index.to_numpy(),
        DESCR=descr,
    )
