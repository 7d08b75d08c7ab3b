"""What a constrained fit tells: its status, warnings, and reports on the way."""

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skfair.exceptions import InfeasibleConstraintWarning
from skfair.training._input import label_positive
from skfair.utils._messages import warn


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
        "constraint_violation_": np.nan,
        "constraint_report_": report[:0],
    }


def warn_of_outcome(estimator, constraint, found):
    """Warn of a missed bound, of a solver cut short, of constant decisions.

    Parameters
    ----------
    estimator : estimator instance
        Fitted.
    constraint : JointConstraint
        What was to be kept.
    found : Candidate
        The model that is taken.
    """
    if estimator.status_ == "infeasible":
        missed = _missed_rates if estimator.enforcement is None else _missed_metric
        warn(missed(constraint, found), InfeasibleConstraintWarning)
    elif found.result.status != "optimal" and estimator.status_ != "feasible":
        warn(found.result.message, ConvergenceWarning)
    given = _decided(found.scores, estimator)
    was_shaped = found.result.multipliers.any() or not found.is_solution
    counted = any(part.counts_decisions for part in constraint.parts)
    if counted and was_shaped and len(np.unique(given)) == 1:
        warn(
            f"Every training sample is given the class {given[0]}: "
            "no other decisions were found that keep the tolerance. Raise the tolerance, leave "
            "small groups out (min_group_size), or pass class_weight='balanced'."
        )


def _decided(scores, estimator):
    """Class that each sample is given, by the score of the positive one or the leads of several."""
    if len(estimator.classes_) > 2:
        leads = scores.reshape(len(estimator.classes_), -1)
        return estimator.classes_[leads.argmax(axis=0)]
    return label_positive(scores > 0, estimator.classes_, estimator.pos_label_)


def _missed_metric(constraint, found):
    excess = [gap - part.tolerance for gap, part in zip(found.gaps, constraint.parts, strict=True)]
    worst = int(np.argmax(np.where(np.isnan(excess), np.inf, excess)))
    part, gap = constraint.parts[worst], found.gaps[worst]
    also = ", or drop one of several constraints" if len(constraint.parts) > 1 else ""
    if np.isnan(gap):
        return (
            f"The gap of {part.name} cannot be measured on the training data. Raise the tolerance, "
            f"{part.remedy(found.scores)}{also}."
        )
    return (
        f"The tolerance is exceeded by {found.violation:.2g} on the training data: the gap of "
        f"{part.name} is {gap:.4g}, its tolerance {part.tolerance:g}. See constraint_report_ for "
        f"the groups that miss it. Raise the tolerance, {part.remedy(found.scores)}{also}."
    )


def _missed_rates(constraint, found):
    return (
        f"The smooth rates miss their bounds by {found.result.violation:.2g}. Raise the tolerance "
        "or max_iter, or pass enforcement='auto' to bound the public metric instead."
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


class FitProgress:
    """Shows a fit to its callbacks after every iteration, and prints if asked to.

    Once a callback has asked to stop, all problems still to be solved end at their start.

    Parameters
    ----------
    estimator : estimator instance
        Being fitted.
    context : CallbackContext
        Of the fit.
    describe : callable
        Evaluation -> dict of the fitted attributes that predictions need.
    """

    def __init__(self, estimator, context, describe):
        self.estimator = estimator
        self.context = context
        self.describe = describe
        self.n_iter = 0
        self.is_stopped = False

    def __call__(self, progress):
        """Report an iteration; True if a callback wants the fit to stop."""
        if self.is_stopped or progress.n_iter == 0:  # the start is no iteration
            return self.is_stopped
        self.n_iter += 1
        evaluation = progress.evaluation
        if self.estimator.verbose:
            print(
                f"iteration {self.n_iter}: objective {evaluation.fun:.6g}, violation "
                f"{evaluation.violation:.2g}, residual {progress.residual:.2g}"
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
