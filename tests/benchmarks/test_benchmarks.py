"""Every command of ``python -m benchmarks`` runs at its smallest size."""

import os
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from benchmarks import packages, sizes
from benchmarks.papers.index import PAPERS
from benchmarks.runner import BENCHMARKS, main, run
from benchmarks.tables import show
from benchmarks.timing import SMALLEST

FAST = {
    *("changes", "coverage", "coverage-kinds", "fit-large", "fit-sizes", "group-probabilities"),
    *(
        "hidden-fits",
        "hidden-groups",
        "guarantee-costs",
        "papers",
        "partitioned-metrics",
        "ranking-pairs",
        "rankings",
    ),
    *("redraw-kinds", "redraw-levels", "redraws", "reports", "selection", "subgroups", "tails"),
}
"""Commands that need no data and take less than a second."""


PICTURES = {
    name: {
        picture
        for paper in PAPERS
        for entry in paper.entries
        if entry.command.split()[3:4] == [name]
        for picture in entry.pictures
    }
    for name in BENCHMARKS
}
"""Files of the papers' figures by the name of the command that writes them."""


@pytest.fixture(autouse=True)
def no_network(monkeypatch, tmp_path):
    """Without SKFAIR_DATA no data set is found, and none is downloaded."""
    if not os.environ.get("SKFAIR_DATA"):
        monkeypatch.setenv("SKFAIR_DATA", str(tmp_path))


# Samples are few, of which estimators warn.
@pytest.mark.covering(0)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name in FAST else [pytest.mark.slow]) for name in BENCHMARKS],
)
def test_a_command_runs_at_its_smallest_size(name, monkeypatch):
    written = set()
    save = Figure.savefig

    def save_and_record(figure, path, **settings):
        written.add(Path(path).name)
        save(figure, path, **settings)

    monkeypatch.setattr(Figure, "savefig", save_and_record)
    try:
        report = run(name, SMALLEST)
    except OSError as error:
        pytest.skip(f"needs public data: {error}")
    assert report.records or "not installed" in report.title
    assert report.title in show(report)
    assert written >= PICTURES[name]


def test_every_command_declares_its_smallest_size():
    assert not [name for name, benchmark in BENCHMARKS.items() if not benchmark.smallest]


def test_constants_have_their_values_again_after_a_run():
    from benchmarks.guarantees import selection

    before = selection.N_SEARCHES
    with sizes.use_smallest(selection.selection):
        assert before != selection.N_SEARCHES == {1: 2}
    assert selection.N_SEARCHES is before


def test_a_constant_that_is_not_there_fails():
    @sizes.smallest(N_OLD_NAME=1)
    def benchmark(budget): ...

    with pytest.raises(AttributeError, match="N_OLD_NAME"), sizes.use_smallest(benchmark):
        pass


def test_the_output_names_packages_that_are_not_installed(monkeypatch, capsys):
    monkeypatch.setattr(packages, "find_spec", lambda name: None)
    main(["--smallest", "torch-loop", "selection"])
    torch, selection = capsys.readouterr().out.split("== selection")
    assert "Left out, because they are not installed: torch." in torch
    assert "not installed" not in selection
