"""The page of a report: well-formed, alone, safe, and readable in a browser."""

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from skfair.audit import Audit
from tests.audit.doors import report_predictions

EVIL = "<script>document.title='run'</script>"
BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
in_browser = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")


@pytest.fixture(scope="module")
def report():
    rng = np.random.default_rng(0)
    n = 3000
    groups = pd.DataFrame(
        {"sex": rng.choice(["f", "m"], n), EVIL: rng.choice([EVIL, "b & c", 'd"e'], n)}
    )
    probability = rng.random(n)
    truth = (rng.random(n) < probability).astype(int)
    return report_predictions(
        truth,
        (probability > 0.5).astype(int),
        y_proba=probability,
        sensitive_features=groups,
        title=f"Report {EVIL}",
        metrics={EVIL: lambda y_true, y_pred: float(np.mean(y_true))},
    )


class Checker(HTMLParser):
    """Counts what is opened and closed, and collects what a page may load."""

    def __init__(self):
        super().__init__()
        self.open = []
        self.elements = []
        self.addresses = []
        self.problems = []

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self.addresses += [value for name, value in attributes if name in ("src", "href")]
        if tag not in ("meta",):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.problems.append(tag)


@pytest.fixture(scope="module")
def page_elements(report):
    checker = Checker()
    checker.feed(report.to_html())
    return checker


@pytest.mark.slow
def test_every_element_is_closed(page_elements):
    assert page_elements.problems == [] and page_elements.open == []


@pytest.mark.slow
def test_the_page_loads_and_runs_nothing(page_elements, report):
    assert page_elements.addresses == []
    assert not any(tag == "script" for tag, _ in page_elements.elements)
    assert "url(" not in report.to_html() and "@import" not in report.to_html()


@pytest.mark.slow
def test_user_text_is_shown_and_not_run(report):
    html = report.to_html()
    assert EVIL not in html and "&lt;script&gt;" in html
    assert "&amp;lt;" not in html  # escaped once
    assert 'aria-label="Base rate by sex × &lt;script&gt;' in html


def test_tables_have_captions_and_scopes_and_take_the_keyboard(page_elements):
    tags = [tag for tag, _ in page_elements.elements]
    assert tags.count("caption") == tags.count("table") > 10 and tags.count("h1") == 1
    assert all("scope" in attributes for tag, attributes in page_elements.elements if tag == "th")
    frames = [
        attributes
        for tag, attributes in page_elements.elements
        if attributes.get("role") == "region"
    ]
    assert all(attributes["tabindex"] == "0" and attributes["aria-label"] for attributes in frames)


def test_pictures_are_next_to_numbers(page_elements):
    """The picture of a row is decoration: its numbers stand in the cells behind it."""
    pictures = [attributes for tag, attributes in page_elements.elements if tag == "svg"]
    assert pictures and all(attributes["aria-hidden"] == "true" for attributes in pictures)


def _luminance(color):
    channels = [int(color[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return np.dot([0.2126, 0.7152, 0.0722], linear)


def test_a_metric_that_is_0_everywhere_has_an_axis():
    labels = np.resize([0, 1, 1], 60)
    groups = np.resize(["a", "b"], 60)
    settings = {"sensitive_features": groups, "metrics": {"nothing": lambda y_true, y_pred: 0.0}}
    page = report_predictions(labels, labels, **settings).to_html()
    table = page[
        page.index("<span>Nothing by")
        if "<span>Nothing by" in page
        else page.index("<span>nothing by") :
    ]
    assert re.findall("<span>([0-9.]+)</span>", table.split("</thead>")[0]) == [
        "0",
        "0.25",
        "0.5",
        "0.75",
        "1",
    ]


def test_contrast(report):
    """Text 4.5 and marks 3 to 1, in light and in dark (WCAG 2.1, 1.4.3 and 1.4.11)."""
    modes = re.findall(r"\.skfair-report\{(--ink[^}]*?)[;}]font|\{(--ink[^}]*)\}", report.to_html())
    texts = [light or dark for light, dark in modes][:2]
    assert len(texts) == 2
    for text in texts:
        colors = {}
        for name, color in re.findall(r"--(\w+):\s*#([0-9a-f]+)", text):
            full = color if len(color) == 6 else "".join(2 * c for c in color)
            colors[name] = _luminance(full)
        for front, ground, least in [
            ("ink", "paper", 4.5),
            ("soft", "paper", 4.5),
            ("ink", "mark", 4.5),
            ("soft", "mark", 4.5),
            ("end", "paper", 4.5),
            ("dot", "paper", 3.0),
            ("small", "paper", 3.0),
        ]:
            dark, bright = sorted((colors[front], colors[ground]))
            assert (bright + 0.05) / (dark + 0.05) >= least, (front, ground)


def test_no_class_is_one_of_font_awesome(report):
    """Sites around a report have its classes, which set another font."""
    classes = {
        one for names in re.findall('class="([^"]*)"', report.to_html()) for one in names.split()
    }
    assert classes & {"end", "dot"} == {"end", "dot"}
    assert not classes & {"fa", "fab", "fad", "fal", "far", "fas", "fat"}


FRONT = ["Rates by group", "All rates at a glance", "The numbers", "Findings"]
FRONT += ["What these data cannot decide"]


def test_the_page_begins_with_the_widest_gap_and_folds_the_rest(report):
    html = report.to_html()
    front, *folded = html.split("<details>")
    assert re.findall("<h2>(.*?)</h2>", front) == FRONT and front.count("<table") == 3
    assert front.index("<h1>") < front.index('class="strip"') < front.index("<svg")
    assert front.count("<div><b>") == 4 and len(folded) == html.count("<summary>") > 5
    assert report.to_html(full=True) == html.replace("<details>", "<details open>")


def test_the_headline_is_the_title_unless_one_is_passed():
    decisions = np.repeat([1, 0, 1, 0], [60, 40, 30, 70])
    sex = np.repeat(["m", "f"], 100)
    report = Audit.from_predictions(None, decisions, sensitive_features=sex).report()
    headline = "60.0 % of m are selected, 30.0 % of f"
    assert report.title == headline and str(report).startswith(headline)
    assert report.to_markdown().startswith(f"# {headline}\n")
    assert f"<title>{headline}</title>" in report.to_html()
    titled = Audit.from_predictions(None, decisions, sensitive_features=sex).report(title="Loans")
    front = titled.to_html().split("<table")[0]
    assert "<h1>Loans</h1>" in front and headline.replace(" %", "&nbsp;%") in front
    fair = Audit.from_predictions(None, np.resize([1, 0, 0], 200), sensitive_features=sex).report()
    assert fair.title == "34.0 % of m are selected, 33.0 % of f; it may be chance"
    one = Audit.from_predictions(None, decisions, sensitive_features=["x"] * 200).report()
    assert one.title == "Fairness report" and "<svg" in one.to_html()


def test_headings_stay_with_their_tables_on_paper(report):
    printed = report.to_html().partition("@media print")[2]
    rule = next(rule for rule in printed.split("}") if "break-after:avoid" in rule)
    assert all(f".skfair-report {name}" in rule for name in ("h1", "h2", "caption", "thead"))


@pytest.mark.slow
def test_notebooks_get_the_same_without_the_frame_of_a_page(report):
    assert report._repr_html_() in report.to_html()
    assert "<html" not in report._repr_html_()


@pytest.mark.slow
def test_the_page_is_written(report, tmp_path):
    path = tmp_path / "report.html"
    assert path.write_text(report.to_html(), encoding="utf-8")
    report.to_html(tmp_path / "other.html")
    assert (tmp_path / "other.html").read_text(encoding="utf-8") == path.read_text(encoding="utf-8")


PROBE = """<script>
const root = document.documentElement, report = document.querySelector('.skfair-report');
const facts = [document.title === 'run', root.scrollWidth <= window.innerWidth,
  getComputedStyle(report).backgroundColor, document.querySelectorAll('table').length,
  getComputedStyle(document.querySelector('svg .dot')).strokeWidth];
document.body.textContent = 'PROBE ' + JSON.stringify(facts);
</script>"""

READER = """<script>window.onload = () => {
  const frames = [...document.querySelectorAll('iframe')];
  document.body.textContent = frames.map(f => f.contentDocument.body.textContent).join(' ');
};</script>"""

WIDTHS = (390, 768, 1300, 1600)


@pytest.mark.slow
@in_browser
@pytest.mark.parametrize("mode, paper", [(1, "rgb(255, 255, 255)"), (0, "rgb(13, 17, 23)")])
def test_in_a_browser(report, tmp_path, mode, paper):
    """Nothing of the user's runs, the page is no wider than the window, light and dark differ."""
    html = report.to_html().replace("</body>", f"{PROBE}</body>")
    (tmp_path / "report.html").write_text(html, encoding="utf-8")
    # Headless windows are 500 pixels wide at least; a frame inside has any width.
    frames = (
        f'<iframe src="report.html" style="width:{w}px;height:900px"></iframe>' for w in WIDTHS
    )
    page = f"<!DOCTYPE html><body>{''.join(frames)}{READER}"
    (tmp_path / "frames.html").write_text(page, encoding="utf-8")
    command = [
        BROWSER,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--allow-file-access-from-files",
        f"--user-data-dir={tmp_path / 'profile'}",
        f"--blink-settings=preferredColorScheme={mode}",
        "--virtual-time-budget=5000",
        "--dump-dom",
        (tmp_path / "frames.html").as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    attributes = [json.loads(facts) for facts in re.findall(r"PROBE (\[.*?\])", done.stdout)]
    assert len(attributes) == len(WIDTHS), done.stdout[-500:] + done.stderr[-500:]
    for was_run, fits, background, tables, stroke in attributes:
        assert not was_run and fits and tables > 10
        assert background == paper and stroke == "11px"
