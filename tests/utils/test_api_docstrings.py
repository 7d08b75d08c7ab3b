"""Docstring entries that several functions or classes share."""

import functools
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from importlib.util import find_spec

import pytest

import skfair
from skfair._utils.api import make_docstring_decorator

SECTION = """
    X : array-like of shape (n_samples, n_features)
        Features.

        - One row per sample.
    *rows : int
        Rows.
    ValueError
        If X is empty.
"""
EXPECTED = """Fit.

Parameters
----------
X : array-like of shape (n_samples, n_features)
    Features.

    - One row per sample.
    Not sparse.
*rows : int
    Rows.

Raises
------
ValueError
    If X is empty.

References
----------
.. [1] A. Author, "Title",
   Journal, 2020.
"""
DOCSTRING = """Fit.

    Parameters
    ----------
    {X}
        Not sparse.
    {rows}

    Raises
    ------
    {ValueError}

    References
    ----------
    {source}
    """

document = make_docstring_decorator(
    SECTION,
    source="""
        .. [1] A. Author, "Title",
           Journal, 2020.
    """,
)


def fit(X):
    """Fit."""


class Fit:
    """Fit."""

    def method(self):
        """Fit."""


@pytest.mark.parametrize("documented", [fit, Fit, Fit.method])
@pytest.mark.parametrize("indented", [True, False], ids=["as_written", "dedented_by_python_3_13"])
def test_placeholders_are_filled_at_their_indentation(documented, indented, monkeypatch):
    docstring = DOCSTRING if indented else inspect.cleandoc(DOCSTRING)
    monkeypatch.setattr(documented, "__doc__", docstring)
    assert document(documented) is documented
    assert inspect.getdoc(documented).strip() == EXPECTED.strip()


def test_one_line_may_name_several_entries():
    def function():
        """Do.

        {rows, ValueError}
        """

    expected = "Do.\n\n*rows : int\n    Rows.\nValueError\n    If X is empty."
    assert inspect.getdoc(document(function)) == expected


def test_an_entry_replaces_that_of_an_earlier_section():
    def function():
        """Do.

        {X}
        """

    function = make_docstring_decorator(SECTION, "X : dict\n    Columns.")(function)
    assert inspect.getdoc(function) == "Do.\n\nX : dict\n    Columns."


def test_braces_inside_a_line_are_left_alone():
    def function():
        r"""Do {X}.

        .. math:: \max_{g} {X}

        >>> {"X"}
        {'X'}
        """

    before = function.__doc__
    assert document(function).__doc__ == before


def test_a_class_is_filled_with_its_methods():
    def wrap(method):
        @functools.wraps(method)
        def call(self):
            return method(self)

        return call

    @document
    class Filled:
        """Fill.

        {rows}
        """

        @classmethod
        def build(cls):
            """Build.

            {rows}
            """

        @wrap
        def fit(self):
            """Fit.

            {rows}
            """

    rows = "*rows : int\n    Rows."
    assert inspect.getdoc(Filled) == f"Fill.\n\n{rows}"
    assert inspect.getdoc(Filled.build) == f"Build.\n\n{rows}"
    assert inspect.getdoc(vars(Filled)["build"]) == f"Build.\n\n{rows}"
    assert inspect.getdoc(Filled.fit) == f"Fit.\n\n{rows}"
    assert inspect.getdoc(inspect.unwrap(Filled.fit)) == f"Fit.\n\n{rows}"


def placeholders(thing):
    """Placeholders left in the docstrings of a function, or of a class and its members."""
    members = vars(thing).values() if inspect.isclass(thing) else ()
    for documented in (thing, *members):
        docstring = documented.__doc__
        if isinstance(docstring, str):
            yield from re.findall(r"^ *(\{[\w, ]+\}) *$", docstring, flags=re.MULTILINE)


def test_lines_with_unknown_names_are_left():
    @document
    def function():
        """Do.

        {X, Y}
        """

    assert list(placeholders(function)) == ["{X, Y}"]


def test_no_placeholder_of_the_package_is_left():
    names = [info.name for info in pkgutil.walk_packages(skfair.__path__, "skfair.")]
    left_out = ["__main__"] if find_spec("torch") else ["__main__", "skfair.torch."]
    names = [name for name in names if not any(part in name for part in left_out)]
    modules = [importlib.import_module(name) for name in names]
    left = {
        f"{module.__name__}.{name}": list(placeholders(thing))
        for module in modules
        for name, thing in vars(module).items()
        if getattr(thing, "__module__", None) == module.__name__
    }
    left = {name: lines for name, lines in left.items() if lines}
    assert left == {"skfair._utils.api.make_docstring_decorator": ["{y_true}"]}


@pytest.mark.slow
def test_nothing_is_done_without_docstrings():
    code = "from skfair.metrics import demographic_parity_difference as f; print(f.__doc__)"
    done = subprocess.run(
        [sys.executable, "-OO", "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "None"
