"""Estimates of rates, means, areas and curves, with exact or approximate limits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse, special

from skfair._groups.events import Events, join_units
from skfair._statistics.limits_of_rates import (
    clopper_pearson_limits,
    is_limit_above,
    limit_difference,
    rate_limits,
)
from skfair._utils.checks import argument_error, warn

if TYPE_CHECKING:
    from typing import Any, Self


def check_level(level: float, name: str = "confidence_level") -> float:
    """Check that the argument called `name` is a probability strictly between 0 and 1."""
    if not isinstance(level, Real) or isinstance(level, bool) or not 0.0 < level < 1.0:
        raise argument_error(
            f"{name} must be a probability strictly between 0 and 1, such as 0.95; got {level!r}."
        )
    return float(level)


# Estimates of several rates or means, and confidence limits of linear forms of them.


_LARGE_DESIGN_EFFECT = 4.0
"""Design effect above which the limits of weighted samples are known to be too narrow."""

_ROUNDING_OF_WEIGHTS = 1e-8  # sums of 10 million equal weights are exact to 1e-9
_ROUNDING_OF_SUMS = 1e-9  # squares of weights that differ by less than .003 %


class Estimates(ABC):
    """Estimates for events, such as the rates of groups, with their confidence limits.

    `values` and `sizes`, the effective sample sizes, have shape (n_events,). `correlation` of the
    estimates has shape (n_events, n_events), and is None if the events share no samples. Rates and
    means have `counts`, the samples of each event. Rates have `hits`, those with the value 1.
    """

    values: Any
    sizes: Any
    counts: Any
    hits: Any

    correlation: np.ndarray | None = None
    interval = ""
    """How the limits are computed, for tables and reports."""
    are_rates = False
    """Whether values are shares, whose ratios `LogRates` compares."""
    is_burden = False
    """Whether values are shares of samples that bear a burden, and ratios those of the others."""

    @abstractmethod
    def limits(self, level: float) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper limits, (n_events,), each of which holds with the probability `level`."""

    @property
    def favourable(self) -> ComplementEstimates | Self:
        """The estimates whose ratios are compared: of a burden the shares that do not bear it."""
        return ComplementEstimates(self, 1.0) if self.is_burden else self

    def gap(self, form: float) -> float:
        """The gap if this is its largest linear form."""
        return form

    @property
    def standard_errors(self) -> np.ndarray:
        """Standard error of each estimate, (n_events,)."""
        raise NotImplementedError(f"{type(self).__name__} has limits, but no standard errors")

    @property
    def has_unreliable_limits(self) -> np.ndarray:
        """Mask of the estimates whose limits are known to hold less often than stated."""
        return np.zeros(len(self.values), dtype=bool)

    def upper(self, contrasts: sparse.csr_array, level: float) -> np.ndarray:
        r"""Upper limit of each linear form, a row of the csr_array `contrasts`.

        The margins add up as in `combine_margins` (Zou and Donner, Statistics in Medicine, 2008):

        .. math:: c^\top \hat p + \sqrt{\sum_{ij} m_i \rho_{ij} m_j}, \quad m_i = c_i (L_i - \hat
            p_i)

        with :math:`L_i` the upper limit if the factor is positive and the lower one if negative.
        """
        low, high = self.limits(level)
        margins = self._contrast_margins(contrasts, high - self.values, self.values - low)
        return contrasts @ self.values + margins

    def upper_up_to(
        self, contrasts: sparse.csr_array, level: float, bounds: np.ndarray | float
    ) -> np.ndarray:
        """Upper limit of each linear form, as in `upper`, or its bound where that is smaller."""
        return np.minimum(self.upper(contrasts, level), bounds)

    def largest_upper(self, contrasts: sparse.csr_array, level: float) -> float:
        """Largest upper limit of a linear form, as in `upper`; 0 if none is above 0."""
        return float(self.upper(contrasts, level).max(initial=0.0))

    def _contrast_margins(
        self, contrasts: sparse.csr_array, above: np.ndarray, below: np.ndarray
    ) -> np.ndarray:
        """Root of the quadratic form of margins in each linear form.

        `above` and `below`, (n_events,), are the margins of positive and of negative factors.
        """
        factors = contrasts.data
        event = contrasts.indices
        n = contrasts.shape[0]
        reach = np.where(factors > 0, above[event], below[event])
        # A limit may be at infinity, where a factor of 0 counts as no factor.
        margins = np.multiply(factors, reach, out=np.zeros(len(factors)), where=factors != 0)
        row = np.repeat(np.arange(n), np.diff(contrasts.indptr))
        if self.correlation is None:
            return np.sqrt(np.bincount(row, margins**2, n))
        matrix = sparse.csr_array((margins, event, contrasts.indptr), shape=contrasts.shape)
        # Infinite where a limit is.
        with np.errstate(invalid="ignore"):
            squares = np.bincount(row, margins * (matrix @ self.correlation)[row, event], n)
        return np.sqrt(np.where(np.isnan(squares), np.inf, np.maximum(squares, 0.0)))


def correlation_of(covariance: np.ndarray) -> np.ndarray:
    """The correlation matrix of a covariance matrix; 0 where a variance is."""
    errors = np.sqrt(np.diag(covariance))
    scale = np.outer(errors, errors)
    correlation = np.divide(covariance, scale, out=np.zeros_like(scale), where=scale > 0)
    np.fill_diagonal(correlation, 1.0)
    return correlation


class _EventMeans(Estimates):
    """Weighted means of the values `x` of the samples over `events`.

    Samples of equal code in `units` are not independent, such as those of one person; None if all
    are. `counts` are the samples of each event, and `n_units` its units, which limits count.
    """

    def __init__(self, events: Events, x: np.ndarray, units: np.ndarray | None = None) -> None:
        n_events = events.n_events
        counts = events.member_counts
        self.counts = np.bincount(events.memberships[1], counts, n_events).astype(np.intp)
        events, x, units = join_units(events, x, units)
        positions, event, shares = events.memberships
        # A row of n samples, of weight w together, has n squared weights (w / n)^2.
        n = events.member_counts
        self.n_units = np.bincount(event, n, n_events).astype(np.intp)
        kish = 1.0 / np.bincount(event, shares**2 / n, n_events)
        # Equal weights are shares of 1 / n_units each.
        relative = shares / n * self.n_units[event]
        self.is_weighted = bool((np.abs(relative - 1.0) > _ROUNDING_OF_WEIGHTS).any())
        # Equal weights are counted, so that rounding never exceeds the range of the values.
        weights = shares if self.is_weighted else n
        totals = np.bincount(event, weights, n_events)
        self.values = np.bincount(event, weights * x[positions], n_events) / totals
        # Contribution of each sample to the error of a mean, by linearisation.
        deviations = shares * (x[positions] - self.values[event])
        self._error_variances = np.bincount(event, deviations**2 / n, n_events)
        self._error_third_moments = np.bincount(event, deviations**3 / n**2, n_events)
        # The correlation needs the contributions if samples, or units, are in several events.
        self._unit_contributions = None
        unit = positions if units is None else units[positions]
        if len(unit) and np.bincount(unit).max() > 1:
            shape = n_events, unit.max() + 1
            entries = deviations / np.sqrt(n), (event, unit)
            self._unit_contributions = sparse.csr_array(entries, shape=shape)
        self._set_sizes(kish)

    def _set_sizes(self, kish: np.ndarray) -> None:
        """Set the effective sample sizes, of which `kish` are Kish's."""
        self.sizes = self.n_units.astype(float)
        if self.is_weighted:
            self.sizes = self._effective_sizes(kish)
        effect = float(np.max(self.n_units / self.sizes))
        if effect > _LARGE_DESIGN_EFFECT:
            warn(
                f"The sample weights are so uneven that {effect:.1f} samples count as one of equal "
                f"weight (a design effect above {_LARGE_DESIGN_EFFECT:g}): limits then hold less "
                "often than stated. Trim the largest weights, or pass a higher confidence_level."
            )

    def _effective_sizes(self, kish: np.ndarray) -> np.ndarray:
        return kish

    @property
    def standard_errors(self) -> np.ndarray:
        """Root of the variance of each mean."""
        return np.sqrt(self._error_variances)

    @cached_property
    def correlation(self) -> np.ndarray | None:  # type: ignore[override]
        """Correlation of the means; None if the events share no samples."""
        if self._unit_contributions is None:
            return None
        return correlation_of((self._unit_contributions @ self._unit_contributions.T).toarray())

    def _quantile(self, level: np.ndarray | float) -> np.ndarray | float:
        """Quantile of the normal distribution, of Student's for weighted samples."""
        if not self.is_weighted:
            return special.ndtri(level)
        return special.stdtrit(np.maximum(self.sizes - 1.0, 1.0), level)


class Rates(_EventMeans):
    """Means of zeros and ones, with Wilson's limits, or exact ones for few successes or failures.

    The size of weighted samples is the smaller of Kish's and the linearised effective one.
    """

    interval = "Wilson or exact"
    are_rates = True

    def _effective_sizes(self, kish: np.ndarray) -> np.ndarray:
        variances = self.values * (1.0 - self.values)
        linearised = np.divide(
            variances, self._error_variances, out=kish * 1.0, where=self._error_variances > 0
        )
        return np.minimum(kish, linearised)

    @property
    def standard_errors(self) -> np.ndarray:
        """Root of r (1 - r) / n of each rate r."""
        return np.sqrt(self.values * (1.0 - self.values) / self.sizes)

    @property
    def hits(self) -> np.ndarray:
        """Successes in each event, (n_events,)."""
        return np.rint(self.values * self.sizes)

    @classmethod
    def from_sums(cls, hits: np.ndarray, misses: np.ndarray) -> Rates:
        """Rates of events that share no samples, from sums over the samples of value 1 and 0.

        `hits` and `misses` have shape (n_events, 3): number, weight and squared weight.
        """
        rates = cls.__new__(cls)
        hits = np.asarray(hits)
        misses = np.asarray(misses)
        rates.counts, totals, squares = (hits + misses).T
        # Sums have rounding, and at ties a part of a sample may count.
        integers = np.rint(rates.counts)
        rates.n_units = np.where(
            np.isclose(rates.counts, integers, rtol=1e-9), integers, rates.counts
        )
        # Weights that differ by a share d lower Kish's size by about d^2.
        kish = totals**2 / squares
        rates.is_weighted = bool((kish < rates.counts * (1.0 - _ROUNDING_OF_SUMS)).any())
        column = 1 if rates.is_weighted else 0
        rates.values = hits[:, column] / (hits + misses)[:, column]
        deviations = hits[:, 2] * (1.0 - rates.values) ** 2 + misses[:, 2] * rates.values**2
        rates._error_variances = deviations / totals**2
        rates._unit_contributions = None
        rates._set_sizes(kish)
        return rates

    def limits(self, level: np.ndarray | float) -> tuple[np.ndarray, np.ndarray]:
        """Wilson's or exact limits, as in `Estimates.limits`; levels may differ by event."""
        return rate_limits(self.values, self.sizes, level, self._quantile(level))

    def upper(self, contrasts: sparse.csr_array, level: float) -> np.ndarray:
        """Upper limit of each linear form, as in `Estimates.upper`.

        Margins that add up like standard errors are too small where both rates are skewed to the
        same side, as one near 0 and one near 1 are: of 30 and 30 samples with rates of .01 and .99
        an interval at .95 errs 1.5 times as often as stated (``python -m benchmarks tails``). So
        the difference of two rates has an exact limit, unless both groups are large.
        """
        return self.upper_up_to(contrasts, level, np.inf)

    def upper_up_to(
        self, contrasts: sparse.csr_array, level: float, bounds: np.ndarray | float
    ) -> np.ndarray:
        """Upper limits, or bounds where these are smaller, as in `Estimates.upper_up_to`."""
        limits = np.minimum(super().upper(contrasts, level), bounds)
        bounds = np.broadcast_to(bounds, limits.shape)
        for row, hits, n in self._list_exact_pairs(contrasts):
            # Exact limits are the larger ones, so that a limit at its bound stays there.
            if limits[row] < bounds[row]:
                exact = min(limit_difference(hits, n, level), bounds[row])
                limits[row] = max(limits[row], exact)
        return limits

    def largest_upper(self, contrasts: sparse.csr_array, level: float) -> float:
        """Largest upper limit of a linear form, as in `Estimates.largest_upper`."""
        limits = super().upper(contrasts, level)
        largest = float(limits.max(initial=0.0))
        # In this order most exact limits are known not to be the largest, and need no search.
        for _, hits, n in sorted(
            self._list_exact_pairs(contrasts), key=lambda one: -limits[one[0]]
        ):
            if is_limit_above(hits, n, level, largest):
                largest = max(largest, limit_difference(hits, n, level))
        return largest

    def _list_exact_pairs(
        self, contrasts: sparse.csr_array
    ) -> list[tuple[int, tuple[int, int], tuple[int, int]]]:
        """Rows with exact limits, and the successes and sizes of both groups of each."""
        if self.is_weighted or self.correlation is not None:
            return []
        rows = np.flatnonzero(np.diff(contrasts.indptr) == 2)
        entries = contrasts.indptr[rows, np.newaxis] + np.arange(2)
        factors = contrasts.data[entries]
        is_difference = (factors.sum(axis=1) == 0.0) & (np.abs(factors).sum(axis=1) == 2.0)
        rows, entries, factors = rows[is_difference], entries[is_difference], factors[is_difference]
        if len(rows) > _MAX_EXACT_PAIRS or not len(rows):
            return []
        # The rate of the factor 1 comes first.
        pairs = np.take_along_axis(contrasts.indices[entries], (-factors).argsort(axis=1), axis=1)
        n = self.n_units[pairs]
        is_exact = (n == np.rint(n)).all(axis=1) & (n.min(axis=1) <= _LARGEST_EXACT_GROUP)
        hits, n = (one.astype(int)[pairs[is_exact]].tolist() for one in (self.hits, self.n_units))
        return list(zip(rows[is_exact].tolist(), map(tuple, hits), map(tuple, n), strict=True))

    def are_exact(self, contrasts: sparse.csr_array) -> bool:
        """Whether the limits of all these linear forms are exact."""
        return len(self._list_exact_pairs(contrasts)) == contrasts.shape[0]


_MAX_EXACT_PAIRS = 200
"""Differences of pairs of groups up to which limits are exact."""

_LARGEST_EXACT_GROUP = 2_000
"""Samples of the smaller group of a pair above which limits are Newcombe's.

They are then within .001 of exact ones, which would take most of the time of a report.
"""


class TransformedEstimates(Estimates):
    """Functions of several estimates, one by one."""

    def __init__(self, estimates: Estimates, values: np.ndarray) -> None:
        self.estimates = estimates
        self.values = values
        self.counts = estimates.counts
        self.sizes = estimates.sizes
        self.correlation = estimates.correlation

    @property
    def has_unreliable_limits(self) -> np.ndarray:
        """Mask of the estimates whose limits are known to hold less often than stated."""
        return self.estimates.has_unreliable_limits


class RatesAgainstBound(TransformedEstimates):
    """Rates, each of which is compared with a bound.

    The limits are exact ones, or Wilson's if these are wider.
    """

    def __init__(self, rates: Estimates) -> None:
        super().__init__(rates, rates.values)

    def limits(self, level: float) -> tuple[np.ndarray, np.ndarray]:
        """Limits of the rates, as in `Estimates.limits`."""
        rates = self.estimates
        low, high = rates.limits(level)
        exact_low, exact_high = clopper_pearson_limits(
            rates.values * rates.sizes, rates.sizes, level
        )
        return np.minimum(low, exact_low), np.maximum(high, exact_high)


class LogMeans(TransformedEstimates):
    """Logarithms of means, whose differences are ratios; the gap is 1 minus the smallest ratio.

    A lower limit that is not above 0 is at minus infinity. `smallest`, (n_events,), replaces means
    of 0; they raise an error where it is 0.
    """

    def __init__(self, means: Estimates, smallest: np.ndarray | float = 0.0) -> None:
        values = np.where(means.values > 0, means.values, smallest)
        if not values.min(initial=1.0) > 0:
            raise ValueError(
                "A ratio compares means above 0, such as those of losses or premiums, but the "
                f"mean of a group is {means.values.min():g}. Bound the difference by a tolerance "
                "instead."
            )
        super().__init__(means, np.log(values))

    def limits(self, level: float) -> tuple[np.ndarray, np.ndarray]:
        """Logarithms of the limits of the means, as in `Estimates.limits`."""
        low, high = self.estimates.limits(level)
        with np.errstate(divide="ignore"):
            low = np.log(np.maximum(low, 0.0))
            high = np.log(np.maximum(high, 0.0))
        return low, np.maximum(high, self.values)

    def gap(self, form: float) -> float:
        """1 minus the ratio whose logarithm is minus the form."""
        return -np.expm1(-form)


class LogRates(LogMeans):
    """Logarithms of rates.

    A rate of 0 is replaced by half a success, and its lower limit is minus infinity. The limits of
    the rates are exact ones, or Wilson's if these are wider: made of them, one-sided limits of
    ratios err at most 1.05 times as often as stated at .95. Far out in the tails they err more
    often than stated where a small group has a rate near 1 (``python -m benchmarks tails``).
    Without `are_exact` they are those of `Rates`, which suffice for changes of a ratio on the same
    samples.
    """

    def __init__(self, rates: Estimates, are_exact: bool = True) -> None:
        limited = RatesAgainstBound(rates) if are_exact else rates
        super().__init__(limited, 0.5 / (rates.sizes + 1.0))


class ComplementEstimates(TransformedEstimates):
    """A largest value less each of several estimates."""

    def __init__(self, estimates: Estimates, largest: float) -> None:
        super().__init__(estimates, largest - estimates.values)
        self._largest = largest
        self.are_rates = estimates.are_rates

    def limits(self, level: float) -> tuple[np.ndarray, np.ndarray]:
        """The largest value less the limits, as in `Estimates.limits`."""
        low, high = self.estimates.limits(level)
        return self._largest - high, self._largest - low

    def upper(self, contrasts: sparse.csr_array, level: float) -> np.ndarray:
        """Upper limits of linear forms: those of the negative forms, and a constant."""
        constants = self._largest * np.asarray(contrasts.sum(axis=1)).ravel()
        return constants + self.estimates.upper(-contrasts, level)


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

    n equal values of an event say that others have a share of at most :math:`1 - \alpha^{1/n}`,
    and nothing of their size. Limits let them be the smallest and the largest value of all events.
    Where all values of all events are equal, as those of a constant model, limits are this value.

    References
    ----------
    .. [1] P. Hall, "On the removal of skewness by transformation", Journal of the Royal Statistical
       Society B 54, 1992.
    """

    interval = "Student or Hall"

    def __init__(self, events: Events, x: np.ndarray, units: np.ndarray | None = None) -> None:
        super().__init__(events, x, units)
        self._smallest, self._largest = float(x.min()), float(x.max())

    @cached_property
    def _variances(self) -> np.ndarray:
        """Squared standard errors, with Bessel's correction."""
        return self._error_variances * self.sizes / np.maximum(self.sizes - 1.0, 1e-300)

    @property
    def standard_errors(self) -> np.ndarray:
        """Standard deviation over the root of the effective size."""
        return np.sqrt(self._variances)

    @cached_property
    def skewness(self) -> np.ndarray:
        """Skewness of each mean, (n_events,); 0 where all values are equal."""
        scale = self._variances**1.5
        return np.divide(
            self._error_third_moments, scale, out=np.zeros_like(scale), where=scale > 0
        )

    def limits(self, level: float) -> tuple[np.ndarray, np.ndarray]:
        """Limits of each mean, as in `Estimates.limits`; infinite for a single sample."""
        each = sparse.eye_array(len(self.values), format="csr")
        return -self.upper(-each, level), self.upper(each, level)

    def upper(self, contrasts: sparse.csr_array, level: float) -> np.ndarray:
        """Upper limit of each linear form, as in `Estimates.upper`, by Hall's transformation."""
        # With almost no degrees of freedom the quantile may be infinite, whose multiples are nan.
        t = np.minimum(special.stdtrit(np.maximum(self.sizes - 1.0, 1e-300), level), 1e100)
        errors = np.sqrt(self._variances)
        student = np.where(self.n_units < 2, np.inf, t * errors)
        below, above = student + self._constant_margins(level)
        margin = self._contrast_margins(contrasts, above, below)
        error = self._contrast_margins(contrasts, errors, errors)
        # Quantile of the form in its own standard errors; 0 if all its values are equal.
        has_spread = (error > 0.0) & np.isfinite(margin)
        quantile = np.divide(margin, error, out=np.zeros(len(error)), where=has_spread)
        distance = _hall_quantile(quantile, self._upper_tail_skewness(contrasts, errors))
        distance = np.maximum(quantile, distance)
        return contrasts @ self.values + np.where(has_spread, distance * error, margin)

    def _constant_margins(self, level: float) -> np.ndarray:
        """Margins below and above means of equal values, (2, n_events); 0 where values differ."""
        scale = max(abs(self._smallest), abs(self._largest))
        is_constant = (self.standard_errors <= 1e-12 * scale) & (self.n_units > 1)
        share = np.where(is_constant, 1.0 - (1.0 - level) ** (1.0 / self.sizes), 0.0)
        reach = np.stack((self.values - self._smallest, self._largest - self.values))
        return share * np.maximum(reach, 0.0)

    def _upper_tail_skewness(self, contrasts: sparse.csr_array, errors: np.ndarray) -> np.ndarray:
        """Skewness of each linear form, of the means with a long tail above it."""
        factors = contrasts.data
        event = contrasts.indices
        n = contrasts.shape[0]
        row = np.repeat(np.arange(n), np.diff(contrasts.indptr))
        # Shares in the variance: by the spread of each mean, and by sample sizes alone.
        variances = factors**2 * (errors[event] ** 2, 1.0 / self.sizes[event])
        totals = np.array([np.bincount(row, one, n)[row] for one in variances])
        shares = np.divide(variances, totals, out=np.zeros_like(totals), where=totals > 0)
        skewness = self.skewness * (1.0 + 4.0 * np.abs(self.skewness))
        # The corrected skewness counts up to .68.
        above = np.clip(np.sign(factors) * skewness[event], 0.0, 0.68)
        return np.bincount(row, above * shares.max(axis=0) ** 1.5, n)

    @property
    def has_unreliable_limits(self) -> np.ndarray:
        """Mask of the means of values too skewed for so few samples, or all equal in one event."""
        is_constant = (self._error_variances == 0.0) & (self.n_units > 1)
        # If all are constant they are so by construction, such as predictions of a constant model.
        is_suspect = is_constant & ~is_constant.all()
        # The skewness of a mean is that of its values over the root of their number.
        return is_suspect | (np.abs(self.skewness) > 0.5)


def _hall_quantile(t: np.ndarray, skewness: np.ndarray) -> np.ndarray:
    """Return by how many standard errors Hall's upper limit exceeds the mean."""
    is_symmetric = np.abs(skewness) < 1e-6
    # There g (t + g / 6) is 9 / 8. For an even larger skewness the distance would decrease again.
    largest = 2.25 / (np.sqrt(t**2 + 0.75) + t)
    g = np.where(is_symmetric, 1.0, np.minimum(skewness, largest))
    return np.where(is_symmetric, t, 3.0 / g * (1.0 - np.cbrt(1.0 - g * (t + g / 6.0))))


# Contrasts: linear forms of the means whose largest value is the gap.


_MAX_GROUPS = 1000
"""Number of groups up to which every pair is compared."""


def pairwise_contrasts(n_events: int) -> sparse.csr_array:
    """Differences of every ordered pair of events, one per row of a csr_array."""
    if n_events > _MAX_GROUPS:
        raise ValueError(
            f"There must be at most {_MAX_GROUPS} groups, for every pair is compared; got "
            f"{n_events}. Merge groups, or leave small ones out."
        )
    first, second = np.nonzero(~np.eye(n_events, dtype=bool))
    return contrast_matrix(first, second, n_events)


def contrast_matrix(first: np.ndarray, second: np.ndarray, n_events: int) -> sparse.csr_array:
    """Differences of the first of each pair of events to the second, one per row of a csr_array."""
    rows = np.repeat(np.arange(first.size), 2)
    factors = np.tile([1.0, -1.0], first.size)
    columns = np.stack((first, second), axis=-1).ravel()
    return sparse.csr_array((factors, (rows, columns)), shape=(first.size, n_events))


_SCREEN_ERROR_SHARE = 0.1
"""Share of an error that each of two screens of pairs takes, and each limit of a single gap."""


def change_upper_limit(
    estimates: Estimates, before: sparse.csr_array, after: sparse.csr_array, level: float
) -> float:
    r"""Upper limit, at the level, of the gap of the forms `after` minus that of the forms `before`.

    With :math:`D_t` the differences of all ordered pairs of groups at two times,

    .. math::

        \max D_2 - \max D_1 \le D_2(i, j) - \max(D_1(i, j), D_1(j, i), 0)

    for the pair (i, j) that attains the second gap. A first screen keeps the pairs that may attain
    it. A second one selects which of the three terms to subtract, by the sign of
    :math:`D_1(i, j)`. Each takes a tenth of the error. Where the sign is not known all three are
    limits: the smallest one, with the error divided among them, holds. The largest limit of the
    pairs that are left bounds the change at the rest of the error: only the pair that attains the
    gap has to be covered.

    Of three groups or more, a pair that does not change may attain the second gap, and another one
    the first. Then

    .. math:: \max D_2 - \max D_1 \le D_2(i, j) - D_1(k, l)

    may be the smaller limit, for any pair (k, l), such as the one of the largest difference here.
    Three quarters of the error are divided among all of these. Of two groups a gap that becomes
    smaller has the whole error. Both arrays of forms, csr_arrays, have the same pairs in the same
    order.
    """
    error = 1.0 - level
    if before.shape[0] > 2:
        share = _FIXED_PAIRS_ERROR_SHARE
        apart = limit_against_fixed_pairs(estimates, before, after, share * error)
        error *= 1.0 - share
    else:
        apart = _limit_fall_of_two(estimates, before, after, level)
    screen = 1.0 - _SCREEN_ERROR_SHARE * error / 2.0
    # First screen: the pairs that may attain the second gap.
    each = 1.0 - (1.0 - screen) / after.shape[0]
    low = -estimates.upper_up_to(-after, each, 0.0).min()
    may_attain = estimates.upper_up_to(after, screen, low) >= low
    # Second screen: the sign of the first difference.
    is_above = estimates.upper_up_to(-before, screen, 0.0) < 0.0
    is_below = estimates.upper_up_to(before, screen, 0.0) < 0.0
    # Limits with the term of the known sign, at the error that is left.
    rest = (1.0 - 2.0 * _SCREEN_ERROR_SHARE) * error
    same_sign, opposite_sign = after - before, after + before
    limits = np.where(
        is_above,
        estimates.upper(same_sign, 1.0 - rest),
        estimates.upper(opposite_sign, 1.0 - rest),
    )
    # The smallest limit of all three terms, at a third of the error, where the sign is not known.
    third = 1.0 - rest / 3.0
    smaller = np.minimum(estimates.upper(same_sign, third), estimates.upper(opposite_sign, third))
    is_either = may_attain & ~is_above & ~is_below
    smallest = estimates.upper_up_to(after, third, np.where(is_either, smaller, -np.inf))
    limits = np.where(is_either, smallest, limits)
    return float(min(limits[may_attain].max(), apart))


def _limit_fall_of_two(
    estimates: Estimates, before: sparse.csr_array, after: sparse.csr_array, level: float
) -> float:
    r"""Upper limit, below 0, of the change of the gap of two groups; infinity if there is none.

    With :math:`D_t` the difference of both groups,

    .. math:: |D_2| - |D_1| = \min_s \max(D_2 - s D_1, -D_2 - s D_1), \quad s = \pm 1.

    For each sign s both forms have to be below 0, so that neither has a part of the error (Berger,
    Technometrics, 1982). Limits of both signs are rarely wrong together: unless the forms are
    highly correlated, as where the second gap is known, the error of both is that of one.
    """
    # The rows of each array are the two signs, since the second row of differences is -D_t.
    forms = after - before, -after - before
    uppers = np.array([estimates.upper(one, level) for one in forms])
    sign = uppers.max(axis=0).argmin()
    high = uppers[:, sign].max()
    if high >= 0.0:
        return np.inf
    # Correlation of both forms, by their margins and by that of half their sum, -s D_1.
    one, other, half = (
        estimates.upper(form[[sign]], level)[0] - (form[[sign]] @ estimates.values)[0]
        for form in (*forms, -before)
    )
    is_correlated = 4.0 * half**2 - one**2 - other**2 > 2.0 * _MAX_CORRELATION * one * other
    return np.inf if is_correlated else float(high)


_MAX_CORRELATION = 0.5
"""Correlation of two limits up to which the error of either is that of one."""


def limit_against_fixed_pairs(
    estimates: Estimates, before: sparse.csr_array, after: sparse.csr_array, error: float
) -> float:
    """The smallest limit of the second gap less one difference of the first.

    Any pair could have been taken, so that each has its share of the error, and a single one has
    all of it. A form without entries, which is 0 where no group is worse, is no pair.
    """
    is_pair = np.diff(before.indptr) > 0
    n_pairs = int(is_pair.sum())
    differences = np.where(is_pair, before @ estimates.values, -np.inf)
    largest = np.argsort(-differences)[: min(n_pairs, _N_FIXED_PAIRS)]
    every = sparse.csr_array(np.ones((before.shape[0], 1)))
    return min(
        estimates.upper(after - every @ before[[pair]], 1.0 - error / n_pairs).max()
        for pair in largest
    )


_FIXED_PAIRS_ERROR_SHARE = 0.75
"""Share of an error that limits against fixed pairs take, where there are three groups or more."""

_N_FIXED_PAIRS = 3
"""Pairs of the largest differences that are tried."""
