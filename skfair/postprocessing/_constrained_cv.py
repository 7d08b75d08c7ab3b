"""Base of the estimators that keep constraints by a final linear model of out-of-fold scores."""

from abc import abstractmethod
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import get_config
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import check_cv
from sklearn.utils import column_or_1d, get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted

from skfair.fitting import (
    ConstraintReportMixin,
    FitProgressCallback,
    Subtask,
    compares_nothing,
    refuse_partitioned,
    solution_attributes,
    store_fit,
    warn_of_dependence,
    warn_of_one_group,
)
from skfair.groups import check_alignment, encode_groups_for_prediction
from skfair.postprocessing._events import (
    EventFeatures,
    EventModel,
    check_training_without_features,
    feature_attributes,
    fill_groups_by_class,
    find_events,
    fit_event_features,
    fit_plain_model,
    route_metadata,
    stratify,
    warn_if_groups_predictable,
    warn_if_scores_alone,
)
from skfair.postprocessing._feasibility import check_feasibility_and_fit
from skfair.postprocessing._group_models import MAX_NARROW_COLUMNS, ScreenedClassifier
from skfair.postprocessing._joint import (
    FoldModel,
    JointProbabilities,
    fit_joint_probabilities,
    suits_joint_probabilities,
)
from skfair.postprocessing._logistic import LogisticModel
from skfair.postprocessing._oof import (
    check_held_out,
    check_out_of_bag,
    cross_fit,
    estimator_noun,
    fit_rows,
    make_folds,
    mean_scores,
    warn_if_training_data,
)
from skfair.utils._api import MatrixLike
from skfair.utils._checks import warn
from skfair.utils._sklearn import (
    CallbackSupportMixin,
    check_method_params,
    count_samples,
    safe_indexing,
)

_N_FOLDS, _N_FOLDS_OF_LARGE, _LARGE = 5, 3, 10_000
"""Folds by default, those of many samples or columns, and the samples from which on they are many.
"""


class ConstrainedCV(ConstraintReportMixin, CallbackSupportMixin, MetaEstimatorMixin, BaseEstimator):
    """Base of the estimators that keep constraints by a final linear model of out-of-fold scores.

    A subclass has the parameters named below. Its ``fit`` calls `_fit`, which calls the abstract
    methods below: they make the problems of the final linear model, its columns and its objective,
    and describe its outcome.
    """

    _record_types = (
        *ConstraintReportMixin._record_types,
        EventFeatures,
        EventModel,
        FoldModel,
        JointProbabilities,
        LogisticModel,
        ScreenedClassifier,
    )

    __metadata_request__fit = {"sensitive_features": True, "groups": True}
    __metadata_request__predict = {"sensitive_features": True}

    @property
    @abstractmethod
    def _base(self):
        """The estimator that is wrapped."""

    @abstractmethod
    def _make_problems(self, training, constraints):
        """The problems of the final linear model, one per score, and their objective.

        The objective is the loss, and the weight of each sample's loss. Raise for unfit
        constraints.
        """

    @abstractmethod
    def _fit_score_columns(self, scores, problems):
        """Fitted attributes of the columns, and the column of each problem, (n_samples, n)."""

    @abstractmethod
    def _score_columns(self, scores):
        """The columns of new samples from their scores, (n_samples, n_problems)."""

    @abstractmethod
    def _outcome_attributes(self, features, problem, guarantee, problems, constraints):
        """Fitted attributes of the final linear model, its report, and its status.

        The name of the out-of-fold output, which has the training samples, begins with "oof_".
        """

    @abstractmethod
    def _warn_after_fit(self, problem, guarantee, training):
        """Warn of useless scores, a violated bound, an early stop, or a costly constraint."""

    def _fit(self, X, y, constraints, metadata, groups, X_fit, params):
        """Fit the estimator, the models of groups and the final linear model; return self.

        ``metadata`` has the sensitive features and sample weights, ``params`` further arguments of
        the estimator's ``fit``.
        """
        # Check the input; from here on, training data are the samples of positive weight.
        training, rows = self._check_input(X, y, metadata | {"groups": groups}, constraints)
        problems, objective = self._make_problems(training, constraints)
        check_held_out(self._base, self.cv, X, X_fit, rows)
        context = self._init_callback_context(max_subtasks=None)
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        fit_params, folds = self._route_and_split(X, y, training, rows, metadata, groups, params)
        # Score every sample by an estimator that was not fitted to it.
        estimators, scores = self._cross_fit(training, folds, fit_params, context)
        if X_fit is None:
            warn_if_training_data(self._base, self.cv, training.samples.X, training.labels, scores)
        # Samples whose group is missing count by their probability of each group.
        if training.samples.groups.is_partly_recorded:
            known = estimators, self.group_estimator
            fit_features = partial(fit_event_features, *known, n_jobs=self.n_jobs, folds=folds)
            training = fill_groups_by_class(training, fit_features, folds)
            problems, objective = self._make_problems(training, constraints)
        # New samples are scored by the estimators of the folds, or by one of all samples.
        final = estimators
        if not self.ensemble and len(estimators) > 1:
            data = training.samples.X, training.labels, fit_params, np.arange(len(training.labels))
            task = Subtask(self, context, f"{estimator_noun(self._base)} of all samples")
            final = [fit_rows(self._base, *data, task)]
        # Fit the final linear model, whose out-of-fold predictions keep the constraints.
        constraints = [] if training.lacks_groups else constraints
        with Subtask(self, context, "final linear model", max_subtasks=None) as step:
            rule, problem, guarantee = self._fit_rule(
                training, problems, objective, constraints, scores, (estimators, final), folds, step
            )
        # Store what predictions need, and what describes the fit; then warn.
        outcome, report, status = self._outcome_attributes(
            rule["_event_features"], problem, guarantee, problems, constraints
        )
        for name in [name for name in outcome if name.startswith("oof_")]:
            scores, shape = outcome[name], outcome[name].shape[1:]
            outcome[name] = np.full((len(column_or_1d(y)), *shape), np.nan)
            outcome[name][rows] = scores
        is_unconstrained = compares_nothing(problems[0], problem.constraint)
        if is_unconstrained:
            warn_of_one_group(problems[0], problem.constraint)
        solution = solution_attributes(
            self, guarantee, status, len(problem.lower), report, is_unconstrained
        )
        store_fit(self, rule | outcome | solution | feature_attributes(final[0]))
        self._warn_after_fit(problem, guarantee, training)
        context.call_on_fit_task_end(estimator=self, X=X, y=y)
        return self

    def _check_input(self, X, y, metadata, constraints):
        """Training data of positive weight, with the rows of X as they were passed; positions."""
        refuse_partitioned(self, X)
        request = f"constraint={self.constraint!r} compares groups"
        training, rows = check_training_without_features(
            self, X, y, metadata, request if constraints else None
        )
        if self.group_estimator == "sensitive_features" and not training.samples.groups.is_disjoint:
            raise ValueError(
                "group_estimator='sensitive_features' needs one group per sample, but the groups "
                "of a sparse sensitive_features may overlap; pass one label per sample."
            )
        (X,) = indexable(X)
        X = X if len(rows) == count_samples(X) else safe_indexing(X, rows)
        training = training._replace(samples=training.samples._replace(X=X))
        if self.confidence_level is not None:
            warn_of_dependence(training.samples.X, training)
        return training, rows

    def _route_and_split(self, X, y, training, rows, metadata, groups, params):
        """Parameters of the estimator's ``fit`` for the training samples, and folds of these."""
        fit_params, split_params = route_metadata(self, self._base, metadata, params)
        # Weights that reach the constraint but not the estimator deserve a warning.
        is_refitted = self.cv != "prefit" and not isinstance(self._base, FrozenEstimator)
        is_routed = get_config()["enable_metadata_routing"]
        has_weights = metadata["sample_weight"] is not None
        if is_refitted and not is_routed and has_weights and "sample_weight" not in fit_params:
            warn(
                f"The fit of {type(self._base).__name__} takes no sample_weight, so that weights "
                "count in the final linear model and its constraint alone. Turn on metadata "
                "routing to pass them through a pipeline: "
                "sklearn.set_config(enable_metadata_routing=True) and "
                "set_fit_request(sample_weight=True) of its last step."
            )
        check_out_of_bag(self.cv, groups)
        # Models of events are cross-fitted in folds even if the estimator itself is not.
        is_real, is_default = training.classes is None, self.cv is None or isinstance(self.cv, str)
        cv = _count_folds(X, is_real) if is_default else self.cv
        y = column_or_1d(y)
        strata = stratify(training, rows, len(y))
        folds = make_folds(cv, X, y, strata, split_params, groups, is_real=is_real)
        return check_method_params(y, fit_params, indices=rows), folds

    def _cross_fit(self, training, folds, fit_params, context):
        """Fit an estimator per fold; return these and the out-of-fold scores."""
        # "prefit" and "oob" fit the estimator once at most.
        cv, n_fits = (self.cv, None) if isinstance(self.cv, str) else (folds, len(folds))
        name = f"{estimator_noun(self._base)}s"
        with Subtask(self, context, name, max_subtasks=n_fits) as step:
            return cross_fit(
                self._base,
                training.samples.X,
                training.labels,
                cv,
                params=fit_params,
                n_jobs=self.n_jobs,
                subtask=step.subtask,
            )

    def _fit_rule(
        self, training, problems, objective, constraints, scores, estimators, folds, step
    ):
        """Fitted attributes of the rule, the problem of its linear model, and its guarantee.

        `estimators` are those that scored the samples, and those that score new ones.
        """
        unit = problems[0].unit
        attributes, columns = self._fit_score_columns(unit.to_unit(scores), problems)
        events = find_events(problems, constraints)
        events.check_folds(folds, training.samples.groups)
        # Scores alone, which no event moves.
        features = EventFeatures([], events.table[:, :0, :, :0], [], events.compares_scores)
        rule = attributes | {
            "estimators_": estimators[1],
            "groups_": training.samples.groups.summary,
            "_event_features": features,
            "_event_codes": np.argsort(training.samples.groups.ranks),
            "_unit": unit,
        }
        progress = FitProgressCallback(
            self, step.context, lambda e: rule | _coefficient_attributes(e), f"{step.name}, "
        )
        settings = objective, constraints, self.tolerance
        # Where decisions by the scores alone keep the bounds, no event is needed.
        of_scores = _replace_features(problems, features.features(columns, None))
        solution = fit_plain_model(of_scores, *settings, self.confidence_level, progress)
        if solution is None:
            features, problems, chances = self._fit_features(
                training, problems, constraints, columns, events, estimators, folds
            )
            rule["_event_features"] = features
            solution = check_feasibility_and_fit(
                features, (problems, *settings, progress), chances, self.confidence_level
            )
        return rule | {"n_iter_": progress.n_iter}, *solution

    def _fit_features(self, training, problems, constraints, columns, events, estimators, folds):
        """Features of events, problems with these as X, and `group_class_probabilities`."""
        scoring, final = estimators
        # Out-of-fold probabilities of the events that the constraints compare.
        if suits_joint_probabilities(self, problems, events, constraints):
            features, columns, probabilities = fit_joint_probabilities(
                scoring, training, columns, events, folds, self.n_jobs
            )
        else:
            features, probabilities = fit_event_features(
                scoring, self.group_estimator, training, events, folds, self.n_jobs
            )
        if self.group_estimator != "sensitive_features":
            warn_if_scores_alone(scoring[0], safe_indexing(training.samples.X, [0]))
            warn_if_groups_predictable(events, features.group_probabilities(probabilities))
        # New samples get the mean of the folds' models, or one model of all samples.
        if not self.ensemble:
            features = features.refit_as_one_model(final[0], training, events)
        chances = features.group_class_probabilities(columns, probabilities)
        of_events = features.features(columns, probabilities)
        return features, _replace_features(problems, of_events), chances

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
            for the others. Where joint probabilities are estimated (see Notes of
            `ConstrainedClassifierCV`), those of each group with the negative class, and with the
            positive one.

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

    def get_metadata_routing(self) -> Any:
        """Routing of metadata: to this estimator, the wrapped one's ``fit`` and the splitter.

        Returns
        -------
        routing : MetadataRouter
        """
        router = MetadataRouter(owner=self).add_self_request(self)
        to_fit = MethodMapping().add(caller="fit", callee="fit")
        router.add(estimator=self._base, method_mapping=to_fit)
        # A number of folds takes no metadata; any splitter stands for it here.
        splitter = self.cv if hasattr(self.cv, "split") else check_cv()
        to_split = MethodMapping().add(caller="fit", callee="split")
        return router.add(splitter=splitter, method_mapping=to_split)

    def __sklearn_tags__(self):
        tags, base_tags = super().__sklearn_tags__(), get_tags(self._base)
        tags.input_tags.sparse = base_tags.input_tags.sparse
        tags.input_tags.allow_nan = base_tags.input_tags.allow_nan
        return tags

    def _columns_and_scores(self, X, sensitive_features):
        """Columns of the scores, and scores of the final linear model, (n_samples, n_problems)."""
        check_is_fitted(self)
        check_alignment(X=X, sensitive_features=sensitive_features)
        scores = mean_scores(self.estimators_, X)
        columns, probabilities = self._columns_and_probabilities(scores, X, sensitive_features)
        features = self._event_features.features(columns, probabilities)
        coef = np.atleast_2d(self.coef_)
        return columns, np.einsum("cir,cr->ic", features, coef) + self.intercept_

    def _columns_and_probabilities(self, scores, X, sensitive_features):
        """Columns of the scores, (n_samples, n_problems), and probabilities of events."""
        columns = self._score_columns(self._unit.to_unit(scores))
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
        return self._event_features.columns_and_probabilities(columns, X, codes)


def check_exportable(estimator):
    """Raise if no rule describes the predictions."""
    check_is_fitted(estimator)
    n_classes = len(getattr(estimator, "classes_", ()))
    if n_classes > 2:
        raise ValueError(
            f"A rule describes the decision between 2 classes, but there are {n_classes}. Serve "
            "the fitted estimator itself."
        )


def _count_folds(X, is_real):
    """Number of folds by default: fewer for classes of many samples or columns."""
    # Two thirds of many samples are enough, and wide data take long.
    shape = (count_samples(X), *getattr(X, "shape", ())[1:])
    is_wide = not sparse.issparse(X) and len(shape) == 2 and shape[1] > MAX_NARROW_COLUMNS
    is_large = not is_real and (is_wide or shape[0] >= _LARGE)
    return _N_FOLDS_OF_LARGE if is_large else _N_FOLDS


def _replace_features(problems, features):
    """The problems with their features as X, (n_problems, n_samples, n_features)."""
    return [problem._replace(X=one) for problem, one in zip(problems, features, strict=True)]


def _coefficient_attributes(evaluation):
    """Fitted attributes of a linear model during its fit."""
    coef, intercept = evaluation.problem.model.coefficients(evaluation.parameters)
    return {"coef_": np.array(coef), "intercept_": intercept}
