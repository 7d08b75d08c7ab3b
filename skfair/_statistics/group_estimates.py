"""Estimates of groups: means, quotients of sums, areas, and any function of their samples."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce
from typing import Any

import numpy as np
from scipy import optimize, sparse, special

from skfair._groups import Groups
from skfair._groups.events import Events
from skfair._statistics.areas import AUCs
from skfair._statistics.bounded_means import make_estimates
from skfair._statistics.estimates import Estimates, Means, Rates, correlation_of

# Each function returns the estimates of the groups that have a value, or None if no group has one,
# and the positions of these groups.


_NO_GROUPS = np.empty(0, dtype=np.intp)


def estimate_means(
    values: np.ndarray,
    mask: np.ndarray | None,
    groups: Groups,
    weights: np.ndarray,
    clusters: np.ndarray | None = None,
    kind: Callable[..., Estimates] = make_estimates,
) -> tuple[Estimates | None, np.ndarray]:
    """Means of values over the samples of each group, and the groups that have such samples.

    `mask` selects the samples that count; None selects all. `kind` makes `Estimates` of events,
    values and clusters.
    """
    if mask is not None and not mask.any():
        return None, _NO_GROUPS
    # Events are the groups that have samples which count.
    n_groups = len(groups.labels)
    if groups.is_disjoint:
        codes = groups.codes if mask is None else np.where(mask, groups.codes, n_groups)
        present = np.flatnonzero(np.bincount(codes, minlength=n_groups + 1)[:n_groups])
        place = np.full(n_groups + 1, -1)
        place[present] = np.arange(len(present))
        events = Events.disjoint(place[codes], len(present), weights)
    else:
        matrix = groups.matrix
        if mask is not None:
            matrix = sparse.csr_array(sparse.diags_array(mask.astype(float)) @ matrix)
            matrix.eliminate_zeros()
        present = np.flatnonzero(np.bincount(matrix.indices, minlength=n_groups))
        if not len(present):
            return None, present
        events = Events.overlapping(matrix[:, present], weights)
    events = events.copy_with_multiplicity(groups.multiplicity)
    return kind(events, np.asarray(values, dtype=float), clusters), present


def estimate_quotients(numerators, denominators, groups, weights, clusters=None):
    r"""Quotients of two weighted sums, linearised: means of values whose mean is the quotient.

    With :math:`n_i` and :math:`d_i` what sample i counts, and r the quotient of its group,

    .. math:: z_i = r + (n_i - r d_i) / \bar d

    has the mean r, and its standard error is that of r (W. G. Cochran, "Sampling techniques",
    Wiley 1977, section 2.11). Samples that count nowhere are left out. A group whose denominator
    is 0 has no value.
    """
    # One row for each sample of a group that counts: overlapping groups share their `clusters`.
    rows, codes = groups.memberships
    counts = (numerators[rows] != 0) | (denominators[rows] != 0)
    rows = rows[counts]
    codes = codes[counts]
    n_groups = len(groups.labels)
    n = numerators[rows]
    d = denominators[rows]
    w = weights[rows]
    total_n, total_d, total_w = (np.bincount(codes, w * x, n_groups) for x in (n, d, 1.0))
    present = np.flatnonzero(total_d > 0)
    if not len(present):
        return None, present
    base = np.where(total_d > 0, total_d, 1.0)
    quotient = total_n / base
    z = quotient[codes] + (n - quotient[codes] * d) * (total_w / base)[codes]
    if clusters is None and not groups.is_disjoint:
        clusters = np.arange(len(weights))
    clusters = None if clusters is None else clusters[rows]
    counts = None if groups.multiplicity is None else groups.multiplicity[rows]
    disjoint = Groups(groups.labels, codes=codes, multiplicity=counts)
    return estimate_means(z, (total_d > 0)[codes], disjoint, w, clusters, Means)


def estimate_areas(
    is_true: np.ndarray, scores: np.ndarray, groups: Groups, weights: np.ndarray
) -> tuple[AUCs | None, np.ndarray]:
    """Areas under the ROC curves of the groups that have both classes."""
    members = groups.members()
    complete = [g for g, rows in enumerate(members) if 0 < is_true[rows].sum() < len(rows)]
    if not complete:
        return None, _NO_GROUPS
    members = [members[g] for g in complete]
    return AUCs(is_true, scores, members, weights, groups.multiplicity), np.array(complete)


# Averages of estimates of the same groups.


def estimate_averages(
    estimated: list[tuple[Any, np.ndarray]],
) -> tuple[Estimates | None, np.ndarray]:
    """Averages of estimates without common samples, and the groups that each of them has.

    `estimated` is a list of pairs of estimates, or None, and positions of groups.
    """
    present = reduce(np.intersect1d, [positions for _, positions in estimated])
    if not len(present):
        return None, present
    selections = [
        sparse.eye_array(len(positions), format="csr")[np.isin(positions, present)]
        for _, positions in estimated
    ]
    return Averages([one for one, _ in estimated], selections), present


class Averages(Estimates):
    """Averages of independent estimates, such as the rates of two classes in each group.

    The margins of the parts, one for each linear form, add up like standard errors, as those in
    `Estimates.upper` do. `selections` are csr_arrays of 0 and 1, (n_events, n_estimates), that
    select the one estimate of each event from each of the `parts`.
    """

    interval = "Wilson or exact, combined"

    def __init__(self, parts: list[Rates], selections: list[sparse.csr_array]) -> None:
        self._parts = list(zip(parts, [one / len(parts) for one in selections], strict=True))
        self.values = sum(average @ part.values for part, average in self._parts)
        pairs = list(zip(parts, selections, strict=True))
        self.counts = sum(selection @ part.counts for part, selection in pairs)
        self.sizes = sum(selection @ part.sizes for part, selection in pairs)

    @property
    def standard_errors(self) -> np.ndarray:
        """Root of the sum of the squared errors of the parts."""
        return np.linalg.norm([each @ one.standard_errors for one, each in self._parts], axis=0)

    limits = Means.limits

    def upper(self, contrasts: sparse.csr_array, level: float) -> np.ndarray:
        """Upper limit of each linear form, as in `Estimates.upper`."""
        forms = [(one, contrasts @ average) for one, average in self._parts]
        margins = [one.upper(form, level) - form @ one.values for one, form in forms]
        return contrasts @ self.values + np.linalg.norm(margins, axis=0)


# Shares of selected samples, of which a fixed number is selected in all.


class FixedTotalRates(Estimates):
    r"""Shares of selected samples in sets, given the number selected among all samples.

    The number X of selected samples in a set of n of all N samples, K of which are selected, has
    Fisher's noncentral hypergeometric distribution with the odds ratio :math:`\omega` of the set
    to all others; 1 means equal rates. Limits of :math:`\omega` are exact ones of this
    distribution ([1]_), and limits of the rate are the means of X / n at these. Two sets have the
    correlation :math:`-\sqrt{n_1 n_2 / ((N - n_1) (N - n_2))}` of the hypergeometric distribution:
    if they are all samples it is -1, and limits of a difference are exact too.

    `hits` and `sizes` are the weights of selected and of all samples in the sets, `n_selected` and
    `n_samples` those of all samples, in units in which a sample of average weight is 1.
    `efficiency`, at most 1, is the effective size of all samples over their number. Hits that are
    no whole numbers, because of ties or weights, are rounded outwards.

    References
    ----------
    .. [1] J. Cornfield, "A statistical problem arising from retrospective studies", Proceedings of
       the Third Berkeley Symposium 4, 1956.
    """

    interval = "exact, given k"
    are_rates = True

    def __init__(
        self,
        hits: np.ndarray,
        sizes: np.ndarray,
        counts: np.ndarray,
        n_selected: float,
        n_samples: float,
        efficiency: float = 1.0,
    ) -> None:
        self.values = hits / sizes
        self.counts = counts
        self._efficiency = efficiency
        self._hits = hits
        self._n_in_sets = sizes
        self._n_selected = n_selected
        self._n_samples = n_samples
        self.sizes = sizes * efficiency

    @property
    def standard_errors(self) -> np.ndarray:
        """Root of the variance of the hypergeometric distribution at each rate."""
        rest = np.maximum(self._n_samples - self._n_in_sets, 0.0) / max(self._n_samples - 1.0, 1.0)
        return np.sqrt(self.values * (1.0 - self.values) * rest / self.sizes)

    @property
    def correlation(self) -> np.ndarray:  # type: ignore[override]
        """Correlation of the shares of sets without common samples."""
        ratios = self._n_in_sets / np.maximum(self._n_samples - self._n_in_sets, 1e-100)
        correlation = -np.sqrt(np.minimum(np.outer(ratios, ratios), 1.0))
        np.fill_diagonal(correlation, 1.0)
        return correlation

    def limits(self, level: float) -> tuple[np.ndarray, np.ndarray]:
        """Exact conditional limits, as in `Estimates.limits`."""
        n_samples, n_selected = (
            round(self._efficiency * x) for x in (self._n_samples, self._n_selected)
        )
        pairs = zip(self._efficiency * self._hits, self._efficiency * self._n_in_sets, strict=True)
        ends = [_fixed_total_limits(x, n, n_selected, n_samples, level) for x, n in pairs]
        low, high = np.array(ends).reshape(-1, 2).T
        return np.minimum(low, self.values), np.maximum(high, self.values)


@lru_cache(maxsize=10_000)  # a report asks for most of them again, for gaps and ratios
def _fixed_total_limits(
    hits: float, size: float, n_selected: int, n_samples: int, level: float
) -> tuple[float, float]:
    """Limits of the share of selected samples in a set."""
    size = max(1, round(size))
    rest = n_samples - size - n_selected
    least = max(0, -rest)
    most = min(size, n_selected)
    # Whole hits below and above; those that are whole up to rounding stay.
    rounded = np.floor(hits + 1e-9), np.ceil(hits - 1e-9)
    low, high = np.clip(rounded, least, most).astype(int).tolist()

    def probabilities(log_odds: float) -> tuple[np.ndarray, np.ndarray]:
        """The counts near the mode at these odds, and their probabilities."""
        counts = _counts_near_mode(least, most, size, n_selected, rest, log_odds)
        x = counts[:-1].astype(float)
        ratios = np.log((size - x) * (n_selected - x) / ((x + 1.0) * (rest + x + 1.0)))
        masses = np.append(0.0, np.cumsum(ratios + log_odds))
        masses = np.exp(masses - masses.max())
        return counts, masses / masses.sum()

    def solve_share(excess: Callable[[np.ndarray, np.ndarray], float]) -> float:
        # The excess of a tail over the error increases with the odds, from below to above 0.
        root = optimize.brentq(
            lambda odds: excess(*probabilities(odds)),
            -_LARGEST_LOG_ODDS,
            _LARGEST_LOG_ODDS,
            xtol=1e-13,
        )
        counts, masses = probabilities(root)
        return masses @ counts / size

    error = 1.0 - level
    lower = least / size
    upper = most / size
    if low > least:
        lower = solve_share(lambda counts, masses: masses[counts >= low].sum() - error)
    if high < most:
        upper = solve_share(lambda counts, masses: error - masses[counts <= high].sum())
    return lower, upper


def _counts_near_mode(
    least: int, most: int, size: int, n_selected: int, rest: int, log_odds: float
) -> np.ndarray:
    """The counts within 7 roots of the largest number of them from the mode at an odds ratio.

    A count is a sum of independent zeros and ones with unequal probabilities, so those left out
    have a probability below 1e-40 together (Hoeffding).
    """
    # The mode solves (size - x) (n_selected - x) odds = x (rest + x).
    odds = np.exp(log_odds)
    linear = odds * (size + n_selected) + rest
    product = odds * size * n_selected
    root = np.sqrt(max(linear**2 - 4.0 * (odds - 1.0) * product, 0.0))
    # Of two forms of the solution the one without a difference of near numbers.
    mode = (
        2.0 * product / (linear + root) if linear > 0.0 else (linear - root) / (2.0 * (odds - 1.0))
    )
    reach = 7.0 * np.sqrt(min(size, n_selected))
    first, last = np.clip([mode - reach, mode + reach], least, most).astype(int)
    return np.arange(first, last + 1)


_LARGEST_LOG_ODDS = 60.0
"""Logarithm of the largest odds ratio that limits may have."""


# Any function of the samples of a group, with limits by the bootstrap.


@dataclass(eq=False)
class GroupFunction:
    """A function of columns and weights, on the samples of groups and on resamples of them.

    `function` takes the columns, each of shape (n_rows,), and weights or None, and returns a float,
    nan where it is undefined. With `takes_weights` the distinct rows of a resample are passed with
    their total weights, which is the same to it and faster; otherwise rows are repeated.
    """

    function: Any
    columns: list[np.ndarray]
    weights: np.ndarray
    takes_weights: bool

    def __post_init__(self) -> None:
        self.is_weighted = bool(np.ptp(self.weights))

    def value(self, rows: np.ndarray) -> float:
        """Value of the samples of a group."""
        weights = self.weights[rows] if self.is_weighted else None
        return self.function([column[rows] for column in self.columns], weights)

    def make_resample_evaluator(self, rows: np.ndarray) -> Callable[[np.ndarray], float]:
        """Function of the number of times that each of the rows was drawn."""
        if not self.takes_weights:
            return lambda counts: self.function(
                [column[np.repeat(rows, counts)] for column in self.columns], None
            )
        distinct, codes = _distinct_rows([column[rows] for column in self.columns])
        weights = self.weights[rows]

        def evaluate(counts: np.ndarray) -> float:
            totals = np.bincount(codes, counts * weights, len(distinct[0]))
            is_drawn = totals > 0
            return self.function([column[is_drawn] for column in distinct], totals[is_drawn])

        return evaluate


def _distinct_rows(columns: list[np.ndarray]) -> tuple[list[np.ndarray], np.ndarray]:
    """Columns of the distinct rows, and which of these each row is."""
    codes = np.zeros(len(columns[0]), dtype=np.intp)
    for column in columns:
        values, inverse = np.unique(column, return_inverse=True)
        codes = codes * len(values) + inverse
        # Renumber, so that codes of many columns do not overflow.
        _, first, codes = np.unique(codes, return_index=True, return_inverse=True)
    return [column[first] for column in columns], codes


class BootstrapEstimates(Estimates):
    r"""Values of any function of groups, with bias-corrected bootstrap limits of each ([1]_).

    Samples are drawn with replacement within each group; groups that overlap share their draws.
    With b the mean of the draws minus the estimate, its bias, a limit at the level
    :math:`\Phi(z)` is the quantile :math:`\Phi(t \sqrt{n / (n - 1)})` of the draws, minus 2 b,
    where t is Student's quantile with n - 1 degrees of freedom in place of z ([2]_): the draws are
    above the estimate by as much as this is above the value of the population. A function with its
    minimum at the truth, such as a sum or the largest of absolute gaps, is above its value of the
    population by more: the lower limit subtracts 6 b if b is positive, and the upper one of a
    function with a negative bias adds as much. Where draws reach far less below the estimate than
    above it, the distance of the lower limit is that of the upper quantile, but no more than to the
    minimum that the lowest draws suggest. The same holds near a maximum. Of functions with an
    infinite slope at the minimum, such as the root of an absolute difference, lower limits are too
    high.
    Quantiles too far out for the number of draws are extrapolated: their distance to the estimate
    is proportional to t.

    Differences combine these limits as those of other estimates (`Estimates.upper`). Quantiles of
    resampled gaps would be too large where groups are equal.

    A limit is nan if more than one in twenty draws has no value, or all draws are equal.

    References
    ----------
    .. [1] B. Efron and R. J. Tibshirani, "An introduction to the bootstrap", Chapman and Hall
       1993, chapters 10 and 13.
    .. [2] T. C. Hesterberg, "What teachers should know about the bootstrap", The American
       Statistician 69, 2015.
    """

    interval = "bootstrap"

    def __init__(
        self, function: GroupFunction, members: list[np.ndarray], values: np.ndarray
    ) -> None:
        self._function = function
        self._members = members
        self._n_draws = 500
        self.values = values
        self.counts = np.array([len(rows) for rows in members])
        weights = [function.weights[rows] for rows in members]
        self.sizes = np.array([w.sum() ** 2 / (w @ w) for w in weights])

    @cached_property
    def draws(self) -> np.ndarray:
        """Values of the resampled groups, (n_draws, n_groups)."""
        rng = np.random.default_rng(0)
        n_samples = len(self._function.weights)
        blocks = self._members if self._is_disjoint else [np.arange(n_samples)]
        evaluate = [self._function.make_resample_evaluator(rows) for rows in self._members]
        draws = np.empty((self._n_draws, len(self._members)))
        counts = np.zeros(n_samples, dtype=np.intp)
        for draw in draws:
            for rows in blocks:
                drawn = rng.integers(len(rows), size=len(rows))
                counts[rows] = np.bincount(drawn, minlength=len(rows))
            for group, rows in enumerate(self._members):
                # A resample of overlapping groups may leave a group empty.
                is_empty = not counts[rows].any()
                draw[group] = np.nan if is_empty else evaluate[group](counts[rows])
        return np.where(np.isfinite(draws), draws, np.nan)

    @property
    def standard_errors(self) -> np.ndarray:
        """Standard deviation of the draws of each group."""
        known = [draws[~np.isnan(draws)] for draws in self.draws.T]
        return np.array([np.std(draws, ddof=1) if len(draws) > 1 else np.nan for draws in known])

    @cached_property
    def _is_disjoint(self) -> bool:
        """Whether no sample is in two groups."""
        rows = np.concatenate(self._members)
        return len(np.unique(rows)) == len(rows)

    @cached_property
    def correlation(self) -> np.ndarray | None:  # type: ignore[override]
        """Correlation of the draws of overlapping groups; None of disjoint ones."""
        if self._is_disjoint:
            return None
        known = self.draws[~np.isnan(self.draws).any(axis=1)]
        deviations = known - known.mean(axis=0)
        return correlation_of(deviations.T @ deviations)

    def limits(self, level: float) -> tuple[np.ndarray, np.ndarray]:
        """Bias-corrected limits, as in `Estimates.limits`."""
        ends = [
            _bootstrap_margins(draws, value, size, level, self._n_draws)
            for draws, value, size in zip(self.draws.T, self.values, self.sizes, strict=True)
        ]
        below, above = np.array(ends).T
        return self.values - below, self.values + above


_EXTREME_BIAS = 4.0
"""Biases of resamples that a limit allows for beyond the usual two, in the direction of the bias.

Of a function that adds up absolute errors and is 0 in the population, with s the mean of an
estimate, that of its resamples is the root of two times s. The bias in resamples is .41 s, so that
2.41 of them are s on average, and more where an estimate is large by chance.
"""


def _bootstrap_margins(
    draws: np.ndarray, value: float, size: float, level: float, n_draws: int
) -> np.ndarray | tuple[float, float]:
    """Distances of the lower and the upper limit to the value; nan if they are not known."""
    draws = draws[~np.isnan(draws)]
    # Limits are known if .95 of the draws have a value.
    is_known = len(draws) >= 0.95 * n_draws and size > 1.0 and np.isfinite(value)
    if not is_known or np.ptp(draws) <= 1e-12 * max(1.0, abs(value)):
        return np.nan, np.nan
    t = np.sqrt(size / (size - 1.0)) * special.stdtrit(size - 1.0, level)
    # Quantiles with fewer than ten draws beyond them are extrapolated.
    reach = min(t, special.ndtri(1.0 - 10 / len(draws)))
    bias = draws.mean() - value
    low, high = np.quantile(draws, special.ndtr([-reach, reach])) - 2.0 * bias
    # A function near its minimum has a larger bias than resamples show, and so has one near its
    # maximum.
    low -= _EXTREME_BIAS * max(bias, 0.0)
    high -= _EXTREME_BIAS * min(bias, 0.0)
    below, above = t / reach * np.maximum((value - low, high - value), 0.0)
    return (
        max(below, _reach_of_folded_draws(draws - value, t, reach)),
        max(above, _reach_of_folded_draws(value - draws, t, reach)),
    )


def _reach_of_folded_draws(deviations: np.ndarray, t: float, reach: float) -> float:
    """Distance to the lower limit of a function near its minimum; 0 of other functions.

    Draws do not fall below the minimum, so that their lower quantiles are above it. The distance is
    then that of the upper quantile, as far as the minimum that the lowest draws suggest.
    """
    lowest = np.sort(deviations)[:_N_LOWEST]
    if -lowest[0] >= _FOLDED_SHARE * deviations.max():
        return 0.0
    end = 2.0 * lowest[0] - lowest[-1]
    return min(t / reach * np.quantile(deviations, special.ndtr(reach)), -end)


_N_LOWEST = 10
"""Lowest draws whose range is subtracted from the lowest one: the minimum is seldom below that."""

_FOLDED_SHARE = 0.75
"""Share of the reach of draws above a value; where they reach less far below it is near a minimum.

Draws of a mean, 500 of them, reach about three standard errors to both sides.
"""


def estimate_by_bootstrap(
    function: GroupFunction, groups: Groups
) -> tuple[BootstrapEstimates | None, np.ndarray]:
    """Values of a `GroupFunction` of the groups where it is defined."""
    members = groups.members()
    values = np.array([function.value(rows) for rows in members])
    present = np.flatnonzero(~np.isnan(values))
    if not len(present):
        return None, present
    known = [members[group] for group in present]
    return BootstrapEstimates(function, known, values[present]), present
