"""Kernels of the alternating algorithm and of its front (Algorithms 2 and 3)."""

from typing import NamedTuple

import numpy as np

from skfair._kernels import NO_INDEX, helper, jit

# Kernels of the alternating algorithm: mini-batch k-means updates and balance swaps (Algorithm 2).
#
# A `ClusteringState` has the labels of one clustering and the sums that follow from them. A move of
# one sample costs O(n_features + n_attributes). Only `recompute_sums`, and swaps whose batch has
# grown to a whole group, pass over all samples. Random numbers come from a xorshift generator whose
# 64-bit state is an argument.


class SampleArrays(NamedTuple):
    """The fixed data: N samples in d dimensions, each in one group of each of A attributes.

    The groups of all attributes are numbered consecutively: attribute a has the columns
    ``columns[a]`` to ``columns[a + 1] - 1``, G in total.
    """

    X: np.ndarray  # (N, d) with weighted mean 0, which keeps the sums small
    weights: np.ndarray  # (N,) all > 0
    groups: np.ndarray  # (N, A) the column of each sample, by attribute
    columns: np.ndarray  # (A + 1,)
    rows: np.ndarray  # (A N,) the samples sorted by column
    group_starts: np.ndarray  # (G + 1,) rows[starts[g]:starts[g + 1]] are the members of column g
    scale: np.ndarray  # (A,) factor of the balance of an attribute
    total: float  # sum of the weights
    scatter: float  # sum of w |x|^2


class ClusteringState(NamedTuple):
    """One clustering into K clusters, and the running centres of the stochastic updates."""

    labels: np.ndarray  # (N,)
    sums: np.ndarray  # (K, d) weighted sums of the members of a cluster
    counts: np.ndarray  # (K, G) weight of a group in a cluster
    sizes: np.ndarray  # (K, G) number of members of a group in a cluster
    centers: np.ndarray  # (K, d) moved by the stochastic updates; the means only at the start
    center_weights: np.ndarray  # (K,) weight that has gone into a centre: its step is w / absorbed


class SwapRule(NamedTuple):
    """How swaps are made."""

    batch: int  # samples drawn from a group, of which the closest one moves
    local: bool  # target: the nearest cluster, not the one richest in the smallest group
    half: bool  # one update is one move; the bottleneck is recomputed before each
    n_repeats: int = 1  # iterations between two clusterings that are evaluated


_SHIFTS = (np.uint64(13), np.uint64(7), np.uint64(17))
_HALF_WORD = np.uint64(32)


@helper
def random_below(rng, n):
    """A uniform integer in [0, n), n < 2**31, from one xorshift step (Marsaglia, 2003)."""
    # Three shifts, then the upper half of the state scaled to [0, n).
    s = rng[0]
    s ^= s << _SHIFTS[0]
    s ^= s >> _SHIFTS[1]
    s ^= s << _SHIFTS[2]
    rng[0] = s
    return (np.int64(s >> _HALF_WORD) * n) >> 32


@helper
def squared_distance(X, p, center):
    total = 0.0
    for f in range(X.shape[1]):
        gap = X[p, f] - center[f]
        total += gap * gap
    return total


@jit
def recompute_sums(samples, state):
    """Recompute sums, counts and sizes of a clustering from its labels."""
    state.sums[:] = 0.0
    state.counts[:] = 0.0
    state.sizes[:] = 0
    for p in range(samples.X.shape[0]):
        k = state.labels[p]
        w = samples.weights[p]
        for f in range(samples.X.shape[1]):
            state.sums[k, f] += w * samples.X[p, f]
        for a in range(samples.groups.shape[1]):
            g = samples.groups[p, a]
            state.counts[k, g] += w
            state.sizes[k, g] += 1


@helper
def sum_groups(samples, row):
    """Sum over the groups of the first attribute: a cluster's weight, or its number of members."""
    total = 0.0
    for g in range(samples.columns[1]):
        total += row[g]
    return total


@helper
def has_single_member(samples, state, k):
    """Whether cluster k has a single member, which must stay."""
    return sum_groups(samples, state.sizes[k]) == 1.0


@jit
def recenter(samples, state):
    """Set the running centres to the means."""
    for k in range(state.sums.shape[0]):
        state.center_weights[k] = sum_groups(samples, state.counts[k])
        shrink = 1.0 / state.center_weights[k]
        for f in range(state.sums.shape[1]):
            state.centers[k, f] = state.sums[k, f] * shrink


@helper
def mean_squared_distance(samples, state):
    """Mean squared distance to the means: (sum w |x|^2 - sum_k |S_k|^2 / n_k) / sum w."""
    explained = 0.0
    for k in range(state.sums.shape[0]):
        square = 0.0
        for f in range(state.sums.shape[1]):
            square += state.sums[k, f] ** 2
        explained += square / sum_groups(samples, state.counts[k])
    return (samples.scatter - explained) / samples.total


@helper
def find_least_balanced_cluster(samples, state):
    """The minimum balance, its cluster, and the smallest and largest group of that cluster."""
    least, worst, smallest, largest = np.inf, 0, 0, 0
    for a in range(samples.groups.shape[1]):
        for k in range(state.counts.shape[0]):
            r = c = samples.columns[a]
            for g in range(samples.columns[a] + 1, samples.columns[a + 1]):
                if state.counts[k, g] < state.counts[k, r]:
                    r = g
                if state.counts[k, g] > state.counts[k, c]:
                    c = g
            balance = samples.scale[a] * state.counts[k, r] / state.counts[k, c]
            if balance < least:
                least, worst, smallest, largest = balance, k, r, c
    return least, worst, smallest, largest


@helper
def nearest_center(centers, X, p, excluded):
    """The cluster of the centre nearest to row p of X, without an excluded cluster (-1: none).

    The target of equation (5) is that nearest to the centre of the least balanced cluster.
    """
    best, nearest = np.inf, 0
    for k in range(centers.shape[0]):
        d = squared_distance(X, p, centers[k])
        if k != excluded and d < best:
            best, nearest = d, k
    return nearest


@helper
def global_target(counts, worst, smallest, largest):
    """The cluster of maximum ratio of group ``smallest`` to ``largest``, the first in (4)."""
    target = worst
    for k in range(counts.shape[0]):
        # Cross-multiplied, so that clusters without the largest group rank highest.
        if (
            counts[k, smallest] * counts[target, largest]
            > counts[target, smallest] * counts[k, largest]
        ):
            target = k
    return target


@helper
def closest_member(samples, state, k, g, center, batch, rng):
    """The one closest to a centre among ``batch`` random members of group g in cluster k.

    Draws are uniform and independent: samples of the group are drawn until one is in the cluster.
    When the batch covers the set, all of the group is searched, so the expected work stays below
    the size of the group.
    """
    # Search the whole group if the batch covers the members in the cluster.
    first = samples.group_starts[g]
    n_group = samples.group_starts[g + 1] - samples.group_starts[g]
    take_all = batch >= state.sizes[k, g]
    best, closest = np.inf, -1
    for i in range(n_group if take_all else batch):
        p = samples.rows[first + (i if take_all else random_below(rng, n_group))]
        # Rejection sampling of members of the cluster.
        while not take_all and state.labels[p] != k:
            p = samples.rows[first + random_below(rng, n_group)]
        if state.labels[p] == k:
            d = squared_distance(samples.X, p, center)
            if d < best:
                best, closest = d, p
    return closest


@helper
def update_center(samples, state, p, k):
    """Move the centre of cluster k towards sample p: c_k += (w / N_k)(x - c_k)."""
    step = samples.weights[p] / state.center_weights[k]
    for f in range(samples.X.shape[1]):
        state.centers[k, f] += step * (samples.X[p, f] - state.centers[k, f])


@helper
def move(samples, state, p, k, journal, n_moves):
    """Move sample p to cluster k and record its old cluster; the new length of the journal."""
    old = state.labels[p]
    w = samples.weights[p]
    for f in range(samples.X.shape[1]):
        change = w * samples.X[p, f]
        state.sums[old, f] -= change
        state.sums[k, f] += change
    for a in range(samples.groups.shape[1]):
        g = samples.groups[p, a]
        state.counts[old, g] -= w
        state.counts[k, g] += w
        state.sizes[old, g] -= 1
        state.sizes[k, g] += 1
    state.labels[p] = k
    journal[n_moves, 0] = p
    journal[n_moves, 1] = old
    return n_moves + 1


@helper
def make_kmeans_updates(samples, state, n_updates, rng, journal, n_moves):
    """Assign random samples to their nearest centre, which follows them (Algorithm 1)."""
    for _ in range(n_updates):
        p = random_below(rng, samples.X.shape[0])
        # Move the sample unless it is the last of its cluster, and let the centre follow.
        k = nearest_center(state.centers, samples.X, p, NO_INDEX)
        if k != state.labels[p]:
            if has_single_member(samples, state, state.labels[p]):
                continue
            n_moves = move(samples, state, p, k, journal, n_moves)
        state.center_weights[k] += samples.weights[p]
        update_center(samples, state, p, k)
    return n_moves


@helper
def swap_samples(samples, state, n_updates, rule, rng, journal, n_moves):
    """Swap samples between the least balanced cluster and a target (Algorithm 2).

    A swap is two moves: a sample of the smallest group joins, one of the largest group leaves.
    It stops early where no swap is possible, as nothing would change until the next one.
    """
    worst = target = smallest = largest = 0
    for i in range(n_updates if rule.half else 2 * n_updates):
        is_joining = i % 2 == 0
        if is_joining or rule.half:
            # Bottleneck cluster, and the cluster to swap with.
            _, worst, smallest, largest = find_least_balanced_cluster(samples, state)
            # Target cluster, nearest or of maximum ratio; stop if no swap is possible.
            if rule.local:
                target = nearest_center(state.centers, state.centers, worst, worst)
            else:
                target = global_target(state.counts, worst, smallest, largest)
            if target == worst or smallest == largest or state.sizes[target, smallest] == 0:
                break
        source, sink, g = (target, worst, smallest) if is_joining else (worst, target, largest)
        if has_single_member(samples, state, source):
            break
        # Move the closest of a batch and let the centre follow.
        p = closest_member(samples, state, source, g, state.centers[sink], rule.batch, rng)
        n_moves = move(samples, state, p, sink, journal, n_moves)
        update_center(samples, state, p, sink)
    return n_moves


@helper
def iterate(samples, state, pair, rule, rng, journal):
    """Iterations of Algorithm 2 with ``pair = (n_a, n_b)``; the number of moves."""
    n_moves = 0
    for _ in range(rule.n_repeats):
        n_moves = make_kmeans_updates(samples, state, pair[0], rng, journal, n_moves)
        n_moves = swap_samples(samples, state, pair[1], rule, rng, journal, n_moves)
    return n_moves


def run(samples, state, pair, rule, batches, rng):
    """Iterations of Algorithm 2 in place, one per batch size; (cost, balance) of each."""
    trace = np.empty((len(batches), 2))
    _run(samples, state, pair, rule, batches, rng, trace)
    return trace


@jit
def _run(samples, state, pair, rule, batches, rng, trace):
    journal = allocate_journal(pair.reshape(1, 2), rule)
    for t in range(batches.shape[0]):
        grown = SwapRule(batches[t], rule.local, rule.half, rule.n_repeats)
        iterate(samples, state, pair, grown, rng, journal)
        trace[t, 0] = mean_squared_distance(samples, state)
        trace[t, 1] = find_least_balanced_cluster(samples, state)[0]


@helper
def allocate_journal(pairs, rule):
    """An array for the moves of `iterate` with any of the pairs."""
    longest = 0
    for q in range(pairs.shape[0]):
        longest = max(longest, pairs[q, 0] + 2 * pairs[q, 1])
    return np.empty((longest * rule.n_repeats, 2), np.int64)


# Kernels of the alternating front: descendants of the clusterings in a list (Algorithm 3).


class FrontList(NamedTuple):
    """The list of Algorithm 3, allocated for S clusterings.

    The tables are in slots that are never moved. ``slot[i]`` is the slot of entry i of the list,
    and after the ``length[0]`` entries it has the free slots.
    """

    labels: np.ndarray  # (S, N) by slot, as are the tables of `ClusteringState`
    sums: np.ndarray  # (S, K, d)
    counts: np.ndarray  # (S, K, G)
    sizes: np.ndarray  # (S, K, G)
    cost: np.ndarray  # (S,) by entry
    balance: np.ndarray  # (S,) by entry
    slot: np.ndarray  # (S,) a permutation
    length: np.ndarray  # (1,)


@helper
def is_dominated(members, f1, f2):
    """Whether a member of the list is strictly better in both cost and balance."""
    dominated = False
    for i in range(members.length[0]):  # no early exit, so that it vectorises
        dominated |= (members.cost[i] < f1) & (members.balance[i] > f2)
    return dominated


@helper
def get_clustering(members, slot, centers, absorbed):
    """The clustering in a slot, as views of its arrays."""
    return ClusteringState(
        members.labels[slot],
        members.sums[slot],
        members.counts[slot],
        members.sizes[slot],
        centers,
        absorbed,
    )


@helper
def copy_tables(source, target):
    for k in range(source.sums.shape[0]):
        for f in range(source.sums.shape[1]):
            target.sums[k, f] = source.sums[k, f]
        for g in range(source.counts.shape[1]):
            target.counts[k, g] = source.counts[k, g]
            target.sizes[k, g] = source.sizes[k, g]


@jit
def add_children(samples, members, parents, pairs, rule, rng):
    """Iterations of Algorithm 2 from each parent with each pair; good children are appended.

    A child is built in the labels of its parent, with separate tables, and undone by its journal,
    so only an appended child is copied in full. A child without a move, or one that a member of
    the list dominates, would not survive the iteration.
    """
    journal = allocate_journal(pairs, rule)
    shape = members.sums.shape[1:]
    sums = np.empty(shape)
    centers = np.empty(shape)
    absorbed = np.empty(shape[0])
    counts, sizes = np.empty_like(members.counts[0]), np.empty_like(members.sizes[0])
    for i in range(parents[0], parents[1]):
        parent = get_clustering(members, members.slot[i], centers, absorbed)
        child = ClusteringState(parent.labels, sums, counts, sizes, centers, absorbed)
        for q in range(pairs.shape[0]):
            # Build the child in place.
            copy_tables(parent, child)
            recenter(samples, child)
            n_moves = iterate(samples, child, pairs[q], rule, rng, journal)
            f1 = mean_squared_distance(samples, child)
            f2 = find_least_balanced_cluster(samples, child)[0]
            if n_moves > 0 and not is_dominated(members, f1, f2):
                append_child(members, child, f1, f2)
            # Undo its moves, last one first.
            for j in range(n_moves - 1, -1, -1):
                parent.labels[journal[j, 0]] = journal[j, 1]


@helper
def append_child(members, child, f1, f2):
    """Copy a clustering into the next free slot and append it to the list."""
    i = members.length[0]
    member = get_clustering(members, members.slot[i], child.centers, child.center_weights)
    for p in range(child.labels.shape[0]):
        member.labels[p] = child.labels[p]
    copy_tables(child, member)
    members.cost[i] = f1
    members.balance[i] = f2
    members.length[0] = i + 1


@jit
def recompute_members(samples, members):
    """Recompute tables, cost and balance of all members from labels, against rounding drift."""
    shape = members.sums.shape[1:]
    centers, absorbed = np.empty(shape), np.empty(shape[0])
    for i in range(members.length[0]):
        member = get_clustering(members, members.slot[i], centers, absorbed)
        recompute_sums(samples, member)
        members.cost[i] = mean_squared_distance(samples, member)
        members.balance[i] = find_least_balanced_cluster(samples, member)[0]
