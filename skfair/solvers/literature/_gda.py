"""Gradient descent-ascent on the Lagrangian."""

from numbers import Real

import numpy as np

from skfair.solvers._one_sided import OneSided
from skfair.solvers._solver import Iterate, Solver
from skfair.solvers._step_sizes import Smoothness
from skfair.utils._sklearn import Interval


class GDA(Solver):
    r"""Gradient descent-ascent on the Lagrangian, with extrapolated rows.

    With the rows written as :math:`G \le 0`,

    .. math::

        x_{k+1} &= x_k - \eta\, \nabla_x \bigl(F + \lambda_k^T G\bigr)(x_k), \\
        \lambda_{k+1} &= \bigl[\lambda_k + \sigma \bigl(G(x_{k+1})
        + \theta\, (G(x_{k+1}) - G(x_k))\bigr)\bigr]_+ .

    :math:`\theta = 0` is the plain method, which cycles around a saddle point where the
    Lagrangian is linear, as it is in auxiliary unknowns; :math:`\theta = 1` damps the cycles
    (the primal-dual method of Chambolle and Pock [1]_, with a gradient step for F [2]_).

    Parameters
    ----------
    max_iter : int, default=10000
        Maximum number of iterations.
    tol : float, default=1e-4
        Maximum violation and maximum residual of the optimality conditions at the answer.
    eta : float or None, default=None
        Primal step :math:`\eta`; None is :math:`0.9 / (L / 2 + \sigma M_G^2)` with
        estimates of the Lipschitz constants of the Lagrangian's gradient and of G.
    sigma : float, default=0.2
        Dual step :math:`\sigma`.
    extrapolation : float, default=1.0
        :math:`\theta`.

    References
    ----------
    .. [1] A. Chambolle and T. Pock, "A first-order primal-dual algorithm for convex problems with
       applications to imaging", JMIV 40, 2011.
    .. [2] L. Condat, "A primal-dual splitting method for convex optimization involving
       Lipschitzian, proximable and linear composite terms", JOTA 158, 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.classification import ConstrainedERMClassifier
    >>> from skfair.solvers import GDA
    >>> groups = np.tile(["a", "b"], 50)
    >>> X = (np.linspace(-1, 1, 100) + 0.2 * (groups == "b"))[:, np.newaxis]
    >>> model = ConstrainedERMClassifier(tolerance=0.1, alpha=0.1, solver=GDA(tol=1e-2))
    >>> model.fit(X, X[:, 0] > 0, sensitive_features=groups).constraint_violation_
    0.0
    """

    _parameter_constraints = {
        **Solver._parameter_constraints,
        "eta": [Interval(Real, 0, None, closed="neither"), None],
        "sigma": [Interval(Real, 0, None, closed="neither")],
        "extrapolation": [Interval(Real, 0, 1, closed="both")],
    }

    check_every = 10
    projects = True

    def __init__(self, max_iter=10000, tol=1e-4, eta=None, sigma=0.2, extrapolation=1.0):
        self.max_iter = max_iter
        self.tol = tol
        self.eta = eta
        self.sigma = sigma
        self.extrapolation = extrapolation

    @property
    def requires(self):
        """A linear model, to estimate the primal step unless it is a number."""
        return ("linear",) if self.eta is None else ()

    def _iterate(self, problem, x, random_state):
        one_sided = OneSided(problem.lower, problem.upper)
        evaluation = self._evaluate(problem, x)
        primal_step = self._primal_step(problem.evaluate(x), one_sided)
        G = one_sided.values(evaluation.values)
        duals = np.zeros_like(G)
        while True:
            multipliers = one_sided.multipliers(duals)
            yield Iterate(evaluation, multipliers)
            # Descent in x, then ascent in the multipliers with extrapolated rows.
            slope = evaluation.lagrangian_gradient(multipliers)
            eta = primal_step(evaluation, multipliers)
            evaluation = self._evaluate(problem, problem.project(evaluation.x - eta * slope))
            previous, G = G, one_sided.values(evaluation.values)
            ascent = G + self.extrapolation * (G - previous)
            duals = np.maximum(0.0, duals + self.sigma * ascent)

    def _primal_step(self, start, one_sided):
        """The rule (evaluation, multipliers) -> eta."""
        if self.eta is not None:
            return lambda evaluation, multipliers: self.eta
        smoothness = Smoothness.estimate(start, one_sided)
        # The multipliers' ascent couples both updates: M_G^2 sigma limits the primal step too.
        coupling = self.sigma * smoothness.rows**2
        return lambda evaluation, multipliers: (
            0.9 / (smoothness.lagrangian(evaluation, multipliers) / 2.0 + coupling)
        )

    def _evaluate(self, problem, x):
        return problem.evaluate(x)
