"""What every solver of the registry must do."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from skfair.constraints import DemographicParity, EqualizedOdds, EqualOpportunity
from skfair.solvers import SOLVERS
from skfair.solvers._solver import Iterate, kkt_residual

SUBGRADIENT = ["ipp-ssg", "switching-subgradient"]
PRIMAL_DUAL = ["gda", "ipp-conex", "plada", "proxy-lagrangian"]
SMOOTH = [name for name in SOLVERS if name not in [*SUBGRADIENT, "proxy-lagrangian"]]

TOL = dict.fromkeys(SOLVERS, 1e-7)
TOL |= dict.fromkeys(PRIMAL_DUAL, 1e-4) | dict.fromkeys(SUBGRADIENT, 1e-3)
"""What may be asked of solvers that know curvature, that know gradients, and of the others."""


def make(name, **changes):
    return SOLVERS[name](tol=TOL[name]).set_params(**changes)


@pytest.mark.parametrize("name", SOLVERS)
def test_a_quadratic_with_linear_rows_is_solved(name, problems):
    problem, x, multipliers = problems.quadratic()
    result = make(name, max_iter=2000).solve(problem, random_state=0)
    assert result.violation <= TOL[name]
    # Where two rows press, subgradient steps circle around the answer: near, but no certificate.
    assert result.status == ("max_iter" if name in SUBGRADIENT else "optimal"), result.message
    np.testing.assert_allclose(result.x, x, atol=10 * TOL[name])
    np.testing.assert_allclose(result.multipliers, multipliers, atol=10 * TOL[name])
    assert result.fun == problem.evaluate(result.x).fun


SPECS = {
    "parity of 2": (DemographicParity(), 2),
    "parity of 3": (DemographicParity(), 3),
    "opportunity of 3": (EqualOpportunity(), 3),
    "odds of 2": (EqualizedOdds(), 2),
}


@pytest.mark.parametrize("case", SPECS)
@pytest.mark.parametrize("name", SMOOTH)
def test_smooth_solvers_agree_with_slsqp(name, case, problems):
    spec, n_groups = SPECS[case]
    problem = problems.fair(spec, n_groups)
    result, reference = make(name).solve(problem), problems.slsqp(problem)
    assert result.status == "optimal", result.message
    assert result.violation <= TOL[name]
    assert result.fun == pytest.approx(reference.fun, abs=10 * TOL[name])
    exact = SOLVERS["sqp"]().solve(problem)
    assert exact.fun == pytest.approx(reference.fun, abs=1e-6)
    np.testing.assert_allclose(
        result.multipliers, exact.multipliers, rtol=0.01, atol=100 * TOL[name]
    )


@pytest.mark.parametrize("case", SPECS)
@pytest.mark.parametrize("name", SUBGRADIENT)
def test_subgradient_solvers_come_near_on_one_kinked_row(name, case, problems):
    spec, n_groups = SPECS[case]
    exact = SOLVERS["sqp"]().solve(problems.fair(spec, n_groups))
    problem = problems.fair(clone(spec).set_params(form="single"), n_groups)
    result = make(name, max_iter=2000).solve(problem)
    assert result.violation <= TOL[name]
    # A row may be broken up to tol, which is worth its multiplier.
    worth = 2 * TOL[name] * np.abs(exact.multipliers).sum()
    assert exact.fun - worth <= result.fun <= exact.fun + 5e-3


@pytest.mark.parametrize("name", SOLVERS)
def test_without_rows_it_is_logistic_regression(name, problems):
    problem = problems.fair(n_groups=1, alpha=0.1)
    assert len(problem.lower) == 0
    result = make(name).solve(problem)
    assert result.status == "optimal", result.message
    assert len(result.multipliers) == 0
    X, n = problem.model.X, len(problem.target)
    plain = LogisticRegression(C=1 / (0.1 * n), tol=1e-10, max_iter=1000).fit(X, problem.target)
    coef, intercept = problem.model.coefficients(result.x)
    np.testing.assert_allclose(coef, plain.coef_[0], atol=20 * TOL[name])
    np.testing.assert_allclose(intercept, plain.intercept_[0], atol=20 * TOL[name])


@pytest.mark.parametrize("name", SOLVERS)
def test_same_seed_same_result(name, problems):
    problem, solver = problems.fair(), make(name, max_iter=50)
    first, second = (solver.solve(problem, random_state=7) for _ in range(2))
    np.testing.assert_array_equal(first.x, second.x)
    np.testing.assert_array_equal(first.multipliers, second.multipliers)


@pytest.mark.parametrize("name", SOLVERS)
def test_a_callback_sees_progress_and_stops(name, problems):
    seen = []

    def stop_at_two(progress):
        seen.append(progress)
        return progress.n_iter == 2

    problem = problems.fair()
    result = make(name).solve(problem, callback=stop_at_two)
    assert [progress.n_iter for progress in seen] == [0, 1, 2]
    assert result.n_iter == 2
    assert seen[0].multipliers.shape == problem.lower.shape
    assert seen[0].residual == kkt_residual(Iterate(seen[0].evaluation, seen[0].multipliers))


@pytest.mark.parametrize("name", SOLVERS)
def test_one_iteration_is_not_called_optimal(name, problems):
    problem = problems.fair()
    result = make(name, max_iter=1).solve(problem)
    assert result.n_iter == 1
    assert result.residual > TOL[name]
    assert result.status == ("max_iter" if result.violation <= TOL[name] else "infeasible")


@pytest.mark.parametrize("name", SOLVERS)
def test_contradictory_rows_are_called_infeasible(name, problems):
    known, _, _ = problems.quadratic()
    row = known.constraint.rows[:1]
    rows = problems.linear_rows(
        np.vstack((row, row)), np.array([0.1, -np.inf]), np.array([np.inf, -0.1])
    )
    problem = type(known)(known.model, known.loss, known.target, known.weights, known.alpha, rows)
    result = make(name, max_iter=30).solve(problem)
    assert result.status == "infeasible"
    assert result.violation >= 0.1 - 1e-9  # half of the distance between the bounds
    assert np.isfinite(result.x).all()


@pytest.mark.parametrize("name", [*SMOOTH, *SUBGRADIENT])  # the proxy's is about the decisions
def test_the_certificate_can_be_recomputed(name, problems):
    problem = problems.fair(DemographicParity(), n_groups=3)
    result = make(name, max_iter=300).solve(problem)
    x, multipliers, step = result.x, result.multipliers, 1e-6

    def lagrangian(x):
        evaluation = problem.evaluate(x)
        return evaluation.fun + multipliers @ evaluation.values

    slope = [
        (lagrangian(x + step * e) - lagrangian(x - step * e)) / (2 * step) for e in np.eye(len(x))
    ]
    values = problem.evaluate(x).values
    room = np.where(multipliers > 0, problem.upper - values, values - problem.lower)
    products = np.abs(multipliers) * np.maximum(0.0, room)
    residual = max(np.abs(slope).max(), products.max())
    assert result.residual == pytest.approx(residual, abs=1e-8)
    violation = max((values - problem.upper).max(), (problem.lower - values).max(), 0.0)
    assert result.violation == violation


@pytest.mark.parametrize("name", SOLVERS)
def test_a_scaled_copy_of_the_features_changes_nothing(name, problems):
    """Parameters are standardised, so units of columns do not matter."""
    problem = problems.fair(alpha=0.0)
    X = problem.model.X * np.array([1e-4, 1.0, 1e4])
    scaled = type(problem)(
        type(problem.model).standardized(X, problem.weights),
        problem.loss, problem.target, problem.weights, 0.0, problem.constraint,
    )  # fmt: skip
    first, second = (make(name, max_iter=20).solve(p) for p in (problem, scaled))
    np.testing.assert_allclose(first.x, second.x, atol=1e-7)


@pytest.mark.parametrize("name", SOLVERS)
def test_a_parameter_out_of_range_is_named(name, problems):
    with pytest.raises(ValueError, match="'max_iter' parameter"):
        make(name, max_iter=0).solve(problems.fair())
