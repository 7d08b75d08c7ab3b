"""Scores of samples by the model fitted without them, against fits that leave each one out."""

from dataclasses import replace

import numpy as np
import pytest

from skfair._bound.bound import ConstraintSystem
from skfair._fitting.fitter import Fitter, search_lines
from skfair._fitting.leave_one_out import (
    LeaveOneOut,
    _active_rows,
    _combine_without_aux,
    _estimate_multipliers,
    _inverse_root,
    can_leave_one_out,
)
from skfair._groups import check_groups
from skfair._problems.linear import LinearModel
from skfair._problems.problem import ConstrainedProblem
from skfair.classification import ConstrainedERMClassifier
from skfair.constraints import (
    DemographicParity,
    EqualizedOdds,
    EqualOpportunity,
    ErrorRateParity,
    LossParity,
)
from skfair.groups import Samples
from skfair.losses import LogisticLoss
from skfair.solvers import SQP
from skfair.surrogates import Sigmoid


def draw(n_samples, n_columns, seed=0):
    """Features, labels 1 and -1 that are noisier in the first of two groups, and groups."""
    rng = np.random.default_rng(seed)
    groups = np.arange(n_samples) % 2
    X = rng.normal(size=(n_samples, n_columns))
    scores = X[:, 0] + np.where(groups, 0.2, 1.0) * rng.logistic(size=n_samples)
    return X, np.where(scores > 0, 1.0, -1.0), groups


def make_fitter(X, target, groups, *constraints, tolerance=0.05):
    weights = np.ones(len(target))
    samples = Samples(target, check_groups(groups, len(target)), weights, X)
    bound = [one.bind(samples, Sigmoid(), LogisticLoss(), tolerance) for one in constraints]
    model = LinearModel.from_features(X, weights, True)
    system = ConstraintSystem(tuple(bound))
    problem = ConstrainedProblem(model, LogisticLoss(), target, weights, 1e-3, system)
    return Fitter(problem, model.initial(), SQP(tol=1e-10))


def fit_without(fitter, start, left_out):
    """Scores of samples by the fit to all others."""
    others = np.setdiff1d(np.arange(len(fitter.problem.target)), left_out)
    fold = replace(fitter, problem=fitter.problem.take(others))
    candidate = fold.fit(fold.problem, fold.problem.initial_point(start))
    return fitter.problem.model.scores(candidate.parameters)[left_out]


@pytest.mark.parametrize("constraints", [(), (LossParity(),)], ids=["plain", "losses"])
@pytest.mark.parametrize("size", [1, 3], ids=["samples", "clusters"])
def test_one_step_leads_nearly_to_the_fit_without_the_sample(constraints, size):
    fitter = make_fitter(*draw(240, 6), *constraints)
    candidate = fitter.fit(fitter.problem, fitter.problem.initial_point(fitter.start))
    assert bool(constraints) == candidate.result.multipliers.any()
    clusters = np.arange(240) // size
    leave_out = LeaveOneOut(fitter, None if size == 1 else clusters)
    approximate = leave_out.scores(candidate, fitter.constraint)
    exact = np.concatenate(
        [
            fit_without(fitter, candidate.parameters, np.flatnonzero(clusters == k))
            for k in range(40)
        ]
    )
    inside = candidate.scores[: len(exact)]
    approximate = approximate[: len(exact)]
    change = exact - inside
    assert np.abs(approximate - exact).max() < 0.25 * np.abs(change).max()
    assert np.abs(approximate - exact).mean() < 0.12 * np.abs(change).mean()
    # Samples lose the part that their labels have in their scores.
    assert (np.sign(fitter.problem.target[: len(exact)]) * (inside - approximate)).mean() > 0.0


@pytest.mark.parametrize("constraint", [DemographicParity(), EqualOpportunity(), EqualizedOdds()])
def test_rows_at_their_bound_change_by_the_effect_of_a_sample_that_is_left_out(constraint):
    X, target, groups = draw(60, 3)
    rng = np.random.default_rng(1)
    scores = draw(60, 1)[0][:, 0]
    loose = make_fitter(X, target, groups, constraint, tolerance=0.9).constraint
    none = np.zeros(len(loose.rows.lower))
    assert len(_active_rows(loose, scores, none)[0]) == 0
    # All rows have multipliers.
    active, effects = _active_rows(loose, scores, rng.normal(size=len(none)))
    assert len(active) == len(none)
    (one,) = loose
    values, _ = one.rows.rows_at(one.sums.exact_means(scores))
    for i in range(60):
        others = np.delete(np.arange(60), i)
        rest = one.take(others)
        change = rest.rows.rows_at(rest.sums.exact_means(scores[others]))[0] - values
        # Without a sample of an event of n, its mean moves by n / (n - 1) times its part.
        sizes = one.sums.events.count_samples()
        largest = sizes.max() / (sizes.max() - 1), sizes.min() / (sizes.min() - 1)
        moved = np.abs(effects[i]) > 1e-12
        np.testing.assert_allclose(change[~moved], 0.0, atol=1e-12)
        ratios = -change[moved] / effects[i, moved]
        assert (ratios > largest[0] - 1e-9).all() and (ratios < largest[1] + 1e-9).all()


def test_decisions_at_their_bound_count_as_active_without_multipliers():
    X, target, groups = draw(400, 3)
    scores = X[:, 0] + 0.3 * groups
    gap = abs(np.subtract(*((scores > 0)[groups == k].mean() for k in (0, 1))))
    for tolerance, n_active in ((gap, 1), (gap + 1.9 / 200, 1), (gap + 2.1 / 200, 0)):
        constraint = make_fitter(
            X, target, groups, DemographicParity(), tolerance=tolerance
        ).constraint
        active, _ = _active_rows(constraint, scores, np.zeros(len(constraint.rows.lower)))
        assert len(active) == n_active


@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("constraint", [DemographicParity(), EqualizedOdds(), LossParity()])
def test_estimated_multipliers_are_those_of_the_solver_at_its_result(constraint, n_groups):
    X, target, _ = draw(600, 4)
    groups = np.digitize(X[:, 0], [0.5, 1.2][: n_groups - 1])
    fitter = make_fitter(X, target, groups, constraint, tolerance=0.01)
    result = fitter.fit(fitter.problem, fitter.problem.initial_point(fitter.start)).result
    assert result.multipliers.any()
    estimated = _estimate_multipliers(fitter.problem, result.x)
    # Several multipliers may have the same effect on the parameters.
    evaluation = fitter.problem.evaluate(result.x)
    p = fitter.problem.n_parameters
    jacobian = evaluation.jacobian_of(np.arange(len(estimated)))
    np.testing.assert_allclose(jacobian.T @ estimated, jacobian.T @ result.multipliers, atol=1e-6)
    np.testing.assert_allclose(evaluation.grad[:p], -(jacobian.T @ estimated)[:p], atol=1e-6)


def test_what_samples_contribute_to_a_search_is_left_out_with_them():
    # Labels are noise in one group: with 30 columns, error rates are equal by overfitting alone.
    rng = np.random.default_rng(0)
    n_train = 1500
    w = np.r_[0.8, 0.8, 0.6, np.zeros(27)]
    groups = rng.integers(2, size=41_500)
    X = rng.normal(size=(len(groups), 30))
    noise = np.where(groups, 0.3, 1.2) * rng.logistic(size=len(groups))
    target = np.where(X @ w + noise > 0, 1.0, -1.0)
    train = slice(n_train)
    fitter = make_fitter(X[train], target[train], groups[train], ErrorRateParity(), tolerance=0.02)
    plain = fitter.fit_unconstrained()
    fair = search_lines(fitter, plain)
    assert fair.keeps_bound and not fair.is_solver_result

    def gap(scores, rows):
        wrong = ((scores > 0) != (target[rows] > 0)).astype(float)
        return abs(wrong[groups[rows] == 0].mean() - wrong[groups[rows] == 1].mean())

    new = slice(n_train, None)
    design = np.c_[X, np.ones(len(X))]
    plain_gap, fair_gap = (
        gap(design[new] @ np.linalg.lstsq(design[train], one.scores, rcond=None)[0], new)
        for one in (plain, fair)
    )
    leave_out = LeaveOneOut(fitter)
    left_out_gap = gap(leave_out.scores(fair, fitter.constraint), train)
    # The population's gap falls by a fraction of training's, and left out samples show as much.
    falls = [gap(plain.scores, train) - g for g in (gap(fair.scores, train), left_out_gap)]
    assert plain_gap - fair_gap < 0.5 * falls[0]
    assert falls[1] == pytest.approx(plain_gap - fair_gap, abs=0.015)


def test_networks_ranks_and_large_clusters_need_folds():
    fitter = make_fitter(*draw(400, 3), LossParity())
    assert can_leave_one_out(fitter.problem)
    assert can_leave_one_out(fitter.problem, np.arange(400) // 4)
    assert not can_leave_one_out(fitter.problem, np.arange(400) // 5)


def test_smaller_scores_guarantee_what_a_lower_tolerance_would_overfit():
    X, target, groups = draw(3000, 20)
    losses = np.logaddexp(
        0.0, -target * ConstrainedERMClassifier(None).fit(X, target).decision_function(X)
    )
    tolerance = 1.1 * abs(losses[groups == 0].mean() - losses[groups == 1].mean())
    options = {"constraint": LossParity(), "tolerance": tolerance}
    plain = ConstrainedERMClassifier(**options).fit(X, target, sensitive_features=groups)
    model = ConstrainedERMClassifier(confidence_level=0.95, **options)
    model.fit(X, target, sensitive_features=groups)
    assert model.guarantee_probability_ >= 0.95
    assert model.tightened_tolerances_[0] == tolerance
    ratio = model.coef_ / plain.coef_
    assert 0.5 < ratio.mean() < 0.99
    np.testing.assert_allclose(ratio, ratio.mean(), rtol=1e-3)
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))


def test_no_active_row_and_no_free_direction_are_solved():
    """Old versions of SciPy have no decompositions of empty matrices."""
    assert _combine_without_aux(np.empty((0, 2))).shape == (0, 0)
    assert _combine_without_aux(np.ones((3, 2))).shape == (3, 2)
    assert _inverse_root(np.empty((0, 0))).shape == (0, 0)
    root = _inverse_root(np.diag([4.0, 1.0]))
    np.testing.assert_allclose(root @ root.T, np.diag([0.25, 1.0]))
