"""Rows, derivatives and decisions of every constraint, whose gaps `test_metric` compares."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

from skfair.constraints import (
    CONSTRAINTS,
    BoundedGroupLoss,
    ConstraintSystem,
    DemographicParity,
    EqualizedOdds,
    EqualizedOddsLoss,
    ErrorRateParity,
    LossParity,
)
from skfair.constraints._rows import NoRows, StackedRows
from skfair.enforcement._correction import _decision_effects, _weighted_excess
from skfair.groups import Samples, check_groups
from skfair.losses import LogisticLoss
from skfair.surrogates import Sigmoid

pytestmark = pytest.mark.covering(2)

N_SAMPLES = 40
SPECS = {
    **{name: CONSTRAINTS[name]() for name in CONSTRAINTS if not name.startswith("partial_")},
    "equalized_odds sum": EqualizedOdds(aggregate="sum"),
    "equalized_odds overall": EqualizedOdds(reference="overall"),
    "equalized_odds_loss sum": EqualizedOddsLoss(aggregate="sum"),
    "loss_parity mean": LossParity(reference="overall", aggregate="mean", loss="squared"),
    "error_rate_parity each": ErrorRateParity(attributes="each"),
    "bounded_group_loss": BoundedGroupLoss(0.5),
}
GROUPS = {
    "two": lambda rng: rng.integers(0, 2, N_SAMPLES),
    "four": lambda rng: rng.choice(list("abcd"), N_SAMPLES),
    "attributes": lambda rng: np.column_stack(
        (rng.integers(0, 2, N_SAMPLES), rng.integers(0, 2, N_SAMPLES))
    ),
    "overlapping": lambda rng: sparse.csr_array(rng.random((N_SAMPLES, 5)) < 0.4),
}

specs = pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS.keys())
forms = pytest.mark.parametrize("single", [False, True], ids=["rows", "single"])
kinds = pytest.mark.parametrize("kind", GROUPS)


def encode(groups):
    return check_groups(groups, groups.shape[0], overlapping=True)


def bind(spec, people, single=False, tolerance=0.05):
    bound = spec.bind(people, Sigmoid(), LogisticLoss(), tolerance)
    return replace(bound, one_row=single)


def smooth_means(bound, scores):
    return bound.means.evaluate(scores)[1] + bound.offset


def violation(constraint, scores):
    """Largest excess of a gap over its tolerance."""
    return max(0.0, *(constraint.gaps(scores) - constraint.tolerances)) if len(constraint) else 0.0


def sample(kind, seed=0):
    """People, their groups before they were encoded, and scores."""
    rng = np.random.default_rng(seed)
    groups, target = GROUPS[kind](rng), rng.choice([-1.0, 1.0], N_SAMPLES)
    people = Samples(target, encode(groups), rng.uniform(0.5, 2, N_SAMPLES))
    return people, groups, rng.normal(size=N_SAMPLES)


def difference_quotients(function, at, step=1e-6):
    """Derivative of a vector-valued function, (n_values, n_variables)."""
    steps = step * np.eye(len(at))
    columns = [(function(at + one) - function(at - one)) / (2 * step) for one in steps]
    return np.reshape(columns, (len(at), len(function(at)))).T


@specs
@forms
@kinds
def test_derivatives(spec, single, kind):
    people, _, scores = sample(kind)
    bound = replace(bind(spec, people, single), offset=np.float64(0.01)).rows
    aux = bound.initial_aux(scores) + 0.1
    found = bound(scores, aux)
    jacobian = found.jacobian.combine @ found.jacobian.cells.toarray()
    np.testing.assert_allclose(
        jacobian, difference_quotients(lambda s: bound(s, aux).values, scores), atol=1e-9
    )
    by_aux = difference_quotients(lambda a: bound(scores, a).values, aux)
    np.testing.assert_allclose(found.aux_jacobian, by_aux, atol=1e-9)
    v = np.random.default_rng(1).normal(size=len(found.values))
    np.testing.assert_allclose(found.jacobian.adjoint(v), v @ jacobian, rtol=1e-12, atol=1e-15)
    hessian = difference_quotients(lambda s: bound(s, aux).jacobian.adjoint(v), scores)
    np.testing.assert_allclose(np.diag(found.curvature(v)), hessian, atol=1e-9)


def least_violation(bound, scores):
    """Least largest excess of a row over all auxiliary unknowns, by linear programming."""
    rows = bound.rows.polyhedron
    values = bound.rows(scores, np.zeros(bound.rows.n_aux)).values
    capped, floored = np.isfinite(rows.upper), np.isfinite(rows.lower)
    by_aux = np.vstack((rows.aux[capped], -rows.aux[floored]))
    room = np.concatenate(((rows.upper - values)[capped], (values - rows.lower)[floored]))
    found = linprog(
        np.append(np.zeros(bound.rows.n_aux), 1.0),
        np.column_stack((by_aux, -np.ones(len(room)))),
        room,
        bounds=[(None, None)] * bound.rows.n_aux + [(0, None)],
    )
    assert found.status == 0
    return found.fun


@specs
@forms
@kinds
def test_rows_can_be_kept_if_and_only_if_the_gap_is(spec, single, kind):
    people, _, scores = sample(kind)
    bound = bind(spec, people, single)
    gap = bound.aggregate(smooth_means(bound, scores))
    kept, missed = replace(bound, tolerance=1.001 * gap), replace(bound, tolerance=0.999 * gap)
    assert least_violation(kept, scores) <= 1e-12
    assert least_violation(missed, scores) >= 1e-3 * gap / 20
    kept = kept.rows
    values = kept(scores, kept.initial_aux(scores)).values
    assert (kept.lower - 1e-12 <= values).all() and (values <= kept.upper + 1e-12).all()


@specs
def test_names_of_groups_do_not_matter(spec):
    people, groups, scores = sample("four")
    renamed = np.array(list("dbca"))[np.searchsorted(list("abcd"), groups)]
    other = people._replace(groups=encode(renamed))
    assert bind(spec, other).gap(scores) == pytest.approx(bind(spec, people).gap(scores), rel=1e-12)


@specs
@forms
def test_one_group(spec, single):
    people, _, scores = sample("two")
    bound = bind(spec, people._replace(groups=encode(np.zeros(N_SAMPLES))), single)
    rows = bound.rows
    values = rows(scores, rows.initial_aux(scores)).values
    if isinstance(spec, BoundedGroupLoss):
        assert values == pytest.approx([smooth_means(bound, scores)[0]])
        assert (rows.lower, rows.upper) == (-np.inf, 0.5)
    else:
        assert len(values) == len(rows.lower) == rows.n_aux == 0
        assert bound.gap(scores) == 0


@specs
@forms
@kinds
def test_integer_weights_equal_repeated_rows(spec, single, kind):
    people, groups, scores = sample(kind)
    repeats = np.random.default_rng(2).integers(1, 4, N_SAMPLES)
    rows = np.repeat(np.arange(N_SAMPLES), repeats)
    repeated = Samples(people.target[rows], encode(groups[rows]), np.ones(len(rows)))
    once, often = (
        bind(spec, some, single).rows for some in (people._replace(weights=repeats), repeated)
    )
    aux = once.initial_aux(scores)
    np.testing.assert_allclose(often.initial_aux(scores[rows]), aux, rtol=1e-12)
    found, expected = once(scores, aux), often(scores[rows], aux)
    np.testing.assert_allclose(found.values, expected.values, atol=1e-14)
    v = np.arange(1.0, 1 + len(found.values))
    sums = np.bincount(rows, expected.jacobian.adjoint(v))
    np.testing.assert_allclose(found.jacobian.adjoint(v), sums, atol=1e-13)


@specs
def test_correction_counts_the_decisions(spec):
    people, _, scores = sample("four")
    bound = bind(spec, people)
    corrected = bound.correct(scores)
    exact = bound.means.exact_at(scores)
    np.testing.assert_allclose(smooth_means(corrected, scores), exact, atol=1e-15)
    halfway = (smooth_means(bound, scores) + exact) / 2
    half = bound.correct(scores, 0.5)
    np.testing.assert_allclose(smooth_means(half, scores), halfway, atol=1e-15)
    again = half.correct(scores, 0.5)
    np.testing.assert_allclose(smooth_means(again, scores), (halfway + exact) / 2, atol=1e-15)
    np.testing.assert_array_equal(bound.rows.correct(scores).offset, corrected.offset)


@specs
@forms
@kinds
def test_means_along_flips_have_the_gap_after_every_flip(spec, single, kind):
    people, _, scores = sample(kind)
    bound = bind(spec, people, single)
    decisions = np.where(scores > 0, 1.0, -1.0)
    order = np.random.default_rng(3).permutation(N_SAMPLES)[:20]
    expected = [bound.gap(decisions)]
    flipped = decisions.copy()
    for i in order:
        flipped[i] *= -1
        expected.append(bound.gap(flipped))
    turns = np.full(N_SAMPLES, len(order))
    turns[order] = np.arange(len(order))
    gaps = bound.aggregate(bound.means.along_flips(decisions, turns, len(order)))
    np.testing.assert_allclose(gaps, expected, atol=1e-13)


@specs
@forms
@kinds
def test_decision_effects_add_up_to_the_rows(spec, single, kind):
    people, _, scores = sample(kind)
    bound = bind(spec, people, single)
    v = np.random.default_rng(4).normal(size=len(bound.rows.lower))
    decisions = np.where(scores > 0, 1.0, -1.0)
    means = bound.means.exact_at(decisions)
    _, combine = bound.rows.exact_at(decisions)
    change = means - bound.means.exact_at(-np.ones(N_SAMPLES))
    effects = _decision_effects(ConstraintSystem((bound,)), decisions, v)
    assert effects[decisions > 0].sum() == pytest.approx(v @ (combine @ change), abs=1e-13)


@specs
@forms
@kinds
def test_the_weighted_excess_is_that_of_the_rows(spec, single, kind):
    people, _, scores = sample(kind)
    bound = bind(spec, people, single)
    rows, system = bound.rows, ConstraintSystem((bound,))
    values, _ = rows.exact_at(scores)
    for r in range(len(values)):
        one = 2.0 * (np.arange(len(values)) == r)
        if np.isfinite(rows.upper[r]):
            above = 2 * (values[r] - rows.upper[r])
            assert _weighted_excess(system, scores, one) == pytest.approx(above)
        if np.isfinite(rows.lower[r]):
            below = 2 * (rows.lower[r] - values[r])
            assert _weighted_excess(system, scores, -one) == pytest.approx(below)


def joint(people):
    specs = [
        DemographicParity(tolerance=0.3),
        EqualizedOdds(aggregate="sum"),
        LossParity(reference="overall"),
    ]
    parts = (*(bind(spec, people) for spec in specs), bind(DemographicParity(), people, True))
    return parts, ConstraintSystem(parts)


@kinds
def test_a_system_stacks_the_rows_of_its_constraints(kind):
    people, _, scores = sample(kind)
    parts, both = joint(people)
    rows = both.rows
    aux = rows.initial_aux(scores) + 0.1
    found = rows(scores, aux)
    ends = np.cumsum([part.rows.n_aux for part in parts])
    alone = [
        part.rows(scores, own) for part, own in zip(parts, np.split(aux, ends[:-1]), strict=True)
    ]
    assert rows.n_aux == ends[-1] == len(aux)
    np.testing.assert_array_equal(found.values, np.concatenate([one.values for one in alone]))
    np.testing.assert_array_equal(rows.lower, np.concatenate([part.rows.lower for part in parts]))
    np.testing.assert_array_equal(rows.upper, np.concatenate([part.rows.upper for part in parts]))
    np.testing.assert_array_equal(both.gaps(scores), [part.gap(scores) for part in parts])
    assert both.tolerances.tolist() == [part.tolerance for part in parts]


def test_the_rows_of_one_constraint_are_its_own():
    people, _, _ = sample("two")
    bound = bind(DemographicParity(), people)
    assert ConstraintSystem((bound,)).rows is bound.rows


@kinds
def test_derivatives_of_stacked_rows(kind):
    people, _, scores = sample(kind)
    both = joint(people)[1].rows
    aux = both.initial_aux(scores)
    found = both(scores, aux)
    jacobian = found.jacobian.combine @ found.jacobian.cells.toarray()
    np.testing.assert_allclose(
        jacobian, difference_quotients(lambda s: both(s, aux).values, scores), atol=1e-9
    )
    by_aux = difference_quotients(lambda a: both(scores, a).values, aux)
    np.testing.assert_allclose(found.aux_jacobian, by_aux, atol=1e-9)
    v = np.random.default_rng(5).normal(size=len(found.values))
    np.testing.assert_allclose(found.jacobian.adjoint(v), v @ jacobian, rtol=1e-12, atol=1e-15)
    hessian = difference_quotients(lambda s: both(s, aux).jacobian.adjoint(v), scores)
    np.testing.assert_allclose(np.diag(found.curvature(v)), hessian, atol=1e-9)


def test_a_system_is_corrected_constraint_by_constraint():
    people, _, scores = sample("four")
    parts, both = joint(people)
    for part, corrected in zip(parts, both.correct(scores), strict=True):
        np.testing.assert_array_equal(corrected.offset, part.correct(scores).offset)


def test_decisions_of_systems():
    people, _, scores = sample("four")
    parts, both = joint(people)
    assert both.statistics == {"decisions", "values"}
    assert ConstraintSystem(parts[:2]).statistics == {"decisions"}
    ends = np.cumsum([len(part.rows.lower) for part in parts])
    v = np.random.default_rng(6).normal(size=ends[-1]) * np.isfinite(both.rows.lower)
    shares = list(zip(parts, both.split_by_constraint(v), strict=True))
    np.testing.assert_array_equal(np.concatenate([own for _, own in shares]), v)
    for function, weights in ((_decision_effects, v), (_weighted_excess, np.abs(v))):
        alone = sum(
            function(ConstraintSystem((part,)), scores, own)
            for part, own in zip(parts, both.split_by_constraint(weights), strict=True)
        )
        np.testing.assert_allclose(function(both, scores, weights), alone, atol=1e-15)


def test_a_system_of_nothing_has_no_rows_and_no_unknowns():
    nothing, scores = ConstraintSystem(()), np.arange(3.0)
    rows = nothing.rows
    found = rows(scores, rows.initial_aux(scores))
    assert len(nothing) == rows.n_aux == len(rows.lower) == len(rows.upper) == 0
    assert len(found.values) == 0
    assert found.aux_jacobian.shape == (0, 0)
    assert (found.jacobian.combine @ found.jacobian.cells).shape == (0, 3)
    np.testing.assert_array_equal(found.jacobian.adjoint(np.empty(0)), np.zeros(3))
    np.testing.assert_array_equal(found.curvature(np.empty(0)), np.zeros(3))
    assert violation(nothing.correct(scores), scores) == 0.0
    assert nothing.statistics <= {"decisions"}
    assert nothing.adds_up


@specs
@kinds
def test_on_some_of_the_samples_it_is_the_constraint_of_these_people(spec, kind):
    people, groups, scores = sample(kind)
    bound, rows = bind(spec, people), np.r_[0:N_SAMPLES:2, 0:N_SAMPLES:3, 1, 1, 1]
    some = Samples(people.target[rows], encode(groups[rows]), people.weights[rows])
    taken, expected = bound.take(rows), bind(spec, some)
    aux = taken.rows.initial_aux(scores[rows])
    np.testing.assert_allclose(aux, expected.rows.initial_aux(scores[rows]), atol=1e-14)
    found, direct = taken.rows(scores[rows], aux), expected.rows(scores[rows], aux)
    np.testing.assert_allclose(found.values, direct.values, atol=1e-14)
    v = np.arange(1.0, 1 + len(found.values))
    np.testing.assert_allclose(found.jacobian.adjoint(v), direct.jacobian.adjoint(v), atol=1e-14)
    np.testing.assert_allclose(found.curvature(v), direct.curvature(v), atol=1e-14)
    assert taken.gap(scores[rows]) == pytest.approx(expected.gap(scores[rows]), rel=1e-13)
    np.testing.assert_array_equal(taken.means.counts, expected.means.counts)
    mask = np.isin(np.arange(N_SAMPLES), rows)
    np.testing.assert_allclose(
        smooth_means(bound.take(mask), scores[mask]),
        smooth_means(bound.take(np.flatnonzero(mask)), scores[mask]),
        atol=1e-15,
    )


def test_an_event_must_not_lose_all_samples():
    people, groups, _ = sample("four")
    with pytest.raises(ValueError, match="Every event needs samples, but event 1 has none"):
        bind(DemographicParity(), people).take(np.flatnonzero(groups != "b"))


@specs
@kinds
def test_drawn_samples_estimate_the_means_of_all_events(spec, kind):
    people, _, scores = sample(kind)
    bound = replace(bind(spec, people), offset=np.float64(0.25))
    rows, drawn = bound.rows.draw(4, random_state=0)
    n_events = bound.events.n_events
    assert len(rows) == 4 * n_events
    np.testing.assert_array_equal(drawn.means.counts, 4)
    inside = bound.events.averaging_matrix.toarray()[np.repeat(np.arange(n_events), 4), rows] > 0
    assert inside.all(), "every sample drawn for an event is in it"
    rates = bound.means.smooth(scores[rows], people.target[rows]).value
    by_hand = rates.reshape(n_events, 4).mean(axis=1) + 0.25
    np.testing.assert_allclose(smooth_means(drawn, scores[rows]), by_hand, atol=1e-14)
    np.testing.assert_array_equal(drawn.upper, bound.rows.upper)
    again, _ = bound.rows.draw(4, random_state=0)
    np.testing.assert_array_equal(again, rows)


def test_draws_go_by_weight():
    people, _, scores = sample("four")
    bound = bind(DemographicParity(), people)
    rows, drawn = bound.rows.draw(20_000, random_state=1)
    expected = smooth_means(bound, scores)
    np.testing.assert_allclose(smooth_means(drawn, scores[rows]), expected, atol=0.01)


@kinds
def test_samples_of_systems(kind):
    people, _, scores = sample(kind)
    parts, both = joint(people)
    rows, drawn = both.rows.draw(3, random_state=2)
    n_events = [part.events.n_events for part in parts]
    assert len(rows) == 3 * sum(n_events) == 3 * both.rows.n_events
    ends = 3 * np.cumsum(n_events)[:-1]
    for part, one, own in zip(parts, drawn.components, np.split(rows, ends), strict=True):
        rates = part.means.smooth(scores[own], people.target[own]).value
        by_hand = rates.reshape(-1, 3).mean(axis=1)
        np.testing.assert_allclose(smooth_means(one, scores[rows]), by_hand, atol=1e-14)
    some = np.r_[0:N_SAMPLES, 0:N_SAMPLES:2]
    for part, one in zip(parts, both.take(some), strict=True):
        expected = smooth_means(part.take(some), scores[some])
        np.testing.assert_array_equal(smooth_means(one, scores[some]), expected)


@specs
def test_means_among_more_scores_are_those_of_their_own(spec):
    rng = np.random.default_rng(0)
    scores, target = rng.normal(size=2 * N_SAMPLES), rng.choice([-1.0, 1.0], N_SAMPLES)
    people = Samples(target, encode(GROUPS["overlapping"](rng)), np.ones(N_SAMPLES))
    own, rows = spec.bind(people, Sigmoid(), LogisticLoss(), 0.1), slice(N_SAMPLES, None)
    placed = replace(own, means=own.means.embed(rows, len(scores)))
    assert placed.gap(scores) == pytest.approx(own.gap(scores[rows]))
    aux = own.rows.initial_aux(scores[rows])
    np.testing.assert_allclose(placed.rows.initial_aux(scores), aux)
    values = own.rows(scores[rows], aux).values
    np.testing.assert_allclose(placed.rows(scores, aux).values, values)


def test_rows_of_nothing_stack_and_are_drawn():
    people, _, scores = sample("two")
    bound = bind(DemographicParity(), people)
    stacked, alone = StackedRows((NoRows(), bound.rows)), bound.rows
    aux = stacked.initial_aux(scores)
    found, expected = stacked(scores, aux), alone(scores, aux)
    np.testing.assert_array_equal(found.values, expected.values)
    v = np.ones(len(expected.values))
    np.testing.assert_array_equal(found.jacobian.adjoint(v), expected.jacobian.adjoint(v))
    combined = (found.jacobian.combine @ found.jacobian.cells).toarray()
    np.testing.assert_array_equal(combined, expected.jacobian.combine @ expected.jacobian.cells)
    rows, drawn = stacked.draw(3, random_state=0, first=[5])
    assert len(rows) == 1 + 3 * bound.events.n_events
    assert len(drawn.lower) == len(alone.lower)
    rows, drawn = NoRows().draw(3, first=[5, 7])
    assert rows.tolist() == [5, 7] and not len(drawn.lower)


def test_an_offset_and_a_tolerance_share_what_is_known_of_the_flips():
    people, _, _ = sample("two")
    bound = bind(DemographicParity(), people)
    effects = bound.means.flip_effects
    changed = replace(bound, tolerance=0.3, offset=np.ones(2))
    assert changed.means.flip_effects is effects
