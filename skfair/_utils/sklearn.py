"""The only place that imports private names of scikit-learn, or asks for its version.

Callbacks came with version 1.9. With older versions fits run without them.
"""

from __future__ import annotations

from collections import ChainMap
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Never, TypeGuard

import numpy as np
from sklearn import metrics
from sklearn.utils import _safe_indexing as index_by_sklearn
from sklearn.utils._param_validation import HasMethods as SklearnHasMethods
from sklearn.utils._param_validation import (
    Interval,
    InvalidParameterError,
    validate_parameter_constraints,
)
from sklearn.utils._param_validation import StrOptions as SklearnStrOptions
from sklearn.utils.validation import _check_method_params as check_params_by_sklearn
from sklearn.utils.validation import _check_sample_weight as check_weight_by_sklearn
from sklearn.utils.validation import _num_samples as count_samples

from skfair._utils.checks import Registry, check_column, check_no_nan, to_floats

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from scipy import sparse
    from sklearn.base import BaseEstimator

    from skfair._utils.api import Decorated
    from skfair._utils.tables import TableLike


class StrOptions(SklearnStrOptions):
    """One of several names, sorted in errors; `options` is a set, or a mapping that may grow."""

    def __init__(self, options: set[str] | Mapping[str, object]) -> None:
        super().__init__(options if isinstance(options, set) else options.keys())
        self.known = options

    def __str__(self) -> str:
        return f"a str among {{{', '.join(map(repr, sorted(self.options)))}}}"


class HasMethods(SklearnHasMethods):
    """Methods that an estimator must have.

    A stack without a final estimator has those of LogisticRegression, once it is fitted.
    """

    def is_satisfied_by(self, val: object) -> bool:
        if hasattr(val, "stack_method") and getattr(val, "final_estimator", val) is None:
            return {*self.methods} <= {"fit", "predict", "predict_proba", "decision_function"}
        return super().is_satisfied_by(val)


def check_sample_weight(
    sample_weight: TableLike | None, X: TableLike, **options: Any
) -> np.ndarray:
    """The checked weights, which are numbers, none of them negative, and not all zero."""
    if isinstance(sample_weight, str) or not (sample_weight is None or np.isscalar(sample_weight)):
        check_column("sample_weight", sample_weight)
        sample_weight = to_floats("sample_weight", sample_weight)
        if np.ndim(sample_weight) > 1:
            raise ValueError(
                "sample_weight must be 1D array or scalar, got 2D array of shape "
                f"{np.shape(sample_weight)}. Pass its column, as in weights.iloc[:, 0]."
            )
        check_no_nan("sample_weight", sample_weight)
        if len(sample_weight) != count_samples(X):
            raise ValueError(
                f"sample_weight must have one weight for each of the {count_samples(X)} samples, "
                f"but has {len(sample_weight)}. Pass the weights of the rows of X, in their order."
            )
    weights = check_weight_by_sklearn(sample_weight, X, ensure_non_negative=True, **options)
    if not weights.any():
        raise ValueError("Sample weights must contain at least one non-zero number.")
    return weights


def _is_arrow(table: object) -> TypeGuard[Any]:
    """Whether a table or column is of pyarrow."""
    return hasattr(table, "to_pylist") and hasattr(table, "take")


def safe_indexing(
    X: TableLike, indices: np.ndarray | Sequence[int] | Sequence[str] | int, *, axis: int = 0
) -> Any:
    """Rows or columns of X; scikit-learn takes those of pyarrow from version 1.7 on."""
    if not _is_arrow(X):
        return index_by_sklearn(X, indices, axis=axis)
    if axis == 0:
        return X.take(np.arange(len(X))[np.asarray(indices)])
    if isinstance(indices, int | str):
        return X.column(indices)
    names = np.array(X.column_names, dtype=object)
    is_named = {*indices} <= {*names}
    return X.select(indices if is_named else names[np.asarray(indices)].tolist())


def check_method_params(
    X: TableLike, params: Mapping[str, Any], indices: np.ndarray | None = None
) -> dict[str, Any]:
    """Rows of the parameters that have one value per sample, and the others unchanged."""
    taken = {
        name: one if indices is None else safe_indexing(one, indices)
        for name, one in params.items()
        if _is_arrow(one) and len(one) == count_samples(X)
    }
    others = {name: one for name, one in params.items() if name not in taken}
    checked = check_params_by_sklearn(X, others, indices=indices) | taken
    return {name: checked[name] for name in params}


def first_tree_leaves(classifier: BaseEstimator) -> np.ndarray | None:
    """Leaves of the first tree of a boosting by histograms, as records; None of other models."""
    trees = getattr(classifier, "_predictors", None)
    if not isinstance(trees, list) or not hasattr(trees[0][0], "nodes"):
        return None
    nodes = trees[0][0].nodes
    return nodes[nodes["is_leaf"].astype(bool)]


def transform_before_last_step(
    pipeline: BaseEstimator, X: TableLike
) -> np.ndarray | sparse.csr_matrix:
    """X as the last step of a fitted pipeline gets it for a prediction.

    Steps without ``transform``, such as those that resample training data, leave X as it is.
    """
    for _, step in pipeline.steps[:-1]:
        X = step.transform(X) if hasattr(step, "transform") else X
    return X


def has_linear_scores(estimator: BaseEstimator) -> bool:
    """Whether scores are scikit-learn's linear ones, which no subclass replaces."""
    from sklearn.linear_model._base import LinearClassifierMixin, LinearModel

    scores = getattr(type(estimator), "decision_function", None)
    predictions = getattr(type(estimator), "predict", None)
    is_linear_classifier = scores is LinearClassifierMixin.decision_function
    return is_linear_classifier or predictions is LinearModel.predict


def read_boosted_nodes(boosting: BaseEstimator) -> list[tuple[int, np.ndarray]]:
    """Return the column of scores and the nodes of each tree of a histogram gradient boosting."""
    # Rows of `_predictors` are iterations, and columns the scores of the classes.
    return [(score, tree.nodes) for row in boosting._predictors for score, tree in enumerate(row)]


D2_SCORES = tuple(
    getattr(metrics, name)
    for name in ("d2_brier_score", "d2_log_loss_score")
    if hasattr(metrics, name)
)
"""Shares of a loss that probabilities save; the first came with version 1.8."""

ResponseMethod = Literal["predict", "decision_function", "predict_proba"]
"""Methods of a fitted model whose output a metric takes."""


class ScoredFunction(NamedTuple):
    """A function of scikit-learn's scorer, and what it takes of a model."""

    function: Callable[..., Any]
    response_method: ResponseMethod
    sign: float  # -1 of a loss


def read_scorer(scorer: Any) -> ScoredFunction | None:
    """The function and the response method of a scorer; None of anything else.

    Of several response methods, which a search tries in turn, it is the first one.
    """
    if not hasattr(scorer, "_score_func") or not hasattr(scorer, "_response_method"):
        return None
    function = scorer._score_func
    if scorer._kwargs:
        function = partial(function, **scorer._kwargs)
    methods: ResponseMethod | Sequence[ResponseMethod] = scorer._response_method
    method = methods if isinstance(methods, str) else methods[0]
    return ScoredFunction(function, method, float(scorer._sign))


try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
    from sklearn.callback._transport import can_reuse_listener, open_listener, send
except ImportError:

    class NoCallbackContext:
        """A task of a fit without callbacks."""

        def call_on_fit_task_begin(self, **data: Any) -> None:
            """Do nothing."""

        def call_on_fit_task_end(self, **data: Any) -> bool:
            """Continue the fit."""
            return False

        def subcontext(self, **data: Any) -> Any:
            """The task itself."""
            return self

    class CallbackSupportMixin:
        """Estimators without ``set_callbacks``."""

        def _init_callback_context(self, **data: Any) -> Any:
            return NoCallbackContext()

    def with_callbacks(fit: Decorated) -> Decorated:
        """The method as it is."""
        return fit

    def open_listener(*_: Any, **__: Any) -> Never:
        """Refuse, since there are no callbacks."""
        raise ImportError(
            "FitMonitor needs scikit-learn's callbacks, which came with version 1.9; "
            "update scikit-learn, or pass verbose=1."
        )

    can_reuse_listener = send = open_listener
