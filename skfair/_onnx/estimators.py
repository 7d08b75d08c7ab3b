"""Estimators inside a fair model: their scores, and the probabilities of groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_regressor
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression

from skfair._onnx.inputs import matrix, write_before_last_step
from skfair._postprocessing.group_models import EncodedClassifier, ScreenedClassifier
from skfair._postprocessing.logistic import LogisticModel
from skfair._postprocessing.out_of_fold_scores import SOFTENING
from skfair._utils.sklearn import boosted_trees, has_linear_scores

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from skfair._onnx.graph import Graph, Value
    from skfair._onnx.inputs import Features


def write_linear(X: Value, coef: np.ndarray, intercept: np.ndarray | float) -> Value:
    """Linear scores, (n_samples, n_scores)."""
    return X @ np.atleast_2d(coef).T + np.atleast_1d(intercept)


def _write_boosted(graph: Graph, X: Value, boosting: BaseEstimator) -> Value:
    """Raw predictions of histogram gradient boosting, (n_samples, n_scores)."""
    from onnx import numpy_helper

    attributes = boosted_trees(boosting)
    for name, values in attributes.items():
        if isinstance(values, np.ndarray):
            attributes[name] = numpy_helper.from_array(values)
    # Thresholds are compared in double precision, but the operator returns single precision.
    trees = graph.add("TreeEnsembleRegressor", X, domain="ai.onnx.ml", **attributes)
    return trees.astype(float)


def _write_other(graph: Graph, X: Value, estimator: BaseEstimator, **options: bool) -> Value:
    """The last output of what skl2onnx converts, in single precision.

    Trees and forests of scikit-learn read X in single precision, too.
    """
    from skl2onnx.common.data_types import FloatTensorType

    kind = FloatTensorType([None, estimator.n_features_in_])
    outputs = graph.convert(estimator, {"X": (X.astype(np.float32), kind)}, **options)
    return outputs[-1].astype(float)


def write_scores(graph: Graph, X: Value, estimator: BaseEstimator) -> Value:
    """Scores of a regressor or classifier, (n_samples, n_scores), as `estimator_scores`."""
    if type(estimator) is HistGradientBoostingRegressor:
        raw = _write_boosted(graph, X, estimator)
        has_log_link = estimator.loss in ("gamma", "poisson")
        return graph.add("Exp", raw) if has_log_link else raw
    if type(estimator) is HistGradientBoostingClassifier:
        return _write_boosted(graph, X, estimator)
    if has_linear_scores(estimator):
        return write_linear(X, estimator.coef_, estimator.intercept_)
    if is_regressor(estimator):
        return graph.add("Reshape", _write_other(graph, X, estimator), [-1, 1])
    columns = [1] if len(estimator.classes_) == 2 else np.arange(len(estimator.classes_))
    if hasattr(estimator, "decision_function"):
        return _write_other(graph, X, estimator, zipmap=False, raw_scores=True).columns(columns)
    success = _write_other(graph, X, estimator, zipmap=False).columns(columns)
    return write_logit(graph, success * (1.0 - 2.0 * SOFTENING) + SOFTENING)


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
    if type(classifier) not in (HistGradientBoostingClassifier, LogisticRegression):
        return _write_other(graph, X, classifier, zipmap=False)
    scores = write_scores(graph, X, classifier)
    if len(classifier.classes_) > 2:
        return graph.add("Softmax", scores, axis=1)
    return write_pair(graph, graph.add("Sigmoid", scores))


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
