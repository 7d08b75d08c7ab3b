"""Products of matrices in compressed sparse rows (CSR), with dense results."""

import numpy as np

from skfair._kernels import jit


def weighted_gram(data, indices, indptr, weights, n_columns):
    """Sum over rows i of ``weights[i] * outer(row_i, row_i)``, for sorted rows without duplicates.

    Returns a symmetric array of shape (n_columns, n_columns).
    """
    gram = np.zeros((n_columns, n_columns))
    _add_weighted_gram(data, indices, indptr, weights, gram)
    return gram


@jit
def _add_weighted_gram(data, indices, indptr, weights, gram):
    for i in range(len(indptr) - 1):
        weight = weights[i]
        if weight == 0.0:
            continue
        entries = slice(indptr[i], indptr[i + 1])
        values, columns = data[entries], indices[entries]
        for a in range(len(values)):
            # Unsigned indices spare the test for negative ones, which takes longer than the sum.
            j, scaled = np.uint64(columns[a]), weight * values[a]
            # Columns ascend within a row, so only the lower triangle is written.
            for b in range(a + 1):
                gram[j, np.uint64(columns[b])] += scaled * values[b]
    for j in range(len(gram)):
        for k in range(j):
            gram[k, j] = gram[j, k]


def outer_sum(left, right, n_left, n_right):
    """Sum over rows i of ``outer(left_i, right_i)``, for two matrices (data, indices, indptr).

    One pass over both, in the order of their rows. Returns an array of shape (n_left, n_right),
    the numbers of columns.
    """
    total = np.zeros((n_left, n_right))
    _add_outer_sum(left, right, total)
    return total


@jit
def _add_outer_sum(left, right, total):
    left_data, left_indices, left_indptr = left
    right_data, right_indices, right_indptr = right
    for i in range(len(left_indptr) - 1):
        entries = slice(right_indptr[i], right_indptr[i + 1])
        values, columns = right_data[entries], right_indices[entries]
        for a in range(left_indptr[i], left_indptr[i + 1]):
            row, factor = np.uint64(left_indices[a]), left_data[a]
            for b in range(len(values)):
                total[row, np.uint64(columns[b])] += factor * values[b]


def stored_deviations(data, indices, indptr, share, mean):
    """Deviations of the stored entries from the mean of their column, weighted by the rows' shares.

    Returns, for each column, the number and the share of the rows that store it, and the sums of
    deviations and of their squares.
    """
    counts = np.zeros(len(mean), dtype=np.int64)
    stored, deviations, squares = np.zeros((3, len(mean)))
    _add_stored_deviations(
        (data, indices, indptr), share, mean, counts, stored, deviations, squares
    )
    return counts, stored, deviations, squares


@jit
def _add_stored_deviations(rows, share, mean, counts, stored, deviations, squares):
    data, indices, indptr = rows
    for i in range(len(indptr) - 1):
        for a in range(indptr[i], indptr[i + 1]):
            j = indices[a]
            deviation = data[a] - mean[j]
            counts[j] += 1
            stored[j] += share[i]
            deviations[j] += share[i] * deviation
            squares[j] += share[i] * deviation**2


def compressed_rows(X):
    """A dense matrix as CSR: data, indices, indptr, in the integer types of scipy."""
    indptr = np.zeros(len(X) + 1, dtype=np.int64)
    _cumulate_stored(X, indptr)
    data, indices = np.empty(indptr[-1]), np.empty(indptr[-1], dtype=np.int32)
    _store(X, indptr, data, indices)
    return data, indices, indptr.astype(np.int32) if indptr[-1] < 2**31 else indptr


@jit
def _cumulate_stored(X, indptr):
    """Number of non-zero entries in all rows before a row."""
    for i in range(X.shape[0]):
        count = 0
        for j in range(X.shape[1]):
            count += X[i, j] != 0.0
        indptr[i + 1] = indptr[i] + count


@jit
def _store(X, indptr, data, indices):
    for i in range(X.shape[0]):
        a = indptr[i]
        for j in range(X.shape[1]):
            if X[i, j] != 0.0:
                data[a], indices[a] = X[i, j], j
                a += 1
