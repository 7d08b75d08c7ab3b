r"""Local search for the normalised cut: single moves.

With W_k the affinity inside cluster k and V_k its volume (the sum of its degrees), the normalised
cut of K clusters is ::

    K - sum_k W_k / V_k.

When node i of degree d, with affinity s to itself and L_k to the nodes of cluster k, goes from
cluster a to b, W_a falls by 2 L_a - s, W_b rises by 2 L_b + s, V_a falls and V_b rises by d. With
a table of all L the change costs O(1), and a move updates the rows of the neighbours.
"""

from typing import NamedTuple

import numpy as np

from skfair._kernels import NO_INDEX, deferred_helper, inline_helper, jit

EPSILON = 1e-10  # a change of the normalised cut below this is rounding error


class Graph(NamedTuple):
    """A symmetric affinity of n nodes, row by row, whose rows are stored or computed.

    Row i has ``sizes[i]`` entries, ``values[starts[i]:]``, in the ascending columns
    ``columns[column_starts[i]:]``. So the rows of a dense array share one list of columns.
    Computed rows, those of a Gaussian kernel of points, also share one buffer of values.
    """

    is_computed: bool  # `_compute` writes a row into values
    points: np.ndarray  # (n, n_features) of the kernel, if rows are computed
    gamma: float  # of the kernel
    columns: np.ndarray  # (n_entries,), or (n,) where rows are full
    values: np.ndarray  # (n_entries,), or (n,) where rows are computed
    column_starts: np.ndarray  # (n,) int64
    starts: np.ndarray  # (n,) int64
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
    counts: np.ndarray  # (n_clusters, n_groups) int64


class Bounds(NamedTuple):
    """Bounds on the number of members of each group in a cluster."""

    lower: np.ndarray  # (n_clusters, n_groups) int64
    upper: np.ndarray  # (n_clusters, n_groups) int64


@inline_helper
def share(within, volume):
    """W / V; 1 for a cluster of isolated nodes, which cuts nothing."""
    return within / volume if volume > 0.0 else 1.0


def normalized_cut(clustering):
    """The normalised cut."""
    within, volumes = clustering.within, clustering.volumes
    shares = np.divide(within, volumes, out=np.ones_like(within), where=volumes > 0.0)
    return float((1.0 - shares).sum())


@inline_helper
def move_cost(graph, clustering, i, b):
    """Change of the normalised cut if node i moves to cluster b."""
    a, d, s = clustering.labels[i], graph.degrees[i], graph.loops[i]
    wa, va = clustering.within[a], clustering.volumes[a]
    wb, vb = clustering.within[b], clustering.volumes[b]
    leaving = share(wa, va) - share(wa - 2.0 * clustering.links[i, a] + s, va - d)
    joining = share(wb, vb) - share(wb + 2.0 * clustering.links[i, b] + s, vb + d)
    return leaving + joining


@inline_helper
def may_leave(graph, clustering, i):
    """Whether the cluster of node i keeps a positive volume without it."""
    d = graph.degrees[i]
    return d == 0.0 or clustering.volumes[clustering.labels[i]] > d * (1.0 + 1e-9)


@deferred_helper
def _move_links(graph, clustering, i, a, b):
    """Move the affinities to node i from column a to column b of the links."""
    if graph.is_computed:
        _compute(graph, i)
    links, first, start = clustering.links, graph.column_starts[i], graph.starts[i]
    for e in range(graph.sizes[i]):
        j, w = graph.columns[first + e], graph.values[start + e]
        links[j, a] -= w
        links[j, b] += w


@inline_helper
def _compute(graph, i):
    """Compute row i of the Gaussian kernel into the buffer."""
    for j in range(graph.points.shape[0]):
        graph.values[j] = _kernel(graph, i, j)


@inline_helper
def _kernel(graph, i, j):
    distance = 0.0
    for f in range(graph.points.shape[1]):
        gap = graph.points[i, f] - graph.points[j, f]
        distance += gap * gap
    return np.exp(-graph.gamma * distance)


@deferred_helper
def affinity(graph, i, j):
    """One entry of the affinity; binary search in a stored row."""
    if graph.is_computed:
        return _kernel(graph, i, j)
    first, low, high = graph.column_starts[i], 0, graph.sizes[i]
    while low < high:
        middle = (low + high) // 2
        if graph.columns[first + middle] < j:
            low = middle + 1
        else:
            high = middle
    if low < graph.sizes[i] and graph.columns[first + low] == j:
        return float(graph.values[graph.starts[i] + low])
    return 0.0


@deferred_helper
def move(graph, clustering, i, b):
    """Move node i to cluster b."""
    labels, links, within, volumes, counts = clustering
    a, g, d, s = labels[i], graph.groups[i], graph.degrees[i], graph.loops[i]
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
        a, g = clustering.labels[i], graph.groups[i]
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
