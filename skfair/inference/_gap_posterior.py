"""Posterior probability that the population's gap is at most a tolerance.

Independent rates have Jeffreys' posteriors, Beta(x + 1/2, n - x + 1/2) for x of n, and the
probability that their range is at most the tolerance, or their ratio at least a bound, is an
integral in one dimension. Everything else is drawn: overlapping events, sums of gaps, mean losses,
shares at many thresholds.

Each posterior has ``probability(factor=1.0, multiple=1.0, tolerance=None)``: the probability that
the population's gap is at most the tolerance, None for that of the posterior, if the measured gap
were multiplied by ``factor`` and the sample size by ``multiple``.
"""

from functools import lru_cache

import numpy as np
from scipy import sparse
from scipy.special import betainc

from skfair.inference._estimates import Rates, estimates_of

_N_STEPS = 300
"""Steps of an integral, over `_REACH` standard deviations to either side of a rate."""
_REACH = 6.5

_N_DRAWS = 1 << 13


def gap_posterior(events, values, aggregate, tolerance, clusters=None):
    """Posterior of a gap between the means of values over events.

    `aggregate` is the Gap that makes one number of the means. Samples of equal code in `clusters`
    are correlated.
    """
    estimates = estimates_of(events, values)
    sizes, correlation = estimates.sizes, estimates.correlation
    if clusters is not None:
        effects, correlation = cluster_effects(events, values, clusters)
        sizes = sizes / effects
    if not isinstance(estimates, Rates):
        moments = estimates.values, _spread_within(events, values)
        return MeanPosterior(moments, sizes, correlation, aggregate, tolerance)
    if aggregate.is_range and correlation is None:
        return RatePosterior(estimates.values, sizes, aggregate, tolerance)
    return MeanPosterior((estimates.values, None), sizes, correlation, aggregate, tolerance)


def range_probability(rates, sizes, width, scale=1.0):
    r"""Posterior probability that independent rates lie within a width of one another, if scaled.

    With F the distribution function of each rate's posterior,

    .. math::

        P(s \max - \min \le w)
            = \sum_j \int \prod_{i \ne j} [F_i((t + w) / s) - F_i(t)] \, dF_j(t).

    `sizes` are the effective sample sizes of the rates, w is the `width` and s the `scale`, with
    which the smallest ratio allowed is s for a width of 0.
    """
    values, shares = _tabulate_posteriors(rates, sizes)
    # Rate j is the lowest; all others lie within the width above it.
    lowest = (values[:, 1:] + values[:, :-1]) / 2
    ends = np.stack((lowest, (lowest + width) / scale))
    below = [np.interp(ends, *table) for table in zip(values, shares, strict=True)]
    within = np.array([highest - low for low, highest in below])
    within[range(len(rates)), range(len(rates))] = 1.0
    pairs = zip(within.prod(axis=0), np.diff(shares), strict=True)
    return float(min(1.0, sum(others @ steps for others, steps in pairs)))


def _tabulate_posteriors(rates, sizes):
    """Values of each rate, and the posterior probability that it is below each of them."""
    a, b = rates * sizes + 0.5, (1.0 - rates) * sizes + 0.5
    # On the scale of angles the prior is uniform, and the spread is the same for all rates.
    reach = _REACH / (2.0 * np.sqrt(sizes + 1.0))
    angle = np.arcsin(np.sqrt(a / (a + b)))
    ends = np.clip([angle - reach, angle + reach], 0.0, np.pi / 2)
    values = np.sin(np.ascontiguousarray(np.linspace(*ends, _N_STEPS + 1).T)) ** 2
    shares = betainc(a[:, np.newaxis], b[:, np.newaxis], values)
    shares[:, 0], shares[:, -1] = 0.0, 1.0
    return values, shares


class RatePosterior:
    """Independent rates, of which the largest and the smallest are compared in each block."""

    def __init__(self, means, sizes, aggregate, tolerance):
        self.means = means
        self.sizes = sizes
        self.aggregate = aggregate
        self.tolerance = tolerance

    def probability(self, factor=1.0, multiple=1.0, tolerance=None):
        """Probability that the population's gap is at most the tolerance."""
        rates = np.clip(self.aggregate.shrink(self.means, factor), 0.0, 1.0)
        sizes = multiple * self.sizes
        blocks = map(list, self.aggregate.blocks)
        # Blocks are independent, so their probabilities multiply.
        tolerance = self.tolerance if tolerance is None else tolerance
        bounds = self.aggregate.width_and_scale(tolerance)
        within = [range_probability(rates[block], sizes[block], *bounds) for block in blocks]
        return float(np.prod(within))


class MeanPosterior:
    r"""Means of any kind, drawn.

    With e an event and z a standard normal variable, correlated with those of other events as the
    means are where they share samples, a rate is drawn as
    :math:`\sin^2(\arcsin \sqrt{\tilde r_e} + z / (2 \sqrt{n_e + 1}))`, which is nearly Jeffreys'
    posterior, and a mean loss as :math:`m_e + s_e t(z) / \sqrt{n_e}`, with Student's variable t.
    `moments` are the means and the standard deviations within the events; None for rates.
    """

    def __init__(self, moments, sizes, correlation, aggregate, tolerance):
        self.means, self.spread = moments
        self.sizes = sizes
        self.aggregate = aggregate
        self.tolerance = tolerance
        self.z = _correlate(_draw_normal(len(self.means)), correlation)
        self._errors = lru_cache(maxsize=1)(self._draw_errors)  # needed many times

    def probability(self, factor=1.0, multiple=1.0, tolerance=None):
        """Probability that the population's gap is at most the tolerance."""
        means = self.aggregate.shrink(self.means, factor)[:, np.newaxis]
        if self.spread is None:
            drawn = self._draw_rates(means, multiple * self.sizes[:, np.newaxis])
        else:
            drawn = means + self._errors(multiple)
        tolerance = self.tolerance if tolerance is None else tolerance
        return float(np.mean(self.aggregate(drawn) <= tolerance))

    def _draw_errors(self, multiple):
        """Errors of mean losses: Student's variable, by its expansion in normal ones."""
        z, freedom = self.z, np.maximum(multiple * self.sizes[:, np.newaxis] - 1.0, 1.0)
        student = z + z * (z * z + 1.0) / (4.0 * freedom)
        return self.spread[:, np.newaxis] * student / np.sqrt(freedom)

    def _draw_rates(self, rates, sizes):
        """Rates by normal variables on the scale of angles."""
        angles = np.arcsin(np.sqrt((np.clip(rates, 0.0, 1.0) * sizes + 0.5) / (sizes + 1.0)))
        angles = angles + self.z / (2.0 * np.sqrt(sizes + 1.0))
        return np.sin(np.clip(angles, 0.0, np.pi / 2)) ** 2


class CurvePosterior:
    """Shares above several thresholds, drawn. The gap is the largest at any threshold.

    `above` holds shares above ascending thresholds, (n_events, n_thresholds). A share of an event
    counts by ``unit * interval.position_of(share)``. Events of one block are compared.
    """

    def __init__(self, above, sizes, intervals, units, blocks, tolerance):
        self.above = np.clip(above, 0.0, 1.0)  # sums of weights have rounding
        self.sizes = sizes
        self.intervals = intervals
        self.units = units
        self.blocks = [blocks == block for block in np.unique(blocks)]
        self.tolerance = tolerance
        # Each threshold is judged alone, so all have the same draws.
        n_draws = max(1024, min(_N_DRAWS, (1 << 18) // above.size))
        spread = np.sqrt(self.above * (1.0 - self.above))
        self.errors = spread[..., np.newaxis] * _draw_normal(len(above), n_draws)[:, np.newaxis]
        self._positions = lru_cache(maxsize=1)(self._draw)  # needed many times

    def probability(self, factor=1.0, multiple=1.0, tolerance=None):
        """Probability that the population's gap is at most the tolerance, at the worst threshold.

        The tolerance is broken if it is at one threshold, so a test of all thresholds needs no
        smaller level for each (an intersection-union test: R. L. Berger, Technometrics 24, 1982).
        The largest of many measured gaps already exceeds the population's by chance. Requiring all
        thresholds at once would count this noise twice.
        """
        tolerance = self.tolerance if tolerance is None else tolerance
        measured = self._place(self.above[..., np.newaxis])
        drawn = self._positions(multiple)
        probabilities = []
        for block in self.blocks:
            # Measured shares move toward the middle of their block; their errors stay.
            middle = (measured[block].max(axis=0) + measured[block].min(axis=0)) / 2
            shrunk = drawn[block] - (1.0 - factor) * (measured[block] - middle)
            is_within = np.ptp(shrunk, axis=0) <= tolerance
            probabilities.append(is_within.mean(axis=-1).min())
        return float(min(probabilities))

    def _draw(self, multiple):
        """Positions of drawn shares in the intervals of their events."""
        scale = 1.0 / np.sqrt(multiple * self.sizes + 1.0)
        return self._place(self.above[..., np.newaxis] + self.errors * scale[:, None, None])

    def _place(self, above):
        """Positions of shares in the intervals of their events, in units of the tolerance."""
        rows = zip(self.intervals, np.clip(above, 0.0, 1.0), self.units, strict=True)
        return np.stack([unit * interval.position_of(shares) for interval, shares, unit in rows])


def kish_sizes(events):
    """Effective sample size of each event: as many samples of equal weight, (n_events,)."""
    return 1.0 / events.averaging_matrix.power(2).sum(axis=1)


def _spread_within(events, values):
    """Standard deviation of values within each event, (n_events,)."""
    samples, event, shares = events.memberships
    deviations = values[samples] - events.means(values)[event]
    return np.sqrt(np.bincount(event, shares * deviations**2, events.n_events))


def cluster_effects(events, values, clusters):
    """Design effect of clusters on the mean of each event, and the correlation of the means.

    The variance of a mean is the sum of squares of what each cluster adds to its error [1]_. The
    design effect is its ratio to that of independent samples, 1 at least. Where all values of an
    event are equal, all members of a cluster count as one.

    The correlation is None where no cluster has samples of two events.

    References
    ----------
    .. [1] K.-Y. Liang and S. L. Zeger, "Longitudinal data analysis using generalized linear
       models", Biometrika 73, 1986.
    """
    samples, event, shares = events.memberships
    deviations = shares * (values[samples] - events.means(values)[event])
    # Sum the errors, and the shares, of each event and cluster.
    n_codes = int(clusters.max()) + 1
    keys, sums = np.unique(event * n_codes + clusters[samples], return_inverse=True)
    keys = np.divmod(keys, n_codes)
    errors, weights = np.bincount(sums, deviations), np.bincount(sums, shares)
    n_clusters = np.bincount(keys[0], minlength=events.n_events)
    # Compare their squares with those of independent samples.
    squares = np.bincount(keys[0], errors**2, events.n_events)
    independent = np.bincount(event, deviations**2, events.n_events)
    unequal = independent > 0
    squares = np.where(unequal, squares, np.bincount(keys[0], weights**2, events.n_events))
    independent[~unequal] = np.bincount(event, shares**2, events.n_events)[~unequal]
    # As of any variance, one degree of freedom goes to the mean.
    correction = n_clusters / np.maximum(n_clusters - 1.0, 0.5)
    effects = np.maximum(1.0, correction * squares / independent)
    # Clusters that span events correlate their means.
    shared = sparse.csr_array((errors, keys), shape=(events.n_events, n_codes))
    covariance = (shared @ shared.T).toarray()
    if not (covariance - np.diag(np.diag(covariance))).any():
        return effects, None
    scale = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
    correlation = np.divide(covariance, scale, out=np.zeros_like(scale), where=scale > 0)
    np.fill_diagonal(correlation, 1.0)
    return effects, correlation


def _correlate(draws, correlation):
    """Standard normal draws, (n_rows, n_draws), with a given correlation between rows."""
    if correlation is None:
        return draws
    sizes, axes = np.linalg.eigh(correlation)
    return axes @ (np.sqrt(np.maximum(sizes, 0.0))[:, np.newaxis] * (axes.T @ draws))


def _draw_normal(n_rows, n_draws=_N_DRAWS):
    """Standard normal numbers, antithetic and the same at each call, (n_rows, n_draws)."""
    half = np.random.default_rng(0).standard_normal((n_rows, n_draws // 2))
    return np.hstack((half, -half))
