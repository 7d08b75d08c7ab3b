"""Bounds and starts of mean squared losses, by a grid of all models and by exact optima."""

import numpy as np
import pytest

from skfair._fitting.quadratic import QuadraticProgram
from skfair._groups import check_groups
from skfair._problems.linear import LinearModel
from skfair._problems.problem import ConstrainedProblem
from skfair.constraints import LossParity
from skfair.groups import Samples
from skfair.losses import AbsoluteLoss, SquaredLoss
from skfair.regression import ConstrainedERMRegressor
from skfair.solvers import SQP

TOLERANCE = 24.58
"""A tenth of the largest difference of mean losses without constraint, of 240 samples."""

BEST = 254.5
"""The smallest mean loss from 25 random starts of SLSQP on these data."""


def draw_problem(seed, n_groups=3, tolerance=0.02, loss=None, n_features=1, n_samples=90):
    """Loss parity of groups with coefficients and noise of their own."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(n_groups, size=n_samples)
    X = rng.normal(size=(n_samples, n_features)) + 0.5 * groups[:, np.newaxis]
    slopes = rng.normal(size=(n_groups, n_features))
    noise = (1.0 + groups) * rng.normal(size=n_samples) / 2.0
    target = (X * slopes[groups]).sum(axis=1) + noise
    target = (target - target.mean()) / target.std()
    weights = rng.uniform(0.5, 2.0, n_samples)
    loss = loss or SquaredLoss()
    samples = Samples(target, check_groups(groups, n_samples), weights)
    parity = LossParity().bind(samples, surrogate=None, loss=loss, tolerance=tolerance)
    model = LinearModel.from_features(X, weights)
    return ConstrainedProblem(model, loss, target, weights, 1e-3, parity)


def test_the_program_has_the_values_of_the_problem():
    problem = draw_problem(0).separate_pairs()
    program = QuadraticProgram.from_problem(problem)
    x = np.random.default_rng(1).normal(size=problem.n_parameters)
    there = problem.evaluate(x)
    expected = np.concatenate(([there.fun], there.values - problem.upper))
    assert program.evaluate(x[np.newaxis])[0] == pytest.approx(expected)


@pytest.mark.covering(0)
@pytest.mark.parametrize("seed", range(6))
def test_no_model_of_a_grid_is_below_the_bound(seed):
    program = QuadraticProgram.from_problem(draw_problem(seed))
    bound, starts = program.bound_and_starts(10)
    axis = np.linspace(-2.0, 2.0, 401)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    values = program.evaluate(grid)
    best = values[(values[:, 1:] <= 0.0).all(axis=1), 0].min()
    assert bound <= best
    # The bound is no triviality: the fit without constraint is farther below.
    free = (
        program.constants[0]
        - program.gradients[0] @ np.linalg.solve(program.hessians[0], program.gradients[0]) / 2.0
    )
    assert bound >= free
    assert best - bound <= 0.1 * (best - free) + 1e-3
    # From the starts the solver reaches the optimum of the grid.
    problem = draw_problem(seed)
    results = [SQP().solve(problem, problem.initial_point(start)) for start in starts]
    optima = [one.fun for one in results if one.status == "optimal"]
    assert min(optima) <= best + 1e-6


def test_of_two_groups_the_bound_is_the_optimum():
    """A single difference of quadratic functions has no duality gap (S-lemma)."""
    problem = draw_problem(4, n_groups=2, n_features=3, n_samples=200)
    bound, starts = QuadraticProgram.from_problem(problem).bound_and_starts(1)
    result = SQP().solve(problem, problem.initial_point(starts[0]))
    assert result.status == "optimal"
    assert result.multipliers.any()
    assert bound == pytest.approx(result.fun, rel=1e-5)


def test_other_losses_have_no_program():
    assert QuadraticProgram.from_problem(draw_problem(0, loss=AbsoluteLoss())) is None


def test_repeated_features_have_a_bound():
    problem = draw_problem(0)
    twice = LinearModel.from_features(np.hstack([problem.model.X] * 2), problem.weights)
    repeated = ConstrainedProblem(
        twice, problem.loss, problem.target, problem.weights, 0.0, problem.constraint
    )
    single = ConstrainedProblem(
        problem.model, problem.loss, problem.target, problem.weights, 0.0, problem.constraint
    )
    bounds = [
        QuadraticProgram.from_problem(one).bound_and_starts(1)[0] for one in (repeated, single)
    ]
    assert bounds[0] == pytest.approx(bounds[1], rel=1e-4)


def test_a_fit_is_as_good_as_the_best_of_many_starts():
    """From the usual start and random ones it cost twice as much."""
    rng = np.random.default_rng(500)
    groups = rng.integers(3, size=240)
    X = rng.normal(size=(240, 3)) + 0.5 * groups[:, np.newaxis] * rng.normal(size=3)
    common = X @ rng.normal(size=3)
    noise = (1.0 + 1.2 * groups) * rng.normal(size=240) * 0.5
    y = 30.0 + 10.0 * (common + noise + np.where(groups == 1, X @ rng.normal(size=3), 0.0))
    model = ConstrainedERMRegressor("loss_parity", tolerance=TOLERANCE, alpha=0.0)
    model.fit(X, y, sensitive_features=groups)
    errors = (y - model.predict(X)) ** 2
    assert model.status_ == "optimal"
    assert np.ptp([errors[groups == one].mean() for one in range(3)]) <= TOLERANCE
    assert errors.mean() <= 1.01 * BEST


def test_rows_that_are_convex_in_some_parameters_alone_have_starts():
    # The row does not depend on the second parameter, so that its Hessian is singular.
    program = QuadraticProgram(
        constants=np.array([0.0, -0.5]),
        gradients=np.array([[1.0, 1.0], [1.0, 0.0]]),
        hessians=np.array([np.eye(2), np.diag([1.0, 0.0])]),
    )
    for direction in (np.array([1.0]), np.array([-1.0])):
        assert np.isfinite(program._stationary_points_along(direction)).all()
    bound, starts = program.bound_and_starts(5)
    assert bound == pytest.approx(-1.0, abs=1e-3)
    assert np.isfinite(starts).all()
