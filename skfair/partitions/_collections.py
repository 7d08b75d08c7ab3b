"""From collections of Dask, or of files, to partitions with the rows of all of them."""

from functools import partial

import numpy as np

from skfair.partitions._blocks import Blocks
from skfair.partitions._dask import DaskWorkers, active_client, check_workers, gather
from skfair.partitions._partitions import Partitions, Reader, Threads, blocks
from skfair.utils._messages import join_names, warn


def is_lazy(rows):
    """Whether something is an array, a series or a dataframe of Dask."""
    return hasattr(rows, "__dask_graph__")


def is_partitioned(*data):
    """Whether any of the data is an array or dataframe of Dask, or `Blocks`."""
    return any(is_lazy(rows) or isinstance(rows, Blocks) for rows in data)


def load_rows(rows):
    """Data of Dask and of files as an array or dataframe in memory; others as they are."""
    if is_lazy(rows):
        client = active_client()
        # Within a task of a worker the wait must not block its thread pool, see `active_client`.
        return rows.compute() if client is None else gather(client, [client.compute(rows)])[0]
    if not isinstance(rows, Blocks):
        return rows
    blocks = list(rows)
    if not hasattr(blocks[0], "iloc"):
        return np.concatenate(blocks)
    import pandas as pd

    return pd.concat(blocks, ignore_index=True)


def partitions_of(n_jobs=None, **columns):
    """Partitions of blocks, each of which holds the same rows of several collections.

    They are read for every pass: by the workers of the active client, where the collections are
    Dask's, and without one, and for `Blocks`, by threads.

    Parameters
    ----------
    n_jobs : int or None, default=None
        Threads, where they read.
    **columns : collection or None
        Collections of Dask, or `Blocks`, by name; None is left out.

    Returns
    -------
    partitions : Partitions
        Of `Block`, a dict of arrays, series or dataframes in memory, by name.

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
    >>> from skfair.partitions import partitions_of
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
    _check_same_number(numbers, "blocks")
    reader = Reader(partial(_read, columns), next(iter(numbers.values())))
    return Partitions(Threads(reader, n_jobs))


class Block(dict):
    """The same rows of several collections, by name, with their place.

    That is the ``number`` of their partition, and the position of the first of them in it, the
    ``start``.
    """

    def __init__(self, columns, number, start):
        super().__init__(columns)
        self.number, self.start = number, start

    def __reduce__(self):
        return Block, (dict(self), self.number, self.start)


def _read(columns, number):
    return _divide(number, {name: rows.read(number) for name, rows in columns.items()})


def _divide(number, columns):
    """The blocks of a partition, of which there is at least one; all columns have the same rows."""
    # Lengths of Dask's chunks may be unknown until they are read, so that this is checked here.
    lengths = {name: len(rows) for name, rows in columns.items()}
    if len(set(lengths.values())) > 1:
        shown = join_names([f"{name} has {length}" for name, length in lengths.items()])
        raise ValueError(
            f"All collections must be divided at the same rows, but in partition {number} {shown}. "
            "Make them columns of one dataframe, or give arrays the same chunks of rows."
        )
    (n_rows,) = set(lengths.values())
    # Slices of positions, of dataframes as of arrays.
    sliced = {name: getattr(column, "iloc", column) for name, column in columns.items()}
    return [
        Block({name: column[rows] for name, column in sliced.items()}, number, rows.start)
        for rows in blocks(max(1, n_rows))  # an empty partition is one empty block
    ]


def _check_same_number(numbers, what):
    if len(set(numbers.values())) > 1:
        shown = join_names([f"{name} has {number}" for name, number in numbers.items()])
        raise ValueError(
            f"All collections must be divided at the same rows, but their numbers of {what} "
            f"differ: {shown}. Make them columns of one dataframe, or give arrays the same chunks."
        )


def _partitions_of_dask(columns, n_jobs):
    from dask import delayed

    # One delayed list of blocks per partition: chunks of all collections, side by side.
    chunks = _chunks(columns)
    _check_same_number({name: len(column) for name, column in chunks.items()}, "partitions")
    n_partitions = len(next(iter(chunks.values())))
    partitions = [
        delayed(_divide)(number, {name: column[number] for name, column in chunks.items()})
        for number in range(n_partitions)
    ]
    client = active_client()
    if client is not None:
        check_workers(client)
        return Partitions(DaskWorkers(client, partitions))
    warn(
        "There is no Dask client, so that threads of this process read the collections, again for "
        "each pass over the data. Start one, as in distributed.Client(), or persist the data first."
    )
    return Partitions(Threads(Reader(partial(_compute, partitions), n_partitions), n_jobs))


def _compute(partitions, number):
    return partitions[number].compute(scheduler="synchronous")


def _chunks(columns):
    """Delayed chunks of rows of every collection."""
    frames = {name: rows for name, rows in columns.items() if hasattr(rows, "map_partitions")}
    chunks = _chunks_of_frames(frames) if frames else {}
    arrays = _align({name: rows for name, rows in columns.items() if name not in frames})
    chunks.update({name: rows.to_delayed().ravel().tolist() for name, rows in arrays.items()})
    return {name: chunks[name] for name in columns}


def _align(arrays):
    """Arrays whose rows are never cut, divided as the first one is where lengths are known."""
    first = None
    for name, rows in arrays.items():
        # All columns in one chunk; rows are divided only if known to be divided differently.
        chunks = {axis: -1 for axis in range(1, rows.ndim)}
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


def _chunks_of_frames(frames):
    """Delayed partitions of dataframes and series.

    They are taken from one expression: two that read the same files may be given other partitions
    when each is optimised on its own.
    """
    import pandas as pd
    from dask import delayed

    _check_same_number({name: rows.npartitions for name, rows in frames.items()}, "partitions")
    first, *others = frames.values()
    # Bundle the partitions of all frames in one object, as one frame, and take them apart again.
    bundles = first.map_partitions(
        _bundle, *others, meta=pd.Series(dtype=object), align_dataframes=False
    )
    chunks = bundles.to_delayed()
    return {
        name: [delayed(_unbundle)(chunk, position) for chunk in chunks]
        for position, name in enumerate(frames)
    }


def _bundle(*partitions):
    import pandas as pd

    bundle = pd.Series([None], dtype=object)
    bundle.iloc[0] = partitions  # a list would be taken for several rows
    return bundle


def _unbundle(bundle, position):
    return bundle.iloc[0][position]
