"""Errors and means along lines of models, between any two flips of decisions, for many samples.

Arguments and results are those of `skfair.fitting._lines`, which has the same in numpy.
"""

import numpy as np

from skfair._kernels import helper, jit

ERROR, MIN_ERROR, TOTAL_CHANGE, COUNT, MEANS = range(5)
"""Columns of a table of bins: the error before a bin and a lower bound of it within the bin, the
sum of all changes of means in the bin, its number of flips, and, from the last one on, the means
before the bin."""

OUTER_LENGTH = 3.0
"""Length from the outermost flip of a line to the end of the interval beyond it."""

_INSERTION_SORT_LENGTH = 16
"""Flips up to which they are sorted by insertion."""


def bin_line_flips(scores, slopes, lines, scales, min_slope, effects, n_bins):
    """Tables of the bins of several lines, and the bin of each flip."""
    n_lines, n_cells = len(lines), len(effects[-1])
    bins = np.empty((n_lines, scores.shape[1]), dtype=np.int16)
    tables = np.zeros((n_lines, n_bins + 2, MEANS + n_cells))
    _bin_line_flips(scores, slopes, lines, scales, min_slope, effects, bins, tables)
    return bins, tables


@jit
def _bin_line_flips(scores, slopes, lines, scales, min_slope, effects, bins, tables):
    on_error, on_means, cells, first_error, first_means = effects
    n_terms, n_samples = cells.shape
    n_bins = tables.shape[1] - 2
    half = 0.5 * n_bins
    for line in range(len(lines)):
        start = lines[line, 0]
        direction = lines[line, 1]
        scale = scales[line]
        # The bin of each flip, without branches; flat lines never flip.
        for i in range(n_samples):
            score = scores[start, i]
            slope = slopes[direction, i]
            size = abs(slope)
            signed = score if slope < 0.0 else -score
            position = (signed / (scale * size + abs(score) + 1e-300) + 1.0) * half
            position = min(position if position > 0.0 else 0.0, n_bins - 1.0)  # nan is in bin 0
            bins[line, i] = np.int16(position if size > min_slope else n_bins + 1.0)
        # Changes in each bin. What is positive before the first bin is gathered beyond the last.
        error = first_error
        for c in range(len(first_means)):
            tables[line, n_bins, MEANS + c] = first_means[c]
        for i in range(n_samples):
            b = np.uint64(bins[line, i])
            effect = on_error[i]
            is_flat = b > n_bins
            is_positive = scores[start, i] > 0.0 if is_flat else slopes[direction, i] < 0.0
            sign = 1.0 - 2.0 * is_positive
            error += effect * is_positive
            tables[line, b, COUNT] += 1.0
            tables[line, b, ERROR] += sign * effect
            tables[line, b, MIN_ERROR] += min(sign * effect, 0.0)
            for k in range(n_terms):
                step = on_means[k, i]
                c = np.uint64(MEANS + cells[k, i])
                tables[line, n_bins, c] += step * is_positive
                tables[line, b, c] += step * sign
                tables[line, b, TOTAL_CHANGE] += abs(step)
        tables[line, n_bins, ERROR] = error
        # Cumulate errors and means.
        for c in range(tables.shape[2]):
            if c == ERROR or c >= MEANS:
                value = tables[line, n_bins, c]
                for b in range(n_bins):
                    change = tables[line, b, c]
                    tables[line, b, c] = value
                    value += change
                tables[line, n_bins, c] = value
        for b in range(n_bins):
            tables[line, b, MIN_ERROR] += tables[line, b, ERROR]


def find_line_points(
    scores, slopes, lines, is_useful, max_errors, min_width, effects, bins, tables
):
    """Points on lines: intervals between flips, of an error below the largest of the line."""
    is_sorted = np.zeros_like(is_useful)
    n_sorted = np.zeros(len(lines), dtype=np.intp)
    _mark_bins(tables, is_useful, is_sorted, n_sorted)
    n_points = n_sorted.sum() + len(lines)
    largest = n_sorted.max(initial=0)
    points = np.empty(n_points, dtype=np.intp), *np.empty((3, n_points))
    means = np.empty((n_points, len(effects[-1])))
    samples = np.empty((2, largest), dtype=np.intp)
    ends = np.empty(is_useful.shape[1], np.intp)
    flips = np.empty((2, largest))
    n_points = _find_line_points(
        scores,
        slopes,
        lines,
        is_sorted,
        (max_errors, min_width),
        effects,
        bins,
        tables,
        (samples, flips, ends, np.empty(len(effects[-1]))),
        points,
        means,
    )
    return *(values[:n_points] for values in points), means[:n_points]


@jit
def _mark_bins(tables, is_useful, is_sorted, n_sorted):
    """Mark useful bins with flips, and the bins with flips before and after each of them.

    A point whose interval lies in several bins begins in the bin before.
    """
    for line in range(len(tables)):
        last, is_next = -1, False
        for b in range(is_useful.shape[1]):
            if tables[line, b, COUNT] > 0.0:
                if is_useful[line, b] and last >= 0:
                    is_sorted[line, last] = True
                is_sorted[line, b] = is_useful[line, b] or is_next
                last = b
                is_next = is_useful[line, b]
        for b in range(is_useful.shape[1]):
            if is_sorted[line, b]:
                n_sorted[line] += int(tables[line, b, COUNT])


@jit
def _find_line_points(
    scores, slopes, lines, is_sorted, limits, effects, bins, tables, work, points, means
):
    max_errors, min_width = limits
    samples, flips, ends, sums = work
    numbers, low, high, errors = points
    on_error, on_means, cells, _, _ = effects
    n_bins = is_sorted.shape[1]
    n = 0
    for line in range(len(lines)):
        score_of = scores[lines[line, 0]]
        slope_of = slopes[lines[line, 1]]
        table = tables[line]
        max_error = max_errors[line]
        n_flips = _gather_flips(
            score_of, slope_of, bins[line], is_sorted[line], table, samples, flips, ends
        )
        if n_flips == 0:
            continue
        # Walk along the flips; before each of them is a point, unless bins were left out there.
        begin = np.int64(0)
        previous = 0.0
        is_known = False
        is_first = True
        error = 0.0
        for b in range(n_bins):
            if not table[b, COUNT] > 0.0:
                continue
            if not is_sorted[line, b]:
                is_known = is_first = False
                continue
            _sort(flips, samples, begin, ends[b])
            error = table[b, ERROR]
            for c in range(len(sums)):
                sums[c] = table[b, MEANS + c]
            for k in range(begin, ends[b]):
                i = samples[0, k]
                length = flips[0, k]
                if is_first:
                    previous = length - OUTER_LENGTH
                    is_known = True
                    is_first = False
                if is_known and error < max_error and length - previous > min_width:
                    numbers[n], low[n], high[n], errors[n] = line, previous, length, error
                    for c in range(len(sums)):
                        means[n, c] = sums[c]
                    n += 1
                sign = 1.0 if slope_of[i] > 0.0 else -1.0
                error += sign * on_error[i]
                for term in range(len(cells)):
                    sums[cells[term, i]] += sign * on_means[term, i]
                previous, is_known = length, True
            begin = ends[b]
        if is_known and error < max_error:
            numbers[n], low[n], high[n], errors[n] = line, previous, previous + OUTER_LENGTH, error
            for c in range(len(sums)):
                means[n, c] = sums[c]
            n += 1
    return n


@helper
def _gather_flips(scores, slopes, bins, is_sorted, table, samples, flips, ends):
    """Write samples and lengths of the flips in bins to sort, bin by bin; return their number."""
    n_flips = 0
    for b in range(len(ends)):
        ends[b] = n_flips
        if is_sorted[b]:
            n_flips += int(table[b, COUNT])
    if n_flips > 0:
        for i in range(len(bins)):
            b = bins[i]
            if b < len(ends) and is_sorted[b]:
                k = ends[b]
                samples[0, k], flips[0, k] = i, -scores[i] / slopes[i]
                ends[b] = k + 1
    return n_flips


@helper
def _sort(keys, values, begin, end):
    """Sort a range of the first row of keys with their values; the second rows are buffers.

    Short runs are sorted by insertion, and merged.
    """
    for start in range(begin, end, _INSERTION_SORT_LENGTH):
        for k in range(start + 1, min(start + _INSERTION_SORT_LENGTH, end)):
            key = keys[0, k]
            value = values[0, k]
            place = k
            while place > start and keys[0, place - 1] > key:
                keys[0, place], values[0, place] = keys[0, place - 1], values[0, place - 1]
                place -= 1
            keys[0, place], values[0, place] = key, value
    width = _INSERTION_SORT_LENGTH
    while width < end - begin:
        for start in range(begin, end - width, 2 * width):
            _merge(keys, values, start, start + width, min(start + 2 * width, end))
        width *= 2


@helper
def _merge(keys, values, start, middle, end):
    """Merge two ascending ranges that follow each other."""
    for k in range(start, middle):
        keys[1, k], values[1, k] = keys[0, k], values[0, k]
    left, right = start, middle
    for k in range(start, end):
        if left < middle and (right == end or not keys[0, right] < keys[1, left]):
            keys[0, k], values[0, k] = keys[1, left], values[1, left]
            left += 1
        else:
            keys[0, k], values[0, k] = keys[0, right], values[0, right]
            right += 1
