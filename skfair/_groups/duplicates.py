"""Merge duplicate rows: each distinct row once, with the sums of its weights.

A metric that is a ratio of sums of weights is the same of these rows, of which there are few where
columns hold labels.
"""

from __future__ import annotations

from functools import partial, reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from skfair._groups.groups import (
    check_one_label_type,
    holds_string_objects,
    prefers_factorize,
    unique_inverse,
)
from skfair._partitions import partitions_of
from skfair._partitions.collections import check_alignment, is_partitioned
from skfair._partitions.partitions import BLOCK_SIZE, blocks, make_partitions
from skfair._utils.tables import is_pandas

if TYPE_CHECKING:
    from skfair._partitions.collections import Block
    from skfair._utils.tables import Table, TableLike


def merge_duplicate_rows(
    sensitive_features: TableLike, sample_weight: TableLike | None, **columns: Any
) -> tuple[Any, TableLike | None, dict[str, Any]]:
    """Distinct rows of groups and columns, with the total weight of each: (groups, weights, dict).

    Partitioned data are merged on each partition and then gathered. Arrays in memory are merged in
    blocks, by threads if a `joblib.parallel_config` says so, with the same bits for any number of
    threads. The input is returned as it is if it has few rows, or hardly any duplicates, or
    something that later checks refuse.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from distributed import Client
    >>> from skfair._groups.duplicates import merge_duplicate_rows
    >>> decided = da.from_array(np.array([1, 0, 1, 1]), chunks=2)
    >>> sex = da.from_array(np.array(["f", "f", "f", "m"]), chunks=2)
    >>> with Client(processes=False, dashboard_address=":0"):
    ...     groups, weights, columns = merge_duplicate_rows(sex, None, decided=decided)
    >>> groups.to_list(), weights, columns["decided"]
    (['f', 'f', 'm'], array([1., 2., 1.]), array([0, 1, 1]))
    """
    merged = merge_duplicate_rows_with_sizes(sensitive_features, sample_weight, **columns)
    return *merged[:2], {name: merged[2][name] for name in columns}


def merge_duplicate_rows_with_sizes(
    sensitive_features: TableLike, sample_weight: TableLike | None, **columns: Any
) -> tuple[Any, TableLike | None, dict[str, Any]]:
    """As `merge_duplicate_rows`, with the sums that effective sample sizes are computed from.

    Where rows were merged, the columns include ``n_samples``, the number of samples of positive
    weight with the values of a row, and ``squared_weight``, the sum of their squared weights.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from distributed import Client
    >>> from skfair._groups.duplicates import merge_duplicate_rows_with_sizes
    >>> decided = da.from_array(np.array([1, 1, 1, 0]), chunks=2)
    >>> sex = da.from_array(np.array(["f", "f", "f", "m"]), chunks=2)
    >>> weights = da.from_array(np.array([1.0, 3.0, 0.0, 2.0]), chunks=2)
    >>> with Client(processes=False, dashboard_address=":0"):
    ...     _, totals, columns = merge_duplicate_rows_with_sizes(sex, weights, decided=decided)
    >>> totals, columns["n_samples"], columns["squared_weight"]
    (array([2., 4.]), array([1., 2.]), array([ 4., 10.]))
    """
    try:
        groups, sums, columns = _merge_rows(sensitive_features, sample_weight, columns)
    except _NotMergeableError:
        return sensitive_features, sample_weight, columns
    n_samples, totals, squares = sums.T
    return groups, totals, columns | {"n_samples": n_samples, "squared_weight": squares}


def _merge_rows(
    sensitive_features: TableLike, sample_weight: TableLike | None, columns: dict[str, TableLike]
) -> tuple[Table, np.ndarray, dict[str, Table]]:
    """Groups of the distinct rows, their sums of `_weight_powers`, and the columns there."""
    if is_partitioned(sensitive_features, sample_weight, *columns.values()):
        return _merge_partitions(sensitive_features, sample_weight, columns)
    rows, sums = _merge_in_memory(sensitive_features, sample_weight, columns)
    columns = {name: _take_rows(column, rows) for name, column in columns.items()}
    return _take_rows(sensitive_features, rows), sums, columns


def _weight_powers(weights: np.ndarray) -> np.ndarray:
    """What is added up of each sample: presence, weight and squared weight, (n_samples, 3)."""
    with np.errstate(over="ignore"):
        return np.column_stack((weights > 0.0, weights, weights**2))


class _NotMergeableError(Exception):
    """Rows that must stay as they are: too many distinct ones, or values that checks refuse."""


def _merge_in_memory(
    sensitive_features: TableLike, sample_weight: TableLike | None, columns: dict[str, TableLike]
) -> tuple[np.ndarray, np.ndarray]:
    """Position of one row of each set of duplicates, and the sums over the set."""
    arrays = [_plain_array(column) for column in columns.values()]
    arrays += _attribute_arrays(sensitive_features)
    weights = None if sample_weight is None else _plain_array(sample_weight)
    if weights is not None and (prefers_factorize(weights) or weights.dtype.kind not in "biuf"):
        raise _NotMergeableError
    # Few rows are not worth merging, and inputs of different lengths are refused by the checks
    # later.
    lengths = {len(array) for array in (*arrays, arrays[0] if weights is None else weights)}
    if len(lengths) > 1 or max(lengths) <= BLOCK_SIZE:
        raise _NotMergeableError
    check_alignment(**columns, sensitive_features=sensitive_features, sample_weight=sample_weight)
    # Merge within blocks, then the distinct rows of all blocks.
    row_blocks = make_partitions(blocks(len(arrays[0])))
    merged_blocks = row_blocks.gather(partial(_merge_duplicates_in_block, arrays, weights))
    rows, sums = map(np.concatenate, zip(*merged_blocks, strict=True))
    distinct, sums = _merge_duplicates([_take_rows(array, rows) for array in arrays], sums)
    # Refuse totals or squares that overflow, and squares that underflow.
    with np.errstate(over="ignore"):
        if not np.isfinite(sums.sum()) or ((sums[:, 1] > 0.0) & (sums[:, 2] == 0.0)).any():
            raise _NotMergeableError
    return rows[distinct], sums


def _attribute_arrays(sensitive_features: Table) -> list[Table]:
    """One array for each sensitive attribute."""
    if getattr(sensitive_features, "ndim", 1) != 2:
        columns = [sensitive_features]
    elif hasattr(sensitive_features, "iloc"):
        columns = [sensitive_features.iloc[:, j] for j in range(sensitive_features.shape[1])]
    else:
        columns = list(sensitive_features.T)
    return [_plain_array(column) for column in columns]


def _plain_array(column: Table) -> np.ndarray | pd.api.extensions.ExtensionArray:
    """A column as an array of numpy, or of pandas where that has codes."""
    if getattr(column, "ndim", 1) != 1:  # such as a table of one column
        raise _NotMergeableError
    is_table_column = hasattr(column, "iloc")
    if prefers_factorize(column) or (
        is_table_column and column.dtype == object and holds_string_objects(column)
    ):
        return getattr(column, "array", column)
    array = column.to_numpy() if is_pandas(column) else column
    is_plain = type(array) in (np.ndarray, np.memmap) and array.ndim == 1
    if not is_plain or array.dtype.kind not in "biufUS":
        raise _NotMergeableError
    return array


def _merge_duplicates_in_block(
    arrays: list[Table], weights: np.ndarray | None, block: slice
) -> tuple[np.ndarray, np.ndarray]:
    """As `_merge_duplicates`, of a block of rows."""
    summands = None if weights is None else _weight_powers(np.asarray(weights[block], dtype=float))
    rows, sums = _merge_duplicates([array[block] for array in arrays], summands)
    if len(rows) > BLOCK_SIZE / 8:  # hardly any duplicates: merging does not pay
        raise _NotMergeableError
    return block.start + rows, sums


def _merge_duplicates(
    arrays: list[Table], summands: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Position of one row of each set of duplicates, and sums over the set; None: all weigh 1."""
    if not len(arrays[0]) or (summands is not None and not (summands >= 0.0).all()):
        raise _NotMergeableError
    # One code per distinct row, from the codes of the columns.
    codes, n_codes = reduce(_combine_codes, map(_encode_column, arrays))
    if summands is None:
        sums = np.repeat(np.bincount(codes, minlength=n_codes)[:, np.newaxis], 3, axis=1)
    else:
        sums = np.column_stack([np.bincount(codes, column, n_codes) for column in summands.T])
    # The last row with each code represents its duplicates.
    rows = np.full(n_codes, -1)
    rows[codes] = np.arange(len(codes))
    present = np.flatnonzero(rows >= 0)
    return rows[present], sums[present].astype(float)


def _encode_column(array: Table) -> tuple[np.ndarray, int]:
    """Codes from 0 on, equal where entries are equal, and an upper bound of their number."""
    if prefers_factorize(array):
        codes, values = array.factorize()
        if codes.min() < 0:
            raise _NotMergeableError
        return codes, len(values)
    if array.dtype.kind == "b":
        return array.astype(np.intp), 2
    # Integers of a narrow range are codes already, up to their minimum.
    if array.dtype.kind in "iu":
        n_numbers = int(array.max()) - int(array.min()) + 1
        # Integers in a narrow range serve as codes, once their minimum is subtracted.
        if n_numbers <= min(256, len(array)):
            return np.subtract(array, array.min(), dtype=np.intp, casting="unsafe"), n_numbers
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise _NotMergeableError
    values, codes = unique_inverse(array)
    return codes, len(values)


def _combine_codes(
    first: tuple[np.ndarray, int], second: tuple[np.ndarray, int]
) -> tuple[np.ndarray, int]:
    """Codes of pairs of codes, with an upper bound of their number; compact if that is large."""
    (codes, n_codes) = first
    (others, n_others) = second
    codes *= n_others
    codes += others
    if n_codes * n_others <= len(codes):
        return codes, n_codes * n_others
    values, codes = unique_inverse(codes)
    return codes, len(values)


def _take_rows(table: Table, rows: np.ndarray | slice) -> Table:
    return table.iloc[rows] if hasattr(table, "iloc") else table[rows]


def _merge_partitions(
    sensitive_features: TableLike, sample_weight: TableLike | None, columns: dict[str, Any]
) -> tuple[pd.DataFrame, np.ndarray, dict[str, Any]]:
    """Distinct rows of partitioned data, and their sums, gathered in memory."""
    partitions = partitions_of(
        sensitive_features=sensitive_features, sample_weight=sample_weight, **columns
    )
    tables = partitions.gather(partial(_merge_partition, tuple(columns)))
    table = _merge_tables([table for table in tables if len(table)] or tables[:1])
    attributes = [name for name in table if name[0] == "attribute"]
    groups = table[attributes].set_axis([name for _, name in attributes], axis=1)
    if groups.shape[1] == 1:
        groups = groups.iloc[:, 0]
    merged = {name: table["column", name].to_numpy() for name in columns}
    return groups, table[_SUM_COLUMNS].to_numpy(), merged


_SUM_COLUMNS = [("sum", 0), ("sum", 1), ("sum", 2)]
"""Columns of a table that hold the sums of `_weight_powers`."""


def _merge_partition(names: tuple[str, ...], partition: Block) -> pd.DataFrame:
    """Table of the distinct rows of a partition, with their sums."""
    groups = partition["sensitive_features"]
    weights = np.asarray(partition.get("sample_weight", np.ones(len(groups))), dtype=float)
    if not (weights >= 0.0).all():
        raise ValueError(
            f"Partition {partition.partition_index}: sample weights must be non-negative numbers, "
            f"but one of them is {weights[~(weights >= 0.0)][0]}."
        )
    try:
        arrays = [_plain_array(partition[name]) for name in names] + _attribute_arrays(groups)
        rows, sums = _merge_duplicates(arrays, _weight_powers(weights))
    except _NotMergeableError:  # leave it to pandas to find the duplicates
        return _merge_tables(
            [_tabulate_partition(names, partition, slice(None), _weight_powers(weights))]
        )
    return _tabulate_partition(names, partition, rows, sums)


def _tabulate_partition(
    names: tuple[str, ...], partition: Block, rows: np.ndarray | slice, sums: np.ndarray
) -> pd.DataFrame:
    """DataFrame of rows of a partition, with their sums."""
    table: dict[tuple[str, int | str], np.ndarray] = {
        ("column", name): np.asarray(_take_rows(partition[name], rows)) for name in names
    }
    groups = partition["sensitive_features"]
    groups = pd.DataFrame(groups if hasattr(groups, "iloc") else np.asarray(groups)).iloc[rows]
    table.update({("attribute", name): groups[name].to_numpy() for name in groups})
    table.update(zip(_SUM_COLUMNS, sums.T, strict=True))
    return pd.DataFrame(table)


def _merge_tables(tables: list[pd.DataFrame]) -> pd.DataFrame:
    """One table of the distinct rows of all tables; missing values stay, to be refused later."""
    keys = [key for key in tables[0].columns if key not in _SUM_COLUMNS]
    attributes = [key for key in keys if key[0] == "attribute"]
    # pandas merges 1 and True, which are different labels.
    for number, attribute in enumerate(attributes):
        labels = [label for table in tables for label in _labels_of_each_type(table[attribute])]
        check_one_label_type(labels, f"attribute {number} of sensitive_features")
    table = pd.concat(tables)
    return table.groupby(keys, dropna=False, observed=True)[_SUM_COLUMNS].sum().reset_index()


def _labels_of_each_type(column: pd.Series) -> list[Any]:
    """Labels of every type that a column holds: all of an object column, else the first."""
    return column.tolist() if column.dtype == object else column.dropna()[:1].tolist()
