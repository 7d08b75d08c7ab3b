"""How likely a population keeps a tolerance, by people who were drawn from it.

Rates of independent people have Jeffreys' posteriors, Beta(x + 1/2, n - x + 1/2) for x of n, and
the probability that their range is at most the tolerance is an integral in one dimension.
Everything else is drawn: overlapping events, sums of gaps, mean losses, shares at many thresholds.
"""

from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.special import betainc

_N_STEPS = 300
"""Steps of an integral, over so many standard deviations to either side of a rate."""
_REACH = 6.5

_N_DRAWS = 1 << 13


def range_probability(rates, sizes, width):
    r"""Posterior probability that independent rates lie within a width of one another.

    With F the distribution function of each rate's posterior,

    .. math::

        P(\max - \min \le w) = \sum_j \int \prod_{i \ne j} [F_i(t + w) - F_i(t)] \, dF_j(t).

    Parameters
    ----------
    rates : ndarray of shape (n_rates,)
        Shares that were counted.
    sizes : ndarray of shape (n_rates,)
        Of so many people.
    width : float
        Largest range allowed.

    Returns
    -------
    probability : float
    """
    tables = [_distribution(rate, size) for rate, size in zip(rates, sizes, strict=True)]
    total = 0.0
    for j, (values, shares) in enumerate(tables):
        lowest = (values[1:] + values[:-1]) / 2
        others = np.ones_like(lowest)
        for table in tables[:j] + tables[j + 1 :]:
            others *= _below(table, lowest + width) - _below(table, lowest)
        total += others @ np.diff(shares)
    return float(min(1.0, total))


def _distribution(rate, size):
    """Values of a rate, and the posterior probability that it is below each of them."""
    a, b = rate * size + 0.5, (1.0 - rate) * size + 0.5
    # On the scale of angles the prior is uniform, and the spread is the same for all rates.
    reach = _REACH / (2.0 * np.sqrt(size + 1.0))
    angle = np.arcsin(np.sqrt(a / (a + b)))
    ends = np.clip([angle - reach, angle + reach], 0.0, np.pi / 2)
    values = np.sin(np.linspace(*ends, _N_STEPS + 1)) ** 2
    shares = betainc(a, b, values)
    shares[0], shares[-1] = 0.0, 1.0
    return values, shares


def _below(table, values):
    return np.interp(values, *table, left=0.0, right=1.0)


class RatePosterior:
    """Independent rates, the range of which is compared with a tolerance in each block.

    Parameters
    ----------
    rates, sizes : ndarray of shape (n_events,)
        Shares that were counted, and of how many people.
    aggregate : Range
        Which are compared with one another.
    tolerance : float
        Largest gap allowed.
    """

    def __init__(self, rates, sizes, aggregate, tolerance):
        self.rates = rates
        self.sizes = sizes
        self.aggregate = aggregate
        self.tolerance = tolerance

    def probability(self, factor=1.0, people=1.0):
        """Probability that the population's gap is at most the tolerance.

        Parameters
        ----------
        factor : float, default=1.0
            As if the gap that was counted were so many times as large.
        people : float, default=1.0
            As if there were so many times as many people.
        """
        rates = np.clip(self.aggregate.shrunk(self.rates, factor), 0.0, 1.0)
        sizes = people * self.sizes
        blocks = map(list, self.aggregate.blocks)
        kept = [range_probability(rates[own], sizes[own], self.tolerance) for own in blocks]
        return float(np.prod(kept))


class MeanPosterior:
    r"""Means of any kind, drawn.

    With e an event and z a standard normal variable, correlated with those of other events as the
    means are where they share samples, a rate is drawn as
    :math:`\sin^2(\arcsin \sqrt{\tilde r_e} + z / (2 \sqrt{n_e + 1}))`, which is nearly Jeffreys'
    posterior, and a mean loss as :math:`m_e + s_e t(z) / \sqrt{n_e}`, with Student's variable t.

    Parameters
    ----------
    moments : tuple of (ndarray of shape (n_events,), ndarray of shape (n_events,) or None)
        Mean of each event, and standard deviation within it; None for rates.
    sizes : ndarray of shape (n_events,)
        Effective sizes.
    correlation : ndarray of shape (n_events, n_events) or None
        Of the means; None where they are independent.
    aggregate : Range or another of its kind
        How means become one gap.
    tolerance : float
        Largest gap allowed.
    """

    def __init__(self, moments, sizes, correlation, aggregate, tolerance):
        self.means, self.spread = moments
        self.sizes = sizes
        self.aggregate = aggregate
        self.tolerance = tolerance
        self.z = _correlated(_lots(len(self.means)), correlation)

    def probability(self, factor=1.0, people=1.0):
        """Probability that the population's gap is at most the tolerance.

        Parameters
        ----------
        factor, people : float, default=1.0
            As in `RatePosterior.probability`.
        """
        means = self.aggregate.shrunk(self.means, factor)[:, np.newaxis]
        if self.spread is None:
            drawn = self._rates(means, people * self.sizes[:, np.newaxis])
        else:
            drawn = means + (self._errors if people == 1.0 else self._draw_errors(people))
        return float(np.mean(self.aggregate.gap(drawn) <= self.tolerance))

    @cached_property
    def _errors(self):
        """Errors of mean losses at the sample size at hand, which are needed again and again."""
        return self._draw_errors(1.0)

    def _draw_errors(self, people):
        z, freedom = self.z, np.maximum(people * self.sizes[:, np.newaxis] - 1.0, 1.0)
        student = z + z * (z * z + 1.0) / (4.0 * freedom)
        return self.spread[:, np.newaxis] * student / np.sqrt(freedom)

    def _rates(self, rates, sizes):
        angles = np.arcsin(np.sqrt((np.clip(rates, 0.0, 1.0) * sizes + 0.5) / (sizes + 1.0)))
        angles = angles + self.z / (2.0 * np.sqrt(sizes + 1.0))
        return np.sin(np.clip(angles, 0.0, np.pi / 2)) ** 2


class CurvePosterior:
    """Shares above several thresholds, drawn: their errors are a Brownian bridge in each event.

    Parameters
    ----------
    above : ndarray of shape (n_events, n_thresholds)
        Share of each event that scores above ascending thresholds.
    sizes : ndarray of shape (n_events,)
        Effective sizes.
    positions : list of Position
        Where a share lies in the interval of each event.
    units : ndarray of shape (n_events,)
        What the tolerance calls the length of each interval.
    blocks : ndarray of int, shape (n_events,)
        Events of one block are compared with one another.
    tolerance : float
        Largest difference allowed, at any threshold.
    """

    def __init__(self, above, sizes, positions, units, blocks, tolerance):
        self.above = above
        self.sizes = sizes
        self.positions = positions
        self.units = units
        self.blocks = [blocks == block for block in np.unique(blocks)]
        self.tolerance = tolerance
        self.errors = _bridges(above)

    def probability(self, factor=1.0, people=1.0):
        """Probability that the population's gap is at most the tolerance.

        Parameters
        ----------
        factor, people : float, default=1.0
            As in `RatePosterior.probability`.
        """
        counted = self._placed(self.above[..., np.newaxis])
        drawn = self._drawn if people == 1.0 else self._draw(people)
        worst = np.zeros(drawn.shape[-1])
        for block in self.blocks:
            middle = (counted[block].max(axis=0) + counted[block].min(axis=0)) / 2
            shrunk = drawn[block] - (1.0 - factor) * (counted[block] - middle)
            worst = np.maximum(worst, np.ptp(shrunk, axis=0).max(axis=0))
        return float(np.mean(worst <= self.tolerance))

    @cached_property
    def _drawn(self):
        """What is drawn for the sample size at hand, and asked for again and again."""
        return self._draw(1.0)

    def _draw(self, people):
        scale = 1.0 / np.sqrt(people * self.sizes + 1.0)
        return self._placed(self.above[..., np.newaxis] + self.errors * scale[:, None, None])

    def _placed(self, above):
        own = zip(self.positions, np.clip(above, 0.0, 1.0), self.units, strict=True)
        return np.stack([unit * position.of(shares) for position, shares, unit in own])


def kish_sizes(events):
    """How many samples of equal weight each event amounts to, (n_events,)."""
    return 1.0 / events.averaging.power(2).sum(axis=1)


def spread_of(events, values):
    """Standard deviation of values within each event, (n_events,)."""
    samples, event, shares = events.memberships
    deviations = values[samples] - events.means(values)[event]
    return np.sqrt(np.bincount(event, shares * deviations**2, events.n_events))


def cluster_effects(events, values, clusters):
    """Design effect of clusters on the mean of each event, and the correlation of the means.

    The variance of a mean is the sum of squares of what each cluster adds to its error [1]_. The
    design effect is its ratio to that of independent samples, 1 at least. Where all values of an
    event are equal, all members of a cluster count as one.

    Parameters
    ----------
    events : Events
        Sets of samples, with their shares.
    values : ndarray of shape (n_samples,)
        A value of every sample.
    clusters : ndarray of int, shape (n_samples,)
        Code of the cluster of each sample.

    Returns
    -------
    effects : ndarray of shape (n_events,)
    correlation : ndarray of shape (n_events, n_events) or None
        None where no cluster has samples of two events.

    References
    ----------
    .. [1] K.-Y. Liang and S. L. Zeger, "Longitudinal data analysis using generalized linear
       models", Biometrika 73, 1986.
    """
    samples, event, shares = events.memberships
    deviations = shares * (values[samples] - events.means(values)[event])
    # Each sum has an event and a cluster.
    keys, sums = np.unique((event, clusters[samples]), axis=1, return_inverse=True)
    sums = sums.ravel()
    errors, weights = np.bincount(sums, deviations), np.bincount(sums, shares)
    n_clusters = np.bincount(keys[0], minlength=events.n_events)
    squares = np.bincount(keys[0], errors**2, events.n_events)
    independent = np.bincount(event, deviations**2, events.n_events)
    unequal = independent > 0
    squares = np.where(unequal, squares, np.bincount(keys[0], weights**2, events.n_events))
    independent[~unequal] = np.bincount(event, shares**2, events.n_events)[~unequal]
    few = n_clusters / np.maximum(n_clusters - 1.0, 0.5)  # as of any variance with one mean taken
    effects = np.maximum(1.0, few * squares / independent)
    shape = events.n_events, int(clusters.max()) + 1
    shared = sparse.csr_array((errors, tuple(keys)), shape=shape)
    covariance = (shared @ shared.T).toarray()
    if not (covariance - np.diag(np.diag(covariance))).any():
        return effects, None
    scale = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
    correlation = np.divide(covariance, scale, out=np.zeros_like(scale), where=scale > 0)
    np.fill_diagonal(correlation, 1.0)
    return effects, correlation


def _correlated(lots, correlation):
    """The same numbers, (n_rows, n_draws), correlated with one another."""
    if correlation is None:
        return lots
    sizes, axes = np.linalg.eigh(correlation)
    return axes @ (np.sqrt(np.maximum(sizes, 0.0))[:, np.newaxis] * (axes.T @ lots))


def _lots(n_rows):
    """Standard normal numbers, as many above 0 as below; always the same ones."""
    half = np.random.default_rng(0).standard_normal((n_rows, _N_DRAWS // 2))
    return np.hstack((half, -half))


def _bridges(above):
    """Errors of the shares above thresholds, times the root of the size."""
    n_events, n_thresholds = above.shape
    order = np.argsort(above, axis=1)
    ordered = np.clip(np.take_along_axis(above, order, axis=1), 0.0, 1.0)
    steps = np.diff(ordered, axis=1, prepend=0.0, append=1.0)
    n_draws = max(1024, min(_N_DRAWS, (1 << 18) // steps.size))
    lots = _lots(n_events * (n_thresholds + 1))[:, :n_draws].reshape(*steps.shape, n_draws)
    walk = np.cumsum(np.sqrt(steps)[..., np.newaxis] * lots, axis=1)
    bridge = walk[:, :-1] - ordered[..., np.newaxis] * walk[:, -1:]
    return np.take_along_axis(bridge, np.argsort(order, axis=1)[..., np.newaxis], axis=1)
