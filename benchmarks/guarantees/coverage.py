"""Coverage of intervals of a gap, compared with the percentile bootstrap."""

from itertools import product

import numpy as np

from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report
from skfair._statistics.estimates import Rates, pairwise_contrasts
from skfair._statistics.gaps import interval_of_largest_contrast

N_SAMPLES = {5: 2000, 1: 200}  # samples drawn from each population, by the runs of the budget
N_BOOTSTRAPS = 200
LOWEST = 0.3  # the smallest rate of a group
SMALL = (
    ((5, 500), (0.02, 0.02)),
    ((5, 500), (0.1, 0.05)),
    ((10, 1000), (0.055, 0.005)),
    ((30, 3000), (0.005, 0.005)),
    ((100, 5000), (0.005, 0.005)),
    ((5, 30, 500, 3000), (0.02, 0.02, 0.02, 0.02)),
)
"""Sizes and rates of groups, one of which has few successes."""
CLOSE = 1e-9  # rates are sums of floating-point numbers


def populations():
    """Sizes and rates of the groups."""
    for k, n, equal, apart in product((2, 4, 10), (30, 100, 1000, 5000), (True, False), (0.0, 0.2)):
        sizes = np.full(k, n) if equal else np.linspace(n, 4 * n, k).astype(int)
        yield sizes, LOWEST + apart * np.linspace(0.0, 1.0, k)
    for sizes, rates in SMALL:
        yield np.array(sizes), np.array(rates)


def check_interval(hits, sizes, truth, pairs):
    """Whether the interval of the package contains the gap, and its width."""
    interval = interval_of_largest_contrast(CountedRates(hits, sizes), pairs, 0.95)
    contains = interval.low - CLOSE <= truth <= interval.high + CLOSE
    return contains, interval.high - interval.low


class CountedRates(Rates):
    """Rates of groups from their counts."""

    correlation, is_weighted = None, False

    def __init__(self, hits, sizes):
        self.values, self.sizes = hits / sizes, sizes.astype(float)
        self.counts = self.n_units = sizes


def check_bootstrap(hits, sizes, truth, rng):
    """Whether the interval of the percentile bootstrap contains the gap, and its width."""
    counts = np.column_stack((hits, sizes - hits))
    resamples = rng.multinomial(sizes.sum(), counts.ravel() / sizes.sum(), size=N_BOOTSTRAPS)
    cells = resamples.reshape(N_BOOTSTRAPS, -1, 2)
    with np.errstate(invalid="ignore"):
        gaps = np.ptp(cells[:, :, 0] / cells.sum(axis=2), axis=1)
    low, high = np.nanquantile(gaps, (0.025, 0.975))
    return low - CLOSE <= truth <= high + CLOSE, high - low


@smallest(N_SAMPLES={1: 4}, N_BOOTSTRAPS=10)
def coverage(budget):
    """Coverage of intervals of gaps of 2 to 10 groups, compared with the bootstrap."""
    n_samples = N_SAMPLES.get(budget.n_runs, 200)
    records, coverages = [], []
    for number, (sizes, rates) in enumerate(populations()):
        rng = np.random.default_rng(number)
        truth = np.ptp(rates)
        pairs = pairwise_contrasts(len(sizes))
        ours, bootstrap = [], []
        for draw in range(n_samples):
            hits = rng.binomial(sizes, rates)
            ours.append(check_interval(hits, sizes, truth, pairs))
            if draw < n_samples // 4:
                bootstrap.append(check_bootstrap(hits, sizes, truth, rng))
        share, width = np.mean(ours, axis=0)
        other, other_width = np.mean(bootstrap, axis=0)
        coverages.append(share)
        records.append(
            {"groups": len(sizes), "n": sizes.min(), "largest": sizes.max()}
            | {"lowest": rates.min(), "gap": truth}
            | {"coverage": share, "width": width}
            | {"bootstrap coverage": other, "bootstrap width": other_width}
        )
    title = (
        f"Nominal .95, {n_samples} samples of each population ({n_samples // 4} for the percentile "
        "bootstrap, which fairlearn offers)"
    )
    return Report(title, records, [Check("coverage", coverages, ">=", 0.94)])
