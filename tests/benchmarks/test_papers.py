"""The index of the papers names everything once, and only commands that exist."""

from pathlib import Path

import pytest

from benchmarks import timing
from benchmarks.papers import NOTHING, PAPERS, names, papers, table
from benchmarks.runner import BENCHMARKS
from benchmarks.tables import show
from benchmarks.timing import QUICK

ROOT = Path(__file__).parents[2]
ENTRIES = [entry for paper in PAPERS for entry in paper.entries]


def test_names_of_an_entry():
    assert names("Tables 2, 4-5, Figure 1") == ["Table 2", "Table 4", "Table 5", "Figure 1"]


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.title[:12])
def test_every_table_and_figure_has_its_place(paper):
    expected = [f"Table {i + 1}" for i in range(paper.n_tables)]
    expected += [f"Figure {i + 1}" for i in range(paper.n_figures)]
    found = [name for entry in paper.entries for name in names(entry.items)]
    assert sorted(found) == sorted(expected)


@pytest.mark.parametrize("command", sorted({entry.command for entry in ENTRIES} - {NOTHING}))
def test_commands_exist(command):
    *_, what = command.split()
    if "benchmarks" in command:
        assert what in BENCHMARKS
    else:
        assert (ROOT / what).exists()


def test_the_index_says_what_a_benchmark_took_here(monkeypatch, tmp_path):
    monkeypatch.setattr(timing, "TAKEN", tmp_path / "seconds.json")
    assert " s here)" not in show(papers(QUICK))
    timing.note_seconds("table-1", 12.4)
    timing.note_seconds("table-1", 77.7)
    assert show(papers(QUICK)).count("python -m benchmarks table-1 (78 s here)") == 1


def test_whatever_is_not_reproduced_has_a_reason():
    assert all(entry.finding.endswith(".") for entry in ENTRIES)


def test_the_index_and_its_documentation_say_the_same():
    printed = " ".join(show(papers(QUICK)).split())
    for paper in PAPERS:
        documented = table(paper)
        for entry in paper.entries:
            assert entry.items in documented and entry.items in printed
            assert entry.finding in documented and entry.finding in printed
