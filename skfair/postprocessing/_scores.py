"""Scores of fitted classifiers, checked, on the scale of log-odds."""

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import indexable

from skfair.partitions import is_partitioned, partitions_of

_ROUNDING = 1e-6
"""By how much probabilities may be below 0 or above 1."""

_SOFTENING = 1e-3
"""Probabilities of 0 and 1, such as those of trees, get the log-odds of this and its complement."""

_EQUAL = 2.0**-40
"""Relative difference by which rounding separates the scores of samples with equal features."""


def mean_scores(estimators, X):
    """Mean of the `classifier_scores` of several classifiers, (n_samples, n_scores)."""
    return np.mean([classifier_scores(estimator, X) for estimator in estimators], axis=0)


def classifier_scores(estimator, X):
    """Decision function, else log-odds of the probabilities, of each row, (n_samples, n_scores).

    With two classes there is one score, positive where the second is likelier; else one per class.
    """
    if is_partitioned(X):
        return np.concatenate(partitions_of(X=X).gather(_partition_scores, estimator))
    if hasattr(estimator, "decision_function"):
        scores = _finite_output(estimator, "decision_function", X)
        scores = _drop_first_of_two(scores[:, np.newaxis] if scores.ndim == 1 else scores)
        _check_columns(scores, estimator)
        return scores
    if hasattr(estimator, "predict_proba"):
        return probability_scores(predict_probabilities(estimator, X))
    raise ValueError(
        "The classifier must have decision_function or predict_proba, but "
        f"{type(estimator).__name__} has neither once it is fitted: labels alone cannot be "
        "ranked. Pass a classifier that returns scores, for instance "
        "VotingClassifier(voting='soft')."
    )


def _partition_scores(partition, estimator):
    """Scores of the rows of one partition, which may have none."""
    if len(partition["X"]):
        return classifier_scores(estimator, partition["X"])
    return np.empty((0, 1 if len(estimator.classes_) == 2 else len(estimator.classes_)))


def probability_scores(probabilities):
    """Log-odds of the columns of predict_proba, softened to be finite everywhere."""
    # Shrink towards 1/2, then take the log-odds: finite, and in the same order.
    softened = _SOFTENING + (1.0 - 2.0 * _SOFTENING) * _drop_first_of_two(probabilities)
    return np.log(softened / (1.0 - softened))


def predict_probabilities(estimator, X):
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
    # Rounding is clipped; anything farther outside is on another scale.
    low, high = probabilities.min(initial=0.0), probabilities.max(initial=1.0)
    if low < -_ROUNDING or high > 1.0 + _ROUNDING:
        raise ValueError(
            f"predict_proba of {name} must return probabilities between 0 and 1, but they are "
            f"between {low:.3g} and {high:.3g}. Return scores of any other scale by "
            "decision_function."
        )
    return probabilities.clip(0.0, 1.0)


def _finite_output(estimator, method, X):
    """What a method of a classifier returns, as finite numbers, one row per sample."""
    name, output = f"{method} of {type(estimator).__name__}", getattr(estimator, method)(X)
    try:
        scores = np.asarray(output, dtype=np.float64)
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


def _drop_first_of_two(columns):
    """The column of the second of two classes, or all of more."""
    return columns[:, 1:] if columns.shape[1] == 2 else columns


def _check_columns(scores, estimator):
    """Refuse scores that are not one per class, such as those of pairs of classes."""
    n_classes, n_columns = len(getattr(estimator, "classes_", (0, 1))), scores.shape[1]
    if n_columns != (n_classes if n_classes > 2 else 1):
        raise ValueError(
            f"A classifier must give one score for each of the {n_classes} classes, or just one "
            f"for the second of two, but the decision_function of {type(estimator).__name__} has "
            f"{n_columns} columns; pass decision_function_shape='ovr' to those that compare pairs."
        )


def final_step(estimator):
    """The classifier at the end of pipelines, searches and frozen estimators."""
    while (inner := _inner_estimator(estimator)) is not None:
        estimator = inner
    return estimator


def final_step_features(estimator, X):
    """X as the classifier at the end of a fitted pipeline, search or frozen estimator gets it."""
    while (inner := _inner_estimator(estimator)) is not None:
        if isinstance(estimator, Pipeline) and len(estimator) > 1:
            X = estimator[:-1].transform(X)
        estimator = inner
    return X


def _inner_estimator(estimator):
    """The estimator that a pipeline, search or frozen estimator ends in; None for all others."""
    if isinstance(estimator, Pipeline):
        return estimator.steps[-1][1]
    if isinstance(estimator, FrozenEstimator):
        return estimator.estimator
    return getattr(estimator, "best_estimator_", None)


def unique_levels(scores):
    """Scores that differ by more than rounding, ascending: the lowest of each set of equal ones.

    The last bits of a sample's score depend on the samples that it is scored with.
    """
    ordered = np.unique(scores)
    return ordered[np.diff(ordered, prepend=-np.inf) > _rounding(ordered)]


def snap_to_levels(scores, levels):
    """Scores, those equal to one of the `unique_levels` up to rounding replaced by it."""
    # The nearest level is the next one above or below.
    above = np.minimum(np.searchsorted(levels, scores), len(levels) - 1)
    tolerance = _rounding(levels)
    for position in (above, np.maximum(above - 1, 0)):
        level = levels[position]
        scores = np.where(np.abs(scores - level) <= tolerance, level, scores)
    return scores


def _rounding(levels):
    """Largest difference that rounding makes between equal scores."""
    return _EQUAL * np.abs(levels).max()
