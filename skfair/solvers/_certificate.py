"""The certificate of an answer: multipliers and the residual of the optimality conditions."""

import numpy as np
from scipy.optimize import nnls

_MAX_ENTRIES = 1 << 25
"""Maximum number of entries of the Jacobian of the active rows."""


def kkt_residual(iterate):
    r"""Maximum residual of stationarity and complementarity.

    .. math::

        \max\bigl(\|\nabla f + J^T \lambda\|_\infty,\;
        \max_r \lambda_r^+ (upper_r - c_r)^+,\; \max_r \lambda_r^- (c_r - lower_r)^+\bigr)

    With a region of the problem, stationarity is the length of the projected gradient step.
    """
    evaluation, multipliers = iterate.evaluation, iterate.multipliers
    gradient = iterate.lagrangian_gradient
    if gradient is None:
        gradient = evaluation.lagrangian_gradient(multipliers)
    problem, values, x = evaluation.problem, evaluation.values, evaluation.x
    # On a region: how far the projected gradient step moves.
    if problem.region is not None:
        gradient = x - problem.project(x - gradient)
    stationarity = np.abs(gradient).max(initial=0.0)
    is_active = multipliers != 0
    # The bound that a multiplier belongs to: the upper one if it is positive.
    bound = np.where(multipliers > 0, problem.upper, problem.lower)[is_active]
    slack = np.maximum(0.0, np.sign(multipliers[is_active]) * (bound - values[is_active]))
    complementarity = np.abs(multipliers[is_active]) * slack
    return float(max(stationarity, complementarity.max(initial=0.0)))


def estimate_multipliers(evaluation, tol):
    """Multipliers of the rows within ``tol`` of a bound that minimise the Lagrangian's gradient.

    All are 0 if the Jacobian of the active rows would have more than 2 ** 25 entries, as for many
    groups in a network.
    """
    problem, values = evaluation.problem, evaluation.values
    above = np.flatnonzero(values >= problem.upper - tol)
    below = np.flatnonzero(values <= problem.lower + tol)
    multipliers = np.zeros(len(values))
    n_active = len(above) + len(below)
    if 0 < n_active * problem.n_unknowns <= _MAX_ENTRIES:
        jacobian = evaluation.jacobian_of(np.concatenate((above, below)))
        # Duals of upper and lower bounds are non-negative: least squares with signs.
        columns = np.vstack((jacobian[: len(above)], -jacobian[len(above) :])).T
        duals = nnls(columns, -evaluation.grad)[0]
        np.add.at(multipliers, above, duals[: len(above)])
        np.subtract.at(multipliers, below, duals[len(above) :])
    return multipliers
