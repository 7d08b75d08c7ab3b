"""The count of broken guarantees, on records and a population made up here."""

import numpy as np
import pytest

from benchmarks.guarantees import redraws
from benchmarks.guarantees.populations import REAL, REPORTING, TUNING, Case
from benchmarks.guarantees.redraws import (
    CASES,
    LEVELS,
    records_of,
    reliability,
    requirements,
    summary,
    table,
)
from benchmarks.timing import QUICK
from skfair.classification import (
    ConstrainedClassifierCV,
    ConstrainedERMClassifier,
    ConstrainedMLPClassifier,
)
from skfair.constraints import resolve_constraints


@pytest.fixture
def small(monkeypatch, tmp_path):
    """A population of three hundred, as if it were a case."""
    rng = np.random.default_rng(0)
    groups = rng.integers(2, size=300)
    X = rng.normal(size=(300, 2)) + groups[:, np.newaxis]
    y = (X.sum(axis=1) + rng.logistic(size=300) > 1).astype(int)
    monkeypatch.setattr(redraws, "FOLDER", tmp_path)
    monkeypatch.setitem(REPORTING, "small", lambda: (X, y, groups))
    monkeypatch.setitem(CASES, "small", Case("small", 200, "demographic_parity", 0.2))
    yield "small"
    redraws.population.cache_clear()
    redraws.bound.cache_clear()


def test_what_is_there_is_not_made_again(small):
    first = records_of(small, 2)
    again = records_of(small, 3)
    np.testing.assert_equal(again[:2], first)  # nan is equal to nan
    assert [record["seed"] for record in again] == [0, 1, 2]
    assert {"plain", "0.95", "0.8"} < set(again[0])
    assert np.isnan(again[0]["plain"]["probability"])
    assert 0.0 <= again[0]["0.95"]["probability"] <= 1.0


def test_the_table_has_every_case_at_every_level(small):
    rows, bins = table([small], 2)
    expected = [(name, level) for name in (small, "all") for level in LEVELS]
    assert [(row["case"], row["level"]) for row in rows] == expected
    assert sum(one["fits"] for one in bins) == 2 * len(LEVELS)


def test_of_stored_redraws_alone_none_is_made(small):
    assert table([small], 2, recorded_only=True) == ([], [])
    records_of(small, 1)
    rows, _ = table([small], 2, recorded_only=True)
    assert {(row["case"], row["redraws"]) for row in rows} == {(small, 1), ("all", 1)}


def test_no_case_has_two_bounds():
    for name, case in CASES.items():
        # Cells get their bounds from plain fits.
        if case.unit is None:
            assert resolve_constraints(*requirements(name))


def test_kinds_are_checked_as_all_cases_are(small, monkeypatch):
    monkeypatch.setattr(redraws, "KINDS", {small: 20})
    report = redraws.redraw_kinds(QUICK)
    assert [(row["case"], row["level"]) for row in report.records] == [
        (small, level) for level in LEVELS
    ]
    assert report.records[0]["redraws"] == round(20 * QUICK.fraction)
    assert [check.what for check in report.checks if "0.95" in check.what] == [
        f"{what}, small at 0.95" for what in ("guaranteed and broken", "guaranteed", "time / plain")
    ]


def test_kinds_are_reported_apart():
    assert set(redraws.KINDS) <= set(CASES)
    assert all(name.startswith(redraws._APART) for name in redraws.KINDS)
    reported = [name for name in CASES if not name.startswith(redraws._APART)]
    assert len(reported) == 24


def test_both_attributes_are_passed_to_the_fit(monkeypatch):
    attributes = []

    class Recorder(ConstrainedERMClassifier):
        def fit(self, X, y, sensitive_features=None, sample_weight=None):
            attributes.append(sensitive_features)
            return super().fit(X, y, sensitive_features=sensitive_features)

    monkeypatch.setattr(redraws, "_classifier", lambda case: Recorder())
    samples = redraws.population("two attributes")
    redraws._fit("each attribute", samples, np.arange(1_000), None)
    assert attributes[0].shape == (1_000, 2)
    assert len(np.unique(attributes[0][:, 0])) == 2
    assert len(np.unique(attributes[0][:, 1])) == 3
    redraws.population.cache_clear()
    redraws.bound.cache_clear()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ties, FPR", ConstrainedERMClassifier),
        ("perceptron", ConstrainedMLPClassifier),
        ("forest", ConstrainedClassifierCV),
    ],
)
def test_a_case_names_its_classifier(name, expected):
    assert type(redraws._classifier(CASES[name])) is expected


def fit(guaranteed=True, holds=True, probability=0.9, seconds=2.0, accuracy=0.8):
    return {
        "guaranteed": guaranteed,
        "kept": holds,
        "probability": probability,
        "accuracy": accuracy,
        "is_constant": False,
        "seconds": seconds,
    }


def test_broken_is_guaranteed_and_violated():
    plain = fit(holds=False, seconds=1.0, accuracy=0.9)
    pairs = [(True, True), (True, False), (False, True), (False, False)]
    rows = [{"plain": plain, "0.95": fit(guaranteed, holds)} for guaranteed, holds in pairs]
    row = summary("Adult", rows, 0.95)
    assert row["guaranteed and broken"] == 0.25
    assert row["guaranteed"] == row["kept"] == 0.5
    assert row["plain: broken"] == 1.0
    assert row["accuracy lost"] == pytest.approx(0.1)
    assert row["time / plain"] == 2.0


def test_reliability_compares_reported_probabilities_with_frequencies():
    fits = [fit(holds=number < 3, probability=0.81) for number in range(4)]
    low, high = reliability([*fits, fit(probability=1.0)])
    assert (low["reported from"], low["fits"], low["kept"]) == (0.8, 4, 0.75)
    assert low["mean reported"] == pytest.approx(0.81)
    assert (high["reported from"], high["fits"]) == (0.95, 1)


def test_populations_of_tuning_are_not_reported():
    for name, case in CASES.items():
        assert case.population in (TUNING if name.startswith("tuning") else REPORTING)
    reported = {case.population for name, case in CASES.items() if not name.startswith("tuning")}
    assert len(reported) >= 10
    assert not reported & set(TUNING)


@pytest.mark.parametrize("name", sorted({*TUNING, *REPORTING} - {*REAL}))
def test_generated_populations_have_both_classes_in_every_group(name):
    samples = redraws.population(name, 5_000)
    codes = samples.groups.codes
    positive = samples.target > 0
    rates = np.bincount(codes, positive) / np.bincount(codes)
    smallest = 0.002 if name == "rare positives" else 0.05
    assert ((rates > smallest) & (rates < 0.95)).all()
    redraws.population.cache_clear()
