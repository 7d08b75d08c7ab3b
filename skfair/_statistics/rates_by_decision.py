"""Rates of groups whose outcomes are known in part, with other shares after each decision."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special

from skfair._statistics.estimates import Estimates
from skfair._statistics.limits_of_rates import clopper_pearson_limits


class WeightedCounts(NamedTuple):
    """Sums of weights and of squared weights of samples, and their numbers, in arrays of one shape.

    Samples of equal weight weigh 1, so that all three are equal.
    """

    weights: np.ndarray
    squares: np.ndarray
    numbers: np.ndarray

    @classmethod
    def count_equally(cls, numbers: np.ndarray) -> WeightedCounts:
        """Return the counts of samples of equal weight."""
        return cls(numbers, numbers, numbers)

    def take(self, rows: np.ndarray) -> WeightedCounts:
        """Return the counts of some rows."""
        return WeightedCounts(*(one[rows] for one in self))


def _find_effective_sizes(weights: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """Return Kish's effective numbers of samples; without weights the numbers themselves."""
    return np.divide(weights**2, squares, out=np.zeros(weights.shape), where=squares > 0)


class DecisionCounts(NamedTuple):
    """Counts of samples by stratum and by the pair of the decision made and the decision audited.

    Such a pair is a column. Of a model in use the two decisions are equal, and there are two
    columns.

    Attributes
    ----------
    n, known, positive : WeightedCounts of shape (n_strata, n_columns)
        Samples, samples with an outcome, and samples with a positive one.
    made : ndarray of int, shape (n_columns,)
        The decision that was made, which says how often an outcome is known.
    is_selected : ndarray of bool, shape (n_columns,)
        Whether the decision that is audited is positive.
    """

    n: WeightedCounts
    known: WeightedCounts
    positive: WeightedCounts
    made: np.ndarray
    is_selected: np.ndarray

    @property
    def lacks_outcomes(self) -> np.ndarray:
        """Whether a decision that was made in a stratum has no outcome there, (n_strata,)."""
        same = self.made[:, np.newaxis] == np.arange(self.made.max() + 1)  # (n_columns, n_made)
        n, known = (one.numbers @ same for one in (self.n, self.known))
        return ((n > 0) & (known == 0)).any(axis=1)

    def take(self, strata: np.ndarray) -> DecisionCounts:
        """Return the counts of some strata, which may repeat."""
        return self._replace(
            n=self.n.take(strata),
            known=self.known.take(strata),
            positive=self.positive.take(strata),
        )

    def estimate_positive_shares(self) -> np.ndarray:
        """Return the share of positive outcomes in each stratum and column.

        A column without any outcome takes the share of all columns of the same decision made.
        """
        same = self.made[:, np.newaxis] == self.made
        known, positive = self.known.weights, self.positive.weights
        of_column = np.divide(positive, known, out=np.zeros(known.shape), where=known > 0)
        known_of_made, positive_of_made = known @ same, positive @ same
        of_made = np.divide(
            positive_of_made, known_of_made, out=np.zeros(known.shape), where=known_of_made > 0
        )
        return np.where(known > 0, of_column, of_made)

    def tabulate_known(self) -> np.ndarray:
        """Return numbers of known outcomes by true class and audited decision, (n_strata, 2, 2)."""
        positive = self.positive.numbers
        by_class = np.stack([self.known.numbers - positive, positive], axis=1)
        return by_class @ (self.is_selected[:, np.newaxis] == [False, True])


class RatesByDecision(Estimates):
    r"""Rates of all samples, where stratum and decision made say how often an outcome is known.

    The shares of a stratum are the probabilities of its columns (`DecisionCounts`), each among the
    columns from it on, and the share of positive outcomes in each column. They are estimated from
    different samples, or given the number of samples in earlier columns. Counting a sample
    1 / P(known | stratum, column) times gives the same rates.

    Each share has Clopper and Pearson's limits, of weighted samples at Kish's effective number
    ([2]_); those of a column without an outcome are 0 and 1.
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
    .. [2] E. L. Korn and B. I. Graubard, "Confidence intervals for proportions with small expected
       number of positive counts estimated from survey data", Survey Methodology 24, 1998.
    """

    interval = "exact by decision"
    are_rates = True

    def __init__(self, tables: np.ndarray, counts: DecisionCounts, event: np.ndarray) -> None:
        self._numerators, self._denominators = np.moveaxis(tables, 1, 0)  # (n_events, 2, 2) each
        self._event = event
        self._is_selected = counts.is_selected[:, np.newaxis] == [False, True]  # (n_columns, 2)
        n = counts.n.weights.T  # (n_columns, n_strata)
        from_here = n[::-1].cumsum(axis=0)[::-1]
        squares_from_here = counts.n.squares.T[::-1].cumsum(axis=0)[::-1]
        of_columns = np.divide(n, from_here, out=np.zeros(n.shape), where=from_here > 0)
        self._sizes = n.sum(axis=0)
        # Shares and their effective numbers of trials, (2 * n_columns - 1, n_strata).
        self._shares = np.concatenate([of_columns[:-1], counts.estimate_positive_shares().T])
        self._trials = np.concatenate(
            [
                _find_effective_sizes(from_here, squares_from_here)[:-1],
                _find_effective_sizes(counts.known.weights, counts.known.squares).T,
            ]
        )
        self._hits = self._shares * self._trials
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
