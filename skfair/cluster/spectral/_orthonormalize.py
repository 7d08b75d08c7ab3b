"""Orthonormal bases of the part of columns that lies outside a subspace."""

import numpy as np


def orthonormalize(outside, X):
    """Orthonormal basis of the part of X that is orthogonal to ``outside``."""
    for _ in range(2):  # twice is enough
        X = _cholesky_qr(X - outside @ (outside.T @ X))
    return X


def _cholesky_qr(X):
    """Nearly orthonormal basis of the columns; Householder's where they are nearly dependent.

    The loss of orthogonality is about eps times the squared condition number, here at most the
    root of eps, so that a second pass removes it.
    """
    gram = (X.T @ X).astype(np.float64)
    try:
        L = np.linalg.cholesky(gram)
    except np.linalg.LinAlgError:
        return np.linalg.qr(X)[0]
    if np.any(np.diag(L) <= np.finfo(X.dtype).eps ** 0.25 * np.sqrt(np.diag(gram))):
        return np.linalg.qr(X)[0]
    return X @ np.linalg.inv(L).T.astype(X.dtype)
