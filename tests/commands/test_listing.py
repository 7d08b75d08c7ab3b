"""A file without options: its columns, and a command that works."""

import re
import shlex

import numpy as np
import pandas as pd
import pytest

from skfair.__main__ import main
from skfair._commands.listing import describe_column, find_roles

N = 1000
RNG = np.random.default_rng(0)
SEX = RNG.choice(["F", "M"], N)
SUCCESS = RNG.random(N) < np.where(SEX == "F", 0.4, 0.55)
REPAID = RNG.random(N) < np.where(SUCCESS, 0.8, 0.5)


def make_table(decisions=("denied", "approved"), outcomes=("no", "yes"), **more):
    table = {"id": np.arange(1, N + 1), "sex": SEX, "income": RNG.normal(50, 12, N).round(1)}
    table["decision"] = np.where(SUCCESS, decisions[1], decisions[0])
    if outcomes is not None:
        table["repaid"] = np.where(REPAID, outcomes[1], outcomes[0])
    return pd.DataFrame(table | more)


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """A function that runs a command; it returns the status, and what is written to both."""
    monkeypatch.chdir(tmp_path)

    def run_command(*words):
        try:
            status = main([*words])
        except SystemExit as end:
            status = end.code
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run_command


def find_proposed(text):
    """The words of the command that a text proposes, after `python -m skfair`."""
    line = next(one for one in text.splitlines() if "python -m skfair report" in one)
    return shlex.split(line.partition("python -m skfair ")[2])


FILES = {
    "other words": (make_table(region=RNG.choice([*"NSW"], N)), {"GROUP": "sex"}),
    "one attribute": (make_table(), {}),
    "decisions only": (make_table(outcomes=None), {}),
    "0 and 1": (make_table((0, 1), None), {}),
    "0 and 1 twice": (make_table((0, 1), (0, 1)), {"DECISION": "decision", "GROUP": "sex"}),
    "0 and 1, yes and no": (make_table((0, 1)), {"DECISION": "decision", "GROUP": "sex"}),
    "booleans": (make_table((False, True), None), {}),
    "words of no list": (
        make_table(("abgelehnt", "bewilligt"), None),
        {"DECISION": "decision --positive bewilligt", "GROUP": "sex"},
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_the_proposed_command_writes_a_report(run, tmp_path, name):
    table, meanings = FILES[name]
    table.to_csv("loans.csv", index=False)
    status, listed, _ = run("report", "loans.csv")
    assert status == 2
    assert not (tmp_path / "report.html").exists()
    words = find_proposed(listed)
    assert {*meanings} == {"GROUP", "DECISION"} & {*words}
    assert all(f"{one} stands for the column" in listed for one in meanings)
    filled = [part for word in words for part in meanings.get(word, word).split()]
    status, printed, error = run(*filled)
    assert status != 2, error
    assert (tmp_path / "report.html").exists()
    assert f"{100 * SUCCESS.mean():.1f} %" in printed  # of all that are selected


def test_kinds_numbers_of_values_and_examples_are_listed(run):
    table = make_table(
        age=RNG.integers(18, 80, N), day=["2025-01-05", "2025-02-06"] * (N // 2), note=None
    )
    table.to_csv("loans.csv", index=False)
    listed = run("report", "loans.csv")[1]
    assert listed.startswith(f"loans.csv: {N:,} rows, {len(table.columns)} columns.")
    kinds = {
        "id": "whole numbers",
        "sex": "text",
        "income": "numbers",
        "decision": "text",
        "repaid": "text",
        "age": "whole numbers",
        "day": "dates",
        "note": "empty",
    }
    lines = {line.split()[0]: line for line in listed.splitlines()[2:10]}
    for name, kind in kinds.items():
        words = lines[name].split()
        n_kind = len(kind.split())
        assert " ".join(words[1 : 1 + n_kind]) == kind
        assert words[1 + n_kind] == f"{table[name].nunique():,}"
        if kind != "empty":
            first = table[name].value_counts().index[0]
            assert words[2 + n_kind].rstrip(",") == str(first)
    assert "perhaps 'sex', 'age'" in listed
    assert "--bins age=40,65" in listed


def test_ages_as_groups_follow_the_advice_on_bins(run):
    table = make_table(outcomes=None, age=RNG.integers(18, 80, N)).drop(columns="sex")
    table.to_csv("loans.csv", index=False)
    words = find_proposed(run("report", "loans.csv")[1])
    words[words.index("GROUP")] = "age"
    status, printed, error = run(*words, "--bins", "age=40,65")
    assert status != 2, error
    assert "in 3 groups by age" in printed


@pytest.mark.parametrize("suffix", ["parquet", "json"])
def test_other_formats_have_the_same_list(run, suffix):
    table = make_table()
    table.to_csv("loans.csv", index=False)
    text = run("report", "loans.csv")[1]
    if suffix == "parquet":
        table.to_parquet("loans.parquet")
    else:
        table.to_json("loans.json", orient="records")
    assert run("report", f"loans.{suffix}")[1] == text.replace("loans.csv", f"loans.{suffix}")


def test_no_column_is_chosen_where_two_fit():
    table = make_table((0, 1), (0, 1))
    roles = find_roles([describe_column(table[name]) for name in table])
    assert roles.prediction is roles.target is None
    assert [one.name for one in roles.decisions] == ["decision", "repaid"]
    assert [one.name for one in roles.groups] == ["sex", "decision", "repaid"]


OPTIONS = ["--prediction", "decision", "--target", "repaid", "--sensitive", "sex"]
WORDS = {
    "approved and yes": (("denied", "approved"), ("no", "yes"), []),
    "one is passed": (("denied", "approved"), ("no", "yes"), ["--positive", "approved"]),
    "the other is passed": (("denied", "approved"), ("no", "yes"), ["--positive", "yes"]),
    "numbers and words": ((0, 1), ("no", "yes"), []),
    "words and numbers": (("rejected", "hired"), (0, 1), []),
    "no known words": (("abgelehnt", "bewilligt"), ("geplatzt", "bezahlt"), []),
}


@pytest.mark.parametrize("command", [["report"], ["certify", "--tolerance", ".2"]])
@pytest.mark.parametrize("name", WORDS)
def test_other_words_of_outcomes_are_refused_with_the_whole_command(run, name, command):
    decisions, outcomes, passed = WORDS[name]
    make_table(decisions, outcomes).to_csv("loans.csv", index=False)
    status, _, error = run(command[0], "loans.csv", *command[1:], *OPTIONS, *passed)
    assert status == 2
    proposed = error.partition("as in: python -m skfair ")
    words = shlex.split(proposed[2].split(". LABEL")[0])
    labels = iter([str(decisions[1]), str(outcomes[1])])
    assert ("LABEL" in words) == (name == "no known words")
    words = [next(labels) if word == "LABEL" else word for word in words]
    status, printed, error = run(*words)
    assert status != 2, error
    if command == ["report"]:
        agree = SUCCESS == REPAID
        assert f"accuracy {100 * agree.mean():.1f} %" in printed


ONE_CLASS = {
    "0 and 1": (0, "1"),
    "words": ("denied", "approved"),
    "a negation": ("not hired", "hired"),
    "a prefix": ("unapproved", "approved"),
}
COMMANDS = {
    "report": [],
    "certify": ["--tolerance", ".1"],
    "subgroups": [],
    "monitor": ["--time", "day", "--tolerance", ".1"],
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", ONE_CLASS)
def test_a_file_without_a_selected_sample_is_counted(run, name, command):
    other, label = ONE_CLASS[name]
    table = make_table().assign(decision=other, day="2025-01-07")
    table.to_csv("none.csv", index=False)
    words = ["none.csv", "--prediction", "decision", "--sensitive", "sex", "--positive", label]
    status, printed, error = run(command, *words, *COMMANDS[command])
    assert status == 0, error
    assert f"No entry of 'decision' is {label!r}" in error
    assert command == "subgroups" or re.search(
        r"\b0 (%|percentage points)|differ by 0, and", printed
    )


def test_a_month_without_a_selected_sample_is_counted_between_others(run):
    words = ["m.csv", "--prediction", "decision", "--sensitive", "sex", "--time", "day"]
    words += ["--positive", "approved", "--state", "s.json", "--json", "r.json"]
    for month, is_empty in enumerate([False, True, False], 1):
        table = make_table(outcomes=None, day=f"2025-0{month}-07")
        if is_empty:
            table["decision"] = "denied"
        table.to_csv("m.csv", index=False)
        status, printed, error = run("monitor", *words)
        assert status != 2, error
        assert f"{month * N:,} samples" in printed
    rates = [2 * SUCCESS[SEX == one].mean() / 3 for one in "FM"]
    assert f"a gap of {100 * (rates[1] - rates[0]):.3g} percentage points" in printed


def test_no_selected_sample_beside_outcomes_in_other_words(run):
    for decisions in (("denied", "approved"), (0, 1)):
        table = make_table(decisions).assign(decision=decisions[0])
        table.to_csv("none.csv", index=False)
        labels = ["--positive", str(decisions[1]), "--positive", "yes"]
        status, printed, error = run("report", "none.csv", *OPTIONS, *labels)
        assert status == 0, error
        assert "selection rate 0 %" in printed
        assert f"accuracy {100 * (~REPAID).mean():.1f} %" in printed


SLIPS = [("approved", "aproved"), ("yes", "yess"), ("Denied", "denied"), (0, "approved")]


@pytest.mark.parametrize(("only", "label"), SLIPS)
def test_slips_of_spelling_are_refused(run, only, label):
    make_table().assign(decision=only).to_csv("none.csv", index=False)
    words = ["none.csv", "--prediction", "decision", "--sensitive", "sex", "--positive", label]
    status, _, error = run("report", *words)
    assert status == 2
    assert "--positive must be one of the classes" in error
