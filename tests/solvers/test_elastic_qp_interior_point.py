"""Small quadratic programs against enumerated active sets."""

from itertools import product

import numpy as np
import pytest

from skfair.solvers._elastic_qp import solve_interior_point


def draw(seed, n_bounds=4, n_unknowns=3):
    """Curvatures, rows and upper bounds, of which z = 0 violates some."""
    rng = np.random.default_rng(seed)
    G = rng.normal(size=(n_bounds, n_unknowns))
    return rng.uniform(0.5, 2.0, n_unknowns), G, rng.normal(size=n_bounds)


def solve(h, G, b, penalty):
    """Point and multipliers where rows have upper bounds alone."""
    return solve_interior_point(h, G, np.full(len(b), -np.inf), b, penalty, 1e-12)


def cost(z, h, G, b, penalty):
    return h @ z**2 / 2 + penalty * np.maximum(0.0, G @ z - b).sum()


def solve_by_enumeration(h, G, b, penalty):
    """The best point of all active sets: each multiplier is 0, free, or the penalty."""
    points = []
    for state in product(range(3), repeat=len(b)):
        state = np.array(state)
        capped = penalty * G[state == 2].sum(axis=0)
        free = G[state == 1]
        # Stationarity h z + capped + free' duals = 0, and free z = b.
        gram = (free / h) @ free.T
        if len(free) and np.linalg.matrix_rank(gram) < len(free):
            continue
        duals = np.linalg.solve(gram, -(free / h) @ capped - b[state == 1])
        points.append(-(capped + free.T @ duals) / h)
    return min(points, key=lambda z: cost(z, h, G, b, penalty))


@pytest.mark.parametrize("penalty", [0.3, 10.0])
@pytest.mark.parametrize("seed", range(6))
def test_it_finds_the_best_of_all_active_sets(seed, penalty):
    problem = draw(seed)
    z, duals = solve(*problem, penalty)
    np.testing.assert_allclose(z, solve_by_enumeration(*problem, penalty), atol=1e-7)
    assert (duals >= 0.0).all() and (duals <= penalty).all()


def test_without_bounds_nothing_moves():
    z, duals = solve(np.ones(2), np.empty((0, 2)), np.empty(0), 1.0)
    assert len(duals) == 0
    np.testing.assert_array_equal(z, [0.0, 0.0])


def test_lower_bounds_are_upper_ones_of_the_opposite_rows():
    h, G, b = draw(2)
    z, duals = solve(h, G, b, 3.0)
    signs = np.array([1.0, -1.0, 1.0, -1.0])
    lower = np.where(signs < 0, -b, -np.inf)
    upper = np.where(signs > 0, b, np.inf)
    point, multipliers = solve_interior_point(h, signs[:, None] * G, lower, upper, 3.0, 1e-12)
    np.testing.assert_allclose(point, z, atol=1e-9)
    np.testing.assert_allclose(multipliers, signs * duals, atol=1e-6)


def test_the_arguments_are_left_as_they_are():
    problem = draw(0)
    copies = [array.copy() for array in problem]
    solve(*problem, 1.0)
    for array, copy in zip(problem, copies, strict=True):
        np.testing.assert_array_equal(array, copy)
