r"""The sigmoid as a difference of convex functions, for percentile rows.

With :math:`\sigma(x) = 1 / (1 + e^{-x})` and a width w, on which a line of its greatest slope rises
from 0 to 1, the share above a threshold is :math:`\sigma(4 x / w)` of the distance x to it. It is
convex below 0 and concave above, so that

.. math::

    w \, \sigma(4 x / w) = B(x) - E(x), \qquad
    B(x) = \begin{cases} w \, \sigma(4 x / w) & x \le 0 \\ w / 2 + x & x \ge 0, \end{cases} \qquad
    E(x) = B(x) - w \, \sigma(4 x / w)

are two convex functions, which take the places of the mean excesses over the beginning and the end
of a ramp. They are nearer to the sigmoid than those of [1]_ (Examples D.4 and D.6), which add and
subtract a multiple of the squared norm of all unknowns.

.. [1] Y. He, Y. Huang, Y. Yao and Q. Lin, "Enforcing fair predicted scores on intervals of
   percentiles by difference-of-convex constraints", arXiv:2505.12530, 2026.
"""

import numpy as np
from scipy import sparse
from scipy.special import expit


class MeanSigmoid:
    """Means of B, then of E, over events, at given scores and kinks, as `MeanExcess` has them.

    Parameters
    ----------
    events : Events
        The events.
    scores : ndarray of shape (n_samples,)
        Scores.
    kinks : ndarray of shape (2 * n_thresholds,)
        Thresholds less half a width, then thresholds and half a width.
    width : float
        Width w.
    """

    def __init__(self, events, scores, kinks, width):
        samples, codes, shares = events.memberships
        begins = np.arange(len(kinks)) < len(kinks) / 2
        middles = kinks + np.where(begins, width / 2, -width / 2)
        parts = _parts(scores[samples, np.newaxis] - middles, begins, width)
        value, slope, bend = (part * shares[:, np.newaxis] for part in parts)
        shape = events.n_events, events.n_samples
        self.values = _by_event(value, codes, events.n_events)
        self.above = _by_event(slope, codes, events.n_events)
        self._bends = _cells(bend, samples, codes, shape)
        self._bent = _by_event(bend, codes, events.n_events)
        self.cells = sparse.vstack(
            (_cells(slope, samples, codes, shape), self._bends), format="csr"
        )

    def by_scores(self, weights):
        """Rows of a derivative by the scores, as combinations of the cells."""
        combine = np.kron(np.eye(len(self.values)), weights)
        return np.hstack((combine, np.zeros_like(combine)))

    def exact(self):
        """The same: its curvatures are its own."""
        return self

    def along(self, scores, kinks):
        """Value of the tangent after a move of scores and kinks, (n_events, n_kinks)."""
        raised = self.cells[: self.values.size] @ scores
        return self.values + raised.reshape(self.values.shape) - self.above * kinks

    def curvature(self, weights):
        """Second derivative of ``sum(weights * values)`` by each score, (n_samples,)."""
        return self._bends.T @ weights.ravel()

    def by_kinks(self, weights):
        """Second derivatives of ``sum(weights * values)`` that involve kinks."""
        n_kinks = weights.shape[1]
        combine = -(weights.T[:, :, np.newaxis] * np.eye(n_kinks)[:, np.newaxis, :])
        combine = combine.reshape(n_kinks, -1)
        return np.hstack((np.zeros_like(combine), combine)), (weights * self._bent).sum(axis=0)


def _parts(x, begins, width):
    """Value, slope and curvature of B where a kink begins, of E where it ends."""
    share = expit(4 * x / width)
    rise = 4 * share * (1 - share)
    turn = 4 / width * rise * (1 - 2 * share)
    low = x <= 0
    B = (
        np.where(low, width * share, width / 2 + x),
        np.where(low, rise, 1.0),
        np.where(low, turn, 0.0),
    )
    smooth = width * share, rise, turn
    return [np.where(begins, b, b - s) for b, s in zip(B, smooth, strict=True)]


def _by_event(part, codes, n_events):
    """Sums of the columns over events, (n_events, n_kinks)."""
    return np.array([np.bincount(codes, column, n_events) for column in part.T]).T


def _cells(part, samples, codes, shape):
    """Sums over an event and a kink, (n_events * n_kinks, n_samples)."""
    n_kinks = part.shape[1]
    entry, kink = part.nonzero()
    rows = codes[entry] * n_kinks + kink
    n_events, n_samples = shape
    entries = part[entry, kink], (rows, samples[entry])
    return sparse.csr_array(entries, shape=(n_events * n_kinks, n_samples))
