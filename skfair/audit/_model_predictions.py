"""Predictions of a model as targets and scores that constraints can be bound to."""

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
from skfair.utils._clustered_samples import warn_of_clustered_samples
from skfair.utils._messages import resolve_name


def resolve_constraint(constraint):
    """The constraint of a name in `CONSTRAINTS`, or the instance passed."""
    return resolve_name(CONSTRAINTS, constraint, "constraint", Constraint)


def metric_kind(constraint):
    """The predictions that the constraint's metric takes, as `Metric.kind`.

    A constraint without a public metric takes classes and values of the decision function.
    """
    if constraint.counts_decisions:
        return "classification"
    return METRICS[constraint.metric].kind if constraint.metric else "labelled_margin"


def warn_of_dependent_samples(X):
    """Warn if held-out samples seem to belong together: standard errors would be too small."""
    warn_of_clustered_samples(
        X,
        "But certificates and intervals take samples for independent, and are too narrow if they "
        "are not. Pass one sample of each household or person.",
    )


def check_model(estimator):
    """Refuse an object without ``fit`` and ``predict``, or that is not fitted."""
    if not hasattr(estimator, "fit") or not hasattr(estimator, "predict"):
        raise TypeError(
            "estimator must have fit and predict, as those of scikit-learn do, but a "
            f"{type(estimator).__name__} was passed. For other models pass the predictions: to "
            "skfair.audit.FairnessReport.from_predictions, or to skfair.inference.gap_interval."
        )
    check_is_fitted(estimator)


def check_applies(constraint, estimator):
    """Refuse a constraint that is not about what the estimator predicts, and name those that are.

    That is one on decisions or classes for a regressor, and one on scores for a classifier that
    has none. Other estimators are a TypeError.
    """
    name = type(estimator).__name__
    if is_regressor(estimator):
        refuse_inapplicable(constraint, name)
        return
    if not hasattr(estimator, "classes_"):
        raise TypeError(
            f"estimator must be a fitted classifier or regressor, but {name} has no classes_ and "
            "is no regressor. For the balance of clusters use skfair.inference.balance_limit; for "
            "other predictions skfair.audit.FairnessReport.from_predictions or "
            "skfair.inference.gap_interval."
        )
    if constraint.counts_decisions:
        return
    # Constraints on scores need a classifier of two classes with scores.
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


def predict_for_metric(estimator, constraint, X, y, sensitive_features, pos_label):
    """Arguments of the constraint's metric, a list of (positional, keyword) arguments.

    For decisions about more than two classes it has one entry for each class against the rest.
    """
    kind = metric_kind(constraint)
    classes = getattr(estimator, "classes_", ())
    if not is_regressor(estimator) and (len(classes) <= 2 or kind != "classification"):
        return [PREDICTIONS[kind](estimator, X, y, sensitive_features, pos_label)]
    (predicted,), _ = PREDICTIONS["clustering"](estimator, X, y, sensitive_features)
    if is_regressor(estimator):
        return [((y, predicted), {"is_real": True})]
    check_alignment(X=X, y=y, sensitive_features=sensitive_features)
    # Several classes: one comparison of each class against the rest.
    truth, positives = np.asarray(y), classes if pos_label is None else [pos_label]
    return [((truth == one, predicted == one), {"pos_label": True}) for one in positives]


def target_and_scores(kind, columns, *, pos_label=None, threshold=0.0, is_real=False):
    """Targets and scores that a constraint can be bound to, both (n_samples,).

    `columns` are the positional arguments of a metric of this `Metric.kind`. Scores are shifted by
    the threshold, so that decisions are made at 0. With `is_real` these are real targets and
    predictions of them.
    """
    if is_real:
        return tuple(map(to_numbers, columns, ("y", "predictions")))
    if kind == "classification":
        truth, predicted = columns
        positive = find_positive(truth, predicted, pos_label=pos_label)
        return tuple(np.where(column == positive, 1.0, -1.0) for column in (truth, predicted))
    # Move the threshold to 0, where constraints decide.
    scores = np.asarray(columns[-1], dtype=np.float64) - threshold
    if len(columns) == 1:
        return np.ones(len(scores)), scores
    positive = find_positive(columns[0], pos_label=pos_label)
    return np.where(columns[0] == positive, 1.0, -1.0), scores


def to_numbers(column, name):
    """A column as finite float64 numbers; `name` is what users call it."""
    try:
        return check_array(column, ensure_2d=False, dtype=np.float64, input_name=name)
    except ValueError as error:
        if np.asarray(column).dtype.kind in "biuf":
            raise
        raise ValueError(
            f"{name} must be numbers, as for a regression or a score, but holds "
            f"{np.asarray(column).flat[0]!r}; pass numbers, or a classifier and its classes."
        ) from error
