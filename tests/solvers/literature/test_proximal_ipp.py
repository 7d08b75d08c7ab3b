import numpy as np
import pytest

from skfair.solvers import IPPSSG, IPPConEx


@pytest.mark.parametrize("solver", [IPPSSG(tol=1e-3), IPPConEx(tol=1e-4)])
def test_a_long_inner_loop_is_one_proximal_problem(solver, problems):
    """With the bowl around 0 kept, the inner answer is the minimum of F plus bowl."""
    problem = problems.fair(n_groups=1, alpha=0.01)
    solver.set_params(rho=0.5, inner_iter=400, max_iter=400)
    steps = []
    solver.solve(problem, callback=steps.append)
    last = steps[399].evaluation
    np.testing.assert_allclose(last.grad + 0.5 * last.x, 0, atol=1e-6)
    plain = steps[400].evaluation.grad
    assert np.abs(plain).max() > 1e-3, "another centre is needed for the minimum of F"


def test_the_dual_step_is_bounded(problems):
    with pytest.raises(ValueError, match="'dual_step' parameter"):
        IPPConEx(dual_step=0.3).solve(problems.fair())


def test_multipliers_are_capped(problems):
    steps = []
    IPPConEx(dual_max=0.5, max_iter=400).solve(problems.fair(), callback=steps.append)
    duals = [np.abs(progress.multipliers).max() for progress in steps]
    assert max(duals) == 0.5
