"""Folders of tests mirror subpackages: tests/X tests skfair/X, or the module skfair/X.py."""

from pathlib import Path

import pytest

import skfair

TESTS = Path(__file__).parent
PACKAGE = Path(skfair.__file__).parent
OTHERS = {"benchmarks", "examples"}
"""Folders of tests of what is not in the package."""


def folders():
    """Folders with tests, below the folder of all tests."""
    names = {path.parent.relative_to(TESTS) for path in TESTS.glob("*/**/test_*.py")}
    return sorted(name for name in names if name.parts[0] not in OTHERS)


def subpackage(folder):
    """The path of what a folder tests; the underscore of private names is left out."""
    private = PACKAGE / f"_{folder.parts[0]}"
    first = private if private.is_dir() else PACKAGE / folder.parts[0]
    return first.joinpath(*folder.parts[1:])


@pytest.mark.parametrize("folder", folders(), ids=str)
def test_every_folder_of_tests_is_a_subpackage(folder):
    path = subpackage(folder)
    assert path.is_dir() or path.with_suffix(".py").is_file()


def test_every_subpackage_has_tests():
    tested = {subpackage(folder) for folder in folders()}
    assert {path.parent for path in PACKAGE.glob("*/**/__init__.py")} <= tested
