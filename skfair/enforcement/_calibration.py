"""Rows that are led, fit by fit, to where the public metrics just keep their tolerances.

Rows that a ramp counts and metrics that ranks decide differ by what cannot be known before the fit.
So fits follow one another, and after each of them every part of the constraint is told its gap:

- rows at one threshold are corrected for what the ramp missed of the decisions;
- others keep another tolerance than the one asked for, found by the secant method in a bracket. If
  less tolerance harms or tolerance 0 does not suffice, because the ramp is wide beside the spread
  of the scores and takes all of them for equal, it is made narrower.

Of very many people some go through all of this first; everybody's fits begin where theirs ended.
"""

from dataclasses import replace
from itertools import islice

import numpy as np

from skfair.constraints import ConstraintSystem
from skfair.enforcement._task import TIE
from skfair.solvers import SQP

MAX_SOLVES = 16
_MAX_FROM_EARLIER = 4
"""Problems solved at most, anew and where an earlier fit has nearly the right rows."""

SLACK = 0.01
"""How far below its tolerance a metric may end."""

_NARROWER = 0.25

_IN_VAIN = 2
"""So many ramps in a row that come no nearer to a tolerance of 0 are the last."""

_EXACT = SQP(tol=1e-8)
"""Newton's method: problems without constraint are smooth and convex."""


def calibrate(task):
    """Find a model that keeps the tolerances by the public metrics, and wastes little of them.

    If the plain fit keeps them, that is the answer. Else fits follow, each from where the last one
    ended, until no metric whose rows press lies more than 0.01 below its tolerance.

    Parameters
    ----------
    task : Task
        What is to be solved.

    Returns
    -------
    candidate : Candidate
        Of those found to keep the tolerances the one of least objective, else the fairest.
    """
    if task.earlier is None:
        start = task.rough()
        if (start.gaps <= task.constraint.tolerances + SLACK).all():
            start = task.plain(start.parameters, _EXACT)
            if start.keeps_bound:
                return start
        latest, rehearsed = _rehearse(task, start)
    else:
        start = latest = task.judge(task.earlier.parameters, task.earlier.result)
        rehearsed = _rescaled(task.constraint, task.earlier)
    n_most = MAX_SOLVES if task.earlier is None else _MAX_FROM_EARLIER
    found = [start, *islice(_calibrations(task, latest, rehearsed), n_most)]
    best = min(found, key=lambda candidate: (candidate.violation, candidate.result.fun))
    if best.result.residual > task.tol:
        found.append(_finished(task, best))

    def preference(candidate):
        result = candidate.result
        return candidate.violation, result.residual > task.tol, result.fun

    return min(found, key=preference)


def _finished(task, candidate):
    """The answer to the problem of a rough fit."""
    result = candidate.result
    return task.candidate(result.evaluation.problem, result.x)


def _rescaled(constraint, earlier):
    """The constraints of an earlier fit, their tolerances changed as the requested ones were."""
    rows = earlier.result.evaluation.problem.constraint
    aims = [_aim(tolerance) for tolerance in constraint.tolerances]
    ratios = aims / np.maximum(earlier.gaps, TIE)
    return [
        replace(row, tolerance=row.tolerance * ratio if row.tolerance > 0 else aim)
        for row, ratio, aim in zip(rows, ratios, aims, strict=True)
    ]


def _rehearse(task, start):
    """Calibrate among some of very many people: what they end at, and under which rows.

    Returns
    -------
    latest : Candidate
        Where everybody's fits begin; its gaps are those among the some.
    rows : list of MetricConstraint or None
        What everybody's rows are first made like; None where nobody rehearsed, or without need.
    """
    n_constraints = len(task.constraint)
    few = task.rehearsal(start.parameters)
    if few is None:
        return start, [None] * n_constraints
    try:
        found = calibrate(few)
    except ValueError:  # linearised at their scores, too few of a class rank in an interval
        return start, [None] * n_constraints
    rows = found.result.evaluation.problem.constraint
    if not len(rows):
        return start, [None] * n_constraints
    return found._replace(scores=task.predicted(found.parameters)), list(rows)


def _calibrations(task, latest, rehearsed):
    """Yield fits, each under rows that were told what the last fit left."""
    pairs = zip(task.constraint, rehearsed, strict=True)
    loops = [(_corrections if one.is_correctable else _secant)(one, rows) for one, rows in pairs]
    for loop in loops:
        next(loop)
    while True:
        told = zip(loops, latest.gaps, strict=True)
        is_infeasible = latest.result.status == "infeasible"
        rows = [loop.send((latest.scores, gap, is_infeasible)) for loop, gap in told]
        if any(row is None for row in rows):
            return
        problem = task.under(ConstraintSystem(tuple(rows)))
        # Thresholds go on from where they were; levels, which are easily placed, do not.
        is_warm = len(latest.result.x) == problem.n_unknowns
        is_warm = is_warm and not any(one.is_correctable for one in task.constraint)
        x = latest.result.x if is_warm else problem.initial_point(latest.parameters)
        latest = task.roughly(problem, x)
        yield latest
        is_rough = latest.result.residual > task.tol
        if is_rough and latest.keeps_bound and _uses_up(task, rows, latest):
            latest = _finished(task, latest)
            yield latest
        if latest.keeps_bound and _uses_up(task, rows, latest):
            return


def _uses_up(task, rows, candidate):
    """Whether the tolerances of all parts whose rows press are used.

    Multipliers up to the solver's tolerance are rounding: an interior point leaves no exact 0.
    """
    ends = np.cumsum([len(row.rows.lower) for row in rows])[:-1]
    prices = np.split(np.abs(candidate.result.multipliers), ends)
    pressing = [own.max(initial=0.0) > task.tol for own in prices]
    return (candidate.gaps >= task.constraint.tolerances - SLACK)[pressing].all()


def _aim(tolerance):
    return tolerance - min(SLACK, tolerance) / 2


def _corrections(part, rehearsed):
    """Yield rows that count the decisions, as they are at the scores sent.

    What the surrogate misses of the decisions is averaged with what it missed before, because a
    model that answers one correction in full often calls for the opposite one.
    """
    aim = _aim(part.tolerance)
    effective = aim if rehearsed is None else rehearsed.tolerance
    scores, *_ = yield
    missed = None
    while True:
        rows = replace(part.linearize_at(scores), tolerance=effective)
        misses = rows.rows.residual(scores)
        missed = misses if missed is None else (missed + misses) / 2
        scores, gap, _ = yield replace(rows, offset=missed)
        # Decisions come in persons: what still exceeds the aim is asked for in advance.
        effective = min(aim, max(0.0, effective + (aim - _known(gap)) / 2))


def _secant(part, rehearsed):
    """Yield rows that keep another tolerance, found by the secant method in a bracket.

    The share of the interval that the secant points to is kept away from the ends of the bracket.
    Where less tolerance takes the groups further apart, or none leaves them so, the ramp is made
    narrower, and the next time rows are refined too. None is the end: a tolerance of 0 is more than
    enough, or narrower ramps come no nearer to it, or by one too no model can keep more than 0.
    """
    aim, asked = _aim(part.tolerance), part.tolerance
    scores, gap, _ = yield
    is_narrowed, of_zero = False, []
    while True:
        effective, low = asked, (0.0, 0.0)
        high = (max(asked, _known(gap)), _known(gap))
        is_guessed = rehearsed is not None
        if is_guessed:  # nearly right: the bracket is as narrow
            part, effective = _with_criterion(part, rehearsed.criterion), rehearsed.tolerance
            high, rehearsed = (2.0 * effective, 2.0 * aim), None
        measured = False  # the plain fit stands for any tolerance above
        while True:
            rows = replace(part.linearize_at(scores), tolerance=effective)
            scores, gap, is_infeasible = yield rows
            if effective == 0.0:
                of_zero.append(_known(gap))
                if of_zero[-1] <= asked or _in_vain(of_zero):
                    yield None
                break
            if _known(gap) > aim:
                if is_infeasible and is_narrowed:
                    yield None
                if is_infeasible:
                    break  # perhaps only by this ramp
                if measured and low[0] == 0.0 and _known(gap) > high[1] + SLACK / 2:
                    break  # less tolerance harms: the ramp does not see who differs
                high, measured = (effective, _known(gap)), True
            else:
                low = (effective, gap)
                if is_guessed and not measured and gap > aim / 8:  # they grow about alike
                    high = (2.0 * effective * aim / gap, 2.0 * aim)
                elif not measured and effective > high[0] / 2:
                    high = (2.0 * high[0], high[1])
            share = (aim - low[1]) / max(high[1] - low[1], 1e-12)
            effective = low[0] + min(max(share, 0.1), 0.9) * (high[0] - low[0])
            if effective < 0.02 * asked:
                effective = 0.0
        if is_narrowed and asked > 0.0:  # of a tolerance of 0 more rows are only missed by more
            part = _with_criterion(part, part.criterion.refine())
        part, is_narrowed = _with_criterion(part, part.criterion.narrow(_NARROWER)), True


def _with_criterion(part, criterion):
    return replace(part, criterion=criterion)


def _in_vain(gaps):
    """Whether the latest gaps are no smaller than one before them."""
    return min(gaps[-_IN_VAIN:]) >= min(gaps[:-_IN_VAIN], default=np.inf)


def _known(gap):
    """The gap, or the largest there is where it cannot be measured."""
    return 1.0 if np.isnan(gap) else gap
