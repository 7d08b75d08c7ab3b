"""Inputs of a graph: features by column, their preprocessing, and groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline

from skfair._onnx.graph import ConversionError
from skfair._postprocessing.out_of_fold_scores import inner_estimator

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from skfair._groups.groups import GroupSummary
    from skfair._onnx.graph import Graph, Value


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
    try:
        if _has_imputer(steps):
            raise ConversionError("Runtimes impute in single precision only.")
        value = _convert_steps(graph, steps, features, float)
    except ConversionError:
        value = _convert_steps(graph, steps, features, np.float32)
    return {"X": Columns(value, len(steps.get_feature_names_out()))}


def _convert_steps(graph: Graph, steps: Pipeline, features: Features, precision: type) -> Value:
    """Transformed features, computed in a precision."""
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType, StringTensorType

    number = DoubleTensorType if precision is float else FloatTensorType
    inputs = {}
    for name, (value, n_columns, is_text) in features.items():
        kind = StringTensorType if is_text else number
        inputs[name] = value if is_text else value.astype(precision), kind([None, n_columns])
    (transformed,) = graph.convert(steps, inputs)
    return transformed.astype(float)


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
