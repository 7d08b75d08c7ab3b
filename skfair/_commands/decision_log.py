"""Decisions over time of a file: its columns, and how a monitor reads them by period."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from skfair._columns.reading import (
    Reading,
    check_are_numbers,
    check_complete_column,
    check_counts,
    check_numbers_of_file,
    check_one_zone,
    check_same_notation,
    describe_date,
    find_label,
    parse_dates,
    place_outcomes,
    read_as,
    read_outcomes,
    write_labels,
)
from skfair._commands.options import (
    check_count_options,
    check_threshold_option,
    read_table,
)
from skfair._commands.predictions import (
    add_repeats,
    apply_threshold,
    parse_bins,
    refuse_empty_groups,
)
from skfair._groups.groups import check_groups
from skfair._groups.known import MISSING
from skfair.audit._bins import bin_groups, find_group_bins, read_bins, warn_of_integers
from skfair.audit._sensitive_features import SensitiveFeatures
from skfair.monitoring._monitor import list_decision_times

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable
    from typing import Any

    from pandas import DatetimeIndex, Timedelta, Timestamp

    from skfair._utils.api import Label
    from skfair.audit._bins import Bins
    from skfair.monitoring import GapMonitor


PERIODS = {"day": "D", "week": "W", "month": "M", "quarter": "Q", "year": "Y"}
"""Lengths of batches, and their pandas aliases."""

_PERIOD_LENGTH_DIFFERENCES = {"month": 3, "quarter": 2, "year": 1}
"""Days by which the longest period is longer than the shortest."""


DEFAULT_MISSING = "exclude"
"""What happens to decisions about samples of unknown group."""


class DecisionLog(NamedTuple):
    """Columns of a file, of the samples that have a positive weight; None where not requested.

    Attributes
    ----------
    y_pred, y_true, weights : Series
        Predicted classes, outcomes (missing where outstanding) and weights.
    groups : DataFrame
        Protected attributes, as text.
    periods : Series
        First day of the period of each decision.
    outcome_periods : Series
        First day of the period in which each outcome was known; that of the decision without dates.
    ids : Series
        Names of the samples, if outcomes may come later.
    """

    y_pred: pd.Series
    y_true: pd.Series | None
    weights: pd.Series | None
    groups: pd.DataFrame
    periods: pd.Series
    outcome_periods: pd.Series
    ids: pd.Series | None


def read_log(
    options: Namespace, known_bins: dict[int, Bins] | None = None
) -> tuple[DecisionLog, Reading, dict[int, Bins]]:
    """The columns that the options of the command name, how they were read, and bins of numbers.

    `known_bins` are those of earlier files by place of the attribute, None without these.
    """
    roles = ("prediction", "time", "target", "outcome_date", "weight", "id", "count")
    names = [getattr(options, role) for role in roles]
    names = [name for name in (*names, *options.sensitive) if name is not None]
    written, table = read_table(options, names)
    if options.count is not None:
        written, table = (_repeat_counted_rows(one, options) for one in (written, table))
    weights = _read_weights(table, options.weight)
    y_pred = check_complete_column(table, options.prediction)
    y_true = _read_outcomes(table, options, y_pred)
    check_numbers_of_file(y_true, y_pred)
    y_pred = _find_decisions(y_pred, y_true, options)
    known = SensitiveFeatures(
        table[options.sensitive].apply(write_labels),
        unknown=options.unknown,
        missing=options.missing or DEFAULT_MISSING,
    )
    refuse_empty_groups(known)
    groups = check_groups(known.fill(len(table)), len(table))
    named = parse_bins(options)
    if known_bins is None:
        bins = find_group_bins(groups, None, named)
    else:
        bins = known_bins
        _refuse_other_bins(options, bins, named)
    warn_of_integers(groups, None, bins)
    groups = bin_groups(groups, bins)
    groups = pd.DataFrame(groups.labels[groups.codes], table.index, options.sensitive)
    periods = _find_periods(table[options.time], options, "--time")
    known_in = periods
    is_late = y_true is not None and y_true.isna().any()
    if options.outcome_date is not None:
        known_in = _outcome_periods(table, options, y_true, periods)
        is_late = True
    ids = None
    if is_late or (options.id is not None and options.repeats == "refuse"):
        ids = _read_ids(table, options)
    # Rows that do not count, by reason.
    is_unknown = (groups == MISSING).any(axis=1) & (known.treatment == "exclude")
    if options.missing is None:
        _refuse_unknown_periods(is_unknown, periods, options.by)
    left_out = {"samples of unknown group are left out": is_unknown}
    if weights is not None:
        left_out["rows have weight 0"] = ~(weights > 0) & ~is_unknown
    is_used = ~np.any([*left_out.values()], axis=0)
    log = DecisionLog(
        y_pred=y_pred,
        y_true=y_true,
        weights=weights,
        groups=groups,
        periods=periods,
        outcome_periods=known_in,
        ids=ids,
    )
    log = DecisionLog._make(None if column is None else column[is_used] for column in log)
    left_out = {reason: int(mask.sum()) for reason, mask in left_out.items() if mask.any()}
    reading = _describe_log(log, bins, options, written, table)
    return log, add_repeats(options, replace(reading, left_out=left_out), written), bins


def _refuse_other_bins(
    options: Namespace, bins: dict[int, Bins], named: dict[Label, list[float]]
) -> None:
    """Raise for numbers of --bins that are not those of --state."""
    known = {options.sensitive[place]: one.cuts for place, one in bins.items() if one.are_named}
    if named not in ({}, known):
        raise ValueError(
            f"--bins must be that of {options.state}, {known}; got {named}. Leave it out, or leave "
            "out --state to begin another monitor."
        )


def _refuse_unknown_periods(is_unknown: pd.Series, periods: pd.Series, by: str) -> None:
    """Raise for a period in which the groups of most decisions are unknown."""
    counts = is_unknown.groupby(periods).agg(["sum", "size"])
    if len(unknown := counts[counts["sum"] > 0.5 * counts["size"]]):
        n, size = unknown.iloc[0]
        raise ValueError(
            f"Most decisions of each {by} must have a group, but in {unknown.index[0]:%Y-%m-%d} "
            f"{n:,} of {size:,} have none. If columns are missing, repair the file. Pass --missing "
            "exclude to judge the others alone, or --missing group to compare unknown ones as a "
            "group from now on."
        )


def _find_decisions(y_pred: pd.Series, y_true: pd.Series | None, options: Namespace) -> pd.Series:
    """Decisions: the column itself, or whether its scores are above --threshold."""
    if options.threshold is not None:
        check_threshold_option(options)
        check_are_numbers([y_pred])
        known = None if y_true is None else y_true.dropna().infer_objects()
        positive = None if known is None else find_label(options.positive, known)
        y_pred = apply_threshold(y_pred, known, options.threshold, positive)
    if y_true is not None and y_true.notna().any():
        check_same_notation(y_true.dropna().infer_objects(), y_pred)
    return y_pred


def _describe_log(
    log: DecisionLog,
    bins: dict[int, Bins],
    options: Namespace,
    written: pd.DataFrame,
    table: pd.DataFrame,
) -> Reading:
    """The reading of decisions over time."""
    times = parse_dates(table[options.time], options.date_format).rename(options.time)
    columns = [("decision", log.y_pred), ("outcome", log.y_true), ("time", times)]
    columns += [
        ("group", log.groups[name].mask(log.groups[name] == MISSING)) for name in log.groups
    ]
    columns += [("weight", log.weights)]
    written = written.loc[log.y_pred.index]
    label = find_label(options.positive, log.y_pred)
    if label is None and set(log.y_pred) <= {-1, 0, 1}:
        label = 1  # booleans too, as monitors do
    positive = {"decision": label, "outcome": label}
    read = [
        read_bins(role, column, bins[options.sensitive.index(column.name)])
        if role == "group" and options.sensitive.index(column.name) in bins
        else read_as(role, column.loc[written.index], written.get(column.name), positive.get(role))
        for role, column in columns
        if column is not None
    ]
    burden = str(label) if options.burden else None
    return Reading(tuple(read), len(table), len(written), {}, is_file=True, burden=burden)


def _repeat_counted_rows(table: pd.DataFrame, options: Namespace) -> pd.DataFrame:
    """The table with each row as often as --count says, so that a row is a sample."""
    check_count_options(options)
    counts = check_counts(check_complete_column(table, options.count), options.count)
    return table.loc[table.index.repeat(counts.astype(np.intp))].reset_index(drop=True)


def _read_weights(table: pd.DataFrame, name: str | None) -> pd.Series | None:
    """The column of weights, not negative and not all 0."""
    if name is None:
        return None
    weights = check_complete_column(table, name)
    is_number = pd.api.types.is_numeric_dtype(weights)
    if not is_number or (weights < 0).any() or not (weights > 0).any():
        raise ValueError(
            f"The column {name!r} of --weight must hold numbers, none negative and at least one "
            "positive; leave the option out if all samples count equally."
        )
    return weights.astype(float)


def _read_outcomes(table: pd.DataFrame, options: Namespace, y_pred: pd.Series) -> pd.Series | None:
    """Return the column of outcomes; raise if entries are missing that cannot come later."""
    name = options.target
    if name is None:
        if options.outcome_date is not None:
            raise ValueError("--outcome-date needs --target, the column of the outcomes.")
    y_true = read_outcomes(table, name, y_pred)
    if name is None:
        return None
    n_unknown = len(table) - (0 if y_true is None else len(y_true))
    may_be_late = options.delay is not None or options.outcome_date is not None
    if n_unknown and not may_be_late:
        raise ValueError(
            f"The column {name!r} of --target lacks {n_unknown} of {len(table)} outcomes. "
            "If they come later, keep these rows and pass --delay, the longest time until an "
            "outcome is known, or --outcome-date, the column of the dates when outcomes were "
            "known: without these rows the samples that are left are a selection."
        )
    if y_true is None:
        return pd.Series(None, index=table.index, dtype=object, name=name)
    return place_outcomes(y_true, table)


def _outcome_periods(
    table: pd.DataFrame, options: Namespace, y_true: pd.Series, periods: pd.Series
) -> pd.Series:
    """The period in which each outcome was known; the decision's where there is no outcome."""
    dates = table[options.outcome_date]
    is_known = y_true.notna()
    if (wrong := is_known & dates.isna()).any():
        raise ValueError(
            f"--outcome-date: row {int(wrong.to_numpy().argmax()) + 1} has an outcome but no date "
            f"in {options.outcome_date!r}; fill in both or none."
        )
    known_in = periods.copy()
    known_in[is_known] = _find_periods(dates[is_known], options, "--outcome-date")
    if (wrong := known_in < periods).any():
        raise ValueError(
            f"--outcome-date: in row {int(wrong.to_numpy().argmax()) + 1} the outcome was known "
            "before the decision; exchange the columns if they are mistaken for one another."
        )
    return known_in


def _read_ids(table: pd.DataFrame, options: Namespace) -> pd.Series:
    """Names of the samples: a column, or the numbers of the rows."""
    if options.id is None:
        if options.state is not None:
            raise ValueError(
                "--state with outcomes that come later needs --id, a column that names each "
                "sample, so that outcomes in later files belong to a decision."
            )
        return pd.Series([f"row {i + 1}" for i in table.index], index=table.index)
    ids = check_complete_column(table, options.id)
    if ids.duplicated().any():
        raise ValueError(
            f"--id must name a column of different values, but {ids[ids.duplicated()].iloc[0]!r} "
            f"occurs more than once in {options.id!r}. Delete repeated rows, or pass --repeats "
            "keep if each of them is a sample and no outcome comes later."
        )
    return ids


def _find_periods(column: pd.Series, options: Namespace, option: str) -> pd.Series:
    """The first day of the period of each time, by the clock of its own time zone."""
    check_one_zone(column, option)
    times = parse_dates(column, options.date_format)
    if times.isna().any():
        first = int(times.isna().to_numpy().argmax())
        raise ValueError(
            f"{option} must name a column of dates, all as 2026-03-01 or all as 01.03.2026, or as "
            f"--date-format says, but row {first + 1} of {column.name!r} holds "
            f"{describe_date(column.iloc[first])}."
        )
    return times.dt.to_period(PERIODS[options.by]).dt.start_time


def decide_two_classes(log: DecisionLog, positive: Label | None) -> DecisionLog:
    """The log with one class beside the positive one, where there are several."""
    columns = [one for one in (log.y_pred, log.y_true) if one is not None]
    labels = {label for one in columns for label in one.dropna().unique()}
    others = sorted(labels - {positive}, key=str)
    if positive is None or len(others) < 2:
        return log
    rest = dict.fromkeys(others, others[0])
    changed = {
        name: getattr(log, name).replace(rest)
        for name in ("y_pred", "y_true")
        if getattr(log, name) is not None
    }
    return log._replace(**changed)


def parse_delay(text: str | None, by: str) -> Timedelta | None:
    """The longest delay between periods: months, quarters and years differ in length."""
    if text is None:
        return None
    try:
        delay = pd.Timedelta(text)
        is_span = not text.strip().isdecimal() and delay >= pd.Timedelta(0)
    except ValueError:
        is_span = False
    if not is_span:
        raise ValueError(
            f"--delay must be a time span in days, hours or weeks, such as '90 days'; got {text!r}."
        )
    return delay + pd.Timedelta(_PERIOD_LENGTH_DIFFERENCES.get(by, 0), "D")


def feed(monitor: GapMonitor, log: DecisionLog, by: str, takes_late: bool = False) -> int:
    """Let a monitor read the periods that it has not read, and the outcomes that have come since.

    A period without decisions and outcomes is a batch without samples, since windows are months.
    Periods before the last one that was read are an error, unless windows take them late. Returns
    the number of decisions that are left out, because their period was read before.
    """
    known = list_decision_times(monitor)
    _refuse_distant_periods(known, log.periods, "--time")
    if log.ids is not None and log.y_true is not None:
        known_in = log.outcome_periods[log.y_true.notna()]
        _refuse_distant_periods([*known, *log.periods], known_in, "--outcome-date")
    is_new = pd.Series(True, log.periods.index)
    known_in = log.outcome_periods
    read = []
    if hasattr(monitor, "verdict_"):
        first, last = monitor.summary()["time"].iloc[[0, -1]]
        read = [last]
        is_new = log.periods > last
        is_late = ~is_new & ~log.periods.isin(list_decision_times(monitor))
        # Windows begin with the first period.
        _refuse_late_periods(log.periods[is_late & ~(takes_late & (log.periods > first))])
        for time in sorted(log.periods[is_late].unique()):
            _feed_decisions(monitor.update_late, log, log.periods == time, time)
        log = DecisionLog._make(None if one is None else one[~is_late] for one in log)
        is_new = is_new[~is_late]
        known_in = known_in[~is_late]
        # Outcomes of earlier periods come with the first new one.
        later = pd.concat([log.periods, known_in])
        known_in = known_in.where(known_in > last, later[later > last].min())
        known_in = known_in.fillna(last)
    has_outcome = pd.Series(False, index=is_new.index)
    if log.ids is not None and log.y_true is not None:
        has_outcome = log.y_true.notna()
    times = {*log.periods[is_new], *known_in[has_outcome]}
    absent = list_absent([*times, *read], by)
    for time in sorted({*times, *absent}):
        if time in absent:
            monitor.update_labels([], [], time=time)
        # Outcomes of earlier decisions come first: with these a delay may be over.
        known = has_outcome & (known_in == time)
        _feed_outcomes(monitor, log, known & (log.periods < time), time)
        rows = is_new & (log.periods == time)
        if rows.any():
            _feed_decisions(monitor.update, log, rows, time)
        _feed_outcomes(monitor, log, known, time)
    return int((~is_new).sum())


def list_absent(times: list[Timestamp], by: str) -> DatetimeIndex:
    """Periods between the first and the last of some times that are not among these."""
    known = pd.DatetimeIndex(times)
    if not len(known):
        return known
    return pd.period_range(known.min(), known.max(), freq=PERIODS[by]).start_time.difference(known)


_MAX_SHARE_OF_DISTANT, _MAX_YEARS_BETWEEN = 0.01, 2.0
"""Share of dates, and years from the others, from which they look like slips of the pen."""

_MAX_YEARS_OF_PAUSE = 20.0
"""Years without any date that are refused, whatever the share: 9999-12-31 may stand for no date."""


def _refuse_distant_periods(known: list[Timestamp], periods: pd.Series, option: str) -> None:
    """Raise for a few dates that are years away from the others and the known ones, as in 2205.

    `periods` are the first days of the periods of the dates, by number of the row from 0.
    """
    counts = periods.value_counts()
    times = pd.DatetimeIndex(sorted({*counts.index, *known}))
    # Days are integers: in nanoseconds a distance of 293 years overflows.
    days = times.to_numpy().astype("datetime64[D]").astype(np.int64)
    years = np.diff(days) / 365.25
    for end in np.flatnonzero(years > _MAX_YEARS_BETWEEN):
        for side in (times[end + 1 :], times[: end + 1]):
            n = int(counts.reindex(side).sum())
            is_new = bool(known) and not set(side) & set(known)
            is_small = n <= max(1.0, _MAX_SHARE_OF_DISTANT * len(periods))
            is_far = years[end] > _MAX_YEARS_OF_PAUSE and 2 * n <= len(periods)
            if n and (is_new or is_small or is_far):
                _raise_for_distant(periods, side, option)


def _raise_for_distant(periods: pd.Series, side: DatetimeIndex, option: str) -> None:
    """Raise for the dates of these periods, with the row of the first of them."""
    distant = periods[periods.isin(side)]
    raise ValueError(
        f"{option}: {len(distant):,} of {len(periods):,} dates are more than "
        f"{_MAX_YEARS_BETWEEN:g} years away from the others, such as in row "
        f"{distant.index[0] + 1}, of the period from {distant.iloc[0]:%Y-%m-%d} on. They may be "
        "slips of the pen, or a pause. Correct them, or leave these rows out: delete them, or give "
        "them the weight 0 in a column of --weight. "
        "After a pause begin another monitor, by another file as --state."
    )


def _refuse_late_periods(late: pd.Series) -> None:
    """Raise if decisions are of earlier periods that the monitor has not read."""
    if len(late):
        days = ", ".join(f"{day:%Y-%m-%d}" for day in sorted(late.unique()))
        raise ValueError(
            f"Periods must be read in order, but {len(late):,} decisions are of periods ({days}) "
            "that were not read before later ones were. Evidence cannot be added to the past: "
            "pass --late to count them in the last months alone, if they are not before the first "
            "one, begin another monitor with all periods, by another file as --state, or leave "
            "these decisions out."
        )


def _feed_outcomes(monitor: GapMonitor, log: DecisionLog, rows: pd.Series, time: Timestamp) -> None:
    """Let a monitor read outcomes that it waits for."""
    if rows.any():
        rows = rows & log.ids.isin(monitor.outstanding_ids_)  # type: ignore[union-attr]
    if rows.any():
        monitor.update_labels(log.ids[rows], log.y_true[rows].infer_objects(), time=time)  # type: ignore[index]


def _feed_decisions(
    update: Callable[..., Any], log: DecisionLog, rows: pd.Series, time: Timestamp
) -> None:
    """Let a monitor read decisions, with their outcomes if none comes later."""
    update(
        None if log.y_true is None or log.ids is not None else log.y_true[rows],
        log.y_pred[rows],
        sensitive_features=log.groups[rows],
        sample_weight=None if log.weights is None else log.weights[rows],
        ids=None if log.ids is None else log.ids[rows],
        time=time,
    )
