"""Mean excesses against their definition, and their derivatives against finite differences."""

import numpy as np
import pytest
from scipy import sparse

from skfair.constraints.partial._convex import MeanExcess
from skfair.groups import Events


def rounded(x, corner):
    """The positive part with its corner rounded, as the module defines it."""
    if corner == 0:
        return np.maximum(0.0, x)
    parabola = (x + corner / 2) ** 2 / (2 * corner)
    return np.where(x <= -corner / 2, 0.0, np.where(x >= corner / 2, x, parabola))


@pytest.fixture
def people():
    rng = np.random.default_rng(3)
    membership = sparse.csr_array(rng.random((40, 3)) < 0.5)  # overlapping events
    weights = rng.uniform(0.5, 2.0, 40)
    return membership, weights, rng.normal(size=40), rng.normal(size=4)


@pytest.mark.parametrize("corner", [0.0, 0.1, 3.0])
def test_values_are_weighted_means(people, corner):
    membership, weights, scores, kinks = people
    found = MeanExcess(Events.overlapping(membership, weights), scores, kinks, corner).values
    for e, inside in enumerate(membership.toarray().T):
        expected = [
            np.average(rounded(scores[inside] - kink, corner), weights=weights[inside])
            for kink in kinks
        ]
        np.testing.assert_allclose(found[e], expected, atol=1e-13)


@pytest.mark.parametrize("corner", [0.1, 3.0])
def test_derivatives_are_those_of_finite_differences(people, corner):
    membership, weights, scores, kinks = people
    members, step = Events.overlapping(membership, weights), 1e-6

    def value(scores, kinks):
        return MeanExcess(members, scores, kinks, corner).values

    found = MeanExcess(members, scores, kinks, corner)
    by_scores = found.score_derivative(np.eye(4)) @ found.cells.toarray()
    for i in range(len(scores)):
        bump = step * (np.arange(40) == i)
        slope = (value(scores + bump, kinks) - value(scores - bump, kinks)) / (2 * step)
        np.testing.assert_allclose(by_scores[:, i], slope.ravel(), atol=1e-8)
    for k in range(4):
        bump = step * (np.arange(4) == k)
        slope = (value(scores, kinks + bump) - value(scores, kinks - bump)) / (2 * step)
        np.testing.assert_allclose(-found.above[:, k], slope[:, k], atol=1e-8)


def test_second_derivatives_are_those_of_corners_twice_as_long(people):
    membership, weights, scores, kinks = people
    members, step = Events.overlapping(membership, weights), 1e-6
    v = np.random.default_rng(0).normal(size=(3, 4))

    def gradients(scores, kinks):
        found = MeanExcess(members, scores, kinks, 2 * 1.0)
        by_scores = v.ravel() @ (found.score_derivative(np.eye(4)) @ found.cells.toarray())
        return by_scores, -(v * found.above).sum(axis=0)

    found = MeanExcess(members, scores, kinks, 1.0)
    curvature, (combine, diagonal) = found.curvature(v), found.breakpoint_derivatives(v)
    mixed = combine @ found.cells.toarray()
    for i in range(len(scores)):
        bump = step * (np.arange(40) == i)
        above, below = gradients(scores + bump, kinks), gradients(scores - bump, kinks)
        assert curvature[i] == pytest.approx((above[0] - below[0])[i] / (2 * step), abs=1e-8)
        np.testing.assert_allclose(mixed[:, i], (above[1] - below[1]) / (2 * step), atol=1e-8)
    for k in range(4):
        bump = step * (np.arange(4) == k)
        above, below = gradients(scores, kinks + bump), gradients(scores, kinks - bump)
        assert diagonal[k] == pytest.approx((above[1] - below[1])[k] / (2 * step), abs=1e-8)


@pytest.mark.parametrize("corner", [0.0, 0.5])
def test_excesses_lie_above_their_tangents(people, corner):
    membership, weights, scores, kinks = people
    members, rng = Events.overlapping(membership, weights), np.random.default_rng(1)
    found = MeanExcess(members, scores, kinks, corner)
    np.testing.assert_allclose(found.along(np.zeros(40), np.zeros(4)), found.values)
    for _ in range(20):
        by_scores, by_kinks = rng.normal(size=40), rng.normal(size=4)
        there = MeanExcess(members, scores + by_scores, kinks + by_kinks, corner)
        assert (there.values >= found.along(by_scores, by_kinks) - 1e-12).all()


def test_sorting_does_not_depend_on_the_order_of_kinks(people):
    membership, weights, scores, kinks = people
    members, order = Events.overlapping(membership, weights), [2, 0, 3, 1]
    found = MeanExcess(members, scores, kinks, 0.5)
    permuted = MeanExcess(members, scores, kinks[order], 0.5)
    np.testing.assert_allclose(permuted.values, found.values[:, order])
    np.testing.assert_allclose(permuted.above, found.above[:, order])


def test_members_weigh_as_repeated_rows(people):
    membership, _, scores, kinks = people
    times = np.random.default_rng(2).integers(1, 4, 40)
    weighted = MeanExcess(Events.overlapping(membership, times.astype(float)), scores, kinks, 0.3)
    repeated = Events.overlapping(membership[np.repeat(np.arange(40), times)], np.ones(times.sum()))
    np.testing.assert_allclose(
        weighted.values, MeanExcess(repeated, np.repeat(scores, times), kinks, 0.3).values
    )


def test_quantiles_are_exceeded_by_their_shares():
    scores = np.arange(100.0)[::-1]
    members = Events.overlapping(sparse.csr_array(np.ones((100, 1), dtype=bool)), np.ones(100))
    levels = np.array([0.1, 0.5, 0.9])
    found = members.quantiles(0, scores, levels)
    assert [(scores > q).mean() for q in found] == pytest.approx(levels)
