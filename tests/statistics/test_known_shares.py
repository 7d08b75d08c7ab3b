"""Whether known shares differ by decision, against an exact permutation and by counts by hand."""

import numpy as np
import pytest
from scipy import stats

from skfair._statistics.known_shares import (
    KnownSamples,
    differ_by_decision,
    lacks_outcomes,
    shares_differ,
)


def make_samples(decisions, has_outcome, groups=None, periods=None, units=None):
    n = len(decisions)
    zeros = np.zeros(n, dtype=int)
    return KnownSamples(
        zeros if groups is None else groups,
        zeros if periods is None else periods,
        decisions,
        has_outcome,
        np.ones(n),
        units,
    )


@pytest.mark.parametrize("n_missing", [6, 12, 24])
def test_one_stratum_is_a_hypergeometric_test(n_missing):
    decisions = np.repeat([0, 1], [200, 300])
    has_outcome = np.ones(500, dtype=bool)
    has_outcome[:n_missing] = False
    samples = make_samples(decisions, has_outcome)
    p = 2.0 * stats.hypergeom(500, 200, n_missing).sf(n_missing - 1)
    is_wide = 1.0 > 1.1 * (1.0 - n_missing / 200)
    for level in (p * 0.99, p * 1.01):
        assert shares_differ(samples, decisions == 0, level) == (is_wide and level > p)


def test_two_strata_are_an_exact_test():
    """The law of the sum over strata, by all pairs of numbers of known outcomes."""
    decisions = np.repeat([1, 0, 1, 0], [8, 4, 6, 5])
    groups = np.repeat([0, 1], [12, 11])
    has_outcome = np.ones(23, dtype=bool)
    has_outcome[[8, 9, 10, 18, 19, 20]] = False
    one, other = stats.hypergeom(12, 9, 4), stats.hypergeom(11, 8, 5)
    pairs = [(i, j) for i in range(5) for j in range(6) if i + j <= 1 + 2]
    p = 2.0 * sum(one.pmf(i) * other.pmf(j) for i, j in pairs)
    samples = make_samples(decisions, has_outcome, groups)
    for level in (p * 0.99, p * 1.01):
        assert shares_differ(samples, decisions == 0, level) == (level > p)


def test_many_outcomes_have_a_normal_law():
    decisions = np.repeat([0, 1], [2000, 3000])
    has_outcome = np.arange(5000) % 4 < np.where(
        (decisions == 0) & (np.arange(5000) % 5 == 0), 1, 3
    )
    samples = make_samples(decisions, has_outcome)
    n_known = has_outcome[decisions == 0].sum()
    p = 2.0 * stats.hypergeom(5000, 2000, has_outcome.sum()).cdf(n_known)
    for level in (p / 1.5, p * 1.5):
        assert shares_differ(samples, decisions == 0, level) == (level > p)


def test_strata_are_compared_within():
    """Both decisions have outcomes equally often in each month, but not over both months."""
    decisions = np.repeat([0, 1, 0, 1], [100, 900, 900, 100])
    periods = np.repeat([0, 1], [1000, 1000])
    has_outcome = np.arange(2000) % 10 < np.where(periods == 0, 9, 2)
    assert not differ_by_decision(make_samples(decisions, has_outcome, periods=periods))
    assert differ_by_decision(make_samples(decisions, has_outcome))


def test_one_group_of_several_is_enough():
    rng = np.random.default_rng(0)
    groups = np.repeat([0, 1], [10_000, 400])
    decisions = rng.integers(2, size=len(groups))
    has_outcome = (rng.random(len(groups)) < 0.9) & ((groups == 0) | (decisions == 1))
    assert differ_by_decision(make_samples(decisions, has_outcome, groups))
    chance = rng.random(len(groups)) < 0.9
    assert not differ_by_decision(make_samples(decisions, chance, groups))


def test_many_decisions():
    rng = np.random.default_rng(1)
    decisions = rng.integers(4, size=4000)
    assert not differ_by_decision(make_samples(decisions, rng.random(4000) < 0.8))
    fewer = rng.random(4000) < np.where(decisions == 2, 0.5, 0.8)
    assert differ_by_decision(make_samples(decisions, fewer))


def test_repeated_samples_of_a_unit_count_once():
    rng = np.random.default_rng(2)
    verdicts = []
    for _ in range(50):
        decisions, has_outcome = rng.integers(2, size=40), rng.random(40) < 0.7
        columns = np.repeat(decisions, 100), np.repeat(has_outcome, 100)
        units = np.repeat(np.arange(40), 100)
        verdicts.append(
            (
                differ_by_decision(make_samples(*columns, units=units)),
                differ_by_decision(make_samples(*columns)),
            )
        )
    by_unit, by_sample = np.mean(verdicts, axis=0)
    assert by_unit == 0.0 and by_sample > 0.5
    # A difference is still found where there are enough units.
    decisions = np.arange(400) % 2
    columns = np.repeat(decisions, 5), np.repeat((decisions == 1) | (np.arange(400) % 4 == 0), 5)
    assert differ_by_decision(make_samples(*columns, units=np.repeat(np.arange(400), 5)))


@pytest.mark.parametrize("n_refused", [2, 3, 5])
def test_few_samples_may_lack_outcomes_by_chance(n_refused):
    """The probability that 14 known outcomes of 20 samples miss all refused ones."""
    decisions = np.repeat([0, 1], [n_refused, 20 - n_refused])
    has_outcome = np.arange(20) >= 6
    p = stats.hypergeom(20, n_refused, 14).pmf(0)
    samples = make_samples(decisions, has_outcome)
    assert lacks_outcomes(samples, decisions == 0, 2) == (p < 0.001)
    assert not lacks_outcomes(samples, decisions == 0, 2000)


def test_decisions_without_an_outcome_are_compared_within_strata():
    """The refused of the last month, in which no outcome is known, show nothing."""
    decisions = np.repeat([1, 0], [100, 20])
    periods = np.repeat([0, 1], [95, 25])
    samples = make_samples(decisions, periods == 0, periods=periods)
    assert not lacks_outcomes(samples, decisions == 0, 2)
    assert lacks_outcomes(samples._replace(periods=0 * periods), decisions == 0, 2)


def test_units_without_an_outcome_count_once():
    units = np.repeat(np.arange(4), 10)
    by_unit = np.repeat([0, 0, 1, 1], 10)  # the decision of a whole unit
    assert not lacks_outcomes(make_samples(by_unit, by_unit == 1, units=units), by_unit == 0, 2)
    assert lacks_outcomes(make_samples(by_unit, by_unit == 1), by_unit == 0, 2)
    within = np.tile([0, 1], 20)
    assert lacks_outcomes(make_samples(within, within == 1, units=units), within == 0, 2)
    many = np.repeat([0, 1], 20)  # of 40 units with one sample each, and a copy of it
    copies = np.tile(many, 2)
    samples = make_samples(copies, copies == 1, units=np.tile(np.arange(40), 2))
    assert lacks_outcomes(samples, copies == 0, 2)


@pytest.mark.parametrize("n_units", [4, 15, 40])
def test_false_alarms_of_few_units_are_rare(n_units):
    """Whole units lack their outcomes, or have the same decision, or both."""
    rng = np.random.default_rng(4)
    units = np.repeat(np.arange(n_units), 10)
    n_alarms = 0
    for _ in range(100):
        decisions = (rng.random(n_units) < 0.4)[units].astype(int)
        has_outcome = (rng.random(n_units) < 0.7)[units]
        samples = make_samples(decisions, has_outcome, units=units)
        none = [one for one in (0, 1) if not has_outcome[decisions == one].any()]
        n_alarms += differ_by_decision(samples) or any(
            lacks_outcomes(samples, decisions == one, 2) for one in none
        )
    assert n_alarms == 0
