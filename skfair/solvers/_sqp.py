"""Methods for smooth problems: sequential quadratic programming, augmented Lagrangian."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from scipy.linalg import eigh, qr
from scipy.linalg.blas import dtrmv
from scipy.linalg.lapack import dpotrf, dtrtrs
from scipy.optimize import minimize

from skfair._problems.evaluation import Evaluation
from skfair._utils.parameters import (
    AtLeastOne,
    NonNegative,
    Positive,
    PositiveInt,
    make_constructor,
)
from skfair.solvers._elastic_qp import solve_active_set, solve_interior_point
from skfair.solvers._solver import Iterate, Solver, kkt_residual

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skfair._problems.problem import Problem
    from skfair._utils.tables import TableLike


# Small convex quadratic programs with penalised violations of their rows.


_MAX_DENSE_BOUNDS = 128
"""Bounds up to which all of them are in every Newton system."""

_MAX_GUESSED_ROWS = 8
"""Rows up to which the active set is guessed first."""


def solve_elastic_qp(
    curvature: np.ndarray,
    rows: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    penalty: float,
    max_complementarity: float = 1e-12,
) -> tuple[np.ndarray, np.ndarray]:
    r"""Minimise a separable quadratic plus a penalty on violations of two-sided rows.

    .. math::

        \min_z \tfrac12 \sum_j h_j z_j^2
        + penalty \sum_r \max(0, a_r z - upper_r, lower_r - a_r z)

    by a primal-dual interior-point method with Mehrotra's corrector (S. Wright, Primal-Dual
    Interior-Point Methods, 1997, chapter 10). The penalty caps the multipliers, so the problem
    always has a solution; contradicting rows share the violation. Returns z and the signed
    multipliers in [-penalty, penalty], positive at upper bounds. ``max_complementarity`` is the
    mean of multiplier times slack at which to stop, relative to the penalty.
    """
    if 0 < len(rows) <= _MAX_GUESSED_ROWS:
        solution = solve_active_set(curvature, rows, lower, upper, penalty)
        if solution is not None:
            return solution
    # All rows, or a working set of many.
    n_bounds = np.count_nonzero(np.isfinite([lower, upper]))
    solve = solve_interior_point if n_bounds <= _MAX_DENSE_BOUNDS else _solve_working_set
    return solve(curvature, rows, lower, upper, penalty, max_complementarity)


def _solve_working_set(
    curvature: np.ndarray,
    rows: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    penalty: float,
    max_complementarity: float,
) -> tuple[np.ndarray, np.ndarray]:
    """The same for many rows, few of them active, by a working set.

    A solution for a subset of the rows that satisfies the others solves the problem. The first
    subset is what z = 0 violates most; rows that a solution violates are added.
    """
    excess = np.maximum(lower, -upper)
    in_set = np.zeros(len(rows), dtype=bool)
    entering = np.argsort(-excess)[: _MAX_DENSE_BOUNDS // 4]
    while len(entering):
        in_set[entering] = True
        multipliers = np.zeros(len(rows))
        z, multipliers[in_set] = solve_interior_point(
            curvature, rows[in_set], lower[in_set], upper[in_set], penalty, max_complementarity
        )
        # Rows beyond a bound by more than rounding enter, at most as many as are there.
        values = rows @ z
        bounds = np.where(values > upper, upper, lower)
        excess = np.where(in_set, 0.0, np.maximum(values - upper, lower - values))
        worst = np.argsort(-excess)[: in_set.sum()]
        entering = worst[excess[worst] > 1e-12 * (1.0 + np.abs(bounds[worst]))]
    return z, multipliers


# Hessians of the Lagrangian for sequential quadratic programming, exact or from secants.
#
# `HessianSchedule` and `LBFGSHessian` map an iterate to a function ``damping -> HessianFactor``.


_STIFFNESSES = (0.1, 1.0, 10.0, 100.0, 1000.0)
"""Curvatures to try along the active rows; parameters are of standardised columns."""


class HessianFactor(NamedTuple):
    """A factor L of ``L L' = H + damping * I``.

    Attributes
    ----------
    solve, solve_transposed : callable
        Apply the inverse of L, or of L', to an array of shape (n_unknowns, k).
    """

    solve: Callable
    solve_transposed: Callable


@dataclass
class HessianSchedule:
    """Choose the Hessian of each step: convexified ones first, exact ones near the answer.

    Near the answer Newton steps with the exact Hessian at least halve the residual; if a step does
    not, the answer was further away. A convexified Hessian is reused once after a step that has
    halved the residual (a chord step): the curvature of the few samples near a breakpoint changes
    from step to step, and reuse keeps it equal for two. An exact one is reused for the last step.
    ``tol`` is the residual to be reached.
    """

    tol: float
    near: float = 1e-3  # violation and residual below which exact Hessians are tried
    residual: float = np.inf
    latest: Callable | None = None
    is_reusable: bool = False

    def __call__(self, iterate: Iterate) -> Callable[[float], HessianFactor]:
        """The Hessian at an iterate, as a function ``damping -> HessianFactor``."""
        evaluation, multipliers = iterate.evaluation, iterate.multipliers
        before = self.residual
        self.residual = kkt_residual(iterate)
        # A chord step pays while the residual halves and the answer is not near.
        has_helped = self.near < self.residual <= before / 2
        # A second step with the same Hessian reduces the residual by about the same factor.
        is_last = self.residual * self.residual <= 0.1 * self.tol * before
        is_useful = is_last or (has_helped and evaluation.is_convexified)
        if self.latest is not None and self.is_reusable and is_useful:
            self.residual = max(self.residual, evaluation.violation)
            self.is_reusable = False
            return self.latest
        # An exact Hessian that did not halve the residual was used too early.
        if before <= self.near and self.residual > before / 2:
            self.near = before / 3
        self.residual = max(self.residual, evaluation.violation)
        is_near = self.residual <= self.near
        matrix = evaluation.hessian(multipliers, is_near)
        self.latest = partial(cholesky_factor, matrix, evaluation, multipliers)
        self.is_reusable = True
        return self.latest


def cholesky_factor(
    matrix: np.ndarray, evaluation: Evaluation, multipliers: np.ndarray, damping: float
) -> HessianFactor:
    """Cholesky factor of a Hessian plus damping, as a `HessianFactor`."""
    factor = _lower_factor(matrix, evaluation, multipliers, damping)
    return HessianFactor(partial(_apply_inverse, factor, 0), partial(_apply_inverse, factor, 1))


def _lower_factor(
    matrix: np.ndarray, evaluation: Evaluation, multipliers: np.ndarray, damping: float = 0.0
) -> np.ndarray:
    """Lower triangular factor of a Hessian plus damping.

    If it is not positive definite, curvature is first added along the active rows: at the answer
    these rows are constant, so the step remains Newton's (the Hessian of an augmented Lagrangian;
    Nocedal and Wright, section 17.3). If that is not enough, a multiple of the diagonal is added.
    """
    diagonal = matrix.diagonal()
    # Curvature is added relative to each unknown, as their units may differ by orders of magnitude;
    # relative to the maximum where there is none, as of a constant column or a threshold.
    largest = max(diagonal.max(initial=0.0), 1e-300)
    floor = damping + 1e-10 * np.where(diagonal > 0, diagonal, largest)
    # First as it is, but for a floor.
    factor = _try_cholesky(matrix, floor)
    stiffened = matrix
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
    return factor


def _active_gram(evaluation: Evaluation, multipliers: np.ndarray) -> np.ndarray:
    """Gram matrix of the gradients of the active rows."""
    sizes = np.abs(multipliers)
    # Rows whose multipliers are tiny beside the largest do not bind.
    rows = evaluation.jacobian[sizes > 1e-3 * sizes.max(initial=0.0)]
    return rows.T @ rows


def _apply_inverse(factor: np.ndarray, transpose: int, vectors: np.ndarray) -> np.ndarray:
    """Apply the inverse of a lower triangular factor, whose upper triangle is not referenced."""
    return dtrtrs(factor, vectors, lower=1, trans=transpose)[0]


def _try_cholesky(matrix: np.ndarray, shift: np.ndarray) -> np.ndarray | None:
    """Cholesky factor of a matrix plus a diagonal; None if that is not positive definite."""
    shifted = np.array(matrix, order="F")
    shifted.flat[:: len(shifted) + 1] += shift
    factor, failed = dpotrf(shifted, lower=1, overwrite_a=1)
    return None if failed else factor


class LBFGSHessian:
    """The last ``memory`` steps and the changes of the Lagrangian's gradient along them.

    With ``factorizes`` they are stored in the coordinates of a factor of the Hessian: that of equal
    curvature of all samples first, and once, near the answer, that of the Hessian there.
    """

    def __init__(self, memory: int, factorizes: bool = False) -> None:
        self._steps: deque[np.ndarray] = deque(maxlen=memory)
        self._changes: deque[np.ndarray] = deque(maxlen=memory)
        self._previous: Evaluation | None = None
        self._factorizes, self._is_near = factorizes, False
        self._factor: np.ndarray | None = None

    def __call__(self, iterate: Iterate) -> Callable:
        """The BFGS matrix at an iterate, as a function ``damping -> HessianFactor``."""
        evaluation, multipliers = iterate.evaluation, iterate.multipliers
        if self._factorizes and self._replaces_factor(iterate):
            self._steps.clear()
            self._changes.clear()
        elif self._previous is not None:
            # Change of the Lagrangian's gradient along the last step, at the same multipliers.
            step = evaluation.x - self._previous.x
            change = _lagrangian_gradient(evaluation, multipliers)
            change -= _lagrangian_gradient(self._previous, multipliers)
            if self._factorizes:
                step = dtrmv(self._factor, step, lower=1, trans=1)
                change = _apply_inverse(self._factor, 0, change)
            self._remember(step, change)
        self._previous = evaluation
        if self._steps:
            scale, basis, values = bfgs_matrix(np.array(self._steps).T, np.array(self._changes).T)
            return self._factor_by(scale, basis, values)
        # Without secant pairs: the factor, or a multiple of the identity such that the first step
        # has length 1.
        scale = 1.0 if self._factorizes else float(np.linalg.norm(evaluation.grad)) or 1.0
        return self._factor_by(scale, np.empty((len(evaluation.x), 0)), np.empty(0))

    def _replaces_factor(self, iterate: Iterate) -> bool:
        """Factorise the Hessian at the start and once near the answer; whether that was done."""
        evaluation, multipliers = iterate.evaluation, iterate.multipliers
        is_near = max(kkt_residual(iterate), evaluation.violation) <= 5e-3
        if self._factor is not None and (self._is_near or not is_near):
            return False
        self._is_near = is_near
        if is_near:
            matrix = evaluation.hessian(multipliers, is_near=True, is_rough=True)
        else:
            matrix = reference_hessian(evaluation)
        self._factor = _lower_factor(matrix, evaluation, multipliers)
        return True

    def _factor_by(self, *matrix: Any) -> Callable:
        """The function ``damping -> HessianFactor`` of a matrix in the secants' coordinates."""
        inner = partial(symmetric_factor, *matrix)
        return partial(_compose, self._factor, inner) if self._factorizes else inner

    def _remember(self, step: np.ndarray, change: np.ndarray) -> None:
        """Store a pair of step and change, by Powell's damping of sufficient curvature."""
        product = step @ change
        length = step @ step
        # Curvature to expect: that of the last pair, or of this one if it is the first.
        if self._steps:
            last_step = self._steps[-1]
            last_change = self._changes[-1]
            scale = (last_change @ last_change) / (last_step @ last_change)
        else:
            scale = max(product / length, 1e-8)
        if product < 0.01 * scale * length:
            # Mix in the expected change just so far that curvature along the step is sufficient.
            damping = 0.99 * scale * length / (scale * length - product)
            change = damping * change + (1.0 - damping) * scale * step
        self._steps.append(step)
        self._changes.append(change)


def _compose(reference: np.ndarray, factor_at: Callable, damping: float) -> HessianFactor:
    """The product of a triangular factor and a symmetric one, as a `HessianFactor`."""
    inner = factor_at(damping)
    return HessianFactor(
        lambda vectors: inner.solve(_apply_inverse(reference, 0, vectors)),
        lambda vectors: _apply_inverse(reference, 1, inner.solve_transposed(vectors)),
    )


def reference_hessian(evaluation: Evaluation) -> np.ndarray:
    """Hessian of loss and penalty if all samples had the mean curvature."""
    problem = evaluation.problem
    matrix = np.zeros((len(evaluation.x), len(evaluation.x)))
    p = problem.n_parameters
    mean_curvature = evaluation.loss_curvature.sum()
    matrix[:p, :p] = mean_curvature * problem.model.reference_gram + np.diag(problem.ridge)
    return matrix


def _lagrangian_gradient(evaluation: Evaluation, multipliers: np.ndarray) -> np.ndarray:
    """Gradient of the Lagrangian from the Jacobian, which the model needs anyway."""
    return evaluation.grad + multipliers @ evaluation.jacobian


def bfgs_matrix(S: np.ndarray, Y: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
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


def symmetric_factor(
    scale: float, basis: np.ndarray, values: np.ndarray, damping: float
) -> HessianFactor:
    """The symmetric root of ``scale (I - Q Q') + Q diag(values) Q'`` plus damping."""
    # Inverse root on the complement of Q, corrected within its span.
    flat = 1.0 / np.sqrt(scale + damping)
    extra = 1.0 / np.sqrt(values + damping) - flat

    def solve(vectors: TableLike) -> np.ndarray:
        return flat * vectors + basis @ (extra * (basis.T @ vectors).T).T

    return HessianFactor(solve, solve)


# Sequential quadratic programming.


_LARGEST_PENALTY = 1e5  # a run with a steeper one would end at rounding errors

_FLAT = 1e-9
"""Derivative of a row up to which it does not depend on an auxiliary unknown."""


@make_constructor
class SQP(Solver):
    r"""Default solver of linear models: sequential quadratic programming (SQP).

    Each iteration minimises a quadratic model of the Lagrangian subject to the linearised rows,
    whose violation is penalised (elastic mode), so that every sub-problem has a solution:

    .. math::

        \min_d \nabla f^T d + \tfrac12 d^T (H + \mu I) d
        + \pi \sum_r \max(0, (c + J d)_r - upper_r, lower_r - (c + J d)_r)

    over all unknowns. A step is taken if it lowers the merit :math:`f + \pi \sum_r excess_r` by a
    tenth of the predicted reduction, if necessary after a second-order correction; otherwise the
    damping :math:`\mu` grows (Levenberg). The penalty :math:`\pi` grows if that brings the
    linearised rows nearer to their bounds. Free thresholds that a step moves beyond all scores are
    placed among them again, as no derivative leads back from there.

    H is the exact Hessian of the Lagrangian, one weighted Gram matrix. Percentile constraints,
    which are differences of convex functions, contribute the curvature of their convex parts. If H
    is not positive definite, curvature is added along the active rows. For thousands of parameters
    H is better estimated from the last steps s and the changes y of the Lagrangian's gradient
    (limited-memory BFGS; [1]_, (7.24)),

    .. math::

        H = \theta I - \begin{pmatrix} \theta S & Y \end{pmatrix}
        \begin{pmatrix} \theta S^T S & L \\ L^T & -D \end{pmatrix}^{-1}
        \begin{pmatrix} \theta S^T \\ Y^T \end{pmatrix},

    with D and L the diagonal and the strictly lower part of :math:`S^T Y`; Powell's damping
    ([1]_, Procedure 18.2) keeps it positive definite. An iteration then costs O(memory\ :sup:`2` n)
    for n unknowns in addition to the gradients, instead of a Gram matrix and O(n\ :sup:`3`).

    Between both are "secants": H is factorised twice, :math:`H \approx L L^T`, at the start with
    equal curvature of all samples and once near the answer, and the formula is applied to
    :math:`L^T s` and :math:`L^{-1} y`. Factors are of Gram matrices in single precision, as secants
    correct them. ``solver="sqp"`` is that for the logistic loss of 200 dense columns or more,
    without ``confidence_level``.

    Read more in the :ref:`guide <solvers>`.

    Parameters
    ----------
    max_iter : int, default=200
        Maximum number of iterations; 4 to 10 are usual with the exact Hessian, 10 to 20 with
        "secants", hundreds with "lbfgs".
    tol : float, default=1e-6
        Maximum violation and maximum residual of the optimality conditions at the answer.
    hessian : {"exact", "lbfgs", "secants"}, default="exact"
        Source of H.
    memory : int, default=20
        Number of steps that "lbfgs" and "secants" store.

    References
    ----------
    .. [1] J. Nocedal and S. Wright, "Numerical Optimization", 2nd edition, 2006, chapters 7, 18.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.classification import ConstrainedERMClassifier
    >>> from skfair.solvers import SQP
    >>> groups = np.tile(["a", "b"], 50)
    >>> X = (np.linspace(-1, 1, 100) + 0.2 * (groups == "b"))[:, np.newaxis]
    >>> model = ConstrainedERMClassifier(tolerance=0.1, alpha=0.1, solver=SQP(tol=1e-8))
    >>> model.fit(X, X[:, 0] > 0, sensitive_features=groups).constraint_violation_
    0.0
    """

    max_iter: PositiveInt = 200
    tol: NonNegative = 1e-6
    hessian: Literal["exact", "lbfgs", "secants"] = "exact"
    memory: PositiveInt = 20

    advice = "Raise max_iter or tol, or give the problem more curvature by a larger alpha."

    @property
    def requires(self) -> tuple[str, ...]:
        """The exact Hessian needs Gram matrices of the model, secants rough ones."""
        return {"exact": ("gram",), "secants": ("gram", "rough gram"), "lbfgs": ()}[self.hessian]

    def _iterate(
        self, problem: Problem, x: np.ndarray, random_state: np.random.RandomState
    ) -> Iterator[Iterate]:
        if self.hessian == "exact":
            hessian_at: Callable[[Iterate], Callable] = HessianSchedule(self.tol)
        else:
            hessian_at = LBFGSHessian(self.memory, self.hessian == "secants")
        multipliers = np.zeros(len(problem.lower))
        penalty = 1.0
        damping = 0.0
        evaluation = problem.evaluate(x, multipliers)
        was_placed = False
        iterate = _make_iterate(evaluation, multipliers)
        yield iterate
        root_at = hessian_at(iterate)
        while damping <= 1e8 and penalty <= _LARGEST_PENALTY:
            # Sub-problem: the quadratic model with elastic rows.
            model = _QuadraticModel(evaluation, root_at(damping))
            step = model.minimize(evaluation.values, penalty)
            if damping == 0.0:  # a damped step stays away from the rows at any penalty
                penalty, step = model.raise_penalty(penalty, step, self.tol)
            # Merit: take the step, correct it, or damp the next one.
            predicted_reduction = model.predicted_reduction(penalty, step)
            if predicted_reduction <= 1e-6 * self.tol and evaluation.violation > self.tol:
                penalty *= 10.0  # no improvement is predicted, but the rows are violated
                continue
            new_evaluation, ratio = model.advance(penalty, step, predicted_reduction)
            if new_evaluation is None:
                damping = max(10.0 * damping, 1e-3)
            else:
                if ratio > 0.5:
                    damping = damping / 4.0 if damping > 1e-4 else 0.0
                evaluation, multipliers = new_evaluation, step.multipliers
                # Thresholds that the step moved beyond all scores are placed again, once even where
                # the violation is larger there: giving up a few rows may have been the least.
                placed = _place_flat_unknowns(evaluation, multipliers, self.tol)
                is_lower = placed.excess.sum() < evaluation.excess.sum()
                if placed is not evaluation and (is_lower or not was_placed):
                    evaluation, was_placed = placed, True
                iterate = _make_iterate(evaluation, multipliers)
                yield iterate
                root_at = hessian_at(iterate)


make_sqp_lbfgs = partial(SQP, max_iter=2000, hessian="lbfgs")
"""SQP without a Hessian, for thousands of parameters."""


def _make_iterate(evaluation: Evaluation, multipliers: np.ndarray) -> Iterate:
    """An iterate whose certificate needs no further pass, as the next model needs the Jacobian."""
    gradient = evaluation.grad + (multipliers @ evaluation.jacobian if multipliers.any() else 0.0)
    return Iterate(evaluation, multipliers, lagrangian_gradient=gradient)


def _place_flat_unknowns(evaluation: Evaluation, multipliers: np.ndarray, tol: float) -> Evaluation:
    """The evaluation, with auxiliary unknowns that no row depends on placed as at a start.

    A step may move a threshold beyond all scores. All shares above it are 0 or 1 there, and no
    derivative leads back to where its rows can be kept.
    """
    if evaluation.violation <= tol or not len(evaluation.aux):
        return evaluation
    problem = evaluation.problem
    p = problem.n_parameters
    is_flat = (np.abs(evaluation.jacobian[:, p:]) <= _FLAT).all(axis=0)
    if not is_flat.any():
        return evaluation
    aux = problem.initial_point(evaluation.parameters)[p:]
    x = np.append(evaluation.parameters, np.where(is_flat, aux, evaluation.aux))
    return problem.evaluate(x, multipliers)


class _Step(NamedTuple):
    """Minimiser of a quadratic model."""

    direction: np.ndarray
    multipliers: np.ndarray
    quadratic_term: float  # of the model, direction' H direction / 2
    violation: float  # of the linearised rows after the step, in total


class _QuadraticModel:
    """Quadratic objective and linear rows around an evaluation.

    With H = L L' (``factor``) the step is ``L^-T (base + Q z)``. Rows depend on the directions Q
    only, at most one per row, so the quadratic program has at most as many unknowns as rows.
    """

    def __init__(self, evaluation: Evaluation, factor: HessianFactor) -> None:
        self.evaluation = evaluation
        self.factor = factor
        self.base = -factor.solve(evaluation.grad)  # L' times the Newton step without rows
        # With L L' = H the model is |z|^2 / 2 plus a linear term, in z = L' d.
        scaled = factor.solve(evaluation.jacobian.T)
        self.basis = np.eye(len(scaled))
        triangle = scaled
        # Only the component of z in the span of the rows matters to them: a QR basis of it.
        if scaled.shape[1] < len(scaled):
            self.basis, triangle = np.linalg.qr(scaled)
        self.rows = triangle.T  # derivatives by z

    def minimize(self, values: np.ndarray, penalty: float) -> _Step:
        """The step for rows of these values at the step 0, by an elastic quadratic program."""
        evaluation, problem = self.evaluation, self.evaluation.problem
        # Rows at the Newton step without rows, from which z is counted.
        values = values + self.rows @ (self.basis.T @ self.base)
        curvature = np.ones(self.rows.shape[1])
        z, multipliers = solve_elastic_qp(
            curvature,
            self.rows,
            lower=problem.lower - values,
            upper=problem.upper - values,
            penalty=penalty,
        )
        scaled = self.base + self.basis @ z
        direction = self.factor.solve_transposed(scaled)
        values = evaluation.values + evaluation.jacobian @ direction
        violation = float(np.maximum(0.0, problem.one_sided.values(values)).sum())
        return _Step(direction, multipliers, scaled @ scaled / 2, violation)

    def predicted_reduction(self, penalty: float, step: _Step) -> float:
        """Reduction of the merit in the model."""
        current = self.evaluation
        reduction = float(current.excess.sum()) - step.violation
        return penalty * reduction - current.grad @ step.direction - step.quadratic_term

    def raise_penalty(self, penalty: float, step: _Step, tol: float) -> tuple[float, _Step]:
        """The penalty and its step, or the tenfold penalty if that removes violation.

        A penalty far above the multipliers keeps all later steps close to curved rows. It is
        raised once at most, as multipliers far from the answer say little about those at it.
        """
        current = self.evaluation
        # Most of the violation is removed, or multipliers below the penalty: it does not bind.
        is_enough = step.violation <= max(tol, 0.1 * float(current.excess.sum()))
        is_enough |= np.abs(step.multipliers).max(initial=0.0) < 0.99 * penalty
        if is_enough or penalty >= _LARGEST_PENALTY:
            return penalty, step
        steeper = self.minimize(current.values, 10.0 * penalty)
        if steeper.violation > 0.9 * step.violation:
            return penalty, step
        return 10.0 * penalty, steeper

    @np.errstate(over="ignore", invalid="ignore")  # of steps so long that their merit is infinite
    def advance(
        self, penalty: float, step: _Step, predicted_reduction: float
    ) -> tuple[Evaluation | None, float]:
        """The evaluation after the step or its correction, and actual over predicted reduction.

        The evaluation is None if the merit falls by less than a tenth of the prediction.
        """
        current = self.evaluation
        merit = _merit(current.fun, current.excess, penalty)
        # Differences below the rounding error of the merit are ignored.
        noise = 1e-14 * (abs(merit) + 1.0)
        for attempt in ("step", "correction"):
            trial = current.problem.evaluate(current.x + step.direction, step.multipliers)
            reduction = merit - _merit(trial.fun, trial.excess, penalty)
            if reduction >= 0.1 * predicted_reduction - noise:
                return trial, reduction / max(predicted_reduction, noise)
            if attempt == "step":
                # Second-order correction: the rows evaluated at the end of the step.
                linear = current.jacobian @ step.direction
                step = self.minimize(trial.values - linear, penalty)
        return None, 0.0


def _merit(objective: float, excess: np.ndarray, penalty: float) -> float:
    """Objective plus the penalty of the total violation; infinite if it is unknown."""
    merit = objective + penalty * float(excess.sum())
    return merit if np.isfinite(merit) else np.inf


# Augmented Lagrangian method with inner problems solved by L-BFGS.


@make_constructor
class AugmentedLagrangian(Solver):
    r"""Solver that raises penalties and multipliers until the constraints hold.

    This is the augmented Lagrangian method, or method of multipliers.

    With the rows written as :math:`G \le 0`, each iteration minimises by L-BFGS

    .. math::

        L_\rho(x; \lambda) = F(x) + \frac{1}{2\rho} \sum_i
        \bigl([\lambda_i + \rho\, G_i(x)]_+^2 - \lambda_i^2\bigr),

    then sets :math:`\lambda \leftarrow [\lambda + \rho\, G(x)]_+` and raises :math:`\rho` unless
    infeasibility and complementarity, :math:`\max_i |\max(G_i, -\lambda_i/\rho)|`, have decreased
    enough ([1]_, Algorithm 17.4; [2]_, Algorithm 4.1).

    Read more in the :ref:`guide <solvers>`.

    Parameters
    ----------
    max_iter : int, default=100
        Maximum number of iterations, that is updates of the multipliers.
    tol : float, default=1e-6
        Maximum violation and maximum residual of the optimality conditions at the answer.
    rho : float, default=10.0
        Initial penalty :math:`\rho`.
    growth : float, default=4.0
        Factor of increases of the penalty.
    inner_iter : int, default=1000
        Maximum number of L-BFGS steps per iteration.

    References
    ----------
    .. [1] J. Nocedal and S. Wright, "Numerical Optimization", 2nd edition, 2006, chapter 17.
    .. [2] E. G. Birgin and J. M. Martinez, "Practical Augmented Lagrangian Methods for Constrained
       Optimization", 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.classification import ConstrainedERMClassifier
    >>> from skfair.solvers import AugmentedLagrangian
    >>> groups = np.tile(["a", "b"], 50)
    >>> X = (np.linspace(-1, 1, 100) + 0.2 * (groups == "b"))[:, np.newaxis]
    >>> model = ConstrainedERMClassifier(
    ...     tolerance=0.1, alpha=0.1, solver=AugmentedLagrangian(rho=1.0)
    ... )
    >>> model.fit(X, X[:, 0] > 0, sensitive_features=groups).constraint_violation_
    0.0
    """

    max_iter: PositiveInt = 100
    tol: NonNegative = 1e-6
    rho: Positive = 10.0
    growth: AtLeastOne = 4.0
    inner_iter: PositiveInt = 1000

    def _iterate(
        self, problem: Problem, x: np.ndarray, random_state: np.random.RandomState
    ) -> Iterator[Iterate]:
        one_sided = problem.one_sided
        duals = np.zeros(len(one_sided.rows))
        rho = self.rho
        evaluation = problem.evaluate(x)
        infeasibility = np.inf
        accuracy = 1e-2
        while True:
            yield Iterate(evaluation, one_sided.multipliers(duals))
            # Minimise the augmented Lagrangian more and more accurately.
            accuracy = max(0.1 * accuracy, 0.1 * self.tol)
            evaluation = self._minimize(evaluation, one_sided, duals, rho, accuracy)
            G = one_sided.values(evaluation.values)
            residual = np.abs(np.maximum(G, -duals / rho)).max(initial=0.0)
            duals = np.maximum(0.0, duals + rho * G)  # first-order multiplier update
            # Raise the penalty; residuals below the tolerance are rounding errors.
            if residual > max(0.25 * infeasibility, 0.1 * self.tol):
                rho *= self.growth
            infeasibility = residual

    def _minimize(
        self,
        initial_evaluation: Evaluation,
        one_sided: Any,
        duals: np.ndarray,
        rho: float,
        accuracy: float,
    ) -> Evaluation:
        """Minimise the augmented Lagrangian by L-BFGS up to an accuracy of its gradient."""
        problem = initial_evaluation.problem

        def evaluate(x: np.ndarray) -> tuple[float, np.ndarray]:
            evaluation = problem.evaluate(x)
            # (|[duals + rho G]_+|^2 - |duals|^2) / (2 rho), whose gradient is that of the
            # Lagrangian there.
            next_duals = np.maximum(0.0, duals + rho * one_sided.values(evaluation.values))
            value = evaluation.fun + (next_duals @ next_duals - duals @ duals) / (2.0 * rho)
            return value, evaluation.lagrangian_gradient(one_sided.multipliers(next_duals))

        options = {"maxiter": self.inner_iter, "gtol": accuracy, "ftol": 1e-15, "maxcor": 20}
        solution = minimize(
            evaluate, initial_evaluation.x, jac=True, method="L-BFGS-B", options=options
        )
        return problem.evaluate(solution.x)
