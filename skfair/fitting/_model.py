"""Bases of the estimators that are trained under constraints, networks included."""

from abc import abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import check_random_state

from skfair.constraints import ConstraintSystem, bind_all
from skfair.fitting._enforce import enforce_in_population
from skfair.fitting._fitter import Fitter
from skfair.fitting._guarantee import Guarantee
from skfair.fitting._input import Unit, warn_of_dependence
from skfair.fitting._outcome import (
    REPORT_ATTRIBUTE,
    FitProgressCallback,
    compares_nothing,
    solution_attributes,
    status_of,
    store_fit,
    warn_if_linear_model_costly,
    warn_of_one_group,
    warn_of_outcome,
)
from skfair.groups import PlainStateMixin
from skfair.losses import OBJECTIVES, is_pairwise
from skfair.models import LinearModel
from skfair.partitions import feature_attributes
from skfair.problems import ConstrainedProblem
from skfair.solvers import SOLVERS, SQP
from skfair.surrogates import Sigmoid
from skfair.utils._api import MatrixLike, make_docstring_decorator
from skfair.utils._checks import resolve_name, warn
from skfair.utils._sklearn import CallbackSupportMixin

# Estimators with a report of their constraint.


class ConstraintReportMixin(PlainStateMixin):
    """Mixin of estimators that store the columns of a constraint report, and no table."""

    _record_types = (*PlainStateMixin._record_types, Unit)

    @property
    def constraint_report_(self) -> pd.DataFrame:
        """Report of the constraint, one row per rate: a table that is made when it is read."""
        if REPORT_ATTRIBUTE not in vars(self):
            raise AttributeError(
                f"{type(self).__name__} has no constraint_report_ before it is fitted."
            )
        return pd.DataFrame(vars(self)[REPORT_ATTRIBUTE])


# Base of all estimators that are trained under constraints.


class ConstrainedEstimator(ConstraintReportMixin, CallbackSupportMixin, BaseEstimator):
    """Base of estimators that are trained under constraints.

    A subclass has the parameters named below. Its ``fit`` checks the input
    and calls `_fit`, which calls three hooks: `_model` makes the model of the training data,
    `_enforce` trains it such that the constraints are kept, and `_prediction_attributes` returns
    the fitted attributes that predictions need.
    """

    __metadata_request__fit = {"sensitive_features": True}

    surrogate: Any = Sigmoid()
    """Smooth function in place of a decision; decisions are counted after every fit."""

    confidence_level: Any = None
    """Probability with which the population keeps the tolerances too; parameter of classifiers."""

    def __init__(
        self,
        constraint: Any,
        tolerance: float | None,
        enforcement: Any,
        loss: Any,
        alpha: float,
        solver: Any,
        warm_start: bool,
        random_state: Any,
    ):
        self.constraint = constraint
        self.tolerance = tolerance
        self.enforcement = enforcement
        self.loss = loss
        self.alpha = alpha
        self.solver = solver
        self.warm_start = warm_start
        self.random_state = random_state

    @abstractmethod
    def _model(self, training):
        """The model of the training data."""

    @abstractmethod
    def _prediction_attributes(self, model, parameters, training):
        """The fitted attributes that predictions need."""

    @abstractmethod
    def _enforce(self, problem, training, confidence, watch):
        """The fitter of what is enforced, its guarantee, and the attributes of the model."""

    def _fit(self, X, y, training, constraints, weights=None, problem=None):
        """Train on checked input, and store the fitted attributes; the problem may be made."""
        if problem is None:
            problem = self._make_problem(training, constraints, weights)
        if compares_nothing(training, problem.constraint):
            warn_of_one_group(training, problem.constraint)
            training = training._replace(lacks_groups=True)
        # Without groups there is nothing to guarantee.
        confidence = None if training.lacks_groups else self.confidence_level
        if confidence is not None:
            warn_of_dependence(training.X, training)
        # Callbacks see the fit begin, every iteration of every problem, and the fit end.
        context = self._init_callback_context(max_subtasks=None)
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        watch = FitProgressCallback(
            self,
            context,
            lambda evaluation: self._prediction_attributes(
                problem.model, evaluation.parameters, training
            ),
        )
        fitter, guarantee, predictor = self._enforce(problem, training, confidence, watch)
        fitted = (
            self._outcome_attributes(fitter, guarantee, training)
            | predictor
            | feature_attributes(X)
        )
        # Until here an earlier fit is intact.
        store_fit(self, fitted | {"n_iter_": watch.n_iter})
        warn_of_outcome(self, fitter.constraint, guarantee)
        if fitter.start is not None and not (training.lacks_groups or watch.is_stopped):
            is_real, is_guaranteed = training.classes is None, confidence is not None
            warn_if_linear_model_costly(fitter, guarantee.candidate, is_real, is_guaranteed)
        context.call_on_fit_task_end(estimator=self, X=X, y=y)
        return self

    def _make_problem(self, training, constraints, weights):
        """The problem of the training data."""
        return self._problem_of(self._model(training), training, constraints, weights)

    def _problem_of(self, model, training, constraints, weights):
        """The problem of a model with smooth rates."""
        loss = self._chosen_loss()
        samples = [training.samples]
        (bound,) = bind_all(constraints, samples, self.surrogate, loss, self.tolerance)
        if training.lacks_groups:  # not even bounds that hold for one group
            bound = [one for one in bound if not len(one.rows.lower)]
        if is_pairwise(loss):
            _refuse_threshold_criteria(loss, bound)
        weights = training.samples.weights if weights is None else weights
        system = ConstraintSystem(tuple(bound))
        return ConstrainedProblem(model, loss, training.samples.target, weights, self.alpha, system)

    def _chosen_loss(self):
        return resolve_name(OBJECTIVES, self.loss, "loss")

    def _chosen_solver(self):
        if isinstance(self.solver, str):
            return SOLVERS[self.solver]()
        return self.solver

    def _outcome_attributes(self, fitter, guarantee, training):
        """Fitted attributes of status, guarantee and report; without groups no guarantee."""
        candidate, unit = guarantee.candidate, training.unit
        objective, n_rows, report = fitter.counter.summarize_model(candidate.parameters)
        report["threshold"] = unit.from_unit(np.asarray(report["threshold"], dtype=np.float64))
        status, is_unconstrained = status_of(candidate, self.enforcement), training.lacks_groups
        fitted = solution_attributes(self, guarantee, status, n_rows, report, is_unconstrained)
        return fitted | {"objective_": objective}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _refuse_threshold_criteria(loss, constraints):
    """Raise for criteria that a loss of pairs can keep by moving all scores."""
    for one in constraints:
        if one.sums.metric_input != "ranks" or one.gap.is_correctable:
            raise ValueError(
                f"{type(loss).__name__} ranks samples and has no threshold, but {one.name} is "
                "on decisions or on the losses of single samples; pass a constraint on ranks "
                '("partial_statistical_parity" or "partial_group_auc"), or '
                "loss='logistic'."
            )


# The default score of estimators whose predictions may depend on the group.


class GroupAwareScoreMixin:
    """``score`` of a classifier or regressor, which passes groups to ``predict``.

    It precedes scikit-learn's `ClassifierMixin` or `RegressorMixin` among the bases. A subclass
    that overrides ``score`` takes `sensitive_features` too, which all subclasses request.
    """

    __metadata_request__score = {"sensitive_features": True}
    predict: Any

    def score(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        sensitive_features: MatrixLike | None = None,
    ) -> float:
        """Accuracy of a classifier's decisions, or R^2 of a regressor's predictions.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            True classes or target.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights.
        sensitive_features : array-like, default=None
            Group of each sample; needed where ``predict`` needs it. With metadata routing,
            searches and pipelines pass it on.

        Returns
        -------
        score : float
            1 is best.

        Raises
        ------
        MissingSensitiveFeaturesError
            If predictions depend on the group and the groups are missing; in a search that would
            score this as nan, a `skfair.exceptions.SearchError`.
        """
        predicted = self.predict(X, sensitive_features=sensitive_features)
        measure = accuracy_score if is_classifier(self) else r2_score
        return measure(y, predicted, sample_weight=sample_weight)


# Networks, trained under constraints.


_LAST_LAYER_SOLVER = SQP(max_iter=1000, tol=1e-4)
"""Solver of the last layer, whose problem is small and smooth, if often badly conditioned."""


class ConstrainedNetwork(ConstrainedEstimator):
    """Base of networks that are trained under constraints.

    The solver trains all layers on smooth rates, in single precision unless the model has its own
    dtype. Scores are linear in the last
    layer: this one is then fitted again as a linear model, in double precision, and enforced as
    one, also where a callback or Ctrl-C has ended the training. As for networks of scikit-learn,
    Ctrl-C keeps the best epoch so far; before the first one is over it leaves the earlier fit.

    A subclass has the parameters named below beside those of `ConstrainedEstimator`. It makes the
    network and keeps what predictions need of it; it checks the input of its ``fit``, and hands it
    to `_fit` with its constraints.
    """

    @abstractmethod
    def _initial_parameters(self, model, random_state):
        """Return the model parameters to start from."""

    @abstractmethod
    def _scores(self, X, sensitive_features=None):
        """Score of each row."""

    def _to_prediction_model(self, model, parameters):
        """The trained model as it predicts, with its parameters."""
        return model, parameters

    def _enforce(self, problem, training, confidence, watch):
        # Train all layers on smooth rates.
        to_train, strata = problem, _strata(training)
        trained, result, curves = self._train(to_train, strata, watch)
        model, trained = self._to_prediction_model(problem.model, trained)
        problem = replace(problem, model=model)

        def make_last_layer_fitter(rows):
            """Fitter of the last layer for all samples, with other layers trained on these rows."""
            parameters, _, _ = self._train(to_train.take(rows), strata[rows], watch)
            model, parameters = self._to_prediction_model(to_train.model, parameters)
            return _last_layer_fitter(replace(to_train, model=model), parameters)

        # Enforce the constraint in the last layer.
        if self.enforcement is None and confidence is None:
            fitter, parameters = Fitter(problem, None, self._chosen_solver()), trained
            guarantee = Guarantee(fitter.evaluate(trained, result), problem.constraint.tolerances)
        else:
            fitter = _last_layer_fitter(problem, trained)
            strategy, clusters = self.enforcement, training.samples.clusters
            guarantee = enforce_in_population(
                fitter, strategy, confidence, make_last_layer_fitter, clusters
            )
            parameters = _join_layers(fitter, trained, guarantee.candidate)
        fitted = curves | self._prediction_attributes(problem.model, parameters, training)
        evaluation = problem.evaluate(problem.initial_point(parameters))
        _check_enforced(evaluation.scores, guarantee.candidate.scores)
        return fitter, guarantee, fitted | {"objective_": evaluation.fun}

    def _train(self, problem, strata, watch):
        """Parameters of all layers, the solver's result, and curves.

        Training is in single precision where batches are drawn, whose noise is larger than its
        errors. A share of each stratum is held out for early stopping.
        """
        solver, random_state = self._chosen_solver(), check_random_state(self.random_state)
        n_parameters, epochs = problem.n_parameters, _EpochCallback(watch, self.n_iter_no_change)
        start = self._initial_parameters(problem.model, random_state)
        is_drawn = getattr(solver, "batch_size", np.inf) < len(problem.target)
        model = problem.model
        if hasattr(model, "astype"):  # else its precision is the user's choice
            model = model.astype(np.float32 if is_drawn else np.float64)
        problem = replace(
            problem,
            model=model,
            constraint=self._batch_constraints(problem.constraint, solver),
        )
        if self.early_stopping:
            rows, held_out = _split_held_out(strata, self.validation_fraction, random_state)
            plain = replace(problem, constraint=ConstraintSystem(()))
            problem, epochs.held_out = problem.take(rows), plain.take(held_out)
        result = self._solve(solver, problem, start, random_state, epochs)
        trained = epochs.best if self.early_stopping else result.x[:n_parameters]
        return trained, result, epochs.curves

    def _solve(self, solver, problem, start, random_state, epochs):
        """The result of a training from model parameters; Ctrl-C ends it with the best epoch."""
        return _solve(solver, problem, problem.initial_point(start), random_state, epochs)

    def _batch_constraints(self, constraint, solver):
        """The constraints that the solver can see on mini-batches, which show few ranks."""
        if "majorant" in solver.requires:
            # Rows at one threshold exist only near given scores, which training moves far.
            free = [
                one
                for one in constraint
                if one.sums.metric_input == "ranks" and not one.gap.is_correctable
            ]
            drawn = [one for one in free if one.rows.has_batch_majorant]
        else:
            drawn = [one for one in constraint if one.sums.metric_input != "ranks"]
        others = [one.name for one in constraint if one not in drawn]
        if others and self.enforcement is None:
            raise ValueError(
                f"enforcement=None trains all layers on mini-batches, but {others[0]} compares "
                "ranks, which batches do not show; pass enforcement='auto', which keeps it in the "
                "last layer."
            )
        return ConstraintSystem(tuple(drawn))


class _EpochCallback:
    """Callback of a training: its losses, and the best epoch for held-out samples."""

    def __init__(self, watch, patience):
        self.watch = watch
        self.patience = patience
        self.held_out = None  # the objective of held-out samples
        self.latest = None  # what the solver would return, once an epoch is over
        self.best, self._smallest, self._waited = None, (np.inf, np.inf), 0
        self.curves = {"loss_curve_": []}

    def __call__(self, progress):
        """Record an epoch; True if the training shall stop."""
        is_stopped = self.watch(progress)
        if progress.n_iter > 0:
            self.curves["loss_curve_"].append(progress.evaluation.fun)
            self.latest = progress.best
        if self.held_out is None:
            return is_stopped
        loss = self.held_out.evaluate(progress.evaluation.parameters).fun
        if progress.n_iter > 0:
            self.curves.setdefault("validation_loss_curve_", []).append(loss)
        self._waited += 1
        # As in the solver, the start counts only until there is an epoch.
        if (progress.evaluation.violation, loss) < self._smallest or progress.n_iter == 1:
            self._smallest, self._waited = (progress.evaluation.violation, loss), 0
            self.best = progress.evaluation.parameters
        return is_stopped or self._waited >= self.patience


def _solve(solver, problem, x, random_state, epochs):
    """The result of a training; Ctrl-C ends it with the best epoch so far."""
    try:
        return solver.solve(problem, x, random_state=random_state, callback=epochs)
    except KeyboardInterrupt:
        if epochs.latest is None:
            raise  # nothing was learned yet
        n_epochs = len(epochs.curves["loss_curve_"])
        warn(
            f"Training interrupted after {n_epochs} epochs: the best of them is kept, and its "
            "last layer enforced.",
            ConvergenceWarning,
        )
        return solver.solve(problem, epochs.latest.x, callback=lambda progress: True)


def _last_layer_fitter(problem, parameters):
    """Fitter of the last layer, a linear model of the outputs of the others."""
    last = problem.model.last_layer(parameters)
    *coef, intercept = parameters[-last.n_parameters :]
    last = LinearModel.from_features(last.X, problem.weights)
    return Fitter(
        replace(problem, model=last), last.parameters(np.array(coef), intercept), _LAST_LAYER_SOLVER
    )


def _join_layers(fitter, trained, candidate):
    """Replace the last layer of the trained parameters by that of the candidate."""
    coef, intercept = fitter.problem.model.coefficients(candidate.parameters)
    return np.concatenate((trained[: -len(coef) - 1], coef, [intercept]))


def _check_enforced(scores, enforced):
    """Raise if the network does not decide as the last layer for which the constraint was kept."""
    is_equal = (scores > 0) == (enforced > 0)
    is_equal &= np.isclose(scores, enforced, rtol=1e-6, atol=1e-6 * np.abs(enforced).max())
    if not is_equal.all():
        worst = int(np.argmin(is_equal))
        raise ValueError(
            "The network must give the scores for which its last layer keeps the constraint, but "
            f"that of training sample {worst} is {scores[worst]:.6g} instead of "
            f"{enforced[worst]:.6g}. Scores must depend on the sample alone, and be the same in "
            "each evaluation: remove random numbers and running statistics of evaluation mode, or "
            "reduce the learning rate if scores have grown without bound."
        )


def _strata(training):
    """Class, and group if groups are disjoint, of each sample."""
    positive, groups = training.samples.target > 0, training.samples.groups
    return 2 * groups.codes + positive if groups.is_disjoint else positive.astype(int)


def _split_held_out(strata, fraction, random_state):
    """Rows to train on and rows held out, the same share of each stratum."""
    held_out = np.zeros(len(strata), dtype=bool)
    for stratum in np.unique(strata):
        rows = random_state.permutation(np.flatnonzero(strata == stratum))
        held_out[rows[: min(len(rows) - 1, round(fraction * len(rows)))]] = True
    if not held_out.any():
        raise ValueError(
            f"early_stopping=True holds out validation_fraction={fraction} of each class of each "
            "group, but that is less than one sample of each; raise it, or pass "
            "early_stopping=False."
        )
    return np.flatnonzero(~held_out), np.flatnonzero(held_out)


# Docstring entries that the estimators trained under constraints share.


_PARAMETER_DOCS = """
tolerance : float, default=0.05
    Largest gap allowed, in units of the constraint's public metric, for constraints that have
    neither a tolerance nor a ratio of their own.
confidence_level : float between 0 and 1, or None, default=None
    Of repeated samples from one population, at most a share of ``1 - confidence_level`` lead to a
    fit that is guaranteed (``status_`` is not "uncertain") and breaks a tolerance in this
    population. The training data is held to a smaller tolerance, which is checked by
    cross-validation: of linear models by leaving each sample out to first order. So of the
    guaranteed fits, at most ``1 - confidence_level`` over the share that is guaranteed are false:
    that is a good deal where a tolerance is nearly out of reach, and few samples are guaranteed.
    Samples are taken for independent, unless ``groups`` says otherwise. This is calibrated on
    redrawn samples, and no theorem (:ref:`new_data`). None guarantees the tolerance on the training
    data alone.
missing : str, default="error"
    What happens to samples whose group is missing (None or nan).

    - "error" raises an error.
    - "exclude" leaves them out of the groups, but not out of the loss.
    - "at_random" assumes that groups are missing at random: of samples of equal X and y, those with
      a group are as the others. Each sample without a group then counts in every group by the
      probability of it given X and y, which is estimated from the others. Some hundred recorded
      samples are needed, and audits of the decisions on recorded ones.
    - "sufficient" is for probabilities alone, passed to ``fit`` as ``group_probabilities``, which
      `ConstrainedClassifierCV` does not take. Groups do not depend on X and y among samples of
      equal probabilities, so that each sample counts in every group by its probability. Data cannot
      confirm it.
    - "independent" is for them too. The probabilities do not depend on X and y among samples of one
      group. The probability of each group given X and y is then estimated from their means.
loss : str or callable, default="logistic"
    Loss of a score: "logistic", "hinge", "squared_hinge", "squared" or "absolute", see
    :mod:`skfair.losses`; a callable maps (scores, target) to a `Pointwise`, with targets -1 and
    +1. The squared losses are half a square.
fit_intercept : bool, default=True
    Whether there is an intercept; it is not penalised.
group_interactions : bool or "intercept", default=False
    True: every group has its own coefficients. "intercept": groups share coefficients, and each
    has its own intercept. Either way predictions need each sample's group.
handle_unknown : {"error", "overall"}, default="error"
    What predictions that depend on the group do for samples of a group that was not seen at fit, or
    that is missing. "error" raises. "overall" warns, and predicts them by the mean over all groups,
    weighted as in training; no constraint is known to hold for them.
solver : str or Solver, default="sqp"
    A name in :data:`skfair.solvers.SOLVERS`, which takes its default settings, or an object, such
    as ``SQP(max_iter=20, tol=1e-8)``.
early_stopping : bool, default=False
    Whether some samples of each class of each group are held out from the training of the layers:
    it stops when their loss no longer falls, and the best epoch for them is taken, among those of
    the smallest violation. The last layer is fitted to all samples.
validation_fraction : float, default=0.1
    Share of the samples held out.
n_iter_no_change : int, default=10
    Epochs without improvement after which the training stops early.
class_weight : dict, "balanced" or None, default=None
    Weights of the classes in the loss, not in the constraint.
pos_label : int, float, bool or str, default=None
    The class that means success: the rates that are compared are its rates. None takes 1 if the
    labels are 0 and 1, -1 and 1 or booleans, and asks for it if they are others and groups are
    compared.
warm_start : bool, default=False
    Whether to start from the coefficients of the previous fit.
random_state : int, RandomState instance or None, default=None
    Seed of stochastic solvers; "sqp" uses none.
n_jobs : int or None, default=None
    Threads for data of more than 131,072 samples, which are divided into blocks of rows; the
    coefficients are the same to the bit for any number. None is 1 unless in a
    `joblib.parallel_config` context, -1 is all processors.
verbose : int, default=0
    Print every iteration if positive.
interval : pair of floats, list of pairs, dict of either by group, or None, default=None
    ``(alpha, beta)`` selects the samples with a rank in [alpha, beta), counted from the highest
    score: (0.0, 0.2) is the top fifth of each group. A list of pairs means their union. None is
    (0.0, 1.0), or the interval of the object that `constraint` is.
"""

_ATTRIBUTE_DOCS = """
classes_ : ndarray of shape (2,)
    Labels of the classes, ascending.
pos_label_ : label
    The positive class.
coef_ : ndarray of shape (1, n_features)
    Coefficients of the columns of X; not with ``group_interactions=True``.
intercept_ : ndarray of shape (1,)
    Intercept, with ``group_interactions=False``.
group_coef_ : ndarray of shape (n_groups, n_features)
    Coefficients of each group, with ``group_interactions=True``.
group_intercept_ : ndarray of shape (n_groups,)
    Intercept of each group, with ``group_interactions``.
multipliers_ : ndarray of shape (n_rows,)
    Multipliers of the rows of the last problem solved: the decrease of the objective per unit of
    tolerance.
objective_ : float
    Mean loss and penalty.
constraint_violation_ : float
    Largest excess of a gap over its tolerance by the public metric on the training data; 0 when all
    tolerances are kept. It is nan if groups were to be compared, but there are no two, and if a
    gap is unknown, because nothing counts in the denominator of a group's rate: the status is then
    "infeasible".
guarantee_probability_ : float
    Probability, estimated from decisions about samples left out, with which the population keeps
    the tolerance; nan where ``confidence_level`` is None. Where it is less than that, it is a lower
    bound, for which standard errors are 1.3 times as large.
tightened_tolerances_ : ndarray of shape (n_constraints,)
    Tolerance that the training data was held to, for each constraint: less than was requested where
    ``confidence_level`` is given. That of a ratio is 1 minus the ratio.
guaranteed_tolerances_ : ndarray of shape (n_constraints,)
    The smallest tolerance of each constraint that this model keeps in the population with a
    probability of ``confidence_level``, whether or not the requested one is guaranteed; nan where
    ``confidence_level`` is None. Several constraints have equal shares of the risk. That of a ratio
    is 1 minus the ratio.
assumption_ : str
    Unless ``missing="error"``: what gaps assume of samples whose group is not known; empty if there
    are none.
n_iter_ : int
    Iterations of the solver, over all problems solved.
groups_ : GroupSummary
    Labels and counts of the groups.
n_features_in_ : int
    Number of features seen during fit.
feature_names_in_ : ndarray of str
    Names of features seen during fit, if X has string column names.
thresholds_ : ndarray of shape (n_thresholds,)
    Shared thresholds of the percentiles, on the scale of the scores, for
    "partial_statistical_parity"; empty for the plain fit, and where a search kept the tolerance.
    There are as many as the constraint has percentiles, or more where so few did not show that
    groups differ.
"""

_FIT_DOCS = """
y : array-like of shape (n_samples,)
    Two classes, by labels of any kind.
sensitive_features : array-like of shape (n_samples,) or (n_samples, n_attributes), or \
        sparse matrix of bool, shape (n_samples, n_groups), default=None
    Group of each sample, by labels of any kind; with several attributes, groups are the
    combinations that occur. The columns of a sparse matrix are groups that may overlap. None puts
    all samples in one group, with a warning.
group_probabilities : array-like of shape (n_samples, n_groups), default=None
    Probability of each group, such as that by names and places; a DataFrame names the groups. With
    ``missing="at_random"`` they are further features, by which groups that are missing from
    ``sensitive_features`` are estimated.
sample_weight : array-like of shape (n_samples,), default=None
    Non-negative weights, in the loss and in the rates; samples of weight 0 count as absent.
groups : array-like of shape (n_samples,), default=None
    With ``confidence_level``: samples of equal value belong together, such as several rows of one
    person or household, as in `~sklearn.model_selection.GroupKFold`. They are in one fold, and
    standard errors allow for their correlation. None takes all samples for independent. These are
    not the groups that are compared; those are ``sensitive_features``.
X_fit : array-like or sparse matrix, default=None
    Training data of the estimator, if it is fitted already (``cv="prefit"`` or a
    `~sklearn.frozen.FrozenEstimator`): X is compared with it, as by `skfair.audit.certify`.
"""

estimator_docs = make_docstring_decorator(
    _PARAMETER_DOCS,
    _ATTRIBUTE_DOCS,
    _FIT_DOCS,
    paper="""
    .. [1] Y. He, Y. Huang, Y. Yao and Q. Lin, "Enforcing fair predicted scores on intervals of
       percentiles by difference-of-convex constraints", arXiv:2505.12530, 2026.
    """,
    partial_report="""
    constraint_report_ : DataFrame
        One row per group and threshold: constraint, event, group, its number of samples, the share
        of those in its interval that scores above the threshold, the standard error of that, and
        difference and tolerance of the constraint. Where all thresholds count, those midway between
        the groups' own percentiles are shown.
    """,
    uncertified="""
    guarantee_probability_ : float
        nan: unlike those of classifiers, tolerances of linear regressors and rankers are guaranteed
        on the training data alone.
    guaranteed_tolerances_ : ndarray of shape (n_constraints,)
        nan, likewise.
    tightened_tolerances_ : ndarray of shape (n_constraints,)
        Tolerance that the training data was held to: the requested one.
    """,
)
"""Decorator that fills the placeholders of these entries in a docstring."""
