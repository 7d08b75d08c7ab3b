r"""Local search for the normalised cut: single moves.

With W_k the affinity inside cluster k and V_k its volume (the sum of its degrees), the normalised
cut of K clusters is ::

    K - sum_k W_k / V_k.

When node i of degree d, with affinity s to itself and L_k to the nodes of cluster k, goes from
cluster a to b, W_a falls by 2 L_a - s, W_b rises by 2 L_b + s, V_a falls and V_b rises by d. With
the table of all L at hand the change costs O(1), and a move updates the rows of the neighbours.
"""

from typing import NamedTuple

import numpy as np

from skfair._kernels import NONE, inlined, jit, stage

EPSILON = 1e-10  # a change of the normalised cut below this is rounding error


class Graph(NamedTuple):
    """A symmetric affinity of n nodes, row by row, whose rows are stored or computed.

    Row i has ``sizes[i]`` entries, ``values[starts[i]:]``, in the ascending columns
    ``columns[column_starts[i]:]``: so the rows of a dense array share one list of columns, and
    computed rows, those of a Gaussian kernel of points, share the room for one of them as well.
    """

    is_computed: bool  # values hold a row only after `_compute`
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


@inlined
def share(within, volume):
    """W / V; a cluster of isolated nodes cuts nothing."""
    return within / volume if volume > 0.0 else 1.0


def ncut_of(partition):
    """The normalised cut."""
    within, volumes = partition.within, partition.volumes
    shares = np.divide(within, volumes, out=np.ones_like(within), where=volumes > 0.0)
    return float((1.0 - shares).sum())


@inlined
def price_of(graph, partition, i, b):
    """Change of the normalised cut by the move of node i to cluster b."""
    a, d, s = partition.labels[i], graph.degrees[i], graph.loops[i]
    wa, va = partition.within[a], partition.volumes[a]
    wb, vb = partition.within[b], partition.volumes[b]
    leaving = share(wa, va) - share(wa - 2.0 * partition.links[i, a] + s, va - d)
    joining = share(wb, vb) - share(wb + 2.0 * partition.links[i, b] + s, vb + d)
    return leaving + joining


@inlined
def may_leave(graph, partition, i):
    """Whether the cluster of node i keeps a volume; isolated nodes have none to take away."""
    d = graph.degrees[i]
    return d == 0.0 or partition.volumes[partition.labels[i]] > d * (1.0 + 1e-9)


@stage
def _shift(graph, partition, i, a, b):
    """Move the affinities to node i from column a to column b of the links."""
    if graph.is_computed:
        _compute(graph, i)
    links, first, start = partition.links, graph.column_starts[i], graph.starts[i]
    for e in range(graph.sizes[i]):
        j, w = graph.columns[first + e], graph.values[start + e]
        links[j, a] -= w
        links[j, b] += w


@inlined
def _compute(graph, i):
    """Put row i of the kernel where a stored row would be."""
    for j in range(graph.points.shape[0]):
        graph.values[j] = _kernel(graph, i, j)


@inlined
def _kernel(graph, i, j):
    distance = 0.0
    for f in range(graph.points.shape[1]):
        gap = graph.points[i, f] - graph.points[j, f]
        distance += gap * gap
    return np.exp(-graph.gamma * distance)


@stage
def affinity(graph, i, j):
    """One entry of the affinity."""
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


@stage
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
        if counts[a, g] <= bounds.lower[a, g] or not may_leave(graph, partition, i):
            continue
        best, least = NONE, -EPSILON
        for b in range(n_clusters):
            if b != a and counts[b, g] < bounds.upper[b, g]:
                price = price_of(graph, partition, i, b)
                if price < least:
                    best, least = b, price
        if best >= 0:
            move(graph, partition, i, best)
            n_moves += 1
    return n_moves
