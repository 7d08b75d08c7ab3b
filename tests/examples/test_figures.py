"""Figures of the gallery: no text leaves its figure, and every figure has a title."""

import runpy
from pathlib import Path

import pytest

GALLERY = Path(__file__).parents[2] / "examples"
EXAMPLES = sorted(path for path in GALLERY.glob("*/plot_*.py") if not path.stem.endswith("_torch"))
TOLERANCE = 2  # pixels


def list_cut_texts(figure):
    """Texts of a figure that leave its canvas, after the layout."""
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    width, height = figure.canvas.get_width_height()
    labels = set(map(id, list_tick_labels(figure)))
    cut = []
    for text in figure.findobj(lambda one: hasattr(one, "get_text") and one.get_visible()):
        if not text.get_text().strip() or id(text) in labels:
            continue
        box = text.get_window_extent(renderer)
        is_within = box.x0 >= -TOLERANCE and box.x1 <= width + TOLERANCE
        is_within &= box.y0 >= -TOLERANCE and box.y1 <= height + TOLERANCE
        if not is_within:
            cut.append(text.get_text())
    return cut


def list_tick_labels(figure):
    """Labels of ticks, which are kept for ticks that are out of range as well."""
    axes = [axis for ax in figure.axes for axis in (ax.xaxis, ax.yaxis)]
    ticks = [tick for axis in axes for tick in (*axis.majorTicks, *axis.minorTicks)]
    return [label for tick in ticks for label in (tick.label1, tick.label2)]


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # real data warn of features that reveal the group
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_no_text_leaves_its_figure(path, monkeypatch):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    plt = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.chdir(path.parent)
    plt.close("all")
    runpy.run_path(str(path))
    figures = [plt.figure(number) for number in plt.get_fignums()]
    for figure in figures:
        assert list_cut_texts(figure) == []
        titles = [ax.get_title(loc) for ax in figure.axes for loc in ("left", "center", "right")]
        assert any(titles) or figure.get_suptitle()
    plt.close("all")


def test_a_text_outside_is_found():
    plt = pytest.importorskip("matplotlib.pyplot")
    figure, ax = plt.subplots(figsize=(2, 2))
    ax.set_title("A title of far more characters than fit on two inches")
    assert list_cut_texts(figure) == [ax.get_title()]
    ax.set_title("short")
    assert list_cut_texts(figure) == []
    plt.close(figure)
