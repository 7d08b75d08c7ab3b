"""Logistic regression of scaled features, for the many small fits within one fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit, logsumexp, softmax

if TYPE_CHECKING:
    from skfair._utils.tables import Table, TableLike


class LogisticModel(NamedTuple):
    """A fitted logistic regression: probabilities are the softmax of ``X @ coef.T + intercept``.

    ``coef`` has shape (n_labels, n_columns), with 0 for the first of two labels, and ``intercept``
    (n_labels,).
    """

    classes_: np.ndarray
    coef: np.ndarray
    intercept: np.ndarray

    @property
    def returns_probabilities(self) -> bool:
        """That probabilities need no check, as those of a user's model do."""
        return True

    def predict_proba(self, X: TableLike) -> np.ndarray:
        """Probabilities of the labels, (n_samples, n_labels)."""
        scores = as_floats(X) @ self.coef.T + self.intercept
        if scores.shape[1] == 2:
            success = expit(scores[:, 1] - scores[:, 0])
            return np.column_stack((1.0 - success, success))
        return softmax(scores, axis=1)


def as_floats(features: Table) -> np.ndarray | sparse.csr_array:
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
    coefficients is minimised until no entry of its gradient exceeds the tolerance. A fit that
    ends early is regularised by that. scikit-learn's model warns then, and filters that mute the
    warning would belong to all threads.
    """
    features = as_floats(features)
    center, scale = (
        np.broadcast_to(one, features.shape[1:]).astype(features.dtype) for one in (center, scale)
    )
    if sparse.issparse(features):
        features = features @ sparse.diags_array(1.0 / scale)
    elif center.any() or (scale != 1.0).any():
        features = (features - center) / scale
    classes, codes = np.unique(target, return_inverse=True)
    members = (codes[:, np.newaxis] == np.arange(len(classes))).astype(float)
    if len(classes) == 2:
        members = members[:, 1:]
    # Of few parameters Newton's method takes less time than L-BFGS.
    is_small = len(classes) * (features.shape[1] + 1) <= 64
    uses_newton = is_small and not sparse.issparse(features)
    features = features.astype(float, copy=False) if uses_newton else features
    loss = _Loss(features, members, weights / weights.sum(), penalty)
    minimize_loss = _minimize_by_newton if uses_newton else _minimize_by_lbfgs
    start = np.zeros((members.shape[1], features.shape[1] + 1))
    rows = minimize_loss(loss, start, tol, max_iter)
    rows[:, :-1] /= scale
    rows[:, -1] -= rows[:, :-1] @ center
    if len(classes) == 2:
        rows = np.vstack((np.zeros_like(rows), rows))
    return LogisticModel(classes, rows[:, :-1], rows[:, -1])


class _Loss(NamedTuple):
    """Penalised logistic loss of linear scores, as a function of coefficients and intercepts.

    Parameters have shape (n_scores, n_columns + 1), with the intercepts last. Two labels have one
    score, more have one each. Weights sum to 1.
    """

    features: np.ndarray | sparse.sparray  # (n_samples, n_columns)
    members: np.ndarray  # whether a sample has the label of a score, (n_samples, n_scores)
    weights: np.ndarray
    penalty: float

    def scores(self, rows: np.ndarray) -> np.ndarray:
        """Linear scores of all samples, (n_samples, n_scores)."""
        return self.features @ rows[:, :-1].T.astype(self.features.dtype) + rows[:, -1]

    def evaluate(self, rows: np.ndarray) -> tuple[float, np.ndarray]:
        """The loss and its gradient, of the shape of the parameters."""
        scores = self.scores(rows)
        if scores.shape[1] == 1:
            norms = np.logaddexp(0.0, scores[:, 0])
            shares = expit(scores)
        else:
            norms = logsumexp(scores, axis=1)
            shares = np.exp(scores - norms[:, np.newaxis])
        losses = norms - (scores * self.members).sum(axis=1)
        residuals = (shares - self.members) * self.weights[:, np.newaxis]
        gradient = np.empty_like(rows)
        gradient[:, :-1] = (self.features.T @ residuals.astype(self.features.dtype)).T
        gradient[:, :-1] += self.penalty * rows[:, :-1]
        gradient[:, -1] = residuals.sum(axis=0)
        return self.weights @ losses + self.penalty / 2.0 * (rows[:, :-1] ** 2).sum(), gradient

    def hessian(self, rows: np.ndarray) -> np.ndarray:
        """Second derivatives, by rows of parameters, and positive definite."""
        n_scores, n_rows = rows.shape
        scores = self.scores(rows)
        shares = expit(scores) if n_scores == 1 else softmax(scores, axis=1)
        columns = np.column_stack((self.features, np.ones(len(scores))))
        # Products of shares and columns, (n_samples, n_scores * n_rows).
        products = (shares[:, :, np.newaxis] * columns[:, np.newaxis]).reshape(len(scores), -1)
        hessian = -(products.T * self.weights) @ products
        by_score = hessian.reshape(n_scores, n_rows, n_scores, n_rows)
        for score, share in enumerate(shares.T):
            by_score[score, :, score] += (columns.T * (self.weights * share)) @ columns
            by_score[score, :, score] += np.diag(np.full(n_rows, self.penalty))
            by_score[score, -1, score, -1] += 1e-12 - self.penalty
        if n_scores > 1:
            # The loss does not change with the sum of all intercepts, which stays 0.
            by_score[:, -1, :, -1] += 1.0
        return hessian


_EPS = 16.0 * np.finfo(float).eps
"""Relative difference of two losses that may be rounding."""


def _minimize_by_newton(loss: _Loss, rows: np.ndarray, tol: float, max_iter: int) -> np.ndarray:
    """Parameters of the smallest loss, by Newton's method with backtracking."""
    value, gradient = loss.evaluate(rows)
    for _ in range(max_iter):
        step = -np.linalg.solve(loss.hessian(rows), gradient.ravel()).reshape(rows.shape)
        slope = (gradient * step).sum()
        for size in 0.5 ** np.arange(21):
            new_rows = rows + size * step
            new_value, new_gradient = loss.evaluate(new_rows)
            if new_value <= value + size * slope / 2**11:
                break
            is_rounding = abs(new_value - value) <= _EPS * abs(value)
            if is_rounding and np.abs(new_gradient).sum() < np.abs(gradient).sum():
                break
        else:  # no step decreases the loss, by rounding
            return _minimize_by_lbfgs(loss, rows, tol, max_iter)
        rows, value, gradient = new_rows, new_value, new_gradient
        if np.abs(gradient).max() <= tol and -slope / 2.0 <= tol:
            break
    return rows


def _minimize_by_lbfgs(loss: _Loss, rows: np.ndarray, tol: float, max_iter: int) -> np.ndarray:
    """Parameters of the smallest loss, by L-BFGS."""

    def evaluate(flat: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = loss.evaluate(flat.reshape(rows.shape))
        return value, gradient.ravel()

    options = {"maxiter": max_iter, "maxls": 50, "gtol": tol, "ftol": 4.0 * _EPS}
    result = minimize(evaluate, rows.ravel(), method="L-BFGS-B", jac=True, options=options)
    return result.x.reshape(rows.shape)


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
