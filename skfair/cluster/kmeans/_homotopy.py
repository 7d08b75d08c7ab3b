"""The default algorithm of bounded k-means: its settings, and what it does with which data."""

from __future__ import annotations

from dataclasses import KW_ONLY
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import BaseEstimator

from skfair._utils.parameters import PositiveInt, make_constructor, validate_params
from skfair.cluster.kmeans._fits import (
    N_RELOCATIONS,
    find_starts,
    follow_starts,
    search_nearby,
    sort_key,
)
from skfair.cluster.kmeans._front import trace_front
from skfair.cluster.kmeans._many_clusters import solve_partitioned_sizes, solve_sizes
from skfair.cluster.kmeans._problem import (
    MANY_CLUSTERS,
    ClusteringPoint,
    MeasuredPoint,
    bounds_many_sizes,
    draw_stratified,
)
from skfair.cluster.kmeans._repair import repair_and_search

if TYPE_CHECKING:
    from skfair.cluster._base import Route
    from skfair.cluster.kmeans._partitioned import PartitionedClusteringProblem
    from skfair.cluster.kmeans._problem import ClusteringProblem
    from skfair.cluster.kmeans._rounds import RunSettings


SUBSAMPLE_GROWTH = 10  # of the size of subsamples, until all samples are taken


@make_constructor
class Homotopy(BaseEstimator):
    """The default algorithm of `FairKMeans` and `cluster_front`, with its settings.

    Starts are rough runs of plain k-means. From each, rounds alternate the cheapest assignment that
    keeps the bounds, which is found through its dual (one unknown per cluster and group), and the
    means. Single moves repair what rounding left, or a table of counts where they get stuck, or
    moves and exchanges of up to 1,000 samples of unequal weights. Then moves and exchanges that
    keep the bounds lower the cost until none is left. Up to 1,000 samples leave a local optimum by
    random moves, as long as these lead to something cheaper; above 100 only with bounds, and where
    weights are unequal or an intersection has at most 100 members per cluster. For a front the
    cheapest clustering of the highest balance is followed while the balance falls, and plain
    k-means while it rises, as long as that is cheaper.

    Partitioned data of more than 100,000 samples are warm-started on as many of them, and finished
    by passes over all. Then the samples nearest to a tie are moved in memory.

    Read more in the :ref:`guide <fair_clustering>`.

    Parameters
    ----------
    max_samples : int, default=5000
        Rounds begin on a subsample of about this size, drawn by group, with all samples so far
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
    >>> model = FairKMeans(2, min_balance=1, algorithm=Homotopy(max_samples=100), random_state=0)
    >>> model.fit(X, sensitive_features=groups).balance_
    1.0
    """

    advice = "Ask for less balance or for fewer clusters, or pass more starts with n_init."
    """What to do where the required balance is not reached."""

    _: KW_ONLY
    max_samples: PositiveInt = 5000

    def _solve(
        self,
        problem: ClusteringProblem | PartitionedClusteringProblem,
        runs: RunSettings,
        random_state: np.random.RandomState,
    ) -> tuple[MeasuredPoint, int, str]:
        """The cheapest clustering found that keeps the limits of a problem, rounds, and status.

        ``runs.watch`` is called with the point after every round, and pass of the local search, on
        all samples; True ends the fit. The status is that of `search_locally`, or "max_iter".
        """
        validate_params(self)
        # Samples in memory; where these are all, so is the whole fit.
        memory_problem = problem.warm_start_problem
        if memory_problem is not problem and memory_problem.n_samples == problem.n_samples:
            return self._solve_in_memory(problem, memory_problem, runs, random_state)  # type: ignore[arg-type]
        if bounds_many_sizes(problem, runs.n_clusters, problem.limits):
            return solve_many_sizes(problem, memory_problem, runs, random_state)  # type: ignore[arg-type]
        problems = self._draw_samples(memory_problem, runs, random_state)
        starts = find_starts(problems[0], runs, random_state)
        end, n_iter = follow_starts(problem, problems, starts, runs)  # type: ignore[arg-type]
        # Near given labels or centres: rounds may have led to a worse end.
        if memory_problem is problem and np.ndim(runs.init) == 2 and end.status != "stopped":
            nearby = search_nearby(problem, problem.limits.level, runs)
            end = min(end, nearby, key=partial(sort_key, problem))
        return end.point, n_iter, end.status

    def _front(
        self,
        problem: ClusteringProblem,
        runs: RunSettings,
        n_levels: int,
        random_state: np.random.RandomState,
    ) -> list[Route]:
        """Clusterings from plain k-means to the best attainable balance, see `trace_front`."""
        validate_params(self)
        problems = self._draw_samples(problem, runs, random_state)
        return trace_front(problems, problem, runs, n_levels, random_state)

    def _draw_samples(
        self, problem: ClusteringProblem, runs: RunSettings, random_state: np.random.RandomState
    ) -> list[ClusteringProblem]:
        """Larger and larger subsamples, then all samples.

        The first has several samples for every cluster and group.
        """
        size = max(self.max_samples, 100 * runs.n_clusters * problem.n_groups)
        drawn = []
        while size < problem.n_samples:
            drawn.append(draw_stratified(problem, size, random_state))
            size *= SUBSAMPLE_GROWTH
        return [*drawn, problem]

    def _solve_in_memory(
        self,
        problem: PartitionedClusteringProblem,
        memory_problem: ClusteringProblem,
        runs: RunSettings,
        random_state: np.random.RandomState,
    ) -> tuple:
        """The result of `solve` for partitioned data, all of which are in memory as well."""

        def spread(point: ClusteringPoint) -> ClusteringPoint:
            cost = memory_problem.cost_of(point.clustering) if point.cost is None else point.cost
            clustering = problem.distribute_clustering(memory_problem.numbers, point.clustering)  # type: ignore[arg-type]
            return point._replace(clustering=clustering, cost=cost)

        watched = runs._replace(watch=lambda point: runs.watch(spread(point)))
        point, *others = self._solve(memory_problem, watched, random_state)
        return spread(point), *others


def solve_many_sizes(
    problem: ClusteringProblem,
    memory_problem: ClusteringProblem,
    runs: RunSettings,
    random_state: np.random.RandomState,
) -> tuple[MeasuredPoint, int, str]:
    """The result of `Homotopy._solve` where sizes of many clusters are bounded, and nothing else.

    ``memory_problem`` is the problem, or that of a subsample of partitioned data.
    """
    solve = solve_sizes if memory_problem is problem else solve_partitioned_sizes
    point, n_iter, status = solve(problem, runs, N_RELOCATIONS, random_state)
    is_searched = memory_problem is problem and runs.n_clusters < MANY_CLUSTERS
    is_searched &= status == "feasible"
    if is_searched or not problem.has_equal_weights:
        point, search_status = repair_and_search(problem, point, problem.limits.level, runs)
        status = search_status if status == "feasible" else status
    return point, n_iter, status
