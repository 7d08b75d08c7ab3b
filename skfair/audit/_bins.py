"""Bins into which columns of many numbers are divided: of equally many samples, or named ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from skfair._columns.reading import (
    check_are_numbers,
    check_marks_among_numbers,
    has_decimals,
    holds_numbers,
    parse_column,
    read_as,
)
from skfair._groups.groups import (
    MAX_NUMERIC_GROUPS,
    attribute_columns,
    sort_labels,
    warn_of_many_numbers,
)
from skfair._groups.known import MISSING
from skfair._partitions.collections import load_rows
from skfair._utils.checks import argument_error, join_names
from skfair.audit._tables import attribute_name

if TYPE_CHECKING:
    from skfair._columns.reading import ColumnReading
    from skfair._groups.groups import Groups
    from skfair._utils.tables import TableLike


N_BINS = 4
"""Bins of a column, unless another number is passed."""


_REMEDY = "pass it by --unknown (unknown of SensitiveFeatures)"
"""What to do with such a mark."""


def cut_numbers(
    values: np.ndarray, counts: np.ndarray, n_bins: int
) -> tuple[np.ndarray, np.ndarray]:
    """Upper ends of all bins but the last, and the distinct values.

    `counts` are the numbers of samples that have the values. Few values are bins of their own.
    """
    # Cut at values that occur, so that equal samples share a bin; the largest value is no cut.
    distinct, codes = np.unique(values, return_inverse=True)
    if len(distinct) <= n_bins:
        return distinct[:-1], distinct
    # Quantiles of all samples: the inverse of their cumulative distribution.
    ends = np.cumsum(np.bincount(codes, counts))
    levels = np.arange(1, n_bins) / n_bins
    places = np.searchsorted(ends, np.ceil(ends[-1] * levels - 1.0), side="right")
    cuts = distinct[np.unique(places)]
    return cuts[cuts < distinct[-1]], distinct


def range_text(
    name: str, cuts: np.ndarray, distinct: np.ndarray, low: int | np.intp, high: int
) -> str:
    """A range of bins in words; a bin of one value as an equation."""
    ends = np.concatenate(([-np.inf], cuts, [distinct[-1]]))
    lower, upper = ends[low], ends[high + 1]
    inside = distinct[(distinct > lower) & (distinct <= upper)]
    if len(inside) == 1:
        return f"{name} = {inside[0]:g}"
    if low == 0:
        return f"{name} <= {upper:g}"
    return f"{name} > {lower:g}" if high == len(cuts) else f"{lower:g} < {name} <= {upper:g}"


@dataclass(frozen=True)
class Bins:
    """Ends of all bins but the last, and the bins in words.

    Numbers that equal an end are in the bin below, or in the one above where `are_named`.
    """

    cuts: list[float]
    texts: list[str]
    are_named: bool = False

    @property
    def notation(self) -> str:
        """What the numbers became, in words."""
        if self.are_named:
            return "numbers in bins that are named"
        return f"numbers in {N_BINS} bins of equally many samples"


def name_bins(name: str, cuts: list) -> Bins:
    """Bins that begin at cuts which a user named."""
    try:
        ends = np.asarray(cuts, dtype=np.float64)
    except (TypeError, ValueError):
        ends = np.empty(0)
    if ends.ndim != 1 or not len(ends) or not np.isfinite(ends).all() or (np.diff(ends) <= 0).any():
        raise argument_error(
            f"bins must map an attribute to ascending numbers, as in {{{name!r}: [40, 65]}}, but "
            f"those of {name!r} are {cuts!r}."
        )
    texts = [
        f"{name} < {ends[0]:g}",
        *(f"{low:g} <= {name} < {high:g}" for low, high in zip(ends, ends[1:], strict=False)),
        f"{name} >= {ends[-1]:g}",
    ]
    return Bins(ends.tolist(), texts, are_named=True)


def _find_numbers(
    groups: Groups, columns: TableLike | None, more_than: int = MAX_NUMERIC_GROUPS
) -> dict[int, pd.Series]:
    """Labels, as numbers, of attributes that have more than so many, perhaps as text, by place.

    `columns` are the attributes as they were passed, where text is no number; None for a file,
    where numbers are text.
    """
    by_place = {}
    for place, labels in enumerate(groups.labels.T if groups.is_disjoint else ()):
        if len({*labels}) <= more_than or not _holds_numbers(columns, place):
            continue
        numbers = pd.Series(labels[labels != MISSING], dtype=object).infer_objects()
        numbers = parse_column(numbers)
        is_number = holds_numbers(numbers) and not pd.api.types.is_bool_dtype(numbers)
        if is_number and numbers.nunique() > more_than:
            by_place[place] = numbers
    return by_place


def warn_of_integers(groups: Groups, columns: TableLike | None, bins: dict[int, Bins]) -> None:
    """Warn of attributes of more than 30 whole numbers, each of which is a group.

    `columns` are as in `find_group_bins`, which found the bins of other attributes.
    """
    for place, numbers in _find_numbers(groups, columns).items():
        if place not in bins:
            warn_of_many_numbers(attribute_name(groups.attributes[place], place), {*numbers})


def bin_labels(name: str, labels: np.ndarray, bins: Bins) -> np.ndarray:
    """Labels of numbers as bins in words; missing ones remain, and those that are bins already."""
    binned = labels.astype(object)
    is_known = labels != MISSING
    if {*labels[is_known]} <= {*bins.texts}:
        return binned
    numbers = parse_column(pd.Series(labels[is_known], dtype=object, name=name).infer_objects())
    check_are_numbers([numbers])
    check_marks_among_numbers(numbers, "regression", _REMEDY)
    side = "right" if bins.are_named else "left"
    at = np.searchsorted(bins.cuts, numbers.to_numpy(np.float64), side)  # type: ignore[call-overload]
    binned[is_known] = np.array(bins.texts, dtype=object)[at]
    return binned


def read_bins(
    role: str, column: pd.Series, bins: Bins, counts: np.ndarray | None = None
) -> ColumnReading:
    """How a column of bins was read; its entries count as often as the counts."""
    return read_as(role, column, weights=counts)._replace(notation=bins.notation)


def find_group_bins(
    groups: Groups, columns: TableLike | None, named: Any = None
) -> dict[int, Bins]:
    """The bins of attributes of groups by place: those named, and of more than 30 numbers.

    `columns` are the attributes as they were passed, None for a file. `named` are cuts by the name
    of an attribute, or its position. Numbers of a bin that is not named have decimals.
    """
    named = named or {}
    attributes = list(groups.attributes) if groups.is_disjoint else []
    names = [attribute_name(one, place) for place, one in enumerate(attributes)]
    if absent := [one for one in named if one not in attributes + names]:
        raise argument_error(
            f"bins must name attributes of sensitive_features, which are "
            f"{join_names(map(repr, names))}, but {join_names(map(repr, absent))} is none."
        )
    bins = {}
    # Of more than 20 different numbers of an attribute, one may be the mark of a missing value.
    for place, numbers in _find_numbers(groups, columns, 20).items():
        check_marks_among_numbers(numbers.rename(names[place]), "regression", _REMEDY)
        if has_decimals(numbers) and numbers.nunique() > MAX_NUMERIC_GROUPS:
            counts = groups.counts[groups.labels[:, place] != MISSING]
            cuts, distinct = cut_numbers(numbers.to_numpy(np.float64), counts, N_BINS)
            levels = range(len(cuts) + 1)
            texts = [range_text(names[place], cuts, distinct, one, one) for one in levels]
            bins[place] = Bins(cuts.tolist(), texts)
    for place, (attribute, name) in enumerate(zip(attributes, names, strict=True)):
        cuts = named.get(attribute, named.get(name))
        if cuts is not None:
            bins[place] = name_bins(name, cuts)
    return bins


def _holds_numbers(columns: TableLike | None, place: int) -> bool:
    """Whether an attribute was passed as numbers, or in a file."""
    if columns is None:
        return True
    column = pd.Series(attribute_columns(load_rows(columns))[place]).infer_objects()
    return pd.api.types.is_numeric_dtype(column)


def bin_groups(groups: Groups, bins: dict[int, Bins]) -> Groups:
    """Groups, of which attributes are divided into bins by place; groups of equal bins are one.

    They are sorted by label, and ranges of numbers by number.
    """
    if not groups.is_disjoint:
        return groups
    columns = []
    for place, column in enumerate(groups.labels.T):
        name = attribute_name(groups.attributes[place], place)
        columns.append(
            sort_labels(bin_labels(name, column, bins[place]) if place in bins else column)
        )
    rows, codes = np.unique(
        np.column_stack([codes for _, codes in columns]), axis=0, return_inverse=True
    )
    labels = [values[of_column] for (values, _), of_column in zip(columns, rows.T, strict=True)]
    codes = codes.ravel()[groups.codes]
    return groups.regroup(codes, np.column_stack(labels)).rename(groups.attributes)
