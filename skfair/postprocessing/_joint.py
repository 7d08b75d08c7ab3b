"""Probabilities of group and class on small data, and the decisions that follow from them.

On small data Platt scaling of a score and separate models of the group waste information. Here one
logistic regression estimates the joint probabilities J_gy(x) = P(group g, class y | x), from the
classifier's out-of-fold score and from a small model of the features (stacking).

For decisions d(x) in [0, 1] the expected rates of groups are linear in d, and so is the expected
share of right decisions. The best decisions under bounds on the rates solve a linear program. Its
dual has one multiplier per row, and the decisions threshold a linear function of J(x) (R. Xian and
H. Zhao, "A unified post-processing framework for group fairness in classification",
arXiv:2405.04025, 2024).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.linalg import block_diag
from scipy.optimize import LinearConstraint, minimize
from scipy.special import expit, logit, softmax
from sklearn.utils.parallel import Parallel, delayed

from skfair.fitting._guarantee import Guarantee
from skfair.losses import LogisticLoss, step_function
from skfair.postprocessing._events import (
    MIN_PROBABILITY,
    EventFeatures,
    enforce_and_select,
    group_codes,
    linearize_solution,
    make_fitter,
    make_fitters,
    sums_and_changes,
)
from skfair.postprocessing._group_models import default_model_names, fit_classifier
from skfair.postprocessing._group_thresholds import search_selection
from skfair.postprocessing._logistic import fit_standardized_logistic
from skfair.postprocessing._out_of_fold_scores import (
    final_step_features,
    predict_label_probabilities,
)
from skfair.solvers._solver import Progress, Result
from skfair.utils._sklearn import safe_indexing

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from skfair.constraints import Constraint
    from skfair.fitting._counting import Candidate
    from skfair.fitting._fitter import Fitter
    from skfair.fitting._input import TrainingData
    from skfair.fitting._outcome import FitProgressCallback
    from skfair.models._linear import LinearModel
    from skfair.postprocessing._events import ConstraintEvents, RuleRequest
    from skfair.postprocessing._out_of_fold_scores import EqualRows
    from skfair.problems._problem import ConstrainedProblem


_SMOOTHING = 0.05
"""Width of the decisions' threshold in the dual, in units of the probability times two: the
multipliers then vary less with the sample."""


_LENGTHS = np.linspace(0.0, 2.0, 33)
"""Of lines on which the highest scores are searched, in distances to a solution."""


def suits_joint_probabilities(
    estimator: BaseEstimator,
    per_class: list[TrainingData],
    constraint_events: ConstraintEvents,
    constraints: list[Constraint],
) -> bool:
    """Whether one small model of group and class pays, and gives all that the constraints compare.

    It pays on small data of two classes, where decisions are compared in groups or in their
    classes, unless a parameter of the estimator asks for other models of the groups.
    """
    parameters = estimator.get_params(deep=False)
    names = "group_estimator", "confidence_level", "class_weight"
    is_default = all(parameters.get(name) is None for name in names)
    if not is_default or parameters.get("missing", "error") != "error":
        return False
    if (
        per_class[0].classes is None
        or len(per_class) > 1
        or not constraint_events.subsets
        or constraint_events.compares_scores
    ):
        return False
    follows = all(source != "learned" for _, source in constraint_events.sources)
    # Of more samples the model takes long.
    is_small = len(constraint_events.codes) <= 10_000
    # One model of all groups and classes is small up to 12 of them.
    is_small &= 2 * (constraint_events.codes.max() + 1) <= 12
    terms = [constraint.terms(step_function, LogisticLoss()) for constraint in constraints]
    # A quotient alone, whose searches are not convex, is led better by the log-odds.
    is_quotient = len(terms) == 1 and len(terms[0]) > 1
    return follows and is_small and not is_quotient


# Joint probabilities.


_LEARNS_CLASS = {"boosted", "screened"}
"""Kinds of classifiers that learn group and class; others learn the group."""


class FoldModel(NamedTuple):
    """Small classifiers of numbered labels, on features preprocessed by a fitted estimator."""

    base: Any
    kinds: list
    classifiers: list
    n_labels: list

    @classmethod
    def fit(
        cls,
        base: BaseEstimator,
        kinds: list[str],
        training: TrainingData,
        codes: np.ndarray,
        rows: np.ndarray,
    ) -> FoldModel:
        """Fit a classifier of each kind to some rows, of the group or of group and class."""
        features = final_step_features(base, safe_indexing(training.samples.X, rows))
        weights = training.samples.weights[rows]
        classifiers = []
        n_labels = []
        for kind in kinds:
            labels = codes[rows]
            n_groups = codes.max() + 1
            if kind in _LEARNS_CLASS:
                labels = 2 * labels + (training.samples.target[rows] > 0)
            # More trees than for the group alone: the class is learned as well.
            name = "more boosted" if kind == "boosted" else kind
            classifiers.append(fit_classifier(name, features, labels, weights))
            n_labels.append(2 * n_groups if kind in _LEARNS_CLASS else n_groups)
        return cls(base, list(kinds), classifiers, n_labels)

    def log_ratios(self, X: np.ndarray) -> np.ndarray:
        """Logarithms of the probabilities, over that of the first label of each classifier."""
        features = final_step_features(self.base, X)
        ratios = []
        for classifier, n_labels in zip(self.classifiers, self.n_labels, strict=True):
            probabilities = predict_label_probabilities(classifier, features, n_labels)
            logs = np.log(np.maximum(probabilities, MIN_PROBABILITY))
            ratios.append(logs[:, 1:] - logs[:, :1])
        return np.hstack(ratios)


class JointProbabilities(NamedTuple):
    """Joint probabilities of group and class: a logistic regression of scores and log-ratios.

    Outcomes are numbered ``2 * group + class``. New samples get the mean of the log-ratios by
    ``models``. ``coef`` has shape (n_outcomes, 1 + n_log_ratios), ``intercept`` (n_outcomes,); an
    outcome that did not occur has intercept -inf.
    """

    models: list
    coef: np.ndarray
    intercept: np.ndarray
    compares_scores: bool = False  # events of scores are no groups with classes

    # What the final rule is made of, as of `EventFeatures`.

    def refit_as_one_model(
        self, base: BaseEstimator, training: TrainingData, constraint_events: ConstraintEvents
    ) -> Any:
        """The same probabilities with one model of all samples."""
        rows = np.arange(len(constraint_events.codes))
        models = [
            FoldModel.fit(base, self.models[0].kinds, training, constraint_events.codes, rows)
        ]
        return self._replace(models=models)

    @staticmethod
    def group_probabilities(probabilities: np.ndarray) -> np.ndarray:
        """Probabilities of the groups, (n_samples, n_groups)."""
        return probabilities.sum(axis=1)

    def columns_and_probabilities(
        self, odds: np.ndarray, X: np.ndarray, codes: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Log-odds of the positive class, and probabilities of groups with negatives, positives.

        The latter have shape (n_samples, 2, n_groups).
        """
        ratios = np.mean([model.log_ratios(X) for model in self.models], axis=0)
        return self.split(self.predict(np.hstack((odds, ratios))))

    def predict(self, columns: np.ndarray) -> np.ndarray:
        """Probability of every outcome, (n_samples, n_outcomes)."""
        return softmax(columns @ self.coef.T + self.intercept, axis=1)

    @staticmethod
    def split(joint: np.ndarray) -> Any:
        """Log-odds of the positive class, (n_samples, 1), and probabilities by class and group."""
        by_class = joint.reshape(len(joint), -1, 2).transpose(0, 2, 1)
        success = np.clip(by_class[:, 1].sum(axis=1, keepdims=True), 1e-9, 1.0 - 1e-9)
        return logit(success), by_class

    @staticmethod
    def group_class_probabilities(odds: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
        """Probabilities of groups with the negative class, then with the positive one."""
        return probabilities.reshape(len(probabilities), -1)

    @staticmethod
    def features(odds: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
        """Features of the final linear model: all probabilities but the first, (1, n, n - 1)."""
        return probabilities.reshape(1, len(probabilities), -1)[:, :, 1:]

    @staticmethod
    def scale(coef: np.ndarray) -> float:
        """Factor of scores with which a positive class adds 2 to them, as it does unconstrained."""
        negative, positive = np.split(np.append(0.0, coef), 2)
        rise = (positive - negative).mean()
        return 2.0 / rise if rise > 0 else 1.0

    @staticmethod
    def sample_thresholds(odds: np.ndarray, scores: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """Probability of the positive class from which on samples are accepted, (n_samples,)."""
        return np.clip(expit(odds) - scores / 2.0, 1e-9, 1.0 - 1e-9)

    @staticmethod
    def weights(coef: np.ndarray) -> Any:
        """Coefficient of the log-odds, and those of what an event is multiplied with."""
        weights = np.zeros((4, 2, (len(coef) + 1) // 2))
        weights[0] = np.append(0.0, coef).reshape(2, -1)
        return 0.0, weights

    @staticmethod
    def unconstrained_parameters(model: LinearModel, _: np.ndarray) -> np.ndarray:
        """Parameters by which the likelier class is predicted, as it is without constraint."""
        coef, _ = model.coefficients(np.zeros(model.n_parameters))  # type: ignore[assignment]
        gains = np.repeat([-1.0, 1.0], (len(coef) + 1) // 2)
        return model.parameters(gains[1:] - gains[0], gains[0])

    @staticmethod
    def solve(fitter: Any, request: RuleRequest, confidence: float | None) -> Any:
        """The solved problem and the guarantee, as `fit_final_model` returns them.

        The decisions keep the bounds in expectation, and by count.
        """
        candidate = None
        start = {}
        # Rows that are linear in rates; those of other gaps are left to the searches.
        if all(
            one.rows.rates_to_rows is not None and not one.sums.is_quotient
            for one in fitter.constraint
        ):
            candidate = _solve_with_corrections(fitter, request.per_class[0], request.callback)
            start = {"start": candidate.parameters}
        if candidate is None or not candidate.keeps_bound:
            fitters = [replace(one, **start) for one in make_fitters(fitter, request)]
            fitter, candidate = enforce_and_select(fitters)
        return linearize_solution(fitter, Guarantee(candidate, fitter.constraint.tolerances))


def fit_joint_probabilities(
    bases: list[BaseEstimator],
    training: TrainingData,
    odds: np.ndarray,
    constraint_events: ConstraintEvents,
    folds: list[list[np.ndarray]],
    equal_rows: EqualRows,
    n_jobs: int | None = None,
) -> Any:
    """`JointProbabilities` of the folds' models, and out-of-fold `columns_and_probabilities`.

    Of several stacks of small models that with the lowest log-loss is taken.
    """
    codes = constraint_events.codes
    weights = training.samples.weights
    outcomes = 2 * codes + (training.samples.target > 0)
    bases = bases if len(bases) == len(folds) else bases * len(folds)
    best = None
    lowest = np.inf
    names = default_model_names(final_step_features(bases[0], training.samples.X))
    # Logistic regressions of many columns are stacked, others are tried one by one.
    for kinds in [names] if "dense" in names else [[name] for name in names]:
        models = Parallel(n_jobs=n_jobs)(
            delayed(FoldModel.fit)(base, kinds, training, codes, train)
            for base, (train, _) in zip(bases, folds, strict=True)
        )
        log_ratios = [
            model.log_ratios(safe_indexing(training.samples.X, test))
            for model, (_, test) in zip(models, folds, strict=True)
        ]
        columns = np.empty((len(codes), 1 + log_ratios[0].shape[1]))
        columns[:, :1] = odds
        columns[np.concatenate([test for _, test in folds]), 1:] = np.concatenate(log_ratios)
        columns = equal_rows.average(columns)
        coef, intercept = _fit_stack(columns, outcomes, weights)
        joint = JointProbabilities(models, coef, intercept)
        probabilities = joint.predict(columns)
        likelihoods = probabilities[np.arange(len(codes)), outcomes]
        loss = -(weights @ np.log(np.maximum(likelihoods, MIN_PROBABILITY)))
        if loss < lowest:
            best = (joint, *joint.split(probabilities))
            lowest = loss
    return best


def _fit_stack(
    columns: np.ndarray, outcomes: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients and intercepts of a multinomial logistic regression, for unscaled columns.

    By its score equations expected counts of all outcomes equal the counted ones.
    """
    # The columns of the stack are few, so that their penalty is small.
    penalty = 1.0 / (100.0 * len(outcomes))
    model = fit_standardized_logistic(columns, outcomes, weights, penalty)
    n_outcomes = 2 * (outcomes.max() // 2 + 1)
    coef = np.zeros((n_outcomes, columns.shape[1]))
    intercept = np.full(n_outcomes, -np.inf)
    coef[model.classes_] = model.coef
    intercept[model.classes_] = model.intercept
    return coef, intercept


class ChanceFeatures(NamedTuple):
    """Features of the final linear model: probabilities of group and class by `EventFeatures`."""

    event_features: EventFeatures
    compares_scores: bool = False

    @staticmethod
    def scale(coef: np.ndarray) -> float:
        """Factor of scores, as of `JointProbabilities`."""
        return JointProbabilities.scale(coef)

    @staticmethod
    def sample_thresholds(odds: np.ndarray, scores: np.ndarray, coef: np.ndarray) -> Any:
        """Probability from which on samples are selected, as of `JointProbabilities`."""
        return JointProbabilities.sample_thresholds(odds, scores, coef)

    def columns_and_probabilities(
        self, odds: np.ndarray, X: np.ndarray, codes: np.ndarray | None = None
    ) -> tuple:
        """Log-odds as they are, and probabilities of events of new samples."""
        return self.event_features.columns_and_probabilities(odds, X, codes)

    def features(self, odds: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
        """All probabilities of groups and classes but the first, (1, n_samples, n - 1)."""
        chances = self.event_features.group_class_probabilities(odds, probabilities)
        return JointProbabilities.features(odds, chances)

    def weights(self, coef: np.ndarray) -> Any:
        """Coefficient of the log-odds, and those of the events, as of `EventFeatures`."""
        weights = np.zeros((4, *self.event_features.table.shape[1:3]))
        by_class = np.append(0.0, coef).reshape(2, -1)
        # Of negatives 1, less the probability of success; of positives this.
        negatives, positives = self.event_features.class_subsets
        weights[0, negatives] += by_class[0]
        weights[1, negatives] -= by_class[0]
        weights[1, positives] += by_class[1]
        return 0.0, weights


# The best decisions under bounds on expected rates.


def fit_selection(request: RuleRequest, knows_groups: bool) -> tuple[ConstrainedProblem, Guarantee]:
    """The solved problem and the guarantee of the highest scores that keep the constraints.

    Of candidates that keep them the one that selects most expected positives is taken.
    """
    fitter = make_fitter(request)
    training = request.per_class[0]
    solved = _solve_with_corrections(fitter, training, request.callback)
    # Nearer to the scores without constraint more positives are selected: search on the lines
    # from there to the solutions with and without corrections.
    plain = JointProbabilities.unconstrained_parameters(fitter.problem.model, None)  # type: ignore[arg-type]
    candidates = [solved]
    for end in (solved.parameters, solved.result.x[: len(plain)]):
        for length in _LENGTHS:
            parameters = plain + length * (end - plain)
            candidates.append(fitter.evaluate(parameters, solved.result))
    chances = training.X[:, training.X.shape[1] // 2 :].sum(axis=1)
    if knows_groups:
        codes = group_codes(training.samples.groups)
        candidates.append(search_selection(fitter, solved, chances, codes))
    gains = fitter.problem.mean_weights * chances
    best = min(candidates, key=lambda one: (one.violation, -(gains @ (one.scores > 0))))  # type: ignore[operator]
    return linearize_solution(fitter, Guarantee(best, fitter.constraint.tolerances))


def _solve_with_corrections(
    fitter: Fitter, training: TrainingData, callback: FitProgressCallback
) -> Candidate:
    """The decisions of the dual, corrected until the counted rates keep their bounds.

    A correction moves the expected rates by their residual to the counted ones, and lowers the
    tolerances a little. If none keeps the bounds, the candidate of least violation is returned.
    """
    program = _ExpectedRateProgram.from_fitter(fitter, training)
    candidates: list = []
    for number in range(9):
        # Every correction lowers the tolerances by a twentieth: counted rates jump.
        multipliers = program.solve(1.0 - 0.05 * number)
        parameters = program.parameters(multipliers)
        # The certified solution is that of the requested bounds.
        result = candidates[0].result if candidates else program.result(parameters, multipliers)
        candidates.append(fitter.evaluate(parameters, result))
        progress = Progress(
            n_iter=number + 1,
            evaluation=result.evaluation,
            residual=np.nan,
            multipliers=multipliers,
            details={},
            best=result.evaluation,
        )
        is_stopped = callback(progress)
        if candidates[-1].keeps_bound:
            return _bisect_candidates(fitter, *candidates[-2:])
        if is_stopped:
            break
        program = program.correct(multipliers, candidates[-1].scores)
    return min(candidates, key=lambda candidate: candidate.violation)


def _bisect_candidates(
    fitter: Fitter, outside: Candidate, inside: Candidate | None = None
) -> Candidate:
    """The candidate nearest to one outside the bounds that is within them, on a line to another.

    A single candidate is returned as it is.
    """
    if inside is None:
        return outside
    for _ in range(6):
        middle = fitter.evaluate((outside.parameters + inside.parameters) / 2.0, inside.result)
        outside, inside = (outside, middle) if middle.keeps_bound else (middle, inside)
    return inside


class _ExpectedRateProgram(NamedTuple):
    """Decisions of the largest expected accuracy whose expected rates keep their bounds.

    With d the decisions and w the weights of the samples, the expected share of right decisions is
    a constant plus half of ``sum_i w_i d_i (2 P(y_i = 1) - 1)``. The rows are ``constant + sum_i
    w_i d_i (joint @ effects.T)_i``.
    """

    system: Any
    joint: np.ndarray  # (n_samples, n_outcomes), of negatives first
    weights: np.ndarray  # (n_samples,), sum 1
    effects: np.ndarray  # (n_rows, n_outcomes), of a positive decision per weight
    constant: np.ndarray  # (n_rows,), rows of negative decisions
    problem: Any
    shares: list  # of samples that are selected, the bound of a last row; empty without

    @classmethod
    def from_fitter(cls, fitter, training):
        """The program of a fitter's constraint, with the training data's features."""
        rest = training.X
        joint = np.column_stack((1.0 - rest.sum(axis=1), rest))
        weights = fitter.problem.mean_weights
        n_outcomes = joint.shape[1]
        positive = training.samples.target > 0
        outcomes = group_codes(training.samples.groups) + positive * (n_outcomes // 2)
        effects = [np.empty((0, n_outcomes))]
        constant = [np.empty(0)]
        for one in fitter.constraint:
            sums, changes = sums_and_changes(one, outcomes, n_outcomes, weights)
            values, slope = one.rows.rows_at(sums, np.zeros(one.rows.n_aux))
            effects.append(slope @ changes)
            constant.append(values)
        shares = [] if fitter.share is None else [fitter.share]
        effects.append(np.ones((len(shares), n_outcomes)))
        constant.append(np.zeros(len(shares)))
        effects, constant = map(np.concatenate, (effects, constant))
        return cls(
            system=fitter.constraint,
            joint=joint,
            weights=weights,
            effects=effects,
            constant=constant,
            problem=fitter.problem,
            shares=shares,
        )

    def margins(self, multipliers: np.ndarray) -> np.ndarray:
        """Gain less what the rows cost, in units of the smoothing, (n_samples,)."""
        # Expected gain of a positive decision about each sample.
        gains = 2.0 * self.joint[:, self.joint.shape[1] // 2 :].sum(axis=1) - 1.0
        return (gains - self.joint @ (self.effects.T @ multipliers)) / _SMOOTHING

    def rows(self, margins: np.ndarray) -> np.ndarray:
        """Expected rows of smooth decisions, less their constant, (n_rows,)."""
        return self.effects @ (self.joint.T @ (self.weights * expit(margins)))

    def correct(self, multipliers: np.ndarray, scores: np.ndarray) -> _ExpectedRateProgram:
        """The same program with its rows moved by their residual to the counted ones."""
        counted = [
            one.rows.rows_at(one.sums.exact_means(scores), np.zeros(one.rows.n_aux))[0]
            for one in self.system
        ]
        counted += [[self.weights @ (scores > 0)] for _ in self.shares]
        constant = np.concatenate(counted) - self.rows(self.margins(multipliers))
        return self._replace(constant=constant)

    def solve(self, factor: Any) -> np.ndarray:
        """Multipliers of the rows, (n_rows,), with all tolerances times a factor.

        They minimise the dual, in which the threshold of decisions is smooth.
        """
        scaled = self.system.replace_tolerances(factor * self.system.tolerances)
        lower, upper = (
            np.concatenate([*(getattr(one.rows, side) for one in scaled), self.shares])
            - self.constant
            for side in ("lower", "upper")
        )
        n_rows = len(upper)
        if not n_rows:
            return np.zeros(0)

        # Multipliers of upper and of lower bounds, of which infinite ones have none.
        bounds = np.concatenate((upper, -lower))
        # Multipliers of bounds that no decisions keep would be infinite.
        limits = [(0.0, 100.0 if np.isfinite(bound) else 0.0) for bound in bounds]
        bounds = np.where(np.isfinite(bounds), bounds, 0.0)

        def dual(both: np.ndarray) -> Any:
            margins = self.margins(both[:n_rows] - both[n_rows:])
            value = _SMOOTHING * self.weights @ np.logaddexp(0.0, margins) + both @ bounds
            rows = self.rows(margins)
            return value, bounds - np.concatenate((rows, -rows))

        # The multipliers of rows with a common auxiliary unknown, such as a mean rate, cancel.
        of_shares = np.empty((len(self.shares), 0))
        aux = block_diag(*[one.rows.aux_jacobian for one in self.system], of_shares).T
        cancels = [LinearConstraint(np.hstack((aux, -aux)), 0.0, 0.0)] if len(aux) else []
        start = np.zeros(2 * n_rows)
        method = "SLSQP" if cancels else "L-BFGS-B"
        options = {"maxiter": 200, "ftol": 1e-10}
        solution = minimize(
            dual,
            start,
            jac=True,
            bounds=limits,
            constraints=cancels,
            method=method,
            options=options,
        )
        return solution.x[:n_rows] - solution.x[n_rows:]

    def parameters(self, multipliers: np.ndarray) -> np.ndarray:
        """Parameters of the linear model that decides by the multipliers."""
        half = self.joint.shape[1] // 2
        # A right decision is worth as much as a wrong one costs, less what the rows cost.
        by_outcome = np.repeat([-1.0, 1.0], half) - self.effects.T @ multipliers
        return self.problem.model.parameters(by_outcome[1:] - by_outcome[0], by_outcome[0])

    def result(self, parameters: np.ndarray, multipliers: np.ndarray) -> Result:
        """The solution as a solver's result; the residual of a program is not measured."""
        evaluation = self.problem.evaluate(self.problem.initial_point(parameters))
        return Result(
            x=evaluation.x,
            fun=evaluation.fun,
            violation=evaluation.violation,
            evaluation=evaluation,
            residual=np.nan,
            multipliers=multipliers[: len(multipliers) - len(self.shares)],
            n_iter=1,
            status="optimal",
            message="The expected rates keep their bounds.",
        )
