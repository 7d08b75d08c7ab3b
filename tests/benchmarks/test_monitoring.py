"""The simulations of monitors: bets by hand, equal streams, chunks that are kept."""

import numpy as np
import pytest

from benchmarks import records
from benchmarks.guarantees import monitoring
from benchmarks.timing import QUICK
from skfair.monitoring import GapMonitor


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "FOLDER", tmp_path)


def test_a_pair_is_complete_when_the_second_sample_has_come():
    groups = np.array([[0, 0, 1, 0, 1, 1, 1]], dtype=bool)
    outcomes = np.array([[1, 0, 0, 1, 0, 1, 1]], dtype=bool)
    difference, used, n_pairs = monitoring.pair_samples(groups, outcomes)
    assert n_pairs.tolist() == [3]
    assert difference[0].tolist() == [1.0, 0.0, 0.0]
    assert used[0].tolist() == [3, 5, 6]


def test_newton_bets_by_hand():
    test = monitoring.NewtonBets(1, tolerance=0.5)
    test.bet(np.array([1.0]), np.array([True]), 2)
    assert test.wealth.ravel().tolist() == [0.0, 0.0]  # the first fraction is 0
    # Payoffs .5 and -1.5: slopes -.5 and 1.5, squares 1.25 and 3.25.
    rate = 2 / (2 - np.log(3))
    assert test.fraction.ravel() == pytest.approx([min(rate * 0.5 / 1.25, 1 / 3), 0.0])
    test.bet(np.array([1.0]), np.array([False]), 3)
    assert test.wealth.ravel().tolist() == [0.0, 0.0]
    test.bet(np.array([1.0]), np.array([True]), 4)
    assert test.wealth.ravel() == pytest.approx([np.log(1 + 0.5 / 3), 0.0])


def test_means_of_single_samples_are_pairs():
    rng = np.random.default_rng(0)
    groups, outcomes = monitoring.draw_samples((0.9, 0.1), None, 20, 400, rng)
    pairs = monitoring.pair_alarms(groups, outcomes, 0.05)
    np.testing.assert_array_equal(pairs, monitoring.mean_alarms(groups, outcomes, 0.05))
    assert np.isfinite(pairs).all() and (pairs % 2 == 0).all()


def test_a_monitor_of_many_streams_agrees_with_one_of_each():
    rng = np.random.default_rng(0)
    groups, outcomes = monitoring.draw_samples((0.7, 0.3), 0.5, 3, 400, rng)
    alarms = monitoring.monitor_alarms(groups, outcomes, 0.1)
    for group_codes, decisions, expected in zip(groups, outcomes, alarms, strict=True):
        monitor = GapMonitor("demographic_parity", 0.1)
        for start in range(0, 400, 10):
            rows = slice(start, start + 10)
            monitor.update(
                decisions[rows].astype(int), sensitive_features=group_codes[rows].astype(int)
            )
            if monitor.status_ == "alarm":
                break
        assert start + 10 == expected


def test_the_figures_of_few_streams(monkeypatch):
    monkeypatch.setattr(monitoring, "cost", lambda: {"figure": "cost", "seconds": 1.0, "MB": 1.0})
    monkeypatch.setattr(monitoring, "NULL_CASES", monitoring.NULL_CASES[1:3])
    monkeypatch.setattr(monitoring, "ALARM_CASES", monitoring.ALARM_CASES[:1])
    report = monitoring.monitor_benchmark(QUICK)
    figures = [one["figure"] for one in report.records]
    assert figures[:2] == ["null", "null"] and figures.count("until alarm") >= 2
    checks = {check.what: check for check in report.checks}
    # More than 7 false statements of 50 have a probability of .003 on the edge.
    assert checks["null: rate of alarms at any look"].worst <= 0.14
    assert checks["null: rate of certificates at any look"].worst <= 0.14
    assert checks["interval: coverage"].worst >= 0.86
    assert min(checks["run length / requested"].values) > 0.5

    def fail(*args):
        raise AssertionError("must not be computed again")

    monkeypatch.setattr(monitoring, "false_statements", fail)
    monkeypatch.setattr(monitoring, "samples_until_alarm", fail)
    assert len(list(monitoring.null_records(QUICK))) == 2
    assert len(list(monitoring.alarm_records(QUICK))) == figures.count("until alarm")
