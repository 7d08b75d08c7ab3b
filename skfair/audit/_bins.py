"""Bins of equally many samples, into which columns of many numbers are divided."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from skfair.audit._reading import (
    check_are_numbers,
    parse_column,
    read_as,
    refuse_marks_among_numbers,
)
from skfair.audit._tables import attribute_name
from skfair.groups._groups import attribute_columns
from skfair.groups._known import MISSING
from skfair.partitions._collections import load_rows

N_BINS = 4
"""Bins of a column, unless another number is passed."""

MAX_NUMBERS = 20
"""Different numbers of an attribute up to which each is a group."""


def cut_numbers(values, counts, n_bins):
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


def range_text(name, cuts, distinct, low, high):
    """A range of bins in words; a bin of one value as an equation."""
    ends = np.concatenate(([-np.inf], cuts, [distinct[-1]]))
    lower, upper = ends[low], ends[high + 1]
    inside = distinct[(distinct > lower) & (distinct <= upper)]
    if len(inside) == 1:
        return f"{name} = {inside[0]:g}"
    if low == 0:
        return f"{name} <= {upper:g}"
    return f"{name} > {lower:g}" if high == len(cuts) else f"{lower:g} < {name} <= {upper:g}"


class Bins(NamedTuple):
    """Upper ends of all bins but the last, and the bins in words."""

    cuts: list[float]
    texts: list[str]


def find_bins(name, labels, counts):
    """The bins of labels that are more than 20 numbers, perhaps as text; None of other labels.

    `counts` are the numbers of samples that have the labels.
    """
    is_known = labels != MISSING
    numbers = parse_column(pd.Series(labels[is_known], dtype=object).infer_objects())
    is_numeric = pd.api.types.is_numeric_dtype(numbers) and not pd.api.types.is_bool_dtype(numbers)
    if not is_numeric or numbers.nunique() <= MAX_NUMBERS:
        return None
    cuts, distinct = cut_numbers(numbers.to_numpy(np.float64), counts[is_known], N_BINS)
    texts = [range_text(name, cuts, distinct, level, level) for level in range(len(cuts) + 1)]
    return Bins(cuts.tolist(), texts)


def bin_labels(name, labels, bins):
    """Labels of numbers as bins in words; missing ones remain."""
    binned = labels.astype(object)
    is_known = labels != MISSING
    numbers = parse_column(pd.Series(labels[is_known], dtype=object, name=name).infer_objects())
    check_are_numbers([numbers])
    refuse_marks_among_numbers(numbers, "pass it by --unknown (unknown of SensitiveFeatures)")
    at = np.searchsorted(bins.cuts, numbers.to_numpy(np.float64))
    binned[is_known] = np.array(bins.texts, dtype=object)[at]
    return binned


def read_bins(role, column, counts=None):
    """How a column of bins was read; its entries count as often as the counts."""
    notation = f"numbers in {N_BINS} bins of equally many samples"
    return read_as(role, column, weights=counts)._replace(notation=notation)


def find_group_bins(groups, columns):
    """The bins of attributes of groups that are more than 20 numbers, by place.

    `columns` are the attributes as they were passed, where text is no number; None for a file,
    where numbers are text.
    """
    bins_of_columns = {}
    for place, name in enumerate(groups.attributes if groups.is_disjoint else ()):
        labels = groups.labels[:, place]
        if len(set(labels.tolist())) > MAX_NUMBERS and _holds_numbers(columns, place):
            bins = find_bins(attribute_name(name, place), labels, groups.counts)
            bins_of_columns |= {} if bins is None else {place: bins}
    return bins_of_columns


def _holds_numbers(columns, place):
    """Whether an attribute was passed as numbers, or in a file."""
    if columns is None:
        return True
    column = pd.Series(attribute_columns(load_rows(columns))[place]).infer_objects()
    return pd.api.types.is_numeric_dtype(column)


def bin_groups(groups, bins):
    """Groups, of which attributes are divided into bins by place; groups of equal bins are one."""
    if not bins:
        return groups
    labels = groups.labels.copy()
    for place, one in bins.items():
        name = attribute_name(groups.attributes[place], place)
        labels[:, place] = bin_labels(name, labels[:, place], one)
    table = pd.DataFrame(labels)
    codes = table.groupby([*table], sort=False).ngroup().to_numpy()[groups.codes]
    return groups.regroup(codes, labels[~table.duplicated()]).rename(groups.attributes)
