"""The driver that all solvers share, on scripted iterates."""

import numpy as np
import pytest

from skfair.solvers._solver import Iterate, Solver, kkt_residual, least_squares_multipliers


class Scripted(Solver):
    """Visits given points."""

    def __init__(self, points=(), chosen=(), check_every=1, max_iter=100, tol=1e-3):
        self.points = points
        self.chosen = chosen
        self.check_every = check_every
        self.max_iter = max_iter
        self.tol = tol

    def _iterate(self, problem, x, random_state):
        chosen = self.chosen or [None] * len(self.points)
        nothing = np.zeros(len(problem.lower))
        for point, choice in zip(self.points, chosen, strict=True):
            yield Iterate(problem.evaluate(point), nothing, choice)


@pytest.fixture
def known(problems):
    return problems.quadratic()


def between(known, shares):
    """Points from 0 (feasible or not) to the answer and beyond."""
    return [share * known.x for share in shares]


def test_the_residual_by_hand(known):
    problem = known.problem
    x = known.x + 0.1
    evaluation = problem.evaluate(x)
    multipliers = np.array([0.5, -0.25, 0.0])
    values = evaluation.values
    stationarity = np.abs(evaluation.grad + evaluation.jacobian.T @ multipliers).max()
    above = 0.5 * max(0, problem.upper[0] - values[0])
    below = 0.25 * max(0, values[1] - problem.lower[1])
    expected = max(stationarity, above, below)
    assert kkt_residual(Iterate(evaluation, multipliers)) == pytest.approx(expected)


def test_the_residual_is_zero_at_the_answer_alone(known):
    at = known.problem.evaluate(known.x)
    assert kkt_residual(Iterate(at, known.multipliers)) < 1e-12
    assert kkt_residual(Iterate(at, -known.multipliers)) > 0.1
    assert kkt_residual(Iterate(at, 0 * known.multipliers)) > 0.01


def test_a_multiplier_of_a_bound_that_does_not_exist_is_no_certificate(known):
    """The first row has no lower bound: a negative multiplier can never be complementary."""
    at = known.problem.evaluate(known.x)
    assert kkt_residual(Iterate(at, np.array([-1e-9, 0.0, 0.0]))) == np.inf


def test_multipliers_are_recovered_from_the_point_alone(known):
    at = known.problem.evaluate(known.x)
    np.testing.assert_allclose(least_squares_multipliers(at, 1e-6), known.multipliers, atol=1e-9)
    inside = known.problem.evaluate(known.x - 0.1 * at.jacobian[0])
    assert least_squares_multipliers(inside, 1e-6)[0] == 0


def test_an_uncertified_answer_gets_estimated_multipliers(known):
    result = Scripted([known.x]).solve(known.problem)
    assert result.status == "optimal"
    np.testing.assert_allclose(result.multipliers, known.multipliers, atol=1e-9)


def test_the_best_feasible_iterate_is_the_answer(problems):
    problem = problems.fair()
    plain = problems.fair(n_groups=1)
    unfair = np.array([1.5, 1.0, 1.0, 0.0])
    points = [unfair, 0.02 * unfair, 0.01 * unfair, 2 * unfair]
    violations = [problem.evaluate(x).violation for x in points]
    funs = [plain.evaluate(x).fun for x in points]
    assert violations[1] == violations[2] == 0 < violations[0]
    assert funs[0] < funs[1] < funs[2]
    np.testing.assert_array_equal(Scripted(points).solve(problem).x, points[1])


def test_else_it_is_the_least_violating_one(problems):
    problem = problems.fair()
    points = [share * np.array([1.5, 1.0, 1.0, 0.0]) for share in (1.0, 0.4, 0.8)]
    result = Scripted(points).solve(problem)
    np.testing.assert_array_equal(result.x, points[1])
    assert result.status == "infeasible"
    assert result.violation == problem.evaluate(points[1]).violation > 0


def test_a_solver_s_own_choice_counts(problems):
    problem = problems.fair()
    points = [share * np.array([1.5, 1.0, 1.0, 0.0]) for share in (0.01, 0.4, 0.0)]
    result = Scripted(points, chosen=[False, True, False]).solve(problem)
    np.testing.assert_array_equal(result.x, points[1])


def test_the_residual_is_measured_now_and_then(known):
    seen = []
    points = between(known, np.linspace(0, 0.5, 8))
    Scripted(points, check_every=3).solve(known.problem, callback=seen.append)
    measured = [bool(np.isfinite(progress.residual)) for progress in seen]
    assert measured == [True, False, False] * 2 + [True, False]


def test_max_iter_counts_iterations_after_the_start(known):
    points = between(known, np.linspace(0, 0.5, 8))
    assert Scripted(points, max_iter=3).solve(known.problem).n_iter == 3
    assert Scripted(points).solve(known.problem).n_iter == 7


def test_a_start_of_one_s_own(known):
    seen = []

    class FromStart(Scripted):
        def _iterate(self, problem, x, random_state):
            seen.append(x)
            yield Iterate(problem.evaluate(x), np.zeros(3))

    FromStart().solve(known.problem, list(known.x))
    np.testing.assert_array_equal(seen[0], known.x)


def test_a_start_without_a_finite_objective_is_refused(known):
    with pytest.raises(ValueError, match="The objective is nan at the start"):
        Scripted([known.x]).solve(known.problem, np.full(4, np.nan))


def test_the_message_has_the_numbers(known):
    result = Scripted([0 * known.x], tol=1e-2).solve(known.problem)
    assert result.message.startswith("Scripted stopped after 0 iterations with violation")
    assert "(tol=0.01)" in result.message
