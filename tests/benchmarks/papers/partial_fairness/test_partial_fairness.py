import itertools
import os
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import check_grad

from benchmarks.papers.partial_fairness.baselines import PAIRWISE, fit_pairwise
from benchmarks.papers.partial_fairness.cases import (
    INTERVALS,
    NAMES,
    TABLE_4,
    Case,
    Point,
    Rows,
    accuracy_at,
    case,
    evaluate,
    fit_as_printed,
)
from benchmarks.papers.partial_fairness.compiled_idca import (
    _excesses,
    descend,
    descend_at_threshold,
    scores_of,
    solve_idca,
)
from benchmarks.papers.partial_fairness.tables import FRONT, _violation
from benchmarks.runner import BENCHMARKS
from skfair import metrics
from skfair.classification import PartialParityClassifier

LEVELS = np.linspace(0.2, 0.6, 5)


def rows(n_samples=400, seed=0):
    rng = np.random.default_rng(seed)
    groups = rng.integers(2, size=n_samples)
    X = rng.normal(size=(n_samples, 2)) + groups[:, np.newaxis]
    y = X.sum(axis=1) + rng.normal(size=n_samples) > 1
    return Rows(sparse.csr_array(X), y, groups)


def quadratic(difference):
    return (1 + difference) ** 2 / 2


def mean_over_pairs(first, second):
    return quadratic(first[:, np.newaxis] - second).mean()


# Cases --------------------------------------------------------------------------------


@pytest.mark.skipif(
    not Path(os.environ.get("SKFAIR_DATA", ""), "law_school").is_dir(), reason="no local data"
)
@pytest.mark.parametrize(
    ("name", "n_train", "n_test", "n_features"),
    [("a9a", 29304, 16281, 123), ("bank", 24712, 8238, 62), ("law school", 11698, 5200, 13)],
)
def test_splits_have_the_sizes_of_the_paper(name, n_train, n_test, n_features):
    problem = case(name, 0)
    assert problem.train.X.shape == (n_train, n_features)
    assert problem.test.X.shape == (n_test, n_features)
    assert problem.interval == INTERVALS[name]
    assert set(problem.train.groups) == {0, 1}
    other = case(name, 1)
    assert not np.array_equal(problem.train.y, other.train.y)


@pytest.mark.parametrize("name", NAMES)
def test_fronts_have_the_tolerances_of_the_paper(name):
    assert set(TABLE_4[name]) <= set(FRONT[name])


def test_cross_terms():
    part = Rows(sparse.csr_array([[2.0], [3.0]]), np.array([True, False]), np.array([0, 1]))
    np.testing.assert_array_equal(part.add_cross_terms().X.toarray(), [[2, 0, 0], [3, 1, 3]])


def test_a_point_by_hand():
    part = Rows(None, np.array([True, False, True, False]), np.array([0, 0, 1, 1]))
    # In both readings the groups differ by a half between the scores 2 and 1.
    assert evaluate(np.array([2.0, -1.0, 1.0, -1.0]), part, (0.0, 1.0)) == Point(0.5, 0.5, 1.0)


def test_fronts_are_interpolated_between_means_and_never_beyond_them():
    points = [[Point(0.9, 0, 0.8), Point(0.7, 0, 0.8)], [Point(0.6, 0, 0.9)]]
    assert accuracy_at(points, 0.7) == pytest.approx(0.85)
    assert np.isnan(accuracy_at(points, 0.85))
    assert np.isnan(accuracy_at(points, 0.5))


# The reference of speed ---------------------------------------------------------------


def test_excesses_are_means_over_the_group():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=50)
    codes = np.arange(50) % 2
    thresholds = np.array([0.3, -0.4, 0.9])
    excess, above = _excesses(scores, codes, np.array([25.0, 25.0]), thresholds)
    breakpoints = np.append(thresholds - 0.5, thresholds + 0.5)
    for group, b in itertools.product((0, 1), range(6)):
        over = scores[codes == group] - breakpoints[b]
        assert excess[group, b] == pytest.approx(np.maximum(over, 0).mean())
        assert above[group, b] == pytest.approx((over > 0).mean())


def test_idca_keeps_its_infeasibility_and_comes_near_the_default_solver():
    part = rows()
    result = solve_idca(part, LEVELS, 0.02, epsilon=1e-3, max_iter=100)
    ramps = np.clip(scores_of(result.coef, part)[:, np.newaxis] - result.thresholds + 0.5, 0, 1)
    shares = np.array([ramps[part.groups == group].mean(axis=0) for group in (0, 1)])
    excess = max((shares - LEVELS - 0.02).max(), (LEVELS - shares).max())
    assert result.infeasibility == pytest.approx(excess)
    assert excess <= 1.5e-3
    losses = np.logaddexp(0, -np.where(part.y, 1, -1) * scores_of(result.coef, part))
    assert result.objective == pytest.approx(losses.mean())
    problem = Case("a9a", part, part)
    exact = fit_as_printed(problem, 0.02)
    assert exact.objective_ <= result.objective + 0.01


def test_the_violation_of_the_default_is_taken_from_the_definition():
    problem = Case("a9a", rows(), rows())
    model = fit_as_printed(problem, 0.05)
    levels = np.linspace(*problem.interval, 10)
    assert _violation(model, problem.train, levels, 0.05) <= 1e-4
    assert _violation(model, problem.train, levels, 0.0) == pytest.approx(0.05, abs=0.02)


def test_the_penalty_weight_of_descent_reduces_the_gap():
    part = rows()
    light, heavy = (
        evaluate(
            scores_of(descend(part, LEVELS, weight, step=0.02, n_iter=2000), part), part, (0, 1)
        )
        for weight in (0.001, 1.0)
    )
    assert light.accuracy > 0.75
    assert heavy.fairness > light.fairness


@pytest.mark.parametrize("criterion, tolerance", [("statistical", 0.1), ("demographic", 0.05)])
def test_fits_at_tolerances_solve_the_regularised_problem(criterion, tolerance):
    """Values of (111) and (112): a fit at a tolerance against the paper's (114) and (119)."""
    part = rows()
    weight = 0.3
    interval = (0.2, 0.6)
    target = np.where(part.y, 1.0, -1.0)
    metric = getattr(metrics, f"partial_{criterion}_parity_difference")

    def value(scores):
        gap = metric(scores, sensitive_features=part.groups, interval=interval)
        return np.logaddexp(0, -target * scores).mean() + weight * gap

    model = PartialParityClassifier(
        f"partial_{criterion}_parity",
        interval=interval,
        tolerance=tolerance,
        group_interactions=True,
    ).fit(part.X, part.y, sensitive_features=part.groups)
    fitted = value(model.decision_function(part.X, sensitive_features=part.groups))
    if criterion == "statistical":
        coef = descend(part, LEVELS, weight, step=0.01, n_iter=4000)
    else:
        coef = descend_at_threshold(part, interval, weight, step=0.01, n_iter=4000)
    printed = value(scores_of(coef, part))
    assert fitted < printed - 0.005
    assert printed < value(1e-9 * part.X[:, [0]].toarray().ravel())


# Baselines ----------------------------------------------------------------------------


def expected_rows(part, method, scores):
    def scores_of_class(group, positive):
        return scores[(part.groups == group) & (part.y == positive)]

    result = []
    for k, other in itertools.permutations((0, 1)):
        if method == "group AUC":
            result.append(mean_over_pairs(scores[part.groups == k], scores[part.groups == other]))
        elif method == "inter-group pairwise":
            result.append(
                mean_over_pairs(scores_of_class(k, True), scores_of_class(other, False))
                + mean_over_pairs(scores_of_class(k, False), scores_of_class(other, True))
            )
        else:
            result.append(
                mean_over_pairs(scores_of_class(k, True), scores_of_class(k, False))
                + mean_over_pairs(scores_of_class(other, False), scores_of_class(other, True))
            )
    return result


@pytest.mark.parametrize("method", PAIRWISE)
def test_rows_of_pairs_and_their_derivatives(method):
    part = rows(60)
    scores = np.random.default_rng(1).normal(size=60)
    constraint = PAIRWISE[method](part, 0.7)
    result = constraint(scores, np.empty(0))
    np.testing.assert_allclose(result.values, expected_rows(part, method, scores))
    offset = 0.5 if method == "group AUC" else 1.0
    np.testing.assert_allclose(constraint.upper, offset + 0.7)
    v = np.array([0.3, -1.2])
    assert (
        check_grad(
            lambda s: v @ constraint(s, np.empty(0)).values,
            lambda s: constraint(s, np.empty(0)).jacobian.adjoint(v),
            scores,
        )
        < 1e-5
    )


@pytest.mark.parametrize("method", PAIRWISE)
def test_a_baseline_keeps_its_constraint(method):
    part = rows()
    kappa = 0.3
    scores = scores_of(fit_pairwise(part, method, kappa), part)
    bound = PAIRWISE[method](part, kappa).upper
    assert np.all(expected_rows(part, method, scores) <= bound + 1e-5)


def test_the_benchmark_has_a_name():
    assert "partial-parity" in BENCHMARKS
