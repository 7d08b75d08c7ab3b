"""Measures that a report shows of classifiers, regressors and clusterings.

A measure is a mean: a pair of a value of each sample, and a mask of the samples that it is over
(None: all of them).
"""

import numpy as np

from skfair.metrics import RATES
from skfair.utils._messages import join_names

SHARES = (
    "base_rate",
    "selection_rate",
    "true_positive_rate",
    "false_positive_rate",
    "positive_predictive_value",
    "accuracy",
)
"""Rates of `RATES` that a report shows."""

MEASURES = {
    "base_rate": ("Base rate", "truly positive, of all"),
    "selection_rate": ("Selection rate", "selected, of all"),
    "true_positive_rate": ("True positive rate", "selected, of those truly positive"),
    "false_positive_rate": ("False positive rate", "selected, of those truly negative"),
    "positive_predictive_value": ("Precision", "truly positive, of those selected"),
    "accuracy": ("Accuracy", "judged rightly, of all"),
    "scoring_rate": ("Scoring rate", "predicted above the median of all"),
    "auc": ("Area under the ROC curve", "how well scores order the samples of the group"),
    "mean_probability": ("Mean predicted probability", "what the model expects of the group"),
    "calibration_error": ("Calibration", "observed minus predicted share of positives"),
    "mean_target": ("Mean target", "true value"),
    "mean_prediction": ("Mean prediction", "predicted value"),
    "mean_error": ("Mean error", "prediction minus truth: above 0 is too high"),
    "mean_absolute_error": ("Mean absolute error", "distance of prediction and truth"),
}
"""Title of each measure, and what it is the mean of."""

_MAX_LABELS = 30


def describe_measure(name):
    """Title of a measure, and what it is the mean of."""
    if name in MEASURES:
        return MEASURES[name]
    rate, _, label = name.partition(" of class ")
    if label and rate in MEASURES:
        title, meaning = MEASURES[rate]
        return f"{title} of class {label}", f"{meaning}; positive is {label}"
    if name.startswith("share of cluster "):
        return name[0].upper() + name[1:], "of all samples of the group"
    return name, _USER_METRIC


_USER_METRIC = "passed metric, without interval"


def is_user_metric(name):
    """Whether a name is not that of a measure of every report, but of a metric that was passed."""
    return describe_measure(name)[1] == _USER_METRIC


def binary_measures(is_true, is_selected, y_proba):
    """Measures of a classifier of two classes, from masks of the positive class, by name.

    `is_true` is None without a target. `y_proba` is the probability of the positive class, or None.
    """
    measures = _selection_rate(is_selected)
    if is_true is not None:
        measures = _rates(is_true, is_selected, SHARES)
    if y_proba is not None:
        measures["mean_probability"] = y_proba, None
    if y_proba is not None and is_true is not None:
        measures["calibration_error"] = is_true - y_proba, None
    return measures


def _selection_rate(is_selected, ending=""):
    """The measure that needs no target."""
    return {f"selection_rate{ending}": (is_selected, None)}


def _rates(is_true, is_selected, names, ending=""):
    """Rates of the confusion matrix as measures: whether the event occurs, given the condition."""
    outcomes = 2 * is_true.astype(np.intp) + is_selected
    measures = {}
    for name in names:
        rate = RATES[name]
        condition = None if rate.condition.all() else rate.condition.ravel()[outcomes]
        measures[name + ending] = rate.event.ravel()[outcomes], condition
    return measures


def multiclass_measures(y_true, y_pred):
    """Measures of a classifier of many classes, each class against the rest, by name.

    `y_true` is None without a target.
    """
    columns = [y_pred] if y_true is None else [y_true, y_pred]
    classes = sorted(set().union(*(np.unique(column).tolist() for column in columns)), key=str)
    _check_number_of_labels(classes, "classes")
    if y_true is None:
        rates = (_selection_rate(y_pred == label, f" of class {label}") for label in classes)
        return {name: measure for rate in rates for name, measure in rate.items()}
    measures = {"accuracy": (y_true == y_pred, None)}
    for label in classes:
        names = ("base_rate", "selection_rate", "true_positive_rate", "positive_predictive_value")
        measures |= _rates(y_true == label, y_pred == label, names, f" of class {label}")
    return measures


def score_measures(scores):
    """Scoring rate: whether a score is above the median of all samples."""
    return {"scoring_rate": (scores > np.median(scores), None)}


def regression_measures(y_true, y_pred):
    """Measures of predictions of real numbers, by name; `y_true` is None without a target."""
    measures = score_measures(y_pred)
    if y_true is None:
        return measures | {"mean_prediction": (y_pred, None)}
    errors = y_pred - y_true
    return measures | {
        "mean_target": (y_true, None),
        "mean_prediction": (y_pred, None),
        "mean_error": (errors, None),
        "mean_absolute_error": (np.abs(errors), None),
    }


def clustering_measures(labels):
    """Share of samples in each cluster, by name."""
    clusters = np.unique(labels).tolist()
    _check_number_of_labels(clusters, "clusters")
    return {f"share of cluster {label}": (labels == label, None) for label in clusters}


def _check_number_of_labels(labels, what):
    """Refuse so many classes or clusters that they are hardly any."""
    if len(labels) > _MAX_LABELS:
        raise ValueError(
            f"A report shows each of the {what}, but there are {len(labels)}: "
            f'{join_names(map(repr, labels), 5)}. Pass kind="regression" if these are numbers, or '
            f"merge {what} down to {_MAX_LABELS}."
        )
