"""Moves and exchanges of samples: Hartigan passes, exchange passes, balance-raising paths.

Moving a sample of weight w out of cluster a and into cluster b changes the k-means cost by ::

    w n_b / (n_b + w) |x - m_b|^2  -  w n_a / (n_a - w) |x - m_a|^2

where n and m are the weight and the mean of a cluster before the move (Hartigan, 1975).
"""

from typing import NamedTuple

import numpy as np

from skfair._kernels import jit

QUEUE_SIZE = 32  # so long that looking through all rows is rare, yet cheap to price at each move


class Clustering(NamedTuple):
    """A clustering that single moves change in place."""

    labels: np.ndarray  # (n_samples,) int32
    centers: np.ndarray  # (n_clusters, n_features) weighted means of the members
    sizes: np.ndarray  # (n_clusters,) weight of the members
    counts: np.ndarray  # (n_clusters, n_groups) weight of the members by group
    members: np.ndarray  # (n_clusters, n_groups) int64, number of the members


class Path(NamedTuple):
    """Single moves, in order, with what each of them leads to."""

    samples: np.ndarray  # (n_moves,) int32
    clusters: np.ndarray  # (n_moves,) int32, where the sample goes
    gains: np.ndarray  # (n_moves,) change of the cost
    balances: np.ndarray  # (n_moves,) balance after the move


@jit
def tabulate(X, weights, codes, labels, n_clusters, n_groups):
    """Build the clustering that ``labels`` (copied) describes, by one sequential sum.

    The centre of an empty cluster is nan.
    """
    centers = np.zeros((n_clusters, X.shape[1]))
    sizes = np.zeros(n_clusters)
    counts = np.zeros((n_clusters, n_groups))
    members = np.zeros((n_clusters, n_groups), np.int64)
    copy = np.empty(labels.size, np.int32)
    for p in range(labels.size):
        k, g, w = labels[p], codes[p], weights[p]
        copy[p] = k
        sizes[k] += w
        counts[k, g] += w
        members[k, g] += 1
        for f in range(X.shape[1]):
            centers[k, f] += w * X[p, f]
    for k in range(n_clusters):
        for f in range(X.shape[1]):
            centers[k, f] /= sizes[k]
    return Clustering(copy, centers, sizes, counts, members)


@jit
def cost_of(X, weights, clustering):
    """Sum of weighted squared distances to the centres, from scratch, in one sequential sum."""
    labels, centers = clustering.labels, clustering.centers
    cost = 0.0
    for p in range(labels.size):
        cost += weights[p] * _distance(X[p], centers[labels[p]])
    return cost


@jit
def _distance(x, center):
    s = 0.0
    for f in range(x.size):
        d = x[f] - center[f]
        s += d * d
    return s


@jit
def _ratio(counts, members):
    """Weight of the rarest over that of the commonest group; 0 where a group is missing."""
    low, high = np.inf, 0.0
    for j in range(counts.size):
        if members[j] == 0:
            return 0.0
        low = min(low, counts[j])
        high = max(high, counts[j])
    return low / high


@jit
def _ratio_after(counts, members, g, w, sign):
    """The ratio once a sample of group g and weight w has come (+1) or gone (-1)."""
    kept, had = counts[g], members[g]
    counts[g], members[g] = kept + sign * w, had + sign
    ratio = _ratio(counts, members)
    counts[g], members[g] = kept, had
    return ratio


@jit
def _move(X, weights, codes, clustering, p, k):
    """Give sample p to cluster k."""
    labels, centers, sizes, counts, members = clustering
    a, g, w = labels[p], codes[p], weights[p]
    labels[p] = k
    sizes[a] -= w
    sizes[k] += w
    counts[a, g] -= w
    counts[k, g] += w
    members[a, g] -= 1
    members[k, g] += 1
    for f in range(X.shape[1]):
        centers[a, f] += w * (centers[a, f] - X[p, f]) / sizes[a]
        centers[k, f] -= w * (centers[k, f] - X[p, f]) / sizes[k]


@jit
def _change(distance_to, distance_from, size_to, size_from, w):
    """Change of the cost by a move, see the module's formula."""
    joining = w * size_to / (size_to + w) * distance_to
    leaving = w * size_from / (size_from - w) * distance_from
    return joining - leaving


@jit
def _may_leave(clustering, p, w):
    """Whether the cluster of sample p keeps a member without it."""
    a = clustering.labels[p]
    return clustering.members[a].sum() > 1 and clustering.sizes[a] > w


@jit
def hartigan_pass(X, distances, weights, codes, clustering, floor):
    """Move each sample to where it costs least, never below the balance ``floor``.

    ``distances`` are those to the centres at the start. They pick the samples that are looked at
    again at the centres of their turn; so a pass without a move proves that no move lowers the
    cost. Returns the number of moves. Changes ``clustering`` in place.
    """
    labels, centers, sizes, counts, members = clustering
    bound = floor * (1.0 - 1e-12)
    n_moves = 0
    row = np.empty(sizes.size)
    for p in range(labels.size):
        a, w = labels[p], weights[p]
        if sizes[a] <= w:
            continue
        leaving = distances[p, a] * sizes[a] / (sizes[a] - w)
        attractive = 0
        for k in range(sizes.size):
            attractive += distances[p, k] * sizes[k] < leaving * (sizes[k] + w)
        # Its own cluster is always attractive; for most samples it is the only one.
        if (
            attractive > 1
            and _cheapest_move(distances[p], weights, codes, clustering, p, bound) >= 0
        ):
            for k in range(sizes.size):
                row[k] = _distance(X[p], centers[k])
            best = _cheapest_move(row, weights, codes, clustering, p, bound)
            if best >= 0:
                _move(X, weights, codes, clustering, p, best)
                n_moves += 1
    return n_moves


@jit
def _cheapest_move(distances, weights, codes, clustering, p, bound):
    """Cluster that sample p should move to, -1 where no allowed move lowers the cost.

    ``distances`` are those of sample p to all centres.
    """
    labels, centers, sizes, counts, members = clustering
    a, g, w = labels[p], codes[p], weights[p]
    if sizes[a] <= w:
        return -1
    best, least = -1, -1e-12 * w * distances[a]
    may_leave = False
    for k in range(sizes.size):
        if k != a and _change(distances[k], distances[a], sizes[k], sizes[a], w) < least:
            if not may_leave:
                if not _may_leave(clustering, p, w):
                    return -1
                if bound > 0.0 and _ratio_after(counts[a], members[a], g, w, -1) < bound:
                    return -1
                may_leave = True
            if bound <= 0.0 or _ratio_after(counts[k], members[k], g, w, 1) >= bound:
                best, least = k, _change(distances[k], distances[a], sizes[k], sizes[a], w)
    return best


@jit
def _stays_above(counts, members, g, w, sign, above):
    """Whether a cluster's ratio stays above a bound after a change.

    At the bound 0 a cluster that lacks a group anyway may change as long as it does not lose its
    last member of another.
    """
    if above == 0.0 and _ratio(counts, members) == 0.0:
        return members[g] + sign > 0
    return _ratio_after(counts, members, g, w, sign) > above


@jit
def _price(distances, weights, codes, clustering, p, target, above, limit):
    """Cost per unit of log balance, to first order, of the move of p that helps ``target``.

    A sample of another cluster joins the target, a sample of the target leaves it; ``above`` is the
    target's ratio, and the other cluster must stay above it (`_stays_above`). A leave must raise
    the ratio; a join may keep it, as it breaks a tie of rarest groups or fills a gap. So every move
    is progress, none is ever taken back, and the moves come to an end. ``distances`` are those of
    sample p to all centres. Returns (price, destination), (inf, -1) where no such move has a price
    below the limit.
    """
    labels, centers, sizes, counts, members = clustering
    a, g, w = labels[p], codes[p], weights[p]
    worth = max(counts[target, g] / w, 1.0)
    best, least = -1, limit
    if not _may_leave(clustering, p, w):
        return np.inf, -1
    if a != target:
        price = worth * _change(distances[target], distances[a], sizes[target], sizes[a], w)
        if (
            price < limit
            and _stays_above(counts[a], members[a], g, w, -1, above)
            and _ratio_after(counts[target], members[target], g, w, 1) >= above
        ):
            best, least = target, price
    elif _ratio_after(counts[a], members[a], g, w, -1) > above:
        for k in range(sizes.size):
            if k != a:
                price = worth * _change(distances[k], distances[a], sizes[k], sizes[a], w)
                if price < least and _stays_above(counts[k], members[k], g, w, 1, above):
                    best, least = k, price
    if best < 0:
        return np.inf, -1
    return least, best


@jit
def _helps(codes, clustering, p, target, rare, common):
    """Whether sample p could make ``target`` better balanced by coming or by going."""
    return codes[p] == (common if clustering.labels[p] == target else rare)


@jit
def _queue_candidates(rows, distances, weights, codes, clustering, target, above, queue):
    """Fill ``queue`` with the rows that help ``target`` most cheaply, the cheapest first.

    Returns how many there are and the price that no row left out goes below.
    """
    labels, centers, sizes, counts, members = clustering
    rare, common = np.argmin(counts[target]), np.argmax(counts[target])
    prices = np.full(queue.size, np.inf)
    length = 0
    for r in range(rows.size):
        p, limit = rows[r], prices[queue.size - 1]
        a, w = labels[p], weights[p]
        if sizes[a] <= w:
            promising = False
        elif a != target and codes[p] == rare:
            change = _change(distances[r, target], distances[r, a], sizes[target], sizes[a], w)
            promising = change * max(counts[target, rare] / w, 1.0) < limit
        else:
            promising = a == target and codes[p] == common
        if promising:
            price, k = _price(distances[r], weights, codes, clustering, p, target, above, limit)
            if k >= 0:
                i = min(length, queue.size - 1)
                while i > 0 and prices[i - 1] > price:
                    queue[i], prices[i] = queue[i - 1], prices[i - 1]
                    i -= 1
                queue[i], prices[i] = p, price
                length = min(length + 1, queue.size)
    return length, prices[queue.size - 1]


@jit
def _cheapest_queued(X, weights, codes, clustering, target, above, queue):
    """Position in the queue, price and destination of the cheapest move at today's centres."""
    labels, centers, sizes, counts, members = clustering
    rare, common = np.argmin(counts[target]), np.argmax(counts[target])
    distances = np.empty(sizes.size)
    best, least, destination = -1, np.inf, -1
    for i in range(queue.size):
        p = queue[i]
        if _helps(codes, clustering, p, target, rare, common):
            for k in range(sizes.size):
                if k == target or k == labels[p] or labels[p] == target:
                    distances[k] = _distance(X[p], centers[k])
            price, k = _price(distances, weights, codes, clustering, p, target, above, least)
            if k >= 0:
                best, least, destination = i, price, k
    return best, least, destination


@jit
def raise_balance(X, weights, codes, clustering, rows, distances, goal, max_moves):
    """Raise the least balanced cluster by the cheapest move, until the balance reaches ``goal``.

    ``rows`` are the samples that may move, ``distances`` theirs to the centres at the start. Each
    cluster keeps a queue of its cheapest candidates by these distances. The queue is priced anew at
    every move, all other rows only when the best of the queue costs more than they did when the
    queue was made. Changes ``clustering`` in place and returns the path; it ends below the goal
    where no move helps.
    """
    labels, centers, sizes, counts, members = clustering
    n_clusters = sizes.size
    samples = np.empty(max_moves, np.int32)
    clusters = np.empty(max_moves, np.int32)
    gains = np.empty(max_moves)
    balances = np.empty(max_moves)
    queues = np.empty((n_clusters, QUEUE_SIZE), np.int64)
    lengths = np.zeros(n_clusters, np.int64)
    limits = np.full(n_clusters, -np.inf)
    ratios = np.empty(n_clusters)
    for k in range(n_clusters):
        ratios[k] = _ratio(counts[k], members[k])
    n_moves = 0
    while n_moves < max_moves:
        target = np.argmin(ratios)
        above = ratios[target]
        if above >= goal:
            break
        queue = queues[target, : lengths[target]]
        best, price, k = _cheapest_queued(X, weights, codes, clustering, target, above, queue)
        if best < 0 or price > limits[target]:
            lengths[target], limits[target] = _queue_candidates(
                rows, distances, weights, codes, clustering, target, above, queues[target]
            )
            queue = queues[target, : lengths[target]]
            best, price, k = _cheapest_queued(X, weights, codes, clustering, target, above, queue)
            if best < 0:
                break
        p = queue[best]
        queue[best] = queue[-1]
        lengths[target] -= 1
        a = labels[p]
        gains[n_moves] = _change(
            _distance(X[p], centers[k]), _distance(X[p], centers[a]), sizes[k], sizes[a], weights[p]
        )
        _move(X, weights, codes, clustering, p, k)
        ratios[a] = _ratio(counts[a], members[a])
        ratios[k] = _ratio(counts[k], members[k])
        samples[n_moves], clusters[n_moves], balances[n_moves] = p, k, ratios.min()
        n_moves += 1
    return Path(samples[:n_moves], clusters[:n_moves], gains[:n_moves], balances[:n_moves])


@jit
def _exchange_bounds(distances, codes, weight, clustering):
    """What each sample contributes at least to the change of an exchange between two clusters.

    Exchanging p of cluster a and q of cluster c, both of weight w, changes the cost by w times ::

        h_p(c) + h_q(a) - kappa |x_p - x_q|^2,      h_p(c) = |x_p - m_c|^2 - |x_p - m_a|^2

    with kappa = w (1 / n_a + 1 / n_c). As |x_p - x_q|^2 <= 2 r_p^2 + 2 r_q^2, r the distance to
    the point halfway between the centres, h_p(c) - 2 kappa r_p^2 bounds the share of p from below.
    """
    labels, centers, sizes, counts, members = clustering
    n_clusters = sizes.size
    spreads = np.empty((n_clusters, n_clusters))
    for a in range(n_clusters):
        for c in range(n_clusters):
            spreads[a, c] = 0.25 * _distance(centers[a], centers[c])
    bounds = np.empty_like(distances)
    lowest = np.full((n_clusters, n_clusters, counts.shape[1]), np.inf)
    for p in range(labels.size):
        a = labels[p]
        for c in range(n_clusters):
            kappa = weight / sizes[a] + weight / sizes[c]
            halfway = 0.5 * (distances[p, a] + distances[p, c]) - spreads[a, c]
            bounds[p, c] = distances[p, c] - distances[p, a] - 2.0 * kappa * halfway
            lowest[a, c, codes[p]] = min(lowest[a, c, codes[p]], bounds[p, c])
    return bounds, lowest


@jit
def _by_cluster(labels, n_clusters):
    """Positions of the samples sorted by cluster, and where each cluster starts."""
    starts = np.zeros(n_clusters + 1, np.int64)
    for k in labels:
        starts[k + 1] += 1
    starts = np.cumsum(starts)
    order = np.empty(labels.size, np.int64)
    ends = starts[:-1].copy()
    for p in range(labels.size):
        order[ends[labels[p]]] = p
        ends[labels[p]] += 1
    return order, starts


@jit
def _candidates(rows, codes, bounds, labels, a, c, g, other):
    """Which of the rows, if in cluster a and group g, might gain by going to c.

    ``other`` is the least that the sample exchanged for them contributes. Returns them and their
    bounds, the lowest bound first.
    """
    found = np.empty(rows.size, np.int64)
    values = np.empty(rows.size)
    n = 0
    for p in rows:
        if codes[p] == g and bounds[p, c] + other < 0.0 and labels[p] == a:
            found[n], values[n] = p, bounds[p, c]
            n += 1
    order = np.argsort(values[:n])
    return found[:n][order], values[:n][order]


@jit
def _may_exchange(clustering, a, c, g, h, w, bound):
    """Whether both balances keep the bound when a gives one of group g for one of h from c."""
    counts, members = clustering.counts, clustering.members
    if g == h or bound <= 0.0:
        return True
    for k, gone, come in ((a, g, h), (c, h, g)):
        if members[k, gone] == 1 and members[k].sum() == 1:
            return False
        counts[k, come] += w
        members[k, come] += 1
        ratio = _ratio_after(counts[k], members[k], gone, w, -1)
        counts[k, come] -= w
        members[k, come] -= 1
        if ratio < bound:
            return False
    return True


@jit
def exchange_pass(X, distances, weights, codes, clustering, floor):
    """Exchange pairs of samples between clusters where that lowers the cost.

    For equal sample weights. The balance never falls below ``floor``; an exchange within a group
    leaves it as it is. ``distances`` are those to the centres at the start: a pass that makes no
    exchange proves that none lowers the cost. Returns the number of exchanges. Changes
    ``clustering`` in place.
    """
    labels, centers, sizes, counts, members = clustering
    n_clusters, n_groups = counts.shape
    w = weights[0]
    bound = floor * (1.0 - 1e-12)
    bounds, lowest = _exchange_bounds(distances, codes, w, clustering)
    order, starts = _by_cluster(labels, n_clusters)
    n_exchanges = 0
    for a in range(n_clusters):
        for c in range(a + 1, n_clusters):
            for g in range(n_groups):
                for h in range(n_groups):
                    if lowest[a, c, g] + lowest[c, a, h] >= 0.0:
                        continue
                    if not _may_exchange(clustering, a, c, g, h, w, bound):
                        continue
                    rows, others = (
                        order[starts[a] : starts[a + 1]],
                        order[starts[c] : starts[c + 1]],
                    )
                    givers = _candidates(rows, codes, bounds, labels, a, c, g, lowest[c, a, h])
                    takers = _candidates(others, codes, bounds, labels, c, a, h, lowest[a, c, g])
                    n_exchanges += _exchange(
                        X, weights, codes, clustering, a, c, givers, takers, bound
                    )
    return n_exchanges


@jit
def _exchange(X, weights, codes, clustering, a, c, givers, takers, bound):
    """Exchange each giver of a for the taker of c that lowers the cost most, if one does.

    Both are samples and bounds as `_candidates` returns them.
    """
    labels, centers, sizes, counts, members = clustering
    w = weights[0]
    n_exchanges = 0
    for j in range(givers[0].size):
        p = givers[0][j]
        kappa = w / sizes[a] + w / sizes[c]
        share = _distance(X[p], centers[c]) - _distance(X[p], centers[a])
        scale = _distance(centers[a], centers[c])
        best, least = -1, -1e-10 * scale
        for i in range(takers[0].size):
            if givers[1][j] + takers[1][i] >= 0.0:
                break
            q = takers[0][i]
            if labels[q] == c:
                change = share + _distance(X[q], centers[a]) - _distance(X[q], centers[c])
                change -= kappa * _distance(X[p], X[q])
                if change < least:
                    best, least = q, change
        if best >= 0 and _may_exchange(clustering, a, c, codes[p], codes[best], w, bound):
            _move(X, weights, codes, clustering, p, c)
            _move(X, weights, codes, clustering, best, a)
            n_exchanges += 1
    return n_exchanges
