"""The direction of the ghost method: a quadratic program solved by its few multipliers."""

import numpy as np

_MAX_ROUNDS = 200
_ACCURACY = 1e-10


def direction(gradient, G, jacobian, settings):
    r"""Minimise :math:`g^T d + \tau |d|^2 / 2` subject to :math:`G + J d \le \kappa`, in a box.

    Parameters
    ----------
    gradient : ndarray of shape (n,)
        g.
    G : ndarray of shape (m,)
        The rows.
    jacobian : ndarray of shape (m, n)
        J.
    settings : StochasticGhost
        Its rho, tau, beta and lambda_.

    Returns
    -------
    direction : ndarray of shape (n,)
    """
    tau, beta, share = settings.tau, settings.beta, settings.lambda_
    worst = max(0.0, G.max(initial=0.0))
    kappa = (1.0 - share) * worst + share * within_reach(G, jacobian, settings.rho)
    duals = _duals_without_box(jacobian @ jacobian.T / tau, G - kappa - jacobian @ gradient / tau)
    free = -(gradient + duals @ jacobian) / tau
    if np.abs(free).max(initial=0.0) <= beta:
        return free
    return _in_box(gradient, G - kappa, jacobian, duals, settings)


def within_reach(G, jacobian, rho):
    """How small the worst violation gets within a box, on the way that lowers the worst row most.

    Of a single row, one-sided or two-sided, this is the least violation in the box; of several it
    is one that is certainly reached.

    Parameters
    ----------
    G : ndarray of shape (m,)
        The rows.
    jacobian : ndarray of shape (m, n)
        Their derivatives.
    rho : float
        Half the length of an edge of the box.

    Returns
    -------
    violation : float
    """
    if G.max(initial=0.0) <= 0.0:
        return 0.0
    line = int(G.argmax())
    heights = np.append(G, 0.0)  # no violation is less than 0
    changes = np.append(-rho * jacobian @ np.sign(jacobian[line]), 0.0)
    way = 0.0
    # The highest of several lines: it falls until one that falls less, or rises, takes over.
    while changes[line] < 0.0:
        steeper = changes > changes[line]
        meets = (heights[line] - heights[steeper]) / (changes[steeper] - changes[line])
        first = int(meets.argmin())
        if meets[first] >= 1.0:
            way = 1.0
            break
        way, line = meets[first], int(np.flatnonzero(steeper)[first])
    return max(0.0, heights[line] + way * changes[line])


def _duals_without_box(gram, linear):
    """Maximise ``linear @ w - w @ gram @ w / 2`` over w >= 0, one multiplier after the other."""
    duals = np.zeros(len(linear))
    if len(linear) == 0 or linear.max() <= 0.0:
        return duals
    for _ in range(_MAX_ROUNDS):
        largest = 0.0
        for i in np.flatnonzero(gram.diagonal() > 0.0):
            moved = max(-duals[i], (linear[i] - gram[i] @ duals) / gram[i, i])
            duals[i] += moved
            largest = max(largest, abs(moved))
        if largest <= _ACCURACY * (1.0 + duals.max()):
            break
    return duals


def _in_box(gradient, G, jacobian, duals, settings):
    """The same within the box: ascent in the multipliers, by accelerated gradient steps."""
    tau, beta = settings.tau, settings.beta

    def primal(duals):
        return np.clip(-(gradient + duals @ jacobian) / tau, -beta, beta)

    step = tau / max(np.linalg.norm(jacobian) ** 2, 1e-100)
    ahead, weight = duals, 1.0
    for _ in range(_MAX_ROUNDS):
        following = np.maximum(0.0, ahead + step * (G + jacobian @ primal(ahead)))
        if np.abs(following - duals).max(initial=0.0) <= _ACCURACY:
            break
        next_weight = (1.0 + np.sqrt(1.0 + 4.0 * weight**2)) / 2.0
        ahead = following + (weight - 1.0) / next_weight * (following - duals)
        duals, weight = following, next_weight
    return primal(duals)
