"""What a search for rates leads to: fitted attributes, status and warnings."""

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skfair.classification._rank_search import N_TRIES, best
from skfair.exceptions import InfeasibleConstraintWarning
from skfair.training import label_positive, promised, uncertain, unconstrained
from skfair.utils._messages import warn


def rates_of(tried, members, positions):
    """The fitted attributes of the best rates that were tried.

    Parameters
    ----------
    tried : list of Found
        As returned by `search`.
    members : RankedMembers
        Training samples of the groups that are compared.
    positions : ndarray of int, shape (n_groups,)
        Whose rate each group has, among the groups of the members.

    Returns
    -------
    fitted : dict
    """
    found = best(tried)
    return {
        "rates_": members.positive_rates(found.scores)[positions],
        "center_": found.center,
        "objective_": found.error,
        "constraint_violation_": found.excess,
        "n_iter_": len(tried),
        "_zeros": found.zeros[positions],
    }


def outcome_of(model, promise, bound, report, has_groups):
    """The fitted attributes that tell how the fit ended.

    Parameters
    ----------
    model : PartialParityPostprocessor
        Its ``confidence_level`` is what was asked for.
    promise : Guarantee
        As returned by `promised_search`.
    bound : MetricConstraint
        What was to be kept.
    report : DataFrame
        Its ``constraint_report_``.
    has_groups : bool
        Whether groups came.

    Returns
    -------
    fitted : dict
    """
    found, n_tried = best(promise.found), len(promise.found)
    # What exceeds the inner tolerance may keep the one that was asked for.
    excess = max(0.0, found.excess - (bound.tolerance - promise.tolerances[0]))
    by_number = {1: "optimal", N_TRIES: "feasible"}
    status = "infeasible" if excess else by_number.get(n_tried, "max_iter")
    fitted = {"constraint_report_": report, "constraint_violation_": excess}
    fitted |= promised(model, promise, status)
    return fitted if has_groups else fitted | unconstrained(report)


def warn_of_outcome(model, promise):
    """Warn of a missed tolerance, of a search cut short, of constant decisions.

    Parameters
    ----------
    model : PartialParityPostprocessor
        Fitted.
    promise : Guarantee
        What it promises.
    """
    if model.status_ == "infeasible":
        warn(
            f"The difference exceeds the tolerance of {model.tolerance:g} by "
            f"{model.constraint_violation_:.4f} on the training data, at the best. Tied scores "
            "cannot be moved apart, and groups of different size never have quite the same "
            "distribution: raise the tolerance, widen the interval, or use a classifier whose "
            "scores have fewer ties.",
            InfeasibleConstraintWarning,
        )
    elif model.status_ == "uncertain":
        warn(uncertain(model, promise), InfeasibleConstraintWarning)
    elif model.status_ == "max_iter":
        warn(
            f"A callback stopped the search after {model.n_iter_} gaps: there may be rates that "
            "keep the tolerance with fewer errors.",
            ConvergenceWarning,
        )
    if model.status_ in ("infeasible", "max_iter"):
        return
    if len(model.rates_) > 1 and (np.all(model.rates_ == 0) or np.all(model.rates_ == 1)):
        label = label_positive(model.rates_[:1] > 0, model.classes_, model.pos_label_)[0]
        warn(
            f"Every training sample is given the class {label}: of all rates that keep the "
            "tolerance, these make the fewest errors. Raise the tolerance."
        )
