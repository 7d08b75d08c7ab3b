"""The README: its example runs and prints what is shown, and its links lead to files."""

import doctest
import importlib
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from skfair.datasets import load_patients, make_fair_sbm, make_loans

HOME = Path(__file__).parents[1]
README = (HOME / "README.md").read_text(encoding="utf-8")
EXAMPLE, SEARCH = re.findall(r"^```pycon\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)
LINK = re.compile(r"^\[(\w+)\]: (\S+)$", flags=re.MULTILINE)
LINKS = dict(LINK.findall(README))
TEXT = LINK.sub("", README)
"""README without its list of links."""

START = (HOME / "doc" / "index.rst").read_text(encoding="utf-8")
PROJECT = tomllib.loads((HOME / "pyproject.toml").read_text(encoding="utf-8"))["project"]
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


@pytest.fixture
def doc_modules(monkeypatch):
    monkeypatch.syspath_prepend(str(HOME / "doc"))


@pytest.mark.slow
def test_the_example_prints_what_is_shown_and_costs_what_is_said(real_data, doc_modules):
    pytest.importorskip("matplotlib")
    real_data("adult/adult.data")
    test = doctest.DocTestParser().get_doctest(EXAMPLE, {}, "README.md", "README.md", 0)
    printed = []
    doctest.DocTestRunner(optionflags=FLAGS).run(test, out=printed.append, clear_globs=False)
    assert not printed, "".join(printed)
    pictures = importlib.import_module("start_pictures")
    names = test.globs
    models = pictures.make_models()
    models[pictures.SELECTION] = names["fair"]
    models[pictures.BOOSTING].fit(names["X"], names["y"])
    models[pictures.ODDS].fit(names["X"], names["y"], sensitive_features=names["sex"])
    measures = {
        name: pictures.measure(model.predict(names["X_test"]), names["y_test"], names["sex_test"])
        for name, model in models.items()
    }
    rows = [pictures.format_row(name, measures[name]) for name in models]
    assert "\n".join(rows) in README
    check_sentences(*(measures[name] for name in models))


def test_the_search_prints_what_is_shown():
    test = doctest.DocTestParser().get_doctest(SEARCH, {}, "README.md", "README.md", 0)
    printed = []
    doctest.DocTestRunner(optionflags=FLAGS).run(test, out=printed.append)
    assert not printed, "".join(printed)


ROW = re.compile(r"^\| [^|]+ \| `((\w+)\(.+)` \| \[[^]]+\]\[(\w+)\] \|$", flags=re.MULTILINE)


def test_each_estimator_of_the_table_fits_by_its_line_and_keeps_its_bound():
    X, y, sex = make_loans(2000, random_state=0)
    A, _, communities = make_fair_sbm(100, n_clusters=2, random_state=0)
    rows = ROW.findall(README)
    names = [name for _, name, _ in rows]
    assert names == [
        "ConstrainedClassifierCV",
        "ConstrainedERMClassifier",
        "PartialParityClassifier",
        "FairKMeans",
        "FairSpectralClustering",
    ]
    for line, name, page in rows:
        module = "cluster" if name.startswith("Fair") else "classification"
        values = {name: getattr(importlib.import_module(f"skfair.{module}"), name)}
        values |= {"model": LogisticRegression(max_iter=1000), "X": X, "y": y, "sex": sex}
        if "A" in line.split("fit(")[1].split(","):
            values |= {"A": A, "sex": communities}
        assert eval(line, values).status_ in ("optimal", "feasible"), line
        assert name in (HOME / LINKS[page]).read_text(encoding="utf-8")


def check_sentences(boosting, selection, odds):
    """Compare what README and the start page say in sentences with measures of the models."""
    cost = 100 * (boosting["accuracy"] - selection["accuracy"])
    gaps = [round(100 * np.ptp(one["found"])) for one in (boosting, selection, odds)]
    readme, start = (" ".join(text.split()) for text in (README, START))
    assert f"It costs {cost:.1f} points of accuracy" in readme
    assert f"grows from {gaps[0]} to {gaps[1]} points and turns round" in readme
    assert f"grows from {gaps[0]} to {gaps[1]} points and turns round" in start
    assert f"leaves a gap of {gaps[2]} points there" in readme
    odds_accuracy = f"{odds['accuracy']:.3f}"[1:]
    assert f"falls to {gaps[2]} points at an accuracy of {odds_accuracy}" in start
    precision = [f"{selection['precision'][sex]:.2f}"[1:] for sex in ("Female", "Male")]
    assert "becomes {} for women and {} for men".format(*precision) in start
    accuracies = [f"{one['accuracy']:.3f}"[1:] for one in (boosting, selection)]
    assert "Accuracy falls from {} to {}.".format(*accuracies) in start
    shares = [f"{100 * boosting['selected'][sex]:.0f} %" for sex in ("Male", "Female")]
    assert "{} of men and {} of women".format(*shares) in start


def test_code_is_shown_in_no_other_way():
    """A block without a test would become outdated."""
    assert set(re.findall(r"^```(\w+)$", README, flags=re.MULTILINE)) == {"console", "pycon"}


def test_the_readme_is_short_and_shows_code_soon():
    assert len(TEXT.split()) <= 1000
    assert len(TEXT.split("```")[0].split()) < 100


def test_links_lead_to_files_and_are_used():
    """Someone with only a clone can follow each link."""
    assert set(re.findall(r"\]\[(\w+)\]", TEXT)) == set(LINKS)
    inline = re.findall(r"\]\(([^)]+)\)", TEXT)
    assert all(link.startswith("https://img.shields.io/badge/") for link in inline)
    for link in LINKS.values():
        assert (HOME / link.partition("#")[0]).exists(), link


def test_the_metadata_names_no_address_that_cannot_resolve():
    assert "urls" not in PROJECT


def test_a_link_to_a_section_names_one():
    (link,) = (link for link in LINKS.values() if "#" in link)
    page, anchor = re.search(r"(\w+)\.rst#(.+)$", link).groups()
    titles = (HOME / "doc" / f"{page}.rst").read_text(encoding="utf-8").lower().splitlines()
    assert anchor in [re.sub(r"\W+", "-", title).strip("-") for title in titles]


def test_the_readme_counts_the_functions_that_keep_the_names_of_fairlearn():
    theirs = importlib.import_module("fairlearn.metrics")
    ours = importlib.import_module("skfair.metrics").__all__
    names = [name for name in dir(theirs) if name.endswith(("_difference", "_ratio"))]
    assert (len(names), len({*names} & {*ours})) == (20, 20)
    paper = " ".join((HOME / "paper.md").read_text(encoding="utf-8").split())
    assert "Its twenty `..._difference` and `..._ratio`" in " ".join(README.split())
    assert "fairlearn's twenty `..._difference` and `..._ratio`" in paper


@pytest.mark.parametrize("version", ["python", "scikit-learn"])
def test_readme_and_project_need_the_same_versions(version):
    lowest = {"python": PROJECT["requires-python"]}
    lowest |= dict(re.findall(r"^([\w-]+)(>=.+)$", "\n".join(PROJECT["dependencies"]), re.M))
    assert f"{version} {lowest[version].removeprefix('>=')} or later" in README.lower()


@pytest.mark.parametrize(
    "paper", ["2105.14172", "Tonin", "perturbed Lagrangian", "Kliachkin", "He"]
)
def test_every_paper_can_be_cited(paper):
    assert paper in (HOME / "CITATION.cff").read_text(encoding="utf-8")


@pytest.fixture
def tasks(doc_modules):
    return importlib.import_module("tasks")


def test_the_guide_has_the_table_of_tasks(tasks):
    guide = (HOME / "doc" / "guide.rst").read_text(encoding="utf-8")
    assert guide.count(".. include:: tasks_table.rst") == 1
    labels = "".join(path.read_text(encoding="utf-8") for path in HOME.glob("doc/*.rst"))
    for label in re.findall(r":ref:`(\w+)`", tasks.page_table()):
        assert f".. _{label}:\n" in labels


def test_names_of_the_table_of_tasks_are_in_their_modules(tasks):
    rows = [task for of_door in tasks.DOORS.values() for task in of_door]
    assert len(rows) > 15
    for task in rows:
        exported = importlib.import_module(f"skfair.{task.module}").__all__
        for name in re.findall(r"`(\w+)`", task.names):
            assert name == "plan" or name in exported


def test_readme_and_start_page_have_one_example_that_tests_the_tolerance_that_it_sets():
    example = START.split("\n.. example\n")[1].split("\n.. end of example\n")[0]
    lines = [line[4:] for line in example.splitlines() if line.startswith("    ")]
    assert "\n".join(lines) + "\n" == EXAMPLE
    tolerances = re.findall(r"tolerance=([\d.]+)", EXAMPLE)
    assert len(tolerances) == 2 and len(set(tolerances)) == 1
    install = (HOME / "doc" / "install.rst").read_text(encoding="utf-8")
    assert ".. include:: index.rst\n   :start-after: .. example\n" in install


def test_readme_and_start_page_compare_libraries_by_the_figures_of_the_comparison():
    comparison = (HOME / "doc" / "comparison.rst").read_text(encoding="utf-8")
    measures = ("gap, mean", "accuracy; ", "fit time, in plain fits")
    rows = [
        re.search(rf"^\| {re.escape(one)}[^|]*\|(.+)\|$", README, re.M)[1].split("|")
        for one in measures
    ]
    libraries = ("skfair", "fairlearn", "AIF360")
    for library, gap, accuracy, time in zip(libraries, *rows, strict=True):
        cells = [accuracy.strip(), gap.strip(), time.strip()]
        row = "\n     - ".join([f"   * - {library}", *cells])
        assert row + "\n" in comparison
        assert all(f"     - {cell}\n" in START for cell in cells)


def test_the_report_of_the_start_page_is_that_of_today(tmp_path, doc_modules):
    pages = importlib.import_module("report_page")
    patients = load_patients(drop_sensitive=True)
    y = np.where(patients.target > 140, ">50K", "<=50K")
    table = pages.predict(patients.data, y, patients.sensitive_features)
    pages.write_page(table, tmp_path / "report.html")
    stored = pages.PAGE.read_text(encoding="utf-8")
    written = (tmp_path / "report.html").read_text(encoding="utf-8")
    style = re.compile(r"<style>(.*?)</style>", re.DOTALL)
    headings = re.compile(r"<h[12]>([^<]+)</h[12]>")
    assert headings.findall(stored)[:6] == headings.findall(written)[:6] != []
    assert style.findall(stored) == style.findall(written) != []
    assert "<script" not in stored
