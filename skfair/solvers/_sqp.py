"""Sequential quadratic programming."""

from functools import partial
from numbers import Integral
from typing import Literal, NamedTuple

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
    whose violation is penalised (elastic mode), so that every sub-problem has a solution:

    .. math::

        \min_d \nabla f^T d + \tfrac12 d^T (H + \mu I) d
        + \pi \sum_r \max(0, (c + J d)_r - upper_r, lower_r - (c + J d)_r)

    over all unknowns. A step is taken if it lowers the merit :math:`f + \pi \sum_r excess_r` by a
    tenth of the predicted reduction, if necessary after a second-order correction; otherwise the
    damping :math:`\mu` grows (Levenberg). The penalty :math:`\pi` grows if that brings the
    linearised rows nearer to their bounds.

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

    Parameters
    ----------
    max_iter : int, default=200
        Maximum number of iterations; 4 to 10 are usual with the exact Hessian, hundreds with
        "lbfgs".
    tol : float, default=1e-6
        Maximum violation and maximum residual of the optimality conditions at the answer.
    hessian : {"exact", "lbfgs"}, default="exact"
        Source of H.
    memory : int, default=20
        Number of steps that "lbfgs" stores.

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

    def __init__(
        self,
        max_iter: int = 200,
        tol: float = 1e-6,
        hessian: Literal["exact", "lbfgs"] = "exact",
        memory: int = 20,
    ):
        self.max_iter = max_iter
        self.tol = tol
        self.hessian = hessian
        self.memory = memory

    advice = "Raise max_iter or tol, or give the problem more curvature by a larger alpha."

    @property
    def requires(self) -> tuple[str, ...]:
        """The exact Hessian needs Gram matrices of the model."""
        return ("gram",) if self.hessian == "exact" else ()

    def _iterate(self, problem, x, random_state):
        hessian_at = ExactHessians(self.tol) if self.hessian == "exact" else Secants(self.memory)
        evaluation, multipliers = problem.evaluate(x), np.zeros(len(problem.lower))
        penalty, damping = _FIRST_PENALTY, 0.0
        iterate = _make_iterate(evaluation, multipliers)
        yield iterate
        root_at = hessian_at(iterate)
        while damping <= _LARGEST_DAMPING and penalty <= _LARGEST_PENALTY:
            # Sub-problem: the quadratic model with elastic rows.
            model = _QuadraticModel(evaluation, root_at(damping))
            step = model.minimise(evaluation.values, penalty)
            if damping == 0.0:  # a damped step stays away from the rows at any penalty
                penalty, step = model.raise_penalty(penalty, step, self.tol)
            # Merit: take the step, correct it, or damp the next one.
            predicted_reduction = model.predicted_reduction(penalty, step)
            if predicted_reduction <= 1e-6 * self.tol and evaluation.violation > self.tol:
                penalty *= 10.0  # no improvement is predicted, but the rows are violated
                continue
            new_evaluation, ratio = model.advance(penalty, step, predicted_reduction)
            if new_evaluation is None:
                damping = max(10.0 * damping, _FIRST_DAMPING)
            else:
                if ratio > 0.5:
                    damping = damping / 4.0 if damping > _LEAST_DAMPING else 0.0
                evaluation, multipliers = new_evaluation, step.multipliers
                iterate = _make_iterate(evaluation, multipliers)
                yield iterate
                root_at = hessian_at(iterate)


sqp_lbfgs = partial(SQP, max_iter=2000, hessian="lbfgs")
"""SQP without a Hessian, for thousands of parameters."""


def _make_iterate(evaluation, multipliers):
    """An iterate whose certificate needs no further pass, as the next model needs the Jacobian."""
    gradient = evaluation.grad + (multipliers @ evaluation.jacobian if multipliers.any() else 0.0)
    return Iterate(evaluation, multipliers, lagrangian_gradient=gradient)


class _Step(NamedTuple):
    """Minimiser of a quadratic model."""

    direction: np.ndarray
    multipliers: np.ndarray
    quadratic_term: float  # of the model, direction' H direction / 2


class _QuadraticModel:
    """Quadratic objective and linear rows around an evaluation.

    With H = L L' (``root``) the step is ``L^-T (base + Q z)``. Rows depend on the directions Q
    only, at most one per row, so the quadratic program has at most as many unknowns as rows.
    """

    def __init__(self, evaluation, root):
        self.evaluation = evaluation
        self.root = root
        self.base = -root.solve(evaluation.grad)  # L' times the Newton step without rows
        # With L L' = H the model is |z|^2 / 2 plus a linear term, in z = L' d.
        scaled = root.solve(evaluation.jacobian.T)
        self.basis, triangle = np.eye(len(scaled)), scaled
        # Only the component of z in the span of the rows matters to them: a QR basis of it.
        if scaled.shape[1] < len(scaled):
            self.basis, triangle = qr(scaled, mode="economic")
        self.rows = triangle.T  # derivatives by z

    def minimise(self, values, penalty):
        """The step for rows of these values at the step 0, by an elastic quadratic program."""
        problem = self.evaluation.problem
        # Rows at the Newton step without rows, from which z is counted.
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
        evaluation, problem = self.evaluation, self.evaluation.problem
        values = evaluation.values + evaluation.jacobian @ step.direction
        above = np.maximum(0.0, values - problem.upper)
        return float((above + np.maximum(0.0, problem.lower - values)).sum())

    def predicted_reduction(self, penalty, step):
        """Reduction of the merit in the model."""
        current = self.evaluation
        reduction = float(current.excess.sum()) - self.violation_after(step)
        return penalty * reduction - current.grad @ step.direction - step.quadratic_term

    def raise_penalty(self, penalty, step, tol):
        """A penalty that removes most of the violation, or as much as the tenfold penalty would.

        It is not raised further, as a penalty far above the multipliers keeps all later steps close
        to curved rows. Returns the penalty and its step.
        """
        current = self.evaluation
        goal = max(tol, 0.1 * float(current.excess.sum()))
        while penalty < _LARGEST_PENALTY:
            violation = self.violation_after(step)
            # Multipliers below the penalty mean that it does not bind.
            if violation <= goal or np.abs(step.multipliers).max(initial=0.0) < 0.99 * penalty:
                break
            steeper = self.minimise(current.values, 10.0 * penalty)
            if self.violation_after(steeper) > 0.9 * violation:
                break
            penalty, step = 10.0 * penalty, steeper
        return penalty, step

    def advance(self, penalty, step, predicted_reduction):
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
                step = self.minimise(trial.values - linear, penalty)
        return None, 0.0


def _merit(objective, excess, penalty):
    """Objective plus the penalty of the total violation; infinite if it is unknown."""
    merit = objective + penalty * float(excess.sum())
    return merit if np.isfinite(merit) else np.inf
