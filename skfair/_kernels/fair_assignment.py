"""The cheapest fair assignment of samples to fixed centres, through its dual.

With squared distances ``D`` and a ratio ``b`` the linear programme ::

    min  sum_p w_p sum_k D[p, k] s[p, k]     over s >= 0 with sum_k s[p, k] = 1
    s.t. n[k, i] >= b n[k, j]                for every cluster k and ordered pair of groups i, j

has the concave dual ``L(y) = sum_p w_p min_k (D[p, k] + offsets[k, g(p)])`` in one multiplier
``y[k, i, j] >= 0`` per constraint, with
``offsets[k, i] = sum_j (b y[k, j, i] - y[k, i, j])``. Any ``y >= 0`` bounds the cost from below.
"""

from typing import NamedTuple

import numpy as np

from skfair._kernels import jit

MAX_HALVINGS = 12
NEAR_TIES = (0.02, 0.32)  # bounds of the share of samples inside the smoothing width
RIDGE = 1e-6  # relative to the mean of the Hessian's diagonal
LEAST_GAIN = 1e-8  # relative gain of the dual below which the ascent stops


class DualSolution(NamedTuple):
    """What the dual ascent leaves behind."""

    multipliers: np.ndarray  # (n_clusters, n_groups, n_groups)
    offsets: np.ndarray  # (n_clusters, n_groups)
    labels: np.ndarray  # (n_samples,) argmin of distance + offset, ties to the lowest index
    value: float  # L(multipliers)
    width: float  # smoothing width of the last Hessian, a warm start for the next call


@jit
def offsets_of(multipliers, ratio):
    """Price of a place in cluster k for a member of group i (see the module's formula)."""
    n_clusters, n_groups, _ = multipliers.shape
    offsets = np.zeros((n_clusters, n_groups))
    for k in range(n_clusters):
        for i in range(n_groups):
            for j in range(n_groups):
                offsets[k, i] += ratio * multipliers[k, j, i] - multipliers[k, i, j]
    return offsets


@jit
def assign(distances, codes, weights, offsets, labels, runner_up, gaps, counts):
    """Give each sample its cheapest cluster; fill the last four arguments, return L."""
    n_samples, n_clusters = distances.shape
    price = offsets.T.copy()
    counts[:] = 0.0
    value = 0.0
    for p in range(n_samples):
        g = codes[p]
        first, best = 0, distances[p, 0] + price[g, 0]
        second, next_best = 0, np.inf
        for k in range(1, n_clusters):
            cost = distances[p, k] + price[g, k]
            if cost < next_best:
                if cost < best:
                    second, next_best = first, best
                    first, best = k, cost
                else:
                    second, next_best = k, cost
        labels[p], runner_up[p], gaps[p] = first, second, next_best - best
        counts[first, g] += weights[p]
        value += weights[p] * best
    return value


@jit
def _tie_density(labels, runner_up, gaps, codes, weights, width, density):
    """Weight per unit of price that sits between two clusters; return the share of near ties."""
    density[:] = 0.0
    near = 0
    for p in range(labels.size):
        if gaps[p] < width:
            near += 1
            a, b, g = labels[p], runner_up[p], codes[p]
            density[g, a, b] += weights[p] / width
            density[g, b, a] += weights[p] / width
    return near / labels.size


@jit
def _solve_in_place(matrix, rhs, n):
    """Solve the leading n x n positive definite system by Cholesky; rhs becomes the solution."""
    for i in range(n):
        for j in range(i + 1):
            s = matrix[i, j]
            for m in range(j):
                s -= matrix[i, m] * matrix[j, m]
            if i == j:
                matrix[i, i] = np.sqrt(max(s, 1e-300))
            else:
                matrix[i, j] = s / matrix[j, j]
    for i in range(n):
        for m in range(i):
            rhs[i] -= matrix[i, m] * rhs[m]
        rhs[i] /= matrix[i, i]
    for i in range(n - 1, -1, -1):
        for m in range(i + 1, n):
            rhs[i] -= matrix[m, i] * rhs[m]
        rhs[i] /= matrix[i, i]


@jit
def _newton_direction(multipliers, counts, ratio, density):
    """Newton step on the multipliers that are positive or whose constraint is violated."""
    n_clusters, n_groups, _ = multipliers.shape
    free = np.empty((n_clusters * n_groups * n_groups, 3), np.int64)
    rhs = np.empty(free.shape[0])
    n_free = 0
    for k in range(n_clusters):
        for i in range(n_groups):
            for j in range(n_groups):
                violation = ratio * counts[k, j] - counts[k, i]
                if i != j and (multipliers[k, i, j] > 0.0 or violation > 0.0):
                    free[n_free] = (k, i, j)
                    rhs[n_free] = violation
                    n_free += 1

    # minus the derivative of counts[k, g] with respect to offsets[l, g] is a graph Laplacian
    laplacian = -density
    for g in range(n_groups):
        for k in range(n_clusters):
            laplacian[g, k, k] = density[g, k].sum()

    matrix = np.zeros((n_free, n_free))
    trace = 0.0
    for r in range(n_free):
        k, i, j = free[r]
        for s in range(r + 1):
            l, u, v = free[s]
            # rows of the map multipliers -> offsets: -1 at group i, +ratio at group j
            entry = 0.0
            if i == u:
                entry += laplacian[i, k, l]
            if i == v:
                entry -= ratio * laplacian[i, k, l]
            if j == u:
                entry -= ratio * laplacian[j, k, l]
            if j == v:
                entry += ratio * ratio * laplacian[j, k, l]
            matrix[r, s] = entry
        trace += matrix[r, r]
    for r in range(n_free):
        matrix[r, r] += RIDGE * trace / n_free + 1e-300
    _solve_in_place(matrix, rhs, n_free)

    direction = np.zeros_like(multipliers)
    for r in range(n_free):
        k, i, j = free[r]
        direction[k, i, j] = rhs[r]
    return direction


@jit
def _worst_violation(multipliers, counts, ratio):
    """Largest breach of feasibility or of complementary slackness, in units of weight."""
    worst = 0.0
    n_clusters, n_groups, _ = multipliers.shape
    for k in range(n_clusters):
        for i in range(n_groups):
            for j in range(n_groups):
                violation = ratio * counts[k, j] - counts[k, i]
                if i != j:
                    worst = max(worst, violation)
                    if multipliers[k, i, j] > 0.0:
                        worst = max(worst, -violation)
    return worst


@jit
def solve_dual(distances, codes, weights, ratio, multipliers, width, slack, max_iter):
    """Maximise the dual by projected Newton ascent, warm-started at ``multipliers``.

    Stops once every active constraint holds within ``slack`` (a weight) or nothing is gained.
    """
    n_samples, n_clusters = distances.shape
    n_groups = multipliers.shape[1]
    labels = np.empty(n_samples, np.int32)
    trial_labels = np.empty(n_samples, np.int32)
    runner_up = np.empty(n_samples, np.int32)
    trial_runner_up = np.empty(n_samples, np.int32)
    gaps = np.empty(n_samples)
    trial_gaps = np.empty(n_samples)
    counts = np.empty((n_clusters, n_groups))
    trial_counts = np.empty((n_clusters, n_groups))
    density = np.empty((n_groups, n_clusters, n_clusters))

    offsets = offsets_of(multipliers, ratio)
    value = assign(distances, codes, weights, offsets, labels, runner_up, gaps, counts)
    least_width = 1e-9 * distances.mean() + 1e-150
    for _ in range(max_iter):
        if _worst_violation(multipliers, counts, ratio) <= slack:
            break
        near = _tie_density(labels, runner_up, gaps, codes, weights, width, density)
        if near < NEAR_TIES[0] or near > NEAR_TIES[1]:
            width = max(np.quantile(gaps, np.sqrt(NEAR_TIES[0] * NEAR_TIES[1])), least_width)
            near = _tie_density(labels, runner_up, gaps, codes, weights, width, density)
        direction = _newton_direction(multipliers, counts, ratio, density)
        step = 1.0
        improved = False
        for _ in range(MAX_HALVINGS):
            trial = np.maximum(multipliers + step * direction, 0.0)
            trial_offsets = offsets_of(trial, ratio)
            trial_value = assign(
                distances,
                codes,
                weights,
                trial_offsets,
                trial_labels,
                trial_runner_up,
                trial_gaps,
                trial_counts,
            )
            if trial_value > value:
                improved = True
                break
            step *= 0.5
        if not improved:
            break
        gain = trial_value - value
        multipliers, offsets, value = trial, trial_offsets, trial_value
        labels, trial_labels = trial_labels, labels
        runner_up, trial_runner_up = trial_runner_up, runner_up
        gaps, trial_gaps = trial_gaps, gaps
        counts, trial_counts = trial_counts, counts
        if gain <= LEAST_GAIN * abs(value):
            break
    return DualSolution(multipliers, offsets, labels, value, width)
