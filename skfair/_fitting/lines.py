"""Errors and means along lines of models, between any two flips of decisions.

Flips are counted in bins first. Only bins whose points may be useful are sorted.
"""

from typing import NamedTuple

import numpy as np

from skfair._kernels import COUNT, ERROR, MEANS, MIN_ERROR, OUTER_LENGTH, TOTAL_CHANGE

MAX_NUMPY_FLIPS = 50_000
"""Samples times lines of a call up to which numpy counts flips; kernels count more."""

MAX_NUMPY_TOTAL = 3_000_000
"""Flips of a process up to which numpy counts small calls, about as long as kernels load.

Kernels add in the order of numpy, so that results have the same bits whatever counts them.
"""


class _Flipped:
    """Flips that this process has counted."""

    total = 0


def use_kernels(n_flips: int) -> bool:
    """Whether kernels count the flips of a call, which they do faster once they are loaded."""
    return n_flips > MAX_NUMPY_FLIPS or _Flipped.total > MAX_NUMPY_TOTAL


def choose_n_bins(n_samples: int, n_cells: int, max_entries: int) -> int:
    """Number of bins of a line, a power of 2, such that its table has so many entries at most."""
    # At most 4096 bins, with 16 flips or more on average.
    largest = min(4096, n_samples / 16, max_entries / (MEANS + n_cells))
    return 1 << max(4, int(np.log2(largest)))


def bin_line_flips(
    scores: np.ndarray,
    slopes: np.ndarray,
    lines: np.ndarray,
    scales: np.ndarray,
    min_slope: float,
    effects: tuple,
    n_bins: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Tables of the bins of several lines, and the bin of each flip.

    ``lines`` are pairs of a row of `scores`, (n_starts, n_samples), from which lengths are counted,
    and a row of `slopes`, (n_directions, n_samples); those up to ``min_slope`` count as 0. A
    decision flips at the length t at which its score is 0. Bins are of equal width in ``t / (scale
    + |t|)``, by one of the ``scales`` for each line. ``effects`` are what a positive decision of
    each sample adds to the error, (n_samples,), and to means, with the cell of each, both (n_terms,
    n_samples); and error and means, (n_cells,), without any positive decision.

    Returns bins, (n_lines, n_samples), where decisions that never flip have n_bins + 1, and
    tables, (n_lines, n_bins + 2, MEANS + n_cells); their row n_bins has error and means beyond all
    bins, and their last row has no meaning.
    """
    n_flips = len(lines) * scores.shape[1]
    _Flipped.total += n_flips
    if use_kernels(n_flips):
        from skfair._kernels import lines as kernels

        return kernels.bin_line_flips(scores, slopes, lines, scales, min_slope, effects, n_bins)
    start, slope = scores[lines[:, 0]], slopes[lines[:, 1]]
    size = np.abs(slope)
    with np.errstate(all="ignore"):
        position = np.where(slope < 0.0, start, -start)
        position /= scales[:, np.newaxis] * size + np.abs(start) + 1e-300
        position = (position + 1.0) * (0.5 * n_bins)
    # What is not a number is in the first bin.
    position = np.minimum(np.where(position > 0.0, position, 0.0), n_bins - 1.0)
    bins = np.where(size > min_slope, position, n_bins + 1.0).astype(np.int16)
    is_positive = np.where(bins > n_bins, start > 0.0, slope < 0.0)
    return bins, _tabulate_bins(bins, is_positive, effects, n_bins)


def _tabulate_bins(
    bins: np.ndarray, is_positive: np.ndarray, effects: tuple, n_bins: int
) -> np.ndarray:
    """The tables of all lines, from the bin of each flip and the decision before it."""
    on_error, on_means, cells, error, means = effects
    n_lines, n_rows, n_cells = len(bins), n_bins + 2, len(means)
    line = np.arange(n_lines)[:, np.newaxis]
    rows = bins + n_rows * line  # (n_lines, n_samples)
    sign = 1.0 - 2.0 * is_positive
    change = sign * on_error
    # Terms of a sample follow each other, as in the kernel: sums have the same bits in both.
    steps = on_means.T  # (n_samples, n_terms)
    columns = cells.T

    table = np.zeros((n_lines * n_rows, MEANS + n_cells))
    table[:, COUNT] = np.bincount(rows.ravel(), minlength=len(table))
    table[:, ERROR] = _sum_by_place(rows, change, len(table))
    table[:, MIN_ERROR] = _sum_by_place(rows, np.minimum(change, 0.0), len(table))
    table[:, TOTAL_CHANGE] = _sum_by_place(rows, np.abs(on_means).sum(axis=0), len(table))
    places = rows[..., np.newaxis] * n_cells + columns  # (n_lines, n_samples, n_terms)
    sums = _sum_by_place(places, sign[..., np.newaxis] * steps, len(table) * n_cells)
    table[:, MEANS:] = sums.reshape(-1, n_cells)

    # Error and means before the first bin: those of the decisions that are positive there.
    before = np.empty((n_lines, 1 + n_cells))
    positive_error = np.where(is_positive, on_error, 0.0)
    before[:, 0] = error + _sum_by_place(line, positive_error, n_lines)
    places = line[..., np.newaxis] * n_cells + columns
    positive_steps = np.where(is_positive[..., np.newaxis], steps, 0.0)
    sums = _sum_by_place(places, positive_steps, n_lines * n_cells)
    before[:, 1:] = means + sums.reshape(n_lines, n_cells)

    tables = table.reshape(n_lines, n_rows, -1)
    # Cumulate errors and means.
    cumulated = [ERROR, *range(MEANS, MEANS + n_cells)]
    changes = np.concatenate((before[:, np.newaxis], tables[:, :n_bins, cumulated]), axis=1)
    tables[:, : n_bins + 1, cumulated] = changes.cumsum(axis=1)
    tables[:, n_bins, [MIN_ERROR, TOTAL_CHANGE, COUNT]] = 0.0
    tables[:, :n_bins, MIN_ERROR] += tables[:, :n_bins, ERROR]
    return tables


def _sum_by_place(places: np.ndarray, values: np.ndarray, n_places: int) -> np.ndarray:
    """Sums of values at each place, (n_places,), added in order; both arrays are broadcast."""
    places, values = np.broadcast_arrays(places, values)
    return np.bincount(places.ravel(), values.ravel(), n_places)


def find_line_points(
    scores: np.ndarray,
    slopes: np.ndarray,
    lines: np.ndarray,
    is_useful: np.ndarray,
    max_errors: np.ndarray,
    min_width: float,
    effects: tuple,
    bins: np.ndarray,
    tables: np.ndarray,
) -> tuple[np.ndarray, ...]:
    """Points on lines: intervals between flips, of an error below the largest of the line.

    Those outside of useful bins, (n_lines, n_bins), may be left out, and those up to ``min_width``
    wide are. Other arguments are as in `bin_line_flips`, and its results. Returns line, low and
    high end and error of each point, (n_points,), and its means, (n_points, n_cells).
    """
    if use_kernels(bins.size):
        from skfair._kernels import lines as kernels

        return kernels.find_line_points(
            scores, slopes, lines, is_useful, max_errors, min_width, effects, bins, tables
        )
    line, low, high, values = _find_points(scores, slopes, lines, is_useful, effects, bins, tables)
    is_listed = (values[:, 0] < max_errors[line]) & (high - low > min_width)
    line, low, high, values = line[is_listed], low[is_listed], high[is_listed], values[is_listed]
    return line, low, high, values[:, 0], values[:, 1:]


class _SortedBins(NamedTuple):
    """Bins that have flips, line by line, of which some have their flips sorted."""

    line: np.ndarray  # (n_bins,)
    number: np.ndarray  # (n_bins,), within the line
    begins_line: np.ndarray  # whether it is the first one of its line
    is_sorted: np.ndarray


class _Flips(NamedTuple):
    """Flips of decisions in sorted bins, by line, bin and length."""

    line: np.ndarray
    sample: np.ndarray
    sign: np.ndarray  # 1 where the decision becomes positive, else -1
    length: np.ndarray  # at which it flips
    place: np.ndarray  # position of its bin in `_SortedBins`


def _find_points(
    scores: np.ndarray,
    slopes: np.ndarray,
    lines: np.ndarray,
    is_useful: np.ndarray,
    effects: tuple,
    bins: np.ndarray,
    tables: np.ndarray,
) -> tuple[np.ndarray, ...]:
    """Line, low and high end, and error and means of the points in and next to useful bins."""
    chosen = _choose_sorted_bins(is_useful, tables)
    flips = _sort_flips(scores, slopes, lines, bins, chosen, tables.shape[1])
    rows = np.arange(len(flips.sample))
    begins_bin = np.diff(flips.place, prepend=-1) != 0
    first = np.maximum.accumulate(np.where(begins_bin, rows, 0))  # flip of the bin
    # Error and means before each flip: those before its bin, and what flips in the bin before it.
    sums = _sum_changes(flips, effects, 1 + tables.shape[2] - MEANS)
    columns = [ERROR, *range(MEANS, tables.shape[2])]
    before = tables[flips.line, chosen.number[flips.place]][:, columns]
    values = before + (sums[:-1] - sums[first])
    # The interval before the first flip of a line is of a fixed length. Before the first flip of
    # another bin there is a point if the bin before is sorted as well.
    is_outer = begins_bin & chosen.begins_line[flips.place]
    low = np.where(is_outer, flips.length - OUTER_LENGTH, np.roll(flips.length, 1))
    is_known = ~begins_bin | is_outer | chosen.is_sorted[flips.place - 1]
    # The interval beyond the last flip of a line, whose last bin is sorted.
    ends_line = np.append(chosen.begins_line, True)[1:]
    ends = np.flatnonzero(np.append(begins_bin, True)[1:] & ends_line[flips.place])
    last = before[ends] + (sums[ends + 1] - sums[first[ends]])
    points = flips.line, low, flips.length, values
    beyond = flips.line[ends], flips.length[ends], flips.length[ends] + OUTER_LENGTH, last
    order = np.argsort(np.concatenate((rows[is_known], ends + 0.5)), kind="stable")
    return tuple(
        np.concatenate((one[is_known], another))[order]
        for one, another in zip(points, beyond, strict=True)
    )


def _choose_sorted_bins(is_useful: np.ndarray, tables: np.ndarray) -> _SortedBins:
    """Useful bins, and those before and after each of them on the same line, are sorted.

    A point whose interval lies in several bins begins in the bin before.
    """
    line, number = np.nonzero(tables[:, :-2, COUNT] > 0.0)
    begins_line = np.diff(line, prepend=-1) != 0
    useful = is_useful[line, number]
    is_sorted = useful.copy()
    is_sorted[:-1] |= useful[1:] & ~begins_line[1:]
    is_sorted[1:] |= useful[:-1] & ~begins_line[1:]
    return _SortedBins(line, number, begins_line, is_sorted)


def _sort_flips(
    scores: np.ndarray,
    slopes: np.ndarray,
    lines: np.ndarray,
    bins: np.ndarray,
    chosen: _SortedBins,
    n_rows: int,
) -> _Flips:
    """The flips of sorted bins by line, bin and length; each line has ``n_rows`` bins."""
    place = np.full((len(bins), n_rows), -1)  # position of each sorted bin
    is_sorted = chosen.is_sorted
    place[chosen.line[is_sorted], chosen.number[is_sorted]] = np.flatnonzero(is_sorted)
    place_of_flips = np.stack([row[columns] for row, columns in zip(place, bins, strict=True)])
    line, sample = np.nonzero(place_of_flips >= 0)
    slope = slopes[lines[line, 1], sample]
    length = -scores[lines[line, 0], sample] / slope
    places = place_of_flips[line, sample]
    order = np.lexsort((length, places))
    sign = np.where(slope > 0.0, 1.0, -1.0)
    return _Flips(line[order], sample[order], sign[order], length[order], places[order])


def _sum_changes(flips: _Flips, effects: tuple, n_columns: int) -> np.ndarray:
    """What the first flips change of the error and the means, (n_flips + 1, n_columns)."""
    on_error, on_means, cells, *_ = effects
    changes = np.zeros((len(flips.sample) + 1, n_columns))
    rows = np.arange(len(flips.sample))
    changes[1:, 0] = flips.sign * on_error[flips.sample]
    for steps, columns in zip(on_means, cells, strict=True):
        changes[1 + rows, 1 + columns[flips.sample]] += flips.sign * steps[flips.sample]
    return changes.cumsum(axis=0)
