"""Small quadratic programs in kernels: guesses of active sets against the interior point."""

import numba
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skfair import _kernels
from skfair._kernels import elastic_qp as elastic_qp_kernels
from skfair._kernels.elastic_qp import solve_active_set, solve_interior_point


def draw(n_rows, n, rng, margin=0.1):
    """Curvatures, rows and bounds, some of them infinite or equal."""
    curvature = rng.uniform(0.5, 2.0, size=n)
    rows = rng.normal(size=(n_rows, n))
    lower = np.where(rng.random(n_rows) < 0.3, -np.inf, rng.uniform(-1.0, 0.5, size=n_rows))
    upper = np.maximum(lower, -0.5) + rng.choice([0.0, margin, np.inf], size=n_rows)
    return curvature, rows, lower, upper


@pytest.mark.parametrize("penalty", [0.1, 10.0])
@pytest.mark.parametrize("n_rows", [1, 2, 5, 8])
def test_guesses_that_come_to_an_end_have_the_answer(n_rows, penalty):
    rng = np.random.default_rng(n_rows)
    n_solved = 0
    for _ in range(20):
        problem = draw(n_rows, n_rows + 1, rng)
        solution = solve_active_set(*problem, penalty)
        if solution is None:
            continue
        n_solved += 1
        z, multipliers = solution
        expected, duals = solve_interior_point(*problem, penalty, 1e-12)
        np.testing.assert_allclose(z, expected, atol=1e-5)
        np.testing.assert_allclose(multipliers, duals, atol=1e-4 * penalty)
        curvature, rows, *_ = problem
        np.testing.assert_allclose(curvature * z + rows.T @ multipliers, 0.0, atol=1e-10 * penalty)
    assert n_solved >= 12


def test_one_row_by_hand():
    """min z^2 / 2 with z >= 1: z = 1, and the multiplier of the lower bound is 1."""
    one = np.ones(1)
    free = np.array([np.inf])
    z, multipliers = solve_active_set(one, np.ones((1, 1)), one, free, 10.0)
    assert (z.tolist(), multipliers.tolist()) == ([1.0], [-1.0])
    # A penalty of a quarter is worth a quarter of the way.
    z, multipliers = solve_active_set(one, np.ones((1, 1)), one, free, 0.25)
    assert (z.tolist(), multipliers.tolist()) == ([0.25], [-0.25])
    # Within its bounds the row has no multiplier, exactly.
    z, multipliers = solve_active_set(one, np.ones((1, 1)), -one, free, 10.0)
    assert (z.tolist(), multipliers.tolist()) == ([0.0], [0.0])


def test_rows_that_no_unknown_moves_are_not_guessed():
    bounds = (np.ones(2), np.full(2, np.inf))
    still = np.array([[1.0], [0.0]])
    assert solve_active_set(np.ones(1), still, *bounds, 10.0) is None


def test_a_transposed_array_is_taken():
    rng = np.random.default_rng(0)
    curvature, rows, lower, upper = draw(2, 3, rng)
    expected = solve_active_set(curvature, rows, lower, upper, 10.0)
    computed = solve_active_set(curvature, np.asfortranarray(rows), lower, upper, 10.0)
    np.testing.assert_array_equal(computed[0], expected[0])


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_interpreted_guesses_of_the_active_set_equal_compiled_ones(monkeypatch):
    rng = np.random.default_rng(0)
    problems = []
    for _ in range(20):
        curvature = rng.uniform(0.5, 2.0, 5)
        rows = rng.normal(size=(3, 5))
        middle = rng.normal(size=3)
        problems.append((curvature, rows, middle - 0.1, middle + 0.1, 5.0))
    with _kernels.compile_at_first_call():
        compiled = [elastic_qp_kernels.solve_active_set(*problem) for problem in problems]
    kernel = elastic_qp_kernels._solve_active_set
    interpreted_kernel = _kernels._interpreted_function(kernel)
    monkeypatch.setattr(elastic_qp_kernels, "_solve_active_set", interpreted_kernel)
    interpreted = [elastic_qp_kernels.solve_active_set(*problem) for problem in problems]
    assert sum(one is not None for one in compiled) > 10
    for one, other in zip(compiled, interpreted, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            assert_array_equal(one[0], other[0])
            assert_array_equal(one[1], other[1])
