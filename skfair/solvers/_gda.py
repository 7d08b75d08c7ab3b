"""Gradient descent-ascent on the Lagrangian."""

from numbers import Real

import numpy as np

from skfair.solvers._one_sided import OneSided
from skfair.solvers._solver import Iterate, Solver
from skfair.solvers._step_sizes import lipschitz_constants
from skfair.utils._sklearn import Interval


class GDA(Solver):
    r"""Gradient descent-ascent on the Lagrangian, with extrapolated rows.

    With the rows written as :math:`G \le 0`,

    .. math::

        x_{k+1} &= x_k - \eta\, \nabla_x \bigl(F + \lambda_k^T G\bigr)(x_k), \\
        \lambda_{k+1} &= \bigl[\lambda_k + \sigma \bigl(G(x_{k+1})
        + \theta\, (G(x_{k+1}) - G(x_k))\bigr)\bigr]_+ .

    :math:`\theta = 0` is the plain method, which circles around a saddle point where the
    Lagrangian is linear, as it is in auxiliary unknowns; :math:`\theta = 1` damps the circles
    (the primal-dual method of Chambolle and Pock [1]_, with a gradient step for F [2]_).

    Parameters
    ----------
    max_iter : int, default=10000
        Most iterations.
    tol : float, default=1e-4
        Largest violation and largest residual of the optimality conditions at the answer.
    eta : float or None, default=None
        Primal step :math:`\eta`; None takes :math:`0.9 / (L_F / 2 + \sigma M_G^2)` with estimates of
        the Lipschitz constants of :math:`\nabla F` and G.
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
    >>> from skfair.solvers import GDA
    >>> GDA(sigma=0.5, extrapolation=0.0)
    GDA(extrapolation=0.0, sigma=0.5)
    """

    _parameter_constraints = {
        **Solver._parameter_constraints,
        "eta": [Interval(Real, 0, None, closed="neither"), None],
        "sigma": [Interval(Real, 0, None, closed="neither")],
        "extrapolation": [Interval(Real, 0, 1, closed="both")],
    }

    check_every = 10

    def __init__(self, max_iter=10000, tol=1e-4, eta=None, sigma=0.2, extrapolation=1.0):
        self.max_iter = max_iter
        self.tol = tol
        self.eta = eta
        self.sigma = sigma
        self.extrapolation = extrapolation

    def _iterate(self, problem, x, random_state):
        sides = OneSided.between(problem.lower, problem.upper)
        eta = self._primal_step(problem, sides, x)
        evaluation = self._evaluate(problem, x)
        G = sides.excess(evaluation.values)
        pressures = np.zeros_like(G)
        while True:
            multipliers = sides.signed(pressures)
            yield Iterate(evaluation, multipliers)
            step = evaluation.lagrangian_gradient(multipliers)
            evaluation = self._evaluate(problem, evaluation.x - eta * step)
            previous, G = G, sides.excess(evaluation.values)
            ascent = G + self.extrapolation * (G - previous)
            pressures = np.maximum(0.0, pressures + self.sigma * ascent)

    def _primal_step(self, problem, sides, x):
        if self.eta is not None:
            return self.eta
        L_F, M_G = lipschitz_constants(problem, sides, x)
        return 0.9 / (L_F / 2.0 + self.sigma * M_G**2)

    def _evaluate(self, problem, x):
        return problem.evaluate(x)
