"""The index of the papers names everything once, and only commands that exist."""

import inspect
import re
from datetime import date
from pathlib import Path

import numpy as np
import pytest

import skfair
from benchmarks import record_tables, timing
from benchmarks.papers.index import LINEAR_ROWS, NO_COMMAND, PAPERS, Entry, names, papers, table
from benchmarks.runner import BENCHMARKS
from benchmarks.tables import show
from benchmarks.timing import QUICK
from skfair import classification, cluster, solvers
from skfair._groups import check_groups
from skfair._problems.mlp import MLPModel

ROOT = Path(__file__).parents[3]
ENTRIES = [entry for paper in PAPERS for entry in paper.entries]


def test_names_of_an_entry():
    assert names("Tables 2, 4-5, Figure 1") == ["Table 2", "Table 4", "Table 5", "Figure 1"]


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.title[:12])
def test_every_table_and_figure_has_its_place(paper):
    expected = [f"Table {i + 1}" for i in range(paper.n_tables)]
    expected += [f"Figure {i + 1}" for i in range(paper.n_figures)]
    listed = [name for entry in paper.entries for name in names(entry.items)]
    assert sorted(listed) == sorted(expected)


@pytest.mark.parametrize("command", sorted({entry.command for entry in ENTRIES} - {NO_COMMAND}))
def test_commands_exist(command):
    *_, what = command.split()
    if "-m benchmarks" in command:
        assert what in BENCHMARKS
    else:
        assert (ROOT / what).exists()


def test_the_index_shows_measured_seconds(monkeypatch, tmp_path):
    monkeypatch.setattr(timing, "SECONDS_FILE", tmp_path / "seconds.json")
    assert " s here)" not in show(papers(QUICK))
    timing.store_seconds("table-1", 12.4)
    timing.store_seconds("table-1", 77.7)
    assert show(papers(QUICK)).count("python -m benchmarks table-1 (78 s here)") == 1


def test_every_entry_has_a_finding():
    assert all(entry.finding.endswith(".") for entry in ENTRIES)


def test_the_index_and_its_documentation_say_the_same():
    printed = " ".join(show(papers(QUICK)).split())
    for paper in PAPERS:
        documented = table(paper)
        for entry in paper.entries:
            assert entry.items in documented and entry.items in printed
            assert entry.dated_finding in documented and entry.dated_finding in printed


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: f"{e.items} {e.command}")
def test_findings_of_benchmarks_name_the_day_of_their_runs(entry):
    assert bool(entry.date) == ("-m benchmarks" in entry.command), "tests run the other commands"
    assert not entry.date or date.fromisoformat(entry.date).isoformat() == entry.date
    assert entry.dated_finding.endswith(f" Run on {entry.date}." if entry.date else entry.finding)


PRESETS = {
    f"{name}.{preset}": getattr(method, preset)
    for package in (classification, cluster, solvers)
    for name, method in inspect.getmembers(package, inspect.isclass)
    for preset in dir(method)
    if re.fullmatch(r"from_(\w*paper|benchmark|public_code)", preset)
}
MEASURED = re.compile(r"\b(seconds|minutes|hours|faster|slower|near|nearer|far|better|lower)\b")
COMMAND = re.compile(r"``python -m benchmarks ([\w-]+)[^`]*``,\s+(\d{4}-\d\d-\d\d)")


@pytest.mark.parametrize("name", PRESETS)
def test_what_a_preset_says_of_measurements_names_a_command_and_a_day(name):
    text = inspect.getdoc(PRESETS[name])
    runs = COMMAND.findall(text)
    assert bool(MEASURED.search(text)) == bool(runs)
    assert all(command in BENCHMARKS and date.fromisoformat(day) for command, day in runs)


def test_there_are_presets_of_all_papers():
    classes = {name.partition(".")[0] for name in PRESETS}
    assert {"AlternatingFront", "DCADMM", "PLADA", "SSLALM", "IDCA"} <= classes
    assert len(PRESETS) >= 13


def test_what_the_page_says_of_networks_and_groups():
    page = " ".join((ROOT / "doc" / "papers.rst").read_text(encoding="utf-8").split())
    n_parameters = MLPModel(np.zeros((1, 9)), hidden_layer_sizes=(64, 32)).n_parameters
    assert n_parameters == 9 * 64 + 64 + 64 * 32 + 32 + 32 + 1 == 2753
    assert "32 + 32 + 1 = 2,753" in page
    # Of four combinations of two attributes three occur.
    attributes = np.array([["a", "x"], ["a", "y"], ["b", "x"]])
    assert len(check_groups(attributes, 3).labels) == 3
    assert "groups are the combinations that occur in the data" in page
    sources = Path(skfair.__file__).parent.rglob("*.py")
    assert not [path for path in sources if "tensorflow" in path.read_text(encoding="utf-8")]
    assert "no counterpart here" in page


def test_an_entry_lists_what_is_smaller_or_different():
    sizes = {"nodes": ((5000, 10_000), (5000, 7500)), "runs": (5, 5)}
    entry = Entry("Table 1", "run", "It agrees.", sizes, ("data made up",), "run all")
    assert entry.extent == (
        "smaller: nodes 5,000 / 7,500 of 5,000 / 10,000; different: data made up; "
        "in full: run all, which can be stopped and resumed"
    )
    printed = entry._replace(sizes={"runs": (5, 5)}, differs=(), in_full="")
    assert printed.extent == "as printed" and not entry.is_as_printed
    chosen = printed._replace(chosen=("seed",))
    assert chosen.extent == "as printed; chosen, as the paper prints none: seed"
    assert entry._replace(command=NO_COMMAND).extent == "not reproduced"


@pytest.mark.parametrize(
    "entry", [entry for entry in ENTRIES if "-m benchmarks" in entry.command], ids=lambda e: e.items
)
def test_every_benchmark_of_a_paper_declares_its_sizes(entry):
    assert entry.sizes or entry.differs or entry.chosen
    assert not entry.in_full or entry.in_full.split()[-1] in BENCHMARKS


def test_the_counts_of_items_add_up():
    counts = {record["paper"]: record for record in papers(QUICK).records}
    assert len(counts) == len(PAPERS)
    for row in counts.values():
        parts = [row[extent] for extent in ("as printed", "smaller or different", "not reproduced")]
        assert sum(parts) == row["tables and figures"]
        assert row["of them, with chosen settings"] <= row["as printed"]


def test_every_entry_shows_its_extent_in_the_command_and_the_documentation():
    printed = " ".join(show(papers(QUICK)).split())
    for paper in PAPERS:
        for entry in paper.entries:
            assert f"[{entry.extent}]" in printed and entry.extent in table(paper)


def test_declared_sizes_are_those_of_the_data():
    from benchmarks.papers.partial_fairness.cases import PRINTED_NAMES, case
    from benchmarks.papers.plada.time_course import DATA, _all_samples

    try:
        cases = [_all_samples(name) for name in DATA]
        scored = [case(name, 0).train.X.shape[1] for name in PRINTED_NAMES]
    except OSError:
        pytest.skip("the data are not on this disk")
    n_samples = tuple(len(samples.y) for samples in cases)
    n_columns = tuple(samples.X.shape[1] for samples in cases)
    assert [here for _, here in LINEAR_ROWS.values()] == [n_samples, n_columns]
    (entry,) = (e for e in ENTRIES if e.items == "Figures 3-5" and "densities" in e.command)
    assert [here for _, here in entry.sizes.values()] == [tuple(scored)]


def test_compas_is_among_the_figures_of_plada():
    from benchmarks.papers.plada import time_course

    (entry,) = (e for e in ENTRIES if e.items == "Figures 1, 2" and "erm" in e.command)
    assert "COMPAS" in time_course.DATA and "COMPAS" in str(entry.sizes)


def test_rates_on_the_page_are_those_of_the_records(monkeypatch):
    from benchmarks.papers.plada.time_course import DATA, STEPS, STUDY_RATE, _exponent
    from benchmarks.record_tables import RecordTable

    monkeypatch.setattr(record_tables, "FOLDER", ROOT / "benchmarks" / "papers" / "recorded")
    lines = {(line["problem"], line["method"]): line for line in RecordTable(STUDY_RATE)._lines()}
    rates = {
        steps: [
            _exponent({f"T = {n}": float(lines[name, steps][f"T = {n}"]) for n in (1000, 3000)})
            for name in DATA
        ]
        for steps in STEPS
    }
    of_theorem, of_table = (
        [f"{rate:.2f}".replace("-0.", "-.") for rate in rates[steps]]
        for steps in ("steps of the theorem", "steps of Table 2")
    )
    page = " ".join((ROOT / "doc" / "papers.rst").read_text(encoding="utf-8").split())
    assert "{}, {} and {} on Adult".format(*of_theorem) in page
    assert "and {}, {} and {} with the steps of Table 2".format(*of_table) in page
