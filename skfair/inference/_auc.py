"""Areas under the ROC curves of groups, with confidence limits."""

import numpy as np
from scipy import special

from skfair.inference._estimates import Estimates
from skfair.inference._limits import wilson

_SMALLEST_LOGIT = 100
"""Size of the smaller class from which on limits are symmetric on the logit scale."""


class AUCs(Estimates):
    r"""Areas under the ROC curves of groups, with DeLong's variances ([1]_).

    Limits are symmetric on the logit scale if both classes have a hundred samples, otherwise on the
    plain scale. If all placements are equal, as those of perfect scores are, the variance is 0:
    Wilson's limits for the size of the smaller class replace them. Weighted samples count with
    their effective sample size and Student's quantiles.

    `positive`, `scores` and `weights` have one entry per sample. `members` is a list of the rows of
    each group, with both classes among them. `center` is subtracted from each area.

    References
    ----------
    .. [1] E. R. DeLong, D. M. DeLong and D. L. Clarke-Pearson, "Comparing the areas under two or
       more correlated receiver operating characteristic curves: a nonparametric approach",
       Biometrics 44, 1988.
    """

    def __init__(self, positive, scores, members, weights, center=0.0):
        areas = [_delong(positive[rows], scores[rows], weights[rows]) for rows in members]
        self._areas, self._errors, self.sizes, self.counts = map(np.array, zip(*areas, strict=True))
        self.is_weighted = not np.allclose(self.sizes, self.counts)
        self._center, self.values = center, self._areas - center

    def limits(self, level):
        """DeLong's limits, as in `Estimates.limits`."""
        z, areas = special.ndtri(level), self._areas
        if self.is_weighted:
            z = special.stdtrit(np.maximum(self.sizes - 1.0, 1.0), level)
        with np.errstate(divide="ignore", invalid="ignore"):
            logits, margin = special.logit(areas), z * self._errors / (areas * (1.0 - areas))
            low, high = special.expit(logits - margin), special.expit(logits + margin)
        # Small samples: the plain scale.
        is_small = self.sizes < _SMALLEST_LOGIT
        low = np.where(is_small, np.maximum(areas - z * self._errors, 0.0), low)
        high = np.where(is_small, np.minimum(areas + z * self._errors, 1.0), high)
        # No variance: Wilson's limits.
        is_constant = self._errors == 0
        wilson_low, wilson_high = wilson(areas, self.sizes, z)
        low = np.where(is_constant, wilson_low, low)
        high = np.where(is_constant, wilson_high, high)
        return low - self._center, high - self._center


def _delong(positive, scores, weights):
    """Area, its standard error, and effective and plain size of the smaller class."""
    _, position = np.unique(scores, return_inverse=True)
    n_scores = position.max() + 1
    above, below = (
        np.bincount(position[rows], weights[rows], n_scores) for rows in (positive, ~positive)
    )
    # Placements: share of the other class below, or above, each score, with ties counted half.
    share_below = (np.cumsum(below) - below / 2.0) / below.sum()
    share_above = 1.0 - (np.cumsum(above) - above / 2.0) / above.sum()
    area = float(above @ share_below / above.sum())
    # The variance of the area is the sum of those of both classes' placements.
    variance, sizes = 0.0, []
    for rows, placements in ((positive, share_below), (~positive, share_above)):
        shares = weights[rows] / weights[rows].sum()
        size = 1.0 / (shares @ shares)
        squares = (shares * (placements[position[rows]] - area)) ** 2
        variance += squares.sum() * size / max(size - 1.0, 1.0)
        sizes.append(size)
    n_positive = np.count_nonzero(positive)
    return area, np.sqrt(variance), min(sizes), min(n_positive, len(positive) - n_positive)
