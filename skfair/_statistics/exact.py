"""An exact test of the difference of two rates."""

from __future__ import annotations

import numpy as np
from scipy import special, stats

from skfair._statistics.estimates import check_level
from skfair._statistics.limits_of_rates import clopper_pearson_limits

_RECTANGLE_ERROR = 5e-4
"""Probability that the true rates lie outside the rectangle of nuisance parameters."""

_GRID_STEP = 0.06
"""Step of the grid of nuisance parameters, in standard errors."""

_TAIL_PROBABILITY = 1e-12
"""Probability of counts that are left out, counted as rejections."""


def exact_difference_test(
    hits: np.ndarray | tuple[float, int], n: np.ndarray | tuple[int, int], difference: float
) -> float:
    r"""Exact p-value of :math:`H_0: p_1 - p_2 \ge \epsilon` for two rates, by Berger and Boos.

    It is the probability, under :math:`H_0`, of counts at least as far from it as the observed
    ones, at the worst rates within a rectangle that contains the true rates except with a
    probability of .0005, which is added (R. L. Berger and D. D. Boos, Journal of the American
    Statistical Association 89, 1994). Counts are ordered by the score statistic of C. P. Farrington
    and G. Manning (Statistics in Medicine 9, 1990), made monotone in both counts, so that the worst
    rates lie on :math:`p_1 - p_2 = \epsilon`. There they are searched on a grid, and a bound of how
    much the probability can rise between two grid points is added too.

    `hits` and `n` are pairs of integers: successes and sample sizes of both groups. Rejecting at a
    p-value of at most 0.05 is wrong in at most 5 % of samples, at any size.

    >>> print(f"{exact_difference_test((30, 28), (200, 200), 0.1):.3f}")
    0.007
    """
    check_level(difference, "difference")
    if not all(float(count).is_integer() for count in (*hits, *n)):
        raise ValueError(
            "hits and n must be integers, for the test counts samples; got "
            f"hits={tuple(hits)} of n={tuple(n)}. For weighted samples use "
            "skfair.statistics.gap_interval."
        )
    (x1, x2) = map(int, hits)
    (n1, n2) = map(int, n)
    if not (0 <= x1 <= n1 and 0 <= x2 <= n2 and n1 and n2):
        raise ValueError(
            f"hits must be between 0 and n, and n at least 1; got hits={tuple(hits)} of "
            f"n={tuple(n)}."
        )
    if x1 / n1 - x2 / n2 >= difference:
        return 1.0
    nuisance = _nuisance_grid(x1, n1, x2, n2, difference)
    if not len(nuisance):
        return _RECTANGLE_ERROR
    probability = _worst_probability(x1, n1, x2, n2, difference, nuisance)
    return float(min(1.0, probability + _RECTANGLE_ERROR + _GRID_STEP**2 / 8.0))


def _nuisance_grid(x1: int, n1: int, x2: int, n2: int, difference: float) -> np.ndarray:
    """Grid of the second rate on the line within the rectangle, with both ends."""
    # Four tails share the probability of leaving the rectangle.
    level = 1.0 - _RECTANGLE_ERROR / 4.0
    (low1, low2), (high1, high2) = clopper_pearson_limits([x1, x2], [n1, n2], level)
    low = max(low2, low1 - difference, 0.0)
    high = min(high2, high1 - difference, 1.0 - difference)
    if low > high:
        return np.empty(0)
    points = [low]
    while points[-1] < high:
        start = points[-1]
        end = min(
            high, start + _GRID_STEP / np.sqrt(_fisher_information(start, n1, n2, difference))
        )
        # The information is convex: within a step it is largest at one of the ends.
        largest = max(_fisher_information(p2, n1, n2, difference) for p2 in (start, end))
        points.append(min(end, start + _GRID_STEP / np.sqrt(largest)))
    return np.array(points)


def _fisher_information(p2: float, n1: int, n2: int, difference: float) -> float:
    """Fisher information of the second rate if the first is larger by the difference."""
    p1 = p2 + difference
    return n1 / max(p1 * (1.0 - p1), 0.25 / n1) + n2 / max(p2 * (1.0 - p2), 0.25 / n2)


def _worst_probability(
    x1: int, n1: int, x2: int, n2: int, difference: float, nuisance: np.ndarray
) -> float:
    """Largest probability of counts as far from the hypothesis as the observed ones."""
    first = stats.binom.ppf(_TAIL_PROBABILITY, n2, nuisance[0])
    last = stats.binom.isf(_TAIL_PROBABILITY, n2, nuisance[-1])
    seconds = np.arange(max(first, 0.0), last + 1.0)
    limits = _critical_counts(x1, n1, x2, n2, difference, seconds)[:, np.newaxis]
    # Sum over the second counts of the probability of the first counts up to their limit.
    cumulative = special.bdtr(np.maximum(limits, 0.0), n1, nuisance + difference)
    up_to = np.where(limits < 0, 0.0, cumulative)
    masses = stats.binom.pmf(seconds[:, np.newaxis], n2, nuisance)
    return (masses * up_to).sum(axis=0).max() + 2.0 * _TAIL_PROBABILITY


def _critical_counts(
    x1: int, n1: int, x2: int, n2: int, difference: float, seconds: np.ndarray
) -> np.ndarray:
    """For every second count the largest first one as far from the hypothesis as the observed."""
    observed = _score_statistic(np.array([x1]), n1, np.array([x2]), n2, difference)[0] + 1e-12
    # Bisection over the first count, for all second counts at once.
    inside = np.full(len(seconds), -1.0)
    outside = np.full(len(seconds), n1 + 1.0)
    while (outside - inside > 1).any():
        middle = np.floor((inside + outside) / 2)
        valid = (middle >= 0) & (middle <= n1)
        far = valid & (
            _score_statistic(np.clip(middle, 0, n1), n1, seconds, n2, difference) <= observed
        )
        moved = outside - inside > 1
        inside = np.where(moved & far, middle, inside)
        outside = np.where(moved & ~far, middle, outside)
    return np.maximum.accumulate(inside)


def _score_statistic(
    x1: np.ndarray, n1: int, x2: np.ndarray, n2: int, difference: float
) -> np.ndarray:
    """Excess of the observed difference over the hypothesis, in standard errors under it."""
    p1 = x1 / n1
    p2 = x2 / n2
    second = constrained_rate(x1, n1, x2, n2, difference)
    first = second + difference
    variance = first * (1.0 - first) / n1 + second * (1.0 - second) / n2
    return (p1 - p2 - difference) / np.sqrt(np.maximum(variance, 1e-300))


def constrained_rate(
    x1: np.ndarray,
    n1: np.ndarray | int,
    x2: np.ndarray,
    n2: np.ndarray | int,
    difference: np.ndarray | float,
) -> np.ndarray:
    """Maximum likelihood second rate if the first is larger by the difference: a cubic's root."""
    n = n1 + n2
    x = x1 + x2
    cubic = 1.0 * n
    square = (n1 + 2.0 * n2) * difference - n - x
    linear = (n2 * difference - n - 2.0 * x2) * difference + x
    constant = x2 * difference * (1.0 - difference)
    third = square / (3.0 * cubic)
    q = third**3 - square * linear / (6.0 * cubic**2) + constant / (2.0 * cubic)
    root = np.sqrt(np.maximum(third**2 - linear / (3.0 * cubic), 0.0))
    p = np.where(q > 0, root, -root)
    cosine = np.divide(q, p**3, out=np.zeros_like(q), where=p != 0)
    angle = (np.pi + np.arccos(np.clip(cosine, -1.0, 1.0))) / 3.0
    return np.clip(2.0 * p * np.cos(angle) - third, 0.0, 1.0 - difference)
