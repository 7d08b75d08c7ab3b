"""Outcomes that come later: which samples count when, and what is refused."""

import os
import sys

import numpy as np
import pytest

from skfair.monitoring import GapMonitor


def test_true_positive_rates_count_a_sample_when_its_outcome_comes():
    monitor = GapMonitor("equal_opportunity", 0.2)
    monitor.update(None, [1, 0, 1, 1], sensitive_features=list("aabb"), ids=[1, 2, 3, 4])
    assert monitor.summary()["n_outstanding"].iloc[-1] == 4 and not len(monitor.to_frame())
    monitor.update_labels([4, 1, 2], [1, 1, 0])
    assert monitor.summary()["n_outstanding"].iloc[-1] == 1
    frame = monitor.to_frame().set_index(["event", "group"])
    assert frame.loc[("positives", "a"), "n"] == 1  # sample 2 is negative
    assert monitor.summary()["n_outstanding"].tolist() == [1]


def test_outcomes_that_are_known_at_once_and_later_count_equally():
    rng = np.random.default_rng(0)
    now, later = GapMonitor("equalized_odds", 0.2), GapMonitor("equalized_odds", 0.2)
    for batch in range(3):
        y, decisions, groups = rng.integers(2, size=(3, 50))
        now.update(y, decisions, sensitive_features=groups)
        ids = [f"{batch}.{i}" for i in range(50)]
        later.update(None, decisions, sensitive_features=groups, ids=ids)
        later.update_labels(ids[::-1], y[::-1])
    columns = ["group", "event", "n", "estimate"]
    assert now.to_frame()[columns].equals(later.to_frame()[columns])
    assert now.interval().estimate == later.interval().estimate


def test_error_rates_count_a_cohort_when_its_delay_has_passed():
    monitor = GapMonitor("error_rate_parity", 0.2, delay=90)
    monitor.update(None, [1, 1, 0, 0], sensitive_features=list("abab"), time=0, ids=[1, 2, 3, 4])
    monitor.update([1, 1], [1, 0], sensitive_features=list("ab"), time=30)
    monitor.update_labels([1, 2, 4], [0, 1, 0], time=60)
    assert not len(monitor.to_frame()) and monitor.summary()["n_outstanding"].iloc[-1] == 6
    monitor.update_labels([3], [1], time=90)
    frame = monitor.to_frame()
    assert frame["estimate"].tolist() == [1.0, 0.0] and frame["n"].tolist() == [2, 2]
    assert (
        monitor.summary()["n_outstanding"].iloc[-1] == 2
    )  # those of day 30, though their outcomes are known
    monitor.update(None, [], sensitive_features=[], time=120)
    assert monitor.summary()["n_outstanding"].iloc[-1] == 0
    assert monitor.to_frame()["estimate"].tolist() == [1.0, 0.0, 0.0, 1.0]


def test_dates_have_delays_too_and_missing_outcomes_are_reported():
    monitor = GapMonitor("error_rate_parity", 0.2, delay="90 days")
    first = {"sensitive_features": list("ab"), "time": "2026-01-01"}
    monitor.update(None, [1, 0], ids=["u", "v"], **first)
    monitor.update_labels(["u"], [1])
    # The outcome may come on the last day, after the decisions of this day.
    monitor.update([1, 0], [1, 0], sensitive_features=list("ab"), time="2026-04-01")
    assert monitor.summary()["n_outstanding"].iloc[-1] == 4
    with pytest.warns(UserWarning, match="1 samples of 2026-01-01 have no outcome"):
        monitor.update(None, [], sensitive_features=[], time="2026-04-02")
    assert (
        monitor.to_frame()["n"].tolist() == [1] and monitor.summary()["n_outstanding"].iloc[-1] == 2
    )


def read_month(monitor, rng, time, labels_first):
    """Decisions of a month, and the outcomes of the last one, in either order."""
    groups = rng.choice(["a", "b"], 300)
    decisions, y_true = rng.integers(2, size=(2, 300))
    ids = [f"{time}-{i}" for i in range(300)]
    outcomes = [*getattr(monitor, "last_month", ([], []))]
    monitor.last_month = ids, y_true

    def read_labels():
        if len(outcomes[0]):
            monitor.update_labels(*outcomes, time=time)

    if labels_first:
        read_labels()
    monitor.update(None, decisions, sensitive_features=groups, time=time, ids=ids)
    if not labels_first:
        read_labels()


@pytest.mark.parametrize("constraint", ["equalized_odds", "error_rate_parity"])
@pytest.mark.parametrize("labels_first", [False, True])
def test_decisions_and_outcomes_of_one_time_are_one_row(constraint, labels_first):
    rng = np.random.default_rng(0)
    earlier = []
    monitor = GapMonitor(constraint, 0.2, delay=1 if constraint == "error_rate_parity" else None)
    for time in range(6):
        read_month(monitor, rng, time, labels_first)
        summary = monitor.summary()
        assert summary["time"].tolist() == list(range(time + 1)) == (summary["batch"] - 1).tolist()
        assert summary["n_outstanding"].tolist() == [300] * (time + 1)
        # Earlier statements do not change; numbers of samples are those of decisions.
        counts = summary[["n", "batch_gap"]].iloc[:time]
        summary = summary.drop(columns=["n", "batch_gap"])
        if time > 1:
            assert summary.iloc[:time].equals(earlier)
        assert counts["n"].tolist() == [300] * time and counts["batch_gap"].notna().all()
        earlier = summary
    assert summary["counted_until"].tolist()[1:] == [0, 1, 2, 3, 4] and len(monitor.summary()) == 6


@pytest.mark.slow
def test_late_outcomes_have_the_time_of_their_decisions():
    rng = np.random.default_rng(1)
    monitor = GapMonitor("equal_opportunity", 0.1, run_length=50)
    batches = {}
    for time in range(20):
        groups = rng.choice(["a", "b"], 400)
        rate = np.where((groups == "b") & (time >= 8), 0.2, 0.6)
        ids = [f"{time}-{i}" for i in range(400)]
        batches[time] = ids
        decisions = (rng.random(400) < rate).astype(int)
        monitor.update(None, decisions, sensitive_features=groups, time=time, ids=ids)
        if time >= 3:
            monitor.update_labels(batches[time - 3], np.ones(400, dtype=int), time=time)
    assert monitor.to_frame()["time"].unique().tolist() == list(range(17))
    frame = monitor.to_frame()
    alarm = monitor.alarms_.iloc[0]
    assert (frame["batch"] - 1 - frame["time"] == 3).all()
    assert 7 <= alarm["since"] == monitor.since_ <= 8 <= alarm["time"] == alarm["batch"] - 4


def test_outcomes_of_several_months_are_bet_on_by_month():
    rng = np.random.default_rng(2)
    monitor = GapMonitor("equal_opportunity", 0.1, run_length=50)
    ids = {}
    for time in range(20):
        groups = rng.choice(["a", "b"], 400)
        rate = np.where((groups == "b") & (time >= 8), 0.2, 0.6)
        ids[time] = [f"{time}-{i}" for i in range(400)]
        decisions = (rng.random(400) < rate).astype(int)
        monitor.update(None, decisions, sensitive_features=groups, time=time, ids=ids[time])
    every = [one for time in ids for one in ids[time]]
    monitor.update_labels(every[::-1], np.ones(len(every), dtype=int), time=30)
    assert monitor.verdict_ == "contradicted" and 7 <= monitor.since_ <= 8
    assert len(monitor.summary()) == 21 and len(monitor.alarms_) == 1
    assert monitor.alarms_["time"].tolist() == [19]


def count_steps(function, *arguments):
    """Steps of Python in ``skfair``: calls and lines, each element of a comprehension one."""
    n_steps = 0

    def trace(frame, event, value):
        nonlocal n_steps
        if f"{os.sep}skfair{os.sep}" not in frame.f_code.co_filename:
            return None
        n_steps += 1
        return trace

    previous = sys.gettrace()
    sys.settrace(trace)
    try:
        function(*arguments)
    finally:
        sys.settrace(previous)
    return n_steps


def test_late_outcomes_are_added_in_steps_that_do_not_grow_with_those_outstanding():
    n_steps = {}
    for n in (200, 4000):
        monitor = GapMonitor("equal_opportunity", 0.2)
        groups = np.resize(["a", "b"], n)
        monitor.update(None, np.resize([0, 1, 1], n), sensitive_features=groups, ids=np.arange(n))
        monitor.update_labels([0], [1])
        n_steps[n] = count_steps(monitor.update_labels, [1], [1])
    assert n_steps[200] > 100
    assert n_steps[4000] <= n_steps[200] + 10


def test_early_outcomes_bias_error_rates_so_that_they_need_a_delay():
    monitor = GapMonitor("error_rate_parity", 0.2)
    with pytest.raises(ValueError, match="delay"):
        monitor.update(None, [1, 0], sensitive_features=list("ab"), ids=[1, 2])
    with pytest.raises(ValueError, match="pass ids"):
        GapMonitor("equal_opportunity", 0.2).update(None, [1, 0], sensitive_features=list("ab"))


@pytest.mark.parametrize(
    ("ids", "y_true", "match"),
    [
        ([9], [1], "9 are not"),
        ([1, 1], [1, 1], "came twice"),
        ([1, 2], [1], "equal lengths"),
        ([2], [1], "2 are not"),  # its outcome has come before
        ([1], ["maybe"], "pos_label|kind"),
        ([1], [np.nan], "y_true must be one"),
        ([1], 1, "y_true must be one"),
        ([None], [1], "missing values"),
    ],
)
def test_wrong_outcomes_are_refused_and_nothing_is_lost(ids, y_true, match):
    monitor = GapMonitor("equal_opportunity", 0.2)
    monitor.update(None, [1, 0], sensitive_features=list("ab"), ids=[1, 2])
    monitor.update_labels([2], [1])
    stored = monitor.to_json()
    with pytest.raises((ValueError, TypeError), match=match):
        monitor.update_labels(ids, y_true)
    assert monitor.to_json() == stored


def test_repeated_ids_of_batches_are_refused():
    monitor = GapMonitor("equal_opportunity", 0.2)
    monitor.update(None, [1, 0], sensitive_features=list("ab"), ids=[1, 2])
    stored = monitor.to_json()
    for ids in ([2, 3], [4, 4]):
        with pytest.raises(ValueError, match="came twice"):
            monitor.update(None, [1, 0], sensitive_features=list("ab"), ids=ids)
    assert monitor.to_json() == stored
