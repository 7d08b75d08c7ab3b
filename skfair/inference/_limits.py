"""One-sided confidence limits of a single rate."""

from numbers import Real

import numpy as np
from scipy import special


def check_level(level, name="confidence_level"):
    """Check that the argument called `name` is a probability strictly between 0 and 1."""
    if not isinstance(level, Real) or isinstance(level, bool) or not 0.0 < level < 1.0:
        raise ValueError(
            f"{name} must be a probability strictly between 0 and 1, such as 0.95; got {level!r}."
        )
    return float(level)


def wilson(rates, n, z):
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


_LARGEST_EXACT = 3
"""Successes or failures up to which limits of a rate are exact."""

_SMALL_ERROR = 0.01
"""Error below which all limits of rates are exact."""


def rate_limits(rates, n, level, z=None):
    """Limits of rates: Wilson's, or Clopper and Pearson's where these are known to be needed.

    Wilson's lower limit of one success is too high: for groups of 5 and 500 with rates of .02 an
    interval of the difference made of it holds in .90 of samples at .95. Far out in the tails it
    errs at any count: differences made of it err 11 times as often as stated at an error of .001,
    and 140 times at .00001 (``python -m benchmarks tails``). Levels that are divided among many
    comparisons are such levels. Below an error of .01 the wider one of both limits is taken, as
    for up to three successes or failures.

    Each of the two limits holds with the probability `level`. `z` is the quantile in Wilson's
    limits, by default the normal one.
    """
    hits, n = np.asarray(rates * n), np.asarray(n, dtype=np.float64)
    low, high = wilson(rates, n, special.ndtri(level) if z is None else z)
    is_exact = np.minimum(hits, n - hits) < _LARGEST_EXACT + 0.5
    is_exact |= 1.0 - level < _SMALL_ERROR
    exact_low, exact_high = clopper_pearson(np.where(is_exact, hits, 0.0), n, level)
    low = np.where(is_exact, np.minimum(low, exact_low), low)
    return low, np.where(is_exact, np.maximum(high, exact_high), high)


def clopper_pearson(hits, n, level):
    """Exact limits of rates of `hits` out of `n`, each of the two at the level.

    C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits illustrated in the
    case of the binomial", Biometrika 26, 1934.
    """
    hits, n = np.broadcast_arrays(np.asarray(hits, dtype=np.float64), np.asarray(n, np.float64))
    low, high = np.zeros(hits.shape), np.ones(hits.shape)
    # Without hits the lower limit is 0, without misses the upper one is 1.
    low_of, high_of = hits > 0, hits < n
    low[low_of] = special.betaincinv(hits[low_of], n[low_of] - hits[low_of] + 1, 1.0 - level)
    high[high_of] = special.betaincinv(hits[high_of] + 1, n[high_of] - hits[high_of], level)
    return low, high
