"""From a spectral embedding to clusters: k-means, the normalised cut, and bounds on the groups."""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from skfair._kernels import normalized_cut as kernels
from skfair._kernels import normalized_cut_flows as flows
from skfair._kernels.clustering import balance_limits
from skfair.cluster._limits import mixes
from skfair.cluster.kmeans._samples import ClusteringProblem, lloyd
from skfair.cluster.kmeans._tables import controlled_rounding
from skfair.cluster.spectral._normalized_affinity import RBFAffinity
from skfair.utils._balance import balance, count_table
from skfair.utils._graph import cluster_links

MAX_PASSES = 100  # of a local search: what it has not found by then is worth little
N_TIGHTENINGS = 4  # attempts to reach a balance that whole persons missed, each half as slack
CROWD = 5  # members of the rarest group that a cluster should have if it can


def round_kmeans(network, embedding, runs, random_state, watch):
    """The papers' rounding: plain k-means on the rows of D^-1/2 H, whatever the balance.

    Parameters and result are those of `round_ncut`.
    """
    rows = embedding / np.sqrt(network.operator.degrees)[:, None]
    groups = network.groups
    samples = ClusteringProblem(
        rows, np.ones(len(rows)), groups.codes, balance_limits(len(groups.labels))
    )
    labels = _kmeans(samples, runs, random_state)
    watch(labels)
    return labels


def round_ncut(network, embedding, runs, random_state, watch):
    """Clusters of small normalised cut in which the groups are as balanced as asked.

    Weighted k-means on the embedding and a local search give a clustering without regard to
    groups. If it is not balanced enough, flows of members between the clusters bring the count of
    every group in every cluster near its proportional share, and a local search within the bounds
    follows. The bounds become tighter until the measured balance is what was asked for; where no
    rounding to whole persons reaches it, the best balanced clustering is returned.

    Parameters
    ----------
    network : Network
        The affinity, its degrees, which nodes are isolated, everybody's group, what is asked.
    embedding : ndarray of shape (n_nodes, n_components)
        H, in the scale of the normalised operator.
    runs : Runs
        Number of clusters, starts of k-means.
    random_state : RandomState
        Determines the starts of k-means.
    watch : callable
        Called with the labels after every round, that is of every clustering searched; True ends
        the search.

    Returns
    -------
    labels : ndarray of int32, shape (n_nodes,)
        For every cluster k and two groups with members n_kj and n_kj', n_kj + 1 is at least
        ``asked.balance`` times the data's balance times (n_kj' - 1), and likewise for shares of
        the groups, unless ``watch`` ended the search.
    """
    limits = network.asked.limits(network.groups.counts)
    free = NcutSearch.start(network, embedding, runs, random_state)
    best = free
    for search in _tightenings(free, limits, max(network.asked.balance, network.asked.share_ratio)):
        # Without regard to groups nothing counts once there is something else.
        if best is free or _rank(search, limits) > _rank(best, limits):
            best = search
        if watch(search.labels):
            break
    return best.labels


ROUNDINGS = {"ncut": round_ncut, "kmeans": round_kmeans}


def _rank(search, limits):
    """What is larger of the better search: a small cut within the limits, or else much balance."""
    if search.keeps(limits):
        return 1, -search.ncut
    return 0, search.mix(limits), -search.ncut


def _tightenings(free, limits, level):
    """The searches for a relative balance, one after another until the limits are kept."""
    yield free
    if free.keeps(limits):
        return
    tight = free.balanced(1.0)
    yield tight
    slacks = (1 - level) * 0.5 ** np.arange(N_TIGHTENINGS if tight.keeps(limits) else 1)
    for slack in slacks[slacks > 0]:
        # Relaxing mixed clusters often leads to a smaller cut than mixing pure ones.
        kept = False
        for start in (free, tight):
            search = start.balanced(1 - slack)
            kept = search.keeps(limits) or kept
            yield search
        if kept:
            return


def ncut_path(network, embedding, runs, random_state, n_levels=20):
    """Clusterings from the cheapest to the best balanced.

    Each level is reached twice: by tightening the cheapest clustering, and by relaxing the
    clustering of the next higher level.

    Parameters
    ----------
    network, embedding, runs, random_state
        As in `round_ncut`.
    n_levels : int, default=20
        Number of balances.

    Returns
    -------
    searches : list of NcutSearch
        Unsorted, some better than others.
    """
    free = NcutSearch.start(network, embedding, runs, random_state)
    if len(network.groups.labels) == 1:
        return [free]
    levels = np.arange(1, n_levels + 1) / n_levels
    tightened = [free.balanced(level) for level in levels]
    relaxed = [tightened[-1]]
    for level in levels[-2::-1]:
        relaxed.append(relaxed[-1].balanced(level))
    return [free, *tightened, *relaxed[1:]]


class NcutSearch(NamedTuple):
    """A graph and a clustering of it, from which others are searched."""

    graph: kernels.Graph
    members: list  # nodes of each group
    partition: kernels.NodeClustering

    @classmethod
    def start(cls, network, embedding, runs, random_state):
        """The smallest normalised cut that k-means and single moves find, groups aside."""
        operator, groups = network.operator, network.groups
        graph = _graph_of(operator, groups.codes)
        members = [np.flatnonzero(groups.codes == g) for g in range(len(groups.labels))]
        # Isolated nodes take no part in the search: no cut depends on where they are.
        connected = np.flatnonzero(~operator.isolated)
        n_clusters = min(runs.n_clusters, len(connected))
        degrees = operator.degrees[connected]
        rows = embedding[connected] / np.sqrt(degrees)[:, None]
        samples = ClusteringProblem(
            rows, degrees, groups.codes[connected], balance_limits(len(members))
        )
        labels = np.zeros(operator.n_nodes, dtype=np.int32)
        if n_clusters > 0:
            runs_here = runs._replace(n_clusters=n_clusters)
            labels[connected] = _kmeans(samples, runs_here, random_state)
        partition = _partition_of(operator.affinity, labels, runs.n_clusters, groups)
        _descend(graph, members, partition, _no_bounds(partition.counts))
        _place(partition, groups.codes, np.flatnonzero(operator.isolated))
        return cls(graph, members, partition)

    @property
    def labels(self):
        """Cluster of each node, (n_nodes,) int32."""
        return self.partition.labels

    @property
    def ncut(self):
        """Normalised cut."""
        return float(kernels.normalized_cut(self.partition))

    @property
    def balance(self):
        """Least ratio of the rarest to the commonest group in a cluster."""
        return balance(self.partition.counts)

    def mix(self, limits):
        """The same in the scales of the limits."""
        return float(mixes(self.partition.counts, limits).min())

    def keeps(self, limits):
        """Whether the level of the limits is reached."""
        return self.mix(limits) >= limits.level * (1 - 1e-12)

    def balanced(self, level):
        """A search from here to a relative balance; this one stays as it is."""
        partition = kernels.NodeClustering(*(array.copy() for array in self.partition))
        bounds = bounds_of(partition.counts, level)
        # Flows of each group bring its counts within the bounds, moves and exchanges follow.
        for rows in self.members:
            flows.repair_counts(self.graph, partition, bounds, rows)
        _descend(self.graph, self.members, partition, bounds)
        return self._replace(partition=partition)


def _descend(graph, members, partition, bounds):
    """Moves, and exchanges where bounds forbid moves, until none lowers the cut."""
    for _ in range(MAX_PASSES):
        n_changes = kernels.move_pass(graph, partition, bounds)
        if bounds.lower.any():
            n_changes += sum(flows.exchange_pass(graph, partition, rows) for rows in members)
        if n_changes == 0:
            break


def _kmeans(samples, runs, random_state):
    """Labels of the cheapest run of k-means."""
    starts = runs.starts(samples, random_state)
    ends = [lloyd(samples, start, runs.max_iter, runs.tol) for start in starts]
    return min(ends, key=lambda end: samples.cost_of(end)).labels


def _graph_of(operator, codes):
    """The affinity as the kernels take it: one type for all kinds; dense arrays are not copied."""
    affinity, n_nodes = operator.affinity, operator.n_nodes
    nodes, zeros = np.arange(n_nodes), np.zeros(n_nodes, dtype=np.int64)
    points, gamma = np.empty((0, 0)), 0.0
    columns, column_starts, sizes = nodes, zeros, zeros + n_nodes  # of full rows
    if isinstance(affinity, RBFAffinity):  # rows computed from the points, in the room for one
        points, gamma = np.ascontiguousarray(affinity.X), affinity.gamma
        values, starts, loops = np.empty(n_nodes), zeros, np.ones(n_nodes)
    elif sparse.issparse(affinity):  # compressed rows, each with columns of its own
        if not affinity.has_canonical_format:
            affinity = affinity.copy()
            affinity.sum_duplicates()
        columns, values, loops = affinity.indices, affinity.data, affinity.diagonal()
        starts = column_starts = affinity.indptr[:-1].astype(np.int64)
        sizes = np.diff(affinity.indptr).astype(np.int64)
    else:
        # A symmetric array may be read by rows or by columns: order "K" never copies it.
        values, starts, loops = affinity.ravel("K"), n_nodes * nodes, np.array(affinity.diagonal())
    return kernels.Graph(
        is_computed=isinstance(affinity, RBFAffinity),
        points=points,
        gamma=float(gamma),
        columns=columns.astype(np.int32, copy=False),
        values=values,
        column_starts=column_starts,
        starts=starts,
        sizes=sizes,
        degrees=np.where(operator.isolated, 0.0, operator.degrees),
        loops=loops,
        groups=codes,
    )


def _partition_of(affinity, labels, n_clusters, groups):
    """The clustering that labels describe, tabulated from scratch."""
    links, within, volumes = cluster_links(affinity, labels, n_clusters)
    counts = count_table(labels, groups.codes, None, n_clusters, len(groups.labels))
    return kernels.NodeClustering(labels, links, within, volumes, counts.astype(np.int64))


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
    target = controlled_rounding(shares)
    # (1 - delta) / (1 + delta) = level; bounds rounded inwards, unless that leaves nothing.
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
