"""A small network, and a problem for it: everything that a model must have, and no more."""

import numpy as np
from scipy import sparse

from skfair._bound.bound import ConstraintSystem
from skfair._groups import check_groups
from skfair._problems.linear import LinearModel
from skfair._problems.problem import ConstrainedProblem
from skfair.constraints import DemographicParity
from skfair.groups import Samples
from skfair.losses import LogisticLoss
from skfair.surrogates import Sigmoid


class Network:
    """One hidden layer of three units."""

    def __init__(self, X):
        self.X = X
        self.n_parameters = 3 * X.shape[1] + 4

    def initial(self, random_state=None):
        if isinstance(random_state, np.random.RandomState):  # which NumPy 2.0 does not take
            random_state = random_state._bit_generator
        return np.random.default_rng(random_state).normal(size=self.n_parameters)

    def evaluate(self, parameters):
        return NetworkPoint(self.X, parameters)

    def take(self, rows):
        return Network(self.X[rows])

    def ridge(self, alpha):
        return np.full(self.n_parameters, alpha)

    def last_layer(self, parameters):
        hidden = self.evaluate(parameters).hidden
        return LinearModel(hidden, np.zeros(3), np.ones(3), fit_intercept=True)


class NetworkPoint:
    def __init__(self, X, parameters):
        self.X = X
        self.slopes_of_units = parameters[:-4].reshape(3, -1)
        self.outer = parameters[-4:]
        self.hidden = np.tanh(X @ self.slopes_of_units.T)
        self.scores = self.hidden @ self.outer[:3] + self.outer[3]

    def pull_back(self, slopes):
        return self.pull_back_rows(sparse.csr_array(slopes[np.newaxis]))[0]

    def pull_back_rows(self, cells):
        inner = (1 - self.hidden**2) * self.outer[:3]
        by_units = [cells @ (inner[:, [unit]] * self.X) for unit in range(3)]
        return np.hstack((*by_units, cells @ self.hidden, cells.sum(axis=1)[:, np.newaxis]))


def network_problem():
    """Exclusive-or of two features, under parity of groups that differ in one of them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    groups = np.arange(200) % 2
    X[:, 0] += groups
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=200) > 0, 1.0, -1.0)
    weights = np.ones(200)
    loss = LogisticLoss()
    parity = DemographicParity().bind(
        Samples(y, check_groups(groups, 200), weights), Sigmoid(), loss, tolerance=0.01
    )
    return ConstrainedProblem(Network(X), loss, y, weights, 1e-3, ConstraintSystem((parity,)))
