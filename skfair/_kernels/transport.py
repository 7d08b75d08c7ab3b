"""Members of a group go between clusters until each has as many as it should, at the least cost."""

import numpy as np

from skfair._kernels import jit, part


@jit
def transport(distances, members, labels, surplus):
    """Move members along the cheapest paths from clusters with too many to those with too few.

    A path of clusters moves one member along each of its arcs, whose cost is the least
    ``distances[p, b] - distances[p, a]`` of a member p of a. If no exchange within the group lowers
    the cost at first, none does afterwards (successive shortest paths). Stops where no path is
    left, as where the ``members`` that may move are in other clusters. Changes ``labels``, those of
    all samples, and ``surplus``, (n_clusters,) int64 of sum 0, in place; returns the number of
    moves. ``distances`` are those of the members.
    """
    n_clusters = surplus.size
    costs, carriers = (
        np.empty((n_clusters, n_clusters)),
        np.empty((n_clusters, n_clusters), np.int64),
    )
    lengths, previous = np.empty(n_clusters), np.empty(n_clusters, np.int64)
    stale = np.ones(n_clusters, np.bool_)
    n_moves = 0
    while True:
        _price_arcs(distances, members, labels, stale, costs, carriers)
        stale[:] = False
        end = _shortest_paths(costs, surplus, lengths, previous)
        if end < 0:
            break
        surplus[end] += 1
        while previous[end] >= 0:
            start = previous[end]
            labels[members[carriers[start, end]]] = end
            stale[start] = stale[end] = True
            n_moves += 1
            end = start
        surplus[end] -= 1
    return n_moves


@part
def _price_arcs(distances, members, labels, stale, costs, carriers):
    """The cheapest move out of each stale cluster into every other one, and who makes it."""
    n_clusters = stale.size
    for a in range(n_clusters):
        if stale[a]:
            costs[a, :] = np.inf
    for r in range(members.size):
        a = labels[members[r]]
        if stale[a]:
            for b in range(n_clusters):
                cost = distances[r, b] - distances[r, a]
                if cost < costs[a, b]:
                    costs[a, b], carriers[a, b] = cost, r
    for a in range(n_clusters):
        costs[a, a] = np.inf


@part
def _shortest_paths(costs, surplus, lengths, previous):
    """Bellman and Ford, from all clusters with a surplus.

    Returns the nearest cluster that lacks members, -1 if none can be reached; ``previous`` leads
    back from it.
    """
    n_clusters = surplus.size
    for k in range(n_clusters):
        lengths[k] = 0.0 if surplus[k] > 0 else np.inf
        previous[k] = -1
    for _ in range(n_clusters - 1):
        for a in range(n_clusters):
            for b in range(n_clusters):
                length = lengths[a] + costs[a, b]
                if length == np.inf:
                    continue
                if length < lengths[b] - 1e-12 * abs(length) and not _leads_to(previous, a, b):
                    lengths[b], previous[b] = length, a
    nearest, end = np.inf, -1
    for k in range(n_clusters):
        if surplus[k] < 0 and lengths[k] < nearest:
            nearest, end = lengths[k], k
    return end


@part
def _leads_to(previous, a, b):
    """Whether the path to cluster a passes b: going on from a to b would then close a circle."""
    while a >= 0:
        if a == b:
            return True
        a = previous[a]
    return False
