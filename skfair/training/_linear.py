"""Base of linear estimators that are trained under constraints."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from skfair.enforcement import Fitter, enforce_in_population
from skfair.groups import check_alignment, encode_groups_to_predict
from skfair.models import GroupInterceptsModel, GroupwiseModel, LinearModel
from skfair.training._cost import warn_of_cost_to
from skfair.training._dependence import warn_of_dependence
from skfair.training._model import ConstrainedModel, feature_attributes
from skfair.training._outcome import FitProgress, store_fit, warn_of_outcome
from skfair.training._partitioned import divide
from skfair.utils._sklearn import StrOptions


class ConstrainedLinearModel(ConstrainedModel):
    """Base of linear estimators that are trained under constraints.

    A subclass has the parameters named below and `tolerance`, `loss`; it checks the input of its
    ``fit``, and hands it to `_fit` with its constraints.
    """

    __metadata_request__predict = {"sensitive_features": True}

    n_jobs: Any = None
    """Number of threads; a parameter of estimators that use several."""

    class_weight: Any = None
    """Weights of classes; a parameter of some classifiers."""

    _partitioned_enforcements = ("auto", None)
    """Values of ``enforcement`` that need sums over samples alone."""

    _parameter_constraints = {
        **ConstrainedModel._parameter_constraints,
        "fit_intercept": ["boolean"],
        "group_interactions": ["boolean", StrOptions({"intercept"})],
    }

    def _fit(self, X, y, training, constraints, weights=None):
        """Train on checked input."""
        solver = self._chosen_solver()
        model = self._model(training)
        problem = self._problem_of(model, training, constraints, weights)
        problem = problem.single() if solver.one_row else problem
        if self.confidence_level is None and self.enforcement in self._partitioned_enforcements:
            problem = divide(problem, solver, self.n_jobs)
        return self._fit_problem(X, y, training, problem, solver)

    def _fit_problem(self, X, y, training, problem, solver):
        """Enforce the problem of checked input, and store the fitted attributes."""
        random_state = check_random_state(self.random_state)
        # Without groups there is nothing to guarantee.
        confidence = None if training.lacks_groups else self.confidence_level
        if confidence is not None:
            warn_of_dependence(training.X, training)
        start = self._start(problem.model, training)
        # Callbacks see the fit begin, every iteration of every problem, and the fit end.
        context = self._init_callback_context(max_subtasks=None)
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        watch = FitProgress(
            self,
            context,
            lambda evaluation: self._predictor(problem.model, evaluation.parameters, training),
        )
        # From smooth rates to decisions, and on to the population if a confidence is requested.
        fitter = Fitter(problem, start, solver, {"random_state": random_state, "callback": watch})
        clusters = training.samples.clusters
        guarantee = enforce_in_population(fitter, self.enforcement, confidence, clusters=clusters)
        candidate = guarantee.candidate
        fitted = self._outcome(problem, guarantee, training)
        fitted |= self._predictor(problem.model, candidate.parameters, training)
        fitted |= feature_attributes(X)
        # Until here an earlier fit is intact.
        store_fit(self, fitted | {"n_iter_": watch.n_iter})
        warn_of_outcome(self, problem.constraint, guarantee)
        if not (training.lacks_groups or watch.is_stopped):
            is_guaranteed = confidence is not None
            warn_of_cost_to(fitter, candidate, training.classes is None, is_guaranteed)
        context.call_on_fit_task_end(estimator=self, X=X, y=y)
        return self

    def _model(self, training):
        if not self.group_interactions:
            X, weights = training.X, training.samples.weights
            return LinearModel.from_features(X, weights, self.fit_intercept, self.n_jobs)
        if not training.samples.groups.is_disjoint:
            raise ValueError(
                f"group_interactions={self.group_interactions!r} gives every group "
                f"{self._per_group} of its own, but the groups of a sparse sensitive_features may "
                "overlap; pass one label per sample."
            )
        # Small groups share the parameters of the largest one.
        merged, _ = training.samples.merge_small_groups()
        columns = training.X, merged.codes, training.samples.weights
        if not self._shares_coefficients:
            return GroupwiseModel.from_features(*columns, self.fit_intercept)
        if not self.fit_intercept:
            raise ValueError(
                "group_interactions='intercept' gives every group an intercept of its own, but "
                "fit_intercept=False asks for none; leave fit_intercept=True, or pass "
                "group_interactions=False."
            )
        return GroupInterceptsModel.from_features(*columns)

    @property
    def _shares_coefficients(self):
        return not self.group_interactions or self.group_interactions == "intercept"

    @property
    def _per_group(self):
        """Name of the parameters that each group has for itself, in messages."""
        return "an intercept" if self._shares_coefficients else "coefficients"

    def _start(self, model, training):
        """Model parameters to start from."""
        names, unit = self._coefficient_names, training.unit
        zero = np.zeros(model.n_parameters)
        if not (self.warm_start and all(hasattr(self, name) for name in names)):
            return zero
        previous = [getattr(self, name) for name in names]
        # The previous coefficients must have the shapes that this fit's will have.
        zeros = self._expand_groups(model.coefficients(zero), training)
        if [np.size(values) for values in previous] != [np.size(values) for values in zeros]:
            raise ValueError(
                f"warm_start=True starts from the previous fit's {previous[0].size} coefficients"
                + (f" and {previous[1].size} intercepts" if self.group_interactions else "")
                + f", but X has {zeros[0].shape[-1]} columns"
                + (f" and {zeros[1].size} groups" if self.group_interactions else "")
                + "; pass warm_start=False."
            )
        coef, intercept = map(np.reshape, previous, map(np.shape, zeros))
        if self.group_interactions:  # merged groups share their parameters
            _, positions = training.samples.merge_small_groups()
            first = np.unique(positions, return_index=True)[1]
            coef, intercept = coef if self._shares_coefficients else coef[first], intercept[first]
        return model.parameters(coef / unit.spread, unit.to_unit(intercept))

    def _expand_groups(self, coefficients, training):
        """Coefficients and intercepts of all groups; small groups share theirs."""
        if not self.group_interactions:
            return coefficients
        (coef, intercept), (_, positions) = coefficients, training.samples.merge_small_groups()
        return coef if self._shares_coefficients else coef[positions], intercept[positions]

    @property
    def _coefficient_names(self):
        return (
            "coef_" if self._shares_coefficients else "group_coef_",
            "group_intercept_" if self.group_interactions else "intercept_",
        )

    def _predictor(self, model, parameters, training):
        """The fitted attributes that predictions need."""
        unit = training.unit
        coef, intercept = self._expand_groups(model.coefficients(parameters), training)
        coef, intercept = unit.spread * coef, unit.from_unit(intercept)
        if self._shares_coefficients:
            coef, intercept = self._reshape(coef, intercept)
        fitted = dict(zip(self._coefficient_names, (coef, intercept), strict=True))
        if training.classes is not None:
            fitted |= {"classes_": training.classes, "pos_label_": training.pos_label}
        return fitted | {"groups_": training.samples.groups.summary}

    def _reshape(self, coef, intercept):
        """Coefficients and intercept in the shapes of scikit-learn's regressors."""
        return coef, intercept

    def _scores(self, X, sensitive_features):
        """Score of each row, by the parameters of its group."""
        check_is_fitted(self)
        check_alignment(X=X, sensitive_features=sensitive_features)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        if not self.group_interactions:
            return X @ np.ravel(self.coef_) + np.ravel(self.intercept_)[0]
        reason = (
            f"With group_interactions={self.group_interactions!r} every group has "
            f"{self._per_group} of its own, so predictions need sensitive_features: they do not "
            "with group_interactions=False."
        )
        codes = encode_groups_to_predict(sensitive_features, X.shape[0], self.groups_, reason)
        if self._shares_coefficients:
            return X @ np.ravel(self.coef_) + self.group_intercept_[codes]
        scores = np.empty(X.shape[0])
        for code, coef in enumerate(self.group_coef_):
            rows = np.flatnonzero(codes == code)
            scores[rows] = X[rows] @ coef + self.group_intercept_[code]
        return scores
