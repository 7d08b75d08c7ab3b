"""`make test-page`: the page that audits files in the browser, driven in headless Chromium."""

import json
import threading
from math import isclose

import numpy as np
import pandas as pd
import pytest

from examples.browser.build import start_server
from skfair.__main__ import main
from tests.browser.chromium import Page

FIGURES = {}
"""Seconds in the browser by what was done, which the target prints."""


def draw_decisions(n, seed=0):
    """Decisions about people of 12 groups of two attributes, with a score and the outcome."""
    rng = np.random.default_rng(seed)
    shares = [0.51, 0.34, 0.08, 0.055, 0.005, 0.01]
    table = pd.DataFrame(
        {
            "sex": rng.choice(["female", "male"], n, p=[0.2, 0.8]),
            "race": rng.choice([*"abcdef"], n, p=shares),
        }
    )
    score = rng.beta(2.0, 2.0 + (table["sex"] == "female") + (table["race"] == "b"))
    table["risk"] = np.ceil(10 * score) / 10
    table["flagged"] = np.where(table["risk"] > 0.5, "yes", "no")
    table["reoffended"] = np.where(rng.random(n) < score, "yes", "no")
    return table


@pytest.fixture(scope="module")
def site(request):
    """The address of the page that the target has built."""
    folder = request.config.rootpath / "build/demo-page"
    assert (folder / "python.wasm").is_file(), "make test-page builds the page"
    with start_server(folder) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="module")
def page(site, request):
    """The page with a Python that is ready, and without a network from then on."""
    with Page() as one:
        one.open(site)
        one.wait("document.body.dataset.ready || document.body.dataset.done", 240)
        seconds = json.loads(one.evaluate("document.body.dataset.ready"))
        FIGURES.update(seconds)
        one.cut_network()
        one.events.clear()
        yield one
        assert one.requests() == [] and one.problems() == []
        path = request.config.rootpath / "build/demo-page-seconds.json"
        path.write_text(json.dumps({name: round(s, 2) for name, s in FIGURES.items()}))


def ask(page, path, groups, **choices):
    """Answer the form by keyboard alone, and return what the page shows of the answer."""
    root = page.send("DOM.getDocument")["root"]["nodeId"]
    node = page.send("DOM.querySelector", nodeId=root, selector="#file")["nodeId"]
    page.evaluate("delete document.body.dataset.done")
    page.send("DOM.setFileInputFiles", nodeId=node, files=[str(path)])
    page.wait("!document.getElementById('form').hidden")
    # From the button of the last question back to the file, then on through the form.
    page.focus_by_tab("e.id === 'file'", modifiers=8)
    for name, value in choices.items():
        if name in ("tolerance", "threshold"):
            page.focus_by_tab(f"e.name === {json.dumps(name)}")
            page.send_key("a", modifiers=2)
            page.send("Input.insertText", text=str(value))
        else:
            page.choose(name, value)
    boxes = page.evaluate("[...document.querySelectorAll('[name=group]')].map(box => box.value)")
    for name in boxes:
        page.focus_by_tab(f"e.name === 'group' && e.value === {json.dumps(name)}")
        if page.evaluate("document.activeElement.checked") != (name in groups):
            page.send_key(" ")
    page.focus_by_tab("e.id === 'go'")
    page.send_key("Enter")
    page.wait("document.body.dataset.done !== undefined", 240)
    return json.loads(page.evaluate("JSON.stringify(window.answer)"))


def find_differences(one, other, place=""):
    """Places where two results of JSON differ: numbers by more than 1e-12, versions in anything."""
    if place.endswith(".versions"):
        return []
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        inside = [find_differences(one[name], other[name], f"{place}.{name}") for name in one]
        return sum(inside, [])
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = zip(one, other, strict=True)
        inside = [find_differences(a, b, f"{place}.{i}") for i, (a, b) in enumerate(pairs)]
        return sum(inside, [])
    if isinstance(one, float) and isinstance(other, float):
        is_equal = isclose(one, other, rel_tol=1e-12, abs_tol=1e-12)
    else:
        is_equal = one == other
    return [] if is_equal else [(place, one, other)]


def count_values(value):
    """Number of values of a result of JSON."""
    if isinstance(value, dict):
        return sum(map(count_values, value.values()))
    return sum(map(count_values, value)) if isinstance(value, list) else 1


def run_native(command, folder, *options):
    """The results of a command on the same file in this process."""
    results = folder / "native.json"
    arguments = [command, str(folder / "data.csv"), *options, "--json", str(results)]
    assert main(arguments) in (0, 1, 3)
    return json.loads(results.read_text("utf-8"))


COLUMNS = ["--prediction", "flagged", "--positive", "no"]
GROUPS = ["--sensitive", "sex", "race"]


def test_a_report_has_the_values_of_the_command(page, tmp_path, capsys):
    draw_decisions(6172).to_csv(tmp_path / "data.csv", index=False)
    choices = {"task": "report", "prediction": "flagged", "positive": "no", "target": "reoffended"}
    answer = ask(page, tmp_path / "data.csv", ["sex", "race"], **choices)
    FIGURES["first report of 6,172 rows"] = answer["seconds"]
    assert answer["status"] == 3
    there = json.loads(answer["results"]["answer.json"])
    here = run_native("report", tmp_path, *COLUMNS, "--target", "reoffended", *GROUPS)
    assert find_differences(there, here) == [] and count_values(here) > 2500
    # The report in the frame is interactive, and the first sentence is on the page.
    assert "sex × race" in page.evaluate("document.getElementById('say').textContent")
    assert not page.evaluate("document.getElementById('report').hidden")
    assert '<script type="application/json"' in answer["results"]["answer.html"]
    again = ask(page, tmp_path / "data.csv", ["sex", "race"])
    FIGURES["second report"] = again["seconds"]
    assert find_differences(json.loads(again["results"]["answer.json"]), here) == []


def test_the_report_in_the_page_runs_its_script(page):
    is_loaded = "document.querySelectorAll('select').length >= 3"
    page.wait(is_loaded, evaluate=page.evaluate_in_frame)
    assert "Selection rate by" in page.evaluate_in_frame("document.body.innerText")


def test_a_tolerance_is_certified(page, tmp_path, capsys):
    draw_decisions(3000, 1).to_csv(tmp_path / "data.csv", index=False)
    choices = {"task": "certify", "prediction": "flagged", "positive": "no", "target": ""}
    answer = ask(page, tmp_path / "data.csv", ["sex"], **choices, tolerance="0.3")
    here = run_native("certify", tmp_path, *COLUMNS, "--sensitive", "sex", "--tolerance", "0.3")
    assert answer["status"] == 0
    assert find_differences(json.loads(answer["results"]["answer.json"]), here) == []
    assert "95 % confidence" in page.evaluate("document.getElementById('say').textContent")


def test_subgroups_are_searched(page, tmp_path, capsys):
    draw_decisions(3000, 2).to_csv(tmp_path / "data.csv", index=False)
    choices = {"task": "subgroups", "prediction": "flagged", "positive": "no"}
    answer = ask(page, tmp_path / "data.csv", ["sex", "race"], **choices)
    here = run_native("subgroups", tmp_path, *COLUMNS, *GROUPS)
    assert find_differences(json.loads(answer["results"]["answer.json"]), here) == []
    assert "sex = female" in page.evaluate("document.getElementById('say').textContent")


def test_a_table_of_counts_has_the_same_report(page, tmp_path, capsys):
    table = draw_decisions(5000, 3)
    names = ["sex", "race", "flagged", "reoffended"]
    counts = table.groupby(names).size().rename("n").reset_index()
    counts.to_csv(tmp_path / "data.csv", index=False)
    choices = {"task": "report", "prediction": "flagged", "positive": "no"}
    choices |= {"target": "reoffended", "count": "n"}
    answer = ask(page, tmp_path / "data.csv", ["sex"], **choices)
    options = [*COLUMNS, "--target", "reoffended", "--count", "n", "--sensitive", "sex"]
    here = run_native("report", tmp_path, *options)
    there = json.loads(answer["results"]["answer.json"])
    assert find_differences(there, here) == [] and there["n_samples"] == 5000


def test_semicolons_and_decimal_commas_are_read(page, tmp_path, capsys):
    table = draw_decisions(2000, 4)
    table.to_csv(tmp_path / "data.csv", index=False, sep=";", decimal=",")
    choices = {"task": "report", "prediction": "risk", "threshold": "0.4", "positive": "yes"}
    choices |= {"target": "reoffended", "count": ""}
    answer = ask(page, tmp_path / "data.csv", ["sex"], **choices)
    options = ["--prediction", "risk", "--threshold", "0.4", "--positive", "yes"]
    options += ["--target", "reoffended", "--sensitive", "sex"]
    here = run_native("report", tmp_path, *options)
    assert find_differences(json.loads(answer["results"]["answer.json"]), here) == []


def test_an_error_is_a_sentence_and_the_next_question_is_answered(page, tmp_path):
    table = draw_decisions(200, 5).assign(reoffended="yes", race=np.arange(200).astype(str))
    table.to_csv(tmp_path / "data.csv", index=False)
    choices = {"prediction": "flagged", "positive": "no", "target": "sex"}
    answer = ask(page, tmp_path / "data.csv", ["sex"], **choices)
    assert answer["status"] == 2 and "answer.html" not in answer["results"]
    said = page.evaluate("document.getElementById('say').textContent")
    assert "one role" in said and "Traceback" not in said


def choose_file(page, path):
    """Choose a file in the form."""
    root = page.send("DOM.getDocument")["root"]["nodeId"]
    node = page.send("DOM.querySelector", nodeId=root, selector="#file")["nodeId"]
    page.send("DOM.setFileInputFiles", nodeId=node, files=[str(path)])


def is_answered(page):
    """Whether the page shows an answer."""
    return page.evaluate("!document.getElementById('say').hidden")


def test_an_answer_names_its_file_and_goes_when_file_or_options_change(page, tmp_path):
    for seed, name in enumerate(("first quarter.csv", "second quarter.csv")):
        draw_decisions(300, seed).to_csv(tmp_path / name, index=False)
    choices = {"task": "report", "prediction": "flagged", "positive": "no", "target": "reoffended"}
    for change in ("file", "option"):
        answer = ask(page, tmp_path / "first quarter.csv", ["sex"], **choices)
        said = page.evaluate("document.getElementById('say').textContent")
        assert is_answered(page) and said.startswith("first quarter.csv")
        assert "first quarter.csv" in answer["results"]["answer.html"]
        if change == "file":
            choose_file(page, tmp_path / "second quarter.csv")
            page.wait("document.getElementById('about').textContent.startsWith('second')")
        else:
            page.choose("task", "subgroups")
        assert not is_answered(page)
        assert page.evaluate("document.getElementById('report').hidden")


@pytest.mark.parametrize("first", [b"PK\x03\x04", b"\xd0\xcf\x11\xe0"])
def test_a_spreadsheet_is_refused_clearly(page, tmp_path, first):
    (tmp_path / "decisions.xlsx").write_bytes(first + bytes(100))
    choose_file(page, tmp_path / "decisions.xlsx")
    page.wait("document.getElementById('about').textContent.startsWith('decisions.xlsx is a spre')")
    assert "CSV UTF-8" in page.evaluate("document.getElementById('about').textContent")
    assert page.evaluate("document.getElementById('form').hidden") and not is_answered(page)


def test_100_000_rows(page, tmp_path, capsys):
    draw_decisions(100_000, 6).to_csv(tmp_path / "data.csv", index=False)
    choices = {"task": "report", "prediction": "flagged", "positive": "no"}
    choices |= {"target": "reoffended", "probability": ""}
    answer = ask(page, tmp_path / "data.csv", ["sex", "race"], **choices)
    FIGURES["report of 100,000 rows"] = answer["seconds"]
    here = run_native("report", tmp_path, *COLUMNS, "--target", "reoffended", *GROUPS)
    assert find_differences(json.loads(answer["results"]["answer.json"]), here) == []


def test_the_page_says_what_it_does_not_do_and_fits_a_telephone(page):
    text = page.evaluate("document.body.innerText")
    assert "What this page does not do" in text and "sent nowhere" in text
    assert "good for the person" in text
    page.resize(390, 900)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.resize(1280, 1000)
