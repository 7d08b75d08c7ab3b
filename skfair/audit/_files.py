"""Columns of a file of predictions: CSV, also compressed by gzip, or Parquet."""

import csv
import gzip
import hashlib
import zlib
from contextlib import contextmanager
from difflib import get_close_matches
from functools import partial
from itertools import islice

import pandas as pd

from skfair.partitions._blocks import open_blocks
from skfair.partitions._collections import load_rows
from skfair.utils._checks import join_names

_SEPARATORS = ",;\t|"
_N_SNIFFED_LINES = 100
"""Lines that the separator is detected from."""

_GZIP_SIGNATURE = b"\x1f\x8b"
_BINARY_SIGNATURES = {
    b"PK\x03\x04": 'a spreadsheet or another zip archive; save the table as "CSV UTF-8"',
    b"\xff\xfe": "text in UTF-16; commands read it by --encoding utf-16",
    b"\xfe\xff": "text in UTF-16; commands read it by --encoding utf-16",
    b"BZh": "compressed by bzip2; unpack it",
    b"\xfd7zXZ": "compressed by xz; unpack it",
    b"\x28\xb5\x2f\xfd": "compressed by zstd; unpack it",
}
"""First bytes of files of other formats -> what they are, and what to do."""


def read_columns(path, names, encoding=None):
    """DataFrame of columns of a CSV file, a Parquet file or a folder of these.

    CSV is in UTF-8, or in another `encoding` of Python. The format is recognised by content, not by
    name. Entries of CSV are text as it is written, and
    only empty ones are missing. Entries of Parquet have their stored types. Files that are damaged
    or of another format, lines of another length than the header, and absent or repeated columns
    raise an OSError or ValueError with one sentence.
    """
    if not path.exists():
        raise FileNotFoundError(f"There is no file or folder {path}.")
    if not path.is_dir() and not path.is_file():
        raise ValueError(f"{path} must be a file or a folder; write its output to a file.")
    if path.is_dir() or _first_bytes(path, 4) == b"PAR1":
        table = open_blocks(path)
        check_columns(table.columns, names, path)
        return load_rows(table[names])
    with _explain_text_errors(path, encoding):
        if encoding is None:
            _refuse_binary(path)
        return _read_csv_columns(path, names, partial(_open_text, path, encoding))


def file_digest(path):
    """SHA-256 digest of a file; of a folder, that of the names and digests of its files."""
    if not path.is_dir():
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    files = sorted(one for one in path.rglob("*") if one.is_file())
    lines = [f"{file_digest(one)}  {one.relative_to(path).as_posix()}\n" for one in files]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _first_bytes(path, count):
    with open(path, "rb") as file:
        return file.read(count)


def _open_bytes(path):
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


def _first_undecodable_line(path):
    """Number of the first line that is not UTF-8, of a file that has one."""
    with _open_bytes(path) as lines:
        return next(number for number, line in enumerate(lines, start=1) if not _is_utf8(line))


def _is_utf8(line):
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _read_csv_columns(path, names, open_text):
    """Columns of a CSV file, as text."""
    # Detect the separator, check every line, then parse the columns.
    with open_text() as lines:
        separator = _detect_separator(list(islice(lines, _N_SNIFFED_LINES)))
    with open_text() as lines:
        header = _read_checked_header(csv.reader(lines, delimiter=separator), separator, path)
    check_columns(header, names, path)
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


def _refuse_binary(path):
    """Raise for spreadsheets, archives and other files that are not text."""
    with _open_bytes(path) as file:
        content = file.read(1 << 16)
    for first, what in _BINARY_SIGNATURES.items():
        if content.startswith(first):
            raise ValueError(f"{path} must be CSV or Parquet, but it is {what}.")
    if b"\0" in content:
        raise ValueError(
            f"{path} must be CSV or Parquet, but it is a binary file of another kind; save the "
            "table as one of these."
        )


def _detect_separator(lines):
    """The separator with which most lines have as many fields as the first, of several."""

    def agreement(separator):
        lengths = [len(row) for row in csv.reader(lines, delimiter=separator) if row] or [0]
        first, *others = lengths
        return (others.count(first) if first > 1 else -1), first

    return max(_SEPARATORS, key=agreement)


def _read_checked_header(rows, separator, path):
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


def check_columns(columns, names, path):
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


def _column_hint(absent, columns):
    """Advice on a column that is absent: a missing header, or a similar name."""
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


_MISSING_MARKS = frozenset("na n/a #n/a #na <na> nan -nan null none nil missing ? . -".split())
"""Entries that mark missing numbers, in lower case."""

_BOOLEANS = [{"True", "False"}, {"true", "false"}, {"TRUE", "FALSE"}]
"""Spellings of booleans."""


def check_complete_column(table, name):
    """A column of numbers or classes, which must be complete; None without a name."""
    if name is None:
        return None
    column = parse_column(table[name])
    if column.isna().any():
        first = int(column.isna().to_numpy().argmax())
        written = table[name].iloc[first]
        quoted = f" ({written!r})" if isinstance(written, str) else ""
        raise ValueError(
            f"The column {name!r} must be complete, but {int(column.isna().sum())} of its "
            f"{len(column)} entries are missing, the first in row {first + 1}{quoted}; leave these "
            "rows out of the file."
        )
    return column


def read_outcomes(table, name, y_pred):
    """Column of the outcomes that are known; None without a name, or if none is.

    Others are empty, or the usual mark of a missing value, unless it is predicted too.
    """
    if name is None:
        return None
    predicted = set() if y_pred is None else set(y_pred.unique())
    is_known = ~table[name].astype(object).map(
        lambda one: (
            pd.isna(one) or (isinstance(one, str) and is_missing_mark(one) and one not in predicted)
        )
    ).to_numpy(dtype=bool)
    y_true = check_complete_column(table[is_known], name) if is_known.any() else None
    check_missing_marks(y_true, y_pred)
    return y_true


def place_outcomes(y_true, table):
    """Known outcomes in the rows of a table, where others are missing; None without any."""
    if y_true is None or len(y_true) == len(table):
        return y_true
    return y_true.astype(object).reindex(table.index)


def parse_column(column):
    """Text as the booleans or numbers that it spells; anything else unchanged."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(column.cat.categories.dtype)
    kind = pd.api.types.infer_dtype(column, skipna=True)
    if kind != "string":
        return column.astype(float) if kind == "decimal" else column
    # Each distinct text is parsed once: booleans first, then numbers.
    texts = column.dropna().unique().tolist()
    if any(set(texts) <= spelling for spelling in _BOOLEANS):
        return column.map({text: text.lower() == "true" for text in texts})
    texts = [text for text in texts if not is_missing_mark(text)]
    numbers = pd.to_numeric(
        _replace_decimal_commas(pd.Series(texts, dtype=object)), errors="coerce"
    )
    if numbers.isna().any():
        return column
    return column.map(dict(zip(texts, numbers.tolist(), strict=True)))


def is_missing_mark(text):
    """Whether text is a usual mark of a missing value."""
    return text.strip().casefold() in _MISSING_MARKS


def _replace_decimal_commas(texts):
    """Numbers with decimal commas, written with decimal points; other text unchanged."""
    written = texts[texts.str.contains(",", regex=False)]
    if not len(written) or not written.str.fullmatch(r"\s*[+-]?\d*,\d+([eE][+-]?\d+)?\s*").all():
        return texts
    if written.str.fullmatch(r"\s*[+-]?[1-9]\d{0,2},\d{3}\s*").all():
        raise ValueError(
            f"Numbers must be written with a decimal point and without separators of thousands; "
            f"the comma of {written.iloc[0]!r} may be either."
        )
    return texts.str.replace(",", ".", regex=False)


def check_missing_marks(*columns):
    """Raise for a mark of a missing value as a class, unless truth and predictions both have it."""
    columns = [column for column in columns if column is not None]
    texts = [{label for label in column.unique() if isinstance(label, str)} for column in columns]
    shared = set.intersection(*texts) if len(texts) > 1 else set()
    for column, labels in zip(columns, texts, strict=True):
        for text in sorted(labels - shared):
            if is_missing_mark(text):
                raise ValueError(
                    f"The column {column.name!r} must be complete, but it holds {text!r}, which "
                    "usually marks a missing value; leave these rows out of the file, or give the "
                    "class another name."
                )


def check_same_notation(y_true, y_pred):
    """Raise for classes that are written in two ways, in one column or in both; `y_true` or None.

    These are numbers and text, and text that differs in case or surrounding spaces alone.
    """
    columns = [column for column in (y_true, y_pred) if column is not None]
    _check_one_spelling(columns)
    if y_true is None:
        return
    numbers, text = sorted((y_true, y_pred), key=lambda column: not holds_numbers(column))
    if holds_numbers(numbers) != holds_numbers(text):
        raise ValueError(
            f"Classes must be written the same way in both columns, but {numbers.name!r} "
            f"holds numbers or booleans, such as {numbers.iloc[0]}, and {text.name!r} does not, "
            f"such as {text.iloc[0]!r}."
        )


def _check_one_spelling(columns):
    """Raise for labels that differ in case or surrounding spaces alone."""
    labels = {label for one in columns for label in one.unique() if isinstance(label, str)}
    spellings = {}
    for label in sorted(labels):
        spellings.setdefault(label.strip().casefold(), []).append(label)
    for same in spellings.values():
        if len(same) > 1:
            raise ValueError(
                "Classes must be written the same way in all rows, but "
                f"{join_names(repr(one.name) for one in columns)} hold "
                f"{join_names(map(repr, same))}, which differ in case or spaces alone; replace all "
                "of them by one."
            )


def holds_numbers(column):
    return pd.api.types.is_numeric_dtype(column)


def has_decimals(column):
    return pd.api.types.is_float_dtype(column) and bool((column % 1 != 0).any())


def find_label(label, column):
    """A label of the command line as the column has it: numbers are numbers there."""
    if label is None:
        return None
    # The class as text, then as the number or boolean that the text spells.
    known = column.unique().tolist()
    for written in (label, parse_column(pd.Series([label])).iloc[0]):
        if written in known:
            return known[known.index(written)]
    classes = join_names(repr(str(value)) for value in known)
    raise ValueError(f"--positive must be one of the classes {classes}; got {label!r}.")
