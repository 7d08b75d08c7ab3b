"""Whether known shares differ by decision, against an exact permutation and by counts by hand."""

import numpy as np
import pytest
from scipy import stats

from skfair._statistics.known_shares import (
    KnownSamples,
    differ_by_decision,
    is_unlikely_without_outcome,
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
    """The normal limit with continuity correction is near twice the tail of the exact law."""
    decisions = np.repeat([0, 1], [200, 300])
    has_outcome = np.ones(500, dtype=bool)
    has_outcome[:n_missing] = False
    samples = make_samples(decisions, has_outcome)
    p = 2.0 * stats.hypergeom(500, 200, n_missing).sf(n_missing - 1)
    is_wide = 1.0 > 1.1 * (1.0 - n_missing / 200)
    for level in (p / 3, p * 3):
        if 1e-4 < p:
            assert shares_differ(samples, decisions == 0, level) == (is_wide and level > p)
    if p < 1e-5:
        assert shares_differ(samples, decisions == 0, 1e-4) == is_wide


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


def test_a_rare_class_may_lack_outcomes_by_chance():
    assert not is_unlikely_without_outcome(2, 1000, 700, n_decisions=3)
    assert is_unlikely_without_outcome(20, 1000, 700, n_decisions=3)
