"""Costs of decisions between classes, as a matrix by true and predicted class.

Of each true class only differences of costs count, so that a correct decision costs 0 from here on.
Weights of classes are the matrices whose rows are constant but for the diagonal. Costs of two
classes are such weights; those of several classes are what this module is for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.special import expit

from skfair._utils.checks import argument_error

if TYPE_CHECKING:
    from skfair._utils.api import MatrixLike


def read_cost_matrix(cost_matrix: MatrixLike, classes: np.ndarray) -> np.ndarray:
    """Costs in excess of those of the correct decision, (n_classes, n_classes), checked."""
    labels = classes.tolist()
    if isinstance(cost_matrix, pd.DataFrame):  # its labels say which cost is whose
        named = [axis.tolist() for axis in (cost_matrix.index, cost_matrix.columns)]
        if any(len(names) != len(labels) or {*names} != {*labels} for names in named):
            raise argument_error(
                f"cost_matrix must name the classes {labels} in its index and in its columns, but "
                f"has {named[0]} and {named[1]}. Rename them, or pass an array in "
                "the order of the classes, ascending."
            )
        cost_matrix = cost_matrix.loc[labels, labels]
    try:
        costs = np.asarray(cost_matrix, dtype=np.float64)
    except (TypeError, ValueError):
        raise argument_error(
            f"cost_matrix must be a square array of numbers; got {cost_matrix!r}."
        ) from None
    if costs.shape != (len(labels), len(labels)):
        raise argument_error(
            f"cost_matrix must have a row and a column for each of the classes {labels}, but its "
            f"shape is {costs.shape}. Pass the cost of predicting class j for a sample of class i "
            "in row i and column j."
        )
    if not np.isfinite(costs).all():
        raise argument_error(
            "cost_matrix must have finite costs; got nan or inf. A decision that must not be made "
            "needs a large cost."
        )
    excess = costs - np.diag(costs)[:, np.newaxis]
    wrong = np.flatnonzero((excess.min(axis=1) < 0.0) | (excess.max(axis=1) <= 0.0))
    if len(wrong):
        label = labels[wrong[0]]
        raise argument_error(
            "cost_matrix must have the least cost of each row on its diagonal, which is the "
            f"correct decision, and a larger one beside it; that of class {label!r} is "
            f"{costs[wrong[0]].tolist()}. Rows are true classes and columns predicted ones, in "
            f"the order {labels}."
        )
    return excess


def to_class_weight(costs: np.ndarray, classes: np.ndarray) -> dict[Any, float]:
    """Weights of two classes that cost as much: of each class its one error."""
    return dict(zip(classes.tolist(), costs.sum(axis=1).tolist(), strict=True))


def expected_gains(log_odds: np.ndarray, costs: np.ndarray) -> np.ndarray:
    """Minus the expected cost of predicting each class, (n_samples, n_classes).

    ``log_odds`` are calibrated ones of each class against the rest, whose probabilities sum to 1.
    """
    return -expit(log_odds) @ costs


def split_costs(codes: np.ndarray, costs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Targets and weights of one-vs-rest problems whose errors are the costs of decisions.

    Both have shape (n_samples, n_classes). One class is predicted for each sample, so that costs
    may be counted from any level of the sample: decisions that cost less are for a class, and
    those that cost more against it. The level is half of the largest error.
    """
    levels = costs.max(axis=1, keepdims=True) / 2.0
    less = (levels - costs)[codes]
    return np.where(less >= 0.0, 1.0, -1.0), np.abs(less)
