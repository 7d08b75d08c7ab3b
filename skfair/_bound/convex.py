r"""Rows that are differences of convex functions: of shares above thresholds, and of pairs.

With a ramp of width s as a stand-in for the decision, the share of event e above a threshold
:math:`\theta` is ([1]_, Example D.3)

.. math::

    S_e(\theta) = \tfrac1s \bigl( P_e(\theta - \tfrac s2) - P_e(\theta + \tfrac s2) \bigr),
    \qquad P_e(\kappa) = \sum_{i \in e} \omega_i \, \varphi(h_i - \kappa),

where P is convex in scores and breakpoint: `MeanExcess`. A sigmoid is such a difference too, of two
other functions: `MeanSigmoid`.

.. [1] Y. He, Y. Huang, Y. Yao and Q. Lin, "Enforcing fair predicted scores on intervals of
   percentiles by difference-of-convex constraints", arXiv:2505.12530, 2026.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from scipy.special import expit, logit

from skfair._bound.rows import ConstraintValues, ScoreJacobian, batch_events
from skfair._groups.events import Events
from skfair._utils.arrays import SortedScores, shares_up_to_rank, taper_length

if TYPE_CHECKING:
    pass


_MIN_SHARE = 1e-3
"""Smaller shares of a sigmoid are very far from its threshold."""


class ConvexMeans(ABC):
    """Means over events of convex functions of ``score - breakpoint``, with derivatives.

    Breakpoints are thresholds less half a width, then thresholds plus half a width.

    Attributes
    ----------
    values : ndarray of shape (n_events, n_breakpoints)
        The means.
    above : ndarray of shape (n_events, n_breakpoints)
        Minus their derivative by the breakpoint: the share of the event above it, smoothed.
    basis : csr_array of shape (n_sums, n_samples)
        Sums of which all derivatives by scores are combinations.
    """

    values: np.ndarray
    above: np.ndarray
    basis: sparse.csr_array

    rounding = 1.0
    """Length of a corner, in widths."""

    basis_adjoint = None
    """``basis_adjoint(v)`` is ``basis.T @ v``, where that is faster without the matrix."""

    @staticmethod
    @abstractmethod
    def inverse_surrogate(shares: np.ndarray) -> np.ndarray:
        """By how many widths equal scores exceed the threshold that given shares are above."""

    @abstractmethod
    def score_derivative_coefficients(self, weights: np.ndarray) -> np.ndarray:
        """Rows of a derivative by the scores as combinations of the basis, event by event.

        `weights`, (n_rows, n_breakpoints), say what the rows of each event take of the means.
        """

    @abstractmethod
    def curvature(self, weights: np.ndarray) -> np.ndarray:
        """Second derivative of ``sum(weights * values)`` by each score, (n_samples,)."""

    @abstractmethod
    def breakpoint_second_derivatives(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Second derivatives of ``sum(weights * values)`` that involve breakpoints.

        Mixed ones with scores as combinations of the basis, (n_breakpoints, n_sums), and those by
        each breakpoint, (n_breakpoints,); those by two breakpoints are 0.
        """

    def exact(self) -> ConvexMeans:
        """The same with exact curvatures, where they are others."""
        return self

    def evaluate_tangents(self, scores: np.ndarray, breakpoints: np.ndarray) -> np.ndarray:
        """Values of the tangents after a move of scores and breakpoints."""
        raised = self.score_derivative_coefficients(np.eye(len(breakpoints))) @ (
            self.basis @ scores
        )
        return self.values + raised.reshape(self.values.shape) - self.above * breakpoints


class MeanExcess(ConvexMeans):
    r"""Mean excesses over breakpoints, whose difference is the share above a ramp.

    .. math::

        \varphi(x) = \begin{cases}
            0 & x \le -\tfrac\varepsilon2 \\
            (x + \tfrac\varepsilon2)^2 / (2 \varepsilon) & |x| \le \tfrac\varepsilon2 \\
            x & x \ge \tfrac\varepsilon2,
        \end{cases}

    the positive part, its corner rounded over a length of :math:`\varepsilon` so that Newton's
    method applies. Between neighbouring ends of corners everything is a polynomial of degree two in
    scores and breakpoints: samples are sorted into such buckets once, and only sums over buckets
    are needed.

    Short corners stay near the positive part, but hold few samples, others after every step.
    Curvatures are therefore those of corners twice as long.
    """

    rounding = 0.05

    def __init__(
        self, events: Events, scores: np.ndarray, breakpoints: np.ndarray, corner: float
    ) -> None:
        # Sort the samples into buckets between the ends of corners, short and long ones.
        self.place_buckets(breakpoints, corner)
        positions, _, shares = events.memberships
        indptr, order, moments = sort_members(
            scores, *events.memberships, self.bounds, events.n_events
        )
        self.integrate_moments(moments)
        # Members bucket by bucket: their samples, shares and scores, and the sizes of the buckets.
        positions = positions[order]
        shares = shares[order]
        self._members = positions, shares, scores[positions], np.diff(indptr)
        self._n_samples = events.n_samples

    @classmethod
    def from_breakpoints(cls, breakpoints: np.ndarray, corner: float) -> MeanExcess:
        """The buckets alone, until `integrate_moments` has their moments; there is no basis."""
        buckets = cls.__new__(cls)
        buckets.place_buckets(breakpoints, corner)
        buckets.basis = None
        return buckets

    @cached_property
    def basis(self) -> sparse.csr_array:
        """Sums of shares over all buckets, and of shares times scores over those with a corner."""
        positions, shares, scores, sizes = self._members
        has_corner = np.tile(self.has_corner, len(self.mass))
        in_corner = np.repeat(has_corner, sizes)
        # Sums of shares in the first rows; below them, where a corner needs them, of shares times
        # scores.
        entries = np.concatenate((shares, (shares * scores)[in_corner]))
        indices = np.concatenate((positions, positions[in_corner]))
        starts = np.cumsum(np.concatenate(([0], sizes, sizes * has_corner)))
        return sparse.csr_array((entries, indices, starts), shape=(2 * len(sizes), self._n_samples))

    def basis_adjoint(self, v: np.ndarray) -> np.ndarray:
        """Weights of the samples from those of the sums of the basis, or of its first half."""
        positions, shares, scores, sizes = self._members
        weights = np.repeat(v[: len(sizes)], sizes)
        if len(v) > len(sizes):
            weights += np.repeat(v[len(sizes) :], sizes) * scores
        return np.bincount(positions, weights * shares, minlength=self._n_samples)

    def place_buckets(self, breakpoints: np.ndarray, corner: float) -> None:
        """Bounds of buckets, and the polynomials in them."""
        begins = breakpoints - corner / 2
        ends = np.concatenate([breakpoints + step * corner for step in (-1.0, -0.5, 0.5, 1.0)])
        ascending = np.argsort(ends, kind="stable")
        rank = np.empty_like(ascending)
        rank[ascending] = np.arange(len(ends))
        past = (np.arange(len(ends) + 1) > rank[:, np.newaxis]).reshape(4, len(breakpoints), -1)
        self.bounds = ends[ascending]
        self.breakpoints = breakpoints
        self.begins = begins
        self.inside = past[2].astype(float), _per_length(past[1] & ~past[2], corner)
        self.has_corner = self.inside[1].any(axis=0)
        # Slope of a bucket's polynomial in the score: constant plus corners times score.
        above, corners = self.inside
        self.slope_coefficients = np.hstack((above - corners * begins[:, np.newaxis], corners))
        # Second derivatives of corners twice as long, as the class describes.
        self.curvatures = _per_length(past[0] & ~past[3], 2 * corner)

    def integrate_moments(self, moments: np.ndarray) -> None:
        """Integrate the polynomial of each bucket: linear above a corner, quadratic inside."""
        (mass, first, second) = moments
        (above, corners) = self.inside
        squares = second @ corners.T - 2 * self.begins * (first @ corners.T)
        squares += self.begins**2 * (mass @ corners.T)
        constant, _ = np.hsplit(self.slope_coefficients, 2)
        self.values = first @ above.T - self.breakpoints * (mass @ above.T) + squares / 2
        self.above = mass @ constant.T + first @ corners.T
        self.mass = mass

    @staticmethod
    def inverse_surrogate(shares: np.ndarray) -> np.ndarray:
        return shares - 0.5

    def score_derivative_coefficients(self, weights: np.ndarray) -> np.ndarray:
        n_events, n_buckets = self.mass.shape
        derivative = np.zeros((n_events, len(weights), 2, n_events, n_buckets))
        # Rows of an event are combinations of its own sums: of shares, and of shares times scores.
        each = np.arange(n_events)
        derivative[each, :, :, each] = (weights @ self.slope_coefficients).reshape(-1, 2, n_buckets)
        return derivative.reshape(n_events * len(weights), -1)

    def exact(self) -> MeanExcess:
        exact = copy(self)
        _, exact.curvatures = np.hsplit(self.slope_coefficients, 2)
        return exact

    def curvature(self, weights: np.ndarray) -> np.ndarray:
        return self.basis_adjoint((weights @ self.curvatures).ravel())

    def breakpoint_second_derivatives(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        weighted = weights.T[:, :, np.newaxis] * self.curvatures[:, np.newaxis, :]
        combine = -weighted.reshape(len(weighted), -1)
        diagonal = np.einsum("keb,eb->k", weighted, self.mass)
        return np.hstack((combine, np.zeros_like(combine))), diagonal


def _per_length(inside: np.ndarray, length: float) -> np.ndarray:
    """One over a length inside of it; a length of 0 has no inside."""
    return inside / length if length > 0 else np.zeros(inside.shape)


class MeanSigmoid(ConvexMeans):
    r"""Means of two functions whose difference is the share above a sigmoid.

    With :math:`\sigma(x) = 1 / (1 + e^{-x})` and a width w, on which a line of its greatest slope
    rises from 0 to 1, the share above a threshold is :math:`\sigma(4 x / w)` of the distance x to
    it. It is convex below 0 and concave above, so that

    .. math::

        w \, \sigma(4 x / w) = B(x) - E(x), \qquad
        B(x) = \begin{cases}
            w \, \sigma(4 x / w) & x \le 0 \\ w / 2 + x & x \ge 0,
        \end{cases} \qquad
        E(x) = B(x) - w \, \sigma(4 x / w)

    are two convex functions, which replace the mean excesses over the beginning and the end of a
    ramp. They are nearer to the sigmoid than those of [1]_ (Examples D.4 and D.6), which add and
    subtract a multiple of the squared norm of all unknowns.
    """

    def __init__(
        self, events: Events, scores: np.ndarray, breakpoints: np.ndarray, width: float
    ) -> None:
        positions, codes, shares = events.memberships
        begins = np.arange(len(breakpoints)) < len(breakpoints) / 2
        # Ramps begin and end half a width from the threshold, from which B and E measure.
        middles = breakpoints + np.where(begins, width / 2, -width / 2)
        distances = scores[positions, np.newaxis] - middles
        # Value and derivatives of each member by each breakpoint, weighted by its share.
        functions = _convex_sigmoids(distances, begins, width)
        value, slope, curvature = (entries * shares[:, np.newaxis] for entries in functions)
        shape = events.n_events, events.n_samples
        self.values = _event_sums(value, codes, events.n_events)
        self.above = _event_sums(slope, codes, events.n_events)
        self._curvatures = _summation_matrix(curvature, positions, codes, shape)
        self._by_event = _event_sums(curvature, codes, events.n_events)
        slopes = _summation_matrix(slope, positions, codes, shape)
        self.basis = sparse.vstack((slopes, self._curvatures), format="csr")

    @staticmethod
    def inverse_surrogate(shares: np.ndarray) -> np.ndarray:
        return logit(np.clip(shares, _MIN_SHARE, 1 - _MIN_SHARE)) / 4

    def score_derivative_coefficients(self, weights: np.ndarray) -> np.ndarray:
        combine = np.kron(np.eye(len(self.values)), weights)
        return np.hstack((combine, np.zeros_like(combine)))

    def curvature(self, weights: np.ndarray) -> np.ndarray:
        return self._curvatures.T @ weights.ravel()

    def breakpoint_second_derivatives(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        n_breakpoints = weights.shape[1]
        combine = -(weights.T[:, :, np.newaxis] * np.eye(n_breakpoints)[:, np.newaxis, :])
        combine = combine.reshape(n_breakpoints, -1)
        diagonal = (weights * self._by_event).sum(axis=0)
        return np.hstack((np.zeros_like(combine), combine)), diagonal


def sort_members(
    scores: np.ndarray,
    positions: np.ndarray,
    event_codes: np.ndarray,
    shares: np.ndarray,
    bounds: np.ndarray,
    n_events: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Members sorted into cells; a cell is an event and an interval between bounds, which ascend.

    Interval b holds the scores in (bounds[b - 1], bounds[b]]. Member m is the sample
    ``positions[m]`` in the event ``event_codes[m]``. The cell of event e and interval b is
    ``e * n_buckets + b``. Returns where each cell starts (n_cells + 1,), the members cell by cell,
    and sums over each cell of the shares times powers 0, 1 and 2 of the scores, (3, n_events,
    n_buckets).
    """
    n_buckets = len(bounds) + 1
    scores = scores[positions]
    n_cells = n_events * n_buckets
    cells = event_codes * n_buckets + np.searchsorted(bounds, scores)
    indptr = np.append(0, np.cumsum(np.bincount(cells, minlength=n_cells)))
    # Short integers are sorted without comparisons.
    order = np.argsort(cells.astype(np.min_scalar_type(n_cells)), kind="stable")
    terms = shares, shares * scores, shares * scores * scores
    moments = [np.bincount(cells, term, n_cells) for term in terms]
    return indptr, order, np.reshape(moments, (3, n_events, n_buckets))


def _convex_sigmoids(x: np.ndarray, begins: np.ndarray, width: float) -> list[np.ndarray]:
    """Value, slope and curvature of B where a ramp would begin, of E where it would end."""
    share = expit(4 * x / width)
    slope = 4 * share * (1 - share)
    curvature = 4 / width * slope * (1 - 2 * share)
    # B is convex: the sigmoid up to its inflection, continued by its tangent.
    low = x <= 0
    B = (
        np.where(low, width * share, width / 2 + x),
        np.where(low, slope, 1.0),
        np.where(low, curvature, 0.0),
    )
    sigmoid = width * share, slope, curvature
    return [np.where(begins, b, b - s) for b, s in zip(B, sigmoid, strict=True)]


def _event_sums(entries: np.ndarray, codes: np.ndarray, n_events: int) -> np.ndarray:
    """Sums of the columns over events, (n_events, n_breakpoints)."""
    return np.array([np.bincount(codes, column, n_events) for column in entries.T]).T


def _summation_matrix(
    entries: np.ndarray, positions: np.ndarray, codes: np.ndarray, shape: tuple[int, ...]
) -> sparse.csr_array:
    """Build the sparse matrix that adds each sample's entries at their event and breakpoint."""
    n_breakpoints = entries.shape[1]
    entry, column = entries.nonzero()
    rows = codes[entry] * n_breakpoints + column
    n_events, n_samples = shape
    values = entries[entry, column], (rows, positions[entry])
    return sparse.csr_array(values, shape=(n_events * n_breakpoints, n_samples))


CONVEX_MEANS = {"ramp": MeanExcess, "sigmoid": MeanSigmoid}
"""Stand-ins for decisions by name."""


# Convex majorants of rows that are differences of convex functions.


@dataclass(frozen=True, eq=False)
class Majorant(ABC):
    """Rows whose concave parts are replaced by their tangents at one point.

    Each original row becomes two: one for its upper and one for its lower bound. Original rows come
    in blocks of equal length; of each block the rows of all upper bounds come first.
    """

    original: Any
    scores: np.ndarray
    aux: np.ndarray

    n_blocks = 1

    @property
    def n_aux(self) -> int:
        """Number of auxiliary unknowns."""
        return self.original.n_aux

    @property
    def lower(self) -> np.ndarray:
        """Lower bounds of the rows, (n_rows,)."""
        lower = self.original.lower
        return self._interleave(np.full_like(lower, -np.inf), lower)

    @property
    def upper(self) -> np.ndarray:
        """Upper bounds of the rows, (n_rows,)."""
        # In each block the rows of the upper bounds come first, then those of the lower ones.
        upper = self.original.upper
        return self._interleave(upper, np.full_like(upper, np.inf))

    def _interleave(self, of_upper: np.ndarray, of_lower: np.ndarray) -> np.ndarray:
        """Rows of the upper and of the lower bounds, block by block."""
        rows = of_upper.reshape(self.n_blocks, -1), of_lower.reshape(self.n_blocks, -1)
        return np.concatenate(rows, axis=1).reshape(2 * of_upper.shape[0], *of_upper.shape[1:])

    def initial_aux(self, scores: np.ndarray) -> np.ndarray:
        """Auxiliary unknowns of the point, (n_aux,)."""
        return self.aux

    def original_multipliers(self, multipliers: np.ndarray) -> np.ndarray:
        """Multipliers of the original rows from those of these rows, which majorise them."""
        # Multipliers of upper bounds are positive, those of lower bounds negative.
        return multipliers.reshape(self.n_blocks, 2, -1).sum(axis=1).ravel()

    @abstractmethod
    def __call__(self, scores: np.ndarray, aux: np.ndarray) -> ConstraintValues:
        """Rows and their derivatives, as `ConstraintValues`."""


# Rows that bound shares of events above thresholds.


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
    convex_means: type[Any] = MeanExcess

    has_batch_majorant = True
    """Whether the majorant is a mean over samples, of which mini-batches can be drawn."""

    @property
    def n_aux(self) -> int:
        """Number of auxiliary unknowns."""
        return self.threshold_jacobian.shape[1]

    def constant_term(self, aux: np.ndarray) -> np.ndarray:
        """Value of the rows where all shares are 0, (n_rows,)."""
        return self.aux_jacobian @ aux

    def breakpoints(self, aux: np.ndarray) -> np.ndarray:
        """Where ramps begin, then where they end, (2 * n_thresholds,)."""
        thresholds = self.origin + self.threshold_jacobian @ aux
        return np.concatenate((thresholds - self.width / 2, thresholds + self.width / 2))

    def convex_at(self, scores: np.ndarray, aux: np.ndarray) -> ConvexMeans:
        """The convex functions of which shares are differences, as `ConvexMeans`."""
        corner = self.convex_means.rounding * self.width
        return self.convex_means(self.events, scores, self.breakpoints(aux), corner)

    def shares(self, scores: np.ndarray, aux: np.ndarray) -> np.ndarray:
        """Shares of the events above the thresholds, (n_events, n_thresholds)."""
        return self.convex_at(scores, aux).values @ np.subtract(*self.ramp_factors).T

    @cached_property
    def ramp_factors(self) -> list[np.ndarray]:
        """Matrices that pick the convex functions where each ramp begins, and where it ends."""
        n = len(self.origin)
        return np.split(np.eye(2 * n) / self.width, [n])

    def __call__(self, scores: np.ndarray, aux: np.ndarray) -> ConstraintValues:
        """Rows and their derivatives, as `ConstraintValues`.

        Curvatures are those of the convex parts: of the two corners of a ramp, the one that the
        multiplier makes concave is left out, so that they are never negative. Samples around the
        other one count too (see `MeanExcess`). The exact ones are those of both corners.
        """
        return self.evaluate_convex(self.convex_at(scores, aux), aux)

    def evaluate_convex(self, convex: ConvexMeans, aux: np.ndarray) -> ConstraintValues:
        """The same from `ConvexMeans`."""
        # Values and slopes: shares are differences of convex functions at both ends of a ramp.
        difference = np.subtract(*self.ramp_factors)
        # A threshold that rises moves both ends of its ramp, and lowers the share.
        moved = -(convex.above @ difference.T)[:, :, np.newaxis] * self.threshold_jacobian
        curvature, aux_curvature = _curvatures(self, convex, difference, minimum=0.0)
        values = ConstraintValues(
            values=(convex.values @ difference.T).ravel() + self.constant_term(aux),
            jacobian=ScoreJacobian(
                convex.score_derivative_coefficients(difference),
                lambda: convex.basis,
                convex.basis_adjoint,
            ),
            aux_jacobian=moved.reshape(self.aux_jacobian.shape) + self.aux_jacobian,
            curvature=curvature,
            aux_curvature=aux_curvature,
        )

        def exact() -> ConstraintValues:
            curvature, aux_curvature = _curvatures(self, convex.exact(), difference)
            return values._replace(curvature=curvature, aux_curvature=aux_curvature)

        return values._replace(exact=exact)

    def residual(self, scores: np.ndarray) -> np.ndarray:
        """Shares of decisions at the origin less smooth ones, (n_rows,)."""
        exact = self.events.means(scores[:, np.newaxis] > self.origin)
        return (exact - self.shares(scores, np.zeros(self.n_aux))).ravel()

    def majorant(self, scores: np.ndarray, aux: np.ndarray) -> ShareMajorant:
        """Convex rows that are nowhere easier to keep, and equal to these at the given point."""
        return ShareMajorant(self, scores, aux)


def _curvatures(
    rows: ShareRows, convex: ConvexMeans, factors: np.ndarray, minimum: float = -np.inf
) -> tuple[Callable, Callable]:
    """Curvatures of `ShareRows` by scores and by unknowns, as in `ConstraintValues`.

    `factors`, (n_rows_per_event, n_breakpoints), are those of the convex functions in the rows of
    each event. A `minimum` of 0 for their factors in ``v @ rows`` leaves concave parts out.
    """
    # of breakpoints by unknowns
    moves = np.vstack((rows.threshold_jacobian, rows.threshold_jacobian))

    def weights(v: np.ndarray) -> np.ndarray:
        # Convexified: negative weights belong to the subtracted functions, whose curvature is
        # left out.
        return np.maximum(minimum, v.reshape(rows.events.n_events, -1) @ factors)

    def aux_curvature(v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        combine, diagonal = convex.breakpoint_second_derivatives(weights(v))
        return moves.T @ combine, (moves.T * diagonal) @ moves

    return lambda v: convex.curvature(weights(v)), aux_curvature


def place_buckets(rows: ShareRows, aux: np.ndarray) -> MeanExcess | None:
    """Buckets of scores without samples, as `MeanExcess`; None where rows have no disjoint ones."""
    is_ramp = getattr(rows, "convex_means", None) is MeanExcess
    if not is_ramp or rows.events.codes_and_mean_weights is None:
        return None
    return MeanExcess.from_breakpoints(rows.breakpoints(aux), MeanExcess.rounding * rows.width)


def bucket_curvatures(
    rows: ShareRows, buckets: MeanExcess, v: np.ndarray, is_exact: bool
) -> np.ndarray:
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
    def n_blocks(self) -> int:
        """Number of blocks of rows, one per event."""
        return self.n_events

    @property
    def events(self) -> Events:
        """Events from each of which samples are drawn."""
        return self.original.events

    @property
    def n_events(self) -> int:
        """Number of events."""
        return self.events.n_events

    def take_batch(self, positions: np.ndarray, first: int, n_per_event: int) -> ShareMajorant:
        """The rows on drawn samples, of which those from `first` on come from the events."""
        events, _ = batch_events(len(positions), first, self.n_events, n_per_event)
        original = replace(self.original, events=events)
        return replace(self, original=original, scores=self.scores[positions])

    @cached_property
    def _tangent(self) -> ConvexMeans:
        """The convex functions at the point."""
        return self.original.convex_at(self.scores, self.aux)

    def __call__(self, scores: np.ndarray, aux: np.ndarray) -> ConstraintValues:
        """Rows and their derivatives, as `ConstraintValues`."""
        original = self.original
        tangent = self._tangent
        convex = original.convex_at(scores, aux)
        begin, end = original.ramp_factors
        # Factors of functions and of tangents in the rows of the upper, then of the lower bounds.
        of_convex = np.vstack((begin, -end))
        of_tangent = np.vstack((-end, begin))
        moves = original.breakpoints(aux) - original.breakpoints(self.aux)
        # Tangents of the concave parts, in scores and breakpoints.
        lines = tangent.evaluate_tangents(scores - self.scores, moves)
        by_level = self._interleave(original.aux_jacobian, original.aux_jacobian)
        above = convex.above @ of_convex.T + tangent.above @ of_tangent.T
        moved = -above[:, :, np.newaxis] * np.vstack((original.threshold_jacobian,) * 2)
        combine = np.hstack(
            (
                convex.score_derivative_coefficients(of_convex),
                tangent.score_derivative_coefficients(of_tangent),
            )
        )
        curvature, convex_aux_curvature = _curvatures(original, convex, of_convex, minimum=0.0)

        def aux_curvature(v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
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


# Rows that bound the probability that members of one group score above those of another.
#
# A ramp of a difference of two scores is a difference of two positive parts, so a mean ramp over
# pairs is a difference of mean excesses of one group's scores over those of another.


class RankedMembers:
    """Members of a group by ascending score, with weights; those without weight are left out."""

    def __init__(self, positions: np.ndarray, scores: np.ndarray, weights: np.ndarray) -> None:
        # Smaller shares of a group are rounding.
        has_weight = weights > 1e-12
        self.positions = positions[has_weight]
        self.scores = scores[has_weight]
        self.weights = weights[has_weight]


class Ranking:
    """A group by ascending score, with the weights of those in an interval of ranks.

    Ties are broken, so that weights depend on ranks alone.
    """

    def __init__(
        self, pairs: np.ndarray, positions: np.ndarray, shares: np.ndarray, scores: np.ndarray
    ) -> None:
        # Weights by rank, which taper off at the ends of each pair.
        ascending = np.argsort(scores[positions], kind="stable")
        self.positions = positions[ascending]
        self.scores = scores[self.positions]
        width = float(np.diff(pairs).sum())
        self._all = shares[ascending] * (len(pairs) / width)
        self._before: list[np.ndarray] = []  # up to the beginnings, and up to the ends of the pairs
        for ranks in pairs.T:
            # The ends of an interval taper off over a tenth of its width.
            top = [
                shares_up_to_rank(shares[ascending][::-1], rank, taper_length(rank, 0.1 * width))[
                    ::-1
                ]
                for rank in ranks
            ]
            self._before.append(np.asarray(sum(top) / width))

    def members_inside(self) -> RankedMembers:
        """Members in the interval, with weights that sum to 1."""
        begin, end = self._before
        return RankedMembers(self.positions, self.scores, end - begin)

    def members_before(self, boundary: int) -> RankedMembers:
        """Members that rank before the interval begins (boundary 0) or before it ends (1)."""
        return RankedMembers(self.positions, self.scores, self._before[boundary])

    def members_after(self, boundary: int) -> RankedMembers:
        """Members that rank after the interval begins (boundary 0) or after it ends (1)."""
        return RankedMembers(self.positions, self.scores, self._all - self._before[boundary])


@dataclass(eq=False)
class PairExcess:
    r"""The function :math:`\sum_{ij} a_i b_j \max(0, h_i - h_j + shift) / width` of the scores.

    `one` and `other` are `RankedMembers` with the weights a and b.
    """

    one: RankedMembers
    other: RankedMembers
    shift: float
    width: float

    def __post_init__(self) -> None:
        one = self.one
        other = self.other
        shift = self.shift
        width = self.width
        # Each member of the one group gains on those of the other within the shift.
        below, excess, _ = SortedScores(other.scores, other.weights).sums_below(one.scores + shift)
        above, _, _ = SortedScores(-one.scores[::-1], one.weights[::-1]).sums_below(
            shift - other.scores
        )
        self.value = float(one.weights @ excess) / width
        self.positions = np.concatenate((one.positions, other.positions))
        self.slopes = np.concatenate((one.weights * below, -other.weights * above)) / width

    def curvatures(self) -> np.ndarray:
        """Curvatures by the scores of `positions`, which lie above those by differences."""
        one = self.one
        other = self.other
        # The density of scores is averaged over a twentieth of the ramp to either side.
        reach = 0.05 * self.width
        of_one = one.weights * _density(one.scores + self.shift, other, reach)
        of_other = other.weights * _density(other.scores - self.shift, one, reach)
        return 2.0 * np.concatenate((of_one, of_other)) / self.width

    def tangent_after_move(self, moved: np.ndarray) -> PairExcess:
        """The tangent after a move of all scores: the same slopes, and another value."""
        tangent = copy(self)
        tangent.value += float(self.slopes @ moved[self.positions])
        return tangent


def split_ramp(
    one: Ranking, other: Ranking, width: float
) -> tuple[list[PairExcess], list[PairExcess]]:
    """Convex functions that are added, and subtracted, to make the mean ramp of two rankings."""
    added: list = []
    subtracted: list = []
    for end, after_end, corner in product((0, 1), repeat=3):
        # The interval is what ranks before its end but not before its beginning; or the other way
        # round what ranks after. A ramp rises where it begins and ceases to where it ends.
        is_added = (end == 1) == ((after_end == 0) == (corner == 0))
        firsts = one.members_before(end)
        lasts = other.members_after(after_end)
        if len(firsts.positions) and len(lasts.positions):
            shift = (0.5 - corner) * width
            (added if is_added else subtracted).append(PairExcess(firsts, lasts, shift, width))
    return added, subtracted


def _density(points: np.ndarray, members: RankedMembers, reach: float) -> np.ndarray:
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
    def pairs(self) -> list[tuple[int, int]]:
        """Pairs of groups, one per row."""
        return list(combinations(range(self.events.n_events), 2))

    @property
    def lower(self) -> np.ndarray:
        """Lower bounds of the rows, (n_rows,)."""
        return np.full(len(self.pairs), 0.5 - self.tolerance)

    @property
    def upper(self) -> np.ndarray:
        """Upper bounds of the rows, (n_rows,)."""
        return np.full(len(self.pairs), 0.5 + self.tolerance)

    def initial_aux(self, scores: np.ndarray) -> np.ndarray:
        """No unknowns."""
        return np.empty(0)

    def _rankings(self, scores: np.ndarray) -> list[Ranking]:
        """Every group in the order of its scores."""
        return [
            Ranking(pairs, *self.events.members(group), scores)
            for group, pairs in enumerate(self.group_intervals)
        ]

    def __call__(self, scores: np.ndarray, aux: np.ndarray) -> ConstraintValues:
        r"""Rows and their derivatives, as `ConstraintValues`.

        Of the curvature only that of the ramp's convex corner is taken. It is one of differences of
        two scores; by :math:`(a - b)^2 \le 2 a^2 + 2 b^2` a curvature of single ones lies above it.
        """
        rankings = self._rankings(scores)
        half = self.width / 2
        selected = [ranking.members_inside() for ranking in rankings]
        corners = [
            [PairExcess(selected[k], selected[j], shift, self.width) for shift in (half, -half)]
            for k, j in self.pairs
        ]

        def curvature(v: np.ndarray) -> np.ndarray:
            # The ramp's convex corner is where it begins, or where it ends if it counts negatively.
            convex = [
                (abs(weight), [begin_and_end[int(weight < 0)]])
                for weight, begin_and_end in zip(v, corners, strict=True)
            ]
            return _sum_curvatures(convex, scores)

        return _make_values([([begin], [end]) for begin, end in corners], len(scores), curvature)

    def majorant(self, scores: np.ndarray, aux: np.ndarray) -> PairMajorant:
        """Convex rows that are nowhere easier to keep, and equal to these at the given point."""
        return PairMajorant(self, scores, aux)

    def convex_parts(self, scores: np.ndarray) -> list[tuple[list, list]]:
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
    def _parts_at_point(self) -> list[tuple[list, list]]:
        """The convex parts at the point."""
        return self.original.convex_parts(self.scores)

    def __call__(self, scores: np.ndarray, aux: np.ndarray) -> ConstraintValues:
        """Rows and their derivatives, as `ConstraintValues`."""
        parts = self.original.convex_parts(scores)
        moved = scores - self.scores
        lines = [
            tuple([one.tangent_after_move(moved) for one in functions] for functions in row)
            for row in self._parts_at_point
        ]
        pairs = list(zip(parts, lines, strict=True))
        # Upper bounds keep what is added, lower bounds what is subtracted.
        upper = [(added, line) for (added, _), (_, line) in pairs]
        lower = [(line, subtracted) for (_, subtracted), (line, _) in pairs]

        def curvature(v: np.ndarray) -> np.ndarray:
            of_upper, of_lower = np.reshape(v, (2, -1))
            active = [(weight, up) for weight, (up, _) in zip(of_upper, upper, strict=True)]
            active += [(-weight, down) for weight, (_, down) in zip(of_lower, lower, strict=True)]
            return _sum_curvatures(active, scores)

        return _make_values(upper + lower, len(scores), curvature)


def _make_values(functions: list, n_samples: int, curvature: Callable) -> ConstraintValues:
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
    rows = np.repeat([row for row, _, _ in signed], [len(one.positions) for _, _, one in signed])
    none = np.empty(0)
    columns = np.concatenate([none.astype(int), *(one.positions for _, _, one in signed)])
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


def _sum_curvatures(weighted: list[tuple[float, list]], scores: np.ndarray) -> np.ndarray:
    """Curvature by each score of functions with weights, of which negative ones are left out."""
    curvature = np.zeros(len(scores))
    for weight, functions in weighted:
        for one in functions if weight > 0.0 else ():
            np.add.at(curvature, one.positions, weight * one.curvatures())
    return curvature
