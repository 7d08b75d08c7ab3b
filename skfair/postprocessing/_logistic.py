"""Logistic regression of scaled features, for the many small fits within one fit."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning

if TYPE_CHECKING:
    from typing import Any

    from skfair.utils._tables import TableLike


class LogisticModel(NamedTuple):
    """A fitted logistic regression: probabilities are the softmax of ``X @ coef.T + intercept``.

    ``coef`` has shape (n_labels, n_columns), with 0 for the first of two labels, and ``intercept``
    (n_labels,).
    """

    classes_: np.ndarray
    coef: np.ndarray
    intercept: np.ndarray

    def predict_proba(self, X: TableLike) -> np.ndarray:
        """Probabilities of the labels, (n_samples, n_labels)."""
        return softmax(as_floats(X) @ self.coef.T + self.intercept, axis=1)


def as_floats(features: TableLike) -> Any:
    """The features as an array or sparse matrix of floats; single precision stays."""
    features = features if sparse.issparse(features) else np.asarray(features)
    return features if features.dtype == np.float32 else features.astype(float, copy=False)


def fit_logistic(
    features: TableLike,
    target: np.ndarray,
    weights: np.ndarray,
    penalty: float,
    *,
    tol: float = 1e-4,
    max_iter: int = 100,
    center: np.ndarray | float = 0.0,
    scale: np.ndarray | float = 1,
) -> LogisticModel:
    """The `LogisticModel` of features, fitted to ``(features - center) / scale``.

    The mean loss, with the weights of the samples, plus ``penalty / 2`` times the squared
    coefficients is minimised until no entry of its gradient exceeds the tolerance.
    """
    from sklearn.linear_model import LogisticRegression  # takes long to import

    features = as_floats(features)
    center, scale = (
        np.broadcast_to(one, features.shape[1:]).astype(features.dtype) for one in (center, scale)
    )
    if sparse.issparse(features):
        features = features @ sparse.diags_array(1.0 / scale)
    elif center.any() or (scale != 1.0).any():
        features = (features - center) / scale
    # Of few parameters Newton's method takes less time than L-BFGS.
    is_small = len(np.unique(target)) * (features.shape[1] + 1) <= 64
    uses_newton = is_small and not sparse.issparse(features)
    model = LogisticRegression(
        C=1.0 / (penalty * weights.sum()),
        tol=tol,
        max_iter=max_iter,
        solver="newton-cholesky" if uses_newton else "lbfgs",
    )
    with warnings.catch_warnings():
        # A fit that ends early is regularised by that.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(features, target, sample_weight=weights)
    coef = model.coef_ / scale
    rows = np.column_stack((coef, model.intercept_ - coef @ center))
    if len(model.classes_) == 2:
        rows = np.vstack((np.zeros_like(rows), rows))
    return LogisticModel(model.classes_, rows[:, :-1], rows[:, -1])


def fit_standardized_logistic(
    features: TableLike, target: np.ndarray, weights: np.ndarray, penalty: float, **settings: Any
) -> LogisticModel:
    """`fit_logistic` of features of weighted mean 0 and variance 1."""
    features = as_floats(features)
    center = np.average(features, axis=0, weights=weights)
    scale = np.sqrt(np.average((features - center) ** 2, axis=0, weights=weights))
    # Constant columns vary by rounding alone.
    rounding = 1e3 * np.finfo(features.dtype).eps * np.abs(center) + 1e-12
    scale[scale <= rounding] = 1.0
    return fit_logistic(features, target, weights, penalty, center=center, scale=scale, **settings)
