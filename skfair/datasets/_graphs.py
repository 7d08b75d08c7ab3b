"""What graphs of people have in common: adjacency matrices, and the shape they are returned in."""

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.utils import Bunch


def adjacency_matrix(rows, cols, n_nodes, weights=None):
    """Make the symmetric adjacency matrix of an undirected graph.

    Parameters
    ----------
    rows, cols : ndarray of int, shape (n_edges,)
        The two ends of each edge, in [0, n_nodes); every edge once, no loops.
    n_nodes : int
        Number of nodes.
    weights : ndarray of shape (n_edges,), default=None
        Weight of each edge; 1 if None.

    Returns
    -------
    csr_array of float64, shape (n_nodes, n_nodes)
        Symmetric, with zero diagonal.
    """
    weights = np.ones(len(rows)) if weights is None else weights
    # 32 bits halve the memory, and some scikit-learn estimators take no wider indices.
    one, other = np.asarray(rows, dtype=np.int32), np.asarray(cols, dtype=np.int32)
    ends = np.concatenate([one, other]), np.concatenate([other, one])
    both = sparse.coo_array((np.tile(weights, 2), ends), shape=(n_nodes, n_nodes))
    return both.tocsr()


def largest_component(adjacency):
    """Nodes of the largest connected component, ascending."""
    _, component = connected_components(adjacency, directed=False)
    return np.flatnonzero(component == np.bincount(component).argmax())


def make_graph_bunch(edges, groups, descr, *, connected):
    """Make the bunch in which every graph is returned.

    Parameters
    ----------
    edges : ndarray of shape (n_edges, 2)
        The nodes that each edge joins, by their numbers in the source; every edge once. Edges
        that lead to a node without a group are left out.
    groups : Series of shape (n_nodes,)
        The group of each node, indexed by the node's number in the source.
    descr : str
        Source, licence, meaning of the groups.
    connected : bool
        Whether only the largest connected component is kept.

    Returns
    -------
    Bunch
        adjacency (CSR), sensitive_features, node_ids, DESCR; one order of the nodes in all.
    """
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
