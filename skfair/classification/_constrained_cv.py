"""Any classifier, with decisions that satisfy fairness constraints out of sample."""

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import check_cv
from sklearn.utils import column_or_1d, get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted

from skfair.constraints import CONSTRAINTS, MIN_GROUP_SIZES, Constraint, sum_moments
from skfair.groups import check_alignment, encode_groups_to_predict
from skfair.partitions import row_by_row
from skfair.postprocessing import (
    CV_CONSTRAINTS,
    EventFeatures,
    EventModel,
    FoldModel,
    JointProbabilities,
    calibrate,
    calibrated_log_odds,
    check_held_out,
    check_out_of_bag,
    check_several_classes,
    check_training_positions,
    cross_fit,
    feature_attributes,
    find_events,
    fit_event_features,
    fit_joint,
    fit_rows,
    make_folds,
    make_predicted_class_likeliest,
    match_decisions,
    mean_scores,
    route_metadata,
    stratify,
    suits_joint,
    warn_if_groups_predictable,
    warn_of_memorized,
)
from skfair.training import (
    CONFIDENCE_LEVELS,
    FitProgress,
    GroupScoreMixin,
    Storable,
    Subtask,
    compares_nothing,
    document,
    guarantee_attributes,
    label_positive,
    refuse_partitioned,
    resolve_constraints,
    status_of,
    store_fit,
    unconstrained_attributes,
    warn_of_cost,
    warn_of_dependence,
    warn_of_one_group,
    warn_of_outcome,
    warn_of_rare_decisions,
)
from skfair.utils._api import Label, MatrixLike
from skfair.utils._checks import warn
from skfair.utils._fit import restore_on_failure
from skfair.utils._sklearn import (
    CallbackSupportMixin,
    HasMethods,
    Interval,
    StrOptions,
    check_method_params,
    safe_indexing,
    validate_params,
    with_callbacks,
)

_N_FOLDS = 5


@document
class ConstrainedClassifierCV(
    Storable,
    CallbackSupportMixin,
    GroupScoreMixin,
    ClassifierMixin,
    MetaEstimatorMixin,
    BaseEstimator,
):
    r"""Any classifier, with decisions that satisfy fairness constraints out of sample.

    Among all decisions that do not use the group, the best ones under constraints on rates of
    groups compare :math:`\eta(x) = P(y = 1 \mid x)` with a threshold which depends on x through the
    probabilities of the groups alone [1]_ [2]_. So the classifier is left as it is, and a linear
    model of few features is trained under the constraints on top of it: the log-odds of
    :math:`\eta` and, for every group g that is compared within an event E,

    .. math::

        \phi_g(x) = \frac{P(E, g \mid x)}{P(E, g)}
        - \frac{P(E, g_0 \mid x)}{P(E, g_0)},
        \qquad P(E, g \mid x) = P(g \mid x, E) \, P(E \mid x),

    with :math:`g_0` the largest group and :math:`P(E \mid x)` one if E has all samples,
    :math:`\eta(x)` for the positive class, :math:`1 - \eta(x)` for the negative one. With more than
    two classes each has such a one-vs-rest model, the class of the largest score is predicted, and
    the constraints hold for each of them [3]_. The final linear model is trained on out-of-fold
    scores and probabilities, so that what holds for the training data holds for new data too, up to
    sampling noise.

    Parameters
    ----------
    estimator : estimator, default=None
        Classifier with ``decision_function`` or ``predict_proba``, a pipeline or a search. Clones
        of it are fitted, unless it is in a `~sklearn.frozen.FrozenEstimator`; then ``fit`` needs
        samples that it was not fitted to. None means
        `~sklearn.ensemble.HistGradientBoostingClassifier`.
    constraint : str, Constraint, list of these, or None, default="demographic_parity"
        What must be fair: a name in :data:`skfair.constraints.CONSTRAINTS`, an object, or several,
        each held to its own tolerance. None only calibrates the classifier.
    {tolerance}
    confidence_level : float between 0 and 1, or None, default=None
        Level of a guarantee that the population keeps the tolerance too, as in
        `ConstrainedERMClassifier`: the final linear model is then held to a smaller one. Samples
        must be independent: where several belong to one person or household, pass ``groups``.
    {min_group_size}
        A constraint's own ``min_group_size`` takes precedence. With
        ``group_estimator="sensitive_features"`` the decisions about their samples are not moved.
    group_estimator : estimator, "sensitive_features" or None, default=None
        Classifier with ``predict_proba`` that estimates the group, from the features of the
        estimator's final step; it should not overfit. None means 15 trees of 4 leaves or logistic
        regression, whichever has the lower log-loss out of fold; sparse data always has the
        latter. Up to 10,000 samples of two classes None estimates group and class together, see
        Notes. "sensitive_features" estimates nothing: the features are the groups themselves, and
        predictions need the group of every sample.
    cv : int, splitter, iterable, "prefit", "oob" or None, default=None
        How samples are divided, so that each is scored by models that were not fitted to it: an int
        or None (5 folds) stratifies by class and group; any splitter whose test folds are a
        partition, and whose training rows exclude the test rows. "oob" fits one forest, and takes
        its out-of-bag probabilities; in a pipeline, its preprocessing must not use y, as it is
        fitted to all samples. "prefit" takes a fitted classifier as it is, and so does a
        `~sklearn.frozen.FrozenEstimator` with any ``cv``. The samples must then be others than
        those that it was fitted to. ``fit(..., X_fit=)`` checks it; without X_fit a warning says
        so where the classifier shows it (trees, stored samples, no mistake), which not all do. The
        models of groups always use folds: 5 with "prefit" and "oob".
    ensemble : bool, default=True
        Whether new samples get the mean of the folds' models, or one model of all samples.
    {pos_label}
        With more than two classes there is none.
    n_jobs : int or None, default=None
        Number of folds that are fitted in parallel.
    verbose : int, default=0
        If positive, print the classifiers that are fitted, by fold, and every iteration of the
        problems that are solved for the final linear model.

    Attributes
    ----------
    estimators_ : list of estimators
        The fitted classifiers: one per fold, or only one.
    classes_ : ndarray of shape (n_classes,)
        Labels of the classes, ascending.
    pos_label_ : label or None
        The positive class; None where there are more than two.
    calibration_ : ndarray of shape (2,) or (n_classes, 2)
        Slope and intercept of the log-odds of the positive class, by the scores of the estimator;
        of each of more than two classes.
    coef_ : ndarray of shape (1 + n_columns,) or (n_classes, 1 + n_columns)
        Coefficients of the log-odds and of the features :math:`\phi`; where ranks or losses
        are compared, also of these times the log-odds. With joint probabilities (Notes), of shape
        (2 * n_groups - 1,), coefficients of these without the first.
    intercept_ : float or ndarray of shape (n_classes,)
        Intercept.
    oof_scores_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        Out-of-fold ``decision_function`` of the training samples; nan for those without weight.
    constraint_report_ : DataFrame
        One row per rate of the decisions by ``oof_scores_``, an estimate of the rates on new data:
        constraint, cell, group, number n of samples, threshold, rate and standard error, and gap
        and tolerance of the constraint; first the class, where there are more than two.
    constraint_violation_ : float
        Largest excess of a gap over its tolerance, by ``oof_scores_``; 0 when all are kept, nan
        without groups.
    multipliers_ : ndarray of shape (n_rows,)
        Multipliers of the constraint's rows: the decrease of the objective per unit of tolerance.
        With joint probabilities the objective is twice the expected share of wrong decisions.
    {guarantee_probability_, tightened_tolerances_, guaranteed_tolerances_}
    status_ : {"optimal", "feasible", "max_iter", "uncertain", "infeasible", "unconstrained"}
        As in `ConstrainedERMClassifier`, for the final linear model; those of more than two classes
        are never certified to be optimal.
    n_iter_ : int
        Iterations of the solver, in all linear models that were tried.
    {groups_}
    n_features_in_ : int
        Number of features seen during fit, if the estimator knows it.
    feature_names_in_ : ndarray of str
        Names of features seen during fit, if the estimator knows them.

    See Also
    --------
    ConstrainedERMClassifier : A linear model, whose coefficients are trained under constraints.
    sklearn.calibration.CalibratedClassifierCV : Probabilities alone.
    sklearn.model_selection.TunedThresholdClassifierCV : One threshold alone.

    Notes
    -----
    On new data gaps vary around those of ``constraint_report_``. The mean of the folds' models is a
    little better than each, so that rates may differ a little from those by ``oof_scores_``.

    Up to 10,000 samples of two classes, without ``group_estimator`` and ``confidence_level``, and
    for constraints on rates of decisions in groups or in their classes, the joint probabilities
    :math:`J_{gy}(x) = P(g, y \mid x)` are estimated by a multinomial logistic regression of the
    log-odds and of a small model of g and y, or of g alone. The decisions that keep the bounds in
    expectation with the fewest expected errors are linear in J [4]_. They are corrected until the
    counted decisions keep the bounds. The slope of ``calibration_`` is then that before this
    regression.

    Metadata is routed to the ``fit`` of the estimator and to the splitter. ``sample_weight``
    reaches the estimator if its ``fit`` takes it; through a pipeline it has to be routed.

    References
    ----------
    .. [1] A. Menon and R. Williamson, "The cost of fairness in binary classification", FAT* 2018.
    .. [2] X. Zeng, E. Dobriban and G. Cheng, "Bayes-optimal classifiers under group fairness",
       arXiv:2202.09724, 2022.
    .. [3] C. Denis, R. Elie, M. Hebiri and F. Hu, "Fairness guarantees in multi-class
       classification with demographic parity", Journal of Machine Learning Research 25, 2024.
    .. [4] R. Xian and H. Zhao, "A unified post-processing framework for group fairness in
       classification", arXiv:2405.04025, 2024.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from skfair.classification import ConstrainedClassifierCV
    >>> from skfair.metrics import demographic_parity_difference
    >>> rng = np.random.default_rng(0)
    >>> sex = rng.integers(2, size=1000)
    >>> X = rng.normal(size=(1000, 3)) + sex[:, np.newaxis]
    >>> y = X.sum(axis=1) + rng.normal(size=1000) > 1.5
    >>> forest = RandomForestClassifier(n_estimators=50, random_state=0)
    >>> model = ConstrainedClassifierCV(forest, tolerance=0.05, cv="oob")
    >>> model = model.fit(X, y, sensitive_features=sex)
    >>> gap = demographic_parity_difference(y, model.oof_scores_ > 0, sensitive_features=sex)
    >>> bool(gap <= 0.05)
    True
    >>> model.predict(X[:2]).shape
    (2,)
    """

    _record_types = (
        *Storable._record_types,
        EventFeatures,
        EventModel,
        FoldModel,
        JointProbabilities,
    )

    __metadata_request__fit = {"sensitive_features": True, "groups": True}
    __metadata_request__predict = {"sensitive_features": True}
    __metadata_request__decision_function = {"sensitive_features": True}
    __metadata_request__predict_proba = {"sensitive_features": True}

    _parameter_constraints = {
        "estimator": [
            HasMethods(["fit", "predict_proba"]),
            HasMethods(["fit", "decision_function"]),
            None,
        ],
        "constraint": [StrOptions(CONSTRAINTS), Constraint, list, tuple, None],
        "tolerance": [Interval(Real, 0, None, closed="left")],
        "confidence_level": CONFIDENCE_LEVELS,
        "min_group_size": MIN_GROUP_SIZES,
        "group_estimator": [
            HasMethods(["fit", "predict_proba"]),
            StrOptions({"sensitive_features"}),
            None,
        ],
        "cv": [*CV_CONSTRAINTS, None],
        "ensemble": ["boolean"],
        "pos_label": [Real, str, "boolean", None],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        constraint: str | Constraint | list | None = "demographic_parity",
        *,
        tolerance: float = 0.02,
        confidence_level: float | None = None,
        min_group_size: int | Literal["auto"] = "auto",
        group_estimator: BaseEstimator | Literal["sensitive_features"] | None = None,
        cv: Any = None,
        ensemble: bool = True,
        pos_label: Label | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.estimator = estimator
        self.constraint = constraint
        self.tolerance = tolerance
        self.confidence_level = confidence_level
        self.min_group_size = min_group_size
        self.group_estimator = group_estimator
        self.cv = cv
        self.ensemble = ensemble
        self.pos_label = pos_label
        self.n_jobs = n_jobs
        self.verbose = verbose

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
        **params: Any,
    ) -> Self:
        """Fit the classifier, the models of groups, and the final linear model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Whatever the classifier takes.
        y : array-like of shape (n_samples,)
            Classes, by labels of any kind; more than two only if the classifier takes them.
        {sensitive_features}
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights, in the rates, and in all fits that take them; samples of weight 0
            count as absent.
        groups : array-like of shape (n_samples,), default=None
            Samples of equal value belong together, and are in one fold; standard errors with
            ``confidence_level`` allow for their correlation, as in
            :meth:`ConstrainedERMClassifier.fit`.
        {X_fit}
        **params : dict
            Further arguments of the classifier's ``fit``; with metadata routing, of all that
            request them.

        Returns
        -------
        self : ConstrainedClassifierCV
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter or the data is invalid, a fold leaves no sample of a class or group
            to learn from, or most rows of X are in `X_fit`; the message says what must hold.
        """
        validate_params(self)
        constraints = resolve_constraints(self.constraint)
        metadata = {"sensitive_features": sensitive_features, "sample_weight": sample_weight}
        # Check the input; from here on, training data are the samples of positive weight.
        training, rows = self._check(X, y, metadata | {"groups": groups}, constraints)
        check_held_out(self._base, self.cv, X, X_fit, rows)
        context = self._init_callback_context(max_subtasks=None)
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        fit_params, folds = self._split(X, y, training, rows, metadata, groups, params)
        # Score every sample by a classifier that was not fitted to it.
        estimators, scores = self._cross_fit(training, folds, fit_params, context)
        if X_fit is None:
            warn_of_memorized(self._base, self.cv, training.samples.X, training.labels, scores)
        # Features of the final model: calibrated log-odds, and probabilities of the constraints'
        # events.
        rule, problems = self._fit_features(
            training, constraints, estimators, scores, folds, fit_params, context
        )
        # Fit the final linear model, whose out-of-fold decisions keep the constraints.
        with Subtask(self, context, "final linear model", max_subtasks=None) as step:
            progress = FitProgress(self, step.context, lambda e: rule | _coefficients(e), step.name)
            constraints = [] if training.lacks_groups else constraints
            problem, guarantee = rule["_event_features"].fit_rule(
                problems, constraints, self.tolerance, self.confidence_level, progress
            )
        # Store what predictions need, and what describes the fit; then warn.
        outcome = self._outcome(rule["_event_features"], problem, guarantee, problems, constraints)
        outcome["oof_scores_"] = _scatter(outcome["oof_scores_"], rows, len(column_or_1d(y)))
        known = feature_attributes(rule["estimators_"][0])
        store_fit(self, rule | outcome | known | {"n_iter_": progress.n_iter})
        self._warn(problem, guarantee)
        context.call_on_fit_task_end(estimator=self, X=X, y=y)
        return self

    def _check(self, X, y, metadata, constraints):
        """Training data of positive weight, with the rows of X as they were passed; positions."""
        refuse_partitioned(self, X)
        request = f"constraint={self.constraint!r} asks for equal rates of groups"
        training, rows = check_training_positions(
            self, X, y, metadata, request if constraints else None
        )
        if self.group_estimator == "sensitive_features" and not training.samples.groups.is_disjoint:
            raise ValueError(
                "group_estimator='sensitive_features' needs one group per sample, but the groups "
                "of a sparse sensitive_features may overlap; pass one label per sample."
            )
        (X,) = indexable(X)
        training = training._replace(samples=training.samples._replace(X=safe_indexing(X, rows)))
        check_several_classes(training.one_vs_rest(), constraints, self.confidence_level)
        if self.confidence_level is not None:
            warn_of_dependence(training.samples.X, training)
        return training, rows

    def _split(self, X, y, training, rows, metadata, groups, params):
        """Parameters of the classifier's ``fit`` for the training samples, and folds of these."""
        fit_params, split_params = route_metadata(self, self._base, metadata, params)
        # Weights that reach the rates but not the classifier deserve a warning.
        is_refitted = self.cv != "prefit" and not isinstance(self._base, FrozenEstimator)
        is_routed = get_config()["enable_metadata_routing"]
        has_weights = metadata["sample_weight"] is not None
        if is_refitted and not is_routed and has_weights and "sample_weight" not in fit_params:
            warn(
                f"The fit of {type(self._base).__name__} takes no sample_weight, so that weights "
                "count in the rates alone. Turn on metadata routing to pass them through a "
                "pipeline: sklearn.set_config(enable_metadata_routing=True) and "
                "set_fit_request(sample_weight=True) of its last step."
            )
        check_out_of_bag(self.cv, groups)
        # Models of events are cross-fitted in folds even if the classifier itself is not.
        cv = _N_FOLDS if self.cv is None or isinstance(self.cv, str) else self.cv
        y = column_or_1d(y)
        folds = make_folds(cv, X, y, stratify(training, rows, len(y)), split_params, groups)
        return check_method_params(y, fit_params, indices=rows), folds

    def _cross_fit(self, training, folds, fit_params, context):
        """Fit a classifier per fold; return these and the out-of-fold scores."""
        # "prefit" and "oob" fit the classifier once at most.
        cv, n_fits = (self.cv, None) if isinstance(self.cv, str) else (folds, len(folds))
        with Subtask(self, context, "classifiers", max_subtasks=n_fits) as step:
            return cross_fit(
                self._base,
                training.samples.X,
                training.labels,
                cv,
                params=fit_params,
                n_jobs=self.n_jobs,
                subtask=step.subtask,
            )

    def _fit_features(self, training, constraints, estimators, scores, folds, fit_params, context):
        """Fitted attributes of the features, and the one-vs-rest problems that have them as X."""
        problems, scores = training.one_vs_rest(), training.unit.to_unit(scores)

        # Platt scaling of the out-of-fold scores, class by class.
        calibration = [
            calibrate(column, problem) for column, problem in zip(scores.T, problems, strict=True)
        ]
        odds = calibrated_log_odds(scores, calibration)

        # Out-of-fold probabilities of the events that the constraints compare.
        events = find_events(problems, constraints)
        events.check_folds(folds, training.samples.groups)
        is_default = self.group_estimator is None and self.confidence_level is None
        if is_default and suits_joint(problems, events, constraints):
            features, odds, probabilities = fit_joint(
                estimators, training, odds, events, folds, self.n_jobs
            )
        else:
            features, probabilities = fit_event_features(
                estimators, self.group_estimator, training, events, folds, self.n_jobs
            )
        if self.group_estimator != "sensitive_features":
            warn_if_groups_predictable(events, features.group_probabilities(probabilities))

        # New samples get the mean of the folds' models, or one model of all samples.
        if not self.ensemble:
            if len(estimators) > 1:
                all_rows = np.arange(len(training.samples.target))
                data = training.samples.X, training.labels, fit_params, all_rows
                task = Subtask(self, context, "classifier of all samples")
                estimators = [fit_rows(self._base, *data, task)]
            features = features.refit(estimators[0], training, events)
        columns = features.features(odds, probabilities)
        problems = [
            problem._replace(X=column) for problem, column in zip(problems, columns, strict=True)
        ]
        rule = {
            "estimators_": estimators,
            "calibration_": np.squeeze(calibration),
            "classes_": training.classes,
            "pos_label_": training.pos_label,
            "groups_": training.samples.groups.summary,
            "_event_features": features,
            "_event_codes": np.argsort(training.samples.groups.ranks),
            "_unit": training.unit,
        }
        return rule, problems

    def _outcome(self, features, problem, guarantee, problems, constraints):
        """Fitted attributes of the final linear model, or of those of several classes."""
        unit, candidate = problems[0].unit, guarantee.candidate
        coef, intercept = problem.model.coefficients(candidate.parameters)
        report = problem.constraint.report(candidate.scores)
        status = status_of(candidate, "auto")
        if len(problems) > 1:
            scores = problem.model.class_scores(candidate.parameters)
            labels = [one.pos_label for one in problems for _ in constraints]
            sizes = [len(sum_moments(one, candidate.scores)[-1]) for one in problem.constraint]
            report.insert(0, "class", np.repeat(labels, sizes))
            # No solver certifies the scores of several classes.
            status = "feasible" if candidate.keeps_bound else status
        else:
            scale = features.scale(coef)
            coef, intercept = coef * scale, float(intercept * scale)
            scores = unit.from_unit(candidate.scores * scale)
            report["threshold"] = unit.from_unit(report["threshold"])
        outcome = {
            "coef_": np.array(coef),
            "intercept_": intercept,
            "oof_scores_": scores,
            "multipliers_": candidate.result.multipliers,
            "constraint_violation_": candidate.violation,
            "constraint_report_": report,
        }
        outcome |= guarantee_attributes(self, guarantee, status)
        if compares_nothing(problems[0], problem.constraint):
            warn_of_one_group(problems[0], problem.constraint)
            outcome |= unconstrained_attributes(report)
        return outcome

    def _warn(self, problem, guarantee):
        """Warn of useless scores, and of what `warn_of_outcome` and `warn_of_cost` find."""
        # A slope of 0 or less: higher scores do not mean more of the class.
        if (np.atleast_2d(self.calibration_)[:, 0] <= 0).all():
            label = "any class" if self.pos_label_ is None else f"the class {self.pos_label_}"
            warn(
                f"The out-of-fold scores of {type(self._base).__name__} do not predict {label}: "
                "decisions by them are no better than chance. Pass another estimator, or more data."
            )
        if len(self.classes_) > 2:  # the searches end the fit, whatever the solver's status
            result = replace(guarantee.candidate.result, status="optimal")
            guarantee = guarantee._replace(candidate=guarantee.candidate._replace(result=result))
        warn_of_outcome(self, problem.constraint, guarantee)
        if len(problem.constraint):
            parameters = guarantee.candidate.parameters
            plain = self._event_features.plain_parameters(problem.model)
            warn_of_cost(problem, parameters, plain)
            if self.confidence_level is not None:
                scores = map(problem.predict_scores, (parameters, plain))
                warn_of_rare_decisions(problem.mean_weights, *scores)

    @row_by_row(lambda self: np.empty((0, len(self.classes_)) if len(self.classes_) > 2 else 0))
    def decision_function(
        self, X: MatrixLike, *, sensitive_features: MatrixLike | None = None
    ) -> np.ndarray:
        """Score of each row; above 0 predicts the second of two classes, else the largest decides.

        Where constraints count decisions between two classes, it is the log-odds less those of the
        sample's threshold; with joint probabilities, twice the probability less the threshold.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Whatever the classifier takes.
        sensitive_features : array-like, default=None
            Group of each sample; needed with ``group_estimator="sensitive_features"``, else not
            used.

        Returns
        -------
        scores : ndarray of shape (n_samples,), or (n_samples, n_classes) for more than two classes
        """
        scores = self._scores(X, sensitive_features)[1]
        return scores if scores.shape[1] > 1 else self._unit.from_unit(scores[:, 0])

    @row_by_row(lambda self: self.classes_[:0])
    def predict(self, X: MatrixLike, *, sensitive_features: MatrixLike | None = None) -> np.ndarray:
        """Class of each row; with ``group_estimator="sensitive_features"`` it depends on the group.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Whatever the classifier takes.
        sensitive_features : array-like, default=None
            Group of each sample; needed with ``group_estimator="sensitive_features"``, else not
            used.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        scores = self._scores(X, sensitive_features)[1]
        if len(self.classes_) > 2:
            return self.classes_[scores.argmax(axis=1)]
        return label_positive(scores[:, 0] > 0, self.classes_, self.pos_label_)

    @row_by_row(lambda self: np.empty((0, len(self.classes_))))
    def predict_proba(
        self, X: MatrixLike, *, sensitive_features: MatrixLike | None = None
    ) -> np.ndarray:
        r"""Calibrated probabilities of the classes, changed as little as the decision requires.

        A decision between two classes means that :math:`\eta(x)` is above a threshold t(x). The
        probability is :math:`\eta`, stretched on both sides of t such that t becomes 1/2. With more
        classes the predicted one, and those that are likelier, get the mean of their probabilities.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Whatever the classifier takes.
        sensitive_features : array-like, default=None
            Group of each sample; needed with ``group_estimator="sensitive_features"``, else not
            used.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        odds, scores = self._scores(X, sensitive_features)
        if len(self.classes_) > 2:
            return make_predicted_class_likeliest(expit(odds), scores.argmax(axis=1))
        # Two classes: stretch the probability such that the sample's threshold is at 1/2.
        odds, scores = odds[:, 0], scores[:, 0]
        thresholds = self._event_features.thresholds(odds, scores, self.coef_)
        success = match_decisions(expit(odds), thresholds, scores)
        pair = np.column_stack((1.0 - success, success))
        return pair if self.pos_label_ == self.classes_[1] else pair[:, ::-1]

    def export_rule(self) -> dict:
        r"""Describe the decision between two classes in plain numbers, to serve it elsewhere.

        With s the score of the estimator, and P the probabilities of events, both as
        `rule_inputs` returns them, the positive class is predicted where

        .. math::

            a z + b + \sum_{t, e, g} w_{teg} \, q_t P_{eg} > 0, \qquad
            z = slope \cdot s + offset, \quad \eta = \frac{1}{1 + e^{-z}}, \quad
            q = (1, \eta, z, \eta z).

        Returns
        -------
        rule : dict
            Numbers and lists, which can be stored as JSON. ``slope`` and ``offset`` map scores to
            calibrated log-odds z, ``log_odds`` is a, ``intercept`` is b, ``weights`` is w of shape
            (4, n_events, n_groups), and ``pos_label`` the positive class.

        Raises
        ------
        ValueError
            If there are more than two classes.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.linear_model import LogisticRegression
        >>> from skfair.classification import ConstrainedClassifierCV
        >>> rng = np.random.default_rng(0)
        >>> sex = rng.integers(2, size=400)
        >>> X = rng.normal(size=(400, 2)) + sex[:, np.newaxis]
        >>> y = (X.sum(axis=1) + rng.normal(size=400) > 1).astype(int)
        >>> model = ConstrainedClassifierCV(LogisticRegression(), tolerance=0.05)
        >>> rule = model.fit(X, y, sensitive_features=sex).export_rule()
        >>> sorted(rule)
        ['intercept', 'log_odds', 'offset', 'pos_label', 'slope', 'weights']
        """
        self._check_two_classes()
        # Calibration applies to scores in units of their spread: undo this for raw scores.
        slope = self.calibration_[0] / self._unit.spread
        log_odds, weights = self._event_features.weights(self.coef_)
        return {
            "slope": float(slope),
            "offset": float(self.calibration_[1] - slope * self._unit.center),
            "log_odds": log_odds,
            "intercept": float(self.intercept_),
            "weights": weights.tolist(),
            "pos_label": np.asarray(self.pos_label_).item(),
        }

    def rule_inputs(
        self, X: MatrixLike, *, sensitive_features: MatrixLike | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Inputs of the rule of `export_rule`: scores, and probabilities of events.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Whatever the classifier takes.
        sensitive_features : array-like, default=None
            Group of each sample; needed with ``group_estimator="sensitive_features"``, else not
            used.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Mean of the decision functions of ``estimators_``, or of their log-odds where they have
            probabilities only, softened as log(p / (1 - p)) with p = .001 + .998 times these.
        probabilities : ndarray of shape (n_samples, n_events, n_groups)
            Probability of each group within each event that the constraints compare, by the models
            of groups; with ``group_estimator="sensitive_features"`` 1 for the sample's group, and 0
            for the others. Where joint probabilities are estimated (see Notes of the class), those
            of each group with the negative class, and with the positive one.

        Raises
        ------
        ValueError
            If there are more than two classes, or groups are needed and were not passed.
        """
        self._check_two_classes()
        check_alignment(X=X, sensitive_features=sensitive_features)
        scores = mean_scores(self.estimators_, X)
        probabilities = self._inputs(scores, X, sensitive_features)[1]
        if probabilities is None:
            probabilities = np.zeros((len(scores), 1, 1))
        return scores[:, 0], probabilities

    def get_metadata_routing(self) -> Any:
        """Routing of metadata: to this estimator, the classifier's ``fit`` and the splitter.

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
        tags.classifier_tags.multi_class = base_tags.classifier_tags.multi_class
        tags.input_tags.sparse = base_tags.input_tags.sparse
        tags.input_tags.allow_nan = base_tags.input_tags.allow_nan
        return tags

    @property
    def _base(self):
        """The classifier that is wrapped."""
        if self.estimator is not None:
            return self.estimator
        return HistGradientBoostingClassifier(random_state=0)

    def _check_two_classes(self):
        """Raise rather than export the decision for one of several classes."""
        check_is_fitted(self)
        if len(self.classes_) > 2:
            raise ValueError(
                f"A rule describes the decision between 2 classes, but there are "
                f"{len(self.classes_)}. Serve the fitted estimator itself."
            )

    def _scores(self, X, sensitive_features):
        """Log-odds and scores of the positive class or of each of several, (n_samples, n)."""
        check_is_fitted(self)
        check_alignment(X=X, sensitive_features=sensitive_features)
        odds, probabilities = self._inputs(mean_scores(self.estimators_, X), X, sensitive_features)
        features = self._event_features.features(odds, probabilities)
        coef = np.atleast_2d(self.coef_)
        return odds, np.einsum("cir,cr->ic", features, coef) + self.intercept_

    def _inputs(self, scores, X, sensitive_features):
        """Log-odds, (n_samples, n), and probabilities of events, from scores as they come."""
        odds = calibrated_log_odds(self._unit.to_unit(scores), self.calibration_)
        codes = self._codes(sensitive_features, len(odds))
        return self._event_features.inputs(odds, X, codes)

    def _codes(self, sensitive_features, n_samples):
        """Code of each row's group in the features, where it is used."""
        if self.group_estimator != "sensitive_features":
            return None
        reason = (
            "With group_estimator='sensitive_features' decisions depend on the group, so "
            "predictions need sensitive_features: with group_estimator=None the group is "
            "estimated from X."
        )
        groups = encode_groups_to_predict(sensitive_features, n_samples, self.groups_, reason)
        return self._event_codes[groups]


def _coefficients(evaluation):
    """Fitted attributes of a linear model during its fit."""
    coef, intercept = evaluation.problem.model.coefficients(evaluation.parameters)
    return {"coef_": np.array(coef), "intercept_": intercept}


def _scatter(scores, rows, n_samples):
    """Scores of some rows among all samples, nan for the others."""
    scattered = np.full((n_samples, *scores.shape[1:]), np.nan)
    scattered[rows] = scores
    return scattered
