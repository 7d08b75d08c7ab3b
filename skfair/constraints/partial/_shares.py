r"""Rows that bound shares of events above thresholds between percentiles.

.. [1] Y. He, Y. Huang, Y. Yao and Q. Lin, "Enforcing fair predicted scores on intervals of
   percentiles by difference-of-convex constraints", arXiv:2505.12530, 2026.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from skfair.constraints._bound import drawn_events
from skfair.constraints._rows import ConstraintValues, ScoreJacobian
from skfair.constraints.partial._convex import MeanExcess
from skfair.constraints.partial._majorant import Majorant
from skfair.groups import Events

_GUARD = 1e-9
"""Percentiles nearer than this to 0 and 1 bound nothing."""


@dataclass(frozen=True, eq=False)
class ShareRows:
    r"""Rows :math:`lower \le S(\theta_0 + Z a) - L a \le upper`, one per event and threshold.

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
    by_threshold : ndarray of shape (n_thresholds, n_aux)
        Z.
    by_level : ndarray of shape (n_events * n_thresholds, n_aux)
        L, event by event.
    lower, upper : ndarray of shape (n_events * n_thresholds,)
        Bounds; infinite where there is none.
    initial_aux : callable
        scores -> auxiliary unknowns to start from, (n_aux,).
    convex_means : type
        The subclass of `ConvexMeans` whose difference the shares are.
    rounding : float or None
        Share of the width over which each corner is rounded; None takes that of `convex_means`.
    """

    events: Events
    width: float
    origin: np.ndarray
    by_threshold: np.ndarray
    by_level: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    initial_aux: Callable = field(repr=False)
    convex_means: type = MeanExcess
    rounding: float | None = None

    draws_majorant = True
    """Whether the majorant is a mean over samples, of which mini-batches can be drawn."""

    @property
    def n_aux(self):
        """Number of auxiliary unknowns."""
        return self.by_threshold.shape[1]

    @property
    def aux_jacobian(self):
        """Derivative of `constant_term` by the auxiliary unknowns, (n_rows, n_aux)."""
        return -self.by_level

    def constant_term(self, aux):
        """Value of the rows where all shares are 0, (n_rows,)."""
        return -self.by_level @ aux

    def breakpoints(self, aux):
        """Where ramps begin, then where they end, (2 * n_thresholds,)."""
        thresholds = self.origin + self.by_threshold @ aux
        return np.concatenate((thresholds - self.width / 2, thresholds + self.width / 2))

    def convex_at(self, scores, aux):
        """The convex functions of which shares are differences, as `ConvexMeans`."""
        rounding = self.convex_means.rounding if self.rounding is None else self.rounding
        corner = rounding * self.width
        return self.convex_means(self.events, scores, self.breakpoints(aux), corner)

    def buckets_at(self, aux):
        """Buckets of scores without samples, as `MeanExcess`; None for other functions."""
        if self.convex_means is not MeanExcess:
            return None
        corner = (MeanExcess.rounding if self.rounding is None else self.rounding) * self.width
        return MeanExcess.from_breakpoints(self.breakpoints(aux), corner)

    def bucket_curvatures(self, buckets, v, is_exact):
        """Second derivative of ``v @ rows`` by the score of a share, (n_events, n_buckets)."""
        weights = v.reshape(self.events.n_events, -1) @ np.subtract(*self.ends)
        if is_exact:
            return weights @ buckets.exact().curvatures
        return np.maximum(0.0, weights) @ buckets.curvatures

    def shares(self, scores, aux):
        """Shares of the events above the thresholds, (n_events, n_thresholds)."""
        return self.convex_at(scores, aux).values @ np.subtract(*self.ends).T

    @cached_property
    def ends(self):
        """Factors of the convex functions where each ramp begins, and where it ends."""
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
        difference = np.subtract(*self.ends)
        # A threshold that rises moves both ends of its ramp, and lowers the share.
        moved = -(convex.above @ difference.T)[:, :, np.newaxis] * self.by_threshold
        values = ConstraintValues(
            (convex.values @ difference.T).ravel() - self.by_level @ aux,
            ScoreJacobian(convex.score_derivative(difference), convex.cells),
            moved.reshape(self.by_level.shape) - self.by_level,
            *self.curvatures(convex, difference, minimum=0.0),
        )

        def exact():
            curvature, aux_curvature = self.curvatures(convex.exact(), difference)
            return values._replace(curvature=curvature, aux_curvature=aux_curvature)

        return values._replace(exact=exact)

    def curvatures(self, convex, factors, minimum=-np.inf):
        """Curvatures by scores and by unknowns of ``v @ rows``, as in `ConstraintValues`.

        `factors`, (n_rows_per_event, n_breakpoints), are those of the convex functions in the rows
        of each event. A `minimum` of 0 for their factors in ``v @ rows`` leaves concave parts out.
        """
        moves = np.vstack((self.by_threshold, self.by_threshold))  # of breakpoints by unknowns

        def weights(v):
            # Convexified: negative weights belong to the subtracted functions, whose curvature is
            # left out.
            return np.maximum(minimum, v.reshape(self.events.n_events, -1) @ factors)

        def aux_curvature(v):
            combine, diagonal = convex.breakpoint_derivatives(weights(v))
            return moves.T @ combine, (moves.T * diagonal) @ moves

        return lambda v: convex.curvature(weights(v)), aux_curvature

    def residual(self, scores):
        """Shares of decisions at the origin less smooth ones, (n_rows,)."""
        exact = self.events.means(scores[:, np.newaxis] > self.origin)
        return (exact - self.shares(scores, np.zeros(self.n_aux))).ravel()

    def majorant(self, scores, aux):
        """Convex rows that are nowhere easier to keep, and equal to these at the given point."""
        return ShareMajorant(self, scores, aux)


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

    def take_drawn(self, positions, start, n_per_event):
        """The rows on drawn samples, of which those from `start` on come from the events."""
        events, _ = drawn_events(len(positions), start, self.n_events, n_per_event)
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
        begin, end = original.ends
        # Factors of functions and of tangents in the rows of the upper, then of the lower bounds.
        of_convex, of_tangent = np.vstack((begin, -end)), np.vstack((-end, begin))
        moves = original.breakpoints(aux) - original.breakpoints(self.aux)
        # Tangents of the concave parts, in scores and breakpoints.
        lines = tangent.along(scores - self.scores, moves)
        by_level = self._interleave(original.by_level, original.by_level)
        above = convex.above @ of_convex.T + tangent.above @ of_tangent.T
        moved = -above[:, :, np.newaxis] * np.vstack((original.by_threshold,) * 2)
        combine = np.hstack(
            (convex.score_derivative(of_convex), tangent.score_derivative(of_tangent))
        )
        curvature, convex_aux_curvature = original.curvatures(convex, of_convex, minimum=0.0)

        def aux_curvature(v):
            # Tangents are linear, so that their cells have no second derivatives.
            mixed, hessian = convex_aux_curvature(v)
            return np.pad(mixed, ((0, 0), (0, tangent.cells.shape[0]))), hessian

        return ConstraintValues(
            (convex.values @ of_convex.T + lines @ of_tangent.T).ravel() - by_level @ aux,
            ScoreJacobian(combine, sparse.vstack((convex.cells, tangent.cells), format="csr")),
            moved.reshape(by_level.shape) - by_level,
            curvature,
            aux_curvature,
        )


def rows_at_percentiles(ranked, tolerances, positions, width, convex_means):
    """Rows ``p <= S_e <= p + tolerance`` at free thresholds, for all events ([1]_, (15)).

    `ranked` are the `RankedEvents`, with a tolerance each in units of its interval; `positions`,
    (n_thresholds,), are those of the percentiles p in the intervals.
    """
    # Percentiles of the bounds, and between them those where the thresholds start.
    events, tolerances, n = ranked.events, tolerances[:, np.newaxis], len(positions)
    lower = ranked.percentiles_at(positions + 0.0 * tolerances, "left")
    upper = ranked.percentiles_at(positions + tolerances, "right")
    middle = ranked.percentiles_at(positions + tolerances / 2, "left")
    middle = np.clip(middle, 0.0, 1.0)

    def midpoints(scores):
        if not np.ptp(scores):  # quantiles of equal scores do not say where a ramp must stand
            return scores[0] - width * convex_means.reach(middle.mean(axis=0))
        quantiles = [events.quantiles(e, scores, levels) for e, levels in enumerate(middle)]
        return (np.min(quantiles, axis=0) + np.max(quantiles, axis=0)) / 2

    return ShareRows(
        events,
        width,
        origin=np.zeros(n),
        by_threshold=np.eye(n),
        by_level=np.zeros((lower.size, n)),
        lower=np.where(lower > _GUARD, lower, -np.inf).ravel(),
        upper=np.where(upper < 1.0 - _GUARD, upper, np.inf).ravel(),
        initial_aux=midpoints,
        convex_means=convex_means,
    )


def rows_at_threshold(ranked, tolerances, threshold, width, convex_means):
    """Rows of one case of (21) of [1]_: inside their intervals shares differ by the tolerance.

    Cut off at its interval, a share differs from the others by the tolerance at most in three
    cases: all lie between a free level and that level plus the tolerance, or all below the
    beginning of their intervals plus the tolerance, or all above their ends minus the tolerance.
    Each block has the case for which the fewest samples would have to change sides at the scores of
    `ranked`: the distance of a share alone does not say what the case costs, if its group is small.
    """
    # Shares below the ceiling, or above the floor, are all near one end of their interval.
    events, scores, widths = ranked.events, ranked.scores, ranked.widths
    begin = np.array([interval.pairs[0, 0] for interval in ranked.intervals])
    ceiling = ranked.percentiles_at(tolerances, "right")
    floor = ranked.percentiles_at(1.0 - tolerances, "left")
    lower, upper = np.full(len(begin), -np.inf), np.full(len(begin), np.inf)
    selected = ranked.totals * widths

    def share_positions(scores):
        """Positions of the shares in their intervals."""
        breakpoints = threshold + width * np.array([-0.5, 0.5])
        convex = convex_means(events, scores, breakpoints, convex_means.rounding * width)
        return (convex.values @ [1.0, -1.0] / width - begin) / widths

    # Choose a case for each block.
    positions, with_level = share_positions(scores), []
    for block in np.unique(ranked.blocks):
        in_block = ranked.blocks == block
        event = (
            positions[in_block],
            tolerances[in_block],
            begin[in_block],
            widths[in_block],
            floor[in_block],
            ceiling[in_block],
        )
        lower[in_block], upper[in_block], has_level = _nearest_case(*event, selected[in_block])
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
        by_threshold=np.zeros((1, len(with_level))),
        by_level=by_level,
        lower=lower,
        upper=upper,
        initial_aux=initial_levels,
        convex_means=convex_means,
    )


def _nearest_case(positions, tolerances, begin, widths, floor, ceiling, selected):
    """Bounds of the case for which the fewest samples change sides; whether it has a free level.

    To move a share across all of its interval, samples of weight `selected` change sides.
    """
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
