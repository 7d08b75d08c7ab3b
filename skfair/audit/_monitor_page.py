"""A monitor of a gap as one page of HTML, and its findings as sentences."""

from html import escape
from math import isfinite

import pandas as pd

from skfair import __version__
from skfair.audit._page import render_table
from skfair.audit._page_style import STYLE

_WIDTH, _HEIGHT, _MARGIN = 700.0, 260.0, 40.0


def render_monitor(monitor, title):
    """The page of a GapMonitor, as HTML without scripts and external resources."""
    lines = [
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f'<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body style="margin:0">',
        f'<main>\n<article class="skfair-report">\n<h1>{escape(title)}</h1>',
        "<section><h2>Findings</h2>",
        *(f'<p class="finding">{escape(text)}</p>' for text in monitor_findings(monitor)),
        "</section><section><h2>The gap over time</h2>",
        _picture(monitor),
        *_batch_table(monitor),
        *_rate_table(monitor),
        "</section>",
        *_method(monitor),
        "</article>\n</main>\n</body>\n</html>\n",
    ]
    return "\n".join(lines)


def monitor_findings(monitor):
    """Three sentences: what was read, the gap so far, and whether the tolerance is kept."""
    summary, rates = monitor.summary(), monitor.to_frame()
    first, last = (_name(summary, summary["time"].iloc[end]) for end in (0, -1))
    groups = rates.groupby("attribute")["group"].nunique()
    by = " and ".join(f"{n} groups by {name}" for name, n in groups.items())
    yield (
        f"{summary['n'].sum():,} samples in {by} were read in {len(summary)} batches, from {first} "
        f"to {last}."
    )
    estimate, low, high = monitor.interval()
    start = "so far" if monitor.since_ is None else "since the last alarm"
    yield (
        f"The largest gap is {_points(estimate)} {start}, between {_points(low)} and "
        f"{_points(high)} at all times with {100 * monitor.confidence_level:g} % confidence if "
        f"rates do not change; the tolerance is {_points(monitor.tolerance)}."
    )
    yield _verdict(monitor, summary)


def _verdict(monitor, summary):
    """Sentence on alarm, certificate or neither."""
    alarms = summary.loc[summary["status"] == "alarm", "time"]
    if len(alarms):
        return (
            f"Alarm since {_name(summary, alarms.iloc[0])}: the gap exceeds the tolerance, most "
            f"likely since {_name(summary, monitor.since_)} (e-value "
            f"{summary['evidence_against'].max():.3g}). Look at the groups' rates below."
        )
    if monitor.status_ == "certified":
        certified = summary.loc[summary["status"] == "certified", "time"]
        return (
            f"The tolerance is kept: certified first in {_name(summary, certified.iloc[0])}, with "
            f"an e-value of {monitor.evidence_for_:.3g} now."
        )
    return (
        f"Neither is shown yet: the e-values are {monitor.evidence_for_:.3g} for the tolerance and "
        f"{monitor.evidence_against_:.3g} against it, and "
        f"{1.0 / (1.0 - monitor.confidence_level):.3g} is needed; more batches decide."
    )


def _points(gap):
    return f"{100 * gap:.1f} percentage points"


def _name(summary, time):
    """A time of a batch as text: a date, without its hours where all batches begin at midnight."""
    if not isinstance(time, pd.Timestamp):
        return f"{time:g}"
    is_date = (summary["time"].dt.normalize() == summary["time"]).all()
    return f"{time:%Y-%m-%d}" if is_date else f"{time:%Y-%m-%d %H:%M}"


def _picture(monitor):
    """Interval, gap of the batches and tolerance over time."""
    summary = monitor.summary()
    known = summary["gap"].dropna()
    top = max(1.5 * monitor.tolerance, 1.1 * known.max() if len(known) else 0.0)
    step = (_WIDTH - 2 * _MARGIN) / max(len(summary) - 1, 1)

    def x(position):
        return f"{_MARGIN + step * position:.1f}"

    def y(gap):
        return f"{_HEIGHT - _MARGIN - (_HEIGHT - 2 * _MARGIN) * min(gap, top) / top:.1f}"

    upper = [f"{x(i)},{y(high)}" for i, high in enumerate(summary["high"])]
    lower = [f"{x(i)},{y(low)}" for i, low in enumerate(summary["low"])]
    shapes = [f'<polygon points="{" ".join(upper + lower[::-1])}" fill="#7aa7d955"/>']
    line = " ".join(f"{x(i)},{y(gap)}" for i, gap in enumerate(summary["estimate"]))
    shapes.append(f'<polyline points="{line}" fill="none" stroke="#0b3d75" stroke-width="2"/>')
    at = f'x1="{x(0)}" x2="{x(len(summary) - 1)}" y1="{y(monitor.tolerance)}"'
    shapes.append(f'<line class="ref" {at} y2="{y(monitor.tolerance)}"/>')
    colors = {"certified": "#009e73", "alarm": "#d55e00", "monitoring": "#808080"}
    for i, (gap, status) in enumerate(zip(summary["gap"], summary["status"], strict=True)):
        if isfinite(gap):
            shapes.append(f'<circle cx="{x(i)}" cy="{y(gap)}" r="4" fill="{colors[status]}"/>')
    for gap in (0.0, monitor.tolerance, top):
        shapes.append(
            f'<text x="0" y="{y(gap)}" font-size="12" fill="currentColor">{100 * gap:.1f} %</text>'
        )
    return (
        f'<svg viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" role="img" aria-label="Gap over time" '
        f'style="height:auto">{"".join(shapes)}</svg><p>Points: gap of each batch (grey: '
        "monitoring, green: certified, orange: alarm). Line and band: gap so far with its "
        "interval. Dashed: tolerance.</p>"
    )


def _batch_table(monitor):
    """Table of the batches."""
    summary = monitor.summary()
    titles = ("Batch", "Samples", "Gap, points", "Interval so far", "For", "Against", "Status")
    rows = []
    for row in summary.itertuples():
        gap = f"{100 * row.gap:.1f}" if isfinite(row.gap) else "–"
        interval = f"{100 * row.low:.1f} to {100 * row.high:.1f}"
        evidence = (f"{row.evidence_for:.3g}", f"{row.evidence_against:.3g}")
        cells = (_name(summary, row.time), f"{row.n:,}", gap, interval, *evidence, row.status)
        rows.append((cells, row.status == "alarm"))
    needed = 1.0 / (1.0 - monitor.confidence_level)
    note = f"For, against: e-values, of which {needed:.3g} is needed."
    yield from render_table("Batches", note, titles, rows)


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
    yield from render_table("Rates in all batches", "", titles, rows)


def _method(monitor):
    """How the statements are to be read."""
    error = f"{100 * (1 - monitor.confidence_level):.3g} %"
    yield "<section><h2>How to read this</h2><ul>"
    for text in (
        f"An alarm without a gap above the tolerance has a probability of at most {error} over all "
        "time, however often the page is made; so has a certificate of a tolerance that is not "
        "kept, and an interval that ever fails.",
        "Certificate and interval assume that the rates of groups do not change; the alarm does "
        "not. After an alarm both begin again with the next batch.",
        f"Made by skfair {__version__} (GapMonitor with {monitor.constraint}).",
    ):
        yield f"<li>{escape(text)}</li>"
    yield "</ul></section>"
