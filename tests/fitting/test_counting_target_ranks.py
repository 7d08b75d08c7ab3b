"""Mean ranks of tied values and a trimmed deviation, against repeated samples and scipy."""

import numpy as np
import pytest
from scipy.stats import norm, rankdata

from skfair._fitting.counting import TargetRanks, average_ranks, trimmed_deviation


def test_mean_ranks_are_those_of_repeated_samples():
    rng = np.random.default_rng(0)
    values = rng.integers(0, 9, 50).astype(float)
    weights = rng.integers(1, 4, 50)
    repeated = (rankdata(np.repeat(values, weights)) - 0.5) / weights.sum()
    starts = np.cumsum(weights) - weights
    ranks = average_ranks(values, weights / weights.sum())
    assert ranks == pytest.approx(repeated[starts])


def test_the_deviation_of_normal_scores_ignores_a_few_huge_ones():
    """Two of a hundred scores are those of separable samples."""
    n = 1000
    scores = 3.0 * norm.ppf((np.arange(n) + 0.5) / n)
    weights = np.full(n, 1.0 / n)
    assert trimmed_deviation(scores, weights) == pytest.approx(3.0, rel=5e-3)
    scores[-20:] = 24_000.0
    assert trimmed_deviation(scores, weights) == pytest.approx(3.0, rel=5e-3)
    assert np.std(scores) > 3000.0


def test_the_deviation_of_weighted_scores_is_that_of_repeated_ones():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=200)
    counts = rng.integers(1, 4, 200)
    repeated = np.repeat(scores, counts)
    deviation = trimmed_deviation(scores, counts / counts.sum())
    assert deviation == trimmed_deviation(repeated, np.full(len(repeated), 1.0 / len(repeated)))


def test_the_correlation_of_tied_scores_is_that_of_repeated_samples():
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 9, 60).astype(float)
    target = rng.normal(size=60)
    counts = rng.integers(1, 4, 60)
    # Slope of the ranks of scores on those of the target.
    of_scores, of_target = (rankdata(np.repeat(one, counts)) for one in (scores, target))
    slope = np.cov(of_scores, of_target)[0, 1] / np.var(of_target, ddof=1)
    ranks = TargetRanks(target, counts / counts.sum())
    assert ranks.correlate(scores) == pytest.approx(slope)
