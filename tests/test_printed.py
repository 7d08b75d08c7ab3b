"""Figures of pages are those of the records that commands wrote."""

import importlib
import json
from pathlib import Path

import pytest

HOME = Path(__file__).parents[1]


@pytest.fixture(name="printed")
def import_printed(monkeypatch):
    monkeypatch.syspath_prepend(str(HOME / "doc"))
    return importlib.import_module("printed")


def test_pages_have_the_figures_of_their_records(printed):
    differences = printed.list_differences()
    assert not differences, "\n".join(["python doc/printed.py write puts them in:", *differences])


@pytest.fixture(name="folder")
def write_folder(printed, monkeypatch, tmp_path):
    """A page of two sentences and a table, and the records of its figures."""
    (tmp_path / "page.rst").write_text(
        "Of 1,500 samples the gap\nis .062 on average (5 %).\n\n"
        "* - Adult\n  - .851\n* - bank\n  - .9\n* - Adult again\n"
    )
    (tmp_path / "gaps.json").write_text(
        json.dumps(
            {
                "records": [
                    {"data": "Adult", "n": 1500, "gap": 0.0621, "share": 0.05, "accuracy": 0.851},
                    {"data": "bank", "n": 200, "gap": 0.1, "share": 0.5, "accuracy": 0.9},
                ]
            }
        )
    )
    (tmp_path / "pages.toml").write_text(
        '[[sentence]]\npages = ["page.rst"]\n'
        'text = "Of {n} samples the gap is {gap:.3f} on average ({share:.0%})"\n'
        'n = "gaps | n | data=Adult"\ngap = "gaps | gap | data=Adult"\n'
        'share = "gaps | share | data=Adult; n=1500"\n'
        '[[rows]]\npage = "page.rst"\nfile = "gaps"\nafter = "average"\n'
        'row = "* - {label} - {accuracy}"\ncolumns = { accuracy = "accuracy" }\n'
        '[rows.labels]\n"Adult" = "data=Adult"\n"bank" = "data=bank"\n'
    )
    monkeypatch.setattr(printed, "HOME", tmp_path)
    monkeypatch.setattr(printed, "FOLDER", tmp_path)
    monkeypatch.setattr(printed, "SETTINGS", tmp_path / "pages.toml")
    return tmp_path


def test_equal_figures_agree(printed, folder, capsys):
    assert printed.main(["check"]) == 0
    assert capsys.readouterr().out == "Pages and records agree.\n"


@pytest.mark.parametrize(
    "old, new, change",
    [
        (".062", ".063", "page.rst:1: 1,500, .063, 5 % -> 1,500, .062, 5 %"),
        ("1,500", "1500", "page.rst:1: 1500, .062, 5 % -> 1,500, .062, 5 %"),
        (".9\n", ".91\n", "page.rst:7: .91 -> .9"),
    ],
)
def test_a_changed_figure_is_noticed_and_written_again(printed, folder, old, new, change):
    page = folder / "page.rst"
    before = page.read_text()
    page.write_text(before.replace(old, new))
    assert printed.list_differences() == [change]
    assert printed.main(["write"]) == 0
    assert page.read_text() == before


@pytest.mark.parametrize("old, new", [("samples", "rows"), ("the gap", "a gap"), ("bank", "bonds")])
def test_a_changed_word_is_noticed(printed, folder, old, new):
    page = folder / "page.rst"
    page.write_text(page.read_text().replace(old, new))
    (difference,) = printed.list_differences()
    assert difference.endswith("Change doc/printed/pages.toml with the page.")


def test_conditions_must_be_those_of_one_record(printed, folder):
    assert printed.look_up("gaps | gap | data=bank; n=200") == 0.1
    with pytest.raises(KeyError, match="2 records have these values, and one must"):
        printed.look_up("gaps | gap")
