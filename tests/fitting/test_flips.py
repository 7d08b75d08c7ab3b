"""Intervals between flips along lines, against decisions at a point of each."""

import numpy as np
import pytest

from skfair.constraints import (
    DemographicParity,
    EqualizedOdds,
    RateParity,
)
from skfair.fitting._counting import (
    DecisionCounter,
    LineStart,
    _crop,
    bin_flip_intervals,
    round_midpoints,
    sort_flip_intervals,
)
from tests.fitting.test_enforcement import draw as draw_samples
from tests.fitting.test_enforcement import make_fitter


def draw(seed, n_samples=300):
    rng = np.random.default_rng(seed)
    scores, slopes = rng.normal(size=(2, n_samples))
    slopes[:9] = 0.0
    scores[9:12], slopes[9:12] = scores[12], slopes[12]  # equal samples flip together
    return scores, slopes / np.abs(slopes).max()


@pytest.mark.parametrize("make", [sort_flip_intervals, lambda *line: bin_flip_intervals(*line, 64)])
@pytest.mark.parametrize("seed", range(3))
def test_decisions_at_a_stop_are_those_of_the_scores_there(make, seed):
    scores, slopes = draw(seed)
    low, high, decisions, bins = make(scores, slopes)
    apart = np.flatnonzero(high - low > 1e-9)
    wrong = 0
    for stop, length in zip(apart, round_midpoints(low[apart], high[apart]), strict=True):
        now = np.where(bins < stop, -decisions, decisions)
        if make is sort_flip_intervals or 0 < stop < 64:  # a few may flip beyond the last bins
            wrong += ((scores + length * slopes > 0) != (now > 0)).sum()
    # At the end of a bin a flip may lie on the way to a number of few digits.
    assert wrong <= (0 if make is sort_flip_intervals else 2)
    assert len(apart) >= 60


def test_half_of_the_bins_are_where_half_of_the_flips_are():
    *_, bins = bin_flip_intervals(*draw(0, n_samples=20_000), 1000)
    moving = bins < 1000
    inner = (bins > 250) & (bins < 750)
    assert inner.sum() / moving.sum() == pytest.approx(0.5, abs=0.15)


def test_a_number_between_two_does_not_hang_on_their_last_digits():
    low = np.array([-3.0, 0.1, 1e-7, 5.0])
    high = low + np.array([0.3, 1e-6, 1e-9, 3.0])
    midpoints = round_midpoints(low, high)
    assert ((low < midpoints) & (midpoints < high)).all()
    np.testing.assert_array_equal(midpoints, round_midpoints(low * (1 + 1e-16), high * (1 - 1e-16)))


@pytest.mark.parametrize("make", [sort_flip_intervals, lambda *line: bin_flip_intervals(*line, 64)])
@pytest.mark.parametrize(("first", "last"), [(0, 5), (20, 40), (7, 7)])
def test_a_segment_has_the_decisions_of_the_line(make, first, last):
    *_, all_decisions, all_bins = make(*draw(0))
    decisions, bins = _crop(all_decisions, all_bins, first, last)
    for stop in range(last - first + 1):
        np.testing.assert_array_equal(
            np.where(bins < stop, -decisions, decisions),
            np.where(all_bins < first + stop, -all_decisions, all_decisions),
        )
    assert bins.max() <= last - first
    assert bins.dtype == all_bins.dtype  # kernels are compiled for one type
    assert decisions.dtype == all_decisions.dtype


CONSTRAINTS = {
    "one": [DemographicParity()],
    "ratio": [DemographicParity(ratio=0.8)],
    "quotient": [RateParity("precision")],
    "two": [DemographicParity(tolerance=0.1), EqualizedOdds(tolerance=0.2)],
    "sum over cells": [EqualizedOdds(aggregate="sum")],
}


@pytest.mark.parametrize("is_within", [True, False])
@pytest.mark.parametrize("ties", [True, False])
@pytest.mark.parametrize("name", CONSTRAINTS)
def test_kernels_find_the_best_points_of_all_lines(name, ties, is_within):
    X, target, groups = draw_samples(0, n_samples=300, n_groups=3, ties=ties)
    problem = make_fitter(X, target, groups, CONSTRAINTS[name], tolerance=0.1).problem
    model, rng = problem.model, np.random.default_rng(1)
    directions = rng.normal(size=(6, model.n_parameters))
    lines = [(one, model.scores(one)) for one in directions]
    starts = [rng.normal(size=model.n_parameters) for _ in range(2)]
    max_error = 0.5 if is_within else np.inf
    starts = [
        LineStart(one, model.scores(one), lines[k::2], max_error) for k, one in enumerate(starts)
    ]
    by_kernels, by_numpy = DecisionCounter(problem), DecisionCounter(problem)
    vars(by_numpy)["_flip_table"] = None
    computed = best_of_lines(by_kernels.evaluate_along_lines(model, starts))
    expected = best_of_lines(by_numpy.evaluate_along_lines(model, starts))
    assert len(expected) >= 2
    assert computed[:2] == expected[:2]


def best_of_lines(points):
    """The best point of each line: excess, error, line and length, best first."""
    numbers, lengths, errors, excess = points
    excess = np.maximum(0.0, np.round(excess, 10))
    keys = (np.abs(lengths), numbers, np.round(errors, 10), excess)
    best = {}
    for k in np.lexsort(keys).tolist():
        best.setdefault(
            int(numbers[k]),
            (float(excess[k]), round(float(errors[k]), 10), int(numbers[k]), float(lengths[k])),
        )
    return list(best.values())
