"""A graph or kernel and its nodes: degrees, links to clusters, the constraint of the groups."""

import numpy as np


def node_degrees(affinity):
    """Row sums, and the median of them for nodes without any edge.

    Any other constant would give these nodes a share in the group constraint that depends on the
    scale of the affinities. A graph without any edge has degrees of 1.

    Parameters
    ----------
    affinity : ndarray, sparse array or RBFAffinity, of shape (n_nodes, n_nodes)
        Non-negative.

    Returns
    -------
    degrees : ndarray of float64, shape (n_nodes,)
    isolated : ndarray of bool, shape (n_nodes,)
        True for nodes without any edge.
    """
    return degrees_from_sums(np.asarray(affinity @ np.ones((affinity.shape[0], 1))).ravel())


def degrees_from_sums(sums):
    """The same from row sums.

    Parameters
    ----------
    sums : ndarray of shape (n_nodes,)
        Sums of the affinities of every node, not negative.

    Returns
    -------
    degrees : ndarray of float64, shape (n_nodes,)
    isolated : ndarray of bool, shape (n_nodes,)
        True for nodes without any edge.
    """
    sums = sums.astype(np.float64, copy=False)
    isolated = sums <= 0
    typical = 1.0 if isolated.all() else np.median(sums[~isolated])
    return np.where(isolated, typical, sums), isolated


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


def group_constraint(codes, n_groups, degrees):
    r"""Orthonormal basis C of the columns of F; embeddings with :math:`C'H = 0` are group-fair.

    :math:`F = D^{-1/2} (G - 1 z')`, with G the 0-1 membership and z the shares of the groups. Its
    columns span :math:`\{D^{-1/2} G b : z'b = 0\}`. The columns of :math:`D^{-1/2} G` are
    orthogonal, so that a Householder reflection in the space of the groups gives the basis without
    any decision about a rank, however different the degrees are.
    """
    numbers = np.bincount(codes, minlength=n_groups)
    present = np.flatnonzero(numbers)
    codes, numbers = np.searchsorted(present, codes), numbers[present]
    # E = D^-1/2 G with columns of length 1, computed in the scale of each column.
    roots, largest = 1 / np.sqrt(degrees), np.zeros(len(numbers))
    np.maximum.at(largest, codes, roots)
    scaled = roots / largest[codes]
    lengths = np.sqrt(np.bincount(codes, scaled**2))
    # E c is in the span if c is orthogonal to the normal z_j / (length of column j of D^-1/2 G).
    normal = numbers / lengths * (largest.min() / largest)
    normal /= np.linalg.norm(normal)
    # The reflection that swaps the normal and the first axis (up to sign) maps the others to c's.
    normal[0] += 1.0
    reflection = np.eye(len(normal)) - np.outer(normal, normal) / normal[0]
    return (scaled / lengths[codes])[:, None] * reflection[codes, 1:]
