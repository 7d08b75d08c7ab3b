"""Figures of pages are those of the records that commands wrote."""

import importlib
import json
import random
import re
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


def test_every_changed_number_word_or_heading_is_noticed(printed):
    """Thirty changes, each of a word or number of a sentence or table, headings included."""
    rng = random.Random(0)
    sentences = list(printed.read_sentences())
    for number in range(30):
        sentence = rng.choice(sentences)
        text = sentence.read_page()
        start, end = sentence.search(text).span()
        kind = r"\d" if number % 2 else r"[A-Za-z]{2,}"
        words = list(re.finditer(kind, text[start:end])) or [re.search(r"\w", text[start:end])]
        word = rng.choice(words)
        new = str((int(word[0]) + 1) % 10) if word[0].isdigit() else word[0][::-1] + "x"
        changed = text[: start + word.start()] + new + text[start + word.end() :]
        page = [other for other in sentences if other.page == sentence.page]
        assert any(other.describe_difference(changed) for other in page), (sentence.page, word)


@pytest.fixture(name="folder")
def write_folder(printed, monkeypatch, tmp_path):
    """A page of two sentences and two tables, a picture, and the records of its figures."""
    (tmp_path / "page.rst").write_text(
        "Of 1,500 samples the gap\nis .062 on average (5 %).\n\n"
        "* - data\n  - gap\n  - times\n* - Adult\n  - .062\n  - 1.0\n* -\n  - .10\n  - 1.6\n\n"
        "Five were drawn with Numpy 2.4.6, yes, of at most 1,500.\n"
    )
    (tmp_path / "gaps.json").write_text(
        json.dumps(
            {
                "runs": 5,
                "versions": {"numpy": "2.4.6"},
                "records": [
                    {"data": "Adult", "n": 1500, "gap": 0.0621, "share": 0.05, "kept": True},
                    {"data": "bank", "n": 200, "gap": 0.1, "share": 0.5, "kept": False},
                ],
            }
        )
    )
    (tmp_path / "pages.toml").write_text(
        """
[[sentence]]
pages = ["page.rst"]
text = "Of {n} samples the gap is {gap:.3f} on average ({share:.0%})"
n = "gaps | n | data=Adult"
gap = "gaps | gap | data=Adult"
share = "gaps | share | data=Adult; n=1500"

[[sentence]]
page = "page.rst"
file = "gaps"
text = "were drawn with Numpy {numpy:version}, {kept:yes}, of at most {most}"
numpy = "versions | numpy"
kept = "kept | data=Adult"
most = { largest = "n" }

[[older]]
page = "page.rst"
text = "Five were"

[[table]]
page = "page.rst"
file = "gaps"
head = "data | gap | times"
row = "{0} | {gap:.2g} | {times:.2g}"
columns = { gap = "gap", times = { ratio = ["gap", "@gaps | gap | data=Adult"] } }
rows = [["Adult", "data=Adult"], ["", "data=bank"]]

[[picture]]
file = "picture.png"
command = "draw"
inputs = ["gaps | gap", "draw.py"]
"""
    )
    (tmp_path / "picture.png").write_bytes(b"1")
    (tmp_path / "draw.py").write_text("draw()")
    monkeypatch.setattr(printed, "HOME", tmp_path)
    monkeypatch.setattr(printed, "FOLDER", tmp_path)
    monkeypatch.setattr(printed, "SETTINGS", tmp_path / "pages.toml")
    monkeypatch.setattr(printed, "SEALS", tmp_path / "pictures.json")
    printed.main(["seal"])
    return tmp_path


def test_equal_figures_agree(printed, folder, capsys):
    assert printed.main(["check"]) == 0
    assert capsys.readouterr().out.endswith("Pages and records agree.\n")


@pytest.mark.parametrize(
    "old, new, change",
    [
        (".062 on", ".063 on", "page.rst:2: .063 -> .062"),
        ("1,500 ", "1500 ", "page.rst:1: 1500 -> 1,500"),
        (".10\n", ".11\n", "page.rst:11: .11 -> .10"),
        ("1.6", "1.60", "page.rst:12: 1.60 -> 1.6"),
        ("2.4.6", "2.5.0", "page.rst:14: 2.5.0 -> 2.4.6"),
        ("yes", "no", "page.rst:14: no -> yes"),
    ],
)
def test_a_changed_figure_is_noticed_and_written_again(printed, folder, old, new, change):
    page = folder / "page.rst"
    before = page.read_text()
    page.write_text(before.replace(old, new))
    assert printed.list_differences() == [change]
    assert printed.main(["write"]) == 0
    assert page.read_text() == before


@pytest.mark.parametrize(
    "old, new",
    [
        ("samples", "rows"),
        ("the gap", "a gap"),
        ("Adult", "bonds"),
        ("times", "time"),
        ("Five", "twentyFive"),  # at an end of a sentence
    ],
)
def test_a_changed_word_or_heading_is_noticed(printed, folder, old, new):
    page = folder / "page.rst"
    page.write_text(page.read_text().replace(old, new))
    (difference,) = printed.list_differences()
    assert difference.endswith("Change doc/printed/pages.toml with the page.")


@pytest.mark.parametrize(
    "changed, old, new",
    [("picture.png", "1", "2"), ("draw.py", "draw", "paint"), ("gaps.json", "0.0621", "0.0622")],
)
def test_a_picture_is_sealed_with_its_inputs(printed, folder, changed, old, new):
    (folder / changed).write_text((folder / changed).read_text().replace(old, new))
    printed._load.cache_clear()
    (difference,) = printed.list_differences()
    assert difference.startswith("picture.png: not the picture or not the inputs that were sealed")
    assert printed.main(["seal"]) == 0


def test_tables_of_markdown_are_read(printed, folder):
    page = folder / "page.md"
    page.write_text("| data | gap |\n|---|---|\n| Adult | .062 |\n| bank | .2 |\n")
    (folder / "pages.toml").write_text(
        """
[[table]]
page = "page.md"
file = "gaps"
head = "data | gap"
row = "{0} | {gap:.2g}"
columns = { gap = "gap" }
rows = [["Adult", "data=Adult"], ["bank", "data=bank"]]
"""
    )
    assert printed.list_differences() == ["page.md:4: .2 -> .10"]


def test_every_command_runs_in_one_night_of_the_week(printed, folder):
    (folder / "gaps.json").unlink()
    for number in range(10):
        stored = {"CPU seconds": number, "command": "stored --recorded" if number == 3 else "run"}
        (folder / f"{number}.json").write_text(json.dumps(stored))
    nights = [printed.list_tonight(weekday) for weekday in range(7)]
    assert sorted(sum(nights, [])) == list("012456789")
    assert max(map(len, nights)) == 2


@pytest.mark.parametrize(
    "stored, arguments, options",
    [
        ("python -m benchmarks gaps", [], (False, [], False)),
        ("python -m benchmarks gaps --cells 'a b' c", [], (False, ["a b", "c"], False)),
        ("python -m benchmarks gaps --quick", [], (False, [], True)),
        ("python -m benchmarks gaps --recorded", [], (True, [], False)),
        ("python -m benchmarks gaps --quick", ["--cells", "c"], (False, ["c"], False)),
        (None, [], (False, [], False)),
    ],
)
def test_a_command_runs_again_with_its_options(
    printed, folder, monkeypatch, stored, arguments, options
):
    if stored is None:
        (folder / "gaps.json").unlink()
    else:
        (folder / "gaps.json").write_text(json.dumps({"command": stored}))
    printed._load.cache_clear()
    runs = []
    monkeypatch.setattr(printed, "run", lambda *one: runs.append(one))
    printed.main(["run", "gaps", *arguments])
    assert runs == [("gaps", *options)]


def test_conditions_must_be_those_of_one_record(printed, folder):
    assert printed.look_up("gaps | gap | data=bank; n=200") == 0.1
    with pytest.raises(KeyError, match="2 records have these values, and one must"):
        printed.look_up("gaps | gap")


@pytest.mark.parametrize(
    "path, value",
    [
        ("gaps | runs", 5),
        ({"count": "gaps | gap"}, 2),
        ({"sum": ["gaps | n | data=Adult", "gaps | n | data=bank"]}, 1700),
        ({"largest": {"ratio": ["gaps | n", "gaps | share"]}}, 30000),
        ({"below one": "gaps | gap"}, 2),
        ({"percent": "gaps | share | data=bank"}, -50),
    ],
)
def test_values_are_computed_of_records(printed, folder, path, value):
    assert printed.look_up(path) == pytest.approx(value)


@pytest.mark.parametrize(
    "value, form, text",
    [
        (0.0621, ".3f", ".062"),
        (-1.3, "+.1f", "-1.3"),
        (1.1, "+.1f", "+1.1"),
        (0.05, ".0%", "5 %"),
        (159.4, ".2g", "160"),
        (0.996, ".2g", "1.0"),
        (0.00034, ".1g", ".0003"),
        (0.0397, "+.1g", "+.04"),
        (1e-15, ".2g", "0"),
        (3, "word", "three"),
        (3, "Word", "Three"),
        (13, "word", "13"),
        (None, ".3f", "--"),
    ],
)
def test_figures_are_written_as_in_pages(printed, value, form, text):
    assert printed.to_text(value, form) == text
