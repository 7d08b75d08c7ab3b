"""The direction of the ghost method, a quadratic program solved in the dual."""

import numpy as np

_MAX_ROUNDS = 200
_ACCURACY = 1e-10


def direction(gradient, G, jacobian, settings):
    r"""Minimise :math:`g^T d + \tau |d|^2 / 2` subject to :math:`G + J d \le \kappa`, in a box."""
    # Relaxation kappa, the dual without the box, and the box if it is active.
    tau, beta, weight = settings.tau, settings.beta, settings.lambda_
    worst = max(0.0, G.max(initial=0.0))
    kappa = (1.0 - weight) * worst + weight * reachable_violation(G, jacobian, settings.rho)
    duals = _duals_without_box(jacobian @ jacobian.T / tau, G - kappa - jacobian @ gradient / tau)
    free = -(gradient + duals @ jacobian) / tau
    if np.abs(free).max(initial=0.0) <= beta:
        return free
    return _solve_in_box(gradient, G - kappa, jacobian, duals, settings)


def reachable_violation(G, jacobian, rho):
    """The maximum violation after the steepest descent of the worst row in a box of radius rho.

    For a single row, one-sided or two-sided, this is the minimum in the box, for several rows an
    upper bound on it.
    """
    if G.max(initial=0.0) <= 0.0:
        return 0.0
    line = int(G.argmax())
    # Rows along the steepest descent of the worst one, and 0, are lines in the step length.
    heights = np.append(G, 0.0)  # violations are at least 0
    changes = np.append(-rho * jacobian @ np.sign(jacobian[line]), 0.0)
    length = 0.0
    # Maximum of several lines: follow it until a line of larger slope crosses it.
    while changes[line] < 0.0:
        steeper = changes > changes[line]
        crossings = (heights[line] - heights[steeper]) / (changes[steeper] - changes[line])
        # The next line that becomes the maximum; none before length 1 ends the search.
        first = int(crossings.argmin())
        if crossings[first] >= 1.0:
            length = 1.0
            break
        length, line = crossings[first], int(np.flatnonzero(steeper)[first])
    return max(0.0, heights[line] + length * changes[line])


def _duals_without_box(gram, linear):
    """Maximise ``linear @ w - w @ gram @ w / 2`` over w >= 0 by coordinate ascent."""
    duals = np.zeros(len(linear))
    if len(linear) == 0 or linear.max() <= 0.0:
        return duals
    for _ in range(_MAX_ROUNDS):
        largest = 0.0
        for i in np.flatnonzero(gram.diagonal() > 0.0):
            # Exact minimum over one dual, kept non-negative.
            step = max(-duals[i], (linear[i] - gram[i] @ duals) / gram[i, i])
            duals[i] += step
            largest = max(largest, abs(step))
        if largest <= _ACCURACY * (1.0 + duals.max()):
            break
    return duals


def _solve_in_box(gradient, G, jacobian, duals, settings):
    """The direction within the box, by accelerated gradient ascent in the multipliers."""
    tau, beta = settings.tau, settings.beta

    def primal(duals):
        # The Lagrangian is separable in d, so the box clips its minimiser.
        return np.clip(-(gradient + duals @ jacobian) / tau, -beta, beta)

    step = tau / max(np.linalg.norm(jacobian) ** 2, 1e-100)
    extrapolated, weight = duals, 1.0
    for _ in range(_MAX_ROUNDS):
        new_duals = np.maximum(0.0, extrapolated + step * (G + jacobian @ primal(extrapolated)))
        if np.abs(new_duals - duals).max(initial=0.0) <= _ACCURACY:
            break
        # Nesterov's extrapolation.
        next_weight = (1.0 + np.sqrt(1.0 + 4.0 * weight**2)) / 2.0
        extrapolated = new_duals + (weight - 1.0) / next_weight * (new_duals - duals)
        duals, weight = new_duals, next_weight
    return primal(duals)
