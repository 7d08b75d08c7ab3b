"""ConvergenceDisplay: lines are the runs of the logs."""

from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from skfair.callbacks import FitMonitor
from skfair.plotting import ConvergenceDisplay


def log_of(*runs):
    """Log of runs given by their violations; the objective is twice that, the rest unknown."""
    return pd.concat(
        pd.DataFrame(
            {
                "run": number,
                "iteration": range(len(violations)),
                "seconds": 0.5 * np.arange(len(violations)),
                "objective": 2.0 * np.array(violations),
                "violation": violations,
                "residual": np.nan,
                "balance": np.nan,
            }
        )
        for number, violations in enumerate(runs)
    )


@pytest.fixture
def monitor():
    return SimpleNamespace(log=log_of([1.0, 0.1, 0.0], [1.0, 0.2]))


def draw(monitor, ax=None, **settings):
    return ConvergenceDisplay({"": monitor.log}, **settings).plot(ax=ax)


def test_each_run_is_a_line_of_what_was_recorded(monitor):
    display = draw(monitor)
    objective, violation = display.ax_
    assert [ax.get_ylabel() for ax in display.ax_] == ["objective", "excess over the tolerance"]
    assert [line.get_xydata().tolist() for line in violation.lines] == [
        [[0, 1], [1, 0.1], [2, 0]],
        [[0, 1], [1, 0.2]],
    ]
    assert objective.lines[0].get_ydata().tolist() == [2, 0.2, 0]
    assert display.figure_.legends == []


def test_time_may_be_the_horizontal_axis(monitor):
    (ax,) = draw(monitor, quantities=["objective"], against="seconds").ax_
    assert ax.lines[0].get_xdata().tolist() == [0, 0.5, 1]
    assert ax.get_xlabel() == "seconds"


def test_what_goes_to_zero_is_logarithmic_and_shows_zero(monitor):
    objective, violation = draw(monitor).ax_
    assert objective.get_yscale() == "linear"
    assert violation.get_yscale() == "symlog"
    assert violation.get_ylim()[0] == 0
    assert violation.yaxis.get_transform().linthresh == 0.1


def test_a_violation_that_never_was_is_drawn_flat():
    monitor = SimpleNamespace(log=log_of([0.0, 0.0]))
    (ax,) = draw(monitor, quantities=["violation"]).ax_
    assert ax.get_yscale() == "linear"


def test_logs_are_distinct_and_named_once(monitor):
    monitors = {"one": monitor, "two": SimpleNamespace(log=log_of([0.5, 0.4]))}
    display = ConvergenceDisplay({n: m.log for n, m in monitors.items()}).plot()
    (legend,) = display.figure_.legends
    assert [text.get_text() for text in legend.get_texts()] == ["one", "two"]
    first, second, other = display.ax_[0].lines
    assert first.get_color() == second.get_color() != other.get_color()
    assert first.get_linestyle() == second.get_linestyle() != other.get_linestyle()


def test_the_legend_stands_above_the_axes(monitor):
    display = ConvergenceDisplay({"one": monitor.log}).plot()
    display.figure_.draw_without_rendering()
    legend = display.figure_.legends[0].get_window_extent()
    assert all(legend.y0 >= ax.get_window_extent().y1 - 1 for ax in display.ax_)


def test_plot_draws_on_axes(monitor):
    figure, axes = plt.subplots(1, 2)
    display = ConvergenceDisplay({"": monitor.log})
    assert display.plot(ax=axes) is display
    assert list(display.ax_) == list(axes) and display.figure_ is figure
    _, single = plt.subplots()
    assert draw(monitor, quantities=["objective"], ax=single).ax_ == [single]


def test_a_row_of_axes_must_fit(monitor):
    with pytest.raises(ValueError, match="one axes for each of the 2 quantities"):
        draw(monitor, ax=plt.subplots()[1])


def test_nothing_recorded_is_explained():
    pytest.importorskip("sklearn.callback", reason="callbacks came with scikit-learn 1.9")
    with pytest.raises(ValueError, match="set_callbacks"):
        FitMonitor().plot()


@pytest.mark.parametrize("quantities", [["loss"], []])
def test_unknown_quantities_are_refused(monitor, quantities):
    with pytest.raises(ValueError, match="quantities must be among"):
        draw(monitor, quantities=quantities)


def test_unknown_horizontal_axes_are_refused(monitor):
    with pytest.raises(ValueError, match="against must be one of 'iteration', 'seconds'"):
        draw(monitor, against="minutes")
