"""Checks that samples are held out: that a model was not fitted to those which it scores."""

import numpy as np
import pandas as pd
from scipy import sparse

from skfair.utils._messages import warn


def refuse_training_data(X, X_fit):
    """Compare samples with the training samples, row by row.

    Rows are equal if their values are: numbers count as numbers, whatever their dtype and
    container, and at the lower of both precisions.

    Parameters
    ----------
    X, X_fit : array-like or sparse matrix of shape (n_samples, n_features)
        Features; None for `X_fit` compares nothing. Frames are compared by the names of their
        columns, if both have the same ones.

    Raises
    ------
    ValueError
        If most rows are among the training samples, or the columns are others.

    Warns
    -----
    UserWarning
        If some are: with few distinct values other samples may look the same.
    """
    if X_fit is None:
        return
    rows, fitted = _hashes(_columns(X), _columns(X_fit))
    n_seen = int(np.isin(rows, fitted).sum())
    if n_seen > len(rows) / 2:
        raise ValueError(
            f"People must be fresh, but {n_seen} of the {len(rows)} rows of X are in X_fit: the "
            "model was fitted to them and treats them better than others. Pass people whom it has "
            "not seen, such as a part that was held out."
        )
    if n_seen:
        warn(
            f"{n_seen} of the {len(rows)} rows of X are in X_fit too. If these are the same "
            "samples, leave them out: a model treats its training data better than others."
        )


def check_disjoint_folds(folds):
    """Raise a ValueError if a fold's training rows contain rows of its test set.

    Parameters
    ----------
    folds : list of (ndarray of int, ndarray of int)
        Training and test positions of each fold.
    """
    for number, (train, test) in enumerate(folds):
        n_seen = int(np.isin(test, train).sum())
        if n_seen:
            raise ValueError(
                "Each sample must be scored by a model that was not fitted to it, but "
                f"{n_seen} of the {len(test)} test rows of fold {number} of cv are among its "
                "training rows. Pass an int, or a splitter such as StratifiedKFold; an iterable "
                "must yield disjoint train and test rows."
            )


def _columns(X):
    """Columns as arrays by name; by position where they have no names."""
    if sparse.issparse(X):
        X = X.toarray()
    if hasattr(X, "columns"):  # pandas, polars
        return {name: X[name].to_numpy() for name in X.columns}
    # A list of rows becomes an array of objects, so that numbers beside text stay numbers.
    array = X if hasattr(X, "dtype") else np.asarray(X, dtype=object)
    array = np.asarray(array)
    return dict(enumerate(array.reshape(len(array), -1).T))


def _hashes(columns, fitted):
    """A number for each row of either table, equal for rows of equal values."""
    if len(columns) != len(fitted):
        raise ValueError(
            f"X and X_fit must have the same columns, but they have {len(columns)} and "
            f"{len(fitted)}; pass the features of the fit as X_fit."
        )
    if set(columns) == set(fitted):
        fitted = {name: fitted[name] for name in columns}
    pairs = map(_comparable, columns.values(), fitted.values())
    tables = (pd.DataFrame(dict(enumerate(table))) for table in zip(*pairs, strict=True))
    return [pd.util.hash_pandas_object(table, index=False).to_numpy() for table in tables]


def _comparable(column, fitted):
    """Two columns as numbers of the lower of their precisions, or as text if one is no number."""
    numbers = _numbers(column), _numbers(fitted)
    if any(one is None for one in numbers):
        return tuple(pd.Series(one, dtype=object).map(str).to_numpy() for one in (column, fitted))
    dtype = min(map(_precision, (column, fitted), numbers), key=np.dtype.itemsize.__get__)
    with np.errstate(over="ignore"):  # beyond the lower precision is infinite in both
        # Adding 0 makes -0 the same as 0.
        return tuple(one.astype(dtype).astype(np.float64) + 0.0 for one in numbers)


def _numbers(column):
    """A column as float64, nan where a value is missing; None if it holds anything but numbers."""
    if getattr(column.dtype, "kind", "O") in "mM":
        return None
    try:
        numbers = pd.to_numeric(pd.Series(column), errors="raise")
        return numbers.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        return None


def _precision(column, numbers):
    """The dtype that a column was rounded to: its own, or that which holds all its values."""
    if column.dtype.kind == "f" and column.dtype.itemsize < 8:
        return column.dtype
    with np.errstate(over="ignore"):
        is_single = np.array_equal(numbers.astype(np.float32), numbers, equal_nan=True)
    return np.dtype(np.float32 if is_single else np.float64)
