"""A monitor of a gap as one page of HTML, and its findings as sentences."""

import json
from html import escape
from math import isfinite

import pandas as pd

from skfair import __version__
from skfair.audit._page import render_table
from skfair.audit._page_style import STYLE
from skfair.groups import AUTO_MIN_GROUP_SIZE

_WIDTH, _HEIGHT, _MARGIN = 700.0, 260.0, 48.0


def render_monitor(monitor, title, period="batch"):
    """The page of a GapMonitor, as HTML without scripts and external resources.

    `period` is the length of its batches, such as "month".
    """
    lines = [
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f'<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body style="margin:0">',
        f'<main>\n<article class="skfair-report">\n<h1>{escape(title)}</h1>',
        "<section><h2>Findings</h2>",
        *(f'<p class="finding">{escape(text)}</p>' for text in monitor_findings(monitor, period)),
        "</section><section><h2>The gap over time</h2>",
        _picture(monitor, period),
        *_batch_table(monitor, period),
        *_alarm_table(monitor, period),
        *_rate_table(monitor),
        "</section>",
        *_method(monitor, period),
        "</article>\n</main>\n</body>\n</html>\n",
    ]
    return "\n".join(lines)


def monitor_results(monitor, options):
    """The figures of the page, as what JSON can hold."""
    tables = {"batches": monitor.summary(), "rates": monitor.to_frame(), "alarms": monitor.alarms_}
    return {
        "title": options.title,
        "findings": list(monitor_findings(monitor, options.by)),
        "by": options.by,
        "constraint": str(monitor.constraint),
        "tolerance": monitor.tolerance,
        "confidence_level": monitor.confidence_level,
        "run_length": monitor.run_length,
        "status": monitor.status_,
        "since": None if monitor.since_ is None else monitor.since_.isoformat(),
        "n_outstanding": monitor.n_outstanding_,
    } | {name: json.loads(_to_records(table)) for name, table in tables.items()}


def _to_records(table):
    """Rows of a table as JSON, with dates of ISO 8601 and null for missing numbers."""
    return table.to_json(orient="records", date_format="iso", double_precision=15)


def monitor_findings(monitor, period="batch"):
    """Sentences: what was read, the gap so far, whether the tolerance is kept, what is missing."""
    summary, rates = monitor.summary(), monitor.to_frame()
    first, last = (_name(summary, summary["time"].iloc[end]) for end in (0, -1))
    groups = rates.groupby("attribute")["group"].nunique()
    by = " and ".join(f"{n} groups by {name}" for name, n in groups.items())
    batches = f"{len(summary)} batches, from {first} to {last}"
    if not len(groups):
        yield f"No sample is counted yet after {batches}, so that nothing is known of the gap."
    else:
        yield f"{summary['n'].sum():,} samples in {by} were read in {batches}."
        yield from _describe_gap(monitor, summary)
    if monitor.n_outstanding_:
        wait = "their outcome" if monitor.delay is None else "the end of the longest delay"
        yield f"{monitor.n_outstanding_:,} samples are not counted yet: they wait for {wait}."


def _describe_gap(monitor, summary):
    """Sentences on the gap so far, and whether the tolerance is kept."""
    estimate, low, high = monitor.interval()
    has_restarted = len(monitor.alarms_) and monitor.run_length is not None
    start = "since the last alarm" if has_restarted else "so far"
    yield (
        f"The largest gap is {_points(estimate)} {start}, between {_points(low)} and "
        f"{_points(high)} with {100 * monitor.confidence_level:g} % confidence at this and all "
        f"other looks, if rates do not change; the tolerance is {_points(monitor.tolerance)}."
    )
    yield _verdict(monitor, summary)


def _verdict(monitor, summary):
    """Sentence on alarm, certificate or neither."""
    alarms = monitor.alarms_
    if monitor.status_ == "certified":
        return _describe_certificate(monitor, summary)
    if not len(alarms):
        return (
            f"Neither is shown yet: the e-values are {monitor.evidence_for_:.3g} for the "
            f"tolerance, of which {monitor.evidence_needed_:.3g} is needed, and "
            f"{monitor.evidence_against_:.3g} against it; more batches decide."
        )
    # The alarms since the last certificate are about one excess.
    alarms = alarms[alarms["since"] >= monitor.since_]
    first, last = (_time_of(summary, alarms["batch"].iloc[end]) for end in (0, -1))
    again = f" There were {len(alarms)} alarms, the last in {last}." if len(alarms) > 1 else ""
    return (
        f"Alarm since {first}: the gap exceeds the tolerance, most likely since "
        f"{_name(summary, monitor.since_)}.{again} Look at the groups' rates below."
    )


def _describe_certificate(monitor, summary):
    """Sentence on a certificate, which may come after alarms."""
    alarms, certified = monitor.alarms_, summary[summary["status"] == "certified"]
    last = alarms["batch"].max() if len(alarms) else 0
    since = _name(summary, certified.loc[certified["batch"] > last, "time"].iloc[0])
    evidence = f"with an e-value of {monitor.evidence_for_:.3g} now"
    if not len(alarms):
        return f"The tolerance is kept: certified first in {since}, {evidence}."
    return (
        f"The tolerance is kept again: certified since {since}, {evidence}. Before, alarms were "
        f"raised ({len(alarms)}, the last in {_time_of(summary, last)})."
    )


def _time_of(summary, batch):
    """The time of a batch, as text."""
    return _name(summary, summary.loc[summary["batch"] == batch, "time"].iloc[0])


def _points(gap):
    return f"{100 * gap:.1f} percentage points"


def _name(summary, time):
    """A time of a batch as text: a date, without its hours where all batches begin at midnight."""
    if not isinstance(time, pd.Timestamp):
        return f"{time:g}"
    is_date = (summary["time"].dt.normalize() == summary["time"]).all()
    return f"{time:%Y-%m-%d}" if is_date else f"{time:%Y-%m-%d %H:%M}"


_COLORS = {"monitoring": "#0072b2", "certified": "#009e73", "alarm": "#d55e00"}
"""Colours of the statement by status, as those of displays."""


def _picture(monitor, period):
    """Statements as a band, gaps of the batches alone as markers, and tolerance, over time."""
    summary = monitor.summary()
    known = summary["gap"].dropna()
    top = max(1.5 * monitor.tolerance, 1.1 * known.max() if len(known) else 0.0) or 1.0
    step = (_WIDTH - 2 * _MARGIN) / len(summary)

    def x(position):
        return f"{_MARGIN + step * (position + 0.5):.1f}"

    def y(gap):
        return f"{_HEIGHT - _MARGIN - (_HEIGHT - 2 * _MARGIN) * min(gap, top) / top:.1f}"

    shapes = []
    for i, row in enumerate(summary.itertuples()):
        high, height = y(row.high), float(y(row.low)) - float(y(row.high))
        shapes.append(
            f'<rect x="{float(x(i)) - step / 2:.1f}" y="{high}" width="{step:.1f}" '
            f'height="{height:.1f}" fill="{_COLORS[row.status]}" fill-opacity=".25"/>'
        )
    line = " ".join(f"{x(i)},{y(gap)}" for i, gap in enumerate(summary["estimate"]))
    shapes.append(f'<polyline points="{line}" fill="none" stroke="#0b3d75" stroke-width="2"/>')
    ends = f'x1="{_MARGIN}" x2="{_WIDTH - _MARGIN:g}"'
    at = y(monitor.tolerance)
    shapes.append(f'<line class="ref" {ends} y1="{at}" y2="{at}"/>')
    shapes += [
        _marker(float(x(i)), float(y(gap)), gap > monitor.tolerance)
        for i, gap in enumerate(summary["gap"])
        if isfinite(gap)
    ]
    for gap in (0.0, monitor.tolerance, top):
        shapes.append(
            f'<text x="0" y="{y(gap)}" font-size="12" fill="currentColor">{100 * gap:.1f} %</text>'
        )
    for i, anchor in {len(summary) - 1: "end", 0: "start"}.items():
        shapes.append(
            f'<text x="{x(i)}" y="{_HEIGHT - 12:g}" font-size="12" text-anchor="{anchor}" '
            f'fill="currentColor">{escape(_name(summary, summary["time"].iloc[i]))}</text>'
        )
    return (
        f'<svg viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" role="img" aria-label="Gap over time" '
        f'style="height:auto">{"".join(shapes)}</svg><p>Markers: the gap of each {period} alone '
        "(circle: within the tolerance, triangle: above it). Band: what is stated on all "
        "samples so far, its height the interval of the gap, its colour the status (blue: "
        "monitoring, green: certified, orange: alarm). Line: gap so far. Dashed: tolerance.</p>"
    )


def _marker(x, y, is_above):
    """A triangle for a gap above the tolerance, else a circle."""
    if not is_above:
        return f'<circle cx="{x:g}" cy="{y:g}" r="4" fill="currentColor"/>'
    return f'<path d="M{x:g} {y - 6:g}l6 10h-12z" fill="{_COLORS["alarm"]}" stroke="currentColor"/>'


def _batch_table(monitor, period):
    """Table of the batches."""
    summary = monitor.summary()
    titles = ("Samples", "Gap, points", "Interval so far", "For", "Against", "Status")
    rows = []
    for row in summary.itertuples():
        gap = f"{100 * row.gap:.1f}" if isfinite(row.gap) else "–"
        interval = f"{100 * row.low:.1f} to {100 * row.high:.1f}"
        evidence = (f"{row.evidence_for:.3g}", f"{row.evidence_against:.3g}")
        cells = (_name(summary, row.time), f"{row.n:,}", gap, interval, *evidence, row.status)
        rows.append((cells, row.status == "alarm"))
    note = (
        f"For, against: e-values. A certificate needs {monitor.evidence_needed_:.3g} for the "
        f"tolerance now, and {1.0 / (1.0 - monitor.confidence_level):.3g} against it show that it "
        "was exceeded at some time."
    )
    yield from render_table("Batches", note, (period.title(), *titles), rows)


def _alarm_table(monitor, period):
    """Table of the alarms, if there are any."""
    summary, alarms = monitor.summary(), monitor.alarms_
    if not len(alarms):
        return
    titles = (f"{period.title()} of the alarm", "Decisions until", "Exceeded most likely since")
    rows = [
        (
            (
                _time_of(summary, row.batch),
                _name(summary, row.time),
                _name(summary, row.since),
            ),
            False,
        )
        for row in alarms.itertuples()
    ]
    yield from render_table("Alarms", "", titles, rows)


def _rate_table(monitor):
    """Table of the rates of all batches together, by group."""
    rates = monitor.to_frame()
    rates["sum"] = rates["rate"] * rates["weight"]
    keys = ["attribute", "cell", "group"]
    totals = rates.groupby(keys, sort=False)[["n", "weight", "sum"]].sum()
    rows = []
    for (attribute, cell, group), row in totals.iterrows():
        rate = f"{100 * row['sum'] / row['weight']:.1f} %"
        rows.append(((str(group), f"{attribute}; {cell}", f"{row['n']:,.0f}", rate), False))
    titles = ("Group", "Attribute and cell", "Samples", "Rate")
    note = (
        f"Groups of fewer than {AUTO_MIN_GROUP_SIZE} samples that are also less than 1 % of all "
        "are not compared."
    )
    yield from render_table("Rates in all batches", note, titles, rows)


def _method(monitor, period):
    """How the statements are to be read."""
    error = f"{100 * (1 - monitor.confidence_level):.3g} %"
    periods = "batches" if period == "batch" else f"{period}s"
    yield "<section><h2>How to read this</h2><ul>"
    if monitor.run_length is None:
        alarm = (
            f"An alarm is raised at most once. Without a gap above the tolerance in any {period} "
            f"its probability is at most {error}, however often the page is made."
        )
        restart = "Nothing begins again after an alarm."
    else:
        alarm = (
            "While the gap is within the tolerance there is on average at most one false alarm in "
            f"{monitor.run_length:g} {periods}."
        )
        restart = (
            f"After an alarm both begin again with the next {period}, at a stricter level, and are "
            "about the samples since."
        )
    for text in (
        alarm,
        f"A certificate of a tolerance that is not kept has a probability of at most {error} in "
        f"all {periods} together, and so has an interval that is ever wrong, however often the "
        "page is made.",
        f"Certificate and interval assume that the rates of groups do not change; the alarm does "
        f"not. {restart}",
        f"Made by skfair {__version__} (GapMonitor with {monitor.constraint}).",
    ):
        yield f"<li>{escape(text)}</li>"
    yield "</ul></section>"
