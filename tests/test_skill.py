"""The text for agents, ``skfair/SKILL.md``: its code runs, and its commands read a file."""

import re
import shlex
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from skfair.__main__ import main
from skfair._commands.options import FINDING_STATUS

SKILL = files("skfair").joinpath("SKILL.md").read_text(encoding="utf-8")


def draw_samples(n=3000):
    """Two groups that differ in the first of three columns."""
    rng = np.random.default_rng(0)
    sex = rng.choice(["f", "m"], n)
    X = rng.normal(size=(n, 3))
    X[:, 0] += 0.4 * (sex == "m")
    y = (X.sum(axis=1) + rng.normal(size=n) > 0.5).astype(int)
    return X, y, sex


@pytest.fixture
def names():
    """What the code of the text takes as given."""
    X, y, sex = draw_samples()
    return {
        "X": X[:2000],
        "y": y[:2000],
        "sex": sex[:2000],
        "X_test": X[2000:],
        "y_test": y[2000:],
        "sex_test": sex[2000:],
        "plain": LogisticRegression().fit(X[:2000], y[:2000]),
        "scores": X[:2000, 0],
        "query_id": np.repeat(np.arange(20), 100),
    }


def test_the_code_runs(names, capsys):
    (code,) = re.findall(r"```python\n(.*?)```", SKILL, flags=re.DOTALL)
    exec(code, names)  # the text of the wheel
    assert names["fair"].status_ == "feasible"
    assert names["claim"].verdict in ("shown", "open")
    assert names["monitor"].verdict_ in ("shown", "open")
    sizes = np.bincount(names["clusters"].labels_)
    assert len(sizes) == 5 and sizes.min() >= 50
    is_woman_in_front = (names["ranks"] <= 10) & (names["sex"] == "f")
    assert (is_woman_in_front.reshape(20, -1).sum(axis=1) >= 4).all()
    printed = capsys.readouterr().out
    assert "1,000 samples in 2 groups" in printed and "'plain'" in printed


def test_the_commands_read_a_file(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    _, repaid, sex = draw_samples()
    day = pd.date_range("2026-01-01", periods=len(sex), freq="h").strftime("%Y-%m-%d")
    approved = np.resize([1, 0, 0], len(sex))
    table = {"id": range(len(sex)), "repaid": repaid, "approved": approved, "sex": sex, "day": day}
    pd.DataFrame(table).to_csv("loans.csv", index=False)
    (commands,) = re.findall(r"```console\n(.*?)```", SKILL, flags=re.DOTALL)
    for command in commands.splitlines():
        python, option, package, *arguments = shlex.split(command)
        assert [python, option, package] == ["python", "-m", "skfair"]
        assert main(arguments) in (0, FINDING_STATUS), capsys.readouterr().err
    assert "Shown" in capsys.readouterr().out and (tmp_path / "report.html").exists()


def test_the_text_is_short():
    assert len(SKILL.splitlines()) <= 72
