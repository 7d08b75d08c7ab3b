"""GapMonitorDisplay: what is drawn is what the monitor reports."""

import numpy as np
import pytest

from skfair.monitoring import GapMonitor
from skfair.plotting import GapMonitorDisplay


@pytest.fixture(scope="module")
def monitor():
    rng, monitor = np.random.default_rng(0), GapMonitor("demographic_parity", 0.1)
    for month in range(1, 13):
        groups = rng.choice(["a", "b"], 1000)
        rate = np.where((groups == "b") & (month > 6), 0.2, 0.4)
        decisions = (rng.random(1000) < rate).astype(int)
        monitor.update(decisions, sensitive_features=groups, time=f"2026-{month:02d}-01")
    return monitor


def test_gaps_certificate_and_alarm_are_where_the_monitor_reports_them(monitor):
    display = GapMonitorDisplay.from_monitor(monitor)
    summary = monitor.summary()
    np.testing.assert_array_equal(display.line_.get_ydata(), summary["gap"])
    lines = {line.get_label(): line for line in display.ax_.lines}
    assert lines["tolerance"].get_ydata()[0] == 0.1
    for status in ("certified", "alarm"):
        first = summary.loc[summary["status"] == status, "time"].iloc[0]
        assert lines[status].get_xdata()[0] == np.datetime64(first)
        assert len(lines[status].get_xdata()) == 1


def test_without_times_batches_are_numbered():
    monitor = GapMonitor("demographic_parity", 0.1)
    monitor.update([1, 0], sensitive_features=["a", "b"])
    display = GapMonitorDisplay.from_monitor(monitor)
    assert display.ax_.get_xlabel() == "batch"
    assert display.line_.get_xdata().tolist() == [1]
