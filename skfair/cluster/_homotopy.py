"""The homotopy: follow the cheapest clustering while the balance asked for rises."""

from numbers import Integral
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator

from skfair._kernels.fair_assignment import DualSolution, cold_start, solve_dual
from skfair._kernels.kmeans import squared_distances, squared_distances_by_cluster
from skfair._kernels.local_search import (
    Clustering,
    cost_of,
    exchange_pass,
    hartigan_pass,
    raise_balance,
)
from skfair.cluster._pareto_front import Route
from skfair.cluster._samples import lloyd, relocate_centers
from skfair.utils._balance import balance
from skfair.utils._sklearn import Interval

MAX_DUAL_ITER = 50
SLACK = 1.5e-4  # share of all samples by which the dual may miss a count: moves repair it
MIN_NEAR_TIES = 5000
MAX_MOVES = 1000  # of one path: no kernel runs for long, no front records too much
ROUGH_TOL = 1e-3  # enough of k-means to tell good starts from bad ones


class Point(NamedTuple):
    """A point of the homotopy: a clustering and the prices that led to it."""

    clustering: Clustering
    cost: float
    prices: DualSolution | None

    @property
    def balance(self):
        return balance(self.clustering.counts)


class Homotopy(BaseEstimator):
    """The default algorithm of `FairKMeans` and `fair_kmeans_front`, with its settings.

    Plain k-means comes first. Then the balance asked for rises level by level: at the centres of
    the last level the cheapest fair assignment is found through its dual (one price per cluster
    and group), the centres move to the new means, and so on. Single moves repair what rounding
    left, and moves and exchanges that keep the balance lower the cost until none is left.

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
        The way is gone on about this many samples, drawn by group; all samples join at its end.
        Centres and prices are properties of the population, so little is lost.

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

    def __init__(self, n_levels=4, *, n_followed=2, n_relocations=30, max_samples=20_000):
        self.n_levels = n_levels
        self.n_followed = n_followed
        self.n_relocations = n_relocations
        self.max_samples = max_samples

    def solve(self, samples, seeding, ratio, effort, random_state, watch):
        """The cheapest clustering found whose balance reaches ``ratio``.

        Parameters
        ----------
        samples : Samples
        seeding : Seeding
        ratio : float
            Least balance of a cluster.
        effort : Effort
        random_state : RandomState
        watch : callable
            Called with the clustering after every round on all samples; True ends the rounds.

        Returns
        -------
        point : Point
        n_iter : int
            Rounds on all samples.
        status : {"optimal", "feasible", "max_iter"}
            See `polish`.
        """
        self._validate_params()
        few = self._thin(samples, seeding, random_state)
        best = self._climb(few, self._plain(few, seeding, effort, random_state), ratio, effort)
        point, n_iter, converged = advance(samples, best, ratio, effort.max_iter, effort.tol, watch)
        point = repair(samples, point, ratio)
        point, status = polish(samples, point, ratio, effort.max_iter, effort.tol)
        return point, n_iter, status if converged else "max_iter"

    def front(self, samples, seeding, n_levels, effort, random_state):
        """Clusterings from plain k-means to the best attainable balance, each with a path upward.

        Parameters
        ----------
        samples, seeding, effort, random_state
            As in `solve`.
        n_levels : int
            Number of balances at which a fair clustering is computed.

        Returns
        -------
        routes : list of Route
            From plain k-means, from every level and from the best balance found; each leads by
            single moves past the next levels, or as far as they go.
        """
        self._validate_params()
        few = self._thin(samples, seeding, random_state)
        lowest, *others = self._plain(few, seeding, effort, random_state)
        lowest, _ = polish(few, lowest, 0.0, effort.max_iter, effort.tol, exchange=False)
        points, levels = between(few, lowest, others, n_levels, effort.tol)
        if few is not samples:
            points = [
                advance(samples, point, level, 1, effort.tol)[0]
                for point, level in zip(points, levels, strict=True)
            ]
        routes = []
        # A route goes on past the next levels: for a while it may stay below what starts there.
        goals = [*levels[3:], 1.0, 1.0, 1.0]
        for point, level, goal in zip(points, levels, goals[-len(levels) :], strict=True):
            point = repair(samples, point, level)
            point, _ = polish(samples, point, level, 1, effort.tol, exchange=False)
            routes.append(route_from(samples, point, goal))
        # The best balance there is, searched for as `solve` does.
        highest = self._climb(few, [lowest, *others], samples.balance, effort)
        point, _, _ = advance(samples, highest, samples.balance, 5, effort.tol)
        point = repair(samples, point, samples.balance)
        point, _ = polish(samples, point, samples.balance, 5, effort.tol)
        return [*routes, route_from(samples, point, 1.0)]

    def _climb(self, samples, points, ratio, effort):
        """The cheapest of the ends of the ways from some points of plain k-means to a balance."""
        ends = []
        for point in points:
            for level in levels_between(min(point.balance, ratio), ratio, self.n_levels):
                point, _, _ = advance(samples, point, level, 1, effort.tol)
            ends.append(point)
        return min(ends, key=lambda end: end.cost)

    def _thin(self, samples, seeding, random_state):
        """Few samples to go the way on, but several for every cluster and group."""
        size = max(self.max_samples, 100 * seeding.n_clusters * samples.n_groups)
        return samples.thin(size, random_state)

    def _plain(self, samples, seeding, effort, random_state):
        """The best few of plain k-means from all starts, the cheapest first."""
        starts = seeding.draw(samples, random_state)
        rough = Parallel(effort.n_jobs, prefer="threads")(
            delayed(lloyd)(samples, start, effort.max_iter, max(effort.tol, ROUGH_TOL))
            for start in starts
        )
        best, *others = distinct(samples, rough)[: self.n_followed]
        best = relocate_centers(samples, best, self.n_relocations, random_state)
        points = []
        for clustering in (best, *others):
            clustering = lloyd(samples, clustering.centers, effort.max_iter, effort.tol)
            points.append(point_of(samples, clustering.labels, seeding.n_clusters))
        return sorted(points, key=lambda point: point.cost)


def distinct(samples, clusterings):
    """The clusterings by cost, the cheapest first, without those that cost (nearly) the same.

    Starts that ended in the same local minimum would be followed twice for nothing.
    """
    costs = [cost_of(samples.X, samples.weights, clustering) for clustering in clusterings]
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
    points, levels = [advance(samples, lowest, 0.0, 1, tol)[0]], [0.0]  # with prices of zero
    if lowest.balance < top:
        rising = levels_between(lowest.balance, top, n_levels)
        upward = sweep(samples, lowest, rising, tol)
        summits = [upward[-1]] + [advance(samples, p, top, 5, tol)[0] for p in others]
        summit = min(summits, key=lambda point: point.cost)
        downward = sweep(samples, summit, rising[::-1], tol)[::-1]
        for p, q in zip(upward, downward, strict=True):
            points.append(min(p, q, key=lambda point: point.cost))
        levels += list(rising)
    return points, levels


def sweep(samples, point, levels, tol):
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
        Whether the rounds ended by themselves, or because ``watch`` said so.
    """
    clustering, prices = point.clustering, point.prices
    previous = np.inf
    converged = False
    n_iter = 0
    while n_iter < max_iter and not converged:
        centers = clustering.centers
        prices = fair_assignment(samples, centers, ratio, prices, persons=2.0)
        clustering = samples.occupy(prices.labels, centers)
        n_iter += 1
        converged = previous - prices.value <= tol * prices.value
        previous = prices.value
        if watch is not None and watch(clustering):
            converged = True
    cost = cost_of(samples.X, samples.weights, clustering)
    return Point(clustering, cost, prices), n_iter, converged


def fair_assignment(samples, centers, ratio, prices=None, persons=0.75):
    """Cheapest assignment to fixed centres with cluster balances of at least ``ratio``.

    Solves the dual of the assignment's linear programme, warm-started by earlier prices. The labels
    round its solution, so that they may miss the ratio by the few samples that sit on a tie; the
    value bounds from below the cost of every assignment of that balance to these centres. No count
    misses its bound by more than so many ``persons``, or a small share of all.
    """
    if prices is None:
        prices = cold_start(len(centers), samples.n_groups)
    distances = squared_distances_by_cluster(samples.X, centers)
    slack = max(persons * samples.person, SLACK * samples.weights.sum())
    return solve_dual(
        distances, samples.codes, samples.weights, ratio, prices, slack, MAX_DUAL_ITER
    )


def repair(samples, point, ratio):
    """Raise the balance to the ratio where rounding left it below."""
    n_clusters = len(point.clustering.sizes)
    for rows in (near_ties(point), np.arange(len(samples.weights))):
        cut_short = True
        while point.balance < ratio and cut_short:
            path = lift(samples, point, ratio, rows, MAX_MOVES)
            labels = point.clustering.labels.copy()
            labels[path.samples] = path.clusters
            point = point_of(samples, labels, n_clusters, point.prices)
            cut_short = len(path.samples) == MAX_MOVES
    return point


def near_ties(point):
    """The samples that moved to another cluster would cost least: some thousands, or a few percent.

    At the prices of the point a sample's gap is what its move costs on top.
    """
    gaps = point.prices.gaps
    n_near = max(MIN_NEAR_TIES, len(gaps) // 20)
    if len(gaps) <= n_near:
        return np.arange(len(gaps))
    return np.sort(np.argpartition(gaps, n_near)[:n_near])


def lift(samples, point, goal, rows, max_moves):
    """Path of the cheapest single moves of some rows from a point to the balance ``goal``."""
    X, weights, codes, _ = samples
    movable = X if len(rows) == len(X) else X[rows]
    distances = squared_distances(movable, point.clustering.centers)
    clustering = copy_of(point.clustering)
    return raise_balance(X, weights, codes, clustering, rows, distances, goal, max_moves)


def route_from(samples, point, goal):
    """The route of cheapest single moves from a point to the balance ``goal``."""
    path = lift(samples, point, goal, near_ties(point), MAX_MOVES)
    labels = point.clustering.labels.astype(np.min_scalar_type(len(point.clustering.sizes) - 1))
    costs = point.cost + np.concatenate([[0.0], np.cumsum(path.gains)])
    costs /= samples.weights.sum()
    balances = np.concatenate([[point.balance], path.balances])
    return Route(labels, path.samples, path.clusters, costs, balances)


def polish(samples, point, ratio, max_iter, tol, exchange=True):
    """Lower the cost by single moves and exchanges that keep the balance.

    Returns
    -------
    point : Point
    status : {"optimal", "feasible", "max_iter"}
        "optimal" if no single move and no exchange of two samples that keeps the balance lowers
        the cost (never certified where sample weights differ, as exchanges are for equal weights);
        "feasible" if passes came to gain less than a hundredth of ``tol`` times the cost.
    """
    X, weights, codes, _ = samples
    floor = min(ratio, point.balance)
    equal_weights = weights.min() == weights.max()
    status = "max_iter"
    for _ in range(max_iter):
        clustering, cost = copy_of(point.clustering), point.cost
        distances = squared_distances(X, clustering.centers)
        n_changes = hartigan_pass(X, distances, weights, codes, clustering, floor)
        if n_changes == 0 and equal_weights and exchange:
            n_changes = exchange_pass(X, distances, weights, codes, clustering, floor)
        if n_changes == 0:
            status = "optimal" if equal_weights and exchange else "feasible"
            break
        point = point_of(samples, clustering.labels, len(clustering.sizes), point.prices)
        if cost - point.cost <= 0.01 * tol * cost:
            status = "feasible"
            break
    return point, status


def copy_of(clustering):
    """A clustering of its own for kernels that work in place: points are never changed."""
    return Clustering(*(array.copy() for array in clustering))


def point_of(samples, labels, n_clusters, prices=None):
    """The point that labels describe, with everything computed from scratch."""
    clustering = samples.tabulate(labels, n_clusters)
    return Point(clustering, cost_of(samples.X, samples.weights, clustering), prices)
