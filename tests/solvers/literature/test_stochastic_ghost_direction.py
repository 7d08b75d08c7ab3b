"""The ghost method's small quadratic program, against scipy."""

import numpy as np
import pytest
from scipy.optimize import linprog, minimize

from skfair.solvers import StochasticGhost
from skfair.solvers.literature._stochastic_constrained import ghost_direction, reachable_violation


def draw_rows(m, n=4, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=n), rng.normal(size=m), rng.normal(size=(m, n))


def minimize_violation(G, jacobian, rho):
    m, n = jacobian.shape
    result = linprog(
        np.append(np.zeros(n), 1.0),
        A_ub=np.column_stack((jacobian, -np.ones(m))),
        b_ub=-G,
        bounds=[(-rho, rho)] * n + [(0, None)],
    )
    return result.fun


@pytest.mark.parametrize("value", [-2.0, -0.3, 0.0, 0.4, 3.0])
def test_a_two_sided_row_gets_as_low_as_it_can(value):
    row = np.array([0.5, -0.2, 0.3])
    G = np.array([value - 0.1, -value - 0.1])
    jacobian = np.vstack((row, -row))
    expected = minimize_violation(G, jacobian, 0.8)
    assert reachable_violation(G, jacobian, 0.8) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_the_reachable_violation_of_several_rows(seed):
    _, G, jacobian = draw_rows(5, seed=seed)
    reached = reachable_violation(G, jacobian, 0.8)
    assert minimize_violation(G, jacobian, 0.8) - 1e-9 <= reached <= max(G.max(), 0.0)


@pytest.mark.parametrize("beta", [10.0, 0.5])
@pytest.mark.parametrize("m", [1, 2, 4])
@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_minimum_of_the_program(seed, m, beta):
    gradient, G, jacobian = draw_rows(m, seed=seed)
    settings = StochasticGhost(beta=beta, tau=1.5, rho=0.4)
    d = ghost_direction(gradient, G, jacobian, settings)
    worst = max(0.0, G.max())
    kappa = 0.5 * worst + 0.5 * reachable_violation(G, jacobian, 0.4)
    result = minimize(
        lambda d: gradient @ d + 0.75 * d @ d,
        np.zeros(4),
        constraints={"type": "ineq", "fun": lambda d: kappa - G - jacobian @ d},
        bounds=[(-beta, beta)] * 4,
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    np.testing.assert_allclose(d, result.x, atol=1e-4)


def test_without_rows_it_is_the_gradient_step():
    gradient = np.array([1.0, -30.0])
    d = ghost_direction(gradient, np.empty(0), np.empty((0, 2)), StochasticGhost())
    np.testing.assert_allclose(d, [-1.0, 10.0])
