"""GapMonitorDisplay: what is drawn is what the monitor reports."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.dates import date2num

from skfair.constraints import MinimumRate
from skfair.monitoring import GapMonitor
from skfair.plotting._gap_monitor import GapMonitorDisplay


@pytest.fixture(scope="module")
def monitor():
    rng = np.random.default_rng(0)
    monitor = GapMonitor("demographic_parity", 0.1)
    for month in range(1, 13):
        groups = rng.choice(["a", "b"], 1000)
        rate = np.where((groups == "b") & (month > 6), 0.2, 0.4)
        decisions = (rng.random(1000) < rate).astype(int)
        monitor.update(None, decisions, sensitive_features=groups, time=f"2026-{month:02d}-01")
    return monitor


def test_gaps_certificate_and_alarm_are_where_the_monitor_reports_them(monitor):
    display = monitor.plot()
    summary = monitor.summary()
    np.testing.assert_array_equal(display.line_.get_ydata(), summary["batch_gap"])
    lines = {line.get_label(): line for line in display.ax_.lines}
    assert lines["tolerance"].get_ydata()[0] == 0.1
    above = summary[summary["batch_gap"] > 0.1]
    triangles = lines["gap above the tolerance"]
    np.testing.assert_array_equal(triangles.get_xdata(), above["time"].to_numpy())
    np.testing.assert_array_equal(triangles.get_ydata(), above["batch_gap"])
    # The band of states covers the months that have them, and its triangles are the alarms.
    bands = {band.get_label().lstrip("_"): band for band in display.ax_.collections}
    days = pd.date_range("2026-01-01", "2026-12-01", freq="MS")
    for state in set(states := summary["verdict"].to_numpy()):
        box = bands[state].get_paths()[0].get_extents()
        first, last = (date2num(days[states == state][end]) for end in (0, -1))
        assert box.x0 < first and last < box.x1 and box.x1 - last <= 16
        assert box.y1 < 0.0
    alarms = lines["alarm"].get_xdata()
    np.testing.assert_array_equal(alarms, monitor.alarms_["time"].to_numpy())
    steps = np.array(display.ax_.get_yticks())
    assert steps.min() == 0.0
    np.testing.assert_allclose(np.diff(steps), 0.05)


def test_limits_that_leave_the_axes_end_in_arrows():
    summary = pd.DataFrame(
        {
            "batch": [1, 2, 3],
            "time": [None] * 3,
            "batch_gap": [0.02, 0.1, 0.04],
            "gap": [0.02, 0.05, 0.04],
            "low": 0.0,
            "high": [1.0, 0.5, 0.09],
            "verdict": ["open", "open", "shown"],
        }
    )
    ax = GapMonitorDisplay(summary, tolerance=0.1).plot().ax_
    (arrows,) = [one for one in ax.lines if one.get_marker() == "^"]
    assert arrows.get_xdata().tolist() == [1, 2]
    assert (arrows.get_ydata() < ax.get_ylim()[1]).all()
    assert "the interval goes on above" in [one.get_text() for one in ax.get_legend().get_texts()]


@pytest.mark.parametrize("is_floor", [False, True])
def test_a_legend_of_all_entries_is_no_wider_than_the_axes(is_floor):
    summary = pd.DataFrame(
        {
            "batch": range(9),
            "time": pd.date_range("2026-01-01", periods=9, freq="MS"),
            "batch_gap": [0.02, 0.3, 0.04] * 3,
            "gap": 0.04,
            "low": 0.0,
            "high": [1.0, 0.5, 0.09] * 3,
            "verdict": ["open"] * 7 + ["shown", "contradicted"],
        }
    )
    display = GapMonitorDisplay(summary, tolerance=0.1, is_floor=is_floor, alarms=[8])
    ax = display.plot().ax_
    ax.figure.canvas.draw()
    labels = [one.get_text() for one in ax.get_legend().get_texts()]
    assert {"alarm", "shown", "contradicted", "the interval goes on above"} < set(labels)
    legend = ax.get_legend().get_window_extent()
    assert legend.width <= ax.get_window_extent().width
    assert ax.figure.bbox.x0 <= legend.x0 and legend.x1 <= ax.figure.bbox.x1


def test_a_month_above_the_tolerance_is_not_drawn_as_shown():
    summary = pd.DataFrame(
        {
            "batch": [1, 2, 3],
            "time": [None] * 3,
            "batch_gap": [0.02, 0.3, 0.04],
            "gap": [0.02, 0.05, 0.04],
            "low": 0.0,
            "high": [0.3, 0.09, 0.09],
            "verdict": ["open", "shown", "shown"],
        }
    )
    ax = GapMonitorDisplay(summary, tolerance=0.1).plot().ax_
    marked = {
        (line.get_label(), float(x))
        for line in ax.lines
        for x in np.atleast_1d(line.get_xdata())
        if line.get_linestyle() == "None"
    }
    assert marked == {
        ("gap of the batch", 1.0),
        ("gap of the batch", 2.0),
        ("gap of the batch", 3.0),
        ("gap above the tolerance", 2.0),
    }
    assert not any("shown" in line.get_label() for line in ax.lines)


def test_without_times_batches_are_numbered():
    monitor = GapMonitor("demographic_parity", 0.1)
    monitor.update(None, [1, 0], sensitive_features=["a", "b"])
    display = monitor.plot()
    assert display.ax_.get_xlabel() == "batch"
    assert display.line_.get_xdata().tolist() == [1]


def test_of_a_floor_the_smallest_rate_and_its_bound_are_stated():
    rng = np.random.default_rng(0)
    rates = []
    monitor = GapMonitor(MinimumRate("selection_rate", 0.3), run_length=1000)
    for rate in (0.5, 0.5, 0.1, 0.1):
        groups = rng.choice(["a", "b"], 400)
        decisions = (rng.random(400) < np.where(groups == "b", rate, 0.6)).astype(int)
        monitor.update(None, decisions, sensitive_features=groups)
        rates.append(min(decisions[groups == name].mean() for name in "ab"))
    summary = monitor.summary()
    interval = monitor.interval()
    np.testing.assert_allclose(summary["batch_gap"], rates)
    assert (summary["low"] <= summary["gap"]).all() and (summary["gap"] <= summary["high"]).all()
    assert [interval.low, interval.high] == summary[["low", "high"]].iloc[-1].tolist()
    window = monitor.windows_.iloc[0]
    assert window["low"] < window["gap"] < window["high"]
    display = monitor.plot()
    lines = {line.get_label(): line for line in display.ax_.lines}
    assert lines["bound"].get_ydata()[0] == pytest.approx(0.3)
    below = lines["smallest rate below the bound"].get_ydata()
    assert below.tolist() == summary["batch_gap"].iloc[2:].tolist()


def test_rates_of_groups_are_drawn_above_the_gap(monitor):
    display = monitor.plot()
    above, below = display.figure_.axes
    assert below is display.ax_
    rates = monitor.to_frame()
    lines = {line.get_label(): line for line in above.lines}
    assert lines.keys() == {*map(str, rates["group"].unique())}
    for group, line in lines.items():
        expected = rates[rates["group"].astype(str) == group]
        np.testing.assert_allclose(line.get_ydata(), expected["estimate"])
    alone = monitor.plot(display.figure_.add_axes((0.0, 0.0, 0.1, 0.1)))
    assert len(alone.figure_.axes) == 3


def test_rates_of_many_groups_are_not_drawn():
    monitor = GapMonitor("demographic_parity", 0.9)
    groups = np.arange(90) % 9
    monitor.update(None, groups % 2, sensitive_features=groups, time=pd.Timestamp("2024-01-01"))
    assert len(monitor.plot().figure_.axes) == 1
