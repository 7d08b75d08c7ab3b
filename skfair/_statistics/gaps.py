"""Gaps in the population: verdicts, intervals, posterior, sample sizes, balance of clusters."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.special import betainc
from sklearn.base import BaseEstimator

from skfair._groups.events import Events
from skfair._groups.groups import balance, count_table
from skfair._groups.samples import check_metric_input
from skfair._statistics.bounded_means import BoundedMeans, make_estimates
from skfair._statistics.estimates import (
    Estimates,
    LogRates,
    Rates,
    check_level,
    correlation_of,
    pairwise_contrasts,
)
from skfair._statistics.limits_of_rates import clopper_pearson_limits
from skfair._utils.api import MatrixLike
from skfair._utils.checks import argument_error, warn
from skfair._utils.parameters import CONFIDENCE_LEVEL

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from skfair._utils.tables import TableLike


# What is known of a bound in the population, in one word for claims, monitors and fits.


Verdict = Literal["shown", "open", "contradicted"]
"""The bound is shown to hold in the population, or it is shown to be broken, or neither."""


def find_verdict(is_shown: bool, is_contradicted: bool = False) -> Verdict:
    """The word for what is known; a bound that is contradicted is not shown."""
    if is_contradicted:
        return "contradicted"
    return "shown" if is_shown else "open"


# Confidence intervals of a gap, the largest of many differences.


class Interval(NamedTuple):
    """Estimate from a sample, with confidence limits of the value in the population.

    Attributes
    ----------
    estimate : float
        The value in the sample.
    low, high : float
        The limits.

    Examples
    --------
    >>> from skfair._statistics.gaps import Interval
    >>> Interval(0.1, 0.05, 0.15).high
    0.15
    """

    estimate: float
    low: float
    high: float


def gap_upper_limit(estimates: Estimates, contrasts: sparse.csr_array, level: float) -> float:
    """Upper limit, at the level, of the gap: of the largest of the forms `contrasts`, and of 0.

    It is the largest of the limits of single forms, each at the full level: only the largest form
    has to be covered (intersection-union: R. L. Berger, Technometrics 24, 1982).
    """
    return float(estimates.gap(estimates.largest_upper(contrasts, level)))


def gap_lower_limit(estimates: Estimates, contrasts: sparse.csr_array, level: float) -> float:
    """Lower limit, at the level, of the gap: of the largest of the forms `contrasts`, and of 0.

    The limit of any form may err, so that the error is divided among them.
    """
    each = 1.0 - (1.0 - level) / contrasts.shape[0]
    uppers = estimates.upper_up_to(-contrasts, each, 0.0)
    return float(estimates.gap(max(0.0, -uppers.min(initial=0.0))))


def interval_of_largest_contrast(
    estimates: Estimates, contrasts: sparse.csr_array, confidence_level: float
) -> Interval:
    """Two-sided `Interval` of the gap: of the largest of the forms `contrasts`, and of 0.

    The upper limit takes half of the error and needs no correction (`gap_upper_limit`). For the
    lower one any form may err, so the other half is divided among them.
    """
    if not contrasts.shape[0]:
        return Interval(0.0, 0.0, 0.0)
    # Means of values that are too skewed for so few samples.
    sizes = estimates.sizes[estimates.has_unreliable_limits]
    if len(sizes):
        warn(
            f"Limits of means hold less often than confidence_level says if values are too skewed "
            f"for so few samples, or all equal: so they are in {len(sizes)} of "
            f"{len(estimates.sizes)} groups, of which the smallest has {sizes.min():.0f} samples. "
            "Collect more (four times the squared skewness), compare bounded values, such as "
            "errors 0 or 1, or leave small groups out."
        )
    tail = 1.0 - confidence_level
    return Interval(
        estimate=float(estimates.gap((contrasts @ estimates.values).max(initial=0.0))),
        low=gap_lower_limit(estimates, contrasts, confidence_level),
        high=gap_upper_limit(estimates, contrasts, 1.0 - tail / 2.0),
    )


def _group_estimates(
    values: TableLike,
    sensitive_features: TableLike,
    sample_weight: TableLike | None,
    value_range: tuple[float, float] | None = None,
) -> Estimates:
    """`Rates` or `Means` of the groups, or `BoundedMeans` of values in a range."""
    samples, (values,) = check_metric_input(sensitive_features, sample_weight, values=values)
    groups = samples.groups
    if groups.is_disjoint:
        events = Events.disjoint(groups.codes, len(groups.labels), samples.weights)
    else:
        events = Events.overlapping(groups.matrix, samples.weights)
    events = events.copy_with_multiplicity(groups.multiplicity)
    values = values.astype(float)
    if value_range is None or np.isin(values, (0.0, 1.0)).all():
        return make_estimates(events, values)
    is_range = np.shape(value_range) == (2,) and all(isinstance(one, Real) for one in value_range)
    if not is_range or not value_range[0] < value_range[1]:
        raise argument_error(
            f"value_range must be two numbers, the smaller first, or None; got {value_range!r}."
        )
    low, high = value_range
    if not low <= values.min() <= values.max() <= high:
        raise ValueError(
            f"Values must be in value_range={low, high}, but they are from {values.min():g} to "
            f"{values.max():g}. Pass the range of all possible values, or None."
        )
    return BoundedMeans(events, values, value_range)


def gap_interval(
    values: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    sample_weight: ArrayLike | None = None,
    confidence_level: float = CONFIDENCE_LEVEL,
    value_range: tuple[float, float] | None = None,
) -> Interval:
    r"""Confidence interval of the largest difference between two groups' means in the population.

    The gap of k groups is the largest of k (k - 1) differences. The largest upper limit of a
    difference, each at the full level, bounds it: only the pair of the largest true difference has
    to be covered. Bootstrap intervals, in contrast, nearly always miss a gap near 0.

    Means of zeros and ones, such as decisions or errors, are rates, and a difference has Newcombe's
    limits ([1]_, method 10). For a rate of up to three successes or failures, and for errors below
    .01, such as those that are divided among many pairs of groups, these use Clopper and Pearson's
    limits where they are wider than Wilson's. Newcombe's limits are too narrow for small groups,
    and where one rate is near 0 and the other near 1. With fewer than 200 samples of a group, or
    such rates, the difference has an exact limit if that is wider, for up to 200 differences
    ([3]_). It is the smallest one that orders all outcomes as Newcombe's limit does.

    A difference of means of other values, such as losses, has Student's limits, or Hall's if these
    are wider ([2]_), because of values with a long tail. Weighted samples count with their
    effective sample size and Student's quantiles. If groups overlap, the correlation of their means
    enters.

    Parameters
    ----------
    values : array-like of shape (n_samples,)
        Value of each sample: a decision 0 or 1, an error, a loss, a score.
    sensitive_features : array-like or sparse matrix
        Group of each sample, as in :func:`skfair.metrics.demographic_parity_difference`.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights. A sample of weight zero counts as absent.
    confidence_level : float, default=0.95
        Probability, over random samples, with which the interval contains the population's value.
    value_range : tuple of two floats, default=None
        Smallest and largest possible value, such as (0, 1) of probabilities. Limits of means are
        then Gaffke's, which allow for rare values that the sample lacks: what is rarer than 3 / n
        is mostly not seen among n samples.

    Returns
    -------
    interval : Interval
        The gap in the sample, and the limits of that in the population. They are valid for the
        training data of a model only if the model does not depend on these data.

    Raises
    ------
    ValueError
        If the confidence level is not between 0 and 1, the inputs differ in length or hold missing
        values, values are outside ``value_range``, or there are more than a thousand groups.

    Warns
    -----
    UserWarning
        If limits are too narrow: the weights are so uneven that the design effect is above 4, the
        skewness of the values is above half the root of the number of samples of a group, or all
        values of a group are equal.

    References
    ----------
    .. [1] R. G. Newcombe, "Interval estimation for the difference between independent
       proportions: comparison of eleven methods", Statistics in Medicine 17, 1998.
    .. [2] P. Hall, "On the removal of skewness by transformation", Journal of the Royal Statistical
       Society B 54, 1992.
    .. [3] R. J. Buehler, "Confidence intervals for the product of two binomial parameters", Journal
       of the American Statistical Association 52, 1957.

    Examples
    --------
    56 of 70 women and 48 of 80 men were accepted. Newcombe's limits are .0524 and .3339 ([1]_,
    table II (a)), and the exact ones are wider:

    >>> from skfair.statistics import gap_interval
    >>> accepted = [1] * 56 + [0] * 14 + [1] * 48 + [0] * 32
    >>> sex = ["f"] * 70 + ["m"] * 80
    >>> gap = gap_interval(accepted, sensitive_features=sex)
    >>> print(f"{gap.estimate:.2f}, between {gap.low:.4f} and {gap.high:.4f}")
    0.20, between 0.0510 and 0.3452
    """
    confidence_level = check_level(confidence_level)
    estimates = _group_estimates(values, sensitive_features, sample_weight, value_range)
    return interval_of_largest_contrast(
        estimates, pairwise_contrasts(len(estimates.values)), confidence_level
    )


def ratio_interval(
    values: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    sample_weight: ArrayLike | None = None,
    confidence_level: float = CONFIDENCE_LEVEL,
) -> Interval:
    r"""Confidence interval of the smallest over the largest rate (disparate impact ratio).

    The construction of :func:`gap_interval` on logarithms: the margins of the rates on the log
    scale add up like standard errors ([1]_). Limits of the rates are Clopper and Pearson's, or
    Wilson's where these are wider.

    Parameters
    ----------
    values : array-like of shape (n_samples,)
        0 or 1 for each sample, such as decisions.
    sensitive_features, sample_weight, confidence_level
        As in :func:`gap_interval`.

    Returns
    -------
    interval : Interval
        In [0, 1]; the estimate is nan if all rates are 0.

    Raises
    ------
    ValueError
        As in :func:`gap_interval`, and if a value is neither 0 nor 1.

    References
    ----------
    .. [1] G. Y. Zou and A. Donner, "Construction of confidence limits about effect measures: a
       general approach", Statistics in Medicine 27, 2008.

    Examples
    --------
    >>> from skfair.statistics import ratio_interval
    >>> accepted = [1] * 56 + [0] * 14 + [1] * 48 + [0] * 32
    >>> sex = ["f"] * 70 + ["m"] * 80
    >>> ratio = ratio_interval(accepted, sensitive_features=sex)
    >>> print(f"{ratio.estimate:.2f}, between {ratio.low:.2f} and {ratio.high:.2f}")
    0.75, between 0.59 and 0.94
    """
    confidence_level = check_level(confidence_level)
    rates = _group_estimates(values, sensitive_features, sample_weight)
    if not isinstance(rates, Rates):
        raise ValueError(
            "values must be 0 or 1, such as decisions, for the ratio of rates. Compare means of "
            "other values by their difference, with gap_interval."
        )
    largest = rates.values.max()
    estimate = float(rates.values.min() / largest) if largest > 0 else np.nan
    gap = interval_of_largest_contrast(
        LogRates(rates), pairwise_contrasts(len(rates.values)), confidence_level
    )
    return Interval(estimate, 1.0 - gap.high, 1.0 - gap.low)


# Posterior probability that the population's gap is at most a tolerance.
#
# Independent rates have Jeffreys' posteriors, Beta(x + 1/2, n - x + 1/2) for x of n, and the
# probability that their range is at most the tolerance, or their ratio at least a bound, is an
# integral in one dimension. Everything else is drawn: overlapping events, sums of gaps, mean
# losses, shares at many thresholds.
#
# Each posterior has ``probability(factor=1.0, multiple=1.0, tolerance=None)``: the probability that
# the population's gap is at most the tolerance, None for that of the posterior, if the measured gap
# were multiplied by ``factor`` and the sample size by ``multiple``.


_N_DRAWS = 1 << 13  # of normal numbers, at most


def gap_posterior(
    events: Events,
    values: np.ndarray,
    clusters: np.ndarray | None,
    known: Sequence[float] | np.ndarray | None,
    aggregate: Any,
    tolerance: float,
) -> MonteCarloPosterior | RatePosterior:
    """Posterior of a gap between the means of values over events.

    `aggregate` is the Gap that makes one number of the means. Samples of equal code in `clusters`
    are correlated; None if none are. `known` are all values that samples can have, or None.
    """
    estimates = make_estimates(events, values, known=known)
    sizes = estimates.sizes
    correlation = estimates.correlation
    if clusters is not None:
        effects, correlation = cluster_effects_and_correlation(events, values, clusters)
        sizes = sizes / effects
    if isinstance(estimates, BoundedMeans):
        return BoundedPosterior(estimates, sizes, correlation, aggregate, tolerance)
    if not isinstance(estimates, Rates):
        moments = estimates.values, _event_standard_deviations(events, values)
        return MonteCarloPosterior(moments, sizes, correlation, aggregate, tolerance)
    if aggregate.is_range and correlation is None:
        return RatePosterior(estimates.values, sizes, aggregate, tolerance)
    return MonteCarloPosterior((estimates.values, None), sizes, correlation, aggregate, tolerance)


def range_probability(
    rates: np.ndarray, sizes: np.ndarray, width: float, scale: float = 1.0
) -> float:
    r"""Posterior probability that independent rates lie within a width of one another, if scaled.

    With F the distribution function of each rate's posterior,

    .. math::

        P(s \max - \min \le w)
            = \sum_j \int \prod_{i \ne j} [F_i((t + w) / s) - F_i(t)] \, dF_j(t).

    `sizes` are the effective sample sizes of the rates, w is the `width` and s the `scale`, with
    which the smallest ratio allowed is s for a width of 0.
    """
    return _integrate_range(*_tabulate_posteriors(rates, sizes), width, scale)


def _integrate_range(values: np.ndarray, shares: np.ndarray, width: float, scale: float) -> float:
    """The integral of `range_probability`, from the tables of the posteriors."""
    # Rate j is the lowest; all others lie within the width above it.
    lowest = (values[:, 1:] + values[:, :-1]) / 2
    ends = np.stack((lowest, (lowest + width) / scale))
    below = [np.interp(ends, *table) for table in zip(values, shares, strict=True)]
    within = np.array([highest - low for low, highest in below])
    within[range(len(values)), range(len(values))] = 1.0
    pairs = zip(within.prod(axis=0), np.diff(shares), strict=True)
    return float(min(1.0, sum(others @ steps for others, steps in pairs)))


def _tabulate_posteriors(rates: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values of each rate, and the posterior probability that it is below each of them."""
    a = rates * sizes + 0.5
    b = (1.0 - rates) * sizes + 0.5
    # On the scale of angles the prior is uniform, and the spread is the same for all rates.
    # 300 steps over 6.5 standard deviations to either side.
    reach = 6.5 / (2.0 * np.sqrt(sizes + 1.0))
    angle = np.arcsin(np.sqrt(a / (a + b)))
    ends = np.clip([angle - reach, angle + reach], 0.0, np.pi / 2)
    low, high = ends
    values = np.sin(np.ascontiguousarray(np.linspace(low, high, 301).T)) ** 2
    shares = betainc(a[:, np.newaxis], b[:, np.newaxis], values)
    shares[:, 0] = 0.0
    shares[:, -1] = 1.0
    return values, shares


_Result = TypeVar("_Result")
_LatestResult = dict[tuple[float, ...], _Result]
"""The latest result of a method by its arguments."""


def _recall(
    latest: _LatestResult[_Result], compute: Callable[..., _Result], *arguments: float
) -> _Result:
    """The result of a method, computed only if the latest one is of other arguments."""
    if arguments not in latest:
        result = compute(*arguments)
        latest.clear()
        latest[arguments] = result
    return latest[arguments]


@dataclass(eq=False)
class RatePosterior:
    """Independent rates, of which the largest and the smallest are compared in each block."""

    means: np.ndarray
    sizes: np.ndarray
    aggregate: Any
    tolerance: float

    def __post_init__(self) -> None:
        self._latest: _LatestResult[list[Any]] = {}  # needed at many tolerances

    def probability(
        self, factor: float = 1.0, multiple: float = 1.0, tolerance: float | None = None
    ) -> float:
        """Probability that the population's gap is at most the tolerance."""
        tolerance = self.tolerance if tolerance is None else tolerance
        bounds = self.aggregate.width_and_scale(tolerance)
        # Blocks are independent, so their probabilities multiply.
        tables = _recall(self._latest, self._tabulate, factor, multiple)
        within = [_integrate_range(*table, *bounds) for table in tables]
        return float(np.prod(within))

    def _tabulate(self, factor: float, multiple: float) -> list[tuple[np.ndarray, np.ndarray]]:
        """Tables of the posteriors of the rates in each block."""
        rates = np.clip(self.aggregate.rescale_means(self.means, factor), 0.0, 1.0)
        values, shares = _tabulate_posteriors(rates, multiple * self.sizes)
        return [(values[block], shares[block]) for block in map(list, self.aggregate.blocks)]


class MonteCarloPosterior:
    r"""Means of any kind, drawn.

    With e an event and z a standard normal variable, correlated with those of other events as the
    means are where they share samples, a rate is drawn as
    :math:`\sin^2(\arcsin \sqrt{\tilde r_e} + z / (2 \sqrt{n_e + 1}))`, which is nearly Jeffreys'
    posterior, and a mean loss as :math:`m_e + s_e t(z) / \sqrt{n_e}`, with Student's variable t.
    `moments` are the means and the standard deviations within the events; None for rates.
    """

    def __init__(
        self,
        moments: tuple[np.ndarray, np.ndarray | float | None],
        sizes: np.ndarray,
        correlation: np.ndarray | None,
        aggregate: Any,
        tolerance: float,
    ) -> None:
        self.means, self.spread = moments
        self.sizes = sizes
        self.aggregate = aggregate
        self.tolerance = tolerance
        self.z = _correlate(_draw_normal(len(self.means)), correlation)
        self._latest: _LatestResult[np.ndarray] = {}  # needed many times

    def probability(
        self, factor: float = 1.0, multiple: float = 1.0, tolerance: float | None = None
    ) -> float:
        """Probability that the population's gap is at most the tolerance."""
        means = self.aggregate.rescale_means(self.means, factor)[:, np.newaxis]
        if self.spread is None:
            # Rates by normal variables on the scale of angles.
            sizes = multiple * self.sizes[:, np.newaxis]
            angles = np.arcsin(np.sqrt((np.clip(means, 0.0, 1.0) * sizes + 0.5) / (sizes + 1.0)))
            angles = angles + self.z / (2.0 * np.sqrt(sizes + 1.0))
            drawn = np.sin(np.clip(angles, 0.0, np.pi / 2)) ** 2
        else:
            drawn = means + _recall(self._latest, self._draw_errors, multiple)
        tolerance = self.tolerance if tolerance is None else tolerance
        return float(np.mean(self.aggregate(drawn) <= tolerance))

    def _draw_errors(self, multiple: float) -> np.ndarray:
        """Errors of mean losses: Student's variable, by its expansion in normal ones."""
        z = self.z
        freedom = np.maximum(multiple * self.sizes[:, np.newaxis] - 1.0, 1.0)
        student = z + z * (z * z + 1.0) / (4.0 * freedom)
        return self.spread[:, np.newaxis] * student / np.sqrt(freedom)  # type: ignore[index]


class BoundedPosterior(MonteCarloPosterior):
    """Means of known values, drawn from the confidence distribution of Gaffke's limits."""

    def __init__(
        self,
        estimates: BoundedMeans,
        sizes: np.ndarray,
        correlation: np.ndarray | None,
        aggregate: Any,
        tolerance: float,
    ) -> None:
        self._estimates = estimates
        super().__init__((estimates.values, 0.0), sizes, correlation, aggregate, tolerance)

    def _draw_errors(self, multiple: float) -> np.ndarray:
        """Errors of the means, (n_events, n_draws)."""
        drawn = self._estimates.draw_means(self.z, multiple * self.sizes)
        return drawn - self.means[:, np.newaxis]


class UnknownPosterior:
    """A gap of which nothing is known, as that of precision where no sample is accepted."""

    def __init__(self, n_events: int, tolerance: float) -> None:
        self.means = np.zeros(n_events)
        self.sizes = np.ones(n_events)
        self.tolerance = tolerance

    def probability(
        self, factor: float = 1.0, multiple: float = 1.0, tolerance: float | None = None
    ) -> float:
        """0: an unknown gap is never known to be within the tolerance."""
        return 0.0


class CurvePosterior:
    """Shares above several thresholds, drawn. The gap is the largest at any threshold.

    `above` holds shares above ascending thresholds, (n_events, n_thresholds). A share of an event
    counts by ``unit * interval.position_of(share)``. Events of one block are compared.
    """

    def __init__(
        self,
        above: np.ndarray,
        sizes: np.ndarray,
        intervals: list[Any],
        units: np.ndarray,
        blocks: np.ndarray,
        tolerance: float,
    ) -> None:
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
        self._latest: _LatestResult[np.ndarray] = {}  # needed many times

    def probability(
        self, factor: float = 1.0, multiple: float = 1.0, tolerance: float | None = None
    ) -> float:
        """Probability that the population's gap is at most the tolerance, at the worst threshold.

        The tolerance is broken if it is at one threshold, so a test of all thresholds needs no
        smaller level for each (an intersection-union test: R. L. Berger, Technometrics 24, 1982).
        The largest of many measured gaps already exceeds the population's by chance. Requiring all
        thresholds at once would count this noise twice.
        """
        tolerance = self.tolerance if tolerance is None else tolerance
        measured = self._shares_to_positions(self.above[..., np.newaxis])
        drawn = _recall(self._latest, self._draw_positions, multiple)
        probabilities = []
        for block in self.blocks:
            # Measured shares move toward the middle of their block; their errors stay.
            middle = (measured[block].max(axis=0) + measured[block].min(axis=0)) / 2
            shrunk = drawn[block] - (1.0 - factor) * (measured[block] - middle)
            is_within = np.ptp(shrunk, axis=0) <= tolerance
            probabilities.append(is_within.mean(axis=-1).min())
        return float(min(probabilities))

    def _draw_positions(self, multiple: float) -> np.ndarray:
        """Positions of drawn shares in the intervals of their events."""
        scale = 1.0 / np.sqrt(multiple * self.sizes + 1.0)
        return self._shares_to_positions(
            self.above[..., np.newaxis] + self.errors * scale[:, None, None]
        )

    def _shares_to_positions(self, above: np.ndarray) -> np.ndarray:
        """Positions of shares in the intervals of their events, in units of the tolerance."""
        rows = zip(self.intervals, np.clip(above, 0.0, 1.0), self.units, strict=True)
        return np.stack([unit * interval.position_of(shares) for interval, shares, unit in rows])


def kish_sizes(events: Events) -> np.ndarray:
    """Effective sample size of each event: as many samples of equal weight, (n_events,)."""
    return 1.0 / events.averaging_matrix.power(2).sum(axis=1)


def _event_standard_deviations(events: Events, values: np.ndarray) -> np.ndarray:
    """Standard deviation of values within each event, (n_events,)."""
    positions, event, shares = events.memberships
    deviations = values[positions] - events.means(values)[event]
    return np.sqrt(np.bincount(event, shares * deviations**2, events.n_events))


def cluster_effects_and_correlation(
    events: Events, values: np.ndarray, clusters: np.ndarray
) -> tuple[np.ndarray, np.ndarray | None]:
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
    positions, event, shares = events.memberships
    deviations = shares * (values[positions] - events.means(values)[event])
    # Sum the errors, and the shares, of each event and cluster.
    n_codes = int(clusters.max()) + 1
    pairs, sums = np.unique(event * n_codes + clusters[positions], return_inverse=True)
    keys = np.divmod(pairs, n_codes)
    errors = np.bincount(sums, deviations)
    weights = np.bincount(sums, shares)
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
    return effects, correlation_of(covariance)


def _correlate(draws: np.ndarray, correlation: np.ndarray | None) -> np.ndarray:
    """Standard normal draws, (n_rows, n_draws), with a given correlation between rows."""
    if correlation is None:
        return draws
    sizes, axes = np.linalg.eigh(correlation)
    return axes @ (np.sqrt(np.maximum(sizes, 0.0))[:, np.newaxis] * (axes.T @ draws))


def _draw_normal(n_rows: int, n_draws: int = _N_DRAWS) -> np.ndarray:
    """Standard normal numbers, antithetic and the same at each call, (n_rows, n_draws)."""
    half = np.random.default_rng(0).standard_normal((n_rows, n_draws // 2))
    return np.hstack((half, -half))


# Lower confidence limit of the balance of clusters in the population.


def _count_clusters(n_clusters: int | BaseEstimator | None) -> int | None:
    """The number of clusters, also of a fitted clustering; None if it is not known."""
    if n_clusters is None:
        return None
    number = n_clusters
    if isinstance(n_clusters, BaseEstimator):
        # Those that were found, as by agglomeration, before those that were asked for.
        number = getattr(n_clusters, "n_clusters_", getattr(n_clusters, "n_clusters", None))
    if not isinstance(number, Integral) or isinstance(number, bool) or number < 1:
        raise argument_error(
            "n_clusters must be a positive integer, or a fitted clustering with n_clusters, but is "
            f"{n_clusters!r}."
        )
    return int(number)


def balance_limit(
    labels: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    sample_weight: ArrayLike | None = None,
    confidence_level: float = CONFIDENCE_LEVEL,
    n_clusters: int | BaseEstimator | None = None,
) -> Interval:
    r"""Lower confidence limit of the balance that given clusters have in the population.

    Among the :math:`m` samples of groups i and j in a cluster, the number of i is binomial with the
    probability :math:`\theta = p_i / (p_i + p_j)`, and the ratio of the groups is :math:`\theta /
    (1 - \theta)`. Clopper and Pearson's lower limit of each :math:`\theta` is exact, and the
    smallest of the ratios, each at the full level, bounds the balance: only the pair of the
    smallest true ratio has to be covered. There is no upper limit, so that ``high`` is 1.

    `labels` (n_samples,) are clusters of held-out samples, by a clustering fitted to *other*
    samples. If the samples lack one of `n_clusters`, nothing is known of its balance, and the limit
    is 0; None limits the balance of the clusters that occur. It warns where weights are so uneven
    that the limit is too high (a design effect above 4).
    """
    confidence_level = check_level(confidence_level)
    n_expected = _count_clusters(n_clusters)
    samples, (labels,) = check_metric_input(sensitive_features, sample_weight, labels=labels)
    clusters, codes = np.unique(labels, return_inverse=True)
    groups = samples.groups
    weights = samples.weights / samples.weights.max()
    n_occurring = len(clusters)
    if n_expected is not None and n_occurring > n_expected:
        raise argument_error(
            "n_clusters must be the number of clusters of the clustering, or the clustering, but "
            f"it has {n_expected}, and the labels name {n_occurring}. Pass the clustering that "
            "made the labels."
        )
    n_groups = len(groups.labels)
    # Samples, weight and squared weight of every group in every cluster.
    sums = np.dstack(
        [
            count_table(codes, groups.codes, weights**power, n_occurring, n_groups)
            for power in (0, 1, 2)
        ]
    )
    if n_groups == 1:
        return Interval(1.0, 1.0, 1.0)
    # Share of the first of every ordered pair of groups in every cluster.
    i, j = np.nonzero(~np.eye(n_groups, dtype=bool))
    first = sums[:, i].reshape(-1, 3)
    second = sums[:, j].reshape(-1, 3)
    known = (first + second)[:, 0] > 0
    shares = Rates.from_sums(first[known], second[known])
    low = np.zeros(len(first))
    low[known], _ = clopper_pearson_limits(
        shares.values * shares.sizes, shares.sizes, confidence_level
    )
    ratio = (low / (1.0 - low)).min()
    if n_expected is not None and n_occurring < n_expected:
        ratio = 0.0
    return Interval(balance(sums[..., 1]), float(min(1.0, ratio)), 1.0)
