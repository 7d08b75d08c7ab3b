"""Models as ONNX graphs, which predict where neither skfair nor scikit-learn is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from skfair._bound.units import MAX_EXPONENT, LogScale
from skfair._onnx.graph import Graph, ONNXModel, Output, Value
from skfair._onnx.models import (
    Features,
    add_inputs,
    matrix,
    write_before_last_step,
    write_class_probabilities,
    write_group_number,
    write_linear,
    write_pair,
    write_rule,
    write_success,
)
from skfair._utils.api import MatrixLike
from skfair.classification import ConstrainedClassifierCV
from skfair.classification._classifiers import LinearClassifier
from skfair.cluster import FairKMeans
from skfair.regression import ConstrainedRegressorCV, LinearRegressor

if TYPE_CHECKING:
    from skfair._fitting.linear import ConstrainedLinearEstimator


def to_onnx(model: BaseEstimator, X_example: MatrixLike) -> ONNXModel:
    """Write a fitted model as one ONNX graph, which needs neither skfair nor scikit-learn.

    Parameters
    ----------
    model : estimator
        Fitted linear classifier or regressor of skfair, `ConstrainedClassifierCV`,
        `ConstrainedRegressorCV` or `FairKMeans`, or a pipeline that ends in one.
    X_example : array-like of shape (n_samples, n_features)
        Rows as ``predict`` takes them, for the names and types of the inputs.

    Returns
    -------
    graph : onnx.ModelProto
        Its inputs have shape (n_samples, 1) and the names and types of the columns of a DataFrame;
        an array is one input, ``X``. If predictions need the group, it is the input
        ``sensitive_features``; of several attributes, inputs such as ``sensitive_features.sex``.
        Outputs are ``label`` and ``probabilities`` of a classifier, ``variable`` of a regressor,
        and ``label``, the nearest centre, of a clustering.

    Raises
    ------
    ImportError
        If onnx or skl2onnx is not installed.
    ValueError
        If a part of the model cannot be exported; the message names it.

    Notes
    -----
    The graph computes in double precision, and decides as ``predict`` does. Trees return their sums
    in single precision, and estimators that skl2onnx converts compute in it, so that a score within
    1e-6 of a threshold may be decided differently: `check_onnx` counts such samples. An unknown
    group is an error of the runtime, unless ``handle_unknown="overall"``.

    Read more in the :ref:`guide <deploying_onnx>`.

    Examples
    --------
    Does the graph decide as the model does?

    >>> import numpy as np
    >>> import onnxruntime
    >>> from skfair.classification import ConstrainedERMClassifier
    >>> from skfair.export import to_onnx
    >>> rng = np.random.default_rng(0)
    >>> sex = rng.integers(2, size=1000)
    >>> X = rng.normal(size=(1000, 2)) + 0.5 * sex[:, np.newaxis]
    >>> y = X.sum(axis=1) + rng.normal(size=1000) > 1
    >>> model = ConstrainedERMClassifier(tolerance=0.05).fit(X, y, sensitive_features=sex)
    >>> graph = to_onnx(model, X)
    >>> session = onnxruntime.InferenceSession(graph.SerializeToString())
    >>> labels, probabilities = session.run(None, {"X": X})
    >>> int((labels != model.predict(X)).sum())
    0

    `check_onnx` counts the same:

    >>> from skfair.export import check_onnx
    >>> check_onnx(graph, model, X)
    0
    """
    check_is_fitted(model)
    graph = Graph()
    features = add_inputs(graph, X_example, getattr(model, "feature_names_in_", None))
    last, features = write_before_last_step(graph, model, features)
    for kind, write in _WRITERS.items():
        if isinstance(last, kind):
            return graph.finish(write(graph, last, features))
    raise ValueError(
        "model must be a linear classifier or regressor of skfair, ConstrainedClassifierCV, "
        "ConstrainedRegressorCV or FairKMeans, or a pipeline that ends in one, but is "
        f"{type(last).__name__}. Store it by joblib or skops."
    )


def check_onnx(
    graph: ONNXModel,
    model: BaseEstimator,
    X: MatrixLike,
    *,
    sensitive_features: MatrixLike | None = None,
) -> int:
    """Count the samples for which a graph predicts something else than its model.

    Parameters
    ----------
    graph : onnx.ModelProto
        What `to_onnx` returns.
    model : estimator
        The model that was exported.
    X : array-like of shape (n_samples, n_features)
        Samples to predict, best held out.
    sensitive_features : array-like, default=None
        Group of each sample, if ``predict`` needs it.

    Returns
    -------
    n_different : int
        Number of samples with another label, or with a number that differs by more than 1e-5
        standard deviations of the predictions.

    Raises
    ------
    ImportError
        If onnxruntime is not installed.

    Notes
    -----
    Read more in the :ref:`guide <deploying_onnx>`.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.export import check_onnx, to_onnx
    >>> from skfair.regression import ConstrainedERMRegressor
    >>> rng = np.random.default_rng(0)
    >>> X, sex = rng.normal(size=(200, 2)), rng.integers(2, size=200)
    >>> model = ConstrainedERMRegressor(group_interactions=True)
    >>> model = model.fit(X, X[:, 0] + sex, sensitive_features=sex)
    >>> check_onnx(to_onnx(model, X), model, X, sensitive_features=sex)
    0
    """
    import onnxruntime

    session = onnxruntime.InferenceSession(
        graph.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    groups = {} if sensitive_features is None else {"sensitive_features": sensitive_features}
    feeds = {one.name: _read_input(one.name, X, groups) for one in session.get_inputs()}
    predictions = np.ravel(session.run(None, feeds)[0])
    expected = model.predict(X, **groups)
    if session.get_outputs()[0].name == "label":
        return int(np.sum(predictions != expected))
    return int(np.sum(np.abs(predictions - expected) > _MAX_DIFFERENCE * np.std(expected)))


def _read_input(name: str, X: Any, groups: dict[str, Any]) -> np.ndarray:
    """Return the values of an input of a graph, (n_samples, n_columns)."""
    group, _, attribute = name.partition(".")
    if group in groups and attribute:  # such as sensitive_features.sex
        table = groups[group]
        values = table[attribute] if hasattr(table, "columns") else table[:, int(attribute)]
    elif group in groups:
        values = groups[group]
    else:
        values = X[name] if hasattr(X, "columns") else X
    column = np.asarray(values)
    column = column.astype(object) if column.dtype.kind in "OUT" else column
    return column.reshape(len(column), -1)


def _write_linear_model(
    graph: Graph, model: ConstrainedLinearEstimator, features: Features
) -> Value:
    """Scores of a linear model, (n_samples, 1), by the parameters of the sample's group."""
    X = matrix(graph, features)
    if not model.group_interactions:
        return write_linear(X, np.ravel(model.coef_), np.ravel(model.intercept_))
    number = write_group_number(graph, model.groups_)
    intercepts = graph.add("Gather", _rows_of_groups(model, model.group_intercept_), number)
    intercepts = graph.add("Reshape", intercepts, [-1, 1])
    if model._shares_coefficients:
        return X @ np.reshape(model.coef_, (-1, 1)) + intercepts
    coefs = graph.add("Gather", _rows_of_groups(model, model.group_coef_), number)
    return (X * coefs).row_sums() + intercepts


def _rows_of_groups(model: ConstrainedLinearEstimator, parameters: np.ndarray) -> np.ndarray:
    """Parameters by number of the group, with one more row where unknown groups are allowed."""
    return parameters if model.handle_unknown == "error" else model._append_mean(parameters)


def _write_linear_classifier(
    graph: Graph, model: LinearClassifier, features: Features
) -> dict[str, Output]:
    """Outputs of a linear classifier, whose scores are of its second class."""
    scores = _write_linear_model(graph, model, features)
    # A score of 0, or a missing one, is no positive decision, whichever class is positive.
    is_second = scores > 0.0
    if model.pos_label_ == model.classes_[0]:
        is_second = graph.add("Not", graph.add("Less", scores, 0.0))
    outputs = {"label": _write_label(graph, is_second, model.classes_)}
    if hasattr(model, "predict_proba"):
        pair = write_pair(graph, graph.add("Sigmoid", scores))
        outputs["probabilities"] = Output(pair, shape=(2,))
    return outputs


def _write_linear_regressor(
    graph: Graph, model: LinearRegressor, features: Features
) -> dict[str, Output]:
    """Outputs of a linear regressor."""
    return {"variable": Output(_write_linear_model(graph, model, features), shape=(1,))}


def _write_classifier(
    graph: Graph, model: ConstrainedClassifierCV, features: Features
) -> dict[str, Output]:
    """Outputs of a classifier whose decisions keep constraints."""
    rule = write_rule(graph, model, features)
    classes = model.classes_
    if len(classes) > 2:
        index = graph.add("ArgMax", rule.scores, axis=1)
        probabilities = write_class_probabilities(graph, model, rule.columns, index)
    else:
        is_positive = rule.scores > 0.0
        success = write_success(graph, model, rule)
        is_first = model.pos_label_ == classes[0]
        index = graph.add("Not", is_positive) if is_first else is_positive
        probabilities = write_pair(graph, 1.0 - success if is_first else success)
    return {
        "label": _write_label(graph, index, classes),
        "probabilities": Output(probabilities, shape=(len(classes),)),
    }


def _write_regressor(
    graph: Graph, model: ConstrainedRegressorCV, features: Features
) -> dict[str, Output]:
    """Outputs of a regressor whose predictions keep constraints."""
    prediction = write_rule(graph, model, features).scores
    if isinstance(model._unit, LogScale):
        prediction = graph.add("Clip", prediction, -MAX_EXPONENT, MAX_EXPONENT)
        prediction = graph.add("Exp", prediction) * float(model._unit.spread)
    return {"variable": Output(prediction, shape=(1,))}


def _write_nearest_center(graph: Graph, model: FairKMeans, features: Features) -> dict[str, Output]:
    """The nearest centre, about the mean of the training data, as rounding matters far from 0."""
    X = matrix(graph, features) - model._mean
    centers = model._centers
    distances = write_linear(X, -2.0 * centers, (centers**2).sum(axis=1))
    nearest = graph.add("ArgMin", distances, axis=1, keepdims=0)
    return {"label": Output(nearest.astype(np.int32), np.int32)}


def _write_label(graph: Graph, index: Value, classes: np.ndarray) -> Output:
    """Label of each sample by the index of its class."""
    label = graph.add("Gather", classes, index.astype(np.int64).flatten())
    return Output(label, object if classes.dtype.kind in "OUT" else classes.dtype)


_MAX_DIFFERENCE = 1e-5
"""Standard deviations by which numbers may differ, as parts of graphs have single precision."""

_WRITERS: dict[type, Any] = {
    LinearClassifier: _write_linear_classifier,
    LinearRegressor: _write_linear_regressor,
    ConstrainedClassifierCV: _write_classifier,
    ConstrainedRegressorCV: _write_regressor,
    FairKMeans: _write_nearest_center,
}
"""Functions that write the outputs of a kind of model."""


__all__ = ["check_onnx", "to_onnx"]
