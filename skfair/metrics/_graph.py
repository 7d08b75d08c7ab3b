"""How well a clustering cuts a graph."""

import numpy as np
from sklearn.utils import check_array, check_consistent_length, column_or_1d


def normalized_cut(labels, affinity):
    r"""Normalised cut of a clustering of a graph's nodes.

    .. math:: \sum_k \frac{\mathrm{cut}(C_k)}{\mathrm{vol}(C_k)}, \quad
        \mathrm{cut}(C) = \sum_{i \in C, j \notin C} K_{ij}, \quad
        \mathrm{vol}(C) = \sum_{i \in C} \sum_j K_{ij}

    Parameters
    ----------
    labels : array-like of shape (n_nodes,)
        Cluster of each node; every distinct label is a cluster.
    affinity : array-like or sparse matrix of shape (n_nodes, n_nodes), or RBFAffinity
        Symmetric and non-negative (not checked): a graph or a kernel. The diagonal counts as part
        of the volume, though never of a cut.

    Returns
    -------
    cut : float
        Between 0 (nothing connects the clusters) and the number of clusters. A cluster of isolated
        nodes, whose volume is zero, cuts nothing and counts 0.

    Raises
    ------
    ValueError
        If the affinity is not square, or has not one row per label.

    References
    ----------
    .. [1] J. Shi and J. Malik, "Normalized cuts and image segmentation", IEEE Transactions on
       Pattern Analysis and Machine Intelligence 22 (8), 2000.
    .. [2] F. Tonin, A. Lambert, J. Suykens and V. Cevher, "Accelerating spectral clustering under
       fairness constraints", ICML 2025.

    Examples
    --------
    >>> from skfair.metrics import normalized_cut
    >>> path = [[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]]
    >>> round(normalized_cut([0, 0, 1, 1], path), 3)  # 1/3 + 1/3
    0.667
    """
    if not hasattr(affinity, "__matmul__") or isinstance(affinity, np.ndarray):
        affinity = check_array(affinity, input_name="affinity")
    if affinity.shape[0] != affinity.shape[1]:
        raise ValueError(
            f"affinity must have one row and one column per node, but its shape is "
            f"{affinity.shape}; pass a square array, or a kernel's matrix instead of the features."
        )
    labels = column_or_1d(check_array(labels, ensure_2d=False, dtype=None, input_name="labels"))
    check_consistent_length(labels, affinity)
    clusters, codes = np.unique(labels, return_inverse=True)
    _, within, volumes = cluster_links(affinity, codes, len(clusters))
    cut = np.maximum(volumes - within, 0.0)
    return float(np.divide(cut, volumes, out=np.zeros(len(volumes)), where=volumes > 0).sum())


def cluster_links(affinity, codes, n_clusters):
    """Affinity of every node to every cluster, and what follows from it for the clusters.

    Parameters
    ----------
    affinity : ndarray, sparse array or RBFAffinity, of shape (n_nodes, n_nodes)
        Symmetric.
    codes : ndarray of int, shape (n_nodes,)
        Cluster of each node, in [0, n_clusters).
    n_clusters : int
        Number of clusters.

    Returns
    -------
    links : ndarray of float64, shape (n_nodes, n_clusters)
        Sum of a node's affinities to the nodes of a cluster.
    within : ndarray of float64, shape (n_clusters,)
        Sum of the affinities inside a cluster, both ways and with the diagonal.
    volumes : ndarray of float64, shape (n_clusters,)
        Sum of the degrees in a cluster.
    """
    nodes = np.arange(len(codes))
    membership = np.zeros((len(codes), n_clusters))
    membership[nodes, codes] = 1.0
    links = np.ascontiguousarray(affinity @ membership)
    within = np.bincount(codes, links[nodes, codes], minlength=n_clusters)
    volumes = np.bincount(codes, links.sum(axis=1), minlength=n_clusters)
    return links, within, volumes
