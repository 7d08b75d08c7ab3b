"""Smooth rates led to the decisions that they stand for: corrections, tolerances, prices."""

from dataclasses import replace

import numpy as np

from skfair.constraints import ConstraintSystem
from skfair.enforcement._task import rank

_MAX_CORRECTIONS = 6
_MAX_TIGHTENINGS = 8
_MAX_PRICES = 8


def corrections(task, start):
    """Yield the fit under smooth rates, then fits under rates corrected at the best so far.

    A correction that takes the decisions further from the bound is made half as far.
    """
    problem, best, share = task.problem, start, 1.0
    yield best
    for _ in range(_MAX_CORRECTIONS):
        corrected = replace(problem, constraint=problem.constraint.correct(best.scores, share))
        found = task.candidate(corrected, corrected.initial_point(best.parameters))
        yield found
        if found.violation < best.violation or found.keeps_bound:
            problem, best = corrected, found
        else:
            share /= 2


def tighten(task, candidate):
    """Correct with tolerances less what decisions missed so far, until these keep the bound.

    Gaps of decisions jump: a smooth rate that is right at the bound leaves them on either side.
    """
    best, room = candidate, np.zeros(len(task.constraint))
    for _ in range(_MAX_TIGHTENINGS):
        if best.keeps_bound:
            break
        room += np.maximum(0.0, task.constraint.gaps(best.scores) - task.constraint.tolerances)
        left = np.maximum(0.0, task.constraint.tolerances - room)
        tightened = task.under(task.constraint.correct(best.scores).with_tolerances(left))
        found = task.candidate(tightened, tightened.initial_point(best.parameters))
        if found.result.status == "infeasible":
            break
        best = min(best, found, key=rank)
    return best


def path(task, start):
    """Yield fits whose labels and weights price the rows, until decisions just keep the bound.

    With multipliers p the cost of deciding 1 rather than 0 is ``-share * target + effects(p)`` for
    each sample, so a fit with minus its sign as label and its size as weight prices decisions as
    the Lagrangian does (A. Agarwal et al., A reductions approach to fair classification, ICML 2018,
    section 3). The prices lie on the ray through the multipliers of the smooth fit.
    """
    yield start
    problem, prices = task.problem, start.result.multipliers
    effects = _decision_effects(problem.constraint, start.scores, prices)
    low, high, parameters = 0.0, np.inf, start.parameters
    length = 1.0
    for _ in range(_MAX_PRICES):
        gain = problem.share * problem.target - length * effects
        priced = replace(
            problem,
            constraint=ConstraintSystem(()),
            target=np.where(gain > 0, 1.0, -1.0),
            weights=np.abs(gain),
        )
        found = task.candidate(priced, parameters)  # no unknowns but these
        yield found._replace(result=replace(found.result, multipliers=length * prices))
        parameters = found.parameters
        # Rows that still press beyond their bounds want a higher price, rows within a lower one.
        pressing = _weighted_excess(problem.constraint, found.scores, prices)
        low, high = (length, high) if pressing > 0 else (low, length)
        length = 2.0 * low if np.isinf(high) else (low + high) / 2


def _decision_effects(constraint, scores, multipliers):
    """What each sample's positive decision adds to ``multipliers @ rows``, as the metric counts."""
    effects = np.zeros(len(scores))
    pairs = zip(constraint, constraint.split_by_constraint(multipliers), strict=True)
    for one, own in pairs:
        means = one.means
        positive, negative = (means.exact_rate(np.full(len(scores), sign)) for sign in (1.0, -1.0))
        _, combine = one.rows.exact_at(scores)
        effects = effects + means.events.means_adjoint(combine.T @ own) * (positive - negative)
    return effects


def _weighted_excess(constraint, scores, multipliers):
    """Multipliers times the excess of the rows over their bounds, as the metric counts.

    It is positive if the rows lie beyond their bounds on the whole. Multipliers are positive at
    upper bounds, negative at lower ones.
    """
    total = 0.0
    for one, own in zip(constraint, constraint.split_by_constraint(multipliers), strict=True):
        active = own != 0
        bounds = np.where(own > 0, one.rows.upper, one.rows.lower)[active]
        total += float(own[active] @ (one.rows.exact_at(scores)[0][active] - bounds))
    return total
