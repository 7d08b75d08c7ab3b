"""Tables of other packages as tables of pandas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

if TYPE_CHECKING:
    import numpy as np


TableLike = Any
"""An array, sparse matrix, list or data frame, or a column of one, of any library."""


def to_pandas_table(table: TableLike) -> Any:
    """A table of polars, pyarrow or the like as a DataFrame; anything else as it is.

    A table is what has named columns by a protocol of tables: a method ``get_columns`` (polars),
    ``__dataframe__``, or ``__arrow_c_stream__`` without values of its own.
    """
    if hasattr(table, "iloc") or hasattr(table, "__dask_graph__"):
        return table
    if hasattr(table, "struct") and str(table.dtype).startswith("Struct"):
        table = table.struct.unnest()  # a column of polars whose values are rows of a table
    if hasattr(table, "get_columns"):  # polars, which needs no pyarrow for it
        return pd.DataFrame({one.name: one.to_numpy() for one in table.get_columns()})
    if hasattr(table, "column_names") and hasattr(table, "to_pandas"):  # pyarrow
        return table.to_pandas()
    if hasattr(table, "__dataframe__"):
        return pd.api.interchange.from_dataframe(table)
    is_column = hasattr(table, "__array__") or hasattr(table, "to_numpy")
    if hasattr(table, "__arrow_c_stream__") and not is_column:
        return _read_stream(table)
    return table


def _read_stream(table: np.ndarray) -> Any:
    """A DataFrame of an object that only exports a stream of Arrow."""
    if hasattr(pd.DataFrame, "from_arrow"):  # pandas 3
        return pd.DataFrame.from_arrow(table)
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError(
            f"Reading a {type(table).__name__}, which exports a stream of Arrow, needs pandas 3 or "
            "pyarrow; install one of them, as in pip install pyarrow, or pass a DataFrame."
        ) from error
    return pyarrow.table(table).to_pandas()
