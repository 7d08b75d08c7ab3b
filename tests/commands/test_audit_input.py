"""Bad input of ``python -m skfair report``: one sentence, exit status 2, nothing written."""

import gzip
import os
import sys
import warnings

import numpy as np
import pandas as pd
import pytest

from skfair.__main__ import main

ROWS = 40
GOOD = "y,p,score,sex\n" + "".join(
    f"{i % 2},{i % 3 % 2},0.{i % 9 + 1},{'fm'[i % 5 % 2]}\n" for i in range(ROWS)
)
TYPES = {"--target": "y", "--prediction": "p", "--sensitive": "sex"}
TABLE = pd.DataFrame({"y": [0, 1] * 20, "p": [0, 1, 1, 0] * 10, "sex": list("fm") * 20})


def arguments(path, more):
    columns = {name: value for name, value in TYPES.items() if name not in more}
    named = [word for pair in columns.items() for word in pair]
    out = [] if "--out" in more else ["--out", str(path.parent / "report.html")]
    passed = [word for pair in zip(more[::2], more[1::2], strict=True) if pair[1] for word in pair]
    return ["report", str(path), *passed, *named, *out]


def refuse(path, capsys, *more):
    """The one line on stderr; no file of the folder is changed, and none is new."""
    before = contents(path.parent)
    with warnings.catch_warnings(), pytest.raises(SystemExit) as ended:
        warnings.simplefilter("error")
        main(arguments(path, more))
    assert ended.value.code == 2
    assert contents(path.parent) == before
    shown = capsys.readouterr()
    assert shown.out == ""
    (line,) = shown.err.splitlines()
    assert line.startswith("python -m skfair report: error: ")
    return line


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def replace(old, new, count=1):
    assert old in GOOD
    return GOOD.replace(old, new, count)


TEXTS = {
    "empty": ("", [], "is empty"),
    "blank lines": ("\n\n", [], "is empty"),
    "header only": ("y,p,score,sex\n", [], "has a header, but no rows below it"),
    "no header": (GOOD.partition("\n")[2], [], "must begin with a line of column names"),
    "cut off in the middle of a line": (GOOD[:-8], [], "line 41 has 2"),
    "a longer line": (GOOD + "1,1,0.5,f,x\n", [], "line 42 has 5"),
    "longer lines than the header": (
        GOOD[2:],
        [],
        "the 3 fields of its header, separated by ',', but line 2 has 4",
    ),
    "header with commas over semicolons": (
        GOOD.partition("\n")[0] + "\n" + GOOD.partition("\n")[2].replace(",", ";"),
        [],
        "must have the 4 fields of its header, separated by ',', but line 2 has 1",
    ),
    "an open quotation mark": (replace("0.5,m", '"0.5,m'), [], "line 41 has 3"),
    "two columns of one name": (replace("score", "p"), [], "more than one column 'p'"),
    "a column that is absent": (GOOD, ["--weight", "w"], "has no column 'w'; its 4 columns are"),
    "a name in other letters": (GOOD, ["--sensitive", "Sex"], "Did you mean 'sex'?"),
    "a name with a blank": (replace("sex", " sex"), [], "Did you mean ' sex'?"),
    "a name with a slip": (GOOD, ["--probability", "scoer"], "Did you mean 'score'?"),
    "a group called like the missing ones": (
        GOOD + "1,1,0.5,\n1,0,0.5,(missing)\n",
        [],
        "also has a group of this name; rename it",
    ),
    "latin-1": (replace(",f\n", ",w\xe4\n").encode("latin-1"), [], "UTF-8, but line 2 is not"),
    "utf-16": (GOOD.encode("utf-16"), [], "text in UTF-16; commands read it by --encoding utf-16"),
    "an archive": (b"PK\x03\x04" + bytes(100), [], "a zip archive; unpack it"),
    "columns called like parameters": (
        GOOD.replace("y,p,score", "y,p,y_pred"),
        ["--weight", "y_true"],
        "has no column 'y_true'; its 4 columns are 'y', 'p', 'y_pred', 'sex'",
    ),
    "a picture": (b"\x89PNG\r\n\x1a\n" + bytes(100), [], "a binary file of another kind"),
    "half a gzip file": (gzip.compress(GOOD.encode() * 99)[:300], [], "not a complete gzip file"),
    "NA among predictions": (
        replace("\n1,1,", "\n1,NA,", 2),
        [],
        "'p' must be complete, but 2 of its 40 entries are missing, the first in row 2 ('NA')",
    ),
    "nan among probabilities": (replace(",0.2,", ",nan,"), ["--probability", "score"], "('nan')"),
    "NA among predicted words": (
        "y,p,sex\n" + "yes,NA,f\nno,yes,m\n" * 20,
        [],
        "'p' must be complete, but it holds 'NA'",
    ),
    "a target in words alone": (
        GOOD.replace("\n1,", "\nyes,").replace("\n0,", "\nno,"),
        [],
        "'p' has 0, 1 and 'y' has 'no', 'yes'. Pass both, as in: python -m skfair report",
    ),
    "weights that are words": (GOOD, ["--weight", "sex"], "'sex' must hold numbers"),
    "negative weights": (replace(",0.1,", ",-0.1,"), ["--weight", "score"], "Negative values"),
    "thousands or decimals": (
        replace(",0.1,", ',"1,100",'),
        ["--weight", "score"],
        "the comma of '1,100' may be either",
    ),
    "probabilities beyond one": (
        replace(",0.1,", ",1.1,"),
        ["--probability", "score"],
        "--probability must name a column of probabilities in [0, 1]",
    ),
    "an unknown kind": (GOOD, ["--task", "ranking"], "invalid choice: 'ranking'"),
    "two ways to make decisions without truth": (
        GOOD,
        ["--target", "", "--prediction", "score", "--threshold", "0.5", "--positive", "1"],
        "Leave one of the two out",
    ),
    "a class of scores": (
        GOOD,
        ["--target", "", "--prediction", "score", "--positive", "0.5"],
        "--positive names a class, but predictions are numbers, the first of them 0.1. Leave it",
    ),
    "a share in percent": (GOOD, ["--min-share", "2"], "--min-share must be a share in [0, 1)"),
    "a fact without a name": (
        GOOD,
        ["--provenance", "applications of 2025"],
        "--provenance must be NAME=TEXT",
    ),
    "empty groups that are refused": (
        GOOD + "1,1,0.5,\n",
        ["--missing", "error"],
        "1 of 41 rows have none",
    ),
    "groups that are all empty": (
        "y,p,sex\n1,1,\n0,1,\n",
        ["--missing", "exclude"],
        "No sample has a known group by sex",
    ),
    "a summary of a clustering": (
        GOOD,
        ["--target", "", "--task", "clustering", "--summary", "ll144"],
        "needs selection rates of decisions or scoring rates of scores",
    ),
    "a summary of weighted samples": (
        GOOD,
        ["--weight", "score", "--summary", "ll144"],
        "so groups must not overlap",
    ),
    "a summary with unknown groups in ratios": (
        GOOD + "1,1,0.5,\n",
        ["--missing", "group", "--summary", "ll144"],
        'make it with missing="exclude"',
    ),
    "a summary as data": (GOOD, ["--summary", "ll144", "--out", "r.json"], "--summary is a page"),
    "a clustering with a truth": (GOOD, ["--task", "clustering"], "leave out --target"),
    "a threshold of a regression": (
        GOOD,
        ["--task", "regression", "--threshold", "1"],
        "leave out --threshold",
    ),
    "a regression of words": (
        GOOD,
        ["--task", "regression", "--target", "sex", "--sensitive", "y"],
        "'sex' must hold numbers, but it holds 'f'",
    ),
    "classes with decimals": (
        GOOD,
        ["--task", "classification", "--target", "score"],
        "pass --task regression",
    ),
    "whole numbers predicted with decimals": (
        "y,p,sex\n" + "".join(f"{i},{i}.5,{'fm'[i % 2]}\n" for i in range(ROWS)),
        [],
        "Pass --task regression if both are quantities",
    ),
    "a column in two roles": (GOOD, ["--prediction", "y"], "must have one role, but 'y'"),
    "an unknown class": (GOOD, ["--positive", "2"], "--positive must be one of the classes"),
    "confidence in percent": (GOOD, ["--confidence", "95"], "--confidence must be"),
    "a threshold in words": (GOOD, ["--threshold", "half"], "invalid float value: 'half'"),
    "a page that is no HTML": (GOOD, ["--out", "r.pdf"], "--out must end in one of .html, .htm"),
}


@pytest.mark.covering(0)
@pytest.mark.parametrize("name", TEXTS)
def test_text(name, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    content, more, expected = TEXTS[name]
    path = tmp_path / "p.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    line = refuse(path, capsys, *more)
    assert expected in line


def link(make, path, other):
    try:
        make(path, other)
    except (OSError, NotImplementedError):  # not permitted on every system
        pytest.skip("no links here")


OUTPUTS = {
    "itself": lambda path: path,
    "another spelling": lambda path: path.parent / "sub" / ".." / path.name,
    "a symbolic link": lambda path: path.parent / "symbolic.html",
    "a hard link": lambda path: path.parent / "hard.html",
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_predictions_are_not_overwritten(name, tmp_path, capsys):
    path = tmp_path / "p.csv"
    path.write_text(GOOD)
    (tmp_path / "sub").mkdir()
    if "link" in name:
        link(os.link if "hard" in name else os.symlink, path, OUTPUTS[name](path))
    line = refuse(path, capsys, "--out", str(OUTPUTS[name](path)))
    assert "--out must not be a file that is read" in line and "overwrite the predictions" in line


def test_files_of_a_folder_are_not_overwritten(tmp_path, capsys):
    pytest.importorskip("pyarrow")
    (tmp_path / "parts").mkdir()
    TABLE.to_parquet(tmp_path / "parts" / "0.parquet")
    line = refuse(tmp_path / "parts", capsys, "--out", str(tmp_path / "parts" / "0.parquet"))
    assert "--out must not be a file that is read" in line


UNWRITABLE = {
    "a folder that is absent": ("nowhere/r.html", "must be in a folder that exists"),
    "a folder that is a file": ("p.csv/r.html", "must be in a folder that exists"),
    "a folder": ("folder.html", "must be a file, but"),
    "a broken link": ("broken.html", "must be in a folder that exists"),
}


@pytest.mark.parametrize("name", UNWRITABLE)
def test_pages_that_cannot_be_written(name, tmp_path, capsys):
    (tmp_path / "p.csv").write_text(GOOD)
    (tmp_path / "folder.html").mkdir()
    out, expected = UNWRITABLE[name]
    if name == "a broken link":
        link(os.symlink, tmp_path / "nowhere" / "r.html", tmp_path / "broken.html")
    assert expected in refuse(tmp_path / "p.csv", capsys, "--out", str(tmp_path / out))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
def test_folders_that_are_read_only(tmp_path, capsys):
    (tmp_path / "p.csv").write_text(GOOD)
    line = refuse(tmp_path / "p.csv", capsys, "--out", "/proc/report.html")
    assert "--out must be writable" in line


def write_half_a_parquet(path):
    TABLE.to_parquet(path)
    path.write_bytes(path.read_bytes()[:400])


def write_damaged_parquet(path):
    table = pd.concat([TABLE] * 100)
    table.to_parquet(path, write_page_checksum=True, compression=None, use_dictionary=False)
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    path.write_bytes(damaged)


def write_parquet_without_rows(path):
    TABLE[:0].to_parquet(path)


def write_parquet_of_text(path):
    TABLE.assign(p="x").to_parquet(path)


def write_parquet_of_dates(path):
    TABLE.assign(p=pd.Timestamp("2020-01-01")).to_parquet(path)


def write_mixed_folder(path):
    path.mkdir()
    TABLE.to_parquet(path / "0.parquet")
    TABLE.assign(sex=[0, 1] * 20).to_parquet(path / "1.parquet")


def write_arrays(path):
    with open(path, "wb") as file:
        np.savez(file, y=np.ones(3))


FILES = {
    "half a parquet file": (write_half_a_parquet, "is no Parquet file"),
    "damaged parquet": (write_damaged_parquet, "or damaged: could not verify page"),
    "parquet without rows": (write_parquet_without_rows, "must hold at least one row"),
    "words and numbers": (write_parquet_of_text, "'p' does not, such as 'x'"),
    "dates": (write_parquet_of_dates, "'y' holds numbers or booleans, such as 0, and 'p' does not"),
    "types that differ": (write_mixed_folder, "'sex' must be of one type in all files"),
    "arrays": (write_arrays, "zip archive"),
    "nothing": (lambda path: None, "There is no file or folder"),
}


@pytest.mark.parametrize("name", FILES)
def test_parquet(name, tmp_path, capsys):
    pytest.importorskip("pyarrow")
    write, expected = FILES[name]
    write(tmp_path / "p.parquet")
    assert expected in refuse(tmp_path / "p.parquet", capsys)


@pytest.mark.parametrize("command", ["report", "certify", "subgroups"])
@pytest.mark.parametrize("decision", ["Yes ", "yes"])
def test_classes_of_two_spellings_are_refused(command, decision, tmp_path, capsys):
    path = tmp_path / "decisions.csv"
    rows = "".join(f"{decision},Yes,f\nNo,No,m\n" for _ in range(50))
    path.write_text(f"d,y,sex\n{rows}", encoding="utf-8")
    options = ["--prediction", "d", "--target", "y", "--sensitive", "sex", "--positive", "Yes"]
    options += ["--tolerance", "0.1"] * (command == "certify")
    with pytest.raises(SystemExit) as caught:
        main([command, str(path), *options])
    error = " ".join(capsys.readouterr().err.split())
    assert caught.value.code == 2
    assert f"hold 'Yes', {decision!r}, which differ in case, spaces or Unicode form alone" in error
