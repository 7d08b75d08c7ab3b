"""k-means with bounds on the sizes of many clusters, in memory that grows with the candidates.

Rounds alternate an assignment of the required sizes and the means, as those of `Homotopy`, first on
a subsample and last on all samples. Shortest paths between clusters repair what the dual leaves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from skfair._kernels.candidates import measure_candidates, search_candidates
from skfair.cluster.kmeans._dual import solution_from_multipliers
from skfair.cluster.kmeans._problem import (
    MAX_SELECTIONS,
    ClusteringPoint,
    MeasuredPoint,
    SizeDual,
    assign_sizes,
    can_list_all,
    list_all,
    occupy_clusters,
    recompute_point,
    replace_labels,
    select_candidates,
    size_bounds,
)
from skfair.cluster.kmeans._rounds import (
    LocalMinimum,
    extrapolate,
    improve_by_swaps,
    iterate_at_level,
    never_stop,
)

if TYPE_CHECKING:
    from skfair.cluster.kmeans._problem import ClusteringProblem
    from skfair.cluster.kmeans._rounds import RunSettings


GROWTH = 5  # of the size of subsamples
EVEN_SIZES = 1.2  # times the mean, up to which sizes are nearly equal
MIN_PASS_GAIN = 1e-5  # relative gain of the cost by a pass


def solve_sizes(
    problem: ClusteringProblem,
    runs: RunSettings,
    n_relocations: int,
    random_state: np.random.RandomState,
) -> tuple[MeasuredPoint, int, str]:
    """A clustering with many clusters of the required sizes; see `Homotopy.solve`."""
    runs = _draw_by_mass(problem, runs)
    # Rough runs of all starts on a subsample; a later one is followed if it leads clearly.
    order = random_state.permutation(problem.n_samples)
    size = max(2000, 50 * runs.n_clusters)
    ends: list[tuple[MeasuredPoint, Rounds]] = []
    lowest, n_iter = np.inf, 0
    for generator in runs.generators(random_state):
        first = _take(problem, order[:size])
        rough = RoundSettings(runs.max_iter, max(runs.tol, 1e-3))
        start = runs.start(first, generator)
        rounds = iterate_sizes(first, start, SizeDual(np.zeros(len(start))), problem, rough)
        # The first start leaves its local minimum, where that takes little time.
        if not ends and first.n_samples * runs.n_clusters <= 250_000:
            centers = _relocate(first, rounds, problem, n_relocations, generator)
            if centers is not rounds.centers:
                rounds = iterate_sizes(first, centers, rounds.dual, problem, rough)
        if rounds.value >= lowest * (1 - 5e-3):
            continue
        lowest = rounds.value
        # Larger and larger subsamples, then all samples.
        larger = size * GROWTH
        while 2 * larger <= problem.n_samples:
            sample = _take(problem, order[:larger])
            rounds = iterate_sizes(sample, rounds.centers, rounds.dual, problem, rough)
            larger *= GROWTH
        # Rounds on all samples end at a larger gain than those in memory of few clusters.
        precise = RoundSettings(runs.max_iter, 20 * runs.tol, runs.watch)
        rounds = iterate_sizes(problem, rounds.centers, rounds.dual, problem, precise)
        dual = solution_from_multipliers(rounds.dual.multipliers, problem.limits)
        ends.append((_round_sizes(problem, dual, rounds.centers), rounds))
        n_iter += rounds.n_iter
        if rounds.is_stopped:
            break
    if runs.labels is not None:
        # Search from the labels as well: no end may have a higher cost than they have.
        dual = solution_from_multipliers(np.zeros(runs.n_clusters), problem.limits)
        ends.append((_round_sizes(problem, dual, np.asarray(runs.init), runs.labels), rounds))
    # Sizes of unequal weights may miss their bounds until they are repaired, which may cost more.
    is_within = [problem.keeps_limits(point.counts, 0.0) for point, _ in ends]
    costs = np.array([point.cost for point, _ in ends], dtype=float)
    point, rounds = ends[int(np.lexsort((costs, np.invert(is_within)))[0])]
    if any(rounds.is_stopped for _, rounds in ends):
        return point, n_iter, "stopped"
    return point, n_iter, "feasible" if rounds.is_converged else "max_iter"


def solve_partitioned_sizes(
    problem: ClusteringProblem,
    runs: RunSettings,
    n_relocations: int,
    random_state: np.random.RandomState,
) -> tuple[MeasuredPoint, int, str]:
    """The same for partitioned data, from the clustering of a subsample."""
    memory_problem = problem.warm_start_problem
    tol = 40 * runs.tol  # a pass costs more than a round in memory
    unwatched = runs._replace(watch=never_stop)
    point, _, _ = solve_sizes(memory_problem, unwatched, n_relocations, random_state)
    # Passes over the full data: rounds of assignments and means.
    point, n_iter, is_converged = iterate_at_level(
        problem, point, 0.0, runs.max_iter, tol, runs.watch
    )
    # Exact sizes by moves of the samples nearest to a tie.
    candidates, movable = next(problem.candidates(point))
    end = _round_sizes(candidates, movable.dual, movable.dual.centers)
    point = problem.merge(candidates, movable.dual, end)
    is_stopped = not is_converged and n_iter < runs.max_iter
    return point, n_iter, "stopped" if is_stopped else "feasible" if is_converged else "max_iter"


def _draw_by_mass(problem: ClusteringProblem, runs: RunSettings) -> RunSettings:
    """The same runs, from uniform draws in place of k-means++ where all sizes are nearly equal.

    k-means++ draws many centres where samples are far apart, and too few where they are dense and
    every cluster takes about as many: multipliers would be large there, and rounds slow.
    """
    smallest, largest = (bound[0] for bound in size_bounds(problem, problem.limits, 1))
    mean = problem.total_weight / problem.largest_weight / runs.n_clusters
    is_even = largest <= EVEN_SIZES * mean or smallest >= mean / EVEN_SIZES
    is_default = isinstance(runs.init, str) and runs.init == "k-means++"
    # Of few clusters k-means++ is the better start, whatever their sizes.
    is_drawn = is_even and is_default and runs.n_clusters >= 100
    return runs._replace(init="random") if is_drawn else runs


def _relocate(
    memory_problem: ClusteringProblem,
    rounds: Rounds,
    problem: ClusteringProblem,
    n_drawn: int,
    generator: np.random.RandomState,
) -> np.ndarray:
    """The centres of rounds after relocations of single ones, in which all sizes are bounded."""
    settings = RoundSettings(max_iter=3, tol=0.0)

    def lead(centers: np.ndarray) -> LocalMinimum:
        # Multipliers of centres that were elsewhere would be far from a maximum.
        dual = SizeDual(np.zeros(len(centers)))
        return describe(iterate_sizes(memory_problem, centers, dual, problem, settings))

    def describe(rounds: Rounds) -> LocalMinimum:
        cost = rounds.value * float(problem.largest_weight)
        return LocalMinimum(rounds.centers, cost, rounds.dual.multipliers)

    minimum = describe(rounds)
    # Four relocations are tried, each of which may cost half as much again at first.
    relocated = improve_by_swaps(memory_problem, minimum, n_drawn, generator, lead, 4, 1.5)
    return relocated.centers


def _take(problem: ClusteringProblem, rows: np.ndarray) -> ClusteringProblem:
    """The samples in some rows, in the order of all."""
    return replace(problem.take(np.sort(rows)), n_jobs=problem.n_jobs)


class RoundSettings(NamedTuple):
    """When rounds end."""

    max_iter: int
    tol: float  # relative gain of the value at which two rounds in a row end them
    watch: Callable | None = None  # called with the point of every round


class Rounds(NamedTuple):
    """What rounds of assignments and means end with."""

    centers: np.ndarray
    value: float  # of the dual, the lowest
    dual: SizeDual
    n_iter: int
    is_converged: bool
    is_stopped: bool  # by ``watch``


def iterate_sizes(
    memory_problem: ClusteringProblem,
    centers: np.ndarray,
    dual: SizeDual,
    problem: ClusteringProblem,
    settings: RoundSettings,
) -> Rounds:
    """Rounds of assignments and means with Nesterov's momentum, as in `iterate_at_level`.

    ``memory_problem`` has some or all samples of the problem, whose bounds are scaled to these.
    """
    X = memory_problem.X.astype(np.float32, copy=False)
    n_clusters = len(centers)
    n_samples = X.shape[0]
    weights = memory_problem.weights / problem.largest_weight
    share = memory_problem.total_weight / problem.total_weight
    bounds = tuple(bound * share for bound in size_bounds(problem, problem.limits, n_clusters))
    # By which sizes may miss their bounds, in units of the largest weight.
    slack = max(1.5, 0.02 * weights.sum() / n_clusters)
    lowest, n_pushed, means, start = np.inf, 0, centers, centers
    candidates, age = None, 0
    life: float = 0
    if can_list_all(n_samples, n_clusters):
        candidates = list_all(X, n_clusters)
        life = np.inf
    n_iter, n_poor, is_stopped = 0, 0, False
    while n_iter < settings.max_iter and n_poor < 2 and not is_stopped:
        # Candidates are used for up to five rounds, with distances to the centres of each.
        if age >= life:
            candidates = None
            age = 0
            life = min(life + 1, 5)
        else:
            measure_candidates(X, start.astype(np.float32), *candidates[:2])  # type: ignore[index]
        candidates, dual, now = assign_sizes(
            X, start, bounds, dual, slack, candidates, MAX_SELECTIONS, weights
        )
        age += 1
        n_iter += 1
        if now.value > lowest and n_pushed > 0:
            start, n_pushed = means, 0  # the momentum has overshot
        else:
            clustering = memory_problem.clustering_from_labels(now.labels, n_clusters)
            is_empty = clustering.sizes == 0
            clustering.centers[is_empty] = start[is_empty]
            n_poor = n_poor + 1 if lowest - now.value <= settings.tol * now.value else 0
            lowest = min(lowest, now.value)
            previous = means
            means = clustering.centers
            start = extrapolate(means, previous, n_pushed)
            n_pushed = n_pushed + 1
        is_stopped = settings.watch is not None and settings.watch(ClusteringPoint(clustering))
    return Rounds(means, lowest, dual, n_iter, n_poor == 2, is_stopped)


# Exact sizes, and a local search that keeps them.


def _round_sizes(
    problem: ClusteringProblem,
    dual: Any,
    centers: np.ndarray,
    labels: np.ndarray | None = None,
) -> MeasuredPoint:
    """The point of labels, or of the cheapest assignment, after a local search."""
    n_clusters = len(centers)
    bounds = tuple(float(bound[0]) for bound in size_bounds(problem, problem.limits, 1))
    dual = problem.solve_assignment(centers, problem.limits, dual)
    if labels is None or not problem.keeps_limits(
        problem.count_intersections(labels, n_clusters), 0.0
    ):
        labels = occupy_clusters(problem, dual.labels, centers).labels
    point = recompute_point(problem, labels, n_clusters, dual)
    if not problem.has_equal_weights:
        return point  # moves of members are for equal weights
    point = _search_moves(problem, point, bounds)
    # The same at the centres that moves have led to, twice at most.
    for _ in range(2):
        dual = problem.solve_assignment(point.centers, problem.limits, dual)
        assigned = recompute_point(problem, dual.labels, n_clusters, dual)
        assigned = _search_moves(problem, assigned, bounds)
        gain = point.cost - assigned.cost
        point = assigned if gain > 0 else point
        if gain <= MIN_PASS_GAIN * point.cost:
            break
    return point


def _search_moves(problem, point, bounds):
    """The point after passes of moves and exchanges to candidates, which keep sizes in bounds."""
    multipliers = point.dual.offsets[:, 0] * problem.n_attributes
    lists = select_candidates(problem.X, point.centers, multipliers).clusters
    for _ in range(5):  # passes, at most
        clustering = point.clustering._replace(
            labels=point.labels.copy(), centers=point.centers.copy()
        )
        sizes = np.rint(clustering.sizes / problem.largest_weight).astype(np.int64)
        search_candidates(problem.X, lists, clustering, sizes, bounds)
        searched = replace_labels(problem, point, clustering.labels)
        gain = point.cost - searched.cost
        point = searched if gain > 0 else point
        if gain <= MIN_PASS_GAIN * point.cost:
            break
    return point
