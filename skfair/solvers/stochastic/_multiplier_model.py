"""Multipliers computed by a network, for constraints with very many rows."""

from numbers import Real

import numpy as np
from scipy.special import expit

from skfair.models import MLPModel
from skfair.solvers._one_sided import OneSided
from skfair.solvers.stochastic._adam import Adam
from skfair.solvers.stochastic._stochastic import StochasticSolver
from skfair.utils._sklearn import Interval

_OUTPUT_OFFSET = -3.0
"""Added to the outputs of the network, so that multipliers start near 0."""


class MultiplierModel(StochasticSolver):
    r"""Primal-dual steps with multipliers computed by a network from descriptions of the rows.

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

    _parameter_constraints = {
        **StochasticSolver._parameter_constraints,
        "descriptions": ["array-like", None],
        "hidden_layer_sizes": [list, tuple],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "multiplier_rate": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        max_iter=20,
        tol=1e-3,
        descriptions=None,
        hidden_layer_sizes=(64, 64, 64),
        learning_rate=2e-3,
        multiplier_rate=2e-3,
        batch_size=32,
    ):
        self.max_iter = max_iter
        self.tol = tol
        self.descriptions = descriptions
        self.hidden_layer_sizes = hidden_layer_sizes
        self.learning_rate = learning_rate
        self.multiplier_rate = multiplier_rate
        self.batch_size = batch_size

    def _steps(self, problem, x, random_state):
        one_sided = OneSided(problem.lower, problem.upper)
        network = MLPModel(self._describe_rows(one_sided), self.hidden_layer_sizes)
        phi, factor = network.initial(random_state), 1.0 / max(1, len(one_sided.rows))
        of_x, of_phi = Adam(len(x)), Adam(len(phi))
        while True:
            # Multipliers: a softplus of the network's outputs, averaged over the rows.
            point = network.evaluate(phi)
            outputs = point.scores + _OUTPUT_OFFSET
            multipliers = one_sided.multipliers(factor * np.logaddexp(0.0, outputs))
            # Descent in x, and ascent in phi through the slope of the softplus.
            here = self._batch(problem, random_state).evaluate(x)
            rise = point.pull_back(factor * expit(outputs) * one_sided.values(here.values))
            slope = here.lagrangian_gradient(multipliers)
            x = problem.project(x - self.learning_rate * of_x(slope))
            phi = phi + self.multiplier_rate * of_phi(rise)
            yield x, multipliers

    def _describe_rows(self, one_sided):
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
