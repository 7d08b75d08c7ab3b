"""Samples in the order of their scores: who ranks first, and how far others lie below."""

import numpy as np


def taper_length(end, length):
    """Length of a ramp around a rank that does not reach beyond ranks 0 and 1."""
    return min(length, 2.0 * end, 2.0 * (1.0 - end))


def top_shares(shares, end, length):
    r"""How much of each share belongs to those who rank first.

    With a ramp w that falls from 1 to 0 around `end`, somebody whose share covers the ranks from a
    to b counts :math:`\int_a^b w`. All together count `end`, whatever the shares.

    Parameters
    ----------
    shares : ndarray of shape (n_samples,)
        In the order of the ranks; they sum to 1.
    end : float in [0, 1]
        Rank up to which they are taken.
    length : float
        Of the ramp, which reaches from 0 to 1 at most: see `taper_length`.

    Returns
    -------
    taken : ndarray of shape (n_samples,)
        Not more than the shares.
    """
    ranks = np.concatenate(([0.0], np.minimum(np.cumsum(shares), 1.0)))
    if not length:
        return np.diff(np.minimum(ranks, end))
    past = np.maximum(0.0, ranks - (end - length / 2.0))
    beyond = np.maximum(0.0, past - length)
    return np.diff(ranks - (past**2 - beyond**2) / (2.0 * length))


class SortedScores:
    """Samples by ascending score, with what they count.

    Parameters
    ----------
    scores : ndarray of shape (n_samples,)
        Ascending.
    shares : ndarray of shape (n_samples,)
        What each counts.
    """

    def __init__(self, scores, shares):
        self.scores = scores
        # Moments about the middle keep more digits.
        self._middle = float(scores[len(scores) // 2]) if len(scores) else 0.0
        moved = scores - self._middle
        powers = shares * np.array([np.ones_like(moved), moved, moved**2])
        self._moments = np.pad(np.cumsum(powers, axis=1), ((0, 0), (1, 0)))

    def sums_below(self, points):
        r"""Sums over the samples below given points.

        Parameters
        ----------
        points : ndarray of shape (n_points,)
            Scores.

        Returns
        -------
        count, excess, square : ndarray of shape (n_points,)
            Sums of the shares, of :math:`x - s` and of :math:`(x - s)^2 / 2` over those who score
            less than the point x.
        """
        count, first, second = self._moments[:, np.searchsorted(self.scores, points)]
        x = points - self._middle
        return count, x * count - first, (x**2 * count - 2.0 * x * first + second) / 2.0
