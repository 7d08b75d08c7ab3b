"""Passes of single moves that lower the k-means cost and keep a balance (Hartigan, 1975)."""

import numpy as np

from skfair._kernels import NO_INDEX, inline_helper
from skfair._kernels._interpreted import interpret_at_first
from skfair._kernels.clustering import change, distance, may_leave, move
from skfair._kernels.limits import allows_change


@interpret_at_first(lambda X, distances, *_: distances.size)
def hartigan_pass(X, distances, masses, weights, codes, clustering, limits):
    """Move each sample to the cluster of minimum cost, within the limits.

    ``distances`` are those to the centres at the start. They select the samples that are checked
    again at the current centres, so a pass without a move proves that no move lowers the cost.
    Returns the number of moves. Changes ``clustering`` in place.
    """
    labels, centers, sizes, counts, members = clustering
    n_moves = 0
    row = np.empty(sizes.size)
    checked = np.full((2, limits.intersections.shape[0], sizes.size), np.nan)
    cache = checked, np.empty(checked.shape, np.bool_)
    for p in range(labels.size):
        if (
            _is_attracted(distances[p], sizes, labels[p], masses[p])
            and _cheapest_move(distances[p], masses, weights, codes, clustering, p, limits, cache)
            >= 0
        ):
            # Check the candidate again at the current centres, which earlier moves have changed.
            for k in range(sizes.size):
                row[k] = distance(X[p], centers[k])
            best = _cheapest_move(row, masses, weights, codes, clustering, p, limits, cache)
            if best >= 0:
                checked[:, :, labels[p]] = checked[:, :, best] = np.nan
                move(X, masses, weights, codes, clustering, p, best, limits)
                n_moves += 1
    return n_moves


def find_movers(distances, masses, weights, codes, clustering, limits):
    """Indices of the samples of which a single allowed move lowers the cost."""
    movers = np.empty(len(weights), np.intp)
    n_movers = _find_movers(distances, masses, weights, codes, clustering, limits, movers)
    return movers[:n_movers]


@interpret_at_first(lambda distances, *_: distances.size)
def _find_movers(distances, masses, weights, codes, clustering, limits, movers):
    labels, _, sizes, _, _ = clustering
    checked = np.full((2, limits.intersections.shape[0], sizes.size), np.nan)
    cache = checked, np.empty(checked.shape, np.bool_)
    n_movers = 0
    for p in range(labels.size):
        if (
            _is_attracted(distances[p], sizes, labels[p], masses[p])
            and _cheapest_move(distances[p], masses, weights, codes, clustering, p, limits, cache)
            >= 0
        ):
            movers[n_movers] = p
            n_movers += 1
    return n_movers


@inline_helper
def _is_attracted(distances, sizes, a, mass):
    """Whether a sample of cluster a, at these distances, would cost less in another cluster."""
    attractive = 0
    if sizes[a] > mass:
        leaving = distances[a] * sizes[a] / (sizes[a] - mass)
        for k in range(sizes.size):
            attractive += distances[k] * sizes[k] < leaving * (sizes[k] + mass)
    # The sample's cluster always counts; for most samples it is the only one.
    return attractive > 1


@inline_helper
def _cheapest_move(distances, masses, weights, codes, clustering, p, limits, cache):
    """Cluster that sample p should move to, -1 where no allowed move lowers the cost.

    ``distances`` are those of sample p to all centres. ``cache`` has the weight last checked, and
    whether the cluster keeps the limits, by joining or leaving, intersection and cluster.
    """
    (labels, _, sizes, _, _), (checked, allowed) = clustering, cache
    a, g, w, weight = labels[p], codes[p], masses[p], weights[p]
    if sizes[a] <= w:
        return -1
    # Destinations by cost; whether a cluster keeps the limits is checked for cheaper ones only.
    is_limited = limits.level > 0.0 or limits.bounds.size > 0
    best, least = NO_INDEX, -1e-12 * w * distances[a]
    leaves = False
    counts, members = clustering.counts, clustering.members
    for k in range(sizes.size):
        if k != a and change(distances[k], distances[a], sizes[k], sizes[a], w) < least:
            if not leaves:
                if not may_leave(clustering, p, w, limits):
                    return -1
                if is_limited:
                    if checked[1, g, a] != weight:
                        checked[1, g, a] = weight
                        allowed[1, g, a] = allows_change(counts[a], members[a], g, -weight, limits)
                    if not allowed[1, g, a]:
                        return -1
                leaves = True
            if is_limited and checked[0, g, k] != weight:
                checked[0, g, k] = weight
                allowed[0, g, k] = allows_change(counts[k], members[k], g, weight, limits)
            if not is_limited or allowed[0, g, k]:
                best, least = k, change(distances[k], distances[a], sizes[k], sizes[a], w)
    return best
