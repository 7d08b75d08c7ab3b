"""What was read: text as numbers, booleans, labels, dates and counts, and the `Reading` of it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from skfair._groups.groups import normalize_label, sort_labels
from skfair._groups.known import MISSING_MARKS, is_like_unknown
from skfair._utils.checks import argument_error, join_names, warn

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from pandas import Timestamp

    from skfair._utils.api import Label


_BOOLEANS = [{"True", "False"}, {"true", "false"}, {"TRUE", "FALSE"}]
"""Spellings of booleans."""


EMPTY_ADVICE = (
    "Write what an empty entry means; commands read those of decisions and outcomes as the class "
    "of --empty. Rows may be left out only if entries are missing whatever the decision, since "
    "rates of the others are else not those of all."
)
"""What to do about empty entries, which may be a class that was not written down."""


def check_optional_column(table: pd.DataFrame, name: str | None) -> pd.Series | None:
    """A column of numbers or classes, which must be complete; None without a name."""
    return None if name is None else check_complete_column(table, name)


def check_complete_column(table: pd.DataFrame, name: str) -> pd.Series:
    """A column of numbers or classes, which must be complete."""
    column = parse_column(table[name])
    if column.isna().any():
        first = int(column.isna().to_numpy().argmax())
        written = table[name].iloc[first]
        quoted = f" ({written!r})" if isinstance(written, str) else ""
        raise ValueError(
            f"The column {name!r} must be complete, but {int(column.isna().sum())} of its "
            f"{len(column)} entries are missing, the first in row {first + 1}{quoted}. "
            f"{EMPTY_ADVICE}"
        )
    return column


def read_outcomes(
    table: pd.DataFrame, name: str | None, y_pred: pd.Series | None
) -> pd.Series | None:
    """Column of the outcomes that are known; None without a name, or if none is.

    Others are empty, or the usual mark of a missing value, unless it is predicted too.
    """
    if name is None:
        check_missing_marks(y_pred)
        return None
    predicted = set() if y_pred is None else set(y_pred.unique())
    codes, entries = pd.factorize(table[name], use_na_sentinel=False)
    is_mark = [isinstance(one, str) and is_missing_mark(one) for one in entries]
    is_other = np.array([one not in predicted for one in entries], dtype=bool)
    is_known = ~(pd.isna(entries) | (is_mark & is_other))[codes]
    y_true = check_complete_column(table.loc[is_known, [name]], name) if is_known.any() else None
    check_missing_marks(y_true, y_pred)
    return y_true


def refuse_one_known_class(y_true: pd.Series | None, table: pd.DataFrame) -> None:
    """Raise for outcomes of one class where all other entries are empty."""
    if y_true is None or y_true.nunique() != 1 or len(y_true) == len(table):
        return
    if table.loc[table.index.difference(y_true.index), y_true.name].isna().all():
        raise ValueError(
            f"The column {y_true.name!r} holds {y_true.iloc[0]!r} or nothing. An empty entry may "
            "be another class or an outcome that is not known. Commands read it as the class of "
            "--empty; write unknown in the file as NA."
        )


def fill_empty(column: pd.Series, label: str) -> pd.Series:
    """The column with a label in place of empty entries and usual marks of missing values."""
    is_empty = column.map(lambda one: isinstance(one, str) and is_missing_mark(one)).astype(bool)
    is_empty |= column.isna()
    if not is_empty.any():
        return column
    is_text = pd.api.types.infer_dtype(column, skipna=True) in ("string", "empty", "categorical")
    value = label if is_text else parse_column(pd.Series([label])).iloc[0]
    return column.astype(object).mask(is_empty, value)


def place_outcomes(y_true: pd.Series | None, table: pd.DataFrame) -> pd.Series | None:
    """Known outcomes in the rows of a table, where others are missing; None without any."""
    if y_true is None or len(y_true) == len(table):
        return y_true
    return y_true.astype(object).reindex(table.index)


def write_labels(column: pd.Series) -> pd.Series:
    """Labels of groups as text, None where they are missing; each distinct one is written once."""
    codes, labels = pd.factorize(column)
    _refuse_two_notations_of_groups(column.name, sorted(map(str, labels)))
    positions, texts = pd.factorize(pd.Series([*map(str, labels)], dtype=object))
    codes = np.append(positions, -1)[codes]
    # Few labels of many rows are stored once each.
    written = pd.Categorical.from_codes(codes, texts)
    return pd.Series(written, index=column.index, name=column.name)


def parse_column(column: pd.Series) -> pd.Series:
    """Text as the booleans or numbers that it spells; anything else unchanged."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.cat.remove_unused_categories()
        parsed = parse_column(pd.Series(column.cat.categories, name=column.name))
        if not holds_numbers(parsed):
            return column.astype(parsed.dtype)
        return parsed.reindex(column.cat.codes).set_axis(column.index)
    kind = pd.api.types.infer_dtype(column, skipna=True)
    if kind != "string":
        return column.astype(float) if kind == "decimal" else column
    # Each distinct text is parsed once: booleans first, then numbers.
    texts = column.dropna().unique().tolist()
    if any(set(texts) <= spelling for spelling in _BOOLEANS):
        return column.map({text: text.lower() == "true" for text in texts})
    texts = [text for text in texts if not is_missing_mark(text)]
    written = pd.Series(texts, dtype=object)
    numbers = pd.to_numeric(_replace_decimal_commas(written), errors="coerce")
    if numbers.isna().any():
        return column
    _refuse_points_of_thousands(written)
    return column.map(dict(zip(texts, numbers.tolist(), strict=True)))


def is_missing_mark(text: str) -> bool:
    """Whether text is a usual mark of a missing value."""
    return text.strip().casefold() in MISSING_MARKS


def _replace_decimal_commas(texts: pd.Series) -> pd.Series:
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


def _refuse_points_of_thousands(numbers: pd.Series) -> None:
    """Raise for numbers whose points may all separate thousands, as in 1.149."""
    written = numbers[numbers.str.contains(".", regex=False)]
    if len(written) and written.str.fullmatch(r"\s*[+-]?[1-9]\d{0,2}\.\d{3}\s*").all():
        text = written.iloc[0].strip()
        raise ValueError(
            f"Numbers must be written in one way, but {text!r} may be {float(text):g} or "
            f"{text.replace('.', '')}, since three digits follow every point. Commands read the "
            "first by --decimal point, the second by --decimal comma; else write thousands without "
            "separators."
        )


_NUMBERS = {
    "point": r"\s*[+-]?(\d+|\d{1,3}(,\d{3})+)?(\.\d*)?([eE][+-]?\d+)?\s*",
    "comma": r"\s*[+-]?(\d+|\d{1,3}(\.\d{3})+)?(,\d*)?([eE][+-]?\d+)?\s*",
}
"""Decimal signs by name -> numbers with that sign, in which the other separates thousands."""


def parse_numbers(column: pd.Series, decimal: str) -> pd.Series:
    """Text of numbers with a decimal sign by name as numbers; other columns unchanged."""
    texts = pd.Series(column.dropna().unique())
    is_text = texts.map(lambda one: isinstance(one, str))
    if not len(texts) or not is_text.all() or not texts.str.fullmatch(_NUMBERS[decimal]).all():
        return column
    sign, separator = {"point": (".", ","), "comma": (",", ".")}[decimal]
    plain = texts.str.replace(separator, "", regex=False).str.replace(sign, ".", regex=False)
    return column.map(dict(zip(texts, pd.to_numeric(plain), strict=True)))


def unify_spelling(column: pd.Series) -> pd.Series:
    """Text in the most frequent of the spellings that `normalize_label` makes equal."""
    counts = column[column.map(lambda one: isinstance(one, str))].value_counts()
    spellings: dict[Any, str] = {}
    for text in sorted(counts.index, key=lambda one: (-counts[one], one)):
        spellings.setdefault(normalize_label(text), text.strip())
    return column.map(lambda one: spellings[normalize_label(one)] if isinstance(one, str) else one)


def parse_dates(column, date_format=None):
    """Text as the times that it spells, by the clock of its own time zone; NaT where it does not.

    Dates are of ISO 8601, or with points and the day first, unless a format is passed.
    """
    if pd.api.types.is_datetime64_any_dtype(column):
        return column.dt.tz_localize(None)
    text = column.map(lambda one: _TIME_ZONE_OFFSET.sub("", str(one)) if ":" in str(one) else one)
    formats = ["ISO8601", "%d.%m.%Y"]
    if date_format:
        formats = [_ZONE_OF_FORMAT.sub("", date_format) if ":" in date_format else date_format]
    for one in formats:
        times = pd.to_datetime(text, errors="coerce", format=one)
        if times.notna().any():
            break
    return times.dt.tz_localize(None)


_LARGEST_SUMMER_SHIFT = 60
"""Minutes by which the offsets of one zone differ in summer and winter, at most."""


def check_one_zone(column: pd.Series, option: str) -> None:
    """Raise for times of several zones, whose months would begin at different moments.

    Two offsets that differ by an hour are those of one zone in summer and in winter.
    """
    texts = column.dropna().astype(str)
    texts = texts[texts.str.contains(":")]  # days have no zone
    offsets = texts.str.extract(_TIME_ZONE_OFFSET, expand=True)[0].fillna("no offset")
    first_rows = offsets.drop_duplicates()
    minutes = [_count_minutes(one) for one in first_rows]
    known = [one for one in minutes if one is not None]
    is_one_zone = not known or max(known) - min(known) <= _LARGEST_SUMMER_SHIFT
    if len(known) in (0, len(minutes)) and is_one_zone and len({*known}) <= 2:
        return
    listed = join_names(f"{one} (row {row + 1})" for row, one in first_rows.items())
    raise ValueError(
        f"{option}: the times of {column.name!r} must be of one zone, but end in {listed}. Write "
        "all in one zone, or leave the offsets out to count each by its local clock."
    )


def _count_minutes(offset: str) -> int | None:
    """Minutes of an offset such as +01:00; None without one."""
    if offset == "no offset":
        return None
    if offset in "Zz":
        return 0
    digits = offset[1:].replace(":", "").ljust(4, "0")
    return int(f"{offset[0]}1") * (60 * int(digits[:2]) + int(digits[2:]))


def describe_date(text: str) -> str:
    """A date as it is written, with the formats that it may have if these are two."""
    match = re.fullmatch(r"\d{1,2}([-/.])\d{1,2}\1(\d{2}|\d{4})", str(text).strip())
    if match is None:
        return repr(text)
    sign = match[1]
    year = "Yy"[len(match[2]) == 2]
    formats = (f"%{first}{sign}%{second}{sign}%{year}" for first, second in ("dm", "md"))
    return f"{text!r}, which may be of --date-format {' or '.join(formats)}"


_TIME_ZONE_OFFSET = re.compile(r"\s*(Z|[+-]\d{2}(:?\d{2})?)$", re.IGNORECASE)
"""Offset of a time zone at the end of a time of day."""

_ZONE_OF_FORMAT = re.compile(r"\s*(%z|(?<!%)[Zz]|[+-]\d{2}(:?\d{2})?)$")
"""The same at the end of the format of a time of day."""


def check_are_numbers(columns: Iterable[pd.Series]) -> None:
    """Raise for a column that holds text."""
    for column in columns:
        if not holds_numbers(column):
            numbers = pd.to_numeric(column, errors="coerce")
            wrong = column[numbers.isna()].iloc[0] if numbers.isna().any() else column.iloc[0]
            raise ValueError(
                f"The column {column.name!r} must hold numbers, but it holds {wrong!r}. Write "
                "decimals with a point, and no separators of thousands."
            )


def check_marks_among_numbers(
    column: pd.Series,
    task: str | None = None,
    remedy: str = "leave out these rows; outcomes may be empty",
) -> None:
    """Check nines, as in -999, further from all other numbers than these from one another.

    They raise among classes. Among numbers, which have decimals or are those of a regression, they
    count, with a warning.
    """
    numbers = np.sort(column.dropna().unique().astype(float))
    are_numbers = task == "regression" or bool((numbers % 1.0 != 0.0).any())
    for mark in [one for one in numbers if re.fullmatch(r"-?9+\.0", str(one))]:
        others = numbers[numbers != mark]
        # Nine itself may mark a missing class.
        is_likely = len(others) > 1 and (abs(mark) > 9.0 or len(others) < 4)
        if not is_likely or np.abs(others - mark).min() <= np.ptp(others):
            continue
        text = (
            f"The column {column.name!r} holds {mark:g}, which may mark missing values or be a "
            f"number; the others go from {others[0]:g} to {others[-1]:g}. If it is a mark, {remedy}"
        )
        if not are_numbers:
            raise ValueError(
                f'{text}; if these are numbers, pass task="regression" (--task regression in a '
                "shell); if they are classes, write them as words."
            )
        warn(f"{text}. It counts as a number.")


def check_numbers_of_file(y_true, prediction, score=None, task=None):
    """Check numbers of a file that may mark missing values, and outcomes that may be years."""
    columns = [
        None if one is None else one.dropna().infer_objects() for one in (y_true, prediction, score)
    ]
    for column in columns:
        if column is not None and holds_numbers(column):
            check_marks_among_numbers(column, task)
    outcomes, predicted = columns[:2]
    if any(one is None or not holds_numbers(one) or not len(one) for one in columns[:2]):
        return
    first = outcomes.min()
    last = outcomes.max()
    predicted = predicted.astype(float).median()
    may_be_years = 1900 <= first and last <= 2100 and (outcomes % 1 == 0).all()
    if may_be_years and not 1900 <= predicted <= 2100:
        raise ValueError(
            f"The column {outcomes.name!r} of outcomes holds whole numbers from {first:g} to "
            f"{last:g}, which may be years, or what is predicted, but the median of the "
            f"predictions is {predicted:g}. Name the column of outcomes, or write classes as words."
        )


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
                    f"usually marks a missing value. {EMPTY_ADVICE} Give a class another name."
                )


def check_same_notation(y_true: pd.Series | None, y_pred: pd.Series) -> None:
    """Raise for classes that are written in two ways, in one column or in both; `y_true` or None.

    These are numbers and text, and text that differs in case or surrounding spaces alone.
    """
    columns = [column for column in (y_true, y_pred) if column is not None]
    _check_one_spelling(columns)
    if y_true is None:
        return
    numbers, text = sorted((y_true, y_pred), key=lambda column: not holds_numbers(column))
    if holds_numbers(numbers) != holds_numbers(text):
        advice = ""
        if numbers is y_pred:
            advice = " If the numbers are scores, pass --threshold to a command."
        raise ValueError(
            f"Classes must be written the same way in both columns, but {numbers.name!r} "
            f"holds numbers or booleans, such as {numbers.iloc[0]}, and {text.name!r} does not, "
            f"such as {text.iloc[0]!r}.{advice}"
        )


_AFFIRMATIVE = frozenset("1 1.0 true t yes y ja j oui o si sí s sim".split())
_NEGATIVE = frozenset("0 0.0 -1 false f no n nein non não".split())
"""Ways to write yes and no, in lower case."""

_ACCEPTED = frozenset("accepted approved admitted granted hired selected pass passed".split())
_REJECTED = frozenset("rejected denied declined refused fail failed".split())
"""Words for decisions, in lower case, of which one column has one for each class."""

_SEXES = [
    frozenset("f female w woman women weiblich frau femme".split()),
    frozenset("m male man men männlich mann homme".split()),
]
"""Ways to write women and men, in lower case."""


def is_sex(labels: Iterable[Label]) -> bool:
    """Return whether labels are women and men, as "f" and "m"."""
    words = {str(one).strip().casefold() for one in labels}
    return all(words & one for one in _SEXES)


def _refuse_two_notations_of_groups(name: str, labels: list[str]) -> None:
    """Raise for labels that may be two notations of a group: f and female, B and Black."""
    sexes = [[x for x in labels if x.strip().casefold() in same] for same in _SEXES]
    ways = sexes if all(sexes) else []
    # A letter, and the one word that begins with it; III is a number.
    words = [x for x in labels if re.match(r"[^\W\d_]{4}", x) and not set(x) <= set("IVX")]
    words = [x for x in words if not is_like_unknown(x)]
    for letter in [x for x in labels if re.fullmatch(r"[^\W\d_]", x)]:
        longer = [x for x in words if x[0].casefold() == letter.casefold()]
        ways += [[letter, *longer]] * (len(longer) == 1)
    for same in ways:
        # Labels that differ in case alone are warned of.
        different = list({x.strip().casefold(): x for x in same}.values())
        if len(different) > 1:
            raise ValueError(
                f"The column {name!r} must have one notation of its groups, but "
                f"{join_names(map(repr, different))} may be notations of one group, or several "
                "groups. Write one group in one way, or begin names of several by other letters."
            )


_NUMBER = r"[+-]?\d*[.,]?\d+"


def _refuse_two_notations(column: pd.Series) -> None:
    """Raise for labels that may be two notations of a class: numbers and words, Yes and J."""
    labels = sorted({one.strip() for one in column.unique() if isinstance(one, str)})
    if holds_numbers(column) or len(labels) < 3:
        return
    numbers = [one for one in labels if re.fullmatch(f"{_NUMBER}|true|false", one.casefold())]
    words = [one for one in labels if not re.search(r"\d", one) and one not in numbers]
    pair = [numbers[0], words[0]] if numbers and words else None
    ways = [
        [x for x in labels if x.casefold() in y]
        for y in (_AFFIRMATIVE | _ACCEPTED, _NEGATIVE | _REJECTED)
    ]
    is_yes_or_no = {one.casefold() for one in labels} <= _AFFIRMATIVE | _NEGATIVE
    if is_yes_or_no or (sum(map(len, ways)) == len(labels) and min(map(len, ways)) > 1):
        pair = max(ways, key=len)[:2]
    if pair is None:
        return
    counts = [f"{one!r} ({int((column == one).sum()):,} times)" for one in pair]
    raise ValueError(
        f"The column {column.name!r} must have one notation of its classes, but it holds "
        f"{join_names(map(repr, labels), 6)}: {join_names(counts)} may be two notations of one "
        "class, or two classes. Write one class in one way, or give classes names without numbers."
    )


def refuse_headings_and_totals(table: pd.DataFrame, path: Path) -> None:
    """Raise for a first line that looks like a second header, and a last one like totals.

    In one column at least such a line has an entry of another form than all others, and in every
    other column too, or none.
    """
    # Lines of a file from which a second header and a line of totals are looked for.
    if len(table) < 20:
        return
    for row, what in ((0, "a second header"), (len(table) - 1, "totals")):
        entries = [_describe_entry(table[name], row) for name in table]
        if "foreign" in entries and "usual" not in entries:
            line = join_names(repr(one) for one in table.iloc[row].dropna())
            raise ValueError(
                f"The {'first' if row == 0 else 'last'} line below the header of {path} holds "
                f"{line}, which may be {what} or a sample. Delete it if it is {what}, or move it "
                "between other lines if it is a sample."
            )


def _describe_entry(column: pd.Series, row: int) -> str:
    """Whether an entry is "empty", "foreign" to the others of its column, or "usual"."""
    entry = column.iloc[row]
    others = column.iloc[1:] if row == 0 else column.iloc[:-1]
    if pd.isna(entry):
        return "empty"
    # Most entries occur again soon.
    if any((one == entry).any() for one in (others[:1000], others)) or not len(
        others := others.dropna()
    ):
        return "usual"
    # Labels of a column up to which one that occurs once may be a heading or a total.
    if others.nunique() <= 50 and others.value_counts().min() > 1:
        return "foreign"
    # Numbers: a word among them, or the sum of all others.
    numbers = pd.to_numeric(others, errors="coerce")
    if numbers.isna().any():
        return "usual"
    number = pd.to_numeric(pd.Series([entry]), errors="coerce").iloc[0]
    is_foreign = pd.isna(number) or np.isclose(number, numbers.sum(), rtol=1e-6)
    return "foreign" if is_foreign else "usual"


def _check_one_spelling(columns: list[pd.Series]) -> None:
    """Raise for labels that `normalize_label` makes equal."""
    for column in columns:
        _refuse_two_notations(column)
    labels = {label for one in columns for label in one.unique() if isinstance(label, str)}
    spellings: dict[Any, list[str]] = {}
    for label in sorted(labels):
        spellings.setdefault(normalize_label(label), []).append(label)
    for same in spellings.values():
        if len(same) > 1:
            raise ValueError(
                "Classes must be written the same way in all rows, but "
                f"{join_names(repr(one.name) for one in columns)} hold "
                f"{join_names(map(repr, same))}, which differ in case, spaces or Unicode form "
                "alone; replace all of them by one."
            )


def holds_numbers(column: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(column)


def has_decimals(column: pd.Series) -> bool:
    return pd.api.types.is_float_dtype(column) and bool((column % 1 != 0).any())


def find_label(label: Label | None, column: pd.Series) -> Label | None:
    """A label of the command line as the column has it: numbers are numbers there."""
    if label is None:
        return None
    # The class as text, then as the number or boolean that the text spells.
    known = column.unique().tolist()
    spelled = parse_column(pd.Series([label])).iloc[0]
    for written in (label, spelled):
        if written in known:
            return known[known.index(written)]
    if may_have_no_sample(label, known):
        warn(
            f"No entry of {column.name!r} is {label!r}: all {len(column):,} are {known[0]!r}, so "
            "that no sample is selected. If some are, check the spelling of the positive class."
        )
        return label if isinstance(known[0], str) else spelled
    classes = join_names(repr(str(value)) for value in known)
    raise ValueError(f"--positive must be one of the classes {classes}; got {label!r}.")


_MIN_MISSPELLED = 0.85
"""Similarity from which two labels look like spellings of one: "aproved" and "approved" have .93,
"approved" and "not approved" .8."""


def may_have_no_sample(label: Label, known: Sequence[Label]) -> bool:
    """Return whether a class may occur nowhere since all entries are of the other class.

    That is so in a month without a selected sample. A label that looks like a slip in the
    spelling of the only class is refused, and so is a word where the class is a number.
    """
    if len(known) != 1:
        return False
    (other,) = known
    if not isinstance(other, str):
        return holds_numbers(parse_column(pd.Series([label])))
    first = str(normalize_label(label))
    second = str(normalize_label(other))
    if first != second and second.endswith(first):  # such as "approved" of "unapproved"
        return True
    return SequenceMatcher(None, first, second).ratio() < _MIN_MISSPELLED


def find_success(classes: Iterable[Label]) -> Label | None:
    """Return the class that means success by a usual word, as "yes"; None unless it is clear."""
    usual = [one for one in classes if str(one).casefold() in _AFFIRMATIVE | _ACCEPTED]
    others = [one for one in classes if str(one).casefold() in _NEGATIVE | _REJECTED]
    return usual[0] if len(usual) == 1 and others else None


def are_decisions(classes: Iterable[Label]) -> bool:
    """Return whether classes are words for decisions, as "approved" and "denied"."""
    words = {str(one).casefold() for one in classes}
    return bool(words & _ACCEPTED and words & _REJECTED)


def check_counts(column: pd.Series, name: str) -> pd.Series:
    """Counts of samples as numbers; a ValueError unless they are whole and not negative."""
    counts = pd.to_numeric(column, errors="coerce").to_numpy(np.float64)
    is_count = np.isfinite(counts) & (counts >= 0.0) & (counts == np.floor(counts))
    if not is_count.all():
        wrong = column.tolist()[int((~is_count).argmax())]
        raise ValueError(
            f"The column {name!r} must hold numbers of samples, which are whole and not negative, "
            f"but it holds {wrong!r}. Sampling weights are sample_weight, of a row for each sample."
        )
    if not counts.any():
        raise ValueError(f"The column {name!r} of counts must count samples, but all are 0.")
    return pd.Series(counts, index=column.index, name=name)


# The reading of a table: how its columns were read, and which rows do not count.


_MAX_READ_LABELS = 20
"""Different values of a column up to which a reading counts each."""


class ColumnReading(NamedTuple):
    """How a column was read: its notation, labels with counts, and what changed entries.

    ``labels`` has the count of each label, of at most 20, or None where counts are not published,
    ``positive`` those that count as the positive class, and ``changed`` the number of entries by
    the rule that changed them.
    """

    name: str
    role: str
    notation: str
    labels: Mapping[str, int | None]
    positive: tuple[str, ...]
    changed: dict[str, int]

    def describe(self) -> str:
        """The role, name and meaning of the column in a few words."""
        texts = [repr(one) for one in self.labels]
        if self.positive and len(texts) > 1:
            named = join_names(map(repr, self.positive))
            others = [repr(one) for one in self.labels if one not in self.positive]
            texts = [f"{named} positive", f"{join_names(others, 4)} not"]
        elif len(texts) > 4:
            noun = "different numbers" if self.role in ("count", "weight") else "labels"
            texts = [f"{len(texts)} {noun}"]
        n_unknown = sum(n for rule, n in self.changed.items() if rule.endswith(_UNKNOWN))
        texts = [*(texts or [self.notation]), *[f"{n_unknown:,} unknown"] * bool(n_unknown)]
        return f"{self.role} {self.name} ({', '.join(texts)})"


_UNKNOWN = "read as unknown"


class Folded(str):
    """Heading of a section of a page that is closed until a reader opens it."""


@dataclass(frozen=True)
class Reading:
    """What was read of a table: its columns, its rows, and those that do not count.

    Attributes
    ----------
    columns : tuple of ColumnReading
        The columns that were read.
    n_rows : int or None
        Number of rows; None where it is not published.
    n_samples : int or None
        Number of samples that count: rows, or what they stand for; None as for rows.
    left_out : dict of str to int
        Rows that do not count, by reason, and samples of unknown group or outcome that some numbers
        leave out.
    n_repeated : int or None
        Rows of a file that equal an earlier row in all columns; None if they were not counted.
    n_shared_ids : int
        Rows whose id occurs in another row, with other entries.
    is_file : bool
        Whether the table is a file, so that its columns have names.
    burden : str or None
        Label of the decision that is bad for people; None if the positive one is good.
    """

    columns: tuple[ColumnReading, ...]
    n_rows: int | None
    n_samples: int | None
    left_out: dict[str, int]
    n_repeated: int | None = None
    n_shared_ids: int = 0
    is_file: bool = False
    burden: str | None = None

    def __str__(self) -> str:
        size = "" if self.n_rows is None else f"{self.n_rows:,} rows, "
        if size and any(one.role == "count" for one in self.columns):
            size = f"{self.n_rows:,} rows for {self.n_samples:,} samples, "
        texts = [f"Read: {size}{join_names((one.describe() for one in self.columns), 12)}"]
        texts += [f"{n:,} {reason}" for reason, n in self.left_out.items()]
        if self.n_repeated:
            texts.append(f"{self.n_repeated:,} rows repeat an earlier row in all columns")
        if self.n_shared_ids:
            texts.append(f"{self.n_shared_ids:,} rows share their id with another row")
        if self.burden is not None:
            texts.append(f"to be decided {self.burden!r} is a burden")
        return f"{'; '.join(texts)}."

    @property
    def has_weights(self) -> bool:
        """Whether samples have different weights."""
        return any(one.role == "weight" for one in self.columns)

    def describe_bins(self) -> list[str]:
        """A sentence on each column of groups that are bins of numbers, which names these."""
        return [
            f"Groups by {one.name} are bins of numbers: {', '.join(sort_labels(one.labels)[0])}."
            for one in self.columns
            if one.role == "group" and " bins " in one.notation and one.labels
        ]

    def agrees(self, other: Reading) -> bool:
        """Whether both read the same; unless both are files, labels and samples are compared."""
        if self.is_file and other.is_file:
            if None in (self.n_repeated, other.n_repeated):  # they were not counted
                return replace(self, n_repeated=None) == replace(other, n_repeated=None)
            return self == other
        roles = {one.role for one in self.columns} & {one.role for one in other.columns}
        both = [
            (
                [(one.labels, one.positive) for one in read.columns if one.role in roles],
                read.n_samples,
                read.left_out,
                read.burden,
            )
            for read in (self, other)
        ]
        return both[0] == both[1]

    def protect(self, n_samples: int | None, hidden: dict[str, Any]) -> Reading:
        """The reading without counts, of so many samples that printed numbers count.

        Labels are those of two classes, and of groups that are not hidden, by column.
        """
        columns = []
        for one in self.columns:
            is_class = one.role in ("decision", "outcome") and len(one.labels) == 2
            names = {*one.labels} if is_class or one.role == "group" else set()
            names -= {*hidden.get(one.name, ())}
            columns.append(one._replace(labels=dict.fromkeys(sorted(names)), changed={}))
        return Reading(
            tuple(columns), None, n_samples, {}, is_file=self.is_file, burden=self.burden
        )

    def to_dict(self) -> dict[str, Any]:
        """The reading as values that JSON can hold."""
        return vars(self) | {"columns": [one._asdict() for one in self.columns]}

    @classmethod
    def from_dict(cls, content: Any) -> Reading:
        """The reading of which `to_dict` made values; a ValueError if they are damaged."""
        try:
            columns = [
                ColumnReading(**one | {"positive": (*one["positive"],)})
                for one in content["columns"]
            ]
            reading = cls(**content | {"columns": (*columns,)})
            if json.loads(json.dumps(reading.to_dict())) != content:
                raise TypeError  # something is left out, or of another type
            return reading
        except (TypeError, KeyError):
            raise ValueError(
                "The field reading must be as to_json wrote it, but it is damaged; make it again."
            ) from None

    def section(self, heading: str = "What was read") -> tuple[str, list[Any]]:
        """The section of a page."""
        rows = []
        for one in self.columns:
            counts = [
                repr(label) + (f" {n:,}" if n else "") + " (positive)" * (label in one.positive)
                for label, n in one.labels.items()
            ]
            changed = [f"{rule}: {n:,}" for rule, n in one.changed.items()]
            rows.append(
                ((one.name, one.role, one.notation, ", ".join(counts), "; ".join(changed)), False)
            )
        titles = ("Column", "Role", "Read as", "Values", "Changed entries")
        return Folded(heading), [[str(self)], ("Columns", "", titles, rows)]


UNREAD = Reading((), 0, 0, {})
"""The reading of results that were made without an audit."""


def read_as(
    role: str,
    read: pd.Series,
    written: pd.Series | None = None,
    positive: Label | None = None,
    weights: np.ndarray | None = None,
) -> ColumnReading:
    """How a column was read, from its entries before and after, which count as often as weights."""
    written = read if written is None else written
    # Each distinct entry was read in one way: that of its first row.
    codes, entries = pd.factorize(written, use_na_sentinel=False)
    sizes = np.bincount(codes, weights, len(entries)).astype(int).tolist()
    first = np.empty(len(entries), dtype=np.intp)
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    after = read.iloc[first].astype(object)
    labels: dict[str, int] = {}
    changed: dict[str, int] = {}
    named = set()
    known = after.dropna().infer_objects()
    if holds_numbers(written) and len(entries) > _MAX_READ_LABELS:
        entries = [None]
        after = [None]
        sizes = [int(written.isna().sum())]
    for old, new, n in zip(entries, after, sizes, strict=True):
        if not pd.isna(new):
            text = str(new).removesuffix(" 00:00:00")
            labels[text] = labels.get(text, 0) + n
            named |= {text} if positive is not None and new == positive else set()
        if n and (rule := _find_rule(old, new)) is not None:
            changed[rule] = changed.get(rule, 0) + n
    notation = _find_notation(known)
    if not 0 < len(labels) <= _MAX_READ_LABELS:
        labels = {}
        if notation == "numbers" and len(known):
            notation += f" from {known.min():g} to {known.max():g}"
    ordered = dict(sorted(labels.items(), key=lambda one: (-one[1], one[0])))
    return ColumnReading(
        name=str(read.name),
        role=role,
        notation=notation,
        labels=ordered,
        positive=tuple(named & {*labels}),
        changed=changed,
    )


def refuse_repeats(table: pd.DataFrame, name: str, path: str) -> None:
    """Raise for rows that equal an earlier one in all columns, the id `name` included."""
    is_repeated = table.duplicated()
    if is_repeated.any():
        first = int(is_repeated.to_numpy().argmax())
        raise ValueError(
            f"Rows must be different samples, but {int(is_repeated.sum()):,} rows of {path} repeat "
            f"an earlier one in all columns that are read, the first in row {first + 1} with "
            f"{name} {table[name].iloc[first]!r}. Delete them, or pass --repeats keep if each of "
            "them is a sample."
        )


def count_shared_ids(table: pd.DataFrame, name: str) -> int:
    """Number of rows whose id occurs in another row with other entries."""
    return int(normalize_ids(table.drop_duplicates()[name]).duplicated(keep=False).sum())


def normalize_ids(column: pd.Series) -> pd.Series:
    """Ids as text without surrounding spaces, whole numbers without decimals; missing stay so."""
    is_number = pd.api.types.is_float_dtype(column)
    if is_number and (column.dropna() % 1.0 == 0.0).all():
        column = column.astype("Int64")  # whole numbers with decimals because of missing ones
    texts = column.astype(str).str.strip().str.replace(r"^(-?\d+)\.0+$", r"\1", regex=True)
    return texts.where(column.notna())


def _find_notation(read: pd.Series) -> str:
    """What the entries of a column are, in words."""
    if pd.api.types.is_bool_dtype(read):
        return "booleans"
    if pd.api.types.is_datetime64_any_dtype(read):
        return f"dates from {read.min():%Y-%m-%d} to {read.max():%Y-%m-%d}"
    return "numbers" if holds_numbers(read) else "labels"


def _find_rule(old: float | str, new: Timestamp | float | str | None) -> str | None:
    """The rule that changed an entry, in words; None where it is read as it is written."""
    if pd.isna(new):
        return f"{'empty' if pd.isna(old) else repr(old)} {_UNKNOWN}"
    if not isinstance(old, str) or isinstance(new, bool | np.bool_):
        return None
    if isinstance(new, str):
        return f"{old!r} read as {new!r}" if old != new else None
    if "," not in old and "." not in old:
        return None
    rules = {
        None: old,
        "separators of thousands left out": old.replace(",", ""),
        "decimal comma": old.replace(",", "."),
        "decimal comma and separators of thousands": old.replace(".", "").replace(",", "."),
    }
    return next((rule for rule, text in rules.items() if _spells(text, new)), None)


def _spells(text: str, number: Any) -> bool:
    """Whether a text with a decimal point spells a number."""
    try:
        return float(text) == number
    except ValueError:
        return False


# Times of decisions, of which months count.


def read_periods(time: Any) -> Any:
    """Return the month of each date as text, or numbers of periods as they are; None of None."""
    if time is None:
        return None
    column = time if isinstance(time, pd.Series) else pd.Series(np.asarray(time))
    if pd.api.types.is_integer_dtype(column):
        return column
    if pd.api.types.is_float_dtype(column) or pd.api.types.is_bool_dtype(column):
        raise argument_error(
            "time must hold dates, such as '2026-03-01', or whole numbers of periods, but holds "
            f"{column.tolist()[0]!r}. Number the periods from 0 on."
        )
    try:
        dates = pd.to_datetime(column)
    except (ValueError, TypeError) as error:
        raise argument_error(
            "time must hold dates, such as '2026-03-01', or whole numbers of periods, but holds "
            f"{column.tolist()[0]!r}. Write dates as year, month and day."
        ) from error
    return dates.dt.strftime("%Y-%m")
