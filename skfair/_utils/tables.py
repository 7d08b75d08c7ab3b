"""Tables of other packages as tables of pandas."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias, TypeGuard

import numpy as np
import pandas as pd
from scipy import sparse

from skfair._utils.api import MatrixLike


class ArrowStream(Protocol):
    """A table or column that can be read by Arrow, as of pandas, polars, pyarrow or DuckDB."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


class InterchangeTable(Protocol):
    """A table that can be read by the protocol for data frames, as of pandas, polars or Modin."""

    def __dataframe__(self, nan_as_null: bool = False, allow_copy: bool = True) -> object: ...


class DaskCollection(Protocol):
    """An array or data frame of Dask."""

    def __dask_graph__(self) -> object: ...


class RowsInBlocks(Protocol):
    """Rows of files, or a column of them, that are read block by block."""

    @property
    def n_blocks(self) -> int: ...

    def read(self, number: int) -> Any: ...


TableLike: TypeAlias = (
    MatrixLike
    | pd.DataFrame
    | pd.Series
    | ArrowStream
    | InterchangeTable
    | DaskCollection
    | RowsInBlocks
)
"""An array, sparse matrix, list or data frame, or a column of one, of any library."""

Table: TypeAlias = (
    np.ndarray
    | sparse.sparray
    | sparse.spmatrix
    | pd.DataFrame
    | pd.Series
    | pd.api.extensions.ExtensionArray
)
"""What computations take: a `TableLike` once it is in memory as NumPy, SciPy or pandas has it."""


def is_sparse(table: object) -> TypeGuard[sparse.csr_array]:
    """Whether a table is a sparse matrix or array of SciPy."""
    return sparse.issparse(table)


def is_pandas(table: object) -> TypeGuard[pd.DataFrame]:
    """Whether a table or column is of pandas, or of a library with its interface."""
    return hasattr(table, "iloc")


def to_pandas_table(table: TableLike) -> Any:
    """A table of polars, pyarrow or the like as a DataFrame; anything else as it is.

    A table is what has named columns by a protocol of tables: a method ``get_columns`` (polars),
    ``__dataframe__``, or ``__arrow_c_stream__`` without values of its own.
    """
    if hasattr(table, "iloc") or hasattr(table, "__dask_graph__"):
        return table
    if hasattr(table, "struct") and str(getattr(table, "dtype", "")).startswith("Struct"):
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


def _read_stream(table: object) -> pd.DataFrame:
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
