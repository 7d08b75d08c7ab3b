"""Checks of numbers beyond those of scikit-learn."""

import numpy as np
from scipy import sparse


def check_finite_squares(values, name):
    """Refuse numbers whose squares overflow: variances and distances would be infinite.

    Parameters
    ----------
    values : ndarray or sparse matrix of shape (n_samples, n_features) or (n_samples,)
        Finite numbers. Squares of float32 are added in float64, which holds them.
    name : str
        What users call them, for the error.

    Raises
    ------
    ValueError
        If the sum of all squares is not finite; it names the place of the largest number.
    """
    stored = values.data if sparse.issparse(values) else values
    if stored.dtype != np.float64 or not stored.size:
        return
    with np.errstate(over="ignore"):
        is_finite = np.isfinite(np.vdot(stored, stored))
    if is_finite:
        return
    if sparse.issparse(values):
        values = values.tocoo()
        entry = abs(values.data).argmax()
        largest, place = values.data[entry], (values.row[entry], values.col[entry])
    else:
        place = np.unravel_index(abs(values).argmax(), values.shape)
        largest = values[place]
    where = " of column ".join(map(str, place))
    raise ValueError(
        f"The squares of {name} must add up to a finite number, but it holds {largest:g} in row "
        f"{where}. Divide it by a constant, or leave the row out."
    )
