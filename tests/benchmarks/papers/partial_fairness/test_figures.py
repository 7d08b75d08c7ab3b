"""What the figures on partial fairness show, on data made up here."""

import numpy as np
import pytest

from benchmarks.papers.partial_fairness import figures
from benchmarks.papers.partial_fairness.cases import INTERVALS, NAMES, Case, Rows
from benchmarks.runner import BENCHMARKS


def test_one_side_of_an_interval_moves():
    for name in NAMES:
        intervals = figures._intervals(name)
        assert len(intervals) == 5
        assert tuple(map(float, INTERVALS[name])) in [tuple(map(float, i)) for i in intervals]
        assert len({i[0] for i in intervals}) == 1 or len({i[1] for i in intervals}) == 1


def test_rates_at_the_ends_of_an_interval_by_hand():
    # Nine of the larger group at 10, 20, ..., 90, 70 % above 34, and four of the other.
    scores = np.r_[np.arange(10.0, 100.0, 10.0), 95.0, 75.0, 45.0, 15.0]
    rows = Rows(None, np.ones(13, dtype=bool), np.repeat([1, 0], [9, 4]))
    rates = figures._rates(scores, Case("law school", rows, rows))
    assert rates["at alpha"] == 0.75
    assert rates["in the middle"] == 0.75
    assert rates["at beta"] == 1.0
    assert rates["slope"] == pytest.approx(0.25 / 0.3)


def test_the_benchmark_has_a_name():
    assert "partial-figures" in BENCHMARKS
