"""Lazy predictions: methods that work row by row, for arrays and dataframes of Dask."""

from collections.abc import Callable
from functools import partial, wraps

from skfair.partitions._collections import is_lazy
from skfair.utils._types import Decorated


def row_by_row(empty: Callable) -> Callable[[Decorated], Decorated]:
    """Let a method that answers row by row give lazy answers about lazy samples.

    Of an array of Dask the decorated method returns an array of Dask, with the same chunks of rows;
    of a dataframe of Dask a series, or a dataframe where it gives several columns, with the same
    index. About all others it answers at once.

    Parameters
    ----------
    empty : callable
        estimator -> what the method answers about no rows: an array of 0 rows.

    Returns
    -------
    decorator : callable
        For methods of X and, by keyword, of other arrays with the same rows.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.partitions import row_by_row
    >>> class Halves:
    ...     @row_by_row(lambda self: np.empty(0))
    ...     def predict(self, X):
    ...         return X[:, 0] / 2
    >>> Halves().predict(np.ones((3, 2)))
    array([0.5, 0.5, 0.5])
    """

    def decorate(method):
        @wraps(method)
        def answer(self, X, **others):
            if not is_lazy(X):
                return method(self, X, **others)
            # Compute chunk by chunk: the method is called again, with chunks that are in memory.
            others = {name: rows for name, rows in others.items() if rows is not None}
            at_once = partial(_call_on_chunk, getattr(self, method.__name__), tuple(others))
            return _chunk_by_chunk(at_once, X, others, empty(self))

        return answer

    return decorate


def _call_on_chunk(method, names, X, *others):
    return method(X, **dict(zip(names, others, strict=True)))


def _chunk_by_chunk(function, X, others, empty):
    """A function of chunks of X and of other arrays with the same rows, as an array of Dask."""
    is_frame = hasattr(X, "map_partitions")
    for name, rows in others.items():
        if not is_lazy(rows) or hasattr(rows, "map_partitions") != is_frame:
            kinds = [f"{type(one).__module__}.{type(one).__name__}" for one in (X, rows)]
            raise TypeError(
                f"X is lazy, and {name} must be of its kind: both arrays of Dask with the same "
                "chunks of rows, or both from one dataframe of Dask, so that a chunk holds the "
                f"same samples; but X is a {kinds[0]} and {name} a {kinds[1]}."
            )
    if is_frame:
        framed = partial(_call_to_frame, function)
        return X.map_partitions(
            framed, *others.values(), meta=_as_frame(empty, None), align_dataframes=False
        )
    inner = range(1, X.ndim)
    X = X.rechunk(dict.fromkeys(inner, -1))  # a row is never cut
    # Arrays of fewer dimensions would be matched by their last ones.
    others = [rows.reshape(rows.shape + (1,) * (X.ndim - rows.ndim)) for rows in others.values()]
    # Answers have one axis, or a second one of a known length.
    shape = {"drop_axis": [*inner]}
    if empty.ndim > 1:
        shape = {"drop_axis": [*inner][1:], "chunks": (X.chunks[0], empty.shape[1:])}
    return X.map_blocks(function, *others, meta=empty, **shape)


def _call_to_frame(function, X, *others):
    return _as_frame(function(X, *others), X.index)


def _as_frame(answers, index):
    import pandas as pd

    return (pd.Series if answers.ndim == 1 else pd.DataFrame)(answers, index=index)
