"""What methods of sequential quadratic programming share: their sub-problem and line search."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr

from skfair.solvers._elastic_qp import solve_elastic_qp
from skfair.solvers._solver import Iterate

_FIRST_PRICE = 10.0
_LARGEST_PRICE = 1e6
_LEAST_DAMPING = 1e-3
_LARGEST_DAMPING = 1e4
_SHORTEST_STEP = 1e-3
_AUX_CURVATURE = 1e-8
"""Curvature given to auxiliary unknowns, which enter linearly: the rows alone hold them."""


def sqp_iterates(problem, x, tol, root):
    """Iterates of sequential quadratic programming with elastic rows.

    Parameters
    ----------
    problem : ConstrainedProblem
        The problem.
    x : ndarray of shape (n_unknowns,)
        Starting point.
    tol : float
        Total violation of the linearised rows at which their price is high enough.
    root : callable
        (evaluation, multipliers, damping) -> an object whose ``solve`` and ``solve_transposed``
        apply the inverses of L and of L' to (n_parameters, k) arrays, where L L' is the Hessian of
        the Lagrangian, or what stands for it, plus damping times the identity.

    Yields
    ------
    iterate : Iterate
        They end where rows are violated and no step changes that.
    """
    evaluation, price, damping = problem.evaluate(x), _FIRST_PRICE, 0.0
    multipliers = np.zeros(len(problem.lower))
    yield Iterate(evaluation, multipliers)
    while damping <= _LARGEST_DAMPING:
        model = QuadraticModel.at(evaluation, root(evaluation, multipliers, damping))
        step, multipliers = model.minimise(evaluation.values, price)
        while model.violation_after(step) > tol and price < _LARGEST_PRICE:
            # A multiplier at its cap: the rows are worth more than the price says.
            if np.abs(multipliers).max(initial=0.0) < 0.99 * price:
                break
            price *= 10.0
            step, multipliers = model.minimise(evaluation.values, price)
        found, length = line_search(model, step, price)
        damping = _next_damping(damping, length)
        if found is not None:
            if price >= _LARGEST_PRICE and _stands_still(evaluation, found, tol):
                return
            evaluation = found
            _ = evaluation.grad, evaluation.jacobian  # the certificate then costs no further pass
            yield Iterate(evaluation, multipliers)


def _stands_still(before, after, tol):
    """Whether rows are violated, and a step changes neither that nor the objective."""
    violations = [_total_violation(at.problem, at.values) for at in (before, after)]
    return min(violations) > tol and np.allclose(
        (before.fun, violations[0]), (after.fun, violations[1]), rtol=1e-9, atol=0.0
    )


def _next_damping(damping, length):
    """Levenberg's damping: more after steps that were cut short, less after full ones.

    Parameters are of standardised columns, so the damping needs no scale of its own.
    """
    if length < 0.5:
        return max(10.0 * damping, _LEAST_DAMPING)
    return 0.1 * damping if damping > _LEAST_DAMPING else 0.0


@dataclass(frozen=True, eq=False)
class QuadraticModel:
    """Quadratic objective and linear rows around an evaluation.

    With H = L L' the model step is ``L^-T (base + Q y)``: the rows only feel the directions Q, at
    most one per row, so the quadratic program has at most as many unknowns as rows.
    """

    evaluation: object
    root: object  # of H, as `sqp_iterates` says
    base: np.ndarray  # L' times Newton's step without rows, (p,)
    basis: np.ndarray  # Q, (p, q)
    rows: np.ndarray  # rows by (y, aux), (n_rows, q + n_aux)

    @classmethod
    def at(cls, evaluation, root):
        """Expand the problem at an evaluation, with the Hessian that a root stands for."""
        p = evaluation.problem.n_parameters
        base = -root.solve(evaluation.grad[:p])
        by_parameters, by_aux = np.hsplit(evaluation.jacobian, [p])
        scaled = root.solve(by_parameters.T)
        if scaled.shape[1] < p:
            basis, triangle = qr(scaled, mode="economic")
        else:
            basis, triangle = np.eye(p), scaled
        return cls(evaluation, root, base, basis, np.hstack((triangle.T, by_aux)))

    def minimise(self, values, price):
        """Step and multipliers for rows that have the given values at the step 0."""
        problem, q = self.evaluation.problem, self.basis.shape[1]
        values = values + self.rows[:, :q] @ (self.basis.T @ self.base)
        curvature = np.concatenate((np.ones(q), np.full(problem.constraint.n_aux, _AUX_CURVATURE)))
        z, multipliers = solve_elastic_qp(
            curvature, self.rows, problem.lower - values, problem.upper - values, price
        )
        step = self.root.solve_transposed(self.base + self.basis @ z[:q])
        return np.concatenate((step, z[q:])), multipliers

    def violation_after(self, step):
        """Total violation of the linearised rows after a step."""
        return _total_violation(
            self.evaluation.problem, self.evaluation.values + self.evaluation.jacobian @ step
        )


def line_search(model, step, price):
    """The next evaluation: the full step, the corrected one, or a shorter one.

    Parameters
    ----------
    model : QuadraticModel
        The model that the step minimises.
    step : ndarray of shape (n_unknowns,)
        The step.
    price : float
        Price of one unit of violation in the l1 merit function.

    Returns
    -------
    evaluation : Evaluation or None
        None if no step is accepted.
    length : float
        Share of the step that was made.
    """
    evaluation = model.evaluation
    problem = evaluation.problem

    def merit(at):
        return at.fun + price * _total_violation(problem, at.values)

    here = merit(evaluation)
    drop = price * (here / price - evaluation.fun / price - model.violation_after(step))
    drop -= evaluation.grad @ step
    # Differences below the rounding of the merit say nothing.
    noise = 1e-14 * (abs(here) + 1.0)

    def accepts(at, length):
        return np.isfinite(at.fun) and merit(at) <= here - 1e-4 * length * drop + noise

    full = problem.evaluate(evaluation.x + step)
    if accepts(full, 1.0):
        return full, 1.0
    linear = evaluation.jacobian @ step
    corrected_step, _ = model.minimise(full.values - linear, price)
    corrected = problem.evaluate(evaluation.x + corrected_step)
    if accepts(corrected, 1.0):
        return corrected, 1.0
    length = 0.5
    while length >= _SHORTEST_STEP:
        shorter = problem.evaluate(evaluation.x + length * step)
        if accepts(shorter, length):
            return shorter, length
        length /= 2
    return None, 0.0


def _total_violation(problem, values):
    above = np.maximum(0.0, values - problem.upper)
    return float((above + np.maximum(0.0, problem.lower - values)).sum())
