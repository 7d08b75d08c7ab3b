"""Kernels of the alternating algorithm: mini-batch k-means updates and balance swaps (Algorithm 2).

One clustering is a `State`: its labels and the sums that follow from them. A move of one point
costs O(n_features + n_attributes); a walk over all points is left to `tabulate`, and to swaps whose
batch has grown to a whole set. Random numbers come from a
xorshift generator whose 64-bit state the caller passes in.
"""

from typing import NamedTuple

import numpy as np

from skfair._kernels import inlined, jit, part


class Points(NamedTuple):
    """The fixed data: N points in d dimensions, each in one group of each of A attributes.

    The groups of all attributes are numbered through: those of attribute a are the columns
    ``columns[a]`` to ``columns[a + 1] - 1``, G in all.
    """

    X: np.ndarray  # (N, d) points with weighted mean 0, which keeps the sums small
    weights: np.ndarray  # (N,) all > 0
    groups: np.ndarray  # (N, A) the column of each point, by attribute
    columns: np.ndarray  # (A + 1,)
    rows: np.ndarray  # (A N,) the points sorted by column
    starts: np.ndarray  # (G + 1,) rows[starts[g]:starts[g + 1]] are the members of column g
    scale: np.ndarray  # (A,) what the balance of an attribute is multiplied with
    total: float  # sum of the weights
    scatter: float  # sum of w |x|^2


class State(NamedTuple):
    """One clustering into K clusters, and the running centres of the stochastic updates."""

    labels: np.ndarray  # (N,)
    sums: np.ndarray  # (K, d) weighted sums of the points of a cluster
    counts: np.ndarray  # (K, G) weight of a group in a cluster
    sizes: np.ndarray  # (K, G) number of points of a group in a cluster
    centers: np.ndarray  # (K, d) what the stochastic updates move; the means only at the start
    seen: np.ndarray  # (K,) weight that has gone into a centre: its step is w / seen


class SwapRule(NamedTuple):
    """How swaps are made."""

    batch: int  # points drawn from a set, of which the closest one moves
    local: bool  # target: the nearest cluster, instead of the one richest in the rare group
    half: bool  # one update is one move; the bottleneck is looked up anew before each
    times: int = 1  # iterations from one clustering to the next that is looked at


_SHIFTS = (np.uint64(13), np.uint64(7), np.uint64(17))
_HALF_WORD = np.uint64(32)


@inlined
def random_below(rng, n):
    """A uniform integer in [0, n), n < 2**31, from one xorshift step (Marsaglia, 2003)."""
    s = rng[0]
    s ^= s << _SHIFTS[0]
    s ^= s >> _SHIFTS[1]
    s ^= s << _SHIFTS[2]
    rng[0] = s
    return (np.int64(s >> _HALF_WORD) * n) >> 32


@inlined
def squared_distance(X, p, center):
    total = 0.0
    for f in range(X.shape[1]):
        gap = X[p, f] - center[f]
        total += gap * gap
    return total


@jit
def tabulate(points, state):
    """Sums, counts and sizes of a clustering, from its labels alone."""
    state.sums[:] = 0.0
    state.counts[:] = 0.0
    state.sizes[:] = 0
    for p in range(points.X.shape[0]):
        k, w = state.labels[p], points.weights[p]
        for f in range(points.X.shape[1]):
            state.sums[k, f] += w * points.X[p, f]
        for a in range(points.groups.shape[1]):
            g = points.groups[p, a]
            state.counts[k, g] += w
            state.sizes[k, g] += 1


@inlined
def cluster_weight(points, state, k):
    total = 0.0
    for g in range(points.columns[1]):
        total += state.counts[k, g]
    return total


@inlined
def is_single(points, state, k):
    """Whether cluster k holds one point only, which must stay."""
    total = 0
    for g in range(points.columns[1]):
        total += state.sizes[k, g]
    return total == 1


@jit
def recenter(points, state):
    """Put the running centres on the means."""
    for k in range(state.sums.shape[0]):
        state.seen[k] = cluster_weight(points, state, k)
        shrink = 1.0 / state.seen[k]
        for f in range(state.sums.shape[1]):
            state.centers[k, f] = state.sums[k, f] * shrink


@part
def cost(points, state):
    """Mean squared distance to the means: (sum w |x|^2 - sum_k |S_k|^2 / n_k) / sum w."""
    kept = 0.0
    for k in range(state.sums.shape[0]):
        square = 0.0
        for f in range(state.sums.shape[1]):
            square += state.sums[k, f] ** 2
        kept += square / cluster_weight(points, state, k)
    return (points.scatter - kept) / points.total


@inlined
def bottleneck(points, state):
    """The least balance, its cluster, and that cluster's rarest and commonest group."""
    least, low, rare, common = np.inf, 0, 0, 0
    for a in range(points.groups.shape[1]):
        for k in range(state.counts.shape[0]):
            r = c = points.columns[a]
            for g in range(points.columns[a] + 1, points.columns[a + 1]):
                if state.counts[k, g] < state.counts[k, r]:
                    r = g
                if state.counts[k, g] > state.counts[k, c]:
                    c = g
            balance = points.scale[a] * state.counts[k, r] / state.counts[k, c]
            if balance < least:
                least, low, rare, common = balance, k, r, c
    return least, low, rare, common


@inlined
def nearest_center(centers, X, p):
    best, nearest = np.inf, 0
    for k in range(centers.shape[0]):
        d = squared_distance(X, p, centers[k])
        if d < best:
            best, nearest = d, k
    return nearest


@inlined
def local_target(centers, low):
    """The cluster whose centre is nearest to that of cluster `low`, equation (5)."""
    best, target = np.inf, low
    for k in range(centers.shape[0]):
        d = squared_distance(centers, k, centers[low])
        if k != low and d < best:
            best, target = d, k
    return target


@inlined
def global_target(counts, low, rare, common):
    """The cluster with the largest ratio rare : common, equation (4) as meant."""
    target = low
    for k in range(counts.shape[0]):
        # cross-multiplied, so that clusters without the common group rank highest
        if counts[k, rare] * counts[target, common] > counts[target, rare] * counts[k, common]:
            target = k
    return target


@inlined
def closest_member(points, state, k, g, center, batch, rng):
    """Among `batch` random points of group g in cluster k the one closest to a centre.

    Draws are uniform and independent: a point of the group is drawn until one lies in the
    cluster. When the batch covers the set, the whole set is looked at, so the expected work
    stays below the size of the group.
    """
    first, n_group = points.starts[g], points.starts[g + 1] - points.starts[g]
    whole = batch >= state.sizes[k, g]
    best, closest = np.inf, -1
    for i in range(n_group if whole else batch):
        p = points.rows[first + (i if whole else random_below(rng, n_group))]
        while not whole and state.labels[p] != k:
            p = points.rows[first + random_below(rng, n_group)]
        if state.labels[p] == k:
            d = squared_distance(points.X, p, center)
            if d < best:
                best, closest = d, p
    return closest


@inlined
def pull(points, state, p, k):
    """Draw the centre of cluster k towards point p: c_k += (w / N_k)(x - c_k)."""
    step = points.weights[p] / state.seen[k]
    for f in range(points.X.shape[1]):
        state.centers[k, f] += step * (points.X[p, f] - state.centers[k, f])


@inlined
def move(points, state, p, k, journal, n_moves):
    """Move point p to cluster k and note where it came from; the new length of the journal."""
    old, w = state.labels[p], points.weights[p]
    for f in range(points.X.shape[1]):
        change = w * points.X[p, f]
        state.sums[old, f] -= change
        state.sums[k, f] += change
    for a in range(points.groups.shape[1]):
        g = points.groups[p, a]
        state.counts[old, g] -= w
        state.counts[k, g] += w
        state.sizes[old, g] -= 1
        state.sizes[k, g] += 1
    state.labels[p] = k
    journal[n_moves, 0] = p
    journal[n_moves, 1] = old
    return n_moves + 1


@part
def kmeans_updates(points, state, n_updates, rng, journal, n_moves):
    """Assign random points to their nearest centre, which follows them (Algorithm 1)."""
    for _ in range(n_updates):
        p = random_below(rng, points.X.shape[0])
        k = nearest_center(state.centers, points.X, p)
        if k != state.labels[p]:
            if is_single(points, state, state.labels[p]):
                continue
            n_moves = move(points, state, p, k, journal, n_moves)
        state.seen[k] += points.weights[p]
        pull(points, state, p, k)
    return n_moves


@part
def swap_updates(points, state, n_updates, rule, rng, journal, n_moves):
    """Swap points between the worst balanced cluster and a target (Algorithm 2).

    A swap is two moves: a point of the rare group comes in, one of the common group goes out.
    It stops early where no swap is possible, as nothing would change until the next one.
    """
    low = target = rare = common = 0
    for i in range(n_updates if rule.half else 2 * n_updates):
        coming = i % 2 == 0
        if coming or rule.half:
            _, low, rare, common = bottleneck(points, state)
            if rule.local:
                target = local_target(state.centers, low)
            else:
                target = global_target(state.counts, low, rare, common)
            if target == low or rare == common or state.sizes[target, rare] == 0:
                break
        source, sink, g = (target, low, rare) if coming else (low, target, common)
        if is_single(points, state, source):
            break
        p = closest_member(points, state, source, g, state.centers[sink], rule.batch, rng)
        n_moves = move(points, state, p, sink, journal, n_moves)
        pull(points, state, p, sink)
    return n_moves


@part
def iterate(points, state, pair, rule, rng, journal):
    """Iterations of Algorithm 2 with ``pair = (n_a, n_b)``; the number of moves made."""
    n_moves = 0
    for _ in range(rule.times):
        n_moves = kmeans_updates(points, state, pair[0], rng, journal, n_moves)
        n_moves = swap_updates(points, state, pair[1], rule, rng, journal, n_moves)
    return n_moves


def run(points, state, pair, rule, batches, rng):
    """Iterations of Algorithm 2 in place, one per batch size; their (cost, balance)."""
    trace = np.empty((len(batches), 2))
    _run(points, state, pair, rule, batches, rng, trace)
    return trace


@jit
def _run(points, state, pair, rule, batches, rng, trace):
    journal = new_journal(pair.reshape(1, 2), rule)
    for t in range(batches.shape[0]):
        grown = SwapRule(batches[t], rule.local, rule.half, rule.times)
        iterate(points, state, pair, grown, rng, journal)
        trace[t, 0] = cost(points, state)
        trace[t, 1] = bottleneck(points, state)[0]


@part
def new_journal(pairs, rule):
    """Room for the moves of `iterate` with any of the pairs."""
    longest = 0
    for q in range(pairs.shape[0]):
        longest = max(longest, pairs[q, 0] + 2 * pairs[q, 1])
    return np.empty((longest * rule.times, 2), np.int64)
