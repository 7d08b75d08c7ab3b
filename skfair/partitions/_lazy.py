"""Lazy predictions: methods that work row by row, for arrays and dataframes of Dask."""

from collections.abc import Callable
from functools import partial, wraps

from skfair.partitions._alignment import (
    arrange_columns,
    check_partition_alignment,
    expected_columns,
)
from skfair.partitions._collections import is_lazy, partition_number
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
            return _chunk_by_chunk(getattr(self, method.__name__), X, others, empty(self))

        return answer

    return decorate


def _call_on_chunk(method, expected, empty, number, *chunks):
    """What a method answers about a chunk of each collection, after they are checked."""
    arranged = {
        name: arrange_columns(number, name, chunk, columns)
        for (name, columns), chunk in zip(expected.items(), chunks, strict=True)
    }
    check_partition_alignment(number, arranged)
    X = arranged.pop("X")
    return method(X, **arranged) if X.shape[0] else empty


def _chunk_by_chunk(method, X, others, empty):
    """A method of chunks of X and of other collections with the same rows, as one of Dask."""
    is_frame = hasattr(X, "map_partitions")
    for name, rows in others.items():
        if not is_lazy(rows) or hasattr(rows, "map_partitions") != is_frame:
            kinds = [f"{type(one).__module__}.{type(one).__name__}" for one in (X, rows)]
            raise TypeError(
                f"X is lazy, and {name} must be of its kind: both arrays of Dask with the same "
                "chunks of rows, or both from one dataframe of Dask, so that a chunk holds the "
                f"same samples; but X is a {kinds[0]} and {name} a {kinds[1]}."
            )
    columns = {"X": X, **others}
    expected = {name: expected_columns(rows, name) for name, rows in columns.items()}
    answer = partial(_call_on_chunk, method, expected, empty)
    if is_frame:
        return X.map_partitions(
            partial(_answer_as_frame, answer),
            *others.values(),
            meta=_as_frame(empty, None),
            align_dataframes=False,
        )
    inner = range(1, X.ndim)
    X = X.rechunk(dict.fromkeys(inner, -1))  # a row is never cut
    # Arrays of fewer dimensions would be matched by their last ones.
    wide = [rows.reshape(rows.shape + (1,) * (X.ndim - rows.ndim)) for rows in others.values()]
    # Answers have one axis, or a second one of a known length.
    shape = {"drop_axis": [*inner]}
    if empty.ndim > 1:
        shape = {"drop_axis": [*inner][1:], "chunks": (X.chunks[0], empty.shape[1:])}
    n_axes = [rows.ndim for rows in columns.values()]
    return X.map_blocks(partial(_answer_as_array, answer, n_axes), *wide, meta=empty, **shape)


def _answer_as_array(answer, n_axes, *chunks, block_id=None):
    number = "?" if block_id is None else block_id[0]
    # Undo the reshape to the dimensions of X.
    chunks = [
        chunk if chunk.ndim == n_axis else chunk.reshape(chunk.shape[:n_axis])
        for chunk, n_axis in zip(chunks, n_axes, strict=True)
    ]
    return answer(number, *chunks)


def _answer_as_frame(answer, *chunks, partition_info=None):
    return _as_frame(answer(partition_number(partition_info), *chunks), chunks[0].index)


def _as_frame(answers, index):
    import pandas as pd

    return (pd.Series if answers.ndim == 1 else pd.DataFrame)(answers, index=index)
