"""State of a monitor: how a batch changes it, and what it says of the tolerance."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from skfair.monitoring._batches import attribute_codes, evaluate_cohort, to_target
from skfair.monitoring._comparison import Comparison
from skfair.monitoring._evidence import change_evidence, gap_limits, log_evidence_against
from skfair.monitoring._outstanding import Outstanding
from skfair.monitoring._times import to_point
from skfair.utils._messages import join_names, warn

_LARGEST_LOG = 700.0
"""Logarithm of the largest e-value that is reported."""


@dataclass(frozen=True, eq=False)
class Verdict:
    """What a state says of the tolerance; the gap and its limits are in units of the mean."""

    estimate: float
    low: float
    high: float
    evidence_for: float
    evidence_needed: float
    evidence_against: float
    change_evidence: float
    was_exceeded: bool
    status: str


@dataclass(frozen=True, eq=False)
class Row:
    """A batch: the samples that were counted at one time, and the verdict then.

    Attributes
    ----------
    number : int
        Number of the batch, from 1.
    time : int, float, str or None
        Time at which the samples were counted.
    has_decisions : bool
        Whether `update` was called: another call begins a batch of its own.
    tables : list of tuples
        Time of the decisions, attribute, cell, and an array of samples, weights and weighted sums
        of the groups.
    gap : float
        Largest gap of the samples of the batch; nan without samples.
    n_outstanding : int
        Samples that are not counted yet.
    verdict : Verdict
    """

    number: int
    time: Any
    has_decisions: bool
    tables: list
    gap: float
    n_outstanding: int
    verdict: Verdict | None

    def summarize(self):
        """The line of `GapMonitor.summary`."""
        counts = {}
        for _, attribute, _, table in self.tables:
            counts[attribute] = counts.get(attribute, 0) + int(table[0].sum())
        line = {"batch": self.number, "time": self.time}
        line |= {"n": max(counts.values(), default=0), "gap": self.gap}
        names = "estimate", "low", "high", "evidence_for", "evidence_against", "change_evidence"
        line |= {name: getattr(self.verdict, name) for name in (*names, "status")}
        return line | {"n_outstanding": self.n_outstanding}

    def rates(self, settings, comparisons):
        """The lines of `GapMonitor.to_frame`."""
        low, high = settings.range
        for time, attribute, cell, (counts, weights, sums) in self.tables:
            for code in np.flatnonzero(weights > 0):
                rate = low + sums[code] / weights[code] * (high - low)
                group = comparisons[attribute].groups[code]
                n, weight = int(counts[code]), float(weights[code] * settings.max_weight)
                yield self.number, time, attribute, cell, group, n, weight, float(rate)


@dataclass(frozen=True, eq=False)
class State:
    """What a monitor knows: counts, evidence and results, but no samples that were counted.

    A batch makes a new state and leaves this one as it is.

    Attributes
    ----------
    attributes : list or None
        Names of the sensitive attributes; None before the first batch with samples.
    comparisons : dict of str to Comparison
        Groups and evidence by attribute.
    outstanding : Outstanding
        Samples that are counted later.
    rows : list of Row
        The batches. The last one may be continued by samples of the same time.
    alarms : list of dict
        Batch, time and start ("since") of each alarm, where times are those of decisions.
    """

    attributes: list | None = None
    comparisons: dict = field(default_factory=dict)
    outstanding: Outstanding = field(default_factory=Outstanding)
    rows: list = field(default_factory=list)
    alarms: list = field(default_factory=list)

    @property
    def time(self):
        """Time of the last batch."""
        return self.rows[-1].time if self.rows else None

    @property
    def since(self):
        """Time since which the tolerance is exceeded: of the first alarm after a certificate."""
        if not self.alarms:
            return None
        last = self.alarms[-1]["batch"]
        certified = [row.number for row in self.rows[:last] if row.verdict.status == "certified"]
        later = (one for one in self.alarms if one["batch"] > max(certified, default=0))
        return next(later)["since"]

    def begin_row(self, time, has_decisions):
        """The row of samples of this time: a new one, or the last one without its verdict."""
        last = self.rows[-1] if self.rows else None
        if last is None or last.time != time or (last.has_decisions and has_decisions):
            return Row(len(self.rows) + 1, time, has_decisions, [], np.nan, 0, None)
        return replace(last, has_decisions=last.has_decisions or has_decisions)

    def pop_complete(self, settings, time):
        """The state without the cohorts whose delay is over, and these if their outcomes came."""
        if settings.delay is None:
            return self, []
        ids = self.outstanding.ids_over(settings.delay, time)
        if not ids:
            return self, []
        cohorts = self.outstanding.cohorts(self.outstanding.known_ids(ids), self.attributes)
        return replace(self, outstanding=self.outstanding.without(ids)), list(cohorts)

    def add_outcomes(self, settings, ids, outcomes):
        """The state with late outcomes, and their cohorts if they are counted when they come."""
        self.outstanding.check_ids(ids)
        target = to_target(settings.constraint, outcomes, settings.pos_label).tolist()
        outstanding = self.outstanding.add_outcomes(ids, target)
        cohorts = list(outstanding.cohorts(ids, self.attributes))
        for cohort in cohorts:
            evaluate_cohort(settings, cohort)  # raises if a value is out of range
        if settings.delay is None:
            return replace(self, outstanding=outstanding.without(ids)), cohorts
        return replace(self, outstanding=outstanding), []

    def with_groups(self, settings, groups):
        """The state that knows the groups of a batch; raise if their labels have other types."""
        comparisons, joined = dict(self.comparisons), {}
        for name, _, names in attribute_codes(groups, settings.constraint.attributes):
            comparison = comparisons.get(name) or Comparison(
                name,
                settings.hypothesis,
                settings.levels,
                settings.tolerance_position,
                settings.constraint.min_group_size,
            )
            known = comparison.groups
            comparisons[name] = comparison.with_groups(names)
            joined |= {repr(one): None for one in names if known and one not in known}
        if joined:
            warn(
                f"{join_names(joined)} did not occur in earlier batches and is compared from now "
                f"on{_required_size(settings.constraint.min_group_size)}. A certificate needs "
                "evidence on every group that is compared."
            )
        return replace(self, attributes=groups.attributes, comparisons=comparisons)


def _required_size(min_group_size):
    """The end of a clause on groups that join: from which size on they are compared."""
    if min_group_size == "auto":
        return ", once it has 30 samples or 1 % of all"
    return f", once it has {min_group_size} samples" if (min_group_size or 1) > 1 else ""


def step(settings, state, row, cohorts):
    """The state after cohorts were counted, bet on and judged; `row` is from `begin_row`."""
    comparisons = {name: one.copy() for name, one in state.comparisons.items()}
    is_new = row.number > len(state.rows)
    was_alarm = bool(state.rows) and state.rows[-1].verdict.status == "alarm"
    if is_new and was_alarm and settings.run_length is not None:
        for comparison in comparisons.values():
            comparison.restart()
    tables = {tuple(key): table for *key, table in row.tables}
    for cohort in cohorts:
        _count(settings, comparisons, row.number, cohort, tables)
    row = replace(
        row,
        tables=[(*key, table) for key, table in tables.items()],
        gap=_gap_of_tables(settings, comparisons, tables),
        n_outstanding=len(state.outstanding),
    )
    alarms = state.alarms
    n_restarts = sum(one["batch"] < row.number for one in alarms)
    was_exceeded = bool(state.rows) and state.rows[-1].verdict.was_exceeded
    verdict = judge(settings, comparisons, n_restarts, was_exceeded)
    # An alarm of a batch remains, and is the only one of it; without run_length, of all batches.
    is_again = alarms and (settings.run_length is None or alarms[-1]["batch"] == row.number)
    if is_again:
        verdict = replace(verdict, status="alarm")
    elif verdict.status == "alarm":
        best = max(comparisons.values(), key=lambda one: one.gap.log_best.max())
        alarm = {"time": _last_decision(row), "since": best.start_of_excess()}
        alarms = [*alarms, {"batch": row.number} | alarm]
    rows = [*state.rows[: row.number - 1], replace(row, verdict=verdict)]
    return replace(state, comparisons=comparisons, rows=rows, alarms=alarms)


def _count(settings, comparisons, number, cohort, tables):
    """Let the groups of each attribute bet on a cohort, and add its counts to the tables."""
    cells, values = evaluate_cohort(settings, cohort)
    weights, groups = cohort.samples.weights, cohort.samples.groups
    for name, codes, names in attribute_codes(groups, settings.constraint.attributes):
        columns = codes, names, cells, values, weights
        for cell, table in comparisons[name].count(number, cohort.time, *columns).items():
            key = cohort.time, name, cell
            tables[key] = _add_tables(table, tables[key]) if key in tables else table


def _add_tables(*tables):
    """The sum of two tables; groups may have joined between them."""
    narrow, wide = sorted(tables, key=np.size)
    total = wide.copy()
    total[:, : narrow.shape[1]] += narrow
    return total


def _gap_of_tables(settings, comparisons, tables):
    """The largest gap of a cell in the samples of a batch alone; nan without samples."""
    cells = {}
    for (_, name, cell), table in tables.items():
        cells[name, cell] = _add_tables(table, cells.get((name, cell), np.zeros((3, 0))))
    gaps = []
    for (name, _), (_, weights, sums) in cells.items():
        present = (weights > 0) & comparisons[name].is_large()[: len(weights)]
        gaps.append(settings.hypothesis.gap(sums[present] / weights[present]))
    return settings.unscale(max(gaps)) if gaps else np.nan


def _last_decision(row):
    """The latest time of the decisions that were counted in a row."""
    times = [time for time, *_ in row.tables]
    return times[0] if times[0] is None else max(times, key=to_point)


def judge(settings, comparisons, n_restarts, was_exceeded):
    """What the evidence says after so many restarts; `was_exceeded` is what it said before."""
    comparisons = list(comparisons.values())
    gaps = [one.gap for one in comparisons]
    log_against = float(log_evidence_against(gaps)) if gaps else 0.0
    change = float(change_evidence(gaps)) if gaps else 0.0
    was_exceeded = was_exceeded or log_against >= -np.log1p(-settings.confidence_level)
    is_alarm = was_exceeded if settings.run_length is None else change >= settings.run_length
    # Certificates: evidence on every pair of groups; without a pair there is none.
    logs = [one.log_certificates() for one in comparisons]
    log_for = np.min([np.full(len(settings.levels), np.inf), *logs], axis=0)
    log_for[np.isinf(log_for)] = 0.0
    log_for_tolerance = log_for[settings.tolerance_position]
    log_needed = settings.log_evidence_needed(n_restarts)
    # Each side of the interval has half of the error; attributes share that of the lower limit.
    logs = [one.log_max - np.log(len(gaps)) for one in gaps]
    log_above = np.max([np.zeros(len(settings.levels)), *logs], axis=0)
    log_limit = settings.log_evidence_needed(n_restarts, n_sides=2)
    low, high = gap_limits(settings.levels, log_for, log_above, log_limit)
    # Limits that cross, or an alarm although the upper one is below the tolerance, show that rates
    # have changed: the gap may then be any above `low`.
    if low > high or (is_alarm and high <= settings.scaled_tolerance):
        high = 1.0
    # A wider interval holds too: limits that exclude the gap so far are about other rates.
    estimate = max((one.estimate() for one in comparisons), default=0.0)
    low, high = min(low, estimate), max(high, estimate)
    is_certified = log_for_tolerance >= log_needed
    return Verdict(
        *(settings.unscale(level) for level in (estimate, low, high)),
        evidence_for=_to_e_value(log_for_tolerance),
        evidence_needed=_to_e_value(log_needed),
        evidence_against=_to_e_value(log_against),
        change_evidence=change,
        was_exceeded=bool(was_exceeded),
        status="alarm" if is_alarm else "certified" if is_certified else "monitoring",
    )


def _to_e_value(log_e):
    return float(np.exp(min(log_e, _LARGEST_LOG)))
