"""Rates of groups whose outcomes are known in part, with other shares after each decision."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special

from skfair._statistics.estimates import Estimates
from skfair._statistics.limits_of_rates import clopper_pearson_limits


class DecisionCounts(NamedTuple):
    """Numbers of samples by stratum and by the pair of the decision made and the decision audited.

    Such a pair is a column. Of a model in use the two decisions are equal, and there are two
    columns.

    Attributes
    ----------
    n : ndarray of shape (n_strata, n_columns)
        Samples.
    known, positive : ndarray of shape (n_strata, n_columns)
        Samples with an outcome, and with a positive one.
    made : ndarray of int, shape (n_columns,)
        The decision that was made, which says how often an outcome is known.
    is_selected : ndarray of bool, shape (n_columns,)
        Whether the decision that is audited is positive.
    """

    n: np.ndarray
    known: np.ndarray
    positive: np.ndarray
    made: np.ndarray
    is_selected: np.ndarray

    @property
    def lacks_outcomes(self) -> np.ndarray:
        """Whether a decision that was made in a stratum has no outcome there, (n_strata,)."""
        same = self.made[:, np.newaxis] == np.arange(self.made.max() + 1)  # (n_columns, n_made)
        return ((self.n @ same > 0) & (self.known @ same == 0)).any(axis=1)

    def take(self, strata: np.ndarray) -> DecisionCounts:
        """Return the counts of some strata, which may repeat."""
        return self._replace(
            n=self.n[strata], known=self.known[strata], positive=self.positive[strata]
        )

    def estimate_positive_shares(self) -> np.ndarray:
        """Return the share of positive outcomes in each stratum and column.

        A column without any outcome takes the share of all columns of the same decision made.
        """
        same = self.made[:, np.newaxis] == self.made
        known, positive = self.known, self.positive
        known = np.where(self.known > 0, known, self.known @ same)
        positive = np.where(self.known > 0, positive, self.positive @ same)
        return positive / np.maximum(known, 1)

    def tabulate_known(self) -> np.ndarray:
        """Return known outcomes by true class and audited decision, (n_strata, 2, 2)."""
        by_class = np.stack([self.known - self.positive, self.positive], axis=1)
        return by_class @ (self.is_selected[:, np.newaxis] == [False, True])


class RatesByDecision(Estimates):
    r"""Rates of all samples, where stratum and decision made say how often an outcome is known.

    The shares of a stratum are the probabilities of its columns (`DecisionCounts`), each among the
    columns from it on, and the share of positive outcomes in each column. They are estimated from
    different samples, or given the number of samples in earlier columns. Counting a sample
    1 / P(known | stratum, column) times gives the same rates.

    Each share has Clopper and Pearson's limits; those of a column without an outcome are 0 and 1.
    With :math:`r_j` the smallest rate that one share at a limit gives, the others as estimated,
    the lower limit is :math:`r - \sqrt{\sum_j (r - \min(r, r_j))^2}`. The upper one mirrors it
    ([1]_).

    ``tables``, (n_events, 2, 2, 2), are what the rate of each event, such as a group, counts in its
    numerator and denominator, by true and audited class. ``counts`` are `DecisionCounts` of the
    strata, each of which has outcomes after every decision made in it. ``event``, (n_strata,), is
    the event of each stratum, from 0 on. Several strata may be of one event.

    References
    ----------
    .. [1] G. Y. Zou and A. Donner, "Construction of confidence limits about effect measures: a
       general approach", Statistics in Medicine 27, 2008.
    """

    interval = "exact by decision"
    are_rates = True

    def __init__(self, tables: np.ndarray, counts: DecisionCounts, event: np.ndarray) -> None:
        self._numerators, self._denominators = np.moveaxis(tables, 1, 0)  # (n_events, 2, 2) each
        self._event = event
        self._is_selected = counts.is_selected[:, np.newaxis] == [False, True]  # (n_columns, 2)
        from_here = counts.n[:, ::-1].cumsum(axis=1)[:, ::-1]
        # Successes and trials of all shares, (2 * n_columns - 1, n_strata).
        self._hits = np.concatenate([counts.n.T[:-1], counts.positive.T])
        self._trials = np.concatenate([from_here.T[:-1], counts.known.T])
        self._sizes = counts.n.sum(axis=1)
        self._shares = np.concatenate(
            [
                counts.n.T[:-1] / np.maximum(from_here.T[:-1], 1),
                counts.estimate_positive_shares().T,
            ]
        )
        self._strata = self._expect(self._shares)
        self._tables = self._sum_strata(self._strata)  # (n_events, 2, 2)
        every_event = np.arange(len(tables))
        self.values = self._divide(self._tables, every_event)
        known = self._sum_strata(counts.tabulate_known())
        self.counts = (known * (self._denominators > 0)).sum(axis=(1, 2)).astype(np.intp)
        self.sizes = self.counts.astype(float)

    def _sum_strata(self, tables: np.ndarray) -> np.ndarray:
        """Return sums of tables of strata, (n_strata, 2, 2), by event."""
        sums = np.zeros((len(self._numerators), 2, 2))
        np.add.at(sums, self._event, tables)
        return sums

    def _divide(self, tables: np.ndarray, event: np.ndarray) -> np.ndarray:
        """Return the rate of each table by true and audited class, by the rule of its event."""
        base = (tables * self._denominators[event]).sum(axis=(1, 2))
        hits = (tables * self._numerators[event]).sum(axis=(1, 2))
        return np.divide(hits, base, out=np.full(len(base), np.nan), where=base > 0)

    def _expect(self, shares: np.ndarray) -> np.ndarray:
        """Return expected confusion matrices of the strata, (n_strata, 2, 2), at given shares."""
        n_columns = (len(shares) + 1) // 2
        left = np.ones(shares.shape[1])
        of_columns = np.empty((n_columns, shares.shape[1]))
        for column, share in enumerate(shares[: n_columns - 1]):
            of_columns[column] = left * share
            left = left - of_columns[column]
        of_columns[-1] = left
        n = of_columns * self._sizes
        positive = n * shares[n_columns - 1 :]
        by_class = np.stack([n - positive, positive])  # (2, n_columns, n_strata)
        return np.einsum("tcs,cf->stf", by_class, self._is_selected)

    def limits(self, level: float) -> tuple[np.ndarray, np.ndarray]:
        """Limits from those of the shares of all strata, as in `Estimates.limits`."""
        ends = np.stack(clopper_pearson_limits(self._hits, self._trials, level))
        values = self.values[self._event]
        squares = np.zeros((2, len(self.values)))
        for place in range(len(self._shares)):
            low, high = np.sort([self._move(place, end[place]) for end in ends], axis=0)
            moved = values - np.fmin(values, low), np.fmax(values, high) - values
            squares += [np.bincount(self._event, one**2, len(self.values)) for one in moved]
        below, above = np.sqrt(squares)
        return np.maximum(self.values - below, 0.0), np.minimum(self.values + above, 1.0)

    def _move(self, place: int, share: np.ndarray) -> np.ndarray:
        """Return rates of the event of each stratum with one share of this stratum at a limit."""
        shares = self._shares.copy()
        shares[place] = share
        tables = self._tables[self._event] - self._strata + self._expect(shares)
        return self._divide(tables, self._event)

    @property
    def standard_errors(self) -> np.ndarray:
        """Half the width of limits that are one standard error away from a normal estimate."""
        low, high = self.limits(special.ndtr(1.0))
        return (high - low) / 2.0
