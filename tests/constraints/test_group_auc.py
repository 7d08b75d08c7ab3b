"""Rows of the partial group AUC."""

import numpy as np
import pytest
from scipy import sparse

from skfair.constraints._group_auc import GroupAUCConstraint, _window
from skfair.metrics import partial_group_auc_difference
from skfair.people import Events
from skfair.surrogates import Ramp


def bound(width=1.0, weighted=True, pairs=((0.0, 1.0),)):
    rng = np.random.default_rng(0)
    codes = np.arange(60) % 3
    membership = sparse.csr_array(codes[:, np.newaxis] == np.arange(3))
    weights = rng.uniform(0.5, 2.0, 60) if weighted else np.ones(60)
    return (
        GroupAUCConstraint(
            Events.overlapping(membership, weights), [np.array(pairs)] * 3, width, 0.05
        ),
        codes,
        weights,
    )


def test_rows_are_means_of_the_ramp_over_pairs():
    constraint, codes, weights = bound()
    scores = np.random.default_rng(1).normal(size=60)
    for (k, other), found in zip(
        constraint.pairs, constraint(scores, np.empty(0)).values, strict=True
    ):
        ramp = Ramp(1.0)(np.subtract.outer(scores[codes == k], scores[codes == other])).value
        pairs = np.outer(weights[codes == k], weights[codes == other])
        assert found == pytest.approx(np.average(ramp, weights=pairs))


def test_derivatives_are_those_of_finite_differences():
    constraint, _, _ = bound(pairs=((0.1, 0.4), (0.6, 1.0)))
    scores, step = np.random.default_rng(2).normal(size=60), 1e-7
    found = constraint(scores, np.empty(0))
    jacobian = (found.jacobian.combine @ found.jacobian.cells).toarray()
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
    # Of equal scores nobody is ahead.
    np.testing.assert_allclose(constraint(np.zeros(60), np.empty(0)).values, 0.5)


def test_weights_taper_off_at_the_ends_of_an_interval():
    ranks = (np.arange(1000) + 0.5) / 1000
    window = _window(ranks, np.array([[0.0, 0.2], [0.5, 0.7]]))
    assert (window[ranks < 0.18] == 1.0).all()
    assert (window[(ranks > 0.22) & (ranks < 0.48)] == 0.0).all()
    assert (window[(ranks > 0.52) & (ranks < 0.68)] == 1.0).all()
    assert (window[ranks > 0.72] == 0.0).all()
    assert window.mean() == pytest.approx(0.4)


def test_people_outside_the_interval_do_not_count():
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


def test_curvature_is_felt_where_the_ramp_bends_upwards():
    # One person at 0, against 1000 spread evenly over [-5, 0], a fifth of them per unit
    scores = np.append(0.0, -np.arange(0.0025, 5.0, 0.005))
    membership = sparse.csr_array(np.eye(2, dtype=bool)[(scores < 0).astype(int)])
    members = Events.overlapping(membership, np.ones(len(scores)))
    bound = GroupAUCConstraint(members, [np.array([[0.0, 1.0]])] * 2, width=2.0, tolerance=0.05)
    curvature = bound(scores, np.empty(0)).curvature
    # A ramp of differences begins at those who score 1, where nobody is, and ends at those at -1.
    assert curvature(np.array([1.0]))[0] == 0.0
    assert curvature(np.array([-3.0]))[0] == pytest.approx(2 * 3.0 / 2.0 * 0.2)
    assert (curvature(np.array([-3.0])) >= 0).all()
    near = np.flatnonzero(curvature(np.array([-3.0]))[1:])
    assert np.abs(scores[1:][near] + 1.0).max() <= 0.1
