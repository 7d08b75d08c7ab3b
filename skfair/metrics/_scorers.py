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
            Fitted; its predict is called.
        X : array-like of shape (n_samples, n_features)
            Samples to predict.
        y : object, default=None
            Not used by metrics of clusterings.
        sensitive_features : array-like of shape (n_samples,) or (n_samples, n_attributes)
            Group of each sample.
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
        """
        metric = METRICS[self.metric] if isinstance(self.metric, str) else self.metric
        if sensitive_features is None:
            raise MissingSensitiveFeaturesError(
                "A fairness scorer needs everyone's group, but no sensitive_features came. In a "
                "search or cross-validation call sklearn.set_config(enable_metadata_routing=True) "
                "first, then search.fit(X, sensitive_features=...) or cross_validate(..., "
                'params={"sensitive_features": ...}). In a direct call pass sensitive_features=.'
            )
        check_alignment(X=X, sensitive_features=sensitive_features)
        routing = get_routing_for_object(estimator)
        wanted = routing.consumes("predict", ["sensitive_features"])
        labels = estimator.predict(X, **{name: sensitive_features for name in wanted})
        value = metric(labels, sensitive_features=sensitive_features, sample_weight=sample_weight)
        return value if metric.greater_is_better else -value

    __call__ = score

    def _accept_sample_weight(self):
        # scikit-learn asks this of the scorers of a multi-metric search while routing is off.
        return True


def get_scorer(scoring):
    """Make a scorer for scikit-learn's searches and cross-validation; greater is always better.

    The names are those of `METRICS`, with ``"neg_"`` before the metrics of which less is better:
    "balance", "relative_balance", "mean_balance", "neg_additive_violation" and
    "neg_normalized_additive_violation". scikit-learn's own get_scorer cannot know them.

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
        If there is no scorer of this name.

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
        return FairnessScorer(scoring)
    scorers = {
        name if metric.greater_is_better else f"neg_{name}": name
        for name, metric in METRICS.items()
    }
    if scoring not in scorers:
        raise ValueError(f"scoring must be one of {sorted(scorers)} or a Metric; got {scoring!r}.")
    return FairnessScorer(scorers[scoring])
