"""The balance that is reported, the promise, and the status that follows."""

import numpy as np
import pytest

from skfair.cluster._requirements import (
    ClusterRequirements,
    describe,
    keeps_balance,
    list_shortfalls,
    outcome,
)


@pytest.mark.parametrize(
    ("counts", "ratio", "largest_weight", "kept"),
    [
        ([[8, 12]], 0.8, 1, True),  # 8 + 1 >= 0.8 * (12 - 1)
        ([[7, 13]], 0.8, 1, False),  # 7 + 1 < 0.8 * (13 - 1)
        ([[7, 13]], 0.8, 2, True),
        ([[7, 13]], 0, 1, True),
        ([[0, 1], [5, 5]], 0.5, 1, False),  # forgiven by rounding, but a group lacks
        ([[5, 5], [1, 9]], 0.5, 1, False),  # every cluster counts
    ],
)
def test_the_promise_by_hand(counts, ratio, largest_weight, kept):
    assert keeps_balance(np.array(counts, dtype=float), ratio, largest_weight) is kept


def test_a_group_with_fewer_members_than_clusters_may_lack():
    counts = np.array([[0.0, 2.0], [1.0, 2.0]])
    assert keeps_balance(counts, 0.5, 1, members=np.array([1, 4]))
    assert not keeps_balance(counts, 0.5, 1, members=np.array([2, 4]))  # of two light members
    assert not keeps_balance(counts + [[0, 2], [0, 0]], 0.5, 1, members=np.array([1, 6]))


def test_what_is_reported_by_hand():
    counts = np.array([[2.0, 4.0], [4.0, 4.0]])
    told = describe(counts, ClusterRequirements(balance=0.9))
    assert told["balance_"] == 0.5
    assert told["relative_balance_"] == 0.5 / 0.75
    assert told["cluster_balances_"].tolist() == [0.5, 1.0]
    assert told["constraint_violation_"] == 0  # one person more or less would do
    missed = describe(10 * counts, ClusterRequirements(balance=0.9))
    assert missed["constraint_violation_"] == pytest.approx(0.9 - 2 / 3)
    assert describe(10 * counts, ClusterRequirements())["constraint_violation_"] == 0


@pytest.mark.parametrize("search", ["optimal", "feasible", "max_iter"])
def test_a_missed_balance_comes_before_how_the_search_ended(search):
    for lacks_groups in (False, True):
        told = outcome({"constraint_violation_": 0.1}, search, lacks_groups)
        assert told == {"status_": "infeasible", "constraint_violation_": 0.1}
    told = outcome({"constraint_violation_": 0.0}, search, lacks_groups=False)
    assert told == {"status_": search, "constraint_violation_": 0.0}


def test_each_thing_that_is_missed_identify_groups():
    counts = np.array([[10.0, 40.0], [30.0, 20.0]])  # shares of 1/4, 2/3 and 3/4, 1/3
    asked = ClusterRequirements(balance=0.9, share_ratio=0.8, smallest=49.0, largest=51.0)
    told = describe(counts, asked)
    assert told["share_ratio_"] == pytest.approx(0.25 / (2 / 3))
    np.testing.assert_allclose(told["cluster_share_ratios_"], [0.375, 4 / 9])
    assert told["cluster_sizes_"].tolist() == [50, 50]
    lacks = list_shortfalls(told, asked, 1.0)
    assert [sentence[:15] for _, sentence in lacks] == ["min_balance=0.9", "min_share_ratio"]
    assert told["constraint_violation_"] == pytest.approx(0.9 - 0.25 / (40 / 60))
    uneven = ClusterRequirements(smallest=51.0, largest=48.0)
    lacks = list_shortfalls(describe(counts, uneven), uneven, 1.0)
    assert [amount for amount, _ in lacks] == [0.01, 0.02]
    assert "the minimum is 50." in lacks[0][1]
    assert "the maximum is 50." in lacks[1][1]
    # Of people who count 3 the last one may not fit.
    assert not list_shortfalls(describe(counts, uneven), uneven, 3.0)
