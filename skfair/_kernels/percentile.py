"""Members of events sorted into the intervals between thresholds."""

import numpy as np

from skfair._kernels import jit


def sort_members(scores, samples, events, shares, bounds, n_events):
    """Counting sort of members into cells; a cell is an event and an interval between bounds.

    Bounds ascend; interval b holds the scores in (bounds[b - 1], bounds[b]]. Member m is the sample
    ``samples[m]`` in the event ``events[m]``. The cell of event e and interval b is ``e * n_buckets
    + b``. Returns where each cell starts (n_cells + 1,), the members cell by cell, and sums over
    each cell of the shares times powers 0, 1 and 2 of the scores, (3, n_events, n_buckets).
    """
    n_buckets = len(bounds) + 1
    indptr = np.zeros(n_events * n_buckets + 1, dtype=np.intp)
    order = np.empty(len(samples), dtype=np.intp)
    moments = np.zeros((3, n_events, n_buckets))
    _sort_members(scores, samples, events, shares, bounds, indptr, order, moments)
    return indptr, order, moments


def bin_members(scores, samples, bounds):
    """Interval between bounds of each member, as in `sort_members`, for thousands of bounds."""
    bins = np.empty(len(samples), dtype=np.intp)
    _bin_members(scores, samples, bounds, np.zeros(_N_STEPS + 1, dtype=np.intp), bins)
    return bins


_N_STEPS = 1 << 14
"""Steps of equal length of a lookup table; most contain few bounds."""


@jit
def _bin_members(scores, samples, bounds, first_bounds, bins):
    # Lookup table: steps are monotone under rounding, so the bounds of lower steps are lower.
    n_outer, n_steps = len(bounds) // 64, len(first_bounds) - 1  # the outermost may be far away
    first, last = bounds[n_outer], bounds[len(bounds) - 1 - n_outer]
    scale = n_steps / max(last - first, 1e-300)
    for b in range(len(bounds)):
        first_bounds[int(min(max((bounds[b] - first) * scale, 0.0), n_steps - 1.0)) + 1] += 1
    for step in range(n_steps):
        first_bounds[step + 1] += first_bounds[step]
    # Binary search within the step of the score.
    for m in range(len(samples)):
        score = scores[samples[m]]
        step = int(min(max((score - first) * scale, 0.0), n_steps - 1.0))
        low, high = first_bounds[step], first_bounds[step + 1]
        while low < high:
            middle = (low + high) // 2
            if bounds[middle] < score:
                low = middle + 1
            else:
                high = middle
        bins[m] = low


@jit
def _sort_members(scores, samples, events, shares, bounds, indptr, order, moments):
    n_buckets, n_cells = len(bounds) + 1, len(indptr) - 1
    cells = np.empty(len(samples), dtype=np.int32)
    for m in range(len(samples)):
        score = scores[samples[m]]
        low, size = 0, len(bounds)
        while size > 0:  # binary search without branches, which are hard to predict
            half = (size + 1) // 2
            low += half * (bounds[low + half - 1] < score)
            size -= half
        # Moments and size of the cell.
        term = shares[m]
        for power in range(3):
            moments[power, events[m], low] += term
            term *= score
        cells[m] = events[m] * n_buckets + low
        indptr[cells[m] + 1] += 1
    for c in range(n_cells):
        indptr[c + 1] += indptr[c]
    # Write the members cell by cell.
    free = np.empty(n_cells, dtype=np.intp)  # position of the next member of a cell
    for c in range(n_cells):
        free[c] = indptr[c]
    for m in range(len(samples)):
        order[free[cells[m]]] = m
        free[cells[m]] += 1
