"""Out-of-fold scores: cross-fits, scores of models, calibration, signs of memorisation."""

from __future__ import annotations

from contextlib import nullcontext
from numbers import Number
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np
from scipy import sparse
from scipy.special import expit, logit
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import column_or_1d, get_tags, indexable
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, check_memory

from skfair._partitions import partitions_of
from skfair._partitions.collections import is_partitioned
from skfair._postprocessing.folds import check_out_of_bag, make_folds
from skfair._utils.checks import explain_conversion, join_names, warn
from skfair._utils.copies import (
    hash_rows,
    refuse_training_data,
    share_of_rows,
)
from skfair._utils.sklearn import (
    check_method_params,
    count_samples,
    first_tree_leaves,
    safe_indexing,
    transform_before_last_step,
)
from skfair.preprocessing import ScoreColumn

if TYPE_CHECKING:
    from collections.abc import Callable

    from joblib import Memory
    from sklearn.base import BaseEstimator
    from sklearn.utils import Bunch

    from skfair._fitting.input import TrainingData
    from skfair._fitting.outcome import Subtask
    from skfair._partitions.collections import Block
    from skfair._postprocessing.group_models import ScreenedClassifier
    from skfair._postprocessing.logistic import LogisticModel
    from skfair._utils.api import CrossValidation
    from skfair._utils.tables import Table, TableLike


# Predictions of fitted regressors, and scores of classifiers on the scale of log-odds, checked.


SOFTENING = 1e-3
"""Probabilities of 0 and 1, such as those of trees, get the log-odds of this and its complement."""

_MAX_SCORE = 1e140
"""Absolute value below which the squares of scores have a finite sum."""


def mean_scores(estimators: list[BaseEstimator], X: TableLike | None) -> np.ndarray:
    """Mean of the `estimator_scores` of several estimators, (n_samples, n_scores)."""
    return np.mean([estimator_scores(estimator, X) for estimator in estimators], axis=0)


def estimator_scores(estimator: BaseEstimator, X: TableLike | None) -> np.ndarray:
    """Scores of each row, (n_samples, n_scores).

    Those of a regressor or ranker are its predictions. Those of a classifier are its decision
    function, else log-odds of its probabilities. With two classes there is one score, positive
    where the second is likelier; else one per class.
    """
    if is_partitioned(X):
        return np.concatenate(partitions_of(X=X).gather(_partition_scores, estimator))
    is_scored = hasattr(estimator, "decision_function") or hasattr(estimator, "predict_proba")
    if is_regressor(estimator) or not (is_scored or is_classifier(estimator)):
        return _as_columns(_finite_output(estimator, "predict", X))
    if hasattr(estimator, "decision_function"):
        scores = _finite_output(estimator, "decision_function", X)
        scores = _drop_first_of_two(scores[:, np.newaxis] if scores.ndim == 1 else scores)
        _check_columns(scores, estimator)
        return scores
    if hasattr(estimator, "predict_proba"):
        return softened_log_odds(predict_probabilities(estimator, X))
    raise ValueError(
        "The classifier must have decision_function or predict_proba, but "
        f"{type(estimator).__name__} has neither once it is fitted: labels alone cannot be "
        "ranked. Pass a classifier that returns scores, for instance "
        "VotingClassifier(voting='soft')."
    )


def _partition_scores(partition: Block, estimator: BaseEstimator) -> np.ndarray:
    """Scores of the rows of one partition, which may have none."""
    if len(partition["X"]):
        return estimator_scores(estimator, partition["X"])
    n_classes = len(getattr(estimator, "classes_", (0, 1)))
    return np.empty((0, 1 if n_classes == 2 else n_classes))


def _as_columns(predictions: np.ndarray) -> np.ndarray:
    """Predictions of a regressor, (n_samples, n_targets)."""
    return predictions.reshape(len(predictions), -1)


def softened_log_odds(probabilities: np.ndarray) -> np.ndarray:
    """Log-odds of the columns of predict_proba, softened to be finite everywhere."""
    # Shrink towards 1/2, then take the log-odds: finite, and in the same order.
    softened = SOFTENING + (1.0 - 2.0 * SOFTENING) * _drop_first_of_two(probabilities)
    return np.log(softened / (1.0 - softened))


def predict_probabilities(
    estimator: ScreenedClassifier | LogisticModel | BaseEstimator, X: TableLike
) -> np.ndarray:
    """Probabilities of the classes by a fitted classifier, checked, (n_samples, n_classes)."""
    probabilities = _finite_output(estimator, "predict_proba", X)
    name = type(estimator).__name__
    shape = (len(probabilities), len(getattr(estimator, "classes_", (0, 1))))
    if probabilities.shape != shape:
        raise ValueError(
            f"predict_proba of {name} must return one column for each of its {shape[1]} classes, "
            f"shape {shape}, but it returned shape {probabilities.shape}. Return them in the order "
            "of classes_, also that of the first of two."
        )
    # Rounding is clipped, which in float32 is below 1e-6. Other numbers are on another scale.
    low = probabilities.min(initial=0.0)
    high = probabilities.max(initial=1.0)
    if low < -1e-6 or high > 1.0 + 1e-6:
        raise ValueError(
            f"predict_proba of {name} must return probabilities between 0 and 1, but they are "
            f"between {low:.3g} and {high:.3g}. Return scores of any other scale by "
            "decision_function."
        )
    totals = probabilities.sum(axis=1)
    differences = np.abs(totals - 1.0)
    # The sum may differ from 1 by rounding.
    if differences.max(initial=0.0) > 0.01:
        total = totals[differences.argmax()]
        raise ValueError(
            f"predict_proba of {name} must return probabilities that add up to 1 over the "
            f"classes, but those of a row add up to {total:.3g}. Divide each row by its sum, or "
            "return scores of any other scale by decision_function."
        )
    return probabilities.clip(0.0, 1.0)


def predict_label_probabilities(
    classifier: ScreenedClassifier | LogisticModel | BaseEstimator, X: TableLike, n_labels: int
) -> np.ndarray:
    """Probabilities of labels from 0 on, (n_samples, n_labels); 0 of those that were not fitted."""
    if getattr(classifier, "returns_probabilities", False):
        columns = classifier.predict_proba(X)  # type: ignore[arg-type]  # of any table
    else:
        columns = predict_probabilities(classifier, X)
    probabilities = np.zeros((len(columns), n_labels))
    probabilities[:, classifier.classes_.astype(np.intp)] = columns
    return probabilities


def _finite_output(
    estimator: ScreenedClassifier | LogisticModel | BaseEstimator,
    method: str,
    X: TableLike | None,
) -> np.ndarray:
    """What a method of a classifier returns, as finite numbers, one row per sample."""
    name = f"{method} of {type(estimator).__name__}"
    with explain_conversion(X, estimator):
        output = getattr(estimator, method)(X)
    try:
        scores = np.asarray(output, dtype=float)
    except (TypeError, ValueError) as error:
        values = map(repr, np.asarray(output, dtype=object).ravel().tolist())
        raise ValueError(
            f"{name} must return an array of numbers, but returned {join_names(values, 3)}."
        ) from error
    n_samples = count_samples(X)
    if scores.ndim not in (1, 2) or len(scores) != n_samples:
        raise ValueError(
            f"{name} must return one row for each of the {n_samples} samples, but it returned "
            f"shape {scores.shape}. Return a 1-D array, or a 2-D one with a column per class."
        )
    is_valid = np.abs(scores) < _MAX_SCORE  # False for nan
    if not is_valid.all():
        n_bad = n_samples - int(is_valid.all(axis=tuple(range(1, scores.ndim))).sum())
        raise ValueError(
            f"{name} must return finite numbers, below {_MAX_SCORE:g} in absolute value, but "
            f"{n_bad} of {n_samples} rows have nan, inf or larger numbers. Check the "
            f"{estimator_noun(estimator)} for overflow, and X for values far outside its training "
            "data."
        )
    return scores


def _drop_first_of_two(columns: np.ndarray) -> np.ndarray:
    """The column of the second of two classes, or all of more."""
    return columns[:, 1:] if columns.shape[1] == 2 else columns


def _check_columns(scores: np.ndarray, estimator: BaseEstimator) -> None:
    """Raise for scores that are not one per class, such as those of pairs of classes."""
    n_classes = len(getattr(estimator, "classes_", (0, 1)))
    n_columns = scores.shape[1]
    if n_columns != (n_classes if n_classes > 2 else 1):
        raise ValueError(
            f"A classifier must give one score for each of the {n_classes} classes, or just one "
            f"for the second of two, but the decision_function of {type(estimator).__name__} has "
            f"{n_columns} columns; pass decision_function_shape='ovr' to those that compare pairs."
        )


def estimator_noun(estimator: BaseEstimator) -> str:
    """What messages and the tasks of callbacks call an estimator."""
    return "regressor" if is_regressor(estimator) else "classifier"


def check_base_type(wrapper: BaseEstimator, base: BaseEstimator) -> None:
    """Raise unless a wrapped estimator is a classifier, or a regressor, as its wrapper is."""
    noun, mixin, other = "classifier", "ClassifierMixin", "Regressor"
    if is_regressor(wrapper):
        noun, mixin, other = "regressor", "RegressorMixin", "Classifier"
    if (is_regressor if is_regressor(wrapper) else is_classifier)(base):
        return
    name = type(wrapper).__name__.replace(noun.capitalize(), other)
    is_other = (is_classifier if is_regressor(wrapper) else is_regressor)(base)
    advice = f"Derive a {noun} of your own from sklearn.base.{mixin}, named before BaseEstimator."
    if is_other and name != type(wrapper).__name__:
        advice = f"Pass a {other.lower()} to {name}."
    raise ValueError(
        f"estimator must be a {noun}, but {type(base).__name__} is none by "
        f"sklearn.base.is_{noun}. {advice}"
    )


def final_step(estimator: BaseEstimator) -> BaseEstimator:
    """The estimator at the end of pipelines, searches and frozen estimators."""
    while (inner := inner_estimator(estimator)) is not None:
        estimator = inner
    return estimator


def final_step_features(estimator: BaseEstimator | None, X: Table) -> Table:
    """X as the estimator at the end of a fitted pipeline, search or frozen estimator gets it."""
    while (inner := inner_estimator(estimator)) is not None:
        if isinstance(estimator, Pipeline):
            X = transform_before_last_step(estimator, X)
        estimator = inner
    return X


_MONOTONE_PARAMETERS = "monotonic_cst", "monotone_constraints"
"""Of scikit-learn, and of XGBoost, LightGBM and CatBoost."""


def free_columns(estimator: BaseEstimator | None, features: Table) -> np.ndarray | None:
    """Positions of columns in which a model is not made monotone; None if that is all of them.

    ``features`` are those of the model's final step.
    """
    if estimator is None:
        return None
    last = final_step(estimator)
    params = last.get_params(deep=False) if hasattr(last, "get_params") else {}
    signs = next((params[one] for one in _MONOTONE_PARAMETERS if params.get(one) is not None), None)
    if signs is None:
        return None
    if isinstance(signs, str):  # as in "(1,0,-1)" or "feature:1,other:-1"
        pairs = [one.rpartition(":") for one in signs.strip("()[] ").split(",")]
        signs = {k: v for k, _, v in pairs} if ":" in signs else [v for *_, v in pairs]
    n_columns = np.shape(features)[1]
    if isinstance(signs, dict):
        names = getattr(features, "columns", getattr(last, "feature_names_in_", range(n_columns)))
        signs = {str(name): sign for name, sign in signs.items()}
        signs = [signs.get(str(name), signs.get(str(k), 0)) for k, name in enumerate(names)]
    bound = np.zeros(n_columns, dtype=bool)
    bound[: len(signs)] = np.asarray(signs, dtype=float) != 0.0
    return np.flatnonzero(~bound) if bound.any() else None


def warn_if_scores_alone(base: BaseEstimator, X: TableLike) -> None:
    """Warn if models of groups get one column, although X has several."""
    n_columns, n_used = (
        getattr(one, "shape", (0,))[-1] for one in (X, final_step_features(base, X))
    )
    if n_used == 1 and n_columns > 1:
        warn(
            f"The group is estimated from what the final step of {type(base).__name__} gets, which "
            f"is 1 of the {n_columns} columns of X, so that other columns cannot show it. If the "
            "column has scores, pass skfair.preprocessing.ScoreColumn(column) as the estimator: "
            "the group is then estimated from all columns."
        )


def code_equal_rows(estimators: list[BaseEstimator], X: TableLike) -> np.ndarray | None:
    """Codes of the rows that are equal before the last step of every estimator, (n_samples,).

    New samples with equal features get equal predictions. None where hardly any rows are equal, as
    far as can be compared.
    """
    n_samples = count_samples(X)
    # First 500 rows: where most of them are distinct, no more are transformed.
    for rows in (np.linspace(0, n_samples - 1, 500).astype(np.intp), np.arange(n_samples)):
        codes = np.zeros(len(rows), dtype=np.intp)
        for features in (final_step_features(one, safe_indexing(X, rows)) for one in estimators):
            hashes = hash_rows(features)
            if hashes is None:
                return None
            pairs = codes, np.unique(hashes, return_inverse=True)[1]
            codes = np.unique(np.column_stack(pairs), axis=0, return_inverse=True)[1].ravel()
        if len(np.unique(codes)) > 0.5 * len(np.unique(rows)):
            return None
    return codes


class EqualRows:
    """Rows with equal features, of which new samples get the mean of the folds' predictions.

    `codes` are those of `code_equal_rows`, or None. Samples of which enough have equal features,
    in all folds, count with that mean too: so no rule can tell them apart, as in new data.
    """

    def __init__(self, codes: np.ndarray | None, folds: list[list[np.ndarray]]) -> None:
        self._cell = None
        if codes is None:
            return
        fold = np.zeros(len(codes), dtype=np.intp)
        for number, (_, test) in enumerate(folds):
            fold[test] = number
        shape = codes.max() + 1, len(folds)
        self._cell = codes * len(folds) + fold
        self._codes = codes
        self._sizes = np.bincount(self._cell, minlength=np.prod(shape)).reshape(shape)
        self._is_averaged = np.asarray((self._sizes > 0).all(axis=1))
        # Twenty copies of a row or more are of all folds.
        self._is_averaged &= self._sizes.sum(axis=1) >= 20

    def average(self, values: np.ndarray) -> np.ndarray:
        """Values of samples, (n_samples, ...), equal for many equal rows."""
        if self._cell is None:
            return values
        flat = values.reshape(len(values), -1)
        sizes = np.maximum(self._sizes, 1)
        sums = [np.bincount(self._cell, column, sizes.size) for column in flat.T]
        means = [(of_one.reshape(sizes.shape) / sizes).mean(axis=1) for of_one in sums]
        is_averaged = self._is_averaged[self._codes, np.newaxis]
        averaged = np.reshape(means, (flat.shape[1], -1)).T[self._codes]
        return np.where(is_averaged, averaged, flat).reshape(values.shape)


def inner_estimator(estimator: BaseEstimator | None) -> BaseEstimator | None:
    """The estimator that a pipeline, search or frozen estimator ends in; None for all others."""
    if isinstance(estimator, Pipeline):
        return estimator.steps[-1][1]
    if isinstance(estimator, FrozenEstimator):
        return estimator.estimator
    return getattr(estimator, "best_estimator_", None)


def unique_levels(scores: np.ndarray) -> np.ndarray:
    """Scores that differ by more than rounding, ascending: the lowest of each set of equal ones.

    The last bits of a sample's score depend on the samples that it is scored with.
    """
    ordered = np.unique(scores)
    return ordered[np.diff(ordered, prepend=-np.inf) > _rounding_tolerance(ordered)]


def snap_to_levels(scores: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Scores, those equal to one of the `unique_levels` up to rounding replaced by it."""
    # The nearest level is the next one above or below.
    above = np.minimum(np.searchsorted(levels, scores), len(levels) - 1)
    tolerance = _rounding_tolerance(levels)
    for position in (above, np.maximum(above - 1, 0)):
        level = levels[position]
        scores = np.where(np.abs(scores - level) <= tolerance, level, scores)
    return scores


def _rounding_tolerance(levels: np.ndarray) -> float:
    """Largest difference that rounding makes between equal scores."""
    # Rounding separates the scores of samples with equal features.
    return 2.0**-40 * np.abs(levels).max()


# Out-of-fold and out-of-bag scores.
#
# Training-set scores of a flexible classifier are overfitted, so constraints that hold for them
# fail on new data. Here every training sample is scored by a model that was not fitted to it.


_NOT_FITTED = (
    "estimator must be fitted where cv='prefit', but this %(name)s is not. Call its fit first. "
    "Searches, fit_ladder and fairness_front fit clones, which are not fitted: pass them "
    "sklearn.frozen.FrozenEstimator(estimator) of the fitted one, without cv='prefit'."
)


def cross_fit(
    estimator: BaseEstimator,
    X: Table,
    y: np.ndarray,
    folds: str | list[list[np.ndarray]],
    *,
    params: dict[str, np.ndarray] | None = None,
    n_jobs: int | None = None,
    subtask: Callable | type = nullcontext,
    memory: str | Memory | None = None,
) -> tuple[list[BaseEstimator], np.ndarray]:
    """Fitted estimators, and the `estimator_scores` of each sample by one not fitted to it.

    Folds are those of `make_folds`; "prefit" takes a fitted estimator as it is, and so does a
    FrozenEstimator; "oob" fits one forest. ``subtask`` makes a context manager of a fit's name.
    Fits are stored in ``memory``.
    """
    params = params or {}
    y = column_or_1d(y)
    name = estimator_noun(estimator)
    if isinstance(estimator, FrozenEstimator) or (isinstance(folds, str) and folds == "prefit"):
        check_is_fitted(estimator, msg=_NOT_FITTED)
        _check_classes(estimator, np.unique(y))
        return [estimator], estimator_scores(estimator, X)
    _warn_of_refit(estimator)
    _check_clone(estimator)
    if isinstance(folds, str):
        _refuse_supervised_steps(estimator, X, y)
        with subtask(f"{name} of all samples"):
            forest = _enable_out_of_bag_scores(clone(estimator))
            fitted = [_fit_from_memory(forest, X, y, params, memory)]
        return fitted, score_out_of_fold(fitted, X, folds)

    # One clone per fold, fitted without the samples that it scores.
    names = [f"{name} of fold {k + 1} of {len(folds)}" for k in range(len(folds))]
    fitted = Parallel(n_jobs=n_jobs)(
        delayed(fit_rows)(estimator, X, y, params, train, subtask(name), memory)
        for (train, _), name in zip(folds, names, strict=True)
    )
    return fitted, score_out_of_fold(fitted, X, folds)


def score_out_of_fold(
    fitted: list[BaseEstimator], X: Table, folds: str | list[list[np.ndarray]]
) -> np.ndarray:
    """The `estimator_scores` of samples by estimators of `cross_fit`; nan where no fold has one."""
    if isinstance(folds, str) and folds == "oob":
        return _out_of_bag_scores(final_step(fitted[0]))
    if isinstance(folds, str) or isinstance(fitted[0], FrozenEstimator):
        return estimator_scores(fitted[0], X)
    tests = [test for _, test in folds]
    fold_scores = [
        estimator_scores(one, safe_indexing(X, test))
        for one, test in zip(fitted, tests, strict=True)
    ]
    scores = np.full((count_samples(X), fold_scores[0].shape[1]), np.nan)
    scores[np.concatenate(tests)] = np.concatenate(fold_scores)
    return scores


def find_changed_parameter(
    estimator: BaseEstimator, folds: str | list[list[np.ndarray]], fitted: BaseEstimator
) -> str | None:
    """A parameter that differs from that of a clone fitted by `cross_fit`; None if there is none.

    Numbers, texts and switches are compared, also of steps of a pipeline, and the types of others.
    """
    if isinstance(folds, str) and folds == "oob":
        estimator = _enable_out_of_bag_scores(clone(estimator))
    before, now = fitted.get_params(), estimator.get_params()
    for name in before | now:
        values = [params.get(name) for params in (before, now)]
        is_plain = all(isinstance(one, str | Number | None) for one in values)
        facts = map(repr if is_plain else type, values)
        if name not in before or name not in now or len({*facts}) > 1:
            return name
    return None if type(fitted) is type(estimator) else "its class"


def _check_clone(estimator: BaseEstimator) -> None:
    """Raise for an estimator whose constructor copies an argument: its clones are refused."""
    try:
        clone(estimator)
    except RuntimeError as error:
        raise ValueError(
            f"Each fold fits a clone of the {estimator_noun(estimator)}, but: {error}. If that is "
            "a list, pass a tuple, or pass it to fit, as in fit(X, y, sensitive_features=..., "
            "cat_features=[...])."
        ) from error


def cross_fit_and_refit(
    estimator: BaseEstimator,
    X: TableLike,
    y: np.ndarray,
    params: Bunch | dict[str, np.ndarray],
    cv: CrossValidation,
    strata: np.ndarray,
    groups: TableLike | None = None,
    subtask: Callable[..., Any] = nullcontext,
) -> tuple[BaseEstimator, list[BaseEstimator], np.ndarray]:
    """One classifier of two classes fitted to all samples, those of the folds, and their scores.

    Samples of negative stratum are left out. Partitioned X needs a fitted classifier.
    """
    present = np.flatnonzero(strata >= 0)
    if is_partitioned(X):
        if cv != "prefit" and not isinstance(estimator, FrozenEstimator):
            raise ValueError(
                f"X is partitioned, and {type(estimator).__name__} cannot be fitted to it fold by "
                "fold: pass sklearn.frozen.FrozenEstimator(estimator), fitted to other samples, or "
                "a sample of X in memory."
            )
        fitted, scores = cross_fit(estimator, X, y, "prefit")
        return fitted[0], fitted, scores[present, 0]
    (X,) = indexable(X)
    check_out_of_bag(cv, groups)
    folds = cv if isinstance(cv, str) else make_folds(cv, X, y, strata, groups=groups)
    params = check_method_params(X, params, indices=present)
    X = safe_indexing(X, present)
    y = y[present]
    estimators, scores = cross_fit(estimator, X, y, folds, params=params, subtask=subtask)
    if len(estimators) == 1:
        return estimators[0], estimators, scores[:, 0]
    task = subtask("classifier of all samples")
    of_all = fit_rows(estimator, X, y, params, np.arange(len(y)), task)
    return of_all, estimators, scores[:, 0]


def fit_rows(
    estimator: BaseEstimator,
    X: TableLike,
    y: np.ndarray,
    params: dict[str, np.ndarray],
    rows: np.ndarray,
    subtask: nullcontext | Subtask | None = None,
    memory: str | Memory | None = None,
) -> BaseEstimator:
    """A clone of the estimator, fitted to some of the rows."""
    params = check_method_params(X, params, indices=rows)
    with subtask or nullcontext():
        fitted = _fit_from_memory(clone(estimator), safe_indexing(X, rows), y[rows], params, memory)
    _check_classes(fitted, np.unique(y))
    return fitted


def _fit_from_memory(
    estimator: BaseEstimator,
    X: TableLike,
    y: np.ndarray,
    params: dict[str, np.ndarray],
    memory: str | Memory | None,
) -> BaseEstimator:
    """The estimator, fitted, or that of an equal fit, which one without random state never is."""
    is_random = any(
        name.rpartition("__")[2] == "random_state" and value is None
        for name, value in estimator.get_params().items()
    )
    fit = _fit if memory is None or is_random else check_memory(memory).cache(_fit)
    return fit(estimator, X, y, params)


def _fit(
    estimator: BaseEstimator, X: TableLike, y: np.ndarray, params: dict[str, np.ndarray]
) -> BaseEstimator:
    """The estimator, fitted; errors say what to pass if X has text, or classes are no codes."""
    try:
        with explain_conversion(X, estimator):
            return estimator.fit(X, y, **params)
    except ValueError as error:
        classes = np.unique(y)
        if is_regressor(estimator) or np.array_equal(classes, np.arange(len(classes))):
            raise
        name = type(final_step(estimator)).__name__
        raise ValueError(
            f"{error} (The classes are {classes.tolist()}. If {name} takes only 0, 1, ..., pass "
            f"y as such numbers: (y == {classes.tolist()[-1]!r}).astype(int) of two classes, or "
            "LabelEncoder().fit_transform(y).)"
        ) from error


def check_held_out(
    estimator: BaseEstimator,
    cv: CrossValidation,
    X: TableLike,
    X_fit: TableLike | None,
    rows: np.ndarray,
) -> None:
    """Raise for rows of X that are among the training data of an estimator that is fitted already.

    ``X_fit`` of None compares nothing.
    """
    if X_fit is None:
        return
    steps = [estimator, *estimator.get_params().values()]
    if cv != "prefit" and not any(isinstance(step, FrozenEstimator) for step in steps):
        raise ValueError(
            f"X_fit is the training data of a {estimator_noun(estimator)} that is fitted already, "
            f"but clones of {type(estimator).__name__} are fitted here. Leave X_fit out, or pass "
            "cv='prefit'."
        )
    if is_partitioned(X):
        raise ValueError(
            "X_fit is compared with samples in memory only, but X is partitioned. Leave X_fit out, "
            "or pass a sample of X in memory."
        )
    (X,) = indexable(X)
    refuse_training_data(safe_indexing(X, rows), X_fit)


def _warn_of_refit(estimator: BaseEstimator) -> None:
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


def _check_classes(estimator: BaseEstimator, classes: np.ndarray) -> None:
    """Raise for a fitted classifier whose classes are not those of y."""
    if is_regressor(estimator):  # CatBoost's have classes_, which are none
        return
    known = getattr(estimator, "classes_", classes)
    if not np.array_equal(known, classes):
        raise ValueError(
            f"The classifier and y must have the same {len(classes)} classes, but those of y are "
            f"{classes.tolist()} and those of {type(estimator).__name__} {np.ravel(known).tolist()}"
            "; pass y in the labels of the classifier, or fit it on those of y."
        )


# Out-of-bag scores --------------------------------------------------------------------


def _enable_out_of_bag_scores(estimator: BaseEstimator) -> BaseEstimator:
    """The estimator, its forest set to keep out-of-bag scores."""
    forest = final_step(estimator)
    known = forest.get_params()
    if "oob_score" not in known or "bootstrap" not in known:
        raise ValueError(
            f"cv='oob' needs a forest or bagged estimator, whose members leave samples out, but "
            f"estimator is {type(forest).__name__}. Pass cv=5, or a splitter."
        )
    forest.set_params(oob_score=True, bootstrap=True)
    return estimator


def _refuse_supervised_steps(estimator: BaseEstimator, X: np.ndarray, y: np.ndarray) -> None:
    """Raise for preprocessing that uses y: out-of-bag scores would depend on their own labels."""
    if not isinstance(estimator, Pipeline):
        return
    before = estimator[:-1]
    last = estimator.steps[-1][1]
    if not len(before):
        _refuse_supervised_steps(last, X, y)
        return
    # Fit the steps with and without y: equal features prove that y is not used.
    error = None
    try:
        features = clone(before).fit(X, y).transform(X)
        uses_y = _hash(clone(before).fit(X).transform(X)) != _hash(features)
    except (TypeError, ValueError, AttributeError) as raised:
        uses_y = True
        error = raised
    if uses_y:
        raise ValueError(
            f"cv='oob' needs preprocessing that does not use y, for it is fitted to all samples, "
            f"but the steps before {type(last).__name__} "
            f"{'cannot be fitted' if error else 'give other features'} without y. Pass cv=5, or "
            "fit them within the bags, as BaggingClassifier(pipeline, oob_score=True) does. "
            "Steps that draw random numbers need a random_state."
        ) from error
    _refuse_supervised_steps(last, features, y)


def _hash(features: np.ndarray) -> str:
    """A hash that is equal for equal features."""
    return joblib.hash(features if sparse.issparse(features) else np.asarray(features))


def _out_of_bag_scores(forest: BaseEstimator) -> np.ndarray:
    """The `estimator_scores` of each sample by the trees that have not drawn it."""
    if is_regressor(forest):
        predictions = _as_columns(forest.oob_prediction_)
        # scikit-learn predicts 0 for samples that every tree has drawn.
        is_missing = np.ones(len(predictions), dtype=bool)
        for drawn in forest.estimators_samples_:
            is_missing &= np.bincount(drawn, minlength=len(predictions)) > 0
        _check_out_of_bag_scores(is_missing)
        return predictions
    probabilities = getattr(forest, "oob_decision_function_", None)
    if probabilities is None or hasattr(forest, "decision_function"):
        raise ValueError(
            'cv="oob" needs a classifier whose only scores are probabilities and that keeps those '
            "of samples out of the bag, such as RandomForestClassifier(oob_score=True), but this "
            f"is a {type(forest).__name__}. Pass a number of folds, as in cv=5."
        )
    # Samples that every tree has drawn have rows of zeros in forests, of nan in bagging.
    _check_out_of_bag_scores(~(probabilities.sum(axis=1) > 0))
    return softened_log_odds(probabilities)


def _check_out_of_bag_scores(is_missing: np.ndarray) -> None:
    """Raise for samples without out-of-bag scores."""
    if is_missing.any():
        raise ValueError(
            f"{is_missing.sum()} of {len(is_missing)} samples are in the bag of every tree, so "
            "that they have no out-of-bag scores. Grow more trees, or pass a number of folds, as "
            "in cv=5."
        )


# Calibrated probabilities, moved as little as the decisions require.


MIN_LEAD = 1e-9
"""Minimum lead of the predicted class."""


def fit_platt_scaling(scores: np.ndarray, training: TrainingData) -> np.ndarray:
    """Slope and intercept of the log-odds as a function of out-of-fold scores (Platt scaling)."""
    # The penalty matters only where the scores separate the classes perfectly.
    share = training.samples.weights / training.samples.weights.sum()
    center = share @ scores
    spread = np.sqrt(share @ (scores - center) ** 2)
    # Constant scores: the log-odds of the positive class's share.
    if spread <= 1e-12 * (1.0 + abs(center)):
        rate = share @ (training.samples.target > 0)
        return np.array([0.0, np.log(rate / (1.0 - rate))])
    from sklearn.linear_model import LogisticRegression  # takes long to import

    platt = LogisticRegression(C=1e6, max_iter=1000)
    column = ((scores - center) / spread)[:, np.newaxis]
    platt.fit(column, training.samples.target > 0, sample_weight=share)
    slope = platt.coef_[0, 0] / spread
    return np.array([slope, platt.intercept_[0] - slope * center])


MAX_PROBABILITY = 1.0 - 1e-9
"""Of a class among several, whose log-odds are finite."""


def calibrated_log_odds(
    scores: np.ndarray, calibration: np.ndarray | list[np.ndarray]
) -> np.ndarray:
    """Log-odds of each class's score, (n_samples, n_scores); of several, probabilities sum to 1."""
    slope, intercept = np.atleast_2d(calibration).T
    odds = slope * scores + intercept
    if odds.shape[1] == 1:
        return odds
    success = np.maximum(expit(odds), np.finfo(float).tiny)
    return logit(np.minimum(success / success.sum(axis=1, keepdims=True), MAX_PROBABILITY))


def find_operating_point(
    estimators: list[BaseEstimator], X: TableLike, tests: list[np.ndarray], scores: np.ndarray
) -> float | None:
    """Score from which on classifiers of two classes predict the second one; None if none predicts.

    It is 0 where they predict the likelier class. Else as many scores are above it as predictions
    are of the second class; of several estimators it is the mean. Columns of scores have no rule:
    where they are 0 says nothing.
    """
    if any(isinstance(final_step(one), ScoreColumn) for one in estimators):
        return None
    if not all(hasattr(one, "predict") for one in estimators):
        return None
    points = []
    for estimator, test in zip(estimators, tests, strict=True):
        labels = np.asarray(estimator.predict(safe_indexing(X, test))).ravel()
        accepted = labels == estimator.classes_[1]
        of_fold = scores[test]
        ends = np.sort(np.concatenate(([of_fold.min() - 1.0, of_fold.max() + 1.0], of_fold)))
        n_below = np.count_nonzero(~accepted)
        is_likelier = np.array_equal(accepted, of_fold > 0)
        points.append(0.0 if is_likelier else ends[n_below : n_below + 2].mean())
    return float(np.mean(points))


def make_predicted_class_likeliest(probabilities: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """The nearest probabilities, by least squares, of which the predicted class has the largest.

    ``classes`` holds the position of each sample's predicted class.
    """
    rows = np.arange(len(probabilities))
    matched = probabilities / probabilities.sum(axis=1, keepdims=True)
    others = matched.copy()
    others[rows, classes] = -np.inf
    ranking = np.argsort(-others, axis=1)
    # Raise the predicted class, and lower the likelier others, to the mean of them all.
    total = matched[rows, classes]
    level = matched[rows, classes]
    for count, rival in enumerate(ranking[:, :-1].T, start=1):
        is_above = matched[rows, rival] > level
        total = np.where(is_above, total + matched[rows, rival], total)
        level = np.where(is_above, total / (count + 1), level)
    matched = np.minimum(matched, level[:, np.newaxis])
    matched[rows, classes] = level
    # Break the tie.
    matched *= 1.0 - MIN_LEAD
    matched[rows, classes] += MIN_LEAD
    return matched


def match_probabilities_to_decisions(
    success: np.ndarray, thresholds: np.ndarray | None, scores: np.ndarray
) -> np.ndarray:
    """Calibrated probabilities, stretched on both sides of their thresholds until these are 1/2.

    Scores are positive where success is predicted; without thresholds they are log-odds.
    """
    if thresholds is None:
        matched = expit(scores)
    else:
        with np.errstate(divide="ignore", invalid="ignore"):
            below = success / (2.0 * thresholds)
            above = 1.0 - (1.0 - success) / (2.0 * (1.0 - thresholds))
        matched = np.where(scores > 0, above, below)
    # Rounding must not move a probability to the other side.
    half = np.nextafter(0.5, np.where(scores > 0, 1.0, 0.0))
    return np.where(scores > 0, np.clip(matched, half, 1.0), np.clip(matched, 0.0, half))


# Signs that a fitted estimator was fitted to the samples that it is about to score.


_TRAINING_DATA_ATTRIBUTES = ("_fit_X", "X_train_", "support_vectors_")
"""Attributes with training samples: of nearest neighbours, Gaussian processes, support vectors."""

_MIN_SAMPLES = 50
"""Samples without a mistake that are suspicious; fewer may be easy."""

_MIN_LEAVES = 3
"""Leaves of a tree whose sizes show its training data."""

_SAME_LEAVES_MESSAGE = "every leaf of a tree has as many samples as in its training"


def warn_if_training_data(
    estimator: BaseEstimator,
    cv: CrossValidation,
    X: TableLike,
    labels: np.ndarray,
    scores: np.ndarray,
) -> None:
    """Warn if X seems to be the training data of an estimator that is fitted already.

    ``scores`` are the `estimator_scores` of the samples. Not every estimator shows what it was
    fitted to; ``X_fit`` of the estimators' ``fit`` compares samples with any training data.
    """
    is_fitted = isinstance(estimator, FrozenEstimator) or (isinstance(cv, str) and cv == "prefit")
    if not is_fitted or is_partitioned(X):
        return
    classifier = final_step(estimator)
    features = final_step_features(estimator, X)
    sign = ""
    if not sparse.issparse(features):
        sign = _compare_stored_rows(classifier, features)
        sign = sign or _compare_leaves(classifier, features)
        sign = sign or _compare_boosted_leaves(classifier, features)
    if sign:
        warn(
            f"X looks like the training data of the fitted {type(classifier).__name__}: {sign}. "
            "What holds for training scores does not hold for new data. Pass samples that it was "
            f"not fitted to, or an unfitted {estimator_noun(classifier)} with cv=5; X_fit=, its "
            "training data, compares them row by row."
        )
    elif faultless := _detect_faultless_scores(classifier, labels, scores):
        warn(
            f"X may be the training data of the fitted {type(classifier).__name__}, or easy to "
            f"predict: {faultless}. What holds for training scores does not hold for new data. If "
            "these are the samples that it was fitted to, pass others; X_fit=, its training data, "
            "compares them row by row."
        )


def _compare_stored_rows(classifier: BaseEstimator, features: TableLike) -> str:
    """A sign if most training samples that the classifier stores are among the features."""
    for name in _TRAINING_DATA_ATTRIBUTES:
        stored = getattr(classifier, name, None)
        if isinstance(stored, np.ndarray) and stored.ndim == 2 and len(stored):
            share = share_of_rows(stored, np.asarray(features))
            if share > 0.5:
                return f"it has {share:.0%} of the samples that the classifier stores"
    return ""


def _compare_leaves(classifier: BaseEstimator, features: Table) -> str:
    """A sign if every leaf of the first tree has as many samples as in its training."""
    tree = classifier
    if len(members := getattr(classifier, "estimators_", [])):
        tree = members[0][0] if isinstance(members[0], np.ndarray) else members[0]
        features = np.asarray(features)  # members are fitted without names of columns
    if not hasattr(tree, "tree_") or tree.tree_.n_leaves < _MIN_LEAVES:
        return ""
    n_samples, n_features = features.shape
    if n_features != tree.tree_.n_features:  # some of bagging
        return ""
    # A tree of a forest was fitted to drawn samples.
    drawn = getattr(classifier, "estimators_samples_", [np.arange(n_samples)])[0]
    if len(drawn) != n_samples or drawn.max() >= n_samples:
        return ""
    counts = np.bincount(tree.apply(features)[drawn], minlength=tree.tree_.node_count)
    is_leaf = tree.tree_.children_left < 0
    if np.array_equal(counts[is_leaf], tree.tree_.weighted_n_node_samples[is_leaf]):
        return _SAME_LEAVES_MESSAGE
    return ""


def _compare_boosted_leaves(classifier: BaseEstimator, features: Table) -> str:
    """The same sign for histograms of gradients, whose samples in a leaf have one first score.

    Samples that were held out for early stopping are not in the leaves.
    """
    leaves = first_tree_leaves(classifier)
    if leaves is None or len(leaves) < _MIN_LEAVES or leaves["count"].sum() != len(features):
        return ""
    staged = "staged_predict" if is_regressor(classifier) else "staged_decision_function"
    first = next(getattr(classifier, staged)(features)).reshape(len(features), -1)[:, 0]
    # Scores have a constant besides. Leaves of equal values, up to rounding, are one.
    first, values = (np.round(one - one.min(), 9) for one in (first, leaves["value"]))
    values, positions = np.unique(values, return_inverse=True)
    trained = np.bincount(positions, leaves["count"], len(values))
    return _SAME_LEAVES_MESSAGE if np.array_equal(np.unique_counts(first).counts, trained) else ""


def _detect_faultless_scores(
    classifier: BaseEstimator, labels: np.ndarray, scores: np.ndarray
) -> str:
    """A sign if the estimator is right about each of many samples."""
    if is_regressor(classifier):
        spread = np.ptp(labels)
        error = np.abs(scores[:, 0] - labels).max()
        if len(labels) >= _MIN_SAMPLES and spread > 0 and error <= 1e-9 * spread:
            return f"it predicts the target of all {len(labels)} samples exactly"
        return ""
    codes = scores.argmax(axis=1) if scores.shape[1] > 1 else (scores[:, 0] > 0).astype(int)
    classes = getattr(classifier, "classes_", np.unique(labels))
    if len(labels) >= _MIN_SAMPLES and (classes[codes] == labels).all():
        return f"it makes no mistake about any of the {len(labels)} samples"
    return ""
