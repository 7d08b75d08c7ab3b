"""From collections of Dask, or of files, to partitions, and predictions for them.

Predictions for collections of Dask are lazy. Those for files are arrays in memory.
"""

from __future__ import annotations

import zlib
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, cast, overload

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from skfair._partitions.blocks import Blocks
from skfair._partitions.dask import DaskWorkers, acquire_client, check_worker_imports, gather
from skfair._partitions.partitions import LocalThreads, Partitions, Reader, blocks
from skfair._utils.checks import check_in_memory, join_names, warn
from skfair._utils.tables import is_pandas

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeGuard

    from dask.array import Array
    from dask.dataframe import DataFrame, Series
    from dask.delayed import Delayed

    from skfair._partitions.partitions import Function
    from skfair._utils.api import Decorated
    from skfair._utils.tables import Table, TableLike


# Checks of columns side by side: the same rows, in the same order, with the expected names.


def check_alignment(**named: Any) -> None:
    """Raise for inputs whose pandas indexes differ: their rows would be other samples.

    Inputs without a pandas index count as being in order, and so do those with the default one
    (0, 1, ...), unless another index has the same labels in another order. Partitions of Dask are
    compared one by one when they are read. A name in place of a column is refused.
    """
    check_in_memory(**named)
    for name, value in named.items():
        if isinstance(value, str):
            raise ValueError(
                f"{name} must hold one value per sample, but it is the string {value!r}. If this "
                f"is a column of X, pass the column, as in {name}=X[{value!r}]. Leave it out of X, "
                f"as in X.drop(columns={value!r}), unless decisions may depend on it."
            )
    mismatch = _find_misaligned(_leave_out_default_indices(named))
    if mismatch is not None:
        (reference, name), statement = mismatch
        raise ValueError(
            f"{statement} Align them, as in {name}.loc[{reference}.index], or pass "
            f"{name}.to_numpy() if the rows already are in the same order."
        )


def check_partition_alignment(number: int, named: dict[str, TableLike]) -> None:
    """Raise for columns of a partition whose pandas indexes differ."""
    mismatch = _find_misaligned(named)
    if mismatch is not None:
        (reference, name), statement = mismatch
        raise ValueError(
            f"Partition {number}: {statement} Take both from one dataframe, or pass "
            f"{name}.to_dask_array() and {reference}.to_dask_array() if the rows already are in "
            "the same order."
        )


def _find_misaligned(named: dict[str, Any]) -> tuple[tuple[str, str], str] | None:
    """Names of two inputs whose pandas indexes differ, and a sentence about them; or None."""
    indexed = _find_indices(named)
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


def _find_indices(named: dict[str, Any]) -> dict[str, pd.Index]:
    """The pandas indexes of inputs in memory, by name."""
    return {
        name: value.index
        for name, value in named.items()
        if hasattr(value, "iloc") and not hasattr(value, "__dask_graph__")
    }


def _leave_out_default_indices(named: dict[str, Any]) -> dict[str, Any]:
    """Inputs without those whose default index only says that they are in order."""
    indexed = _find_indices(named)
    other = next((one for one in indexed.values() if not is_default(one)), None)
    if other is None or _is_reordered(other):
        return named
    left_out = {name for name, one in indexed.items() if is_default(one) and len(one) == len(other)}
    return {name: value for name, value in named.items() if name not in left_out}


def _is_reordered(index: pd.Index) -> bool:
    """Whether an index has the labels of the default one in another order."""
    return (
        index.nlevels == 1
        and pd.api.types.is_integer_dtype(index)
        and is_default(index.sort_values())
    )


def is_default(index: pd.Index) -> bool:
    """Whether an index is the default one of pandas, 0, 1, and so on."""
    return index.nlevels == 1 and index.equals(pd.RangeIndex(len(index)))


def expected_layout(rows: Array | DataFrame | Series, name: str) -> tuple[int, ...] | list[str]:
    """What each partition of a collection must have: names of columns, or the shape of a row."""
    if has_frame_partitions(rows) and rows.ndim == 2:
        return list(rows.columns)
    shape = tuple(rows.shape[1:])
    if np.isnan(shape).any():
        raise ValueError(
            f"{name} must have a known number of columns, but its shape is {rows.shape}. Call "
            f"{name}.compute_chunk_sizes() first."
        )
    return shape


def arrange_columns(
    number: int | str, name: str, chunk: Table, expected: tuple[int, ...] | list[str]
) -> np.ndarray | pd.DataFrame | pd.Series:
    """Rows of a partition with columns in the expected order; raises if they are others.

    A dataframe of Dask does not check that each partition has the columns that it declares.
    """
    if isinstance(expected, list):
        names = list(getattr(chunk, "columns", ()))
        if names == expected:
            return chunk
        if sorted(map(repr, names)) == sorted(map(repr, expected)) and pd.Index(names).is_unique:
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


def check_dense(number: int, name: str, chunk: TableLike) -> None:
    """Raise for sparse chunks: sums over partitions are those of dense columns."""
    if sparse.issparse(chunk):
        raise TypeError(
            f"Partition {number}: {name} must be dense, but it is a {type(chunk).__name__}. "
            f"Convert it, as in {name}.map_blocks(lambda chunk: chunk.toarray(), dtype=float), or "
            "fit a subsample in memory."
        )


def _describe_difference(names: list[str], expected: list[str]) -> str:
    """Which columns are missing, and which are not expected."""
    missing = [repr(name) for name in expected if name not in names]
    added = [repr(name) for name in names if name not in expected]
    facts = [f"{join_names(missing, 20)} is missing"] if missing else []
    facts += [f"it also has {join_names(added, 20)}"] if added else []
    return " and ".join(facts) or f"it has {join_names(map(repr, names), 20)}"


# From collections of Dask, or of files, to partitions with the rows of all of them.


def is_lazy(rows: object) -> TypeGuard[Array | DataFrame | Series]:
    """Whether something is an array, a series or a dataframe of Dask."""
    return hasattr(rows, "__dask_graph__")


def has_frame_partitions(rows: object) -> TypeGuard[DataFrame]:
    """Whether something is a series or a dataframe of Dask, and no array."""
    return hasattr(rows, "map_partitions")


def is_partitioned(*data: TableLike | None) -> bool:
    """Whether any of the data is an array or dataframe of Dask, or `Blocks`."""
    return any(is_lazy(rows) or isinstance(rows, Blocks) for rows in data)


def feature_attributes(X: Table | Array | DataFrame | Blocks) -> dict[str, np.ndarray | int]:
    """``n_features_in_`` and ``feature_names_in_``, as scikit-learn would set them."""
    if is_partitioned(X):
        names = getattr(X, "columns", None)
        X = np.empty((0, X.shape[1])) if names is None else pd.DataFrame(columns=list(names))
    probe = BaseEstimator()
    validate_data(probe, X, skip_check_array=True)
    return vars(probe)


@overload
def load_rows(rows: None) -> None: ...
@overload
def load_rows(rows: TableLike) -> Table: ...
def load_rows(rows: TableLike | None) -> Table | None:
    """Data of Dask and of files as an array or dataframe in memory; others as they are."""
    return load_columns(rows=rows)["rows"]


def load_columns(**columns: Any) -> dict[str, Any]:
    """Columns by name, those of Dask and of files in memory; others as they are.

    Collections of Dask are computed together, so that what they have in common is computed once.
    """
    check_in_memory(**columns)
    lazy = {
        name: _check_columns_lazily(name, rows) for name, rows in columns.items() if is_lazy(rows)
    }
    loaded = dict(zip(lazy, _compute_together([*lazy.values()]), strict=True)) if lazy else {}
    files = {name: rows for name, rows in columns.items() if isinstance(rows, Blocks)}
    read = {name: _concatenate(list(rows), ignore_index=True) for name, rows in files.items()}
    return columns | loaded | read


def load_columns_beside(X: TableLike, **columns: Any) -> dict[str, TableLike | None]:
    """As `load_columns`, where a collection X of the same rows stays where it is.

    Each partition of the columns is checked beside that of X: its index and its number of rows.
    """
    lazy = {name: rows for name, rows in columns.items() if is_partitioned(rows)}
    if not is_partitioned(X) or not lazy:
        return load_columns(**columns)
    blocks = partitions_of(X=X, **lazy).gather(_drop_features)
    return columns | {name: _concatenate([block[name] for block in blocks]) for name in lazy}


def _drop_features(block: Block) -> dict[str, Table]:
    return {name: column for name, column in block.items() if name != "X"}


def _compute_together(collections: list[TableLike]) -> list[TableLike] | tuple[TableLike]:
    client = acquire_client()
    if client is None:
        import dask

        return dask.compute(*collections)
    # Within a task of a worker the wait must not block its thread pool, see `acquire_client`.
    return gather(client, client.compute(collections))


def _check_columns_lazily(
    name: str, rows: Array | DataFrame | Series
) -> Array | DataFrame | Series:
    """A dataframe of Dask whose partitions are checked when they are computed; others unchanged."""
    if not (has_frame_partitions(rows) and rows.ndim == 2):
        return rows
    check = partial(_arrange_frame, name, expected_layout(rows, name))
    return rows.map_partitions(check, meta=rows._meta)


def _arrange_frame(
    name: str,
    expected: tuple[int, ...] | list[str],
    frame: pd.DataFrame,
    partition_info: dict[str, Any] | None = None,
) -> pd.DataFrame:
    return arrange_columns(partition_number(partition_info), name, frame, expected)


def partition_number(partition_info: dict[str, Any] | None) -> int | str:
    """The number of a partition, from what Dask says of it."""
    return "?" if partition_info is None else partition_info["number"]


def _concatenate(
    chunks: list[Table], ignore_index: bool = False
) -> np.ndarray | pd.DataFrame | pd.Series:
    if not hasattr(chunks[0], "iloc"):
        return np.concatenate(chunks)
    return pd.concat(chunks, ignore_index=ignore_index)


def partitions_of(n_jobs: int | None = None, **columns: Any) -> Partitions:
    """Partitions of blocks, each of which holds the same rows of several collections.

    They are read for every pass: by the workers of the active client, where the collections are
    Dask's, and without one, and for `Blocks`, by threads.

    Raises
    ------
    TypeError
        If not all collections are partitioned.
    ModuleNotFoundError
        If workers lack this package.
    ValueError
        If they are divided differently: now where that is known, else in the pass that reads a
        partition whose lengths differ.

    Warns
    -----
    UserWarning
        If there is no active client for collections of Dask.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from distributed import Client
    >>> from skfair._partitions import partitions_of
    >>> X, y = np.arange(12.0).reshape(6, 2), np.arange(6)
    >>> with Client(processes=False, dashboard_address=":0") as client:
    ...     rows = partitions_of(X=da.from_array(X, chunks=(4, 2)), y=da.from_array(y, chunks=4))
    ...     [len(block["X"]) for block in rows.gather(dict)]
    [4, 2]
    """
    columns = {name: rows for name, rows in columns.items() if rows is not None}
    stored = [name for name, rows in columns.items() if not is_partitioned(rows)]
    if stored:
        others = [name for name in columns if name not in stored]
        raise TypeError(
            f"All data must be partitioned, or all in memory, but {join_names(others)} came in "
            f"partitions and {join_names(stored)} in memory. Pass all of them from one collection, "
            "as columns of one dataframe of Dask or of one open_blocks(...)."
        )
    # Collections of Dask are read by its workers, if there are any; files by threads.
    if any(map(is_lazy, columns.values())):
        return _partitions_of_dask(columns, n_jobs)
    numbers = {name: rows.n_blocks for name, rows in columns.items()}
    _check_same_number(numbers, "their numbers of blocks differ:")
    reader = Reader(partial(_read, columns), next(iter(numbers.values())))
    return Partitions(LocalThreads(reader, n_jobs))


class Block(dict[str, Any]):
    """The same rows of several collections, by name, with their place.

    That is the ``partition_index`` of their partition, and the position of the first of them in it,
    the ``first``.
    """

    def __init__(self, columns: dict[str, TableLike], partition_index: int, first: int) -> None:
        super().__init__(columns)
        self.partition_index, self.first = partition_index, first

    def __reduce__(self) -> tuple[type[Block], tuple[dict[str, Any], int, int]]:
        return Block, (dict(self), self.partition_index, self.first)


def _read(columns: dict[str, Blocks], number: int) -> list[Block]:
    chunks = {name: rows.read(number) for name, rows in columns.items()}
    return _split_into_blocks(
        number, chunks, {name: rows.shape[1:] for name, rows in columns.items()}
    )


def _split_into_blocks(
    number: int, columns: dict[str, Table], expected: dict[str, tuple[int, ...] | list[str]]
) -> list[Block]:
    """Split a partition into blocks, at least one; raise if its columns differ in length."""
    for name, column in columns.items():
        check_dense(number, name, column)
    columns = {
        name: arrange_columns(number, name, column, expected[name])
        for name, column in columns.items()
    }
    # Lengths of Dask's chunks may be unknown until they are read, so that this is checked here.
    lengths = {name: len(rows) for name, rows in columns.items()}
    _check_same_number(lengths, f"in partition {number}")
    check_partition_alignment(number, columns)
    (n_rows,) = set(lengths.values())
    # Slices of positions, of dataframes as of arrays.
    sliced = {name: getattr(column, "iloc", column) for name, column in columns.items()}
    return [
        Block({name: column[rows] for name, column in sliced.items()}, number, rows.start)
        for rows in blocks(max(1, n_rows))  # an empty partition is one empty block
    ]


def _check_same_number(numbers: dict[str, int], where: str) -> None:
    if len(set(numbers.values())) > 1:
        shown = join_names([f"{name} has {number}" for name, number in numbers.items()])
        raise ValueError(
            f"All collections must be divided at the same rows, but {where} {shown}. Make them "
            "columns of one dataframe, or give arrays the same chunks of rows."
        )


def _partitions_of_dask(columns: dict[str, TableLike], n_jobs: int | None) -> Partitions:
    """Partitions of Dask collections, read by the workers of a client or by threads."""
    partitions = _delayed_partitions(cast("dict[str, Array | DataFrame | Series]", columns))
    client = acquire_client()
    if client is not None:
        check_worker_imports(client)
        return Partitions(DaskWorkers(client, partitions))
    warn(
        "There is no Dask client, so that threads of this process read the collections, again for "
        "each pass over the data. Start one, as in distributed.Client(), or persist the data first."
    )
    return Partitions(
        LocalThreads(Reader(_RecomputedPartitions(partitions), len(partitions)), n_jobs)
    )


class _RecomputedPartitions:
    """Delayed partitions, which this process computes again in every pass, and compares."""

    def __init__(self, partitions: list[Delayed]) -> None:
        self._partitions = partitions
        self._checksums: dict[Any, list[int]] = {}

    def __call__(self, number: int) -> list[Block]:
        blocks = self._partitions[number].compute(scheduler="synchronous")
        checksum = [_checksum(column) for block in blocks for column in block.values()]
        if self._checksums.setdefault(number, checksum) != checksum:
            raise ValueError(changed_partition_message(number))
        return blocks


def changed_partition_message(number: int) -> str:
    """What is wrong where a partition is computed again and has other values."""
    return (
        f"Partition {number} must have the same rows whenever it is computed, but it was computed "
        "again and has others. Persist the data first, as in table = table.persist() with a "
        "Client, or give the function that makes the partition a seed."
    )


def _checksum(column: TableLike) -> int:
    values = np.ascontiguousarray(column)
    if values.dtype.kind == "O":
        return zlib.crc32("\0".join(map(str, values.ravel())).encode(errors="surrogatepass"))
    return zlib.crc32(values.tobytes())


def _delayed_partitions(columns: dict[str, Array | DataFrame | Series]) -> list[Delayed]:
    """Return one delayed list of blocks per partition, with the columns of all collections."""
    from dask import delayed

    expected = {name: expected_layout(rows, name) for name, rows in columns.items()}
    frames = {name: rows for name, rows in columns.items() if has_frame_partitions(rows)}
    others = {name: rows for name, rows in columns.items() if name not in frames}
    arrays = _rechunk_arrays(cast("dict[str, Array]", others))
    chunks = [rows.to_delayed().ravel().tolist() for rows in arrays.values()]
    numbers = {name: rows.npartitions for name, rows in frames.items()}
    numbers |= {name: len(of_array) for name, of_array in zip(arrays, chunks, strict=True)}
    of_columns = {name: numbers[name] for name in columns}
    _check_same_number(of_columns, "their numbers of partitions differ:")
    if frames:
        chunks.insert(0, _bundles(frames))
    assemble = delayed(
        partial(_assemble_blocks, expected, tuple(frames), tuple(arrays)), pure=False
    )
    return [assemble(number, *row) for number, row in enumerate(zip(*chunks, strict=True))]


def _assemble_blocks(
    expected: dict[str, tuple[int, ...] | list[str]],
    frames: tuple[str, ...],
    arrays: tuple[str, ...],
    number: int,
    *chunks: np.ndarray | pd.DataFrame | pd.Series,
) -> list[Block]:
    """The blocks of a partition, from its bundle of frames, if any, and its chunks of arrays."""
    bundled = chunks[0].iloc[0] if frames and is_pandas(chunks[0]) else ()
    columns = dict(zip(frames + arrays, (*bundled, *chunks[bool(frames) :]), strict=True))
    return _split_into_blocks(number, {name: columns[name] for name in expected}, expected)


def _rechunk_arrays(arrays: dict[str, Array]) -> dict[str, Array]:
    """Arrays whose rows are never cut, divided as the first one is where lengths are known."""
    first = None
    for name, rows in arrays.items():
        # All columns in one chunk; rows are divided only if known to be divided differently.
        chunks = dict.fromkeys(range(1, rows.ndim), -1)
        if first is None:
            first = rows.chunks[0]
        elif len(rows.chunks[0]) and not np.isnan([*first, *rows.chunks[0]]).any():
            if sum(first) != rows.shape[0]:
                raise ValueError(
                    f"All collections must have the same rows, but {next(iter(arrays))} has "
                    f"{sum(first)} and {name} has {rows.shape[0]}."
                )
            chunks[0] = first
        arrays[name] = rows.rechunk(chunks) if chunks else rows
    return arrays


def _bundles(frames: Mapping[str, DataFrame | Series]) -> list[Delayed]:
    """Delayed partitions of dataframes and series, those of equal number as one object.

    They are taken from one expression: two that read the same files may be given other partitions
    when each is optimised on its own.
    """
    first, *others = frames.values()
    bundles = first.map_partitions(
        _bundle, *others, meta=pd.Series(dtype=object), align_dataframes=False
    )
    return bundles.to_delayed()


def _bundle(*partitions: TableLike) -> pd.Series:
    bundle = pd.Series([None], dtype=object)
    bundle.iloc[0] = partitions  # a list would be taken for several rows
    return bundle


# Predictions: methods that work row by row, for collections of Dask and for blocks of files.


def row_by_row(empty: Callable[[Any], np.ndarray]) -> Callable[[Decorated], Decorated]:
    """Decorate a method of rows so that it takes collections of Dask, and blocks of files.

    Of an array of Dask the decorated method returns an array of Dask, with the same chunks of rows;
    of a dataframe of Dask a series, or a dataframe where it gives several columns, with the same
    index. `Blocks` of a file are read one by one, and the answer is an array in memory. About all
    others it answers at once.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair._partitions.collections import row_by_row
    >>> class Halves:
    ...     @row_by_row(lambda self: np.empty(0))
    ...     def predict(self, X):
    ...         return X[:, 0] / 2
    >>> Halves().predict(np.ones((3, 2)))
    array([0.5, 0.5, 0.5])
    """

    def decorate(method: Function) -> Function:
        @wraps(method)
        def answer(
            self: BaseEstimator, X: TableLike, **others: Any
        ) -> Array | DataFrame | Series | np.ndarray:
            if not is_partitioned(X):
                return method(self, X, **others)
            others = {name: rows for name, rows in others.items() if rows is not None}
            if isinstance(X, Blocks):
                return _gather_answers(method, self, X, others, empty(self))
            # Compute chunk by chunk: the method is called again, with chunks that are in memory.
            X = cast("Array | DataFrame | Series", X)
            return _apply_to_chunks(getattr(self, method.__name__), X, others, empty(self))

        return answer

    return decorate  # type: ignore[return-value]


def _gather_answers(
    method: Function,
    estimator: BaseEstimator,
    X: Blocks,
    others: dict[str, pd.Series | Blocks],
    empty: np.ndarray,
) -> np.ndarray:
    """What a method answers about every block of files, as one array."""
    in_memory = {name: rows for name, rows in others.items() if not isinstance(rows, Blocks)}
    if in_memory:
        raise TypeError(
            f"{join_names(in_memory)} must be in blocks as X is, but is of type "
            f"{type(next(iter(in_memory.values()))).__name__}. Select it from the same file."
        )
    answers = partitions_of(X=X, **others).gather(_apply_to_block, method, estimator, empty)  # type: ignore[arg-type]
    return np.concatenate(answers)


def _apply_to_block(
    block: Block, method: Function, estimator: BaseEstimator, empty: np.ndarray
) -> np.ndarray:
    """What a method answers about one block, which may have no rows."""
    return method(estimator, block.pop("X"), **block) if len(block["X"]) else empty


def _call_on_chunk(
    method: Function,
    expected: dict[str, tuple[int, ...] | list[str]],
    empty: np.ndarray,
    number: int,
    *chunks: TableLike,
) -> np.ndarray:
    """What a method answers about a chunk of each collection, after they are checked."""
    arranged = {
        name: arrange_columns(number, name, chunk, columns)
        for (name, columns), chunk in zip(expected.items(), chunks, strict=True)
    }
    check_partition_alignment(number, arranged)
    X = arranged.pop("X")
    return method(X, **arranged) if X.shape[0] else empty


def _apply_to_chunks(
    method: Function,
    X: Array | DataFrame | Series,
    others: dict[str, Any],
    empty: np.ndarray,
) -> Array | DataFrame | Series:
    """A method of chunks of X and of other collections with the same rows, as one of Dask."""
    is_frame = has_frame_partitions(X)
    for name, rows in others.items():
        if not is_lazy(rows) or has_frame_partitions(rows) != is_frame:
            kinds = [f"{type(one).__module__}.{type(one).__name__}" for one in (X, rows)]
            raise TypeError(
                f"X is lazy, and {name} must be of its kind: both arrays of Dask with the same "
                "chunks of rows, or both from one dataframe of Dask, so that a chunk holds the "
                f"same samples; but X is a {kinds[0]} and {name} a {kinds[1]}."
            )
    columns = {"X": X, **others}
    expected = {name: expected_layout(rows, name) for name, rows in columns.items()}
    answer = partial(_call_on_chunk, method, expected, empty)
    if has_frame_partitions(X):
        return X.map_partitions(
            partial(_apply_to_frame_chunk, answer),
            *others.values(),
            meta=_as_frame(empty, None),
            align_dataframes=False,
        )
    inner = range(1, X.ndim)
    X = X.rechunk(dict.fromkeys(inner, -1))  # a row is never cut
    # Arrays of fewer dimensions would be matched by their last ones.
    wide = [rows.reshape(rows.shape + (1,) * (X.ndim - rows.ndim)) for rows in others.values()]
    # Answers have one axis, or a second one of a known length.
    shape: dict[str, Any] = {"drop_axis": [*inner]}
    if empty.ndim > 1:
        shape = {"drop_axis": [*inner][1:], "chunks": (X.chunks[0], empty.shape[1:])}
    n_axes = [rows.ndim for rows in columns.values()]
    apply = partial(_apply_to_array_chunk, answer, n_axes)
    return X.map_blocks(apply, *wide, meta=empty, **shape)  # type: ignore[arg-type]


def _apply_to_array_chunk(
    answer: Function,
    n_axes: list[int],
    *chunks: np.ndarray,
    block_id: tuple[int, ...] | None = None,
) -> np.ndarray:
    number = "?" if block_id is None else block_id[0]
    # Undo the reshape to the dimensions of X.
    reshaped = [
        chunk if chunk.ndim == n_axis else chunk.reshape(chunk.shape[:n_axis])
        for chunk, n_axis in zip(chunks, n_axes, strict=True)
    ]
    return answer(number, *reshaped)


def _apply_to_frame_chunk(
    answer: Function,
    *chunks: pd.DataFrame | pd.Series,
    partition_info: dict[str, Any] | None = None,
) -> pd.DataFrame | pd.Series:
    return _as_frame(answer(partition_number(partition_info), *chunks), chunks[0].index)


def _as_frame(answers: np.ndarray, index: pd.Index | None) -> pd.DataFrame | pd.Series:
    return (pd.Series if answers.ndim == 1 else pd.DataFrame)(answers, index=index)
