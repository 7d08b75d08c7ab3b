from dataclasses import dataclass, replace

import numpy as np
import pytest

from skfair.losses import Pointwise
from skfair.solvers import GDA


def test_the_first_iterations_are_descent_and_ascent(problems):
    problem = problems.fair()
    eta = 0.5
    sigma = 2.0
    theta = 0.7
    steps = []
    GDA(2, 0.0, eta, sigma, theta).solve(problem, callback=steps.append)
    x = problem.initial_point()
    duals = np.zeros(2)
    gap = problem.evaluate(x).values[0]
    for progress in steps:
        np.testing.assert_allclose(progress.evaluation.x, x, atol=1e-12)
        multiplier = duals[0] - duals[1]
        np.testing.assert_allclose(progress.multipliers, [multiplier], atol=1e-12)
        at = problem.evaluate(x)
        x = x - eta * (at.grad + multiplier * at.jacobian[0])
        before = gap
        gap = problem.evaluate(x).values[0]
        ahead = gap + theta * (gap - before)
        rise = np.array([ahead - 0.02, -0.02 - ahead])
        duals = np.maximum(0, duals + sigma * rise)
    assert duals[0] > 0


@pytest.mark.slow
def test_extrapolated_steps_converge_where_plain_steps_cycle(problems):
    """Without curvature, x in the box -1 <= a'x <= 1 and a linear objective: a bilinear game."""
    known = problems.quadratic().problem

    @dataclass(frozen=True)
    class Linear:
        def __call__(self, scores, target):
            zero = np.zeros_like(scores)
            return Pointwise(-target * scores, -target + zero, zero)

    slope = known.mean_weights * known.target
    rows = problems.linear_rows(slope[np.newaxis], np.array([-1.0]), np.array([1.0]))
    problem = replace(known, loss=Linear(), alpha=0.0, constraint=rows)
    damped = GDA(max_iter=500, tol=1e-3, eta=0.5).solve(problem)
    plain = GDA(max_iter=500, tol=1e-3, eta=0.5, extrapolation=0.0).solve(problem)
    assert damped.status == "optimal"
    np.testing.assert_allclose(damped.multipliers, [1.0], atol=1e-2)
    assert plain.n_iter > damped.n_iter
