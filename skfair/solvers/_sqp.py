"""Sequential quadratic programming with the exact Hessian of the Lagrangian."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

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
    >>> from skfair.solvers import SQP
    >>> SQP(tol=1e-8)
    SQP(tol=1e-08)
    """

    def __init__(self, max_iter=200, tol=1e-6):
        self.max_iter = max_iter
        self.tol = tol

    def _iterate(self, problem, x, random_state):
        return sqp_iterates(problem, x, self.tol, _CholeskyRoot.of_lagrangian)


@dataclass(frozen=True, eq=False)
class _CholeskyRoot:
    """The lower triangular L of H = L L'."""

    factor: np.ndarray

    @classmethod
    def of_lagrangian(cls, evaluation, multipliers, damping):
        """Factorise the Hessian of the Lagrangian by the model parameters."""
        problem = evaluation.problem
        curvature = evaluation.curvature(multipliers)
        ridge = np.diag(problem.ridge + damping)
        for weights in (curvature, np.maximum(0.0, curvature)):
            hessian = problem.model.gram(weights) + ridge
            # Columns of no curvature (a constant one, weights that vanish) must not stop the factor.
            floor = 1e-12 * max(hessian.diagonal().max(), 1e-300)
            try:
                return cls(cholesky(hessian + floor * np.eye(len(hessian)), lower=True))
            except LinAlgError:
                continue
        floor = 1e-8 * max(hessian.diagonal().max(), 1e-300)
        return cls(cholesky(hessian + floor * np.eye(len(hessian)), lower=True))

    def solve(self, vectors):
        """Apply the inverse of L."""
        return solve_triangular(self.factor, vectors, lower=True)

    def solve_transposed(self, vectors):
        """Apply the inverse of L'."""
        return solve_triangular(self.factor, vectors, lower=True, trans="T")
