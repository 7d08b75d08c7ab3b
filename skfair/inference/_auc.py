"""Areas under the curve of groups, and their limits."""

import numpy as np
from scipy import special

from skfair.inference._estimates import Estimates
from skfair.inference._limits import wilson

_FEW = 100
"""People of the rarer class below which the logit scale is left."""


class AUCs(Estimates):
    r"""Areas under the ROC curves of groups, with DeLong's variances ([1]_).

    Limits are symmetric on the logit scale where both classes have a hundred people, and on the
    plain one where they have fewer. Where all placements are equal, as those of perfect scores are,
    the variance is 0: Wilson's limits of that many people of the rarer class stand in. Weighted
    samples count as the effective number of equal weight, with Student's quantiles.

    Parameters
    ----------
    positive : ndarray of bool, shape (n_samples,)
        Whether the class is the positive one.
    scores : ndarray of shape (n_samples,)
        Scores.
    members : list of ndarray of int
        Samples of each group, with both classes among them.
    weights : ndarray of shape (n_samples,)
        Sample weights.
    center : float, default=0.0
        What is taken from each area.

    References
    ----------
    .. [1] E. R. DeLong, D. M. DeLong and D. L. Clarke-Pearson, "Comparing the areas under two or
       more correlated receiver operating characteristic curves: a nonparametric approach",
       Biometrics 44, 1988.
    """

    def __init__(self, positive, scores, members, weights, center=0.0):
        found = [_delong(positive[rows], scores[rows], weights[rows]) for rows in members]
        self._areas, self._errors, self.sizes, self.counts = map(np.array, zip(*found, strict=True))
        self.is_weighted = not np.allclose(self.sizes, self.counts)
        self._center, self.values = center, self._areas - center

    def limits(self, level):
        """DeLong's limits, as in `Estimates.limits`."""
        z, areas = special.ndtri(level), self._areas
        if self.is_weighted:
            z = special.stdtrit(np.maximum(self.sizes - 1.0, 1.0), level)
        with np.errstate(divide="ignore", invalid="ignore"):
            logits, reach = special.logit(areas), z * self._errors / (areas * (1.0 - areas))
            low, high = special.expit(logits - reach), special.expit(logits + reach)
        few, certain = self.sizes < _FEW, self._errors == 0
        low = np.where(few, np.maximum(areas - z * self._errors, 0.0), low)
        high = np.where(few, np.minimum(areas + z * self._errors, 1.0), high)
        least, most = wilson(areas, self.sizes, z)
        low, high = np.where(certain, least, low), np.where(certain, most, high)
        return low - self._center, high - self._center


def _delong(positive, scores, weights):
    """Area, its standard error, and effective and plain number of samples of the rarer class."""
    _, position = np.unique(scores, return_inverse=True)
    n_scores = position.max() + 1
    above, below = (
        np.bincount(position[one], weights[one], n_scores) for one in (positive, ~positive)
    )
    # Share of the other class that each score beats, ties counted half.
    beaten = (np.cumsum(below) - below / 2.0) / below.sum()
    beating = 1.0 - (np.cumsum(above) - above / 2.0) / above.sum()
    area = float(above @ beaten / above.sum())
    variance, sizes = 0.0, []
    for one, placements in ((positive, beaten), (~positive, beating)):
        shares = weights[one] / weights[one].sum()
        size = 1.0 / (shares @ shares)
        squares = (shares * (placements[position[one]] - area)) ** 2
        variance += squares.sum() * size / max(size - 1.0, 1.0)
        sizes.append(size)
    n_positive = np.count_nonzero(positive)
    return area, np.sqrt(variance), min(sizes), min(n_positive, len(positive) - n_positive)
