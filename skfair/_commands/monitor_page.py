"""Page, figures and findings of a monitor of a gap."""

from __future__ import annotations

import json
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from skfair import __version__
from skfair._columns.reading import Folded
from skfair._commands.decision_log import list_absent
from skfair._commands.monitor_course import draw_course, group_panels
from skfair._commands.options import describe_file
from skfair._groups.groups import normalize_label
from skfair._utils.checks import join_names, number_text, resolve_name
from skfair.audit._formats import (
    Markup,
    Picture,
    render_page,
    tabulate_facts,
    titled_facts,
    write_kicker,
)
from skfair.audit._front import find_round_axis
from skfair.audit._sentences import (
    confidence_text,
    describe_bound,
    left_out_clause,
    samples_clause,
    small_groups_note,
    value_cell,
    verdict_text,
)
from skfair.constraints import AUDITED_CONSTRAINTS, Constraint
from skfair.monitoring._monitor import (
    find_last_decisions,
    has_upper_limit,
    list_decision_times,
    list_late_times,
)
from skfair.plotting._gap_monitor import MAX_DRAWN_GROUPS, pool_rates

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from pandas import Timestamp

    from skfair._columns.reading import Reading
    from skfair.audit._sentences import Quantity
    from skfair.monitoring import GapMonitor


def date_text(time: Timestamp) -> str:
    """The first day of a period as text."""
    return f"{time:%Y-%m-%d}"


def render_monitor(
    monitor: GapMonitor,
    title: str,
    period: str,
    facts: dict[str, str],
    reading: Reading,
    min_published: int | None,
) -> str:
    """The page of a GapMonitor, as HTML without scripts and external resources.

    `period` is the length of its batches, such as "month", facts and reading are of the data. With
    a number as `min_published` verdicts alone are shown.
    """
    heading = "The gap over time"
    batches = _batch_table(monitor, period)
    over_time: list[Any] = [*_alarm_table(monitor, period)]
    if min_published is None:
        legend = Markup(
            f"<p>Dot: the gap of the {period} alone, of the decisions that are counted by now. "
            "Open circle and line: the gap of all samples since the last alarm (or the start), "
            "with its interval, and an arrow where this leaves the axis. Dashed: the tolerance. "
            "Orange: contradicted.</p>"
        )
        course = _draw_course(monitor, is_published=True)
        over_time = [course, legend, batches, *over_time, *_group_tables(monitor, period)]
        over_time.append(_rate_table(monitor))
    else:
        heading, (name, _, titles, rows) = "The verdict over time", batches
        rows = [((cells[0], cells[-1]), is_marked) for cells, is_marked in rows]
        over_time.insert(0, (name, "", (titles[0], titles[-1]), rows))
        over_time.insert(0, _draw_course(monitor, is_published=False))
    findings = [*monitor_findings(monitor, period, min_published)]
    sections = [
        (heading, over_time),
        ("Findings", [findings]),
        *([(Folded("Evidence"), [_evidence_table(monitor, period)])] * (min_published is None)),
        (Folded("How to read this"), [_describe_method(monitor, period)]),
        reading.section(),
        tabulate_facts(titled_facts(facts)),
    ]
    verdict = describe_state(monitor, period, min_published)
    return render_page(verdict, sections, write_kicker(title, facts))


def monitor_results(monitor: GapMonitor, options: Namespace, reading: Reading) -> dict[str, Any]:
    """The figures of the page, as what JSON can hold."""
    summary = monitor.summary()
    tables = {"batches": summary, "rates": monitor.to_frame()}
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
        "state": summary["state"].iloc[-1],
        "left_out": monitor.left_out_,
        "gone_groups": [
            {"attribute": attribute, "group": group, "time": _iso_text(time)}
            for (attribute, group), time in find_last_decisions(monitor).items()
        ],
        "since": _iso_text(monitor.since_),
        "n_outstanding": int(summary["n_outstanding"].iloc[-1]),
        "counted_until": _iso_text(summary["counted_until"].iloc[-1]),
        "batches_to_alarm": monitor.batches_to_alarm_,
        "source": describe_file(options, date=date.today().isoformat(), version=__version__),
    }
    for name, table in tables.items():
        # Dates are of ISO 8601, and missing numbers None.
        text = table.to_json(orient="records", date_format="iso", double_precision=15)
        results[name] = json.loads(text)
    if minimum is None:
        return results
    for name in ("windows", "batches", "alarms"):
        rows = [{k: v for k, v in row.items() if k in _PUBLISHED} for row in results[name]]
        results[name] = rows
    counted = ("state", "left_out", "gone_groups", "n_outstanding", "batches_to_alarm", "rates")
    return results | dict.fromkeys(counted) | {"min_published": minimum}


_PUBLISHED = {"batch", "time", "counted_until", "since", "n_batches", "start", "end", "verdict"}
"""Columns of tables that are shown where counts are not."""


def _iso_text(time: Timestamp | None) -> str | None:
    """A time as JSON holds it."""
    return None if pd.isna(time) else time.isoformat()  # type: ignore[union-attr]


def monitor_findings(monitor: GapMonitor, period: str, min_published: int | None) -> Iterator[str]:
    """Sentences: whether the tolerance is kept now, what was read, each window, the gap so far.

    With a number as `min_published` they are the verdicts alone: successive pages add up, so that
    differences of any numbers in them would show small counts of a period.
    """
    summary = monitor.summary()
    rates = monitor.to_frame()
    if min_published is not None:
        yield f"{describe_state(monitor, period, min_published)}."
        yield f"{_describe_certificate(monitor, _name_gone_groups(monitor, min_published))[0]}."
        yield (
            "Verdicts alone are published, without counts, rates and e-values: as differences of "
            f"two pages these could show counts from 1 to {min_published - 1}."
        )
        return
    groups = rates.groupby("attribute")["group"].nunique()
    counted = summary
    if len(groups):
        counted = summary[summary["time"] <= summary["counted_until"].iloc[-1]]
    first, last = (date_text(counted["time"].iloc[end]) for end in (0, -1))
    batches = f"{len(counted)} batch{'es' * (len(counted) > 1)}, from {first} to {last}"
    if period != "day":
        batches += f" (first days of {period}s)"
    if not len(groups):
        yield f"No sample is counted yet after {batches}, so that nothing is known of the gap."
    else:
        yield f"{describe_state(monitor, period, min_published)}."
        yield f"{samples_clause(summary['n'].sum(), groups)} were counted in {batches}."
        yield from _describe_absent_periods(monitor, period)
        yield from _describe_gone_groups(monitor, period)
        yield from _describe_windows(monitor, period)
        yield from _describe_gap_so_far(monitor, _name_gone_groups(monitor, min_published))
        yield from _describe_delay(monitor, period)
    if len(counted) < len(summary):
        age = _count_periods(len(summary) - len(counted), period)
        yield (
            f"The last decisions that are counted are of {last}, {age} before the end of what was "
            f"read: what is said of recent {period}s is that old."
        )
    if n_outstanding := summary["n_outstanding"].iloc[-1]:
        wait = "their outcome" if monitor.delay is None else "the end of the longest delay"
        yield f"{n_outstanding:,} samples are not counted yet: they wait for {wait}."


def _describe_absent_periods(monitor: GapMonitor, period: str) -> Iterator[str]:
    """Yield a sentence on the periods between the first and the last without any decision."""
    if absent := [*map(date_text, list_absent(list_decision_times(monitor), period))]:
        n_absent = _count_periods(len(absent), period)
        yield f"No decisions were counted of {n_absent} in between: {join_names(absent, 6)}."


def _describe_gone_groups(monitor: GapMonitor, period: str) -> Iterator[str]:
    """Yield a sentence on each group that has no decisions any more, and its other spelling."""
    rates = monitor.to_frame()
    attributes = rates["attribute"].unique()
    for (attribute, group), time in find_last_decisions(monitor).items():
        by = f" by {attribute}" * (len(attributes) > 1)
        named = rates.loc[(rates["attribute"] == attribute) & (rates["time"] > time), "group"]
        same = [
            one for one in named.unique() if normalize_label(str(one)) == normalize_label(group)
        ]
        spelt = f" {join_names(map(repr, same))} may be another spelling of it." * bool(same)
        yield (
            f"The last decisions about {group!r}{by} are of {date_text(time)}: what is said of "
            f"later {period}s is about the other groups.{spelt}"
        )


def _name_gone_groups(monitor: GapMonitor, min_published: int | None) -> str:
    """Clause on the groups that have no decisions any more; empty without any.

    Dates of their last decisions are counts of later periods, which may not be published.
    """
    dates = find_last_decisions(monitor)
    if min_published is None:
        gone = [f"{group!r} after {date_text(time)}" for (_, group), time in dates.items()]
    else:
        gone = [f"{group!r} at the end" for _, group in dates]
    return f", without decisions about {join_names(gone)}" * bool(gone)


def describe_state(monitor: GapMonitor, period: str, min_published: int | None) -> str:
    """Whether the tolerance is kept now, without its end: the sentence to be read first.

    With a number as `min_published` no gap is stated or compared with the tolerance, and groups
    that are too small to be compared are not named.
    """
    left_out = left_out_clause(monitor.left_out_) if min_published is None else ""
    return f"{_describe_verdict(monitor, period, min_published)}{left_out}"


def _describe_verdict(monitor: GapMonitor, period: str, min_published: int | None) -> str:
    """The sentence of the state, without the groups that are left out."""
    state = monitor.summary()["state"].iloc[-1]
    gone = _name_gone_groups(monitor, min_published)
    quantity = _find_quantity(monitor)
    bound = quantity.bound(monitor.tolerance)  # type: ignore[arg-type]
    about = f" ({quantity.noun}, tolerance {bound})"
    is_published = min_published is None
    if state in ("alarm", "alarm stands"):
        now = _describe_last_gap(monitor, period) if is_published else ""
        return f"{_describe_alarm(monitor)}{gone}{now}{about}"
    if not len(monitor.windows_):
        is_without = monitor.run_length is None or not monitor.windows
        why = "" if is_without else f"; the last {period}s have too few samples, or unequal weights"
        return f"{_describe_certificate(monitor, gone)[0]}{why}{about}"
    attributes = monitor.to_frame()["attribute"].unique()
    when = _STATE_CLAUSES[state](monitor, period)
    if state == "window above" and is_published:
        when += _describe_excess(monitor)
    return verdict_text(monitor.verdict_, quantity, bound, attributes, when + gone)


def _describe_last_gap(monitor: GapMonitor, period: str) -> str:
    """Clause on the gap of the last period alone, if it is judged."""
    windows = monitor.windows_
    if not (windows["n_batches"] == 1).any():
        return ""
    last = "last counted" if _waits_for_outcomes(monitor) else "last"
    return f"; the {last} {period} has {_find_quantity(monitor).gap(windows['gap'].iloc[0])}"


def _describe_excess(monitor: GapMonitor) -> str:
    """Clause on the gap of the shortest window that is above the tolerance, and not shown to be."""
    gap = _find_quantity(monitor).gap(_select_excesses(monitor)["gap"].iloc[0])
    return f", which has a gap of {gap}, perhaps by chance"


def _select_excesses(monitor: GapMonitor) -> pd.DataFrame:
    """Windows that do not decide and whose gap is above the tolerance."""
    windows = monitor.windows_
    return windows[(windows["verdict"] == "open") & windows["is_above"]]


def _name_contradicted(monitor: GapMonitor, period: str) -> str:
    """Clause on the windows that contradict the tolerance."""
    return _name_windows(monitor, _select_windows(monitor, "contradicted"), period)


def _name_first_excess(monitor: GapMonitor, period: str) -> str:
    """Clause on the shortest window that does not decide and is above the tolerance."""
    return _name_windows(monitor, _select_excesses(monitor).iloc[:1], period)


def _name_shown(monitor: GapMonitor, period: str) -> str:
    """Clause on the windows that show the tolerance."""
    return _name_windows(monitor, _select_windows(monitor, "shown"), period)


def _name_shown_and_open(monitor: GapMonitor, period: str) -> str:
    """Clause on the windows that show the tolerance, and on the others."""
    others = _name_windows(monitor, _select_windows(monitor, "open"), period)
    return f"{_name_shown(monitor, period)}, but not{others}"


def _name_start_and_open(monitor: GapMonitor, period: str) -> str:
    """Clause on the mean since the start, which is shown, and on the windows, which are not."""
    others = _name_windows(monitor, _select_windows(monitor, "open"), period)
    return f" on average since the {_name_start(monitor)}, but not{others}"


def _name_open(monitor: GapMonitor, period: str) -> str:
    """Clause on the windows that do not decide."""
    return _name_windows(monitor, _select_windows(monitor, "open"), period)


_STATE_CLAUSES = {
    "window contradicted": _name_contradicted,
    "window above": _name_first_excess,
    "all windows shown": _name_shown,
    "some windows shown": _name_shown_and_open,
    "start shown": _name_start_and_open,
    "windows open": _name_open,
}
"""Clauses on the windows, by the states of monitors that have windows and no alarm."""


def _select_windows(monitor: GapMonitor, verdict: str) -> pd.DataFrame:
    """The windows of now with a verdict."""
    windows = monitor.windows_
    return windows[windows["verdict"] == verdict]


def _name_start(monitor: GapMonitor) -> str:
    """What the mean so far begins with."""
    return "last alarm" if _has_restarted(monitor) else "start"


def _name_windows(monitor: GapMonitor, windows: pd.DataFrame, period: str) -> str:
    """Clause such as " in the last month and on average over the last 3 and 6 months"."""
    last, until = "the last", ""
    if _waits_for_outcomes(monitor):
        last, until = "decisions of the last", f" until {date_text(windows['end'].iloc[0])}"
    lengths = windows["n_batches"]
    # Pooled rates may be equal where gaps of single batches change their sign.
    within = "on average over" if (windows["verdict"] == "shown").all() else "in"
    clauses = [f"in {last} {period}"] * int((lengths == 1).any())
    if several := [str(length) for length in lengths if length > 1]:
        *first, longest = several
        listed = f"{', '.join(first)} and {longest}" if first else longest
        clauses.append(f"{within} {last} {listed} {period}s")
    return f" {' and '.join(clauses)}{until}"


def _waits_for_outcomes(monitor: GapMonitor) -> bool:
    """Whether recent decisions are not counted yet, so that windows are not about the last ones."""
    last = monitor.summary().iloc[-1]
    return bool(last["n_outstanding"] > 0 or last["counted_until"] < last["time"])


def _describe_windows(monitor: GapMonitor, period: str) -> Iterator[str]:
    """Yield a sentence on each window, and one on how often windows are wrong."""
    quantity = _find_quantity(monitor)
    for window in monitor.windows_.itertuples():
        groups, rates, sizes = zip(*window.extremes, strict=True)
        name = f"{window.n_batches} {period}s" if window.n_batches > 1 else period
        dates = dict.fromkeys(map(date_text, (window.start, window.end)))
        average = " on average" * (window.n_batches > 1)
        yield (
            f"Last {name} ({' to '.join(dates)}), {_VERDICT_WORDS[window.verdict]}{average}: "
            f"{quantity.size(window.gap, window.low, window.high)}, "
            f"{quantity.values(rates, groups, sizes)}."
        )
    if len(monitor.windows_):
        yield (
            f"{_describe_false_alarms(monitor, period)} A page says falsely that a window shows "
            "the tolerance with probability "
            f"1 / {2 * monitor.run_length:,g} at most."  # type: ignore[operator]
        )


def _describe_false_alarms(monitor: GapMonitor, period: str) -> str:
    """How often alarms are false with a run length: one sentence for all outputs."""
    return (
        f"A false alarm comes about once in {monitor.run_length:,g} {period}s if the gap is just "
        "the tolerance, and less often if it is smaller."
    )


_VERDICT_WORDS = {"shown": "shown", "open": "not shown", "contradicted": "contradicted"}
"""Verdicts on a window in a sentence."""


def _count_periods(n: int, period: str) -> str:
    """Number of batches in words, such as "3 months"."""
    return f"{n} {period}s" if n > 1 else f"{n} {period}"


def _describe_gap_so_far(monitor: GapMonitor, gone: str) -> Iterator[str]:
    """Sentences on the gap so far, and whether the tolerance is kept."""
    start = _name_start(monitor)
    quantity = _find_quantity(monitor)
    rates = monitor.to_frame()
    late = ""
    if times := list_late_times(monitor):
        n_late = rates[rates["time"].isin(times)].groupby("attribute")["n"].sum().max()
        days = join_names(date_text(one) for one in times)
        late = f", without {n_late:,} samples of {days}, which came late"
    interval = monitor.interval()
    tolerance = f"the tolerance is {quantity.bound(monitor.tolerance)}."  # type: ignore[arg-type]
    if not has_upper_limit(monitor):
        yield (
            f"Observed since the {start}{late}: {quantity.size(interval.estimate)}, without "
            f"limits, as samples are few or rates have changed; {tolerance}"
        )
    else:
        yield (
            f"Observed since the {start}{late}: {quantity.size(*interval)}, with "
            f"{confidence_text(monitor.confidence_level)} at this and all other looks, if rates do "
            f"not change; {tolerance}"
        )
    yield "".join(_describe_certificate(monitor, gone))


def _describe_delay(monitor: GapMonitor, period: str) -> Iterator[str]:
    """Sentence on how long it takes until windows show twice the tolerance at this volume."""
    if not monitor.windows or monitor.run_length is None:
        return
    gap = _find_quantity(monitor).bound(2.0 * monitor.tolerance)  # type: ignore[operator]
    delay = monitor.batches_to_alarm_
    shown = f"is shown after about {_count_periods(delay or 1, period)}"
    if delay is None:
        shown = f"is not shown by windows of up to {_count_periods(max(monitor.windows), period)}"
    yield (
        f"At this volume a gap of {gap} {shown} in half of all cases, if all groups were equal and "
        "the smallest one changes."
    )


def _describe_alarm(monitor: GapMonitor) -> str:
    """The alarm that stands, without its end."""
    summary = monitor.summary()
    alarms = _list_current_alarms(monitor)
    first = _batch_time_text(summary, alarms["batch"].iloc[0])
    without = ", without the samples that came late" * bool(list_late_times(monitor))
    since = f"most likely since {date_text(monitor.since_)}"
    if summary["state"].iloc[-1] == "alarm":
        return f"Contradicted since {first}{without}: the gap exceeds the tolerance, {since}"
    return (
        f"Contradicted since {first}, not shown since{without}: the gap exceeded the tolerance, "
        f"{since}"
    )


def _list_current_alarms(monitor: GapMonitor) -> pd.DataFrame:
    """The alarms since the last certificate, which are about one excess."""
    return monitor.alarms_[monitor.alarms_["since"] >= monitor.since_]


def _describe_certificate(monitor: GapMonitor, gone: str) -> tuple[str, str]:
    """Return what is known since the start or the last alarm, and the end of the sentence.

    `gone` is a clause on the groups without recent decisions.
    """
    summary = monitor.summary()
    last_row = summary.iloc[-1]
    start = _name_start(monitor)
    without = ", without the samples that came late" * bool(list_late_times(monitor))
    has_evidence = last_row["evidence_for"] >= last_row["evidence_needed"]
    evidence, threshold = map(number_text, last_row[["evidence_for", "evidence_needed"]])
    needed = f"the e-value for the tolerance is {evidence}, of which {threshold} is needed"
    if monitor.verdict_ == "contradicted":
        alarms = _list_current_alarms(monitor)
        last = _batch_time_text(summary, alarms["batch"].iloc[-1])
        times = f"{len(alarms)} alarms were" if len(alarms) > 1 else "One alarm was"
        return f"{times} raised about it, the last in {last}", ". Look at the rates of the groups."
    if has_evidence and _is_mean_excluded(monitor):
        return f"The last batches differ from the mean since the {start}{without}{gone}", "."
    if has_evidence and monitor.verdict_ == "open":
        verdict = f"The tolerance is kept on average since the {start}{without}{gone}, if not now"
        return verdict, f": {needed}."
    if has_evidence:
        return _describe_shown(monitor, f"{without}{gone}"), f", with an e-value of {evidence} now."
    shown = summary[summary["evidence_for"] >= summary["evidence_needed"]]
    if len(shown):
        until = _batch_time_text(summary, shown["batch"].iloc[-1])
        verdict = f"Not shown any more on average since the {start}{without}: it was until {until}"
        return verdict, _describe_lapse(monitor, shown["batch"].iloc[-1], needed)
    verdict = f"Not shown yet on average since the {start}, nor contradicted{without}"
    against = f"{number_text(last_row['evidence_against'])} is the one against it"
    return verdict, f": {needed}, and {against}; more batches decide."


def _is_mean_excluded(monitor: GapMonitor) -> bool:
    """Whether the limits of a window exclude the gap so far."""
    windows = monitor.windows_
    gap = monitor.summary()["gap"].iloc[-1]
    return bool(((gap < windows["low"]) | (gap > windows["high"])).any())


def _describe_shown(monitor: GapMonitor, without: str) -> str:
    """Return since when the mean so far is shown to keep the tolerance, perhaps after alarms."""
    summary = monitor.summary()
    alarms = monitor.alarms_
    last = alarms["batch"].max() if len(alarms) else 0
    has_evidence = summary["evidence_for"] >= summary["evidence_needed"]
    is_shown = has_evidence & (summary["batch"] > last)
    first = _batch_time_text(summary, summary.loc[is_shown, "batch"].iloc[0])
    start = f"last alarm, in {_batch_time_text(summary, last)}," if last else "start"
    return (
        f"Shown on average since the {start}{without}: the tolerance is kept, first shown in "
        f"{first}"
    )


def _describe_lapse(monitor: GapMonitor, batch: int, needed: str) -> str:
    """Return why the evidence is too small, which was sufficient until this batch."""
    rates = monitor.to_frame()
    sizes = rates.groupby("group")["n"].sum()
    early = rates[rates["batch"] <= batch].groupby("group")["n"].sum()
    was_small = early.reindex(sizes.index, fill_value=0) < monitor.min_group_size
    joined = sizes.index[was_small & (sizes >= monitor.min_group_size)]
    why = f" since {join_names(map(repr, joined))} became large enough to be compared"
    return f". Now {needed}{why * bool(len(joined))}."


def _batch_time_text(summary: pd.DataFrame, batch: int) -> str:
    """The time of the last decisions that were counted by a batch, as text."""
    time, until = summary.loc[summary["batch"] == batch, ["time", "counted_until"]].iloc[0]
    later = f" (counted in {date_text(time)})" if until < time else ""
    return f"{date_text(until)}{later}"


def _find_constraint(monitor: GapMonitor) -> Constraint:
    """The constraint that the monitor was passed, perhaps by name."""
    return resolve_name(AUDITED_CONSTRAINTS, monitor.constraint, "constraint", Constraint)


def _find_quantity(monitor: GapMonitor) -> Quantity:
    """What the monitor compares."""
    positive = 1 if monitor.pos_label is None else monitor.pos_label
    burden = str(positive) if monitor.burden else None
    return describe_bound(_find_constraint(monitor), pos_label=monitor.pos_label, burden=burden)


def _draw_course(monitor: GapMonitor, is_published: bool) -> Markup:
    """The picture of states and alarms, and of the groups' rates where these are published."""
    summary = monitor.summary()
    panels: list[Any] = []
    if is_published:
        panels = [*group_panels(monitor.to_frame(), _find_quantity(monitor), summary["time"])]
    times = [*map(date_text, summary["time"])]
    return draw_course(summary, monitor.alarms_["batch"].tolist(), times, panels)


def _batch_table(monitor: GapMonitor, period: str) -> tuple[Any, ...]:
    """Table of the batches."""
    summary = monitor.summary()
    quantity = _find_quantity(monitor)
    # Where outcomes come later, the verdict after a batch is about earlier decisions.
    waits = bool((summary["counted_until"] != summary["time"]).any())
    until = ["Known of decisions until"] * waits
    start = "the last alarm (or the start)" if _has_restarted(monitor) else "the start"
    note = f"Small numbers: the gap of all samples since {start}, with its limits."
    if len(monitor.alarms_):
        note += " An alarm stands until the tolerance is shown again."
    titles = (period.title(), "", f"Gap of the {period}", "Samples", *until, "Verdict")
    known = summary["batch_gap"].dropna()
    top = max(2.0 * monitor.tolerance, *known, *summary["gap"].dropna(), 1e-3)  # type: ignore[operator]
    axis = find_round_axis(quantity, top)
    rows = []
    for row in summary.itertuples():
        is_counted = not pd.isna(row.counted_until)
        until = [date_text(row.counted_until) if is_counted else "–"] * waits
        mark = "end" if row.verdict == "contradicted" else "near"
        dots = [(row.batch_gap, mark), (row.gap, "small")]
        picture = Picture(axis, dots, (row.low, row.high), monitor.tolerance)  # type: ignore[arg-type]
        gaps = _write_gaps(quantity, row)
        rows.append(([date_text(row.time), picture, gaps, f"{row.n:,}", *until, row.verdict], mark))
    return "Batches", note, titles, rows


def _write_gaps(quantity: Quantity, row: Any) -> tuple[str, str]:
    """Return the cell of the gap of a batch, and in small numbers the gap so far with its limits.

    Limits are left out where rates have changed, so that there is no upper one.
    """
    values = row._asdict()
    if quantity.is_share and quantity.form == "gap" and row.high == 1.0:
        values |= {"low": np.nan, "high": np.nan}
    so_far = value_cell(quantity, values, "gap")
    text = so_far if isinstance(so_far, str) else " ".join(so_far)
    of_batch = value_cell(quantity, values | {"gap": row.batch_gap}, "gap")
    return of_batch if isinstance(of_batch, str) else of_batch[0], text


def _has_restarted(monitor: GapMonitor) -> bool:
    """Whether the gap so far is that since an alarm."""
    return bool(len(monitor.alarms_)) and monitor.run_length is not None


def _evidence_table(monitor: GapMonitor, period: str) -> tuple[Any, ...]:
    """Table of the e-values after each batch."""
    levels = monitor.summary()["evidence_needed"].iloc[-1], 1.0 / (1.0 - monitor.confidence_level)
    needed, against = map(number_text, levels)
    note = (
        f"For, against: e-values. A certificate needs {needed} for the tolerance now, and "
        f"{against} against it show that it was exceeded at some time."
    )
    rows = [
        (
            (date_text(row.time), *map(number_text, (row.evidence_for, row.evidence_against))),
            False,
        )
        for row in monitor.summary().itertuples()
    ]
    return "E-values", note, (period.title(), "For", "Against"), rows


def _group_tables(monitor: GapMonitor, period: str) -> Iterator[tuple[Any, ...]]:
    """Yield a table of the rates of each group over time, for each attribute and cell."""
    quantity = _find_quantity(monitor)
    rates = pool_rates(monitor.to_frame())
    for (attribute, event), table in rates.groupby(["attribute", "event"], sort=False):
        groups = [*map(str, dict.fromkeys(table["group"]))]
        if len(groups) > MAX_DRAWN_GROUPS:
            continue
        rows = []
        for time, one in table.groupby("time", sort=True):
            by_group = dict(zip(one["group"].astype(str), one["estimate"], strict=True))
            cells = [quantity.value(by_group[name]) if name in by_group else "–" for name in groups]
            rows.append(((date_text(time), *cells), False))
        name = f"{quantity.noun.capitalize()} of each group by {attribute}"
        name += f"; {event}" * (rates["event"].nunique() > 1)
        yield name, "", (period.title(), *groups), rows


def _alarm_table(monitor: GapMonitor, period: str) -> Iterator[tuple[Any, ...]]:
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


def _rate_table(monitor: GapMonitor) -> tuple[Any, ...]:
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


def _describe_method(monitor: GapMonitor, period: str) -> list[str]:
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
        alarm = _describe_false_alarms(monitor, period)
        restart = (
            f"After an alarm both begin again with the next {period}, at a stricter level, and are "
            "about the samples since."
        )
    return [
        alarm,
        f"At most {error} of monitors ever certify a tolerance that is not kept, and at most "
        f"{error} ever show a wrong interval, in all {periods} together and however often the "
        "page is made.",
        f"Certificate and interval assume that the rates of groups do not change; the alarm does "
        f"not. {restart}",
        "The last periods are judged by their rates alone, pooled. No rate is assumed to be "
        "constant; where the months of groups differ, so may their pooled rates.",
        f"Made by skfair {__version__} (GapMonitor with {monitor.constraint}).",
    ]
