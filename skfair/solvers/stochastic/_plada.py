"""PLADA on mini-batches."""

import math
from itertools import count
from numbers import Real
from typing import Any, Self

import numpy as np

from skfair.solvers._one_sided import OneSided
from skfair.solvers.stochastic._stochastic import StochasticSolver
from skfair.utils._sklearn import Interval


class StochasticPLADA(StochasticSolver):
    r"""Alternating directions on the proximal-perturbed Lagrangian, on mini-batches.

    The updates are those of :class:`PLADA` with G linearised,

    .. math::

        \theta_{k+1} &= \mathrm{proj}\bigl(\theta_k - \eta\, [\nabla F(\theta_k, \xi)
        + \nabla G(\theta_k, \zeta_1)^T \lambda_k]\bigr), \\
        u_{k+1} &= \mathrm{clip}(u_k - \tau \lambda_k,\, 0,\, u_{max}), \\
        \mu_{k+1} &= \mu_k + \gamma_k (\lambda_k - \mu_k) / \rho, \qquad
        \lambda_{k+1} = \mu_{k+1} + \rho\,(G(\theta_{k+1}, \zeta_2) + u_{k+1}),

    with samples :math:`\zeta_2` independent of the next gradient, so that :math:`\lambda_{k+1}` is
    an unbiased factor of it.

    Parameters
    ----------
    max_iter : int, default=20
        Epochs.
    tol : float, default=1e-3
        Violation of a row up to which an iterate counts as feasible, and residual of the optimality
        conditions at which the solver stops.
    alpha : float, default=2.0
        Penalty :math:`\alpha` of the perturbation; :math:`\rho = \alpha / (1 + \alpha\beta)`.
    beta : float, default=0.5
        Proximal parameter :math:`\beta` of the multipliers.
    eta : float, default=0.05
        Step :math:`\eta`.
    tau : float, default=0.01
        Step :math:`\tau` of the slack.
    gamma0 : float, default=0.1
        Maximum step of the auxiliary multiplier.
    kappa : float, default=1000.0
        The larger, the slower these steps decay, see :class:`PLADA`.
    u_max : float, default=inf
        Maximum slack.
    batch_size : int, default=32
        Samples of each of the three batches.

    References
    ----------
    .. [1] "A Modified Proximal-Perturbed Lagrangian for Non-Convex Non-Smooth Representatives of
       Fairness Constraints", Algorithm 1 and appendix D.3.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.classification import ConstrainedERMClassifier
    >>> from skfair.solvers import StochasticPLADA
    >>> groups = np.tile(["a", "b"], 50)
    >>> X = (np.linspace(-1, 1, 100) + 0.2 * (groups == "b"))[:, np.newaxis]
    >>> solver = StochasticPLADA(max_iter=200, tol=0.1)
    >>> model = ConstrainedERMClassifier(tolerance=0.1, alpha=0.1, solver=solver, random_state=0)
    >>> model.fit(X, X[:, 0] > 0, sensitive_features=groups).constraint_violation_
    0.0
    """

    _parameter_constraints = {
        **StochasticSolver._parameter_constraints,
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "beta": [Interval(Real, 0, None, closed="left")],
        "eta": [Interval(Real, 0, None, closed="neither")],
        "tau": [Interval(Real, 0, None, closed="neither")],
        "gamma0": [Interval(Real, 0, None, closed="neither")],
        "kappa": [Interval(Real, 0, None, closed="neither")],
        "u_max": [Interval(Real, 0, None, closed="right")],
    }

    def __init__(
        self,
        max_iter: int = 20,
        tol: float = 1e-3,
        alpha: float = 2.0,
        beta: float = 0.5,
        eta: float = 0.05,
        tau: float = 0.01,
        gamma0: float = 0.1,
        kappa: float = 1000.0,
        u_max: float = math.inf,
        batch_size: int = 32,
    ):
        self.max_iter = max_iter
        self.tol = tol
        self.alpha = alpha
        self.beta = beta
        self.eta = eta
        self.tau = tau
        self.gamma0 = gamma0
        self.kappa = kappa
        self.u_max = u_max
        self.batch_size = batch_size

    @classmethod
    def from_paper(cls, **changes: Any) -> Self:
        r"""The settings of the paper for networks [1]_; it prints neither batch nor kappa.

        Its hinge losses (18) are unbounded, and so is the slack.

        Parameters
        ----------
        **changes
            Parameters that should differ.

        Returns
        -------
        solver : StochasticPLADA

        References
        ----------
        .. [1] "A Modified Proximal-Perturbed Lagrangian for Non-Convex Non-Smooth Representatives
           of Fairness Constraints", Table 2, last row.
        """
        settings = {"alpha": 10.0, "beta": 0.5, "eta": 0.1, "tau": 0.01, "gamma0": 0.1}
        return cls(**(settings | changes))

    def _steps(self, problem, x, random_state):
        one_sided = OneSided(problem.lower, problem.upper)
        rho = self.alpha / (1.0 + self.alpha * self.beta)

        def G(x):
            # theta: gradient step on the Lagrangian, on a batch.
            batch = self._constraint_batch(problem, random_state)
            return one_sided.values(batch.evaluate(x).values)

        u = np.clip(-G(x), 0.0, self.u_max)
        lam = mu = np.zeros_like(u)
        for k in count():
            batch = self._batch(problem, random_state)
            slope = batch.evaluate(x).lagrangian_gradient(one_sided.multipliers(lam))
            x = problem.project(x - self.eta * slope)
            # u: slack. mu, lambda: auxiliary multiplier and multiplier, by G on another batch.
            u = np.clip(u - self.tau * lam, 0.0, self.u_max)
            apart = lam - mu
            delta = self.kappa / (k + 1)
            mu = mu + min(self.gamma0, rho * delta / (apart @ apart + 1.0)) * apart / rho
            lam = mu + rho * (G(x) + u)
            yield x, one_sided.multipliers(np.maximum(0.0, mu))
