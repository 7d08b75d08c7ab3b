"""Base of the estimators that keep constraints by a final linear model of out-of-fold scores."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import joblib
import numpy as np
import pandas as pd
from scipy import sparse
from scipy.special import expit
from sklearn import get_config
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import check_cv
from sklearn.utils import column_or_1d, get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted

from skfair._fitting.input import (
    loss_weights,
    refuse_partitioned,
    standardize_target,
    warn_of_dependence,
)
from skfair._fitting.model import ConstraintReportMixin
from skfair._fitting.outcome import (
    FitProgressCallback,
    Subtask,
    compares_nothing,
    solution_attributes,
    to_user_units,
    warn_of_one_group,
)
from skfair._groups.arguments import FitArguments
from skfair._groups.known import encode_groups_for_prediction
from skfair._groups.samples import check_alignment
from skfair._postprocessing.costs import expected_gains, read_cost_matrix, to_class_weight
from skfair._postprocessing.events import (
    N_PROBE,
    EventFeatures,
    EventModel,
    RuleRequest,
    check_multiclass_support,
    check_ranked_sizes,
    check_training_without_features,
    fill_missing_groups,
    find_events,
    fit_event_features,
    fit_plain_model,
    route_metadata,
    stratify_by_class_and_group,
    warn_if_groups_predictable,
)
from skfair._postprocessing.feasibility import check_feasibility_and_fit
from skfair._postprocessing.folds import check_out_of_bag, make_folds
from skfair._postprocessing.group_models import (
    MAX_NARROW_COLUMNS,
    EncodedClassifier,
    ScreenedClassifier,
    fit_classifier,
)
from skfair._postprocessing.limited_places import fit_selection
from skfair._postprocessing.logistic import LogisticModel
from skfair._postprocessing.out_of_fold_scores import (
    EqualRows,
    calibrated_log_odds,
    check_held_out,
    code_equal_rows,
    cross_fit,
    estimator_noun,
    final_step,
    final_step_features,
    find_changed_parameter,
    find_operating_point,
    fit_platt_scaling,
    fit_rows,
    free_columns,
    mean_scores,
    score_out_of_fold,
    warn_if_scores_alone,
    warn_if_training_data,
)
from skfair._utils.api import MatrixLike
from skfair._utils.checks import (
    argument_error,
    check_choice,
    explain_conversion,
    is_int,
    text_columns,
    warn,
)
from skfair._utils.copies import hash_rows
from skfair._utils.fit import fitted_feature_attributes, restore_on_failure, store_fit
from skfair._utils.parameters import validate_params
from skfair._utils.sklearn import (
    CallbackSupportMixin,
    check_method_params,
    count_samples,
    safe_indexing,
    with_callbacks,
)
from skfair._utils.tables import to_pandas_table
from skfair.losses import LogisticLoss, step_function

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from sklearn.callback import CallbackContext
    from sklearn.utils import Bunch, Tags

    from skfair._fitting.counting import Candidate
    from skfair._fitting.guarantee import Guarantee
    from skfair._fitting.input import TrainingData
    from skfair._groups.groups import Groups
    from skfair._postprocessing.base_loss import RuleLoss
    from skfair._postprocessing.events import ConstraintEvents
    from skfair._problems.evaluation import Evaluation
    from skfair._problems.problem import ConstrainedProblem
    from skfair._utils.api import CrossValidation
    from skfair._utils.tables import Table, TableLike
    from skfair.constraints import Constraint


class ConstrainedCV(ConstraintReportMixin, CallbackSupportMixin, MetaEstimatorMixin, BaseEstimator):
    """Base of the estimators that keep constraints by a final linear model of out-of-fold scores.

    A subclass has the parameters named below, and the property `_base`, the estimator that is
    wrapped. Its ``fit`` calls `cross_fit_samples`, `fit_rule` and `store_rule`. Where `fit_ladder`
    shares folds, the first is its method `_cross_fit`, and the others are its `_fit_rule`.
    """

    _record_types = (
        *ConstraintReportMixin._record_types,
        EncodedClassifier,
        EventFeatures,
        EventModel,
        LogisticModel,
        ScreenedClassifier,
    )

    __metadata_request__fit = {"sensitive_features": True, "groups": True}
    __metadata_request__predict = {"sensitive_features": True}

    class_weight: Any = None
    """Weights of classes; a parameter of classifiers."""

    cost_matrix: Any = None
    """Costs by true and predicted class; a parameter of a classifier."""

    k: Any = None
    """Samples to select; a parameter of classifiers."""

    memory: Any = None
    """Where fits are stored; a parameter of classifiers and regressors."""

    may_leave_out_samples = False
    """Whether folds of ``cv`` may leave samples without a prediction: they train models alone."""

    guarantees_many_classes = False
    """Whether ``confidence_level`` is for more than two classes, too."""

    knows_overlapping_groups = False
    """Whether groups that are known may overlap."""

    max_columns = 1
    """Columns that ``predict`` of a regressor may return."""

    def rule_inputs(
        self, X: MatrixLike, *, sensitive_features: MatrixLike | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Inputs of the rule of ``export_rule``: scores, and probabilities of events.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Whatever the estimator takes.
        sensitive_features : array-like, default=None
            Group of each sample; needed with ``group_estimator="sensitive_features"``, else not
            used.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Mean of the predictions of ``estimators_``, if they are regressors. Else mean of their
            decision functions, or of their log-odds where they have probabilities only, softened as
            log(p / (1 - p)) with p = .001 + .998 times these.
        probabilities : ndarray of shape (n_samples, n_events, n_groups)
            Probability of each group within each event that the constraints compare, by the models
            of groups; with ``group_estimator="sensitive_features"`` 1 for the sample's group, and 0
            for the others.

        Raises
        ------
        ValueError
            If there are more than two classes, or groups are needed and were not passed.
        """
        check_exportable(self)
        check_alignment(X=X, sensitive_features=sensitive_features)
        scores = mean_scores(self.estimators_, X)
        _, probabilities = self._columns_and_probabilities(scores, X, sensitive_features)
        if probabilities is None:
            probabilities = np.zeros((len(scores), 1, 1))
        return scores[:, 0], probabilities

    def _cross_fit(
        self,
        X: MatrixLike,
        y: Any,
        *,
        sensitive_features: MatrixLike | None = None,
        sample_weight: Any = None,
        groups: Any = None,
        X_fit: MatrixLike | None = None,
        group_probabilities: MatrixLike | None = None,
        **params: Any,
    ) -> CrossFit:
        """The `CrossFit` of the samples: scores by estimators that were not fitted to them."""
        if group_probabilities is not None and sensitive_features is None:
            raise ValueError(
                f"{type(self).__name__} learns the group from samples that have one, but only "
                "group_probabilities was passed. Pass sensitive_features with the group of some "
                'samples and missing="at_random", or fit a ConstrainedERMClassifier with '
                'missing="sufficient".'
            )
        arguments = FitArguments(
            X=X,
            y=y,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
            groups=groups,
            group_probabilities=group_probabilities,
        )
        return cross_fit_samples(self, arguments, self._find_constraints(), X_fit, params)

    @restore_on_failure(one_blas_thread=False)
    @with_callbacks
    def _fit_to_folds(
        self,
        cross: CrossFit,
        X: TableLike | None,
        y: TableLike | None,
    ) -> ConstrainedCV:
        """Fit the rule to samples that were scored for another tolerance or level."""
        validate_params(self)
        return self._fit_rule(cross.replace_request(self, self._find_constraints()), X, y)

    def get_metadata_routing(self) -> MetadataRouter:
        """Routing of metadata: to this estimator, the wrapped one's ``fit`` and the splitter.

        Returns
        -------
        routing : MetadataRouter
        """
        router = MetadataRouter(owner=type(self).__name__).add_self_request(self)
        to_fit = MethodMapping().add(caller="fit", callee="fit")
        router.add(estimator=self._base, method_mapping=to_fit)
        # A number of folds takes no metadata; any splitter stands for it here.
        splitter = self.cv if hasattr(self.cv, "split") else check_cv()
        to_split = MethodMapping().add(caller="fit", callee="split")
        return router.add(splitter=splitter, method_mapping=to_split)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        base_tags = get_tags(self._base)
        tags.input_tags.sparse = base_tags.input_tags.sparse
        tags.input_tags.allow_nan = base_tags.input_tags.allow_nan
        return tags

    def _columns_and_scores(
        self,
        X: TableLike | None,
        sensitive_features: TableLike | None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Columns of the scores, and scores of the final linear model, (n_samples, n_problems)."""
        check_is_fitted(self)
        check_alignment(X=X, sensitive_features=sensitive_features)
        scores = mean_scores(self.estimators_, X)
        columns, probabilities = self._columns_and_probabilities(scores, X, sensitive_features)
        of_rule = columns if self._costs is None else expected_gains(columns, self._costs)
        features = self._event_features.features(of_rule, probabilities)
        coef = np.atleast_2d(self.rule_coef_)
        triples = zip(features, coef, np.ravel(self.rule_intercept_), strict=True)
        by_class = [inputs @ weights + intercept for inputs, weights, intercept in triples]
        return columns, np.transpose(by_class)

    def _columns_and_probabilities(
        self,
        scores: np.ndarray,
        X: TableLike,
        sensitive_features: TableLike | None,
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Columns of the scores, (n_samples, n_problems), and probabilities of events."""
        columns = self._unit.to_unit(scores)
        if self._is_calibrated:
            columns = calibrated_log_odds(columns, self.calibration_)
        codes = None
        if self.group_estimator == "sensitive_features":
            reason = (
                "With group_estimator='sensitive_features' predictions depend on the group, so "
                "that they need sensitive_features: with group_estimator=None the group is "
                "estimated from X."
            )
            groups = encode_groups_for_prediction(
                sensitive_features, len(columns), self.groups_, reason, self.handle_unknown
            )
            codes = np.append(self._event_codes, -1)[groups]
        return columns, self._event_features.probabilities(X, codes)


# A fit, from the input to what predictions need.


class CrossFit(NamedTuple):
    """Samples of positive weight, scored by estimators that were not fitted to them.

    But for ``constraints`` it does not depend on tolerances and levels.
    """

    training: TrainingData  # with the rows of X as they were passed
    rows: np.ndarray  # positions among the samples that were passed
    per_class: list  # training data of each score: of each class, of two classes, or a real target
    loss_weights: np.ndarray  # (n_samples,)
    costs: np.ndarray | None  # by true and predicted class, of more than two classes
    constraints: list  # none without groups
    scores: np.ndarray  # (n_samples, n_scores), equal for many rows of equal features
    equal_rows: EqualRows  # rows of equal features, which no rule may tell apart
    scoring: list  # estimators, by which these are
    final: list  # estimators, by which new samples are scored
    folds: list  # training and test positions
    context: Any  # of callbacks
    group_models: list  # once a rule has fitted them: `EventFeatures` and probabilities of events
    operating_point: float | None = None  # score from which on the positive class is predicted
    digests: dict[str, str] = {}  # of samples and folds; none if fold models are not kept

    def replace_request(self, estimator: BaseEstimator, constraints: list[Constraint]) -> CrossFit:
        """The same samples and folds for an estimator of another tolerance or level."""
        check_request(estimator, self.training, constraints)
        constraints = [] if self.training.lacks_groups else constraints
        return self._replace(constraints=constraints, context=begin_fit(estimator))

    def replace_groups(self, groups: Groups) -> CrossFit:
        """The same samples and folds with other groups."""
        training, *per_class = (
            one._replace(samples=one.samples._replace(groups=groups))
            for one in (self.training, *self.per_class)
        )
        return self._replace(training=training, per_class=per_class)


class Rule(NamedTuple):
    """The final linear model: attributes that predictions need, its problem, and its guarantee."""

    fitted: dict
    problem: ConstrainedProblem
    guarantee: Guarantee
    request: RuleRequest  # with features of the samples
    is_stopped: bool  # by a callback

    @property
    def features(self) -> EventFeatures:
        """Features of the model, from scores and probabilities of events."""
        return self.fitted["_event_features"]


def cross_fit_samples(
    estimator: BaseEstimator,
    arguments: FitArguments,
    constraints: list[Constraint],
    X_fit: Table | None,
    params: dict[str, np.ndarray],
    keeps_models: bool = False,
) -> CrossFit:
    """The `CrossFit` of what ``fit`` was passed.

    ``params`` are further arguments of the wrapped estimator's ``fit``. With ``keeps_models`` its
    models of the last fit score the samples, which must be those of that fit.
    """
    # Check the input; from here on, training data are the samples of positive weight.
    base = estimator._base
    X = arguments.X
    groups = arguments.groups
    training, rows = _check_training(estimator, arguments, constraints)
    check_request(estimator, training, constraints)
    # Costs of errors count in the loss; rates of groups keep the sample weights.
    weights, costs = _read_costs(estimator, training)
    check_held_out(base, estimator.cv, X, X_fit, rows)
    context = begin_fit(estimator, X=X, y=arguments.y)
    fit_params, split_params = route_metadata(estimator, base, arguments, params)
    _warn_of_unrouted_weights(estimator, base, arguments, fit_params)
    # Folds of the training samples, in the strata of their classes and groups.
    is_real = training.classes is None
    y = column_or_1d(arguments.y)
    fit_params = check_method_params(y, fit_params, indices=rows)
    strata = stratify_by_class_and_group(training, rows, len(y))
    cv = _choose_cv(estimator.cv, X, is_real, groups)
    # A fitted classifier learns no class in the folds.
    is_fitted = estimator.cv == "prefit" or isinstance(base, FrozenEstimator)
    has_no_class = is_real or is_fitted
    covers_all = not estimator.may_leave_out_samples
    folds = make_folds(
        cv, X, y, strata, split_params, groups, is_real=has_no_class, covers_all=covers_all
    )
    # Score every sample by an estimator that was not fitted to it.
    digests = _digest_fit(training, rows, folds)
    if keeps_models:
        _check_same_fit(estimator, digests)
        scoring = estimator.estimators_
        fold_models = estimator.cv if isinstance(estimator.cv, str) else folds
        scores = score_out_of_fold(scoring, training.samples.X, fold_models)
    else:
        scoring, scores = _cross_fit(estimator, base, training, folds, fit_params, context)
    if is_real and scores.shape[1] > estimator.max_columns:
        raise ValueError(
            f"A regressor must predict one number for each sample, but {type(base).__name__} "
            f"predicts {scores.shape[1]}. Pass a 1-D target y."
        )
    if X_fit is None and not keeps_models:
        warn_if_training_data(base, estimator.cv, training.samples.X, training.labels, scores)
    tested = np.sort(np.concatenate([test for _, test in folds]))
    is_cross_fitted = len(scoring) > 1 or len(tested) < len(rows)
    tests = [test for _, test in folds] if is_cross_fitted else [tested]
    # New samples are scored by the estimators of the folds, or by one of all samples.
    final = scoring
    if is_cross_fitted and not estimator.ensemble:
        final = [_fit_all(estimator, base, training, fit_params, context)]
    if len(tested) < len(rows):
        # The rule is fitted to samples that a fold predicts, and models of groups to folds of them.
        training, rows, scores = _take(training, tested), rows[tested], scores[tested]
        weights, costs = _read_costs(estimator, training)
        tests = [np.searchsorted(tested, test) for test in tests]
        strata = stratify_by_class_and_group(training, rows, len(y))
        n_folds = len(scoring) if len(scoring) > 1 else _choose_cv(None, X, is_real, groups)
        folds = make_folds(n_folds, X, y, strata, groups=groups, is_real=has_no_class)
    # Samples whose group is missing count by their probability of each group.
    if training.samples.groups.is_partly_recorded:
        training = fill_missing_groups(
            training,
            scores,
            bases=scoring,
            group_estimator=estimator.group_estimator,
            folds=folds,
            n_jobs=estimator.n_jobs,
        )
    # The penalty must not depend on the unit of a real target: fit it in standard deviations.
    constraints = [] if training.lacks_groups else constraints
    if is_real:
        per_class = [standardize_target(training, True)]
    else:
        per_class = training.one_vs_rest(estimator.pos_label)
    # New samples of equal features get equal predictions, so that no rule may tell them apart.
    equal_rows = EqualRows(code_equal_rows(scoring, training.samples.X), folds)
    operating_point = None
    if not is_real and len(per_class) == 1 and not states_costs(estimator):
        # Out of a bag, samples were scored by other trees than predict.
        if not (isinstance(estimator.cv, str) and estimator.cv == "oob"):
            operating_point = find_operating_point(scoring, training.samples.X, tests, scores[:, 0])
    scores = equal_rows.average(scores)
    return CrossFit(
        training=training,
        rows=rows,
        per_class=per_class,
        loss_weights=weights,
        costs=costs,
        constraints=constraints,
        scores=scores,
        equal_rows=equal_rows,
        scoring=scoring,
        final=final,
        folds=folds,
        context=context,
        group_models=[],
        operating_point=operating_point,
        digests=digests if final is scoring else {},
    )


def states_costs(estimator: BaseEstimator) -> bool:
    """Whether a parameter says what errors cost, in place of the estimator's own decisions."""
    return estimator.class_weight is not None or estimator.cost_matrix is not None


def _read_costs(
    estimator: BaseEstimator, training: TrainingData
) -> tuple[np.ndarray, np.ndarray | None]:
    """Weight of each sample's loss, and costs by true and predicted class of several classes.

    Costs of two classes are weights. They are None where no parameter states them.
    """
    classes = training.classes
    class_weight = estimator.class_weight
    if classes is None or not states_costs(estimator):
        return loss_weights(None, training), None
    costs = None
    if estimator.cost_matrix is not None:
        if class_weight is not None:
            raise argument_error(
                f"cost_matrix has the costs of all errors, so that class_weight={class_weight!r} "
                "must be None: multiply the row of each class by its weight."
            )
        costs = read_cost_matrix(estimator.cost_matrix, classes)
    if len(classes) == 2:
        class_weight = class_weight if costs is None else to_class_weight(costs, classes)
        return loss_weights(class_weight, training), None
    weights = training.samples.weights
    if costs is None:
        # An error about a sample costs the weight of its class, whatever is predicted.
        first = np.unique(training.labels, return_index=True)[1]
        by_class = (loss_weights(class_weight, training) / weights)[first]
        costs = by_class[:, np.newaxis] * (1.0 - np.eye(len(classes)))
    return weights, costs


def _digest_fit(
    training: TrainingData, rows: np.ndarray, folds: list[list[np.ndarray]]
) -> dict[str, str]:
    """Digests by argument of ``fit``: of rows of X, targets, groups, weights and folds."""
    samples = training.samples
    groups = samples.groups
    members = groups.codes if groups.is_disjoint else [*sparse.find(groups.matrix)]
    contents = {
        "X": hash_rows(to_pandas_table(samples.X)),
        "y": hash_rows(pd.DataFrame({"y": training.labels})),
        "sensitive_features": [groups.labels.tolist(), members],
        "group_probabilities": samples.group_probabilities,
        "sample_weight": [rows, samples.weights],
        "cv": folds,
    }
    return {name: joblib.hash(content) for name, content in contents.items()}


def _check_same_fit(estimator: ConstrainedCV, digests: dict[str, str]) -> None:
    """Raise unless the estimator's models are those of the folds, and were fitted to these samples.

    The parameters of the wrapped estimator must be those of the fit, too.
    """
    loses_models = len(estimator.estimators_) > 1 and not estimator.ensemble
    if loses_models or not estimator._fit_digests:
        raise argument_error(
            "ensemble must be True for refit_rule, since ensemble=False does not keep the models "
            "that score the training samples. Call fit: with memory= it fits no fold again."
        )
    if digests["X"] == joblib.hash(None):
        raise argument_error(
            "X must be an array, a DataFrame or a sparse matrix of numbers or texts for "
            "refit_rule, which compares it with the rows of the fit. Call fit."
        )
    for name, digest in digests.items():
        if digest != estimator._fit_digests[name]:
            advice = "Pass what fit was passed, with rows in the same order"
            if name == "cv":
                advice = "Pass the same groups, and a splitter with a fixed random_state"
            raise argument_error(
                f"{name} must be as in the last fit, whose models score its samples again, but "
                f"differs from it. {advice}, or call fit."
            )
    changed = find_changed_parameter(estimator._base, estimator.cv, estimator.estimators_[0])
    if changed is not None:
        raise argument_error(
            f"estimator must have the parameters of the last fit, whose models are kept, but "
            f"{changed} is another one. Call fit."
        )


def _take(training: TrainingData, rows: np.ndarray) -> TrainingData:
    """Some of the training samples."""
    samples = training.samples.take(rows)._replace(X=safe_indexing(training.samples.X, rows))
    return training._replace(samples=samples)


def begin_fit(estimator: BaseEstimator, **columns: Any) -> CallbackContext:
    """The context of a fit's callbacks, which have been called."""
    context = estimator._init_callback_context(max_subtasks=None)
    context.call_on_fit_task_begin(estimator=estimator, **columns)
    return context


def check_request(
    estimator: BaseEstimator, training: TrainingData, constraints: list[Constraint]
) -> None:
    """Raise for constraints and levels that the classes and groups do not allow."""
    if training.classes is not None:
        confidence = None if estimator.guarantees_many_classes else estimator.confidence_level
        check_multiclass_support(len(training.classes), constraints, confidence)
    if estimator.k is not None:
        _check_selection(estimator, training, constraints)
    if not (training.lacks_groups or training.samples.groups.is_partly_recorded):
        check_ranked_sizes(training.samples, constraints)


def _fit_all(
    estimator: ConstrainedCV,
    base: BaseEstimator,
    training: TrainingData,
    fit_params: dict,
    context: CallbackContext,
) -> BaseEstimator:
    """An estimator that is fitted to all samples."""
    rows = np.arange(len(training.labels))
    task = Subtask(estimator, context, f"{estimator_noun(base)} of all samples")
    samples = training.samples
    return fit_rows(base, samples.X, training.labels, fit_params, rows, task, estimator.memory)


def fit_rule(estimator: BaseEstimator, cross: CrossFit, loss: RuleLoss) -> Rule:
    """The final linear model by a `RuleLoss`, whose out-of-fold predictions keep constraints."""
    per_class = cross.per_class
    confidence = estimator.confidence_level
    with Subtask(estimator, cross.context, "final linear model", max_subtasks=None) as step:
        fitted, columns, constraint_events = begin_rule(cross)
        features = fitted["_event_features"]
        if cross.costs is not None:
            columns = expected_gains(columns, cross.costs)
        elif loss.keeps_scores and len(per_class) > 1:
            # Of several classes the largest score decides, before they are calibrated.
            fitted["_is_calibrated"] = False
            columns = per_class[0].unit.to_unit(cross.scores)
        describe = partial(_describe_iterate, fitted)
        weights, intercept = class_costs(estimator, cross, fitted)
        loss_unit = per_class[0].loss_unit(loss.loss)
        n = len(cross.rows)
        progress = FitProgressCallback(
            estimator, step.context, describe, loss_unit, f"{step.name}, "
        )
        request = RuleRequest(
            per_class=per_class,
            loss=loss,
            weights=weights,
            costs=cross.costs,
            constraints=cross.constraints,
            callback=progress,
            share=None if estimator.k is None else count_places(estimator.k, n) / n,
            intercept=intercept,
        )
        # Where decisions by the scores alone keep the bounds, no event is needed.
        of_scores = request.replace_features(features.features(columns, None))
        plain = fit_plain_model(of_scores, confidence)
        if plain is not None:
            form = _RuleForm(features, of_scores, *plain)
        else:
            form = _fit_with_groups(estimator, cross, of_scores, columns, constraint_events)
        fitted["_event_features"] = form.features
    guarantee = to_user_units(form.guarantee, form.problem.constraint, progress.loss_unit)
    return Rule(
        fitted=fitted | {"n_iter_": progress.n_iter},
        problem=form.problem,
        guarantee=guarantee,
        request=form.request,
        is_stopped=progress.is_stopped,
    )


class _RuleForm(NamedTuple):
    """A solved rule of one form: its features, request, problem and guarantee."""

    features: EventFeatures
    request: RuleRequest
    problem: ConstrainedProblem
    guarantee: Guarantee

    @property
    def candidate(self) -> Candidate:
        """The rule on the training data."""
        return self.guarantee.candidate


def _fit_with_groups(
    estimator: ConstrainedCV,
    cross: CrossFit,
    of_scores: RuleRequest,
    columns: np.ndarray,
    constraint_events: ConstraintEvents,
) -> _RuleForm:
    """The rule that compares log-odds with a threshold by probabilities of events."""
    _warn_if_not_monotone(estimator, cross)
    features, of_events, chances = features_of(estimator, cross, columns, constraint_events)
    is_real = cross.per_class[0].classes is None
    request = of_scores.replace_features(of_events)
    if not is_real:  # predictions of real targets may be turned round
        request = request._replace(slopes=features.score_slopes())
    if request.share is None:
        confidence = estimator.confidence_level
        solution = check_feasibility_and_fit(features, request, chances, confidence)
    else:
        solution = fit_selection(features, request, chances)
    return _RuleForm(features, request, *solution)


def _warn_if_not_monotone(estimator: ConstrainedCV, cross: CrossFit) -> None:
    """Warn of a model of groups that reads columns in which the estimator is made monotone."""
    if not hasattr(estimator.group_estimator, "fit"):
        return
    base = cross.scoring[0]
    features = final_step_features(base, safe_indexing(cross.training.samples.X, [0]))
    if free_columns(base, features) is not None:
        warn(
            f"{type(final_step(base)).__name__} is monotone in some columns, but decisions need "
            "not be: the probability of the group may change with the same columns. Pass "
            "group_estimator=None, which then leaves them out, one that reads others alone, or "
            "'sensitive_features'."
        )


def class_costs(estimator: BaseEstimator, cross: CrossFit, fitted: dict) -> tuple:
    """Weights of samples in the loss, and the intercept of the log-odds without constraint.

    Without stated costs errors cost as much as they do for the decisions of the estimator
    itself: of two classes it accepts from the probability c on if a wrongly accepted sample costs
    c, and a wrongly refused one 1 - c. Scores without a rule of their own have c = 1/2.
    """
    first = cross.per_class[0]
    weights = cross.loss_weights
    if "calibration_" not in fitted or estimator.k is not None:
        return weights, 0.0
    if len(cross.per_class) > 1:
        keeps_costs = cross.costs is None
        return weights * _costs_of_classes(cross, fitted) if keeps_costs else weights, 0.0
    positive = first.samples.target > 0
    if states_costs(estimator):
        per_sample = weights / first.samples.weights
        return weights, float(np.log(per_sample[positive].max() / per_sample[~positive].max()))
    slope, offset = fitted["calibration_"]
    if not slope > 0 or cross.operating_point is None:
        return weights, 0.0
    intercept = -float(slope * first.unit.to_unit(cross.operating_point) + offset)
    intercept = float(np.clip(intercept, -_MAX_LOG_COST, _MAX_LOG_COST))
    return weights * 2.0 * expit(np.where(positive, intercept, -intercept)), intercept


def _costs_of_classes(cross: CrossFit, fitted: dict) -> np.ndarray:
    """Cost of an error about each sample, of several classes, with which as many are predicted.

    The class of the largest score is predicted. Calibrated probabilities times these costs are
    largest for each class as often.
    """
    scores = cross.per_class[0].unit.to_unit(cross.scores)
    n_classes = scores.shape[1]
    log_probabilities = np.log(expit(calibrated_log_odds(scores, fitted["calibration_"])))
    weights = cross.per_class[0].samples.weights
    wanted = np.bincount(scores.argmax(axis=1), weights, n_classes)
    unit = 1e-3 * weights.sum()
    log_costs = np.zeros(n_classes)
    for _ in range(100):
        predicted = (log_probabilities + log_costs).argmax(axis=1)
        counts = np.bincount(predicted, weights, n_classes)
        if np.allclose(counts, wanted, rtol=0.0, atol=1e-9 * weights.sum()):
            break
        log_costs += 0.5 * np.log((wanted + unit) / (counts + unit))
    log_costs = np.clip(log_costs - log_costs.mean(), -_MAX_LOG_COST, _MAX_LOG_COST)
    members = np.column_stack([one.samples.target > 0 for one in cross.per_class])
    costs = np.exp(log_costs)[members.argmax(axis=1)]
    return costs / np.average(costs, weights=cross.loss_weights)


_MAX_LOG_COST = 7.0
"""Largest logarithm of the ratio of two costs of errors."""


def begin_rule(cross: CrossFit, is_calibrated: bool = True) -> tuple:
    """Attributes of predictions by the scores alone, columns of the scores, and the events.

    Unless they are calibrated, columns of classes are the scores as they are.
    """
    per_class = cross.per_class
    groups = cross.training.samples.groups
    unit = per_class[0].unit
    fitted, columns = _fit_score_columns(unit.to_unit(cross.scores), per_class, is_calibrated)
    constraint_events = find_events(per_class, cross.constraints)
    constraint_events.check_folds(cross.folds, groups)
    features = EventFeatures(
        [],
        constraint_events.table[:, :0, :, :0],
        [],
        constraint_events.compares_scores,
    )
    fitted |= {
        "estimators_": cross.final,
        "groups_": groups.summary,
        "_event_features": features,
        "_event_codes": np.argsort(groups.ranks),
        "_is_calibrated": "calibration_" in fitted,
        "_costs": cross.costs,
        "_unit": unit,
    }
    return fitted, columns, constraint_events


def features_of(
    estimator: ConstrainedCV,
    cross: CrossFit,
    columns: np.ndarray,
    constraint_events: ConstraintEvents,
) -> tuple:
    """`EventFeatures`, features of the samples, and `group_class_probabilities`."""
    # Rules of one ladder compare the same events: they share the models of groups.
    if not cross.group_models:
        cross.group_models.append(_fit_group_models(estimator, cross, constraint_events))
    ((features, probabilities),) = cross.group_models
    chances = features.group_class_probabilities(columns, probabilities)
    return features, features.features(columns, probabilities), chances


def _fit_group_models(
    estimator: BaseEstimator, cross: CrossFit, constraint_events: ConstraintEvents
) -> tuple[EventFeatures, np.ndarray]:
    """`EventFeatures`, and out-of-fold probabilities of the events."""
    features, probabilities = fit_event_features(
        cross.scoring,
        estimator.group_estimator,
        cross.training,
        constraint_events,
        cross.folds,
        estimator.n_jobs,
    )
    if estimator.group_estimator != "sensitive_features":
        probabilities = cross.equal_rows.average(probabilities)
        warn_if_scores_alone(cross.scoring[0], safe_indexing(cross.training.samples.X, [0]))
        # Probabilities of the groups, within the first subset.
        warn_if_groups_predictable(constraint_events, probabilities[:, :1].sum(axis=1))
    # New samples get the mean of the folds' models, or one model of all samples.
    if not estimator.ensemble:
        features = features.refit_as_one_model(cross.final[0], cross.training, constraint_events)
    return features, probabilities


def store_rule(
    estimator: ConstrainedCV,
    y: np.ndarray,
    cross: CrossFit,
    rule: Rule,
    outcome: dict[str, Any],
    report: dict[str, Any],
    status: str,
) -> None:
    """Store what predictions need, and what describes the fit, as `store_outcome`."""
    problem = rule.problem
    first = cross.per_class[0]
    is_unconstrained = compares_nothing(first, problem.constraint)
    if is_unconstrained:
        warn_of_one_group(first, problem.constraint)
    solution = solution_attributes(
        estimator, rule.guarantee, status, len(problem.lower), report, is_unconstrained
    )
    solution["_fit_digests"] = cross.digests
    store_outcome(estimator, y, cross, rule.fitted | outcome | solution)


def store_outcome(
    estimator: ConstrainedCV, y: TableLike, cross: CrossFit, outcome: dict[str, Any]
) -> None:
    """Store fitted attributes.

    Those whose name begins with "oof_" are of the samples of positive weight, others get nan.
    """
    for name in [name for name in outcome if name.startswith("oof_")]:
        scores = outcome[name]
        shape = outcome[name].shape[1:]
        outcome[name] = np.full((len(column_or_1d(y)), *shape), np.nan)
        outcome[name][cross.rows] = scores
    store_fit(estimator, outcome | fitted_feature_attributes(cross.final[0]))


def _fit_score_columns(
    scores: np.ndarray, per_class: list[TrainingData], is_calibrated: bool
) -> tuple:
    """Fitted attributes of the columns, and the column of each class or of a real target."""
    first = per_class[0]
    if first.classes is None:
        return {}, scores
    pos_label = first.pos_label if len(per_class) == 1 else None
    attributes = {"classes_": first.classes, "pos_label_": pos_label}
    if not is_calibrated:
        return attributes, scores
    # Platt scaling of the out-of-fold scores, class by class.
    calibration = [fit_platt_scaling(*pair) for pair in zip(scores.T, per_class, strict=True)]
    attributes["calibration_"] = np.squeeze(calibration)
    return attributes, calibrated_log_odds(scores, calibration)


def _check_training(
    estimator: BaseEstimator, arguments: FitArguments, constraints: list[Constraint]
) -> tuple[TrainingData, np.ndarray]:
    """Training data of positive weight, with the rows of X as they were passed; positions."""
    X = arguments.X
    refuse_partitioned(estimator, X)
    check_out_of_bag(estimator.cv, arguments.groups)
    training, rows = check_training_without_features(estimator, arguments, bool(constraints))
    if (
        estimator.group_estimator == "sensitive_features"
        and not estimator.knows_overlapping_groups
        and not training.samples.groups.is_disjoint
    ):
        raise ValueError(
            "group_estimator='sensitive_features' needs one group per sample, but the groups "
            "passed may overlap or be missing; pass one label per sample."
        )
    (X,) = indexable(X)
    X = X if len(rows) == count_samples(X) else safe_indexing(X, rows)
    training = training._replace(samples=training.samples._replace(X=X))
    _check_reads_text(estimator._base, estimator.group_estimator, X)
    if estimator.confidence_level is not None:
        warn_of_dependence(training.samples.X, training)
    return training, rows


def _check_selection(
    estimator: ConstrainedCV, training: TrainingData, constraints: list[Constraint]
) -> None:
    """Raise, before folds are fitted, if the highest scores cannot be selected with a bound."""
    count_places(estimator.k, len(training.labels))
    n_classes = len(training.classes)  # type: ignore[arg-type]
    # What stands in the way -> what to pass instead.
    obstacles = {
        f"{n_classes} classes": n_classes > 2 and "2 classes, as in y == label",
        f"{len(constraints)} constraints": len(constraints) > 1 and "one constraint",
    }
    for name, default in {"confidence_level": None, "missing": "error"}.items():
        value = getattr(estimator, name)
        obstacles[f"{name}={value!r}"] = value != default and f"{name}={default!r}"
    if not any(obstacles.values()) and constraints and not training.lacks_groups:
        constraint_events = find_events([training], constraints)
        n_terms = len(constraints[0].terms(step_function, LogisticLoss()))
        is_learned = any(source == "learned" for _, source in constraint_events.sources)
        obstacles[constraints[0].name] = (
            n_terms != 1 or is_learned or constraint_events.compares_scores
        ) and ("one on selection, true positive or false positive rates")
    for obstacle, remedy in obstacles.items():
        if remedy:
            raise argument_error(
                f"k selects the highest of one score, not with {obstacle}; pass {remedy}."
            )


def count_places(k: float, n_samples: int) -> int:
    """Number of samples that k selects of some: an int, or a share, rounded down."""
    is_share = isinstance(k, float) and 0.0 < k < 1.0
    if not is_share and not is_int(k, 1, n_samples):
        raise argument_error(
            f"k must be a number of samples from 1 to {n_samples}, or a share of them strictly "
            f"between 0 and 1; got {k!r}."
        )
    return max(1, int(k * n_samples * (1.0 + 1e-12))) if is_share else int(k)


def _check_reads_text(
    base: BaseEstimator, group_estimator: BaseEstimator | str | None, X: TableLike
) -> None:
    """Raise, before folds are fitted, if X has text that the model of the group cannot read."""
    rows = np.arange(min(count_samples(X), N_PROBE))
    probe = safe_indexing(X, rows)
    is_raw = final_step(base) is base and not hasattr(base, "estimator")  # no search, not frozen
    if is_raw and hasattr(group_estimator, "fit") and text_columns(probe):
        with explain_conversion(probe, group_estimator):
            fit_classifier(group_estimator, probe, rows % 2, np.ones(len(rows)))


def _warn_of_unrouted_weights(
    estimator: BaseEstimator,
    base: BaseEstimator,
    arguments: FitArguments,
    fit_params: Bunch | dict[str, np.ndarray],
) -> None:
    """Warn of weights that reach the constraint but not the fit of the wrapped estimator."""
    is_refitted = estimator.cv != "prefit" and not isinstance(base, FrozenEstimator)
    is_routed = get_config()["enable_metadata_routing"]
    has_weights = arguments.sample_weight is not None
    if is_refitted and not is_routed and has_weights and "sample_weight" not in fit_params:
        warn(
            f"The fit of {type(base).__name__} takes no sample_weight, so that weights "
            "count in the final linear model and its constraint alone. Turn on metadata "
            "routing to pass them through a pipeline: "
            "sklearn.set_config(enable_metadata_routing=True) and "
            "set_fit_request(sample_weight=True) of its last step."
        )


def _cross_fit(
    estimator: BaseEstimator,
    base: BaseEstimator,
    training: TrainingData,
    folds: list[list[np.ndarray]],
    fit_params: dict[str, np.ndarray],
    context: CallbackContext,
) -> tuple[list[BaseEstimator], np.ndarray]:
    """Fit an estimator per fold; return these and the out-of-fold scores."""
    # "prefit" and "oob" fit the estimator once at most.
    cv, n_fits = (estimator.cv, None) if isinstance(estimator.cv, str) else (folds, len(folds))
    name = f"{estimator_noun(base)}s"
    with Subtask(estimator, context, name, max_subtasks=n_fits) as step:
        return cross_fit(
            base,
            training.samples.X,
            training.labels,
            cv,
            params=fit_params,
            n_jobs=estimator.n_jobs,
            subtask=step.subtask,
            memory=estimator.memory,
        )


def check_exportable(estimator: ConstrainedCV) -> None:
    """Raise if no rule describes the predictions."""
    check_is_fitted(estimator)
    n_classes = len(getattr(estimator, "classes_", ()))
    if n_classes > 2:
        raise ValueError(
            f"A rule describes the decision between 2 classes, but there are {n_classes}. Serve "
            "the fitted estimator itself."
        )


def _choose_cv(
    cv: CrossValidation,
    X: TableLike,
    is_real: bool,
    groups: TableLike | None,
) -> CrossValidation:
    """The folds that ``cv`` asks for; by default fewer for classes of many samples or columns.

    By default there are no more folds than sets of samples that belong together. Models of events
    are cross-fitted in folds even if the estimator itself is not.
    """
    if not (cv is None or isinstance(cv, str)):
        return cv
    # Two thirds of many samples are enough, and wide data take long.
    shape = (count_samples(X), *getattr(X, "shape", ())[1:])
    is_wide = not sparse.issparse(X) and len(shape) == 2 and shape[1] > MAX_NARROW_COLUMNS
    is_large = not is_real and (is_wide or shape[0] >= 3_000)
    n_folds = 3 if is_large else 5
    if groups is None:
        return n_folds
    n_sets = len(set(cast("Iterable[Hashable]", groups)))
    return min(n_folds, max(n_sets, 2))


def _describe_iterate(fitted: dict[str, Any], evaluation: Evaluation) -> dict[str, Any]:
    """Fitted attributes during the fit of the linear model."""
    coef, intercept = evaluation.problem.model.coefficients(evaluation.parameters)
    return fitted | {"rule_coef_": np.array(coef), "rule_intercept_": intercept}


# Rules as SQL expressions, for databases that compute predictions from columns.


def write_rule(
    score: tuple[float, str],
    intercept: float,
    factors: tuple[str, ...],
    weights: np.ndarray | list[list[list]],
) -> str:
    """A sum as SQL: of a score times its coefficient, and of factors times weighted probabilities.

    `weights` are of shape (n_factors, n_events, n_groups); those of 0 are left out.
    """
    coefficient, column = score
    text = f"{write_number(coefficient)} * {column} + {write_number(intercept)}"
    for factor, matrix in zip(factors, np.asarray(weights), strict=True):
        products = [
            f"{write_number(weight)} * p_{event}_{group}"
            for (event, group), weight in np.ndenumerate(matrix)
            if weight
        ]
        text += f" + {factor} * ({' + '.join(products)})" if products else ""
    return text


def write_number(number: float) -> str:
    """A number with all of its digits; by its exponent every database knows it as a real one."""
    return f"{number:.17e}"


def check_rule_format(format: str) -> bool:
    """Whether a rule is exported as SQL; a ValueError for another format than that and a dict."""
    check_choice("format", format, ("dict", "sql"))
    return format == "sql"
