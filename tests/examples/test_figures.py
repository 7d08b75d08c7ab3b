"""The check of the gallery's figures, which `make doc` runs when it builds the examples."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

DOC = Path(__file__).parents[2] / "doc"


@pytest.fixture(scope="module")
def plt():
    pytest.importorskip("matplotlib").use("Agg")
    return pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(scope="module")
def gallery_figures():
    spec = spec_from_file_location("gallery_figures", DOC / "gallery_figures.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def figure(plt):
    figure, _ = plt.subplots(figsize=(2, 2))
    yield figure
    plt.close(figure)


def test_a_text_outside_is_found(figure, gallery_figures):
    (ax,) = figure.axes
    ax.set_title("A title of far more characters than fit on two inches")
    assert gallery_figures.list_cut_texts(figure) == [ax.get_title()]
    with pytest.raises(ValueError, match=r"within its figure, but plot_x.py draws \['A title of"):
        gallery_figures.check_figure(figure, "plot_x.py")
    ax.set_title("short")
    assert gallery_figures.list_cut_texts(figure) == []
    gallery_figures.check_figure(figure, "plot_x.py")


def test_a_legend_over_a_title_or_a_line_is_found(figure, gallery_figures):
    (ax,) = figure.axes
    ax.plot([0, 1], [0, 1], label="line")
    ax.plot([0], [1], "o", label="dot")
    figure.suptitle("claim")
    legend = ax.legend(loc="lower right")
    legend.set_bbox_to_anchor((2.5, 0.0))
    assert gallery_figures.list_covered(figure) == []
    ax.legend(loc="center")
    assert gallery_figures.list_covered(figure) == ["line"]
    ax.legend(loc="upper left")
    assert gallery_figures.list_covered(figure) == ["dot"]
    ax.set_title("title")
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0))
    assert gallery_figures.list_covered(figure)[0] == "title"
    ax.legend(loc="center")
    with pytest.raises(ValueError, match=r"in plot_x.py one covers \['line'"):
        gallery_figures.check_figure(figure, "plot_x.py")


def test_a_figure_needs_a_title(figure, gallery_figures):
    with pytest.raises(ValueError, match=r"must have a title.*plot_x\.py"):
        gallery_figures.check_figure(figure, "plot_x.py")
    figure.suptitle("claim")
    gallery_figures.check_figure(figure, "plot_x.py")


def test_figures_of_a_block_are_checked_before_they_are_stored(figure, gallery_figures):
    pytest.importorskip("sphinx_gallery")
    block_vars = {"src_file": "plot_x.py"}
    with pytest.raises(ValueError, match="must have a title"):
        gallery_figures.scrape_figures(("code", "", 1), block_vars, {})


def test_the_build_of_the_gallery_runs_the_check():
    configuration = (DOC / "conf.py").read_text(encoding="utf-8")
    assert '"image_scrapers": ("gallery_figures.scrape_figures",)' in configuration
