"""From collections of Dask, or of files, to parts that hold rows of all of them."""

from functools import partial

import numpy as np

from skfair.partitions._blocks import Blocks
from skfair.partitions._divided import Divided
from skfair.partitions._here import Stored
from skfair.partitions._lazily import is_lazy
from skfair.partitions._on_dask import ReadOnDask, active_client, check_workers, gather
from skfair.partitions._partitions import blocks
from skfair.utils._messages import join_names, warn


def is_partitioned(*data):
    """Whether some of the data are collections that do not lie in memory as a whole.

    Parameters
    ----------
    *data : object
        As passed by the user.

    Returns
    -------
    is_partitioned : bool
        True of arrays and dataframes of Dask, and of `Blocks`.
    """
    return any(is_lazy(rows) or isinstance(rows, Blocks) for rows in data)


def in_memory(rows):
    """Bring rows here that lie in parts; all others stay as they are.

    Parameters
    ----------
    rows : object
        As passed by the user.

    Returns
    -------
    rows : object
        No collection of Dask any more, and no `Blocks`.
    """
    if is_lazy(rows):
        client = active_client()
        return rows.compute() if client is None else gather(client, [client.compute(rows)])[0]
    if not isinstance(rows, Blocks):
        return rows
    blocks = list(rows)
    if not hasattr(blocks[0], "iloc"):
        return np.concatenate(blocks)
    import pandas as pd

    return pd.concat(blocks, ignore_index=True)


def partitions_of(n_jobs=None, **columns):
    """Blocks, each of which holds the same rows of several collections.

    They are read for every question: by the workers of the active client, where the collections
    are Dask's, and without one, and for `Blocks`, by threads. What is made of `each` stays with the
    workers.

    Parameters
    ----------
    n_jobs : int or None, default=None
        Threads, where parts are read.
    **columns : collection or None
        Collections of Dask, or `Blocks`, by name; None is left out.

    Returns
    -------
    parts : Divided
        A part is a `Block`, a dict of arrays, series or dataframes in memory, by name.

    Raises
    ------
    TypeError
        If not all collections are of one kind.
    ModuleNotFoundError
        If workers lack this package.
    ValueError
        If they are divided differently: now where that is known, else by the question that finds a
        part whose lengths differ.

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
    ...     parts = partitions_of(X=da.from_array(X, chunks=(4, 2)), y=da.from_array(y, chunks=4))
    ...     [len(part["X"]) for part in parts.collect(dict)]
    [4, 2]
    """
    columns = {name: rows for name, rows in columns.items() if rows is not None}
    kinds = {name: is_lazy(rows) or isinstance(rows, Blocks) for name, rows in columns.items()}
    if not all(kinds.values()):
        here = [name for name, lies_in_parts in kinds.items() if not lies_in_parts]
        there = [name for name, lies_in_parts in kinds.items() if lies_in_parts]
        raise TypeError(
            f"{join_names(there)} lies in parts, but {join_names(here)} in memory. Pass all of "
            "them from one collection, as columns of one dataframe of Dask or of one "
            "open_blocks(...)."
        )
    if all(isinstance(rows, Blocks) for rows in columns.values()):
        return _parts_of_blocks(columns, n_jobs)
    return _parts_of_dask(columns, n_jobs)


def _parts_of_blocks(columns, n_jobs):
    _check_same_number({name: rows.n_blocks for name, rows in columns.items()}, "blocks")
    n_blocks = next(iter(columns.values())).n_blocks
    return Divided(Stored(partial(_read, columns), n_blocks, n_jobs))


class Block(dict):
    """The same rows of several collections, by name.

    Attributes
    ----------
    number : int
        Of the partition, or the block of a file, that they are of.
    start : int
        Place of the first of them in it.
    """

    def __init__(self, columns, number, start):
        super().__init__(columns)
        self.number, self.start = number, start

    def __reduce__(self):
        return Block, (dict(self), self.number, self.start)


def _read(columns, number):
    return _divided(number, {name: rows.read(number) for name, rows in columns.items()})


def _divided(number, part):
    """The blocks of a part, all of whose columns have the same rows."""
    lengths = {name: len(rows) for name, rows in part.items()}
    if len(set(lengths.values())) > 1:
        shown = join_names([f"{name} has {length}" for name, length in lengths.items()])
        raise ValueError(
            f"All collections must be divided at the same rows, but in part {number} {shown}. Make "
            "them columns of one dataframe, or give arrays the same chunks of rows."
        )
    (n_rows,) = set(lengths.values())
    return [
        Block({name: _some(rows, own) for name, rows in part.items()}, number, own.start)
        for own in blocks(max(1, n_rows))
    ]


def _some(rows, taken):
    return rows.iloc[taken] if hasattr(rows, "iloc") else rows[taken]


def _check_same_number(numbers, what):
    if len(set(numbers.values())) > 1:
        shown = join_names([f"{name} has {number}" for name, number in numbers.items()])
        raise ValueError(
            f"All collections must be divided at the same rows, but their numbers of {what} "
            f"differ: {shown}. Make them columns of one dataframe, or give arrays the same chunks."
        )


def _parts_of_dask(columns, n_jobs):
    from dask import delayed

    pieces = _pieces(columns)
    _check_same_number({name: len(own) for name, own in pieces.items()}, "partitions")
    n_parts = len(next(iter(pieces.values())))
    parts = [
        delayed(_divided)(number, {name: own[number] for name, own in pieces.items()})
        for number in range(n_parts)
    ]
    client = active_client()
    if client is not None:
        check_workers(client)
        return Divided(ReadOnDask(client, parts))
    warn(
        "There is no Dask client, so that threads of this process read the collections, again for "
        "each look at everybody. Start one, as in distributed.Client(), or persist them before."
    )
    return Divided(Stored(partial(_compute, parts), n_parts, n_jobs))


def _compute(parts, number):
    return parts[number].compute(scheduler="synchronous")


def _pieces(columns):
    """Delayed chunks of rows of every collection."""
    frames = {name: rows for name, rows in columns.items() if hasattr(rows, "map_partitions")}
    pieces = _pieces_of_frames(frames) if frames else {}
    arrays = _aligned({name: rows for name, rows in columns.items() if name not in frames})
    pieces.update({name: rows.to_delayed().ravel().tolist() for name, rows in arrays.items()})
    return {name: pieces[name] for name in columns}


def _aligned(arrays):
    """Arrays whose rows are never cut, divided as the first one is where lengths are known."""
    first = None
    for name, rows in arrays.items():
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


def _pieces_of_frames(frames):
    """Delayed partitions of dataframes and series.

    They are taken from one expression: two that read the same files may be given other partitions
    when each is optimised on its own.
    """
    import pandas as pd
    from dask import delayed

    _check_same_number({name: rows.npartitions for name, rows in frames.items()}, "partitions")
    first, *others = frames.values()
    bundles = first.map_partitions(
        _bundle, *others, meta=pd.Series(dtype=object), align_dataframes=False
    )
    parts = bundles.to_delayed()
    return {
        name: [delayed(_unbundle)(part, position) for part in parts]
        for position, name in enumerate(frames)
    }


def _bundle(*partitions):
    import pandas as pd

    bundle = pd.Series([None], dtype=object)
    bundle.iloc[0] = partitions  # a list would be taken for several rows
    return bundle


def _unbundle(bundle, position):
    return bundle.iloc[0][position]
