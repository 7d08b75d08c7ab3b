"""How often limits of a difference of two equal rates exclude 0, far out in the tails."""

from itertools import product

import numpy as np
from scipy import special, stats

from benchmarks.tables import Check, Report
from skfair.inference import rate_limits, wilson

ERRORS = (0.025, 0.005, 1e-3, 1e-4, 1e-5)
N_SAMPLES = 1000
SMALLER = (30, 50, 100, 200, 300, 400, 500)
"""Samples of the smaller of the two groups, of 1,000 in all."""

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


def tails(budget):
    """Limits of differences of rates at divided levels: exact errors over the stated ones."""
    rates = RATES if budget.n_runs > 1 else RATES[::3]
    records = []
    for error in ERRORS:
        level = 1.0 - error
        methods = {
            "the package": lambda rates, n, level=level: rate_limits(rates, n, level),
            "Wilson": lambda rates, n, level=level: wilson(rates, n, special.ndtri(level)),
        }
        for name, limits in methods.items():
            ratios = [
                error_rate(limits, (n, N_SAMPLES - n), rate) / error
                for n, rate in product(SMALLER, rates)
            ]
            record = {"limits": name, "stated error": error, "largest": max(ratios)}
            records.append(record | {"median": float(np.median(ratios))})
    divided = [
        one["largest"]
        for one in records
        if one["limits"] == "the package" and one["stated error"] < 0.01
    ]
    title = (
        f"Exact error over the stated one, of {len(SMALLER) * len(rates)} cases: two groups of "
        f"{N_SAMPLES:,} samples in all, the smaller with {min(SMALLER)} to {max(SMALLER)}, equal "
        f"rates from {min(rates)} to {max(rates)}"
    )
    return Report(
        title, records, [Check("error below .01 over the stated one", divided, "<=", 1.0)]
    )
