"""Differences of the errors of a regressor between groups."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array

from skfair.groups import check_columns
from skfair.metrics._docstrings import regression_docs
from skfair.metrics._gaps import gap
from skfair.metrics._losses import mean_losses
from skfair.metrics._registry import metric
from skfair.utils._types import MatrixLike


@regression_docs
@metric("regression")
def mean_error_difference(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    reference: Literal["groups", "overall"] = "groups",
    aggregate: str = "max",
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Largest minus smallest mean signed error of a group.

    .. math:: \max_{g, g'} \bigl( E[\hat y - y \mid g] - E[\hat y - y \mid g'] \bigr)

    It is large if predictions are too high on average for one group and too low for another, which
    mean squared errors do not show.

    Parameters
    ----------
    {y_true, y_pred, sensitive_features, reference, aggregate, sample_weight}

    Returns
    -------
    difference : float
        In the unit of the target, 0 is fair; 0 with a single group.

    Raises
    ------
    {ValueError}

    Examples
    --------
    >>> from skfair.metrics import mean_error_difference
    >>> group = ["a", "a", "b", "b"]
    >>> mean_error_difference([1, 2, 3, 4], [2, 3, 2, 3], sensitive_features=group)
    2.0
    """
    means = _group_means(y_true, y_pred, sensitive_features, sample_weight, lambda error: error)
    return gap([means], reference, aggregate)


@regression_docs
@metric("regression")
def mean_squared_error_difference(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    reference: Literal["groups", "overall"] = "groups",
    aggregate: str = "max",
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Largest minus smallest mean squared error of a group.

    .. math:: \max_{g, g'} \bigl( E[(\hat y - y)^2 \mid g] - E[(\hat y - y)^2 \mid g'] \bigr)

    Parameters
    ----------
    {y_true, y_pred, sensitive_features, reference, aggregate, sample_weight}

    Returns
    -------
    difference : float
        In the squared unit of the target, 0 is fair; 0 with a single group.

    Raises
    ------
    {ValueError}

    Examples
    --------
    >>> from skfair.metrics import mean_squared_error_difference
    >>> group = ["a", "a", "b", "b"]
    >>> mean_squared_error_difference([1, 2, 3, 4], [2, 3, 1, 2], sensitive_features=group)
    3.0
    """
    means = _group_means(y_true, y_pred, sensitive_features, sample_weight, np.square)
    return gap([means], reference, aggregate)


@regression_docs
@metric("regression")
def mean_absolute_error_difference(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    reference: Literal["groups", "overall"] = "groups",
    aggregate: str = "max",
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Largest minus smallest mean absolute error of a group.

    .. math:: \max_{g, g'} \bigl( E[|\hat y - y| \mid g] - E[|\hat y - y| \mid g'] \bigr)

    Parameters
    ----------
    {y_true, y_pred, sensitive_features, reference, aggregate, sample_weight}

    Returns
    -------
    difference : float
        In the unit of the target, 0 is fair; 0 with a single group.

    Raises
    ------
    {ValueError}

    Examples
    --------
    >>> from skfair.metrics import mean_absolute_error_difference
    >>> group = ["a", "a", "b", "b"]
    >>> mean_absolute_error_difference([1, 2, 3, 4], [2, 3, 1, 2], sensitive_features=group)
    1.0
    """
    means = _group_means(y_true, y_pred, sensitive_features, sample_weight, np.abs)
    return gap([means], reference, aggregate)


@regression_docs
@metric("regression")
def largest_mean_squared_error(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Largest mean squared error of a group: that of the group with the worst predictions.

    .. math:: \max_g E[(\hat y - y)^2 \mid g]

    Parameters
    ----------
    {y_true, y_pred, sensitive_features, sample_weight}

    Returns
    -------
    error : float
        In the squared unit of the target; less is better.

    Raises
    ------
    {ValueError}

    Examples
    --------
    >>> from skfair.metrics import largest_mean_squared_error
    >>> group = ["a", "a", "b", "b"]
    >>> largest_mean_squared_error([1, 2, 3, 4], [2, 3, 1, 2], sensitive_features=group)
    4.0
    """
    means, _ = _group_means(y_true, y_pred, sensitive_features, sample_weight, np.square)
    return float(means.max())


def _group_means(y_true, y_pred, sensitive_features, sample_weight, measure):
    """Mean of a function of the errors, in each group and over all samples."""
    samples, columns = check_columns(
        sensitive_features, sample_weight, y_true=y_true, y_pred=y_pred
    )
    truth, predicted = (
        check_array(column, ensure_2d=False, dtype=np.float64, input_name=name)
        for name, column in zip(("y_true", "y_pred"), columns, strict=True)
    )
    return mean_losses(samples, measure(predicted - truth), np.ones(len(truth)))
