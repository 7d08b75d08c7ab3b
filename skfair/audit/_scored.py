"""Predictions as constraints see them: targets -1 and +1, and scores."""

import numpy as np
from sklearn.base import is_regressor

from skfair.constraints import CONSTRAINTS, Constraint
from skfair.metrics import METRICS, PREDICTIONS, find_positive
from skfair.utils._messages import by_name


def check_certifiable(constraint):
    """The constraint of a name, or the one given.

    Parameters
    ----------
    constraint : str or Constraint
        Name in `CONSTRAINTS`, or an instance.

    Returns
    -------
    constraint : Constraint

    Raises
    ------
    ValueError
        If there is no such name.
    """
    return by_name(CONSTRAINTS, constraint, "constraint", Constraint)


def metric_kind(constraint):
    """What the constraint's public metric judges, as `Metric.kind`."""
    return "classification" if constraint.counts_decisions else METRICS[constraint.metric].kind


def predictions_of(estimator, constraint, X, y, sensitive_features, pos_label):
    """What an estimator predicts, as the constraint's metric wants it.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    constraint : Constraint
        What is to be certified.
    X, y, sensitive_features, pos_label
        As in `certify`.

    Returns
    -------
    predictions : tuple of array-like
        Positional arguments of the metric.
    params : dict
        Its keyword arguments.
    """
    if is_regressor(estimator):
        (predicted,), _ = PREDICTIONS["clustering"](estimator, X, y, sensitive_features)
        return (y, predicted), {"is_real": True}
    kind = metric_kind(constraint)
    return PREDICTIONS[kind](estimator, X, y, sensitive_features, pos_label)


def target_and_scores(kind, columns, *, pos_label=None, threshold=0.0, is_real=False):
    """Targets and scores that a constraint can be bound to.

    Parameters
    ----------
    kind : str
        As `Metric.kind`.
    columns : list of ndarray of shape (n_samples,)
        Positional arguments of the metric.
    pos_label : label, default=None
        The positive class.
    threshold : float, default=0.0
        Where decisions are made; it becomes 0.
    is_real : bool, default=False
        Whether these are real targets and predictions of them.

    Returns
    -------
    target, scores : ndarray of shape (n_samples,)
    """
    if is_real:
        return tuple(np.asarray(column, dtype=np.float64) for column in columns)
    if kind == "classification":
        truth, predicted = columns
        positive = find_positive(truth, predicted, pos_label=pos_label)
        return tuple(np.where(column == positive, 1.0, -1.0) for column in (truth, predicted))
    scores = np.asarray(columns[-1], dtype=np.float64) - threshold
    if len(columns) == 1:
        return np.ones(len(scores)), scores
    positive = find_positive(columns[0], pos_label=pos_label)
    return np.where(columns[0] == positive, 1.0, -1.0), scores
