"""Parity of mean scores."""

import numpy as np

from skfair.constraints import MeanParity
from skfair.groups import Samples, check_groups
from skfair.losses import SquaredLoss
from skfair.metrics import mean_score_difference
from skfair.surrogates import Sigmoid


def test_the_gap_is_that_of_the_means():
    scores, group = np.array([1.0, 3.0, 10.0, 4.0]), list("aabb")
    samples = Samples(scores, check_groups(group, 4), np.array([1.0, 3.0, 1.0, 1.0]))
    bound = MeanParity(tolerance=0.5).bind(samples, Sigmoid(), SquaredLoss(), 0.1)
    assert bound.gap(scores) == 7.0 - 2.5
    assert bound.gap(scores) == mean_score_difference(
        scores, sensitive_features=group, sample_weight=samples.weights
    )
