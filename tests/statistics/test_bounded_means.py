"""Gaffke's limits of means in a known range."""

import numpy as np
import pytest
from scipy.stats import beta

from skfair.audit import Audit
from skfair.groups._events import Events
from skfair.statistics import gap_interval
from skfair.statistics._bounded_means import BoundedMeans, upper_mean


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
