"""Gaps of rates by hand."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import UndefinedMetricWarning

from skfair.metrics._rates import METHODS, gap, ratio, warn_of_unknown_rates

CELLS = [(np.array([0.2, 0.5, 0.3]), 0.4), (np.array([0.9, np.nan, 0.6]), 0.7)]


RATIOS = [(0.2 / 0.5, 0.6 / 0.9), (0.2 / 0.4, 0.6 / 0.7), (0.4 / 0.5, 0.7 / 0.9)]


@pytest.mark.parametrize(
    ("method", "differences", "ratios"),
    [
        ("between_groups", (0.3, 0.3), RATIOS[0]),
        ("to_overall", (0.2, 0.2), RATIOS[1]),
        ("above_overall", (0.1, 0.2), RATIOS[2]),
    ],
)
def test_by_hand(method, differences, ratios):
    ratios = np.minimum(ratios, [1, 7 / 9]) if method == "to_overall" else ratios
    assert gap(CELLS, method) == pytest.approx(max(differences))
    assert gap(CELLS, method, "mean") == pytest.approx(np.mean(differences))
    assert ratio(CELLS, method) == pytest.approx(min(ratios))
    assert ratio(CELLS, method, "mean") == pytest.approx(np.mean(ratios))
    assert isinstance(gap(CELLS, method), float) and isinstance(ratio(CELLS, method), float)


@pytest.mark.filterwarnings("ignore:There is one group")
def test_one_known_rate_is_unknown_and_a_single_group_is_fair():
    single = [(np.array([0.5, np.nan]), 0.5)]
    assert np.isnan(gap(single))
    assert gap(single, "to_overall") == gap(single, "above_overall") == 0
    assert np.isnan(gap([(np.array([np.nan, np.nan]), np.nan)], "to_overall"))
    assert gap([(np.array([0.5]), 0.5)]) == 0


def test_groups_below_the_overall_rate_have_a_distance_and_no_excess():
    below = [(np.array([0.1, 0.2]), 0.3)]
    assert gap(below, "to_overall") == pytest.approx(0.2)
    assert ratio(below, "to_overall") == pytest.approx(1 / 3)
    assert gap(below, "above_overall") == 0 and ratio(below, "above_overall") == 1


@pytest.mark.parametrize("method", METHODS)
def test_the_ratio_of_rates_of_zero_is_undefined(method):
    none = (np.zeros(2), 0.0)
    one = (np.array([0.0, 0.4]), 0.2)
    with pytest.warns(UndefinedMetricWarning, match=r"recall of every group is 0, .* is nan\."):
        assert np.isnan(ratio([none], method, names=["recall"]))
    with pytest.warns(UndefinedMetricWarning, match=r"a, c of every group .* are compared\."):
        value = ratio([none, one, none], method, names="abc")
    assert value == ratio([one], method)
    assert gap([none], method) == 0


def test_unknown_groups_are_named():
    known = np.array([True, False, True])
    with pytest.warns(UndefinedMetricWarning, match=r"No rate: 'b'\. The others are.* Advice\."):
        warn_of_unknown_rates(known, list("abc"), "No rate", " Advice.")
    with pytest.warns(UndefinedMetricWarning, match="Fewer than two groups remain"):
        warn_of_unknown_rates(known[:2], list("ab"), "No rate")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_unknown_rates(known[::2], list("ac"), "No rate")
