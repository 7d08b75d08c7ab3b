"""Rows of partial statistical parity that compare mean scores in windows of ranks."""

import numpy as np
import pytest

from skfair.constraints import PartialStatisticalParity
from skfair.constraints._partial_bound import compare_windows, may_compare_windows
from skfair.groups import Groups, Samples
from skfair.losses import LogisticLoss
from skfair.surrogates import Sigmoid


def bind(groups, weights=None, interval=(0.2, 0.8), n_windows=4, tolerance=0.1, **settings):
    weights = np.ones(len(groups)) if weights is None else weights
    labels, codes = np.unique(groups, return_inverse=True)
    samples = Samples(
        np.ones(len(groups)), Groups(labels.astype(object)[:, np.newaxis], codes=codes), weights
    )
    criterion = PartialStatisticalParity(interval, **settings)
    return compare_windows(criterion.bind(samples, Sigmoid(), LogisticLoss(), tolerance), n_windows)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    return rng.choice(["a", "b"], p=[0.4, 0.6], size=150), rng.normal(size=150)


def mean_in_window(scores, middle, size):
    """Mean by a fine grid of ranks, weighted by a triangle around the middle."""
    ranks = (np.arange(400_000) + 0.5) / 400_000
    weights = np.maximum(0.0, 1.0 - np.abs(ranks - middle) / size)
    at_rank = np.sort(scores)[::-1][(ranks * len(scores)).astype(int)]
    return weights @ at_rank / weights.sum()


@pytest.mark.parametrize(("scale", "low", "high"), [("normalized", 0.2, 0.74), ("raw", 0.1, 0.8)])
def test_rows_are_differences_of_means_in_windows(data, scale, low, high):
    groups, scores = data
    rows = bind(groups, n_windows=3, scale=scale).rows
    values = rows(scores, rows.initial_aux(scores)).values
    shift, size = 0.1 if scale == "raw" else 0.06, (high - low) / 3
    for row, (lower, higher) in enumerate([("a", "b"), ("b", "a")]):
        for window in range(3):
            middle = low + (window + 0.5) * size
            expected = mean_in_window(scores[groups == lower], middle + shift, size)
            expected -= mean_in_window(scores[groups == higher], middle, size)
            assert values[3 * row + window] == pytest.approx(expected, abs=1e-4)
    assert (rows.upper == 0).all() and (rows.lower == -np.inf).all()


def test_rows_are_homogeneous_and_their_derivatives_are_right(data):
    groups, scores = data
    rows = bind(groups).rows
    here = rows(scores, np.empty(0))
    v = np.linspace(-1.0, 1.0, len(here.values))
    slope = here.jacobian.adjoint(v)
    # Rows are linear in the scores as long as no ranks change places.
    assert slope @ scores == pytest.approx(v @ here.values)
    assert slope.sum() == pytest.approx(0.0, abs=1e-12)
    moved = rows(2.0 * scores + 3.0, np.empty(0))
    np.testing.assert_allclose(moved.values, 2.0 * here.values, atol=1e-12)


def test_integer_weights_count_as_repeated_samples(data):
    groups, scores = data
    weights = np.random.default_rng(1).integers(1, 30, size=len(scores))
    weighted = bind(groups, weights.astype(float)).rows(scores, np.empty(0)).values
    repeated = bind(np.repeat(groups, weights)).rows(np.repeat(scores, weights), np.empty(0))
    np.testing.assert_allclose(weighted, repeated.values, atol=1e-10)


def test_unions_and_other_criteria_have_no_windows(data):
    assert may_compare_windows(bind(data[0]))
    assert not may_compare_windows(bind(data[0], interval=[(0.0, 0.3), (0.5, 0.9)]))
