"""Estimators of the measures of a report, for each task of the predictions."""

from functools import partial

import numpy as np
from sklearn.utils.multiclass import type_of_target

from skfair.audit._measures import (
    binary_measures,
    clustering_measures,
    is_user_metric,
    multiclass_measures,
    regression_measures,
    score_measures,
)
from skfair.audit._model_predictions import to_numbers
from skfair.audit._tables import estimate_areas, estimate_means, evaluate_user_metric
from skfair.metrics import find_positive


def infer_kind(kind, columns):
    """The task of the predictions, which must fit the truth."""
    if kind not in (None, *_MEASURES):
        raise ValueError(f"kind must be one of {list(_MEASURES)} or None; got {kind!r}.")
    if "y_true" not in columns:
        if kind is None:
            _refuse_ambiguous_integers(columns["y_pred"])
        return kind or "classification"
    # Infer the task from the target.
    kind = kind or ("regression" if _has_scores(columns["y_true"]) else "classification")
    if kind == "classification" and _has_scores(columns["y_pred"]):
        raise ValueError(
            "y_true holds classes, but y_pred holds numbers with decimals, the first of them "
            f"{columns['y_pred'][0]!r}. Pass the predicted classes as y_pred, as in y_proba > 0.5, "
            'and these as y_proba or y_score; or pass kind="regression".'
        )
    return kind


def _refuse_ambiguous_integers(y_pred):
    """Raise if predictions without a target are more than two integers: classes or scores."""
    if y_pred.dtype.kind not in "iuf" or _has_scores(y_pred):
        return
    numbers = np.unique(y_pred)
    if len(numbers) > 2:
        raise ValueError(
            f"Without y_true the {len(numbers)} different integers of y_pred, from "
            f"{numbers[0]:g} to {numbers[-1]:g}, may be classes or scores. Pass "
            'kind="classification" for a selection rate of each class, kind="regression" for the '
            'scoring rate of scores, or kind="clustering" if they are clusters.'
        )


def _has_scores(column):
    """Whether a column holds numbers with decimals."""
    return type_of_target(column) == "continuous"


def find_positive_label(kind, columns, pos_label):
    """The positive class of two; None for several classes, and where there are no classes."""
    if kind != "classification":
        return None
    if "y_true" not in columns and _has_scores(columns["y_pred"]):
        if pos_label is not None:
            raise ValueError(
                f"pos_label names a class, but y_pred holds scores, the first of them "
                f"{columns['y_pred'][0]!r}. Leave pos_label out, or pass decisions as y_pred."
            )
        return None
    # Of more than two classes none is positive unless one is named.
    labels = [columns[name] for name in ("y_true", "y_pred") if name in columns]
    n_labels = len(set().union(*(np.unique(column).tolist() for column in labels)))
    if n_labels > 2 and pos_label is None:
        return None
    return find_positive(*labels, pos_label=pos_label)


def estimators_by_name(kind, columns, positive, metrics):
    """Estimators of all measures by name: functions of groups and weights."""
    estimators = _MEASURES[kind](columns, positive)
    for name, metric in (metrics or {}).items():
        _check_metric_name(name, estimators)
        estimators[name] = partial(
            evaluate_user_metric, metric, columns.get("y_true"), columns["y_pred"]
        )
    return estimators


def _check_metric_name(name, estimators):
    """Refuse a passed metric with the name of a measure of the report."""
    if name in estimators or not is_user_metric(name):
        raise ValueError(
            f"metrics must have other names than the measures of the report, but {name!r} is one "
            f"of them; rename it, as in metrics={{'own {name}': ...}}."
        )


def _classification(columns, positive):
    """Estimators of the measures of a classifier, by name; without a target also of scores."""
    truth, predicted = columns.get("y_true"), columns["y_pred"]
    if truth is None and _has_scores(predicted):
        return _means(score_measures(to_numbers(predicted, "y_pred")))
    if positive is None:
        return _means(multiclass_measures(truth, predicted))
    y_proba = _check_probabilities(columns.get("y_proba"))
    scores = y_proba if "y_score" not in columns else to_numbers(columns["y_score"], "y_score")
    is_true = None if truth is None else truth == positive
    measures = binary_measures(is_true, predicted == positive, y_proba)
    if scores is None:
        return _means(measures)
    if truth is None:
        return _means(measures | score_measures(scores))
    return _means(measures) | {"auc": partial(estimate_areas, is_true, scores)}


def _check_probabilities(y_proba):
    """Probabilities as numbers in [0, 1]; None unchanged."""
    if y_proba is None:
        return None
    y_proba = to_numbers(y_proba, "y_proba")
    if y_proba.min() < 0.0 or y_proba.max() > 1.0:
        wrong = y_proba[(y_proba < 0.0) | (y_proba > 1.0)][0]
        raise ValueError(
            f"y_proba must be probabilities in [0, 1], but {wrong:g} was passed; pass scores "
            "on another scale as y_score."
        )
    return y_proba


def _regression(columns, positive):
    """Estimators of the measures of a regressor, by name."""
    truth = to_numbers(columns["y_true"], "y_true") if "y_true" in columns else None
    return _means(regression_measures(truth, to_numbers(columns["y_pred"], "y_pred")))


def _clustering(columns, positive):
    """Estimators of the measures of a clustering, by name."""
    return _means(clustering_measures(columns["y_pred"]))


def _means(measures):
    """Estimators of the means of measures, by name."""
    return {name: partial(estimate_means, measure) for name, measure in measures.items()}


_MEASURES = {
    "classification": _classification,
    "regression": _regression,
    "clustering": _clustering,
}
"""Task -> function that returns estimators of its measures by name."""
