"""Tests of less discriminatory alternatives, against numpy by hand and known populations."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from skfair.__main__ import main
from skfair.audit import Alternatives, Audit, verify
from skfair.constraints import DemographicParity


@pytest.fixture(scope="module")
def applicants():
    rng = np.random.default_rng(0)
    n = 4000
    sex = rng.choice(["f", "m"], size=n)
    merit = rng.normal(size=n)
    is_man = sex == "m"
    return pd.DataFrame(
        {
            "sex": sex,
            "y": (merit + rng.normal(size=n) > 0).astype(int),
            "in_use": (merit + 0.4 * is_man > 0.2).astype(int),
            "plain": (merit > 0).astype(int),
            "half": (merit + 0.2 * is_man > 0.1).astype(int),
            "coin": rng.integers(2, size=n),
            "merit": merit,
        }
    )


@pytest.fixture
def audit(applicants):
    return Audit.from_predictions(
        applicants.y, applicants.in_use, sensitive_features=applicants.sex
    )


def test_numbers_are_those_by_hand(applicants, audit):
    answer = audit.alternatives(applicants[["plain", "coin"]], margin=0.01)
    rates = applicants.groupby("sex")[["in_use", "plain", "coin"]].mean()
    gaps = rates.max() - rates.min()
    frame = answer.frame.set_index("candidate")
    for name in ("plain", "coin"):
        row = frame.loc[name]
        assert row["gap"] == pytest.approx(gaps[name])
        assert row["reduction"] == pytest.approx(gaps["in_use"] - gaps[name])
        assert row["performance"] == pytest.approx((applicants[name] == applicants.y).mean())
        assert row["n_gained"] == (applicants[name] > applicants.in_use).sum()
        assert row["n_lost"] == (applicants[name] < applicants.in_use).sum()
    assert answer.shown_names == ["plain"]
    assert frame.loc["coin", "verdict"] == "contradicted"
    assert answer.exit_status == 3


def test_limits_are_close_to_paired_normal_ones(applicants, audit):
    row = audit.alternatives({"half": applicants.half}, margin=0.01).frame.iloc[0]
    is_woman = applicants.sex == "f"
    change = (applicants.half - applicants.in_use).astype(float)
    error = np.sqrt(
        change[is_woman].var() / is_woman.sum() + change[~is_woman].var() / (~is_woman).sum()
    )
    # Two screens take a fifth of the error.
    assert row["reduction"] - row["reduction_low"] == pytest.approx(
        norm.ppf(0.96) * error, rel=0.05
    )
    loss = (applicants.in_use == applicants.y).astype(float) - (applicants.half == applicants.y)
    reach = norm.ppf(0.95) * loss.std() / np.sqrt(len(loss))
    assert row["loss_high"] - row["loss"] == pytest.approx(reach, rel=0.05)


def test_model_in_use_is_no_alternative_of_itself(applicants, audit):
    answer = audit.alternatives({"same": applicants.in_use}, margin=0.05)
    assert answer.shown_names == []
    assert answer.exit_status == 0
    assert "None of 1 candidate is shown" in answer.findings[0]


def test_holm_shows_fewer_than_single_candidates(applicants, audit):
    rng = np.random.default_rng(1)
    noise = {
        f"noise {i}": np.where(rng.random(len(applicants)) < 0.01, applicants.coin, applicants.half)
        for i in range(5)
    }
    alone = audit.alternatives({"half": applicants.half}, margin=0.01).frame
    several = audit.alternatives({"half": applicants.half} | noise, margin=0.01).frame.set_index(
        "candidate"
    )
    assert several.loc["half", "reduction_low"] < alone["reduction_low"].item()
    in_order = audit.alternatives(
        {"half": applicants.half} | noise, margin=0.01, order="given"
    ).frame
    assert (
        in_order.set_index("candidate").loc["half", "reduction_low"]
        == alone["reduction_low"].item()
    )


def test_order_stops_at_the_first_that_is_not_shown(applicants, audit):
    named = {"half": applicants.half, "coin": applicants.coin, "plain": applicants.plain}
    assert audit.alternatives(named, margin=0.01, order="given").shown_names == ["half"]
    front = {"coin": applicants.coin, "plain": applicants.plain, "half": applicants.half}
    assert audit.alternatives(front, margin=0.01, order="given").shown_names == []
    assert {*audit.alternatives(front, margin=0.01, order="front").shown_names} == {"plain", "half"}


def test_ratios(applicants, audit):
    answer = audit.alternatives(
        {"plain": applicants.plain}, DemographicParity(ratio=0.8), margin=0.01
    )
    rates = applicants.groupby("sex")[["in_use", "plain"]].mean()
    ratios = rates.min() / rates.max()
    row = answer.frame.iloc[0]
    assert row["gap"] == pytest.approx(ratios["plain"])
    assert row["reduction"] == pytest.approx(ratios["plain"] / ratios["in_use"])
    assert answer.shown_names == ["plain"]
    rises = {"min_reduction": row["reduction"] - 1.0}
    again = audit.alternatives(
        {"plain": applicants.plain}, DemographicParity(ratio=0.8), margin=0.01, **rises
    )
    assert again.shown_names == []


def test_models_and_area(applicants):
    X = np.column_stack([applicants.merit, applicants.sex == "m"])
    models = [LogisticRegression(C=c).fit(X[:2000], applicants.y[:2000]) for c in (1.0, 1e-3)]
    test = slice(2000, None)
    audit = Audit.from_estimator(
        models[0], X[test], applicants.y[test], sensitive_features=applicants.sex[test]
    )
    row = audit.alternatives({"other": models[1]}, margin=0.01, performance="roc_auc").frame.iloc[0]
    areas = [roc_auc_score(applicants.y[test], m.predict_proba(X[test])[:, 1]) for m in models]
    assert row["performance"] == pytest.approx(areas[1])
    assert row["loss"] == pytest.approx(areas[0] - areas[1])
    log_loss = audit.alternatives({"other": models[1]}, margin=0.01, performance="neg_log_loss")
    assert log_loss.frame["loss"].item() > 0.0


def test_profit_of_decisions(applicants, audit):
    def profit(truth, decision):
        return np.where(decision == 1, np.where(truth == 1, 1.0, -1.5), 0.0)

    answer = audit.alternatives({"plain": applicants.plain}, margin=0.05, performance=profit)
    expected = profit(applicants.y, applicants.plain).mean()
    assert answer.frame["performance"].item() == pytest.approx(expected)
    assert (
        verify(answer.to_json(), audit, candidates=applicants[["plain"]], performance=profit) == []
    )


def test_a_filed_answer_is_recomputed(applicants, audit, tmp_path):
    candidates = applicants[["plain", "coin"]]
    path = tmp_path / "found.json"
    answer = audit.alternatives(candidates, margin=0.01)
    answer.to_json(path)
    assert Alternatives.from_json(path).findings == answer.findings
    assert verify(path, audit, candidates=candidates) == []
    changed = candidates.assign(plain=applicants.coin)
    assert "gap" in verify(path, audit, candidates=changed)
    edited = path.read_text().replace('"margin": 0.01', '"margin": 0.3')
    assert "findings" in verify(edited, audit, candidates=candidates)


def test_clusters_widen_limits(applicants):
    decisions = {"sensitive_features": applicants.sex}
    twice = pd.concat([applicants, applicants], ignore_index=True)
    single = Audit.from_predictions(applicants.y, applicants.in_use, **decisions)
    doubled = Audit.from_predictions(
        twice.y,
        twice.in_use,
        sensitive_features=twice.sex,
        groups=np.tile(np.arange(len(applicants)), 2),
    )
    many = Audit.from_predictions(twice.y, twice.in_use, sensitive_features=twice.sex)
    reaches = []
    for one, half in ((single, applicants.half), (doubled, twice.half), (many, twice.half)):
        row = one.alternatives({"half": half}, margin=0.01).frame.iloc[0]
        reaches.append(row["loss_high"] - row["loss"])
    assert reaches[0] == pytest.approx(reaches[1], rel=0.1)
    assert reaches[2] == pytest.approx(reaches[0] / np.sqrt(2.0), rel=0.05)


@pytest.mark.parametrize(
    ("candidates", "settings", "message"),
    [
        ({}, {}, "one candidate at least"),
        ("plain", {}, "got a str"),
        ({"a": [2] * 4000}, {}, "y_pred of each candidate must have the labels"),
        ({"a": [1] * 4000}, {"margin": -1}, "margin must be a number from 0"),
        ({"a": [1] * 4000}, {"performance": "f1"}, "performance must be one of"),
        ({"a": [1] * 4000}, {"performance": "roc_auc"}, "needs scores of each candidate"),
        ({"a": [1] * 4000}, {"order": "tight"}, "order must be one of"),
    ],
)
def test_refusals(audit, candidates, settings, message):
    with pytest.raises(ValueError, match=message):
        audit.alternatives(candidates, **{"margin": 0.01} | settings)


def test_command(applicants, tmp_path, capsys):
    path = tmp_path / "decisions.csv"
    applicants.to_csv(path, index=False)
    columns = [part for name in ("in_use", "plain", "coin") for part in ("--prediction", name)]
    options = ["--target", "y", "--sensitive", "sex", "--margin", "0.01"]
    assert main(["alternatives", str(path), *columns, *options]) == 3
    assert "'plain', shown" in capsys.readouterr().out


@pytest.mark.slow
def test_error_holds_at_both_margins():
    """A candidate of equal gap, and one at the margin of accuracy, are shown in 5 % at most."""
    rng = np.random.default_rng(0)
    n, n_shown = 1500, np.zeros(2)
    for _ in range(400):
        sex = rng.choice(["f", "m"], size=n)
        y = rng.random(n) < 0.5
        first = rng.random(n) < np.where(y, 0.8, 0.3) + 0.1 * (sex == "m")
        again = rng.random(n) < np.where(y, 0.8, 0.3) + 0.1 * (sex == "m")
        equal = np.where(rng.random(n) < 0.2, again, first)  # the same rates: an equal gap
        fair = rng.random(n) < np.where(y, 0.8, 0.35)  # no gap, and as accurate as is known below
        margin = [0.1, (0.8 + 0.7) / 2 - (0.8 + 0.65) / 2]
        audit = Audit.from_predictions(y, first, sensitive_features=sex)
        for i, one in enumerate((equal, fair)):
            n_shown[i] += bool(audit.alternatives({"one": one}, margin=margin[i]).shown_names)
    assert (n_shown / 400 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 400)).all()
