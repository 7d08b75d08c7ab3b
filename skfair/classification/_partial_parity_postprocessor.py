"""Fairness on an interval of percentiles for any scorer, by shifting ranks."""

import warnings
from numbers import Real

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils import check_array, check_consistent_length, column_or_1d, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from skfair.classification._rank_search import CRITERIA, eligible, search
from skfair.classification._rank_shift import RankedMembers, ranks_in_groups, shifted
from skfair.classification._training import check_training
from skfair.exceptions import InfeasibleConstraintWarning
from skfair.utils._groups import Memberships, check_alignment, group_names, match_groups
from skfair.utils._percentiles import check_interval
from skfair.utils._sklearn import HasMethods, Interval, StrOptions

_FEWEST = 20
"""Fewer people in the interval do not tell one distribution of scores from another."""


class PartialParityPostprocessor(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    r"""Any classifier, with scores made fair on an interval of percentiles.

    The score of a sample is replaced by its rank t in its group, that is the share of the group
    which scores higher. Ranks are distributed alike in all groups. So that every group k may still
    have a rate r_k of positive decisions of its own, ranks are shifted where decisions are made,

    .. math::

        h = \bar u - (t - b_k(t)), \qquad b_k(t) = \operatorname{sgn}(r_k - \bar u) \,
        \bigl( |r_k - \bar u| - \tfrac14 |t - r_k| \bigr)_+ ,

    so that h is positive for the share r_k of group k, and nobody is overtaken by a member of the
    same group. The rates are those with the fewest errors on the training data among all whose
    scores keep the tolerance there.

    Parameters
    ----------
    estimator : estimator, default=None
        Classifier with ``decision_function`` or ``predict_proba``. A clone of it is fitted, unless
        it is a fitted one in `sklearn.frozen.FrozenEstimator`. None means
        `~sklearn.linear_model.LogisticRegression`.
    criterion : str, default="statistical_parity"
        What the tolerance bounds: "statistical_parity", at all thresholds, or
        "demographic_parity", "equal_opportunity" or "group_auc", all by the partial metric of that
        name in :mod:`skfair.metrics`. There is no "equalized_odds",
        as in general no thresholds give two groups the same true and the same false positive
        rates, unless decisions are drawn by lot.
    interval : pair of floats, list of pairs, or dict of either by group, default=(0.0, 1.0)
        Ranks that are to be fair: ``(alpha, beta)`` with 0 <= alpha < beta <= 1, counted from the
        highest score; a list means the union of its pairs. Where groups have intervals of their
        own, ranks between matching ends of their pairs are compared.
    tolerance : float in [0, 1], default=0.05
        Largest difference allowed, in units of the criterion's metric.
    tolerance_scale : {"normalized", "raw"}, default="normalized"
        The ``scale`` of the metric: whether differences are relative to the people in the interval
        or to whole groups. "group_auc" has only one.

    Attributes
    ----------
    estimator_ : estimator
        The fitted classifier.
    classes_ : ndarray of shape (2,)
        Labels of the negative and the positive class.
    rates_ : ndarray of shape (n_groups,)
        Share of each group with a positive decision.
    center_ : float
        The rank :math:`\bar u` that scores 0 where there is no shift: midway between the smallest
        and the largest rate (if groups have intervals of their own, on their common scale).
    objective_ : float
        Share of wrong decisions on the training data.
    constraint_violation_ : float
        Excess over the tolerance, by the public metric on the training data; 0 when it is kept.
    status_ : {"optimal", "feasible", "infeasible"}
        "infeasible": the tolerance is exceeded. "optimal": no other rates that keep it make fewer
        errors. "feasible": the same but for rates that are nearer to each other than 6e-5.
    n_iter_ : int
        How many gaps between the rates were tried.
    groups_ : GroupSummary
        Labels and counts of the groups.
    n_features_in_ : int
        Number of features seen during fit, if the estimator knows it.
    feature_names_in_ : ndarray of str
        Names of features seen during fit, if the estimator knows them.

    See Also
    --------
    sklearn.frozen.FrozenEstimator : Keeps a fitted classifier as it is.
    suggest_interval : An interval around the decision.

    Notes
    -----
    ``predict`` and ``decision_function`` need everyone's group, and so does ``score``, which cannot
    have it: use ``sklearn.metrics.accuracy_score`` on the predictions. A classifier that knows its
    training data by heart has other ranks on new data; freeze it, and fit the rates on data that
    it has not seen. On new data the differences vary by sampling noise.

    Tied scores stay tied. If there are so many that no shift can keep the tolerance, ``status_`` is
    "infeasible".

    References
    ----------
    .. [1] Y. He, Y. Huang, Y. Yao and Q. Lin, "Enforcing fair predicted scores on intervals of
       percentiles by difference-of-convex constraints", arXiv:2505.12530, 2026. (The criteria; its
       classifiers are trained under them.)

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skfair.classification import PartialParityPostprocessor
    >>> from skfair.metrics import partial_statistical_parity_difference
    >>> rng = np.random.default_rng(0)
    >>> sex = rng.integers(2, size=600)
    >>> X = rng.normal(size=(600, 3)) + sex[:, np.newaxis]
    >>> y = X.sum(axis=1) + rng.normal(size=600) > 2.5
    >>> model = PartialParityPostprocessor(
    ...     LogisticRegression(), interval=(0.1, 0.6), tolerance=0.1
    ... )
    >>> scores = model.fit(X, y, sensitive_features=sex).decision_function(
    ...     X, sensitive_features=sex
    ... )
    >>> difference = partial_statistical_parity_difference(
    ...     scores, sensitive_features=sex, interval=(0.1, 0.6)
    ... )
    >>> bool(difference <= 0.1)
    True
    """

    __metadata_request__fit = {"sensitive_features": True}
    __metadata_request__predict = {"sensitive_features": True}
    __metadata_request__decision_function = {"sensitive_features": True}

    _parameter_constraints = {
        "estimator": [
            HasMethods(["fit", "decision_function"]),
            HasMethods(["fit", "predict_proba"]),
            None,
        ],
        "criterion": [StrOptions(set(CRITERIA))],
        "interval": "no_validation",  # by check_interval, which knows the groups
        "tolerance": [Interval(Real, 0, 1, closed="both")],
        "tolerance_scale": [StrOptions({"normalized", "raw"})],
    }

    def __init__(
        self,
        estimator=None,
        *,
        criterion="statistical_parity",
        interval=(0.0, 1.0),
        tolerance=0.05,
        tolerance_scale="normalized",
    ):
        self.estimator = estimator
        self.criterion = criterion
        self.interval = interval
        self.tolerance = tolerance
        self.tolerance_scale = tolerance_scale

    def fit(self, X, y, *, sensitive_features=None, sample_weight=None):
        """Fit the classifier, unless it is frozen, and the rates of the groups.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Whatever the classifier takes.
        y : array-like of shape (n_samples,)
            Two classes, by labels of any kind; the larger label is the positive class.
        sensitive_features : array-like of shape (n_samples,) or (n_samples, n_attributes), \
                default=None
            Group of each sample, by labels of any kind; with several attributes, groups are the
            combinations that occur. None makes one group of everybody, with a warning.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights, in the ranks and in the errors, where samples of weight 0 count
            as absent, and for the classifier if its ``fit`` takes them.

        Returns
        -------
        self : PartialParityPostprocessor
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter or the data is invalid, a frozen classifier knows other classes, or a
            group has fewer than 20 samples with a rank in the interval; the message says what must
            hold.
        """
        self._validate_params()
        people = {"sensitive_features": sensitive_features, "sample_weight": sample_weight}
        check_alignment(X=X, y=y, **people)
        request = f"criterion={self.criterion!r} compares groups"
        # What X may be is for the classifier to say; here positions stand for its rows.
        positions = np.arange(len(column_or_1d(y)))[:, np.newaxis]
        check_consistent_length(X, positions)
        training = check_training(self, positions, y, people, request)
        if isinstance(training.groups, Memberships):
            raise ValueError(
                "sensitive_features is a sparse matrix, which means groups that may overlap, but "
                "a rank needs the one group that a sample is in: pass one label per sample, or "
                "one dense column per attribute to use the combinations that occur."
            )
        estimator = self._fit_estimator(X, y, people)
        _check_classes(estimator, training.classes)
        y_score = _scores(estimator, X)[training.X[:, 0].astype(np.intp)]
        intervals = check_interval(self.interval, training.groups)
        members = RankedMembers(
            y_score, training.target > 0, training.groups, training.weights, intervals
        )
        self._check_enough(members)
        tried = search(members, self.criterion, self.tolerance, self.tolerance_scale)
        self._store(estimator, training, members, tried)
        self._warn()
        return self

    def decision_function(self, X, *, sensitive_features=None):
        """Fair score of each row; decisions are positive above 0.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Whatever the classifier takes.
        sensitive_features : array-like of shape (n_samples,) or (n_samples, n_attributes), \
                default=None
            Group of each sample; needed unless there was one group at fit.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Between -1 and 1: a difference of ranks.

        Raises
        ------
        ValueError
            If groups are needed and not given, or unknown.
        """
        check_is_fitted(self)
        check_alignment(X=X, sensitive_features=sensitive_features)
        y_score = _scores(self.estimator_, X)
        codes = self._codes(sensitive_features, len(y_score))
        ranks = ranks_in_groups(self._curves, y_score, codes)
        return shifted(ranks, self._zeros[codes], self.center_)

    def predict(self, X, *, sensitive_features=None):
        """Class of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Whatever the classifier takes.
        sensitive_features : array-like of shape (n_samples,) or (n_samples, n_attributes), \
                default=None
            Group of each sample; needed unless there was one group at fit.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        scores = self.decision_function(X, sensitive_features=sensitive_features)
        return self.classes_[(scores > 0).astype(int)]

    def get_metadata_routing(self):
        """What metadata goes where: to this estimator, and to the classifier's ``fit``.

        Returns
        -------
        routing : MetadataRouter
        """
        to_fit = MethodMapping().add(caller="fit", callee="fit")
        router = MetadataRouter(owner=self).add_self_request(self)
        return router.add(estimator=self._unfitted(), method_mapping=to_fit)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        own = get_tags(self._unfitted())
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = own.input_tags.sparse
        tags.input_tags.allow_nan = own.input_tags.allow_nan
        return tags

    def _unfitted(self):
        return LogisticRegression() if self.estimator is None else self.estimator

    def _fit_estimator(self, X, y, people):
        estimator = clone(self._unfitted())
        given = {name: value for name, value in people.items() if value is not None}
        if get_config()["enable_metadata_routing"]:
            passed = process_routing(self, "fit", **given).estimator.fit
        else:
            passed = {n: value for n, value in given.items() if has_fit_parameter(estimator, n)}
        return estimator.fit(X, y, **passed)

    def _check_enough(self, members):
        """Refuse groups of whom too few are compared."""
        groups = members.groups
        compared = members.inside & eligible(self.criterion, members)
        n_compared = np.bincount(groups.codes[compared], minlength=len(groups.labels))
        small = np.flatnonzero(n_compared < _FEWEST)
        if len(small) and len(groups.labels) > 1:
            names = group_names(groups.labels)
            listed = ", ".join(f"{names[code]!r} ({n_compared[code]})" for code in small[:10])
            raise ValueError(
                f"criterion={self.criterion!r} needs at least {_FEWEST} samples of every group "
                f"with a rank in the interval, but some groups have fewer: {listed}. Widen the "
                "interval, merge or leave out small groups, or use a classifier whose scores have "
                "fewer ties: tied samples share the rank of the first."
            )

    def _codes(self, sensitive_features, n_samples):
        """Group of each row to be scored."""
        if sensitive_features is not None:
            return match_groups(sensitive_features, n_samples, self.groups_)
        if len(self.groups_.labels) == 1:
            return np.zeros(n_samples, dtype=np.intp)
        raise ValueError(
            "The score of a sample depends on its group, but no sensitive_features came; pass "
            "predict(X, sensitive_features=...). Inside a search or pipeline, turn on metadata "
            "routing: sklearn.set_config(enable_metadata_routing=True). score(X, y) cannot have "
            "groups: use sklearn.metrics.accuracy_score on the predictions."
        )

    def _store(self, estimator, training, members, tried):
        """Set all fitted attributes at once, so that a failed fit leaves the last one."""
        found = min(tried, key=lambda one: (one.excess, one.error))
        exact = len(tried) == 1
        fitted = {
            "estimator_": estimator,
            "classes_": training.classes,
            "rates_": members.positive_rates(found.scores),
            "center_": found.center,
            "objective_": found.error,
            "constraint_violation_": found.excess,
            "status_": "infeasible" if found.excess else "optimal" if exact else "feasible",
            "n_iter_": len(tried),
            "groups_": training.groups.summary,
            "_curves": members.curves,
            "_zeros": found.zeros,
        }
        for name in ("n_features_in_", "feature_names_in_"):
            vars(self).pop(name, None)
            if hasattr(estimator, name):
                fitted[name] = getattr(estimator, name)
        vars(self).update(fitted)

    def _warn(self):
        if self.status_ == "infeasible":
            warnings.warn(
                f"The difference exceeds the tolerance of {self.tolerance:g} by "
                f"{self.constraint_violation_:.4f} on the training data, at the best. Tied scores "
                "cannot be moved apart, and groups of different size never have quite the same "
                "distribution: raise the tolerance, widen the interval, or use a classifier whose "
                "scores have fewer ties.",
                InfeasibleConstraintWarning,
                stacklevel=3,
            )
        elif len(self.rates_) > 1 and (np.all(self.rates_ == 0) or np.all(self.rates_ == 1)):
            label = self.classes_[int(self.rates_[0])]
            warnings.warn(
                f"Every training sample is given the class {label}: of all rates that keep the "
                "tolerance, these make the fewest errors. Raise the tolerance.",
                UserWarning,
                stacklevel=3,
            )


def _check_classes(estimator, classes):
    """Refuse a classifier whose second class is not the positive one."""
    known = getattr(estimator, "classes_", classes)
    if not np.array_equal(known, classes):
        raise ValueError(
            "The classifier and y must have the same 2 classes, but those of y are "
            f"{classes.tolist()} and those of {type(estimator).__name__} {np.ravel(known).tolist()}"
            "; pass y in the labels of the classifier, or fit it on those of y."
        )


def _scores(estimator, X):
    """Score of each row by a fitted binary classifier, (n_samples,)."""
    if hasattr(estimator, "decision_function"):
        scores = estimator.decision_function(X)
    else:
        scores = estimator.predict_proba(X)[:, 1]
    name = f"the scores of {type(estimator).__name__}"
    return column_or_1d(check_array(scores, ensure_2d=False, dtype=np.float64, input_name=name))
