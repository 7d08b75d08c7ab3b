"""Ratios of the rates of a binary classifier between groups: smallest over largest."""

from numpy.typing import ArrayLike

from skfair.metrics._docstrings import classification_docs
from skfair.metrics._rates import confusion_matrices, smallest_ratio
from skfair.metrics._registry import metric
from skfair.utils._types import Label, MatrixLike


@classification_docs
@metric("classification", best=1.0)
def demographic_parity_ratio(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    r"""Smallest over largest selection rate among groups (disparate impact ratio).

    .. math:: \min_g s_g \, / \, \max_g s_g, \quad s_g = \Pr(\hat{y} = 1 \mid g)

    Also known as the adverse impact ratio. The four-fifths (80 %) rule of employment law requires
    at least 0.8.

    Parameters
    ----------
    {y_true, y_pred, sensitive_features, sample_weight, pos_label}

    Returns
    -------
    {ratio}

    Raises
    ------
    {ValueError}

    See Also
    --------
    demographic_parity_difference : The largest rate minus the smallest.

    Examples
    --------
    >>> from skfair.metrics import demographic_parity_ratio
    >>> y_true = [1, 1, 0, 0, 1, 1, 0, 0]
    >>> y_pred = [1, 1, 1, 0, 1, 0, 0, 0]
    >>> group = ["a", "a", "a", "a", "b", "b", "b", "b"]
    >>> demographic_parity_ratio(y_true, y_pred, sensitive_features=group)  # (1/4) / (3/4)
    0.3333333333333333
    """
    matrices = confusion_matrices(y_true, y_pred, sensitive_features, sample_weight, pos_label)
    return smallest_ratio(matrices, "selection_rate")


@classification_docs
@metric("classification", best=1.0)
def equal_opportunity_ratio(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    r"""Smallest over largest true positive rate among groups.

    .. math:: \min_g t_g \, / \, \max_g t_g, \quad t_g = \Pr(\hat{y} = 1 \mid y = 1, g)

    Parameters
    ----------
    {y_true, y_pred, sensitive_features, sample_weight, pos_label}

    Returns
    -------
    {ratio}

    Raises
    ------
    {ValueError}

    References
    ----------
    {hardt2016}

    Examples
    --------
    >>> from skfair.metrics import equal_opportunity_ratio
    >>> y_true = [1, 1, 0, 0, 1, 1, 0, 0]
    >>> y_pred = [1, 1, 1, 0, 1, 0, 0, 0]
    >>> group = ["a", "a", "a", "a", "b", "b", "b", "b"]
    >>> equal_opportunity_ratio(y_true, y_pred, sensitive_features=group)  # (1/2) / (2/2)
    0.5
    """
    matrices = confusion_matrices(y_true, y_pred, sensitive_features, sample_weight, pos_label)
    return smallest_ratio(matrices, "true_positive_rate")


@classification_docs
@metric("classification", best=1.0)
def false_positive_rate_ratio(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    r"""Smallest over largest false positive rate among groups.

    .. math:: \min_g f_g \, / \, \max_g f_g, \quad f_g = \Pr(\hat{y} = 1 \mid y = 0, g)

    Parameters
    ----------
    {y_true, y_pred, sensitive_features, sample_weight, pos_label}

    Returns
    -------
    {ratio}

    Raises
    ------
    {ValueError}

    See Also
    --------
    false_positive_rate_difference : The largest rate minus the smallest.

    Examples
    --------
    >>> from skfair.metrics import false_positive_rate_ratio
    >>> y_true = [1, 1, 0, 0, 1, 1, 0, 0]
    >>> y_pred = [1, 1, 1, 1, 1, 0, 1, 0]
    >>> group = ["a", "a", "a", "a", "b", "b", "b", "b"]
    >>> false_positive_rate_ratio(y_true, y_pred, sensitive_features=group)  # (1/2) / (2/2)
    0.5
    """
    matrices = confusion_matrices(y_true, y_pred, sensitive_features, sample_weight, pos_label)
    return smallest_ratio(matrices, "false_positive_rate")


@classification_docs
@metric("classification", best=1.0)
def equalized_odds_ratio(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    r"""Smaller of the ratios between groups of true and of false positive rates.

    .. math:: \min\left(\frac{\min_g t_g}{\max_g t_g}, \; \frac{\min_g f_g}{\max_g f_g}\right)

    with :math:`t_g = \Pr(\hat{y} = 1 \mid y = 1, g)` and
    :math:`f_g = \Pr(\hat{y} = 1 \mid y = 0, g)`.

    Parameters
    ----------
    {y_true, y_pred, sensitive_features, sample_weight, pos_label}

    Returns
    -------
    {ratio}

    Raises
    ------
    {ValueError}

    References
    ----------
    {hardt2016}

    Examples
    --------
    >>> from skfair.metrics import equalized_odds_ratio
    >>> y_true = [1, 1, 0, 0, 1, 1, 0, 0]
    >>> y_pred = [1, 1, 1, 0, 1, 0, 0, 0]
    >>> group = ["a", "a", "a", "a", "b", "b", "b", "b"]
    >>> equalized_odds_ratio(y_true, y_pred, sensitive_features=group)  # that of 0/2 and 1/2
    0.0
    """
    matrices = confusion_matrices(y_true, y_pred, sensitive_features, sample_weight, pos_label)
    return smallest_ratio(matrices, "true_positive_rate", "false_positive_rate")


@classification_docs
@metric("classification", best=1.0)
def error_rate_ratio(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    r"""Smallest over largest error rate among groups.

    .. math:: \min_g e_g \, / \, \max_g e_g, \quad e_g = \Pr(\hat{y} \ne y \mid g)

    Parameters
    ----------
    {y_true, y_pred, sensitive_features, sample_weight, pos_label}

    Returns
    -------
    {ratio}

    Raises
    ------
    {ValueError}

    See Also
    --------
    accuracy_score_difference : The largest error rate minus the smallest.

    Examples
    --------
    >>> from skfair.metrics import error_rate_ratio
    >>> y_true = [1, 1, 0, 0, 1, 1, 0, 0]
    >>> y_pred = [1, 1, 1, 0, 1, 0, 1, 0]
    >>> group = ["a", "a", "a", "a", "b", "b", "b", "b"]
    >>> error_rate_ratio(y_true, y_pred, sensitive_features=group)  # (1/4) / (2/4)
    0.5
    """
    matrices = confusion_matrices(y_true, y_pred, sensitive_features, sample_weight, pos_label)
    return smallest_ratio(matrices, "error_rate")
