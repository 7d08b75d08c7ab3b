"""The cheat sheet names what exists, on one page without overlaps."""

import ast
import importlib
import importlib.util
import inspect
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

from matplotlib.backends.backend_agg import FigureCanvasAgg

from skfair.audit import Audit
from skfair.monitoring import GapMonitor

SOURCE = Path(__file__).parents[1] / "doc" / "cheat_sheet.py"
SPEC = importlib.util.spec_from_file_location("cheat_sheet", SOURCE)
cheat_sheet = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(cheat_sheet)
VARIABLES = {"audit": Audit, "monitor": GapMonitor}
"""Variables of the sheet with the class of their value."""


def find_called(function, modules):
    """The thing that a call of the sheet calls, and whether it is a method of an object."""
    if isinstance(function, ast.Name):
        (home,) = (module for module in modules if function.id in module.__all__)
        return getattr(home, function.id), False
    owner = function.value.id
    if owner in VARIABLES:
        return getattr(VARIABLES[owner], function.attr), True
    called, _ = find_called(function.value, modules)
    return getattr(called, function.attr), False


@pytest.mark.parametrize("cell", cheat_sheet.CELLS, ids=lambda cell: cell.question)
def test_code_calls_public_names_with_their_parameters(cell):
    modules = [importlib.import_module(name) for name in cell.module.split(", ")]
    tree = ast.parse(cell.code)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    assert calls
    for call in calls:
        called, is_method = find_called(call.func, modules)
        arguments = [None] * (len(call.args) + is_method)
        keywords = {keyword.arg: None for keyword in call.keywords}
        inspect.signature(called).bind(*arguments, **keywords)


def test_no_text_leaves_its_cell():
    figure = cheat_sheet.draw_sheet()
    width = figure.bbox.width * 0.95 / cheat_sheet.N_COLUMNS
    renderer = FigureCanvasAgg(figure).get_renderer()
    extents = [text.get_window_extent(renderer) for text in figure.texts]
    assert all(extent.x1 <= figure.bbox.x1 and extent.y0 >= 0 for extent in extents)
    cells = extents[2:-1]
    assert len(cells) == 3 * len(cheat_sheet.CELLS)
    assert max(extent.width for extent in cells) < width
    axes = [one.get_tightbbox(renderer) for one in figure.axes]
    for number, code in enumerate(cells[2::3]):
        assert code.y0 >= axes[number].y1 - 2


@pytest.mark.slow
def test_both_files_are_written(tmp_path):
    cheat_sheet.write_sheet(tmp_path)
    assert (tmp_path / "cheat_sheet.pdf").read_bytes().startswith(b"%PDF")
    svg = (tmp_path / "cheat_sheet.svg").read_text(encoding="utf-8")
    cheat_sheet.write_sheet(tmp_path)
    assert (tmp_path / "cheat_sheet.svg").read_text(encoding="utf-8") == svg
