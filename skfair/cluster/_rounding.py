"""From a spectral embedding to clusters: k-means, the normalised cut, and bounds on the groups."""

from typing import NamedTuple

import numpy as np
from scipy import optimize, sparse

from skfair._kernels import normalized_cut as kernels
from skfair._kernels.local_search import cost_of
from skfair.cluster._normalized_affinity import RBFAffinity
from skfair.cluster._samples import Samples, Seeding, lloyd
from skfair.metrics._graph import cluster_links
from skfair.utils._balance import balance, count_table, data_balance

MAX_ITER = 300  # of k-means ...
TOL = 1e-5  # ... and the relative gain of its cost at which it stops
MAX_PASSES = 100  # of a local search: what it has not found by then is worth little
N_TIGHTENINGS = 4  # attempts to reach a balance that whole persons missed, each half as slack
CROWD = 5  # members of the rarest group that a cluster should have room for


class Rounding(NamedTuple):
    """What is asked of the clusters."""

    n_clusters: int
    min_balance: float | None  # relative to the data's own balance; None or 0 asks for nothing
    n_init: int = 10  # runs of k-means


class Step(NamedTuple):
    """A clustering, with what it costs and how balanced it is."""

    labels: np.ndarray  # (n_nodes,) int32
    ncut: float
    balance: float  # least ratio of the rarest to the commonest group in a cluster


def round_kmeans(operator, embedding, groups, settings, random_state):
    """The papers' rounding: plain k-means on the rows of D^-1/2 H, whatever the balance.

    Parameters and result are those of `round_ncut`.
    """
    rows = embedding / np.sqrt(operator.degrees)[:, None]
    samples = Samples(rows, np.ones(len(rows)), groups.codes, len(groups.labels))
    return _kmeans(samples, settings.n_clusters, settings.n_init, random_state)


def round_ncut(operator, embedding, groups, settings, random_state):
    """Clusters of small normalised cut in which the groups are as balanced as asked.

    Weighted k-means on the embedding and a local search give a clustering without regard to
    groups. If it is not balanced enough, flows of members between the clusters bring the count of
    every group in every cluster near its proportional share, and a local search within the bounds
    follows. The bounds become tighter until the measured balance is what was asked for; where no
    rounding to whole persons reaches it, the best balanced clustering is returned.

    Parameters
    ----------
    operator : NormalizedAffinity
        The affinity, its degrees, and which nodes are isolated.
    embedding : ndarray of shape (n_nodes, n_components)
        H, in the scale of the normalised operator.
    groups : Groups
        Group of each node.
    settings : Rounding
        Number of clusters, balance, starts.
    random_state : RandomState
        Determines the starts of k-means.

    Returns
    -------
    labels : ndarray of int32, shape (n_nodes,)
        For every cluster k and two groups with members n_kj and n_kj', n_kj + 1 is at least
        ``min_balance`` times the data's balance times (n_kj' - 1).
    """
    search = _Search.start(operator, embedding, groups, settings, random_state)
    asked = settings.min_balance or 0.0
    goal = asked * data_balance(groups.counts) * (1 - 1e-12)
    if search.step.balance >= goal:
        return search.step.labels
    tight = search.balanced(1.0)
    found = [tight.step]
    slacks = (1 - asked) * 0.5 ** np.arange(N_TIGHTENINGS if tight.step.balance >= goal else 1)
    for slack in slacks[slacks > 0]:
        # Relaxing mixed clusters often leads to a smaller cut than mixing pure ones.
        found += [search.balanced(1 - slack).step, tight.balanced(1 - slack).step]
        if max(step.balance for step in found[1:]) >= goal:
            break
    reached = [step for step in found if step.balance >= goal]
    if reached:
        return min(reached, key=lambda step: step.ncut).labels
    return max(found, key=lambda step: (step.balance, -step.ncut)).labels


def ncut_path(operator, embedding, groups, settings, random_state, n_levels=20):
    """Clusterings from the cheapest to the best balanced.

    Each level is reached twice: by tightening the cheapest clustering, and by relaxing the
    clustering of the next higher level.

    Parameters
    ----------
    operator, embedding, groups, settings, random_state
        As in `round_ncut`; the balance in ``settings`` is not used.
    n_levels : int, default=20
        Number of balances.

    Returns
    -------
    steps : list of Step
        Unsorted, some better than others.
    """
    search = _Search.start(operator, embedding, groups, settings, random_state)
    if len(groups.labels) == 1:
        return [search.step]
    levels = np.arange(1, n_levels + 1) / n_levels
    tightened = [search.balanced(level) for level in levels]
    relaxed = [tightened[-1]]
    for level in levels[-2::-1]:
        relaxed.append(relaxed[-1].balanced(level))
    return [search.step, *(end.step for end in tightened + relaxed[1:])]


class _Search(NamedTuple):
    """A graph and a clustering of it from which others are searched."""

    graph: kernels.Graph
    members: list  # nodes of each group
    partition: kernels.Partition

    @classmethod
    def start(cls, operator, embedding, groups, settings, random_state):
        """The smallest normalised cut that k-means and single moves find, groups aside."""
        graph = _graph_of(operator, groups.codes)
        members = [np.flatnonzero(groups.codes == g) for g in range(len(groups.labels))]
        connected = np.flatnonzero(~operator.isolated)
        n_clusters = min(settings.n_clusters, len(connected))
        degrees = operator.degrees[connected]
        rows = embedding[connected] / np.sqrt(degrees)[:, None]
        samples = Samples(rows, degrees, groups.codes[connected], len(members))
        labels = np.zeros(operator.n_nodes, dtype=np.int32)
        if n_clusters > 0:
            labels[connected] = _kmeans(samples, n_clusters, settings.n_init, random_state)
        partition = _partition_of(operator.affinity, labels, settings.n_clusters, groups)
        _descend(graph, members, partition, _no_bounds(partition.counts))
        _place(partition, groups.codes, np.flatnonzero(operator.isolated))
        return cls(graph, members, partition)

    @property
    def step(self):
        labels, ncut = self.partition.labels, kernels.ncut_of(self.partition)
        return Step(labels, float(ncut), balance(self.partition.counts))

    def balanced(self, level):
        """A search from here to a relative balance; this one stays as it is."""
        partition = kernels.Partition(*(array.copy() for array in self.partition))
        bounds = bounds_of(partition.counts, level)
        for rows in self.members:
            kernels.repair(self.graph, partition, bounds, rows)
        _descend(self.graph, self.members, partition, bounds)
        return self._replace(partition=partition)


def _descend(graph, members, partition, bounds):
    """Moves, and exchanges where bounds forbid moves, until none lowers the cut."""
    for _ in range(MAX_PASSES):
        n_changes = kernels.move_pass(graph, partition, bounds)
        if bounds.lower.any():
            n_changes += sum(kernels.exchange_pass(graph, partition, rows) for rows in members)
        if n_changes == 0:
            break


def _kmeans(samples, n_clusters, n_init, random_state):
    """Labels of the cheapest of ``n_init`` runs of k-means."""
    starts = Seeding(n_clusters, "k-means++", n_init).draw(samples, random_state)
    runs = [lloyd(samples, start, MAX_ITER, TOL) for start in starts]
    return min(runs, key=lambda run: cost_of(samples.X, samples.weights, run)).labels


def _graph_of(operator, codes):
    """The affinity as the kernels take it: one type for all kinds; dense arrays are not copied."""
    affinity, n_nodes = operator.affinity, operator.n_nodes
    nodes, zeros = np.arange(n_nodes), np.zeros(n_nodes, dtype=np.int64)
    columns, values, column_starts, starts, sizes = nodes, np.empty(0), zeros, zeros, zeros
    points, gamma, row, loops = np.empty((0, 0)), 0.0, np.empty(0), np.ones(n_nodes)
    if isinstance(affinity, RBFAffinity):
        points, gamma, row = np.ascontiguousarray(affinity.X), affinity.gamma, np.empty(n_nodes)
    elif sparse.issparse(affinity):
        if not affinity.has_canonical_format:
            affinity = affinity.copy()
            affinity.sum_duplicates()
        columns, values, loops = affinity.indices, affinity.data, affinity.diagonal()
        starts = column_starts = affinity.indptr[:-1].astype(np.int64)
        sizes = np.diff(affinity.indptr).astype(np.int64)
    else:
        # A symmetric array may be read by rows or by columns: order "K" never copies it.
        values, loops = affinity.ravel("K"), np.array(affinity.diagonal())
        starts, sizes = n_nodes * nodes, zeros + n_nodes
    return kernels.Graph(
        columns=columns.astype(np.int32, copy=False),
        values=values,
        column_starts=column_starts,
        starts=starts,
        sizes=sizes,
        degrees=np.where(operator.isolated, 0.0, operator.degrees),
        loops=loops,
        points=points,
        gamma=float(gamma),
        groups=codes,
        row=row,
    )


def _partition_of(affinity, labels, n_clusters, groups):
    """The clustering that labels describe, tabulated from scratch."""
    links, within, volumes = cluster_links(affinity, labels, n_clusters)
    counts = count_table(labels, groups.codes, None, n_clusters, len(groups.labels))
    return kernels.Partition(labels, links, within, volumes, counts.astype(np.int64))


def _place(partition, codes, isolated):
    """Give each isolated node to the cluster that lacks its group most; empty clusters first."""
    labels, counts = partition.labels, partition.counts
    np.subtract.at(counts, (labels[isolated], codes[isolated]), 1)
    shares = np.bincount(codes) / len(codes)
    for i in isolated:
        g, sizes = codes[i], counts.sum(axis=1)
        lacking = np.where(sizes == 0, np.inf, sizes * shares[g] - counts[:, g])
        labels[i] = np.argmax(lacking)
        counts[labels[i], g] += 1


# Bounds -------------------------------------------------------------------------------


def _no_bounds(counts):
    return kernels.Bounds(np.zeros_like(counts), np.full_like(counts, counts.sum()))


def bounds_of(counts, level):
    r"""Bounds that keep every cluster near its proportional share of every group.

    With share s the bounds are :math:`(1 \pm \delta) s`, rounded inwards, where
    :math:`(1 - \delta) / (1 + \delta)` is the relative balance that they guarantee. Where no whole
    number lies between them both give way to a controlled rounding of the shares, so that there
    are counts within the bounds.

    Parameters
    ----------
    counts : ndarray of int, shape (n_clusters, n_groups)
        Members of a clustering, whose sizes the shares follow.
    level : float in [0, 1]
        Relative balance.

    Returns
    -------
    bounds : Bounds
    """
    shares = _shares(counts)
    target = _controlled_rounding(shares)
    delta = (1 - level) / (1 + level)
    lower = np.minimum(target, np.ceil((1 - delta) * shares - 1e-9))
    upper = np.maximum(target, np.floor((1 + delta) * shares + 1e-9))
    return kernels.Bounds(lower.astype(np.int64), upper.astype(np.int64))


def _shares(counts):
    """Proportional shares of the groups in clusters of about the present sizes.

    Sizes are counted in members of the rarest group that has enough of them for every cluster,
    and these are whole, as the balance suffers most where its few members are split. Small
    clusters grow until they have `CROWD` of them, or half as many as a cluster has on average:
    rounding the other groups would make them unbalanced, and their cut is large.
    """
    sizes, totals = counts.sum(axis=1), counts.sum(axis=0)
    n_clusters = len(counts)
    rarest = totals[totals >= n_clusters].min(initial=totals.sum())
    least = max(1, min(CROWD, rarest / (2 * n_clusters)))
    small = np.zeros(n_clusters, dtype=bool)
    units = sizes * (rarest / totals.sum())
    # Raising the small takes from the others, which may then be small themselves.
    while (units < least * (1 - 1e-12)).any():
        small |= units < least
        rest = rarest - least * small.sum()
        units = np.where(small, least, sizes * (rest / max(sizes[~small].sum(), 1)))
    return np.outer(_largest_remainders(units), totals / rarest)


def _largest_remainders(values):
    """Whole numbers of the same sum: the values of largest fraction are rounded up."""
    floor = np.floor(values + 1e-9)
    n_raised = round(values.sum() - floor.sum())
    floor[np.argsort(floor - values, kind="stable")[:n_raised]] += 1
    return floor


def _controlled_rounding(table):
    """Whole numbers less than 1 from the table's, with its column sums and about its row sums.

    A row sum is rounded up or down. Such a table always exists [1]_, and the vertices of the
    linear programme are such tables.

    References
    ----------
    .. [1] M. Bacharach, "Matrix rounding problems", Management Science 12 (9), 1966.
    """
    n_rows, n_columns = table.shape
    floor = np.floor(table + 1e-9)
    fractions = np.clip(table - floor, 0.0, None)
    by_row = sparse.kron(sparse.eye_array(n_rows), np.ones((1, n_columns)))
    by_column = sparse.kron(np.ones((1, n_rows)), sparse.eye_array(n_columns))
    row_sums = fractions.sum(axis=1)
    raised = optimize.linprog(
        -fractions.ravel(),
        A_ub=sparse.vstack([by_row, -by_row]),
        b_ub=np.concatenate([np.ceil(row_sums - 1e-9), -np.floor(row_sums + 1e-9)]),
        A_eq=by_column,
        b_eq=np.round(fractions.sum(axis=0)),
        bounds=np.column_stack([np.zeros(table.size), fractions.ravel() > 1e-9]),
        method="highs-ds",
    )
    return floor + np.round(raised.x).reshape(table.shape)
