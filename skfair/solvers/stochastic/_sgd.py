"""Stochastic gradient descent on the loss alone."""

from numbers import Real

import numpy as np

from skfair.solvers.stochastic._stochastic import StochasticSolver
from skfair.utils._sklearn import Interval


class SGD(StochasticSolver):
    r"""Stochastic gradient descent on the objective; the constraint is not seen.

    .. math:: x_{k+1} = \mathrm{proj}\bigl(x_k - \eta\, \nabla f(x_k, \xi_k)\bigr)

    It is the baseline of the methods that keep a constraint. Its answer is its last iterate.

    Parameters
    ----------
    max_iter : int, default=20
        Epochs.
    tol : float, default=1e-3
        Largest violation and largest residual of the optimality conditions at the answer.
    learning_rate : float, default=0.05
        :math:`\eta`.
    batch_size : int, default=32
        Samples of a batch.

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
    }

    takes_last = True

    def __init__(self, max_iter=20, tol=1e-3, learning_rate=0.05, batch_size=32):
        self.max_iter = max_iter
        self.tol = tol
        self.learning_rate = learning_rate
        self.batch_size = batch_size

    @classmethod
    def from_benchmark(cls, **changes):
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
        multipliers = np.zeros(len(problem.lower))
        while True:
            batch = self._loss_batch(problem, random_state)
            x = problem.project(x - self.learning_rate * batch.evaluate(x).grad)
            yield x, multipliers
