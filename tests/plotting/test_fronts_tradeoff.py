"""TradeoffDisplay: what is drawn is the front that was given."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from skfair.plotting import TradeoffDisplay


@pytest.fixture
def front():
    return pd.DataFrame(
        {
            "tolerance": [0.1, 0.02],
            "accuracy": [0.85, 0.8],
            "accuracy_low": [0.84, 0.79],
            "accuracy_high": [0.86, 0.81],
            "gap": [0.11, 0.03],
            "gap_low": [0.08, 0.0],
            "gap_high": [0.14, 0.06],
        }
    )


def test_points_come_by_ascending_tolerance(front):
    display = TradeoffDisplay(front).plot()
    gap, accuracy = display.line_.get_data()
    assert gap.tolist() == [0.03, 0.11]
    assert accuracy.tolist() == [0.8, 0.85]
    assert [text.get_text() for text in display.ax_.texts] == ["0.02", "0.1"]


def test_bars_reach_to_the_limits(front):
    display = TradeoffDisplay(front).plot()
    across, along = display.ax_.collections
    ends = sorted(tuple(np.round(bar[:, 0], 9)) for bar in across.get_segments())
    assert ends == [(0.0, 0.06), (0.08, 0.14)]
    ends = sorted(tuple(np.round(bar[:, 1], 9)) for bar in along.get_segments())
    assert ends == [(0.79, 0.81), (0.84, 0.86)]


def test_without_limits_there_are_no_bars(front):
    display = TradeoffDisplay(front[["tolerance", "accuracy", "gap"]]).plot()
    assert not display.ax_.collections


def test_models_are_distinct_on_the_same_axes(front):
    _, ax = plt.subplots()
    displays = [TradeoffDisplay(front, name=name).plot(ax=ax) for name in ("one", "two")]
    assert displays[0].ax_ is displays[1].ax_ is ax
    for getter in ("get_color", "get_marker"):
        assert len({getattr(display.line_, getter)() for display in displays}) == 2
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["one", "two"]


def test_a_model_without_tolerance_has_no_label_and_a_bound_a_line(front):
    plain = front.assign(tolerance=np.nan)[:1]
    display = TradeoffDisplay(plain, name="plain").plot(bound=0.05)
    assert not display.ax_.texts
    assert display.ax_.lines[-1].get_xdata() == [0.05, 0.05]


def test_axes_begin_at_no_gap_and_hold_all_models(front):
    display = TradeoffDisplay(front).plot()
    TradeoffDisplay(front.assign(gap=front["gap"] + 0.5)).plot(ax=display.ax_)
    low, high = display.ax_.get_xlim()
    assert low == 0.0
    assert high > 0.61
