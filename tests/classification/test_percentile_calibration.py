"""The search for the surrogate's tolerance, on metrics that are made up."""

from types import SimpleNamespace

import numpy as np
import pytest

from skfair.classification._percentile_calibration import MAX_SOLVES, Candidate, calibrate


class Curve:
    """A task whose metric is a function of the surrogate's tolerance."""

    def __init__(self, gap, plain=1.0, rough=None):
        self.gap, self.plain_gap = gap, plain
        self.rough_gap = plain if rough is None else rough
        self.parity = SimpleNamespace(at_one_threshold=False)
        self.tolerances = []

    def rough(self):
        return self._candidate(self.rough_gap, 0.0)

    def plain(self, start):
        return self._candidate(self.plain_gap, 0.0)

    def bind(self, start, tolerance):
        return tolerance

    def constrained(self, start, tolerance):
        self.tolerances.append(tolerance)
        return self._candidate(self.gap(tolerance), 1.0 - tolerance)

    def _candidate(self, gap, fun):
        return Candidate(np.empty(0), np.empty(0), gap, SimpleNamespace(fun=fun))


def test_a_fair_plain_fit_is_the_answer():
    task = Curve(lambda t: t, plain=0.04)
    assert calibrate(task, 0.05).gap == 0.04
    assert not task.tolerances


def test_a_rough_fit_is_polished_before_it_counts():
    for rough in (0.04, 0.055):
        assert calibrate(Curve(lambda t: t, plain=0.045, rough=rough), 0.05).gap == 0.045
    task = Curve(lambda t: t, plain=0.06, rough=0.04)
    assert 0.04 <= calibrate(task, 0.05).gap <= 0.05
    assert task.tolerances


@pytest.mark.parametrize("tolerance", [0.02, 0.05, 0.1, 0.2, 0.5])
@pytest.mark.parametrize(
    "gap",
    [
        lambda t: t,
        lambda t: 3.0 * t,
        lambda t: t / 4,
        lambda t: min(0.9, 0.01 + t**2),
        lambda t: np.sqrt(t) / 2,
        lambda t: np.round(1.2 * t, 2),
    ],
)
def test_the_metric_ends_just_below_its_tolerance(gap, tolerance):
    task = Curve(gap)
    found = calibrate(task, tolerance)
    assert tolerance - 0.01 <= found.gap <= tolerance
    assert len(task.tolerances) <= MAX_SOLVES


def test_an_unreachable_tolerance_gives_the_fairest():
    task = Curve(lambda t: 0.3 + t)
    found = calibrate(task, 0.1)
    assert found.gap == pytest.approx(0.3)
    assert min(task.tolerances) == 0.0


def test_of_those_that_keep_a_jumping_metric_the_best_is_taken():
    task = Curve(lambda t: 0.02 if t < 0.07 else 0.3)
    found = calibrate(task, 0.1)
    assert found.gap == 0.02
    kept = [t for t in task.tolerances if t < 0.07]
    assert found.result.fun == 1.0 - max(kept)


def test_an_unknown_metric_counts_as_unfair():
    task = Curve(lambda t: np.nan, plain=np.nan)
    assert np.isnan(calibrate(task, 0.1).gap)
    assert len(task.tolerances) <= MAX_SOLVES
