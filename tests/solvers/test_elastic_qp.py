import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize

from skfair.solvers._elastic_qp import solve_interior_point
from skfair.solvers._sqp import solve_elastic_qp


def cost(z, curvature, rows, lower, upper, penalty):
    values = rows @ z
    excess = np.maximum(0, values - upper) + np.maximum(0, lower - values)
    return curvature @ z**2 / 2 + penalty * excess.sum()


def assert_optimal(z, multipliers, curvature, rows, lower, upper, penalty):
    """The conditions of the yielding rows: stationarity, multipliers only at bounds."""
    np.testing.assert_allclose(curvature * z + rows.T @ multipliers, 0, atol=1e-7 * penalty)
    values = rows @ z
    assert (np.abs(multipliers) <= penalty * (1 + 1e-9)).all()
    near = 1e-6 * (1 + np.abs(values))
    above = values > upper + near
    below = values < lower - near
    np.testing.assert_allclose(multipliers[above], penalty, rtol=1e-4)
    np.testing.assert_allclose(multipliers[below], -penalty, rtol=1e-4)
    inside = (values < upper - near) & (values > lower + near)
    np.testing.assert_allclose(multipliers[inside], 0, atol=1e-4 * penalty)


def slsqp(curvature, rows, lower, upper, penalty):
    """The same program with slack variables, by scipy."""
    m, n = rows.shape
    slacks = {
        "type": "ineq",
        "fun": lambda v: np.concatenate(
            (upper - rows @ v[:n] + v[n:], rows @ v[:n] + v[n:] - lower)
        ),
    }
    return minimize(
        lambda v: curvature @ v[:n] ** 2 / 2 + penalty * v[n:].sum(),
        np.zeros(n + m),
        constraints=slacks,
        bounds=[(None, None)] * n + [(0, None)] * m,
        method="SLSQP",
        options={"ftol": 1e-13, "maxiter": 500},
    )


def test_one_row_by_hand():
    """min z^2 / 2 with z >= 1: z = 1, and the multiplier of the lower bound is 1."""
    z, multipliers = solve_elastic_qp(
        np.ones(1), np.ones((1, 1)), np.array([1.0]), np.array([np.inf]), 10.0
    )
    np.testing.assert_allclose(z, [1.0], atol=1e-9)
    np.testing.assert_allclose(multipliers, [-1.0], atol=1e-9)


def test_a_row_is_violated_where_it_costs_more_than_its_penalty():
    z, multipliers = solve_elastic_qp(
        np.ones(1), np.ones((1, 1)), np.array([1.0]), np.array([np.inf]), 0.25
    )
    np.testing.assert_allclose(z, [0.25], atol=1e-9)
    np.testing.assert_allclose(multipliers, [-0.25], atol=1e-9)


def test_an_equality_row():
    rows = np.array([[1.0, 2.0]])
    z, multipliers = solve_elastic_qp(np.ones(2), rows, np.array([3.0]), np.array([3.0]), 100.0)
    np.testing.assert_allclose(z, [0.6, 1.2], atol=1e-8)  # the point of the line nearest to 0
    np.testing.assert_allclose(multipliers, [-0.6], atol=1e-8)


def test_contradictory_rows_share_the_violation():
    rows = np.ones((2, 1))
    lower = np.array([1.0, -np.inf])
    upper = np.array([np.inf, -1.0])
    z, multipliers = solve_elastic_qp(np.ones(1), rows, lower, upper, 5.0)
    np.testing.assert_allclose(z, [0.0], atol=1e-6)
    np.testing.assert_allclose(multipliers, [-5.0, 5.0], rtol=1e-4)
    assert_optimal(z, multipliers, np.ones(1), rows, lower, upper, 5.0)


def test_no_rows_and_no_finite_bounds():
    for rows in (np.empty((0, 2)), np.ones((3, 2))):
        free = np.full(len(rows), np.inf)
        z, multipliers = solve_elastic_qp(np.ones(2), rows, -free, free, 1.0)
        np.testing.assert_array_equal(z, [0, 0])
        np.testing.assert_array_equal(multipliers, np.zeros(len(rows)))


def test_unknowns_almost_without_curvature_solve_a_linear_program():
    """A centre held by rows alone: center <= a_i <= center + 0.2 for moved numbers a_i."""
    a = np.array([0.0, 0.5, 0.4])
    rows = np.column_stack((np.eye(3), -np.ones(3)))
    curvature = np.array([1.0, 1.0, 1.0, 1e-8])
    lower = -a
    upper = 0.2 - a
    z, multipliers = solve_elastic_qp(curvature, rows, lower, upper, 50.0)
    assert_optimal(z, multipliers, curvature, rows, lower, upper, 50.0)
    assert abs(multipliers.sum()) < 1e-6, "the centre is free, so the multipliers cancel"
    result = slsqp(curvature, rows, lower, upper, 50.0)
    assert cost(z, curvature, rows, lower, upper, 50.0) <= result.fun + 1e-7


def test_the_least_violation_is_that_of_a_linear_program():
    """At a high penalty the rows come as near to their bounds as linprog brings them."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(6, 2))
    lower, upper = np.full(6, 0.5), np.full(6, 0.7)
    z, _ = solve_elastic_qp(np.full(2, 1e-6), rows, lower, upper, 1e3)
    values = rows @ z
    excess = np.maximum(0, values - upper) + np.maximum(0, lower - values)
    slack = np.eye(6)
    least = linprog(
        np.concatenate((np.zeros(2), np.ones(6))),
        A_ub=np.block([[rows, -slack], [-rows, -slack]]),
        b_ub=np.concatenate((upper, -lower)),
        bounds=[(None, None)] * 2 + [(0, None)] * 6,
    )
    assert excess.sum() == pytest.approx(least.fun, abs=1e-6)


@given(
    n=st.integers(1, 5),
    m=st.integers(1, 8),
    penalty=st.sampled_from([0.5, 10.0, 1e4]),
    seed=st.integers(0, 10_000),
)
def test_the_optimality_conditions_hold(n, m, penalty, seed):
    rng = np.random.default_rng(seed)
    curvature = rng.choice([1e-6, 0.1, 1.0, 30.0], size=n)
    rows = rng.normal(size=(m, n))
    center = rng.normal(size=m)
    width = rng.choice([0.0, 0.1, 2.0], size=m)
    lower = np.where(rng.random(m) < 0.2, -np.inf, center - width)
    upper = np.where(rng.random(m) < 0.2, np.inf, center + width)
    z, multipliers = solve_elastic_qp(curvature, rows, lower, upper, penalty)
    assert_optimal(z, multipliers, curvature, rows, lower, upper, penalty)


@pytest.mark.parametrize("seed", range(8))
def test_it_is_no_worse_than_slsqp(seed):
    rng = np.random.default_rng(seed)
    curvature = rng.uniform(0.5, 2.0, size=3)
    rows = rng.normal(size=(4, 3))
    lower = rng.normal(size=4) - 0.1
    upper = rng.normal(size=4) + 0.6
    lower = np.minimum(lower, upper)
    z, _ = solve_elastic_qp(curvature, rows, lower, upper, 3.0)
    result = slsqp(curvature, rows, lower, upper, 3.0)
    assert cost(z, curvature, rows, lower, upper, 3.0) <= result.fun + 1e-8


@pytest.mark.parametrize("seed", [98, 131, 160])
def test_multipliers_keep_their_digits_where_unknowns_have_next_to_no_curvature(seed):
    """Free centres: scaled by their curvature, as a factorised Hessian scales, columns are huge."""
    rng = np.random.default_rng(seed)
    rows = 0.3 * rng.normal(size=(6, 6))
    centers = np.kron(np.eye(2), np.ones((3, 1)))
    middle = rng.normal(size=6)
    scale = 1e5
    bounds = middle - 0.05, middle + 0.05, 1.0
    scaled = solve_elastic_qp(np.ones(8), np.hstack((rows, scale * centers)), *bounds)
    curvature = np.append(np.ones(6), [scale**-2] * 2)
    plain = solve_elastic_qp(curvature, np.hstack((rows, centers)), *bounds)
    np.testing.assert_allclose(scaled[1], plain[1], atol=1e-7)
    np.testing.assert_allclose(scaled[0][:6], plain[0][:6], atol=1e-7)


@pytest.mark.parametrize("penalty", [0.1, 10.0])
@pytest.mark.parametrize("seed", range(3))
def test_of_many_rows_the_answer_is_that_of_all(seed, penalty):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(400, 6))
    curvature = rng.uniform(0.5, 2.0, size=6)
    lower = np.where(rng.random(400) < 0.5, -np.inf, rng.uniform(-4.0, 0.2, size=400))
    upper = np.maximum(lower, 0.0) + rng.uniform(0.01, 4.0, size=400)
    z, multipliers = solve_elastic_qp(curvature, rows, lower, upper, penalty)
    assert_optimal(z, multipliers, curvature, rows, lower, upper, penalty)
    assert 0 < np.count_nonzero(np.abs(multipliers) > 1e-6 * penalty) < 100
    point, duals = solve_interior_point(curvature, rows, lower, upper, penalty, 1e-12)
    np.testing.assert_allclose(z, point, atol=1e-7)
    np.testing.assert_allclose(multipliers, duals, atol=1e-5 * penalty)


def test_rows_that_are_multiples_of_each_other_share_the_multiplier():
    rows = np.array([[1.0, 2.0], [2.0, 4.0]])
    bounds = np.array([1.0, 2.0]), np.full(2, np.inf)
    z, multipliers = solve_elastic_qp(np.ones(2), rows, *bounds, 10.0)
    np.testing.assert_allclose(z, [0.2, 0.4], atol=1e-8)
    np.testing.assert_allclose(multipliers @ [1.0, 2.0], -0.2, atol=1e-8)
