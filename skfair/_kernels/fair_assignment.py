"""The cheapest fair assignment of samples to fixed centres, through its dual.

With squared distances ``D`` (clusters first) and ratios ``b`` the linear programme ::

    min  sum_p w_p sum_k D[k, p] s[p, k]     over s >= 0 with sum_k s[p, k] = 1
    s.t. n[k, i] >= b[i, j] n[k, j]          for every cluster k and ordered pair of groups i, j
         l <= sum_i n[k, i] <= u             for every cluster k

has the concave dual ::

    L(y, z) = sum_p w_p min_k (D[k, p] + offsets[k, g(p)]) + sum_k (l z[k, 0] - u z[k, 1])

in one multiplier ``y[k, i, j] >= 0`` per pair and two, ``z[k] >= 0``, per size, with
``offsets[k, i] = sum_j (b[j, i] y[k, j, i] - y[k, i, j]) + z[k, 1] - z[k, 0]``. Any multipliers
that are not negative bound the cost from below.

With several attributes the pairs are those within an attribute (``b`` is 0 for others), a sample
pays the offsets of all groups that it is in, and the price of a size is shared by its groups.
"""

from typing import NamedTuple

import numpy as np

from skfair._kernels import jit, part
from skfair._kernels.fair_prices import (
    Prices,
    add_kinds,
    fill_kind_offsets,
    fill_offsets,
    fill_row_offsets,
    free_rows,
    newton_direction,
    ratios_of,
    size_gain,
    size_value,
    store,
    worst_violation,
)

BLOCK = 128
LEAST_RIDGE = 1e-6  # relative to the mean of the Hessian's diagonal
RIDGE_GROWTH = 30.0
MAX_TRIALS = 10  # of a step, each with more ridge
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

    prices: Prices
    offsets: np.ndarray  # (n_clusters, n_groups)
    labels: np.ndarray  # (n_samples,) argmin of distance + offset
    gaps: np.ndarray  # (n_samples,) how much more the next cheapest cluster costs
    value: float  # L(multipliers)
    width: float  # smoothing width of the last Hessian
    ridge: float  # damping of the last step


@part
def assign(distances, codes, weights, offsets, kinds, assignment):
    """Fill ``assignment`` with every sample's cheapest cluster and return the dual value.

    ``offsets`` are those of kinds of samples (`fill_kind_offsets`).

    Samples are taken in blocks and compared by selects, not branches: which cluster is cheapest is
    as good as random to a processor that tries to guess it.
    """
    labels, runner_up, gaps, counts = assignment
    n_clusters, n_samples = distances.shape
    by_kind = np.zeros((n_clusters, kinds.shape[0]))
    cost, best, next_best = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    first, second = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64)
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
            by_kind[first[i], codes[p]] += weights[p]
            value += weights[p] * best[i]
    add_kinds(by_kind, kinds, counts)
    return value


@part
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


@part
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


def cold_start(n_clusters, n_groups):
    """Prices of zero, to start `solve_dual` from."""
    return DualSolution(
        prices=Prices(np.zeros((n_clusters, n_groups, n_groups)), np.zeros((n_clusters, 2))),
        offsets=np.zeros((n_clusters, n_groups)),
        labels=np.zeros(0, np.int32),
        gaps=np.zeros(0),
        value=-np.inf,
        width=0.0,
        ridge=LEAST_RIDGE,
    )


def solve_dual(distances, codes, weights, limits, start, slack, max_iter):
    """Maximise the dual by projected, damped Newton ascent from the solution ``start``.

    Stops once every active constraint holds within ``slack`` (a weight) or nothing is gained.
    """
    shape = distances.shape[1], *start.offsets.shape
    prices, offsets = Prices(*(array.copy() for array in start.prices)), np.empty(shape[1:])
    assignments = new_assignment(*shape), new_assignment(*shape)
    value, width, ridge, last = _ascend(
        (distances, codes, weights),
        limits,
        ratios_of(limits),
        start._replace(prices=prices, offsets=offsets, value=size_value(prices, limits)),
        assignments,
        float(slack),
        max_iter,
    )
    found = assignments[last]
    return DualSolution(prices, offsets, found.labels, found.gaps, value, width, ridge)


def new_assignment(n_samples, n_clusters, n_groups):
    """Room for `assign`."""
    return Assignment(
        labels=np.empty(n_samples, np.int32),
        runner_up=np.empty(n_samples, np.int32),
        gaps=np.empty(n_samples),
        counts=np.empty((n_clusters, n_groups)),
    )


@jit
def _ascend(samples, limits, ratios, solution, assignments, slack, max_iter):
    """Move the multipliers and offsets of the solution to the maximum.

    Returns the dual value, the width, the ridge, and which of the two assignments is the last.
    """
    distances, codes, weights = samples
    prices, offsets = solution.prices, solution.offsets
    width, ridge = solution.width, solution.ridge
    kinds, n_clusters = limits.kinds, offsets.shape[0]
    density = np.empty((len(kinds), n_clusters, n_clusters))
    by_kind = np.empty((n_clusters, len(kinds)))
    last, (current, trial) = 0, assignments
    at_sizes = solution.value  # what the bounds on sizes add to the dual value
    fill_offsets(prices, ratios, kinds, offsets)
    fill_kind_offsets(offsets, kinds, by_kind)
    value = at_sizes + assign(distances, codes, weights, by_kind, kinds, current)
    for _ in range(max_iter):
        if worst_violation(prices, current.counts, limits, ratios) <= slack:
            break
        # The Hessian: samples near a tie, over a width that takes in a fair share of them.
        near = _tie_density(current, codes, weights, width, density)
        if near < NEAR_TIES_RANGE[0] or near > NEAR_TIES_RANGE[1]:
            width = _fitting_width(current.gaps)
            _tie_density(current, codes, weights, width, density)
        rows = free_rows(prices, current.counts, limits, ratios)
        values = np.empty(rows.n_rows)
        # Levenberg-Marquardt: where few samples tie the Hessian is (nearly) singular, and the
        # step shrinks towards a short one along the gradient until it gains.
        gain, damping = 0.0, ridge / RIDGE_GROWTH
        for _ in range(MAX_TRIALS):
            damping = max(damping, LEAST_RIDGE)
            direction = newton_direction(rows, ratios, kinds, density, damping)
            for r in range(values.size):
                values[r] = max(rows.values[r] + direction[r], 0.0)
            fill_row_offsets(rows, values, ratios, kinds, offsets)
            fill_kind_offsets(offsets, kinds, by_kind)
            trial_value = at_sizes + assign(distances, codes, weights, by_kind, kinds, trial)
            gain = trial_value - value + size_gain(rows, values, limits)
            if gain > 0.0:
                break
            damping *= RIDGE_GROWTH
        if not gain > 0.0:  # also where a gain is nan
            break
        value, ridge = value + gain, damping
        at_sizes += size_gain(rows, values, limits)
        store(rows, values, prices)
        current, trial = trial, current
        last = 1 - last
        if gain <= LEAST_GAIN * abs(value):
            break
    fill_offsets(prices, ratios, kinds, offsets)
    return value, width, ridge, last
