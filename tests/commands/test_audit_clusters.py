"""Files of samples that belong together: ``--cluster``."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from skfair.__main__ import main
from skfair.audit import Audit

TABLE = pd.DataFrame(
    {
        "d": np.repeat([1, 0, 1, 1, 0], [80, 120, 80, 8, 112]),
        "version": np.repeat(["A", "B"], 200),
        "prompt": np.tile(np.arange(200), 2),
    }
).sample(frac=1.0, random_state=0)
COLUMNS = ["--prediction", "d", "--sensitive", "version"]
FILE = {"y_pred": "d", "sensitive_features": "version"}


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """A function that runs a command about the file; it returns status, output and errors."""
    monkeypatch.chdir(tmp_path)
    TABLE.to_csv("answers.csv", index=False)

    def run(command, *options):
        status = main([command, "answers.csv", *options])
        return status, *capsys.readouterr()

    return run


@pytest.mark.slow
def test_a_claim_about_clusters_is_that_of_the_audit_and_is_verified(run, capsys):
    options = ["--tolerance", "0.1", "--cluster", "prompt"]
    status, output, _ = run("certify", *COLUMNS, *options, "--json", "claim.json")
    claim = json.loads(Path("claim.json").read_text())
    audit = Audit.from_file("answers.csv", FILE | {"groups": "prompt"})
    assert status == 0 and claim["high"] == pytest.approx(audit.certify(tolerance=0.1).high)
    assert "clusters of samples" in output and claim["source"]["clusters"] == "200 by prompt"
    assert main(["verify", "claim.json", "answers.csv"]) == 0
    capsys.readouterr()
    status, output, _ = run("report", *COLUMNS, *options[2:], "--json", "-")
    assert "Limits count clusters of samples, not samples: 200 by prompt." in output
    *_, output, _ = run("compare", "answers.csv", *COLUMNS, *options[2:], "--json", "-")
    assert json.loads(output)["source"]["clusters"] == "200 by prompt"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--count", "prompt", "--cluster", "d"], "--prediction"),
        (["--count", "prompt", "--cluster", "other"], "--cluster"),
        (["--id", "prompt", "--cluster", "prompt"], "--id, --cluster"),
    ],
)
def test_clusters_that_cannot_be_counted_are_an_error(run, capsys, options, message):
    with pytest.raises(SystemExit, match="2"):
        run("certify", *COLUMNS, "--tolerance", "0.1", *options)
    assert message in capsys.readouterr().err
    with pytest.raises(ValueError, match="groups must be left out for counts of samples"):
        Audit.from_file("answers.csv", FILE | {"groups": "prompt", "counts": "prompt"})
