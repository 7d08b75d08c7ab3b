"""Rows that bend with their unknowns: SQP, and the difference-of-convex algorithm."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from skfair.constraints import ConstraintSystem, DemographicParity, PartialStatisticalParity
from skfair.constraints.partial._convex import MeanSigmoid
from skfair.groups import Samples, check_groups
from skfair.losses import LogisticLoss
from skfair.models import LinearModel
from skfair.problems import ConstrainedProblem
from skfair.solvers import IDCA, SQP, SwitchingSubgradient
from skfair.surrogates import Sigmoid


def people(n_samples=400, seed=0):
    rng = np.random.default_rng(seed)
    groups = np.arange(n_samples) % 2
    X = rng.normal(size=(n_samples, 3))
    X[:, 0] += 1.5 * groups
    y = np.where(X.sum(axis=1) + rng.logistic(size=n_samples) > 0.75, 1.0, -1.0)
    return X, Samples(y, check_groups(groups, n_samples), np.ones(n_samples))


def problem(tolerance=0.05, width=2.0, **changes):
    """Partial statistical parity on a small sample, and where its plain fit ends."""
    X, who = people()
    model = LinearModel.from_features(X, who.weights)
    plain = ConstrainedProblem(
        model, LogisticLoss(), who.target, who.weights, 1e-3, ConstraintSystem(())
    )
    start = SQP(tol=1e-10).solve(plain).x
    parity = PartialStatisticalParity((0.1, 0.6), n_percentiles=4, width=width)
    rows = parity.bind(who, None, None, tolerance).rows
    constrained = replace(plain, constraint=replace(rows, **{"rounding": 0.1} | changes))
    return constrained, constrained.initial_point(start)


def equal_scores(task):
    """Everybody's score is 0, which is fair with thresholds at percentiles of the ramp."""
    x = np.zeros(task.n_unknowns)
    percentiles = (np.linspace(0.1, 0.6, 4) + task.constraint.upper[:4]) / 2
    x[task.n_parameters :] = task.constraint.width * (0.5 - percentiles)
    return x


def test_a_cold_start_is_feasible_wherever_the_problem_says():
    task, start = problem()
    np.testing.assert_allclose(task.initial_point(), equal_scores(task))
    seen = []
    IDCA(max_iter=2, cold_start=True).solve(task, start, callback=seen.append)
    assert seen[0].evaluation.violation <= 1e-12
    assert seen[0].evaluation.fun == pytest.approx(np.log(2.0))
    assert max(step.evaluation.violation for step in seen) <= 1e-4


def test_the_answer_is_certified_and_local_search_finds_no_better():
    task, start = problem()
    found = SQP(tol=1e-8).solve(task, start)
    assert found.status == "optimal"
    assert found.violation <= 1e-8
    rows = [
        {"type": "ineq", "fun": lambda x: task.evaluate(x).values - task.lower},
        {"type": "ineq", "fun": lambda x: task.upper - task.evaluate(x).values},
    ]
    peer = minimize(
        lambda x: task.evaluate(x).fun,
        found.x,
        jac=lambda x: task.evaluate(x).grad,
        constraints=rows,
        method="SLSQP",
        options={"ftol": 1e-12},
    )
    assert found.fun == pytest.approx(peer.fun, abs=1e-7)


def convexified(task, x, rounding):
    evaluation = task.evaluate(x)
    rounded = replace(task.constraint, rounding=rounding)
    return replace(task, constraint=rounded.majorant(evaluation.scores, evaluation.aux))


def test_the_hessian_is_that_of_the_lagrangian_with_corners_twice_as_long():
    task, start = problem()
    convex, longer = (convexified(task, start, rounding) for rounding in (0.5, 1.0))
    multipliers = np.where(np.isfinite(convex.upper), 0.3, -0.2)
    hessian, step = convex.evaluate(start).hessian(multipliers), 1e-6
    for k in range(len(start)):
        bump = step * (np.arange(len(start)) == k)
        above = longer.evaluate(start + bump).lagrangian_gradient(multipliers)
        below = longer.evaluate(start - bump).lagrangian_gradient(multipliers)
        np.testing.assert_allclose(hessian[:, k], (above - below) / (2 * step), atol=1e-6)


def test_without_rows_it_is_newtons_method():
    X, who = people()
    model = LinearModel.from_features(X, who.weights)
    plain = ConstrainedProblem(
        model, LogisticLoss(), who.target, who.weights, 1e-3, ConstraintSystem(())
    )
    found = SQP(tol=1e-10).solve(plain)
    assert found.status == "optimal"
    assert found.n_iter <= 8


def test_contradictory_rows_end_infeasible():
    task, start = problem()
    bound = task.constraint
    impossible = replace(bound, lower=bound.upper + 0.2, upper=bound.upper + 0.2)
    found = SQP(max_iter=50).solve(replace(task, constraint=impossible), start)
    assert found.status in ("infeasible", "optimal")
    assert (found.status == "infeasible") == (found.violation > 1e-4)


@pytest.mark.slow
def test_idca_ends_where_sqp_does():
    task, start = problem(rounding=0.3)
    reference = SQP(tol=1e-5).solve(task, start)
    found = IDCA(max_iter=60, tol=1e-3).solve(task, start)
    assert found.status == "optimal"
    assert found.fun == pytest.approx(reference.fun, abs=1e-3)


def test_idca_keeps_feasible_iterates_feasible_and_lowers_the_objective():
    task, start = problem()
    feasible = equal_scores(task)
    seen = []
    IDCA(max_iter=4, tol=1e-6).solve(task, feasible, callback=seen.append)
    assert max(p.evaluation.violation for p in seen) <= 1e-5
    objectives = [p.evaluation.fun for p in seen]
    assert (np.diff(objectives) <= 1e-6).all()
    oracles = [p.details["n_oracle"] for p in seen]
    assert oracles[0] == 0
    assert (np.diff(oracles) > 0).all()


@pytest.mark.slow
def test_idca_with_the_papers_settings_is_nearly_feasible():
    task, start = problem(rounding=0.0)
    paper = IDCA.from_paper(epsilon=5e-3, inner_iter=150, max_iter=15)
    assert isinstance(paper.inner, SwitchingSubgradient)
    assert paper.inner.max_iter == 150
    found = paper.solve(task, start)  # wherever it is told to start
    assert found.violation <= 5e-3
    assert found.fun < np.log(2.0) - 0.05  # the loss of equal scores


def test_a_sigmoid_is_a_difference_of_convex_functions_too():
    task, start = problem(rounding=1.0, convex_means=MeanSigmoid)
    direct, found = SQP(tol=1e-6).solve(task, start), IDCA(tol=1e-4).solve(task, start)
    assert direct.status == "optimal"
    assert found.violation <= 1e-4
    assert found.fun == pytest.approx(direct.fun, abs=1e-4)
    assert direct.fun > problem()[0].evaluate(start).fun + 1e-3  # the rows bind


def test_idca_refuses_rows_without_a_convex_majorant():
    X, who = people()
    bound = DemographicParity().bind(who, Sigmoid(), LogisticLoss(), 0.05)
    model = LinearModel.from_features(X, who.weights)
    task = ConstrainedProblem(model, LogisticLoss(), who.target, who.weights, 1e-3, bound)
    with pytest.raises(ValueError, match="difference of convex functions"):
        IDCA().solve(task)
