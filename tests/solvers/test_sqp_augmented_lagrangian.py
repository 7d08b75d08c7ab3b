import numpy as np

from skfair.solvers import AugmentedLagrangian


def test_each_answer_minimises_the_augmented_lagrangian(problems):
    known = problems.quadratic()
    problem = known.problem
    steps = []
    AugmentedLagrangian(rho=3.0, growth=1.0, max_iter=3, tol=1e-12).solve(
        problem, callback=steps.append
    )
    for before, after in zip(steps, steps[1:], strict=False):
        at = after.evaluation
        values = at.values
        up = np.maximum(0, np.maximum(before.multipliers, 0) + 3 * (values - problem.upper))
        low = np.maximum(0, np.maximum(-before.multipliers, 0) + 3 * (problem.lower - values))
        np.testing.assert_allclose(at.grad + at.jacobian.T @ (up - low), 0, atol=2e-3)
        np.testing.assert_allclose(after.multipliers, up - low, atol=1e-12)


def test_larger_penalties_take_fewer_iterations(problems):
    problem = problems.fair()
    weak = AugmentedLagrangian(rho=10.0, growth=1.0).solve(problem)
    strong = AugmentedLagrangian(rho=100.0, growth=1.0).solve(problem)
    assert weak.status == strong.status == "optimal"
    assert strong.n_iter < weak.n_iter
