"""Orthonormal bases of the components of columns orthogonal to a subspace."""

import numpy as np


def orthonormalize(excluded, X):
    """Orthonormal basis of the component of X orthogonal to the columns of ``excluded``."""
    for _ in range(2):  # twice is enough
        X = _cholesky_qr(X - excluded @ (excluded.T @ X))
    return X


def _cholesky_qr(X):
    """Nearly orthonormal basis of the columns; by Householder QR if they are nearly dependent.

    The loss of orthogonality is about eps times the squared condition number, here at most the
    root of eps, so that a second pass removes it.
    """
    gram = (X.T @ X).astype(np.float64)
    try:
        L = np.linalg.cholesky(gram)
    except np.linalg.LinAlgError:
        return np.linalg.qr(X)[0]
    # A tiny pivot means a column that nearly depends on the others: Cholesky loses its digits.
    if np.any(np.diag(L) <= np.finfo(X.dtype).eps ** 0.25 * np.sqrt(np.diag(gram))):
        return np.linalg.qr(X)[0]
    return X @ np.linalg.inv(L).T.astype(X.dtype)
