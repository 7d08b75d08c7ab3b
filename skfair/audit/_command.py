"""The command ``python -m skfair report``: a report of a file of predictions, from any tool."""

from argparse import ArgumentParser
from pathlib import Path

import pandas as pd

from skfair.audit._report import FairnessReport
from skfair.parts import in_memory, open_blocks
from skfair.utils._messages import listing

MISSING = "(missing)"
"""What people are called whose group nobody recorded."""


def main(arguments):
    """Run the command line.

    Parameters
    ----------
    arguments : list of str
        What stands behind ``python -m skfair``.

    Returns
    -------
    status : int
        0 if all went well.
    """
    parser, options = _parse(arguments)
    try:
        report = _report(options)
    except (OSError, ValueError, TypeError, ImportError) as error:
        parser.error(
            str(error).replace("pos_label=...", "--positive").replace("pos_label", "--positive")
        )
    report.to_html(options.out)
    print(*report.findings, f"The whole report is in {options.out}.", sep="\n")
    return 0


def _parse(arguments):
    parser = ArgumentParser(prog="python -m skfair", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    report = commands.add_parser("report", help="audit predictions in CSV or Parquet files")
    add = report.add_argument
    add("file", type=Path, help="CSV (any separator), Parquet or a folder of it, a row per person")
    add("--target", help="column of the truth; left out for a clustering")
    add("--prediction", required=True, help="column of predicted classes, values or clusters")
    add("--probability", help="column of the probability of the positive class")
    add("--sensitive", nargs="+", required=True, metavar="COLUMN", help="columns of groups")
    add("--weight", help="column of sample weights")
    add("--positive", help="the class that means success, as it is written in the file")
    add("--threshold", type=float, help="scores above it are positive (default .5)")
    add("--confidence", type=float, default=0.95, help="how often intervals hold (default .95)")
    add("--title", default="Fairness report", help="heading of the page")
    add("--out", type=Path, default=Path("report.html"), help="the page (default report.html)")
    return report, parser.parse_args(arguments)


def _report(options):
    wanted = [options.target, options.prediction, options.probability, options.weight]
    wanted = [name for name in (*wanted, *options.sensitive) if name is not None]
    table = read_table(options.file)
    check_columns_there(table, wanted, options.file)
    table = in_memory(table[list(dict.fromkeys(wanted))])
    groups = table[options.sensitive].astype(object)
    columns = {
        "y_true": _column(table, options.target),
        "y_pred": _column(table, options.prediction),
        "y_proba": _column(table, options.probability),
        "sample_weight": _column(table, options.weight),
    }
    y_true, y_pred = columns.pop("y_true"), columns.pop("y_pred")
    positive = _as_written(options.positive, y_true if y_true is not None else y_pred)
    threshold = _threshold(options, y_true, y_pred)
    if threshold is not None:
        name = "y_proba" if y_pred.between(0.0, 1.0).all() else "y_score"
        columns[name], y_pred = y_pred, _decided(y_pred, y_true, threshold, positive)
    return FairnessReport.from_predictions(
        y_true,
        y_pred,
        sensitive_features=groups.where(groups.notna(), MISSING).astype(str),
        pos_label=positive,
        confidence_level=options.confidence,
        title=options.title,
        **columns,
    )


def read_table(path):
    """A file of predictions as a table.

    Parameters
    ----------
    path : Path
        CSV with any common separator, a Parquet file, or a folder of them.

    Returns
    -------
    table : DataFrame or Blocks
        Of Parquet nothing is read before columns are chosen.

    Raises
    ------
    ValueError
        If it is not text in UTF-8, has nothing in it, or its rows are not of one length.
    ImportError
        If Parquet cannot be read here.
    """
    if path.is_dir() or path.suffix.lower() in (".parquet", ".pq"):
        return open_blocks(path)
    try:
        with open(path, encoding="utf-8-sig") as file:
            separator = _separator(file.readline())
        return pd.read_csv(path, sep=separator, encoding="utf-8-sig", low_memory=False)
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} must be text in UTF-8, but byte {error.start} is not. Save it as UTF-8, in a "
            'spreadsheet as "CSV UTF-8"; iconv -f latin1 -t utf-8 converts Latin-1.'
        ) from None
    except pd.errors.EmptyDataError:
        raise ValueError(
            f"{path} is empty; one row per person is needed, below a header."
        ) from None
    except pd.errors.ParserError as error:
        raise ValueError(f"The rows of {path} are not of one length: {error}") from None


def _separator(header):
    """The commonest of the usual separators in the first line."""
    return max(",;\t|", key=header.count)


def check_columns_there(table, wanted, path):
    """Refuse columns that a table does not have.

    Parameters
    ----------
    table : DataFrame
        What was read.
    wanted : list of str
        The columns asked for.
    path : Path
        The file, for the error.

    Raises
    ------
    ValueError
        If one is missing; the error lists those that there are, and says if they look like data.
    """
    absent = [name for name in wanted if name not in table.columns]
    if not absent:
        return
    there = f"its {table.shape[1]} columns are {listing(map(repr, map(str, table.columns)), 20)}"
    numbers = [name for name in map(str, table.columns) if _is_number(name)]
    hint = ""
    if numbers:
        hint = (
            f" The first line looks like data ({listing(map(repr, numbers), 3)}): the file must "
            "begin with a line of column names."
        )
    raise ValueError(f"{path} has no column {listing(map(repr, absent))}; {there}.{hint}")


def _is_number(name):
    try:
        float(name)
    except ValueError:
        return False
    return True


def _column(table, name):
    if name is None:
        return None
    column = table[name]
    if column.isna().any():
        raise ValueError(
            f"The column {name!r} must be complete, but {int(column.isna().sum())} of its "
            f"{len(column)} entries are missing; leave these rows out of the file."
        )
    return column


def _as_written(label, column):
    """A label of the command line as the column has it: numbers are numbers there."""
    if label is None:
        return None
    known = {str(value): value for value in column.unique().tolist()}
    if label not in known:
        raise ValueError(
            f"--positive must be one of the classes {listing(map(repr, known))}; got {label!r}."
        )
    return known[label]


def _threshold(options, y_true, y_pred):
    """Where scores become decisions; None if the predictions are no scores."""
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
            f"--threshold makes decisions of scores about two classes, but the target has "
            f"{len(labels)}."
        )
    positive = labels[1] if positive is None else positive
    other = next(label for label in labels if label != positive)
    return (scores > threshold).map({True: positive, False: other})
