"""Base of the estimators that keep constraints by a final linear model of out-of-fold scores."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.model_selection import check_cv
from sklearn.utils import column_or_1d, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted

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
from skfair._postprocessing.costs import expected_gains
from skfair._postprocessing.events import (
    EventFeatures,
    EventModel,
    RuleRequest,
    find_events,
    fit_event_features,
    fit_plain_model,
    warn_if_groups_predictable,
)
from skfair._postprocessing.feasibility import check_feasibility_and_fit
from skfair._postprocessing.group_models import (
    EncodedClassifier,
    ScreenedClassifier,
)
from skfair._postprocessing.limited_places import fit_selection
from skfair._postprocessing.logistic import LogisticModel
from skfair._postprocessing.out_of_fold_scores import (
    calibrated_log_odds,
    final_step,
    final_step_features,
    fit_platt_scaling,
    free_columns,
    mean_scores,
    warn_if_scores_alone,
)
from skfair._postprocessing.scored_samples import (
    ScoredSamples,
    count_places,
    score_samples,
    states_costs,
)
from skfair._utils.api import MatrixLike
from skfair._utils.checks import (
    check_choice,
    warn,
)
from skfair._utils.fit import fitted_feature_attributes, restore_on_failure, store_fit
from skfair._utils.parameters import validate_params
from skfair._utils.sklearn import (
    CallbackSupportMixin,
    safe_indexing,
    with_callbacks,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from sklearn.utils import Tags

    from skfair._fitting.guarantee import Guarantee
    from skfair._postprocessing.base_loss import RuleLoss
    from skfair._postprocessing.events import ConstraintEvents
    from skfair._problems.evaluation import Evaluation
    from skfair._problems.problem import ConstrainedProblem
    from skfair._utils.tables import TableLike


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

    def _score_samples(
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
    ) -> ScoredSamples:
        """Score the samples by estimators that were not fitted to them."""
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
        constraints = self._find_constraints()
        return score_samples(self, arguments, constraints, params, X_fit=X_fit)

    @restore_on_failure(one_blas_thread=False)
    @with_callbacks
    def _fit_to_folds(
        self,
        scored: ScoredSamples,
        X: TableLike | None,
        y: TableLike | None,
    ) -> ConstrainedCV:
        """Fit the rule to samples that were scored for another tolerance or level."""
        validate_params(self)
        return self._fit_rule(scored.replace_request(self, self._find_constraints()), X, y)

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


class ScoreColumns(NamedTuple):
    """Columns that rules are fitted to: calibrated log-odds of classes, or scores as they are."""

    values: np.ndarray  # (n_samples, n_columns), in units of the fit
    calibration: np.ndarray | None  # slope and offset of each column; None if none was fitted
    is_calibrated: bool  # whether the values are


class GroupModel(NamedTuple):
    """Model of the group: features of rules, and out-of-fold probabilities of the events."""

    features: EventFeatures
    probabilities: np.ndarray  # (n_samples, n_subsets, n_codes)


class LossOfErrors(NamedTuple):
    """How a rule counts errors: the costs that were stated, or those of the estimator itself.

    Of two classes it accepts from the probability c on if a wrongly accepted sample costs c, and a
    wrongly refused one 1 - c. Scores without a rule of their own have c = 1/2.
    """

    weights: np.ndarray  # of each sample in the loss, (n_samples,)
    intercept: float  # of the log-odds without constraint: log((1 - c) / c)


class Rule(NamedTuple):
    """The final linear model: what it reads, its problem, and its guarantee."""

    columns: ScoreColumns
    features: EventFeatures
    request: RuleRequest  # with features of the samples
    problem: ConstrainedProblem
    guarantee: Guarantee
    n_iter: int
    is_stopped: bool  # by a callback


def fit_rule(estimator: ConstrainedCV, scored: ScoredSamples, loss: RuleLoss) -> Rule:
    """Fit the final linear model by a loss; its out-of-fold predictions keep the constraints."""
    with Subtask(estimator, scored.context, "final linear model", max_subtasks=None) as step:
        calibrated = fit_score_columns(scored)
        constraint_events = find_checked_events(scored)
        columns = _choose_columns(scored, calibrated, loss)
        without_groups = EventFeatures.make_empty(constraint_events)
        errors = _count_errors(estimator, scored, calibrated)
        progress = FitProgressCallback(
            estimator,
            step.context,
            describe=_describe_by(scored, columns, without_groups),
            loss_unit=scored.per_class[0].loss_unit(loss.loss),
            prefix=f"{step.name}, ",
        )
        codes = constraint_events.codes
        request = _make_request(estimator, scored, loss, errors, progress, codes)
        of_scores = request.replace_features(without_groups.features(columns.values, None))
        # Where decisions by the scores alone keep the bounds, no group is estimated.
        plain = fit_plain_model(of_scores, estimator.confidence_level)
        if plain is not None:
            form = _RuleForm(without_groups, of_scores, *plain)
        else:
            form = _fit_with_groups(estimator, scored, of_scores, columns, constraint_events)
    progress = form.request.callback
    return Rule(
        columns=columns,
        features=form.features,
        request=form.request,
        problem=form.problem,
        guarantee=to_user_units(form.guarantee, form.problem.constraint, progress.loss_unit),
        n_iter=progress.n_iter,
        is_stopped=progress.is_stopped,
    )


def _choose_columns(
    scored: ScoredSamples, calibrated: ScoreColumns, loss: RuleLoss
) -> ScoreColumns:
    """Return the columns of which the largest decides between several classes."""
    if scored.costs.matrix is not None:
        gains = expected_gains(calibrated.values, scored.costs.matrix)
        return calibrated._replace(values=gains)
    if loss.keeps_scores and len(scored.per_class) > 1:
        # The largest score decides, before scores are calibrated.
        scores = scored.per_class[0].unit.to_unit(scored.scores)
        return calibrated._replace(values=scores, is_calibrated=False)
    return calibrated


def _make_request(
    estimator: ConstrainedCV,
    scored: ScoredSamples,
    loss: RuleLoss,
    errors: LossOfErrors,
    progress: FitProgressCallback,
    codes: np.ndarray,
) -> RuleRequest:
    """Return what the rule has to fit and to keep, still without its features."""
    n_samples = len(scored.rows)
    share = None
    if estimator.k is not None:
        share = count_places(estimator.k, n_samples) / n_samples
    return RuleRequest(
        per_class=scored.per_class,
        loss=loss,
        weights=errors.weights,
        costs=scored.costs.matrix,
        constraints=scored.constraints,
        callback=progress,
        codes=codes,
        share=share,
        intercept=errors.intercept,
    )


class _RuleForm(NamedTuple):
    """A solved rule of one form: its features, request, problem and guarantee."""

    features: EventFeatures
    request: RuleRequest
    problem: ConstrainedProblem
    guarantee: Guarantee


def _fit_with_groups(
    estimator: ConstrainedCV,
    scored: ScoredSamples,
    of_scores: RuleRequest,
    columns: ScoreColumns,
    constraint_events: ConstraintEvents,
) -> _RuleForm:
    """Fit the rule that compares log-odds with a threshold by probabilities of events."""
    _warn_if_not_monotone(estimator, scored)
    features, probabilities = find_group_model(estimator, scored, constraint_events)
    request = of_scores.replace_features(features.features(columns.values, probabilities))
    # Callbacks see estimators that predict by these features.
    describe = _describe_by(scored, columns, features)
    request = request._replace(callback=replace(of_scores.callback, describe=describe))
    is_real = scored.per_class[0].classes is None
    if not is_real:  # predictions of real targets may be turned round
        request = request._replace(slopes=features.score_slopes())
    chances = features.group_class_probabilities(columns.values, probabilities)
    if request.share is None:
        confidence = estimator.confidence_level
        solution = check_feasibility_and_fit(features, request, chances, confidence)
    else:
        success = expit(columns.values[:, 0])
        solution = fit_selection(features, request, success)
    return _RuleForm(features, request, *solution)


def _warn_if_not_monotone(estimator: ConstrainedCV, scored: ScoredSamples) -> None:
    """Warn of a model of groups that reads columns in which the estimator is made monotone."""
    if not hasattr(estimator.group_estimator, "fit"):
        return
    base = scored.scorers.training[0]
    features = final_step_features(base, safe_indexing(scored.training.samples.X, [0]))
    if free_columns(base, features) is not None:
        warn(
            f"{type(final_step(base)).__name__} is monotone in some columns, but decisions need "
            "not be: the probability of the group may change with the same columns. Pass "
            "group_estimator=None, which then leaves them out, one that reads others alone, or "
            "'sensitive_features'."
        )


def _count_errors(
    estimator: ConstrainedCV, scored: ScoredSamples, calibrated: ScoreColumns
) -> LossOfErrors:
    """Return how the rule counts errors, by stated costs or by the estimator's own decisions."""
    first = scored.per_class[0]
    weights = scored.costs.weights
    as_they_are = LossOfErrors(weights, 0.0)
    if calibrated.calibration is None or estimator.k is not None:
        return as_they_are
    if len(scored.per_class) > 1:
        if scored.costs.matrix is not None:
            return as_they_are
        return LossOfErrors(weights * _costs_of_classes(scored, calibrated.calibration), 0.0)
    positive = first.samples.target > 0
    if states_costs(estimator):
        per_sample = weights / first.samples.weights
        ratio = per_sample[positive].max() / per_sample[~positive].max()
        return LossOfErrors(weights, float(np.log(ratio)))
    slope, offset = calibrated.calibration
    if not slope > 0 or scored.operating_point is None:
        return as_they_are
    intercept = -float(slope * first.unit.to_unit(scored.operating_point) + offset)
    intercept = float(np.clip(intercept, -_MAX_LOG_COST, _MAX_LOG_COST))
    return LossOfErrors(weights * 2.0 * expit(np.where(positive, intercept, -intercept)), intercept)


def _costs_of_classes(scored: ScoredSamples, calibration: np.ndarray) -> np.ndarray:
    """Cost of an error about each sample, of several classes, with which as many are predicted.

    The class of the largest score is predicted. Calibrated probabilities times these costs are
    largest for each class as often.
    """
    scores = scored.per_class[0].unit.to_unit(scored.scores)
    n_classes = scores.shape[1]
    log_probabilities = np.log(expit(calibrated_log_odds(scores, calibration)))
    weights = scored.per_class[0].samples.weights
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
    members = np.column_stack([one.samples.target > 0 for one in scored.per_class])
    costs = np.exp(log_costs)[members.argmax(axis=1)]
    return costs / np.average(costs, weights=scored.costs.weights)


_MAX_LOG_COST = 7.0
"""Largest logarithm of the ratio of two costs of errors."""


def fit_score_columns(scored: ScoredSamples, calibrates: bool = True) -> ScoreColumns:
    """Return the columns of the scores, one for each class or of a real target.

    Scores of classes are calibrated, unless `calibrates` is false: by Platt scaling of the
    out-of-fold scores, class by class.
    """
    per_class = scored.per_class
    scores = per_class[0].unit.to_unit(scored.scores)
    if per_class[0].classes is None or not calibrates:
        return ScoreColumns(scores, None, False)
    calibration = [fit_platt_scaling(*pair) for pair in zip(scores.T, per_class, strict=True)]
    return ScoreColumns(calibrated_log_odds(scores, calibration), np.squeeze(calibration), True)


def find_checked_events(scored: ScoredSamples) -> ConstraintEvents:
    """Return the events that constraints compare; raise where a fold lacks one."""
    constraint_events = find_events(scored.per_class, scored.constraints, scored.folds)
    constraint_events.check_folds(scored.folds, scored.training.samples.groups)
    return constraint_events


def prediction_attributes(
    scored: ScoredSamples, columns: ScoreColumns, features: EventFeatures
) -> dict[str, Any]:
    """Return the fitted attributes by which predictions are made."""
    first = scored.per_class[0]
    groups = scored.training.samples.groups
    # Codes in models of the group, of groups in the order of their labels.
    by_label = np.argsort(groups.ranks)
    codes = features.codes_of_groups
    attributes = {
        "estimators_": scored.scorers.new,
        "groups_": groups.summary,
        "_event_features": features,
        "_event_codes": by_label if codes is None else codes[by_label],
        "_is_calibrated": columns.is_calibrated,
        "_costs": scored.costs.matrix,
        "_unit": first.unit,
    }
    if first.classes is not None:
        attributes["classes_"] = first.classes
        attributes["pos_label_"] = first.pos_label if len(scored.per_class) == 1 else None
    if columns.calibration is not None:
        attributes["calibration_"] = columns.calibration
    return attributes


def find_group_model(
    estimator: ConstrainedCV, scored: ScoredSamples, constraint_events: ConstraintEvents
) -> GroupModel:
    """Return the model of the group, which the first rule of a ladder fits for all."""
    shared = scored.group_model
    if shared.model is None:
        shared.model = _fit_group_model(estimator, scored, constraint_events)
    return shared.model


def _fit_group_model(
    estimator: ConstrainedCV, scored: ScoredSamples, constraint_events: ConstraintEvents
) -> GroupModel:
    """Fit models of the group in folds, and estimate the probabilities of the events by them."""
    training = scored.training
    features, probabilities = fit_event_features(
        scored.scorers.training,
        estimator.group_estimator,
        training,
        constraint_events,
        scored.folds,
        estimator.n_jobs,
    )
    if estimator.group_estimator != "sensitive_features":
        probabilities = scored.equal_rows.average(probabilities)
        warn_if_scores_alone(scored.scorers.training[0], safe_indexing(training.samples.X, [0]))
        # Probabilities of the groups, within the first subset.
        warn_if_groups_predictable(constraint_events, probabilities[:, :1].sum(axis=1))
    # New samples get the mean of the folds' models, or one model of all samples.
    if not estimator.ensemble:
        base = scored.scorers.new[0]
        features = features.refit_as_one_model(base, training, constraint_events)
    return GroupModel(features, probabilities)


def store_rule(
    estimator: ConstrainedCV,
    y: np.ndarray,
    scored: ScoredSamples,
    rule: Rule,
    outcome: dict[str, Any],
    report: dict[str, Any],
    status: str,
) -> None:
    """Store what predictions need, and what describes the fit, as `store_outcome`."""
    problem = rule.problem
    first = scored.per_class[0]
    is_unconstrained = compares_nothing(first, problem.constraint)
    if is_unconstrained:
        warn_of_one_group(first, problem.constraint)
    solution = solution_attributes(
        estimator, rule.guarantee, status, len(problem.lower), report, is_unconstrained
    )
    of_predictions = prediction_attributes(scored, rule.columns, rule.features)
    of_fit = {"n_iter_": rule.n_iter, "_fit_digests": scored.scorers.digests}
    store_outcome(estimator, y, scored, of_predictions | of_fit | outcome | solution)


def store_outcome(
    estimator: ConstrainedCV, y: TableLike, scored: ScoredSamples, outcome: dict[str, Any]
) -> None:
    """Store fitted attributes.

    Those whose name begins with "oof_" are of the samples of positive weight, others get nan.
    """
    for name in [name for name in outcome if name.startswith("oof_")]:
        scores = outcome[name]
        shape = outcome[name].shape[1:]
        outcome[name] = np.full((len(column_or_1d(y)), *shape), np.nan)
        outcome[name][scored.rows] = scores
    store_fit(estimator, outcome | fitted_feature_attributes(scored.scorers.new[0]))


def check_exportable(estimator: ConstrainedCV) -> None:
    """Raise if no rule describes the predictions."""
    check_is_fitted(estimator)
    n_classes = len(getattr(estimator, "classes_", ()))
    if n_classes > 2:
        raise ValueError(
            f"A rule describes the decision between 2 classes, but there are {n_classes}. Serve "
            "the fitted estimator itself."
        )


def _describe_by(
    scored: ScoredSamples, columns: ScoreColumns, features: EventFeatures
) -> Callable[[Evaluation], dict[str, Any]]:
    """Return the function that gives fitted attributes during the fit of the linear model."""
    return partial(_describe_iterate, prediction_attributes(scored, columns, features))


def _describe_iterate(attributes: dict[str, Any], evaluation: Evaluation) -> dict[str, Any]:
    """Return the fitted attributes of an iterate, by which predictions are made."""
    coef, intercept = evaluation.problem.model.coefficients(evaluation.parameters)
    return attributes | {"rule_coef_": np.array(coef), "rule_intercept_": intercept}


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
