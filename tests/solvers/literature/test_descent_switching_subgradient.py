import numpy as np
import pytest
from sklearn.base import clone

from skfair.solvers import SwitchingSubgradient
from skfair.solvers.literature._descent import GeometricDecay


def path(solver, problem, **options):
    steps = []
    result = solver.solve(problem, callback=steps.append, **options)
    return steps, result


def single(problems, **options):
    return problems.fair(**options).join_rows()


def test_normalised_steps_follow_algorithm_3(problems):
    problem = single(problems)
    epsilon = 0.05
    solver = SwitchingSubgradient.from_paper("partial_fairness", epsilon=epsilon, max_iter=30)
    steps, _ = path(solver, problem)
    kinds = set()
    for here, there in zip(steps, steps[1:], strict=False):
        at = here.evaluation
        excess = here.evaluation.values[0] - 0.02
        kinds.add(excess <= epsilon)
        if excess <= epsilon:
            step = epsilon / (at.grad @ at.grad) * at.grad
        else:
            slope = at.jacobian[0]
            step = excess / (slope @ slope) * slope
        np.testing.assert_allclose(there.evaluation.x, at.x - step, atol=1e-12)
    assert kinds == {True, False}, "both kinds of steps must occur"


def test_the_paper_s_answer_is_the_best_nearly_feasible_iterate(problems):
    problem = single(problems)
    epsilon = 0.01
    solver = SwitchingSubgradient.from_paper("partial_fairness", epsilon=epsilon, max_iter=200)
    steps, result = path(solver, problem)
    nearly = [p.evaluation for p in steps if p.evaluation.values[0] - 0.02 <= epsilon]
    best = min(nearly, key=lambda evaluation: evaluation.fun)
    np.testing.assert_array_equal(result.x, best.x)
    assert result.violation > solver.tol, "feasible up to epsilon only"
    assert result.status == "infeasible", "and called so"


def test_the_default_answer_keeps_the_tolerance(problems):
    problem = single(problems)
    steps, result = path(SwitchingSubgradient(max_iter=200), problem)
    feasible = [p.evaluation.fun for p in steps if p.evaluation.violation <= 1e-4]
    assert result.violation <= 1e-4
    assert result.fun == min(feasible)


def test_fixed_steps_of_the_benchmark(problems):
    problem = single(problems)
    steps, _ = path(SwitchingSubgradient.from_paper(max_iter=60), problem, random_state=0)
    for here, there in zip(steps, steps[1:], strict=False):
        at = here.evaluation
        nearly = at.values[0] - 0.02 <= 1e-4
        step = 0.5 * at.grad if nearly else 0.05 * at.jacobian[0]
        np.testing.assert_allclose(there.evaluation.x, at.x - step, atol=1e-12)


@pytest.mark.slow
def test_drawn_answers_are_as_frequent_as_their_steps_are_long(problems):
    """With steps 3, 2, 1 the three points of a run are drawn in the ratio 3 : 2 : 1."""
    problem = problems.fair(n_groups=1)  # no rows: every iterate is feasible
    solver = SwitchingSubgradient(
        max_iter=2, tol=0.0, objective_step=lambda k: 3.0 - k, output="drawn"
    )
    steps, _ = path(solver, problem, random_state=0)
    points = np.array([p.evaluation.fun for p in steps])
    rng = np.random.RandomState(0)
    drawn = np.array([solver.solve(problem, random_state=rng).fun for _ in range(600)])
    counts = (drawn[:, np.newaxis] == points).sum(axis=0)
    assert counts.sum() == 600
    np.testing.assert_allclose(counts, [300, 200, 100], atol=45)  # 3.7 standard deviations


@pytest.mark.slow
def test_steps_estimate_the_multiplier(problems):
    known = problems.quadratic()
    steps, _ = path(SwitchingSubgradient(tol=1e-4, max_iter=3000), known.problem)
    estimates = np.mean([progress.multipliers for progress in steps[-500:]], axis=0)
    np.testing.assert_allclose(estimates, known.multipliers, atol=0.03)


def test_it_stops_where_nothing_has_a_slope(problems):
    """The violated row does not depend on x: no step helps."""
    known = problems.quadratic().problem
    rows = problems.linear_rows(np.zeros((1, 60)), np.array([1.0]), np.array([np.inf]))
    problem = type(known)(known.model, known.loss, known.target, known.weights, 0.1, rows)
    result = SwitchingSubgradient().solve(problem)
    assert result.n_iter == 0
    assert result.status == "infeasible"


def decay_harmonically(k):
    return 2.0 / (k + 1)


@pytest.mark.parametrize("schedule", [decay_harmonically, GeometricDecay(2.0, 0.5, hold=3)])
def test_tolerances_may_be_schedules(schedule, problems):
    values = [schedule(k) for k in range(20)]
    assert values[0] == 2.0
    assert values == sorted(values, reverse=True)
    solver = clone(SwitchingSubgradient(epsilon=schedule, max_iter=300))
    assert solver.epsilon(4) == values[4]
    assert solver.solve(single(problems)).fun < np.log(2)


def test_settings_of_an_unknown_paper_are_refused():
    with pytest.raises(ValueError, match="name must be one of .*'benchmark'.* got 'benchmrk'"):
        SwitchingSubgradient.from_paper("benchmrk")
