"""The interactive page of a report: the static page, its numbers, and one script."""

import json
import re
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import skfair
from skfair.__main__ import main
from skfair.audit import Audit, FairnessReport

EVIL = "</script><!--<script>x</script>"


def draw_audit(n=3000, n_groups=12, seed=0, **settings):
    """Decisions about groups, one named as if it ended a script, and scores in tenths."""
    rng = np.random.default_rng(seed)
    names = np.array([EVIL, *(f"group {i}" for i in range(1, n_groups))])
    groups = pd.DataFrame({"district": rng.choice(names, n)})
    score = rng.integers(1, 11, n) / 10
    truth = (rng.random(n) < score).astype(int)
    decisions = (score > 0.5).astype(int)
    settings = {"y_score": score, "sensitive_features": groups} | settings
    return Audit.from_predictions(truth, decisions, **settings), truth, score, groups


@pytest.fixture(scope="module")
def report():
    return draw_audit()[0].report()


def read_numbers(page):
    """The numbers that a page brings for its script."""
    pattern = r'<script type="application/json" id="skfair-data">(.*?)</script>'
    (text,) = re.findall(pattern, page, flags=re.DOTALL)
    return json.loads(text)


@pytest.mark.slow
def test_a_page_has_no_script_unless_it_is_interactive(report):
    assert "<script" not in report.to_html() and "<script" not in report.to_html(full=True)
    assert "<script" not in report._repr_html_()


@pytest.mark.slow
def test_without_its_two_scripts_an_interactive_page_is_the_static_one(report):
    page = report.to_html(interactive=True)
    assert page.count("<script") == page.count("</script>") == 2 and "<!--" not in page
    without = re.sub(r"<script.*?</script>\n", "", page, flags=re.DOTALL)
    assert without == report.to_html()
    without = re.sub(
        r"<script.*?</script>\n", "", report.to_html(interactive=True, full=True), flags=re.DOTALL
    )
    assert without == report.to_html(full=True)


def test_the_script_is_a_file_of_the_package_that_loads_and_sends_nothing(report):
    script = (Path(skfair.__file__).parent / "audit/_interactive.js").read_text("utf-8")
    assert f"<script>{script}</script>" in report.to_html(interactive=True)
    for word in (
        "fetch",
        "XMLHttpRequest",
        "WebSocket",
        "import(",
        "innerHTML",
        "eval(",
        "storage",
    ):
        assert word not in script, word
    assert set(re.findall(r"https?://[^\"' ]+", script)) == {"http://www.w3.org/2000/svg"}
    project = Path(skfair.__file__).parents[1] / "pyproject.toml"
    if project.exists():
        files = tomllib.loads(project.read_text("utf-8"))["tool"]["setuptools"]["package-data"]
        assert "audit/_interactive.js" in files["skfair"]


def test_the_page_brings_the_rates_and_gaps_of_the_report(report):
    numbers = read_numbers(report.to_html(interactive=True))
    rates = pd.DataFrame(numbers["rates"])
    assert rates["group"].tolist() == report.frame["group"].tolist() and EVIL in {*rates["group"]}
    for name in ("n", "estimate", "low", "high"):
        np.testing.assert_array_equal(rates[name].astype(float), report.frame[name])
    assert numbers["gaps"]["gap"] == report.gaps["gap"].tolist()
    assert {*numbers["words"]} == {*report.frame["metric"]}
    assert numbers["words"]["selection_rate"] == ["Selection rate", "selected, of all", True]
    assert numbers["words"]["roc_auc"][2] is False


def test_counts_by_score_give_the_rates_of_every_threshold():
    audit, truth, score, groups = draw_audit()
    numbers = read_numbers(audit.report().to_html(interactive=True))
    counts = pd.DataFrame(numbers["scores"])
    assert {*counts} == {"grouping", "group", "bin_low", "bin_high", "n", "estimate"}
    assert counts["n"].sum() == len(truth) and len(counts) == 12 * 10
    for threshold in np.unique(counts["bin_low"])[1:]:
        above = counts[counts["bin_low"] >= threshold]
        table = groups.assign(d=score > round(threshold, 9), y=truth)
        expected = table[table["d"]].groupby("district")["y"].agg(["size", "sum"])
        by = above.assign(hits=above["n"] * above["estimate"]).groupby("group")[["n", "hits"]].sum()
        np.testing.assert_array_equal(by["n"], expected["size"])
        np.testing.assert_allclose(by["hits"], expected["sum"], rtol=0, atol=1e-9)


def test_the_page_of_12_groups_and_10_scores_is_small(report):
    page = report.to_html(interactive=True)
    assert len(page.encode()) <= 200_000


@pytest.mark.parametrize("settings", [{"sample_weight": np.resize([1.0, 2.0], 3000)}, "no scores"])
def test_there_are_no_counts_by_score_of_weights_or_without_scores(settings):
    audit = draw_audit(**({"y_score": None} if settings == "no scores" else settings))[0]
    numbers = read_numbers(audit.report().to_html(interactive=True))
    assert numbers["scores"] is None
    assert numbers["counts_samples"] is (settings == "no scores")


def test_a_report_from_json_has_the_same_interactive_page(report):
    again = FairnessReport.from_json(report.to_json())
    assert again.to_html(interactive=True) == report.to_html(interactive=True)


def test_protected_counts_and_summaries_have_no_interactive_page():
    decisions = np.resize([1, 1, 0, 0, 0], 2000)
    sex = np.resize(["f", "m", "m"], 2000)
    audit = Audit.from_predictions(None, decisions, sensitive_features=sex)
    report = audit.report(min_published=10)
    message = "^interactive puts unrounded rates .* Leave it out, .* or leave out min_published"
    with pytest.raises(ValueError, match=message):
        report.to_html(interactive=True)
    with pytest.raises(ValueError, match=message):
        FairnessReport.from_json(report.to_json()).to_html(interactive=True)
    assert "<script" not in report.to_html()
    with pytest.raises(ValueError, match=message):
        audit.report().to_html(interactive=True, summary="ll144")


def test_a_refused_page_leaves_the_file_as_it_was(tmp_path):
    decisions = np.resize([1, 1, 0, 0, 0], 2000)
    audit = Audit.from_predictions(None, decisions, sensitive_features=np.resize(["f", "m"], 2000))
    path = tmp_path / "report.html"
    path.write_text("before")
    with pytest.raises(ValueError, match="interactive"):
        audit.report(min_published=10).to_html(path, interactive=True)
    assert path.read_text() == "before"


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _, truth, score, groups = draw_audit(1000, 3)
    table = groups.assign(y=truth, p=score, d=(score > 0.5).astype(int))
    table.to_csv("data.csv", index=False)


COLUMNS = ["report", "data.csv", "--prediction", "d", "--sensitive", "district", "--target", "y"]


@pytest.mark.slow
def test_the_command_writes_the_page(file, capsys):
    assert main([*COLUMNS, "--probability", "p", "--interactive"]) in (0, 3)
    numbers = read_numbers(Path("report.html").read_text("utf-8"))
    assert len(numbers["scores"]["n"]) == 3 * 10
    main([*COLUMNS, "--probability", "p"])
    assert "<script" not in Path("report.html").read_text("utf-8")


@pytest.mark.parametrize(
    "options, match",
    [
        (
            ["--min-published", "10"],
            "--interactive puts .* min_published does not .* Leave it out, .* min_published",
        ),
        (["--out", "r.md"], "--interactive is a page: --out must end in .html, .htm"),
        (["--json", "-"], "--interactive is a page"),
    ],
)
def test_the_command_names_what_is_in_the_way(file, capsys, options, match):
    with pytest.raises(SystemExit) as ended:
        main([*COLUMNS, "--interactive", *options])
    assert ended.value.code == 2
    assert re.search(match, capsys.readouterr().err)
    assert not Path("report.html").exists()
