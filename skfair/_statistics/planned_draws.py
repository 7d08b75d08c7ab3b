"""Sizes of samples whose power is the share of drawn counts that show what is planned."""

from collections.abc import Callable

import numpy as np
from scipy import stats

from skfair._statistics.bounded_means import is_mean_below
from skfair._statistics.estimates import LogRates, Rates
from skfair._statistics.gaps import range_probability
from skfair._statistics.limits_of_rates import clopper_pearson_limits, combine_margins, rate_limits
from skfair._utils.checks import argument_error, check_tolerance


def find_total_size(is_enough: Callable[[int], bool]) -> int:
    """Smallest total size, to three digits, from which on it is enough."""
    low = 0
    high = 100
    while not is_enough(high):
        low = high
        high = 2 * high
    while high - low > max(1, 2e-3 * high):
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def total_certificate_size(
    name: str, bound: float, rates: np.ndarray, shares: np.ndarray, level: float, power: float
) -> int:
    """Total size at which groups with these shares show a tolerance, ratio, minimum or maximum."""
    uniform = _draw_uniform(len(shares))

    def is_enough(total: int) -> bool:
        sizes = divide(total, shares)
        hits = stats.binom.ppf(uniform, sizes, rates)
        if name == "ratio":
            # Logarithms of the drawn rates, and their limits.
            sums = (np.repeat(one.reshape(-1, 1), 3, axis=1) for one in (hits, sizes - hits))
            logs = LogRates(Rates.from_sums(*sums))
            values, low, high = (
                one.reshape(hits.shape) for one in (logs.values, *logs.limits(level))
            )
            return _largest_upper_limits(values, low, high, -np.log(bound), power)
        if name == "tolerance":
            values = hits / sizes
            low, high = rate_limits(values, sizes * np.ones_like(values), level)
            return _largest_upper_limits(values, low, high, bound, power)
        # A ceiling is a floor of the rate of the other outcome.
        hits = hits if name == "minimum" else sizes - hits
        floor = bound if name == "minimum" else 1.0 - bound
        smallest = stats.binom.isf(1.0 - level, sizes, floor) + 1.0
        return (hits >= smallest).all(axis=1).mean() >= power

    return find_total_size(is_enough)


def total_fit_size(rates: np.ndarray, shares: np.ndarray, width: float, level: float) -> int:
    """Total size at which posteriors of rates of groups with these shares lie within a width."""
    return find_total_size(
        lambda total: range_probability(rates, divide(total, shares), width) >= level
    )


def total_pair_size(
    tolerance: float, flips: float, expected: float, level: float, power: float
) -> int:
    """Number of pairs of answers at which few flips between two versions are shown.

    Of all pairs (flips + expected) / 2 flip in one direction, and the others in the other one.
    """
    check_tolerance(flips, closed="neither", name="flips")
    if not 0.0 <= expected < tolerance or expected > flips:
        raise argument_error(
            f"expected must be a gap below the tolerance {tolerance!r}, and at most flips={flips!r}"
            f"; got {expected!r}."
        )
    toward = (flips + expected) / 2.0
    away = (flips - expected) / 2.0
    uniform = _draw_uniform(2)

    def is_enough(n: int) -> bool:
        first = stats.binom.ppf(uniform[:, 0], n, toward)
        second = stats.binom.ppf(uniform[:, 1], n - first, away / (1.0 - toward))
        numbers = np.column_stack((second, n - first - second, first))
        both = (
            is_mean_below((1.0 + tolerance) / 2.0, np.array([0.0, 0.5, 1.0]), one, level)
            for one in (numbers, numbers[:, ::-1])
        )
        return np.all([*both], axis=0).mean() >= power

    return find_total_size(is_enough)


def follow_up_size(
    tolerance: float,
    rates: np.ndarray,
    selected: float,
    precision: float,
    level: float,
    power: float,
) -> int:
    """Refused samples of each group whose outcomes show a gap of true positive rates.

    All groups have the same share of selected samples, whose outcomes are known, and the same
    precision. The groups are so large that only the refused samples limit what is known. With p
    the share selected, a the precision and b the share of positives among the refused, the true
    positive rate is p a / (p a + (1 - p) b).
    """
    for name, value in (("selected", selected), ("precision", precision)):
        check_tolerance(value, closed="neither", name=name)
    right = selected * precision
    refused_positives = right * (1.0 / rates - 1.0) / (1.0 - selected)
    if (refused_positives >= 1.0).any():
        raise argument_error(
            f"rate must leave fewer positives among the refused than there are refused, but "
            f"{rates.min():g} does not at selected={selected:g} and precision={precision:g}. Pass "
            "a larger rate."
        )
    uniform = _draw_uniform(len(rates))

    def find_rate(share: np.ndarray) -> np.ndarray:
        return right / (right + (1.0 - selected) * share)

    def is_enough(n: int) -> bool:
        hits = stats.binom.ppf(uniform, n, refused_positives)
        # More positives among the refused are a smaller true positive rate.
        high, low = map(find_rate, clopper_pearson_limits(hits, n, level))
        return _largest_upper_limits(find_rate(hits / n), low, high, tolerance, power)

    return find_total_size(is_enough)


def divide(total: int, shares: np.ndarray | list[float]) -> np.ndarray:
    """Whole numbers of samples of groups with these shares, at least 1."""
    return np.maximum(1.0, np.round(total * np.asarray(shares)))


def _draw_uniform(n_columns: int) -> np.ndarray:
    """Numbers between 0 and 1 that fill the unit cube evenly, and are the same at each call."""
    # Draws are the same for all sizes.
    return stats.qmc.Sobol(n_columns, seed=0).random_base2(12)


def _largest_upper_limits(
    values: np.ndarray, low: np.ndarray, high: np.ndarray, bound: float, power: float
) -> bool:
    """Whether all differences are shown to be within the bound in enough draws."""
    margins = combine_margins((high - values)[:, :, np.newaxis], (values - low)[:, np.newaxis])
    uppers = values[:, :, np.newaxis] - values[:, np.newaxis] + margins
    uppers[:, np.eye(values.shape[1], dtype=bool)] = -np.inf
    return (uppers <= bound).all(axis=(1, 2)).mean() >= power
