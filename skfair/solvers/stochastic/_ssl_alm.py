"""The stochastic smoothed and linearised augmented Lagrangian method, and the plain one."""

from numbers import Real
from typing import Any, Literal, Self

import numpy as np

from skfair.solvers._one_sided import OneSided
from skfair.solvers.stochastic._stochastic import StochasticSolver
from skfair.utils._sklearn import Interval, StrOptions


class SSLALM(StochasticSolver):
    r"""Stochastic smoothed and linearised augmented Lagrangian method (SSL-ALM).

    With the rows written as :math:`c(x) = G(\theta) + u = 0` with slack :math:`u \ge 0` and
    :math:`x = (\theta, u)`, Algorithm 2 of [1]_ draws :math:`\xi, \zeta_1, \zeta_2` independently
    and repeats

    .. math::

        y_{k+1} &= y_k + \eta\, c(x_k, \zeta_1), \quad y_{k+1} = 0
        \text{ if } \|y_{k+1}\| \ge M_y, \\
        x_{k+1} &= \mathrm{proj}\bigl(x_k - \tau \bigl[\nabla f(x_k, \xi)
        + \nabla c(x_k, \zeta_1)^T (y_{k+1} + \rho\, c(x_k, \zeta_2))
        + \mu (x_k - z_k)\bigr]\bigr), \\
        z_{k+1} &= z_k + \beta (x_k - z_k).

    Parameters
    ----------
    max_iter : int, default=20
        Epochs.
    tol : float, default=1e-3
        Violation of a row up to which an iterate counts as feasible, and residual of the optimality
        conditions at which the solver stops.
    mu : float, default=2.0
        Weight :math:`\mu` of the distance from the smoothed iterate; 0 is the plain augmented
        Lagrangian method (ALM).
    rho : float, default=1.0
        Penalty :math:`\rho`.
    tau : float, default=0.01
        Primal step :math:`\tau`.
    eta : float, default=0.05
        Dual step :math:`\eta`.
    beta : float, default=0.5
        Step :math:`\beta` of the smoothed iterate.
    y_max : float, default=10.0
        :math:`M_y`.
    beyond : {"clip", "reset"}, default="clip"
        Multipliers above that norm are scaled down to it, or all set to 0 as in the paper.
    batch_size : int, default=32
        Samples of each of the three batches.

    References
    ----------
    .. [1] "Benchmarking stochastic approximation algorithms for fairness-constrained training of
       deep neural networks", Algorithm 2.
    .. [2] R. Huang, J. Zhang and A. Alacaoglu, "Stochastic smoothed primal-dual algorithms for
       nonconvex optimization with linear inequality constraints", 2025.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.classification import ConstrainedERMClassifier
    >>> from skfair.solvers import SSLALM
    >>> groups = np.tile(["a", "b"], 50)
    >>> X = (np.linspace(-1, 1, 100) + 0.2 * (groups == "b"))[:, np.newaxis]
    >>> solver = SSLALM(max_iter=200, tol=0.1, tau=0.05)
    >>> model = ConstrainedERMClassifier(tolerance=0.1, alpha=0.1, solver=solver, random_state=0)
    >>> model.fit(X, X[:, 0] > 0, sensitive_features=groups).constraint_violation_
    0.0
    """

    _parameter_constraints = {
        **StochasticSolver._parameter_constraints,
        "mu": [Interval(Real, 0, None, closed="left")],
        "rho": [Interval(Real, 0, None, closed="left")],
        "tau": [Interval(Real, 0, None, closed="neither")],
        "eta": [Interval(Real, 0, None, closed="left")],
        "beta": [Interval(Real, 0, 1, closed="both")],
        "y_max": [Interval(Real, 0, None, closed="neither")],
        "beyond": [StrOptions({"clip", "reset"})],
    }

    def __init__(
        self,
        max_iter: int = 20,
        tol: float = 1e-3,
        mu: float = 2.0,
        rho: float = 1.0,
        tau: float = 0.01,
        eta: float = 0.05,
        beta: float = 0.5,
        y_max: float = 10.0,
        beyond: Literal["clip", "reset"] = "clip",
        batch_size: int = 32,
    ):
        self.max_iter = max_iter
        self.tol = tol
        self.mu = mu
        self.rho = rho
        self.tau = tau
        self.eta = eta
        self.beta = beta
        self.y_max = y_max
        self.beyond = beyond
        self.batch_size = batch_size

    @classmethod
    def from_benchmark(cls, **changes: Any) -> Self:
        """The settings of the paper [1]_, with batches of 8; ``mu=0.0`` is its ALM.

        Parameters
        ----------
        **changes
            Parameters that should differ.

        Returns
        -------
        solver : SSLALM

        References
        ----------
        .. [1] "Benchmarking stochastic approximation algorithms for fairness-constrained training
           of deep neural networks", section 4.2 and Table 3 (SSL-ALM and ALM).
        """
        return cls(**({"beyond": "reset", "batch_size": 8} | changes))

    def _steps(self, problem, x, random_state):
        one_sided = OneSided(problem.lower, problem.upper)
        # Start: slack u makes G + u = 0 where that is possible.
        G = one_sided.values(self._constraint_batch(problem, random_state).evaluate(x).values)
        u, y = np.maximum(0.0, -G), np.zeros(len(G))
        smooth_x, smooth_u = x, u
        while True:
            # y: dual step. x, u: gradient step on the augmented Lagrangian. z: smoothing.
            first = self._batch(problem, random_state).evaluate(x)
            second = self._constraint_batch(problem, random_state).evaluate(x)
            y = self._bound_norm(y + self.eta * (one_sided.values(first.values) + u))
            duals = y + self.rho * (one_sided.values(second.values) + u)
            slope = first.lagrangian_gradient(one_sided.multipliers(duals))
            next_x = problem.project(x - self.tau * (slope + self.mu * (x - smooth_x)))
            next_u = np.maximum(0.0, u - self.tau * (duals + self.mu * (u - smooth_u)))
            smooth_x = smooth_x + self.beta * (x - smooth_x)
            smooth_u = smooth_u + self.beta * (u - smooth_u)
            x, u = next_x, next_u
            yield x, one_sided.multipliers(np.maximum(0.0, y))

    def _bound_norm(self, y):
        """Multipliers of bounded norm."""
        length = np.sqrt(y @ y)
        if length < self.y_max:
            return y
        # The paper resets multipliers that grow too large; clipping keeps their direction.
        return np.zeros_like(y) if self.beyond == "reset" else y * (self.y_max / length)


def alm(**settings):
    """The stochastic linearised augmented Lagrangian method: `SSLALM` without smoothing."""
    return SSLALM(**({"mu": 0.0} | settings))
