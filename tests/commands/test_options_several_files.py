"""Commands read several files, or a folder, as one table with a column that names the file."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest

from skfair.__main__ import main

N = 1200
RNG = np.random.default_rng(0)
TABLE = pd.DataFrame({"sex": RNG.choice(["f", "m"], N), "quarter": np.arange(N) % 4 + 1})
TABLE["d"] = (RNG.random(N) < np.where(TABLE["sex"] == "f", 0.3, 0.5)).astype(int)
TABLE["id"] = np.arange(N)
TABLE["day"] = [f"2025-{3 * q:02}-01" for q in TABLE["quarter"]]
COLUMNS = ["--prediction", "d", "--sensitive", "sex"]


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """A function that runs a command and returns its status and JSON."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "year" / "first").mkdir(parents=True)
    TABLE.to_csv("all.csv", index=False)
    for number, rows in TABLE.groupby("quarter"):
        folder = "year/first" if number == 1 else "year"
        # Files of another order of columns, and one of JSON records.
        rows = rows[rows.columns[::-1]] if number == 2 else rows
        if number == 3:
            rows.to_json(f"{folder}/q3.json", orient="records")
        else:
            rows.to_csv(f"{folder}/q{number}.csv", index=False)

    def run(*words):
        status = main([*words, "--json", "-"])
        return status, json.loads(capsys.readouterr().out)

    return run


QUARTERS = ["year/first/q1.csv", "year/q2.csv", "year/q3.json", "year/q4.csv"]


@pytest.mark.covering(0)
@pytest.mark.parametrize(
    "command",
    [
        ["report", *COLUMNS],
        ["certify", *COLUMNS, "--tolerance", "0.3"],
        ["subgroups", *COLUMNS],
        ["monitor", *COLUMNS, "--time", "day", "--by", "quarter"],
    ],
)
def test_several_files_and_a_folder_are_one_table(run, command):
    name, *options = command
    status, expected = run(name, "all.csv", *options)
    for files in (["year"], QUARTERS, QUARTERS[::-1]):
        again, results = run(name, *files, *options)
        assert again == status
        for part in ("frame", "gaps", "findings", "flagged", "text", "windows", "summary"):
            assert results.get(part) == expected.get(part), part
        assert results["reading"]["n_rows"] == N


def test_a_column_names_the_file(run):
    _, results = run("report", "year", "--prediction", "d", "--sensitive", "file")
    frame = pd.DataFrame(results["frame"])
    rates = frame[frame["attribute"].eq("file") & frame["metric"].eq("selection_rate")]
    expected = TABLE.groupby("quarter")["d"].mean().to_numpy()
    names = ["first/q1.csv", "q2.csv", "q3.json", "q4.csv"]
    assert dict(zip(rates["group"], rates["estimate"], strict=True)) == pytest.approx(
        dict(zip(names, expected, strict=True))
    )
    _, results = run("report", *QUARTERS[1:3], *COLUMNS, "--control", "file")
    assert {*results["frame"]["stratum"]} == {"", "file = q2.csv", "file = q3.json"}
    # A file's own column of this name is read.
    TABLE.assign(file=TABLE["sex"]).to_csv("own.csv", index=False)
    shutil.copy("own.csv", "own2.csv")
    files = ["own.csv", "own2.csv"]
    _, results = run("report", *files, "--prediction", "d", "--sensitive", "file")
    assert {*results["frame"]["group"]} == {"overall", "f", "m"}


@pytest.mark.slow
def test_folders_of_parquet_and_their_files(run, tmp_path):
    (tmp_path / "stored").mkdir()
    for number, rows in TABLE.groupby("quarter"):
        rows.to_parquet(f"stored/q{number}.parquet")
    _, expected = run("report", "all.csv", *COLUMNS)
    stored = sorted(f"stored/{one.name}" for one in (tmp_path / "stored").iterdir())
    for files in (["stored"], stored):
        _, results = run("report", *files, *COLUMNS)
        assert results["frame"] == expected["frame"]
        _, results = run("report", *files, *COLUMNS, "--control", "file")
        assert "file = q2.parquet" in results["frame"]["stratum"]


def test_a_claim_of_several_files_is_verified_by_their_folder(run, capsys):
    shutil.copy("year/first/q1.csv", "year/q1.csv")
    shutil.rmtree("year/first")
    files = ["year/q1.csv", *QUARTERS[1:]]
    main(["certify", *files, *COLUMNS, "--tolerance", "0.3", "--json", "claim.json"])
    capsys.readouterr()
    assert run("verify", "claim.json", "year")[1]["is_same"]
    status, results = run("verify", "claim.json", "year/q2.csv")
    assert status == 3 and "estimate" in results["differences"]


def test_two_folders_are_compared(run, tmp_path):
    for name, quarters in (("before", (1, 2)), ("after", (3, 4))):
        (tmp_path / name).mkdir()
        for one in quarters:
            TABLE[TABLE["quarter"] == one].to_csv(f"{name}/{one}.csv", index=False)
        TABLE[TABLE["quarter"].isin(quarters)].to_csv(f"{name}.csv", index=False)
    _, expected = run("compare", "before.csv", "after.csv", *COLUMNS)
    _, results = run("compare", "before", "after", *COLUMNS)
    assert results["gaps"] == expected["gaps"] and results["frame"] == expected["frame"]


def test_an_output_may_not_be_one_of_the_files(run, capsys):
    with pytest.raises(SystemExit):
        main(["report", "all.csv", "year", *COLUMNS, "--json", "year/q3.json"])
    assert "--json must not be a file that is read, but year/q3.json is" in capsys.readouterr().err


def test_files_that_cannot_be_one_table_are_errors(run, capsys, tmp_path):
    (tmp_path / "empty").mkdir()
    TABLE.to_parquet("d.parquet")
    for files, sentence in (
        (["empty"], "The folder empty must hold files of samples, but is empty."),
        (["all.csv", "d.parquet"], "Files must have one format, but some of all.csv, d.parquet"),
        (["all.csv", "all.csv"], "Files must have different names, but 'all.csv' occurs twice"),
        (["all.csv", "none.csv"], "There is no file or folder none.csv."),
    ):
        with pytest.raises(SystemExit):
            main(["report", *files, *COLUMNS])
        assert sentence in capsys.readouterr().err
    TABLE.drop(columns="sex").to_csv("year/q4.csv", index=False)
    with pytest.raises(SystemExit):
        main(["report", "year", *COLUMNS])
    assert "year/q4.csv has no column 'sex'" in capsys.readouterr().err


def test_lines_that_repeat_another_file_are_counted(run):
    shutil.copy("year/q4.csv", "q5.csv")
    _, results = run("report", "year/q4.csv", "q5.csv", *COLUMNS)
    assert results["reading"]["n_repeated"] == N // 4


@pytest.mark.parametrize("command", ["report", "compare", "verify", "monitor"])
def test_files_come_first_in_the_usage(command, capsys):
    with pytest.raises(SystemExit):
        main([command, "--help"])
    usage = capsys.readouterr().out.splitlines()[0]
    first = {"compare": "BEFORE [AFTER]", "verify": "RESULT FILE"}.get(command, "FILE [FILE ...]")
    assert usage.startswith(f"usage: python -m skfair {command} {first} ")


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_folder_that_holds_its_own_concatenation_is_warned_of(tmp_path, capsys, suffix):
    for number, rows in TABLE.groupby("quarter"):
        save(rows, tmp_path / f"q{number}.{suffix}")
    words = ["report", str(tmp_path), *COLUMNS, "--json", "-"]
    main(words)
    assert "warning" not in capsys.readouterr().err
    save(TABLE.sample(frac=1, random_state=0), tmp_path / f"all.{suffix}")
    main(words)
    warning = capsys.readouterr().err
    assert f"The rows of all.{suffix} are those of the other files together" in warning
    assert "every sample counts twice: pass it alone" in warning
    # One row that differs is another file.
    save(TABLE.assign(d=np.r_[1 - TABLE["d"].iloc[0], TABLE["d"][1:]]), tmp_path / f"all.{suffix}")
    main(words)
    assert "warning" not in capsys.readouterr().err


def save(table, path):
    """Write a table in the format that the name of the file ends in."""
    if path.suffix == ".csv":
        table.to_csv(path, index=False)
    else:
        table.to_parquet(path, index=False)
