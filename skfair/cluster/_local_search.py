"""From a fractional solution to whole samples: repairs, and a search that keeps the limits."""

import numpy as np

from skfair._kernels.balance_path import raise_balance
from skfair._kernels.clustering import Clustering
from skfair._kernels.exchange import exchange_pass
from skfair._kernels.hartigan import hartigan_pass
from skfair._kernels.kmeans import squared_distances
from skfair.cluster._limits import keeps_sizes
from skfair.cluster._samples import point_of
from skfair.cluster._tables import settle

MIN_NEAR_TIES = 5000
MANY = 1_000_000  # samples, from which on a pass has to gain as much as a round
LEAST_GAIN = 0.01  # of a pass over few, as a share of that: most come to their end before
MAX_MOVES = 1000  # of one path: no kernel runs for long, no front records too much


def finish(samples, point, ratio, runs):
    """Whole samples, then a local search; what is promised is kept wherever it can be.

    Returns
    -------
    point, status
        As `search_locally` returns them.
    """
    point = round_off(samples, point, ratio)
    if samples.keep_promise(point.clustering.counts, ratio) or not samples.count_the_same:
        point, status = search_locally(samples, point, ratio, runs.max_iter, runs.tol)
        if samples.keep_promise(point.clustering.counts, ratio) or not samples.count_the_same:
            return point, status
    # Moves got stuck: a table of whole numbers near by keeps what is promised.
    labels, person = settle(samples, point, ratio, near_ties(point))
    samples = samples._replace(limits=samples.limits._replace(person=person))
    point = point_of(samples, labels, len(point.clustering.sizes), point.dual)
    return search_locally(samples, point, ratio, runs.max_iter, runs.tol)


def round_off(samples, point, ratio):
    """Give clusters the sizes asked for, and raise the balance, where rounding left them short."""
    n_clusters = len(point.clustering.sizes)
    if not keeps_sizes(point.clustering.sizes, samples.limits):
        if samples.count_the_same:
            labels, _ = settle(samples, point, ratio, near_ties(point))
        else:
            labels = shift_sizes(samples, point)
        point = point_of(samples, labels, n_clusters, point.dual)
    return repair(samples, point, ratio)


def shift_sizes(samples, point):
    """Labels after the cheapest single moves that bring the sizes within their limits.

    Whole samples may not fit: a size then misses its limit by less than the sample that would come
    or go.
    """
    labels, limits, weights = point.clustering.labels.copy(), samples.limits, samples.weights
    sizes = point.clustering.sizes.copy()
    distances = squared_distances(samples.X, point.clustering.centers)
    for _ in range(len(labels)):
        excess = np.maximum(limits.smallest - sizes, sizes - limits.largest)
        k = int(np.argmax(excess))
        if excess[k] <= 0:
            break
        here = labels == k
        if sizes[k] < limits.smallest:  # who could come
            costs = weights * (distances[:, k] - distances[np.arange(len(labels)), labels])
            allowed = ~here & (sizes[labels] - weights >= limits.smallest)
            allowed &= weights <= 2 * excess[k]
            goals = np.full(len(labels), k)
        else:  # who could go, and where to
            room = sizes + weights[here, None] <= limits.largest
            ways = np.where(room, distances[here] - distances[here, k][:, None], np.inf)
            costs, goals = np.full(len(labels), np.inf), np.zeros(len(labels), dtype=int)
            costs[here] = weights[here] * ways.min(axis=1)
            goals[here] = ways.argmin(axis=1)
            allowed = here & np.isfinite(costs) & (weights <= 2 * excess[k])
        if not allowed.any():
            break
        p = int(np.argmin(np.where(allowed, costs, np.inf)))
        sizes[labels[p]] -= weights[p]
        sizes[goals[p]] += weights[p]
        labels[p] = goals[p]
    return labels


def repair(samples, point, ratio):
    """Raise the balance to the ratio where rounding left it below."""
    # Cheap moves first; all samples only where these do not suffice.
    for rows in (near_ties(point), np.arange(len(samples.weights))):
        cut_short = True
        while point.balance < ratio and cut_short:
            path = lift(samples, point, ratio, rows, MAX_MOVES)
            point = end_of(samples, point, path)
            cut_short = len(path.samples) == MAX_MOVES
    return point


def end_of(samples, point, path):
    """The point that a path of single moves, one for a sample, leads to."""
    labels = point.clustering.labels.copy()
    labels[path.samples] = path.clusters
    return point_of(samples, labels, len(point.clustering.sizes), point.dual)


def near_ties(point):
    """The samples that moved to another cluster would cost least: some thousands, or a few percent.

    In the dual solution of the point a sample's gap is what its move costs on top.
    """
    gaps = point.dual.gaps
    n_near = max(MIN_NEAR_TIES, len(gaps) // 20)
    if len(gaps) <= n_near:
        return np.arange(len(gaps))
    return np.sort(np.argpartition(gaps, n_near)[:n_near])


def lift(samples, point, goal, rows, max_moves):
    """Path of the cheapest single moves of some rows from a point to the balance ``goal``."""
    X, weights, codes, *_ = samples
    movable = X if len(rows) == len(X) else X[rows]
    distances = squared_distances(movable, point.clustering.centers)
    clustering = copy_of(point.clustering)
    limits = samples.at_level(goal)
    return raise_balance(X, weights, codes, clustering, rows, distances, limits, max_moves)


def search_locally(samples, point, ratio, max_iter, tol, exchange=True):
    """Lower the cost by single moves and exchanges that keep the balance.

    Returns
    -------
    point : Point
    status : {"optimal", "feasible", "max_iter"}
        "optimal" if no single move and no exchange of two samples that keeps the balance lowers
        the cost (never certified where sample weights differ, as exchanges are for equal weights);
        "feasible" if passes came to gain less than a hundredth of ``tol`` times the cost, or
        more where samples are many.
    """
    X, weights, codes, *_ = samples
    limits = samples.at_level(min(ratio, point.balance))
    equal_weights = samples.count_the_same
    status = "max_iter"
    # A pass takes longer for many, and as each moves a smaller share of them there are more.
    least_gain = tol * np.clip((len(weights) / MANY) ** 2, LEAST_GAIN, 1.0)
    for _ in range(max_iter):
        clustering, cost = copy_of(point.clustering), point.cost
        distances = squared_distances(X, clustering.centers)
        # Hartigan's moves; exchanges where no move that keeps the balance is left.
        n_changes = hartigan_pass(X, distances, weights, codes, clustering, limits)
        if n_changes == 0 and equal_weights and exchange:
            n_changes = exchange_pass(X, distances, weights, codes, clustering, limits)
        if n_changes == 0:
            status = "optimal" if equal_weights and exchange else "feasible"
            break
        point = point_of(samples, clustering.labels, len(clustering.sizes), point.dual)
        if cost - point.cost <= least_gain * cost:
            status = "feasible"
            break
    return point, status


def copy_of(clustering):
    """A clustering of its own for kernels that work in place: points are never changed."""
    return Clustering(*(array.copy() for array in clustering))
