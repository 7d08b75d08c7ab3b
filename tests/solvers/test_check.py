from dataclasses import replace

import numpy as np
import pytest

from skfair._problems.evaluation import Box
from skfair._problems.problem import example_problem
from skfair.solvers import GDA, SOLVERS, SQP, Solver, check_solver
from skfair.solvers._check import _minimum_in
from skfair.solvers._solver import Iterate

SETTINGS = {
    "plada": {"max_iter": 2000},
    "gda": {"max_iter": 2000},
    "proxy-lagrangian": {"max_iter": 2000},
    "switching-subgradient": {"max_iter": 20000},
}


@pytest.mark.covering(0)
@pytest.mark.parametrize(
    "name",
    [
        *("sqp", "sqp-lbfgs", "augmented-lagrangian", "plada", "gda", "proxy-lagrangian"),
        # Its error falls with the root of the number of iterations.
        pytest.param("switching-subgradient", marks=pytest.mark.slow),
    ],
)
def test_solvers_of_this_package_pass(name):
    check_solver(SOLVERS[name](**SETTINGS.get(name, {})))


class Descent(Solver):
    """Gradient descent, which ignores the row."""

    def __init__(self, max_iter=300, tol=1e-3):
        self.max_iter = max_iter
        self.tol = tol

    def _iterate(self, problem, x, random_state):
        while True:
            evaluation = problem.evaluate(x)
            yield Iterate(evaluation, np.zeros(len(problem.lower)))
            x = x - evaluation.grad


class Early(SQP):
    """A solver that calls its first iterate optimal."""

    def solve(self, problem, x0=None, **options):
        result = super().solve(problem, x0, **options)
        return type(result)(**vars(result) | {"residual": 0.0, "status": "optimal"})


class Random(SQP):
    """A solver whose answers differ from run to run, by less than its tolerance."""

    n_runs = 0

    def solve(self, problem, x0=None, **options):
        result = super().solve(problem, x0, **options)
        Random.n_runs += 1
        moved = result.x + 1e-9 * Random.n_runs
        return type(result)(**vars(result) | {"x": moved, "residual": result.residual + 1e-7})


class Unprojected(SQP):
    """A solver that says that it projects, and does not."""

    projects = True


class ProjectedOnce(GDA):
    """A solver that projects its answer only."""

    def solve(self, problem, x0=None, **options):
        result = super().solve(replace(problem, region=None), x0, **options)
        return replace(result, x=problem.project(result.x))


class Shrunk(GDA):
    """A solver that projects onto another region."""

    def solve(self, problem, x0=None, **options):
        box = problem.region
        if box is not None:
            problem = replace(problem, region=Box(box.lower, box.upper - 0.2))
        return super().solve(problem, x0, **options)


class Outside(GDA):
    """A solver whose answer is slightly outside of the region."""

    def solve(self, problem, x0=None, **options):
        result = super().solve(problem, x0, **options)
        return replace(result, x=result.x + 1e-9, residual=result.residual + 1e-6)


@pytest.mark.covering(0)
@pytest.mark.parametrize(
    "solver, atol, match",
    [
        (Descent(), 1e-2, "Descent violates the row"),
        (SQP(max_iter=1), 1e-7, "SQP (violates the row|misses the minimum)"),
        (Early(max_iter=1), 1.0, "Early reports a residual smaller than it is"),
        (Unprojected(), 1e-2, "Unprojected misses the minimum in a region"),
        (ProjectedOnce(max_iter=2000), 1e-2, "ProjectedOnce misses the minimum in a region"),
        (Shrunk(max_iter=2000), 1e-2, "Shrunk misses the minimum in a region"),
        (Outside(max_iter=2000), 1e-2, "Outside leaves the region"),
        (Random(tol=1e-5), 1e-2, "Random differs between runs of one seed"),
    ],
)
def test_mistakes_are_named(solver, atol, match):
    with pytest.raises(ValueError, match=match):
        check_solver(solver, tol=atol)


def test_the_minimum_in_a_box_is_that_of_another_method():
    problem = example_problem()
    x = SQP(tol=1e-9).solve(problem).x
    box = Box(x - 1.0, x + [1.0, -0.3, 1.0])
    minimum = _minimum_in(box, problem)
    assert minimum > problem.evaluate(x).fun + 0.01
    result = GDA(tol=1e-6).solve(replace(problem, region=box))
    assert result.fun == pytest.approx(minimum, abs=1e-5)
    assert result.x[1] == box.upper[1]
