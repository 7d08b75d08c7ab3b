"""The switching subgradient method on mini-batches."""

from collections.abc import Callable
from itertools import count
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np

from skfair.solvers._one_sided import OneSided
from skfair.solvers.literature._switching_subgradient import GeometricDecay
from skfair.solvers.stochastic._stochastic import StochasticSolver
from skfair.utils._sklearn import Interval, StrOptions


class StochasticSwitching(StochasticSolver):
    r"""Switching subgradient method on mini-batches (SSw).

    With :math:`\bar G` the maximum of the rows, written as :math:`G \le 0`, on a mini-batch,
    Algorithm 3 of [1]_ repeats, with new samples for each,

    .. math::

        x_{k+1} = \mathrm{proj}\bigl(x_k - \eta^f\, \nabla f(x_k, \xi)\bigr)
        \;\text{ if } \bar G(x_k) \le \epsilon_k, \qquad
        x_{k+1} = \mathrm{proj}\bigl(x_k - \eta^c\, \partial G(x_k, \zeta)\bigr)
        \;\text{ else.}

    It has no multipliers; they are estimated at the answer.

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
        a random one of all iterates from `first_recorded` on, in proportion to the steps.
    first_recorded : int, default=0
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

    _parameter_constraints = {
        **StochasticSolver._parameter_constraints,
        "epsilon": [Interval(Real, 0, None, closed="left"), callable],
        "objective_step": [Interval(Real, 0, None, closed="neither")],
        "constraint_step": [Interval(Real, 0, None, closed="neither")],
        "output": [StrOptions({"best", "drawn"})],
        "first_recorded": [Interval(Integral, 0, None, closed="left")],
    }

    def __init__(
        self,
        max_iter: int = 20,
        tol: float = 1e-3,
        epsilon: float | Callable = 1e-4,
        objective_step: float = 0.05,
        constraint_step: float = 0.05,
        output: Literal["best", "drawn"] = "best",
        first_recorded: int = 0,
        batch_size: int = 32,
    ):
        self.max_iter = max_iter
        self.tol = tol
        self.epsilon = epsilon
        self.objective_step = objective_step
        self.constraint_step = constraint_step
        self.output = output
        self.first_recorded = first_recorded
        self.batch_size = batch_size

    @classmethod
    def from_benchmark(cls, **changes: Any) -> Self:
        """The settings of the paper, with batches of 8 and a drawn iterate [1]_.

        Its appendix B has equal steps: ``objective_step=0.02, constraint_step=0.02``.

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
        settings = {
            "epsilon": GeometricDecay(1e-4, 0.97, hold=500),
            "objective_step": 0.5,
            "constraint_step": 0.05,
            "output": "drawn",
            "batch_size": 8,
        }
        return cls(**(settings | changes))

    @property
    def takes_last(self) -> bool:
        """Whether the answer is a drawn iterate."""
        return self.output == "drawn"

    def _steps(self, problem, x, random_state):
        one_sided = OneSided(problem.lower, problem.upper)
        multipliers, n_steps = np.zeros(len(problem.lower)), self._steps_per_epoch(problem)
        drawn, total = x, 0.0
        for k in count():
            # Estimate the rows on one batch, step on another one.
            G = self._rows(problem, one_sided, x, random_state)[1]
            if G.max(initial=-np.inf) <= self._epsilon(k // n_steps):
                step = self.objective_step
                slope = self._loss_batch(problem, random_state).evaluate(x).grad
            else:
                step = self.constraint_step
                evaluation, G = self._rows(problem, one_sided, x, random_state)
                worst = np.arange(len(G)) == G.argmax()
                slope = evaluation.pull_back(one_sided.multipliers(worst))
            if k >= self.first_recorded:
                total += step
                # Reservoir sampling: the iterate drawn has probability proportional to its step.
                drawn = x if random_state.uniform() * total < step else drawn
            x = problem.project(x - step * slope)
            yield (drawn if self.output == "drawn" else x), multipliers

    def _rows(self, problem, one_sided, x, random_state):
        """The rows on a new batch, and their values."""
        evaluation = self._constraint_batch(problem, random_state).evaluate(x)
        return evaluation, one_sided.values(evaluation.values)

    def _epsilon(self, epoch):
        return self.epsilon(epoch) if callable(self.epsilon) else self.epsilon
