"""Searches of the benchmark of subgroups."""

import numpy as np
import pytest

from benchmarks.guarantees import subgroups
from tests.audit.doors import search_predictions


def test_texts_of_subgroups_select_their_samples():
    rng = np.random.default_rng(0)
    columns = subgroups.draw_columns(2000, 4, rng)
    outcomes = rng.random(2000) < np.where(columns["x0"] == "1", 0.6, 0.3)
    flagged = search_predictions(None, outcomes, sensitive_features=columns).flagged
    sizes = [subgroups._select(columns, text).sum() for text in flagged["subgroup"]]
    assert np.abs(flagged["n"] - sizes).max() <= 4  # texts have six digits


def test_a_planted_subgroup_has_its_share():
    rng = np.random.default_rng(1)
    columns = subgroups.draw_columns(5000, 5, rng)
    assert subgroups.plant(columns, 0.1, rng).mean() == pytest.approx(0.1, rel=0.2)


def test_a_large_departure_is_found():
    record = subgroups.search_planted(5, 5000, 0.1, 0.4, seed=0)
    assert record["hit"] and not record["wrong"] and record["bound"]
    assert 0.25 < record["limit"] < 0.4
