"""Areas under the ROC curves of groups, and shares above thresholds, with their limits."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse, special

from skfair._statistics.estimates import (
    Estimates,
    contrast_matrix,
    correlation_of,
)
from skfair._statistics.limits_of_rates import rate_limits, wilson_limits

if TYPE_CHECKING:
    from collections.abc import Sequence

# Areas under the ROC curves of groups, with confidence limits.


class AUCs(Estimates):
    r"""Areas under the ROC curves of groups, with DeLong's variances ([1]_).

    Limits are symmetric on the logit scale, with Student's quantile: on the plain scale, or with
    normal quantiles, those of a small class are too high. The degrees of freedom are those of the
    variance, :math:`2 V^2 / \operatorname{Var}(V)` by the fourth moments of the placements, and at
    most those of the smaller class: near an area of 1 few placements make up most of the variance.
    If all placements are equal, as those of perfect scores are, the variance is 0: Wilson's limits
    for the size of the smaller class replace them, with Student's quantile of that size. Weighted
    samples count with their effective sample size.

    `positive`, `scores` and `weights` have one entry per sample, or per row of as many samples as
    `counts` says, of which `weights` are the totals. `members` is a list of the rows of each group,
    with both classes among them. `center` is subtracted from each area.

    References
    ----------
    .. [1] E. R. DeLong, D. M. DeLong and D. L. Clarke-Pearson, "Comparing the areas under two or
       more correlated receiver operating characteristic curves: a nonparametric approach",
       Biometrics 44, 1988.
    """

    interval = "DeLong"

    def __init__(
        self,
        positive: np.ndarray,
        scores: np.ndarray,
        members: list[np.ndarray],
        weights: np.ndarray,
        counts: np.ndarray | None = None,
        center: float = 0.0,
    ) -> None:
        columns = positive, scores, weights, np.ones(len(weights)) if counts is None else counts
        areas = [_delong(*(column[rows] for column in columns)) for rows in members]
        self._areas, self._errors, self.sizes, self.counts, self._degrees = map(
            np.array, zip(*areas, strict=True)
        )
        self.is_weighted = bool((self.sizes < self.counts * (1.0 - 1e-9)).any())
        self._center = center
        self.values = self._areas - center

    @property
    def standard_errors(self) -> np.ndarray:
        """DeLong's standard error of each area."""
        return self._errors

    def limits(self, level: float) -> tuple[np.ndarray, np.ndarray]:
        """DeLong's limits, as in `Estimates.limits`."""
        areas = self._areas
        of_sizes = special.stdtrit(np.maximum(self.sizes - 1.0, 1.0), level)
        quantile = special.stdtrit(self._degrees, level)
        with np.errstate(divide="ignore", invalid="ignore"):
            logits = special.logit(areas)
            margin = quantile * self._errors / (areas * (1.0 - areas))
            low = special.expit(logits - margin)
            high = special.expit(logits + margin)
        # No variance: Wilson's limits.
        is_constant = self._errors == 0
        wilson_low, wilson_high = wilson_limits(areas, self.sizes, of_sizes)
        low = np.where(is_constant, wilson_low, low)
        high = np.where(is_constant, wilson_high, high)
        return low - self._center, high - self._center


class PairedAreas(AUCs):
    """Areas of several scores of the same samples, which are correlated.

    `scores` are the scores of each model, (n_samples,) each. Samples of equal code in `units` are
    not independent; None if all are. The size is that of the smaller class, in units.
    """

    def __init__(
        self,
        positive: np.ndarray,
        scores: list[np.ndarray],
        weights: np.ndarray,
        units: np.ndarray | None = None,
    ) -> None:
        units = np.arange(len(positive)) if units is None else units
        sizes = [
            1.0 / (np.bincount(units[rows], weights[rows] / weights[rows].sum()) ** 2).sum()
            for rows in (positive, ~positive)
        ]
        correct = np.sqrt([size / max(size - 1.0, 1.0) for size in sizes])
        scale = np.where(positive, *correct)
        areas = [_area_contributions(positive, one, weights) for one in scores]
        self._areas = np.array([area for area, _ in areas])
        # Samples of a unit err together.
        by_unit = np.array([np.bincount(units, scale * one) for _, one in areas])
        covariance = by_unit @ by_unit.T
        self._errors = np.sqrt(np.diag(covariance))
        self.correlation = correlation_of(covariance)
        self.sizes = np.full(len(scores), min(sizes))
        squares = (by_unit**2).sum(axis=1), (by_unit**4).sum(axis=1)
        self._degrees = np.array(
            [
                _degrees_of_freedom(second, fourth - second**2 / by_unit.shape[1], min(sizes))
                for second, fourth in zip(*squares, strict=True)
            ]
        )
        self.counts = np.full(len(scores), min(positive.sum(), (~positive).sum()))
        self.is_weighted = False
        self._center = 0.0
        self.values = self._areas


def _area_contributions(
    positive: np.ndarray, scores: np.ndarray, weights: np.ndarray
) -> tuple[float, np.ndarray]:
    """Area, and the contribution of each sample to its error, (n_samples,)."""
    _, position = np.unique(scores, return_inverse=True)
    n_scores = position.max() + 1
    above, below = (
        np.bincount(position[rows], weights[rows], n_scores) for rows in (positive, ~positive)
    )
    # Placements: share of the other class below, or above, each score, with ties counted half.
    share_below = (np.cumsum(below) - below / 2.0) / below.sum()
    share_above = 1.0 - (np.cumsum(above) - above / 2.0) / above.sum()
    area = float(above @ share_below / above.sum())
    placements = np.where(positive, share_below[position], share_above[position])
    totals = np.where(positive, above.sum(), below.sum())
    return area, weights / totals * (placements - area)


def _delong(
    positive: np.ndarray, scores: np.ndarray, weights: np.ndarray, counts: np.ndarray
) -> tuple[float, float, float, int, float]:
    """Area, its standard error, effective and plain size of the smaller class, and its degrees."""
    area, contributions = _area_contributions(positive, scores, weights)
    # The variance of the area is the sum of those of both classes' placements.
    variance = 0.0
    variance_of_variance = 0.0
    sizes = []
    for rows in (positive, ~positive):
        shares = weights[rows] / weights[rows].sum()
        size = 1.0 / (shares @ (shares / counts[rows]))
        correction = size / max(size - 1.0, 1.0)
        second = (contributions[rows] ** 2 / counts[rows]).sum()
        fourth = (contributions[rows] ** 4 / counts[rows] ** 3).sum()
        variance += second * correction
        variance_of_variance += (fourth - second**2 / size) * correction**2
        sizes.append(size)
    smaller = int(min(counts[positive].sum(), counts[~positive].sum()))
    degrees = _degrees_of_freedom(variance, variance_of_variance, min(sizes))
    return area, np.sqrt(variance), min(sizes), smaller, degrees


def _degrees_of_freedom(variance: float, variance_of_variance: float, size: float) -> float:
    """Degrees of freedom of a variance, from 1 to those of `size` samples."""
    most = max(size - 1.0, 1.0)
    if variance_of_variance <= 2.0 * variance**2 / most:
        return most
    return max(2.0 * variance**2 / variance_of_variance, 1.0)


# Shares of groups above many thresholds, compared on an interval of ranks.


class ShareCurves(Estimates):
    """Monotone functions of the shares of events above thresholds.

    Shares and their limits are transformed by the same ascending function `transform`, so that
    pointwise limits stay limits. At the threshold of the largest true difference of two curves the
    limit of this pair holds: no confidence band of the whole curve is needed.

    `shares` has shape (n_events, n_thresholds), `sizes`, the effective sample sizes, (n_events,).
    `is_counted` maps the lower and upper limits of the shares to a mask of where the difference
    may count; None counts everywhere.
    """

    def __init__(
        self,
        shares: np.ndarray,
        sizes: np.ndarray,
        transform: Callable[[np.ndarray], np.ndarray],
        is_counted: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None,
    ) -> None:
        self._shares = shares
        self._transform = transform
        self._find_counted = is_counted
        self._sizes = sizes[:, np.newaxis]
        self.values = transform(shares).ravel()
        self.sizes = np.repeat(sizes, shares.shape[1])

    def _share_limits(self, level: float) -> tuple[np.ndarray, np.ndarray]:
        """Limits of the shares."""
        return rate_limits(self._shares, self._sizes, level)

    def limits(self, level: float) -> tuple[np.ndarray, np.ndarray]:
        """Transformed limits of the shares, as in `Estimates.limits`."""
        low, high = (self._transform(limit).ravel() for limit in self._share_limits(level))
        return low, high

    def upper(self, contrasts: sparse.csr_array, level: float) -> np.ndarray:
        """As `Estimates.upper`, but 0 for pairs that count nowhere, at a tenth of the error."""
        if self._find_counted is None:
            return super().upper(contrasts, level)
        error = 1.0 - level
        counted = self._find_counted(*self._share_limits(1.0 - error / 10.0)).ravel()
        upper = super().upper(contrasts, 1.0 - 0.9 * error)
        return np.where(abs(contrasts) @ counted.astype(float) > 0, upper, 0.0)


def curve_contrasts(
    blocks: Sequence[Sequence[int]], n_events: int, n_thresholds: int, lag: int = 0
) -> sparse.csr_array:
    """Differences of every ordered pair of events of a block, at every threshold, as a csr_array.

    The first of a pair is taken `lag` thresholds ahead: if not every threshold is evaluated, its
    share is the larger one between two of them.
    """
    pairs = [(a, b) for block in blocks for a in block for b in block if a != b]
    first, second = np.array(pairs, dtype=np.intp).reshape(-1, 2).T[:, :, np.newaxis]
    threshold = np.arange(n_thresholds)
    ahead = np.minimum(threshold + lag, n_thresholds - 1)
    first = first * n_thresholds + ahead
    second = second * n_thresholds + threshold
    return contrast_matrix(first, second, n_events * n_thresholds)
