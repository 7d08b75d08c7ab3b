"""Flips of the decisions of many samples along lines of models, counted in bins."""

import numpy as np

from skfair._kernels import (
    COUNT,
    ERROR,
    MEANS,
    MIN_ERROR,
    TOTAL_CHANGE,
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
