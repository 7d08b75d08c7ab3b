"""The README: every example runs alone and prints what is shown, addresses stand in one place."""

import doctest
import re
import tomllib
from pathlib import Path

import pytest

HOME = Path(__file__).parents[1]
README = (HOME / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```pycon\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.splitlines()[0].split()[-1])
def test_an_example_runs_alone_and_prints_what_is_shown(block, tmp_path, monkeypatch):
    if "plotting" in block:
        pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    test = doctest.DocTestParser().get_doctest(block, {}, "README.md", "README.md", 0)
    printed = []
    doctest.DocTestRunner(optionflags=FLAGS).run(test, out=printed.append)
    assert not printed, "".join(printed)


def test_code_is_shown_in_no_other_way():
    """A block without a test would become outdated."""
    assert set(re.findall(r"^```(\w+)$", README, flags=re.MULTILINE)) <= {
        "console",
        "text",
        "pycon",
    }
    assert len(BLOCKS) >= 5


def test_addresses_are_those_of_the_package():
    """They are set in pyproject.toml alone; these lines follow."""
    with open(HOME / "pyproject.toml", "rb") as file:
        urls = tomllib.load(file)["project"]["urls"]
    links = dict(re.findall(r"^\[(documentation|repository)\]: (\S+)$", README, flags=re.MULTILINE))
    assert links == {name.lower(): url for name, url in urls.items()}


@pytest.mark.parametrize(
    "paper", ["2105.14172", "Tonin", "perturbed Lagrangian", "Kliachkin", "He"]
)
def test_both_places_name_every_paper(paper):
    assert paper in README
    assert paper in (HOME / "CITATION.cff").read_text(encoding="utf-8")
