"""The proximal step against scipy's SLSQP on the epigraph, where breakpoints are smooth rows."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from skfair._bound.bound import ConstraintSystem
from skfair.constraints import DemographicParity, EqualizedOdds, LossParity
from skfair.solvers.literature._proximal import _piece_coefficients, proximal_step

SPECS = {
    "two groups": (DemographicParity(), 2),
    "three groups": (DemographicParity(), 3),
    "two blocks": (EqualizedOdds(), 2),
    "sum of two blocks": (EqualizedOdds(aggregate="sum"), 2),
    "mean excess": (LossParity(reference="above_overall", aggregate="mean"), 4),
    "largest excess": (LossParity(reference="above_overall"), 3),
}


def epigraph(problem, start, multiplier, eta):
    """Minimise the proximal function over x and the gap t, of which each piece is a smooth row."""
    bound, model = problem.constraint, problem.model
    forms = bound.gap.linear_forms(bound.sums.events.n_events)
    size = len(start.x)

    def rows(z):
        return z[size] - forms @ bound.sums.smooth_means(model.evaluate(z[:size]).scores)

    def value(z):
        away = z[:size] - start.x
        return start.grad @ z[:size] + multiplier * z[size] + away @ away / (2 * eta)

    first = np.append(start.x, start.values[0])
    constraints = ({"type": "ineq", "fun": rows}, {"type": "ineq", "fun": lambda z: z[size:]})
    options = {"maxiter": 500, "ftol": 1e-14}
    result = minimize(value, first, method="SLSQP", constraints=constraints, options=options)
    return result.x[:size], result.fun


@pytest.mark.parametrize("spec, n_groups", SPECS.values(), ids=SPECS)
@pytest.mark.parametrize("multiplier", [0.05, 2.0])
def test_the_step_is_that_of_a_generic_solver(problems, spec, n_groups, multiplier):
    problem = problems.fair(spec, n_groups, 0.01).join_rows()
    eta = 0.3
    x = np.random.default_rng(3).normal(size=problem.n_parameters)
    start = problem.evaluate(x)
    there = proximal_step(start, np.array([multiplier]), eta)
    expected, least = epigraph(problem, start, multiplier, eta)
    away = there.x - x
    value = start.grad @ there.x + multiplier * there.values[0] + away @ away / (2 * eta)
    assert value <= least + 1e-7
    np.testing.assert_allclose(there.x, expected, atol=1e-3)
    assert np.linalg.norm(away) > 0.01


def joint(problems):
    """Two kinked rows and a linear one on the same data."""
    specs = DemographicParity(), LossParity(reference="above_overall"), DemographicParity()
    bounds = [problems.fair(spec, 3, 0.01).constraint for spec in specs]
    constraint = ConstraintSystem((*(replace(one, one_row=True) for one in bounds[:2]), bounds[2]))
    return replace(problems.fair(None, 3, 0.01), constraint=constraint)


def test_rows_of_several_constraints_at_a_shift_of_their_means(problems):
    problem = joint(problems)
    at = problem.evaluate(problem.initial_point(np.array([0.1, 0.4, 0.2, -0.1])))
    parity, loss, linear = problem.constraint
    shift = np.random.default_rng(1).normal(size=at.means_jacobian.shape[0])
    n, m = parity.sums.events.n_events, loss.sums.events.n_events
    values, combine = at.rows.rows_at_shift(shift)
    assert values[0] == pytest.approx(np.ptp(parity.sums.smooth_means(at.scores) + shift[:n]))
    assert values[1] == pytest.approx(
        max(0.0, loss.gap(loss.sums.smooth_means(at.scores) + shift[n : n + m]))
    )
    np.testing.assert_allclose(values[2:], at.values[2:] + combine[2:] @ shift)
    unmoved, jacobian = at.rows.rows_at_shift(np.zeros_like(shift))
    np.testing.assert_allclose(unmoved, at.values)
    np.testing.assert_allclose(jacobian @ at.means_jacobian, at.jacobian[:, : problem.n_parameters])


def test_the_step_for_two_kinked_rows_is_that_of_a_generic_solver(problems):
    bounds = [
        problems.fair(spec, 3, 0.01).constraint
        for spec in (DemographicParity(), LossParity(reference="above_overall"))
    ]
    problem = replace(problems.fair(None, 3, 0.01), constraint=ConstraintSystem(tuple(bounds)))
    problem = problem.join_rows()
    multipliers = np.array([1.5, 0.4])
    eta = 0.3
    start = problem.evaluate(np.array([0.1, 0.4, 0.2, -0.1]))

    def value(z):
        away = z[:4] - start.x
        return start.grad @ z[:4] + multipliers @ z[4:] + away @ away / (2 * eta)

    def rows(z):
        scores = problem.model.evaluate(z[:4]).scores
        return np.concatenate(
            [
                gap - one.gap.linear_forms(one.sums.events.n_events) @ one.sums.smooth_means(scores)
                for gap, one in zip(z[4:], bounds, strict=True)
            ]
        )

    constraints = ({"type": "ineq", "fun": rows}, {"type": "ineq", "fun": lambda z: z[4:]})
    first = np.append(start.x, start.values)
    options = {"maxiter": 500, "ftol": 1e-14}
    expected = minimize(value, first, method="SLSQP", constraints=constraints, options=options)
    there = proximal_step(start, multipliers, eta)
    assert value(np.append(there.x, there.values)) <= expected.fun + 1e-7
    np.testing.assert_allclose(there.x, expected.x[:4], atol=1e-3)


def test_a_large_multiplier_ends_at_the_breakpoint(problems):
    problem = problems.fair().join_rows()
    start = problem.evaluate(np.array([0.1, 0.4, 0.2, -0.1]))
    there = proximal_step(start, np.array([20.0]), 0.3)
    assert start.values[0] > 0.02
    assert there.values[0] == pytest.approx(0, abs=1e-6)


def test_a_negative_multiplier_is_stationary(problems):
    problem = problems.fair().join_rows()
    eta = 0.3
    start = problem.evaluate(np.array([0.1, 0.4, 0.2, -0.1]))
    multipliers = np.array([-0.7])
    there = proximal_step(start, multipliers, eta)
    slope = start.grad + there.pull_back(multipliers) + (there.x - start.x) / eta
    np.testing.assert_allclose(slope, 0, atol=1e-4)
    assert there.values[0] > start.values[0]


def test_shares_of_pieces():
    """Two pieces: the larger one alone, or where both are equal; three: one is not needed."""
    gram = np.array([[1.0, -1.0], [-1.0, 1.0]])
    for start in ([1.0, 0.0], [0.0, 1.0]):
        assert _piece_coefficients(np.array([5.0, 0.0]), gram, start).tolist() == [1, 0]
        np.testing.assert_allclose(
            _piece_coefficients(np.array([1.0, 0.0]), gram, start), [0.75, 0.25]
        )
    wide = np.diag([1.0, 1.0, 4.0])
    linear = np.array([1.0, 0.5, -1.0])
    for start in np.eye(3):
        np.testing.assert_allclose(
            _piece_coefficients(linear, wide, start), [0.75, 0.25, 0], atol=1e-9
        )
