"""Sequential quadratic programming with the exact Hessian of the Lagrangian."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpotrf

from skfair.solvers._quadratic_model import sqp_iterates
from skfair.solvers._solver import Solver


class SQP(Solver):
    r"""Sequential quadratic programming.

    Each iteration minimises the quadratic model of the Lagrangian subject to the linearised rows,

    .. math::

        \min_d \nabla f^T d + \tfrac12 d^T H d \quad \text{s.t.} \quad
        lower \le c + J d \le upper,

    where rows may yield at a price (elastic mode, an l1 merit function), so that every sub-problem
    has an answer. H is the exact Hessian, one weighted Gram matrix; where it is not positive
    definite, negative curvature of single samples is clipped. A full step that the merit function
    refuses is first corrected to second order, then shortened.

    Parameters
    ----------
    max_iter : int, default=200
        Most iterations; 4 to 10 are usual.
    tol : float, default=1e-6
        Largest violation and largest residual of the optimality conditions at the answer.

    See Also
    --------
    SQPLBFGS : The same without a Hessian, for thousands of parameters.

    References
    ----------
    .. [1] J. Nocedal and S. Wright, "Numerical Optimization", 2nd edition, 2006, chapter 18.

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

    def __init__(self, max_iter=200, tol=1e-6):
        self.max_iter = max_iter
        self.tol = tol

    def _iterate(self, problem, x, random_state):
        return sqp_iterates(problem, x, self.tol, _CholeskyRoot.of_lagrangian)


_STIFFNESSES = (0.1, 1.0, 10.0)
"""Curvatures tried along the rows that press; parameters are of standardised columns."""


@dataclass(frozen=True, eq=False)
class _CholeskyRoot:
    """The lower triangular L of H = L L'."""

    factor: np.ndarray

    @classmethod
    def of_lagrangian(cls, evaluation, multipliers, damping):
        """Factorise the Hessian of the Lagrangian by the model parameters.

        Where it is not positive definite it is first made stiffer along the rows that press: at
        the answer these rows do not move, so the step stays that of Newton (an augmented
        Lagrangian's Hessian; Nocedal and Wright, section 17.3). Negative curvature that is left is
        clipped sample by sample.
        """
        problem = evaluation.problem
        curvature = evaluation.curvature(multipliers)
        ridge = np.diag(problem.ridge + damping)
        hessian = problem.model.gram(curvature) + ridge
        for stiffness in (0.0, *_STIFFNESSES):
            factor = _try_cholesky(hessian + stiffness * _pressing(evaluation, multipliers))
            if factor is not None:
                return cls(factor)
        clipped = problem.model.gram(np.maximum(0.0, curvature)) + ridge
        return cls(_try_cholesky(clipped + 1e-8 * clipped.diagonal().max() * np.eye(len(clipped))))

    def solve(self, vectors):
        """Apply the inverse of L."""
        return solve_triangular(self.factor, vectors, lower=True, check_finite=False)

    def solve_transposed(self, vectors):
        """Apply the inverse of L'."""
        return solve_triangular(self.factor, vectors, lower=True, trans="T", check_finite=False)


def _try_cholesky(hessian):
    """Cholesky factor, or None if the matrix is not positive definite."""
    # Columns of no curvature (a constant one, weights that vanish) must not stop the factor.
    floor = 1e-12 * max(np.abs(hessian.diagonal()).max(), 1e-300)
    factor, failed = dpotrf(hessian + floor * np.eye(len(hessian)), lower=1, clean=1)
    return None if failed else factor


def _pressing(evaluation, multipliers):
    """Gram matrix of the gradients of the rows that press."""
    sizes = np.abs(multipliers)
    rows = evaluation.jacobian[sizes > 1e-3 * sizes.max(initial=0.0)]
    rows = rows[:, : evaluation.problem.n_parameters]
    return rows.T @ rows
