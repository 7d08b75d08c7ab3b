import warnings

import numpy as np
import pytest

from skfair._bound.bound import ConstraintSystem
from skfair._problems.linear import LinearModel
from skfair._problems.problem import ConstrainedProblem
from skfair.constraints import DemographicParity, EqualizedOdds, PartialStatisticalParity
from skfair.solvers import SOLVERS, SQP


@pytest.mark.parametrize("spec", [DemographicParity(), EqualizedOdds()])
def test_it_converges_like_newton(spec, problems):
    """Residuals square once they are small."""
    steps = []
    result = SQP(tol=1e-10).solve(problems.fair(spec), callback=steps.append)
    assert result.status == "optimal"
    assert result.n_iter <= 8
    residuals = [max(p.residual, p.evaluation.violation) for p in steps]
    assert residuals[-1] <= 50 * residuals[-2] ** 2 or residuals[-1] < 1e-9


def test_one_step_solves_a_quadratic_program(problems):
    known = problems.quadratic()
    result = SQP(tol=1e-9).solve(known.problem)
    assert result.n_iter <= 2  # the second serves the floor under the Hessian
    np.testing.assert_allclose(result.x, known.x, atol=1e-8)
    np.testing.assert_allclose(result.multipliers, known.multipliers, atol=1e-8)


def test_more_rows_than_parameters(problems):
    """Rows are then not reduced to their own directions."""
    known = problems.quadratic().problem
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(12, 60)) / np.sqrt(60)
    linear = problems.linear_rows(rows, np.full(12, -0.2), np.full(12, 0.2))
    problem = type(known)(known.model, known.loss, known.target, known.weights, 0.1, linear)
    result = SQP().solve(problem)
    reference = problems.slsqp(problem)
    assert result.status == "optimal"
    assert result.fun == pytest.approx(reference.fun, abs=1e-7)
    np.testing.assert_allclose(result.x, reference.x, atol=1e-5)


def test_multipliers_above_the_first_penalty_raise_it(problems):
    """A row scaled by 1/1000 has a multiplier of some hundreds."""
    known, x, multipliers = problems.quadratic()
    rows = known.constraint
    tiny = problems.linear_rows(rows.rows / 1000, rows.lower / 1000, rows.upper / 1000)
    problem = type(known)(known.model, known.loss, known.target, known.weights, 0.1, tiny)
    result = SQP(tol=1e-8).solve(problem)
    np.testing.assert_allclose(result.x, x, atol=1e-4)
    np.testing.assert_allclose(result.multipliers, 1000 * multipliers, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("shift", [-50.0, 50.0])
def test_a_threshold_beyond_all_scores_is_placed_again(problems, shift):
    """All shares above it are 1, or 0: no derivative leads back to where its rows can be kept."""
    parity = PartialStatisticalParity((0.1, 0.6), n_percentiles=4)
    problem = problems.fair(parity, n_groups=3, tolerance=0.1)
    expected = SQP().solve(problem)
    x = problem.initial_point()
    x[-1] += shift
    stuck = problem.evaluate(x)
    assert not stuck.jacobian[:, -1].any() and stuck.violation > 0.05
    result = SQP().solve(problem, x)
    assert result.status == expected.status == "optimal"
    assert result.fun == pytest.approx(expected.fun, abs=1e-7)
    # Thresholds of rows that are not active may differ.
    p = problem.n_parameters
    np.testing.assert_allclose(result.x[:p], expected.x[:p], atol=1e-4)


def test_it_agrees_with_sqp_on_many_parameters(problems):
    wide = problems.wide(d=300)
    exact = SQP().solve(wide)
    by_lbfgs = SOLVERS["sqp-lbfgs"]().solve(wide)
    assert by_lbfgs.status == "optimal", by_lbfgs.message
    assert by_lbfgs.fun == pytest.approx(exact.fun, abs=1e-6)
    np.testing.assert_allclose(by_lbfgs.multipliers, exact.multipliers, atol=1e-4)


def test_a_short_memory_still_arrives(problems):
    problem = problems.fair()
    assert SQP(max_iter=2000, hessian="lbfgs", memory=1).solve(problem).status == "optimal"


def test_a_step_whose_merit_overflows_is_shortened_without_a_warning():
    """Newton's step of this loss is as long as the cube of its argument."""

    def loss(scores, target):
        root = np.sqrt(1.0 + (scores - target) ** 2)
        return root, (scores - target) / root, root**-3

    X = np.array([[1.0], [-1.0], [2.0]])
    target = np.array([1.0, -1.0, 1.0])
    model = LinearModel.from_features(X, np.ones(3), False)
    none = ConstraintSystem(())
    problem = ConstrainedProblem(model, loss, target, np.ones(3), 1e-300, none)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        result = SQP(max_iter=5).solve(problem, np.array([1e80]))
    assert np.isfinite(result.fun)
    assert result.fun <= problem.evaluate(np.array([1e80])).fun
