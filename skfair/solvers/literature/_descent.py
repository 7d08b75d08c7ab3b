"""Published methods of descent: descent-ascent, subgradients, multipliers by a network."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from skfair._problems.evaluation import evaluate_losses
from skfair._problems.mlp import MLPModel
from skfair._problems.problem import evaluate_decisions
from skfair._utils.checks import resolve_name
from skfair._utils.parameters import (
    Array,
    NonNegative,
    Positive,
    PositiveInt,
    Share,
    make_constructor,
)
from skfair.losses import is_pairwise
from skfair.solvers._solver import Iterate, Solver
from skfair.solvers._stochastic import Adam, StochasticSolver

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skfair._problems.evaluation import Evaluation
    from skfair._problems.model import LinearPoint
    from skfair._problems.problem import Problem


# Lipschitz constants of a problem, which determine step sizes of first-order methods.


_MIN_DIVISOR = 1e-100  # for models without columns


class Smoothness(NamedTuple):
    """Estimated Lipschitz constants of a problem with a linear model."""

    objective: float  # L_F, Lipschitz constant of the objective's gradient
    gram: float  # largest eigenvalue of the Gram matrix of the features
    rows: float  # M_G, largest norm of the Jacobian of the one-sided rows

    @classmethod
    def estimate(cls, evaluation: Evaluation, one_sided: Any) -> Smoothness:
        """Estimate the constants around a starting point.

        Surrogates of decisions are steepest at the score 0, hence at the usual start. A gap that is
        0 there has no gradient, so the point after one gradient step counts too.
        """
        problem = evaluation.problem
        gram = _largest_eigenvalue(evaluation.point, problem.mean_weights)
        curvature = gram * _largest_curvature(problem)
        objective = curvature + problem.ridge.max(initial=_MIN_DIVISOR)
        # M_G: the larger norm at the start and after a gradient step.
        next_evaluation = problem.evaluate(evaluation.x - evaluation.grad / objective)
        jacobians = (one_sided.jacobian(one.jacobian) for one in (evaluation, next_evaluation))
        rows = max(np.linalg.norm(J, 2) for J in jacobians) if len(one_sided.rows) else 0.0
        gram = _largest_eigenvalue(evaluation.point, np.ones_like(problem.mean_weights))
        return cls(float(objective), gram, float(rows))

    def bound_lagrangian_curvature(self, evaluation: Evaluation, multipliers: np.ndarray) -> float:
        """Bound on the curvature of the Lagrangian, which grows with the multipliers."""
        row_curvature = np.abs(evaluation.curvature(multipliers) - evaluation.loss_curvature)
        return self.objective + self.gram * float(row_curvature.max())


def polyak_step(excess: float, slope: np.ndarray) -> float:
    """Length of the step against a slope to where a linear row of this excess holds."""
    return excess / max(slope @ slope, _MIN_DIVISOR)


def _largest_eigenvalue(point: LinearPoint, weights: np.ndarray) -> float:
    """Largest eigenvalue of a weighted Gram matrix, by power iteration."""
    direction = np.random.default_rng(0).standard_normal(len(point.pull_back(weights)))
    for _ in range(30):
        direction /= max(np.linalg.norm(direction), _MIN_DIVISOR)
        direction = point.pull_back(weights * point.push_forward(direction))
    return float(np.linalg.norm(direction))


def _largest_curvature(problem: Problem) -> float:
    """Largest curvature of the loss at scores from 0 to the target."""
    if is_pairwise(problem.loss):
        # If the differences of all pairs are nearly the margin, all have curvature.
        return evaluate_losses(problem, 0.48 * problem.target).curvature.max()
    targets = np.array([problem.target.min(), problem.target.max()])
    # Fine grid, as losses are rounded over short intervals of scores.
    scores = np.outer(np.linspace(0.0, 1.0, 1001), targets)
    return problem.loss(scores, targets).curvature.max()


# Gradient descent-ascent on the Lagrangian.


@make_constructor
class GDA(Solver):
    r"""Gradient descent in the parameters, and ascent in the multipliers of constraints (GDA).

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

    check_every = 10
    projects = True

    max_iter: PositiveInt = 10000
    tol: NonNegative = 1e-4
    eta: Positive | None = None
    sigma: Positive = 0.2
    extrapolation: Share = 1.0

    @property
    def requires(self) -> tuple[str, ...]:
        """A linear model, to estimate the primal step unless it is a number."""
        return ("linear",) if self.eta is None else ()

    def _iterate(
        self, problem: Problem, x: np.ndarray, random_state: np.random.RandomState
    ) -> Iterator:
        return self._descend_and_ascend(problem, x, problem.evaluate)

    def _descend_and_ascend(
        self, problem: Problem, x: np.ndarray, evaluate: Callable
    ) -> Iterator[Iterate]:
        """Yield the iterates, whose rows and derivatives are those of `evaluate(x)`."""
        one_sided = problem.one_sided
        evaluation = evaluate(x)
        primal_step = self._primal_step_rule(problem.evaluate(x), one_sided)
        G = one_sided.values(evaluation.values)
        duals = np.zeros_like(G)
        while True:
            multipliers = one_sided.multipliers(duals)
            yield Iterate(evaluation, multipliers)
            # Descent in x, then ascent in the multipliers with extrapolated rows.
            slope = evaluation.lagrangian_gradient(multipliers)
            eta = primal_step(evaluation, multipliers)
            evaluation = evaluate(problem.project(evaluation.x - eta * slope))
            previous = G
            G = one_sided.values(evaluation.values)
            ascent = G + self.extrapolation * (G - previous)
            duals = np.maximum(0.0, duals + self.sigma * ascent)

    def _primal_step_rule(self, initial_evaluation: Evaluation, one_sided: Any) -> Callable:
        """The rule (evaluation, multipliers) -> eta."""
        if self.eta is not None:
            return lambda evaluation, multipliers: self.eta
        smoothness = Smoothness.estimate(initial_evaluation, one_sided)
        # The multipliers' ascent couples both updates: M_G^2 sigma limits the primal step too.
        coupling = self.sigma * smoothness.rows**2
        return lambda evaluation, multipliers: (
            0.9 / (smoothness.bound_lagrangian_curvature(evaluation, multipliers) / 2.0 + coupling)
        )


# The proxy-Lagrangian game: surrogate gradients against multipliers of the decisions.


@make_constructor
class ProxyLagrangian(GDA):
    r"""Gradient descent-ascent whose multipliers follow the decisions, not their surrogate.

    The model player descends the Lagrangian of the smooth surrogate rows :math:`\tilde G`; the
    other player raises the multipliers by the rows G that count decisions ([1]_, Algorithm 2,
    played with gradients of all samples and additive multipliers):

    .. math::

        x_{k+1} = x_k - \eta\, \nabla_x \bigl(F + \lambda_k^T \tilde G\bigr)(x_k), \qquad
        \lambda_{k+1} = \bigl[\lambda_k + \sigma\, G(x_{k+1})\bigr]_+ .

    At a stationary point the decisions themselves satisfy the bounds. The iterates need not
    converge, since G is piecewise constant: the answer is the best feasible iterate. Violation and
    residual of the result are those of the decisions' rows with the surrogate's derivative.

    Parameters
    ----------
    max_iter : int, default=10000
        Maximum number of iterations.
    tol : float, default=1e-4
        Maximum violation of the decisions' rows and maximum residual at the answer.
    eta : float or None, default=None
        Primal step; None as in :class:`GDA`.
    sigma : float, default=0.2
        Dual step.
    extrapolation : float, default=0.0
        As in :class:`GDA`.

    References
    ----------
    .. [1] A. Cotter et al., "Optimization with non-differentiable constraints with applications to
       fairness, recall, churn, and other goals", JMLR 20(172), 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.classification import ConstrainedERMClassifier
    >>> from skfair.solvers import ProxyLagrangian
    >>> groups = np.tile(["a", "b"], 50)
    >>> X = (np.linspace(-1, 1, 100) + 0.2 * (groups == "b"))[:, np.newaxis]
    >>> model = ConstrainedERMClassifier(tolerance=0.1, alpha=0.1, solver=ProxyLagrangian(tol=1e-2))
    >>> model.fit(X, X[:, 0] > 0, sensitive_features=groups).constraint_violation_
    0.0
    """

    max_iter: PositiveInt = 10000
    tol: NonNegative = 1e-4
    eta: Positive | None = None
    sigma: Positive = 0.2
    extrapolation: Share = 0.0

    @property
    def requires(self) -> tuple:
        """Those of `GDA`, and a constraint that counts decisions."""
        return (*super().requires, "decisions")

    def _iterate(
        self, problem: Problem, x: np.ndarray, random_state: np.random.RandomState
    ) -> Iterator:
        return self._descend_and_ascend(problem, x, partial(evaluate_decisions, problem))


# Stochastic alternating bi-objective gradient descent (SA2GD).


def sa2gd(
    grad_a: Callable,
    grad_b: Callable,
    x0: np.ndarray,
    *,
    n_a: int,
    n_b: int,
    n_iter: int,
    strong_convexity: float,
    random_state: int | None = None,
) -> np.ndarray:
    r"""Minimise a weighted sum of two smooth objectives by alternating gradient steps (SA2GD).

    Iteration t of Algorithm 4 of [1]_ makes :math:`n_a` steps against stochastic gradients of
    :math:`f^a`, then :math:`n_b` against those of :math:`f^b`, all of length

    .. math:: \alpha_t = \frac{2}{c\,(t + 1)\,(n_a + n_b)}, \qquad t = 0, 1, \dots, T - 1.

    If both are strongly convex with the constant c, the iterates approach the minimiser of
    :math:`\lambda f^a + (1 - \lambda) f^b` with :math:`\lambda = n_a / (n_a + n_b)`. The minimum
    expected gap of that sum among the first T iterates is O(1 / T) (Theorem 5.1). `sa2gd_front`
    makes one run for each split of :math:`n_a + n_b`.

    Raises
    ------
    ValueError
        If a number is out of range.
    FloatingPointError
        If the iterates are no longer finite.

    References
    ----------
    .. [1] S. Liu and L. N. Vicente, "A stochastic alternating balance k-means algorithm for fair
       clustering", LION 2022, arXiv:2105.14172, Algorithm 4 and Theorem 5.1.

    Examples
    --------
    Objectives (x - 1)^2 / 2 and (x + 1)^2 / 2, with three quarters of the steps for the first:

    >>> import numpy as np
    >>> from skfair.solvers.literature import sa2gd
    >>> aims = (lambda x, random_state: x - 1.0), (lambda x, random_state: x + 1.0)
    >>> x = sa2gd(*aims, np.zeros(1), n_a=3, n_b=1, n_iter=1000, strong_convexity=1.0)
    >>> x.round(2)
    array([0.5])
    """
    if min(n_a, n_b, n_iter) < 0 or n_a + n_b == 0:
        raise ValueError(
            "n_a, n_b and n_iter must not be negative, and n_a + n_b must be positive; got "
            f"n_a={n_a}, n_b={n_b}, n_iter={n_iter}."
        )
    if not strong_convexity > 0:
        raise ValueError(f"strong_convexity must be positive, got {strong_convexity}.")
    random_state = check_random_state(random_state)
    x = np.array(x0, dtype=np.float64)
    for t in range(n_iter):
        step = 2.0 / (strong_convexity * (t + 1) * (n_a + n_b))
        for grad in [grad_a] * n_a + [grad_b] * n_b:
            x = x - step * grad(x, random_state)
        if not np.isfinite(x).all():
            raise FloatingPointError(
                f"The iterates must be finite, but are not after iteration {t}: the steps are too "
                f"long. Raise strong_convexity={strong_convexity}."
            )
    return x


def sa2gd_front(
    grad_a: Callable, grad_b: Callable, x0: np.ndarray, *, n_total: int, **settings: Any
) -> np.ndarray:
    """One run of `sa2gd` for each split of the steps of an iteration between two objectives.

    References
    ----------
    .. [1] S. Liu and L. N. Vicente, "A stochastic alternating balance k-means algorithm for fair
       clustering", LION 2022, arXiv:2105.14172, section 5.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.solvers.literature import sa2gd_front
    >>> aims = (lambda x, random_state: x - 1.0), (lambda x, random_state: x + 1.0)
    >>> points = sa2gd_front(*aims, np.zeros(1), n_total=4, n_iter=1000, strong_convexity=1.0)
    >>> (points.ravel() + 1.0).round(1)
    array([0. , 0.5, 1. , 1.5, 2. ])
    """
    pairs = [(n_a, n_total - n_a) for n_a in range(n_total + 1)]
    return np.array([sa2gd(grad_a, grad_b, x0, n_a=a, n_b=b, **settings) for a, b in pairs])


# The switching subgradient method.


_MULTIPLIER_DECAY = 0.99
"""Decay per iteration of the sums of steps that estimate the multipliers."""


def benchmark_switching() -> dict:
    """Settings of SSw in the benchmark of stochastic methods, section 4.2."""
    settings = {"objective_step": 0.5, "constraint_step": 0.05, "output": "drawn"}
    return settings | {"epsilon": GeometricDecay(1e-4, 0.97, hold=500)}


class GeometricDecay(BaseEstimator):
    r"""The schedule :math:`start \cdot factor^{\max(0, k + 1 - hold)}`, constant for `hold` steps.

    Examples
    --------
    >>> from skfair.solvers.literature._descent import GeometricDecay
    >>> [GeometricDecay(8.0, 0.5, hold=2)(k) for k in range(4)]
    [8.0, 8.0, 4.0, 2.0]
    """

    def __init__(self, start: float, factor: float, hold: int = 0) -> None:
        self.start = start
        self.factor = factor
        self.hold = hold

    def __call__(self, k: int) -> float:
        """Value at iteration k."""
        return self.start * self.factor ** max(0, k + 1 - self.hold)


@make_constructor
class SwitchingSubgradient(Solver):
    r"""Solver that steps against the objective, or against the worst constraint if one is broken.

    With :math:`G = \max_i G_i` over the one-sided rows,

    .. math::

        x_{k+1} = x_k - \eta_k \nabla F(x_k) \;\text{ if } G(x_k) \le \epsilon_k, \qquad
        x_{k+1} = x_k - \nu_k\, \partial G(x_k) \;\text{ else.}

    It only needs subgradients, so each gap is one row, which may be piecewise smooth. It has no
    multipliers: they are estimated by the recent steps against each row, relative to those against
    the objective ([1]_, section 3.2.5).

    Read more in the :ref:`guide <solvers>`.

    Parameters
    ----------
    max_iter : int, default=10000
        Maximum number of iterations.
    tol : float, default=1e-4
        Maximum violation and maximum residual of the optimality conditions at the answer.
    epsilon : float, callable or None, default=None
        Tolerated violation :math:`\epsilon_k` of the rows, or a function of k that returns it;
        None is `tol`.
    objective_step : float, "normalized", callable or None, default=None
        :math:`\eta_k`; "normalized" is :math:`\epsilon_k / \|\nabla F\|^2`; None is
        :math:`1 / L_F`, with an estimate of the Lipschitz constant of :math:`\nabla F`, times
        :math:`1 / \sqrt{1 + k / 300}`.
    constraint_step : float or "polyak", default="polyak"
        :math:`\nu_k`; "polyak" is :math:`G / \|\partial G\|^2`, to where the linearisation of the
        worst row holds.
    output : {"best", "drawn"}, default="best"
        The answer among nearly feasible iterates: that of minimum objective, or one drawn with
        probability proportional to :math:`\eta_k`.

    References
    ----------
    .. [1] Y. Nesterov, "Lectures on Convex Optimization", 2nd edition, 2018, section 3.2.
    .. [2] Y. Huang and Q. Lin, "Oracle complexity of single-loop switching subgradient methods for
       non-smooth weakly convex functional constrained optimization", NeurIPS 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.classification import ConstrainedERMClassifier
    >>> from skfair.solvers import SwitchingSubgradient
    >>> groups = np.tile(["a", "b"], 50)
    >>> X = (np.linspace(-1, 1, 100) + 0.2 * (groups == "b"))[:, np.newaxis]
    >>> model = ConstrainedERMClassifier(
    ...     tolerance=0.1, alpha=0.1, solver=SwitchingSubgradient(tol=1e-2)
    ... )
    >>> model.fit(X, X[:, 0] > 0, sensitive_features=groups).constraint_violation_
    0.0
    """

    # Odd, as iterates may alternate between the two types of steps.
    check_every = 9
    one_row = True
    projects = True

    max_iter: PositiveInt = 10000
    tol: NonNegative = 1e-4
    epsilon: NonNegative | Callable | None = None
    objective_step: Positive | Literal["normalized"] | Callable | None = None
    constraint_step: Positive | Literal["polyak"] = "polyak"
    output: Literal["best", "drawn"] = "best"

    @classmethod
    def from_paper(
        cls, name: Literal["benchmark", "partial_fairness"] = "benchmark", **changes: Any
    ) -> Self:
        """Settings of one of two papers.

        Parameters
        ----------
        name : {"benchmark", "partial_fairness"}, default="benchmark"
            "benchmark" has two fixed steps, a decreasing tolerance, and a random iterate as the
            answer [1]_; every iteration is one pass over the data. "partial_fairness" has
            normalised steps and the best nearly feasible iterate [2]_. That paper chooses `epsilon`
            among 1e-4, 2e-4, 5e-4, 1e-3 and c / (k + 1) with c of 0.2, 0.5, 1, 2, by the objective
            after 10,000 iterations; here it is 1e-4.
        **changes
            Parameters that should differ.

        Returns
        -------
        solver : SwitchingSubgradient

        Raises
        ------
        ValueError
            If `name` is neither of the two.

        References
        ----------
        .. [1] "Benchmarking stochastic approximation algorithms for fairness-constrained training
           of deep neural networks", section 4.2 (SSw).
        .. [2] Y. He, Y. Huang, Y. Yao and Q. Lin, "Enforcing fair predicted scores on intervals of
           percentiles by difference-of-convex constraints", arXiv:2505.12530, 2026, Algorithm 3,
           Figures 10 and 11.
        """
        settings = {
            "benchmark": benchmark_switching(),
            "partial_fairness": {
                "max_iter": 50000,
                "epsilon": 1e-4,
                "objective_step": "normalized",
            },
        }
        return cls(**(resolve_name(settings, name, "name") | changes))

    @property
    def requires(self) -> tuple[str, ...]:
        """A linear model, to estimate the objective step unless it is passed."""
        return ("linear",) if self.objective_step is None else ()

    def _iterate(
        self, problem: Problem, x: np.ndarray, random_state: np.random.RandomState
    ) -> Iterator[Iterate]:
        one_sided = problem.one_sided
        evaluation = problem.evaluate(x)
        objective_step = self._objective_step_rule(evaluation, one_sided)
        keep = _BestIterateRule() if self.output == "best" else _DrawnIterateRule(random_state)
        against_rows = np.zeros(len(one_sided.rows))
        against_objective = 0.0
        for k in count():
            G = one_sided.values(evaluation.values)
            epsilon = self._epsilon(k)
            # Multipliers are estimated from recent steps, so older ones fade.
            against_rows *= _MULTIPLIER_DECAY
            against_objective *= _MULTIPLIER_DECAY
            # Step against the objective if the rows nearly hold, otherwise against the worst row.
            if G.max(initial=-np.inf) <= epsilon:
                slope = evaluation.grad
                step = objective_step(k, slope, epsilon)
                against_objective += step
                chosen = keep(evaluation.fun, step)
            else:
                worst = int(G.argmax())
                slope = evaluation.pull_back(one_sided.multipliers(np.arange(len(G)) == worst))
                step = self._constraint_step(G[worst], slope)
                against_rows[worst] += step
                chosen = None
            duals = against_rows / max(against_objective, 1e-12)
            yield Iterate(evaluation, one_sided.multipliers(duals), chosen)
            if not slope.any():
                return  # stationary point
            evaluation = problem.evaluate(problem.project(evaluation.x - step * slope))

    def _epsilon(self, k: int) -> float:
        if self.epsilon is None:
            return self.tol
        return self.epsilon(k) if callable(self.epsilon) else self.epsilon

    def _objective_step_rule(self, evaluation: Evaluation, one_sided: Any) -> Callable:
        """The rule (k, slope, epsilon) -> length of an objective step."""
        rule = self.objective_step
        if rule is None:
            longest = 1.0 / Smoothness.estimate(evaluation, one_sided).objective
            # After 300 iterations the step is divided by sqrt(2).
            return lambda k, slope, epsilon: longest / np.sqrt(1.0 + k / 300.0)
        if rule == "normalized":
            return lambda k, slope, epsilon: polyak_step(epsilon, slope)
        return lambda k, slope, epsilon: rule(k) if callable(rule) else rule

    def _constraint_step(self, excess: float, slope: np.ndarray) -> float:
        if self.constraint_step == "polyak":
            return polyak_step(excess, slope)
        return self.constraint_step


class _BestIterateRule:
    """Chooses an iterate if its objective is the minimum so far."""

    def __init__(self) -> None:
        self._least = np.inf

    def __call__(self, fun: float, step: float) -> bool:
        is_better = fun < self._least
        self._least = min(fun, self._least)
        return is_better


class _DrawnIterateRule:
    """Chooses iterates such that the last one chosen is drawn in proportion to the steps."""

    def __init__(self, random_state: np.random.RandomState) -> None:
        self._random_state = random_state
        self._total = 0.0

    def __call__(self, fun: float, step: float) -> bool:
        self._total += step
        # Reservoir sampling: replace the earlier choice with the step's share of the total.
        return self._random_state.uniform() * self._total < step


# Multipliers computed by a network, for constraints with very many rows.


@make_constructor
class MultiplierModel(StochasticSolver):
    r"""Solver for very many constraints, whose multipliers are computed by a small network.

    The network reads descriptions of the rows.

    With the rows written as :math:`G_r \le 0`, each described by a vector :math:`z_r`, the
    multiplier of a row is :math:`\lambda_\phi(z_r) \ge 0`, so that rows with similar descriptions
    have similar multipliers [1]_. Each step follows, on a mini-batch, the gradients of

    .. math::

        f(x) + \frac1m \sum_r \lambda_\phi(z_r)\, G_r(x)

    descending in x and ascending in :math:`\phi`, both by Adam. The network has three hidden
    layers, as in the comparison of [2]_, section 5.3, which prints no other detail of it, and a
    softplus output.

    Parameters
    ----------
    max_iter : int, default=20
        Epochs.
    tol : float, default=1e-3
        Violation of a row up to which an iterate counts as feasible, and residual of the optimality
        conditions at which the solver stops.
    descriptions : array-like of shape (n_rows, n_features) or None, default=None
        Description of each row by numbers of size about 1, for example membership in overlapping
        groups. None: one indicator per row.
    hidden_layer_sizes : tuple of int, default=(64, 64, 64)
        Units of the hidden layers of the network of multipliers.
    learning_rate : float, default=2e-3
        Step length of the unknowns x.
    multiplier_rate : float, default=2e-3
        Step length of :math:`\phi`.
    batch_size : int, default=32
        Samples per batch, for the loss and for the constraint each.

    References
    ----------
    .. [1] H. Narasimhan, A. Cotter, Y. Zhou, S. Wang and W. Guo, "Approximate heavily-constrained
       learning with Lagrange multiplier models", NeurIPS 2020.
    .. [2] "A Modified Proximal-Perturbed Lagrangian for Non-Convex Non-Smooth Representatives of
       Fairness Constraints".

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.classification import ConstrainedERMClassifier
    >>> from skfair.solvers import MultiplierModel
    >>> groups = np.tile(["a", "b"], 50)
    >>> X = (np.linspace(-1, 1, 100) + 0.2 * (groups == "b"))[:, np.newaxis]
    >>> solver = MultiplierModel(max_iter=100, tol=0.1, learning_rate=0.05)
    >>> model = ConstrainedERMClassifier(tolerance=0.1, alpha=0.1, solver=solver, random_state=0)
    >>> model.fit(X, X[:, 0] > 0, sensitive_features=groups).constraint_violation_
    0.0
    """

    max_iter: PositiveInt = 20
    tol: NonNegative = 1e-3
    descriptions: Array | None = None
    hidden_layer_sizes: list | tuple = (64, 64, 64)
    learning_rate: Positive = 2e-3
    multiplier_rate: Positive = 2e-3
    batch_size: PositiveInt = 32

    def _steps(
        self, problem: Problem, x: np.ndarray, random_state: np.random.RandomState
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        one_sided = problem.one_sided
        network = MLPModel(self._describe_rows(one_sided), self.hidden_layer_sizes)
        phi = network.initial(random_state)
        factor = 1.0 / max(1, len(one_sided.rows))
        of_x, of_phi = Adam(len(x)), Adam(len(phi))
        while True:
            # Multipliers: a softplus of the network's outputs, averaged over the rows. It starts
            # near 0, as 3 is subtracted.
            point = network.evaluate(phi)
            outputs = point.scores - 3.0
            multipliers = one_sided.multipliers(factor * np.logaddexp(0.0, outputs))
            # Descent in x, and ascent in phi through the slope of the softplus.
            here = self._batch(problem, random_state).evaluate(x)
            rise = point.pull_back(factor * expit(outputs) * one_sided.values(here.values))
            slope = here.lagrangian_gradient(multipliers)
            x = problem.project(x - self.learning_rate * of_x(slope))
            phi = phi + self.multiplier_rate * of_phi(rise)
            yield x, multipliers

    def _describe_rows(self, one_sided: Any) -> np.ndarray:
        """Descriptions of the bounds: those of their row, and the side."""
        if self.descriptions is None:
            return np.eye(len(one_sided.rows))
        descriptions = np.asarray(self.descriptions, dtype=np.float64)
        if descriptions.ndim != 2 or len(descriptions) != one_sided.n_rows:
            raise ValueError(
                f"descriptions must have one row for each of the {one_sided.n_rows} rows of the "
                f"constraint (len(problem.lower)), but their shape is {descriptions.shape}. Pass "
                "one description per row."
            )
        return np.column_stack((descriptions[one_sided.rows], one_sided.signs))
