"""Columns of a file of predictions: CSV or JSON, perhaps in gzip, Parquet, or a spreadsheet."""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import re
import zlib
from contextlib import contextmanager
from difflib import get_close_matches
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np
import pandas as pd

from skfair._columns.reading import refuse_headings_and_totals
from skfair._columns.spreadsheets import is_spreadsheet, read_sheet
from skfair._partitions.blocks import open_blocks
from skfair._partitions.collections import load_rows
from skfair._utils.checks import join_names, warn

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from contextlib import AbstractContextManager
    from io import BufferedIOBase
    from pathlib import Path

    from skfair._partitions.blocks import Blocks


_SEPARATORS = ",;\t|"

_GZIP_SIGNATURE = b"\x1f\x8b"
_BINARY_SIGNATURES = {
    b"PK\x03\x04": 'a zip archive; unpack it, or save the table as "CSV UTF-8"',
    b"\xff\xfe\x00\x00": "text in UTF-32; commands read it by --encoding utf-32",
    b"\xff\xfe": "text in UTF-16; commands read it by --encoding utf-16",
    b"\xfe\xff": "text in UTF-16; commands read it by --encoding utf-16",
    b"<?xml": 'XML; save the table as "CSV UTF-8"',
    b"<html": 'a page in HTML; save the table as "CSV UTF-8"',
    b"BZh": "compressed by bzip2; unpack it",
    b"\xfd7zXZ": "compressed by xz; unpack it",
    b"\x28\xb5\x2f\xfd": "compressed by zstd; unpack it",
}
"""First bytes of files of other formats -> what they are, and what to do."""


FILE_COLUMN = "file"
"""Column that names the file of each row, where several are read and have none of this name."""


def read_columns(paths, names, encoding=None, sheet=None):
    """DataFrame of columns of a file, or of several files or folders, one below the other.

    Text is in UTF-8, or in another `encoding` of Python. The format is recognised by content, not
    by name. JSON is an array of records, or a record on each line. Entries of CSV are text as it is
    written, and only empty ones are missing; those of JSON are text, too. Entries of Parquet have
    their stored types. Entries of a spreadsheet, of the sheet of a name if there are several, are
    text as CSV has it. An OSError or ValueError says in one sentence what is wrong: files that are
    damaged or of another format, lines of another length than the header, lines that look like a
    second header or like totals, and absent or repeated columns.
    """
    files = list_files(paths)
    if all(map(_is_parquet, files.values())) and len(paths) == 1:
        table = open_blocks(paths[0])
        if {*names} <= {*table.columns} or FILE_COLUMN not in names or len(files) == 1:
            table = _load_blocks(table, names, paths[0])
            lengths = {name: len(open_blocks(path)) for name, path in files.items()}
            _warn_of_copy(table, lengths)
            return table
    if len({*map(_is_parquet, files.values())}) > 1:
        raise ValueError(
            f"Files must have one format, but some of {join_names(files, 4)} are Parquet and some "
            "are text. Write all of them as Parquet, or as CSV."
        )
    tables = []
    for name, path in files.items():
        label = name if len(files) > 1 and FILE_COLUMN in names else None
        tables.append(_read_one_file(path, names, encoding, sheet, label))
    if len(tables) == 1:
        return tables[0]
    table = pd.concat(tables, ignore_index=True)
    _warn_of_copy(table, dict(zip(files, map(len, tables), strict=True)))
    return table


def list_columns(paths, encoding=None, sheet=None):
    """Return the names of the columns of a file, or of the first of several files or folders."""
    path = next(iter(list_files(paths).values()))
    if _is_parquet(path):
        return [str(name) for name in open_blocks(path).columns]
    if is_spreadsheet(path):
        return [str(name) for name in read_sheet(path, sheet).columns]
    with _explain_text_errors(path, encoding):
        if encoding is None:
            _refuse_binary(path)
        if _holds_records(path):
            return [*_load_records(path, encoding)[1]]
        return _read_header(path, partial(_open_text, path, encoding))[0]


def _warn_of_copy(table: pd.DataFrame, lengths: dict[str, int]) -> None:
    """Warn of a file whose rows are those of all the others, which it may have been made from."""
    last = np.cumsum([*lengths.values()])
    for (name, length), end in zip(lengths.items(), last, strict=True):
        if len(lengths) == 1 or 2 * length != len(table):
            continue
        hashes = pd.util.hash_pandas_object(table.drop(columns=FILE_COLUMN, errors="ignore"), False)
        is_inside = np.zeros(len(table), dtype=bool)
        is_inside[end - length : end] = True
        if (np.sort(hashes[is_inside]) == np.sort(hashes[~is_inside])).all():
            warn(
                f"The rows of {name} are those of the other files together, in the columns that "
                "are read. If it was made from them, every sample counts twice: pass it alone, or "
                "leave it out. If its samples are others, nothing need be done."
            )
            return


def list_files(paths: list[Path]) -> dict[str, Path]:
    """The files at some paths, and in folders among these, by name.

    In folders, names that begin with "." or "_" are skipped, as pyarrow and Spark do.
    """
    files: dict[str, Path] = {}
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(f"There is no file or folder {path}.")
        if not path.is_dir() and not path.is_file():
            raise ValueError(f"{path} must be a file or a folder; write its output to a file.")
        listed = {path.name: path}
        if path.is_dir():
            inside = {one.relative_to(path): one for one in sorted(path.rglob("*"))}
            listed = {
                name.as_posix(): one
                for name, one in inside.items()
                if one.is_file() and not any(part[0] in "._" for part in name.parts)
            }
        if not listed:
            raise ValueError(f"The folder {path} must hold files of samples, but is empty.")
        if repeated := [name for name in listed if name in files]:
            raise ValueError(
                f"Files must have different names, but {repeated[0]!r} occurs twice; rename one, "
                "or pass it once."
            )
        files |= listed
    return files


def _is_parquet(path: Path) -> bool:
    """Whether a file is of the format Parquet."""
    return _first_bytes(path, 4) == b"PAR1"


def _read_one_file(path, names, encoding, sheet, label):
    """Columns of one file, and its label as the column `FILE_COLUMN` unless it is None or known."""
    if _is_parquet(path):
        table = open_blocks(path)
        return _load_blocks(table, names, path, label)
    if is_spreadsheet(path):
        table = read_sheet(path, sheet)
        table = table[_check_names(table.columns, names, path, label)]
        refuse_headings_and_totals(table, path)
        return _add_label(table, names, label)
    if sheet is not None:
        raise ValueError(f"{path} is no spreadsheet, so that --sheet {sheet!r} is of no use.")
    with _explain_text_errors(path, encoding):
        if encoding is None:
            _refuse_binary(path)
        if _holds_records(path):
            table = _read_records(path, names, encoding, label)
        else:
            table = _read_csv_columns(path, names, partial(_open_text, path, encoding), label)
    refuse_headings_and_totals(table, path)
    return _add_label(table, names, label)


def _load_blocks(
    table: Blocks, names: list[str], path: Path, label: str | None = None
) -> pd.DataFrame:
    """Columns of a table of Parquet, and the label of its file."""
    stored = _check_names(table.columns, names, path, label)
    loaded = load_rows(table[stored])
    refuse_headings_and_totals(loaded, path)
    return _add_label(loaded, names, label)


def _check_names(
    columns: Collection[Any], names: list[str], path: Path, label: str | None
) -> list[Any]:
    """Names of the columns that a file must have, after checking that it has them."""
    if label is not None and FILE_COLUMN not in columns:
        names = [name for name in names if name != FILE_COLUMN]
    check_columns(columns, names, path)
    return names


def _add_label(table: pd.DataFrame, names: list[str], label: str | None) -> pd.DataFrame:
    """The columns of some names, of which the file's label may be one."""
    missing = {FILE_COLUMN: label} if {*names} > {*table} else {}
    return table.assign(**missing)[names]


def count_repeated_lines(paths, encoding=None, sheet=None):
    """Number of lines of CSV files of one header, or rows of Parquet or a spreadsheet, that repeat.

    It is None for other files.
    """
    files = list_files(paths).values()
    if all(map(_is_parquet, files)) and len(paths) == 1:
        return _count_repeated_rows(open_blocks(paths[0]))
    if len(paths) == len(files) == 1 and is_spreadsheet(*files):
        return int(read_sheet(*files, sheet).duplicated().sum())
    if any(_is_parquet(path) or is_spreadsheet(path) or _holds_records(path) for path in files):
        return None
    hashes = []
    for path in files:
        with _open_text(path, encoding) as lines:
            texts = filter(None, map(str.strip, lines))
            hashes.append(np.fromiter(map(hash, texts), dtype=np.int64))
    if len({one[0] for one in hashes}) > 1:
        return None
    hashes = np.concatenate([hashes[0], *(one[1:] for one in hashes[1:])])
    return len(hashes) - len(np.unique(hashes))


def _count_repeated_rows(table: Blocks) -> int | None:
    """Number of rows of Parquet that equal an earlier one; None with columns of lists."""
    hashes = np.zeros(len(table), dtype=np.uint64)
    # One column at a time bounds the memory.
    for name in table.columns:
        try:
            column = pd.util.hash_pandas_object(load_rows(table[[name]]), index=False)
        except TypeError:
            return None
        hashes = hashes * np.uint64(1_000_003) + column.to_numpy()
    return len(hashes) - len(np.unique(hashes))


def file_digest(paths: list[Path]) -> str:
    """SHA-256 digest of a file; of several, that of their digests and names."""
    if len(paths) == 1 and not paths[0].is_dir():
        with open(paths[0], "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    files: dict[str, Path] = {}
    for path in paths:
        inside = (one for one in path.rglob("*") if one.is_file()) if path.is_dir() else ()
        files |= {one.relative_to(path).as_posix(): one for one in inside} or {path.name: path}
    lines = [f"{file_digest([files[name]])}  {name}\n" for name in sorted(files)]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _first_bytes(path: Path, count: int) -> bytes:
    with open(path, "rb") as file:
        return file.read(count)


def _open_bytes(path: Path) -> BufferedIOBase:
    """A file opened as bytes, without the compression by gzip."""
    return gzip.open(path) if _first_bytes(path, 2) == _GZIP_SIGNATURE else open(path, "rb")


def _open_text(path, encoding):
    """A file opened as text, in UTF-8 unless the encoding says another one."""
    settings = {"encoding": encoding or "utf-8-sig", "newline": ""}
    if _first_bytes(path, 2) == _GZIP_SIGNATURE:
        return gzip.open(path, "rt", **settings)
    return open(path, **settings)


@contextmanager
def _explain_text_errors(path, encoding):
    """Turn errors of decoders and parsers into sentences that name the file."""
    try:
        yield
    except LookupError:
        raise ValueError(
            f"The encoding of a file must be one of Python's, such as 'latin-1' or 'utf-16'; got "
            f"{encoding!r}."
        ) from None
    except UnicodeError as error:
        if encoding is not None:
            raise ValueError(
                f"{path} must be text in {encoding}, but it is not ({error})."
            ) from None
        raise ValueError(
            f"{path} must be text in UTF-8, but line {_first_undecodable_line(path)} is not. Save "
            'it as UTF-8, in a spreadsheet as "CSV UTF-8"; commands read others by --encoding, '
            "such as latin-1."
        ) from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{path} is not a complete gzip file ({error}); write it again.") from None
    except (csv.Error, pd.errors.ParserError) as error:
        raise ValueError(
            f"{path} must be CSV, but it cannot be divided into columns ({error}). A quotation "
            "mark may be open; write the file again."
        ) from None


def _first_undecodable_line(path: Path) -> int:
    """Number of the first line that is not UTF-8, of a file that has one."""
    number = 1
    with _open_bytes(path) as lines:
        for line in lines:
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                break
            number += 1
    return number


def _read_csv_columns(
    path: Path,
    names: list[str],
    open_text: Callable[[], AbstractContextManager[TextIO]],
    label: str | None,
) -> pd.DataFrame:
    """Columns of a CSV file, as text."""
    header, separator = _read_header(path, open_text)
    names = _check_names(header, names, path, label)
    places = [header.index(name) for name in names]
    with open_text() as lines:
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


def _read_header(
    path: Path, open_text: Callable[[], AbstractContextManager[TextIO]]
) -> tuple[list[str], str]:
    """Return the names of the columns of a CSV file and its separator, after checking each line."""
    with open_text() as lines:
        # Lines that the separator is detected from.
        first_lines = list(islice(lines, 100))
        _refuse_line_before_header(first_lines, path)
        separator = _detect_separator(first_lines)
    with open_text() as lines:
        header = _read_checked_header(csv.reader(lines, delimiter=separator), separator, path)
    return header, separator


def _refuse_line_before_header(lines: list[str], path: Path) -> None:
    """Raise for a first line that is a comment, or tells a spreadsheet the separator."""
    first = lines[0].strip() if lines else ""
    if re.fullmatch(r'"?sep=.?"?', first) or first.startswith("# "):
        raise ValueError(
            f"The first line of {path} must have the names of its columns, but it is {first!r}. "
            "Delete this line."
        )


def _holds_records(path: Path) -> bool:
    """Whether a file begins with a JSON record, or with an array of them."""
    with _open_bytes(path) as file:
        content = file.read(1 << 10).removeprefix(b"\xef\xbb\xbf")
    return re.match(rb'\s*\[?\s*\{\s*"', content) is not None


def _load_records(path, encoding):
    """Return the records of a file of JSON, and the names of their columns."""
    with _open_text(path, encoding) as lines:
        text = lines.read()
    try:
        is_array = text.lstrip().startswith("[")
        texts = [text] if is_array else filter(str.strip, text.splitlines())
        records = [json.loads(one) for one in texts]
    except ValueError as error:
        raise ValueError(
            f"{path} must be an array of JSON records, or have one record on each line, but it is "
            f"not ({error}); write it again."
        ) from None
    records = records[0] if is_array else records
    if not all(isinstance(one, dict) for one in records):
        raise ValueError(f"All entries of {path} must be records, such as {{'group': 'a'}}.")
    if len(records) == 1 and all(isinstance(one, dict) for one in records[0].values()):
        raise ValueError(
            f"{path} must have a JSON record for each row, but it has an entry for each column, as "
            "DataFrame.to_json() writes it. Write it by to_json(orient='records')."
        )
    return records, dict.fromkeys(name for one in records for name in one)


def _read_records(path, names, encoding, label):
    """Columns of an array of JSON records, or of a record on each line, as text."""
    records, known = _load_records(path, encoding)
    names = _check_names(known, names, path, label)
    columns = {name: [_entry_text(one.get(name)) for one in records] for name in names}
    return pd.DataFrame(columns, dtype=object)


def _entry_text(value: int | str | None) -> str | None:
    """An entry of a record as CSV has it; missing if it is null or empty."""
    return None if value is None or value == "" else str(value)


def _refuse_binary(path: Path) -> None:
    """Raise for spreadsheets, archives and other files that are not text."""
    with _open_bytes(path) as file:
        content = file.read(1 << 16)
    for first, what in _BINARY_SIGNATURES.items():
        if content.startswith(first):
            raise ValueError(f"{path} must be CSV, Parquet or a spreadsheet, but it is {what}.")
    if b"\0" in content:
        raise ValueError(
            f"{path} must be CSV, Parquet or a spreadsheet, but it is a binary file of another "
            "kind; save the table as one of these."
        )


def _detect_separator(lines: list[str]) -> str:
    """The separator with which most lines have as many fields as the first, of several."""

    def agreement(separator: str) -> tuple[int, int]:
        lengths = [len(row) for row in csv.reader(lines, delimiter=separator) if row] or [0]
        first, *others = lengths
        return (others.count(first) if first > 1 else -1), first

    return max(_SEPARATORS, key=agreement)


def _read_checked_header(rows: Any, separator: str, path: Path) -> list[str]:
    """The header of a file, after checking that all lines have as many fields."""
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


def check_columns(columns: Iterable[Any], names: list[str], path: Path | str) -> None:
    """Raise for names of columns that a file does not have, or has twice."""
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
        f"{join_names(map(repr, columns), 20)}.{_column_hint(absent, columns)}"
    )


def _column_hint(absent: list[str], columns: list[str]) -> str:
    """Advice on a column that is absent: a missing header, or a similar name."""
    if numbers := [name for name in columns if _is_number(name)]:
        return (
            f" The first line looks like data ({join_names(map(repr, numbers), 3)}): the file must "
            "begin with a line of column names."
        )
    folded = {name.strip().casefold(): name for name in columns}
    close = get_close_matches(absent[0].strip().casefold(), folded, n=1)
    return f" Did you mean {folded[close[0]]!r}?" if close else ""


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True
