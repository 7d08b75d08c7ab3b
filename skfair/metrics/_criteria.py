"""Departures of a classifier from the three classical criteria of group fairness."""

from skfair.metrics._docstrings import classification_docs
from skfair.metrics._rates import confusions, difference
from skfair.metrics._registry import metric


@classification_docs
@metric("classification")
def independence_gap(y_true, y_pred, *, sensitive_features, sample_weight=None, pos_label=None):
    r"""Departure from independence of prediction and group: the selection rates' difference.

    Another name of :func:`demographic_parity_difference`, beside :func:`separation_gap` and
    :func:`sufficiency_gap`: prediction independent of group, also given the truth, and truth
    independent of group given the prediction [1]_.

    Parameters
    ----------
    {y_true, y_pred, sensitive_features, sample_weight, pos_label}

    Returns
    -------
    difference : float
        In [0, 1], 0 is fair; 0 with a single group; nan where fewer than two rates are known.

    Raises
    ------
    {ValueError}

    References
    ----------
    .. [1] S. Barocas, M. Hardt and A. Narayanan, "Fairness and machine learning: limitations and
       opportunities", MIT Press 2023, Chapter 3.

    Examples
    --------
    >>> from skfair.metrics import independence_gap
    >>> y_true = [1, 1, 0, 0, 1, 1, 0, 0]
    >>> y_pred = [1, 1, 1, 0, 1, 0, 0, 0]
    >>> group = ["a", "a", "a", "a", "b", "b", "b", "b"]
    >>> independence_gap(y_true, y_pred, sensitive_features=group)  # 3/4 - 1/4
    0.5
    """
    confused = confusions(y_true, y_pred, sensitive_features, sample_weight, pos_label)
    return difference(confused, "selection_rate")


@classification_docs
@metric("classification")
def separation_gap(y_true, y_pred, *, sensitive_features, sample_weight=None, pos_label=None):
    r"""Departure from separation: the differences of true and false positive rate, added.

    .. math:: (\max_g t_g - \min_g t_g) + (\max_g f_g - \min_g f_g)

    with :math:`t_g = \Pr(\hat{y} = 1 \mid y = 1, g)` and
    :math:`f_g = \Pr(\hat{y} = 1 \mid y = 0, g)`: prediction and group shall be independent given
    the true class [1]_.

    Parameters
    ----------
    {y_true, y_pred, sensitive_features, sample_weight, pos_label}

    Returns
    -------
    gap : float
        In [0, 2], 0 is fair; 0 with a single group; nan where fewer than two rates of either kind
        are known.

    Raises
    ------
    {ValueError}

    See Also
    --------
    equalized_odds_difference : The larger of the two differences.

    References
    ----------
    .. [1] S. Barocas, M. Hardt and A. Narayanan, "Fairness and machine learning: limitations and
       opportunities", MIT Press 2023, Chapter 3.

    Examples
    --------
    >>> from skfair.metrics import separation_gap
    >>> y_true = [1, 1, 0, 0, 1, 1, 0, 0]
    >>> y_pred = [1, 1, 1, 0, 1, 0, 0, 0]
    >>> group = ["a", "a", "a", "a", "b", "b", "b", "b"]
    >>> separation_gap(y_true, y_pred, sensitive_features=group)  # (2/2 - 1/2) + (1/2 - 0/2)
    1.0
    """
    confused = confusions(y_true, y_pred, sensitive_features, sample_weight, pos_label)
    return difference(confused, "true_positive_rate", "false_positive_rate", aggregate="sum")


@classification_docs
@metric("classification")
def sufficiency_gap(y_true, y_pred, *, sensitive_features, sample_weight=None, pos_label=None):
    r"""Departure from sufficiency: how much the meaning of a prediction differs, added up.

    .. math:: (\max_g p_g - \min_g p_g) + (\max_g o_g - \min_g o_g)

    with the positive predictive value :math:`p_g = \Pr(y = 1 \mid \hat{y} = 1, g)` and the false
    omission rate :math:`o_g = \Pr(y = 1 \mid \hat{y} = 0, g)`: true class and group shall be
    independent given the prediction [1]_.

    Parameters
    ----------
    {y_true, y_pred, sensitive_features, sample_weight, pos_label}

    Returns
    -------
    gap : float
        In [0, 2], 0 is fair; 0 with a single group; nan where fewer than two rates of either kind
        are known.

    Raises
    ------
    {ValueError}

    References
    ----------
    .. [1] S. Barocas, M. Hardt and A. Narayanan, "Fairness and machine learning: limitations and
       opportunities", MIT Press 2023, Chapter 3.

    Examples
    --------
    >>> from skfair.metrics import sufficiency_gap
    >>> y_true = [1, 1, 0, 0, 1, 1, 0, 0]
    >>> y_pred = [1, 1, 1, 0, 1, 0, 0, 0]
    >>> group = ["a", "a", "a", "a", "b", "b", "b", "b"]
    >>> sufficiency_gap(y_true, y_pred, sensitive_features=group)  # (1/1 - 2/3) + (1/3 - 0/1)
    0.6666666666666667
    """
    confused = confusions(y_true, y_pred, sensitive_features, sample_weight, pos_label)
    return difference(confused, "positive_predictive_value", "false_omission_rate", aggregate="sum")
