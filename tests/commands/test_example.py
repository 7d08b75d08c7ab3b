"""The command ``python -m skfair example``, and the commands that it leads to."""

import re
import shlex

import pandas as pd
import pytest
from sklearn.metrics import accuracy_score

from skfair.__main__ import main
from skfair._commands.options import ERROR_STATUS, FINDING_STATUS


def test_each_command_leads_to_the_next(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["example", "loans.csv"]) == 0
    listing = follow_last_line(capsys)
    assert listing == ["report", "loans.csv"] and main(listing) == ERROR_STATUS
    report = follow_last_line(capsys)
    assert main([*report, "--out", "page.html"]) == FINDING_STATUS
    table = pd.read_csv("loans.csv")
    rates = (table["decision"] == "approved").groupby(table["sex"]).mean()
    said = capsys.readouterr().out
    assert f"{100 * rates['male']:.1f} % for male, {100 * rates['female']:.1f} % for female" in said
    accuracy = accuracy_score(table["repaid"] == "yes", table["decision"] == "approved")
    assert f"accuracy {100 * accuracy:.1f} %" in said and (tmp_path / "page.html").exists()


def follow_last_line(capsys):
    """Return the arguments of the command in the last line that was printed."""
    (arguments,) = re.findall(r"python -m skfair (.*)$", capsys.readouterr().out.rstrip())
    return shlex.split(arguments)


def test_a_file_is_not_written_over(tmp_path, capsys):
    path = tmp_path / "loans.csv"
    path.write_text("mine")
    with pytest.raises(SystemExit):
        main(["example", str(path)])
    assert "FILE must not exist" in capsys.readouterr().err and path.read_text() == "mine"
