"""Formats of a report: HTML, Markdown and JSON."""

import json
import re
from html import escape
from math import isfinite, isnan
from os import PathLike
from os.path import isfile
from pathlib import Path

import numpy as np
import pandas as pd

from skfair.inference import Interval
from skfair.utils._checks import join_names

# Style sheet of a report: light and dark, for telephone, screen and paper.


STYLE = """
.skfair-report{--ink:#1b1f24;--soft:#57606a;--paper:#fff;--line:#c9d1d9;--mark:#eef4fb;--bar:#7aa7d9;
--stroke:#0b3d75;--ref:#a04000;font:16px/1.5 system-ui,sans-serif;color:var(--ink);
background:var(--paper);max-width:70rem;margin:0 auto;padding:1rem;box-sizing:border-box;
text-align:left}
@media (prefers-color-scheme:dark){.skfair-report{--ink:#e6edf3;--soft:#9da7b3;--paper:#0d1117;
--line:#3d444d;--mark:#17263a;--bar:#3f6fa8;--stroke:#b9d7fb;--ref:#f0a35e}
body:has(>main>.skfair-report){background:#0d1117}}
.skfair-report h1{font-size:1.7rem;line-height:1.2;margin:.5rem 0 1rem;overflow-wrap:anywhere}
.skfair-report h2{font-size:1.25rem;margin:1.6rem 0 .6rem;overflow-wrap:anywhere}
.skfair-report p,.skfair-report li{max-width:46rem;margin:.35rem 0;overflow-wrap:anywhere}
.skfair-report .finding{font-size:1.1rem}
.skfair-report .frame{overflow-x:auto;margin:0 0 1.4rem}
.skfair-report .frame:focus{outline:2px solid var(--stroke);outline-offset:2px}
.skfair-report table{border-collapse:collapse;width:100%;font-size:.92rem;
font-variant-numeric:tabular-nums;color:inherit;background:none}
.skfair-report caption{text-align:left;font-weight:600;padding:.3rem 0;color:inherit}
.skfair-report small{color:var(--soft);font-size:.85em;white-space:nowrap}
.skfair-report caption>*{display:block;position:sticky;left:0;white-space:normal;
max-width:min(46rem,calc(100vw - 2.5rem))}
.skfair-report caption small{font-weight:400}
.skfair-report td:has(svg){width:50%}
.skfair-report td>div{display:flex;flex-wrap:wrap;align-items:center;gap:0 1rem;min-width:11rem}
.skfair-report td>div>span{flex:0 0 11rem}
.skfair-report th,.skfair-report td{text-align:left;padding:.3rem .8rem .3rem 0;font-weight:400;
border-bottom:1px solid var(--line);vertical-align:middle;background:none}
.skfair-report thead th{color:var(--soft);font-size:.85em;vertical-align:bottom}
.skfair-report tbody th{max-width:16rem;overflow-wrap:anywhere;min-width:6rem}
.skfair-report tr.marked th,.skfair-report tr.marked td{background:var(--mark);font-weight:600}
.skfair-report svg{display:block;flex:1 1 8rem;min-width:0;height:1.25rem;overflow:visible}
.skfair-report svg line{vector-effect:non-scaling-stroke}
.skfair-report .span{stroke:var(--bar);stroke-width:7}
.skfair-report .at{stroke:var(--stroke);stroke-width:3}
.skfair-report .ref{stroke:var(--ref);stroke-width:1.5;stroke-dasharray:3 3}
@media print{.skfair-report{--ink:#000;--soft:#333;--paper:#fff;--line:#999;--mark:#eee;--bar:#999;
--stroke:#000;--ref:#000;font-size:10pt;max-width:none}
.skfair-report .frame{overflow:visible;break-inside:avoid}
.skfair-report h1,.skfair-report h2,.skfair-report caption,.skfair-report thead{break-after:avoid}
body:has(>main>.skfair-report){background:#fff}}
"""
"""Rules that apply inside a report only."""


# Sections of a report as one page of HTML, without scripts and external resources.


def render_page(title, sections):
    """The whole page, as HTML."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<title>{escape(title)}</title>\n</head>\n<body style="margin:0">\n'
        f"<main>\n{render_fragment(title, sections)}\n</main>\n</body>\n</html>\n"
    )


def render_fragment(title, sections):
    """The report with its style as a part of a page, which is what notebooks show."""
    lines = [f"<style>{STYLE}</style>", '<article class="skfair-report">']
    lines.append(f"<h1>{escape(title)}</h1>")
    for heading, elements in sections:
        lines.append(f"<section><h2>{escape(heading)}</h2>")
        lines += [line for element in elements for line in _render(element)]
        lines.append("</section>")
    return "\n".join([*lines, "</article>"])


def _render(element):
    """Yield the lines of a paragraph, a list or a table."""
    if isinstance(element, str):
        yield f'<p class="finding">{escape(element)}</p>'
    elif isinstance(element, list):
        yield "".join(("<ul>", *(f"<li>{escape(text)}</li>" for text in element), "</ul>"))
    else:
        yield from render_table(*element)


def render_table(caption, note, titles, rows):
    """A table that scrolls within its frame, by keyboard too, where the page is narrow."""
    yield f'<div class="frame" role="region" aria-label="{escape(caption)}" tabindex="0"><table>'
    small = f"<small>{escape(note)}</small>" if note else ""
    yield f"<caption><span>{escape(caption)}</span>{small}</caption><thead><tr>"
    yield "".join(f'<th scope="col">{escape(title)}</th>' for title in titles)
    yield "</tr></thead><tbody>"
    for (first, *cells), is_marked in rows:
        marked = ' class="marked"' if is_marked else ""
        yield f'<tr{marked}><th scope="row">{escape(first)}</th>'
        yield "".join(f"<td>{_cell(cell)}</td>" for cell in cells) + "</tr>"
    yield "</tbody></table></div>"


def _cell(cell):
    """A cell: text, perhaps with a smaller remark and a picture."""
    text, remark, *picture = (cell, "") if isinstance(cell, str) else cell
    html = escape(text) + (f" <small>{escape(remark)}</small>" if remark else "")
    return f"<div><span>{html}</span>{draw_strip(*picture[0])}</div>" if picture else html


def draw_strip(low, value, high, reference, scale):
    """Picture of the interval, the value and, dashed, the value of the reference group."""

    def position(value):
        return f"{100 * (value - scale[0]) / (scale[1] - scale[0]):.1f}"

    def draw_line(kind, start, end, top, bottom):
        x1, x2 = position(start), position(end)
        return f'<line class="{kind}" x1="{x1}" x2="{x2}" y1="{top}" y2="{bottom}"/>'

    shapes = []
    if reference is not None:
        shapes.append(draw_line("ref", reference, reference, 0, 20))
    if isfinite(low) and isfinite(high):
        shapes.append(draw_line("span", low, high, 10, 10))
    shapes.append(draw_line("at", value, value, 4, 16))
    return (
        '<svg viewBox="0 0 100 20" preserveAspectRatio="none" aria-hidden="true" focusable="false">'
        f"{''.join(shapes)}</svg>"
    )


# Sections of a report as Markdown, with tables of GitHub's dialect.


_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~&])")
"""Characters that are escaped, so that names are shown as they are written."""


def render_markdown(title, sections):
    """The whole text."""
    blocks = [f"# {_escape(title)}"]
    for heading, elements in sections:
        blocks.append(f"## {_escape(heading)}")
        blocks += [block for element in elements for block in _render_markdown(element)]
    return "\n\n".join(blocks) + "\n"


def _render_markdown(element):
    """Yield the blocks of a paragraph, a list or a table."""
    if isinstance(element, str):
        yield _escape(element)
    elif isinstance(element, list):
        yield "\n".join(f"- {_escape(text)}" for text in element)
    else:
        caption, note, titles, rows = element
        yield f"**{_escape(caption)}**" + (f" {_escape(note)}" if note else "")
        lines = [
            map(_escape, titles),
            ["---"] * len(titles),
            *(map(_markdown_cell, cells) for cells, _ in rows),
        ]
        header, rule, *rows = (f"| {' | '.join(line)} |" for line in map(list, lines))
        yield "\n".join([header, rule, *rows])


def _markdown_cell(cell):
    """A cell: text, perhaps with a remark in parentheses; pictures are left out."""
    text, remark, *_ = (cell, "") if isinstance(cell, str) else cell
    return _escape(text) + (f" ({_escape(remark)})" if remark else "")


def _escape(text):
    """Text in one line that Markdown shows as it is written."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


# Reports as JSON and back; the guide publishes the schema.


FORMAT, CERTIFICATE_FORMAT = "skfair.FairnessReport", "skfair.Certificate"
SUBGROUPS_FORMAT = "skfair.SubgroupReport"
VERSION = 1
"""Version of the schema; a change of the meaning of a field raises it."""

FIELDS = (
    *("title", "kind", "n_samples", "confidence_level", "min_group_size", "min_share"),
    *("n_missing", "counts_samples", "balance", "subgroups", "assumption"),
    "provenance",
)
"""Arguments of the constructor, besides the two tables."""

_TEXT = ("attribute", "group", "measure", "lowest", "highest", "subgroup")
_FLAGS = ("is_small", "is_reference", "is_significant", "is_listed")


def report_to_json(report):
    """The text of a report."""
    fields = {name: getattr(report, name) for name in FIELDS}
    if report.subgroups is not None:
        fields["subgroups"] = encode_subgroups(report.subgroups)
    tables = {name: _encode_table(getattr(report, name)) for name in ("frame", "gaps")}
    content = {"format": FORMAT, "version": VERSION} | fields | tables
    return json.dumps(content, allow_nan=False, ensure_ascii=False, indent=1, default=_to_python)


def certificate_to_json(certificate):
    """The text of a certificate: its attributes and its sentence."""
    fields = {name: _encode(value) for name, value in certificate._asdict().items()}
    content = {"format": CERTIFICATE_FORMAT, "version": VERSION} | fields
    return json.dumps(
        content | {"text": str(certificate)}, allow_nan=False, ensure_ascii=False, indent=1
    )


def subgroups_to_json(subgroups):
    """The text of a report on subgroups: its attributes and its findings."""
    content = {"format": SUBGROUPS_FORMAT, "version": VERSION} | encode_subgroups(subgroups)
    return json.dumps(
        content | {"findings": subgroups.findings}, allow_nan=False, ensure_ascii=False, indent=1
    )


def encode_subgroups(subgroups):
    """Arguments of a report on subgroups as values of JSON, by name."""
    fields = {"confidence_level": subgroups.confidence_level, "direction": subgroups.direction}
    tables = {name: _encode_table(getattr(subgroups, name)) for name in ("flagged", "searches")}
    return fields | tables


def _to_python(number):
    """A number of numpy as one of Python."""
    return number.item()


def _encode_table(table):
    """Columns of a table, as lists by name."""
    return {name: [_encode(value) for value in table[name].tolist()] for name in table}


def _encode(value):
    """A value of JSON: nan becomes null, and infinities become text."""
    if not isinstance(value, float) or abs(value) < float("inf"):
        return value
    return None if isnan(value) else str(value)


def report_fields(source):
    """Arguments of the constructor of a report from its text, or from the path of a file of it."""
    is_path = isinstance(source, PathLike) or (isinstance(source, str) and isfile(source))
    text = Path(source).read_text(encoding="utf-8") if is_path else source
    try:
        content = json.loads(text)
    except (TypeError, json.JSONDecodeError) as error:
        raise ValueError(
            f"text must be the JSON that FairnessReport.to_json returned, or the path of a file "
            f"that exists, but it is neither ({error})."
        ) from error
    if not isinstance(content, dict) or content.pop("format", None) != FORMAT:
        raise ValueError(
            f'text must be JSON with "format": "{FORMAT}", as FairnessReport.to_json returns it; '
            "this is other JSON."
        )
    if (version := content.pop("version", None)) != VERSION:
        raise ValueError(
            f"This version of skfair reads version {VERSION} of the format, but the text has "
            f"version {version!r}; read it with the version of skfair that it names."
        )
    if absent := {*FIELDS, "frame", "gaps"} - set(content):
        raise ValueError(f"The text of a report must have the fields {join_names(sorted(absent))}.")
    if content["balance"] is not None:
        content["balance"] = Interval(*content["balance"])
    if (subgroups := content["subgroups"]) is not None:
        tables = {name: _decode_table(subgroups[name]) for name in ("flagged", "searches")}
        content["subgroups"] = subgroups | tables
    return content | {name: _decode_table(content[name]) for name in ("frame", "gaps")}


def _decode_table(columns):
    """A table from lists by name: text, flags and numbers."""
    return pd.DataFrame({name: _decode_column(name, values) for name, values in columns.items()})


def _decode_column(name, values):
    """A column of a table: text, flags, integers or real numbers."""
    if name in _TEXT:
        return np.array(values, dtype=object)
    if name in _FLAGS:
        return np.array(values, dtype=bool)
    if values and all(isinstance(value, int) for value in values):
        return np.array(values)
    return np.array([np.nan if value is None else float(value) for value in values])
