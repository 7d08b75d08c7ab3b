"""What was tried on bank."""

import pytest

from benchmarks.papers.partial_fairness import cases
from benchmarks.papers.partial_fairness.bank_columns import COLUMNS


def test_the_two_problems_differ_by_one_column():
    try:
        without, including = (cases.case(name, 0) for name in COLUMNS.values())
    except OSError:
        pytest.skip("the data are not on this disk")
    assert including.train.X.shape[1] == without.train.X.shape[1] + 1
    assert (including.test.y == without.test.y).all()
    assert including.interval == without.interval
