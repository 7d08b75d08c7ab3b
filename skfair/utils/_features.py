"""Checks of numbers beyond those of scikit-learn."""

import numpy as np
from scipy import sparse
from sklearn.utils import assert_all_finite


def check_finite_squares(values, name, estimator=None):
    """Refuse numbers that are not finite, or whose squares sum to infinity, as variances would be.

    Squares of float32 are added in float64, which holds them: those must be finite already. `name`
    is what users call the numbers; the error names the place of the largest one, or `estimator`.
    """
    stored = values.data if sparse.issparse(values) else values
    if stored.dtype != np.float64 or not stored.size:
        return
    with np.errstate(over="ignore"):
        is_finite = np.isfinite(np.vdot(stored, stored))
    if is_finite:
        return
    assert_all_finite(values, estimator_name=type(estimator).__name__, input_name=name)
    # Find the largest number, for the message.
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
