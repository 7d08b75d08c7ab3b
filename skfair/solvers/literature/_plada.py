"""The primal-dual algorithm of the proximal-perturbed Lagrangian (PLADA)."""

import math
from itertools import count
from numbers import Real
from typing import Any, Literal, Self

import numpy as np

from skfair.solvers._one_sided import OneSided
from skfair.solvers._solver import Iterate, Solver
from skfair.solvers._step_sizes import Smoothness
from skfair.solvers.literature._proximal import proximal_step
from skfair.utils._messages import warn
from skfair.utils._sklearn import Interval, StrOptions


class PLADA(Solver):
    r"""Alternating directions on the proximal-perturbed Lagrangian.

    With the rows written as :math:`G(\theta) + u = z`, slack :math:`u \ge 0`, :math:`z = 0` and
    :math:`\rho = \alpha / (1 + \alpha\beta)`, Algorithm 1 of [1]_ repeats

    .. math::

        \theta_{k+1} &= \arg\min_\theta \langle \nabla F(\theta_k), \theta \rangle
        + \langle \lambda_k, G(\theta) \rangle + \tfrac{1}{2\eta} \|\theta - \theta_k\|^2, \\
        u_{k+1} &= \mathrm{clip}(u_k - \tau \lambda_k,\, 0,\, u_{max}), \\
        \mu_{k+1} &= \mu_k + \gamma_k (\lambda_k - \mu_k) / \rho, \qquad
        \gamma_k = \min\Bigl\{\gamma_0,\,
        \frac{\rho\, \delta_k}{\|\lambda_k - \mu_k\|^2 + 1}\Bigr\}, \quad
        \delta_k = \frac{\kappa}{k + 1}, \\
        \lambda_{k+1} &= \mu_{k+1} + \rho\,(G(\theta_{k+1}) + u_{k+1}).

    The perturbation :math:`z_k = (\lambda_k - \mu_k) / \alpha` follows from these. Callbacks get
    :math:`\lambda_k` and :math:`\mu_k` in ``progress.details``.

    Parameters
    ----------
    max_iter : int, default=10000
        Maximum number of iterations.
    tol : float, default=1e-4
        Maximum violation and maximum residual of the optimality conditions at the answer.
    alpha : float, default=2.0
        Penalty :math:`\alpha` of the perturbation.
    beta : float, default=0.9
        Proximal parameter :math:`\beta` of the multipliers.
    eta : float or None, default=None
        Step :math:`\eta`; None is :math:`0.9 / (L_F + 3 \rho M_G^2)` with estimates of the
        Lipschitz constants of :math:`\nabla F` and G; if G is linearised, L_F includes the
        curvature of :math:`\lambda^T G`.
    tau : float or None, default=None
        Step :math:`\tau` of the slack; None is :math:`0.9 / (3\rho)`.
    gamma0 : float, default=1.0
        Maximum step :math:`\gamma_0` of the auxiliary multiplier.
    kappa : float, default=1000.0
        :math:`\kappa`; the larger, the slower these steps decay.
    u_max : float, default=inf
        Maximum slack, :math:`B_G \ge \|G(\theta)\|` in the paper (below its (10)); it must not be
        below the slack of the answer.
    inner : {"linearised", "exact"}, default="linearised"
        Whether G is linearised in the step of :math:`\theta`, which makes it a gradient step, or
        kept as in Algorithm 1. The exact step has about the same cost: it linearises the means that
        G compares, but not G itself, and repeats this until the step converges.
    one_row : bool, default=False
        Whether each gap is one row ``gap - tolerance``, piecewise linear as (17) of [1]_, which is
        cheaper for the mean excess of hundreds of groups. Otherwise it is linear rows on the rates,
        with auxiliary unknowns if necessary. Combine it with ``inner="exact"``.

    Warns
    -----
    UserWarning
        If piecewise linear rows are linearised: the iterates then step across breakpoints and can
        end far from the optimum. If :math:`\tau` is not below :math:`1 / (3\rho)`, as in the
        setting of the paper: its convergence theorem then does not apply.

    References
    ----------
    .. [1] "A Modified Proximal-Perturbed Lagrangian for Non-Convex Non-Smooth Representatives of
       Fairness Constraints", Algorithm 1 and Table 2.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.classification import ConstrainedERMClassifier
    >>> from skfair.solvers import PLADA
    >>> groups = np.tile(["a", "b"], 50)
    >>> X = (np.linspace(-1, 1, 100) + 0.2 * (groups == "b"))[:, np.newaxis]
    >>> model = ConstrainedERMClassifier(tolerance=0.1, alpha=0.1, solver=PLADA(tol=1e-2))
    >>> model.fit(X, X[:, 0] > 0, sensitive_features=groups).constraint_violation_
    0.0

    The setting of the paper:

    >>> PLADA.from_paper()
    PLADA(alpha=10.0, beta=0.1, eta=0.001, gamma0=0.1, inner='exact', tau=0.1,
          u_max=1.0)
    """

    _parameter_constraints = {
        **Solver._parameter_constraints,
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "beta": [Interval(Real, 0, None, closed="left")],
        "eta": [Interval(Real, 0, None, closed="neither"), None],
        "tau": [Interval(Real, 0, None, closed="neither"), None],
        "gamma0": [Interval(Real, 0, None, closed="neither")],
        "kappa": [Interval(Real, 0, None, closed="neither")],
        "u_max": [Interval(Real, 0, None, closed="right")],
        "inner": [StrOptions({"linearised", "exact"})],
        "one_row": ["boolean"],
    }

    check_every = 10

    def __init__(
        self,
        max_iter: int = 10000,
        tol: float = 1e-4,
        alpha: float = 2.0,
        beta: float = 0.9,
        eta: float | None = None,
        tau: float | None = None,
        gamma0: float = 1.0,
        kappa: float = 1000.0,
        u_max: float = math.inf,
        inner: Literal["linearised", "exact"] = "linearised",
        one_row: bool = False,
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
        self.inner = inner
        self.one_row = one_row

    @classmethod
    def from_paper(cls, **changes: Any) -> Self:
        r"""The settings of the paper (Table 2; its :math:`\kappa` is not printed).

        They assume features that are not standardised; on standardised ones :math:`\eta` of linear
        models could be about a hundred times larger. The slack is at most the bound
        :math:`B_G = 1` of (15) and (17): a gap of rates and a tolerance both are in [0, 1]. Gaps of
        losses need another bound.

        Parameters
        ----------
        **changes
            Parameters that should differ.

        Returns
        -------
        solver : PLADA
        """
        settings = {"alpha": 10.0, "beta": 0.1, "eta": 0.001, "tau": 0.1, "gamma0": 0.1}
        return cls(**(settings | {"u_max": 1.0, "inner": "exact"} | changes))

    @property
    def projects(self) -> bool:
        """Only linearised steps can project."""
        return self.inner == "linearised"

    @property
    def requires(self) -> tuple[str, ...]:
        """A linear model, to estimate the primal step unless it is a number."""
        return ("linear",) if self.eta is None else ()

    def _iterate(self, problem, x, random_state):
        one_sided = OneSided(problem.lower, problem.upper)
        evaluation, rho = problem.evaluate(x), self.alpha / (1.0 + self.alpha * self.beta)
        primal_step, tau = self._primal_step(evaluation, one_sided, rho), self._slack_step(rho)
        minimise = proximal_step if self.inner == "exact" else _gradient_step
        self._warn_of_breakpoints(evaluation)
        # Slack that makes G + u = 0 where the bounds of u allow.
        u = np.clip(-one_sided.values(evaluation.values), 0.0, self.u_max)
        lam = mu = np.zeros_like(u)
        for k in count():
            multipliers = one_sided.multipliers(np.maximum(0.0, lam))
            yield Iterate(evaluation, multipliers, details={"lambda": lam, "mu": mu})
            eta = primal_step(evaluation, multipliers)
            # theta: the proximal (or gradient) step on the Lagrangian.
            evaluation = minimise(evaluation, one_sided.multipliers(lam), eta)
            # u: the slack. mu, lambda: the auxiliary multiplier and the multiplier.
            u = np.clip(u - tau * lam, 0.0, self.u_max)
            difference = lam - mu
            # gamma_k: at most gamma0, and shorter the further lambda and mu are apart.
            delta = self.kappa / (k + 1)
            gamma = min(self.gamma0, rho * delta / (difference @ difference + 1.0))
            mu = mu + gamma * difference / rho
            lam = mu + rho * (one_sided.values(evaluation.values) + u)

    def _warn_of_breakpoints(self, start):
        """Warn if gradient steps replace proximal ones on piecewise linear rows."""
        if self.inner == "linearised" and start.rows_at_shift is not None:
            warn(
                "PLADA(inner='linearised') takes gradient steps on piecewise linear rows "
                "(one_row=True). They step back and forth across breakpoints and can end far from "
                "the optimum. Use inner='exact', as in Algorithm 1."
            )

    def _primal_step(self, start, one_sided, rho):
        """The rule (evaluation, multipliers) -> eta."""
        if self.eta is not None:
            return lambda evaluation, multipliers: self.eta
        smoothness = Smoothness.estimate(start, one_sided)
        coupling = 3.0 * rho * smoothness.rows**2
        if self.inner == "exact":
            return lambda evaluation, multipliers: 0.9 / (smoothness.objective + coupling)
        return lambda evaluation, multipliers: (
            0.9 / (smoothness.lagrangian(evaluation, multipliers) + coupling)
        )

    def _slack_step(self, rho):
        limit = 1.0 / (3.0 * rho)
        if self.tau is None:
            return 0.9 * limit
        if self.tau >= limit:
            warn(
                f"tau={self.tau:g} is not below 1 / (3 rho) = {limit:.3g}, so the convergence "
                "theorem of PLADA does not apply. Use tau=None to satisfy it.",
            )
        return self.tau


def _gradient_step(evaluation, multipliers, eta):
    """The minimum of F and G, both linearised, and the proximal term: a gradient step."""
    problem = evaluation.problem
    slope = evaluation.lagrangian_gradient(multipliers)
    return problem.evaluate(problem.project(evaluation.x - eta * slope))
