"""Moves of the members of a group between clusters to required counts, at minimum cost."""

import numpy as np

from skfair._kernels import helper, jit


@jit
def transport(distances, members, labels, surplus):
    """Move members along the cheapest paths from clusters with too many to those with too few.

    A path moves one member along each of its arcs. The cost of an arc from a to b is the minimum
    of ``distances[p, b] - distances[p, a]`` over members p of a. If no exchange within the group
    lowers the cost at first, none does afterwards (successive shortest paths). Stops where no path
    is left, for example because the ``members`` that may move are in other clusters. Changes
    ``labels`` (of all samples) and ``surplus``, (n_clusters,) int64 of sum 0, in place. Returns
    the number of moves. ``distances`` are those of the members.
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
        # Costs of the arcs of changed clusters, and the cheapest path.
        _update_arc_costs(distances, members, labels, stale, costs, carriers)
        stale[:] = False
        end = _shortest_paths(costs, surplus, lengths, previous)
        if end < 0:
            break
        # Move one member along each arc of the path, last arc first.
        surplus[end] += 1
        while previous[end] >= 0:
            start = previous[end]
            labels[members[carriers[start, end]]] = end
            stale[start] = stale[end] = True
            n_moves += 1
            end = start
        surplus[end] -= 1
    return n_moves


@helper
def _update_arc_costs(distances, members, labels, stale, costs, carriers):
    """The cheapest move from each stale cluster to every other one, and its member."""
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


@helper
def _shortest_paths(costs, surplus, lengths, previous):
    """Shortest paths from all clusters with a surplus (Bellman and Ford).

    Returns the nearest cluster that lacks members, -1 if there is no path to one. ``previous``
    has the predecessors on the paths.
    """
    n_clusters = surplus.size
    for k in range(n_clusters):
        lengths[k] = 0.0 if surplus[k] > 0 else np.inf
        previous[k] = -1
    # Relax all arcs.
    for _ in range(n_clusters - 1):
        for a in range(n_clusters):
            for b in range(n_clusters):
                length = lengths[a] + costs[a, b]
                if length == np.inf:
                    continue
                if length < lengths[b] - 1e-12 * abs(length) and not _path_contains(previous, a, b):
                    lengths[b], previous[b] = length, a
    nearest, end = np.inf, -1
    for k in range(n_clusters):
        if surplus[k] < 0 and lengths[k] < nearest:
            nearest, end = lengths[k], k
    return end


@helper
def _path_contains(previous, a, b):
    """Whether the path to cluster a contains b, so that an arc from a to b would close a cycle."""
    while a >= 0:
        if a == b:
            return True
        a = previous[a]
    return False
