"""Sizes at which a guaranteed fit also loses little accuracy."""

import numpy as np
import pytest
from scipy.stats import norm

from skfair.inference import required_sample_size

LOSSES = {"max_accuracy_loss": 0.01, "plain_gap": 0.12, "equal_rates_loss": 0.04}


def test_the_margin_is_that_of_the_largest_loss_by_hand():
    # At the tolerance the quadratic loss is .04 (1 - .1 / .12)^2 = .00111, and .01111 is allowed:
    # at a gap of .12 (1 - sqrt(.01111 / .04)) = .0568 a fit loses so much.
    gap = 0.12 * (1 - np.sqrt((0.04 * (1 / 6) ** 2 + 0.01) / 0.04))
    errors = norm.ppf(0.9) + norm.ppf(0.7)
    expected = np.ceil(2 * 0.3 * 0.7 * (errors / (0.1 - gap)) ** 2)
    n = required_sample_size(0.1, rate=0.3, confidence_level=0.9, power=0.7, kind="fit", **LOSSES)
    assert n == expected


def test_a_plain_fit_within_the_tolerance_loses_by_the_guarantee_alone():
    # The plain gap of .08 is kept: half of it is left where a fourth of the loss is allowed.
    losses = LOSSES | {"plain_gap": 0.08}
    errors = norm.ppf(0.95) + norm.ppf(0.8)
    n = required_sample_size(0.1, kind="fit", **losses)
    assert n == np.ceil(0.5 * (errors / (0.1 - 0.04)) ** 2)


@pytest.mark.parametrize("allowed", [0.04, 0.5])
def test_a_loss_that_equal_rates_cost_requires_the_guarantee_alone(allowed):
    losses = LOSSES | {"max_accuracy_loss": allowed}
    assert required_sample_size(0.1, kind="fit", **losses) == required_sample_size(0.1, kind="fit")


def test_smaller_losses_need_more_samples():
    sizes = [
        required_sample_size(0.1, kind="fit", **LOSSES | {"max_accuracy_loss": one})
        for one in (0.03, 0.01, 0.003, 0.001)
    ]
    assert sizes == sorted(sizes) and sizes[0] < sizes[-1] / 10


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"plain_gap": None}, "pass all three and kind='fit'"),
        ({"kind": "certificate"}, "kind='certificate'"),
        ({"max_accuracy_loss": 0.0}, "max_accuracy_loss"),
        ({"equal_rates_loss": 1.5}, "equal_rates_loss"),
    ],
)
def test_numbers_of_a_loss_are_checked(changes, match):
    with pytest.raises(ValueError, match=match):
        required_sample_size(0.1, **{"kind": "fit"} | LOSSES | changes)
