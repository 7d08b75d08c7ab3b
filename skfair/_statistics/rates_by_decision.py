"""Rates of groups whose outcomes are known in part, with other shares after each decision."""

from __future__ import annotations

from functools import cache, cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse, special

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
    """Counts of samples by stratum and by the decision made with the decisions audited.

    What was decided about a sample is its column. Of a model in use both decisions are equal, and
    there are two columns. Of another model, or several, columns are tuples of decisions.

    Attributes
    ----------
    n, known, positive : WeightedCounts of shape (n_strata, n_columns)
        Samples, samples with an outcome, and samples with a positive one.
    made : ndarray of int, shape (n_columns,)
        The decision that was made, which says how often an outcome is known.
    is_selected : ndarray of bool, shape (n_columns, n_models)
        Whether the decision that is audited is positive, of each model.
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

    def tabulate_known(self, model: np.ndarray) -> np.ndarray:
        """Return numbers of known outcomes by true class and audited decision, (n_strata, 2, 2).

        `model`, (n_strata,), is the model whose decision is audited in each stratum.
        """
        positive = self.positive.numbers
        return self.arrange(np.stack([self.known.numbers - positive, positive]), model)

    def arrange(self, by_class: np.ndarray, model: np.ndarray) -> np.ndarray:
        """Return numbers by true class, stratum and column by true class and audited decision.

        `by_class` is (2, n_strata, n_columns), the result (n_strata, 2, 2). `model` is (n_strata,).
        """
        is_selected = self.is_selected[:, model].T  # (n_strata, n_columns)
        by_decision = np.stack([~is_selected, is_selected], axis=-1).astype(float)
        return np.einsum("tsc,scf->stf", by_class, by_decision)


class DecisionSamples(NamedTuple):
    """Samples of strata one by one, in arrays of shape (n_members,).

    A sample may be in several strata. `column` is the column of `DecisionCounts`, and samples of
    equal code in `unit` are not independent, such as samples of a household.
    """

    stratum: np.ndarray
    column: np.ndarray
    unit: np.ndarray
    weight: np.ndarray
    is_known: np.ndarray
    is_positive: np.ndarray

    def number_units(self, units: np.ndarray) -> DecisionSamples:
        """Return the samples with other units: the units of their present ones."""
        return self._replace(unit=units[self.unit])

    def take(self, strata: np.ndarray) -> DecisionSamples:
        """Return the samples of some strata, which may repeat, by the positions of these strata."""
        order = np.argsort(self.stratum, kind="stable")
        bounds = np.searchsorted(self.stratum[order], [strata, strata + 1])
        members = np.concatenate([order[start:end] for start, end in bounds.T])
        stratum = np.repeat(np.arange(len(strata)), bounds[1] - bounds[0])
        return DecisionSamples(stratum, *(one[members] for one in self[1:]))

    def count_trials(self, mask: np.ndarray, is_hit: np.ndarray, n_strata: int) -> np.ndarray:
        """Return effective numbers of trials of the share of hits in the mask, (n_strata,).

        A unit counts once: it has the weight of its samples and their share of hits. The number is
        the smaller one of Kish's and of the one that the variance between units is of.
        """
        weight = self.weight[mask]
        n_units = self.unit.max(initial=0) + 1
        pairs, place = np.unique(
            self.stratum[mask] * n_units + self.unit[mask], return_inverse=True
        )
        stratum = pairs // n_units  # of each unit of a stratum
        totals = np.bincount(place, weight)
        hits = np.bincount(place, weight * is_hit[mask])
        n, n_hits, squares = (
            np.bincount(stratum, one, n_strata) for one in (totals, hits, totals**2)
        )
        shares = np.divide(n_hits, n, out=np.zeros(n_strata), where=n > 0)
        errors = np.bincount(stratum, (hits - shares[stratum] * totals) ** 2, n_strata)
        kish = _find_effective_sizes(n, squares)
        spread = n**2 * shares * (1.0 - shares)
        return np.minimum(kish, np.divide(spread, errors, out=kish.copy(), where=errors > 0))


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

    The upper limit of a linear form of rates has the same margin, of the form in place of r. So
    two models that decide about the same samples are compared by the shares that both depend on.

    ``tables``, (n_events, 2, 2, 2), are what the rate of each event, such as a group, counts in its
    numerator and denominator, by true and audited class. ``counts`` are `DecisionCounts` of the
    strata, each of which has outcomes after every decision made in it. ``event``, (n_strata,), is
    the event of each stratum, from 0 on. Several strata may be of one event. ``model``,
    (n_events,), is the model whose decisions are audited, by default the first. Strata of equal
    code in ``shared``, (n_strata,), are the same samples, in two events; by default none are.

    ``members`` are the `DecisionSamples` of the strata if some are not independent. A unit of
    samples then counts once in the limits of each share. Shares are correlated, too, so that the
    margin of each form is multiplied by its standard error over the one that it has with
    independent shares, if this is above 1. The former is the root of the sum of squares of what
    units contribute to the error by linearisation, where a sample has the outcome

    .. math:: q + K (n / k) (y - q)

    with q, n and k the share of positive outcomes, the samples and the known ones of its stratum
    and column, and K whether its outcome y is known.

    References
    ----------
    .. [1] G. Y. Zou and A. Donner, "Construction of confidence limits about effect measures: a
       general approach", Statistics in Medicine 27, 2008.
    .. [2] E. L. Korn and B. I. Graubard, "Confidence intervals for proportions with small expected
       number of positive counts estimated from survey data", Survey Methodology 24, 1998.
    """

    interval = "exact by decision"
    are_rates = True

    def __init__(
        self,
        tables: np.ndarray,
        counts: DecisionCounts,
        event: np.ndarray,
        *,
        model: np.ndarray | None = None,
        shared: np.ndarray | None = None,
        members: DecisionSamples | None = None,
    ) -> None:
        self._numerators, self._denominators = np.moveaxis(tables, 1, 0)  # (n_events, 2, 2) each
        self._event = event
        self._counts = counts
        self._model = np.zeros(len(tables), dtype=int) if model is None else model
        self._shared = np.arange(len(event)) if shared is None else shared
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
        if members is not None:
            self._trials = _count_trials_of_units(members, n.shape)
        self._strata = self._expect(self._shares)
        self._tables = self._sum_strata(self._strata)  # (n_events, 2, 2)
        every_event = np.arange(len(tables))
        self.values = self._divide(self._tables, every_event)
        known = self._sum_strata(counts.tabulate_known(self._model[event]))
        self.counts = (known * (self._denominators > 0)).sum(axis=(1, 2)).astype(np.intp)
        self.sizes = self.counts.astype(float)
        self._contributions = None if members is None else self._linearise(members)
        self._find_moves = cache(self._move_to_limits)  # for the levels of many questions

    def limits(self, level: float) -> tuple[np.ndarray, np.ndarray]:
        """Limits from those of the shares of all strata, as in `Estimates.limits`."""
        each = sparse.csr_array(sparse.eye_array(len(self.values)))
        below, above = self._find_margins(-each, level), self._find_margins(each, level)
        return np.maximum(self.values - below, 0.0), np.minimum(self.values + above, 1.0)

    def upper(self, contrasts: sparse.csr_array, level: float) -> np.ndarray:
        """Upper limits of linear forms, as in `Estimates.upper`, from those of all shares."""
        are_independent = len(np.unique(self._shared)) == len(self._shared)
        if are_independent and self._contributions is None:
            return super().upper(contrasts, level)
        return contrasts @ self.values + self._find_margins(contrasts, level)

    def _find_margins(self, contrasts: sparse.csr_array, level: float) -> np.ndarray:
        """Return the margin above each linear form, (n_forms,), with one share moved at a time."""
        changes = [contrasts @ one for one in self._find_moves(level)]
        squares = changes[0].maximum(changes[1]).maximum(0.0).power(2).sum(axis=1)
        return np.sqrt(squares * self._find_inflation(contrasts))

    def _move_to_limits(self, level: float) -> list[sparse.csr_array]:
        """Return changes of all rates with each share at its lower and at its upper limit."""
        hits = self._shares * self._trials
        return [self._move(ends) for ends in clopper_pearson_limits(hits, self._trials, level)]

    def _move(self, shares: np.ndarray) -> sparse.csr_array:
        """Return by how much each rate changes with one share of some samples moved at a time.

        `shares` are the moved ones, (n_places, n_strata). The result is (n_events, n_places *
        n_shared): a share of samples changes all rates of theirs.
        """
        n_shared = self._shared.max(initial=0) + 1
        changes = []
        for place, share in enumerate(shares):
            moved = self._shares.copy()
            moved[place] = share
            tables = self._tables[self._event] - self._strata + self._expect(moved)
            changes.append(self._divide(tables, self._event) - self.values[self._event])
        values = np.concatenate(changes)
        values[np.isnan(values)] = 0.0
        columns = np.arange(len(shares))[:, np.newaxis] * n_shared + self._shared
        rows = np.tile(self._event, len(shares))
        shape = len(self.values), len(shares) * n_shared
        return sparse.csr_array((values, (rows, columns.ravel())), shape=shape)

    def _find_inflation(self, contrasts: sparse.csr_array) -> np.ndarray:
        """Return the factor of squared margins of forms, (n_forms,), 1 of independent samples."""
        if self._contributions is None:
            return np.ones(contrasts.shape[0])
        slopes, variances = self._slopes
        independent = (contrasts @ slopes).power(2) @ variances
        squares = (contrasts @ self._contributions).power(2).sum(axis=1)
        ratio = np.divide(squares, independent, out=np.ones(len(squares)), where=independent > 0)
        return np.maximum(ratio, 1.0)

    @cached_property
    def _slopes(self) -> tuple[sparse.csr_array, np.ndarray]:
        """Derivatives of rates with respect to shares, as `_move`, and variances of shares."""
        step = 1e-6
        slopes = (self._move(self._shares + step) - self._move(self._shares - step)) / (2.0 * step)
        spread = self._shares * (1.0 - self._shares)
        trials = self._trials
        spread = np.divide(spread, trials, out=np.zeros(spread.shape), where=trials > 0)
        variances = np.zeros((len(spread), self._shared.max(initial=0) + 1))
        variances[:, self._shared] = spread
        return slopes, variances.ravel()

    def _linearise(self, members: DecisionSamples) -> sparse.csr_array:
        """Return what each unit contributes to the error of each rate, (n_events, n_units)."""
        counts = self._counts
        at = members.stratum, members.column
        share = counts.estimate_positive_shares()[at]
        known = counts.known.weights[at]
        factor = np.divide(counts.n.weights[at], known, out=np.zeros(len(share)), where=known > 0)
        outcome = share + members.is_known * factor * (members.is_positive - share)
        event = self._event[members.stratum]
        decision = counts.is_selected[members.column, self._model[event]].astype(int)
        hits, base = (
            outcome * table[event, 1, decision] + (1.0 - outcome) * table[event, 0, decision]
            for table in (self._numerators, self._denominators)
        )
        total = (self._tables * self._denominators).sum(axis=(1, 2))[event]
        errors = members.weight * (hits - self.values[event] * base) / total
        shape = len(self.values), members.unit.max(initial=0) + 1
        return sparse.csr_array((errors, (event, members.unit)), shape=shape)

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
        by_class = np.stack([(n - positive).T, positive.T])  # (2, n_strata, n_columns)
        return self._counts.arrange(by_class, self._model[self._event])

    @property
    def standard_errors(self) -> np.ndarray:
        """Half the width of limits that are one standard error away from a normal estimate."""
        low, high = self.limits(special.ndtr(1.0))
        return (high - low) / 2.0


def _count_trials_of_units(members: DecisionSamples, shape: tuple[int, int]) -> np.ndarray:
    """Return trials of the shares as `RatesByDecision` orders them, where units count once.

    `shape` is (n_columns, n_strata).
    """
    n_columns, n_strata = shape
    of_columns = [
        members.count_trials(members.column >= one, members.column == one, n_strata)
        for one in range(n_columns - 1)
    ]
    of_outcomes = [
        members.count_trials(
            members.is_known & (members.column == one), members.is_positive, n_strata
        )
        for one in range(n_columns)
    ]
    return np.stack(of_columns + of_outcomes)
