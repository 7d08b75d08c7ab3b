"""From a fractional solution to whole samples: repairs, and a search that keeps the limits."""

from operator import itemgetter

import numpy as np

from skfair._kernels.balance_path import raise_balance
from skfair._kernels.clustering import Clustering
from skfair._kernels.exchange import (
    exchange,
    exchange_bounds,
    find_candidates,
    partner_bounds,
    sort_candidates,
)
from skfair._kernels.hartigan import find_movers, hartigan_pass
from skfair._kernels.kmeans import squared_distances
from skfair.cluster._limits import keeps_sizes
from skfair.cluster.kmeans._samples import point_of
from skfair.cluster.kmeans._tables import settle
from skfair.partitions import BLOCK

MIN_NEAR_TIES = 5000
MANY = 1_000_000  # samples, from which on a pass has to gain as much as a round
LEAST_GAIN = 0.01  # of a pass over few, as a share of that: most come to their end before
SHAKEN = 100  # samples, up to which a local optimum is left by random moves
PATIENCE = 60  # failures in a row after which that ends
LEAST_SHAKEN = 1e-9  # share of the cost that is more than rounding
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
    samples = samples._replace(limits=samples.limits._replace(slack=person))
    point = point_of(samples, labels, len(point.clustering.sizes), point.dual)
    return search_locally(samples, point, ratio, runs.max_iter, runs.tol)


def shake(samples, point, status, ratio, runs, random_state):
    """The cheapest clustering found from a local optimum by random moves and searches after them.

    Of few samples one is a large step of the balance, so that often no single move and no exchange
    is allowed: better clusterings lie two or three moves away (iterated local search; Lourenço,
    Martin and Stützle 2003). Of many samples there is nearly always an allowed move.
    """
    n_samples, n_clusters = len(samples.weights), len(point.clustering.sizes)
    if n_clusters == 1 or n_samples > SHAKEN:
        return point, status
    level = min(ratio, point.balance)
    must_keep = samples.keep_promise(point.clustering.counts, ratio)
    failures = 0
    while failures < PATIENCE:
        # Kick: two to four random samples go to random clusters.
        labels = point.clustering.labels.copy()
        rows = random_state.choice(n_samples, min(n_samples, random_state.randint(2, 5)), False)
        labels[rows] = random_state.randint(n_clusters, size=len(rows))
        failures += 1
        if len(np.unique(labels)) < n_clusters:
            continue
        # Search, and keep what is cheaper and as balanced.
        kicked = point_of(samples, labels, n_clusters, point.dual)
        trial, trial_status = finish(samples, kicked, ratio, runs)
        kept = samples.keep_promise(trial.clustering.counts, ratio) or not must_keep
        if kept and trial.balance >= level and trial.cost < point.cost * (1 - LEAST_SHAKEN):
            point, status, failures = trial, trial_status, 0
    return point, status


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
        excess = np.maximum(limits.min_size - sizes, sizes - limits.max_size)
        k = int(np.argmax(excess))
        if excess[k] <= 0:
            break
        here = labels == k
        if sizes[k] < limits.min_size:  # who could come
            costs = weights * (distances[:, k] - distances[np.arange(len(labels)), labels])
            allowed = ~here & (sizes[labels] - weights >= limits.min_size)
            allowed &= weights <= 2 * excess[k]
            goals = np.full(len(labels), k)
        else:  # who could go, and where to
            room = sizes + weights[here, None] <= limits.max_size
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
    people = X, samples.masses, weights, codes
    return raise_balance(*people, clustering, rows, distances, limits, max_moves)


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
    limits = samples.at_level(min(ratio, point.balance))
    exchange = exchange and samples.are_exchangeable
    status = "max_iter"
    # A pass takes longer for many, and as each moves a smaller share of them there are more.
    least_gain = tol * np.clip((len(samples.weights) / MANY) ** 2, LEAST_GAIN, 1.0)
    for _ in range(max_iter):
        clustering, cost = copy_of(point.clustering), point.cost
        if change(samples, clustering, limits, exchange) == 0:
            status = "optimal" if exchange else "feasible"
            break
        point = point_of(samples, clustering.labels, len(clustering.sizes), point.dual)
        if cost - point.cost <= least_gain * cost:
            status = "feasible"
            break
    return point, status


def change(samples, clustering, limits, exchange):
    """Lower the cost by a pass of Hartigan's moves, in place; by exchanges if none is left.

    Parameters
    ----------
    samples : Samples
    clustering : Clustering
        Labels are those of the samples; all else may be of more samples than these.
    limits : Limits
    exchange : bool
        Whether exchanges are tried; samples must be exchangeable.

    Returns
    -------
    n_changes : int
        0 where no allowed move, nor exchange, lowers the cost.
    """
    parts, labels = samples.parts, samples.in_parts(clustering.labels)
    distances = parts.each(_distances, clustering.centers)
    found = parts.collect(_might_move, distances, labels, clustering, limits)
    rows = _among_all(found)
    n_changes = 0
    if len(rows):
        movers, own = samples.some(rows), clustering._replace(labels=clustering.labels[rows])
        X, weights, codes, *_ = movers
        distances_now = squared_distances(X, own.centers)
        n_changes = hartigan_pass(X, distances_now, movers.masses, weights, codes, own, limits)
        clustering.labels[rows] = own.labels
    if n_changes == 0 and exchange:
        n_changes = _change_places(samples, clustering, limits, distances, labels)
    return n_changes


def _change_places(samples, clustering, limits, distances, labels):
    """Exchanges of those whom looks at all blocks find; the number of them."""
    bounded = samples.parts.each(_exchange_bounds, distances, labels, clustering)
    lowest = np.minimum.reduce(bounded.collect(itemgetter(1)))
    partners = partner_bounds(clustering, lowest, samples.weights[0], limits)
    found = samples.parts.collect(_might_gain, bounded, labels, partners)
    rows, bounds, cells = zip(*found, strict=True)
    candidates = _among_all(rows), np.concatenate(bounds), np.concatenate(cells)
    order = sort_candidates(*candidates[1:], lowest.size)
    candidates = (column[order] for column in candidates)
    X, weights, codes, *_ = samples
    return exchange(X, weights, codes, clustering, *candidates, lowest, limits)


def _among_all(rows):
    """Positions within blocks as positions among all samples."""
    return np.concatenate([own + BLOCK * number for number, own in enumerate(rows)])


def _distances(samples, centers):
    return squared_distances(samples.X, centers)


def _might_move(samples, distances, labels, clustering, limits):
    # To see what a move would do the kernel makes it, and takes it back: threads must not share.
    own = copy_of(clustering._replace(labels=labels))
    return find_movers(distances, samples.masses, samples.weights, samples.codes, own, limits)


def _exchange_bounds(samples, distances, labels, clustering):
    own, n_kinds = clustering._replace(labels=labels), len(samples.limits.intersections)
    return exchange_bounds(distances, samples.codes, samples.weights[0], own, n_kinds)


def _might_gain(samples, bounded, labels, partners):
    return find_candidates(bounded[0], partners, samples.codes, labels)


def copy_of(clustering):
    """A clustering of its own for kernels that work in place: points are never changed."""
    return Clustering(*(array.copy() for array in clustering))
