"""The changelog as a page: ``doc/conf.py`` writes the text of ``CHANGELOG.md`` beside the pages."""

import re
from pathlib import Path

CHANGELOG = Path(__file__).parents[1] / "CHANGELOG.md"
UNDERLINES = {"## ": "=", "### ": "-"}


def page_text():
    """The changelog below its title, in reStructuredText."""
    lines = CHANGELOG.read_text(encoding="utf-8").splitlines()[1:]
    page = []
    for line in lines:
        if line.startswith("|---"):
            continue
        if line.startswith("|"):
            page += _format_row(line, is_first=not page or not page[-1].startswith("     "))
        else:
            page += _format_line(line)
    return "\n".join([*page, ""])


def _format_row(line, is_first):
    """Lines of a row of a table, the first with its directive."""
    first, *others = (_format_inline(cell.strip()) for cell in line.strip("|").split("|"))
    head = [".. list-table::", "   :header-rows: 1", "   :class: stacked", ""] if is_first else []
    return [*head, f"   * - {first}", *(f"     - {cell}" for cell in others)]


def _format_line(line):
    """Lines of a heading with its underline, or of text."""
    for mark, underline in UNDERLINES.items():
        if line.startswith(mark):
            title = line.removeprefix(mark)
            return [title, underline * len(title)]
    return [_format_inline(line)]


def _format_inline(text):
    """Code and links of Markdown as those of pages."""
    text = re.sub("`([^`]+)`", r"``\1``", text)
    text = re.sub(r"\[([^\]]+)\]\(doc/(\w+)\.rst\)", r":doc:`\1 <\2>`", text)
    return re.sub(r"\[([^\]]+)\]\((https?://[^)]+)\)", r"`\1 <\2>`__", text)
