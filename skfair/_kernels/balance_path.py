"""Paths of cheapest moves along which the least balanced cluster gains balance."""

from typing import NamedTuple

import numpy as np

from skfair._kernels import jit, stage
from skfair._kernels.clustering import (
    binding_groups,
    change,
    distance,
    is_in,
    is_single,
    move,
    ratio,
    ratio_after,
)

QUEUE_SIZE = 32  # so long that looking through all rows is rare, yet cheap to price at each move


class Path(NamedTuple):
    """Single moves, in order, with what each of them leads to."""

    samples: np.ndarray  # (n_moves,) int32
    clusters: np.ndarray  # (n_moves,) int32, where the sample goes
    gains: np.ndarray  # (n_moves,) change of the cost
    balances: np.ndarray  # (n_moves,) balance after the move


@stage
def _stays_above(counts, members, kind, change, above, limits):
    """Whether a cluster's ratio stays above a bound after a change.

    At the bound 0 a cluster that lacks a group anyway may change as long as it does not lose its
    last member of another.
    """
    if above == 0.0 and ratio(counts, members, limits) == 0.0:
        stays = True
        for a in range(limits.kinds.shape[1]):
            stays &= members[limits.kinds[kind, a]] > 1
        return stays or change > 0.0
    return ratio_after(counts, members, kind, change, limits) > above


@stage
def _may_change(clustering, k, target, kind, change, above, limits):
    """Whether cluster k may gain or lose a sample of a kind, whose weight has the sign.

    ``above`` is the ratio of the target, and the other clusters must stay above it. A leave must
    raise the target's; a join may keep it, as it breaks a tie of rarest groups or fills a gap. So
    every move is progress, none is ever taken back, and the moves come to an end.
    """
    counts, members, size = clustering.counts[k], clustering.members[k], clustering.sizes[k]
    if change > 0.0 and size + change > limits.largest:
        return False
    if change < 0.0 and (size + change < limits.smallest or is_single(clustering, k, limits)):
        return False
    if k != target:
        return _stays_above(counts, members, kind, change, above, limits)
    after = ratio_after(counts, members, kind, change, limits)
    return after > above or (after == above and change > 0.0)


@stage
def _cheapest(rows, distances, people, clustering, target, above, limits, queue, prices):
    """Fill ``queue`` with the positions of the rows that help ``target`` most cheaply, in order.

    A sample of another cluster joins the target, a sample of the target leaves it. Prices are
    costs per unit of log balance, to first order, but plain costs where the level is a rounding
    away; ``distances`` are those of the rows to all centres. Returns how many rows were found, and
    the cluster that the cheapest goes to.
    """
    (masses, weights, codes), (labels, _, sizes, counts, _) = people, clustering
    rare, common = binding_groups(counts[target], limits)
    any_gain_will_do = limits.level <= above * (1 + 1e-12)
    n_kinds = limits.kinds.shape[0]
    helps = np.empty((2, n_kinds), np.bool_)  # by joining; by leaving
    for kind in range(n_kinds):
        helps[0, kind] = is_in(limits.kinds, kind, rare)
        helps[1, kind] = is_in(limits.kinds, kind, common)
    # Whether a cluster may change is asked once per kind and weight.
    asked = np.empty((2, n_kinds, sizes.size))
    asked[:] = np.nan
    may = np.empty(asked.shape, np.bool_)
    prices[:] = np.inf
    length, destination = 0, -1
    for r in range(rows.size):
        p, price = rows[r], prices[prices.size - 1]
        a, kind, mass, w = np.int64(labels[p]), codes[p], masses[p], weights[p]
        side, g = (1, common) if a == target else (0, rare)
        if not helps[side, kind] or sizes[a] <= mass:
            continue
        best = -1
        worth = 1.0 if any_gain_will_do else max(counts[target, g] / w, 1.0)
        for k in range(sizes.size) if a == target else range(target, target + 1):
            cost = worth * change(distances[r, k], distances[r, a], sizes[k], sizes[a], mass)
            if k != a and cost < price:
                for c, coming in ((a, -w), (k, w)):
                    if asked[side, kind, c] != w:
                        asked[side, kind, c] = w
                        may[side, kind, c] = _may_change(
                            clustering, c, target, kind, coming, above, limits
                        )
                if may[side, kind, a] and may[side, kind, k]:
                    best, price = k, cost
        if best < 0:
            continue
        i = min(length, queue.size - 1)
        while i > 0 and prices[i - 1] > price:
            queue[i], prices[i] = queue[i - 1], prices[i - 1]
            i -= 1
        queue[i], prices[i] = r, price
        length = min(length + 1, queue.size)
        destination = best if i == 0 else destination
    return length, destination


@stage
def _queue_cheapest(rows, distances, people, clustering, target, above, limits, queue):
    """Fill ``queue`` with samples; how many there are, and the price that no other goes below."""
    prices = np.empty(queue.size)
    length, _ = _cheapest(rows, distances, people, clustering, target, above, limits, queue, prices)
    for i in range(length):
        queue[i] = rows[queue[i]]
    return length, prices[queue.size - 1]


@stage
def _cheapest_queued(X, people, clustering, target, above, queue, limits):
    """Position in the queue, price and destination of the cheapest move at today's centres."""
    labels, centers, sizes, _, _ = clustering
    distances = np.empty((queue.size, sizes.size))
    for i in range(queue.size):
        p = queue[i]
        for k in range(sizes.size):
            if k == target or k == labels[p] or labels[p] == target:
                distances[i, k] = distance(X[p], centers[k])
    best, price = np.empty(1, np.int64), np.empty(1)
    found, k = _cheapest(queue, distances, people, clustering, target, above, limits, best, price)
    return best[0] if found else -1, price[0], k


def raise_balance(X, masses, weights, codes, clustering, rows, distances, limits, max_moves):
    """Raise the least balanced cluster by the cheapest move, until all reach the level.

    Balance is the ratio that the limits are set on; their sizes are kept.

    ``rows`` are the samples that may move, ``distances`` theirs to the centres at the start. Each
    cluster keeps a queue of its cheapest candidates by these distances. The queue is priced anew at
    every move, all other rows only when the best of the queue costs more than they did when the
    queue was made. Changes ``clustering`` in place and returns the path; it ends below the level
    where no move helps.
    """
    path = Path(
        samples=np.empty(max_moves, np.int32),
        clusters=np.empty(max_moves, np.int32),
        gains=np.empty(max_moves),
        balances=np.empty(max_moves),
    )
    n_moves = _raise_balance(X, masses, weights, codes, clustering, rows, distances, limits, path)
    return Path(*(column[:n_moves] for column in path))


@stage
def _lowest(values):
    """Position of the least value, ties to the lowest."""
    lowest = 0
    for k in range(1, values.size):
        if values[k] < values[lowest]:
            lowest = k
    return lowest


@stage
def _write_move(X, masses, clustering, p, k, path, n_moves):
    """Write down that a sample is about to move, and what that costs."""
    labels, centers, sizes, _, _ = clustering
    a = labels[p]
    path.gains[n_moves] = change(
        distance(X[p], centers[k]), distance(X[p], centers[a]), sizes[k], sizes[a], masses[p]
    )
    path.samples[n_moves], path.clusters[n_moves] = p, k


@jit
def _raise_balance(X, masses, weights, codes, clustering, rows, distances, limits, path):
    (labels, _, sizes, counts, members), people = clustering, (masses, weights, codes)
    n_clusters = sizes.size
    queues = np.empty((n_clusters, QUEUE_SIZE), np.int64)
    lengths, highest = np.empty(n_clusters, np.int64), np.empty(n_clusters)
    ratios = np.empty(n_clusters)
    for k in range(n_clusters):
        lengths[k], highest[k], ratios[k] = 0, -np.inf, ratio(counts[k], members[k], limits)
    n_moves = 0
    while n_moves < path.samples.size:
        target = _lowest(ratios)
        above = ratios[target]
        if above >= limits.level:
            break
        # The cheapest move of the queue, unless a row outside of it may be cheaper by now.
        queue = queues[target, : lengths[target]]
        best, price, k = _cheapest_queued(X, people, clustering, target, above, queue, limits)
        if best < 0 or price > highest[target]:
            lengths[target], highest[target] = _queue_cheapest(
                rows, distances, people, clustering, target, above, limits, queues[target]
            )
            queue = queues[target, : lengths[target]]
            best, price, k = _cheapest_queued(X, people, clustering, target, above, queue, limits)
            if best < 0:
                break
        p = queue[best]
        queue[best] = queue[queue.size - 1]
        lengths[target] -= 1
        _write_move(X, masses, clustering, p, k, path, n_moves)
        a = labels[p]
        move(X, masses, weights, codes, clustering, p, k, limits)
        ratios[a] = ratio(counts[a], members[a], limits)
        ratios[k] = ratio(counts[k], members[k], limits)
        path.balances[n_moves] = ratios[_lowest(ratios)]
        n_moves += 1
    return n_moves
