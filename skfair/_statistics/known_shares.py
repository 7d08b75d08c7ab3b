"""Whether outcomes of one decision are known less often than outcomes of others."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special, stats

_LEVEL = 0.001
"""Error of each of three tests: of shares over all groups, in each group, and of no outcome."""

_LARGEST_EXACT_VARIANCE = 100.0
"""Variance of a number of known outcomes up to which its law is exact.

With 1 % of outcomes missing and 15 refused samples a normal limit errs at .01 in place of .001.
"""

_LARGEST_FACTOR = 1.1
"""Factor of known shares up to which they count as equal: a rate of .5 is wrong by .024 then."""


class KnownSamples(NamedTuple):
    """Which samples have an outcome, by stratum, group and decision; arrays are (n_rows,).

    `groups` and `periods` are codes, from 0 on. Strata are pairs of both, so that outcomes which
    are late, but late after every decision, do not count as missing by decision. `decisions` are
    codes of the decision that was made, `counts` numbers of samples, and `units` codes of what
    samples belong to, such as households, or None if all samples are independent.
    """

    groups: np.ndarray
    periods: np.ndarray
    decisions: np.ndarray
    has_outcome: np.ndarray
    counts: np.ndarray
    units: np.ndarray | None = None

    def number_strata(self) -> np.ndarray:
        """Return the code of the stratum of each row, a pair of group and period, (n_rows,)."""
        pairs = self.groups * (self.periods.max(initial=0) + 1) + self.periods
        return np.unique(pairs, return_inverse=True)[1]

    def take(self, rows: np.ndarray) -> KnownSamples:
        """Return some of the rows."""
        columns = (self.groups, self.periods, self.decisions, self.has_outcome, self.counts)
        groups, periods, decisions, has_outcome, counts = (one[rows] for one in columns)
        units = None if self.units is None else self.units[rows]
        return KnownSamples(groups, periods, decisions, has_outcome, counts, units)


def differ_by_decision(outcomes: KnownSamples) -> bool:
    """Return whether known shares differ by decision, over all groups or within one."""
    groups = np.unique(outcomes.groups)
    subsets = [outcomes.take(outcomes.groups == one) for one in groups]
    n_decisions = len(np.unique(outcomes.decisions))
    if _has_unusual_decision(outcomes, _LEVEL / n_decisions):
        return True
    return any(_has_unusual_decision(one, _LEVEL / len(groups) / n_decisions) for one in subsets)


def _has_unusual_decision(outcomes: KnownSamples, level: float) -> bool:
    """Return whether the known share of a decision differs from the share of all others.

    Of two decisions the first is compared with the second, at twice the level: the comparison of
    the second with the first is the same.
    """
    decisions = np.unique(outcomes.decisions)
    if len(decisions) == 2:
        return shares_differ(outcomes, outcomes.decisions == decisions[0], 2.0 * level)
    return any(shares_differ(outcomes, outcomes.decisions == one, level) for one in decisions)


def shares_differ(outcomes: KnownSamples, is_first: np.ndarray, level: float) -> bool:
    """Return whether known shares of two kinds of samples differ, by more than a tenth.

    The test is Cochran, Mantel and Haenszel's with strata, and the factor of the shares Mantel and
    Haenszel's. The odds of true and false positive rates of the known samples are wrong by this
    factor. Samples of one unit count once: their contributions to the statistic are added before
    its variance is taken.
    """
    strata = outcomes.number_strata()
    # Numbers of samples and of known outcomes by stratum, of both kinds: (n_strata, 2) each.
    n, n_known = (
        np.bincount(2 * strata + is_first, one, 2 * strata.max(initial=0) + 2).reshape(-1, 2)
        for one in (outcomes.counts, outcomes.counts * outcomes.has_outcome)
    )
    totals = n.sum(axis=1)
    lower, upper = np.sort((n_known * n[:, ::-1] / totals[:, np.newaxis]).sum(axis=0))
    if not upper > _LARGEST_FACTOR * lower:
        return False
    if outcomes.units is None:
        return _find_chance(n, n_known) < level
    shares = n_known.sum(axis=1) / totals, n[:, 1] / totals
    products = (outcomes.has_outcome - shares[0][strata]) * (is_first - shares[1][strata])
    return _find_chance_of_units(np.bincount(outcomes.units, outcomes.counts * products)) < level


def _find_chance(n: np.ndarray, n_known: np.ndarray) -> float:
    """Return the two-sided p value of numbers of known outcomes of two kinds, given their sums.

    Both arrays are (n_strata, 2). The law of few outcomes is exact.
    """
    totals, known = n.sum(axis=1), n_known.sum(axis=1)
    scale = totals**2 * np.maximum(totals - 1, 1)
    variances = known * (totals - known) * n.prod(axis=1) / scale
    if variances.sum() > _LARGEST_EXACT_VARIANCE:
        excess = abs((n_known[:, 1] - known * n[:, 1] / totals).sum())
        return float(2.0 * stats.norm.sf((excess - 0.5) / np.sqrt(variances.sum())))
    law = np.ones(1)  # probabilities of the sum over strata, from its smallest value on
    place = 0
    for stratum in np.flatnonzero(variances > 0.0):
        sizes = np.rint([totals[stratum], known[stratum], n[stratum, 1]]).astype(int)
        smallest = max(0, sizes[1] + sizes[2] - sizes[0])
        numbers = np.arange(smallest, sizes[1:].min() + 1)
        law = np.convolve(law, stats.hypergeom(*sizes).pmf(numbers))
        place += round(n_known[stratum, 1]) - smallest
    return float(2.0 * min(law[: place + 1].sum(), law[place:].sum()))


def _find_chance_of_units(sums: np.ndarray) -> float:
    """Return the two-sided p value of the sum of what each unit contributes, (n_units,), being 0.

    It is Student's, and never below the one of the signs of all contributions.
    """
    sums = sums[sums != 0.0]
    if len(sums) < 2:
        return 1.0
    by_signs = 2.0 ** (1 - len(sums))
    error = sums.std(ddof=1) * np.sqrt(len(sums))
    if error <= 1e-12 * abs(sums.sum()):
        return by_signs
    return max(float(2.0 * stats.t.sf(abs(sums.sum()) / error, len(sums) - 1)), by_signs)


def lacks_outcomes(outcomes: KnownSamples, is_of_decision: np.ndarray, n_decisions: int) -> bool:
    """Return whether a decision without any outcome has too many samples for this to be chance.

    Within each stratum any other samples of the stratum could have been the ones with an outcome.
    Samples of units are compared within units, and units by one sample of each.
    """
    level = 2.0 * _LEVEL / n_decisions
    strata = outcomes.number_strata()
    if outcomes.units is None:
        return _find_chance_of_none(outcomes, strata, is_of_decision) < level
    # Within units.
    n_units = outcomes.units.max(initial=0) + 1
    within = np.unique(strata * n_units + outcomes.units, return_inverse=True)[1]
    if _find_chance_of_none(outcomes, within, is_of_decision) < level / 2.0:
        return True
    # Between units: one sample of each, of the decision if there is one, else without an outcome.
    order = np.lexsort((strata, outcomes.has_outcome, ~is_of_decision, outcomes.units))
    rows = order[np.unique(outcomes.units[order], return_index=True)[1]]
    one_each = outcomes.take(rows)._replace(counts=np.ones(len(rows)))
    chance = _find_chance_of_none(one_each, one_each.number_strata(), is_of_decision[rows])
    return chance < level / 2.0


def _find_chance_of_none(
    outcomes: KnownSamples, strata: np.ndarray, is_of_decision: np.ndarray
) -> float:
    """Return the probability that no sample of a decision has an outcome, given numbers by stratum.

    `strata` are codes, (n_rows,). With n samples of a stratum, k outcomes and d samples of the
    decision the probability is that of choosing k samples of the n - d others.
    """
    n, known, of_decision = (
        np.bincount(strata, outcomes.counts * one)
        for one in (np.ones(len(strata)), outcomes.has_outcome, is_of_decision)
    )
    others = n - of_decision
    logarithms = special.gammaln([others + 1.0, n - known + 1.0])
    logarithms -= special.gammaln([others - known + 1.0, n + 1.0])
    return float(np.exp(logarithms.sum()))
