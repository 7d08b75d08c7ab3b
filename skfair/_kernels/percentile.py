"""Members of events sorted into the intervals between thresholds."""

import numpy as np

from skfair._kernels import jit


def sort_members(scores, samples, events, shares, bounds, n_events):
    """Counting sort of members into cells, which are an event and an interval between bounds.

    Bounds ascend; interval b holds the scores in (bounds[b - 1], bounds[b]]. Member m is the sample
    ``samples[m]`` in the event ``events[m]``.

    Returns
    -------
    indptr : ndarray of intp, shape (n_cells + 1,)
        Where the members of each cell begin in `order`; the cell of event e and interval b is
        ``e * n_buckets + b``.
    order : ndarray of intp, shape (n_members,)
        Members, cell by cell.
    moments : ndarray of shape (3, n_events, n_buckets)
        Sums over each cell of the shares, times the scores to the power 0, 1 and 2.
    """
    n_buckets = len(bounds) + 1
    indptr = np.zeros(n_events * n_buckets + 1, dtype=np.intp)
    order = np.empty(len(samples), dtype=np.intp)
    moments = np.zeros((3, n_events, n_buckets))
    _sort_members(scores, samples, events, shares, bounds, indptr, order, moments)
    return indptr, order, moments


def place_members(scores, samples, bounds):
    """Interval between bounds of each member, as those of `sort_members`, for thousands of bounds.

    Returns
    -------
    places : ndarray of intp, shape (n_members,)
    """
    places = np.empty(len(samples), dtype=np.intp)
    _place_members(scores, samples, bounds, np.zeros(_N_STEPS + 1, dtype=np.intp), places)
    return places


_N_STEPS = 1 << 14
"""Steps of equal length, in most of which there are few bounds."""


@jit
def _place_members(scores, samples, bounds, up_to, places):
    # Steps never go down as numbers go up, whatever the rounding: bounds of lower steps are lower.
    outside, n_steps = len(bounds) // 64, len(up_to) - 1  # the outermost may be very far
    first, last = bounds[outside], bounds[len(bounds) - 1 - outside]
    scale = n_steps / max(last - first, 1e-300)
    for b in range(len(bounds)):
        up_to[int(min(max((bounds[b] - first) * scale, 0.0), n_steps - 1.0)) + 1] += 1
    for step in range(n_steps):
        up_to[step + 1] += up_to[step]
    for m in range(len(samples)):
        score = scores[samples[m]]
        step = int(min(max((score - first) * scale, 0.0), n_steps - 1.0))
        low, high = up_to[step], up_to[step + 1]
        while low < high:
            middle = (low + high) // 2
            if bounds[middle] < score:
                low = middle + 1
            else:
                high = middle
        places[m] = low


@jit
def _sort_members(scores, samples, events, shares, bounds, indptr, order, moments):
    n_buckets, n_cells = len(bounds) + 1, len(indptr) - 1
    cells = np.empty(len(samples), dtype=np.int32)
    for m in range(len(samples)):
        score = scores[samples[m]]
        low, size = 0, len(bounds)
        while size > 0:  # without branches, which a processor would often guess wrong
            half = (size + 1) // 2
            low += half * (bounds[low + half - 1] < score)
            size -= half
        term = shares[m]
        for power in range(3):
            moments[power, events[m], low] += term
            term *= score
        cells[m] = events[m] * n_buckets + low
        indptr[cells[m] + 1] += 1
    for c in range(n_cells):
        indptr[c + 1] += indptr[c]
    free = np.empty(n_cells, dtype=np.intp)  # where the next member of a cell goes
    for c in range(n_cells):
        free[c] = indptr[c]
    for m in range(len(samples)):
        order[free[cells[m]]] = m
        free[cells[m]] += 1
