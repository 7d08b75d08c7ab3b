"""Test files mirror modules: tests/X/test_Y.py tests skfair/X/_Y.py."""

from pathlib import Path

import pytest

import skfair

TESTS = Path(__file__).parent
PACKAGE = Path(skfair.__file__).parent
OTHERS = {"benchmarks", "examples"}
"""Folders of tests of what is not in the package."""

EXCEPTIONS = {
    "kernels/test_interpreted.py": "kernels without compilation",
    "monitoring/test_outcomes.py": "late outcomes of monitors",
}
"""Test files without a module of their name, with the reason."""


def folders():
    """Folders with tests, and the subpackage that each mirrors."""
    for folder in sorted({path.parent for path in TESTS.glob("*/**/test_*.py")}):
        name = folder.relative_to(TESTS)
        if name.parts[0] not in OTHERS:
            parent = "_kernels" if name.parts[0] == "kernels" else name.parts[0]
            yield folder, PACKAGE.joinpath(parent, *name.parts[1:])


def is_mirrored(path, subpackage):
    """Whether a test file has the name of a module, of an aspect of it, or of the subpackage."""
    name = path.stem.removeprefix("test_")
    modules = {module.stem.lstrip("_") for module in subpackage.glob("*.py")}
    modules |= {folder.name for folder in subpackage.iterdir() if folder.is_dir()}
    return name == path.parent.name or any(f"{name}_".startswith(f"{one}_") for one in modules)


def list_unmirrored():
    """Test files that mirror no module."""
    return {
        path.relative_to(TESTS).as_posix()
        for folder, subpackage in folders()
        for path in folder.glob("test_*.py")
        if not is_mirrored(path, subpackage)
    }


def test_every_folder_of_tests_is_a_subpackage():
    assert [folder.name for folder, subpackage in folders() if not subpackage.is_dir()] == []


def test_every_test_file_mirrors_a_module():
    assert list_unmirrored() <= set(EXCEPTIONS)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("test_bound.py", True), ("test_bound_rows.py", True), ("test_bounds.py", False)],
)
def test_names_of_modules_and_their_aspects_count(name, expected):
    assert is_mirrored(TESTS / "constraints" / name, PACKAGE / "constraints") == expected
