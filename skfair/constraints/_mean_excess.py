r"""Mean excesses of events over kinks, the convex functions that percentile rows are made of.

.. math::

    P_e(\kappa) = \sum_{i \in e} \omega_i \, \varphi(h_i - \kappa), \qquad
    \varphi(x) = \begin{cases}
        0 & x \le -\tfrac\varepsilon2 \\
        (x + \tfrac\varepsilon2)^2 / (2 \varepsilon) & |x| \le \tfrac\varepsilon2 \\
        x & x \ge \tfrac\varepsilon2,
    \end{cases}

the positive part, its corner rounded over a length of :math:`\varepsilon` so that Newton's method
applies. Between neighbouring ends of corners everything is a polynomial of degree two in scores and
kinks: samples are sorted into such buckets once, and only sums over buckets are needed.

Short corners stay near the positive part, but hold few samples, others after every step. Curvatures
are therefore those of corners twice as long.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse


class MeanExcess(NamedTuple):
    r"""Mean excesses at given scores and kinks, with derivatives; made by `mean_excess`.

    Attributes
    ----------
    values : ndarray of shape (n_events, n_kinks)
        :math:`P_e(\kappa)`.
    above : ndarray of shape (n_events, n_kinks)
        Minus their derivative by the kink: the share of the event above it, corners in part.
    combine : ndarray of shape (n_kinks, 2 * n_buckets)
        How sums over the buckets of an event make up a derivative by the scores.
    cells : csr_array of shape (2 * n_events * n_buckets, n_samples)
        Sums over the cells, an event and a bucket: of shares, then (only where there are corners)
        of shares times scores.
    bends : ndarray of shape (n_kinks, n_buckets)
        Second derivative of the excess over a kink in each bucket, its corner twice as long:
        1 / (2 eps) inside.
    mass : ndarray of shape (n_events, n_buckets)
        Share of its event in each cell.
    """

    values: np.ndarray
    above: np.ndarray
    combine: np.ndarray
    cells: sparse.csr_array
    bends: np.ndarray
    mass: np.ndarray

    def by_scores(self, weights):
        """Rows of a derivative by the scores, as combinations of the cells.

        Parameters
        ----------
        weights : ndarray of shape (n_rows, n_kinks)
            What the rows of every event take of the excesses over the kinks.

        Returns
        -------
        combine : ndarray of shape (n_events * n_rows, n_cells)
            Event by event.
        """
        events = np.eye(len(self.mass))
        shares, scored = np.hsplit(weights @ self.combine, 2)
        return np.hstack((np.kron(events, shares), np.kron(events, scored)))

    def exact(self):
        """The same with curvatures of the corners as long as they are."""
        _, corners = np.hsplit(self.combine, 2)
        return self._replace(bends=corners)

    def along(self, scores, kinks):
        """Value of the tangent after a move.

        Parameters
        ----------
        scores : ndarray of shape (n_samples,)
            Move of the scores.
        kinks : ndarray of shape (n_kinks,)
            Move of the kinks.

        Returns
        -------
        values : ndarray of shape (n_events, n_kinks)
        """
        raised = self.by_scores(np.eye(len(kinks))) @ (self.cells @ scores)
        return self.values + raised.reshape(self.values.shape) - self.above * kinks

    def curvature(self, weights):
        """Second derivative of ``sum(weights * values)`` by each score, of longer corners.

        Parameters
        ----------
        weights : ndarray of shape (n_events, n_kinks)
            Weight of each excess.

        Returns
        -------
        curvature : ndarray of shape (n_samples,)
        """
        by_cell = (weights @ self.bends).ravel()
        return self.cells[: len(by_cell)].T @ by_cell

    def by_kinks(self, weights):
        """Second derivatives of ``sum(weights * values)`` that involve kinks, of longer corners.

        Parameters
        ----------
        weights : ndarray of shape (n_events, n_kinks)
            Weight of each excess.

        Returns
        -------
        combine : ndarray of shape (n_kinks, n_cells)
            Mixed derivatives by kinks and scores, as combinations of the cells.
        diagonal : ndarray of shape (n_kinks,)
            Second derivatives by each kink; those by two kinks are 0.
        """
        bent = weights.T[:, :, np.newaxis] * self.bends[:, np.newaxis, :]
        combine = -bent.reshape(len(bent), -1)
        return np.hstack((combine, np.zeros_like(combine))), np.einsum("keb,eb->k", bent, self.mass)


def mean_excess(events, scores, kinks, corner):
    """Evaluate the mean excesses of events over kinks in one pass over their members.

    Parameters
    ----------
    events : Events
        The events.
    scores : ndarray of shape (n_samples,)
        Scores h.
    kinks : ndarray of shape (n_kinks,)
        Kinks, in any order.
    corner : float
        Length over which corners are rounded; 0 leaves them sharp.

    Returns
    -------
    excess : MeanExcess
    """
    begins = kinks - corner / 2
    ends = np.concatenate([kinks + length * corner for length in (-1.0, -0.5, 0.5, 1.0)])
    ascending = np.argsort(ends, kind="stable")
    rank = np.empty_like(ascending)
    rank[ascending] = np.arange(len(ends))
    from skfair._kernels.percentile import sort_members

    indptr, order, moments = sort_members(
        scores, *events.memberships, ends[ascending], events.n_events
    )
    past = (np.arange(len(ends) + 1) > rank[:, np.newaxis]).reshape(4, len(kinks), -1)
    above = past[2].astype(float)
    corners = _over(past[1] & ~past[2], corner)
    mass, first, second = moments
    squares = second @ corners.T - 2 * begins * (first @ corners.T)
    squares += begins**2 * (mass @ corners.T)
    constant = above - corners * begins[:, np.newaxis]
    return MeanExcess(
        first @ above.T - kinks * (mass @ above.T) + squares / 2,
        mass @ constant.T + first @ corners.T,
        np.hstack((constant, corners)),
        _cells(events, scores, indptr, order, corners.any(axis=0)),
        _over(past[0] & ~past[3], 2 * corner),
        mass,
    )


def _over(inside, length):
    """One over a length inside of it; nothing is inside of a length of 0."""
    return inside / length if length > 0 else np.zeros(inside.shape)


def _cells(events, scores, indptr, order, has_corner):
    """Sums of shares over all cells, and of shares times scores over those with a corner."""
    samples, _, shares = events.memberships
    samples, shares = samples[order], shares[order]
    sizes = np.diff(indptr)
    kept = np.tile(has_corner, events.n_events)
    bent = np.repeat(kept, sizes)
    data = np.concatenate((shares, (shares * scores[samples])[bent]))
    indices = np.concatenate((samples, samples[bent]))
    starts = np.cumsum(np.concatenate(([0], sizes, sizes * kept)))
    shape = (2 * len(sizes), events.n_samples)
    return sparse.csr_array((data, indices, starts), shape=shape)
