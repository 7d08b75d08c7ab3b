"""Local search for the normalised cut within one group: flows and exchanges between clusters."""

from typing import NamedTuple

import numpy as np

from skfair._kernels import NONE, inlined, jit, stage
from skfair._kernels.normalized_cut import EPSILON, affinity, may_leave, move, price_of, share

QUEUE_SIZE = 16  # candidates kept for every pair of clusters


class ResidualArcs(NamedTuple):
    """The residual network of one group: what its cheapest move between two clusters costs.

    Every arc, from one cluster to another, keeps a queue of its cheapest candidates.
    """

    members: np.ndarray  # (n_members,) nodes of the group
    nodes: np.ndarray  # (n_clusters, n_clusters, QUEUE_SIZE) int64, the cheapest first
    prices: np.ndarray  # the same shape: what they cost when the queue was filled
    lengths: np.ndarray  # (n_clusters, n_clusters) int64
    costs: np.ndarray  # (n_clusters, n_clusters) what the cheapest costs now, inf if there is none
    movers: np.ndarray  # (n_clusters, n_clusters) int64, which one that is


@stage
def _new_arcs(graph, partition, members):
    """Queues for all pairs of clusters, filled; no arc is priced yet."""
    n = partition.volumes.size
    arcs = ResidualArcs(
        members,
        np.empty((n, n, QUEUE_SIZE), np.int64),
        np.empty((n, n, QUEUE_SIZE)),
        np.empty((n, n), np.int64),
        np.empty((n, n)),
        np.empty((n, n), np.int64),
    )
    for a in range(n):
        _fill(graph, partition, arcs, a, NONE + 1, n)
        for b in range(n):
            arcs.costs[a, b], arcs.movers[a, b] = np.inf, NONE
    return arcs


@stage
def _fill(graph, partition, arcs, a, first, last):
    """Fill the queues from cluster a to the clusters ``first`` to ``last - 1``."""
    for b in range(first, last):
        arcs.lengths[a, b] = 0
    for i in arcs.members:
        if partition.labels[i] == a and may_leave(graph, partition, i):
            for b in range(first, last):
                if b != a:
                    _enqueue(arcs, a, b, i, price_of(graph, partition, i, b))


@inlined
def _enqueue(arcs, a, b, i, price):
    """Put node i in its place by price; the dearest drops out of a full queue."""
    nodes, prices, place = arcs.nodes[a, b], arcs.prices[a, b], arcs.lengths[a, b]
    if place < QUEUE_SIZE:
        arcs.lengths[a, b] += 1
    elif price < prices[place - 1]:
        place -= 1
    else:
        return
    while place > 0 and prices[place - 1] > price:
        nodes[place], prices[place] = nodes[place - 1], prices[place - 1]
        place -= 1
    nodes[place], prices[place] = i, price


# Flows --------------------------------------------------------------------------------


@jit
def repair(graph, partition, bounds, members):
    """Bring the counts of one group within the bounds, along successive cheapest paths.

    The clusters are the nodes of a network in which the arc from a to b costs what the cheapest
    move of a member costs. Each path takes one member from a cluster with too many to one with too
    few, through others where that is cheaper; then the arcs that it touched are priced anew.
    Returns the number of paths; the bounds are met then, unless no path was left.
    """
    n_clusters, g = partition.volumes.size, graph.groups[members[0]]
    arcs = _new_arcs(graph, partition, members)
    for a in range(n_clusters):
        for b in range(n_clusters):
            _price_arc(graph, partition, arcs, a, b)
    path = np.empty(n_clusters, np.int64)
    sources, sinks = np.empty(n_clusters, np.bool_), np.empty(n_clusters, np.bool_)
    n_paths = 0
    while True:
        _mark_ends(partition.counts, bounds, g, sources, sinks)
        length = _cheapest_path(arcs.costs, sources, sinks, path)
        if length == 0:
            return n_paths
        for e in range(length - 1):
            move(graph, partition, arcs.movers[path[e], path[e + 1]], path[e + 1])
        for e in range(length):
            for c in range(n_clusters):
                _price_arc(graph, partition, arcs, path[e], c)
                _price_arc(graph, partition, arcs, c, path[e])
        n_paths += 1


@stage
def _mark_ends(counts, bounds, g, sources, sinks):
    """Mark where a path may start and end.

    A cluster with too many is a start and one with too few an end; while there is only one of the
    two, whoever can give or take serves as the other.
    """
    n_over = n_under = 0
    for k in range(sources.size):
        n_over += counts[k, g] > bounds.upper[k, g]
        n_under += counts[k, g] < bounds.lower[k, g]
    for k in range(sources.size):
        lower, upper = bounds.lower[k, g], bounds.upper[k, g]
        sources[k] = counts[k, g] > (lower if n_over == 0 and n_under > 0 else upper)
        sinks[k] = counts[k, g] < (upper if n_under == 0 and n_over > 0 else lower)


@stage
def _price_arc(graph, partition, arcs, a, b):
    """Price the arc from a to b by its queue, which is filled again once all in it have left."""
    if a == b:
        return
    best, least = _cheapest_queued(graph, partition, arcs, a, b)
    if best < 0 and partition.counts[a, graph.groups[arcs.members[0]]] > 0:
        _fill(graph, partition, arcs, a, b, b + 1)
        best, least = _cheapest_queued(graph, partition, arcs, a, b)
    arcs.costs[a, b], arcs.movers[a, b] = least, best


@stage
def _cheapest_queued(graph, partition, arcs, a, b):
    """The queued node whose move from a to b costs least now, and what it costs."""
    best, least = NONE, np.inf
    for q in range(arcs.lengths[a, b]):
        i = arcs.nodes[a, b, q]
        if partition.labels[i] == a and may_leave(graph, partition, i):
            price = price_of(graph, partition, i, b)
            if price < least:
                best, least = i, price
    return best, least


@stage
def _cheapest_path(costs, sources, sinks, path):
    """Cheapest simple path from a source to a sink (Bellman and Ford); its length, 0 if none.

    Costs may be negative, even around a cycle; so no path may come back to its own clusters.
    """
    n_clusters = costs.shape[0]
    distances = np.empty(n_clusters)
    parents = np.empty(n_clusters, np.int64)
    for k in range(n_clusters):
        distances[k], parents[k] = 0.0 if sources[k] else np.inf, -1
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
    end, least = -1, np.inf
    for k in range(n_clusters):
        if sinks[k] and distances[k] < least:
            end, least = k, distances[k]
    length, k = 0, end
    while k >= 0:
        length += 1
        k = parents[k]
    k = end
    for place in range(length - 1, -1, -1):
        path[place] = k
        k = parents[k]
    return length


@stage
def _is_ancestor(parents, b, a):
    """Whether the path to a runs through b."""
    while a >= 0 and a != b:
        a = parents[a]
    return a == b


# Exchanges ----------------------------------------------------------------------------


@jit
def exchange_pass(graph, partition, members):
    """Exchange members of one group between clusters where that lowers the cut; counts stay.

    Candidates are the members whose single moves cost least. Returns the number of exchanges.
    """
    n_clusters = partition.volumes.size
    arcs = _new_arcs(graph, partition, members)
    n_exchanges = 0
    for a in range(n_clusters):
        for b in range(a + 1, n_clusters):
            while _exchange(graph, partition, arcs, a, b):
                n_exchanges += 1
    return n_exchanges


@stage
def _exchange(graph, partition, arcs, a, b):
    """Make the best exchange between the queues of two clusters, if one lowers the cut."""
    best_i, best_j, least = NONE, NONE, -EPSILON
    for p in range(arcs.lengths[a, b]):
        i = arcs.nodes[a, b, p]
        if partition.labels[i] != a or not may_leave(graph, partition, i):
            continue
        for q in range(arcs.lengths[b, a]):
            if arcs.prices[a, b, p] + arcs.prices[b, a, q] >= 0.0:
                break
            j = arcs.nodes[b, a, q]
            if partition.labels[j] == b and may_leave(graph, partition, j):
                price = _exchange_price(graph, partition, i, j, least)
                if price < least:
                    best_i, best_j, least = i, j, price
    if best_i < 0:
        return False
    move(graph, partition, best_i, b)
    move(graph, partition, best_j, a)
    return True


@inlined
def _exchange_price(graph, partition, i, j, limit):
    """Change of the normalised cut when i and j change places; exact where below the limit.

    The affinity of the two to each other, which is lost on both sides, is looked up only if the
    price without it is below the limit.
    """
    labels, links, within, volumes, _ = partition
    a, b = labels[i], labels[j]
    loops, growth = graph.loops[i] + graph.loops[j], graph.degrees[j] - graph.degrees[i]
    va, vb = volumes[a], volumes[b]
    wa = within[a] + 2.0 * (links[j, a] - links[i, a]) + loops
    wb = within[b] + 2.0 * (links[i, b] - links[j, b]) + loops
    before = share(within[a], va) + share(within[b], vb)
    price = before - share(wa, va + growth) - share(wb, vb - growth)
    if price < limit:
        lost = 2.0 * affinity(graph, i, j)
        price = before - share(wa - lost, va + growth) - share(wb - lost, vb - growth)
    return price
