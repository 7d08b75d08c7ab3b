"""What a constrained fit tells: its status, warnings, and reports on the way."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skfair.exceptions import InfeasibleConstraintWarning


def status_of(found, enforce):
    """The ``status_`` of a candidate.

    Parameters
    ----------
    found : Candidate
        The model that is taken.
    enforce : {"true", "surrogate"}
        Whether the bound is on its decisions, or on the solver's smooth rates.

    Returns
    -------
    status : {"optimal", "max_iter", "infeasible"}
    """
    if enforce == "true" and not found.keeps_bound:
        return "infeasible"
    if enforce == "true" and found.result.status != "optimal":
        return "max_iter"
    return found.result.status


def warn_of_outcome(estimator, constraint, found):
    """Warn of a missed bound, of a solver cut short, of constant decisions.

    To be called from ``fit``, whose caller the warnings point to.

    Parameters
    ----------
    estimator : estimator instance
        Fitted.
    constraint : JointConstraint or Unconstrained
        What was to be kept.
    found : Candidate
        The model that is taken.
    """
    if estimator.status_ == "infeasible":
        message = _missed_decisions if estimator.enforce == "true" else _missed_rates
        warnings.warn(message(constraint, found), InfeasibleConstraintWarning, stacklevel=4)
    elif estimator.status_ == "max_iter":
        warnings.warn(
            f"{found.result.message} Raise max_iter or tol, or try solver='sqp'.",
            ConvergenceWarning,
            stacklevel=4,
        )
    decisions = found.scores > 0
    if _was_shaped(found) and len(np.unique(decisions)) == 1:
        warnings.warn(
            f"Every training sample is given the class {estimator.classes_[int(decisions[0])]}: "
            "no other decisions were found that keep the tolerance. Raise the tolerance, leave "
            "small groups out (min_group_size), or pass class_weight='balanced'.",
            UserWarning,
            stacklevel=4,
        )


def _was_shaped(found):
    """Whether a tolerance shaped the model: rows press, or a search has moved it."""
    solved = found.result.x[: len(found.parameters)]
    return found.result.multipliers.any() or not np.array_equal(found.parameters, solved)


def _missed_decisions(constraint, found):
    worst = max(constraint.parts, key=lambda part: part.violation(found.scores))
    return (
        f"The tolerance is exceeded by {found.violation:.2g} on the training data: the gap of "
        f"{worst.name} is {worst.gap(found.scores):.4g}, its tolerance {worst.tolerance:g}. See "
        "constraint_report_ for the groups that miss it. Raise the tolerance, leave small groups "
        "out (min_group_size), or drop one of several constraints."
    )


def _missed_rates(constraint, found):
    return (
        f"The smooth rates miss their bounds by {found.result.violation:.2g}. Raise the tolerance "
        "or max_iter, or pass enforce='true' to bound the decisions instead."
    )


class Watch:
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
        if self.is_stopped:
            return True
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
