"""What all solvers share that step on mini-batches."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from skfair.constraints import DemographicParity
from skfair.solvers import SGD, AdamPrimalDual, StochasticSolver
from skfair.solvers._stochastic import reset_auxiliary
from tests.network import network_problem


class Counting(StochasticSolver):
    """Does nothing, and counts."""

    def __init__(self, max_iter=3, tol=0.0, batch_size=100):
        self.max_iter = max_iter
        self.tol = tol
        self.batch_size = batch_size
        self.batches = []

    def _steps(self, problem, x, random_state):
        while True:
            self.batches.append(self._batch(problem, random_state))
            yield x, np.zeros(len(problem.lower))


def test_an_iteration_is_an_epoch(problems):
    solver = Counting()
    solver.solve(problems.fair(n=240), random_state=0)
    assert len(solver.batches) == 3 * 3


def test_batches_draw_equally_from_every_event(problems):
    solver = Counting(max_iter=1, batch_size=60)
    solver.solve(problems.fair(n_groups=3, n=240), random_state=0)
    counts = solver.batches[0].rows.sums.cells.counts
    assert counts.tolist() == [20, 20, 20]
    assert (solver.batches[0].weights > 0).sum() == 60


def test_a_batch_as_large_as_the_data_is_the_data(problems):
    problem = problems.fair(n=100)
    solver = Counting(batch_size=100)
    solver.solve(problem, random_state=0)
    assert all(batch is problem for batch in solver.batches)
    drawn = [AdamPrimalDual(batch_size=100).solve(problem, random_state=seed).x for seed in (0, 1)]
    np.testing.assert_array_equal(*drawn)


def test_batches_are_unbiased(problems):
    problem = problems.fair(n=240)
    x = np.linspace(-1, 1, problem.n_unknowns)
    rng = np.random.RandomState(0)
    drawn = [problem.batches.draw(20, 20, rng).evaluate(x) for _ in range(800)]
    expected = problem.evaluate(x)
    for name, spread in (("fun", 0.01), ("values", 0.01), ("grad", 0.01)):
        mean = np.mean([getattr(one, name) for one in drawn], axis=0)
        np.testing.assert_allclose(mean, getattr(expected, name), atol=spread)


def test_a_batch_may_be_for_the_objective_or_for_the_constraint_alone(problems):
    problem = problems.fair(n=240)
    x = np.linspace(-1, 1, problem.n_unknowns)
    loss_alone = problem.batches.draw(10, 0, 0)
    assert len(loss_alone.target) == 10
    assert np.isfinite(loss_alone.evaluate(x).grad).all()
    rows_alone = problem.batches.draw(0, 10, 0)
    penalty = problem.ridge @ x[: problem.n_parameters] ** 2 / 2
    assert rows_alone.evaluate(x).fun == pytest.approx(penalty)
    assert np.isfinite(rows_alone.evaluate(x).values).all()


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
def test_divergence_is_reported_and_the_best_iterate_is_returned():
    problem = network_problem()
    with pytest.warns(ConvergenceWarning, match=r"SGD diverged at step \d+.*shorter steps"):
        result = SGD(max_iter=50, learning_rate=1e5).solve(problem, random_state=0)
    assert np.isfinite(result.x).all()
    assert np.isfinite(result.fun)


def test_auxiliary_unknowns_are_settled(problems):
    problem = problems.fair(DemographicParity(), n_groups=3, tolerance=0.1)
    x = problem.initial_point() + 5.0
    assert problem.evaluate(x).violation > 1.0
    exact = problem.constraint.gap(problem.constraint.sums.smooth_means(problem.evaluate(x).scores))
    assert reset_auxiliary(problem.evaluate(x)).violation == pytest.approx(max(0.0, exact - 0.1))


@pytest.mark.slow
def test_a_network_is_trained_under_its_constraint():
    problem = network_problem()
    plain = AdamPrimalDual(max_iter=40, learning_rate=0.02, dual_step=0.0)
    fair = AdamPrimalDual(max_iter=40, learning_rate=0.02, dual_step=4.0)
    without, within = (solver.solve(problem, random_state=0) for solver in (plain, fair))
    start = problem.evaluate(problem.initial_point(random_state=0))
    assert within.violation <= 1e-3
    assert within.fun < start.fun - 0.1
    assert without.fun <= within.fun
