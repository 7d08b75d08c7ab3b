"""An exact test of the difference of two rates."""

import numpy as np
from scipy import special, stats

from skfair.inference._limits import check_level, clopper_pearson

_RECTANGLE = 5e-4
"""Probability that the true rates lie outside the rectangle of nuisance parameters."""

_STEP = 0.06
"""Step of the grid of nuisance parameters, in standard errors."""

_TAILS = 1e-12
"""Probability of counts that are left out, counted as rejections."""


def exact_pair_test(hits, n, difference):
    r"""Exact p-value of the hypothesis that one rate exceeds another by so much or more.

    Of :math:`H_0: p_1 - p_2 \ge \epsilon`, by Berger and Boos ([1]_): the probability, under
    :math:`H_0`, of counts at least as far from it as those seen, at the worst rates within a
    rectangle that holds the true ones but for a probability of .0005, which is added. Counts are
    ordered by the score statistic of Farrington and Manning ([2]_), made monotone in both counts,
    so that the worst rates lie on :math:`p_1 - p_2 = \epsilon`. There they are searched on a grid,
    and what the probability can rise between two of its points is added too.

    Parameters
    ----------
    hits : pair of int
        Successes in the first and in the second group.
    n : pair of int
        People in them.
    difference : float
        The difference :math:`\epsilon`, in (0, 1).

    Returns
    -------
    p_value : float
        Rejecting where it is at most 0.05 is wrong in 5 % of samples at most, at any size.

    Raises
    ------
    ValueError
        If the counts are no whole numbers or impossible, or the difference is not between 0 and 1.

    References
    ----------
    .. [1] R. L. Berger and D. D. Boos, "P values maximized over a confidence set for the nuisance
       parameter", Journal of the American Statistical Association 89, 1994.
    .. [2] C. P. Farrington and G. Manning, "Test statistics and sample size formulae for
       comparative binomial trials with null hypothesis of non-zero risk difference or non-unity
       relative risk", Statistics in Medicine 9, 1990.

    Examples
    --------
    Of 200 people 30 and of 200 others 28 were selected. Is the difference below .1?

    >>> from skfair.inference import exact_pair_test
    >>> bool(exact_pair_test((30, 28), (200, 200), 0.1) < 0.05)
    True
    """
    check_level(difference, "difference")
    if not all(float(count).is_integer() for count in (*hits, *n)):
        raise ValueError(
            "hits and n must be whole numbers, for the test counts samples; got "
            f"hits={tuple(hits)} of n={tuple(n)}. Of weighted samples use "
            "skfair.inference.gap_interval."
        )
    (x1, x2), (n1, n2) = map(int, hits), map(int, n)
    if not (0 <= x1 <= n1 and 0 <= x2 <= n2 and n1 and n2):
        raise ValueError(
            f"hits must be numbers of people out of n, each at least 1; got hits={tuple(hits)} of "
            f"n={tuple(n)}."
        )
    if x1 / n1 - x2 / n2 >= difference:
        return 1.0
    nuisance = _nuisance(x1, n1, x2, n2, difference)
    if not len(nuisance):
        return _RECTANGLE
    probability = _worst_probability(x1, n1, x2, n2, difference, nuisance)
    return float(min(1.0, probability + _RECTANGLE + _STEP**2 / 8.0))


def _nuisance(x1, n1, x2, n2, difference):
    """Second rates on the line within the rectangle, a grid with both ends."""
    # Four tails share the probability of leaving the rectangle.
    level = 1.0 - _RECTANGLE / 4.0
    (low1, low2), (high1, high2) = clopper_pearson([x1, x2], [n1, n2], level)
    low, high = max(low2, low1 - difference, 0.0), min(high2, high1 - difference, 1.0 - difference)
    if low > high:
        return np.empty(0)
    points = [low]
    while points[-1] < high:
        here = points[-1]
        further = min(high, here + _STEP / np.sqrt(_information(here, n1, n2, difference)))
        # The information is convex: within a step it is largest at one of the ends.
        largest = max(_information(p2, n1, n2, difference) for p2 in (here, further))
        points.append(min(further, here + _STEP / np.sqrt(largest)))
    return np.array(points)


def _information(p2, n1, n2, difference):
    """Of the second rate, when the first is larger by the difference."""
    p1 = p2 + difference
    return n1 / max(p1 * (1.0 - p1), 0.25 / n1) + n2 / max(p2 * (1.0 - p2), 0.25 / n2)


def _worst_probability(x1, n1, x2, n2, difference, nuisance):
    """Largest probability of counts as far from the hypothesis as those seen."""
    first = stats.binom.ppf(_TAILS, n2, nuisance[0])
    last = stats.binom.isf(_TAILS, n2, nuisance[-1])
    seconds = np.arange(max(first, 0.0), last + 1.0)
    limits = _critical(x1, n1, x2, n2, difference, seconds)[:, np.newaxis]
    some = np.maximum(limits, 0.0)
    up_to = np.where(limits < 0, 0.0, special.bdtr(some, n1, nuisance + difference))
    masses = stats.binom.pmf(seconds[:, np.newaxis], n2, nuisance)
    return (masses * up_to).sum(axis=0).max() + 2.0 * _TAILS


def _critical(x1, n1, x2, n2, difference, seconds):
    """For every second count the largest first one as far from the hypothesis as those seen."""
    seen = _score(np.array([x1]), n1, np.array([x2]), n2, difference)[0] + 1e-12
    inside, outside = np.full(len(seconds), -1.0), np.full(len(seconds), n1 + 1.0)
    while (outside - inside > 1).any():
        middle = np.floor((inside + outside) / 2)
        valid = (middle >= 0) & (middle <= n1)
        far = valid & (_score(np.clip(middle, 0, n1), n1, seconds, n2, difference) <= seen)
        moved = outside - inside > 1
        inside = np.where(moved & far, middle, inside)
        outside = np.where(moved & ~far, middle, outside)
    return np.maximum.accumulate(inside)


def _score(x1, n1, x2, n2, difference):
    """Excess of the difference seen over that of the hypothesis, in standard errors under it."""
    p1, p2 = x1 / n1, x2 / n2
    under = _constrained_rate(x1, n1, x2, n2, difference)
    above = under + difference
    variance = above * (1.0 - above) / n1 + under * (1.0 - under) / n2
    return (p1 - p2 - difference) / np.sqrt(np.maximum(variance, 1e-300))


def _constrained_rate(x1, n1, x2, n2, difference):
    """The likeliest second rate if the first is larger by the difference: a root of a cubic."""
    n, x = n1 + n2, x1 + x2
    cubic = float(n)
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
