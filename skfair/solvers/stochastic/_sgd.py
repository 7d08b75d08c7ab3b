"""Stochastic gradient descent on the loss, alone or with a fairness penalty."""

from numbers import Real
from typing import Any, Self

import numpy as np

from skfair.solvers._one_sided import OneSided
from skfair.solvers.stochastic._stochastic import StochasticSolver
from skfair.utils._sklearn import Interval


class SGD(StochasticSolver):
    r"""Stochastic gradient descent on the objective, alone or with a fairness penalty.

    With the rows written as :math:`G \le 0`, each step on new mini-batches is

    .. math::

        x_{k+1} = \mathrm{proj}\Bigl(x_k - \eta \bigl(\nabla f(x_k, \xi_k)
        + \rho\, \nabla \textstyle\sum_r [G_r(x_k, \zeta_k)]_+\bigr)\Bigr).

    It is the baseline of constrained methods: without penalty it ignores the constraint, and with
    one the violation at a given :math:`\rho` is not controlled. With a tolerance of 0 the penalty
    is a norm of the gaps, as in [1]_. The answer is the last iterate.

    Parameters
    ----------
    max_iter : int, default=20
        Epochs.
    tol : float, default=1e-3
        Maximum violation and maximum residual of the optimality conditions at the answer.
    learning_rate : float, default=0.05
        :math:`\eta`.
    batch_size : int, default=32
        Samples per batch.
    penalty : float, default=0.0
        :math:`\rho`; with 0 no batches are drawn for the constraint.

    References
    ----------
    .. [1] M. Buyl, M. Defrance and T. De Bie, "fairret: a framework for differentiable fairness
       regularization terms", ICLR 2024.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.classification import ConstrainedERMClassifier
    >>> from skfair.solvers import SGD
    >>> groups = np.tile(["a", "b"], 50)
    >>> X = (np.linspace(-1, 1, 100) + 0.2 * (groups == "b"))[:, np.newaxis]
    >>> model = ConstrainedERMClassifier(constraint=None, alpha=0.1, solver=SGD(tol=0.1))
    >>> model.fit(X, X[:, 0] > 0, sensitive_features=groups).score(X, X[:, 0] > 0) > 0.9
    True
    """

    _parameter_constraints = {
        **StochasticSolver._parameter_constraints,
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "penalty": [Interval(Real, 0, None, closed="left")],
    }

    takes_last = True

    def __init__(
        self,
        max_iter: int = 20,
        tol: float = 1e-3,
        learning_rate: float = 0.05,
        batch_size: int = 32,
        penalty: float = 0.0,
    ):
        self.max_iter = max_iter
        self.tol = tol
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.penalty = penalty

    @classmethod
    def from_benchmark(cls, **changes: Any) -> Self:
        """Batches of 8 [1]_; the paper prints no learning rate.

        Parameters
        ----------
        **changes
            Parameters that should differ.

        Returns
        -------
        solver : SGD

        References
        ----------
        .. [1] "Benchmarking stochastic approximation algorithms for fairness-constrained training
           of deep neural networks", section 4.2 and Table 3 (SGD).
        """
        return cls(**({"batch_size": 8, "learning_rate": 0.01} | changes))

    def _steps(self, problem, x, random_state):
        one_sided = OneSided(problem.lower, problem.upper)
        multipliers = np.zeros(len(problem.lower))
        while True:
            slope = self._loss_batch(problem, random_state).evaluate(x).grad
            # Penalty: subgradient of the sum of violations, on a batch of its own.
            if self.penalty > 0:
                rows = self._constraint_batch(problem, random_state).evaluate(x)
                is_broken = one_sided.values(rows.values) > 0
                multipliers = one_sided.multipliers(self.penalty * is_broken)
                slope = slope + rows.pull_back(multipliers)
            x = problem.project(x - self.learning_rate * slope)
            yield x, multipliers
