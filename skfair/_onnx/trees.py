"""Boosted trees of scikit-learn, LightGBM and XGBoost."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from skfair._utils.sklearn import read_boosted_nodes

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from skfair._onnx.graph import Graph, Value

_LINKS = {
    **dict.fromkeys(["squared_error", "absolute_error", "quantile", "log_loss"], "identity"),
    **dict.fromkeys(["binary", "multiclass", "multiclassova"], "identity"),
    **dict.fromkeys(["regression", "regression_l1", "huber", "fair", "mape"], "identity"),
    **dict.fromkeys(["binary:logistic", "multi:softprob", "reg:squarederror"], "identity"),
    **dict.fromkeys(["reg:absoluteerror", "reg:quantileerror"], "identity"),
    **dict.fromkeys(["gamma", "poisson", "tweedie"], "log"),
    **dict.fromkeys(["count:poisson", "reg:gamma", "reg:tweedie"], "log"),
}
"""Links between the sum of the trees and the score, by the name of the loss."""


class _Nodes(NamedTuple):
    """Nodes of one tree, arrays of shape (n_nodes,); the first is the root.

    A leaf has itself on its left. ``values`` counts in leaves, and ``score`` is the column of the
    sum that the tree adds to.
    """

    score: int
    features: np.ndarray
    thresholds: np.ndarray
    left: np.ndarray
    right: np.ndarray
    missing_left: np.ndarray
    values: np.ndarray


class _Boosting(NamedTuple):
    """Trees, what each score starts from, the loss, and how features and thresholds compare."""

    trees: list[_Nodes]
    base: np.ndarray
    loss: str
    mode: str = "BRANCH_LEQ"


def write_boosted_scores(graph: Graph, X: Value, estimator: BaseEstimator) -> Value | None:
    """Sums of boosted trees on the scale of predictions or log-odds; None for other estimators."""
    from onnx import numpy_helper

    boosting = _read_boosting(estimator)
    if boosting is None:
        return None
    if boosting.loss not in _LINKS:
        raise ValueError(
            f"{type(estimator).__name__} has the loss {boosting.loss!r}, which cannot be exported. "
            f"Fit with one of {sorted(_LINKS)}."
        )
    if boosting.mode == "BRANCH_LT":  # XGBoost reads X in single precision
        X = X.astype(np.float32).astype(float)
    attributes = _list_attributes(boosting)
    for name, values in attributes.items():
        if isinstance(values, np.ndarray):
            attributes[name] = numpy_helper.from_array(values)
    # Thresholds are compared in double precision, but the operator returns single precision.
    raw = graph.add("TreeEnsembleRegressor", X, domain="ai.onnx.ml", **attributes).astype(float)
    return graph.add("Exp", raw) if _LINKS[boosting.loss] == "log" else raw


def _list_attributes(boosting: _Boosting) -> dict[str, Any]:
    """Return attributes of ONNX's TreeEnsembleRegressor; arrays are its tensors."""
    trees = boosting.trees
    sizes = [len(tree.left) for tree in trees]
    features, thresholds, left, right, missing_left, values = map(
        np.concatenate, zip(*(tree[1:] for tree in trees), strict=True)
    )
    tree_ids = np.repeat(np.arange(len(trees)), sizes)
    node_ids = np.concatenate([np.arange(size) for size in sizes])
    scores = np.repeat([tree.score for tree in trees], sizes)
    is_leaf = left == node_ids
    return {
        "n_targets": len(boosting.base),
        "base_values_as_tensor": boosting.base.astype(float),
        "nodes_treeids": tree_ids.tolist(),
        "nodes_nodeids": node_ids.tolist(),
        "nodes_featureids": features.tolist(),
        "nodes_modes": np.where(is_leaf, "LEAF", boosting.mode).tolist(),
        "nodes_values_as_tensor": thresholds.astype(float),
        "nodes_truenodeids": np.where(is_leaf, 0, left).tolist(),
        "nodes_falsenodeids": np.where(is_leaf, 0, right).tolist(),
        "nodes_missing_value_tracks_true": missing_left.astype(int).tolist(),
        "target_treeids": tree_ids[is_leaf].tolist(),
        "target_nodeids": node_ids[is_leaf].tolist(),
        "target_ids": scores[is_leaf].tolist(),
        "target_weights_as_tensor": values[is_leaf].astype(float),
    }


def _read_boosting(estimator: BaseEstimator) -> _Boosting | None:
    """Return the trees of a boosting; None for other estimators."""
    if type(estimator) in (HistGradientBoostingClassifier, HistGradientBoostingRegressor):
        return _read_histogram_boosting(estimator)
    package = type(estimator).__module__.partition(".")[0]
    if package == "lightgbm":
        return _read_lightgbm(estimator)
    return _read_xgboost(estimator) if package == "xgboost" else None


def _refuse_categories(has_categories: bool, estimator: BaseEstimator) -> None:
    """Raise if trees split categories."""
    if has_categories:
        raise ValueError(
            f"{type(estimator).__name__} splits categories, which cannot be exported: pass a "
            "pipeline with OneHotEncoder or OrdinalEncoder, and categorical_features=None."
        )


def _read_histogram_boosting(boosting: BaseEstimator) -> _Boosting:
    """Return the trees of scikit-learn's HistGradientBoosting."""
    trees = []
    for score, nodes in read_boosted_nodes(boosting):
        _refuse_categories(bool(nodes["is_categorical"].any()), boosting)
        is_leaf = nodes["is_leaf"].astype(bool)
        left = np.where(is_leaf, np.arange(len(nodes)), nodes["left"])
        trees.append(
            _Nodes(
                score=score,
                features=nodes["feature_idx"],
                thresholds=nodes["num_threshold"],
                left=left,
                right=nodes["right"],
                missing_left=nodes["missing_go_to_left"],
                values=nodes["value"],
            )
        )
    return _Boosting(trees, np.ravel(boosting._baseline_prediction), boosting.loss)


def _read_lightgbm(estimator: Any) -> _Boosting:
    """Return the trees of a model of LightGBM."""
    content = estimator.booster_.dump_model()
    n_scores = content["num_tree_per_iteration"]
    trees = []
    for index, tree in enumerate(content["tree_info"]):
        _refuse_categories(tree["num_cat"] > 0, estimator)
        rows: list[list[float]] = []
        _append_lightgbm_node(rows, tree["tree_structure"])
        columns = np.array(rows).T  # (n_fields, n_nodes)
        features, left, right, missing_left = columns[[0, 2, 3, 4]].astype(int)
        score = index % n_scores
        trees.append(_Nodes(score, features, columns[1], left, right, missing_left, columns[5]))
    loss = content["objective"]
    if content["average_output"]:
        loss = "the mean of trees"
    elif not loss.endswith(" sqrt"):
        loss = loss.partition(" ")[0]  # "quantile alpha:0.9" is "quantile"
    return _Boosting(trees, np.zeros(n_scores), loss)


def _append_lightgbm_node(rows: list[list[float]], node: dict[str, Any]) -> int:
    """Append a row for the node and each one below it, and return the position of the node."""
    position = len(rows)
    rows.append([0, 0.0, position, 0, 0, node.get("leaf_value", 0.0)])
    missing = node.get("missing_type")
    if missing == "Zero" or "leaf_coeff" in node:
        raise ValueError(
            "Linear leaves, and zeros that are missing, cannot be exported. Fit LightGBM with "
            "linear_tree=False and zero_as_missing=False."
        )
    if "leaf_value" in node:
        return position
    threshold = node["threshold"]
    # Where the training data had no missing values, LightGBM reads them as 0.
    missing_left = node["default_left"] if missing == "NaN" else threshold >= 0.0
    left = _append_lightgbm_node(rows, node["left_child"])
    right = _append_lightgbm_node(rows, node["right_child"])
    rows[position] = [node["split_feature"], threshold, left, right, missing_left, 0.0]
    return position


def _read_xgboost(estimator: Any) -> _Boosting:
    """Return the trees of a model of XGBoost, up to the best round of early stopping."""
    booster = estimator.get_booster()
    last = booster.attr("best_iteration")
    if last is not None:
        booster = booster[: int(last) + 1]
    learner = json.loads(booster.save_raw("json"))["learner"]
    boosting = learner["gradient_booster"]
    if boosting["name"] != "gbtree":
        raise ValueError(
            f"{type(estimator).__name__} has the booster {boosting['name']!r}, which cannot be "
            "exported. Fit with booster='gbtree'."
        )
    loss = learner["objective"]["name"]
    scores = boosting["model"]["tree_info"]
    trees = []
    for score, tree in zip(scores, boosting["model"]["trees"], strict=True):
        _refuse_categories(any(tree["split_type"]), estimator)
        names = "split_indices", "left_children", "right_children", "default_left"
        features, left, right, missing_left = (np.array(tree[name]) for name in names)
        values = np.array(tree["split_conditions"], dtype=np.float32)  # as it is in the trees
        left = np.where(left < 0, np.arange(len(left)), left)
        trees.append(_Nodes(score, features, values, left, right, missing_left, values))
    base = np.array(json.loads(learner["learner_model_param"]["base_score"].lower()), dtype=float)
    if loss == "binary:logistic":
        base = np.log(base / (1.0 - base))
    elif _LINKS.get(loss) == "log":
        base = np.log(base)
    n_scores = max(scores, default=0) + 1
    return _Boosting(trees, np.broadcast_to(base, n_scores), loss, "BRANCH_LT")
