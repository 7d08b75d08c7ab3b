"""What a constrained fit tells: its status, warnings, and reports on the way."""

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skfair.exceptions import InfeasibleConstraintWarning
from skfair.training._input import label_positive
from skfair.utils._messages import warn

_NEARLY_EQUAL = 0.1
"""Standard deviation of scores below which ranks depend on tiny differences."""


def status_of(found, enforcement):
    """The ``status_`` of a candidate.

    Parameters
    ----------
    found : Candidate
        The model that is taken.
    enforcement : str or None
        None if the bound is on the solver's smooth rates, else it is on the public metrics.

    Returns
    -------
    status : {"optimal", "feasible", "max_iter", "infeasible"}
        "infeasible": the bound is not met. Else "max_iter": the solver stopped before its own
        test. Else "feasible": a search has moved the model away from the point that is certified.
        Else "optimal".
    """
    solved = found.result.status
    if not found.keeps_bound if enforcement else solved == "infeasible":
        return "infeasible"
    if solved != "optimal":
        return "max_iter"
    return "optimal" if found.is_solution else "feasible"


def guarantee_attributes(estimator, guarantee, status):
    """What a fit guarantees of people not yet seen, as fitted attributes.

    Parameters
    ----------
    estimator : estimator instance
        Its ``confidence_level`` is what was asked for, None if nothing was.
    guarantee : Guarantee
        What was reached.
    status : str
        As `status_of` gives it.

    Returns
    -------
    fitted : dict
        ``tightened_tolerances_``, ``guarantee_probability_`` and ``status_``, which is "uncertain"
        where the people of the fit keep the bound and new ones may not.
    """
    asked = estimator.confidence_level
    is_short = asked is not None and guarantee.probability < asked
    return {
        "tightened_tolerances_": guarantee.tolerances,
        "guarantee_probability_": guarantee.probability,
        "status_": "uncertain" if is_short and status != "infeasible" else status,
    }


def unconstrained(report):
    """What tells of a fit that lacked the groups that it was to compare: it certifies nothing.

    Parameters
    ----------
    report : DataFrame
        Of the constraints asked for.

    Returns
    -------
    fitted : dict
        Status, violation and report.
    """
    return {
        "status_": "unconstrained",
        "guarantee_probability_": np.nan,
        "constraint_violation_": np.nan,
        "constraint_report_": report[:0],
    }


def warn_of_outcome(estimator, constraint, guarantee):
    """Warn of a bound missed or not to be guaranteed, a solver cut short, constant decisions.

    Parameters
    ----------
    estimator : estimator instance
        Fitted.
    constraint : ConstraintSystem
        What was to be kept.
    guarantee : Guarantee
        The model that is taken, and what it guarantees.
    """
    found = guarantee.candidate
    if estimator.status_ == "infeasible":
        is_enforced = getattr(estimator, "enforcement", "auto") is not None
        missed = _missed_metric if is_enforced else _missed_rates
        warn(missed(constraint, found), InfeasibleConstraintWarning)
    elif estimator.status_ == "uncertain":
        warn(describe_uncertainty(estimator, guarantee), InfeasibleConstraintWarning)
    elif found.result.status != "optimal":
        warn(found.result.message, ConvergenceWarning)
    was_shaped = found.result.multipliers.any() or not found.is_solution
    # A constraint on ranks leaves decisions alone, but a small tolerance may make them all equal.
    counted = "decisions" in constraint.statistics
    counted = counted or estimator.confidence_level is not None
    counted = counted and hasattr(estimator, "classes_")  # those of pairs have none
    given = _decided(found, estimator) if counted and was_shaped else []
    if len(np.unique(given)) == 1:
        warn(
            f"Every training sample is given the class {given[0]}: "
            "no other decisions were found that keep the tolerance. Raise the tolerance, leave "
            "small groups out (min_group_size), or pass class_weight='balanced'."
        )


def _decided(found, estimator):
    """Classes that samples are given, by the score of the positive one or the leads of several."""
    if len(estimator.classes_) > 2:
        leads = found.scores.reshape(len(estimator.classes_), -1)
        return estimator.classes_[leads.argmax(axis=0)]
    return label_positive(found.decisions, estimator.classes_, estimator.pos_label_)


def describe_uncertainty(estimator, guarantee):
    """Message for a tolerance that cannot be guaranteed for the population.

    Parameters
    ----------
    estimator : estimator instance
        Its ``constraint_report_`` names the groups.
    guarantee : Guarantee
        What was reached.

    Returns
    -------
    message : str
    """
    report = estimator.constraint_report_.dropna(subset="tolerance")  # what is compared
    row = int(report["n"].argmin())
    cell, group, n = (report[column].tolist()[row] for column in ("cell", "group", "n"))
    where, times = "" if cell == "all" else f"{cell} of ", guarantee.size_factor
    would_do = (
        "no number of samples would be enough"
        if np.isinf(times)
        else f"about {times:.1f} times as many samples would be enough, "
        f"{np.ceil(times * n):.0f} of it"
    )
    return (
        "The population keeps the tolerance with a probability of "
        f"{guarantee.probability:.2f} only, but confidence_level={estimator.confidence_level:g}: "
        f"the smallest group that is compared, {where}group {group!r}, has n={n}; {would_do}. "
        "Raise the tolerance, lower confidence_level, or merge or leave out small groups "
        "(min_group_size)."
    )


def _missed_metric(constraint, found):
    excess = found.gaps - constraint.tolerances
    worst = int(np.argmax(np.where(np.isnan(excess), np.inf, excess)))
    part, gap = constraint.constraints[worst], found.gaps[worst]
    also = ", or drop one of several constraints" if len(constraint) > 1 else ""
    if np.isnan(gap):
        return (
            f"The gap of {part.name} cannot be measured on the training data. Raise the tolerance, "
            f"{_advise(part, found.scores)}{also}."
        )
    return (
        f"The tolerance is exceeded by {found.violation:.2g} on the training data: the gap of "
        f"{part.name} is {gap:.4g}, its tolerance {part.tolerance:g}. See constraint_report_ for "
        f"the groups that miss it. Raise the tolerance, {_advise(part, found.scores)}{also}."
    )


def _advise(constraint, scores):
    """What helps where the tolerance cannot be kept, in addition to raising it."""
    if constraint.statistic != "ranks":
        return "leave small groups out (min_group_size)"
    if scores is not None and np.std(scores) < _NEARLY_EQUAL:
        return (
            "or give the model more features that predict the target: the scores are nearly equal "
            f"(standard deviation {np.std(scores):.2g}), but ranks depend on any difference"
        )
    return "widen the interval, or try group_interactions=True"


def _missed_rates(constraint, found):
    return (
        f"The smooth rates miss their bounds by {found.result.violation:.2g}. Raise the tolerance "
        "or the solver's max_iter, or pass enforcement='auto' to bound the public metric instead."
    )


def store_fit(estimator, fitted):
    """Replace all fitted attributes at once: an earlier fit is whole until the new one is.

    Parameters
    ----------
    estimator : estimator instance
        Being fitted.
    fitted : dict
        The new fitted attributes; whatever else ends in an underscore goes.
    """
    kept = {name: value for name, value in vars(estimator).items() if not name.endswith("_")}
    estimator.__dict__ = kept | fitted


class Subtask:
    """Context manager of a step of a fit: callbacks see it begin and end, ``verbose`` prints it.

    Parameters
    ----------
    estimator : estimator instance
        Being fitted.
    context : CallbackContext
        Of the task that the step belongs to.
    name : str
        Of the step.
    max_subtasks : int or None, default=0
        Number of steps within this one; None if it is not known.
    """

    def __init__(self, estimator, context, name, max_subtasks=0):
        self.estimator = estimator
        self.context = context.subcontext(task_name=name, max_subtasks=max_subtasks)
        self.name = name

    def __enter__(self):
        self.context.call_on_fit_task_begin(estimator=self.estimator)
        return self

    def subtask(self, name):
        """A step within this one."""
        return Subtask(self.estimator, self.context, name)

    def __exit__(self, error_type, error, traceback):
        if error is None:
            self.context.call_on_fit_task_end(estimator=self.estimator)
            if getattr(self.estimator, "verbose", 0):
                print(f"{self.name}: done")


class FitProgress:
    """Shows a fit to its callbacks after every iteration, and prints if asked to.

    A fit solves several problems, for instance with smaller and smaller tolerances. Once a callback
    has asked to stop, all problems still to be solved end at their start.

    Parameters
    ----------
    estimator : estimator instance
        Being fitted.
    context : CallbackContext
        Of the fit.
    describe : callable
        Evaluation -> dict of the fitted attributes that predictions need.
    name : str or None, default=None
        What is fitted, if it is a step of the fit; it begins every line that is printed.
    """

    def __init__(self, estimator, context, describe, name=None):
        self.estimator = estimator
        self.context = context
        self.describe = describe
        self.prefix = f"{name}, " if name else ""
        self.n_problems = self.n_iter = 0
        self.is_stopped = False

    def __call__(self, progress):
        """Report an iteration; True if a callback wants the fit to stop."""
        self.n_problems += progress.n_iter == 0
        if self.is_stopped or progress.n_iter == 0:  # the start is no iteration
            return self.is_stopped
        self.n_iter += 1
        evaluation = progress.evaluation
        if self.estimator.verbose:
            print(
                f"{self.prefix}problem {self.n_problems}, iteration {progress.n_iter}: "
                f"objective {evaluation.fun:.6g}, violation {evaluation.violation:.2g}, "
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

    def _attributes(self, progress):
        evaluation = progress.evaluation
        return self.describe(evaluation) | {
            "objective_": evaluation.fun,
            "constraint_violation_": evaluation.violation,
            "residual_": progress.residual,
        }
