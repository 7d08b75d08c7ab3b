"""Picture of a gap over time on the page of a monitor."""

from math import isfinite

import numpy as np

_WIDTH, _HEIGHT, _MARGIN = 700.0, 260.0, 62.0

_MAX_DATE_LABELS = 5
"""Number of dates below the picture of a monitor, at most."""


def date_text(time):
    """The first day of a period as text."""
    return f"{time:%Y-%m-%d}"


_COLORS = {"open": "#0072b2", "shown": "#009e73", "contradicted": "#d55e00"}
"""Colours of the statement by verdict, as those of displays."""


def draw_gaps(monitor, quantity, period):
    """Statements as a band, gaps of the batches alone as markers, and tolerance, over time."""
    summary = monitor.summary()
    known = summary["batch_gap"].dropna()
    top = max(1.5 * monitor.tolerance, 1.1 * known.max() if len(known) else 0.0) or 1.0
    step = (_WIDTH - 2 * _MARGIN) / len(summary)

    def x(position):
        return f"{_MARGIN + step * (position + 0.5):.1f}"

    def y(gap):
        return f"{_HEIGHT - _MARGIN - (_HEIGHT - 2 * _MARGIN) * min(gap, top) / top:.1f}"

    shapes = []
    for i, row in enumerate(summary.itertuples()):
        high = y(row.high)
        height = float(y(row.low)) - float(y(row.high))
        shapes.append(
            f'<rect x="{float(x(i)) - step / 2:.1f}" y="{high}" width="{step:.1f}" '
            f'height="{height:.1f}" fill="{_COLORS[row.verdict]}" fill-opacity=".25"/>'
        )
    line = " ".join(f"{x(i)},{y(gap)}" for i, gap in enumerate(summary["gap"]))
    shapes.append(f'<polyline points="{line}" class="line"/>')
    ends = f'x1="{_MARGIN}" x2="{_WIDTH - _MARGIN:g}"'
    at = y(monitor.tolerance)
    shapes.append(f'<line class="ref" {ends} y1="{at}" y2="{at}"/>')
    shapes += [
        _marker(float(x(i)), float(y(gap)), gap > monitor.tolerance)
        for i, gap in enumerate(summary["batch_gap"])
        if isfinite(gap)
    ]
    shapes += _axis_labels(monitor, quantity, top, y)
    shapes += _date_labels(summary, x)
    return (
        f'<svg viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" role="img" aria-label="Gap over time" '
        f'style="height:auto">{"".join(shapes)}</svg><p>Markers: the gap of each {period} alone, '
        f"in {quantity.unit} (circle: within the tolerance, triangle: above it), of the decisions "
        "that are counted by now. "
        f"Band: what was stated after the {period} on all samples counted so far, its height the "
        "interval of the gap, its colour the verdict (blue: open, green: shown, orange: "
        "contradicted). Line: gap so far. Dashed: tolerance.</p>"
    )


def _axis_labels(monitor, quantity, top, y):
    """Yield 0 and the largest gap at the left of a picture, and the tolerance at its right."""
    right = _WIDTH - _MARGIN + 6
    for gap in (0.0, top):
        text = quantity.number(gap)
        yield f'<text x="{_MARGIN - 6:g}" y="{y(gap)}" text-anchor="end">{text}</text>'
    at = float(y(monitor.tolerance)) + 4
    text = quantity.number(monitor.tolerance)
    yield f'<text x="{right:g}" y="{at:g}">{text}</text>'


def _date_labels(summary, x):
    """Yield some times of batches with their ticks, the first and the last among them."""
    n = len(summary)
    for i in np.unique(np.linspace(0, n - 1, min(n, _MAX_DATE_LABELS)).round().astype(int)):
        at = x(i)
        bottom = _HEIGHT - _MARGIN
        time = date_text(summary["time"].iloc[i])
        yield f'<line class="tick" x1="{at}" x2="{at}" y1="{bottom:g}" y2="{bottom + 6:g}"/>'
        yield f'<text x="{at}" y="{bottom + 26:g}" text-anchor="middle">{time}</text>'


def _marker(x, y, is_above):
    """A triangle for a gap above the tolerance, else a circle."""
    if not is_above:
        return f'<circle cx="{x:g}" cy="{y:g}" r="4" fill="currentColor"/>'
    color = _COLORS["contradicted"]
    return f'<path d="M{x:g} {y - 6:g}l6 10h-12z" fill="{color}" stroke="currentColor"/>'
