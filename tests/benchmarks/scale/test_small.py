"""The table of fits to small data: one row for each case."""

import numpy as np

from benchmarks.scale import small
from benchmarks.timing import QUICK


def test_a_case_is_timed_against_its_plain_fit(monkeypatch):
    monkeypatch.setattr(small, "N_PAIRS", 2)
    report = small.small(QUICK._replace(cells=("1000 x 5, 2 groups, DP 0.02",)))
    ((record,), (check,)) = report.records, report.checks
    assert record["plain ms"] > 0 and record["fit ms"] > 0
    assert check.values == [record["ratio"]] and check.bound == 5.0
    assert record["binds"] and record["gap"] <= 0.02


def test_cases_have_names_of_their_own_and_two_classes():
    names = [case.name for case in small.CASES]
    assert len(set(names)) == len(names)
    X, y, groups = small.draw(1000, 5, 4)
    assert X.shape == (1000, 5)
    assert np.unique(y).tolist() == [0, 1] and np.unique(groups).tolist() == [0, 1, 2, 3]
