r"""Convex functions whose difference is the share of an event above a threshold.

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

from abc import ABC, abstractmethod
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import expit, logit

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

    rounding = 1.0
    """Length of a corner, in widths."""

    basis_adjoint = None
    """``basis_adjoint(v)`` is ``basis.T @ v``, where that is faster without the matrix."""

    @staticmethod
    @abstractmethod
    def inverse_surrogate(shares):
        """By how many widths equal scores exceed the threshold that given shares are above."""

    @abstractmethod
    def score_derivative(self, weights):
        """Rows of a derivative by the scores as combinations of the basis, event by event.

        `weights`, (n_rows, n_breakpoints), say what the rows of each event take of the means.
        """

    @abstractmethod
    def curvature(self, weights):
        """Second derivative of ``sum(weights * values)`` by each score, (n_samples,)."""

    @abstractmethod
    def breakpoint_second_derivatives(self, weights):
        """Second derivatives of ``sum(weights * values)`` that involve breakpoints.

        Mixed ones with scores as combinations of the basis, (n_breakpoints, n_sums), and those by
        each breakpoint, (n_breakpoints,); those by two breakpoints are 0.
        """

    def exact(self):
        """The same with exact curvatures, where they are others."""
        return self

    def evaluate_tangents(self, scores, breakpoints):
        """Values of the tangents after a move of scores and breakpoints."""
        raised = self.score_derivative(np.eye(len(breakpoints))) @ (self.basis @ scores)
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

    def __init__(self, events, scores, breakpoints, corner):
        # Sort the samples into buckets between the ends of corners, short and long ones.
        self.place_buckets(breakpoints, corner)
        samples, _, shares = events.memberships
        indptr, order, moments = sort_members(
            scores, *events.memberships, self.bounds, events.n_events
        )
        self.integrate_moments(moments)
        # Members bucket by bucket: their samples, shares and scores, and the sizes of the buckets.
        samples, shares = samples[order], shares[order]
        self._members = samples, shares, scores[samples], np.diff(indptr)
        self._n_samples = events.n_samples

    @classmethod
    def from_breakpoints(cls, breakpoints, corner):
        """The buckets alone, until `integrate_moments` has their moments; there is no basis."""
        buckets = cls.__new__(cls)
        buckets.place_buckets(breakpoints, corner)
        buckets.basis = None
        return buckets

    @cached_property
    def basis(self):
        """Sums of shares over all buckets, and of shares times scores over those with a corner."""
        samples, shares, scores, sizes = self._members
        has_corner = np.tile(self.has_corner, len(self.mass))
        in_corner = np.repeat(has_corner, sizes)
        # Sums of shares in the first rows; below them, where a corner needs them, of shares times
        # scores.
        data = np.concatenate((shares, (shares * scores)[in_corner]))
        indices = np.concatenate((samples, samples[in_corner]))
        starts = np.cumsum(np.concatenate(([0], sizes, sizes * has_corner)))
        return sparse.csr_array((data, indices, starts), shape=(2 * len(sizes), self._n_samples))

    def basis_adjoint(self, v):
        """Weights of the samples from those of the sums of the basis, or of its first half."""
        samples, shares, scores, sizes = self._members
        weights = np.repeat(v[: len(sizes)], sizes)
        if len(v) > len(sizes):
            weights += np.repeat(v[len(sizes) :], sizes) * scores
        return np.bincount(samples, weights * shares, minlength=self._n_samples)

    def place_buckets(self, breakpoints, corner):
        """Bounds of buckets, and the polynomials in them."""
        begins = breakpoints - corner / 2
        ends = np.concatenate([breakpoints + step * corner for step in (-1.0, -0.5, 0.5, 1.0)])
        ascending = np.argsort(ends, kind="stable")
        rank = np.empty_like(ascending)
        rank[ascending] = np.arange(len(ends))
        past = (np.arange(len(ends) + 1) > rank[:, np.newaxis]).reshape(4, len(breakpoints), -1)
        self.bounds, self.breakpoints, self.begins = ends[ascending], breakpoints, begins
        self.inside = past[2].astype(float), _per_length(past[1] & ~past[2], corner)
        self.has_corner = self.inside[1].any(axis=0)
        # Slope of a bucket's polynomial in the score: constant plus corners times score.
        above, corners = self.inside
        self.slope_coefficients = np.hstack((above - corners * begins[:, np.newaxis], corners))
        # Second derivatives of corners twice as long, as the class describes.
        self.curvatures = _per_length(past[0] & ~past[3], 2 * corner)

    def integrate_moments(self, moments):
        """Integrate the polynomial of each bucket: linear above a corner, quadratic inside."""
        (mass, first, second), (above, corners) = moments, self.inside
        squares = second @ corners.T - 2 * self.begins * (first @ corners.T)
        squares += self.begins**2 * (mass @ corners.T)
        constant, _ = np.hsplit(self.slope_coefficients, 2)
        self.values = first @ above.T - self.breakpoints * (mass @ above.T) + squares / 2
        self.above = mass @ constant.T + first @ corners.T
        self.mass = mass

    @staticmethod
    def inverse_surrogate(shares):
        return shares - 0.5

    def score_derivative(self, weights):
        n_events, n_buckets = self.mass.shape
        derivative = np.zeros((n_events, len(weights), 2, n_events, n_buckets))
        # Rows of an event are combinations of its own sums: of shares, and of shares times scores.
        each = np.arange(n_events)
        derivative[each, :, :, each] = (weights @ self.slope_coefficients).reshape(-1, 2, n_buckets)
        return derivative.reshape(n_events * len(weights), -1)

    def exact(self):
        exact = copy(self)
        _, exact.curvatures = np.hsplit(self.slope_coefficients, 2)
        return exact

    def curvature(self, weights):
        return self.basis_adjoint((weights @ self.curvatures).ravel())

    def breakpoint_second_derivatives(self, weights):
        weighted = weights.T[:, :, np.newaxis] * self.curvatures[:, np.newaxis, :]
        combine = -weighted.reshape(len(weighted), -1)
        diagonal = np.einsum("keb,eb->k", weighted, self.mass)
        return np.hstack((combine, np.zeros_like(combine))), diagonal


def _per_length(inside, length):
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

    def __init__(self, events, scores, breakpoints, width):
        samples, codes, shares = events.memberships
        begins = np.arange(len(breakpoints)) < len(breakpoints) / 2
        # Ramps begin and end half a width from the threshold, from which B and E measure.
        middles = breakpoints + np.where(begins, width / 2, -width / 2)
        distances = scores[samples, np.newaxis] - middles
        # Value and derivatives of each member by each breakpoint, weighted by its share.
        functions = _convex_sigmoids(distances, begins, width)
        value, slope, curvature = (entries * shares[:, np.newaxis] for entries in functions)
        shape = events.n_events, events.n_samples
        self.values = _event_sums(value, codes, events.n_events)
        self.above = _event_sums(slope, codes, events.n_events)
        self._curvatures = _summation_matrix(curvature, samples, codes, shape)
        self._by_event = _event_sums(curvature, codes, events.n_events)
        slopes = _summation_matrix(slope, samples, codes, shape)
        self.basis = sparse.vstack((slopes, self._curvatures), format="csr")

    @staticmethod
    def inverse_surrogate(shares):
        return logit(np.clip(shares, _MIN_SHARE, 1 - _MIN_SHARE)) / 4

    def score_derivative(self, weights):
        combine = np.kron(np.eye(len(self.values)), weights)
        return np.hstack((combine, np.zeros_like(combine)))

    def curvature(self, weights):
        return self._curvatures.T @ weights.ravel()

    def breakpoint_second_derivatives(self, weights):
        n_breakpoints = weights.shape[1]
        combine = -(weights.T[:, :, np.newaxis] * np.eye(n_breakpoints)[:, np.newaxis, :])
        combine = combine.reshape(n_breakpoints, -1)
        diagonal = (weights * self._by_event).sum(axis=0)
        return np.hstack((np.zeros_like(combine), combine)), diagonal


def sort_members(scores, samples, events, shares, bounds, n_events):
    """Members sorted into cells; a cell is an event and an interval between bounds, which ascend.

    Interval b holds the scores in (bounds[b - 1], bounds[b]]. Member m is the sample
    ``samples[m]`` in the event ``events[m]``. The cell of event e and interval b is ``e * n_buckets
    + b``. Returns where each cell starts (n_cells + 1,), the members cell by cell, and sums over
    each cell of the shares times powers 0, 1 and 2 of the scores, (3, n_events, n_buckets).
    """
    n_buckets, scores = len(bounds) + 1, scores[samples]
    n_cells = n_events * n_buckets
    cells = events * n_buckets + np.searchsorted(bounds, scores)
    indptr = np.append(0, np.cumsum(np.bincount(cells, minlength=n_cells)))
    # Short integers are sorted without comparisons.
    order = np.argsort(cells.astype(np.min_scalar_type(n_cells)), kind="stable")
    terms = shares, shares * scores, shares * scores * scores
    moments = [np.bincount(cells, term, n_cells) for term in terms]
    return indptr, order, np.reshape(moments, (3, n_events, n_buckets))


def _convex_sigmoids(x, begins, width):
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


def _event_sums(entries, codes, n_events):
    """Sums of the columns over events, (n_events, n_breakpoints)."""
    return np.array([np.bincount(codes, column, n_events) for column in entries.T]).T


def _summation_matrix(entries, samples, codes, shape):
    """Build the sparse matrix that adds each sample's entries at their event and breakpoint."""
    n_breakpoints = entries.shape[1]
    entry, column = entries.nonzero()
    rows = codes[entry] * n_breakpoints + column
    n_events, n_samples = shape
    values = entries[entry, column], (rows, samples[entry])
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
    def n_aux(self):
        """Number of auxiliary unknowns."""
        return self.original.n_aux

    @property
    def lower(self):
        """Lower bounds of the rows, (n_rows,)."""
        lower = self.original.lower
        return self._interleave(np.full_like(lower, -np.inf), lower)

    @property
    def upper(self):
        """Upper bounds of the rows, (n_rows,)."""
        # In each block the rows of the upper bounds come first, then those of the lower ones.
        upper = self.original.upper
        return self._interleave(upper, np.full_like(upper, np.inf))

    def _interleave(self, of_upper, of_lower):
        """Rows of the upper and of the lower bounds, block by block."""
        rows = of_upper.reshape(self.n_blocks, -1), of_lower.reshape(self.n_blocks, -1)
        return np.concatenate(rows, axis=1).reshape(2 * of_upper.shape[0], *of_upper.shape[1:])

    def initial_aux(self, scores):
        """Auxiliary unknowns of the point, (n_aux,)."""
        return self.aux

    def original_multipliers(self, multipliers):
        """Multipliers of the original rows from those of these rows, which majorise them."""
        # Multipliers of upper bounds are positive, those of lower bounds negative.
        return multipliers.reshape(self.n_blocks, 2, -1).sum(axis=1).ravel()

    @abstractmethod
    def __call__(self, scores, aux):
        """Rows and their derivatives, as `ConstraintValues`."""
