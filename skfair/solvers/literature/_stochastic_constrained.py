"""Published methods on mini-batches: SSL-ALM, ghost, switching subgradient."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from skfair._utils.parameters import (
    NonNegative,
    NonNegativeInt,
    OpenShare,
    Positive,
    PositiveInt,
    Share,
    make_constructor,
)
from skfair.solvers._stochastic import LoopSolver, StochasticSolver
from skfair.solvers.literature._descent import benchmark_switching

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skfair._problems.evaluation import Evaluation
    from skfair._problems.problem import Problem


# The stochastic smoothed and linearised augmented Lagrangian method, and the plain one.


@make_constructor
class SSLALM(LoopSolver):
    r"""Solver on mini-batches by an augmented Lagrangian, smoothed and linearised (SSL-ALM).

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

    Read more in the :ref:`guide <solvers>`.

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
    u_max : float, default=10.0
        :math:`M_y`.
    u_max_rule : {"clip", "reset"}, default="clip"
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

    max_iter: PositiveInt = 20
    tol: NonNegative = 1e-3
    mu: NonNegative = 2.0
    rho: NonNegative = 1.0
    tau: Positive = 0.01
    eta: NonNegative = 0.05
    beta: Share = 0.5
    u_max: Positive = 10.0
    u_max_rule: Literal["clip", "reset"] = "clip"
    batch_size: PositiveInt = 32

    @classmethod
    def from_paper(cls, **changes: Any) -> Self:
        """The settings of the paper [1]_, and batches of 8 as in its public code.

        ``mu=0.0`` is its ALM.

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
        return cls(**({"u_max_rule": "reset", "batch_size": 8} | changes))

    def _steps(
        self, problem: Problem, x: np.ndarray, random_state: np.random.RandomState
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        one_sided = problem.one_sided
        G = one_sided.values(self._constraint_batch(problem, random_state).evaluate(x).values)
        state = self._start_state(G)
        smooth = x
        while True:
            # x: gradient step on the augmented Lagrangian. z: smoothing.
            first = self._batch(problem, random_state).evaluate(x)
            second = self._constraint_batch(problem, random_state).evaluate(x)
            rows = (one_sided.values(one.values) for one in (first, second))
            _, duals, state = self._weigh(state, *rows)
            slope = first.lagrangian_gradient(one_sided.multipliers(duals))
            next_x = problem.project(x - self.tau * (slope + self.mu * (x - smooth)))
            smooth = smooth + self.beta * (x - smooth)
            x = next_x
            yield x, one_sided.multipliers(np.maximum(0.0, state["multipliers"]))

    def _start_state(self, G: np.ndarray) -> dict[str, Any]:
        """Multipliers of 0, and slack u that makes G + u = 0 where that is possible."""
        slack = np.maximum(0.0, -G)
        return {"multipliers": np.zeros(len(G)), "slack": slack, "smooth_slack": slack}

    def _weigh(
        self, state: dict[str, Any], G: np.ndarray, again: np.ndarray | None
    ) -> tuple[bool, np.ndarray, dict[str, Any]]:
        """The augmented Lagrangian after the dual step, and the step of the slack."""
        u, smooth = state["slack"], state["smooth_slack"]
        y = self._clip_norm(state["multipliers"] + self.eta * (G + u))
        duals = y + self.rho * (again + u)
        next_u = np.maximum(0.0, u - self.tau * (duals + self.mu * (u - smooth)))
        smooth = smooth + self.beta * (u - smooth)
        return True, duals, {"multipliers": y, "slack": next_u, "smooth_slack": smooth}

    def _clip_norm(self, y: np.ndarray) -> np.ndarray:
        """Multipliers of bounded norm."""
        length = np.sqrt(y @ y)
        if length < self.u_max:
            return y
        # The paper resets multipliers that grow too large; clipping keeps their direction.
        return np.zeros_like(y) if self.u_max_rule == "reset" else y * (self.u_max / length)


make_alm = partial(SSLALM, mu=0.0)
"""Make the stochastic linearised augmented Lagrangian method: `SSLALM` without smoothing."""


# The direction of the ghost method, a quadratic program solved in the dual.


_MAX_ROUNDS = 200  # of the active-set method; a few are enough
_DUAL_TOLERANCE = 1e-10  # rounding of multipliers


def ghost_direction(
    gradient: np.ndarray, G: np.ndarray, jacobian: np.ndarray, settings: StochasticGhost
) -> np.ndarray:
    r"""Minimise :math:`g^T d + \tau |d|^2 / 2` subject to :math:`G + J d \le \kappa`, in a box."""
    # Relaxation kappa, the dual without the box, and the box if it is active.
    tau, beta, weight = settings.tau, settings.beta, settings.lambda_
    worst = max(0.0, G.max(initial=0.0))
    kappa = (1.0 - weight) * worst + weight * reachable_violation(G, jacobian, settings.rho)
    duals = _duals_without_box(jacobian @ jacobian.T / tau, G - kappa - jacobian @ gradient / tau)
    free = -(gradient + duals @ jacobian) / tau
    if np.abs(free).max(initial=0.0) <= beta:
        return free
    return _solve_in_box(gradient, G - kappa, jacobian, duals, settings)


def reachable_violation(G: np.ndarray, jacobian: np.ndarray, rho: float) -> float:
    """The maximum violation after the steepest descent of the worst row in a box of radius rho.

    For a single row, one-sided or two-sided, this is the minimum in the box, for several rows an
    upper bound on it.
    """
    if G.max(initial=0.0) <= 0.0:
        return 0.0
    line = int(G.argmax())
    # Rows along the steepest descent of the worst one, and 0, are lines in the step length.
    heights = np.append(G, 0.0)  # violations are at least 0
    changes = np.append(-rho * jacobian @ np.sign(jacobian[line]), 0.0)
    length = 0.0
    # Maximum of several lines: follow it until a line of larger slope crosses it.
    while changes[line] < 0.0:
        steeper = changes > changes[line]
        crossings = (heights[line] - heights[steeper]) / (changes[steeper] - changes[line])
        # The next line that becomes the maximum; none before length 1 ends the search.
        first = int(crossings.argmin())
        if crossings[first] >= 1.0:
            length = 1.0
            break
        length = crossings[first]
        line = int(np.flatnonzero(steeper)[first])
    return max(0.0, heights[line] + length * changes[line])


def _duals_without_box(gram: np.ndarray, linear: np.ndarray) -> np.ndarray:
    """Maximise ``linear @ w - w @ gram @ w / 2`` over w >= 0 by coordinate ascent."""
    duals = np.zeros(len(linear))
    if len(linear) == 0 or linear.max() <= 0.0:
        return duals
    for _ in range(_MAX_ROUNDS):
        largest = 0.0
        for i in np.flatnonzero(gram.diagonal() > 0.0):
            # Exact minimum over one dual, kept non-negative.
            step = max(-duals[i], (linear[i] - gram[i] @ duals) / gram[i, i])
            duals[i] += step
            largest = max(largest, abs(step))
        if largest <= _DUAL_TOLERANCE * (1.0 + duals.max()):
            break
    return duals


def _solve_in_box(
    gradient: np.ndarray,
    G: np.ndarray,
    jacobian: np.ndarray,
    duals: np.ndarray,
    settings: StochasticGhost,
) -> np.ndarray:
    """The direction within the box, by accelerated gradient ascent in the multipliers."""
    tau, beta = settings.tau, settings.beta

    def primal(duals: np.ndarray) -> np.ndarray:
        # The Lagrangian is separable in d, so the box clips its minimiser.
        return np.clip(-(gradient + duals @ jacobian) / tau, -beta, beta)

    step = tau / max(float(np.linalg.norm(jacobian)) ** 2, 1e-100)
    extrapolated, weight = duals, 1.0
    for _ in range(_MAX_ROUNDS):
        new_duals = np.maximum(0.0, extrapolated + step * (G + jacobian @ primal(extrapolated)))
        if np.abs(new_duals - duals).max(initial=0.0) <= _DUAL_TOLERANCE:
            break
        # Nesterov's extrapolation.
        next_weight = (1.0 + np.sqrt(1.0 + 4.0 * weight**2)) / 2.0
        extrapolated = new_duals + (weight - 1.0) / next_weight * (new_duals - duals)
        duals, weight = new_duals, next_weight
    return primal(duals)


# The stochastic ghost method.


@make_constructor
class StochasticGhost(StochasticSolver):
    r"""Solver on mini-batches whose steps keep linearised constraints: stochastic ghost (StGh).

    With the rows written as :math:`G \le 0`, :math:`d(x; X^J)` is the direction on a mini-batch of
    J samples (and as many of every event of the constraint),

    .. math::

        d = \arg\min_d \nabla f^T d + \tfrac{\tau}{2} \|d\|^2 \quad \text{s.t.} \quad
        G + \nabla G^T d \le \kappa e, \quad \|d\|_\infty \le \beta,

    where :math:`\kappa = (1 - \lambda) \max_i [G_i]_+ + \lambda \min_{\|d\|_\infty \le \rho}
    \max_i [G_i + \nabla G_i^T d]_+` makes it feasible [2]_. Directions of mini-batches are biased.
    With a number of doublings N from the geometric distribution,

    .. math::

        d(x) = \frac{d(x; X^{2^{N+1}}) - \frac{1}{2} \bigl(d(x; \mathrm{odd})
        + d(x; \mathrm{even})\bigr)}{(1 - p_0)^N p_0} + d(x; X^1)

    is unbiased, where odd and even are the halves of :math:`X^{2^{N+1}}`. The step is
    :math:`x_{k+1} = \mathrm{proj}(x_k + \alpha_k d(x_k))` with
    :math:`\alpha_k = \alpha_{k-1} (1 - \hat\alpha \alpha_{k-1})`. It has no multipliers; they are
    estimated at the answer.

    Read more in the :ref:`guide <solvers>`.

    Parameters
    ----------
    max_iter : int, default=20
        Epochs.
    tol : float, default=1e-3
        Violation of a row up to which an iterate counts as feasible, and residual of the optimality
        conditions at which the solver stops.
    p0 : float, default=0.4
        :math:`p_0`; N is at most 10.
    alpha0 : float, default=0.05
        Initial step :math:`\alpha_0`.
    alpha_hat : float, default=0.05
        :math:`\hat\alpha`, the decay of the steps.
    rho : float, default=0.8
        :math:`\rho`.
    tau : float, default=1.0
        :math:`\tau`.
    beta : float, default=10.0
        :math:`\beta`.
    lambda_ : float, default=0.5
        :math:`\lambda`.
    batch_size : int, default=8
        An epoch has n_samples / batch_size steps; the batches have random sizes.

    References
    ----------
    .. [1] F. Facchinei and V. Kungurtsev, "Stochastic approximation for expectation objective and
       expectation inequality-constrained nonconvex optimization", 2023; the defaults are those of
       "Benchmarking stochastic approximation algorithms for fairness-constrained training of deep
       neural networks", section 4.2.
    .. [2] F. Facchinei, V. Kungurtsev, L. Lampariello and G. Scutari, "Ghost penalties in nonconvex
       constrained optimization: diminishing stepsizes and iteration complexity", Mathematics of
       Operations Research 46, 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.classification import ConstrainedERMClassifier
    >>> from skfair.solvers import StochasticGhost
    >>> groups = np.tile(["a", "b"], 50)
    >>> X = (np.linspace(-1, 1, 100) + 0.2 * (groups == "b"))[:, np.newaxis]
    >>> solver = StochasticGhost(max_iter=20, tol=0.1)
    >>> model = ConstrainedERMClassifier(tolerance=0.1, alpha=0.1, solver=solver, random_state=0)
    >>> model.fit(X, X[:, 0] > 0, sensitive_features=groups).constraint_violation_
    0.0
    """

    max_iter: PositiveInt = 20
    tol: NonNegative = 1e-3
    p0: OpenShare = 0.4
    alpha0: Positive = 0.05
    alpha_hat: NonNegative = 0.05
    rho: Positive = 0.8
    tau: Positive = 1.0
    beta: Positive = 10.0
    lambda_: Share = 0.5
    batch_size: PositiveInt = 8

    @classmethod
    def from_paper(cls, **changes: Any) -> Self:
        """The settings of the paper [1]_, which are the defaults.

        Parameters
        ----------
        **changes
            Parameters that should differ.

        Returns
        -------
        solver : StochasticGhost

        References
        ----------
        .. [1] "Benchmarking stochastic approximation algorithms for fairness-constrained training
           of deep neural networks", section 4.2 and Table 3 (StGh).
        """
        return cls(**changes)

    def _steps(
        self, problem: Problem, x: np.ndarray, random_state: np.random.RandomState
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        alpha = self.alpha0
        multipliers = np.zeros(len(problem.lower))
        one_sided = problem.one_sided

        def linearize_batch(size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            return _linearize(problem.batches.draw(size, size, random_state).evaluate(x), one_sided)

        while True:
            # Unbiased direction, decreasing step.
            d = self._direction(linearize_batch, random_state)
            alpha *= 1.0 - self.alpha_hat * alpha
            x = problem.project(x + alpha * d)
            yield x, multipliers

    def _direction(
        self, linearize_batch: Callable, random_state: np.random.RandomState
    ) -> np.ndarray:
        """An unbiased estimate of the direction on all samples, from batches of several sizes."""
        # N doublings: the halves of a batch of 2^(N + 1), and the batch as their average.
        # Maximum doublings of a batch. Each doubles the cost, but is less likely by a factor 1 - p0
        # only. So the expected cost would be infinite for p0 below 1/2; in the paper's setting 4 of
        # 1000 steps are cut off.
        n = min(random_state.geometric(self.p0) - 1, 10)
        odd, even = (linearize_batch(2**n) for _ in range(2))
        both = [(first + second) / 2 for first, second in zip(odd, even, strict=True)]
        # Difference of directions on levels N + 1 and N, weighted by one over the probability of N.
        halves = (self._find_direction(*odd) + self._find_direction(*even)) / 2
        correction = self._find_direction(*both) - halves
        single = self._find_direction(*linearize_batch(1))
        return correction / ((1.0 - self.p0) ** n * self.p0) + single

    def _find_direction(
        self, gradient: np.ndarray, G: np.ndarray, jacobian: np.ndarray
    ) -> np.ndarray:
        """The direction for the gradient and the rows of a mini-batch."""
        return ghost_direction(gradient, G, jacobian, self)


def _linearize(evaluation: Evaluation, one_sided: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gradient of the objective, rows and their Jacobian."""
    values = evaluation.values
    # One backward pass per row: cheaper than a sparse Jacobian for few rows.
    jacobian = np.array([evaluation.pull_back(row) for row in np.eye(len(values))])
    jacobian = jacobian.reshape(len(values), len(evaluation.x))  # also without rows
    return evaluation.grad, one_sided.values(values), one_sided.jacobian(jacobian)


# The switching subgradient method on mini-batches.


@make_constructor
class StochasticSwitching(LoopSolver):
    r"""Solver on mini-batches that steps against the objective or a broken constraint (SSw).

    With :math:`\bar G` the maximum of the rows, written as :math:`G \le 0`, on a mini-batch,
    Algorithm 3 of [1]_ repeats, with new samples for each,

    .. math::

        x_{k+1} = \mathrm{proj}\bigl(x_k - \eta^f\, \nabla f(x_k, \xi)\bigr)
        \;\text{ if } \bar G(x_k) \le \epsilon_k, \qquad
        x_{k+1} = \mathrm{proj}\bigl(x_k - \eta^c\, \partial G(x_k, \zeta)\bigr)
        \;\text{ else.}

    It has no multipliers; they are estimated at the answer.

    Read more in the :ref:`guide <solvers>`.

    Parameters
    ----------
    max_iter : int, default=20
        Epochs.
    tol : float, default=1e-3
        Violation of a row up to which an iterate counts as feasible, and residual of the optimality
        conditions at which the solver stops.
    epsilon : float or callable, default=1e-4
        :math:`\epsilon`, or a function of the epoch that returns it.
    objective_step : float, default=0.05
        :math:`\eta^f`.
    constraint_step : float, default=0.05
        :math:`\eta^c`.
    output : {"best", "drawn"}, default="best"
        The answer: the feasible iterate of minimum objective among those at the end of an epoch, or
        a random one of all iterates from `first_drawn` on, in proportion to the steps.
    first_drawn : int, default=0
        :math:`k_0`, the first step whose iterate may be drawn.
    batch_size : int, default=32
        Samples per batch.

    References
    ----------
    .. [1] "Benchmarking stochastic approximation algorithms for fairness-constrained training of
       deep neural networks", Algorithm 3.
    .. [2] Y. Huang and Q. Lin, "Oracle complexity of single-loop switching subgradient methods for
       non-smooth weakly convex functional constrained optimization", NeurIPS 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.classification import ConstrainedERMClassifier
    >>> from skfair.solvers import StochasticSwitching
    >>> groups = np.tile(["a", "b"], 50)
    >>> X = (np.linspace(-1, 1, 100) + 0.2 * (groups == "b"))[:, np.newaxis]
    >>> solver = StochasticSwitching(max_iter=200, tol=0.1)
    >>> model = ConstrainedERMClassifier(tolerance=0.1, alpha=0.1, solver=solver, random_state=0)
    >>> model.fit(X, X[:, 0] > 0, sensitive_features=groups).constraint_violation_
    0.0
    """

    max_iter: PositiveInt = 20
    tol: NonNegative = 1e-3
    epsilon: NonNegative | Callable = 1e-4
    objective_step: Positive = 0.05
    constraint_step: Positive = 0.05
    output: Literal["best", "drawn"] = "best"
    first_drawn: NonNegativeInt = 0
    batch_size: PositiveInt = 32

    @classmethod
    def from_paper(cls, **changes: Any) -> Self:
        """The settings of the paper with a drawn iterate [1]_, and the public code's batches of 8.

        The paper lets epsilon decay "for every k >= 500 at each epoch". Here k counts epochs, so
        that epsilon is constant in a fit of up to 500. Its appendix B has equal steps:
        ``objective_step=0.02, constraint_step=0.02``.

        Parameters
        ----------
        **changes
            Parameters that should differ.

        Returns
        -------
        solver : StochasticSwitching

        References
        ----------
        .. [1] "Benchmarking stochastic approximation algorithms for fairness-constrained training
           of deep neural networks", section 4.2 and Table 3 (SSw).
        """
        return cls(**(benchmark_switching() | {"batch_size": 8} | changes))

    @property
    def takes_last(self) -> bool:
        """Whether the answer is a drawn iterate."""
        return self.output == "drawn"

    def _steps(
        self, problem: Problem, x: np.ndarray, random_state: np.random.RandomState
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        one_sided = problem.one_sided
        multipliers = np.zeros(len(problem.lower))
        n_steps = self._steps_per_epoch(problem)
        drawn, total = x, 0.0
        for k in count():
            # Estimate the rows on one batch, step on another one.
            state = {"n_steps": k // n_steps}
            G = self._evaluate_batch_rows(problem, one_sided, x, random_state)[1]
            takes_loss = self._weigh(state, G)[0]
            step = self.objective_step if takes_loss else self.constraint_step
            if takes_loss:
                slope = self._loss_batch(problem, random_state).evaluate(x).grad
            else:
                evaluation, G = self._evaluate_batch_rows(problem, one_sided, x, random_state)
                slope = evaluation.pull_back(one_sided.multipliers(_mark_largest(G)))
            if k >= self.first_drawn:
                total += step
                # Reservoir sampling: the iterate drawn has probability proportional to its step.
                drawn = x if random_state.uniform() * total < step else drawn
            x = problem.project(x - step * slope)
            yield (drawn if self.output == "drawn" else x), multipliers

    def _evaluate_batch_rows(
        self, problem: Problem, one_sided: Any, x: np.ndarray, random_state: np.random.RandomState
    ) -> tuple[Evaluation, np.ndarray]:
        """The rows on a new batch, and their values."""
        evaluation = self._constraint_batch(problem, random_state).evaluate(x)
        return evaluation, one_sided.values(evaluation.values)

    def _start_state(self, G: np.ndarray) -> dict[str, Any]:
        """The number of steps, of which `epsilon` may be a function."""
        return {"n_steps": 0}

    def _weigh(
        self, state: dict[str, Any], G: np.ndarray, again: np.ndarray | None = None
    ) -> tuple[bool, np.ndarray, dict[str, Any]]:
        """The loss where the rows hold, else the largest of them."""
        k = state["n_steps"]
        epsilon = self.epsilon(k) if callable(self.epsilon) else self.epsilon
        if G.max(initial=-np.inf) <= epsilon:
            return True, np.zeros(len(G)), {"n_steps": k + 1}
        ratio = self.constraint_step / self.objective_step
        return False, ratio * _mark_largest(G), {"n_steps": k + 1}


def _mark_largest(G: np.ndarray) -> np.ndarray:
    """1 for the largest row, and 0 for others."""
    return np.arange(len(G)) == G.argmax()
