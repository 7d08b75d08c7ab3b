"""Scores of people by classifiers that have not seen them.

A classifier that knows its training data by heart ranks new people otherwise, so that what is made
fair with its own scores of these data is not fair on others.
"""

from contextlib import nullcontext

import joblib
import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import column_or_1d, get_tags, indexable
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from skfair.partitions import is_partitioned, partitions_of
from skfair.training._folds import check_out_of_bag, make_folds
from skfair.utils._held_out import refuse_training_data
from skfair.utils._messages import warn
from skfair.utils._sklearn import check_method_params, safe_indexing

_ROUNDING = 1e-6
"""By how much probabilities may be below 0 or above 1."""

_SOFTEST = 1e-3
"""Probabilities of 0 and 1, such as those of trees, are log-odds of this one and its complement."""


def cross_fit(estimator, X, y, folds, *, params=None, n_jobs=None, task_of=nullcontext):
    """Fit a classifier such that everybody is scored by a model that has not seen them.

    Parameters
    ----------
    estimator : estimator
        Clones of it are fitted, unless it is a `FrozenEstimator`: its people are then taken to be
        others than these, and folds do not matter.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Whatever the classifier takes.
    y : array-like of shape (n_samples,)
        Classes.
    folds : list of (train, test), "prefit" or "oob"
        As `make_folds` makes them. "prefit" takes a fitted classifier as it is. "oob" fits one
        forest, and takes its out-of-bag probabilities; preprocessing must not use y.
    params : dict or None, default=None
        What else is passed to ``fit``: per-sample values are divided as X is.
    n_jobs : int or None, default=None
        Folds that are fitted at a time.
    task_of : callable, default=nullcontext
        Name of a fit -> context manager around it, that can be pickled.

    Returns
    -------
    estimators : list of estimators
        Fitted: one per fold, or only one; new people get the mean of their scores.
    margins : ndarray of shape (n_samples, n_margins)
        Scores of everybody by a model that has not seen them, as in `margins_of`.

    Raises
    ------
    ValueError
        If the classes of a frozen classifier are others, or there is no such way for this
        estimator; the message says what to do.
    """
    params, y = params or {}, column_or_1d(y)
    if folds == "prefit" or isinstance(estimator, FrozenEstimator):
        check_is_fitted(estimator)
        _check_classes(estimator, np.unique(y))
        return [estimator], margins_of(estimator, X)
    _say_that_it_is_fitted_again(estimator)
    if isinstance(folds, str):
        _refuse_supervised_steps(estimator, X, y)
        with task_of("classifier of all samples"):
            fitted = _with_out_of_bag(clone(estimator)).fit(X, y, **params)
        return [fitted], _margins(log_odds(_out_of_bag(last_step(fitted))))
    tasks = [task_of(f"classifier of fold {k + 1} of {len(folds)}") for k in range(len(folds))]
    fitted = Parallel(n_jobs=n_jobs)(
        delayed(fit_rows)(estimator, X, y, params, train, task)
        for (train, _), task in zip(folds, tasks, strict=True)
    )
    tests = [test for _, test in folds]
    found = [
        margins_of(one, safe_indexing(X, test)) for one, test in zip(fitted, tests, strict=True)
    ]
    margins = np.empty((len(y), found[0].shape[1]))
    margins[np.concatenate(tests)] = np.concatenate(found)
    return fitted, margins


def fit_and_score(estimator, X, y, params, cv, strata, groups=None, task_of=nullcontext):
    """Fit a classifier of two classes on everybody, scored by models that have not seen them.

    Parameters
    ----------
    estimator, X, y
        As in `cross_fit`.
    params : dict
        What else ``fit`` is passed; each has one row per sample.
    cv : int, splitter, iterable, "prefit" or "oob"
        Folds as in `make_folds`, or none.
    strata, groups
        As in `make_folds`.
    task_of : callable, default=nullcontext
        As in `cross_fit`.

    Returns
    -------
    estimator : estimator instance
        Fitted on all who are present, or the one given if it was fitted.
    scores : ndarray of shape (n_present,)
        Score of each of these, positive for the second class.
    """
    present = np.flatnonzero(strata >= 0)
    if is_partitioned(X):
        _check_frozen(estimator, cv)
        fitted, margins = cross_fit(estimator, X, y, "prefit")
        return fitted[0], margins[present, 0]
    (X,) = indexable(X)
    check_out_of_bag(cv, groups)
    folds = cv if isinstance(cv, str) else make_folds(cv, X, y, strata, groups=groups)
    params = check_method_params(X, params, indices=present)
    X, y = safe_indexing(X, present), y[present]
    estimators, margins = cross_fit(estimator, X, y, folds, params=params, task_of=task_of)
    if len(estimators) == 1:
        return estimators[0], margins[:, 0]
    task = task_of("classifier of all samples")
    return fit_rows(estimator, X, y, params, np.arange(len(y)), task), margins[:, 0]


def check_held_out(estimator, cv, X, X_fit, rows):
    """Compare X with the training data that a fitted classifier is declared to have.

    Parameters
    ----------
    estimator : estimator
        As passed by the user.
    cv : int, splitter, iterable, "prefit" or "oob"
        As passed by the user.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The samples that it scores.
    X_fit : array-like, sparse matrix or None
        The samples that it was fitted to; None compares nothing.
    rows : ndarray of int
        Positions in X of samples of positive weight; the others are not compared.

    Raises
    ------
    ValueError
        If most samples are among those of `X_fit`, if `estimator` is fitted here, or if X is
        partitioned.
    """
    if X_fit is None:
        return
    steps = [estimator, *estimator.get_params().values()]
    if cv != "prefit" and not any(isinstance(step, FrozenEstimator) for step in steps):
        raise ValueError(
            "X_fit is the training data of a classifier that is fitted already, but clones of "
            f"{type(estimator).__name__} are fitted here. Leave X_fit out, or pass cv='prefit'."
        )
    if is_partitioned(X):
        raise ValueError(
            "X_fit is compared with samples in memory only, but X is partitioned. Leave X_fit out, "
            "or pass a sample of X in memory."
        )
    (X,) = indexable(X)
    refuse_training_data(safe_indexing(X, rows), X_fit)


def fit_rows(estimator, X, y, params, rows, task=None):
    """A clone, fitted on some of the people.

    Parameters
    ----------
    estimator, X, y, params
        As in `cross_fit`.
    rows : ndarray of int
        Positions of these people.
    task : context manager or None, default=None
        Entered for the fit.

    Returns
    -------
    estimator : estimator
    """
    own = check_method_params(X, params, indices=rows)
    with task or nullcontext():
        fitted = clone(estimator).fit(safe_indexing(X, rows), y[rows], **own)
    _check_classes(fitted, np.unique(y))
    return fitted


def _say_that_it_is_fitted_again(estimator):
    """Warn that a fitted estimator is not kept as it is, unless it is frozen."""
    if _is_fitted(estimator):
        warn(
            f"The {type(estimator).__name__} is fitted already, but clones of it are fitted again. "
            "To keep it as it is, pass sklearn.frozen.FrozenEstimator(estimator), and fit on "
            "people whom it has not seen."
        )


def _check_frozen(estimator, cv):
    """Refuse to fit a classifier to people who do not lie in memory."""
    if cv != "prefit" and not isinstance(estimator, FrozenEstimator):
        raise ValueError(
            f"X lies in parts, on which {type(estimator).__name__} cannot be fitted fold by fold: "
            "pass sklearn.frozen.FrozenEstimator(estimator), fitted to other people, or a sample "
            "of X in memory."
        )


def _is_fitted(estimator):
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return False
    return get_tags(estimator).requires_fit


# Scores -------------------------------------------------------------------------------


def margins_of(estimator, X):
    """Scores of each row by a fitted classifier, ascending with how likely its classes are.

    Parameters
    ----------
    estimator : estimator
        Fitted, with ``decision_function`` or ``predict_proba``.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Whatever it takes.

    Returns
    -------
    margins : ndarray of shape (n_samples, n_margins)
        Its decision function; else the log-odds of its probabilities. Of two classes there is one
        margin, positive where the second is the more likely; of more there is one for each.

    Raises
    ------
    ValueError
        If the estimator has neither, or gives scores that are not finite.
    """
    if is_partitioned(X):
        margins = partitions_of(X=X).collect(_margins_of_part, estimator)
        return np.concatenate(margins)
    if hasattr(estimator, "decision_function"):
        scores = _finite_scores(estimator, "decision_function", X)
        margins = _margins(scores[:, np.newaxis] if scores.ndim == 1 else scores)
        _check_columns(margins, estimator)
        return margins
    if hasattr(estimator, "predict_proba"):
        return _margins(log_odds(probabilities_of(estimator, X)))
    raise ValueError(
        "The classifier must have decision_function or predict_proba, but "
        f"{type(estimator).__name__} has neither once it is fitted: labels alone leave nothing to "
        "shift. Pass a classifier that scores people, for instance VotingClassifier(voting='soft')."
    )


def _margins_of_part(part, estimator):
    if len(part["X"]):
        return margins_of(estimator, part["X"])
    return np.empty((0, 1 if len(estimator.classes_) == 2 else len(estimator.classes_)))


def probabilities_of(estimator, X):
    """Probabilities of the classes by a fitted classifier, checked.

    Parameters
    ----------
    estimator : estimator
        Fitted, with ``predict_proba``.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Whatever it takes.

    Returns
    -------
    probabilities : ndarray of shape (n_samples, n_classes)

    Raises
    ------
    ValueError
        If they have another shape, or are not between 0 and 1.
    """
    probabilities, name = _finite_scores(estimator, "predict_proba", X), type(estimator).__name__
    shape = (len(probabilities), len(getattr(estimator, "classes_", (0, 1))))
    if probabilities.shape != shape:
        raise ValueError(
            f"predict_proba of {name} must return one column for each of its {shape[1]} classes, "
            f"shape {shape}, but it returned shape {probabilities.shape}. Return them in the order "
            "of classes_, also that of the first of two."
        )
    low, high = probabilities.min(initial=0.0), probabilities.max(initial=1.0)
    if low < -_ROUNDING or high > 1.0 + _ROUNDING:
        raise ValueError(
            f"predict_proba of {name} must return probabilities between 0 and 1, but they are "
            f"between {low:.3g} and {high:.3g}. Return scores of any other scale by "
            "decision_function."
        )
    return probabilities.clip(0.0, 1.0)


def _finite_scores(estimator, method, X):
    """What a method of a classifier returns, as finite numbers, one row per sample."""
    name, returned = f"{method} of {type(estimator).__name__}", getattr(estimator, method)(X)
    try:
        scores = np.asarray(returned, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must return an array of numbers, but {error}.") from error
    (rows,) = indexable(X)
    n_samples = rows.shape[0] if hasattr(rows, "shape") else len(rows)
    if scores.ndim not in (1, 2) or len(scores) != n_samples:
        raise ValueError(
            f"{name} must return one row for each of the {n_samples} samples, but it returned "
            f"shape {scores.shape}. Return a 1-D array, or a 2-D one with a column per class."
        )
    n_bad = n_samples - int(np.isfinite(scores).all(axis=tuple(range(1, scores.ndim))).sum())
    if n_bad:
        raise ValueError(
            f"{name} must return finite numbers, but {n_bad} of {n_samples} rows have nan or inf. "
            "Check the classifier for overflow, and X for values far outside its training data."
        )
    return scores


def _margins(columns):
    """Scores as columns: of the second of two classes, of each of more."""
    return columns[:, 1:] if columns.shape[1] == 2 else columns


def _check_columns(margins, estimator):
    """Refuse scores that are not those of single classes."""
    n_classes, n_found = len(getattr(estimator, "classes_", (0, 1))), margins.shape[1]
    if n_found != (n_classes if n_classes > 2 else 1):
        raise ValueError(
            f"A classifier must give one score for each of the {n_classes} classes, or just one "
            f"for the second of two, but the decision_function of {type(estimator).__name__} has "
            f"{n_found} columns; pass decision_function_shape='ovr' to those that compare pairs."
        )


def mean_margins(estimators, X):
    """Mean of the scores by several classifiers, (n_samples, n_margins).

    Parameters
    ----------
    estimators : list of estimators
        As in `margins_of`.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Whatever they take.
    """
    return np.mean([margins_of(estimator, X) for estimator in estimators], axis=0)


def log_odds(probability):
    """Log-odds of probabilities, finite and ascending everywhere."""
    softened = _SOFTEST + (1.0 - 2.0 * _SOFTEST) * probability
    return np.log(softened / (1.0 - softened))


# Out of bag ---------------------------------------------------------------------------


def last_step(estimator):
    """The classifier at the end of pipelines, searches and frozen estimators."""
    while True:
        if isinstance(estimator, Pipeline):
            estimator = estimator.steps[-1][1]
        elif isinstance(estimator, FrozenEstimator):
            estimator = estimator.estimator
        elif hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        else:
            return estimator


def before_last_step(estimator, X):
    """X as the classifier at the end of a fitted pipeline sees it.

    Parameters
    ----------
    estimator : estimator
        Fitted: a pipeline, a search over one, a frozen one; all others take X as it is.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Whatever it takes.

    Returns
    -------
    features : array-like or sparse matrix of shape (n_samples, n_outputs)
    """
    if isinstance(estimator, Pipeline):
        before = estimator[:-1]
        features = before.transform(X) if len(before) else X
        return before_last_step(estimator.steps[-1][1], features)
    if isinstance(estimator, FrozenEstimator):
        return before_last_step(estimator.estimator, X)
    if hasattr(estimator, "best_estimator_"):
        return before_last_step(estimator.best_estimator_, X)
    return X


def _with_out_of_bag(estimator):
    """Tell the forest to score those whom its trees have not drawn."""
    forest = last_step(estimator)
    known = forest.get_params()
    if "oob_score" not in known or "bootstrap" not in known:
        raise ValueError(
            f"cv='oob' needs a forest or bagged classifier, whose parts leave people out, but "
            f"estimator is {type(forest).__name__}. Pass cv=5, or a splitter."
        )
    forest.set_params(oob_score=True, bootstrap=True)
    return estimator


def _refuse_supervised_steps(estimator, X, y):
    """Refuse preprocessing that uses y: out-of-bag scores would depend on their own labels."""
    if not isinstance(estimator, Pipeline):
        return
    before, last = estimator[:-1], estimator.steps[-1][1]
    if not len(before):
        return _refuse_supervised_steps(last, X, y)
    features, error = clone(before).fit(X, y).transform(X), None
    try:
        uses_y = _hash(clone(before).fit(X).transform(X)) != _hash(features)
    except (TypeError, ValueError, AttributeError) as raised:
        uses_y, error = True, raised
    if uses_y:
        raise ValueError(
            f"cv='oob' needs preprocessing that does not use y, for it is fitted to all samples, "
            f"but the steps before {type(last).__name__} "
            f"{'cannot be fitted' if error else 'give other features'} without y. Pass cv=5, or "
            "fit them within the bags, as BaggingClassifier(pipeline, oob_score=True) does. "
            "Steps that draw random numbers need a random_state."
        ) from error
    _refuse_supervised_steps(last, features, y)


def _hash(features):
    """Equal for equal features."""
    return joblib.hash(features if sparse.issparse(features) else np.asarray(features))


def _out_of_bag(estimator):
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


def _check_classes(estimator, classes):
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
