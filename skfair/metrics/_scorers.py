"""Fairness metrics as scorers for scikit-learn's searches and cross-validation."""

from sklearn.base import BaseEstimator
from sklearn.utils.metadata_routing import UNUSED, get_routing_for_object

from skfair.exceptions import MissingSensitiveFeaturesError
from skfair.metrics._registry import METRICS, Metric
from skfair.utils._groups import check_alignment


class FairnessScorer(BaseEstimator):
    """Score an estimator by how fair its predictions are; greater is always better.

    Made by `get_scorer`, which says how it is used.

    Parameters
    ----------
    metric : str or Metric
        Name in `METRICS`, or a `Metric` of one's own. The score is minus the metric if less of it
        is better.
    """

    # scikit-learn reads the metadata of scorers off a method of this name.
    __metadata_request__score = {"sensitive_features": True, "estimator": UNUSED}

    def __init__(self, metric):
        self.metric = metric

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
            If the groups did not come. Not an `Exception`: a search must stop, not record nan.
        ValueError
            If a classifier knows more than two classes, or for what the metric refuses.
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
        predictions, params = PREDICTIONS[metric.kind](estimator, X, y, sensitive_features)
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


def _respond(estimator, method, X, sensitive_features):
    """Call a method of the estimator, with everyone's group where it asks for them."""
    wanted = get_routing_for_object(estimator).consumes(method, ["sensitive_features"])
    return getattr(estimator, method)(X, **{name: sensitive_features for name in wanted})


def _positive_class(estimator):
    """The second class, as everywhere in scikit-learn; None if only one was seen at fit."""
    classes = estimator.classes_
    if len(classes) > 2:
        raise ValueError(
            f"A fairness scorer needs a classifier of two classes, but this "
            f"{type(estimator).__name__} knows {len(classes)}; score one class against the rest, "
            "as with y == label."
        )
    return classes[1] if len(classes) == 2 else None


def _cluster_labels(estimator, X, y, sensitive_features):
    return (_respond(estimator, "predict", X, sensitive_features),), {}


def _classes(estimator, X, y, sensitive_features):
    params = {"pos_label": _positive_class(estimator)}
    return (y, _respond(estimator, "predict", X, sensitive_features)), params


def _scores(estimator, X, y, sensitive_features):
    _positive_class(estimator)
    # Probabilities first: they are in the same unit for every candidate of a search. The last
    # column is the second class, or the only one: then everybody has the same score.
    if hasattr(estimator, "predict_proba"):
        return (_respond(estimator, "predict_proba", X, sensitive_features)[:, -1],), {}
    return (_respond(estimator, "decision_function", X, sensitive_features),), {}


def _decision(estimator, X, y, sensitive_features):
    _positive_class(estimator)
    if hasattr(estimator, "decision_function"):
        scores = _respond(estimator, "decision_function", X, sensitive_features)
        return (scores,), {"threshold": 0.0}
    scores = _respond(estimator, "predict_proba", X, sensitive_features)[:, -1]
    return (scores,), {"threshold": 0.5}


def _labelled_decision(estimator, X, y, sensitive_features):
    scores, params = _decision(estimator, X, y, sensitive_features)
    return (y, *scores), {**params, "pos_label": _positive_class(estimator)}


def _labelled_margin(estimator, X, y, sensitive_features):
    scores = _respond(estimator, "decision_function", X, sensitive_features)
    return (y, scores), {"pos_label": _positive_class(estimator)}


PREDICTIONS = {
    "clustering": _cluster_labels,
    "classification": _classes,
    "score": _scores,
    "decision": _decision,
    "labelled_decision": _labelled_decision,
    "labelled_margin": _labelled_margin,
}
"""What a metric of each kind is called with: positional and keyword arguments."""


def get_scorer(scoring):
    """Make a scorer for scikit-learn's searches and cross-validation; greater is always better.

    The names are those of `METRICS`, with ``"neg_"`` before the metrics of which less is better,
    such as "relative_balance" of a clustering and "neg_equalized_odds_difference" of a classifier.
    scikit-learn's own get_scorer cannot know them.

    The positive class of a classifier is the second of its ``classes_``. Metrics of scores are
    given the probability of that class, or the decision function of a classifier without
    predict_proba. Metrics of decisions are given the decision function with its threshold 0, or
    the probability with the threshold 0.5. A metric with other parameters is made of the
    registered one, as in
    ``replace(METRICS["partial_group_auc_difference"], params={"interval": (0.0, 0.2)})`` with
    :func:`dataclasses.replace`.

    Groups reach a scorer by metadata routing, which must be turned on. Where the predict of the
    estimator asks for `sensitive_features` too (also inside a pipeline), the scorer passes them
    on. Without groups nothing can be scored: then the whole search stops with a
    `MissingSensitiveFeaturesError`, which is not an `Exception`, so that no nan is recorded.

    Parameters
    ----------
    scoring : str or Metric
        Name of the scorer, or a `Metric` of one's own.

    Returns
    -------
    scorer : callable
        Called as ``scorer(estimator, X, y=None, *, sensitive_features, sample_weight=None)``; it
        can be pickled and cloned. To weigh samples in a search too, use its
        ``set_score_request(sample_weight=True)``.

    Raises
    ------
    ValueError
        If there is no scorer of this name, or the metric is of an unknown kind.

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
        return FairnessScorer(scoring)
    scorers = {
        name if metric.greater_is_better else f"neg_{name}": name
        for name, metric in METRICS.items()
    }
    if scoring not in scorers:
        raise ValueError(f"scoring must be one of {sorted(scorers)} or a Metric; got {scoring!r}.")
    return FairnessScorer(scorers[scoring])
