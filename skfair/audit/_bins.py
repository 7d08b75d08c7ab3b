"""Bins of equally many samples, into which columns of many numbers are divided."""

import numpy as np
import pandas as pd

from skfair.audit._reading import parse_column
from skfair.audit._tables import attribute_name
from skfair.groups._groups import MAX_NUMERIC_GROUPS, attribute_columns
from skfair.groups._known import MISSING
from skfair.partitions._collections import load_rows

N_BINS = 4
"""Bins of a column, unless another number is passed."""


def cut_numbers(values, counts, n_bins):
    """Upper ends of all bins but the last, and the distinct values.

    `counts` are the numbers of samples that have the values. Few values are bins of their own.
    """
    # Cut at values that occur, so that equal samples share a bin; the largest value is no cut.
    distinct, codes = np.unique(values, return_inverse=True)
    if len(distinct) <= n_bins:
        return distinct[:-1], distinct
    # Quantiles of all samples: the inverse of their cumulative distribution.
    ends, levels = np.cumsum(np.bincount(codes, counts)), np.arange(1, n_bins) / n_bins
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


def bin_groups(groups, columns):
    """Groups, of which attributes of more than 30 numbers are divided into bins.

    `columns` are the attributes as they were passed, or None.
    """
    if columns is None or not groups.is_disjoint:
        return groups
    columns = enumerate(attribute_columns(load_rows(columns)))
    places = [place for place, column in columns if _holds_many_numbers(column)]
    if not places:
        return groups
    labels = groups.labels.copy()
    for place in places:
        name = attribute_name(groups.attributes[place], place)
        is_known = labels[:, place] != MISSING
        values = parse_column(pd.Series(labels[is_known, place])).to_numpy(np.float64)
        cuts, distinct = cut_numbers(values, groups.counts[is_known], N_BINS)
        texts = [range_text(name, cuts, distinct, level, level) for level in range(len(cuts) + 1)]
        labels[is_known, place] = np.array(texts, dtype=object)[np.searchsorted(cuts, values)]
    # Groups of equal labels become one.
    table = pd.DataFrame(labels)
    codes = table.groupby([*table], sort=False).ngroup().to_numpy()[groups.codes]
    return groups.regroup(codes, labels[~table.duplicated()]).rename(groups.attributes)


def _holds_many_numbers(column):
    """Whether a column looks like a measurement: each of its numbers is hardly a group."""
    column = pd.Series(column).infer_objects()
    return pd.api.types.is_numeric_dtype(column) and column.nunique() > MAX_NUMERIC_GROUPS
