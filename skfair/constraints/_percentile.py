r"""Shares of events above thresholds, held between percentiles.

With a ramp of width s as a stand-in for the decision, the share of an event above a threshold is a
difference of two convex functions of scores and threshold ([1]_, Example D.3),

.. math::

    S_e(\theta) = \tfrac1s \bigl( P_e(\theta - \tfrac s2) - P_e(\theta + \tfrac s2) \bigr),

with the mean excesses P of `skfair.constraints._mean_excess`. A sigmoid is such a difference too,
of the functions in `skfair.constraints._mean_sigmoid`.

.. [1] Y. He, Y. Huang, Y. Yao and Q. Lin, "Enforcing fair predicted scores on intervals of
   percentiles by difference-of-convex constraints", arXiv:2505.12530, 2026.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.special import logit

from skfair.constraints._mean_excess import mean_excess
from skfair.constraints._mean_sigmoid import MeanSigmoid
from skfair.constraints._values import ConstraintValues, ScoreJacobian
from skfair.groups import Events

_ROUNDING = 0.05
_LEAST_SHARE = 1e-3
"""Smaller shares of a sigmoid are very far from its threshold."""


class Shape:
    """What stands for decisions: how it is made of convex functions.

    Parameters
    ----------
    parts : callable
        (members, scores, kinks, corner) -> `MeanExcess` or what has its methods.
    rounding : float
        Length of a corner, in units of the width.
    reach : callable
        By how much scores exceed a threshold that given shares are above, in units of the width.
    """

    def __init__(self, parts, rounding, reach):
        self.parts = parts
        self.rounding = rounding
        self.reach = reach


def _log_odds(shares):
    return logit(np.clip(shares, _LEAST_SHARE, 1 - _LEAST_SHARE)) / 4


SHAPES = {
    "ramp": Shape(mean_excess, _ROUNDING, lambda shares: shares - 0.5),
    "sigmoid": Shape(MeanSigmoid, 1.0, _log_odds),
}


def smooth_shares(members, scores, threshold, width, shape):
    """Shares of events above a threshold, counted by a stand-in for decisions.

    Parameters
    ----------
    members : Events
        Samples of each event.
    scores : ndarray of shape (n_samples,)
        Scores.
    threshold : float
        Where the stand-in is at one half.
    width : float
        Its width.
    shape : Shape
        What it is.

    Returns
    -------
    shares : ndarray of shape (n_events,)
    """
    kinks = threshold + width * np.array([-0.5, 0.5])
    parts = shape.parts(members, scores, kinks, shape.rounding * width)
    return parts.values @ [1.0, -1.0] / width


@dataclass(frozen=True, eq=False)
class PercentileConstraint:
    r"""Rows :math:`lower \le S(\theta_0 + Z a) - L a \le upper`, one per event and threshold.

    The auxiliary unknowns a move thresholds (Z), or the levels that the shares are held around (L):
    partial statistical parity has free thresholds, criteria at one threshold have a free level.

    Attributes
    ----------
    members : Events
        Samples of each event.
    width : float
        Width s of the ramp.
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
    rounding : float, default=0.05
        Share of the width over which each of the two corners is rounded; 0 is the ramp itself.
    parts : callable, default=mean_excess
        The convex functions whose difference the shares are, as in `Shape`.
    """

    members: Events
    width: float
    origin: np.ndarray
    by_threshold: np.ndarray
    by_level: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    initial_aux: Callable = field(repr=False)
    rounding: float = _ROUNDING
    parts: Callable = mean_excess

    draws_majorant = True

    @property
    def n_aux(self):
        """Number of auxiliary unknowns."""
        return self.by_threshold.shape[1]

    def shift(self, aux):
        """Value of the rows where all shares are 0, (n_rows,)."""
        return -self.by_level @ aux

    @property
    def aux_jacobian(self):
        """Derivative of `shift` by the auxiliary unknowns, (n_rows, n_aux)."""
        return -self.by_level

    def kinks(self, aux):
        """Where ramps begin, then where they end, (2 * n_thresholds,)."""
        thresholds = self.origin + self.by_threshold @ aux
        return np.concatenate((thresholds - self.width / 2, thresholds + self.width / 2))

    def excess(self, scores, aux):
        """Mean excesses over the kinks, as `MeanExcess`."""
        return self.parts(self.members, scores, self.kinks(aux), self.rounding * self.width)

    def shares(self, scores, aux):
        """Shares of the events above the thresholds, (n_events, n_thresholds)."""
        return self.excess(scores, aux).values @ np.subtract(*self.ends).T

    @cached_property
    def ends(self):
        """What each threshold's begin and end of the ramp take of the excesses over the kinks."""
        n = len(self.origin)
        return np.split(np.eye(2 * n) / self.width, [n])

    def __call__(self, scores, aux):
        """Rows and their derivatives, as `ConstraintValues`.

        Curvatures are those of the convex parts: of the two corners of a ramp, the one that the
        multiplier makes concave is left out, so that they are never negative. Samples around the
        other one take part too (see `skfair.constraints._mean_excess`). The exact ones are those of
        both corners, as long as these are.
        """
        excess, difference = self.excess(scores, aux), np.subtract(*self.ends)
        moved = -(excess.above @ difference.T)[:, :, np.newaxis] * self.by_threshold
        found = ConstraintValues(
            (excess.values @ difference.T).ravel() - self.by_level @ aux,
            ScoreJacobian(excess.by_scores(difference), excess.cells),
            moved.reshape(self.by_level.shape) - self.by_level,
            *self.curvatures(excess, difference, least=0.0),
        )

        def exact():
            curvature, aux_curvature = self.curvatures(excess.exact(), difference)
            return found._replace(curvature=curvature, aux_curvature=aux_curvature)

        return found._replace(exact=exact)

    def curvatures(self, excess, taken, least=-np.inf):
        """Curvatures by scores and by unknowns of ``v @ rows``.

        Parameters
        ----------
        excess : MeanExcess
            The convex functions.
        taken : ndarray of shape (n_rows_per_event, n_kinks)
            What the rows take of them.
        least : float, default=-inf
            Of what ``v @ rows`` takes of them; 0 leaves the concave parts out.

        Returns
        -------
        by_scores, by_unknowns : callable
            ``curvature`` and ``aux_curvature`` of `ConstraintValues`.
        """
        moves = np.vstack((self.by_threshold, self.by_threshold))  # of kinks by unknowns

        def weights(v):
            return np.maximum(least, v.reshape(self.members.n_events, -1) @ taken)

        def by_unknowns(v):
            combine, diagonal = excess.by_kinks(weights(v))
            return moves.T @ combine, (moves.T * diagonal) @ moves

        return lambda v: excess.curvature(weights(v)), by_unknowns

    def missed(self, scores):
        """What the shares lack of those of the decisions, for thresholds that do not move.

        Parameters
        ----------
        scores : ndarray of shape (n_samples,)
            Scores.

        Returns
        -------
        missed : ndarray of shape (n_rows,)
        """
        decided = self.members.means(scores[:, np.newaxis] > self.origin)
        return (decided - self.shares(scores, np.zeros(self.n_aux))).ravel()

    def shifted(self, missed):
        """The same rows, where something is added to the shares."""
        return replace(self, lower=self.lower - missed, upper=self.upper - missed)

    def majorant(self, scores, aux):
        """Convex rows that are nowhere easier to keep, and equal to these at the given point.

        Parameters
        ----------
        scores : ndarray of shape (n_samples,)
            Scores where concave parts are replaced by their tangents.
        aux : ndarray of shape (n_aux,)
            Auxiliary unknowns there.

        Returns
        -------
        majorant : ConvexPercentileConstraint
        """
        return ConvexPercentileConstraint(self, scores, aux)


@dataclass(frozen=True, eq=False)
class ConvexPercentileConstraint:
    r"""Percentile rows whose concave parts are replaced by tangents ([1]_, (31) and (32)).

    An upper bound has the row :math:`P(\text{begin}) - \bar P(\text{end})` and a lower bound
    :math:`\bar P(\text{begin}) - P(\text{end})`, each over s and minus the level, where
    :math:`\bar P` is the tangent of P at one point. For every event the rows of all upper bounds
    come first.

    Attributes
    ----------
    constraint : PercentileConstraint
        The rows to majorise.
    scores : ndarray of shape (n_samples,)
        Scores of the point.
    aux : ndarray of shape (n_aux,)
        Auxiliary unknowns of the point.

    References
    ----------
    .. [1] Y. He, Y. Huang, Y. Yao and Q. Lin, "Enforcing fair predicted scores on intervals of
       percentiles by difference-of-convex constraints", arXiv:2505.12530, 2026.
    """

    constraint: PercentileConstraint
    scores: np.ndarray
    aux: np.ndarray

    @property
    def n_aux(self):
        """Number of auxiliary unknowns."""
        return self.constraint.n_aux

    @property
    def lower(self):
        """Lower bounds of the rows, (n_rows,)."""
        return self._twice(np.full_like(self.constraint.lower, -np.inf), self.constraint.lower)

    @property
    def upper(self):
        """Upper bounds of the rows, (n_rows,)."""
        return self._twice(self.constraint.upper, np.full_like(self.constraint.upper, np.inf))

    def initial_aux(self, scores):
        """Unknowns of the point."""
        return self.aux

    def of_constraint(self, multipliers):
        """Multipliers of the rows that are majorised, from those of these rows.

        Parameters
        ----------
        multipliers : ndarray of shape (n_rows,)
            Of these rows.

        Returns
        -------
        multipliers : ndarray of shape (n_rows / 2,)
        """
        return multipliers.reshape(self.constraint.members.n_events, 2, -1).sum(axis=1).ravel()

    @property
    def events(self):
        """Events from each of which samples are drawn."""
        return self.constraint.members

    @property
    def n_events(self):
        """How many there are."""
        return self.events.n_events

    def _drawn(self, rows, start, n_per_event):
        """The rows on samples, of which those from `start` on were drawn from the events."""
        codes = np.full(len(rows), -1)
        codes[start : start + self.n_events * n_per_event] = np.repeat(
            np.arange(self.n_events), n_per_event
        )
        members = Events.disjoint(codes, self.n_events)
        return replace(
            self, constraint=replace(self.constraint, members=members), scores=self.scores[rows]
        )

    def _twice(self, of_upper, of_lower):
        """Rows of the upper and of the lower bounds, event by event."""
        n_events = self.constraint.members.n_events
        rows = (of_upper.reshape(n_events, -1), of_lower.reshape(n_events, -1))
        return np.concatenate(rows, axis=1).reshape(2 * of_upper.shape[0], *of_upper.shape[1:])

    @cached_property
    def _tangent(self):
        return self.constraint.excess(self.scores, self.aux)

    def __call__(self, scores, aux):
        """Rows and their derivatives, as `ConstraintValues`."""
        constraint, tangent = self.constraint, self._tangent
        excess = constraint.excess(scores, aux)
        begin, end = constraint.ends
        # What the rows of the upper, then of the lower bounds take of excesses and of tangents.
        of_excess, of_tangent = np.vstack((begin, -end)), np.vstack((-end, begin))
        lines = tangent.along(
            scores - self.scores, constraint.kinks(aux) - constraint.kinks(self.aux)
        )
        by_level = self._twice(constraint.by_level, constraint.by_level)
        above = excess.above @ of_excess.T + tangent.above @ of_tangent.T
        moved = -above[:, :, np.newaxis] * np.vstack((constraint.by_threshold,) * 2)
        combine = np.hstack((excess.by_scores(of_excess), tangent.by_scores(of_tangent)))
        curvature, by_unknowns = constraint.curvatures(excess, of_excess, least=0.0)

        def by_aux(v):
            mixed, hessian = by_unknowns(v)
            return np.pad(mixed, ((0, 0), (0, tangent.cells.shape[0]))), hessian

        return ConstraintValues(
            (excess.values @ of_excess.T + lines @ of_tangent.T).ravel() - by_level @ aux,
            ScoreJacobian(combine, sparse.vstack((excess.cells, tangent.cells), format="csr")),
            moved.reshape(by_level.shape) - by_level,
            curvature,
            by_aux,
        )
