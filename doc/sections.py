"""Write ``_static/sections.js`` beside the built pages: their sections, titles and text.

An extension of Sphinx that runs when the build is finished. The search of the pages reads the file,
which is a script, as pages that are opened from a disk may load scripts only.
"""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

LEFT_OUT = ("_", "genindex", "search", "py-modindex", "developer", "extending")
"""Beginnings of pages that no search of users should find: lists, and pages for developers."""

TITLES_ALONE = ("index.html", "guide.html")
"""Pages that lead to others: their text would be found for every question."""

HEADINGS = ("h1", "h2", "h3", "h4")
BLOCKS = ("p", "li", "dt", "dd", "td", "th", "div")
"""Tags that end a word."""

COUNTED = {"article": "article", "script": "skipped", "style": "skipped", "pre": "code"}
COUNTED |= dict.fromkeys(HEADINGS, "heading")
"""Tags -> what is counted while they are open."""


class Section(NamedTuple):
    """A section of a page, or a member of a class or a term, which have addresses of their own."""

    anchor: str
    heading: list[str]
    text: list[str]
    code: list[str]


class SectionParser(HTMLParser):
    """Reads the sections of the article of a page."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.sections = []
        self.open = []  # pairs of a tag and its section, or None
        self.depths = dict.fromkeys(COUNTED.values(), 0)

    def handle_starttag(self, tag, attributes):
        """Open a section, a list of definitions or what is counted."""
        attributes = dict(attributes)
        name = attributes.get("id") or ""
        if tag in BLOCKS:
            self.handle_data(" ")
        if tag in COUNTED:
            self.depths[COUNTED[tag]] += 1
        if tag == "section":
            self.open.append((tag, self.add_section(name)))
        elif tag == "dl":
            self.open.append((tag, None))
        elif tag == "dt" and name.startswith(("skfair.", "term-")) and self.open:
            self.open[-1] = ("dl", self.add_section(name, name_object(name)))
        elif tag == "a" and "headerlink" in (attributes.get("class") or ""):
            self.depths["skipped"] += 1
            self.open.append((tag, None))

    def add_section(self, anchor, heading=""):
        """Begin a section and return it."""
        section = Section(anchor, [heading], [], [])
        self.sections.append(section)
        return section

    def handle_endtag(self, tag):
        """Close what was opened."""
        if tag in COUNTED:
            self.depths[COUNTED[tag]] -= 1
        if tag in ("section", "dl", "a") and self.open and self.open[-1][0] == tag:
            self.open.pop()
            if tag == "a":
                self.depths["skipped"] -= 1

    def handle_data(self, data):
        """Add a text to the innermost section."""
        section = next((one for _, one in reversed(self.open) if one is not None), None)
        if section is None or not self.depths["article"] or self.depths["skipped"]:
            return
        if self.depths["heading"]:
            section.heading.append(data)
        else:
            (section.code if self.depths["code"] else section.text).append(data)


def name_object(anchor):
    """The heading of a term, a function, or a member with its class."""
    if anchor.startswith("term-"):
        return anchor.removeprefix("term-").replace("-", " ")
    names = anchor.split(".")
    return " ".join(names[-2:] if names[-2][:1].isupper() else names[-1:])


def read_sections(page, file, entries):
    """Rows of page, title of the page, anchor, heading, entries of the index, text and code."""
    parser = SectionParser()
    parser.feed(file.read_text(encoding="utf-8"))
    rows = []
    for section in parser.sections:
        heading, text, code = (" ".join("".join(part).split()) for part in section[1:])
        title = rows[0][1] if rows else heading
        if page in TITLES_ALONE:
            text = code = ""
        code = " ".join(dict.fromkeys(re.findall(r"[A-Za-z_]\w{2,}", code)))  # each word once
        first = not rows
        rows.append(
            [
                page,
                title,
                "" if first else section.anchor,
                heading,
                entries if first else "",
                text,
                code,
            ]
        )
    return rows


def read_entries(source):
    """Main entries (``.. index:: ! words``) of a source, which count like a title."""
    if not source.exists():
        return ""
    lines = re.findall(r"^\.\. index:: (.+)$", source.read_text(encoding="utf-8"), re.MULTILINE)
    entries = [entry.strip() for line in lines for entry in line.split(", ")]
    return " | ".join(entry[1:].strip() for entry in entries if entry.startswith("!"))


def write_sections(built, sources):
    """Write the sections of all built pages."""
    rows = []
    for file in sorted(Path(built).rglob("*.html")):
        page = file.relative_to(built).as_posix()
        if not page.startswith(LEFT_OUT):
            entries = read_entries(Path(sources, page).with_suffix(".rst"))
            rows += read_sections(page, file, entries)
    text = json.dumps(rows, ensure_ascii=False, separators=(",", ":"))
    Path(built, "_static", "sections.js").write_text(f"var SECTIONS={text};\n", encoding="utf-8")


def finish(app, error):
    """Write the sections after the pages."""
    if error is None and app.builder.format == "html":
        write_sections(app.outdir, app.srcdir)


def setup(app):
    """Connect to the end of a build."""
    app.connect("build-finished", finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
