"""Rows of the partial group AUC."""

import numpy as np
import pytest
from scipy import sparse

from skfair._bound.convex import PairRows, Ranking
from skfair._groups.events import Events
from skfair.classification import PartialParityClassifier
from skfair.metrics import partial_group_auc_difference
from skfair.solvers import IDCA, SQP
from skfair.surrogates import Ramp


def bound(width=1.0, weighted=True, pairs=((0.0, 1.0),)):
    rng = np.random.default_rng(0)
    codes = np.arange(60) % 3
    membership = sparse.csr_array(codes[:, np.newaxis] == np.arange(3))
    weights = rng.uniform(0.5, 2.0, 60) if weighted else np.ones(60)
    return (
        PairRows(Events.overlapping(membership, weights), [np.array(pairs)] * 3, width, 0.05),
        codes,
        weights,
    )


def test_rows_are_means_of_the_ramp_over_pairs():
    constraint, codes, weights = bound()
    scores = np.random.default_rng(1).normal(size=60)
    for (k, other), result in zip(
        constraint.pairs, constraint(scores, np.empty(0)).values, strict=True
    ):
        ramp = Ramp(1.0)(np.subtract.outer(scores[codes == k], scores[codes == other])).value
        pairs = np.outer(weights[codes == k], weights[codes == other])
        assert result == pytest.approx(np.average(ramp, weights=pairs))


def test_derivatives_are_those_of_finite_differences():
    constraint, _, _ = bound(pairs=((0.1, 0.4), (0.6, 1.0)))
    scores = np.random.default_rng(2).normal(size=60)
    step = 1e-7
    result = constraint(scores, np.empty(0))
    jacobian = (result.jacobian.means_to_rows @ result.jacobian.basis).toarray()
    for i in range(60):
        bump = step * (np.arange(60) == i)
        above = constraint(scores + bump, np.empty(0)).values
        below = constraint(scores - bump, np.empty(0)).values
        np.testing.assert_allclose(jacobian[:, i], (above - below) / (2 * step), atol=1e-7)


def test_a_narrow_ramp_gives_the_public_metric():
    constraint, codes, weights = bound(width=1e-6)
    scores = np.random.default_rng(3).normal(size=60)
    gap = np.abs(constraint(scores, np.empty(0)).values - 0.5).max()
    metric = partial_group_auc_difference(
        scores, sensitive_features=codes, interval=(0.0, 1.0), sample_weight=weights
    )
    assert gap == pytest.approx(metric, abs=1e-8)


def test_rows_hold_the_distance_from_one_half():
    constraint, _, _ = bound()
    assert constraint.lower.tolist() == [0.45] * 3
    assert constraint.upper.tolist() == [0.55] * 3
    assert constraint.initial_aux(np.zeros(60)).shape == (constraint.n_aux,)
    # Equal scores count half.
    np.testing.assert_allclose(constraint(np.zeros(60), np.empty(0)).values, 0.5)


def test_weights_taper_off_at_the_ends_of_an_interval():
    ranks = (np.arange(1000) + 0.5) / 1000
    pairs = np.array([[0.0, 0.2], [0.5, 0.7]])
    ranking = Ranking(pairs, np.arange(1000), np.full(1000, 1e-3), -ranks)
    window = np.zeros(1000)
    window[ranking.members_inside().positions] = ranking.members_inside().weights / 1e-3 * 0.4
    np.testing.assert_allclose(window[ranks < 0.18], 1.0)
    assert (window[(ranks > 0.22) & (ranks < 0.48)] == 0.0).all()
    np.testing.assert_allclose(window[(ranks > 0.52) & (ranks < 0.68)], 1.0)
    assert (window[ranks > 0.72] == 0.0).all()
    assert window.mean() == pytest.approx(0.4)


def test_samples_outside_the_interval_do_not_count():
    constraint, codes, _ = bound(pairs=((0.0, 0.5),))
    scores = np.random.default_rng(4).normal(size=60)
    lowest = [
        i for k in range(3) for i in np.flatnonzero(codes == k)[scores[codes == k].argsort()[:5]]
    ]
    lower = scores.copy()
    lower[lowest] -= 10.0
    np.testing.assert_array_equal(
        constraint(lower, np.empty(0)).values, constraint(scores, np.empty(0)).values
    )


def test_curvature_counts_where_the_ramp_is_convex():
    # One sample at 0, against 1000 spread evenly over [-5, 0], a fifth of them per unit.
    scores = np.append(0.0, -np.arange(0.0025, 5.0, 0.005))
    membership = sparse.csr_array(np.eye(2, dtype=bool)[(scores < 0).astype(int)])
    members = Events.overlapping(membership, np.ones(len(scores)))
    bound = PairRows(members, [np.array([[0.0, 1.0]])] * 2, width=2.0, tolerance=0.05)
    curvature = bound(scores, np.empty(0)).curvature
    # The ramp of differences begins at scores of 1, where no sample is, and ends at scores of -1.
    assert curvature(np.array([1.0]))[0] == 0.0
    assert curvature(np.array([-3.0]))[0] == pytest.approx(2 * 3.0 / 2.0 * 0.2)
    assert (curvature(np.array([-3.0])) >= 0).all()
    near = np.flatnonzero(curvature(np.array([-3.0]))[1:])
    assert np.abs(scores[1:][near] + 1.0).max() <= 0.1


intervals = pytest.mark.parametrize("pairs", [((0.0, 1.0),), ((0.1, 0.4), (0.6, 1.0))])


def values_of(halves):
    return np.array([[sum(one.value for one in half) for half in both] for both in halves])


@intervals
def test_rows_are_differences_of_convex_functions(pairs):
    constraint, _, _ = bound(pairs=pairs)
    rng = np.random.default_rng(5)
    for _ in range(20):
        one, other = rng.normal(size=(2, 60))
        here = values_of(constraint.convex_parts(one))
        np.testing.assert_allclose(here[:, 0] - here[:, 1], constraint(one, np.empty(0)).values)
        there = values_of(constraint.convex_parts(other))
        between = values_of(constraint.convex_parts((one + other) / 2))
        assert (between <= (here + there) / 2 + 1e-12).all()


@intervals
def test_the_majorant_touches_the_rows_at_one_point_and_is_nowhere_easier(pairs):
    constraint, _, _ = bound(pairs=pairs)
    rng = np.random.default_rng(6)
    scores = rng.normal(size=60)
    none = np.empty(0)
    majorant = constraint.majorant(scores, none)
    rows = constraint(scores, none)
    result = majorant(scores, none)
    np.testing.assert_allclose(result.values, np.tile(rows.values, 2))
    slopes = np.vstack([(rows.jacobian.means_to_rows @ rows.jacobian.basis).toarray()] * 2)
    np.testing.assert_allclose(
        (result.jacobian.means_to_rows @ result.jacobian.basis).toarray(), slopes, atol=1e-12
    )
    for other in scores + rng.normal(size=(20, 60)):
        upper, lower = np.reshape(majorant(other, none).values, (2, -1))
        true = constraint(other, none).values
        assert (upper >= true - 1e-12).all()
        assert (lower <= true + 1e-12).all()


def test_rows_of_the_majorant_have_the_bounds_and_multipliers_of_the_rows():
    constraint, _, _ = bound()
    majorant = constraint.majorant(np.zeros(60), np.empty(0))
    assert majorant.upper.tolist() == [0.55] * 3 + [np.inf] * 3
    assert majorant.lower.tolist() == [-np.inf] * 3 + [0.45] * 3
    multipliers = majorant.original_multipliers(np.array([0.1, 0.0, 0.0, 0.0, -0.2, 0.0]))
    assert multipliers.tolist() == [0.1, -0.2, 0.0]
    curvature = majorant(np.random.default_rng(7).normal(size=60), np.empty(0)).curvature
    assert (curvature(np.array([0.1, 0.0, 0.0, 0.0, -0.2, 0.0])) >= 0).all()
    assert not curvature(np.zeros(6)).any()


@pytest.mark.slow
def test_idca_ends_where_sqp_does():
    rng = np.random.default_rng(8)
    groups = np.arange(400) % 2
    X = rng.normal(size=(400, 3))
    X[:, 0] += groups
    y = X.sum(axis=1) + rng.logistic(size=400) > 0.5
    fits = [
        PartialParityClassifier(
            "partial_group_auc",
            interval=(0.1, 0.6),
            tolerance=0.1,
            enforcement=None,
            alpha=1e-2,
            solver=solver,
        ).fit(X, y, sensitive_features=groups)
        for solver in (SQP(tol=1e-4), IDCA(tol=1e-3))
    ]
    by_sqp, by_idca = (fit.objective_ for fit in fits)
    assert np.abs(fits[1].multipliers_).max() > 1e-2  # the row binds
    assert by_idca == pytest.approx(by_sqp, abs=1e-3)
