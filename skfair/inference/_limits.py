"""One-sided limits of a single rate."""

from numbers import Real

import numpy as np
from scipy import special


def check_level(level, name="confidence_level"):
    """Refuse what is no probability strictly between 0 and 1.

    Parameters
    ----------
    level : float
        The probability.
    name : str
        What users call it, for the error.

    Returns
    -------
    level : float

    Raises
    ------
    ValueError
        If it is none.
    """
    if not isinstance(level, Real) or isinstance(level, bool) or not 0.0 < level < 1.0:
        raise ValueError(
            f"{name} must be a probability strictly between 0 and 1, such as 0.95; got {level!r}."
        )
    return float(level)


def wilson(rates, n, z):
    r"""Wilson's limits of rates: those p at which the one seen is z standard errors away.

    They are never empty: of 2 of 2 they reach down to .34 at z = 1.96, where
    :math:`\hat p \pm z \sqrt{\hat p (1 - \hat p) / n}` is the point 1.

    Parameters
    ----------
    rates : ndarray
        Rates.
    n : ndarray
        Samples that each is of.
    z : float or ndarray
        Quantile of the normal distribution, or of Student's.

    Returns
    -------
    low, high : ndarray
        nan where n is 0.

    References
    ----------
    .. [1] E. B. Wilson, "Probable inference, the law of succession, and statistical inference",
       Journal of the American Statistical Association 22, 1927.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        extra = z**2 / n
        center = (rates + extra / 2) / (1 + extra)
        reach = np.sqrt(extra * (rates * (1 - rates) + extra / 4)) / (1 + extra)
    # At 0 and 1 an end is that rate itself, up to rounding.
    return np.maximum(center - reach, 0.0), np.minimum(center + reach, 1.0)


_FEW = 3
"""Successes or failures up to which limits of a rate are exact."""


def rate_limits(rates, n, level, z=None):
    """Limits of rates: Wilson's, or Clopper and Pearson's of few successes or failures.

    Wilson's lower limit of one success is too high: of two groups of 5 and 500 with rates of .02
    an interval of the difference that is made of it holds in .90 of samples at .95.

    Parameters
    ----------
    rates : ndarray
        Rates.
    n : ndarray
        Samples that each is of; effective numbers of weighted ones.
    level : float
        Probability with which the lower limit is below the rate, and the upper one above.
    z : ndarray, default=None
        Quantile in Wilson's limits; None takes that of the normal distribution at this level.

    Returns
    -------
    low, high : ndarray
        nan where n is 0.
    """
    hits, n = np.asarray(rates * n), np.asarray(n, dtype=np.float64)
    low, high = wilson(rates, n, special.ndtri(level) if z is None else z)
    few = np.minimum(hits, n - hits) < _FEW + 0.5
    least, most = clopper_pearson(np.where(few, hits, 0.0), n, level)
    return np.where(few, np.minimum(low, least), low), np.where(few, np.maximum(high, most), high)


def clopper_pearson(hits, n, level):
    """Exact limits of rates, each of the two at the level given.

    Parameters
    ----------
    hits, n : ndarray
        Successes, and how many there were to be had.
    level : float
        Probability with which the lower limit is below the rate, and the upper one above.

    Returns
    -------
    low, high : ndarray

    References
    ----------
    .. [1] C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits illustrated
       in the case of the binomial", Biometrika 26, 1934.
    """
    hits, n = np.broadcast_arrays(np.asarray(hits, dtype=np.float64), np.asarray(n, np.float64))
    low, high = np.zeros(hits.shape), np.ones(hits.shape)
    some, missing = hits > 0, hits < n
    low[some] = special.betaincinv(hits[some], n[some] - hits[some] + 1, 1.0 - level)
    high[missing] = special.betaincinv(hits[missing] + 1, n[missing] - hits[missing], level)
    return low, high
