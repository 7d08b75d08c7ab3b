"""Differences of two rates or two means that strata share, with limits."""

from __future__ import annotations

import numpy as np
from scipy import optimize, special

from skfair._statistics.exact import constrained_rate
from skfair._statistics.gaps import Interval


def common_difference(sizes: np.ndarray, counts: np.ndarray, level: float) -> Interval:
    r"""Mantel-Haenszel difference of two rates that strata share, as an `Interval`.

    `sizes` and `counts` have one row for each group and one column for each stratum. With
    :math:`d_k` the differences and :math:`w_k = n_k m_k / (n_k + m_k)` their weights, the limits
    are the differences :math:`\delta` furthest from the estimate at which

    .. math:: \Bigl| \sum_k w_k (d_k - \delta) \Bigr| = z
        \Bigl( \sum_k w_k^2 V_k(\delta) \Bigr)^{1/2},

    where :math:`V_k(\delta)` is the variance of :math:`d_k` at the most likely rates whose
    difference is :math:`\delta`, times :math:`(n_k + m_k) / (n_k + m_k - 1)`. So they have a width
    where no sample is positive, or all are, and hold for few large strata and for many small ones.

    O. Miettinen and M. Nurminen, "Comparative analysis of two rates", Statistics in Medicine 4,
    1985.
    """
    n, m = sizes
    x, y = counts
    weights = n * m / (n + m)
    total = weights.sum()
    common = float(weights @ (x / n - y / m) / total)
    z = float(special.ndtri((1.0 + level) / 2.0))

    def excess(difference: float, sign: float) -> float:
        """Distance of the estimate above (1) or below (-1) a difference, beyond the margin."""
        # The group of the larger rate comes first.
        first, second = ((x, n), (y, m)) if difference >= 0 else ((y, m), (x, n))
        low = constrained_rate(*first, *second, abs(difference))
        high = low + abs(difference)
        variances = high * (1.0 - high) / first[1] + low * (1.0 - low) / second[1]
        variances = variances * (n + m) / np.maximum(n + m - 1.0, 1.0)
        margin = z * np.sqrt(np.maximum(weights**2 @ variances, 0.0))
        return float(sign * total * (common - difference) - margin)

    limits = []
    for sign in (1.0, -1.0):
        # At the estimate itself the variance may be 0.
        near = common - sign * 1e-9
        is_inside = abs(near) < 1.0 and excess(near, sign) < 0.0 < excess(-sign, sign)
        limits.append(optimize.brentq(excess, -sign, near, (sign,)) if is_inside else -sign)
    low, high = limits
    return Interval(common, float(low), float(high))


def common_mean_difference(
    sizes: np.ndarray, means: np.ndarray, errors: np.ndarray, level: float
) -> Interval:
    r"""Difference of two means that strata share, as an `Interval`.

    `sizes`, `means` and standard `errors` have one row for each group and one column for each
    stratum; the error of a single sample is not used. With the weights :math:`w_k = n_k m_k / (n_k
    + m_k)` of `common_difference` the estimate is the coefficient of the group in a linear
    regression on group and strata. Its variance is that of Welch, which lets variances differ
    between cells, with the degrees of freedom of Satterthwaite ([1]_). A cell of a single sample
    has the pooled variance of its group within strata. Without any variance limits are infinite.

    .. [1] F. E. Satterthwaite, "An approximate distribution of estimates of variance components",
       Biometrics Bulletin 2, 1946.
    """
    weights = sizes.prod(axis=0) / sizes.sum(axis=0)
    weights = weights / weights.sum()
    common = float(weights @ (means[0] - means[1]))
    degrees = sizes - 1.0
    squares = np.where(degrees > 0, sizes * errors**2, 0.0)  # variances of single samples
    totals = degrees.sum(axis=1, keepdims=True)
    if not totals.all():
        return Interval(common, -np.inf, np.inf)
    # A cell of a single sample has the variance of all cells of its group.
    pooled = (degrees * squares).sum(axis=1, keepdims=True) / totals
    squares = np.where(degrees > 0, squares, pooled)
    terms = weights**2 * squares / sizes
    variance = terms.sum()
    if variance == 0.0:  # equal values do not show how far others may be
        return Interval(common, -np.inf, np.inf)
    freedom = variance**2 / (terms**2 / np.where(degrees > 0, degrees, totals)).sum()
    margin = special.stdtrit(freedom, (1.0 + level) / 2.0) * np.sqrt(variance)
    return Interval(common, float(common - margin), float(common + margin))
