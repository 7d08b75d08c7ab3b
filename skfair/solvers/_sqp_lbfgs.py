"""Sequential quadratic programming with a limited-memory Hessian."""

from collections import deque
from dataclasses import dataclass, replace
from numbers import Integral

import numpy as np
from scipy.linalg import eigh, qr

from skfair.solvers._quadratic_model import sqp_iterates
from skfair.solvers._solver import Solver
from skfair.utils._sklearn import Interval


class SQPLBFGS(Solver):
    r"""Sequential quadratic programming without a Hessian, for many parameters.

    The sub-problems and the line search are those of :class:`SQP`. In place of the Hessian of the
    Lagrangian stands the limited-memory BFGS matrix of the last steps s and changes y of the
    Lagrangian's gradient ([1]_, (7.24)),

    .. math::

        B = \theta I - \begin{pmatrix} \theta S & Y \end{pmatrix}
        \begin{pmatrix} \theta S^T S & L \\ L^T & -D \end{pmatrix}^{-1}
        \begin{pmatrix} \theta S^T \\ Y^T \end{pmatrix},

    with D and L the diagonal and the strictly lower part of :math:`S^T Y`. Powell's damping
    ([1]_, Procedure 18.2) keeps it positive definite. An iteration costs O(memory\ :sup:`2` p)
    for p parameters beside the gradients, where :class:`SQP` pays a Gram matrix and O(p\ :sup:`3`).

    Parameters
    ----------
    max_iter : int, default=2000
        Most iterations.
    tol : float, default=1e-6
        Largest violation and largest residual of the optimality conditions at the answer.
    memory : int, default=20
        Number of steps remembered.

    See Also
    --------
    SQP : Far fewer iterations while the Hessian is affordable.

    References
    ----------
    .. [1] J. Nocedal and S. Wright, "Numerical Optimization", 2nd edition, 2006, chapters 7, 18.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.classification import ConstrainedERMClassifier
    >>> from skfair.solvers import SQPLBFGS
    >>> groups = np.tile(["a", "b"], 50)
    >>> X = (np.linspace(-1, 1, 100) + 0.2 * (groups == "b"))[:, np.newaxis]
    >>> model = ConstrainedERMClassifier(tolerance=0.1, alpha=0.1, solver=SQPLBFGS(memory=5))
    >>> model.fit(X, X[:, 0] > 0, sensitive_features=groups).constraint_violation_
    0.0
    """

    _parameter_constraints = {
        **Solver._parameter_constraints,
        "memory": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, max_iter=2000, tol=1e-6, memory=20):
        self.max_iter = max_iter
        self.tol = tol
        self.memory = memory

    def _iterate(self, problem, x, random_state):
        return sqp_iterates(problem, x, self.tol, _Secants(self.memory))


class _Secants:
    """The steps of a run and what the Lagrangian's gradient changed by along them."""

    def __init__(self, memory):
        self._steps = deque(maxlen=memory)
        self._changes = deque(maxlen=memory)
        self._previous = None

    def __call__(self, evaluation, multipliers, damping):
        """Root of the BFGS matrix plus damping, after the step that has led to this evaluation."""
        if self._previous is not None and self._previous is not evaluation:
            step = evaluation.parameters - self._previous.parameters
            change = _lagrangian_slope(evaluation, multipliers)
            change -= _lagrangian_slope(self._previous, multipliers)
            self._remember(step, change)
        self._previous = evaluation
        root = self._root()
        return replace(root, scale=root.scale + damping, values=root.values + damping)

    def _root(self):
        if self._steps:
            return _LowRankRoot.of_bfgs(np.array(self._steps).T, np.array(self._changes).T)
        # Without a secant: curvature such that the first step has length 1.
        gradient = self._previous.grad[: self._previous.problem.n_parameters]
        return _LowRankRoot.scaled_identity(len(gradient), np.linalg.norm(gradient) or 1.0)

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
    """Gradient of the Lagrangian by the model parameters, from the Jacobian that is there."""
    p = evaluation.problem.n_parameters
    return evaluation.grad[:p] + evaluation.jacobian[:, :p].T @ multipliers


@dataclass(frozen=True, eq=False)
class _LowRankRoot:
    """The symmetric root of ``scale (I - Q Q') + Q diag(values) Q'``, where Q'Q = I."""

    scale: float
    vectors: np.ndarray
    values: np.ndarray

    @classmethod
    def scaled_identity(cls, p, scale):
        return cls(scale, np.empty((p, 0)), np.empty(0))

    @classmethod
    def of_bfgs(cls, S, Y):
        """Root of the BFGS matrix of steps S and changes Y, both (p, k)."""
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

    def solve(self, vectors):
        """Apply the inverse of the root."""
        flat = 1.0 / np.sqrt(self.scale)
        bent = 1.0 / np.sqrt(self.values) - flat
        projected = self.vectors.T @ vectors
        return flat * vectors + self.vectors @ (bent * projected.T).T

    solve_transposed = solve  # it is symmetric
