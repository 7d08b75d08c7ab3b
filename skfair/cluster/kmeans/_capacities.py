"""The cheapest assignment to centres with a maximum number of samples of each cluster."""

import numpy as np
from scipy import sparse

from skfair._kernels.candidates import measure_candidates
from skfair.cluster.kmeans._size_dual import (
    N_CANDIDATES,
    SizeDual,
    ascend,
    assign_sizes,
    select_candidates,
)

SLACK = 0.75  # samples by which the dual may miss a capacity


def assign_within_capacities(X, centers, capacities):
    """Labels of the least sum of squared distances with ``capacities``, positive integers.

    Dual ascent on candidates, then shortest paths. Final multipliers prove that no cluster outside
    of the candidates lowers the cost; otherwise there are more candidates.
    """
    # Distances are compared in float32, in a scale in which they have squares.
    scale = max(abs(X).max() if X.shape[0] else 0.0, np.abs(centers).max()) or 1.0
    X, centers = X.astype(np.float64) / scale, centers / scale
    narrow, n_candidates = X.astype(np.float32), N_CANDIDATES
    bounds = np.zeros(len(centers)), capacities.astype(float)
    _, dual, _ = assign_sizes(narrow, centers, bounds, SizeDual(np.zeros(len(centers))), SLACK)
    while True:
        candidates = select_candidates(narrow, centers, dual.multipliers, n_candidates, np.float64)
        measure_candidates(X, centers, *candidates[:2])
        dual, _ = ascend(candidates, bounds, dual, SLACK, is_strict=True)
        multipliers = np.maximum(dual.multipliers, 0)
        labels = _evaluate(candidates, bounds, multipliers).labels
        multipliers, is_full = _move_to_free_places(candidates, multipliers, labels, capacities)
        if is_full and not _evaluate(candidates, bounds, multipliers).n_short:
            return labels
        dual, n_candidates = dual._replace(multipliers=multipliers), 2 * n_candidates


def _evaluate(candidates, bounds, multipliers):
    """The dual at multipliers: an ascent that ends at once."""
    return ascend(candidates, bounds, SizeDual(multipliers), np.inf, is_strict=True)[1]


def _move_to_free_places(candidates, multipliers, labels, capacities):
    """Move samples along shortest paths between clusters until capacities and multipliers fit.

    Labels of least reduced cost stay so (successive shortest paths). Changes ``labels`` in place.
    Returns the final multipliers, and whether candidates had all paths.
    """
    clusters, pool, rows = candidates.clusters, len(capacities), np.arange(len(labels))
    # Free places belong to clusters without a multiplier. Others borrow them from a pool.
    counts, potentials = np.bincount(labels, minlength=pool), np.append(multipliers, 0.0)
    free = np.where(multipliers == 0, np.maximum(capacities - counts, 0), 0)
    n_borrowed = capacities.sum() - len(labels) - free.sum()
    excess = np.append(counts + free - capacities, n_borrowed)
    while excess.any():
        # Arcs: the least change of the reduced cost by a member that goes to another cluster.
        changes = candidates.distances + potentials[clusters]
        changes -= changes[rows, (clusters == labels[:, np.newaxis]).argmax(axis=1), np.newaxis]
        arcs = np.full((pool + 1, pool + 1), np.inf)
        np.minimum.at(arcs, (labels[:, np.newaxis], clusters), changes)
        arcs[:pool][free > 0, pool] = (potentials[pool] - potentials[:pool])[free > 0]
        arcs[pool, :pool] = potentials[:pool] - potentials[pool]
        np.fill_diagonal(arcs, np.inf)
        # The shortest path from a cluster with too many samples to one with too few.
        exists = np.nonzero(arcs < np.inf)
        graph = sparse.csr_array((np.maximum(arcs[exists], 0), exists), shape=arcs.shape)
        lengths, previous, _ = sparse.csgraph.dijkstra(
            graph, indices=np.flatnonzero(excess > 0), return_predecessors=True, min_only=True
        )
        ends = np.where(excess < 0, lengths, np.inf)
        end = ends.argmin()
        if ends[end] == np.inf:
            break
        potentials -= np.minimum(lengths, lengths[end])
        # Move one sample, or one free place, along each of its arcs.
        excess[end] += 1
        while previous[end] >= 0:
            start = previous[end]
            if end == pool:
                free[start] -= 1
            elif start == pool:
                free[end] += 1
            else:
                members = np.flatnonzero(labels == start)
                costs = np.where(clusters[members] == end, changes[members], np.inf).min(axis=1)
                labels[members[costs.argmin()]] = end
            end = start
        excess[end] -= 1
    return np.maximum(potentials[:pool] - potentials[pool], 0), not excess.any()
