"""ParetoFrontDisplay: what is drawn is the front that was given."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from skfair.cluster import ParetoFront
from skfair.plotting import ParetoFrontDisplay

COST = np.array([1.5, 1.0, 1.1])
BALANCE = np.array([0.4, 0.1, 0.3])
POINTS = pd.DataFrame({"cost": COST, "balance": BALANCE})


@pytest.fixture(params=["balance"])
def front(request):
    return ParetoFront(
        cost=COST,
        balance=BALANCE,
        relative_balance=BALANCE / 0.5,
        share_ratio=BALANCE / 2,
        data_balance=0.5,
        cost_name="the cost",
        metric=request.param,
        _routes=(),
        _positions=np.empty((0, 2), dtype=int),
        _build=None,
    )


def legend_of(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_the_front_is_a_staircase_in_ascending_balance(front):
    display = front.plot()
    balance, cost = display.line_.get_data()
    assert balance.tolist() == [0.1, 0.3, 0.4]
    assert cost.tolist() == [1.0, 1.1, 1.5]
    # Between two points a balance costs as much as the next higher one.
    assert display.line_.get_drawstyle() == "steps-pre"


def test_dominated_points_are_left_out():
    display = ParetoFrontDisplay(
        pd.DataFrame({"cost": [1.0, 1.2, 1.1], "balance": [0.1, 0.2, 0.3]})
    ).plot()
    assert display.line_.get_xdata().tolist() == [0.1, 0.3]


def test_plot_returns_the_display_and_draws_on_axes(front):
    figure, ax = plt.subplots()
    display = front.plot()
    assert display.plot(ax=ax) is display
    assert display.ax_ is ax and display.figure_ is figure


def test_axes_say_what_and_in_which_unit(front):
    ax = front.plot().ax_
    assert "balance" in ax.get_xlabel() and "smallest / largest" in ax.get_xlabel()
    assert ax.get_ylabel() == front.cost_name


@pytest.mark.parametrize("front", ["share_ratio"], indirect=True)
def test_a_front_of_share_ratios_is_labelled_and_has_no_limit_of_the_data(front):
    display = front.plot(selected=2)
    assert display.line_.get_xdata().tolist() == [0.05, 0.15, 0.2]
    assert "share ratio" in display.ax_.get_xlabel()
    assert legend_of(display.ax_) == ["selected: share ratio 0.15, cost 1.1"]


def test_the_selected_point_is_marked_with_its_numbers(front):
    ax = front.plot(selected=2).ax_
    assert "selected: balance 0.3, cost 1.1" in legend_of(ax)
    assert ax.lines[-1].get_xydata().tolist() == [[0.3, 1.1]]


def test_the_balance_of_the_data_is_a_vertical_line(front):
    ax = front.plot().ax_
    assert ax.lines[-1].get_xdata() == [0.5, 0.5]
    assert len(ParetoFrontDisplay(POINTS).plot().ax_.lines) == 1


def test_several_fronts_are_distinct_in_colour_and_in_grey(front):
    displays = [front.plot(name="front 0")]
    for i in range(1, 4):
        ax = displays[0].ax_
        displays.append(front.plot(name=f"front {i}", ax=ax))
    lines = [display.line_ for display in displays]
    for getter in ("get_color", "get_marker", "get_linestyle"):
        assert len({getattr(line, getter)() for line in lines}) == 4
    names = ["front 0", "front 1", "front 2", "front 3", "balance of the data"]
    assert legend_of(ax) == names  # and the common limit is drawn and named once


def test_the_legend_stands_outside_the_axes(front):
    display = front.plot(name="ours", selected=0)
    display.figure_.draw_without_rendering()
    legend = display.ax_.get_legend().get_window_extent()
    assert legend.y0 >= display.ax_.get_window_extent().y1 - 1


def test_nothing_to_name_needs_no_legend():
    assert ParetoFrontDisplay(POINTS).plot().ax_.get_legend() is None


def test_long_fronts_are_not_drowned_in_markers():
    points = np.linspace(0, 1, 1000)
    display = ParetoFrontDisplay(pd.DataFrame({"cost": points, "balance": points})).plot()
    assert len(points) / display.line_.get_markevery() <= 26


def test_a_front_of_classifiers_is_drawn_with_all_points_and_intervals():
    table = pd.DataFrame({"tolerance": [0.3, 0.02, 0.1, 0.2], "accuracy": [0.9, 0.8, 0.84, 0.83]})
    table["gap"] = [0.25, 0.01, np.nan, 0.12]
    for name in ("accuracy", "gap"):
        table[f"{name}_low"] = table[name] - 0.02
        table[f"{name}_high"] = table[name] + 0.03
    display = ParetoFrontDisplay(table, selected=3, name="model").plot()
    gap, accuracy = display.line_.get_data()
    assert gap.tolist() == [0.01, 0.12, 0.25] and accuracy.tolist() == [0.8, 0.83, 0.9]
    assert display.line_.get_drawstyle() == "default"
    ax = display.ax_
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("gap", "accuracy")
    assert legend_of(ax) == ["model", "selected: gap 0.12, accuracy 0.83"]
    vertical, horizontal = (
        [one.tolist() for one in lines.get_segments()] for lines in ax.collections
    )
    assert vertical[0] == [[0.01, pytest.approx(0.78)], [0.01, pytest.approx(0.83)]]
    assert horizontal[2] == [[pytest.approx(0.23), 0.9], [pytest.approx(0.28), 0.9]]


def test_a_table_of_other_columns_is_refused():
    with pytest.raises(ValueError, match="columns 'cost' and 'balance' of clusterings, or 'accu"):
        ParetoFrontDisplay(pd.DataFrame({"cost": COST, "gap": BALANCE})).plot()
