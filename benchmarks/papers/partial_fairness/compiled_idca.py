"""Compiled IDCA with switching subgradients: the reference for the speed of the default.

Algorithms 1 and 2 of He, Huang, Yao and Lin (arXiv:2505.12530) on problem (15), with the logistic
loss, the ramp of width 1 and one linear model per group. These are the models of the paper's
columns (1, x, gamma, gamma x) in other coordinates, in which the steps differ (`idca_iterates` can
take either). Scores are sorted into the cells between breakpoints, so that the two products with X
dominate the cost of a pass.
"""

from itertools import count, islice
from typing import NamedTuple

import numpy as np

from skfair._kernels import jit

PATIENCE = 20
PROGRESS = 1e-4
"""Stopping rule: `PATIENCE` convex problems that lower the objective by less than `PROGRESS`."""


class Solution(NamedTuple):
    """Result of a first-order method."""

    coef: np.ndarray  # (n_groups, n_features + 1), intercepts last
    thresholds: np.ndarray  # (n_percentiles,)
    objective: float
    infeasibility: float
    n_passes: int


def solve_idca(rows, levels, tau, *, epsilon=5e-3, inner_iter=200, max_iter=400):
    """Run IDCA until it reaches a plateau.

    Parameters
    ----------
    rows : benchmarks.papers.partial_fairness.cases.Rows
        Training rows.
    levels : ndarray of shape (n_percentiles,)
        Percentiles p; shares above thresholds are constrained to [p, p + tau].
    tau : float
        Tolerance.
    epsilon : float, default=5e-3
        Tolerated infeasibility, the largest of those in the paper.
    inner_iter : int, default=200
        Subgradient steps per convex problem.
    max_iter : int, default=400
        Maximum number of convex problems.

    Returns
    -------
    solution : Solution
    """
    best, since = np.inf, 0
    for solution in islice(idca_iterates(rows, levels, tau, epsilon, inner_iter), max_iter):
        objective = solution.objective
        since = 0 if objective < best - PROGRESS else since + 1
        best = min(best, objective) if since else objective
        if since == PATIENCE:
            break
    return solution


def idca_iterates(rows, levels, tau, epsilon, inner_iter, codes=None):
    """Yield the solutions of successive convex problems, as in `solve_idca`, without end.

    With the `codes` gamma of the groups, (n_groups,), the steps are those in the paper's columns
    (1, x, gamma, gamma x). Coefficients of group k are A_k u = u_x + gamma_k u_(gamma x) there, so
    that a step along A' g is one along A A' g here.
    """
    n_groups = rows.groups.max() + 1
    n_features = rows.X.shape[1]
    metric = np.eye(n_groups) if codes is None else 1.0 + np.outer(codes, codes)
    data = _data(rows)
    unknowns = np.zeros(n_groups * (n_features + 1) + len(levels))
    unknowns[-len(levels) :] = 0.5 - levels - tau / 2  # feasible with coefficients of 0
    for n_passes in count(inner_iter, inner_iter):
        unknowns, objective, infeasibility = _convex_problem(
            *data, metric, unknowns, levels, tau, epsilon, inner_iter
        )
        coef = unknowns[: -len(levels)].reshape(n_groups, -1)
        thresholds = unknowns[-len(levels) :]
        yield Solution(coef, thresholds, objective, infeasibility, n_passes)


def descend(rows, levels, weight, *, step=5e-3, n_iter=5000):
    """Subgradient descent on the regularised problem (114), as in G.4.2.

    Parameters
    ----------
    rows : benchmarks.papers.partial_fairness.cases.Rows
        Training rows.
    levels : ndarray of shape (n_percentiles,)
        Percentiles in the interval.
    weight : float
        The lambda of the paper.
    step : float, default=5e-3
        Step size, the largest of those in the paper.
    n_iter : int, default=5000
        Number of steps.

    Returns
    -------
    coef : ndarray of shape (n_groups, n_features + 1)
        Coefficients, intercepts last.
    """
    n_groups = rows.groups.max() + 1
    n_features = rows.X.shape[1]
    unknowns = np.zeros(n_groups * (n_features + 1) + len(levels))
    unknowns[-len(levels) :] = 0.5 - levels
    penalty = 2 * weight / (levels[-1] - levels[0])
    _descent(*_data(rows), unknowns, levels, penalty, step, n_iter)
    return unknowns[: -len(levels)].reshape(n_groups, -1)


def descend_at_threshold(rows, interval, weight, *, step=5e-3, n_iter=5000):
    """Subgradient descent on the regularised problem (119), whose threshold is 0, for two groups.

    Parameters
    ----------
    rows : benchmarks.papers.partial_fairness.cases.Rows
        Training rows.
    interval : tuple of float
        Interval in which the shares above the threshold are compared.
    weight : float
        The lambda of the paper.
    step : float, default=5e-3
        As in `descend`.
    n_iter : int, default=5000
        Number of steps.

    Returns
    -------
    coef : ndarray of shape (n_groups, n_features + 1)
        Coefficients, intercepts last.
    """
    unknowns = np.zeros(2 * (rows.X.shape[1] + 1))
    _descent_at_threshold(*_data(rows), unknowns, np.array(interval), weight, step, n_iter)
    return unknowns.reshape(2, -1)


def scores_of(coef, rows):
    """Score of each row by the coefficients of its group."""
    products = rows.X @ coef[:, :-1].T + coef[:, -1]
    return products[np.arange(len(rows.y)), rows.groups]


def _data(rows):
    X = rows.X
    target = np.where(rows.y, 1.0, -1.0)
    counts = np.bincount(rows.groups).astype(np.float64)
    return X.indptr, X.indices, X.data, target, rows.groups, counts, X.shape[1]


@jit
def _scores(indptr, indices, data, codes, n_features, unknowns):
    scores = np.empty(len(codes))
    for i in range(len(codes)):
        offset = codes[i] * (n_features + 1)
        total = unknowns[offset + n_features]
        for e in range(indptr[i], indptr[i + 1]):
            total += data[e] * unknowns[offset + indices[e]]
        scores[i] = total
    return scores


@jit
def _pull_back(indptr, indices, data, codes, n_features, slopes, gradient):
    """Add X' slopes to the gradient of the coefficients, in place."""
    for i in range(len(codes)):
        if slopes[i] != 0.0:
            offset = codes[i] * (n_features + 1)
            gradient[offset + n_features] += slopes[i]
            for e in range(indptr[i], indptr[i + 1]):
                gradient[offset + indices[e]] += slopes[i] * data[e]


@jit
def _logistic(scores, target, slopes):
    """Mean loss; writes its slopes."""
    n = len(scores)
    total = 0.0
    for i in range(n):
        margin = target[i] * scores[i]
        small = np.exp(-abs(margin))
        total += np.log1p(small) + max(0.0, -margin)
        probability = small / (1.0 + small) if margin > 0 else 1.0 / (1.0 + small)
        slopes[i] = -target[i] * probability / n
    return total / n


@jit
def _excesses(scores, codes, counts, thresholds):
    """Mean excess of each group over the breakpoints of the ramps, and the shares above them.

    Both are (n_groups, n_breakpoints), with the first breakpoints of all ramps, thresholds - 1/2,
    before the second ones, thresholds + 1/2.
    """
    breakpoints = np.concatenate((thresholds - 0.5, thresholds + 0.5))
    n_groups, n_breakpoints = len(counts), len(breakpoints)
    order = np.argsort(breakpoints)
    ascending = breakpoints[order]
    mass = np.zeros((n_groups, n_breakpoints + 1))
    moment = np.zeros((n_groups, n_breakpoints + 1))
    for i in range(len(scores)):
        cell = np.searchsorted(ascending, scores[i])
        mass[codes[i], cell] += 1.0
        moment[codes[i], cell] += scores[i]
    excess = np.empty((n_groups, n_breakpoints))
    above = np.empty((n_groups, n_breakpoints))
    for g in range(n_groups):
        n_above, sum_above = 0.0, 0.0
        for rank in range(n_breakpoints - 1, -1, -1):
            n_above += mass[g, rank + 1]
            sum_above += moment[g, rank + 1]
            b = order[rank]
            excess[g, b] = (sum_above - n_above * breakpoints[b]) / counts[g]
            above[g, b] = n_above / counts[g]
    return excess, above


@jit
def _worst_row(excess, lines, levels, tau):
    """The largest row with the linearization `lines`; its group, percentile and side."""
    worst = -np.inf
    row = (0, 0, 0)
    n_levels = len(levels)
    for g in range(excess.shape[0]):
        for p in range(n_levels):
            upper = excess[g, p] - lines[g, n_levels + p] - levels[p] - tau
            lower = levels[p] + excess[g, n_levels + p] - lines[g, p]
            if upper > worst:
                worst = upper
                row = (g, p, 1)
            if lower > worst:
                worst = lower
                row = (g, p, -1)
    return worst, row


@jit
def _convex_problem(
    indptr,
    indices,
    data,
    target,
    codes,
    counts,
    n_features,
    metric,
    start,
    levels,
    tau,
    epsilon,
    n_iter,
):
    """Algorithm 2 on the convex problem at `start`; the best of the nearly feasible iterates."""
    n_levels = len(levels)
    first_theta = len(start) - len(levels)
    scores = _scores(indptr, indices, data, codes, n_features, start)
    at_start, _ = _excesses(scores, codes, counts, start[first_theta:])
    tangents = _excess_gradients(
        indptr, indices, data, codes, counts, n_features, scores, start[first_theta:]
    )
    x = start.copy()
    best = start.copy()
    best_objective = np.inf
    slopes, gradient = np.empty(len(target)), np.empty(len(start))
    for _ in range(n_iter):
        scores = _scores(indptr, indices, data, codes, n_features, x)
        excess, above = _excesses(scores, codes, counts, x[first_theta:])
        lines = at_start + (tangents @ (x - start)).reshape(at_start.shape)
        worst, (g, p, side) = _worst_row(excess, lines, levels, tau)
        gradient[:] = 0.0
        if worst <= epsilon:
            objective = _logistic(scores, target, slopes)
            if objective < best_objective:
                best = x.copy()
                best_objective = objective
            length = epsilon
        else:
            # The upper row rises from the first breakpoint of the ramp, the lower from the second.
            b, minus = (p, n_levels + p) if side == 1 else (n_levels + p, p)
            height = x[first_theta + p] - 0.5 * side
            for i in range(len(scores)):
                inside = codes[i] == g and scores[i] > height
                slopes[i] = 1.0 / counts[g] if inside else 0.0
            gradient[first_theta + p] = -above[g, b]
            gradient -= tangents[g * 2 * n_levels + minus]
            length = worst
        _pull_back(indptr, indices, data, codes, n_features, slopes, gradient)
        # Steps in the columns of the model: those of coefficients are mixed between groups.
        blocks = gradient[:first_theta].copy().reshape(len(counts), -1)
        direction = gradient.copy()
        direction[:first_theta] = (metric @ blocks).ravel()
        norm = gradient @ direction
        if norm == 0.0:
            break
        x -= length / norm * direction
    scores = _scores(indptr, indices, data, codes, n_features, best)
    excess, _ = _excesses(scores, codes, counts, best[first_theta:])
    infeasibility, _ = _worst_row(excess, excess, levels, tau)
    return best, best_objective, infeasibility


@jit
def _excess_gradients(indptr, indices, data, codes, counts, n_features, scores, thresholds):
    """Gradients of the mean excesses, (n_groups * n_breakpoints, n_unknowns)."""
    n_levels, n_groups = len(thresholds), len(counts)
    n_coef = n_groups * (n_features + 1)
    gradients = np.zeros((n_groups * 2 * n_levels, n_coef + n_levels))
    slopes = np.empty(len(scores))
    for g in range(n_groups):
        for b in range(2 * n_levels):
            p = b % n_levels
            height = thresholds[p] + (0.5 if b >= n_levels else -0.5)
            for i in range(len(scores)):
                inside = codes[i] == g and scores[i] > height
                slopes[i] = 1.0 / counts[g] if inside else 0.0
            row = gradients[g * 2 * n_levels + b]
            _pull_back(indptr, indices, data, codes, n_features, slopes, row)
            row[n_coef + p] = -slopes.sum()
    return gradients


@jit
def _descent(
    indptr, indices, data, target, codes, counts, n_features, x, levels, penalty, step, n_iter
):
    """Steps along the negative subgradient of f + penalty * max |S - p|, in place."""
    n_levels = len(levels)
    first_theta = len(x) - len(levels)
    slopes, gradient = np.empty(len(target)), np.empty(len(x))
    for _ in range(n_iter):
        scores = _scores(indptr, indices, data, codes, n_features, x)
        excess, above = _excesses(scores, codes, counts, x[first_theta:])
        _, (g, p, side) = _worst_row(excess, excess, levels, 0.0)
        _logistic(scores, target, slopes)
        for i in range(len(scores)):
            if codes[i] == g and abs(scores[i] - x[first_theta + p]) < 0.5:
                slopes[i] += penalty * side / counts[g]
        gradient[:] = 0.0
        gradient[first_theta + p] = -penalty * side * (above[g, p] - above[g, n_levels + p])
        _pull_back(indptr, indices, data, codes, n_features, slopes, gradient)
        x -= step * gradient


@jit
def _descent_at_threshold(
    indptr, indices, data, target, codes, counts, n_features, x, interval, weight, step, n_iter
):
    """Steps along the negative subgradient of (119), in place."""
    slopes, gradient = np.empty(len(target)), np.empty(len(x))
    alpha, beta = interval
    penalty = weight / (beta - alpha)
    for _ in range(n_iter):
        scores = _scores(indptr, indices, data, codes, n_features, x)
        _logistic(scores, target, slopes)
        shares = np.zeros(2)
        for i in range(len(scores)):
            shares[codes[i]] += min(max(scores[i] + 0.5, 0.0), 1.0) / counts[codes[i]]
        clipped = np.minimum(shares, beta) - np.minimum(shares, alpha)
        side = np.sign(clipped[0] - clipped[1])
        for i in range(len(scores)):
            share = shares[codes[i]]
            if abs(scores[i]) < 0.5 and alpha <= share < beta:
                sign = side if codes[i] == 0 else -side
                slopes[i] += penalty * sign / counts[codes[i]]
        gradient[:] = 0.0
        _pull_back(indptr, indices, data, codes, n_features, slopes, gradient)
        x -= step * gradient
