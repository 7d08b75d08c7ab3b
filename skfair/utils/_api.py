"""What public signatures share: docstring entries, types, deprecated parameters."""

import functools
import re
from collections.abc import Callable
from textwrap import dedent, indent
from typing import Annotated, Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from skfair.utils._checks import join_names, warn

# Types that the signatures of public functions share.


MatrixLike = ArrayLike | sparse.sparray | sparse.spmatrix
"""What scikit-learn calls array-like or sparse matrix."""

Label = float | str | bool
"""A class."""

RandomState = Annotated[int | np.random.RandomState | None, "random_state"]
"""What `sklearn.utils.check_random_state` takes."""

Reference = Literal["groups", "overall", "above_overall"]
Comparison = Literal["between_groups", "to_overall", "above_overall"]
Agg = Literal["worst_case", "mean"]
"""What the gap of a constraint or metric compares each group with."""

Decorated = TypeVar("Decorated", bound=Callable)
"""A function whose decorator keeps its signature."""


class Record:
    """Base of dataclasses that the package makes, not its users: fields are passed by keyword."""

    def __init__(self, **values: Any):
        names = type(self).__dataclass_fields__  # type: ignore[attr-defined]
        if unknown := {*values} - {*names}:
            raise TypeError(f"A {type(self).__name__} has no {join_names(sorted(unknown))}.")
        # Of frozen records too. Fields that are not passed have the default of the class.
        vars(self).update({n: values[n] if n in values else getattr(self, n) for n in names})


# Docstring entries that several functions or classes share, written once.


_PLACEHOLDER = re.compile(r"^([ \t]*)\{(\w+(?:, \w+)*)\}[ \t]*$", re.MULTILINE)
"""A line ``{name}`` or ``{name, other}`` by itself, so that formulas and dicts are not meant."""


def make_docstring_decorator(*sections: str, **blocks: str) -> Callable[[Decorated], Decorated]:
    """Make a decorator that fills placeholders in docstrings with shared entries.

    `sections` are texts of numpydoc entries, as below Parameters or Raises. An entry replaces one
    of the same name in an earlier section. `blocks` are other texts by name, such as a reference.

    A line ``{name}`` or ``{name, other}`` by itself is replaced by the entries of these names, one
    below the other, at the indentation of the line. A further description may follow it::

        {y_true}
            This metric does not depend on it.

    The decorator takes functions, and classes with all their methods. A line with an unknown name
    is left as it is, and a test of the package finds it. Under ``python -OO`` there are no
    docstrings and the decorator does nothing.
    """
    texts = {name: entry for section in sections for name, entry in _split_entries(section)}
    texts |= {name: dedent(block).strip() for name, block in blocks.items()}

    def insert(placeholder):
        margin, names = placeholder.groups()
        if any(name not in texts for name in names.split(", ")):
            return placeholder.group()
        return indent("\n".join(texts[name] for name in names.split(", ")), margin)

    def fill(documented):
        members = vars(documented).values() if isinstance(documented, type) else ()
        for thing in (documented, *members):
            # A decorator such as classmethod has a docstring of its own.
            while thing is not None:
                if isinstance(thing.__doc__, str) and _PLACEHOLDER.search(thing.__doc__):
                    thing.__doc__ = _PLACEHOLDER.sub(insert, thing.__doc__)
                thing = getattr(thing, "__wrapped__", None)
        return documented

    return fill


def _split_entries(section):
    """Pairs of a name and its numpydoc entry."""
    for entry in re.split(r"\n(?=\S)", dedent(section).strip()):
        name = entry.splitlines()[0].partition(" : ")[0]
        yield name.strip("* "), entry


# Deprecated parameters; functions, classes and properties have `sklearn.utils.deprecated`.


def rename_parameter(old, new, *, removed_in):
    """Decorate a function or an estimator: accept the old name of a renamed parameter.

    The old name is passed on as the new one, with a FutureWarning at the user's line. Signatures,
    ``get_params`` and ``clone`` know the new name only. An estimator accepts the old one in its
    constructor and in ``set_params``, hence also in pipelines and in grids of a search.

    `removed_in` is the first version of skfair without the old name, as in "0.4". A class is
    changed in place and returned. Passing both names raises a TypeError.

    Examples
    --------
    >>> from skfair.utils._api import rename_parameter
    >>> @rename_parameter("tolerance", "tol", removed_in="0.4")
    ... def solve(tol=1e-3):
    ...     return tol
    >>> solve(tol=0.1)
    0.1
    """

    def wrap(function):
        @functools.wraps(function)
        def accept_both(*args, **kwargs):
            if old in kwargs:
                if new in kwargs:
                    raise TypeError(f"Pass {new!r} only: {old!r} is its deprecated name.")
                message = f"{old!r} is deprecated and will be removed in skfair {removed_in}; "
                warn(f"{message}use {new!r} instead.", FutureWarning)
                kwargs[new] = kwargs.pop(old)
            return function(*args, **kwargs)

        return accept_both

    def decorate(what):
        if not isinstance(what, type):
            return wrap(what)
        what.__init__ = wrap(what.__init__)
        what.set_params = wrap(what.set_params)
        return what

    return decorate
