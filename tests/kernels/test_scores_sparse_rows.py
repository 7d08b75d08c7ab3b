"""Products of sparse rows against numpy, with 32-bit and 64-bit indices."""

import numpy as np
import pytest
from scipy import sparse

from skfair._kernels.scores import (
    compressed_rows,
    sum_outer_products,
    sum_stored_deviations,
    weighted_gram,
)

index_types = pytest.mark.parametrize("index_type", [np.int32, np.int64])


def parts(A, index_type):
    return A.data, A.indices.astype(index_type), A.indptr.astype(index_type)


def random_rows(n_rows, n_columns, seed=0):
    """A sparse matrix with some empty rows, an empty column, and a stored zero."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns)) * (rng.random((n_rows, n_columns)) < 0.4)
    X[[0, 3], :], X[:, 1] = 0.0, 0.0
    A = sparse.csr_array(X)
    row, column = (axis[0] for axis in A.nonzero())
    A.data[0], X[row, column] = 0.0, 0.0
    return A, X


@index_types
def test_weighted_gram(index_type):
    A, X = random_rows(20, 6)
    weights = np.random.default_rng(1).normal(size=20)
    weights[5] = 0.0
    gram = weighted_gram(*parts(A, index_type), weights, 6)
    np.testing.assert_allclose(gram, X.T @ (weights[:, np.newaxis] * X), atol=1e-14)
    np.testing.assert_array_equal(gram, gram.T)


@index_types
def test_outer_sum(index_type):
    A, X = random_rows(20, 6)
    B, Y = random_rows(20, 9, seed=1)
    total = sum_outer_products(parts(A, index_type), parts(B, index_type), 6, 9)
    np.testing.assert_allclose(total, X.T @ Y, atol=1e-14)


@index_types
def test_stored_deviations(index_type):
    A, X = random_rows(20, 6)
    share = np.random.default_rng(1).dirichlet(np.ones(20))
    mean = np.arange(6.0)
    counts, stored, deviations, squares = sum_stored_deviations(*parts(A, index_type), share, mean)
    inside = np.zeros_like(X)
    inside[np.repeat(np.arange(20), np.diff(A.indptr)), A.indices] = 1.0
    np.testing.assert_array_equal(counts, inside.sum(axis=0))
    np.testing.assert_allclose(stored, share @ inside, atol=1e-15)
    np.testing.assert_allclose(deviations, share @ (inside * (X - mean)), atol=1e-14)
    np.testing.assert_allclose(squares, share @ (inside * (X - mean) ** 2), atol=1e-14)


def make_strided(X):
    return np.repeat(X, 2, axis=1)[:, ::2]


@pytest.mark.parametrize("layout", [np.ascontiguousarray, make_strided])
def test_compressed_rows(layout):
    _, X = random_rows(20, 6)
    X[2, 4] = np.nan
    result = sparse.csr_array(compressed_rows(layout(X)), shape=X.shape)
    np.testing.assert_array_equal(result.toarray(), X)
    assert result.nnz == np.count_nonzero(X)
    assert result.has_canonical_format


def test_nothing():
    data, indices, indptr = compressed_rows(np.zeros((0, 3)))
    np.testing.assert_array_equal(weighted_gram(data, indices, indptr, data, 3), np.zeros((3, 3)))
