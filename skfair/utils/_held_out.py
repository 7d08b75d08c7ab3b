"""Checks that samples are held out: that a model was not fitted to those which it scores."""

import numpy as np
import pandas as pd
from scipy import sparse

from skfair.utils._messages import warn


def refuse_fitted_people(X, X_fit):
    """Compare people with those of the fit, row by row.

    Parameters
    ----------
    X, X_fit : array-like or sparse matrix of shape (n_samples, n_features)
        Features; None for `X_fit` compares nothing.

    Raises
    ------
    ValueError
        If most rows are among those of the fit, or the columns are others.

    Warns
    -----
    UserWarning
        If some are: with few distinct values other people may look the same.
    """
    if X_fit is None:
        return
    rows, fitted = _hashes(X), _hashes(X_fit)
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


def refuse_seen_test_rows(folds):
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


def _hashes(X):
    """A number for each row, equal for equal rows."""
    frame = pd.DataFrame(X.toarray() if sparse.issparse(X) else np.asarray(X))
    return pd.util.hash_pandas_object(frame, index=False).to_numpy()
