"""A file of decisions over time: its columns, and how a monitor reads it period by period."""

import re
from typing import NamedTuple

import pandas as pd

from skfair.audit._command_line import (
    check_missing_classes,
    check_same_notation,
    complete_column,
    is_mark,
)
from skfair.audit._prediction_file import read_columns
from skfair.groups import fill_missing

PERIODS = {"day": "D", "week": "W", "month": "M", "quarter": "Q", "year": "Y"}
"""Lengths of batches, and their pandas aliases."""

_SLACK = {"month": 3, "quarter": 2, "year": 1}
"""Days by which the longest period is longer than the shortest."""

_OFFSET = re.compile(r"\s*(Z|[+-]\d{2}(:?\d{2})?)$", re.IGNORECASE)
"""Offset of a time zone at the end of a time of day."""


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
    known_in : Series
        First day of the period in which each outcome was known; that of the decision without dates.
    ids : Series
        Names of the samples, if outcomes may come later.
    """

    y_pred: pd.Series
    y_true: pd.Series | None
    weights: pd.Series | None
    groups: pd.DataFrame
    periods: pd.Series
    known_in: pd.Series
    ids: pd.Series | None


def read_log(options):
    """The columns that the options of the command name."""
    roles = ("prediction", "time", "target", "outcome_date", "weight", "id")
    names = [getattr(options, role) for role in roles]
    names = [name for name in (*names, *options.sensitive) if name is not None]
    table = read_columns(options.file, list(dict.fromkeys(names)))
    weights = _read_weights(table, options.weight)
    y_pred = complete_column(table, options.prediction)
    y_true = _read_outcomes(table, options, y_pred)
    groups = table[options.sensitive].astype(object)
    periods = _find_periods(table[options.time], options.by, "--time")
    known_in, is_late = periods, y_true is not None and y_true.isna().any()
    if options.outcome_date is not None:
        known_in, is_late = _read_outcome_dates(table, options, y_true, periods), True
    ids = None
    if is_late or options.id is not None:
        ids = _read_ids(table, options)
    groups = fill_missing(groups.map(str).where(groups.notna(), None))
    log = DecisionLog(y_pred, y_true, weights, groups, periods, known_in, ids)
    if weights is None:
        return log
    return DecisionLog(*(None if column is None else column[weights > 0] for column in log))


def _read_weights(table, name):
    """The column of weights, not negative and not all 0."""
    if name is None:
        return None
    weights = complete_column(table, name)
    is_number = pd.api.types.is_numeric_dtype(weights)
    if not is_number or (weights < 0).any() or not (weights > 0).any():
        raise ValueError(
            f"The column {name!r} of --weight must hold numbers, none negative and at least one "
            "positive; leave the option out if all samples count equally."
        )
    return weights.astype(float)


def _read_outcomes(table, options, y_pred):
    """The column of outcomes, with missing entries if these may come later."""
    name = options.target
    if name is None:
        if options.outcome_date is not None:
            raise ValueError("--outcome-date needs --target, the column of the outcomes.")
        return None
    predicted = set(y_pred.unique())
    is_known = ~table[name].astype(object).map(
        lambda one: pd.isna(one) or (isinstance(one, str) and is_mark(one) and one not in predicted)
    ).to_numpy(dtype=bool)
    may_be_late = options.delay is not None or options.outcome_date is not None
    if not is_known.all() and not may_be_late:
        raise ValueError(
            f"The column {name!r} of --target lacks {(~is_known).sum()} of {len(table)} outcomes. "
            "If they come later, keep these rows and pass --delay, the longest time until an "
            "outcome is known, or --outcome-date, the column of the dates when outcomes were "
            "known: without these rows the samples that are left are a selection."
        )
    if not is_known.any():
        return pd.Series(None, index=table.index, dtype=object, name=name)
    y_true = complete_column(table[is_known], name)
    check_missing_classes(y_true, y_pred)
    check_same_notation(y_true, y_pred)
    return y_true.astype(object).reindex(table.index) if not is_known.all() else y_true


def _read_outcome_dates(table, options, y_true, periods):
    """The period in which each outcome was known; the decision's where there is no outcome."""
    dates, is_known = table[options.outcome_date], y_true.notna()
    if (wrong := is_known & dates.isna()).any():
        raise ValueError(
            f"--outcome-date: row {int(wrong.to_numpy().argmax()) + 1} has an outcome but no date "
            f"in {options.outcome_date!r}; fill in both or none."
        )
    known_in = periods.copy()
    known_in[is_known] = _find_periods(dates[is_known], options.by, "--outcome-date")
    if (wrong := known_in < periods).any():
        raise ValueError(
            f"--outcome-date: in row {int(wrong.to_numpy().argmax()) + 1} the outcome was known "
            "before the decision; exchange the columns if they are mistaken for one another."
        )
    return known_in


def _read_ids(table, options):
    """Names of the samples: a column, or the numbers of the rows."""
    if options.id is None:
        if options.state is not None:
            raise ValueError(
                "--state with outcomes that come later needs --id, a column that names each "
                "sample, so that outcomes in later files belong to a decision."
            )
        return pd.Series([f"row {i + 1}" for i in table.index], index=table.index)
    ids = complete_column(table, options.id)
    if ids.duplicated().any():
        raise ValueError(
            f"--id must name a column of different values, but {ids[ids.duplicated()].iloc[0]!r} "
            f"occurs more than once in {options.id!r}."
        )
    return ids


def _find_periods(column, by, option):
    """The first day of the period of each time, by the clock of its own time zone."""
    times = column
    if not pd.api.types.is_datetime64_any_dtype(column):
        text = column.map(lambda one: _OFFSET.sub("", str(one)) if ":" in str(one) else one)
        times = pd.to_datetime(text, errors="coerce", format="ISO8601")
    if times.isna().any():
        first = int(times.isna().to_numpy().argmax())
        raise ValueError(
            f"{option} must name a column of dates such as 2026-03-01, but row {first + 1} of "
            f"{column.name!r} holds {column.iloc[first]!r}."
        )
    return times.dt.tz_localize(None).dt.to_period(PERIODS[by]).dt.start_time


def find_delay(text, by):
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
    return delay + pd.Timedelta(_SLACK.get(by, 0), "D")


def feed(monitor, log):
    """Let a monitor read the periods that it has not read, and the outcomes that have come since.

    Returns the number of decisions that are left out, because their period was read before.
    """
    is_new, known_in = pd.Series(True, index=log.periods.index), log.known_in
    if hasattr(monitor, "status_"):
        last = monitor.summary()["time"].iloc[-1]
        is_new = log.periods > last
        # Outcomes of earlier periods come with the first new one.
        later = pd.concat([log.periods, known_in])
        known_in = known_in.where(known_in > last, later[later > last].min())
        known_in = known_in.fillna(last)
    has_outcome = pd.Series(False, index=is_new.index)
    if log.ids is not None and log.y_true is not None:
        has_outcome = log.y_true.notna()
    times = pd.concat([log.periods[is_new], known_in[has_outcome]])
    for time in sorted(times.unique()):
        rows = is_new & (log.periods == time)
        if rows.any():
            _read_decisions(monitor, log, rows, time)
        rows = has_outcome & (known_in == time)
        if rows.any():
            rows &= log.ids.isin(monitor.outstanding_ids_)
        if rows.any():
            monitor.update_labels(log.ids[rows], log.y_true[rows].infer_objects(), time=time)
    return int((~is_new).sum())


def _read_decisions(monitor, log, rows, time):
    """Let a monitor read decisions, with their outcomes if none comes later."""
    monitor.update(
        log.y_pred[rows],
        None if log.y_true is None or log.ids is not None else log.y_true[rows],
        sensitive_features=log.groups[rows],
        sample_weight=None if log.weights is None else log.weights[rows],
        ids=None if log.ids is None else log.ids[rows],
        time=time,
    )
