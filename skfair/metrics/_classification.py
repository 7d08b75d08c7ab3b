"""Differences of the rates of a binary classifier between groups."""

from typing import Literal

from numpy.typing import ArrayLike

from skfair.metrics._docstrings import classification_docs
from skfair.metrics._rates import confusion_matrices, difference
from skfair.metrics._registry import metric
from skfair.utils._types import Label, MatrixLike


@classification_docs
@metric("classification", name="independence_gap")
@metric("classification")
def demographic_parity_difference(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    reference: Literal["groups", "overall"] = "groups",
    aggregate: str = "max",
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    r"""Largest difference of selection rates between groups (statistical parity difference).

    .. math:: \max_g s_g - \min_g s_g, \quad s_g = \Pr(\hat{y} = 1 \mid g)

    Parameters
    ----------
    {y_true}
        This metric does not depend on it.
    {y_pred, sensitive_features, reference, aggregate, sample_weight, pos_label}

    Returns
    -------
    {difference}

    Raises
    ------
    {ValueError}

    See Also
    --------
    demographic_parity_ratio : The smallest rate over the largest.
    group_report : The rates of every group with their standard errors.

    Notes
    -----
    Independence of prediction and group: ``METRICS["independence_gap"]`` is another name of it,
    next to :func:`separation_gap` and :func:`sufficiency_gap`.

    All metrics of decisions share some rules. A rate over no samples, such as the true positive
    rate of a group without positives, is unknown: the group is left out of the comparison with an
    `sklearn.exceptions.UndefinedMetricWarning` that names it, and where fewer than two groups are
    left the metric is nan. With integer weights they equal the metric of repeated samples.

    Large data are counted in blocks of rows, by as many threads as a `joblib.parallel_config`
    sets, with bit-identical results for any number of them.

    References
    ----------
    .. [1] A. Agarwal, A. Beygelzimer, M. Dudík, J. Langford and H. Wallach, "A reductions approach
       to fair classification", ICML 2018, Definition 1.

    Examples
    --------
    >>> from skfair.metrics import demographic_parity_difference
    >>> y_true = [1, 1, 0, 0, 1, 1, 0, 0]
    >>> y_pred = [1, 1, 1, 0, 1, 0, 0, 0]
    >>> group = ["a", "a", "a", "a", "b", "b", "b", "b"]
    >>> demographic_parity_difference(y_true, y_pred, sensitive_features=group)  # 3/4 - 1/4
    0.5
    """
    matrices = confusion_matrices(y_true, y_pred, sensitive_features, sample_weight, pos_label)
    return difference(matrices, "selection_rate", reference=reference, aggregate=aggregate)


@classification_docs
@metric("classification")
def equal_opportunity_difference(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    reference: Literal["groups", "overall"] = "groups",
    aggregate: str = "max",
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    r"""Largest difference of true positive rates between groups.

    .. math:: \max_g t_g - \min_g t_g, \quad t_g = \Pr(\hat{y} = 1 \mid y = 1, g)

    Parameters
    ----------
    {y_true, y_pred, sensitive_features, reference, aggregate, sample_weight, pos_label}

    Returns
    -------
    {difference}

    Raises
    ------
    {ValueError}

    References
    ----------
    {hardt2016}

    Examples
    --------
    >>> from skfair.metrics import equal_opportunity_difference
    >>> y_true = [1, 1, 0, 0, 1, 1, 0, 0]
    >>> y_pred = [1, 1, 1, 0, 1, 0, 0, 0]
    >>> group = ["a", "a", "a", "a", "b", "b", "b", "b"]
    >>> equal_opportunity_difference(y_true, y_pred, sensitive_features=group)  # 2/2 - 1/2
    0.5
    """
    matrices = confusion_matrices(y_true, y_pred, sensitive_features, sample_weight, pos_label)
    return difference(matrices, "true_positive_rate", reference=reference, aggregate=aggregate)


@classification_docs
@metric("classification")
def false_positive_rate_difference(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    reference: Literal["groups", "overall"] = "groups",
    aggregate: str = "max",
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    r"""Largest difference of false positive rates between groups.

    .. math:: \max_g f_g - \min_g f_g, \quad f_g = \Pr(\hat{y} = 1 \mid y = 0, g)

    Parameters
    ----------
    {y_true, y_pred, sensitive_features, reference, aggregate, sample_weight, pos_label}

    Returns
    -------
    {difference}

    Raises
    ------
    {ValueError}

    See Also
    --------
    equalized_odds_difference : The larger of this and the same of true positive rates.

    Examples
    --------
    >>> from skfair.metrics import false_positive_rate_difference
    >>> y_true = [1, 1, 0, 0, 1, 1, 0, 0]
    >>> y_pred = [1, 1, 1, 0, 1, 0, 0, 0]
    >>> group = ["a", "a", "a", "a", "b", "b", "b", "b"]
    >>> false_positive_rate_difference(y_true, y_pred, sensitive_features=group)  # 1/2 - 0/2
    0.5
    """
    matrices = confusion_matrices(y_true, y_pred, sensitive_features, sample_weight, pos_label)
    return difference(matrices, "false_positive_rate", reference=reference, aggregate=aggregate)


@classification_docs
@metric("classification")
def equalized_odds_difference(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    reference: Literal["groups", "overall"] = "groups",
    aggregate: str = "max",
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    r"""Larger of the differences of true and of false positive rates between groups.

    .. math:: \max\left(\max_g t_g - \min_g t_g, \; \max_g f_g - \min_g f_g\right)

    with :math:`t_g = \Pr(\hat{y} = 1 \mid y = 1, g)` and
    :math:`f_g = \Pr(\hat{y} = 1 \mid y = 0, g)`.

    Parameters
    ----------
    {y_true, y_pred, sensitive_features, reference, aggregate, sample_weight, pos_label}

    Returns
    -------
    {difference}

    Raises
    ------
    {ValueError}

    See Also
    --------
    separation_gap : The sum of the two differences.

    References
    ----------
    {hardt2016}

    Examples
    --------
    >>> from skfair.metrics import equalized_odds_difference
    >>> y_true = [1, 1, 0, 0, 1, 1, 0, 0]
    >>> y_pred = [1, 1, 1, 0, 1, 0, 0, 0]
    >>> group = ["a", "a", "a", "a", "b", "b", "b", "b"]
    >>> equalized_odds_difference(y_true, y_pred, sensitive_features=group)  # both are 1/2
    0.5
    """
    matrices = confusion_matrices(y_true, y_pred, sensitive_features, sample_weight, pos_label)
    return difference(
        matrices,
        "true_positive_rate",
        "false_positive_rate",
        reference=reference,
        aggregate=aggregate,
    )


@classification_docs
@metric("classification")
def accuracy_score_difference(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    reference: Literal["groups", "overall"] = "groups",
    aggregate: str = "max",
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    r"""Largest difference of accuracies between groups, and so of error rates.

    .. math:: \max_g a_g - \min_g a_g, \quad a_g = \Pr(\hat{y} = y \mid g)

    With ``reference="overall"`` it is the largest excess of a group's error rate over that of all
    samples.

    Parameters
    ----------
    {y_true, y_pred, sensitive_features, reference, aggregate, sample_weight, pos_label}

    Returns
    -------
    {difference}

    Raises
    ------
    {ValueError}

    Examples
    --------
    >>> from skfair.metrics import accuracy_score_difference
    >>> y_true = [1, 1, 0, 0, 1, 1, 0, 0]
    >>> y_pred = [1, 1, 1, 0, 1, 0, 0, 0]
    >>> group = ["a", "a", "a", "a", "b", "b", "b", "b"]
    >>> accuracy_score_difference(y_true, y_pred, sensitive_features=group)  # 3/4 - 3/4
    0.0
    """
    matrices = confusion_matrices(y_true, y_pred, sensitive_features, sample_weight, pos_label)
    return difference(matrices, "error_rate", reference=reference, aggregate=aggregate)
