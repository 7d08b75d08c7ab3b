"""Several favourable labels, the status in JSON, and what a verification leaves open."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from skfair.__main__ import main
from skfair.audit import Audit

N = 900
RNG = np.random.default_rng(0)
TABLE = pd.DataFrame({"sex": RNG.choice(["f", "m"], N)})
TABLE["d"] = np.where(
    RNG.random(N) < np.where(TABLE["sex"] == "f", 0.3, 0.6),
    RNG.choice(["approve", "counter-offer"], N),
    "deny",
)
COLUMNS = ["--prediction", "d", "--sensitive", "sex"]
SALT = "0123456789abcdef"
POSITIVE = ["--positive", "approve", "--positive", "counter-offer"]


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    TABLE.to_csv("d.csv", index=False)
    return "d.csv"


def test_the_union_of_favourable_labels_is_success(path, capsys):
    status = main(["report", path, *COLUMNS, *POSITIVE, "--json", "-"])
    results = json.loads(capsys.readouterr().out)
    assert results["status"] == status == 3
    rates = {
        row["group"]: row["estimate"]
        for row in pd.DataFrame(results["frame"]).to_dict("records")
        if (row["attribute"], row["metric"]) == ("sex", "selection_rate")
    }
    expected = (TABLE["d"] != "deny").groupby(TABLE["sex"]).mean()
    assert rates == pytest.approx(expected.to_dict())
    with pytest.raises(SystemExit):
        main(["report", path, *COLUMNS, *POSITIVE, "--positive", "aprove"])
    assert "--positive must name classes of the file, but 'aprove'" in capsys.readouterr().err


def test_a_claim_on_several_labels_is_verified_and_says_what_is_not(path, capsys):
    options = [*COLUMNS, *POSITIVE, "--tolerance", "0.5", "--json", "c.json"]
    options += ["--salt-file", "salt.txt"]
    Path("salt.txt").write_text(SALT, encoding="utf-8")
    main(["certify", path, *options])
    capsys.readouterr()
    assert main(["verify", "c.json", path]) == 0
    out = capsys.readouterr().out
    assert "Its salted digest of the samples is not checked; pass --salt-file." in out
    assert main(["verify", "c.json", path, "--salt-file", "salt.txt"]) == 0
    assert "is not checked" not in capsys.readouterr().out


def test_subgroups_of_a_report_are_printed(path, capsys):
    main(["report", path, *COLUMNS, *POSITIVE, "--subgroups"])
    assert "2 of 2 subgroups searched are shown to differ" in capsys.readouterr().out


def test_audits_and_searches_are_shown_by_notebooks():
    audit = Audit.from_predictions(
        None, (TABLE["d"] != "deny").astype(int), sensitive_features=TABLE[["sex"]]
    )
    assert "What was read" in audit._repr_html_()
    page = audit.subgroups()._repr_html_()
    assert "Subgroups that depart most" in page and "sex = f" in page
