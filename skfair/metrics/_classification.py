"""How much the rates of a binary classifier differ between groups."""

from skfair.metrics._docstrings import classification_docs
from skfair.metrics._rates import confusions, difference
from skfair.metrics._registry import metric


@classification_docs
@metric("classification")
def demographic_parity_difference(
    y_true,
    y_pred,
    *,
    sensitive_features,
    reference="groups",
    aggregate="max",
    sample_weight=None,
    pos_label=None,
):
    r"""Largest difference between groups in the share of people who are selected.

    .. math:: \max_g s_g - \min_g s_g, \quad s_g = \Pr(\hat{y} = 1 \mid g)

    Parameters
    ----------
    {y_true}
        This metric does not depend on it.
    {y_pred, sensitive_features, reference, aggregate, sample_weight, pos_label}

    Returns
    -------
    difference : float
        In [0, 1], 0 is fair; 0 with a single group.

    Raises
    ------
    {ValueError}

    See Also
    --------
    demographic_parity_ratio : The smallest share over the largest.
    group_report : The rates of every group with their standard errors.

    Notes
    -----
    All metrics of this kind treat groups alike. A rate over nobody, such as the true positive rate
    of a group without positives, is unknown: the group is left out of the comparison with an
    `sklearn.exceptions.UndefinedMetricWarning` that names it, and where fewer than two groups are
    left the metric is nan. With integer weights they equal the metric of repeated samples.

    Many people are counted in blocks of rows, by as many threads as a `joblib.parallel_config`
    says, with the same bits for any number of them.

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
    confused = confusions(y_true, y_pred, sensitive_features, sample_weight, pos_label)
    return difference(confused, "selection_rate", reference=reference, aggregate=aggregate)


@classification_docs
@metric("classification")
def equal_opportunity_difference(
    y_true,
    y_pred,
    *,
    sensitive_features,
    reference="groups",
    aggregate="max",
    sample_weight=None,
    pos_label=None,
):
    r"""Largest difference between groups in the true positive rate.

    .. math:: \max_g t_g - \min_g t_g, \quad t_g = \Pr(\hat{y} = 1 \mid y = 1, g)

    Parameters
    ----------
    {y_true, y_pred, sensitive_features, reference, aggregate, sample_weight, pos_label}

    Returns
    -------
    difference : float
        In [0, 1], 0 is fair; 0 with a single group; nan where fewer than two rates are known.

    Raises
    ------
    {ValueError}

    References
    ----------
    .. [1] M. Hardt, E. Price and N. Srebro, "Equality of opportunity in supervised learning",
       NeurIPS 2016.

    Examples
    --------
    >>> from skfair.metrics import equal_opportunity_difference
    >>> y_true = [1, 1, 0, 0, 1, 1, 0, 0]
    >>> y_pred = [1, 1, 1, 0, 1, 0, 0, 0]
    >>> group = ["a", "a", "a", "a", "b", "b", "b", "b"]
    >>> equal_opportunity_difference(y_true, y_pred, sensitive_features=group)  # 2/2 - 1/2
    0.5
    """
    confused = confusions(y_true, y_pred, sensitive_features, sample_weight, pos_label)
    return difference(confused, "true_positive_rate", reference=reference, aggregate=aggregate)


@classification_docs
@metric("classification")
def false_positive_rate_difference(
    y_true,
    y_pred,
    *,
    sensitive_features,
    reference="groups",
    aggregate="max",
    sample_weight=None,
    pos_label=None,
):
    r"""Largest difference between groups in the false positive rate.

    .. math:: \max_g f_g - \min_g f_g, \quad f_g = \Pr(\hat{y} = 1 \mid y = 0, g)

    Parameters
    ----------
    {y_true, y_pred, sensitive_features, reference, aggregate, sample_weight, pos_label}

    Returns
    -------
    difference : float
        In [0, 1], 0 is fair; 0 with a single group; nan where fewer than two rates are known.

    Raises
    ------
    {ValueError}

    See Also
    --------
    equalized_odds_difference : The same of the true positive rate too.

    Examples
    --------
    >>> from skfair.metrics import false_positive_rate_difference
    >>> y_true = [1, 1, 0, 0, 1, 1, 0, 0]
    >>> y_pred = [1, 1, 1, 0, 1, 0, 0, 0]
    >>> group = ["a", "a", "a", "a", "b", "b", "b", "b"]
    >>> false_positive_rate_difference(y_true, y_pred, sensitive_features=group)  # 1/2 - 0/2
    0.5
    """
    confused = confusions(y_true, y_pred, sensitive_features, sample_weight, pos_label)
    return difference(confused, "false_positive_rate", reference=reference, aggregate=aggregate)


@classification_docs
@metric("classification")
def equalized_odds_difference(
    y_true,
    y_pred,
    *,
    sensitive_features,
    reference="groups",
    aggregate="max",
    sample_weight=None,
    pos_label=None,
):
    r"""Larger of the differences between groups in true and in false positive rate.

    .. math:: \max\left(\max_g t_g - \min_g t_g, \; \max_g f_g - \min_g f_g\right)

    with :math:`t_g = \Pr(\hat{y} = 1 \mid y = 1, g)` and
    :math:`f_g = \Pr(\hat{y} = 1 \mid y = 0, g)`.

    Parameters
    ----------
    {y_true, y_pred, sensitive_features, reference, aggregate, sample_weight, pos_label}

    Returns
    -------
    difference : float
        In [0, 1], 0 is fair; 0 with a single group; nan where fewer than two rates of
        either kind are known.

    Raises
    ------
    {ValueError}

    See Also
    --------
    separation_gap : The sum of the two differences.

    References
    ----------
    .. [1] M. Hardt, E. Price and N. Srebro, "Equality of opportunity in supervised learning",
       NeurIPS 2016.

    Examples
    --------
    >>> from skfair.metrics import equalized_odds_difference
    >>> y_true = [1, 1, 0, 0, 1, 1, 0, 0]
    >>> y_pred = [1, 1, 1, 0, 1, 0, 0, 0]
    >>> group = ["a", "a", "a", "a", "b", "b", "b", "b"]
    >>> equalized_odds_difference(y_true, y_pred, sensitive_features=group)  # both are 1/2
    0.5
    """
    confused = confusions(y_true, y_pred, sensitive_features, sample_weight, pos_label)
    return difference(
        confused,
        "true_positive_rate",
        "false_positive_rate",
        reference=reference,
        aggregate=aggregate,
    )


@classification_docs
@metric("classification")
def accuracy_score_difference(
    y_true,
    y_pred,
    *,
    sensitive_features,
    reference="groups",
    aggregate="max",
    sample_weight=None,
    pos_label=None,
):
    r"""Largest difference between groups in accuracy, and so in the error rate.

    .. math:: \max_g a_g - \min_g a_g, \quad a_g = \Pr(\hat{y} = y \mid g)

    With ``reference="overall"`` it is about the error rate: by how much a group's exceeds that of
    all.

    Parameters
    ----------
    {y_true, y_pred, sensitive_features, reference, aggregate, sample_weight, pos_label}

    Returns
    -------
    difference : float
        In [0, 1], 0 is fair; 0 with a single group; nan where fewer than two rates are known.

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
    confused = confusions(y_true, y_pred, sensitive_features, sample_weight, pos_label)
    return difference(confused, "error_rate", reference=reference, aggregate=aggregate)
