"""Published methods on mini-batches: IDCA, PLADA, penalties and barriers."""

from __future__ import annotations

import math
from itertools import count
from numbers import Real
from typing import TYPE_CHECKING, Annotated

import numpy as np

from skfair._utils.parameters import (
    NonNegative,
    OpenShare,
    Positive,
    PositiveInt,
    PositiveShare,
    Share,
    make_constructor,
)
from skfair._utils.sklearn import Interval
from skfair.solvers._stochastic import Adam, LoopSolver, StochasticSolver
from skfair.solvers.literature._proximal import majorize, original_multipliers, plada_update

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from typing import Any, Self

    from skfair._problems.evaluation import Evaluation
    from skfair._problems.problem import Problem


# The inexact difference-of-convex algorithm on mini-batches.


@make_constructor
class StochasticIDCA(StochasticSolver):
    r"""Solver on mini-batches for percentile constraints: a sequence of convex problems.

    As :class:`IDCA` does, rows that are differences of convex functions are majorised at an
    iterate, by g. The problem with these rows is solved by T steps of [2]_ on mini-batches instead
    of passes over all samples, with multipliers Q (deep learning in [1]_, section G.9),

    .. math::

        v_{t+1} &= \mathrm{proj}\Bigl(v_t - \tfrac{s}{2T} \bigl[\sqrt{T}\, \nabla f(v_t, \xi_t)
        + \nabla g(v_t, \xi_t)^T Q_t\bigr]\Bigr), \\
        Q_{t+1} &= \max\bigl(0,\; Q_t + g(v_{t+1}, \xi_t)\bigr),

    and their mean is the next iterate. [2]_ linearises :math:`g(v_{t+1}, \xi_t)`, for which a
    network would need one pass per row, and starts multipliers at 0; here they continue from the
    previous convex problem. Rows are majorised in the scores. In the parameters of networks they
    remain non-convex, so this is a local model.

    Parameters
    ----------
    max_iter : int, default=30
        Epochs.
    tol : float, default=1e-3
        Violation of a row up to which an iterate counts as feasible, and residual of the optimality
        conditions at which the solver stops.
    inner_iter : int, default=3
        Epochs per convex problem; T is the number of their batches.
    step : float, default=3.0
        Factor s of the steps.
    batch_size : int, default=64
        Samples per batch, for the loss and for the constraint each.

    See Also
    --------
    IDCA : On all samples at once.

    References
    ----------
    .. [1] Y. He, Y. Huang, Y. Yao and Q. Lin, "Enforcing fair predicted scores on intervals of
       percentiles by difference-of-convex constraints", arXiv:2505.12530, 2026.
    .. [2] H. Yu, M. J. Neely and X. Wei, "Online convex optimization with stochastic constraints",
       NeurIPS 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.classification import ConstrainedMLPClassifier
    >>> from skfair.constraints import PartialStatisticalParity
    >>> from skfair.solvers.literature import StochasticIDCA
    >>> groups = np.tile(["a", "b"], 200)
    >>> X = (np.linspace(-1, 1, 400) + 0.2 * (groups == "b"))[:, np.newaxis]
    >>> model = ConstrainedMLPClassifier(
    ...     PartialStatisticalParity((0.2, 0.6), tolerance=0.1),
    ...     solver=StochasticIDCA(max_iter=6),
    ...     random_state=0,
    ... )
    >>> model.fit(X, X[:, 0] > 0, sensitive_features=groups).constraint_violation_
    0.0
    """

    requires = ("majorant", "drawn majorant")

    max_iter: PositiveInt = 30
    tol: NonNegative = 1e-3
    inner_iter: PositiveInt = 3
    step: Positive = 3.0
    batch_size: PositiveInt = 64

    @classmethod
    def from_paper(cls, **changes: Any) -> Self:
        """Batches of 64 [1]_; the paper prints neither steps nor their number.

        Parameters
        ----------
        **changes
            Parameters that should differ.

        Returns
        -------
        solver : StochasticIDCA

        References
        ----------
        .. [1] Y. He, Y. Huang, Y. Yao and Q. Lin, "Enforcing fair predicted scores on intervals of
           percentiles by difference-of-convex constraints", arXiv:2505.12530, 2026, section G.9.
        """
        return cls(**({"batch_size": 64} | changes))

    def _steps(
        self, problem: Problem, x: np.ndarray, random_state: np.random.RandomState
    ) -> Iterator:
        here = self._evaluate(problem, x)
        Q = np.zeros(1)
        while True:
            # Majorise at the iterate and solve the convex problem.
            convex = majorize(here)
            here, Q = yield from self._solve_inner(convex, here.x, Q, random_state)

    def _evaluate(self, problem: Problem, x: np.ndarray) -> Evaluation:
        """All samples at x, with unchanged thresholds, which are unknowns of the majorant."""
        return problem.evaluate(x)

    def _solve_inner(
        self, problem: Problem, x: np.ndarray, Q: np.ndarray, random_state: np.random.RandomState
    ) -> Generator[tuple[np.ndarray, np.ndarray], Evaluation, tuple[Evaluation, np.ndarray]]:
        """Steps on a convex problem; the evaluation at their mean, and the last multipliers."""
        one_sided = problem.one_sided
        rows = problem.rows
        n_steps = self.inner_iter * self._steps_per_epoch(problem)
        # sqrt(T) weighs the objective against the queue Q of violations ([2]_ of the docstring).
        weight = np.sqrt(n_steps)
        length = self.step / (2.0 * n_steps)
        mean = x
        Q = np.broadcast_to(Q, len(one_sided.rows))
        for t in range(n_steps):
            # Primal step on the batch, then Q grows by the rows at the new point, on the same
            # batch.
            batch = self._batch(problem, random_state)
            multipliers = one_sided.multipliers(Q / weight)
            slope = weight * batch.evaluate(x).lagrangian_gradient(multipliers)
            x = problem.project(x - length * slope)
            Q = np.maximum(0.0, Q + one_sided.values(batch.evaluate(x).values))
            # The answer of the convex problem is the running mean of its iterates.
            mean = mean + (x - mean) / (t + 1)
            here = yield mean, original_multipliers(rows, one_sided.multipliers(Q / weight))
        return here, Q


# PLADA on mini-batches.


@make_constructor
class StochasticPLADA(StochasticSolver):
    r"""Solver on mini-batches that updates parameters, slacks and multipliers in turn (PLADA).

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
    >>> from skfair.solvers.literature import StochasticPLADA
    >>> groups = np.tile(["a", "b"], 50)
    >>> X = (np.linspace(-1, 1, 100) + 0.2 * (groups == "b"))[:, np.newaxis]
    >>> solver = StochasticPLADA(max_iter=200, tol=0.1)
    >>> model = ConstrainedERMClassifier(tolerance=0.1, alpha=0.1, solver=solver, random_state=0)
    >>> model.fit(X, X[:, 0] > 0, sensitive_features=groups).constraint_violation_
    0.0
    """

    max_iter: PositiveInt = 20
    tol: NonNegative = 1e-3
    alpha: Positive = 2.0
    beta: NonNegative = 0.5
    eta: Positive = 0.05
    tau: Positive = 0.01
    gamma0: Positive = 0.1
    kappa: Positive = 1000.0
    u_max: Annotated[float, Interval(Real, 0, None, closed="right")] = math.inf
    batch_size: PositiveInt = 32

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

    def _steps(
        self, problem: Problem, x: np.ndarray, random_state: np.random.RandomState
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        one_sided = problem.one_sided

        def G(x: np.ndarray) -> np.ndarray:
            batch = self._constraint_batch(problem, random_state)
            return one_sided.values(batch.evaluate(x).values)

        u = np.clip(-G(x), 0.0, self.u_max)
        lam = mu = np.zeros_like(u)
        for k in count():
            batch = self._batch(problem, random_state)
            slope = batch.evaluate(x).lagrangian_gradient(one_sided.multipliers(lam))
            x = problem.project(x - self.eta * slope)
            # G on another batch.
            u, lam, mu = plada_update(self, k, self.tau, u, lam, mu, G(x))
            yield x, one_sided.multipliers(np.maximum(0.0, mu))


# The penalty-barrier method.


_SMALLEST, _LARGEST = 1e-4, 100.0
"""Range of the multipliers, which stay positive."""


@make_constructor
class SPBM(LoopSolver):
    r"""Solver on mini-batches by penalties of multipliers and barriers (SPBM).

    With the rows written as :math:`G \le 0`, multipliers :math:`\lambda > 0` and widths
    :math:`\pi > 0`, a step follows

    .. math::

        \nabla f(x_k) + \sum_r \lambda_r\, \varphi'\bigl(G_r(x_k) / \pi_r\bigr) \nabla G_r(x_k)
        + \mu (x_k - z_k), \qquad z_{k+1} = z_k + \beta (x_k - z_k)

    by Adam with a decreasing length, where :math:`\varphi(t)` is :math:`t + t^2 / 2` from -1/2 on
    and :math:`-\ln(-2 t) / 4 - 3/8` below ([1]_). Then

    .. math::

        \lambda_r \leftarrow \lambda_r \bigl(\gamma + (1 - \gamma) \varphi'(G_r / \pi_r)\bigr),
        \qquad \pi_r \leftarrow \kappa \pi_r + (1 - \kappa)\, \pi_r / \varphi'(G_r),

    on the same mini-batch, within their ranges. In epoch e, :math:`\gamma` and :math:`\kappa` are
    :math:`1 - 1 / (\sqrt{e} + 1 / (1 - \gamma_0))`, so that both change less and less;
    :class:`skfair.torch.ConstrainedObjective`, which knows no epochs, keeps the first.

    Parameters
    ----------
    max_iter : int, default=20
        Epochs.
    tol : float, default=1e-3
        Violation of a row up to which an iterate counts as feasible, and residual of the optimality
        conditions at which the solver stops.
    learning_rate : float, default=2e-3
        Initial step of Adam; it decreases linearly to 0 at the last step.
    gamma : float, default=0.9
        :math:`\gamma_0` of the multipliers.
    kappa : float, default=0.9
        :math:`\gamma_0` of the widths.
    min_width : float, default=0.1
        Smallest width; the largest is 1, with which the method begins.
    mu : float, default=1.0
        Weight :math:`\mu` of the distance from the smoothed iterate.
    beta : float, default=0.5
        Step :math:`\beta` of the smoothed iterate.
    batch_size : int, default=64
        Samples per batch, for the loss and for the constraint each.

    References
    ----------
    .. [1] arXiv:2605.18618, with the rule of ``dual_optim.PBM`` of humancompatible-train 0.4.2.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.classification import ConstrainedERMClassifier
    >>> from skfair.solvers.literature import SPBM
    >>> groups = np.tile(["a", "b"], 50)
    >>> X = (np.linspace(-1, 1, 100) + 0.2 * (groups == "b"))[:, np.newaxis]
    >>> solver = SPBM(max_iter=200, tol=0.1, learning_rate=0.1)
    >>> model = ConstrainedERMClassifier(tolerance=0.1, alpha=0.1, solver=solver, random_state=0)
    >>> model.fit(X, X[:, 0] > 0, sensitive_features=groups).constraint_violation_
    0.0
    """

    max_iter: PositiveInt = 20
    tol: NonNegative = 1e-3
    learning_rate: Positive = 2e-3
    gamma: OpenShare = 0.9
    kappa: OpenShare = 0.9
    min_width: PositiveShare = 0.1
    mu: NonNegative = 1.0
    beta: Share = 0.5
    batch_size: PositiveInt = 64

    def _steps(
        self, problem: Problem, x: np.ndarray, random_state: np.random.RandomState
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        one_sided = problem.one_sided
        n_steps = self._steps_per_epoch(problem)
        adam = Adam(len(x))
        smooth = x
        state = self._start_state(np.zeros(len(one_sided.rows)))
        for k in count():
            here = self._batch(problem, random_state).evaluate(x)
            G = one_sided.values(here.values)
            _, duals, state = self._weigh(state | {"epoch": k // n_steps}, G)
            multipliers = one_sided.multipliers(duals)
            slope = here.lagrangian_gradient(multipliers) + self.mu * (x - smooth)
            slope[problem.n_parameters :] = 0.0  # auxiliary unknowns are set exactly
            smooth = smooth + self.beta * (x - smooth)
            # The step decreases linearly to 0 at the last one.
            eta = self.learning_rate * max(0.0, 1.0 - k / (self.max_iter * n_steps))
            x = problem.project(x - eta * adam(slope))
            yield x, multipliers

    def _start_state(self, G: np.ndarray) -> dict[str, np.ndarray | int]:
        """Multipliers at their smallest, widths at their largest."""
        return {"multipliers": np.full(len(G), _SMALLEST), "widths": np.ones(len(G)), "epoch": 0}

    def _weigh(
        self, state: dict[str, np.ndarray | int], G: np.ndarray, again: np.ndarray | None = None
    ) -> tuple:
        """Multipliers by the slopes of the penalty, which also move multipliers and widths."""
        duals, widths = state["multipliers"], state["widths"]
        slopes = _penalty_slope(G / widths)
        step = np.sqrt(state["epoch"])
        gamma, kappa = (1.0 - 1.0 / (step + 1.0 / (1.0 - one)) for one in (self.gamma, self.kappa))
        next_duals = np.clip(duals * (gamma + (1.0 - gamma) * slopes), _SMALLEST, _LARGEST)
        narrower = kappa * widths + (1.0 - kappa) * widths / _penalty_slope(G)
        widths = np.clip(narrower, self.min_width, 1.0)
        return True, duals * slopes, state | {"multipliers": next_duals, "widths": widths}


def _penalty_slope(t: np.ndarray) -> np.ndarray:
    """Slope of the penalty: quadratic from -1/2 on, logarithmic below."""
    return np.where(t >= -0.5, 1.0 + t, -0.25 / np.minimum(t, -0.5))
