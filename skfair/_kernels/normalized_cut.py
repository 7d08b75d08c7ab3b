"""Kernels of the local search for the normalised cut: moves, flows and exchanges."""

from typing import NamedTuple

import numpy as np

from skfair._kernels import NO_INDEX, helper, interpret_at_first, jit
from skfair._kernels.limits import allows_change, allows_exchange

# Local search for the normalised cut: single moves.
#
# With W_k the affinity inside cluster k and V_k its volume (the sum of its degrees), the normalised
# cut of K clusters is ::
#
#     K - sum_k W_k / V_k.
#
# When node i of degree d, with affinity s to itself and L_k to the nodes of cluster k, goes from
# cluster a to b, W_a falls by 2 L_a - s, W_b rises by 2 L_b + s, V_a falls and V_b rises by d. With
# a table of all L the change costs O(1), and a move updates the rows of the neighbours.


EPSILON = 1e-10  # a change of the normalised cut below this is rounding error


class Graph(NamedTuple):
    """A symmetric affinity of n nodes, row by row, whose rows are stored or computed.

    Row i has ``sizes[i]`` entries, ``values[starts[i]:]``, in the ascending columns
    ``columns[column_starts[i]:]``. So the rows of a dense array share one list of columns.
    Computed rows, those of a Gaussian kernel of points, also share one buffer of values.
    """

    has_computed_rows: bool  # `_compute_kernel_row` writes a row into values
    points: np.ndarray  # (n, n_features) of the kernel, if rows are computed
    gamma: float  # of the kernel
    columns: np.ndarray  # (n_entries,), or (n,) where rows are full
    values: np.ndarray  # (n_entries,), or (n,) where rows are computed
    column_starts: np.ndarray  # (n,) int64
    value_starts: np.ndarray  # (n,) int64
    sizes: np.ndarray  # (n,) int64
    degrees: np.ndarray  # (n,) sums of the rows, 0 for isolated nodes
    loops: np.ndarray  # (n,) the diagonal
    groups: np.ndarray  # (n,) group of each node


class NodeClustering(NamedTuple):
    """A clustering of the nodes that single moves change in place."""

    labels: np.ndarray  # (n,) int32
    links: np.ndarray  # (n, n_clusters) total affinity of a node to a cluster
    within: np.ndarray  # (n_clusters,) sum of the affinities within a cluster
    volumes: np.ndarray  # (n_clusters,) sum of the degrees
    counts: np.ndarray  # (n_clusters, n_groups) int64, groups of the graph


class Bounds(NamedTuple):
    """Bounds on the number of members of each group in a cluster."""

    lower: np.ndarray  # (n_clusters, n_groups) int64
    upper: np.ndarray  # (n_clusters, n_groups) int64


@helper
def share(within, volume):
    """W / V; 1 for a cluster of isolated nodes, which cuts nothing."""
    return within / volume if volume > 0.0 else 1.0


def normalized_cut(clustering):
    """The normalised cut."""
    within, volumes = clustering.within, clustering.volumes
    shares = np.divide(within, volumes, out=np.ones_like(within), where=volumes > 0.0)
    return float((1.0 - shares).sum())


@helper
def move_cost(graph, clustering, i, b):
    """Change of the normalised cut if node i moves to cluster b."""
    a = clustering.labels[i]
    d = graph.degrees[i]
    s = graph.loops[i]
    wa = clustering.within[a]
    va = clustering.volumes[a]
    wb = clustering.within[b]
    vb = clustering.volumes[b]
    leaving = share(wa, va) - share(wa - 2.0 * clustering.links[i, a] + s, va - d)
    joining = share(wb, vb) - share(wb + 2.0 * clustering.links[i, b] + s, vb + d)
    return leaving + joining


@helper
def may_leave(graph, clustering, i):
    """Whether the cluster of node i keeps a positive volume without it."""
    d = graph.degrees[i]
    return d == 0.0 or clustering.volumes[clustering.labels[i]] > d * (1.0 + 1e-9)


@helper
def _move_links(graph, clustering, i, a, b):
    """Move the affinities to node i from column a to column b of the links."""
    if graph.has_computed_rows:
        _compute_kernel_row(graph, i)
    links = clustering.links
    first = graph.column_starts[i]
    start = graph.value_starts[i]
    for e in range(graph.sizes[i]):
        j = graph.columns[first + e]
        w = graph.values[start + e]
        links[j, a] -= w
        links[j, b] += w


@helper
def _compute_kernel_row(graph, i):
    """Compute row i of the Gaussian kernel into the buffer."""
    for j in range(graph.points.shape[0]):
        graph.values[j] = _gaussian_kernel(graph, i, j)


@helper
def _gaussian_kernel(graph, i, j):
    distance = 0.0
    for f in range(graph.points.shape[1]):
        gap = graph.points[i, f] - graph.points[j, f]
        distance += gap * gap
    return np.exp(-graph.gamma * distance)


@helper
def affinity(graph, i, j):
    """One entry of the affinity; binary search in a stored row."""
    if graph.has_computed_rows:
        return _gaussian_kernel(graph, i, j)
    first = graph.column_starts[i]
    low = 0
    high = graph.sizes[i]
    while low < high:
        middle = (low + high) // 2
        if graph.columns[first + middle] < j:
            low = middle + 1
        else:
            high = middle
    if low < graph.sizes[i] and graph.columns[first + low] == j:
        return float(graph.values[graph.value_starts[i] + low])
    return 0.0


@helper
def move(graph, clustering, i, b):
    """Move node i to cluster b."""
    labels, links, within, volumes, counts = clustering
    a = labels[i]
    g = graph.groups[i]
    d = graph.degrees[i]
    s = graph.loops[i]
    # Affinity within, volumes and counts of both clusters; then the links of the neighbours.
    within[a] -= 2.0 * links[i, a] - s
    within[b] += 2.0 * links[i, b] + s
    volumes[a] -= d
    volumes[b] += d
    counts[a, g] -= 1
    counts[b, g] += 1
    labels[i] = b
    _move_links(graph, clustering, i, a, b)


@jit
def move_pass(graph, clustering, bounds):
    """Move each node to the cluster of minimum normalised cut, within the bounds.

    A pass without a move proves that no single move lowers the cut. Returns the number of moves.
    """
    counts, n_clusters = clustering.counts, clustering.volumes.size
    n_moves = 0
    for i in range(clustering.labels.size):
        a = clustering.labels[i]
        g = graph.groups[i]
        if counts[a, g] <= bounds.lower[a, g] or not may_leave(graph, clustering, i):
            continue
        # The cheapest cluster whose bounds allow the node.
        best, least = NO_INDEX, -EPSILON
        for b in range(n_clusters):
            if b != a and counts[b, g] < bounds.upper[b, g]:
                cost = move_cost(graph, clustering, i, b)
                if cost < least:
                    best, least = b, cost
        if best >= 0:
            move(graph, clustering, i, best)
            n_moves += 1
    return n_moves


# Local search for the normalised cut within one group: flows and exchanges between clusters.


QUEUE_SIZE = 16  # candidates kept for every pair of clusters


class ResidualArcs(NamedTuple):
    """The residual network of one group, whose arcs are the cheapest moves between two clusters.

    Every arc keeps a queue of its cheapest candidates.
    """

    members: np.ndarray  # (n_members,) nodes of the group
    nodes: np.ndarray  # (n_clusters, n_clusters, QUEUE_SIZE) int64, the cheapest first
    queued_costs: np.ndarray  # the same shape: their costs when the queue was filled
    queue_lengths: np.ndarray  # (n_clusters, n_clusters) int64
    costs: np.ndarray  # (n_clusters, n_clusters) current cost of the cheapest, inf if there is none
    movers: np.ndarray  # (n_clusters, n_clusters) int64, the cheapest node


@helper
def _new_arcs(graph, clustering, members):
    """Filled queues for all pairs of clusters; the costs of the arcs are not yet computed."""
    n = clustering.volumes.size
    arcs = ResidualArcs(
        members=members,
        nodes=np.empty((n, n, QUEUE_SIZE), np.int64),
        queued_costs=np.empty((n, n, QUEUE_SIZE)),
        queue_lengths=np.empty((n, n), np.int64),
        costs=np.empty((n, n)),
        movers=np.empty((n, n), np.int64),
    )
    for a in range(n):
        _fill_queues(graph, clustering, arcs, a, NO_INDEX + 1, n)
        for b in range(n):
            arcs.costs[a, b], arcs.movers[a, b] = np.inf, NO_INDEX
    return arcs


@helper
def _fill_queues(graph, clustering, arcs, a, first, last):
    """Fill the queues from cluster a to the clusters ``first`` to ``last - 1``."""
    for b in range(first, last):
        arcs.queue_lengths[a, b] = 0
    for i in arcs.members:
        if clustering.labels[i] == a and may_leave(graph, clustering, i):
            for b in range(first, last):
                if b != a:
                    _enqueue(arcs, a, b, i, move_cost(graph, clustering, i, b))


@helper
def _enqueue(arcs, a, b, i, cost):
    """Insert node i by cost; the most expensive node leaves a full queue."""
    nodes = arcs.nodes[a, b]
    queued_costs = arcs.queued_costs[a, b]
    position = arcs.queue_lengths[a, b]
    if position < QUEUE_SIZE:
        arcs.queue_lengths[a, b] += 1
    elif cost < queued_costs[position - 1]:
        position -= 1
    else:
        return
    while position > 0 and queued_costs[position - 1] > cost:
        nodes[position], queued_costs[position] = nodes[position - 1], queued_costs[position - 1]
        position -= 1
    nodes[position], queued_costs[position] = i, cost


# Flows --------------------------------------------------------------------------------


def _count_queue_steps(graph, clustering, members):
    """Steps that fill all queues; where rows are computed, exp may differ if interpreted: inf."""
    if graph.has_computed_rows:
        return np.inf
    n_clusters = clustering.volumes.size
    return 4 * n_clusters * (members.size + n_clusters * QUEUE_SIZE)


def _count_repair_steps(graph, clustering, bounds, members):
    g = graph.groups[members[0]]
    counts = clustering.counts[:, g]
    lower = bounds.lower[:, g]
    upper = bounds.upper[:, g]
    n_paths = max(np.maximum(counts - upper, 0).sum(), np.maximum(lower - counts, 0).sum())
    n_steps = 2 * graph.sizes.mean() + 4 * QUEUE_SIZE * clustering.volumes.size
    return _count_queue_steps(graph, clustering, members) + n_paths * n_steps


@interpret_at_first(_count_repair_steps)
def repair_counts(graph, clustering, bounds, members):
    """Bring the counts of one group within the bounds, along successive cheapest paths.

    The clusters are the nodes of a network in which the arc from a to b has the cost of the
    cheapest move of a member. Each path takes one member from a cluster with too many to one with
    too few, through others where that is cheaper. Then the costs of the arcs of its clusters are
    updated. Returns the number of paths; the bounds hold then, unless no path was left.
    """
    n_clusters = clustering.volumes.size
    g = graph.groups[members[0]]
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


@helper
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
        lower = bounds.lower[k, g]
        upper = bounds.upper[k, g]
        sources[k] = counts[k, g] > (lower if n_over == 0 and n_under > 0 else upper)
        sinks[k] = counts[k, g] < (upper if n_under == 0 and n_over > 0 else lower)


@helper
def _update_arc_cost(graph, clustering, arcs, a, b):
    """Update the cost of the arc from a to b; its queue is refilled once all nodes have left."""
    if a == b:
        return
    best, least = _find_cheapest_queued(graph, clustering, arcs, a, b)
    if best < 0 and clustering.counts[a, graph.groups[arcs.members[0]]] > 0:
        _fill_queues(graph, clustering, arcs, a, b, b + 1)
        best, least = _find_cheapest_queued(graph, clustering, arcs, a, b)
    arcs.costs[a, b], arcs.movers[a, b] = least, best


@helper
def _find_cheapest_queued(graph, clustering, arcs, a, b):
    """The queued node of minimum current cost from a to b, and the cost."""
    best, least = NO_INDEX, np.inf
    for q in range(arcs.queue_lengths[a, b]):
        i = arcs.nodes[a, b, q]
        if clustering.labels[i] == a and may_leave(graph, clustering, i):
            cost = move_cost(graph, clustering, i, b)
            if cost < least:
                best, least = i, cost
    return best, least


@helper
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
            end = k
            least = distances[k]
    length, k = 0, end
    while k >= 0:
        length += 1
        k = parents[k]
    k = end
    for position in range(length - 1, -1, -1):
        path[position] = k
        k = parents[k]
    return length


@helper
def _is_ancestor(parents, b, a):
    """Whether the path to a runs through b."""
    while a >= 0 and a != b:
        a = parents[a]
    return a == b


# Exchanges ----------------------------------------------------------------------------


@interpret_at_first(_count_queue_steps)
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


@helper
def _exchange(graph, clustering, arcs, a, b):
    """Make the best exchange between the queues of two clusters, if one lowers the cut."""
    best_i, best_j, least = NO_INDEX, NO_INDEX, -EPSILON
    for p in range(arcs.queue_lengths[a, b]):
        i = arcs.nodes[a, b, p]
        if clustering.labels[i] != a or not may_leave(graph, clustering, i):
            continue
        for q in range(arcs.queue_lengths[b, a]):
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


@helper
def _exchange_cost(graph, clustering, i, j, limit):
    """Change of the normalised cut if i and j swap clusters; exact where below the limit.

    The affinity of the two to each other, which is lost on both sides, is only looked up if the
    cost without it is below the limit.
    """
    labels, links, within, volumes, _ = clustering
    a, b = labels[i], labels[j]
    loops = graph.loops[i] + graph.loops[j]
    growth = graph.degrees[j] - graph.degrees[i]
    va, vb = volumes[a], volumes[b]
    wa = within[a] + 2.0 * (links[j, a] - links[i, a]) + loops
    wb = within[b] + 2.0 * (links[i, b] - links[j, b]) + loops
    before = share(within[a], va) + share(within[b], vb)
    cost = before - share(wa, va + growth) - share(wb, vb - growth)
    if cost < limit:
        lost = 2.0 * affinity(graph, i, j)
        cost = before - share(wa - lost, va + growth) - share(wb - lost, vb - growth)
    return cost


# Moves and exchanges that keep limits -------------------------------------------------
#
# Bounds on counts are stricter than the limits from which they follow: the last passes compare the
# counts with the limits themselves.


def _count_pass_steps(graph, clustering, *args):
    return np.inf if graph.has_computed_rows else 4 * clustering.links.size


@interpret_at_first(_count_pass_steps)
def limited_move_pass(graph, clustering, limits, leaves, joins):
    """Move each node to the cluster of minimum normalised cut, where all clusters keep the limits.

    ``leaves`` and ``joins``, (n_clusters, n_groups) bool, are written: whether a cluster may lose
    or get a member of a group. Returns the number of moves.
    """
    n_clusters, n_moves = clustering.volumes.size, 0
    for k in range(n_clusters):
        _mark_allowed_changes(clustering, limits, k, leaves, joins)
    for i in range(clustering.labels.size):
        a = clustering.labels[i]
        g = graph.groups[i]
        if not leaves[a, g] or not may_leave(graph, clustering, i):
            continue
        best, least = NO_INDEX, -EPSILON
        for b in range(n_clusters):
            if b != a and joins[b, g]:
                cost = move_cost(graph, clustering, i, b)
                if cost < least:
                    best, least = b, cost
        if best >= 0:
            move(graph, clustering, i, best)
            _mark_allowed_changes(clustering, limits, a, leaves, joins)
            _mark_allowed_changes(clustering, limits, best, leaves, joins)
            n_moves += 1
    return n_moves


@helper
def _mark_allowed_changes(clustering, limits, k, leaves, joins):
    """Mark the groups of which cluster k may lose a member, and those of which it may get one."""
    nodes = clustering.counts[k]
    counts, members = _count_groups(nodes, limits)
    for g in range(nodes.size):
        leaves[k, g] = nodes[g] > 0 and allows_change(counts, members, k, g, -1.0, limits)
        joins[k, g] = allows_change(counts, members, k, g, 1.0, limits)


@helper
def _count_groups(nodes, limits):
    """Members of each group, as weights and as numbers, from those of intersections."""
    counts = np.zeros(limits.scales.shape[1])
    members = np.zeros(limits.scales.shape[1], np.int64)
    for c in range(nodes.size):
        for a in range(limits.intersections.shape[1]):
            counts[limits.intersections[c, a]] += nodes[c]
            members[limits.intersections[c, a]] += nodes[c]
    return counts, members


@interpret_at_first(lambda graph, *args: 10 * graph.groups.size**2)
def limited_exchange_pass(graph, clustering, limits, swaps):
    """Exchange each node for the later one that lowers the cut most; clusters keep the limits.

    All pairs of nodes are compared. ``swaps``, (n_clusters, n_groups, n_groups) bool, is written:
    whether a cluster may give a member of a group for one of another. Returns the number of
    exchanges.
    """
    labels, groups, n_exchanges = clustering.labels, graph.groups, 0
    for k in range(clustering.volumes.size):
        _mark_allowed_swaps(clustering, limits, k, swaps)
    for i in range(labels.size):
        best = NO_INDEX
        least = -EPSILON
        a = labels[i]
        g = groups[i]
        for j in range(i + 1, labels.size):
            b = labels[j]
            h = groups[j]
            if a != b and swaps[a, g, h] and swaps[b, h, g]:
                cost = _exchange_cost(graph, clustering, i, j, least)
                if cost < least and may_leave(graph, clustering, i):
                    if may_leave(graph, clustering, j):
                        best, least = j, cost
        if best >= 0:
            b = labels[best]
            move(graph, clustering, i, b)
            move(graph, clustering, best, a)
            _mark_allowed_swaps(clustering, limits, a, swaps)
            _mark_allowed_swaps(clustering, limits, b, swaps)
            n_exchanges += 1
    return n_exchanges


@helper
def _mark_allowed_swaps(clustering, limits, k, swaps):
    """Mark the pairs of groups that cluster k may exchange: one member leaves, another joins."""
    nodes = clustering.counts[k]
    counts, members = _count_groups(nodes, limits)
    for g in range(nodes.size):
        for h in range(nodes.size):
            swaps[k, g, h] = allows_exchange(counts, members, k, g, h, 1.0, limits)
