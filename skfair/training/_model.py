"""Base of all estimators that are trained under constraints."""

from abc import abstractmethod
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from skfair.constraints import MIN_GROUP_SIZES, ConstraintSystem, bind_all
from skfair.enforcement import ENFORCEMENTS
from skfair.losses import OBJECTIVES, over_pairs
from skfair.partitions import is_partitioned
from skfair.problems import ConstrainedProblem
from skfair.solvers import SOLVERS, Solver
from skfair.surrogates import SURROGATES
from skfair.training._cost import warn_of_cost_to
from skfair.training._dependence import warn_of_dependence
from skfair.training._files import Storable
from skfair.training._outcome import (
    FitProgress,
    compares_nothing,
    guarantee_attributes,
    status_of,
    store_fit,
    unconstrained_attributes,
    warn_of_outcome,
)
from skfair.utils._messages import resolve_name
from skfair.utils._sklearn import CallbackSupportMixin, Interval, StrOptions

CONFIDENCE_LEVELS = [Interval(Real, 0, 1, closed="neither"), None]
"""Values of a parameter ``confidence_level``."""


class ConstrainedModel(Storable, CallbackSupportMixin, BaseEstimator):
    """Base of estimators that are trained under constraints.

    A subclass has the parameters named below and `tolerance`, `loss`. Its ``fit`` checks the input
    and calls `_fit`, which calls three hooks: `_model` makes the model of the training data,
    `_enforce` trains it such that the constraints are kept, and `_predictor` returns the fitted
    attributes that predictions need.
    """

    __metadata_request__fit = {"sensitive_features": True}

    _parameter_constraints = {
        "min_group_size": MIN_GROUP_SIZES,
        "enforcement": [StrOptions(ENFORCEMENTS), None],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "solver": [StrOptions(SOLVERS), Solver],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    surrogate: Any = "sigmoid"

    confidence_level: Any = None
    """Probability with which the population keeps the tolerances too; parameter of classifiers."""

    _solver_defaults = {}
    """Settings of a solver chosen by name, where they are not its own defaults."""

    @abstractmethod
    def _model(self, training):
        """The model of the training data."""

    @abstractmethod
    def _predictor(self, model, parameters, training):
        """The fitted attributes that predictions need."""

    @abstractmethod
    def _enforce(self, problem, training, confidence, watch):
        """The fitter of what is enforced, its guarantee, and the attributes of the model."""

    def _fit(self, X, y, training, constraints, weights=None, problem=None):
        """Train on checked input, and store the fitted attributes; the problem may be made."""
        if problem is None:
            problem = self._make_problem(training, constraints, weights)
        lacks_groups = compares_nothing(training, problem.constraint)
        training = training._replace(lacks_groups=lacks_groups)
        # Without groups there is nothing to guarantee.
        confidence = None if training.lacks_groups else self.confidence_level
        if confidence is not None:
            warn_of_dependence(training.X, training)
        # Callbacks see the fit begin, every iteration of every problem, and the fit end.
        context = self._init_callback_context(max_subtasks=None)
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        watch = FitProgress(
            self,
            context,
            lambda evaluation: self._predictor(problem.model, evaluation.parameters, training),
        )
        fitter, guarantee, predictor = self._enforce(problem, training, confidence, watch)
        fitted = self._outcome(fitter, guarantee, training) | predictor | feature_attributes(X)
        # Until here an earlier fit is intact.
        store_fit(self, fitted | {"n_iter_": watch.n_iter})
        warn_of_outcome(self, fitter.constraint, guarantee)
        if fitter.start is not None and not (training.lacks_groups or watch.is_stopped):
            is_real, is_guaranteed = training.classes is None, confidence is not None
            warn_of_cost_to(fitter, guarantee.candidate, is_real, is_guaranteed)
        context.call_on_fit_task_end(estimator=self, X=X, y=y)
        return self

    def _make_problem(self, training, constraints, weights):
        """The problem of the training data."""
        return self._problem_of(self._model(training), training, constraints, weights)

    def _problem_of(self, model, training, constraints, weights):
        """The problem of a model with smooth rates."""
        loss = resolve_name(OBJECTIVES, self.loss, "loss")
        surrogate = resolve_name(SURROGATES, self.surrogate, "surrogate")
        (bound,) = bind_all(constraints, [training.samples], surrogate, loss, self.tolerance)
        if training.lacks_groups:  # not even bounds that hold for one group
            bound = [one for one in bound if not len(one.rows.lower)]
        if over_pairs(loss):
            _refuse_cut_offs(loss, bound)
        weights = training.samples.weights if weights is None else weights
        system = ConstraintSystem(tuple(bound))
        return ConstrainedProblem(model, loss, training.samples.target, weights, self.alpha, system)

    def _chosen_solver(self):
        if isinstance(self.solver, str):
            return SOLVERS[self.solver](**self._solver_defaults)
        return self.solver

    def _outcome(self, fitter, guarantee, training):
        """Fitted attributes of status, guarantee and report; without groups no guarantee."""
        candidate, unit = guarantee.candidate, training.unit
        multipliers = candidate.result.multipliers
        objective, n_rows, report = fitter.counter.describe(candidate.parameters)
        report["threshold"] = unit.center + unit.spread * report["threshold"].to_numpy()
        is_unknown = np.isnan(candidate.gaps).any()
        fitted = {
            # The plain fit has no rows: where it keeps the bound, multipliers are 0.
            "multipliers_": multipliers if len(multipliers) else np.zeros(n_rows),
            "objective_": objective,
            "constraint_violation_": np.nan if is_unknown else candidate.violation,
            "constraint_report_": report,
        }
        fitted |= guarantee_attributes(self, guarantee, status_of(candidate, self.enforcement))
        if training.lacks_groups:
            fitted |= unconstrained_attributes(report)
        return fitted

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _refuse_cut_offs(loss, constraints):
    """Refuse criteria that a loss of pairs can keep by moving all scores."""
    for one in constraints:
        if one.statistic != "ranks" or one.is_correctable:
            raise ValueError(
                f"{type(loss).__name__} ranks samples and has no threshold, but {one.name} is "
                "on decisions or on the losses of single samples; pass a criterion on ranks "
                '("statistical_parity" or "group_auc" on an interval of percentiles), or '
                "loss='logistic'."
            )


def feature_attributes(X):
    """``n_features_in_`` and ``feature_names_in_``, as scikit-learn would set them."""
    if is_partitioned(X):
        import pandas as pd

        names = getattr(X, "columns", None)
        X = np.empty((0, X.shape[1])) if names is None else pd.DataFrame(columns=list(names))
    probe = BaseEstimator()
    validate_data(probe, X, skip_check_array=True)
    return vars(probe)
