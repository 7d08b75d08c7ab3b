"""Columns of features, dense or sparse: how they are stored, their moments, their products."""

import numpy as np
from scipy import sparse

from skfair.partitions import InMemory, blocks

_SPARSE_BELOW = 0.3
"""Share of non-zeros below which dense columns are stored as CSR: one-hot columns are."""

_CHUNK = 8192
"""Rows of a dense matrix that are centred or weighted at a time."""


def _chunks(n_samples):
    return [slice(start, start + _CHUNK) for start in range(0, n_samples, _CHUNK)]


def positive(scale):
    """The scales, with 1 for columns that have none."""
    return np.where(scale > 0, scale, 1.0)


def stored(X, n_jobs=None):
    """The features as float64, sparse where that pays, in CSR sorted and without duplicates."""
    if not sparse.issparse(X):
        X = np.asarray(X, dtype=np.float64)
        filled = InMemory([X[rows] for rows in blocks(len(X))], n_jobs).total(np.count_nonzero)
        return X if filled >= _SPARSE_BELOW * X.size else _compressed(X)
    X = sparse.csr_array(X, dtype=np.float64)
    if not X.has_canonical_format:
        X = X.copy()  # the arrays are the user's
        X.sum_duplicates()
    return X


def _compressed(X):
    from skfair._kernels.sparse_rows import compressed_rows

    if X.flags.f_contiguous:  # as frames are: columns are read as they lie in memory
        return sparse.csr_array(sparse.csc_array(compressed_rows(X.T), shape=X.shape))
    return sparse.csr_array(compressed_rows(X), shape=X.shape)


def moments(X, share, n_jobs=None):
    """Mean and variance of each column, rows weighted by shares that sum to 1.

    A second pass takes the squares around the mean, mended by what the mean missed: one pass
    loses the digits of columns whose mean is large.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n_samples, n_features)
        Features.
    share : ndarray of shape (n_samples,)
        Of each sample.
    n_jobs : int or None, default=None
        Threads, as in `InMemory`.

    Returns
    -------
    mean, variance : ndarray of shape (n_features,)

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.models import moments
    >>> moments(np.array([[1.0], [3.0]]), share=np.array([0.5, 0.5]))
    (array([2.]), array([1.]))
    """
    if sparse.issparse(X):
        mean = X.T @ share
        missed, squares = _sparse_deviations(X, share, mean)
    else:
        parts = InMemory([(X[rows], share[rows]) for rows in blocks(len(share))], n_jobs)
        mean = parts.total(_sums)
        missed, squares = parts.total(_deviations, mean)
    return mean + missed, np.maximum(0.0, squares - missed**2)


def _sums(part):
    X, share = part
    return X.T.dot(share)


def _deviations(part, mean):
    """Sums of deviations from the means given, and of their squares, by column."""
    X, share = part
    missed, squares = np.zeros_like(mean), np.zeros_like(mean)
    for rows in _chunks(len(share)):
        deviation = X[rows] - mean
        missed += share[rows].dot(deviation)
        squares += share[rows].dot(deviation**2)
    return missed, squares


def _sparse_deviations(X, share, mean):
    from skfair._kernels.sparse_rows import stored_deviations

    counts, stored, missed, squares = stored_deviations(X.data, X.indices, X.indptr, share, mean)
    # Shares sum to 1 up to rounding only: nothing is absent from a full column.
    absent = np.where(counts == len(share), 0.0, np.maximum(0.0, 1.0 - stored))
    return missed - absent * mean, squares + absent * mean**2


def full_columns(X):
    """Columns all of whose entries are stored."""
    if not sparse.issparse(X):
        return np.ones(X.shape[1], dtype=bool)
    return np.bincount(X.indices, minlength=X.shape[1]) == X.shape[0]


def shifted(X, origin):
    """X with full columns shifted by their origin."""
    if not sparse.issparse(X):
        return X - origin
    return sparse.csr_array((X.data - origin[X.indices], X.indices, X.indptr), shape=X.shape)


def rows_times(rows, X):
    """Product of few sparse rows with X, dense."""
    if not sparse.issparse(X):
        return rows @ X
    from skfair._kernels.sparse_rows import outer_sum

    # Sample by sample: row by row, X would be read from memory once for each.
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
        # Without negative weights it is a product of a matrix with itself, which BLAS halves.
        gram += (X[rows] if is_signed else scaled).T.dot(scaled)
    return gram
