import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skfair.datasets import make_fair_blobs


def table(y, groups):
    counts = np.zeros((y.max() + 1, groups.max() + 1), dtype=int)
    np.add.at(counts, (y, groups), 1)
    return counts


@given(
    n_samples=st.integers(20, 200),
    n_clusters=st.integers(1, 6),
    weights=st.lists(st.integers(1, 5), min_size=1, max_size=4),
    separation=st.floats(0, 1),
    seed=st.integers(0, 2**32 - 1),
)
def test_margins_are_exact(n_samples, n_clusters, weights, separation, seed):
    shares = np.array(weights) / sum(weights)
    X, y, groups = make_fair_blobs(
        n_samples,
        n_features=3,
        centers=n_clusters,
        group_shares=shares,
        group_separation=separation,
        random_state=seed,
    )
    assert X.shape == (n_samples, 3)
    assert np.ptp(np.bincount(y)) <= 1
    assert np.all(np.abs(np.bincount(groups) - n_samples * shares) <= 1)


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        ([0.5, 0.5], [[40, 0], [20, 20], [0, 40]]),
        ([0.75, 0.25], [[40, 0], [40, 0], [10, 30]]),
        ([0.25, 0.25, 0.5], [[30, 10, 0], [0, 20, 20], [0, 0, 40]]),
        ([1.0], [[40], [40], [40]]),
    ],
)
def test_full_separation_by_hand(shares, expected):
    _, y, groups = make_fair_blobs(120, group_shares=shares, group_separation=1.0, random_state=0)
    assert table(y, groups).tolist() == expected


@pytest.mark.covering(0)
@pytest.mark.parametrize("separation", [0.0, 0.3, 0.8])
def test_expected_table(separation):
    tables = [
        table(*make_fair_blobs(60, group_separation=separation, random_state=seed)[1:])
        for seed in range(400)
    ]
    separated = np.array([[20, 0], [10, 10], [0, 20]])
    expected = (1 - separation) * 10 + separation * separated
    # a bias below one point is guaranteed; the mean of 400 tables is within .4 of its expectation
    assert np.abs(np.mean(tables, axis=0) - expected).max() < 1.4


def test_points_lie_around_their_centers():
    centers = np.array([[0.0, 0.0, 0.0], [100.0, 0.0, 0.0]])
    X, y, _ = make_fair_blobs(1000, centers=centers, cluster_std=0.5, random_state=3)
    assert X.shape == (1000, 3)
    for k in range(2):
        np.testing.assert_allclose(X[y == k].mean(axis=0), centers[k], atol=0.1)
        np.testing.assert_allclose(X[y == k].std(axis=0), 0.5, rtol=0.15)


def test_same_seed_same_points():
    first, second = make_fair_blobs(random_state=7), make_fair_blobs(random_state=7)
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"group_shares": [0.5, 0.6]}, "sum 1"),
        ({"group_shares": [1.5, -0.5]}, "positive"),
        ({"group_shares": [np.nan, 0.5]}, "positive"),
        ({"group_shares": []}, "sum 1"),
        ({"group_shares": 1.0}, "one per group"),
        ({"group_shares": [0.999, 0.001]}, "n_samples=300 leave a group empty"),
        ({"group_separation": 1.1}, "1.1"),
        ({"group_separation": np.nan}, "nan"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        make_fair_blobs(**options)
