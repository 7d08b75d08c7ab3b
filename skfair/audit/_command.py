"""The command ``python -m skfair report``: a report of a file of predictions, from any tool."""

import os
import re
import tempfile
from argparse import ArgumentParser
from pathlib import Path

import pandas as pd

from skfair.audit._prediction_file import read_columns
from skfair.audit._report import FairnessReport
from skfair.inference import check_level
from skfair.utils._messages import join_names

MISSING = "(missing)"
"""What people are called whose group nobody recorded."""

_OPTIONS = {
    'kind="regression"': "--kind regression",
    "pos_label=...": "--positive",
    "pos_label": "--positive",
    "y_true": "--target",
    "y_pred": "--prediction",
    "y_proba or y_score": "--probability",
    "y_proba": "--probability",
    "sensitive_features": "--sensitive",
    "sample_weight": "--weight",
}
"""What parameters of reports are called here."""

_MARKS = frozenset("na n/a #n/a #na <na> nan -nan null none nil missing ? . -".split())
"""Entries that stand for missing numbers, in lower case."""

_BOOLEANS = [{"True", "False"}, {"true", "false"}, {"TRUE", "FALSE"}]
"""How programs write booleans."""


class _Parser(ArgumentParser):
    """A parser whose errors are one sentence."""

    def error(self, message):
        sentence = " ".join(message.split())
        self.exit(2, f"{self.prog}: error: {sentence}\n")


def main(arguments):
    """Run the command line.

    Parameters
    ----------
    arguments : list of str
        What stands behind ``python -m skfair``.

    Returns
    -------
    status : int
        0 if all went well; errors in the arguments or the file exit with 2, one sentence and
        nothing written.
    """
    parser, options = _parse(arguments)
    try:
        _check_options(options)
        _check_output(options.out, options.file)
        report = _report(options)
        report.to_html(options.out)
    except (OSError, ValueError, TypeError, ImportError) as error:
        parser.error(str(error))
    print(*report.findings, f"The whole report is in {options.out}.", sep="\n")
    return 0


def _parse(arguments):
    parser = _Parser(prog="python -m skfair", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    report = commands.add_parser("report", help="audit predictions in CSV or Parquet files")
    add = report.add_argument
    add("file", type=Path, help="CSV (any separator), Parquet or a folder of it, a row per sample")
    add("--target", help="column of the truth; left out for a clustering")
    add("--prediction", required=True, help="column of predicted classes, values or clusters")
    add("--probability", help="column of the probability of the positive class")
    add("--sensitive", nargs="+", required=True, metavar="COLUMN", help="columns of groups")
    add("--weight", help="column of sample weights")
    add(
        "--kind",
        choices=["classification", "regression", "clustering"],
        help="what the predictions are (default: regression if the target has decimals, "
        "clustering without a target)",
    )
    add("--positive", help="the class that means success, as it is written in the file")
    add("--threshold", type=float, help="scores above it are positive (default .5)")
    add("--confidence", type=float, default=0.95, help="how often intervals hold (default .95)")
    add("--title", default="Fairness report", help="heading of the page")
    add("--out", type=Path, default=Path("report.html"), help="the page (default report.html)")
    return report, parser.parse_args(arguments)


def _with_options(message):
    """A message about parameters as one about options of the command line."""
    names = "|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in _OPTIONS)
    return re.sub(names, lambda found: _OPTIONS[found[0]], message)


def _check_options(options):
    """Refuse options that contradict each other, before anything is read."""
    check_level(options.confidence, "--confidence")
    named = [options.target, *{options.prediction, options.probability}, *options.sensitive]
    repeated = {name for name in named if name is not None and named.count(name) > 1}
    if repeated:
        raise ValueError(
            f"A column must have one role, but {join_names(map(repr, sorted(repeated)))} is named "
            "twice among --target, --prediction, --probability and --sensitive."
        )
    if options.target is None and options.kind in ("classification", "regression"):
        raise ValueError(f"--kind {options.kind} needs --target, the column of the truth.")
    if options.target is not None and options.kind == "clustering":
        raise ValueError("--kind clustering has no truth to compare with; leave out --target.")
    if options.kind == "regression":
        of_classes = ("positive", "threshold", "probability")
        given = [f"--{name}" for name in of_classes if getattr(options, name) is not None]
        if given:
            raise ValueError(f"--kind regression has no classes; leave out {join_names(given)}.")


def _check_output(out, file):
    """Refuse a page that cannot be written, or whose file is one of those that are read."""
    read = file.rglob("*") if file.is_dir() else [file]
    if out.exists() and any(out.samefile(one) for one in read if one.is_file()):
        raise ValueError(
            f"--out must not be a file that is read, but {out} is: the report would overwrite the "
            "predictions. Choose another name."
        )
    if out.suffix.lower() not in (".html", ".htm"):
        raise ValueError(
            f"--out must end in .html or .htm, since the report is a page of HTML; got {out}. A "
            "browser prints the page to PDF."
        )
    folder = Path(os.path.realpath(out)).parent
    if not folder.is_dir():
        raise ValueError(f"--out must be in a folder that exists, but {folder} is none; create it.")
    if out.exists() and not out.is_file():
        raise ValueError(f"--out must be a file, but {out} is something else, such as a folder.")
    try:
        if out.exists():
            out.open("a").close()
        else:
            tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise OSError(f"--out must be writable, but {out} is not ({error.strerror}).") from None


def _groups(table):
    """Groups as text, with a group of their own for missing ones."""
    is_missing = table.isna()
    mixed = [name for name in table if is_missing[name].any() and (table[name] == MISSING).any()]
    if mixed:
        raise ValueError(
            f"Empty entries are reported as the group {MISSING!r}, but "
            f"{join_names(map(repr, mixed))} has a group of this name besides; rename it."
        )
    return table.where(~is_missing, MISSING).astype(str)


def _report(options):
    roles = [options.target, options.prediction, options.probability, options.weight]
    names = [name for name in (*roles, *options.sensitive) if name is not None]
    table = read_columns(options.file, list(dict.fromkeys(names)))
    y_true, y_pred, y_proba, weights = (_column(table, name) for name in roles)
    _check_missing_classes(y_true, y_pred)
    _check_numbers(options, y_true, y_pred, y_proba, weights)
    positive = _as_written(options.positive, y_true if y_true is not None else y_pred)
    columns = {"y_proba": y_proba, "sample_weight": weights}
    threshold = _threshold(options, y_true, y_pred)
    if threshold is not None:
        name = "y_proba" if y_pred.between(0.0, 1.0).all() else "y_score"
        columns[name], y_pred = y_pred, _decided(y_pred, y_true, threshold, positive)
    _check_same_words(y_true, y_pred)
    groups = _groups(table[options.sensitive].astype(object))
    try:
        return FairnessReport.from_predictions(
            y_true,
            y_pred,
            sensitive_features=groups,
            kind=options.kind,
            pos_label=positive,
            confidence_level=options.confidence,
            title=options.title,
            **columns,
        )
    except (ValueError, TypeError) as error:
        raise ValueError(_with_options(str(error))) from error


def _column(table, name):
    """A column of numbers or classes, which must be complete; None without a name."""
    if name is None:
        return None
    column = _typed(table[name])
    if column.isna().any():
        first = int(column.isna().to_numpy().argmax())
        written = table[name].iloc[first]
        shown = f" ({written!r})" if isinstance(written, str) else ""
        raise ValueError(
            f"The column {name!r} must be complete, but {int(column.isna().sum())} of its "
            f"{len(column)} entries are missing, the first in row {first + 1}{shown}; leave these "
            "rows out of the file."
        )
    return column


def _typed(column):
    """Text as the booleans or numbers that it spells; other text, and other types, as they are."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(column.cat.categories.dtype)
    kind = pd.api.types.infer_dtype(column, skipna=True)
    if kind != "string":
        return column.astype(float) if kind == "decimal" else column
    texts = column.dropna().unique().tolist()
    if any(set(texts) <= spelling for spelling in _BOOLEANS):
        return column.map({text: text.lower() == "true" for text in texts})
    texts = [text for text in texts if not _is_mark(text)]
    numbers = pd.to_numeric(_with_points(pd.Series(texts, dtype=object)), errors="coerce")
    if numbers.isna().any():
        return column
    return column.map(dict(zip(texts, numbers.tolist(), strict=True)))


def _is_mark(text):
    """Whether text is a usual mark of a missing value."""
    return text.strip().casefold() in _MARKS


def _with_points(texts):
    """Numbers with decimal commas as numbers with decimal points; other text as it is."""
    written = texts[texts.str.contains(",", regex=False)]
    if not len(written) or not written.str.fullmatch(r"\s*[+-]?\d*,\d+([eE][+-]?\d+)?\s*").all():
        return texts
    if written.str.fullmatch(r"\s*[+-]?[1-9]\d{0,2},\d{3}\s*").all():
        raise ValueError(
            f"Numbers must be written with a decimal point and without separators of thousands; "
            f"the comma of {written.iloc[0]!r} may be either."
        )
    return texts.str.replace(",", ".", regex=False)


def _check_missing_classes(*columns):
    """Refuse a mark of a missing value as a class, unless truth and predictions both have it."""
    columns = [column for column in columns if column is not None]
    texts = [{label for label in column.unique() if isinstance(label, str)} for column in columns]
    shared = set.intersection(*texts) if len(texts) > 1 else set()
    for column, own in zip(columns, texts, strict=True):
        for text in sorted(own - shared):
            if _is_mark(text):
                raise ValueError(
                    f"The column {column.name!r} must be complete, but it holds {text!r}, which "
                    "usually marks a missing value; leave these rows out of the file, or give the "
                    "class another name."
                )


def _check_numbers(options, y_true, y_pred, y_proba, weights):
    """Refuse text where numbers are needed, and numbers with decimals where classes are."""
    is_regression = options.kind == "regression"
    needed = [y_proba, weights]
    needed += [y_true, y_pred] if is_regression else [y_pred] * (options.threshold is not None)
    for column in needed:
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
            "with decimals; say --kind regression."
        )
    if not _has_decimals(y_true) and _has_decimals(y_pred) and y_true.nunique() != 2:
        raise ValueError(
            f"The prediction {options.prediction!r} has decimals, but the target "
            f"{options.target!r} holds {y_true.nunique()} classes or whole numbers. Say --kind "
            "regression if both are quantities; else pass the predicted classes as --prediction."
        )


def _check_same_words(y_true, y_pred):
    """Refuse classes that are numbers in one column and text in the other."""
    if y_true is None:
        return
    numbers, text = sorted((y_true, y_pred), key=lambda own: not _holds_numbers(own))
    if _holds_numbers(numbers) != _holds_numbers(text):
        raise ValueError(
            f"Classes must be written alike in both columns, but {numbers.name!r} holds numbers or "
            f"booleans, such as {numbers.iloc[0]}, and {text.name!r} does not, such as "
            f"{text.iloc[0]!r}."
        )


def _holds_numbers(column):
    return pd.api.types.is_numeric_dtype(column)


def _has_decimals(column):
    return pd.api.types.is_float_dtype(column) and bool((column % 1 != 0).any())


def _as_written(label, column):
    """A label of the command line as the column has it: numbers are numbers there."""
    if label is None:
        return None
    known = column.unique().tolist()
    for written in (label, _typed(pd.Series([label])).iloc[0]):
        if written in known:
            return known[known.index(written)]
    classes = join_names(repr(str(value)) for value in known)
    raise ValueError(f"--positive must be one of the classes {classes}; got {label!r}.")


def _threshold(options, y_true, y_pred):
    """Where scores become decisions; None if the predictions are no scores."""
    if options.kind == "regression":
        return None
    if options.threshold is not None or y_true is None or y_true.nunique() != 2:
        return options.threshold
    if not pd.api.types.is_float_dtype(y_pred) or set(y_pred.unique()) <= {0.0, 1.0, -1.0}:
        return None
    if not y_pred.between(0.0, 1.0).all():
        raise ValueError(
            f"{options.target} has two classes, but {options.prediction} holds numbers from "
            f"{y_pred.min():g} to {y_pred.max():g}; say with --threshold which of them count as "
            "positive."
        )
    print(
        f"{options.prediction} holds probabilities: those above 0.5 count as positive; "
        "--threshold changes that."
    )
    return 0.5


def _decided(scores, y_true, threshold, positive):
    """The classes that a threshold makes of scores."""
    labels = sorted(y_true.unique().tolist(), key=str) if y_true is not None else []
    if len(labels) != 2:
        raise ValueError(
            "--threshold makes decisions of scores about two classes, but the target has "
            f"{len(labels)}; leave it out."
        )
    positive = labels[1] if positive is None else positive
    other = next(label for label in labels if label != positive)
    return (scores > threshold).map({True: positive, False: other})
