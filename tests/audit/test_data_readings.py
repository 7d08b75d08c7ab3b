"""What was read of a file or arrays: said on every page, in every JSON, and by every command."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import skfair
from skfair.__main__ import main
from skfair.audit import Audit, Claim, FairnessReport, verify

N = 600
RNG = np.random.default_rng(1)
SEX = RNG.choice(["f", "m"], N).astype(object)
HIRED = RNG.random(N) < np.where(SEX == "f", 0.4, 0.6)
SEX[:7], SEX[7:12] = None, "Unknown"
TABLE = pd.DataFrame(
    {
        "sex": SEX,
        "d": np.where(HIRED, "Yes", "No"),
        "y": np.where(RNG.random(N) < 0.5, "Yes", "No").astype(object),
        "pay": [f"{one:.1f}".replace(".", ",") for one in RNG.normal(3000, 300, N)],
        "day": pd.date_range("2025-01-01", "2025-06-30", periods=N).strftime("%d.%m.%Y"),
    }
)
TABLE.loc[20:23, "y"], TABLE.loc[30:33, "d"] = "n/a", "yes "
OPTIONS = ["--sensitive", "sex", "--positive", "Yes", "--ignore-case"]
UNKNOWN = ["--unknown", "Unknown", "--missing", "exclude"]


@pytest.fixture
def path(tmp_path):
    TABLE.to_csv(tmp_path / "t.csv", index=False, sep=";")
    return tmp_path / "t.csv"


def run(command, path, *options):
    """The exit status, and the content of the JSON that a command writes."""
    out = path.with_suffix(".json")
    status = main([command, str(path), *options, "--json", str(out)])
    return status, json.loads(out.read_text(encoding="utf-8"))


def columns_of(content):
    return {(one["role"], one["name"]): one for one in content["columns"]}


COMMANDS = {
    "report": ["--prediction", "d", "--target", "y", *OPTIONS, *UNKNOWN],
    "certify": ["--prediction", "d", "--target", "y", "--tolerance", "0.3", *OPTIONS, *UNKNOWN],
    "subgroups": ["--prediction", "d", "--target", "y", *OPTIONS, *UNKNOWN],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_says_what_it_read(path, capsys, command):
    _, content = run(command, path, *COMMANDS[command])
    read = columns_of(content["reading"])
    spelled = TABLE["d"].str.strip().str.title()
    assert read["decision", "d"]["labels"] == spelled.value_counts().to_dict()
    assert read["decision", "d"]["positive"] == ["Yes"]
    assert read["decision", "d"]["changed"] == {"'yes ' read as 'Yes'": 4}
    assert read["outcome", "y"]["changed"] == {"'n/a' read as unknown": 4}
    known = TABLE["sex"][TABLE["sex"].isin(["f", "m"])].value_counts().to_dict()
    assert read["group", "sex"]["labels"] == known
    changed = {"empty read as unknown": 7, "'Unknown' read as unknown": 5}
    assert read["group", "sex"]["changed"] == changed
    assert content["reading"]["n_rows"] == N
    # Searches count samples of unknown group in the rest.
    meaning = "meet no condition on it" if command == "subgroups" else "are left out"
    unknown = f"samples of unknown group {meaning}"
    assert content["reading"]["left_out"] == {unknown: 12, "samples have no outcome": 4}
    line = next(one for one in capsys.readouterr().out.splitlines() if one.startswith("Read: "))
    start = (
        "Read: 600 rows, decision d ('Yes' positive, 'No' not), outcome y ('Yes' positive, 'No' "
        "not, 4 unknown), group sex ('m', 'f', 12 unknown); "
    )
    assert line.startswith(start)
    left_out = line.removeprefix(start).removesuffix(".").split("; ")
    assert sorted(left_out) == [f"12 {unknown}", "4 samples have no outcome"]


@pytest.mark.slow
def test_both_files_of_a_comparison_and_each_file_of_a_monitor_are_read(path, capsys):
    half = path.with_name("half.csv")
    TABLE.iloc[: N // 2].to_csv(half, index=False)
    _, content = run("compare", path, str(half), "--prediction", "d", *OPTIONS, *UNKNOWN)
    assert [one["n_rows"] for one in content["readings"]] == [N, N // 2]
    monitor = ["--prediction", "d", "--sensitive", "sex", "--positive", "Yes", "--ignore-case"]
    _, content = run("monitor", path, *monitor, "--time", "day")
    read = columns_of(content["reading"])
    # The groups of the first rows are unknown.
    assert read["time", "day"]["notation"] == "dates from 2025-01-03 to 2025-06-30"
    assert read["decision", "d"]["positive"] == ["Yes"]
    assert capsys.readouterr().out.count("Read: ") == 3


def test_decimal_signs_and_separators_are_counted(path):
    options = ["--prediction", "pay", "--task", "regression", "--sensitive", "sex"]
    _, content = run("report", path, *options, "--missing", "exclude")
    pay = columns_of(content["reading"])["prediction", "pay"]
    assert pay["changed"] == {"decimal comma": N} and pay["labels"] == {}
    numbers = TABLE["pay"].str.replace(",", ".").astype(float)
    assert pay["notation"] == f"numbers from {numbers.min():g} to {numbers.max():g}"
    thousands = [f"{one:,.2f}" for one in numbers]
    TABLE.assign(pay=thousands).to_csv(path, index=False)
    _, content = run("report", path, *options, "--missing", "exclude", "--decimal", "point")
    changed = columns_of(content["reading"])["prediction", "pay"]["changed"]
    assert changed == {"separators of thousands left out": sum("," in one for one in thousands)}


def test_arrays_and_weights_are_read():
    weights = np.where(np.arange(N) < 50, 0.0, 1.5)
    columns = {"sensitive_features": TABLE["y"], "sample_weight": weights}
    audit = Audit.from_predictions(None, HIRED, **columns)
    decision, group = audit.reading.columns
    assert decision.labels == {str(one): int((HIRED[50:] == one).sum()) for one in (True, False)}
    assert decision.notation == "booleans" and decision.positive == ("True",)
    assert group.name == "y" and sum(group.labels.values()) == N - 50
    assert audit.reading.left_out == {"rows have weight 0": 50}
    assert audit.reading.n_rows == N and audit.reading.n_samples == N - 50
    for result in (audit.report(), audit.certify(tolerance=0.5), audit.compare(~HIRED[50:])):
        assert "<summary><h2>What was read" in result.to_html()
        assert "have weight 0" in result.to_markdown()
    rebuilt = FairnessReport.from_json(audit.report().to_json())
    assert rebuilt.reading == audit.reading


def test_verify_compares_what_was_read(path, tmp_path, capsys):
    out = tmp_path / "claim.json"
    main(["certify", str(path), *COMMANDS["certify"], "--json", str(out)])
    filed = json.loads(out.read_text())
    capsys.readouterr()
    assert main(["verify", str(out), str(path)]) == 0
    filed["reading"]["columns"][0]["changed"] = {}
    out.write_text(json.dumps(filed))
    assert main(["verify", str(out), str(path)]) == 3
    assert "Another claim, by reading." in capsys.readouterr().out
    filed["reading"].pop("columns")
    with pytest.raises(ValueError, match="The field reading must be as to_json wrote it"):
        Claim.from_json(json.dumps(filed))


def test_a_file_and_its_arrays_have_the_same_claim(path):
    clean = TABLE.assign(sex=TABLE["y"].str.replace("n/a", "No"), d=np.where(HIRED, "Yes", "No"))
    clean.to_csv(path, index=False)
    audits = [
        Audit.from_file(path, {"sensitive_features": "sex", "y_pred": "d"}, pos_label="Yes"),
        Audit.from_predictions(None, clean["d"], sensitive_features=clean["sex"], pos_label="Yes"),
    ]
    claim = audits[0].certify(tolerance=0.5)
    assert claim.reading.is_file and not audits[1].reading.is_file
    assert verify(claim.to_json(), audits[1]) == []


@pytest.mark.covering(0)
@pytest.mark.parametrize("command", ["report", "certify", "subgroups", "compare"])
def test_rows_that_repeat_with_their_id_are_refused_unless_they_are_kept(path, capsys, command):
    table = pd.DataFrame({"id": np.arange(N), "sex": SEX, "d": HIRED.astype(int)}).iloc[12:]
    pd.concat([table, table.iloc[:90]]).to_csv(path, index=False)
    options = [str(path)] * (command == "compare") + ["--prediction", "d", "--sensitive", "sex"]
    options += ["--tolerance", "0.5"] * (command == "certify")
    _, content = run(command, path, *options)
    assert "90 rows repeat an earlier row in all columns" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="2"):
        run(command, path, *options, "--id", "id")
    said = " ".join(capsys.readouterr().err.split())
    assert "90 rows" in said and "the first in row 589 with id '12'" in said
    _, accepted = run(command, path, *options, "--id", "id", "--repeats", "keep")
    read = accepted["readings"][0] if command == "compare" else accepted["reading"]
    assert read["n_repeated"] == 90 and read["n_shared_ids"] == 0
    assert columns_of(read)["id", "id"]["role"] == "id"


def test_ids_of_different_rows_are_named(path, capsys):
    table = pd.DataFrame({"id": np.arange(N) // 2, "sex": SEX, "d": HIRED.astype(int)}).iloc[12:]
    table.to_csv(path, index=False)
    _, content = run(
        "report", path, "--prediction", "d", "--sensitive", "sex", "--id", "id", "--repeats", "keep"
    )
    distinct = table.drop_duplicates()
    expected = int(distinct["id"].duplicated(keep=False).sum())
    assert content["reading"]["n_shared_ids"] == expected > 0
    assert f"{expected:,} rows share their id with another row" in capsys.readouterr().out


PARSERS = r"to_numeric\(|to_datetime\(|\.casefold\(\)|\.fullmatch\(|isdecimal\(\)|\bfloat\(one\)"
"""Calls that parse a cell of a table."""


def test_one_module_parses_cells():
    package = Path(skfair.__file__).parent
    modules = {
        path.name
        for folder in ("audit", "_columns", "_commands")
        for path in (package / folder).glob("*.py")
        if re.search(PARSERS, path.read_text(encoding="utf-8"))
    }
    assert "reading.py" in modules
    # Names of columns, and texts of options, are not cells.
    assert modules - {"reading.py"} <= {"files.py", "predictions.py", "decision_log.py"}


@pytest.mark.parametrize("name", ["y_true", "y_pred"])
def test_marks_among_numbers_of_arrays_are_refused_as_those_of_files(name):
    columns = {"y_true": np.arange(100) % 2, "y_pred": np.arange(100) % 3 % 2}
    columns[name] = np.where(np.arange(100) < 9, -999, columns[name])
    with pytest.raises(ValueError, match=f"{name}' holds -999.*may mark missing.*be a number; the"):
        Audit.from_predictions(**columns, sensitive_features=[*"fm"] * 50)


def test_the_column_of_clusters_is_in_the_reading(tmp_path, capsys):
    path = tmp_path / "a.csv"
    TABLE.assign(home=np.arange(N) // 2).to_csv(path, index=False)
    options = [
        "--prediction",
        "d",
        "--unknown",
        "Unknown",
        "--cluster",
        "home",
        "--tolerance",
        "0.4",
    ]
    main(["certify", str(path), *OPTIONS, *options])
    read = capsys.readouterr().out.splitlines()[0]
    assert "12 samples of unknown group are left out" in read
    assert "cluster home (numbers from 0 to 299)" in read
    audit = Audit.from_predictions(None, HIRED, sensitive_features=HIRED, groups=np.arange(N) // 3)
    assert audit.reading.columns[-1][:3] == ("groups", "cluster", "numbers from 0 to 199")


def test_an_empty_label_is_printed():
    with pytest.warns(UserWarning, match=r"SensitiveFeatures\(groups, unknown="):
        audit = Audit.from_predictions(None, np.arange(90) % 2, sensitive_features=[*"fm", ""] * 30)
    assert {*audit.report().frame["group"]} == {"f", "m", "''", "overall"}
