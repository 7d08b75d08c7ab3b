"""The last of several models that is shown: order, level, ledger, and what is refused."""

import numpy as np
import pandas as pd
import pytest

from skfair.__main__ import main
from skfair.audit import Audit, Claim, certify_in_order, verify

SHIFTS = (0.0, 0.03, 0.2, 0.01)
"""How far the threshold of one group is above that of the other, by model."""


def draw_models(seed, n=3000, shifts=SHIFTS):
    """A table of groups, outcomes and the decisions of models."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], n)
    score = rng.random(n)
    table = pd.DataFrame({"sex": sex, "paid": rng.random(n) < score})
    for number, shift in enumerate(shifts):
        table[f"model{number}"] = (score > 0.5 + shift * (sex == "f")).astype(int)
    return table


def audit_models(table, names=None, **columns):
    """An audit for each model of a table."""
    names = names or [name for name in table if name.startswith("model")]
    columns = {"sensitive_features": table["sex"]} | columns
    return [Audit.from_predictions(table["paid"], table[name], **columns) for name in names]


def test_the_first_that_is_not_shown_ends_the_order():
    audits = audit_models(draw_models(0))
    single = [audit.certify(tolerance=0.1) for audit in audits]
    assert [one.is_shown for one in single] == [True, True, False, True]
    position, claim = certify_in_order(audits, tolerance=0.1)
    # The fourth is not tested, although it would be shown.
    assert position == 1
    assert (claim.estimate, claim.high, claim.confidence_level) == (
        single[1].estimate,
        single[1].high,
        0.95,
    )
    assert "the last that is shown of 4 models, number 2 in an order" in str(claim)


def test_nothing_is_shown_where_the_first_is_not():
    audits = audit_models(draw_models(0))[2:]
    position, claim = certify_in_order(audits, tolerance=0.1)
    assert position is None
    assert claim.verdict == "contradicted"
    assert "the first, so that no other was tested, of 2 models" in str(claim)


def test_all_models_are_one_attempt(tmp_path):
    audits = audit_models(draw_models(0))
    ledger = tmp_path / "tries.json"
    _, first = certify_in_order(audits, tolerance=0.1, ledger=ledger)
    _, second = certify_in_order(audits[:1], tolerance=0.1, ledger=ledger)
    assert (first.attempt, second.attempt) == (1, 2)
    levels = [first.confidence_level, second.confidence_level]
    np.testing.assert_allclose(levels, [1 - 0.05 / 2, 1 - 0.05 / 6])


def test_claims_are_filed_and_verified():
    audits = audit_models(draw_models(0))
    position, claim = certify_in_order(audits, tolerance=0.1)
    text = claim.to_json()
    assert Claim.from_json(text) == claim
    assert verify(text, audits[position]) == []


def test_samples_must_be_the_same():
    table = draw_models(0)
    audits = audit_models(table)
    moved = table.assign(sex=np.where(table.index == 0, "x", table["sex"]))
    with pytest.raises(ValueError, match=r"those of audits\[1\] differ from those of audits\[0\]"):
        certify_in_order([audits[0], audit_models(moved)[1]], tolerance=0.1)
    paid = table.assign(paid=np.where(table.index == 0, ~table["paid"], table["paid"]))
    with pytest.raises(ValueError, match="same held-out rows"):
        certify_in_order([audits[0], audit_models(paid)[1]], tolerance=0.1)
    clustered = audit_models(table, groups=np.arange(len(table)) // 2)
    with pytest.raises(ValueError, match="same held-out rows"):
        certify_in_order([audits[0], clustered[1]], tolerance=0.1)
    with pytest.raises(ValueError, match="there is none"):
        certify_in_order([], tolerance=0.1)


@pytest.mark.slow
def test_shell_takes_predictions_in_order(tmp_path, capsys):
    file = tmp_path / "models.csv"
    filed = tmp_path / "claim.json"
    table = draw_models(0)
    table.astype({"paid": int}).to_csv(file, index=False)
    names = [word for i in range(4) for word in ("--prediction", f"model{i}")]
    options = ["--sensitive", "sex", "--target", "paid", "--tolerance", "0.1"]
    assert main(["certify", str(file), *names, *options, "--out", str(filed)]) == 0
    claim = Claim.from_json(filed)
    expected = certify_in_order(audit_models(table), tolerance=0.1)[1]
    assert (claim.estimate, claim.order) == (expected.estimate, expected.order)
    assert "decision model1" in capsys.readouterr().out
    assert main(["verify", str(filed), str(file)]) == 0
    # Rows of several files are joined first.
    halves = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for half, rows in zip(halves, (slice(1500), slice(1500, None)), strict=True):
        table.astype({"paid": int}).iloc[rows].to_csv(half, index=False)
    assert main(["certify", *map(str, halves), *names, *options, "--json", str(filed)]) == 0
    assert Claim.from_json(filed).estimate == expected.estimate


@pytest.mark.slow
@pytest.mark.parametrize("tolerance", [0.05, 0.1])
def test_false_models_are_shown_as_rarely_as_stated(tolerance):
    """Of models on both sides of the tolerance, the one that is returned breaks it seldom."""
    shifts = tolerance * np.array([0.5, 0.8, 0.95, 1.001, 1.05, 1.2])
    n_draws = 100
    n_false = {0.8: 0, 0.95: 0}
    for seed in range(n_draws):
        audits = audit_models(draw_models(seed, 1500, shifts))
        for level in n_false:
            position, _ = certify_in_order(audits, tolerance=tolerance, confidence_level=level)
            n_false[level] += position is not None and shifts[position] > tolerance
    for level, count in n_false.items():
        error = 1 - level
        assert count / n_draws <= error + 2 * np.sqrt(error * level / n_draws)
