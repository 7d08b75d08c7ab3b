"""Estimates of several rates or means, and confidence limits of linear forms of them."""

from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np
from scipy import sparse, special

from skfair.inference._limits import clopper_pearson, rate_limits
from skfair.utils._messages import warn

_LARGE_DESIGN_EFFECT = 4.0
"""Design effect above which the limits of weighted samples are known to be too narrow."""

_LARGEST_SKEWNESS = 0.68
"""Corrected skewness of a mean that counts in limits, at most."""

_LARGE_SKEWNESS = 0.5
"""Skewness of a mean (that of its values over the root of their number) that raises a warning."""


class Estimates(ABC):
    """Estimates for events, such as the rates of groups, with their confidence limits.

    `values` and `sizes`, the effective sample sizes, have shape (n_events,). `correlation` of the
    estimates has shape (n_events, n_events), and is None if the events share no samples.
    """

    correlation = None

    @abstractmethod
    def limits(self, level):
        """Lower and upper limits, (n_events,), each of which holds with the probability `level`."""

    def gap(self, form):
        """The gap if this is its largest linear form."""
        return form

    @property
    def is_uncertain(self):
        """Mask of the estimates whose limits are known to hold less often than stated."""
        return np.zeros(len(self.values), dtype=bool)

    def upper(self, contrasts, level):
        r"""Upper limit of each linear form, a row of the csr_array `contrasts`.

        The margins add up like standard errors (Newcombe 1998; Zou and Donner, Statistics in
        Medicine 27, 2008):

        .. math:: c^\top \hat p + \sqrt{\sum_{ij} m_i \rho_{ij} m_j}, \quad m_i = c_i (L_i - \hat
            p_i)

        with :math:`L_i` the upper limit if the factor is positive and the lower one if negative.
        """
        low, high = self.limits(level)
        margins = self._combine(contrasts, high - self.values, self.values - low)
        return contrasts @ self.values + margins

    def _combine(self, contrasts, above, below):
        """Root of the quadratic form of margins in each linear form.

        `above` and `below`, (n_events,), are the margins of positive and of negative factors.
        """
        factors, event, n = contrasts.data, contrasts.indices, contrasts.shape[0]
        reach = np.where(factors > 0, above[event], below[event])
        # A limit may be at infinity, where a factor of 0 counts as no factor.
        margins = np.multiply(factors, reach, out=np.zeros(len(factors)), where=factors != 0)
        if self.correlation is None:
            row = np.repeat(np.arange(n), np.diff(contrasts.indptr))
            return np.sqrt(np.bincount(row, margins**2, n))
        margins = sparse.csr_array((margins, event, contrasts.indptr), shape=contrasts.shape)
        return np.sqrt(_squared_length(margins, self.correlation))


def _squared_length(rows, correlation):
    """Quadratic form of each row, infinite where a limit is."""
    with np.errstate(invalid="ignore"):
        squares = rows.multiply(rows @ correlation).sum(axis=1)
    return np.where(np.isnan(squares), np.inf, np.maximum(squares, 0.0))


class _EventMeans(Estimates):
    """Weighted means of the values `x` of the samples over `events`."""

    def __init__(self, events, x):
        samples, event, shares = events.memberships
        n_events = events.n_events
        self.counts = np.bincount(event, minlength=n_events)
        kish = 1.0 / np.bincount(event, shares**2, n_events)
        self.is_weighted = not np.allclose(kish, self.counts)
        # Equal weights are counted, so that rounding never exceeds the range of the values.
        weights = shares if self.is_weighted else np.ones(len(shares))
        totals = np.bincount(event, weights, n_events)
        self.values = np.bincount(event, weights * x[samples], n_events) / totals
        # Contribution of each sample to the error of a mean, by linearisation.
        deviations = shares * (x[samples] - self.values[event])
        self._squares = np.bincount(event, deviations**2, n_events)
        self._thirds = np.bincount(event, deviations**3, n_events)
        # The correlation needs the contributions if samples are in several events.
        self._shared = None
        if len(samples) and np.bincount(samples).max() > 1:
            shape = n_events, events.n_samples
            self._shared = sparse.csr_array((deviations, (event, samples)), shape=shape)
        self._set_sizes(kish)

    def _set_sizes(self, kish):
        """Set the effective sample sizes, of which `kish` are Kish's."""
        self.sizes = self.counts.astype(np.float64)
        if self.is_weighted:
            self.sizes = self._effective_sizes(kish)
        self._warn_of_design_effect()

    def _effective_sizes(self, kish):
        return kish

    def _warn_of_design_effect(self):
        effect = float(np.max(self.counts / self.sizes))
        if effect > _LARGE_DESIGN_EFFECT:
            warn(
                f"The sample weights are so uneven that {effect:.1f} samples count as one of equal "
                f"weight (a design effect above {_LARGE_DESIGN_EFFECT:g}): limits then hold less "
                "often than stated. Trim the largest weights, or pass a higher confidence_level."
            )

    @cached_property
    def correlation(self):
        """Correlation of the means; None if the events share no samples."""
        if self._shared is None:
            return None
        covariance = (self._shared @ self._shared.T).toarray()
        errors = np.sqrt(np.diag(covariance))
        scale = np.outer(errors, errors)
        correlation = np.divide(covariance, scale, out=np.zeros_like(scale), where=scale > 0)
        np.fill_diagonal(correlation, 1.0)
        return correlation

    def _quantile(self, level):
        """Quantile of the normal distribution, of Student's for weighted samples."""
        if not self.is_weighted:
            return special.ndtri(level)
        return special.stdtrit(np.maximum(self.sizes - 1.0, 1.0), level)


class Rates(_EventMeans):
    """Means of zeros and ones, with Wilson's limits, or exact ones for few successes or failures.

    The size of weighted samples is the smaller of Kish's and the linearised effective one.
    """

    def _effective_sizes(self, kish):
        variances = self.values * (1.0 - self.values)
        linearised = np.divide(variances, self._squares, out=kish * 1.0, where=self._squares > 0)
        return np.minimum(kish, linearised)

    @property
    def hits(self):
        """Successes in each event, (n_events,)."""
        return np.rint(self.values * self.sizes)

    @classmethod
    def from_sums(cls, hits, misses):
        """Rates of events that share no samples, from sums over the samples of value 1 and 0.

        `hits` and `misses` have shape (n_events, 3): number, weight and squared weight.
        """
        rates, hits, misses = cls.__new__(cls), np.asarray(hits), np.asarray(misses)
        rates.counts, totals, squares = (hits + misses).T
        rates.is_weighted = not np.allclose(totals**2 / squares, rates.counts)
        column = 1 if rates.is_weighted else 0
        rates.values = hits[:, column] / (hits + misses)[:, column]
        deviations = hits[:, 2] * (1.0 - rates.values) ** 2 + misses[:, 2] * rates.values**2
        rates._squares, rates._shared = deviations / totals**2, None
        rates._set_sizes(totals**2 / squares)
        return rates

    def limits(self, level):
        """Wilson's or exact limits, as in `Estimates.limits`."""
        return rate_limits(self.values, self.sizes, level, self._quantile(level))


class LogRates(Estimates):
    """Logarithms of rates, whose differences are ratios; the gap is 1 minus the smallest ratio.

    A rate of 0 is replaced by half a success, and its lower limit is minus infinity. The limits of
    the rates are exact ones, or Wilson's if these are wider: made of them, one-sided limits of
    ratios err in at most 5.2 % of samples at .95. Far out in the tails they err more often than
    stated where a small group has a rate near 1 (``python -m benchmarks tails``).
    """

    def __init__(self, rates):
        self._rates, self.sizes, self.correlation = rates, rates.sizes, rates.correlation
        self.values = np.log(np.where(rates.values > 0, rates.values, 0.5 / (rates.sizes + 1.0)))

    def limits(self, level):
        """Logarithms of the limits of the rates, as in `Estimates.limits`."""
        rates, (low, high) = self._rates, self._rates.limits(level)
        exact_low, exact_high = clopper_pearson(rates.values * rates.sizes, rates.sizes, level)
        with np.errstate(divide="ignore"):
            low, high = np.log(np.minimum(low, exact_low)), np.log(np.maximum(high, exact_high))
        return low, np.maximum(high, self.values)

    def gap(self, form):
        """1 minus the ratio whose logarithm is minus the form."""
        return -np.expm1(-form)


class Means(_EventMeans):
    r"""Means of any values: Student's limits, or those of Hall's transformation if wider ([1]_).

    With t the quantile, s the standard error of a mean and g its skewness, Hall's upper limit is

    .. math:: \bar x + s \, \frac{3}{g} \Bigl( 1 - \sqrt[3]{1 - g (t + g / 6)} \Bigr) .

    It exceeds Student's if the sample has not reached a long tail yet. The skewness of a sample
    underestimates such a tail. It is multiplied by :math:`1 + 4 |g|`, and counts as at most .68.

    In a linear form of means Student's margins add up like standard errors. The skewness of the
    form is :math:`\sum_i g_i v_i^{3/2}`, summed over means whose long tail is on the side of the
    limit: the difference of two equally skewed means is symmetric, but whether they are equally
    skewed is hardly known. :math:`v_i` is the share of a mean in the variance of the form, or that
    in the case of equally spread values, if it is larger: a sample that has missed a long tail
    underestimates its variance too. ``python -m benchmarks coverage-kinds`` was found to need
    these numbers for values up to lognormal ones.

    References
    ----------
    .. [1] P. Hall, "On the removal of skewness by transformation", Journal of the Royal Statistical
       Society B 54, 1992.
    """

    @cached_property
    def _variances(self):
        """Squared standard errors, with Bessel's correction."""
        return self._squares * self.sizes / np.maximum(self.sizes - 1.0, 1e-300)

    @cached_property
    def skewness(self):
        """Skewness of each mean, (n_events,); 0 where all values are equal."""
        scale = self._variances**1.5
        return np.divide(self._thirds, scale, out=np.zeros_like(scale), where=scale > 0)

    def limits(self, level):
        """Limits of each mean, as in `Estimates.limits`; infinite for a single sample."""
        n_events = len(self.values)
        each = sparse.csr_array(
            (np.ones(n_events), np.arange(n_events), np.arange(n_events + 1)), (n_events, n_events)
        )
        return -self.upper(-each, level), self.upper(each, level)

    def upper(self, contrasts, level):
        """Upper limit of each linear form, as in `Estimates.upper`, by Hall's transformation."""
        # With almost no degrees of freedom the quantile may be infinite, whose multiples are nan.
        t = np.minimum(special.stdtrit(np.maximum(self.sizes - 1.0, 1e-300), level), 1e100)
        errors = np.sqrt(self._variances)
        student = np.where(self.counts < 2, np.inf, t * errors)
        margin, error = (self._combine(contrasts, each, each) for each in (student, errors))
        # Quantile of the form in its own standard errors; 0 if all its values are equal.
        has_spread = (error > 0.0) & np.isfinite(margin)
        quantile = np.divide(margin, error, out=np.zeros(len(error)), where=has_spread)
        distance = _hall_quantile(quantile, self._skewness_above(contrasts, errors))
        distance = np.maximum(quantile, distance)
        return contrasts @ self.values + np.where(has_spread, distance * error, margin)

    def _skewness_above(self, contrasts, errors):
        """Skewness of each linear form, of the means with a long tail above it."""
        factors, event, n = contrasts.data, contrasts.indices, contrasts.shape[0]
        row = np.repeat(np.arange(n), np.diff(contrasts.indptr))
        # Shares in the variance: by the spread of each mean, and by sample sizes alone.
        variances = factors**2 * (errors[event] ** 2, 1.0 / self.sizes[event])
        totals = np.array([np.bincount(row, one, n)[row] for one in variances])
        shares = np.divide(variances, totals, out=np.zeros_like(totals), where=totals > 0)
        skewness = self.skewness * (1.0 + 4.0 * np.abs(self.skewness))
        above = np.clip(np.sign(factors) * skewness[event], 0.0, _LARGEST_SKEWNESS)
        return np.bincount(row, above * shares.max(axis=0) ** 1.5, n)

    @property
    def is_uncertain(self):
        """Mask of the means of values too skewed for so few samples, or all equal in one event."""
        is_constant = (self._squares == 0.0) & (self.counts > 1)
        # If all are constant they are so by construction, such as predictions of a constant model.
        is_suspect = is_constant & ~is_constant.all()
        return is_suspect | (np.abs(self.skewness) > _LARGE_SKEWNESS)


def _hall_quantile(t, skewness):
    """Distance of Hall's upper limit from the mean in standard errors, where Student's is t."""
    is_symmetric = np.abs(skewness) < 1e-6
    # There g (t + g / 6) is 9 / 8. For an even larger skewness the distance would decrease again.
    largest = 2.25 / (np.sqrt(t**2 + 0.75) + t)
    g = np.where(is_symmetric, 1.0, np.minimum(skewness, largest))
    return np.where(is_symmetric, t, 3.0 / g * (1.0 - np.cbrt(1.0 - g * (t + g / 6.0))))


def estimates_of(events, x):
    """`Rates` of the events if all values `x` of the samples are 0 or 1, otherwise `Means`."""
    x = np.asarray(x, dtype=np.float64)
    return (Rates if np.isin(x, (0.0, 1.0)).all() else Means)(events, x)
