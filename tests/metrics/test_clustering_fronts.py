import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skfair.metrics import hypervolume, non_dominated_mask

points = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=10)


def columns(front):
    return np.array(front, dtype=float).reshape(-1, 2).T


def dominated_cells(front, costs, balances):
    """Count the unit cells [c, c + 1] x [b, b + 1] that some point dominates."""
    return sum(
        any(cost <= c and balance >= b + 1 for cost, balance in front)
        for c in costs
        for b in balances
    )


@given(points)
def test_hypervolume_counts_dominated_cells(front):
    expected = dominated_cells(front, range(7), range(2, 8))
    assert hypervolume(*columns(front), reference=(7, 2)) == expected


@given(points, st.tuples(st.integers(0, 8), st.integers(0, 8)))
def test_another_point_never_lowers_the_hypervolume(front, point):
    before = hypervolume(*columns(front), reference=(7, 1))
    assert hypervolume(*columns([*front, point]), reference=(7, 1)) >= before


def test_hypervolume_by_hand():
    assert hypervolume([1], [0.5], reference=(2, 0)) == 0.5
    assert hypervolume([2, 1], [0.5, 0.25], reference=(4, 0)) == 1.25
    assert hypervolume([1, 2], [0.5, 0.25], reference=(4, 0)) == 1.5  # the second is dominated
    assert hypervolume([], [], reference=(1, 0)) == 0
    assert hypervolume([2, 0], [0.5, -1], reference=(1, 0)) == 0
    assert isinstance(hypervolume([1], [1], reference=(2, 0)), float)


@pytest.mark.parametrize(
    "call, match",
    [
        (lambda: hypervolume([1, 2], [0], reference=(1, 0)), r"shapes \(2,\) and \(1,\)"),
        (lambda: hypervolume([1, np.nan], [0, 1], reference=(1, 0)), "must be finite"),
    ],
)
def test_refusals(call, match):
    with pytest.raises(ValueError, match=match):
        call()


# Few distinct values, so that ties and duplicates are common.
objectives = hnp.arrays(np.float64, st.integers(0, 12), elements=st.integers(0, 4))


@given(st.data())
def test_non_dominated_is_the_strict_front(data):
    cost = data.draw(objectives)
    points = data.draw(hnp.arrays(np.float64, len(cost), elements=st.integers(0, 4)))
    expected = [
        not any(
            (cost[q] <= cost[p] and points[q] >= points[p])
            and (cost[q] < cost[p] or points[q] > points[p] or q < p)
            for q in range(len(cost))
        )
        for p in range(len(cost))
    ]
    assert non_dominated_mask(cost, points).tolist() == expected


@pytest.mark.parametrize(
    "cost, points, expected",
    [
        ([], [], []),
        ([1.0], [0.5], [True]),
        ([1, 1, 1], [0.5, 0.5, 0.4], [True, False, False]),
        ([3, 1, 2, 2], [0.9, 0.1, 0.5, 0.6], [True, True, False, True]),
        ([1, 2], [0.0, 0.0], [True, False]),
    ],
)
def test_non_dominated_by_hand(cost, points, expected):
    assert non_dominated_mask(np.array(cost), np.array(points)).tolist() == expected
