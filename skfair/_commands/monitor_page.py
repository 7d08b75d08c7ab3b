"""Page, figures and findings of a monitor of a gap."""

from __future__ import annotations

import json
from datetime import date
from typing import TYPE_CHECKING, Any

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
            f"<p>Open circle: the gap of the {period} alone, of the decisions that are counted by "
            "now. Dot and line: the gap of all samples since the last alarm (or the start), with "
            "its interval, and an arrow where this leaves the axis. Dashed: the tolerance. Marked: "
            "an alarm.</p>"
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
        "left_out": monitor.left_out_,
        "last_decisions": [
            {"attribute": attribute, "group": group, "time": _iso_text(time)}
            for (attribute, group), time in monitor.last_decisions_.items()
        ],
        "since": _iso_text(monitor.since_),
        "n_outstanding": monitor.n_outstanding_,
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
    counted = ("left_out", "last_decisions", "n_outstanding", "batches_to_alarm", "rates")
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
    if monitor.n_outstanding_:
        wait = "their outcome" if monitor.delay is None else "the end of the longest delay"
        yield f"{monitor.n_outstanding_:,} samples are not counted yet: they wait for {wait}."


def _describe_absent_periods(monitor: GapMonitor, period: str) -> Iterator[str]:
    """Yield a sentence on the periods between the first and the last without any decision."""
    if absent := [*map(date_text, list_absent(monitor.decision_times_, period))]:
        n_absent = _count_periods(len(absent), period)
        yield f"No decisions were counted of {n_absent} in between: {join_names(absent, 6)}."


def _describe_gone_groups(monitor: GapMonitor, period: str) -> Iterator[str]:
    """Yield a sentence on each group that has no decisions any more, and its other spelling."""
    rates = monitor.to_frame()
    attributes = rates["attribute"].unique()
    for (attribute, group), time in monitor.last_decisions_.items():
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
    dates = monitor.last_decisions_
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
    """The verdict of now and its numbers, without the groups that are left out."""
    gone = _name_gone_groups(monitor, min_published)
    windows = monitor.windows_
    quantity = _find_quantity(monitor)
    bound = quantity.bound(monitor.tolerance)  # type: ignore[arg-type]
    about = f" ({quantity.noun}, tolerance {bound})"
    if monitor.verdict_ == "contradicted":
        now = ""
        if min_published is None and len(windows) and windows["n_batches"].iloc[0] == 1:
            last = "last counted" if _waits_for_outcomes(monitor) else "last"
            now = f"; the {last} {period} has {quantity.gap(windows['gap'].iloc[0])}"
        return f"{_describe_alarm(monitor)}{gone}{now}{about}"
    if not len(windows):
        is_without = monitor.run_length is None or not monitor.windows
        why = "" if is_without else f"; the last {period}s have too few samples, or unequal weights"
        return f"{_describe_certificate(monitor, gone)[0]}{why}{about}"
    attributes = monitor.to_frame()["attribute"].unique()
    verdict, when = _choose_verdict(monitor, period, is_published=min_published is None)
    return verdict_text(verdict, quantity, bound, attributes, when + gone)


def _choose_verdict(monitor: GapMonitor, period: str, is_published: bool) -> tuple[str, str]:
    """The verdict on windows that a reader must know first, and the clause that names them.

    Windows that show the tolerance come last: a large gap of the last month hardly moves them.
    """
    windows = monitor.windows_
    verdicts = windows["verdict"]
    contradicted, undecided, shown = (
        windows[verdicts == verdict] for verdict in ("contradicted", "open", "shown")
    )
    if len(contradicted):
        return "contradicted", _name_windows(monitor, contradicted, period)
    above = undecided[_find_excesses(monitor, undecided["gap"])]
    if is_published and len(above):
        gap = _find_quantity(monitor).gap(above["gap"].iloc[0])
        when = _name_windows(monitor, above.iloc[:1], period)
        return "open", f"{when}, which has a gap of {gap}, perhaps by chance"
    if not len(shown) or (len(undecided) and not is_published):
        return "open", _name_windows(monitor, undecided, period)
    but = f", but not{_name_windows(monitor, undecided, period)}" if len(undecided) else ""
    return "shown", _name_windows(monitor, shown, period) + but


def _find_excesses(monitor: GapMonitor, gaps: pd.Series) -> pd.Series:
    """Whether each gap is larger than the tolerance; of a floor the gap is a smallest rate."""
    constraint = _find_constraint(monitor)
    is_floor = constraint.gap.form == "floor"
    return (constraint.largest_gap - gaps if is_floor else gaps) > monitor.tolerance


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
    last = monitor.summary()[["counted_until", "time"]].iloc[-1]
    return monitor.n_outstanding_ > 0 or last["counted_until"] < last["time"]


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
            f"A false alarm comes about once in {monitor.run_length:,g} {period}s while the "
            "tolerance is kept. A page says falsely that a window shows it with probability "
            f"1 / {2 * monitor.run_length:,g} at most."  # type: ignore[operator]
        )


_VERDICT_WORDS = {"shown": "shown", "open": "not shown", "contradicted": "contradicted"}
"""Verdicts on a window in a sentence."""


def _count_periods(n: int, period: str) -> str:
    """Number of batches in words, such as "3 months"."""
    return f"{n} {period}s" if n > 1 else f"{n} {period}"


def _describe_gap_so_far(monitor: GapMonitor, gone: str) -> Iterator[str]:
    """Sentences on the gap so far, and whether the tolerance is kept."""
    start = "last alarm" if _has_restarted(monitor) else "start"
    quantity = _find_quantity(monitor)
    rates = monitor.to_frame()
    late = ""
    if times := monitor.late_times_:
        n_late = rates[rates["time"].isin(times)].groupby("attribute")["n"].sum().max()
        days = join_names(date_text(one) for one in times)
        late = f", without {n_late:,} samples of {days}, which came late"
    interval = monitor.interval()
    tolerance = f"the tolerance is {quantity.bound(monitor.tolerance)}."  # type: ignore[arg-type]
    if quantity.is_share and quantity.form == "gap" and interval.high == 1.0:
        yield (
            f"Observed since the {start}{late}: a gap of {quantity.gap(interval.estimate)}, "
            f"without an upper limit, as samples are few or rates have changed; {tolerance}"
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
    without = ", without the samples that came late" * bool(monitor.late_times_)
    since = f"most likely since {date_text(monitor.since_)}"
    if alarms["batch"].iloc[-1] == monitor.n_batches_:
        return f"Contradicted since {first}{without}: the gap exceeds the tolerance, {since}"
    return (
        f"Contradicted since {first}, not shown since{without}: the gap exceeded the tolerance, "
        f"{since}"
    )


def _list_current_alarms(monitor: GapMonitor) -> pd.DataFrame:
    """The alarms since the last certificate, which are about one excess."""
    return monitor.alarms_[monitor.alarms_["since"] >= monitor.since_]


def _describe_certificate(monitor: GapMonitor, gone: str) -> tuple[str, str]:
    """What is known since the start or the last alarm, and the rest of the sentence: evidence.

    `gone` is a clause on the groups without recent decisions.
    """
    summary = monitor.summary()
    alarms = monitor.alarms_
    shown = summary[summary["verdict"] == "shown"]
    without = ", without the samples that came late" * bool(monitor.late_times_)
    evidence, threshold = map(number_text, (monitor.evidence_for_, monitor.evidence_needed_))
    needed = f"the e-value for the tolerance is {evidence}, of which {threshold} is needed"
    if monitor.verdict_ == "shown":  # perhaps after alarms
        last = alarms["batch"].max() if len(alarms) else 0
        first = _batch_time_text(summary, shown.loc[shown["batch"] > last, "batch"].iloc[0])
        start = f"last alarm, in {_batch_time_text(summary, last)}," if last else "start"
        when = f"the tolerance is kept, first shown in {first}"
        verdict = f"Shown on average since the {start}{without}{gone}: {when}"
        return verdict, f", with an e-value of {evidence} now."
    if monitor.verdict_ == "contradicted":
        alarms = _list_current_alarms(monitor)
        last = _batch_time_text(summary, alarms["batch"].iloc[-1])
        times = f"{len(alarms)} alarms were" if len(alarms) > 1 else "One alarm was"
        return f"{times} raised about it, the last in {last}", ". Look at the rates of the groups."
    if len(shown):
        until = _batch_time_text(summary, shown["batch"].iloc[-1])
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
    has_restarted = _has_restarted(monitor)
    since = "since the last alarm (or the start)" if has_restarted else "since the start"
    note = f"Gap and verdict are of the samples {since}."
    if has_restarted:
        note += " An alarm stands until the tolerance is shown again."
    titles = (period.title(), "", "Gap", "Samples", *until, "Verdict")
    known = summary["batch_gap"].dropna()
    top = max(2.0 * monitor.tolerance, *known, *summary["gap"].dropna(), 1e-3)  # type: ignore[operator]
    axis = find_round_axis(quantity, top)
    rows = []
    for row in summary.itertuples():
        gap = value_cell(quantity, row._asdict(), "gap")
        is_counted = not pd.isna(row.counted_until)
        until = [date_text(row.counted_until) if is_counted else "–"] * waits
        mark = "end" if row.verdict == "contradicted" else "near"
        dots = [(row.batch_gap, "small"), (row.gap, mark)]
        picture = Picture(axis, dots, (row.low, row.high), monitor.tolerance)  # type: ignore[arg-type]
        rows.append(([date_text(row.time), picture, gap, f"{row.n:,}", *until, row.verdict], mark))
    return "Batches", note, titles, rows


def _has_restarted(monitor: GapMonitor) -> bool:
    """Whether the gap so far is that since an alarm."""
    return bool(len(monitor.alarms_)) and monitor.run_length is not None


def _evidence_table(monitor: GapMonitor, period: str) -> tuple[Any, ...]:
    """Table of the e-values after each batch."""
    levels = monitor.evidence_needed_, 1.0 / (1.0 - monitor.confidence_level)
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
        axis = find_round_axis(quantity, max(table["estimate"].max(), 1e-3))
        rows = []
        for time, one in table.groupby("time", sort=True):
            by_group = dict(zip(one["group"].astype(str), one["estimate"], strict=True))
            cells = [quantity.value(by_group[name]) if name in by_group else "–" for name in groups]
            dots = [(value, "near") for value in by_group.values()]
            rows.append(((date_text(time), Picture(axis, dots), *cells), False))
        name = f"{quantity.noun.capitalize()} of each group by {attribute}"
        name += f"; {event}" * (rates["event"].nunique() > 1)
        yield name, "", (period.title(), "", *groups), rows


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
        alarm = (
            "While the gap is within the tolerance there is about one false alarm in "
            f"{monitor.run_length:,g} {periods} on average, or fewer."
        )
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
