"""Fairness metrics as scorers for scikit-learn's searches and cross-validation."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial, singledispatch
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import get_scorer as get_sklearn_scorer
from sklearn.metrics import get_scorer_names as get_sklearn_scorer_names
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import UNUSED, get_routing_for_object
from sklearn.utils.metaestimators import available_if

from skfair._groups.known import HOW_TO_PASS_GROUPS
from skfair._groups.samples import check_alignment
from skfair._utils.api import GroupName, Label
from skfair._utils.checks import check_choice, join_names, positive_class, spelling_hint
from skfair._utils.sklearn import transform_before_last_step
from skfair.exceptions import MissingSensitiveFeaturesError
from skfair.metrics._group_metrics import (
    RESPONSES_BY_METHOD,
    GroupComparison,
    GroupMetric,
    ResponseMethod,
    find_group_metric,
    find_response_method,
)
from skfair.metrics._rates import Rate
from skfair.metrics._registry import METRICS, Metric
from skfair.metrics._synonyms import COMPARISONS, find_synonym

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from sklearn.utils import Tags

    from skfair._utils.tables import Table, TableLike


class GroupScorer(BaseEstimator):
    """Base of scorers that take the group of each sample.

    A subclass has a method ``score``, from whose name scikit-learn reads the requested metadata.
    """

    __metadata_request__score = {"sensitive_features": True, "estimator": UNUSED}

    def __call__(
        self, estimator: BaseEstimator, X: TableLike, y: TableLike | None = None, **metadata: Any
    ) -> float:
        """Score a fitted estimator, as the method ``score`` does."""
        return self.score(estimator, X, y, **metadata)

    def _accept_sample_weight(self) -> bool:
        # scikit-learn asks this of the scorers of a multi-metric search while routing is off.
        return True

    # What `sklearn.model_selection.TunedThresholdClassifierCV` reads off a scorer, to score the
    # classes that each threshold predicts. The sign of the score is right already.

    _sign = 1

    @property
    def _kwargs(self) -> dict[str, Label]:
        pos_label = getattr(self, "pos_label", None)
        return {} if pos_label is None else {"pos_label": pos_label}

    @property
    def _score_func(self) -> Callable:
        return self._score_classes

    def _score_classes(
        self,
        y_true: np.ndarray,
        y_pred: np.ndarray,
        pos_label: Label | None = None,
        **metadata: Any,
    ) -> float:
        """Score of predicted classes; the scorer knows the positive one."""
        return self(
            PredictedClasses(y_pred, np.union1d(y_true, y_pred)), y_true, y_true, **metadata
        )


class PredictedClasses(ClassifierMixin, BaseEstimator):
    """A classifier of given predictions, whatever X is."""

    def __init__(self, y_pred: np.ndarray, classes: np.ndarray) -> None:
        self.y_pred = y_pred
        self.classes = classes

    @property
    def classes_(self) -> np.ndarray:
        """Classes, ascending."""
        return self.classes

    def predict(self, X: np.ndarray) -> np.ndarray:
        """The given predictions."""
        return self.y_pred


class FairnessScorer(GroupScorer):
    """Scorer of a fairness metric, a name in `METRICS` or a `Metric`; made by `get_scorer`."""

    def __init__(self, metric: Metric | str, pos_label: Label | None = None) -> None:
        self.metric = metric
        self.pos_label = pos_label

    def score(
        self,
        estimator: BaseEstimator,
        X: TableLike,
        y: TableLike | None = None,
        *,
        sensitive_features: TableLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Metric of the predictions of a fitted estimator, negated if less of it is better.

        Of a classifier of more than two classes it is the worst value over the classes, each
        against the rest, or that of `pos_label`.
        """
        metric = METRICS[self.metric] if isinstance(self.metric, str) else self.metric
        if sensitive_features is None:
            raise MissingSensitiveFeaturesError(
                "A fairness scorer requires the group of each sample, but sensitive_features is "
                f"missing. {HOW_TO_PASS_GROUPS}. In a direct call pass sensitive_features=, and "
                "functools.partial(scorer, sensitive_features=...) to what scores the same samples "
                "again and again, such as permutation_importance."
            )
        check_alignment(X=X, y=y, sensitive_features=sensitive_features)
        _check_task(estimator, metric)
        groups = {"sensitive_features": sensitive_features}
        views = [(estimator, y, self.pos_label)]
        # Of more than two classes: one view of each class against the rest, unless labels count.
        if metric.kind != "set" and (metric.kind != "prediction" or self.pos_label is not None):
            views = _binary_views(estimator, y, sensitive_features, self.pos_label)
        values = []
        for view, truth, pos_label in views:
            predictions, params = ARGUMENTS_BY_METRIC_KIND[metric.kind](
                view, X, truth, sensitive_features, pos_label
            )
            values.append(metric(*predictions, **groups, sample_weight=sample_weight, **params))
        return float(np.min(values) if metric.greater_is_better else -np.max(values))


class ExposureScorer(FairnessScorer):
    """Scorer of a metric of rankings, which takes the query of each document; of `get_scorer`."""

    __metadata_request__score = {"query_id": True}

    def score(
        self,
        estimator: BaseEstimator,
        X: TableLike,
        y: TableLike | None = None,
        *,
        sensitive_features: TableLike | None = None,
        query_id: TableLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Metric of the rankings of queries by the predictions of a fitted estimator."""
        metric = replace(METRICS[self.metric], params={"query_id": query_id})  # type: ignore[index]
        return FairnessScorer(metric, self.pos_label).score(
            estimator,
            X,
            y,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
        )


class PerformanceScorer(GroupScorer):
    """One of scikit-learn's scorers, which passes groups to predictions; made by `get_scorer`."""

    def __init__(self, scoring: str) -> None:
        self.scoring = scoring

    def score(
        self,
        estimator: BaseEstimator,
        X: np.ndarray,
        y: np.ndarray | None = None,
        *,
        sensitive_features: np.ndarray | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Score of the predictions of a fitted estimator, with groups if these request them."""
        if sensitive_features is not None:
            check_alignment(X=X, y=y, sensitive_features=sensitive_features)
        # Groups reach the predictions only through the estimator.
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        predictor = estimator
        if sensitive_features is not None:
            predictor = _GroupPredictor(estimator, sensitive_features)
        try:
            return get_sklearn_scorer(self.scoring)(predictor, X, y, **weights)
        except AttributeError as error:
            raise ValueError(
                f"{self.scoring!r} cannot score this {type(estimator).__name__}: {error} Pass a "
                'scorer of predictions that it has, such as "accuracy" of classes or "r2" of '
                "numbers."
            ) from error


def _has_method(name: str) -> Callable[[Any], bool]:
    """A check that the estimator inside another one has a method, which else raises its error."""
    return lambda outer: getattr(outer.estimator, name) is not None


class _GroupPredictor:
    """An estimator that passes the group of each sample to its methods that request it."""

    def __init__(self, estimator: BaseEstimator, sensitive_features: np.ndarray) -> None:
        self.estimator = estimator
        self.sensitive_features = sensitive_features

    def __sklearn_tags__(self) -> Tags:
        return get_tags(self.estimator)

    @property
    def classes_(self) -> np.ndarray:
        return self.estimator.classes_

    @available_if(_has_method("predict"))
    def predict(self, X: TableLike) -> np.ndarray:
        """Predictions for the groups of the samples."""
        return _call_with_groups(self.estimator, "predict", X, self.sensitive_features)

    @available_if(_has_method("predict_proba"))
    def predict_proba(self, X: TableLike) -> np.ndarray:
        """Probabilities of the classes for the groups of the samples."""
        return _call_with_groups(self.estimator, "predict_proba", X, self.sensitive_features)

    @available_if(_has_method("decision_function"))
    def decision_function(self, X: TableLike) -> np.ndarray:
        """Scores for the groups of the samples."""
        return _call_with_groups(self.estimator, "decision_function", X, self.sensitive_features)


class _OneVsRest:
    """A classifier of several classes as a binary one: one of them against the rest."""

    def __init__(self, estimator: _GroupPredictor, label: Label) -> None:
        self.estimator = estimator
        self.classes_ = np.array([False, True])
        self.label = label
        self.position = estimator.classes_.tolist().index(label)

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Whether the class is the predicted one."""
        return np.asarray(self.estimator.predict(X)) == self.label

    @available_if(_has_method("predict_proba"))
    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Probabilities of the rest and of the class."""
        probability = self.estimator.predict_proba(X)[:, self.position]
        return np.column_stack((1.0 - probability, probability))

    def decision_function(self, X):
        """Score of the class minus the largest of the others; positive where it is predicted."""
        has_margins = hasattr(self.estimator, "decision_function")
        # The decision function, or the probabilities of a classifier without one.
        respond = self.estimator.decision_function if has_margins else self.estimator.predict_proba
        scores = np.asarray(respond(X))
        n_classes = len(self.estimator.classes_)
        if scores.shape[1:] != (n_classes,):
            raise ValueError(
                f"{respond.__name__} must return one score per class; got an array of shape "
                f"{scores.shape} for {n_classes} classes. Use a metric of predicted classes, or a "
                'classifier with decision_function_shape="ovr".'
            )
        return scores[:, self.position] - np.delete(scores, self.position, axis=1).max(axis=1)


METRIC_KINDS_BY_TASK = {
    "classifier": (
        *("classification", "score", "decision", "labelled_decision", "labelled_margin"),
        *("labelled_score", "labelled_probability", "prediction", "set"),
    ),
    "regressor": ("regression", "score", "prediction", "set"),
    "clusterer": ("clustering", "prediction"),
    "model without classes": ("clustering", "regression", "score", "prediction", "set"),
}
"""Kinds of metrics that can score an estimator, by its task."""


def _check_task(estimator: BaseEstimator, metric: Metric) -> None:
    """Raise for a metric of predictions that the estimator does not make."""
    task = _task_of(estimator)
    name = type(estimator).__name__
    metric_name = getattr(metric.function, "__name__", "This metric")
    # The metric must be of the estimator's task.
    if metric.kind not in METRIC_KINDS_BY_TASK[task]:
        fitting = sorted(
            _scorer_name(key, other)
            for key, other in METRICS.items()
            if other.kind in METRIC_KINDS_BY_TASK[task]
        )
        raise ValueError(
            f"{metric_name} is not a metric of a {task}, but {name} is one. Pass one "
            f"of {join_names(map(repr, fitting), limit=40)} to get_scorer."
        )
    if task != "classifier":
        return
    # The classifier must have the method whose output the metric takes.
    methods = dict.fromkeys(("classification", "prediction", "set"), ("predict",))
    methods |= {"labelled_margin": ("decision_function",)}
    methods |= {"labelled_probability": ("predict_proba",)}
    needed = methods.get(metric.kind, ("predict_proba", "decision_function"))
    if not any(hasattr(estimator, method) for method in needed):
        raise ValueError(
            f"{metric_name} compares scores, but this {name} has no "
            f"{' and no '.join(needed)}. Pass a scorer of predicted classes, such as "
            '"neg_demographic_parity_difference".'
        )


def _task_of(estimator: BaseEstimator) -> str:
    """The task of a fitted estimator: a key of `METRIC_KINDS_BY_TASK`."""
    if hasattr(estimator, "classes_"):
        return "classifier"
    known = hasattr(estimator, "__sklearn_tags__") and get_tags(estimator).estimator_type
    return known if known in METRIC_KINDS_BY_TASK else "model without classes"


def _scorer_name(name: str, metric: Metric) -> str:
    """The name by which `get_scorer` knows a metric."""
    return name if metric.greater_is_better else f"neg_{name}"


def _binary_views(
    estimator: BaseEstimator,
    y: TableLike | None,
    sensitive_features: Table,
    pos_label: Label | None,
) -> list[tuple]:
    """Binary classifiers to score, each with its truth and positive class.

    With more than two classes they are views of each class, or of `pos_label` alone, against the
    rest. Otherwise it is the estimator itself.
    """
    classes = np.asarray(getattr(estimator, "classes_", ())).tolist()
    if len(classes) <= 2:
        return [(estimator, y, pos_label)]
    if pos_label is not None and pos_label not in classes:
        raise ValueError(
            f"pos_label must be one of the classes {join_names(map(repr, classes))}; got "
            f"{pos_label!r}."
        )
    predictor = _GroupPredictor(estimator, sensitive_features)
    return [
        (_OneVsRest(predictor, label), None if y is None else np.asarray(y) == label, True)
        for label in (classes if pos_label is None else [pos_label])
    ]


def _call_with_groups(
    estimator: _OneVsRest | BaseEstimator,
    method: str,
    X: TableLike,
    sensitive_features: TableLike | None,
) -> np.ndarray:
    """Call a method of the estimator, with the groups if it requests them."""
    # What an estimator requests for sets is what it requests for predictions.
    requested = "predict" if method in _SET_METHODS else method
    names = get_routing_for_object(estimator).consumes(requested, ["sensitive_features"])
    # Without metadata routing, pipelines pass groups to all methods of their last step but this.
    is_routed = get_config()["enable_metadata_routing"] or method != "decision_function"
    if names and isinstance(estimator, Pipeline) and not is_routed:
        X = transform_before_last_step(estimator, X)
        last = estimator.steps[-1][1]
        return _call_with_groups(last, method, X, sensitive_features)
    return getattr(estimator, method)(X, **dict.fromkeys(names, sensitive_features))


def find_positive_class(
    estimator: _OneVsRest | BaseEstimator, pos_label: Label | None
) -> tuple[Label | None, int]:
    """The positive class and its position among ``classes_``; that of a single class is 1.

    The `pos_label` of the scorer precedes that of the estimator, or of one inside it.
    """
    if not hasattr(estimator, "classes_"):
        raise ValueError(
            "The estimator must be a fitted classifier, but this "
            f"{type(estimator).__name__} has no classes_."
        )
    classes = np.asarray(estimator.classes_).tolist()
    if len(classes) > 2:
        raise ValueError(
            f"The classifier must have two classes, but this {type(estimator).__name__} has "
            f"{len(classes)}. Compare each class with the rest by skfair.metrics.class_report, or "
            "by get_scorer(..., pos_label=...)."
        )
    # The parameter pos_label of the classifier, or of a step of a pipeline.
    if pos_label is None:
        params: Iterable = getattr(estimator, "get_params", dict)().items()
        labels = [value for name, value in params if name.split("__")[-1] == "pos_label"]
        pos_label = next((label for label in labels if label in classes), None)
    if len(classes) == 1 and pos_label is None:
        return None, 1
    positive = positive_class(set(classes), pos_label)
    return positive, classes.index(positive) if len(classes) == 2 else 1


def _label_arguments(
    estimator: _OneVsRest | BaseEstimator,
    X: TableLike,
    y: TableLike | None,
    sensitive_features: TableLike | None,
    pos_label: Label | None = None,
) -> tuple[tuple[np.ndarray, ...], dict]:
    """Arguments of a metric of predicted labels: classes or clusters."""
    return (_call_with_groups(estimator, "predict", X, sensitive_features),), {}


def _add_target(
    arguments: Callable,
    estimator: _OneVsRest | BaseEstimator,
    X: TableLike,
    y: TableLike | None,
    sensitive_features: TableLike | None,
    pos_label: Label | None = None,
) -> tuple:
    """Arguments of a metric of predictions, and true classes before them."""
    positive, _ = find_positive_class(estimator, pos_label)
    predictions, params = arguments(estimator, X, y, sensitive_features, pos_label)
    return (y, *predictions), params | {"pos_label": positive}


def _probabilities(
    estimator: _OneVsRest | BaseEstimator,
    X: TableLike,
    sensitive_features: TableLike | None,
    position: int,
) -> np.ndarray:
    """Probability of a class; of a single class that of this one."""
    probabilities = _call_with_groups(estimator, "predict_proba", X, sensitive_features)
    # A classifier that was fitted to one class has a single column.
    position = min(position, probabilities.shape[1] - 1)
    columns = getattr(probabilities, "iloc", probabilities)  # dataframes of lazy predictions
    return columns[:, position]


def _margins(
    estimator: _OneVsRest | BaseEstimator,
    X: np.ndarray,
    sensitive_features: TableLike,
    position: int,
) -> np.ndarray:
    """Decision function of a class; scikit-learn's is that of the second."""
    margins = _call_with_groups(estimator, "decision_function", X, sensitive_features)
    return margins if position else -margins


def _regression_arguments(estimator, X, y, sensitive_features, pos_label=None):
    """Arguments of a metric of regression."""
    return (y, _call_with_groups(estimator, "predict", X, sensitive_features)), {}


def _score_arguments(
    estimator: _OneVsRest | BaseEstimator,
    X: Table,
    y: TableLike | None,
    sensitive_features: Table | None,
    pos_label: Label | None = None,
) -> tuple[tuple[np.ndarray, ...], dict]:
    """Arguments of a metric of scores: predictions of a regressor, or scores of a classifier."""
    if not hasattr(estimator, "classes_"):
        return (_call_with_groups(estimator, "predict", X, sensitive_features),), {}
    _, position = find_positive_class(estimator, pos_label)
    # Probabilities first: they are in the same unit for every candidate of a search.
    respond = _probabilities if hasattr(estimator, "predict_proba") else _margins
    return (respond(estimator, X, sensitive_features, position),), {}


def _decision_arguments(
    estimator: _OneVsRest | BaseEstimator,
    X: np.ndarray,
    y: np.ndarray | None,
    sensitive_features: TableLike,
    pos_label: Label | None = None,
) -> tuple[tuple[np.ndarray, ...], dict[str, float]]:
    """Arguments of a metric of scores at a threshold."""
    _, position = find_positive_class(estimator, pos_label)
    if hasattr(estimator, "decision_function"):
        return (_margins(estimator, X, sensitive_features, position),), {"threshold": 0.0}
    return (_probabilities(estimator, X, sensitive_features, position),), {"threshold": 0.5}


def _labelled_margin_arguments(
    estimator: _OneVsRest | BaseEstimator,
    X: np.ndarray,
    y: np.ndarray,
    sensitive_features: TableLike,
    pos_label: Label | None = None,
) -> tuple:
    """Arguments of a metric of true classes and values of the decision function."""
    positive, position = find_positive_class(estimator, pos_label)
    return (y, _margins(estimator, X, sensitive_features, position)), {"pos_label": positive}


def _labelled_probability_arguments(estimator, X, y, sensitive_features, pos_label=None):
    """Arguments of a metric of true classes and probabilities."""
    positive, position = find_positive_class(estimator, pos_label)
    probabilities = _probabilities(estimator, X, sensitive_features, position)
    return (y, probabilities), {"pos_label": positive}


def _prediction_arguments(
    estimator: BaseEstimator,
    X: np.ndarray,
    y: np.ndarray | None,
    sensitive_features: np.ndarray,
    pos_label: str | None = None,
) -> tuple:
    """Arguments of a metric of whatever is predicted: two classes, several, or numbers."""
    if len(getattr(estimator, "classes_", ())) in (1, 2):
        classify = ARGUMENTS_BY_METRIC_KIND["classification"]
        return classify(estimator, X, y, sensitive_features, pos_label)
    return _regression_arguments(estimator, X, y, sensitive_features, pos_label)


_SET_METHODS = ("predict_set", "predict_interval")


def _set_arguments(estimator, X, y, sensitive_features, pos_label=None):
    """Arguments of a metric of prediction sets: true values, and sets or intervals."""
    method = next((method for method in _SET_METHODS if hasattr(estimator, method)), None)
    if method is None or pos_label is not None:
        raise ValueError(
            f"A scorer of prediction sets takes no pos_label, and needs an estimator with "
            f"predict_set or predict_interval; got a {type(estimator).__name__} and "
            f"pos_label={pos_label!r}. Pass a model of skfair.conformal, whose estimator may be a "
            "pipeline."
        )
    sets = _call_with_groups(estimator, method, X, sensitive_features)
    if method == "predict_set":
        # Samples may lack a class, and are aligned by their index if they have one.
        indices = [one.index for one in (X, y, sensitive_features) if hasattr(one, "iloc")]
        sets = pd.DataFrame(np.asarray(sets), next(iter(indices), None), estimator.classes_)
    return (y, sets), {}


ARGUMENTS_BY_METRIC_KIND: dict[str, Callable[..., tuple]] = {
    "clustering": _label_arguments,
    "regression": _regression_arguments,
    "classification": partial(_add_target, _label_arguments),
    "score": _score_arguments,
    "decision": _decision_arguments,
    "labelled_decision": partial(_add_target, _decision_arguments),
    "labelled_margin": _labelled_margin_arguments,
    "labelled_score": partial(_add_target, _score_arguments),
    "labelled_probability": _labelled_probability_arguments,
    "prediction": _prediction_arguments,
    "set": _set_arguments,
}
"""Functions that make the positional and keyword arguments of a metric, by its kind."""


def get_scorer(scoring: str, *, pos_label: Label | None = None) -> Callable:
    """Return the scorer of a name, for scikit-learn's searches; greater is always better.

    The names are those of :func:`get_scorer_names`: those of metrics that compare groups, with
    ``"neg_"`` before the metrics of which less is better, such as "relative_balance" of
    a clustering and "neg_equalized_odds_difference" of a classifier.
    Names of scikit-learn's scorers, such as "accuracy", give these scorers, with the groups passed
    to a predict that requests them: models with a threshold or coefficients by group need this.
    :func:`make_scorer` makes scorers of other metrics.

    The positive class is the `pos_label` of the scorer, else that of the classifier, or of one
    inside it, else 1. Metrics of scores take the probability of that class, or the decision
    function of a classifier without predict_proba (negated for the first of the ``classes_``).
    Metrics of decisions take the decision function with the threshold 0, or the probability with
    the threshold 0.5.

    A classifier of more than two classes is scored for `pos_label` against the rest. Without
    `pos_label` the worst value over the classes, each against the rest, counts. The score of a
    class in a decision is then its score minus the largest of the others, with the threshold 0.

    Regressors are scored by metrics of errors, such as "neg_mean_absolute_error_difference", and
    by metrics of scores, which take the predictions: "neg_mean_score_difference".

    Groups reach a scorer by metadata routing, which must be turned on. If the predict of the
    estimator requests `sensitive_features` too (also inside a pipeline), the scorer passes them
    on. Functions without routing that score the same samples again and again, such as
    `sklearn.inspection.permutation_importance`, take ``functools.partial(scorer,
    sensitive_features=groups)``. `sklearn.model_selection.TunedThresholdClassifierCV` takes scorers
    of predicted classes.

    A search or cross-validation turns an error inside a scorer into ``error_score``, which is nan
    by default, and warns with the message of the error: if all scores are nan, the first candidate
    is selected. Missing groups are the most frequent cause. Pass ``error_score="raise"`` to see the
    error itself.

    Read more in the :ref:`guide <pipelines>`.

    Parameters
    ----------
    scoring : str
        Name of the scorer.
    pos_label : int, float, bool or str, default=None
        The positive class. None takes the classifier's parameter of this name, and 1 if it has none
        and the classes are 0 and 1, -1 and 1 or booleans.

    Returns
    -------
    scorer : callable
        Called as ``scorer(estimator, X, y=None, *, sensitive_features, sample_weight=None)``; it
        can be pickled and cloned. To use weights in a search too, call its
        ``set_score_request(sample_weight=True)``.

    Raises
    ------
    ValueError
        If there is no scorer of this name, or pos_label is given for a scorer of scikit-learn.

    See Also
    --------
    make_scorer : Scorers of other metrics, and of metrics with other parameters.

    Examples
    --------
    >>> import numpy as np
    >>> import sklearn
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.model_selection import cross_validate
    >>> from skfair.metrics import get_scorer
    >>> X = np.repeat([[0.0], [1.0]], 10, axis=0)
    >>> group = ["a", "b"] * 10
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     scores = cross_validate(
    ...         KMeans(n_clusters=2, random_state=0),
    ...         X,
    ...         scoring={"balance": get_scorer("balance")},
    ...         params={"sensitive_features": group},
    ...         cv=5,
    ...     )
    >>> scores["test_balance"]
    array([1., 1., 1., 1., 1.])
    """
    scorers = _names_of_scorers()
    if isinstance(scoring, str) and scoring in scorers:
        kind = ExposureScorer if "exposure" in scoring else FairnessScorer
        return kind(scorers[scoring], pos_label)
    if isinstance(scoring, str) and scoring in get_sklearn_scorer_names():
        if pos_label is not None:
            raise ValueError(
                f"pos_label is for scorers of groups, but {scoring!r} is a scorer of scikit-learn; "
                "name the class with sklearn.metrics.make_scorer(..., pos_label=...)."
            )
        return PerformanceScorer(scoring)
    raise ValueError(
        f"scoring must be one of {sorted(scorers)}, or the name of a scorer of scikit-learn; got "
        f"{scoring!r}." + _scorer_hint(scoring, scorers)
    )


def get_scorer_names() -> list[str]:
    """List the names of the scorers that compare groups, for :func:`get_scorer`.

    Read more in the :ref:`guide <pipelines>`.

    Returns
    -------
    names : list of str
        Sorted names; those of scikit-learn's scorers are known to :func:`get_scorer` too.

    See Also
    --------
    get_metric_names : Names of metrics of one group.

    Examples
    --------
    >>> from skfair.metrics import get_scorer_names
    >>> get_scorer_names()[:3]
    ['attribute_balance', 'attribute_share_ratio', 'balance']
    """
    return sorted(_names_of_scorers())


def _names_of_scorers() -> dict[str, str]:
    """Keys of `METRICS` by the names of their scorers."""
    return {_scorer_name(name, metric): name for name, metric in METRICS.items()}


TRANSFORMS = {"difference": False, "ratio": True, "group_min": True, "group_max": False}
"""Transforms of `make_scorer` -> whether greater is better, unless said."""


def make_scorer(
    metric: Any,
    *,
    transform: str | None = None,
    group: GroupName | None = None,
    response_method: ResponseMethod | None = None,
    greater_is_better: bool | None = None,
    k: float | None = None,
    pos_label: Label | None = None,
    confidence_level: float | None = None,
    **params: Any,
) -> Callable:
    """Make a scorer of a metric, for scikit-learn's searches and cross-validation.

    With a `transform` the values of the metric in all groups become one number, as those of
    fairlearn's ``make_derived_metric``: their largest difference, smallest ratio, minimum or
    maximum. With a `group` the value of this group is the score. Groups without a value are left
    out, with a warning. Without both the metric compares groups itself: a metric of this package,
    by name or as a function, or a function of one's own. "coverage" and "set_size" take the sets of
    an estimator with ``predict_set``, or the intervals of one with ``predict_interval``.

    With a `confidence_level` the score is the negative upper confidence limit of the gap of a
    constraint. A search by it prefers models whose gap is *shown* to be small by the test folds,
    and not those whose gap is small by chance: with :func:`skfair.model_selection.best_subject_to`
    and a bound of .05 it selects a model that meets .05 with that confidence, on each test fold.

    Positive class, several classes, routing of groups and errors are as with :func:`get_scorer`. A
    function takes the labels of more than two classes, or the numbers of a regressor.

    Read more in the :ref:`guide <pipelines>`.

    Parameters
    ----------
    metric : str, Rate, GroupMetric, callable or Constraint
        With a transform or a group what is compared, as in :func:`group_report`: "recall",
        "f1_score", "brier_score", or a function of :mod:`sklearn.metrics`. With a confidence level
        a constraint, as ``EqualOpportunity()``, or its name. Otherwise what compares groups itself:
        the name of a metric or its function, or a function with a direction, called as
        ``metric(y_true, response, sensitive_features=, sample_weight=)`` and with ``pos_label=`` of
        two classes.
    transform : {"difference", "ratio", "group_min", "group_max"}, default=None
        How the values of the groups become one number.
    group : label or tuple of labels, default=None
        The group whose value is the score.
    response_method : {"predict", "decision_function", "predict_proba"}, default=None
        What a function takes, as in :class:`GroupMetric`, also for None.
    greater_is_better : bool, default=None
        Whether larger values are better; the scorer negates others. None: it is so of ratios,
        minima, and the value of one group, not of differences and maxima, and a metric of this
        package has its own direction.
    k : int or float, default=None
        Decisions are positive for the k highest scores of the samples scored, as in
        :func:`group_report`, for a metric of decisions with a transform or a group.
    pos_label : int, float, bool or str, default=None
        The positive class, as in :func:`get_scorer`.
    confidence_level : float, default=None
        Probability with which the limit of the gap of a constraint holds, for a model that does not
        depend on the samples scored. The gap of a constraint with a ratio is 1 minus the ratio, and
        that of a floor 1 minus the smallest rate: -0.2 says that the ratio is at least 0.8.
    **params
        Parameters of a metric that compares groups, such as ``interval=(0.0, 0.2)``.

    Returns
    -------
    scorer : callable
        Called as ``scorer(estimator, X, y=None, *, sensitive_features, sample_weight=None)``; it
        can be pickled and cloned.

    Raises
    ------
    ValueError
        If metric or transform is unknown, or arguments do not go together.

    See Also
    --------
    get_scorer : Scorers by name.

    Examples
    --------
    The smallest recall of a group, which a search maximises:

    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skfair.metrics import make_scorer
    >>> X, group = np.arange(8.0).reshape(-1, 1), ["a", "b"] * 4
    >>> model = LogisticRegression().fit(X, X[:, 0] > 3)
    >>> scorer = make_scorer("recall", transform="group_min")
    >>> round(scorer(model, X, X[:, 0] > 1, sensitive_features=group), 2)
    0.67

    The upper limit of a gap, negated:

    >>> from skfair.constraints import EqualOpportunity
    >>> limit = make_scorer(EqualOpportunity(), confidence_level=0.95)
    >>> round(limit(model, X, X[:, 0] > 3, sensitive_features=group), 2)
    -0.81
    """
    if response_method is not None:
        check_choice("response_method", response_method, RESPONSES_BY_METHOD)
    if confidence_level is not None:
        return FairnessScorer(make_limit_metric(metric, confidence_level), pos_label)
    if transform is not None or group is not None:
        if params:
            raise ValueError(
                f"{join_names(params)} must be parameters of a metric that compares groups itself, "
                "without transform and group; set those of a function with functools.partial."
            )
        if response_method is not None:
            metric = GroupMetric(metric, response_method=response_method)
        compared = _aggregate_by_group(find_group_metric(metric), transform, group, k)
        return FairnessScorer(_set_direction(compared, greater_is_better), pos_label)
    if k is not None:
        raise ValueError("k is for a metric of decisions with a transform; pass transform= too.")
    record = _find_metric(metric, response_method, greater_is_better)
    record = replace(record, params={**record.params, **params})
    return FairnessScorer(_set_direction(record, greater_is_better), pos_label)


@singledispatch
def make_limit_metric(constraint: Any, confidence_level: float) -> Metric:
    """Make a metric of the upper confidence limit of a gap; constraints register how."""
    raise TypeError(
        "A scorer with a confidence_level takes a constraint, such as "
        f"skfair.constraints.EqualOpportunity(); got {constraint!r}."
    )


def _find_metric(
    metric: str | Callable, response_method: str | None, greater_is_better: bool | None
) -> Metric:
    """The record of a metric that compares groups: a name, its function, or one of one's own."""
    name = metric if isinstance(metric, str) else getattr(metric, "__name__", None)
    registered = None if name is None else METRICS.get(name)
    if registered is not None and (isinstance(metric, str) or registered.function is metric):
        return registered
    if not callable(metric) or greater_is_better is None:
        raise ValueError(
            "metric must compare groups itself, as those of get_scorer_names() and functions with "
            f"greater_is_better do, or transform must be one of {[*TRANSFORMS]}, or a constraint "
            f"needs a confidence_level; got metric={metric!r} and transform=None."
        )
    kind = _KIND_BY_RESPONSE[RESPONSES_BY_METHOD[response_method or find_response_method(metric)]]
    return Metric(metric, kind, greater_is_better, best=float(greater_is_better))


def _set_direction(metric: Metric, greater_is_better: bool | None) -> Metric:
    """The metric with the requested direction, or with its own one for None."""
    if greater_is_better is None:
        return metric
    return replace(metric, greater_is_better=greater_is_better)


_KIND_BY_RESPONSE = {
    "sizes": "set",
    "decisions": "prediction",
    "scores": "labelled_score",
    "probabilities": "labelled_probability",
}
"""Responses of metrics -> kinds of metrics."""


def _aggregate_by_group(
    metric: Any, transform: str | None, group: GroupName | None, k: float | None
) -> Metric:
    """The metric that compares a metric between groups, or takes its value in one group."""
    if (transform is None) == (group is None):
        raise ValueError(
            f"Pass transform or group, the group whose value is the score; got both, "
            f"transform={transform!r} and group={group!r}."
        )
    if group is None:
        check_choice("transform", transform, TRANSFORMS)
    kind = "classification" if isinstance(metric, Rate) else _KIND_BY_RESPONSE[metric.response]
    kind = "set" if metric.name == "coverage" else kind
    if k is not None:
        if metric.response != "decisions" or kind == "set":
            raise ValueError(
                f"k makes decisions of scores, but {metric.name} is no metric of them; leave k out."
            )
        kind = "labelled_score"
    greater_is_better = transform is None or TRANSFORMS[transform]
    best = 1.0 if greater_is_better else 0.0
    return Metric(GroupComparison(metric, transform, group, k), kind, greater_is_better, best)


def _scorer_hint(scoring: str | Callable, scorers: dict[str, str]) -> str:
    """The scorer that an unknown name means, or the one of closest spelling, as a question."""
    if callable(scoring):
        of_function = [name for name, key in scorers.items() if METRICS[key].function is scoring]
        return (
            f" Pass its name, {of_function[0]!r}."
            if of_function
            else " Of a function make a scorer by make_scorer(function, transform=...)."
        )
    known = [*scorers, *get_sklearn_scorer_names()]
    if not isinstance(scoring, str) or "partial" in scoring:
        return spelling_hint(scoring, known)
    synonym = find_synonym(scoring.removeprefix("neg_"), COMPARISONS)
    if synonym is None:
        return spelling_hint(scoring, known)
    if synonym.rate:
        return f" Make a scorer by make_scorer({synonym.rate!r}, transform='difference')."
    if synonym.metric is None:
        return " No such metric is offered; make a scorer of your own by make_scorer."
    name = next(name for name, key in scorers.items() if key == synonym.metric)
    return f" Did you mean {name!r}?"
