"""The cheapest fair assignment of samples to fixed centres, through its dual.

With squared distances ``D`` (clusters first) and a ratio ``b`` the linear programme ::

    min  sum_p w_p sum_k D[k, p] s[p, k]     over s >= 0 with sum_k s[p, k] = 1
    s.t. n[k, i] >= b n[k, j]                for every cluster k and ordered pair of groups i, j

has the concave dual ``L(y) = sum_p w_p min_k (D[k, p] + offsets[k, g(p)])`` in one multiplier
``y[k, i, j] >= 0`` per constraint, with
``offsets[k, i] = sum_j (b y[k, j, i] - y[k, i, j])``. Any ``y >= 0`` bounds the cost from below.
"""

from typing import NamedTuple

import numpy as np

from skfair._kernels import jit

BLOCK = 128
LEAST_RIDGE = 1e-6  # relative to the mean of the Hessian's diagonal
RIDGE_GROWTH = 30.0
MAX_TRIALS = 10  # of a step, each with more ridge
MAX_CG_ITER = 100
CG_TOLERANCE = 1e-3
LEAST_GAIN = 1e-8  # relative gain of the dual below which the ascent stops
NEAR_TIES = 0.08  # share of the samples that the smoothing width should take in ...
NEAR_TIES_RANGE = (0.02, 0.32)  # ... and within which it may stay as it is


class Assignment(NamedTuple):
    """Every sample in its cheapest cluster at given prices."""

    labels: np.ndarray  # (n_samples,) int32, ties to the lowest index
    runner_up: np.ndarray  # (n_samples,) int32, the next cheapest cluster
    gaps: np.ndarray  # (n_samples,) how much more the runner-up costs
    counts: np.ndarray  # (n_clusters, n_groups) weight of the members


class DualSolution(NamedTuple):
    """What the dual ascent leaves behind."""

    multipliers: np.ndarray  # (n_clusters, n_groups, n_groups)
    offsets: np.ndarray  # (n_clusters, n_groups)
    labels: np.ndarray  # (n_samples,) argmin of distance + offset
    gaps: np.ndarray  # (n_samples,) how much more the next cheapest cluster costs
    value: float  # L(multipliers)
    width: float  # smoothing width of the last Hessian
    ridge: float  # damping of the last step


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
def assign(distances, codes, weights, offsets, assignment):
    """Fill ``assignment`` with every sample's cheapest cluster and return the dual value.

    Samples are taken in blocks and compared by selects, not branches: which cluster is cheapest is
    as good as random to a processor that tries to guess it.
    """
    labels, runner_up, gaps, counts = assignment
    n_clusters, n_samples = distances.shape
    cost, best, next_best = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    first, second = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64)
    counts[:] = 0.0
    value = 0.0
    for start in range(0, n_samples, BLOCK):
        block = min(BLOCK, n_samples - start)
        best[:], next_best[:], first[:], second[:] = np.inf, np.inf, 0, 0
        for k in range(n_clusters):
            row, price = distances[k], offsets[k]
            for i in range(block):
                cost[i] = row[start + i] + price[codes[start + i]]
            for i in range(BLOCK):
                wins = cost[i] < best[i]
                loser = first[i] if wins else k
                losing = best[i] if wins else cost[i]
                first[i] = k if wins else first[i]
                best[i] = cost[i] if wins else best[i]
                second[i] = loser if losing < next_best[i] else second[i]
                next_best[i] = losing if losing < next_best[i] else next_best[i]
        for i in range(block):
            p = start + i
            labels[p], runner_up[p], gaps[p] = first[i], second[i], next_best[i] - best[i]
            counts[first[i], codes[p]] += weights[p]
            value += weights[p] * best[i]
    return value


@jit
def _tie_density(assignment, codes, weights, width, density):
    """Weight per unit of price that sits between two clusters; return the share of near ties."""
    labels, runner_up, gaps, _ = assignment
    density[:] = 0.0
    near = 0
    for p in range(labels.size):
        if gaps[p] < width:
            near += 1
            a, b, g = labels[p], runner_up[p], codes[p]
            # Ties lie on both sides of the border, over twice the width.
            density[g, a, b] += 0.5 * weights[p] / width
            density[g, b, a] += 0.5 * weights[p] / width
    return near / labels.size


@jit
def _fitting_width(gaps):
    """Width that takes in the wanted share of the gaps, by bisection on some of them."""
    stride = 1 + gaps.size // 1000
    lower, upper = 0.0, 1e-150
    for p in range(0, gaps.size, stride):
        upper = max(upper, gaps[p] * (1.0 + 1e-9))  # so that the widest gap is below it
    for _ in range(30):
        width = 0.5 * (lower + upper)
        near, n = 0, 0
        for p in range(0, gaps.size, stride):
            near += gaps[p] < width
            n += 1
        if near < NEAR_TIES * n:
            lower = width
        else:
            upper = width
    return upper


@jit
def _free_violations(multipliers, counts, ratio):
    """Gradient of the dual on the free multipliers, 0 elsewhere; and which ones are free.

    Free are those that are positive or whose constraint is violated. Of the violated constraints
    only those with the rarest or the commonest group of a cluster take part: they imply the others.
    """
    gradient = np.zeros(multipliers.shape)
    free = np.zeros(multipliers.shape, np.bool_)
    n_clusters, n_groups, _ = multipliers.shape
    for k in range(n_clusters):
        rarest, commonest = np.argmin(counts[k]), np.argmax(counts[k])
        for i in range(n_groups):
            for j in range(n_groups):
                violation = ratio * counts[k, j] - counts[k, i]
                extreme = i == rarest or j == commonest
                if i != j and (multipliers[k, i, j] > 0.0 or (extreme and violation > 0.0)):
                    gradient[k, i, j] = violation
                    free[k, i, j] = True
    return gradient, free


@jit
def _apply_hessian(direction, free, density, ratio, shift, result):
    """Minus the smoothed Hessian of the dual times a direction, plus ``shift`` times it.

    Raising the price of cluster k for group g by one drives ``density[g, k].sum()`` members away,
    ``density[g, k, l]`` of them to cluster l: a graph Laplacian per group, between the map from
    multipliers to offsets and its transpose.
    """
    n_clusters, n_groups, _ = direction.shape
    offsets = offsets_of(direction, ratio)
    driven = np.zeros((n_clusters, n_groups))
    for g in range(n_groups):
        for k in range(n_clusters):
            for l in range(n_clusters):  # noqa: E741
                driven[k, g] += density[g, k, l] * (offsets[k, g] - offsets[l, g])
    for k in range(n_clusters):
        for i in range(n_groups):
            for j in range(n_groups):
                result[k, i, j] = 0.0
                if free[k, i, j]:
                    change = ratio * driven[k, j] - driven[k, i]
                    result[k, i, j] = change + shift * direction[k, i, j]


@jit
def _mean_diagonal(free, density, ratio):
    """Mean of the diagonal of the matrix of `_apply_hessian` over the free multipliers."""
    total, n_free = 0.0, 0
    n_clusters, n_groups, _ = free.shape
    for k in range(n_clusters):
        for i in range(n_groups):
            for j in range(n_groups):
                if free[k, i, j]:
                    n_free += 1
                    for l in range(n_clusters):  # noqa: E741
                        total += density[i, k, l] + ratio * ratio * density[j, k, l]
    return total / max(n_free, 1)


@jit
def _dot(a, b):
    total = 0.0
    for k in range(a.shape[0]):
        for i in range(a.shape[1]):
            for j in range(a.shape[2]):
                total += a[k, i, j] * b[k, i, j]
    return total


@jit
def _combine(a, factor, b, result):
    """Set ``result`` to ``a + factor * b``, element by element."""
    for k in range(a.shape[0]):
        for i in range(a.shape[1]):
            for j in range(a.shape[2]):
                result[k, i, j] = a[k, i, j] + factor * b[k, i, j]


@jit
def _newton_direction(multipliers, counts, ratio, density, ridge):
    """Newton direction on the free multipliers, by conjugate gradients."""
    residual, free = _free_violations(multipliers, counts, ratio)
    shift = ridge * _mean_diagonal(free, density, ratio) + 1e-300
    solution = np.zeros(residual.shape)
    search = residual.copy()
    image = np.zeros(residual.shape)
    norm = _dot(residual, residual)
    goal = CG_TOLERANCE**2 * norm
    for _ in range(MAX_CG_ITER):
        if norm <= goal:
            break
        _apply_hessian(search, free, density, ratio, shift, image)
        step = norm / _dot(search, image)
        _combine(solution, step, search, solution)
        _combine(residual, -step, image, residual)
        previous, norm = norm, _dot(residual, residual)
        _combine(residual, norm / previous, search, search)
    return solution


@jit
def _clip(multipliers):
    """Set negative multipliers to 0, in place."""
    for k in range(multipliers.shape[0]):
        for i in range(multipliers.shape[1]):
            for j in range(multipliers.shape[2]):
                multipliers[k, i, j] = max(multipliers[k, i, j], 0.0)


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


def cold_start(n_clusters, n_groups):
    """Prices of zero, to start `solve_dual` from."""
    return DualSolution(
        multipliers=np.zeros((n_clusters, n_groups, n_groups)),
        offsets=np.zeros((n_clusters, n_groups)),
        labels=np.zeros(0, np.int32),
        gaps=np.zeros(0),
        value=-np.inf,
        width=0.0,
        ridge=LEAST_RIDGE,
    )


@jit
def solve_dual(distances, codes, weights, ratio, start, slack, max_iter):
    """Maximise the dual by projected, damped Newton ascent from the solution ``start``.

    Stops once every active constraint holds within ``slack`` (a weight) or nothing is gained.
    """
    n_clusters, n_samples = distances.shape
    multipliers, width, ridge = start.multipliers, start.width, start.ridge
    n_groups = multipliers.shape[1]
    density = np.empty((n_groups, n_clusters, n_clusters))
    current = _new_assignment(n_samples, n_clusters, n_groups)
    trial = _new_assignment(n_samples, n_clusters, n_groups)
    offsets = offsets_of(multipliers, ratio)
    value = assign(distances, codes, weights, offsets, current)
    for _ in range(max_iter):
        if _worst_violation(multipliers, current.counts, ratio) <= slack:
            break
        near = _tie_density(current, codes, weights, width, density)
        if near < NEAR_TIES_RANGE[0] or near > NEAR_TIES_RANGE[1]:
            width = _fitting_width(current.gaps)
            _tie_density(current, codes, weights, width, density)
        # Levenberg-Marquardt: where few samples tie the Hessian is (nearly) singular, and the
        # step shrinks towards a short one along the gradient until it gains.
        gain, damping = 0.0, ridge / RIDGE_GROWTH
        for _ in range(MAX_TRIALS):
            damping = max(damping, LEAST_RIDGE)
            direction = _newton_direction(multipliers, current.counts, ratio, density, damping)
            trial_multipliers = np.zeros(multipliers.shape)
            _combine(multipliers, 1.0, direction, trial_multipliers)
            _clip(trial_multipliers)
            trial_offsets = offsets_of(trial_multipliers, ratio)
            gain = assign(distances, codes, weights, trial_offsets, trial) - value
            if gain > 0.0:
                break
            damping *= RIDGE_GROWTH
        if not gain > 0.0:  # also where a gain is nan
            break
        value, ridge = value + gain, damping
        multipliers, offsets = trial_multipliers, trial_offsets
        current, trial = trial, current
        if gain <= LEAST_GAIN * abs(value):
            break
    return DualSolution(multipliers, offsets, current.labels, current.gaps, value, width, ridge)


@jit
def _new_assignment(n_samples, n_clusters, n_groups):
    return Assignment(
        np.empty(n_samples, np.int32),
        np.empty(n_samples, np.int32),
        np.empty(n_samples),
        np.empty((n_clusters, n_groups)),
    )
