"""Metrics that a report shows of each task, and the estimators of their values by group."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.utils.multiclass import type_of_target

from skfair._statistics.calibration_errors import make_calibration_errors
from skfair._statistics.calibration_lines import estimate_coefficients, fit_calibration_lines
from skfair._statistics.group_estimates import estimate_means
from skfair._utils.checks import argument_error, join_names, mute_warnings
from skfair.audit._sentences import is_known_metric
from skfair.audit._tables import OUTCOME_SHARE, group_text, needs_outcome
from skfair.metrics import RATES, Rate
from skfair.metrics._calibration import bin_frequencies, make_bin_edges
from skfair.metrics._group_metrics import (
    GROUP_METRICS,
    check_columns_of,
    decide_top_k,
    encode_columns,
    find_group_metrics,
    to_numbers,
)
from skfair.metrics._rates import find_positive_multiclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from skfair._groups import Samples
    from skfair._groups.groups import Groups
    from skfair._statistics.estimates import Estimates
    from skfair._utils.api import Label
    from skfair.audit._sensitive_features import SensitiveFeatures
    from skfair.metrics._group_report import Metrics


# Metrics that a report shows of classifiers, regressors and clusterings.
#
# A metric is a mean: a pair of a value of each sample, and a mask of the samples that it is over
# (None: all of them).


REPORTED_RATES = (
    "base_rate",
    "selection_rate",
    "true_positive_rate",
    "false_positive_rate",
    "positive_predictive_value",
    "accuracy",
)
"""Rates of `RATES` that a report shows."""

_MAX_LABELS = 30  # a report shows each of them


def binary_metrics(
    is_true: np.ndarray | None, is_selected: np.ndarray, y_proba: np.ndarray | None
) -> dict[str, Any]:
    """Metrics of a classifier of two classes, from masks of the positive class, by name.

    `is_true` is None without a target. `y_proba` is the probability of the positive class, or None.
    """
    metrics = {"selection_rate": (is_selected, None)}
    if is_true is not None:
        metrics = _rate_metrics(is_true, is_selected, REPORTED_RATES)
    if y_proba is not None:
        metrics["mean_probability"] = y_proba, None
    return metrics


def _rate_metrics(
    is_true: np.ndarray, is_selected: np.ndarray, names: tuple[str, ...], ending: str = ""
) -> dict[str, Any]:
    """Rates of the confusion matrix as metrics: whether the event occurs, given the condition."""
    return {name + ending: RATES[name]._count_outcomes(is_true, is_selected) for name in names}


def multiclass_metrics(
    y_true: np.ndarray | None, y_pred: np.ndarray
) -> dict[str, tuple[np.ndarray, np.ndarray | None]]:
    """Metrics of a classifier of many classes, each class against the rest, by name.

    `y_true` is None without a target.
    """
    classes = _distinct_labels([y_pred] if y_true is None else [y_true, y_pred])
    if y_true is None:
        return {f"selection_rate of class {label}": (y_pred == label, None) for label in classes}
    metrics: dict[str, tuple[np.ndarray, np.ndarray | None]] = {
        "accuracy": (y_true == y_pred, None)
    }
    for label in classes:
        names = ("base_rate", "selection_rate", "true_positive_rate", "positive_predictive_value")
        metrics |= _rate_metrics(y_true == label, y_pred == label, names, f" of class {label}")
    return metrics


def select_known_outcomes(
    metrics: dict[str, Any], columns: dict[str, np.ndarray]
) -> dict[str, Any]:
    """Measures, of which those that need an outcome are over the samples that have one.

    Of prediction sets the rate of decisions is their coverage.
    """
    if "covered" in columns:
        return {"coverage": metrics["selection_rate"]}
    has_outcome = columns.get("has_outcome")
    if has_outcome is None:
        return metrics
    selected = {}
    for name, (values, mask) in metrics.items():
        if needs_outcome(name):
            mask = has_outcome if mask is None else has_outcome & mask
        selected[name] = values, mask
    return selected


def _distinct_labels(columns: Iterable[np.ndarray]) -> list[Any]:
    """The classes of columns, sorted as text; a ValueError if there are very many."""
    classes = sorted(set().union(*(np.unique(column).tolist() for column in columns)), key=str)
    _check_number_of_labels(classes, "classes")
    return classes


def estimate_scoring_rate(
    scores: np.ndarray, groups: Groups, weights: np.ndarray, clusters: np.ndarray | None = None
) -> tuple:
    """Shares of the groups above the median score of all samples."""
    if groups.multiplicity is None:
        median = np.median(scores)
    else:  # the mean of the two scores in the middle of all samples
        order = np.argsort(scores)
        ends = np.cumsum(groups.multiplicity[order])
        n = groups.n_samples
        middle = np.searchsorted(ends, [(n - 1) // 2, n // 2], side="right")
        median = np.mean(scores[order[middle]])
    return estimate_means(scores > median, None, groups, weights, clusters)


def regression_metrics(
    y_true: np.ndarray | None, y_pred: np.ndarray
) -> dict[str, tuple[np.ndarray, None]]:
    """Means of predictions of real numbers, by name; `y_true` is None without a target."""
    if y_true is None:
        return {"mean_prediction": (y_pred, None)}
    errors = y_pred - y_true
    return {
        "mean_target": (y_true, None),
        "mean_prediction": (y_pred, None),
        "mean_error": (errors, None),
        "mean_absolute_error": (np.abs(errors), None),
    }


def outcome_metrics(
    y_true: np.ndarray, positive: Label | None
) -> dict[str, tuple[np.ndarray, None]]:
    """Share of samples with the positive outcome, or with each of several, by name."""
    classes = _distinct_labels([y_true]) if positive is None else [positive]
    return {f"{OUTCOME_SHARE}{label}": (y_true == label, None) for label in classes}


def clustering_metrics(labels: np.ndarray) -> dict[str, tuple[np.ndarray, None]]:
    """Share of samples in each cluster, by name."""
    clusters = np.unique(labels).tolist()
    _check_number_of_labels(clusters, "clusters")
    return {f"share of cluster {label}": (labels == label, None) for label in clusters}


def _check_number_of_labels(labels: list[Any], what: str) -> None:
    """Raise for so many classes or clusters that they are hardly any."""
    if len(labels) > _MAX_LABELS:
        raise ValueError(
            f"A report shows each of the {what}, but there are {len(labels)}: "
            f'{join_names(map(repr, labels), 5)}. Pass task="regression" if these are numbers, or '
            f"merge {what} down to {_MAX_LABELS}."
        )


# Estimators of the metrics of a report, for each task of the predictions.


def infer_task(task: str | None, columns: dict[str, np.ndarray]) -> str:
    """The task of the predictions, which must fit the truth."""
    if task not in (None, *_METRIC_ESTIMATORS):
        raise argument_error(
            f"task must be one of {list(_METRIC_ESTIMATORS)} or None; got {task!r}."
        )
    if not {"y_pred", "y_score"} & set(columns):  # outcomes of data without a model
        return task or ("regression" if _is_continuous(columns["y_true"]) else "classification")
    if "y_pred" not in columns:
        if task not in (None, "classification"):
            raise argument_error(f"k makes decisions of scores, so leave out task={task!r}.")
        return "classification"
    if "y_true" not in columns:
        return _infer_task_of_predictions(task, columns["y_pred"])
    if task is None:
        _refuse_numbers_that_target_lacks(columns)
    # Infer the task from the target.
    task = task or ("regression" if _is_continuous(columns["y_true"]) else "classification")
    if task == "classification" and _is_continuous(columns["y_pred"]):
        advice = "Pass"
        if columns["y_true"].dtype.kind in "iuf":
            advice = 'If both are numbers, such as days, pass task="regression". Else pass'
        raise argument_error(
            "y_true holds classes, but y_pred holds numbers with decimals, the first of them "
            f"{columns['y_pred'][0]:g}. {advice} the predicted classes as y_pred, as in "
            "y_score > 0.5, and these as y_score."
        )
    return task


def _infer_task_of_predictions(task: str | None, y_pred: np.ndarray) -> str:
    """The task of predictions without a target."""
    are_numbers = _is_continuous(y_pred)
    if task == "classification" and are_numbers:
        raise argument_error(
            "y_pred must hold classes, but it holds numbers with decimals, the first of them "
            f"{y_pred[0]:g}. Pass the predicted classes, as in y_score > 0.5 (--threshold in a "
            "shell), or leave out task='classification' for means of numbers."
        )
    if task is not None:
        return task
    _refuse_ambiguous_integers(y_pred)
    return "regression" if are_numbers else "classification"


def _refuse_ambiguous_integers(y_pred: np.ndarray) -> None:
    """Raise if predictions without a target are more than two integers: classes or scores."""
    if y_pred.dtype.kind not in "iuf" or _is_continuous(y_pred):
        return
    numbers = np.unique(y_pred)
    if len(numbers) > 2:
        raise ValueError(
            f"Without y_true the {len(numbers)} different integers of y_pred, from "
            f"{numbers[0]:g} to {numbers[-1]:g}, may be classes, numbers or clusters. Pass "
            'task="classification", "regression" for their means, or "clustering" (--task '
            "regression in a shell)."
        )


def _refuse_numbers_that_target_lacks(columns: dict[str, np.ndarray]) -> None:
    """Raise if predictions of a target of two values are integers that it does not hold: scores."""
    y_pred = columns["y_pred"]
    has_outcome = columns.get("has_outcome", slice(None))
    targets = np.unique(columns["y_true"][has_outcome]).tolist()
    numbers = np.unique(y_pred)
    if y_pred.dtype.kind not in "iuf" or _is_continuous(y_pred) or len(targets) != 2:
        return
    if further := [number for number in numbers.tolist() if number not in targets]:
        raise argument_error(
            f"y_pred must hold the classes of y_true, {join_names(map(repr, targets))}, but it has "
            f"{len(numbers)} different integers, such as {further[0]!r}, which look like scores. "
            f"Pass decisions, such as whether a score is above {numbers[len(numbers) // 2]:g}, or "
            'task="classification" if these are classes. Commands have --threshold and --task '
            "classification."
        )


def _is_continuous(column: np.ndarray) -> bool:
    """Whether a column holds numbers with decimals."""
    # Whole numbers and booleans have none, whatever they are.
    return column.dtype.kind not in "iub" and type_of_target(column) == "continuous"


def find_positive_label(
    task: str, columns: dict[str, np.ndarray], pos_label: Label | None
) -> Label | None:
    """The positive class of two; None for several classes, and where there are no classes."""
    if task == "regression" and "y_true" not in columns and pos_label is not None:
        raise argument_error(
            "pos_label names a class, but predictions are numbers, the first of them "
            f"{columns['y_pred'][0]:g}. Leave it out, or pass decisions."
        )
    if task != "classification":
        return None
    if "y_pred" not in columns and "y_score" in columns:  # decisions are made of scores
        if "y_true" not in columns:
            return True
        return find_positive_multiclass(columns["y_true"], pos_label=pos_label)
    # Of more than two classes none is positive unless one is named.
    labels = [columns[name] for name in ("y_true", "y_pred") if name in columns]
    n_labels = len(set().union(*(np.unique(column).tolist() for column in labels)))
    if n_labels > 2 and pos_label is None:
        return None
    return find_positive_multiclass(*labels, pos_label=pos_label)


def metric_estimators(
    task: str,
    columns: dict[str, np.ndarray],
    positive: Label | None,
    metrics: Metrics = (),
) -> dict[str, Callable]:
    """Estimators of all metrics by name: functions of groups and weights.

    `metrics` are further ones, as :func:`skfair.metrics.group_report` takes them.
    """
    estimators = _METRIC_ESTIMATORS[task](columns, positive)
    if not len(metrics):
        return estimators
    encoded = encode_columns(columns, positive)
    further = find_group_metrics(metrics)
    check_columns_of(further, encoded, "y_score")
    for name, metric in further.items():
        is_known = metric in BUILTIN_METRICS
        if is_known and metric.name in estimators:
            continue  # every report has it
        if not is_known and (name in estimators or is_known_metric(name)):
            raise ValueError(
                "metrics must have other names than those of the report, but "
                f"{name!r} is one of them; rename it, as in metrics={{'own {name}': ...}}."
            )
        if isinstance(metric, Rate) and task != "classification":
            raise ValueError(
                f"{name} is a rate of decisions, but these predictions are those of a {task}. Pass "
                "a metric of them, such as a function of scikit-learn."
            )
        name = metric.name if is_known else name
        if isinstance(metric, Rate) and positive is None:
            estimators |= _estimators_of_classes(name, metric, encoded)
        else:
            estimators[name] = _make_estimator(metric, encoded)
    return estimators


def _make_estimator(metric: Any, columns: dict[str, np.ndarray]) -> Callable:
    """Estimator of a metric, from the samples with an outcome if it needs one."""
    has_outcome = columns.get("has_outcome")
    if has_outcome is None or not metric.needs_target:
        return partial(metric.estimate, columns)
    rows = np.flatnonzero(has_outcome)
    known = {name: column[rows] for name, column in columns.items()}

    def estimate(groups: Groups, weights: np.ndarray, clusters: np.ndarray | None = None) -> tuple:
        further = [] if clusters is None else [clusters[rows]]
        return metric.estimate(known, groups.subset(rows), weights[rows], *further)

    return estimate


N_BINS = 10
"""Bins of equal width in the reliability tables of a report."""


def tabulate_reliability(
    columns: dict[str, np.ndarray],
    positive: Label | None,
    by_name: dict[str, Groups],
    weights: np.ndarray,
    level: float,
) -> pd.DataFrame | None:
    """Table of predicted and observed frequencies by attribute, group and bin of probabilities.

    None without probabilities and outcomes of two classes.
    """
    if positive is None or not {"y_true", "y_proba"} <= set(columns):
        return None
    encoded = encode_columns(columns, positive)
    rows = np.flatnonzero(columns.get("has_outcome", np.ones(len(weights))))
    is_true = encoded["y_true"][rows]
    probabilities = encoded["probabilities"][rows]
    weights = weights[rows]
    edges = make_bin_edges(probabilities, weights, N_BINS, "uniform")
    tables = []
    for attribute, groups in by_name.items():
        with mute_warnings(UserWarning):  # of uneven weights, once is enough
            table = bin_frequencies(
                groups.subset(rows), weights, is_true, probabilities, edges, (1.0 + level) / 2.0
            )
        table = table[table["group"] < len(groups.labels)]  # not all samples
        names = np.array([group_text(name) for name in groups.names], dtype=object)
        table["group"] = names[table["group"]]
        table.insert(0, "attribute", attribute)
        tables.append(table.drop(columns="bin"))
    return pd.concat(tables, ignore_index=True)


def top_k_estimators(
    columns: dict[str, np.ndarray],
    positive: Label | None,
    metrics: Metrics,
    samples: Samples,
    k: float,
) -> tuple[dict[str, Callable], str]:
    """Estimators by name of decisions for the k highest scores, and how many samples tie."""
    encoded = encode_columns(columns, positive)
    standard = [*REPORTED_RATES, "roc_auc"] if "y_true" in encoded else ["selection_rate"]
    further = find_group_metrics(metrics) if len(metrics) else {}
    by_name = find_group_metrics(standard) | {
        metric.name if metric in BUILTIN_METRICS else name: metric
        for name, metric in further.items()
    }
    encoded, by_name, ties = decide_top_k(encoded, by_name, samples, k)
    check_columns_of(by_name, encoded, "y_score")
    return {name: _make_estimator(metric, encoded) for name, metric in by_name.items()}, ties


BUILTIN_METRICS = (*RATES.values(), *GROUP_METRICS.values())
"""Metrics of the package, which have the same name in every report."""


def _estimators_of_classes(
    name: str, rate: str | Callable, columns: dict[str, np.ndarray]
) -> dict[str, Callable]:
    """Estimators of a rate of each class against the rest, by name."""
    by_class = {}
    for label in _distinct_labels([columns[key] for key in ("y_true", "decisions")]):
        masks = {key: columns[key] == label for key in ("y_true", "decisions")}
        by_class[f"{name} of class {label}"] = _make_estimator(rate, columns | masks)
    return by_class


def hidden_group_estimators(
    columns: dict[str, np.ndarray], positive: Label | None, known: SensitiveFeatures
) -> dict[str, Callable]:
    """Estimators of rates by name, for groups of which `known` is what is known."""
    encoded = encode_columns(columns, positive)
    # A record may depend on predictions and outcomes.
    names = ("decisions", "y_true", "probabilities", "scores")
    features = [encoded[name].astype(np.float64) for name in names if encoded.get(name) is not None]
    if encoded.get("y_true") is not None:
        features.append(features[0] * features[1])
    hide = known.make_modeller(features)
    metrics = binary_metrics(encoded.get("y_true"), encoded["decisions"], None)
    return {name: partial(_estimate_hidden_rates, one, hide) for name, one in metrics.items()}


def _estimate_hidden_rates(
    metric: tuple[np.ndarray, np.ndarray | None], hide: Any, groups: Groups, weights: np.ndarray
) -> tuple[Estimates | None, np.ndarray]:
    """As `estimate_means`, of groups that are not all known."""
    values, counts = metric
    if groups.is_disjoint:  # all samples
        return estimate_means(values, counts, groups, weights)
    within = np.ones(len(values), dtype=bool) if counts is None else counts
    hidden = hide(groups)
    present = np.flatnonzero(hidden.count(within))
    if not len(present):
        return None, present
    return hidden.rates(values.astype(np.float64), within, present), present


def _classification_metric_estimators(
    columns: dict[str, np.ndarray], positive: Label | None
) -> dict[str, Callable]:
    """Estimators of the metrics of a classifier, by name; without a target also of scores."""
    if not {"y_pred", "y_score"} & set(columns):
        return _mean_estimators(outcome_metrics(columns["y_true"], positive), columns)
    truth = columns.get("y_true")
    predicted = columns["y_pred"]
    if positive is None:
        return _mean_estimators(multiclass_metrics(truth, predicted), columns)
    encoded = encode_columns(columns, positive)
    is_true, scores = encoded.get("y_true"), encoded.get("scores")
    metrics = _mean_estimators(
        binary_metrics(is_true, encoded["decisions"], encoded.get("probabilities")), columns
    )
    if scores is None:
        return metrics
    if truth is None:
        return metrics | _scoring_rate_estimator(scores)
    if "probabilities" in encoded:
        metrics["calibration_error"] = partial(
            estimate_means,
            encoded["y_true"],
            columns.get("has_outcome"),
            kind=partial(make_calibration_errors, probabilities=encoded["probabilities"]),
        )
        metrics |= _calibration_line_estimators(encoded)
    return metrics | {"roc_auc": _make_estimator(GROUP_METRICS["roc_auc"], encoded)}


def _calibration_line_estimators(columns: dict[str, np.ndarray]) -> dict[str, Callable]:
    """Estimators of intercepts and slopes of calibration lines, which are fitted once for both."""
    rows = np.flatnonzero(columns.get("has_outcome", np.ones(len(columns["y_true"]))))
    is_true = columns["y_true"][rows]
    probabilities = columns["probabilities"][rows]
    last: list[Any] = [None, None]  # groups, and their lines

    def estimate(
        groups: Groups,
        weights: np.ndarray,
        clusters: np.ndarray | None = None,
        *,
        coefficient: int,
    ) -> tuple[Estimates | None, np.ndarray]:
        if last[0] is not groups:
            counted = groups if len(rows) == len(weights) else groups.subset(rows)
            units = None if clusters is None else clusters[rows]
            lines = fit_calibration_lines(counted, weights[rows], is_true, probabilities, units)
            last[:] = groups, lines
        return estimate_coefficients(last[1], coefficient)

    names = ("calibration_intercept", "calibration_slope")
    return {name: partial(estimate, coefficient=number) for number, name in enumerate(names)}


SCORING_RATE = "scoring_rate"
"""Name of the share of scores above the median of all samples."""


def _scoring_rate_estimator(scores: np.ndarray) -> dict[str, Callable]:
    """Estimator of the scoring rate, by name."""
    return {SCORING_RATE: partial(estimate_scoring_rate, scores)}


def add_scoring_rate(
    estimators: dict[str, Callable], columns: dict[str, np.ndarray]
) -> dict[str, Callable]:
    """The estimators with that of the scoring rate of predictions, which must be numbers."""
    scores = to_numbers(columns["y_pred"], "y_pred")
    return _scoring_rate_estimator(scores) | estimators


def _regression_metric_estimators(
    columns: dict[str, np.ndarray], positive: Label | None
) -> dict[str, Callable]:
    """Estimators of the metrics of a regressor, by name."""
    truth = to_numbers(columns["y_true"], "y_true") if "y_true" in columns else None
    if "y_pred" not in columns:
        return _mean_estimators({"mean_target": (truth, None)}, columns)
    predicted = to_numbers(columns["y_pred"], "y_pred")
    means = _mean_estimators(regression_metrics(truth, predicted), columns)
    return means if truth is None else _scoring_rate_estimator(predicted) | means


def _clustering_metric_estimators(
    columns: dict[str, np.ndarray], positive: Label | None
) -> dict[str, Callable]:
    """Estimators of the metrics of a clustering, by name."""
    return _mean_estimators(clustering_metrics(columns["y_pred"]), columns)


def _mean_estimators(
    metrics: dict[str, Any], columns: dict[str, np.ndarray]
) -> dict[str, Callable]:
    """Estimators of the means of metrics, by name."""
    metrics = select_known_outcomes(metrics, columns)
    return {name: partial(estimate_means, *metric) for name, metric in metrics.items()}


_METRIC_ESTIMATORS = {
    "classification": _classification_metric_estimators,
    "regression": _regression_metric_estimators,
    "clustering": _clustering_metric_estimators,
}
"""Task -> function that returns estimators of its metrics by name."""
