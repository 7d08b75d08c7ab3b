"""Sections of a report as one page of HTML, without scripts and external resources."""

from html import escape
from math import isfinite

from skfair.audit._page_style import STYLE


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
