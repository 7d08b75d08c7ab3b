"""Decisions that people review: the best zones by group next to the smallest margins."""

import numpy as np
from scipy.special import expit

from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report

SHIFTS = (0.5, 1.0)
"""Differences of the mean log-odds of two groups."""

SHARES = (0.05, 0.1, 0.2)
"""Shares of the samples that people decide."""

TOLERANCE, N_FIT, N_JUDGE, N_CUTS, N_ZONE_DRAWS = 0.02, 6000, 50_000, 100, 5


@smallest(SHIFTS=(1.0,), SHARES=(0.1,), N_FIT=300, N_JUDGE=300, N_CUTS=10, N_ZONE_DRAWS=1)
def review_zones(budget):
    """Errors, gap of selection rates of the rest, and share of each group that is reviewed.

    The probabilities of the positive class and two groups are known. "zone" has the best two
    cutoffs of each group, of a grid of its percentiles, for a gap of .02 among the decisions that
    are not reviewed. "margin" has one threshold of each group, the best for a gap of .02 of all
    decisions, and reviews those nearest to it. Figures are of new samples, means over draws.
    """
    records, gaps, lost, unequal = [], [], [], []
    for shift in SHIFTS:
        for share in SHARES:
            runs = [_compare_zones(shift, share, seed) for seed in range(N_ZONE_DRAWS)]
            means = {rule: np.mean([run[rule] for run in runs], axis=0) for rule in runs[0]}
            records += [
                {"shift": shift, "share": share, "rule": rule}
                | dict(zip(("errors", "gap", "sent a", "sent b"), figures, strict=True))
                for rule, figures in means.items()
            ]
            gaps.append(means["margin"][1])
            lost.append(means["margin"][0] - means["zone"][0])
            unequal.append(abs(means["margin"][2] - means["margin"][3]))
    checks = [
        Check("gap of the rest by margin", gaps, "<=", TOLERANCE),
        Check("errors by margin less those of the zone, of all samples", lost, "<=", 0.002),
        Check("difference of the shares that are reviewed by margin", unequal, "<=", 0.02),
    ]
    return Report("Decisions that people review", records, checks)


def _compare_zones(shift, share, seed):
    """Errors, gap, and share of each group that is reviewed, by the name of the rule."""
    rng = np.random.default_rng(seed)
    groups, success, y = _draw(rng, N_FIT, shift)
    new = _draw(rng, N_JUDGE, shift)
    tables = [_tabulate(success[groups == group], y[groups == group]) for group in (0, 1)]
    plain = _find_best(tables, 0.0)
    thresholds = plain[:, 1]
    margins = np.abs(success - thresholds[groups])
    width = np.quantile(margins, share)
    by_margin = np.column_stack((thresholds - width, thresholds + width))
    zones = {"none": plain, "margin": by_margin, "zone": _find_best(tables, share)}
    return {rule: _judge(zone, *new) for rule, zone in zones.items()}


def _draw(rng, n_samples, shift):
    """Groups, probabilities of the positive class, and classes."""
    groups = (rng.random(n_samples) < 0.4).astype(int)
    success = expit(1.5 * rng.normal(size=n_samples) - shift * groups)
    return groups, success, (rng.random(n_samples) < success).astype(int)


def _tabulate(success, y):
    """Cutoffs, and counts of decisions, selected, errors and reviewed, for each zone of a group."""
    cuts = np.quantile(success, np.linspace(0.0, 1.0, N_CUTS + 1))
    cuts[[0, -1]] = -1.0, 2.0
    bins = np.searchsorted(cuts, success, side="right") - 1
    counts, positives = (np.bincount(bins, one, N_CUTS) for one in (None, y))
    counts, positives = (np.append(0, np.cumsum(one)) for one in (counts, positives))
    low, high = np.triu_indices(N_CUTS + 1)
    selected = counts[-1] - counts[high]
    errors = positives[low] + selected - (positives[-1] - positives[high])
    reviewed = counts[high] - counts[low]
    return cuts[low], cuts[high], counts[-1] - reviewed, selected, errors, reviewed


def _find_best(tables, share):
    """Low and high cutoff of each group, (2, 2), of the fewest errors within gap and share."""
    most = share * sum(table[2][0] + table[5][0] for table in tables)
    first, second = (
        [column[(table[2] > 0) & (table[5] <= most)] for column in table] for table in tables
    )
    best = (np.inf, None)
    for low, high, decided, selected, errors, reviewed in zip(*first, strict=True):
        gaps = np.abs(selected / decided - second[3] / second[2])
        is_within = (gaps <= TOLERANCE) & (reviewed + second[5] <= most)
        totals = np.where(is_within, errors + second[4], np.inf)
        place = totals.argmin()
        if totals[place] < best[0]:
            best = totals[place], [(low, high), (second[0][place], second[1][place])]
    return np.array(best[1])


def _judge(zone, groups, success, y):
    """Errors of all samples, gap of the rest, and share of each group that is reviewed."""
    low, high = zone[groups].T
    selected = success >= high
    reviewed = (success >= low) & ~selected
    rates = [selected[~reviewed & (groups == group)].mean() for group in (0, 1)]
    sent = [reviewed[groups == group].mean() for group in (0, 1)]
    return np.mean((selected != y) & ~reviewed), abs(rates[0] - rates[1]), *sent
