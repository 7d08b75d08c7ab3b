"""Reports as HTML, Markdown and JSON, and the facts that they state."""

import json
import platform
import re
from abc import abstractmethod
from datetime import date
from functools import cache, partial
from html import escape
from importlib.metadata import version
from math import isfinite, isnan
from os import PathLike
from os.path import isfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from skfair import __version__
from skfair.audit._reading import Reading
from skfair.statistics._gaps import Interval
from skfair.utils._api import Record
from skfair.utils._checks import join_names
from skfair.utils._fit import write_text

# Style sheet of a report: light and dark, for telephone, screen and paper.


STYLE = """
.skfair-report{--ink:#1b1f24;--soft:#57606a;--paper:#fff;--line:#c9d1d9;--mark:#eef4fb;--bar:#0072b2;
--stroke:#1b1f24;--ref:#b84a00;font:16px/1.5 system-ui,sans-serif;color:var(--ink);
background:var(--paper);max-width:70rem;margin:0 auto;padding:1rem;box-sizing:border-box;
text-align:left}
@media (prefers-color-scheme:dark){.skfair-report{--ink:#e6edf3;--soft:#9da7b3;--paper:#0d1117;
--line:#3d444d;--mark:#17263a;--bar:#5b8fd0;--stroke:#b9d7fb;--ref:#f0a35e}
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
.skfair-report .line{fill:none;stroke:var(--stroke);stroke-width:2}
.skfair-report .tick{stroke:var(--soft)}
.skfair-report svg text{font-size:12px;fill:currentColor}
@media (max-width:40rem){.skfair-report svg text{font-size:19px}
.skfair-report table{font-size:.8rem}.skfair-report th,.skfair-report td{padding-right:.3rem}
.skfair-report table:has(thead th:nth-child(5)){font-size:.75rem}
.skfair-report table:has(thead th:nth-child(7)){font-size:.68rem}
.skfair-report table:has(thead th:nth-child(7)) :is(th,td){padding-right:.15rem}
.skfair-report tbody th{min-width:5.2rem;overflow-wrap:break-word;hyphens:auto}
.skfair-report tr.marked :is(th,td){font-weight:inherit}.skfair-report small{white-space:normal}
.skfair-report td>div{min-width:6rem}.skfair-report td>div>span{flex:1 1 6rem}
.skfair-report td:has(svg){width:auto}.skfair-report svg{flex-basis:5rem}}
.skfair-report td:nth-child(2):last-child{overflow-wrap:anywhere}
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
        lines += [line for element in elements for line in _render_element(element)]
        lines.append("</section>")
    return "\n".join([*lines, "</article>"])


class Markup(str):
    """HTML that a page shows as it is."""


def _render_element(element):
    """Yield the lines of a paragraph, a list, a table or markup."""
    if isinstance(element, Markup):
        yield element
    elif isinstance(element, str):
        text = escape(element).replace(" %", "&nbsp;%")  # no line begins with the sign
        yield f'<p class="finding">{text}</p>'
    elif isinstance(element, list):
        yield "".join(("<ul>", *(f"<li>{escape(text)}</li>" for text in element), "</ul>"))
    else:
        yield from render_table(*element)


def render_table(caption, note, titles, rows):
    """A table that scrolls within its frame, by keyboard too, where the page is narrow."""
    yield f'<div class="frame" role="region" aria-label="{escape(caption)}" tabindex="0"><table>'
    note = "".join(note)  # perhaps with a part about pictures
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
    return f"<div><span>{html}</span>{draw_interval(*picture[0])}</div>" if picture else html


def draw_interval(low, value, high, reference, scale):
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
    if isfinite(value):
        shapes.append(draw_line("at", value, value, 4, 16))
    return (
        '<svg viewBox="0 0 100 20" preserveAspectRatio="none" aria-hidden="true" focusable="false">'
        f"{''.join(shapes)}</svg>"
    )


# Sections of a report as Markdown, with tables of GitHub's dialect.


_MARKDOWN_SPECIAL_CHARACTERS = re.compile(r"([\\`*_\[\]<>|#~&])")
"""Characters that are escaped, so that names are shown as they are written."""


def render_markdown(title, sections, level=1):
    """The whole text; its title is a heading of this level."""
    blocks = [f"{'#' * level} {_escape_markdown(title)}"]
    for heading, elements in sections:
        blocks.append(f"{'#' * (level + 1)} {_escape_markdown(heading)}")
        blocks += [block for element in elements for block in _render_markdown_element(element)]
    return "\n\n".join(blocks) + "\n"


def _render_markdown_element(element):
    """Yield the blocks of a paragraph, a list or a table."""
    if isinstance(element, Markup):
        return
    if isinstance(element, str):
        yield _escape_markdown(element)
    elif isinstance(element, list):
        yield "\n".join(f"- {_escape_markdown(text)}" for text in element)
    else:
        caption, note, titles, rows = element
        note = note if isinstance(note, str) else note[0]
        yield f"**{_escape_markdown(caption)}**" + (f" {_escape_markdown(note)}" if note else "")
        lines = [
            map(_escape_markdown, titles),
            ["---"] * len(titles),
            *(map(_markdown_cell, cells) for cells, _ in rows),
        ]
        header, rule, *rows = (f"| {' | '.join(line)} |" for line in map(list, lines))
        yield "\n".join([header, rule, *rows])


def _markdown_cell(cell):
    """A cell: text, perhaps with a remark in parentheses; pictures are left out."""
    text, remark, *_ = (cell, "") if isinstance(cell, str) else cell
    return _escape_markdown(text) + (f" ({_escape_markdown(remark)})" if remark else "")


def _escape_markdown(text):
    """Text in one line that Markdown shows as it is written."""
    return _MARKDOWN_SPECIAL_CHARACTERS.sub(r"\\\1", " ".join(text.split()))


# Texts in JSON that name their format and version.


dump_json = partial(
    json.dumps, allow_nan=False, ensure_ascii=False, indent=1, default=lambda number: number.item()
)
"""The text of a value to read: one line by entry, numbers of numpy as those of Python."""


def add_header(kind, version, content):
    """The content of a text that a class writes, by name, after its format and version."""
    return {"format": f"skfair.{kind}", "version": version} | content


def load_content(text, kind, versions, source="", advice=""):
    """Return the content of a text that a class wrote in one of these versions, as a dict.

    `source` is what the text might have been instead, and `advice` what to pass, in errors.
    """
    try:
        content = json.loads(text)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"text must be the JSON that {kind}.to_json returned{source}, but it is "
            f"{'neither' if source else 'not JSON'} ({error}).{advice}"
        ) from error
    if not isinstance(content, dict) or content.get("format") != f"skfair.{kind}":
        raise ValueError(
            f'text must be JSON with "format": "skfair.{kind}", as {kind}.to_json returns it; this '
            "is other JSON."
        )
    if (written := content.get("version")) not in versions:
        raise ValueError(
            f"This version of skfair reads version {join_names(map(str, versions))} of what "
            f"{kind}.to_json writes, but the text has version {written!r}; read it with the "
            "version of skfair that wrote it."
        )
    return content


# Reports as JSON and back; the guide publishes the schema.


SCHEMA_VERSION = 6
"""Version of the schema; a change of the meaning of a field raises it. Version 5 has no burden."""

_TEXT_COLUMNS = (
    *("attribute", "group", "metric", "interval", "lowest", "highest"),
    *("subgroup", "left_out", "four_fifths"),
)
_FLAG_COLUMNS = ("is_small", "is_reference", "is_significant", "is_listed")


def encode_document(kind, content):
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

    def text(cell):
        return cell if isinstance(cell, str) else " ".join(cell[:2])

    texts = [map(text, row) for row, _ in rows]
    return {"caption": caption, "rows": [dict(zip(titles, row, strict=True)) for row in texts]}


def _encode(value):
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


def read_document(source, kind, fields):
    """Values by name from a text that `encode_document` made, or from the path of a file of it."""
    is_path = isinstance(source, PathLike) or (isinstance(source, str) and isfile(source))
    text = Path(source).read_text(encoding="utf-8") if is_path else source
    instead = ", or the path of a file that exists"
    content = load_content(text, kind, (5, SCHEMA_VERSION), instead)
    if absent := {*fields} - set(content):
        raise ValueError(f"The text of a {kind} must have the fields {join_names(sorted(absent))}.")
    if content["version"] == 5 and isinstance(reading := content["reading"], dict):
        reading.setdefault("burden", None)
    return content


def decode_report(source, fields):
    """Arguments of the constructor of a report from its text, or from the path of a file of it."""
    content = read_document(source, "FairnessReport", fields)
    content["reading"] = Reading.from_dict(content["reading"])
    if content["balance"] is not None:
        content["balance"] = Interval._make(content["balance"])
    if (subgroups := content["subgroups"]) is not None:
        tables = {name: _decode_table(subgroups[name]) for name in ("flagged", "searches")}
        content["subgroups"] = subgroups | tables | {"reading": content["reading"]}
    for name in ("reliability", "thresholds"):
        if content[name] is not None:
            content[name] = _decode_table(content[name])
    return content | {name: _decode_table(content[name]) for name in ("frame", "gaps")}


def _decode_table(columns):
    """A table from lists by name: text, flags and numbers."""
    return pd.DataFrame({name: _decode_column(name, values) for name, values in columns.items()})


def _decode_column(name, values):
    """A column of a table: text, flags, integers or real numbers."""
    if name in _TEXT_COLUMNS:
        return values
    if name in _FLAG_COLUMNS:
        return np.array(values, dtype=bool)
    if values and all(isinstance(value, int) for value in values):
        return np.array(values)
    return np.array([np.nan if value is None else float(value) for value in values])


# What reports share: findings, and the forms in which they are shown and stored.


AUDIT_CALL = "Audit.from_predictions(y_true, y_pred, sensitive_features=...)"
"""What makes the audit whose methods make reports, as messages state it."""


class Report(Record):
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

    def __str__(self):
        return "\n".join(filter(None, [self.title, *self.findings]))


class PageReport(Report):
    """Base of reports of sections, `_sections()`: pairs of a heading and its elements."""

    def to_html(self, path: str | PathLike[str] | None = None) -> str:
        """The report as one self-contained page: no network, no scripts.

        Parameters
        ----------
        path : str or path-like, default=None
            File to write; None writes none.

        Returns
        -------
        html : str
            The page.
        """
        return write_text(render_page(self.title, self._sections()), path)

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
        return write_text(render_markdown(self.title, self._sections()), path)

    @abstractmethod
    def _sections(self) -> Any:
        """Return the sections of the report."""

    def _repr_html_(self):
        return render_fragment(self.title, self._sections())


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


def collect_facts(provenance, **known):
    """Facts as text by name: the date and versions, known ones, and those of the user."""
    facts = {"date": date.today().isoformat(), "versions": _versions()}
    facts |= {name: str(value) for name, value in known.items() if value is not None}
    return facts | _check_provenance(provenance)


@cache
def _versions():
    """Versions of the packages that compute a report; reading them takes milliseconds."""
    versions = [f"skfair {__version__}", f"Python {platform.python_version()}"]
    packages = ("numpy", "pandas", "scipy", "scikit-learn")
    return ", ".join([*versions, *(f"{name} {version(name)}" for name in packages)])


def _check_provenance(provenance):
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


def tabulate_facts(facts):
    """The section of a page on what was audited."""
    rows = [(fact, False) for fact in facts]
    return "What was audited", [("Facts", "", ("Fact", "Value"), rows)]


def titled_facts(facts):
    """Pairs of the title and the text of each fact, the known ones first."""
    names = [name for name in FACT_TITLES if name in facts]
    names += [name for name in facts if name not in FACT_TITLES]
    return [(FACT_TITLES.get(name, name), facts[name]) for name in names]
