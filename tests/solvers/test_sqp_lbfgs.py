import numpy as np
import pytest
from scipy.optimize import BFGS

from skfair.solvers import SQP, SQPLBFGS
from skfair.solvers._sqp_lbfgs import _LowRankRoot


def dense(root, p):
    """The matrix whose root it is, from its two solves."""
    inverse = root.solve_transposed(root.solve(np.eye(p)))
    return np.linalg.inv(inverse)


def bfgs(S, Y):
    """The update formula, pair by pair."""
    B = np.eye(len(S)) * (Y[:, -1] @ Y[:, -1]) / (S[:, -1] @ Y[:, -1])
    for s, y in zip(S.T, Y.T, strict=True):
        Bs = B @ s
        B = B - np.outer(Bs, Bs) / (s @ Bs) + np.outer(y, y) / (s @ y)
    return B


@pytest.mark.parametrize("k", [1, 2, 4, 7])
def test_the_root_is_that_of_the_bfgs_matrix(k):
    rng = np.random.default_rng(k)
    A = rng.normal(size=(6, 6))
    H = A @ A.T + np.eye(6)
    S = rng.normal(size=(6, k))
    Y = H @ S
    expected = bfgs(S, Y)
    np.testing.assert_allclose(dense(_LowRankRoot.of_bfgs(S, Y), 6), expected, rtol=1e-6, atol=1e-8)


def test_the_update_formula_of_this_test_is_scipy_s():
    rng = np.random.default_rng(0)
    s, y = rng.normal(size=3), rng.normal(size=3)
    y = y if s @ y > 0 else -y
    update = BFGS(init_scale=float(y @ y / (s @ y)))
    update.initialize(3, "hess")
    update.update(s, y)
    np.testing.assert_allclose(bfgs(s[:, None], y[:, None]), update.get_matrix())


def test_the_first_matrix_gives_a_step_of_length_one():
    g = np.array([3.0, 4.0])
    root = _LowRankRoot.scaled_identity(2, 5.0)
    step = root.solve_transposed(root.solve(g))
    assert np.linalg.norm(step) == pytest.approx(1)


def test_it_agrees_with_sqp_on_many_parameters(problems):
    wide = problems.wide(d=300)
    exact, found = SQP().solve(wide), SQPLBFGS().solve(wide)
    assert found.status == "optimal", found.message
    assert found.fun == pytest.approx(exact.fun, abs=1e-6)
    np.testing.assert_allclose(found.multipliers, exact.multipliers, atol=1e-4)


def test_a_short_memory_still_arrives(problems):
    problem = problems.fair()
    assert SQPLBFGS(memory=1).solve(problem).status == "optimal"
