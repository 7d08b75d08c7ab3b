r"""Local search for the normalised cut: moves, exchanges within groups, flows between clusters.

With W_k the affinity inside cluster k and V_k its volume (the sum of its degrees), the normalised
cut of K clusters is ::

    K - sum_k W_k / V_k.

When node i of degree d, with affinity s to itself and L_k to the nodes of cluster k, goes from
cluster a to b, W_a falls by 2 L_a - s, W_b rises by 2 L_b + s, V_a falls and V_b rises by d. With
the table of all L at hand the change costs O(1), and a move updates the rows of the neighbours.
"""

from typing import NamedTuple

import numba
import numpy as np

from skfair._kernels import jit

QUEUE_SIZE = 16  # candidates kept for every pair of clusters
EPSILON = 1e-10  # a change of the normalised cut below this is rounding error

# Called once per candidate: passing the structs would take longer than the work itself.
inline = numba.njit(forceinline=True)


class Graph(NamedTuple):
    """A symmetric affinity of n nodes: stored rows, sparse or dense, or a Gaussian kernel.

    Row i has ``sizes[i]`` stored entries, ``values[starts[i]:]``, in the ascending columns
    ``columns[column_starts[i]:]`` (so that the rows of a dense array share one list of columns).
    """

    columns: np.ndarray  # (n_entries,) or (n,) int
    values: np.ndarray  # (n_entries,); empty for a kernel
    column_starts: np.ndarray  # (n,) int64
    starts: np.ndarray  # (n,) int64
    sizes: np.ndarray  # (n,) int64
    degrees: np.ndarray  # (n,) sums of the rows, 0 for isolated nodes
    loops: np.ndarray  # (n,) the diagonal
    points: np.ndarray  # (n, n_features) of a kernel; (0, 0) where rows are stored
    gamma: float
    groups: np.ndarray  # (n,) group of each node
    row: np.ndarray  # (n,) room for one row of a kernel; empty where rows are stored


class Partition(NamedTuple):
    """Nodes in clusters, which single moves change in place."""

    labels: np.ndarray  # (n,) int32
    links: np.ndarray  # (n, n_clusters) affinity of a node to the nodes of a cluster
    within: np.ndarray  # (n_clusters,) sum of the affinities inside
    volumes: np.ndarray  # (n_clusters,) sum of the degrees
    counts: np.ndarray  # (n_clusters, n_groups) int64


class Bounds(NamedTuple):
    """How many members of each group a cluster may have."""

    lower: np.ndarray  # (n_clusters, n_groups) int64
    upper: np.ndarray  # (n_clusters, n_groups) int64


class Market(NamedTuple):
    """The cheapest moves of one group's members between each pair of clusters."""

    members: np.ndarray  # (n_members,) nodes of the group
    nodes: np.ndarray  # (n_clusters, n_clusters, QUEUE_SIZE) int64, the cheapest first
    prices: np.ndarray  # the same shape: what they cost when the queue was filled
    lengths: np.ndarray  # (n_clusters, n_clusters) int64
    costs: np.ndarray  # (n_clusters, n_clusters) what the cheapest costs now, inf if there is none
    carriers: np.ndarray  # (n_clusters, n_clusters) int64, which one that is


@inline
def _share(within, volume):
    """W / V; a cluster of isolated nodes cuts nothing."""
    return within / volume if volume > 0.0 else 1.0


@jit
def ncut_of(partition):
    """The normalised cut."""
    cut = 0.0
    for k in range(partition.volumes.size):
        cut += 1.0 - _share(partition.within[k], partition.volumes[k])
    return cut


@inline
def _price(graph, partition, i, b):
    """Change of the normalised cut by the move of node i to cluster b."""
    a, d, s = partition.labels[i], graph.degrees[i], graph.loops[i]
    wa, va = partition.within[a], partition.volumes[a]
    wb, vb = partition.within[b], partition.volumes[b]
    leaving = _share(wa, va) - _share(wa - 2.0 * partition.links[i, a] + s, va - d)
    joining = _share(wb, vb) - _share(wb + 2.0 * partition.links[i, b] + s, vb + d)
    return leaving + joining


@inline
def _may_leave(graph, partition, i):
    """Whether the cluster of node i keeps a volume; isolated nodes have none to take away."""
    d = graph.degrees[i]
    return d == 0.0 or partition.volumes[partition.labels[i]] > d * (1.0 + 1e-9)


@jit
def _shift(graph, partition, i, a, b):
    """Move the affinities to node i from column a to column b of the links."""
    links = partition.links
    if graph.points.shape[0] > 0:
        for j in range(graph.points.shape[0]):
            graph.row[j] = _kernel(graph, i, j)
        for j in range(graph.row.size):
            links[j, a] -= graph.row[j]
            links[j, b] += graph.row[j]
    else:
        first, start = graph.column_starts[i], graph.starts[i]
        for e in range(graph.sizes[i]):
            j, w = graph.columns[first + e], graph.values[start + e]
            links[j, a] -= w
            links[j, b] += w


@inline
def _kernel(graph, i, j):
    distance = 0.0
    for f in range(graph.points.shape[1]):
        gap = graph.points[i, f] - graph.points[j, f]
        distance += gap * gap
    return np.exp(-graph.gamma * distance)


@jit
def _affinity(graph, i, j):
    """One entry of the affinity."""
    if graph.points.shape[0] > 0:
        return _kernel(graph, i, j)
    first = graph.column_starts[i]
    e = np.searchsorted(graph.columns[first : first + graph.sizes[i]], j)
    if e < graph.sizes[i] and graph.columns[first + e] == j:
        return float(graph.values[graph.starts[i] + e])
    return 0.0


@jit
def move(graph, partition, i, b):
    """Give node i to cluster b."""
    labels, links, within, volumes, counts = partition
    a, g, d, s = labels[i], graph.groups[i], graph.degrees[i], graph.loops[i]
    within[a] -= 2.0 * links[i, a] - s
    within[b] += 2.0 * links[i, b] + s
    volumes[a] -= d
    volumes[b] += d
    counts[a, g] -= 1
    counts[b, g] += 1
    labels[i] = b
    _shift(graph, partition, i, a, b)


@jit
def move_pass(graph, partition, bounds):
    """Move each node to where the normalised cut is least, within the bounds.

    A pass without a move proves that no single move lowers the cut. Returns the number of moves.
    """
    counts, n_clusters = partition.counts, partition.volumes.size
    n_moves = 0
    for i in range(partition.labels.size):
        a, g = partition.labels[i], graph.groups[i]
        if counts[a, g] <= bounds.lower[a, g] or not _may_leave(graph, partition, i):
            continue
        best, least = -1, -EPSILON
        for b in range(n_clusters):
            if b != a and counts[b, g] < bounds.upper[b, g]:
                price = _price(graph, partition, i, b)
                if price < least:
                    best, least = b, price
        if best >= 0:
            move(graph, partition, i, best)
            n_moves += 1
    return n_moves


@jit
def _open_market(graph, partition, members):
    """Queues for all pairs of clusters, filled; nothing is quoted yet."""
    n = partition.volumes.size
    market = Market(
        members,
        np.empty((n, n, QUEUE_SIZE), np.int64),
        np.empty((n, n, QUEUE_SIZE)),
        np.zeros((n, n), np.int64),
        np.full((n, n), np.inf),
        np.full((n, n), -1, np.int64),
    )
    for a in range(n):
        _fill(graph, partition, market, a, 0, n)
    return market


@jit
def _fill(graph, partition, market, a, first, last):
    """Fill the queues from cluster a to the clusters ``first`` to ``last - 1``."""
    market.lengths[a, first:last] = 0
    for i in market.members:
        if partition.labels[i] == a and _may_leave(graph, partition, i):
            for b in range(first, last):
                if b != a:
                    _enqueue(market, a, b, i, _price(graph, partition, i, b))


@inline
def _enqueue(market, a, b, i, price):
    """Put node i in its place by price; the dearest drops out of a full queue."""
    nodes, prices, place = market.nodes[a, b], market.prices[a, b], market.lengths[a, b]
    if place < QUEUE_SIZE:
        market.lengths[a, b] += 1
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
    market = _open_market(graph, partition, members)
    for a in range(n_clusters):
        for b in range(n_clusters):
            _quote(graph, partition, market, a, b)
    path = np.empty(n_clusters, np.int64)
    n_paths = 0
    while True:
        sources, sinks = _ends(partition.counts[:, g], bounds.lower[:, g], bounds.upper[:, g])
        length = _cheapest_path(market.costs, sources, sinks, path)
        if length == 0:
            return n_paths
        for e in range(length - 1):
            move(graph, partition, market.carriers[path[e], path[e + 1]], path[e + 1])
        for k in path[:length]:
            for c in range(n_clusters):
                _quote(graph, partition, market, k, c)
                _quote(graph, partition, market, c, k)
        n_paths += 1


@jit
def _ends(counts, lower, upper):
    """Where a path may start and end.

    A cluster with too many is a start and one with too few an end; while there is only one of the
    two, whoever can give or take serves as the other.
    """
    sources, sinks = counts > upper, counts < lower
    if sources.any() and not sinks.any():
        sinks = counts < upper
    elif sinks.any() and not sources.any():
        sources = counts > lower
    return sources, sinks


@jit
def _quote(graph, partition, market, a, b):
    """Price the arc from a to b by its queue, which is filled again once all in it have left."""
    if a == b:
        return
    best, least = _cheapest_queued(graph, partition, market, a, b)
    if best < 0 and partition.counts[a, graph.groups[market.members[0]]] > 0:
        _fill(graph, partition, market, a, b, b + 1)
        best, least = _cheapest_queued(graph, partition, market, a, b)
    market.costs[a, b], market.carriers[a, b] = least, best


@jit
def _cheapest_queued(graph, partition, market, a, b):
    """The queued node whose move from a to b costs least now, and what it costs."""
    best, least = -1, np.inf
    for q in range(market.lengths[a, b]):
        i = market.nodes[a, b, q]
        if partition.labels[i] == a and _may_leave(graph, partition, i):
            price = _price(graph, partition, i, b)
            if price < least:
                best, least = i, price
    return best, least


@jit
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


@jit
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
    market = _open_market(graph, partition, members)
    n_exchanges = 0
    for a in range(n_clusters):
        for b in range(a + 1, n_clusters):
            while _exchange(graph, partition, market, a, b):
                n_exchanges += 1
    return n_exchanges


@jit
def _exchange(graph, partition, market, a, b):
    """Make the best exchange between the queues of two clusters, if one lowers the cut."""
    best_i, best_j, least = -1, -1, -EPSILON
    for p in range(market.lengths[a, b]):
        i = market.nodes[a, b, p]
        if partition.labels[i] != a or not _may_leave(graph, partition, i):
            continue
        for q in range(market.lengths[b, a]):
            if market.prices[a, b, p] + market.prices[b, a, q] >= 0.0:
                break
            j = market.nodes[b, a, q]
            if partition.labels[j] == b and _may_leave(graph, partition, j):
                price = _exchange_price(graph, partition, i, j, least)
                if price < least:
                    best_i, best_j, least = i, j, price
    if best_i < 0:
        return False
    move(graph, partition, best_i, b)
    move(graph, partition, best_j, a)
    return True


@inline
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
    before = _share(within[a], va) + _share(within[b], vb)
    price = before - _share(wa, va + growth) - _share(wb, vb - growth)
    if price < limit:
        lost = 2.0 * _affinity(graph, i, j)
        price = before - _share(wa - lost, va + growth) - _share(wb - lost, vb - growth)
    return price
