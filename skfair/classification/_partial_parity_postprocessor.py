"""Fairness on an interval of percentiles for any classifier, by shifting ranks."""

from __future__ import annotations

from dataclasses import KW_ONLY
from numbers import Real
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Bunch, column_or_1d, get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted

from skfair._bound.bound import ConstraintSystem
from skfair._fitting.input import to_class_labels, warn_of_dependence
from skfair._fitting.linear import make_partial_parity
from skfair._fitting.model import ConstraintReportMixin, GroupAwareScoreMixin, estimator_docs
from skfair._fitting.outcome import (
    REPORT_ATTRIBUTE,
    Subtask,
    compares_nothing,
    describe_open_verdict,
    guarantee_attributes,
    lacks_guarantee,
    unconstrained_fit_attributes,
    warn_of_moved_decisions,
    warn_of_one_group,
    warn_of_worse_ranks,
)
from skfair._fitting.weak_bounds import warn_of_weak_bounds
from skfair._groups.arguments import FitArguments
from skfair._groups.known import encode_groups_for_prediction
from skfair._groups.samples import check_alignment, check_metric_input
from skfair._partitions.collections import is_partitioned, load_columns_beside, row_by_row
from skfair._postprocessing.events import (
    check_training_without_features,
    route_metadata,
    stratify_by_class_and_group,
)
from skfair._postprocessing.folds import Folds
from skfair._postprocessing.out_of_fold_scores import (
    check_base_type,
    check_held_out,
    cross_fit_and_refit,
    estimator_scores,
    snap_to_levels,
    unique_levels,
    warn_if_training_data,
)
from skfair._postprocessing.rank_shift import (
    MAX_TRIES,
    RankedSamples,
    check_interval_sizes,
    ranks_in_groups,
    search_rates,
    search_with_guarantee,
    shifted_scores,
)
from skfair._utils.api import Intervals, Label, MatrixLike
from skfair._utils.checks import argument_error, bound_text, limit_text, warn
from skfair._utils.fit import fitted_feature_attributes, restore_on_failure, store_fit
from skfair._utils.parameters import (
    OpenShare,
    ProbabilisticClassifier,
    Share,
    make_constructor,
    validate_params,
)
from skfair._utils.sklearn import (
    CallbackSupportMixin,
    HasMethods,
    StrOptions,
    safe_indexing,
    with_callbacks,
)
from skfair.constraints import PARTIAL_CRITERIA, Constraint
from skfair.exceptions import InfeasibleConstraintWarning
from skfair.metrics import partial_statistical_parity_difference

if TYPE_CHECKING:
    from sklearn.callback import CallbackContext
    from sklearn.utils import Tags

    from skfair._bound.bound import BoundConstraint
    from skfair._fitting.guarantee import Guarantee
    from skfair._fitting.input import TrainingData
    from skfair._groups import Samples
    from skfair._postprocessing.rank_shift import RankShift
    from skfair._utils.tables import TableLike
    from skfair.constraints import PartialStatisticalParity
    from skfair.constraints._partial import PartialParity


_CRITERIA = {name for name in PARTIAL_CRITERIA if name != "partial_equalized_odds"}


@estimator_docs
@make_constructor
class PartialParityPostprocessor(
    ConstraintReportMixin,
    CallbackSupportMixin,
    GroupAwareScoreMixin,
    ClassifierMixin,
    MetaEstimatorMixin,
    BaseEstimator,
):
    r"""Any classifier, with scores shifted so that groups are equal on an interval of percentiles.

    The score of a sample is replaced by its rank t in its group, that is the share of the group
    which scores higher. Ranks have the same distribution in all groups. So that every group k may
    still have its own rate r_k of positive decisions, ranks are shifted near the threshold,

    .. math::

        h = \bar u - (t - b_k(t)), \qquad b_k(t) = \operatorname{sgn}(r_k - \bar u) \,
        \bigl( |r_k - \bar u| - \tfrac14 |t - r_k| \bigr)_+ ,

    so that h is positive for the share r_k of group k, and the order within a group stays. The
    rates are those with the fewest errors on the training data among all whose scores keep the
    tolerance there.

    Equal ranks may be stricter than the tolerance asks. Then t and r_k are mixtures with the rank
    among all samples, which takes the scores of different groups into account: of mixtures that
    keep the tolerance, that with the best ranking of the training data (its area under the curve).
    Decisions stay as they are.

    The training data is scored out of fold (``cv``): training-set scores of a flexible classifier
    are overfitted. A new sample has the mean of its ranks by the classifiers of all folds, as
    scores of a classifier of all samples would have another distribution.

    Read more in the :ref:`guide <partial_parity>`.

    Parameters
    ----------
    estimator : estimator, default=None
        Classifier with ``decision_function`` or ``predict_proba``. A clone of it is fitted on all
        training data, unless ``cv="prefit"``, or it is in a `~sklearn.frozen.FrozenEstimator`. None
        means `~sklearn.linear_model.LogisticRegression`.
    constraint : str or Constraint, default="partial_statistical_parity"
        What the tolerance bounds: "partial_statistical_parity", at all thresholds, or
        "partial_demographic_parity", "partial_equal_opportunity" or "partial_group_auc",
        each by the partial metric of that name in :mod:`skfair.metrics`; or an object, such
        as ``PartialStatisticalParity(interval, scale="raw")``, whose tolerance is in units
        of whole groups. There is no "partial_equalized_odds": in general no thresholds give
        two groups both the same true and the same false positive rates, unless decisions
        are randomised.
    {interval}
        Where groups have different intervals, ranks between matching ends of their pairs are
        compared.
    tolerance : float in [0, 1] or None, default=None
        Largest difference allowed by a constraint without its own tolerance, in units of its
        metric; None is .05.
    {confidence_level}
        "partial_group_auc" has none.
    {handle_unknown}
        The mean is that of the rates; the rank is the one among all training samples.
    cv : int, cross-validation splitter, iterable, "prefit" or "oob", default=5
        How the training data is scored: an int deals the members of every group and class out to so
        many folds, each of which is scored by a clone fitted to the others. "prefit" takes a fitted
        classifier as it is, and so does a `~sklearn.frozen.FrozenEstimator` with any ``cv``. The
        samples must then be others than those that it was fitted to, which ``fit(..., X_fit=)``
        checks. "oob" takes the out-of-bag probabilities of a forest; in a pipeline, its
        preprocessing must not use y, as it is fitted to all samples.
    pos_label : int, float, bool or str, default=None
        The class that means success: ranks count from the sample that is most likely of it. None
        takes 1 if the labels are 0 and 1, -1 and 1 or booleans, and asks for it if they are others
        and groups are passed.

    Attributes
    ----------
    estimator_ : estimator
        The classifier, fitted to all training data; ranks are those of the folds' classifiers.
    {classes_, pos_label_}
    rates_ : ndarray of shape (n_groups,)
        Share of each group with a positive decision; of a group that is not compared, the rank up
        to which its members have one: the share of the largest group.
    center_ : float
        The rank :math:`\bar u` that scores 0 where there is no shift: midway between the smallest
        and the largest r_k (if groups have different intervals, on their common scale). These are
        the ``rates_`` where ``mixture_`` is 0.
    mixture_ : float
        Share of the rank among all samples in t, from 0 to 1.
    objective_ : float
        Share of wrong decisions about the training samples of groups that are compared, by their
        out-of-fold scores.
    constraint_violation_ : float or None
        Excess over the tolerance, by the public metric of the same scores; 0 when it is kept, None
        without groups.
    constraint_report_ : DataFrame
        One row per group and threshold, as in `PartialParityClassifier`; empty without groups.
    {tolerances_, verdict_, guarantee_probability_}
    tightened_tolerances_ : list of float
        Tolerance that the training data was held to.
    {guaranteed_tolerances_}
    status_ : {"optimal", "feasible", "stopped", "infeasible", "unconstrained"}
        "unconstrained": there are no two groups. "infeasible": the tolerance is exceeded.
        "stopped": a callback ended the search. "optimal": no other rates that keep it make fewer
        errors. "feasible": the same of rates whose equal ranks keep it, but for rates that are
        closer to each other than 6e-5; wider rates with a mixture are not searched.
    n_iter_ : int
        Number of gaps between the rates that were tried.
    {groups_}
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
    ``predict``, ``decision_function`` and ``score`` need the group of every sample. The tolerance
    holds for the scores that the rates were fitted on; with ``cv="prefit"`` these are
    ``decision_function(X)``, else out-of-fold scores. On new data the differences vary by sampling
    noise. Predictions take as many times as long as there are folds.

    There is no ``predict_proba``: a shifted rank is no probability. Probabilities for other
    purposes than this decision are those of ``estimator_``.

    Tied scores stay tied, also where only rounding separates them. If there are so many that no
    shift can keep the tolerance, ``status_`` is "infeasible".

    References
    ----------
    {paper}
       (The criteria, under which the paper trains classifiers.)

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
    >>> fitted, others = slice(300), slice(300, 600)
    >>> plain = LogisticRegression().fit(X[fitted], y[fitted])
    >>> model = PartialParityPostprocessor(
    ...     plain, interval=(0.1, 0.6), tolerance=0.1, cv="prefit"
    ... ).fit(X[others], y[others], sensitive_features=sex[others])
    >>> scores = model.decision_function(X[others], sensitive_features=sex[others])
    >>> difference = partial_statistical_parity_difference(
    ...     scores, sensitive_features=sex[others], interval=(0.1, 0.6)
    ... )
    >>> print(f"{difference:.2f}")
    0.10
    """

    __metadata_request__fit = {"sensitive_features": True, "groups": True}
    __metadata_request__predict = {"sensitive_features": True}
    __metadata_request__decision_function = {"sensitive_features": True}

    estimator: (
        Annotated[BaseEstimator, HasMethods(["fit", "decision_function"])]
        | ProbabilisticClassifier
        | None
    ) = None
    _: KW_ONLY
    constraint: Annotated[
        str | Constraint, StrOptions(_CRITERIA), *map(PARTIAL_CRITERIA.get, sorted(_CRITERIA))
    ] = "partial_statistical_parity"
    interval: Annotated[Intervals | None, "no_validation"] = None
    tolerance: Share | None = None
    confidence_level: OpenShare | None = None
    handle_unknown: Literal["error", "overall"] = "error"
    cv: Folds = 5
    pos_label: Label | None = None

    @restore_on_failure(one_blas_thread=False)
    @with_callbacks
    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        *,
        sensitive_features: MatrixLike | None = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        X_fit: MatrixLike | None = None,
    ) -> Self:
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
            combinations that occur. None puts all samples in one group, with a warning.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights, in the ranks and in the errors, where samples of weight 0 count
            as absent, and for the classifier if its ``fit`` takes them.
        groups : array-like of shape (n_samples,), default=None
            Samples of equal value belong together, and are in one fold; standard errors with
            ``confidence_level`` allow for their correlation, as in
            :meth:`ConstrainedERMClassifier.fit`.
        {X_fit}

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
        check_base_type(self, self._base)
        # Scores, classes and groups are gathered; X stays where it is stored.
        columns = load_columns_beside(
            X,
            y=y,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
            groups=groups,
        )
        arguments = FitArguments(X=X, **columns)
        targets = arguments.y
        # Check the input, and that a fitted classifier has not seen these samples.
        criterion = _make_criterion(self)
        training, rows = _check_ranked_samples(self, arguments)
        check_held_out(self._base, self.cv, X, X_fit, rows)
        ranked = _BoundTraining.from_training(training, criterion)
        context = self._init_callback_context(max_subtasks=None)
        context.call_on_fit_task_begin(estimator=self, X=X, y=targets)
        # Rank the samples of compared groups within their groups, by out-of-fold scores.
        strata = stratify_by_class_and_group(training, rows, len(column_or_1d(targets)))
        estimator, scorers, scores = _fit_classifier(self, arguments, strata, context)
        if X_fit is None and not is_partitioned(X):
            (shown,) = indexable(X)
            shown = safe_indexing(shown, rows)
            warn_if_training_data(
                self._base, self.cv, shown, training.labels, scores[:, np.newaxis]
            )
        ranked = ranked.rank(scores, self.constraint)
        # Search the rates of positive decisions with the fewest errors that keep the tolerance.
        rule = {"estimator_": estimator, "_scorers": scorers, **ranked.rule}
        guarantee = _search_rates(self, ranked, rule, context)
        # What predictions need and what describes the fit; then warnings.
        fitted = rule | guarantee.candidate.attributes(ranked.ranked_samples, ranked.positions)
        shifted = _shift_training_scores(ranked, fitted)
        fitted |= _outcome_attributes(self, ranked, guarantee, shifted)
        store_fit(self, fitted | fitted_feature_attributes(estimator))
        _warn_after_fit(self, guarantee, ranked, shifted)
        context.call_on_fit_task_end(estimator=self, X=X, y=targets)
        return self

    @row_by_row(lambda self: np.empty(0))
    def decision_function(
        self, X: MatrixLike, *, sensitive_features: MatrixLike | None = None
    ) -> np.ndarray:
        """Fair score of each row; above 0 it is the second of the ``classes_``.

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
        scores = self._fair_scores(X, sensitive_features)
        return self._unit.from_unit(scores)

    @row_by_row(lambda self: self.classes_[:0])
    def predict(self, X: MatrixLike, *, sensitive_features: MatrixLike | None = None) -> np.ndarray:
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
        positive = self._fair_scores(X, sensitive_features) > 0
        return to_class_labels(positive, self.classes_, self.pos_label_)

    def get_metadata_routing(self) -> MetadataRouter:
        """Routing of metadata: to this estimator, and to the classifier's ``fit``.

        Returns
        -------
        routing : MetadataRouter
        """
        to_fit = MethodMapping().add(caller="fit", callee="fit")
        router = MetadataRouter(owner=type(self).__name__).add_self_request(self)
        return router.add(estimator=self._base, method_mapping=to_fit)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        base_tags = get_tags(self._base)
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = base_tags.input_tags.sparse
        tags.input_tags.allow_nan = base_tags.input_tags.allow_nan
        return tags

    @property
    def _base(self) -> BaseEstimator:
        """Return the classifier to wrap; LogisticRegression for None."""
        if self.estimator is not None:
            return self.estimator
        from sklearn.linear_model import LogisticRegression  # takes long to import

        return LogisticRegression()

    def _fair_scores(self, X: TableLike, sensitive_features: TableLike | None) -> np.ndarray:
        """Fair score of each row, positive for the positive class."""
        check_is_fitted(self)
        check_alignment(X=X, sensitive_features=sensitive_features)
        scores = [estimator_scores(scorer, X)[:, 0] for scorer in self._scorers]
        reason = (
            "Scores are ranks within the sample's group, so predictions need sensitive_features."
        )
        codes = encode_groups_for_prediction(
            sensitive_features, len(scores[0]), self.groups_, reason, self.handle_unknown
        )
        # Ranks are those of the models that ranked the training samples: scores of a model that is
        # fitted to all samples have another distribution.
        ranks = np.mean([self._rank_in_groups(one, codes) for one in scores], axis=0)
        # Unknown groups have the mean of the rates.
        zeros = np.append(self._zeros, self._group_shares @ self._aligned_rates)
        return shifted_scores(ranks, zeros[codes], self.center_)

    def _rank_in_groups(self, scores: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Rank in its group of each sample by the scores of one model; of unknown ones, in all."""
        # Training levels first: scores of the same features may differ in their last digits.
        scores = snap_to_levels(scores, self._levels)
        # New samples of equal features get equal scores too, though none of the training levels.
        y_score = self._unit.to_unit(snap_to_levels(scores, unique_levels(scores)))
        return ranks_in_groups([*self._curves, self._pooled_curve], y_score, codes)


# A fit, from the input to warnings of its outcome.


class _BoundTraining(NamedTuple):
    """Training data, the constraint on its compared groups, and their ranks once it has scores."""

    training: TrainingData
    bound: Any  # of the samples of groups that are compared
    reported: BoundConstraint  # of all groups
    compared: np.ndarray  # positions of the samples of compared groups
    positions: np.ndarray  # the compared group by which each group ranks new samples
    y_score: np.ndarray | None = None  # (n_samples,)
    ranked_samples: RankedSamples | None = None
    levels: np.ndarray | None = None  # of the scores: nearly equal ones have equal ranks

    @classmethod
    def from_training(cls, training: TrainingData, criterion: PartialParity) -> _BoundTraining:
        """Bind the constraint, also to groups that are not compared but in the report."""
        samples = training.samples
        # Small groups take the curve and the rate of the group that they are merged into.
        _, positions = samples.merge_small_groups()
        is_large = samples.is_large(samples.groups)
        compared = np.flatnonzero(is_large[samples.groups.codes])
        # All groups first: labels that are numbers are refused by these.
        reported = criterion.bind(samples, None, None, None)  # the criterion carries its tolerance
        bound = criterion.bind(samples.take(compared), None, None, None)
        return cls(training, bound, reported, compared, positions)

    def rank(self, scores: np.ndarray, name: PartialStatisticalParity | str) -> _RankedTraining:
        """Rank the samples of compared groups; ``name`` is the constraint in errors."""
        levels = unique_levels(scores)
        y_score = self.training.unit.to_unit(snap_to_levels(scores, levels))
        ranked_samples = RankedSamples.from_bound(y_score[self.compared], self.bound)
        check_interval_sizes(ranked_samples, self.bound.gap.criterion, name)
        return _RankedTraining(*self[:5], y_score, ranked_samples, levels)


class _RankedTraining(_BoundTraining):
    """Training data that has scores, and ranks by them."""

    __slots__ = ()
    y_score: np.ndarray
    ranked_samples: RankedSamples
    levels: np.ndarray

    @property
    def rule(self) -> dict[str, Any]:
        """Attributes that predictions need, but for the rates and the classifier."""
        of_groups = self.training.samples
        return {
            "classes_": self.training.classes,
            "pos_label_": self.training.pos_label,
            "groups_": of_groups.groups.summary,
            "_pooled_curve": self.ranked_samples.pooled_curve,
            "_group_shares": of_groups.group_shares,
            "_levels": self.levels,
            "_unit": self.training.unit,
        }


def _search_rates(
    estimator: PartialParityPostprocessor,
    ranked: _RankedTraining,
    rule: dict[str, Any],
    context: CallbackContext,
) -> Guarantee:
    """Guarantee of the best rates; callbacks see the best so far after every gap tried."""

    def search(subset: RankedSamples, tolerance: float) -> RankShift:
        def callback(best: RankShift) -> bool:
            task = context.subcontext(task_name="gap")
            task.call_on_fit_task_begin(estimator=estimator)
            return task.call_on_fit_task_end(
                estimator=estimator,
                reconstruction_attributes=lambda: rule | best.attributes(subset, ranked.positions),
            )

        return search_rates(subset, ranked.bound.gap, tolerance, callback)

    # One group has no gap that the population could exceed.
    ranked_samples = ranked.ranked_samples
    clusters = ranked.bound.sums.samples.clusters
    confidence = estimator.confidence_level if len(ranked_samples.groups.names) > 1 else None
    return search_with_guarantee(ranked_samples, ranked.bound, confidence, search, clusters)


def _make_criterion(estimator: PartialParityPostprocessor) -> PartialParity:
    """The constraint whose gap is bounded."""
    criterion = make_partial_parity(estimator)
    params = criterion.get_params()
    defaults = type(criterion)().get_params()
    # Parameters that the rank shift does not implement must have their defaults.
    names = {"threshold", "rank_within"} & set(params)
    changed = sorted(name for name in names if (params[name] or defaults[name]) != defaults[name])
    compares_two_rates = criterion.is_correctable and criterion.rate_name is None
    if changed or compares_two_rates:
        raise ValueError(
            "PartialParityPostprocessor takes one of "
            f"{', '.join(sorted(_CRITERIA))} with interval, tolerance and scale, but "
            f"constraint is {criterion}. Leave out "
            f"{' and '.join(changed) or 'the negative class'}, or train a "
            "PartialParityClassifier."
        )
    return criterion


def _check_ranked_samples(
    estimator: PartialParityPostprocessor, arguments: FitArguments
) -> tuple[TrainingData, np.ndarray]:
    """Training data of positive weight, without features; positions of the samples."""
    training, rows = check_training_without_features(estimator, arguments, True)
    if not training.samples.groups.is_disjoint:
        raise ValueError(
            "sensitive_features is a sparse matrix, which means groups that may overlap, but "
            "a rank needs the one group that a sample is in: pass one label per sample, or "
            "one dense column per attribute to use the combinations that occur."
        )
    if estimator.confidence_level is not None:
        warn_of_dependence(arguments.X, training)
    return training, rows


def _fit_classifier(
    estimator: PartialParityPostprocessor,
    arguments: FitArguments,
    strata: np.ndarray,
    context: CallbackContext,
) -> tuple[BaseEstimator, list[BaseEstimator], np.ndarray]:
    """The classifier, those of the folds, and their scores."""
    fit_params, _ = route_metadata(estimator, estimator._base, arguments, {})
    with Subtask(estimator, context, "classifiers", max_subtasks=None) as step:
        return cross_fit_and_refit(
            estimator._base,
            arguments.X,
            column_or_1d(arguments.y),
            fit_params,
            estimator.cv,
            strata,
            arguments.groups,
            step.subtask,
        )


def _shift_training_scores(ranked: _RankedTraining, fitted: dict[str, Any]) -> np.ndarray:
    """Fair scores of all training samples, by the curves and rates of groups by label."""
    groups = ranked.training.samples.groups
    codes = groups.ranks[groups.codes]
    ranks = ranks_in_groups(fitted["_curves"], ranked.y_score, codes)
    return shifted_scores(ranks, fitted["_zeros"][codes], fitted["center_"])


def _outcome_attributes(
    estimator: PartialParityPostprocessor,
    ranked: _RankedTraining,
    guarantee: Guarantee,
    shifted: np.ndarray,
) -> dict[str, Any]:
    """Fitted attributes that describe how the fit ended; `shifted` are the fair scores."""
    best = guarantee.candidate
    bound = ranked.bound
    report = ConstraintSystem((ranked.reported,)).report_columns(shifted)
    # The search may exceed the tightened tolerance and keep the requested one.
    excess = max(0.0, best.excess - (bound.tolerance - guarantee.training_tolerances[0]))
    # Rates at the first gap are the best of all; a search stopped by a callback is incomplete.
    status = {1: "optimal", MAX_TRIES: "feasible"}.get(best.n_tries, "stopped")
    outcome = {REPORT_ATTRIBUTE: report, "constraint_violation_": excess}
    guarantee = guarantee._replace(tolerances=np.array([bound.tolerance]))
    outcome |= guarantee_attributes(estimator, guarantee, "infeasible" if excess else status)
    if compares_nothing(ranked.training, [bound]):
        warn_of_one_group(ranked.training, [bound])
        outcome |= unconstrained_fit_attributes(report)
    return outcome


def _warn_after_fit(
    estimator: PartialParityPostprocessor,
    guarantee: Guarantee,
    ranked: _RankedTraining,
    shifted: np.ndarray,
) -> None:
    """Warn of an exceeded tolerance, a search cut short, constant decisions, or useless ranks."""
    bound = ranked.bound
    subset = ranked.ranked_samples
    if estimator.confidence_level is not None:
        warn_of_moved_decisions(subset.weights, guarantee.candidate.scores, subset.y_score)
    if estimator.status_ == "infeasible":
        warn(
            f"The difference exceeds the tolerance of {bound_text(bound.tolerance)} by at least "
            f"{limit_text(estimator.constraint_violation_, True)} on the training data. Tied "
            "scores cannot be separated, and groups of different size never have quite the same "
            "distribution: raise the tolerance, widen the interval, or use a classifier whose "
            "scores have fewer ties.",
            InfeasibleConstraintWarning,
        )
    elif lacks_guarantee(estimator):
        system = ConstraintSystem((bound,))
        warn(describe_open_verdict(estimator, guarantee, system), InfeasibleConstraintWarning)
    elif estimator.status_ == "stopped":
        warn(
            f"A callback stopped the search after {estimator.n_iter_} gaps: there may be rates "
            "that keep the tolerance with fewer errors.",
            ConvergenceWarning,
        )
    if estimator.status_ in ("infeasible", "stopped"):
        return
    rates = estimator.rates_
    if len(rates) > 1 and (np.all(rates == 0) or np.all(rates == 1)):
        label = to_class_labels(rates[:1] > 0, estimator.classes_, estimator.pos_label_)[0]
        warn(
            f"Every training sample is given the class {label}: of all rates that keep the "
            "tolerance, these make the fewest errors. Raise the tolerance."
        )
        return
    training = ranked.training.samples
    shares = training.weights / training.weights.sum()
    warn_of_worse_ranks(training.target, shares, shifted, ranked.y_score)
    columns = getattr(estimator, REPORT_ATTRIBUTE)
    warn_of_weak_bounds([bound], columns, guarantee.candidate.scores, is_binding=True)


# Suggestion of an interval of percentiles.


_STEP_TOLERANCE = 1e-9
"""Difference between multiples of the step and p that is rounding: 3 * 0.1 is not above 0.3."""


def suggest_interval(
    y_score: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    width: float = 0.25,
    step: float = 0.05,
    threshold: float = 0.0,
    positive_rate: float | None = None,
    sample_weight: ArrayLike | None = None,
) -> Bunch:
    r"""Suggest an interval of percentiles: that around the decision where groups differ most.

    The most contested decisions are those about samples ranked near the share p of positive
    decisions. Among the intervals of a given width that cover p, this takes the one on which the
    scores of a classifier, trained without a fairness constraint, have the largest partial
    difference in statistical parity (Appendix B of [1]_). The difference is relative to whole
    groups (``scale="raw"``): relative to the interval it is often 1 for several candidates, whose
    groups do not overlap at all. Of equal candidates, it takes the one whose middle is closest
    to p, and of two as close the lower one.

    Parameters
    ----------
    y_score : array-like of shape (n_samples,)
        Scores of a classifier trained without a constraint; the higher, the more positive.
    sensitive_features : array-like or sparse matrix
        Group of each sample, as in `skfair.metrics.partial_statistical_parity_difference`.
    width : float, default=0.25
        Width of the interval, in (0, 1]. Differences on intervals of different widths are not
        comparable: the narrower, the noisier.
    step : float, default=0.05
        Candidates begin at multiples of it, in (0, width]; another one ends at 1.
    threshold : float, default=0.0
        Decision threshold; 0.5 for probabilities.
    positive_rate : float, default=None
        The share p of positive decisions, in [0, 1], such as a past admission rate. None counts
        the scores above the threshold.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights.

    Returns
    -------
    suggestion : Bunch
        With the attributes ``interval``, a pair of floats, the candidate with the largest
        difference between groups; ``positive_rate``, the share p that every candidate covers; and
        ``candidates``, a DataFrame with one row per candidate: ``alpha`` and ``beta``; the
        ``difference`` of partial statistical parity, relative to whole groups; and its ``noise``,
        the standard deviation that it has at one threshold between groups of the same distribution,
        for the two smallest groups and the threshold where it is largest. A difference below about
        twice the noise shows nothing.

    Raises
    ------
    ValueError
        If width, step or positive_rate is out of its range, or for the reasons of
        `skfair.metrics.partial_statistical_parity_difference`.

    See Also
    --------
    PartialParityPostprocessor : Makes scores fair on the interval.

    Notes
    -----
    An interval chosen as the most unfair of several looks more unfair than it is; a difference on
    data that did not choose it has no such bias.

    References
    ----------
    .. [1] Y. He, Y. Huang, Y. Yao and Q. Lin, "Enforcing fair predicted scores on intervals of
       percentiles by difference-of-convex constraints", arXiv:2505.12530, 2026.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.classification import suggest_interval
    >>> rng = np.random.default_rng(0)
    >>> group = np.repeat(["a", "b"], 500)
    >>> score = rng.normal(size=1000) - 1.0 + (group == "b")
    >>> suggestion = suggest_interval(score, sensitive_features=group, positive_rate=0.3)
    >>> suggestion.interval
    (0.15, 0.4)
    >>> suggestion.candidates.columns.tolist()
    ['alpha', 'beta', 'difference', 'noise']
    """
    numbers = {"width": width, "step": step, "threshold": threshold}
    if positive_rate is not None:
        numbers["positive_rate"] = positive_rate
    for name, value in numbers.items():
        if not isinstance(value, Real):
            raise argument_error(f"{name} must be a number; got {value!r}.")
    if not (0 < step <= width <= 1):
        raise ValueError(
            f"0 < step <= width <= 1 must hold; got step={step!r}, width={width!r}. Pass shares of "
            "a group, such as width=0.25 and step=0.05."
        )
    samples, (scores,) = check_metric_input(sensitive_features, sample_weight, y_score=y_score)
    if positive_rate is None:
        positive_rate = float(samples.weights @ (scores > threshold) / samples.weights.sum())
    if not 0 <= positive_rate <= 1:
        raise ValueError(
            f"positive_rate is a share of all samples, in [0, 1]; got {positive_rate!r}."
        )
    # Candidates: intervals of the width, on a grid of the step, that contain the positive rate.
    alpha = _candidate_starts(positive_rate, width, step)
    beta = np.minimum(1.0, np.round(alpha + width, 9))
    # Raw differences: all intervals are of one width, so that no normalisation is needed.
    difference = [
        partial_statistical_parity_difference(
            y_score,
            sensitive_features=sensitive_features,
            interval=interval,
            scale="raw",
            sample_weight=sample_weight,
        )
        for interval in zip(alpha, beta, strict=True)
    ]
    # The most unfair one; of equals, the one whose centre is nearest to the positive rate, and of
    # two as near the lower one. Numbers that differ by rounding are equal.
    distance = np.round(np.abs((alpha + beta) / 2 - positive_rate), 9)
    best = np.lexsort((distance, -np.round(difference, 9)))[0]
    return Bunch(
        interval=(float(alpha[best]), float(beta[best])),
        positive_rate=positive_rate,
        candidates=_tabulate_candidates(alpha, beta, difference, samples),
    )


def _candidate_starts(rate: float, width: float, step: float) -> np.ndarray:
    """Starts of the intervals of a width that cover the positive rate."""
    lowest = max(0.0, rate - width)
    highest = min(rate, 1.0 - width)
    multiples = step * np.arange(
        np.ceil((lowest - _STEP_TOLERANCE) / step), highest / step + _STEP_TOLERANCE + 1
    )
    starts = multiples[multiples <= highest + _STEP_TOLERANCE]
    # The last interval ends at 1, wherever the grid ends.
    if rate >= 1.0 - width:
        starts = np.append(starts, 1.0 - width)
    return np.unique(np.round(starts, 9))


def _tabulate_candidates(
    alpha: np.ndarray, beta: np.ndarray, difference: list[float], samples: Samples
) -> pd.DataFrame:
    """Table of the candidates and of the noise of their differences."""
    # The sum of squared shares of a group is one over its effective number of samples.
    rows, codes = samples.groups.memberships
    weights = samples.weights[rows]
    squares = np.bincount(codes, weights**2) / np.bincount(codes, weights) ** 2
    variances = np.sort(squares)[-2:].sum() if len(squares) > 1 else 0.0
    rate = np.clip(0.5, alpha, beta)  # where the variance of a share is largest
    noise = np.sqrt(rate * (1 - rate) * variances)
    columns = {"alpha": alpha, "beta": beta, "difference": difference, "noise": noise}
    return pd.DataFrame(columns)
