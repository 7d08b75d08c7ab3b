"""Out-of-fold and out-of-bag scores.

Training-set scores of a flexible classifier are overfitted, so constraints that hold for them fail
on new data. Here every training sample is scored by a model that was not fitted to it.
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

from skfair.partitions import is_partitioned
from skfair.postprocessing._folds import check_out_of_bag, make_folds
from skfair.postprocessing._scores import classifier_scores, final_step, probability_scores
from skfair.utils._features import explain_conversion
from skfair.utils._held_out import refuse_training_data
from skfair.utils._messages import warn
from skfair.utils._sklearn import check_method_params, safe_indexing


def cross_fit(estimator, X, y, folds, *, params=None, n_jobs=None, subtask=nullcontext):
    """Fitted classifiers, and the `classifier_scores` of each sample by one not fitted to it.

    Folds are those of `make_folds`; "prefit" takes a fitted classifier as it is, and so does a
    FrozenEstimator; "oob" fits one forest. ``subtask`` makes a context manager of a fit's name.
    """
    params, y = params or {}, column_or_1d(y)
    if isinstance(estimator, FrozenEstimator) or (isinstance(folds, str) and folds == "prefit"):
        check_is_fitted(estimator)
        _check_classes(estimator, np.unique(y))
        return [estimator], classifier_scores(estimator, X)
    _warn_of_refit(estimator)
    if isinstance(folds, str):
        _refuse_supervised_steps(estimator, X, y)
        with subtask("classifier of all samples"):
            fitted = _fit(_enable_out_of_bag_scores(clone(estimator)), X, y, params)
        return [fitted], probability_scores(_out_of_bag_probabilities(final_step(fitted)))

    # One clone per fold, fitted without the samples that it scores.
    names = [f"classifier of fold {k + 1} of {len(folds)}" for k in range(len(folds))]
    fitted = Parallel(n_jobs=n_jobs)(
        delayed(fit_rows)(estimator, X, y, params, train, subtask(name))
        for (train, _), name in zip(folds, names, strict=True)
    )
    tests = [test for _, test in folds]
    fold_scores = [
        classifier_scores(classifier, safe_indexing(X, test))
        for classifier, test in zip(fitted, tests, strict=True)
    ]
    scores = np.empty((len(y), fold_scores[0].shape[1]))
    scores[np.concatenate(tests)] = np.concatenate(fold_scores)
    return fitted, scores


def cross_fit_once(estimator, X, y, params, cv, strata, groups=None, subtask=nullcontext):
    """One classifier of two classes fitted to all samples, and their out-of-fold scores.

    Samples of negative stratum are left out. Partitioned X needs a fitted classifier.
    """
    present = np.flatnonzero(strata >= 0)
    if is_partitioned(X):
        _check_prefit(estimator, cv)
        fitted, scores = cross_fit(estimator, X, y, "prefit")
        return fitted[0], scores[present, 0]
    (X,) = indexable(X)
    check_out_of_bag(cv, groups)
    folds = cv if isinstance(cv, str) else make_folds(cv, X, y, strata, groups=groups)
    params = check_method_params(X, params, indices=present)
    X, y = safe_indexing(X, present), y[present]
    estimators, scores = cross_fit(estimator, X, y, folds, params=params, subtask=subtask)
    if len(estimators) == 1:
        return estimators[0], scores[:, 0]
    # New samples are scored by one more classifier, fitted to all.
    task = subtask("classifier of all samples")
    return fit_rows(estimator, X, y, params, np.arange(len(y)), task), scores[:, 0]


def fit_rows(estimator, X, y, params, rows, subtask=None):
    """A clone of the estimator, fitted to some of the rows."""
    params = check_method_params(X, params, indices=rows)
    with subtask or nullcontext():
        fitted = _fit(clone(estimator), safe_indexing(X, rows), y[rows], params)
    _check_classes(fitted, np.unique(y))
    return fitted


def _fit(classifier, X, y, params):
    """The classifier, fitted; errors say what to pass if X has text, or classes are no codes."""
    try:
        with explain_conversion(X, classifier):
            return classifier.fit(X, y, **params)
    except ValueError as error:
        classes = np.unique(y)
        if np.array_equal(classes, np.arange(len(classes))):
            raise
        name = type(final_step(classifier)).__name__
        raise ValueError(
            f"{error} (The classes are {classes.tolist()}. If {name} takes only 0, 1, ..., pass "
            f"y as such numbers: (y == {classes.tolist()[-1]!r}).astype(int) of two classes, or "
            "LabelEncoder().fit_transform(y).)"
        ) from error


def check_held_out(estimator, cv, X, X_fit, rows):
    """Refuse rows of X that are among the training data of a classifier that is fitted already.

    ``X_fit`` of None compares nothing.
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


def _warn_of_refit(estimator):
    """Warn that clones of a fitted estimator are fitted again, unless it is frozen."""
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return
    if get_tags(estimator).requires_fit:
        warn(
            f"The {type(estimator).__name__} is fitted already, but clones of it are fitted again. "
            "To keep it as it is, pass sklearn.frozen.FrozenEstimator(estimator), and fit on "
            "samples that it was not fitted to."
        )


def _check_prefit(estimator, cv):
    """Refuse to fit a classifier to partitioned data."""
    if cv != "prefit" and not isinstance(estimator, FrozenEstimator):
        raise ValueError(
            f"X is partitioned, and {type(estimator).__name__} cannot be fitted to it fold by "
            "fold: pass sklearn.frozen.FrozenEstimator(estimator), fitted to other samples, or a "
            "sample of X in memory."
        )


def _check_classes(estimator, classes):
    """Refuse a fitted classifier whose classes are not those of y."""
    known = getattr(estimator, "classes_", classes)
    if not np.array_equal(known, classes):
        raise ValueError(
            f"The classifier and y must have the same {len(classes)} classes, but those of y are "
            f"{classes.tolist()} and those of {type(estimator).__name__} {np.ravel(known).tolist()}"
            "; pass y in the labels of the classifier, or fit it on those of y."
        )


# Out-of-bag scores --------------------------------------------------------------------


def _enable_out_of_bag_scores(estimator):
    """The estimator, its forest set to keep out-of-bag scores."""
    forest = final_step(estimator)
    known = forest.get_params()
    if "oob_score" not in known or "bootstrap" not in known:
        raise ValueError(
            f"cv='oob' needs a forest or bagged classifier, whose members leave samples out, but "
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
    # Fit the steps with and without y: equal features prove that y is not used.
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
    """A hash that is equal for equal features."""
    return joblib.hash(features if sparse.issparse(features) else np.asarray(features))


def _out_of_bag_probabilities(forest):
    """Probabilities of each sample by the trees that have not drawn it, (n_samples, n_classes)."""
    probabilities = getattr(forest, "oob_decision_function_", None)
    if probabilities is None or hasattr(forest, "decision_function"):
        raise ValueError(
            'cv="oob" needs a classifier whose only scores are probabilities and that keeps those '
            "of samples out of the bag, such as RandomForestClassifier(oob_score=True), but this "
            f"is a {type(forest).__name__}. Pass a number of folds, as in cv=5."
        )
    # Samples that every tree has drawn have rows of zeros in forests, of nan in bagging.
    n_missing = int(np.sum(~(probabilities.sum(axis=1) > 0)))
    if n_missing:
        raise ValueError(
            f"{n_missing} of {len(probabilities)} samples are in the bag of every tree, so that "
            "they have no out-of-bag scores. Grow more trees, or pass a number of folds, as in "
            "cv=5."
        )
    return probabilities
