"""The homotopy: follow the cheapest clustering while the balance asked for rises."""

from numbers import Integral

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator

from skfair.cluster._limits import is_sized
from skfair.cluster._pareto_front import Route
from skfair.cluster.kmeans._dual import cold_start, places, solve_dual
from skfair.cluster.kmeans._local_search import (
    MAX_MOVES,
    end_of,
    finish,
    lift,
    near_ties,
    round_off,
    search_locally,
    shake,
)
from skfair.cluster.kmeans._samples import as_point, lloyd, point_of, relocate_centers
from skfair.partitions import n_threads_of
from skfair.utils._sklearn import Interval, validate_params

MAX_DUAL_ITER = 50
MIN_DUAL_ITER = 4
MAX_PRICED = 2e7  # pairs of groups or of clusters looked at in one ascent, about: a second
SLACK = 1.5e-4  # share of all samples by which the dual may miss a count: moves repair it
GROWTH = 10  # of the number of samples that go the way: those drawn, more, at last all
MAX_SIZED = 2000  # samples on which starts with bounds on sizes are compared
ROUGH_TOL = 1e-3  # enough of k-means to tell good starts from bad ones
FIRST_MOVES = 10  # of the way up from balance 0, at which a front looks aside; of few samples,
ASIDE_OF = 30_000  # divided by their number, if that is more
ASIDE = 3  # steps of a look aside


class Homotopy(BaseEstimator):
    """The default algorithm of `FairKMeans` and `fair_kmeans_front`, with its settings.

    Plain k-means comes first. Then the balance asked for rises level by level: at the centres of
    the last level the cheapest fair assignment is found through its dual (one unknown per cluster
    and group), the centres move to the new means, and so on. Single moves repair what rounding
    left, and moves and exchanges that keep the balance lower the cost until none is left. Up to 100
    samples leave a local optimum by random moves, as long as these lead to something cheaper.

    Parameters
    ----------
    n_levels : int, default=4
        Number of balances on the way from plain k-means to the balance asked for.
    n_followed : int, default=2
        How many of the best starts are followed.
    n_relocations : int, default=30
        The best start tries to leave its local minimum by moving one centre at a time; it gives up
        after this many failures in a row.
    max_samples : int, default=20000
        The way is gone on about this many samples, drawn by group, and whoever lies so far out
        that clusters hang on single samples. At its end ten times as many take over, and so on
        until all have joined. Centres and dual are properties of the population, so little is lost.

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

    _parameter_constraints = {
        "n_levels": [Interval(Integral, 1, None, closed="left")],
        "n_followed": [Interval(Integral, 1, None, closed="left")],
        "n_relocations": [Interval(Integral, 0, None, closed="left")],
        "max_samples": [Interval(Integral, 1, None, closed="left")],
    }

    advice = "Ask for less balance or for fewer clusters, or pass more starts with n_init."
    """What to do where the balance asked for is not reached."""

    def __init__(self, n_levels=4, *, n_followed=2, n_relocations=30, max_samples=20_000):
        self.n_levels = n_levels
        self.n_followed = n_followed
        self.n_relocations = n_relocations
        self.max_samples = max_samples

    def solve(self, samples, runs, ratio, random_state, watch):
        """The cheapest clustering found whose balance reaches ``ratio``.

        Parameters
        ----------
        samples : Samples
        runs : Runs
        ratio : float
            Least balance of a cluster.
        random_state : RandomState
        watch : callable
            Called with the clustering after every round on all samples; True ends the rounds.

        Returns
        -------
        point : Point
        n_iter : int
            Rounds on all samples.
        status : {"optimal", "feasible", "max_iter"}
            See `search_locally`; "max_iter" also if ``watch`` ended the rounds.
        """
        validate_params(self)
        few = self._thin(samples, runs, random_state)
        best = self._climb(few, self._plain(few, runs, random_state), ratio, runs.tol)
        for crowd in self._crowds(samples, few, random_state):
            # A round on a share of all takes that share of the time: it is worth it for as little.
            share = len(crowd.weights) / len(samples.weights)
            best, _, _ = advance(crowd, best, ratio, runs.max_iter, share * runs.tol)
        # On all samples: rounds to the end, whole samples, then a local search.
        point, n_iter, converged = advance(samples, best, ratio, runs.max_iter, runs.tol, watch)
        point, status = finish(samples, point, ratio, runs)
        if converged and status != "max_iter":
            point, status = shake(samples, point, status, ratio, runs, random_state)
        return point, n_iter, status if converged else "max_iter"

    def rehearse(self, samples, runs, ratio, random_state):
        """Where everybody's rounds should start, of whom the samples are some.

        Parameters
        ----------
        samples, runs, ratio, random_state
            As in `solve`.

        Returns
        -------
        point : Point
            Of these samples.
        """
        validate_params(self)
        few = self._thin(samples, runs, random_state)
        best = self._climb(few, self._plain(few, runs, random_state), ratio, runs.tol)
        return advance(samples, best, ratio, runs.max_iter, runs.tol)[0]

    def front(self, samples, runs, n_levels, random_state):
        """Clusterings from plain k-means to the best attainable balance, each with a path upward.

        Parameters
        ----------
        samples, runs, random_state
            As in `solve`.
        n_levels : int
            Number of balances at which a fair clustering is computed.

        Returns
        -------
        routes : list of Route
            From plain k-means, from every level and from the best balance found; each leads by
            single moves past the next levels, or as far as they go.
        """
        validate_params(self)
        few = self._thin(samples, runs, random_state)
        lowest, *others = self._plain(few, runs, random_state)
        lowest, _ = search_locally(few, lowest, 0.0, runs.max_iter, runs.tol, exchange=False)
        points, levels = between(few, lowest, others, n_levels, runs.tol)
        if few is not samples:
            points = [
                advance(samples, point, level, 1, runs.tol)[0]
                for point, level in zip(points, levels, strict=True)
            ]
        routes = looks_aside(samples, points[0])
        # A route goes on past the next levels: for a while it may stay below what starts there.
        goals = [*levels[3:], 1.0, 1.0, 1.0]
        for point, level, goal in zip(points, levels, goals[-len(levels) :], strict=True):
            point = round_off(samples, point, level)
            point, _ = search_locally(samples, point, level, 1, runs.tol, exchange=False)
            routes.append(route_from(samples, point, goal))
        # The best balance there is, searched for as `solve` does.
        highest = self._climb(few, [lowest, *others], samples.balance, runs.tol)
        point, _, _ = advance(samples, highest, samples.balance, 5, runs.tol)
        point = round_off(samples, point, samples.balance)
        point, _ = search_locally(samples, point, samples.balance, 5, runs.tol)
        return [*routes, route_from(samples, point, 1.0)]

    def _climb(self, samples, points, ratio, tol):
        """The cheapest of the ends of the ways from some points of plain k-means to a balance."""
        if ratio == 0 and is_sized(samples.limits):
            return points[0]  # the rounds came to their end there
        ends = Parallel(n_threads_of(samples.n_jobs), prefer="threads")(
            delayed(self._climb_from)(samples, point, ratio, tol) for point in points
        )
        return min(ends, key=lambda end: end.cost)

    def _climb_from(self, samples, point, ratio, tol):
        for level in levels_between(min(point.balance, ratio), ratio, self.n_levels):
            point, _, _ = advance(samples, point, level, 1, tol)
        return point

    def _thin(self, samples, runs, random_state):
        """Few samples to go the way on, but several for every cluster and group."""
        size = max(self.max_samples, 100 * runs.n_clusters * samples.n_groups)
        return samples.thin(size, random_state)

    def _crowds(self, samples, few, random_state):
        """More samples each time, but not all: with a good start few rounds on all are left."""
        size = GROWTH * len(few.weights)
        while size < len(samples.weights):
            yield samples.thin(size, random_state)
            size *= GROWTH

    def _plain(self, samples, runs, random_state):
        """The best few of plain k-means from all starts, the cheapest first."""
        if is_sized(samples.limits):
            return self._sized(samples, runs, random_state)
        starts = runs.starts(samples, random_state)
        rough = Parallel(n_threads_of(samples.n_jobs), prefer="threads")(
            delayed(lloyd)(samples, start, runs.max_iter, max(runs.tol, ROUGH_TOL))
            for start in starts
        )
        best, *others = distinct(samples, rough)[: self.n_followed]
        best = relocate_centers(samples, best, self.n_relocations, random_state)
        points = []
        for clustering in (best, *others):
            clustering = lloyd(samples, clustering.centers, runs.max_iter, runs.tol)
            points.append(point_of(samples, clustering.labels, runs.n_clusters))
        return sorted(points, key=lambda point: point.cost)

    def _sized(self, samples, runs, random_state):
        """The same with clusters of the sizes asked for, in which every assignment has a dual."""
        few = samples.thin(max(MAX_SIZED, 20 * runs.n_clusters * samples.n_groups), random_state)

        def lead(centers, max_iter=3, tol=0.0):
            start = as_point(few, lloyd(few, centers, 1, 0.0), None)
            return advance(few, start, 0.0, max_iter, tol)[0].clustering

        starts = runs.starts(few, random_state)
        rough = Parallel(n_threads_of(samples.n_jobs), prefer="threads")(
            delayed(lead)(start, runs.max_iter, ROUGH_TOL) for start in starts
        )
        best, *others = distinct(few, rough)[: self.n_followed]
        best = relocate_centers(few, best, self.n_relocations, random_state, lead)
        points = []
        for clustering in (best, *others):
            start = as_point(samples, lloyd(samples, clustering.centers, 1, 0.0), None)
            points.append(advance(samples, start, 0.0, runs.max_iter, runs.tol)[0])
        return sorted(points, key=lambda point: point.cost)


def distinct(samples, clusterings):
    """The clusterings by cost, the cheapest first, without those that cost (nearly) the same.

    Starts that ended in the same local minimum would be followed twice for nothing.
    """
    costs = [samples.cost_of(clustering) for clustering in clusterings]
    kept = []
    previous = -1.0
    for i in np.argsort(costs, kind="stable"):
        if costs[i] > previous * (1 + ROUGH_TOL):
            kept.append(clusterings[i])
            previous = costs[i]
    return kept


def levels_between(low, high, n_levels):
    """Balances from ``low`` (left out) to ``high``, denser near ``high`` where the cost rises."""
    return high - (high - low) * (1 - np.arange(1, n_levels + 1) / n_levels) ** 2


def between(samples, lowest, others, n_levels, tol):
    """Points from plain k-means to the attainable balance, and the levels they stand for.

    The homotopy goes up from ``lowest`` and down from the cheapest point at the top that it or one
    of the other starts leads to; at each level the cheaper of the two is kept.
    """
    top = samples.attainable_balance(len(lowest.clustering.sizes))
    points, levels = [advance(samples, lowest, 0.0, 1, tol)[0]], [0.0]  # with a dual of zeros
    if lowest.balance < top:
        rising = levels_between(lowest.balance, top, n_levels)
        upward = follow(samples, lowest, rising, tol)
        summits = [upward[-1]] + [advance(samples, p, top, 5, tol)[0] for p in others]
        summit = min(summits, key=lambda point: point.cost)
        downward = follow(samples, summit, rising[::-1], tol)[::-1]
        for p, q in zip(upward, downward, strict=True):
            points.append(min(p, q, key=lambda point: point.cost))
        levels += list(rising)
    return points, levels


def follow(samples, point, levels, tol):
    """Follow the homotopy from a point along the levels, two rounds at each."""
    points = []
    for level in levels:
        point, _, _ = advance(samples, point, level, 2, tol)
        points.append(point)
    return points


def advance(samples, point, ratio, max_iter, tol, watch=None):
    """The cheapest clustering near a point whose balance reaches ``ratio``, up to rounding.

    Alternates the fair assignment and the means, as k-means alternates nearest centres and means,
    until a round lowers the cost by no more than ``tol`` times the cost.

    Returns
    -------
    point : Point
        Its balance may be a few samples short of the ratio: see `repair`.
    n_iter : int
        Number of rounds.
    converged : bool
        Whether the rounds ended by themselves, not by ``max_iter`` or because ``watch`` said so.
    """
    clustering, dual = point.clustering, point.dual
    previous = np.inf
    converged = stopped = False
    n_iter = 0
    while n_iter < max_iter and not (converged or stopped):
        centers = clustering.centers
        dual = fair_assignment(samples, centers, ratio, dual, persons=2.0)
        clustering = samples.occupy(dual.labels, centers)
        n_iter += 1
        converged = previous - dual.value <= tol * dual.value
        previous = dual.value
        stopped = watch is not None and watch(clustering)
    return as_point(samples, clustering, dual), n_iter, converged


def fair_assignment(samples, centers, ratio, dual=None, persons=0.75):
    """Cheapest assignment to fixed centres with cluster balances of at least ``ratio``.

    Solves the dual of the assignment's linear programme, warm-started by an earlier solution. The
    labels round it, so that they may miss the ratio by the few samples that sit on a tie; the value
    bounds from below the cost of every assignment of that balance to these centres. No count
    misses its bound by more than so many ``persons``, or a small share of all.
    """
    if dual is None:
        dual = cold_start(len(centers), samples.n_groups)
    measured, limits = samples.measured(centers), samples.at_level(ratio)
    slack = max(persons * samples.largest_weight, SLACK * samples.weights.sum())
    solution, looked = solve_dual(measured, limits, dual, slack, dual_iterations(dual, limits))
    labels, gaps = places(looked)
    return solution._replace(labels=labels, gaps=gaps)


def dual_iterations(dual, limits):
    """How many steps an ascent may take: fewer where very many groups make each of them dear.

    What is short of the maximum then is repaired afterwards, and any prices bound the cost.
    """
    n_clusters, n_groups = dual.offsets.shape
    per_step = n_clusters * (n_groups**2 + 20 * len(limits.intersections) * n_clusters)
    return int(np.clip(MAX_PRICED / per_step, MIN_DUAL_ITER, MAX_DUAL_ITER))


def route_from(samples, point, goal):
    """The route of cheapest single moves from a point to the balance ``goal``."""
    path = lift(samples, point, goal, near_ties(point), MAX_MOVES)
    labels = point.clustering.labels.astype(np.min_scalar_type(len(point.clustering.sizes) - 1))
    costs = point.cost + np.concatenate([[0.0], np.cumsum(path.gains)])
    costs /= samples.weights.sum()
    mixes = np.concatenate([[point.balance], path.balances])
    return Route(labels, path.samples, path.clusters, costs, mixes)


def looks_aside(samples, point):
    """Short routes just above balance 0, where one sample is a large step of the balance.

    The way up takes the move that raises the balance most for its cost. At each of its first moves
    these routes turn to the cheapest that raise it at all.
    """
    routes = []
    n_moves = max(FIRST_MOVES, ASIDE_OF // len(samples.weights)) if point.balance == 0 else 0
    for _ in range(n_moves):
        move = lift(samples, point, 1.0, near_ties(point), 1)
        if not len(move.samples):
            break
        aside = point = end_of(samples, point, move)
        for _ in range(ASIDE):
            route = route_from(samples, aside, np.nextafter(aside.balance, 1.0))
            routes.append(route)
            aside = end_of(samples, aside, route)
    return routes
