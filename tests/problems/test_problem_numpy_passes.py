"""Passes over few samples by numpy, and over many by a kernel."""

import numpy as np
import pytest

from skfair._bound.bound import ConstraintSystem
from skfair._groups import check_groups
from skfair._problems import problem as problem_module
from skfair._problems.evaluation import OnePassEvaluation
from skfair._problems.linear import LinearModel
from skfair._problems.problem import ConstrainedProblem
from skfair.classification import ConstrainedERMClassifier
from skfair.constraints import DemographicParity
from skfair.groups import Samples
from skfair.losses import LogisticLoss
from skfair.surrogates import Sigmoid


def draw():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    groups = rng.integers(2, size=200)
    X[:, 0] += groups
    return X, (X.sum(axis=1) + rng.logistic(size=200) > 0.5).astype(int), groups


def test_a_problem_of_many_samples_takes_a_kernel(monkeypatch):
    X, y, groups = draw()
    target = 2.0 * y - 1.0
    weights = np.full(200, 1 / 200)
    samples = Samples(target, check_groups(groups, 200), weights)
    loss = LogisticLoss()
    bound = DemographicParity().bind(samples, Sigmoid(), loss, tolerance=0.1)
    model = LinearModel.from_features(X, weights, True)
    problem = ConstrainedProblem(model, loss, target, weights, 0.1, ConstraintSystem((bound,)))
    point = problem.initial_point(), np.zeros(len(problem.lower))
    for n_steps in (200 * (3 + 20), 200 * (3 + 20) - 1):
        monkeypatch.setattr(problem_module, "MAX_NUMPY_STEPS", n_steps)
        is_kernel = isinstance(problem.evaluate(*point), OnePassEvaluation)
        assert is_kernel == (n_steps < 200 * (3 + 20))


@pytest.mark.parametrize("criterion", ["demographic_parity", "equalized_odds"])
def test_both_ways_fit_the_same_coefficients(criterion, monkeypatch):
    X, y, groups = draw()

    def fit():
        model = ConstrainedERMClassifier(criterion, tolerance=0.05)
        return model.fit(X, y, sensitive_features=groups)

    by_numpy = fit()
    monkeypatch.setattr(problem_module, "MAX_NUMPY_STEPS", 0)
    by_kernels = fit()
    np.testing.assert_allclose(by_numpy.coef_, by_kernels.coef_, rtol=0, atol=1e-12)
    np.testing.assert_allclose(by_numpy.intercept_, by_kernels.intercept_, rtol=0, atol=1e-12)
