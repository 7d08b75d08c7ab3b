"""Departures of subgroups and their limits: from the rest of the samples, or from probabilities."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from skfair._statistics.calibration_errors import explained_margin_factor
from skfair._statistics.limits_of_rates import clopper_pearson_limits, combine_margins


def departure_limits(
    n: np.ndarray,
    hits: np.ndarray,
    total: np.ndarray | tuple[float, float],
    error: np.ndarray | float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r"""Departure of the rate of each subgroup from that of the rest, and its limits.

    `total` is the number of all samples, and of all hits. Each limit errs with the probability
    `error`, at most: with l and u Clopper and Pearson's limits of the rates p and q of subgroup and
    rest, they are

    .. math:: d - \sqrt{(p - l_p)^2 + (u_q - q)^2}, \quad d + \sqrt{(u_p - p)^2 + (q - l_q)^2}.

    Wilson's limits would err 150 times as often as stated at an error of .00001
    (``python -m benchmarks tails``).
    """
    rest = total[0] - n
    rest_hits = total[1] - hits
    p = hits / n
    q = rest_hits / rest
    low_p, high_p = clopper_pearson_limits(hits, n, 1.0 - error)
    low_q, high_q = clopper_pearson_limits(rest_hits, rest, 1.0 - error)
    departure = p - q
    low = departure - combine_margins(p - low_p, high_q - q)
    return departure, low, departure + combine_margins(high_p - p, q - low_q)


class FromRest:
    """Rates of subgroups minus those of the rest: sums of samples and of hits are all it takes.

    `terms`, (n_terms, n_rows), are what each row adds to the sums of the subgroups that it is in.
    The first is its number of samples, the second that of samples whose value is 1. Sums have the
    shape (n_terms, n_subgroups).
    """

    needs_rest = True

    def __init__(self, values: np.ndarray, counts: np.ndarray) -> None:
        self.terms = np.stack((counts, counts * values))

    def other_shares(self, sums: np.ndarray, total: np.ndarray) -> np.ndarray:
        """Rate that each subgroup's is compared with."""
        return (total[1] - sums[1]) / (total[0] - sums[0])

    def scores(self, sums: np.ndarray, total: np.ndarray) -> np.ndarray:
        """Departures in standard errors without any departure."""
        n, hits = sums
        rate = total[1] / total[0]
        variance = rate * (1.0 - rate) * n * (total[0] - n) / total[0]
        with np.errstate(divide="ignore", invalid="ignore"):
            return (hits - n * rate) / np.sqrt(variance)

    def limits(
        self, sums: np.ndarray, total: np.ndarray, error: Any
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Departures and their limits, each of which errs with the probability `error` at most."""
        return departure_limits(sums[0], sums[1], total, error)

    def largest_margins(self, sums: np.ndarray, total: np.ndarray, error: float) -> np.ndarray:
        """Margins that are wider than those of the limits, by Hoeffding's inequality."""
        sizes = (sums[0], total[0] - sums[0])
        return combine_margins(*(np.sqrt(-np.log(error) / (2.0 * n)) for n in sizes))


class MeansFromRest:
    """Means of numbers of subgroups minus those of the rest, as `FromRest`.

    Values are numbers in units of their range, from 0 to 1: ``smallest`` and ``width`` say which.
    Limits hold if values of the population lie in that range.
    """

    needs_rest = True

    def __init__(self, values: np.ndarray, counts: np.ndarray) -> None:
        self.smallest = float(values.min())
        self.width = float(np.ptp(values)) or 1.0
        unit = (values - self.smallest) / self.width
        self.terms = counts * np.stack((np.ones(len(counts)), unit, unit**2))

    def other_shares(self, sums: np.ndarray, total: np.ndarray) -> np.ndarray:
        """Mean that each subgroup's is compared with."""
        return (total[1] - sums[1]) / (total[0] - sums[0])

    def scores(self, sums: np.ndarray, total: np.ndarray) -> np.ndarray:
        """Departures in their standard errors."""
        rest = np.reshape(total, (-1, 1)) - sums
        variance = sum(_variance(one) / one[0] for one in (sums, rest))
        with np.errstate(divide="ignore", invalid="ignore"):
            return (sums[1] / sums[0] - rest[1] / rest[0]) / np.sqrt(variance)

    def limits(
        self, sums: np.ndarray, total: np.ndarray, error: Any
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """As `FromRest.limits`."""
        rest = np.reshape(total, (-1, 1)) - sums
        mean, other = sums[1] / sums[0], rest[1] / rest[0]
        low, high = bounded_mean_limits(sums, error)
        low_other, high_other = bounded_mean_limits(rest, error)
        departure = mean - other
        below = combine_margins(mean - low, high_other - other)
        above = combine_margins(high - mean, other - low_other)
        return departure, departure - below, departure + above

    def largest_margins(self, sums: np.ndarray, total: np.ndarray, error: float) -> np.ndarray:
        """As `FromRest.largest_margins`."""
        sizes = (sums[0], total[0] - sums[0])
        exponent = np.log(2.0 * math.e / error)
        return combine_margins(*(np.sqrt(exponent / (2.0 * n)) + 1.0 / n for n in sizes))


def _variance(sums: np.ndarray) -> np.ndarray:
    """Variances of values with numbers, sums and sums of squares in the rows of an array."""
    n, values, squares = sums
    return np.maximum(squares / n - (values / n) ** 2, 0.0) * n / np.maximum(n - 1.0, 1.0)


def bounded_mean_limits(sums: np.ndarray, error: Any) -> tuple[np.ndarray, np.ndarray]:
    """Limits of means of values in [0, 1], each of which errs with the probability `error` at most.

    Rows of `sums` are numbers of samples, sums of values and of squares. The nearer of two limits
    counts, which share the error: that of Clopper and Pearson, with an error less by e (V. Bentkus,
    "On Hoeffding's inequalities", Annals of Probability 32, 2004), and that by the variance (A.
    Maurer and M. Pontil, "Empirical Bernstein bounds and sample variance penalization", COLT 2009).
    """
    n, values, _ = sums
    mean = values / n
    level = 1.0 - np.asarray(error) / (2.0 * math.e)
    low, _ = clopper_pearson_limits(np.floor(values), n, level)
    _, high = clopper_pearson_limits(np.minimum(np.ceil(values), n), n, level)
    exponent = np.log(4.0 / np.asarray(error))
    margin = np.sqrt(2.0 * _variance(sums) * exponent / n)
    margin += 7.0 * exponent / (3.0 * np.maximum(n - 1.0, 1.0))
    return np.maximum(low, mean - margin), np.minimum(high, mean + margin)


class FromProbabilities:
    """Observed shares of positives of subgroups minus the means of their predicted probabilities.

    As `FromRest`. Limits are those of the share, given the probabilities.
    """

    needs_rest = False

    def __init__(self, values: np.ndarray, counts: np.ndarray, probabilities: np.ndarray) -> None:
        uncertainty = probabilities * (1.0 - probabilities)
        squares = (values - probabilities) ** 2
        self.terms = counts * np.stack(
            (np.ones(len(counts)), values, probabilities, uncertainty, squares)
        )

    def other_shares(self, sums: np.ndarray, total: np.ndarray) -> np.ndarray:
        """Mean probability of each subgroup."""
        return sums[2] / sums[0]

    def scores(self, sums: np.ndarray, total: np.ndarray) -> np.ndarray:
        """As `FromRest.scores`."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return (sums[1] - sums[2]) / np.sqrt(sums[3])

    def limits(
        self, sums: np.ndarray, total: np.ndarray | None, error: Any
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """As `FromRest.limits`."""
        n, hits = sums[:2]
        observed, predicted, uncertainty, squares = sums[1:] / n
        departure = observed - predicted
        spread = squares - departure**2
        factor = explained_margin_factor(
            n, observed, predicted, uncertainty, spread, 1.0 - np.asarray(error)
        )
        low, high = clopper_pearson_limits(hits, n, 1.0 - error)
        low = departure - factor * (observed - low)
        return departure, low, departure + factor * (high - observed)

    def largest_margins(self, sums: np.ndarray, total: np.ndarray, error: float) -> np.ndarray:
        """As `FromRest.largest_margins`."""
        return np.sqrt(-np.log(error) / (2.0 * sums[0]))
