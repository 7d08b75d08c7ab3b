"""Outer loop that adapts rows on ranks until the public metrics just keep their tolerances.

The gap between a ramp surrogate and a metric of ranks is only known after a fit, so the problem
is solved again with rows that follow from the last gap:

- rows at one threshold are corrected by the residual of the ramp;
- others get another tolerance, found by the secant method in a bracket. If less tolerance increases
  the gap or tolerance 0 is not enough, because the ramp is wide relative to the scores and treats
  all of them as equal, it is made narrower.

Very many samples are calibrated on a subsample first; fits of all start where its fits ended.
"""

from dataclasses import replace
from itertools import islice

import numpy as np
from sklearn.base import clone

from skfair.constraints._bound import ConstraintSystem
from skfair.fitting._counting import TIE_TOLERANCE
from skfair.fitting._fitter import limit_iterations, round_to_bits
from skfair.solvers import SQP

MAX_SOLVES = 16
_MAX_SOLVES_FROM_EARLIER = 4
"""Problems solved at most, and where an earlier fit has nearly the right rows."""

SLACK = 0.01
"""How far below its tolerance a metric may end."""

_NARROWING = 0.25

_MIN_BRACKET = 1e-3
"""Length of a bracket, relative to the requested tolerance, in which the gap jumps."""

_PATIENCE = 2
"""Number of ramps in a row, none of which comes nearer to a tolerance of 0, that end a search."""

_ROUGH_TOL = 1e-5
"""Tolerance of the solver for problems after which the metric decides what is solved next."""

_MAX_ROUGH_STEPS = 20
"""Iterations of SQP on such a problem: 3 to 10 are usual, and more lead nowhere."""

_START_BITS = 24
"""Binary digits of the point that a fit starts at: more depend on the order of sums."""

_EXACT_SOLVER = SQP(tol=1e-8)
"""Newton's method: problems without constraint are smooth and convex."""


def calibrate_tolerances(fitter, max_solves=MAX_SOLVES):
    """The candidate of least objective that keeps the tolerances by the public metrics, or nearly.

    The plain fit, if it keeps them. Else fits follow, each from where the last one ended, until no
    metric with active rows is more than 0.01 below its tolerance. If none keeps the tolerances,
    that of least violation is taken. At most `max_solves` problems with rows are solved.
    """
    if fitter.earlier_fit is None:
        rough = fitter.fit_unconstrained_roughly()
        start = fitter.fit_unconstrained(rough.parameters, _EXACT_SOLVER)
        if start.keeps_bound:
            return start
        latest, rows = _calibrate_subsample(fitter, fitter.shrink_scores(start))
    else:
        start = latest = fitter.evaluate(fitter.earlier_fit.parameters, fitter.earlier_fit.result)
        rows = _rescale_tolerances(fitter.constraint, fitter.earlier_fit)
        max_solves = min(max_solves, _MAX_SOLVES_FROM_EARLIER)
    candidates = [start, *islice(_fit_calibrations(fitter, latest, rows), max_solves)]
    best = min(candidates, key=lambda candidate: (candidate.violation, candidate.result.fun))
    tol = fitter.solver.tol
    # A problem that was solved twice has been refined.
    if best.result.residual > tol and sum(_has_problem_of(one, best) for one in candidates) == 1:
        candidates.append(_refine_fit(fitter, best))
    keys = [(one.violation, one.result.residual > tol, one.result.fun) for one in candidates]
    return candidates[keys.index(min(keys))]


def _has_problem_of(candidate, other):
    """Whether two candidates are solutions of one problem."""
    return candidate.result.evaluation.problem is other.result.evaluation.problem


def _refine_fit(fitter, candidate):
    """The solution of the problem of a rough fit to all digits."""
    return fitter.fit(candidate.result.evaluation.problem, candidate.result.x)


def _rescale_tolerances(constraint, earlier):
    """The constraints of an earlier fit, their tolerances changed as the requested ones were."""
    rows = earlier.result.evaluation.problem.constraint
    aims = [_aimed_gap(tolerance) for tolerance in constraint.tolerances]
    ratios = aims / np.maximum(earlier.gaps, TIE_TOLERANCE)
    return [
        replace(row, tolerance=row.tolerance * ratio if row.tolerance > 0 else aim)
        for row, ratio, aim in zip(rows, ratios, aims, strict=True)
    ]


def _calibrate_subsample(fitter, start):
    """Where the fits of all samples begin, and the rows that theirs are like.

    Its gaps are those on the subsample. Rows are None if there is no subsample, or no need of rows.
    """
    on_subsample = fitter.make_subsample_fitter(start.parameters)
    no_rows = [None] * len(fitter.constraint)
    if on_subsample is None:
        return start, no_rows
    try:
        candidate = calibrate_tolerances(on_subsample)
    except ValueError:  # too few samples of a class have a rank in an interval
        return start, no_rows
    rows = candidate.result.evaluation.problem.constraint
    if not len(rows):
        return start, no_rows
    scores = fitter.counter.predict_scores(candidate.parameters)
    return candidate._replace(scores=scores), list(rows)


def _fit_calibrations(fitter, latest, rows):
    """Yield fits, each under rows that follow from the gaps of the last fit."""
    # One search per constraint: it receives scores and gap of a fit, and yields the next rows.
    pairs = zip(fitter.constraint, rows, strict=True)
    searches = [
        (_correction_search if one.gap.is_correctable else _secant_search)(one, row)
        for one, row in pairs
    ]
    for search in searches:
        next(search)
    # The metric decides what is solved next: few digits of a solution are enough.
    rough_solver = clone(limit_iterations(fitter.solver, _MAX_ROUGH_STEPS))
    rough_solver.set_params(tol=max(_ROUGH_TOL, fitter.solver.tol))
    are_active = np.ones(len(searches), dtype=bool)
    while True:
        is_infeasible = latest.result.status == "infeasible"
        triples = zip(searches, latest.gaps, are_active, strict=True)
        # Sums depend on the memory that they are in: fits go on from equal digits.
        parameters = round_to_bits(latest.parameters, _START_BITS)
        scores = fitter.counter.predict_scores(parameters)
        rows = [search.send((scores, gap, is_infeasible, one)) for search, gap, one in triples]
        if any(row is None for row in rows):
            return
        problem = fitter.problem_with_constraint(ConstraintSystem(tuple(rows)))
        # Thresholds start at the last ones; other auxiliary unknowns are easily placed again.
        is_warm = len(latest.result.x) == problem.n_unknowns
        is_warm = is_warm and not any(one.gap.is_correctable for one in fitter.constraint)
        x = latest.result.x if is_warm else problem.initial_point(parameters)
        latest = fitter.fit(problem, round_to_bits(x, _START_BITS), rough_solver)
        yield latest
        is_rough = latest.result.residual > fitter.solver.tol
        if is_rough and latest.keeps_bound and _are_tolerances_used(fitter, rows, latest):
            latest = _refine_fit(fitter, latest)
            yield latest
        if latest.keeps_bound and _are_tolerances_used(fitter, rows, latest):
            return
        are_active = _find_active(fitter, rows, latest)


def _find_active(fitter, rows, candidate):
    """Which constraints have active rows, (n_constraints,).

    Multipliers up to the solver's tolerance are rounding: an interior point leaves no exact 0.
    """
    ends = np.cumsum([len(row.rows.lower) for row in rows])[:-1]
    multipliers = np.split(np.abs(candidate.result.multipliers), ends)
    return np.array([of_rows.max(initial=0.0) > fitter.solver.tol for of_rows in multipliers])


def _are_tolerances_used(fitter, rows, candidate):
    """Whether the tolerances of all constraints with active rows are used."""
    is_active = _find_active(fitter, rows, candidate)
    return (candidate.gaps >= fitter.constraint.tolerances - SLACK)[is_active].all()


def _aimed_gap(tolerance):
    return tolerance - min(SLACK, tolerance) / 2


def _correction_search(constraint, start):
    """Yield rows that count the decisions, as they are at the scores sent.

    The residual of the surrogate is averaged with the one before, because a model that follows one
    correction in full often needs the opposite one next.
    """
    aim = _aimed_gap(constraint.tolerance)
    tolerance = aim if start is None else start.tolerance
    scores, *_ = yield
    offset = None
    while True:
        rows = replace(constraint.linearize_at(scores), tolerance=tolerance)
        residual = rows.rows.residual(scores)
        offset = residual if offset is None else (offset + residual) / 2
        scores, gap, *_ = yield replace(rows, offset=offset)
        # Decisions change sample by sample: half of what still exceeds the aim is added.
        tolerance = min(aim, max(0.0, tolerance + (aim - _gap_or_1(gap)) / 2))


def _secant_search(constraint, start):
    """Yield rows with another tolerance, found by the secant method in a bracket.

    The fraction of the bracket that the secant points to is kept away from 0 and 1. If less
    tolerance increases the gap, or 0 is not enough, the ramp is made narrower, and the next time
    rows are refined too. None is the end: a tolerance of 0 is more than enough, or narrower ramps
    come no nearer to it, or the ramp is so narrow that no model can keep more than 0, or the gap
    jumps over the aim.
    """
    requested = constraint.tolerance
    aim = _aimed_gap(requested)
    scores, gap, *_ = yield
    is_narrowed, gaps_at_zero = False, []
    while True:
        # The bracket holds pairs of a tolerance and the gap that it leads to.
        tolerance, low = requested, (0.0, 0.0)
        high = (max(requested, _gap_or_1(gap)), _gap_or_1(gap))
        is_guessed = start is not None
        if is_guessed:  # nearly right, so the bracket is narrow
            constraint, tolerance = replace(constraint, gap=start.gap), start.tolerance
            high, start = (2.0 * tolerance, 2.0 * aim), None
        is_measured = False  # until then the gap of the plain fit stands for any tolerance above
        while True:
            rows = replace(constraint.linearize_at(scores), tolerance=tolerance)
            scores, gap, is_infeasible, is_active = yield rows
            if tolerance == 0.0:
                gaps_at_zero.append(_gap_or_1(gap))
                if gaps_at_zero[-1] <= requested or _stagnates(gaps_at_zero):
                    yield None
                break
            if _gap_or_1(gap) > aim:
                if is_infeasible and is_narrowed:
                    yield None
                if is_infeasible:
                    break  # perhaps only by this ramp
                if is_measured and low[0] == 0.0 and _gap_or_1(gap) > high[1] + SLACK / 2:
                    break  # less tolerance increases the gap: the ramp does not show it
                high, is_measured = (tolerance, _gap_or_1(gap)), True
            else:
                low = (tolerance, gap)
                if is_guessed and not is_measured and gap > aim / 8:  # nearly proportional
                    high = (2.0 * tolerance * aim / gap, 2.0 * aim)
                elif not is_measured and tolerance > high[0] / 2:
                    high = (2.0 * high[0], high[1])
            fraction = (aim - low[1]) / max(high[1] - low[1], 1e-12)
            if high[0] - low[0] < _MIN_BRACKET * requested and low[0] > 0.0:
                yield None  # ranks of equal scores change at once: no tolerance comes nearer
            # Rows that are not active say nothing about the gap: halve the bracket.
            largest = 0.9 if is_active else 0.5
            tolerance = low[0] + min(max(fraction, 0.1), largest) * (high[0] - low[0])
            if tolerance < 0.02 * requested:
                tolerance = 0.0
        if is_narrowed and requested > 0.0:  # at tolerance 0 more rows only increase the violation
            constraint = _replace_criterion(constraint, constraint.gap.criterion._refine())
        narrowed = constraint.gap.criterion._narrow(_NARROWING)
        constraint, is_narrowed = _replace_criterion(constraint, narrowed), True


def _replace_criterion(constraint, criterion):
    return replace(constraint, gap=replace(constraint.gap, criterion=criterion))


def _stagnates(gaps):
    """Whether the latest gaps are no smaller than one before them."""
    return min(gaps[-_PATIENCE:]) >= min(gaps[:-_PATIENCE], default=np.inf)


def _gap_or_1(gap):
    """Return the gap, or 1 if it cannot be measured."""
    return 1.0 if np.isnan(gap) else gap
