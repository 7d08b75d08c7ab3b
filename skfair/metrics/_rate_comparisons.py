"""Differences and ratios of one rate, under fairlearn's names."""

from __future__ import annotations

from numpy.typing import ArrayLike

from skfair._utils.api import ComparisonMethod, Label, MatrixLike
from skfair.metrics._docstrings import classification_docs
from skfair.metrics._rates import confusion_matrices, rate_difference, rate_ratio


@classification_docs
def selection_rate_difference(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    method: ComparisonMethod = "between_groups",
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    r"""Largest minus smallest selection rate among groups.

    .. math:: \max_g s_g - \min_g s_g, \quad s_g = \Pr(\hat{y} = 1 \mid g)

    The name that fairlearn has for :func:`demographic_parity_difference`.

    Read more in the :ref:`guide <moving>`.

    Parameters
    ----------
    {y_true, y_pred, sensitive_features, method, sample_weight, pos_label}

    Returns
    -------
    {difference}

    Raises
    ------
    {ValueError}

    See Also
    --------
    selection_rate_ratio : The smallest rate over the largest.

    Examples
    --------
    >>> from skfair.metrics import selection_rate_difference
    >>> y_true = [1, 1, 0, 0, 1, 1, 0, 0]
    >>> y_pred = [1, 1, 1, 0, 1, 0, 0, 0]
    >>> group = ["a", "a", "a", "a", "b", "b", "b", "b"]
    >>> selection_rate_difference(y_true, y_pred, sensitive_features=group)  # 3/4 - 1/4
    0.5
    """
    matrices = confusion_matrices(y_true, y_pred, sensitive_features, sample_weight, pos_label)
    return rate_difference(matrices, "selection_rate", method=method)


@classification_docs
def selection_rate_ratio(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    method: ComparisonMethod = "between_groups",
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    r"""Smallest over largest selection rate among groups.

    .. math:: \min_g s_g \, / \, \max_g s_g, \quad s_g = \Pr(\hat{y} = 1 \mid g)

    The name that fairlearn has for :func:`demographic_parity_ratio`.

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
    selection_rate_difference : The largest rate minus the smallest.

    Examples
    --------
    >>> from skfair.metrics import selection_rate_ratio
    >>> y_true = [1, 1, 0, 0, 1, 1, 0, 0]
    >>> y_pred = [1, 1, 1, 0, 1, 0, 0, 0]
    >>> group = ["a", "a", "a", "a", "b", "b", "b", "b"]
    >>> selection_rate_ratio(y_true, y_pred, sensitive_features=group)  # (1/4) / (3/4)
    0.3333333333333333
    """
    matrices = confusion_matrices(y_true, y_pred, sensitive_features, sample_weight, pos_label)
    return rate_ratio(matrices, "selection_rate", method=method)


@classification_docs
def true_positive_rate_difference(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    method: ComparisonMethod = "between_groups",
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    r"""Largest minus smallest true positive rate among groups.

    .. math:: \max_g t_g - \min_g t_g, \quad t_g = \Pr(\hat{y} = 1 \mid y = 1, g)

    The name that fairlearn has for :func:`equal_opportunity_difference`.

    Read more in the :ref:`guide <moving>`.

    Parameters
    ----------
    {y_true, y_pred, sensitive_features, method, sample_weight, pos_label}

    Returns
    -------
    {difference}

    Raises
    ------
    {ValueError}

    See Also
    --------
    true_positive_rate_ratio : The smallest rate over the largest.

    Examples
    --------
    >>> from skfair.metrics import true_positive_rate_difference
    >>> y_true = [1, 1, 0, 0, 1, 1, 0, 0]
    >>> y_pred = [1, 1, 1, 0, 1, 0, 0, 0]
    >>> group = ["a", "a", "a", "a", "b", "b", "b", "b"]
    >>> true_positive_rate_difference(y_true, y_pred, sensitive_features=group)  # 2/2 - 1/2
    0.5
    """
    matrices = confusion_matrices(y_true, y_pred, sensitive_features, sample_weight, pos_label)
    return rate_difference(matrices, "true_positive_rate", method=method)


@classification_docs
def true_positive_rate_ratio(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    method: ComparisonMethod = "between_groups",
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    r"""Smallest over largest true positive rate among groups.

    .. math:: \min_g t_g \, / \, \max_g t_g, \quad t_g = \Pr(\hat{y} = 1 \mid y = 1, g)

    The name that fairlearn has for :func:`equal_opportunity_ratio`.

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
    true_positive_rate_difference : The largest rate minus the smallest.

    Examples
    --------
    >>> from skfair.metrics import true_positive_rate_ratio
    >>> y_true = [1, 1, 0, 0, 1, 1, 0, 0]
    >>> y_pred = [1, 1, 1, 0, 1, 0, 0, 0]
    >>> group = ["a", "a", "a", "a", "b", "b", "b", "b"]
    >>> true_positive_rate_ratio(y_true, y_pred, sensitive_features=group)  # (1/2) / (2/2)
    0.5
    """
    matrices = confusion_matrices(y_true, y_pred, sensitive_features, sample_weight, pos_label)
    return rate_ratio(matrices, "true_positive_rate", method=method)


@classification_docs
def true_negative_rate_difference(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    method: ComparisonMethod = "between_groups",
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    r"""Largest minus smallest true negative rate among groups.

    .. math:: \max_g n_g - \min_g n_g, \quad n_g = \Pr(\hat{y} = 0 \mid y = 0, g)

    It equals the difference of the false positive rates.

    Read more in the :ref:`guide <moving>`.

    Parameters
    ----------
    {y_true, y_pred, sensitive_features, method, sample_weight, pos_label}

    Returns
    -------
    {difference}

    Raises
    ------
    {ValueError}

    See Also
    --------
    true_negative_rate_ratio : The smallest rate over the largest.

    Examples
    --------
    >>> from skfair.metrics import true_negative_rate_difference
    >>> y_true = [1, 1, 0, 0, 1, 1, 0, 0]
    >>> y_pred = [1, 1, 1, 0, 1, 0, 0, 0]
    >>> group = ["a", "a", "a", "a", "b", "b", "b", "b"]
    >>> true_negative_rate_difference(y_true, y_pred, sensitive_features=group)  # 2/2 - 1/2
    0.5
    """
    matrices = confusion_matrices(y_true, y_pred, sensitive_features, sample_weight, pos_label)
    return rate_difference(matrices, "true_negative_rate", method=method)


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
def false_negative_rate_difference(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    method: ComparisonMethod = "between_groups",
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    r"""Largest minus smallest false negative rate among groups.

    .. math:: \max_g m_g - \min_g m_g, \quad m_g = \Pr(\hat{y} = 0 \mid y = 1, g)

    It equals the difference of the true positive rates.

    Read more in the :ref:`guide <moving>`.

    Parameters
    ----------
    {y_true, y_pred, sensitive_features, method, sample_weight, pos_label}

    Returns
    -------
    {difference}

    Raises
    ------
    {ValueError}

    See Also
    --------
    false_negative_rate_ratio : The smallest rate over the largest.

    Examples
    --------
    >>> from skfair.metrics import false_negative_rate_difference
    >>> y_true = [1, 1, 0, 0, 1, 1, 0, 0]
    >>> y_pred = [1, 0, 1, 0, 0, 0, 0, 0]
    >>> group = ["a", "a", "a", "a", "b", "b", "b", "b"]
    >>> false_negative_rate_difference(y_true, y_pred, sensitive_features=group)  # 2/2 - 1/2
    0.5
    """
    matrices = confusion_matrices(y_true, y_pred, sensitive_features, sample_weight, pos_label)
    return rate_difference(matrices, "false_negative_rate", method=method)


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


@classification_docs
def zero_one_loss_difference(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    method: ComparisonMethod = "between_groups",
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    r"""Largest minus smallest error rate among groups.

    .. math:: \max_g e_g - \min_g e_g, \quad e_g = \Pr(\hat{y} \ne y \mid g)

    It equals the difference of the accuracies.

    Read more in the :ref:`guide <moving>`.

    Parameters
    ----------
    {y_true, y_pred, sensitive_features, method, sample_weight, pos_label}

    Returns
    -------
    {difference}

    Raises
    ------
    {ValueError}

    See Also
    --------
    zero_one_loss_ratio : The smallest rate over the largest.

    Examples
    --------
    >>> from skfair.metrics import zero_one_loss_difference
    >>> y_true = [1, 1, 0, 0, 1, 1, 0, 0]
    >>> y_pred = [1, 1, 1, 0, 1, 0, 1, 0]
    >>> group = ["a", "a", "a", "a", "b", "b", "b", "b"]
    >>> zero_one_loss_difference(y_true, y_pred, sensitive_features=group)  # 2/4 - 1/4
    0.25
    """
    matrices = confusion_matrices(y_true, y_pred, sensitive_features, sample_weight, pos_label)
    return rate_difference(matrices, "error_rate", method=method)


@classification_docs
def zero_one_loss_ratio(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    method: ComparisonMethod = "between_groups",
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    r"""Smallest over largest error rate among groups.

    .. math:: \min_g e_g \, / \, \max_g e_g, \quad e_g = \Pr(\hat{y} \ne y \mid g)

    The name that fairlearn has for :func:`error_rate_ratio`.

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
    zero_one_loss_difference : The largest rate minus the smallest.

    Examples
    --------
    >>> from skfair.metrics import zero_one_loss_ratio
    >>> y_true = [1, 1, 0, 0, 1, 1, 0, 0]
    >>> y_pred = [1, 1, 1, 0, 1, 0, 1, 0]
    >>> group = ["a", "a", "a", "a", "b", "b", "b", "b"]
    >>> zero_one_loss_ratio(y_true, y_pred, sensitive_features=group)  # (1/4) / (2/4)
    0.5
    """
    matrices = confusion_matrices(y_true, y_pred, sensitive_features, sample_weight, pos_label)
    return rate_ratio(matrices, "error_rate", method=method)
