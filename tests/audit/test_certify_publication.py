"""Claims that protect small counts: verdicts about all groups, numbers about published ones."""

import json

import numpy as np
import pandas as pd
import pytest

from skfair.__main__ import main
from skfair.audit import Audit, Claim, verify

# The worst group has four selected samples of 200; x has three samples.
SIZES = {"f": 1000, "m": 1000, "n": 200, "x": 3}
SELECTED = {"f": 302, "m": 317, "n": 4, "x": 1}


def make_audit(*names):
    """The audit of some groups, in shuffled order, and its columns."""
    sex = np.repeat(names, [SIZES[name] for name in names])
    decisions = np.concatenate([np.arange(SIZES[name]) < SELECTED[name] for name in names])
    order = np.random.default_rng(0).permutation(len(sex))
    sex = sex[order]
    decisions = decisions[order].astype(int)
    return Audit.from_predictions(None, decisions, sensitive_features=sex), sex, decisions


def test_the_verdict_is_about_a_group_whose_numbers_are_not_printed():
    audit, *_ = make_audit("f", "m", "n")
    plain = audit.certify(tolerance=0.1)
    claim = audit.certify(tolerance=0.1, min_published=10)
    assert (claim.verdict, claim.exit_status) == (plain.verdict, plain.exit_status)
    assert claim.verdict == "contradicted" and plain.estimate == pytest.approx(0.317 - 0.02)
    assert np.isnan([claim.estimate, claim.low, claim.high]).all()
    hidden = {"f", "n"}  # f protects n, whose count is else the rest
    assert {*claim.sizes} == {*SIZES} - hidden - {"x"}
    assert claim.findings[1:] == [
        "Not published, but part of this claim: 2 of 3 groups by attribute 1 with 1,200 samples.",
        "Observed: not printed, since it compares groups that are not published; decided with "
        "95 % confidence.",
    ]
    for text in (claim.to_json(), claim.to_html(), claim.to_markdown(), claim.text):
        assert "29.7" not in text and "0.297" not in text and "200}" not in text
    assert claim.required_sample_size is claim.n_smallest is claim.shown_threshold is None


@pytest.mark.slow
def test_three_samples_are_left_out_of_all_numbers():
    audit, sex, decisions = make_audit("f", "m", "x")
    with pytest.warns(UserWarning, match="nothing is said of them: 'x'"):
        plain = audit.certify(tolerance=0.02)
    claim = audit.certify(tolerance=0.02, min_published=10)
    assert plain.left_out == ("x",) and claim.left_out == ()
    assert (claim.verdict, claim.estimate, claim.low, claim.high) == (
        (plain.verdict, plain.estimate, plain.low, plain.high)
    )
    assert claim.verdict == "open" and claim.required_sample_size == plain.required_sample_size
    assert claim.sizes == {"f": 1000, "m": 1000}
    assert claim.reading.n_rows is None and claim.reading.n_samples == 2000
    assert "1 of 3 groups by attribute 1, fewer than 10 samples" in claim.text
    assert "2,003" not in claim.to_html() and "2003" not in claim.to_json()


@pytest.mark.parametrize("names", [("f", "m", "n"), ("f", "m", "x"), ("f", "m")])
def test_a_protected_claim_is_filed_and_verified(names):
    audit, *_ = make_audit(*names)
    claim = audit.certify(tolerance=0.1, min_published=10)
    again = Claim.from_json(claim.to_json())
    assert again.text == claim.text and again.to_html() == claim.to_html()
    assert verify(claim.to_json(), audit) == []
    assert claim.find_differences(audit.certify(tolerance=0.1, min_published=5))


def test_the_rates_of_cells_are_protected():
    audit, sex, decisions = make_audit("f", "m", "n")
    truth = np.random.default_rng(1).integers(2, size=len(sex))
    audit = Audit.from_predictions(truth, decisions, sensitive_features=sex)
    plain = audit.certify("equalized_odds", 0.1)
    claim = audit.certify("equalized_odds", 0.1, min_published=10)
    assert claim.verdict == plain.verdict and np.isnan(claim.estimate)
    assert {event.rpartition(": ")[2] for event in claim.sizes} == {"m"}


def test_the_command_protects_and_verifies(tmp_path, capsys):
    _, sex, decisions = make_audit("f", "m", "n", "x")
    path = tmp_path / "d.csv"
    filed = tmp_path / "claim.json"
    pd.DataFrame({"sex": sex, "d": decisions}).to_csv(path, index=False)
    columns = ["--prediction", "d", "--sensitive", "sex", "--tolerance", "0.1"]
    plain = main(["certify", str(path), *columns])
    capsys.readouterr()
    protected = ["--min-published", "10", "--json", str(filed)]
    assert main(["certify", str(path), *columns, *protected]) == plain == 3
    assert "29.7" not in capsys.readouterr().out
    content = json.loads(filed.read_text())
    assert "sha256" not in content["source"] and content["estimate"] is None
    assert main(["verify", str(filed), str(path)]) == 0
