"""A state of the monitor is of one series: the same model, groups, outcomes, times and weights."""

import re

import numpy as np
import pandas as pd
import pytest

from skfair.__main__ import main
from skfair._commands.options import FINDING_STATUS

COLUMNS = {
    "prediction": "m1",
    "sensitive": "sex",
    "target": "y",
    "time": "day",
    "id": "id",
    "weight": "w",
    "outcome-date": "known",
}
SETTINGS = {"constraint": "equal_opportunity", "positive": "1", "delay": "9 days"}


def draw_month(month, n=200):
    rng = np.random.default_rng(month)
    one = pd.DataFrame(
        {
            "m1": rng.integers(0, 2, n),
            "sex": rng.choice(["f", "m"], n),
            "y": rng.integers(0, 2, n),
            "day": f"2025-{month:02d}-03",
            "id": [f"{month}-{i}" for i in range(n)],
            "w": 1.0,
            "known": f"2025-{month:02d}-05",
        }
    )
    # every column has another one beside it, of the same form
    return one.assign(**{f"{name}2": one[name].to_numpy() for name in one})


@pytest.fixture
def read(tmp_path, monkeypatch, capsys):
    """A function that lets the monitor read a month; it returns the status and what is written."""
    monkeypatch.chdir(tmp_path)

    def run(month, *more, **columns):
        draw_month(month).to_csv("log.csv", index=False)
        named = COLUMNS | SETTINGS | {"state": "s.json"} | columns
        options = [part for name, value in named.items() for part in (f"--{name}", value)]
        try:
            status = main(["monitor", "log.csv", *options, *more])
        except SystemExit as end:
            status = end.code
        captured = capsys.readouterr()
        return status, captured.out + captured.err

    return run


@pytest.mark.slow
@pytest.mark.parametrize("role", COLUMNS)
def test_another_column_is_refused_unless_it_is_renamed(read, role, tmp_path):
    assert read(1)[0] == 0
    before = (tmp_path / "s.json").read_bytes()
    other = f"{COLUMNS[role]}2"
    status, text = read(2, **{role: other})
    assert status == 2 and text.count(". ") == 0 and (tmp_path / "s.json").read_bytes() == before
    assert f"--{role} must name the column of s.json, {COLUMNS[role]}, but names {other}" in text
    renamed = f"{COLUMNS[role]}={other}"
    assert f"pass --renamed {renamed}" in text
    assert read(2, "--renamed", renamed, **{role: other})[0] in (0, FINDING_STATUS)
    # the new name is that of the state from then on, and the option may stay
    assert read(3)[0] == 2
    status, text = read(3, "--renamed", renamed, **{role: other})
    assert status in (0, FINDING_STATUS)
    if role == "sensitive":
        assert not re.search(rf"\b{COLUMNS[role]}\b", text) and f"by {other}" in text


@pytest.mark.parametrize(
    ("option", "value"),
    [("positive", "0"), ("tolerance", ".2"), ("threshold", ".5"), ("confidence", ".9")],
)
def test_another_setting_is_refused(read, option, value):
    assert read(1)[0] == 0
    status, text = read(2, **{option: value})
    assert status == 2 and f"--{option} must be that of s.json" in text.replace("-level", "")


def test_another_delay_is_refused(read):
    assert read(1)[0] == 0
    status, text = read(2, delay="20 days")
    assert status == 2 and "--delay must be that of s.json" in text


def test_renamed_names_a_column_of_the_state_and_one_of_the_file(read):
    assert "there is no s.json" in read(1, "--renamed", "m1=m2")[1]
    read(1)
    status, text = read(2, "--renamed", "old=m1")
    assert status == 2 and "--renamed must be OLD=NEW" in text


def test_a_state_goes_on_with_the_run_length_with_which_it_began(read):
    assert read(1, "--run-length", "50")[0] == 0
    status, text = read(2)
    assert status in (0, FINDING_STATUS) and "once in 50 months" in text
    status, text = read(3, "--run-length", "60")
    assert status == 2 and "--run-length must be that of s.json, 50" in text


def test_warnings_name_the_month(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    days = np.repeat(["2025-01-02", "2025-02-02", "2025-03-02"], 80)
    groups = np.tile(["a", "b"], 120)
    groups[80::4] = "c"
    groups[160::4] = "d"
    table = pd.DataFrame({"g": groups, "p": np.tile([0, 1, 1, 0], 60), "day": days})
    table.to_csv("log.csv", index=False)
    options = "--sensitive g --prediction p --time day --tolerance .2 --repeats keep"
    main(["monitor", "log.csv", *options.split()])
    text = capsys.readouterr().err
    assert "from 2025-02-01 on, once they have 30 samples: 'c'" in text
    assert "from 2025-03-01 on, once they have 30 samples: 'd'" in text
