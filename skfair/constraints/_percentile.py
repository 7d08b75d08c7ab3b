r"""Shares of events above thresholds, held between percentiles.

With the ramp of width s as a stand-in for the decision, the share of an event e above a threshold
is a difference of two mean excesses, both convex in scores and kinks:

.. math::

    S_e(\theta) = \tfrac1s \bigl( P_e(\theta - \tfrac s2) - P_e(\theta + \tfrac s2) \bigr),
    \qquad P_e(\kappa) = \sum_{i \in e} \omega_i (h_i - \kappa)_+ .

Between two neighbouring kinks nothing changes but by sums, so that samples are sorted into cells
once and rows, Jacobians and convex majorants are small products.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse

from skfair._kernels.percentile import sort_members
from skfair.constraints._bound import ConstraintValues, ScoreJacobian

_THRESHOLD_CURVATURE = 1e-2
"""Keeps thresholds near where the rows were linearised, in the absence of curvature of their own."""


@dataclass(frozen=True, eq=False)
class Members:
    """Who belongs to which event, one entry per sample and event.

    Attributes
    ----------
    samples : ndarray of intp, shape (n_members,)
        Position of the sample.
    events : ndarray of intp, shape (n_members,)
        Event it belongs to.
    shares : ndarray of shape (n_members,)
        Its share of the weight of the event; they sum to 1 per event.
    n_events, n_samples : int
        Number of events and of samples.
    """

    samples: np.ndarray
    events: np.ndarray
    shares: np.ndarray
    n_events: int
    n_samples: int

    @classmethod
    def of(cls, membership, weights):
        """Members of the columns of a membership matrix.

        Parameters
        ----------
        membership : sparse array of bool, shape (n_samples, n_events)
            Whether a sample belongs to an event.
        weights : ndarray of shape (n_samples,)
            Positive sample weights.
        """
        entries = sparse.coo_array(membership)
        samples, events = (axis.astype(np.intp) for axis in entries.coords)
        totals = np.bincount(events, weights[samples], minlength=membership.shape[1])
        shares = weights[samples] / totals[events]
        return cls(samples, events, shares, membership.shape[1], membership.shape[0])

    def quantiles(self, scores, levels):
        """Scores that a share of each event exceeds.

        Parameters
        ----------
        scores : ndarray of shape (n_samples,)
            Scores.
        levels : ndarray of shape (n_events, n_levels)
            Shares in [0, 1].

        Returns
        -------
        quantiles : ndarray of shape (n_events, n_levels)
        """
        found = np.empty(levels.shape)
        for event in range(self.n_events):
            inside = np.flatnonzero(self.events == event)
            descending = inside[np.argsort(-scores[self.samples[inside]], kind="stable")]
            shares = np.cumsum(self.shares[descending]) - self.shares[descending] / 2
            found[event] = np.interp(levels[event], shares, scores[self.samples[descending]])
        return found

    def partition(self, scores, kinks):
        """Sort the members into cells between the kinks.

        Parameters
        ----------
        scores : ndarray of shape (n_samples,)
            Scores.
        kinks : ndarray of shape (n_kinks,)
            Thresholds, in any order.

        Returns
        -------
        partition : Partition
        """
        rank = np.empty(len(kinks), dtype=np.intp)
        ascending = np.argsort(kinks, kind="stable")
        rank[ascending] = np.arange(len(kinks))
        indptr, order, mass = sort_members(
            scores, self.samples, self.events, self.shares, kinks[ascending], self.n_events
        )
        entries = (self.shares[order], self.samples[order], indptr)
        cells = sparse.csr_array(entries, shape=(mass.size, self.n_samples))
        above = np.arange(mass.shape[1]) > rank[:, np.newaxis]
        return Partition(cells, mass, above.astype(np.float64))


class Partition(NamedTuple):
    """Members in cells, made by `Members.partition` at some scores and kinks.

    Attributes
    ----------
    cells : csr_array of shape (n_events * n_buckets, n_samples)
        Share of each member in its cell.
    mass : ndarray of shape (n_events, n_buckets)
        Their sums.
    above : ndarray of shape (n_kinks, n_buckets)
        1 where a bucket lies above a kink, else 0.
    """

    cells: sparse.csr_array
    mass: np.ndarray
    above: np.ndarray

    def excess(self, scores, kinks):
        """Mean excess over each kink of the members that were above it, (n_events, n_kinks).

        Exact where the partition was made, linear in scores and kinks elsewhere: the tangent.
        """
        moments = (self.cells @ scores).reshape(self.mass.shape)
        return moments @ self.above.T - kinks * (self.mass @ self.above.T)


@dataclass(frozen=True, eq=False)
class PercentileConstraint:
    r"""Rows :math:`lower \le S(\theta_0 + Z a) - L a \le upper`, one per event and threshold.

    Thresholds depend linearly on the auxiliary unknowns a, and so do levels which a share is held
    around: partial statistical parity frees the thresholds (Z = 1, L = 0), the criteria at one
    threshold free the level (Z = 0).

    Attributes
    ----------
    members : Members
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
    """

    members: Members
    width: float
    origin: np.ndarray
    by_threshold: np.ndarray
    by_level: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    initial_aux: object

    aux_curvature = _THRESHOLD_CURVATURE

    @property
    def n_aux(self):
        """Number of auxiliary unknowns."""
        return self.by_threshold.shape[1]

    def kinks(self, aux):
        """Where ramps begin, then where they end, (2 * n_thresholds,)."""
        thresholds = self.origin + self.by_threshold @ aux
        return np.concatenate((thresholds - self.width / 2, thresholds + self.width / 2))

    def __call__(self, scores, aux):
        """Rows and their derivatives, as `ConstraintValues`."""
        kinks = self.kinks(aux)
        partition = self.members.partition(scores, kinks)
        begin, end = np.hsplit(partition.excess(scores, kinks) / self.width, 2)
        rising = np.subtract(*np.vsplit(partition.above, 2)) / self.width
        by_threshold = self._by_threshold(partition.mass @ rising.T)
        return ConstraintValues(
            (begin - end).ravel() - self.by_level @ aux,
            ScoreJacobian(self._by_event(rising), partition.cells),
            by_threshold - self.by_level,
            lambda v: np.zeros(self.members.n_samples),
        )

    def _by_event(self, buckets):
        """Rows by cells, from rows by buckets that are the same for all events."""
        return np.kron(np.eye(self.members.n_events), buckets)

    def _by_threshold(self, density):
        """Derivative of the rows by the unknowns through the thresholds, which lower the shares."""
        return -(density[:, :, np.newaxis] * self.by_threshold).reshape(self.by_level.shape)
