"""`make test-page`: the interactive page of a report, driven in headless Chromium."""

import json
from io import StringIO

import numpy as np
import pandas as pd
import pytest

from skfair.__main__ import main
from skfair.audit import Audit
from tests.audit.doors import report_predictions
from tests.browser.chromium import Page

EVIL = "</script><script>document.title='run'</script>"

RATES = {
    "base_rate": ("y", None),
    "selection_rate": ("d", None),
    "true_positive_rate": ("d", ("y", 1)),
    "false_positive_rate": ("d", ("y", 0)),
    "positive_predictive_value": ("y", ("d", 1)),
    "accuracy": ("right", None),
}
"""Rates as the mean of a column of 0 and 1, among the rows with a value of another one."""

READ_ALL = """(async () => {
  const saved = [];
  URL.createObjectURL = blob => { saved.push(blob.text()); return ''; };
  HTMLAnchorElement.prototype.click = () => {};
  const section = name => [...document.querySelectorAll('section')].find(
    one => one.querySelector('h2')?.textContent === name);
  const read = one => [...one.querySelectorAll('tbody tr')].map(
    row => [0, 2, 3].map(place => row.children[place].firstChild.textContent));
  const set = (control, value, kind) => {
    control.value = value;
    control.dispatchEvent(new Event(kind));
  };
  const save = one => [...one.querySelectorAll('button')].find(
    button => button.textContent === 'Save as CSV').click();
  const rates = section('Rates by group'), scores = section('Another threshold');
  const select = (one, name) => one.querySelector(`select[name=${name}]`);
  const values = control => [...control.options].map(option => option.value);
  const result = [];
  for (const option of [...select(rates, 'grouping').options]) {
    const attribute = option.textContent.replace('by ', '');
    set(select(rates, 'grouping'), option.value, 'change');
    for (const metric of values(select(rates, 'metric'))) {
      set(select(rates, 'metric'), metric, 'change');
      save(rates);
      result.push({ attribute, metric, threshold: null, rows: read(rates) });
    }
    if (!scores) continue;
    const slider = scores.querySelector('input');
    for (const metric of values(select(scores, 'metric'))) {
      set(select(scores, 'metric'), metric, 'change');
      for (let place = 0; place <= Number(slider.max); place++) {
        set(slider, place, 'input');
        const threshold = Number(slider.getAttribute('aria-valuetext').split(' ').at(-1));
        save(scores);
        result.push({ attribute, metric, threshold, rows: read(scores) });
      }
    }
  }
  const texts = [];
  for (const text of saved) texts.push(await text);
  return JSON.stringify(result.map((one, i) => ({ ...one, csv: texts[i] })));
})()"""
"""Makes every choice, and reads the table and the CSV after each."""


def draw_file(seed, path):
    """Write decisions about samples of one or two attributes, and return them as a table."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(150, 3000))
    shares = rng.dirichlet(np.ones(rng.integers(2, 6)))
    names = np.array(["a", "b & c", "<i>d</i>", 'e "f", g', EVIL])[: len(shares)]
    table = pd.DataFrame({"one": rng.choice(names, n, p=shares)})
    if seed % 2:
        table["two"] = rng.choice(["old", "young"], n, p=[0.01, 0.99] if seed % 4 == 1 else None)
    score = np.round(rng.beta(1 + rng.random(), 2, n), int(rng.integers(1, 5)))
    table["score"] = score
    table["d"] = (score > rng.choice([0.3, 0.5])).astype(int)
    table["y"] = (rng.random(n) < score).astype(float)
    if seed % 3 == 0:
        table.loc[rng.random(n) < 0.1, "y"] = np.nan
    if seed % 5 == 0:
        table.loc[rng.random(n) < 0.05, "one"] = None
    written = table.assign(
        y=table["y"].map({0.0: "no", 1.0: "yes"}), d=table["d"].map({0: "no", 1: "yes"})
    )
    written.to_csv(path, index=False)
    return table


def write_page(path, table, *options):
    """The interactive page of a file with the columns of `draw_file`."""
    attributes = [name for name in ("one", "two") if name in table]
    page = path.with_suffix(".html")
    arguments = ["report", str(path), "--prediction", "d", "--positive", "yes", "--target", "y"]
    arguments += ["--sensitive", *attributes, "--out", str(page), "--interactive", *options]
    assert main(arguments) in (0, 3)
    return page


def count_by_pandas(table, attribute, metric, threshold):
    """Value and number of samples of one rate by group, of the decisions or of a threshold."""
    names = attribute.split(" × ")
    table = table.dropna(subset=names)
    if threshold is not None:
        table = table.dropna(subset=["y"]).assign(d=(table["score"] > threshold).astype(int))
    value, condition = RATES[metric]
    table = table.assign(right=(table["y"] == table["d"]).where(table["y"].notna()))
    if condition is not None:
        table = table[table[condition[0]] == condition[1]]
    columns = table[value].astype(float)
    by = columns.groupby([table[name] for name in names])
    return by.mean(), by.count()


def write_group(group):
    """A group as the page names it."""
    quoted = [repr(one) if one.startswith('"') else one for one in group]
    return " × ".join(quoted)


@pytest.fixture(scope="module")
def page():
    with Page() as one:
        yield one


@pytest.mark.parametrize("seed", range(30))
def test_rates_after_each_choice_and_threshold_are_those_of_pandas(seed, page, tmp_path, capsys):
    table = draw_file(seed, tmp_path / "drawn.csv")
    page.open(write_page(tmp_path / "drawn.csv", table, "--probability", "score").as_uri())
    choices = json.loads(page.evaluate(READ_ALL))
    n_compared = 0
    for one in choices:
        if one["metric"] not in RATES:
            continue
        values, counts = count_by_pandas(table, one["attribute"], one["metric"], one["threshold"])
        groups = [group if isinstance(group, tuple) else (group,) for group in values.index]
        expected = dict(zip(map(write_group, groups), values, strict=True))
        sizes = dict(zip(map(write_group, groups), counts, strict=True))
        shown = {group: (value, n) for group, value, n in one["rows"]}
        with_value = {group for group, (value, _) in shown.items() if value != "–"}
        assert with_value == {group for group in expected if sizes[group]}
        saved = pd.read_csv(StringIO(one["csv"]), keep_default_na=False, na_values=[""])
        saved = saved.set_index("group")
        for group in with_value:
            value, n = shown[group]
            assert abs(float(value.removesuffix("\xa0%")) - 100 * expected[group]) < 0.05 + 1e-9
            assert int(n.replace(",", "")) == sizes[group] == saved.loc[group, "samples"]
            assert abs(saved.loc[group, "estimate"] - expected[group]) <= 1e-12
            n_compared += 1
    assert n_compared > 50
    assert page.evaluate("document.title") != "run" and not page.problems()


SHOWN_TEXT = """[...document.querySelectorAll('section .frame')].map(
  frame => [...frame.querySelectorAll(
    'caption, thead th:not(:has(.axis)), .axis span, tbody th, tbody td')].map(
  cell => cell.innerText.replace(/\\s+/g, ' ').trim())).slice(0, 3)"""
"""Texts of the tables of rates by group, at a glance, and of the numbers."""


def draw_reports():
    """Reports of all tasks, of strata, weights, one group, small groups, and several labels."""
    rng = np.random.default_rng(0)
    n = 600
    sex = pd.DataFrame({"sex": rng.choice(["f", "m"], n), "age": rng.choice([*"abc"], n)})
    score = rng.random(n).round(2)
    truth = (rng.random(n) < score).astype(int)
    decisions = (score > 0.6).astype(int)
    groups = {"sensitive_features": sex}
    audit = Audit.from_predictions
    yield audit(truth, decisions, y_score=score, **groups).report()
    yield audit(None, decisions, **groups).report()
    yield audit(None, score, **groups).report()
    yield audit(truth * 1e4 - 1e3 * rng.random(n), 1e4 * rng.random(n), **groups).report()
    yield report_predictions(None, rng.integers(0, 3, n), task="clustering", **groups)
    yield audit(rng.integers(0, 3, n), rng.integers(0, 3, n), **groups).report()
    weights = {"sample_weight": 0.5 + rng.random(n)}
    yield audit(truth, decisions, y_score=score, **groups, **weights).report()
    strata = {"control_features": rng.choice(["north", "south"], n)}
    yield audit(truth, decisions, y_score=score, **groups, **strata).report()
    yield audit(truth, decisions, y_score=score, sensitive_features=["x"] * n).report()
    tiny_group = np.where(np.arange(n) < 5, "few", "many")
    yield audit(truth, decisions, sensitive_features=tiny_group, pos_label=1).report(min_share=0.0)
    burden = {"pos_label": "yes", "burden": True}
    words = np.where(truth, "yes", "no"), np.where(decisions, "yes", "no")
    yield audit(*words, **groups, **burden).report(metrics=["f1_score"])
    yield audit(truth, None, y_score=score, **groups).top(50).report()


HIDE_THRESHOLD = """document.querySelectorAll('section').forEach(
  one => one.querySelector('h2')?.textContent === 'Another threshold' && one.remove())"""


def test_the_script_first_shows_what_the_page_without_it_shows(page, tmp_path):
    n_reports = 0
    for report in draw_reports():
        path = tmp_path / "report.html"
        report.to_html(path, interactive=True)
        page.open(path.as_uri())
        assert not page.problems(), report
        page.evaluate(HIDE_THRESHOLD)
        shown = page.evaluate(SHOWN_TEXT)
        report.to_html(path)
        page.open(path.as_uri())
        static = page.evaluate(SHOWN_TEXT)
        for one, other in zip(shown, static, strict=True):
            assert one == other, report
        assert len(shown) == 3 and min(map(len, shown)) > 3
        n_reports += 1
    assert n_reports == 12


def test_without_scripts_the_page_is_the_static_one(page, tmp_path, capsys):
    table = draw_file(1, tmp_path / "drawn.csv")
    path = write_page(tmp_path / "drawn.csv", table, "--probability", "score")
    static = tmp_path / "static.html"
    parts = path.read_text("utf-8").split("<script")
    static.write_text(parts[0] + parts[-1].split("</script>\n")[1], encoding="utf-8")
    page.send("Emulation.setScriptExecutionDisabled", value=True)
    try:
        pictures = []
        for address in (path, static):
            page.send("Page.navigate", url=address.as_uri())
            page.wait("document.readyState === 'complete'")
            page.save_picture(tmp_path / "page.png")
            pictures.append((tmp_path / "page.png").read_bytes())
    finally:
        page.send("Emulation.setScriptExecutionDisabled", value=False)
    assert pictures[0] == pictures[1]


@pytest.fixture
def shown_file(page, tmp_path, capsys):
    table = draw_file(3, tmp_path / "drawn.csv")
    page.open(write_page(tmp_path / "drawn.csv", table, "--probability", "score").as_uri())
    return table


CAPTION = "document.querySelector('section .frame caption span').textContent"
FIRST = "[...document.querySelectorAll('section .frame tbody')][0].rows"


def read_groups(page):
    """Names of the groups in the first table, in their order."""
    return page.evaluate(f"[...{FIRST}].map(row => row.cells[0].textContent)")


def test_everything_can_be_chosen_by_keyboard_alone(page, shown_file):
    page.choose("metric", "accuracy")
    page.choose("grouping", "1")
    assert page.evaluate(CAPTION) == "Accuracy by one"
    page.choose("order", "group ascending")
    names = read_groups(page)
    assert names == sorted(names, key=str.casefold) and len(names) >= 2
    # Heads of columns sort: the first press by value, the second in the other direction.
    page.focus_by_tab("e.tagName === 'BUTTON' && e.closest('th') && e.textContent === 'Samples'")
    page.send_key("Enter")
    sizes = (
        f"[...{FIRST}].map(row => Number(row.cells[3].firstChild.textContent.replaceAll(',', '')))"
    )
    descending = page.evaluate(sizes)
    assert descending == sorted(descending, reverse=True)
    page.send_key(" ")
    assert page.evaluate(sizes) == descending[::-1]
    sorted_column = (
        "[...document.querySelectorAll('section thead')][0].querySelector('[aria-sort]')"
    )
    assert page.evaluate(f"{sorted_column}.getAttribute('aria-sort')") == "ascending"
    # Pictures show counts.
    page.focus_by_tab("e.tagName === 'svg'")
    hint = page.evaluate("document.querySelector('.tip').textContent")
    group = read_groups(page)[0]
    value = page.evaluate(f"{FIRST}[0].cells[2].firstChild.textContent")
    n_group = page.evaluate(f"{FIRST}[0].cells[3].firstChild.textContent")
    assert hint.startswith(f"{group}: {value}, ") and hint.endswith(f" of {n_group} samples")
    page.send_key("Escape")
    assert page.evaluate("document.querySelector('.tip').hidden")
    # The slider moves by arrows, and says where it is.
    page.focus_by_tab("e.type === 'range'")
    page.send_key("Home")
    before = page.evaluate("document.activeElement.getAttribute('aria-valuetext')")
    page.send_key("ArrowRight", 2)
    after = page.evaluate("document.activeElement.getAttribute('aria-valuetext')")
    assert before.startswith("scores above ") and after != before
    # Tables are saved.
    page.focus_by_tab("e.textContent === 'Save as CSV'")
    page.send_key("Enter")
    saved = pd.read_csv(page.wait_for_download("threshold.csv"))
    assert set(saved["rate"]) == {"accuracy"} and saved["threshold"].nunique() == 1
    page.focus_by_tab(
        "e.textContent === 'Save as CSV' && e.closest('section').textContent.startsWith('The num')"
    )
    page.send_key("Enter")
    numbers = pd.read_csv(page.wait_for_download("numbers.csv"))
    assert set(numbers["grouping"]) == {"overall", "one", "two", "one × two"}


def test_arrows_go_from_dot_to_dot(page, shown_file):
    page.focus_by_tab(
        "e.tagName === 'svg' && e.closest('section').textContent.startsWith('All rates')"
    )
    texts = []
    n_dots = page.evaluate("document.activeElement.querySelectorAll('.dot').length")
    for _ in range(n_dots):
        texts.append(page.evaluate("document.querySelector('.tip').textContent"))
        page.send_key("ArrowRight")
    assert len(set(texts)) == n_dots >= 2
    spoken = "[...document.querySelectorAll('[role=status]')].at(-1).textContent"
    assert page.evaluate(spoken) == texts[-1]


def test_the_pointer_shows_counts(page, shown_file):
    box = page.evaluate(
        "(b => [b.x, b.y, b.width, b.height])("
        "document.querySelector('section .frame svg').getBoundingClientRect())"
    )
    x, y = box[0] + box[2] / 2, box[1] + box[3] / 2
    page.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
    assert " samples" in page.evaluate("document.querySelector('.tip').textContent")
    assert not page.evaluate("document.querySelector('.tip').hidden")


@pytest.mark.parametrize("width", [390, 768, 1280])
def test_no_width_scrolls_sideways(page, shown_file, width):
    page.resize(width, 900)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.resize(1280, 1000)


def test_without_scores_there_is_no_slider(page, tmp_path, capsys):
    table = draw_file(2, tmp_path / "drawn.csv")
    page.open(write_page(tmp_path / "drawn.csv", table).as_uri())
    assert page.evaluate("document.querySelectorAll('input').length") == 0
    assert page.evaluate("document.querySelectorAll('select').length") == 3


def test_weighted_samples_have_no_counts_and_no_slider(page, tmp_path, capsys):
    table = draw_file(2, tmp_path / "drawn.csv")
    written = pd.read_csv(tmp_path / "drawn.csv").assign(w=np.resize([1.0, 2.5], len(table)))
    written.to_csv(tmp_path / "drawn.csv", index=False)
    options = ["--probability", "score", "--weight", "w"]
    page.open(write_page(tmp_path / "drawn.csv", table, *options).as_uri())
    assert page.evaluate("document.querySelectorAll('input').length") == 0
    label = page.evaluate("document.querySelector('section .frame svg').getAttribute('aria-label')")
    assert label.endswith(" samples") and " of " not in label.split(": ")[-1]
