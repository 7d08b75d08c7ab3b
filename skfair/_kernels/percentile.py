"""Members of events sorted into the intervals between thresholds."""

import numpy as np

from skfair._kernels import jit


@jit
def sort_members(scores, samples, events, shares, kinks, n_events):
    """Counting sort of the members into cells: an event, and an interval between two kinks.

    Kinks ascend; interval b holds the scores in (kinks[b - 1], kinks[b]]. Member m is the sample
    ``samples[m]`` in the event ``events[m]``.

    Returns
    -------
    indptr : ndarray of intp, shape (n_cells + 1,)
        Where the members of each cell begin in `order`.
    order : ndarray of intp, shape (n_members,)
        Members, cell by cell.
    mass : ndarray of shape (n_events, n_buckets)
        Share of its event that each cell holds.
    """
    n_buckets = len(kinks) + 1
    cells = np.empty(len(samples), dtype=np.int32)
    indptr = np.zeros(n_events * n_buckets + 1, dtype=np.intp)
    mass = np.zeros((n_events, n_buckets))
    for m in range(len(samples)):
        score = scores[samples[m]]
        low, high = 0, len(kinks)
        while low < high:
            middle = (low + high) // 2
            if kinks[middle] < score:
                low = middle + 1
            else:
                high = middle
        mass[events[m], low] += shares[m]
        cells[m] = events[m] * n_buckets + low
        indptr[cells[m] + 1] += 1
    for c in range(n_events * n_buckets):
        indptr[c + 1] += indptr[c]
    free = indptr[:-1].copy()
    order = np.empty(len(samples), dtype=np.intp)
    for m in range(len(samples)):
        order[free[cells[m]]] = m
        free[cells[m]] += 1
    return indptr, order, mass
