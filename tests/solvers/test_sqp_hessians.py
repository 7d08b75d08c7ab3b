from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import BFGS

from skfair._bound.bound import ConstraintSystem
from skfair._problems.linear import LinearModel
from skfair.solvers import SQP, _sqp
from skfair.solvers._solver import Iterate
from skfair.solvers._sqp import HessianSchedule, bfgs_matrix, cholesky_factor, symmetric_factor


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
    np.testing.assert_allclose(
        dense(symmetric_factor(*bfgs_matrix(S, Y), 0.0), 6), expected, rtol=1e-6, atol=1e-8
    )


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
    root = symmetric_factor(5.0, np.empty((2, 0)), np.empty(0), 0.0)
    step = root.solve_transposed(root.solve(g))
    assert np.linalg.norm(step) == pytest.approx(1)


@pytest.mark.parametrize("damping", [0.0, 0.7])
def test_damping_is_added_to_the_matrix(damping):
    rng = np.random.default_rng(3)
    S = rng.normal(size=(6, 3))
    matrix = bfgs_matrix(S, 2.0 * S)
    expected = dense(symmetric_factor(*matrix, 0.0), 6) + damping * np.eye(6)
    np.testing.assert_allclose(dense(symmetric_factor(*matrix, damping), 6), expected, atol=1e-9)


def test_the_exact_hessian_is_that_of_the_lagrangian_where_it_is_positive(problems):
    problem = problems.fair()
    here = problem.evaluate(np.array([0.5, -0.2, 0.1, 0.0]))
    multipliers = np.array([0.1])
    expected = here.hessian(multipliers)
    assert np.linalg.eigvalsh(expected)[0] > 0
    for damping in (0.0, 2.0):
        result = dense(cholesky_factor(expected, here, multipliers, damping), 4)
        np.testing.assert_allclose(result, expected + damping * np.eye(4), atol=1e-8)


def test_an_indefinite_hessian_is_corrected_along_active_rows_first(problems):
    problem = problems.fair(alpha=0.0)
    here = problem.evaluate(np.array([1.0, -0.2, 0.1, 0.0]))
    multipliers = np.array([20.0])
    indefinite = here.hessian(multipliers)
    assert np.linalg.eigvalsh(indefinite)[0] < 0
    result = dense(cholesky_factor(indefinite, here, multipliers, 0.0), 4)
    assert np.linalg.eigvalsh(result)[0] > 0


def test_an_unknown_in_other_units_does_not_hold_the_others():
    """Newton's step, where the curvatures of two unknowns lie ten million million apart."""

    bowl = SimpleNamespace(jacobian=np.empty((0, 2)))
    root = cholesky_factor(np.diag([1e-4, 1e9]), bowl, np.empty(0), 0.0)
    step = root.solve_transposed(root.solve(np.array([1e-4, 1e9])))
    np.testing.assert_allclose(step, 1.0, rtol=1e-9)


@pytest.mark.parametrize(
    "is_convexified, is_reused", [(True, [True, False, False, True]), (False, [False] * 4)]
)
def test_a_convexified_hessian_is_reused_where_the_residual_is_halved(
    is_convexified, is_reused, monkeypatch
):
    residuals = iter([1.0, 0.4, 0.1, 0.09, 0.01])
    monkeypatch.setattr(_sqp, "kkt_residual", lambda iterate: next(residuals))
    point = SimpleNamespace(
        is_convexified=is_convexified, violation=0.0, hessian=lambda *arguments: np.eye(2)
    )
    hessians = HessianSchedule(tol=1e-6)
    made = [hessians(Iterate(point, np.zeros(1))) for _ in range(5)]
    assert [new is old for old, new in zip(made, made[1:], strict=False)] == is_reused


def test_the_last_step_needs_no_new_hessian(monkeypatch):
    """Steps that leave a hundredth each: after 1e-5 the next is expected to leave 1e-7."""
    residuals = iter([1e-1, 1e-3, 1e-5, 1e-7])
    monkeypatch.setattr(_sqp, "kkt_residual", lambda iterate: next(residuals))
    point = SimpleNamespace(is_convexified=False, violation=0.0, hessian=lambda *_: np.eye(2))
    hessians = HessianSchedule(tol=1.1e-6)
    made = [hessians(Iterate(point, np.zeros(1))) for _ in range(4)]
    assert [new is old for old, new in zip(made, made[1:], strict=False)] == [False, True, False]


@pytest.mark.parametrize("has_rows", [True, False])
def test_secants_of_a_factor_end_at_the_answer_of_exact_hessians(problems, has_rows):
    problem = problems.wide(200)
    if not has_rows:
        problem = replace(problem, constraint=ConstraintSystem(()))
    exact, secants = (SQP(tol=1e-7, hessian=name).solve(problem) for name in ("exact", "secants"))
    assert secants.status == exact.status == "optimal"
    assert exact.multipliers.any() == has_rows
    assert secants.fun == pytest.approx(exact.fun, abs=1e-7)
    np.testing.assert_allclose(secants.x, exact.x, atol=1e-5)


def test_secants_need_two_factors_and_no_exact_hessian(problems, monkeypatch):
    factors = []
    lower_factor = _sqp._lower_factor
    monkeypatch.setattr(
        _sqp, "_lower_factor", lambda *values: factors.append(1) or lower_factor(*values)
    )
    monkeypatch.setattr(LinearModel, "gram", None)
    result = SQP(hessian="secants").solve(problems.wide(200))
    assert result.status == "optimal"
    assert len(factors) == 2 < result.n_iter


def test_secants_need_many_dense_columns(problems):
    with pytest.raises(ValueError, match=r"200 dense columns.*use SQP\(hessian='exact'\)"):
        SQP(hessian="secants").solve(problems.wide(199))
