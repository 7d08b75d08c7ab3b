"""A clustering that single moves change in place, and what a move does to it.

A sample has a mass and a weight. The mass weighs it in the mean of its cluster and in the cost; the
weight counts it in the group composition. Mostly they are the same.

Moving a sample of mass w out of cluster a and into cluster b changes the k-means cost by ::

    w n_b / (n_b + w) |x - m_b|^2  -  w n_a / (n_a - w) |x - m_a|^2

where n and m are the mass and the mean of a cluster before the move (Hartigan, 1975).
"""

from typing import NamedTuple

import numpy as np

from skfair._kernels import helper, jit
from skfair._kernels.limits import is_single, update_counts


class Clustering(NamedTuple):
    """A clustering that single moves change in place."""

    labels: np.ndarray  # (n_samples,) int32
    centers: np.ndarray  # (n_clusters, n_features) means of the members by mass
    sizes: np.ndarray  # (n_clusters,) mass of the members
    counts: np.ndarray  # (n_clusters, n_groups) weight of the members by group
    members: np.ndarray  # (n_clusters, n_groups) int64, number of the members


def build_clustering(X, masses, weights, codes, labels, n_clusters, limits):
    """Build the clustering that ``labels`` (copied) describes, by one sequential sum.

    The centre of an empty cluster is nan.
    """
    labels = np.array(labels, dtype=np.int32)
    return clustering_from_sums(
        labels, cluster_sums(X, masses, weights, codes, labels, n_clusters, limits)
    )


def clustering_from_sums(labels, summed):
    """The clustering of labels and their `cluster_sums`, summed over all partitions."""
    sums, sizes, counts, members = summed
    occupied = np.where(sizes == 0, np.nan, sizes)
    return Clustering(labels, sums / occupied[:, np.newaxis], sizes, counts, members)


def cluster_sums(X, masses, weights, codes, labels, n_clusters, limits):
    """Sums, sizes, counts and members by cluster, which add up over partitions of the samples."""
    n_groups = limits.scales.shape[1]
    sums, sizes = np.zeros((n_clusters, X.shape[1])), np.zeros(n_clusters)
    counts, members = np.zeros((n_clusters, n_groups)), np.zeros((n_clusters, n_groups), np.int64)
    clustering = Clustering(labels, sums, sizes, counts, members)
    _add_cluster_sums(X, masses, weights, codes, clustering, limits.intersections)
    return sums, sizes, counts, members


@jit
def _add_cluster_sums(X, masses, weights, codes, clustering, intersections):
    labels, sums, sizes, counts, members = clustering
    # Count intersections first, then groups: a sample is in one intersection but several groups.
    n_intersections, n_attributes = intersections.shape
    weights_by_code, numbers_by_code = (
        np.zeros((sizes.size, n_intersections)),
        np.zeros((sizes.size, n_intersections)),
    )
    for p in range(labels.size):
        k, code, mass = labels[p], codes[p], masses[p]
        sizes[k] += mass
        weights_by_code[k, code] += weights[p]
        numbers_by_code[k, code] += 1.0
        for f in range(X.shape[1]):
            sums[k, f] += mass * X[p, f]
    for k in range(sizes.size):
        for code in range(n_intersections):
            for a in range(n_attributes):
                counts[k, intersections[code, a]] += weights_by_code[k, code]
                members[k, intersections[code, a]] += np.int64(numbers_by_code[k, code])


@jit
def clustering_cost(X, masses, clustering):
    """Sum of masses times squared distances to the centres, in one sequential sum."""
    labels, centers = clustering.labels, clustering.centers
    cost = 0.0
    for p in range(labels.size):
        cost += masses[p] * distance(X[p], centers[labels[p]])
    return cost


@helper
def distance(x, center):
    s = 0.0
    for f in range(x.size):
        d = x[f] - center[f]
        s += d * d
    return s


@helper
def move(X, masses, weights, codes, clustering, p, k, limits):
    """Move sample p to cluster k."""
    labels, centers, sizes, counts, members = clustering
    a, code, mass = labels[p], codes[p], masses[p]
    # Label, sizes and counts.
    labels[p] = k
    sizes[a] -= mass
    sizes[k] += mass
    update_counts(counts[a], members[a], limits.intersections, code, -weights[p])
    update_counts(counts[k], members[k], limits.intersections, code, weights[p])
    for f in range(X.shape[1]):
        # Means without and with the sample.
        centers[a, f] += mass * (centers[a, f] - X[p, f]) / sizes[a]
        centers[k, f] -= mass * (centers[k, f] - X[p, f]) / sizes[k]


@helper
def change(distance_to, distance_from, size_to, size_from, w):
    """Change of the cost by a move of mass w, see the module's formula."""
    joining = w * size_to / (size_to + w) * distance_to
    leaving = w * size_from / (size_from - w) * distance_from
    return joining - leaving


@helper
def may_leave(clustering, p, w, limits):
    """Whether the cluster of sample p, of mass w, keeps a member without it."""
    a = clustering.labels[p]
    return not is_single(clustering.members[a], limits) and clustering.sizes[a] > w
