"""Which pages of the built documentation are wider than a telephone, or than a window.

``make doc`` runs it where a Chromium is installed; it ends with 1 if a page is too wide.
"""

import html
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
WIDTHS = (390, 1300)
TOGETHER = 25  # pages in one browser

# A headless window is 500 pixels wide at least; a frame inside has any width.
READER = """<script>
window.onload = () => {
  const excess = element => element ? element.scrollWidth - element.clientWidth : 0;
  const found = [...document.querySelectorAll('iframe')].map(({contentDocument: page}) =>
    Math.max(excess(page.documentElement), excess(page.querySelector('.bd-article'))));
  document.body.textContent = 'FOUND ' + JSON.stringify(found);
};
</script>"""


def excesses(browser, pages, width):
    """By how many pixels each of some pages is wider than a window, or its text than its column."""
    with tempfile.TemporaryDirectory() as folder:
        frames = "".join(
            f'<iframe src="{page.as_uri()}" style="width:{width}px; height:900px"></iframe>'
            for page in pages
        )
        together = Path(folder, "frames.html")
        together.write_text(f"<!DOCTYPE html><body>{frames}{READER}", encoding="utf-8")
        command = [
            browser,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--allow-file-access-from-files",
            f"--user-data-dir={folder}/profile",
            "--virtual-time-budget=8000",
            "--dump-dom",
            together.as_uri(),
        ]
        seen = subprocess.run(command, capture_output=True, text=True, timeout=600)
    found = re.search(r"FOUND (\[.*?\])", html.unescape(seen.stdout))
    if found is None:
        sys.exit(f"{browser} showed no pages:\n{seen.stdout[-500:]}{seen.stderr[-500:]}")
    return json.loads(found[1])


def main():
    """Look at all pages."""
    built = Path(__file__).parent / "_build" / "html"
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        print(f"Widths of pages were not looked at: none of {', '.join(BROWSERS)} is installed.")
        return
    aside = {"_static", "_downloads"}
    pages = [page for page in sorted(built.rglob("*.html")) if aside.isdisjoint(page.parts)]
    if not pages:
        sys.exit(f"There are no pages in {built}: run make doc.")
    wide = [
        f"{page.relative_to(built)}: {excess} pixels too wide for {width}"
        for width in WIDTHS
        for some in (pages[i : i + TOGETHER] for i in range(0, len(pages), TOGETHER))
        for page, excess in zip(some, excesses(browser, some, width), strict=True)
        if excess > 0
    ]
    print(*wide, f"{len(pages)} pages at {WIDTHS} pixels, {len(wide)} too wide", sep="\n")
    sys.exit(bool(wide))


if __name__ == "__main__":
    main()
