"""Errors and means along lines of models, between any two flips of decisions.

Flips are counted in bins first. Only bins whose points may be useful are sorted.
"""

import numpy as np

ERROR, MIN_ERROR, TOTAL_CHANGE, COUNT, MEANS = range(5)
"""Columns of a table of bins: the error before a bin and a lower bound of it within the bin, the
sum of all changes of means in the bin, its number of flips, and, from the last one on, the means
before the bin."""

_OUTER_LENGTH = 3.0
"""Length from the outermost flip of a line to the end of the interval beyond it."""


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
    bins = np.empty((len(lines), scores.shape[1]), dtype=np.int16)
    tables = np.empty((len(lines), n_bins + 2, MEANS + len(effects[-1])))
    for line, (start, direction) in enumerate(lines):
        score, slope = scores[start], slopes[direction]
        size = np.abs(slope)
        with np.errstate(all="ignore"):
            position = np.where(slope < 0.0, score, -score)
            position /= scales[line] * size + np.abs(score) + 1e-300
            position = (position + 1.0) * (0.5 * n_bins)
        # What is not a number is in the first bin.
        position = np.minimum(np.where(position > 0.0, position, 0.0), n_bins - 1.0)
        bins[line] = np.where(size > min_slope, position, n_bins + 1.0)
        is_positive = np.where(bins[line] > n_bins, score > 0.0, slope < 0.0)
        tables[line] = _tabulate_bins(bins[line].astype(np.intp), is_positive, effects, n_bins)
    return bins, tables


def _tabulate_bins(
    bins: np.ndarray, is_positive: np.ndarray, effects: tuple, n_bins: int
) -> np.ndarray:
    """The table of one line, from the bin of each flip and the decision before it."""
    on_error, on_means, cells, error, means = effects
    n_cells = len(means)
    table = np.zeros((n_bins + 2, MEANS + n_cells))

    def sum_by_bin(values: np.ndarray) -> np.ndarray:
        return np.bincount(bins, values, n_bins + 2)

    sign = 1.0 - 2.0 * is_positive
    change = sign * on_error
    table[:, COUNT] = np.bincount(bins, minlength=n_bins + 2)
    table[:, ERROR] = sum_by_bin(change)
    table[:, MIN_ERROR] = sum_by_bin(np.minimum(change, 0.0))
    error = error + on_error @ is_positive
    for steps, columns in zip(on_means, cells, strict=True):
        places = bins * n_cells + columns
        table[:, MEANS:] += np.bincount(places, sign * steps, table[:, MEANS:].size).reshape(
            -1, n_cells
        )
        table[:, TOTAL_CHANGE] += sum_by_bin(np.abs(steps))
        means = means + np.bincount(columns, is_positive * steps, n_cells)
    # Cumulate errors and means.
    cumulated = [ERROR, *range(MEANS, MEANS + n_cells)]
    table[1 : n_bins + 1, cumulated] = table[:n_bins, cumulated]
    table[0, cumulated] = error, *means
    table[: n_bins + 1, cumulated] = table[: n_bins + 1, cumulated].cumsum(axis=0)
    table[n_bins, [MIN_ERROR, TOTAL_CHANGE, COUNT]] = 0.0
    table[:n_bins, MIN_ERROR] += table[:n_bins, ERROR]
    return table


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
    found = [(np.empty(0, np.intp), *np.empty((3, 0)), np.empty((0, len(effects[-1]))))]
    for line, (start, direction) in enumerate(lines):
        points = _find_points(
            scores[start], slopes[direction], is_useful[line], effects, bins[line], tables[line]
        )
        low, high, errors, means = points
        is_kept = (errors < max_errors[line]) & (high - low > min_width)
        number = np.full(np.count_nonzero(is_kept), line)
        found.append((number, low[is_kept], high[is_kept], errors[is_kept], means[is_kept]))
    return tuple(map(np.concatenate, zip(*found, strict=True)))


def _find_points(
    scores: np.ndarray,
    slopes: np.ndarray,
    is_useful: np.ndarray,
    effects: tuple,
    bins: np.ndarray,
    table: np.ndarray,
) -> tuple[np.ndarray, ...]:
    """Low and high end, error and means of the points of a line in and next to useful bins."""
    on_error, on_means, cells, *_ = effects
    # Useful bins, and the bins with flips before and after each of them: a point whose interval
    # lies in several bins begins in the bin before.
    filled = np.flatnonzero(table[:-2, COUNT] > 0.0)
    useful = is_useful[filled]
    is_near = useful.copy()
    is_near[:-1] |= useful[1:]
    is_near[1:] |= useful[:-1]
    place = np.full(len(table), -1)  # of a bin among those with flips
    place[filled[is_near]] = np.flatnonzero(is_near)
    samples = np.flatnonzero(place[bins] >= 0)
    flips = -scores[samples] / slopes[samples]
    order = np.lexsort((flips, bins[samples]))
    samples, flips = samples[order], flips[order]
    places = place[bins[samples]]
    # Error and means before each flip: those before its bin, and what flips in the bin before it.
    sign = np.where(slopes[samples] > 0.0, 1.0, -1.0)
    changes = np.zeros((len(samples) + 1, 1 + table.shape[1] - MEANS))
    rows = np.arange(1, len(samples) + 1)
    changes[1:, 0] = sign * on_error[samples]
    for steps, columns in zip(on_means, cells, strict=True):
        changes[rows, 1 + columns[samples]] += sign * steps[samples]
    sums = changes.cumsum(axis=0)
    is_first = np.append(True, places[1:] != places[:-1])[: len(places)]
    first = np.maximum.accumulate(np.where(is_first, rows - 1, 0))
    columns = [ERROR, *range(MEANS, table.shape[1])]
    before = table[filled[places]][:, columns]
    values = before + (sums[:-1] - sums[first])
    # Before the first flip of a bin there is a point if the bin before is sorted as well.
    is_known = ~is_first | (places == 0) | is_near[places - 1]
    low = np.append(np.nan, flips[:-1])[: len(flips)]
    low[:1] = flips[:1] - _OUTER_LENGTH
    low, high, values = low[is_known], flips[is_known], values[is_known]
    if len(places) and places[-1] == len(filled) - 1:  # the interval beyond the last flip
        last = before[-1] + (sums[-1] - sums[first[-1]])
        low, high = np.append(low, flips[-1]), np.append(high, flips[-1] + _OUTER_LENGTH)
        values = np.vstack((values, last))
    return low, high, values[:, 0], values[:, 1:]
