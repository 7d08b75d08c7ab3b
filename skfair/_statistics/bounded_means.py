"""Limits of means of values in a known range, which are made for every distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import optimize, sparse, special

from skfair._groups.events import Events, join_units
from skfair._statistics.estimates import Means, Rates, _EventMeans

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skfair._statistics.estimates import Estimates


_SMALLEST_TILT = 1e-4
"""Logarithm of the tilt, nearly that of the mean."""

_LARGEST_TILT = 34.0
"""Logarithm of the tilt, nearly that of the upper end."""


_N_TILTS = 100
"""Tilts of a table of limits, whose normal quantiles are then 14 % apart."""


class ValueRange(NamedTuple):
    """What is known of values beforehand: their range, and those that units order."""

    low: float
    high: float
    ranked: np.ndarray | None = None  # (n_samples,): values of each unit, in any order


class BoundedMeans(_EventMeans):
    r"""Means of values in a known range, with limits that do not rely on values that were seen.

    A rare large value may be missing in the sample: Student's limits are then far too low. Gaffke's
    limit ([1]_) is the quantile of :math:`\sum_i w_i x_i`, with the upper end of the range as one
    more value, and weights w that are uniform on the simplex. Of zeros and ones it is Clopper and
    Pearson's. No distribution is known for which it holds less often than stated. The quantile is
    computed by a saddlepoint approximation ([2]_).

    Of units of several samples it is that of their means. Where events share a tenth of their
    units or more, as two groups in the same rankings, a difference of means is a mean of one value
    for each unit too, and has Gaffke's limit. The value of a unit is linearised: it weighs its
    deviations from both means by its weight in them. Other forms combine the limits of means. Where
    the values of a unit are those of ``ranked`` in some order, as the attention of a ranking is,
    their means have a narrower range than single values.

    References
    ----------
    .. [1] N. Gaffke, "Three test statistics for a nonparametric one-sided hypothesis on the mean of
       a nonnegative variable", Mathematical Methods of Statistics 14, 2005.
    .. [2] R. Lugannani and S. Rice, "Saddle point approximation for the distribution of the sum of
       independent random variables", Advances in Applied Probability 12, 1980.
    """

    interval = "Gaffke, combined"

    def __init__(
        self,
        events: Events,
        x: np.ndarray,
        value_range: ValueRange | tuple[float, float],
        units: np.ndarray | None = None,
    ) -> None:
        super().__init__(events, x, units)
        low, high, ranked = ValueRange(*value_range)
        of_samples = units
        joined, x, units = join_units(events, x, units)
        positions, self._event, shares = joined.memberships
        self._width = high - low
        self._low = low
        self._x = (x[positions] - low) / self._width
        self._numbers = shares * self.sizes[self._event]
        self.are_rates = units is not None and (low, high) == (0.0, 1.0)
        self._shares = None
        if units is not None and self.correlation is not None:
            # Correlations above 0 make limits narrower, by more than they are known.
            self.correlation = np.minimum(self.correlation, np.eye(len(self.values)))
            places = self._event, units[positions]
            self._shares = sparse.csr_array((shares, places))
            self._totals = sparse.csr_array((shares * self._x, places))
            ends = np.array([[0.0], [1.0]]) * np.ones(len(positions))
            if ranked is not None and of_samples is not None:
                ends = _ends_of_means(events, of_samples, (ranked - low) / self._width, places)
            self._lows, self._highs = (sparse.csr_array((shares * end, places)) for end in ends)

    def limits(self, level: float) -> tuple[np.ndarray, np.ndarray]:
        """Limits of each mean, as in `Estimates.limits`."""
        ends = np.empty((2, len(self.values)))
        for number in range(len(self.values)):
            is_member = self._event == number
            x = self._x[is_member]
            numbers = self._numbers[is_member]
            ends[:, number] = (
                1.0 - upper_mean(1.0 - x, numbers, level),
                upper_mean(x, numbers, level),
            )
        low, high = self._low + self._width * ends
        return low, high

    def draw_means(self, z: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Means drawn from the confidence distribution of the limits, for other sample sizes.

        `z`, (n_events, n_draws), are normal: a drawn mean is the limit at the probability of its z.
        `sizes`, (n_events,), replace the effective sample sizes.
        """
        means = np.empty(z.shape)
        for number, size in enumerate(sizes):
            is_member = self._event == number
            x = self._x[is_member]
            numbers = self._numbers[is_member] * size / self.sizes[number]
            above = _limits_at_quantiles(z[number], x, numbers)
            below = 1.0 - _limits_at_quantiles(-z[number], 1.0 - x, numbers)
            means[number] = np.where(z[number] > 0.0, above, below)
        return self._low + self._width * means

    def upper(self, contrasts: sparse.csr_array, level: float) -> np.ndarray:
        """Upper limit of each linear form, as in `Estimates.upper`."""
        limits = super().upper(contrasts, level)
        if self._shares is None:
            return limits
        for row in range(contrasts.shape[0]):
            form = contrasts[[row]]
            paired = self._upper_of_units(form, level)
            limits[row] = limits[row] if paired is None else self._width * paired
        return limits

    def _upper_of_units(self, form: sparse.csr_array, level: float) -> float | None:
        """Upper limit of a form as a mean of differences within units; None where few have both.

        The form is the mean of the events with positive factors minus that of the others, in the
        unit of the range of values.
        """
        sides = form.maximum(0), (-form).maximum(0)
        weights = [(side @ self._shares).toarray().ravel() for side in sides]
        totals = [(side @ self._totals).toarray().ravel() for side in sides]
        total = weights[0].sum()
        # A form of no mean at all, whose signs cancel, is no difference.
        if total == 0.0 or not np.isclose(total, weights[1].sum()):
            return None
        # Means are differences within units if these have a tenth of the weight of both.
        if np.minimum(*weights).sum() < 0.1 * total:
            return None
        # Contribution of each unit: deviations from the means of both sides, by its weight in them.
        first, second = (one.sum() / total for one in totals)
        unit = np.flatnonzero(weights[0] + weights[1])
        size = (weights[0] + weights[1])[unit] / 2.0
        centers = second * weights[1] - first * weights[0]
        differences = first - second + (totals[0] - totals[1] + centers)[unit] / size
        # Ends of their range: values of one side are as large as they can be, the others as small.
        highs = [(side @ self._highs).toarray().ravel() for side in sides]
        lows = [(side @ self._lows).toarray().ravel() for side in sides]
        high = first - second + ((highs[0] - lows[1] + centers)[unit] / size).max()
        low = first - second + ((lows[0] - highs[1] + centers)[unit] / size).min()
        numbers = size * total / (size @ size)
        mean = upper_mean((differences - low) / (high - low), numbers, level)
        return total * (low + (high - low) * mean)


def _ends_of_means(
    events: Events, units: np.ndarray, ranked: np.ndarray, places: tuple[np.ndarray, ...]
) -> np.ndarray:
    """Smallest and largest mean of the samples of each event in each unit, (2, n_places).

    The values of a unit are those of ``ranked`` in any order. Of samples with unequal weights the
    ends are those of single values.
    """
    positions, event, shares = events.memberships
    n_units = units.max() + 1
    at = event * n_units + units[positions]
    n_cells = events.n_events * n_units
    n = np.bincount(at, minlength=n_cells)
    smallest = np.full(n_cells, np.inf)
    largest = np.zeros(n_cells)
    np.minimum.at(smallest, at, shares)
    np.maximum.at(largest, at, shares)
    n = np.where(np.isclose(smallest, largest), n, 1)[places[0] * n_units + places[1]]
    # Sums of the first values of each unit, in rising order.
    order = np.lexsort((ranked, units))
    sums = np.append(0.0, np.cumsum(ranked[order]))
    last = np.cumsum(np.bincount(units, minlength=n_units))[places[1]]
    first = last - np.bincount(units, minlength=n_units)[places[1]]
    return np.array([sums[first + n] - sums[first], sums[last] - sums[last - n]]) / n


def make_estimates(
    events: Events,
    x: np.ndarray,
    units: np.ndarray | None = None,
    known: Sequence[float] | np.ndarray | None = None,
) -> Estimates:
    """Return `Rates` of values 0 and 1, `BoundedMeans` of known values, or `Means`.

    `x` are the values of the samples, (n_samples,). `known` are all values that samples can have,
    where these are few, such as the costs of the four outcomes; None if they are not known.
    Samples of equal code in `units`, (n_samples,), depend on one another. Where an event has
    several samples of a unit, means of zeros and ones are `BoundedMeans` too.
    """
    x = np.asarray(x, dtype=float)
    possible = x if known is None else known
    if np.isin(possible, (0.0, 1.0)).all():
        has_single_samples = join_units(events, x, units)[0] is events
        if has_single_samples:
            return Rates(events, x, units)
        return BoundedMeans(events, x, (0.0, 1.0), units)
    if known is None:
        return Means(events, x, units)
    return BoundedMeans(events, x, (min(possible), max(possible)), units)


def upper_mean(x: np.ndarray, numbers: np.ndarray, level: float) -> float:
    """Gaffke's upper limit of the mean of values between 0 and 1, of which so many are observed."""
    x, numbers = _add_upper_end(x, numbers)
    mean, probability = _tilt(_SMALLEST_TILT, x, numbers)
    if probability >= level:
        return float(mean)
    _, probability = _tilt(_LARGEST_TILT, x, numbers)
    if probability <= level:
        return 1.0
    root = optimize.brentq(
        lambda exponent: _tilt(exponent, x, numbers)[1] - level, _SMALLEST_TILT, _LARGEST_TILT
    )
    mean, _ = _tilt(root, x, numbers)
    return float(mean)


def _add_upper_end(x: np.ndarray, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct values, in rising order and with one more at 1, and how often each is observed."""
    values, at = np.unique(np.clip(np.append(x, 1.0), 0.0, 1.0), return_inverse=True)
    return values, np.bincount(at, np.append(numbers, 1.0))


def _limits_at_quantiles(z: np.ndarray, x: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Limits of `upper_mean` at the levels of normal quantiles, interpolated in a table."""
    tilts = np.geomspace(_SMALLEST_TILT, _LARGEST_TILT, _N_TILTS)[:, np.newaxis]  # (n_tilts, 1)
    means, probabilities = _tilt(tilts, *_add_upper_end(x, numbers))
    # Where all values are at the upper end the limit has probability 1 at any tilt.
    quantiles = special.ndtri(np.clip(probabilities, 0.0, 1.0 - 1e-16))
    return np.interp(z, quantiles, means)


def is_mean_below(bound: float, x: np.ndarray, numbers: np.ndarray, level: float) -> np.ndarray:
    """Mask of the rows of `numbers` of which `upper_mean` is at most the bound; x ends with 1."""
    numbers = numbers + (np.arange(len(x)) == len(x) - 1)
    low = np.full((len(numbers), 1), _SMALLEST_TILT)
    high = np.full((len(numbers), 1), _LARGEST_TILT)
    # Bisect the tilt in 40 steps.
    for _ in range(40):
        middle = (low + high) / 2.0
        weights = numbers / (1.0 + np.expm1(-middle) * x)
        is_below = (weights @ x < bound * weights.sum(axis=1))[:, np.newaxis]
        low = np.where(is_below, middle, low)
        high = np.where(is_below, high, middle)
    mean, probability = _tilt(low, x, numbers)
    return (mean <= bound) & (probability >= level)


def _tilt(
    exponent: np.ndarray | float, x: np.ndarray, numbers: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """A mean, and the probability that the random one is at most it, of each row of numbers."""
    c = -np.expm1(-exponent)
    weights = numbers / (1.0 - c * x)
    mean = (weights @ x / weights.sum(axis=-1))[..., np.newaxis]
    ratios = (1.0 - c * x) / (1.0 - c * mean)
    cumulant = -(numbers * np.log(ratios)).sum(axis=-1)
    variance = (numbers * ((x - mean) / ratios) ** 2).sum(axis=-1)
    distance = np.sqrt(np.maximum(0.0, -2.0 * cumulant))
    slope = (c / (1.0 - c * mean))[..., 0] * np.sqrt(variance)
    is_inside = np.minimum(distance, slope) > 0.0  # else all values are the upper end
    density = np.exp(-(distance**2) / 2.0) / np.sqrt(2.0 * np.pi)
    with np.errstate(divide="ignore", invalid="ignore"):
        probability = special.ndtr(distance) + density * (1.0 / distance - 1.0 / slope)
    return mean[..., 0], np.where(is_inside, probability, 1.0)
