"""Ranks within groups and percentile intervals, by hand."""

import numpy as np
import pytest

from skfair._groups.events import intervals_by_group, is_in_intervals, tabulate_scores
from skfair._groups.groups import check_groups

SCORE = np.array([3.0, 1.0, 2.0, 2.0, 1.0])
GROUPS = check_groups(list("aabbb"), 5)


def select_interval(y_score, groups, interval, weights=None):
    """Samples whose rank in their group lies in an interval: without weights, of group k those ::

    ceil(alpha n_k) <= #{j in k: s_j > s} < ceil(beta n_k)
    """
    table = tabulate_scores(y_score, groups.codes, len(groups.labels))
    return table.is_inside(intervals_by_group(interval, groups.names), weights)


@pytest.fixture
def table():
    return tabulate_scores(SCORE, GROUPS.codes, 2)


def test_thresholds_are_the_scores_and_one_point_below(table):
    assert table.thresholds.tolist() == [3, 2, 1, -np.inf]
    np.testing.assert_array_equal(table.thresholds[table.threshold_indices], SCORE)


def test_weights_at_and_above_every_threshold(table):
    weights = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    assert table.weight_at(weights).tolist() == [[1, 0, 2, 0], [0, 7, 5, 0]]
    assert table.weight_above(weights).tolist() == [[0, 1, 1, 3], [0, 0, 7, 12]]


def test_rates_rise_from_none_to_all(table):
    rates = table.rates(np.ones(5))
    np.testing.assert_allclose(rates, [[0, 1 / 2, 1 / 2, 1], [0, 0, 2 / 3, 1]])


def test_rates_of_a_group_without_weight_are_unknown(table):
    rates = table.rates(np.array([1.0, 1.0, 0.0, 0.0, 0.0]))
    assert np.isnan(rates[1]).all() and not np.isnan(rates[0]).any()


def test_any_weights_end_at_one():
    rng = np.random.default_rng(0)
    table = tabulate_scores(rng.normal(size=1000), rng.integers(3, size=1000), 3)
    assert table.rates(rng.random(1000))[:, -1].tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    "interval, chosen",
    [
        ((0, 0.5), [3, 2, 2]),  # the two of b are tied, in rank 0
        ((0.5, 1), [1, 1]),
        ((0, 0.1), [3, 2, 2]),
        ((0.1, 0.5), []),
        ([(0, 0.1), (0.6, 0.7)], [3, 2, 2, 1]),  # 2/3 is in the second, 1/2 is not
        ({"a": (0.5, 1), "b": (0, 0.5)}, [1, 2, 2]),
        ((0, 1), [3, 1, 2, 2, 1]),
    ],
)
def test_selected_by_hand(interval, chosen):
    assert SCORE[select_interval(SCORE, GROUPS, interval)].tolist() == chosen


def test_weights_are_shares_of_a_group():
    weights = np.array([9.0, 1.0, 1.0, 1.0, 2.0])
    inside = select_interval(SCORE, GROUPS, (0.5, 0.9), weights)
    assert inside.tolist() == [False, False, False, False, True]  # ranks 0, .9 and 0, 0, .5
    assert select_interval(SCORE, GROUPS, (0.9, 1.0), weights).tolist() == [0, 1, 0, 0, 0]


@pytest.mark.parametrize("n", [3, 7, 10, 49, 1000])
def test_every_share_of_a_group_is_met_exactly(n):
    """[k/n, 1] holds n - k members, however k/n and the ranks are rounded."""
    score = np.arange(n, dtype=float)
    groups = check_groups(np.zeros(n), n)
    for weight in (1.0, 0.1, 1 / 3):
        for k in range(0, n, max(1, n // 50)):
            n_chosen = select_interval(score, groups, (k / n, 1.0), np.full(n, weight)).sum()
            assert n_chosen == n - k


def test_one_includes_the_very_last():
    """However little weight the last has: its rank is 1 but for rounding."""
    score = np.array([2.0, 1.0])
    weights = np.array([1.0, 1e-15])
    assert select_interval(score, check_groups(["a", "a"], 2), (0.5, 1.0), weights).tolist() == [
        0,
        1,
    ]


def test_intervals_are_sorted_and_repeated_for_every_group():
    first, second = intervals_by_group([(0.5, 1), (0, 0.2)], GROUPS.names)
    assert first.tolist() == second.tolist() == [[0, 0.2], [0.5, 1]]
    by_group = intervals_by_group({"b": (0, 1), "a": [(0.1, 0.2)], "absent": (0, 1)}, GROUPS.names)
    assert [pairs.tolist() for pairs in by_group] == [[[0.1, 0.2]], [[0, 1]]]


def test_intervals_that_touch_are_no_overlap():
    inside = is_in_intervals(np.array([[0.1, 0.3, 0.5]]), [np.array([[0.0, 0.3], [0.3, 0.5]])])
    assert inside.tolist() == [[True, True, False]]


def test_a_group_of_several_attributes_is_named_by_a_tuple():
    groups = check_groups([["f", 1], ["m", 1]], 2)
    intervals = intervals_by_group({("f", 1): (0, 0.5), ("m", 1): (0.5, 1)}, groups.names)
    assert [pairs.tolist() for pairs in intervals] == [[[0, 0.5]], [[0.5, 1]]]
    with pytest.raises(ValueError, match=r"\[\('m', 1\)\] have none"):
        intervals_by_group({("f", 1): (0, 0.5)}, groups.names)
