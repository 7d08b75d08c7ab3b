"""Fairness metrics as scorers for scikit-learn's searches and cross-validation."""

from functools import wraps

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.metrics import get_scorer as get_sklearn_scorer
from sklearn.metrics import get_scorer_names
from sklearn.utils.metadata_routing import UNUSED, get_routing_for_object

from skfair.exceptions import MissingSensitiveFeaturesError
from skfair.metrics._registry import METRICS, Metric
from skfair.people import check_alignment
from skfair.utils._classes import positive_class


class FairnessScorer(BaseEstimator):
    """Score an estimator by how fair its predictions are; greater is always better.

    Made by `get_scorer`, which says how it is used.

    Parameters
    ----------
    metric : str or Metric
        Name in `METRICS`, or a `Metric` of one's own. The score is minus the metric if less of it
        is better.
    pos_label : label, default=None
        The positive class, as in `get_scorer`.
    """

    # scikit-learn reads the metadata of scorers off a method of this name.
    __metadata_request__score = {"sensitive_features": True, "estimator": UNUSED}

    def __init__(self, metric, pos_label=None):
        self.metric = metric
        self.pos_label = pos_label

    def score(self, estimator, X, y=None, *, sensitive_features=None, sample_weight=None):
        """Score the estimator's predictions; the same as calling the scorer.

        Parameters
        ----------
        estimator : estimator
            Fitted; its predict is called, for metrics of scores its predict_proba or, if it has
            none, its decision_function.
        X : array-like of shape (n_samples, n_features)
            Samples to predict.
        y : array-like of shape (n_samples,), default=None
            True classes; only metrics of classifications use them.
        sensitive_features : array-like or sparse matrix
            Group of each sample, in a form that the metric takes.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights of the samples in the metric.

        Returns
        -------
        score : float
            The metric, or minus the metric if less of it is better.

        Raises
        ------
        MissingSensitiveFeaturesError
            If the groups did not come.
        ValueError
            If a classifier knows more than two classes, if it cannot be told which of them is the
            positive one, or for what the metric refuses.
        """
        metric = METRICS[self.metric] if isinstance(self.metric, str) else self.metric
        if sensitive_features is None:
            raise MissingSensitiveFeaturesError(
                "A fairness scorer needs everyone's group, but no sensitive_features came. In a "
                "search or cross-validation call sklearn.set_config(enable_metadata_routing=True) "
                "first, then search.fit(X, sensitive_features=...) or cross_validate(..., "
                'params={"sensitive_features": ...}). In a direct call pass sensitive_features=.'
            )
        check_alignment(X=X, y=y, sensitive_features=sensitive_features)
        predictions, params = PREDICTIONS[metric.kind](
            estimator, X, y, sensitive_features, self.pos_label
        )
        value = metric(
            *predictions,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
            **params,
        )
        return value if metric.greater_is_better else -value

    __call__ = score

    def _accept_sample_weight(self):
        # scikit-learn asks this of the scorers of a multi-metric search while routing is off.
        return True


class PerformanceScorer(BaseEstimator):
    """One of scikit-learn's scorers, for estimators whose predictions may take groups.

    Made by `get_scorer`, which says how it is used.

    Parameters
    ----------
    scoring : str
        Name of a scorer of scikit-learn.
    """

    __metadata_request__score = {"sensitive_features": True, "estimator": UNUSED}

    def __init__(self, scoring):
        self.scoring = scoring

    def score(self, estimator, X, y=None, *, sensitive_features=None, sample_weight=None):
        """Score the estimator's predictions; the same as calling the scorer.

        Parameters
        ----------
        estimator : estimator
            Fitted.
        X : array-like of shape (n_samples, n_features)
            Samples to predict.
        y : array-like of shape (n_samples,), default=None
            True targets.
        sensitive_features : array-like, default=None
            Group of each sample, for an estimator whose predictions ask for them.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights of the samples in the score.

        Returns
        -------
        score : float
        """
        if sensitive_features is not None:
            check_alignment(X=X, y=y, sensitive_features=sensitive_features)
            estimator = _WithGroups(estimator, sensitive_features)
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        return get_sklearn_scorer(self.scoring)(estimator, X, y, **weights)

    __call__ = score

    def _accept_sample_weight(self):
        return True


class _WithGroups:
    """An estimator whose predictions know everyone's group, where they ask for it."""

    def __init__(self, estimator, sensitive_features):
        self.estimator, self.sensitive_features = estimator, sensitive_features

    def __getattr__(self, name):
        found = getattr(self.estimator, name)
        if name not in ("predict", "predict_proba", "decision_function"):
            return found
        if not _wanted(self.estimator, name):
            return found

        @wraps(found)
        def with_groups(X):
            return found(X, sensitive_features=self.sensitive_features)

        return with_groups


def _wanted(estimator, method):
    """Names of what a method of the estimator asks for, of those that a scorer has."""
    return get_routing_for_object(estimator).consumes(method, ["sensitive_features"])


def _respond(estimator, method, X, sensitive_features):
    """Call a method of the estimator, with everyone's group where it asks for them."""
    wanted = _wanted(estimator, method)
    return getattr(estimator, method)(X, **{name: sensitive_features for name in wanted})


def _positive(estimator, pos_label):
    """The positive class and its position among ``classes_``; that of the only one is 1.

    What the user says goes before what the estimator, or one inside it, was told itself.
    """
    classes = np.asarray(estimator.classes_).tolist()
    if len(classes) > 2:
        raise ValueError(
            f"A fairness scorer needs a classifier of two classes, but this "
            f"{type(estimator).__name__} knows {len(classes)}; score one class against the rest, "
            "as with y == label."
        )
    if pos_label is None:
        told = getattr(estimator, "get_params", dict)().items()
        own = [value for name, value in told if name.split("__")[-1] == "pos_label"]
        pos_label = next((value for value in own if value in classes), None)
    if len(classes) == 1 and pos_label is None:
        return None, 1
    positive = positive_class(set(classes), pos_label)
    return positive, classes.index(positive) if len(classes) == 2 else 1


def _cluster_labels(estimator, X, y, sensitive_features, pos_label=None):
    return (_respond(estimator, "predict", X, sensitive_features),), {}


def _classes(estimator, X, y, sensitive_features, pos_label=None):
    positive, _ = _positive(estimator, pos_label)
    predicted = _respond(estimator, "predict", X, sensitive_features)
    return (y, predicted), {"pos_label": positive}


def _probabilities(estimator, X, sensitive_features, position):
    """Probability of a class; of the only one there is, everybody has the same."""
    probabilities = _respond(estimator, "predict_proba", X, sensitive_features)
    return probabilities[:, min(position, probabilities.shape[1] - 1)]


def _margins(estimator, X, sensitive_features, position):
    """Decision function of a class: scikit-learn's is that of the second."""
    margins = _respond(estimator, "decision_function", X, sensitive_features)
    return margins if position else -margins


def _scores(estimator, X, y, sensitive_features, pos_label=None):
    _, position = _positive(estimator, pos_label)
    # Probabilities first: they are in the same unit for every candidate of a search.
    respond = _probabilities if hasattr(estimator, "predict_proba") else _margins
    return (respond(estimator, X, sensitive_features, position),), {}


def _decision(estimator, X, y, sensitive_features, pos_label=None):
    _, position = _positive(estimator, pos_label)
    if hasattr(estimator, "decision_function"):
        return (_margins(estimator, X, sensitive_features, position),), {"threshold": 0.0}
    return (_probabilities(estimator, X, sensitive_features, position),), {"threshold": 0.5}


def _labelled_decision(estimator, X, y, sensitive_features, pos_label=None):
    positive, _ = _positive(estimator, pos_label)
    scores, params = _decision(estimator, X, y, sensitive_features, pos_label)
    return (y, *scores), {**params, "pos_label": positive}


def _labelled_margin(estimator, X, y, sensitive_features, pos_label=None):
    positive, position = _positive(estimator, pos_label)
    return (y, _margins(estimator, X, sensitive_features, position)), {"pos_label": positive}


PREDICTIONS = {
    "clustering": _cluster_labels,
    "classification": _classes,
    "score": _scores,
    "decision": _decision,
    "labelled_decision": _labelled_decision,
    "labelled_margin": _labelled_margin,
}
"""What a metric of each kind is called with: positional and keyword arguments."""


def get_scorer(scoring, *, pos_label=None):
    """Make a scorer for scikit-learn's searches and cross-validation; greater is always better.

    The names are those of `METRICS`, with ``"neg_"`` before the metrics of which less is better,
    such as "relative_balance" of a clustering and "neg_equalized_odds_difference" of a classifier.
    scikit-learn's own get_scorer cannot know them. Names of its scorers, such as "accuracy", give
    those, except that groups reach a predict that asks for them: what models with a threshold or
    coefficients of their own for each group need.

    The positive class is the one that the scorer is told, else the one that the classifier, or one
    inside it, was told by its own ``pos_label``, else 1. Metrics of scores are given the
    probability of that class, or the decision function of a classifier without predict_proba
    (minus it for the first of the ``classes_``). Metrics of decisions are given the decision
    function with its threshold 0, or the probability with the threshold 0.5. A metric with other
    parameters is made of the registered one, as in
    ``replace(METRICS["partial_group_auc_difference"], params={"interval": (0.0, 0.2)})`` with
    :func:`dataclasses.replace`.

    Groups reach a scorer by metadata routing, which must be turned on. Where the predict of the
    estimator asks for `sensitive_features` too (also inside a pipeline), the scorer passes them
    on. Without groups nothing can be scored: that is a `MissingSensitiveFeaturesError`, of which a
    search makes nan in its table and a warning with the message, unless it has
    ``error_score="raise"``.

    Parameters
    ----------
    scoring : str or Metric
        Name of the scorer, or a `Metric` of one's own.
    pos_label : int, float, bool or str, default=None
        The class that means success; None asks the classifier for its parameter of this name, and
        takes 1 if that has none and the classes are 0 and 1, -1 and 1 or booleans.

    Returns
    -------
    scorer : callable
        Called as ``scorer(estimator, X, y=None, *, sensitive_features, sample_weight=None)``; it
        can be pickled and cloned. To weigh samples in a search too, use its
        ``set_score_request(sample_weight=True)``.

    Raises
    ------
    ValueError
        If there is no scorer of this name, the metric is of an unknown kind, or pos_label is given
        for a scorer of scikit-learn.

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
    if isinstance(scoring, Metric):
        if scoring.kind not in PREDICTIONS:
            raise ValueError(
                f"The kind of a metric must be one of {sorted(PREDICTIONS)}, which says what it is "
                f"called with; got {scoring.kind!r}."
            )
        return FairnessScorer(scoring, pos_label)
    scorers = {
        name if metric.greater_is_better else f"neg_{name}": name
        for name, metric in METRICS.items()
    }
    if scoring not in scorers and scoring in get_scorer_names():
        if pos_label is not None:
            raise ValueError(
                f"pos_label is for fairness metrics, but {scoring!r} is a scorer of scikit-learn; "
                "name the class with sklearn.metrics.make_scorer(..., pos_label=...)."
            )
        return PerformanceScorer(scoring)
    if scoring not in scorers:
        raise ValueError(
            f"scoring must be one of {sorted(scorers)}, a Metric, or the name of a scorer of "
            f"scikit-learn; got {scoring!r}."
        )
    return FairnessScorer(scorers[scoring], pos_label)
