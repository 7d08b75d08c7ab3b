"""Files as people export them, each read by the one command that the guide names."""

import gzip
import json
import re
from pathlib import Path
from shlex import split

import numpy as np
import pandas as pd
import pytest

from skfair.__main__ import main

RNG = np.random.default_rng(0)
N = 600
TABLE = pd.DataFrame({"sex": RNG.choice(["f", "m"], N), "y": RNG.choice(["yes", "no"], N)})
TABLE["d"] = np.where(RNG.random(N) < 0.3 + 0.2 * (TABLE["sex"] == "m"), "yes", "no")
TABLE["p"] = RNG.random(N).round(3)
DATES = pd.date_range("2026-01-01", "2026-06-30", periods=N)

REPORT = "report FILE --target y --prediction d --sensitive sex --positive yes"
SCORES = "report FILE --target y --prediction p --sensitive sex --positive yes"
MONITOR = "monitor FILE --prediction d --time date --sensitive sex --positive yes"


def format_csv(table=TABLE, **settings):
    return table.to_csv(index=False, **settings)


def replace_column(name, values):
    return TABLE.assign(**{name: values})


def replace_every(n, value, column):
    """The column with every n-th entry replaced."""
    return np.where(np.arange(N) % n == 0, value, TABLE[column])


COUNTS = TABLE.groupby(["sex", "y", "d"]).size().reset_index(name="n")
SPELLED = replace_column("d", replace_every(3, "Yes ", "d")).assign(
    d=lambda t: t["d"].where(TABLE["d"] == "yes", "no")
)

FILES = {
    "commas": (format_csv(), REPORT),
    "semicolons": (format_csv(sep=";"), REPORT),
    "tabs": (format_csv(sep="\t"), REPORT),
    "a byte order mark": ("\ufeff" + format_csv(), REPORT),
    "line ends of Windows": (format_csv(lineterminator="\r\n"), REPORT),
    "gzip": (gzip.compress(format_csv().encode()), REPORT),
    "Latin-1": (
        format_csv(TABLE.replace({"sex": {"m": "männlich"}})).encode("latin-1"),
        f"{REPORT} --encoding latin-1",
    ),
    "UTF-16 of a spreadsheet": (
        format_csv(sep="\t").encode("utf-16"),
        f"{REPORT} --encoding utf-16",
    ),
    "decimal commas": (format_csv(sep=";", decimal=","), SCORES),
    "names with commas": (format_csv(TABLE.replace({"sex": {"m": "men, of all ages"}})), REPORT),
    "upper and lower case": (format_csv(SPELLED), f"{REPORT} --ignore-case"),
    "booleans": (
        format_csv(TABLE.assign(y=TABLE["y"] == "yes", d=TABLE["d"] == "yes")),
        REPORT.replace(" --positive yes", ""),
    ),
    "zeros and ones": (
        format_csv(TABLE.assign(**{key: (TABLE[key] == "yes").astype(int) for key in "yd"})),
        REPORT.replace(" --positive yes", ""),
    ),
    "unknown groups": (
        format_csv(replace_column("sex", replace_every(9, "Decline to state", "sex"))),
        f"{REPORT} --unknown 'Decline to state'",
    ),
    "empty groups": (
        format_csv(replace_column("sex", replace_every(9, "", "sex"))),
        f"{REPORT} --missing exclude",
    ),
    "no outcomes": (format_csv(TABLE.drop(columns="y")), REPORT.replace("--target y ", "")),
    "counts of a database": (format_csv(COUNTS), f"{REPORT} --count n"),
    "dates with points": (format_csv(TABLE.assign(date=DATES.strftime("%d.%m.%Y"))), MONITOR),
    "dates with the month first": (
        format_csv(TABLE.assign(date=DATES.strftime("%m/%d/%Y"))),
        f"{MONITOR} --date-format %m/%d/%Y",
    ),
    "outcomes that come later": (
        format_csv(TABLE.assign(date=DATES.strftime("%Y-%m-%d"), y=replace_every(5, "", "y"))),
        f"{MONITOR} --target y --delay '60 days'",
    ),
}


READ_BY_OTHER_TESTS = {"semicolons", "tabs", "a byte order mark", "gzip", "booleans", "no outcomes"}
"""Forms of which tests of the reports have examples too."""


@pytest.mark.covering(0)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name in READ_BY_OTHER_TESTS))
        for name in FILES
    ],
)
def test_a_file_is_read_by_one_command(name, tmp_path, monkeypatch, capsys):
    content, command = FILES[name]
    path = tmp_path / "decisions.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    monkeypatch.chdir(tmp_path)
    words = [str(path) if word == "FILE" else word for word in split(command)]
    assert main([*words, "--out", "page.html"]) in (0, 3)
    written = capsys.readouterr()
    assert "Warning" not in written.err and Path("page.html").stat().st_size > 5_000


def test_twenty_files_are_in_the_guide():
    """The guide has the command, the forms that need no option, and options of the others."""
    guide = (Path(__file__).parents[2] / "doc" / "audit_files.rst").read_text()
    assert len(FILES) == 20
    assert f"``python -m skfair {REPORT}``" in guide
    plain = guide.split("need no option")[0].lower()
    for name, (_, command) in FILES.items():
        option = command.removeprefix(REPORT).replace(MONITOR, "monitor FILE --time date").strip()
        row = re.search(rf"^   \* - {name}\n     - ``(.+?)``", guide, flags=re.MULTILINE)
        if row:
            assert row[1] == option, name
        else:
            assert name.lower() in plain, name
            assert set(re.findall(r"--\w+", command)) <= set(re.findall(r"--\w+", REPORT)), name


@pytest.mark.slow
def test_spellings_and_encodings_change_no_result(tmp_path, capsys):
    results = []
    for name in ("commas", "upper and lower case", "UTF-16 of a spreadsheet"):
        content, command = FILES[name]
        path = tmp_path / "decisions.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        words = [str(path) if word == "FILE" else word for word in command.split()]
        main([*words, "--json", "-"])
        frame = pd.DataFrame(json.loads(capsys.readouterr().out)["frame"])
        results.append(frame.sort_values(["group", "metric"])["estimate"].dropna().tolist())
    assert results[0] == results[1] == results[2]
