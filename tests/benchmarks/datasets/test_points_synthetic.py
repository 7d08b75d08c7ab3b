import numpy as np
import pytest
from sklearn.cluster import KMeans, SpectralClustering

from benchmarks.datasets import load_benchmark


@pytest.mark.parametrize(
    ("name", "blobs", "groups", "first"),
    [
        ("equal_ds1", [100] * 4, [200, 200], (1.162434536366, 0.938824358635)),
        ("unequal_ds1", [150, 150, 50, 50], [300, 100], (1.211164897276, 0.920471666225)),
        ("equal_ds2", [200, 200], [200, 200], (1.487303609099, 0.816473075904)),
        ("unequal_ds2", [300, 100], [300, 100], (1.487303609099, 0.816473075904)),
    ],
)
def test_synthetic_sets(name, blobs, groups, first):
    X, y, sensitive_features = load_benchmark("fair_synthetic", variant=name)
    assert X.shape == (400, 2)
    assert np.bincount(y).tolist() == blobs
    assert np.bincount(sensitive_features).tolist() == groups
    np.testing.assert_allclose(X[0], first, rtol=1e-11)  # 1 + s.d. * the first normals of seed 1
    # the bar between the groups is horizontal
    assert X[sensitive_features == 0, 1].max() < X[sensitive_features == 1, 1].min()


def test_synthetic_sets_with_another_seed():
    default = load_benchmark("fair_synthetic")[0]
    other = load_benchmark("fair_synthetic", random_state=2)[0]
    assert not np.array_equal(default, other)
    np.testing.assert_allclose(default[:100].mean(axis=0), other[:100].mean(axis=0), atol=0.06)


def test_unknown_synthetic_set():
    with pytest.raises(ValueError, match=r"'equal_ds1'.*got 'ds3'"):
        load_benchmark("fair_synthetic", variant="ds3")


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("equal_ds1", "Synthetic-equal_K2"),
        ("unequal_ds1", "Synthetic-unequal_K2"),
        ("equal_ds2", "Synthetic2-equal_K2"),
        ("unequal_ds2", "Synthetic2-unequal_K2"),
    ],
)
def test_synthetic_sets_equal_the_reference(real_data, name, problem):
    folder = real_data("safairkm/reference_fronts.npz")
    X, _, groups = load_benchmark("fair_synthetic", variant=name)
    with np.load(folder / "safairkm" / "reference_fronts.npz") as reference:
        np.testing.assert_allclose(X, reference[f"{problem}/X"], rtol=1e-13)
        np.testing.assert_array_equal(groups, reference[f"{problem}/groups"])


@pytest.mark.parametrize("n_samples", [1, 4, 7, 500])
def test_elliptical_points_are_in_their_half_ellipses(n_samples):
    X, y, groups = load_benchmark("elliptical", n_samples=n_samples, random_state=0)
    assert X.shape == (n_samples, 2)
    centred = X - np.column_stack([np.zeros(n_samples), 3 * y - 1.5])
    assert np.all((centred[:, 0] / 4) ** 2 + centred[:, 1] ** 2 <= 1)
    np.testing.assert_array_equal(X[:, 0] > 0, groups == 1)
    assert np.ptp(np.bincount(2 * y + groups, minlength=4)) <= 1


def test_elliptical_clusters_are_fair_and_k_means_finds_the_groups():
    X, y, groups = load_benchmark("elliptical", n_samples=400, random_state=0)

    def agreement(labels, truth):
        return max(np.mean(labels == truth), np.mean(labels != truth))

    spectral = SpectralClustering(2, gamma=4, random_state=0).fit_predict(X)
    assert agreement(spectral, y) == 1
    assert agreement(KMeans(2, n_init=3, random_state=0).fit_predict(X), groups) > 0.9
