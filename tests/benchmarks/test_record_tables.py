"""Tables of records that git keeps."""

import csv

from benchmarks import record_tables
from benchmarks.record_tables import RecordTable
from benchmarks.records import RecordFolder, Run, load_or_run
from benchmarks.timing import FULL, QUICK


def run(method, made, settings="k = 2, 1 run", **figures):
    def make():
        made.append(method)
        return {"CPU s": 1.5, "seconds": [1.5], "status": "a, b"} | figures

    return Run("Adult n=3 k=2", method, 1, settings, make)


def lines(study="study"):
    with RecordTable(study).path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_a_record_comes_back_as_it_was():
    made = []
    for _ in range(2):
        results = load_or_run("study", [run("s-FSC", made)], FULL, RecordTable)
        (record,) = results.values()
        assert record == {"CPU s": 1.5, "seconds": [1.5], "status": "a, b"}
    assert made == ["s-FSC"]


def test_numbers_have_six_digits():
    nested = {"points": [{"x": 2 / 3, "n": 12345678}, (1 / 7, "a")]}
    load_or_run("study", [run("s-FSC", [], cut=1e7 / 3, **nested)], FULL, RecordTable)
    record = RecordTable("study").load(run("s-FSC", []))
    assert record["cut"] == 3333330.0
    assert record["points"] == [{"x": 0.666667, "n": 12345678}, [0.142857, "a"]]


def test_only_complete_runs_are_kept_in_tables():
    assert record_tables.store_of(FULL) is RecordTable
    assert record_tables.store_of(QUICK) is RecordFolder


def test_a_line_names_the_commit_and_the_day():
    load_or_run("study", [run("s-FSC", [])], FULL, RecordTable)
    (line,) = lines()
    assert line["method"] == "s-FSC" and line["commit"]
    assert [len(number) for number in line["date"].split("-")] == [4, 2, 2]


def test_a_new_record_keeps_the_others_and_replaces_its_own():
    made = []
    first = run("default", made)
    second = run("s-FSC", made, cut=2.0)
    load_or_run("study", [first, second], FULL, RecordTable)
    other = run("default", made, settings="k = 2, 2 runs")
    load_or_run("study", [other], FULL, RecordTable)
    assert [line["method"] for line in lines()] == ["s-FSC", "default"]
    assert made == ["default", "s-FSC", "default"]
    assert RecordTable("study").load(first) is None, "of other settings"
    assert RecordTable("study").load(second)["cut"] == 2.0
    assert "cut" not in RecordTable("study").load(other)


def test_only_runs_with_a_text_in_their_name_are_made():
    made = []
    runs = [run("default", made), run("s-FSC", made)]
    budget = FULL._replace(cells=("k=2, s-FSC",))
    assert list(load_or_run("study", runs, budget, RecordTable)) == [runs[1].key]
    assert made == ["s-FSC"]
