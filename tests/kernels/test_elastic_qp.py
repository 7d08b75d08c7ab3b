"""Small quadratic programs in kernels, against the interior point of numpy and by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skfair._kernels.elastic_qp import guess_active_set, solve_interior
from skfair.solvers._sqp import OneSided, _interior_point


def draw(n_rows, n, rng, margin=0.1):
    """Curvatures, rows and bounds, some of them infinite or equal."""
    curvature, rows = rng.uniform(0.5, 2.0, size=n), rng.normal(size=(n_rows, n))
    lower = np.where(rng.random(n_rows) < 0.3, -np.inf, rng.uniform(-1.0, 0.5, size=n_rows))
    upper = np.maximum(lower, -0.5) + rng.choice([0.0, margin, np.inf], size=n_rows)
    return curvature, rows, lower, upper


def solve_by_numpy(curvature, rows, lower, upper, penalty):
    one_sided = OneSided(lower, upper)
    bounds = one_sided.jacobian(rows), one_sided.bounds
    duals, z = _interior_point(curvature, *bounds, penalty, 1e-12)
    return z, one_sided.multipliers(duals)


def assert_no_worse(z, curvature, rows, lower, upper, penalty):
    """The point costs no more than that of the interior point."""
    expected, _ = solve_by_numpy(curvature, rows, lower, upper, penalty)
    costs = []
    for one in (z, expected):
        values = rows @ one
        excess = np.maximum(0.0, values - upper) + np.maximum(0.0, lower - values)
        costs.append(curvature @ one**2 / 2 + penalty * excess.sum())
    assert costs[0] <= costs[1] + 1e-9 * (1.0 + abs(costs[1]))


@given(
    n=st.integers(1, 6),
    n_rows=st.integers(1, 10),
    penalty=st.sampled_from([0.1, 10.0, 1e4]),
    seed=st.integers(0, 10_000),
)
def test_the_interior_point_is_that_of_numpy(n, n_rows, penalty, seed):
    curvature, rows, lower, upper = draw(n_rows, n, np.random.default_rng(seed))
    one_sided = OneSided(lower, upper)
    bounds = one_sided.jacobian(rows), one_sided.bounds
    if not len(one_sided.bounds):
        return
    _, z = solve_interior(curvature, *bounds, penalty, 1e-12)
    _, expected = _interior_point(curvature, *bounds, penalty, 1e-12)
    np.testing.assert_allclose(z, expected, atol=1e-6)
    assert_no_worse(z, curvature, rows, lower, upper, penalty)


@pytest.mark.parametrize("penalty", [0.1, 10.0])
@pytest.mark.parametrize("n_rows", [1, 2, 5, 8])
def test_guesses_that_come_to_an_end_have_the_answer(n_rows, penalty):
    rng, n_solved = np.random.default_rng(n_rows), 0
    for _ in range(20):
        problem = draw(n_rows, n_rows + 1, rng)
        solution = guess_active_set(*problem, penalty)
        if solution is None:
            continue
        n_solved += 1
        z, multipliers = solution
        expected, duals = solve_by_numpy(*problem, penalty)
        np.testing.assert_allclose(z, expected, atol=1e-5)
        np.testing.assert_allclose(multipliers, duals, atol=1e-4 * penalty)
        curvature, rows, *_ = problem
        np.testing.assert_allclose(curvature * z + rows.T @ multipliers, 0.0, atol=1e-10 * penalty)
    assert n_solved >= 12


def test_one_row_by_hand():
    """min z^2 / 2 with z >= 1: z = 1, and the multiplier of the lower bound is 1."""
    one, free = np.ones(1), np.array([np.inf])
    z, multipliers = guess_active_set(one, np.ones((1, 1)), one, free, 10.0)
    assert (z.tolist(), multipliers.tolist()) == ([1.0], [-1.0])
    # A penalty of a quarter is worth a quarter of the way.
    z, multipliers = guess_active_set(one, np.ones((1, 1)), one, free, 0.25)
    assert (z.tolist(), multipliers.tolist()) == ([0.25], [-0.25])
    # Within its bounds the row has no multiplier, exactly.
    z, multipliers = guess_active_set(one, np.ones((1, 1)), -one, free, 10.0)
    assert (z.tolist(), multipliers.tolist()) == ([0.0], [0.0])


def test_rows_that_no_unknown_moves_are_not_guessed():
    bounds, still = (np.ones(2), np.full(2, np.inf)), np.array([[1.0], [0.0]])
    assert guess_active_set(np.ones(1), still, *bounds, 10.0) is None


def test_a_transposed_array_is_taken():
    rng = np.random.default_rng(0)
    curvature, rows, lower, upper = draw(2, 3, rng)
    expected = guess_active_set(curvature, rows, lower, upper, 10.0)
    computed = guess_active_set(curvature, np.asfortranarray(rows), lower, upper, 10.0)
    np.testing.assert_array_equal(computed[0], expected[0])
