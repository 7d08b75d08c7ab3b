"""Checks of numbers beyond those of scikit-learn."""

from contextlib import contextmanager

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.utils import assert_all_finite

from skfair.utils._messages import join_names


@contextmanager
def explain_conversion(X, estimator):
    """Add to errors of the conversion of X to numbers what to do with text, and with graphs."""
    try:
        yield
    except (TypeError, ValueError) as error:
        advice = _advise_conversion(X, estimator)
        if not advice:
            raise
        raise type(error)(f"{error} {advice}") from error


def _advise_conversion(X, estimator):
    """What to pass in place of an X that does not consist of numbers; empty if it does."""
    if type(X).__module__.split(".")[0] == "networkx":
        return (
            "X is a graph of networkx: pass its adjacency matrix, as in "
            "networkx.to_scipy_sparse_array(graph), with affinity='precomputed', and the groups in "
            "the order of graph.nodes."
        )
    columns = _text_columns(X)
    if not columns:
        return ""
    any_model = (
        " ConstrainedClassifierCV passes X as it is to classifiers and pipelines that take text."
    )
    return (
        f"X has text in {len(columns)} column(s): {join_names(map(repr, columns))}. Encode them, "
        f"as in make_pipeline(make_column_transformer((OneHotEncoder(), {columns!r}), "
        f"remainder='passthrough'), {type(estimator).__name__}())."
        f"{any_model if is_classifier(estimator) else ''} Leave a sensitive feature out of X "
        "unless decisions may depend on it."
    )


def _text_columns(X):
    """Names, or positions, of the columns that are no numbers."""
    import pandas as pd

    if not hasattr(X, "columns"):
        X = np.asarray(X, dtype=object)
        if X.ndim != 2:
            return []
        X = pd.DataFrame(X)
    numbers = (pd.to_numeric(pd.Series(list(X[name])), errors="coerce") for name in X.columns)
    missing = (pd.isna(pd.Series(list(X[name]))) for name in X.columns)
    columns = zip(X.columns, numbers, missing, strict=True)
    return [name for name, values, absent in columns if (values.isna() & ~absent).any()]


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
