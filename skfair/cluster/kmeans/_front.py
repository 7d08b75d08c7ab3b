"""The homotopy: follow the cheapest clustering while the required balance changes, for a front."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np

from skfair._kernels.iterated_search import MAX_ITERATED_SAMPLES
from skfair._kernels.limits import satisfies_rows
from skfair.cluster._base import Route, front_points
from skfair.cluster.kmeans._fits import N_FOLLOWED, RunStart, find_starts, follow_starts
from skfair.cluster.kmeans._problem import MeasuredPoint, recompute_point
from skfair.cluster.kmeans._repair import (
    GAP_MARGIN,
    MAX_MOVES,
    follow_path,
    iterate_local_search,
    path_to_balance,
    repair,
    search_locally,
)
from skfair.cluster.kmeans._rounds import iterate_at_level

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skfair.cluster.kmeans._problem import ClusteringProblem
    from skfair.cluster.kmeans._rounds import RunSettings


MAX_SEARCHED_SAMPLES = 1000  # up to which every level has more rounds and a whole local search
MAX_FITTED_SAMPLES = MAX_ITERATED_SAMPLES  # up to which the points of a front are those of fits
LEVEL_ROUNDS = 3  # at each level, of few samples
MAX_SHAKEN_SAMPLES = 500  # up to which random moves follow at the highest balance
N_RESTARTS = 5  # levels of few samples to which all starts are led directly


def trace_front(
    problems: list[ClusteringProblem],
    problem: ClusteringProblem,
    runs: RunSettings,
    n_levels: int,
    random_state: np.random.RandomState,
) -> list[Route]:
    """Clusterings from plain k-means to the best attainable balance, each with a path upward.

    One is computed for each of the levels. Each route leads by single moves past the next
    levels, or as far as moves go.
    """
    subsample = problems[0]
    starts = find_starts(subsample, runs, random_state, n_compared=runs.n_init)
    # Plain k-means, whatever the balance.
    points = [
        iterate_at_level(subsample, start.point, 0.0, runs.max_iter, runs.tol)[0]
        for start in starts
    ]
    is_small = problem.n_samples <= MAX_SEARCHED_SAMPLES
    lowest, *others = sorted(points, key=attrgetter("cost"))[: None if is_small else N_FOLLOWED]
    # The unbalanced end of the front: plain k-means, improved by single moves.
    lowest, _ = search_locally(subsample, lowest, 0.0, runs, exchange=False)
    n_rounds = LEVEL_ROUNDS if is_small else 1
    points, levels = trace_levels(subsample, lowest, others, n_levels, n_rounds, runs.tol)
    # The points of all samples, from those of the subsample.
    if subsample is not problem:
        points = [
            iterate_at_level(problem, point, level, 1, runs.tol)[0]
            for point, level in zip(points, levels, strict=True)
        ]
    points[0] = repair(problem, points[0], 0.0)
    routes = branch_routes(problem, points[0])
    # A route goes on past the next levels: for a while it may stay below what starts there.
    goals = [*levels[3:], 1.0, 1.0, 1.0]
    searches = runs if is_small else runs._replace(max_iter=1)
    points = [repair(problem, point, level) for point, level in zip(points, levels, strict=True)]
    points = [
        search_locally(problem, point, level, searches, exchange=is_small)[0]
        for point, level in zip(points, levels, strict=True)
    ]
    for point, goal in zip(points, goals[-len(levels) :], strict=True):
        routes.append(route_from(problem, point, goal))
    if is_small:
        routes += descend_levels(problem, points, levels, runs)
    # The best balance there is, searched for as `solve` does.
    summits = [
        iterate_at_level(subsample, p, problem.balance, runs.max_iter, runs.tol)[0]
        for p in (lowest, *others)
    ]
    highest = min(summits, key=attrgetter("cost"))
    point, _, _ = iterate_at_level(problem, highest, problem.balance, 5, runs.tol)
    point = repair(problem, point, problem.balance)
    point, _ = search_locally(problem, point, problem.balance, runs._replace(max_iter=5))
    routes.append(route_from(problem, point, 1.0))
    if problem.n_samples <= MAX_SHAKEN_SAMPLES:
        routes.append(search_summit(problem, routes, runs, starts[0].random_state))
    if problem.n_samples <= MAX_FITTED_SAMPLES:
        routes = fit_points(problem, problems, starts, runs, routes, n_levels)
    return routes


def descend_levels(
    problem: ClusteringProblem,
    points: list[MeasuredPoint],
    levels: list[float],
    runs: RunSettings,
) -> list[Route]:
    """Routes from clusterings that searches find which fall from each level to the next lower one.

    Where the point of a level is the cheaper one, the searches go on from it.
    """
    routes: list[Route] = []
    fallen = points[-1]
    for point, level in zip(points[-2::-1], levels[-2::-1], strict=True):
        fallen, _ = search_locally(problem, fallen, level, runs)
        if fallen.cost < point.cost * (1 - GAP_MARGIN):
            routes.append(route_from(problem, fallen, 1.0))
        else:
            fallen = point
    return routes


def search_summit(
    problem: ClusteringProblem,
    routes: list[Route],
    runs: RunSettings,
    random_state: np.random.RandomState,
) -> Route:
    """The cheapest clustering found near the one of the highest balance, by random moves as well.

    Hardly a move is allowed there, so that searches of single moves and exchanges end early.
    """
    _, ratios, positions = front_points(routes)
    position, n_moves = positions[-1]
    labels = routes[position].labels_after(n_moves)
    point = recompute_point(problem, labels, runs.n_clusters)
    level = float(ratios[-1])
    point, status = search_locally(problem, point, level, runs)
    point, _ = iterate_local_search(problem, point, status, level, runs, random_state)
    return Route.from_labels(point.labels, point.cost / problem.total_weight, point.balance)


def fit_points(
    problem: ClusteringProblem,
    problems: list[ClusteringProblem],
    starts: list[RunStart],
    runs: RunSettings,
    routes: list[Route],
    n_levels: int,
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
            led = [level_problem if one is problem else one for one in problems]
            # Every level has the random numbers that a fit would have.
            copies = [s._replace(random_state=deepcopy(s.random_state)) for s in starts]
            end, _ = follow_starts(level_problem, led, copies, runs)
            if satisfies_rows(end.point.counts, problem.limits):
                routes.append(route_from(problem, end.point, end.point.balance))
        fitted = np.union1d(fitted, levels[chosen])
        n_left = n_left - len(chosen)
    return search_gaps(problem, runs, routes, searched)


def rising_levels(low: float, high: float, n_levels: int) -> np.ndarray:
    """Balances from ``low`` (left out) to ``high``, denser near ``high`` where the cost rises."""
    return high - (high - low) * (1 - np.arange(1, n_levels + 1) / n_levels) ** 2


def trace_levels(
    problem: ClusteringProblem,
    lowest: MeasuredPoint,
    others: list,
    n_levels: int,
    n_rounds: int,
    tol: float,
) -> tuple[list, list[float]]:
    """Points from plain k-means to the attainable balance, and the levels they stand for.

    The homotopy goes down from the cheapest point at the top that ``lowest`` or one of the other
    starts leads to, and up from ``lowest`` until that is no cheaper.
    """
    top = problem.attainable_balance(lowest.n_clusters)
    # with a dual of zeros
    points = [iterate_at_level(problem, lowest, 0.0, 1, tol)[0]]
    levels = [0.0]
    if lowest.balance < top:
        rising = rising_levels(lowest.balance, top, n_levels)
        # Of few samples another start may be the cheapest from some level on.
        restarts: dict[float, MeasuredPoint] = {}
        if problem.n_samples <= MAX_SEARCHED_SAMPLES:
            for level in rising[2 :: max(1, n_levels // N_RESTARTS)]:
                trials = [iterate_at_level(problem, p, level, 5, tol)[0] for p in others]
                if trials:
                    restarts[level] = min(trials, key=attrgetter("cost"))
        summits = [iterate_at_level(problem, p, top, 5, tol)[0] for p in (lowest, *others)]
        summit = min(summits, key=attrgetter("cost"))
        followed = [*follow_levels(problem, summit, rising[::-1], n_rounds, tol, restarts)][::-1]
        # The descent may cost more than what plain k-means leads to.
        upward = follow_levels(problem, lowest, rising, n_rounds, tol, restarts)
        for number, point in enumerate(upward):
            if point.cost >= followed[number].cost:
                break
            followed[number] = point
        points += followed
        levels += list(rising)
    return points, levels


def follow_levels(
    problem: ClusteringProblem,
    point: MeasuredPoint,
    levels: np.ndarray,
    n_rounds: int,
    tol: float,
    restarts: dict[float, MeasuredPoint],
) -> Iterator[MeasuredPoint]:
    """Follow the homotopy from a point along the levels, so many rounds at each.

    It goes on from the points of ``restarts`` at their levels, where these are cheaper.
    """
    for level in levels:
        point, _, _ = iterate_at_level(problem, point, level, n_rounds, tol)
        point = min(point, restarts.get(level, point), key=attrgetter("cost"))
        yield point


def route_from(problem: ClusteringProblem, point: MeasuredPoint, goal: float) -> Route:
    """The route of cheapest single moves from a point to the balance ``goal``."""
    # Costs and balances of all prefixes of the path: each prefix is a point of the front.
    path = path_to_balance(problem, point, goal, MAX_MOVES)
    labels = point.labels.astype(np.min_scalar_type(point.n_clusters - 1))
    costs = point.cost + np.concatenate([[0.0], np.cumsum(path.cost_changes)])
    costs /= problem.weights.sum()
    ratios = np.concatenate([[point.balance], path.balances])
    return Route(labels, path.samples, path.clusters, costs, ratios)


def count_ratios(problem: ClusteringProblem) -> np.ndarray:
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


def branch_routes(problem: ClusteringProblem, point: MeasuredPoint) -> list:
    """Short routes just above balance 0, where one sample is a large step of the balance.

    The main route takes the move that raises the balance most for its cost. After each of its first
    moves, a branch takes the cheapest moves that raise the balance at all.
    """
    routes = []
    # A front of few samples branches after more moves.
    n_moves = max(10, 30_000 // problem.n_samples)
    for _ in range(n_moves if point.balance == 0 else 0):
        # The next move of the main route.
        move = path_to_balance(problem, point, 1.0, 1)
        if not len(move.samples):
            break
        branch = point = follow_path(problem, point, move)
        # Three steps of the smallest rise of the balance that is possible, at the lowest cost.
        for _ in range(3):
            route = route_from(problem, branch, np.nextafter(branch.balance, 1.0))
            routes.append(route)
            branch = follow_path(problem, branch, route)
    return routes
