"""Tables that stay in files, and are read block by block."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from contextlib import contextmanager
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import numpy as np

from skfair._partitions.partitions import BLOCK_SIZE, blocks
from skfair._utils.checks import check_path, join_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pandas as pd
    from pyarrow import DataType
    from pyarrow.parquet import ParquetFile


PARQUET_SUFFIXES = (".parquet", ".pq")
"""How names of Parquet files end."""


class Blocks:
    """Columns of a table in files, read block by block; made by `open_blocks`.

    Selecting columns reads nothing. Iterating gives the blocks in memory, one after the other.

    Attributes
    ----------
    columns : list
        Names of the columns; positions where files give no names.
    shape : tuple of int
        Numbers of rows and columns; the former alone if it is one column and no table.
    """

    def __init__(
        self,
        read: Callable[[int, Any], np.ndarray | pd.DataFrame],
        lengths: list[int],
        columns: Iterable[int | str],
        is_series: bool = False,
    ) -> None:
        self._read, self._lengths = read, list(lengths)
        self.columns = list(columns)
        self._is_series = is_series

    def __repr__(self) -> str:
        return f"<{self.n_blocks} blocks of shape {self.shape}>"

    @property
    def n_blocks(self) -> int:
        """How many blocks there are."""
        return len(self._lengths)

    def __len__(self) -> int:
        return sum(self._lengths)

    @property
    def shape(self) -> tuple[int, ...]:
        """Numbers of rows and of columns."""
        return (len(self),) if self._is_series else (len(self), len(self.columns))

    def __getitem__(self, columns: int | str | list[int | str]) -> Blocks:
        """A column (of one label), or a table of some columns (of a list of labels)."""
        is_series = not isinstance(columns, list)
        wanted = columns if isinstance(columns, list) else [columns]
        known = set(self.columns)
        unknown = [name for name in wanted if name not in known]
        if unknown:
            raise KeyError(
                f"There is no column {unknown[0]!r}; the columns are {self.columns[:20]}."
            )
        return Blocks(self._read, self._lengths, wanted, is_series)

    def drop(self, columns: list[str]) -> Blocks:
        """All columns but some."""
        self[list(columns)]  # which are all there
        return self[[name for name in self.columns if name not in set(columns)]]

    def read(self, number: int) -> np.ndarray | pd.DataFrame | pd.Series:
        """One block, in memory."""
        block = self._read(number, self.columns)
        if not self._is_series:
            return block
        return block.iloc[:, 0] if hasattr(block, "iloc") else block[:, 0]

    def __iter__(self) -> Iterator[np.ndarray | pd.DataFrame | pd.Series]:
        return map(self.read, range(self.n_blocks))


def open_blocks(path: str | PathLike[str]) -> Blocks:
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
        If the files are of another kind, cut off or damaged, differ in their columns or in what
        these hold, or hold no rows. Damage may show only while blocks are read.
    OSError
        While blocks are read: if a file has been replaced, changed or removed since it was opened
        (size, modification time and inode are compared).

    Notes
    -----
    An index that pandas stored in a Parquet file is not one of the columns; store
    ``frame.reset_index()`` to have it as one. In a folder, files and folders whose names begin
    with "." or "_" are skipped, as pyarrow and Spark do. Folders named ``column=value`` (Hive
    partitioning) give a column: of integers if all its values are written as such, else of text.

    Damage inside a Parquet file is found for certain if its pages have checksums, which
    ``frame.to_parquet(..., write_page_checksum=True)`` writes; they are always verified.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from skfair.datasets import open_blocks
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(Path(folder) / "table.npy", np.arange(6.0).reshape(3, 2))
    ...     table = open_blocks(Path(folder) / "table.npy")
    ...     table, table[1].read(0)
    (<1 blocks of shape (3, 2)>, array([1., 3., 5.]))
    """
    path = check_path(path)
    if not path.exists():
        raise FileNotFoundError(f"There is no file or folder {path}.")
    if path.is_file():
        _refuse_archive(path)
    opened = _open_array(path) if path.suffix.lower() == ".npy" else _open_parquet(path)
    if not len(opened):
        raise ValueError(f"{path} must hold at least one row, but it has none.")
    return opened


def _refuse_archive(path: Path) -> None:
    """Raise if the file is an archive of arrays."""
    with open(path, "rb") as file:
        if file.read(4) == b"PK\x03\x04":
            raise ValueError(
                f"{path} must be a Parquet file or hold one array (.npy), but it is an archive "
                "(.npz or .zip); save the table alone, as in np.save(path, table)."
            )


class _StoredFile:
    """A file that must stay as it is while blocks are read from it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._state = self._current_state()

    def _current_state(self) -> tuple[int, int, int]:
        """What changes when a file is replaced: size, modification time and inode."""
        now = self.path.stat()
        return now.st_size, now.st_mtime_ns, now.st_ino

    @contextmanager
    def guard_against_changes(self) -> Iterator[None]:
        """Raise for what is read if the file is not, or no longer, the one that was opened."""
        self._check_unchanged()
        try:
            yield
        finally:  # also if reading failed: that it was replaced is the cause then
            self._check_unchanged()

    def _check_unchanged(self) -> None:
        try:
            is_same = self._current_state() == self._state
        except FileNotFoundError:
            is_same = False
        if not is_same:
            raise OSError(
                f"{self.path} must not change while blocks are read from it, but it has been "
                "replaced, changed or removed since open_blocks opened it. Open it again, and "
                "start again what reads it."
            )


class _ArrayFile(_StoredFile):
    """A table in a ``.npy`` file.

    It is read with file operations: memory that is mapped to a file kills the process if another
    one cuts off the file.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        try:
            table = np.load(path, mmap_mode="r")
        except (EOFError, ValueError) as error:  # it is cut off, or something else
            raise ValueError(f"{path} cannot be read as an array of numbers: {error}") from error
        if table.ndim != 2:
            raise ValueError(
                f"{path} must hold a table, an array of 2 dimensions, but its shape is "
                f"{table.shape}."
            )
        self.shape, self._dtype, self._offset = table.shape, table.dtype, table.offset
        self._is_by_rows = table.flags.c_contiguous

    def read(self, number: int, columns: list[int]) -> np.ndarray:
        """Rows of a block."""
        start = number * BLOCK_SIZE
        n_rows = min(BLOCK_SIZE, self.shape[0] - start)
        with self.guard_against_changes(), open(self.path, "rb") as file:
            # In C order a block of rows is contiguous; in Fortran order each of its columns is.
            if self._is_by_rows:
                width = self.shape[1]
                rows = self._read_numbers(file, start * width, n_rows * width)
                return rows.reshape(-1, width)[:, columns]
            starts = (column * self.shape[0] + start for column in columns)
            return np.column_stack([self._read_numbers(file, first, n_rows) for first in starts])

    def _read_numbers(self, file: Any, first: int, count: int) -> np.ndarray:
        file.seek(self._offset + first * self._dtype.itemsize)
        return np.fromfile(file, self._dtype, count)


def _open_array(path: Path) -> Blocks:
    file = _ArrayFile(path)
    lengths = [rows.stop - rows.start for rows in blocks(file.shape[0])]
    return Blocks(file.read, lengths, range(file.shape[1]))


class _ParquetFile(_StoredFile):
    """A Parquet file, and the columns that the names of its folders give."""

    def __init__(self, path: Path, folder_values: dict[str, int | str | None]) -> None:
        super().__init__(path)
        with self._open() as opened:
            schema, stored = opened.schema_arrow, opened.metadata
            # Columns in which pandas stored an index are no features.
            index = (schema.pandas_metadata or {}).get("index_columns", [])
            self.lengths = [
                stored.row_group(number).num_rows for number in range(stored.num_row_groups)
            ]
            # A footer that contradicts itself is a sign of damage.
            if sum(self.lengths) != stored.num_rows:
                raise ValueError(f"it has {stored.num_rows} rows, its row groups {self.lengths}")
        names = [name for name in schema.names if name not in index]
        if repeated := [name for name, n in Counter(names).items() if n > 1]:
            raise ValueError(
                f"The columns of {path} must have different names, but it has more than one "
                f"column {join_names(map(repr, repeated))}."
            )
        self.folder_values = {k: v for k, v in folder_values.items() if k not in names}
        self.types = {name: _column_type(schema.field(name).type) for name in names}
        for name, value in self.folder_values.items():
            self.types[name] = {int: "numbers", str: "text"}.get(type(value))

    @contextmanager
    def _open(self) -> Iterator[ParquetFile]:
        """The file, opened by pyarrow, whose errors are raised with its name."""
        try:
            from pyarrow import parquet
        except ImportError as error:
            raise ImportError(
                "Reading Parquet needs pyarrow; install it, as in pip install pyarrow."
            ) from error
        try:
            with parquet.ParquetFile(self.path, page_checksum_verification=True) as opened:
                yield opened
        except (ValueError, OSError, NotImplementedError) as error:  # those of pyarrow
            raise ValueError(
                f"{self.path} is no Parquet file, or cut off or damaged: {error}"
            ) from error

    def read(self, number: int, columns: list[str]) -> pd.DataFrame:
        """Columns of a row group."""
        stored = [name for name in columns if name not in self.folder_values]
        with self.guard_against_changes(), self._open() as opened:
            table = opened.read_row_group(number, columns=stored).select(stored)
            frame = table.to_pandas(ignore_metadata=True)
        # Columns of folder names are constant within a file.
        for name in set(columns) - set(stored):
            frame[name] = self.folder_values[name]
        return frame[columns]


def _column_type(arrow_type: DataType) -> str | None:
    """What a column holds, so far as files must agree; None if all its values are missing."""
    from pyarrow import types

    # What is compared are the values, whatever their encoding, width and unit.
    if types.is_dictionary(arrow_type):
        arrow_type = arrow_type.value_type
    if types.is_null(arrow_type):
        return None
    if (
        types.is_integer(arrow_type)
        or types.is_floating(arrow_type)
        or types.is_decimal(arrow_type)
    ):
        return "numbers"
    name = str(arrow_type).partition("[")[0]  # without the unit of a timestamp
    return "text" if name.endswith(("string", "string_view")) else name


def _open_parquet(path: Path) -> Blocks:
    folder = path if path.is_dir() else path.parent
    paths = _visible_parquet(path) if path.is_dir() else [path]
    if not paths:
        raise ValueError(f"{path} holds no file that ends in .parquet.")
    values = _folder_values([one.relative_to(folder).parts[:-1] for one in paths])
    files = [_ParquetFile(*pair) for pair in zip(paths, values, strict=True)]
    _check_same_columns(files)
    groups = [(file, number) for file in files for number in range(len(file.lengths))]
    lengths = [file.lengths[number] for file, number in groups]
    return Blocks(partial(_read_row_group, groups), lengths, files[0].types)


def _read_row_group(
    groups: list[tuple[_ParquetFile, int]], number: int, columns: list[str]
) -> pd.DataFrame:
    file, group = groups[number]
    return file.read(group, columns)


def _visible_parquet(folder: Path) -> list[Path]:
    """The Parquet files in a folder, but for those that writers hide."""
    files = (path for path in folder.rglob("*") if path.suffix.lower() in PARQUET_SUFFIXES)
    return sorted(
        path
        for path in files
        if path.is_file()
        and not any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)
    )


def _folder_values(folders: list[tuple[str, ...]]) -> list[dict[str, int | str | None]]:
    """Columns that names of folders give to each file, as in ``sex=f/year=2020``."""
    # Hive partitioning: names of folders are column=value.
    texts = [dict(name.split("=", 1) for name in names if "=" in name) for names in folders]
    columns: list[dict[str, int | str | None]] = [
        {name: _unquote(text) for name, text in row.items()} for row in texts
    ]
    # A column of integers only if all files agree; missing values are left out.
    for name in {name for row in columns for name in row}:
        present = {k: str(row[name]) for k, row in enumerate(columns) if row.get(name) is not None}
        # As Python writes them: "01" is a name.
        if all(re.fullmatch("0|-?[1-9][0-9]*", text) for text in present.values()):
            for k, text in present.items():
                columns[k][name] = int(text)
    return columns


def _unquote(text: str) -> str | None:
    """The value of a folder; None where Hive marks it as missing."""
    return None if text == "__HIVE_DEFAULT_PARTITION__" else unquote(text)


def _check_same_columns(files: list[_ParquetFile]) -> None:
    """Raise for files that differ in the names of their columns, or in what these hold."""
    first = files[0]
    types = dict(files[0].types)
    for file in files[1:]:
        if file.types.keys() != types.keys():
            raise ValueError(
                f"All files must have the same columns, but those of {first.path} are "
                f"{join_names(map(repr, types), 20)} and those of {file.path} are "
                f"{join_names(map(repr, file.types), 20)}."
            )
        # A column that is missing altogether in earlier files gets its type from the first that has
        # values.
        for name, kind in file.types.items():
            if None not in (kind, types[name]) and kind != types[name]:
                raise ValueError(
                    f"The column {name!r} must be of one type in all files, but it holds "
                    f"{types[name]} before {file.path}, and {kind} there. Convert one of them."
                )
            types[name] = types[name] or kind
