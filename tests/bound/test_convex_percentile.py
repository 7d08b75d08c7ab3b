"""Members sorted into cells, against plain numpy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skfair._bound.convex import sort_members


def draw_members(seed, n_samples=50, n_events=3):
    rng = np.random.default_rng(seed)
    n_members = 70  # some samples are in several events, some in none
    scores = rng.integers(-6, 7, n_samples) / 2.0  # with ties
    samples = rng.integers(0, n_samples, n_members)
    events = rng.integers(0, n_events, n_members)
    return scores, samples, events, rng.random(n_members), n_events


@given(st.integers(0, 10**6), st.lists(st.integers(-6, 6), max_size=8))
def test_cells_are_those_of_searchsorted(seed, bounds):
    scores, samples, events, shares, n_events = draw_members(seed)
    bounds = np.sort(np.array(bounds, dtype=np.float64) / 2.0)
    indptr, order, moments = sort_members(scores, samples, events, shares, bounds, n_events)
    n_buckets = len(bounds) + 1
    member_scores = scores[samples]
    cells = events * n_buckets + np.searchsorted(bounds, member_scores, side="left")
    np.testing.assert_array_equal(order, np.argsort(cells, kind="stable"))
    sizes = np.bincount(cells, minlength=n_events * n_buckets)
    np.testing.assert_array_equal(np.diff(indptr), sizes)
    for power in range(3):
        expected = np.bincount(cells, shares * member_scores**power, n_events * n_buckets)
        np.testing.assert_allclose(moments[power].ravel(), expected, atol=1e-12)


@pytest.mark.parametrize("bounds", [np.empty(0), np.array([0.25])])
def test_every_member_is_sorted(bounds):
    scores, samples, events, shares, n_events = draw_members(0)
    indptr, order, moments = sort_members(scores, samples, events, shares, bounds, n_events)
    assert sorted(order) == list(range(len(samples)))
    assert moments[0].sum() == pytest.approx(shares.sum())
    assert indptr[0] == 0
    assert indptr[-1] == len(samples)
