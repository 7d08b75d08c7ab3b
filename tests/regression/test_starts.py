"""Regressors with equal losses of three groups against many starts of another method."""

import re

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from skfair._fitting.fitter import FULL
from skfair.regression import ConstrainedERMRegressor

ALPHA = 1e-4


def draw(seed, n_groups=3):
    """Columns, target and groups whose noise grows from group to group."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(n_groups, size=240)
    X = rng.normal(size=(240, 3)) + 0.5 * groups[:, np.newaxis] * rng.normal(size=3)
    y = X @ rng.normal(size=3) + 0.5 * (1.0 + 1.2 * groups) * rng.normal(size=240)
    return X, y / y.std(), groups


def lowest_objective(X, y, groups, tolerance):
    """Objective by SLSQP from 20 random starts, with the losses of all pairs of groups."""
    rng = np.random.default_rng(0)
    columns = np.column_stack((X, np.ones(len(y))))
    codes = np.unique(groups)

    def losses(w):
        errors = (columns @ w - y) ** 2
        return np.array([errors[groups == code].mean() for code in codes])

    def slack(w):
        differences = np.subtract.outer(losses(w), losses(w))
        return tolerance - differences[~np.eye(len(codes), dtype=bool)]

    def objective(w):
        return ((columns @ w - y) ** 2).mean() / 2 + ALPHA / 2 * w[:-1] @ w[:-1]

    solutions = [
        minimize(objective, rng.normal(size=4), constraints={"type": "ineq", "fun": slack})
        for _ in range(20)
    ]
    return min(one.fun for one in solutions if slack(one.x).min() >= -1e-6)


# The dual problem bounds the objective, but not every local minimum reaches the bound.
@pytest.mark.filterwarnings("ignore:Several starts of the solver ended at different")
@pytest.mark.slow
@pytest.mark.covering(0)
@pytest.mark.parametrize("seed", range(3))
def test_equal_losses_of_three_groups_cost_no_more_than_many_starts_find(seed):
    X, y, groups = draw(seed)
    model = ConstrainedERMRegressor("loss_parity", tolerance=0.1, alpha=ALPHA)
    model.fit(X, y, sensitive_features=groups)
    assert model.constraint_violation_ == 0.0
    lowest = lowest_objective(X, y, groups, 0.1)
    assert model.objective_ <= 1.002 * lowest
    # What is called optimal is.
    assert model.status_ == "feasible" or model.objective_ <= 1.0001 * lowest


def test_equal_losses_of_two_groups_are_certified_by_a_convex_lagrangian(monkeypatch):
    uncountable = FULL._replace(starts=np.inf)  # no other start is made
    monkeypatch.setattr("skfair._fitting.enforce.FULL", uncountable)
    X, y, groups = draw(0, n_groups=2)
    model = ConstrainedERMRegressor("loss_parity", tolerance=0.1, alpha=ALPHA)
    model.fit(X, y, sensitive_features=groups)
    assert model.status_ == "optimal"
    assert model.objective_ == pytest.approx(lowest_objective(X, y, groups, 0.1), abs=1e-5)


@pytest.mark.slow
@pytest.mark.covering(0)
def test_a_fit_that_is_far_from_its_bound_says_by_how_much_in_any_unit():
    X, y, groups = draw(0)
    messages = []
    for unit in (1.0, 1000.0):
        model = ConstrainedERMRegressor("loss_parity", tolerance=0.1 * unit**2, alpha=ALPHA)
        with pytest.warns(ConvergenceWarning, match="lower by up to") as caught:
            model.fit(X, unit * y, sensitive_features=groups)
        assert model.status_ == "feasible"
        messages.append(str(caught[0].message))
    assert messages[0] == messages[1]
    # The bound is below what another method finds.
    share = float(re.search(r"up to ([\d.]+) %", messages[0])[1]) / 100.0
    lowest = lowest_objective(X, y, groups, 0.1)
    assert (1.0 - share) * model.objective_ / 1000.0**2 <= (1.0 + 1e-3) * lowest
