"""Limits of means of values in a known range, which are made for every distribution."""

import numpy as np
from scipy import optimize, special

from skfair.statistics._estimates import _EventMeans

_SMALLEST_TILT, _LARGEST_TILT = 1e-4, 34.0
"""Logarithms of the tilt, the first nearly that of the mean, the other that of the upper end."""


class BoundedMeans(_EventMeans):
    r"""Means of values in a known range, with limits that do not rely on values that were seen.

    A rare large value may be missing in the sample: Student's limits are then far too low. Gaffke's
    limit ([1]_) is the quantile of :math:`\sum_i w_i x_i`, with the upper end of the range as one
    more value, and weights w that are uniform on the simplex. Of zeros and ones it is Clopper and
    Pearson's. No distribution is known for which it holds less often than stated. The quantile is
    computed by a saddlepoint approximation ([2]_).

    References
    ----------
    .. [1] N. Gaffke, "Three test statistics for a nonparametric one-sided hypothesis on the mean of
       a nonnegative variable", Mathematical Methods of Statistics 14, 2005.
    .. [2] R. Lugannani and S. Rice, "Saddle point approximation for the distribution of the sum of
       independent random variables", Advances in Applied Probability 12, 1980.
    """

    interval = "Gaffke, combined"

    def __init__(self, events, x, value_range, units=None):
        super().__init__(events, x, units)
        self._range = value_range
        samples, event, shares = events.memberships
        self._x = (x[samples] - value_range[0]) / (value_range[1] - value_range[0])
        self._event, self._numbers = event, shares * self.sizes[event]

    @property
    def standard_errors(self):
        """Root of the variance of each mean."""
        return np.sqrt(self._error_variances)

    def limits(self, level):
        """Limits of each mean, as in `Estimates.limits`."""
        low, high = self._range
        ends = np.empty((2, len(self.values)))
        for number in range(len(self.values)):
            is_member = self._event == number
            x, numbers = self._x[is_member], self._numbers[is_member]
            ends[:, number] = (
                1.0 - upper_mean(1.0 - x, numbers, level),
                upper_mean(x, numbers, level),
            )
        return tuple(low + (high - low) * ends)


def upper_mean(x, numbers, level):
    """Gaffke's upper limit of the mean of values between 0 and 1, of which so many are observed."""
    x, numbers = np.append(x, 1.0), np.append(numbers, 1.0)

    def tilt(exponent):
        """A mean, and the probability that the random one is at most it."""
        c = -np.expm1(-exponent)
        weights = numbers / (1.0 - c * x)
        mean = weights @ x / weights.sum()
        ratios = (1.0 - c * x) / (1.0 - c * mean)
        cumulants = -(numbers @ np.log(ratios)), numbers @ ((x - mean) / ratios) ** 2
        distance = np.sqrt(max(0.0, -2.0 * cumulants[0]))
        slope = c / (1.0 - c * mean) * np.sqrt(cumulants[1])
        if min(distance, slope) <= 0.0:  # all values are the upper end
            return mean, 1.0
        density = np.exp(-(distance**2) / 2.0) / np.sqrt(2.0 * np.pi)
        return mean, special.ndtr(distance) + density * (1.0 / distance - 1.0 / slope)

    ends = _SMALLEST_TILT, _LARGEST_TILT
    if tilt(ends[0])[1] >= level:
        return tilt(ends[0])[0]
    if tilt(ends[1])[1] <= level:
        return 1.0
    return tilt(optimize.brentq(lambda exponent: tilt(exponent)[1] - level, *ends))[0]
