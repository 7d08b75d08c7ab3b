"""A graph or kernel and its nodes: degrees, links to clusters, the constraint of the groups."""

import numpy as np
from scipy import linalg


def degrees_of(affinity):
    """Row sums, and 1 for nodes without any edge.

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
    return degrees_from(np.asarray(affinity @ np.ones((affinity.shape[0], 1))).ravel())


def degrees_from(sums):
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
    return np.where(isolated, 1.0, sums), isolated


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

    :math:`F = D^{-1/2} (G - 1 z')`, with G the 0-1 membership and z the shares of the groups; one
    column is redundant, and a pivoted QR finds any further dependence.
    """
    membership = np.zeros((len(codes), n_groups))
    membership[np.arange(len(codes)), codes] = 1.0
    F = (membership - membership.mean(axis=0)) / np.sqrt(degrees)[:, None]
    if n_groups == 1:
        return F[:, :0]
    Q, R, _ = linalg.qr(F[:, :-1], mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(R))
    return Q[:, diagonal > len(codes) * np.finfo(float).eps * diagonal[0]]
