r"""Mean excesses of scores of one group over those of another.

A ramp of a difference of two scores is the difference of two of them.
"""

from itertools import product

import numpy as np

from skfair.utils._sorted_scores import SortedScores, taper_length, top_shares

_TAPER = 0.1
"""Length over which the ends of an interval taper off, relative to its width."""

_REACH = 0.05
"""Distance to either side over which a density of scores is averaged, in widths of the ramp."""

_NOBODY = 1e-12
"""Smaller shares of a group are rounding."""


class Counted:
    """Samples by ascending score, and how much each counts.

    Parameters
    ----------
    samples : ndarray of int, shape (n_members,)
        Positions of the samples.
    scores : ndarray of shape (n_members,)
        Ascending.
    counts : ndarray of shape (n_members,)
        What each counts.
    """

    def __init__(self, samples, scores, counts):
        some = counts > _NOBODY
        self.samples, self.scores, self.counts = samples[some], scores[some], counts[some]


class Ranking:
    """A group by ascending score, with what those in an interval of ranks count.

    Ties are broken, so that what people count depends on their ranks alone.

    Parameters
    ----------
    pairs : ndarray of shape (n_pairs, 2)
        Percentiles.
    samples : ndarray of int, shape (n_members,)
        Members of the group.
    shares : ndarray of shape (n_members,)
        Their shares of it.
    scores : ndarray of shape (n_samples,)
        Scores of everybody.
    """

    def __init__(self, pairs, samples, shares, scores):
        ascending = np.argsort(scores[samples], kind="stable")
        self.samples = samples[ascending]
        self.scores = scores[self.samples]
        width = float(np.diff(pairs).sum())
        self._all = shares[ascending] * (len(pairs) / width)
        self._first = []  # up to the beginnings, and up to the ends of the pairs
        for ranks in pairs.T:
            taken = [
                top_shares(shares[ascending][::-1], rank, taper_length(rank, _TAPER * width))[::-1]
                for rank in ranks
            ]
            self._first.append(sum(taken) / width)

    def selected(self):
        """Those in the interval, of whom all together count 1."""
        begin, end = self._first
        return Counted(self.samples, self.scores, end - begin)

    def first(self, side):
        """Those who rank before the interval begins (0) or before it ends (1)."""
        return Counted(self.samples, self.scores, self._first[side])

    def last(self, side):
        """Those who rank after the interval begins (0) or after it ends (1)."""
        return Counted(self.samples, self.scores, self._all - self._first[side])


class PairExcess:
    r"""The function :math:`\sum_{ij} a_i b_j \max(0, h_i - h_j + shift) / width` of the scores.

    Parameters
    ----------
    one, other : Counted
        Those who count a, and those who count b.
    shift : float
        Added to differences.
    width : float
        Unit of the result.
    """

    def __init__(self, one, other, shift, width):
        self.one, self.other = one, other
        self.shift, self.width = shift, width
        below, excess, _ = SortedScores(other.scores, other.counts).sums_below(one.scores + shift)
        above, _, _ = SortedScores(-one.scores[::-1], one.counts[::-1]).sums_below(
            shift - other.scores
        )
        self.value = float(one.counts @ excess) / width
        self.samples = np.concatenate((one.samples, other.samples))
        self.slopes = np.concatenate((one.counts * below, -other.counts * above)) / width

    def bend(self):
        """Curvatures by the scores of `samples`, which lie above those by differences."""
        one, other, reach = self.one, self.other, _REACH * self.width
        of_one = one.counts * _density(one.scores + self.shift, other, reach)
        of_other = other.counts * _density(other.scores - self.shift, one, reach)
        return 2.0 * np.concatenate((of_one, of_other)) / self.width

    def line(self, moved):
        """The tangent, where scores of everybody have moved so much."""
        return _Line(self.value + float(self.slopes @ moved[self.samples]), self)


class _Line:
    """Where a tangent has come to."""

    def __init__(self, value, function):
        self.value = value
        self.samples, self.slopes = function.samples, function.slopes


def convex_parts(one, other, width):
    """Convex functions whose sum, less that of others, is the mean ramp of two rankings.

    Parameters
    ----------
    one, other : Ranking
        The two groups.
    width : float
        Width of the ramp.

    Returns
    -------
    added, taken : list of PairExcess
    """
    added, taken = [], []
    for end, after_end, corner in product((0, 1), repeat=3):
        # The interval is what is first by its end but not its beginning; or the other way round
        # what is last. A ramp rises where it begins and ceases to where it ends.
        is_added = (end == 1) == ((after_end == 0) == (corner == 0))
        firsts, lasts = one.first(end), other.last(after_end)
        if len(firsts.samples) and len(lasts.samples):
            shift = (0.5 - corner) * width
            (added if is_added else taken).append(PairExcess(firsts, lasts, shift, width))
    return added, taken


def _density(points, counted, reach):
    """What others count around given points, per unit of score."""
    below = np.concatenate(([0.0], np.cumsum(counted.counts)))
    first, last = (np.searchsorted(counted.scores, points + by) for by in (-reach, reach))
    return (below[last] - below[first]) / (2 * reach)
