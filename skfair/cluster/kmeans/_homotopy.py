"""The homotopy: follow the cheapest clustering while the required balance rises."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import KW_ONLY, replace
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator

from skfair._kernels.kmeans import (
    nearest_centers,
)
from skfair._kernels.limits import (
    has_rows,
    limits_at_counts,
    satisfies_rows,
)
from skfair.cluster._base import Route, front_points
from skfair.cluster.kmeans._dual import COUNT_TOLERANCE
from skfair.cluster.kmeans._many_clusters import solve_partitioned_sizes, solve_sizes
from skfair.cluster.kmeans._problem import (
    MANY_CLUSTERS,
    ClusteringPoint,
    assign_fairly,
    bounds_many_sizes,
    draw_stratified,
    occupy_clusters,
    recompute_point,
    replace_labels,
)
from skfair.cluster.kmeans._repair import (
    GAP_MARGIN,
    MAX_MOVES,
    follow_path,
    iterate_local_search,
    measure_share_excess,
    path_to_balance,
    repair,
    repair_and_search,
    search_locally,
)
from skfair.cluster.kmeans._rounds import (
    converge,
    converge_sized,
    improve_by_swaps,
    iterate_at_level,
    iterate_lloyd,
    iterate_sized,
)
from skfair.cluster.kmeans._tables import (
    near_ties,
)
from skfair.partitions._partitions import n_threads_of
from skfair.utils._parameters import PositiveInt, make_constructor, validate_params

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from skfair.cluster.kmeans._partitioned import PartitionedClusteringProblem
    from skfair.cluster.kmeans._problem import ClusteringProblem
    from skfair.cluster.kmeans._rounds import RunSettings


MAX_FITTED_SAMPLES = 1000  # samples, up to which the points of a front are those of fits

# The homotopy: follow the cheapest clustering while the required balance rises.


SUBSAMPLE_GROWTH = 10  # of the size of subsamples, until all samples are taken
ROUGH_TOL = 1e-3  # of k-means, enough to compare starts
N_FOLLOWED = 2  # cheaper starts, from which on a start is not finished within the limits
N_RELOCATIONS = 100  # moves of centres, drawn at once, by which the first start is improved
MAX_REPAIRED_SAMPLES = (
    1000  # up to which all followed starts are relocated and repaired: ends differ more
)
MIN_ROUND_GAIN = 0.1  # of the mean cost of a sample: of few, the local search gains the rest
FAR_FROM_BOUND = 0.02  # share of the bound by which a cost is above it, from which more is tried
MAX_CHECKED_DISTANCES = 200_000_000  # samples times clusters, up to which the bound is looked at


@make_constructor
class Homotopy(BaseEstimator):
    """The default algorithm of `FairKMeans` and `cluster_front`, with its settings.

    Plain k-means comes first. Then the required balance rises level by level: at the centres of
    the last level the cheapest fair assignment is found through its dual (one unknown per cluster
    and group), the centres move to the new means, and so on. Single moves repair what rounding
    left, and moves and exchanges that keep the balance lower the cost until none is left. Where a
    group is small among more than 1,000 samples, or weights are unequal, a program chooses the
    counts or moves first. Up to 1,000 samples leave a local optimum by random moves, as long as
    these lead to something cheaper; above 100 only with bounds, and where weights are unequal or an
    intersection has at most 100 members per cluster. Where the cost is then more than 2 % above the
    bound at its centres, the other repair, one more start and further random moves are tried, but
    not where samples times clusters are more than 200 million, nor by passes over partitioned data.

    Partitioned data of more than 100,000 samples are warm-started on as many of them, and finished
    by passes over all. Then the samples nearest to a tie are moved in memory.

    Read more in the :ref:`guide <fair_clustering>`.

    Parameters
    ----------
    n_levels : int, default=4
        Number of balances from that of plain k-means to the required one.
    max_samples : int, default=5000
        The balance rises on a subsample of about this size, drawn by group, with all samples so far
        out that clusters depend on single ones. Ten times as many are taken next, and so on until
        all are in. Centres and dual are properties of the population, so little is lost.

    See Also
    --------
    AlternatingSwaps : The algorithm of Liu and Vicente.

    Examples
    --------
    >>> from skfair.cluster import FairKMeans, Homotopy
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]
    >>> groups = ["a", "a", "b", "b", "b", "a"]
    >>> model = FairKMeans(2, min_balance=1, algorithm=Homotopy(n_levels=2), random_state=0)
    >>> model.fit(X, sensitive_features=groups).balance_
    1.0
    """

    advice = "Ask for less balance or for fewer clusters, or pass more starts with n_init."
    """What to do where the required balance is not reached."""

    n_levels: PositiveInt = 4
    _: KW_ONLY
    max_samples: PositiveInt = 5000

    def _solve(
        self,
        problem: ClusteringProblem | PartitionedClusteringProblem,
        runs: RunSettings,
        random_state: np.random.RandomState,
        watch: Callable,
    ) -> tuple[ClusteringPoint, int, str]:
        """The cheapest clustering found that keeps the limits of a problem, rounds, and status.

        `watch` is called with the point after every round on all samples; True ends the rounds. The
        status is that of `search_locally`, and "max_iter" also if `watch` ended the rounds.
        """
        validate_params(self)
        # Samples in memory; where these are all, so is the whole fit.
        memory_problem = problem.warm_start_problem
        if memory_problem is not problem and memory_problem.n_samples == problem.n_samples:
            return self._solve_in_memory(problem, memory_problem, runs, random_state, watch)  # type: ignore[arg-type]
        if bounds_many_sizes(problem, runs.n_clusters, problem.limits):
            return solve_many_sizes(problem, memory_problem, runs, random_state, watch)  # type: ignore[arg-type]
        return self._solve_from_starts(problem, memory_problem, runs, random_state, watch)  # type: ignore[arg-type]

    def _solve_from_starts(
        self,
        problem: ClusteringProblem,
        memory_problem: ClusteringProblem,
        runs: RunSettings,
        random_state: np.random.RandomState,
        watch: Callable,
    ) -> tuple[ClusteringPoint, int, str]:
        """The result of `_solve` where starts of k-means are led to the level on a subsample."""
        subsample, starts = self._lead_starts(memory_problem, runs, random_state)
        end, n_iter = self._follow_starts(problem, memory_problem, subsample, starts, runs, watch)
        if memory_problem is problem and is_far_from_bound(problem, end):
            end, n_more = self._try_more(problem, subsample, end, runs, random_state, watch)
            n_iter += n_more
        # Near given labels or centres: rounds may have led to a worse end.
        if memory_problem is problem and np.ndim(runs.init) == 2:
            nearby = search_nearby(problem, problem.limits.level, runs)
            end = min(end, nearby, key=partial(sort_key, problem))
        return end.point, n_iter, end.status

    def _try_more(
        self,
        problem: ClusteringProblem,
        subsample: ClusteringProblem,
        end: RunResult,
        runs: RunSettings,
        random_state: np.random.RandomState,
        watch: Callable,
    ) -> tuple[RunResult, int]:
        """The best of an end, the other repair and one more start, after further random moves.

        The start has a seed of its own; ``random_state`` is not changed.
        """
        seed = deepcopy(random_state).randint(np.iinfo(np.int32).max)
        random_state = np.random.RandomState([seed, 1])
        level = problem.limits.level
        ends = [end]
        point, status = repair_and_search(problem, end.assigned, level, runs, is_other=True)  # type: ignore[arg-type]
        ends.append(end._replace(point=point, status=status))
        n_iter = 0
        if isinstance(runs.init, str):
            run_start = RunStart(runs.start(subsample, random_state), random_state)
            run_start = run_start._replace(point=self._converge(subsample, runs, run_start))
            more, n_iter = self._follow_starts(
                problem, problem, subsample, [run_start], runs, watch
            )
            ends.append(more)
        best = min(ends, key=partial(sort_key, problem))
        return shake_end(problem, best, runs, random_state), n_iter

    def _lead_starts(
        self, problem: ClusteringProblem, runs: RunSettings, random_state: np.random.RandomState
    ) -> tuple[ClusteringProblem, list[RunStart]]:
        """A subsample, and the followed starts with the points of plain k-means that they lead to.

        They do not depend on a level.
        """
        subsample = self._draw_subsample(problem, runs, random_state)
        starts = self._rough_starts(subsample, runs, random_state)
        # Each start is led on a subsample; kernels release the interpreter lock.
        points = _map_in_threads(problem.n_jobs, partial(self._converge, subsample, runs), starts)
        return subsample, [s._replace(point=p) for s, p in zip(starts, points, strict=True)]

    def _follow_starts(
        self,
        problem: ClusteringProblem,
        memory_problem: ClusteringProblem,
        subsample: ClusteringProblem,
        starts: list[RunStart],
        runs: RunSettings,
        watch: Callable,
    ) -> tuple:
        """The best end of starts at the level of a problem, and the number of rounds."""
        level = problem.limits.level
        if level > 0:  # without balance the points of starts have converged
            # Each start has a homotopy of its own on the subsample.
            climb = partial(self._follow_to_balance, subsample, level, runs.tol)
            points = _map_in_threads(
                memory_problem.n_jobs, climb, [run_start.point for run_start in starts]
            )
            starts = [s._replace(point=p) for s, p in zip(starts, points, strict=True)]
        if subsample is not memory_problem:
            # On more samples, only those that are cheapest so far on the subsample, clearly.
            costs = [run_start.point.cost for run_start in starts]  # type: ignore[union-attr]
            chosen = choose_followed_starts(costs, 1, problem.tol_factor * 5e-3)
            starts = [starts[i] for i in chosen]
        n_iter, best = 0, None
        for run_start in starts:
            point, n_rounds, converged = self._iterate(
                problem, memory_problem, subsample.n_samples, run_start, runs, watch
            )
            n_iter += n_rounds
            is_stopped = not converged and n_rounds < runs.max_iter
            # Integer repair: not of a start that costs more before it than the best end.
            if best is None or is_stopped or may_be_best(problem, point, best.point):
                end = repair_end(problem, point, runs)._replace(is_stopped=is_stopped)
                end = end if converged else end._replace(status="max_iter")
                if best is None or sort_key(problem, end) < sort_key(problem, best):
                    best = shake_end(problem, end, runs, run_start.random_state)
            if is_stopped:
                break
        return best, n_iter

    def _iterate(self, problem, memory_problem, size, run_start, runs, watch):
        """The rounds on all samples of a start, from its point on a subsample of some size."""
        _, random_state, point = run_start
        level = problem.limits.level
        # Larger and larger subsamples.
        size *= SUBSAMPLE_GROWTH
        while size < memory_problem.n_samples:
            larger = draw_stratified(memory_problem, size, random_state)
            # A round on a share of all takes that share of the time: it may gain as little.
            share = larger.n_samples / memory_problem.n_samples
            point, _, _ = iterate_at_level(larger, point, level, runs.max_iter, share * runs.tol)
            size *= SUBSAMPLE_GROWTH
        if memory_problem is not problem:
            point, _, _ = iterate_at_level(memory_problem, point, level, runs.max_iter, runs.tol)
        # All samples: rounds of fair assignments and means.
        tol = problem.tol_factor * max(runs.tol, MIN_ROUND_GAIN / problem.n_samples)
        return iterate_at_level(problem, point, level, runs.max_iter, tol, watch)

    def _solve_in_memory(
        self,
        problem: PartitionedClusteringProblem,
        memory_problem: ClusteringProblem,
        runs: RunSettings,
        random_state: np.random.RandomState,
        watch: Callable,
    ) -> tuple:
        """The result of `solve` for partitioned data, all of which are in memory as well."""

        def spread(point: ClusteringPoint) -> ClusteringPoint:
            cost = memory_problem.cost_of(point.clustering) if point.cost is None else point.cost
            clustering = problem.distribute_clustering(memory_problem.numbers, point.clustering)  # type: ignore[arg-type]
            return point._replace(clustering=clustering, cost=cost)

        point, *others = self._solve(
            memory_problem, runs, random_state, lambda point: watch(spread(point))
        )
        return spread(point), *others

    def _front(
        self,
        problem: ClusteringProblem,
        runs: RunSettings,
        n_levels: int,
        random_state: np.random.RandomState,
    ) -> list[Route]:
        """Clusterings from plain k-means to the best attainable balance, each with a path upward.

        One is computed for each of the levels. Each route leads by single moves past the next
        levels, or as far as moves go.
        """
        validate_params(self)
        subsample, starts = self._lead_starts(problem, runs, random_state)
        points = [run_start.point for run_start in starts]
        lowest, *others = sorted(points, key=attrgetter("cost"))[:N_FOLLOWED]
        # The unbalanced end of the front: plain k-means, improved by single moves.
        lowest, _ = search_locally(subsample, lowest, 0.0, runs, exchange=False)  # type: ignore[arg-type]
        points, levels = trace_levels(subsample, lowest, others, n_levels, runs.tol)
        # The points of all samples, from those of the subsample.
        if subsample is not problem:
            points = [
                iterate_at_level(problem, point, level, 1, runs.tol)[0]
                for point, level in zip(points, levels, strict=True)
            ]
        points[0] = repair(problem, points[0], 0.0)  # type: ignore[arg-type]
        routes = branch_routes(problem, points[0])  # type: ignore[arg-type]
        # A route goes on past the next levels: for a while it may stay below what starts there.
        goals = [*levels[3:], 1.0, 1.0, 1.0]
        one_pass = runs._replace(max_iter=1)
        for point, level, goal in zip(points, levels, goals[-len(levels) :], strict=True):
            point = repair(problem, point, level)  # type: ignore[arg-type]
            point, _ = search_locally(problem, point, level, one_pass, exchange=False)
            routes.append(route_from(problem, point, goal))
        # The best balance there is, searched for as `solve` does.
        climb = partial(self._follow_to_balance, subsample, problem.balance, runs.tol)
        highest = min(
            _map_in_threads(problem.n_jobs, climb, [lowest, *others]), key=attrgetter("cost")
        )
        point, _, _ = iterate_at_level(problem, highest, problem.balance, 5, runs.tol)
        point = repair(problem, point, problem.balance)
        point, _ = search_locally(problem, point, problem.balance, runs._replace(max_iter=5))
        routes.append(route_from(problem, point, 1.0))
        if problem.n_samples <= MAX_FITTED_SAMPLES:
            routes = self._fit_points(
                problem, subsample, starts, runs, routes, n_levels, random_state
            )
        return routes

    def _fit_points(
        self,
        problem: ClusteringProblem,
        subsample: ClusteringProblem,
        starts: list[RunStart],
        runs: RunSettings,
        routes: list[Route],
        n_levels: int,
        random_state: np.random.RandomState,
    ) -> list[Route]:
        """Routes, with the clusterings of fits at the balances of the points of their front.

        A move of one of few samples is a large step, and points between the levels may be far from
        what a fit finds.
        """
        searched: set = set()
        fitted = np.empty(0)
        n_left = 2 * n_levels
        while n_left > 0:
            routes = search_gaps(problem, runs, routes, searched)
            _, levels, _ = front_points(routes)
            # Of up to 20 samples every ratio of two counts of groups is a level.
            if problem.n_samples <= 20:
                levels = np.union1d(levels, count_ratios(problem))
            # The levels that are new since the last round, or as many of them as are left.
            levels = np.setdiff1d(levels[levels <= problem.balance], fitted)
            if not len(levels):
                break
            chosen = np.linspace(0, len(levels) - 1, min(len(levels), n_levels, n_left)).astype(int)
            for level in levels[chosen]:
                level_problem = replace(problem, limits=problem.limits._replace(level=float(level)))
                led = level_problem if subsample is problem else subsample
                # Every level has the random numbers that a fit would have.
                copies = [s._replace(random_state=deepcopy(s.random_state)) for s in starts]
                end, _ = self._follow_starts(
                    level_problem, level_problem, led, copies, runs, _never
                )
                if is_far_from_bound(level_problem, end):
                    end, _ = self._try_more(level_problem, led, end, runs, random_state, _never)
                if satisfies_rows(end.point.counts, problem.limits):
                    routes.append(route_from(problem, end.point, end.point.balance))
            fitted = np.union1d(fitted, levels[chosen])
            n_left = n_left - len(chosen)
        return search_gaps(problem, runs, routes, searched)

    def _rough_starts(
        self, problem: ClusteringProblem, runs: RunSettings, random_state: np.random.RandomState
    ) -> list:
        """The starts whose rough runs are cheapest so far. The first has left its local minimum.

        Every choice looks at earlier starts only. So a followed start stays followed however many
        come after it, and more starts never lead to a worse end.
        """
        # Starts are compared on a subsample; with bounds on sizes each round has a dual to solve.
        sized = has_rows(problem.limits)
        size = max(2000 if sized else 5000, 20 * runs.n_clusters * problem.n_groups)
        subsample = draw_stratified(problem, size, random_state)
        lead = partial(converge_sized if sized else converge, subsample)
        # Rough runs from all starts, each of which has random numbers of its own.
        generators = runs.generators(random_state)
        starts = [runs.start(subsample, generator) for generator in generators]
        run = partial(lead, max_iter=runs.max_iter, tol=max(runs.tol, ROUGH_TOL))
        rough = [*_map_in_threads(problem.n_jobs, run, starts)]
        # Plain k-means gains little from starts that are not the cheapest so far.
        is_plain = problem.limits.level == 0 and not sized
        costs = [end.cost for end in rough]
        chosen = choose_followed_starts(costs, 1 if is_plain else N_FOLLOWED, ROUGH_TOL)
        # Relocations would lead all starts of plain k-means, or of many samples, to the same local
        # minimum: only the first has them there.
        lead = partial(lead, max_iter=3, tol=0.0)
        ends = [rough[i] for i in chosen]
        for j, i in enumerate(
            chosen if sized and problem.n_samples <= MAX_REPAIRED_SAMPLES else chosen[:1]
        ):
            ends[j] = improve_by_swaps(subsample, rough[i], N_RELOCATIONS, generators[i], lead)
        starts = [RunStart(e.centers, generators[i]) for e, i in zip(ends, chosen, strict=True)]
        if sized and ends[0] is not rough[0]:
            # Relocations compare costs before repair: the start without them is followed as well.
            starts.append(RunStart(rough[0].centers, generators[0]))  # type: ignore[arg-type]
        return starts

    def _converge(
        self, problem: ClusteringProblem, runs: RunSettings, run_start: RunStart
    ) -> ClusteringPoint:
        """The point of plain k-means from a start, with sizes within their limits."""
        if has_rows(problem.limits):
            return iterate_sized(problem, run_start.centers, runs.max_iter, runs.tol)
        tol = max(runs.tol, MIN_ROUND_GAIN / problem.n_samples)
        labels, _, _ = iterate_lloyd(problem, run_start.centers, runs.max_iter, tol)
        return recompute_point(problem, labels, runs.n_clusters)

    def _follow_to_balance(
        self, problem: ClusteringProblem, ratio: float, tol: float, point: ClusteringPoint
    ) -> ClusteringPoint:
        """The end of the homotopy from a point to a balance, level by level."""
        for level in rising_levels(min(point.balance, ratio), ratio, self.n_levels):  # type: ignore[arg-type, type-var]
            point, _, _ = iterate_at_level(problem, point, level, 1, tol)
        return point

    def _draw_subsample(
        self, problem: ClusteringProblem, runs: RunSettings, random_state: np.random.RandomState
    ) -> ClusteringProblem:
        """A subsample with several samples for every cluster and group."""
        size = max(self.max_samples, 100 * runs.n_clusters * problem.n_groups)
        return draw_stratified(problem, size, random_state)


def solve_many_sizes(
    problem: ClusteringProblem,
    memory_problem: ClusteringProblem,
    runs: RunSettings,
    random_state: np.random.RandomState,
    watch: Callable,
) -> tuple[ClusteringPoint, int, str]:
    """The result of `Homotopy._solve` where sizes of many clusters are bounded, and nothing else.

    ``memory_problem`` is the problem, or that of a subsample of partitioned data.
    """
    solve = solve_sizes if memory_problem is problem else solve_partitioned_sizes
    point, n_iter, status = solve(problem, runs, N_RELOCATIONS, random_state, watch)
    is_searched = memory_problem is problem and runs.n_clusters < MANY_CLUSTERS
    is_searched &= status == "feasible"
    if is_searched or not problem.has_equal_weights:
        point, search_status = repair_and_search(problem, point, problem.limits.level, runs)
        status = search_status if status == "feasible" else status
    return point, n_iter, status


class RunStart(NamedTuple):
    """A start of k-means that is followed, its random numbers, and the point it has led to."""

    centers: np.ndarray  # (n_clusters, n_features)
    random_state: np.random.RandomState
    point: ClusteringPoint | None = None


class RunResult(NamedTuple):
    """What a start ends with on all samples."""

    point: ClusteringPoint
    status: str
    is_stopped: bool = False  # by a callback
    assigned: ClusteringPoint | None = None  # the fair assignment, before its integer repair


def may_be_best(
    problem: ClusteringProblem, assigned: ClusteringPoint, best: ClusteringPoint
) -> bool:
    """Whether a fair assignment may have a cheaper end than the best one, which keeps the limits.

    Repair costs more than the search after it gains, unless samples are few.
    """
    keeps_limits = problem.keeps_limits(best.counts, problem.limits.level)
    return (
        problem.n_samples <= MAX_REPAIRED_SAMPLES or not keeps_limits or assigned.cost < best.cost  # type: ignore[operator]
    )


def repair_end(
    problem: ClusteringProblem, assigned: ClusteringPoint, runs: RunSettings
) -> RunResult:
    """The end of integer repair and local search, of more candidates where some do not suffice."""
    level = problem.limits.level
    for candidates, movable in problem.candidates(assigned):
        end, status = repair_and_search(candidates, movable, level, runs)
        if candidates.keeps_limits(end.counts, level):
            break
    return RunResult(problem.merge(candidates, movable.dual, end), status, assigned=assigned)


def shake_end(
    problem: ClusteringProblem,
    end: RunResult,
    runs: RunSettings,
    random_state: np.random.RandomState,
) -> RunResult:
    """The end of iterated local search; the end itself where it does not apply."""
    if end.status == "max_iter":
        return end
    level = problem.limits.level
    point, status = iterate_local_search(problem, end.point, end.status, level, runs, random_state)
    return end._replace(point=point, status=status)


def is_far_from_bound(problem: ClusteringProblem, end: RunResult) -> bool:
    """Whether the cost of an end is so far above the bound at its centres that more is tried.

    A pass over very many samples takes too long.
    """
    point = end.point
    n_distances = problem.n_samples * point.n_clusters
    if n_distances > MAX_CHECKED_DISTANCES or end.is_stopped:
        return False
    limits = limits_at_counts(point.counts, problem.limits)
    if limits.level == 0 and not has_rows(limits):
        return False
    bound = problem.solve_assignment(point.centers, limits, point.dual).value
    return bool(point.cost > (1 + FAR_FROM_BOUND) * bound)  # type: ignore[operator]


def search_nearby(problem: ClusteringProblem, level: float, runs: RunSettings) -> RunResult:
    """The cheapest end of repair and local search from given labels, or from given centres.

    Labels that keep the limits end at no higher cost.
    """
    labels, _ = nearest_centers(problem.X, runs.init)
    clustering = occupy_clusters(problem, labels, runs.init)._replace(centers=runs.init)
    # The fair assignment to given centres, which do not move before.
    point = assign_fairly(problem, ClusteringPoint(clustering), level, COUNT_TOLERANCE)
    labels = point.labels if runs.labels is None else runs.labels
    point = replace_labels(problem, point, labels)
    if problem.keeps_limits(point.counts, level):  # a repair might cost more
        point, status = search_locally(problem, point, level, runs)
    else:
        point, status = repair_and_search(problem, point, level, runs)
    return RunResult(point, status)


def sort_key(problem: ClusteringProblem, end: RunResult) -> Any:
    """Sort key of ends: those that keep the limits by cost, then the others by shares and balance.

    Of the others those come first that miss sizes alone, by less than a sample: of unequal weights
    the last one may not fit into a cluster.
    """
    point, level = end.point, problem.limits.level
    if problem.keeps_limits(point.counts, level):
        return 0, False, 0.0, 0.0, point.cost
    is_sized = satisfies_rows(point.counts, problem.limits_with_size_slack)
    misses = not (is_sized and problem.keeps_level(point.counts, level))
    exceeded = measure_share_excess(point.counts, problem.limits)
    return 1, misses, exceeded, -min(point.balance, level), point.cost  # type: ignore[operator, type-var]


def choose_followed_starts(costs: list, n_followed: int, tol: float) -> list[int]:
    """Positions of the costs that fewer than ``n_followed`` of those before are below.

    The first is always chosen. A cost that differs from one chosen before by no more than ``tol``
    times that is not: both starts have probably ended in the same local minimum.
    """
    chosen: list = []
    for i, cost in enumerate(costs):
        is_new = all(abs(cost - costs[j]) > tol * costs[j] for j in chosen)
        if is_new and sum(earlier <= cost for earlier in costs[:i]) < n_followed:
            chosen.append(i)
    return chosen


def _map_in_threads(n_jobs: int | None, function: Callable, values: list) -> Iterator:
    """Iterate over results of a function; a pool for one thread would take milliseconds."""
    n_threads = n_threads_of(n_jobs)
    if n_threads == 1:
        return map(function, values)
    return Parallel(n_threads, prefer="threads")(delayed(function)(value) for value in values)


def rising_levels(low: float, high: float, n_levels: int) -> np.ndarray:
    """Balances from ``low`` (left out) to ``high``, denser near ``high`` where the cost rises."""
    return high - (high - low) * (1 - np.arange(1, n_levels + 1) / n_levels) ** 2


def trace_levels(
    problem: ClusteringProblem, lowest: ClusteringPoint, others: list, n_levels: int, tol: float
) -> Any:
    """Points from plain k-means to the attainable balance, and the levels they stand for.

    The homotopy goes up from ``lowest`` and down from the cheapest point at the top that it or one
    of the other starts leads to; at each level the cheaper of the two is kept.
    """
    top = problem.attainable_balance(lowest.n_clusters)
    # with a dual of zeros
    points = [iterate_at_level(problem, lowest, 0.0, 1, tol)[0]]
    levels = [0.0]
    if lowest.balance < top:  # type: ignore[operator]
        # Up from plain k-means, then down from the best summit; they may follow different minima.
        rising = rising_levels(lowest.balance, top, n_levels)  # type: ignore[arg-type]
        upward = follow_levels(problem, lowest, rising, tol)
        summits = [upward[-1]] + [iterate_at_level(problem, p, top, 5, tol)[0] for p in others]
        summit = min(summits, key=attrgetter("cost"))
        downward = follow_levels(problem, summit, rising[::-1], tol)[::-1]
        for p, q in zip(upward, downward, strict=True):
            points.append(min(p, q, key=attrgetter("cost")))
        levels += list(rising)
    return points, levels


def follow_levels(
    problem: ClusteringProblem, point: ClusteringPoint, levels: np.ndarray, tol: float
) -> list[ClusteringPoint]:
    """Follow the homotopy from a point along the levels, one round at each."""
    points = []
    for level in levels:
        point, _, _ = iterate_at_level(problem, point, level, 1, tol)
        points.append(point)
    return points


def route_from(problem: ClusteringProblem, point: ClusteringPoint, goal: float) -> Route:
    """The route of cheapest single moves from a point to the balance ``goal``."""
    # Costs and balances of all prefixes of the path: each prefix is a point of the front.
    path = path_to_balance(problem, point, goal, near_ties(point, problem.codes), MAX_MOVES)
    labels = point.labels.astype(np.min_scalar_type(point.n_clusters - 1))
    costs = point.cost + np.concatenate([[0.0], np.cumsum(path.cost_changes)])
    costs /= problem.weights.sum()
    ratios = np.concatenate([[point.balance], path.balances])
    return Route(labels, path.samples, path.clusters, costs, ratios)


def _never(point: ClusteringPoint) -> bool:
    """Never end the rounds."""
    return False


def count_ratios(problem: ClusteringProblem) -> Any:
    """All ratios of two counts of groups, in the first scale of the limits."""
    sizes = np.bincount(problem.limits.intersections[problem.codes].ravel())
    counts = np.outer(problem.limits.scales[0], np.arange(1, sizes.max() + 1)).ravel()
    counts = counts[counts > 0]
    return np.unique(np.divide.outer(counts, counts)) * problem.limits.factors[0]


def search_gaps(
    problem: ClusteringProblem,
    runs: RunSettings,
    routes: list[Route],
    searched: set[tuple[int, int, float]],
) -> list[Route]:
    """Routes, with the ends of local searches between the points of their front.

    A search starts from each point, and may fall to just above the balance of the point before. It
    is repeated where it has changed the front. Searches that were made are added to ``searched``.
    """
    routes = [*routes]
    for _ in range(10):  # at most
        _, ratios, positions = front_points(routes)
        levels = np.append(0.0, ratios[:-1]) * (1 + GAP_MARGIN)
        searches = set(zip(*positions.T.tolist(), levels.tolist(), strict=True)) - searched
        searched |= searches
        for position, n_moves, level in sorted(searches):
            labels = routes[position].labels_after(n_moves)
            point = recompute_point(problem, labels, runs.n_clusters)
            end, _ = search_locally(problem, point, level, runs)
            if end is not point:
                cost = end.cost / problem.total_weight
                routes.append(Route.from_labels(end.labels, cost, end.balance))
        if not searches:
            break
    return routes


def branch_routes(problem: ClusteringProblem, point: ClusteringPoint) -> list:
    """Short routes just above balance 0, where one sample is a large step of the balance.

    The main route takes the move that raises the balance most for its cost. After each of its first
    moves, a branch takes the cheapest moves that raise the balance at all.
    """
    routes = []
    # A front of few samples branches after more moves.
    n_moves = max(10, 30_000 // problem.n_samples)
    for _ in range(n_moves if point.balance == 0 else 0):
        # The next move of the main route.
        move = path_to_balance(problem, point, 1.0, near_ties(point, problem.codes), 1)
        if not len(move.samples):
            break
        branch = point = follow_path(problem, point, move)
        # Three steps of the smallest rise of the balance that is possible, at the lowest cost.
        for _ in range(3):
            route = route_from(problem, branch, np.nextafter(branch.balance, 1.0))
            routes.append(route)
            branch = follow_path(problem, branch, route)
    return routes
