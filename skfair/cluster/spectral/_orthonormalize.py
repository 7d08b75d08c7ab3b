"""Orthonormal bases of the components of columns orthogonal to a subspace."""

import numpy as np

from skfair.partitions import blocks


def orthonormalize(excluded, X):
    """Orthonormal basis of the component of X orthogonal to the columns of ``excluded``."""
    for _ in range(2):  # twice is enough
        X = _cholesky_qr(X - excluded @ (excluded.T @ X))
    return X


def _cholesky_qr(X):
    """Nearly orthonormal basis of the columns; by Householder QR if they are nearly dependent.

    The loss of orthogonality is about the condition number times eps, or its square times that of
    the Gram matrix in double precision: here at most 1e-3, so that a second pass removes it.
    """
    gram = np.zeros((X.shape[1], X.shape[1]))
    for rows in blocks(len(X)):
        block = X[rows].astype(np.float64, copy=False)
        gram += block.T @ block
    try:
        L = np.linalg.cholesky(gram)
    except np.linalg.LinAlgError:
        return np.linalg.qr(X)[0]
    # A tiny pivot means a column that nearly depends on the others: Cholesky loses its digits.
    if np.any(np.diag(L) <= np.finfo(np.float64).eps ** 0.25 * np.sqrt(np.diag(gram))):
        return np.linalg.qr(X)[0]
    return X @ np.linalg.inv(L).T.astype(X.dtype)
