"""Checks for leakage: training rows that are used again as held-out or test rows."""

import numpy as np
import pandas as pd
from scipy import sparse

from skfair.utils._messages import warn


def refuse_training_data(X, X_fit):
    """Refuse an X of which most rows are training rows, and warn if some are.

    Rows are equal if their values are: numbers count as numbers, whatever their dtype and
    container, and at the lower of both precisions. Frames are compared by the names of their
    columns, if both have the same ones. None for `X_fit` compares nothing. With few distinct
    values, equal rows may be different samples.
    """
    if X_fit is None:
        return
    rows, fitted = _hash_rows(_columns(X), _columns(X_fit))
    n_reused = int(np.isin(rows, fitted).sum())
    if n_reused > len(rows) / 2:
        raise ValueError(
            f"X must be held-out data, but {n_reused} of the {len(rows)} rows of X are in X_fit: "
            "the model was fitted to them and treats them better than others. Pass data that was "
            "not used for the fit, such as a test set."
        )
    if n_reused:
        warn(
            f"{n_reused} of the {len(rows)} rows of X are in X_fit too. If these are the same "
            "samples, leave them out: a model treats its training data better than others."
        )


def share_of_rows(rows, table):
    """Share of the rows that are rows of a table too, compared as in `refuse_training_data`."""
    hashes, known = _hash_rows(_columns(rows), _columns(table))
    return float(np.isin(hashes, known).mean())


def check_disjoint_folds(folds):
    """Refuse folds, as (train, test) positions, whose training rows contain test rows."""
    for number, (train, test) in enumerate(folds):
        n_reused = int(np.isin(test, train).sum())
        if n_reused:
            raise ValueError(
                "Each sample must be scored by a model that was not fitted to it, but "
                f"{n_reused} of the {len(test)} test rows of fold {number} of cv are among its "
                "training rows. Pass an int, or a splitter such as StratifiedKFold; an iterable "
                "must yield disjoint train and test rows."
            )


def _columns(X):
    """Columns as arrays by name; by position where they have no names."""
    if sparse.issparse(X):
        X = X.toarray()
    if hasattr(X, "columns"):  # pandas, polars
        return {name: X[name].to_numpy() for name in X.columns}
    # A list of rows becomes an array of objects, so that text does not turn numbers into text.
    array = X if hasattr(X, "dtype") else np.asarray(X, dtype=object)
    array = np.asarray(array)
    return dict(enumerate(array.reshape(len(array), -1).T))


def _hash_rows(columns, fitted):
    """Hashes of the rows of both tables."""
    if len(columns) != len(fitted):
        raise ValueError(
            f"X and X_fit must have the same columns, but they have {len(columns)} and "
            f"{len(fitted)}; pass the features of the fit as X_fit."
        )
    # Match columns by name if both have the same ones, else by position.
    if set(columns) == set(fitted):
        fitted = {name: fitted[name] for name in columns}
    pairs = map(_align_dtypes, columns.values(), fitted.values())
    tables = (pd.DataFrame(dict(enumerate(table))) for table in zip(*pairs, strict=True))
    return [pd.util.hash_pandas_object(table, index=False).to_numpy() for table in tables]


def _align_dtypes(column, fitted):
    """Two columns as numbers of the lower of their precisions, or as text if one is not numeric."""
    numbers = _numbers(column), _numbers(fitted)
    if any(one is None for one in numbers):
        return tuple(pd.Series(one, dtype=object).map(str).to_numpy() for one in (column, fitted))
    dtype = min(map(_precision, (column, fitted), numbers), key=np.dtype.itemsize.__get__)
    # Numbers that overflow in the lower precision are infinite in both. Adding 0 turns -0 into 0.
    with np.errstate(over="ignore"):
        return tuple(one.astype(dtype).astype(np.float64) + 0.0 for one in numbers)


def _numbers(column):
    """A column as float64, nan where a value is missing; None if it is not numeric."""
    if getattr(column.dtype, "kind", "O") in "mM":
        return None
    try:
        numbers = pd.to_numeric(pd.Series(column), errors="raise")
        return numbers.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        return None


def _precision(column, numbers):
    """The precision of a column: that of its dtype, or the lowest that holds all values."""
    if column.dtype.kind == "f" and column.dtype.itemsize < 8:
        return column.dtype
    with np.errstate(over="ignore"):
        is_single = np.array_equal(numbers.astype(np.float32), numbers, equal_nan=True)
    return np.dtype(np.float32 if is_single else np.float64)
