"""Five years of monthly decisions: false alarms, and months until an excess is seen."""

from typing import NamedTuple

import numpy as np

from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report
from skfair._statistics.limits_of_rates import rate_limits
from skfair.monitoring._recent import find_alarm_error
from skfair.monitoring._state import (
    CellEvidence,
    DifferenceHypotheses,
    GapEvidence,
    change_evidence,
)

N_MONTHS, TOLERANCE = 60, 0.1
WINDOWS = (1, 3, 6, 12)
MIN_SIZE = 30  # samples of a group that is compared, as GapMonitor's default
DEFAULT, RUN_LENGTHS = 300, (100, 300, 1000)
N_STREAMS = {5: 1000, 1: 50}  # by the runs of the budget
DRIFT = 0.25  # of CUSUM, in standard errors: half of a change that it is to see


class Case(NamedTuple):
    """Decisions a month of all groups, gap of the last group by month, and month of the change."""

    name: str
    shares: tuple[float, ...]
    n_samples: int
    gaps: np.ndarray  # (N_MONTHS,)
    change: int


TWO, FOUR = (0.5, 0.5), (0.4, 0.3, 0.2, 0.1)
MONTHS = np.arange(N_MONTHS)


def jump(month, gap):
    """Gaps of .05 that jump in a month, counted from 0."""
    return np.where(month <= MONTHS, gap, 0.05)


EDGE = np.full(N_MONTHS, TOLERANCE)
NULL_CASES = tuple(
    Case(name, shares, n, gaps, N_MONTHS)
    for shares, n in ((TWO, 200), (TWO, 2000), (FOUR, 200))
    for name, gaps in (("gap .10", EDGE), ("gap .05", EDGE / 2))
)
CHANGE_CASES = (
    Case(".05 to .20 in month 48", TWO, 200, jump(48, 0.2), 48),
    Case(".05 to .15", TWO, 2000, jump(24, 0.15), 24),
    Case(".05 to .15", TWO, 200, jump(24, 0.15), 24),
    Case(
        "drift to .20 in a year",
        TWO,
        200,
        np.clip(0.05 + 0.15 * (MONTHS - 23) / 12, 0.05, 0.2),
        24,
    ),
    Case(
        "six months of .20",
        TWO,
        200,
        np.where((MONTHS >= 24) & (MONTHS < 30), 0.2, 0.05),
        24,
    ),
    Case(".05 to .20", FOUR, 200, jump(24, 0.2), 24),
)
"""Cases within the tolerance, and those with an excess; the first groups have a rate of .4."""


def draw_counts(case, n_streams, rng):
    """Samples and positives of each group, (N_MONTHS, n_streams, n_groups)."""
    rates = np.full((N_MONTHS, len(case.shares)), 0.4)
    rates[:, -1] -= case.gaps
    n = rng.multinomial(case.n_samples, case.shares, size=(N_MONTHS, n_streams))
    return n, rng.binomial(n, rates[:, np.newaxis])


def lowest_gap(n, rates, error):
    """Lower limit of the largest difference of groups of sufficient size, (..., n_groups)."""
    low, high = rate_limits(rates, np.maximum(n, 1), 1.0 - error[..., np.newaxis])
    first, second = (..., slice(None), np.newaxis), (..., np.newaxis, slice(None))
    margins = np.hypot((rates - low)[first], (high - rates)[second])
    is_large = n >= MIN_SIZE
    is_compared = is_large[first] & is_large[second] & ~np.eye(n.shape[-1], dtype=bool)
    limits = np.where(is_compared, rates[first] - rates[second] - margins, -1.0)
    return limits.max(axis=(-1, -2))


def equalise_months(n, positives):
    """Effective samples and rates with equal weights of a month in all groups, as windows have.

    The arrays are (length, ..., n_groups). Months without samples of a group do not count.
    """
    is_complete = (n > 0).all(axis=-1)
    inverses = 1.0 / np.maximum(n, 1)
    weights = np.where(is_complete, 1.0 / inverses.sum(axis=-1), 0.0)
    weights = weights / np.maximum(weights.sum(axis=0), 1e-300)
    variances = (weights[..., np.newaxis] ** 2 * inverses).sum(axis=0)
    rates = (weights[..., np.newaxis] * positives * inverses).sum(axis=0)
    return 1.0 / np.maximum(variances, 1e-300), rates


def find_window_alarms(n, positives, run_length, windows=WINDOWS):
    """Whether a window contradicts the tolerance in each month, (N_MONTHS, n_streams)."""
    error = find_alarm_error(float(run_length), windows)
    is_alarm = np.zeros(n.shape[:2], dtype=bool)
    for month in range(N_MONTHS):
        for length in windows:
            if length > month + 1:
                continue
            last = slice(month + 1 - length, month + 1)
            total = n[last].sum(axis=0)
            n_compared = (total >= MIN_SIZE).sum(axis=-1)
            errors = error / np.maximum(n_compared**2 // 4, 1)
            pooled = positives[last].sum(axis=0) / np.maximum(total, 1)
            low = lowest_gap(total, pooled, errors)
            size, rates = equalise_months(n[last], positives[last])
            low_by_month = lowest_gap(np.where(total >= MIN_SIZE, size, 0.0), rates, errors)
            is_alarm[month] |= (low > TOLERANCE) & (low_by_month > TOLERANCE)
    return is_alarm


def track_evidence(n, positives):
    """Statistic of the e-detector after each month, (N_MONTHS, n_streams)."""
    cell = CellEvidence(DifferenceHypotheses(), np.array([TOLERANCE]), 0, n.shape[1:2])
    cell.add_groups(n.shape[-1])
    gap = GapEvidence(1, 0, n.shape[1:2])
    total = np.zeros(n.shape[1:])
    evidence = []
    for samples, hits in zip(n, positives, strict=True):
        total = total + samples
        is_large = total >= MIN_SIZE
        gap.update(*cell.update(samples * is_large, hits * is_large))
        evidence.append(change_evidence([gap]))
    return np.array(evidence)


def track_plain_charts(n, positives):
    """Largest statistics so far of a CUSUM of pairs, and of a z-test of each month."""
    size = np.maximum(n, 1)
    rates = (positives + 0.5) / (size + 1)
    variances = rates * (1 - rates) / size
    first, second = (..., slice(None), np.newaxis), (..., np.newaxis, slice(None))
    z = (rates[first] - rates[second] - TOLERANCE) / np.sqrt(variances[first] + variances[second])
    is_compared = (n[first] >= 5) & (n[second] >= 5) & ~np.eye(n.shape[-1], dtype=bool)
    z = np.where(is_compared, z, -np.inf)
    sums, largest = np.zeros(z.shape[1:]), []
    for month in z:
        steps = np.where(np.isfinite(month), month - DRIFT, 0.0)
        sums = np.maximum(sums + steps, 0.0)
        largest.append(sums.max(axis=(-1, -2)))
    charts = np.array(largest), z.max(axis=(-1, -2))
    return [np.maximum.accumulate(chart) for chart in charts]


def find_first(is_alarm):
    """Month of the first alarm of each stream, counted from 0; N_MONTHS without one."""
    return np.where(is_alarm.any(axis=0), is_alarm.argmax(axis=0), N_MONTHS)


def find_alarms(case, n_streams):
    """Month of the first alarm by run length, and the statistics of the plain charts."""
    rng = np.random.default_rng([case.n_samples, len(case.shares), *case.name.encode()])
    n, positives = draw_counts(case, n_streams, rng)
    change = track_evidence(n, positives)
    months = {}
    for run_length in RUN_LENGTHS:
        # Beside windows the detector has a quarter of the false alarms.
        is_alarm = find_window_alarms(n, positives, run_length) | (change >= 4 * run_length)
        months[run_length] = find_first(is_alarm)
    return months, track_plain_charts(n, positives)


def find_shares(months, change):
    """Shares of streams with an alarm within 3 and 12 months of the change, and without any.

    Streams with an earlier alarm do not count.
    """
    later = months[months >= change]
    return [np.mean(later < change + 3), np.mean(later < change + 12), np.mean(later == N_MONTHS)]


def describe_null(case, n_streams):
    """Record of false alarms within five years, and the limits of the plain charts.

    With these limits as many streams have a false alarm as with the default.
    """
    months, charts = find_alarms(case, n_streams)
    shares = {f"run length {one}": np.mean(months[one] < N_MONTHS) for one in RUN_LENGTHS}
    share = shares[f"run length {DEFAULT}"]
    limits = [np.quantile(chart[-1], 1.0 - share, method="higher") for chart in charts]
    return {"figure": "false alarms"} | _list_facts(case) | shares, limits


def describe_excess(case, limits, n_streams):
    """Record of the months until an excess is seen, by run length and by the plain charts."""
    months, charts = find_alarms(case, n_streams)
    methods = {f"run length {one}": months[one] for one in RUN_LENGTHS}
    for name, chart, limit in zip(("CUSUM", "z-test"), charts, limits, strict=True):
        methods[name] = find_first(chart > limit)
    record = {"figure": "excess"} | _list_facts(case)
    for name, first in methods.items():
        soon, late, never = find_shares(first, case.change)
        record |= {f"{name}: 3": soon, f"{name}: 12": late, f"{name}: never": never}
    return record


def _list_facts(case):
    """What a record says of a case."""
    return {"case": case.name, "groups": len(case.shares), "samples": case.n_samples}


@smallest(N_STREAMS={1: 4}, NULL_CASES=NULL_CASES[:2], CHANGE_CASES=CHANGE_CASES[:1])
def monitored_years(budget):
    """False alarms of a default monitor in five years, and months until an excess is seen."""
    n_streams = N_STREAMS[budget.n_runs]
    nulls, excesses, limits = [], [], {}
    for case in NULL_CASES:
        record, edges = describe_null(case, n_streams)
        nulls.append(record | {"streams": n_streams})
        if case.gaps is EDGE:
            limits[case.shares, case.n_samples] = edges
    for case in CHANGE_CASES:
        edges = limits[case.shares, case.n_samples]
        excesses.append(describe_excess(case, edges, n_streams) | {"streams": n_streams})
    default = f"run length {DEFAULT}"
    at_tolerance, at_half = (
        [one[default] for one in nulls if one["case"] == name] for name in ("gap .10", "gap .05")
    )
    late = [one[f"{default}: 12"] for one in excesses if one["case"] == CHANGE_CASES[0].name]
    sooner = [one[f"{default}: 3"] - one["CUSUM: 3"] for one in excesses]
    title = (
        f"{n_streams} streams of five years of months, tolerance {TOLERANCE:g}; shares with a "
        "false alarm, and with an alarm within 3 and 12 months of a change, or never; CUSUM and "
        "z-test with as many false alarms at the tolerance as the default"
    )
    checks = [
        Check("false alarms at the tolerance", at_tolerance, "<=", 0.15),
        Check("false alarms at half of the tolerance", at_half, "<=", 0.01),
        Check("change in month 48: alarm within 12 months", late, ">=", 0.95),
        Check("alarms within 3 months, less those of CUSUM", sooner, ">=", 0.0),
    ]
    return Report(title, [*nulls, *excesses], checks)
