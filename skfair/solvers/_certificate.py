"""The certificate of an answer: multipliers, and what is left of the optimality conditions."""

import numpy as np
from scipy.optimize import nnls

_MAX_ENTRIES = 1 << 25
"""Numbers that the derivatives of the active rows may be."""


def kkt_residual(iterate):
    r"""Largest residual of stationarity and complementarity.

    .. math::

        \max\bigl(\|\nabla f + J^T \lambda\|_\infty,\;
        \max_r \lambda_r^+ (upper_r - c_r)^+,\; \max_r \lambda_r^- (c_r - lower_r)^+\bigr)

    Where the problem has a region, stationarity is the length of the projected gradient step.

    Parameters
    ----------
    iterate : Iterate
        The point and its multipliers.

    Returns
    -------
    residual : float
    """
    evaluation, multipliers = iterate.evaluation, iterate.multipliers
    gradient = iterate.lagrangian_gradient
    if gradient is None:
        gradient = evaluation.lagrangian_gradient(multipliers)
    problem, values, x = evaluation.problem, evaluation.values, evaluation.x
    if problem.region is not None:
        gradient = x - problem.project(x - gradient)
    stationarity = np.abs(gradient).max(initial=0.0)
    pressing = multipliers != 0
    bound = np.where(multipliers > 0, problem.upper, problem.lower)[pressing]
    slack = np.maximum(0.0, np.sign(multipliers[pressing]) * (bound - values[pressing]))
    complementarity = np.abs(multipliers[pressing]) * slack
    return float(max(stationarity, complementarity.max(initial=0.0)))


def least_squares_multipliers(evaluation, tol):
    """Multipliers of the active rows that make the gradient of the Lagrangian least.

    Where the derivatives of the active rows would be more than 2 ** 25 numbers, as those of many
    groups in a network are, no estimate is worth them: all multipliers are then 0.

    Parameters
    ----------
    evaluation : Evaluation
        The problem at a point.
    tol : float
        Rows within it of a bound, or beyond, are active.

    Returns
    -------
    multipliers : ndarray of shape (n_rows,)
    """
    problem, values = evaluation.problem, evaluation.values
    above = np.flatnonzero(values >= problem.upper - tol)
    below = np.flatnonzero(values <= problem.lower + tol)
    multipliers = np.zeros(len(values))
    n_active = len(above) + len(below)
    if 0 < n_active * problem.n_unknowns <= _MAX_ENTRIES:
        jacobian = evaluation.jacobian_of(np.concatenate((above, below)))
        columns = np.vstack((jacobian[: len(above)], -jacobian[len(above) :])).T
        duals = nnls(columns, -evaluation.grad)[0]
        np.add.at(multipliers, above, duals[: len(above)])
        np.subtract.at(multipliers, below, duals[len(above) :])
    return multipliers
