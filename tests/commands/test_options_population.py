"""The commands: a population of shares, and data without a model."""

import json

import pandas as pd
import pytest

from skfair.__main__ import main
from skfair.audit import Audit, Claim

TABLE = pd.DataFrame(
    {"sex": ["f"] * 320 + ["m"] * 480, "paid": (["yes"] * 3 + ["no"]) * 200}
).assign(decision=lambda table: table["paid"])
OUTCOMES = ["--target", "paid", "--positive", "yes", "--sensitive", "sex"]


@pytest.fixture(name="folder")
def write_folder(monkeypatch, tmp_path):
    """A folder with a file of outcomes, and one of a population."""
    TABLE.to_csv(tmp_path / "people.csv", index=False)
    write_population(tmp_path, f=0.51, m=0.49)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_population(folder, **shares):
    """Write the file of a population of the sexes."""
    rows = [{"attribute": "sex", "group": group, "share": one} for group, one in shares.items()]
    pd.DataFrame(rows).to_csv(folder / "population.csv", index=False)


def refuse(command, message, capsys):
    """Check that a command ends with a message."""
    with pytest.raises(SystemExit, match="2"):
        main(command)
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(("tolerance", "status"), [("0.05", 3), ("0.2", 0)])
def test_a_report_compares_shares(folder, capsys, tolerance, status):
    options = ["--population", "population.csv", "--tolerance", tolerance, "--out", "page.html"]
    assert main(["report", "people.csv", *OUTCOMES, *options, "--json", "all.json"]) == status
    printed = capsys.readouterr().out
    assert "The share of f by sex is 40 % (36.5 to 43.5) of the samples and 51 %" in printed
    content = json.loads((folder / "all.json").read_text())
    assert content["shares"]["estimate"] == [0.4, 0.6]
    assert "Shares by sex against a population" in (folder / "page.html").read_text()


def test_a_claim_of_shares_is_verified_without_the_file_of_the_population(folder, capsys):
    options = ["--population", "population.csv", "--tolerance", "0.2", "--json", "claim.json"]
    assert main(["certify", "people.csv", *OUTCOMES, *options]) == 0
    (folder / "population.csv").unlink()
    assert main(["verify", "claim.json", "people.csv"]) == 0
    assert "versions. Shown: the share of no group by sex" in capsys.readouterr().out
    claim = Claim.from_json((folder / "claim.json").read_text())
    audit = Audit.from_predictions(
        TABLE["paid"], None, sensitive_features=TABLE[["sex"]], pos_label="yes"
    )
    population = {"sex": {"f": 0.51, "m": 0.49}}
    assert audit.certify(tolerance=0.2, population=population).high == claim.high


def test_a_group_without_an_applicant_is_compared(folder, capsys):
    write_population(folder, f=0.51, m=0.46, x=0.03)
    options = ["--population", "population.csv", "--tolerance", "0.02"]
    assert main(["report", "people.csv", *OUTCOMES, *options, "--json", "all.json"]) == 3
    assert "No sample is of a declared group by sex: 'x', a share of 0 %" in capsys.readouterr().out
    shares = pd.DataFrame(json.loads((folder / "all.json").read_text())["shares"])
    assert shares.set_index("group")["n"].to_dict() == {"f": 320, "m": 480, "x": 0}
    certify = ["certify", "people.csv", *OUTCOMES, *options, "--json", "claim.json"]
    assert main(certify) == 3
    assert main(["verify", "claim.json", "people.csv"]) == 0
    assert main(["verify", "all.json", "people.csv"]) == 0


def test_a_gate_on_data_without_a_model(folder, capsys):
    assert main(["certify", "people.csv", *OUTCOMES, "--tolerance", "0.2"]) == 0
    assert "shares of rows with outcome yes of f and m differ" in capsys.readouterr().out
    (folder / "claim.json").unlink(missing_ok=True)
    assert main(["report", "people.csv", *OUTCOMES, "--json", "-"]) == 0
    metrics = json.loads(capsys.readouterr().out)["frame"]["metric"]
    assert {*metrics} == {"share of rows with outcome yes"}


SHARES = ["--population", "population.csv", "--tolerance", "0.1"]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["report", "people.csv", "--sensitive", "sex"], "--prediction, --interval and --target"),
        (["report", "people.csv", *OUTCOMES, "--top", "3"], "which --top is not about"),
        (["report", "people.csv", *OUTCOMES, "--threshold", ".3"], "--threshold is not about"),
        (["report", "people.csv", *OUTCOMES, "--tolerance", ".1"], "pass population"),
        (["certify", "people.csv", "--sensitive", "sex", *SHARES], "and --probability is required"),
        (["certify", "people.csv", *OUTCOMES, *SHARES, "--metric", "recall"], "leave out --metric"),
        (["certify", "people.csv", *OUTCOMES, *SHARES[:2], "--ratio", ".8"], "leave out --ratio"),
        (
            ["certify", "people.csv", *OUTCOMES, *SHARES, "--constraint", "equal_opportunity"],
            "leave out --constraint",
        ),
        (["report", "people.csv", *OUTCOMES, "--population", "people.csv"], "no column"),
    ],
)
def test_what_does_not_go_together(folder, capsys, command, message):
    refuse(command, message, capsys)


@pytest.mark.parametrize(
    ("shares", "message"),
    [({"f": 51, "m": 49}, "Write 51 % as 0.51"), ({"f": "half", "m": "half"}, "must hold numbers")],
)
def test_populations_that_cannot_be_read(folder, capsys, shares, message):
    write_population(folder, **shares)
    refuse(["report", "people.csv", *OUTCOMES, *SHARES[:2]], message, capsys)


def test_a_group_is_in_the_population_once(folder, capsys):
    rows = pd.read_csv("population.csv")
    pd.concat([rows, rows]).to_csv("population.csv", index=False)
    refuse(["report", "people.csv", *OUTCOMES, *SHARES[:2]], "must have each group once", capsys)
