"""Local search for the normalised cut within one group: flows and exchanges between clusters."""

from typing import NamedTuple

import numpy as np

from skfair._kernels import NO_INDEX, deferred_helper, inline_helper, jit
from skfair._kernels.normalized_cut import EPSILON, affinity, may_leave, move, move_cost, share

QUEUE_SIZE = 16  # candidates kept for every pair of clusters


class ResidualArcs(NamedTuple):
    """The residual network of one group, whose arcs are the cheapest moves between two clusters.

    Every arc keeps a queue of its cheapest candidates.
    """

    members: np.ndarray  # (n_members,) nodes of the group
    nodes: np.ndarray  # (n_clusters, n_clusters, QUEUE_SIZE) int64, the cheapest first
    queued_costs: np.ndarray  # the same shape: their costs when the queue was filled
    lengths: np.ndarray  # (n_clusters, n_clusters) int64
    costs: np.ndarray  # (n_clusters, n_clusters) current cost of the cheapest, inf if there is none
    movers: np.ndarray  # (n_clusters, n_clusters) int64, the cheapest node


@deferred_helper
def _new_arcs(graph, clustering, members):
    """Filled queues for all pairs of clusters; the costs of the arcs are not yet computed."""
    n = clustering.volumes.size
    arcs = ResidualArcs(
        members,
        np.empty((n, n, QUEUE_SIZE), np.int64),
        np.empty((n, n, QUEUE_SIZE)),
        np.empty((n, n), np.int64),
        np.empty((n, n)),
        np.empty((n, n), np.int64),
    )
    for a in range(n):
        _fill_queues(graph, clustering, arcs, a, NO_INDEX + 1, n)
        for b in range(n):
            arcs.costs[a, b], arcs.movers[a, b] = np.inf, NO_INDEX
    return arcs


@deferred_helper
def _fill_queues(graph, clustering, arcs, a, first, last):
    """Fill the queues from cluster a to the clusters ``first`` to ``last - 1``."""
    for b in range(first, last):
        arcs.lengths[a, b] = 0
    for i in arcs.members:
        if clustering.labels[i] == a and may_leave(graph, clustering, i):
            for b in range(first, last):
                if b != a:
                    _enqueue(arcs, a, b, i, move_cost(graph, clustering, i, b))


@inline_helper
def _enqueue(arcs, a, b, i, cost):
    """Insert node i by cost; the most expensive node leaves a full queue."""
    nodes, queued_costs, position = arcs.nodes[a, b], arcs.queued_costs[a, b], arcs.lengths[a, b]
    if position < QUEUE_SIZE:
        arcs.lengths[a, b] += 1
    elif cost < queued_costs[position - 1]:
        position -= 1
    else:
        return
    while position > 0 and queued_costs[position - 1] > cost:
        nodes[position], queued_costs[position] = nodes[position - 1], queued_costs[position - 1]
        position -= 1
    nodes[position], queued_costs[position] = i, cost


# Flows --------------------------------------------------------------------------------


@jit
def repair_counts(graph, clustering, bounds, members):
    """Bring the counts of one group within the bounds, along successive cheapest paths.

    The clusters are the nodes of a network in which the arc from a to b has the cost of the
    cheapest move of a member. Each path takes one member from a cluster with too many to one with
    too few, through others where that is cheaper. Then the costs of the arcs of its clusters are
    updated. Returns the number of paths; the bounds hold then, unless no path was left.
    """
    n_clusters, g = clustering.volumes.size, graph.groups[members[0]]
    arcs = _new_arcs(graph, clustering, members)
    for a in range(n_clusters):
        for b in range(n_clusters):
            _update_arc_cost(graph, clustering, arcs, a, b)
    path = np.empty(n_clusters, np.int64)
    sources, sinks = np.empty(n_clusters, np.bool_), np.empty(n_clusters, np.bool_)
    n_paths = 0
    while True:
        # Cheapest path from a surplus to a deficit.
        _mark_ends(clustering.counts, bounds, g, sources, sinks)
        length = _cheapest_path(arcs.costs, sources, sinks, path)
        if length == 0:
            return n_paths
        # Move one member along each arc, then update the arcs of these clusters.
        for e in range(length - 1):
            move(graph, clustering, arcs.movers[path[e], path[e + 1]], path[e + 1])
        for e in range(length):
            for c in range(n_clusters):
                _update_arc_cost(graph, clustering, arcs, path[e], c)
                _update_arc_cost(graph, clustering, arcs, c, path[e])
        n_paths += 1


@deferred_helper
def _mark_ends(counts, bounds, g, sources, sinks):
    """Mark where a path may start and end.

    A cluster with too many members is a source and one with too few a sink. If there are only
    sources, every cluster below its upper bound is a sink, and the other way round.
    """
    n_over = n_under = 0
    for k in range(sources.size):
        n_over += counts[k, g] > bounds.upper[k, g]
        n_under += counts[k, g] < bounds.lower[k, g]
    for k in range(sources.size):
        lower, upper = bounds.lower[k, g], bounds.upper[k, g]
        sources[k] = counts[k, g] > (lower if n_over == 0 and n_under > 0 else upper)
        sinks[k] = counts[k, g] < (upper if n_under == 0 and n_over > 0 else lower)


@deferred_helper
def _update_arc_cost(graph, clustering, arcs, a, b):
    """Update the cost of the arc from a to b; its queue is refilled once all nodes have left."""
    if a == b:
        return
    best, least = _find_cheapest_queued(graph, clustering, arcs, a, b)
    if best < 0 and clustering.counts[a, graph.groups[arcs.members[0]]] > 0:
        _fill_queues(graph, clustering, arcs, a, b, b + 1)
        best, least = _find_cheapest_queued(graph, clustering, arcs, a, b)
    arcs.costs[a, b], arcs.movers[a, b] = least, best


@deferred_helper
def _find_cheapest_queued(graph, clustering, arcs, a, b):
    """The queued node of minimum current cost from a to b, and the cost."""
    best, least = NO_INDEX, np.inf
    for q in range(arcs.lengths[a, b]):
        i = arcs.nodes[a, b, q]
        if clustering.labels[i] == a and may_leave(graph, clustering, i):
            cost = move_cost(graph, clustering, i, b)
            if cost < least:
                best, least = i, cost
    return best, least


@deferred_helper
def _cheapest_path(costs, sources, sinks, path):
    """Cheapest simple path from a source to a sink (Bellman and Ford); its length, 0 if none.

    Costs may be negative, even around a cycle; so no path may come back to its own clusters.
    """
    n_clusters = costs.shape[0]
    distances = np.empty(n_clusters)
    parents = np.empty(n_clusters, np.int64)
    for k in range(n_clusters):
        distances[k], parents[k] = 0.0 if sources[k] else np.inf, -1
    # Relax all arcs until nothing changes.
    for _ in range(n_clusters):
        changed = False
        for a in range(n_clusters):
            for b in range(n_clusters):
                distance = distances[a] + costs[a, b]
                if distance < distances[b] - EPSILON and not _is_ancestor(parents, b, a):
                    distances[b], parents[b] = distance, a
                    changed = True
        if not changed:
            break
    # Nearest sink, and the path back from it.
    end, least = -1, np.inf
    for k in range(n_clusters):
        if sinks[k] and distances[k] < least:
            end, least = k, distances[k]
    length, k = 0, end
    while k >= 0:
        length += 1
        k = parents[k]
    k = end
    for position in range(length - 1, -1, -1):
        path[position] = k
        k = parents[k]
    return length


@deferred_helper
def _is_ancestor(parents, b, a):
    """Whether the path to a runs through b."""
    while a >= 0 and a != b:
        a = parents[a]
    return a == b


# Exchanges ----------------------------------------------------------------------------


@jit
def exchange_pass(graph, clustering, members):
    """Exchange members of one group between clusters where that lowers the cut; counts are kept.

    Candidates are the members of cheapest single moves. Returns the number of exchanges.
    """
    n_clusters = clustering.volumes.size
    arcs = _new_arcs(graph, clustering, members)
    n_exchanges = 0
    for a in range(n_clusters):
        for b in range(a + 1, n_clusters):
            while _exchange(graph, clustering, arcs, a, b):
                n_exchanges += 1
    return n_exchanges


@deferred_helper
def _exchange(graph, clustering, arcs, a, b):
    """Make the best exchange between the queues of two clusters, if one lowers the cut."""
    best_i, best_j, least = NO_INDEX, NO_INDEX, -EPSILON
    for p in range(arcs.lengths[a, b]):
        i = arcs.nodes[a, b, p]
        if clustering.labels[i] != a or not may_leave(graph, clustering, i):
            continue
        for q in range(arcs.lengths[b, a]):
            if arcs.queued_costs[a, b, p] + arcs.queued_costs[b, a, q] >= 0.0:
                break
            j = arcs.nodes[b, a, q]
            if clustering.labels[j] == b and may_leave(graph, clustering, j):
                cost = _exchange_cost(graph, clustering, i, j, least)
                if cost < least:
                    best_i, best_j, least = i, j, cost
    if best_i < 0:
        return False
    move(graph, clustering, best_i, b)
    move(graph, clustering, best_j, a)
    return True


@inline_helper
def _exchange_cost(graph, clustering, i, j, limit):
    """Change of the normalised cut if i and j swap clusters; exact where below the limit.

    The affinity of the two to each other, which is lost on both sides, is only looked up if the
    cost without it is below the limit.
    """
    labels, links, within, volumes, _ = clustering
    a, b = labels[i], labels[j]
    loops, growth = graph.loops[i] + graph.loops[j], graph.degrees[j] - graph.degrees[i]
    va, vb = volumes[a], volumes[b]
    wa = within[a] + 2.0 * (links[j, a] - links[i, a]) + loops
    wb = within[b] + 2.0 * (links[i, b] - links[j, b]) + loops
    before = share(within[a], va) + share(within[b], vb)
    cost = before - share(wa, va + growth) - share(wb, vb - growth)
    if cost < limit:
        lost = 2.0 * affinity(graph, i, j)
        cost = before - share(wa - lost, va + growth) - share(wb - lost, vb - growth)
    return cost
