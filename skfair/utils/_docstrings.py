"""Docstring entries that several functions or classes share, written once."""

import re
from collections.abc import Callable
from textwrap import dedent, indent

from skfair.utils._types import Decorated

_PLACEHOLDER = re.compile(r"^([ \t]*)\{(\w+(?:, \w+)*)\}[ \t]*$", re.MULTILINE)
"""A line ``{name}`` or ``{name, other}`` by itself, so that formulas and dicts are not meant."""


def shared_docs(*sections: str, **blocks: str) -> Callable[[Decorated], Decorated]:
    """Make a decorator that fills placeholders in docstrings with shared entries.

    `sections` are texts of numpydoc entries, as below Parameters or Raises. An entry replaces one
    of the same name in an earlier section. `blocks` are other texts by name, such as a reference.

    A line ``{name}`` or ``{name, other}`` by itself is replaced by the entries of these names, one
    below the other, at the indentation of the line. A further description may follow it::

        {y_true}
            This metric does not depend on it.

    The decorator takes functions, methods and classes, and raises a ValueError for an unknown name.
    Under ``python -OO`` there are no docstrings and it does nothing.
    """
    texts = {name: entry for section in sections for name, entry in _split_entries(section)}
    texts |= {name: dedent(block).strip() for name, block in blocks.items()}

    def fill(documented):
        def insert(placeholder):
            margin, names = placeholder.groups()
            unknown = [name for name in names.split(", ") if name not in texts]
            if unknown:
                raise ValueError(
                    f"Every placeholder must name a shared entry, but the docstring of "
                    f"{documented.__qualname__} has {unknown}; the entries are {sorted(texts)}."
                )
            return indent("\n".join(texts[name] for name in names.split(", ")), margin)

        if documented.__doc__ is not None:
            documented.__doc__ = _PLACEHOLDER.sub(insert, documented.__doc__)
        return documented

    return fill


def _split_entries(section):
    """Pairs of a name and its numpydoc entry."""
    for entry in re.split(r"\n(?=\S)", dedent(section).strip()):
        name = entry.splitlines()[0].partition(" : ")[0]
        yield name.strip("* "), entry
