"""The gap of sampling noise alone."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("fairlearn")

from benchmarks.erm_cases import Split
from benchmarks.peers.any_model import drawn_gaps

SPLIT = Split(np.zeros((400, 1)), np.tile([0, 1], 200), np.repeat(["a", "b"], [40, 360]))


def mean_drawn_gap(scores, n_new):
    model = SimpleNamespace(oof_scores_=scores)
    return np.mean(drawn_gaps(model, SPLIT, n_new, "demographic_parity"))


def test_equal_rates_show_a_gap_of_sampling_noise():
    scores = np.tile([-1.0, -1.0, 1.0, 1.0], 100)
    # The difference of two means of coins has the mean absolute value sqrt(2 / pi) times its s.e.
    for n_new in (400, 40_000):
        error = np.sqrt(0.25 / (0.1 * n_new) + 0.25 / (0.9 * n_new))
        assert mean_drawn_gap(scores, n_new) == pytest.approx(np.sqrt(2 / np.pi) * error, rel=0.3)


def test_certain_decisions_have_no_sampling_noise():
    assert mean_drawn_gap(np.ones(400), 400) == 0.0
    assert mean_drawn_gap(np.where(SPLIT.groups == "a", 1.0, -1.0), 400) == 1.0
