r"""Scores by rank within groups, shifted where decisions are made.

Scores ``center - rank`` are distributed alike in all groups, but so are then the decisions. The
shift lets every group have a rate of its own: with r_k the rate of group k, :math:`\bar u` the
center and :math:`s_k = r_k - \bar u`,

.. math::

    h = \bar u - (t - b_k(t)), \qquad
    b_k(t) = \operatorname{sgn}(s_k) \, \bigl( |s_k| - \tfrac14 |t - r_k| \bigr)_+ ,

so that h is 0 at the rank t = r_k, and a rank again where t is farther than :math:`4 |s_k|` from
r_k. As b_k is flatter than t, the order within a group stays. At a score h the shares above it
differ between two groups by what their bumps differ, which is most at h = 0:
:math:`|r_k - r_{k'}|`.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from skfair.groups import Groups, check_interval, tabulate_scores

_SLOPE = 0.25
"""How fast the shift tapers; below 1, so that the order within a group stays."""

_ROUNDING = 1e-12


def shifted(ranks, rates, center):
    """Scores from ranks, positive below the rates.

    Parameters
    ----------
    ranks : ndarray of shape (n_samples,)
        Share of its group above each sample.
    rates : ndarray of shape (n_samples,)
        Share of its group that is to be positive.
    center : float
        The rank that scores 0 without a shift.

    Returns
    -------
    scores : ndarray of shape (n_samples,)
    """
    shift = rates - center
    bump = np.maximum(0.0, np.abs(shift) - _SLOPE * np.abs(ranks - rates))
    return center - ranks + np.sign(shift) * bump


class Alignment(NamedTuple):
    """Ranks of a group on a scale where the intervals of all groups are one; linear in pieces.

    Attributes
    ----------
    own : ndarray of shape (n_ends,)
        Ends of the group's interval, between 0 and 1.
    common : ndarray of shape (n_ends,)
        Where they are on the common scale: at their means over the groups.
    """

    own: np.ndarray
    common: np.ndarray

    @classmethod
    def of(cls, intervals):
        """The alignment of every group, from the intervals of `check_interval`; a list.

        Raises
        ------
        ValueError
            If the groups' intervals are not of the same number of pairs.
        """
        n_pairs = sorted({len(pairs) for pairs in intervals})
        if len(n_pairs) > 1:
            raise ValueError(
                "The intervals of all groups must have the same number of pairs, so that each pair "
                f"has its match in the other groups; got intervals of {n_pairs} pairs. Split the "
                "longer pairs."
            )
        ends = [np.concatenate(([0.0], pairs.ravel(), [1.0])) for pairs in intervals]
        return [cls(own, np.mean(ends, axis=0)) for own in ends]

    def __call__(self, ranks):
        """Ranks on the common scale."""
        return np.interp(ranks, self.own, self.common)


class RankCurve(NamedTuple):
    """Rank of a score in a group, linear between the scores seen at fit.

    Attributes
    ----------
    scores : ndarray of shape (n_scores,)
        Distinct scores, ascending.
    ranks : ndarray of shape (n_scores,)
        Share of the group's weight above each score, and half of that at it; descending.
    """

    scores: np.ndarray
    ranks: np.ndarray

    @classmethod
    def of(cls, y_score, weights, alignment):
        """The curve of a group's scores and weights, on a common scale."""
        scores, position = np.unique(y_score, return_inverse=True)
        at = np.bincount(position, weights)
        return cls(scores, alignment(1.0 - (np.cumsum(at) - at / 2) / at.sum()))

    def __call__(self, y_score):
        """Rank of each score, (n_samples,)."""
        return np.interp(y_score, self.scores, self.ranks)


def ranks_in_groups(curves, y_score, codes):
    """Rank of each sample in its own group.

    Parameters
    ----------
    curves : list of RankCurve
        One per group.
    y_score : ndarray of shape (n_samples,)
        Scores.
    codes : ndarray of intp, shape (n_samples,)
        Group of each sample.

    Returns
    -------
    ranks : ndarray of shape (n_samples,)
    """
    ranks = np.empty(len(y_score))
    for code, curve in enumerate(curves):
        own = codes == code
        ranks[own] = curve(y_score[own])
    return ranks


class Candidates(NamedTuple):
    """What each group's share of positives may be, one column per threshold of the scores.

    Attributes
    ----------
    rates : ndarray of shape (n_groups, n_thresholds)
        Share of the group above each threshold, on the common scale of ranks; ascending.
    positions : ndarray of shape (n_groups, n_thresholds)
        What must not differ between groups by more than a gap; ascending from 0.
    gain : ndarray of shape (n_groups, n_thresholds)
        Weight of the group's samples that the threshold classifies correctly, beyond what it is
        if nobody is positive.
    """

    rates: np.ndarray
    positions: np.ndarray
    gain: np.ndarray

    def best(self, gap):
        """Rates of the groups that classify best, with positions no more than a gap apart.

        Every window of that length which begins at a position of some group is looked at.

        Parameters
        ----------
        gap : float
            Largest difference of positions between two groups.

        Returns
        -------
        rates : ndarray of shape (n_groups,)
        """
        starts = np.unique(self.positions)
        total, choices = np.zeros(len(starts)), []
        for positions, gain in zip(self.positions, self.gain, strict=True):
            first = np.searchsorted(positions, starts, side="left")
            stop = np.searchsorted(positions, starts + gap + _ROUNDING, side="right")
            choice = _largest_in_ranges(gain, first, stop)
            total += np.where(stop > first, gain[choice], -np.inf)
            choices.append(choice)
        window = np.argmax(total)
        chosen = [choice[window] for choice in choices]
        return self.rates[np.arange(len(chosen)), chosen]


@dataclass(frozen=True, eq=False)
class RankedMembers:
    """Training samples, ranked in their groups.

    Attributes
    ----------
    y_score : ndarray of shape (n_samples,)
        Scores.
    positive : ndarray of bool, shape (n_samples,)
        Whether the true class is the positive one.
    groups : Groups
        The groups.
    weights : ndarray of shape (n_samples,)
        Positive sample weights.
    intervals : list of ndarray, one per group, each of shape (n_pairs, 2)
        Percentile intervals of the groups.
    """

    y_score: np.ndarray
    positive: np.ndarray
    groups: Groups
    weights: np.ndarray
    intervals: list

    @classmethod
    def of(cls, y_score, people, interval):
        """Samples of these scores, classes, groups and weights."""
        intervals = check_interval(interval, people.groups)
        return cls(y_score, people.target > 0, people.groups, people.weights, intervals)

    def take(self, rows):
        """Some of the samples, ranked among themselves."""
        arrays = (own[rows] for own in (self.y_score, self.positive))
        return RankedMembers(*arrays, self.groups.take(rows), self.weights[rows], self.intervals)

    @cached_property
    def _table(self):
        return tabulate_scores(self.y_score, self.groups.codes, len(self.groups.labels))

    @cached_property
    def _alignments(self):
        return Alignment.of(self.intervals)

    @cached_property
    def curves(self):
        """Rank of a score in each group, a list of RankCurve."""
        found = []
        for code, alignment in enumerate(self._alignments):
            own = self.groups.codes == code
            found.append(RankCurve.of(self.y_score[own], self.weights[own], alignment))
        return found

    @cached_property
    def ranks(self):
        """Rank of each sample, (n_samples,)."""
        return ranks_in_groups(self.curves, self.y_score, self.groups.codes)

    @cached_property
    def inside(self):
        """Whether the rank of each sample lies in its interval, (n_samples,)."""
        return self._table.select(self.intervals, self.weights)

    @cached_property
    def people(self):
        """Keywords of a partial metric of these samples."""
        return {
            "sensitive_features": self.groups.codes,
            "interval": dict(enumerate(self.intervals)),
            "sample_weight": self.weights,
        }

    @cached_property
    def candidates(self):
        """What the groups' rates may be; they are compared themselves."""
        shares = self._table.rates(self.weights)
        rates = np.array([align(own) for align, own in zip(self._alignments, shares, strict=True)])
        gain = self._table.weight_above(np.where(self.positive, self.weights, -self.weights))
        return Candidates(rates, rates, gain)

    def positive_rates(self, scores):
        """Share of each group with a positive score, (n_groups,)."""
        codes, n_groups = self.groups.codes, len(self.groups.labels)
        above = np.bincount(codes, self.weights * (scores > 0), n_groups)
        return above / np.bincount(codes, self.weights, n_groups)

    def error(self, scores):
        """Share of wrong decisions."""
        return float(self.weights @ ((scores > 0) != self.positive) / self.weights.sum())

    def shares_above(self, compared, total):
        """Share of each group's total that is compared and above each threshold.

        Parameters
        ----------
        compared, total : ndarray of bool, shape (n_samples,)
            Who counts in the numerator and in the denominator.

        Returns
        -------
        shares : ndarray of shape (n_groups, n_thresholds)
        """
        above = self._table.weight_above(self.weights * compared)
        return above / self._table.weight_above(self.weights * total)[:, -1:]


def _largest_in_ranges(values, first, stop):
    """Position of the largest value in each range [first, stop), 0 where that is empty."""
    found = np.zeros(len(first), dtype=np.intp)
    level = np.frexp(stop - first)[1] - 1  # the largest power of 2 in the length; -1 if empty
    best = np.arange(len(values))  # position of the largest value in [i, i + 2 ** exponent)
    for exponent in range(level.max() + 1):
        span = 2**exponent
        at = np.flatnonzero(level == exponent)
        found[at] = _larger(values, best[first[at]], best[stop[at] - span])
        best = _larger(values, best[:-span], best[span:])
    return found


def _larger(values, left, right):
    return np.where(values[right] > values[left], right, left)
