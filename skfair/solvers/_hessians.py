"""Hessians of the Lagrangian for sequential quadratic programming, exact or from secants.

`ExactHessians` and `Secants` map an iterate to a function ``damping -> Root``.
"""

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh, qr
from scipy.linalg.lapack import dpotrf, dtrtrs

from skfair.solvers._certificate import kkt_residual

_STIFFNESSES = (0.1, 1.0, 10.0, 100.0, 1000.0)
"""Curvatures to try along the active rows; parameters are of standardised columns."""

_NEAR = 1e-3
"""Violation and residual of the optimality conditions below which exact Hessians are tried."""

_FLOOR = 1e-10
"""Curvature added, relative to that of the unknown; relative to the maximum for unknowns without
curvature, such as a constant column or a threshold that enters linearly."""


class Root(NamedTuple):
    """A factor L of ``L L' = H + damping * I``.

    Attributes
    ----------
    solve, solve_transposed : callable
        Apply the inverse of L, or of L', to an array of shape (n_unknowns, k).
    """

    solve: Callable
    solve_transposed: Callable


class ExactHessians:
    """Hessians of the Lagrangian: convexified ones first, exact ones near the answer.

    Near the answer Newton steps with the exact Hessian at least halve the residual; if a step does
    not, the answer was further away. A convexified Hessian is reused once after a step that has
    halved the residual (a chord step): the curvature of the few samples near a breakpoint changes
    from step to step, and reuse keeps it equal for two. An exact one is reused for the last step.
    ``tol`` is the residual to be reached.
    """

    def __init__(self, tol):
        self._tol, self._near, self._residual = tol, _NEAR, np.inf
        self._latest, self._is_reusable = None, False

    def __call__(self, iterate):
        """The Hessian at an iterate, as a function ``damping -> Root``."""
        evaluation, multipliers = iterate.evaluation, iterate.multipliers
        before, self._residual = self._residual, kkt_residual(iterate)
        # A chord step pays while the residual halves and the answer is not near.
        has_helped = self._near < self._residual <= before / 2
        # A second step with the same Hessian reduces the residual by about the same factor.
        is_last = self._residual**2 <= 0.1 * self._tol * before
        if self._is_reusable and (is_last or (has_helped and evaluation.is_convexified)):
            self._residual = max(self._residual, evaluation.violation)
            self._is_reusable = False
            return self._latest
        # An exact Hessian that did not halve the residual was used too early.
        if before <= self._near and self._residual > before / 2:
            self._near = before / 3
        self._residual = max(self._residual, evaluation.violation)
        is_near = self._residual <= self._near
        matrix = evaluation.hessian(multipliers, is_near)
        self._latest = partial(cholesky_root, matrix, evaluation, multipliers)
        self._is_reusable = True
        return self._latest


def cholesky_root(matrix, evaluation, multipliers, damping):
    """Cholesky factor of a Hessian plus damping, as a `Root`.

    If it is not positive definite, curvature is first added along the active rows: at the answer
    these rows are constant, so the step remains Newton's (the Hessian of an augmented Lagrangian;
    Nocedal and Wright, section 17.3). If that is not enough, a multiple of the diagonal is added.
    """
    diagonal = matrix.diagonal()
    # Relative to each unknown, as their units may differ by orders of magnitude.
    largest = max(diagonal.max(initial=0.0), 1e-300)
    floor = damping + _FLOOR * np.where(diagonal > 0, diagonal, largest)
    # First as it is, but for a floor.
    factor, stiffened = _try_cholesky(matrix, floor), matrix
    # Add curvature along the active rows.
    for stiffness in _STIFFNESSES if factor is None else ():
        stiffened = matrix + stiffness * _active_gram(evaluation, multipliers)
        factor = _try_cholesky(stiffened, floor)
        if factor is not None:
            break
    # Add curvature in all directions.
    while factor is None:
        floor = 100.0 * floor
        factor = _try_cholesky(stiffened, floor)
    return Root(partial(_apply_inverse, factor, 0), partial(_apply_inverse, factor, 1))


def _active_gram(evaluation, multipliers):
    """Gram matrix of the gradients of the active rows."""
    sizes = np.abs(multipliers)
    # Rows whose multipliers are tiny beside the largest do not bind.
    rows = evaluation.jacobian[sizes > 1e-3 * sizes.max(initial=0.0)]
    return rows.T @ rows


def _apply_inverse(factor, transpose, vectors):
    """Apply the inverse of a lower triangular factor, whose upper triangle is not referenced."""
    return dtrtrs(factor, vectors, lower=1, trans=transpose)[0]


def _try_cholesky(matrix, shift):
    """Cholesky factor of a matrix plus a diagonal; None if that is not positive definite."""
    shifted = np.array(matrix, order="F")
    shifted.flat[:: len(shifted) + 1] += shift
    factor, failed = dpotrf(shifted, lower=1, overwrite_a=1)
    return None if failed else factor


class Secants:
    """The last ``memory`` steps and the changes of the Lagrangian's gradient along them."""

    def __init__(self, memory):
        self._steps = deque(maxlen=memory)
        self._changes = deque(maxlen=memory)
        self._previous = None

    def __call__(self, iterate):
        """The BFGS matrix at an iterate, as a function ``damping -> Root``."""
        evaluation, multipliers = iterate.evaluation, iterate.multipliers
        if self._previous is not None:
            # Change of the Lagrangian's gradient along the last step, at the same multipliers.
            step = evaluation.x - self._previous.x
            change = _lagrangian_gradient(evaluation, multipliers)
            change -= _lagrangian_gradient(self._previous, multipliers)
            self._remember(step, change)
        self._previous = evaluation
        if self._steps:
            secants = np.array(self._steps).T, np.array(self._changes).T
            return partial(symmetric_root, *bfgs_matrix(*secants))
        # Without secant pairs: a multiple of the identity such that the first step has length 1.
        scale = np.linalg.norm(evaluation.grad) or 1.0
        return partial(symmetric_root, scale, np.empty((len(evaluation.x), 0)), np.empty(0))

    def _remember(self, step, change):
        """Store a pair of step and change, by Powell's damping of sufficient curvature."""
        product, length = step @ change, step @ step
        # Curvature to expect: that of the last pair, or of this one if it is the first.
        if self._steps:
            last_step, last_change = self._steps[-1], self._changes[-1]
            scale = (last_change @ last_change) / (last_step @ last_change)
        else:
            scale = max(product / length, 1e-8)
        if product < 0.01 * scale * length:
            # Mix in the expected change just so far that curvature along the step is sufficient.
            damping = 0.99 * scale * length / (scale * length - product)
            change = damping * change + (1.0 - damping) * scale * step
        self._steps.append(step)
        self._changes.append(change)


def _lagrangian_gradient(evaluation, multipliers):
    """Gradient of the Lagrangian from the Jacobian, which the model needs anyway."""
    return evaluation.grad + multipliers @ evaluation.jacobian


def bfgs_matrix(S, Y):
    """The BFGS matrix of steps S and changes Y, both (n, k); (7.24) of Nocedal and Wright.

    It is ``scale (I - Q Q') + Q diag(values) Q'`` with Q'Q = I; the result is scale, Q and values.
    """
    # theta: the curvature of the last pair. L and D: the lower part and diagonal of S'Y.
    products = S.T @ Y
    diagonal = products.diagonal()
    scale = (Y[:, -1] @ Y[:, -1]) / diagonal[-1]
    lower = np.tril(products, -1)
    middle = np.block([[scale * S.T @ S, lower], [lower.T, -np.diag(diagonal)]])
    # Eigendecomposition of the low-rank part.
    basis, triangle = qr(np.hstack((scale * S, Y)), mode="economic")
    small = -triangle @ np.linalg.pinv(middle, hermitian=True) @ triangle.T
    values, rotation = eigh((small + small.T) / 2)
    # Rounding may make a small eigenvalue of a positive definite matrix negative.
    return scale, basis @ rotation, np.maximum(scale + values, 1e-10 * scale)


def symmetric_root(scale, basis, values, damping):
    """The symmetric root of ``scale (I - Q Q') + Q diag(values) Q'`` plus damping, as a `Root`."""
    # Inverse root on the complement of Q, corrected within its span.
    flat = 1.0 / np.sqrt(scale + damping)
    extra = 1.0 / np.sqrt(values + damping) - flat

    def solve(vectors):
        return flat * vectors + basis @ (extra * (basis.T @ vectors).T).T

    return Root(solve, solve)
