"""Shares above many thresholds at once, of groups of which an interval of ranks counts."""

import numpy as np
from scipy import sparse, special

from skfair.inference._estimates import Estimates
from skfair.inference._limits import wilson


class Curves(Estimates):
    """Monotone functions of the shares of events above thresholds.

    A share and its limits are mapped alike, so that pointwise limits stay limits. At the one
    threshold at which two curves are truly furthest apart, the limit of this pair holds: no band
    around the whole curve is needed.

    Parameters
    ----------
    shares : ndarray of shape (n_events, n_thresholds)
        Share of each event above each threshold.
    sizes : ndarray of shape (n_events,)
        Effective number of people in each event.
    mapped : callable
        Ascending function of shares (n_events, n_thresholds) -> the same shape.
    is_counted : callable, default=None
        (low, high), limits of the shares, -> bool, (n_events, n_thresholds): whether the share may
        lie where it counts. None counts everywhere.
    """

    def __init__(self, shares, sizes, mapped, is_counted=None):
        self._shares, self._mapped, self._is_counted = shares, mapped, is_counted
        self._sizes = sizes[:, np.newaxis]
        self.values = mapped(shares).ravel()
        self.sizes = np.repeat(sizes, shares.shape[1])

    def _share_limits(self, level):
        return wilson(self._shares, self._sizes, special.ndtri(level))

    def limits(self, level):
        """Mapped limits of the shares, as in `Estimates.limits`."""
        return tuple(self._mapped(ends).ravel() for ends in self._share_limits(level))

    def upper(self, contrasts, level):
        """As `Estimates.upper`; 0 for pairs that count nowhere, for a tenth of the error.

        Parameters
        ----------
        contrasts, level
            As in `Estimates.upper`.

        Returns
        -------
        upper : ndarray of shape (n_contrasts,)
        """
        if self._is_counted is None:
            return super().upper(contrasts, level)
        error = 1.0 - level
        counted = self._is_counted(*self._share_limits(1.0 - error / 10.0)).ravel()
        found = super().upper(contrasts, 1.0 - 0.9 * error)
        return np.where(abs(contrasts) @ counted.astype(np.float64) > 0, found, 0.0)


def curve_pairs(blocks, n_events, n_thresholds, lag=0):
    """Every ordered pair of events of a block, at every threshold.

    Parameters
    ----------
    blocks : list of sequences of int
        Events compared with one another.
    n_events, n_thresholds : int
        Numbers of them.
    lag : int, default=0
        By how many thresholds the first of a pair goes ahead: where not every threshold is looked
        at, its share is the larger one between two of them.

    Returns
    -------
    contrasts : csr_array of shape (n_contrasts, n_events * n_thresholds)
    """
    pairs = [(a, b) for block in blocks for a in block for b in block if a != b]
    first, second = np.array(pairs, dtype=np.intp).reshape(-1, 2).T[:, :, np.newaxis]
    here = np.arange(n_thresholds)
    ahead = np.minimum(here + lag, n_thresholds - 1)
    columns = np.stack((first * n_thresholds + ahead, second * n_thresholds + here), axis=-1)
    n_contrasts = columns.size // 2
    rows = np.repeat(np.arange(n_contrasts), 2)
    factors = np.tile([1.0, -1.0], n_contrasts)
    shape = n_contrasts, n_events * n_thresholds
    return sparse.csr_array((factors, (rows, columns.ravel())), shape=shape)
