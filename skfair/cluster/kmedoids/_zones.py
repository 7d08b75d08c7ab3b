"""Connected zones: clusters of sites that are connected in a graph of neighbours.

The search starts from the clusters of a fit that ignores the graph. Their largest components grow
until they take in all samples. Then single samples move across borders, and two neighbouring zones
are joined and divided again at an edge of a spanning tree, so that both stay connected: the
recombination of districts. The objective is the cost, and a penalty on what the zones miss of their
bounds, which rises until all are kept. From the best zones so far, some are then divided at random,
until several divisions in a row gain nothing.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components, depth_first_order, minimum_spanning_tree

from skfair._kernels.limits import allow_slack, find_memberships, pair_rows
from skfair._utils.checks import argument_error, check_in_memory, to_floats
from skfair._utils.tables import to_pandas_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from skfair._utils.api import MatrixLike
    from skfair.cluster._input import Households
    from skfair.cluster.kmedoids._sites import SiteProblem


MAX_FAILURES = 20  # random divisions in a row that gain nothing, after which a search ends
N_TREES = 3  # spanning trees of two zones that are tried in a row
FIRST_PENALTY = 0.1  # mean costs of a sample for the excess of a mean weight
PENALTY_GROWTH = 4.0
MAX_PENALTIES = 12
ROUNDING = 1e-9
LINEAR_SHARE = 0.1  # of an excess in mean weights, in its penalty beside the square


class ZoneProblem(NamedTuple):
    """Samples with costs and loads, their neighbours, and bounds on the loads of zones."""

    costs: np.ndarray  # (n_samples, n_sites) times the weights
    loads: np.ndarray  # (n_samples, n_rows) added to the rows of the limits, in mean weights
    bounds: np.ndarray  # (n_sites, n_rows) largest loads of the zone of each site
    is_free: np.ndarray  # (n_sites,) bool, sites that a zone may take in place of its own
    is_fixed: np.ndarray  # (n_sites,) bool, sites that no zone gives up
    graph: sparse.csr_array  # (n_samples, n_samples) symmetric
    neighbors: list[list[int]]  # of each sample

    @property
    def arcs(self) -> tuple[np.ndarray, np.ndarray]:
        """Samples at the two ends of every edge, in both directions."""
        starts = np.repeat(np.arange(self.graph.shape[0]), np.diff(self.graph.indptr))
        return starts, self.graph.indices

    def sum_loads(self, labels: np.ndarray, n_zones: int) -> np.ndarray:
        """Loads of every zone, (n_zones, n_rows)."""
        sums = np.zeros((n_zones, self.loads.shape[1]))
        np.add.at(sums, labels, self.loads)
        return sums

    def cost_of(self, zones: Zones) -> float:
        """Sum of the costs of all samples."""
        return float(self.costs[np.arange(len(self.costs)), zones.sites[zones.labels]].sum())

    def excess_of(self, zones: Zones) -> float:
        """What zones exceed their bounds by, as `measure_excess` sums it."""
        sums = self.sum_loads(zones.labels, len(zones.sites))
        return float(measure_excess(sums, self.bounds[zones.sites]).sum())


class Zones(NamedTuple):
    """Zones and their sites. Steps of the search change both arrays in place."""

    labels: np.ndarray  # (n_samples,)
    sites: np.ndarray  # (n_zones,)

    def copy(self) -> Zones:
        """Zones that steps may change without changing these."""
        return Zones(self.labels.copy(), self.sites.copy())


class SpanningTree(NamedTuple):
    """Samples of two zones in depth-first order, in which every subtree is a range."""

    samples: np.ndarray  # (n_samples_of_both,)
    starts: np.ndarray  # first position of the subtree below each edge
    ends: np.ndarray  # position after its last one


def measure_excess(loads: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Sum over rows of the squares of what loads exceed their bounds by, and of a share of it.

    The squares fall where an excess is shared with the next zone, which may pass it on. The share
    counts where little is left.
    """
    excess = np.maximum(loads - bounds, 0.0)
    return (LINEAR_SHARE * excess + excess**2).sum(axis=-1)


# The problem.


def check_connectivity(
    connectivity: MatrixLike,
    n_rows: int,
    present: np.ndarray,
    households: Households | None,
) -> sparse.csr_array:
    """The symmetric graph of samples from that of rows; members of a household are one sample.

    Raises a ValueError unless it has a row and a column for each row of X, and connects all of
    positive weight.
    """
    check_in_memory(connectivity=connectivity)
    if not sparse.issparse(connectivity):
        connectivity = to_floats("connectivity", to_pandas_table(connectivity))
    shape = np.shape(connectivity)
    if shape != (n_rows, n_rows):
        raise argument_error(
            f"connectivity must have the shape (n_samples, n_samples), but is {shape} for "
            f"{n_rows} rows; pass one row and one column per row of X."
        )
    graph = sparse.csr_array(connectivity)
    if not np.isfinite(graph.data).all():
        raise argument_error(
            "connectivity must hold finite numbers, of which those other than 0 are edges, but it "
            "holds nan or infinity. Pass 0 for rows that are no neighbours."
        )
    graph = graph[present][:, present]
    if households is not None:
        rows = np.arange(len(present))
        of_rows = sparse.csr_array((np.ones(len(rows)), (rows, households.of_rows)))
        graph = of_rows.T @ (graph != 0).astype(float) @ of_rows
    links = sparse.coo_array(graph != 0)
    is_edge = links.row != links.col
    ends = links.row[is_edge], links.col[is_edge]
    graph = sparse.csr_array((np.ones(len(ends[0])), ends), shape=links.shape)
    graph = sparse.csr_array(graph + graph.T)
    graph.sum_duplicates()
    n_components, components = connected_components(graph, directed=False)
    if n_components > 1:
        smallest = np.bincount(components).min()
        raise argument_error(
            f"connectivity must connect all samples of positive weight, but has {n_components} "
            f"components, the smallest of {smallest}; add edges, such as a ferry to an island, or "
            "fit every component on its own."
        )
    return graph


def make_zone_problem(problem: SiteProblem, graph: sparse.csr_array) -> ZoneProblem:
    """The zones of a problem of sites, whose limits become bounds on sums of loads."""
    limits = problem.limits
    rows, bounds = limits.rows, limits.bounds + limits.rounding
    memberships = find_memberships(limits).astype(float)
    if limits.level > 0:
        # A level may be missed by the lightest sample, and no required group is missing.
        lightest = float(problem.member_weights.min())
        pairs, pair_bounds = pair_rows(allow_slack(limits, lightest, 0.0))
        required = np.flatnonzero(limits.required)
        weights = problem.weights[:, np.newaxis] * (memberships[problem.codes] > 0)
        present = np.where(weights > 0, weights, np.inf).min(axis=0)[required]
        rows = np.vstack([rows, pairs, -np.eye(limits.n_groups)[required]])
        of_level = np.concatenate([pair_bounds, -present])
        bounds = np.hstack([bounds, np.broadcast_to(of_level, (len(bounds), len(of_level)))])
    n_sites = problem.costs.shape[1]
    is_fixed = np.isin(np.arange(n_sites), problem.fixed)
    weights = problem.weights[:, np.newaxis]
    unit = problem.total_weight / len(weights)
    return ZoneProblem(
        costs=weights * problem.costs,
        loads=weights * (memberships @ rows.T)[problem.codes] / unit,
        bounds=np.broadcast_to(bounds / unit + ROUNDING, (n_sites, len(rows))),
        is_free=problem.allowed & ~is_fixed,
        is_fixed=is_fixed,
        graph=graph,
        neighbors=[one.tolist() for one in np.split(graph.indices, graph.indptr[1:-1])],
    )


# First zones.


def grow_zones(problem: ZoneProblem, labels: np.ndarray, sites: np.ndarray) -> Zones:
    """Connected zones: the largest component of each cluster takes in others across borders.

    The sample that costs least at the site of the zone, compared with its cheapest site, goes next.
    """
    zones = np.full(len(labels), -1)
    for k in range(len(sites)):
        members = np.flatnonzero(labels == k)
        _, components = connected_components(problem.graph[members][:, members], directed=False)
        zones[members[components == np.bincount(components).argmax()]] = k
    at_sites = problem.costs[:, sites]
    rises = at_sites - at_sites.min(axis=1, keepdims=True)
    border: list[tuple] = []

    def add_neighbors(i: int) -> None:
        for j in problem.neighbors[i]:
            if zones[j] < 0:
                heapq.heappush(border, (rises[j, zones[i]], j, zones[i]))

    for i in np.flatnonzero(zones >= 0).tolist():
        add_neighbors(i)
    while border:
        _, i, k = heapq.heappop(border)
        if zones[i] < 0:
            zones[i] = k
            add_neighbors(i)
    return Zones(zones, sites.copy())


# Moves of single samples.


def stays_connected(problem: ZoneProblem, labels: np.ndarray, i: int) -> bool:
    """Whether a zone is connected, and not empty, once sample i has left it."""
    zone = labels[i]
    missing = {j for j in problem.neighbors[i] if labels[j] == zone}
    if not missing:
        return False
    # Search from one neighbour of the sample until all others are reached, mostly around it.
    front = [missing.pop()]
    reached = {i, *front}
    while front and missing:
        following = {j for one in front for j in problem.neighbors[one] if labels[j] == zone}
        following -= reached
        reached |= following
        missing -= following
        front = list(following)
    return not missing


def move_samples(problem: ZoneProblem, zones: Zones, penalty: float, least: float) -> set[int]:
    """Move samples across borders as long as the objective falls; return the changed zones."""
    labels, sites = zones
    bounds = problem.bounds[sites]
    sums = problem.sum_loads(labels, len(sites))
    costs = problem.costs[:, sites]
    starts, ends = problem.arcs
    changed: set[int] = set()
    while True:
        is_crossing = labels[starts] != labels[ends]
        moves = np.unique(starts[is_crossing] * len(sites) + labels[ends[is_crossing]])
        samples, goals = np.divmod(moves, len(sites))
        origins = labels[samples]
        loads = problem.loads[samples]
        excess = measure_excess(sums, bounds)
        rises = costs[samples, goals] - costs[samples, origins]
        rises += penalty * (
            measure_excess(sums[origins] - loads, bounds[origins])
            + measure_excess(sums[goals] + loads, bounds[goals])
            - excess[origins]
            - excess[goals]
        )
        order = np.argsort(rises, kind="stable")
        gaining = order[: np.searchsorted(rises[order], -least)]
        move = next((m for m in gaining if stays_connected(problem, labels, samples[m])), None)
        if move is None:
            return changed
        sums[origins[move]] -= loads[move]
        sums[goals[move]] += loads[move]
        labels[samples[move]] = goals[move]
        changed |= {int(origins[move]), int(goals[move])}


# Divisions of two zones.


def list_neighboring_zones(problem: ZoneProblem, labels: np.ndarray) -> np.ndarray:
    """Pairs of zones with a border, (n_pairs, 2)."""
    first, second = (labels[ends] for ends in problem.arcs)
    return np.unique(np.column_stack([first, second])[first < second], axis=0)


def list_edges(problem: ZoneProblem, members: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positions among some samples, in ascending order, at the two ends of each edge of theirs."""
    graph = problem.graph
    counts = graph.indptr[members + 1] - graph.indptr[members]
    # The entries of the rows of all members, one row after another.
    skipped = graph.indptr[members] - (counts.cumsum() - counts)
    entries = np.arange(counts.sum()) + np.repeat(skipped, counts)
    position = np.full(graph.shape[0], -1)
    position[members] = np.arange(len(members))
    first, second = position[members].repeat(counts), position[graph.indices[entries]]
    is_edge = first < second  # each edge once, and none that leaves the members
    # SciPy before 1.15 reads indices of 32 bits alone.
    return first[is_edge].astype(np.int32), second[is_edge].astype(np.int32)


def draw_tree(
    members: np.ndarray,
    edges: tuple[np.ndarray, np.ndarray],
    lengths: np.ndarray,
    generator: np.random.RandomState,
) -> SpanningTree | None:
    """A short spanning tree of some samples, by drawn and given lengths; None if not connected.

    ``edges`` are those of `list_edges`. ``lengths`` (n_members,) are positions on a line, whose
    distances are added to the drawn ones.
    """
    first, second = edges
    drawn = generator.uniform(1.0, 2.0, len(first)) + abs(lengths[first] - lengths[second])
    graph = sparse.csr_array((drawn, edges), shape=(len(members), len(members)))
    order, parents = depth_first_order(minimum_spanning_tree(graph), 0, directed=False)
    if len(order) < len(members):
        return None
    sizes = [1] * len(members)
    for i, parent in zip(order[:0:-1].tolist(), parents[order[:0:-1]].tolist(), strict=True):
        sizes[parent] += sizes[i]
    starts = np.arange(1, len(members))
    return SpanningTree(members[order], starts, starts + np.array(sizes)[order[1:]])


def divide_zones(
    problem: ZoneProblem,
    zones: Zones,
    pair: np.ndarray,
    penalty: float,
    least: float,
    generator: np.random.RandomState,
) -> bool:
    """Join two zones and divide them at an edge of a spanning tree, if that lowers the objective.

    Trees are drawn at random, or are short where samples are as much cheaper at one of the sites.
    """
    labels, sites = zones
    first, second = pair
    samples = np.flatnonzero((labels == first) | (labels == second))
    differences = problem.costs[samples][:, sites[pair]] @ np.array([1.0, -1.0])
    scale = abs(differences).mean() or 1.0
    edges = list_edges(problem, samples)
    for number in range(N_TREES):
        factor = 10.0 * (number % 2) / scale
        tree = draw_tree(samples, edges, factor * differences, generator)
        if tree is None:  # another division has parted them
            return False
        # Sums over all subtrees, from sums over the first samples in depth-first order.
        costs = problem.costs[tree.samples][:, sites[pair]]
        values = np.column_stack([costs, problem.loads[tree.samples]])
        running = np.vstack([np.zeros(values.shape[1]), values.cumsum(axis=0)])
        below = running[tree.ends] - running[tree.starts]
        above = running[-1] - below
        is_first = labels[tree.samples] == first
        inner, outer = values[is_first].sum(axis=0), values[~is_first].sum(axis=0)
        here = evaluate_pair(problem, sites[pair], inner, outer, penalty)
        divided = np.stack(
            [
                evaluate_pair(problem, sites[pair], below, above, penalty),
                evaluate_pair(problem, sites[pair], above, below, penalty),
            ]
        )
        side, edge = np.unravel_index(divided.argmin(), divided.shape)
        if divided[side, edge] < here - least:
            labels[tree.samples] = pair[1 - side]
            labels[tree.samples[tree.starts[edge] : tree.ends[edge]]] = pair[side]
            return True
    return False


def evaluate_pair(
    problem: ZoneProblem, sites: np.ndarray, first: np.ndarray, second: np.ndarray, penalty: float
) -> np.ndarray:
    """Objective of two zones, from sums of costs at their two sites and of loads in each zone."""
    first_bounds, second_bounds = problem.bounds[sites]
    excess = measure_excess(first[..., 2:], first_bounds)
    excess = excess + measure_excess(second[..., 2:], second_bounds)
    return first[..., 0] + second[..., 1] + penalty * excess


def divide_at_random(
    problem: ZoneProblem, zones: Zones, generator: np.random.RandomState
) -> set[int]:
    """Divide two pairs of zones at edges that are drawn; return these zones.

    Both parts get the cheapest free sites. The edge is one of the fifth that divide most evenly.
    """
    labels, sites = zones
    pairs = list_neighboring_zones(problem, labels)
    changed: set[int] = set()
    for pair in generator.permutation(pairs)[:2]:
        samples = np.flatnonzero(np.isin(labels, pair))
        edges = list_edges(problem, samples)
        tree = draw_tree(samples, edges, np.zeros(len(samples)), generator)
        if tree is None:
            continue
        unevenness = abs(2 * (tree.ends - tree.starts) - len(samples))
        edge = generator.choice(np.argsort(unevenness, kind="stable")[: 1 + len(samples) // 5])
        inner, outer = generator.permutation(pair)
        labels[tree.samples] = outer
        labels[tree.samples[tree.starts[edge] : tree.ends[edge]]] = inner
        changed |= {int(inner), int(outer)}
    move_sites(problem, zones, changed, 0.0, 0.0)
    return changed


def move_sites(
    problem: ZoneProblem, zones: Zones, of_zones: set[int], penalty: float, least: float
) -> set[int]:
    """Move the sites of some zones where that lowers the objective; return these zones."""
    labels, sites = zones
    sums = problem.sum_loads(labels, len(sites))
    changed = set()
    for k in sorted(of_zones):
        if problem.is_fixed[sites[k]]:
            continue
        values = problem.costs[labels == k].sum(axis=0)
        values += penalty * measure_excess(sums[k], problem.bounds)
        here = values[sites[k]]
        values[~problem.is_free] = np.inf
        values[sites] = np.inf
        if values.min() < here - least:
            sites[k] = values.argmin()
            changed.add(k)
    return changed


# The search.


def descend(
    problem: ZoneProblem,
    zones: Zones,
    changed: set[int],
    penalty: float,
    least: float,
    generator: np.random.RandomState,
) -> None:
    """Change zones until no move, division or site that is tried lowers the objective.

    Only the zones that changed since the last trial are tried with their neighbours.
    """
    while changed:
        changed = changed | move_samples(problem, zones, penalty, least)
        following: set[int] = set()
        for pair in generator.permutation(list_neighboring_zones(problem, zones.labels)):
            is_affected = not changed.isdisjoint(pair.tolist())
            if is_affected and divide_zones(problem, zones, pair, penalty, least, generator):
                following |= set(pair.tolist())
        changed = following | move_sites(problem, zones, changed | following, penalty, least)


def keep_bounds(
    problem: ZoneProblem,
    zones: Zones,
    changed: set[int],
    unit: float,
    generator: np.random.RandomState,
) -> None:
    """Lower the objective with a penalty that rises until all bounds are kept."""
    least = ROUNDING * problem.cost_of(zones)
    penalty = FIRST_PENALTY * unit
    everything = set(range(len(zones.sites)))
    for _ in range(MAX_PENALTIES):
        descend(problem, zones, changed, penalty, least, generator)
        if problem.excess_of(zones) == 0:
            return
        changed = everything
        penalty *= PENALTY_GROWTH


def connect_zones(
    problem: ZoneProblem,
    labels: np.ndarray,
    sites: np.ndarray,
    generator: np.random.RandomState,
    watch: Callable,
) -> tuple[Zones, int, str]:
    """The best connected zones found from clusters at sites, the number of rounds, and the status.

    Zones that miss fewer bounds are better, and then those that cost less.
    """
    zones = grow_zones(problem, labels, sites)
    unit = problem.cost_of(zones) / len(labels)
    keep_bounds(problem, zones, set(range(len(sites))), unit, generator)
    best = problem.excess_of(zones), problem.cost_of(zones)
    n_rounds, n_failures = 1, 0
    while not watch(zones):
        if n_failures == MAX_FAILURES or len(sites) == 1:
            return zones, n_rounds, "feasible"
        n_rounds += 1
        trial = zones.copy()
        changed = divide_at_random(problem, trial, generator)
        keep_bounds(problem, trial, changed, unit, generator)
        value = problem.excess_of(trial), problem.cost_of(trial)
        n_failures += 1
        if value < (best[0], best[1] * (1 - ROUNDING)):
            zones, best, n_failures = trial, value, 0
    return zones, n_rounds, "stopped"
