from math import isnan, sqrt

import numpy as np
import pytest

from benchmarks.papers.partial_fairness.theory import _deviation, _surrogate_error
from benchmarks.tables import half_width


def test_half_the_width_of_an_interval_by_hand():
    # Student's t of two degrees of freedom is 4.303 at 97.5 %.
    assert half_width([1.0, 2.0, 3.0]) == pytest.approx(4.303 / sqrt(3), rel=1e-3)
    assert isnan(half_width([1.0]))


def test_terms_of_the_theorems_by_hand():
    # log(4 * 20 / .05) = log(1600); one sample: 8 * 3 * 1 under the other root.
    assert _deviation(1, 3) == pytest.approx(sqrt(24) + sqrt(2 * 7.37776), rel=1e-5)


def test_the_error_of_the_ramp_is_gamma_or_the_share_near_the_threshold():
    thresholds = np.array([0.0])
    assert _surrogate_error(np.array([-3.0, 2.0]), thresholds) == 0.0
    # All at the threshold: only gamma beyond .5 leaves no sample.
    assert _surrogate_error(np.zeros(4), thresholds) == pytest.approx(1.0)
    # One of ten at .2: no sample is within .5 - gamma from gamma = .31 on; .1 is less.
    scores = np.r_[0.2, np.full(9, 5.0)]
    assert _surrogate_error(scores, thresholds) == pytest.approx(0.1)
