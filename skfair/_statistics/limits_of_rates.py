"""Limits of a rate, and of the difference of two independent rates."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import optimize, special

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


# One-sided confidence limits of a single rate, and of a difference.


def combine_margins(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Margin of a difference: those of both add up like standard errors (Newcombe 1998)."""
    return np.hypot(one, other)


def wilson_limits(
    rates: np.ndarray, n: np.ndarray, z: np.ndarray | float
) -> tuple[np.ndarray, np.ndarray]:
    r"""Wilson's limits (1927) of rates: those p from which a rate is z standard errors away.

    For 2 successes of 2 the lower one is .34 at z = 1.96, where
    :math:`\hat p \pm z \sqrt{\hat p (1 - \hat p) / n}` is the point 1. They are nan where n is 0.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        extra = z**2 / n
        center = (rates + extra / 2) / (1 + extra)
        margin = np.sqrt(extra * (rates * (1 - rates) + extra / 4)) / (1 + extra)
    # For a rate of 0 or 1 one limit is the rate itself, up to rounding.
    return np.maximum(center - margin, 0.0), np.minimum(center + margin, 1.0)


_MAX_EXACT_COUNT = 3
"""Successes or failures up to which limits of a rate are exact."""


def rate_limits(
    rates: np.ndarray,
    n: ArrayLike,
    level: np.ndarray | float,
    z: np.ndarray | float | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Limits of rates: Wilson's, or Clopper and Pearson's where these are known to be needed.

    Wilson's lower limit of one success is too high: intervals of a difference made of it hold too
    seldom where a group has few samples and its rate is small. Far out in the tails it errs at any
    count: differences made of it err 12 times as often as stated at an error of .001, and 150 times
    at .00001 (``python -m benchmarks tails``). Levels that are divided among many comparisons are
    such levels. Below an error of .01 the wider one of both limits is taken, as for up to three
    successes or failures.

    Each of the two limits holds with the probability `level`. `z` is the quantile in Wilson's
    limits, by default the normal one.
    """
    hits = np.asarray(rates * n)
    n = np.asarray(n, dtype=float)
    low, high = wilson_limits(rates, n, special.ndtri(level) if z is None else z)
    is_exact = np.minimum(hits, n - hits) < _MAX_EXACT_COUNT + 0.5
    # All limits are exact for errors below .01.
    is_exact |= 1.0 - np.asarray(level) < 0.01
    exact_low, exact_high = clopper_pearson_limits(np.where(is_exact, hits, 0.0), n, level)
    low = np.where(is_exact, np.minimum(low, exact_low), low)
    return low, np.where(is_exact, np.maximum(high, exact_high), high)


def clopper_pearson_limits(
    hits: ArrayLike, n: ArrayLike, level: np.ndarray | float
) -> tuple[np.ndarray, np.ndarray]:
    """Exact limits of rates of `hits` out of `n`, each of the two at the level of the rate.

    C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits illustrated in the
    case of the binomial", Biometrika 26, 1934.
    """
    hits, n, level = np.broadcast_arrays(*(np.asarray(a, float) for a in (hits, n, level)))
    low = np.zeros(hits.shape)
    high = np.ones(hits.shape)
    misses = n - hits
    # Without hits the lower limit is 0, without misses the upper one is 1.
    special.betaincinv(hits, misses + 1, 1.0 - level, out=low, where=hits > 0)
    special.betaincinv(hits + 1, misses, level, out=high, where=misses > 0)
    return low, high


# Exact limits of a difference.


_OUTSIDE_SHARE = 0.02
"""Share of an error with which the true rates may lie outside the rectangle that is searched."""

_GRID_SHARE = 0.015
"""Share of an error by which a probability may rise between two points of the grid."""

_TAIL_SHARE = 1e-4
"""Share of an error of counts that are left out in each tail."""

_LIMIT_PRECISION = 1e-12
"""Precision of exact limits."""


class _Group(NamedTuple):
    """Successes in a group, with all rates that are searched and all counts that they make likely.

    `counts` has shape (n_counts,), as have the logarithms `n_ways` of binomial coefficients, and
    the margins of rates, `below` and `above`. `position` is that of the observed count.
    """

    n: int
    low: float
    high: float
    counts: np.ndarray
    n_ways: np.ndarray
    below: np.ndarray
    above: np.ndarray
    position: int

    def find_probabilities(self, rates: np.ndarray) -> np.ndarray:
        """Probability of each count at each rate, (n_counts, n_rates)."""
        inner = np.clip(rates, 1e-300, 1.0 - 1e-16)
        counts = self.counts[:, np.newaxis]
        logarithms = counts * np.log(inner) + (self.n - counts) * np.log1p(-inner)
        return np.exp(self.n_ways[:, np.newaxis] + logarithms)


@lru_cache(maxsize=64)
def _describe_group(hits: int, n: int, level: float) -> _Group:
    """The group of so many successes out of n."""
    error = 1.0 - level
    # Four tails share the probability of leaving the rectangle.
    low, high = map(float, clopper_pearson_limits(hits, n, 1.0 - _OUTSIDE_SHARE * error / 4.0))
    # By Bernstein's inequality counts are at most so far from their mean.
    bits = -np.log(_TAIL_SHARE * error)
    reach = [
        bits / 3.0 + np.sqrt(bits**2 / 9.0 + 2.0 * bits * n * p * (1.0 - p)) for p in (low, high)
    ]
    first, last = max(np.floor(n * low - reach[0]), 0.0), min(np.ceil(n * high + reach[1]), n)
    counts = np.arange(first, last + 1.0)
    n_ways = special.gammaln(n + 1.0) - special.gammaln([counts + 1.0, n - counts + 1.0]).sum(0)
    rates = counts / n
    least, most = rate_limits(rates, n, level)
    return _Group(n, low, high, counts, n_ways, rates - least, most - rates, int(hits - first))


class _Region(NamedTuple):
    """All counts of two groups that make Newcombe's limit no larger than the observed ones do.

    `largest` has the position of the largest first count for each second one; -1 where none is.
    """

    first: _Group
    second: _Group
    largest: np.ndarray
    newcombe: float
    level: float

    def find_excess(self, difference: float) -> float:
        """By how much the worst probability is too large, on the scale of normal quantiles."""
        error = 1.0 - self.level
        worst = _find_worst_probability(self.first, self.second, self.largest, difference, error)
        inner = min(max(worst, 1e-300), 1.0 - 1e-12)
        allowed = error * (1.0 - _OUTSIDE_SHARE - _GRID_SHARE - 2.0 * _TAIL_SHARE)
        return float(special.ndtri(inner) - special.ndtri(allowed))


def _describe_groups(
    hits: tuple[int, int], n: tuple[int, int], level: float
) -> tuple[_Group, _Group, float]:
    """Both groups, the larger one first, and the largest difference of the rates searched."""
    (x1, x2), (n1, n2) = hits, n
    if n1 < n2:  # the difference of failures is that of successes
        (x1, x2), (n1, n2) = (n2 - x2, n1 - x1), (n2, n1)
    first, second = _describe_group(x1, n1, level), _describe_group(x2, n2, level)
    return first, second, min(1.0, first.high - second.low)


def _describe_region(first: _Group, second: _Group, level: float) -> _Region:
    """The region of the observed counts."""
    by_counts = (
        first.counts[:, np.newaxis] / first.n
        - second.counts / second.n
        + combine_margins(first.above[:, np.newaxis], second.below)
    )
    newcombe = float(by_counts[first.position, second.position])
    # Largest first count of the region for each second count, from which none is smaller.
    is_inside = by_counts <= newcombe + 1e-12
    largest = len(first.counts) - 1 - is_inside[::-1].argmax(axis=0)
    largest = np.maximum.accumulate(np.where(is_inside.any(axis=0), largest, -1))
    return _Region(first, second, largest, newcombe, level)


@lru_cache(maxsize=4096)
def limit_difference(hits: tuple[int, int], n: tuple[int, int], level: float) -> float:
    r"""Upper limit, at the level, of the difference of two rates: exact, and Newcombe's at least.

    Counts are ordered by Newcombe's limit :math:`U`. The exact limit is the smallest one in this
    order (R. J. Buehler, Journal of the American Statistical Association 52, 1957),

    .. math:: \max \{ p_1 - p_2 : P_{p_1, p_2}(U \le u) \ge \alpha \},

    with u the observed one. The region is made monotone in both counts, so that its probability
    decreases in :math:`p_1` and increases in :math:`p_2`, and the worst rates of a difference
    :math:`\delta` lie on the line :math:`p_1 - p_2 = \delta`. They are searched on a grid of the
    line within a rectangle that contains the true rates except with a small share of the error
    (Berger and Boos, 1994), which the limit pays, as it pays what the grid may miss.
    """
    first, second, largest_difference = _describe_groups(hits, n, level)
    region = _describe_region(first, second, level)
    newcombe = region.newcombe
    if newcombe >= largest_difference or region.find_excess(newcombe) <= 0.0:
        return newcombe
    if region.find_excess(largest_difference) > 0.0:
        return largest_difference
    root = optimize.brentq(region.find_excess, newcombe, largest_difference, xtol=_LIMIT_PRECISION)
    return min(float(root) + _LIMIT_PRECISION, largest_difference)


def is_limit_above(hits: tuple[int, int], n: tuple[int, int], level: float, bound: float) -> bool:
    """Whether `limit_difference` is above a bound that is no smaller than Newcombe's limit."""
    first, second, largest_difference = _describe_groups(hits, n, level)
    if bound >= largest_difference:
        return False
    region = _describe_region(first, second, level)
    # The worst probability decreases in the difference. Newcombe's limit is above by rounding.
    return region.newcombe > bound or region.find_excess(bound) > 0.0


def _find_worst_probability(
    first: _Group, second: _Group, largest: np.ndarray, difference: float, error: float
) -> float:
    """Largest probability of a region at rates of the rectangle with this difference.

    `largest` has the position of the largest first count for each second one; -1 where none is.
    """
    low = max(second.low, first.low - difference)
    high = min(second.high, first.high - difference)
    if low > high:
        return 0.0
    # A probability of about the error has a curvature of 2 z f(z), with f the normal density and z
    # the two-sided quantile, in units of the Fisher information. Steps of .2 / z bound its rise.
    step = 0.2 / -special.ndtri(error / 2.0)
    points = np.linspace(low, high, _N_INFORMED)
    rates = points + difference
    information = first.n / np.maximum(rates * (1.0 - rates), 0.25 / first.n)
    information += second.n / np.maximum(points * (1.0 - points), 0.25 / second.n)
    steepest = np.sqrt(np.maximum(information[1:], information[:-1]))
    distances = np.append(0.0, np.cumsum(steepest * np.diff(points)))
    n_steps = int(np.ceil(distances[-1] / step))
    points = np.interp(np.linspace(0.0, distances[-1], n_steps + 1), distances, points)
    # Sum over the second counts of the probability of the first counts up to the largest.
    up_to = np.cumsum(first.find_probabilities(points + difference), axis=0)[largest]
    up_to[largest < 0] = 0.0
    return float((second.find_probabilities(points) * up_to).sum(axis=0).max())


_N_INFORMED = 257
"""Points of a line at which the information is computed, from which the grid follows."""
