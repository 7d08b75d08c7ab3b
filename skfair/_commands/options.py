"""What all commands share: options, messages, and results with an exit status."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from argparse import Action
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skfair._columns.files import FILE_COLUMN, file_digest, read_columns
from skfair._columns.reading import (
    check_are_numbers,
    check_complete_column,
    fill_empty,
    holds_numbers,
    may_have_no_sample,
    parse_column,
    parse_numbers,
    unify_spelling,
)
from skfair._statistics.estimates import check_level
from skfair._utils.checks import collect_warnings, join_names
from skfair._utils.fit import write_text
from skfair._utils.parameters import CONFIDENCE_LEVEL, MIN_AUDITED_GROUP
from skfair.audit._claims import EXIT_STATUSES

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterable, Iterator

    import pandas as pd

    from skfair.audit._formats import PageReport


# Options of several commands, and messages about them.


MISSING = ("exclude", "group", "error", "at_random", "sufficient", "independent")
"""What may happen to samples of unknown group."""

_OPTIONS = {
    "y_true": "--target",
    "y_pred": "--prediction",
    "y_score": "--probability",
    "sensitive_features": "--sensitive",
    "group_probabilities": "--group-probability",
    "X": "--features",
    "groups": "--cluster",
    "n_groups": "--groups",
    "ids": "--id",
    "pos_label": "--positive",
    "sample_weight": "--weight",
    "confidence_level": "--confidence",
    "min_group_size": "--min-size",
    "metrics": "--metric",
    "control_features": "--control",
    "flips": "--pairs",
    "candidates": "--prediction",
}
"""Options of arguments that have another name."""


def find_option(argument: str) -> str:
    """The option of an argument; options are returned as they are."""
    return _OPTIONS.get(argument, f"--{argument.lstrip('-').replace('_', '-')}")


def describe_error(error: Exception) -> str:
    """The message of an error, which may begin with an argument or be about a file."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}."
    if not (hasattr(error, "argument") and hasattr(error, "problem")):
        return str(error)
    return f"{find_option(error.argument)} {error.problem}"


@contextmanager
def print_warnings(options: Namespace) -> Iterator[None]:
    """Print each warning of the library once, as one line."""
    with collect_warnings() as messages:
        yield
    for text in dict.fromkeys(messages):
        print(f"{options.parser.prog}: warning: {text}", file=sys.stderr)


class _AppendLabel(Action):
    """Store a label, and a list of the labels of an option that is repeated."""

    def __call__(
        self,
        parser: ArgumentParser,
        namespace: Namespace,
        values: str,  # type: ignore[override]
        option_string: str | None = None,
    ) -> None:
        earlier = getattr(namespace, self.dest)
        labels = earlier if isinstance(earlier, list) else [earlier] * (earlier is not None)
        setattr(namespace, self.dest, [*labels, values] if labels else values)


def _unite_positive(options: Namespace, table: pd.DataFrame) -> pd.DataFrame:
    """The table with one label for all those of --positive, which becomes this label."""
    names = {options.prediction, getattr(options, "target", None)} & {*table}
    by_column = [[str(one) for one in table[name].dropna().unique()] for name in names]
    occurring = {one for classes in by_column for one in classes}
    # A column may have one class, since no sample is selected.
    single = [classes for classes in by_column if not {*classes} & {*options.positive}]
    absent = [
        label
        for label in options.positive
        if label not in occurring and not any(may_have_no_sample(label, one) for one in single)
    ]
    if absent:
        raise ValueError(
            f"--positive must name classes of the file, but {join_names(map(repr, absent))} is "
            f"none of {join_names(map(repr, sorted(occurring)))}."
        )
    union = " or ".join(options.positive)
    united = {}
    for name in names:
        is_positive = table[name].astype(str).isin(options.positive)
        column = table[name].mask(is_positive, union)
        # Without a positive entry "0" would be read as a number, and other columns hold text.
        if not is_positive.any() and holds_numbers(parse_column(column)):
            column = column.mask(column.notna(), f"not {union}")
        united[name] = column
    return table.assign(**united)


def add_file_options(
    command: ArgumentParser, n_files: int | str = "+", usage: str = "FILE [FILE ...]"
) -> None:
    """Add the files of samples, and the class that means success in them."""
    required = "--prediction COLUMN --sensitive COLUMN [COLUMN ...]"
    if command.prog.endswith("monitor"):
        required += " --time COLUMN"
    command.usage = f"%(prog)s {usage} {required} [options]"
    add = command.add_argument
    about = (
        "CSV (any separator), JSON records, Parquet or a spreadsheet, a row per sample, or a "
        "folder of them; "
        f"several files are one table, whose column {FILE_COLUMN!r} names the file of each row"
    )
    add("file", type=Path, nargs=n_files, metavar="FILE", help=about)
    about = "the class that means success, as in the file; repeated: several classes that mean it"
    add("--positive", action=_AppendLabel, metavar="LABEL", help=about)
    about = "the class that empty decisions and outcomes mean, such as denied"
    add("--empty", metavar="LABEL", help=about)
    about = "the decision --positive is bad for people: ratios are of those that it spares"
    add("--burden", action="store_true", help=about)
    add(
        "--sheet", metavar="NAME", help="sheet of a spreadsheet (default the only one with entries)"
    )
    add(
        "--encoding",
        metavar="NAME",
        help="encoding of CSV, such as latin-1 or utf-16 (default UTF-8)",
    )
    add("--decimal", choices=["point", "comma"], help="decimal sign of numbers in CSV")
    add("--ignore-case", action="store_true", help="read Yes, yes and 'yes ' as one label")


def read_table(options: Namespace, names: list[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Columns of the file as they are written, and as --decimal and --ignore-case read them."""
    columns = list(dict.fromkeys(names))
    written = read_columns(options.file, columns, options.encoding, options.sheet)
    table = written
    if options.decimal is not None:
        table = table.apply(parse_numbers, decimal=options.decimal)
    table = table.apply(unify_spelling) if options.ignore_case else table
    if options.empty is not None:
        classes = {options.prediction, getattr(options, "target", None)} & {*table}
        table = table.assign(**{name: fill_empty(table[name], options.empty) for name in classes})
    if isinstance(options.positive, list):
        written, table = (_unite_positive(options, one) for one in (written, table))
        options.positive = " or ".join(options.positive)
    return written, table


def add_column_options(
    command, kinds, repeated=None, takes_probability=False, takes_outcomes=False, **files
):
    """Add the files and the options that name their columns, groups and labels.

    ``repeated`` says what several --prediction are; None takes one. With
    ``takes_probability`` the column of --probability may take its place, and with
    ``takes_outcomes`` that of --target is enough.
    """
    add_file_options(command, **files)
    add = command.add_argument
    about = "column of the truth; left out if outcomes are not known"
    add("--target", metavar="COLUMN", help=about)
    about = f"column of decisions, classes, scores{', values or clusters' * (len(kinds) > 2)}"
    predictions = command.add_mutually_exclusive_group(
        required=not (takes_probability or takes_outcomes)
    )
    action = "store" if repeated is None else "append"
    about += "" if repeated is None else f"; repeated: {repeated}"
    predictions.add_argument("--prediction", action=action, metavar="COLUMN", help=about)
    about = "columns of the ends of intervals of the target, whose coverage is compared"
    predictions.add_argument("--interval", nargs=2, metavar=("LOW", "HIGH"), help=about)
    several = {"nargs": "+", "default": [], "metavar": "COLUMN"}
    about = "columns of protected attributes (groups); left out if only probabilities are known"
    add("--sensitive", help=about, **several)
    about = "columns of the probability of each group; with --missing at_random they model it"
    add("--group-probability", help=about, **several)
    about = "columns that --missing at_random models the groups by"
    add("--features", help=about, **several)
    add_row_options(command)
    about = (
        "column of the person, household or prompt that several samples belong to, which then "
        "depend on each other; not --sensitive"
    )
    add("--cluster", metavar="COLUMN", help=about)
    about = "what predictions are"
    if "regression" in kinds:
        about += " (default regression where the truth has decimals, else classification)"
    add("--task", choices=kinds, help=about)
    add(
        "--missing",
        choices=MISSING,
        help="what happens to empty groups (default exclude); at_random estimates them, "
        "sufficient and independent say what is assumed of --group-probability alone",
    )
    about = (
        "what is so of outcomes that are missing more often after one decision: by_decision weighs "
        "the others by the inverse of the known share, at_random counts them as they are"
    )
    add("--missing-outcomes", choices=["by_decision", "at_random"], help=about)
    about = (
        "column of the decision that was made and says which outcomes are known, if it is not the "
        "prediction"
    )
    add("--decided", metavar="COLUMN", help=about)
    about = (
        "column of the dates of decisions, of which months count: outcomes of the last months may "
        "be late without being missing by decision"
    )
    add("--time", metavar="COLUMN", help=about)
    size = MIN_AUDITED_GROUP
    about = "samples below which groups are not compared"
    add("--min-size", type=int, default=size, help=about)


def add_row_options(command: ArgumentParser) -> None:
    """Add the options that say what a row is, how it counts, and which results are published."""
    add = command.add_argument
    add("--weight", metavar="COLUMN", help="column of sample weights")
    add("--count", metavar="COLUMN", help="column of the number of samples that a row stands for")
    about = "column that names each sample, in this file and in others"
    add("--id", metavar="COLUMN", help=about)
    about = "what happens to rows of which --id occurs earlier in the file (default refuse)"
    add("--repeats", choices=["refuse", "keep"], default="refuse", help=about)
    add("--unknown", nargs="+", metavar="LABEL", help="labels of unknown groups, such as Unknown")
    about = (
        "NAME=40,65: numbers at which a column of groups is divided, here under 40, 40 to 64, 65"
    )
    add("--bins", nargs="+", default=[], metavar="NAME=NUMBERS", help=about)
    add("--threshold", type=float, help="scores above it are positive")
    level = CONFIDENCE_LEVEL
    about = "how often statements hold (default .95)"
    add("--confidence", type=float, default=level, help=about)
    add("--min-published", type=int, help="smallest count that is published")


def add_tolerance_options(command: ArgumentParser) -> None:
    """Add the bounds, of which one is required."""
    add = command.add_mutually_exclusive_group(required=True).add_argument
    add("--tolerance", type=float, help="largest gap allowed, such as 0.05")
    add("--ratio", type=float, help="smallest ratio allowed, such as 0.8")
    add("--minimum", type=float, help="smallest rate of a group allowed")
    add("--maximum", type=float, help="largest rate of a group allowed")


POPULATION_COLUMNS = ["attribute", "group", "share"]
"""Columns of the file of a population."""


def add_population_option(command: ArgumentParser) -> None:
    """Add the file of the shares of groups in a population."""
    about = (
        f"table with the columns {join_names(POPULATION_COLUMNS)}: shares of a population, with "
        "which those of the samples are compared"
    )
    command.add_argument("--population", type=Path, metavar="FILE", help=about)


def read_population(path: Path | None) -> dict[str, dict[str, float]] | None:
    """Shares by attribute and group of the file of a population; None without a file."""
    if path is None:
        return None
    table = read_columns([path], POPULATION_COLUMNS)
    shares = check_complete_column(table, "share")
    check_are_numbers([shares])
    population: dict[str, dict[str, float]] = {}
    rows = zip(table["attribute"].map(str), table["group"].map(str), shares, strict=True)
    for attribute, group, share in rows:
        groups = population.setdefault(attribute, {})
        if group in groups:
            raise ValueError(
                f"--population must have each group once, but {path} has {group!r} by "
                f"{attribute!r} twice. Leave one of its rows out."
            )
        groups[group] = float(share)
    return population


def take_probability(options: Namespace, predictions: Any, takes_outcomes: bool = False) -> None:
    """Let --probability take the place of --prediction, as `predictions`, where it is left out.

    With `takes_outcomes` the outcomes of data without a model are enough.
    """
    if options.prediction or options.interval:
        return
    if options.probability is None and takes_outcomes and options.target is not None:
        return
    if options.probability is None:
        raise ValueError(
            "One of --prediction, --interval and --probability is required; name the column of "
            "decisions, or of probabilities that are compared with outcomes."
        )
    options.prediction, options.probability = predictions, None


def refuse_without_predictions(options: Namespace) -> None:
    """Raise without any column of predictions or outcomes, and for options of predictions alone."""
    if options.prediction or options.interval:
        return
    if options.target is None:
        raise ValueError(
            "One of --prediction, --interval and --target is required; name the column of "
            "decisions, or the outcomes of data without a model. `python -m skfair report FILE` "
            "lists the columns."
        )
    names = ("probability", "threshold", "top", "burden")
    unused = [f"--{name}" for name in names if getattr(options, name, None)]
    if unused:
        raise ValueError(
            f"--target alone is data without a model, which {join_names(unused)} is not about. "
            "Leave it out, or name the column of --prediction."
        )


def check_column_options(options: Namespace) -> None:
    """Raise for columns, kinds and labels that contradict each other."""
    check_level(options.confidence, "--confidence")
    named = [options.target, *{options.prediction, options.probability}, *options.sensitive]
    named += [*(getattr(options, "control", None) or []), *options.group_probability]
    named += [options.count, options.id, options.cluster]
    repeated = {name for name in named if name is not None and named.count(name) > 1}
    if repeated:
        raise ValueError(
            f"A column must have one role, but {join_names(map(repr, sorted(repeated)))} is named "
            "twice among --target, --prediction, --probability, --sensitive, --control, --count, "
            "--id, --cluster and --group-probability."
        )
    check_count_options(options)
    if not options.sensitive and not options.group_probability:
        raise ValueError(
            "Groups are compared: name the columns of protected attributes by --sensitive, or of "
            "probabilities of groups by --group-probability."
        )
    if options.target is not None and options.task == "clustering":
        raise ValueError("--task clustering has no truth to compare with; leave out --target.")
    check_threshold_option(options)
    if options.task == "regression":
        class_options = ("positive", "threshold", "probability")
        unused = [f"--{name}" for name in class_options if getattr(options, name) is not None]
        if unused:
            raise ValueError(f"--task regression has no classes; leave out {join_names(unused)}.")


def check_threshold_option(options: Namespace) -> None:
    """Raise for a positive class where scores above --threshold are positive."""
    if options.target is None and options.threshold is not None and options.positive is not None:
        raise ValueError(
            "--positive names a class, but without --target --threshold makes the decisions: "
            "scores above it are positive. Leave one of the two out."
        )


_UNCOUNTED_ROLES = ("weight", "id", "cluster", "group_probability", "outcome_date", "delay")
"""Options that need samples one by one."""


def check_count_options(options: Namespace) -> None:
    """Raise for options that need samples one by one, next to --count."""
    if options.count is None:
        return
    task = getattr(options, "task", None)
    unused = [find_option(name) for name in _UNCOUNTED_ROLES if getattr(options, name, None)]
    unused += ["--missing at_random"] * (options.missing == "at_random")
    unused += [f"--task {task}"] * (task not in (None, "classification"))
    if unused:
        raise ValueError(
            "--count is for classes of samples of equal weight, with complete outcomes; leave out "
            f"{join_names(unused)}, or pass a file with a row for each sample."
        )


# Results of a command: a page, JSON, sentences, and an exit status that says what was found.


_FORMATS = {".html": "a page", ".htm": "a page", ".md": "Markdown", ".json": "data"}
"""Endings of files that are written."""


def check_output(
    out: Path, files: list[Path], suffixes: tuple[str, ...] = tuple(_FORMATS), option: str = "--out"
) -> None:
    """Raise for an output that cannot be written, or that is one of the input files."""
    # The input must not be overwritten, whatever path names it.
    inputs = [one for file in files for one in (file.rglob("*") if file.is_dir() else [file])]
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


FINDING_STATUS, OPEN_STATUS = EXIT_STATUSES["contradicted"], EXIT_STATUSES["open"]
"""Exit statuses: something was found that needs attention; what was asked for is not shown."""

ERROR_STATUS = 2
"""Exit status without a result, as of arguments that are not complete."""


def add_output_options(command: ArgumentParser, page: str | None = None, formats: str = "") -> None:
    """Add --json, and with formats also --out, which ends in one of them, perhaps by default."""
    if formats:
        default = "none" if page is None else f"{page}, with --json none"
        command.add_argument("--out", type=Path, help=f"{formats} (default {default})")
    command.add_argument(
        "--json", metavar="FILE", help="write the results as JSON; - is standard output"
    )
    command.set_defaults(page=page)


def resolve_output(options: Namespace, suffixes: tuple[str, ...] = tuple(_FORMATS)) -> None:
    """Set the default page, and check that page and JSON can be written."""
    if options.page is not None and options.out is None and options.json is None:
        options.out = Path(options.page)
    files = getattr(options, "file", [])
    if getattr(options, "out", None) is not None:
        check_output(options.out, files, suffixes)
    if options.json not in (None, "-"):
        check_output(Path(options.json), files, (".json",), "--json")


def write_report(report: PageReport, out: Path, **settings: Any) -> None:
    """Write a report in the format that the name of the file ends in."""
    suffix = out.suffix.lower()
    if suffix == ".json":
        report.to_json(out)
    elif suffix == ".md":
        report.to_markdown(out, **settings)
    else:
        report.to_html(out, **settings)


def describe_file(options: Namespace, **facts: Any) -> dict[str, str]:
    """The facts of a result about its files: names and digest, before others.

    Small counts could be guessed from the digest of counts, or of what is not published.
    """
    known = vars(options)
    described = {"file": ", ".join(one.name for one in options.file)}
    if known.get("count") is None and known.get("min_published") is None:
        described["sha256"] = file_digest(options.file)
    return described | facts


def output_results(options: Namespace, sentences: Iterable[Any], text: str) -> None:
    """Print sentences, and write JSON if it was requested; on standard output it is alone.

    JSON on standard output is ASCII, so that no encoding of a console changes it.
    """
    if options.json == "-":
        print(json.dumps(json.loads(text), indent=1))
        return
    if options.json is not None:
        write_text(text, options.json)
        sentences = [*sentences, f"The results are in {options.json}."]
    print(*sentences, sep="\n")
