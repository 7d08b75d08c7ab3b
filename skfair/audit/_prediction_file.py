"""Columns of a file of predictions: CSV, which gzip may have compressed, or Parquet."""

import csv
import gzip
import zlib
from contextlib import contextmanager
from difflib import get_close_matches
from itertools import islice

import pandas as pd

from skfair.partitions import in_memory, open_blocks
from skfair.utils._messages import join_names

_SEPARATORS = ",;\t|"
_LINES = 100
"""Lines from which the separator is found."""

_GZIP = b"\x1f\x8b"
_BINARY = {
    b"PK\x03\x04": 'a spreadsheet or another zip archive; save the table as "CSV UTF-8"',
    b"\xff\xfe": "text in UTF-16; iconv -f utf-16 -t utf-8 converts it",
    b"\xfe\xff": "text in UTF-16; iconv -f utf-16 -t utf-8 converts it",
    b"BZh": "compressed by bzip2; unpack it",
    b"\xfd7zXZ": "compressed by xz; unpack it",
    b"\x28\xb5\x2f\xfd": "compressed by zstd; unpack it",
}
"""What files are that begin with these bytes, and what to do."""


def read_columns(path, names):
    """Some columns of a file of predictions.

    Parameters
    ----------
    path : Path
        CSV in UTF-8 with any common separator, also compressed by gzip; a Parquet file; or a folder
        of Parquet files. The content of a file says what it is, not its name.
    names : list of str
        The columns, each once.

    Returns
    -------
    table : DataFrame of shape (n_samples, n_names)
        Of CSV all entries are text as it is written, and only empty ones are missing; of Parquet
        they have the types that are stored.

    Raises
    ------
    OSError
        If there is no such file, it cannot be read, or is damaged.
    ValueError
        If it is none of these kinds, has no rows, a line with more or fewer fields than the header,
        or one of the columns is absent or occurs twice.
    ImportError
        If it is Parquet, and pyarrow is not installed.
    """
    if not path.exists():
        raise FileNotFoundError(f"There is no file or folder {path}.")
    if not path.is_dir() and not path.is_file():
        raise ValueError(f"{path} must be a file or a folder; write what it gives to a file.")
    if path.is_dir() or _first_bytes(path, 4) == b"PAR1":
        table = open_blocks(path)
        _check_columns(table.columns, names, path)
        return in_memory(table[names])
    with _reading_text(path):
        return _read_text(path, names)


def _first_bytes(path, count):
    with open(path, "rb") as file:
        return file.read(count)


def _open_content(path):
    """A file opened as bytes, without the compression by gzip."""
    return gzip.open(path) if _first_bytes(path, 2) == _GZIP else open(path, "rb")


def _open_text(path):
    if _first_bytes(path, 2) == _GZIP:
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return open(path, encoding="utf-8-sig", newline="")


@contextmanager
def _reading_text(path):
    """Errors of decoders and parsers as sentences that name the file."""
    try:
        yield
    except UnicodeDecodeError:
        raise ValueError(
            f"{path} must be text in UTF-8, but line {_first_undecoded(path)} is not. Save it as "
            'UTF-8, in a spreadsheet as "CSV UTF-8"; iconv -f latin1 -t utf-8 converts Latin-1.'
        ) from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{path} is no whole gzip file ({error}); write it again.") from None
    except (csv.Error, pd.errors.ParserError) as error:
        raise ValueError(
            f"{path} must be CSV, but it cannot be divided into columns ({error}). A quotation "
            "mark may be open; write the file again."
        ) from None


def _first_undecoded(path):
    """Number of the first line that is not UTF-8, of a file that has one."""
    with _open_content(path) as lines:
        return next(number for number, line in enumerate(lines, start=1) if not _is_utf8(line))


def _is_utf8(line):
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _read_text(path, names):
    _refuse_binary(path)
    with _open_text(path) as lines:
        separator = _separator(list(islice(lines, _LINES)))
    with _open_text(path) as lines:
        header = _check_rows(csv.reader(lines, delimiter=separator), separator, path)
    _check_columns(header, names, path)
    places = [header.index(name) for name in names]
    with _open_text(path) as lines:
        table = pd.read_csv(
            lines,
            sep=separator,
            header=0,
            names=range(len(header)),
            usecols=places,
            index_col=False,
            dtype=str,
            keep_default_na=False,  # "NA", "None" and "null" are names of groups and classes
            na_values=[""],
        )
    return table[places].set_axis(names, axis=1)


def _refuse_binary(path):
    with _open_content(path) as file:
        content = file.read(1 << 16)
    for first, what in _BINARY.items():
        if content.startswith(first):
            raise ValueError(f"{path} must be CSV or Parquet, but it is {what}.")
    if b"\0" in content:
        raise ValueError(
            f"{path} must be CSV or Parquet, but it is a binary file of another kind; save the "
            "table as one of these."
        )


def _separator(lines):
    """The separator by which most lines have as many fields as the first, which has several."""

    def agreement(separator):
        lengths = [len(row) for row in csv.reader(lines, delimiter=separator) if row] or [0]
        first, *others = lengths
        return (others.count(first) if first > 1 else -1), first

    return max(_SEPARATORS, key=agreement)


def _check_rows(rows, separator, path):
    """The header of a file, all of whose lines have as many fields."""
    header = next(filter(None, rows), None)
    if header is None:
        raise ValueError(f"{path} is empty; one row per sample is needed, below a header.")
    n_rows = 0
    for row in filter(None, rows):
        if len(row) != len(header):
            raise ValueError(
                f"All lines of {path} must have the {len(header)} fields of its header, separated "
                f"by {separator!r}, but line {rows.line_num} has {len(row)}. The file may be cut "
                "off, or a separator within a name or a number lack quotation marks."
            )
        n_rows += 1
    if not n_rows:
        raise ValueError(f"{path} has a header, but no rows below it; one per sample is needed.")
    return header


def _check_columns(columns, names, path):
    """Refuse names of columns that a file does not have, or has twice."""
    columns = [str(name) for name in columns]
    if repeated := [name for name in names if columns.count(name) > 1]:
        raise ValueError(
            f"{path} has more than one column {join_names(map(repr, repeated))}; rename them."
        )
    absent = [name for name in names if name not in columns]
    if not absent:
        return
    raise ValueError(
        f"{path} has no column {join_names(map(repr, absent))}; its {len(columns)} columns are "
        f"{join_names(map(repr, columns), 20)}.{_hint(absent, columns)}"
    )


def _hint(absent, columns):
    """What may be meant by a name that is not there."""
    if numbers := [name for name in columns if _is_number(name)]:
        return (
            f" The first line looks like data ({join_names(map(repr, numbers), 3)}): the file must "
            "begin with a line of column names."
        )
    folded = {name.strip().casefold(): name for name in columns}
    close = get_close_matches(absent[0].strip().casefold(), folded, n=1)
    return f" Did you mean {folded[close[0]]!r}?" if close else ""


def _is_number(name):
    try:
        float(name)
    except ValueError:
        return False
    return True
