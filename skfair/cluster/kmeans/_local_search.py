"""Integer repair of a fair assignment, and a local search that keeps the limits."""

from dataclasses import replace

import numpy as np

from skfair._kernels.balance_path import raise_balance
from skfair._kernels.clustering import Clustering
from skfair._kernels.exchange import (
    exchange,
    find_candidates,
    lowest_bounds,
    partner_bounds,
    sort_candidates,
)
from skfair._kernels.hartigan import find_movers, hartigan_pass
from skfair._kernels.kmeans import squared_distances
from skfair._kernels.limits import keeps_rows, row_changes, row_excess
from skfair.cluster.kmeans._problem import BLOCK_ROWS, recompute_point
from skfair.cluster.kmeans._tables import settle

MIN_NEAR_TIES = 2000
MANY = 200_000  # samples, from which a pass has to gain as much as a round
MIN_GAIN = 0.01  # of a pass over few, as a share of that: most come to their end before
SHAKEN = 100  # samples, up to which a local optimum is left by random moves
PATIENCE = 100  # failures in a row after which that ends
MIN_SHAKEN = 1e-9  # share of the cost that is more than rounding
MAX_MOVES = 1000  # of one path: no kernel runs for long, no front records too much


def finish(problem, point, level, runs):
    """Integer repair, then a local search; the limits are kept wherever they can be.

    Returns the point and a status as `search_locally`.
    """
    # Integer repair: required sizes, then the balance, by single moves.
    point = round_off(problem, point, level)
    if problem.keeps_limits(point.clustering.counts, level) or not problem.has_equal_weights:
        point, status = search_locally(problem, point, level, runs.max_iter, runs.tol)
        if problem.keeps_limits(point.clustering.counts, level) or not problem.has_equal_weights:
            return point, status
    # Moves got stuck: an integer table near the counts keeps the limits.
    labels, slack = settle(problem, point, level, near_ties(point))
    problem = replace(problem, limits=problem.limits._replace(slack=slack))
    point = recompute_point(problem, labels, len(point.clustering.sizes), point.dual)
    return search_locally(problem, point, level, runs.max_iter, runs.tol)


def shake(samples, point, status, ratio, runs, random_state):
    """The cheapest clustering found from a local optimum by random moves and searches after them.

    One of few samples is a large step of the balance, so that often no single move and no exchange
    is allowed: better clusterings lie two or three moves away (iterated local search; Lourenço,
    Martin and Stützle 2003). Of many samples there is nearly always an allowed move.
    """
    n_samples, n_clusters = samples.n_samples, len(point.clustering.sizes)
    if n_clusters == 1 or n_samples > SHAKEN:
        return point, status
    level = min(ratio, point.balance)
    # A start that misses the limits may be replaced by any cheaper clustering as balanced as it is.
    must_keep = samples.keeps_limits(point.clustering.counts, ratio)
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
        kicked = recompute_point(samples, labels, n_clusters, point.dual)
        trial, trial_status = finish(samples, kicked, ratio, runs)
        keeps = samples.keeps_limits(trial.clustering.counts, ratio) or not must_keep
        if keeps and trial.balance >= level and trial.cost < point.cost * (1 - MIN_SHAKEN):
            point, status, failures = trial, trial_status, 0
    return point, status


def round_off(samples, point, ratio):
    """Bring the rows within their bounds, and raise the balance, where rounding left them short."""
    n_clusters = len(point.clustering.sizes)
    if not keeps_rows(point.clustering.counts, samples.limits):
        # Equal weights: an integer table keeps all rows at once. Others: move by move, as well as
        # few samples, if that may end a sample short: every kick would need a table.
        is_quick = samples.n_samples <= SHAKEN and samples.limits.rounding.any()
        if samples.has_equal_weights and not is_quick:
            labels, _ = settle(samples, point, ratio, near_ties(point))
        else:
            labels = shift_rows(samples, point)
        point = recompute_point(samples, labels, n_clusters, point.dual)
    return repair(samples, point, ratio)


def shift_rows(samples, point):
    """Labels after the cheapest single moves that bring the rows within their bounds.

    Samples may be too heavy: a size then misses its limit by less than the sample that would come
    or go.
    """
    labels, limits, weights = point.clustering.labels.copy(), samples.limits, samples.weights
    counts = point.clustering.counts.copy()
    distances = squared_distances(samples.X, point.clustering.centers)
    changes = weights[:, np.newaxis] * row_changes(limits)[samples.codes]
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
        able = np.flatnonzero((helps > 0) & (helps <= 2 * excesses[k, row]) & stays.all(axis=1))
        # So do the clusters that it may join.
        fits = (excesses + changes[able, np.newaxis] <= 0) | (changes[able, np.newaxis] <= 0)
        is_goal = (np.arange(len(counts)) == k) != here[able, np.newaxis]
        ways = np.where(fits.all(axis=2) & is_goal, distances[able], np.inf)
        if not np.isfinite(ways).any():
            break
        costs = weights[able] * (ways.min(axis=1) - distances[able, labels[able]])
        # The cheapest of these moves.
        best = np.argmin(costs)
        p, goal = able[best], np.argmin(ways[best])
        groups = limits.intersections[samples.codes[p]]
        counts[labels[p], groups] -= weights[p]
        counts[goal, groups] += weights[p]
        labels[p] = goal
    return labels


def repair(samples, point, ratio):
    """Raise the balance to the ratio where rounding left it below."""
    # Cheap moves first; all samples only where these do not suffice.
    for rows in (near_ties(point), np.arange(len(samples.weights))):
        # Paths are followed in pieces of MAX_MOVES, each from recomputed sums, until one ends by
        # itself.
        cut_short = True
        while point.balance < ratio and cut_short:
            path = lift(samples, point, ratio, rows, MAX_MOVES)
            point = follow_path(samples, point, path)
            cut_short = len(path.samples) == MAX_MOVES
    return point


def follow_path(samples, point, path):
    """The point that a path of single moves, one for a sample, leads to."""
    labels = point.clustering.labels.copy()
    labels[path.samples] = path.clusters
    return recompute_point(samples, labels, len(point.clustering.sizes), point.dual)


def near_ties(point):
    """The samples that moved to another cluster would cost least: some thousands, or a few percent.

    In the dual solution of the point a sample's gap is what its move costs on top.
    """
    gaps = point.dual.gaps
    # A constant share, but never so few that a repair would need a second attempt.
    n_near = max(MIN_NEAR_TIES, len(gaps) // 20)
    if len(gaps) <= n_near:
        return np.arange(len(gaps))
    return np.sort(np.argpartition(gaps, n_near)[:n_near])


def lift(samples, point, goal, rows, max_moves):
    """Path of the cheapest single moves of some rows from a point to the balance ``goal``."""
    X, weights, codes = samples.X, samples.weights, samples.codes
    movable = X if len(rows) == len(X) else X[rows]
    distances = squared_distances(movable, point.clustering.centers)
    clustering = copy_clustering(point.clustering)
    limits = samples.limits._replace(level=float(goal))
    return raise_balance(
        X, samples.masses, weights, codes, clustering, rows, distances, limits, max_moves
    )


def search_locally(samples, point, ratio, max_iter, tol, exchange=True):
    """Lower the cost by single moves and exchanges that keep the balance.

    Returns the point and a status. "optimal": no single move and no exchange of two samples that
    keeps the balance lowers the cost (never certified where sample weights differ, as exchanges are
    for equal weights, nor over a background). "feasible": passes came to gain less than a hundredth
    of ``tol`` times the cost, or more from 2,000 samples on. Else "max_iter".
    """
    if not len(samples.weights):
        return point, "feasible"
    # A point short of the ratio may not fall further, but need not reach it.
    limits = samples.limits._replace(level=float(min(ratio, point.balance)))
    # With equal weights and unit costs, exchanging two samples of an intersection changes nothing
    # but the cost.
    exchange = exchange and samples.has_equal_weights and samples.unit_costs is None
    is_certified, status = exchange and samples.background is None, "max_iter"
    # A pass takes longer for many, and as each moves a smaller share of them there are more. Few
    # candidates gain nothing relative to the cost of all: they are searched to the end.
    min_gain = tol * np.clip(samples.n_samples / MANY, MIN_GAIN, 1.0)
    if samples.background is not None:
        min_gain = 0.0
    for _ in range(max_iter):
        clustering, cost = copy_clustering(point.clustering), point.cost
        if change(samples, clustering, limits, exchange) == 0:
            status = "optimal" if is_certified else "feasible"
            break
        # Recompute what kernels have updated move by move: rounding would add up.
        point = recompute_point(samples, clustering.labels, len(clustering.sizes), point.dual)
        if cost - point.cost <= min_gain * cost:
            status = "feasible"
            break
    return point, status


def change(samples, clustering, limits, exchange):
    """Lower the cost by a pass of Hartigan's moves, in place; by exchanges if none is left.

    Returns the number of changes, 0 where no allowed move, nor exchange, lowers the cost.
    """
    # Kernels read blocks of rows with their distances to all centres.
    partitions, labels = samples.partitions, samples.split(clustering.labels)
    distances = partitions.map(_distances, clustering.centers)
    # Samples that a move may help, from all blocks in parallel; then moves, one by one.
    movers = partitions.gather(_find_movers, distances, labels, clustering, limits)
    rows = _positions(movers)
    n_changes = 0
    if len(rows):
        moving, moved = samples.subset(rows), clustering._replace(labels=clustering.labels[rows])
        X, weights, codes = moving.X, moving.weights, moving.codes
        distances_now = squared_distances(X, moved.centers)
        n_changes = hartigan_pass(X, distances_now, moving.masses, weights, codes, moved, limits)
        clustering.labels[rows] = moved.labels
    if n_changes == 0 and exchange:
        n_changes = _exchange_samples(samples, clustering, limits, distances, labels)
    return n_changes


def _exchange_samples(samples, clustering, limits, distances, labels):
    """Exchange pairs of samples where that lowers the cost; the number of exchanges."""
    partitions, weight = samples.partitions, samples.weights[0]
    # Lower bounds on what each sample gains by going, from all blocks in parallel.
    lowest = np.minimum.reduce(partitions.gather(_lowest_bounds, distances, labels, clustering))
    partners = partner_bounds(clustering, lowest, weight, limits)
    # Candidates that may gain by their bound and that of a partner, the best first.
    candidates = partitions.gather(_find_candidates, distances, labels, clustering, partners)
    rows, bounds, cells = zip(*candidates, strict=True)
    candidates = _positions(rows), np.concatenate(bounds), np.concatenate(cells)
    order = sort_candidates(*candidates[1:], lowest.size)
    candidates = (column[order] for column in candidates)
    X, weights, codes = samples.X, samples.weights, samples.codes
    return exchange(X, weights, codes, clustering, *candidates, lowest, limits)


def _positions(rows):
    """Positions within blocks as positions among all samples."""
    return np.concatenate([block + BLOCK_ROWS * number for number, block in enumerate(rows)])


def _distances(samples, centers):
    return squared_distances(samples.X, centers)


def _find_movers(samples, distances, labels, clustering, limits):
    # To see what a move would do the kernel makes it, and takes it back: threads must not share.
    clustering = copy_clustering(clustering._replace(labels=labels))
    weights, codes = samples.weights, samples.codes
    return find_movers(distances, samples.masses, weights, codes, clustering, limits)


def _lowest_bounds(samples, distances, labels, clustering):
    clustering, n_codes = clustering._replace(labels=labels), len(samples.limits.intersections)
    return lowest_bounds(distances, samples.codes, samples.weights[0], clustering, n_codes)


def _find_candidates(samples, distances, labels, clustering, partners):
    clustering = clustering._replace(labels=labels)
    return find_candidates(distances, samples.codes, samples.weights[0], clustering, partners)


def copy_clustering(clustering):
    """A clustering of its own for kernels that work in place: points are never changed."""
    return Clustering(*map(np.copy, clustering))
