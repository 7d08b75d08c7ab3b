"""Sums and distances of sparse samples against those of the same dense ones."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from skfair._kernels import jit, sparse_samples


@pytest.fixture(params=[np.float32, np.float64])
def X(request):
    """Samples, of which the first has no entry."""
    rng = np.random.default_rng(0)
    drawn = rng.random((40, 12)) * (rng.random((40, 12)) < 0.3)
    drawn[0] = 0.0
    return sparse.csr_array(drawn.astype(request.param))


def test_single_samples_are_copies_of_rows_for_kernels_and_python(X):
    @jit
    def copy(rows, p):
        return sparse_samples.row_of(rows, p)

    rows = sparse_samples.kernel_rows(X)
    dense = X.toarray()
    for p in (0, 1, 39):
        for read in (copy, sparse_samples.row_of):
            np.testing.assert_array_equal(read(rows, p), dense[p])
            np.testing.assert_array_equal(read(dense, p), dense[p])
        assert copy(rows, p).dtype == X.dtype


def test_distances_and_sums_are_those_of_dense_samples(X):
    dense = X.toarray().astype(float)
    rng = np.random.default_rng(1)
    centers = rng.normal(size=(5, 12))
    labels = rng.integers(5, size=40)
    masses = rng.random(40)
    distances = cdist(dense, centers, "sqeuclidean")
    np.testing.assert_allclose(sparse_samples.sparse_distances(X, centers), distances)
    to_members = sparse_samples.member_distances(X, centers, labels)
    np.testing.assert_allclose(to_members, distances[np.arange(40), labels])
    sums = sparse_samples.member_sums(X, masses, labels, 5)
    np.testing.assert_allclose(sums, np.eye(5)[labels].T * masses @ dense)
    np.testing.assert_allclose(sparse_samples.squared_norms(X), (dense**2).sum(axis=1))


def test_no_distance_is_negative_and_ties_go_to_the_lowest_index(X, monkeypatch):
    monkeypatch.setattr(sparse_samples, "BLOCK_ROWS", 7)
    centers = X[[3, 5, 3]].toarray().astype(float)
    labels, least = sparse_samples.sparse_nearest(X, centers)
    assert labels[3] == 0
    assert labels[5] == 1
    assert least.min() >= 0
    np.testing.assert_allclose(
        least, cdist(X.toarray(), centers, "sqeuclidean").min(axis=1), atol=1e-12
    )
