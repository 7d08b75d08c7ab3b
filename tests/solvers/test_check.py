import numpy as np
import pytest

from skfair.solvers import SOLVERS, SQP, Iterate, Solver, check_solver

SETTINGS = {
    "plada": {"max_iter": 2000},
    "gda": {"max_iter": 2000},
    "proxy-lagrangian": {"max_iter": 2000},
    "switching-subgradient": {"max_iter": 2000},
}


@pytest.mark.parametrize("name", ["sqp", "sqp-lbfgs", "augmented-lagrangian", *SETTINGS])
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


@pytest.mark.parametrize(
    "solver, atol, match",
    [
        (Descent(), 1e-2, "Descent violates the row"),
        (SQP(max_iter=1), 1e-7, "SQP (violates the row|misses the minimum)"),
        (Early(max_iter=1), 1.0, "Early reports a residual smaller than it is"),
        (Random(tol=1e-5), 1e-2, "Random differs between runs of one seed"),
    ],
)
def test_mistakes_are_named(solver, atol, match):
    with pytest.raises(ValueError, match=match):
        check_solver(solver, atol=atol)
