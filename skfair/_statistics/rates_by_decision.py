"""Rates of groups whose outcomes are known in part, with other shares after each decision."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from skfair._statistics.estimates import Estimates
from skfair._statistics.limits_of_rates import clopper_pearson_limits

if TYPE_CHECKING:
    from collections.abc import Callable


class RatesByDecision(Estimates):
    r"""Rates of decisions, where stratum and decision alone say how often an outcome is known.

    Three shares of a stratum are estimated: of positive decisions among all samples, and of
    positive outcomes after a negative and after a positive decision, among the samples whose
    outcome is known. Counting a sample 1 / P(known | stratum, decision) times gives the same rates.

    Each share has Clopper and Pearson's limits. With :math:`r_j` the smallest rate that one share
    at a limit gives, the others as estimated, the lower limit is :math:`r - \sqrt{\sum_j (r -
    \min(r, r_j))^2}`. The upper one mirrors it ([1]_).

    ``rate`` makes rates, (n_groups,), of confusion matrices by true and predicted class,
    (n_groups, 2, 2). ``n`` are numbers of samples by decision, (n_strata, 2), ``known`` those
    with an outcome by true and predicted class, (n_strata, 2, 2), and ``group`` is the group of
    each stratum, from 0 on. ``counts`` are the numbers of known outcomes that a rate is over,
    (n_groups,).

    References
    ----------
    .. [1] G. Y. Zou and A. Donner, "Construction of confidence limits about effect measures: a
       general approach", Statistics in Medicine 27, 2008.
    """

    interval = "exact by decision"
    are_rates = True

    def __init__(
        self,
        rate: Callable[[np.ndarray], np.ndarray],
        n: np.ndarray,
        known: np.ndarray,
        group: np.ndarray,
        counts: np.ndarray,
    ) -> None:
        self._rate = rate
        self._group = group
        # Successes and trials of the three shares, (3, n_strata).
        self._hits = np.stack([n[:, 1], known[:, 1, 0], known[:, 1, 1]])
        self._trials = np.stack([n.sum(axis=1), *known.sum(axis=1).T])
        self._shares = self._hits / np.maximum(self._trials, 1)
        self._strata = self._expect(self._shares)
        self._groups = np.zeros((len(counts), 2, 2))
        np.add.at(self._groups, group, self._strata)
        self.values = rate(self._groups)
        self.counts = counts.astype(np.intp)
        self.sizes = counts.astype(float)

    def _expect(self, shares: np.ndarray) -> np.ndarray:
        """Expected confusion matrices of the strata, (n_strata, 2, 2), at given shares."""
        decided, *positive = shares
        columns = [
            self._trials[0] * share * np.stack([1.0 - one, one])  # by true class
            for share, one in zip((1.0 - decided, decided), positive, strict=True)
        ]
        return np.moveaxis(np.array(columns), -1, 0).swapaxes(1, 2)

    def limits(self, level: float) -> tuple[np.ndarray, np.ndarray]:
        """Limits from those of the shares of all strata, as in `Estimates.limits`."""
        ends = np.stack(clopper_pearson_limits(self._hits, self._trials, level))
        values = self.values[self._group]
        squares = np.zeros((2, len(self.values)))
        for place in range(3):
            low, high = np.sort([self._move(place, end[place]) for end in ends], axis=0)
            moved = values - np.fmin(values, low), np.fmax(values, high) - values
            squares += [np.bincount(self._group, one**2, len(self.values)) for one in moved]
        below, above = np.sqrt(squares)
        return np.maximum(self.values - below, 0.0), np.minimum(self.values + above, 1.0)

    def _move(self, place: int, share: np.ndarray) -> np.ndarray:
        """Rates of the group of each stratum with one share of this stratum at a limit."""
        shares = self._shares.copy()
        shares[place] = share
        return self._rate(self._groups[self._group] - self._strata + self._expect(shares))

    @property
    def standard_errors(self) -> np.ndarray:
        """Half the width of limits that are one standard error away from a normal estimate."""
        low, high = self.limits(special.ndtr(1.0))
        return (high - low) / 2.0
