"""How often decisions change if only one feature changes."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import BaseEstimator

from skfair._statistics.estimates import check_level
from skfair._statistics.limits_of_rates import rate_limits
from skfair._utils.api import MatrixLike
from skfair._utils.checks import argument_error, check_in_memory, join_names
from skfair._utils.tables import to_pandas_table

_MAX_VALUES = 20
"""Values of a feature up to which each replaces each other; each costs one call of predict."""


def flip_rate(
    estimator: BaseEstimator,
    X: MatrixLike,
    *,
    column: str | int,
    confidence_level: float = 0.95,
) -> pd.DataFrame:
    """Share of decisions that change if only the sensitive feature of the samples changes.

    For example: of the women, how many would be decided otherwise if the column said "male", and
    all else were equal? It is for models that have the sensitive attribute among their features.

    Parameters
    ----------
    estimator : estimator
        Fitted model with ``predict``, such as a pipeline.
    X : array-like of shape (n_samples, n_features)
        Samples to predict, best held out. No sparse matrix.
    column : str or int
        Name of the sensitive feature in a DataFrame, or its position.
    confidence_level : float, default=0.95
        Level of the interval of each share.

    Returns
    -------
    shares : DataFrame
        A row for each pair of values, most frequent first. ``value`` is what the samples have,
        ``replaced_by`` what they get, ``n`` the number of samples with the value, ``flip_rate`` the
        share of them whose decision changes, and ``low`` and ``high`` are its limits: Wilson's, or
        Clopper and Pearson's for up to three successes or failures.

    Raises
    ------
    ValueError
        If X has no such column, or the column has one value or more than 20.
    TypeError
        If X is sparse or not in memory.

    See Also
    --------
    demographic_parity_difference : Difference of selection rates, whatever causes it.

    Notes
    -----
    A rate of 0 does not mean that groups are treated equally: other features can reveal the group.
    Nor is it the effect of the group on a person, whose other features might differ, too. Samples
    without a value are left out. A feature that a pipeline encodes as several columns is replaced
    before it is encoded: pass the pipeline and the raw table.

    Read more in the :ref:`guide <group_access>`.

    Examples
    --------
    Men are accepted with 1 point less than women:

    >>> import numpy as np
    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skfair.metrics import flip_rate
    >>> rng = np.random.default_rng(0)
    >>> X = pd.DataFrame({"points": rng.normal(size=1000), "male": rng.integers(2, size=1000)})
    >>> model = LogisticRegression().fit(X, X["points"] + X["male"] > 0)
    >>> flip_rate(model, X, column="male").round(2)
       value  replaced_by    n  flip_rate   low  high
    0      1            0  523       0.37  0.33  0.41
    1      0            1  477       0.35  0.31  0.39
    """
    level = (1 + check_level(confidence_level)) / 2
    X = _check_table(X)
    place = _find_place(X, column)
    column_values = X.iloc[:, place] if isinstance(X, pd.DataFrame) else pd.Series(X[:, place])
    counts = column_values.value_counts()
    if not 2 <= len(counts) <= _MAX_VALUES:
        raise argument_error(
            f"column must be a feature of 2 to {_MAX_VALUES} different values, but {column!r} has "
            f"{len(counts)} in X. Pass a categorical feature, and samples with all of its values."
        )
    decisions = np.asarray(estimator.predict(X))  # (n_samples,)
    changes = {
        value: np.asarray(estimator.predict(_replace(X, place, value))) != decisions
        for value in counts.index
    }
    rows = []
    for value, n in counts.items():
        has_value = (column_values == value).to_numpy(dtype=bool, na_value=False)
        for other in counts.index:
            if other != value:
                share = changes[other][has_value].mean()
                rows.append((value, other, n, share))
    shares = pd.DataFrame(rows, columns=["value", "replaced_by", "n", "flip_rate"])
    low, high = rate_limits(shares["flip_rate"].to_numpy(), shares["n"].to_numpy(), level)
    return shares.assign(low=low, high=high)


def _check_table(X: MatrixLike) -> pd.DataFrame | np.ndarray:
    """Return X as a DataFrame or a 2D array; raise for sparse data."""
    check_in_memory(X=X)
    if sparse.issparse(X):
        raise TypeError(
            "Sparse data was passed as X, but a column can be replaced in dense data. Pass "
            "X.toarray()."
        )
    table = to_pandas_table(X)
    if isinstance(table, pd.DataFrame):
        return table
    array = np.asarray(table)
    if array.ndim != 2:
        raise argument_error(f"X must be 2D, but has shape {array.shape}. Pass rows of features.")
    return array


def _find_place(X: pd.DataFrame | np.ndarray, column: str | int) -> int:
    """Return the position of a column that users name; raise if there is no such column."""
    if isinstance(column, int | np.integer) and not isinstance(column, bool):
        if 0 <= column < X.shape[1]:
            return int(column)
    elif isinstance(column, str) and isinstance(X, pd.DataFrame):
        names = X.columns.tolist()
        if names.count(column) == 1:
            return names.index(column)
        raise argument_error(
            f"column must name one column of X, {join_names(map(repr, names))}; got {column!r}."
        )
    raise argument_error(
        "column must be the position of a column of X, 0 to "
        f"{X.shape[1] - 1}, or its name in a DataFrame; got {column!r}."
    )


def _replace(X: pd.DataFrame | np.ndarray, place: int, value: object) -> MatrixLike:
    """Return a copy of X in which all samples have one value in a column, of the same dtype."""
    replaced = X.copy()
    if isinstance(replaced, pd.DataFrame):
        column = replaced.iloc[:, place]
        replaced.isetitem(
            place, pd.Series([value] * len(column), index=column.index, dtype=column.dtype)
        )
    else:
        replaced[:, place] = value
    return replaced
