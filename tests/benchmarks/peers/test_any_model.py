"""Runs of peers and of splits, the bounds of their figures, and sampling noise."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("fairlearn")

from benchmarks import records
from benchmarks.erm_cases import Split
from benchmarks.guarantees import any_model_splits
from benchmarks.peers import any_model
from benchmarks.peers.any_model import noise_gaps
from benchmarks.timing import QUICK

MEASURED = {  # seconds, accuracy, gap
    any_model.REDUCTIONS: (12.0, 0.64, 0.15),
    any_model.FINAL_MODEL: (2.0, 0.58, 0.07),
    any_model.TWO_FOLDS: (1.0, 0.57, 0.08),
    any_model.AT_PEER_GAP: (2.0, 0.65, 0.14),
}
METHODS = {decide: method for method, decide in any_model.CONTENDERS.items()}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "FOLDER", tmp_path)


def test_the_final_model_is_compared_with_reductions_at_their_gap(monkeypatch):
    runs = []

    def measure(name, constraint, seed, decide, tolerance):
        method = METHODS[decide]
        if method == any_model.FINAL_MODEL and tolerance == 0.15:
            method = any_model.AT_PEER_GAP
        runs.append((name, method, tolerance))
        figures = MEASURED.get(method, (1.0, 0.5, 0.1))
        return dict(zip(("seconds", "accuracy", "gap"), figures, strict=True))

    monkeypatch.setattr(any_model, "_time_method", measure)
    report = any_model.any_model_peers(QUICK)
    assert runs.count(("COMPAS", any_model.AT_PEER_GAP, 0.15)) == 2  # constraints
    assert runs.count(("COMPAS", any_model.FINAL_MODEL, 0.05)) == 2
    assert runs.count(("Adult", any_model.FINAL_MODEL, 0.02)) == 2
    values = {check.what: check.values for check in report.checks}
    compas = {what.rpartition(", COMPAS")[0]: figures for what, figures in values.items()}
    assert compas["CPU s, reductions / ours"] == [6.0]
    assert compas["CPU s, reductions / ours, 2 folds"] == [12.0]
    assert compas["accuracy above the reductions', at their gap"] == [pytest.approx(0.01)]
    assert compas["excess of the held-out gap, ours / reductions"] == [pytest.approx(0.2)]
    made = len(runs)
    any_model.any_model_peers(QUICK)
    assert len(runs) == made  # all were on disk


def test_gaps_of_guarantees_are_compared_with_the_tolerance(monkeypatch):
    def report_split(name, seed):
        one = {"accuracy": 0.9, "gap": 0.01 * (seed % 2), "gap of noise": 0.02, "probability": 0.95}
        rows = {"none": one | {"multiplier": 2.0}, ".95": one | {"multiplier": seed}}
        return dict.fromkeys(any_model_splits.CONSTRAINTS_OF[name], rows)

    monkeypatch.setattr(any_model_splits, "_evaluate_split", report_split)
    report = any_model_splits.any_model_splits(QUICK)
    row = next(row for row in report.records if row["guarantee"] == ".95")
    assert row["splits"] == 2 and row["gap"] == pytest.approx(0.005) and row["multiplier"] == 10
    titles = [check.what for check in report.checks if check.what.startswith("held-out gap")]
    assert titles == [
        "held-out gap, Adult, equalized_odds, guarantee none",
        "held-out gap, Adult, demographic_parity, guarantee none",
        "held-out gap, Bank, demographic_parity, guarantee .95",
    ]


SPLIT = Split(np.zeros((400, 1)), np.tile([0, 1], 200), np.repeat(["a", "b"], [40, 360]))


def mean_noise_gap(scores, n_new):
    model = SimpleNamespace(oof_decision_function_=scores)
    return np.mean(noise_gaps(model, SPLIT, n_new, "demographic_parity"))


def test_equal_rates_show_a_gap_of_sampling_noise():
    scores = np.tile([-1.0, -1.0, 1.0, 1.0], 100)
    # The difference of two means of coins has the mean absolute value sqrt(2 / pi) times its s.e.
    for n_new in (400, 40_000):
        error = np.sqrt(0.25 / (0.1 * n_new) + 0.25 / (0.9 * n_new))
        assert mean_noise_gap(scores, n_new) == pytest.approx(np.sqrt(2 / np.pi) * error, rel=0.3)


def test_certain_decisions_have_no_sampling_noise():
    assert mean_noise_gap(np.ones(400), 400) == 0.0
    assert mean_noise_gap(np.where(SPLIT.groups == "a", 1.0, -1.0), 400) == 1.0
