"""Fairness on an interval of percentiles for any scorer, by shifting ranks."""

from numbers import Real

import numpy as np
from sklearn import get_config
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.validation import has_fit_parameter

from skfair.classification._column_classifier import known_features
from skfair.classification._rank_classifier import RankClassifier
from skfair.classification._rank_outcome import outcome_of, rates_of, warn_of_outcome
from skfair.classification._rank_search import (
    CRITERIA,
    check_enough,
    constraint_of,
    promised_search,
    search,
)
from skfair.classification._rank_shift import RankedMembers, ranks_in_groups, shifted
from skfair.constraints import MIN_GROUP_SIZES
from skfair.groups import check_alignment
from skfair.partitions import in_memory, is_partitioned
from skfair.training import (
    CONFIDENCE_LEVELS,
    CV_CONSTRAINTS,
    Subtask,
    at_levels,
    check_held_out,
    check_training,
    distinct_levels,
    fit_and_score,
    store_fit,
    warn_of_duplicates,
)
from skfair.utils._fit import restore_on_failure
from skfair.utils._sklearn import (
    CallbackSupportMixin,
    HasMethods,
    Interval,
    StrOptions,
    validate_params,
    with_callbacks,
)


class PartialParityPostprocessor(CallbackSupportMixin, RankClassifier):
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

    The scores of the training data that are looked at are those of models which have not seen them
    (``cv``): a classifier that knows its training data by heart ranks new people otherwise.

    Parameters
    ----------
    estimator : estimator, default=None
        Classifier with ``decision_function`` or ``predict_proba``. A clone of it is fitted on all
        training data, unless ``cv="prefit"``, or it is in a `~sklearn.frozen.FrozenEstimator`. None
        means `~sklearn.linear_model.LogisticRegression`.
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
    confidence_level : float between 0 and 1, or None, default=None
        Probability with which the population that the samples were drawn from keeps the tolerance
        too. The training data is then held to a smaller tolerance, found by cross-validation. This
        is calibrated on redrawn samples, and no theorem (:ref:`new_data`). None guarantees the
        tolerance on the training data alone. "group_auc" has
        none.
    min_group_size : int or "auto", default="auto"
        Groups with fewer samples (of positive weight) are not compared, and a warning names them:
        the rates of few samples are mostly chance, and yet would bend the whole model. "auto":
        fewer than 30 samples that are also less than 1 % of all; 1 compares all groups. Their
        samples are ranked as if they were in the largest group.
    tolerance_scale : {"normalized", "raw"}, default="normalized"
        The ``scale`` of the metric: whether differences are relative to the people in the interval
        or to whole groups. "group_auc" has only one.
    cv : int, cross-validation splitter, iterable, "prefit" or "oob", default=5
        By which models the training data are scored: an int deals the members of every group and
        class out to so many folds, each of which is scored by a clone fitted on the others.
        "prefit" takes a fitted classifier as it is, and so does a
        `~sklearn.frozen.FrozenEstimator` with any ``cv``. The samples must then be others than
        those that it was fitted to, which ``fit(..., X_fit=)`` checks. "oob"
        takes the out-of-bag probabilities of a forest; in a pipeline, its preprocessing must not
        use y, as it is fitted to all samples.
    pos_label : int, float, bool or str, default=None
        The class that means success: ranks count from the sample that is most likely of it. None
        takes 1 if the labels are 0 and 1, -1 and 1 or booleans, and asks for it if they are others
        and groups are given.

    Attributes
    ----------
    estimator_ : estimator
        The fitted classifier.
    classes_ : ndarray of shape (2,)
        Labels of the classes, ascending.
    pos_label_ : label
        The positive class.
    rates_ : ndarray of shape (n_groups,)
        Share of each group with a positive decision; of a group that is not compared, the rank up
        to which its members have one: the share of the largest group.
    center_ : float
        The rank :math:`\bar u` that scores 0 where there is no shift: midway between the smallest
        and the largest rate (if groups have intervals of their own, on their common scale).
    objective_ : float
        Share of wrong decisions about the training samples of groups that are compared, as scored
        by models that have not seen them.
    constraint_violation_ : float
        Excess over the tolerance, by the public metric of the same scores; 0 when it is kept, nan
        without groups.
    constraint_report_ : DataFrame
        One row per group and threshold, as in `PartialParityClassifier`; empty without groups.
    guarantee_probability_ : float
        Probability, estimated from out-of-fold decisions, with which the population keeps the
        tolerance; nan where ``confidence_level`` is None.
    tightened_tolerances_ : ndarray of shape (1,)
        Tolerance that the training data was held to.
    status_ : {"optimal", "feasible", "max_iter", "uncertain", "infeasible", "unconstrained"}
        "unconstrained": no groups came. "infeasible": the tolerance is exceeded. "uncertain": new
        people keep it with a smaller probability than ``confidence_level``. "max_iter": a
        callback stopped the search. "optimal": no other rates that keep it make fewer errors.
        "feasible": the same but for rates that are nearer to each other than 6e-5.
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
    have it: use ``sklearn.metrics.accuracy_score`` on the predictions. The tolerance holds for the
    scores that the rates were fitted on; with ``cv="prefit"`` these are ``decision_function(X)``,
    else those of other models for each fold. On new data the differences vary by sampling noise.

    There is no ``predict_proba``: a shifted rank is no probability. Probabilities that may be used
    for other ends than this decision are those of ``estimator_``.

    Tied scores stay tied, also where rounding tells them apart. If there are so many that no shift
    can keep the tolerance, ``status_`` is "infeasible".

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
    >>> people, others = slice(300), slice(300, 600)
    >>> plain = LogisticRegression().fit(X[people], y[people])
    >>> model = PartialParityPostprocessor(
    ...     plain, interval=(0.1, 0.6), tolerance=0.1, cv="prefit"
    ... ).fit(X[others], y[others], sensitive_features=sex[others])
    >>> scores = model.decision_function(X[others], sensitive_features=sex[others])
    >>> difference = partial_statistical_parity_difference(
    ...     scores, sensitive_features=sex[others], interval=(0.1, 0.6)
    ... )
    >>> bool(difference <= 0.1)
    True
    """

    __metadata_request__fit = {"sensitive_features": True, "groups": True}

    _parameter_constraints = {
        "estimator": [
            HasMethods(["fit", "decision_function"]),
            HasMethods(["fit", "predict_proba"]),
            None,
        ],
        "criterion": [StrOptions(CRITERIA)],
        "interval": "no_validation",  # by check_interval, which knows the groups
        "tolerance": [Interval(Real, 0, 1, closed="both")],
        "confidence_level": CONFIDENCE_LEVELS,
        "min_group_size": MIN_GROUP_SIZES,
        "tolerance_scale": [StrOptions({"normalized", "raw"})],
        "cv": CV_CONSTRAINTS,
        "pos_label": [Real, str, "boolean", None],
    }

    def __init__(
        self,
        estimator=None,
        *,
        criterion="statistical_parity",
        interval=(0.0, 1.0),
        tolerance=0.05,
        confidence_level=None,
        min_group_size="auto",
        tolerance_scale="normalized",
        cv=5,
        pos_label=None,
    ):
        self.estimator = estimator
        self.criterion = criterion
        self.interval = interval
        self.tolerance = tolerance
        self.confidence_level = confidence_level
        self.min_group_size = min_group_size
        self.tolerance_scale = tolerance_scale
        self.cv = cv
        self.pos_label = pos_label

    @restore_on_failure
    @with_callbacks
    def fit(self, X, y, *, sensitive_features=None, sample_weight=None, groups=None, X_fit=None):
        """Fit the classifier, unless it is frozen, and the rates of the groups.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Whatever the classifier takes; if that is frozen, also a collection of Dask or
            `skfair.datasets.open_blocks`, as are the others then.
        y : array-like of shape (n_samples,)
            Two classes, by labels of any kind.
        sensitive_features : array-like of shape (n_samples,) or (n_samples, n_attributes), \
                default=None
            Group of each sample, by labels of any kind; with several attributes, groups are the
            combinations that occur. None makes one group of everybody, with a warning.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights, in the ranks and in the errors, where samples of weight 0 count
            as absent, and for the classifier if its ``fit`` takes them.
        groups : array-like of shape (n_samples,), default=None
            Samples of equal value belong together, and are in one fold; standard errors with
            ``confidence_level`` allow for their correlation, as in
            :meth:`ConstrainedERMClassifier.fit`.
        X_fit : array-like or sparse matrix, default=None
            Training data of the estimator, if it is fitted already (``cv="prefit"`` or a
            `~sklearn.frozen.FrozenEstimator`): X is compared with it, as by
            `skfair.audit.certify`.

        Returns
        -------
        self : PartialParityPostprocessor
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter or the data is invalid, a frozen classifier knows other classes, a class
            has one member only for several folds, a group has fewer than 20 samples with a rank
            in the interval, or most rows of X are in `X_fit`; the message says what must hold.
        """
        validate_params(self)
        # One score, class and group of each person come here; X stays where it is.
        y, sensitive_features, sample_weight, groups = map(
            in_memory, (y, sensitive_features, sample_weight, groups)
        )
        people = {"sensitive_features": sensitive_features, "sample_weight": sample_weight}
        training = self._check(X, y, people | {"groups": groups})
        check_held_out(self._unfitted(), self.cv, X, X_fit, training.X[:, 0].astype(np.intp))
        constraint = constraint_of(self.criterion, self.interval, self.tolerance_scale)
        reported = constraint.bind(training.people, None, None, self.tolerance)
        compared, positions = _compared(training.people)
        bound = constraint.bind(training.people.take(compared), None, None, self.tolerance)
        context = self._init_callback_context(max_subtasks=None)
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        estimator, scores = self._fit_and_score(X, y, people, training, groups, context)
        levels = distinct_levels(scores)
        y_score = training.unit.to_unit(at_levels(scores, levels))
        members = RankedMembers.of(y_score[compared], bound.people, self.interval)
        check_enough(members, self.criterion)
        fitted = {
            "estimator_": estimator,
            "classes_": training.classes,
            "pos_label_": training.pos_label,
            "groups_": training.groups.summary,
            "_curves": [members.curves[position] for position in positions],
            "_levels": levels,
            "_unit": training.unit,
        }
        promise = promised_search(
            members,
            bound,
            self.confidence_level if len(members.groups.names) > 1 else None,
            lambda some, tolerance: self._search(context, some, fitted, tolerance, positions),
            bound.people.clusters,
        )
        fitted |= rates_of(promise.found, members, positions)
        codes = training.groups.codes
        ranks = ranks_in_groups(fitted["_curves"], y_score, codes)
        report = reported.report(shifted(ranks, fitted["_zeros"][codes], fitted["center_"]))
        fitted |= outcome_of(self, promise, bound, report, sensitive_features is not None)
        fitted |= known_features(estimator)
        store_fit(self, fitted)
        warn_of_outcome(self, promise)
        context.call_on_fit_task_end(estimator=self, X=X, y=y)
        return self

    def _check(self, X, y, people):
        """The people of a fit; for X stand the positions of its rows."""
        check_alignment(X=X, y=y, **people)
        # What X may be is for the classifier to say.
        positions = np.arange(len(column_or_1d(y)))[:, np.newaxis]
        if not is_partitioned(X):
            check_consistent_length(X, positions)
        request = f"criterion={self.criterion!r} compares groups"
        training = check_training(self, positions, y, people, request)
        if not training.groups.is_disjoint:
            raise ValueError(
                "sensitive_features is a sparse matrix, which means groups that may overlap, but "
                "a rank needs the one group that a sample is in: pass one label per sample, or "
                "one dense column per attribute to use the combinations that occur."
            )
        if self.confidence_level is not None:
            warn_of_duplicates(X, training)
        return training

    def _search(self, context, members, fitted, tolerance, positions):
        """All rates tried, shown to the callbacks one after the other."""

        def watch(tried):
            task = context.subcontext(task_name="gap")
            task.call_on_fit_task_begin(estimator=self)
            return task.call_on_fit_task_end(
                estimator=self,
                reconstruction_attributes=lambda: fitted | rates_of(tried, members, positions),
            )

        return search(members, self.criterion, tolerance, self.tolerance_scale, watch)

    def _fit_and_score(self, X, y, people, training, groups, context):
        """The fitted classifier, and the scores of those who are present."""
        given = {name: value for name, value in people.items() if value is not None}
        if get_config()["enable_metadata_routing"]:
            params = process_routing(self, "fit", **given).estimator.fit
        else:
            known = self._unfitted()
            params = {n: value for n, value in given.items() if has_fit_parameter(known, n)}
        rows = training.X[:, 0].astype(np.intp)
        second = training.labels == training.classes[1]
        y = column_or_1d(y)
        strata = np.full(len(y), -1)
        strata[rows] = second * len(training.groups.labels) + training.groups.codes
        with Subtask(self, context, "classifiers", max_subtasks=None) as step:
            return fit_and_score(
                self._unfitted(), X, y, params, self.cv, strata, groups, step.subtask
            )


def _compared(people):
    """Samples of groups that are compared, and whose ranks each group takes.

    Parameters
    ----------
    people : Samples
        Of disjoint groups.

    Returns
    -------
    rows : ndarray of int, shape (n_compared,)
    positions : ndarray of int, shape (n_groups,)
        Groups among those of the rows.
    """
    _, positions = people.merge_small_groups()
    is_large = people.is_large(people.groups)
    return np.flatnonzero(is_large[people.groups.codes]), positions
