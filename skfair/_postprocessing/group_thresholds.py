"""Exact searches of rules that see the group: one threshold of the score for each.

A rule that sees the group accepts the samples of each group above a threshold of their score.
A cut of a group is the number of its samples that are accepted, between samples of equal scores
excluded. Rates of a group are functions of its cut, and so is what it gains.

Where constraints compare rates of single groups, the groups are independent once the level of each
comparison is fixed: the smallest rate of a block, or the rate that others are compared with. With
levels in a box, the largest gains of the groups add up to a bound of all rules there. Boxes are
divided, that of the largest bound first, until its cuts keep the constraints (branch and bound).
"""

from __future__ import annotations

import heapq
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from skfair._bound.bound import decision_outcomes
from skfair._fitting.counting import excess_of

if TYPE_CHECKING:
    from typing import Any

    from skfair._bound.bound import BoundConstraint, ConstraintSystem
    from skfair._fitting.counting import Candidate
    from skfair._fitting.fitter import Fitter
    from skfair._problems.linear import LinearModel
    from skfair._utils.api import Numbers


_ROUNDING = 1e-12
"""Rounding of sums of weights."""

_MAX_BOXES = 4_000
"""Boxes that are divided: some dozens are usual."""

_MAX_PAIRS = 1 << 22
"""Pairs of cuts of two groups that are enumerated."""


def search_thresholds(
    fitter: Fitter, candidate: Candidate, X: np.ndarray, codes: np.ndarray
) -> Candidate | None:
    """The candidate with the fewest errors of all thresholds by group that keep the constraints.

    X, (n_samples, n_features), has the score in its first column; the others are equal in a group.
    The code of a group that is missing is -1. Of equal thresholds those nearest to the candidate's
    are taken. None if there are none, or if this search does not find all: where gaps add up rates
    of three groups or more, or compare them with those of all samples.
    """
    if not _is_searched(fitter, codes):
        return None
    groups = _find_groups(fitter.constraint, candidate, X, codes, _outcomes(fitter))
    comparisons = _find_comparisons(fitter.constraint, groups)
    if comparisons is not None:
        cuts = _divide_boxes(groups, comparisons)
    elif len(groups) == 2:
        cuts = _enumerate_pair(fitter.constraint, groups, *groups)
    else:
        cuts = None
    if cuts is None:
        return None
    parameters = _parameters_at(fitter.problem.model, X, groups, cuts)
    best = fitter.evaluate(parameters, candidate.result)
    return best if best.keeps_bound else None


def improve_thresholds(
    fitter: Fitter, candidate: Candidate, X: np.ndarray, codes: np.ndarray
) -> Candidate:
    """A candidate, or a better one by other thresholds of two groups at a time.

    Arguments are those of `search_thresholds`.
    """
    if not _is_searched(fitter, codes):
        return candidate
    groups = _find_groups(fitter.constraint, candidate, X, codes, _outcomes(fitter))
    best = candidate
    for pair in [one for _ in range(3) for one in combinations(groups, 2)]:
        cuts = _enumerate_pair(fitter.constraint, groups, *pair)
        parameters = _parameters_at(fitter.problem.model, X, groups, cuts)
        moved = fitter.evaluate(parameters, candidate.result)
        if moved.sort_key < best.sort_key:
            best = moved
            groups = {code: one._replace(usual=cuts[code]) for code, one in groups.items()}
    return best


def _is_searched(fitter: Fitter, codes: np.ndarray) -> bool:
    """Whether decisions about samples of known groups are compared."""
    return fitter.constraint.metric_inputs == {"decisions"} and bool((codes >= 0).all())


def _outcomes(fitter: Fitter) -> np.ndarray:
    """What accepted samples gain: their weights, negative for negative samples."""
    return fitter.problem.mean_weights * np.sign(fitter.problem.target)


def search_selection(
    fitter: Fitter, candidate: Candidate, X: np.ndarray, chances: np.ndarray, codes: np.ndarray
) -> Candidate:
    """A candidate that selects most expected positives by thresholds of groups, or the one passed.

    X is that of `search_thresholds`; ``chances``, (n_samples,), rise with its first column. All
    windows of the rates that one constraint compares are searched. In each the highest chances fill
    the share of the samples that is selected, as far as the window allows.
    """
    outcomes = fitter.problem.mean_weights * chances
    groups = _find_groups(fitter.constraint, candidate, X, codes, outcomes)
    comparisons = _find_comparisons(fitter.constraint, groups)
    if not comparisons or len(comparisons) > 1 or len(comparisons[0].rates) < len(groups):
        return candidate
    ranges = _find_ranges(comparisons[0])
    n_places = round(fitter.share * len(codes))  # type: ignore[operator]
    levels = np.unique(-chances)
    # The cut of each group at a threshold that all share.
    shared = {
        code: np.searchsorted(-chances[one.order[one.cuts[1:] - 1]], levels, side="right")
        for code, one in groups.items()
    }

    def cuts_at(level: np.ndarray) -> dict[int, np.ndarray]:
        return {
            code: np.clip(shared[code][level], start, end - 1)
            for code, (start, end) in ranges.items()
        }

    def count(cuts: dict) -> Any:
        return sum(groups[code].cuts[cuts[code]] for code in groups)

    # Bisect in all windows for the lowest threshold at which no more than the share is selected.
    low = np.zeros(len(next(iter(ranges.values()))[0]), dtype=np.intp)
    high = np.full_like(low, len(levels) - 1)
    while (low < high).any():
        middle = (low + high + 1) // 2
        fits = count(cuts_at(middle)) <= n_places
        low = np.where(fits, middle, low)
        high = np.where(fits, high, middle - 1)
    cuts = cuts_at(low)
    gains = sum(groups[code].gains[cuts[code]] for code in groups)
    best = np.lexsort((-gains, np.abs(count(cuts) - n_places)))[0]
    best_cuts = {code: cuts[code][best] for code in groups}
    return fitter.evaluate(
        _parameters_at(fitter.problem.model, X, groups, best_cuts), candidate.result
    )


def _find_ranges(comparison: _ComparedRates) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """Of each group the range of cuts at each level, of rates that rise with the cut, or fall."""
    rates = comparison.rates
    if all((np.diff(one) <= 0.0).all() for one in rates.values()):
        rates = {code: -one for code, one in rates.items()}  # with equal differences
    levels = np.unique(np.concatenate(list(rates.values())))
    starts = {code: np.searchsorted(one, levels - _ROUNDING) for code, one in rates.items()}
    largest = comparison.limit(levels)
    ends = {code: np.searchsorted(one, largest, side="right") for code, one in rates.items()}
    # Levels at which each group has some cut.
    is_level = np.all([starts[code] < ends[code] for code in rates], axis=0)
    return {code: (starts[code][is_level], ends[code][is_level]) for code in rates}


class _Group(NamedTuple):
    """Samples of a group by descending score, and its cuts, ascending.

    ``gains``, (n_cuts,), are the weights of positive samples accepted, less those of negative ones.
    """

    order: np.ndarray  # (n_samples,), positions of the samples
    cuts: np.ndarray  # (n_cuts,)
    gains: np.ndarray
    sums: list  # of each constraint: what the group adds to its sums at each cut, (n_sums, n_cuts)
    usual: int  # position of the cut that a search starts from


def _find_groups(
    system: ConstraintSystem,
    candidate: Candidate,
    X: np.ndarray,
    codes: np.ndarray,
    outcomes: np.ndarray,
) -> dict[int, _Group]:
    """The `_Group` of each code that a constraint compares, in a search from a candidate.

    ``outcomes``, (n_samples,), are what accepted samples gain.
    """
    compared = np.zeros(len(codes), dtype=bool)
    for one in system:
        compared[one.sums.events.memberships[0]] = True
    groups = {}
    for code in np.unique(codes[compared]).tolist():
        order = np.flatnonzero(codes == code)
        order = order[np.argsort(-X[order, 0], kind="stable")]
        is_end = np.append(np.diff(X[order, 0]) != 0, True)
        cuts = np.append(0, np.flatnonzero(is_end) + 1)
        sums = [_sums_at(cuts, one, order) for one in system]
        n_accepted = np.count_nonzero(candidate.scores[order] > 0.0)
        usual = int(np.searchsorted(cuts, n_accepted))
        groups[code] = _Group(order, cuts, _sum_at(cuts, outcomes[order]), sums, usual)
    return groups


def _sums_at(cuts: np.ndarray, bound: BoundConstraint, order: np.ndarray) -> np.ndarray:
    """What samples in an order add to the sums of a constraint at each cut, (n_sums, n_cuts)."""
    averages = bound.sums.events.averaging_matrix[:, order].toarray()
    sums = [
        weights @ negative[order] + _sum_at(cuts, weights * change[order])
        for negative, change in decision_outcomes(bound.sums)
        for weights in averages
    ]
    return np.round(sums, 14)


def _sum_at(cuts: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Sums of the first values, as many as each cut counts."""
    return np.append(0.0, np.cumsum(values))[cuts]


class _ComparedRates(NamedTuple):
    """Rates of single groups, each between a level and ``(level + width) / scale``.

    With a reference only the group of this code has the level, and others may be below it.
    """

    rates: dict[int, np.ndarray]  # of each code: (n_cuts,), nan where it is unknown
    width: float
    scale: float
    reference: int | None = None

    def limit(self, level: Numbers) -> Numbers:
        """The largest rate at a level."""
        return (level + self.width) / self.scale + _ROUNDING

    def allows(self, code: int, low: float, high: float) -> np.ndarray:
        """Whether each cut of a group is allowed at some level between two, (n_cuts,)."""
        rates = self.rates[code]
        if self.reference is None:
            return (rates >= low) & (rates <= self.limit(high))
        return (
            (rates >= low) & (rates <= high)
            if code == self.reference
            else rates <= self.limit(high)
        )

    def extremes(self, cuts: dict[int, int]) -> tuple[float, float]:
        """The level at cuts of the groups, and the largest rate."""
        rates = {code: of_group[cuts[code]] for code, of_group in self.rates.items()}
        level = min(rates.values()) if self.reference is None else rates[self.reference]
        return level, max(rates.values())


def _find_comparisons(
    system: ConstraintSystem, groups: dict[int, _Group]
) -> list[_ComparedRates] | None:
    """The comparisons of all constraints; None if one compares other than rates of single groups.

    A rate that is bounded by itself is compared with a level that is 0 at all cuts.
    """
    comparisons = []
    for number, one in enumerate(system):
        by_event = _rates_by_event(one, number, groups)
        if by_event is None:
            return None
        if one.gap.compares == "bound":
            low, high = one.gap.mean_limits(one.tolerance, np.nan)
            for code, rates in by_event:
                is_within = (rates >= low - _ROUNDING) & (rates <= high + _ROUNDING)
                comparisons.append(
                    _ComparedRates({code: np.where(is_within, 0.0, np.nan)}, 0.0, 1.0)
                )
            continue
        if not (one.gap.is_range or one.gap.form.endswith("reference")):
            return None
        width, scale = one.gap.width_and_scale(one.tolerance)
        if not scale > 0.0:  # a ratio of 0, which all rates keep
            continue
        for block in one.gap.blocks:
            reference = None if one.gap.is_range else by_event[block[1]][0]
            of_block = dict(by_event[event] for event in block)
            comparisons.append(_ComparedRates(of_block, width, scale, reference))
            if len(of_block) < len(block):
                return None
    return comparisons


def _rates_by_event(
    bound: BoundConstraint, number: int, groups: dict[int, _Group]
) -> list[tuple[int, np.ndarray]] | None:
    """Code and rates at each cut of each event's group; None if an event has several groups."""
    averages = bound.sums.events.averaging_matrix
    weights = np.array([averages[:, one.order].sum(axis=1) for one in groups.values()])
    if (np.count_nonzero(weights > 0.0, axis=0) != 1).any():
        return None
    codes = np.array(list(groups))[weights.argmax(axis=0)].tolist()
    rates = {code: bound.sums.rates(one.sums[number]) for code, one in groups.items()}
    return [(code, rates[code][event]) for event, code in enumerate(codes)]


def _divide_boxes(
    groups: dict[int, _Group], comparisons: list[_ComparedRates]
) -> dict[int, int] | None:
    """Position of the best cut of each group by code, or None if no cuts keep the comparisons."""
    # Cuts by descending gain; of equal gains the nearest to the usual one.
    ranks = {}
    for code, group in groups.items():
        distances = np.abs(np.arange(len(group.cuts)) - group.usual)
        ranks[code] = np.lexsort((distances, -group.gains.round(12)))
    comparisons = [
        one._replace(rates={code: rates[ranks[code]] for code, rates in one.rates.items()})
        for one in comparisons
    ]
    gains = {code: group.gains[ranks[code]] for code, group in groups.items()}

    def choose(low: np.ndarray, high: np.ndarray) -> dict[int, int] | None:
        """The first cut of each group that is allowed with levels in a box."""
        cuts = {}
        for code in groups:
            allowed = np.ones(len(ranks[code]), dtype=bool)
            for one, *ends in zip(comparisons, low, high, strict=True):
                if code in one.rates:
                    allowed &= one.allows(code, *ends)
            cuts[code] = int(allowed.argmax())
            if not allowed[cuts[code]]:
                return None
        return cuts

    def gain_of(cuts: dict[int, int]) -> float:
        return sum(gains[code][cut] for code, cut in cuts.items())

    boxes: list[tuple] = []
    n_boxes = 0

    def add(low: np.ndarray, high: np.ndarray) -> None:
        nonlocal n_boxes
        cuts = choose(low, high)
        if cuts is not None:
            n_boxes += 1
            heapq.heappush(boxes, (-gain_of(cuts), n_boxes, low, high, cuts))

    add(*np.full((2, len(comparisons)), [[-np.inf], [np.inf]]))
    best = None
    largest_gain = -np.inf
    while boxes and n_boxes < _MAX_BOXES:
        bound, _, low, high, cuts = heapq.heappop(boxes)
        if -bound <= largest_gain + _ROUNDING:
            break
        ends = [one.extremes(cuts) for one in comparisons]
        excess = [
            largest - one.limit(level)
            for one, (level, largest) in zip(comparisons, ends, strict=True)
        ]
        k = int(np.argmax(excess)) if excess else 0
        if not excess or excess[k] <= 2.0 * _ROUNDING:
            best = cuts
            break
        # Halfway from this level to the one that the largest rate needs, neither side has both.
        one, (level, largest) = comparisons[k], ends[k]
        middle = (level + one.scale * largest - one.width) / 2.0
        is_divided = np.arange(len(comparisons)) == k
        add(low, np.where(is_divided, middle, high))
        add(np.where(is_divided, middle, low), high)
        # Cuts at one level of each comparison keep all of them.
        levels = np.where(is_divided, middle, [level for level, _ in ends])
        at_levels = choose(levels, levels)
        if at_levels is not None and gain_of(at_levels) > largest_gain:
            best = at_levels
            largest_gain = gain_of(at_levels)
    return best and {code: int(ranks[code][cut]) for code, cut in best.items()}


def _enumerate_pair(
    system: ConstraintSystem, groups: dict[int, _Group], first: int, second: int
) -> dict[int, int]:
    """The cuts of all groups, of which two are the best pair beside the usual cuts of others.

    Best is the least violation, then the largest gain.
    """
    usual = {code: one.usual for code, one in groups.items()}
    if len(groups[first].cuts) * len(groups[second].cuts) > _MAX_PAIRS:
        return usual
    others = [code for code in groups if code not in (first, second)]
    rest = [
        sum(groups[code].sums[k][:, usual[code]] for code in others) for k in range(len(system))
    ]
    gains = groups[second].gains
    best = (np.inf, np.inf, usual)
    # By descending gain, several cuts of the first group at once.
    ranks = np.argsort(-groups[first].gains, kind="stable")
    n_at_once = max(1, (1 << 16) // len(gains))
    for start in range(0, len(ranks), n_at_once):
        cuts = ranks[start : start + n_at_once]
        if best[0] <= 0.0 and groups[first].gains[cuts[0]] + gains.max() <= -best[1]:
            break
        violation = np.zeros((len(cuts), len(gains)))
        for k, one in enumerate(system):
            sums = (
                groups[first].sums[k][:, cuts, np.newaxis] + groups[second].sums[k][:, np.newaxis]
            )
            sums = sums.reshape(len(sums), -1) + np.reshape(rest[k], (-1, 1))
            excess = np.reshape(excess_of(one, sums), violation.shape)
            violation = np.maximum(violation, np.where(excess > _ROUNDING, excess, 0.0))
        costs = -(groups[first].gains[cuts, np.newaxis] + gains)
        least = violation.min()
        costs = np.where(violation <= least, costs, np.inf)
        row, column = np.unravel_index(costs.argmin(), costs.shape)
        if (least, costs[row, column]) < best[:2]:
            pair = {first: int(cuts[row]), second: int(column)}
            best = (float(least), float(costs[row, column]), usual | pair)
    return best[2]


def _parameters_at(
    model: LinearModel, X: np.ndarray, groups: dict[int, _Group], cuts: dict[int, int]
) -> np.ndarray:
    """Parameters of the linear model whose score is 0 at the cut of each group."""
    equations = []
    thresholds = []
    for code, group in groups.items():
        # Between the last sample that is accepted and the first that is not.
        scores = X[group.order, 0]
        ends = np.concatenate((scores[:1] + 1.0, scores, scores[-1:] - 1.0))
        cut = group.cuts[cuts[code]]
        thresholds.append(ends[cut : cut + 2].mean())
        equations.append(np.append(X[group.order[0], 1:], 1.0))
    *coef, intercept = np.linalg.lstsq(np.array(equations), -np.array(thresholds), rcond=None)[0]
    return model.parameters(np.append(1.0, coef), intercept)
