"""A fit of bounded k-means: starts, rounds of fair assignments and means, repair, local search."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from joblib import Parallel, delayed

from skfair._kernels.limits import has_rows, satisfies_rows
from skfair._partitions.partitions import n_threads_of
from skfair.cluster.kmeans._problem import (
    ClusteringPoint,
    MeasuredPoint,
    assign_fairly,
    replace_labels,
    start_from_centers,
)
from skfair.cluster.kmeans._repair import (
    iterate_local_search,
    measure_share_excess,
    repair_and_search,
    search_locally,
)
from skfair.cluster.kmeans._rounds import (
    converge,
    cross_centers,
    improve_by_swaps,
    iterate_at_level,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from skfair.cluster.kmeans._problem import ClusteringProblem
    from skfair.cluster.kmeans._rounds import RunSettings


ROUGH_TOL = 1e-3  # of k-means, enough to compare starts
N_STARTS = 3  # by default; more starts within limits are followed to their ends
N_FOLLOWED = 2  # cheaper starts, from which on a start is not finished within the limits
N_RELOCATIONS = 100  # moves of centres, drawn at once, by which the first start is improved
MAX_REPAIRED_SAMPLES = 1000  # up to which all followed starts are repaired: ends differ more
MIN_ROUND_GAIN = 0.1  # of the mean cost of a sample: of few, the local search gains the rest


class RunStart(NamedTuple):
    """A point with the centres of a start that is followed, and its random numbers."""

    point: ClusteringPoint
    random_state: np.random.RandomState
    is_finished: bool = False  # it is followed to its end, whatever the others cost


class RunResult(NamedTuple):
    """What a start ends with on all samples."""

    point: MeasuredPoint
    status: str


def find_starts(
    problem: ClusteringProblem,
    runs: RunSettings,
    random_state: np.random.RandomState,
    n_compared: int = N_STARTS,
) -> list[RunStart]:
    """The starts whose rough runs are cheapest so far. The first has left its local minimum.

    Within limits those after the first ``n_compared`` are all followed, and leave theirs. Every
    choice looks at earlier starts only. So a followed start stays followed however many come after
    it, and more starts never lead to a worse end.
    """
    # Rough runs from all starts, each of which has random numbers of its own.
    generators = runs.generators(random_state)
    centers = [runs.start(problem, generator) for generator in generators]
    run = partial(converge, problem, max_iter=runs.max_iter, tol=max(runs.tol, ROUGH_TOL))
    ends = [*map_in_threads(problem.n_jobs, run, centers)]
    # Plain k-means gains little from starts that are not the cheapest so far.
    is_sized = has_rows(problem.limits)
    is_plain = problem.limits.level == 0 and not is_sized
    costs = [end.cost for end in ends]
    n_compared = len(costs) if is_plain else n_compared
    chosen = choose_followed_starts(costs[:n_compared], 1 if is_plain else N_FOLLOWED, ROUGH_TOL)
    followed = [(ends[i].centers, generators[i]) for i in chosen]
    # Relocations would lead all starts to the same local minimum: only the first has them. They
    # compare costs before repair: within sizes the start without them is followed as well.
    lead = partial(converge, problem, max_iter=3, tol=0.0)
    first = improve_by_swaps(problem, ends[0], N_RELOCATIONS, generators[0], lead)
    if first is not ends[0]:
        followed = [(first.centers, generators[0]), *followed[not is_sized :]]
    # What integers cost differs more than what starts do: further ones are judged by their ends.
    n_judged = len(followed)
    for end, generator in zip(ends[n_compared:], generators[n_compared:], strict=True):
        moved = improve_by_swaps(problem, end, N_RELOCATIONS, generator, lead)
        followed.append((moved.centers, generator))
    return [
        RunStart(start_from_centers(centers), generator, is_finished=i >= n_judged)
        for i, (centers, generator) in enumerate(followed)
    ]


def follow_starts(
    problem: ClusteringProblem,
    problems: list[ClusteringProblem],
    starts: list[RunStart],
    runs: RunSettings,
) -> tuple[RunResult, int]:
    """The best end of starts within the limits of a problem, and the number of rounds.

    ``problems`` are larger and larger subsamples, and last all samples in memory. After each
    further start one that is crossed from it and from the best end before is followed as well.
    """
    level = problem.limits.level
    subsamples = [one for one in problems if one is not problem]

    def descend(sample: ClusteringProblem, led: RunStart) -> RunStart:
        # A round on a share of all takes that share of the time: it may gain as little.
        tol = runs.tol * sample.n_samples / problems[-1].n_samples
        return led._replace(point=iterate_at_level(sample, led.point, level, runs.max_iter, tol)[0])

    if subsamples:
        # All starts on the smallest subsample; on more samples those that are clearly cheapest.
        starts = [*map_in_threads(problem.n_jobs, partial(descend, subsamples[0]), starts)]
        compared = [start for start in starts if not start.is_finished]
        costs = np.array([start.point.cost for start in compared])
        chosen = choose_followed_starts(costs, 1, problem.tol_factor * 5e-3)
        finished = [start for start in starts if start.is_finished and problem.is_in_memory]
        starts = [compared[i] for i in chosen] + finished
    tol = problem.tol_factor * max(runs.tol, MIN_ROUND_GAIN / problem.n_samples)
    n_iter = 0
    best: RunResult | None = None
    waiting = starts[::-1]
    while waiting:
        start = waiting.pop()
        for sample in subsamples[1:]:
            start = descend(sample, start)
        # Rounds of fair assignments and means.
        point, n_rounds, converged = iterate_at_level(
            problem, start.point, level, runs.max_iter, tol, runs.watch
        )
        n_iter += n_rounds
        is_stopped = not converged and n_rounds < runs.max_iter
        if best is not None and start.is_finished and point.n_clusters > 1:
            centers = cross_centers(
                problems[0], best.point.centers, point.centers, start.random_state
            )
            crossed = RunStart(start_from_centers(centers), start.random_state)
            waiting.append(descend(subsamples[0], crossed) if subsamples else crossed)
        # Integer repair: not of a start that costs more before it than the best end.
        if best is None or is_stopped or may_be_best(problem, point, best.point):
            # Where a callback has ended the rounds nothing is searched any more.
            end = repair_end(problem, point, runs._replace(max_iter=0) if is_stopped else runs)
            is_stopped |= end.status == "stopped"
            if is_stopped or not converged:
                end = end._replace(status="stopped" if is_stopped else "max_iter")
            if best is None or sort_key(problem, end) < sort_key(problem, best):
                best = shake_end(problem, end, runs, start.random_state)
        if is_stopped:
            best = best._replace(status="stopped")
            break
    return best, n_iter  # type: ignore[return-value]


def may_be_best(problem: ClusteringProblem, assigned: ClusteringPoint, best: MeasuredPoint) -> bool:
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
    return RunResult(problem.merge(candidates, movable.dual, end), status)


def shake_end(
    problem: ClusteringProblem,
    end: RunResult,
    runs: RunSettings,
    random_state: np.random.RandomState,
) -> RunResult:
    """The end of iterated local search; the end itself where it does not apply."""
    if end.status in ("max_iter", "stopped"):
        return end
    level = problem.limits.level
    point, status = iterate_local_search(problem, end.point, end.status, level, runs, random_state)
    return end._replace(point=point, status=status)


def search_nearby(problem: ClusteringProblem, level: float, runs: RunSettings) -> RunResult:
    """The cheapest end of repair and local search from given labels, or from given centres.

    Labels that keep the limits end at no higher cost.
    """
    # The fair assignment to given centres, which do not move before.
    point = assign_fairly(problem, start_from_centers(runs.init), level)
    labels = point.labels if runs.labels is None else runs.labels
    point = replace_labels(problem, point, labels)
    if problem.keeps_limits(point.counts, level):  # a repair might cost more
        point, status = search_locally(problem, point, level, runs)
    else:
        point, status = repair_and_search(problem, point, level, runs)
    return RunResult(point, status)


def sort_key(problem: ClusteringProblem, end: RunResult) -> tuple[int, bool, float, float, float]:
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
    return 1, misses, exceeded, -min(point.balance, level), point.cost


def choose_followed_starts(
    costs: list[float] | np.ndarray, n_followed: int, min_difference: float
) -> list[int]:
    """Positions of the costs that fewer than ``n_followed`` of those before are below.

    The first is always chosen. A cost that differs from one chosen before by no more than
    ``min_difference`` times that is not: both starts have probably ended in the same local minimum.
    """
    chosen: list[int] = []
    for i, cost in enumerate(costs):
        is_new = all(abs(cost - costs[j]) > min_difference * costs[j] for j in chosen)
        if is_new and sum(earlier <= cost for earlier in costs[:i]) < n_followed:
            chosen.append(i)
    return chosen


def map_in_threads(n_jobs: int | None, function: Callable, values: list) -> Iterator:
    """Iterate over results of a function; a pool for one thread would take milliseconds."""
    n_threads = n_threads_of(n_jobs)
    if n_threads == 1:
        return map(function, values)
    return Parallel(n_threads, prefer="threads")(delayed(function)(value) for value in values)
