"""Mean excesses against their definition, and their derivatives against finite differences."""

import numpy as np
import pytest
from scipy import sparse

from skfair._bound.convex import MeanExcess
from skfair._groups.events import Events


def smooth_positive_part(x, corner):
    """The positive part with its corner rounded, as the module defines it."""
    if corner == 0:
        return np.maximum(0.0, x)
    parabola = (x + corner / 2) ** 2 / (2 * corner)
    return np.where(x <= -corner / 2, 0.0, np.where(x >= corner / 2, x, parabola))


@pytest.fixture
def data():
    rng = np.random.default_rng(3)
    membership = sparse.csr_array(rng.random((40, 3)) < 0.5)  # overlapping events
    weights = rng.uniform(0.5, 2.0, 40)
    return membership, weights, rng.normal(size=40), rng.normal(size=4)


@pytest.mark.parametrize("corner", [0.0, 0.1, 3.0])
def test_values_are_weighted_means(data, corner):
    membership, weights, scores, breakpoints = data
    result = MeanExcess(Events.overlapping(membership, weights), scores, breakpoints, corner).values
    for e, inside in enumerate(membership.toarray().T):
        expected = [
            np.average(smooth_positive_part(scores[inside] - t, corner), weights=weights[inside])
            for t in breakpoints
        ]
        np.testing.assert_allclose(result[e], expected, atol=1e-13)


@pytest.mark.parametrize("corner", [0.1, 3.0])
def test_derivatives_are_those_of_finite_differences(data, corner):
    membership, weights, scores, breakpoints = data
    members = Events.overlapping(membership, weights)
    step = 1e-6

    def value(scores, breakpoints):
        return MeanExcess(members, scores, breakpoints, corner).values

    result = MeanExcess(members, scores, breakpoints, corner)
    by_scores = result.score_derivative_coefficients(np.eye(4)) @ result.basis.toarray()
    for i in range(len(scores)):
        bump = step * (np.arange(40) == i)
        slope = (value(scores + bump, breakpoints) - value(scores - bump, breakpoints)) / (2 * step)
        np.testing.assert_allclose(by_scores[:, i], slope.ravel(), atol=1e-8)
    for k in range(4):
        bump = step * (np.arange(4) == k)
        slope = (value(scores, breakpoints + bump) - value(scores, breakpoints - bump)) / (2 * step)
        np.testing.assert_allclose(-result.above[:, k], slope[:, k], atol=1e-8)


def test_second_derivatives_are_those_of_corners_twice_as_long(data):
    membership, weights, scores, breakpoints = data
    members = Events.overlapping(membership, weights)
    step = 1e-6
    v = np.random.default_rng(0).normal(size=(3, 4))

    def gradients(scores, breakpoints):
        result = MeanExcess(members, scores, breakpoints, 2 * 1.0)
        by_scores = v.ravel() @ (
            result.score_derivative_coefficients(np.eye(4)) @ result.basis.toarray()
        )
        return by_scores, -(v * result.above).sum(axis=0)

    result = MeanExcess(members, scores, breakpoints, 1.0)
    curvature = result.curvature(v)
    combine, diagonal = result.breakpoint_second_derivatives(v)
    cross_derivatives = combine @ result.basis.toarray()
    for i in range(len(scores)):
        bump = step * (np.arange(40) == i)
        above = gradients(scores + bump, breakpoints)
        below = gradients(scores - bump, breakpoints)
        assert curvature[i] == pytest.approx((above[0] - below[0])[i] / (2 * step), abs=1e-8)
        np.testing.assert_allclose(
            cross_derivatives[:, i], (above[1] - below[1]) / (2 * step), atol=1e-8
        )
    for k in range(4):
        bump = step * (np.arange(4) == k)
        above = gradients(scores, breakpoints + bump)
        below = gradients(scores, breakpoints - bump)
        assert diagonal[k] == pytest.approx((above[1] - below[1])[k] / (2 * step), abs=1e-8)


@pytest.mark.parametrize("corner", [0.0, 0.5])
def test_excesses_lie_above_their_tangents(data, corner):
    membership, weights, scores, breakpoints = data
    members = Events.overlapping(membership, weights)
    rng = np.random.default_rng(1)
    result = MeanExcess(members, scores, breakpoints, corner)
    np.testing.assert_allclose(result.evaluate_tangents(np.zeros(40), np.zeros(4)), result.values)
    for _ in range(20):
        by_scores = rng.normal(size=40)
        by_breakpoints = rng.normal(size=4)
        there = MeanExcess(members, scores + by_scores, breakpoints + by_breakpoints, corner)
        assert (there.values >= result.evaluate_tangents(by_scores, by_breakpoints) - 1e-12).all()


def test_sorting_does_not_depend_on_the_order_of_breakpoints(data):
    membership, weights, scores, breakpoints = data
    members = Events.overlapping(membership, weights)
    order = [2, 0, 3, 1]
    result = MeanExcess(members, scores, breakpoints, 0.5)
    permuted = MeanExcess(members, scores, breakpoints[order], 0.5)
    np.testing.assert_allclose(permuted.values, result.values[:, order])
    np.testing.assert_allclose(permuted.above, result.above[:, order])


def test_members_weigh_as_repeated_rows(data):
    membership, _, scores, breakpoints = data
    times = np.random.default_rng(2).integers(1, 4, 40)
    weighted = MeanExcess(
        Events.overlapping(membership, times.astype(float)), scores, breakpoints, 0.3
    )
    repeated = Events.overlapping(membership[np.repeat(np.arange(40), times)], np.ones(times.sum()))
    np.testing.assert_allclose(
        weighted.values, MeanExcess(repeated, np.repeat(scores, times), breakpoints, 0.3).values
    )


def test_quantiles_are_exceeded_by_their_shares():
    scores = np.arange(100.0)[::-1]
    members = Events.overlapping(sparse.csr_array(np.ones((100, 1), dtype=bool)), np.ones(100))
    levels = np.array([0.1, 0.5, 0.9])
    result = members.upper_quantiles(0, scores, levels)
    assert [(scores > q).mean() for q in result] == pytest.approx(levels)
