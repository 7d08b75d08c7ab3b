"""What public signatures share: docstring entries and types."""

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from datetime import date
from re import Match
from textwrap import dedent, indent
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from torch import Tensor
else:  # importing these packages takes long, and PyTorch may be missing
    Axes = Annotated[object, "matplotlib.axes.Axes"]
    Tensor = Annotated[object, "torch.Tensor"]

# Types that the signatures of public functions share.


MatrixLike: TypeAlias = ArrayLike | sparse.sparray | sparse.spmatrix
"""What scikit-learn calls array-like or sparse matrix."""

Label = float | str | bool
"""A class."""

GroupName: TypeAlias = Hashable
"""The label of a group, or the tuple of its labels if there are several attributes."""

AttributeName: TypeAlias = Hashable
"""The name of a sensitive attribute, or its position where columns have no names."""

Time: TypeAlias = float | str | date | np.datetime64
"""A number, a date or a time, or its text; `datetime.datetime` and `pandas.Timestamp` are dates."""

RandomState = Annotated[int | np.random.RandomState | None, "random_state"]
"""What `sklearn.utils.check_random_state` takes."""


class Splitter(Protocol):
    """What scikit-learn calls a splitter of cross-validation."""

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Any]: ...


CrossValidation: TypeAlias = int | str | Splitter | Iterable[tuple[np.ndarray, np.ndarray]] | None
"""What ``cv`` is in a call; None is the default of the estimator."""

Intervals: TypeAlias = ArrayLike | Mapping[GroupName, ArrayLike]
"""Percentiles (alpha, beta), or several such pairs; a mapping has them by group."""

Reference = Literal["groups", "overall", "above_overall"]
Direction = Literal["below", "above"]
ComparisonMethod = Literal["between_groups", "to_overall", "above_overall"]
Agg = Literal["worst_case", "mean"]
"""What the gap of a constraint or metric compares each group with."""

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
"""A function whose decorator keeps its signature."""

Numbers = TypeVar("Numbers", float, np.ndarray)
"""A number or an array, where a function returns what it takes."""


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

    def insert(placeholder: Match[str]) -> str:
        margin, names = placeholder.groups()
        if any(name not in texts for name in names.split(", ")):
            return placeholder.group()
        return indent("\n".join(texts[name] for name in names.split(", ")), margin)

    def fill(documented: Decorated) -> Decorated:
        members = vars(documented).values() if isinstance(documented, type) else ()
        for thing in (documented, *members):
            # A decorator such as classmethod has a docstring of its own.
            while thing is not None:
                if isinstance(thing.__doc__, str) and _PLACEHOLDER.search(thing.__doc__):
                    thing.__doc__ = _PLACEHOLDER.sub(insert, thing.__doc__)
                thing = getattr(thing, "__wrapped__", None)
        return documented

    return fill


def _split_entries(section: str) -> Iterator[tuple[str, str]]:
    """Pairs of a name and its numpydoc entry."""
    for entry in re.split(r"\n(?=\S)", dedent(section).strip()):
        name = entry.splitlines()[0].partition(" : ")[0]
        yield name.strip("* "), entry
