"""Predictions as constraints see them: targets -1 and +1, or real numbers, and scores."""

import numpy as np
from sklearn.base import is_regressor
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from skfair.constraints import (
    CONSTRAINTS,
    Constraint,
    constraints_on,
    refuse_inapplicable,
)
from skfair.groups import check_alignment
from skfair.metrics import METRICS, PREDICTIONS, find_positive
from skfair.utils._messages import look_up_name


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
    return look_up_name(CONSTRAINTS, constraint, "constraint", Constraint)


def metric_kind(constraint):
    """What the constraint's public metric judges, as `Metric.kind`.

    A constraint without a public metric is given classes and values of the decision function.
    """
    if constraint.counts_decisions:
        return "classification"
    return METRICS[constraint.metric].kind if constraint.metric else "labelled_margin"


def check_model(estimator):
    """Refuse what is no fitted model of scikit-learn's kind.

    Parameters
    ----------
    estimator : object
        What the user passed.

    Raises
    ------
    TypeError
        If it has no ``fit`` and ``predict``.
    sklearn.exceptions.NotFittedError
        If it is not fitted.
    """
    if not hasattr(estimator, "fit") or not hasattr(estimator, "predict"):
        raise TypeError(
            "estimator must have fit and predict, as those of scikit-learn do, but a "
            f"{type(estimator).__name__} came. Of other models pass the predictions: to "
            "skfair.audit.FairnessReport.from_predictions, or to skfair.inference.gap_interval."
        )
    check_is_fitted(estimator)


def check_applies(constraint, estimator):
    """Refuse a constraint that is not about what the estimator predicts.

    Parameters
    ----------
    constraint : Constraint
        What is to be measured.
    estimator : estimator
        Fitted.

    Raises
    ------
    TypeError
        If the estimator is neither a classifier nor a regressor.
    ValueError
        If the constraint compares decisions or classes and the estimator predicts numbers, or
        compares scores that the classifier does not have. The error names constraints that apply.
    """
    name = type(estimator).__name__
    if is_regressor(estimator):
        refuse_inapplicable(constraint, name)
        return
    if not hasattr(estimator, "classes_"):
        raise TypeError(
            f"estimator must be a fitted classifier or regressor, but {name} has no classes_ and "
            "is no regressor. Balance of clusters has skfair.inference.balance_limit; of other "
            "predictions use skfair.audit.FairnessReport.from_predictions or "
            "skfair.inference.gap_interval."
        )
    if constraint.counts_decisions:
        return
    instead = f"Pass a constraint on decisions: one of {constraints_on('decisions')}."
    if len(estimator.classes_) > 2:
        raise ValueError(
            f"{constraint} compares scores of two classes, but {name} knows "
            f"{len(estimator.classes_)} classes. {instead}"
        )
    methods = ["decision_function"]
    if metric_kind(constraint) != "labelled_margin":
        methods.append("predict_proba")
    if not any(hasattr(estimator, method) for method in methods):
        raise ValueError(
            f"{constraint} compares scores, but {name} has no {' or '.join(methods)}. {instead}"
        )


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
    found : list of (tuple, dict)
        Positional and keyword arguments of the metric; of decisions about more than two classes
        one entry for each of them against the rest.
    """
    kind = metric_kind(constraint)
    classes = getattr(estimator, "classes_", ())
    if not is_regressor(estimator) and (len(classes) <= 2 or kind != "classification"):
        return [PREDICTIONS[kind](estimator, X, y, sensitive_features, pos_label)]
    (predicted,), _ = PREDICTIONS["clustering"](estimator, X, y, sensitive_features)
    if is_regressor(estimator):
        return [((y, predicted), {"is_real": True})]
    check_alignment(X=X, y=y, sensitive_features=sensitive_features)
    truth, counted = np.asarray(y), classes if pos_label is None else [pos_label]
    return [((truth == one, predicted == one), {"pos_label": True}) for one in counted]


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
        return tuple(map(check_numbers, columns, ("y", "predictions")))
    if kind == "classification":
        truth, predicted = columns
        positive = find_positive(truth, predicted, pos_label=pos_label)
        return tuple(np.where(column == positive, 1.0, -1.0) for column in (truth, predicted))
    scores = np.asarray(columns[-1], dtype=np.float64) - threshold
    if len(columns) == 1:
        return np.ones(len(scores)), scores
    positive = find_positive(columns[0], pos_label=pos_label)
    return np.where(columns[0] == positive, 1.0, -1.0), scores


def check_numbers(column, name):
    """A column as real numbers.

    Parameters
    ----------
    column : array-like of shape (n_samples,)
        Targets, predictions or scores.
    name : str
        What users call it, for the error.

    Returns
    -------
    numbers : ndarray of float64, shape (n_samples,)

    Raises
    ------
    ValueError
        If it holds anything but finite numbers.
    """
    try:
        return check_array(column, ensure_2d=False, dtype=np.float64, input_name=name)
    except ValueError as error:
        if np.asarray(column).dtype.kind in "biuf":
            raise
        raise ValueError(
            f"{name} must be numbers, as for a regression or a score, but holds "
            f"{np.asarray(column).flat[0]!r}; pass numbers, or a classifier and its classes."
        ) from error
