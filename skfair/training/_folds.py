"""Who is scored by models of whom."""

from numbers import Integral

import numpy as np
from sklearn.model_selection import check_cv

from skfair.utils._held_out import check_disjoint_folds
from skfair.utils._sklearn import Interval, StrOptions

CV_CONSTRAINTS = [
    Interval(Integral, 2, None, closed="left"),
    "cv_object",
    StrOptions({"prefit", "oob"}),
]
"""Values of a parameter ``cv`` that says by which models people are scored."""


def make_folds(cv, X, y, strata, params=None, groups=None):
    """Divide people into folds.

    Parameters
    ----------
    cv : int, splitter or iterable
        How people are divided; positions are among all samples.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Whatever the classifier takes.
    y : ndarray of shape (n_samples,)
        Classes.
    strata : ndarray of int, shape (n_samples,)
        Class and group of each sample, ascending with the class; negative for those who are absent.
    params : dict or None, default=None
        What else is passed to ``split``.
    groups : array-like of shape (n_samples,) or None, default=None
        Samples of equal value are in one fold; a splitter is passed them.

    Returns
    -------
    folds : list of (train, test)
        Positions among those who are present; everybody is in one test, and no training rows
        contain test rows of the same fold.

    Raises
    ------
    ValueError
        If the test folds are no partition, a model would score samples that it was fitted to, or
        the training rows of a fold lack a class.
    """
    present = strata >= 0
    samples, position = np.arange(len(present)), np.cumsum(present) - 1
    params = params or {}
    if groups is not None and isinstance(cv, Integral):
        given = _folds_of_groups(cv, groups, strata)
    else:
        params = params if groups is None else {"groups": groups} | params
        given = _folds_of(cv, X, y, strata, params)
    folds = [
        [position[rows[present[rows]]] for rows in (samples[train], samples[test])]
        for train, test in given
    ]
    y = y[present]
    tested = np.concatenate([samples[:0], *(test for _, test in folds)])
    if not np.array_equal(np.sort(tested), np.arange(len(y))):
        raise ValueError(
            "Everybody needs one score by a model that has not seen them, but the test folds of "
            f"cv={cv!r} are no partition of the people. Pass an int or a splitter such as "
            "StratifiedKFold; for a single hold-out set, fit the classifier on the others and pass "
            "it as sklearn.frozen.FrozenEstimator."
        )
    check_disjoint_folds(folds)
    for number, (train, _) in enumerate(folds):
        missing = sorted(set(y.tolist()) - set(y[train].tolist()))
        if missing:
            raise ValueError(
                f"Fold {number} of {len(folds)} leaves nobody of class {missing[0]!r} to fit the "
                "classifier on. Pass an int, which keeps the shares of classes, or a splitter that "
                "does, such as StratifiedKFold(shuffle=True)."
            )
    return [fold for fold in folds if len(fold[1])]


def check_out_of_bag(cv, groups):
    """Refuse out-of-bag scores of samples that belong together.

    Parameters
    ----------
    cv : object
        As passed to an estimator.
    groups : array-like or None
        As passed to ``fit``.

    Raises
    ------
    ValueError
        If trees would score samples of whose groups they have seen others.
    """
    if groups is not None and isinstance(cv, str) and cv == "oob":
        raise ValueError(
            "cv='oob' scores samples by trees that have not drawn them, but may have drawn others "
            "of the same group; pass cv=5, whose folds divide no group, or groups=None."
        )


def _folds_of_groups(cv, groups, strata):
    """Training and test rows of each fold, no group divided; dealt out by their first strata."""
    present = np.flatnonzero(strata >= 0)
    _, first, codes = np.unique(np.asarray(groups)[present], return_index=True, return_inverse=True)
    if len(first) < cv:
        raise ValueError(
            f"cv={cv} needs at least as many groups of samples that belong together, but there "
            f"are {len(first)}; pass a smaller cv."
        )
    fold = np.empty(len(first), dtype=np.intp)
    fold[np.argsort(strata[present][first], kind="stable")] = np.arange(len(first)) % cv
    fold = fold[codes]
    return [(present[fold != k], present[fold == k]) for k in range(cv)]


def _folds_of(cv, X, y, strata, params=None):
    """Training and test rows of each fold.

    Parameters
    ----------
    cv, X, y, strata
        As in `make_folds`.
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
