"""Reports as HTML, Markdown and JSON, and the facts that they state."""

from __future__ import annotations

import json
import platform
import re
from abc import ABC, abstractmethod
from datetime import date
from functools import cache, partial
from html import escape
from importlib.metadata import version
from math import isfinite, isnan, nan
from os import PathLike
from os.path import isfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from skfair import __version__
from skfair._columns.reading import Folded, Reading
from skfair._statistics.gaps import Interval
from skfair._utils.checks import join_names
from skfair._utils.fit import write_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


# Style sheet of a report: light and dark, for telephone, screen and paper.


# Notebooks and sites stripe rows, in colours of a mode that may not be that of the report: no row
# has a background.
STYLE = """
.skfair-report{--ink:#16191d;--soft:#59616b;--paper:#fff;--line:#d9dde2;--mark:#eef4fb;--dot:#0072b2;
--end:#b84a00;--small:#59616b;font:16px/1.5 system-ui,sans-serif;color:var(--ink);
background:var(--paper);max-width:58rem;margin:0 auto;padding:1.2rem 1rem 3rem;
box-sizing:border-box;text-align:left;font-variant-numeric:tabular-nums}
@media (prefers-color-scheme:dark){.skfair-report{--ink:#e8ecf0;--soft:#a3adb8;--paper:#0d1117;
--line:#323a43;--mark:#17263a;--dot:#5db4ea;--end:#f29a5b;--small:#a3adb8}
body:has(>main>.skfair-report){background:#0d1117}}
.skfair-report h1,.skfair-report section h2{font-family:Georgia,"Times New Roman",serif}
.skfair-report h1{font-size:clamp(1.45rem,4.2vw,2.1rem);line-height:1.2;font-weight:600;
margin:.3rem 0 .6rem;text-wrap:balance;overflow-wrap:anywhere}
.skfair-report h1 .date{white-space:nowrap}
.skfair-report h2{font-size:1.25rem;line-height:1.3;font-weight:600;margin:2rem 0 .3rem;
overflow-wrap:anywhere}
.skfair-report .kicker{font-size:.8rem;letter-spacing:.05em;color:var(--soft);margin:0}
.skfair-report p,.skfair-report li{max-width:46rem;margin:.35rem 0;overflow-wrap:anywhere}
.skfair-report h1+section>p{font-size:1.05rem;color:var(--soft)}
.skfair-report ul{padding-left:1.3rem;margin:.3rem 0}
.skfair-report .strip{display:grid;grid-template-columns:repeat(auto-fit,minmax(9rem,1fr));
gap:.4rem 1rem;border:solid var(--line);border-width:1px 0;margin:1rem 0;padding:.5rem 0}
.skfair-report .strip>div{min-width:0;overflow-wrap:anywhere}
.skfair-report .strip b{display:block;font-size:1.35rem;line-height:1.25}
.skfair-report .strip span{display:block;font-size:.82rem;line-height:1.35;color:var(--soft)}
.skfair-report .frame{overflow-x:auto;margin:0 0 1.2rem}
.skfair-report :is(.frame:focus,summary:focus-visible){outline:2px solid var(--dot);
outline-offset:2px}
.skfair-report table{border-collapse:collapse;width:100%;font-size:.9rem;color:inherit;
background:none}
.skfair-report tr{background:none!important}
.skfair-report caption{text-align:left;font-weight:600;padding:.3rem 0;color:inherit}
.skfair-report small{color:var(--soft);font-size:.86em;white-space:nowrap;font-weight:400}
.skfair-report caption>*{display:block;position:sticky;left:0;white-space:normal;
max-width:min(46rem,calc(100vw - 2.5rem))}
.skfair-report th,.skfair-report td{text-align:left;padding:.22rem .8rem .22rem 0;
font-weight:400;border-bottom:1px solid var(--line);vertical-align:middle;background:none}
.skfair-report thead th{color:var(--soft);font-size:.82rem;line-height:1.3;vertical-align:bottom}
.skfair-report tbody th{max-width:16rem;overflow-wrap:break-word;min-width:6rem}
.skfair-report th small{display:block;white-space:normal}
.skfair-report tr.marked th,.skfair-report tr.marked td{background:var(--mark);font-weight:600}
.skfair-report .plots :is(th,td):nth-child(n+3){text-align:right;padding:.22rem 0 .22rem .8rem}
.skfair-report .plots :is(th,td):not(:nth-child(2),:first-child){width:1%}
.skfair-report .plots td:nth-child(n+3){white-space:nowrap}
.skfair-report .plots:has(th:nth-child(5)) td>small{display:block}
.skfair-report .plots :is(th,td):nth-child(2){width:99%;padding:.22rem .6rem;min-width:7rem}
.skfair-report .plots tbody th{min-width:13rem}
.skfair-report tr.end :is(th,td:nth-child(3)){color:var(--end);font-weight:600}
.skfair-report tr.near td:nth-child(3){font-weight:600}
.skfair-report tr.small{color:var(--soft)}
.skfair-report .axis{display:block;position:relative;height:1.2em;font-size:.75rem}
.skfair-report .axis span{position:absolute;left:0;white-space:nowrap}
.skfair-report .axis :nth-child(2){left:25%;transform:translateX(-50%)}
.skfair-report .axis :nth-child(3){left:50%;transform:translateX(-50%)}
.skfair-report .axis :nth-child(4){left:75%;transform:translateX(-50%)}
.skfair-report .axis :nth-child(5){left:100%;transform:translateX(-100%)}
.skfair-report td>svg{background:linear-gradient(90deg,var(--line) 1px,transparent 1px) 0/25% 100%;
border-right:1px solid var(--line);height:1.3rem}
.skfair-report svg{display:block;width:100%;overflow:visible}
.skfair-report svg path{stroke:var(--dot);stroke-width:3;fill:none;vector-effect:non-scaling-stroke}
.skfair-report svg .dot{stroke-width:11;stroke-linecap:round}
.skfair-report svg .end{stroke:var(--end)}
.skfair-report svg .small,.skfair-report svg .hole{stroke:var(--small)}
.skfair-report svg .hole{stroke:var(--paper);stroke-width:7;stroke-linecap:round}
.skfair-report svg .ref{stroke:var(--soft);stroke-width:1.5;stroke-dasharray:4 3}
.skfair-report .curves{display:flex;flex-wrap:wrap;gap:1rem;margin:0 0 1.2rem}
.skfair-report figure{width:9rem;margin:0}
.skfair-report figure.plane{width:min(24rem,100%);margin:0 0 1.2rem}
.skfair-report figure svg{border:1px solid var(--line)}
.skfair-report figure svg path{stroke-width:1.5}
.skfair-report figure svg .band{fill:var(--line);stroke:none}
.skfair-report figure svg .dot{stroke-width:7}
.skfair-report figure svg .hole{stroke-width:4}
.skfair-report figure.plane div{position:relative}
.skfair-report figure.plane span{position:absolute;padding:0 .4rem;font-size:.75rem;
white-space:nowrap;transform:translateY(-100%)}
.skfair-report figure.plane .left{transform:translate(-100%,-100%)}
.skfair-report figcaption{font-size:.82rem;color:var(--soft);overflow-wrap:anywhere}
.skfair-report td:nth-child(2):last-child{overflow-wrap:anywhere}
.skfair-report details{border-bottom:1px solid var(--line)}
.skfair-report summary{padding:.5rem 0;cursor:pointer}
.skfair-report summary h2{display:inline;font-size:1rem}
@media (max-width:40rem){
.skfair-report table{font-size:.84rem}.skfair-report :is(th,td){padding-right:.5rem}
.skfair-report tbody th{min-width:6rem}
.skfair-report td:not(:nth-child(2):last-child)>small{display:block}
.skfair-report .plots,.skfair-report .plots :is(caption,thead,tbody){display:block}
.skfair-report .plots tr{display:flex;flex-wrap:wrap;align-items:center;
border-bottom:1px solid var(--line)}
.skfair-report .plots :is(th,td):is(th,td,:nth-child(2)){width:auto;border:0}
.skfair-report .plots th:first-child{flex:1 1 7rem;min-width:0}
.skfair-report .plots :is(th,td):nth-child(2){order:9;flex:1 1 100%;padding:.1rem .4rem .4rem}
.skfair-report .plots td:nth-child(n+3){min-width:2.7rem}
.skfair-report .plots:has(th:nth-child(5)) th:first-child{flex-basis:100%}
.skfair-report .plots:has(th:nth-child(5)) :is(th,td):nth-child(n+3){flex:1 1 auto}
.skfair-report .plots:not(:has(th:nth-child(5))) td>small{display:inline}}
@media print{.skfair-report{--ink:#000;--soft:#333;--paper:#fff;--line:#bbb;--mark:#eee;
--dot:#0072b2;--end:#b84a00;--small:#555;font-size:9pt;line-height:1.35;max-width:none;padding:0}
.skfair-report h1{font-size:1.7em}.skfair-report h2{margin-top:1.1em}
.skfair-report :is(th,td){padding-top:.1rem;padding-bottom:.1rem}
.skfair-report .frame{overflow:visible}.skfair-report :is(tr,li){break-inside:avoid}
.skfair-report h1,.skfair-report h2,.skfair-report caption,.skfair-report thead{break-after:avoid}
.skfair-report svg{print-color-adjust:exact}body:has(>main>.skfair-report){background:#fff}}
"""
"""Rules that apply inside a report only."""


# Sections of a report as one page of HTML, without scripts and external resources.


def render_page(title: str, *content: Any) -> str:
    """The whole page, as HTML, with the arguments of `render_fragment`."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<title>{escape(title)}</title>\n</head>\n<body style="margin:0">\n'
        f"<main>\n{render_fragment(title, *content)}\n</main>\n</body>\n</html>\n"
    )


def render_fragment(
    title: str,
    sections: Iterator | list[tuple[Folded | str, list]],
    kicker: str = "",
    is_full: bool = False,
) -> str:
    """The report with its style as a part of a page, which is what notebooks show.

    The kicker stands above the title, and `is_full` opens what is folded.
    """
    lines = [f"<style>{STYLE}</style>", '<article class="skfair-report">']
    lines.append(f'<p class="kicker">{escape(kicker)}</p><h1>{_escape_title(title)}</h1>')
    for heading, elements in sections:
        title = f"<h2>{escape(heading)}</h2>" if heading else ""
        start = f"<section>{title}"
        end = "</section>"
        if isinstance(heading, Folded):
            start = f"<details{' open' * is_full}><summary>{title}</summary>"
            end = "</details>"
        inside = [line for element in elements for line in _render_element(element)]
        lines += [start, *inside, end]
    return "\n".join([*lines, "</article>"])


class Markup(str):
    """HTML that a page shows as it is."""


class Axis(NamedTuple):
    """Ends of an axis, and the texts of its ticks at equal distances."""

    low: float
    high: float
    ticks: tuple[str, ...]


class Picture(NamedTuple):
    """Dots on an axis as pairs of a value and a class, limits, and the value of a dashed line."""

    axis: Axis
    dots: list[tuple[float, str]]
    limits: tuple[float, float] = (nan, nan)
    reference: float = nan


def render_strip(numbers: list) -> Markup:
    """A strip of numbers, each with what it says."""
    cells = (f"<div><b>{escape(one)}</b><span>{escape(text)}</span></div>" for one, text in numbers)
    return Markup(f'<div class="strip">{"".join(cells)}</div>')


def _escape_title(text: str) -> str:
    """Text of a title, in which no line begins within a date such as 2024-01-01."""
    return re.sub(r"\d{4}-\d\d-\d\d", r'<span class="date">\g<0></span>', _escape_units(text))


def _escape_units(text: str) -> str:
    """Text whose lines do not begin with a percent sign."""
    return escape(text).replace(" %", "&nbsp;%")


def _render_element(element: Any) -> Iterator[Markup | str]:
    """Yield the lines of a paragraph, a list, a table or markup."""
    if isinstance(element, Markup):
        yield element
    elif isinstance(element, str):
        yield f"<p>{_escape_units(element)}</p>"
    elif isinstance(element, list):
        yield "".join(("<ul>", *(f"<li>{_escape_units(text)}</li>" for text in element), "</ul>"))
    else:
        yield from render_table(*element)


def render_table(
    caption: str,
    note: str,
    titles: list[str] | tuple[str, ...],
    rows: list[tuple[list | tuple, bool | str]],
) -> Iterator[str]:
    """A table that scrolls within its frame, by keyboard too, where the page is narrow."""
    rows = list(rows)
    kind = ' class="plots"' if "" in titles else ""
    yield f'<div class="frame" role="region" aria-label="{escape(caption)}" tabindex="0">'
    small = f"<small>{_escape_units(note)}</small>" if note else ""
    yield f"<table{kind}><caption><span>{escape(caption)}</span>{small}</caption><thead><tr>"
    yield "".join(f'<th scope="col">{escape(title) or _draw_axis(rows)}</th>' for title in titles)
    yield "</tr></thead><tbody>"
    for (first, *cells), mark in rows:
        kind = mark if isinstance(mark, str) else "marked" * bool(mark)
        yield f'<tr class="{kind}"><th scope="row">{_cell(first)}</th>'
        yield "".join(f"<td>{_cell(cell)}</td>" for cell in cells) + "</tr>"
    yield "</tbody></table></div>"


def _cell(cell: Picture | str | tuple[str, ...]) -> str:
    """A cell: a picture, or text, perhaps with a smaller remark."""
    if isinstance(cell, Picture):
        return _draw(cell)
    text, remark = (cell, "") if isinstance(cell, str) else cell
    return _escape_units(text) + (f" <small>{escape(remark)}</small>" if remark else "")


def _draw_axis(rows: list[tuple[list | tuple, bool | str]]) -> str:
    """Ticks of the axis of the first row, above its picture; the second cell is that."""
    ticks = rows[0][0][1].axis.ticks if rows else ()
    return f'<span class="axis">{"".join(f"<span>{escape(one)}</span>" for one in ticks)}</span>'


def _draw(picture: Picture) -> str:
    """Picture of limits and dots, and of the dashed line of a reference."""
    axis, dots, limits, reference = picture

    def position(value: float) -> str:
        share = (value - axis.low) / (axis.high - axis.low)
        return f"{100 * min(max(share, 0), 1):.1f}"

    shapes = []
    if isfinite(reference):
        at = position(reference)
        shapes.append(f'<path class="ref" d="M{at} -6V26"/>')
    dots = [one for one in dots if isfinite(one[0])]
    if dots and all(map(isfinite, limits)):
        low, high = map(position, limits)
        shapes.append(f'<path class="{dots[-1][1]}" d="M{low} 10H{high}"/>')
        # An arrow where the axis ends before the limit does.
        if limits[1] > axis.high:
            shapes.append(f'<path class="{dots[-1][1]}" d="M98 4L100 10L98 16"/>')
        if limits[0] < axis.low:
            shapes.append(f'<path class="{dots[-1][1]}" d="M2 4L0 10L2 16"/>')
    for value, kind in dots:
        at = f"M{position(value)} 10h0"
        shapes.append(f'<path class="dot {kind}" d="{at}"/>')
        if kind == "small":
            shapes.append(f'<path class="hole" d="{at}"/>')
    return (
        '<svg viewBox="0 0 100 20" preserveAspectRatio="none" aria-hidden="true">'
        f"{''.join(shapes)}</svg>"
    )


def draw_curves(curves: list[tuple[str, pd.DataFrame]]) -> Markup:
    """Pictures of reliability tables by name: points, the band of all of them, and the diagonal."""
    figures = []
    for name, table in curves:
        x = 100.0 * table["mean_probability"]
        y, low, high = (100.0 - 100.0 * table[one] for one in ("estimate", "band_low", "band_high"))
        lower = _join_points(x, low)
        band = f"M{lower}L{_join_points(x[::-1], high[::-1])}Z"
        limits = "".join(
            f'<path d="M{at:.1f} {one:.1f}V{other:.1f}"/>'
            for at, one, other in zip(x, low, high, strict=True)
        )
        dots = "".join(
            f'<path class="dot" d="M{at:.1f} {one:.1f}h0"/>' for at, one in zip(x, y, strict=True)
        )
        figures.append(
            '<figure><svg viewBox="0 0 100 100" aria-hidden="true">'
            f'<path class="band" d="{band}"/><path class="ref" d="M0 100L100 0"/>{limits}{dots}'
            f"</svg><figcaption>{escape(name)}</figcaption></figure>"
        )
    return Markup(f'<div class="curves">{"".join(figures)}</div>')


_MAX_NAMED_POINTS = 8
"""Points of a plane up to which each has its name beside it."""


class PlanePoint(NamedTuple):
    """A point of a plane with its name, the ends of its limits, and the class of its dot."""

    name: str
    x: float
    y: float
    x_ends: tuple[float, float]
    y_ends: tuple[float, float]
    kind: str
    is_filled: bool


class PlaneAxes(NamedTuple):
    """The ends of the two axes of a plane."""

    x: tuple[float, float]
    y: tuple[float, float]


def find_plane_axes(
    points: list[PlanePoint], band: tuple[float, float], vertical: float
) -> PlaneAxes:
    """Axes that hold points with limits, a band of y values and a line at an x value."""
    xs = [vertical, *(x for one in points for x in (one.x, *one.x_ends) if isfinite(x))]
    ys = [*band, *(y for one in points for y in (one.y, *one.y_ends) if isfinite(y))]
    margins = (0.05 * np.ptp(xs), 0.05 * np.ptp(ys))
    return PlaneAxes(
        (min(xs) - margins[0], max(xs) + margins[0]), (min(ys) - margins[1], max(ys) + margins[1])
    )


def draw_plane(
    axes: PlaneAxes,
    points: list[PlanePoint],
    band: tuple[float, float],
    vertical: float,
    caption: str,
) -> Markup:
    """Picture of points with limits, a band of y values, and a dashed line at an x value.

    Names are written beside points where there are few.
    """
    (left, right), (bottom, top) = axes

    def place(x: float, y: float) -> str:
        across = 100.0 * (x - left) / ((right - left) or 1.0)
        return f"{across:.1f} {100.0 - 100.0 * (y - bottom) / ((top - bottom) or 1.0):.1f}"

    corners = [(left, band[0]), (right, band[0]), (right, band[1]), (left, band[1])]
    shapes = [
        f'<path class="band" d="M{"L".join(place(*one) for one in corners)}Z"/>',
        f'<path class="ref" d="M{place(vertical, bottom)}L{place(vertical, top)}"/>',
    ]
    names = []
    if len(points) <= _MAX_NAMED_POINTS:
        positions = [[*map(float, place(one.x, one.y).split())] for one in points]
        names = _write_names([one.name for one in points], positions)
    for one in points:
        for ends in ([(x, one.y) for x in one.x_ends], [(one.x, y) for y in one.y_ends]):
            if np.isfinite(ends).all():
                line = "L".join(place(*end) for end in ends)
                shapes.append(f'<path class="{one.kind}" d="M{line}"/>')
        at = f"M{place(one.x, one.y)}h0"
        shapes.append(f'<path class="dot {one.kind}" d="{at}"/>')
        if not one.is_filled:
            shapes.append(f'<path class="hole" d="{at}"/>')
    return Markup(
        '<figure class="plane"><div>'
        '<svg viewBox="0 0 100 100" aria-hidden="true">'
        f"{''.join(shapes)}</svg>{''.join(names)}</div>"
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


_NAME_HEIGHT, _LETTER_WIDTH = 4.5, 1.9
"""Sizes of names in a plane, in percent of its side: 24 rem, with letters of .75 rem."""


def _write_names(names: list[str], positions: list[list[float]]) -> list[str]:
    """Names beside points, at positions in percent, which move up or down until none overlap."""
    boxes: list[tuple[float, float, float]] = []  # left, right, and lower end
    texts = []
    for name, (across, down) in zip(names, positions, strict=True):
        side = "left" if across > 50.0 else "right"
        width = _LETTER_WIDTH * (len(name) + 2)
        left = across - width if side == "left" else across
        steps = sorted(range(-len(names), len(names) + 1), key=abs)
        tops = [down + step * _NAME_HEIGHT for step in steps]
        top = next(
            one
            for one in tops
            if all(
                left >= end or left + width <= start or abs(one - other) >= _NAME_HEIGHT
                for start, end, other in boxes
            )
        )
        boxes.append((left, left + width, top))
        at = f"left:{across:.1f}%;top:{top:.1f}%"
        texts.append(f'<span class="{side}" style="{at}">{escape(name)}</span>')
    return texts


def _join_points(x: pd.Series, y: pd.Series) -> str:
    """Points of a path."""
    return "L".join(f"{at:.1f} {one:.1f}" for at, one in zip(x, y, strict=True))


# Sections of a report as Markdown, with tables of GitHub's dialect.


_MARKDOWN_SPECIAL_CHARACTERS = re.compile(r"([\\`*_\[\]<>|#~&])")
"""Characters that are escaped, so that names are shown as they are written."""


def render_markdown(
    title: str, sections: Iterator | list[tuple[Folded | str, list]], level: int = 1
) -> str:
    """The whole text; its title is a heading of this level."""
    blocks = [f"{'#' * level} {_escape_markdown(title)}"]
    for heading, elements in sections:
        blocks += [f"{'#' * (level + 1)} {_escape_markdown(heading)}"] * bool(heading)
        blocks += [block for element in elements for block in _render_markdown_element(element)]
    return "\n\n".join(blocks) + "\n"


def _render_markdown_element(element: Any) -> Iterator[str]:
    """Yield the blocks of a paragraph, a list or a table."""
    if isinstance(element, Markup):
        return
    if isinstance(element, str):
        yield _escape_markdown(element)
    elif isinstance(element, list):
        yield "\n".join(f"- {_escape_markdown(text)}" for text in element)
    else:
        caption, note, titles, rows = element
        yield f"**{_escape_markdown(caption)}**" + (f" {_escape_markdown(note)}" if note else "")
        titles = [title for title in titles if title]
        lines = [titles, *(cells for cells, _ in rows)]
        header, *rows = map(_markdown_row, lines)
        yield "\n".join([header, _markdown_row(["---"] * len(titles)), *rows])


def _markdown_row(
    cells: list[Picture | str | tuple[str, ...]] | tuple[Picture | str | tuple[str, ...], ...],
) -> str:
    """A row of a table without its pictures."""
    texts = (_markdown_cell(one) for one in cells if not isinstance(one, Picture))
    return f"| {' | '.join(texts)} |"


def _markdown_cell(cell: str | tuple[str, ...]) -> str:
    """A cell: text, perhaps with a remark in parentheses."""
    text, remark = (cell, "") if isinstance(cell, str) else cell
    return _escape_markdown(text) + (f" ({_escape_markdown(remark)})" if remark else "")


def _escape_markdown(text: Folded | str) -> str:
    """Text in one line that Markdown shows as it is written."""
    return _MARKDOWN_SPECIAL_CHARACTERS.sub(r"\\\1", " ".join(text.split()))


# Texts in JSON that name their format and version.


dump_json = partial(
    json.dumps, allow_nan=False, ensure_ascii=False, indent=1, default=lambda number: number.item()
)
"""The text of a value to read: one line by entry, numbers of numpy as those of Python."""


def add_header(kind: str, version: int, content: dict[str, Any]) -> dict[str, Any]:
    """The content of a text that a class writes, by name, after its format and version."""
    return {"format": f"skfair.{kind}", "version": version} | content


def load_content(
    text: Any,
    kind: str,
    version: int,
    source: str = "",
    advice: str = "",
    name: str = "source",
) -> dict[str, Any]:
    """Return the content of a text that a class wrote in this version, as a dict.

    In errors `source` is what the text might have been instead, `advice` what to pass, and `name`
    the argument or the file of the text.
    """
    try:
        content = json.loads(text)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name} must be the JSON that {kind}.to_json returned{source}, but it is "
            f"{'neither' if source else 'not JSON'} ({error}).{advice}"
        ) from error
    if not isinstance(content, dict) or content.get("format") != f"skfair.{kind}":
        raise ValueError(
            f'{name} must be JSON with "format": "skfair.{kind}", as {kind}.to_json returns '
            "it; this is other JSON."
        )
    if (written := content.get("version")) != version:
        raise ValueError(
            f"This version of skfair reads version {version} of what "
            f"{kind}.to_json writes, but the text has version {written!r}; read it with the "
            "version of skfair that wrote it."
        )
    return content


# Reports as JSON and back; the guide publishes the schema.


SCHEMA_VERSION = 7
"""Version of the schema; a change of the meaning of a field raises it."""

_TEXT_COLUMNS = (
    *("attribute", "stratum", "group", "metric", "interval", "lowest", "highest"),
    *("subgroup", "left_out", "four_fifths", "verdict", "verdict_of_all"),
)
_FLAG_COLUMNS = ("is_small", "is_reference", "is_significant", "is_listed")


def encode_document(kind: str, content: dict[str, Any]) -> str:
    """The text of values by name: numbers, texts, tables, and reports."""
    content = {name: _encode(value) for name, value in content.items()}
    return dump_json(add_header(kind, SCHEMA_VERSION, content))


def sections_to_json(title, sections):
    """The text of a title and of sections: lists of texts and tables by heading."""
    content = {"title": title}
    for heading, elements in sections:
        content[heading] = [
            element if isinstance(element, (str, list)) else _table_to_python(*element)
            for element in elements
        ]
    return dump_json(content)


def _table_to_python(caption, note, titles, rows):
    """A table as its caption and rows, each with the texts of its cells by title."""

    def text(cell: str | tuple) -> str:
        return cell if isinstance(cell, str) else " ".join(cell[:2])

    texts = [map(text, row) for row, _ in rows]
    return {"caption": caption, "rows": [dict(zip(titles, row, strict=True)) for row in texts]}


def _encode(value: Any) -> object:
    """A value of JSON: nan becomes null, infinities become text, tables become lists by name."""
    if isinstance(value, Reading):
        return value.to_dict()
    if isinstance(value, list):
        return [_encode(one) for one in value]
    if isinstance(value, pd.DataFrame):
        return {name: [_encode(one) for one in value[name].tolist()] for name in value}
    if isinstance(value, Report):
        return {name: _encode(getattr(value, name)) for name in value._settings}
    if not isinstance(value, float) or abs(value) < float("inf"):
        return value
    return None if isnan(value) else str(value)


def read_document(
    source: PathLike[str] | str | None, kind: str, fields: tuple[str, ...] | set[str]
) -> dict[str, Any]:
    """Values by name from a text that `encode_document` made, or from the path of a file of it."""
    is_path = isinstance(source, PathLike) or (isinstance(source, str) and isfile(source))
    text = Path(source).read_text(encoding="utf-8") if is_path else source  # type: ignore[arg-type]
    instead = "" if is_path else ", or the path of a file that exists"
    name = str(source) if is_path else "source"
    content = load_content(text, kind, SCHEMA_VERSION, instead, name=name)
    if absent := {*fields} - set(content):
        raise ValueError(f"The text of a {kind} must have the fields {join_names(sorted(absent))}.")
    return content


def decode_report(source: PathLike[str] | str | None, fields: tuple[str, ...]) -> dict[str, Any]:
    """Arguments of the constructor of a report from its text, or from the path of a file of it."""
    content = read_document(source, "FairnessReport", {*fields})
    content["reading"] = Reading.from_dict(content["reading"])
    if content["balance"] is not None:
        content["balance"] = Interval._make(content["balance"])
    if (subgroups := content["subgroups"]) is not None:
        tables = {name: _decode_table(subgroups[name]) for name in ("flagged", "searches")}
        content["subgroups"] = subgroups | tables | {"reading": content["reading"]}
    for name in ("reliability", "thresholds", "shares"):
        if content[name] is not None:
            content[name] = _decode_table(content[name])
    return content | {name: _decode_table(content[name]) for name in ("frame", "gaps")}


def _decode_table(columns: dict[str, list]) -> pd.DataFrame:
    """A table from lists by name: text, flags and numbers."""
    return pd.DataFrame({name: _decode_column(name, values) for name, values in columns.items()})


def _decode_column(name: str, values: list) -> np.ndarray | list:
    """A column of a table: text, flags, integers or real numbers."""
    if name in _TEXT_COLUMNS:
        return values
    if name in _FLAG_COLUMNS:
        return np.array(values, dtype=bool)
    if values and all(isinstance(value, int) for value in values):
        return np.array(values)
    return np.array([np.nan if value is None else float(value) for value in values])


# What reports share: findings, and the forms in which they are shown and stored.


class Report(ABC):
    """Base of reports, which have ``findings``, and attributes that their JSON has.

    `_settings` are the names of what the constructor takes, `_results` of what follows from it.
    """

    title: str = ""
    _settings: tuple[str, ...]
    _results: tuple[str, ...] = ("findings",)

    @property
    @abstractmethod
    def findings(self) -> list[str]:
        """The main results, one sentence each."""

    def to_json(self, path: str | PathLike[str] | None = None) -> str:
        """The report as JSON: its tables, settings and findings by name; see :ref:`report_schema`.

        Parameters
        ----------
        path : str or path-like, default=None
            File to write; None writes none.

        Returns
        -------
        text : str
            The JSON.
        """
        content = {name: getattr(self, name) for name in (*self._settings, *self._results)}
        return write_text(encode_document(type(self).__name__, content), path)

    def __str__(self) -> str:
        return "\n".join(filter(None, [self.title, *self.findings]))


class PageReport(Report):
    """Base of reports of sections, `_sections()`: pairs of a heading and its elements."""

    source: dict[str, str]

    def to_html(self, path: str | PathLike[str] | None = None, *, full: bool = False) -> str:
        """The report as one self-contained page: no network, no scripts.

        Parameters
        ----------
        path : str or path-like, default=None
            File to write; None writes none.
        full : bool, default=False
            Whether sections are open that a reader else opens, as before it is printed.

        Returns
        -------
        html : str
            The page.
        """
        return write_text(self._render_page(self._sections(), full), path)

    def _render_page(self, sections: Any, full: bool) -> str:
        """Return the page of some sections."""
        return render_page(self._headline(), sections, self._kicker(), full)

    def to_markdown(self, path: str | PathLike[str] | None = None) -> str:
        """The report as Markdown, such as a section of a model card; without pictures.

        Parameters
        ----------
        path : str or path-like, default=None
            File to write; None writes none.

        Returns
        -------
        markdown : str
            The text.
        """
        return write_text(render_markdown(self._headline(), self._sections()), path)

    @abstractmethod
    def _sections(self) -> Iterator[tuple[str, list]]:
        """Return the sections of the report."""

    @abstractmethod
    def _headline(self) -> str:
        """Return the main result, which is the heading of the page."""

    def _kicker(self) -> str:
        """Return what stands above the heading: what the page is, of which date and file."""
        return write_kicker(self.title, self.source)

    def _repr_html_(self) -> str:
        return render_fragment(self._headline(), self._sections(), self._kicker())


# What was audited: facts that a report states on its page.


FACT_TITLES = {
    "file": "File",
    "sha256": "SHA-256 digest of the file",
    "salted_sha256": "Salted SHA-256 digest of the samples",
    "positive_label": "Positive label",
    "threshold": "Threshold",
    "command": "Options of the command",
    "groups": "Recording of groups",
    "suppressed": "Groups not published",
    "date": "Date of the audit",
    "versions": "Versions",
    "source": "Source of the data",
    "explanation": "Explanation of the data",
    "distribution_date": "Distribution date of the tool",
    "justification": "Justification for leaving categories out",
}
"""Known facts and their titles on the page."""


def collect_facts(provenance: dict[str, str] | None, **known: Any) -> dict[str, str]:
    """Facts as text by name: the date and versions, known ones, and those of the user."""
    facts = {"date": date.today().isoformat(), "versions": _versions()}
    facts |= {name: str(value) for name, value in known.items() if value is not None}
    return facts | _check_provenance(provenance)


@cache
def _versions() -> str:
    """Versions of the packages that compute a report; reading them takes milliseconds."""
    versions = [f"skfair {__version__}", f"Python {platform.python_version()}"]
    packages = ("numpy", "pandas", "scipy", "scikit-learn")
    return ", ".join([*versions, *(f"{name} {version(name)}" for name in packages)])


def _check_provenance(provenance: dict[str, str] | None) -> dict[str, str]:
    """Facts of the user, which must map names to text."""
    if provenance is None:
        return {}
    if not isinstance(provenance, dict) or not all(
        isinstance(text, str) for pair in provenance.items() for text in pair
    ):
        raise TypeError(
            "provenance must be a dict of text by name, such as {'source': 'applications of 2025'};"
            f" got {provenance!r}. Known names are {join_names(FACT_TITLES)}."
        )
    return provenance


def write_kicker(title: str, facts: dict[str, str]) -> str:
    """What stands above the heading of a page: what it is, of which date and file."""
    return " · ".join([title, *(facts[name] for name in ("date", "file") if name in facts)])


def tabulate_facts(
    facts: Iterable[tuple[str, str]],
) -> tuple[Folded, list[tuple]]:
    """The section of a page on what was audited."""
    rows = [(fact, False) for fact in facts]
    return Folded("What was audited"), [("Facts", "", ("Fact", "Value"), rows)]


def titled_facts(facts: dict[str, str]) -> list[tuple[str, str]]:
    """Pairs of the title and the text of each fact, the known ones first."""
    names = dict.fromkeys((*FACT_TITLES, *facts))
    return [(FACT_TITLES.get(name, name), facts[name]) for name in names if name in facts]
