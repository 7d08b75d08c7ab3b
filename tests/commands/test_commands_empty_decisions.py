"""Empty decisions, marks, and one class of three are read the same way by all commands."""

import re

import numpy as np
import pandas as pd
import pytest

from skfair.__main__ import main
from skfair._columns.reading import Reading

COMMANDS = {
    "report": "report t.csv",
    "certify": "certify t.csv --tolerance .1",
    "compare": "compare t.csv t2.csv",
    "subgroups": "subgroups t.csv",
    "monitor": "monitor t.csv --time month",
}


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """A function that runs a command; it returns the status and what is written."""
    monkeypatch.chdir(tmp_path)

    def run_command(text):
        try:
            status = main(text.split())
        except SystemExit as end:
            status = end.code
        captured = capsys.readouterr()
        return status, captured.out + captured.err

    return run_command


def draw(n=900):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"sex": rng.choice(["f", "m"], n), "month": np.repeat([*"123"], n // 3)})
    table["month"] = "2025-0" + table["month"] + "-01"
    shares = np.where(table["sex"] == "f", 0.4, 0.2)
    table["decision"] = np.where(rng.random(n) < shares, "Admit", "")
    table.loc[rng.random(n) < 0.1, "decision"] = "Waitlist"
    return table


def write(table):
    table.to_csv("t.csv", index=False)
    table.to_csv("t2.csv", index=False)


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_empty_decisions_are_named_and_no_rows_are_to_be_dropped(run, command):
    table = draw()
    write(table)
    options = f"{COMMANDS[command]} --prediction decision --sensitive sex --positive Admit"
    status, text = run(options)
    assert status == 2 and "--empty" in text and "leave these rows out" not in text
    # With the class that they mean the answer is that of the file which says so.
    answers = [run(f"{options} --empty Deny")]
    write(table.replace({"decision": {"": "Deny"}}))
    answers.append(run(options))
    (status, text), (expected, written) = answers
    pattern = r"Read:.*\n"  # which says what was read as what
    assert (status, re.sub(pattern, "", text)) == (expected, re.sub(pattern, "", written))
    rates = (table["decision"] == "Admit").groupby(table["sex"]).mean()
    assert (
        f"{100 * rates['f']:.3g} %" in text
        or f"{100 * (rates['f'] - rates['m']):.3g}" in text
        or (command == "compare")
    )


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_one_class_of_three_is_compared_with_the_rest(run, command):
    table = draw().replace({"decision": {"": "Deny"}})
    write(table)
    options = f"{COMMANDS[command]} --prediction decision --sensitive sex --positive Admit"
    answer = run(options)
    write(table.replace({"decision": {"Waitlist": "Deny"}}))
    expected = run(options)
    drop = r"Read:.*\n"
    assert answer[0] == expected[0] != 2
    assert re.sub(drop, "", answer[1]) == re.sub(drop, "", expected[1])


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_a_mark_among_decisions_is_refused_by_all(run, command):
    table = draw().replace({"decision": {"": "-"}})
    write(table)
    options = f"{COMMANDS[command]} --prediction decision --sensitive sex --positive Admit"
    status, text = run(options)
    assert status == 2 and "'-', which usually marks a missing value" in text
    assert run(f"{options} --empty Deny")[0] != 2


def test_outcomes_of_one_class_or_nothing_are_refused(run):
    table = draw().assign(hired=lambda one: one["decision"].replace("Waitlist", ""))
    table = table.replace({"decision": {"": "Deny", "Waitlist": "Deny"}})
    write(table)
    options = "report t.csv --prediction decision --target hired --sensitive sex --positive Admit"
    status, text = run(options)
    assert status == 2 and "'hired' holds 'Admit' or nothing" in text
    _, text = run(f"{options} --empty Deny")
    accuracy = (table["decision"] == table["hired"].replace("", "Deny")).mean()
    assert f"accuracy {100 * accuracy:.3g} %" in text


def test_a_claim_of_the_same_table_as_parquet_is_the_same(run):
    table = draw().replace({"decision": {"": "Deny"}})
    write(table)
    table.to_parquet("t.parquet")
    run(
        f"{COMMANDS['certify']} --prediction decision --sensitive sex --positive Admit --out c.json"
    )
    status, text = run("verify c.json t.parquet")
    assert status == 0 and "The same claim" in text
    n_repeated = f"{table.duplicated().sum():,} rows repeat an earlier row in all columns"
    assert n_repeated in text


def test_repeats_are_compared_where_both_were_counted():
    counted = Reading((), 9, 9, {}, n_repeated=3, is_file=True)
    others = [Reading((), 9, 9, {}, n_repeated=n, is_file=True) for n in (3, None, 2)]
    assert [counted.agrees(one) for one in others] == [True, True, False]
