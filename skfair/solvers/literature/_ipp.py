"""Inexact proximal point methods: double loops for weakly convex rows."""

from abc import abstractmethod
from numbers import Integral, Real

import numpy as np

from skfair.solvers._one_sided import OneSided
from skfair.solvers._solver import Iterate, Solver
from skfair.solvers._step_sizes import Smoothness, polyak_step
from skfair.utils._sklearn import Interval


class _Proximal:
    r"""F and G with :math:`\frac{\rho}{2} \|x - center\|^2` added to each."""

    def __init__(self, one_sided, center, rho):
        self.one_sided = one_sided
        self.center = center
        self.rho = rho

    def proximal_term(self, evaluation):
        """The proximal term and its gradient."""
        displacement = evaluation.x - self.center
        return self.rho / 2.0 * displacement @ displacement, self.rho * displacement

    def rows(self, evaluation):
        """G, (n_bounds,)."""
        return self.one_sided.values(evaluation.values) + self.proximal_term(evaluation)[0]

    def linearised_rows(self, evaluation, x):
        """G linearised at an evaluation, at x."""
        jacobian = self.one_sided.jacobian(evaluation.jacobian) + self.proximal_term(evaluation)[1]
        return self.rows(evaluation) + jacobian @ (x - evaluation.x)

    def row_gradient(self, evaluation, i):
        """Gradient of one component of G."""
        one = np.arange(len(self.one_sided.rows)) == i
        gradient = evaluation.pull_back(self.one_sided.multipliers(one))
        return gradient + self.proximal_term(evaluation)[1]

    def lagrangian_gradient(self, evaluation, duals):
        """Gradient of F plus the duals times G."""
        # F and every G contain the proximal term.
        gradient = evaluation.lagrangian_gradient(self.one_sided.multipliers(duals))
        return gradient + (1.0 + duals.sum()) * self.proximal_term(evaluation)[1]


class _InexactProximalPoint(Solver):
    """The outer loop: a sequence of strongly convex problems around centres."""

    _parameter_constraints = {
        **Solver._parameter_constraints,
        "rho": [Interval(Real, 0, None, closed="neither")],
        "inner_iter": [Interval(Integral, 1, None, closed="left")],
    }

    check_every = 9
    projects = True
    requires = ("linear",)

    def _iterate(self, problem, x, random_state):
        one_sided = OneSided(problem.lower, problem.upper)
        evaluation, duals = problem.evaluate(x), np.zeros(len(one_sided.rows))
        smoothness = Smoothness.estimate(evaluation, one_sided)
        while True:
            # Each round solves a strongly convex problem around the last iterate.
            proximal = _Proximal(one_sided, evaluation.x, self.rho)
            inner = self._solve_inner(proximal, evaluation, duals, smoothness)
            evaluation, duals = yield from inner

    @abstractmethod
    def _solve_inner(self, proximal, evaluation, duals, smoothness):
        """Yield the iterates of an inner loop; return the next centre and its multipliers."""


class IPPSSG(_InexactProximalPoint):
    r"""Inexact proximal point method with switching subgradients inside.

    Around the centre :math:`x_t` the outer loop approximately solves the strongly convex problem

    .. math::

        x_{t+1} \approx \arg\min_x F(x) + \tfrac{\rho}{2} \|x - x_t\|^2 \quad \text{s.t.} \quad
        \max_i G_i(x) + \tfrac{\rho}{2} \|x - x_t\|^2 \le 0 ,

    with :math:`\rho` above the weak convexity of F and G ([1]_, [2]_). If the rows hold up to
    `tol`, the inner loop steps against the gradient of the objective by
    :math:`\gamma_k = 2 / (2 L_F + \rho (k + 2))`, otherwise against that of the worst row, to where
    its linearisation holds. The next centre is the average of the points of the objective steps
    with weights k + 1. Each gap is one row, which may be piecewise smooth. Multipliers are
    estimated as by :class:`SwitchingSubgradient`.

    Parameters
    ----------
    max_iter : int, default=20000
        Maximum number of iterations, counted over all inner loops.
    tol : float, default=1e-4
        Maximum violation and maximum residual of the optimality conditions at the answer.
    rho : float, default=0.1
        :math:`\rho`.
    inner_iter : int, default=100
        Iterations of an inner loop.

    References
    ----------
    .. [1] R. Ma, Q. Lin and T. Yang, "Quadratically regularized subgradient methods for weakly
       convex optimization with weakly convex constraints", ICML 2020.
    .. [2] Y. Huang and Q. Lin, "Oracle complexity of single-loop switching subgradient methods for
       non-smooth weakly convex functional constrained optimization", NeurIPS 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.classification import ConstrainedERMClassifier
    >>> from skfair.solvers import IPPSSG
    >>> groups = np.tile(["a", "b"], 50)
    >>> X = (np.linspace(-1, 1, 100) + 0.2 * (groups == "b"))[:, np.newaxis]
    >>> model = ConstrainedERMClassifier(tolerance=0.1, alpha=0.1, solver=IPPSSG(tol=1e-2))
    >>> model.fit(X, X[:, 0] > 0, sensitive_features=groups).constraint_violation_
    0.0
    """

    one_row = True

    def __init__(self, max_iter=20000, tol=1e-4, rho=0.1, inner_iter=100):
        self.max_iter = max_iter
        self.tol = tol
        self.rho = rho
        self.inner_iter = inner_iter

    def _solve_inner(self, proximal, evaluation, duals, smoothness):
        problem, one_sided = evaluation.problem, proximal.one_sided
        average, weight = np.zeros_like(evaluation.x), 0.0
        against_rows, against_objective = np.zeros_like(duals), 0.0
        for k in range(self.inner_iter):
            yield Iterate(evaluation, one_sided.multipliers(duals))
            G = proximal.rows(evaluation)
            # Step against the objective if the rows hold, otherwise against the worst row.
            if G.max(initial=-np.inf) <= self.tol:
                step = 2.0 / (2.0 * smoothness.objective + self.rho * (k + 2))
                slope = proximal.lagrangian_gradient(evaluation, np.zeros_like(G))
                average += (k + 1) * evaluation.x
                weight += k + 1
                against_objective += step
            else:
                worst = G.argmax()
                slope = proximal.row_gradient(evaluation, worst)
                step = polyak_step(G[worst], slope)
                against_rows[worst] += step
            evaluation = problem.evaluate(problem.project(evaluation.x - step * slope))
        # Next centre: weighted average of the points of objective steps; without any, the last
        # point.
        if weight:
            evaluation = problem.evaluate(average / weight)
            duals = against_rows / against_objective
        return evaluation, duals


class IPPConEx(_InexactProximalPoint):
    r"""Inexact proximal point method with constraint extrapolation inside.

    The outer problems are those of :class:`IPPSSG`; the inner loop is primal-dual ([1]_,
    Algorithm 1). With :math:`\ell(x_k) = G(x_{k-1}) + J(x_{k-1}) (x_k - x_{k-1})`, where G and F
    contain :math:`\tfrac{\rho}{2} \|x - x_t\|^2`,

    .. math::

        s_k &= 2\, \ell(x_k) - \ell(x_{k-1}), \\
        \lambda_{k+1} &= \mathrm{clip}(\lambda_k + \sigma s_k,\, 0,\, \lambda_{max}), \\
        x_{k+1} &= x_k - \eta \bigl(\nabla F(x_k) + J(x_k)^T \lambda_{k+1}\bigr), \qquad
        1 / \eta = L + \sigma M_G^2 + \rho\,(1 + \textstyle\sum \lambda_{k+1}).

    The next centre is the last iterate of the inner loop, not the weighted average of its iterates
    that [1]_ analyses. Multipliers are carried from one inner loop to the next. The cap bounds them
    where the rows cannot hold around a centre; long dual steps make the inner loop cycle.

    Parameters
    ----------
    max_iter : int, default=20000
        Maximum number of iterations, counted over all inner loops.
    tol : float, default=1e-4
        Maximum violation and maximum residual of the optimality conditions at the answer.
    rho : float, default=0.1
        :math:`\rho`.
    inner_iter : int, default=20
        Iterations of an inner loop.
    dual_step : float, default=0.25
        :math:`\sigma`, below 0.3.
    dual_max : float, default=10.0
        :math:`\lambda_{max}`.

    References
    ----------
    .. [1] D. Boob, Q. Deng and G. Lan, "Stochastic first-order methods for convex and nonconvex
       functional constrained optimization", Mathematical Programming, 2022.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.classification import ConstrainedERMClassifier
    >>> from skfair.solvers import IPPConEx
    >>> groups = np.tile(["a", "b"], 50)
    >>> X = (np.linspace(-1, 1, 100) + 0.2 * (groups == "b"))[:, np.newaxis]
    >>> model = ConstrainedERMClassifier(tolerance=0.1, alpha=0.1, solver=IPPConEx(tol=1e-2))
    >>> model.fit(X, X[:, 0] > 0, sensitive_features=groups).constraint_violation_
    0.0
    """

    _parameter_constraints = {
        **_InexactProximalPoint._parameter_constraints,
        "dual_step": [Interval(Real, 0, 0.3, closed="neither")],
        "dual_max": [Interval(Real, 0, None, closed="right")],
    }

    def __init__(
        self, max_iter=20000, tol=1e-4, rho=0.1, inner_iter=20, dual_step=0.25, dual_max=10.0
    ):
        self.max_iter = max_iter
        self.tol = tol
        self.rho = rho
        self.inner_iter = inner_iter
        self.dual_step = dual_step
        self.dual_max = dual_max

    def _solve_inner(self, proximal, evaluation, duals, smoothness):
        problem, one_sided = evaluation.problem, proximal.one_sided
        previous, linear = evaluation, proximal.rows(evaluation)
        for _ in range(self.inner_iter):
            yield Iterate(evaluation, one_sided.multipliers(duals))
            # Ascent with extrapolated linearised rows, then a gradient step.
            previous_linear = linear
            linear = proximal.linearised_rows(previous, evaluation.x)
            ascent = 2.0 * linear - previous_linear
            duals = np.clip(duals + self.dual_step * ascent, 0.0, self.dual_max)
            # 1 / eta of the docstring, whose L includes the curvature that the multipliers add.
            lipschitz = smoothness.lagrangian(evaluation, one_sided.multipliers(duals))
            lipschitz += self.dual_step * smoothness.rows**2 + self.rho * (1.0 + duals.sum())
            slope = proximal.lagrangian_gradient(evaluation, duals)
            previous = evaluation
            evaluation = problem.evaluate(problem.project(evaluation.x - slope / lipschitz))
        return evaluation, duals
