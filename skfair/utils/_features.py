"""Checks of features beyond those of scikit-learn."""

import numpy as np
from scipy import sparse


def check_squares(X):
    """Refuse features whose squares overflow: variances and distances would be infinite.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
        Finite features. Squares of float32 are added in float64, which holds them.

    Raises
    ------
    ValueError
        If the sum of all squares is not finite; it names the row and column of the largest value.
    """
    values = X.data if sparse.issparse(X) else X
    if values.dtype != np.float64 or not values.size:
        return
    with np.errstate(over="ignore"):
        is_finite = np.isfinite(np.vdot(values, values))
    if is_finite:
        return
    rows = abs(X).max(axis=1).toarray().ravel() if sparse.issparse(X) else abs(X).max(axis=1)
    row = int(rows.argmax())
    values = X[[row]].toarray()[0] if sparse.issparse(X) else X[row]
    column = int(abs(values).argmax())
    raise ValueError(
        "The squares of all features must add up to a finite number, but X holds "
        f"{values[column]:g} in row {row} of column {column}. Divide the column by a constant, or "
        "leave the row out."
    )
