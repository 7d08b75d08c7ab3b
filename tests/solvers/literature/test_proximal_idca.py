"""Curved rows with unknowns: SQP, and the difference-of-convex algorithm."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from skfair._bound.bound import ConstraintSystem
from skfair._bound.convex import MeanSigmoid
from skfair._groups import check_groups
from skfair._problems.linear import LinearModel
from skfair._problems.problem import ConstrainedProblem
from skfair.constraints import DemographicParity, PartialStatisticalParity
from skfair.groups import Samples
from skfair.losses import LogisticLoss
from skfair.solvers import IDCA, SQP, SwitchingSubgradient
from skfair.surrogates import Sigmoid


def draw_samples(n_samples=400, seed=0):
    rng = np.random.default_rng(seed)
    groups = np.arange(n_samples) % 2
    X = rng.normal(size=(n_samples, 3))
    X[:, 0] += 1.5 * groups
    y = np.where(X.sum(axis=1) + rng.logistic(size=n_samples) > 0.75, 1.0, -1.0)
    return X, Samples(y, check_groups(groups, n_samples), np.ones(n_samples))


def round_corners(rows, rounding):
    """The rows with corners of this share of the width."""
    means = type("Rounded", (rows.convex_means,), {"rounding": rounding})
    return replace(rows, convex_means=means)


def problem(tolerance=0.05, width=2.0, rounding=0.1, **changes):
    """Partial statistical parity on a small sample, and where its plain fit ends."""
    X, samples = draw_samples()
    model = LinearModel.from_features(X, samples.weights)
    plain = ConstrainedProblem(
        model, LogisticLoss(), samples.target, samples.weights, 1e-3, ConstraintSystem(())
    )
    start = SQP(tol=1e-10).solve(plain).x
    parity = PartialStatisticalParity((0.1, 0.6), n_percentiles=4, width=width)
    rows = parity.bind(samples, None, None, tolerance).rows
    constrained = replace(plain, constraint=round_corners(replace(rows, **changes), rounding))
    return constrained, constrained.initial_point(start)


def equal_scores(task):
    """All scores are 0, which is fair with thresholds at percentiles of the ramp."""
    x = np.zeros(task.n_unknowns)
    percentiles = (np.linspace(0.1, 0.6, 4) + task.constraint.upper[:4]) / 2
    x[task.n_parameters :] = task.constraint.width * (0.5 - percentiles)
    return x


def test_a_cold_start_is_feasible_for_every_problem():
    task, start = problem()
    np.testing.assert_allclose(task.initial_point(), equal_scores(task))
    steps = []
    IDCA(max_iter=2, warm_start=False).solve(task, start, callback=steps.append)
    assert steps[0].evaluation.violation <= 1e-12
    assert steps[0].evaluation.fun == pytest.approx(np.log(2.0))
    assert max(step.evaluation.violation for step in steps) <= 1e-4


def test_the_answer_is_certified_and_local_search_finds_no_better():
    task, start = problem()
    result = SQP(tol=1e-8).solve(task, start)
    assert result.status == "optimal"
    assert result.violation <= 1e-8
    rows = [
        {"type": "ineq", "fun": lambda x: task.evaluate(x).values - task.lower},
        {"type": "ineq", "fun": lambda x: task.upper - task.evaluate(x).values},
    ]
    peer = minimize(
        lambda x: task.evaluate(x).fun,
        result.x,
        jac=lambda x: task.evaluate(x).grad,
        constraints=rows,
        method="SLSQP",
        options={"ftol": 1e-12},
    )
    assert result.fun == pytest.approx(peer.fun, abs=1e-7)


def convexify(task, x, rounding):
    evaluation = task.evaluate(x)
    rounded = round_corners(task.constraint, rounding)
    return replace(task, constraint=rounded.majorant(evaluation.scores, evaluation.aux))


def test_the_hessian_is_that_of_the_lagrangian_with_corners_twice_as_long():
    task, start = problem()
    convex, longer = (convexify(task, start, rounding) for rounding in (0.5, 1.0))
    multipliers = np.where(np.isfinite(convex.upper), 0.3, -0.2)
    hessian = convex.evaluate(start).hessian(multipliers)
    step = 1e-6
    for k in range(len(start)):
        bump = step * (np.arange(len(start)) == k)
        above = longer.evaluate(start + bump).lagrangian_gradient(multipliers)
        below = longer.evaluate(start - bump).lagrangian_gradient(multipliers)
        np.testing.assert_allclose(hessian[:, k], (above - below) / (2 * step), atol=1e-6)


def test_without_rows_it_is_newtons_method():
    X, samples = draw_samples()
    model = LinearModel.from_features(X, samples.weights)
    plain = ConstrainedProblem(
        model, LogisticLoss(), samples.target, samples.weights, 1e-3, ConstraintSystem(())
    )
    result = SQP(tol=1e-10).solve(plain)
    assert result.status == "optimal"
    assert result.n_iter <= 8


def test_contradictory_rows_end_infeasible():
    task, start = problem()
    bound = task.constraint
    impossible = replace(bound, lower=bound.upper + 0.2, upper=bound.upper + 0.2)
    result = SQP(max_iter=50).solve(replace(task, constraint=impossible), start)
    assert result.status in ("infeasible", "optimal")
    assert (result.status == "infeasible") == (result.violation > 1e-4)


@pytest.mark.slow
def test_idca_ends_where_sqp_does():
    task, start = problem(rounding=0.3)
    reference = SQP(tol=1e-5).solve(task, start)
    result = IDCA(max_iter=60, tol=1e-3).solve(task, start)
    assert result.status == "optimal"
    assert result.fun == pytest.approx(reference.fun, abs=1e-3)


def test_idca_keeps_feasible_iterates_feasible_and_lowers_the_objective():
    task, start = problem()
    feasible = equal_scores(task)
    steps = []
    IDCA(max_iter=4, tol=1e-6).solve(task, feasible, callback=steps.append)
    assert max(p.evaluation.violation for p in steps) <= 1e-5
    objectives = [p.evaluation.fun for p in steps]
    assert (np.diff(objectives) <= 1e-6).all()
    oracles = [p.details["n_oracle"] for p in steps]
    assert oracles[0] == 0
    assert (np.diff(oracles) > 0).all()


@pytest.mark.slow
def test_idca_with_the_settings_of_the_paper_is_nearly_feasible():
    task, start = problem(rounding=0.0)
    paper = IDCA.from_paper(epsilon=5e-3, inner_iter=150, max_iter=15)
    assert isinstance(paper.solver, SwitchingSubgradient)
    assert paper.solver.max_iter == 150
    result = paper.solve(task, start)  # for any start
    assert result.violation <= 5e-3
    assert result.fun < np.log(2.0) - 0.05  # the loss of equal scores


def test_a_sigmoid_is_a_difference_of_convex_functions_too():
    task, start = problem(rounding=1.0, convex_means=MeanSigmoid)
    by_sqp = SQP(tol=1e-6).solve(task, start)
    result = IDCA(tol=1e-4).solve(task, start)
    assert by_sqp.status == "optimal"
    assert result.violation <= 1e-4
    assert result.fun == pytest.approx(by_sqp.fun, abs=1e-4)
    assert by_sqp.fun > problem()[0].evaluate(start).fun + 1e-3  # the rows bind


def test_idca_refuses_rows_without_a_convex_majorant():
    X, samples = draw_samples()
    bound = DemographicParity().bind(samples, Sigmoid(), LogisticLoss(), 0.05)
    model = LinearModel.from_features(X, samples.weights)
    task = ConstrainedProblem(model, LogisticLoss(), samples.target, samples.weights, 1e-3, bound)
    with pytest.raises(ValueError, match="difference of convex functions"):
        IDCA().solve(task)
