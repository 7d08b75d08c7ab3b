"""Decisions that flip along a line of score changes, counted in bins between breakpoints."""

import numpy as np

from skfair._kernels import jit

_MAX_NUMPY = 1 << 17
"""Entries up to which numpy counts, as compilation would not pay."""


def bin_flips(scores, slopes, min_slope, typical_length, n_bins):
    """The bin in which each decision flips, as the length goes from -inf to +inf along a line.

    Breakpoints are evenly spread in ``t / (typical_length + |t|)``, t a length: flips are dense
    near 0.

    Parameters
    ----------
    scores, slopes : ndarray of shape (n_samples,)
        Scores at length 0, and their increase per unit of length.
    still : float
        Slopes of at most this size in absolute value count as 0.
    typical : float
        Half of the breakpoints are nearer to 0.
    n_bins : int
        Number of bins between breakpoints.

    Returns
    -------
    turns : ndarray of int32, shape (n_samples,)
        The bin of each flip; n_bins if there is none.
    decisions : ndarray of int8, shape (n_samples,)
        Decisions before any flip, -1 or +1.
    """
    bins = np.empty(len(scores), dtype=np.int32)
    decisions = np.empty(len(scores), dtype=np.int8)
    _bin_flips(scores, slopes, min_slope, typical_length, n_bins, bins, decisions)
    return bins, decisions


@jit
def _bin_flips(scores, slopes, min_slope, typical_length, n_bins, bins, decisions):
    for i in range(len(scores)):
        score, slope = scores[i], slopes[i]
        size = abs(slope)
        if size <= min_slope:
            bins[i], decisions[i] = n_bins, 1 if score > 0.0 else -1
            continue
        decisions[i] = -1 if slope > 0.0 else 1
        position = decisions[i] * score / (typical_length * size + abs(score))
        index = int((position + 1.0) * 0.5 * n_bins)
        bins[i] = min(max(index, 0), n_bins - 1)


def sum_flips(entries, decisions, bins, n_events, n_bins):
    """Sums over events of the effects of positive decisions, before and after every bin.

    Parameters
    ----------
    entries : tuple of three ndarray of shape (n_entries,)
        Sample and event of every membership, and the effect of a positive decision on the event.
    decisions : ndarray of shape (n_samples,)
        Decisions before the first flip, -1 or +1.
    turns : ndarray of int, shape (n_samples,)
        The bin in which each decision flips, in [0, n_bins); n_bins for those that do not flip.
    n_events, n_bins : int
        Number of events and of bins.

    Returns
    -------
    sums : ndarray of shape (n_events, n_bins + 1)
        Before the first bin, and after every one.
    """
    samples, events, effects = entries
    if len(samples) > _MAX_NUMPY:
        sums = np.zeros((n_events, n_bins + 1))
        add_flips(samples, events, effects, decisions, bins, sums)
        return np.cumsum(sums, axis=1, out=sums)
    signs, flip_bins = decisions[samples], bins[samples]
    sums = np.empty((n_events, n_bins + 1))
    sums[:, 0] = np.bincount(events, effects * (signs > 0), n_events)
    flipping = np.flatnonzero(flip_bins < n_bins)
    cells = events[flipping] * n_bins + flip_bins[flipping]
    steps = -signs[flipping] * effects[flipping]
    sums[:, 1:] = np.bincount(cells, steps, n_events * n_bins).reshape(n_events, n_bins)
    return np.cumsum(sums, axis=1, out=sums)


@jit
def add_flips(samples, events, effects, decisions, bins, sums):
    """Add the effects of positive decisions before the first bin, and the changes of every bin.

    Arguments are those of `sum_flips`; ``sums`` has shape (n_events, n_bins + 1).
    """
    n_bins = sums.shape[1] - 1
    for m in range(len(samples)):
        i, e = samples[m], events[m]
        if decisions[i] > 0:
            sums[e, 0] += effects[m]
        if bins[i] < n_bins:
            sums[e, bins[i] + 1] -= decisions[i] * effects[m]
