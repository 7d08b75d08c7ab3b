"""Report of more than two classes: each class against the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import unique_labels

from skfair.groups import merge_duplicate_rows_with_sizes
from skfair.metrics._docstrings import classification_docs
from skfair.metrics._report import report_counted
from skfair.utils._types import MatrixLike

if TYPE_CHECKING:
    import pandas as pd


@classification_docs
def class_report(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    sample_weight: ArrayLike | None = None,
    confidence_level: float = 0.95,
) -> pd.DataFrame:
    """Rates of every class against the rest in every group, with standard errors and intervals.

    Metrics of decisions take one class against the rest as ``metric(y_true == label, y_pred ==
    label, sensitive_features=group)``. The largest value over the classes is the gap that
    :class:`skfair.classification.ConstrainedClassifierCV` keeps below its tolerance.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        True and predicted class of each sample, of any number of classes.
    {sensitive_features, sample_weight}
    confidence_level : float, default=0.95
        As in :func:`group_report`.

    Returns
    -------
    report : pandas.DataFrame
        One row per class and group, with the columns of :func:`group_report`: the selection rate is
        the share of the group that is predicted to be of the class.

    Raises
    ------
    ValueError
        If the inputs differ in length or in their pandas index, or hold missing values.

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
    # One report per class, of masks of this class instead of labels.
    labels = columns.pop("y_true"), columns.pop("y_pred")
    reports = {}
    for label, (y_true, y_pred) in _against_rest(*labels):
        counted = {"y_true": y_true, "y_pred": y_pred} | columns
        reports[label] = report_counted(groups, weights, counted, None, confidence_level)
    return pd.concat(reports, names=["class"])


def _against_rest(y_true, y_pred):
    """Yield every class with masks of the samples that are truly, and predicted, of this class."""
    truth, predicted = column_or_1d(np.asarray(y_true)), column_or_1d(np.asarray(y_pred))
    for label in unique_labels(truth, predicted):
        yield label, (_copy_index(y_true, truth == label), _copy_index(y_pred, predicted == label))


def _copy_index(column, values):
    """Values with the pandas index of the column that they were made of, if it has one."""
    import pandas as pd

    return pd.Series(values, index=column.index) if hasattr(column, "iloc") else values
