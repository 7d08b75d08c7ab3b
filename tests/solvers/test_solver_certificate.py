"""Residuals of the optimality conditions by hand, and estimates of multipliers."""

import numpy as np
import pytest

from skfair.solvers._solver import Iterate, estimate_multipliers, kkt_residual


@pytest.fixture
def known_problem(problems):
    return problems.quadratic()


def test_the_residual_by_hand(known_problem):
    problem = known_problem.problem
    x = known_problem.x + 0.1
    evaluation = problem.evaluate(x)
    multipliers = np.array([0.5, -0.25, 0.0])
    values = evaluation.values
    stationarity = np.abs(evaluation.grad + evaluation.jacobian.T @ multipliers).max()
    above = 0.5 * max(0, problem.upper[0] - values[0])
    below = 0.25 * max(0, values[1] - problem.lower[1])
    expected = max(stationarity, above, below)
    assert kkt_residual(Iterate(evaluation, multipliers)) == pytest.approx(expected)


def test_the_residual_is_zero_at_the_answer_alone(known_problem):
    at = known_problem.problem.evaluate(known_problem.x)
    assert kkt_residual(Iterate(at, known_problem.multipliers)) < 1e-12
    assert kkt_residual(Iterate(at, -known_problem.multipliers)) > 0.1
    assert kkt_residual(Iterate(at, 0 * known_problem.multipliers)) > 0.01


def test_a_multiplier_of_a_bound_that_does_not_exist_is_no_certificate(known_problem):
    """The first row has no lower bound: a negative multiplier can never be complementary."""
    at = known_problem.problem.evaluate(known_problem.x)
    assert kkt_residual(Iterate(at, np.array([-1e-9, 0.0, 0.0]))) == np.inf


def test_multipliers_are_recovered_from_the_point_alone(known_problem):
    at = known_problem.problem.evaluate(known_problem.x)
    np.testing.assert_allclose(estimate_multipliers(at, 1e-6), known_problem.multipliers, atol=1e-9)
    inside = known_problem.problem.evaluate(known_problem.x - 0.1 * at.jacobian[0])
    assert estimate_multipliers(inside, 1e-6)[0] == 0


def test_an_estimate_of_multipliers_that_would_be_too_large_is_left_out(known_problem, monkeypatch):
    at = known_problem.problem.evaluate(known_problem.x)
    monkeypatch.setattr("skfair.solvers._solver._MAX_ENTRIES", 2 * len(known_problem.x) - 1)
    np.testing.assert_array_equal(estimate_multipliers(at, 1e-6), np.zeros(3))


def test_multipliers_where_least_squares_with_signs_go_round_in_circles(known_problem, monkeypatch):
    def fail(*args):
        raise RuntimeError("Maximum number of iterations reached.")

    at = known_problem.problem.evaluate(known_problem.x)
    monkeypatch.setattr("skfair.solvers._solver.nnls", fail)
    np.testing.assert_allclose(estimate_multipliers(at, 1e-6), known_problem.multipliers, atol=1e-6)
