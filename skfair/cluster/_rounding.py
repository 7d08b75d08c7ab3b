"""From an embedding to clusters: k-means, the normalised cut, and counts of groups that bind."""

from typing import NamedTuple

import numpy as np
from scipy import optimize, sparse

from skfair._kernels import normalized_cut as kernels
from skfair.cluster._normalized_affinity import RBFAffinity
from skfair.cluster._samples import Samples, Seeding, lloyd
from skfair.metrics._graph import cluster_links
from skfair.utils._balance import balance, count_table, data_balance

MAX_ITER = 300
TOL = 1e-5  # of k-means: relative gain of the cost at which it stops
MAX_PASSES = 100
N_FOLLOWED = 3
MULT = 1.0


class Rounding(NamedTuple):
    """What is asked of the clusters."""

    n_clusters: int
    min_balance: float | None  # relative to the data's own; None asks for nothing
    n_init: int


class Step(NamedTuple):
    """A clustering on the way from the cheapest to the best balanced."""

    labels: np.ndarray  # (n_nodes,) int32
    ncut: float
    balance: float  # absolute


def round_kmeans(operator, embedding, groups, settings, random_state):
    """The papers' rounding: plain k-means on the rows of D^-1/2 H, whatever the balance."""
    rows = embedding / np.sqrt(operator.degrees)[:, None]
    ones = np.ones(len(rows))
    runs = _kmeans(Samples(rows, ones, groups.codes, len(groups.labels)), settings, random_state)
    return runs[0].labels


def round_ncut(operator, embedding, groups, settings, random_state):
    return ncut_path(operator, embedding, groups, settings, random_state)[-1].labels


def _kmeans(samples, settings, random_state):
    """Clusterings by k-means from every start, the cheapest first."""
    starts = Seeding(settings.n_clusters, "k-means++", settings.n_init).draw(samples, random_state)
    runs = [lloyd(samples, start, MAX_ITER, TOL) for start in starts]
    return sorted(runs, key=lambda run: kernels_cost(samples, run))


def kernels_cost(samples, run):
    from skfair._kernels.local_search import cost_of

    return cost_of(samples.X, samples.weights, run)


def _start(operator, embedding, groups, settings, random_state):
    graph = make_graph(operator, groups)
    connected = ~operator.isolated
    degrees = operator.degrees
    rows = embedding / np.sqrt(degrees)[:, None]
    samples = Samples(rows, degrees, groups.codes, len(groups.labels))
    runs = _kmeans(samples, settings, random_state)
    free = _free(settings.n_clusters, groups)
    best = None
    for run in runs[:N_FOLLOWED]:
        p = make_partition(operator.affinity, groups, run.labels, settings.n_clusters)
        descend(graph, p, free, [])
        if best is None or kernels.ncut_of(p) < kernels.ncut_of(best):
            best = p
    return graph, best


def _free(K, groups):
    shape = (K, len(groups.labels))
    return kernels.Bounds(np.zeros(shape, np.int64), np.full(shape, len(groups.codes)))


def make_graph(operator, groups):
    K = operator.affinity
    n = operator.n_nodes
    degrees = np.where(operator.isolated, 0.0, operator.degrees)
    every, none = np.arange(n), np.zeros(n, dtype=np.int64)
    none2 = np.empty((0, 0))
    e = np.empty(0)
    if sparse.issparse(K):
        K = K if K.has_sorted_indices else K.sorted_indices()
        starts = K.indptr[:-1].astype(np.int64)
        return kernels.Graph(K.indices, K.data, starts, starts, np.diff(K.indptr).astype(np.int64), degrees, K.diagonal(), none2, 0.0, groups.codes, e)
    if isinstance(K, RBFAffinity):
        return kernels.Graph(every, e, none, none, none, degrees, np.ones(n), K.X, float(K.gamma), groups.codes, np.empty(n))
    return kernels.Graph(every, K.ravel(), none, every * n, none + n, degrees, K.diagonal().copy(), none2, 0.0, groups.codes, e)


def make_partition(affinity, groups, labels, K):
    labels = np.array(labels, dtype=np.int32)
    links, within, volumes = cluster_links(affinity, labels, K)
    counts = count_table(labels, groups.codes, None, K, len(groups.labels)).astype(np.int64)
    return kernels.Partition(labels, links, within, volumes, counts)


def descend(graph, p, bounds, members):
    n_moves = 0
    for _ in range(MAX_PASSES):
        moved = kernels.move_pass(graph, p, bounds)
        for rows in members:
            moved += kernels.exchange_pass(graph, p, rows)
        n_moves += moved
        if not moved:
            break
    return n_moves


def ncut_path(operator, embedding, groups, settings, random_state, n_levels=4, verbose=0):
    graph, p = _start(operator, embedding, groups, settings, random_state)
    steps = [Step(p.labels.copy(), kernels.ncut_of(p), balance(p.counts))]
    b = settings.min_balance
    r = data_balance(groups.counts)
    if not b or len(groups.labels) == 1 or steps[0].balance >= b * r:
        return steps
    members = [np.flatnonzero(groups.codes == g) for g in range(len(groups.labels))]
    start = steps[0].balance / r
    levels = b - (b - start) * (1 - np.arange(1, n_levels + 1) / n_levels) ** 2
    import time
    for level in levels:
        t0 = time.perf_counter()
        bounds = bounds_of(p.counts, level)
        n_paths = [kernels.repair(graph, p, bounds, rows) for rows in members]
        t1 = time.perf_counter()
        assert (p.counts >= bounds.lower).all() and (p.counts <= bounds.upper).all()
        before = kernels.ncut_of(p)
        n = descend(graph, p, bounds, members)
        steps.append(Step(p.labels.copy(), kernels.ncut_of(p), balance(p.counts)))
        if verbose:
            print(f"level {level:.3f} paths {sum(n_paths)} {t1-t0:.3f}s ncut {before:.4f} -> {steps[-1].ncut:.4f} bal {steps[-1].balance/r:.3f} moves {n} {time.perf_counter()-t1:.3f}s")
    return steps


def bounds_of(counts, level):
    """Counts that keep the relative balance ``level`` in every cluster, up to one person."""
    shares = _shares(counts)
    target = _round_table(shares)
    slack = (1 - level) / (1 + level)
    lower = np.minimum(target, np.ceil((1 - slack) * shares - 1e-9))
    upper = np.maximum(target, np.floor((1 + slack) * shares + 1e-9))
    return kernels.Bounds(lower.astype(np.int64), upper.astype(np.int64))


def _shares(counts):
    sizes, totals = counts.sum(axis=1), counts.sum(axis=0)
    n, K = totals.sum(), len(counts)
    everywhere = totals[totals >= K]
    least = n / everywhere.min() if len(everywhere) else 0.0
    least = min(n / K, least * MULT)
    while (sizes < least - 1e-9).any():
        small = sizes <= least
        sizes = np.where(small, least, sizes * (n - least * small.sum()) / sizes[~small].sum())
    return np.outer(sizes, totals) / n


def _round_table(table):
    """Integers within one of the table, with its column sums and within one of its row sums."""
    n_rows, n_columns = table.shape
    down = np.floor(table + 1e-9)
    rest = np.clip(table - down, 0, 1)
    cells = np.arange(table.size)
    ones = np.ones(table.size)
    rows = sparse.csr_array((ones, (cells // n_columns, cells)), shape=(n_rows, table.size))
    columns = sparse.csr_array((ones, (cells % n_columns, cells)), shape=(n_columns, table.size))
    row_sums = rest.sum(axis=1)
    ups = optimize.linprog(
        -rest.ravel(),
        A_ub=sparse.vstack([rows, -rows]),
        b_ub=np.concatenate([np.ceil(row_sums - 1e-9), -np.floor(row_sums + 1e-9)]),
        A_eq=columns,
        b_eq=np.round(rest.sum(axis=0)),
        bounds=np.column_stack([np.zeros(table.size), np.ceil(rest.ravel() - 1e-9)]),
        method="highs-ds",
    ).x
    return (down + np.round(ups).reshape(table.shape)).astype(np.int64)
