import pytest

from benchmarks import records
from benchmarks.records import Run, load_or_run
from benchmarks.timing import FULL


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "FOLDER", tmp_path)


def run(seed, made, settings="a"):
    def make():
        made.append(seed)
        return {"seed": seed}

    return Run("data", "method", seed, settings, make)


def test_a_run_is_made_once():
    made = []
    for _ in range(2):
        results = load_or_run("study", [run(seed, made) for seed in (0, 1)], FULL)
        assert results == {("data", "method", seed): {"seed": seed} for seed in (0, 1)}
    assert made == [0, 1]


def test_a_record_of_other_settings_is_not_taken():
    made = []
    load_or_run("study", [run(0, made)], FULL)
    load_or_run("study", [run(0, made, settings="b")], FULL)
    assert made == [0, 0]


def test_recorded_only_computes_nothing():
    made = []
    load_or_run("study", [run(0, made)], FULL)
    results = load_or_run("study", [run(0, made), run(1, made)], FULL._replace(recorded_only=True))
    assert list(results) == [("data", "method", 0)] and made == [0]


def test_an_interrupt_keeps_what_is_done_and_makes_no_more():
    made = []

    def interrupt():
        raise KeyboardInterrupt

    runs = [run(0, made), run(1, made)._replace(make=interrupt), run(2, made)]
    assert list(load_or_run("study", runs, FULL)) == [("data", "method", 0)]
    assert made == [0]


def test_each_name_has_its_file(tmp_path):
    plain = run(0, [])
    named = plain._replace(method="SSw, equal steps", problem="Adult, parity")
    assert named.path("study").parent == tmp_path / "study"
    assert named.path("study") != plain.path("study")
