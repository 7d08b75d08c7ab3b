"""Tables that stay in files, and are read block by block."""

from functools import cached_property, partial
from pathlib import Path

import numpy as np

from skfair.parts._parts import BLOCK, blocks


class Blocks:
    """Columns of a table in files, read block by block; made by `open_blocks`.

    Selecting columns reads nothing. Iterating gives the blocks in memory, one after the other.

    Parameters
    ----------
    read : callable
        (number, columns) -> DataFrame or ndarray of this block.
    lengths : sequence of int
        Rows of every block.
    columns : list
        Columns to be read.
    is_series : bool, default=False
        Whether blocks are one column and no table.

    Attributes
    ----------
    columns : list
        Names of the columns; positions where files give no names.
    shape : tuple of int
        Numbers of rows and columns; the former alone if it is one column and no table.
    """

    def __init__(self, read, lengths, columns, is_series=False):
        self._read, self._lengths = read, list(lengths)
        self.columns, self._is_series = list(columns), is_series

    def __repr__(self):
        return f"<{self.n_blocks} blocks of shape {self.shape}>"

    @property
    def n_blocks(self):
        """How many blocks there are."""
        return len(self._lengths)

    def __len__(self):
        return sum(self._lengths)

    @property
    def shape(self):
        """Numbers of rows and of columns."""
        return (len(self),) if self._is_series else (len(self), len(self.columns))

    @cached_property
    def _known(self):
        return set(self.columns)

    def __getitem__(self, columns):
        """Some of the columns.

        Parameters
        ----------
        columns : label or list of labels
            One column alone, or the columns of a table.

        Returns
        -------
        blocks : Blocks
        """
        is_series = not isinstance(columns, list)
        wanted = [columns] if is_series else columns
        unknown = [name for name in wanted if name not in self._known]
        if unknown:
            raise KeyError(
                f"There is no column {unknown[0]!r}; the columns are {self.columns[:20]}."
            )
        return Blocks(self._read, self._lengths, wanted, is_series)

    def drop(self, columns):
        """All columns but some.

        Parameters
        ----------
        columns : list of labels
            Those to leave out.

        Returns
        -------
        blocks : Blocks
        """
        self[list(columns)]  # which are all there
        return self[[name for name in self.columns if name not in set(columns)]]

    def read(self, number):
        """One block, in memory.

        Parameters
        ----------
        number : int
            Which one.

        Returns
        -------
        block : DataFrame, Series or ndarray
        """
        block = self._read(number, self.columns)
        if not self._is_series:
            return block
        return block.iloc[:, 0] if hasattr(block, "iloc") else block[:, 0]

    def __iter__(self):
        return map(self.read, range(self.n_blocks))


def open_blocks(path):
    """Open a table that is larger than memory, to be read block by block.

    Parameters
    ----------
    path : str or path-like
        A Parquet file or a folder of them, whose row groups are the blocks (pyarrow is needed); or
        a ``.npy`` file of a table, of which 65,536 rows are a block.

    Returns
    -------
    blocks : Blocks
        Selects columns as a DataFrame does; what it selects is taken by ``fit`` for X, y,
        ``sensitive_features`` and ``sample_weight``.

    Raises
    ------
    FileNotFoundError
        If nothing is there.
    ValueError
        If the files are of another kind, cut off, differ in their columns, or hold no table.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from skfair.datasets import open_blocks
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(Path(folder) / "people.npy", np.arange(6.0).reshape(3, 2))
    ...     people = open_blocks(Path(folder) / "people.npy")
    ...     people, people[1].read(0)
    (<1 blocks of shape (3, 2)>, array([1., 3., 5.]))
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"There is no file or folder {path}.")
    if path.suffix == ".npy":
        return _open_array(path)
    files = sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
    if not files:
        raise ValueError(f"{path} holds no file that ends in .parquet.")
    return _open_parquet(files)


def _open_array(path):
    try:
        shape = np.load(path, mmap_mode="r").shape
    except (EOFError, ValueError) as error:  # it is cut off, or something else
        raise ValueError(f"{path} is no whole array of numbers: {error}") from error
    if len(shape) != 2:
        raise ValueError(
            f"{path} must hold a table, an array of 2 dimensions, but its shape is {shape}."
        )
    lengths = [rows.stop - rows.start for rows in blocks(shape[0])]
    return Blocks(partial(_read_array, path), lengths, range(shape[1]))


def _read_array(path, number, columns):
    rows = slice(number * BLOCK, (number + 1) * BLOCK)
    return np.load(path, mmap_mode="r")[rows][:, columns]


def _open_parquet(files):
    groups, lengths, schema = [], [], None
    for file in files:
        opened = _parquet_file(file)
        names = opened.schema_arrow.names
        if schema is not None and names != schema:
            raise ValueError(
                f"All files must have the same columns, but those of {files[0]} are {schema[:20]} "
                f"and those of {file} are {names[:20]}."
            )
        schema = names
        for number in range(opened.num_row_groups):
            groups.append((file, number))
            lengths.append(opened.metadata.row_group(number).num_rows)
    return Blocks(partial(_read_parquet, groups), lengths, schema)


def _read_parquet(groups, number, columns):
    file, group = groups[number]
    return _parquet_file(file).read_row_group(group, columns=columns).to_pandas()[columns]


def _parquet_file(file):
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError(
            "Reading Parquet needs pyarrow; install it, as in pip install pyarrow."
        ) from error
    try:
        return parquet.ParquetFile(file)
    except ValueError as error:  # pyarrow's own kinds of it
        raise ValueError(f"{file} is no whole Parquet file: {error}") from error
