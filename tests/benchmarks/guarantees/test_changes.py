"""Draws of the benchmark of changes of gaps."""

import numpy as np
import pytest

from benchmarks.guarantees import changes

RATES = (0.2, 0.4), (0.3, 0.4)


@pytest.mark.parametrize("is_paired", [True, False])
def test_decisions_have_the_rates(is_paired):
    groups = np.repeat([0, 1], 50_000)
    drawn = changes.draw_decisions(RATES, groups, is_paired, np.random.default_rng(0))
    for decisions, rates in zip(drawn, RATES, strict=True):
        means = [decisions[groups == group].mean() for group in (0, 1)]
        assert means == pytest.approx(rates, abs=0.01)
    agree = np.mean(drawn[0] == drawn[1])
    assert agree > 0.75 if is_paired else agree < 0.6


def test_standard_errors_of_two_periods_are_those_of_four_rates():
    expected = np.sqrt(sum(p * (1.0 - p) for rates in RATES for p in rates) / 500)
    assert changes.standard_error(RATES, 500, "two periods") == pytest.approx(expected, rel=0.02)
    assert changes.standard_error(RATES, 500, "two models") < 0.75 * expected


@pytest.mark.parametrize("design", changes.DESIGNS)
def test_limits_contain_the_estimate(design):
    estimate, low, high = changes.measure_change(RATES, 2000, design, 0)
    assert low < estimate < high and low < -0.1 < high
