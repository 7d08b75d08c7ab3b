"""Checks of columns side by side: the same rows, in the same order, with the expected names."""

import numpy as np
from scipy import sparse

from skfair.utils._messages import join_names


def check_alignment(**named):
    """Refuse inputs whose pandas indexes differ: their rows would be other samples.

    Inputs without a pandas index count as being in order. Partitions of Dask are compared one by
    one when they are read. A name in place of a column is refused.
    """
    for name, value in named.items():
        if isinstance(value, str):
            raise ValueError(
                f"{name} must hold one value per sample, but it is the string {value!r}. If this "
                f"is a column of X, pass the column, as in {name}=X[{value!r}]. Leave it out of X, "
                f"as in X.drop(columns={value!r}), unless decisions may depend on it."
            )
    mismatch = _find_misaligned(named)
    if mismatch is not None:
        (reference, name), statement = mismatch
        raise ValueError(
            f"{statement} Align them, as in {name}.loc[{reference}.index], or pass "
            f"{name}.to_numpy() if the rows already are in the same order."
        )


def check_partition_alignment(number, named):
    """Refuse columns of a partition whose pandas indexes differ."""
    mismatch = _find_misaligned(named)
    if mismatch is not None:
        (reference, name), statement = mismatch
        raise ValueError(
            f"Partition {number}: {statement} Take both from one dataframe, or pass "
            f"{name}.to_dask_array() and {reference}.to_dask_array() if the rows already are in "
            "the same order."
        )


def _find_misaligned(named):
    """Names of two inputs whose pandas indexes differ, and a sentence about them; or None."""
    indexed = {
        name: value.index
        for name, value in named.items()
        if hasattr(value, "iloc") and not hasattr(value, "__dask_graph__")
    }
    if len(indexed) < 2:
        return None
    (reference, index), *others = indexed.items()
    for name, other in others:
        if not index.equals(other):
            return (reference, name), (
                f"{reference} and {name} must have the same pandas index, but the index of "
                f"{reference} starts {index[:3].tolist()} (length {len(index)}) and that of {name} "
                f"{other[:3].tolist()} (length {len(other)})."
            )
    return None


def expected_columns(rows, name):
    """What each partition of a collection must have: names of columns, or the shape of a row."""
    if hasattr(rows, "map_partitions") and rows.ndim == 2:
        return list(rows.columns)
    shape = tuple(rows.shape[1:])
    if np.isnan(shape).any():
        raise ValueError(
            f"{name} must have a known number of columns, but its shape is {rows.shape}. Call "
            f"{name}.compute_chunk_sizes() first."
        )
    return shape


def arrange_columns(number, name, chunk, expected):
    """Rows of a partition with columns in the expected order; raises if they are others.

    A dataframe of Dask does not check that each partition has the columns that it declares.
    """
    if isinstance(expected, list):
        names = list(getattr(chunk, "columns", ()))
        if names == expected:
            return chunk
        if sorted(map(repr, names)) == sorted(map(repr, expected)) and chunk.columns.is_unique:
            return chunk[expected]
        raise ValueError(
            f"Partition {number}: the columns of {name} must be "
            f"{join_names(map(repr, expected), 20)}, as the dataframe declares, but "
            f"{_describe_difference(names, expected)}. Correct the function or the file that makes "
            "this partition."
        )
    if np.shape(chunk)[1:] != expected:
        raise ValueError(
            f"Partition {number}: each row of {name} must have shape {expected}, as the collection "
            f"declares, but rows of this partition have shape {np.shape(chunk)[1:]}. Correct the "
            "function or the file that makes this partition."
        )
    return chunk


def check_dense(number, name, chunk):
    """Refuse sparse chunks: sums over partitions are those of dense columns."""
    if sparse.issparse(chunk):
        raise TypeError(
            f"Partition {number}: {name} must be dense, but it is a {type(chunk).__name__}. "
            f"Convert it, as in {name}.map_blocks(lambda chunk: chunk.toarray(), dtype=float), or "
            "fit a subsample in memory."
        )


def _describe_difference(names, expected):
    """Which columns are missing, and which are not expected."""
    missing = [repr(name) for name in expected if name not in names]
    added = [repr(name) for name in names if name not in expected]
    facts = [f"{join_names(missing, 20)} is missing"] if missing else []
    facts += [f"it also has {join_names(added, 20)}"] if added else []
    return " and ".join(facts) or f"it has {join_names(map(repr, names), 20)}"
