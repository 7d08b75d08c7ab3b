import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skfair.metrics import coverage, hypervolume, non_dominated_mask

points = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=10)
point_lists = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=1, max_size=10)


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
    expected = dominated_cells(front, range(0, 7), range(2, 8))
    assert hypervolume(*columns(front), reference=(7, 2)) == expected


@given(points)
def test_hypervolume_in_a_box_clips_to_it(front):
    expected = dominated_cells(front, range(3, 7), range(2, 6)) / 16
    assert hypervolume(*columns(front), reference=(7, 2), ideal=(3, 6)) == expected


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
    assert hypervolume([-5], [3], reference=(1, 0), ideal=(0, 1)) == 1
    assert isinstance(hypervolume([1], [1], reference=(2, 0)), float)


@given(point_lists, point_lists)
def test_coverage_against_its_definition(front_a, front_b):
    covered = [any(a[0] <= b[0] and a[1] >= b[1] for a in front_a) for b in front_b]
    assert coverage(front_a, front_b) == pytest.approx(np.mean(covered))
    assert coverage(front_a, front_a) == 1


def test_coverage_by_hand():
    a, b = [[1, 0.2], [2, 0.5]], [[1.5, 0.2], [1.9, 0.4]]
    assert coverage(a, b) == 0.5
    assert coverage(b, a) == 0
    assert coverage(a, b, tolerance=0.1) == 1
    assert coverage(b, a, tolerance=0.1) == 0.5
    assert coverage(np.empty((0, 2)), b) == 0


@pytest.mark.parametrize(
    "call, match",
    [
        (lambda: hypervolume([1, 2], [0], reference=(1, 0)), r"shapes \(2,\) and \(1,\)"),
        (lambda: hypervolume([1, np.nan], [0, 1], reference=(1, 0)), "must be finite"),
        (
            lambda: hypervolume([1], [1], reference=(1, 0), ideal=(1, 1)),
            "must have less cost",
        ),
        (
            lambda: hypervolume([1], [1], reference=(1, 0), ideal=(0, 0)),
            "must have less cost",
        ),
        (lambda: coverage([[1, 0]], np.empty((0, 2))), "at least one point"),
        (lambda: coverage([[1, np.inf]], [[1, 0]]), "front_a must be finite"),
        (lambda: coverage([[1, 0]], [1, 0]), r"front_b must be of shape \(n_points, 2\)"),
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
