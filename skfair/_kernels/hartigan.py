"""Passes of single moves that lower the k-means cost and keep a balance (Hartigan, 1975)."""

import numpy as np

from skfair._kernels import NONE, inlined, jit, stage
from skfair._kernels.clustering import (
    change,
    distance,
    may_leave,
    move,
    ratio_after,
    sizes_allow,
)


@jit
def hartigan_pass(X, distances, masses, weights, codes, clustering, limits):
    """Move each sample to where it costs least, within the limits.

    ``distances`` are those to the centres at the start. They pick the samples that are looked at
    again at the centres of their turn; so a pass without a move proves that no move lowers the
    cost. Returns the number of moves. Changes ``clustering`` in place.
    """
    labels, centers, sizes, counts, members = clustering
    n_moves = 0
    row = np.empty(sizes.size)
    asked = np.full((2, limits.kinds.shape[0], sizes.size), np.nan)
    known = asked, np.empty(asked.shape, np.bool_)
    for p in range(labels.size):
        if (
            _is_attracted(distances[p], sizes, labels[p], masses[p])
            and _cheapest_move(distances[p], masses, weights, codes, clustering, p, limits, known)
            >= 0
        ):
            for k in range(sizes.size):
                row[k] = distance(X[p], centers[k])
            best = _cheapest_move(row, masses, weights, codes, clustering, p, limits, known)
            if best >= 0:
                asked[:, :, labels[p]] = asked[:, :, best] = np.nan
                move(X, masses, weights, codes, clustering, p, best, limits)
                n_moves += 1
    return n_moves


def might_move(distances, masses, weights, codes, clustering, limits):
    """Positions of the samples that an allowed move of their own would make cheaper."""
    found = np.empty(len(weights), np.intp)
    n_found = _find_movers(distances, masses, weights, codes, clustering, limits, found)
    return found[:n_found]


@jit
def _find_movers(distances, masses, weights, codes, clustering, limits, found):
    labels, _, sizes, _, _ = clustering
    asked = np.full((2, limits.kinds.shape[0], sizes.size), np.nan)
    known = asked, np.empty(asked.shape, np.bool_)
    n_found = 0
    for p in range(labels.size):
        if (
            _is_attracted(distances[p], sizes, labels[p], masses[p])
            and _cheapest_move(distances[p], masses, weights, codes, clustering, p, limits, known)
            >= 0
        ):
            found[n_found] = p
            n_found += 1
    return n_found


@inlined
def _is_attracted(distances, sizes, a, mass):
    """Whether a sample of cluster a, at these distances to all, would be cheaper elsewhere."""
    attractive = 0
    if sizes[a] > mass:
        leaving = distances[a] * sizes[a] / (sizes[a] - mass)
        for k in range(sizes.size):
            attractive += distances[k] * sizes[k] < leaving * (sizes[k] + mass)
    # Its own cluster is always attractive; for most samples it is the only one.
    return attractive > 1


@inlined
def _cheapest_move(distances, masses, weights, codes, clustering, p, limits, known):
    """Cluster that sample p should move to, -1 where no allowed move lowers the cost.

    ``distances`` are those of sample p to all centres. Whether a cluster keeps its mix once a
    sample joins it, or leaves it, is asked once for a kind and weight: ``known`` are
    the weight that was asked for, and the answer, by joining or leaving, kind and cluster.
    """
    (labels, _, sizes, _, _), (asked, may) = clustering, known
    a, g, w, counted = labels[p], codes[p], masses[p], weights[p]
    if sizes[a] <= w:
        return -1
    bound = limits.level * (1.0 - 1e-12)
    best, least = NONE, -1e-12 * w * distances[a]
    leaves = False
    for k in range(sizes.size):
        if k != a and change(distances[k], distances[a], sizes[k], sizes[a], w) < least:
            if not leaves:
                if not may_leave(clustering, p, w, limits):
                    return -1
                if bound > 0.0:
                    if asked[1, g, a] != counted:
                        asked[1, g, a] = counted
                        may[1, g, a] = _keeps_mix(clustering, a, g, -counted, limits)
                    if not may[1, g, a]:
                        return -1
                leaves = True
            if bound > 0.0 and asked[0, g, k] != counted:
                asked[0, g, k] = counted
                may[0, g, k] = _keeps_mix(clustering, k, g, counted, limits)
            if (bound <= 0.0 or may[0, g, k]) and sizes_allow(sizes, a, k, w, limits):
                best, least = k, change(distances[k], distances[a], sizes[k], sizes[a], w)
    return best


@stage
def _keeps_mix(clustering, k, kind, change, limits):
    """Whether cluster k keeps the level once a sample of a kind has come, or has gone."""
    counts, members = clustering.counts[k], clustering.members[k]
    return ratio_after(counts, members, kind, change, limits) >= limits.level * (1.0 - 1e-12)
