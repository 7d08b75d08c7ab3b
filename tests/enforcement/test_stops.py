"""Stops along lines, against decisions made anew at each of them."""

import numpy as np
import pytest

from skfair.enforcement._stops import between, exact_stops, spread_stops


def draw(seed, n_samples=300):
    rng = np.random.default_rng(seed)
    scores, slopes = rng.normal(size=(2, n_samples))
    slopes[:9] = 0.0
    scores[9:12], slopes[9:12] = scores[12], slopes[12]  # equal people flip together
    return scores, slopes / np.abs(slopes).max()


@pytest.mark.parametrize("make", [exact_stops, lambda *line: spread_stops(*line, 64)])
@pytest.mark.parametrize("seed", range(3))
def test_decisions_at_a_stop_are_those_of_the_scores_there(make, seed):
    scores, slopes = draw(seed)
    stops = make(scores, slopes)
    apart = np.flatnonzero(stops.high - stops.low > 1e-9)
    wrong = 0
    for stop, length in zip(apart, between(stops.low[apart], stops.high[apart]), strict=True):
        now = np.where(stops.turns < stop, -stops.decisions, stops.decisions)
        if make is exact_stops or 0 < stop < 64:  # a few may flip beyond the last spread stops
            wrong += ((scores + length * slopes > 0) != (now > 0)).sum()
    # Spread stops may have a flip on their way to a number of few digits.
    assert wrong <= (0 if make is exact_stops else 2)
    assert len(apart) >= 60


def test_half_of_the_spread_stops_are_where_half_of_the_flips_are():
    stops = spread_stops(*draw(0, n_samples=20_000), 1000)
    moving = stops.turns < 1000
    inner = (stops.turns > 250) & (stops.turns < 750)
    assert inner.sum() / moving.sum() == pytest.approx(0.5, abs=0.15)


def test_a_number_between_two_does_not_hang_on_their_last_digits():
    low = np.array([-3.0, 0.1, 1e-7, 5.0])
    high = low + np.array([0.3, 1e-6, 1e-9, 3.0])
    found = between(low, high)
    assert ((low < found) & (found < high)).all()
    np.testing.assert_array_equal(found, between(low * (1 + 1e-16), high * (1 - 1e-16)))


@pytest.mark.parametrize("make", [exact_stops, lambda *line: spread_stops(*line, 64)])
@pytest.mark.parametrize(("first", "last"), [(0, 5), (20, 40), (7, 7)])
def test_a_piece_of_a_line_has_the_decisions_of_the_whole(make, first, last):
    stops = make(*draw(0))
    piece = stops.within(first, last)
    np.testing.assert_array_equal(piece.low, stops.low[first : last + 1])
    np.testing.assert_array_equal(piece.high, stops.high[first : last + 1])
    for stop in range(last - first + 1):
        np.testing.assert_array_equal(
            np.where(piece.turns < stop, -piece.decisions, piece.decisions),
            np.where(stops.turns < first + stop, -stops.decisions, stops.decisions),
        )
    assert piece.turns.max() <= last - first
    assert piece.turns.dtype == stops.turns.dtype  # kernels are compiled for one type
    assert piece.decisions.dtype == stops.decisions.dtype
