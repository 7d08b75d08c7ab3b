"""What the last batches say, whatever was before: limits of pooled rates at every look."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import permutations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import special

from skfair._statistics.gaps import Verdict, find_verdict
from skfair._statistics.limits_of_rates import clopper_pearson_limits, is_limit_above, rate_limits
from skfair.audit._sentences import event_text
from skfair.monitoring._batches import restore_time, unscale_mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from skfair.monitoring._batches import MonitorSettings


_N_BATCHES, _LONGEST_STREAM = 1_000_000, 1000
"""Batches that are simulated to find this error, in streams of so many at most."""


@dataclass(frozen=True, eq=False)
class Window:
    """Gap of the samples that were decided on in the last batches, with its limits.

    Attributes
    ----------
    n_batches : int
        Length of the window.
    first_batch : int
        Number of the batch in which the first of its samples were counted.
    start, end : int, float, str or None
        Times of its first and of its last batch.
    gap, low, high : float
        Largest gap and its limits, in units of the mean.
    verdict : {"shown", "open", "contradicted"}
        "contradicted" if the lower limit exceeds the tolerance, "shown" if the upper one does not.
        Both hold of the pooled rates, and of rates in which a batch has the same weight in all
        groups.
    is_above : bool
        Whether the gap is above the tolerance, perhaps by chance.
    extremes : list of tuples
        Name, mean and samples of the two groups that differ most, or of the one with the largest
        mean. The cell stands before the name, if there are several.
    """

    n_batches: int
    first_batch: int
    start: Any
    end: Any
    gap: float
    low: float
    high: float
    verdict: Verdict
    is_above: bool
    extremes: list


def add_tables(*tables: np.ndarray) -> np.ndarray:
    """The sum of two tables; groups may have joined between them."""
    narrow, wide = sorted(tables, key=np.size)
    total = wide.copy()
    total[:, : narrow.shape[1]] += narrow
    return total


class Decisions(NamedTuple):
    """What is counted of the decisions of one batch, whenever their outcomes came.

    Attributes
    ----------
    time : int, float, str or None
        Time of the batch.
    first_batch : int
        Number of the batch in which the first of them were counted; of the batch without any.
    tables : list of tuples
        Time of the decisions, attribute, cell and counts, as of `Row`.
    """

    time: Any
    first_batch: int
    tables: list


def group_by_decision(rows: list) -> list[Decisions]:
    """What is counted of the decisions of each batch.

    Late decisions, whose time no batch has, belong to the first batch after it.
    """
    tables: list[list] = [[] for _ in rows]
    first = [row.number for row in rows]
    places = {row.time: i for i, row in reversed([*enumerate(rows)])}
    for i, row in enumerate(rows):
        for table in row.tables:
            place = i if table[0] in (None, row.time) else places.get(table[0])
            if place is None:
                times = [restore_time(one.time) for one in rows]
                place = bisect_left(times, restore_time(table[0]))
            first[place] = first[place] if tables[place] else row.number
            tables[place].append(table)
    return [Decisions(row.time, *one) for row, *one in zip(rows, first, tables, strict=True)]


def list_counted(rows: list, has_outstanding: bool) -> list[Decisions]:
    """The `Decisions` of the batches up to the last of which decisions are counted.

    Where no outcome comes later than its decision these are all batches.
    """
    batches = group_by_decision(rows)
    times = {row.time for row in rows} - {None}
    counted_later = (times & {table[0] for table in row.tables} - {row.time} for row in rows)
    if not has_outstanding and not any(counted_later):
        return batches
    return batches[: max((i + 1 for i, one in enumerate(batches) if one.tables), default=0)]


def pool_tables(tables: list) -> dict[tuple, np.ndarray]:
    """Samples, weights and weighted sums by attribute and cell, of tables by time of decision."""
    cells: dict = {}
    for _, name, cell, table in tables:
        cells[name, cell] = add_tables(table, cells.get((name, cell), np.zeros((3, 0))))
    return cells


@lru_cache
def find_alarm_error(run_length: float, windows: tuple[int, ...]) -> float:
    """Error of the lower limit of each window, so that alarms are false once in a run length.

    The run length T of false alarms has the probability exp(-t / run_length) to exceed t, about,
    since alarms are rare. In simulated streams of normal batches of equal size, whose gap is just
    the tolerance, the largest excess of a window in any batch, in standard errors, has the quantile
    of this probability. The error is that of the union bound over windows and batches at least, and
    where alarms are too rare for simulations.
    """
    # Share of the false alarms that windows raise; the detector may raise the others.
    rate = 0.75 / run_length
    length = int(np.ceil(min(run_length, _LONGEST_STREAM)))
    # Run length up to which enough of these streams have an alarm.
    if run_length > 100_000:
        return rate / len(windows)
    steps = np.random.default_rng(0).standard_normal((_N_BATCHES // length, length))
    sums = np.pad(np.cumsum(steps, axis=1), ((0, 0), (1, 0)))
    largest = np.full(len(steps), -np.inf)
    for n in windows:
        excess = (sums[:, n:] - sums[:, :-n]) / np.sqrt(n)
        largest = np.maximum(largest, excess.max(axis=1, initial=-np.inf))
    z = np.quantile(largest, np.exp(-rate * length), method="higher")
    # Error of a lower limit of a window, at most, however short the run length.
    return min(max(float(special.ndtr(-z)), rate / len(windows)), 0.05)


def judge_windows(
    settings: MonitorSettings, comparisons: dict[str, Any], batches: list[Decisions]
) -> list[Window]:
    """The windows at the end of these `Decisions`, shortest first; none if nothing can be said.

    A sum of independent values between 0 and 1 whose means differ has smaller tails than a binomial
    one of the same mean (W. Hoeffding, "On the distribution of the number of successes in
    independent trials", Annals of Mathematical Statistics 27, 1956), so that limits of pooled rates
    hold for the mean rate of a window, and no rate is assumed constant. "contradicted" has the
    error of `find_alarm_error`, divided among contrasts, "shown" 1 / (2 run_length), divided among
    windows: each contrast must be within the tolerance (intersection-union).
    """
    if settings.run_length is None or not settings.windows:
        return []
    error_above = find_alarm_error(settings.run_length, settings.windows)
    # A page says falsely that the tolerance is kept in one of so many run lengths at most.
    error_within = 1.0 / (2.0 * settings.run_length * len(settings.windows))
    windows = [
        _judge_window(settings, comparisons, batches[-length:], error_above, error_within)
        for length in settings.windows
        if length <= len(batches)
    ]
    return [window for window in windows if window is not None]


def exclude_gap(windows: list[Window], gap: float) -> bool:
    """Whether the limits of a window exclude the gap since the start."""
    return any(not one.low <= gap <= one.high for one in windows)


_N_RECENT = 3
"""Number of the last batches, in one of which a group has decisions if it is not gone."""


def find_delay(settings: MonitorSettings, batches: list[Decisions], gap: float) -> int | None:
    """Batches until a window is above the tolerance in half of all cases, about; None for never.

    All groups that are not gone have the same mean so far, and the smallest one begins to differ
    by the gap. Batches have their mean numbers of samples, and rates are as expected.
    """
    hypothesis = settings.hypothesis
    pooled = pool_tables([table for one in batches for table in one.tables])
    if settings.run_length is None or not settings.windows or not hypothesis.compares_group_pairs:
        return None
    if hypothesis.are_ratios:
        return None
    compared = find_compared(settings, pooled)
    # Groups without recent decisions do not change any more.
    recent = pool_tables([table for one in batches[-_N_RECENT:] for table in one.tables])
    gap = gap / np.ptp(settings.range)
    error = find_alarm_error(settings.run_length, settings.windows)
    error /= max(_count_contrasts_at_tolerance(settings, compared), 1)
    cells = []
    for key, (codes, n, rates) in compared.items():
        counts = recent.get(key, np.zeros((3, 0)))[0]
        is_present = np.append(counts, np.zeros(codes.max() + 1))[codes] > 0
        if is_present.sum() > 1:
            sizes = n[is_present] / len(batches)
            cells.append((sizes, float(sizes @ rates[is_present] / sizes.sum())))
    for delay in range(1, max(settings.windows) + 1 if cells else 1):
        for length in settings.windows:
            lows = []
            for n, mean in cells:
                means = np.full(len(n), mean)
                change = -gap if mean >= gap else min(gap, 1.0 - mean)
                means[n.argmin()] += change * min(1.0, delay / length)
                ends = rate_limits(means, n * length, 1.0 - error)
                lows.append(hypothesis.lower_limit(means, *ends))
            if length <= len(batches) + delay and min(lows) > settings.scaled_tolerance:
                return delay
    return None


def _judge_window(
    settings: MonitorSettings,
    comparisons: dict[str, Any],
    batches: list[Decisions],
    error_above: float,
    error_within: float,
) -> Window | None:
    """One window; None without two groups to compare, or if weights differ."""
    pooled = pool_tables([table for one in batches for table in one.tables])
    if not all(np.allclose(counts, weights) for counts, weights, _ in pooled.values()):
        return None
    hypothesis = settings.hypothesis
    compared = find_compared(settings, pooled)
    if not compared:
        return None
    # Lower limits share the error among contrasts, upper ones do not.
    error_above = error_above / _count_contrasts_at_tolerance(settings, compared)
    limit_gap = partial(_limit_gap, hypothesis, error_low=error_above, error_high=error_within)
    low, high = limit_gap([one[1:] for one in compared.values()])
    is_shown = high <= settings.scaled_tolerance
    is_contradicted = low > settings.scaled_tolerance
    # Groups whose numbers change differently must show the same if compared batch by batch.
    if hypothesis.compares_group_pairs and (is_shown or is_contradicted):
        tables = [_equalise_batches(batches, key, codes) for key, (codes, *_) in compared.items()]
        by_batch = [table for table in tables if table is not None]
        is_complete = len(by_batch) == len(tables)
        low_by_batch, high_by_batch = limit_gap(by_batch) if is_complete else (0.0, np.inf)
        is_shown &= high_by_batch <= settings.scaled_tolerance
        is_contradicted &= low_by_batch > settings.scaled_tolerance
    is_shown = is_shown and _is_exactly_within(settings, compared, error_within)
    is_contradicted = is_contradicted and _is_exactly_above(settings, compared, error_above)
    widest = max(compared, key=lambda key: hypothesis.tested_value(compared[key][2]))
    gap = hypothesis.tested_value(compared[widest][2])
    return Window(
        n_batches=len(batches),
        first_batch=batches[0].first_batch,
        start=batches[0].time,
        end=batches[-1].time,
        gap=settings.unscale(gap),
        low=settings.unscale(low),
        high=settings.unscale(high),
        verdict=find_verdict(is_shown, is_contradicted),
        is_above=bool(gap > settings.scaled_tolerance),
        extremes=_find_extremes(settings, comparisons, widest, *compared[widest]),
    )


def _count_contrasts_at_tolerance(settings: MonitorSettings, compared: Any) -> int:
    """Number of contrasts that can err together while the tolerance is kept."""
    count, tolerance = settings.hypothesis.count_on_edge, settings.tolerance
    return sum(count(len(codes), tolerance) for codes, *_ in compared.values())


def _limit_gap(
    hypothesis: Any,
    cells: Sequence[tuple[np.ndarray, ...]],
    error_low: float,
    error_high: float,
) -> tuple[float, float]:
    """Lower and upper limit of the largest gap, of samples and rates by cell."""
    low = high = 0.0
    for n, rates in cells:
        inner, outer = (rate_limits(rates, n, 1.0 - error) for error in (error_low, error_high))
        low = max(low, hypothesis.lower_limit(rates, *inner))
        high = max(high, hypothesis.upper_limit(rates, *outer))
    return low, high


_RARE_COUNT = 30
"""Successes or failures of a group below which limits of its differences are checked exactly."""


def _is_exactly_within(settings: MonitorSettings, compared: Any, error: float) -> bool:
    """Return whether exact limits of all pairs with a rare outcome are within the tolerance, too.

    Far in the tails the limit of a rate near 0 or 1 ends there, and margins that are added as roots
    of squares are too short. `error` is that of a pair.
    """
    if not settings.hypothesis.compares_group_pairs:
        return True
    return all(
        _is_pair_exactly_within(settings, counts, sizes, error)
        for _, n, rates in compared.values()
        for counts, sizes, is_rare in _list_pairs(n, rates)
        if is_rare
    )


def _is_exactly_above(settings: MonitorSettings, compared: Any, error: float) -> bool:
    """Return whether a pair has a limit above the tolerance: exact if it has a rare outcome.

    `error` is that of a pair.
    """
    hypothesis = settings.hypothesis
    if not hypothesis.compares_group_pairs:
        return True
    for _, n, rates in compared.values():
        for counts, sizes, is_rare in _list_pairs(n, rates):
            size = np.array(sizes, dtype=float)
            pair = np.array(counts) / size
            # Only the first group can exceed the second.
            low = hypothesis.lower_limit(pair, *rate_limits(pair, size, 1.0 - error))
            is_above = pair[0] > pair[1] and low > settings.scaled_tolerance
            if is_above and (not is_rare or _is_pair_exactly_above(settings, counts, sizes, error)):
                return True
    return False


def _list_pairs(
    n: np.ndarray, rates: np.ndarray
) -> Iterator[tuple[tuple[int, int], tuple[int, int], bool]]:
    """Yield successes and samples of ordered pairs of groups, and whether an outcome is rare."""
    hits = np.rint(n * rates).astype(int)
    is_rare = np.minimum(hits, n - hits) < _RARE_COUNT
    for first, second in permutations(range(len(n)), 2):
        counts = int(hits[first]), int(hits[second])
        yield counts, (int(n[first]), int(n[second])), bool(is_rare[first] or is_rare[second])


def _is_pair_exactly_within(
    settings: MonitorSettings, counts: tuple[int, int], sizes: tuple[int, int], error: float
) -> bool:
    """Return whether the exact upper limit of a difference, or of 1 - a ratio, is within."""
    level, tolerance = 1.0 - error, settings.scaled_tolerance
    if not settings.hypothesis.are_ratios:
        return not is_limit_above(counts, sizes, level, tolerance)
    # Each rate has half of the error.
    low, high = clopper_pearson_limits(counts, sizes, 1.0 - error / 2.0)
    return bool(low[1] >= (1.0 - tolerance) * high[0])


def _is_pair_exactly_above(
    settings: MonitorSettings, counts: tuple[int, int], sizes: tuple[int, int], error: float
) -> bool:
    """Return whether the exact lower limit of a difference, or of 1 - a ratio, is above."""
    level, tolerance = 1.0 - error, settings.scaled_tolerance
    if not settings.hypothesis.are_ratios:
        # The difference of the second to the first is below minus the tolerance.
        return not is_limit_above(counts[::-1], sizes[::-1], level, -tolerance)
    # Each rate has half of the error.
    low, high = clopper_pearson_limits(counts, sizes, 1.0 - error / 2.0)
    return bool(high[1] < (1.0 - tolerance) * low[0])


def _equalise_batches(
    batches: list[Decisions], key: tuple[str, ...], codes: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """Effective sizes and rates of groups, in which a batch has the same weight in all groups.

    The weights are those of Mantel and Haenszel: of two groups, the product of their numbers over
    the sum. None where no batch has samples of all groups.
    """
    tables = np.zeros((len(batches), 3, codes.max() + 1))
    for table, one in zip(tables, batches, strict=True):
        of_batch = pool_tables(one.tables).get(key, np.zeros((3, 0)))[:, : table.shape[1]]
        table[:, : of_batch.shape[1]] = of_batch
    n, _, sums = tables[(tables[:, 0, codes] > 0).all(axis=1)][..., codes].transpose(1, 0, 2)
    if not len(n):
        return None
    weights = 1.0 / (1.0 / n).sum(axis=1)
    weights /= weights.sum()
    return 1.0 / (weights**2 @ (1.0 / n)), weights @ (sums / n)


def find_compared(settings: MonitorSettings, pooled: dict[tuple[str, ...], np.ndarray]) -> dict:
    """Codes, samples and rates of the groups that are large enough here, by attribute and cell."""
    compared = {}
    for key, (counts, weights, sums) in pooled.items():
        is_large = (counts >= settings.smallest_size) & (weights > 0)
        codes = np.flatnonzero(is_large)
        if settings.hypothesis.count_contrasts(len(codes)):
            compared[key] = codes, counts[codes], sums[codes] / weights[codes]
    return compared


def _find_extremes(
    settings: MonitorSettings,
    comparisons: dict[str, Any],
    key: tuple[str, ...],
    codes: np.ndarray,
    n: np.ndarray,
    rates: np.ndarray,
) -> list[tuple[str, float, int]]:
    """Name, mean and samples of the groups that differ most, or of the one with the largest."""
    attribute, cell = key
    comparison = comparisons[attribute]
    return [
        (
            event_text(cell, comparison.groups[codes[i]], comparison.cells),
            unscale_mean(settings, rates[i]),
            int(n[i]),
        )
        for i in settings.hypothesis.find_extremes(rates)
    ]
