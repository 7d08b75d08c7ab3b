"""Runs of the alternating algorithm: Algorithms 2 and 3 of Liu and Vicente."""

import numpy as np
from sklearn.cluster import kmeans_plusplus
from sklearn.metrics import pairwise_distances_argmin
from sklearn.utils import check_random_state

from skfair._kernels import alternating as kernels
from skfair._kernels import alternating_front as front_kernels
from skfair.metrics import non_dominated
from skfair.utils._balance import data_balance

BLOCK = 2**22  # points one kernel call may look at, about: Ctrl-C is heard within a second
REFRESH = 100  # iterations after which rounding drift is wiped out


def alternating_path(X, codes, weights, n_clusters, algorithm, random_state):
    """Run Algorithm 2 from random labels: labels, and cost and balance after each iteration.

    With several attributes (Section 6), the columns of ``codes``, each has a balance of its own,
    relative to that of the data. f2 is their minimum, and each swap serves the least balanced one.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.cluster import AlternatingSwaps
    >>> from skfair.cluster.kmeans._alternating_run import alternating_path
    >>> X, codes = np.array([[0.0], [0.1], [9.0], [9.1]]), np.array([0, 1, 0, 1])
    >>> settings = AlternatingSwaps(4, 1, n_iter=50)
    >>> labels, *_ = alternating_path(X, codes, np.ones(4), 2, settings, random_state=0)
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """
    random_state = check_random_state(random_state)
    points = _encode(X, codes, weights)
    state = _new_state(points, n_clusters)
    state.labels[:] = _random_labels(len(X), n_clusters, random_state)
    rng = _new_rng(random_state)
    rule = _rule(algorithm)
    pair = np.array([algorithm.n_kmeans_updates, algorithm.n_swap_updates], dtype=np.int64)
    batches = _batch_sizes(algorithm, len(X))

    # Algorithm 2: alternate k-means updates and swaps, in calls short enough for Ctrl-C.
    kernels.recompute_sums(points, state)
    kernels.recenter(points, state)
    trace = [np.empty((0, 2))]
    block = max(1, BLOCK // len(X))
    for first in range(0, len(batches), block):
        trace.append(kernels.run(points, state, pair, rule, batches[first : first + block], rng))
    cost, balance = np.concatenate(trace).T
    return state.labels, cost, balance


def alternating_front(X, codes, weights, n_clusters, algorithm, random_state):
    """Approximate the Pareto front of cost and balance by Algorithm 3.

    Returns the labels of the list that it ends with, (n_points, n_samples), and f1, ascending, and
    f2 of each. Raises ValueError if the pairs are no pairs of non-negative numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.cluster import AlternatingFront
    >>> from skfair.cluster.kmeans._alternating_run import alternating_front
    >>> X, codes = np.array([[0.0], [0.1], [9.0], [9.1]]), np.array([0, 0, 1, 1])
    >>> settings = AlternatingFront(((4, 0), (0, 1)), n_starts=4, n_iter=20)
    >>> labels, cost, balance = alternating_front(X, codes, np.ones(4), 2, settings, 0)
    >>> cost.round(4).tolist(), balance.tolist()
    ([0.0025, 20.25], [0.0, 1.0])
    """
    pairs = _check_pairs(algorithm.pairs)
    random_state = check_random_state(random_state)
    points = _encode(X, codes, weights)
    members = _first_list(points, n_clusters, algorithm, random_state)
    rng = _new_rng(random_state)
    block = min(64, max(1, BLOCK // len(X)))

    for t, batch in enumerate(_batch_sizes(algorithm, len(X))):
        rule = _rule(algorithm, batch)._replace(n_repeats=algorithm.n_child_iter)
        n_parents = members.length[0]
        # Every member goes through q iterations with each pair; what is dominated leaves.
        for first in range(0, n_parents, block):
            last = min(first + block, n_parents)
            members = _grow(members, (last - first) * len(pairs))
            front_kernels.add_children(points, members, (first, last), pairs, rule, rng)
        _select(members, algorithm.keep_ties)
        if t % REFRESH == REFRESH - 1:
            front_kernels.recompute(points, members)
        # Algorithm 3 ends with a list that has grown too long.
        if members.length[0] > algorithm.max_size:
            break
    front_kernels.recompute(points, members)
    _select(members, algorithm.keep_ties)
    order = np.argsort(members.cost[: members.length[0]], kind="stable")
    return members.labels[members.slot[order]], members.cost[order], members.balance[order]


def _check_pairs(pairs):
    pairs = np.array(pairs, dtype=np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.min() < 0:
        raise ValueError(
            "a pair is (n_a, n_b), two non-negative numbers of k-means and of swap updates; got "
            f"{pairs.tolist()}."
        )
    return pairs


def _encode(X, codes, weights):
    """Centre the points and sort them by group."""
    X = np.ascontiguousarray(X - np.average(X, axis=0, weights=weights), dtype=np.float64)
    codes = np.asarray(codes, dtype=np.int64).reshape(len(X), -1)
    # Groups of all attributes are numbered one after the other.
    columns = np.concatenate([[0], np.cumsum(codes.max(axis=0) + 1)])
    groups = codes + columns[:-1]
    by_attribute = groups.T.ravel()
    order = np.argsort(by_attribute, kind="stable")
    starts = np.searchsorted(by_attribute, np.arange(columns[-1] + 1), sorter=order)
    # One attribute: the balance itself. Several: comparable only relative to the data's own.
    scale = np.ones(codes.shape[1])
    if codes.shape[1] > 1:
        scale = np.array([1 / data_balance(np.bincount(c, weights)) for c in codes.T])
    return kernels.SampleArrays(
        X=X,
        weights=np.ascontiguousarray(weights, dtype=np.float64),
        groups=groups,
        columns=columns,
        rows=order % len(X),
        starts=starts,
        scale=scale,
        total=float(np.sum(weights)),
        scatter=float(weights @ np.einsum("ij,ij->i", X, X)),
    )


def _new_state(points, n_clusters):
    n_samples, n_features = points.X.shape
    return kernels.ClusteringState(
        labels=np.empty(n_samples, dtype=np.int32),
        sums=np.empty((n_clusters, n_features)),
        counts=np.empty((n_clusters, points.columns[-1])),
        sizes=np.empty((n_clusters, points.columns[-1]), dtype=np.int64),
        centers=np.empty((n_clusters, n_features)),
        absorbed=np.empty(n_clusters),
    )


def _rule(algorithm, batch=1):
    return kernels.SwapRule(batch, algorithm.swap_target == "local", bool(algorithm.half_swaps))


def _new_rng(random_state):
    """State of the kernels' generator; xorshift needs any but zero."""
    return random_state.randint(1, np.iinfo(np.int64).max, size=1, dtype=np.uint64)


def _batch_sizes(algorithm, n_samples):
    """Points drawn per swap in each iteration; more than all there are would change nothing."""
    with np.errstate(over="ignore"):
        sizes = float(algorithm.batch_growth) ** (np.arange(algorithm.n_iter) // 2)
    return np.minimum(sizes, n_samples).astype(np.int64)


def _random_labels(n_samples, n_clusters, random_state):
    """Random clusters of (nearly) equal size, so that none is empty."""
    return random_state.permutation(n_samples) % n_clusters


def _first_list(points, n_clusters, algorithm, random_state):
    """The starting clusterings of Algorithm 3."""
    n_samples, n_features = points.X.shape
    n_starts, n_groups = algorithm.n_starts, points.columns[-1]
    members = front_kernels.FrontList(
        labels=np.empty((n_starts, n_samples), dtype=np.min_scalar_type(n_clusters - 1)),
        sums=np.empty((n_starts, n_clusters, n_features)),
        counts=np.empty((n_starts, n_clusters, n_groups)),
        sizes=np.empty((n_starts, n_clusters, n_groups), dtype=np.int64),
        cost=np.empty(n_starts),
        balance=np.empty(n_starts),
        slot=np.arange(n_starts),
        length=np.array([n_starts]),
    )
    for i, row in enumerate(members.labels):
        row[:] = _random_labels(n_samples, n_clusters, random_state)
        if algorithm.init == "mixed" and i >= n_starts // 2:
            seeds, _ = kmeans_plusplus(
                points.X, n_clusters, sample_weight=points.weights, random_state=random_state
            )
            nearest = pairwise_distances_argmin(points.X, seeds)
            if len(np.unique(nearest)) == n_clusters:  # equal seeds would leave a cluster empty
                row[:] = nearest
    front_kernels.recompute(points, members)
    return members


def _grow(members, n_children):
    """The list with a free slot for every child."""
    n_slots, needed = len(members.slot), members.length[0] + n_children
    if needed <= n_slots:
        return members
    extra = needed  # at least doubles, so that growing costs little in total
    tables = [
        np.concatenate([table, np.empty((extra, *table.shape[1:]), dtype=table.dtype)])
        for table in members[:6]
    ]
    slot = np.concatenate([members.slot, np.arange(n_slots, n_slots + extra)])
    return front_kernels.FrontList(*tables, slot, members.length)


def _select(members, keep_ties):
    """Drop dominated members from the list, in place."""
    n = members.length[0]
    cost, balance, slot = members.cost[:n], members.balance[:n], members.slot[:n]
    keep = _not_strictly_dominated(cost, balance) if keep_ties else non_dominated(cost, balance)
    length = keep.sum()
    members.cost[:length], members.balance[:length] = cost[keep], balance[keep]
    # Slots of those that leave are free for the next children.
    members.slot[:n] = np.concatenate([slot[keep], slot[~keep]])
    members.length[0] = length


def _not_strictly_dominated(cost, balance):
    """Mark the points than which no other is strictly better in both cost and balance."""
    # Best balance among the strictly cheaper points: only a larger one dominates strictly.
    order = np.argsort(cost)
    best = np.maximum.accumulate(np.concatenate([[-np.inf], balance[order]]))
    cheaper = np.searchsorted(cost, cost, sorter=order)
    return balance >= best[cheaper]
