"""The inexact difference-of-convex algorithm on mini-batches."""

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Self

import numpy as np

from skfair.problems import original_multipliers
from skfair.solvers._one_sided import OneSided
from skfair.solvers.stochastic._stochastic import StochasticSolver
from skfair.utils._sklearn import Interval


class StochasticIDCA(StochasticSolver):
    r"""Solve a sequence of convex problems by primal-dual steps on mini-batches.

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
    inner_epochs : int, default=3
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
    >>> from skfair.solvers import StochasticIDCA
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

    _parameter_constraints = {
        **StochasticSolver._parameter_constraints,
        "inner_epochs": [Interval(Integral, 1, None, closed="left")],
        "step": [Interval(Real, 0, None, closed="neither")],
    }

    requires = ("majorant", "drawn majorant")

    def __init__(
        self,
        max_iter: int = 30,
        tol: float = 1e-3,
        inner_epochs: int = 3,
        step: float = 3.0,
        batch_size: int = 64,
    ):
        self.max_iter = max_iter
        self.tol = tol
        self.inner_epochs = inner_epochs
        self.step = step
        self.batch_size = batch_size

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

    def _steps(self, problem, x, random_state):
        here, Q = self._evaluate(problem, x), 0.0
        while True:
            # Majorise at the iterate and solve the convex problem.
            convex = replace(problem, constraint=problem.rows.majorant(here.scores, here.aux))
            here, Q = yield from self._inner(convex, here.x, Q, random_state)

    def _evaluate(self, problem, x):
        """All samples at x, with unchanged thresholds, which are unknowns of the majorant."""
        return problem.evaluate(x)

    def _inner(self, problem, x, Q, random_state):
        """Steps on a convex problem; the evaluation at their mean, and the last multipliers."""
        one_sided, rows = OneSided(problem.lower, problem.upper), problem.rows
        n_steps = self.inner_epochs * self._steps_per_epoch(problem)
        # sqrt(T) weighs the objective against the queue Q of violations ([2]_ of the docstring).
        weight, length = np.sqrt(n_steps), self.step / (2.0 * n_steps)
        mean, Q = x, np.broadcast_to(Q, len(one_sided.rows))
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
