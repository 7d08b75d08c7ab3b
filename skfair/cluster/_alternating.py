"""The stochastic alternating balance k-means algorithm (SAfairKM) of Liu and Vicente."""

from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.cluster import kmeans_plusplus
from sklearn.metrics import pairwise_distances_argmin
from sklearn.utils import check_random_state

from skfair._kernels import alternating as kernels
from skfair.utils._balance import data_balance, non_dominated

BLOCK = 2**22  # points one kernel call may look at, about: Ctrl-C is heard within a second
REFRESH = 100  # iterations after which rounding drift is wiped out

REAL_PAIRS = ((25, 0), (20, 4), (15, 3), (5, 2))
SYNTHETIC_PAIRS = ((1, 1), (5, 1), (2, 0))
EXPERIMENTS = {
    "Adult_K10": {"n_iter": 2500},
    "Adult_K5": {"n_iter": 2500},
    "Bank_K10": {"n_iter": 8000},
    "Bank_K5": {"n_iter": 1500},
    "Syn_equal_ds1": {"n_iter": 400, "n_starts": 10, "pairs": SYNTHETIC_PAIRS},
    "Syn_unequal_ds1": {"n_iter": 400, "n_starts": 10, "pairs": SYNTHETIC_PAIRS},
    "Syn_equal_ds2": {"n_iter": 400, "n_starts": 10, "pairs": SYNTHETIC_PAIRS},
    "Syn_unequal_ds2": {"n_iter": 400},
}


class AlternatingSwaps(BaseEstimator):
    """Settings of Algorithm 2: alternate mini-batch k-means updates and balance swaps.

    An iteration assigns ``n_kmeans_updates`` random points to their nearest centre, which moves
    by ``w / N_k`` of the way to the point, and then makes ``n_swap_updates`` swaps between the
    least balanced cluster C_l and a target C_h. With V1 the rarest and V2 the commonest group of
    C_l, a point of V1 in C_h and a point of V2 in C_l change places. The numbers of updates weigh
    the two aims: f1, the mean squared distance to the cluster means, and f2, the least balance of
    a cluster.

    Parameters
    ----------
    n_kmeans_updates : int, default=20
        n_a, the k-means updates of an iteration.
    n_swap_updates : int, default=4
        n_b, the swap updates of an iteration.
    swap_target : {"local", "global"}, default="local"
        The target C_h: the cluster whose centre is nearest to that of C_l, or the one with the
        largest ratio of V1 to V2. The printed equation (4) also takes the maximum over the
        inverse ratio, which would return C_l itself.
    half_swaps : bool, default=False
        If True, one swap update is one move, in turns of a V1 point into C_l and a V2 point out
        of it, and C_l and C_h are looked up anew before each.
    batch_growth : float, default=1.003
        The point that moves is, of ``batch_growth ** (t // 2)`` points drawn in iteration t, the
        one closest to the centre it goes to.
    n_iter : int, default=2500
        Number of iterations.

    References
    ----------
    .. [1] S. Liu and L. N. Vicente, "A stochastic alternating balance k-means algorithm for fair
       clustering", 2021, Algorithm 2 and Section 3.2.

    Examples
    --------
    >>> from skfair.cluster import AlternatingSwaps
    >>> AlternatingSwaps.from_paper(5, 2)
    AlternatingSwaps(n_iter=428, n_kmeans_updates=5, n_swap_updates=2)
    """

    def __init__(
        self,
        n_kmeans_updates=20,
        n_swap_updates=4,
        *,
        swap_target="local",
        half_swaps=False,
        batch_growth=1.003,
        n_iter=2500,
    ):
        self.n_kmeans_updates = n_kmeans_updates
        self.n_swap_updates = n_swap_updates
        self.swap_target = swap_target
        self.half_swaps = half_swaps
        self.batch_growth = batch_growth
        self.n_iter = n_iter

    @classmethod
    def from_paper(cls, n_kmeans_updates, n_swap_updates):
        """Settings as the text of [1]_ has them.

        Local targets (Section 3.2, last paragraph) and ``3000 / (n_a + n_b)`` iterations
        (Figure 4). The growth of the batch is not in the paper but in the published code.
        """
        n_iter = 3000 // (n_kmeans_updates + n_swap_updates)
        return cls(n_kmeans_updates, n_swap_updates, swap_target="local", n_iter=n_iter)

    @classmethod
    def from_public_code(cls, n_kmeans_updates=4, n_swap_updates=2):
        """Settings of the code published with [1]_, for a single run.

        Global targets, updates counted in half swaps, 500 iterations.
        """
        return cls(
            n_kmeans_updates,
            n_swap_updates,
            swap_target="global",
            half_swaps=True,
            batch_growth=1.005,
            n_iter=500,
        )


class AlternatingFront(BaseEstimator):
    """Settings of Algorithm 3: grow a list of clusterings towards the Pareto front.

    Every clustering of the list goes through one iteration of Algorithm 2 with each of the pairs
    (n_a, n_b); the results join the list, and what others dominate leaves it.

    Parameters
    ----------
    pairs : sequence of (n_a, n_b), default=((25, 0), (20, 4), (15, 3), (5, 2))
        Numbers of k-means and swap updates. They are not in the paper; these are the published
        code's for its real data.
    n_starts : int, default=30
        Number of clusterings in the first list.
    n_iter : int, default=2500
        Largest number of iterations.
    max_size : int, default=1500
        The run ends when more clusterings than this remain after an iteration.
    init : {"random", "mixed"}, default="random"
        Starting labels: all random, or half of them the nearest of k-means++ centres.
    keep_ties : bool, default=False
        If True, a clustering leaves the list only when another is *strictly* better in both cost
        and balance, as Algorithm 3 is printed. Clusterings that share the highest balance then
        multiply, whatever they cost, and end the run early (Adult, 10 clusters: after 60 to 250
        of the 2,500 iterations reported). If False, the strict front remains.
    swap_target, half_swaps, batch_growth
        As in `AlternatingSwaps`.

    References
    ----------
    .. [1] S. Liu and L. N. Vicente, "A stochastic alternating balance k-means algorithm for fair
       clustering", 2021, Algorithm 3 (Appendix B) and Section 4.

    Examples
    --------
    >>> from skfair.cluster import AlternatingFront
    >>> AlternatingFront.from_paper("Bank_K5")
    AlternatingFront(n_iter=1500)
    """

    def __init__(
        self,
        pairs=REAL_PAIRS,
        *,
        n_starts=30,
        n_iter=2500,
        max_size=1500,
        init="random",
        keep_ties=False,
        swap_target="local",
        half_swaps=False,
        batch_growth=1.003,
    ):
        self.pairs = pairs
        self.n_starts = n_starts
        self.n_iter = n_iter
        self.max_size = max_size
        self.init = init
        self.keep_ties = keep_ties
        self.swap_target = swap_target
        self.half_swaps = half_swaps
        self.batch_growth = batch_growth

    @classmethod
    def from_paper(cls, dataset):
        """Settings of one of the eight experiments of [1]_, with local targets as it recommends.

        Iterations and starts are those of Figures 1, 3, 5, 6 and 8. The pairs are the published
        code's, as the paper prints none.

        Parameters
        ----------
        dataset : str
            "Adult_K10", "Adult_K5", "Bank_K10", "Bank_K5", "Syn_equal_ds1", "Syn_unequal_ds1",
            "Syn_equal_ds2" or "Syn_unequal_ds2".

        Returns
        -------
        algorithm : AlternatingFront

        Raises
        ------
        ValueError
            If the dataset is none of the eight.
        """
        if dataset not in EXPERIMENTS:
            raise ValueError(f"dataset must be one of {sorted(EXPERIMENTS)}, got {dataset!r}.")
        return cls(**EXPERIMENTS[dataset])

    @classmethod
    def from_public_code(cls, dataset):
        """Settings of the code published with [1]_ for one of its eight experiments.

        As `from_paper`, but with global targets, updates counted in half swaps and half of the
        starts from k-means++ centres.
        """
        return cls.from_paper(dataset).set_params(
            swap_target="global", half_swaps=True, init="mixed"
        )


class AlternatingPath(NamedTuple):
    """A run of Algorithm 2."""

    labels: np.ndarray
    """(n_samples,) the last clustering."""
    cost: np.ndarray
    """(n_iter,) f1 after each iteration."""
    balance: np.ndarray
    """(n_iter,) f2 after each iteration."""


class FrontMembers(NamedTuple):
    """The list that Algorithm 3 ends with, by rising cost."""

    cost: np.ndarray
    """(n_points,) mean squared distance to the cluster means."""
    balance: np.ndarray
    """(n_points,) least balance of a cluster."""
    labels: np.ndarray
    """(n_points, n_samples) the clusterings, in the smallest integer type that holds them."""


def alternating_swaps(X, codes, weights, n_clusters, algorithm, random_state):
    """Cluster by Algorithm 2: the labels that `alternating_path` ends with.

    Takes what `alternating_path` takes.

    Returns
    -------
    labels : ndarray of intp, shape (n_samples,)

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.cluster import AlternatingSwaps
    >>> from skfair.cluster._alternating import alternating_swaps
    >>> X, codes = np.array([[0.0], [0.1], [9.0], [9.1]]), np.array([0, 1, 0, 1])
    >>> settings = AlternatingSwaps(4, 1, n_iter=50)
    >>> labels = alternating_swaps(X, codes, np.ones(4), 2, settings, random_state=0)
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """
    return alternating_path(X, codes, weights, n_clusters, algorithm, random_state).labels


def alternating_path(X, codes, weights, n_clusters, algorithm, random_state):
    """Run Algorithm 2 from random labels and note cost and balance on the way.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    codes : ndarray of int, shape (n_samples,) or (n_samples, n_attributes)
        Group of each sample in [0, n_groups). With several attributes (Section 6), each has a
        balance of its own, taken relative to that of the data; f2 is the least of them, and each
        swap serves the attribute that is worst off.
    weights : ndarray of shape (n_samples,)
        Positive sample weights.
    n_clusters : int
    algorithm : AlternatingSwaps
    random_state : int, RandomState instance or None

    Returns
    -------
    path : AlternatingPath

    Raises
    ------
    ValueError
        If a setting is out of its range or there are more clusters than samples.
    """
    _check_settings(algorithm, n_clusters, len(X))
    random_state = check_random_state(random_state)
    people = _encode(X, codes, weights)
    state = _new_state(people, n_clusters)
    state.labels[:] = _random_labels(len(X), n_clusters, random_state)
    rng = _new_rng(random_state)
    rule = kernels.SwapRule(0, algorithm.swap_target == "local", bool(algorithm.half_swaps))
    pair = np.array([algorithm.n_kmeans_updates, algorithm.n_swap_updates], dtype=np.int64)
    batches = _batch_sizes(algorithm, len(X))

    kernels.tabulate(people, state)
    kernels.recenter(people, state)
    trace = [np.empty((0, 2))]
    block = max(1, BLOCK // len(X))
    for first in range(0, len(batches), block):
        trace.append(
            kernels.run(people, state, pair, rule, batches[first : first + block], rng)
        )
    cost, balance = np.concatenate(trace).T
    return AlternatingPath(state.labels, cost, balance)


def alternating_front(X, codes, weights, n_clusters, algorithm, random_state):
    """Approximate the Pareto front of cost and balance by Algorithm 3.

    Parameters
    ----------
    X, codes, weights, n_clusters, random_state
        As in `alternating_path`.
    algorithm : AlternatingFront

    Returns
    -------
    front : FrontMembers
        Cost and balance are computed from the labels, not carried along.

    Raises
    ------
    ValueError
        If a setting is out of its range or there are more clusters than samples.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.cluster import AlternatingFront
    >>> from skfair.cluster._alternating import alternating_front
    >>> X, codes = np.array([[0.0], [0.1], [9.0], [9.1]]), np.array([0, 0, 1, 1])
    >>> settings = AlternatingFront(((4, 0), (0, 1)), n_starts=4, n_iter=20)
    >>> front = alternating_front(X, codes, np.ones(4), 2, settings, random_state=0)
    >>> front.cost.round(4), front.balance
    (array([ 0.0025, 20.25  ]), array([0., 1.]))
    """
    _check_settings(algorithm, n_clusters, len(X))
    random_state = check_random_state(random_state)
    people = _encode(X, codes, weights)
    members = _first_list(people, n_clusters, algorithm, random_state)
    rng = _new_rng(random_state)
    pairs = np.array(algorithm.pairs, dtype=np.int64)
    block = min(64, max(1, BLOCK // len(X)))

    for t, batch in enumerate(_batch_sizes(algorithm, len(X))):
        rule = kernels.SwapRule(batch, algorithm.swap_target == "local", bool(algorithm.half_swaps))
        n_parents = members.length[0]
        for first in range(0, n_parents, block):
            last = min(first + block, n_parents)
            members = _make_room(members, (last - first) * len(pairs))
            kernels.breed(people, members, (first, last), pairs, rule, rng)
        _select(members, algorithm.keep_ties)
        if t % REFRESH == REFRESH - 1:
            kernels.refresh(people, members)
        if members.length[0] > algorithm.max_size:
            break
    kernels.refresh(people, members)
    order = np.argsort(members.cost[: members.length[0]], kind="stable")
    return FrontMembers(
        members.cost[order], members.balance[order], members.labels[members.slot[order]]
    )


def _check_settings(algorithm, n_clusters, n_samples):
    if algorithm.swap_target not in ("local", "global"):
        raise ValueError(
            f"swap_target must be 'local' or 'global', got {algorithm.swap_target!r}."
        )
    if not algorithm.batch_growth >= 1:
        raise ValueError(f"batch_growth must be at least 1, got {algorithm.batch_growth!r}.")
    if not 1 <= n_clusters <= n_samples:
        raise ValueError(
            f"n_clusters must lie between 1 and n_samples={n_samples}, got {n_clusters!r}."
        )


def _encode(X, codes, weights):
    """Centre the points and sort them by group."""
    X = np.ascontiguousarray(X - np.average(X, axis=0, weights=weights), dtype=np.float64)
    codes = np.asarray(codes, dtype=np.int64).reshape(len(X), -1)
    columns = np.concatenate([[0], np.cumsum(codes.max(axis=0) + 1)])
    groups = codes + columns[:-1]
    by_attribute = groups.T.ravel()
    order = np.argsort(by_attribute, kind="stable")
    starts = np.searchsorted(by_attribute, np.arange(columns[-1] + 1), sorter=order)
    # One attribute: the balance itself. Several: comparable only relative to the data's own.
    scale = np.ones(codes.shape[1])
    if codes.shape[1] > 1:
        scale = np.array([1 / data_balance(np.bincount(c, weights)) for c in codes.T])
    return kernels.People(
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


def _new_state(people, n_clusters):
    n_samples, n_features = people.X.shape
    return kernels.State(
        labels=np.empty(n_samples, dtype=np.intp),
        sums=np.empty((n_clusters, n_features)),
        counts=np.empty((n_clusters, people.columns[-1])),
        sizes=np.empty((n_clusters, people.columns[-1]), dtype=np.int64),
        centers=np.empty((n_clusters, n_features)),
        seen=np.empty(n_clusters),
    )


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


def _first_list(people, n_clusters, algorithm, random_state):
    """The starting clusterings of Algorithm 3."""
    n_samples, n_features = people.X.shape
    n_starts, n_groups = algorithm.n_starts, people.columns[-1]
    members = kernels.Members(
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
                people.X, n_clusters, sample_weight=people.weights, random_state=random_state
            )
            nearest = pairwise_distances_argmin(people.X, seeds)
            if len(np.unique(nearest)) == n_clusters:  # equal seeds would leave a cluster empty
                row[:] = nearest
    kernels.refresh(people, members)
    return members


def _make_room(members, n_children):
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
    return kernels.Members(*tables, slot, members.length)


def _select(members, keep_ties):
    """Drop dominated members from the list, in place."""
    n = members.length[0]
    cost, balance, slot = members.cost[:n], members.balance[:n], members.slot[:n]
    keep = _not_strictly_dominated(cost, balance) if keep_ties else non_dominated(cost, balance)
    kept = keep.sum()
    members.cost[:kept], members.balance[:kept] = cost[keep], balance[keep]
    members.slot[:n] = np.concatenate([slot[keep], slot[~keep]])
    members.length[0] = kept


def _not_strictly_dominated(cost, balance):
    """Mark the points than which no other is strictly better in both cost and balance."""
    order = np.argsort(cost)
    best = np.maximum.accumulate(np.concatenate([[-np.inf], balance[order]]))
    cheaper = np.searchsorted(cost, cost, sorter=order)
    return balance >= best[cheaper]
