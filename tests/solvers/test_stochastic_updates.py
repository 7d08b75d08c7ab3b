"""The first steps of each method, written out again by the formulas of its paper."""

import numpy as np
import pytest
from sklearn.utils import check_random_state

from skfair._problems.mlp import MLPModel
from skfair.solvers import (
    SGD,
    SOLVERS,
    SSLALM,
    AdamPrimalDual,
    MultiplierModel,
    StochasticGhost,
    StochasticSwitching,
)
from skfair.solvers._stochastic import Adam
from skfair.solvers.literature import SPBM, StochasticIDCA, StochasticPLADA
from skfair.solvers.literature._descent import GeometricDecay
from skfair.solvers.literature._stochastic import _penalty_slope
from skfair.solvers.literature._stochastic_constrained import ghost_direction


@pytest.fixture
def problem(problems):
    return problems.fair(n=64, tolerance=0.02)


def unknowns_after(solver, problem, n_steps, seed=3):
    """Unknowns after some steps."""
    start = problem.initial_point()
    steps = solver._steps(problem, start, check_random_state(seed))
    return [next(steps)[0] for _ in range(n_steps)][-1]


def two_sided(evaluation):
    """The row as G <= 0, and its derivative."""
    value = evaluation.values[0]
    slope = evaluation.jacobian[0]
    return np.array([value - 0.02, -value - 0.02]), np.array([slope, -slope])


def test_sgd(problem):
    rng = check_random_state(3)
    x = problem.initial_point()
    for _ in range(3):
        x = x - 0.1 * problem.batches.draw(8, 0, rng).evaluate(x).grad
    np.testing.assert_allclose(unknowns_after(SGD(learning_rate=0.1, batch_size=8), problem, 3), x)


def test_sgd_with_a_penalty(problem):
    rng = check_random_state(3)
    x = problem.initial_point() + 0.5
    solver = SGD(learning_rate=0.1, batch_size=8, rho=0.7)
    steps = solver._steps(problem, x, check_random_state(3))
    for _ in range(5):
        slope = problem.batches.draw(8, 0, rng).evaluate(x).grad
        G, J = two_sided(problem.batches.draw(0, 4, rng).evaluate(x))
        x = x - 0.1 * (slope + 0.7 * (G > 0) @ J)
        np.testing.assert_allclose(next(steps)[0], x, atol=1e-12)


@pytest.mark.slow
def test_a_larger_penalty_leaves_a_smaller_gap(problems):
    problem = problems.fair(n=240, tolerance=0.0)
    gaps = [
        SGD(max_iter=60, rho=penalty).solve(problem, random_state=0).violation
        for penalty in (0.0, 1.0, 3.0)
    ]
    assert gaps[0] > 1.2 * gaps[1] > 2.4 * gaps[2]


@pytest.mark.parametrize("mu", [2.0, 0.0])
def test_ssl_alm(mu, problem):
    solver = SSLALM(mu=mu, rho=1.5, tau=0.1, eta=0.3, beta=0.5, batch_size=8)
    rng = check_random_state(3)
    theta = problem.initial_point()
    G, _ = two_sided(problem.batches.draw(0, 4, rng).evaluate(theta))
    u = np.maximum(0, -G)
    y = np.zeros(2)
    z = theta, u
    for _ in range(4):
        first = problem.batches.draw(8, 4, rng).evaluate(theta)
        second = problem.batches.draw(0, 4, rng).evaluate(theta)
        G, J = two_sided(first)
        y = y + 0.3 * (G + u)
        push = y + 1.5 * (two_sided(second)[0] + u)
        ahead = (
            theta - 0.1 * (first.grad + push @ J + mu * (theta - z[0])),
            np.maximum(0, u - 0.1 * (push + mu * (u - z[1]))),
        )
        z = z[0] + 0.5 * (theta - z[0]), z[1] + 0.5 * (u - z[1])
        theta, u = ahead
    np.testing.assert_allclose(unknowns_after(solver, problem, 4), theta, atol=1e-12)


def test_multipliers_of_ssl_alm_stay_bounded():
    y = np.array([30.0, 40.0])
    np.testing.assert_allclose(SSLALM(u_max=10.0)._clip_norm(y), [6.0, 8.0])
    np.testing.assert_array_equal(SSLALM(u_max=10.0, u_max_rule="reset")._clip_norm(y), [0.0, 0.0])
    np.testing.assert_array_equal(SSLALM(u_max=60.0, u_max_rule="reset")._clip_norm(y), y)


def test_spbm(problem):
    """arXiv:2605.18618, with two rows, averages of two epochs and the directions of Adam."""
    solver = SPBM(max_iter=3, learning_rate=0.1, gamma=0.5, kappa=0.8, mu=0.7, batch_size=32)
    rng = check_random_state(3)
    x = problem.initial_point() + 0.5
    steps = solver._steps(problem, x, check_random_state(3))
    z = x
    duals = np.full(2, 1e-4)
    widths = np.ones(2)
    mean, square = np.zeros_like(x), np.zeros_like(x)

    def slope(t):
        return np.array([1 + one if one >= -0.5 else -1 / (4 * one) for one in t])

    for k in range(5):
        batch = problem.batches.draw(32, 16, rng).evaluate(x)
        G, J = two_sided(batch)
        gradient = batch.grad + (duals * slope(G / widths)) @ J + 0.7 * (x - z)
        z = 0.5 * (z + x)
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.999 * square + 0.001 * gradient**2
        direction = mean / (1 - 0.9 ** (k + 1))
        direction /= np.sqrt(square / (1 - 0.999 ** (k + 1))) + 1e-8
        epoch = k // 2
        gamma, kappa = (1 - 1 / (epoch**0.5 + 1 / (1 - one)) for one in (0.5, 0.8))
        x = x - 0.1 * (1 - k / 6) * direction
        duals = np.clip(duals * (gamma + (1 - gamma) * slope(G / widths)), 1e-4, 100.0)
        widths = np.clip(kappa * widths + (1 - kappa) * widths / slope(G), 0.1, 1.0)
        np.testing.assert_allclose(next(steps)[0], x, atol=1e-12)
    assert (widths < 1.0).any() and (duals > 1e-4).any()


def test_the_penalty_of_spbm_is_smooth_and_rises():
    t = np.linspace(-5, 3, 801)
    value = np.where(t >= -0.5, t + t**2 / 2, -np.log(-2 * np.minimum(t, -0.5)) / 4 - 3 / 8)
    between = np.gradient(value, t)[1:-1]
    np.testing.assert_allclose(between, _penalty_slope(t)[1:-1], atol=1e-2)
    assert (_penalty_slope(t) > 0).all()


def test_switching(problem):
    solver = StochasticSwitching(
        epsilon=0.01, objective_step=0.5, constraint_step=0.1, batch_size=8
    )
    rng = check_random_state(3)
    x = problem.initial_point()
    kinds = set()
    total = 0.0
    for _ in range(12):
        G, _ = two_sided(problem.batches.draw(0, 4, rng).evaluate(x))
        kinds.add(bool(G.max() <= 0.01))
        if G.max() <= 0.01:
            step = 0.5
            slope = problem.batches.draw(8, 0, rng).evaluate(x).grad
        else:
            G, J = two_sided(problem.batches.draw(0, 4, rng).evaluate(x))
            step = 0.1
            slope = J[G.argmax()]
        total += step
        rng.uniform()  # for the iterate that may be drawn
        x = x - step * slope
    assert kinds == {True, False}
    np.testing.assert_allclose(unknowns_after(solver, problem, 12), x, atol=1e-12)


def test_switching_draws_its_answer_from_the_recorded_iterates(problem):
    settings = {"output": "drawn", "first_drawn": 2, "batch_size": 8, "objective_step": 0.3}
    every = [unknowns_after(StochasticSwitching(**settings | {"output": "best"}), problem, k + 1)
             for k in range(6)]  # fmt: skip
    answer = unknowns_after(StochasticSwitching(**settings), problem, 6)
    assert any((answer == x).all() for x in every[1:5])  # x_2, ..., x_5
    result = StochasticSwitching(**settings, max_iter=3).solve(problem, random_state=0)
    assert np.isfinite(result.x).all()


def test_plada(problem):
    solver = StochasticPLADA(alpha=2.0, beta=0.5, eta=0.2, tau=0.1, gamma0=0.3, batch_size=8)
    rng = check_random_state(3)
    x = problem.initial_point()
    rho = 1.0
    u = np.maximum(0, -two_sided(problem.batches.draw(0, 4, rng).evaluate(x))[0])
    lam = mu = np.zeros(2)
    for k in range(4):
        batch = problem.batches.draw(8, 4, rng).evaluate(x)
        x = x - 0.2 * (batch.grad + lam @ two_sided(batch)[1])
        u = np.maximum(0, u - 0.1 * lam)
        gamma = min(0.3, rho * (1000.0 / (k + 1)) / (((lam - mu) ** 2).sum() + 1))
        mu = mu + gamma * (lam - mu) / rho
        lam = mu + rho * (two_sided(problem.batches.draw(0, 4, rng).evaluate(x))[0] + u)
    np.testing.assert_allclose(unknowns_after(solver, problem, 4), x, atol=1e-12)


def test_ghost(problem):
    solver = StochasticGhost()
    rng = check_random_state(3)
    x = problem.initial_point()
    alpha = 0.05
    for _ in range(4):
        n = rng.geometric(0.4) - 1
        odd, even = (problem.batches.draw(2**n, 2**n, rng).evaluate(x) for _ in range(2))
        one = problem.batches.draw(1, 1, rng).evaluate(x)
        parts = [(batch.grad, *two_sided(batch)) for batch in (odd, even, one)]
        both = [(a + b) / 2 for a, b in zip(*parts[:2], strict=True)]
        d_odd, d_even, d_one, d_both = (ghost_direction(*part, solver) for part in [*parts, both])
        alpha = alpha * (1 - 0.05 * alpha)
        x = x + alpha * ((d_both - (d_odd + d_even) / 2) / (0.6**n * 0.4) + d_one)
    np.testing.assert_allclose(unknowns_after(solver, problem, 4), x, atol=1e-12)


def test_adam_steps_fall_to_zero_and_the_first_has_the_length_of_the_rate(problem):
    solver = AdamPrimalDual(max_iter=2, learning_rate=0.1, batch_size=8, epoch_steps=1)
    start = problem.initial_point()
    np.testing.assert_allclose(np.abs(unknowns_after(solver, problem, 1) - start), 0.1, rtol=1e-4)
    last, further = (unknowns_after(solver, problem, n) for n in (16, 20))  # 2 epochs of 8 steps
    np.testing.assert_array_equal(last, further)


def test_multipliers_of_adam_count_decisions(problem):
    """Each of the signed rows moves by what its batch counts, and the next step follows them."""
    solver = AdamPrimalDual(max_iter=9, batch_size=8, dual_step=3.0, epoch_steps=1)
    problem = problem.separate_pairs()
    rng = check_random_state(3)
    x = np.array([1.0, 0.5, -0.5, 0.2])
    adam = Adam(4)
    steps = solver._steps(problem, x, check_random_state(3))
    multipliers = np.zeros(2)
    for k in range(5):
        batch = problem.batches.draw(8, 4, rng).evaluate(x)
        in_group = np.split(np.asarray(batch.scores)[8:] > 0, 2)
        difference = in_group[0].mean() - in_group[1].mean()
        slope = batch.grad + batch.jacobian.T @ multipliers
        x = x - 2e-3 * (1 - k / (9 * 8)) * adam(slope)
        moved, used = next(steps)
        np.testing.assert_allclose(used, multipliers)
        np.testing.assert_allclose(moved, x, atol=1e-12)
        excess = np.array([difference, -difference]) - 0.02
        multipliers = np.maximum(0.0, multipliers + 3.0 / 8 * excess)
    assert multipliers.any()


def test_presets_are_the_published_settings():
    alm = SSLALM.from_paper()
    assert (alm.mu, alm.rho, alm.tau, alm.eta, alm.beta, alm.u_max) == (2, 1, 0.01, 0.05, 0.5, 10)
    assert alm.u_max_rule == "reset"
    assert SOLVERS["alm"](tau=0.5).get_params()["mu"] == 0.0
    switching = StochasticSwitching.from_paper()
    assert (switching.objective_step, switching.constraint_step) == (0.5, 0.05)
    assert isinstance(switching.epsilon, GeometricDecay)
    assert switching.output == "drawn"
    ghost = StochasticGhost.from_paper()
    assert (ghost.p0, ghost.alpha0, ghost.alpha_hat, ghost.rho) == (0.4, 0.05, 0.05, 0.8)
    assert (ghost.tau, ghost.beta, ghost.lambda_) == (1.0, 10.0, 0.5)
    plada = StochasticPLADA.from_paper()
    assert (plada.eta, plada.tau, plada.alpha, plada.beta) == (0.1, 0.01, 10.0, 0.5)
    sizes = [one.batch_size for one in (SGD.from_paper(), alm, switching)]
    assert sizes == [8, 8, 8] and StochasticIDCA.from_paper().batch_size == 64


def test_multiplier_model(problem):
    """The first steps of Adam are signs, for the unknowns and for the network."""
    solver = MultiplierModel(learning_rate=0.1, multiplier_rate=0.01, batch_size=8)
    rng = check_random_state(3)
    x = problem.initial_point()
    network = MLPModel(np.eye(2), (64, 64, 64))
    phi = network.initial(rng)
    outputs = network.evaluate(phi).scores - 3.0
    multipliers = np.log1p(np.exp(outputs)) / 2
    batch = problem.batches.draw(8, 4, rng).evaluate(x)
    G, J = two_sided(batch)
    steps = solver._steps(problem, x, check_random_state(3))
    moved, multiplier_estimate = next(steps)
    np.testing.assert_allclose(multiplier_estimate, [multipliers[0] - multipliers[1]])
    slope = batch.grad + multipliers @ J
    np.testing.assert_allclose(moved, x - 0.1 * slope / (np.abs(slope) + 1e-8))
    rise = network.evaluate(phi).pull_back(G / (1.0 + np.exp(-outputs)) / 2)
    raised = network.evaluate(phi + 0.01 * rise / (np.abs(rise) + 1e-8)).scores - 3.0
    raised = np.log1p(np.exp(raised)) / 2
    np.testing.assert_allclose(next(steps)[1], [raised[0] - raised[1]])


def test_rows_with_equal_descriptions_have_equal_multipliers(problems):
    problem = problems.fair(n_groups=3)
    described = MultiplierModel(descriptions=np.ones((3, 1)), batch_size=8)
    steps = described._steps(problem, problem.initial_point(), check_random_state(0))
    for _ in range(5):
        multipliers = next(steps)[1]
    np.testing.assert_allclose(multipliers, multipliers[0])
    with pytest.raises(ValueError, match="one row for each of the 3 rows"):
        MultiplierModel(descriptions=np.ones((2, 1))).solve(problem)
