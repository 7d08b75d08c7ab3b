"""Distances to centres; sizes around the kernels' block of 128 samples."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skfair._kernels import kmeans as kernels

SIZES = [0, 1, 127, 128, 129, 257]


def distances_by_definition(X, centers):
    return ((X[:, None, :] - centers[None, :, :]) ** 2).sum(axis=2)


@pytest.mark.parametrize("n_samples", SIZES)
def test_distances_equal_their_definition(n_samples):
    rng = np.random.default_rng(n_samples)
    X = rng.normal(size=(n_samples, 3))
    centers = rng.normal(size=(2, 3))
    distances = kernels.squared_distances(X, centers)
    np.testing.assert_allclose(distances, distances_by_definition(X, centers), rtol=1e-14)
    np.testing.assert_array_equal(kernels.squared_distances_by_cluster(X, centers), distances.T)


@pytest.mark.parametrize("n_samples", SIZES)
def test_nearest_centers_are_the_least_distances(n_samples):
    rng = np.random.default_rng(n_samples)
    X = rng.normal(size=(n_samples, 2))
    centers = rng.normal(size=(3, 2))
    distances = kernels.squared_distances(X, centers)
    labels, least = kernels.nearest_centers(X, centers)
    assert labels.dtype == np.int32
    np.testing.assert_array_equal(labels, distances.argmin(axis=1))
    np.testing.assert_array_equal(least, distances.min(axis=1))


def test_ties_go_to_the_lowest_index():
    X = np.array([[0.0], [1.0], [2.0]])
    labels, least = kernels.nearest_centers(X, np.array([[2.0], [0.0], [0.0]]))
    assert labels.tolist() == [1, 0, 0]
    assert least.tolist() == [0, 1, 0]


def test_no_sample_is_nearest_to_the_nan_centre_of_an_empty_cluster():
    X = np.array([[0.0], [9.0]])
    labels, least = kernels.nearest_centers(X, np.array([[np.nan], [1.0], [8.0]]))
    assert labels.tolist() == [1, 2]
    assert least.tolist() == [1, 1]


@given(st.floats(-1e8, 1e8), st.integers(0, 2**32))
def test_no_digit_is_lost_far_from_the_origin(offset, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-9, 9, (20, 2)) / 1.0
    centers = rng.integers(-9, 9, (3, 2)) / 1.0
    offset = np.round(offset)  # so that the shifted data are exact
    np.testing.assert_array_equal(
        kernels.squared_distances(X + offset, centers + offset),
        kernels.squared_distances(X, centers),
    )
