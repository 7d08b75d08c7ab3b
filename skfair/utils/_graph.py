"""Degrees, links to clusters and the group constraint of a graph or kernel matrix."""

import numpy as np


def node_degrees(affinity):
    """Row sums (n_nodes,), and a mask of the nodes without edges, whose degree is the median.

    Any other constant would give these nodes a share in the group constraint that depends on the
    scale of the affinities. A graph without edges has degrees of 1.
    """
    return degrees_from_sums(np.asarray(affinity @ np.ones((affinity.shape[0], 1))).ravel())


def degrees_from_sums(sums):
    """As `node_degrees`, from row sums."""
    sums = sums.astype(np.float64, copy=False)
    isolated = sums <= 0
    typical = 1.0 if isolated.all() else np.median(sums[~isolated])
    return np.where(isolated, typical, sums), isolated


def cluster_links(affinity, codes, n_clusters):
    """Sums of affinities of every node to every cluster, within clusters, and volumes.

    The links are of shape (n_nodes, n_clusters). Sums within a cluster count both directions and
    the diagonal; the volume is the sum of the degrees in a cluster.
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
    # Leave out empty groups.
    sizes = np.bincount(codes, minlength=n_groups)
    present = np.flatnonzero(sizes)
    codes, sizes = np.searchsorted(present, codes), sizes[present]
    # E = D^-1/2 G with columns of length 1, computed in the scale of each column.
    roots, largest = 1 / np.sqrt(degrees), np.zeros(len(sizes))
    np.maximum.at(largest, codes, roots)
    scaled = roots / largest[codes]
    lengths = np.sqrt(np.bincount(codes, scaled**2))
    # E c is in the span if c is orthogonal to the normal z_j / (length of column j of D^-1/2 G).
    normal = sizes / lengths * (largest.min() / largest)
    normal /= np.linalg.norm(normal)
    # The reflection that swaps the normal and the first axis (up to sign) maps the others to c's.
    normal[0] += 1.0
    reflection = np.eye(len(normal)) - np.outer(normal, normal) / normal[0]
    return (scaled / lengths[codes])[:, None] * reflection[codes, 1:]
