"""Cheapest paths between clusters against all labels with the same counts."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skfair._kernels.fair_assignment import transport


@given(st.integers(0, 2**32), st.integers(2, 3), st.integers(2, 7))
def test_the_counts_are_reached_at_the_least_cost(seed, n_clusters, n_samples):
    rng = np.random.default_rng(seed)
    distances = rng.random((n_samples, n_clusters))
    labels = distances.argmin(axis=1)  # no exchange lowers the cost
    required = np.bincount(rng.integers(n_clusters, size=n_samples), minlength=n_clusters)
    surplus = np.bincount(labels, minlength=n_clusters) - required
    n_moves = transport(distances, np.arange(n_samples), labels, surplus)
    assert not surplus.any()
    np.testing.assert_array_equal(np.bincount(labels, minlength=n_clusters), required)
    assert n_moves <= n_samples * n_clusters
    costs = [
        distances[np.arange(n_samples), list(other)].sum()
        for other in product(range(n_clusters), repeat=n_samples)
        if (np.bincount(other, minlength=n_clusters) == required).all()
    ]
    assert distances[np.arange(n_samples), labels].sum() == pytest.approx(min(costs))


def test_a_path_may_pass_through_another_cluster():
    # The member of 0 is far from 2. It moves to 1, and the member of 1, near 2, moves there.
    distances = np.array([[0.0, 1.0, 9.0], [0.0, 5.0, 9.0], [9.0, 0.0, 1.0]])
    labels, surplus = np.array([0, 0, 1]), np.array([1, 0, -1])
    assert transport(distances, np.arange(3), labels, surplus) == 2
    assert labels.tolist() == [1, 0, 2]


def test_it_stops_where_no_sample_may_move_and_others_stay():
    distances = np.array([[0.0, 1.0]])
    labels, surplus = np.array([0, 1, 0]), np.array([-1, 1])
    assert transport(distances, np.array([2]), labels, surplus) == 0
    assert labels.tolist() == [0, 1, 0]
    assert surplus.tolist() == [-1, 1]
    labels, surplus = np.array([0, 1, 0]), np.array([2, -2])
    assert transport(distances, np.array([2]), labels, surplus) == 1
    assert labels.tolist() == [0, 1, 1]
    assert surplus.tolist() == [1, -1]


def test_it_terminates_from_labels_that_exchanges_would_improve():
    rng = np.random.default_rng(0)
    for _ in range(50):
        distances, labels = rng.random((30, 4)), rng.integers(4, size=30)
        required = np.bincount(rng.integers(4, size=30), minlength=4)
        surplus = np.bincount(labels, minlength=4) - required
        transport(distances, np.arange(30), labels, surplus)
        np.testing.assert_array_equal(np.bincount(labels, minlength=4), required)
