"""A small problem whose constraint binds, to try a solver on."""

import numpy as np

from skfair.constraints import DemographicParity
from skfair.groups import Samples, check_groups
from skfair.losses import LogisticLoss
from skfair.models import LinearModel
from skfair.problems._problem import ConstrainedProblem
from skfair.surrogates import Sigmoid


def example_problem(n_samples: int = 200, tolerance: float = 0.02) -> ConstrainedProblem:
    """Logistic loss under demographic parity of two groups, whose smooth rates differ by .2.

    Parameters
    ----------
    n_samples : int, default=200
        Number of samples.
    tolerance : float, default=0.02
        Largest difference of smooth rates.

    Returns
    -------
    problem : ConstrainedProblem
        With one row and three parameters.

    Examples
    --------
    >>> from skfair.problems import example_problem
    >>> from skfair.solvers import SQP
    >>> result = SQP().solve(example_problem())
    >>> result.status, bool(abs(result.multipliers[0]) > 0)
    ('optimal', True)
    """
    rng = np.random.default_rng(0)
    codes, weights = np.arange(n_samples) % 2, np.ones(n_samples)
    X = rng.normal(size=(n_samples, 2)) + codes[:, np.newaxis]
    target = np.where(X.sum(axis=1) + rng.logistic(size=n_samples) > 1.0, 1.0, -1.0)
    samples, loss = Samples(target, check_groups(codes, n_samples), weights), LogisticLoss()
    parity = DemographicParity().bind(samples, Sigmoid(), loss, tolerance)
    model = LinearModel.from_features(X, weights)
    return ConstrainedProblem(model, loss, target, weights, 0.01, parity)
