"""Rows of shares: derivatives, and convex majorants."""

import numpy as np
import pytest
from scipy import sparse

from skfair._bound.convex import MeanExcess, MeanSigmoid, ShareRows
from skfair._groups.events import Events
from skfair.surrogates import Ramp, Sigmoid


def bound(rounding, seed=0, convex_means=MeanExcess):
    """Three overlapping events, two thresholds that depend on three unknowns, and levels."""
    rng = np.random.default_rng(seed)
    members = Events.overlapping(
        sparse.csr_array(rng.random((30, 3)) < 0.6), rng.uniform(0.5, 2.0, 30)
    )
    return ShareRows(
        members,
        width=1.5,
        origin=np.array([0.1, -0.2]),
        threshold_jacobian=rng.normal(size=(2, 3)),
        aux_jacobian=-rng.normal(size=(6, 3)),
        lower=np.full(6, 0.2),
        upper=np.full(6, 0.5),
        initial_aux=lambda scores: np.zeros(3),
        convex_means=type("Rounded", (convex_means,), {"rounding": rounding}),
    )


def sigmoid():
    """The same with a sigmoid."""
    return bound(1.0, convex_means=MeanSigmoid)


def point(seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=30), rng.normal(size=3)


@pytest.mark.parametrize(
    ("constraint", "surrogate"), [(bound(0.0), Ramp(1.5)), (sigmoid(), Sigmoid(1.5 / 4))]
)
def test_shares_are_means_of_the_surrogate(constraint, surrogate):
    scores, aux = point(1)
    thresholds = constraint.origin + constraint.threshold_jacobian @ aux
    members = constraint.events
    for e in range(3):
        samples, shares = members.members(e)
        expected = [shares @ surrogate(scores[samples] - t).value for t in thresholds]
        np.testing.assert_allclose(constraint.shares(scores, aux)[e], expected, atol=1e-13)


def test_rounding_moves_a_share_by_little():
    sharp = bound(0.0)
    round_ = bound(0.1)
    scores, aux = point(2)
    # A rounded corner is at most corner / 8 above the sharp one, in units of the width.
    distance = np.abs(sharp.shares(scores, aux) - round_.shares(scores, aux))
    assert distance.max() <= 0.1 / 8


def rows_and_derivatives(constraint):
    return constraint, constraint.majorant(*point(7))


@pytest.mark.parametrize("which", [0, 1], ids=["rows", "majorant"])
@pytest.mark.parametrize("rows", [bound(0.4), sigmoid()], ids=["ramp", "sigmoid"])
def test_derivatives_are_those_of_finite_differences(rows, which):
    constraint = rows_and_derivatives(rows)[which]
    scores, aux = point(3)
    result = constraint(scores, aux)
    step = 1e-6
    jacobian = result.jacobian.means_to_rows @ result.jacobian.basis.toarray()
    for i in range(30):
        bump = step * (np.arange(30) == i)
        above = constraint(scores + bump, aux)
        below = constraint(scores - bump, aux)
        slope = (above.values - below.values) / (2 * step)
        np.testing.assert_allclose(jacobian[:, i], slope, atol=1e-8)
    for j in range(3):
        bump = step * (np.arange(3) == j)
        above = constraint(scores, aux + bump)
        below = constraint(scores, aux - bump)
        slope = (above.values - below.values) / (2 * step)
        np.testing.assert_allclose(result.aux_jacobian[:, j], slope, atol=1e-8)


def gradient(constraint, v, scores, aux):
    result = constraint(scores, aux)
    return np.concatenate((result.jacobian.adjoint(v), v @ result.aux_jacobian))


@pytest.mark.parametrize("which", [0, 1], ids=["rows", "majorant"])
@pytest.mark.parametrize(
    # Curvatures are those of corners twice as long; a sigmoid has none.
    "pair",
    [(bound(0.5), bound(1.0)), (sigmoid(), sigmoid())],
    ids=["ramp", "sigmoid"],
)
def test_curvature_is_that_of_the_convex_part(pair, which):
    constraint, longer = (rows_and_derivatives(rows)[which] for rows in pair)
    (scores, aux) = point(4)
    n_rows = len(constraint.lower)
    step = 1e-6
    v = np.abs(np.random.default_rng(5).normal(size=n_rows))
    if which == 1:  # the multipliers of its rows have the sign of their only bound
        v = np.where(np.isfinite(constraint.upper), v, -v)
    result = constraint(scores, aux)
    curvature = result.curvature(v)
    combine, by_aux = result.aux_curvature(v)
    cross_derivatives = combine @ result.jacobian.basis.toarray()
    exact = np.empty((33, 33))
    for k in range(33):
        bump = step * (np.arange(33) == k)
        above = gradient(longer, v, scores + bump[:30], aux + bump[30:])
        below = gradient(longer, v, scores - bump[:30], aux - bump[30:])
        exact[:, k] = (above - below) / (2 * step)
    reported = np.block([[np.diag(curvature), cross_derivatives.T], [cross_derivatives, by_aux]])
    assert np.linalg.eigvalsh(reported).min() >= -1e-10
    if which == 1:  # nothing but convex parts: the curvature is exact
        np.testing.assert_allclose(reported, exact, atol=1e-7)
    else:  # what is left out is concave
        assert np.linalg.eigvalsh(reported - exact).min() >= -1e-7
        assert np.abs(reported - exact).max() > 1e-3


@pytest.mark.parametrize("constraint", [bound(0.0), bound(0.4), sigmoid()])
def test_a_majorant_touches_at_its_point_and_is_nowhere_easier(constraint):
    scores, aux = point(6)
    majorant = constraint.majorant(scores, aux)
    capped = np.isfinite(majorant.upper)
    np.testing.assert_allclose(
        majorant(scores, aux).values[capped], constraint(scores, aux).values, atol=1e-12
    )
    np.testing.assert_allclose(
        majorant(scores, aux).values[~capped], constraint(scores, aux).values, atol=1e-12
    )
    for seed in range(20):
        there = point(seed)
        values = constraint(*there).values
        rows = majorant(*there).values
        assert (rows[capped] >= values - 1e-12).all()
        assert (rows[~capped] <= values + 1e-12).all()


@pytest.mark.parametrize("constraint", [bound(0.0), sigmoid()])
def test_a_majorant_is_convex_along_every_line(constraint):
    scores, aux = point(6)
    majorant = constraint.majorant(scores, aux)
    sign = np.where(np.isfinite(majorant.upper), 1.0, -1.0)
    for seed in range(20):
        h, a = point(seed)
        g, b = point(seed + 100)
        ends = sign * (majorant(h, a).values + majorant(g, b).values) / 2
        assert (sign * majorant((h + g) / 2, (a + b) / 2).values <= ends + 1e-12).all()


def test_multipliers_of_a_majorant_are_those_of_the_rows():
    constraint = bound(0.4)
    scores, aux = point(6)
    majorant = constraint.majorant(scores, aux)
    v = np.random.default_rng(0).normal(size=len(majorant.lower))
    np.testing.assert_allclose(
        gradient(majorant, v, scores, aux),
        gradient(constraint, majorant.original_multipliers(v), scores, aux),
        atol=1e-12,
    )


@pytest.mark.parametrize("constraint", [bound(0.3), sigmoid()], ids=["ramp", "sigmoid"])
def test_exact_curvatures_are_second_derivatives(constraint):
    v = np.random.default_rng(2).normal(size=6)
    scores, aux = point(1)

    def slope(scores, aux):
        values = constraint(scores, aux)
        return np.concatenate((values.jacobian.adjoint(v), v @ values.aux_jacobian))

    result = constraint(scores, aux)
    exact = result.exact()
    combine, by_two_unknowns = exact.aux_curvature(v)
    hessian = np.block(
        [
            [np.diag(exact.curvature(v)), (combine @ exact.jacobian.basis).T],
            [combine @ exact.jacobian.basis, by_two_unknowns],
        ]
    )
    step = 1e-7
    moves = step * np.eye(33)
    numeric = [
        slope(scores + move[:30], aux + move[30:]) - slope(scores - move[:30], aux - move[30:])
        for move in moves
    ]
    np.testing.assert_allclose(hessian, np.array(numeric) / (2 * step), atol=1e-6)
    assert (result.curvature(v) >= 0).all()
    assert (exact.curvature(v) < 0).any()
