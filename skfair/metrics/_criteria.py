"""Separation and sufficiency; the third criterion, independence, is demographic parity."""

from numpy.typing import ArrayLike

from skfair.metrics._docstrings import classification_docs
from skfair.metrics._rates import confusion_matrices, difference
from skfair.metrics._registry import metric
from skfair.utils._types import Label, MatrixLike


@classification_docs
@metric("classification", largest=2.0)
def separation_gap(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    r"""Departure from separation: sum of the differences of true and false positive rates.

    .. math:: (\max_g t_g - \min_g t_g) + (\max_g f_g - \min_g f_g)

    with :math:`t_g = \Pr(\hat{y} = 1 \mid y = 1, g)` and
    :math:`f_g = \Pr(\hat{y} = 1 \mid y = 0, g)`. Separation means that prediction and group are
    independent given the true class [1]_.

    Parameters
    ----------
    {y_true, y_pred, sensitive_features, sample_weight, pos_label}

    Returns
    -------
    {gap}

    Raises
    ------
    {ValueError}

    See Also
    --------
    equalized_odds_difference : The larger of the two differences.

    References
    ----------
    {barocas2023}

    Examples
    --------
    >>> from skfair.metrics import separation_gap
    >>> y_true = [1, 1, 0, 0, 1, 1, 0, 0]
    >>> y_pred = [1, 1, 1, 0, 1, 0, 0, 0]
    >>> group = ["a", "a", "a", "a", "b", "b", "b", "b"]
    >>> separation_gap(y_true, y_pred, sensitive_features=group)  # (2/2 - 1/2) + (1/2 - 0/2)
    1.0
    """
    matrices = confusion_matrices(y_true, y_pred, sensitive_features, sample_weight, pos_label)
    return difference(matrices, "true_positive_rate", "false_positive_rate", aggregate="sum")


@classification_docs
@metric("classification", largest=2.0)
def sufficiency_gap(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    r"""Departure from sufficiency: sum of the differences of two predictive values.

    .. math:: (\max_g p_g - \min_g p_g) + (\max_g o_g - \min_g o_g)

    with the positive predictive value :math:`p_g = \Pr(y = 1 \mid \hat{y} = 1, g)` and the false
    omission rate :math:`o_g = \Pr(y = 1 \mid \hat{y} = 0, g)`. Sufficiency means that true class
    and group are independent given the prediction [1]_.

    Parameters
    ----------
    {y_true, y_pred, sensitive_features, sample_weight, pos_label}

    Returns
    -------
    {gap}

    Raises
    ------
    {ValueError}

    References
    ----------
    {barocas2023}

    Examples
    --------
    >>> from skfair.metrics import sufficiency_gap
    >>> y_true = [1, 1, 0, 0, 1, 1, 0, 0]
    >>> y_pred = [1, 1, 1, 0, 1, 0, 0, 0]
    >>> group = ["a", "a", "a", "a", "b", "b", "b", "b"]
    >>> sufficiency_gap(y_true, y_pred, sensitive_features=group)  # (1/1 - 2/3) + (1/3 - 0/1)
    0.6666666666666667
    """
    matrices = confusion_matrices(y_true, y_pred, sensitive_features, sample_weight, pos_label)
    return difference(matrices, "positive_predictive_value", "false_omission_rate", aggregate="sum")
