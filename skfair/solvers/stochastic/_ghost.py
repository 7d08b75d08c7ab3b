"""The stochastic ghost method."""

from numbers import Real

import numpy as np

from skfair.solvers._one_sided import OneSided
from skfair.solvers.stochastic._ghost_direction import direction
from skfair.solvers.stochastic._stochastic import StochasticSolver
from skfair.utils._sklearn import Interval

_MAX_DOUBLINGS = 10
"""Maximum doublings of a batch. Each doubles the cost, but is less likely by a factor 1 - p0 only.
So the expected cost would be infinite for p0 below 1/2; in the paper's setting 4 of 1000 steps are
cut off."""


class StochasticGhost(StochasticSolver):
    r"""Stochastic ghost method (StGh).

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

    _parameter_constraints = {
        **StochasticSolver._parameter_constraints,
        "p0": [Interval(Real, 0, 1, closed="neither")],
        "alpha0": [Interval(Real, 0, None, closed="neither")],
        "alpha_hat": [Interval(Real, 0, None, closed="left")],
        "rho": [Interval(Real, 0, None, closed="neither")],
        "tau": [Interval(Real, 0, None, closed="neither")],
        "beta": [Interval(Real, 0, None, closed="neither")],
        "lambda_": [Interval(Real, 0, 1, closed="both")],
    }

    def __init__(
        self,
        max_iter: int = 20,
        tol: float = 1e-3,
        p0: float = 0.4,
        alpha0: float = 0.05,
        alpha_hat: float = 0.05,
        rho: float = 0.8,
        tau: float = 1.0,
        beta: float = 10.0,
        lambda_: float = 0.5,
        batch_size: int = 8,
    ):
        self.max_iter = max_iter
        self.tol = tol
        self.p0 = p0
        self.alpha0 = alpha0
        self.alpha_hat = alpha_hat
        self.rho = rho
        self.tau = tau
        self.beta = beta
        self.lambda_ = lambda_
        self.batch_size = batch_size

    def _steps(self, problem, x, random_state):
        alpha, multipliers = self.alpha0, np.zeros(len(problem.lower))
        one_sided = OneSided(problem.lower, problem.upper)

        def linearise(size):
            return _linearise(problem.sample(size, size, random_state).evaluate(x), one_sided)

        while True:
            # Unbiased direction, decreasing step.
            d = self._direction(linearise, random_state)
            alpha *= 1.0 - self.alpha_hat * alpha
            x = problem.project(x + alpha * d)
            yield x, multipliers

    def _direction(self, linearise, random_state):
        """An unbiased estimate of the direction on all samples, from batches of several sizes."""
        # N doublings: the halves of a batch of 2^(N + 1), and the batch as their average.
        n = min(random_state.geometric(self.p0) - 1, _MAX_DOUBLINGS)
        odd, even = (linearise(2**n) for _ in range(2))
        both = [(first + second) / 2 for first, second in zip(odd, even, strict=True)]
        # Difference of directions on levels N + 1 and N, weighted by one over the probability of N.
        correction = self._solve(both) - (self._solve(odd) + self._solve(even)) / 2
        single = self._solve(linearise(1))
        return correction / ((1.0 - self.p0) ** n * self.p0) + single

    def _solve(self, subproblem):
        """The direction for the subproblem of a mini-batch."""
        return direction(*subproblem, self)


def _linearise(evaluation, one_sided):
    """Gradient of the objective, rows and their Jacobian."""
    values = evaluation.values
    # One backward pass per row: cheaper than a sparse Jacobian for few rows.
    jacobian = np.array([evaluation.pull_back(row) for row in np.eye(len(values))])
    jacobian = jacobian.reshape(len(values), len(evaluation.x))  # also without rows
    return evaluation.grad, one_sided.values(values), one_sided.jacobian(jacobian)
