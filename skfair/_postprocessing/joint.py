"""Probabilities of group and class on small data, and the decisions that follow from them.

On small data Platt scaling of a score and separate models of the group waste information. Here one
logistic regression estimates the joint probabilities J_gy(x) = P(group g, class y | x), from the
classifier's out-of-fold score and from a small model of the features (stacking).

The best decisions under bounds on rates threshold a linear function of J(x) (R. Xian and H. Zhao,
"A unified post-processing framework for group fairness in classification", arXiv:2405.04025, 2024).
Of these functions those are taken in which positives count for a decision, and negatives against.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit, softmax
from sklearn.utils.parallel import Parallel, delayed

from skfair._fitting.counting import sort_key
from skfair._fitting.guarantee import Guarantee
from skfair._postprocessing.events import (
    MIN_PROBABILITY,
    group_codes,
    linearize_solution,
    sums_and_changes,
)
from skfair._postprocessing.group_models import default_model_names, fit_classifier
from skfair._postprocessing.logistic import fit_standardized_logistic
from skfair._postprocessing.out_of_fold_scores import (
    final_step_features,
    predict_label_probabilities,
)
from skfair._utils.sklearn import safe_indexing
from skfair.losses import LogisticLoss, step_function
from skfair.solvers._solver import Progress, Result

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sklearn.base import BaseEstimator

    from skfair._fitting.counting import Candidate
    from skfair._fitting.fitter import Fitter
    from skfair._fitting.input import TrainingData
    from skfair._fitting.outcome import FitProgressCallback
    from skfair._postprocessing.events import ConstraintEvents, RuleRequest
    from skfair._postprocessing.out_of_fold_scores import EqualRows
    from skfair._problems.linear import LinearModel
    from skfair._problems.problem import ConstrainedProblem
    from skfair.constraints import Constraint


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
    names = "group_estimator", "confidence_level", "k"
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
    ) -> JointProbabilities:
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
    def split(joint: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
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
        """Factor of scores: none, as `decision_scores` are log-odds."""
        return 1.0

    @staticmethod
    def log_odds(features: np.ndarray) -> np.ndarray:
        """Log-odds of the positive class, (n_samples,)."""
        return _log_odds(_all_outcomes(features))

    @staticmethod
    def decision_scores(features: np.ndarray, coef: np.ndarray, intercept: float) -> np.ndarray:
        """Log-odds of the positive class less those of the sample's threshold, (n_samples,).

        They are the log-odds of outcomes that are weighed, and positive where the rule is.
        """
        weights = intercept + np.append(0.0, coef)
        return _log_odds(_all_outcomes(features) * np.abs(weights))

    @staticmethod
    def sample_thresholds(odds: np.ndarray, scores: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """Probability of the positive class from which on samples are accepted, (n_samples,)."""
        return np.clip(expit(odds - scores), 1e-9, 1.0 - 1e-9)

    @staticmethod
    def weights(coef: np.ndarray, intercept: float) -> tuple[float, float, np.ndarray]:
        """Coefficient of the log-odds, intercept, and weights, as of `EventFeatures`."""
        weights = np.zeros((4, 2, (len(coef) + 1) // 2))
        weights[0] = (intercept + np.append(0.0, coef)).reshape(2, -1)
        return 0.0, 0.0, weights

    @staticmethod
    def unconstrained_parameters(model: LinearModel, intercepts: np.ndarray | list) -> np.ndarray:
        """Parameters of the decisions that cost least without constraint.

        These are positive where the log-odds, plus the intercept, are.
        """
        cost = expit(-np.ravel(intercepts)[0])
        return _to_parameters(model, np.repeat([-cost, 1.0 - cost], model.n_parameters // 2))

    @staticmethod
    def solve(
        fitter: Fitter, request: RuleRequest, confidence: float | None
    ) -> tuple[ConstrainedProblem, Guarantee]:
        """The solved problem and the guarantee, as `fit_final_model` returns them."""
        candidate = fit_outcome_weights(fitter, request.per_class[0], request.callback)
        return linearize_solution(fitter, Guarantee(candidate, fitter.constraint.tolerances))


def fit_joint_probabilities(
    bases: list[BaseEstimator],
    training: TrainingData,
    odds: np.ndarray,
    constraint_events: ConstraintEvents,
    folds: list[list[np.ndarray]],
    equal_rows: EqualRows,
    n_jobs: int | None = None,
) -> tuple[JointProbabilities, np.ndarray, np.ndarray]:
    """`JointProbabilities` of the folds' models, and out-of-fold `columns_and_probabilities`.

    Of several stacks of small models that with the lowest log-loss is taken.
    """
    codes = constraint_events.codes
    weights = training.samples.weights
    outcomes = 2 * codes + (training.samples.target > 0)
    bases = bases if len(bases) == len(folds) else bases * len(folds)
    stacks = []
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
        stacks.append((loss, joint, probabilities))
    _, joint, probabilities = min(stacks, key=itemgetter(0))
    return joint, *joint.split(probabilities)


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


# Weights of outcomes.
#
# The rule accepts a sample if ``sum_g u_g P(g, y = 1 | x) > sum_g v_g P(g, y = 0 | x)``, with all
# u, v > 0: an accepted positive is never a loss, nor an accepted negative a gain, in any group. So
# at equal probabilities of the groups a higher score is never refused where a lower one is
# accepted. No other decisions accept more positives and fewer negatives of every group.


_LARGEST_LOG = 7.0
"""Of a weight, in units of that without constraint: thresholds stay finite."""

_PENALTY = 3e-4
"""Of squared logarithms of weights: of nearly equal rules the one nearest to that without
constraint is taken, which other folds change least."""

_N_STEPS = 4
"""From the tolerances that the first rule keeps to those requested."""

_MAX_CORRECTIONS = 4
"""By counted rates, which differ from the expected ones."""

_WIDTH = 0.15
"""Width of the decisions' threshold, in log-odds: the weights then vary less with the sample."""


def fit_outcome_weights(
    fitter: Fitter, training: TrainingData, callback: FitProgressCallback
) -> Candidate:
    """The best rule by weights of outcomes whose counted rates keep their bounds.

    A path starts at the rule without constraint. The program is not convex: where that path loses
    much, two others start at rules that accept fewer samples, and more. If no rule keeps the bounds
    it is the one of least violation.
    """
    program = WeightProgram.from_fitter(fitter, training)
    fewer = np.repeat([1.0, -1.0], len(program.units) // 2)
    best = _follow_path(fitter, program, 0.0 * fewer, callback)
    free = fitter.evaluate(program.parameters(0.0 * fewer), best.result)
    if best.keeps_bound and share_lost(fitter.problem, best.error, free.error) <= 0.5:
        return best
    others = [_follow_path(fitter, program, side * fewer, callback) for side in (1.0, -1.0)]
    return min([best, *others], key=sort_key)


def share_lost(problem: ConstrainedProblem, error: float, free: float) -> float:
    """The share that decisions about two classes lose of what others improve on a constant."""
    positive = problem.target > 0
    constant = min(problem.mean_weights @ positive, problem.mean_weights @ ~positive)
    return (error - free) / max(float(constant) - free, 1e-12)


def _follow_path(
    fitter: Fitter, program: WeightProgram, logs: np.ndarray, callback: FitProgressCallback
) -> Candidate:
    """The rule at the end of a path of tolerances, from logarithms of weights.

    The tolerances are lowered step by step to those requested. Each step moves the expected sums by
    their residual to the counted ones, so that counted rates follow the path too. The rule is the
    one nearest to the bounds, on a line between one that keeps them and one that does not.
    """
    tolerances = fitter.constraint.tolerances
    inside: list[Candidate] = []
    outside: list[Candidate] = []
    program = program.correct(logs)
    excess = np.maximum(program.gaps(logs) - tolerances, 0.0)
    factor = 1.0
    for number in range(1, _N_STEPS + _MAX_CORRECTIONS + 1):
        share = max(1.0 - number / _N_STEPS, 0.0)
        logs, multipliers = program.solve(logs, factor * tolerances + share * excess)
        parameters = program.parameters(logs)
        result = program.result(parameters, multipliers)
        progress = Progress(
            n_iter=number,
            evaluation=result.evaluation,
            residual=np.nan,
            multipliers=multipliers,
            details={},
            best=result.evaluation,
        )
        is_stopped = callback(progress)
        if share == 0.0 or is_stopped:
            latest = fitter.evaluate(parameters, result)
            (inside if latest.keeps_bound else outside).append(latest)
            if is_stopped or (inside and (outside or number > _N_STEPS)):
                break
            if not latest.keeps_bound:
                # Counted rates jump: every such correction lowers the tolerances by a twentieth.
                factor -= 0.05
        program = program.correct(logs)
    best = min(inside or outside, key=sort_key)
    if not inside or not outside:
        return best
    violating = min(outside, key=sort_key)
    for _ in range(6):
        middle = fitter.evaluate((violating.parameters + best.parameters) / 2.0, best.result)
        if middle.keeps_bound:
            best = middle
        else:
            violating = middle
    return best


def _log_odds(weighed: np.ndarray) -> np.ndarray:
    """Log-odds of positives, of weighed probabilities, (n_samples, n_outcomes), negatives first."""
    negative, positive = (part.sum(axis=1) for part in np.split(weighed, 2, axis=1))
    return np.log(np.maximum(positive, 1e-300)) - np.log(np.maximum(negative, 1e-300))


class WeightProgram(NamedTuple):
    """Weights of outcomes whose smooth decisions are best in expectation, within bounds on rates.

    Weights are in units of those without constraint, and unknown are their logarithms,
    (n_outcomes,); decisions depend on differences of these alone. The expected gain is that of
    accepted positives less that of accepted negatives.
    """

    problem: ConstrainedProblem
    joint: np.ndarray  # (n_samples, n_outcomes), of negatives first
    weights: np.ndarray  # (n_samples,), sum 1
    units: np.ndarray  # (n_outcomes,), costs of an accepted negative, of a refused positive; mean 1
    sums: list  # of each constraint, as `sums_and_changes` returns them
    residuals: list  # of counted sums to the expected ones

    @classmethod
    def from_fitter(cls, fitter: Fitter, training: TrainingData) -> WeightProgram:
        """The program of a fitter's constraint, with the training data's features."""
        problem = fitter.problem
        # The same program where probabilities agree but for their last digits.
        joint = _all_outcomes(training.X).round(5)
        weights = training.samples.weights / training.samples.weights.sum()
        half = joint.shape[1] // 2
        positive = training.samples.target > 0
        by_class = problem.mean_weights / weights
        units = np.repeat([by_class[one].max(initial=0.0) for one in (~positive, positive)], half)
        outcomes = group_codes(training.samples.groups) + positive * half
        sums = [sums_and_changes(one, outcomes, 2 * half, weights) for one in fitter.constraint]
        return cls(problem, joint, weights, units / units.mean(), sums, [0.0] * len(sums))

    @property
    def gains(self) -> np.ndarray:
        """Gain of a positive decision about each outcome, (n_outcomes,)."""
        return np.repeat([-1.0, 1.0], len(self.units) // 2) * self.units

    def expect(self, logs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Expected positive decisions about each outcome, and their derivative by the logs."""
        weighed = self.joint * (np.exp(logs) * self.units)
        decided = expit(_log_odds(weighed) / _WIDTH)
        slope = self.weights * decided * (1.0 - decided) / _WIDTH
        # Derivative of the log-odds: the share of an outcome in its class.
        negative, positive = (
            part / np.maximum(part.sum(axis=1, keepdims=True), 1e-300)
            for part in np.split(weighed, 2, axis=1)
        )
        expected = self.joint.T @ (self.weights * decided)
        return expected, self.joint.T @ (slope[:, np.newaxis] * np.hstack((-negative, positive)))

    def expected_sums(self, expected: np.ndarray) -> list[np.ndarray]:
        """Sums of each constraint by expected decisions, plus their residual."""
        pairs = zip(self.sums, self.residuals, strict=True)
        return [constant + changes @ expected + rest for (constant, changes), rest in pairs]

    def gaps(self, logs: np.ndarray) -> np.ndarray:
        """Gap of expected rates by each constraint, (n_constraints,)."""
        pairs = zip(self.problem.constraint, self.expected_sums(self.expect(logs)[0]), strict=True)
        return np.array([one.gap(one.sums.rates(sums)) for one, sums in pairs])

    def correct(self, logs: np.ndarray) -> WeightProgram:
        """The same program with its sums moved by their residual to the counted ones."""
        scores = self.problem.predict_scores(self.parameters(logs))
        plain = self._replace(residuals=[0.0] * len(self.sums))
        pairs = zip(self.problem.constraint, plain.expected_sums(self.expect(logs)[0]), strict=True)
        return self._replace(residuals=[one.sums.exact_means(scores) - sums for one, sums in pairs])

    def solve(self, start: np.ndarray, tolerances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Logarithms of weights of the largest expected gain, and multipliers of the rows."""
        n = len(start)
        rows = self.problem.constraint.replace_tolerances(tolerances).stacked_rows
        is_above, is_below = np.isfinite(rows.upper), np.isfinite(rows.lower)
        # The solver asks for the loss, the rows and their derivatives at the same point.
        latest: dict[bytes, tuple[np.ndarray, np.ndarray]] = {}

        def expect(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            logs = np.clip(x[:n], -_LARGEST_LOG, _LARGEST_LOG)
            if logs.tobytes() not in latest:
                latest.clear()
                latest[logs.tobytes()] = self.expect(logs)
            return latest[logs.tobytes()]

        def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
            expected, slopes = expect(x)
            value = _PENALTY * x[:n] @ x[:n] - self.gains @ expected
            slope = 2.0 * _PENALTY * x[:n] - self.gains @ slopes
            return value, np.append(slope, np.zeros(len(x) - n))

        def split_sums(x: np.ndarray) -> Iterator:
            sums = self.expected_sums(expect(x)[0])
            return zip(rows.components, sums, rows.split_aux(x[n:]), self.sums, strict=True)

        def slack(x: np.ndarray) -> np.ndarray:
            values = np.concatenate(
                [one.rows_at(sums, aux)[0] for one, sums, aux, _ in split_sums(x)]
            )
            above, below = rows.upper - values, values - rows.lower
            return np.nan_to_num(np.append(above[is_above], below[is_below]))

        def slack_jacobian(x: np.ndarray) -> np.ndarray:
            slopes = expect(x)[1]
            by_log = [
                one.rows_at(sums, aux)[1] @ changes @ slopes
                for one, sums, aux, (_, changes) in split_sums(x)
            ]
            jacobian = np.hstack((np.concatenate(by_log), rows.aux_jacobian))
            return np.nan_to_num(np.concatenate((-jacobian[is_above], jacobian[is_below])))

        # Bounds of logs are rows too: some versions of SciPy leave a box by a last digit, and warn.
        start = np.clip(start, -_LARGEST_LOG, _LARGEST_LOG)
        inward = np.eye(n, n + rows.n_aux)
        inward = np.vstack((inward, -inward))
        sums = self.expected_sums(expect(start)[0])
        aux = [one.aux_at(of_one) for one, of_one in zip(rows.components, sums, strict=True)]
        solution = minimize(
            loss,
            np.concatenate([start, *aux]),
            jac=True,
            constraints=[
                {"type": "ineq", "fun": slack, "jac": slack_jacobian},
                {
                    "type": "ineq",
                    "fun": lambda x: _LARGEST_LOG + inward @ x,
                    "jac": lambda _: inward,
                },
            ],
            method="SLSQP",
            options={"maxiter": 60, "ftol": 1e-6},
        )
        x = solution.x
        x[:n] = np.clip(x[:n], -_LARGEST_LOG, _LARGEST_LOG)
        # Multipliers of active rows, and of largest weights, that make the slope of the loss.
        is_active = slack(x) <= 1e-5
        at_end = np.flatnonzero(np.abs(x[:n]) >= _LARGEST_LOG)
        normals = np.vstack((slack_jacobian(x)[is_active], np.eye(len(x))[at_end]))
        one_sided = np.zeros(len(is_active))
        solved = np.linalg.lstsq(normals.T, loss(x)[1], rcond=None)[0]
        one_sided[is_active] = np.maximum(solved[: np.count_nonzero(is_active)], 0.0)
        multipliers = np.zeros(len(rows.upper))
        multipliers[is_above] += one_sided[: is_above.sum()]
        multipliers[is_below] -= one_sided[is_above.sum() :]
        return x[:n], multipliers

    def parameters(self, logs: np.ndarray) -> np.ndarray:
        """Parameters of the linear model that decides by the weights."""
        return _to_parameters(self.problem.model, self.gains * np.exp(logs - logs.max()))

    def result(self, parameters: np.ndarray, multipliers: np.ndarray) -> Result:
        """The solution as a solver's result; the residual of a program is not measured."""
        evaluation = self.problem.evaluate(self.problem.initial_point(parameters))
        return Result(
            x=evaluation.x,
            fun=evaluation.fun,
            violation=evaluation.violation,
            evaluation=evaluation,
            residual=np.nan,
            multipliers=multipliers,
            n_iter=1,
            status="optimal",
            message="The expected rates keep their bounds.",
        )


def _all_outcomes(features: np.ndarray) -> np.ndarray:
    """Probabilities of all outcomes, of which features have all but the first."""
    return np.column_stack((1.0 - features.sum(axis=1), features))


def _to_parameters(model: LinearModel, by_outcome: np.ndarray) -> np.ndarray:
    """Parameters of the linear model with a weight of each outcome, (n_outcomes,)."""
    return model.parameters(by_outcome[1:] - by_outcome[0], by_outcome[0])
