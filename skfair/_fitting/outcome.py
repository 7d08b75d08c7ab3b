"""Outcome of a constrained fit: status, warnings, cost, and reports of iterations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skfair._bound.bound import ConstraintSystem
from skfair._bound.units import OfExponential
from skfair._fitting.counting import TargetRanks
from skfair._fitting.input import to_class_labels, warn_of_dependence
from skfair._fitting.weak_bounds import warn_of_weak_bounds
from skfair._partitions.collections import feature_attributes
from skfair._problems.evaluation import evaluate_losses
from skfair._statistics.gaps import find_verdict
from skfair._utils.checks import bound_text, join_names, limit_text, number_text, warn
from skfair._utils.fit import store_fit
from skfair.constraints._constraint import DEFAULT_TOLERANCE
from skfair.exceptions import (
    ConstraintCostWarning,
    InfeasibleConstraintWarning,
    MissingSensitiveFeaturesWarning,
)
from skfair.losses import is_pairwise
from skfair.solvers import SQP

if TYPE_CHECKING:
    from types import SimpleNamespace, TracebackType
    from typing import Self

    from sklearn.base import BaseEstimator
    from sklearn.callback import CallbackContext

    from skfair._bound.bound import BoundConstraint
    from skfair._fitting.counting import Candidate
    from skfair._fitting.fitter import Fitter
    from skfair._fitting.guarantee import Guarantee
    from skfair._fitting.input import TrainingData
    from skfair._partitions.blocks import Blocks
    from skfair._problems.evaluation import Evaluation
    from skfair._problems.problem import ConstrainedProblem, Problem
    from skfair._utils.tables import TableLike
    from skfair.solvers._solver import Progress


# Outcome of a constrained fit: status, warnings, and reports of iterations.


FAR_GAP = 0.01
"""Share of the bound of an objective by which a fit is far above it, so that more starts follow."""

_TINY_TOLERANCE = 1e-3 * DEFAULT_TOLERANCE
"""Tolerance in units of a fit below which one of a real target is warned of."""


def to_user_units(guarantee: Guarantee, system: ConstraintSystem, loss_unit: float) -> Guarantee:
    """A guarantee with gaps, tolerances and multipliers in the user's units, from those of the fit.

    The tolerances and limits of ratios and floors are these numbers themselves. `loss_unit` is one
    unit of the mean loss in the user's.
    """
    units = system.units
    candidate = guarantee.candidate
    if loss_unit != 1.0 or (units != 1.0).any():
        excess = (candidate.gaps - system.tolerances) * units
        # The multipliers are those of the last problem solved, whose rows may be more.
        solved = candidate.result.evaluation.problem.constraint
        multipliers = candidate.result.multipliers * (loss_unit / solved.row_units)
        candidate = candidate._replace(
            gaps=candidate.gaps * units,
            violation=candidate.violation and float(np.max(np.nan_to_num(excess, nan=np.inf))),
            result=replace(candidate.result, multipliers=multipliers),
        )

    def state(tolerances: np.ndarray) -> np.ndarray:
        """Tolerances as bounds are stated, in the user's units."""
        pairs = zip(system, tolerances, strict=True)
        return units * np.array([one.gap.state(tolerance) for one, tolerance in pairs])

    limits = guarantee.limits
    return guarantee._replace(
        candidate=candidate,
        training_tolerances=state(guarantee.training_tolerances),
        limits=None if limits is None else state(limits),
        tolerances=state(system.tolerances),
    )


def status_of(
    candidate: Candidate, tolerances: np.ndarray, enforcement: str | None, is_stopped: bool
) -> str:
    """The ``status_`` of a candidate under requested tolerances, as :ref:`statuses` explains it.

    "infeasible": the bound is not met; by the solver's smooth rates if enforcement is None, else by
    the public metrics. Else "stopped": a callback ended the fit. Else "max_iter": the solver did
    not converge. Else "feasible": a search has moved the model away from the certified point, its
    rows, which the fit has made tighter than the bound, are missed by less than that, or other
    starts of the solver ended at other objectives. Else "optimal".
    """
    result = candidate.result
    if not candidate.keeps_bound if enforcement else result.status == "infeasible":
        return "infeasible"
    if is_stopped:
        return "stopped"
    if result.status == "optimal":
        is_certified = candidate.is_solver_result and not candidate.is_local
        return "optimal" if is_certified else "feasible"
    if result.status == "max_iter" or result.is_cut_short:
        return "max_iter"
    # Rows may be missed by less than the fit has made them tighter than the bound.
    tightening = tolerances - result.evaluation.problem.constraint.tolerances
    return "feasible" if (result.violation <= tightening).all() else "max_iter"


def guarantee_attributes(
    estimator: BaseEstimator, guarantee: Guarantee, status: str
) -> dict[str, list[float] | float | str | None]:
    """Fitted attributes of a guarantee for the population.

    The verdict is "shown" where new data keep the bound, too, with the requested probability.
    """
    level = estimator.confidence_level
    limits = guarantee.limits
    is_shown = level is not None and guarantee.probability >= level
    return {
        "tolerances_": np.asarray(guarantee.tolerances).tolist(),
        "tightened_tolerances_": guarantee.training_tolerances.tolist(),
        "guaranteed_tolerances_": None if limits is None else limits.tolist(),
        "guarantee_probability_": None if level is None else float(guarantee.probability),
        "status_": status,
        "verdict_": find_verdict(is_shown and status != "infeasible"),
    }


def solution_attributes(
    estimator: BaseEstimator,
    guarantee: Guarantee,
    status: str,
    n_rows: int,
    report: dict[str, Any],
    is_unconstrained: bool,
) -> dict[str, Any]:
    """Fitted attributes of multipliers, violation, guarantee, and the columns of the report."""
    candidate = guarantee.candidate
    multipliers = candidate.result.multipliers
    violation = None if np.isnan(candidate.gaps).any() else float(candidate.violation)
    fitted = {
        # The plain fit has no rows: where it keeps the bound, multipliers are 0.
        "multipliers_": multipliers if len(multipliers) else np.zeros(n_rows),
        "constraint_violation_": violation,
        REPORT_ATTRIBUTE: report,
    }
    fitted |= guarantee_attributes(estimator, guarantee, status)
    return fitted | (unconstrained_fit_attributes(report) if is_unconstrained else {})


def compares_nothing(
    training: TrainingData, constraints: ConstraintSystem | list[BoundConstraint]
) -> bool:
    """Whether groups were to be compared, but no bound constraint of several compares any."""
    samples = training.samples
    is_single = np.count_nonzero(samples.are_enough(samples.groups.counts)) <= 1
    # Rows of ranks may come with the first solution.
    is_free = [
        is_single if one.sums.metric_input == "ranks" else not len(one.rows.lower)
        for one in constraints
    ]
    return training.lacks_groups or (bool(is_free) and all(is_free))


def warn_of_one_group(
    training: TrainingData, constraints: ConstraintSystem | list[BoundConstraint]
) -> None:
    """Warn if all samples are in one group, unless it was said that no groups were passed."""
    names = training.samples.groups.names
    if len(names) == 1 and not training.lacks_groups:
        compared = join_names(dict.fromkeys(one.name for one in constraints))
        warn(
            f"All samples are in the group {names[0]!r}: there is nothing to compare by "
            f"{compared}, and the fit is unconstrained. Pass sensitive_features with two groups or "
            "more, or no constraint.",
            MissingSensitiveFeaturesWarning,
        )


def unconstrained_fit_attributes(report: dict[str, Any]) -> dict[str, Any]:
    """Fitted attributes of a fit without two groups to be compared: it certifies nothing."""
    return {
        REPORT_ATTRIBUTE: {name: values[:0] for name, values in report.items()},
        "status_": "unconstrained",
        "verdict_": "open",
        "guarantee_probability_": None,
        "guaranteed_tolerances_": None,
        "constraint_violation_": None,
    }


def warn_of_outcome(
    estimator: BaseEstimator,
    problem: Problem,
    guarantee: Guarantee,
    is_stopped: bool,
    is_real: bool = False,
) -> None:
    """Warn of a violated bound or a missing guarantee, an early stop, or a bound without effect."""
    candidate = guarantee.candidate
    system = problem.constraint
    if is_real:
        _warn_of_tiny_tolerances(system)
        _warn_of_wide_bounds(problem.subsample, candidate)
    if estimator.status_ == "infeasible":
        is_enforced = getattr(estimator, "enforcement", "auto") is not None
        describe = describe_violation if is_enforced else _describe_smooth_violation
        if is_stopped:
            advice = " A callback ended the fit before its end."
        else:
            advice = _advise_other_model(estimator, system)
        message = describe(system, candidate) + advice
        warn(message, InfeasibleConstraintWarning)
    elif lacks_guarantee(estimator):
        warn(describe_open_verdict(estimator, guarantee, system), InfeasibleConstraintWarning)
    elif candidate.result.status != "optimal" and estimator.status_ != "feasible":
        warn(candidate.result.message, ConvergenceWarning)
    elif candidate.is_local:
        _warn_of_distant_bound(candidate)
    if _warn_of_constant_decisions(estimator, system, candidate):
        return
    # Of a bound that is missed, or that is not guaranteed, the message above says enough.
    is_reached = estimator.status_ != "infeasible" and not lacks_guarantee(estimator)
    is_binding = is_reached and not candidate.is_unconstrained
    columns = getattr(estimator, REPORT_ATTRIBUTE)
    warn_of_weak_bounds(system, columns, candidate.scores, is_binding)


def _warn_of_constant_decisions(
    estimator: BaseEstimator, system: ConstraintSystem, candidate: Candidate
) -> bool:
    """Warn of constant decisions that the constraint has caused; return whether it was done."""
    # A constraint on ranks does not count decisions, but a small tolerance may make them equal.
    is_counted = "decisions" in system.metric_inputs or estimator.confidence_level is not None
    classes = getattr(estimator, "classes_", None)  # losses of pairs have none
    if not is_counted or classes is None or candidate.is_unconstrained:
        return False
    if len(classes) > 2:
        labels = classes[candidate.scores.reshape(len(classes), -1).argmax(axis=0)]
    else:
        labels = to_class_labels(candidate.occurring_decisions, classes, estimator.pos_label_)
    if len(np.unique(labels)) > 1:
        return False
    warn(
        f"Every training sample is given the class {labels[0]}: "
        f"no other decisions were found that keep the bound. {advise_relaxation(system)}, "
        "leave small groups out (min_group_size), or pass class_weight='balanced'."
    )
    return True


def _warn_of_distant_bound(candidate: Candidate) -> None:
    """Warn of an objective that is far above the bound that no model is below.

    Where all starts end at one objective, the bound may be as far from the least one.
    """
    bound = candidate.objective_bound
    objective = candidate.result.fun
    excess = objective - bound
    if np.isfinite(bound) and excess > FAR_GAP * abs(bound):
        # A share, which is the same in every unit of the target; squared losses are not negative.
        share = min(excess / objective, 1.0)
        warn(
            "Several starts of the solver ended at different objectives, of which this is the "
            f"lowest. A model that keeps the constraint may have one that is lower by up to "
            f"{100.0 * share:.3g} %, and by no more. Loosen the bound, or compare fewer groups.",
            ConvergenceWarning,
        )


def _warn_of_tiny_tolerances(constraints: ConstraintSystem) -> None:
    """Warn of tolerances in units of a real target that are far below the default.

    They may be meant in standard deviations, in which a fit counts.
    """
    for one, unit in zip(constraints, constraints.units, strict=True):
        if unit != 1.0 and one.gap.form != "ceiling" and 0.0 < one.tolerance < _TINY_TOLERANCE:
            warn(
                f"tolerance={bound_text(one.tolerance * unit)} of {one.name} is in units of the "
                "target, and less than .1 % of the default, "
                f"{number_text(DEFAULT_TOLERANCE * unit)}. Pass "
                "tolerance=None for the default, 0 for equality, or a number in these units."
            )


def _warn_of_wide_bounds(problem: Problem, candidate: Candidate) -> None:
    """Warn of bounds on means that no group exceeds, even if predictions are the best constant."""
    constraints = problem.constraint
    for one, unit, gap in zip(constraints, constraints.units, candidate.gaps, strict=True):
        if one.gap.form != "ceiling" or not gap < one.tolerance * unit:
            continue
        constant = min(_constant_scores(problem, True), key=lambda scores: _loss(problem, scores))
        largest = max(one.value(constant) * unit, gap)
        if largest < one.tolerance * unit:
            warn(
                f"The bound {bound_text(one.tolerance * unit)} of {one.name} binds nothing: "
                f"no group's mean is above {limit_text(largest)}, neither with the best constant "
                "prediction nor with this fit. Bounds are in units of the loss, such as the square "
                "of the target's; pass a smaller one."
            )


def advise_relaxation(constraints: ConstraintSystem | list[BoundConstraint]) -> str:
    """Advice by which bounds are easier to keep."""
    changes = {
        "lower the ratio" if one.gap.is_ratio else "raise the tolerance" for one in constraints
    }
    return " or ".join(sorted(changes)).capitalize()


def lacks_guarantee(estimator: BaseEstimator) -> bool:
    """Whether the probability of a guarantee is known, and less than was requested."""
    probability = estimator.guarantee_probability_
    return probability is not None and probability < estimator.confidence_level


def describe_open_verdict(
    estimator: BaseEstimator, guarantee: Guarantee, constraints: ConstraintSystem
) -> str:
    """Message for a bound that cannot be guaranteed: what can be, and how many samples it needs."""
    # The smallest group that is compared limits what can be guaranteed.
    report = estimator.constraint_report_.dropna(subset="tolerance")
    row = int(report["n"].argmin())
    cell, group, n = (report[column].tolist()[row] for column in ("event", "group", "n"))
    where = "" if cell == "all" else f"{cell} of "
    times = guarantee.size_factor
    enough = (
        "no number of samples would be enough"
        if np.isinf(times)
        else f"about {times:.1f} times as many samples would be enough, "
        f"{np.ceil(times * n):.0f} of it"
    )
    # The strictest bound of each constraint that the population keeps.
    strictest = []
    for one, limit in zip(constraints, guarantee.limits, strict=True):  # type: ignore[arg-type]
        text = limit_text(limit, is_lower=one.gap.bounded != "tolerance")
        strictest.append(f"a {one.gap.bounded} of {text} ({one.name})")
    return (
        "The population keeps the bound with a probability of at least "
        f"{limit_text(guarantee.probability, is_lower=True)}, but "
        f"confidence_level={bound_text(estimator.confidence_level)}. "
        f"At this level the model keeps {', '.join(strictest)}. "
        f"The smallest group that is compared, {where}group {group!r}, has n={n}; {enough}. "
        f"{advise_relaxation(constraints)}, lower confidence_level, or merge or leave out small "
        "groups (min_group_size)."
    )


def describe_violation(system: ConstraintSystem, candidate: Candidate | SimpleNamespace) -> str:
    """Message for a tolerance that the training data exceed."""
    # The constraint that exceeds its tolerance most; unknown gaps come first.
    tolerances = system.tolerances * system.units
    excess = candidate.gaps - tolerances
    worst = np.argmax(np.where(np.isnan(excess), np.inf, excess))
    one = system[worst]
    gap = candidate.gaps[worst]
    also = ", or drop one of several constraints" if len(system) > 1 else ""
    if np.isnan(gap):
        remedy = f"{advise_relaxation([one])}, {_advise(one, candidate.scores)}"
        if one.sums.metric_input != "ranks":  # a quotient
            remedy = (
                "Nothing counts in the denominator of a group's rate, which is nan in "
                "constraint_report_. Leave small groups out (min_group_size), or bound another rate"
            )
        return f"The gap of {one.name} cannot be measured on the training data. {remedy}{also}."
    excess = (
        f"The tolerance is exceeded by {number_text(candidate.violation, 2)} on the training data: "
        f"the gap of {one.name} is {limit_text(gap, n_digits=4)}, its tolerance "
        f"{bound_text(tolerances[worst])}."
    )
    if one.gap.bounded != "tolerance":
        excess = (
            f"The {one.gap.bounded} of {one.name} is {limit_text(one.gap.state(gap), True, 4)} on "
            f"the training data, less than {bound_text(one.gap.state(one.tolerance))}."
        )
    return (
        f"{excess}{_describe_conflict(system, candidate)} See constraint_report_ for the groups "
        f"that exceed it. {advise_relaxation([one])}, {_advise(one, candidate.scores)}{also}."
    )


def _describe_conflict(system: ConstraintSystem, candidate: Candidate | SimpleNamespace) -> str:
    """Sentences on mean predictions and mean errors that no model keeps both; else empty."""
    tolerances = system.tolerances * system.units
    exceeded = {
        one.name: (k, gap, tolerance)
        for k, (one, gap, tolerance) in enumerate(
            zip(system, candidate.gaps, tolerances, strict=True)
        )
        if gap > tolerance
    }
    if not exceeded.keys() >= {"MeanParity", "MeanErrorParity"} or not len(candidate.scores):
        return ""
    parts = [
        f"{name} ({limit_text(gap, n_digits=4)}, tolerance {bound_text(tolerance)})"
        for name, (_, gap, tolerance) in exceeded.items()
    ]
    # The mean error of predictions that are 0 is minus the mean target.
    k, *_ = exceeded["MeanErrorParity"]
    difference = system[k].value(np.zeros(len(candidate.scores))) * system.units[k]
    return (
        f" Both {join_names(parts)} are exceeded: their gaps add up to the difference of the "
        f"groups' mean targets at least, {limit_text(difference, n_digits=4)}."
    )


def _advise(bound: BoundConstraint, scores: np.ndarray) -> str:
    """Advice for a tolerance that is not kept, in addition to raising it."""
    if bound.sums.metric_input != "ranks":
        return "leave small groups out (min_group_size)"
    # Ranks of scores with a small standard deviation depend on tiny differences.
    if len(scores) and np.std(scores) < 0.1:
        return (
            "or give the model more features that predict the target: the scores are nearly equal "
            f"(standard deviation {np.std(scores):.2g}), but ranks depend on any difference"
        )
    return "or widen the interval"


def _advise_other_model(estimator: BaseEstimator, constraints: ConstraintSystem) -> str:
    """Advice for ranks that one linear model of all groups, or a line per group, leaves unequal."""
    names = {one.name for one in constraints if one.sums.metric_input == "ranks"}
    if names and getattr(estimator, "group_interactions", True) is False:
        return " Or try group_interactions=True."
    # No shift of ranks satisfies equalized odds, and real targets have no rates to shift them by.
    is_shiftable = names - {"PartialEqualizedOdds"} and hasattr(estimator, "classes_")
    if is_shiftable and getattr(estimator, "group_estimator", None) == "sensitive_features":
        return " Or shift ranks within groups: PartialParityPostprocessor takes any classifier."
    return ""


def _describe_smooth_violation(system: ConstraintSystem, candidate: Candidate) -> str:
    evaluation = candidate.result.evaluation
    excess = evaluation.excess * evaluation.problem.constraint.row_units
    return (
        f"The smooth rates exceed their bounds by {number_text(excess.max(), 2)}. "
        f"{advise_relaxation(system)}, raise the solver's max_iter, or pass enforcement='auto' "
        "to bound the public metric instead."
    )


REPORT_ATTRIBUTE = "_report_columns_"
"""Attribute of the columns of a report, from which ``constraint_report_`` is made when read."""


class Subtask:
    """Context manager of a step of a fit: callbacks see it begin and end, ``verbose`` prints it.

    The number of steps within it, ``max_subtasks``, is None if it is unknown.
    """

    def __init__(
        self,
        estimator: BaseEstimator,
        context: CallbackContext,
        name: str,
        max_subtasks: int | None = 0,
    ) -> None:
        self.estimator = estimator
        self.context = context.subcontext(task_name=name, max_subtasks=max_subtasks)
        self.name = name

    def __enter__(self) -> Self:
        self.context.call_on_fit_task_begin(estimator=self.estimator)
        return self

    def subtask(self, name: str) -> Subtask:
        """A child task of this one, which callbacks see under its name."""
        return Subtask(self.estimator, self.context, name)

    def __exit__(
        self, error_type: type | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is None:
            self.context.call_on_fit_task_end(estimator=self.estimator)
            if getattr(self.estimator, "verbose", 0):
                print(f"{self.name}: done")


@dataclass
class FitProgressCallback:
    """Callback of solvers that passes every iteration to the estimator's callbacks, and prints it.

    A fit solves several problems, for instance with smaller and smaller tolerances. Once a callback
    stops the fit, all further problems end at their start. ``describe`` returns the fitted
    attributes that predictions need, from an evaluation. ``loss_unit`` is one unit of the mean loss
    in the user's.
    """

    estimator: Any
    context: Any
    describe: Callable
    loss_unit: float = 1.0
    prefix: str = ""  # of printed lines
    n_problems: int = 0
    n_iter: int = 0
    is_stopped: bool = False

    def __call__(self, progress: Progress) -> bool:
        """Report an iteration; True if a callback wants the fit to stop."""
        self.n_problems += progress.n_iter == 0
        if self.is_stopped or progress.n_iter == 0:  # the start is no iteration
            return self.is_stopped
        self.n_iter += 1
        if self.estimator.verbose:
            objective, violation = self._measure(progress.evaluation)
            print(
                f"{self.prefix}problem {self.n_problems}, iteration {progress.n_iter}: "
                f"objective {objective:.6g}, violation {number_text(violation, 2)}, "
                f"residual {progress.residual:.2g}"
            )
        task = self.context.subcontext(task_name="iteration")
        task.call_on_fit_task_begin(estimator=self.estimator)
        self.is_stopped = bool(
            task.call_on_fit_task_end(
                estimator=self.estimator,
                reconstruction_attributes=lambda: self._attributes(progress),
            )
        )
        return self.is_stopped

    def _attributes(self, progress: Progress) -> dict[str, Any]:
        objective, violation = self._measure(progress.evaluation)
        return self.describe(progress.evaluation) | {
            "objective_": objective,
            "constraint_violation_": violation,
            "residual_": progress.residual,
        }

    def _measure(self, evaluation: Evaluation) -> tuple[float, float]:
        """Objective and largest excess of a row, in the user's units."""
        if self.loss_unit == 1.0:
            return evaluation.fun, evaluation.violation
        excess = evaluation.excess * evaluation.problem.constraint.row_units
        return self.loss_unit * evaluation.fun, float(excess.max(initial=0.0))


class FitTask(NamedTuple):
    """A fit under constraints: what callbacks see of it, what it stores, and what it warns of."""

    estimator: Any
    X: Any  # as passed to fit, like y
    y: Any
    training: TrainingData
    confidence: float | None
    describe: Callable  # as passed to `begin`
    watch: FitProgressCallback

    @classmethod
    def begin(
        cls,
        estimator: BaseEstimator,
        X: TableLike,
        y: TableLike | Blocks,
        training: TrainingData,
        problem: Problem,
        describe: Callable,
    ) -> FitTask:
        """The task of a problem; callbacks see it begin.

        ``describe(estimator, model, parameters, training)`` has the fitted attributes that
        predictions need.
        """
        # Without two groups there is nothing to compare, and nothing to guarantee.
        if compares_nothing(training, problem.constraint):
            warn_of_one_group(training, problem.constraint)
            training = training._replace(lacks_groups=True)
        confidence = None if training.lacks_groups else estimator.confidence_level
        if confidence is not None:
            warn_of_dependence(training.X, training)
        # Callbacks see the fit begin, every iteration of every problem, and the fit end.
        context = estimator._init_callback_context(max_subtasks=None)
        context.call_on_fit_task_begin(estimator=estimator, X=X, y=y)
        watch = FitProgressCallback(
            estimator,
            context,
            lambda e: describe(estimator, problem.model, e.parameters, training),
            training.loss_unit(problem.loss),
        )
        return cls(
            estimator=estimator,
            X=X,
            y=y,
            training=training,
            confidence=confidence,
            describe=describe,
            watch=watch,
        )

    def finish(self, fitter: Fitter, guarantee: Guarantee, fitted: dict[str, Any]) -> BaseEstimator:
        """The estimator, with the attributes of its outcome and those passed; then warn."""
        estimator = self.estimator
        training = self.training
        loss_unit = self.watch.loss_unit
        guarantee = to_user_units(guarantee, fitter.constraint, loss_unit)
        candidate = guarantee.candidate
        objective, n_rows, report = fitter.counter.summarize_model(candidate.parameters)
        thresholds = np.asarray(report["threshold"], dtype=float)
        report["threshold"] = training.unit.from_unit(thresholds)
        is_stopped = self.watch.is_stopped
        tolerances = fitter.constraint.tolerances
        status = status_of(candidate, tolerances, estimator.enforcement, is_stopped)
        is_free = training.lacks_groups
        outcome = solution_attributes(estimator, guarantee, status, n_rows, report, is_free)
        outcome |= {"objective_": loss_unit * objective, "n_iter_": self.watch.n_iter}
        # Until here an earlier fit is intact.
        store_fit(estimator, outcome | feature_attributes(self.X) | fitted)
        is_real = training.classes is None
        is_guaranteed = self.confidence is not None
        warn_of_outcome(estimator, fitter.problem, guarantee, is_stopped, is_real)
        if fitter.start is not None and not (is_free or is_stopped):  # type: ignore[comparison-overlap]
            counts_costs = getattr(estimator, "class_weight", None) is not None
            warn_if_linear_model_costly(fitter, candidate, is_real, is_guaranteed, counts_costs)
        self.watch.context.call_on_fit_task_end(estimator=estimator, X=self.X, y=self.y)
        return estimator


# Warnings for constraints that cost most of what the model improves on a constant.


_UNCONSTRAINED_SOLVER = SQP(max_iter=10, tol=1e-3)
"""A few Newton steps on a subsample determine the accuracy of the fit without constraint to two
digits, in a small share of the time of a fit."""


def warn_if_linear_model_costly(
    fitter: Fitter,
    candidate: Candidate,
    is_real: bool,
    is_guaranteed: bool = False,
    counts_costs: bool = False,
) -> None:
    """`warn_of_cost` for the fitter of a linear model, with its fit without constraint.

    Of many samples this is fitted to a subsample, unless the fit has it, and both are judged on
    all samples, or on the subsample of the warm start where there are very many. Where the
    population is to keep the tolerance, rare decisions are warned of, too.
    """
    if candidate.is_unconstrained or not len(fitter.constraint):
        return
    problem = fitter.problem.subsample
    is_ranked = fitter.constraint.is_on_ranks_alone
    if is_pairwise(problem.loss) and not is_ranked:
        return
    free = replace(problem, constraint=ConstraintSystem(()))
    plain_fit = vars(fitter).get("plain_fit")  # if the fit has it
    if plain_fit is not None and problem is fitter.problem:
        plain = plain_fit.parameters
    else:
        plain = _UNCONSTRAINED_SOLVER.solve(_draw_subsample(free, 1 << 13), fitter.start).x
    warn_of_cost(problem, candidate.parameters, plain, is_real, counts_costs)
    if is_guaranteed:
        scores = (problem.predict_scores(one) for one in (candidate.parameters, plain))
        warn_of_moved_decisions(problem.mean_weights, *scores)


def _draw_subsample(problem: ConstrainedProblem, size: int) -> ConstrainedProblem:
    """The problem, or a subsample of it where it has more samples."""
    if len(problem.target) <= size:
        return problem
    # The seed is fixed: fits of the same samples give the same warning.
    return problem.take(np.random.default_rng(0).integers(len(problem.target), size=size))


def warn_of_moved_decisions(
    weights: np.ndarray, scores: np.ndarray, plain_scores: np.ndarray
) -> None:
    """Warn if far more or fewer decisions are positive than without constraint, or nearly none.

    Rates of nearly constant decisions are nearly equal in all groups of any population, so that a
    guarantee of them says little. Constant decisions have a warning of their own.
    """
    rate, plain = (weights @ (one > 0) / weights.sum() for one in (scores, plain_scores))
    is_positive_rare = _is_rare(rate, plain)
    if not is_positive_rare and not _is_rare(1.0 - rate, 1.0 - plain):
        # A guarantee warns of a share of positive decisions that changes by more than a tenth.
        if abs(rate - plain) > 0.1 and 0.0 < rate < 1.0:
            warn(
                "The constraint and confidence_level move the decisions: the model gives "
                f"{rate:.1%} of the training samples the positive class, and without constraint "
                f"{plain:.1%}. "
                "If that is too far, raise the tolerance, pass more samples, or lower "
                "confidence_level."
            )
        return
    which = "positive" if is_positive_rare else "negative"
    share, without = (one if is_positive_rare else 1.0 - one for one in (rate, plain))
    warn(
        f"Decisions are nearly constant: the model gives {share:.2%} of the training samples the "
        f"{which} class, and without constraint {without:.2%}. Rates of nearly constant decisions "
        "are equal in any population, so that the guarantee of confidence_level says little here. "
        "Raise the tolerance, pass more samples, lower confidence_level, or merge or leave out "
        "small groups (min_group_size)."
    )


def _is_rare(share: float, plain: float) -> bool:
    """Whether a class is rare, and far more so than without constraint."""
    is_below_limit = share < 0.01 and plain >= 0.02
    return share > 0.0 and (is_below_limit or 10.0 * share < plain)


def warn_of_cost(
    problem: Problem,
    parameters: np.ndarray,
    plain: np.ndarray,
    is_real: bool = False,
    counts_costs: bool = False,
    sample_weight: np.ndarray | None = None,
    remedy: str = "",
) -> None:
    """Warn if a model is nearer to a constant prediction than to the fit without constraint.

    A constant prediction is not warned of, nor a fit without constraint that is better than one by
    less than two standard errors. With ``is_real`` losses are compared, as for real targets. Where
    constraints are on ranks alone, ranks are compared with random ones, and not accuracies. With
    ``counts_costs`` errors cost what parameters state, of several classes up to a constant. Where
    the problem weighs errors as the decisions of an estimator do, ``sample_weight`` are the weights
    of the samples themselves, by which accuracies are stated. ``remedy`` ends the advice.
    """
    scores = problem.predict_scores(parameters)
    free = problem.predict_scores(plain)
    is_ranked = problem.constraint.is_on_ranks_alone
    cost = ""
    if is_real or not is_ranked:
        cost = _describe_cost(problem, scores, free, is_real, counts_costs, sample_weight)
    if is_ranked and not cost:
        cost = _describe_cost_of_ranks(problem.target, problem.mean_weights, scores, free)
    if cost:
        warn(
            f"The constraint costs more than half of what the model improves on {cost}. "
            f"{_describe_largest_violation(problem.constraint, free)}, merge groups, or leave "
            f"small ones out (min_group_size){remedy}.",
            ConstraintCostWarning,
        )


def warn_of_worse_ranks(
    target: np.ndarray, weights: np.ndarray, scores: np.ndarray, free: np.ndarray
) -> None:
    """Warn if scores rank the target worse than random ranks, and others do not."""
    ranks = TargetRanks(target, weights)
    if ranks.correlate(scores) < 0.0 and ranks.correlate(free) > 2.0 * ranks.deviation:
        cost = _describe_cost_of_ranks(target, weights, scores, free)
        warn(
            f"The constraint costs all of what the model improves on {cost}. Raise the tolerance, "
            "merge groups, or leave small ones out (min_group_size).",
            ConstraintCostWarning,
        )


def _is_costly(taken: float, unconstrained: float, useless: float, noise: float) -> bool:
    """Whether half of what is clearly better than a useless model is lost, by measures of error."""
    is_useful = useless - unconstrained > 2.0 * noise
    return is_useful and taken - unconstrained > (useless - unconstrained) / 2.0


def _describe_cost(
    problem: Problem,
    scores: np.ndarray,
    free: np.ndarray,
    is_real: bool,
    counts_costs: bool,
    sample_weight: np.ndarray | None,
) -> str:
    """Accuracies or losses of scores with and without constraint; empty if they are near."""
    # Error or loss of the model, of the fit without constraint, and of the best constant.
    constants = _constant_scores(problem, is_real)
    measure = _loss if is_real else partial(_error_rate, weights=problem.mean_weights)
    taken = measure(problem, scores)
    unconstrained = measure(problem, free)
    constant = min(measure(problem, one) for one in constants)
    # Standard deviation of the constant's errors; that of losses is about their mean.
    spread = constant if is_real else np.sqrt(constant * max(0.0, 1.0 - constant))
    noise = spread * np.sqrt((problem.mean_weights**2).sum())
    is_constant = np.ptp(scores) == 0 if is_real else taken == constant
    if is_constant or not _is_costly(taken, unconstrained, constant, noise):
        return ""
    if counts_costs:
        share = (constant - taken) / (constant - unconstrained)
        return (
            "a constant: by cost_matrix or class_weight its decisions save "
            f"{share:.0%} of what those without constraint save on the training data, next to the "
            "best constant prediction"
        )
    if not is_real:
        by_costs = ""
        if sample_weight is not None:
            # Of several classes the problem has the samples once for each.
            weights = np.resize(sample_weight, len(problem.target))
            rates = [
                _error_rate(problem, one, weights / weights.sum())
                for one in (scores, free, *constants)
            ]
            taken, unconstrained, constant = *rates[:2], min(rates[2:])
            # Accuracies alone need not show what is lost by costs.
            if not _is_costly(taken, unconstrained, constant, 0.0):
                by_costs = ", by the costs of errors that the estimator's own decisions imply"
        return (
            f"a constant{by_costs}: its accuracy is {1.0 - taken:.3g} on the training data, that "
            f"without constraint {1.0 - unconstrained:.3g}, that of the best constant prediction "
            f"{1.0 - constant:.3g}"
        )
    # A loss is compared with the constant's, since it has the unit of the fit.
    return (
        f"a constant: its mean loss is {taken / constant:.0%} of that of the best constant "
        f"prediction on the training data, that without constraint {unconstrained / constant:.0%}"
    )


def _describe_cost_of_ranks(
    target: np.ndarray, weights: np.ndarray, scores: np.ndarray, free: np.ndarray
) -> str:
    """How well scores rank the target with and without constraint; empty if they are near.

    Vanishing scores with random ranks have the loss and the decisions of a constant.
    """
    ranks = TargetRanks(target, weights)
    taken = ranks.correlate(scores)
    unconstrained = ranks.correlate(free)
    if np.ptp(scores) == 0 or not _is_costly(-taken, -unconstrained, 0.0, ranks.deviation):
        return ""
    comparison = ", worse than random ranks" if taken < 0.0 else ""
    if len(np.unique(target)) > 2:
        name = "rank correlation with the target"
    else:  # of two classes the correlation is 2 AUC - 1
        name = "area under the ROC curve"
        taken = (1.0 + taken) / 2.0
        unconstrained = (1.0 + unconstrained) / 2.0
    return (
        f"random ranks: its {name} is {taken:.3g} on the training data{comparison}, that without "
        f"constraint {unconstrained:.3g}"
    )


def _error_rate(problem: Problem, scores: np.ndarray, weights: np.ndarray) -> float:
    """Weighted share of wrong decisions; of several classes each has a score per sample."""
    wrong = (scores > 0) != (problem.target > 0)
    n_classes = max(2, len(problem.model.constants()))
    # A wrong class is two wrong decisions.
    return float(weights @ wrong) * n_classes / 2


def _loss(problem: Problem, scores: np.ndarray) -> float:
    """Weighted mean loss."""
    return float(problem.mean_weights @ evaluate_losses(problem, scores).value)


def _constant_scores(problem: Problem, is_real: bool) -> list[np.ndarray]:
    """Scores of constant predictions, the best of them among them."""
    if not is_real:
        return [problem.predict_scores(one) for one in problem.model.constants()]
    n_scores = len(problem.target)
    if problem.model.intercept_direction() is None:
        return [np.zeros(n_scores)]
    # The best constant is the mean for squared losses and deviances, the median for absolute
    # losses, and a quantile for that of it.
    mean = problem.mean_weights @ problem.target
    if isinstance(problem.loss, OfExponential):
        return [np.full(n_scores, np.log(mean))]
    order = np.argsort(problem.target)
    shares = np.cumsum(problem.mean_weights[order])[:-1]
    middle = order[np.searchsorted(shares, getattr(problem.loss, "quantile", 0.5))]
    return [np.full(n_scores, level) for level in (mean, problem.target[middle])]


def _describe_largest_violation(system: ConstraintSystem, scores: np.ndarray) -> str:
    """Constraint and group that the fit without constraint violates most, and first advice."""
    # The constraint that is violated most.
    excess = np.nan_to_num(system.gaps(scores) - system.tolerances)
    worst = np.argmax(excess)
    part = system[worst]
    report = ConstraintSystem((part,)).report_columns(scores)
    bounded = np.flatnonzero(~np.isnan(report["tolerance"]))
    # The group whose rate is farthest from the mean rate of its cell.
    names = ("event", "threshold", "n", "estimate")
    cells, thresholds, n, rates = (np.asarray(report[name])[bounded] for name in names)
    cells, thresholds = (np.unique(one, return_inverse=True)[1] for one in (cells, thresholds))
    strata = cells * (thresholds.max() + 1) + thresholds
    totals, sizes = (np.bincount(strata, n * one) for one in (rates, 1.0))
    mean = (totals / np.maximum(sizes, 1.0))[strata]
    row = np.argmax(np.abs(rates - mean))
    cell, group = (report[name][bounded[row]] for name in ("event", "group"))
    where = "" if cell == "all" else f"{cell} of "
    tolerance = part.tolerance * system.units[worst]
    bound = f"tolerance of {bound_text(tolerance)}"
    advice = "Raise the tolerance"
    if part.gap.is_ratio:
        bound = f"ratio of {bound_text(1.0 - part.tolerance)}"
        advice = "Lower the ratio"
    return (
        f"Without constraint, {part.name} is farthest from its {bound}, "
        f"with {where}group {group!r} (n={n[row]}) at {number_text(rates[row])} where the mean "
        f"of all groups is {number_text(mean[row])}. {advice}"
    )
