"""Flips of the decisions of many samples along lines of models, counted in bins."""

import numpy as np

from skfair._kernels import (
    COUNT,
    ERROR,
    MEANS,
    MIN_ERROR,
    OUTER_LENGTH,
    TOTAL_CHANGE,
    helper,
    jit,
)


def bin_line_flips(scores, slopes, lines, scales, min_slope, effects, n_bins):
    """Tables of the bins of several lines, and the bin of each flip.

    Arguments and results are those of `skfair._fitting.lines.bin_line_flips`, which has the same in
    numpy for few samples.
    """
    n_lines, n_cells = len(lines), len(effects[-1])
    bins = np.empty((n_lines, scores.shape[1]), dtype=np.int16)
    tables = np.zeros((n_lines, n_bins + 2, MEANS + n_cells))
    _bin_line_flips(scores, slopes, lines, scales, min_slope, effects, bins, tables)
    return bins, tables


@jit
def _bin_line_flips(scores, slopes, lines, scales, min_slope, effects, bins, tables):
    """Fill `bins`, (n_lines, n_samples), and `tables`, (n_lines, n_bins + 2, MEANS + n_cells).

    Each sum is added in the order of samples and their terms, as in numpy.
    """
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
        error = 0.0
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
            total = 0.0
            for k in range(n_terms):
                step = on_means[k, i]
                c = np.uint64(MEANS + cells[k, i])
                tables[line, n_bins, c] += step * is_positive
                tables[line, b, c] += step * sign
                total += abs(step)
            tables[line, b, TOTAL_CHANGE] += total
        tables[line, n_bins, ERROR] = first_error + error
        for c in range(len(first_means)):
            tables[line, n_bins, MEANS + c] += first_means[c]
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
    """Points on lines, as `skfair._fitting.lines.find_line_points`."""
    is_sorted = np.zeros_like(is_useful)
    n_sorted = np.zeros(len(lines), dtype=np.intp)
    _mark_bins(tables, is_useful, is_sorted, n_sorted)
    n_points, largest = n_sorted.sum() + len(lines), n_sorted.max(initial=0)
    numbers = np.empty(n_points, dtype=np.intp)
    values = np.empty((n_points, 3 + len(effects[-1])))
    work = np.empty((2, largest), dtype=np.intp), np.empty((2, largest))
    ends = np.empty(is_useful.shape[1], dtype=np.intp)
    arguments = scores, slopes, lines, is_sorted, max_errors, min_width, effects, bins, tables
    n_points = _find_line_points(*arguments, *work, ends, numbers, values)
    low, high, errors = values[:n_points, :3].T
    return numbers[:n_points], low, high, errors, values[:n_points, 3:]


@jit
def _mark_bins(tables, is_useful, is_sorted, n_sorted):
    """Mark the bins whose flips are sorted, (n_lines, n_bins), and count their flips by line."""
    # Useful bins with flips, and the bins with flips before and after each of them: a point whose
    # interval lies in several bins begins in the bin before.
    for line in range(len(tables)):
        last = -1
        is_next = False
        for b in range(is_useful.shape[1]):
            if tables[line, b, COUNT] > 0.0:
                if is_useful[line, b] and last >= 0:
                    is_sorted[line, last] = True
                is_sorted[line, b] = is_useful[line, b] or is_next
                last, is_next = b, is_useful[line, b]
        for b in range(is_useful.shape[1]):
            if is_sorted[line, b]:
                n_sorted[line] += int(tables[line, b, COUNT])


@jit
def _find_line_points(
    scores,
    slopes,
    lines,
    is_sorted,
    max_errors,
    min_width,
    effects,
    bins,
    tables,
    samples,
    flips,
    ends,
    numbers,
    values,
):
    """Write the line and the values of each point, and return the number of points.

    Rows of `values` are low and high end, error and means, 3 + n_cells. `samples`, `flips` and
    `ends` are buffers for the flips of one line.
    """
    # Changes of error and means by all flips before, and by those before the bin.
    sums = np.zeros((2, 1 + tables.shape[2] - MEANS))
    n_points = 0
    for line in range(len(lines)):
        start, direction = lines[line]
        score, slope, table = scores[start], slopes[direction], tables[line]
        n_flips = _collect_flips(
            score, slope, is_sorted[line], bins[line], table, samples, flips, ends
        )
        if n_flips > 0:
            first = n_points
            n_points = _walk_along_flips(
                slope,
                is_sorted[line],
                max_errors[line],
                min_width,
                effects,
                table,
                samples,
                flips,
                ends,
                sums,
                values,
                first,
            )
            for point in range(first, n_points):
                numbers[point] = line
    return n_points


@helper
def _collect_flips(score, slope, is_sorted, bins, table, samples, flips, ends):
    """Write samples and lengths of the flips of a line, bin by bin; return their number.

    Those of sorted bins alone. Flips of bin b end at ``ends[b]``.
    """
    n_bins = len(is_sorted)
    n_flips = 0
    for b in range(n_bins):
        ends[b] = n_flips
        if is_sorted[b]:
            n_flips += int(table[b, COUNT])
    if n_flips == 0:
        return 0
    for i in range(len(bins)):
        b = bins[i]
        if b < n_bins and is_sorted[b]:
            k = ends[b]
            samples[0, k], flips[0, k] = i, -score[i] / slope[i]
            ends[b] = k + 1
    return n_flips


@helper
def _walk_along_flips(
    slope,
    is_sorted,
    max_error,
    min_width,
    effects,
    table,
    samples,
    flips,
    ends,
    sums,
    values,
    n_points,
):
    """Write the points of a line after others, and return the number of all points.

    Before each flip is a point, unless bins were left out there, and one is beyond the last flip.
    Changes are cumulated over the flips of all lines, as numpy does: values have the same bits.
    """
    on_error, on_means, cells, _, _ = effects
    changes, first_changes = sums[0], sums[1]
    begin, bin_of_flip = 0, 0
    previous = 0.0
    is_known, is_first = False, True
    for b in range(len(is_sorted)):
        if not table[b, COUNT] > 0.0:
            continue
        if not is_sorted[b]:
            is_known = is_first = False
            continue
        _sort(flips, samples, begin, ends[b])
        bin_of_flip = b
        first_changes[:] = changes
        for k in range(begin, ends[b]):
            i = samples[0, k]
            length = flips[0, k]
            if is_first:
                previous, is_known, is_first = length - OUTER_LENGTH, True, False
            error = table[b, ERROR] + (changes[0] - first_changes[0])
            if is_known and error < max_error and length - previous > min_width:
                _write_point(values, n_points, previous, length, table[b], changes, first_changes)
                n_points += 1
            sign = 1.0 if slope[i] > 0.0 else -1.0
            changes[0] += sign * on_error[i]
            for term in range(len(cells)):
                changes[1 + cells[term, i]] += sign * on_means[term, i]
            previous, is_known = length, True
        begin = ends[b]
    last = table[bin_of_flip]
    error = last[ERROR] + (changes[0] - first_changes[0])
    if is_known and error < max_error:
        end = previous + OUTER_LENGTH
        _write_point(values, n_points, previous, end, last, changes, first_changes)
        n_points += 1
    return n_points


@helper
def _write_point(values, row, low, high, before_bin, changes, first_changes):
    """Write low and high end, error, and means of a point: those before its bin, and changes."""
    values[row, 0], values[row, 1] = low, high
    values[row, 2] = before_bin[ERROR] + (changes[0] - first_changes[0])
    for c in range(1, len(changes)):
        values[row, 2 + c] = before_bin[MEANS + c - 1] + (changes[c] - first_changes[c])


@helper
def _sort(keys, values, begin, end):
    """Sort a range of the first row of keys with their values; the second rows are buffers.

    Runs of 16 are sorted by insertion, and merged.
    """
    for start in range(begin, end, 16):
        for k in range(start + 1, min(start + 16, end)):
            key = keys[0, k]
            value = values[0, k]
            place = k
            while place > start and keys[0, place - 1] > key:
                keys[0, place], values[0, place] = keys[0, place - 1], values[0, place - 1]
                place -= 1
            keys[0, place], values[0, place] = key, value
    width = 16
    while width < end - begin:
        for start in range(begin, end - width, 2 * width):
            middle = start + width
            last = min(middle + width, end)
            for k in range(start, middle):
                keys[1, k], values[1, k] = keys[0, k], values[0, k]
            left, right = start, middle
            for k in range(start, last):
                if left < middle and (right == last or not keys[0, right] < keys[1, left]):
                    keys[0, k], values[0, k] = keys[1, left], values[1, left]
                    left += 1
                else:
                    keys[0, k], values[0, k] = keys[0, right], values[0, right]
                    right += 1
        width *= 2
