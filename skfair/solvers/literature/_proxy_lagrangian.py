"""The proxy-Lagrangian game: surrogate gradients against multipliers of the decisions."""

from skfair.solvers.literature._gda import GDA


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

    def __init__(self, max_iter=10000, tol=1e-4, eta=None, sigma=0.2, extrapolation=0.0):
        super().__init__(max_iter, tol, eta, sigma, extrapolation)

    @property
    def requires(self):
        """Those of `GDA`, and a constraint that counts decisions."""
        return (*super().requires, "decisions")

    def _evaluate(self, problem, x):
        return problem.evaluate_decisions(x)
