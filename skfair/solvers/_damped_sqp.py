"""Sequential quadratic programming with damped steps, for rows that bend with every unknown."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import qr, solve_triangular
from scipy.linalg.lapack import dpotrf

from skfair.solvers._elastic_qp import solve_elastic_qp
from skfair.solvers._solver import Iterate, Solver

_FIRST_PRICE = 1.0
_LARGEST_PRICE = 1e4
_FIRST_DAMPING = 1e-2
_LARGEST_DAMPING = 1e8


class DampedSQP(Solver):
    r"""Sequential quadratic programming with Levenberg's damping.

    Each iteration minimises, over all unknowns,

    .. math::

        \min_d \nabla f^T d + \tfrac12 d^T (H + \mu I) d
        + \pi \sum_r \max(0, (c + J d)_r - upper_r, lower_r - (c + J d)_r).

    A step is taken if it lowers the merit :math:`f + \pi \sum_r excess_r` by a tenth of what the
    model foretells, if need be after a correction to second order; else :math:`\mu` grows. The
    price :math:`\pi` grows where that brings the linearised rows nearer to their bounds. Unlike
    :class:`SQP` it uses the curvature by the auxiliary unknowns, such as thresholds, and steps
    shrink without a search along a direction that may be a poor one.

    H is as the constraint gives it; percentile constraints, differences of convex functions, give
    the curvature of their convex parts, which makes H positive and each model a majorant to second
    order.

    Parameters
    ----------
    max_iter : int, default=200
        Most iterations.
    tol : float, default=1e-4
        Largest violation and largest residual of the optimality conditions at the answer.

    See Also
    --------
    SQP : For rows that are linear in the auxiliary unknowns.

    References
    ----------
    .. [1] J. Nocedal and S. Wright, "Numerical Optimization", 2nd edition, 2006, chapter 18.

    Examples
    --------
    >>> from skfair.solvers import DampedSQP
    >>> DampedSQP(tol=1e-6)
    DampedSQP(tol=1e-06)
    """

    def __init__(self, max_iter=200, tol=1e-4):
        self.max_iter = max_iter
        self.tol = tol

    def _iterate(self, problem, x, random_state):
        evaluation, multipliers = problem.evaluate(x), np.zeros(len(problem.lower))
        price, damping = _FIRST_PRICE, 0.0
        yield Iterate(evaluation, multipliers)
        hessian = evaluation.hessian(multipliers)
        while damping <= _LARGEST_DAMPING and price <= _LARGEST_PRICE:
            model = _Model.at(evaluation, hessian, damping)
            minimiser = model.minimise(evaluation.values, price)
            if damping == 0.0:  # a damped step falls short of the rows at any price
                price, minimiser = model.steered(price, minimiser, self.tol)
            step = model.advance(price, *minimiser)
            if step.foretold <= 1e-6 * self.tol and evaluation.violation > self.tol:
                price *= 10.0  # no way to improve, and the rows are not kept
            elif step.evaluation is None:
                damping = max(10.0 * damping, _FIRST_DAMPING)
            else:
                if step.agreement > 0.5:
                    damping = damping / 4.0 if damping > _FIRST_DAMPING / 4.0 else 0.0
                evaluation, multipliers = step.evaluation, step.multipliers
                _ = evaluation.grad, evaluation.jacobian  # the certificate costs no further pass
                yield Iterate(evaluation, multipliers)
                hessian = evaluation.hessian(multipliers)


class _Step(NamedTuple):
    """Where a step leads: the evaluation there, or None if it is refused."""

    evaluation: object
    multipliers: np.ndarray
    foretold: float  # decrease of the merit by the model
    agreement: float  # actual over foretold decrease


@dataclass(frozen=True, eq=False)
class _Model:
    """Quadratic objective and linear rows around an evaluation.

    With H = L L' the step is ``L^-T (base + Q z)``: rows only feel the directions Q, at most one
    per row, so that the quadratic program has at most as many unknowns as rows.
    """

    evaluation: object
    factor: np.ndarray  # L, lower triangular, (n, n)
    base: np.ndarray  # L' times Newton's step without rows, (n,)
    basis: np.ndarray  # Q, (n, q)
    rows: np.ndarray  # rows by z, (n_rows, q)

    @classmethod
    def at(cls, evaluation, hessian, damping):
        # Unknowns of no curvature (a constant column, a threshold) must not stop the factor.
        floor = 1e-10 * max(hessian.diagonal().max(), 1e-300)
        factor = _cholesky(hessian, damping + floor)
        base, scaled = -_solve(factor, evaluation.grad), _solve(factor, evaluation.jacobian.T)
        if scaled.shape[1] < len(scaled):
            basis, triangle = qr(scaled, mode="economic")
            return cls(evaluation, factor, base, basis, triangle.T)
        return cls(evaluation, factor, base, np.eye(len(scaled)), scaled.T)

    def minimise(self, values, price):
        """Step and multipliers for rows that have the given values at the step 0."""
        problem = self.evaluation.problem
        values = values + self.rows @ (self.basis.T @ self.base)
        z, multipliers = solve_elastic_qp(
            np.ones(self.rows.shape[1]),
            self.rows,
            problem.lower - values,
            problem.upper - values,
            price,
        )
        return _solve(self.factor, self.base + self.basis @ z, trans=1), multipliers

    def violation_after(self, step):
        """Total violation of the linearised rows after a step."""
        evaluation = self.evaluation
        return _total_violation(evaluation, evaluation.values + evaluation.jacobian @ step)

    def steered(self, price, minimiser, tol):
        """A price that takes away most of the violation, or as much as ten times the price would.

        More is not asked for at once: a price far above the multipliers keeps all later steps
        close to rows that bend. Both the price and its minimiser are returned; the one given is
        that of the price given.
        """
        here = self.evaluation
        enough = max(tol, 0.1 * _total_violation(here, here.values))
        while price < _LARGEST_PRICE:
            step, multipliers = minimiser
            left = self.violation_after(step)
            if left <= enough or np.abs(multipliers).max(initial=0.0) < 0.99 * price:
                break
            dearer = self.minimise(self.evaluation.values, 10.0 * price)
            if self.violation_after(dearer[0]) > 0.9 * left:
                break
            price, minimiser = 10.0 * price, dearer
        return price, minimiser

    def advance(self, price, step, multipliers):
        """Take the step, or correct it to second order, if the merit falls as foretold."""
        here = self.evaluation
        problem, linear = here.problem, here.jacobian
        scaled = self.factor.T @ step
        foretold = price * (_total_violation(here, here.values) - self.violation_after(step))
        foretold -= here.grad @ step + scaled @ scaled / 2
        # Differences below the rounding of the merit say nothing.
        noise = 1e-14 * (abs(_merit(here, price)) + 1.0)
        for attempt in range(2):
            there = problem.evaluate(here.x + step)
            decrease = _merit(here, price) - _merit(there, price)
            if decrease >= 0.1 * foretold - noise:
                return _Step(there, multipliers, foretold, decrease / max(foretold, noise))
            if attempt == 0:
                # To second order: the rows as they are at the end of the step.
                step, _ = self.minimise(there.values - linear @ step, price)
        return _Step(None, multipliers, foretold, 0.0)


def _cholesky(hessian, floor):
    """Cholesky factor of a positive matrix plus a multiple of the identity."""
    identity = np.eye(len(hessian))
    factor, failed = dpotrf(hessian + floor * identity, lower=1)
    while failed:
        floor *= 100.0
        factor, failed = dpotrf(hessian + floor * identity, lower=1)
    return factor


def _solve(factor, vectors, trans=0):
    return solve_triangular(factor, vectors, trans=trans, lower=True, check_finite=False)


def _total_violation(evaluation, values):
    problem = evaluation.problem
    above = np.maximum(0.0, values - problem.upper)
    return float((above + np.maximum(0.0, problem.lower - values)).sum())


def _merit(evaluation, price):
    merit = evaluation.fun + price * _total_violation(evaluation, evaluation.values)
    return merit if np.isfinite(merit) else np.inf
