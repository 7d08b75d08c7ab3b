"""Rows of criteria on percentiles: shares above thresholds, and pairs of samples."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations, product
from typing import NamedTuple

import numpy as np
from scipy import sparse

from skfair.constraints._convex import Majorant, MeanExcess
from skfair.constraints._rows import ConstraintValues, ScoreJacobian, batch_events
from skfair.groups._events import Events
from skfair.utils._arrays import SortedScores, shares_up_to_rank, taper_length

# Rows that bound shares of events above thresholds between percentiles.
#
# .. [1] Y. He, Y. Huang, Y. Yao and Q. Lin, "Enforcing fair predicted scores on intervals of
#    percentiles by difference-of-convex constraints", arXiv:2505.12530, 2026.


PERCENTILE_TOLERANCE = 1e-9
"""Percentiles nearer than this count as equal: to an end of a pair, or to 0 or 1."""


@dataclass(frozen=True, eq=False)
class ShareRows:
    r"""Rows :math:`lower \le S(\theta_0 + Z a) + L a \le upper`, one per event and threshold.

    S is the share of an event above a threshold, as a difference of `ConvexMeans`. The auxiliary
    unknowns a move thresholds (Z), or the levels around which shares are bounded (L): partial
    statistical parity has free thresholds, criteria at one threshold have a free level.

    Attributes
    ----------
    events : Events
        Samples of each event.
    width : float
        Width of the ramp, or of the sigmoid.
    origin : ndarray of shape (n_thresholds,)
        :math:`\theta_0`.
    threshold_jacobian : ndarray of shape (n_thresholds, n_aux)
        Z.
    aux_jacobian : ndarray of shape (n_events * n_thresholds, n_aux)
        L, event by event: the derivative of `constant_term` by the auxiliary unknowns.
    lower, upper : ndarray of shape (n_events * n_thresholds,)
        Bounds; infinite where there is none.
    initial_aux : callable
        scores -> auxiliary unknowns to start from, (n_aux,).
    convex_means : type
        The subclass of `ConvexMeans` whose difference the shares are.
    """

    events: Events
    width: float
    origin: np.ndarray
    threshold_jacobian: np.ndarray
    aux_jacobian: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    initial_aux: Callable = field(repr=False)
    convex_means: type = MeanExcess

    has_batch_majorant = True
    """Whether the majorant is a mean over samples, of which mini-batches can be drawn."""

    @property
    def n_aux(self):
        """Number of auxiliary unknowns."""
        return self.threshold_jacobian.shape[1]

    def constant_term(self, aux):
        """Value of the rows where all shares are 0, (n_rows,)."""
        return self.aux_jacobian @ aux

    def breakpoints(self, aux):
        """Where ramps begin, then where they end, (2 * n_thresholds,)."""
        thresholds = self.origin + self.threshold_jacobian @ aux
        return np.concatenate((thresholds - self.width / 2, thresholds + self.width / 2))

    def convex_at(self, scores, aux):
        """The convex functions of which shares are differences, as `ConvexMeans`."""
        corner = self.convex_means.rounding * self.width
        return self.convex_means(self.events, scores, self.breakpoints(aux), corner)

    def shares(self, scores, aux):
        """Shares of the events above the thresholds, (n_events, n_thresholds)."""
        return self.convex_at(scores, aux).values @ np.subtract(*self.ramp_factors).T

    @cached_property
    def ramp_factors(self):
        """Matrices that pick the convex functions where each ramp begins, and where it ends."""
        n = len(self.origin)
        return np.split(np.eye(2 * n) / self.width, [n])

    def __call__(self, scores, aux):
        """Rows and their derivatives, as `ConstraintValues`.

        Curvatures are those of the convex parts: of the two corners of a ramp, the one that the
        multiplier makes concave is left out, so that they are never negative. Samples around the
        other one count too (see `MeanExcess`). The exact ones are those of both corners.
        """
        return self.evaluate_convex(self.convex_at(scores, aux), aux)

    def evaluate_convex(self, convex, aux):
        """The same from `ConvexMeans`."""
        # Values and slopes: shares are differences of convex functions at both ends of a ramp.
        difference = np.subtract(*self.ramp_factors)
        # A threshold that rises moves both ends of its ramp, and lowers the share.
        moved = -(convex.above @ difference.T)[:, :, np.newaxis] * self.threshold_jacobian
        values = ConstraintValues(
            (convex.values @ difference.T).ravel() + self.constant_term(aux),
            ScoreJacobian(
                convex.score_derivative(difference), lambda: convex.basis, convex.basis_adjoint
            ),
            moved.reshape(self.aux_jacobian.shape) + self.aux_jacobian,
            *_curvatures(self, convex, difference, minimum=0.0),
        )

        def exact():
            curvature, aux_curvature = _curvatures(self, convex.exact(), difference)
            return values._replace(curvature=curvature, aux_curvature=aux_curvature)

        return values._replace(exact=exact)

    def residual(self, scores):
        """Shares of decisions at the origin less smooth ones, (n_rows,)."""
        exact = self.events.means(scores[:, np.newaxis] > self.origin)
        return (exact - self.shares(scores, np.zeros(self.n_aux))).ravel()

    def majorant(self, scores, aux):
        """Convex rows that are nowhere easier to keep, and equal to these at the given point."""
        return ShareMajorant(self, scores, aux)


def _curvatures(rows, convex, factors, minimum=-np.inf):
    """Curvatures of `ShareRows` by scores and by unknowns, as in `ConstraintValues`.

    `factors`, (n_rows_per_event, n_breakpoints), are those of the convex functions in the rows of
    each event. A `minimum` of 0 for their factors in ``v @ rows`` leaves concave parts out.
    """
    # of breakpoints by unknowns
    moves = np.vstack((rows.threshold_jacobian, rows.threshold_jacobian))

    def weights(v):
        # Convexified: negative weights belong to the subtracted functions, whose curvature is
        # left out.
        return np.maximum(minimum, v.reshape(rows.events.n_events, -1) @ factors)

    def aux_curvature(v):
        combine, diagonal = convex.breakpoint_second_derivatives(weights(v))
        return moves.T @ combine, (moves.T * diagonal) @ moves

    return lambda v: convex.curvature(weights(v)), aux_curvature


def place_buckets(rows, aux):
    """Buckets of scores without samples, as `MeanExcess`; None where rows have no disjoint ones."""
    is_ramp = getattr(rows, "convex_means", None) is MeanExcess
    if not is_ramp or rows.events.codes_and_mean_weights is None:
        return None
    return MeanExcess.from_breakpoints(rows.breakpoints(aux), MeanExcess.rounding * rows.width)


def bucket_curvatures(rows, buckets, v, is_exact):
    """Second derivative of ``v @ rows`` by the score of a share, (n_events, n_buckets)."""
    weights = v.reshape(rows.events.n_events, -1) @ np.subtract(*rows.ramp_factors)
    if is_exact:
        return weights @ buckets.exact().curvatures
    return np.maximum(0.0, weights) @ buckets.curvatures


class ShareMajorant(Majorant):
    r"""Share rows whose concave parts are replaced by tangents ([1]_, (31) and (32)).

    An upper bound has the row :math:`P(\text{begin}) - \bar P(\text{end})` and a lower bound
    :math:`\bar P(\text{begin}) - P(\text{end})`, each over the width and minus the level, where
    :math:`\bar P` is the tangent of P at one point. Each event is a block.
    """

    @property
    def n_blocks(self):
        """Number of blocks of rows, one per event."""
        return self.n_events

    @property
    def events(self):
        """Events from each of which samples are drawn."""
        return self.original.events

    @property
    def n_events(self):
        """Number of events."""
        return self.events.n_events

    def take_batch(self, positions, start, n_per_event):
        """The rows on drawn samples, of which those from `start` on come from the events."""
        events, _ = batch_events(len(positions), start, self.n_events, n_per_event)
        original = replace(self.original, events=events)
        return replace(self, original=original, scores=self.scores[positions])

    @cached_property
    def _tangent(self):
        """The convex functions at the point."""
        return self.original.convex_at(self.scores, self.aux)

    def __call__(self, scores, aux):
        """Rows and their derivatives, as `ConstraintValues`."""
        original, tangent = self.original, self._tangent
        convex = original.convex_at(scores, aux)
        begin, end = original.ramp_factors
        # Factors of functions and of tangents in the rows of the upper, then of the lower bounds.
        of_convex, of_tangent = np.vstack((begin, -end)), np.vstack((-end, begin))
        moves = original.breakpoints(aux) - original.breakpoints(self.aux)
        # Tangents of the concave parts, in scores and breakpoints.
        lines = tangent.evaluate_tangents(scores - self.scores, moves)
        by_level = self._interleave(original.aux_jacobian, original.aux_jacobian)
        above = convex.above @ of_convex.T + tangent.above @ of_tangent.T
        moved = -above[:, :, np.newaxis] * np.vstack((original.threshold_jacobian,) * 2)
        combine = np.hstack(
            (convex.score_derivative(of_convex), tangent.score_derivative(of_tangent))
        )
        curvature, convex_aux_curvature = _curvatures(original, convex, of_convex, minimum=0.0)

        def aux_curvature(v):
            # Tangents are linear, so that they have no second derivatives.
            mixed, hessian = convex_aux_curvature(v)
            return np.pad(mixed, ((0, 0), (0, tangent.basis.shape[0]))), hessian

        return ConstraintValues(
            (convex.values @ of_convex.T + lines @ of_tangent.T).ravel() + by_level @ aux,
            ScoreJacobian(combine, sparse.vstack((convex.basis, tangent.basis), format="csr")),
            moved.reshape(by_level.shape) + by_level,
            curvature,
            aux_curvature,
        )


def _percentiles_at(ranked, positions, side):
    """Percentiles of each event at positions of its own or common ones."""
    paired = zip(ranked.intervals, positions, strict=True)
    return np.array([interval.percentile_at(position, side) for interval, position in paired])


def cell_codes(ranked):
    """Code of the cell of each event, (n_events,): those of one cell are compared."""
    codes = np.empty(ranked.events.n_events, dtype=int)
    for number, block in enumerate(ranked.cells.blocks):
        codes[list(block)] = number
    return codes


def rows_at_percentiles(ranked, tolerances, positions, width, convex_means):
    """Rows ``p <= S_e <= p + tolerance`` at free thresholds, for all events (as [1]_, (15)).

    `ranked` are `RankSums`, with a tolerance each in units of its interval; `positions`,
    (n_thresholds,), are those of the percentiles p in the intervals.
    """
    # Percentiles of the bounds, and between them those where the thresholds start.
    events, tolerances, n = ranked.events, tolerances[:, np.newaxis], len(positions)
    lower = _percentiles_at(ranked, positions + 0.0 * tolerances, "left")
    upper = _percentiles_at(ranked, positions + tolerances, "right")
    middle = _percentiles_at(ranked, positions + tolerances / 2, "left")
    middle = np.clip(middle, 0.0, 1.0)

    def midpoints(scores):
        if not np.ptp(scores):  # quantiles of equal scores do not say where a ramp must stand
            return scores[0] - width * convex_means.inverse_surrogate(middle.mean(axis=0))
        quantiles = [events.upper_quantiles(e, scores, levels) for e, levels in enumerate(middle)]
        return (np.min(quantiles, axis=0) + np.max(quantiles, axis=0)) / 2

    return ShareRows(
        events,
        width,
        origin=np.zeros(n),
        threshold_jacobian=np.eye(n),
        aux_jacobian=np.zeros((lower.size, n)),
        lower=np.where(lower > PERCENTILE_TOLERANCE, lower, -np.inf).ravel(),
        upper=np.where(upper < 1.0 - PERCENTILE_TOLERANCE, upper, np.inf).ravel(),
        initial_aux=midpoints,
        convex_means=convex_means,
    )


def rows_at_threshold(ranked, tolerances, threshold, width, convex_means):
    """Rows of one case of (21) of [1]_: a bound on differences of shares inside intervals.

    Cut off at its interval, a share differs from the others by the tolerance at most in three
    cases: all lie between a free level and that level plus the tolerance, or all below the
    beginning of their intervals plus the tolerance, or all above their ends minus the tolerance.
    Each block has the case for which the fewest samples would have to change sides at the scores of
    `ranked`: the distance of a share alone does not say what the case costs, if its group is small.
    """
    # Shares below the ceiling, or above the floor, are all near one end of their interval.
    events, scores, widths = ranked.events, ranked.scores, ranked.widths
    begin = np.array([interval.pairs[0, 0] for interval in ranked.intervals])
    ceiling = _percentiles_at(ranked, tolerances, "right")
    floor = _percentiles_at(ranked, 1.0 - tolerances, "left")
    lower, upper = np.full(len(begin), -np.inf), np.full(len(begin), np.inf)
    # Weight of each event in its interval.
    rows, members, _ = events.memberships
    weights = ranked.samples.weights[rows]
    selected = np.bincount(members, weights, events.n_events) * widths

    def share_positions(scores):
        """Positions of the shares in their intervals."""
        breakpoints = threshold + width * np.array([-0.5, 0.5])
        convex = convex_means(events, scores, breakpoints, convex_means.rounding * width)
        return (convex.values @ [1.0, -1.0] / width - begin) / widths

    # Choose a case for each block.
    positions, with_level = share_positions(scores), []
    shares = _Shares(positions, tolerances, begin, widths, floor, ceiling, selected)
    codes = cell_codes(ranked)
    for block in np.unique(codes):
        in_block = codes == block
        lower[in_block], upper[in_block], has_level = shares.restrict(in_block).nearest_case()
        if has_level:
            with_level.append(in_block)
    # One free level per block of that case, in units of the widths of its intervals.
    by_level = np.reshape(with_level, (-1, len(begin))).T * widths[:, np.newaxis]

    def initial_levels(scores):
        # Half-way between the lowest level that the highest share allows, and the lowest share.
        positions = share_positions(scores)
        ends = [
            positions[in_block].min() + positions[in_block].max() - tolerances[in_block].min()
            for in_block in with_level
        ]
        return np.array(ends, dtype=np.float64) / 2

    return ShareRows(
        events,
        width,
        origin=np.array([threshold]),
        threshold_jacobian=np.zeros((1, len(with_level))),
        aux_jacobian=-by_level,
        lower=lower,
        upper=upper,
        initial_aux=initial_levels,
        convex_means=convex_means,
    )


class _Shares(NamedTuple):
    """Shares of events above a threshold, which have to keep tolerances in their intervals."""

    positions: np.ndarray  # of the shares in their intervals, from 0 to 1
    tolerances: np.ndarray
    begin: np.ndarray  # of the intervals
    widths: np.ndarray
    floor: np.ndarray  # of the shares that are all near the end of their interval, or above it
    ceiling: np.ndarray  # of those that are all near its beginning, or below it
    selected: np.ndarray  # weight of the samples that change sides from beginning to end

    def restrict(self, in_block):
        """The shares of the events of a block."""
        return _Shares(*(column[in_block] for column in self))

    def nearest_case(self):
        """Bounds of the case of fewest samples that change sides; whether it has a free level."""
        positions, tolerances, begin, widths, floor, ceiling, selected = self
        # The best level has a share at it, or a tolerance above it.
        levels = np.concatenate((positions, positions - tolerances))[:, np.newaxis]
        # Distance of each share from the bounds of the case, 0 inside.
        off = (
            np.maximum(levels - positions, positions - levels - tolerances),
            [positions - (ceiling - begin) / widths],
            [(floor - begin) / widths - positions],
        )
        cases = (
            (begin, begin + tolerances * widths, True),  # between a level and a tolerance above it
            (-np.inf, ceiling, False),  # all near the beginning, or below
            (floor, np.inf, False),  # all near the end, or above
        )
        # Samples that change sides, minimised over the levels.
        moved = [(np.maximum(0.0, one) @ selected).min() for one in off]
        return cases[int(np.argmin(moved))]


# Rows that bound the probability that members of one group score above those of another.
#
# A ramp of a difference of two scores is a difference of two positive parts, so a mean ramp over
# pairs is a difference of mean excesses of one group's scores over those of another.
#
# .. [1] Y. He, Y. Huang, Y. Yao and Q. Lin, "Enforcing fair predicted scores on intervals of
#    percentiles by difference-of-convex constraints", arXiv:2505.12530, 2026.


_TAPER_FRACTION = 0.1
"""Length over which the ends of an interval taper off, relative to its width."""

_DENSITY_BANDWIDTH = 0.05
"""Distance to either side over which a density of scores is averaged, in widths of the ramp."""

_NEGLIGIBLE_SHARE = 1e-12
"""Smaller shares of a group are rounding."""


class RankedMembers:
    """Members of a group by ascending score, with weights; those without weight are left out."""

    def __init__(self, samples, scores, weights):
        has_weight = weights > _NEGLIGIBLE_SHARE
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
                shares_up_to_rank(
                    shares[ascending][::-1], rank, taper_length(rank, _TAPER_FRACTION * width)
                )[::-1]
                for rank in ranks
            ]
            self._before.append(sum(top) / width)

    def members_inside(self):
        """Members in the interval, with weights that sum to 1."""
        begin, end = self._before
        return RankedMembers(self.samples, self.scores, end - begin)

    def members_before(self, boundary):
        """Members that rank before the interval begins (boundary 0) or before it ends (1)."""
        return RankedMembers(self.samples, self.scores, self._before[boundary])

    def members_after(self, boundary):
        """Members that rank after the interval begins (boundary 0) or after it ends (1)."""
        return RankedMembers(self.samples, self.scores, self._all - self._before[boundary])


class PairExcess:
    r"""The function :math:`\sum_{ij} a_i b_j \max(0, h_i - h_j + shift) / width` of the scores.

    `one` and `other` are `RankedMembers` with the weights a and b.
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
        one, other, reach = self.one, self.other, _DENSITY_BANDWIDTH * self.width
        of_one = one.weights * _density(one.scores + self.shift, other, reach)
        of_other = other.weights * _density(other.scores - self.shift, one, reach)
        return 2.0 * np.concatenate((of_one, of_other)) / self.width

    def tangent_after_move(self, moved):
        """The tangent after a move of all scores."""
        return _Tangent(self.value + float(self.slopes @ moved[self.samples]), self)


class _Tangent:
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
    group_intervals : list of ndarray, one per group, each of shape (n_pairs, 2)
        The interval.
    width : float
        Width of the ramp.
    tolerance : float
        Largest distance from 1/2.
    """

    events: Events
    group_intervals: list
    width: float
    tolerance: float

    n_aux = 0

    has_batch_majorant = False
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
            for group, pairs in enumerate(self.group_intervals)
        ]

    def __call__(self, scores, aux):
        r"""Rows and their derivatives, as `ConstraintValues`.

        Of the curvature only that of the ramp's convex corner is taken. It is one of differences of
        two scores; by :math:`(a - b)^2 \le 2 a^2 + 2 b^2` a curvature of single ones lies above it.
        """
        rankings, half = self._rankings(scores), self.width / 2
        selected = [ranking.members_inside() for ranking in rankings]
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

        return _make_values([([begin], [end]) for begin, end in corners], len(scores), curvature)

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
            tuple([one.tangent_after_move(moved) for one in functions] for functions in row)
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

        return _make_values(upper + lower, len(scores), curvature)


def _make_values(functions, n_samples, curvature):
    """Build the values of rows that are sums of functions minus sums of others."""
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
