"""What is reported of each kind of prediction: means of a value over those who count.

A measure is a pair: a value of each person, and whether the person counts (None: everybody does).
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

WORDS = {
    "base_rate": ("Base rate", "truly positive, of all"),
    "selection_rate": ("Selection rate", "selected, of all"),
    "true_positive_rate": ("True positive rate", "selected, of those truly positive"),
    "false_positive_rate": ("False positive rate", "selected, of those truly negative"),
    "positive_predictive_value": ("Precision", "truly positive, of those selected"),
    "accuracy": ("Accuracy", "judged rightly, of all"),
    "scoring_rate": ("Scoring rate", "predicted above the median of all"),
    "auc": ("Area under the ROC curve", "how well scores order the group's own people"),
    "mean_probability": ("Mean predicted probability", "what the model expects of the group"),
    "calibration_error": ("Calibration", "observed minus predicted share of positives"),
    "mean_target": ("Mean target", "true value"),
    "mean_prediction": ("Mean prediction", "predicted value"),
    "mean_error": ("Mean error", "prediction minus truth: above 0 is too high"),
    "mean_absolute_error": ("Mean absolute error", "distance of prediction and truth"),
}
"""Title of each measure, and what it is a mean of."""

_MANY_CLASSES = 30


def words(name):
    """Title of a measure, and what it is a mean of."""
    if name in WORDS:
        return WORDS[name]
    rate, _, label = name.partition(" of class ")
    if label and rate in WORDS:
        title, meaning = WORDS[rate]
        return f"{title} of class {label}", f"{meaning}; positive is {label}"
    if name.startswith("share of cluster "):
        return name[0].upper() + name[1:], "of all people of the group"
    return name, _OWN


_OWN = "a metric of one's own, without interval"


def is_own(name):
    """Whether a name is none of a measure that reports have by themselves."""
    return words(name)[1] == _OWN


def binary_measures(is_true, is_selected, y_proba):
    """Measures of a classifier of two classes.

    Parameters
    ----------
    is_true, is_selected : ndarray of bool, shape (n_samples,)
        Whether the true and the predicted class is the positive one.
    y_proba : ndarray of shape (n_samples,) or None
        Probability of it.

    Returns
    -------
    measures : dict of str to (ndarray, ndarray or None)
    """
    measures = _rates(is_true, is_selected, SHARES)
    if y_proba is not None:
        measures["mean_probability"] = y_proba, None
        measures["calibration_error"] = is_true - y_proba, None
    return measures


def _rates(is_true, is_selected, names, ending=""):
    outcomes = 2 * is_true.astype(np.intp) + is_selected
    found = {}
    for name in names:
        rate = RATES[name]
        given = None if rate.condition.all() else rate.condition.ravel()[outcomes]
        found[name + ending] = rate.event.ravel()[outcomes], given
    return found


def multiclass_measures(y_true, y_pred):
    """Measures of a classifier of many classes, each class against the rest.

    Parameters
    ----------
    y_true, y_pred : ndarray of shape (n_samples,)
        True and predicted classes.

    Returns
    -------
    measures : dict of str to (ndarray, ndarray or None)

    Raises
    ------
    ValueError
        If there are so many classes that these are hardly classes.
    """
    classes = sorted(set(np.unique(y_true).tolist()) | set(np.unique(y_pred).tolist()), key=str)
    _check_few(classes, "classes")
    measures = {"accuracy": (y_true == y_pred, None)}
    for label in classes:
        names = ("base_rate", "selection_rate", "true_positive_rate", "positive_predictive_value")
        measures |= _rates(y_true == label, y_pred == label, names, f" of class {label}")
    return measures


def regression_measures(y_true, y_pred):
    """Measures of predictions of real numbers.

    Parameters
    ----------
    y_true, y_pred : ndarray of float64, shape (n_samples,)
        True and predicted values.

    Returns
    -------
    measures : dict of str to (ndarray, None)
    """
    errors = y_pred - y_true
    return {
        "scoring_rate": (y_pred > np.median(y_pred), None),
        "mean_target": (y_true, None),
        "mean_prediction": (y_pred, None),
        "mean_error": (errors, None),
        "mean_absolute_error": (np.abs(errors), None),
    }


def clustering_measures(labels):
    """Share of people in each cluster.

    Parameters
    ----------
    labels : ndarray of shape (n_samples,)
        Clusters.

    Returns
    -------
    measures : dict of str to (ndarray, None)

    Raises
    ------
    ValueError
        If there are so many clusters that these are hardly clusters.
    """
    clusters = np.unique(labels).tolist()
    _check_few(clusters, "clusters")
    return {f"share of cluster {label}": (labels == label, None) for label in clusters}


def _check_few(labels, what):
    if len(labels) > _MANY_CLASSES:
        raise ValueError(
            f"A report shows each of the {what}, but there are {len(labels)}: "
            f'{join_names(map(repr, labels), 5)}. Pass kind="regression" if these are numbers, or '
            f"merge {what} down to {_MANY_CLASSES}."
        )
