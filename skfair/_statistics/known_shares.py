"""Whether outcomes of one decision are known less often than outcomes of others."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import stats

_LEVEL = 0.001
"""Error of the test that finds shares of known outcomes which differ by decision."""

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
    pairs = outcomes.groups * (outcomes.periods.max(initial=0) + 1) + outcomes.periods
    strata = np.unique(pairs, return_inverse=True)[1]
    # Numbers of samples and of known outcomes by stratum, of both kinds: (n_strata, 2) each.
    n, n_known = (
        np.bincount(2 * strata + is_first, one, 2 * strata.max(initial=0) + 2).reshape(-1, 2)
        for one in (outcomes.counts, outcomes.counts * outcomes.has_outcome)
    )
    totals, known = n.sum(axis=1), n_known.sum(axis=1)
    lower, upper = np.sort((n_known * n[:, ::-1] / totals[:, np.newaxis]).sum(axis=0))
    if not upper > _LARGEST_FACTOR * lower:
        return False
    excess = abs((n_known[:, 1] - known * n[:, 1] / totals).sum())
    if outcomes.units is None:
        scale = totals**2 * np.maximum(totals - 1, 1)
        variance = (known * (totals - known) * n.prod(axis=1) / scale).sum()
    else:
        share_known, share_first = known / totals, n[:, 1] / totals
        products = (outcomes.has_outcome - share_known[strata]) * (is_first - share_first[strata])
        variance = (np.bincount(outcomes.units, outcomes.counts * products) ** 2).sum()
    z = max(excess - 0.5, 0.0) / np.sqrt(max(variance, 1e-300))
    return bool(2.0 * stats.norm.sf(z) < level)


def is_unlikely_without_outcome(n: int, n_others: int, n_known: int, n_decisions: int) -> bool:
    """Return whether `n` samples of a decision without an outcome are no chance.

    The others, `n_others` samples, have `n_known` outcomes.
    """
    return bool(stats.hypergeom(n + n_others, n, n_known).pmf(0) < _LEVEL / n_decisions)
