"""Rows that bound the probability that members of one group score above those of another.

A ramp of a difference of two scores is a difference of two positive parts, so a mean ramp over
pairs is a difference of mean excesses of one group's scores over those of another.

.. [1] Y. He, Y. Huang, Y. Yao and Q. Lin, "Enforcing fair predicted scores on intervals of
   percentiles by difference-of-convex constraints", arXiv:2505.12530, 2026.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product

import numpy as np
from scipy import sparse

from skfair.constraints._rows import ConstraintValues, ScoreJacobian
from skfair.constraints.partial._majorant import Majorant
from skfair.groups import Events
from skfair.utils._sorted_scores import SortedScores, taper_length, top_shares

_TAPER = 0.1
"""Length over which the ends of an interval taper off, relative to its width."""

_REACH = 0.05
"""Distance to either side over which a density of scores is averaged, in widths of the ramp."""

_NEGLIGIBLE = 1e-12
"""Smaller shares of a group are rounding."""


class WeightedMembers:
    """Members of a group by ascending score, with weights; those without weight are left out."""

    def __init__(self, samples, scores, weights):
        has_weight = weights > _NEGLIGIBLE
        self.samples, self.scores = samples[has_weight], scores[has_weight]
        self.weights = weights[has_weight]


class Ranking:
    """A group by ascending score, with the weights of those in an interval of ranks.

    Ties are broken, so that weights depend on ranks alone.
    """

    def __init__(self, pairs, samples, shares, scores):
        # Weights by rank, which taper off at the ends of each pair.
        ascending = np.argsort(scores[samples], kind="stable")
        self.samples = samples[ascending]
        self.scores = scores[self.samples]
        width = float(np.diff(pairs).sum())
        self._all = shares[ascending] * (len(pairs) / width)
        self._before = []  # up to the beginnings, and up to the ends of the pairs
        for ranks in pairs.T:
            top = [
                top_shares(shares[ascending][::-1], rank, taper_length(rank, _TAPER * width))[::-1]
                for rank in ranks
            ]
            self._before.append(sum(top) / width)

    def select(self):
        """Members in the interval, with weights that sum to 1."""
        begin, end = self._before
        return WeightedMembers(self.samples, self.scores, end - begin)

    def members_before(self, boundary):
        """Members that rank before the interval begins (boundary 0) or before it ends (1)."""
        return WeightedMembers(self.samples, self.scores, self._before[boundary])

    def members_after(self, boundary):
        """Members that rank after the interval begins (boundary 0) or after it ends (1)."""
        return WeightedMembers(self.samples, self.scores, self._all - self._before[boundary])


class PairExcess:
    r"""The function :math:`\sum_{ij} a_i b_j \max(0, h_i - h_j + shift) / width` of the scores.

    `one` and `other` are `WeightedMembers` with the weights a and b.
    """

    def __init__(self, one, other, shift, width):
        self.one, self.other = one, other
        self.shift, self.width = shift, width
        # Each member of the one group gains on those of the other within the shift.
        below, excess, _ = SortedScores(other.scores, other.weights).sums_below(one.scores + shift)
        above, _, _ = SortedScores(-one.scores[::-1], one.weights[::-1]).sums_below(
            shift - other.scores
        )
        self.value = float(one.weights @ excess) / width
        self.samples = np.concatenate((one.samples, other.samples))
        self.slopes = np.concatenate((one.weights * below, -other.weights * above)) / width

    def curvatures(self):
        """Curvatures by the scores of `samples`, which lie above those by differences."""
        one, other, reach = self.one, self.other, _REACH * self.width
        of_one = one.weights * _density(one.scores + self.shift, other, reach)
        of_other = other.weights * _density(other.scores - self.shift, one, reach)
        return 2.0 * np.concatenate((of_one, of_other)) / self.width

    def line(self, moved):
        """The tangent after a move of all scores."""
        return _Line(self.value + float(self.slopes @ moved[self.samples]), self)


class _Line:
    """A tangent at some scores."""

    def __init__(self, value, function):
        self.value = value
        self.samples, self.slopes = function.samples, function.slopes


def split_ramp(one, other, width):
    """Convex functions that are added, and subtracted, to make the mean ramp of two rankings."""
    added, subtracted = [], []
    for end, after_end, corner in product((0, 1), repeat=3):
        # The interval is what ranks before its end but not before its beginning; or the other way
        # round what ranks after. A ramp rises where it begins and ceases to where it ends.
        is_added = (end == 1) == ((after_end == 0) == (corner == 0))
        firsts, lasts = one.members_before(end), other.members_after(after_end)
        if len(firsts.samples) and len(lasts.samples):
            shift = (0.5 - corner) * width
            (added if is_added else subtracted).append(PairExcess(firsts, lasts, shift, width))
    return added, subtracted


def _density(points, members, reach):
    """Weight of members around given points, per unit of score."""
    below = np.concatenate(([0.0], np.cumsum(members.weights)))
    first, last = (np.searchsorted(members.scores, points + step) for step in (-reach, reach))
    return (below[last] - below[first]) / (2 * reach)


@dataclass(frozen=True, eq=False)
class PairRows:
    r"""Rows :math:`|AUC_{kk'} - \tfrac12| \le tolerance`, one per pair of groups.

    .. math::

        AUC_{kk'} = \sum_{i \in k} \sum_{j \in k'} \omega_i \omega_j \, ramp((h_i - h_j) / width)

    over members that rank in the interval of their group, with weights that sum to 1 for each
    group: problem (49) of [1]_. The mean over pairs smooths the ramp, so its corners need no
    rounding. Weights taper off where the interval begins and ends, so that members that change
    places there change the rows by little.

    Attributes
    ----------
    events : Events
        Samples of each group.
    percentiles : list of ndarray, one per group, each of shape (n_pairs, 2)
        The interval.
    width : float
        Width of the ramp.
    tolerance : float
        Largest distance from 1/2.
    """

    events: Events
    percentiles: list
    width: float
    tolerance: float

    n_aux = 0

    draws_majorant = False
    """Whether the majorant is a mean over samples; it is one over pairs."""

    @property
    def pairs(self):
        """Pairs of groups, one per row."""
        return list(combinations(range(self.events.n_events), 2))

    @property
    def lower(self):
        """Lower bounds of the rows, (n_rows,)."""
        return np.full(len(self.pairs), 0.5 - self.tolerance)

    @property
    def upper(self):
        """Upper bounds of the rows, (n_rows,)."""
        return np.full(len(self.pairs), 0.5 + self.tolerance)

    def initial_aux(self, scores):
        """No unknowns."""
        return np.empty(0)

    def _rankings(self, scores):
        """Every group in the order of its scores."""
        return [
            Ranking(pairs, *self.events.members(group), scores)
            for group, pairs in enumerate(self.percentiles)
        ]

    def __call__(self, scores, aux):
        r"""Rows and their derivatives, as `ConstraintValues`.

        Of the curvature only that of the ramp's convex corner is taken. It is one of differences of
        two scores; by :math:`(a - b)^2 \le 2 a^2 + 2 b^2` a curvature of single ones lies above it.
        """
        rankings, half = self._rankings(scores), self.width / 2
        selected = [ranking.select() for ranking in rankings]
        corners = [
            [PairExcess(selected[k], selected[j], shift, self.width) for shift in (half, -half)]
            for k, j in self.pairs
        ]

        def curvature(v):
            # The ramp's convex corner is where it begins, or where it ends if it counts negatively.
            convex = [
                (abs(weight), [begin_and_end[int(weight < 0)]])
                for weight, begin_and_end in zip(v, corners, strict=True)
            ]
            return _sum_curvatures(convex, scores)

        return _rows([([begin], [end]) for begin, end in corners], len(scores), curvature)

    def majorant(self, scores, aux):
        """Convex rows that are nowhere easier to keep, and equal to these at the given point."""
        return PairMajorant(self, scores, aux)

    def convex_parts(self, scores):
        r"""Two lists of convex functions of the scores for each row, which is their difference.

        The weight of a member is a difference of weights of all who rank first, up to the ends and
        up to the beginnings of the interval, or of weights of all who rank last. A mean excess
        :math:`\sum_{ij} a_i b_j \max(0, h_i - h_j + c)` is convex if a falls from the first to the
        last and b rises, for these weights make it as large as any order of theirs; and a row is
        made of eight of them. [1]_ (Example D.7) shows such functions for the sigmoid, which are as
        many times as steep as a group has members; these are not.
        """
        rankings = self._rankings(scores)
        return [split_ramp(rankings[k], rankings[j], self.width) for k, j in self.pairs]


class PairMajorant(Majorant):
    """Rows of pairs of groups whose concave parts are replaced by tangents."""

    @cached_property
    def _parts_at_point(self):
        """The convex parts at the point."""
        return self.original.convex_parts(self.scores)

    def __call__(self, scores, aux):
        """Rows and their derivatives, as `ConstraintValues`."""
        parts, moved = self.original.convex_parts(scores), scores - self.scores
        lines = [
            tuple([one.line(moved) for one in functions] for functions in row)
            for row in self._parts_at_point
        ]
        pairs = list(zip(parts, lines, strict=True))
        # Upper bounds keep what is added, lower bounds what is subtracted.
        upper = [(added, line) for (added, _), (_, line) in pairs]
        lower = [(line, subtracted) for (_, subtracted), (line, _) in pairs]

        def curvature(v):
            of_upper, of_lower = np.reshape(v, (2, -1))
            active = [(weight, up) for weight, (up, _) in zip(of_upper, upper, strict=True)]
            active += [(-weight, down) for weight, (_, down) in zip(of_lower, lower, strict=True)]
            return _sum_curvatures(active, scores)

        return _rows(upper + lower, len(scores), curvature)


def _rows(functions, n_samples, curvature):
    """Rows that are sums of functions less sums of others, as `ConstraintValues`."""
    # Added functions count positively, subtracted ones negatively.
    signed = [
        (row, sign, one)
        for row, halves in enumerate(functions)
        for sign, half in zip((1.0, -1.0), halves, strict=True)
        for one in half
    ]
    values = np.zeros(len(functions))
    for row, sign, one in signed:
        values[row] += sign * one.value
    rows = np.repeat([row for row, _, _ in signed], [len(one.samples) for _, _, one in signed])
    none = np.empty(0)
    columns = np.concatenate([none.astype(int), *(one.samples for _, _, one in signed)])
    slopes = np.concatenate([none, *(sign * one.slopes for _, sign, one in signed)])
    shape = len(functions), n_samples
    return ConstraintValues(
        values,
        ScoreJacobian(
            sparse.eye_array(len(functions), format="csr"),
            sparse.csr_array((slopes, (rows, columns)), shape=shape),
        ),
        np.empty((len(functions), 0)),
        curvature,
    )


def _sum_curvatures(weighted, scores):
    """Curvature by each score of functions with weights, of which negative ones are left out."""
    curvature = np.zeros(len(scores))
    for weight, functions in weighted:
        for one in functions if weight > 0.0 else ():
            np.add.at(curvature, one.samples, weight * one.curvatures())
    return curvature
