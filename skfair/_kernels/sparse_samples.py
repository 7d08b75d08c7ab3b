"""Samples that are stored as sparse: sums and distances of all, and single ones for kernels.

Nothing is centred or made dense. Squared distances are |x|^2 - 2 x c + |c|^2, and kernels that move
single samples read one of them at a time.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from skfair._kernels import find_numba

BLOCK_ROWS = 4096  # samples of which distances to all centres are computed at once


class SparseSamples(NamedTuple):
    """The arrays of a CSR matrix, as kernels read it."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    n_features: int


def kernel_rows(X):
    """Samples as kernels read them: an array, or the arrays of a sparse one."""
    return SparseSamples(X.data, X.indices, X.indptr, X.shape[1]) if sparse.issparse(X) else X


def row_of(X, p):
    """Return sample p as an array: a view, or a copy of a sparse one."""
    return _copy_row(X, p) if isinstance(X, SparseSamples) else X[p]


def _copy_row(X, p):
    row = np.zeros(X.n_features, X.data.dtype)
    for i in range(X.indptr[p], X.indptr[p + 1]):
        row[X.indices[i]] = X.data[i]
    return row


if find_numba() is not None:
    from numba import types
    from numba.extending import overload

    @overload(row_of)
    def _compile_row_of(X, p):
        return (lambda X, p: X[p]) if isinstance(X, types.Array) else _copy_row


def to_dense(table):
    """A table as an array, also if it is sparse."""
    return table.toarray() if sparse.issparse(table) else table


def dense_rows(X, rows):
    """Some samples as an array of float64."""
    return np.asarray(to_dense(X[rows]), dtype=np.float64)


def multiply(X, factors, out):
    """Product of samples and a matrix, in place for dense samples."""
    return X @ factors if sparse.issparse(X) else np.dot(X, factors, out=out)


def squared_norms(X):
    """Squared distance of each sample to the origin."""
    if not sparse.issparse(X):
        return np.einsum("ij,ij->i", X, X, dtype=np.float64)
    return _sum_entries(X, np.square(X.data, dtype=np.float64))


def member_distances(X, centers, labels):
    """Squared distance of each sample to the centre of its cluster."""
    if not sparse.issparse(X):
        return ((X - centers[labels]) ** 2).sum(axis=1)
    products = X.data * centers[np.repeat(labels, np.diff(X.indptr)), X.indices]
    return _expand(squared_norms(X), _sum_entries(X, products), squared_norms(centers)[labels])


def row_blocks(n_samples):
    """Slices of at most `BLOCK_ROWS` samples, in order."""
    return (slice(begin, begin + BLOCK_ROWS) for begin in range(0, n_samples, BLOCK_ROWS))


def sparse_distances(X, centers):
    """Squared distances of samples to centres, (n_samples, n_clusters)."""
    return _expand(squared_norms(X)[:, np.newaxis], X @ centers.T, squared_norms(centers))


def sparse_nearest(X, centers):
    """Index of the nearest centre, ties to the lowest, and the squared distance to it."""
    labels = np.empty(X.shape[0], np.int32)
    least = np.empty(X.shape[0])
    for rows in row_blocks(X.shape[0]):
        distances = sparse_distances(X[rows], centers)
        labels[rows], least[rows] = distances.argmin(axis=1), distances.min(axis=1)
    return labels, least


def member_sums(X, masses, labels, n_clusters):
    """Sum of masses times samples in each cluster, in order of the samples.

    The samples may be stored as sparse or dense; the sums are (n_clusters, n_features).
    """
    columns = masses, labels, np.arange(X.shape[0] + 1)
    members = sparse.csc_array(columns, shape=(n_clusters, X.shape[0]))
    return to_dense(members @ X)


def _expand(norms, products, squares):
    """Squared distances from norms and products, none below 0."""
    return np.maximum(norms - 2 * products + squares, 0.0)


def _sum_entries(X, values):
    """Sum of one value per stored entry over each sample."""
    n_samples = X.shape[0]
    return np.bincount(np.repeat(np.arange(n_samples), np.diff(X.indptr)), values, n_samples)
