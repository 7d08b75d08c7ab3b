"""The README: every example runs alone and prints what is shown, and links lead to files."""

import doctest
import importlib
import re
from pathlib import Path

import numpy as np
import pytest

from skfair.datasets import load_patients

HOME = Path(__file__).parents[1]
README = (HOME / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```pycon\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)
README_ROWS = re.findall(r"^\|[^|]*\|([^|]*)\| `(skfair\.\w+)` \|$", README, flags=re.MULTILINE)
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


EXAMPLES = [
    pytest.param(block, marks=pytest.mark.slow if "fetch_adult" in block else ())
    for block in BLOCKS
]


@pytest.mark.parametrize("block", EXAMPLES, ids=lambda block: block.splitlines()[0].split()[-1])
def test_an_example_runs_alone_and_prints_what_is_shown(block, tmp_path, monkeypatch, real_data):
    if "plotting" in block:
        pytest.importorskip("matplotlib")
    if "fetch_adult" in block:
        real_data("adult/adult.data")
    monkeypatch.chdir(tmp_path)
    test = doctest.DocTestParser().get_doctest(block, {}, "README.md", "README.md", 0)
    printed = []
    doctest.DocTestRunner(optionflags=FLAGS).run(test, out=printed.append, clear_globs=False)
    assert not printed, "".join(printed)
    if "fetch_adult" in block:
        check_figures_of_adult(test.globs)


def check_figures_of_adult(names):
    """Compare rates, gaps and accuracies of the first example with the sentences about them."""
    women = (names["sex_test"] == "Female").to_numpy()
    rates = []
    gaps = []
    accuracies = []
    for model in (names["boosting"], names["fair"]):
        decisions = model.predict(names["X_test"])
        shares = [100 * decisions[one].mean() for one in (~women, women)]
        rates += [round(share) for share in shares]
        gaps.append(round(abs(shares[0] - shares[1])))
        accuracies.append(100 * np.mean(decisions == names["y_test"]))
    cost = round(accuracies[0] - accuracies[1], 1)
    start = (HOME / "doc" / "index.rst").read_text(encoding="utf-8")
    sentence = f"The gap falls from {gaps[0]} to {gaps[1]} points, and accuracy by {cost} points."
    assert sentence in README
    assert f"The cost is {cost} points of accuracy." in start
    assert f"predicts it of {rates[0]} % of the men and {rates[1]} % of\nthe women" in start


def test_code_is_shown_in_no_other_way():
    """A block without a test would become outdated."""
    assert set(re.findall(r"^```(\w+)$", README, flags=re.MULTILINE)) <= {
        "console",
        "text",
        "pycon",
    }
    assert len(BLOCKS) >= 4


def test_the_readme_is_short():
    assert len(README.splitlines()) < 200


def test_links_lead_to_files_of_the_repository_or_to_papers():
    links = re.findall(r"\]\(([^)]+)\)", README)
    assert len(links) >= 5
    missing = [link for link in links if not (HOME / link.split("#")[0]).exists()]
    assert all(link.startswith("https://arxiv.org/abs/") for link in missing), missing


@pytest.mark.parametrize(
    "paper", ["2105.14172", "Tonin", "perturbed Lagrangian", "Kliachkin", "He"]
)
def test_both_places_name_every_paper(paper):
    assert paper in README
    assert paper in (HOME / "CITATION.cff").read_text(encoding="utf-8")


def test_names_of_the_table_of_tasks_are_in_their_modules():
    assert len(README_ROWS) > 15
    for names, module in README_ROWS:
        for name in re.findall(r"`(\w+)`", names):
            if name != "plan":
                assert name in importlib.import_module(module).__all__


@pytest.fixture
def tasks(monkeypatch):
    monkeypatch.syspath_prepend(str(HOME / "doc"))
    return importlib.import_module("tasks")


def test_readme_start_page_and_guide_have_one_table_of_tasks(tasks):
    assert tasks.readme_table() in README
    for page in ("index", "guide"):
        text = (HOME / "doc" / f"{page}.rst").read_text(encoding="utf-8")
        assert text.count(".. include:: tasks_table.rst") == 1
    labels = "".join(path.read_text(encoding="utf-8") for path in HOME.glob("doc/*.rst"))
    table = tasks.page_table()
    for label in re.findall(r":ref:`(\w+)`", table):
        assert f".. _{label}:\n" in labels
    assert len(re.findall(r"^   \* - ", table, flags=re.MULTILINE)) == len(README_ROWS) + 1


def test_readme_and_start_page_have_one_example_that_tests_the_tolerance_that_it_sets():
    page = (HOME / "doc" / "index.rst").read_text(encoding="utf-8")
    example = page.split("\n.. example\n")[1].split("\n.. end of example\n")[0]
    lines = [line[4:] for line in example.splitlines() if line.startswith("    ")]
    assert "\n".join(lines) + "\n" == BLOCKS[0]
    tolerances = re.findall(r"tolerance=([\d.]+)", BLOCKS[0])
    assert len(tolerances) == 2 and len(set(tolerances)) == 1
    start = (HOME / "doc" / "install.rst").read_text(encoding="utf-8")
    assert ".. include:: index.rst\n   :start-after: .. example\n" in start


def test_the_command_of_a_report_writes_the_page_of_its_picture(tmp_path, monkeypatch):
    pytest.importorskip("PIL")
    monkeypatch.syspath_prepend(str(HOME / "doc"))
    pictures = importlib.import_module("report_picture")
    patients = load_patients(drop_sensitive=True)
    y = np.where(patients.target > 140, ">50K", "<=50K")
    table = pictures.predict(patients.data, y, patients.sensitive_features)
    page = pictures.write_page(table, tmp_path).read_text(encoding="utf-8")
    assert f"<h1>{pictures.TITLE}</h1>" in page
    accuracy = f"{100 * np.mean(table['y'] == table['prediction']):.3g}"
    assert "221 samples in 2 groups by sex were audited" in page and f"{accuracy}&nbsp;%" in page
