"""Colours and marks are distinct, and a missing matplotlib raises an error with the remedy."""

import sys

import pandas as pd
import pytest
from matplotlib.colors import to_rgb

from skfair.plotting import ClusterCompositionDisplay, GroupRateDisplay
from skfair.plotting._display import COLORS, HATCHES, LINE_STYLES, MARKERS


@pytest.mark.parametrize("values", [COLORS, MARKERS, HATCHES], ids=["color", "marker", "hatch"])
def test_ten_groups_have_ten_of_each(values):
    assert len(set(values)) == len(values) >= 10


def test_lines_of_ten_groups_differ_in_colour_and_dash():
    assert len({(COLORS[k], LINE_STYLES[k % len(LINE_STYLES)]) for k in range(10)}) == 10


def test_colours_are_colours():
    assert all(len(to_rgb(color)) == 3 for color in COLORS)


@pytest.mark.parametrize(
    "draw",
    [
        lambda: ClusterCompositionDisplay(pd.DataFrame([[3, 1], [2, 2]])).plot(),
        lambda: GroupRateDisplay.from_predictions(
            [0, 1, 0, 1], [0, 1, 1, 1], sensitive_features=list("aabb")
        ),
    ],
    ids=["composition", "rates"],
)
def test_without_matplotlib_the_error_names_it(draw, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        draw()
