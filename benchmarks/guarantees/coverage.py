"""How often intervals of a gap hold the population's, beside the percentile bootstrap."""

from itertools import product

import numpy as np

from benchmarks.tables import Check, Report
from skfair.inference import Rates, all_pairs, contrast_interval

N_SAMPLES = {5: 2000, 1: 200}  # samples drawn of each population, by the runs of the budget
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
"""Sizes and rates of groups of which one hardly has a success."""
CLOSE = 1e-9  # rates are sums of floating-point numbers


def populations():
    """Sizes and rates of the groups."""
    for k, n, equal, apart in product((2, 4, 10), (30, 100, 1000, 5000), (True, False), (0.0, 0.2)):
        sizes = np.full(k, n) if equal else np.linspace(n, 4 * n, k).astype(int)
        yield sizes, LOWEST + apart * np.linspace(0.0, 1.0, k)
    for sizes, rates in SMALL:
        yield np.array(sizes), np.array(rates)


def held_by_limits(hits, sizes, truth, pairs):
    """Whether the interval of the package holds the gap, and how wide it is."""
    found = contrast_interval(CountedRates(hits, sizes), pairs, 0.95)
    return found.low - CLOSE <= truth <= found.high + CLOSE, found.high - found.low


class CountedRates(Rates):
    """Rates of groups of which only the counts are at hand."""

    correlation, is_weighted = None, False

    def __init__(self, hits, sizes):
        self.values, self.sizes, self.counts = hits / sizes, sizes.astype(float), sizes


def held_by_bootstrap(hits, sizes, truth, rng):
    """The same of the percentile bootstrap: people drawn anew with replacement from everybody."""
    counts = np.column_stack((hits, sizes - hits))
    drawn_anew = rng.multinomial(sizes.sum(), counts.ravel() / sizes.sum(), size=N_BOOTSTRAPS)
    cells = drawn_anew.reshape(N_BOOTSTRAPS, -1, 2)
    with np.errstate(invalid="ignore"):
        gaps = np.ptp(cells[:, :, 0] / cells.sum(axis=2), axis=1)
    low, high = np.nanquantile(gaps, (0.025, 0.975))
    return low - CLOSE <= truth <= high + CLOSE, high - low


def coverage(budget):
    """Intervals of gaps of 2 to 10 groups: how often they hold, beside the bootstrap."""
    n_samples = N_SAMPLES.get(budget.n_runs, 200)
    records, reached = [], []
    for number, (sizes, rates) in enumerate(populations()):
        rng, truth = np.random.default_rng(number), np.ptp(rates)
        pairs = all_pairs(len(sizes))
        ours, bootstrap = [], []
        for draw in range(n_samples):
            hits = rng.binomial(sizes, rates)
            ours.append(held_by_limits(hits, sizes, truth, pairs))
            if draw < n_samples // 4:
                bootstrap.append(held_by_bootstrap(hits, sizes, truth, rng))
        held, width = np.mean(ours, axis=0)
        other, other_width = np.mean(bootstrap, axis=0)
        reached.append(held)
        records.append(
            {"groups": len(sizes), "n": sizes.min(), "largest": sizes.max()}
            | {"lowest": rates.min(), "gap": truth}
            | {"held": held, "width": width, "bootstrap": other, "its width": other_width}
        )
    title = (
        f"Nominal .95, {n_samples} samples of each population ({n_samples // 4} for the percentile "
        "bootstrap, which fairlearn offers)"
    )
    return Report(title, records, [Check("share of samples held", reached, ">=", 0.94)])
