"""The driver that all solvers share, on scripted iterates."""

import re
from dataclasses import replace

import numpy as np
import pytest

from skfair._bound.rows import SmoothConstraint
from skfair.solvers import SOLVERS, SQP, Solver
from skfair.solvers._solver import REQUIREMENTS, Iterate


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
def known_problem(problems):
    return problems.quadratic()


def make_points(known_problem, shares):
    """Points from 0 (feasible or not) to the answer and beyond."""
    return [share * known_problem.x for share in shares]


def test_an_uncertified_answer_gets_estimated_multipliers(known_problem):
    result = Scripted([known_problem.x]).solve(known_problem.problem)
    assert result.status == "optimal"
    np.testing.assert_allclose(result.multipliers, known_problem.multipliers, atol=1e-9)


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


def test_the_choice_of_the_solver_takes_precedence(problems):
    problem = problems.fair()
    points = [share * np.array([1.5, 1.0, 1.0, 0.0]) for share in (0.01, 0.4, 0.0)]
    result = Scripted(points, chosen=[False, True, False]).solve(problem)
    np.testing.assert_array_equal(result.x, points[1])


def test_the_residual_is_measured_now_and_then(known_problem):
    steps = []
    points = make_points(known_problem, np.linspace(0, 0.5, 8))
    Scripted(points, check_every=3).solve(known_problem.problem, callback=steps.append)
    measured = [bool(np.isfinite(progress.residual)) for progress in steps]
    assert measured == [True, False, False] * 2 + [True, False]


def test_max_iter_counts_iterations_after_the_start(known_problem):
    points = make_points(known_problem, np.linspace(0, 0.5, 8))
    assert Scripted(points, max_iter=3).solve(known_problem.problem).n_iter == 3
    assert Scripted(points).solve(known_problem.problem).n_iter == 7


def test_a_custom_start(known_problem):
    steps = []

    class FromStart(Scripted):
        def _iterate(self, problem, x, random_state):
            steps.append(x)
            yield Iterate(problem.evaluate(x), np.zeros(3))

    FromStart().solve(known_problem.problem, list(known_problem.x))
    np.testing.assert_array_equal(steps[0], known_problem.x)


def test_a_start_without_a_finite_objective_is_refused(known_problem):
    with pytest.raises(ValueError, match="finite at the start, but it is nan"):
        Scripted([known_problem.x]).solve(known_problem.problem, np.full(4, np.nan))


def test_the_message_has_the_numbers(known_problem):
    result = Scripted([0 * known_problem.x], tol=1e-2).solve(known_problem.problem)
    assert result.message.startswith("Scripted stopped after 0 iterations with violation")
    assert "(tol=0.01)" in result.message


class OneRow(Scripted):
    one_row = True


def test_a_solver_may_ask_for_one_row_per_gap(problems):
    """With three groups the linear rows have a centre as unknown; the one row has none."""
    problem = problems.fair(n_groups=3)
    start = problem.initial_point(np.array([0.5, 0.1, -0.2, 0.3]))
    assert len(start) == 5 and len(problem.lower) == 3
    steps = []
    result = OneRow([start[:4]]).solve(problem, start, callback=steps.append)
    evaluation = steps[0].evaluation
    scores = problem.model.scores(start[:4])
    assert evaluation.values == problem.constraint.gap(problem.constraint.sums.smooth_means(scores))
    np.testing.assert_array_equal(result.x, start[:4])
    assert len(result.multipliers) == 1
    assert len(Scripted([start]).solve(problem, start).multipliers) == 3


class CountedLoss:
    def __init__(self, loss):
        self.loss = loss
        self.calls = 0

    def __call__(self, scores, target):
        self.calls += 1
        return self.loss(scores, target)


def test_between_measurements_nothing_is_computed_of_iterates_that_are_not_chosen(known_problem):
    """As steps on mini-batches are: full passes wait for the next measurement."""
    loss = CountedLoss(known_problem.problem.loss)
    problem = replace(known_problem.problem, loss=loss)
    points = make_points(known_problem, np.linspace(0, 0.5, 7))
    chosen = [None, False, False, None, False, False, None]
    result = Scripted(points, chosen=chosen, check_every=3).solve(problem)
    assert result.n_iter == 6
    assert loss.calls == 4  # the start, and three measurements of which one is the answer


def test_the_result_keeps_what_the_driver_has_computed(known_problem):
    loss = CountedLoss(known_problem.problem.loss)
    steps = []
    result = SQP().solve(replace(known_problem.problem, loss=loss), callback=steps.append)
    calls = loss.calls
    assert result.evaluation is steps[-1].evaluation
    assert result.evaluation.scores is steps[-1].evaluation.scores
    assert (result.fun, result.violation) == (
        steps[-1].evaluation.fun,
        steps[-1].evaluation.violation,
    )
    assert loss.calls == calls
    assert result.violation == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("name", SOLVERS)
def test_what_solvers_require_has_words_and_a_remedy(name):
    for requirement in SOLVERS[name]().requires:
        what, is_there, remedy = REQUIREMENTS[requirement]
        assert what and remedy and callable(is_there)


def test_a_constraint_that_lacks_something_is_refused_with_a_remedy(problems):
    with pytest.raises(ValueError, match=r"IDCA needs .* a BoundConstraint .*solver='sqp'"):
        SOLVERS["idca"]().solve(problems.fair())


def test_the_message_advises_by_the_solver(known_problem, problems):
    points = make_points(known_problem, [0.1, 0.2])
    ended = Scripted(points).solve(known_problem.problem).message  # by itself
    assert "Raise tol, or try solver='sqp'" in ended and "max_iter" not in ended
    stopped = SQP(max_iter=1).solve(problems.fair())
    assert stopped.status != "optimal"
    assert "Raise max_iter or tol" in stopped.message and "'sqp'" not in stopped.message
    assert "Raise" not in SQP().solve(known_problem.problem).message


def test_requirements_name_methods_of_constraints():
    descriptions = " ".join(description for description, _, _ in REQUIREMENTS.values())
    methods = re.findall(r"by its method (\w+)", descriptions)
    assert methods == ["take_batch", "correct"]
    assert all(f"``{method}(" in SmoothConstraint.__doc__ for method in methods)
