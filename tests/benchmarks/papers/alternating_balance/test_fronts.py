"""Measures of fronts: coverage by its definition, and hypervolumes in a box."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.papers.alternating_balance import fronts

point_lists = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=1, max_size=10)


class Case:
    box = (7, 2), (3, 6)


@given(point_lists)
def test_hypervolume_in_a_box_clips_to_it(front):
    dominated = [
        any(cost <= c and balance >= b + 1 for cost, balance in front)
        for c in range(3, 7)
        for b in range(2, 6)
    ]
    assert fronts._hypervolume(Case, np.array(front)) == pytest.approx(np.mean(dominated))


@given(point_lists, point_lists)
def test_coverage_against_its_definition(front_a, front_b):
    covered = [any(a[0] <= b[0] and a[1] >= b[1] for a in front_a) for b in front_b]
    front_a, front_b = np.array(front_a), np.array(front_b)
    assert fronts.coverage(front_a, front_b) == pytest.approx(np.mean(covered))
    assert fronts.coverage(front_a, front_a) == 1


def test_coverage_by_hand():
    a = np.array([[1, 0.2], [2, 0.5]])
    b = np.array([[1.5, 0.2], [1.9, 0.4]])
    assert fronts.coverage(a, b) == 0.5
    assert fronts.coverage(b, a) == 0
    assert fronts.coverage(a + [fronts.ROUNDING / 2, 0], a) == 1


def test_extra_costs_by_hand():
    front = np.array([[1, 0.2], [2, 0.5]])
    others = np.array([[0.8, 0.1], [1.9, 0.5 * (1 + fronts.RECORDED / 2)], [3, 0.6]])
    assert fronts.extra_costs(front, others) == pytest.approx([0.25, 2 / 1.9 - 1, np.inf])
