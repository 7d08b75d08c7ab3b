"""Primal-dual training with Adam, with multipliers that follow decisions."""

from itertools import count
from numbers import Integral, Real

import numpy as np

from skfair.solvers._one_sided import OneSided
from skfair.solvers.stochastic._adam import Adam
from skfair.solvers.stochastic._stochastic import StochasticSolver, settle_auxiliary
from skfair.utils._sklearn import Interval


class AdamPrimalDual(StochasticSolver):
    r"""Adam steps on the Lagrangian, with multipliers updated by the gaps of all decisions.

    With the rows written as :math:`G \le 0`, a step follows the gradient of the Lagrangian on a
    mini-batch, with smooth rates,

    .. math::

        g_k = \nabla f(x_k, \xi_k) + \lambda^T \nabla G(x_k, \zeta_k), \qquad
        x_{k+1} = \mathrm{proj}\bigl(x_k - \eta_k\, \mathrm{Adam}(g_0, \dots, g_k)\bigr),

    with :math:`\eta_k` decreasing linearly to 0 at the last step [1]_. A few times per epoch the
    decisions of all samples are counted,
    :math:`\lambda \leftarrow [\lambda + \sigma\, G(x)]_+`: the proxy-Lagrangian of [2]_ with exact
    multipliers. It is the default for networks.

    Parameters
    ----------
    max_iter : int, default=8
        Epochs.
    tol : float, default=1e-3
        Violation of a row up to which an iterate counts as feasible, and residual of the optimality
        conditions at which the solver stops.
    learning_rate : float, default=2e-3
        Initial step length :math:`\eta_0`.
    dual_step : float, default=0.5
        Dual step :math:`\sigma`.
    dual_updates : int, default=2
        Updates of the multipliers per epoch.
    batch_size : int, default=128
        Samples per batch, for the loss and for the constraint each.
    count_decisions : bool, default=True
        Whether the multipliers follow the gaps of decisions, which the constraint must be able to
        count; otherwise those of the smooth rates.

    References
    ----------
    .. [1] D. P. Kingma and J. Ba, "Adam: a method for stochastic optimization", ICLR 2015.
    .. [2] A. Cotter et al., "Optimization with non-differentiable constraints with applications to
       fairness, recall, churn, and other goals", JMLR 20(172), 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.classification import ConstrainedERMClassifier
    >>> from skfair.solvers import AdamPrimalDual
    >>> groups = np.tile(["a", "b"], 50)
    >>> X = (np.linspace(-1, 1, 100) + 0.2 * (groups == "b"))[:, np.newaxis]
    >>> solver = AdamPrimalDual(max_iter=100, tol=0.1, learning_rate=0.1)
    >>> model = ConstrainedERMClassifier(tolerance=0.1, alpha=0.1, solver=solver, random_state=0)
    >>> model.fit(X, X[:, 0] > 0, sensitive_features=groups).constraint_violation_
    0.0
    """

    _parameter_constraints = {
        **StochasticSolver._parameter_constraints,
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "dual_step": [Interval(Real, 0, None, closed="left")],
        "dual_updates": [Interval(Integral, 1, None, closed="left")],
        "count_decisions": ["boolean"],
    }

    def __init__(
        self,
        max_iter: int = 8,
        tol: float = 1e-3,
        learning_rate: float = 2e-3,
        dual_step: float = 0.5,
        dual_updates: int = 2,
        batch_size: int = 128,
        count_decisions: bool = True,
    ):
        self.max_iter = max_iter
        self.tol = tol
        self.learning_rate = learning_rate
        self.dual_step = dual_step
        self.dual_updates = dual_updates
        self.batch_size = batch_size
        self.count_decisions = count_decisions

    @property
    def requires(self) -> tuple[str, ...]:
        """Mini-batches, and a constraint that counts decisions with ``count_decisions``."""
        return ("batches", "decisions") if self.count_decisions else ("batches",)

    def _steps(self, problem, x, random_state):
        one_sided = OneSided(problem.lower, problem.upper)
        n_steps = self._steps_per_epoch(problem)
        n_total, here = self.max_iter * n_steps, None
        duals = np.zeros(len(one_sided.rows))
        multipliers, adam = one_sided.multipliers(duals), Adam(len(x))
        for k in count():
            # Dual step on all samples.
            if self._is_due(k, n_steps) and len(duals):
                here = here or self._evaluate(problem, x)
                G, x = one_sided.values(here.values), here.x
                duals = np.maximum(0.0, duals + self.dual_step * G)
                multipliers = _balance_multipliers(one_sided.multipliers(duals), here.aux_jacobian)
                # Balancing may have changed the multipliers, so the duals follow.
                duals = np.maximum(0.0, one_sided.signs * multipliers[one_sided.rows])
            # Adam step on a mini-batch.
            slope = self._batch(problem, random_state).evaluate(x).lagrangian_gradient(multipliers)
            slope[problem.n_parameters :] = 0.0  # auxiliary unknowns are set exactly
            # The step decreases linearly to 0 at the last one.
            eta = self.learning_rate * max(0.0, 1.0 - k / n_total)
            x = problem.project(x - eta * adam(slope))
            here = yield x, multipliers

    def _is_due(self, k, n_steps):
        """Whether multipliers are updated before step k: evenly spread, and after every epoch."""
        return k > 0 and k * self.dual_updates // n_steps > (k - 1) * self.dual_updates // n_steps

    def _evaluate(self, problem, x):
        return settle_auxiliary(
            problem.evaluate_decisions(x) if self.count_decisions else problem.evaluate(x)
        )


def _balance_multipliers(multipliers, aux_jacobian):
    """The nearest multipliers of a Lagrangian that is constant in the auxiliary unknowns."""
    if not aux_jacobian.shape[1]:
        return multipliers
    # Project onto multipliers with aux_jacobian' m = 0, by least squares.
    return multipliers - aux_jacobian @ np.linalg.lstsq(aux_jacobian, multipliers)[0]
