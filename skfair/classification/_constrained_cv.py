"""Any classifier, with decisions that keep fairness constraints on people it has not seen."""

from dataclasses import replace
from numbers import Integral, Real

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from skfair.classification._column_classifier import (
    ColumnClassifier,
    known_features,
    of_everybody,
)
from skfair.classification._event_columns import check_decisions, check_folds_know, events_of
from skfair.classification._event_model import (
    ColumnMaker,
    EventModel,
    say_if_told,
    unseen_probabilities,
)
from skfair.classification._probabilities import calibrate, log_odds
from skfair.constraints import CONSTRAINTS, MIN_GROUP_SIZES, Constraint
from skfair.training import (
    CONFIDENCE_LEVELS,
    CV_CONSTRAINTS,
    FitProgress,
    Subtask,
    check_held_out,
    constraints_of,
    cross_fit,
    fit_head,
    fit_rows,
    promised,
    status_of,
    store_fit,
    unconstrained,
    warn_of_cost,
    warn_of_outcome,
)
from skfair.utils._fit import restore_on_failure
from skfair.utils._messages import warn
from skfair.utils._sklearn import HasMethods, Interval, StrOptions, validate_params, with_callbacks


class ConstrainedClassifierCV(ColumnClassifier):
    r"""Any classifier, its decisions moved until fairness constraints hold for unseen people.

    Among all decisions that do not look at the group, the best ones under constraints on rates of
    groups compare :math:`\eta(x) = P(y = 1 \mid x)` with a threshold which depends on x by the
    probabilities of the groups alone [1]_ [2]_. So the classifier is left as it is, and a linear
    model of few columns is trained under the constraints on top of it, by the log-odds of
    :math:`\eta` and, for every group g that is compared within a set E of people, by

    .. math::

        \phi_g(x) = \frac{P(E, g \mid x)}{P(E, g)}
        - \frac{P(E, g_0 \mid x)}{P(E, g_0)},
        \qquad P(E, g \mid x) = P(g \mid x, E) \, P(E \mid x),

    with :math:`g_0` the largest group and :math:`P(E \mid x)` one for everybody, :math:`\eta(x)`
    for the positive class, :math:`1 - \eta(x)` for the negative one. Of more than two classes each
    has such a model against the rest, the class of the largest score is decided for, and the
    constraints hold for each of them [3]_. It is trained on scores and
    probabilities of people by models that have not seen them, so that what holds for the people of
    the fit holds for new people too, up to sampling noise.

    Parameters
    ----------
    estimator : estimator, default=None
        Classifier with ``decision_function`` or ``predict_proba``, a pipeline or a search. Clones
        of it are fitted, unless it is in a `~sklearn.frozen.FrozenEstimator`; then ``fit`` needs
        people whom it has not seen. None means
        `~sklearn.ensemble.HistGradientBoostingClassifier`.
    constraint : str, Constraint, list of these, or None, default="demographic_parity"
        What must be fair: a name in :data:`skfair.constraints.CONSTRAINTS`, an object, or several,
        each held to its own tolerance. None calibrates the classifier, and that is all.
    tolerance : float, default=0.02
        Largest gap allowed, in units of the constraint's public metric, for constraints that have
        no tolerance of their own.
    confidence_level : float between 0 and 1, or None, default=None
        Probability with which the population keeps the tolerance too, as in
        `ConstrainedERMClassifier`: the linear model on top is then held to a smaller one.
    min_group_size : int or "auto", default="auto"
        Groups with fewer samples (of positive weight) are not compared, and a warning names them:
        the rates of few samples are mostly chance, and yet would bend the whole model. "auto":
        fewer than 30 samples that are also less than 1 % of all; 1 compares all groups. A
        constraint with a ``min_group_size`` of its own keeps to that. With
        ``group_estimator="sensitive_features"`` the decisions about their samples are not moved.
    group_estimator : estimator, "sensitive_features" or None, default=None
        Classifier with ``predict_proba`` that guesses the group, from what the last step of the
        estimator is given; it should not learn its people by heart. None means 30 trees of 4
        leaves, for sparse data logistic regression. "sensitive_features" guesses nothing: the
        columns are the groups themselves, and predictions need everybody's group.
    cv : int, splitter, iterable, "prefit", "oob" or None, default=None
        How samples are divided, so that each is scored by models that were not fitted to it: an
        int or None (5 folds) by class and group alike; any splitter whose test folds are a
        partition, and whose training rows exclude the test rows. "oob" fits one forest, and takes
        its out-of-bag probabilities; in a pipeline, its preprocessing must not use y, as it is
        fitted to all samples. "prefit" takes a fitted classifier as it is, and so does a
        `~sklearn.frozen.FrozenEstimator` with any ``cv``. The samples must then be others than
        those that it was fitted to, which ``fit(..., X_fit=)`` checks. The models of groups always
        see folds: 5 with "prefit" and "oob".
    ensemble : bool, default=True
        Whether new people get the mean of the folds' models, or a model of everybody.
    pos_label : int, float, bool or str, default=None
        The class that means success: the rates that are compared are its rates.
        None takes 1 if the labels are 0 and 1, -1 and 1 or booleans, and asks for it if they are
        others and groups are compared. Of more than two classes none is.
    n_jobs : int or None, default=None
        Folds that are fitted at a time.
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
        Coefficients of the log-odds and of the columns :math:`\phi`; where ranks or losses
        are compared, also of these times the log-odds.
    intercept_ : float or ndarray of shape (n_classes,)
        Intercept.
    oof_scores_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        ``decision_function`` of the people of the fit with log-odds and columns by models that have
        not seen them; nan for those without weight.
    constraint_report_ : DataFrame
        One row per rate of the decisions by ``oof_scores_``, so on people of the fit as new people
        would be decided about: constraint, cell, group, number n of samples, threshold, rate and
        standard error, and gap and tolerance of the constraint; first the class, where there are
        more than two.
    constraint_violation_ : float
        Largest excess of a gap over its tolerance, by ``oof_scores_``; 0 when all are kept, nan
        without groups.
    multipliers_ : ndarray of shape (n_rows,)
        Multipliers of the constraint's rows: what one unit of tolerance is worth.
    guarantee_probability_ : float
        Probability with which the population keeps the tolerance, as in
        `ConstrainedERMClassifier`.
    tightened_tolerances_ : ndarray of shape (n_constraints,)
        Tolerance of each constraint that the training data was held to.
    status_ : {"optimal", "feasible", "max_iter", "uncertain", "infeasible", "unconstrained"}
        As in `ConstrainedERMClassifier`, for the linear model; of those of more than two classes
        nobody certifies that they are optimal.
    n_iter_ : int
        Iterations of the solver, in all linear models that were tried.
    groups_ : GroupSummary
        Labels and counts of the groups.
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
    On new people gaps scatter around those of ``constraint_report_``. The mean of the folds' models
    is a little better than each, so that rates may differ a little from those by ``oof_scores_``.

    Metadata is routed to the ``fit`` of the estimator and to the splitter. ``sample_weight``
    reaches the estimator if its ``fit`` takes it; through a pipeline it has to be routed.

    References
    ----------
    .. [1] A. Menon and R. Williamson, "The cost of fairness in binary classification", FAT* 2018.
    .. [2] X. Zeng, E. Dobriban and G. Cheng, "Bayes-optimal classifiers under group fairness",
       arXiv:2202.09724, 2022.
    .. [3] C. Denis, R. Elie, M. Hebiri and F. Hu, "Fairness guarantees in multi-class
       classification with demographic parity", Journal of Machine Learning Research 25, 2024.

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

    __metadata_request__fit = {"sensitive_features": True, "groups": True}

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
        estimator=None,
        constraint="demographic_parity",
        *,
        tolerance=0.02,
        confidence_level=None,
        min_group_size="auto",
        group_estimator=None,
        cv=None,
        ensemble=True,
        pos_label=None,
        n_jobs=None,
        verbose=0,
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

    @restore_on_failure
    @with_callbacks
    def fit(
        self,
        X,
        y,
        *,
        sensitive_features=None,
        sample_weight=None,
        groups=None,
        X_fit=None,
        **params,
    ):
        """Fit the classifier, the models of groups, and the decisions.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Whatever the classifier takes.
        y : array-like of shape (n_samples,)
            Classes, by labels of any kind; more than two only if the classifier does them.
        sensitive_features : array-like of shape (n_samples,) or (n_samples, n_attributes), or \
                sparse matrix of bool, shape (n_samples, n_groups), default=None
            Group of each sample, by labels of any kind; with several attributes, groups are the
            combinations that occur. A sparse matrix says who belongs to which of several groups
            that may overlap. None makes one group of everybody, with a warning.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights, in the rates, and in all fits that take them; samples of weight 0
            count as absent.
        groups : array-like of shape (n_samples,), default=None
            Samples of equal value belong together, and are in one fold; standard errors with
            ``confidence_level`` allow for their correlation, as in
            :meth:`ConstrainedERMClassifier.fit`.
        X_fit : array-like or sparse matrix, default=None
            Training data of the estimator, if it is fitted already (``cv="prefit"`` or a
            `~sklearn.frozen.FrozenEstimator`): X is compared with it, as by
            `skfair.audit.certify`.
        **params : dict
            What else is passed to the ``fit`` of the classifier; with metadata routing, to whoever
            asks for it.

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
        constraints = constraints_of(self.constraint)
        people = {"sensitive_features": sensitive_features, "sample_weight": sample_weight}
        training, present = self._check_people(X, y, people | {"groups": groups}, constraints)
        check_held_out(self._unfitted(), self.cv, X, X_fit, np.flatnonzero(present))
        contests = training.contests()
        check_decisions(contests, constraints, self.confidence_level)
        context = self._init_callback_context(max_subtasks=None)
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        to_fit, to_split = self._routed(present, people, params)
        folds = self._folds(X, y, training, present, to_split, groups)
        estimators, margins = self._cross_fit(training, folds, to_fit, context)
        margins = training.unit.to_unit(margins)
        events = events_of(contests, constraints)
        check_folds_know(events, folds, training.groups)
        models, probabilities = self._cross_learn(events, estimators, training, folds)
        if not self.ensemble:
            estimators, models = self._refitted(estimators, training, to_fit, events, context)
        calibrations = [calibrate(own, one) for own, one in zip(margins.T, contests, strict=True)]
        model = _labels_of(training) | {
            "estimators_": estimators,
            "calibration_": np.squeeze(calibrations),
            "_events": ColumnMaker(models, events.table, events.sources, events.compares_scores),
        }
        columns = model["_events"].columns(log_odds(margins, calibrations), probabilities)
        heads = [one._replace(X=own) for one, own in zip(contests, columns, strict=True)]
        with Subtask(self, context, "final linear model", max_subtasks=None) as step:
            watch = FitProgress(self, step.context, lambda e: model | _predictor(e), step.name)
            problem, promise, fitted = self._fit_head(heads, constraints, watch)
        fitted["oof_scores_"] = of_everybody(present, fitted["oof_scores_"])
        store_fit(self, model | fitted | known_features(estimators[0]))
        self._warn(problem, promise)
        context.call_on_fit_task_end(estimator=self, X=X, y=y)
        return self

    def _cross_fit(self, training, folds, params, context):
        """The fitted classifiers, and out-of-fold scores."""
        X, labels = training.people.X, training.labels
        cv, n_fits = (self.cv, None) if isinstance(self.cv, str) else (folds, len(folds))
        with Subtask(self, context, "classifiers", max_subtasks=n_fits) as step:
            return cross_fit(
                self._unfitted(),
                X,
                labels,
                cv,
                params=params,
                n_jobs=self.n_jobs,
                task_of=step.subtask,
            )

    def _refitted(self, estimators, training, params, events, context):
        """One classifier, and one model of groups, of all samples."""
        rows = np.arange(len(training.target))
        if len(estimators) > 1:
            X, labels = training.people.X, training.labels
            task = Subtask(self, context, "classifier of all samples")
            estimators = [fit_rows(self._unfitted(), X, labels, params, rows, task)]
        return estimators, self._learn(events, estimators, training, [rows])

    def _cross_learn(self, events, estimators, training, folds):
        """Models of the events, one for each fold, and their out-of-fold probabilities."""
        models = self._learn(events, estimators, training, [train for train, _ in folds])
        probabilities = unseen_probabilities(models, events, training.people.X, folds)
        if self.group_estimator != "sensitive_features":
            say_if_told(events, probabilities)
        return models, probabilities

    def _learn(self, events, estimators, training, seen):
        """A model of the events by each of the estimators, from those whom it has seen."""
        bases = estimators if len(estimators) == len(seen) else estimators * len(seen)
        learn = delayed(EventModel.learn)
        return Parallel(n_jobs=self.n_jobs)(
            learn(base, self.group_estimator, training, events, rows)
            for base, rows in zip(bases, seen, strict=True)
        )

    def _fit_head(self, heads, constraints, watch):
        """Train the linear model, or one for each class, and tell how that ended."""
        unit, lacks_groups = heads[0].unit, heads[0].lacks_groups
        constraints = [] if lacks_groups else constraints
        problem, promise = fit_head(
            heads, constraints, self.tolerance, self.confidence_level, watch
        )
        found = promise.found
        coef, intercept = problem.model.coefficients(found.parameters)
        report = problem.constraint.report(found.scores)
        if len(heads) > 1:
            scores = problem.model.class_scores(found.parameters)
            labels = [one.pos_label for one in heads for _ in constraints]
            rows = [len(part.reported_names) for part in problem.constraint.parts]
            report.insert(0, "class", np.repeat(labels, rows))
        else:
            # Decisions leave the unit of scores open.
            in_odds = coef[0] > 0 and problem.constraint.counts_decisions
            size = 1.0 / coef[0] if in_odds else 1.0
            coef, intercept = coef * size, float(intercept * size)
            scores = unit.from_unit(found.scores * size)
            report["threshold"] = unit.from_unit(report["threshold"])
        fitted = {
            "coef_": np.array(coef),
            "intercept_": intercept,
            "oof_scores_": scores,
            "multipliers_": found.result.multipliers,
            "constraint_violation_": found.violation,
            "constraint_report_": report,
            "n_iter_": watch.n_iter,
        }
        status = status_of(found, "auto")
        if len(heads) > 1 and found.keeps_bound:
            status = "feasible"  # which no solver certifies
        fitted |= promised(self, promise, status)
        fitted |= unconstrained(report) if lacks_groups else {}
        return problem, promise, fitted

    def _warn(self, problem, promise):
        if (np.atleast_2d(self.calibration_)[:, 0] <= 0).all():
            one = "any class" if self.pos_label_ is None else f"the class {self.pos_label_}"
            warn(
                f"The scores of {type(self._unfitted()).__name__} do not tell who is of {one}, for "
                "people whom it has not seen: decisions by them are no better than chance. Pass "
                "another estimator, or more data."
            )
        if len(self.classes_) > 2:  # the searches end the fit, where the solver has stopped or not
            ended = replace(promise.found.result, status="optimal")
            promise = promise._replace(found=promise.found._replace(result=ended))
        warn_of_outcome(self, problem.constraint, promise)
        if problem.constraint.parts:
            warn_of_cost(problem, promise.found.parameters, _odds_alone(problem.model))


def _odds_alone(model):
    """Parameters by which the log-odds decide alone, as they do without constraint."""
    coef, _ = model.coefficients(np.zeros(model.n_parameters))
    first = [np.eye(1, len(own))[0] for own in np.atleast_2d(coef)]
    if len(first) == 1:
        return model.parameters(first[0], 0.0)
    return model.parameters(first, np.zeros(len(first)))


def _labels_of(training):
    """The fitted attributes that tell of labels."""
    return {
        "classes_": training.classes,
        "pos_label_": training.pos_label,
        "groups_": training.groups.summary,
        "_unit": training.unit,
    }


def _predictor(evaluation):
    """The fitted attributes of a linear model that is not yet at its end."""
    coef, intercept = evaluation.problem.model.coefficients(evaluation.parameters)
    return {"coef_": np.array(coef), "intercept_": intercept}
