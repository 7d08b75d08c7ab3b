"""Augmented Lagrangian method with inner problems solved by L-BFGS."""

from numbers import Integral, Real

import numpy as np
from scipy.optimize import minimize

from skfair.solvers._one_sided import OneSided
from skfair.solvers._solver import Iterate, Solver
from skfair.utils._sklearn import Interval


class AugmentedLagrangian(Solver):
    r"""Method of multipliers.

    With the rows written as :math:`G \le 0`, each iteration minimises by L-BFGS

    .. math::

        L_\rho(x; \lambda) = F(x) + \frac{1}{2\rho} \sum_i
        \bigl([\lambda_i + \rho\, G_i(x)]_+^2 - \lambda_i^2\bigr),

    then sets :math:`\lambda \leftarrow [\lambda + \rho\, G(x)]_+` and raises :math:`\rho` unless
    infeasibility and complementarity, :math:`\max_i |\max(G_i, -\lambda_i/\rho)|`, have decreased
    enough ([1]_, Algorithm 17.4; [2]_, Algorithm 4.1).

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
    shrink : float, default=0.25
        The penalty is kept while infeasibility decreases to this share per iteration.
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

    _parameter_constraints = {
        **Solver._parameter_constraints,
        "rho": [Interval(Real, 0, None, closed="neither")],
        "growth": [Interval(Real, 1, None, closed="left")],
        "shrink": [Interval(Real, 0, 1, closed="both")],
        "inner_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        max_iter: int = 100,
        tol: float = 1e-6,
        rho: float = 10.0,
        growth: float = 4.0,
        shrink: float = 0.25,
        inner_iter: int = 1000,
    ):
        self.max_iter = max_iter
        self.tol = tol
        self.rho = rho
        self.growth = growth
        self.shrink = shrink
        self.inner_iter = inner_iter

    def _iterate(self, problem, x, random_state):
        one_sided = OneSided(problem.lower, problem.upper)
        duals, rho = np.zeros(len(one_sided.rows)), self.rho
        evaluation, infeasibility, accuracy = problem.evaluate(x), np.inf, 1e-2
        while True:
            yield Iterate(evaluation, one_sided.multipliers(duals))
            # Minimise the augmented Lagrangian more and more accurately.
            accuracy = max(0.1 * accuracy, 0.1 * self.tol)
            evaluation = self._minimise(evaluation, one_sided, duals, rho, accuracy)
            G = one_sided.values(evaluation.values)
            residual = np.abs(np.maximum(G, -duals / rho)).max(initial=0.0)
            duals = np.maximum(0.0, duals + rho * G)  # first-order multiplier update
            # Raise the penalty; residuals below the tolerance are rounding errors.
            if residual > max(self.shrink * infeasibility, 0.1 * self.tol):
                rho *= self.growth
            infeasibility = residual

    def _minimise(self, start, one_sided, duals, rho, accuracy):
        """Minimise the augmented Lagrangian by L-BFGS up to an accuracy of its gradient."""
        problem = start.problem

        def evaluate(x):
            evaluation = problem.evaluate(x)
            # (|[duals + rho G]_+|^2 - |duals|^2) / (2 rho), whose gradient is that of the
            # Lagrangian there.
            next_duals = np.maximum(0.0, duals + rho * one_sided.values(evaluation.values))
            value = evaluation.fun + (next_duals @ next_duals - duals @ duals) / (2.0 * rho)
            return value, evaluation.lagrangian_gradient(one_sided.multipliers(next_duals))

        options = {"maxiter": self.inner_iter, "gtol": accuracy, "ftol": 1e-15, "maxcor": 20}
        solution = minimize(evaluate, start.x, jac=True, method="L-BFGS-B", options=options)
        return problem.evaluate(solution.x)
