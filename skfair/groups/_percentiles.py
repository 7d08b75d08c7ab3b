"""Ranks of scores within groups, and the samples whose rank lies in a percentile interval.

The rank of a score in a group is the share of the group with a strictly higher score, so that the
best score has rank 0. Tied scores share their rank: an interval takes all of them or none.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from skfair.groups._groups import group_names
from skfair.utils._balance import count_table

_GUARD = 1e-9
"""Distance below alpha or beta at which a rank counts as equal to it: 0.3 * 10 / 10 must not be
0.3 + u, and a million weights of 0.1 add up to a relative 1e-11 too much."""


class ScoreTable(NamedTuple):
    """Samples sorted into the distinct scores that occur, made by `tabulate_scores`.

    ``thresholds`` are the distinct scores, descending, and at last -inf: every predictor
    "score > threshold" decides as one of these. ``positions`` says which one each sample's score
    is, ``codes`` its group.
    """

    thresholds: np.ndarray  # (n_thresholds,) of float64
    positions: np.ndarray  # (n_samples,) of intp
    codes: np.ndarray  # (n_samples,) of intp
    n_groups: int

    def weight_at(self, weights):
        """Weight of every group on every threshold, (n_groups, n_thresholds)."""
        shape = self.n_groups, len(self.thresholds)
        return count_table(self.codes, self.positions, weights, *shape)

    def weight_above(self, weights):
        """Weight of every group strictly above every threshold, (n_groups, n_thresholds)."""
        above = np.zeros((self.n_groups, len(self.thresholds)))
        # Thresholds descend: above each lies the weight at those before it.
        np.cumsum(self.weight_at(weights)[:, :-1], axis=1, out=above[:, 1:])
        return above

    def rates(self, weights):
        """Share of every group strictly above every threshold, (n_groups, n_thresholds).

        The last, at -inf, is 1. The shares of a group of no weight are nan.
        """
        above = self.weight_above(weights)
        totals = above[:, -1:]
        return np.divide(above, totals, out=np.full_like(above, np.nan), where=totals > 0)

    def select(self, intervals, weights):
        """Whether the rank of each sample in its group lies in its interval, (n_samples,)."""
        return is_in_intervals(self.rates(weights), intervals)[self.codes, self.positions]


def tabulate_scores(y_score, codes, n_groups):
    """Sort samples into the distinct scores that occur."""
    descending, positions = np.unique(-y_score, return_inverse=True)
    return ScoreTable(np.append(-descending, -np.inf), positions, codes, n_groups)


def check_interval(interval, groups):
    """Intervals of ranks of every group: a list of arrays (n_pairs, 2), in the groups' order.

    ``(alpha, beta)`` means ranks in [alpha, beta), and in [alpha, 1] if beta is 1; a list of pairs
    means their union. A mapping has one entry per group, by its name (a tuple for several
    attributes); entries of groups that do not occur are not used.
    """
    names = group_names(groups.labels)
    if not isinstance(interval, Mapping):
        return [_check_pairs(interval)] * len(names)
    missing = [name for name in names if name not in interval]
    if missing:
        raise ValueError(
            f"An interval by group needs an entry for every group, but {missing} have none; its "
            f"entries are {list(interval)}. Add them, or pass one interval for all."
        )
    return [_check_pairs(interval[name]) for name in names]


def _check_pairs(interval):
    """Disjoint pairs (alpha, beta) in ascending order, (n_pairs, 2)."""
    try:
        pairs = np.atleast_2d(np.asarray(interval, dtype=np.float64))
    except (TypeError, ValueError):  # not numbers, or of different lengths
        pairs = np.empty(0)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or not len(pairs):
        raise ValueError(
            "interval must be a pair (alpha, beta), a list of such pairs, or a dict of either by "
            f"group; got {interval!r}."
        )
    pairs = pairs[np.argsort(pairs[:, 0])]
    lower, upper = pairs.T
    if not (np.all(lower >= 0) and np.all(lower < upper) and np.all(upper <= 1)):
        raise ValueError(
            "interval must have 0 <= alpha < beta <= 1, as shares of a group counted from its "
            f"highest score: (0.05, 0.3) leaves out the top 5 %; got {interval!r}."
        )
    if np.any(upper[:-1] > lower[1:]):
        raise ValueError(f"The pairs of an interval must not overlap; got {interval!r}.")
    return pairs


def is_in_intervals(ranks, intervals):
    """Whether ranks (n_groups, n_thresholds) lie in the intervals of their groups."""
    inside = np.zeros(ranks.shape, dtype=bool)
    for of_group, inside_group, pairs in zip(ranks, inside, intervals, strict=True):
        for alpha, beta in pairs:
            # Rank 1 counts as inside if the interval ends there; other ends are outside.
            below = of_group < (beta - _GUARD if beta < 1 else np.inf)
            inside_group |= below & (of_group >= alpha - _GUARD)
    return inside
