"""Paths of cheapest moves along which the least balanced cluster gains balance."""

from typing import NamedTuple

import numpy as np

from skfair._kernels import inlined, jit, part
from skfair._kernels.clustering import (
    binding_groups,
    change,
    distance,
    is_in,
    may_leave,
    move,
    ratio,
    ratio_after,
    sizes_allow,
)

QUEUE_SIZE = 32  # so long that looking through all rows is rare, yet cheap to price at each move


class Path(NamedTuple):
    """Single moves, in order, with what each of them leads to."""

    samples: np.ndarray  # (n_moves,) int32
    clusters: np.ndarray  # (n_moves,) int32, where the sample goes
    gains: np.ndarray  # (n_moves,) change of the cost
    balances: np.ndarray  # (n_moves,) balance after the move


@part
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


@inlined
def _price(distances, weights, codes, clustering, p, target, rare, common, above, limit, limits):
    """Cost per unit of log balance, to first order, of the move of p that helps ``target``.

    A sample of another cluster joins the target, a sample of the target leaves it; ``above`` is the
    target's ratio, ``rare`` and ``common`` its binding groups, and the other cluster must stay
    above it (`_stays_above`). A leave must raise the ratio; a join may keep it, as it breaks a tie
    of rarest groups or fills a gap. So every move is progress, none is ever taken back, and the
    moves come to an end. ``distances`` are those of sample p to all centres. Returns (price,
    destination), (inf, -1) where no such move has a price below the limit.
    """
    labels, centers, sizes, counts, members = clustering
    a, g, w = labels[p], codes[p], weights[p]
    worth = max(counts[target, common if a == target else rare] / w, 1.0)
    best, least = -1, limit
    if not may_leave(clustering, p, w, limits):
        return np.inf, -1
    if a != target:
        price = worth * change(distances[target], distances[a], sizes[target], sizes[a], w)
        if (
            price < limit
            and sizes_allow(sizes, a, target, w, limits)
            and _stays_above(counts[a], members[a], g, -w, above, limits)
            and ratio_after(counts[target], members[target], g, w, limits) >= above
        ):
            best, least = target, price
    elif ratio_after(counts[a], members[a], g, -w, limits) > above:
        for k in range(sizes.size):
            if k != a:
                price = worth * change(distances[k], distances[a], sizes[k], sizes[a], w)
                if (
                    price < least
                    and sizes_allow(sizes, a, k, w, limits)
                    and _stays_above(counts[k], members[k], g, w, above, limits)
                ):
                    best, least = k, price
    if best < 0:
        return np.inf, -1
    return least, best


@inlined
def _helps(codes, clustering, p, target, rare, common, limits):
    """Whether sample p could make ``target`` better balanced by coming or by going."""
    return is_in(limits.kinds, codes[p], common if clustering.labels[p] == target else rare)


@part
def _queue_candidates(rows, distances, weights, codes, clustering, target, above, queue, limits):
    """Fill ``queue`` with the rows that help ``target`` most cheaply, the cheapest first.

    Returns how many there are and the price that no row left out goes below.
    """
    labels, centers, sizes, counts, members = clustering
    rare, common = binding_groups(counts[target], limits)
    prices = np.empty(queue.size)
    prices[:] = np.inf
    length = 0
    for r in range(rows.size):
        p, limit = rows[r], prices[queue.size - 1]
        a, w = labels[p], weights[p]
        promising = sizes[a] > w and _helps(codes, clustering, p, target, rare, common, limits)
        if promising and a != target:
            cost = change(distances[r, target], distances[r, a], sizes[target], sizes[a], w)
            promising = cost * max(counts[target, rare] / w, 1.0) < limit
        if promising:
            price, k = _price(
                distances[r],
                weights,
                codes,
                clustering,
                p,
                target,
                rare,
                common,
                above,
                limit,
                limits,
            )
            if k >= 0:
                i = min(length, queue.size - 1)
                while i > 0 and prices[i - 1] > price:
                    queue[i], prices[i] = queue[i - 1], prices[i - 1]
                    i -= 1
                queue[i], prices[i] = p, price
                length = min(length + 1, queue.size)
    return length, prices[queue.size - 1]


@part
def _cheapest_queued(X, weights, codes, clustering, target, above, queue, limits):
    """Position in the queue, price and destination of the cheapest move at today's centres."""
    labels, centers, sizes, counts, members = clustering
    rare, common = binding_groups(counts[target], limits)
    distances = np.empty(sizes.size)
    best, least, destination = -1, np.inf, -1
    for i in range(queue.size):
        p = queue[i]
        if _helps(codes, clustering, p, target, rare, common, limits):
            for k in range(sizes.size):
                if k == target or k == labels[p] or labels[p] == target:
                    distances[k] = distance(X[p], centers[k])
            price, k = _price(
                distances, weights, codes, clustering, p, target, rare, common, above, least, limits
            )
            if k >= 0:
                best, least, destination = i, price, k
    return best, least, destination


def raise_balance(X, weights, codes, clustering, rows, distances, limits, max_moves):
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
    n_moves = _raise_balance(X, weights, codes, clustering, rows, distances, limits, path)
    return Path(*(column[:n_moves] for column in path))


@part
def _lowest(values):
    """Position of the least value, ties to the lowest."""
    lowest = 0
    for k in range(1, values.size):
        if values[k] < values[lowest]:
            lowest = k
    return lowest


@part
def _write_move(X, weights, clustering, p, k, path, n_moves):
    """Write down that a sample is about to move, and what that costs."""
    labels, centers, sizes, _, _ = clustering
    a = labels[p]
    path.gains[n_moves] = change(
        distance(X[p], centers[k]), distance(X[p], centers[a]), sizes[k], sizes[a], weights[p]
    )
    path.samples[n_moves], path.clusters[n_moves] = p, k


@jit
def _raise_balance(X, weights, codes, clustering, rows, distances, limits, path):
    labels, _, sizes, counts, members = clustering
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
        best, price, k = _cheapest_queued(
            X, weights, codes, clustering, target, above, queue, limits
        )
        if best < 0 or price > highest[target]:
            lengths[target], highest[target] = _queue_candidates(
                rows, distances, weights, codes, clustering, target, above, queues[target], limits
            )
            queue = queues[target, : lengths[target]]
            best, price, k = _cheapest_queued(
                X, weights, codes, clustering, target, above, queue, limits
            )
            if best < 0:
                break
        p = queue[best]
        queue[best] = queue[queue.size - 1]
        lengths[target] -= 1
        _write_move(X, weights, clustering, p, k, path, n_moves)
        a = labels[p]
        move(X, weights, codes, clustering, p, k, limits)
        ratios[a] = ratio(counts[a], members[a], limits)
        ratios[k] = ratio(counts[k], members[k], limits)
        path.balances[n_moves] = ratios[_lowest(ratios)]
        n_moves += 1
    return n_moves
