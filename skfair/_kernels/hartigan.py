"""Passes of single moves that lower the k-means cost and keep a balance (Hartigan, 1975)."""

import numpy as np

from skfair._kernels import NONE, inlined, jit
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
    for p in range(labels.size):
        if (
            _is_attracted(distances[p], sizes, labels[p], masses[p])
            and _cheapest_move(distances[p], masses, weights, codes, clustering, p, limits) >= 0
        ):
            for k in range(sizes.size):
                row[k] = distance(X[p], centers[k])
            best = _cheapest_move(row, masses, weights, codes, clustering, p, limits)
            if best >= 0:
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
    n_found = 0
    for p in range(labels.size):
        if (
            _is_attracted(distances[p], sizes, labels[p], masses[p])
            and _cheapest_move(distances[p], masses, weights, codes, clustering, p, limits) >= 0
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
def _cheapest_move(distances, masses, weights, codes, clustering, p, limits):
    """Cluster that sample p should move to, -1 where no allowed move lowers the cost.

    ``distances`` are those of sample p to all centres.
    """
    labels, centers, sizes, counts, members = clustering
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
                if bound > 0.0 and ratio_after(counts[a], members[a], g, -counted, limits) < bound:
                    return -1
                leaves = True
            if sizes_allow(sizes, a, k, w, limits) and (
                bound <= 0.0 or ratio_after(counts[k], members[k], g, counted, limits) >= bound
            ):
                best, least = k, change(distances[k], distances[a], sizes[k], sizes[a], w)
    return best
