"""Projections on null hypotheses, and e-values of batches, against brute force."""

from itertools import product

import numpy as np
import pytest
from scipy import optimize, special, stats

from skfair.monitoring._state import (
    DifferenceHypotheses,
    MeanHypotheses,
    log_e_gap,
    log_likelihood_ratio,
    plug_in_means,
)


def divergence(p, q, n):
    return (n * (special.rel_entr(q, p) + special.rel_entr(1 - q, 1 - p))).sum()


def counts_up_to(n):
    return np.array(list(product(*[range(int(size) + 1) for size in n])), dtype=float)


def expectation(log_e, x, n, p):
    """Expectation of an e-value over all counts of groups with means p."""
    return (np.exp(log_e) * np.prod(stats.binom.pmf(x, n, p), axis=1)).sum()


def test_predictions_by_hand():
    assert plug_in_means(np.zeros(2), np.zeros(2)).tolist() == [0.5, 0.5]
    # All groups: (3 + 1/2) / (3 + 1). A group: x + 1/2 + 20 * 3.5 / 4, of n + 21.
    x, n = np.array([0.0, 3.0]), np.array([0.0, 3.0])
    np.testing.assert_allclose(plug_in_means(x, n), [18 / 21, 21 / 24])


def test_predictions_are_drawn_to_gaps_up_to_the_level_by_hand():
    # All groups: 60.5 / 101. Groups: 10.5 / 51 and 50.5 / 51, beyond .1 of it.
    x = np.array([10.0, 50.0])
    n = np.array([50.0, 50.0])
    overall = 60.5 / 101
    expected = [(10.5 + 20 * (overall - 0.1)) / 71, (50.5 + 20 * (overall + 0.1)) / 71]
    np.testing.assert_allclose(plug_in_means(x, n, 0.2), expected)
    np.testing.assert_allclose(plug_in_means(x, n, 2.0), [10.5 / 51, 50.5 / 51])


def test_the_return_of_a_bet_is_that_of_its_samples_by_hand():
    # Two successes and one failure, bet on .6 against .5: .6/.5 twice and .4/.5 once.
    expected = np.log(1.2 * 1.2 * 0.8)
    assert log_likelihood_ratio(2.0, 3.0, 0.6, 0.5) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(5))
def test_the_projection_on_small_gaps_is_the_nearest_point(seed):
    rng = np.random.default_rng(seed)
    q = rng.uniform(0.05, 0.95, 4)
    n = rng.integers(1, 50, 4)
    gap = rng.uniform(0, 0.3)
    projected = DifferenceHypotheses().project_means(q, n, gap)
    assert np.ptp(projected) <= gap + 1e-9
    best = optimize.minimize_scalar(
        lambda low: divergence(np.clip(q, low, low + gap), q, n),
        bounds=(q.min(), max(q.min() + 1e-9, q.max() - gap)),
        method="bounded",
        options={"xatol": 1e-10},
    )
    assert divergence(projected, q, n) <= best.fun + 1e-8


def test_means_within_the_hypothesis_are_not_moved():
    q = np.array([0.3, 0.35, 0.4])
    assert DifferenceHypotheses().project_means(q, np.full(3, 10.0), 0.1).tolist() == q.tolist()
    assert MeanHypotheses().project_means(q, np.full(3, 10.0), 0.4).tolist() == q.tolist()


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("share", [1.0, 0.75])
def test_an_alarm_bet_has_an_expectation_of_at_most_one(seed, share):
    rng = np.random.default_rng(seed)
    n = rng.integers(0, 4, 3).astype(float)
    q = rng.uniform(0.02, 0.98, 3)
    gap = rng.uniform(0, 0.4)
    x = counts_up_to(n)
    log_e = log_e_gap(DifferenceHypotheses(), x, n, q, np.full(len(x), gap), share)
    for _ in range(40):
        low = rng.uniform(0, 1 - gap)
        p = low + gap * rng.choice([0.0, 1.0, rng.random()], 3)
        assert expectation(log_e, x, n, p) <= 1 + 1e-9
    log_e = log_e_gap(MeanHypotheses(), x, n, q, np.full(len(x), gap), share)
    for p in rng.uniform(0, gap, (20, 3)):
        assert expectation(log_e, x, n, p) <= 1 + 1e-9


@pytest.mark.parametrize("seed", range(8))
def test_a_certificate_bet_has_an_expectation_of_at_most_one(seed):
    rng = np.random.default_rng(seed)
    n = rng.integers(0, 5, 2).astype(float)
    q = rng.uniform(0.02, 0.98, 2)
    gap = np.array([rng.uniform(0.01, 0.6)])
    x = counts_up_to(n)
    is_open = np.array(True)
    pairs = DifferenceHypotheses().log_e_contrasts(
        x, np.broadcast_to(n, x.shape), q[None], gap, is_open
    )
    singles = MeanHypotheses().log_e_contrasts(
        x, np.broadcast_to(n, x.shape), q[None], gap, is_open
    )
    for low in np.linspace(0, 1 - gap[0], 15):
        for excess in (0.0, 0.4 * (1 - gap[0] - low)):
            p = np.array([low + gap[0] + excess, low])
            assert expectation(pairs[:, 0, 1, 0], x, n, p) <= 1 + 1e-9
            mean = gap[0] + (1 - gap[0]) * low
            assert expectation(singles[:, 0, 0, 0], x, n, np.array([mean, low])) <= 1 + 1e-9


def test_a_pair_bets_on_the_hypothesis_that_the_first_is_larger():
    n = np.array([100.0, 100.0])
    q = np.array([0.2, 0.3])
    log_e = DifferenceHypotheses().log_e_contrasts(n * q, n, q, np.array([0.05]), np.array(True))[
        ..., 0
    ]
    assert log_e[0, 1] > log_e[1, 0] == 0.0  # .3 - .2 exceeds .05


def test_values_between_0_and_1_bet_no_better_than_rates_of_the_same_mean():
    # x = sum of values: the bet on half of the samples at 0 and half at 1 is the same.
    n = np.array([2.0, 0.0])
    q = np.array([0.9, 0.5])
    x = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]])
    e = np.exp(log_e_gap(MeanHypotheses(), x, n, q, np.full(3, 0.5), 1.0))
    assert e[1] <= (e[0] + e[2]) / 2
