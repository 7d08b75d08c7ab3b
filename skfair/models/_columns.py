"""Storage, moments and products of feature columns, dense or sparse."""

import numpy as np
from scipy import sparse

from skfair.partitions import BLOCK, blocks, make_partitions

_SPARSE_BELOW = 0.3
"""Share of non-zeros below which dense columns are stored as CSR: one-hot columns are."""

_CHUNK = 8192
"""Rows of a dense matrix that are centred or weighted at a time."""


def _chunks(n_samples):
    return [slice(start, start + _CHUNK) for start in range(0, n_samples, _CHUNK)]


def replace_zeros(scale):
    """The scales, with 1 in place of 0."""
    return np.where(scale > 0, scale, 1.0)


def store_columns(X):
    """The features as float64, in canonical CSR if they are sparse enough."""
    if not sparse.issparse(X):
        X = np.asarray(X, dtype=np.float64)
        return X if _is_filled(X) else _compress(X)
    X = sparse.csr_array(X, dtype=np.float64)
    if not X.has_canonical_format:
        X = X.copy()  # X may share the user's arrays
        X.sum_duplicates()
    return X


def _is_filled(X):
    """Whether too few entries are 0 for CSR; the first blocks show it of dense columns."""
    needed, filled = _SPARSE_BELOW * X.size, 0
    for rows in _chunks(len(X)):
        filled += np.count_nonzero(X[rows] != 0.0)
        if filled >= needed:
            break
    return filled >= needed


def _compress(X):
    from skfair._kernels.sparse_rows import compressed_rows

    if X.flags.f_contiguous:  # as data frames are: read in memory order
        return sparse.csr_array(sparse.csc_array(compressed_rows(X.T), shape=X.shape))
    return sparse.csr_array(compressed_rows(X), shape=X.shape)


def moments(X, weights, n_jobs=None):
    """Mean and variance of each column, (n_features,) each, for weights of rows that sum to 1.

    A second pass takes the squares around the mean and corrects its rounding error. One pass would
    lose digits of columns with a large mean.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.models import moments
    >>> moments(np.array([[1.0], [3.0]]), weights=np.array([0.5, 0.5]))
    (array([2.]), array([1.]))
    """
    # Two passes: means, then deviations from them, so that no digits cancel.
    if sparse.issparse(X):
        mean = X.T @ weights
        residual, squares = _sparse_deviations(X, weights, mean)
    elif len(weights) <= BLOCK:
        mean = X.T.dot(weights)
        residual, squares = _deviations((X, weights), mean)
    else:
        parts = make_partitions([(X[rows], weights[rows]) for rows in blocks(len(weights))], n_jobs)
        mean = parts.reduce(_sums)
        residual, squares = parts.reduce(_deviations, mean)
    return mean + residual, np.maximum(0.0, squares - residual**2)


def _sums(part):
    X, weights = part
    return X.T.dot(weights)


def _deviations(part, mean):
    """Sums of deviations from the means and of their squares, by column."""
    X, weights = part
    residual, squares = np.zeros_like(mean), np.zeros_like(mean)
    for rows in _chunks(len(weights)):
        deviation = X[rows] - mean
        residual += weights[rows].dot(deviation)
        squares += weights[rows].dot(deviation**2)
    return residual, squares


def _sparse_deviations(X, weights, mean):
    from skfair._kernels.sparse_rows import stored_deviations

    counts, stored, residual, squares = stored_deviations(
        X.data, X.indices, X.indptr, weights, mean
    )
    # Weight of the absent entries (zeros); exactly 0 for full columns, as weights round.
    absent = np.where(counts == len(weights), 0.0, np.maximum(0.0, 1.0 - stored))
    return residual - absent * mean, squares + absent * mean**2


def full_columns(X):
    """Whether all entries of a column are stored."""
    if not sparse.issparse(X):
        return np.ones(X.shape[1], dtype=bool)
    return np.bincount(X.indices, minlength=X.shape[1]) == X.shape[0]


def shift_columns(X, origin):
    """X with its full columns shifted by their origin."""
    if not sparse.issparse(X):
        return X - origin
    return sparse.csr_array((X.data - origin[X.indices], X.indices, X.indptr), shape=X.shape)


def rows_times(rows, X):
    """Product of a few sparse rows with X, dense."""
    if not sparse.issparse(X):
        return rows @ X
    from skfair._kernels.sparse_rows import outer_sum

    # One pass over the samples: a product by rows would read X once per row.
    left, right = ((A.data, A.indices, A.indptr) for A in (sparse.csr_array(rows.T), X))
    return outer_sum(left, right, rows.shape[0], X.shape[1])


def weighted_outer_sum(X, weights):
    """``X.T @ diag(weights) @ X``."""
    if sparse.issparse(X):
        from skfair._kernels.sparse_rows import weighted_gram

        return weighted_gram(X.data, X.indices, X.indptr, weights, X.shape[1])
    gram = np.zeros((X.shape[1], X.shape[1]))
    is_signed = bool((weights < 0).any())
    factors = (weights if is_signed else np.sqrt(weights))[:, np.newaxis]
    for rows in _chunks(len(X)):
        scaled = X[rows] * factors[rows]
        # Without negative weights this is a symmetric product, which BLAS halves.
        gram += (X[rows] if is_signed else scaled).T.dot(scaled)
    return gram
