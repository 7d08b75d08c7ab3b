"""Logistic regression of two or more labels, for the many small fits within one fit.

Two labels have one vector of coefficients, and more labels have one each. Its square is penalised,
as in scikit-learn's LogisticRegression, whose checks take longer than these fits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import block_diag
from scipy.optimize import minimize

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
        return _softmax((as_floats(X) @ self.coef.T + self.intercept).T)[0].T


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
    features = as_floats(features)
    center, scale = (
        np.broadcast_to(one, features.shape[1:]).astype(features.dtype) for one in (center, scale)
    )
    if sparse.issparse(features):
        features = features @ sparse.diags_array(1.0 / scale)
    elif center.any() or (scale != 1.0).any():
        features = (features - center) / scale
    labels, codes = np.unique(target, return_inverse=True)
    loss = _LogisticLoss.make(features, codes, weights, penalty)
    # Of few parameters Newton's method takes less time than L-BFGS.
    is_small = loss.n_rows * (features.shape[1] + 1) <= 64
    uses_newton = is_small and not sparse.issparse(features)
    solve = _minimize_by_newton if uses_newton else _minimize_by_lbfgs
    parameters = solve(loss, tol, max_iter).reshape(loss.n_rows, -1)
    coef = parameters[:, :-1] / scale
    rows = np.column_stack((coef, parameters[:, -1] - coef @ center))
    rows = np.vstack((np.zeros((len(labels) - len(rows), rows.shape[1])), rows))
    return LogisticModel(labels, rows[:, :-1], rows[:, -1])


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


def _softmax(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of the labels and their logarithms, of scores (n_labels, n_samples)."""
    scores = scores - scores.max(axis=0)
    powers = np.exp(scores)
    sums = powers.sum(axis=0)
    return powers / sums, scores - np.log(sums)


class _LogisticLoss(NamedTuple):
    """Mean loss and penalty as a function of the parameters, flat (n_rows, n_columns + 1)."""

    features: np.ndarray  # (n_samples, n_columns)
    members: np.ndarray  # (n_labels, n_samples), weights of the samples' own labels
    weights: np.ndarray  # (n_samples,), sum 1
    penalty: float
    n_rows: int  # vectors of coefficients

    @classmethod
    def make(
        cls, features: TableLike, codes: np.ndarray, weights: np.ndarray, penalty: float
    ) -> _LogisticLoss:
        """The loss of samples with codes of labels."""
        weights = (weights / weights.sum()).astype(features.dtype)
        members = np.zeros((codes.max() + 1, len(codes)), dtype=features.dtype)
        members[codes, np.arange(len(codes))] = weights
        return cls(features, members, weights, penalty, len(members) if len(members) > 2 else 1)

    def predict(self, parameters: np.ndarray) -> Any:
        """Probabilities of all labels, and their logarithms."""
        rows = parameters.reshape(self.n_rows, -1).astype(self.features.dtype)
        scores = np.zeros(self.members.shape, dtype=self.features.dtype)
        scores[-self.n_rows :] = (self.features @ rows[:, :-1].T).T + rows[:, -1:]
        return _softmax(scores)

    def evaluate(self, parameters: np.ndarray) -> Any:
        """The value and its gradient."""
        rows = parameters.reshape(self.n_rows, -1)
        chances, logarithms = self.predict(parameters)
        residuals = (chances * self.weights - self.members)[-self.n_rows :]
        gradient = np.empty_like(rows)
        gradient[:, :-1] = residuals @ self.features + self.penalty * rows[:, :-1]
        gradient[:, -1] = residuals.sum(axis=1)
        # Single precision would end line searches early, where its sum no longer falls.
        value = -np.multiply(self.members, logarithms, dtype=float).sum()
        return value + 0.5 * self.penalty * (rows[:, :-1] ** 2).sum(), gradient.ravel()

    def hessian(self, parameters: np.ndarray) -> np.ndarray:
        """The second derivatives, with some curvature where there is none."""
        chances = self.predict(parameters)[0][-self.n_rows :]
        columns = np.vstack((self.features.T, np.ones(len(self.features))))
        # Covariances of the labels times products of the columns.
        products = (chances[:, np.newaxis] * columns).reshape(-1, len(self.weights))
        weighted = products * self.weights
        diagonal = [one @ columns.T for one in np.split(weighted, self.n_rows)]
        penalties = np.full((self.n_rows, len(columns)), self.penalty)
        # An equal change of all intercepts changes no probability.
        penalties[:, -1] = 1e-10
        return block_diag(*diagonal) - products @ weighted.T + np.diag(penalties.ravel())


def _minimize_by_lbfgs(loss: _LogisticLoss, tol: float, max_iter: int) -> np.ndarray:
    """Parameters of the smallest loss, from 0 on."""
    start = np.zeros(loss.n_rows * (loss.features.shape[1] + 1))
    options = {"maxiter": max_iter, "gtol": tol, "ftol": 64 * np.finfo(float).eps, "maxls": 50}
    return minimize(loss.evaluate, start, jac=True, method="L-BFGS-B", options=options).x


def _minimize_by_newton(loss: _LogisticLoss, tol: float, max_iter: int) -> np.ndarray:
    """Parameters of the smallest loss, from 0 on, by steps that are halved until it decreases."""
    loss = loss._replace(features=np.asarray(loss.features, dtype=float))
    parameters = np.zeros(loss.n_rows * (loss.features.shape[1] + 1))
    for _ in range(max_iter):
        value, gradient = loss.evaluate(parameters)
        if np.abs(gradient).max() <= tol:
            break
        step = np.linalg.solve(loss.hessian(parameters), gradient)
        while loss.evaluate(parameters - step)[0] > value:
            step /= 2.0
        parameters = parameters - step
    return parameters
