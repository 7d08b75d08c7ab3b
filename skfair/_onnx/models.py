"""Fair models as ONNX graphs: inputs, estimators inside, and the rule around them."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import is_regressor
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, Pipeline

from skfair._bound.units import LogScale
from skfair._onnx.graph import ConversionError
from skfair._onnx.trees import write_boosted_scores
from skfair._postprocessing.group_models import EncodedClassifier, ScreenedClassifier
from skfair._postprocessing.logistic import LogisticModel
from skfair._postprocessing.out_of_fold_scores import (
    MAX_PROBABILITY,
    MIN_LEAD,
    SOFTENING,
    inner_estimator,
)
from skfair._utils.sklearn import has_linear_scores

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from skfair._groups.groups import GroupSummary
    from skfair._onnx.graph import Graph, Value
    from skfair._postprocessing.constrained_cv import ConstrainedCV
    from skfair._postprocessing.events import EventModel


# Inputs: features by column, their preprocessing, and groups.


class Columns(NamedTuple):
    """Columns of features: their value, their number, and whether they are text."""

    value: Value
    n_columns: int = 1
    is_text: bool = False


Features = dict[str, Columns]
"""Features by the name of the column; all columns of an array together are ``X``."""

_RESERVED = {"label", "probabilities", "variable", "sensitive_features"}
"""Names of outputs, and of the input with the group."""


def add_inputs(graph: Graph, X: Any, names: np.ndarray | None) -> Features:
    """Add an input for each column of a DataFrame, or one for an array."""
    if sparse.issparse(X):
        raise ValueError("X_example must be dense, as inputs of ONNX are, but is sparse.")
    if not hasattr(X, "columns"):
        X = np.asarray(X)
        return {"X": _add_input(graph, "X", X.dtype, X.shape[1])}
    if names is not None and list(X.columns) != list(names):
        raise ValueError(
            f"X_example must have the columns of the fit, {list(names)}, but has "
            f"{list(X.columns)}. Pass rows as predict takes them."
        )
    taken = sorted(_RESERVED.intersection(X.columns))
    if taken:
        raise ValueError(
            f"Columns must not have the names of outputs, but X_example has {taken}. Fit with "
            "other names."
        )
    return {name: _add_input(graph, name, X[name].to_numpy().dtype, 1) for name in X.columns}


def _add_input(graph: Graph, name: str, dtype: np.dtype, n_columns: int) -> Columns:
    """Add an input of a type; numbers and bool become double."""
    if dtype.kind in "OUT":
        return Columns(graph.add_input(name, object, n_columns), n_columns, is_text=True)
    if dtype.kind not in "biuf":
        raise ValueError(
            f"Columns must be numbers, bool or text, but {name!r} is {dtype}. Convert it to one "
            "before the fit."
        )
    return Columns(graph.add_input(name, dtype, n_columns).astype(float), n_columns)


def matrix(graph: Graph, features: Features) -> Value:
    """All features as one value, (n_samples, n_features)."""
    text = [name for name, columns in features.items() if columns.is_text]
    if text:
        raise ValueError(
            f"Columns of text must be encoded by a pipeline, but {text} reach a model as text. "
            "Pass a pipeline with OneHotEncoder as the estimator."
        )
    values = [columns.value for columns in features.values()]
    return values[0] if len(values) == 1 else graph.add("Concat", *values, axis=1)


def write_before_last_step(
    graph: Graph, estimator: BaseEstimator, features: Features
) -> tuple[BaseEstimator, Features]:
    """The estimator at the end of pipelines and searches, and the features that it gets."""
    while (inner := inner_estimator(estimator)) is not None:
        if isinstance(estimator, Pipeline) and len(estimator) > 1:
            features = _transform(graph, estimator[:-1], features)
        estimator = inner
    return estimator, features


def _transform(graph: Graph, steps: Pipeline, features: Features) -> Features:
    """Features as the steps of a pipeline transform them."""
    if not isinstance(steps[0], (ColumnTransformer, FeatureUnion, Pipeline)):
        # Others take all columns, which skl2onnx converts best as one input.
        value = matrix(graph, features)
        features = {"X": Columns(value, sum(one.n_columns for one in features.values()))}
    n_columns = len(steps.get_feature_names_out())
    if not _has_imputer(steps):  # runtimes impute in single precision only
        with contextlib.suppress(ConversionError):
            return {"X": Columns(_convert_steps(graph, steps, features, float), n_columns)}
    return {"X": Columns(_convert_steps(graph, steps, features, np.float32), n_columns)}


def _convert_steps(graph: Graph, steps: Pipeline, features: Features, precision: type) -> Value:
    """Transformed features, computed in a precision."""
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType, StringTensorType

    number = DoubleTensorType if precision is float else FloatTensorType
    inputs = {}
    for name, (value, n_columns, is_text) in features.items():
        kind = StringTensorType if is_text else number
        inputs[name] = value if is_text else value.astype(precision), kind([None, n_columns])
    return graph.convert(steps, inputs).astype(float)


def _has_imputer(estimator: BaseEstimator) -> bool:
    """Whether a transformer, or one inside it, imputes."""
    inside = estimator.get_params(deep=True).values()
    return any(isinstance(one, SimpleImputer) for one in [estimator, *inside])


def write_group_number(graph: Graph, groups: GroupSummary) -> Value:
    """Number of each sample's group in ``groups.labels``, (n_samples,).

    An unknown group has the number of groups. A runtime raises an error where it looks up rows that
    end before this number.
    """
    values = [sorted(set(column)) for column in zip(*groups.labels, strict=True)]
    # Number of the group by the positions of its values, of which the last is an unknown one.
    numbers = np.full([len(known) + 1 for known in values], len(groups.labels))
    for code, row in enumerate(groups.labels):
        cell = [known.index(one) for known, one in zip(values, row, strict=True)]
        numbers[tuple(cell)] = code
    index = graph.add("Identity", [0])
    for attribute, known in zip(groups.attributes, values, strict=True):
        name = "sensitive_features" if len(values) == 1 else f"sensitive_features.{attribute}"
        position = _write_position(graph, name, known)
        index = index * np.array(len(known) + 1) + position
    return graph.add("Gather", numbers.ravel(), index)


def _write_position(graph: Graph, name: str, known: list[Any]) -> Value:
    """Position of each sample's value among the known ones, (n_samples,); else their number."""
    settings: dict[str, Any] = {
        "domain": "ai.onnx.ml",
        "values_int64s": list(range(len(known))),
        "default_int64": len(known),
    }
    if all(isinstance(one, str) for one in known):
        text = graph.add_input(name, object, 1).flatten()
        return graph.add("LabelEncoder", text, keys_strings=known, **settings)
    if all(isinstance(one, (bool, int)) for one in known):
        dtype = bool if isinstance(known[0], bool) else np.int64
        number = graph.add_input(name, dtype, 1).flatten().astype(np.int64)
        return graph.add("LabelEncoder", number, keys_int64s=[*map(int, known)], **settings)
    raise ValueError(
        f"Labels of groups must be text, bool or int to be exported, but are {known[:3]}. Fit with "
        "labels such as 'f' and 'm'."
    )


# Estimators inside a fair model: their scores, and the probabilities of groups.


def write_linear(X: Value, coef: np.ndarray, intercept: np.ndarray | float) -> Value:
    """Linear scores, (n_samples, n_scores)."""
    return X @ np.atleast_2d(coef).T + np.atleast_1d(intercept)


def _write_other(graph: Graph, X: Value, estimator: BaseEstimator, **options: bool) -> Value:
    """The last output of what skl2onnx converts, in single precision.

    Trees and forests of scikit-learn read X in single precision, too.
    """
    from skl2onnx.common.data_types import FloatTensorType

    kind = FloatTensorType([None, estimator.n_features_in_])
    return graph.convert(estimator, {"X": (X.astype(np.float32), kind)}, **options).astype(float)


def write_scores(graph: Graph, X: Value, estimator: BaseEstimator) -> Value:
    """Scores of a regressor or classifier, (n_samples, n_scores), as `estimator_scores`."""
    scores = write_boosted_scores(graph, X, estimator)
    if scores is None and has_linear_scores(estimator):
        scores = write_linear(X, estimator.coef_, estimator.intercept_)
    if is_regressor(estimator):
        scores = _write_other(graph, X, estimator) if scores is None else scores
        return graph.add("Reshape", scores, [-1, 1])
    columns = [1] if len(estimator.classes_) == 2 else np.arange(len(estimator.classes_))
    if hasattr(estimator, "decision_function"):
        if scores is not None:
            return scores
        return _write_other(graph, X, estimator, zipmap=False, raw_scores=True).columns(columns)
    if scores is not None:
        success = _write_from_log_odds(graph, scores, estimator)
    else:
        success = _write_other(graph, X, estimator, zipmap=False)
    return write_logit(graph, success.columns(columns) * (1.0 - 2.0 * SOFTENING) + SOFTENING)


def _write_from_log_odds(graph: Graph, scores: Value, classifier: BaseEstimator) -> Value:
    """Probabilities of classes, (n_samples, n_classes), from log-odds."""
    if len(classifier.classes_) > 2:
        return graph.add("Softmax", scores, axis=1)
    return write_pair(graph, graph.add("Sigmoid", scores))


def write_logit(graph: Graph, probabilities: Value) -> Value:
    """Log-odds of probabilities."""
    return graph.add("Log", probabilities / (1.0 - probabilities))


def write_pair(graph: Graph, success: Value) -> Value:
    """Probabilities of two classes, (n_samples, 2), from that of the second."""
    return graph.add("Concat", 1.0 - success, success, axis=1)


def write_label_probabilities(
    graph: Graph, features: Features, classifier: Any, n_labels: int
) -> Value:
    """Probabilities of labels from 0 on, (n_samples, n_labels)."""
    selection: np.ndarray = np.eye(n_labels)[classifier.classes_.astype(int)]
    return _write_probabilities(graph, features, classifier) @ selection


def _write_probabilities(graph: Graph, features: Features, classifier: Any) -> Value:
    """Probabilities of the labels of a classifier, (n_samples, n_labels)."""
    classifier, features = write_before_last_step(graph, classifier, features)
    if isinstance(classifier, EncodedClassifier):
        raise ValueError(
            "The model of the group reads text or categories, which cannot be exported. Pass a "
            "pipeline with OneHotEncoder as the estimator, so that it gets numbers."
        )
    X = matrix(graph, features)
    if isinstance(classifier, ScreenedClassifier):
        X = _write_screened_columns(graph, X, classifier)
        classifier = classifier.classifier
    if isinstance(classifier, DummyClassifier):
        return _write_constant(graph, X, classifier.class_prior_)
    if isinstance(classifier, LogisticModel):
        scores = write_linear(X, classifier.coef, classifier.intercept)
        return graph.add("Softmax", scores, axis=1)
    if type(classifier) is LogisticRegression:
        scores = write_linear(X, classifier.coef_, classifier.intercept_)
        return _write_from_log_odds(graph, scores, classifier)
    boosted = write_boosted_scores(graph, X, classifier)
    if boosted is not None:
        return _write_from_log_odds(graph, boosted, classifier)
    return _write_other(graph, X, classifier, zipmap=False)


def _write_constant(graph: Graph, X: Value, row: np.ndarray) -> Value:
    """The same row for each sample."""
    n_samples = graph.add("Shape", X, start=0, end=1)
    return graph.add("Expand", row[np.newaxis], graph.add("Concat", n_samples, [1], axis=0))


def _write_screened_columns(graph: Graph, X: Value, screened: ScreenedClassifier) -> Value:
    """What `ScreenedClassifier.transform` returns."""
    first, second = (X.columns(one) - screened.center[one] for one in screened.pairs)
    product = first * second
    root = graph.add("Sign", product) * graph.add("Sqrt", graph.add("Abs", product))
    inputs = graph.add("Concat", X.columns(screened.columns), root, axis=1)
    steps = [(inputs > step).astype(float) for step in screened.steps]
    return graph.add("Concat", inputs, *steps, axis=1)


# The rule around estimators: scores, probabilities of groups, and a linear form of both.


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
