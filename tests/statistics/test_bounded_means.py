"""Gaffke's limits of means in a known range."""

from itertools import permutations

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import beta

from skfair._groups.events import Events
from skfair._statistics.bounded_means import BoundedMeans, _ends_of_means, upper_mean
from skfair.audit import Audit
from skfair.constraints import ExposureParity
from skfair.metrics import exposure_difference
from skfair.statistics import gap_interval


@pytest.mark.parametrize(("hits", "n"), [(0, 30), (1, 30), (3, 100), (50, 1000), (99, 100)])
@pytest.mark.parametrize("level", [0.9, 0.95, 0.999])
def test_limits_of_zeros_and_ones_are_those_of_clopper_and_pearson(hits, n, level):
    x = np.repeat([1.0, 0.0], [hits, n - hits])
    exact = beta.ppf(level, hits + 1, n - hits)
    # The saddlepoint approximation errs by .3 % where one value is away from all others.
    assert upper_mean(x, np.ones(n), level) == pytest.approx(exact, rel=3e-3)
    assert upper_mean(x, np.ones(n), level) >= exact * (1.0 - 1e-4)


def test_limits_are_quantiles_of_random_weights():
    rng = np.random.default_rng(0)
    x = rng.beta(2, 5, 50)
    weights = rng.exponential(size=(100_000, 51))
    drawn = weights @ np.append(x, 1.0) / weights.sum(axis=1)
    assert upper_mean(x, np.ones(50), 0.95) == pytest.approx(np.quantile(drawn, 0.95), rel=3e-3)


def test_limits_at_the_ends_of_the_range():
    assert upper_mean(np.ones(5), np.ones(5), 0.95) == pytest.approx(1.0)
    events = Events.disjoint(np.repeat([0, 1], 20), 2, np.ones(40))
    x = 10.0 + np.repeat([0.0, 5.0], 20)
    low, high = BoundedMeans(events, x, (10.0, 15.0)).limits(0.95)
    assert low == pytest.approx([10.0, 15.0 - 5.0 * (1 - 0.05 ** (1 / 20))], rel=2e-3)
    assert high == pytest.approx([10.0 + 5.0 * (1 - 0.05 ** (1 / 20)), 15.0], rel=2e-3)


@pytest.mark.slow
def test_a_rare_value_that_the_sample_lacks_makes_no_false_claims():
    groups = np.repeat(["a", "b"], 100)
    n_false = 0
    for seed in range(40):
        rng = np.random.default_rng([8, seed])
        scores = np.full(200, 0.01)
        scores[:100][rng.random(100) < 0.02] = 0.97
        y = rng.integers(2, size=200)
        audit = Audit.from_predictions(
            y, (scores > 0.5).astype(int), y_score=scores, sensitive_features=groups
        )
        n_false += audit.certify("mean_parity", 0.0192).verdict == "shown"
        interval = gap_interval(scores, sensitive_features=groups, value_range=(0.0, 1.0))
        assert interval.high > 0.0192
    assert n_false == 0


def test_values_outside_the_range_raise():
    with pytest.raises(ValueError, match="value_range"):
        gap_interval([0.5, 2.0], sensitive_features=["a", "b"], value_range=(0.0, 1.0))


def test_ends_of_means_are_those_of_all_orders():
    """Brute force: the means of two groups in every order of the values of a unit."""
    ranked = np.array([1.0, 0.6, 0.5, 0.4, 0.3, 1.0, 0.6])
    units = np.array([0, 0, 0, 0, 0, 1, 1])
    group = np.array([0, 1, 0, 1, 1, 0, 0])
    events = Events.disjoint(group, 2)
    places = np.array([0, 1, 0]), np.array([0, 0, 1])
    low, high = _ends_of_means(events, units, ranked, places)
    for number, (event, unit) in enumerate(zip(*places, strict=True)):
        values = ranked[units == unit]
        is_member = group[units == unit] == event
        means = [np.mean(np.array(one)[is_member]) for one in permutations(values)]
        assert low[number] == pytest.approx(min(means))
        assert high[number] == pytest.approx(max(means))
    # Unequal weights within a unit: the ends of single values.
    weighted = Events.disjoint(group, 2, np.arange(1.0, 8.0))
    low, high = _ends_of_means(weighted, units, ranked, places)
    np.testing.assert_allclose([low, high], [[0.3, 0.3, 0.6], [1.0, 1.0, 1.0]])


def test_differences_of_equal_units_are_means_of_their_differences():
    rng = np.random.default_rng(0)
    first, second = rng.random((2, 80))
    units = np.tile(np.arange(80), 2)
    events = Events.disjoint(np.repeat([0, 1], 80), 2)
    means = BoundedMeans(events, np.append(first, second), (0.0, 1.0), units)
    form = sparse.csr_array([[1.0, -1.0]])
    expected = 2.0 * upper_mean((1.0 + first - second) / 2.0, np.ones(80), 0.95) - 1.0
    assert means.upper(form, 0.95) == pytest.approx([expected])


@pytest.mark.slow
@pytest.mark.parametrize("n_queries", [25, 60, 200])
def test_claims_of_exposure_hold_and_are_near_noise(n_queries):
    """Limits of rankings with unequal shares of a group cover, within 2.6 standard deviations."""

    def draw(seed, n):
        rng = np.random.default_rng([seed, n])
        query = np.repeat(np.arange(n), 10)
        group = (rng.random(10 * n) < rng.beta(1.0, 1.5, n)[query]).astype(int)
        strength = 0.5 + 0.4 * rng.normal(size=n)[query]
        return rng.normal(size=10 * n) + strength * group, group, query

    scores, group, query = draw(0, 50_000)
    truth = exposure_difference(scores, query_id=query, sensitive_features=group)
    n_draws = 100
    claims = []
    for seed in range(1, n_draws + 1):
        scores, group, query = draw(seed, n_queries)
        audit = Audit.from_predictions(
            None, None, y_score=scores, groups=query, sensitive_features=group
        )
        claims.append(audit.certify(ExposureParity(tolerance=truth)))
    n_false = sum(one.is_shown for one in claims)
    assert n_false <= n_draws * 0.05 + 2 * np.sqrt(n_draws * 0.05 * 0.95)
    if n_queries >= 60:
        estimates = np.array([one.estimate for one in claims])
        above = np.mean([one.high for one in claims]) - estimates.mean()
        assert above < (2.6 if n_queries == 60 else 2.2) * estimates.std()
