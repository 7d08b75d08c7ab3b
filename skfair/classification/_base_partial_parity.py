"""What classifier and regressor of partial fairness share."""

import warnings
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from skfair.classification._groupwise_model import GroupwiseModel
from skfair.classification._outcome import Watch
from skfair.classification._percentile_calibration import Candidate, PartialTask, calibrate
from skfair.classification._percentile_report import percentile_report
from skfair.constraints._constraint import People
from skfair.constraints._partial_parity import AT_ONE_THRESHOLD, PartialParity
from skfair.constraints._unconstrained import Unconstrained
from skfair.exceptions import InfeasibleConstraintWarning
from skfair.losses import LOSSES
from skfair.models import LinearModel
from skfair.problems import ConstrainedProblem
from skfair.solvers import IDCA, AugmentedLagrangian, DampedSQP, SwitchingSubgradient
from skfair.solvers._solver import Solver
from skfair.utils._groups import Groups, check_alignment, match_groups
from skfair.utils._percentiles import check_interval
from skfair.utils._sklearn import Interval, StrOptions

PARTIAL_SOLVERS = {
    "sqp": DampedSQP,
    "idca": IDCA,
    "switching-subgradient": SwitchingSubgradient,
    "augmented-lagrangian": AugmentedLagrangian,
}
"""Solvers for free thresholds, by name."""

_NEARLY_EQUAL = 0.1
"""Standard deviation of scores, in the units they are trained in, that ramps hardly tell from 0."""


class Trained(NamedTuple):
    """What training ends with.

    Attributes
    ----------
    model : LinearModel or GroupwiseModel
        Scores from parameters.
    found : Candidate
        The parameters, and how fair they are.
    report : DataFrame
        The shares that are compared.
    n_iter : int
        Iterations of the solvers, over all problems.
    """

    model: object
    found: Candidate
    report: object
    n_iter: int

    @property
    def parameters(self):
        """Parameters of the model."""
        return self.found.x[: self.model.n_parameters]

    @property
    def unknowns(self):
        """Thresholds, or levels, of the problem solved."""
        return self.found.x[self.model.n_parameters :]


class Unit(NamedTuple):
    """Units that scores are trained in: the distance from a centre, over a spread.

    Attributes
    ----------
    center, spread : float
        Where 0 is, and what 1 is.
    """

    center: float = 0.0
    spread: float = 1.0

    def shrunk(self, values):
        """Values in these units."""
        return (values - self.center) / self.spread

    def grown(self, values):
        """What values in these units are."""
        return self.center + self.spread * values


class BasePartialParity(CallbackSupportMixin, BaseEstimator):
    """Linear scores that are fair on an interval of percentiles."""

    __metadata_request__fit = {"sensitive_features": True}
    __metadata_request__predict = {"sensitive_features": True}

    _parameter_constraints = {
        "interval": ["array-like", dict],
        "tolerance": [Interval(Real, 0, 1, closed="both")],
        "tolerance_scale": [StrOptions({"normalized", "raw"})],
        "n_percentiles": [Interval(Integral, 2, None, closed="left")],
        "grid": [StrOptions({"inclusive", "lemma"})],
        "surrogate_width": [Interval(Real, 0, None, closed="neither"), None],
        "group_interactions": ["boolean"],
        "enforce": [StrOptions({"true", "surrogate"})],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "fit_intercept": ["boolean"],
        "solver": [StrOptions(set(PARTIAL_SOLVERS)), Solver],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    @property
    def _request(self):
        return f"criterion={self.criterion!r} asks for groups to be alike"

    def _parity(self, groups, **of_subclass):
        """The criterion, for the groups at hand."""
        # With nobody to compare, a dict of intervals may lack the name of the only group.
        single = len(groups.counts) == 1 and isinstance(self.interval, dict)
        width = self.surrogate_width
        if width is None:
            width = 0.5 if self.criterion in AT_ONE_THRESHOLD else 2.0
        return PartialParity(
            criterion=self.criterion,
            intervals=check_interval((0.0, 1.0) if single else self.interval, groups.summary),
            width=width,
            scale=self.tolerance_scale,
            n_percentiles=self.n_percentiles,
            grid=self.grid,
            **of_subclass,
        )

    def _fit(self, X, y, training, parity, unit):
        """Train on checked input, in the units given, and keep what was found."""
        context = self._init_callback_context(max_subtasks=None)
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)

        def describe(evaluation):
            model, parameters = evaluation.problem.model, evaluation.parameters
            return self._predictor(model.coefficients(parameters), training, unit)

        trained = self._train(training, parity, Watch(self, context, describe))
        validate_data(self, X, skip_check_array=True)  # number and names of features
        self._store(trained, training, unit)
        self._warn(trained.found)
        return self

    def _train(self, training, parity, watch):
        random_state, solver = check_random_state(self.random_state), self._chosen_solver()

        def solve(problem, x, other):
            return (other or solver).solve(problem, x, random_state=random_state, callback=watch)

        problem = ConstrainedProblem(
            self._model(training),
            LOSSES[self.loss],
            training.target,
            training.weights,
            self.alpha,
            Unconstrained(),
        )
        people = People(training.target, training.groups, training.weights)
        task = PartialTask(problem, people, parity, solve)
        if len(training.groups.counts) == 1:
            found = task.plain(task.rough())
        elif self.enforce == "surrogate":
            start = task.rough()
            found = task.constrained(start, task.bind(start, self.tolerance))
        else:
            found = calibrate(task, self.tolerance)
        report = percentile_report(task, found, self.tolerance)
        return Trained(problem.model, found, report, watch.n_iter)

    def _model(self, training):
        X, weights = training.X, training.weights
        if not self.group_interactions:
            return LinearModel.standardized(X, weights, self.fit_intercept)
        if not isinstance(training.groups, Groups):
            raise ValueError(
                "group_interactions=True fits one model per group, but the groups of a sparse "
                "sensitive_features may overlap; pass one label per sample."
            )
        return GroupwiseModel.standardized(X, training.groups.codes, weights, self.fit_intercept)

    def _chosen_solver(self):
        if not isinstance(self.solver, str):
            return self.solver
        limit = {} if self.max_iter is None else {"max_iter": self.max_iter}
        return PARTIAL_SOLVERS[self.solver](tol=self.tol, **limit)

    def _store(self, trained, training, unit):
        """Set all fitted attributes at once, so that a failed fit leaves the last one whole."""
        found, groups = trained.found, training.groups
        predictor = self._predictor(trained.model.coefficients(trained.parameters), training, unit)
        unconstrained = len(groups.counts) == 1
        excess = 0.0 if unconstrained else found.gap - self.tolerance
        surrogate = self.enforce == "surrogate" and not unconstrained
        kept = found.result.status != "infeasible" if surrogate else excess <= 0
        optimal = found.result.status == "optimal"
        fitted = {
            "objective_": found.result.fun,
            "multipliers_": found.result.multipliers,
            "thresholds_": unit.grown(trained.unknowns[: self._n_thresholds()]),
            "constraint_violation_": excess if np.isnan(excess) else max(0.0, excess),
            "status_": ("optimal" if optimal else "max_iter") if kept else "infeasible",
            "constraint_report_": trained.report.assign(
                threshold=unit.grown(trained.report["threshold"])
            ),
            "n_iter_": trained.n_iter,
        }
        for name in ("coef_", "intercept_", "group_coef_", "group_intercept_"):
            vars(self).pop(name, None)
        vars(self).update(predictor | fitted)

    def _predictor(self, coefficients, training, unit):
        """The fitted attributes that predictions need."""
        coef, intercept = coefficients
        coef, intercept = unit.spread * coef, unit.grown(intercept)
        common = {"groups_": training.groups.summary}
        if training.classes is not None:
            common["classes_"] = training.classes
        if self.group_interactions:
            return common | {"group_coef_": coef, "group_intercept_": intercept}
        return common | self._linear(coef, intercept)

    def _n_thresholds(self):
        return self.n_percentiles if self.criterion == "statistical_parity" else 0

    def _warn(self, found):
        if self.status_ == "infeasible":
            reached = "cannot be measured" if np.isnan(found.gap) else f"is {found.gap:.4f}"
            advice = "widen the interval, or try another surrogate_width or group_interactions=True"
            if (spread := np.std(found.scores)) < _NEARLY_EQUAL:
                advice = (
                    f"or lower surrogate_width: the scores are nearly equal (standard deviation "
                    f"{spread:.2g}), which is fair to a wide ramp, but not by rank"
                )
            warnings.warn(
                f"The partial {self.criterion} difference of the training scores {reached}, above "
                f"tolerance={self.tolerance:g}. Raise the tolerance, {advice}. See "
                "constraint_report_ for the groups and thresholds that miss it.",
                InfeasibleConstraintWarning,
                stacklevel=5,
            )
        elif self.status_ == "max_iter":
            warnings.warn(
                f"{found.result.message} Raise max_iter, tol or alpha, or use solver='sqp'.",
                ConvergenceWarning,
                stacklevel=5,
            )

    def _scores(self, X, sensitive_features):
        """Score of each row, by the model of its group if groups have their own."""
        check_is_fitted(self)
        check_alignment(X=X, sensitive_features=sensitive_features)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        if not self.group_interactions:
            return X @ np.ravel(self.coef_) + np.ravel(self.intercept_)[0]
        if sensitive_features is None:
            if len(self.groups_.counts) > 1:
                raise ValueError(
                    "With group_interactions=True every group has coefficients of its own, so "
                    "predictions need sensitive_features: pass each sample's group, as in "
                    "predict(X, sensitive_features=...), or fit with group_interactions=False."
                )
            codes = np.zeros(X.shape[0], dtype=np.intp)
        else:
            codes = match_groups(sensitive_features, X.shape[0], self.groups_)
        if sparse.issparse(X):
            products = sparse.csr_array(X).multiply(self.group_coef_[codes]).sum(axis=1)
        else:
            products = np.einsum("ij,ij->i", X, self.group_coef_[codes])
        return products + self.group_intercept_[codes]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
