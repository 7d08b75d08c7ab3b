"""First examples of README and of pages print what is shown, pasted into a fresh process."""

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

HOME = Path(__file__).parents[1]
COMMENT = re.compile(r"\.\.(?!\.| \S+::| _| \[| \|)")
INCLUDE = re.compile(
    r"^\.\. include:: (\w+\.rst)\n +:start-after: (.+)\n +:end-before: (.+)\n", re.M
)
OPTIONS = [
    "--config-file=/dev/null",
    "--override-ini=doctest_optionflags=NORMALIZE_WHITESPACE ELLIPSIS NUMBER",
    "--doctest-glob=*.rst",
    "--quiet",
]
"""Of pytest, which compares decimals by their last digit, as it does for whole pages."""


def split_comments(text):
    """Return the lines that a page shows, and those in comments, as two texts."""
    shown = []
    hidden = []
    inside = False
    for line in text.splitlines(keepends=True):
        inside = bool(COMMENT.match(line)) or inside and (line[0].isspace() or not line.strip())
        (hidden if inside else shown).append(line)
    return "".join(shown), "".join(hidden)


def read_page(path):
    """Return what a page shows, with the part of another page that it includes."""

    def read_part(match):
        name, start, end = match.groups()
        return (path.parent / name).read_text("utf-8").split(start)[1].split(end)[0]

    return split_comments(INCLUDE.sub(read_part, path.read_text("utf-8")))[0]


def find_first_example(text):
    """Return the blocks of a page up to the first that prints something, or None."""
    blocks = re.findall(r"^ *>>> .+\n(?: *\S.*\n)*", text.replace("```", "\n"), flags=re.M)
    for i, block in enumerate(blocks):
        if re.search(r"^ *(?!>>>|\.\.\.)\S", block, flags=re.M):
            return "\n".join(map(textwrap.dedent, blocks[: i + 1]))
    return None


PAGES = [HOME / "README.md", *sorted((HOME / "doc").glob("*.rst"))]
EXAMPLES = {path.stem: find_first_example(read_page(path)) for path in PAGES}
EXAMPLES = {page: example for page, example in EXAMPLES.items() if example}
DISTINCT = {example: page for page, example in reversed(EXAMPLES.items())}
"""A page for each example: README, start page and install show one."""
NEEDS = {"skfair.torch": "torch", "dask": "distributed", "plotting": "matplotlib"}
"""Packages that an example needs, by a word in it."""


def test_every_page_that_shows_code_has_an_example():
    assert {*EXAMPLES} == {path.stem for path in PAGES if ">>> " in read_page(path)}
    assert len(EXAMPLES) >= 28
    assert len(DISTINCT) == len(EXAMPLES) - 2
    assert {"README", "index", "install", "statuses", "networks", "large_data"} <= set(EXAMPLES)


def test_no_page_hides_an_example_in_a_comment():
    for path in PAGES:
        assert ">>> " not in split_comments(path.read_text("utf-8"))[1], path.name


@pytest.mark.slow
@pytest.mark.parametrize("page", sorted(DISTINCT.values()))
def test_the_first_example_runs_in_a_fresh_process(page, tmp_path, real_data):
    example = EXAMPLES[page]
    for word, package in NEEDS.items():
        if word in example:
            pytest.importorskip(package)
    if "fetch_adult" in example:
        real_data("adult/adult.data")
    environment = os.environ | {"PYTHONPATH": str(HOME), "MPLBACKEND": "Agg"}
    (tmp_path / "example.rst").write_text(example, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", *OPTIONS, "example.rst"]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout
