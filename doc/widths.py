"""List the pages of the built documentation that are wider than a telephone, or than a window.

``make doc`` runs it where a Chromium is installed; it ends with 1 if a page is too wide.
"""

import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
WIDTHS = (390, 1300)
BATCH_SIZE = 25  # pages in one browser

# A headless window is 500 pixels wide at least; a frame inside has any width. A page is loaded once
# and laid out at every width.
READER = """<script>
window.onload = () => {
  const frames = [...document.querySelectorAll('iframe')];
  const excess = element => element ? element.scrollWidth - element.clientWidth : 0;
  const measure = ({contentDocument: page}) =>
    Math.max(excess(page.documentElement), excess(page.querySelector('.bd-article')));
  const excesses = WIDTHS.map(width => {
    frames.forEach(frame => frame.style.width = width + 'px');
    return frames.map(measure);
  });
  document.body.textContent = 'EXCESSES ' + JSON.stringify(excesses);
};
</script>"""


def frame(page):
    """Frame of a page. Scripts run only where MathJax sets formulas."""
    is_static = 'class="math' not in page.read_text(encoding="utf-8")
    sandbox = ' sandbox="allow-same-origin"' if is_static else ""
    return f'<iframe{sandbox} src="{page.as_uri()}" style="height:900px"></iframe>'


def find_browser():
    """Return the path of a Chromium, or None."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def render(browser, address, virtual_ms=8000):
    """Return the text of a page, and the messages of the browser, after its scripts have run."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            browser,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--allow-file-access-from-files",
            f"--user-data-dir={folder}/profile",
            f"--virtual-time-budget={virtual_ms}",
            "--dump-dom",
            address,
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    return html.unescape(done.stdout), done.stderr


def excesses(browser, pages, widths):
    """List by how many pixels each page is wider than a window, or its text than its column.

    There is one list per width.
    """
    with tempfile.TemporaryDirectory() as folder:
        script = READER.replace("WIDTHS", json.dumps(widths))
        together = Path(folder, "frames.html")
        frames = "".join(map(frame, pages))
        together.write_text(f"<!DOCTYPE html><body>{frames}{script}", encoding="utf-8")
        shown, messages = render(browser, together.as_uri())
    text = re.search(r"EXCESSES (\[\[.*?\]\])", shown)
    if text is None:
        sys.exit(f"{browser} showed no pages:\n{shown[-500:]}{messages[-500:]}")
    return json.loads(text[1])


def main():
    """Measure all pages, several browsers at once."""
    built = Path(__file__).parent / "_build" / "html"
    browser = find_browser()
    if browser is None:
        print(f"Widths of pages were not measured: none of {', '.join(BROWSERS)} is installed.")
        return
    others = {"_static", "_downloads"}
    pages = [page for page in sorted(built.rglob("*.html")) if others.isdisjoint(page.parts)]
    if not pages:
        sys.exit(f"There are no pages in {built}: run make doc.")
    batches = [pages[i : i + BATCH_SIZE] for i in range(0, len(pages), BATCH_SIZE)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        measured = list(pool.map(lambda batch: excesses(browser, batch, WIDTHS), batches))
    wide = [
        f"{page.relative_to(built)}: {excess} pixels too wide for {width}"
        for batch, by_width in zip(batches, measured, strict=True)
        for width, row in zip(WIDTHS, by_width, strict=True)
        for page, excess in zip(batch, row, strict=True)
        if excess > 0
    ]
    print(*wide, f"{len(pages)} pages at {WIDTHS} pixels, {len(wide)} too wide", sep="\n")
    sys.exit(bool(wide))


if __name__ == "__main__":
    main()
