"""From what a user passes to fit to what a solver sees."""

import warnings
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import check_X_y, compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from skfair.exceptions import MissingSensitiveFeaturesWarning
from skfair.utils._groups import (
    Groups,
    Memberships,
    check_alignment,
    check_groups,
    check_memberships,
    group_names,
)
from skfair.utils._sklearn import check_sample_weight


class Training(NamedTuple):
    """Everybody with a positive weight.

    Attributes
    ----------
    X : ndarray or csr_array of shape (n_samples, n_features)
        Features, float64.
    target : ndarray of shape (n_samples,)
        Classes -1 and +1, or real numbers.
    classes : ndarray of shape (2,) or None
        Labels of the classes; None for real targets.
    weights : ndarray of shape (n_samples,)
        Positive sample weights.
    groups : Groups or Memberships
        Who belongs to which group.
    """

    X: np.ndarray
    target: np.ndarray
    classes: np.ndarray
    weights: np.ndarray
    groups: Groups | Memberships


def check_training(estimator, X, y, people, request):
    """Validate the input of a classifier's ``fit``.

    Parameters
    ----------
    estimator : estimator instance
        Named in messages.
    X, y : array-like
        As passed to fit.
    people : dict
        ``sensitive_features`` and ``sample_weight`` as passed to fit.
    request : str or None
        What the user asks of groups, for the warning that none came; None if nothing.

    Returns
    -------
    training : Training

    Raises
    ------
    ValueError
        For anything scikit-learn refuses in X and y, for rows that do not match, for negative
        weights, and unless there are exactly two classes.
    """
    X, y, weights, present = _check_rows(estimator, X, y, people)
    check_classification_targets(y)
    classes, codes = np.unique(y[present], return_inverse=True)
    if len(classes) > 2:
        raise ValueError(
            f"Only binary classification is supported. The type of the target has {len(classes)} "
            f"classes: {classes[:5].tolist()}. Wrap {type(estimator).__name__} in "
            "sklearn.multiclass.OneVsRestClassifier."
        )
    if len(classes) < 2:
        raise ValueError(
            f"{type(estimator).__name__} needs samples of at least 2 classes in the data, but the "
            f"data of positive sample_weight contains only one class: {classes[0]}."
        )
    groups = _check_groups(people["sensitive_features"], present, request)
    rows = slice(None) if present.all() else present
    return Training(X[rows], np.array([-1.0, 1.0])[codes], classes, weights[rows], groups)


def check_real_training(estimator, X, y, people, request):
    """Validate the input of a regressor's ``fit``.

    Parameters
    ----------
    estimator, X, y, people, request
        As in `check_training`.

    Returns
    -------
    training : Training

    Raises
    ------
    ValueError
        For anything scikit-learn refuses in X and y, for rows that do not match, and for negative
        weights.
    """
    X, y, weights, present = _check_rows(estimator, X, y, people)
    groups = _check_groups(people["sensitive_features"], present, request)
    rows = slice(None) if present.all() else present
    return Training(X[rows], y[rows].astype(np.float64), None, weights[rows], groups)


def _check_rows(estimator, X, y, people):
    check_alignment(X=X, y=y, **people)
    # Nothing is set on the estimator before the fit has succeeded: an earlier fit stays whole.
    X, y = check_X_y(
        X, y, accept_sparse="csr", dtype=np.float64, y_numeric=False, estimator=estimator
    )
    weights = check_sample_weight(
        people["sample_weight"], X, dtype=np.float64, ensure_non_negative=True
    )
    present = weights > 0
    return (sparse.csr_array(X) if sparse.issparse(X) else X), y, weights, present


def class_weights(class_weight, training):
    """Factor of each sample's loss, as in scikit-learn.

    Parameters
    ----------
    class_weight : dict, "balanced" or None
        Weight of each class.
    training : Training
        The samples.

    Returns
    -------
    factors : ndarray of shape (n_samples,)
    """
    labels = training.classes[(training.target > 0).astype(int)]
    per_class = compute_class_weight(
        class_weight, classes=training.classes, y=labels, sample_weight=training.weights
    )
    return per_class[(training.target > 0).astype(int)]


def _check_groups(sensitive_features, present, request):
    """Groups of the rows that are present; groups without any weight are dropped."""
    if sensitive_features is None:
        if request is not None:
            warnings.warn(
                f"{request}, but fit got no sensitive_features: everybody is one group and the "
                "fit is unconstrained. Pass fit(X, y, sensitive_features=...). Inside a search or "
                "pipeline, turn on metadata routing: "
                "sklearn.set_config(enable_metadata_routing=True).",
                MissingSensitiveFeaturesWarning,
                stacklevel=5,
            )
        return Groups.single(int(present.sum()))
    if sparse.issparse(sensitive_features):
        everyone = check_memberships(sensitive_features, len(present))
    else:
        everyone = check_groups(sensitive_features, len(present))
    if present.all():
        return everyone
    groups = everyone.take(present)
    dropped = _names(everyone)
    dropped = [name for name in dropped if name not in _names(groups)]
    if dropped:
        warnings.warn(
            f"Groups without any sample weight count as absent: {dropped}. Leave their rows out, "
            "or give them a weight.",
            UserWarning,
            stacklevel=5,
        )
    return groups


def _names(groups):
    return groups.names if isinstance(groups, Memberships) else group_names(groups.labels)
