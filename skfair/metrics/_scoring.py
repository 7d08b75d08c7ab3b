"""Fairness metrics as scorers for scikit-learn's searches and cross-validation."""

from functools import wraps

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.metrics import get_scorer as get_sklearn_scorer
from sklearn.metrics import get_scorer_names
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import UNUSED, get_routing_for_object
from sklearn.utils.metaestimators import available_if

from skfair.exceptions import MissingSensitiveFeaturesError
from skfair.groups import HOW_TO_PASS_GROUPS, check_alignment
from skfair.metrics._registry import METRICS, Metric
from skfair.utils._classes import positive_class
from skfair.utils._messages import join_names, spelling_hint
from skfair.utils._sklearn import search_error


class GroupScorer(BaseEstimator):
    """Base of scorers that take the group of each sample; an error stops a search.

    A subclass has a method ``score``, from whose name scikit-learn reads the requested metadata.
    """

    __metadata_request__score = {"sensitive_features": True, "estimator": UNUSED}

    def __call__(self, estimator, X, y=None, **metadata):
        """Score a fitted estimator, as the method ``score`` does."""
        try:
            return self.score(estimator, X, y, **metadata)
        except Exception as error:
            stopping = search_error(error)
            if stopping is error:
                raise
            raise stopping from error

    def _accept_sample_weight(self):
        # scikit-learn asks this of the scorers of a multi-metric search while routing is off.
        return True


class FairnessScorer(GroupScorer):
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

    def __init__(self, metric, pos_label=None):
        self.metric = metric
        self.pos_label = pos_label

    def score(self, estimator, X, y=None, *, sensitive_features=None, sample_weight=None):
        """Score the estimator's predictions.

        Calling the scorer does the same; see `get_scorer` for errors inside searches.

        Parameters
        ----------
        estimator : estimator
            Fitted; its predict is called, for metrics of scores its predict_proba or, if it has
            none, its decision_function.
        X : array-like of shape (n_samples, n_features)
            Samples to predict.
        y : array-like of shape (n_samples,), default=None
            True classes or target; metrics of clusterings and of scores do not use it.
        sensitive_features : array-like or sparse matrix
            Group of each sample, in a form that the metric takes.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights of the samples in the metric.

        Returns
        -------
        score : float
            The metric, or minus the metric if less of it is better. Of a classifier of more than
            two classes the worst over the classes, each against the rest, or that of `pos_label`.

        Raises
        ------
        MissingSensitiveFeaturesError
            If the groups are missing.
        ValueError
            If the metric is not one of the estimator's task, the positive one of two classes is
            not known, or for what the metric refuses.
        """
        metric = METRICS[self.metric] if isinstance(self.metric, str) else self.metric
        if sensitive_features is None:
            raise MissingSensitiveFeaturesError(
                "A fairness scorer needs the group of each sample, but sensitive_features is "
                f"missing. {HOW_TO_PASS_GROUPS}. In a direct call pass sensitive_features=."
            )
        check_alignment(X=X, y=y, sensitive_features=sensitive_features)
        _check_task(estimator, metric)
        groups = {"sensitive_features": sensitive_features}
        sides = _binary_views(estimator, y, sensitive_features, self.pos_label)
        values = []
        for view, truth, pos_label in sides:
            predictions, params = PREDICTIONS[metric.kind](
                view, X, truth, sensitive_features, pos_label
            )
            values.append(metric(*predictions, **groups, sample_weight=sample_weight, **params))
        return float(np.min(values) if metric.greater_is_better else -np.max(values))


class PerformanceScorer(GroupScorer):
    """One of scikit-learn's scorers, for estimators whose predictions may take groups.

    Made by `get_scorer`, which says how it is used.

    Parameters
    ----------
    scoring : str
        Name of a scorer of scikit-learn.
    """

    def __init__(self, scoring):
        self.scoring = scoring

    def score(self, estimator, X, y=None, *, sensitive_features=None, sample_weight=None):
        """Score the estimator's predictions.

        Calling the scorer does the same; see `get_scorer` for errors inside searches.

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

        Raises
        ------
        MissingSensitiveFeaturesError
            If predictions depend on the group and the groups are missing.
        ValueError
            If the estimator does not have the method that is scored, such as predict_proba, or for
            what scikit-learn's scorer refuses.
        """
        if sensitive_features is not None:
            check_alignment(X=X, y=y, sensitive_features=sensitive_features)
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        scored = (
            estimator if sensitive_features is None else _WithGroups(estimator, sensitive_features)
        )
        try:
            return get_sklearn_scorer(self.scoring)(scored, X, y, **weights)
        except AttributeError as error:
            raise ValueError(
                f"{self.scoring!r} cannot score this {type(estimator).__name__}: {error} Pass a "
                'scorer of predictions that it has, such as "accuracy" of classes or "r2" of '
                "numbers."
            ) from error


class _WithGroups:
    """An estimator whose predictions know the group of each sample, where they ask for it."""

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


class _OneVsRest:
    """A classifier of several classes, as one that tells one of them from the rest."""

    def __init__(self, estimator, label):
        self.estimator, self.classes_ = estimator, np.array([False, True])
        self.label, self.position = label, estimator.classes_.tolist().index(label)

    def predict(self, X):
        """Whether the class is the predicted one."""
        return np.asarray(self.estimator.predict(X)) == self.label

    @available_if(lambda self: hasattr(self.estimator, "predict_proba"))
    def predict_proba(self, X):
        """Probabilities of the rest and of the class."""
        probability = self.estimator.predict_proba(X)[:, self.position]
        return np.column_stack((1.0 - probability, probability))

    def decision_function(self, X):
        """Score of the class minus the best of the others; positive where it is predicted."""
        margins = hasattr(self.estimator, "decision_function")
        respond = self.estimator.decision_function if margins else self.estimator.predict_proba
        scores = np.asarray(respond(X))
        n_classes = len(self.estimator.classes_)
        if scores.shape[1:] != (n_classes,):
            raise ValueError(
                f"One score per class is needed, but {respond.__name__} returned an array of shape "
                f"{scores.shape} for {n_classes} classes; use a metric of predicted classes, or a "
                'classifier with decision_function_shape="ovr".'
            )
        return scores[:, self.position] - np.delete(scores, self.position, axis=1).max(axis=1)


TASKS = {
    "classifier": ("classification", "score", "decision", "labelled_decision", "labelled_margin"),
    "regressor": ("regression", "score"),
    "clusterer": ("clustering",),
    "model without classes": ("clustering", "regression", "score"),
}
"""Kinds of metrics that can score an estimator, by its task."""


def _check_task(estimator, metric):
    """Refuse a metric of predictions that the estimator does not make."""
    task = _task_of(estimator)
    name, known = type(estimator).__name__, METRICS.items()
    metric_name = getattr(metric.function, "__name__", "This metric")
    if metric.kind not in TASKS[task]:
        fitting = sorted(_scorer_name(n, one) for n, one in known if one.kind in TASKS[task])
        raise ValueError(
            f"{metric_name} is not a metric of a {task}, but {name} is one. Pass one "
            f"of {join_names(map(repr, fitting), limit=40)} to get_scorer."
        )
    if task != "classifier":
        return
    methods = {"classification": ("predict",), "labelled_margin": ("decision_function",)}
    needed = methods.get(metric.kind, ("predict_proba", "decision_function"))
    if not any(hasattr(estimator, method) for method in needed):
        raise ValueError(
            f"{metric_name} compares scores, but this {name} has no "
            f"{' and no '.join(needed)}. Pass a scorer of decisions, such as "
            '"neg_demographic_parity_difference".'
        )


def _task_of(estimator):
    """The task of a fitted estimator: a key of `TASKS`."""
    if hasattr(estimator, "classes_"):
        return "classifier"
    known = hasattr(estimator, "__sklearn_tags__") and get_tags(estimator).estimator_type
    return known if known in TASKS else "model without classes"


def _scorer_name(name, metric):
    """The name by which `get_scorer` knows a metric."""
    return name if metric.greater_is_better else f"neg_{name}"


def _binary_views(estimator, y, sensitive_features, pos_label):
    """Estimators of at most two classes to score, with their truth and positive class.

    They are the estimator itself, unless it has more than two classes: then a view of each class
    against the rest, or of `pos_label` alone.
    """
    classes = np.asarray(getattr(estimator, "classes_", ())).tolist()
    if len(classes) <= 2:
        return [(estimator, y, pos_label)]
    if pos_label is not None and pos_label not in classes:
        raise ValueError(
            f"pos_label must be one of the classes {join_names(map(repr, classes))}; got "
            f"{pos_label!r}."
        )
    aware = _WithGroups(estimator, sensitive_features)
    return [
        (_OneVsRest(aware, label), None if y is None else np.asarray(y) == label, True)
        for label in (classes if pos_label is None else [pos_label])
    ]


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
    if not hasattr(estimator, "classes_"):
        raise ValueError(
            f"A fitted classifier is needed, but this {type(estimator).__name__} has no classes_."
        )
    classes = np.asarray(estimator.classes_).tolist()
    if len(classes) > 2:
        raise ValueError(
            f"Two classes are needed, but this {type(estimator).__name__} has {len(classes)}. "
            "Compare each class with the rest by skfair.metrics.metric_by_class and class_report, "
            "or by get_scorer(..., pos_label=...)."
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


def _numbers(estimator, X, y, sensitive_features, pos_label=None):
    return (y, _respond(estimator, "predict", X, sensitive_features)), {}


def _scores(estimator, X, y, sensitive_features, pos_label=None):
    if not hasattr(estimator, "classes_"):  # a regressor
        return (_respond(estimator, "predict", X, sensitive_features),), {}
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
    "regression": _numbers,
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

    The positive class of two is the `pos_label` of the scorer, else that of the classifier, or of
    one inside it, else 1. Metrics of scores are given the probability of that class, or the
    decision function of a classifier without predict_proba (minus it for the first of the
    ``classes_``). Metrics of decisions are given the decision function with its threshold 0, or the
    probability with the threshold 0.5.

    A classifier of more than two classes is scored for `pos_label` against the rest, or without it
    for each class against the rest, as by :func:`metric_by_class`, of which the worst value counts.
    The score of a class in a decision is then its score minus the best of the others, with the
    threshold 0.

    Regressors are scored by metrics of errors, such as "neg_mean_error_difference", and by metrics
    of scores, which are given the predictions: "neg_mean_score_difference". A metric with other
    parameters is made of the registered one, as in
    ``replace(METRICS["partial_group_auc_difference"], params={"interval": (0.0, 0.2)})`` with
    :func:`dataclasses.replace`.

    Groups reach a scorer by metadata routing, which must be turned on. Where the predict of the
    estimator asks for `sensitive_features` too (also inside a pipeline), the scorer passes them
    on.

    An error inside a scorer stops a search or cross-validation, whatever its ``error_score``, which
    is meant for errors in ``fit``: with a score of nan for every candidate, the first would be
    selected. Missing groups are the most frequent cause. With ``error_score="raise"`` the error
    itself is raised, else a :class:`skfair.exceptions.SearchError` with its message.

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
    scorers = {_scorer_name(name, metric): name for name, metric in METRICS.items()}
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
            + spelling_hint(scoring, [*scorers, *get_scorer_names()])
        )
    return FairnessScorer(scorers[scoring], pos_label)
