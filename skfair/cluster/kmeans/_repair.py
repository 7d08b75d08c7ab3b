"""Integer repair of a fair assignment, and a local search that keeps the limits."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from skfair._kernels import NO_INDEX
from skfair._kernels.fair_assignment import raise_balance
from skfair._kernels.iterated_search import (
    MAX_ITERATED_SAMPLES,
    iterate_search,
    pair_samples,
    search_from_kicks,
)
from skfair._kernels.kmeans import (
    Clustering,
    KernelSamples,
    argsort_candidates,
    exchange_pass,
    find_exchange_candidates,
    find_improvable_samples,
    hartigan_pass,
    min_exchange_bounds,
    partner_bounds,
    squared_distances,
)
from skfair._kernels.limits import (
    allow_slack,
    find_memberships,
    find_share_rows,
    has_rows,
    intersection_coefficients,
    row_excess,
    satisfies_rows,
)
from skfair._kernels.sparse_samples import dense_rows, kernel_rows
from skfair.cluster._assignment import Assignment, AssignmentProblem, assign_samples
from skfair.cluster.kmeans._moves import repair_by_moves
from skfair.cluster.kmeans._problem import BLOCK_ROWS, replace_labels, split_by_block
from skfair.cluster.kmeans._tables import (
    BALANCE_TOLERANCE,
    has_small_group,
    intersection_offsets,
    relax_shares,
    repair_to_limits,
)

if TYPE_CHECKING:
    from skfair._kernels.fair_assignment import MovePath
    from skfair._kernels.iterated_search import SamplesWithDistances
    from skfair._kernels.limits import Limits
    from skfair.cluster._base import Route
    from skfair.cluster.kmeans._problem import ClusteringProblem, MeasuredPoint
    from skfair.cluster.kmeans._rounds import RunSettings


MANY_SAMPLES = 200_000  # samples, from which a pass has to gain as much as a round
MAX_PAIRED_SAMPLES = 1000  # up to which all pairs may be exchanged, and random moves follow
GAP_MARGIN = 1e-9  # relative distance of a balance from that of another point
MAX_MOVES = 1000  # of one path: no kernel runs for long, no front records too much


def repair_and_search(
    problem: ClusteringProblem,
    point: MeasuredPoint,
    level: float,
    runs: RunSettings,
) -> tuple[MeasuredPoint, str]:
    """Integer repair, then a local search; the limits are kept wherever they can be.

    Returns the point and a status as `search_locally`.
    """
    # Of few samples one is a large step of the balance: they have to come near to what is possible.
    is_small = problem.n_samples <= MAX_ITERATED_SAMPLES
    n_clusters = point.n_clusters
    # Integer repair: where a group has few members in a cluster, the cheapest table of counts. For
    # integers the balance of the data is mostly out of reach: single moves lead near it. Up to
    # 1,000 samples random moves follow, which are faster than a table and end as cheap.
    is_below = level < problem.balance * (1 - GAP_MARGIN)
    has_table = is_below and problem.n_samples > MAX_PAIRED_SAMPLES
    has_table = has_table and has_small_group(problem, n_clusters)
    if problem.has_equal_weights and has_table:
        point = repair_by_table(problem, point, level)
    # A program chooses moves of unequal weights, and of few samples whose rows are missed.
    is_violated = not satisfies_rows(point.counts, problem.limits)
    is_violated &= problem.n_samples <= MAX_PAIRED_SAMPLES
    if (is_violated or not problem.has_equal_weights) and not is_small:
        labels = repair_by_moves(problem, point, level)
        point = replace_labels(problem, point, labels)
    point = repair(problem, point, level)
    is_near = not is_small or point.balance >= (1 - BALANCE_TOLERANCE) * level
    if not (is_near and problem.keeps_limits(point.counts, level)):
        point = repair_by_table(problem, point, level)
    is_paired = problem.background is None and problem.n_samples <= MAX_PAIRED_SAMPLES
    if is_paired and not problem.has_equal_weights:
        point = search_pairs(problem, point, level)
        if is_small:
            point = reduce_share_excess(problem, point, level)
    if is_paired and not problem.keeps_exactly(point.counts, level):
        point = assign_exactly(problem, point, level)
    problem = relax_to_reached_shares(problem, point)
    return search_locally(problem, point, level, runs)


def assign_exactly(problem: ClusteringProblem, point: MeasuredPoint, level: float) -> MeasuredPoint:
    """The point after an integer program, if it keeps limits that the point misses.

    Without the slack of a sample it costs more: the point stays where the slack is needed anyway.
    """
    keeps_limits = problem.keeps_limits(point.counts, level)
    if keeps_limits and not problem.has_exact_table(level, point.n_clusters):
        return point
    assignment = solve_assignment(problem, point, level)
    is_better = assignment.keeps_limits and not (keeps_limits and assignment.uses_slack)
    return replace_labels(problem, point, assignment.labels) if is_better else point


def solve_assignment(problem: ClusteringProblem, point: MeasuredPoint, level: float) -> Assignment:
    """The best assignment of samples in memory to the centres of a point."""
    distances = squared_distances(problem.X, point.centers)
    if problem.unit_costs is not None:
        distances *= problem.unit_costs[:, np.newaxis]
    limits = problem.limits._replace(level=float(level))
    task = AssignmentProblem(
        distances, problem.weights, problem.codes, limits, problem.rounding_weight
    )
    return assign_samples(task, intersection_offsets(problem, point, len(limits.intersections)))


def reduce_share_excess(
    problem: ClusteringProblem, point: MeasuredPoint, level: float
) -> MeasuredPoint:
    """The point that exceeds bounds on shares by least, as far as bisection and searches find."""
    low = 0.0
    high = measure_share_excess(point.counts, problem.limits)
    while high - low > 0.01:
        excess = (low + high) / 2
        relaxed = replace(problem, limits=relax_shares(problem.limits, excess))
        trial = search_pairs(relaxed, point, level)
        if satisfies_rows(trial.counts, relaxed.limits):
            point = trial
            high = measure_share_excess(point.counts, problem.limits)
        else:
            low = excess
    return point


def relax_to_reached_shares(problem: ClusteringProblem, point: MeasuredPoint) -> ClusteringProblem:
    """The problem whose bounds on shares are those that a point of unequal weights reaches.

    In rows of weights a small cluster may exceed a share more than a large one.
    """
    excess = measure_share_excess(point.counts, problem.limits)
    if excess == 0 or problem.has_equal_weights:
        return problem
    return replace(problem, limits=relax_shares(problem.limits, excess))


def search_pairs(problem: ClusteringProblem, point: MeasuredPoint, level: float) -> MeasuredPoint:
    """The point after moves and exchanges of samples of unequal weights.

    They make the limits hold first, where that is within their reach, and lower the cost then.
    """
    n_clusters = point.n_clusters
    labels = point.labels.copy()
    distances = squared_distances(problem.X, dense_rows(problem.X, slice(None)))
    no_kick = np.full((1, 1), NO_INDEX), np.zeros((1, 1), np.int64)
    # Where no clustering in reach keeps the sizes, they give way before the composition does.
    for trial in (problem, replace(problem, limits=problem.limits_with_size_slack)):
        if point.balance >= level and satisfies_rows(point.counts, trial.limits):
            break
        limits = trial.limits._replace(level=float(level))
        paired = _pair_members(problem, distances, point.counts, limits, is_repair=True)
        search_from_kicks(paired, labels, n_clusters, no_kick, 0, 1)
        point = replace_labels(problem, point, labels)
        # Of few samples the limits may be kept two or three moves away.
        is_iterated = problem.n_samples <= MAX_ITERATED_SAMPLES
        if is_iterated and not trial.keeps_limits(point.counts, level):
            labels = iterate_search(paired, labels, n_clusters, np.random.RandomState(0))
            point = replace_labels(problem, point, labels)
    limits = limits_at_point(problem, point, level)
    paired = _pair_members(problem, distances, point.counts, limits)
    search_from_kicks(paired, labels, n_clusters, no_kick, 0, 1)
    return replace_labels(problem, point, labels)


def _pair_members(
    problem: ClusteringProblem,
    distances: np.ndarray,
    counts: np.ndarray,
    limits: Limits,
    is_repair: bool = False,
) -> SamplesWithDistances:
    """The samples of a problem with all pairwise distances, for clusterings of such counts."""
    return pair_samples(
        distances, problem.masses, problem.weights, problem.codes, counts, limits, is_repair
    )


def iterate_local_search(
    problem: ClusteringProblem,
    point: MeasuredPoint,
    status: str,
    ratio: float,
    runs: RunSettings,
    random_state: np.random.RandomState,
) -> tuple[MeasuredPoint, str]:
    """The cheapest clustering found from a local optimum by random moves and searches after them.

    One of few samples is a large step of the balance, so that often no single move and no exchange
    is allowed: better clusterings lie two or three moves away (iterated local search; Lourenço,
    Martin and Stützle 2003). Where clusters have many members of every group there is nearly always
    an allowed move.
    """
    n_clusters = point.n_clusters
    is_paired = problem.is_in_memory and problem.n_samples <= MAX_PAIRED_SAMPLES
    if n_clusters == 1 or not is_paired:
        return point, status
    is_limited = ratio > 0 or has_rows(problem.limits)
    is_coarse = not problem.has_equal_weights or has_small_group(problem, n_clusters)
    # Near the cost of the fractional assignment random moves gain next to nothing.
    is_near = point.dual is not None and point.cost <= (1 + 2e-3) * point.dual.value
    may_gain = is_limited and is_coarse and not is_near
    if problem.n_samples > MAX_ITERATED_SAMPLES and not may_gain:
        return point, status
    distances = squared_distances(problem.X, dense_rows(problem.X, slice(None)))
    problem = relax_to_reached_shares(problem, point)
    clustering = point.clustering
    limits = limits_at_point(problem, point, ratio)
    paired = _pair_members(problem, distances, clustering.counts, limits)
    labels = iterate_search(paired, clustering.labels, n_clusters, random_state)
    if (labels == clustering.labels).all():
        return point, status
    point = replace_labels(problem, point, labels)
    return search_locally(problem, point, ratio, runs)


def limits_at_point(problem: ClusteringProblem, point: MeasuredPoint, ratio: float) -> Limits:
    """The limits with a level that a local search keeps: the ratio, or what a point reaches of it.

    A point short of the ratio may not fall further, but need not reach it. If it keeps the ratio up
    to one sample, so do all clusterings that the search finds.
    """
    limits = problem.limits
    reached = float(min(ratio, point.balance))
    if reached == ratio or not problem.keeps_level(point.counts, ratio):
        return limits._replace(level=reached)
    return allow_slack(limits._replace(level=float(ratio)), problem.rounding_weight, reached)


def repair_by_table(
    problem: ClusteringProblem, point: MeasuredPoint, ratio: float, only_rows: bool = False
) -> MeasuredPoint:
    """Bring equal weights within limits, or their rows, by the cheapest integer table of counts."""
    is_satisfied = satisfies_rows(point.counts, problem.limits)
    is_satisfied &= only_rows or point.balance >= ratio
    if is_satisfied or not problem.has_equal_weights:
        return point
    labels = repair_to_limits(problem, point, ratio)
    return replace_labels(problem, point, labels)


def repair(problem: ClusteringProblem, point: MeasuredPoint, ratio: float) -> MeasuredPoint:
    """Bring the rows within their bounds, and raise the balance, where rounding left them short."""
    if not satisfies_rows(point.counts, problem.limits):
        # A table keeps all rows at once. Few samples and other weights: move by move, until stuck.
        if not problem.has_equal_weights or problem.n_samples <= MAX_ITERATED_SAMPLES:
            labels = move_into_bounds(problem, point)
            point = replace_labels(problem, point, labels)
        point = repair_by_table(problem, point, ratio, only_rows=True)
    # The balance: paths are followed in pieces of MAX_MOVES, each from recomputed sums, until one
    # ends by itself.
    cut_short = True
    while point.balance < ratio and cut_short:
        path = path_to_balance(problem, point, ratio, MAX_MOVES)
        labels = labels_after_path(point, path)
        point = replace_labels(problem, point, labels)
        cut_short = len(path.samples) == MAX_MOVES
    return point


def move_into_bounds(problem: ClusteringProblem, point: MeasuredPoint) -> np.ndarray:
    """Labels after the cheapest single moves that bring the rows within their bounds.

    Samples may be too heavy: a size then misses its limit by less than the sample that would come
    or go.
    """
    labels = point.labels.copy()
    limits = problem.limits
    weights = problem.weights
    counts = point.counts.copy()
    memberships = find_memberships(limits)
    distances = squared_distances(problem.X, point.centers)
    changes = weights[:, np.newaxis] * intersection_coefficients(limits)[problem.codes]
    for _ in range(len(labels)):
        # The row that a cluster misses most.
        excesses = row_excess(counts, limits)
        k, row = np.unravel_index(np.argmax(excesses), excesses.shape)
        if excesses[k, row] <= 0:
            break
        # Samples that join the cluster, or that leave it, bring it nearer and do not overshoot. The
        # cluster that a sample leaves stays within its bounds, or gets no worse.
        here = labels == k
        helps = np.where(here, changes[:, row], -changes[:, row])
        stays = (excesses[labels] <= changes) | (changes >= 0)
        most = 2 * (excesses[k, row] + limits.rounding[row])
        stays = stays.all(axis=1) & (np.bincount(labels)[labels] > 1)
        able = np.flatnonzero((helps > 0) & (helps <= most) & stays)
        # So do the clusters that it may join.
        fits = (excesses + changes[able, np.newaxis] <= 0) | (changes[able, np.newaxis] <= 0)
        is_goal = (np.arange(len(counts)) == k) != here[able, np.newaxis]
        ways = np.where(fits.all(axis=2) & is_goal, distances[able], np.inf)
        if not np.isfinite(ways).any():
            break
        costs = problem.masses[able] * (ways.min(axis=1) - distances[able, labels[able]])
        # The cheapest of these moves.
        best = np.argmin(costs)
        p = able[best]
        goal = np.argmin(ways[best])
        change = weights[p] * memberships[problem.codes[p]]
        counts[labels[p]] -= change
        counts[goal] += change
        labels[p] = goal
    return labels


def labels_after_path(point: MeasuredPoint, path: Route | MovePath) -> np.ndarray:
    """Labels that a path of single moves, one for a sample, leads to."""
    labels = point.labels.copy()
    labels[path.samples] = path.clusters
    return labels


def follow_path(
    problem: ClusteringProblem, point: MeasuredPoint, path: Route | MovePath
) -> MeasuredPoint:
    """The point that a path of single moves leads to."""
    labels = labels_after_path(point, path)
    return replace_labels(problem, point, labels)


def path_to_balance(
    problem: ClusteringProblem, point: MeasuredPoint, goal: float, max_moves: int
) -> MovePath:
    """Path of the cheapest single moves from a point to the balance ``goal``."""
    distances = squared_distances(problem.X, point.centers)
    clustering = copy_clustering(point.clustering)
    limits = problem.limits._replace(level=float(goal))
    rows = np.arange(len(problem.weights))
    moved = _to_kernel_samples(problem)
    return raise_balance(moved, clustering, rows, distances, limits, max_moves)


def search_locally(
    problem: ClusteringProblem,
    point: MeasuredPoint,
    ratio: float,
    runs: RunSettings,
    exchange: bool = True,
) -> tuple[MeasuredPoint, str]:
    """Lower the cost by single moves and exchanges that keep the balance.

    Returns the point and a status. "optimal": no single move and no exchange of two samples that
    keeps the balance lowers the cost (never certified where sample weights differ, as exchanges are
    for equal weights, nor over a background). "feasible": passes came to gain less than a hundredth
    of ``runs.tol`` times the cost, or more from 2,000 samples on. "stopped": ``runs.watch``, which
    is called after every pass over all samples, has returned True. Else "max_iter".
    """
    if not len(problem.weights):
        return point, "feasible"
    limits = limits_at_point(problem, point, ratio)
    # With equal weights and unit costs, exchanging two samples of an intersection changes nothing
    # but the cost.
    exchange = exchange and problem.has_equal_weights and problem.unit_costs is None
    is_certified = exchange and problem.background is None
    status = "max_iter"
    # A pass takes longer for many, and as each moves a smaller share of them there are more. Few
    # candidates gain nothing relative to the cost of all: they are searched to the end.
    min_gain = runs.tol * np.clip(problem.n_samples / MANY_SAMPLES, 0.01, 1.0)
    if problem.background is not None:
        min_gain = 0.0
    for _ in range(runs.max_iter):
        clustering = copy_clustering(point.clustering)
        cost = point.cost
        if improve_clustering(problem, clustering, limits, exchange) == 0:
            status = "optimal" if is_certified else "feasible"
            break
        # Recompute what kernels have updated move by move: rounding would add up.
        point = replace_labels(problem, point, clustering.labels)
        if cost - point.cost <= min_gain * cost:
            status = "feasible"
            break
        if problem.background is None and runs.watch(point):
            status = "stopped"
            break
    return point, status


def improve_clustering(
    problem: ClusteringProblem, clustering: Clustering, limits: Limits, exchange: bool
) -> int:
    """Lower the cost by a pass of Hartigan's moves, in place; by exchanges if none is left.

    Returns the number of changes, 0 where no allowed move, nor exchange, lowers the cost.
    """
    # Kernels read blocks of rows with their distances to all centres.
    partitions = problem.partitions
    labels = split_by_block(clustering.labels, problem.n_jobs)
    distances = partitions.map(_squared_distances, clustering.centers)
    # Samples that a move may help, from all blocks in parallel; then moves, one by one.
    movers = partitions.gather(_find_improvable_samples, distances, labels, clustering, limits)
    rows = _global_indices(movers)
    n_changes = 0
    if len(rows):
        moving = problem.take(rows)
        moved = clustering._replace(labels=clustering.labels[rows])
        distances_now = squared_distances(moving.X, moved.centers)
        n_changes = hartigan_pass(_to_kernel_samples(moving), distances_now, moved, limits)
        clustering.labels[rows] = moved.labels
    if n_changes == 0 and exchange:
        n_changes = _exchange_samples(problem, clustering, limits, distances, labels)
    return n_changes


def _exchange_samples(problem, clustering, limits, distances, labels):
    """Exchange pairs of samples where that lowers the cost; the number of exchanges."""
    partitions = problem.partitions
    weight = problem.weights[0]
    # Lower bounds on what each sample gains by going, from all blocks in parallel.
    lowest = np.minimum.reduce(
        partitions.gather(_min_exchange_bounds, distances, labels, clustering)
    )
    partners = partner_bounds(clustering, lowest, weight, limits)
    # Candidates that may gain by their bound and that of a partner, the best first.
    candidates = partitions.gather(
        _find_exchange_candidates, distances, labels, clustering, partners
    )
    rows, bounds, cells = zip(*candidates, strict=True)
    candidates = _global_indices(rows), np.concatenate(bounds), np.concatenate(cells)
    order = argsort_candidates(*candidates[1:], lowest.size)
    candidates = (column[order] for column in candidates)
    return exchange_pass(_to_kernel_samples(problem), clustering, *candidates, lowest, limits)


def _to_kernel_samples(problem: ClusteringProblem) -> KernelSamples:
    """Samples in memory, as kernels of single moves read them."""
    X = kernel_rows(problem.X)
    return KernelSamples(X, problem.masses, problem.weights, problem.codes)


def _global_indices(rows: list[np.ndarray] | tuple[np.ndarray, ...]) -> np.ndarray:
    """Positions within blocks as positions among all samples."""
    return np.concatenate([block + BLOCK_ROWS * number for number, block in enumerate(rows)])


def _squared_distances(problem: ClusteringProblem, centers: np.ndarray) -> np.ndarray:
    return squared_distances(problem.X, centers)


def _find_improvable_samples(
    problem: ClusteringProblem,
    distances: np.ndarray,
    labels: np.ndarray,
    clustering: Clustering,
    limits: Limits,
) -> np.ndarray:
    # To see what a move would do the kernel makes it, and takes it back: threads must not share.
    clustering = copy_clustering(clustering._replace(labels=labels))
    return find_improvable_samples(_to_kernel_samples(problem), distances, clustering, limits)


def _min_exchange_bounds(
    problem: ClusteringProblem, distances: np.ndarray, labels: np.ndarray, clustering: Clustering
) -> np.ndarray:
    clustering = clustering._replace(labels=labels)
    n_codes = len(problem.limits.intersections)
    return min_exchange_bounds(distances, problem.codes, problem.weights[0], clustering, n_codes)


def _find_exchange_candidates(
    problem: ClusteringProblem,
    distances: np.ndarray,
    labels: np.ndarray,
    clustering: Clustering,
    partners: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    clustering = clustering._replace(labels=labels)
    return find_exchange_candidates(
        distances, problem.codes, problem.weights[0], clustering, partners
    )


def copy_clustering(clustering: Clustering) -> Clustering:
    """A clustering of its own for kernels that work in place: points are never changed."""
    return Clustering(*map(np.copy, clustering))


def measure_share_excess(counts: np.ndarray, limits: Limits) -> float:
    """Maximum share by which a cluster exceeds its bounds on shares, at least 0."""
    sizes = counts.sum(axis=1, keepdims=True) / limits.n_attributes
    excess = row_excess(counts, limits)[:, find_share_rows(limits)]
    return max(0.0, (excess / np.where(sizes > 0, sizes, 1.0)).max(initial=0.0))
