"""Mitigations compared: what each tolerance costs, on people not used for the fit."""

import numpy as np
import pandas as pd
from sklearn import get_config
from sklearn.base import clone, is_clusterer, is_regressor
from sklearn.model_selection import check_cv
from sklearn.utils import column_or_1d, indexable
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from skfair.audit._certify import bind_to
from skfair.audit._scored import check_certifiable, predictions_of
from skfair.constraints import constraints_on
from skfair.groups import Events, check_alignment
from skfair.inference import check_level, contrast_interval, estimates_of
from skfair.utils._held_out import check_disjoint_folds
from skfair.utils._sklearn import check_method_params, safe_indexing


def fairness_front(
    estimator,
    X,
    y,
    *,
    sensitive_features,
    tolerances=None,
    constraint="demographic_parity",
    parameter="tolerance",
    cv=5,
    sample_weight=None,
    pos_label=None,
    confidence_level=0.95,
    n_jobs=None,
):
    """Accuracy against gap of a classifier at several tolerances, on people not used for the fit.

    Everybody is decided about by a fit without their fold; the decisions of all folds are pooled.
    Their accuracy and gap have intervals, as if the folds' models were one: those of five folds
    share most of their people.

    Parameters
    ----------
    estimator : estimator
        Classifier, pipeline or search; clones of it are fitted. Its ``fit`` is given the groups if
        it takes them, so that a model without constraints can stand beside.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Whatever it takes.
    y : array-like of shape (n_samples,)
        Two classes, or several.
    sensitive_features : array-like or sparse matrix
        Group of each person, as for metrics.
    tolerances : list of float or None, default=None
        Values of the parameter; None fits the estimator as it is, once.
    constraint : str or Constraint, default="demographic_parity"
        What is compared: a name in :data:`skfair.constraints.CONSTRAINTS`, or an instance, that
        counts decisions. It need not be the one that the classifier was trained under.
    parameter : str, default="tolerance"
        Name of the parameter, as in ``"constrainedermclassifier__tolerance"`` of a pipeline.
    cv : int, splitter or iterable, default=5
        How samples are divided. Test folds are disjoint, and training rows exclude the test rows.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights, in fits that take them and in rates.
    pos_label : label, default=None
        The class that means success; None as in :func:`skfair.metrics.get_scorer`.
    confidence_level : float, default=0.95
        Probability with which each interval holds.
    n_jobs : int or None, default=None
        Fits at a time.

    Returns
    -------
    front : DataFrame
        One row per tolerance: ``tolerance``, ``accuracy``, ``accuracy_low``, ``accuracy_high``,
        ``gap``, ``gap_low``, ``gap_high``. Of more than two classes the widest gap counts, of each
        class against the rest.

    Raises
    ------
    ValueError
        If the constraint does not count decisions, the estimator predicts numbers or has no such
        parameter, test folds overlap, training rows contain test rows, or for what fits, metrics
        and intervals refuse.

    See Also
    --------
    skfair.plotting.TradeoffDisplay : The picture of it.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.audit import fairness_front
    >>> from skfair.classification import ConstrainedERMClassifier
    >>> rng = np.random.default_rng(0)
    >>> sex = rng.integers(2, size=1000)
    >>> X = rng.normal(size=(1000, 2)) + sex[:, np.newaxis]
    >>> y = X.sum(axis=1) + rng.normal(size=1000) > 1
    >>> model = ConstrainedERMClassifier()
    >>> front = fairness_front(model, X, y, sensitive_features=sex, tolerances=[0.02, 0.3])
    >>> bool(front["gap"].is_monotonic_increasing and front["accuracy"].is_monotonic_increasing)
    True
    >>> bool((front["gap_low"] <= front["gap"]).all() and (front["gap"] <= front["gap_high"]).all())
    True
    """
    constraint, level = check_certifiable(constraint), check_level(confidence_level)
    _check_decisions(constraint, estimator)
    check_alignment(X=X, y=y, sensitive_features=sensitive_features, sample_weight=sample_weight)
    (X,), y = indexable(X), column_or_1d(y)
    folds = _disjoint_folds(cv, X, y)
    people = {"sensitive_features": sensitive_features, "sample_weight": sample_weight}
    values = [None] if tolerances is None else list(tolerances)
    decide = delayed(_decide)
    found = Parallel(n_jobs=n_jobs)(
        decide(_at(estimator, parameter, value), constraint, (X, y), people, fold, pos_label)
        for value in values
        for fold in folds
    )
    tested = check_method_params(X, people, indices=np.concatenate([test for _, test in folds]))
    rows = []
    for number, value in enumerate(values):
        own = found[number * len(folds) : (number + 1) * len(folds)]
        parts = [_pooled(part) for part in zip(*own, strict=True)]
        right = np.all([truth == decided for (truth, decided), _ in parts], axis=0)
        # Of several classes the widest gap counts; each has its share of the error.
        own_level = 1.0 - (1.0 - level) / len(parts)
        bounds = [bind_to(constraint, two, *tested.values(), **params) for two, params in parts]
        gaps = [contrast_interval(*bound.estimates(own), own_level) for bound, own in bounds]
        gap, right = np.max(gaps, axis=0), _share(right, tested["sample_weight"], level)
        rows.append((np.nan if value is None else value, *right, *gap))
    return pd.DataFrame(rows, columns=list(_COLUMNS))


def _check_decisions(constraint, estimator):
    """Refuse a constraint on anything but decisions, and an estimator without any."""
    if not constraint.counts_decisions:
        raise ValueError(
            f"A front pools decisions of several fits, but {type(constraint).__name__} compares "
            "losses or ranks; pass a constraint on rates of decisions, such as 'equal_opportunity'."
        )
    if is_regressor(estimator) or is_clusterer(estimator):
        raise ValueError(
            f"A front pools decisions of a classifier, but {type(estimator).__name__} predicts "
            "numbers or clusters. Of a regressor pass fits at several tolerances to "
            f"skfair.audit.certify, with one of {constraints_on('numbers')}."
        )


_COLUMNS = (
    *("tolerance", "accuracy", "accuracy_low", "accuracy_high"),
    *("gap", "gap_low", "gap_high"),
)


def _disjoint_folds(cv, X, y):
    """Training and test rows of each fold; nobody is tested twice."""
    rows = np.arange(len(y))
    folds = [
        (rows[train], rows[test]) for train, test in check_cv(cv, y, classifier=True).split(X, y)
    ]
    tested = np.concatenate([test for _, test in folds])
    n_twice = len(tested) - len(np.unique(tested))
    if n_twice:
        raise ValueError(
            f"Everybody counts once, but {n_twice} people are in several test folds of cv={cv!r}. "
            "Pass an int, or a splitter whose test folds are disjoint."
        )
    check_disjoint_folds(folds)
    return folds


def _at(estimator, parameter, value):
    """A clone with another tolerance; None leaves it its own."""
    if value is None:
        return clone(estimator)
    if parameter not in estimator.get_params():
        raise ValueError(
            f"{type(estimator).__name__} has no parameter {parameter!r} to set to {value!r}; name "
            "it, as in parameter='constrainedermclassifier__tolerance' of a pipeline, or pass "
            "tolerances=None."
        )
    return clone(estimator).set_params(**{parameter: value})


def _decide(model, constraint, data, people, fold, pos_label):
    """Truth and decisions of the people of a test fold, by a fit of the others."""
    X, y = data
    train, test = fold
    given = {name: value for name, value in people.items() if value is not None}
    if not get_config()["enable_metadata_routing"]:
        given = {n: value for n, value in given.items() if has_fit_parameter(model, n)}
    own = check_method_params(X, given, indices=train)
    model.fit(safe_indexing(X, train), y[train], **own)
    groups = safe_indexing(people["sensitive_features"], test)
    return predictions_of(model, constraint, safe_indexing(X, test), y[test], groups, pos_label)


def _pooled(folds):
    """Truth and decisions of all folds, one after the other."""
    columns = [np.concatenate(parts) for parts in zip(*(two for two, _ in folds), strict=True)]
    return columns, folds[0][1]


def _share(is_right, sample_weight, level):
    """A share of everybody, and its limits."""
    events = Events.disjoint(np.zeros(len(is_right), dtype=np.intp), 1, sample_weight)
    told = estimates_of(events, is_right)
    (low,), (high,) = told.limits((1.0 + level) / 2.0)
    return told.values[0], low, high
