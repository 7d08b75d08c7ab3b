"""Mean ranks of tied values, against repeated samples."""

import numpy as np
import pytest
from scipy.stats import rankdata

from skfair._fitting.counting import average_ranks


def test_mean_ranks_are_those_of_repeated_samples():
    rng = np.random.default_rng(0)
    values = rng.integers(0, 9, 50).astype(float)
    weights = rng.integers(1, 4, 50)
    repeated = (rankdata(np.repeat(values, weights)) - 0.5) / weights.sum()
    starts = np.cumsum(weights) - weights
    ranks = average_ranks(values, weights / weights.sum())
    assert ranks == pytest.approx(repeated[starts])
