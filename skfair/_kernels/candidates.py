"""Kernels of k-means with bounds on sizes, which look at a few candidate clusters per sample.

Each cluster has a multiplier of its bounds. The reduced cost of a sample in a cluster is the
squared distance plus the multiplier. The candidates of a sample are the clusters of least reduced
cost.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from skfair._kernels import NO_INDEX, fastmath_helper, helper, jit
from skfair._kernels.sparse_samples import kernel_rows, member_distances, row_of


class Candidates(NamedTuple):
    """Candidate clusters of each sample, least reduced costs at some multipliers."""

    clusters: np.ndarray  # (n_samples, n_candidates) int32
    distances: np.ndarray  # (n_samples, n_candidates) squared, to the centres
    limits: np.ndarray  # (n_samples,) least reduced cost of others; inf: none
    multipliers: np.ndarray  # (n_clusters,) at which they are the least


@jit
def select_smallest(values, clusters, selected):
    """The smallest values of each row in rising order, and their positions."""
    n_candidates = clusters.shape[1]
    for i in range(len(values)):
        row, places, lowest = values[i], clusters[i], selected[i]
        lowest[:] = np.inf
        places[:] = 0
        last = lowest[n_candidates - 1]
        for k in range(len(row)):
            value = row[k]
            if not value < last:
                continue
            j = n_candidates - 1
            while j > 0 and lowest[j - 1] > value:
                lowest[j], places[j] = lowest[j - 1], places[j - 1]
                j -= 1
            lowest[j], places[j] = value, k
            last = lowest[n_candidates - 1]


@fastmath_helper
def _distance(x, center, zero):
    """Squared distance of a sample to a centre, summed in the precision of ``zero``."""
    total = zero
    for f in range(len(x)):
        difference = x[f] - center[f]
        total += difference * difference
    return total


def measure_candidates(X, centers, clusters, distances):
    """Squared distances to the candidates, summed in the precision of ``centers``."""
    if not sparse.issparse(X):
        return _measure_candidates(X, centers, clusters, distances)
    for j, column in enumerate(clusters.T):
        distances[:, j] = member_distances(X, centers, column)


@jit
def _measure_candidates(X, centers, clusters, distances):
    zero = centers[0, 0] * 0
    for p in range(len(X)):
        for j in range(clusters.shape[1]):
            distances[p, j] = _distance(X[p], centers[clusters[p, j]], zero)


@jit
def evaluate_candidates(candidates, multipliers, shift, width, labels, second, gaps, counts, ties):
    """Evaluate the dual of sizes: labels, next clusters, gaps, counts and near ties, in place.

    Returns the sum of reduced costs, the number of samples that may need more candidates, and the
    number of near ties. ``shift`` is the least change of a multiplier since the selection.
    """
    clusters, distances, limits, _ = candidates
    total, n_short, n_ties = 0.0, 0, 0
    counts[:] = 0
    for p in range(len(labels)):
        lowest = following = np.inf
        best = other = 0
        for j in range(clusters.shape[1]):
            k = clusters[p, j]
            cost = distances[p, j] + multipliers[k]
            if cost < lowest:
                following, other, lowest, best = lowest, best, cost, k
            elif cost < following:
                following, other = cost, k
        labels[p], second[p], gaps[p] = best, other, following - lowest
        counts[best] += 1
        # A cluster that is not listed may cost less: count what it costs at least.
        if lowest > limits[p] + shift:
            n_short += 1
            lowest = limits[p] + shift
            following = max(following, lowest)
        total += lowest
        if following - lowest < width:
            ties[n_ties] = p
            n_ties += 1
    return total, n_short, n_ties


@jit
def solve_laplacian(indptr, indices, weights, diagonal, free, target, solution, tol, scratch):
    """Solve (diagonal - weights) x = target in free unknowns by conjugate gradients, in place."""
    residual, direction, image = scratch
    n, product, norm = len(diagonal), 0.0, 0.0
    for a in range(n):
        residual[a] = direction[a] = image[a] = 0.0
    for a in range(n):
        if free[a]:
            value = target[a] - diagonal[a] * solution[a]
            for i in range(indptr[a], indptr[a + 1]):
                value += weights[i] * solution[indices[i]]
            residual[a], direction[a] = value, value / diagonal[a]
            product += value * direction[a]
            norm += target[a] * target[a]
    for _ in range(100):
        curvature = 0.0
        for a in range(n):
            if free[a]:
                value = diagonal[a] * direction[a]
                for i in range(indptr[a], indptr[a + 1]):
                    value -= weights[i] * direction[indices[i]]
                image[a] = value
                curvature += direction[a] * value
        if not curvature > 0.0:
            break
        step, last, squares, product = product / curvature, product, 0.0, 0.0
        for a in range(n):
            if free[a]:
                solution[a] += step * direction[a]
                residual[a] -= step * image[a]
                product += residual[a] * residual[a] / diagonal[a]
                squares += residual[a] * residual[a]
        if squares <= tol * tol * norm:
            break
        for a in range(n):
            if free[a]:
                direction[a] = residual[a] / diagonal[a] + product / last * direction[a]


# Integer repair: members move along shortest paths between clusters.


@helper
def _find_arcs(a, first, after, candidates, multipliers, costs, movers):
    """Least change of the reduced cost by a member of a cluster that goes to each other one."""
    clusters, distances, _, _ = candidates
    costs[:] = np.inf
    p = first[a]
    while p >= 0:
        here = np.inf
        for j in range(clusters.shape[1]):
            if clusters[p, j] == a:
                here = distances[p, j] + multipliers[a]
        for j in range(clusters.shape[1]):
            b = clusters[p, j]
            change = distances[p, j] + multipliers[b] - here
            if b != a and here < np.inf and change < costs[b]:
                costs[b], movers[b] = change, p
        p = after[p]


@helper
def _remove_member(a, p, first, after):
    """Remove a sample from the linked list of the members of a cluster."""
    if first[a] == p:
        first[a] = after[p]
        return
    q = first[a]
    while after[q] != p:
        q = after[q]
    after[q] = after[p]


def repair_sizes(candidates, multipliers, labels, sizes, bounds):
    """Move samples along shortest paths until all sizes are within bounds, or no path is left.

    Changes ``labels`` and ``sizes`` in place.
    """
    n_samples, n_clusters = len(labels), len(sizes)
    arcs = (n_clusters, n_clusters)
    _repair_sizes(
        candidates,
        multipliers,
        labels,
        sizes,
        bounds,
        (np.full(n_clusters, NO_INDEX), np.full(n_samples, NO_INDEX)),
        (np.empty(arcs, np.float32), np.empty(arcs, np.int32)),
        (np.empty(n_clusters), np.empty(n_clusters, np.int64), np.empty(n_clusters)),
        (np.zeros(n_clusters, np.bool_), np.empty(n_clusters + 1, np.int64)),
        np.empty(n_clusters, np.bool_),
    )


@jit
def _repair_sizes(
    candidates, multipliers, labels, sizes, bounds, members, arcs, paths, waiting, touched
):
    smallest, largest = bounds
    (first, after), (costs, movers) = members, arcs
    (reached, previous, ends), (is_queued, queue) = paths, waiting
    n_clusters = len(sizes)
    for p in range(len(labels)):
        after[p] = first[labels[p]]
        first[labels[p]] = p
    for a in range(n_clusters):
        _find_arcs(a, first, after, candidates, multipliers, costs[a], movers[a])
    n_moves = 1
    while n_moves > 0:
        n_moves = 0
        is_over = sizes.max() > largest
        if not is_over and sizes.min() >= smallest:
            break
        # Shortest paths from all clusters that can give, by Bellman and Ford with a queue.
        front = back = 0
        for a in range(n_clusters):
            gives = sizes[a] > (largest if is_over else smallest)
            reached[a], previous[a] = (multipliers[a] if gives else np.inf), NO_INDEX
            is_queued[a] = gives
            if gives:
                queue[back] = a
                back += 1
        for _ in range(50 * n_clusters):
            if front == back:
                break
            a = queue[front]
            front = (front + 1) % (n_clusters + 1)
            is_queued[a] = False
            for b in range(n_clusters):
                length = reached[a] + costs[a, b]
                if not length < reached[b] - 1e-9:
                    continue
                # Costs are rounded: a path may not close a cycle.
                c = np.int64(a)
                while c >= 0 and c != b:
                    c = previous[c]
                if c == b:
                    continue
                reached[b], previous[b] = length, a
                if not is_queued[b]:
                    queue[back] = b
                    back = (back + 1) % (n_clusters + 1)
                    is_queued[b] = True
        # Cheapest ends first; paths of one search share no cluster.
        for b in range(n_clusters):
            takes = sizes[b] < (largest if is_over else smallest)
            ends[b] = reached[b] - multipliers[b] if takes and previous[b] >= 0 else np.inf
        touched[:] = False
        for end in np.argsort(ends):
            if ends[end] == np.inf:
                break
            is_free, root = not touched[end], np.int64(end)
            while previous[root] >= 0:
                root = previous[root]
                is_free = is_free and not touched[root]
            if not is_free or sizes[root] <= (largest if is_over else smallest):
                continue
            sizes[end] += 1
            sizes[root] -= 1
            b = np.int64(end)
            while previous[b] >= 0:
                a = previous[b]
                p = movers[a, b]
                _remove_member(a, p, first, after)
                after[p] = first[b]
                first[b], labels[p] = p, b
                touched[b] = True
                n_moves += 1
                b = a
            touched[root] = True
        for a in range(n_clusters):
            if touched[a]:
                _find_arcs(a, first, after, candidates, multipliers, costs[a], movers[a])
    return n_moves


# Local search: single moves and exchanges, to candidates only.


def search_candidates(X, clusters, clustering, sizes, bounds):
    """Lower the cost by a pass of moves and exchanges that keep the sizes in bounds, in place.

    ``sizes`` are numbers of members. Returns the gain.
    """
    arcs = (len(sizes), len(sizes))
    gains, partners = np.full(arcs, np.inf, np.float32), np.full(arcs, -1, np.int32)
    rows = kernel_rows(X)
    return _search_candidates(
        rows, clusters, clustering.labels, clustering.centers, sizes, bounds, gains, partners
    )


@jit
def _search_candidates(X, clusters, labels, centers, sizes, bounds, gains, partners):
    smallest, largest = bounds
    total, n_features = 0.0, centers.shape[1]
    for p in range(len(labels)):
        a, x = labels[p], row_of(X, p)
        if sizes[a] <= 1:
            continue
        here = _distance(x, centers[a], 0.0)
        leaving = sizes[a] / (sizes[a] - 1.0) * here
        goal, partner, lowest = NO_INDEX, NO_INDEX, -1e-9 * here
        for j in range(clusters.shape[1]):
            b = np.int64(clusters[p, j])
            if b == a:
                continue
            there = _distance(x, centers[b], 0.0)
            if sizes[b] < largest and sizes[a] > smallest:
                change = sizes[b] / (sizes[b] + 1.0) * there - leaving
                if change < lowest:
                    goal, partner, lowest = b, NO_INDEX, change
            # An exchange with the sample of b that would gain most, or lose least, by going to a.
            q = np.int64(partners[b, a])
            if q >= 0 and labels[q] == b and there - here + gains[b, a] < lowest:
                change, y = there - here, row_of(X, q)
                change += _distance(y, centers[a], 0.0) - _distance(y, centers[b], 0.0)
                change -= (1.0 / sizes[a] + 1.0 / sizes[b]) * _distance(x, y, 0.0)
                if change < lowest:
                    goal, partner, lowest = b, q, change
            if there - here < gains[a, b]:
                gains[a, b], partners[a, b] = there - here, p
        if goal == NO_INDEX:
            continue
        total -= lowest
        labels[p] = goal
        if partner == NO_INDEX:
            for f in range(n_features):
                centers[a, f] += (centers[a, f] - x[f]) / (sizes[a] - 1.0)
                centers[goal, f] -= (centers[goal, f] - x[f]) / (sizes[goal] + 1.0)
            sizes[a] -= 1
            sizes[goal] += 1
        else:
            labels[partner] = a
            partners[goal, a], gains[goal, a] = NO_INDEX, np.inf
            y = row_of(X, partner)
            for f in range(n_features):
                difference = y[f] - x[f]
                centers[a, f] += difference / sizes[a]
                centers[goal, f] -= difference / sizes[goal]
    return total
