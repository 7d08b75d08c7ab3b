"""Kernels of the alternating algorithm: mini-batch k-means updates and balance swaps.

One clustering is a `State`: its labels and the sums that follow from them. A move of one point
costs O(n_features + n_attributes); a walk over all points is left to `tabulate`, to clusterings
that join the list, and to swaps whose batch has grown to a whole set. Random numbers come from a
xorshift generator whose 64-bit state the caller passes in.
"""

from typing import NamedTuple

import numba
import numpy as np

from skfair._kernels import jit

# Called once per move: passing the two structs, some hundred words, would take longer than the
# work itself. Inlined code is cached with its callers.
inline = numba.njit(forceinline=True)


class People(NamedTuple):
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


class Members(NamedTuple):
    """The list of Algorithm 3, with room for S clusterings.

    The tables lie in slots that stay where they are; ``slot`` says which slot an entry of the list
    uses, and behind the ``length[0]`` entries it names the free ones.
    """

    labels: np.ndarray  # (S, N) by slot, as are the tables of `State`
    sums: np.ndarray  # (S, K, d)
    counts: np.ndarray  # (S, K, G)
    sizes: np.ndarray  # (S, K, G)
    cost: np.ndarray  # (S,) by entry
    balance: np.ndarray  # (S,) by entry
    slot: np.ndarray  # (S,) a permutation
    length: np.ndarray  # (1,)


class SwapRule(NamedTuple):
    """How swaps are made."""

    batch: int  # points drawn from a set, of which the closest one moves
    local: bool  # target: the nearest cluster, instead of the one richest in the rare group
    half: bool  # one update is one move; the bottleneck is looked up anew before each


_SHIFTS = (np.uint64(13), np.uint64(7), np.uint64(17))
_HALF_WORD = np.uint64(32)


@inline
def random_below(rng, n):
    """A uniform integer in [0, n), n < 2**31, from one xorshift step (Marsaglia, 2003)."""
    s = rng[0]
    s ^= s << _SHIFTS[0]
    s ^= s >> _SHIFTS[1]
    s ^= s << _SHIFTS[2]
    rng[0] = s
    return (np.int64(s >> _HALF_WORD) * n) >> 32


@inline
def squared_distance(X, p, center):
    total = 0.0
    for f in range(X.shape[1]):
        gap = X[p, f] - center[f]
        total += gap * gap
    return total


@jit
def tabulate(people, state):
    """Sums, counts and sizes of a clustering, from its labels alone."""
    state.sums[:] = 0.0
    state.counts[:] = 0.0
    state.sizes[:] = 0
    for p in range(people.X.shape[0]):
        k, w = state.labels[p], people.weights[p]
        for f in range(people.X.shape[1]):
            state.sums[k, f] += w * people.X[p, f]
        for a in range(people.groups.shape[1]):
            g = people.groups[p, a]
            state.counts[k, g] += w
            state.sizes[k, g] += 1


@inline
def cluster_weight(people, state, k):
    total = 0.0
    for g in range(people.columns[1]):
        total += state.counts[k, g]
    return total


@inline
def is_single(people, state, k):
    """Whether cluster k holds one point only, which must stay."""
    total = 0
    for g in range(people.columns[1]):
        total += state.sizes[k, g]
    return total == 1


@jit
def recenter(people, state):
    """Put the running centres on the means."""
    for k in range(state.sums.shape[0]):
        state.seen[k] = cluster_weight(people, state, k)
        shrink = 1.0 / state.seen[k]
        for f in range(state.sums.shape[1]):
            state.centers[k, f] = state.sums[k, f] * shrink


@jit
def cost(people, state):
    """Mean squared distance to the means: (sum w |x|^2 - sum_k |S_k|^2 / n_k) / sum w."""
    kept = 0.0
    for k in range(state.sums.shape[0]):
        square = 0.0
        for f in range(state.sums.shape[1]):
            square += state.sums[k, f] ** 2
        kept += square / cluster_weight(people, state, k)
    return (people.scatter - kept) / people.total


@inline
def bottleneck(people, state):
    """The least balance, its cluster, and that cluster's rarest and commonest group."""
    least, low, rare, common = np.inf, 0, 0, 0
    for a in range(people.groups.shape[1]):
        for k in range(state.counts.shape[0]):
            r = c = people.columns[a]
            for g in range(people.columns[a] + 1, people.columns[a + 1]):
                if state.counts[k, g] < state.counts[k, r]:
                    r = g
                if state.counts[k, g] > state.counts[k, c]:
                    c = g
            balance = people.scale[a] * state.counts[k, r] / state.counts[k, c]
            if balance < least:
                least, low, rare, common = balance, k, r, c
    return least, low, rare, common


@inline
def nearest_center(centers, X, p):
    best, nearest = np.inf, 0
    for k in range(centers.shape[0]):
        d = squared_distance(X, p, centers[k])
        if d < best:
            best, nearest = d, k
    return nearest


@inline
def local_target(centers, low):
    """The cluster whose centre is nearest to that of cluster `low`, equation (5)."""
    best, target = np.inf, low
    for k in range(centers.shape[0]):
        d = squared_distance(centers, k, centers[low])
        if k != low and d < best:
            best, target = d, k
    return target


@inline
def global_target(counts, low, rare, common):
    """The cluster with the largest ratio rare : common, equation (4) as meant."""
    target = low
    for k in range(counts.shape[0]):
        # cross-multiplied, so that clusters without the common group rank highest
        if counts[k, rare] * counts[target, common] > counts[target, rare] * counts[k, common]:
            target = k
    return target


@inline
def closest_member(people, state, k, g, center, batch, rng):
    """Among `batch` random points of group g in cluster k the one closest to a centre.

    Draws are uniform and independent: a point of the group is drawn until one lies in the
    cluster. When the batch covers the set, the whole set is looked at, so the expected work
    stays below the size of the group.
    """
    first, n_group = people.starts[g], people.starts[g + 1] - people.starts[g]
    whole = batch >= state.sizes[k, g]
    best, closest = np.inf, -1
    for i in range(n_group if whole else batch):
        p = people.rows[first + (i if whole else random_below(rng, n_group))]
        while not whole and state.labels[p] != k:
            p = people.rows[first + random_below(rng, n_group)]
        if state.labels[p] == k:
            d = squared_distance(people.X, p, center)
            if d < best:
                best, closest = d, p
    return closest


@inline
def pull(people, state, p, k):
    """Draw the centre of cluster k towards point p: c_k += (w / N_k)(x - c_k)."""
    step = people.weights[p] / state.seen[k]
    for f in range(people.X.shape[1]):
        state.centers[k, f] += step * (people.X[p, f] - state.centers[k, f])


@inline
def move(people, state, p, k, journal, n_moves):
    """Move point p to cluster k and note where it came from; the new length of the journal."""
    old, w = state.labels[p], people.weights[p]
    for f in range(people.X.shape[1]):
        change = w * people.X[p, f]
        state.sums[old, f] -= change
        state.sums[k, f] += change
    for a in range(people.groups.shape[1]):
        g = people.groups[p, a]
        state.counts[old, g] -= w
        state.counts[k, g] += w
        state.sizes[old, g] -= 1
        state.sizes[k, g] += 1
    state.labels[p] = k
    journal[n_moves, 0] = p
    journal[n_moves, 1] = old
    return n_moves + 1


@jit
def kmeans_updates(people, state, n_updates, rng, journal, n_moves):
    """Assign random points to their nearest centre, which follows them (Algorithm 1)."""
    for _ in range(n_updates):
        p = random_below(rng, people.X.shape[0])
        k = nearest_center(state.centers, people.X, p)
        if k != state.labels[p]:
            if is_single(people, state, state.labels[p]):
                continue
            n_moves = move(people, state, p, k, journal, n_moves)
        state.seen[k] += people.weights[p]
        pull(people, state, p, k)
    return n_moves


@jit
def swap_updates(people, state, n_updates, rule, rng, journal, n_moves):
    """Swap points between the worst balanced cluster and a target (Algorithm 2).

    A swap is two moves: a point of the rare group comes in, one of the common group goes out.
    It stops early where no swap is possible, as nothing would change until the next one.
    """
    low = target = rare = common = 0
    for i in range(n_updates if rule.half else 2 * n_updates):
        coming = i % 2 == 0
        if coming or rule.half:
            _, low, rare, common = bottleneck(people, state)
            if rule.local:
                target = local_target(state.centers, low)
            else:
                target = global_target(state.counts, low, rare, common)
            if target == low or rare == common or state.sizes[target, rare] == 0:
                break
        source, sink, g = (target, low, rare) if coming else (low, target, common)
        if is_single(people, state, source):
            break
        p = closest_member(people, state, source, g, state.centers[sink], rule.batch, rng)
        n_moves = move(people, state, p, sink, journal, n_moves)
        pull(people, state, p, sink)
    return n_moves


@jit
def iterate(people, state, pair, rule, rng, journal):
    """One iteration of Algorithm 2 with ``pair = (n_a, n_b)``; the number of moves made."""
    n_moves = kmeans_updates(people, state, pair[0], rng, journal, 0)
    return swap_updates(people, state, pair[1], rule, rng, journal, n_moves)


@jit
def run(people, state, pair, rule, batches, rng):
    """Iterations of Algorithm 2 in place, one per batch size; their (cost, balance)."""
    journal = new_journal(pair.reshape(1, 2))
    trace = np.empty((batches.shape[0], 2))
    for t in range(batches.shape[0]):
        grown = SwapRule(batches[t], rule.local, rule.half)
        iterate(people, state, pair, grown, rng, journal)
        trace[t, 0] = cost(people, state)
        trace[t, 1] = bottleneck(people, state)[0]
    return trace


@jit
def new_journal(pairs):
    """Room for the moves of one iteration with any of the pairs."""
    longest = 0
    for q in range(pairs.shape[0]):
        longest = max(longest, pairs[q, 0] + 2 * pairs[q, 1])
    return np.empty((longest, 2), np.int64)


@jit
def is_dominated(members, f1, f2):
    """Whether a member of the list is strictly better in both cost and balance."""
    dominated = False
    for i in range(members.length[0]):  # without an early exit, so that it becomes vector code
        dominated |= (members.cost[i] < f1) & (members.balance[i] > f2)
    return dominated


@inline
def view(members, slot, centers, seen):
    """The clustering in a slot, which shares its arrays."""
    return State(
        members.labels[slot],
        members.sums[slot],
        members.counts[slot],
        members.sizes[slot],
        centers,
        seen,
    )


@inline
def copy_tables(source, target):
    for k in range(source.sums.shape[0]):
        for f in range(source.sums.shape[1]):
            target.sums[k, f] = source.sums[k, f]
        for g in range(source.counts.shape[1]):
            target.counts[k, g] = source.counts[k, g]
            target.sizes[k, g] = source.sizes[k, g]


@jit
def breed(people, members, parents, pairs, rule, rng):
    """One iteration of Algorithm 2 from each parent with each pair; good children join the list.

    A child is made in the labels of its parent, with tables of its own, and undone by its
    journal: only a child that joins is copied in full. One that no move tells from its parent,
    or that a member beats in both aims, would not outlive the iteration.
    """
    journal = new_journal(pairs)
    shape = members.sums.shape[1:]
    sums, centers, seen = np.empty(shape), np.empty(shape), np.empty(shape[0])
    counts, sizes = np.empty_like(members.counts[0]), np.empty_like(members.sizes[0])
    for i in range(parents[0], parents[1]):
        parent = view(members, members.slot[i], centers, seen)
        child = State(parent.labels, sums, counts, sizes, centers, seen)
        for q in range(pairs.shape[0]):
            copy_tables(parent, child)
            recenter(people, child)
            n_moves = iterate(people, child, pairs[q], rule, rng, journal)
            f1, f2 = cost(people, child), bottleneck(people, child)[0]
            if n_moves > 0 and not is_dominated(members, f1, f2):
                join(members, child, f1, f2)
            for j in range(n_moves - 1, -1, -1):
                parent.labels[journal[j, 0]] = journal[j, 1]


@jit
def join(members, child, f1, f2):
    """Copy a clustering into the next free slot."""
    i = members.length[0]
    member = view(members, members.slot[i], child.centers, child.seen)
    for p in range(child.labels.shape[0]):
        member.labels[p] = child.labels[p]
    copy_tables(child, member)
    members.cost[i] = f1
    members.balance[i] = f2
    members.length[0] = i + 1


@jit
def refresh(people, members):
    """Tables, cost and balance of every member from its labels, free of rounding drift."""
    shape = members.sums.shape[1:]
    centers, seen = np.empty(shape), np.empty(shape[0])
    for i in range(members.length[0]):
        member = view(members, members.slot[i], centers, seen)
        tabulate(people, member)
        members.cost[i] = cost(people, member)
        members.balance[i] = bottleneck(people, member)[0]
