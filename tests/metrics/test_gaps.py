"""Gaps of rates by hand."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import UndefinedMetricWarning

from skfair.metrics._rates import gap, warn_of_unknown_rates

CELLS = [(np.array([0.2, 0.5, 0.3]), 0.4), (np.array([0.9, np.nan, 0.6]), 0.7)]


@pytest.mark.parametrize(
    ("reference", "aggregate", "expected"),
    [
        ("groups", "max", 0.3),
        ("groups", "sum", 0.3 + 0.3),
        ("overall", "max", 0.2),
        ("overall", "mean", (0.2 + 0.1 + 0.1 + 0.2 + 0.1) / 5),
        ("above_overall", "max", 0.2),
        ("above_overall", "mean", (0.1 + 0.2) / 5),
        ("above_overall", "signed_mean", (-0.2 + 0.1 - 0.1 + 0.2 - 0.1) / 5),
    ],
)
def test_by_hand(reference, aggregate, expected):
    assert gap(CELLS, reference, aggregate) == pytest.approx(expected)
    assert isinstance(gap(CELLS, reference, aggregate), float)


def test_one_known_rate_is_unknown_and_a_single_group_is_fair():
    single = [(np.array([0.5, np.nan]), 0.5)]
    assert np.isnan(gap(single))
    assert gap(single, "overall") == gap(single, "above_overall") == 0
    assert np.isnan(gap([(np.array([np.nan, np.nan]), np.nan)], "overall"))
    assert gap([(np.array([0.5]), 0.5)]) == 0


def test_groups_below_the_overall_rate_have_a_distance_and_no_excess():
    below = [(np.array([0.1, 0.2]), 0.3)]
    assert gap(below, "overall") == pytest.approx(0.2)
    assert gap(below, "overall", "mean") == pytest.approx(0.15)
    assert gap(below, "above_overall") == gap(below, "above_overall", "mean") == 0


def test_unknown_groups_are_named():
    known = np.array([True, False, True])
    with pytest.warns(UndefinedMetricWarning, match=r"No rate: 'b'\. The others are.* Advice\."):
        warn_of_unknown_rates(known, list("abc"), "No rate", " Advice.")
    with pytest.warns(UndefinedMetricWarning, match="Fewer than two groups remain"):
        warn_of_unknown_rates(known[:2], list("ab"), "No rate")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_unknown_rates(known[::2], list("ac"), "No rate")
