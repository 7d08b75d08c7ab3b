"""Clustering problems whose samples are partitioned: algorithms ask for sums in passes.

What needs single samples is done in memory: the warm start on a subsample, and integer repair and
local search on the samples nearest to a tie, over a background of all others.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property, partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from skfair._groups.samples import SampleSummary
from skfair._kernels.fair_assignment import evaluate_dual
from skfair._kernels.kmeans import clustering_from_sums, nearest_centers
from skfair._kernels.limits import Limits, max_violation, row_excess
from skfair._partitions.partitions import SUBSAMPLE_SIZES, Partitions, random_keys, sampling_rates
from skfair.cluster._assignment import SampleTypes
from skfair.cluster._input import compared_groups, order_groups, sum_by_group
from skfair.cluster.kmeans._dual import (
    COUNT_TOLERANCE,
    solution_from_multipliers,
    solve_dual,
    zero_solution,
)
from skfair.cluster.kmeans._problem import (
    MANY_CLUSTERS,
    BaseClusteringProblem,
    ClusteringPoint,
    ClusteringProblem,
    FixedSamples,
    _evaluate_sizes,
    _prepare_sizes,
    assign_sizes,
    assignment_costs,
    bounds_many_sizes,
    compute_cost,
    concatenate_problems,
    fill_empty_clusters,
    find_outlying,
    measure_excess,
    recompute_point,
    replace_labels,
    scatter_contributions,
    select_candidates,
    sum_clusters,
    weight_up,
)
from skfair.cluster.kmeans._transport import solve_transport

if TYPE_CHECKING:
    from collections.abc import Callable

    from dask.array import Array as DaskArray

    from skfair._groups.samples import EncodedBlock
    from skfair._kernels.kmeans import Clustering
    from skfair.cluster._base import ClusterRequirements
    from skfair.cluster.kmeans._dual import DualSolution


def make_partitioned_problem(
    blocks: Partitions,
    summary: SampleSummary,
    requirements: ClusterRequirements,
    attributes: str = "intersections",
    n_jobs: int | None = None,
) -> tuple:
    """The problem of summarized partitions of encoded blocks, its groups and requirements."""
    # Each intersection of the summary stands for one sample, with its weight.
    codes = np.arange(len(summary.cells))
    groups, intersections, columns = compared_groups(summary.intersection_groups(), attributes)
    counts = sum_by_group(codes, summary.counts, intersections).astype(np.intp)
    groups = groups._replace(counts=counts.tolist())
    # The order of groups does not depend on their labels.
    order, intersections, places = order_groups(summary.first_rows, intersections, columns)
    summary = summary.reorder_cells(order)
    by_group = sum_by_group(codes, summary.weights, intersections)
    requirements = requirements.bind_to_groups(groups, columns, places, by_group)
    limits = requirements.limits(by_group, intersections)
    problem = PartitionedClusteringProblem(blocks, summary, limits, n_jobs)
    return problem, groups, requirements


# Clustering problems whose samples are partitioned: every algorithm asks for sums in passes.
#
# What needs single samples is done in memory: the warm start on a subsample, and integer repair and
# local search on the samples nearest to a tie, over a background of all others.


MIN_CANDIDATES, MAX_CANDIDATES = 5000, 200_000  # samples nearest to a tie, moved one by one
SIZE_SLACK = 0.01  # share of the samples in the sum of what sizes may miss their bounds by


class PartitionedClusteringProblem(BaseClusteringProblem):
    """Samples in partitions of encoded blocks, and limits on their clusters.

    The cells of the summary are the intersections of the limits. The labels of clusterings are
    partitions, or None until they are computed.
    """

    tol_factor = 5  # times ``tol`` that a pass has to gain: it costs more than a round in memory
    background, is_in_memory = None, False

    def __init__(
        self, blocks: Partitions, summary: SampleSummary, limits: Limits, n_jobs: int | None = None
    ) -> None:
        self.blocks, self.summary, self.limits, self.n_jobs = blocks, summary, limits, n_jobs

    @property
    def n_samples(self) -> int:
        return int(self.summary.counts.sum())

    @property
    def total_weight(self) -> float:
        return self.summary.weights.sum()

    @property
    def weight_range(self) -> tuple[float, float]:
        return self.summary.weight_range

    @cached_property
    def group_weights(self) -> np.ndarray:
        codes = np.arange(len(self.summary.cells))
        return sum_by_group(codes, self.summary.weights, self.limits.intersections)

    def list_types(self) -> SampleTypes | None:
        if not self.has_equal_weights:
            return None
        codes = np.arange(len(self.summary.cells))
        weights = np.full(len(codes), float(self.largest_weight))
        return SampleTypes(codes, weights, self.summary.counts)

    @cached_property
    def partitions(self) -> Partitions:
        summary = self.summary
        return self.blocks.map(
            _to_problem, summary.mean, self.limits, summary.positions, summary.first
        )

    def clustering_from_labels(self, labels: np.ndarray, n_clusters: int) -> Clustering:
        """The clustering of labels, recomputed."""
        sums = self.partitions.reduce(sum_clusters, labels, n_clusters)
        return clustering_from_sums(labels, sums)

    def cost_of(self, clustering):
        """Sum of masses times squared distances to the centres of a clustering, recomputed."""
        constant = clustering._replace(labels=None)
        return float(self.partitions.reduce(compute_cost, clustering.labels, constant))

    @cached_property
    def warm_start_problem(self) -> ClusteringProblem:
        """Samples in memory for the warm start: all of them where they fit.

        They are drawn by intersection and weighted up, but those that lie far out are all drawn,
        and stand for themselves. Where only sizes are bounded, all have the same probability.
        """
        # Draw by random keys of row numbers, at a rate by intersection.
        size = SUBSAMPLE_SIZES["k-means"]
        counts = self.summary.counts
        scatter = np.inf
        rates = np.full(len(counts), min(size / self.n_samples, 1.0))
        if not self._bounds_sizes:
            rates = sampling_rates(counts, size)
            scatter = self.summary.scatter
        drawn = self.partitions.gather(_draw_from_problem, rates, scatter, size)
        problems, is_far = zip(*drawn, strict=True)
        problem = concatenate_problems(problems, self.n_jobs)
        if (rates == 1).all():  # and weights are what they are
            return problem
        if self._bounds_sizes:  # scale bounds in place of weights, rounded outwards
            share = problem.n_samples / self.n_samples / self.largest_weight
            bounds = np.ceil(self.limits.bounds * share) * self.largest_weight
            return replace(problem, limits=self.limits._replace(bounds=bounds))
        is_far = np.concatenate(is_far)  # type: ignore[assignment]
        # Samples far out stand for themselves, so that the others have only the remaining weight.
        far = np.bincount(problem.codes, problem.weights * is_far, len(counts))
        return weight_up(problem, self.summary.weights - far, is_far)

    @cached_property
    def _bounds_sizes(self) -> bool:
        """Whether only sizes are bounded."""
        return bounds_many_sizes(self, MANY_CLUSTERS, self.limits)

    @cached_property
    def _evaluate(self) -> Callable:
        """The function that evaluates the dual of a block."""
        return _evaluate_sizes if self._bounds_sizes else _evaluate_dual

    def distribute_clustering(self, numbers: np.ndarray, clustering: Clustering) -> Clustering:
        """A clustering of all samples in memory, with these row numbers, as one of these."""
        labels = self.partitions.map(_select_labels, numbers, clustering.labels)
        return clustering._replace(labels=labels)  # type: ignore[arg-type]

    def make_assigned_point(self, dual, centers):
        """The point of a dual solution; empty clusters keep their centres."""
        sums, _, cost = dual.extra_sums
        clustering = clustering_from_sums(None, sums)
        means = np.where(np.isnan(clustering.centers), centers, clustering.centers)
        # From centres to means the cost falls by size times squared distance.
        cost -= float(clustering.sizes @ ((means - centers) ** 2).sum(axis=1))
        clustering = clustering._replace(centers=means)
        return ClusteringPoint(clustering, cost, dual)

    def solve_assignment(
        self,
        centers: np.ndarray,
        limits: Limits,
        warm_dual: DualSolution | None = None,
        slack: float = 0.75,
    ) -> DualSolution:
        """As `ClusteringProblem.solve_assignment`, with sums of the clusters in place of labels."""
        if bounds_many_sizes(self, len(centers), limits):
            return self._solve_sizes(centers, limits, warm_dual)
        evaluate = partial(_evaluate_and_sum, centers)
        warm_dual = warm_dual or zero_solution(len(centers), limits)
        weight = self.slack_to_weight(slack, COUNT_TOLERANCE)
        solution, _ = solve_dual(self.partitions, limits, warm_dual, weight, evaluate)
        return solution._replace(centers=centers)

    def _solve_sizes(
        self, centers: np.ndarray, limits: Limits, warm_dual: DualSolution | None
    ) -> DualSolution:
        """The dual of many sizes on the subsample, corrected by passes over the full data."""
        memory_problem = self.warm_start_problem
        weight = self.largest_weight
        n_clusters = len(centers)
        dual, bounds = _prepare_sizes(self, n_clusters, limits, warm_dual)
        share = memory_problem.n_samples / self.n_samples
        candidates = None
        solutions = []
        slack = max(1.5, SIZE_SLACK * memory_problem.n_samples / n_clusters)
        # Three passes over the full data; all but the last correct the dual of the subsample.
        for n_left in reversed(range(3)):
            offsets = np.repeat(dual.multipliers[:, np.newaxis], len(limits.intersections), axis=1)
            value, counts, *_, sums = self.partitions.reduce(_sum_sizes, centers, offsets)
            members = counts.sum(axis=1) / weight
            excess, penalty = measure_excess(dual.multipliers, members, bounds)
            solution = solution_from_multipliers(dual.multipliers, limits)._replace(
                value=value - penalty * weight,
                extra_sums=sums,
                centers=centers,
                intersection_offsets=offsets,
            )
            solutions.append(solution)
            if n_left == 0 or excess <= SIZE_SLACK * self.n_samples:
                break
            # Correct the bounds of the subsample by what it counts wrong at these multipliers.
            counted = _evaluate_sizes(memory_problem, centers, offsets).counts.sum(axis=1) / weight
            low, high = (share * (bound - members) + counted for bound in bounds)
            corrected = np.maximum(np.floor(low), 0), np.maximum(np.ceil(high), 0)
            # With 64 candidates of each sample few ascents have to select more.
            candidates = candidates or select_candidates(
                memory_problem.X, centers, dual.multipliers, 64
            )
            candidates, dual, _ = assign_sizes(
                memory_problem.X, centers, corrected, dual, slack, candidates
            )
            solved = solve_transport(memory_problem.X, centers, corrected, dual.multipliers)
            dual = dual._replace(multipliers=solved.multipliers)
        return max(solutions, key=attrgetter("value"))

    def labels_of(self, point: ClusteringPoint) -> Partitions:
        """Labels of a point, from its dual solution unless they are known."""
        if point.labels is not None:
            return point.labels.keep()
        nothing = np.zeros(0, dtype=np.intp)
        return self._labels_with_moves(point.dual, nothing, nothing).keep()

    def relabel(self, labels: Partitions, numbers: np.ndarray) -> Partitions:
        """Labels of clusters that get other numbers."""
        return labels.map(_relabel, numbers).keep()

    def _labels_with_moves(self, dual, numbers, labels):
        """Labels of the dual solution, but for samples of some numbers."""
        return self.partitions.map(
            _assign_with_moves,
            self._evaluate,
            dual.centers,
            dual.intersection_offsets,
            numbers,
            labels,
        )

    def candidates(self, point):
        """Yield samples that integer repair and local search may move, and their point.

        They are in memory, over a background of all others. First come those nearest to a tie.
        """
        dual, (sums, _, _) = point.dual, point.dual.extra_sums
        _, sizes, counts, _ = sums
        n_short = max_violation(counts, self.limits) / self.largest_weight
        n_empty = int((sizes == 0).sum())
        per_cell = 2 * int(n_short) + 10
        if self._bounds_sizes:
            n_short = np.maximum(row_excess(counts, self.limits), 0).sum() / self.largest_weight
        # Each sample by which a count is short has 20 candidates.
        n_wanted = int(np.clip(20 * n_short, MIN_CANDIDATES, MAX_CANDIDATES))
        # As many as in the dual's width are near a tie.
        spacing = dual.width / max(dual.n_near_ties, 1)
        width = spacing * n_wanted if spacing > 0 else np.inf
        if not self._bounds_sizes:
            yield self._load_candidates(point, width, n_wanted, n_empty)
        if self.has_equal_weights:
            # Moves got stuck: clusters far from all others have no samples near a tie.
            yield self._load_candidates(point, np.inf, n_wanted, per_cell + n_empty)

    def _load_candidates(self, point, *wanted):
        """The problem of candidates in memory, and their point: see `_nearest_ties`."""
        dual = point.dual
        n_clusters = point.n_clusters
        # Each block gives its nearest, of which the nearest of all remain.
        loaded = self.partitions.gather(
            _take_nearest_ties, self._evaluate, dual.centers, dual.intersection_offsets, wanted
        )
        problems, labels, gaps = zip(*loaded, strict=True)
        problem = concatenate_problems(problems)
        labels, gaps = np.concatenate(labels), np.concatenate(gaps)
        rows = _nearest_ties(problem, labels, gaps, *wanted)
        problem = problem.take(rows)
        labels = labels[rows]
        gaps = gaps[rows]
        problem = replace(
            problem, n_jobs=self.n_jobs, background=self._background(problem, labels, dual)
        )
        dual = dual._replace(labels=labels, gaps=gaps)
        # Where many samples are equal, all may be in one of the clusters that are as near.
        members = dual.extra_sums[0][3].sum(axis=1) // self.n_attributes
        if not members.all():
            labels = fill_empty_clusters(problem, labels, members, point.centers)
        return problem, recompute_point(problem, labels, n_clusters, dual)

    def _background(self, problem, labels, dual):
        """All samples but those of a problem in memory."""
        # Sums over all samples are known from the dual: subtract those of the candidates.
        (sums, counts, cost), centers = dual.extra_sums, dual.centers
        candidate_sums = sum_clusters(problem, labels, len(centers))
        clustering = clustering_from_sums(labels, candidate_sums)._replace(centers=centers)
        return FixedSamples(
            tuple(total - loaded for total, loaded in zip(sums, candidate_sums, strict=True)),
            counts - problem.count_intersections(labels, len(centers)),
            cost - problem.cost_of(clustering),
            centers,
            self.n_samples - len(labels),
            self.summary.weight_range,
        )

    def merge(self, problem, dual, point):
        """The point of all samples, from that of the candidates, recomputed."""
        # Only the moves travel: each partition repeats the assignment and applies them.
        moved = np.flatnonzero(point.labels != dual.labels)
        numbers = problem.numbers[moved]
        labels = point.labels[moved]
        labels = self._labels_with_moves(dual, numbers, labels).keep()
        return replace_labels(self, point, labels)

    def complete_labels(self, labels: Partitions, centers: np.ndarray) -> np.ndarray | DaskArray:
        """Labels of all rows as one array; rows without weight go to the nearest centre."""
        self.summary.check_unchanged(self.blocks)
        if sum(self.summary.partition_lengths) > self.n_samples:
            mean = self.summary.mean
            labels = self.blocks.map(_label_all_rows, labels.keep(), centers, mean)
        return labels.concatenate(self.summary.partition_lengths, np.empty(0, np.int32))


def _to_problem(
    block: EncodedBlock,
    mean: np.ndarray,
    limits: Limits,
    positions: dict[tuple[float | str, ...], int],
    first: np.ndarray,
) -> ClusteringProblem:
    """The problem of the rows of a block that have a weight."""
    weights = np.ones(len(block.X)) if block.weights is None else block.weights
    codes = block.recode(positions)
    numbers = block.row_numbers(first)
    X = block.X - mean
    unit_costs = block.unit_costs
    problem = ClusteringProblem(X, weights, codes, limits, None, unit_costs, numbers)
    return problem if block.weights is None else problem.take(np.flatnonzero(weights > 0))


def _draw_from_problem(
    problem: ClusteringProblem, rates: np.ndarray, scatter: float, size: int
) -> tuple[ClusteringProblem, np.ndarray]:
    """The samples of a block that are drawn, and which of them lie far."""
    is_far = find_outlying(scatter_contributions(problem), scatter, size)
    drawn = np.flatnonzero(is_far | (random_keys(problem.numbers) < rates[problem.codes]))  # type: ignore[arg-type]
    return problem.take(drawn), is_far[drawn]


def _select_labels(
    problem: ClusteringProblem, numbers: np.ndarray, labels: np.ndarray
) -> np.ndarray:
    return labels[np.searchsorted(numbers, problem.numbers)]  # type: ignore[arg-type]


def _evaluate_dual(problem, centers, offsets, width=0.0):
    """The dual of a block's samples."""
    rows = assignment_costs(problem, centers), problem.codes, problem.weights
    return evaluate_dual(rows, offsets, width)


def _evaluate_and_sum(centers, problem, offsets, width):
    """The dual, with sums of clusters, counts of intersections and the cost as extras."""
    return _add_sums(problem, centers, offsets, _evaluate_dual(problem, centers, offsets, width))


def _sum_sizes(problem, centers, offsets):
    """Totals of the dual of sizes of a block, with the same extras."""
    evaluation = _evaluate_sizes(problem, centers, offsets)
    return _add_sums(problem, centers, offsets, evaluation).totals


def _add_sums(problem, centers, offsets, evaluation):
    """An evaluation with the extras."""
    sums = sum_clusters(problem, evaluation.labels, len(centers))
    # The dual sums distances plus offsets: without the offsets it is the cost.
    cost = evaluation.value - float((offsets * evaluation.counts).sum())
    return evaluation._replace(extra_sums=(sums, evaluation.counts, cost))


def _take_nearest_ties(problem, evaluate, centers, offsets, wanted):
    """The samples of a block that `_nearest_ties` takes, their labels and gaps."""
    evaluation = evaluate(problem, centers, offsets)
    labels, gaps = evaluation.labels, evaluation.gaps
    rows = _nearest_ties(problem, labels, gaps, *wanted)
    return problem.take(rows), labels[rows], gaps[rows]


def _nearest_ties(problem, labels, gaps, width, n_wanted, per_cell):
    """Positions of samples with the smallest gaps below a width, ties by random keys.

    At most so many are wanted, and in addition some of each intersection in every cluster.
    """
    near = np.flatnonzero(gaps < width)
    near = near[np.lexsort((random_keys(problem.numbers[near]), gaps[near]))]
    # Rank of each sample within its intersection and cluster, in the same order.
    cells = problem.codes[near] * (1 + labels.max(initial=0)) + labels[near]
    by_cell = np.argsort(cells, kind="stable")
    ranks = np.arange(len(cells)) - np.searchsorted(cells[by_cell], cells[by_cell])
    return np.unique(np.append(near[:n_wanted], near[by_cell[ranks < per_cell]]))


def _assign_with_moves(problem, evaluate, centers, offsets, numbers, moved):
    """Labels of the fair assignment, but for the samples that moved."""
    labels = evaluate(problem, centers, offsets).labels
    # Of all moves those of this block; row numbers of a block ascend.
    is_here = np.isin(numbers, problem.numbers, assume_unique=True)
    labels[np.searchsorted(problem.numbers, numbers[is_here])] = moved[is_here]
    return labels


def _relabel(labels: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    return numbers[labels]


def _label_all_rows(
    block: Any, labels: np.ndarray, centers: np.ndarray, mean: np.ndarray
) -> np.ndarray:
    """Labels of all rows of a block, from those of the rows that have a weight."""
    if len(labels) == len(block.X):
        return labels
    completed, _ = nearest_centers(block.X - mean, centers)
    completed[block.weights > 0] = labels
    return completed
