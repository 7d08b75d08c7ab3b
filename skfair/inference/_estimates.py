"""Estimates of several numbers at once, and limits of linear forms of them."""

from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np
from scipy import sparse, special

from skfair.inference._limits import rate_limits
from skfair.utils._messages import warn

_LARGE_DESIGN_EFFECT = 4.0
"""Weights that waste more people than this leave limits that promise too much."""

_LARGE_SKEWNESS = 0.5
"""Skewness of a mean (that of its values over the root of their number) above which is warned."""


class Estimates(ABC):
    """Numbers of events, such as the rates of groups, that a sample tells with some error.

    Attributes
    ----------
    values : ndarray of shape (n_events,)
        The estimates.
    sizes : ndarray of shape (n_events,)
        People that each rests on: for weighted samples, as many of equal weight.
    correlation : ndarray of shape (n_events, n_events) or None
        Of the estimates, where events share people; None where they do not.
    """

    correlation = None

    @abstractmethod
    def limits(self, level):
        """Lower and upper limit of each number, each to hold with this probability.

        Parameters
        ----------
        level : float
            The probability.

        Returns
        -------
        low, high : ndarray of shape (n_events,)
        """

    @property
    def is_uncertain(self):
        """Which numbers have limits that are known to hold less often than stated, (n_events,)."""
        return np.zeros(len(self.values), dtype=bool)

    def upper(self, contrasts, level):
        r"""Upper limit of each linear form of the numbers.

        The margins of the numbers add up like standard errors do ([1]_, [2]_):

        .. math:: c^\top \hat p + \sqrt{\sum_{ij} m_i \rho_{ij} m_j}, \quad m_i = c_i (L_i - \hat
            p_i)

        with :math:`L_i` the upper limit of a number whose factor is positive and the lower limit of
        one whose factor is negative.

        Parameters
        ----------
        contrasts : csr_array of shape (n_contrasts, n_events)
            Factors.
        level : float
            Probability with which a limit holds.

        Returns
        -------
        upper : ndarray of shape (n_contrasts,)

        References
        ----------
        .. [1] R. G. Newcombe, "Interval estimation for the difference between independent
           proportions: comparison of eleven methods", Statistics in Medicine 17, 1998.
        .. [2] G. Y. Zou and A. Donner, "Construction of confidence limits about effect measures: a
           general approach", Statistics in Medicine 27, 2008.
        """
        low, high = self.limits(level)
        factors, event, n = contrasts.data, contrasts.indices, contrasts.shape[0]
        row = np.repeat(np.arange(n), np.diff(contrasts.indptr))
        reach = np.where(factors > 0, (high - self.values)[event], (self.values - low)[event])
        # A limit may be at infinity, where a factor of 0 counts as no factor.
        margins = np.multiply(factors, reach, out=np.zeros(len(row)), where=factors != 0)
        sums = np.bincount(row, factors * self.values[event], n)
        if self.correlation is None:
            return sums + np.sqrt(np.bincount(row, margins**2, n))
        margins = sparse.csr_array((margins, event, contrasts.indptr), shape=contrasts.shape)
        return sums + np.sqrt(_squared_length(margins, self.correlation))


def _squared_length(rows, correlation):
    """Quadratic form of each row."""
    with np.errstate(invalid="ignore"):
        squares = rows.multiply(rows @ correlation).sum(axis=1)
    # A limit may be at infinity, and then so is the sum.
    return np.where(np.isnan(squares), np.inf, np.maximum(squares, 0.0))


class _OfEvents(Estimates):
    """Weighted means over events.

    Parameters
    ----------
    events : Events
        Sets of samples, with their shares.
    x : ndarray of shape (n_samples,)
        A value of every sample.
    """

    def __init__(self, events, x):
        samples, event, shares = events.memberships
        n_events = events.n_events
        self.counts = np.bincount(event, minlength=n_events)
        kish = 1.0 / np.bincount(event, shares**2, n_events)
        self.is_weighted = not np.allclose(kish, self.counts)
        # Counts where weights are equal; and never by rounding beyond the values themselves.
        weights = shares if self.is_weighted else np.ones(len(shares))
        totals = np.bincount(event, weights, n_events)
        self.values = np.bincount(event, weights * x[samples], n_events) / totals
        # What each person contributes to the error of a mean, by linearisation.
        deviations = shares * (x[samples] - self.values[event])
        self._squares = np.bincount(event, deviations**2, n_events)
        self._thirds = np.bincount(event, deviations**3, n_events)
        # The contributions themselves are kept only where somebody is in two events.
        self._shared = None
        if len(samples) and np.bincount(samples).max() > 1:
            shape = n_events, events.n_samples
            self._shared = sparse.csr_array((deviations, (event, samples)), shape=shape)
        self._set_sizes(kish)

    def _set_sizes(self, kish):
        self.sizes = self._effective(kish) if self.is_weighted else self.counts.astype(np.float64)
        self._report_design_effect()

    def _effective(self, kish):
        return kish

    def _report_design_effect(self):
        effect = float(np.max(self.counts / self.sizes))
        if effect > _LARGE_DESIGN_EFFECT:
            warn(
                f"The sample weights are so uneven that {effect:.1f} people tell no more than one "
                f"of equal weight would (a design effect above {_LARGE_DESIGN_EFFECT:g}): limits "
                "then hold less often than they say. Trim the largest weights, or ask for a higher "
                "confidence_level."
            )

    @cached_property
    def correlation(self):
        """Of the means, where events share people."""
        if self._shared is None:
            return None
        covariance = (self._shared @ self._shared.T).toarray()
        errors = np.sqrt(np.diag(covariance))
        scale = np.outer(errors, errors)
        found = np.divide(covariance, scale, out=np.zeros_like(scale), where=scale > 0)
        np.fill_diagonal(found, 1.0)
        return found

    def _quantile(self, level):
        """Of the normal distribution; of Student's where weights had to be guessed with."""
        if not self.is_weighted:
            return special.ndtri(level)
        return special.stdtrit(np.maximum(self.sizes - 1.0, 1.0), level)


class Rates(_OfEvents):
    """Shares of people: means of zeros and ones, with Wilson's limits, exact ones of few successes.

    Of weighted samples the size is the smaller of Kish's and the linearised effective one.
    """

    def _effective(self, kish):
        variances = self.values * (1.0 - self.values)
        linearised = np.divide(variances, self._squares, out=kish * 1.0, where=self._squares > 0)
        return np.minimum(kish, linearised)

    @property
    def hits(self):
        """Successes in each event, (n_events,)."""
        return np.rint(self.values * self.sizes)

    @classmethod
    def from_sums(cls, hits, misses):
        """Rates of events that share no samples, from sums over these.

        Parameters
        ----------
        hits, misses : array-like of shape (n_events, 3)
            Number, total weight and total squared weight of the samples with value 1 and 0.

        Returns
        -------
        rates : Rates
            As of the samples themselves.
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
    """Logarithms of rates, differences of which are ratios.

    Parameters
    ----------
    rates : Rates
        The rates. One of 0 stands at half a success, its lower limit at minus infinity.
    """

    def __init__(self, rates):
        self._rates, self.sizes, self.correlation = rates, rates.sizes, rates.correlation
        self.values = np.log(np.where(rates.values > 0, rates.values, 0.5 / (rates.sizes + 1.0)))

    def limits(self, level):
        """Logarithms of the limits of the rates, as in `Estimates.limits`."""
        with np.errstate(divide="ignore"):
            low, high = np.log(self._rates.limits(level))
        return low, np.maximum(high, self.values)


class Means(_OfEvents):
    r"""Means of any values: Student's limits, or those of Hall's transformation where wider ([1]_).

    With t the quantile, s the standard error of a mean and g its skewness, Hall's upper limit is

    .. math:: \bar x + s \, \frac{3}{g} \Bigl( 1 - \sqrt[3]{1 - g (t + g / 6)} \Bigr) .

    It lies above Student's where a long tail has not been seen yet. Of such a tail the skewness of
    a sample tells too little, and is multiplied by :math:`1 + 2 |g|`: that is about what samples of
    30 exponential values miss, and what ``python -m benchmarks coverage-kinds`` was found to need
    for values up to the lognormal ones. Limits of differences are made of those of both means, as
    those of rates are. The skewness of the difference itself is no guide: that of two equally
    skewed means is 0, and what is estimated of it is noise.

    References
    ----------
    .. [1] P. Hall, "On the removal of skewness by transformation", Journal of the Royal Statistical
       Society B 54, 1992.
    """

    @cached_property
    def _variances(self):
        return self._squares * self.sizes / np.maximum(self.sizes - 1.0, 1e-300)

    @cached_property
    def skewness(self):
        """Skewness of each mean as an estimate, (n_events,); 0 where all values are equal."""
        scale = self._variances**1.5
        return np.divide(self._thirds, scale, out=np.zeros_like(scale), where=scale > 0)

    def limits(self, level):
        """Limits of each mean, as in `Estimates.limits`; infinite for a single sample."""
        t = special.stdtrit(np.maximum(self.sizes - 1.0, 1e-300), level)
        errors = np.sqrt(self._variances)
        skewness = self.skewness * (1.0 + 2.0 * np.abs(self.skewness))
        low, high = (
            np.where(errors > 0, np.maximum(t, _hall_quantile(t, g)) * errors, 0.0)
            for g in (-skewness, skewness)
        )
        is_alone = self.counts < 2
        low, high = (np.where(is_alone, np.inf, reach) for reach in (low, high))
        return self.values - low, self.values + high

    @property
    def is_uncertain(self):
        """Which means have limits that hold less often than stated, (n_events,).

        Their values are too skewed for so few samples, or all equal though those of others are not.
        """
        is_constant = (self._squares == 0.0) & (self.counts > 1)
        # All are constant by construction, such as predictions of a constant model.
        unseen = is_constant & ~is_constant.all()
        return unseen | (np.abs(self.skewness) > _LARGE_SKEWNESS)


def _hall_quantile(t, skewness):
    """How many standard errors above the mean Hall's upper limit is, where Student's is t."""
    is_straight = np.abs(skewness) < 1e-6
    # Where g (t + g / 6) is 9 / 8; of an even larger skewness the limit would come nearer again.
    largest = 3.0 * (np.sqrt(t**2 + 0.75) - t)
    g = np.where(is_straight, 1.0, np.minimum(skewness, largest))
    return np.where(is_straight, t, 3.0 / g * (1.0 - np.cbrt(1.0 - g * (t + g / 6.0))))


def estimates_of(events, x):
    """Rates if all values are 0 or 1, means else.

    Parameters
    ----------
    events : Events
        Sets of samples.
    x : ndarray of shape (n_samples,)
        A value of every sample.

    Returns
    -------
    estimates : Rates or Means
    """
    x = np.asarray(x, dtype=np.float64)
    return (Rates if np.isin(x, (0.0, 1.0)).all() else Means)(events, x)
