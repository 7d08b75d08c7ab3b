"""The rule around fitted estimators: scores, probabilities of groups, and a linear form of both."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from skfair._bound.units import LogScale
from skfair._onnx.estimators import write_label_probabilities, write_logit, write_scores
from skfair._onnx.inputs import Columns, matrix, write_before_last_step, write_group_number
from skfair._postprocessing.out_of_fold_scores import MAX_PROBABILITY, MIN_LEAD

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator
    from sklearn.dummy import DummyClassifier

    from skfair._onnx.graph import Graph, Value
    from skfair._onnx.inputs import Features
    from skfair._postprocessing.constrained_cv import ConstrainedCV
    from skfair._postprocessing.events import EventModel

_TINY = float(np.finfo(float).tiny)


class _Fold(NamedTuple):
    """An estimator of a fold, its last step, and the features that this gets."""

    estimator: BaseEstimator
    last: BaseEstimator
    features: Features


class RuleValues(NamedTuple):
    """Values of the rule: columns of the scores, and scores of the final linear model.

    Both have shape (n_samples, n_problems).
    """

    columns: Value
    scores: Value


def write_rule(graph: Graph, model: ConstrainedCV, features: Features) -> RuleValues:
    """Values of the final linear model."""
    folds = [_Fold(one, *write_before_last_step(graph, one, features)) for one in model.estimators_]
    columns = _write_columns(graph, model, folds)
    of_rule = columns
    if model._costs is not None:  # minus the expected cost of each class
        of_rule = graph.add("Sigmoid", columns) @ -model._costs
    probabilities = _write_event_probabilities(graph, model, folds, features)
    events = model._event_features
    pairs = zip(np.atleast_2d(model.rule_coef_), np.ravel(model.rule_intercept_), strict=True)
    scores = []
    for problem, (coef, intercept) in enumerate(pairs):
        rule = events._replace(table=events.table[[problem]]).weights(coef, float(intercept))
        scores.append(_write_score(graph, of_rule.columns([problem]), probabilities, rule))
    return RuleValues(columns, graph.add("Concat", *scores, axis=1))


def _write_columns(graph: Graph, model: ConstrainedCV, folds: list[_Fold]) -> Value:
    """Columns of the scores: log-odds, logarithms, or predictions as they are."""
    mean = _write_mean(
        graph, [write_scores(graph, matrix(graph, one.features), one.last) for one in folds]
    )
    unit = model._unit
    if isinstance(unit, LogScale):
        return graph.add("Log", graph.add("Max", mean, _TINY) / float(unit.spread))
    columns = (mean - float(unit.center)) / float(unit.spread)
    return write_calibrated(graph, model, columns) if model._is_calibrated else columns


def _write_mean(graph: Graph, values: list[Value]) -> Value:
    """Mean of values of one shape."""
    return graph.add("Sum", *values) / float(len(values))


def write_calibrated(graph: Graph, model: ConstrainedCV, columns: Value) -> Value:
    """What `calibrated_log_odds` returns."""
    slope, intercept = np.atleast_2d(model.calibration_).T
    odds: Value = columns * slope + intercept
    if len(slope) == 1:
        return odds
    success = graph.add("Max", graph.add("Sigmoid", odds), _TINY)
    return write_logit(graph, graph.add("Min", success / success.row_sums(), MAX_PROBABILITY))


def _write_event_probabilities(
    graph: Graph, model: ConstrainedCV, folds: list[_Fold], features: Features
) -> Value | None:
    """Probabilities of events, (n_samples, n_subsets * n_codes); None if the scores decide."""
    if not model._event_features.sources:
        return None
    number = None
    if model.group_estimator == "sensitive_features":
        number = write_group_number(graph, model.groups_)
    values = []
    for event_model in model._event_features.models:
        inputs = features
        for fold in folds:
            if fold.estimator is event_model.base:
                inputs = fold.features  # preprocessed, as the fold's last step gets them
        values.append(_write_event_model(graph, model, event_model, inputs, number))
    return _write_mean(graph, values)


def _write_event_model(
    graph: Graph,
    model: ConstrainedCV,
    event_model: EventModel,
    features: Features,
    number: Value | None,
) -> Value:
    """Probabilities by one `EventModel`; ``number`` is that of a known group."""
    n_codes = model._event_features.table.shape[2]
    features = _select(graph, features, event_model.columns)
    parts = []
    for group_model, subset_model in zip(*event_model[2:4], strict=True):
        if number is None:
            part = write_label_probabilities(graph, features, group_model, n_codes)
        else:
            rows = _known_rows(model, group_model, n_codes)
            part = graph.add("Gather", rows, number, axis=0)
        if subset_model is not None:
            inside = write_label_probabilities(graph, features, subset_model, 2)
            part = part * inside.columns([1])
        parts.append(part)
    return graph.add("Concat", *parts, axis=1)


def _select(graph: Graph, features: Features, columns: np.ndarray | None) -> Features:
    """Some columns of features, as `select_columns` does."""
    if columns is None:
        return features
    X = matrix(graph, features)
    if not len(columns):
        return {"X": Columns(X.columns([0]) * 0.0)}
    return {"X": Columns(X.columns(columns), len(columns))}


def _known_rows(model: ConstrainedCV, shares: DummyClassifier, n_codes: int) -> np.ndarray:
    """Probabilities of the codes by number of the group; of an unknown one those of all groups."""
    rows = np.eye(n_codes)[model._event_codes]
    if model.handle_unknown == "error":
        return rows
    overall = np.zeros(n_codes)
    overall[shares.classes_.astype(int)] = shares.class_prior_
    return np.vstack((rows, overall))


def _write_score(
    graph: Graph, column: Value, probabilities: Value | None, rule: tuple[float, float, np.ndarray]
) -> Value:
    """Score of the final linear model, (n_samples, 1), as ``export_rule`` explains it."""
    slope, intercept, weights = rule
    score = column * slope + intercept
    success = graph.add("Sigmoid", column)
    # Factors of the probabilities are 1, the probability of success, the column, and both.
    factors: list[list[Value]] = [[], [success], [column], [column, success]]
    for factors_of_term, of_events in zip(factors, weights, strict=True):
        if probabilities is None or not of_events.any():
            continue
        term = probabilities @ of_events.reshape(-1, 1)
        for factor in factors_of_term:
            term = term * factor
        score = score + term
    return score


def write_success(graph: Graph, model: ConstrainedCV, rule: RuleValues) -> Value:
    """Probability of the positive class, as `match_probabilities_to_decisions` returns it."""
    coef = float(model.rule_coef_[0])
    matched = graph.add("Sigmoid", rule.scores)
    if model._event_features.compares_scores:
        return matched
    is_positive = rule.scores > 0.0
    if coef > 0.0:
        success = graph.add("Sigmoid", rule.columns)
        threshold = graph.add("Sigmoid", rule.columns - rule.scores / coef)
        below = success / (threshold * 2.0)
        above = 1.0 - (1.0 - success) / ((1.0 - threshold) * 2.0)
        matched = graph.add("Where", is_positive, above, below)
    # Rounding must not move a probability to the other side.
    high = graph.add("Clip", matched, float(np.nextafter(0.5, 1.0)), 1.0)
    low = graph.add("Clip", matched, 0.0, float(np.nextafter(0.5, 0.0)))
    return graph.add("Where", is_positive, high, low)


def write_class_probabilities(
    graph: Graph, model: ConstrainedCV, columns: Value, index: Value
) -> Value:
    """Probabilities of several classes, as `make_predicted_class_likeliest` returns them."""
    odds = columns if model._is_calibrated else write_calibrated(graph, model, columns)
    success = graph.add("Sigmoid", odds)
    shares = success / success.row_sums()
    n_classes = len(model.classes_)
    is_predicted = graph.add("Equal", index, np.arange(n_classes))
    rivals = graph.add("Where", is_predicted, -np.inf, shares)
    # Raise the predicted class, and lower the likelier others, to the mean of them all.
    total = level = graph.add("GatherElements", shares, index, axis=1)
    for count in range(2, n_classes + 1):
        rival = graph.add("ReduceMax", rivals, [1])
        is_above = rival > level
        total = graph.add("Where", is_above, total + rival, total)
        level = graph.add("Where", is_above, total / float(count), level)
        is_rival = graph.add("Equal", rivals, rival)
        rivals = graph.add("Where", is_rival, -np.inf, rivals)
    matched = graph.add("Where", is_predicted, level, graph.add("Min", shares, level))
    return matched * (1.0 - MIN_LEAD) + is_predicted.astype(float) * MIN_LEAD
