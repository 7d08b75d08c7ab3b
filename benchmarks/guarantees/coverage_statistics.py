"""Coverage of limits of ratios, losses, AUC, weighted rates, partial parity, balance and costs."""

import warnings

import numpy as np
from scipy import special

from benchmarks.guarantees.coverage_costs import compare_widths, list_costs
from benchmarks.guarantees.coverage_means import SKEWED, coverage_of_means
from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report
from skfair._statistics.areas import AUCs
from skfair._statistics.estimates import pairwise_contrasts
from skfair._statistics.gaps import balance_limit, interval_of_largest_contrast
from skfair.constraints import PartialStatisticalParity
from skfair.metrics._scoring import make_limit_metric
from skfair.statistics import gap_interval, ratio_interval

LEVEL = 0.95
N_DRAWS = {5: 1000, 1: 100}  # draws of each case, by the runs of the budget
WARNED = 0.5  # proportion of draws with a warning of skewed values that makes a hard case
SHIFT = 0.5  # difference between the mean scores of the groups


@smallest(N_DRAWS={1: 2})
def coverage_kinds(budget):
    """Coverage of limits of ratios, losses, AUC, weighted rates, partial parity, balance, costs."""
    n_samples = N_DRAWS[1 if budget.n_runs == 1 else 5]
    records = []
    for name, (draw, sizes) in KINDS.items():
        for n in sizes:
            rng = np.random.default_rng(n)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # of design effects
                share = np.mean([draw(n, rng) for _ in range(n_samples)])
            records.append({"limit": name, "n": n, "coverage": share})
    regular = [record["coverage"] for record in records if not record["limit"].endswith("*")]
    means = list(coverage_of_means(2 * n_samples, LEVEL))
    unwarned = [record["coverage"] for record in means if record["warned"] < WARNED]
    skewed = [one for one in means if one["values"] == SKEWED and one["n"] == one["m"] == 50]
    widths = list(compare_widths(n_samples))
    title = (
        f"Nominal {LEVEL}, {n_samples} draws; n samples of each of two groups, * hard cases; "
        f"means of {2 * n_samples} draws of n and m samples"
    )
    checks = [
        Check("coverage", regular, ">=", 0.94),
        Check(f"coverage of means with fewer warnings than {WARNED:g}", unwarned, ">=", 0.94),
        Check("coverage of skewed means of 50", [one["coverage"] for one in skewed], ">=", 0.93),
        Check("mean width of skewed means of 50", [one["mean width"] for one in skewed], "<=", 2.4),
        Check("widths of common costs", [one["width / Hall's"] for one in widths], "<=", 1.05),
    ]
    return Report(title, records + means + widths, checks)


def _two_groups(n):
    return np.repeat([0, 1], n)


def _contains(interval, truth):
    return interval.low - 1e-9 <= truth <= interval.high + 1e-9


def ratios(n, rng):
    """Ratio of rates of .3 and .4."""
    groups = _two_groups(n)
    decisions = rng.random(2 * n) < np.array([0.3, 0.4])[groups]
    return _contains(ratio_interval(decisions.astype(int), sensitive_features=groups), 0.75)


def brier(n, rng):
    """Brier scores: a calibrated group, and one with a probability of .7 for a rate of .5."""
    groups = _two_groups(n)
    truth = rng.random(2 * n) < 0.5
    losses = (np.array([0.5, 0.7])[groups] - truth) ** 2 + 0.1 * rng.random(2 * n)
    return _contains(gap_interval(losses, sensitive_features=groups), 0.04)


def skewed_losses(n, rng):
    """Exponential losses with means of 1 and 1.5."""
    groups = _two_groups(n)
    losses = rng.exponential(np.array([1.0, 1.5])[groups])
    return _contains(gap_interval(losses, sensitive_features=groups), 0.5)


def areas(n, rng):
    """AUC of normal scores with mean differences of .5 and 1.5: .638 and .856."""
    shifts = np.array([0.5, 1.5])
    groups = _two_groups(n)
    positive = np.tile([True, False], n)
    scores = rng.normal(size=2 * n) + positive * shifts[groups]
    members = [np.flatnonzero(groups == g) for g in (0, 1)]
    estimates = AUCs(positive, scores, members, np.ones(2 * n))
    truth = np.ptp(special.ndtr(shifts / np.sqrt(2)))
    return _contains(interval_of_largest_contrast(estimates, pairwise_contrasts(2), LEVEL), truth)


def weighted_rates(shape):
    """Rates of .3 and .4 with gamma weights; the design effect is 1 + 1 / shape."""

    def draw(n, rng):
        groups = _two_groups(n)
        decisions = (rng.random(2 * n) < np.array([0.3, 0.4])[groups]).astype(int)
        weights = rng.gamma(shape, size=2 * n) + 1e-9
        interval = gap_interval(decisions, sensitive_features=groups, sample_weight=weights)
        return _contains(interval, 0.1)

    return draw


def partial(scale):
    """Upper limits of partial statistical parity of normal scores with shifted means."""
    interval = (0.1, 0.4)
    limit = make_limit_metric(PartialStatisticalParity(interval, scale=scale), LEVEL)
    truth = _partial_gap(interval, scale)

    def draw(n, rng):
        groups = _two_groups(n)
        scores = rng.normal(size=2 * n) + SHIFT * groups
        return limit(scores, sensitive_features=groups) >= truth

    return draw


def _partial_gap(interval, scale):
    thresholds = np.linspace(-5, 6, 100_001)
    shares = special.ndtr(-thresholds), special.ndtr(SHIFT - thresholds)
    if scale == "raw":
        inside = np.any(
            [(share >= interval[0]) & (share <= interval[1]) for share in shares], axis=0
        )
        return np.abs(shares[1] - shares[0])[inside].max()
    cut = [(np.clip(share, *interval) - interval[0]) / np.ptp(interval) for share in shares]
    return np.abs(cut[1] - cut[0]).max()


def balances(n, rng):
    """Lower limits of balance: three groups in four clusters, with a smallest balance of 2 / 3."""
    shares = np.array([[2, 3, 3], [3, 3, 3], [3, 3, 4], [4, 4, 3]]) / 38.0
    cells = rng.choice(12, size=2 * n, p=shares.ravel())
    return balance_limit(cells // 3, sensitive_features=cells % 3).low <= 2 / 3


KINDS = {
    "ratio of rates": (ratios, (50, 300, 3000)),
    "Brier losses": (brier, (30, 100, 1000)),
    "exponential losses": (skewed_losses, (100, 300, 3000)),
    "exponential losses*": (skewed_losses, (30,)),
    "areas under curves": (areas, (50, 200, 1000)),
    "weights, design effect 1.5": (weighted_rates(2.0), (100, 1000)),
    "weights, design effect 3": (weighted_rates(0.5), (100, 1000)),
    "weights, design effect 9*": (weighted_rates(0.125), (100, 1000)),
    "partial parity, normalized": (partial("normalized"), (100, 1000)),
    "partial parity, raw": (partial("raw"), (100, 1000)),
    "balance of clusters": (balances, (100, 1000)),
} | list_costs()
"""Draws and numbers of samples of each group, by name."""
