"""The command ``python -m skfair monitor``: decisions over time from a file, and its page."""

import json
import warnings
from contextlib import nullcontext
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from skfair import __version__
from skfair.audit._bins import Bins, bin_groups, find_group_bins, read_bins
from skfair.audit._formats import Markup, render_page, tabulate_facts, titled_facts
from skfair.audit._protection import check_minimum
from skfair.audit._reading import (
    Reading,
    check_are_numbers,
    check_complete_column,
    check_counts,
    check_numbers_of_file,
    check_same_notation,
    describe_date,
    find_label,
    parse_dates,
    place_outcomes,
    read_as,
    read_outcomes,
    write_labels,
)
from skfair.audit._sensitive_features import SensitiveFeatures
from skfair.audit._sentences import (
    confidence_text,
    describe_bound,
    left_out_clause,
    samples_clause,
    small_groups_note,
    verdict_text,
)
from skfair.commands._monitor_picture import date_text, draw_gaps
from skfair.commands._options import (
    FINDING_STATUS,
    OPEN_STATUS,
    add_file_options,
    add_output_options,
    add_row_options,
    check_count_options,
    check_output,
    check_threshold_option,
    describe_file,
    find_option,
    output_results,
    read_table,
    resolve_output,
)
from skfair.commands._predictions import add_repeats, apply_threshold, refuse_empty_groups
from skfair.constraints import CONSTRAINTS, Constraint, applicable_constraint_names
from skfair.groups._groups import check_groups
from skfair.groups._known import MISSING
from skfair.monitoring import GapMonitor
from skfair.monitoring._monitor import seal
from skfair.statistics._estimates import check_level
from skfair.utils._checks import check_choice, join_names, number_text, resolve_name
from skfair.utils._fit import lock_file, write_text

# A file of decisions over time: its columns, and how a monitor reads it period by period.


PERIODS = {"day": "D", "week": "W", "month": "M", "quarter": "Q", "year": "Y"}
"""Lengths of batches, and their pandas aliases."""

_PERIOD_LENGTH_DIFFERENCES = {"month": 3, "quarter": 2, "year": 1}
"""Days by which the longest period is longer than the shortest."""


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


def read_log(options, known_bins=None):
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
        missing=options.missing,
    )
    refuse_empty_groups(known)
    groups = check_groups(known.fill(len(table)), len(table))
    bins = find_group_bins(groups, None) if known_bins is None else known_bins
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


def _find_decisions(y_pred, y_true, options):
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


def _describe_log(log, bins, options, written, table):
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
        read_bins(role, column)
        if role == "group" and options.sensitive.index(column.name) in bins
        else read_as(role, column.loc[written.index], written.get(column.name), positive.get(role))
        for role, column in columns
        if column is not None
    ]
    return Reading(tuple(read), len(table), len(written), {}, is_file=True)


def _repeat_counted_rows(table, options):
    """The table with each row as often as --count says, so that a row is a sample."""
    check_count_options(options)
    counts = check_counts(check_complete_column(table, options.count), options.count)
    return table.loc[table.index.repeat(counts.astype(np.intp))].reset_index(drop=True)


def _read_weights(table, name):
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


def _read_outcomes(table, options, y_pred):
    """Return the column of outcomes; raise if entries are missing that cannot come later."""
    name = options.target
    if name is None:
        if options.outcome_date is not None:
            raise ValueError("--outcome-date needs --target, the column of the outcomes.")
        return None
    y_true = read_outcomes(table, name, y_pred)
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


def _outcome_periods(table, options, y_true, periods):
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


def _read_ids(table, options):
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


def _find_periods(column, options, option):
    """The first day of the period of each time, by the clock of its own time zone."""
    times = parse_dates(column, options.date_format)
    if times.isna().any():
        first = int(times.isna().to_numpy().argmax())
        raise ValueError(
            f"{option} must name a column of dates, all as 2026-03-01 or all as 01.03.2026, or as "
            f"--date-format says, but row {first + 1} of {column.name!r} holds "
            f"{describe_date(column.iloc[first])}."
        )
    return times.dt.to_period(PERIODS[options.by]).dt.start_time


def parse_delay(text, by):
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


def feed(monitor, log, by, takes_late=False):
    """Let a monitor read the periods that it has not read, and the outcomes that have come since.

    A period without decisions and outcomes is a batch without samples, since windows are months.
    Periods before the last one that was read are an error, unless windows take them late. Returns
    the number of decisions that are left out, because their period was read before.
    """
    _refuse_distant_periods(monitor, log.periods)
    is_new = pd.Series(True, log.periods.index)
    known_in = log.outcome_periods
    read = []
    if hasattr(monitor, "verdict_"):
        first, last = monitor.summary()["time"].iloc[[0, -1]]
        read = [last]
        is_new = log.periods > last
        is_late = ~is_new & ~log.periods.isin(monitor.decision_times_)
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
    absent = _list_absent([*times, *read], by)
    for time in sorted({*times, *absent}):
        if time in absent:
            monitor.update_labels([], [], time=time)
        rows = is_new & (log.periods == time)
        if rows.any():
            _feed_decisions(monitor.update, log, rows, time)
        rows = has_outcome & (known_in == time)
        if rows.any():
            rows &= log.ids.isin(monitor.outstanding_ids_)
        if rows.any():
            monitor.update_labels(log.ids[rows], log.y_true[rows].infer_objects(), time=time)
    return int((~is_new).sum())


def _list_absent(times, by):
    """Periods between the first and the last of some times that are not among these."""
    known = pd.DatetimeIndex(times)
    if not len(known):
        return known
    return pd.period_range(known.min(), known.max(), freq=PERIODS[by]).start_time.difference(known)


_MAX_SHARE_OF_DISTANT, _MAX_YEARS_BETWEEN = 0.01, 2.0
"""Share of decisions, and years from the others, from which dates look like slips of the pen."""


def _refuse_distant_periods(monitor, periods):
    """Raise for a few decisions that are years away from the others, such as in 2205."""
    counts = periods.value_counts()
    known = monitor.decision_times_ if hasattr(monitor, "verdict_") else []
    times = pd.DatetimeIndex(sorted({*counts.index, *known}))
    gaps = np.flatnonzero(np.diff(times) > pd.Timedelta(365.25 * _MAX_YEARS_BETWEEN, "D"))
    for side in [times[end + 1 :] for end in gaps] + [times[: end + 1] for end in gaps]:
        n = int(counts.reindex(side).sum())
        is_new = bool(known) and not set(side) & set(known)
        if n and (is_new or n <= max(1.0, _MAX_SHARE_OF_DISTANT * len(periods))):
            day = counts.reindex(side).dropna().index[0]
            raise ValueError(
                f"--time: {n:,} of {len(periods):,} decisions are more than {_MAX_YEARS_BETWEEN:g} "
                f"years away from the others, such as in {day:%Y-%m-%d}, which may be slips of the "
                "pen, or a pause. Correct them, leave these rows out of the file, or begin another "
                "monitor after a pause, by another file as --state."
            )


def _refuse_late_periods(late):
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


def _feed_decisions(update, log, rows, time):
    """Let a monitor read decisions, with their outcomes if none comes later."""
    update(
        None if log.y_true is None or log.ids is not None else log.y_true[rows],
        log.y_pred[rows],
        sensitive_features=log.groups[rows],
        sample_weight=None if log.weights is None else log.weights[rows],
        ids=None if log.ids is None else log.ids[rows],
        time=time,
    )


# A monitor of a gap as one page of HTML, and its findings as sentences.


def render_monitor(monitor, title, period, facts, reading, min_published):
    """The page of a GapMonitor, as HTML without scripts and external resources.

    `period` is the length of its batches, such as "month", facts and reading are of the data. With
    a number as `min_published` verdicts alone are shown.
    """
    heading = "The gap over time"
    batches = _batch_table(monitor, period)
    over_time = [*_alarm_table(monitor, period)]
    if min_published is None:
        picture = Markup(draw_gaps(monitor, _find_quantity(monitor), period))
        over_time = [picture, batches, *over_time, _rate_table(monitor)]
    else:
        heading, (name, _, titles, rows) = "The verdict over time", batches
        rows = [((cells[0], cells[-1]), is_marked) for cells, is_marked in rows]
        over_time.insert(0, (name, "", (titles[0], titles[-1]), rows))
    sections = [
        reading.section(),
        ("Findings", monitor_findings(monitor, period, min_published)),
        (heading, over_time),
        ("How to read this", [_describe_method(monitor, period)]),
        tabulate_facts(titled_facts(facts)),
    ]
    return render_page(title, sections)


def monitor_results(monitor, options, reading):
    """The figures of the page, as what JSON can hold."""
    tables = {"batches": monitor.summary(), "rates": monitor.to_frame()}
    tables |= {"alarms": monitor.alarms_, "windows": monitor.windows_}
    minimum = options.min_published
    results = {
        "title": options.title,
        "reading": reading.to_dict(),
        "findings": list(monitor_findings(monitor, options.by, minimum)),
        "by": options.by,
        "constraint": str(monitor.constraint),
        "tolerance": monitor.tolerance,
        "confidence_level": monitor.confidence_level,
        "run_length": monitor.run_length,
        "verdict": monitor.verdict_,
        "left_out": monitor.left_out_,
        "since": None if monitor.since_ is None else monitor.since_.isoformat(),
        "n_outstanding": monitor.n_outstanding_,
        "batches_to_alarm": monitor.batches_to_alarm_,
        "source": describe_file(options, date=date.today().isoformat(), version=__version__),
    } | {name: _list_records(table) for name, table in tables.items()}
    if minimum is None:
        return results
    for name in ("windows", "batches", "alarms"):
        rows = [{k: v for k, v in row.items() if k in _PUBLISHED} for row in results[name]]
        results[name] = rows
    counted = ("left_out", "n_outstanding", "batches_to_alarm", "rates")
    return results | dict.fromkeys(counted) | {"min_published": minimum}


_PUBLISHED = {"batch", "time", "since", "n_batches", "start", "verdict"}
"""Columns of tables that are shown where counts are not."""


def _list_records(table):
    """Rows of a table as JSON holds them: dates of ISO 8601, and None for missing numbers."""
    return json.loads(table.to_json(orient="records", date_format="iso", double_precision=15))


def monitor_findings(monitor, period, min_published):
    """Sentences: what was read, the gap so far, whether the tolerance is kept, what is missing.

    With a number as `min_published` they are the verdicts alone: successive pages add up, so that
    differences of any numbers in them would show small counts of a period.
    """
    summary = monitor.summary()
    rates = monitor.to_frame()
    if min_published is not None:
        yield (
            "Verdicts alone are published, without counts, rates and e-values: as differences of "
            f"two pages these could show counts from 1 to {min_published - 1}."
        )
        verdicts = *_describe_windows(monitor, summary, period), _describe_verdict(monitor, summary)
        yield from (f"{verdict}." for verdict, _ in verdicts)
        return
    first, last = (date_text(summary["time"].iloc[end]) for end in (0, -1))
    groups = rates.groupby("attribute")["group"].nunique()
    batches = f"{len(summary)} batch{'es' * (len(summary) > 1)}, from {first} to {last}"
    if period != "day":
        batches += f" (first days of {period}s)"
    if not len(groups):
        yield f"No sample is counted yet after {batches}, so that nothing is known of the gap."
    else:
        read = f"{samples_clause(summary['n'].sum(), groups)} were counted in {batches}"
        yield f"{read}{left_out_clause(monitor.left_out_)}."
        yield from _describe_absent_periods(monitor, period)
        yield from map("".join, _describe_windows(monitor, summary, period))
        yield from _describe_gap_so_far(monitor, summary)
        yield from _describe_delay(monitor, period)
    if monitor.n_outstanding_:
        wait = "their outcome" if monitor.delay is None else "the end of the longest delay"
        yield f"{monitor.n_outstanding_:,} samples are not counted yet: they wait for {wait}."


def _describe_absent_periods(monitor, period):
    """Yield a sentence on the periods between the first and the last without any decision."""
    if absent := [*map(date_text, _list_absent(monitor.decision_times_, period))]:
        n_absent = _count_periods(len(absent), period)
        yield f"No decisions were read of {n_absent} in between: {join_names(absent, 6)}."


def _describe_windows(monitor, summary, period):
    """Yield the verdict on the shortest window that is not open, or on all, and its numbers."""
    windows = monitor.windows_
    quantity = _find_quantity(monitor)
    if not len(windows):
        return
    attributes = monitor.to_frame()["attribute"].unique()
    bound = quantity.bound(monitor.tolerance)
    judged = windows[windows["verdict"] != "open"]
    if not len(judged):
        when = f" in the last {join_names(map(str, windows['n_batches']))} {period}s"
        yield verdict_text("open", quantity, bound, attributes, when), "."
        return
    window = judged.iloc[0]
    last = date_text(summary["time"].iloc[-1])
    verdict = window["verdict"]
    when = (
        f" in the last {_count_periods(window['n_batches'], period)}, from "
        f"{date_text(window['start'])} to {last}"
    )
    falsely = f"A page says so falsely with probability 1 / {2 * monitor.run_length:g} at most"
    if verdict == "contradicted":
        falsely = (
            f"While the tolerance is kept, about {monitor.run_length:g} {period}s pass on "
            "average until a page says so falsely"
        )
    groups, rates, sizes = zip(*window["extremes"], strict=True)
    yield (
        verdict_text(verdict, quantity, bound, attributes, when),
        f". Observed: {quantity.values(rates, groups, sizes)}, "
        f"{quantity.size(window['gap'], window['low'], window['high'])}. {falsely}.",
    )


def _count_periods(n, period):
    """Number of batches in words, such as "3 months"."""
    return f"{n} {period}s" if n > 1 else f"{n} {period}"


def _describe_gap_so_far(monitor, summary):
    """Sentences on the gap so far, and whether the tolerance is kept."""
    has_restarted = len(monitor.alarms_) and monitor.run_length is not None
    start = "last alarm" if has_restarted else "start"
    quantity = _find_quantity(monitor)
    rates = monitor.to_frame()
    late = ""
    if times := monitor.late_times_:
        n_late = rates[rates["time"].isin(times)].groupby("attribute")["n"].sum().max()
        days = join_names(date_text(one) for one in times)
        late = f", without {n_late:,} samples of {days}, which came late"
    yield (
        f"Observed since the {start}{late}: {quantity.size(*monitor.interval())}, with "
        f"{confidence_text(monitor.confidence_level)} at this and all other looks, if rates do not "
        f"change; the tolerance is {quantity.bound(monitor.tolerance)}."
    )
    yield "".join(_describe_verdict(monitor, summary))


def _describe_delay(monitor, period):
    """Sentence on how long it takes until windows show twice the tolerance at this volume."""
    if not monitor.windows or monitor.run_length is None:
        return
    gap = _find_quantity(monitor).bound(2.0 * monitor.tolerance)
    delay = monitor.batches_to_alarm_
    shown = f"is shown after about {_count_periods(delay or 1, period)}"
    if delay is None:
        shown = f"is not shown by windows of up to {_count_periods(max(monitor.windows), period)}"
    yield (
        f"At this volume a gap of {gap} {shown} in half of all cases, if all groups were equal and "
        "the smallest one changes."
    )


def _describe_verdict(monitor, summary):
    """What is known since the start or the last alarm, and the rest of the sentence: evidence."""
    alarms = monitor.alarms_
    shown = summary[summary["verdict"] == "shown"]
    without = ", without the samples that came late" * bool(monitor.late_times_)
    evidence, threshold = map(number_text, (monitor.evidence_for_, monitor.evidence_needed_))
    needed = f"the e-value for the tolerance is {evidence}, of which {threshold} is needed"
    if monitor.verdict_ == "shown":  # perhaps after alarms
        last = alarms["batch"].max() if len(alarms) else 0
        first = date_text(shown.loc[shown["batch"] > last, "time"].iloc[0])
        start = f"last alarm, in {_batch_time_text(summary, last)}," if last else "start"
        when = f"the tolerance is kept, first shown in {first}"
        verdict = f"Shown on average since the {start}{without}: {when}"
        return verdict, f", with an e-value of {evidence} now."
    if len(alarms):
        # The alarms since the last certificate are about one excess.
        alarms = alarms[alarms["since"] >= monitor.since_]
        first, last = (_batch_time_text(summary, alarms["batch"].iloc[end]) for end in (0, -1))
        since = f"most likely since {date_text(monitor.since_)}"
        again = f". There were {len(alarms)} alarms, the last in {last}" if len(alarms) > 1 else ""
        verdict = f"Contradicted since {first}{without}: the gap exceeds the tolerance, {since}"
        return f"{verdict}{again}", ". Look at the groups' rates below."
    if len(shown):
        until = date_text(shown["time"].iloc[-1])
        verdict = f"Not shown any more{without}: it was until {until}, of the mean since the start"
        return verdict, _describe_lapse(monitor, shown["batch"].iloc[-1], needed)
    verdict = f"Not shown yet on average since the start, nor contradicted{without}"
    if monitor.evidence_for_ >= monitor.evidence_needed_:
        return verdict, f": {needed}, but recent batches differ from the mean since the start."
    against = f"{number_text(monitor.evidence_against_)} is the one against it"
    return verdict, f": {needed}, and {against}; more batches decide."


def _describe_lapse(monitor, batch, needed):
    """Why a certificate lapsed, of which this is the last batch."""
    if monitor.evidence_for_ >= monitor.evidence_needed_:
        return ", and recent batches differ from it."
    rates = monitor.to_frame()
    sizes = rates.groupby("group")["n"].sum()
    early = rates[rates["batch"] <= batch].groupby("group")["n"].sum()
    was_small = early.reindex(sizes.index, fill_value=0) < monitor.min_group_size
    joined = sizes.index[was_small & (sizes >= monitor.min_group_size)]
    why = f" since {join_names(map(repr, joined))} became large enough to be compared"
    return f". Now {needed}{why * bool(len(joined))}."


def _batch_time_text(summary, batch):
    """The time of a batch, as text."""
    return date_text(summary.loc[summary["batch"] == batch, "time"].iloc[0])


def _find_quantity(monitor):
    """What the monitor compares."""
    constraint = resolve_name(CONSTRAINTS, monitor.constraint, "constraint", Constraint)
    return describe_bound(constraint, pos_label=monitor.pos_label)


def _batch_table(monitor, period):
    """Table of the batches."""
    summary = monitor.summary()
    quantity = _find_quantity(monitor)
    titles = ("Samples", f"Gap, {quantity.unit}", "Interval so far", "For", "Against", "Verdict")
    rows = []
    for row in summary.itertuples():
        gap = quantity.number(row.gap)
        interval = quantity.interval(row.low, row.high)
        evidence = number_text(row.evidence_for), number_text(row.evidence_against)
        cells = (date_text(row.time), f"{row.n:,}", gap, interval, *evidence, row.verdict)
        rows.append((cells, row.verdict == "contradicted"))
    levels = monitor.evidence_needed_, 1.0 / (1.0 - monitor.confidence_level)
    needed, against = map(number_text, levels)
    note = (
        f"For, against: e-values. A certificate needs {needed} for the tolerance now, and "
        f"{against} against it show that it was exceeded at some time."
    )
    return "Batches", note, (period.title(), *titles), rows


def _alarm_table(monitor, period):
    """Yield the table of the alarms, if there are any."""
    summary = monitor.summary()
    alarms = monitor.alarms_
    if not len(alarms):
        return
    titles = (f"{period.title()} of the alarm", "Decisions until", "Exceeded most likely since")
    rows = []
    for row in alarms.itertuples():
        times = [date_text(time) for time in (row.time, row.since)]
        rows.append(((_batch_time_text(summary, row.batch), *times), False))
    yield "Alarms", "", titles, rows


def _rate_table(monitor):
    """Table of the rates of all batches together, by group."""
    rates = monitor.to_frame()
    quantity = _find_quantity(monitor)
    rates["sum"] = rates["estimate"] * rates["weight"]
    keys = ["attribute", "event", "group"]
    totals = rates.groupby(keys, sort=False)[["n", "weight", "sum"]].sum()
    rows = []
    for (attribute, cell, group), row in totals.iterrows():
        rate = quantity.value(row["sum"] / row["weight"])
        rows.append(((str(group), f"{attribute}; {cell}", f"{row['n']:,.0f}", rate), False))
    titles = ("Group", "Attribute and cell", "Samples", "Rate")
    note = f"{small_groups_note(monitor.min_group_size)} So are those of the last months alone."
    return "Rates in all batches", note, titles, rows


def _describe_method(monitor, period):
    """Return sentences on how the statements are to be read."""
    error = f"{100 * (1 - monitor.confidence_level):.3g} %"
    periods = f"{period}s"
    if monitor.run_length is None:
        alarm = (
            f"An alarm is raised at most once. Without a gap above the tolerance in any {period} "
            f"its probability is at most {error}, however often the page is made."
        )
        restart = "Nothing begins again after an alarm."
    else:
        alarm = (
            "While the gap is within the tolerance there is about one false alarm in "
            f"{monitor.run_length:g} {periods} on average, or fewer."
        )
        restart = (
            f"After an alarm both begin again with the next {period}, at a stricter level, and are "
            "about the samples since."
        )
    return [
        alarm,
        f"A certificate of a tolerance that is not kept has a probability of at most {error} in "
        f"all {periods} together, and so has an interval that is ever wrong, however often the "
        "page is made.",
        f"Certificate and interval assume that the rates of groups do not change; the alarm does "
        f"not. {restart}",
        "The last periods are judged by their rates alone, pooled. No rate is assumed to be "
        "constant; where the months of groups differ, so may their pooled rates.",
        f"Made by skfair {__version__} (GapMonitor with {monitor.constraint}).",
    ]


# The command ``python -m skfair monitor``: a gap over time, from a file of predictions.


def add_monitor_options(monitor):
    """Add the options of ``python -m skfair monitor`` to its parser."""
    monitor.description = (
        "Gap of a file of decisions over time. The exit status is 3 after an alarm "
        "if the tolerance is not shown to be kept since, or while recent periods contradict it, 0 "
        "otherwise, 1 with --require-shown if it is not shown, and 2 after an error."
    )
    add_file_options(monitor)
    add = monitor.add_argument
    add("--prediction", required=True, help="column of predicted classes")
    add("--time", required=True, help="column of dates of the decisions")
    add("--date-format", metavar="FORMAT", help="of dates, such as %%m/%%d/%%Y (default ISO 8601)")
    add("--by", choices=list(PERIODS), default="month", help="batches (default month)")
    add("--target", help="column of outcomes, for constraints that need them; empty: outstanding")
    add("--outcome-date", help="column of the dates when outcomes were known")
    add("--delay", help="longest time until an outcome is known, such as '90 days'")
    add("--sensitive", nargs="+", required=True, metavar="COLUMN", help="protected attributes")
    treatments = ("exclude", "group", "error")
    add("--missing", choices=treatments, default="group", help="of empty groups (default group)")
    add_row_options(monitor)
    add("--max-weight", type=float, help="largest weight that can occur (default that of the file)")
    add("--constraint", help="default demographic_parity, with a target equalized_odds")
    add("--tolerance", type=float, default=0.05, help="largest gap allowed (default .05)")
    about = "mean number of batches until a false alarm (default 100), or none: one alarm at most"
    add("--run-length", type=parse_run_length, default=100.0, help=about)
    about = "JSON file to resume from and to write; a period is read once, so it should be over"
    add("--state", type=Path, help=about)
    add("--late", action="store_true", help="count periods that come late, in windows alone")
    add("--require-shown", action="store_true", help="exit with 1 unless the tolerance is shown")
    add("--title", default="Fairness monitor", help="heading of the page")
    add_output_options(monitor, "monitor.html", "the page, .html, or its figures, .json")
    monitor.set_defaults(run=_run)


def parse_run_length(text):
    """Number of batches, or None."""
    return None if text.lower() == "none" else float(text)


def _run(options):
    """Write the page of a monitor; return the exit status."""
    resolve_output(options, (".html", ".htm", ".json"))
    _check_state(options)
    if options.min_published is not None:  # warnings state numbers of samples
        check_minimum(options.min_published)
        warnings.simplefilter("ignore", UserWarning)
    # What was read is written before another process reads: no batch is lost.
    with lock_file(options.state) if options.state is not None else nullcontext():
        monitor, reading, bins = _feed_file(options)
        if options.min_published is not None:
            groups = {one.name: one.labels for one in reading.columns if one.role == "group"}
            reading = reading.protect(None, groups)
        results = monitor_results(monitor, options, reading)
        _write(monitor, options, reading, bins, results)
    sentences = [reading, *monitor_findings(monitor, options.by, options.min_published)]
    if options.out is not None:
        sentences.append(f"The whole report is in {options.out}.")
    output_results(options, sentences, json.dumps(results))
    if monitor.verdict_ == "shown":
        return 0
    # An alarm stands until a certificate, as the findings state.
    if len(monitor.alarms_) or (monitor.windows_["verdict"] == "contradicted").any():
        return FINDING_STATUS
    return OPEN_STATUS if options.require_shown else 0


def _check_state(options):
    """Raise if the file of the state is no JSON, or another file of the command."""
    if options.state is None:
        return
    check_output(options.state, options.file, (".json",), "--state")
    for option, path in {"--out": options.out, "--json": options.json}.items():
        if path is not None and options.state.resolve() == Path(path).resolve():
            raise ValueError(f"--state and {option} must be two files, but both are {path}.")


def _feed_file(options):
    """Feed the file to a monitor; return it, the reading and bins of numbers."""
    check_level(options.confidence, "--confidence")
    if options.constraint is not None:
        check_choice("--constraint", options.constraint, applicable_constraint_names("decisions"))
    stored = None
    if options.state is not None and options.state.exists():
        stored = _read_state(options.state)
    log, reading, bins = read_log(options, None if stored is None else stored["bins"])
    monitor = _start(options, log) if stored is None else _resume(options, log, stored)
    if n_read_before := feed(monitor, log, options.by, options.late):
        reason = "decisions of periods that were read before are not read again"
        reading = replace(reading, left_out=reading.left_out | {reason: n_read_before})
    return monitor, reading, bins


_STORED_OPTIONS = ("by", "missing", "threshold")
"""Options that are the same for all files of a state, beside the parameters of its monitor."""


def _read_state(path):
    """What the file --state holds: the monitor, bins of numbers by place, and options."""
    text = path.read_text(encoding="utf-8")
    try:
        monitor = GapMonitor.from_json(text)
    except ValueError as error:
        raise ValueError(f"--state {path} cannot be read: {error}") from error
    content = json.loads(text)
    bins = {int(place): Bins(**one) for place, one in content.get("bins", {}).items()}
    return content | {"monitor": monitor, "bins": bins}


def _find_params(options, log):
    """Parameters of the monitor that the options name."""
    return {
        "constraint": options.constraint
        or ("demographic_parity" if log.y_true is None else "equalized_odds"),
        "tolerance": options.tolerance,
        "confidence_level": options.confidence,
        "run_length": options.run_length,
        "delay": parse_delay(options.delay, options.by),
        "max_weight": options.max_weight,
    }


def _start(options, log):
    """A monitor that has read nothing."""
    params = _find_params(options, log)
    if options.max_weight is None:
        params["max_weight"] = 1.0 if log.weights is None else float(log.weights.max())
    has_outcomes = log.y_true is not None and log.y_true.notna().any()
    labels = log.y_true.dropna() if has_outcomes else log.y_pred
    return GapMonitor(**params, pos_label=find_label(options.positive, labels))


def _resume(options, log, content):
    """The monitor of an earlier file; raise if its parameters or the options differ."""
    monitor = content["monitor"]
    params = _find_params(options, log)
    if options.max_weight is None:
        params["max_weight"] = monitor.max_weight
    requested = {name: getattr(options, name) for name in _STORED_OPTIONS}
    stored = {name: content.get(name, value) for name, value in requested.items()}
    stored["positive"], requested["positive"] = monitor.pos_label, options.positive
    if options.positive in (None, str(monitor.pos_label)):
        requested["positive"] = monitor.pos_label
    for name, value in params.items():
        option = find_option(name)[2:]
        stored[option], requested[option] = getattr(monitor, name), value
    for option, value in requested.items():
        if stored[option] != value:
            raise ValueError(
                f"--{option} must be that of {options.state}, {stored[option]}; got {value}. A "
                "monitor keeps its parameters; leave out --state to begin another."
            )
    return monitor


def _write(monitor, options, reading, bins, results):
    """Write the page or its figures, then the state, so that an error leaves the earlier state."""
    if options.out is not None and options.out.suffix.lower() == ".json":
        write_text(json.dumps(results, ensure_ascii=False, indent=1), options.out)
    elif options.out is not None:
        facts = describe_file(options, date=date.today().isoformat())
        page = render_monitor(
            monitor,
            options.title,
            period=options.by,
            facts=facts,
            reading=reading,
            min_published=options.min_published,
        )
        write_text(page, options.out)
    if options.state is not None:
        stored = {name: getattr(options, name) for name in _STORED_OPTIONS}
        stored["bins"] = {place: one._asdict() for place, one in bins.items()}
        state = seal(json.loads(monitor.to_json()) | stored)
        write_text(json.dumps(state), options.state)
