"""Searches of rules that see the group: exact ones of one threshold per group, and further starts.

A rule that sees the group accepts the samples of each group above a threshold of their score.
A cut of a group is the number of its samples that are accepted, between samples of equal scores
excluded. Rates of a group rise with its cut. So where the rates of all groups must lie in windows,
the cuts of a group that keep them are neighbours, and the best of these follows from a table of
maxima. Windows begin at rates of some group: all of them are searched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from skfair._bound.bound import decision_outcomes
from skfair._utils.arrays import RangeMaxima

if TYPE_CHECKING:
    from skfair._bound.bound import ConstraintSystem
    from skfair._fitting.counting import Candidate
    from skfair._fitting.fitter import Fitter
    from skfair._problems.linear import LinearModel


_ROUNDING = 1e-12
"""Rounding of sums of weights."""


def search_thresholds(
    fitter: Fitter, candidate: Candidate, X: np.ndarray, codes: np.ndarray
) -> Candidate:
    """A candidate with the fewest errors of all thresholds by group, or the one that is passed.

    X, (n_samples, n_features), has the score in its first column; the others are equal in a group.
    The code of a group that is missing is -1. Constraints are searched that
    bound differences or ratios of rates of decisions: any single one, such as of error rates, or
    several of which each rises with the share that a group is given; two of them at most where
    there are more than two groups.
    """
    problem = fitter.problem
    outcomes = problem.mean_weights * np.sign(problem.target)
    compared = np.zeros(len(codes), dtype=bool)
    for one in fitter.constraint:
        compared[one.sums.events.memberships[0]] = True
    groups = _find_groups(X[:, 0], codes, outcomes, np.unique(codes[compared]))
    windows = None if (codes < 0).any() else _find_windows(fitter.constraint, codes, groups)
    if windows and len(windows) == 1:
        groups, windows = _sort_cuts(groups, windows[0])
    cuts = windows and _find_best_cuts(groups, windows)
    if not cuts:
        return candidate
    parameters = _parameters_at(problem.model, X, groups, cuts)
    moved = fitter.evaluate(parameters, candidate.result)
    return min(candidate, moved, key=lambda one: one.sort_key)


def search_selection(
    fitter: Fitter, candidate: Candidate, X: np.ndarray, chances: np.ndarray, codes: np.ndarray
) -> Candidate:
    """A candidate that selects most expected positives by thresholds of groups, or the one passed.

    X is that of `search_thresholds`; ``chances``, (n_samples,), rise with its first column. All
    windows of the rates that one constraint compares are searched. In each the highest chances fill
    the share of the samples that is selected, as far as the window allows.
    """
    groups = _find_groups(chances, codes, fitter.problem.mean_weights * chances, np.unique(codes))
    windows = _find_windows(fitter.constraint, codes, groups)
    if not windows or len(windows) > 1:
        return candidate
    ranges = _find_ranges(groups, windows[0])
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

    def count(cuts: dict) -> np.ndarray:
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


class _Group(NamedTuple):
    """Samples of a group by descending score, and its cuts, ascending.

    ``gains``, (n_cuts,), are the weights of positive samples accepted, less those of negative ones.
    """

    order: np.ndarray  # (n_samples,), positions of the samples
    cuts: np.ndarray  # (n_cuts,)
    gains: np.ndarray


def _find_groups(
    scores: np.ndarray, codes: np.ndarray, outcomes: np.ndarray, compared: np.ndarray
) -> dict[int, _Group]:
    """The `_Group` of each code that is compared."""
    groups = {}
    for code in compared:
        order = np.flatnonzero(codes == code)
        order = order[np.argsort(-scores[order], kind="stable")]
        is_end = np.append(np.diff(scores[order]) != 0, True)
        cuts = np.append(0, np.flatnonzero(is_end) + 1)
        groups[code] = _Group(order, cuts, _sum_at(cuts, outcomes[order]))
    return groups


def _sum_at(cuts: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Sums of the first values, as many as each cut counts."""
    return np.append(0.0, np.cumsum(values))[cuts]


class _Window(NamedTuple):
    """Rates that may not differ by more than a tolerance, at each cut of each group."""

    rates: dict  # of groups by code: (n_cuts,), ascending once cuts are sorted
    tolerance: float
    is_ratio: bool

    def bounds(self, rates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Smallest and largest rate beside given ones."""
        if self.is_ratio:
            smallest = (1.0 - self.tolerance) * rates
            largest = rates / (1.0 - self.tolerance)
        else:
            smallest = rates - self.tolerance
            largest = rates + self.tolerance
        return smallest - _ROUNDING, largest + _ROUNDING

    def cuts_between(
        self, code: int, smallest: np.ndarray, largest: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """First cut of a group within bounds, and the one behind the last."""
        rates = self.rates[code]
        return np.searchsorted(rates, smallest), np.searchsorted(rates, largest, side="right")


def _find_windows(
    system: ConstraintSystem, codes: np.ndarray, groups: dict[int, _Group]
) -> list[_Window] | None:
    """The `_Window` of every block of rates that constraints compare, or None.

    None where a rate has not one group, or one of several rates may fall with the cut.
    """
    is_single = sum(len(one.gap.blocks) for one in system if one.gap.is_range) == 1
    windows = []
    for one in system:
        is_searched = one.sums.metric_input == "decisions" and not one.sums.is_quotient
        if not (is_searched and one.gap.is_range and one.tolerance < 1.0):
            return None
        ((negative, change),) = decision_outcomes(one.sums)
        averages = one.sums.events.averaging_matrix
        for block in one.gap.blocks:
            rates = {}
            for start, end in (averages.indptr[event : event + 2] for event in block):
                members = averages.indices[start:end]
                weights = averages.data[start:end]
                (code, *others) = np.unique(codes[members])
                effects = np.zeros(len(codes))
                effects[members] = weights * change[members]
                is_falling = (effects < 0.0).any()
                if others or code in rates:
                    return None
                may_fall = is_falling and (one.gap.is_ratio or (effects > 0.0).any())
                if may_fall and not is_single:
                    return None
                # A difference of rates is that of what they lack to 1, which rises.
                group = groups[code]
                sign = -1.0 if is_falling and not may_fall else 1.0
                rates[code] = _sum_at(group.cuts, sign * effects[group.order])
                rates[code] += sign * (weights * negative[members]).sum()
            windows.append(_Window(rates, one.tolerance, one.gap.is_ratio))
    return windows


def _sort_cuts(
    groups: dict[int, _Group], window: _Window
) -> tuple[dict[int, _Group], list[_Window]]:
    """The groups with cuts by ascending rate, which may rise and fall, and their only window."""
    ordered = dict(groups)
    rates = dict(window.rates)
    for code, of_group in window.rates.items():
        order = np.argsort(of_group, kind="stable")
        rates[code] = of_group[order]
        group = groups[code]
        ordered[code] = group._replace(cuts=group.cuts[order], gains=group.gains[order])
    return ordered, [window._replace(rates=rates)]


def _find_best_cuts(groups: dict[int, _Group], windows: list[_Window]) -> dict[int, int] | None:
    """Position of the best cut of each group by code, or None if they are not searched."""
    maxima = {code: RangeMaxima(group.gains) for code, group in groups.items()}
    if len(groups) == 2:
        return _search_pairs(groups, windows, maxima)
    if len(windows) == 1:
        return _search_windows(groups, windows[0], maxima)[1]
    if len(windows) > 2:
        return None
    # Maxima under the first rate alone bound those under both.
    first, second = windows
    ranges = _find_ranges(groups, first)
    bounds = np.asarray(sum(maxima[code](*ranges[code])[1] for code in groups))
    best = -np.inf
    cuts = None
    # Search the 2,000 best windows of the first rate.
    for k in np.argsort(-bounds, kind="stable")[:2000]:
        if not bounds[k] > best:
            break
        within = {code: (start[k], end[k]) for code, (start, end) in ranges.items()}
        gain, positions = _search_windows(groups, second, maxima, within)
        if gain > best:
            best = gain
            cuts = positions
    return cuts


def _search_pairs(
    groups: dict[int, _Group], windows: list[_Window], maxima: dict[int, RangeMaxima]
) -> dict[int, int] | None:
    """The best cuts of two groups: of the second, to each cut of the first."""
    first, second = groups
    n_first, n_second = (len(one.cuts) for one in groups.values())
    start = np.zeros(n_first, dtype=np.intp)
    end = np.full(n_first, n_second)
    for window in windows:
        if len(window.rates) < 2:
            continue
        bounds = window.bounds(window.rates[first])
        from_, to = window.cuts_between(second, *bounds)
        start = np.maximum(start, from_)
        end = np.minimum(end, to)
    positions, gains = maxima[second](start, end)
    best = np.argmax(groups[first].gains + gains)
    return {first: int(best), second: int(positions[best])} if np.isfinite(gains[best]) else None


def _find_ranges(
    groups: dict[int, _Group], window: _Window, within: dict[int, tuple[int, ...]] | None = None
) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """Of each group the range of cuts in each window, by ascending smallest rate.

    ``within`` has the cuts of each group that are searched.
    """
    within = within or {}
    inside = {code: within.get(code, (0, len(group.cuts))) for code, group in groups.items()}
    rates = [window.rates[code][slice(*inside[code])] for code in window.rates]
    smallest = np.unique(np.concatenate(rates))
    largest = window.bounds(smallest)[1]
    ranges = {}
    for code, (start, end) in inside.items():
        starts = np.full(len(smallest), start)
        ends = np.full(len(smallest), end)
        if code in window.rates:
            from_, to = window.cuts_between(code, smallest - _ROUNDING, largest)
            starts = np.maximum(starts, from_)
            ends = np.minimum(ends, to)
        ranges[code] = starts, ends
    return ranges


def _search_windows(
    groups: dict[int, _Group],
    window: _Window,
    maxima: dict[int, RangeMaxima],
    within: dict | None = None,
) -> tuple:
    """The largest sum of gains under one window, and the cuts, or None."""
    ranges = _find_ranges(groups, window, within)
    results = {code: maxima[code](*ranges[code]) for code in groups}
    totals = np.asarray(sum(gains for _, gains in results.values()))
    best = np.argmax(totals)
    if not np.isfinite(totals[best]):
        return -np.inf, None
    return totals[best], {code: positions[best] for code, (positions, _) in results.items()}


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
