"""The columns of a file, and the command that audits it."""

from __future__ import annotations

from shlex import join
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

from skfair._columns.files import list_columns
from skfair._columns.reading import (
    are_decisions,
    find_success,
    has_decimals,
    holds_numbers,
    is_sex,
    parse_column,
    parse_dates,
)
from skfair._commands.options import read_table
from skfair._utils.checks import join_names

if TYPE_CHECKING:
    from argparse import Namespace

    from skfair._utils.api import Label


_ROLES = ("prediction", "interval", "probability", "target", "sensitive", "group_probability")


def names_no_column(options: Namespace) -> bool:
    """Return whether the options name no column of decisions, outcomes or groups."""
    return not any(getattr(options, name) for name in (*_ROLES, "positive"))


class Column(NamedTuple):
    """A column of a file: what its entries are, and the different ones, most frequent first."""

    name: str
    kind: str
    values: list[Label]
    n_rows: int

    @property
    def examples(self) -> str:
        """Three of the different entries, shortened."""
        texts = [str(one) for one in self.values[:3]]
        return ", ".join(one if len(one) <= 20 else f"{one[:17]}..." for one in texts)

    @property
    def fits_decisions(self) -> bool:
        """Whether the entries are two classes of which one means success."""
        return len(self.values) == 2 and find_success(self.values) is not None

    @property
    def fits_groups(self) -> bool:
        """Whether the entries may be groups: few labels, or whole numbers as of ages."""
        n_labels = len(self.values)
        return self.kind in ("text", "whole numbers", "booleans") and 1 < n_labels < self.n_rows / 2


_MAX_CLASSES = 20
"""Different entries of a column up to which they are classes or groups."""

_MAX_EXAMINED = 1000
"""Different texts of a column from which it is decided whether they are dates."""


def describe_column(column: pd.Series) -> Column:
    """Return the kind of a column as it is read, and its different entries by frequency."""
    read = parse_column(column)
    counts = read.value_counts()
    values = counts.index.tolist()
    if pd.api.types.is_bool_dtype(read):
        kind = "booleans"
    elif not values:
        kind = "empty"
    elif holds_numbers(read):
        kind = "numbers" if has_decimals(read) else "whole numbers"
        if kind == "whole numbers":
            values = [int(one) for one in values]
    else:
        dates = parse_dates(pd.Series(values[:_MAX_EXAMINED], dtype=object))
        kind = "dates" if dates.notna().all() else "text"
    return Column(str(column.name), kind, values, len(column))


class Roles(NamedTuple):
    """The columns of decisions and outcomes, None where it is not clear, and what may be these."""

    prediction: Column | None
    target: Column | None
    decisions: list[Column]
    groups: list[Column]

    @property
    def only_group(self) -> Column | None:
        """The column of groups if no other could be it; None also of numbers that need bins."""
        if len(self.groups) != 1 or len(self.groups[0].values) > _MAX_CLASSES:
            return None
        return self.groups[0]


def find_roles(columns: list[Column]) -> Roles:
    """Return the columns of decisions and outcomes that the words of classes make clear.

    For example "approved" and "denied" are decisions, and "yes" and "no" beside them outcomes. Of
    two columns of "yes" and "no" neither is chosen.
    """
    fitting = [one for one in columns if one.fits_decisions]
    worded = [one for one in fitting if are_decisions(one.values)]
    if len(worded) == 1:
        prediction = worded[0]
    elif len(fitting) == 1:
        prediction = fitting[0]
    else:
        prediction = None
    others = [one for one in fitting if one is not prediction]
    target = others[0] if prediction is not None and len(others) == 1 else None
    groups = [one for one in columns if one.fits_groups and one not in (prediction, target)]
    # Where no words are known, every column of two classes may be the decision but that of sexes.
    two_classes = [one for one in columns if len(one.values) == 2 and not is_sex(one.values)]
    scores = [one for one in columns if one.kind == "numbers"]
    return Roles(prediction, target, fitting or two_classes or scores, groups)


def list_file(options: Namespace) -> list[str]:
    """Return lines on the columns of the file, and the command that audits it."""
    names = list_columns(options.file, options.encoding, options.sheet)
    _, table = read_table(options, names)
    columns = [describe_column(table[name]) for name in names]
    roles = find_roles(columns)
    files = join_names(str(one) for one in options.file)
    return [
        f"{files}: {len(table):,} rows, {len(columns)} columns.",
        *_tabulate(columns),
        "This command writes a report:",
        f"  python -m skfair {join([*options.arguments, *_propose_options(roles)])}",
        *_explain_placeholders(roles),
    ]


def _tabulate(columns: list[Column]) -> list[str]:
    """Return a line for each column, below a header, in fields of equal width."""
    rows = [("Column", "Kind", "Different", "Examples")]
    rows += [(one.name, one.kind, f"{len(one.values):,}", one.examples) for one in columns]
    widths = [max(len(row[field]) for row in rows) for field in range(3)]
    return [
        f"  {name:{widths[0]}}  {kind:{widths[1]}}  {number:>{widths[2]}}  {examples}".rstrip()
        for name, kind, number, examples in rows
    ]


def _propose_options(roles: Roles) -> list[str]:
    """Return the options of a report, with placeholders for what is not clear."""
    prediction, target = roles.prediction, roles.target
    words = ["--prediction", "DECISION" if prediction is None else prediction.name]
    if target is not None:
        words += ["--target", target.name]
    words += ["--sensitive", "GROUP" if roles.only_group is None else roles.only_group.name]
    columns = [one.values for one in (prediction, target) if one is not None]
    successes = [find_success(classes) for classes in columns]
    # Of 0 and 1, and of booleans, the positive class is clear.
    if not all(isinstance(one, int) for one in successes):
        for label in dict.fromkeys(map(str, successes)):
            words += ["--positive", label]
    return words


def _explain_placeholders(roles: Roles) -> list[str]:
    """Return sentences on what the placeholders of the command stand for."""
    lines = []
    if roles.prediction is None:
        fitting = join_names((repr(one.name) for one in roles.decisions), 8)
        may_be = f", perhaps {fitting}" if fitting else ""
        lines.append(
            f"DECISION stands for the column of decisions or scores{may_be}. Outcomes that became "
            "known later are --target, and --positive names the class that means success."
        )
    if roles.only_group is None:
        fitting = join_names((repr(one.name) for one in roles.groups), 8)
        may_be = f", perhaps {fitting}" if fitting else ""
        lines.append(f"GROUP stands for the column of the protected attribute{may_be}.")
    if numbers := [one for one in roles.groups if one.kind == "whole numbers"]:
        lines.append(
            f"Numbers are divided into groups by --bins, as in --bins {numbers[0].name}=40,65."
        )
    return lines


def refuse_other_words(
    options: Namespace, y_true: pd.Series | None, y_pred: pd.Series | None
) -> None:
    """Raise, with the whole command, where decisions and outcomes have no class in common.

    For example decisions are "approved" and "denied", and outcomes "yes" and "no".
    """
    if y_true is None or y_pred is None or not _have_other_words(options, y_true, y_pred):
        return
    columns = [one.unique().tolist() for one in (y_pred, y_true)]
    labels = [_name_success(classes, options.positive) for classes in columns]
    words = [word for one in labels if one != options.positive for word in ("--positive", one)]
    end = ". LABEL stands for the class that means success." if "LABEL" in labels else ""
    named = " and ".join(
        f"{one.name!r} has {join_names(sorted(map(repr, classes)))}"
        for one, classes in zip((y_pred, y_true), columns, strict=True)
    )
    raise ValueError(
        "--positive must name the class that means success among the decisions and another among "
        f"the outcomes, since these are different words: {named}. Pass both, as in: "
        f"python -m skfair {join([*options.arguments, *words])}{end}"
    )


def _have_other_words(options: Namespace, y_true: pd.Series, y_pred: pd.Series) -> bool:
    """Return whether decisions and outcomes are classes, none of which both have."""
    has_scores = options.threshold is not None or getattr(options, "top", None) is not None
    if has_scores or options.task not in (None, "classification") or has_decimals(y_pred):
        return False
    for column in (y_pred, y_true):
        # Numbers of more than two values may be scores, which have a message of their own.
        most = 2 if holds_numbers(column) else _MAX_CLASSES
        if not 1 < column.nunique() <= most:
            return False
    return not {*y_pred.unique()} & {*y_true.unique()}


def _name_success(classes: list[Label], passed: str | None) -> str:
    """Return the class that means success: the passed label, a usual word, or LABEL."""
    if passed is not None and passed in [str(one) for one in classes]:
        return passed
    success = find_success(classes)
    return "LABEL" if success is None else str(success)
