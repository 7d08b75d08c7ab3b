r"""Scores by rank within groups, shifted near the decision threshold.

Scores ``center - rank`` have the same distribution in all groups, but so have then the decisions.
The shift lets every group have its own rate of positive decisions. With r_k the rate of group k,
:math:`\bar u` the center and :math:`s_k = r_k - \bar u`,

.. math::

    h = \bar u - (t - b_k(t)), \qquad
    b_k(t) = \operatorname{sgn}(s_k) \, \bigl( |s_k| - \tfrac14 |t - r_k| \bigr)_+ ,

so that h is 0 at the rank t = r_k, and a rank again where t is farther than :math:`4 |s_k|` from
r_k. The slope of b_k is below 1, so the order within a group stays. The shares above a score h
differ between two groups by the difference of their shifts, which is largest at h = 0:
:math:`|r_k - r_{k'}|`.

Where the tolerance allows more, t is a mixture of the rank in the group and the rank among all
samples, which orders samples of different groups by their scores. Decisions are the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from skfair._bound.bound import ConstraintSystem
from skfair._fitting.counting import TargetRanks
from skfair._fitting.guarantee import Guarantee, fit_with_guarantee
from skfair._groups import Groups
from skfair._groups.events import tabulate_scores
from skfair._utils.arrays import RangeMaxima
from skfair._utils.checks import join_names
from skfair.metrics._partial import collect_members

if TYPE_CHECKING:
    from collections.abc import Callable

    from skfair._bound.bound import BoundConstraint
    from skfair._bound.ranks import IntervalGap
    from skfair._groups.events import ScoreTable
    from skfair.constraints import PartialStatisticalParity
    from skfair.constraints._partial import PartialParity
    from skfair.metrics._partial import Members


_ROUNDING = 1e-12
"""Excesses below it are rounding."""


def shifted_scores(ranks: np.ndarray, rates: np.ndarray, center: float) -> np.ndarray:
    """Scores of ranks, positive where a rank is below the rate of its group, (n_samples,)."""
    shift = rates - center
    # The slope is below 1, so that the order within a group stays.
    bump = np.maximum(0.0, np.abs(shift) - 0.25 * np.abs(ranks - rates))
    return center - ranks + np.sign(shift) * bump


def align_intervals(intervals: list[np.ndarray]) -> tuple[list[np.ndarray], np.ndarray]:
    """Ends of each group's interval, and their means over the groups: a common scale of ranks."""
    n_pairs = sorted({len(pairs) for pairs in intervals})
    if len(n_pairs) > 1:
        raise ValueError(
            "The intervals of all groups must have the same number of pairs, so that each pair "
            f"has its match in the other groups; got intervals of {n_pairs} pairs. Split the "
            "longer pairs."
        )
    ends = [np.concatenate(([0.0], pairs.ravel(), [1.0])) for pairs in intervals]
    return ends, np.mean(ends, axis=0)


def rank_curve(y_score: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct scores of a group, ascending, and the rank of each.

    The rank is the share of the group's weight above the score, and half of that at it.
    """
    scores, position = np.unique(y_score, return_inverse=True)
    at_score = np.bincount(position, weights)
    return scores, 1.0 - (np.cumsum(at_score) - at_score / 2) / at_score.sum()


def ranks_in_groups(curves: list, y_score: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Rank of each sample in its group, linear between the scores of the group's `rank_curve`."""
    ranks = np.empty(len(y_score))
    for code, (scores, ranks_at_scores) in enumerate(curves):
        members = codes == code
        ranks[members] = np.interp(y_score[members], scores, ranks_at_scores)
    return ranks


def average(in_group: np.ndarray, among_all: np.ndarray, mixture: float) -> np.ndarray:
    """Mean of two ranks; ``mixture`` is the share of the second."""
    return (1.0 - mixture) * in_group + mixture * among_all


def best_thresholds(positions: np.ndarray, gain: np.ndarray, gap: float) -> np.ndarray:
    """Threshold of each group with the largest total gain, of positions at most a gap apart.

    Positions and gains have one row per group and one column per threshold of the scores, positions
    ascending from 0. Every window of length ``gap`` that begins at a position is searched.
    """
    # A best window begins at a position: moved to the next one, it loses none of its positions.
    starts = np.unique(positions)
    total = np.zeros(len(starts))
    choices = []
    for group_positions, group_gain in zip(positions, gain, strict=True):
        first = np.searchsorted(group_positions, starts, side="left")
        stop = np.searchsorted(group_positions, starts + gap + _ROUNDING, side="right")
        # The groups choose independently within a window; without a position in it they rule it
        # out.
        choice, largest = RangeMaxima(group_gain)(first, stop)
        total += largest
        choices.append(choice)
    window = np.argmax(total)
    return np.array([choice[window] for choice in choices])


@dataclass(frozen=True, eq=False)
class RankedSamples:
    """Training samples, ranked within their groups.

    ``target`` is their class, -1 or +1, and ``intervals`` has the percentile intervals
    of each group, (n_pairs, 2).
    """

    y_score: np.ndarray
    target: np.ndarray
    groups: Groups
    weights: np.ndarray
    intervals: list

    @classmethod
    def from_bound(cls, y_score: np.ndarray, bound: BoundConstraint) -> RankedSamples:
        """The samples of a bound constraint on percentiles, by their scores."""
        samples = bound.sums.samples
        intervals = bound.sums.group_intervals
        return cls(y_score, samples.target, samples.groups, samples.weights, intervals)

    def take(self, rows: np.ndarray) -> RankedSamples:
        """Some of the samples, ranked among themselves."""
        y_score = self.y_score[rows]
        target = self.target[rows]
        groups = self.groups.take(rows)
        weights = self.weights[rows]
        return RankedSamples(y_score, target, groups, weights, self.intervals)

    @cached_property
    def members(self) -> Members:
        """`Members` of the groups, by which gaps are measured."""
        return collect_members(self.groups, self.weights, self.intervals, self.target > 0)

    @cached_property
    def _table(self) -> ScoreTable:
        return tabulate_scores(self.y_score, self.groups.codes, len(self.groups.labels))

    @cached_property
    def _aligned_ends(self) -> tuple[list[np.ndarray], np.ndarray]:
        return align_intervals(self.intervals)

    def _align(self, ranks: np.ndarray, code: int | None = None) -> np.ndarray:
        """Ranks of a group on the common scale, where the intervals of all groups are one.

        Those among all samples, if there is no group: the mean over the groups.
        """
        ends, common = self._aligned_ends
        if code is None:
            return np.mean([np.interp(ranks, one, common) for one in ends], axis=0)
        return np.interp(ranks, ends[code], common)

    @cached_property
    def curves(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """The `rank_curve` of each group, on the common scale."""
        curves = []
        for code in range(len(self.intervals)):
            members = self.groups.codes == code
            scores, ranks = rank_curve(self.y_score[members], self.weights[members])
            curves.append((scores, self._align(ranks, code)))
        return curves

    @cached_property
    def pooled_curve(self) -> tuple[np.ndarray, np.ndarray]:
        """The `rank_curve` of all samples together, on the common scale where groups share one."""
        scores, ranks = rank_curve(self.y_score, self.weights)
        return scores, self._align(ranks)

    @cached_property
    def pooled_rates(self) -> np.ndarray:
        """Share of all samples above each threshold, on the common scale, (n_thresholds,)."""
        above = self._table.weight_above(self.weights).sum(axis=0)
        return self._align(above / above[-1])

    @cached_property
    def is_inside(self) -> np.ndarray:
        """Whether the rank of each sample is in the interval of its group, (n_samples,)."""
        return self._table.is_inside(self.intervals, self.weights)

    @cached_property
    def rates(self) -> np.ndarray:
        """Share of each group above each threshold, on the common scale, (n_groups, n_thresholds).

        Ascending from 0 in each row.
        """
        shares = self._table.rates(self.weights)
        return np.array([self._align(share, code) for code, share in enumerate(shares)])

    @cached_property
    def gain(self) -> np.ndarray:
        """Weight classified correctly above each threshold less that classified wrongly.

        Shape (n_groups, n_thresholds): what the threshold gains over negative decisions alone.
        """
        return self._table.weight_above(self.target * self.weights)

    def positive_rates(self, scores: np.ndarray) -> np.ndarray:
        """Share of each group with a positive score, (n_groups,)."""
        codes = self.groups.codes
        n_groups = len(self.groups.labels)
        above = np.bincount(codes, self.weights * (scores > 0), n_groups)
        return above / np.bincount(codes, self.weights, n_groups)

    def error(self, scores: np.ndarray) -> float:
        """Weighted share of wrong decisions."""
        return float(self.weights @ ((scores > 0) != (self.target > 0)) / self.weights.sum())

    def shares_above(self, compared: np.ndarray, total: np.ndarray) -> np.ndarray:
        """Share of each group's ``total`` that is ``compared`` and above each threshold.

        Both are masks of samples; the shape is (n_groups, n_thresholds).
        """
        above = self._table.weight_above(self.weights * compared)
        return above / self._table.weight_above(self.weights * total)[:, -1:]


# Search for the groups' rates with the fewest errors among those whose scores keep a tolerance.


MAX_TRIES = 15
"""Gaps that a whole search tries, unless the first one keeps the tolerance: 14 halvings find the
widest gap between rates to 2 ** -14 of all samples."""

_MIXTURES = 2.0 ** -np.arange(6)
"""Shares of the rank among all samples that are compared."""

_MIN_SAMPLES = 20
"""Samples in the interval that show the distribution of a group's scores."""


class RankShift(NamedTuple):
    """Thresholds of the groups, and the scores that they lead to.

    ``curves`` has the ranks of each group by score, ``rates`` its share of positive decisions and
    ``zero_score_ranks`` the rank that scores 0, on the common scale. ``center`` is the rank that
    scores 0 without a shift, ``error`` the share of wrong decisions, ``excess`` that of the
    criterion over the tolerance, and ``n_tries`` the number of gaps tried.
    """

    thresholds: np.ndarray
    mixture: float
    curves: list
    rates: np.ndarray
    zero_score_ranks: np.ndarray
    center: float
    scores: np.ndarray
    error: float
    excess: float
    n_tries: int = 1
    is_unconstrained: bool = False  # a limit on the gap may have moved the rates

    def attributes(self, ranked: RankedSamples, positions: np.ndarray) -> dict[str, Any]:
        """Fitted attributes; ``positions`` has the compared group whose rate each group takes."""
        return {
            "rates_": ranked.positive_rates(self.scores)[positions],
            "center_": float(self.center),
            "mixture_": float(self.mixture),
            "objective_": self.error,
            "constraint_violation_": self.excess,
            "n_iter_": self.n_tries,
            "_aligned_rates": self.rates[positions],
            "_zeros": self.zero_score_ranks[positions],
            "_curves": [self.curves[position] for position in positions],
        }


def search_rates(
    ranked: RankedSamples, interval_gap: IntervalGap, tolerance: float, callback: Callable
) -> RankShift:
    """The `RankShift` with the fewest errors that keep the tolerance of an `IntervalGap`.

    ``callback`` sees the best after every try, and ends the search by returning True.
    """
    criterion = interval_gap.criterion
    evaluate = partial(_evaluate_thresholds, ranked, interval_gap, tolerance)
    choose = partial(_choose_mixture, ranked, evaluate)
    if not criterion.is_correctable:
        return _bisect_gap(ranked, evaluate, choose, callback)
    # At one threshold the criterion itself is what may differ by the tolerance.
    total = _eligible_samples(ranked, criterion)
    compared = ranked.is_inside & total
    base = compared if criterion.scale == "normalized" else total
    positions = ranked.shares_above(compared, base)
    best = choose(evaluate(best_thresholds(positions, ranked.gain, tolerance)))
    callback(best)
    return best


def _bisect_gap(
    ranked: RankedSamples, evaluate: Callable, choose: Callable, callback: Callable
) -> RankShift:
    """Bisect for the widest gap between the groups' rates whose scores keep the tolerance."""
    # First without any limit on the gap: if that keeps the tolerance, nothing has fewer errors.
    best = choose(evaluate(best_thresholds(ranked.rates, ranked.gain, 1.0)))
    if callback(best) or not best.excess:
        return best
    feasible = 0.0
    infeasible = 1.0
    for n_tries in range(2, MAX_TRIES + 1):
        gap = (feasible + infeasible) / 2
        latest = evaluate(best_thresholds(ranked.rates, ranked.gain, gap))
        # Prefer what keeps the tolerance, then fewer errors.
        best = min((best, latest), key=lambda rates: (rates.excess, rates.error))
        best = best._replace(n_tries=n_tries)
        if callback(best):
            break
        feasible, infeasible = (feasible, gap) if latest.excess else (gap, infeasible)
    return choose(best)


def _choose_mixture(ranked: RankedSamples, evaluate: Callable, best: RankShift) -> RankShift:
    """The best ranking by mixtures of ranks that keep the tolerance; decisions stay."""
    mixed = [evaluate(best.thresholds, mixture) for mixture in _MIXTURES]
    ranks = TargetRanks(ranked.target, ranked.weights / ranked.weights.sum())
    chosen = min([best, *mixed], key=lambda one: (one.excess, -ranks.correlate(one.scores)))
    return chosen._replace(n_tries=best.n_tries)


def _evaluate_thresholds(
    ranked: RankedSamples,
    interval_gap: IntervalGap,
    tolerance: float,
    thresholds: np.ndarray,
    mixture: float = 0.0,
) -> RankShift:
    """Scores that are positive above the thresholds of the groups, as `RankShift`."""
    curves = [
        (levels, average(ranks, np.interp(levels, *ranked.pooled_curve), mixture))
        for levels, ranks in ranked.curves
    ]
    rates = ranked.rates[np.arange(len(thresholds)), thresholds]
    zeros = average(rates, ranked.pooled_rates[thresholds], mixture)
    center = (zeros.min() + zeros.max()) / 2
    codes = ranked.groups.codes
    scores = shifted_scores(ranks_in_groups(curves, ranked.y_score, codes), zeros[codes], center)
    excess = max(0.0, interval_gap(ranked.members.score(scores)) - tolerance)
    excess *= excess > _ROUNDING
    error = ranked.error(scores)
    return RankShift(thresholds, mixture, curves, rates, zeros, center, scores, error, excess)


def search_with_guarantee(
    ranked: RankedSamples,
    bound: BoundConstraint,
    confidence: float | None,
    search: Callable,
    clusters: np.ndarray | None = None,
) -> Guarantee:
    """Guarantee of the `RankShift` of a search (ranked, tolerance).

    A confidence of None keeps the tolerance of the bound constraint on the training data alone.
    """

    def make_fit(rows: np.ndarray | None) -> Callable:
        subset = ranked if rows is None else ranked.take(rows)
        codes = ranked.groups.codes

        def fit(tolerances: np.ndarray, latest: RankShift | None = None) -> RankShift:
            # Rates are searched on the rows, and all samples are scored by them, ranked among the
            # rows.
            best = search(subset, float(tolerances[0]))
            ranks = ranks_in_groups(best.curves, ranked.y_score, codes)
            return best._replace(
                scores=shifted_scores(ranks, best.zero_score_ranks[codes], best.center)
            )

        return fit

    system = ConstraintSystem((bound,))
    if confidence is None:
        return Guarantee(make_fit(None)(system.tolerances), system.tolerances)
    return fit_with_guarantee(system, confidence, make_fit, clusters)


def check_interval_sizes(
    ranked: RankedSamples, criterion: PartialParity, name: PartialStatisticalParity | str
) -> None:
    """Raise for groups with fewer than 20 samples whose rank is in the interval."""
    groups = ranked.groups
    compared = ranked.is_inside & _eligible_samples(ranked, criterion)
    n_compared = np.bincount(groups.codes[compared], minlength=len(groups.labels))
    small = np.flatnonzero(n_compared < _MIN_SAMPLES)
    if len(small) and len(groups.labels) > 1:
        listed = join_names(f"{groups.names[code]!r} ({n_compared[code]})" for code in small)
        raise ValueError(
            f"constraint={name!r} needs at least {_MIN_SAMPLES} samples of every group with a rank "
            f"in the interval, but some groups have fewer: {listed}. Widen the interval, merge or "
            "leave out small groups, or use a classifier whose scores have fewer ties: tied "
            "samples share the rank of the first."
        )


def _eligible_samples(ranked: RankedSamples, criterion: PartialParity) -> np.ndarray:
    """Samples that a criterion compares if their rank is in the interval, (n_samples,)."""
    return np.logical_or.reduce(list(criterion.cells(ranked).values()))  # type: ignore[arg-type]
