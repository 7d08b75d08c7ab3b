"""Rates of groups whose outcomes are known by decision, against weights by hand and simulation."""

import numpy as np
import pytest
from scipy import sparse, stats

from skfair._statistics.rates_by_decision import (
    DecisionCounts,
    DecisionSamples,
    RatesByDecision,
    WeightedCounts,
)
from skfair.metrics import RATES, Rate

NAMES = ("true_positive_rate", "false_positive_rate", "accuracy", "base_rate")
# By true and predicted class, of samples with an outcome; 1,000 and 900 samples in all.
KNOWN = np.array([[[30.0, 40.0], [20.0, 360.0]], [[50.0, 20.0], [5.0, 200.0]]])
N = np.array([[600.0, 400.0], [680.0, 220.0]])


def make_counts(n, known):
    """Counts where the decision that was made is audited, of tables by true and predicted class."""
    counts = map(WeightedCounts.count_equally, (n, known.sum(axis=1), known[:, 1]))
    return DecisionCounts(*counts, np.arange(2), np.array([[False], [True]]))


def estimate(rate, n, known, event):
    tables = np.repeat(rate.tables[np.newaxis], max(event) + 1, axis=0)
    return RatesByDecision(tables, make_counts(n, known), np.asarray(event))


def make_estimates(name):
    return estimate(RATES[name], N, KNOWN, [0, 1])


@pytest.mark.parametrize("name", NAMES)
def test_values_are_those_of_samples_weighted_by_the_inverse_of_the_known_share(name):
    weights = N / KNOWN.sum(axis=1)
    expected = RATES[name](KNOWN * weights[:, np.newaxis])
    np.testing.assert_allclose(make_estimates(name).values, expected)


def test_a_true_positive_rate_by_hand():
    refused, granted = 600 * 20 / 50, 360.0
    estimates = make_estimates("true_positive_rate")
    assert estimates.values[0] == pytest.approx(granted / (granted + refused))
    assert estimates.counts.tolist() == [380, 205]

    def rate(p, a, b):
        return p * a / (p * a + (1.0 - p) * b)

    def limits(hits, n):
        return stats.beta.ppf(0.05, hits, n - hits + 1), stats.beta.ppf(0.95, hits + 1, n - hits)

    shares = [(400, 1000), (360, 400), (20, 50)]
    at = [hits / n for hits, n in shares]
    squares = np.zeros(2)
    for place, share in enumerate(shares):
        ends = [rate(*at[:place], end, *at[place + 1 :]) for end in limits(*share)]
        squares += (rate(*at) - np.sort(ends)) ** 2
    low, high = estimates.limits(0.95)
    assert low[0] == pytest.approx(rate(*at) - np.sqrt(squares[0]))
    assert high[0] == pytest.approx(rate(*at) + np.sqrt(squares[1]))


def test_no_known_false_negative_does_not_make_the_rate_certain():
    known = np.array([[[8.0, 40.0], [0.0, 360.0]]])
    rate = RATES["true_positive_rate"]
    estimates = estimate(rate, N[:1], known, [0])
    low, high = estimates.limits(0.975)
    assert estimates.values[0] == high[0] == 1.0
    assert low[0] < 0.65


def test_a_group_of_two_strata_weighs_each_by_its_own_share():
    rate = RATES["true_positive_rate"]
    both = estimate(rate, N, KNOWN, [0, 0])
    weights = (N / KNOWN.sum(axis=1))[:, np.newaxis]
    assert both.values == pytest.approx(rate((KNOWN * weights).sum(axis=0, keepdims=True)))
    low, high = both.limits(0.95)
    assert low < both.values < high


@pytest.mark.slow
@pytest.mark.parametrize("n_known", [5, 50])
@pytest.mark.parametrize("tpr", [0.39, 0.9])
def test_limits_contain_the_rate(n_known, tpr):
    rng = np.random.default_rng(0)
    n_draws, n = 2000, 1500
    p = 0.6 * tpr + 0.4 * 0.08
    granted = rng.binomial(n, p, n_draws)
    right = rng.binomial(granted, 0.6 * tpr / p)
    refused_positives = rng.binomial(n_known, 0.6 * (1.0 - tpr) / (1.0 - p), n_draws)
    known = np.array(
        [[n_known - refused_positives, granted - right], [refused_positives, right]], float
    )
    known = np.moveaxis(known, -1, 0)
    n = np.stack([n - granted, granted], axis=1).astype(float)
    rate = RATES["true_positive_rate"]
    low, high = estimate(rate, n, known, np.arange(n_draws)).limits(0.975)
    assert np.mean((low <= tpr) & (tpr <= high)) >= 0.945


# A new model: columns are pairs of the decision made and the decision audited.
MADE, SELECTED = np.array([0, 0, 1, 1]), np.array([[False], [True], [False], [True]])


def make_counts_of_another_model(known=(40, 6, 50, 300)):
    n = np.array([[500.0, 80.0, 50.0, 300.0]])
    positive = np.array([[10.0, 3.0 * (known[1] > 0), 20.0, 250.0]])
    counts = map(WeightedCounts.count_equally, (n, np.array([known], float), positive))
    return DecisionCounts(*counts, MADE, SELECTED)


def test_a_new_model_weighs_by_the_decision_that_was_made_and_its_own():
    rates = RatesByDecision(
        RATES["true_positive_rate"].tables[np.newaxis],
        make_counts_of_another_model(),
        np.zeros(1, int),
    )
    positives = [500 * 10 / 40, 80 * 3 / 6, 50 * 20 / 50, 300 * 250 / 300]
    assert rates.values[0] == pytest.approx((positives[1] + positives[3]) / sum(positives))
    assert rates.counts.tolist() == [283]


def test_a_pair_of_decisions_without_outcomes_takes_the_share_of_the_decision_made():
    counts = make_counts_of_another_model(known=(40, 0, 50, 300))
    assert not counts.lacks_outcomes.any()
    rate = RATES["true_positive_rate"]
    rates = RatesByDecision(rate.tables[np.newaxis], counts, np.zeros(1, int))
    positives = [500 * 10 / 40, 80 * 10 / 40, 20, 250]
    assert rates.values[0] == pytest.approx((positives[1] + positives[3]) / sum(positives))
    # Any number of the 80 may be positive.
    low, high = rates.limits(0.95)
    ends = [(250 + x) / (125 + x + 270) for x in (0, 80)]
    assert low[0] < ends[0] and ends[1] < high[0]


def test_weights_of_equal_samples_count_as_their_number():
    """Weights of 3 change nothing; weights of 1 and 3 leave an effective number of .8 of all."""
    rate = RATES["true_positive_rate"]
    numbers = (N, KNOWN.sum(axis=1), KNOWN[:, 1])
    tables = np.repeat(rate.tables[np.newaxis], 2, axis=0)
    decisions = (np.arange(2), np.array([[False], [True]]))
    by_factor = {
        factor: RatesByDecision(
            tables,
            DecisionCounts(*(WeightedCounts(3 * n, factor * n, n) for n in numbers), *decisions),
            np.arange(2),
        )
        for factor in (9.0, 11.25)
    }
    plain = make_estimates("true_positive_rate")
    np.testing.assert_allclose(by_factor[9.0].values, plain.values)
    np.testing.assert_allclose(by_factor[9.0].limits(0.95), plain.limits(0.95))
    fewer = estimate(rate, 0.8 * N, 0.8 * KNOWN, [0, 1])
    np.testing.assert_allclose(by_factor[11.25].limits(0.95), fewer.limits(0.95))
    assert by_factor[11.25].counts.tolist() == plain.counts.tolist()


def test_a_decision_without_any_outcome_is_found():
    assert make_counts_of_another_model(known=(0, 0, 50, 300)).lacks_outcomes.all()


@pytest.mark.slow
@pytest.mark.parametrize("follow_up", [0.02, 0.1])
def test_limits_of_a_new_model_contain_its_rate(follow_up):
    rng = np.random.default_rng(3)
    n, n_draws = 1500, 2000
    shares = np.array([0.45, 0.1, 0.08, 0.37])
    positive = np.array([0.25, 0.4, 0.5, 0.85])
    sizes = rng.multinomial(n, shares, n_draws)
    known = np.where(MADE == 1, sizes, rng.binomial(sizes, follow_up))
    numbers = (sizes, known, rng.binomial(known, positive))
    counts = DecisionCounts(*map(WeightedCounts.count_equally, numbers), MADE, SELECTED)
    is_known = ~counts.lacks_outcomes
    counts = counts.take(np.flatnonzero(is_known))
    tables = np.repeat(RATES["true_positive_rate"].tables[np.newaxis], is_known.sum(), axis=0)
    low, high = RatesByDecision(tables, counts, np.arange(is_known.sum())).limits(0.975)
    truth = (shares * positive)[SELECTED[:, 0]].sum() / (shares * positive).sum()
    assert np.mean((low <= truth) & (truth <= high)) >= 0.945


# Samples that are not independent.


def list_samples(n, known, n_copies=1):
    """The samples of tables by true and predicted class one by one, with copies of each."""
    stratum, column, is_known, is_positive = [], [], [], []
    for at in np.ndindex(n.shape):
        negative, positive = known[at[0], :, at[1]].astype(int)
        unknown = int(n[at]) - negative - positive
        numbers = [negative, positive, unknown]
        stratum += [at[0]] * sum(numbers)
        column += [at[1]] * sum(numbers)
        is_known += np.repeat([True, True, False], numbers).tolist()
        is_positive += np.repeat([False, True, False], numbers).tolist()
    unit = np.arange(len(stratum))
    columns = (stratum, column, unit, np.ones(len(unit)), is_known, is_positive)
    return DecisionSamples(*(np.repeat(np.asarray(one), n_copies) for one in columns))


def count_samples(samples, n_strata=2):
    """Counts of samples one by one."""
    shape = n_strata, 2
    cells = samples.stratum * 2 + samples.column
    masks = np.ones(len(cells), bool), samples.is_known, samples.is_positive
    counts = (np.bincount(cells, one, 2 * n_strata).reshape(shape) for one in masks)
    numbers = map(WeightedCounts.count_equally, counts)
    return DecisionCounts(*numbers, np.arange(2), np.array([[False], [True]]))


PAIR = sparse.csr_array(np.array([[1.0, -1.0], [-1.0, 1.0]]))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n_copies", [1, 3])
def test_copies_of_a_sample_count_once(name, n_copies):
    samples = list_samples(N, KNOWN, n_copies)
    tables = np.repeat(RATES[name].tables[np.newaxis], 2, axis=0)
    rates = RatesByDecision(tables, count_samples(samples), np.arange(2), members=samples)
    plain = make_estimates(name)
    np.testing.assert_allclose(rates.values, plain.values)
    # A variance with the rate itself in place of shares differs in rounding alone.
    np.testing.assert_allclose(rates.limits(0.95), plain.limits(0.95), rtol=1e-6)
    np.testing.assert_allclose(rates.upper(PAIR, 0.95), plain.upper(PAIR, 0.95), rtol=1e-6)


def test_units_of_equal_outcomes_have_wider_limits():
    """Households of three with equal outcomes and decisions, against households by chance."""
    samples = list_samples(N, KNOWN)
    tables = np.repeat(RATES["true_positive_rate"].tables[np.newaxis], 2, axis=0)
    widths = []
    for order in (np.arange(len(samples.unit)), np.random.default_rng(0).permutation(1900)):
        unit = np.empty(1900, dtype=int)
        unit[order] = np.arange(1900) // 3
        one = samples._replace(unit=unit)
        rates = RatesByDecision(tables, count_samples(one), np.arange(2), members=one)
        widths.append(np.ptp(rates.limits(0.95), axis=0))
    plain = np.ptp(make_estimates("true_positive_rate").limits(0.95), axis=0)
    assert (widths[0] > 1.4 * plain).all()
    assert (widths[0] > widths[1]).all() and (widths[1] > plain).all()


# Two models of the same samples.


def estimate_two_models(first, second, name="accuracy"):
    """Rates of the same 1,000 samples by two models; columns are the decision made and both."""
    made = np.array([0, 0, 1, 1])
    n = np.array([[500.0, 100.0, 60.0, 340.0]])
    known = np.array([[40.0, 8.0, 60.0, 340.0]])
    positive = np.array([[12.0, 4.0, 40.0, 300.0]])
    selected = np.stack([first, second], axis=1).astype(bool)
    counts = DecisionCounts(
        *map(WeightedCounts.count_equally, (n, known, positive)), made, selected
    )
    tables = np.repeat(RATES[name].tables[np.newaxis], 2, axis=0)
    zeros = np.zeros(2, dtype=int)
    return RatesByDecision(
        tables, counts.take(zeros), np.arange(2), model=np.arange(2), shared=zeros
    )


@pytest.mark.parametrize("name", NAMES)
def test_equal_models_do_not_differ(name):
    rates = estimate_two_models([0, 1, 0, 1], [0, 1, 0, 1], name)
    np.testing.assert_allclose(rates.upper(PAIR, 0.95), 0.0, atol=1e-12)


def test_a_difference_of_accuracies_by_hand():
    """Only samples about whom both models decide otherwise count: columns 1 and 2."""
    rates = estimate_two_models([0, 0, 1, 1], [0, 1, 0, 1])

    def difference(shares):
        p0, p1, p2, q1, q2 = shares  # columns among those from each on, then positives
        n1, n2 = (1 - p0) * p1, (1 - p0) * (1 - p1) * p2
        return n1 * (1 - 2 * q1) + n2 * (2 * q2 - 1)

    def limits(hits, n):
        return stats.beta.ppf(0.05, hits, n - hits + 1), stats.beta.ppf(0.95, hits + 1, n - hits)

    shares = [(500, 1000), (100, 500), (60, 400), (4, 8), (40, 60)]
    at = [hits / n for hits, n in shares]
    above = 0.0
    for place, share in enumerate(shares):
        moved = [difference([*at[:place], end, *at[place + 1 :]]) for end in limits(*share)]
        above += max(0.0, max(moved) - difference(at)) ** 2
    upper = rates.upper(PAIR, 0.95)[0]
    assert np.diff(rates.values)[0] == pytest.approx(-difference(at))
    assert upper == pytest.approx(difference(at) + np.sqrt(above))


@pytest.mark.parametrize(
    ("name", "decision"),
    [("precision", 1), ("negative_predictive_value", 0), ("recall", None), ("accuracy", None)],
)
def test_rates_within_one_decision(name, decision):
    names = {"precision": "positive_predictive_value", "recall": "true_positive_rate"}
    assert RATES[names.get(name, name)].decision == decision


def test_own_rates_within_one_decision():
    assert Rate("loss", {"fp": 3.0}, {"tp": 1.0, "fp": 1.0}).decision == 1
    assert Rate("loss", {"fp": 3.0, "fn": 1.0}).decision is None
