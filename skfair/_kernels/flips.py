"""Decisions that flip along a line of score changes, counted in bins between breakpoints."""

import numpy as np

from skfair._kernels import inline_helper, jit


def bin_flips(scores, slopes, min_slope, typical_length, n_bins):
    """The bin in which each decision flips, as the length goes from -inf to +inf along a line.

    Scores are ``scores + t * slopes`` at length t; slopes up to ``min_slope`` count as 0.
    Breakpoints are evenly spread in ``t / (typical_length + |t|)``, so half of them are within the
    typical length. Returns bins (int32, n_bins without a flip) and the decisions before any flip,
    -1 or +1 (int8).
    """
    bins = np.empty(len(scores), dtype=np.int32)
    decisions = np.empty(len(scores), dtype=np.int8)
    _bin_flips(scores, slopes, min_slope, typical_length, n_bins, bins, decisions)
    return bins, decisions


@jit
def _bin_flips(scores, slopes, min_slope, typical_length, n_bins, bins, decisions):
    for i in range(len(scores)):
        bins[i], decisions[i] = find_bin(scores[i], slopes[i], min_slope, typical_length, n_bins)


@inline_helper
def find_bin(score, slope, min_slope, typical_length, n_bins):
    """Bin in which a decision flips, and the decision before, -1 or +1, as in `bin_flips`."""
    # Position of the flip -score / slope in (-1, 1), and its bin, without branches.
    size, falls = abs(slope), slope <= 0.0
    position = (score if falls else -score) / max(typical_length * size + abs(score), 1e-300)
    index = min(max(int((position + 1.0) * 0.5 * n_bins), 0), n_bins - 1)
    # Flat lines never flip.
    is_flat = size <= min_slope
    is_positive = score > 0.0 if is_flat else falls
    return n_bins if is_flat else index, 1 if is_positive else -1


@jit
def add_flips(samples, events, effects, decisions, bins, sums):
    """Add the effects of positive decisions before the first bin, and the changes of every bin.

    Memberships have a sample, an event, and the effect of a positive decision on the event.
    ``decisions`` are those before the first flip, -1 or +1, and ``bins`` the bin of each flip,
    n_bins for none. ``sums`` has shape (n_events, n_bins + 1).
    """
    n_bins = sums.shape[1] - 1
    for m in range(len(samples)):
        i, e = samples[m], events[m]
        if decisions[i] > 0:
            sums[e, 0] += effects[m]
        if bins[i] < n_bins:
            sums[e, bins[i] + 1] -= decisions[i] * effects[m]
