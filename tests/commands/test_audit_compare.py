"""Two files are compared as their audits are."""

import json

import numpy as np
import pandas as pd
import pytest

from skfair.__main__ import main
from skfair.audit import Audit

COLUMNS = ["--target", "y", "--prediction", "d", "--sensitive", "sex"]


def draw_period(seed, difference, n=2000):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"sex": rng.choice(["f", "m"], n), "y": rng.integers(2, size=n)})
    chance = 0.3 + difference * (table["sex"] == "m")
    return table.assign(d=(rng.random(n) < chance).astype(int))


@pytest.fixture
def write(tmp_path):
    """A function that writes a table, or its counts, to a file."""

    def write_table(name, table, is_counted=False):
        if is_counted:
            table = table.groupby(list(table)).size().reset_index(name="n")
        table.to_csv(tmp_path / name, index=False)
        return str(tmp_path / name)

    return write_table


def audit(table):
    return Audit.from_predictions(table["y"], table["d"], sensitive_features=table["sex"])


@pytest.mark.slow
def test_changes_are_those_of_the_audits(write, capsys):
    before, after = draw_period(0, 0.05), draw_period(1, 0.25)
    files = [write("before.csv", before), write("after.csv", after)]
    assert main(["compare", *files, *COLUMNS, "--json", "-"]) == 3
    results = json.loads(capsys.readouterr().out)
    assert results["source"]["file"] == "before.csv; after.csv"
    # Without facts on files, and with groups named by their column, results are equal.
    expected = json.loads(audit(before).compare(audit(after)).to_json())
    assert results["gaps"] == expected["gaps"] and results["findings"] == expected["findings"]
    gaps = pd.DataFrame(results["gaps"])
    selection = gaps[gaps["metric"] == "selection_rate"].iloc[0]
    rates = [table.groupby("sex")["d"].mean() for table in (before, after)]
    expected = np.diff([abs(rate["m"] - rate["f"]) for rate in rates]).item()
    assert selection["change"] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("first, second, status", [(0.2, 0.2, 0), (0.3, 0.05, 0), (0.05, 0.3, 3)])
def test_exit_status_is_that_of_a_gap_that_grew(write, capsys, first, second, status):
    files = [write("a.csv", draw_period(2, first)), write("b.csv", draw_period(3, second))]
    assert main(["compare", *files, *COLUMNS]) == status
    assert "compares after with before, on different samples" in capsys.readouterr().out


@pytest.mark.slow
def test_counts_have_the_changes_of_their_samples(write, capsys):
    results = []
    for is_counted in (False, True):
        files = [write(f"{k}{is_counted}.csv", draw_period(k, 0.2 * k), is_counted) for k in (0, 1)]
        count = ["--count", "n"] * is_counted
        main(["compare", *files, *COLUMNS, *count, "--json", "-"])
        results.append(json.loads(capsys.readouterr().out)["findings"])
    assert results[0] == results[1]


def test_pages_do_not_overwrite_files(write, tmp_path, capsys):
    files = [write("a.csv", draw_period(0, 0.1)), write("b.json", draw_period(1, 0.1))]
    page = tmp_path / "changes.html"
    assert main(["compare", *files, *COLUMNS, "--out", str(page)]) == 0
    assert "Change report" in page.read_text()
    for option in ("--out", "--json"):
        with pytest.raises(SystemExit):
            main(["compare", *files, *COLUMNS, option, files[1]])
        assert "must not be a file that is read" in capsys.readouterr().err


def test_files_of_other_attributes_are_refused(write, capsys):
    files = [
        write("a.csv", draw_period(0, 0.1)),
        write("b.csv", draw_period(1, 0.1).drop(columns="y")),
    ]
    with pytest.raises(SystemExit) as caught:
        main(["compare", *files, *COLUMNS])
    assert caught.value.code == 2 and "has no column 'y'" in capsys.readouterr().err
