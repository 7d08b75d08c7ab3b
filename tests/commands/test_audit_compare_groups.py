"""Files whose groups differ, and two models of one file: gaps, headings and statuses agree."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from skfair.__main__ import main
from skfair._commands.options import FINDING_STATUS


def draw_file(seed, rates, n=900):
    rng = np.random.default_rng(seed)
    branch = rng.choice([*rates], n)
    is_approved = rng.random(n) < np.vectorize(rates.get)(branch)
    return pd.DataFrame({"branch": branch, "ok": np.where(is_approved, "yes", "no")})


@pytest.fixture
def compare(tmp_path, monkeypatch, capsys):
    """A function that runs the command, and returns status, results and text of the page."""
    monkeypatch.chdir(tmp_path)

    def run(text):
        status = main(f"compare {text} --positive yes --out c.md --json c.json".split())
        results = json.loads((tmp_path / "c.json").read_text())
        return status, results, (tmp_path / "c.md").read_text(), capsys.readouterr().out

    return run


def find_gap(table, branches):
    rates = (table["ok"] == "yes").groupby(table["branch"]).mean()[branches]
    return rates.max() - rates.min()


@pytest.mark.parametrize("south", [0.5, 0.3])
def test_gaps_are_those_of_the_groups_of_both_files(compare, south):
    q1 = draw_file(1, {"north": 0.5, "south": 0.5, "old": 0.2})
    q2 = draw_file(2, {"north": 0.5, "south": south, "new": 0.1})
    for name, table in (("q1", q1), ("q2", q2)):
        table.to_csv(f"{name}.csv", index=False)
    status, results, page, _ = compare("q1.csv q2.csv --prediction ok --sensitive branch")
    gap = pd.DataFrame(results["gaps"]).iloc[0]
    both = ["north", "south"]
    assert gap["before"] == pytest.approx(find_gap(q1, both))
    assert gap["after"] == pytest.approx(find_gap(q2, both))
    (sentence,) = [one for one in results["findings"] if one.startswith("The gap")]
    assert "by branch among the groups of both periods was" in sentence
    # One verdict: the heading, the findings and the status.
    heading = page.splitlines()[0]
    is_shown = south == 0.3
    assert (status == FINDING_STATUS) == is_shown
    assert ("shown to have grown" in heading or "it is larger" in heading) == is_shown
    # The groups of one file are rows of the table, with their rates.
    frame = pd.DataFrame(results["others"]).set_index(["group", "metric"])
    for table, name, side, other in (
        (q1, "old", "before", "after"),
        (q2, "new", "after", "before"),
    ):
        row = frame.loc[(name, "selection_rate")]
        rate = (table["ok"] == "yes")[table["branch"] == name].mean()
        assert row[side] == pytest.approx(rate) and pd.isna(row[other]) and pd.isna(row["change"])
        assert row[f"n_{side}"] == (table["branch"] == name).sum() and row[f"n_{other}"] == 0
        assert re.search(rf"\| {name} \|.*{100 * rate:.1f} %", page)


def test_two_columns_of_one_file_are_two_models_of_the_same_samples(compare):
    rng = np.random.default_rng(0)
    n = 600
    table = pd.DataFrame({"sex": rng.choice(["f", "m"], n), "y": rng.choice(["yes", "no"], n)})
    for name, error in (("champion", 0.3), ("challenger", 0.2)):
        is_wrong = rng.random(n) < error
        flipped = table["y"].map({"yes": "no", "no": "yes"})
        table[name] = table["y"].where(~is_wrong, flipped)
    table.to_csv("t.csv", index=False)
    columns = "--prediction champion --prediction challenger --target y --sensitive sex"
    _, results, page, text = compare(f"t.csv {columns}")
    assert "compares challenger with champion, on the same samples" in text
    differ = (table["champion"] != table["challenger"]).sum()
    assert f"{differ:,} of {n:,} decisions differ" in text
    accuracy = [(table[one] == table["y"]).mean() for one in ("champion", "challenger")]
    frame = pd.DataFrame(results["others"])
    overall = frame[(frame["attribute"] == "overall") & (frame["metric"] == "accuracy")].iloc[0]
    assert overall[["before", "after"]].tolist() == pytest.approx(accuracy)
    # Limits of paired proportions are about those of a normal law of the differences.
    change = (table["challenger"] == table["y"]).astype(int) - (table["champion"] == table["y"])
    margin = 1.96 * change.std() / np.sqrt(n)
    assert overall["change_low"] == pytest.approx(change.mean() - margin, abs=0.004)
    assert overall["change_high"] == pytest.approx(change.mean() + margin, abs=0.004)
    assert "The accuracy of all samples was" in text and "## All samples" in page


def test_totals_are_not_published_with_hidden_groups(compare):
    table = draw_file(1, {"north": 0.5, "south": 0.5})
    table.loc[:3, "branch"] = "tiny"
    table.to_csv("q1.csv", index=False)
    draw_file(2, {"north": 0.5, "south": 0.5}).to_csv("q2.csv", index=False)
    options = "q1.csv q2.csv --prediction ok --sensitive branch --min-published 10"
    _, results, page, text = compare(options)
    assert "tiny" not in page + text + json.dumps(results)
    assert "overall" not in json.dumps(results["others"])


def test_one_file_and_one_prediction_are_refused(compare, capsys):
    draw_file(1, {"north": 0.5, "south": 0.5}).to_csv("q1.csv", index=False)
    with pytest.raises(SystemExit):
        compare("q1.csv --prediction ok --sensitive branch")
    assert "two files and one --prediction, or one file and two" in capsys.readouterr().err
