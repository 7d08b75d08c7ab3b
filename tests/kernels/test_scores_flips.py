"""Flips along a line, counted by compiled code and by brute force."""

import numpy as np

from skfair._kernels import scores as kernels

N_TIMES = 51  # odd: no sample flips at a breakpoint


def draw(n_samples=400):
    rng = np.random.default_rng(0)
    scores, slopes = rng.normal(size=(2, n_samples))
    scores[:5], slopes[3:8] = 0.0, 0.0
    return scores, slopes


def test_sums_follow_the_decisions():
    rng = np.random.default_rng(1)
    n_samples, n_events, n_entries = 60, 3, 100
    samples, events = (
        rng.integers(n_samples, size=n_entries),
        rng.integers(n_events, size=n_entries),
    )
    effects = rng.normal(size=n_entries)
    flip_times = rng.integers(N_TIMES + 1, size=n_samples)
    decisions = rng.choice([-1, 1], size=n_samples)
    sums = np.zeros((n_events, N_TIMES + 1))
    kernels.add_flips(samples, events, effects, decisions, flip_times, sums)
    sums = np.cumsum(sums, axis=1)
    for t in range(N_TIMES + 1):
        now = np.where(flip_times < t, -decisions, decisions)
        expected = np.bincount(events, effects * (now[samples] > 0), n_events)
        np.testing.assert_allclose(sums[:, t], expected, atol=1e-12)


def test_flips_lie_between_their_stops():
    scores, slopes = draw()
    flip_times, decisions = kernels.bin_flips(scores, slopes, 1e-9, 0.5, N_TIMES)
    place = np.linspace(-1, 1, N_TIMES + 1)[1:-1]
    at = 0.5 * place / (1 - np.abs(place))
    moving = np.abs(slopes) > 1e-9
    lengths = -scores[moving] / slopes[moving]
    np.testing.assert_array_equal(flip_times[moving], np.searchsorted(at, lengths, side="right"))
    assert (flip_times[~moving] == N_TIMES).all()
    for t, length in enumerate(at):
        now = np.where(flip_times <= t, -decisions, decisions)
        np.testing.assert_array_equal(now > 0, scores + length * slopes > 0)
