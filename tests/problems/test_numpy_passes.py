"""Small passes by numpy, and kernels of passes once a process has read much."""

import numpy as np
import pytest

from skfair import _kernels
from skfair._kernels import compile_at_first_call, is_numpy_enough
from skfair.classification import ConstrainedERMClassifier
from skfair.constraints import DemographicParity
from skfair.constraints._bound import ConstraintSystem
from skfair.groups import Samples, check_groups
from skfair.losses import LogisticLoss
from skfair.models._linear import LinearModel
from skfair.problems._evaluation import OnePassEvaluation
from skfair.problems._problem import ConstrainedProblem
from skfair.surrogates import Sigmoid


@pytest.fixture(autouse=True)
def nothing_is_read(monkeypatch):
    monkeypatch.setattr(_kernels, "_n_numpy_entries", 0)


def draw():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    groups = rng.integers(2, size=200)
    X[:, 0] += groups
    return X, (X.sum(axis=1) + rng.logistic(size=200) > 0.5).astype(int), groups


def test_passes_are_left_to_numpy_until_a_process_has_read_much(monkeypatch):
    monkeypatch.setattr(_kernels, "MAX_NUMPY_ENTRIES", 100)
    assert [is_numpy_enough(40) for _ in range(4)] == [True, True, False, False]


def test_nothing_is_left_to_numpy_where_kernels_are_compiled_at_once():
    with compile_at_first_call():
        assert not is_numpy_enough(1)
    assert is_numpy_enough(1)


def test_a_problem_takes_kernels_after_so_many_entries(monkeypatch):
    X, y, groups = draw()
    target = 2.0 * y - 1.0
    weights = np.full(200, 1 / 200)
    samples = Samples(target, check_groups(groups, 200), weights)
    loss = LogisticLoss()
    bound = DemographicParity().bind(samples, Sigmoid(), loss, tolerance=0.1)
    model = LinearModel.from_features(X, weights, True)
    problem = ConstrainedProblem(model, loss, target, weights, 0.1, ConstraintSystem((bound,)))
    monkeypatch.setattr(_kernels, "MAX_NUMPY_ENTRIES", 2 * 200 * (3 + 20))
    x = problem.initial_point()
    multipliers = np.zeros(len(problem.lower))
    are_kernels = [
        isinstance(problem.evaluate(x, multipliers), OnePassEvaluation) for _ in range(3)
    ]
    assert are_kernels == [False, False, True]


@pytest.mark.parametrize("criterion", ["demographic_parity", "equalized_odds"])
def test_both_ways_fit_the_same_coefficients(criterion):
    X, y, groups = draw()

    def fit():
        model = ConstrainedERMClassifier(criterion, tolerance=0.05)
        return model.fit(X, y, sensitive_features=groups)

    by_numpy = fit()
    with compile_at_first_call():
        by_kernels = fit()
    np.testing.assert_allclose(by_numpy.coef_, by_kernels.coef_, rtol=0, atol=1e-12)
    np.testing.assert_allclose(by_numpy.intercept_, by_kernels.intercept_, rtol=0, atol=1e-12)
