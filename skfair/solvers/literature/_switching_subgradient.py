"""The switching subgradient method."""

from collections.abc import Callable
from itertools import count
from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator

from skfair.solvers._one_sided import OneSided
from skfair.solvers._solver import Iterate, Solver
from skfair.solvers._step_sizes import Smoothness, polyak_step
from skfair.utils._sklearn import Interval, StrOptions

_SHORTENING = 300.0
"""Iterations after which the default objective step is divided by sqrt(2)."""
_MEMORY = 0.99
"""Decay per iteration of the sums of steps that estimate the multipliers."""
_MIN_STEP = 1e-12
"""Minimum sum of objective steps in the estimate of multipliers."""


class Harmonic(BaseEstimator):
    r"""The schedule :math:`scale / (k + 1)`.

    Examples
    --------
    >>> from skfair.solvers import Harmonic
    >>> Harmonic(2.0)(3)
    0.5
    """

    def __init__(self, scale):
        self.scale = scale

    def __call__(self, k):
        """Value at iteration k."""
        return self.scale / (k + 1)


class GeometricDecay(BaseEstimator):
    r"""The schedule :math:`start \cdot factor^{\max(0, k + 1 - hold)}`, constant for `hold` steps.

    Examples
    --------
    >>> from skfair.solvers import GeometricDecay
    >>> [GeometricDecay(8.0, 0.5, hold=2)(k) for k in range(4)]
    [8.0, 8.0, 4.0, 2.0]
    """

    def __init__(self, start, factor, hold=0):
        self.start = start
        self.factor = factor
        self.hold = hold

    def __call__(self, k):
        """Value at iteration k."""
        return self.start * self.factor ** max(0, k + 1 - self.hold)


class SwitchingSubgradient(Solver):
    r"""Step against the objective if the rows nearly hold, otherwise against the worst row.

    With :math:`G = \max_i G_i` over the one-sided rows,

    .. math::

        x_{k+1} = x_k - \eta_k \nabla F(x_k) \;\text{ if } G(x_k) \le \epsilon_k, \qquad
        x_{k+1} = x_k - \nu_k\, \partial G(x_k) \;\text{ else.}

    It only needs subgradients, so each gap is one row, which may be piecewise smooth. It has no
    multipliers: they are estimated by the recent steps against each row, relative to those against
    the objective ([1]_, section 3.2.5).

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

    _parameter_constraints = {
        **Solver._parameter_constraints,
        "epsilon": [Interval(Real, 0, None, closed="left"), callable, None],
        "objective_step": [
            Interval(Real, 0, None, closed="neither"),
            StrOptions({"normalized"}),
            callable,
            None,
        ],
        "constraint_step": [Interval(Real, 0, None, closed="neither"), StrOptions({"polyak"})],
        "output": [StrOptions({"best", "drawn"})],
    }

    # Odd, as iterates may alternate between the two types of steps.
    check_every = 9
    one_row = True
    projects = True

    def __init__(
        self,
        max_iter: int = 10000,
        tol: float = 1e-4,
        epsilon: float | Callable | None = None,
        objective_step: float | Literal["normalized"] | Callable | None = None,
        constraint_step: float | Literal["polyak"] = "polyak",
        output: Literal["best", "drawn"] = "best",
    ):
        self.max_iter = max_iter
        self.tol = tol
        self.epsilon = epsilon
        self.objective_step = objective_step
        self.constraint_step = constraint_step
        self.output = output

    @classmethod
    def from_partial_fairness_paper(cls, epsilon: float | Callable = 1e-4, **changes: Any) -> Self:
        """Normalised steps and the best nearly feasible iterate [1]_.

        Parameters
        ----------
        epsilon : float or callable, default=1e-4
            The paper chooses among 1e-4, 2e-4, 5e-4, 1e-3 and c / (k + 1) with c of 0.2, 0.5, 1, 2,
            by the objective after 10,000 iterations.
        **changes
            Other parameters that should differ.

        Returns
        -------
        solver : SwitchingSubgradient

        References
        ----------
        .. [1] Y. He, Y. Huang, Y. Yao and Q. Lin, "Enforcing fair predicted scores on intervals of
           percentiles by difference-of-convex constraints", arXiv:2505.12530, 2026, Algorithm 3,
           Figures 10 and 11.
        """
        settings = {"max_iter": 50000, "epsilon": epsilon, "objective_step": "normalized"}
        return cls(**(settings | changes))

    @classmethod
    def from_benchmark(cls, **changes: Any) -> Self:
        """Two fixed steps, a decreasing tolerance, and a random iterate as the answer [1]_.

        Every iteration is one pass over the data.

        Parameters
        ----------
        **changes
            Parameters that should differ.

        Returns
        -------
        solver : SwitchingSubgradient

        References
        ----------
        .. [1] "Benchmarking stochastic approximation algorithms for fairness-constrained training
           of deep neural networks", section 4.2 (SSw).
        """
        settings = {
            "epsilon": GeometricDecay(1e-4, 0.97, hold=500),
            "objective_step": 0.5,
            "constraint_step": 0.05,
            "output": "drawn",
        }
        return cls(**(settings | changes))

    @property
    def requires(self) -> tuple[str, ...]:
        """A linear model, to estimate the objective step unless it is passed."""
        return ("linear",) if self.objective_step is None else ()

    def _iterate(self, problem, x, random_state):
        one_sided = OneSided(problem.lower, problem.upper)
        evaluation = problem.evaluate(x)
        objective_step = self._objective_step(evaluation, one_sided)
        keep = _BestIterate() if self.output == "best" else _DrawnIterate(random_state)
        against_rows, against_objective = np.zeros(len(one_sided.rows)), 0.0
        for k in count():
            G, epsilon = one_sided.values(evaluation.values), self._epsilon(k)
            # Multipliers are estimated from recent steps, so older ones fade.
            against_rows *= _MEMORY
            against_objective *= _MEMORY
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
            duals = against_rows / max(against_objective, _MIN_STEP)
            yield Iterate(evaluation, one_sided.multipliers(duals), chosen)
            if not slope.any():
                return  # stationary point
            evaluation = problem.evaluate(problem.project(evaluation.x - step * slope))

    def _epsilon(self, k):
        if self.epsilon is None:
            return self.tol
        return self.epsilon(k) if callable(self.epsilon) else self.epsilon

    def _objective_step(self, start, one_sided):
        """The rule (k, slope, epsilon) -> length of an objective step."""
        rule = self.objective_step
        if rule is None:
            longest = 1.0 / Smoothness.estimate(start, one_sided).objective
            return lambda k, slope, epsilon: longest / np.sqrt(1.0 + k / _SHORTENING)
        if rule == "normalized":
            return lambda k, slope, epsilon: polyak_step(epsilon, slope)
        return lambda k, slope, epsilon: rule(k) if callable(rule) else rule

    def _constraint_step(self, excess, slope):
        if self.constraint_step == "polyak":
            return polyak_step(excess, slope)
        return self.constraint_step


class _BestIterate:
    """Chooses an iterate if its objective is the minimum so far."""

    def __init__(self):
        self._least = np.inf

    def __call__(self, fun, step):
        is_better = fun < self._least
        self._least = min(fun, self._least)
        return is_better


class _DrawnIterate:
    """Chooses iterates such that the last one chosen is drawn in proportion to the steps."""

    def __init__(self, random_state):
        self._random_state = random_state
        self._total = 0.0

    def __call__(self, fun, step):
        self._total += step
        # Reservoir sampling: replace the earlier choice with the step's share of the total.
        return self._random_state.uniform() * self._total < step
