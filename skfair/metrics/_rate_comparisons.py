"""Differences and ratios of one rate, under fairlearn's names."""

from __future__ import annotations

from numpy.typing import ArrayLike

from skfair._utils.api import ComparisonMethod, Label, MatrixLike
from skfair.metrics._classification import (
    accuracy_score_difference,
    demographic_parity_difference,
    demographic_parity_ratio,
    equal_opportunity_difference,
    equal_opportunity_ratio,
    error_rate_ratio,
    false_positive_rate_difference,
)
from skfair.metrics._docstrings import classification_docs
from skfair.metrics._rates import confusion_matrices, rate_ratio


@classification_docs
def true_negative_rate_ratio(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    method: ComparisonMethod = "between_groups",
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    r"""Smallest over largest true negative rate among groups.

    .. math:: \min_g n_g \, / \, \max_g n_g, \quad n_g = \Pr(\hat{y} = 0 \mid y = 0, g)

    It is another number than the ratio of the false positive rates.

    Read more in the :ref:`guide <moving>`.

    Parameters
    ----------
    {y_true, y_pred, sensitive_features, method, sample_weight, pos_label}

    Returns
    -------
    {ratio}

    Raises
    ------
    {ValueError}

    See Also
    --------
    true_negative_rate_difference : The largest rate minus the smallest.

    Examples
    --------
    >>> from skfair.metrics import true_negative_rate_ratio
    >>> y_true = [1, 1, 0, 0, 1, 1, 0, 0]
    >>> y_pred = [1, 1, 1, 0, 1, 0, 0, 0]
    >>> group = ["a", "a", "a", "a", "b", "b", "b", "b"]
    >>> true_negative_rate_ratio(y_true, y_pred, sensitive_features=group)  # (1/2) / (2/2)
    0.5
    """
    matrices = confusion_matrices(y_true, y_pred, sensitive_features, sample_weight, pos_label)
    return rate_ratio(matrices, "true_negative_rate", method=method)


@classification_docs
def false_negative_rate_ratio(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    method: ComparisonMethod = "between_groups",
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    r"""Smallest over largest false negative rate among groups.

    .. math:: \min_g m_g \, / \, \max_g m_g, \quad m_g = \Pr(\hat{y} = 0 \mid y = 1, g)

    It is another number than the ratio of the true positive rates.

    Read more in the :ref:`guide <moving>`.

    Parameters
    ----------
    {y_true, y_pred, sensitive_features, method, sample_weight, pos_label}

    Returns
    -------
    {ratio}

    Raises
    ------
    {ValueError}

    See Also
    --------
    false_negative_rate_difference : The largest rate minus the smallest.

    Examples
    --------
    >>> from skfair.metrics import false_negative_rate_ratio
    >>> y_true = [1, 1, 0, 0, 1, 1, 0, 0]
    >>> y_pred = [1, 0, 1, 0, 0, 0, 0, 0]
    >>> group = ["a", "a", "a", "a", "b", "b", "b", "b"]
    >>> false_negative_rate_ratio(y_true, y_pred, sensitive_features=group)  # (1/2) / (2/2)
    0.5
    """
    matrices = confusion_matrices(y_true, y_pred, sensitive_features, sample_weight, pos_label)
    return rate_ratio(matrices, "false_negative_rate", method=method)


@classification_docs
def accuracy_score_ratio(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    method: ComparisonMethod = "between_groups",
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    r"""Smallest over largest accuracy among groups.

    .. math:: \min_g a_g \, / \, \max_g a_g, \quad a_g = \Pr(\hat{y} = y \mid g)

    It is another number than the ratio of the error rates.

    Read more in the :ref:`guide <moving>`.

    Parameters
    ----------
    {y_true, y_pred, sensitive_features, method, sample_weight, pos_label}

    Returns
    -------
    {ratio}

    Raises
    ------
    {ValueError}

    See Also
    --------
    accuracy_score_difference : The largest rate minus the smallest.

    Examples
    --------
    >>> from skfair.metrics import accuracy_score_ratio
    >>> y_true = [1, 1, 0, 0, 1, 1, 0, 0]
    >>> y_pred = [1, 1, 1, 0, 1, 0, 1, 0]
    >>> group = ["a", "a", "a", "a", "b", "b", "b", "b"]
    >>> accuracy_score_ratio(y_true, y_pred, sensitive_features=group)  # (2/4) / (3/4)
    0.6666666666666666
    """
    matrices = confusion_matrices(y_true, y_pred, sensitive_features, sample_weight, pos_label)
    return rate_ratio(matrices, "accuracy", method=method)


# The same values under other names.

selection_rate_difference = demographic_parity_difference
selection_rate_ratio = demographic_parity_ratio
true_positive_rate_difference = equal_opportunity_difference
true_positive_rate_ratio = equal_opportunity_ratio
true_negative_rate_difference = false_positive_rate_difference
false_negative_rate_difference = equal_opportunity_difference
zero_one_loss_difference = accuracy_score_difference
zero_one_loss_ratio = error_rate_ratio
