"""Metrics and reports of more than two classes: each of them against the rest."""

import numpy as np
from sklearn.utils.multiclass import unique_labels

from skfair.groups import merge_duplicate_rows, merge_duplicate_rows_with_sizes
from skfair.metrics._report import report_counted


def metric_by_class(metric, y_true, y_pred, *, sensitive_features, sample_weight=None, **params):
    """A metric of decisions, of each class against the rest.

    Parameters
    ----------
    metric : callable
        A metric of decisions, such as :func:`equalized_odds_difference`.
    y_true, y_pred : array-like of shape (n_samples,)
        True and predicted class of each sample, of any number of classes.
    sensitive_features, sample_weight
        As in :func:`demographic_parity_difference`.
    **params
        What else the metric is passed, such as ``reference``.

    Returns
    -------
    values : pandas.Series of shape (n_classes,)
        By class, ascending: the metric where success is to be given this class. The largest is the
        gap that :class:`skfair.classification.ConstrainedClassifierCV` holds below its tolerance.

    Raises
    ------
    ValueError
        For what the metric refuses.

    See Also
    --------
    class_report : The rates behind it.

    Examples
    --------
    >>> from skfair.metrics import demographic_parity_difference, metric_by_class
    >>> y_true = ["low", "mid", "high", "low", "mid", "high"]
    >>> y_pred = ["low", "mid", "high", "low", "low", "high"]
    >>> group = ["a", "a", "a", "b", "b", "b"]
    >>> metric_by_class(
    ...     demographic_parity_difference, y_true, y_pred, sensitive_features=group
    ... ).round(2)
    high    0.00
    low     0.33
    mid     0.33
    Name: demographic_parity_difference, dtype: float64
    """
    import pandas as pd

    groups, weights, columns = merge_duplicate_rows(
        sensitive_features, sample_weight, y_true=y_true, y_pred=y_pred
    )
    people = {"sensitive_features": groups, "sample_weight": weights}
    pairs = _against_rest(**columns)
    values = {label: metric(*pair, **people, **params) for label, pair in pairs}
    return pd.Series(values, name=getattr(metric, "__name__", None), dtype=float)


def class_report(y_true, y_pred, *, sensitive_features, sample_weight=None, confidence_level=0.95):
    """Rates of every class against the rest in every group, with standard errors and intervals.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        True and predicted class of each sample, of any number of classes.
    sensitive_features, sample_weight, confidence_level
        As in :func:`group_report`.

    Returns
    -------
    report : pandas.DataFrame
        One row per class and group, with the columns of :func:`group_report`: the selection rate is
        the share of the group that is given the class.

    Raises
    ------
    ValueError
        As in :func:`demographic_parity_difference`.

    Examples
    --------
    >>> from skfair.metrics import class_report
    >>> y_true = ["low", "mid", "high", "low", "mid", "high"]
    >>> y_pred = ["low", "mid", "high", "low", "low", "high"]
    >>> group = ["a", "a", "a", "b", "b", "b"]
    >>> report = class_report(y_true, y_pred, sensitive_features=group)
    >>> report.loc["low", ["n", "base_rate", "selection_rate"]].round(2)
               n  base_rate  selection_rate
    a        3.0       0.33            0.33
    b        3.0       0.33            0.67
    overall  6.0       0.33            0.50
    """
    import pandas as pd

    groups, weights, columns = merge_duplicate_rows_with_sizes(
        sensitive_features, sample_weight, y_true=y_true, y_pred=y_pred
    )
    labels = columns.pop("y_true"), columns.pop("y_pred")
    reports = {}
    for label, (y_true, y_pred) in _against_rest(*labels):
        counted = {"y_true": y_true, "y_pred": y_pred} | columns
        reports[label] = report_counted(groups, weights, counted, None, confidence_level)
    return pd.concat(reports, names=["class"])


def _against_rest(y_true, y_pred):
    """Every class, and whether it is that of each sample, truly and as predicted."""
    truth, given = np.asarray(y_true), np.asarray(y_pred)
    for label in unique_labels(truth, given):
        yield label, (_keeping(y_true, truth == label), _keeping(y_pred, given == label))


def _keeping(column, values):
    """Values with the index of the column that they were made of."""
    import pandas as pd

    return pd.Series(values, index=column.index) if hasattr(column, "iloc") else values
