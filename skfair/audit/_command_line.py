"""The commands ``report`` and ``subgroups``, and the files of predictions that they read."""

import csv
import gzip
import hashlib
import os
import re
import tempfile
import warnings
import zlib
from contextlib import contextmanager
from difflib import get_close_matches
from functools import partial
from itertools import islice
from pathlib import Path
from types import MappingProxyType

import pandas as pd

from skfair.audit._report import FairnessReport
from skfair.audit._sections import FACTS
from skfair.audit._subgroups import find_subgroups
from skfair.audit._tables import SHARES
from skfair.inference import check_level
from skfair.partitions import load_rows, open_blocks
from skfair.utils._checks import join_names, warn

# Read columns of a file of predictions: CSV, also compressed by gzip, or Parquet.


_SEPARATORS = ",;\t|"
_N_SNIFFED_LINES = 100
"""Lines that the separator is detected from."""

_GZIP = b"\x1f\x8b"
_BINARY = {
    b"PK\x03\x04": 'a spreadsheet or another zip archive; save the table as "CSV UTF-8"',
    b"\xff\xfe": "text in UTF-16; iconv -f utf-16 -t utf-8 converts it",
    b"\xfe\xff": "text in UTF-16; iconv -f utf-16 -t utf-8 converts it",
    b"BZh": "compressed by bzip2; unpack it",
    b"\xfd7zXZ": "compressed by xz; unpack it",
    b"\x28\xb5\x2f\xfd": "compressed by zstd; unpack it",
}
"""First bytes of files of other formats -> what they are, and what to do."""


def read_columns(path, names):
    """DataFrame of columns of a CSV file in UTF-8, a Parquet file or a folder of these.

    The format is recognised by content, not by name. Entries of CSV are text as it is written, and
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
        _check_columns(table.columns, names, path)
        return load_rows(table[names])
    with _explain_text_errors(path):
        return _read_text(path, names)


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


def _open_content(path):
    """A file opened as bytes, without the compression by gzip."""
    return gzip.open(path) if _first_bytes(path, 2) == _GZIP else open(path, "rb")


def _open_text(path):
    if _first_bytes(path, 2) == _GZIP:
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return open(path, encoding="utf-8-sig", newline="")


@contextmanager
def _explain_text_errors(path):
    """Turn errors of decoders and parsers into sentences that name the file."""
    try:
        yield
    except UnicodeDecodeError:
        raise ValueError(
            f"{path} must be text in UTF-8, but line {_first_undecoded(path)} is not. Save it as "
            'UTF-8, in a spreadsheet as "CSV UTF-8"; iconv -f latin1 -t utf-8 converts Latin-1.'
        ) from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{path} is not a complete gzip file ({error}); write it again.") from None
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
    """Columns of a CSV file, as text."""
    _refuse_binary(path)
    # Detect the separator, check every line, then parse the columns.
    with _open_text(path) as lines:
        separator = _detect_separator(list(islice(lines, _N_SNIFFED_LINES)))
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
    """Raise for spreadsheets, archives and other files that are not text."""
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


def _detect_separator(lines):
    """The separator with which most lines have as many fields as the first, of several."""

    def agreement(separator):
        lengths = [len(row) for row in csv.reader(lines, delimiter=separator) if row] or [0]
        first, *others = lengths
        return (others.count(first) if first > 1 else -1), first

    return max(_SEPARATORS, key=agreement)


def _check_rows(rows, separator, path):
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


def _check_columns(columns, names, path):
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
        f"{join_names(map(repr, columns), 20)}.{_hint(absent, columns)}"
    )


def _hint(absent, columns):
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


# The command ``python -m skfair report``: audit a file of predictions of any tool.


_OPTIONS = {
    'kind="classification"': "--kind classification",
    'kind="regression"': "--kind regression",
    'kind="clustering"': "--kind clustering",
    'missing="exclude"': "--missing exclude",
    'missing="group"': "--missing group",
    "unknown=[...]": "--unknown",
    "min_share": "--min-share",
    "provenance": "--provenance",
    "pos_label=...": "--positive",
    "pos_label": "--positive",
    "y_true": "--target",
    "y_pred": "--prediction",
    "y_proba or y_score": "--probability",
    "y_proba": "--probability",
    "sensitive_features": "--sensitive",
    "sample_weight": "--weight",
}
"""Parameters of reports -> options of the command line."""

_MARKS = frozenset("na n/a #n/a #na <na> nan -nan null none nil missing ? . -".split())
"""Entries that mark missing numbers, in lower case."""

_BOOLEANS = [{"True", "False"}, {"true", "false"}, {"TRUE", "FALSE"}]
"""Spellings of booleans."""


def add_report_command(commands):
    """Add the command ``report`` to the subparsers of ``python -m skfair``."""
    report = commands.add_parser(
        "report", help="audit predictions in CSV or Parquet files", description=__doc__
    )
    add = report.add_argument
    add("file", type=Path, help="CSV (any separator), Parquet or a folder of it, a row per sample")
    add("--target", help="column of the truth; left out if outcomes are not known")
    add(
        "--prediction",
        required=True,
        help="column of decisions, classes, scores, values or clusters",
    )
    add("--probability", help="column of the probability of the positive class")
    add(
        "--sensitive",
        nargs="+",
        required=True,
        metavar="COLUMN",
        help="columns of protected attributes (groups)",
    )
    add("--weight", help="column of sample weights")
    add(
        "--kind",
        choices=["classification", "regression", "clustering"],
        help="what the predictions are (default: regression if the target has decimals)",
    )
    add(
        "--missing",
        choices=["exclude", "group", "error"],
        help="what happens to empty groups (default: group, or exclude for a summary)",
    )
    add(
        "--unknown",
        nargs="+",
        metavar="LABEL",
        help="labels of unknown groups, such as Unknown or 'Decline to state'",
    )
    add("--summary", choices=["ll144"], help="the summary that New York's Local Law 144 requires")
    add("--min-share", type=float, default=0.02, help="groups below it have no impact ratio (.02)")
    add("--provenance", nargs="+", metavar="NAME=TEXT", default=[], help="facts for the page")
    add("--positive", help="the class that means success, as it is written in the file")
    add("--threshold", type=float, help="scores above it are positive (default .5)")
    add("--confidence", type=float, default=0.95, help="how often intervals hold (default .95)")
    add("--title", default="Fairness report", help="heading of the page")
    add(
        "--out",
        type=Path,
        default=Path("report.html"),
        help="page, .html, .md or .json (report.html)",
    )
    report.set_defaults(run=partial(_run, report))


def _run(parser, options):
    """Write the report that the options ask for; return the exit status."""
    try:
        _check_options(options)
        check_output(options.out, options.file)
        report = _build_report(options)
        missing = _write_report(report, options)
    except (OSError, ValueError, TypeError, ImportError) as error:
        parser.error(str(error))
    print(*report.findings, f"The whole report is in {options.out}.", *missing, sep="\n")
    return 0


def _write_report(report, options):
    """Write the report in the format of the file, and return what a summary lacks."""
    missing = []
    if options.summary is not None:
        with explain_options():
            missing = report.missing_fields(options.summary)
    if options.out.suffix.lower() == ".json":
        report.to_json(options.out)
    elif options.out.suffix.lower() == ".md":
        report.to_markdown(options.out, summary=options.summary)
    else:
        report.to_html(options.out, summary=options.summary)
    return [f"Missing in the summary: {_name_options(sentence)}" for sentence in missing]


def _name_options(message, phrases=MappingProxyType({})):
    """Rewrite a message about parameters as one about command-line options."""
    options = {**phrases, **_OPTIONS}
    names = "|".join(rf"(?<![\w-]){re.escape(name)}(?!\w)" for name in options)
    return re.sub(names, lambda match: options[match[0]], message)


@contextmanager
def explain_options(phrases=MappingProxyType({})):
    """Turn errors and warnings about parameters of the library into some about options.

    `phrases` of the library and those of a command extend the names of the parameters.
    """
    with warnings.catch_warnings(record=True) as caught:
        try:
            yield
        except (ValueError, TypeError) as error:
            raise ValueError(_name_options(str(error), phrases)) from error
    for warning in caught:
        warn(_name_options(str(warning.message), phrases), warning.category)


def _check_options(options):
    """Raise for options that contradict each other, before anything is read."""
    check_level(options.confidence, "--confidence")
    named = [options.target, *{options.prediction, options.probability}, *options.sensitive]
    if options.summary is not None and options.out.suffix.lower() == ".json":
        raise ValueError("--summary is a page: --out must end in .html, .htm or .md.")
    repeated = {name for name in named if name is not None and named.count(name) > 1}
    if repeated:
        raise ValueError(
            f"A column must have one role, but {join_names(map(repr, sorted(repeated)))} is named "
            "twice among --target, --prediction, --probability and --sensitive."
        )
    if options.target is not None and options.kind == "clustering":
        raise ValueError("--kind clustering has no truth to compare with; leave out --target.")
    if options.target is None and options.threshold is not None and options.positive is not None:
        raise ValueError(
            "--positive names a class, but without --target --threshold makes the decisions: "
            "scores above it are positive. Leave one of the two out."
        )
    if options.kind == "regression":
        class_options = ("positive", "threshold", "probability")
        unused = [f"--{name}" for name in class_options if getattr(options, name) is not None]
        if unused:
            raise ValueError(f"--kind regression has no classes; leave out {join_names(unused)}.")


_FORMATS = {".html": "a page", ".htm": "a page", ".md": "Markdown", ".json": "data"}
"""Endings of files that are written."""


def check_output(out, file, suffixes=tuple(_FORMATS), option="--out"):
    """Raise for an output that cannot be written, or that is one of the input files."""
    # The input must not be overwritten, whatever path names it.
    inputs = file.rglob("*") if file.is_dir() else [file]
    if out.exists() and any(out.samefile(one) for one in inputs if one.is_file()):
        raise ValueError(
            f"{option} must not be a file that is read, but {out} is: it would overwrite the "
            "predictions. Choose another name."
        )
    if out.suffix.lower() not in suffixes:
        raise ValueError(
            f"{option} must end in one of {join_names(suffixes)}, got {out}. "
            f"{join_names(f'{one} is {_FORMATS[one]}' for one in suffixes)}; a browser prints a "
            "page to PDF."
        )
    # Try to write, before the work of the report.
    folder = Path(os.path.realpath(out)).parent
    if not folder.is_dir():
        raise ValueError(
            f"{option} must be in a folder that exists, but {folder} does not; create it."
        )
    if out.exists() and not out.is_file():
        raise ValueError(f"{option} must be a file, but {out} is something else, such as a folder.")
    try:
        if out.exists():
            out.open("a").close()
        # A new file is written beside the old one, which it then replaces.
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise OSError(f"{option} must be writable, but {out} is not ({error.strerror}).") from None


def _build_report(options):
    """The report that the options ask for."""
    roles = [options.target, options.prediction, options.probability, options.weight]
    names = [name for name in (*roles, *options.sensitive) if name is not None]
    # Read the columns as numbers, booleans or text, and check what each must hold.
    table = read_columns(options.file, list(dict.fromkeys(names)))
    y_true, y_pred, y_proba, weights = (complete_column(table, name) for name in roles)
    check_missing_marks(y_true, y_pred)
    _check_numbers(options, y_true, y_pred, y_proba, weights)
    positive = find_label(options.positive, y_true if y_true is not None else y_pred)
    columns = {"y_proba": y_proba, "sample_weight": weights}
    # Turn scores into decisions, if the predictions are scores.
    threshold = _threshold(options, y_true, y_pred)
    if threshold is not None:
        name = "y_proba" if y_pred.between(0.0, 1.0).all() else "y_score"
        columns[name], y_pred = y_pred, _apply_threshold(y_pred, y_true, threshold, positive)
    check_same_notation(y_true, y_pred)
    groups = table[options.sensitive].astype(object)
    with explain_options():
        return FairnessReport.from_predictions(
            y_true,
            y_pred,
            sensitive_features=groups.map(str).where(groups.notna(), None),
            kind=options.kind,
            unknown=options.unknown,
            missing=options.missing or ("group" if options.summary is None else "exclude"),
            min_share=options.min_share,
            pos_label=positive,
            confidence_level=options.confidence,
            title=options.title,
            provenance=_provenance(options, len(table), threshold),
            **columns,
        )


def _provenance(options, n_rows, threshold):
    """Collect the facts of the report: file, columns, rows, threshold, and what the user states."""
    roles = ("target", "prediction", "probability", "weight")
    named = [f"{role} {name}" for role in roles if (name := getattr(options, role)) is not None]
    named.append(f"sensitive {', '.join(options.sensitive)}")
    # Facts about the file come first; those that the user states may replace them.
    facts = {"file": options.file.name, "sha256": file_digest(options.file)}
    facts |= {"columns": "; ".join(named), "rows": f"{n_rows:,}"}
    if threshold is not None:
        facts["threshold"] = f"{threshold:g}: scores above it are positive"
    for text in options.provenance:
        name, sign, value = text.partition("=")
        if not sign or not name.strip():
            raise ValueError(
                f"--provenance must be NAME=TEXT, such as source='applications of 2025'; got "
                f"{text!r}. Known names are {join_names(FACTS, len(FACTS))}."
            )
        facts[name.strip()] = value.strip()
    return facts


def complete_column(table, name):
    """A column of numbers or classes, which must be complete; None without a name."""
    if name is None:
        return None
    column = _parse_column(table[name])
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


def _parse_column(column):
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
    texts = [text for text in texts if not is_mark(text)]
    numbers = pd.to_numeric(
        _replace_decimal_commas(pd.Series(texts, dtype=object)), errors="coerce"
    )
    if numbers.isna().any():
        return column
    return column.map(dict(zip(texts, numbers.tolist(), strict=True)))


def is_mark(text):
    """Whether text is a usual mark of a missing value."""
    return text.strip().casefold() in _MARKS


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
            if is_mark(text):
                raise ValueError(
                    f"The column {column.name!r} must be complete, but it holds {text!r}, which "
                    "usually marks a missing value; leave these rows out of the file, or give the "
                    "class another name."
                )


def _check_numbers(options, y_true, y_pred, y_proba, weights):
    """Raise for text where numbers are needed, and numbers with decimals where classes are."""
    is_regression = options.kind == "regression"
    numeric = [y_proba, weights]
    numeric += [y_true, y_pred] if is_regression else [y_pred] * (options.threshold is not None)
    for column in numeric:
        if column is not None and not _holds_numbers(column):
            numbers = pd.to_numeric(column, errors="coerce")
            wrong = column[numbers.isna()].iloc[0] if numbers.isna().any() else column.iloc[0]
            raise ValueError(
                f"The column {column.name!r} must hold numbers, but it holds {wrong!r}. Write "
                "decimals with a point, and no separators of thousands."
            )
    if y_true is None or options.kind == "regression":
        return
    if options.kind == "classification" and _has_decimals(y_true):
        raise ValueError(
            f"--kind classification needs classes, but the target {options.target!r} has numbers "
            "with decimals; pass --kind regression."
        )
    if not _has_decimals(y_true) and _has_decimals(y_pred) and y_true.nunique() != 2:
        raise ValueError(
            f"The prediction {options.prediction!r} has decimals, but the target "
            f"{options.target!r} holds {y_true.nunique()} classes or integers. Pass --kind "
            "regression if both are quantities; else pass the predicted classes as --prediction."
        )


def check_same_notation(y_true, y_pred):
    """Raise for classes that are numbers in one column and text in the other."""
    if y_true is None:
        return
    numbers, text = sorted((y_true, y_pred), key=lambda column: not _holds_numbers(column))
    if _holds_numbers(numbers) != _holds_numbers(text):
        raise ValueError(
            f"Classes must be written the same way in both columns, but {numbers.name!r} "
            f"holds numbers or booleans, such as {numbers.iloc[0]}, and {text.name!r} does not, "
            f"such as {text.iloc[0]!r}."
        )


def _holds_numbers(column):
    return pd.api.types.is_numeric_dtype(column)


def _has_decimals(column):
    return pd.api.types.is_float_dtype(column) and bool((column % 1 != 0).any())


def find_label(label, column):
    """A label of the command line as the column has it: numbers are numbers there."""
    if label is None:
        return None
    # The class as text, then as the number or boolean that the text spells.
    known = column.unique().tolist()
    for written in (label, _parse_column(pd.Series([label])).iloc[0]):
        if written in known:
            return known[known.index(written)]
    classes = join_names(repr(str(value)) for value in known)
    raise ValueError(f"--positive must be one of the classes {classes}; got {label!r}.")


def _threshold(options, y_true, y_pred):
    """Threshold of scores; None if the predictions are not scores."""
    if options.kind == "regression":
        return None
    if options.threshold is not None or y_true is None or y_true.nunique() != 2:
        return options.threshold
    if not pd.api.types.is_float_dtype(y_pred) or set(y_pred.unique()) <= {0.0, 1.0, -1.0}:
        return None
    if not y_pred.between(0.0, 1.0).all():
        raise ValueError(
            f"{options.target} has two classes, but {options.prediction} holds numbers from "
            f"{y_pred.min():g} to {y_pred.max():g}; pass --threshold, above which scores count as "
            "positive."
        )
    print(
        f"{options.prediction} holds probabilities: those above 0.5 count as positive; "
        "--threshold changes that."
    )
    return 0.5


def _apply_threshold(scores, y_true, threshold, positive):
    """Classes of scores: positive above the threshold; booleans without a target."""
    if y_true is None:
        return scores > threshold
    labels = sorted(y_true.unique().tolist(), key=str)
    if len(labels) != 2:
        raise ValueError(
            "--threshold turns scores into decisions between two classes, but the target has "
            f"{len(labels)}; leave it out."
        )
    positive = labels[1] if positive is None else positive
    other = next(label for label in labels if label != positive)
    return (scores > threshold).map({True: positive, False: other})


# The command ``python -m skfair subgroups``: search a file of decisions of any tool.


_FINDING = 3
"""Exit status of an audit that has a finding."""

_SUBGROUP_OPTIONS = MappingProxyType(
    {
        "min_group_size": "--min-size",
        "max_conditions": "--max-conditions",
        "max_listed": "--max-listed",
        "n_bins": "--bins",
        "measure": "--measure",
        "missing='exclude'": "--missing exclude",
        "missing='group'": "--missing group",
    }
)
"""Parameters of searches -> options of the command."""


def add_subgroups_command(commands):
    """Add the command ``subgroups`` to the subparsers of ``python -m skfair``."""
    command = commands.add_parser(
        "subgroups",
        help="search decisions in CSV or Parquet files for the subgroups that depart most",
        description="Search all conjunctions of conditions on columns for subgroups whose rate "
        "departs from the rest, with limits that hold for all of them together. The exit status "
        "is 3 if a subgroup departs, 0 if none is shown to, and 2 after an error.",
    )
    add = command.add_argument
    add("file", type=Path, help="CSV (any separator), Parquet or a folder of it, a row per sample")
    add("--target", help="column of the truth; left out if outcomes are not known")
    add("--prediction", required=True, help="column of decisions between two classes")
    add(
        "--sensitive",
        nargs="+",
        required=True,
        metavar="COLUMN",
        help="columns whose conditions are searched; numbers are divided into bins",
    )
    add("--measure", nargs="+", choices=SHARES, default=["selection_rate"], help="rates to compare")
    add("--max-conditions", type=int, default=2, help="conditions of a subgroup, 1 to 3 (2)")
    add("--direction", choices=["both", "above", "below"], default="both", help="(both)")
    add("--min-size", type=int, default=30, help="samples of the smallest subgroup (30)")
    add("--min-share", type=float, default=0.01, help="share of the smallest subgroup (.01)")
    add("--bins", type=int, default=4, help="bins of a column of numbers (4)")
    add("--max-listed", type=int, default=10, help="subgroups that are listed, of a rate (10)")
    add(
        "--missing",
        choices=["exclude", "group", "error"],
        default="group",
        help="whether being missing is a condition (default: group)",
    )
    add("--positive", help="the class that means success, as it is written in the file")
    add("--confidence", type=float, default=0.95, help="how often all limits hold (default .95)")
    add("--json", type=Path, metavar="FILE", help="write the result as JSON; - is standard output")
    command.set_defaults(run=partial(_run_subgroups, command))


def _run_subgroups(parser, options):
    """Print or write the subgroups that the options ask for; return the exit status."""
    is_printed = options.json is not None and str(options.json) == "-"
    try:
        if options.json is not None and not is_printed:
            check_output(options.json, options.file, (".json",), "--json")
        report = _search_file(options)
        if options.json is not None and not is_printed:
            report.to_json(options.json)
    except (OSError, ValueError, TypeError, ImportError) as error:
        parser.error(str(error))
    print(report.to_json() if is_printed else report)
    return _FINDING if len(report.subgroups) else 0


def _search_file(options):
    """The report on subgroups that the options ask for."""
    check_level(options.confidence, "--confidence")
    roles = [options.target, options.prediction]
    names = [name for name in (*roles, *options.sensitive) if name is not None]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(
            f"A column must have one role, but {join_names(map(repr, repeated))} is named twice "
            "among --target, --prediction and --sensitive."
        )
    table = read_columns(options.file, names)
    y_true, y_pred = (complete_column(table, name) for name in roles)
    check_missing_marks(y_true, y_pred)
    check_same_notation(y_true, y_pred)
    with explain_options(_SUBGROUP_OPTIONS):
        return find_subgroups(
            y_true,
            y_pred,
            sensitive_features=table[options.sensitive].apply(_parse_column),
            measure=options.measure,
            max_conditions=options.max_conditions,
            direction=options.direction,
            confidence_level=options.confidence,
            min_group_size=options.min_size,
            min_share=options.min_share,
            n_bins=options.bins,
            max_listed=options.max_listed,
            pos_label=find_label(options.positive, y_pred if y_true is None else y_true),
            missing=options.missing,
        )
