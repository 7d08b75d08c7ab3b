"""The simulations of monitors: bets by hand, equal streams, chunks that are kept."""

import numpy as np
import pytest

from benchmarks import records
from benchmarks.guarantees import monitored_streams, monitoring
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
        monitor = GapMonitor("demographic_parity", 0.1, min_group_size=1, run_length=None)
        for start in range(0, 400, 10):
            rows = slice(start, start + 10)
            monitor.update(
                None, decisions[rows].astype(int), sensitive_features=group_codes[rows].astype(int)
            )
            if monitor.verdict_ == "contradicted":
                break
        assert start + 10 == expected


def test_the_figures_of_few_streams(monkeypatch):
    monkeypatch.setattr(monitoring, "cost", lambda n: {"figure": "cost", "seconds": 1.0, "MB": 1.0})
    monkeypatch.setattr(monitoring, "NULL_CASES", monitoring.NULL_CASES[1:3])
    monkeypatch.setattr(monitoring, "ALARM_CASES", monitoring.ALARM_CASES[:1])
    cases = ((0.5, 0.4), 1), ((0.45, 0.45), 1)
    monkeypatch.setattr(monitored_streams, "SIZE_CASES", cases)
    cases = ((0.5, 0.4), 10.0, 100), ((0.6, 0.4), None, 30)
    monkeypatch.setattr(monitored_streams, "RESTART_CASES", cases)
    report = monitoring.monitor_benchmark(QUICK)
    figures = [one["figure"] for one in report.records]
    assert figures[:2] == ["null", "null"] and figures.count("until alarm") >= 2
    checks = {check.what: check for check in report.checks}
    # More than 7 false statements of 50 have a probability of .003 on the edge.
    assert checks["null: rate of alarms at any look"].worst <= 0.14
    assert checks["null: rate of certificates at any look"].worst <= 0.14
    assert checks["interval: coverage"].worst >= 0.86
    assert figures.count("equal sizes") == figures.count("restarts") == 2
    sizes = next(one for one in report.records if "median size" in one)
    assert 300 <= sizes["median size"] <= 2500 and sizes["draws"] == 1
    assert checks["equal sizes: rate of certificates"].worst <= 0.15  # 3 of 20
    assert checks["restarts: wrong intervals at any look"].worst <= 0.5  # 1 of 2
    assert checks["restarts: run length / requested"].worst > 0.5
    assert min(checks["run length / requested"].values) > 0.5

    def fail(*args):
        raise AssertionError("must not be computed again")

    monkeypatch.setattr(monitoring, "false_statements", fail)
    monkeypatch.setattr(monitoring, "samples_until_alarm", fail)
    monkeypatch.setattr(monitored_streams, "count_statements", fail)
    monkeypatch.setattr(monitored_streams, "count_restarts", fail)
    assert len(list(monitoring.update_records(QUICK))) == 4
    assert len(list(monitoring.null_records(QUICK))) == 2
    assert len(list(monitoring.alarm_records(QUICK))) == figures.count("until alarm")


def test_sizes_of_groups_are_those_at_which_one_order_for_all_data_errs_and_others():
    sizes = monitored_streams.ALL_SIZES
    assert len(sizes) == 400 and sizes[0] == 50 and sizes[-1] == 6000
    assert {*range(2098, 2101), *range(5050, 5108)} <= set(sizes.tolist())


def test_sizes_are_summarised_by_hand():
    counts = [
        {"sizes": [100, 200, 300], "draws": 2, "certificates": [0, 1, 2], "alarms": [0, 0, 1]},
        {"sizes": [100, 200, 300], "draws": 2, "certificates": [1, 1, 2], "alarms": [0, 0, 1]},
    ]
    record = monitored_streams.summarize_sizes(((0.45, 0.45), 1), counts)
    assert record["draws"] == 4 and record["sizes"] == 3
    assert record["certificates"] == pytest.approx(7 / 12)
    assert record["most certificates of a size"] == 4 and record["most alarms of a size"] == 2
    assert record["median size"] == 200
    # P(more than 10 of 50) = 3.0e-5 < .05 / 400 < P(more than 9) = 1.6e-4.
    assert monitored_streams.size_limit(400, 50) == 10


def test_restarts_are_summarised_by_hand():
    counts = [{"streams": 2, "alarms": 5, "certificates": 1, "intervals": 0}] * 2
    record = monitored_streams.summarize_restarts(((0.5, 0.4), 10.0, 50), counts)
    assert record["certificates"] == 0.5 and record["intervals"] == 0.0
    assert record["mean run length"] == pytest.approx(4 * 50 / 10)


def test_streams_of_a_mask_restart_and_others_go_on():
    levels = np.array([0.05, 0.1])
    rng = np.random.default_rng(0)
    streams, twin = (monitoring.Streams(3, 2, levels, 1, np.random.default_rng(1)) for _ in "ab")
    for _ in range(5):
        n = np.full((3, 2), 20)
        x = rng.binomial(20, 0.5, size=(3, 2))
        streams.count(n, x)
        twin.count(n, x)
    streams.restart(np.array([False, True, False]))
    twin.cell.restart()
    twin.gap.restart()
    for restarted, zero, names in (
        (streams.cell, twin.cell, ("log_e", "log_max")),
        (streams.gap, twin.gap, ("log_e", "log_max", "log_change", "log_best")),
    ):
        for name in names:
            values = getattr(restarted, name)
            np.testing.assert_array_equal(values[1], getattr(zero, name)[1])
    assert streams.cell.counts[:, 1].sum() == 0 and (streams.cell.counts[:, ::2] > 0).all()
    # What never restarts is equal.
    np.testing.assert_array_equal(streams.cell.windows, twin.cell.windows)
    np.testing.assert_array_equal(streams.gap.log_start, twin.gap.log_start)
    np.testing.assert_array_equal(streams.gap.log_mixture, twin.gap.log_mixture)
    assert (streams.cell.log_max[::2] > 0).any()


def test_many_restarts_are_counted_as_those_of_monitors():
    case = ((0.5, 0.4), 10.0, 150)
    n_streams = 40
    many = monitoring.restart_errors(case, n_streams)
    rng = np.random.default_rng(0)
    counts = [monitored_streams.count_restarts(case, 600, rng)]  # six streams
    summary = monitored_streams.summarize_restarts(case, counts)
    assert many["streams"] == n_streams and summary["streams"] == 6
    assert many["certificates"] <= 0.2 and many["intervals"] <= 0.2
    # Run lengths are means of some 40 and 280 alarms.
    assert summary["mean run length"] == pytest.approx(many["mean run length"], rel=0.5)
