"""The picture of the packages, and the walks of the developer's page."""

import importlib.util
import re
from pathlib import Path

import pytest

DOC = Path(__file__).parents[1] / "doc"
SPEC = importlib.util.spec_from_file_location("layout", DOC / "layout.py")
layout = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(layout)


def test_levels_and_arrows_of_four_packages():
    imports = {"a": {"b", "c", "d"}, "b": {"d"}, "c": {"d"}, "d": set()}
    assert layout.find_levels(imports) == {"d": 0, "b": 1, "c": 1, "a": 2}
    expected = {("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")}
    assert layout.reduce_arrows(imports) == expected


def test_imports_are_read_from_all_forms(tmp_path):
    (tmp_path / "a").mkdir()
    lines = (
        "from skfair import b\nimport skfair.c.inner\n\n\ndef f():\n    from skfair.d import x\n"
    )
    (tmp_path / "a" / "__init__.py").write_text(lines, encoding="utf-8")
    for name in "bcd":
        (tmp_path / f"{name}.py").write_text("", encoding="utf-8")
    imports = layout.read_imports(tmp_path)
    assert imports == {"a": {"b", "c", "d"}, "b": set(), "c": set(), "d": set()}


def test_the_picture_names_every_package(tmp_path):
    layout.draw(tmp_path)
    text = (tmp_path / "layout.svg").read_text(encoding="utf-8")
    names = {path.parent.name for path in layout.PACKAGE.glob("*/__init__.py")}
    names |= {path.stem for path in layout.PACKAGE.glob("*.py")} - layout.LEFT_OUT
    assert len(names) > 20
    assert {name for name in names if f">{name}</text>" not in text} == set()


def walks():
    page = (DOC / "developer.rst").read_text(encoding="utf-8")
    return page.split("Three walks\n")[1].split("The linear engine\n")[0]


@pytest.mark.parametrize("step", re.findall(r"(?m)^\d\. (?:.+\n)(?:   .+\n)*", walks()))
def test_files_and_functions_of_a_walk_exist(step):
    folder = None
    path = None
    n_names = 0
    for name in re.findall(r"``([^`]+)``", step):
        if name.endswith(".py"):
            folder = Path(name).parent if "/" in name else folder
            path = layout.PACKAGE / folder / Path(name).name
            assert path.is_file(), name
            n_names += 1
        elif path is not None:
            texts = [one.read_text(encoding="utf-8") for one in path.parent.glob("*.py")]
            pattern = re.compile(rf"(?m)^(def|class) {name}\b")
            assert any(map(pattern.search, texts)), (path, name)
            n_names += 1
    assert n_names


PLACEHOLDERS = {"skfair/X/M.py", "tests/X/test_M.py", "examples/section/plot_name.py"}
"""Paths on the pages for developers that stand for others."""

FOLDERS = ("skfair", "tests", "benchmarks", "doc", "examples", ".github", ".ci")


@pytest.mark.parametrize(
    "page",
    [
        "developer",
        "extending",
        "makers/decisions",
        "makers/kernels",
        "makers/testing",
        "makers/release",
    ],
)
def test_paths_on_the_pages_for_developers_exist(page):
    text = (DOC / f"{page}.rst").read_text(encoding="utf-8")
    paths = re.findall(rf"``((?:{'|'.join(map(re.escape, FOLDERS))})/[^`\s]*)``", text)
    missing = [one for one in {*paths} - PLACEHOLDERS if not (DOC.parent / one).exists()]
    assert paths and missing == []
    assert len(text.split()) <= 2000
