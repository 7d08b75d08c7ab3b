"""The stochastic penalty-barrier method."""

from itertools import count

import numpy as np

from skfair.solvers._sqp import OneSidedRows
from skfair.solvers._stochastic import Adam, LoopSolver
from skfair.utils._parameters import (
    NonNegative,
    OpenShare,
    Positive,
    PositiveInt,
    PositiveShare,
    Share,
    make_constructor,
)

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

    def _steps(self, problem, x, random_state):
        one_sided = OneSidedRows(problem.lower, problem.upper)
        n_steps = self._steps_per_epoch(problem)
        adam, smooth = Adam(len(x)), x
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

    def _start_state(self, G):
        """Multipliers at their smallest, widths at their largest."""
        return {"multipliers": np.full(len(G), _SMALLEST), "widths": np.ones(len(G)), "epoch": 0}

    def _weigh(self, state, G, again=None):
        """Multipliers by the slopes of the penalty, which also move multipliers and widths."""
        duals, widths = state["multipliers"], state["widths"]
        slopes, step = _penalty_slope(G / widths), np.sqrt(state["epoch"])
        gamma, kappa = (1.0 - 1.0 / (step + 1.0 / (1.0 - one)) for one in (self.gamma, self.kappa))
        next_duals = np.clip(duals * (gamma + (1.0 - gamma) * slopes), _SMALLEST, _LARGEST)
        narrower = kappa * widths + (1.0 - kappa) * widths / _penalty_slope(G)
        widths = np.clip(narrower, self.min_width, 1.0)
        return True, duals * slopes, state | {"multipliers": next_duals, "widths": widths}


def _penalty_slope(t):
    """Slope of the penalty: quadratic from -1/2 on, logarithmic below."""
    return np.where(t >= -0.5, 1.0 + t, -0.25 / np.minimum(t, -0.5))
