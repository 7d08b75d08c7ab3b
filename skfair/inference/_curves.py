"""Shares of groups above many thresholds, compared on an interval of ranks."""

import numpy as np
from scipy import sparse

from skfair.inference._estimates import Estimates
from skfair.inference._limits import rate_limits


class Curves(Estimates):
    """Monotone functions of the shares of events above thresholds.

    Shares and their limits are transformed by the same ascending function `transform`, so that
    pointwise limits stay limits. At the threshold of the largest true difference of two curves the
    limit of this pair holds: no confidence band of the whole curve is needed.

    `shares` has shape (n_events, n_thresholds), `sizes`, the effective sample sizes, (n_events,).
    `is_counted` maps the lower and upper limits of the shares to a mask of where the difference
    may count; None counts everywhere.
    """

    def __init__(self, shares, sizes, transform, is_counted=None):
        self._shares, self._transform, self._is_counted = shares, transform, is_counted
        self._sizes = sizes[:, np.newaxis]
        self.values = transform(shares).ravel()
        self.sizes = np.repeat(sizes, shares.shape[1])

    def _share_limits(self, level):
        """Limits of the shares."""
        return rate_limits(self._shares, self._sizes, level)

    def limits(self, level):
        """Transformed limits of the shares, as in `Estimates.limits`."""
        return tuple(self._transform(limit).ravel() for limit in self._share_limits(level))

    def upper(self, contrasts, level):
        """As `Estimates.upper`, but 0 for pairs that count nowhere, at a tenth of the error."""
        if self._is_counted is None:
            return super().upper(contrasts, level)
        error = 1.0 - level
        counted = self._is_counted(*self._share_limits(1.0 - error / 10.0)).ravel()
        upper = super().upper(contrasts, 1.0 - 0.9 * error)
        return np.where(abs(contrasts) @ counted.astype(np.float64) > 0, upper, 0.0)


def curve_pairs(blocks, n_events, n_thresholds, lag=0):
    """Differences of every ordered pair of events of a block, at every threshold, as a csr_array.

    The first of a pair is taken `lag` thresholds ahead: if not every threshold is evaluated, its
    share is the larger one between two of them.
    """
    pairs = [(a, b) for block in blocks for a in block for b in block if a != b]
    first, second = np.array(pairs, dtype=np.intp).reshape(-1, 2).T[:, :, np.newaxis]
    threshold = np.arange(n_thresholds)
    ahead = np.minimum(threshold + lag, n_thresholds - 1)
    columns = np.stack((first * n_thresholds + ahead, second * n_thresholds + threshold), axis=-1)
    n_contrasts = columns.size // 2
    rows = np.repeat(np.arange(n_contrasts), 2)
    factors = np.tile([1.0, -1.0], n_contrasts)
    shape = n_contrasts, n_events * n_thresholds
    return sparse.csr_array((factors, (rows, columns.ravel())), shape=shape)
