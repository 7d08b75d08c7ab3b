"""Estimates of several numbers at once, and limits of linear forms of them."""

from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np
from scipy import sparse, special

from skfair.inference._limits import wilson
from skfair.utils._messages import warn

_LARGE_DESIGN_EFFECT = 4.0
"""Weights that waste more people than this leave limits that promise too much."""


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
        up, down = sparse.diags_array(high - self.values), sparse.diags_array(self.values - low)
        # No zeros may be stored, as a limit may be at infinity.
        positive, negative = (contrasts.multiply(side) for side in (contrasts > 0, contrasts < 0))
        margins = positive @ up + negative @ down
        return contrasts @ self.values + np.sqrt(_squared_length(margins, self.correlation))


def _squared_length(rows, correlation):
    """Sum of squares of each row; if correlated, the quadratic form."""
    if correlation is None:
        return rows.power(2).sum(axis=1)
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
        samples, event, shares = events.entries
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
    """Shares of people: means of zeros and ones, with Wilson's limits.

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

    def limits(self, level):
        """Wilson's limits, as in `Estimates.limits`."""
        return wilson(self.values, self.sizes, self._quantile(level))


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
        """Logarithms of Wilson's limits, as in `Estimates.limits`."""
        with np.errstate(divide="ignore"):
            low, high = np.log(self._rates.limits(level))
        return low, np.maximum(high, self.values)


class Means(_OfEvents):
    """Means of any values: Student's limits, moved by Johnson's term for their skewness ([1]_).

    References
    ----------
    .. [1] N. J. Johnson, "Modified t tests and confidence intervals for asymmetrical populations",
       Journal of the American Statistical Association 73, 1978.
    """

    @cached_property
    def _variances(self):
        return self._squares * self.sizes / np.maximum(self.sizes - 1.0, 1e-300)

    def limits(self, level):
        """Limits of each mean, as in `Estimates.limits`."""
        each = sparse.eye_array(len(self.values), format="csr")
        return -self.upper(-each, level), self.upper(each, level)

    def upper(self, contrasts, level):
        """Welch's limit of each linear form, with the skewness of its sum.

        Parameters
        ----------
        contrasts, level
            As in `Estimates.upper`.

        Returns
        -------
        upper : ndarray of shape (n_contrasts,)
            Infinite where an event has a single person.
        """
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            errors = contrasts @ sparse.diags_array(np.sqrt(self._variances))
            variances = _squared_length(errors, self.correlation)
            # Welch and Satterthwaite's degrees of freedom.
            own = contrasts.power(4) @ (self._variances**2 / (self.sizes - 1.0))
            t = special.stdtrit((contrasts.power(2) @ self._variances) ** 2 / own, level)
            skewness = self._third_of(contrasts) / (6.0 * variances)
            moved = skewness * (1.0 + 2.0 * t**2) + t * np.sqrt(variances)
        alone = (contrasts != 0) @ (self.counts < 2).astype(float) > 0
        return contrasts @ self.values + np.where(
            alone, np.inf, np.where(variances > 0, moved, 0.0)
        )

    def _third_of(self, contrasts):
        if self._shared is None:
            return contrasts.power(3) @ self._thirds
        return (contrasts @ self._shared).power(3).sum(axis=1)


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
