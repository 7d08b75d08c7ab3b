"""Sequential quadratic programming."""

from functools import partial
from numbers import Integral
from typing import NamedTuple

import numpy as np
from scipy.linalg import qr

from skfair.solvers._elastic_qp import solve_elastic_qp
from skfair.solvers._hessians import ExactHessians, Secants
from skfair.solvers._solver import Iterate, Solver
from skfair.utils._sklearn import Interval, StrOptions

_FIRST_PENALTY = 1.0
_LARGEST_PENALTY = 1e5
_FIRST_DAMPING = 1e-3
_LEAST_DAMPING = 1e-4
_LARGEST_DAMPING = 1e8


class SQP(Solver):
    r"""Sequential quadratic programming.

    Each iteration minimises a quadratic model of the Lagrangian subject to the linearised rows,
    which may yield at a price (elastic mode), so that every sub-problem has an answer:

    .. math::

        \min_d \nabla f^T d + \tfrac12 d^T (H + \mu I) d
        + \pi \sum_r \max(0, (c + J d)_r - upper_r, lower_r - (c + J d)_r)

    over all unknowns. A step is taken if it lowers the merit :math:`f + \pi \sum_r excess_r` by a
    tenth of the predicted reduction, if need be after a correction to second order; else the
    damping :math:`\mu` grows (Levenberg). The penalty :math:`\pi` grows where that brings the
    linearised rows nearer to their bounds.

    H is the exact Hessian of the Lagrangian, one weighted Gram matrix, as the constraint gives its
    part: percentile constraints, differences of convex functions, give the curvature of their
    convex parts. Where H is not positive definite it is made stiffer along the rows that press. For
    thousands of parameters H is better taken from the last steps s and the changes y of the
    Lagrangian's gradient (limited-memory BFGS; [1]_, (7.24)),

    .. math::

        H = \theta I - \begin{pmatrix} \theta S & Y \end{pmatrix}
        \begin{pmatrix} \theta S^T S & L \\ L^T & -D \end{pmatrix}^{-1}
        \begin{pmatrix} \theta S^T \\ Y^T \end{pmatrix},

    with D and L the diagonal and the strictly lower part of :math:`S^T Y`; Powell's damping
    ([1]_, Procedure 18.2) keeps it positive definite. An iteration then costs O(memory\ :sup:`2` n)
    for n unknowns beside the gradients, in place of a Gram matrix and O(n\ :sup:`3`).

    Parameters
    ----------
    max_iter : int, default=200
        Most iterations; 4 to 10 are usual with the exact Hessian, hundreds with "lbfgs".
    tol : float, default=1e-6
        Largest violation and largest residual of the optimality conditions at the answer.
    hessian : {"exact", "lbfgs"}, default="exact"
        Where H comes from.
    memory : int, default=20
        Number of steps that "lbfgs" remembers.

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

    _parameter_constraints = {
        **Solver._parameter_constraints,
        "hessian": [StrOptions({"exact", "lbfgs"})],
        "memory": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, max_iter=200, tol=1e-6, hessian="exact", memory=20):
        self.max_iter = max_iter
        self.tol = tol
        self.hessian = hessian
        self.memory = memory

    advice = "Raise max_iter or tol, or give the problem more curvature by a larger alpha."

    @property
    def requires(self):
        """The exact Hessian needs Gram matrices of the model."""
        return ("gram",) if self.hessian == "exact" else ()

    def _iterate(self, problem, x, random_state):
        hessian_at = ExactHessians(self.tol) if self.hessian == "exact" else Secants(self.memory)
        evaluation, multipliers = problem.evaluate(x), np.zeros(len(problem.lower))
        penalty, damping = _FIRST_PENALTY, 0.0
        iterate = _expanded(evaluation, multipliers)
        yield iterate
        hessian = hessian_at(iterate)
        while damping <= _LARGEST_DAMPING and penalty <= _LARGEST_PENALTY:
            # Sub-problem: the quadratic model with elastic rows.
            model = _QuadraticModel(evaluation, hessian.root(damping))
            step = model.minimise(evaluation.values, penalty)
            if damping == 0.0:  # a damped step falls short of the rows at any penalty
                penalty, step = model.steered(penalty, step, self.tol)
            # Merit: take the step, correct it, or damp the next one.
            predicted_reduction = model.predicted_reduction(penalty, step)
            if predicted_reduction <= 1e-6 * self.tol and evaluation.violation > self.tol:
                penalty *= 10.0  # no way to improve, and the rows are not kept
                continue
            found, ratio = model.advance(penalty, step, predicted_reduction)
            if found is None:
                damping = max(10.0 * damping, _FIRST_DAMPING)
            else:
                if ratio > 0.5:
                    damping = damping / 4.0 if damping > _LEAST_DAMPING else 0.0
                evaluation, multipliers = found, step.multipliers
                iterate = _expanded(evaluation, multipliers)
                yield iterate
                hessian = hessian_at(iterate)


sqp_lbfgs = partial(SQP, max_iter=2000, hessian="lbfgs")
"""SQP without a Hessian, for thousands of parameters."""


def _expanded(evaluation, multipliers):
    """An iterate whose certificate costs no further pass: the next model needs the Jacobian too."""
    gradient = evaluation.grad + multipliers @ evaluation.jacobian
    return Iterate(evaluation, multipliers, lagrangian_gradient=gradient)


class _Step(NamedTuple):
    """Minimiser of a quadratic model."""

    move: np.ndarray
    multipliers: np.ndarray
    bending: float  # the model's quadratic term, move' H move / 2


class _QuadraticModel:
    """Quadratic objective and linear rows around an evaluation.

    With H = L L' the step is ``L^-T (base + Q z)``: rows only feel the directions Q, at most one
    per row, so that the quadratic program has at most as many unknowns as rows.

    Parameters
    ----------
    evaluation : Evaluation
        The problem where it is expanded.
    root : CholeskyRoot or SymmetricRoot
        Stands for L.
    """

    def __init__(self, evaluation, root):
        self.evaluation = evaluation
        self.root = root
        self.base = -root.solve(evaluation.grad)  # L' times Newton's step without rows
        scaled = root.solve(evaluation.jacobian.T)
        self.basis, triangle = np.eye(len(scaled)), scaled
        if scaled.shape[1] < len(scaled):
            self.basis, triangle = qr(scaled, mode="economic")
        self.rows = triangle.T  # by z

    def minimise(self, values, penalty):
        """The step for rows that have the given values at the step 0."""
        problem = self.evaluation.problem
        values = values + self.rows @ (self.basis.T @ self.base)
        z, multipliers = solve_elastic_qp(
            np.ones(self.rows.shape[1]),
            self.rows,
            problem.lower - values,
            problem.upper - values,
            penalty,
        )
        scaled = self.base + self.basis @ z
        return _Step(self.root.solve_transposed(scaled), multipliers, scaled @ scaled / 2)

    def violation_after(self, step):
        """Total violation of the linearised rows after a step."""
        evaluation = self.evaluation
        values = evaluation.values + evaluation.jacobian @ step.move
        return _total_violation(evaluation.problem, values)

    def predicted_reduction(self, penalty, step):
        """By how much the model lowers the merit."""
        here = self.evaluation
        kept = _total_violation(here.problem, here.values) - self.violation_after(step)
        return penalty * kept - here.grad @ step.move - step.bending

    def steered(self, penalty, step, tol):
        """A penalty that takes away most of the violation, or as much as ten times it would.

        More is not asked for at once: a penalty far above the multipliers keeps all later steps
        close to rows that bend. Both the penalty and its step are returned; the step given is that
        of the penalty given.
        """
        here = self.evaluation
        enough = max(tol, 0.1 * _total_violation(here.problem, here.values))
        while penalty < _LARGEST_PENALTY:
            left = self.violation_after(step)
            if left <= enough or np.abs(step.multipliers).max(initial=0.0) < 0.99 * penalty:
                break
            dearer = self.minimise(here.values, 10.0 * penalty)
            if self.violation_after(dearer) > 0.9 * left:
                break
            penalty, step = 10.0 * penalty, dearer
        return penalty, step

    def advance(self, penalty, step, predicted_reduction):
        """The evaluation after the step or its correction, and actual over predicted reduction.

        The evaluation is None if the merit falls by less than a tenth of the prediction.
        """
        here = self.evaluation
        merit = _merit(here, penalty)
        # Differences below the rounding of the merit say nothing.
        noise = 1e-14 * (abs(merit) + 1.0)
        for attempt in ("step", "correction"):
            there = here.problem.evaluate(here.x + step.move, step.multipliers)
            reduction = merit - _merit(there, penalty)
            if reduction >= 0.1 * predicted_reduction - noise:
                return there, reduction / max(predicted_reduction, noise)
            if attempt == "step":
                # To second order: the rows as they are at the end of the step.
                linear = here.jacobian @ step.move
                step = self.minimise(there.values - linear, penalty)
        return None, 0.0


def _total_violation(problem, values):
    above = np.maximum(0.0, values - problem.upper)
    return float((above + np.maximum(0.0, problem.lower - values)).sum())


def _merit(evaluation, penalty):
    violation = _total_violation(evaluation.problem, evaluation.values)
    merit = evaluation.fun + penalty * violation
    return merit if np.isfinite(merit) else np.inf
