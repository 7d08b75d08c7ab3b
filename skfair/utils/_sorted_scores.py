"""Sums over sorted scores: ramps around a rank, and excesses over a point."""

import numpy as np


def taper_length(end, length):
    """Length of a ramp around a rank that does not reach beyond ranks 0 and 1."""
    return min(length, 2.0 * end, 2.0 * (1.0 - end))


def top_shares(shares, end, length):
    r"""Share of each sample that counts with a ramp around rank `end`, not more than its share.

    With a ramp w of this length that falls from 1 to 0 around `end`, a sample whose share covers
    the ranks from a to b counts :math:`\int_a^b w`. Together they count `end`. Shares are in the
    order of the ranks and sum to 1; the ramp lies within [0, 1], see `taper_length`.
    """
    ranks = np.concatenate(([0.0], np.minimum(np.cumsum(shares), 1.0)))
    # Without a ramp each sample counts up to the rank where the interval ends.
    if not length:
        return np.diff(np.minimum(ranks, end))
    # Integrate the ramp over the ranks of each sample.
    past = np.maximum(0.0, ranks - (end - length / 2.0))
    beyond = np.maximum(0.0, past - length)
    return np.diff(ranks - (past**2 - beyond**2) / (2.0 * length))


class SortedScores:
    """Sums over the samples below a point, from prefix sums over ascending scores and shares."""

    def __init__(self, scores, shares):
        self.scores = scores
        # Prefix sums of moments; those about the median keep more digits.
        self._middle = float(scores[len(scores) // 2]) if len(scores) else 0.0
        centered = scores - self._middle
        powers = shares * np.array([np.ones_like(centered), centered, centered**2])
        self._moments = np.pad(np.cumsum(powers, axis=1), ((0, 0), (1, 0)))

    def sums_below(self, points):
        r"""Sums of the shares, of :math:`x - s` and :math:`(x - s)^2 / 2` over scores s < x."""
        # Expand (x - s) and (x - s)^2 / 2 in the prefix sums of moments.
        count, first, second = self._moments[:, np.searchsorted(self.scores, points)]
        x = points - self._middle
        return count, x * count - first, (x**2 * count - 2.0 * x * first + second) / 2.0
