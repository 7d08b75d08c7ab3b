"""Exact limits of the difference of two rates, by enumeration of all outcomes."""

from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from skfair._groups.events import Events
from skfair._statistics.estimates import Estimates, Rates, pairwise_contrasts
from skfair._statistics.gaps import interval_of_largest_contrast
from skfair._statistics.limits_of_rates import limit_difference
from skfair.statistics import gap_interval

_NEAR_0 = np.r_[0.001, 0.005, 0.01, 0.02, 0.04, 0.07, np.arange(0.1, 0.51, 0.04)]
GRID = np.unique(np.r_[_NEAR_0, 1.0 - _NEAR_0])


def find_largest_errors(n, m, level=0.975):
    """Largest probabilities, over a grid of rates, that a one- and a two-sided limit miss."""
    counts, others = np.arange(n + 1), np.arange(m + 1)
    high = np.array([[limit_difference((a, b), (n, m), level) for b in others.tolist()]
                     for a in counts.tolist()])  # fmt: skip
    low = -np.array([[limit_difference((b, a), (m, n), level) for b in others.tolist()]
                     for a in counts.tolist()])  # fmt: skip
    first, second = (stats.binom.pmf(of[:, np.newaxis], of[-1], GRID) for of in (counts, others))
    errors = np.zeros((2, len(GRID), len(GRID)))
    for i, p in enumerate(GRID):
        for j, q in enumerate(GRID):
            is_above, is_below = high < p - q - 1e-12, low > p - q + 1e-12
            errors[0, i, j] = first[:, i] @ is_above @ second[:, j]
            errors[1, i, j] = errors[0, i, j] + first[:, i] @ is_below @ second[:, j]
    return errors.max(axis=(1, 2))


@pytest.mark.covering(0)
@pytest.mark.parametrize("n, m", [(5, 5), (5, 12), (9, 8)])
def test_limits_hold_at_every_pair_of_rates(n, m):
    one_sided, two_sided = find_largest_errors(n, m)
    assert one_sided <= 0.025 and two_sided <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("n, m", [(30, 30), (5, 30), (20, 20), (12, 30)])
def test_limits_of_larger_groups_hold_at_every_pair_of_rates(n, m):
    one_sided, two_sided = find_largest_errors(n, m)
    assert 0.02 < one_sided <= 0.025 and 0.03 * (min(n, m) > 5) < two_sided <= 0.05


@pytest.mark.parametrize("level", [0.9, 0.95, 0.9995])
def test_rates_at_both_ends_have_limits_that_hold(level):
    """Rates of .01 and .99, where margins that add up like standard errors miss most."""
    counts = np.arange(7)
    masses = stats.binom.pmf(counts, 30, 0.01)
    high = [[limit_difference((30 - a, b), (30, 30), level) for b in counts.tolist()]
            for a in counts.tolist()]  # fmt: skip
    assert masses @ (np.array(high) < 0.98) @ masses <= 1.0 - level


def test_limits_of_failures_are_those_of_successes():
    one = limit_difference((12, 4), (40, 25), 0.95)
    assert limit_difference((21, 28), (25, 40), 0.95) == pytest.approx(one, abs=3e-6)
    assert (
        limit_difference((13, 4), (40, 25), 0.95) > one > limit_difference((12, 5), (40, 25), 0.95)
    )
    assert limit_difference((30, 0), (30, 30), 0.95) == 1.0


def test_the_limit_is_where_the_worst_rates_make_the_outcome_rare():
    """All outcomes with a limit as low have the probability .05 at the worst rates, by hand."""
    n, hits = 9, (8, 2)
    limit = limit_difference(hits, (n, n), 0.95)
    highs = np.array([[limit_difference((a, b), (n, n), 0.95) for b in range(n + 1)]
                      for a in range(n + 1)])  # fmt: skip
    seconds = np.linspace(0.0, 1.0 - limit, 4001)
    first, second = (
        stats.binom.pmf(np.arange(n + 1)[:, np.newaxis], n, rates)
        for rates in (seconds + limit, seconds)
    )
    worst = (first * ((highs <= limit + 1e-9) @ second)).sum(axis=0).max()
    assert 0.045 < worst < 0.05


def test_many_or_large_pairs_have_newcombes_limits():
    for sizes, n_groups, is_exact in ((21_000, 2, False), (300, 2, True), (150, 16, False)):
        hits = np.rint(sizes * np.array([0.6, 0.7])).astype(int)
        values = np.concatenate([np.arange(sizes) < hits[g % 2] for g in range(n_groups)])
        groups = np.repeat(np.arange(n_groups), sizes)
        rates = Rates(Events.disjoint(groups, n_groups, np.ones(len(groups))), values * 1.0)
        forms = pairwise_contrasts(n_groups)
        limits, newcombe = rates.upper(forms, 0.975), Estimates.upper(rates, forms, 0.975)
        assert (limits >= newcombe).all() and (limits > newcombe).any() == is_exact


def test_the_largest_limit_and_limits_up_to_bounds_are_those_of_all():
    """They skip most searches, and have the values of the exact limits one by one, in every bit."""
    rng = np.random.default_rng(0)
    for _ in range(6):
        sizes = rng.integers(5, 60, 4)
        hits = rng.binomial(sizes, rng.choice([0.02, 0.5, 0.98], 4))
        values = np.concatenate([np.arange(n) < k for n, k in zip(sizes, hits, strict=True)])
        events = Events.disjoint(np.repeat(np.arange(4), sizes), 4, np.ones(sizes.sum()))
        rates = Rates(events, values * 1.0)
        forms = pairwise_contrasts(4)
        limits = Estimates.upper(rates, forms, 0.95)
        for row, pair in enumerate(permutations(range(4), 2)):
            exact = limit_difference(tuple(hits[[*pair]]), tuple(sizes[[*pair]]), 0.95)
            limits[row] = max(limits[row], exact)
        assert (rates.upper(forms, 0.95) == limits).all()
        assert rates.largest_upper(forms, 0.95) == max(limits.max(), 0.0)
        bounds = rng.choice([-np.inf, -0.2, 0.0, 0.2, 0.6], len(limits))
        assert (rates.upper_up_to(forms, 0.95, bounds) == np.minimum(limits, bounds)).all()


def test_gaps_have_exact_limits():
    values, groups = np.repeat([1, 0, 1, 0], [29, 1, 1, 29]), np.repeat([0, 1], 30)
    interval = gap_interval(values, sensitive_features=groups)
    high = limit_difference((29, 1), (30, 30), 0.975)
    low = -limit_difference((1, 29), (30, 30), 0.975)
    assert (interval.low, interval.high) == (low, high)
    rates = Rates(Events.disjoint(groups, 2, np.ones(60)), values * 1.0)
    rates._list_exact_pairs = lambda contrasts: []  # Newcombe's limits alone
    newcombe = interval_of_largest_contrast(rates, pairwise_contrasts(2), 0.95)
    assert newcombe.high < high - 0.005


@pytest.mark.parametrize("level", [0.6, 0.95, 0.99999])
def test_limits_are_between_the_estimate_and_one(level):
    rng = np.random.default_rng(0)
    for rate, other in rng.choice([0.0, 0.01, 0.5, 0.99, 1.0], size=(60, 2)):
        n = tuple(rng.integers(1, [12, 150]).tolist())
        hits = tuple(rng.binomial(n, (rate, other)).tolist())
        difference = hits[0] / n[0] - hits[1] / n[1]
        assert difference <= limit_difference(hits, n, level) <= 1.0
