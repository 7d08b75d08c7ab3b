"""Which runs are made of peers and of splits, and what they are held against."""

import pytest

pytest.importorskip("fairlearn")

from benchmarks import records
from benchmarks.guarantees import any_model_splits
from benchmarks.peers import any_model
from benchmarks.timing import QUICK

MEASURED = {  # seconds, accuracy, gap
    any_model.REDUCTIONS: (12.0, 0.64, 0.15),
    "head": (2.0, 0.58, 0.07),
    "head, 2 folds": (1.0, 0.57, 0.08),
    any_model.AT_THEIR_GAP: (2.0, 0.65, 0.14),
}
METHODS = {decide: method for method, decide in any_model.CONTENDERS.items()}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "FOLDER", tmp_path)


def test_our_head_is_held_against_reductions_at_their_gap(monkeypatch):
    asked = []

    def measured(name, constraint, seed, decide, tolerance):
        method = METHODS[decide]
        if method == "head" and tolerance == 0.15:
            method = any_model.AT_THEIR_GAP
        asked.append((name, method, tolerance))
        found = MEASURED.get(method, (1.0, 0.5, 0.1))
        return dict(zip(("seconds", "accuracy", "gap"), found, strict=True))

    monkeypatch.setattr(any_model, "_measured", measured)
    report = any_model.any_model_peers(QUICK)
    assert asked.count(("COMPAS", any_model.AT_THEIR_GAP, 0.15)) == 2  # constraints
    assert asked.count(("COMPAS", "head", 0.05)) == asked.count(("Adult", "head", 0.02)) == 2
    values = {check.what: check.values for check in report.checks}
    of_compas = {what.rpartition(", COMPAS")[0]: found for what, found in values.items()}
    assert of_compas["reductions / head"] == [6.0]
    assert of_compas["reductions / head, 2 folds"] == [12.0]
    assert of_compas["accuracy above theirs at their gap"] == [pytest.approx(0.01)]
    assert of_compas["excess of new gap, ours / reductions"] == [pytest.approx(0.2)]
    made = len(asked)
    any_model.any_model_peers(QUICK)
    assert len(asked) == made  # all were on disk


def test_what_is_to_show_less_than_the_tolerance_is_asked_of_a_promise(monkeypatch):
    def of_split(name, seed):
        one = {"accuracy": 0.9, "gap": 0.01 * (seed % 2), "drawn": 0.02, "certain": 0.95}
        ways = {"no promise": one | {"price": 2.0}, "promised .95": one | {"price": seed}}
        return {constraint: ways for constraint in any_model_splits.CONSTRAINTS_OF[name]}

    monkeypatch.setattr(any_model_splits, "_of_split", of_split)
    report = any_model_splits.any_model_splits(QUICK)
    row = next(row for row in report.records if row["way"] == "promised .95")
    assert row["splits"] == 2 and row["gap"] == pytest.approx(0.005) and row["price"] == 10
    asked = [check.what for check in report.checks if check.what.startswith("gap")]
    assert asked == [
        "gap of new people, Adult, equalized_odds, no promise",
        "gap of new people, Adult, demographic_parity, no promise",
        "gap of new people, Bank, demographic_parity, promised .95",
    ]
