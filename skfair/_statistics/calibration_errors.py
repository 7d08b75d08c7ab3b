"""Observed shares of positives against probabilities that were predicted, with limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import special, stats

from skfair._statistics.bounded_means import make_estimates
from skfair._statistics.estimates import Estimates, _EventMeans

if TYPE_CHECKING:
    from skfair._groups.events import Events


def explained_margin_factor(
    sizes: np.ndarray,
    observed: np.ndarray,
    predicted: np.ndarray,
    uncertainty: np.ndarray,
    spread: np.ndarray,
    level: np.ndarray | float,
) -> np.ndarray:
    r"""Factor, from 0 to 1, of the margins of observed shares, given the predicted probabilities.

    Of `sizes` samples each, `observed` are the shares of positives, `predicted` the means of the
    probabilities p, `uncertainty` those of p (1 - p), and `spread` the variances of outcomes minus
    p. Each limit holds with the probability `level`.

    Given probabilities p that are calibrated, the number of positives has the variance
    :math:`V = \sum p (1 - p)`, the share R of that of a binomial count with the same mean. Exact
    limits of a binomial share, which hold whatever the probabilities of single samples are ([1]_),
    are wider than needed by :math:`1 / \sqrt R`. Near the centre margins may shrink by this factor,
    in far tails they may not. At the normal quantile z the factor is

    .. math:: \sqrt{R + (1 - R) \frac{z^2 / 2}{V + z^2 / 2}} .

    The tests enumerate that no limit of calibrated probabilities errs more often than stated. R is
    at least the share of the variance of outcomes that is left after the probabilities are
    subtracted, so that limits hold where these explain less than they claim, too.

    References
    ----------
    .. [1] W. Hoeffding, "On the distribution of the number of successes in independent trials",
       Annals of Mathematical Statistics 27, 1956.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        claimed = uncertainty / (predicted * (1.0 - predicted))
        left = np.fmax(claimed, spread / (observed * (1.0 - observed)))
    # Without any variance nothing is explained.
    left = np.clip(np.where(np.isnan(left), 1.0, left), 0.0, 1.0)
    tail = special.ndtri(level) ** 2 / 2.0
    variance = sizes * uncertainty
    return np.sqrt(left + (1.0 - left) * tail / (variance + tail))


class CalibrationErrors(_EventMeans):
    r"""Observed share of positives minus the mean of the predicted probabilities of each event.

    It estimates :math:`E[y - p]` in the population, where the probabilities p vary too. If they
    vary more than outcomes follow, y - p varies more than y. Limits are Gaffke's ([1]_), as those
    of `BoundedMeans`: quantiles of :math:`\sum_i w_i d_i` over the differences d = y - p and one
    more at the end of their range, with weights w that are uniform on the simplex. The range is
    from minus the largest to 1 minus the smallest probability of the event. The quantile is that of
    the distribution of Pearson's type III with the same three moments. If all probabilities are
    equal, limits are Clopper and Pearson's: they differ by less than .04 samples at the level .95.

    References
    ----------
    .. [1] N. Gaffke, "Three test statistics for a nonparametric one-sided hypothesis on the mean of
       a nonnegative variable", Mathematical Methods of Statistics 14, 2005.
    """

    interval = "Gaffke, by three moments"

    def __init__(self, events: Events, is_true: np.ndarray, probabilities: np.ndarray) -> None:
        self._events, self._is_true = events, is_true
        differences = is_true - probabilities
        positions, event, shares = events.memberships
        deviations = differences[positions] - events.means(differences)[event]
        self._variances = np.bincount(event, shares * deviations**2, events.n_events)
        self._third_moments = np.bincount(event, shares * deviations**3, events.n_events)
        super().__init__(events, differences)
        self._smallest = np.full(events.n_events, np.inf)
        self._largest = np.full(events.n_events, -np.inf)
        np.minimum.at(self._smallest, event, probabilities[positions])
        np.maximum.at(self._largest, event, probabilities[positions])

    def _effective_sizes(self, kish: np.ndarray) -> np.ndarray:
        has_spread = self._error_variances > 0.0
        linearised = np.divide(
            self._variances, self._error_variances, out=kish * 1.0, where=has_spread
        )
        return np.minimum(kish, linearised)

    @property
    def shares_of_positives(self) -> np.ndarray:
        """Observed share of positives of each event, (n_events,)."""
        return self._events.means(self._is_true)

    def limits(self, level: float) -> tuple[np.ndarray, np.ndarray]:
        """Limits, as in `Estimates.limits`."""
        moments = Moments(self.values, self._variances, self._third_moments)
        mirrored = Moments(-self.values, self._variances, -self._third_moments)
        low = -upper_means(mirrored, self._largest, self.sizes, level)
        return low, upper_means(moments, 1.0 - self._smallest, self.sizes, level)


class Moments(NamedTuple):
    """Means, variances and third central moments of the values of each event, (n_events,)."""

    means: np.ndarray
    variances: np.ndarray
    thirds: np.ndarray


def upper_means(moments: Moments, ends: np.ndarray, sizes: np.ndarray, level: float) -> np.ndarray:
    """Gaffke's upper limits of means of `sizes` values up to `ends`, by three moments."""
    # Moments of the values and one more at the end.
    n = sizes + 1.0
    reach = ends - moments.means
    shift = reach / n
    variances = (sizes * (moments.variances + shift**2) + (reach - shift) ** 2) / n
    thirds = moments.thirds - 3.0 * moments.variances * shift - shift**3
    thirds = (sizes * thirds + (reach - shift) ** 3) / n
    # Moments of their sum with weights that are uniform on the simplex.
    scale = variances**1.5
    skewness = np.divide(thirds, scale, out=np.zeros_like(scale), where=scale > 0.0)
    skewness *= 2.0 * np.sqrt(n + 1.0) / (n + 2.0)
    errors = np.sqrt(variances / (n + 1.0))
    limits = moments.means + shift + errors * stats.pearson3.ppf(level, skewness)
    return np.minimum(limits, ends)


def make_calibration_errors(
    events: Events,
    is_true: np.ndarray,
    clusters: np.ndarray | None,
    *,
    probabilities: np.ndarray,
) -> Estimates:
    """`CalibrationErrors`; of clusters means of differences, whose limits count clusters."""
    if clusters is not None:
        return make_estimates(events, is_true - probabilities, clusters)
    return CalibrationErrors(events, is_true, probabilities)
