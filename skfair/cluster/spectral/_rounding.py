"""Rounding of a spectral embedding: k-means, local search for the normalised cut, group bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from skfair._groups.groups import count_table
from skfair._kernels import normalized_cut as kernels
from skfair._kernels.iterated_search import MAX_ITERATED_SAMPLES, iterate_search, pair_samples
from skfair._kernels.limits import (
    allow_slack,
    balance_limits,
    composition_ratios,
    find_memberships,
    has_rows,
    satisfies_rows,
)
from skfair._kernels.sparse_samples import member_sums
from skfair._utils.arrays import cluster_links
from skfair._utils.tables import is_sparse
from skfair.cluster.kmeans._homotopy import Homotopy
from skfair.cluster.kmeans._problem import ClusteringProblem
from skfair.cluster.kmeans._rounds import lloyd
from skfair.cluster.kmeans._tables import controlled_rounding
from skfair.cluster.spectral._eigen_solvers import RBFAffinity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Self

    from skfair._groups.groups import Groups
    from skfair._kernels.limits import Limits
    from skfair._kernels.normalized_cut import Bounds, Graph, NodeClustering
    from skfair._utils.tables import TableLike
    from skfair.cluster._base import ClusterRequirements
    from skfair.cluster._input import Households
    from skfair.cluster.kmeans._rounds import RunSettings
    from skfair.cluster.spectral._eigen_solvers import NormalizedAffinity


MAX_PASSES = 100  # of a local search; later passes gain little
MAX_EXCHANGED_NODES = 150  # of a graph, of which all pairs are exchanged


class NodePairs(Protocol):
    """Nodes that must be linked, or must not be."""

    @property
    def nodes(self) -> np.ndarray:
        """The nodes of pairs."""

    def assign(self, clustering: NodeClustering) -> np.ndarray:
        """Labels of all nodes that keep the pairs."""


class NodeProblem(Protocol):
    """What a rounding needs of a problem: its affinity, groups, requirements and pairs."""

    @property
    def operator(self) -> NormalizedAffinity:
        """The normalised affinity of the nodes."""

    @property
    def groups(self) -> Groups:
        """The groups of the nodes."""

    @property
    def requirements(self) -> ClusterRequirements:
        """The requested balance, shares and sizes."""

    @property
    def limits(self) -> Limits:
        """The limits that the requirements set on clusters of nodes."""

    @property
    def households(self) -> Households | None:
        """Nodes that stay together, None without any."""

    @property
    def household_limits(self) -> Limits:
        """The limits on clusters of households, or of nodes without any."""

    @property
    def pairs(self) -> NodePairs | None:
        """The requested pairs, None without any."""


def round_kmeans(
    problem: NodeProblem,
    embedding: np.ndarray,
    runs: RunSettings,
    random_state: np.random.RandomState,
    watch: Callable,
) -> np.ndarray:
    """Labels of plain k-means on the rows of D^-1/2 H, the last step of DC-ADMM's Algorithm 1."""
    rows = embedding / np.sqrt(problem.operator.degrees)[:, None]
    groups = problem.groups
    kmeans_problem = ClusteringProblem(
        rows, np.ones(len(rows)), groups.codes, balance_limits(len(groups.labels))
    )
    labels = _kmeans(kmeans_problem, runs, random_state)
    watch(labels)
    return labels


def round_ncut(
    problem: NodeProblem,
    embedding: np.ndarray,
    runs: RunSettings,
    random_state: np.random.RandomState,
    watch: Callable,
) -> np.ndarray:
    """Labels of small normalised cut and of the requested balance.

    Weighted k-means on the embedding H and a local search give a clustering that ignores groups. If
    its balance is too low, flows of members between the clusters bring the count of every group in
    every cluster near its proportional share, and a local search within these bounds follows: those
    of full balance, then those that are required. Last come moves and exchanges that keep the
    balance itself, and of few nodes searches after random moves. If integer rounding prevents that
    the balance is reached, they start from the best balanced clustering: n_kj + 1 >= b (n_kj' - 1)
    for any cluster k and two groups, b being ``requirements.balance`` times the balance of the
    data, and likewise for shares of groups. ``watch`` gets the labels of every clustering searched;
    if it returns True the search ends.
    """
    limits = problem.limits
    free = NcutSearch.start(problem, embedding, runs, random_state)
    if has_rows(limits) or limits.n_attributes > 1 or problem.households is not None:
        return round_within(problem, embedding, free, runs, random_state, watch)
    # The feasible clustering of smallest cut, or else the one of largest balance.
    best = free
    for search in _search_levels(
        free, limits, max(problem.requirements.balance, problem.requirements.share_ratio)
    ):
        # The clustering that ignores groups is replaced by any other one.
        if best is free or _sort_key(search, limits) > _sort_key(best, limits):
            best = search
        if watch(search.labels):
            return best.labels
    if limits.level > 0:
        # The last passes compare counts with the limits, not with bounds that imply them.
        limits = best.limits_within_reach(limits)
        best = best.search_within(limits).iterate_within(limits, problem, random_state)
        watch(best.labels)
    return best.labels


def round_within(
    problem: NodeProblem,
    embedding: np.ndarray,
    free: NcutSearch,
    runs: RunSettings,
    random_state: np.random.RandomState,
    watch: Callable,
) -> np.ndarray:
    """Labels of small normalised cut, with bounds on sizes, on every attribute, or of households.

    k-means on the embedding, by degree and within the limits, gives two clusterings: from starts of
    its own, and from the clustering that ignores groups. From each, moves and exchanges that keep
    the limits lower the cut.
    """
    limits = problem.limits
    if watch(free.labels) or (problem.households is None and free.keeps(limits)):
        return free.labels
    kmeans_problem = _make_kmeans_problem(problem, embedding)
    of_nodes = slice(None) if problem.households is None else problem.households.of_rows
    centers = _average_by_cluster(problem, embedding, free.labels, runs.n_clusters)
    starts = [runs, runs._replace(init=centers, n_init=1)]
    if len(free.labels) <= MAX_EXCHANGED_NODES:  # every start of few nodes is led to a cut
        starts += [runs._replace(n_init=1)] * runs.n_init
    best = free
    for start in starts:
        point = Homotopy()._solve(kmeans_problem, start, random_state)[0]
        search = free.replace_labels(problem, point.labels[of_nodes])
        within = search.limits_within_reach(limits)
        search = search.search_within(within).iterate_within(within, problem, random_state)
        # The clustering that ignores groups is replaced by any other one.
        if best is free or _sort_key(search, limits) > _sort_key(best, limits):
            best = search
        if watch(search.labels):
            break
    return best.labels


def _make_kmeans_problem(problem: NodeProblem, embedding: np.ndarray) -> ClusteringProblem:
    """k-means of the nodes, or of households, that counts members and weighs them by degree."""
    degrees = problem.operator.degrees
    rows = embedding / np.sqrt(degrees)[:, np.newaxis]
    households = problem.households
    if households is None:
        n_nodes = len(degrees)
        return ClusteringProblem(
            rows, np.ones(n_nodes), problem.groups.codes, problem.limits, unit_costs=degrees
        )
    masses = households.sum_members(degrees)
    means = households.sum_members(rows * degrees[:, np.newaxis]) / masses[:, np.newaxis]
    return ClusteringProblem(
        means,
        households.weights,
        households.codes,
        problem.household_limits,
        unit_costs=masses / households.weights,
        household_sizes=households.sizes,
    )


def _average_by_cluster(
    problem: NodeProblem, embedding: np.ndarray, labels: np.ndarray, n_clusters: int
) -> np.ndarray:
    """Means of the clusters of nodes in the embedding, by degree."""
    degrees = problem.operator.degrees
    rows = embedding / np.sqrt(degrees)[:, np.newaxis]
    sums = member_sums(rows, degrees, labels, n_clusters)
    masses = np.bincount(labels, degrees, minlength=n_clusters)
    return sums / np.where(masses > 0, masses, 1.0)[:, np.newaxis]


ROUNDINGS = {"ncut": round_ncut, "kmeans": round_kmeans}


def _sort_key(search: NcutSearch, limits: Limits) -> tuple[float, ...]:
    """Sort key: feasible searches by cut, then infeasible ones by balance."""
    if search.keeps(limits):
        return 1, -search.ncut
    return 0, search.scaled_balance(limits), -search.ncut


def _search_levels(free: NcutSearch, limits: Limits, level: float) -> Iterator[NcutSearch]:
    """Yield searches at the required relative balance, from pure and from balanced clusters."""
    yield free
    if free.keeps(limits):
        return
    tight = free.search_at(1.0)
    yield tight
    if level < 1:
        # Relaxing balanced clusters often gives a smaller cut than balancing pure ones.
        yield free.search_at(level)
        yield tight.search_at(level)


def ncut_path(
    problem: NodeProblem,
    embedding: np.ndarray,
    runs: RunSettings,
    random_state: np.random.RandomState,
    n_levels: int = 20,
) -> list[NcutSearch]:
    """Searches at ``n_levels`` balances, unsorted.

    Each level is reached twice: by tightening the cheapest clustering, and by relaxing the
    clustering of the next higher level.
    """
    free = NcutSearch.start(problem, embedding, runs, random_state)
    if len(problem.groups.labels) == 1:
        return [free]
    levels = np.arange(1, n_levels + 1) / n_levels
    # Tighten from the free clustering, then relax step by step from the balanced one.
    tightened = [free.search_at(level) for level in levels]
    relaxed = [tightened[-1]]
    for level in levels[-2::-1]:
        relaxed.append(relaxed[-1].search_at(level))
    return [free, *tightened, *relaxed[1:]]


class NcutSearch(NamedTuple):
    """A graph and a clustering of it, from which others are searched."""

    graph: kernels.Graph
    members: list  # nodes of each group
    clustering: kernels.NodeClustering

    @classmethod
    def start(
        cls,
        problem: NodeProblem,
        embedding: np.ndarray,
        runs: RunSettings,
        random_state: np.random.RandomState,
    ) -> NcutSearch:
        """The clustering of k-means and single moves, which ignores groups."""
        operator, groups = problem.operator, problem.groups
        graph = _to_kernel_graph(operator, groups.codes)
        members = [np.flatnonzero(groups.codes == g) for g in range(len(groups.labels))]
        # Weighted k-means on connected nodes: no cut depends on the isolated ones.
        connected = np.flatnonzero(~operator.isolated)
        n_clusters = min(runs.n_clusters, len(connected))
        degrees = operator.degrees[connected]
        rows = embedding[connected] / np.sqrt(degrees)[:, None]
        kmeans_problem = ClusteringProblem(
            rows, degrees, groups.codes[connected], balance_limits(len(members))
        )
        labels = np.zeros(operator.n_nodes, dtype=np.int32)
        if n_clusters > 0:
            runs_here = runs._replace(n_clusters=n_clusters)
            labels[connected] = _kmeans(kmeans_problem, runs_here, random_state)
        # Local search, then balanced assignment of the isolated nodes.
        clustering = _build_clustering(operator.affinity, labels, runs.n_clusters, groups)
        _descend(graph, members, clustering, _no_bounds(clustering.counts))
        _assign_isolated(clustering, groups.codes, np.flatnonzero(operator.isolated))
        if problem.pairs is not None:
            # Nodes of pairs go where the pairs are kept, and then stay: none of infinite degree may
            # leave its cluster, and flows and exchanges are those of the other nodes.
            nodes = problem.pairs.nodes
            labels = problem.pairs.assign(clustering)
            clustering = _build_clustering(operator.affinity, labels, runs.n_clusters, groups)
            graph.degrees[nodes] = np.inf
            members = [np.setdiff1d(rows, nodes) for rows in members]
            members = [rows for rows in members if len(rows)]
            _descend(graph, members, clustering, _no_bounds(clustering.counts))
        return cls(graph, members, clustering)

    @property
    def labels(self) -> np.ndarray:
        """Cluster of each node, (n_nodes,) int32."""
        return self.clustering.labels

    @property
    def ncut(self) -> float:
        """Normalised cut."""
        return float(kernels.normalized_cut(self.clustering))

    def count_groups(self, limits: Limits) -> np.ndarray:
        """Members of each group of the limits in every cluster, (n_clusters, n_groups)."""
        return self.clustering.counts @ find_memberships(limits)

    def scaled_balance(self, limits: Limits) -> float:
        """Minimum balance of a cluster, in the scales of the limits."""
        return float(composition_ratios(self.count_groups(limits), limits).min())

    def keeps(self, limits: Limits) -> bool:
        """Whether the balance reaches the level of the limits, and rows are kept."""
        is_balanced = self.scaled_balance(limits) >= limits.level * (1 - 1e-12)
        return is_balanced and satisfies_rows(self.count_groups(limits), limits)

    def replace_labels(self, problem: NodeProblem, labels: np.ndarray) -> NcutSearch:
        """The same graph with other labels."""
        n_clusters = len(self.clustering.volumes)
        labels = labels.astype(np.int32)
        clustering = _build_clustering(
            problem.operator.affinity, labels, n_clusters, problem.groups
        )
        return self._replace(clustering=clustering)

    def search_at(self, level: float) -> NcutSearch:
        """A search from a copy of this clustering to a relative balance."""
        clustering = self._copy_clustering()
        bounds = compute_bounds(clustering.counts, level)
        # Flows bring the counts of each group within the bounds. Moves and exchanges follow.
        for rows in self.members:
            kernels.repair_counts(self.graph, clustering, bounds, rows)
        _descend(self.graph, self.members, clustering, bounds)
        return self._replace(clustering=clustering)

    def limits_within_reach(self, limits: Limits) -> Limits:
        """The limits, or what this clustering reaches of them: up to one sample, if it does."""
        reached = self.scaled_balance(limits)
        if reached >= limits.level:
            return limits
        relaxed = allow_slack(limits, 1.0, reached)
        return relaxed if self.keeps(relaxed) else limits._replace(level=reached)

    def search_within(self, limits: Limits) -> NcutSearch:
        """A search from a copy of this clustering by moves and exchanges that keep limits."""
        clustering = self._copy_clustering()
        graph = self.graph
        n_clusters, n_groups = clustering.counts.shape
        leaves, joins = np.empty((2, n_clusters, n_groups), dtype=bool)
        swaps = np.empty((n_clusters, n_groups, n_groups), dtype=bool)
        for _ in range(MAX_PASSES):
            n_changes = kernels.limited_move_pass(graph, clustering, limits, leaves, joins)
            # Exchanges, once there are no moves: of all pairs of few nodes, or within the groups.
            if n_changes == 0 and len(graph.groups) <= MAX_EXCHANGED_NODES:
                n_changes = kernels.limited_exchange_pass(graph, clustering, limits, swaps)
            elif n_changes == 0:
                passes = (kernels.exchange_pass(graph, clustering, rows) for rows in self.members)
                n_changes = sum(passes)
            if n_changes == 0:
                break
        return self._replace(clustering=clustering)

    def iterate_within(
        self, limits: Limits, problem: NodeProblem, random_state: np.random.RandomState
    ) -> NcutSearch | Self:
        """The cheapest of searches after random moves of few nodes; they keep limits."""
        operator, groups, counts = problem.operator, problem.groups, self.count_groups(limits)
        is_large = operator.n_nodes > MAX_ITERATED_SAMPLES
        if is_large or operator.isolated.any() or problem.pairs is not None:
            return self
        # The normalised cut is a k-means cost, up to a constant: that of masses d_i and of kernel
        # K_ij / (d_i d_j) plus 1 / d_i on the diagonal (Dhillon, Guan and Kulis 2004).
        masses = operator.degrees
        kernel = operator.to_dense() / np.sqrt(np.outer(masses, masses))
        norms = np.diag(kernel) + 1 / masses
        distances = np.maximum(np.add.outer(norms, norms) - 2 * kernel, 0.0)
        np.fill_diagonal(distances, 0.0)
        weights = np.ones(operator.n_nodes)
        samples = pair_samples(distances, masses, weights, groups.codes, counts, limits)
        labels = iterate_search(samples, self.labels, len(counts), random_state)
        clustering = _build_clustering(operator.affinity, labels, len(counts), groups)
        return self._replace(clustering=clustering)

    def _copy_clustering(self) -> NodeClustering:
        return kernels.NodeClustering._make(array.copy() for array in self.clustering)


def _descend(
    graph: Graph, members: list[np.ndarray], clustering: NodeClustering, bounds: Bounds
) -> None:
    """Moves, and exchanges where bounds forbid moves, until none lowers the cut."""
    for _ in range(MAX_PASSES):
        n_changes = kernels.move_pass(graph, clustering, bounds)
        if bounds.lower.any():
            n_changes += sum(kernels.exchange_pass(graph, clustering, rows) for rows in members)
        if n_changes == 0:
            break


def _kmeans(
    problem: ClusteringProblem, runs: RunSettings, random_state: np.random.RandomState
) -> np.ndarray:
    """Labels of the cheapest run of k-means."""
    starts = [runs.start(problem, random_state) for _ in range(runs.n_init)]
    ends = [lloyd(problem, start, runs.max_iter, runs.tol) for start in starts]
    return min(ends, key=lambda end: problem.cost_of(end)).labels


def _make_writable(array: np.ndarray) -> np.ndarray:
    """The array, or a copy of one that is read-only: kernels are compiled for one type."""
    return np.require(array, requirements="W")


def _to_kernel_graph(operator: NormalizedAffinity, codes: np.ndarray) -> Graph:
    """The affinity as a struct of kernels; dense arrays are not copied."""
    affinity, n_nodes = operator.affinity, operator.n_nodes
    nodes = np.arange(n_nodes)
    zeros = np.zeros(n_nodes, dtype=np.int64)
    points = np.empty((0, 0))
    gamma = 0.0
    # of full rows
    columns = nodes
    column_starts = zeros
    sizes = zeros + n_nodes
    if isinstance(affinity, RBFAffinity):  # rows computed from points, in one buffer
        points = _make_writable(np.ascontiguousarray(affinity.X))
        gamma = affinity.gamma
        values = np.empty(n_nodes)
        starts = zeros
        loops = np.ones(n_nodes)
    elif is_sparse(affinity):  # compressed rows
        if not affinity.has_canonical_format:
            affinity = affinity.copy()
            affinity.sum_duplicates()
        columns = _make_writable(affinity.indices)
        values = _make_writable(affinity.data)
        loops = affinity.diagonal()
        starts = column_starts = affinity.indptr[:-1].astype(np.int64)
        sizes = np.diff(affinity.indptr).astype(np.int64)
    else:
        # A symmetric array may be read by rows or by columns: order "K" never copies it.
        values = _make_writable(affinity.ravel("K"))
        starts = n_nodes * nodes
        loops = np.array(affinity.diagonal())
    return kernels.Graph(
        has_computed_rows=isinstance(affinity, RBFAffinity),
        points=points,
        gamma=float(gamma),
        columns=columns.astype(np.int32, copy=False),
        values=values,
        column_starts=column_starts,
        value_starts=starts,
        sizes=sizes,
        degrees=np.where(operator.isolated, 0.0, operator.degrees),
        loops=loops,
        groups=codes,
    )


def _build_clustering(
    affinity: TableLike | RBFAffinity, labels: np.ndarray, n_clusters: int, groups: Groups
) -> NodeClustering:
    """The clustering of labels, with its links, volumes and counts."""
    links, within, volumes = cluster_links(affinity, labels, n_clusters)
    counts = count_table(labels, groups.codes, None, n_clusters, len(groups.labels))
    return kernels.NodeClustering(labels, links, within, volumes, counts.astype(np.int64))


def _assign_isolated(clustering: NodeClustering, codes: np.ndarray, isolated: np.ndarray) -> None:
    """Assign each isolated node to the cluster with the largest deficit of its group."""
    labels, counts = clustering.labels, clustering.counts
    np.subtract.at(counts, (labels[isolated], codes[isolated]), 1)
    shares = np.bincount(codes) / len(codes)
    for i in isolated:
        g = codes[i]
        sizes = counts.sum(axis=1)
        # An empty cluster comes first, then the one with the largest deficit.
        lacking = np.where(sizes == 0, np.inf, sizes * shares[g] - counts[:, g])
        labels[i] = np.argmax(lacking)
        counts[labels[i], g] += 1


# Bounds -------------------------------------------------------------------------------


def _no_bounds(counts: np.ndarray) -> Bounds:
    return kernels.Bounds(np.zeros_like(counts), np.full_like(counts, counts.sum()))


def compute_bounds(counts: np.ndarray, level: float) -> Bounds:
    """Bounds on the counts of groups in clusters that guarantee a relative balance.

    With s the proportional share they are (1 +- delta) s, rounded inwards, and (1 - delta) /
    (1 + delta) is the level. Where no integer is between them, they contain a controlled rounding
    of the shares, so that counts within the bounds exist. Shares follow the sizes in ``counts``.
    """
    shares = _proportional_shares(counts)
    target = controlled_rounding(shares)
    # Solve (1 - delta) / (1 + delta) = level; round inwards unless no integer is left.
    delta = (1 - level) / (1 + level)
    lower = np.minimum(target, np.ceil((1 - delta) * shares - 1e-9))
    upper = np.maximum(target, np.floor((1 + delta) * shares + 1e-9))
    return kernels.Bounds(lower.astype(np.int64), upper.astype(np.int64))


def _proportional_shares(counts: np.ndarray) -> np.ndarray:
    """Proportional shares of the groups in clusters of about the current sizes.

    The unit of size is a member of the smallest group that has one for every cluster. Units are
    integers, as rounding costs balance most in this group. Small clusters grow to
    five units or half the average: rounding the other groups would unbalance them,
    and their cut is large.
    """
    sizes = counts.sum(axis=1)
    totals = counts.sum(axis=0)
    n_clusters = len(counts)
    n_smallest = totals[totals >= n_clusters].min(initial=totals.sum())
    least = max(1, min(5, n_smallest / (2 * n_clusters)))
    small = np.zeros(n_clusters, dtype=bool)
    units = sizes * (n_smallest / totals.sum())
    # Growing small clusters shrinks the others, which may become small in turn.
    while (units < least * (1 - 1e-12)).any():
        small |= units < least
        rest = n_smallest - least * small.sum()
        units = np.where(small, least, sizes * (rest / max(sizes[~small].sum(), 1)))
    return np.outer(_largest_remainders(units), totals / n_smallest)


def _largest_remainders(values: np.ndarray) -> np.ndarray:
    """Integers of the same sum: the values of largest fraction are rounded up."""
    floor = np.floor(values + 1e-9)
    n_raised = round(values.sum() - floor.sum())
    floor[np.argsort(floor - values, kind="stable")[:n_raised]] += 1
    return floor
