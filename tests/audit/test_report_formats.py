"""Reports as JSON with a published schema, and as Markdown; what was audited."""

import _pyio
import builtins
import copy
import io
import json
import os
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from skfair.audit import FairnessReport
from skfair.audit._sentences import Quantity
from tests.audit.doors import report_predictions

SCHEMA = json.loads(
    (Path(__file__).parents[2] / "doc/_static/fairness_report.schema.json").read_text("utf-8")
)
TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "number": (int, float),
    "integer": int,
    "boolean": bool,
    "null": type(None),
}
N = 300


def violations(value, schema, path="report"):
    """Places where a value is not as the schema says: the keywords that the schema uses."""
    if "$ref" in schema:
        schema = SCHEMA["$defs"][schema["$ref"].rsplit("/", 1)[1]]
    if "const" in schema and value != schema["const"]:
        yield path
    if "enum" in schema and value not in schema["enum"]:
        yield path
    types = schema.get("type", list(TYPES))
    types = [types] if isinstance(types, str) else types
    is_flag = isinstance(value, bool)
    if not any(isinstance(value, TYPES[t]) and (t == "boolean") >= is_flag for t in types):
        yield f"{path}: {value!r} is not {types}"
    if isinstance(value, list):
        for number, item in enumerate(value):
            yield from violations(item, schema.get("items", {}), f"{path}[{number}]")
    if isinstance(value, dict):
        yield from (f"{path} lacks {name}" for name in {*schema.get("required", [])} - {*value})
        others = schema.get("additionalProperties", {})
        for name, item in value.items():
            known = schema.get("properties", {}).get(name, others)
            if known is False:
                yield f"{path} has {name}"
            else:
                yield from violations(item, known, f"{path}.{name}")


@cache
def make(name):
    """A report, which tests only read."""
    rng = np.random.default_rng(0)
    groups = pd.DataFrame({"sex": rng.choice(["f", "m"], N), "race": rng.choice(list("ab"), N)})
    y = rng.integers(2, size=N)
    p = rng.integers(2, size=N)
    scores = rng.random(N)
    inputs, settings = {
        "classification": ((y, p), {"y_proba": scores, "metrics": {"hits": lambda y, p: y @ p}}),
        "regression": ((scores, scores + rng.normal(size=N)), {}),
        "clustering": ((None, p), {"task": "clustering"}),
        "decisions": ((None, p), {"source": {"source": "a | b", "own": "fact"}}),
        "weights": ((y, p), {"sample_weight": scores + 0.1}),
        "no selections": ((y, 0 * p), {"pos_label": 1}),
        "one group": ((y, p), {"sensitive_features": ["x"] * N}),
        "subgroups": ((None, groups["sex"] == "f"), {"subgroups": True}),
    }[name]
    return report_predictions(*inputs, **{"sensitive_features": groups} | settings)


NAMES = ["classification", "regression", "clustering", "decisions", "weights"]
NAMES += ["no selections", "one group", "subgroups"]


@pytest.mark.slow
@pytest.mark.covering(0)
@pytest.mark.parametrize("name", NAMES)
def test_json_has_the_schema_and_rebuilds_page_and_tables(name, tmp_path):
    report = make(name)
    text = report.to_json(tmp_path / "report.json")
    assert (tmp_path / "report.json").read_text("utf-8") == text
    assert list(violations(json.loads(text), SCHEMA)) == []
    again = FairnessReport.from_json(text)
    assert again.to_json() == text
    assert again.to_html() == report.to_html() and again.to_markdown() == report.to_markdown()
    pd.testing.assert_frame_equal(again.to_frame(), report.to_frame())
    pd.testing.assert_frame_equal(again.gaps, report.gaps)
    assert again.balance == report.balance


def test_the_schema_check_finds_violations():
    content = json.loads(make("one group").to_json())
    content["task"], content["n_samples"], content["more"] = "ranking", True, 1
    del content["title"]
    content["frame"]["n"][0] = []
    assert len(list(violations(content, SCHEMA))) == 5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda text: text[:-2],
            r"or the path of a file that exists, but it is neither \(Expecting",
        ),
        (lambda text: "[]", "this is other JSON"),
        (lambda text: text.replace("skfair.FairnessReport", "other"), "this is other JSON"),
        (lambda text: text.replace('"version": 7', '"version": 9'), "has version 9"),
        (lambda text: text.replace('"gaps"', '"gap"'), "must have the fields gaps"),
        (lambda text: None, "but it is neither"),
    ],
)
def test_other_text_is_refused(change, message):
    text = make("one group").to_json()
    assert change(text) != text
    with pytest.raises(ValueError, match=message):
        FairnessReport.from_json(change(text))


@pytest.mark.slow
def test_a_report_is_read_from_the_file_that_it_was_written_to(tmp_path):
    report = make("decisions")
    for path in (tmp_path / "report.json", str(tmp_path / "report.json")):
        report.to_json(path)
        assert FairnessReport.from_json(path).to_html() == report.to_html()
    with pytest.raises(FileNotFoundError):
        FairnessReport.from_json(tmp_path / "absent.json")
    with pytest.raises(ValueError, match="or the path of a file that exists"):
        FairnessReport.from_json(str(tmp_path / "absent.json"))


@pytest.mark.parametrize("name", ["to_json", "to_html", "to_markdown"])
def test_an_error_while_writing_leaves_the_old_file(name, tmp_path):
    """A lone surrogate cannot be encoded."""
    report = copy.deepcopy(make("one group"))
    path = tmp_path / "page"
    getattr(report, name)(path)
    before = path.read_bytes()
    report = replace(report, title="\ud800")
    with pytest.raises(UnicodeEncodeError):
        getattr(report, name)(path)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["to_json", "to_html", "to_markdown"])
def test_newlines_and_digests_do_not_depend_on_the_platform(name, tmp_path, monkeypatch):
    """As on Windows: files of Python's own implementation of text, and its newlines."""
    monkeypatch.setattr(io, "open", _pyio.open)
    monkeypatch.setattr(builtins, "open", _pyio.open)
    monkeypatch.setattr(os, "linesep", "\r\n")
    text = getattr(make("one group"), name)(tmp_path / "page")
    assert (tmp_path / "page").read_bytes() == text.encode() and "\n" in text


def test_markdown_has_all_tables_and_escapes_names(tmp_path):
    groups = pd.Series(np.resize(["a|b", "*c*", "<d>"], N), name="my_group")
    report = report_predictions(
        None, np.arange(N) % 2, sensitive_features=groups, title="Loans\n2025"
    )
    text = report.to_markdown(tmp_path / "report.md")
    assert (tmp_path / "report.md").read_text("utf-8") == text
    assert text.startswith("# Loans 2025\n\nSelection rate: 50.0 % for all groups by my\\_group.")
    for name in (r"| a\|b |", r"| \*c\* (reference) |", r"| \<d\> |", r"## By my\_group"):
        assert name in text.replace(r"\*c\* |", r"\*c\* (reference) |")
    html = report.to_html()
    assert text.count("\n| --- |") == html.count("<table")
    assert html.count("<h2>") == text.count("\n## ")
    # Every row has as many cells as the titles of its table.
    for table in text.split("\n\n"):
        if table.startswith("| "):
            widths = {line.replace(r"\|", "").count("|") for line in table.splitlines()}
            assert len(widths) == 1


def test_the_page_states_what_was_audited():
    report = make("decisions")
    facts = report.provenance
    assert facts["source"] == "a | b" and facts["positive_label"] == "1"
    assert facts["date"].count("-") == 2 and facts["versions"].startswith("skfair ")
    html = report.to_html()
    for title in ("Task", "Samples", "Positive label", "Date of the audit", "Versions", "own"):
        assert f'<th scope="row">{title}</th>' in html
    dated = report_predictions(
        None, [0, 1], sensitive_features=["a", "b"], source={"date": "2025-03-01"}
    )
    assert dated.provenance["date"] == "2025-03-01"


@pytest.mark.slow
def test_a_model_card_has_the_fields_of_the_template():
    rng = np.random.default_rng(0)
    groups = pd.DataFrame({"sex": rng.choice(["f", "m"], N), "race": rng.choice(list("ab"), N)})
    report = report_predictions(
        rng.integers(2, size=N),
        rng.integers(2, size=N),
        sensitive_features=groups,
        source={"source": "loans of 2025", "groups": "stated by applicants"},
    )
    card = report.to_model_card()
    headings = ["Factors", "Metrics", "Evaluation data", "Quantitative analyses"]
    headings.append("Caveats and recommendations")
    assert [line[4:] for line in card.splitlines() if line.startswith("### ")] == headings
    assert card.startswith("## ") and "Recording of groups: stated by applicants." in card
    assert "Source of the data: loans of 2025." in card
    # JSON has the same fields, and every value of every group with its interval.
    content = json.loads(report.to_model_card(format="json"))
    assert list(content)[1:] == headings
    tables = {one["caption"]: one["rows"] for one in content["Quantitative analyses"][1:]}
    assert list(tables) == [f"By {name}" for name in report.attributes]
    rows = report.frame.set_index(["attribute", "group", "metric"])
    attribute, group = rows.index[rows.index.get_level_values(0) != "overall"][0][:2]
    shown = next(one for one in tables[f"By {attribute}"] if one["Group"] == group)
    value = rows.loc[(attribute, group, "selection_rate")]
    interval = Quantity("selection rate", "percent").interval(value["low"], value["high"])
    assert shown["Selection rate"] == f"{100 * value['estimate']:.3g} % {interval}"
    with pytest.raises(ValueError, match="format must be one of 'markdown', 'json'"):
        report.to_model_card(format="html")


def test_markdown_does_not_describe_pictures():
    decisions = ["G1", "G2", "G3"] * 40
    sex = [*"fm"] * 60
    report = report_predictions(None, decisions, sensitive_features=sex)
    page = report.to_html()
    text = report.to_markdown()
    assert '<span class="axis"><span>0</span>' in page and "A dot is the value" in page
    assert "axis" not in text and "A dot is" not in text and "of class g1" not in page
    assert "Adverse impact by attribute 1: selection rate of class G1" in page
