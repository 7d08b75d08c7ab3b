"""Hessians of the Lagrangian for sequential quadratic programming, exact or from secants.

Each has ``root(damping)``, which stands for the L of ``L L' = H + damping * I``: its ``solve`` and
``solve_transposed`` apply the inverses of L and of L' to arrays of shape (n_unknowns, k).
"""

from collections import deque

import numpy as np
from scipy.linalg import eigh, qr, solve_triangular
from scipy.linalg.lapack import dpotrf

from skfair.solvers._certificate import kkt_residual

_STIFFNESSES = (0.1, 1.0, 10.0, 100.0, 1000.0)
"""Curvatures tried along the rows that press; parameters are of standardised columns."""

_NEAR = 1e-3
"""Violation and residual of the optimality conditions from which on exact Hessians are tried."""

_FLOOR = 1e-10
"""Curvature added, relative to an unknown's own; relative to the largest for those that have none:
a constant column, a threshold that enters linearly."""


class ExactHessians:
    """Hessians of the Lagrangian: such as are safe to start with, then those that it has.

    Near an answer Newton's steps with the exact one halve the residual at least; where one does
    not, the answer was further away than thought. One that is only safe, not exact, serves once
    more after a step that has halved the residual (a chord step): curvatures of few people near a
    corner change from step to step, and both steps see the same. So does an exact one for the last
    step, where that is enough.

    Parameters
    ----------
    tol : float
        Residual to be reached.
    """

    def __init__(self, tol):
        self._tol, self._near, self._residual = tol, _NEAR, np.inf
        self._latest, self._is_fresh = None, False

    def __call__(self, iterate):
        """The Hessian after the step that has led to an iterate, as an `ExactHessian`."""
        evaluation, multipliers = iterate.evaluation, iterate.multipliers
        before, self._residual = self._residual, kkt_residual(iterate)
        helped = self._near < self._residual <= before / 2
        # A second step with it shortens the residual by about as much as the first one did.
        is_last = self._residual**2 <= 0.1 * self._tol * before
        if self._is_fresh and (is_last or (helped and evaluation.is_bent_safely)):
            self._residual = max(self._residual, evaluation.violation)
            self._is_fresh = False
            return self._latest
        if before <= self._near and self._residual > before / 2:
            self._near = before / 3
        self._residual = max(self._residual, evaluation.violation)
        is_near = self._residual <= self._near
        self._latest, self._is_fresh = ExactHessian(evaluation, multipliers, is_near), True
        return self._latest


class ExactHessian:
    """The Hessian of the Lagrangian, made positive definite where it is not.

    Parameters
    ----------
    evaluation : Evaluation
        The problem at a point.
    multipliers : ndarray of shape (n_rows,)
        Multipliers of the rows.
    """

    def __init__(self, evaluation, multipliers, is_near=False):
        self._evaluation = evaluation
        self._multipliers = multipliers
        self._matrix = evaluation.hessian(multipliers, is_near)

    def root(self, damping):
        """Cholesky factor of the Hessian plus damping.

        Where it is not positive definite it is first made stiffer along the rows that press: at the
        answer these rows do not move, so the step stays that of Newton (an augmented Lagrangian's
        Hessian; Nocedal and Wright, section 17.3). What is left is lifted as a whole.
        """
        own = self._matrix.diagonal()
        # Units of unknowns may differ by many orders: what is little for one would hold another.
        floor = damping + _FLOOR * np.where(own > 0, own, max(own.max(initial=0.0), 1e-300))
        factor, stiffer = _try_cholesky(self._matrix, floor), self._matrix
        for stiffness in _STIFFNESSES if factor is None else ():
            stiffer = self._matrix + stiffness * self._pressing()
            factor = _try_cholesky(stiffer, floor)
            if factor is not None:
                break
        while factor is None:
            floor = 100.0 * floor
            factor = _try_cholesky(stiffer, floor)
        return CholeskyRoot(factor)

    def _pressing(self):
        """Gram matrix of the gradients of the rows that press."""
        sizes = np.abs(self._multipliers)
        rows = self._evaluation.jacobian[sizes > 1e-3 * sizes.max(initial=0.0)]
        return rows.T @ rows


class CholeskyRoot:
    """A lower triangular L.

    Parameters
    ----------
    factor : ndarray of shape (n, n)
        L, the upper triangle of which is not looked at.
    """

    def __init__(self, factor):
        self._factor = factor

    def solve(self, vectors):
        """Apply the inverse of L."""
        return solve_triangular(self._factor, vectors, lower=True, check_finite=False)

    def solve_transposed(self, vectors):
        """Apply the inverse of L'."""
        return solve_triangular(self._factor, vectors, lower=True, trans="T", check_finite=False)


def _try_cholesky(matrix, lift):
    """Cholesky factor of a matrix plus a diagonal; None if that is not positive definite."""
    lifted = np.array(matrix, order="F")
    lifted.flat[:: len(lifted) + 1] += lift
    factor, failed = dpotrf(lifted, lower=1, overwrite_a=1)
    return None if failed else factor


class Secants:
    """The steps of a run and what the Lagrangian's gradient changed by along them.

    Parameters
    ----------
    memory : int
        Number of steps remembered.
    """

    def __init__(self, memory):
        self._steps = deque(maxlen=memory)
        self._changes = deque(maxlen=memory)
        self._previous = None

    def __call__(self, iterate):
        """The BFGS matrix after the step that has led to an iterate, as a `LowRankHessian`."""
        evaluation, multipliers = iterate.evaluation, iterate.multipliers
        if self._previous is not None:
            step = evaluation.x - self._previous.x
            change = _lagrangian_slope(evaluation, multipliers)
            change -= _lagrangian_slope(self._previous, multipliers)
            self._remember(step, change)
        self._previous = evaluation
        if self._steps:
            return LowRankHessian.of_bfgs(np.array(self._steps).T, np.array(self._changes).T)
        # Without a secant: curvature such that the first step has length 1.
        return LowRankHessian.scaled_identity(
            len(evaluation.x), np.linalg.norm(evaluation.grad) or 1.0
        )

    def _remember(self, step, change):
        """Keep a pair of positive curvature, damped after Powell where it has too little."""
        product, length = step @ change, step @ step
        if self._steps:
            last_step, last_change = self._steps[-1], self._changes[-1]
            scale = (last_change @ last_change) / (last_step @ last_change)
        else:
            scale = max(product / length, 1e-8)
        if product < 0.01 * scale * length:
            mix = 0.99 * scale * length / (scale * length - product)
            change = mix * change + (1.0 - mix) * scale * step
        self._steps.append(step)
        self._changes.append(change)


def _lagrangian_slope(evaluation, multipliers):
    """Gradient of the Lagrangian from the Jacobian that is there."""
    return evaluation.grad + multipliers @ evaluation.jacobian


class LowRankHessian:
    """The matrix ``scale (I - Q Q') + Q diag(values) Q'``, where Q'Q = I.

    Parameters
    ----------
    scale : float
        Curvature of all directions but few, positive.
    vectors : ndarray of shape (n, k)
        Q.
    values : ndarray of shape (k,)
        Curvatures along the columns of Q, positive.
    """

    def __init__(self, scale, vectors, values):
        self._scale = scale
        self._vectors = vectors
        self._values = values

    @classmethod
    def scaled_identity(cls, n, scale):
        """The matrix ``scale * I`` of shape (n, n)."""
        return cls(scale, np.empty((n, 0)), np.empty(0))

    @classmethod
    def of_bfgs(cls, S, Y):
        """The BFGS matrix of steps S and changes Y, both (n, k)."""
        products = S.T @ Y
        diagonal = products.diagonal()
        scale = (Y[:, -1] @ Y[:, -1]) / diagonal[-1]
        lower = np.tril(products, -1)
        middle = np.block([[scale * S.T @ S, lower], [lower.T, -np.diag(diagonal)]])
        basis, triangle = qr(np.hstack((scale * S, Y)), mode="economic")
        small = -triangle @ np.linalg.pinv(middle, hermitian=True) @ triangle.T
        values, rotation = eigh((small + small.T) / 2)
        # Rounding may push a tiny eigenvalue of a positive definite matrix below zero.
        return cls(scale, basis @ rotation, np.maximum(scale + values, 1e-10 * scale))

    def root(self, damping):
        """The symmetric root of the matrix plus damping."""
        return SymmetricRoot(self._scale + damping, self._vectors, self._values + damping)


class SymmetricRoot:
    """The symmetric root of ``scale (I - Q Q') + Q diag(values) Q'``.

    Parameters
    ----------
    scale, vectors, values
        As of `LowRankHessian`.
    """

    def __init__(self, scale, vectors, values):
        self._scale = scale
        self._vectors = vectors
        self._values = values

    def solve(self, vectors):
        """Apply the inverse of the root."""
        flat = 1.0 / np.sqrt(self._scale)
        bent = 1.0 / np.sqrt(self._values) - flat
        projected = self._vectors.T @ vectors
        return flat * vectors + self._vectors @ (bent * projected.T).T

    solve_transposed = solve  # it is symmetric
