"""A clustering that single moves change in place, and what a move does to it.

A sample has a mass and a weight. The mass pulls at the mean of its cluster, and is what a squared
distance costs; the weight counts in the mix of groups. Mostly they are the same.

Moving a sample of mass w out of cluster a and into cluster b changes the k-means cost by ::

    w n_b / (n_b + w) |x - m_b|^2  -  w n_a / (n_a - w) |x - m_a|^2

where n and m are the mass and the mean of a cluster before the move (Hartigan, 1975).
"""

from typing import NamedTuple

import numpy as np

from skfair._kernels import inlined, jit, part


class Clustering(NamedTuple):
    """A clustering that single moves change in place."""

    labels: np.ndarray  # (n_samples,) int32
    centers: np.ndarray  # (n_clusters, n_features) means of the members by mass
    sizes: np.ndarray  # (n_clusters,) mass of the members
    counts: np.ndarray  # (n_clusters, n_groups) weight of the members by group
    members: np.ndarray  # (n_clusters, n_groups) int64, number of the members


class Limits(NamedTuple):
    """What every cluster has to keep: a mix of groups, and a size.

    The mix is the least ratio of two groups in the cluster, in one or more scales, such as the
    balance (every member counts 1) or the ratio of shares (a member counts 1 over the size of its
    group). It must reach the level. A scale compares the groups of one attribute; samples of one
    kind are in the same groups, one of each attribute.
    """

    level: float
    scales: np.ndarray  # (n_scales, n_groups) what a member of a group counts; 0: not compared
    factors: np.ndarray  # (n_scales,) what ratios in the scale are multiplied with
    kinds: np.ndarray  # (n_kinds, n_attributes) intp, the groups that samples of a kind are in
    person: float  # weight by which rounding may change a count, in favour of the cluster
    smallest: float  # of a cluster; unless it is infinite masses have to be weights
    largest: float


def balance_limits(n_groups, level=0.0):
    """Limits on the balance of clusters, the rarest group over the commonest, and on no size."""
    kinds = np.arange(n_groups)[:, np.newaxis]
    return Limits(float(level), np.ones((1, n_groups)), np.ones(1), kinds, 0.0, -np.inf, np.inf)


def tabulate(X, masses, weights, codes, labels, n_clusters, limits):
    """Build the clustering that ``labels`` (copied) describes, by one sequential sum.

    The centre of an empty cluster is nan.
    """
    labels = np.array(labels, dtype=np.int32)
    return clustering_of(labels, tally(X, masses, weights, codes, labels, n_clusters, limits))


def clustering_of(labels, tallied):
    """The clustering of some labels and what `tally` counts of it, over all of its parts."""
    sums, sizes, counts, members = tallied
    occupied = np.where(sizes == 0, np.nan, sizes)
    return Clustering(labels, sums / occupied[:, np.newaxis], sizes, counts, members)


def tally(X, masses, weights, codes, labels, n_clusters, limits):
    """What adds up over parts of the samples: their sums by cluster, then as in `Clustering`."""
    n_groups = limits.scales.shape[1]
    sums, sizes = np.zeros((n_clusters, X.shape[1])), np.zeros(n_clusters)
    counts, members = np.zeros((n_clusters, n_groups)), np.zeros((n_clusters, n_groups), np.int64)
    clustering = Clustering(labels, sums, sizes, counts, members)
    _tally(X, masses, weights, codes, clustering, limits.kinds)
    return sums, sizes, counts, members


@jit
def _tally(X, masses, weights, codes, clustering, kinds):
    labels, sums, sizes, counts, members = clustering
    # Kinds are counted, and groups from them: one sample is in one kind, not in several groups.
    n_kinds, n_attributes = kinds.shape
    weight_of, number_of = np.zeros((sizes.size, n_kinds)), np.zeros((sizes.size, n_kinds))
    for p in range(labels.size):
        k, kind, mass = labels[p], codes[p], masses[p]
        sizes[k] += mass
        weight_of[k, kind] += weights[p]
        number_of[k, kind] += 1.0
        for f in range(X.shape[1]):
            sums[k, f] += mass * X[p, f]
    for k in range(sizes.size):
        for kind in range(n_kinds):
            for a in range(n_attributes):
                counts[k, kinds[kind, a]] += weight_of[k, kind]
                members[k, kinds[kind, a]] += np.int64(number_of[k, kind])


@jit
def cost_of(X, masses, clustering):
    """Sum of masses times squared distances to the centres, from scratch, in one sequential sum."""
    labels, centers = clustering.labels, clustering.centers
    cost = 0.0
    for p in range(labels.size):
        cost += masses[p] * distance(X[p], centers[labels[p]])
    return cost


@part
def distance(x, center):
    s = 0.0
    for f in range(x.size):
        d = x[f] - center[f]
        s += d * d
    return s


@inlined
def enter(counts, members, kinds, kind, w):
    """Count a sample in its groups, or no longer if its weight is negative."""
    for a in range(kinds.shape[1]):
        g = kinds[kind, a]
        counts[g] += w
        members[g] += 1 if w > 0.0 else -1


@inlined
def is_in(kinds, kind, g):
    """Whether samples of a kind are in group g."""
    found = False
    for a in range(kinds.shape[1]):
        found |= kinds[kind, a] == g
    return found


@part
def ratio(counts, members, limits):
    """Weight of the rarest over that of the commonest group; 0 where a group is missing.

    Of several scales the one in which the ratio, times its factor, is least.
    """
    least = np.inf
    for s in range(limits.factors.size):
        least = min(least, _ratio_in(counts, members, limits, s))
    return least


@part
def ratio_after(counts, members, kind, change, limits):
    """The ratio once a sample of a kind has come, or has gone: its weight has the sign."""
    least = np.inf
    for a in range(limits.kinds.shape[1]):
        g = limits.kinds[kind, a]
        kept, had = counts[g], members[g]
        counts[g], members[g] = kept + change, had + (1 if change > 0.0 else -1)
        for s in range(limits.factors.size):  # those that compare groups of this attribute
            if limits.scales[s, g] > 0.0:
                least = min(least, _ratio_in(counts, members, limits, s))
        counts[g], members[g] = kept, had
    return least


@inlined
def _ratio_in(counts, members, limits, s):
    """The ratio in one scale, times its factor."""
    low, high, lacks = np.inf, 0.0, False
    for j in range(counts.size):
        scale = limits.scales[s, j]
        if scale > 0.0:
            lacks |= members[j] == 0
            low = min(low, (counts[j] + limits.person) * scale)
            high = max(high, (counts[j] - limits.person) * scale)
    return 0.0 if lacks else limits.factors[s] * (low / high)


@part
def sizes_allow(sizes, a, k, w, limits):
    """Whether a sample of mass w may go from cluster a to cluster k."""
    return sizes[a] - w >= limits.smallest and sizes[k] + w <= limits.largest


@part
def move(X, masses, weights, codes, clustering, p, k, limits):
    """Give sample p to cluster k."""
    labels, centers, sizes, counts, members = clustering
    a, kind, mass = labels[p], codes[p], masses[p]
    labels[p] = k
    sizes[a] -= mass
    sizes[k] += mass
    enter(counts[a], members[a], limits.kinds, kind, -weights[p])
    enter(counts[k], members[k], limits.kinds, kind, weights[p])
    for f in range(X.shape[1]):
        centers[a, f] += mass * (centers[a, f] - X[p, f]) / sizes[a]
        centers[k, f] -= mass * (centers[k, f] - X[p, f]) / sizes[k]


@part
def change(distance_to, distance_from, size_to, size_from, w):
    """Change of the cost by a move of mass w, see the module's formula."""
    joining = w * size_to / (size_to + w) * distance_to
    leaving = w * size_from / (size_from - w) * distance_from
    return joining - leaving


@part
def may_leave(clustering, p, w, limits):
    """Whether the cluster of sample p, of mass w, keeps a member without it."""
    a = clustering.labels[p]
    return not is_single(clustering, a, limits) and clustering.sizes[a] > w


@part
def is_single(clustering, k, limits):
    """Whether a cluster has one member only, which is in one group of each attribute."""
    total = 0
    for g in range(clustering.members.shape[1]):
        total += clustering.members[k, g]
    return total <= limits.kinds.shape[1]


@part
def rarest_and_commonest(counts, scale):
    """Positions of the least and the largest scaled weight compared, ties to the lowest."""
    rare = common = -1
    for g in range(counts.size):
        if scale[g] > 0.0:
            if rare < 0 or counts[g] * scale[g] < counts[rare] * scale[rare]:
                rare = g
            if common < 0 or counts[g] * scale[g] > counts[common] * scale[common]:
                common = g
    return rare, common


@part
def binding_groups(counts, limits):
    """The rarest and the commonest group of a cluster in the scale that binds it."""
    rare, common = rarest_and_commonest(counts, limits.scales[0])
    if limits.factors.size == 1:
        return rare, common
    least = np.inf
    for s in range(limits.factors.size):
        scale = limits.scales[s]
        i, j = rarest_and_commonest(counts, scale)
        scaled = limits.factors[s] * (counts[i] * scale[i]) / (counts[j] * scale[j])
        if scaled < least:
            rare, common, least = i, j, scaled
    return rare, common
