"""Docstring entries that several functions or classes share."""

import inspect
import subprocess
import sys

import pytest

from skfair.utils._docstrings import shared_docs

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

document = shared_docs(
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

    function = shared_docs(SECTION, "X : dict\n    Columns.")(function)
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


def test_unknown_names_are_refused():
    def function():
        """Do.

        {X, Y}
        """

    with pytest.raises(ValueError, match=r"docstring of .*function has \['Y'\]; the entries are"):
        document(function)


@pytest.mark.slow
def test_nothing_is_done_without_docstrings():
    code = "from skfair.metrics import demographic_parity_difference as f; print(f.__doc__)"
    done = subprocess.run(
        [sys.executable, "-OO", "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "None"
