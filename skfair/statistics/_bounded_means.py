"""Limits of means of values in a known range, which are made for every distribution."""

import numpy as np
from scipy import optimize, sparse, special

from skfair.groups._events import join_units
from skfair.statistics._estimates import _TINY, Means, OutcomeMeans, Rates, _EventMeans

_SMALLEST_TILT, _LARGEST_TILT = 1e-4, 34.0
"""Logarithms of the tilt, the first nearly that of the mean, the other that of the upper end."""


class BoundedMeans(_EventMeans):
    r"""Means of values in a known range, with limits that do not rely on values that were seen.

    A rare large value may be missing in the sample: Student's limits are then far too low. Gaffke's
    limit ([1]_) is the quantile of :math:`\sum_i w_i x_i`, with the upper end of the range as one
    more value, and weights w that are uniform on the simplex. Of zeros and ones it is Clopper and
    Pearson's. No distribution is known for which it holds less often than stated. The quantile is
    computed by a saddlepoint approximation ([2]_).

    Of units of several samples it is that of their means. Where events have the same units, as
    those of two versions of a text, a linear form is a mean of one value for each unit too, such as
    the difference of both, and has Gaffke's limit. Other forms combine those of means.

    References
    ----------
    .. [1] N. Gaffke, "Three test statistics for a nonparametric one-sided hypothesis on the mean of
       a nonnegative variable", Mathematical Methods of Statistics 14, 2005.
    .. [2] R. Lugannani and S. Rice, "Saddle point approximation for the distribution of the sum of
       independent random variables", Advances in Applied Probability 12, 1980.
    """

    interval = "Gaffke, combined"

    def __init__(self, events, x, value_range, units=None):
        joined, x, unit = join_units(events, x, units)
        self._range, self._spreads = value_range, joined.means(x**2) - joined.means(x) ** 2
        super().__init__(joined, x, unit)
        counts = np.bincount(events.memberships[1], events.member_counts, events.n_events)
        self.counts = counts.astype(np.intp)
        unit = np.arange(len(x)) if unit is None else unit
        self._blocks, self._are_apart = _find_blocks(joined, x, unit)
        if units is not None and self.correlation is not None:
            # Correlations above 0 make limits narrower, by more than they are known.
            self.correlation = np.minimum(self.correlation, np.eye(len(self.values)))
        self.are_rates = units is not None and value_range == (0.0, 1.0)

    def _effective_sizes(self, kish):
        # Units of several sizes: their variance by linearisation may be larger.
        sizes = self._spreads / np.maximum(self._error_variances, _TINY)
        return np.minimum(kish, np.where(self._spreads > _TINY, sizes, kish))

    @property
    def standard_errors(self):
        """Root of the variance of each mean."""
        return np.sqrt(self._error_variances)

    def limits(self, level):
        """Limits of each mean, as in `Estimates.limits`."""
        each = sparse.eye_array(len(self.values), format="csr")
        return self.values - self._reach(-each, level), self.values + self._reach(each, level)

    def upper(self, contrasts, level):
        """Upper limit of each linear form, as in `Estimates.upper`."""
        if not self._are_apart:
            return super().upper(contrasts, level)
        return contrasts @ self.values + self._reach(contrasts, level)

    def _reach(self, contrasts, level):
        """Distance of the limit of each linear form from its value, if blocks are independent."""
        columns, squares = contrasts.tocsc(), np.zeros(contrasts.shape[0])
        for events, values, shares in self._blocks:
            numbers, within = shares * self.sizes[events].min(), columns[:, events]
            rows = np.unique(within.indices)
            forms, at = np.unique(within[rows].toarray(), axis=0, return_inverse=True)
            for number, form in enumerate(forms):
                low, high = np.sort(np.outer(self._range, form), axis=0).sum(axis=1)
                share = upper_mean((values @ form - low) / (high - low), numbers, level)
                distance = low + (high - low) * share - form @ self.values[events]
                squares[rows[at.ravel() == number]] += distance**2
        return np.sqrt(squares)


def _find_blocks(events, x, units):
    """Blocks of events that have the same units: events, values (n_units, n_events) and weights.

    Also whether no unit is in several blocks.
    """
    blocks = {}
    for event in range(events.n_events):
        samples, shares = events.members(event)
        order = np.argsort(units[samples])
        samples, shares = samples[order], shares[order]
        key = units[samples].tobytes(), np.round(shares * len(shares), 9).tobytes()
        blocks.setdefault(key, []).append((event, x[samples], units[samples], shares))
    columns = [tuple(zip(*one, strict=True)) for one in blocks.values()]
    used = np.concatenate([of_events[0] for *_, of_events, _ in columns])
    are_apart = len(np.unique(used)) == len(used)
    return [(np.array(at), np.transpose(x), shares[0]) for at, x, _, shares in columns], are_apart


def make_estimates(events, x, units=None, known=None):
    """`Rates` of values 0 and 1, `OutcomeMeans` of values known beforehand, otherwise `Means`.

    `known` are all values that samples can have, where these are few; None if they are not known.
    Of units with several samples of an event these are `BoundedMeans`, unless nothing is known.
    """
    x = np.asarray(x, dtype=np.float64)
    are_rates = np.isin(x if known is None else known, (0.0, 1.0)).all()
    if not are_rates and known is None:
        return Means(events, x, units)
    if join_units(events, x, units)[0] is not events:
        return BoundedMeans(events, x, (0.0, 1.0) if are_rates else (min(known), max(known)), units)
    return Rates(events, x, units) if are_rates else OutcomeMeans(events, x, units, known)


def upper_mean(x, numbers, level):
    """Gaffke's upper limit of the mean of values between 0 and 1, of which so many are observed."""
    x, at = np.unique(np.clip(np.append(x, 1.0), 0.0, 1.0), return_inverse=True)
    numbers = np.bincount(at, np.append(numbers, 1.0))

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
