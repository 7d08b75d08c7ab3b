"""A clustering that single moves change in place, and what a move does to it.

A sample has a mass and a weight. The mass weighs it in the mean of its cluster and in the cost; the
weight counts it in the group composition. Mostly they are the same.

Moving a sample of mass w out of cluster a and into cluster b changes the k-means cost by ::

    w n_b / (n_b + w) |x - m_b|^2  -  w n_a / (n_a - w) |x - m_a|^2

where n and m are the mass and the mean of a cluster before the move (Hartigan, 1975).
"""

from typing import NamedTuple

import numpy as np

from skfair._kernels import helper, inline_helper, jit


class Clustering(NamedTuple):
    """A clustering that single moves change in place."""

    labels: np.ndarray  # (n_samples,) int32
    centers: np.ndarray  # (n_clusters, n_features) means of the members by mass
    sizes: np.ndarray  # (n_clusters,) mass of the members
    counts: np.ndarray  # (n_clusters, n_groups) weight of the members by group
    members: np.ndarray  # (n_clusters, n_groups) int64, number of the members


class Limits(NamedTuple):
    """Limits on the group composition and on the size of every cluster.

    The composition is measured by the minimum ratio of two groups in the cluster, in one or more
    scales, such as the balance (every member counts 1) or the ratio of shares (a member counts 1
    over the size of its group). It must reach the level. A scale compares the groups of one
    attribute. Samples of one intersection are in the same groups, one of each attribute.
    """

    level: float
    scales: np.ndarray  # (n_scales, n_groups) value of a member of a group; 0: not compared
    factors: np.ndarray  # (n_scales,) factors of the ratios in the scales
    intersections: np.ndarray  # (n_intersections, n_attributes) intp, the groups of each
    slack: float  # weight by which rounding may change a count, in favour of the cluster
    min_size: float  # of a cluster; unless it is infinite masses have to be weights
    max_size: float


def balance_limits(n_groups, level=0.0):
    """Limits on the balance of clusters, the smallest over the largest group, and on no size."""
    intersections = np.arange(n_groups)[:, np.newaxis]
    return Limits(
        float(level), np.ones((1, n_groups)), np.ones(1), intersections, 0.0, -np.inf, np.inf
    )


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


@inline_helper
def update_counts(counts, members, intersections, code, w):
    """Add a sample to the counts of its groups, or remove it if its weight is negative."""
    for a in range(intersections.shape[1]):
        g = intersections[code, a]
        counts[g] += w
        members[g] += 1 if w > 0.0 else -1


@inline_helper
def is_in(intersections, code, g):
    """Whether samples of an intersection are in group g."""
    contained = False
    for a in range(intersections.shape[1]):
        contained |= intersections[code, a] == g
    return contained


@helper
def ratio(counts, members, limits):
    """Weight of the smallest over that of the largest group; 0 where a group is missing.

    With several scales, the minimum over scales of the ratio times its factor.
    """
    least = np.inf
    for s in range(limits.factors.size):
        least = min(least, _ratio_in(counts, members, limits, s))
    return least


@helper
def ratio_after(counts, members, code, change, limits):
    """The ratio after a sample of an intersection has joined (change > 0) or left (change < 0)."""
    least = np.inf
    for a in range(limits.intersections.shape[1]):
        g = limits.intersections[code, a]
        count, number = counts[g], members[g]
        # Change the counts, compare, and restore them.
        counts[g], members[g] = count + change, number + (1 if change > 0.0 else -1)
        for s in range(limits.factors.size):  # scales of this attribute
            if limits.scales[s, g] > 0.0:
                least = min(least, _ratio_in(counts, members, limits, s))
        counts[g], members[g] = count, number
    return least


@inline_helper
def _ratio_in(counts, members, limits, s):
    """The ratio in one scale, times its factor."""
    low, high, is_missing = np.inf, 0.0, False
    for j in range(counts.size):
        scale = limits.scales[s, j]
        if scale > 0.0:
            is_missing |= members[j] == 0
            low = min(low, (counts[j] + limits.slack) * scale)
            high = max(high, (counts[j] - limits.slack) * scale)
    return 0.0 if is_missing else limits.factors[s] * (low / high)


@helper
def sizes_allow(sizes, a, k, w, limits):
    """Whether the sizes allow a move of mass w from cluster a to cluster k."""
    return sizes[a] - w >= limits.min_size and sizes[k] + w <= limits.max_size


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
    return not is_single(clustering, a, limits) and clustering.sizes[a] > w


@helper
def is_single(clustering, k, limits):
    """Whether a cluster has one member only, which is in one group of each attribute."""
    total = 0
    for g in range(clustering.members.shape[1]):
        total += clustering.members[k, g]
    return total <= limits.intersections.shape[1]


@helper
def extreme_groups(counts, scale):
    """Indices of the minimum and maximum scaled weight, ties to the lowest index."""
    smallest = largest = -1
    for g in range(counts.size):
        if scale[g] > 0.0:
            if smallest < 0 or counts[g] * scale[g] < counts[smallest] * scale[smallest]:
                smallest = g
            if largest < 0 or counts[g] * scale[g] > counts[largest] * scale[largest]:
                largest = g
    return smallest, largest


@helper
def binding_groups(counts, limits):
    """The smallest and the largest group of a cluster in the scale of the minimum ratio."""
    smallest, largest = extreme_groups(counts, limits.scales[0])
    if limits.factors.size == 1:
        return smallest, largest
    least = np.inf
    for s in range(limits.factors.size):
        scale = limits.scales[s]
        i, j = extreme_groups(counts, scale)
        scaled = limits.factors[s] * (counts[i] * scale[i]) / (counts[j] * scale[j])
        if scaled < least:
            smallest, largest, least = i, j, scaled
    return smallest, largest
