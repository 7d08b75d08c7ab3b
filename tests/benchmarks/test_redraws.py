"""The count of broken promises, on records and a population made up here."""

import numpy as np
import pytest

from benchmarks import redraws
from benchmarks.redraws import CASES, Population, records_of, summary
from skfair.inference import gap_interval


@pytest.fixture
def small(monkeypatch, tmp_path):
    """A population of three hundred, as if it were a case."""
    rng = np.random.default_rng(0)
    groups = rng.integers(2, size=300)
    X = rng.normal(size=(300, 2)) + groups[:, np.newaxis]
    people = X, (X.sum(axis=1) + rng.logistic(size=300) > 1).astype(int), groups
    monkeypatch.setattr(redraws, "FOLDER", tmp_path)
    monkeypatch.setitem(CASES, "small", Population(lambda: people, 200, "demographic_parity", 0.2))
    yield "small"
    redraws.population.cache_clear()


def test_what_is_there_is_not_made_again(small):
    first = records_of(small, 2)
    again = records_of(small, 3)
    assert again[:2] == first
    assert [record["seed"] for record in again] == [0, 1, 2]
    assert {"plain", "promise", "split"} < set(again[0])


def test_broken_is_promised_and_above():
    def record(promised, broken):
        own = {"promised": promised, "broken": broken, "accuracy": 0.8, "seconds": 2.0}
        plain = {"promised": True, "broken": True, "accuracy": 0.9, "seconds": 1.0}
        return {"seed": 0, "plain": plain, "promise": own, "split": own}

    rows = [record(True, True), record(True, False), record(False, True), record(False, False)]
    row = summary("Adult 5k", rows)
    assert row["broken"] == 0.25
    assert row["promised"] == 0.5
    assert row["plain: above"] == 1.0
    assert row["less than plain"] == pytest.approx(0.1)
    assert row["time / plain"] == 2.0


def test_the_limit_of_the_split_is_newcombes():
    # Of 70 women 56 were accepted, of 80 men 48.
    class Model:
        def predict(self, X):
            return X[:, 0]

    accepted = np.r_[np.ones(56), np.zeros(14), np.ones(48), np.zeros(32)]
    limit, gap = redraws._upper_limit(
        "demographic_parity", Model(), accepted[:, None], accepted, np.repeat(["f", "m"], [70, 80])
    )
    same = gap_interval(accepted, sensitive_features=[0] * 70 + [1] * 80, confidence_level=0.9)
    assert gap == pytest.approx(0.2)
    assert limit == pytest.approx(same.high, abs=1e-6)
