import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skfair._groups import check_groups
from skfair._postprocessing.rank_shift import (
    RankedSamples,
    align_intervals,
    best_thresholds,
    rank_curve,
    ranks_in_groups,
    shifted_scores,
)
from skfair.metrics import (
    partial_demographic_parity_difference,
    partial_equal_opportunity_difference,
    partial_statistical_parity_difference,
)


def members(y_score, positive, groups, weights=None, intervals=((0.0, 1.0),)):
    groups = check_groups(groups, len(y_score))
    weights = np.ones(len(y_score)) if weights is None else np.asarray(weights, dtype=float)
    pairs = [np.array(intervals)] * len(groups.labels)
    scores = np.asarray(y_score, dtype=float)
    positive = np.asarray(positive, dtype=bool)
    return RankedSamples(scores, np.where(positive, 1.0, -1.0), groups, weights, pairs)


def keywords(samples):
    """Keywords of a partial metric of the samples."""
    return {
        "sensitive_features": samples.groups.codes,
        "interval": dict(enumerate(samples.intervals)),
        "sample_weight": samples.weights,
    }


def ranks_of(samples):
    """Rank of each sample in its group."""
    return ranks_in_groups(samples.curves, samples.y_score, samples.groups.codes)


def best_rates(samples, gap):
    """Rates of the groups, at most a gap apart, with the fewest errors."""
    thresholds = best_thresholds(samples.rates, samples.gain, gap)
    return samples.rates[np.arange(len(thresholds)), thresholds]


def random_members(rng, n_samples=60, n_groups=2):
    scores = np.round(rng.normal(size=n_samples), 1)  # some ties
    positive = rng.normal(size=n_samples) < scores
    return members(scores, positive, np.arange(n_samples) % n_groups)


def test_a_score_is_zero_at_the_rate_and_minus_the_rank_far_from_it():
    ranks = np.array([0.3, 0.2, 0.8])
    rates = np.array([0.3, 0.3, 0.3])
    scores = shifted_scores(ranks, rates, center=0.25)
    # The shift is .05 at .3; at .2, .1 away, it is .05 - .1 / 4; at .8 it is over.
    np.testing.assert_allclose(scores, [0.0, 0.25 - 0.2 + 0.025, 0.25 - 0.8])


@given(
    st.lists(st.floats(0, 1), min_size=2, max_size=20, unique=True),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_shifted_scores_keep_the_order_and_the_rate(ranks, rate, center):
    ranks = np.sort(ranks)
    scores = shifted_scores(ranks, np.full(len(ranks), rate), center)
    assert np.all(np.diff(scores) <= -0.74 * np.diff(ranks) + 1e-15)
    clear = np.abs(ranks - rate) > 1e-12
    assert np.array_equal((scores > 0)[clear], (ranks < rate)[clear])


def test_ranks_count_the_weight_above_and_half_of_that_at_a_score():
    curve = rank_curve(np.array([3.0, 1.0, 1.0, 2.0]), np.array([1.0, 2.0, 1.0, 4.0]))

    def ranks(*y_score):
        return ranks_in_groups([curve], np.array(y_score), np.zeros(len(y_score)))

    np.testing.assert_allclose(ranks(3.0, 2.0, 1.0), [0.5 / 8, 3 / 8, 6.5 / 8])
    # Linear between the scores, constant beyond them.
    np.testing.assert_allclose(ranks(2.5, 9.0, -9.0), [3.5 / 16, 0.5 / 8, 6.5 / 8])


def test_intervals_of_all_groups_meet_on_the_common_scale():
    (first, second), common = align_intervals([np.array([[0.1, 0.5]]), np.array([[0.2, 0.6]])])
    np.testing.assert_allclose(first, [0.0, 0.1, 0.5, 1.0])
    np.testing.assert_allclose(second, [0.0, 0.2, 0.6, 1.0])
    np.testing.assert_allclose(common, [0.0, 0.15, 0.55, 1.0])
    with pytest.raises(ValueError, match="same number of pairs"):
        align_intervals([np.array([[0.1, 0.5]]), np.array([[0.1, 0.2], [0.3, 0.4]])])


def test_curves_are_on_the_common_scale():
    scores = np.array([3.0, 2.0, 1.0] * 2)
    codes = np.repeat([0, 1], 3)
    intervals = [np.array([[0.0, 0.5]]), np.array([[0.0, 0.75]])]
    target = np.where(scores > 2, 1.0, -1.0)
    ranked = RankedSamples(scores, target, check_groups(codes, 6), np.ones(6), intervals)
    # The rank .5 of the one and .75 of the other become .625; in between it is linear.
    np.testing.assert_allclose(ranked.curves[0][1], [1 - 0.375 / 3, 0.625, 0.625 / 3])
    np.testing.assert_allclose(ranked.curves[1][1], [0.625 + 0.375 / 3, 1.25 / 3, 0.625 / 4.5])


def test_samples_are_ranked_by_the_curve_of_their_group():
    curves = [rank_curve(np.array([0.0, 1.0]), np.ones(2)), (np.zeros(1), np.ones(1))]
    ranks = ranks_in_groups(curves, np.array([0.0, 0.0, 1.0]), np.array([0, 1, 0]))
    np.testing.assert_allclose(ranks, [0.75, 1.0, 0.25])


@pytest.mark.covering(1)
@pytest.mark.parametrize("gap", [0.0, 0.05, 0.1, 0.3, 1.0])
@pytest.mark.parametrize("n_groups", [2, 3])
def test_the_window_scan_finds_the_best_of_all_rates(gap, n_groups):
    rng = np.random.default_rng(0)
    for _ in range(10):
        sample = random_members(rng, 30, n_groups)
        rates = best_rates(sample, gap)
        assert np.ptp(rates) <= gap + 1e-12
        options = [np.unique(candidates) for candidates in sample.rates]
        feasible = [rates for rates in itertools.product(*options) if np.ptp(rates) <= gap + 1e-12]
        lowest = min(decision_error(sample, np.array(rates)) for rates in feasible)
        assert decision_error(sample, rates) == pytest.approx(lowest)


def decision_error(sample, rates):
    return sample.error(shifted_scores(ranks_of(sample), rates[sample.groups.codes], rates.mean()))


def test_positions_need_not_be_rates():
    positions = np.array([[0.0, 0.0, 1.0], [0.0, 0.2, 1.0]])
    gain = np.array([[0.0, 3.0, 1.0], [0.0, 2.0, 1.0]])
    np.testing.assert_array_equal(best_thresholds(positions, gain, 0.1), [1, 0])
    np.testing.assert_array_equal(best_thresholds(positions, gain, 0.2), [1, 1])


@given(st.integers(0, 2**32 - 1), st.floats(0, 0.5))
def test_on_the_full_interval_scores_differ_by_the_gap_of_the_rates(seed, gap):
    sample = random_members(np.random.default_rng(seed), 200)
    rates = best_rates(sample, gap)
    center = (rates.min() + rates.max()) / 2
    scores = shifted_scores(ranks_of(sample), rates[sample.groups.codes], center)
    difference = partial_statistical_parity_difference(scores, **keywords(sample))
    ties = max(np.unique(sample.y_score, return_counts=True)[1]) / 100
    assert np.ptp(rates) - 1e-12 <= difference <= np.ptp(rates) + 2 * ties + 0.02


@pytest.mark.parametrize("interval", [(0.0, 1.0), (0.2, 0.6)])
def test_shares_above_are_those_of_the_metrics(interval):
    rng = np.random.default_rng(1)
    sample = random_members(rng, 80)
    sample = members(sample.y_score, (sample.target > 0), sample.groups.codes, None, (interval,))
    all_samples = np.full(80, True)
    thresholds = np.append(-np.unique(-sample.y_score), -np.inf)
    for eligible, metric, labels in (
        (all_samples, partial_demographic_parity_difference, ()),
        ((sample.target > 0), partial_equal_opportunity_difference, ((sample.target > 0),)),
    ):
        compared = sample.is_inside & eligible
        for scale, total in (("normalized", compared), ("raw", eligible)):
            shares = sample.shares_above(compared, total)
            expected = [
                metric(*labels, sample.y_score, threshold=t, scale=scale, **keywords(sample))
                for t in np.maximum(thresholds, -1e9)
            ]
            np.testing.assert_allclose(np.abs(np.diff(shares, axis=0)[0]), expected, atol=1e-12)


def test_positive_rates_and_errors_by_hand():
    sample = members([3, 2, 1, 0], [True, False, True, False], ["a", "a", "b", "b"], [3, 1, 1, 1])
    scores = np.array([1.0, 1.0, -1.0, 0.0])
    np.testing.assert_allclose(sample.positive_rates(scores), [1.0, 0.0])
    assert sample.error(scores) == pytest.approx(2 / 6)


def test_integer_weights_are_repeated_samples():
    rng = np.random.default_rng(2)
    weights = rng.integers(1, 4, size=40)
    sample = random_members(rng, 40)
    once = members(sample.y_score, (sample.target > 0), sample.groups.codes, weights)
    rows = np.repeat(np.arange(40), weights)
    repeated = members(sample.y_score[rows], (sample.target > 0)[rows], sample.groups.codes[rows])
    np.testing.assert_allclose(ranks_of(once)[rows], ranks_of(repeated))
    rates, expected = (best_rates(one, 0.1) for one in (once, repeated))
    np.testing.assert_allclose(rates, expected)
