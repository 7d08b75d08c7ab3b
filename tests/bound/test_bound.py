"""Rows, derivatives and decisions of constraints; `test_constraint_metrics` compares their gaps."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

from skfair._bound.bound import ConstraintSystem, decision_outcomes, draw_batch
from skfair._bound.rows import StackedRows
from skfair._fitting.counting import disjoint_layers
from skfair._groups import check_groups
from skfair._postprocessing.events import _embed_constraint
from skfair.constraints import (
    CONSTRAINTS,
    BoundedGroupLoss,
    DemographicParity,
    EqualizedOdds,
    EqualizedOddsLossParity,
    ErrorRateParity,
    LossParity,
)
from skfair.constraints._rates import NamedRateParity
from skfair.groups import Samples
from skfair.losses import LogisticLoss
from skfair.surrogates import Sigmoid

pytestmark = pytest.mark.covering(2)

N_SAMPLES = 40
SPECS = {
    # Quotients that depend on decisions are no means, and have tests of their own.
    **{
        name: kind()
        for name, kind in CONSTRAINTS.items()
        if not name.startswith("partial_") and not issubclass(kind, NamedRateParity)
    },
    "equalized_odds sum": EqualizedOdds(aggregate="sum"),
    "equalized_odds overall": EqualizedOdds(reference="overall"),
    "equalized_odds above overall": EqualizedOdds(reference="above_overall"),
    "equalized_odds_loss sum": EqualizedOddsLossParity(aggregate="sum"),
    "loss_parity mean": LossParity(reference="overall", aggregate="mean", loss="squared"),
    "loss_parity mean above": LossParity(reference="above_overall", aggregate="mean"),
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


def bind(spec, samples, single=False, tolerance=0.05):
    bound = spec.bind(samples, Sigmoid(), LogisticLoss(), tolerance)
    return replace(bound, one_row=single)


def smooth_sums(bound, scores):
    return bound.sums.smooth_means(scores) + bound.offset


def violation(constraint, scores):
    """Largest excess of a gap over its tolerance."""
    return max(0.0, *(constraint.gaps(scores) - constraint.tolerances)) if len(constraint) else 0.0


def sample(kind, seed=0):
    """Samples, their groups before encoding, and scores."""
    rng = np.random.default_rng(seed)
    groups = GROUPS[kind](rng)
    target = rng.choice([-1.0, 1.0], N_SAMPLES)
    samples = Samples(target, encode(groups), rng.uniform(0.5, 2, N_SAMPLES))
    return samples, groups, rng.normal(size=N_SAMPLES)


def difference_quotients(function, at, step=1e-6):
    """Derivative of a vector-valued function, (n_values, n_variables)."""
    steps = step * np.eye(len(at))
    columns = [(function(at + one) - function(at - one)) / (2 * step) for one in steps]
    return np.reshape(columns, (len(at), len(function(at)))).T


@pytest.mark.covering(0)
@specs
@forms
@kinds
def test_derivatives(spec, single, kind):
    samples, _, scores = sample(kind)
    bound = replace(bind(spec, samples, single), offset=np.float64(0.01)).rows
    aux = bound.initial_aux(scores) + 0.1
    result = bound(scores, aux)
    jacobian = result.jacobian.means_to_rows @ result.jacobian.basis.toarray()
    np.testing.assert_allclose(
        jacobian, difference_quotients(lambda s: bound(s, aux).values, scores), atol=1e-9
    )
    by_aux = difference_quotients(lambda a: bound(scores, a).values, aux)
    np.testing.assert_allclose(result.aux_jacobian, by_aux, atol=1e-9)
    v = np.random.default_rng(1).normal(size=len(result.values))
    np.testing.assert_allclose(result.jacobian.adjoint(v), v @ jacobian, rtol=1e-12, atol=1e-15)
    hessian = difference_quotients(lambda s: bound(s, aux).jacobian.adjoint(v), scores)
    np.testing.assert_allclose(np.diag(result.curvature(v)), hessian, atol=1e-9)


def minimize_violation(bound, scores):
    """Least largest excess of a row over all auxiliary unknowns, by linear programming."""
    rows = bound.rows
    values = rows(scores, np.zeros(rows.n_aux)).values
    capped, floored = np.isfinite(rows.upper), np.isfinite(rows.lower)
    by_aux = np.vstack((rows.aux_jacobian[capped], -rows.aux_jacobian[floored]))
    slacks = np.concatenate(((rows.upper - values)[capped], (values - rows.lower)[floored]))
    result = linprog(
        np.append(np.zeros(rows.n_aux), 1.0),
        np.column_stack((by_aux, -np.ones(len(slacks)))),
        slacks,
        bounds=[(None, None)] * rows.n_aux + [(0, None)],
    )
    assert result.status == 0
    return result.fun


@pytest.mark.covering(1)
@specs
@forms
@kinds
def test_rows_are_feasible_if_and_only_if_the_gap_is_within_tolerance(spec, single, kind):
    samples, _, scores = sample(kind)
    bound = bind(spec, samples, single)
    gap = bound.gap(smooth_sums(bound, scores))
    met = replace(bound, tolerance=1.001 * gap)
    violated = replace(bound, tolerance=0.999 * gap)
    assert minimize_violation(met, scores) <= 1e-12
    assert minimize_violation(violated, scores) >= 1e-3 * gap / 20
    met = met.rows
    values = met(scores, met.initial_aux(scores)).values
    assert (met.lower - 1e-12 <= values).all() and (values <= met.upper + 1e-12).all()


@specs
def test_names_of_groups_do_not_matter(spec):
    samples, groups, scores = sample("four")
    renamed = np.array(list("dbca"))[np.searchsorted(list("abcd"), groups)]
    other = samples._replace(groups=encode(renamed))
    assert bind(spec, other).value(scores) == pytest.approx(
        bind(spec, samples).value(scores), rel=1e-12
    )


@specs
@forms
def test_one_group(spec, single):
    samples, _, scores = sample("two")
    bound = bind(spec, samples._replace(groups=encode(np.zeros(N_SAMPLES))), single)
    rows = bound.rows
    values = rows(scores, rows.initial_aux(scores)).values
    if isinstance(spec, BoundedGroupLoss):
        assert values == pytest.approx([smooth_sums(bound, scores)[0]])
        assert (rows.lower, rows.upper) == (-np.inf, 0.5)
    else:
        assert len(values) == len(rows.lower) == rows.n_aux == 0
        assert bound.value(scores) == 0


@pytest.mark.covering(1)
@specs
@forms
@kinds
def test_integer_weights_equal_repeated_rows(spec, single, kind):
    samples, groups, scores = sample(kind)
    repeats = np.random.default_rng(2).integers(1, 4, N_SAMPLES)
    rows = np.repeat(np.arange(N_SAMPLES), repeats)
    repeated = Samples(samples.target[rows], encode(groups[rows]), np.ones(len(rows)))
    once, often = (
        bind(spec, data, single).rows for data in (samples._replace(weights=repeats), repeated)
    )
    aux = once.initial_aux(scores)
    np.testing.assert_allclose(often.initial_aux(scores[rows]), aux, rtol=1e-12)
    result = once(scores, aux)
    expected = often(scores[rows], aux)
    np.testing.assert_allclose(result.values, expected.values, atol=1e-14)
    v = np.arange(1.0, 1 + len(result.values))
    sums = np.bincount(rows, expected.jacobian.adjoint(v))
    np.testing.assert_allclose(result.jacobian.adjoint(v), sums, atol=1e-13)


@specs
def test_correction_counts_the_decisions(spec):
    samples, _, scores = sample("four")
    bound = bind(spec, samples)
    corrected = bound.move_offset(bound.rows.residual(scores))
    exact = bound.sums.exact_means(scores)
    np.testing.assert_allclose(smooth_sums(corrected, scores), exact, atol=1e-15)
    halfway = (smooth_sums(bound, scores) + exact) / 2
    half = bound.move_offset(bound.rows.residual(scores), 0.5)
    np.testing.assert_allclose(smooth_sums(half, scores), halfway, atol=1e-15)
    again = half.move_offset(half.rows.residual(scores), 0.5)
    np.testing.assert_allclose(smooth_sums(again, scores), (halfway + exact) / 2, atol=1e-15)
    np.testing.assert_array_equal(bound.rows.correct(scores).offset, corrected.offset)


@specs
@forms
@kinds
def test_outcomes_and_layers_give_the_gap_of_any_decisions(spec, single, kind):
    samples, _, _ = sample(kind)
    bound = bind(spec, samples, single)
    rng = np.random.default_rng(3)
    layers = disjoint_layers(bound.sums.events)
    for share in (0.0, 0.3, 1.0):
        decisions = np.where(rng.random(N_SAMPLES) < share, 1.0, -1.0)
        sums = []
        for low, change in decision_outcomes(bound.sums):
            total = np.append(bound.sums.events.means(low), 0.0)
            for codes, weights in layers:
                np.add.at(total, codes, weights * change * (decisions > 0))
            sums.append(total[:-1])
        gap = bound.gap(bound.sums.rates(np.concatenate(sums)))
        np.testing.assert_allclose(gap, bound.value(decisions), atol=1e-13)


def make_system(samples):
    specs = [
        DemographicParity(tolerance=0.3),
        EqualizedOdds(aggregate="sum"),
        LossParity(reference="overall"),
    ]
    components = (
        *(bind(spec, samples) for spec in specs),
        bind(DemographicParity(), samples, True),
    )
    return components, ConstraintSystem(components)


@kinds
def test_a_system_stacks_the_rows_of_its_constraints(kind):
    samples, _, scores = sample(kind)
    components, system = make_system(samples)
    rows = system.rows
    aux = rows.initial_aux(scores) + 0.1
    result = rows(scores, aux)
    ends = np.cumsum([component.rows.n_aux for component in components])
    alone = [
        component.rows(scores, unknowns)
        for component, unknowns in zip(components, np.split(aux, ends[:-1]), strict=True)
    ]
    assert rows.n_aux == ends[-1] == len(aux)
    np.testing.assert_array_equal(result.values, np.concatenate([one.values for one in alone]))
    np.testing.assert_array_equal(
        rows.lower, np.concatenate([component.rows.lower for component in components])
    )
    np.testing.assert_array_equal(
        rows.upper, np.concatenate([component.rows.upper for component in components])
    )
    np.testing.assert_array_equal(
        system.gaps(scores), [component.value(scores) for component in components]
    )
    assert system.tolerances.tolist() == [component.tolerance for component in components]


def test_a_system_of_one_constraint_has_its_rows():
    samples, _, _ = sample("two")
    bound = bind(DemographicParity(), samples)
    assert ConstraintSystem((bound,)).rows is bound.rows


@kinds
def test_derivatives_of_stacked_rows(kind):
    samples, _, scores = sample(kind)
    system = make_system(samples)[1].rows
    aux = system.initial_aux(scores)
    result = system(scores, aux)
    jacobian = result.jacobian.means_to_rows @ result.jacobian.basis.toarray()
    np.testing.assert_allclose(
        jacobian, difference_quotients(lambda s: system(s, aux).values, scores), atol=1e-9
    )
    by_aux = difference_quotients(lambda a: system(scores, a).values, aux)
    np.testing.assert_allclose(result.aux_jacobian, by_aux, atol=1e-9)
    v = np.random.default_rng(5).normal(size=len(result.values))
    np.testing.assert_allclose(result.jacobian.adjoint(v), v @ jacobian, rtol=1e-12, atol=1e-15)
    hessian = difference_quotients(lambda s: system(s, aux).jacobian.adjoint(v), scores)
    np.testing.assert_allclose(np.diag(result.curvature(v)), hessian, atol=1e-9)


def test_a_system_is_corrected_constraint_by_constraint():
    samples, _, scores = sample("four")
    components, system = make_system(samples)
    for component, corrected in zip(components, system.correct(scores), strict=True):
        np.testing.assert_array_equal(
            corrected.offset, component.move_offset(component.rows.residual(scores)).offset
        )


def test_decisions_of_systems():
    samples, _, scores = sample("four")
    components, system = make_system(samples)
    assert system.metric_inputs == {"decisions", "values"}
    assert ConstraintSystem(components[:2]).metric_inputs == {"decisions"}
    ends = np.cumsum([len(component.rows.lower) for component in components])
    v = np.random.default_rng(6).normal(size=ends[-1]) * np.isfinite(system.rows.lower)
    shares = list(zip(components, system.stacked_rows.split_by_constraint(v), strict=True))
    np.testing.assert_array_equal(np.concatenate([share for _, share in shares]), v)


def test_a_system_of_nothing_has_no_rows_and_no_unknowns():
    nothing = ConstraintSystem(())
    scores = np.arange(3.0)
    rows = nothing.rows
    result = rows(scores, rows.initial_aux(scores))
    assert len(nothing) == rows.n_aux == len(rows.lower) == len(rows.upper) == 0
    assert len(result.values) == 0
    assert result.aux_jacobian.shape == (0, 0)
    assert (result.jacobian.means_to_rows @ result.jacobian.basis).shape == (0, 3)
    np.testing.assert_array_equal(result.jacobian.adjoint(np.empty(0)), np.zeros(3))
    np.testing.assert_array_equal(result.curvature(np.empty(0)), np.zeros(3))
    assert violation(nothing.correct(scores), scores) == 0.0
    assert nothing.metric_inputs <= {"decisions"}
    assert nothing.adds_up


@specs
@kinds
def test_a_subset_of_a_bound_constraint_is_that_of_the_subset(spec, kind):
    samples, groups, scores = sample(kind)
    bound = bind(spec, samples)
    rows = np.r_[0:N_SAMPLES:2, 0:N_SAMPLES:3, 1, 1, 1]
    direct_samples = Samples(samples.target[rows], encode(groups[rows]), samples.weights[rows])
    subset = bound.take(rows)
    expected = bind(spec, direct_samples)
    aux = subset.rows.initial_aux(scores[rows])
    np.testing.assert_allclose(aux, expected.rows.initial_aux(scores[rows]), atol=1e-14)
    result = subset.rows(scores[rows], aux)
    direct = expected.rows(scores[rows], aux)
    np.testing.assert_allclose(result.values, direct.values, atol=1e-14)
    v = np.arange(1.0, 1 + len(result.values))
    np.testing.assert_allclose(result.jacobian.adjoint(v), direct.jacobian.adjoint(v), atol=1e-14)
    np.testing.assert_allclose(result.curvature(v), direct.curvature(v), atol=1e-14)
    assert subset.value(scores[rows]) == pytest.approx(expected.value(scores[rows]), rel=1e-13)
    np.testing.assert_array_equal(subset.sums.cells.counts, expected.sums.cells.counts)
    mask = np.isin(np.arange(N_SAMPLES), rows)
    np.testing.assert_allclose(
        smooth_sums(bound.take(mask), scores[mask]),
        smooth_sums(bound.take(np.flatnonzero(mask)), scores[mask]),
        atol=1e-15,
    )


def test_an_event_must_not_lose_all_samples():
    samples, groups, _ = sample("four")
    with pytest.raises(ValueError, match="Every event needs samples, but event 1 has none"):
        bind(DemographicParity(), samples).take(np.flatnonzero(groups != "b"))


@specs
@kinds
def test_drawn_samples_estimate_the_means_of_all_events(spec, kind):
    samples, _, scores = sample(kind)
    bound = replace(bind(spec, samples), offset=np.float64(0.25))
    rows, drawn = draw_batch(bound.rows, 4, random_state=0)
    n_events = bound.sums.events.n_events
    assert len(rows) == 4 * n_events
    np.testing.assert_array_equal(drawn.sums.cells.counts, 4)
    inside = (
        bound.sums.events.averaging_matrix.toarray()[np.repeat(np.arange(n_events), 4), rows] > 0
    )
    assert inside.all(), "every sample drawn for an event is in it"
    rates = bound.sums.smooth[0](scores[rows], samples.target[rows]).value
    by_hand = rates.reshape(n_events, 4).mean(axis=1) + 0.25
    np.testing.assert_allclose(smooth_sums(drawn, scores[rows]), by_hand, atol=1e-14)
    np.testing.assert_array_equal(drawn.upper, bound.rows.upper)
    again, _ = draw_batch(bound.rows, 4, random_state=0)
    np.testing.assert_array_equal(again, rows)


def test_draws_go_by_weight():
    samples, _, scores = sample("four")
    bound = bind(DemographicParity(), samples)
    rows, drawn = draw_batch(bound.rows, 20_000, random_state=1)
    expected = smooth_sums(bound, scores)
    np.testing.assert_allclose(smooth_sums(drawn, scores[rows]), expected, atol=0.01)


@kinds
def test_samples_of_systems(kind):
    samples, _, scores = sample(kind)
    components, system = make_system(samples)
    rows, drawn = draw_batch(system.rows, 3, random_state=2)
    n_events = [component.sums.events.n_events for component in components]
    assert len(rows) == 3 * sum(n_events)
    ends = 3 * np.cumsum(n_events)[:-1]
    for component, one, inside in zip(
        components, drawn.components, np.split(rows, ends), strict=True
    ):
        rates = component.sums.smooth[0](scores[inside], samples.target[inside]).value
        by_hand = rates.reshape(-1, 3).mean(axis=1)
        np.testing.assert_allclose(smooth_sums(one, scores[rows]), by_hand, atol=1e-14)
    rows_twice = np.r_[0:N_SAMPLES, 0:N_SAMPLES:2]
    for component, one in zip(components, system.take(rows_twice), strict=True):
        expected = smooth_sums(component.take(rows_twice), scores[rows_twice])
        np.testing.assert_array_equal(smooth_sums(one, scores[rows_twice]), expected)


@specs
def test_embedded_means_are_those_of_their_own_scores(spec):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=2 * N_SAMPLES)
    target = rng.choice([-1.0, 1.0], N_SAMPLES)
    samples = Samples(target, encode(GROUPS["overlapping"](rng)), np.ones(N_SAMPLES))
    bound = spec.bind(samples, Sigmoid(), LogisticLoss(), 0.1)
    rows = slice(N_SAMPLES, None)
    placed = _embed_constraint(bound, rows, len(scores))
    assert placed.value(scores) == pytest.approx(bound.value(scores[rows]))
    aux = bound.rows.initial_aux(scores[rows])
    np.testing.assert_allclose(placed.rows.initial_aux(scores), aux)
    values = bound.rows(scores[rows], aux).values
    np.testing.assert_allclose(placed.rows(scores, aux).values, values)


def test_rows_of_nothing_stack_and_are_drawn():
    samples, _, scores = sample("two")
    bound = bind(DemographicParity(), samples)
    stacked = StackedRows((StackedRows(()), bound.rows))
    alone = bound.rows
    aux = stacked.initial_aux(scores)
    result = stacked(scores, aux)
    expected = alone(scores, aux)
    np.testing.assert_array_equal(result.values, expected.values)
    v = np.ones(len(expected.values))
    np.testing.assert_array_equal(result.jacobian.adjoint(v), expected.jacobian.adjoint(v))
    combined = (result.jacobian.means_to_rows @ result.jacobian.basis).toarray()
    np.testing.assert_array_equal(
        combined, expected.jacobian.means_to_rows @ expected.jacobian.basis
    )
    rows, drawn = draw_batch(stacked, 3, random_state=0, first=[5])
    assert len(rows) == 1 + 3 * bound.sums.events.n_events
    assert len(drawn.lower) == len(alone.lower)
    rows, drawn = draw_batch(StackedRows(()), 3, first=[5, 7])
    assert rows.tolist() == [5, 7] and not len(drawn.lower)
