"""Sections of a report as Markdown, with tables of GitHub's dialect."""

import re

_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~&])")
"""Characters that are escaped, so that names are shown as they are written."""


def render_markdown(title, sections):
    """The whole text."""
    blocks = [f"# {_escape(title)}"]
    for heading, elements in sections:
        blocks.append(f"## {_escape(heading)}")
        blocks += [block for element in elements for block in _render(element)]
    return "\n\n".join(blocks) + "\n"


def _render(element):
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
            *(map(_cell, cells) for cells, _ in rows),
        ]
        header, rule, *rows = (f"| {' | '.join(line)} |" for line in map(list, lines))
        yield "\n".join([header, rule, *rows])


def _cell(cell):
    """A cell: text, perhaps with a remark in parentheses; pictures are left out."""
    text, remark, *_ = (cell, "") if isinstance(cell, str) else cell
    return _escape(text) + (f" ({_escape(remark)})" if remark else "")


def _escape(text):
    """Text in one line that Markdown shows as it is written."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))
