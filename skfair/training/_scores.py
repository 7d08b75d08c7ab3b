"""Scores of people by any classifier: for training, by models that have not seen them.

A classifier that knows its training data by heart ranks new people otherwise, so that what is made
fair with its own scores of these data is not fair on others.
"""

from numbers import Integral

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import check_cv
from sklearn.utils import check_array, column_or_1d, indexable
from sklearn.utils.validation import check_is_fitted

from skfair.utils._sklearn import Interval, StrOptions, safe_indexing

CV_CONSTRAINTS = [
    Interval(Integral, 2, None, closed="left"),
    "cv_object",
    StrOptions({"prefit", "oob"}),
]
"""Values of a parameter ``cv`` that says by which models people are scored."""

_EQUAL = 2.0**-40
"""Relative difference of scores that rounding makes between equal people."""


def fit_and_score(estimator, X, y, params, cv, strata):
    """Fit a classifier, and score its training data by models that have not seen them.

    Parameters
    ----------
    estimator : estimator instance
        Classifier with ``decision_function`` or ``predict_proba``.
    X : array-like of shape (n_samples, n_features)
        Features.
    y : ndarray of shape (n_samples,)
        Two classes.
    params : dict
        What else ``fit`` is passed; each has one row per sample.
    cv : int, cross-validation splitter, iterable, "prefit" or "oob"
        An int deals the samples of every stratum out to so many folds. "prefit" takes a fitted
        classifier as it is, as does a `~sklearn.frozen.FrozenEstimator` with any cv. "oob" takes
        the out-of-bag probabilities of a forest.
    strata : ndarray of int, shape (n_samples,)
        Class and group of each sample, ascending with the class; -1 for those who are absent.

    Returns
    -------
    estimator : estimator instance
        Fitted on all who are present, or the one given if it was fitted.
    scores : ndarray of shape (n_present,)
        Score of each of these, for the second class.

    Raises
    ------
    ValueError
        If a fitted classifier knows other classes, a class has too few samples for the folds,
        samples are in no test fold, or there are no out-of-bag scores.
    """
    (X,), present = indexable(X), np.flatnonzero(strata >= 0)
    if isinstance(cv, str) and cv == "prefit" or isinstance(estimator, FrozenEstimator):
        check_is_fitted(estimator)
        check_classes(estimator, np.unique(y[present]))
        return estimator, scores_of(estimator, X)[present]
    if isinstance(cv, str):
        fitted = _fit_on(present, estimator, X, y, params)
        return fitted, out_of_bag(fitted)[:, 1]
    scores = np.full(len(y), np.nan)
    for train, test in folds_of(cv, X, y, strata):
        model = _fit_on(train[strata[train] >= 0], estimator, X, y, params)
        check_classes(model, np.unique(y[present]))
        scores[test] = scores_of(model, safe_indexing(X, test))
    missed = int(np.isnan(scores[present]).sum())
    if missed:
        raise ValueError(
            f"cv must score everybody once, but {missed} of {len(present)} samples are in no test "
            "fold. Use a splitter that partitions the samples, such as StratifiedKFold."
        )
    return _fit_on(present, estimator, X, y, params), scores[present]


def scores_of(estimator, X):
    """Score of each row by a fitted classifier of two classes, for the second one.

    Parameters
    ----------
    estimator : estimator instance
        Fitted, with ``decision_function`` or ``predict_proba``.
    X : array-like of shape (n_samples, n_features)
        Features.

    Returns
    -------
    scores : ndarray of shape (n_samples,)
    """
    if hasattr(estimator, "decision_function"):
        scores = estimator.decision_function(X)
    else:
        scores = estimator.predict_proba(X)[:, 1]
    name = f"the scores of {type(estimator).__name__}"
    return column_or_1d(check_array(scores, ensure_2d=False, dtype=np.float64, input_name=name))


def distinct_levels(scores):
    """Scores that differ by more than rounding, ascending.

    The score of a person depends in its last bits on who is scored beside them.

    Parameters
    ----------
    scores : ndarray of shape (n_samples,)
        Scores.

    Returns
    -------
    levels : ndarray of shape (n_levels,)
        The lowest of those that are equal up to rounding.
    """
    ordered = np.unique(scores)
    return ordered[np.diff(ordered, prepend=-np.inf) > _rounding(ordered)]


def at_levels(scores, levels):
    """Scores that are equal to a level up to rounding become equal to it.

    Parameters
    ----------
    scores : ndarray of shape (n_samples,)
        Scores.
    levels : ndarray of shape (n_levels,)
        As returned by `distinct_levels`.

    Returns
    -------
    scores : ndarray of shape (n_samples,)
    """
    above = np.minimum(np.searchsorted(levels, scores), len(levels) - 1)
    near = _rounding(levels)
    for position in (above, np.maximum(above - 1, 0)):
        level = levels[position]
        scores = np.where(np.abs(scores - level) <= near[position], level, scores)
    return scores


def _rounding(levels):
    """How far off rounding may bring scores near each level."""
    size = np.abs(levels)
    is_probability = levels.min() >= 0 and levels.max() <= 1  # products, exact relative to itself
    return _EQUAL * (size if is_probability else np.full(len(levels), size.max()))


def folds_of(cv, X, y, strata, params=None):
    """Training and test rows of each fold.

    Parameters
    ----------
    cv, X, y, strata
        As in `fit_and_score`.
    params : dict or None, default=None
        What else the ``split`` of a splitter is passed.

    Returns
    -------
    folds : list of (train, test)

    Raises
    ------
    ValueError
        If a class has only one sample.
    """
    if not isinstance(cv, Integral):
        return list(check_cv(cv, y, classifier=True).split(X, y, **(params or {})))
    present = np.flatnonzero(strata >= 0)
    classes, counts = np.unique(y[present], return_counts=True)
    if counts.min() < 2:
        raise ValueError(
            f"cv={cv} fits classifiers without a part of the people, but there is only one sample "
            f"of the class {classes[counts.argmin()]} (n_samples={len(present)}). Fit a classifier "
            'on other data, and pass cv="prefit".'
        )
    # Dealt out like cards, so that folds differ by one member of a stratum at most.
    fold = np.empty(len(present), dtype=np.intp)
    fold[np.argsort(strata[present], kind="stable")] = np.arange(len(present)) % cv
    return [(present[fold != k], present[fold == k]) for k in np.unique(fold)]


def _fit_on(rows, estimator, X, y, params):
    """A clone that knows some of the rows only."""
    if len(rows) == len(y):
        return clone(estimator).fit(X, y, **params)
    own = {name: safe_indexing(*indexable(values), rows) for name, values in params.items()}
    return clone(estimator).fit(safe_indexing(X, rows), y[rows], **own)


def out_of_bag(estimator):
    """Probabilities of the classes, of everybody by those trees that have not drawn them.

    Parameters
    ----------
    estimator : estimator instance
        Fitted forest, or another of bags.

    Returns
    -------
    probabilities : ndarray of shape (n_samples, n_classes)

    Raises
    ------
    ValueError
        If it has none, or not of everybody.
    """
    found = getattr(estimator, "oob_decision_function_", None)
    if found is None or hasattr(estimator, "decision_function"):
        raise ValueError(
            'cv="oob" needs a classifier whose only scores are probabilities and that keeps those '
            "of samples out of the bag, such as RandomForestClassifier(oob_score=True), but this "
            f"is a {type(estimator).__name__}. Pass a number of folds, as in cv=5."
        )
    # Forests leave the row of those whom nobody scores empty, bagged classifiers nan.
    unseen = int(np.sum(~(found.sum(axis=1) > 0)))
    if unseen:
        raise ValueError(
            f"{unseen} of {len(found)} samples are in the bag of every tree, so that they have no "
            "out-of-bag scores. Grow more trees, or pass a number of folds, as in cv=5."
        )
    return found


def check_classes(estimator, classes):
    """Refuse a classifier whose classes are others.

    Parameters
    ----------
    estimator : estimator instance
        Fitted.
    classes : ndarray of shape (n_classes,)
        Labels of the classes, ascending.

    Raises
    ------
    ValueError
        If it knows others.
    """
    known = getattr(estimator, "classes_", classes)
    if not np.array_equal(known, classes):
        raise ValueError(
            f"The classifier and y must have the same {len(classes)} classes, but those of y are "
            f"{classes.tolist()} and those of {type(estimator).__name__} {np.ravel(known).tolist()}"
            "; pass y in the labels of the classifier, or fit it on those of y."
        )
