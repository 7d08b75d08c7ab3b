"""Guarantees on new data: folds, margins, and reports about samples that are too small."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from skfair._bound.bound import ConstraintSystem, make_posterior
from skfair._fitting.guarantee import (
    _AIMED_RISK_SHARE,
    _ERROR_FACTORS,
    _REFUSED_ERROR_FACTOR,
    _SELECTION_SHARE,
    N_FOLDS,
    _assign_folds,
    _Evidence,
    fit_with_guarantee,
)
from skfair._groups import check_groups
from skfair.constraints import (
    DemographicParity,
    EqualOpportunity,
    LossParity,
    MeanParity,
    PartialStatisticalParity,
)
from skfair.groups import Samples
from skfair.losses import LogisticLoss
from skfair.surrogates import Sigmoid


class FittedScores(NamedTuple):
    """Scores of a fit without a model."""

    scores: np.ndarray

    is_unconstrained = False


def bind_all(*constraints, target, groups, tolerance=0.1):
    samples = Samples(target, check_groups(groups, len(target)), np.ones(len(target)))
    bound = (one.bind(samples, Sigmoid(), LogisticLoss(), tolerance) for one in constraints)
    return ConstraintSystem(tuple(bound))


def decisions(groups, gap, rate=0.4):
    """Scores, positive for so many of each of two groups: the rates differ by exactly the gap."""
    scores = np.full(len(groups), -1.0)
    for group, share in ((0, rate - gap / 2), (1, rate + gap / 2)):
        members = np.flatnonzero(groups == group)
        scores[members[: round(share * len(members))]] = 1.0
    return scores


def margin(error, level=0.95):
    """Distance from a tolerance that the search aims at, of a standard error."""
    return norm.ppf(1.0 - _AIMED_RISK_SHARE * (1.0 - level)) * _ERROR_FACTORS["decisions"] * error


def make_exact_fit(groups, optimism=0.0):
    """A fit that is at its tolerance on its training samples, and above it on the others."""

    def make_fit(rows):
        return lambda tolerances, latest=None: scores_at(groups, min(tolerances), rows, optimism)

    return make_fit


def scores_at(groups, gap, rows=None, optimism=0.0):
    """Decisions of a gap on the rows of a fit, and of a larger one on the others."""
    inside = np.ones(len(groups), dtype=bool)
    if rows is not None:
        inside = np.isin(np.arange(len(groups)), rows)
    scores = np.empty(len(groups))
    for where, rate_gap in ((inside, gap), (~inside, gap + optimism)):
        scores[where] = decisions(groups[where], rate_gap)
    return FittedScores(scores)


def test_without_optimism_the_margin_is_that_of_sampling_noise():
    groups = np.repeat([0, 1], 2000)
    constraint = bind_all(DemographicParity(), target=np.ones(4000), groups=groups)
    result = fit_with_guarantee(constraint, 0.95, make_exact_fit(groups))
    error = np.sqrt(2 * 0.4 * 0.6 / 2000)
    assert result.training_tolerances[0] == pytest.approx(0.1 - margin(error), abs=0.003)
    assert result.probability == pytest.approx(1.0 - _AIMED_RISK_SHARE * 0.05, abs=0.01)
    assert result.probability >= 0.95
    assert result.size_factor == 1.0


@pytest.mark.parametrize("optimism", [0.01, 0.02, 0.04])
def test_the_optimism_of_the_training_data_is_subtracted_in_full(optimism):
    # It does not shrink with the tolerance, so the tolerance is lower by all of it.
    groups = np.repeat([0, 1], 20_000)  # the gap of a fold is rounded to one of its samples
    constraint = bind_all(DemographicParity(), target=np.ones(40_000), groups=groups)
    plain = fit_with_guarantee(constraint, 0.95, make_exact_fit(groups))
    optimistic = fit_with_guarantee(constraint, 0.95, make_exact_fit(groups, optimism=optimism))
    lower = plain.training_tolerances[0] - optimistic.training_tolerances[0]
    assert lower == pytest.approx(optimism, abs=0.001)
    assert optimistic.probability == pytest.approx(1.0 - _AIMED_RISK_SHARE * 0.05, abs=0.01)


def test_a_fit_far_below_its_tolerance_is_not_repeated():
    groups = np.repeat([0, 1], 2000)
    calls = []
    constraint = bind_all(DemographicParity(), target=np.ones(4000), groups=groups)

    def make_fit(rows):
        def fit(tolerances, latest=None):
            calls.append(rows)
            return scores_at(groups, 0.01)

        return fit

    result = fit_with_guarantee(constraint, 0.95, make_fit)
    assert result.training_tolerances == [0.1]
    assert result.probability > 0.99
    assert len(calls) == 1 + N_FOLDS  # no second round, no last fit


def test_a_lowered_tolerance_is_checked_by_another_round_of_folds():
    groups = np.repeat([0, 1], 20_000)
    calls = []
    constraint = bind_all(DemographicParity(), target=np.ones(40_000), groups=groups)

    def make_fit(rows):
        def fit(tolerances, latest=None):
            calls.append((rows is None, tolerances[0]))
            return scores_at(groups, tolerances[0], rows, 0.02)

        return fit

    result = fit_with_guarantee(constraint, 0.95, make_fit)
    rounds = [tolerance for is_full, tolerance in calls if not is_full]
    assert len(rounds) == 2 * N_FOLDS
    assert rounds[-1] < rounds[0] - 0.015
    assert result.training_tolerances[0] == pytest.approx(rounds[-1], abs=0.003)
    assert [call for call in calls if call[0]][-1] == (True, result.training_tolerances[0])


def test_the_returned_tolerance_had_folds_where_the_first_fit_is_plain():
    # Its gap is .095 without a constraint: certain only at a lower tolerance.
    groups = np.repeat([0, 1], 20_000)
    calls = []
    constraint = bind_all(DemographicParity(), target=np.ones(40_000), groups=groups)

    def make_fit(rows):
        def fit(tolerances, latest=None):
            calls.append((rows is None, tolerances[0]))
            return scores_at(groups, min(0.095, tolerances[0]), rows, 0.02)

        return fit

    result = fit_with_guarantee(constraint, 0.95, make_fit)
    rounds = [tolerance for is_full, tolerance in calls if not is_full]
    assert len(rounds) == 2 * N_FOLDS
    assert rounds[0] == pytest.approx(0.1 - margin(0.0049), abs=0.001)
    last = [call for call in calls if call[0]][-1]
    assert last == (True, rounds[-1]) == (True, result.training_tolerances[0])
    # Less the optimism of .02 and the margin.
    assert result.training_tolerances[0] == pytest.approx(0.1 - 0.02 - margin(0.0049), abs=0.001)
    assert result.probability == pytest.approx(1.0 - _AIMED_RISK_SHARE * 0.05, abs=0.01)


def make_slow_fit(groups, slope, gap_outside, calls):
    """A fit that is plain at .095, whose gap elsewhere falls by part of the training gap's fall."""

    def make_fit(rows):
        def fit(tolerances, latest=None):
            training = min(0.095, tolerances[0])
            outside = gap_outside - slope * (0.095 - training)
            calls.append((rows is None, tolerances[0], outside))
            return scores_at(groups, training, rows, outside - training)

        return fit

    return make_fit


@pytest.mark.parametrize("slope", [0.4, 0.6, 1.0])
def test_a_guarantee_is_given_only_where_out_of_fold_gaps_are_certain(slope):
    # The assumption that they fall as training gaps do would end the search too early.
    groups = np.repeat([0, 1], 20_000)
    calls = []
    constraint = bind_all(DemographicParity(), target=np.ones(40_000), groups=groups)
    make_fit = make_slow_fit(groups, slope, 0.097, calls)
    result = fit_with_guarantee(constraint, 0.95, make_fit)
    certain = 0.1 - norm.ppf(0.95) * _ERROR_FACTORS["decisions"] * 0.0049
    assert result.probability >= 0.95
    assert calls[-1][2] <= certain + 2e-4  # a posterior is not quite normal
    assert calls[-1][2] >= certain - 0.005


def test_a_tolerance_out_of_reach_is_refused_and_the_smallest_that_is_kept_is_stated():
    groups = np.repeat([0, 1], 20_000)
    calls = []
    constraint = bind_all(DemographicParity(), target=np.ones(40_000), groups=groups)
    result = fit_with_guarantee(constraint, 0.95, make_slow_fit(groups, 0.1, 0.16, calls))
    outside = calls[-1][2]
    assert result.probability < 0.2
    stated = outside + norm.ppf(0.95) * _ERROR_FACTORS["decisions"] * 0.0049
    np.testing.assert_allclose(result.limits, [stated], atol=0.001)
    rounds = [tolerance for is_full, tolerance, _ in calls if not is_full]
    assert len(rounds) == 3 * N_FOLDS
    assert result.training_tolerances == [rounds[-1]]


def test_no_round_follows_where_equal_rates_would_not_be_certain_enough():
    groups = np.repeat([0, 1], 100)
    calls = []
    constraint = bind_all(DemographicParity(), target=np.ones(200), groups=groups)

    def make_fit(rows):
        def fit(tolerances, latest=None):
            calls.append(rows)
            return scores_at(groups, tolerances[0], rows, 0.05)

        return fit

    assert fit_with_guarantee(constraint, 0.95, make_fit).probability < 0.9
    assert len(calls) == 1 + N_FOLDS + 1


def test_no_third_round_is_made_where_losses_cannot_fall_far_enough():
    # Losses are equal within groups, and their gap on other samples falls by a tenth of training's.
    groups = np.repeat([0, 1], 1500)
    target = np.ones(3000)
    calls = []
    constraint = bind_all(LossParity(), target=target, groups=groups, tolerance=0.1)

    def make_fit(rows):
        inside = np.isin(np.arange(3000), np.arange(3000) if rows is None else rows)

        def fit(tolerances, latest=None):
            calls.append(rows)
            training = min(0.09, tolerances[0])
            gaps = np.where(inside, training, 0.16 - 0.1 * (0.09 - training))
            loss = np.log(2.0) - np.where(groups == 1, gaps, 0.0)
            return FittedScores(-np.log(np.expm1(loss)))

        return fit

    result = fit_with_guarantee(constraint, 0.95, make_fit)
    assert result.probability < 1e-3
    assert len([rows for rows in calls if rows is not None]) == 2 * N_FOLDS
    assert result.limits[0] == pytest.approx(
        0.16 - 0.1 * (0.09 - result.training_tolerances[0]), abs=1e-3
    )


def test_the_smallest_tolerance_that_is_kept_is_hardly_less_than_one_that_is_just_certain():
    groups = np.repeat([0, 1], 20_000)
    constraint = bind_all(DemographicParity(), target=np.ones(40_000), groups=groups)
    result = fit_with_guarantee(constraint, 0.95, make_exact_fit(groups))
    assert result.probability >= 0.95
    assert 0.097 < result.limits[0] <= 0.1
    stated = bind_all(
        DemographicParity(), target=np.ones(40_000), groups=groups, tolerance=result.limits[0]
    )
    posterior = make_posterior(stated[0], decisions(groups, result.training_tolerances[0]))
    assert posterior.probability(1.0, _ERROR_FACTORS["decisions"] ** -2) == pytest.approx(
        0.95, abs=0.01
    )


def test_the_gap_of_ranks_that_pooled_scores_of_several_models_hide_is_added():
    # One group has equal scores, half of the other are above them and half below. Every model has
    # the gap 1/2, and its own scale: the pooled scores have a gap of about 1/10.
    groups = np.repeat([0, 1], 1000)
    target = np.ones(2000)
    parity = PartialStatisticalParity((0.0, 1.0))
    constraint = bind_all(parity, target=target, groups=groups, tolerance=0.3)
    scores = np.where(groups == 0, 0.0, np.where(np.arange(2000) % 2, 0.1, -0.1))
    offsets = iter([0.0, -2.0, -1.0, 0.0, 1.0, 2.0])

    def make_fit(rows):
        result = FittedScores(scores + next(offsets))
        return lambda tolerances, latest=None: result

    assert constraint.gaps(scores) == [0.5]
    result = fit_with_guarantee(constraint, 0.8, make_fit)
    assert result.probability < 1e-3
    assert 0.5 <= result.limits[0] < 0.55


def test_the_smallest_ratio_that_is_kept():
    groups = np.repeat([0, 1], 2000)
    parity = DemographicParity(ratio=0.8)
    constraint = bind_all(parity, target=np.ones(4000), groups=groups)
    scores = FittedScores(decisions(groups, 0.2))  # a ratio of .3 / .5
    result = fit_with_guarantee(constraint, 0.95, lambda *_: lambda *_: scores)
    assert result.probability < 1e-6
    # The logarithm of the ratio has the variance of the delta method.
    error = _ERROR_FACTORS["decisions"] * np.sqrt(0.7 / 0.3 / 2000 + 0.5 / 0.5 / 2000)
    assert 1.0 - result.limits[0] == pytest.approx(0.6 * np.exp(-1.645 * error), abs=0.005)


def test_a_last_fit_above_its_tolerance_gets_the_probability_of_its_gap():
    groups = np.repeat([0, 1], 2000)
    constraint = bind_all(DemographicParity(), target=np.ones(4000), groups=groups)

    calls = []

    def make_fit(rows):
        def fit(tolerances, latest=None):
            calls.append(rows)
            return scores_at(groups, max(tolerances[0], 0.09))

        return fit

    assert fit_with_guarantee(constraint, 0.95, make_fit).probability < 0.9
    assert len(calls) == 1 + N_FOLDS + 1  # no fit at a smaller tolerance


@pytest.mark.slow
@settings(max_examples=10)
@given(st.floats(0.5, 0.9), st.integers(200, 1000))
def test_higher_confidence_and_smaller_samples_lower_the_tolerance(confidence, n):
    result = []
    for size, level in ((n, confidence), (n, (1 + confidence) / 2), (4 * n, confidence)):
        groups = np.repeat([0, 1], size)
        constraint = bind_all(DemographicParity(), target=np.ones(2 * size), groups=groups)
        result.append(
            fit_with_guarantee(constraint, level, make_exact_fit(groups)).training_tolerances[0]
        )
    resolution = N_FOLDS / n  # the gap of each fold is rounded to one of its samples
    assert result[1] <= result[0] + resolution
    assert result[2] >= result[0] - resolution


def test_a_small_sample_gets_the_factor_of_the_required_size():
    groups = np.repeat([0, 1], 50)
    constraint = bind_all(DemographicParity(), target=np.ones(100), groups=groups)
    result = fit_with_guarantee(constraint, 0.95, make_exact_fit(groups))
    assert result.probability < 0.95
    # Gaps of nearly 0, of which both signs count: errors of 1.96 standard deviations.
    error = np.sqrt(2 * 0.4 * 0.6 / 50)
    low = 1.645**2 * (error / 0.1) ** 2
    high = 2.3**2 * (error / 0.1) ** 2
    assert low < result.size_factor < high
    # The fit is nearly as certain as one of equal rates.
    posterior = make_posterior(constraint[0], decisions(groups, 0.0))
    factor = _ERROR_FACTORS["decisions"] * _REFUSED_ERROR_FACTOR
    equal = posterior.probability(0.0, factor**-2)
    assert 1.0 - result.probability == pytest.approx(1.0 - equal, rel=0.25)
    assert 1 / 50 < result.training_tolerances[0] < 0.05


def test_a_tolerance_of_0_has_no_guarantee():
    groups = np.repeat([0, 1], 50)
    constraint = bind_all(DemographicParity(), target=np.ones(100), groups=groups, tolerance=0.0)
    result = fit_with_guarantee(constraint, 0.95, make_exact_fit(groups))
    assert result.probability == 0.0
    assert result.size_factor == np.inf


def test_a_cell_of_one_sample_cannot_be_held_out():
    groups = np.repeat([0, 1], [99, 1])
    target = np.ones(100)
    constraint = bind_all(DemographicParity(), target=target, groups=groups, tolerance=0.3)
    fitted_rows = []

    def make_fit(rows):
        fitted_rows.append(rows)
        return lambda tolerances, latest=None: FittedScores(np.ones(100))

    result = fit_with_guarantee(constraint, 0.95, make_fit)
    assert fitted_rows == [None]
    assert result.probability < 0.95


def test_without_constraints_the_probability_is_one():
    fit = FittedScores(np.ones(10))
    result = fit_with_guarantee(ConstraintSystem(()), 0.9, lambda *_: lambda *_: fit)
    assert result.probability == 1.0


def test_folds_are_balanced_within_groups_and_leave_classes_to_chance():
    rng = np.random.default_rng(0)
    groups = np.repeat([0, 1, 2], [500, 101, 23])
    target = rng.choice([-1.0, 1.0], 624)
    both = bind_all(DemographicParity(), EqualOpportunity(), target=target, groups=groups)
    fold = _assign_folds(both, 624)
    sizes = np.array([np.bincount(fold[groups == g], minlength=N_FOLDS) for g in range(3)])
    assert (np.ptp(sizes, axis=1) <= 1).all()
    positives = np.bincount(fold[target > 0], minlength=N_FOLDS)
    assert np.ptp(positives) > 1
    # Where only the positives are compared, they are dealt out evenly.
    fold = _assign_folds(bind_all(EqualOpportunity(), target=target, groups=groups), 624)
    for group in range(3):
        members = (groups == group) & (target > 0)
        assert np.ptp(np.bincount(fold[members], minlength=N_FOLDS)) <= 1


def test_several_constraints_share_the_risk():
    rng = np.random.default_rng(1)
    groups = np.repeat([0, 1], 3000)
    target = rng.choice([-1.0, 1.0], 6000)
    one = bind_all(DemographicParity(), target=target, groups=groups)
    two = bind_all(DemographicParity(), EqualOpportunity(), target=target, groups=groups)
    single = fit_with_guarantee(one, 0.9, make_exact_fit(groups)).training_tolerances[0]
    shared = fit_with_guarantee(two, 0.9, make_exact_fit(groups))
    assert shared.training_tolerances[0] < single
    assert shared.probability >= 0.9


def test_a_point_that_is_chosen_among_many_has_a_share_of_the_risk():
    groups = np.repeat([0, 1], 3000)
    system = bind_all(DemographicParity(), target=np.ones(6000), groups=groups)
    scores = decisions(groups, 0.08)
    fit = (system.tolerances, FittedScores(scores))
    training = system.gaps(scores)
    one, chosen = (
        _Evidence(system, fit, scores, training, None, share=share)
        for share in (1.0, _SELECTION_SHARE)
    )
    assert 1 - chosen.probability == pytest.approx((1 - one.probability) / _SELECTION_SHARE)
    for level in (0.8, 0.95):
        counted = 1 - _SELECTION_SHARE * (1 - level)
        assert chosen.limits(training, level) == one.limits(training, counted)


def test_gaps_of_means_fall_by_as_much_as_those_in_training():
    groups = np.repeat([0, 1], 4000)
    noise = np.random.default_rng(0).normal(size=8000)
    noise -= np.array([noise[groups == group].mean() for group in (0, 1)])[groups]
    constraint = bind_all(MeanParity(), target=np.ones(8000), groups=groups)

    def make_fit(rows):
        return lambda tolerances, latest=None: FittedScores(noise + tolerances[0] * groups)

    result = fit_with_guarantee(constraint, 0.95, make_fit)
    error = norm.ppf(0.975) * _ERROR_FACTORS["values"] * np.sqrt(2.0 / 4000)
    assert result.probability >= 0.95
    assert result.training_tolerances[0] == pytest.approx(0.1 - error, abs=0.003)


def test_folds_divide_no_cluster():
    rng = np.random.default_rng(2)
    clusters = rng.integers(150, size=600) * 7  # codes may have gaps
    groups = clusters % 2
    constraint = bind_all(DemographicParity(), target=np.ones(600), groups=groups)
    fold = _assign_folds(constraint, 600, clusters)
    for cluster in np.unique(clusters):
        assert len(set(fold[clusters == cluster])) == 1
    assert len(set(fold)) == N_FOLDS


def test_declared_copies_do_not_add_certainty():
    groups = np.repeat([0, 1], 1000)
    once = bind_all(DemographicParity(), target=np.ones(2000), groups=groups)
    single = fit_with_guarantee(once, 0.95, make_exact_fit(groups))
    copies = np.repeat(np.arange(2000), 3)
    thrice = bind_all(DemographicParity(), target=np.ones(6000), groups=groups[copies])

    def make_fit(rows):
        fit = make_exact_fit(groups)(rows)

        def fit_copies(tolerances, latest=None):
            result = fit(tolerances)
            return result._replace(scores=result.scores[copies])

        return fit_copies

    clustered = fit_with_guarantee(thrice, 0.95, make_fit, copies)
    assert clustered.training_tolerances[0] == pytest.approx(
        single.training_tolerances[0], abs=0.002
    )
    assert (
        fit_with_guarantee(thrice, 0.95, make_fit).training_tolerances[0]
        > single.training_tolerances[0] + 0.01
    )


def test_a_fall_that_seems_small_by_chance_does_not_lead_to_the_lowest_tolerance():
    # The second round's gap is as large as the first one's, by chance; the third falls in full.
    groups = np.repeat([0, 1], 20_000)
    calls = []
    constraint = bind_all(DemographicParity(), target=np.ones(40_000), groups=groups)

    def make_fit(rows):
        def fit(tolerances, latest=None):
            if rows is not None and (not calls or calls[-1] != tolerances[0]):
                calls.append(tolerances[0])
            noise = 0.03 if len(calls) < 3 else 0.0
            if len(calls) == 1:
                noise = 0.01
            return scores_at(groups, tolerances[0], rows, noise)

        return fit

    result = fit_with_guarantee(constraint, 0.95, make_fit)
    assert len(calls) == 3
    assert result.training_tolerances == calls[-1:]
    assert result.probability >= 0.95
    # Two times the excess of the second round at most, and not a gap of a few samples.
    excess = calls[1] + 0.03 - (0.1 - margin(0.0049))
    assert calls[2] == pytest.approx(calls[1] - 2.0 * excess, abs=0.002)
