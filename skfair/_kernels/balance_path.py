"""Paths of cheapest moves, each of which raises the balance of the least balanced cluster."""

from typing import NamedTuple

import numpy as np

from skfair._kernels import deferred_helper
from skfair._kernels._interpreted import interpret_at_first
from skfair._kernels.clustering import change, distance, move
from skfair._kernels.limits import (
    binding_groups,
    is_in,
    is_single,
    ratio,
    ratio_after,
    rows_allow,
)

QUEUE_SIZE = 32  # long enough to search all rows rarely, short enough to evaluate at each move


class MovePath(NamedTuple):
    """Single moves, in order, with the cost and balance after each."""

    samples: np.ndarray  # (n_moves,) int32
    clusters: np.ndarray  # (n_moves,) int32, the new cluster of the sample
    gains: np.ndarray  # (n_moves,) change of the cost
    balances: np.ndarray  # (n_moves,) balance after the move


@deferred_helper
def _stays_above(counts, members, code, change, above, limits):
    """Whether a cluster's ratio stays above a bound after a change.

    At the bound 0 a cluster that already lacks a group may change as long as it keeps a member of
    every other group.
    """
    if above == 0.0 and ratio(counts, members, limits) == 0.0:
        stays = True
        for a in range(limits.intersections.shape[1]):
            stays &= members[limits.intersections[code, a]] > 1
        return stays or change > 0.0
    return ratio_after(counts, members, code, change, limits) > above


@deferred_helper
def _may_change(clustering, k, target, code, change, above, limits):
    """Whether cluster k may gain (change > 0) or lose (change < 0) a sample of an intersection.

    ``above`` is the ratio of the target, and the other clusters must stay above it. A sample that
    leaves must raise the ratio of the target. One that joins may keep it, as it breaks a tie of
    smallest groups or adds a missing group. So no move is ever undone, and the path is finite.
    """
    counts, members = clustering.counts[k], clustering.members[k]
    leaving, joining = (-1, code) if change > 0.0 else (code, -1)
    if not rows_allow(counts, leaving, joining, abs(change), limits):
        return False
    if change < 0.0 and is_single(members, limits):
        return False
    if k != target:
        return _stays_above(counts, members, code, change, above, limits)
    after = ratio_after(counts, members, code, change, limits)
    return after > above or (after == above and change > 0.0)


@deferred_helper
def _find_cheapest(rows, distances, samples, clustering, target, above, limits, queue, costs):
    """Fill ``queue`` with the indices of rows that help ``target`` at the lowest cost, in order.

    A sample of another cluster joins the target, or a sample of the target leaves it. Costs are
    per unit of log balance, to first order, but plain where the level is reached by any gain.
    ``distances`` are those of the rows to all centres. Returns the length of the queue and the
    destination of its first row.
    """
    (masses, weights, codes), (labels, _, sizes, counts, _) = samples, clustering
    smallest, largest = binding_groups(counts[target], limits)
    any_gain_suffices = limits.level <= above * (1 + 1e-12)
    n_intersections = limits.intersections.shape[0]
    # Samples of the smallest group help by joining, those of the largest by leaving.
    helps = np.empty((2, n_intersections), np.bool_)  # by joining; by leaving
    for code in range(n_intersections):
        helps[0, code] = is_in(limits.intersections, code, smallest)
        helps[1, code] = is_in(limits.intersections, code, largest)
    # Cache by intersection: the weight last checked, and whether the cluster may change.
    checked = np.empty((2, n_intersections, sizes.size))
    checked[:] = np.nan
    allowed = np.empty(checked.shape, np.bool_)
    costs[:] = np.inf
    length, destination = 0, -1
    for r in range(rows.size):
        p, least_cost = rows[r], costs[costs.size - 1]
        a, code, mass, w = np.int64(labels[p]), codes[p], masses[p], weights[p]
        side, g = (1, largest) if a == target else (0, smallest)
        if not helps[side, code] or sizes[a] <= mass:
            continue
        # Cheapest destination: any other cluster for a sample that leaves, else the target.
        best = -1
        factor = 1.0 if any_gain_suffices else max(counts[target, g] / w, 1.0)
        for k in range(sizes.size) if a == target else range(target, target + 1):
            cost = factor * change(distances[r, k], distances[r, a], sizes[k], sizes[a], mass)
            if k != a and cost < least_cost:
                for c, signed_weight in ((a, -w), (k, w)):
                    if checked[side, code, c] != w:
                        checked[side, code, c] = w
                        allowed[side, code, c] = _may_change(
                            clustering, c, target, code, signed_weight, above, limits
                        )
                if allowed[side, code, a] and allowed[side, code, k]:
                    best, least_cost = k, cost
        if best < 0:
            continue
        # Insert the row into the queue by cost.
        i = min(length, queue.size - 1)
        while i > 0 and costs[i - 1] > least_cost:
            queue[i], costs[i] = queue[i - 1], costs[i - 1]
            i -= 1
        queue[i], costs[i] = r, least_cost
        length = min(length + 1, queue.size)
        destination = best if i == 0 else destination
    return length, destination


@deferred_helper
def _fill_queue(rows, distances, samples, clustering, target, above, limits, queue):
    """Fill ``queue`` with samples; its length, and a lower bound on the cost of the others."""
    costs = np.empty(queue.size)
    length, _ = _find_cheapest(
        rows, distances, samples, clustering, target, above, limits, queue, costs
    )
    for i in range(length):
        queue[i] = rows[queue[i]]
    return length, costs[queue.size - 1]


@deferred_helper
def _find_cheapest_queued(X, samples, clustering, target, above, queue, limits):
    """Index in the queue, cost and destination of the cheapest move at the current centres."""
    labels, centers, sizes, _, _ = clustering
    distances = np.empty((queue.size, sizes.size))
    for i in range(queue.size):
        p = queue[i]
        for k in range(sizes.size):
            if k == target or k == labels[p] or labels[p] == target:
                distances[i, k] = distance(X[p], centers[k])
    best, least_cost = np.empty(1, np.int64), np.empty(1)
    n_candidates, k = _find_cheapest(
        queue, distances, samples, clustering, target, above, limits, best, least_cost
    )
    return best[0] if n_candidates else -1, least_cost[0], k


def raise_balance(X, masses, weights, codes, clustering, rows, distances, limits, max_moves):
    """Raise the least balanced cluster by the cheapest move, until all reach the level.

    Balance is the ratio of the limits; their rows are kept.

    ``rows`` are the samples that may move, ``distances`` theirs to the centres at the start. Each
    cluster keeps a queue of its cheapest candidates by these distances. The costs in the queue are
    recomputed at every move, those of all other rows only when the best of the queue costs more
    than they did when the queue was filled. Changes ``clustering`` in place and returns the path,
    which ends below the level where no move helps.
    """
    path = MovePath(
        samples=np.empty(max_moves, np.int32),
        clusters=np.empty(max_moves, np.int32),
        gains=np.empty(max_moves),
        balances=np.empty(max_moves),
    )
    n_moves = _raise_balance(X, masses, weights, codes, clustering, rows, distances, limits, path)
    return MovePath(*(column[:n_moves] for column in path))


@deferred_helper
def _argmin(values):
    """Index of the minimum, ties to the lowest index."""
    lowest = 0
    for k in range(1, values.size):
        if values[k] < values[lowest]:
            lowest = k
    return lowest


@deferred_helper
def _record_move(X, masses, clustering, p, k, path, n_moves):
    """Record the move of a sample and its cost, before it is made."""
    labels, centers, sizes, _, _ = clustering
    a = labels[p]
    path.gains[n_moves] = change(
        distance(X[p], centers[k]), distance(X[p], centers[a]), sizes[k], sizes[a], masses[p]
    )
    path.samples[n_moves], path.clusters[n_moves] = p, k


def _count_steps(X, masses, weights, codes, clustering, rows, distances, limits, path):
    return distances.size + path.samples.size * QUEUE_SIZE * X.shape[1]


@interpret_at_first(_count_steps)
def _raise_balance(X, masses, weights, codes, clustering, rows, distances, limits, path):
    (labels, _, sizes, counts, members), samples = clustering, (masses, weights, codes)
    n_clusters = sizes.size
    queues = np.empty((n_clusters, QUEUE_SIZE), np.int64)
    lengths, highest = np.empty(n_clusters, np.int64), np.empty(n_clusters)
    ratios = np.empty(n_clusters)
    for k in range(n_clusters):
        lengths[k], highest[k], ratios[k] = 0, -np.inf, ratio(counts[k], members[k], limits)
    # Raise the least balanced cluster until all reach the level.
    n_moves = 0
    while n_moves < path.samples.size:
        target = _argmin(ratios)
        above = ratios[target]
        if above >= limits.level:
            break
        # The cheapest move of the queue, unless a row outside of it may be cheaper now.
        queue = queues[target, : lengths[target]]
        best, least_cost, k = _find_cheapest_queued(
            X, samples, clustering, target, above, queue, limits
        )
        if best < 0 or least_cost > highest[target]:
            lengths[target], highest[target] = _fill_queue(
                rows, distances, samples, clustering, target, above, limits, queues[target]
            )
            queue = queues[target, : lengths[target]]
            best, least_cost, k = _find_cheapest_queued(
                X, samples, clustering, target, above, queue, limits
            )
            if best < 0:
                break
        # Remove it from the queue, record it and make it.
        p = queue[best]
        queue[best] = queue[queue.size - 1]
        lengths[target] -= 1
        _record_move(X, masses, clustering, p, k, path, n_moves)
        # Move it and update the ratios of both clusters.
        a = labels[p]
        move(X, masses, weights, codes, clustering, p, k, limits)
        ratios[a] = ratio(counts[a], members[a], limits)
        ratios[k] = ratio(counts[k], members[k], limits)
        path.balances[n_moves] = ratios[_argmin(ratios)]
        n_moves += 1
    return n_moves
