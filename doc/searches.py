"""Search the built documentation for what users type, for the index's main entries and for titles.

``make doc`` runs it where a Chromium is installed. It ends with 1 if a main entry leads to another
page, or if too few searches or titles list a page that answers them near the top. ``--misses``
prints what the tuned lists do not find.
"""

import json
import re
import sys
import tempfile
from pathlib import Path

from search_lists import LISTS, TUNED
from sections import LEFT_OUT
from widths import BROWSERS, find_browser, render

HOME = Path(__file__).parent
STATIC = HOME / "_build" / "html" / "_static"

REQUIRED = {
    "wanted": (70, 78, 1),
    "first look": (40, 53, 0),
    "held out": (12, 17, 0),
    "second look": (12, 18, 0),
    "third look": (15, 18, 0),
    "forty": (24, 32, 0),
    "titles of pages": (33, 33, 0),
    "titles of sections": (260, 265, 0),
}
"""List -> least numbers whose page is first and in the first three, most that find nothing."""

READER = """<script>
const index = SectionSearch.build(SECTIONS);
const pages = QUERIES.map(query => SectionSearch.search(index, query).map(({page}) => page));
document.body.textContent = "RESULTS " + JSON.stringify(pages) + " END";
</script>"""


def main_entries():
    """Return the page of each main entry of the index."""
    entries = {}
    for page in sorted(HOME.glob("*.rst")):
        text = page.read_text(encoding="utf-8")
        for line in re.findall(r"^\.\. index:: (.+)$", text, flags=re.MULTILINE):
            names = [entry.removeprefix("! ") for entry in line.split(", ") if entry[:2] == "! "]
            entries |= dict.fromkeys(names, rf"^{page.stem}\.html")
    return entries


def list_titles():
    """Return the titles of pages and of sections that are searched, each with its page."""
    pages = {}
    sections = {}
    for page in sorted(HOME.glob("*.rst")):
        if page.name.startswith(LEFT_OUT):
            continue
        lines = page.read_text(encoding="utf-8").splitlines()
        for above, title, below in zip(lines, lines[1:], lines[2:], strict=False):
            if re.fullmatch("={3,}", below) and re.search(r"\w", title):
                titles = pages if re.fullmatch("={3,}", above) else sections
                titles[re.sub(r"[`:~?]", "", title)] = rf"^{page.stem}\.html"
    sections.pop("References", None)  # of several pages
    return pages, sections


def found_pages(browser, queries):
    """Return the names of the pages that each search lists, best first, each once."""
    scripts = [
        f'<script src="{(STATIC / name).as_uri()}"></script>'
        for name in (
            "sections.js",
            "section_search.js",
        )
    ]
    text = json.dumps(queries)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "searches.html")
        page.write_text(
            f"<!DOCTYPE html><meta charset=utf-8><body>{''.join(scripts)}"
            f"<script>const QUERIES = {text};</script>{READER}",
            encoding="utf-8",
        )
        shown, messages = render(browser, page.as_uri(), virtual_ms=60_000)
    results = re.search(r"RESULTS (\[\[.*?\]\]) END", shown)
    if results is None:
        sys.exit(f"{browser} found nothing in {STATIC}: run make doc.\n{messages[-500:]}")
    pages = [list(dict.fromkeys(one)) for one in json.loads(results[1])]
    return dict(zip(queries, pages, strict=True))


def rank(names, pages):
    """Return the position of the first page whose name has one of the parts, or None."""
    return next((i for i, page in enumerate(pages, start=1) if re.search(names, page)), None)


def judge(searches, results):
    """Return how many list a page first, in the first three, and find nothing; and the misses."""
    ranks = {query: rank(names, results[query]) for query, names in searches.items()}
    places = [place for place in ranks.values() if place is not None]
    counts = (
        places.count(1),
        sum(place <= 3 for place in places),
        sum(not results[query] for query in searches),
    )
    return counts, [query for query, place in ranks.items() if place != 1]


def main():
    """Search for all lists in one browser."""
    browser = find_browser()
    if browser is None:
        print(f"No search was run: none of {', '.join(BROWSERS)} is installed.")
        return
    pages, sections = list_titles()
    lists = LISTS | {"titles of pages": pages, "titles of sections": sections}
    entries = main_entries()
    queries = sorted({query for searches in (*lists.values(), entries) for query in searches})
    results = found_pages(browser, queries)
    is_good = True
    for name, searches in lists.items():
        counts, misses = judge(searches, results)
        first, near, empty = REQUIRED[name]
        is_good &= counts[0] >= first and counts[1] >= near and counts[2] <= empty
        mark = ", tuned" if name in TUNED else ""
        print(
            f"{name}{mark}: {len(searches)} searches: first {counts[0]}, in the first three "
            f"{counts[1]}, no hit {counts[2]} (required {first}, {near}, {empty})"
        )
        if "--misses" in sys.argv and name in TUNED:
            print(
                *(f"    {query}: {results[query][:3]}, not {searches[query]}" for query in misses),
                sep="\n",
            )
    _, wrong = judge(entries, results)
    for entry in wrong:
        print(f"The entry '{entry}' leads to {results[entry][:1]} first.")
    print(f"{len(entries)} main entries, {len(wrong)} lead to another page first")
    sys.exit(bool(wrong) or not is_good)


if __name__ == "__main__":
    main()
