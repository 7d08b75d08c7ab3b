"""Clustering problems: samples in memory or in partitions, and limits on their clusters."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse

from skfair._groups.groups import count_table
from skfair._kernels.candidates import (
    FIRST_RIDGE,
    SHORT_SHARE,
    Candidates,
    allocate_evaluations,
    find_short_lists,
    maximize_size_dual,
    measure_candidates,
    select_smallest,
)
from skfair._kernels.fair_assignment import DualEvaluation
from skfair._kernels.kmeans import (
    Clustering,
    cluster_sums,
    clustering_cost,
    clustering_from_sums,
    squared_distances,
    squared_distances_by_cluster,
)
from skfair._kernels.limits import (
    Limits,
    composition_ratios,
    find_share_rows,
    intersection_coefficients,
    satisfies_rows,
)
from skfair._kernels.sparse_samples import (
    member_distances,
    multiply,
    squared_norms,
)
from skfair._partitions.partitions import BLOCK_SIZE, blocks, make_partitions
from skfair._utils.copies import hash_table
from skfair.cluster._assignment import SampleTypes, are_infeasible, find_table, find_types
from skfair.cluster._base import SIZE_ROUNDING
from skfair.cluster._input import sum_by_group
from skfair.cluster.kmeans._dual import (
    COUNT_TOLERANCE,
    DualSolution,
    gather_labels_and_gaps,
    solution_from_multipliers,
    solve_dual,
    zero_solution,
)
from skfair.cluster.kmeans._transport import solve_transport

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, Self

    from skfair._partitions.partitions import Partitions
    from skfair._utils.tables import Table


BLOCK_ROWS = BLOCK_SIZE // 4  # where data have several blocks: their distances stay in the cache
MANY_CLUSTERS = 50  # clusters, from which candidates are faster than all distances
MAX_SELECTIONS = 6  # of candidates in a round
SELECTION_ROWS = 4096  # samples of which all distances are in memory at once

# The dual of bounds on sizes alone, on a few candidate clusters per sample.
#
# A sample has distances to a few candidate clusters only, of least squared distance plus
# multiplier. They suffice if no other cluster could cost less, which every evaluation tests.


def bounds_only_sizes(limits: Limits) -> bool:
    """Whether all clusters share bounds on sizes, and nothing bounds the composition."""
    coefficients = intersection_coefficients(limits)
    is_composition = limits.level > 0 and limits.n_groups > 1
    is_size = (coefficients == coefficients[0]).all() and not limits.rounding.any()
    is_size &= len(limits.rows) > 0 and len(limits.bounds) == 1
    return is_size and not is_composition


# The dual of sizes: one multiplier per cluster, positive at the maximum, negative at the minimum.


class SizeDual(NamedTuple):
    """The end of a dual ascent, from which the next one starts."""

    multipliers: np.ndarray  # (n_clusters,)
    width: float = 0.0
    ridge: float = FIRST_RIDGE


class SizeEvaluation(NamedTuple):
    """The dual on candidates at some multipliers."""

    value: float
    n_short: int  # number of samples that may need more candidates
    labels: np.ndarray
    gaps: np.ndarray  # to the next best cluster


def select_candidates(
    X: np.ndarray,
    centers: np.ndarray,
    multipliers: np.ndarray,
    n_candidates: int = 16,
    dtype: type = np.float32,
) -> Candidates:
    """The candidates of all samples at the multipliers."""
    shape = X.shape[0], min(n_candidates, len(centers))
    candidates = Candidates(
        clusters=np.empty(shape, np.int32),
        distances=np.empty(shape, dtype),
        limits=np.full(shape[0], np.inf),
        multipliers=multipliers.copy(),
    )
    select_again(X, centers, candidates, np.arange(shape[0]))
    return candidates


def select_again(
    X: np.ndarray, centers: np.ndarray, candidates: Candidates, rows: np.ndarray
) -> None:
    """Select the candidates of some samples again, from products of blocks of float32."""
    clusters, distances, limits, multipliers = candidates
    narrow = centers.astype(np.float32)
    squares = np.einsum("ij,ij->i", narrow, narrow)
    factors = -2 * narrow.T
    offsets = (squares + multipliers).astype(np.float32)
    shifts = multipliers.astype(np.float32)
    costs = np.empty((min(SELECTION_ROWS, len(rows)), len(centers)), np.float32)
    for block_rows in blocks(len(rows), SELECTION_ROWS):
        part = rows[block_rows]
        block = X[part].astype(np.float32, copy=False)
        chosen = clusters[part]
        nearest = np.empty(chosen.shape, np.float32)
        reduced = multiply(block, factors, costs[: len(part)])
        reduced += offsets
        select_smallest(reduced, chosen, nearest)
        norms = squared_norms(block).astype(np.float32)
        nearest += norms[:, np.newaxis]
        if chosen.shape[1] < len(centers):
            # Distances in float32 have the rounding errors of squared norms.
            limits[part] = nearest[:, -1] - 1e-6 * (norms + squares.max())
        clusters[part], distances[part] = chosen, np.maximum(nearest - shifts[chosen], 0)


def list_all(X: np.ndarray, n_clusters: int, dtype: type = np.float32) -> Candidates:
    """All clusters as candidates, with distances that are not measured yet."""
    shape = X.shape[0], n_clusters
    clusters = np.empty(shape, np.int32)
    clusters[:] = np.arange(n_clusters)
    limits = np.full(shape[0], np.inf)
    return Candidates(clusters, np.empty(shape, dtype), limits, np.zeros(n_clusters))


def can_list_all(n_samples: int, n_clusters: int) -> bool:
    """Whether all clusters are candidates of each sample, as that takes little time."""
    # Lists of candidates are exact as well: 100,000 distances bound the time, not the result.
    return n_clusters < MANY_CLUSTERS or n_samples * n_clusters <= 100_000


def _list_candidates(X: np.ndarray, centers: np.ndarray, multipliers: np.ndarray) -> Candidates:
    """All clusters as candidates of all samples where they are few, else some of them."""
    if not can_list_all(X.shape[0], len(centers)):
        return select_candidates(X, centers, multipliers)
    candidates = list_all(X, len(centers))
    measure_candidates(X.astype(np.float32), centers.astype(np.float32), *candidates[:2])
    return candidates


def ascend(
    candidates: Candidates,
    weights: np.ndarray,
    bounds: tuple[np.ndarray, ...],
    dual: SizeDual,
    slack: float,
) -> tuple[SizeDual, SizeEvaluation]:
    """The dual after an ascent until sizes are within a ``slack``; its last evaluation.

    Stops as well where candidates are too few.
    """
    n_samples, n_clusters = len(candidates.limits), len(dual.multipliers)
    multipliers = dual.multipliers.copy()
    evaluations = allocate_evaluations(n_samples, n_clusters)
    at, value, n_short, width, ridge = maximize_size_dual(
        candidates, weights, bounds, multipliers, dual.width, dual.ridge, float(slack), evaluations
    )
    labels = evaluations.labels[at]
    gaps = evaluations.gaps[at]
    now = SizeEvaluation(value, n_short, labels, gaps)
    return SizeDual(multipliers, width, ridge), now


def measure_excess(
    multipliers: np.ndarray, members: np.ndarray | int, bounds: tuple[np.ndarray, ...]
) -> tuple[float, float]:
    """Sum of samples by which sizes miss their bounds, and the bounds times multipliers."""
    targets = np.where(multipliers < 0, *bounds)
    excess = members - np.where(multipliers == 0, np.clip(members, *bounds), targets)
    return float(abs(excess).sum()), float(multipliers @ targets)


def assign_sizes(
    X: np.ndarray,
    centers: np.ndarray,
    bounds: tuple[np.ndarray, ...],
    dual: SizeDual,
    slack: float = 0.75,  # samples by which sizes may miss their bounds before paths correct them
    candidates: Candidates | None = None,
    max_selections: int = 100,
    weights: np.ndarray | None = None,
) -> tuple[Candidates, SizeDual, SizeEvaluation]:
    """The ascent on candidates, of which those of some samples are selected again in between.

    Without ``candidates`` they are selected at the multipliers of the dual, and without ``weights``
    all samples count 1.
    """
    if candidates is None:
        candidates = _list_candidates(X, centers, dual.multipliers)
    weights = np.ones(X.shape[0]) if weights is None else weights
    for _ in range(max_selections):
        dual, now = ascend(candidates, weights, bounds, dual, slack)
        if now.n_short <= SHORT_SHARE * X.shape[0]:
            break
        rows = find_short_lists(candidates, dual.multipliers)
        select_again(X, centers, candidates, rows)
    return candidates, dual, now


# The cheapest assignment with a maximum number of samples of each cluster.


def assign_within_capacities(
    X: np.ndarray, centers: np.ndarray, capacities: np.ndarray
) -> np.ndarray:
    """Labels of the least sum of squared distances with ``capacities``, positive integers."""
    # Distances are compared in float32, in a scale in which they have squares.
    scale = max(abs(X).max() if X.shape[0] else 0.0, np.abs(centers).max()) or 1.0
    X = X.astype(np.float64) / scale
    centers = centers / scale
    bounds = np.zeros(len(centers)), capacities.astype(float)
    dual = assign_sizes(X, centers, bounds, SizeDual(np.zeros(len(centers))))[1]
    return solve_transport(X, centers, bounds, np.maximum(dual.multipliers, 0)).labels


# Clustering problems: samples in memory or in partitions.


class BaseClusteringProblem(ABC):
    """What clustering problems share, wherever their samples are stored.

    A subclass has ``limits``, ``n_samples``, ``group_weights``, ``total_weight``, the
    ``weight_range`` of a sample, and the methods that `skfair.cluster.Homotopy` calls. By default
    they are those of samples that are all in memory.
    """

    limits: Limits
    # What problems with samples in memory have.
    weights: np.ndarray
    codes: np.ndarray
    count_intersections: Callable[..., np.ndarray]
    # What all have.
    solve_assignment: Callable[..., Any]
    cost_of: Callable[..., float]
    clustering_from_labels: Callable[..., Any]

    tol_factor = 1  # times ``tol`` that a round has to gain
    is_in_memory = True
    unit_costs: np.ndarray | None = None

    @property
    @abstractmethod
    def n_samples(self) -> int:
        """Number of samples."""

    @property
    @abstractmethod
    def total_weight(self) -> float:
        """Sum of their weights."""

    @property
    @abstractmethod
    def weight_range(self) -> tuple[float, float]:
        """Smallest and largest weight of a sample."""

    @property
    @abstractmethod
    def group_weights(self) -> np.ndarray:
        """Weight of each group."""

    @abstractmethod
    def list_types(self) -> SampleTypes | None:
        """Numbers of samples of each intersection and weight; None if they are not known."""

    def is_shown_infeasible(self, n_clusters: int) -> bool:
        """Whether it is shown that no clusters keep the limits, a level up to its slack."""
        types = self.list_types()
        if types is None:
            return False
        return are_infeasible(self.limits, self.rounding_weight, types, n_clusters)

    @property
    @abstractmethod
    def partitions(self) -> Partitions:
        """The samples in blocks of rows, each of them a problem."""

    @property
    def largest_weight(self) -> float:
        """How much one sample may count in the balance."""
        return self.weight_range[1]

    @property
    def has_equal_weights(self) -> bool:
        smallest, largest = self.weight_range
        return smallest == largest

    @property
    def rounding_weight(self) -> float:
        """By how much counts of whole samples may miss a level: the lightest sample."""
        return float(self.weight_range[0])

    @property
    def n_groups(self) -> int:
        return self.limits.n_groups

    @property
    def n_attributes(self) -> int:
        return self.limits.n_attributes

    @property
    def balance(self) -> float:
        """Balance of the data as one cluster, in the scales of the limits: none exceeds it."""
        return self.balance_of(self.group_weights[None])

    def balance_of(self, counts: np.ndarray) -> float:
        """Minimum balance of a cluster, in the scales of the limits, as a float."""
        return float(composition_ratios(counts, self.limits).min())

    def count_distinct_rows(self, most: int) -> int:
        """Number of distinct rows, or ``most`` if there are more."""
        of_blocks = self.partitions.gather(_find_distinct_samples, most)
        return len(distinct_rows(np.concatenate(of_blocks), most))

    def attainable_balance(self, n_clusters: int) -> float:
        """Balance that integer counts can reach: rounding may cost each cluster half a sample."""
        scales = self.limits.scales
        rounding = self.largest_weight * n_clusters / 2
        scaled = (self.group_weights - rounding) * scales
        lowest = scaled.min(axis=1, where=scales > 0, initial=np.inf)
        highest = (self.group_weights * scales).max(axis=1)
        attainable = self.limits.factors * lowest / highest
        return max(0.0, min(self.balance, attainable.min()))

    def slack_to_weight(self, n_samples: float, share: float) -> float:
        """The larger weight: that of so many samples of mean weight, or of a share of all.

        The heaviest of unequal weights may outweigh all that a cluster misses: the ascent would
        not start.
        """
        mean_weight = self.total_weight / self.n_samples
        weight = self.largest_weight if self.has_equal_weights else mean_weight
        return max(n_samples * weight, share * self.total_weight)

    def keeps_limits(self, counts: np.ndarray, level: float) -> bool:
        """Whether clusters keep a level and the rows, up to rounding, and lack no group."""
        return self.keeps_level(counts, level) and satisfies_rows(counts, self.limits)

    def keeps_exactly(self, counts: np.ndarray, level: float) -> bool:
        """Whether clusters keep a level and the rows without the slack of a sample."""
        is_reached = level == 0 or self.balance_of(counts) >= level * (1 - 1e-12)
        return bool(is_reached) and satisfies_rows(counts, self.limits)

    @property
    def limits_with_size_slack(self) -> Limits:
        """The limits whose sizes unequal weights may miss by less than the heaviest sample."""
        slack = 0.0 if self.has_equal_weights else self.largest_weight * (1 - SIZE_ROUNDING)
        rounding = self.limits.rounding + slack * ~find_share_rows(self.limits)
        return self.limits._replace(rounding=rounding)

    def keeps_level(self, counts: np.ndarray, level: float) -> bool:
        """Whether clusters keep a level, up to rounding, and lack no group, whatever their rows."""
        slack = np.full(len(self.limits.factors), self.rounding_weight)
        # The slack of one sample is in the limits: integer counts may not do better.
        ratios = composition_ratios(counts, self.limits._replace(slack=slack))
        return bool(level == 0 or ratios.min() >= level * (1 - 1e-12))

    @property
    def warm_start_problem(self) -> ClusteringProblem | Self:
        """Samples in memory for the warm start: these."""
        return self

    def labels_of(self, point: ClusteringPoint) -> Any:
        """Labels of a point."""
        return point.labels

    def relabel(self, labels, numbers):
        """Labels of clusters that get other numbers."""
        return numbers[labels]

    def candidates(self, point: ClusteringPoint) -> Iterator[tuple[ClusteringProblem, Any]]:
        """Yield samples that integer repair and local search may move, and their point: all."""
        yield self, point

    def merge(
        self, problem: ClusteringProblem, dual: DualSolution, point: MeasuredPoint
    ) -> MeasuredPoint:
        """The point of all samples, from the candidates, the dual before they moved, the end."""
        return point


class FixedSamples:
    """Samples of the same clusters that are not in memory, and keep their labels.

    ``sums`` are those of `cluster_sums`, ``counts`` are by intersection, and ``cost`` is that of
    squared distances to ``centers``. The ``weight_range`` is that of all samples.
    """

    def __init__(self, sums, counts, cost, centers, n_samples, weight_range):
        self.sums, self.counts = sums, counts
        self.n_samples, self.weight_range = n_samples, weight_range
        # The scatter about means is the cost less that of the shift from means to centres.
        self._scatter = 0.0
        self._scatter = max(float(cost) - self.cost(centers), 0.0)

    def cost(self, centers: np.ndarray) -> float:
        """Sum of masses times squared distances to other centres."""
        sums, sizes, *_ = self.sums
        occupied = sizes > 0
        shifts = sums[occupied] / sizes[occupied, np.newaxis] - centers[occupied]
        return self._scatter + float(sizes[occupied] @ (shifts * shifts).sum(axis=1))


@dataclass(frozen=True, eq=False)
class ClusteringProblem(BaseClusteringProblem):
    """Samples in memory, centred so that sums of squares lose no digits, and limits.

    With a background, algorithms move only the samples in memory, but sizes, counts and costs are
    those of all samples.
    """

    X: np.ndarray  # (n_samples, n_features) float64 or float32, C-contiguous; or CSR, not centred
    weights: np.ndarray  # (n_samples,) float64, all positive
    codes: np.ndarray  # (n_samples,) intp, intersections of the limits
    limits: Limits
    n_jobs: int | None = None  # threads
    unit_costs: np.ndarray | None = None  # (n_samples,) of a squared distance; None: all are 1
    numbers: np.ndarray | None = None  # (n_samples,) row numbers in partitioned data
    background: FixedSamples | None = None
    # (n_samples,) members of a household by unit of weight; None: a sample is one member
    household_sizes: np.ndarray | None = None

    @cached_property
    def best_ratios(self) -> dict:
        """Best ratios of tables of counts by number of clusters and level, as far as found."""
        return {}

    @cached_property
    def exact_tables(self) -> dict[tuple[float, int], bool]:
        """Answers of `has_exact_table`, which every start asks for."""
        return {}

    def has_exact_table(self, level: float, n_clusters: int) -> bool:
        """Whether integer counts are found that keep the limits without the slack of a sample."""
        key = level, n_clusters
        if key not in self.exact_tables:
            limits = self.limits._replace(level=float(level))
            types, _ = find_types(self.codes, self.weights)
            table = find_table(limits, types, n_clusters)
            self.exact_tables[key] = table.unknowns is not None
        return self.exact_tables[key]

    @property
    def masses(self) -> np.ndarray:
        """Cost of a squared distance, by weight: with it a sample attracts its centre."""
        return self.weights if self.unit_costs is None else self.weights * self.unit_costs

    @property
    def n_samples(self) -> int:
        n_others = 0 if self.background is None else self.background.n_samples
        return len(self.weights) + n_others

    @property
    def member_weights(self) -> np.ndarray:
        """Weight of all members of each sample."""
        return self.weights if self.household_sizes is None else self.weights * self.household_sizes

    @property
    def total_weight(self) -> float:
        return self.member_weights.sum()

    @cached_property
    def weight_range(self) -> tuple[float, float]:
        """Smallest and largest weight of a sample."""
        if self.background is not None:
            return self.background.weight_range
        return self.member_weights.min(), self.member_weights.max()

    @property
    def has_equal_weights(self) -> bool:
        """Whether all samples count the same; households of several members never do."""
        return self.household_sizes is None and super().has_equal_weights

    @property
    def group_weights(self) -> np.ndarray:
        return sum_by_group(self.codes, self.weights, self.limits.intersections)

    def list_types(self) -> SampleTypes | None:
        return find_types(self.codes, self.weights)[0] if self.background is None else None

    @cached_property
    def partitions(self) -> Partitions:
        """Views of the samples in blocks of rows, each of them a problem."""
        if len(self.weights) <= BLOCK_ROWS:
            return make_partitions([self])
        parts = [self.take(rows) for rows in blocks(len(self.weights), BLOCK_ROWS)]
        return make_partitions(parts, self.n_jobs)

    def take(self, rows: np.ndarray | slice) -> ClusteringProblem:
        """The samples in some rows, for one thread and without the background."""
        unit_costs = None if self.unit_costs is None else self.unit_costs[rows]
        numbers = None if self.numbers is None else self.numbers[rows]
        X = self.X[rows]
        weights = self.weights[rows]
        codes = self.codes[rows]
        sizes = None if self.household_sizes is None else self.household_sizes[rows]
        return ClusteringProblem(
            X, weights, codes, self.limits, None, unit_costs, numbers, household_sizes=sizes
        )

    def clustering_from_labels(self, labels: np.ndarray, n_clusters: int) -> Clustering:
        """The clustering of labels, recomputed."""
        labels = np.array(labels, dtype=np.int32)
        sums = self.partitions.reduce(sum_clusters, split_by_block(labels, self.n_jobs), n_clusters)
        if self.background is not None:
            sums = [
                total + others for total, others in zip(sums, self.background.sums, strict=True)
            ]
        return clustering_from_sums(labels, sums)

    def cost_of(self, clustering: Clustering) -> float:
        """Sum of masses times squared distances to the centres of a clustering, recomputed."""
        labels = split_by_block(clustering.labels, self.n_jobs)
        cost = self.partitions.reduce(compute_cost, labels, clustering)
        return cost if self.background is None else cost + self.background.cost(clustering.centers)

    def count_intersections(self, labels: np.ndarray, n_clusters: int) -> np.ndarray:
        """Weight of every intersection in every cluster, (n_clusters, n_intersections)."""
        n_intersections = len(self.limits.intersections)
        counts = count_table(labels, self.codes, self.weights, n_clusters, n_intersections)
        return counts if self.background is None else counts + self.background.counts

    def make_assigned_point(self, dual: DualSolution, centers: np.ndarray) -> ClusteringPoint:
        """The point of a dual solution; cost and balance are left out."""
        return ClusteringPoint(occupy_clusters(self, dual.labels, centers), dual=dual)  # type: ignore[arg-type]

    def solve_assignment(
        self,
        centers: np.ndarray,
        limits: Limits,
        warm_dual: DualSolution | None = None,
        slack: float = 0.25,
    ) -> DualSolution:
        """Cheapest assignment to fixed centres within limits: a dual solution with its labels.

        The dual of the assignment's linear programme is solved from an earlier solution, or from
        the nearest centres. Labels round it, so that they may miss a limit by the few samples that
        sit on a tie, but by at most `slack` samples, or a small share of all. The value bounds from
        below the cost of every assignment to these centres that keeps the limits.
        """
        if bounds_many_sizes(self, len(centers), limits):
            return _solve_sizes(self, centers, limits, warm_dual)
        # Distances are computed once, and each step of the ascent is a pass over them.
        measured = self.partitions.map(_dual_inputs, centers)
        warm_dual = warm_dual or zero_solution(len(centers), limits)
        solution, evaluated = solve_dual(
            measured, limits, warm_dual, self.slack_to_weight(slack, COUNT_TOLERANCE)
        )
        labels, gaps = gather_labels_and_gaps(evaluated)
        return solution._replace(labels=labels, gaps=gaps)


class ClusteringPoint(NamedTuple):
    """A clustering, its cost, and the dual solution that led to it."""

    clustering: Clustering
    cost: float | None = None  # summed over the samples; None where it is not known yet
    dual: DualSolution | None = None  # of the fair assignment, the start of the next one
    balance: float | None = None  # minimum of a cluster, in the scales of the limits; None as above

    @property
    def labels(self) -> Any:
        """Labels of the clustering."""
        return self.clustering.labels

    @property
    def centers(self) -> np.ndarray:
        """Centres of the clustering, (n_clusters, n_features)."""
        return self.clustering.centers

    @property
    def sizes(self) -> np.ndarray:
        """Mass of each cluster, (n_clusters,)."""
        return self.clustering.sizes

    @property
    def counts(self) -> np.ndarray:
        """Weight of each group in each cluster, (n_clusters, n_groups)."""
        return self.clustering.counts

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(self.clustering.sizes)


class MeasuredPoint(ClusteringPoint):
    """A point whose cost and balance are known."""

    __slots__ = ()
    cost: float
    balance: float


def start_from_centers(centers: np.ndarray) -> ClusteringPoint:
    """A point that has centres only, to start rounds from."""
    sizes = np.zeros(len(centers))
    return ClusteringPoint(Clustering(None, centers, sizes, sizes, sizes))  # type: ignore[arg-type]


def assign_fairly(
    problem: ClusteringProblem,
    point: ClusteringPoint,
    level: float,
) -> ClusteringPoint:
    """The point of the fair assignment to a point's centres."""
    limits = problem.limits._replace(level=float(level))
    dual = problem.solve_assignment(point.centers, limits, point.dual, 2.0)
    return problem.make_assigned_point(dual, point.centers)


def split_by_block(values, n_jobs):
    """An array with one value per sample, in the blocks of `ClusteringProblem.partitions`."""
    if len(values) <= BLOCK_ROWS:
        return make_partitions([values])
    return make_partitions([values[rows] for rows in blocks(len(values), BLOCK_ROWS)], n_jobs)


def weighted_mean(problem: ClusteringProblem) -> np.ndarray:
    """Weighted means of the features, (n_features,)."""
    return problem.partitions.reduce(_weighted_sums) / problem.total_weight


def _prepare_sizes(
    problem: BaseClusteringProblem, n_clusters: int, limits: Limits, warm_dual: DualSolution | None
) -> tuple[SizeDual, tuple[np.ndarray, np.ndarray]]:
    """The dual of sizes to start from, and the bounds of each cluster in numbers of members."""
    warm_dual = warm_dual or zero_solution(n_clusters, limits)
    dual = SizeDual(warm_dual.offsets[:, 0] * problem.n_attributes)
    return dual, size_bounds(problem, limits, n_clusters)


def _solve_sizes(
    problem: ClusteringProblem, centers: np.ndarray, limits: Limits, warm_dual: DualSolution | None
) -> DualSolution:
    """The cheapest assignment to many clusters, of which only sizes are bounded."""
    dual, bounds = _prepare_sizes(problem, len(centers), limits, warm_dual)
    if problem.background is not None:
        members = problem.background.sums[1] / problem.largest_weight
        bounds = tuple(np.maximum(bound - np.rint(members), 0) for bound in bounds)
    weights = problem.weights / problem.largest_weight
    dual, now = assign_sizes(problem.X, centers, bounds, dual, weights=weights)[1:]
    if not problem.has_equal_weights:
        # Moves bring sizes of unequal weights within their bounds.
        evaluated = _evaluate_sizes(problem, centers, dual.multipliers[:, np.newaxis])
        _, penalty = measure_excess(dual.multipliers, 0, bounds)
        return solution_from_multipliers(dual.multipliers, limits)._replace(
            value=evaluated.value - penalty * problem.largest_weight,
            labels=evaluated.labels,
            gaps=evaluated.gaps,
        )
    solved = solve_transport(problem.X, centers, bounds, dual.multipliers)
    solution = solution_from_multipliers(solved.multipliers, limits)
    value = solved.value * float(problem.largest_weight)
    return solution._replace(value=value, labels=solved.labels, gaps=now.gaps)


def concatenate_problems(problems, n_jobs=None):
    """One problem of the samples of several."""
    columns = {}
    for name in ("X", "weights", "codes", "unit_costs", "numbers", "household_sizes"):
        values = list(map(attrgetter(name), problems))
        columns[name] = None if values[0] is None else np.concatenate(values)
    return ClusteringProblem(**columns, limits=problems[0].limits, n_jobs=n_jobs)


def draw_stratified(
    problem: ClusteringProblem, size: int, random_state: np.random.RandomState
) -> ClusteringProblem:
    """About ``size`` of the samples, drawn by intersection and weighted up to its weight.

    Of a small intersection at least ``size / (4 n_intersections)`` are drawn, or all there are, and
    all samples for which no others can stand: those that lie far out.
    """
    n_samples = len(problem.weights)
    if n_samples <= size:
        return problem
    # All outlying samples, and of each intersection a share of the others.
    drawn = []
    n_intersections = len(problem.limits.intersections)
    radii = np.concatenate(problem.partitions.gather(scatter_contributions))
    is_far = find_outlying(radii, radii.sum(), size)
    for code in range(n_intersections):
        rows = np.flatnonzero((problem.codes == code) & ~is_far)
        share = max(size * len(rows) // n_samples, size // (4 * n_intersections))
        drawn.append(random_state.choice(rows, min(share, len(rows)), replace=False))
    others = np.bincount(problem.codes, problem.weights * ~is_far, minlength=n_intersections)
    rows = np.sort(np.concatenate((*drawn, np.flatnonzero(is_far))))
    thinned = replace(problem.take(rows), n_jobs=problem.n_jobs)
    return weight_up(thinned, others, is_far[rows])


def scatter_contributions(problem: ClusteringProblem) -> np.ndarray:
    """Masses times squared distances to the mean of all samples, which is the origin if dense."""
    X = problem.X
    if sparse.issparse(X):
        return problem.masses * squared_distances(X, weighted_mean(problem)[np.newaxis])[:, 0]
    return problem.masses * squared_norms(X)


def find_outlying(radii: np.ndarray, scatter: float, size: int) -> np.ndarray:
    """Which samples a subsample of about ``size`` must keep, as no others can stand for them.

    Their `scatter_contributions` make up more than a fixed multiple of their share in the
    ``scatter`` of the full data (sum of squared distances to the mean, by mass), which is true of a
    quarter of ``size`` at most.
    """
    # Four times the mean share of a drawn sample: at most a quarter of them exceeds it.
    return radii > 4 / size * scatter


def weight_up(
    problem: ClusteringProblem, others: np.ndarray, is_far: np.ndarray | tuple
) -> ClusteringProblem:
    """A subsample weighted to the full data: samples that lie far stand for themselves only.

    ``others`` are the weights of all other samples in the full data, by intersection.
    """
    # One factor per intersection, by which its drawn samples make up its weight.
    drawn = np.bincount(problem.codes, problem.weights * ~is_far, minlength=len(others))  # type: ignore[operator]
    factors = np.divide(others, drawn, out=np.ones(len(others)), where=drawn > 0)
    factors = np.where(is_far, 1.0, factors[problem.codes])
    return replace(problem, weights=problem.weights * factors)


def recompute_point(
    problem: ClusteringProblem,
    labels: np.ndarray,
    n_clusters: int,
    dual: DualSolution | None = None,
) -> MeasuredPoint:
    """The point of labels, with everything recomputed."""
    clustering = problem.clustering_from_labels(labels, n_clusters)
    cost = problem.cost_of(clustering)
    return MeasuredPoint(clustering, cost, dual, problem.balance_of(clustering.counts))


def replace_labels(
    problem: ClusteringProblem, point: ClusteringPoint, labels: Table
) -> MeasuredPoint:
    """The point of other labels, recomputed, with the dual solution that led to a point."""
    return recompute_point(problem, labels, point.n_clusters, point.dual)


def find_equal_centers(problem: ClusteringProblem, point: ClusteringPoint) -> np.ndarray:
    """The first cluster with the same centre, up to rounding, for each cluster."""
    centers = point.centers
    # A centre has the rounding errors of a sum of rows, which are near to it: of equal rows
    # relative to them, of others relative to the root mean squared distance.
    rounding = (1e-12 * centers) ** 2
    spread = 1e-9**2 * point.cost / problem.total_weight  # type: ignore[operator]
    gaps = squared_distances_by_cluster(centers, centers)
    return np.argmax(gaps <= rounding.sum(axis=1, keepdims=True) + spread, axis=1)


def distinct_rows(X: np.ndarray, most: int) -> np.ndarray:
    """Distinct rows of an array, at most so many; of sparse ones their hashes, as a column."""
    if sparse.issparse(X):
        X = hash_table(X)[:, np.newaxis]
    n_taken = 2 * most
    while True:
        rows = np.unique(X[:n_taken], axis=0)[:most]
        if len(rows) == most or n_taken >= len(X):
            return rows
        n_taken *= 4


def _find_distinct_samples(problem: ClusteringProblem, most: int) -> np.ndarray:
    return distinct_rows(problem.X, most)


def sum_clusters(problem: ClusteringProblem, labels: np.ndarray, n_clusters: int) -> tuple:
    """The `cluster_sums` of a block."""
    X, weights, codes = problem.X, problem.weights, problem.codes
    return cluster_sums(X, problem.masses, weights, codes, labels, n_clusters, problem.limits)


def compute_cost(problem: ClusteringProblem, labels: np.ndarray, clustering: Clustering) -> float:
    """The cost of a block."""
    return clustering_cost(problem.X, problem.masses, clustering._replace(labels=labels))


def _weighted_sums(problem: ClusteringProblem) -> np.ndarray:
    if sparse.issparse(problem.X):
        return problem.X.T @ problem.weights
    return (problem.X * problem.member_weights[:, np.newaxis]).sum(axis=0)


def _dual_inputs(
    problem: ClusteringProblem, centers: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return assignment_costs(problem, centers), problem.codes, problem.weights


def _evaluate_sizes(problem, centers, offsets):
    """The same where offsets are multipliers of sizes, without distances to all centres."""
    X = problem.X
    multipliers = offsets[:, 0]
    # Float32 finds the candidates of least cost, and the precision of the data compares them.
    # The distances to four clusters are measured in the precision of the data.
    candidates = select_candidates(X, centers, multipliers, 4, np.float64)
    measure_candidates(X, centers, candidates.clusters, candidates.distances)
    costs = candidates.distances + multipliers[candidates.clusters]
    order = costs.argsort(axis=1)[:, :2]
    labels = np.take_along_axis(candidates.clusters, order, axis=1)[:, 0].copy()
    least, following = np.take_along_axis(costs, order, axis=1).T
    counts = problem.count_intersections(labels, len(centers))
    value = float(problem.weights @ least)
    return DualEvaluation(labels, following - least, value, counts, np.zeros(0), 0)


def size_bounds(
    problem: BaseClusteringProblem, limits: Limits, n_clusters: int, least: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Minimum and maximum size of each cluster, in units of the largest weight.

    No cluster has fewer than ``least`` samples, and sizes of equal weights are integers.
    """
    weight = problem.largest_weight
    coefficients = intersection_coefficients(limits)[0]
    bounds = limits.bounds / (coefficients * weight)
    is_upper = coefficients > 0
    total = problem.n_samples if problem.has_equal_weights else problem.total_weight / weight
    smallest = bounds[:, ~is_upper].max(axis=1, initial=least * problem.weight_range[0] / weight)
    largest = bounds[:, is_upper].min(axis=1, initial=total)
    if problem.has_equal_weights:
        smallest = np.ceil(smallest)
        largest = np.floor(largest)
    return np.broadcast_to(smallest, n_clusters).copy(), np.broadcast_to(largest, n_clusters).copy()


def occupy_clusters(
    problem: ClusteringProblem, labels: np.ndarray, centers: np.ndarray
) -> Clustering:
    """The clustering of labels, once every empty cluster has got a sample."""
    clustering = problem.clustering_from_labels(labels, len(centers))
    if clustering.sizes.all():
        return clustering
    members = np.bincount(labels, minlength=len(centers))
    labels = fill_empty_clusters(problem, labels, members, centers)
    return problem.clustering_from_labels(labels, len(centers))


def fill_empty_clusters(
    problem: ClusteringProblem, labels: np.ndarray, members: np.ndarray, centers: np.ndarray
) -> np.ndarray:
    """Labels once every empty cluster has got the sample farthest from its own centre.

    ``members`` are numbers by cluster; they may count more samples than these.
    """
    labels = labels.copy()
    members = members.copy()
    empty = list(np.flatnonzero(members == 0))
    distances = problem.masses * member_distances(problem.X, centers, labels)
    # From the farthest sample on, but never the last one of a cluster.
    for p in np.argsort(-distances, kind="stable"):
        if empty and members[labels[p]] > 1:
            members[labels[p]] -= 1
            labels[p] = empty.pop(0)
    return labels


def assignment_costs(problem: ClusteringProblem, centers: np.ndarray) -> np.ndarray:
    """Cost, by weight, of assigning each sample to each centre, (n_clusters, n_samples)."""
    distances = squared_distances_by_cluster(problem.X, centers)
    return distances if problem.unit_costs is None else distances * problem.unit_costs


def bounds_many_sizes(problem: BaseClusteringProblem, n_clusters: int, limits: Limits) -> bool:
    """Whether sizes of many clusters are bounded, and nothing else."""
    return (
        (n_clusters >= MANY_CLUSTERS or problem.n_samples > 100)
        and bounds_only_sizes(limits)
        and (problem.has_equal_weights or (problem.is_in_memory and n_clusters >= MANY_CLUSTERS))
        and problem.unit_costs is None
        # Distances are compared in float32, where extreme values have no square.
        and 1e-12 < _bound_features(problem) < 1e15
    )


def _bound_features(problem: Any) -> float:
    """A bound on the absolute values of centred features."""
    if problem.is_in_memory:
        return max(problem.X.max(), -problem.X.min())
    return np.sqrt(problem.summary.scatter)


def count_by_intersection(
    problem: BaseClusteringProblem, labels: np.ndarray, n_clusters: int
) -> np.ndarray:
    """Number of samples of every intersection in every cluster."""
    return count_table(labels, problem.codes, None, n_clusters, len(problem.limits.intersections))
