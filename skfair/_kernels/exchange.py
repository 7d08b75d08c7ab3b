"""Exchanges of samples between clusters that lower the k-means cost and keep a balance."""

import numpy as np

from skfair._kernels import NONE, inlined, jit, part
from skfair._kernels.clustering import distance, enter, is_single, move, ratio_after

FEW = 15  # so many are sorted one by one


@part
def _exchange_bounds(distances, codes, weight, clustering, n_kinds):
    """What each sample contributes at least to the change of an exchange between two clusters.

    Exchanging p of cluster a and q of cluster c, both of weight w, changes the cost by w times ::

        h_p(c) + h_q(a) - kappa |x_p - x_q|^2,      h_p(c) = |x_p - m_c|^2 - |x_p - m_a|^2

    with kappa = w (1 / n_a + 1 / n_c). As |x_p - x_q|^2 <= 2 r_p^2 + 2 r_q^2, r the distance to
    the point halfway between the centres, h_p(c) - 2 kappa r_p^2 bounds the share of p from below.
    """
    labels, centers, sizes, counts, members = clustering
    n_clusters = sizes.size
    spreads = np.empty((n_clusters, n_clusters))
    for a in range(n_clusters):
        for c in range(n_clusters):
            spreads[a, c] = 0.25 * distance(centers[a], centers[c])
    bounds = np.empty(distances.shape)
    lowest = np.empty((n_clusters, n_clusters, n_kinds))
    lowest[:] = np.inf
    for p in range(labels.size):
        a = labels[p]
        for c in range(n_clusters):
            kappa = weight / sizes[a] + weight / sizes[c]
            halfway = 0.5 * (distances[p, a] + distances[p, c]) - spreads[a, c]
            bounds[p, c] = distances[p, c] - distances[p, a] - 2.0 * kappa * halfway
            lowest[a, c, codes[p]] = min(lowest[a, c, codes[p]], bounds[p, c])
    return bounds, lowest


@part
def _by_cluster(labels, n_clusters):
    """Positions of the samples sorted by cluster, and where each cluster starts."""
    starts = np.zeros(n_clusters + 1, np.int64)
    for k in labels:
        starts[k + 1] += 1
    ends = np.empty(n_clusters, np.int64)
    for k in range(n_clusters):
        ends[k] = starts[k]
        starts[k + 1] += starts[k]
    order = np.empty(labels.size, np.int64)
    for p in range(labels.size):
        order[ends[labels[p]]] = p
        ends[labels[p]] += 1
    return order, starts


@part
def _candidates(rows, codes, bounds, labels, a, c, g, other):
    """Which of the rows, if in cluster a and of kind g, might gain by going to c.

    ``other`` is the least that the sample exchanged for them contributes. Returns them and their
    bounds, the lowest bound first.
    """
    found = np.empty(rows.size, np.int64)
    values = np.empty(rows.size)
    n = 0
    for p in rows:
        if codes[p] == g and bounds[p, c] + other < 0.0 and labels[p] == a:
            found[n], values[n] = p, bounds[p, c]
            n += 1
    _sort(values, found, n)
    return found[:n], values[:n]


@part
def _sort(values, samples, n):
    """Sort the first n values, and the samples along with them (quicksort).

    `numpy.argsort` does the same and takes a second to compile.
    """
    waiting = np.empty((64, 2), np.int64)  # parts yet to be sorted; the larger half waits
    waiting[0, 0], waiting[0, 1] = 0, n - 1
    n_waiting = 1
    while n_waiting > 0:
        n_waiting -= 1
        low, high = waiting[n_waiting, 0], waiting[n_waiting, 1]
        while high - low >= FEW:
            middle = _split(values, samples, low, high)
            if high - middle > middle - low:
                waiting[n_waiting, 0], waiting[n_waiting, 1] = middle + 1, high
                high = middle - 1
            else:
                waiting[n_waiting, 0], waiting[n_waiting, 1] = low, middle - 1
                low = middle + 1
            n_waiting += 1
        for i in range(low + 1, high + 1):  # few: each goes down to its place
            value, sample, place = values[i], samples[i], i
            while place > low and value < values[place - 1]:
                values[place], samples[place] = values[place - 1], samples[place - 1]
                place -= 1
            values[place], samples[place] = value, sample


@part
def _split(values, samples, low, high):
    """Put those below a pivot before it and those above after it; where the pivot is then."""
    middle = (low + high) >> 1
    for i, j in ((low, middle), (middle, high), (low, middle)):  # median of three
        if values[j] < values[i]:
            _swap(values, samples, i, j)
    pivot = values[middle]
    _swap(values, samples, middle, high)
    i, j = low, high - 1
    while True:
        while i < high and values[i] < pivot:
            i += 1
        while j >= low and pivot < values[j]:
            j -= 1
        if i >= j:
            break
        _swap(values, samples, i, j)
        i += 1
        j -= 1
    _swap(values, samples, i, high)
    return i


@inlined
def _swap(values, samples, i, j):
    values[i], values[j] = values[j], values[i]
    samples[i], samples[j] = samples[j], samples[i]


@part
def _may_exchange(clustering, a, c, g, h, w, limits):
    """Whether both clusters keep the limits when a gives one of kind g for one of h from c."""
    counts, members = clustering.counts, clustering.members
    bound = limits.level * (1.0 - 1e-12)
    if g == h or bound <= 0.0:
        return True
    for k, gone, come in ((a, g, h), (c, h, g)):
        if is_single(clustering, k, limits):
            return False
        enter(counts[k], members[k], limits.kinds, come, w)
        balance = ratio_after(counts[k], members[k], gone, -w, limits)
        enter(counts[k], members[k], limits.kinds, come, -w)
        if balance < bound:
            return False
    return True


@jit
def exchange_pass(X, distances, weights, codes, clustering, limits):
    """Exchange pairs of samples between clusters where that lowers the cost.

    For equal sample weights. The limits are kept; sizes stay as they are, and so does the mix in
    an exchange within a kind. ``distances`` are those to the centres at the start: a pass that
    makes no exchange proves that none lowers the cost. Returns the number of exchanges. Changes
    ``clustering`` in place.
    """
    labels, centers, sizes, counts, members = clustering
    n_clusters, n_kinds = sizes.size, limits.kinds.shape[0]
    w = weights[0]
    bounds, lowest = _exchange_bounds(distances, codes, w, clustering, n_kinds)
    order, starts = _by_cluster(labels, n_clusters)
    n_exchanges = 0
    for a in range(n_clusters):
        for c in range(a + 1, n_clusters):
            for g in range(n_kinds):
                for h in range(n_kinds):
                    if lowest[a, c, g] + lowest[c, a, h] >= 0.0:
                        continue
                    if not _may_exchange(clustering, a, c, g, h, w, limits):
                        continue
                    rows, others = (
                        order[starts[a] : starts[a + 1]],
                        order[starts[c] : starts[c + 1]],
                    )
                    givers = _candidates(rows, codes, bounds, labels, a, c, g, lowest[c, a, h])
                    takers = _candidates(others, codes, bounds, labels, c, a, h, lowest[a, c, g])
                    n_exchanges += _exchange(
                        X, weights, codes, clustering, a, c, givers, takers, limits
                    )
    return n_exchanges


@part
def _exchange(X, weights, codes, clustering, a, c, givers, takers, limits):
    """Exchange each giver of a for the taker of c that lowers the cost most, if one does.

    Both are samples and bounds as `_candidates` returns them.
    """
    labels, centers, sizes, counts, members = clustering
    w = weights[0]
    n_exchanges = 0
    for j in range(givers[0].size):
        p = givers[0][j]
        kappa = w / sizes[a] + w / sizes[c]
        share = distance(X[p], centers[c]) - distance(X[p], centers[a])
        scale = distance(centers[a], centers[c])
        best, least = NONE, -1e-10 * scale
        for i in range(takers[0].size):
            if givers[1][j] + takers[1][i] >= 0.0:
                break
            q = takers[0][i]
            if labels[q] == c:
                change = share + distance(X[q], centers[a]) - distance(X[q], centers[c])
                change -= kappa * distance(X[p], X[q])
                if change < least:
                    best, least = q, change
        if best >= 0 and _may_exchange(clustering, a, c, codes[p], codes[best], w, limits):
            move(X, weights, codes, clustering, p, c, limits)
            move(X, weights, codes, clustering, best, a, limits)
            n_exchanges += 1
    return n_exchanges
