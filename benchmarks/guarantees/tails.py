"""How often limits of a difference of two equal rates exclude 0, far out in the tails."""

from itertools import product

import numpy as np
from scipy import special, stats

from benchmarks.guarantees.coverage import CountedRates
from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report
from skfair._statistics.estimates import LogRates, Rates
from skfair._statistics.limits_of_rates import (
    clopper_pearson_limits,
    combine_margins,
    limit_difference,
    rate_limits,
    wilson_limits,
)
from skfair.audit._tables import significance_mask

ERRORS = (0.025, 0.005, 1e-3, 1e-4, 1e-5)
N_SAMPLES = 1000
SMALLER = (30, 50, 100, 200, 300, 400, 500)
"""Samples of the smaller of the two groups, of 1,000 in all."""

RATIO_ERRORS = (0.1, 0.05, 0.01, 1e-3)
RATIOS = (0.5, 0.8, 0.9)
SINGLE = 0.05
RATIO_SIZES = ((20, 20), (100, 100), (500, 500), (30, 300), (300, 30), (10, 1000), (1000, 10))
"""Samples of both groups where a ratio is certified."""

N_DRAWS = {5: 1000, 1: 100}  # of each rate, by the runs of the budget
HOLM_SIZES = (30, 970)
HOLM_RATES = (0.02, 0.05)
N_TABLES = 20
"""Samples of both groups, rates and number of tables of a report."""

RATES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99)


def error_rate(limits, sizes, rate):
    """Probability that a one-sided limit of the difference is on the wrong side of 0, the larger.

    Parameters
    ----------
    limits : callable
        Rates and sample size -> lower and upper limits.
    sizes : tuple of two ints
        Samples of the groups.
    rate : float
        The rate of both groups.

    Returns
    -------
    error : float
        Exact: all pairs of counts are enumerated.
    """
    rates = [np.arange(n + 1) / n for n in sizes]
    (low1, high1), (low2, high2) = (limits(*one) for one in zip(rates, sizes, strict=True))
    difference = rates[0][:, np.newaxis] - rates[1]
    above = np.hypot((high1 - rates[0])[:, np.newaxis], rates[1] - low2)
    below = np.hypot((rates[0] - low1)[:, np.newaxis], high2 - rates[1])
    masses = (stats.binom.pmf(np.arange(n + 1), n, rate) for n in sizes)
    probability = np.outer(*masses)
    too_low = probability[difference + above < 0.0].sum()
    return float(max(too_low, probability[difference - below > 0.0].sum()))


def ratio_error_rate(sizes, rate, ratio, error):
    """Probability that the limit of a ratio of two rates is above the true ratio.

    Parameters
    ----------
    sizes : tuple of two ints
        Samples of the groups.
    rate, ratio : float
        The rate of the second group, and that of the first one over it.
    error : float
        Stated error of the one-sided limit.

    Returns
    -------
    error : float
        Exact: all pairs of counts are enumerated.
    """
    logs = []
    for n in sizes:
        hits = np.repeat(np.arange(n + 1.0)[:, np.newaxis], 3, axis=1)
        estimates = LogRates(Rates.from_sums(hits, n - hits))
        logs.append((estimates.values, *estimates.limits(1.0 - error)))
    (first, low, _), (second, _, high) = logs
    margins = np.hypot((first - low)[:, np.newaxis], high - second)
    is_above = np.subtract.outer(first, second) - margins >= np.log(ratio)
    masses = (
        stats.binom.pmf(np.arange(n + 1), n, p)
        for n, p in zip(sizes, (ratio * rate, rate), strict=True)
    )
    return float(np.outer(*masses)[is_above].sum())


PAIR_SIZES = ((5, 30), (12, 30), (20, 20), (30, 30))
PAIR_RATES = (0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5)
"""Samples of two small groups, and their rates, with the complements of these."""


def _limit_by_margins(hits, n, level):
    """Newcombe's upper limit of the difference of two rates."""
    rates = np.array(hits) / n
    low, high = rate_limits(rates, np.array(n), level)
    margin = combine_margins(high[0] - rates[0], rates[1] - low[1])
    return rates[0] - rates[1] + margin


def pair_error_rates(sizes, error, limit):
    """Probabilities that the interval of the difference of two rates misses it.

    Parameters
    ----------
    sizes : tuple of two ints
        Samples of the groups.
    error : float
        Stated error of the interval, half of it for each limit.
    limit : callable
        Successes, sizes and level -> upper limit of the difference.

    Returns
    -------
    errors : ndarray of shape (n_rates, n_rates)
        Exact, at each pair of rates: all pairs of counts are enumerated.
    """
    level = 1.0 - error / 2.0
    pairs = list(product(*(range(n + 1) for n in sizes)))
    highs = np.array([limit(pair, sizes, level) for pair in pairs])
    lows = -np.array([limit(pair[::-1], sizes[::-1], level) for pair in pairs])
    rates = np.unique([*PAIR_RATES, *(1.0 - np.array(PAIR_RATES))])
    first, second = (stats.binom.pmf(np.arange(n + 1)[:, np.newaxis], n, rates) for n in sizes)
    errors = np.zeros((len(rates), len(rates)))
    for i, j in np.ndindex(errors.shape):
        difference = rates[i] - rates[j]
        misses = (highs < difference - 1e-12) | (lows > difference + 1e-12)
        errors[i, j] = np.outer(first[:, i], second[:, j]).ravel()[misses].sum()
    return errors


def _pair_records(error):
    """Records of the errors of intervals of differences in two small groups."""
    for sizes in PAIR_SIZES:
        for name, limit in (("margins", _limit_by_margins), ("the package", limit_difference)):
            over = pair_error_rates(sizes, error, limit) / error
            about = f"difference of {sizes[0]} and {sizes[1]}, {name}"
            record = {"limits": about, "stated error": error, "largest": over.max()}
            yield record | {"median": float(np.median(over))}


WEIGHTED = (((50, 1), (50, 5)), ((270, 1), (30, 10)), ((900, 1), (100, 10)))
"""Pairs of a number of samples and their weight, of which a group consists."""


def weighted_error_rate(parts, rates, error):
    """Probability that a one-sided limit of a weighted rate is on its wrong side, the larger.

    Parameters
    ----------
    parts : pair of pairs of int
        Samples and their weight, twice.
    rates : sequence of float
        Rates of both parts: all pairs of these.
    error : float
        Stated error of Clopper and Pearson's limits for the effective sample size.

    Returns
    -------
    error : list of float
        Exact, of each pair: all pairs of counts are enumerated.
    """
    (first, light), (second, heavy) = parts
    hits = np.arange(first + 1.0)[:, np.newaxis], np.arange(second + 1.0)
    total = first * light + second * heavy
    value = (light * hits[0] + heavy * hits[1]) / total
    # The smaller of Kish's and the linearised effective size.
    of_hits = light**2 * hits[0] + heavy**2 * hits[1]
    squares = first * light**2 + second * heavy**2
    variance = (of_hits * (1.0 - value) ** 2 + (squares - of_hits) * value**2) / total**2
    kish = total**2 / squares
    size = np.where(variance > 0, value * (1.0 - value) / np.maximum(variance, 1e-300), kish)
    size = np.minimum(size, kish)
    low, high = clopper_pearson_limits(value * size, size, 1.0 - error)
    errors = []
    for pair in product(rates, rates):
        truth = (light * first * pair[0] + heavy * second * pair[1]) / total
        counts = zip(hits, (first, second), pair, strict=True)
        mass = np.multiply(*(stats.binom.pmf(one, n, p) for one, n, p in counts))
        errors.append(float(max(mass[low > truth].sum(), mass[high < truth].sum())))
    return errors


def _weighted_records(rates):
    """Yield the errors of limits of weighted rates, where weights may go with the outcome."""
    for error in ERRORS:
        errors = [weighted_error_rate(parts, rates, error) for parts in WEIGHTED]
        ratios = np.concatenate(errors) / error
        record = {"limits": "exact, of weighted rates", "stated error": error}
        yield record | {"largest": float(ratios.max()), "median": float(np.median(ratios))}


def _ratio_records(rates):
    """Yield the errors of certificates of ratios, at the levels of single limits and smaller."""
    for error in RATIO_ERRORS:
        ratios = [
            ratio_error_rate(sizes, rate, ratio, error) / error
            for sizes, rate, ratio in product(RATIO_SIZES, rates, RATIOS)
        ]
        record = {"limits": "of ratios", "stated error": error, "largest": max(ratios)}
        yield record | {"median": float(np.median(ratios))}


def claimed_share(rate, n_draws, rng):
    """Proportion of draws in which Holm's procedure claims a gap of some of equal rates.

    Parameters
    ----------
    rate : float
        The rate of both groups, in all tables.
    n_draws : int
        Number of draws.
    rng : Generator
        Source of the counts.

    Returns
    -------
    share : float
    """
    sizes = np.array(HOLM_SIZES)
    both = np.arange(2)
    claims = 0
    for _ in range(n_draws):
        counts = rng.binomial(sizes, rate, size=(N_TABLES, 2))
        tables = [(CountedRates(hits, sizes), both) for hits in counts]
        claims += significance_mask(tables, 0.95).any()
    return claims / n_draws


@smallest(
    ERRORS=(0.025, 0.005),
    SMALLER=(30,),
    RATES=(0.2,),
    RATIO_SIZES=RATIO_SIZES[:1],
    PAIR_SIZES=((5, 4),),
    WEIGHTED=WEIGHTED[:1],
    N_DRAWS={1: 2},
    N_TABLES=2,
)
def tails(budget):
    """Limits of differences of rates at divided levels, and of ratios: exact over stated errors."""
    rates = RATES if budget.n_runs > 1 else RATES[::3]
    records = []
    for error in ERRORS:
        level = 1.0 - error
        methods = {
            "the package": lambda rates, n, level=level: rate_limits(rates, n, level),
            "Wilson": lambda rates, n, level=level: wilson_limits(rates, n, special.ndtri(level)),
        }
        for name, limits in methods.items():
            ratios = [
                error_rate(limits, (n, N_SAMPLES - n), rate) / error
                for n, rate in product(SMALLER, rates)
            ]
            record = {"limits": name, "stated error": error, "largest": max(ratios)}
            records.append(record | {"median": float(np.median(ratios))})
    n_draws = N_DRAWS[1 if budget.n_runs == 1 else 5]
    rng = np.random.default_rng(0)
    claims = [claimed_share(rate, n_draws, rng) for rate in HOLM_RATES]
    for rate, share in zip(HOLM_RATES, claims, strict=True):
        about = f"Holm, {N_TABLES} tables, rates of {rate}"
        records.append({"limits": about, "stated error": 0.05, "largest": share / 0.05})
    of_ratios = list(_ratio_records(rates))
    of_pairs = list(_pair_records(SINGLE))
    exact = [one["largest"] for one in of_pairs if one["limits"].endswith("the package")]
    divided = [
        one["largest"]
        for one in records
        if one["limits"] == "the package" and one["stated error"] < 0.01
    ]
    title = (
        f"Exact error over the stated one, of {len(SMALLER) * len(rates)} cases: two groups of "
        f"{N_SAMPLES:,} samples in all, the smaller with {min(SMALLER)} to {max(SMALLER)}, equal "
        f"rates from {min(rates)} to {max(rates)}; ratios of {min(RATIOS)} to {max(RATIOS)} in "
        f"groups of {min(map(min, RATIO_SIZES))} to {max(map(max, RATIO_SIZES)):,} samples; "
        "rates of two parts with different weights; intervals of the difference of two small groups"
    )
    single = [one["largest"] for one in of_ratios if one["stated error"] >= SINGLE]
    checks = [
        Check("error below .01 over the stated one", divided, "<=", 1.0),
        Check("claims of equal rates by Holm's procedure", claims, "<=", 0.05),
        Check(f"error of ratios from {SINGLE} on over the stated one", single, "<=", 1.1),
        Check("error of intervals of two small groups over the stated one", exact, "<=", 1.0),
    ]
    return Report(title, records + of_ratios + of_pairs + list(_weighted_records(rates)), checks)
