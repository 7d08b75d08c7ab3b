"""Folds of a cross-fit: which samples train a model, and which ones it scores."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import pandas as pd
from sklearn.model_selection import check_cv

from skfair._utils.copies import check_disjoint_folds
from skfair._utils.sklearn import StrOptions

if TYPE_CHECKING:
    from sklearn.utils import Bunch

    from skfair._utils.api import CrossValidation
    from skfair._utils.tables import Table, TableLike


Folds = Annotated[Any, "cv_object", StrOptions({"prefit", "oob"})]
"""Values of a parameter ``cv`` that says which models score the training samples."""


def make_folds(
    cv: CrossValidation,
    X: Table,
    y: Table,
    strata: np.ndarray,
    params: Bunch | dict | None = None,
    groups: TableLike | None = None,
    *,
    is_real: bool = False,
    covers_all: bool = True,
) -> list[list[np.ndarray]]:
    """Training and test positions of each fold, among the samples whose stratum is not negative.

    Strata are codes of class and group, those of a class in a row. An int deals every stratum out
    evenly and keeps samples of equal ``groups`` together; a splitter is passed ``params`` and
    ``groups``. Classes are in the training rows of every fold, unless the target is real. Each
    sample is in one test fold or, unless they must cover all, in none.
    """
    is_present = strata >= 0
    classes = np.zeros(len(strata), dtype=int) if is_real else y
    params = params or {}
    if isinstance(cv, Integral):
        folds = _stratified_folds(cv, classes, strata, groups)
    else:
        params = params if groups is None else {"groups": groups} | params
        folds = check_cv(cv, y, classifier=not is_real).split(X, y, **params)

    # Positions among all samples, or masks, become positions among those of positive weight.
    positions = np.arange(len(strata))
    position = np.cumsum(is_present) - 1
    try:
        folds = [
            [position[rows[is_present[rows]]] for rows in (positions[train], positions[test])]
            for train, test in folds
        ]
    except (IndexError, TypeError) as error:
        raise ValueError(
            "cv must be a number of folds, a splitter, or pairs of training and test positions "
            f"of samples; got {cv!r}: {error}."
        ) from error
    _check_folds(cv, folds, classes[is_present], covers_all)
    return [fold for fold in folds if len(fold[1])]


def _stratified_folds(
    n_folds: int, y: np.ndarray, strata: np.ndarray, groups: np.ndarray | None
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Training and test rows of each fold, with equal shares of the strata."""
    present = np.flatnonzero(strata >= 0)
    # Units that are dealt out: samples, or sets of samples that belong together.
    if groups is None:
        # No other fold could be trained on a class with a single sample.
        if len(present) < 2:
            raise ValueError(
                f"cv={n_folds} needs at least 2 samples, but n_samples={len(present)}."
            )
        classes, counts = np.unique(y[present], return_counts=True)
        if counts.min() < 2:
            raise ValueError(
                f"cv={n_folds} fits classifiers without the samples of a fold, but there is only "
                f"one sample of the class {classes[counts.argmin()]} (n_samples={len(present)}). "
                'Fit a classifier on other data, and pass cv="prefit".'
            )
        first = np.arange(len(present))
        codes = np.arange(len(present))
    else:
        # In the order of their first samples: ids are names too.
        codes = pd.factorize(np.asarray(groups)[present])[0]
        first = np.unique(codes, return_index=True)[1]
        if len(first) < n_folds:
            raise ValueError(
                f"cv={n_folds} needs at least as many groups of samples that belong together, but "
                f"there are {len(first)}; pass a smaller cv."
            )
    # Deal out in turn, sorted by stratum: folds differ by at most one sample of a stratum.
    fold = np.empty(len(first), dtype=np.intp)
    fold[np.argsort(strata[present][first], kind="stable")] = np.arange(len(first)) % n_folds
    fold = fold[codes]
    return [(present[fold != k], present[fold == k]) for k in np.unique(fold)]


def _check_folds(
    cv: CrossValidation, folds: list[list[np.ndarray]], y: np.ndarray, covers_all: bool
) -> None:
    """Raise for folds that do not score samples once, by a model that was not fitted to them."""
    tested = np.concatenate([np.empty(0, dtype=np.intp), *(test for _, test in folds)])
    n_tests = np.bincount(tested, minlength=len(y))
    if n_tests.max() > 1 or n_tests.min() < covers_all or not n_tests.any():
        raise ValueError(
            "Each sample needs one out-of-fold score, but the test folds of "
            f"cv={cv!r} are no partition of the samples. Pass an int or a splitter such as "
            "StratifiedKFold; for a single hold-out set, fit the classifier on the other samples "
            "and pass it as sklearn.frozen.FrozenEstimator."
        )
    check_disjoint_folds(folds)
    for number, (train, _) in enumerate(folds):
        missing = sorted(set(y.tolist()) - set(y[train].tolist()))
        if missing:
            raise ValueError(
                f"Fold {number} of {len(folds)} leaves no sample of class {missing[0]!r} to fit "
                "the classifier on. Pass an int, which keeps the shares of classes, or a splitter "
                "that does, such as StratifiedKFold(shuffle=True)."
            )


def check_out_of_bag(cv: CrossValidation, groups: TableLike | None) -> None:
    """Raise for out-of-bag scores of samples that belong together: trees draw single samples."""
    if groups is not None and isinstance(cv, str) and cv == "oob":
        raise ValueError(
            "cv='oob' scores samples by trees that have not drawn them, but may have drawn others "
            "of the same group; pass cv=5, whose folds divide no group, or groups=None."
        )
