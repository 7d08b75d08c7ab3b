"""Outer loop that adapts rows on ranks until the public metrics just keep their tolerances.

The gap between a ramp surrogate and a metric of ranks is only known after a fit, so the problem
is solved again with rows that follow from the last gap:

- rows at one threshold are corrected by the residual of the ramp;
- others get another tolerance, found by the secant method in a bracket. If less tolerance increases
  the gap or tolerance 0 is not enough, because the ramp is wide relative to the scores and treats
  all of them as equal, it is made narrower.

Very many samples are calibrated on a subsample first; fits of all start where its fits ended.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import clone

from skfair._bound.bound import BoundConstraint, ConstraintSystem
from skfair._fitting.counting import TIE_TOLERANCE
from skfair._fitting.fitter import FULL, limit_iterations, make_subsample_fitter, round_to_bits

if TYPE_CHECKING:
    from types import SimpleNamespace

    from skfair._fitting.counting import Candidate
    from skfair._fitting.fitter import Fitter


SLACK = 0.01
"""How far below its tolerance a metric may end."""

_START_BITS = 24
"""Binary digits of the point that a fit starts at: more depend on the order of sums."""


def calibrate_tolerances(fitter: Fitter, max_solves: int = FULL.solves) -> Candidate:
    """The candidate of least objective that keeps the tolerances by the public metrics, or nearly.

    The plain fit, if it keeps them. Else fits follow, each from where the last one ended, until no
    metric with active rows is more than 0.01 below its tolerance. If none keeps the tolerances,
    that of least violation is taken. At most `max_solves` problems with rows are solved.
    """
    return choose_calibration(fitter, fit_calibrations(fitter, max_solves))


def fit_calibrations(fitter: Fitter, max_solves: int = FULL.solves) -> list[Candidate]:
    """All fits of `calibrate_tolerances`: the plain fit alone, if it keeps the tolerances."""
    if fitter.earlier_fit is None:
        first = fitter.converged_plain_fit
        if first.keeps_bound:
            return [first]
        latest, rows = _calibrate_subsample(fitter, fitter.shrink_scores(first))
    else:
        first = latest = fitter.evaluate(fitter.earlier_fit.parameters, fitter.earlier_fit.result)
        # Its rows are nearly right: their tolerances change as the requested ones did.
        earlier_rows = fitter.earlier_fit.result.evaluation.problem.constraint
        aims = [_aimed_gap(tolerance) for tolerance in fitter.constraint.tolerances]
        ratios = aims / np.maximum(fitter.earlier_fit.gaps, TIE_TOLERANCE)
        rows = [
            replace(row, tolerance=row.tolerance * ratio if row.tolerance > 0 else aim)
            for row, ratio, aim in zip(earlier_rows, ratios, aims, strict=True)
        ]
        max_solves = min(max_solves, 4)
    return [first, *_fit_rows(fitter, latest, rows, max_solves)]


def choose_calibration(fitter: Fitter, candidates: list[Candidate]) -> Candidate:
    """The candidate of least violation, then of least objective, refined if it is a rough fit."""
    best = min(candidates, key=lambda one: (one.rounded_violation, one.result.fun))
    tol = fitter.solver.tol
    # A problem that was solved twice has been refined.
    problem = best.result.evaluation.problem
    is_alone = sum(one.result.evaluation.problem is problem for one in candidates) == 1
    if best.result.residual > tol and is_alone:
        refined = _refine_fit(fitter, best)
        # Where the solver does not converge, the last digits of its start decide where it ends.
        if refined.result.residual <= tol:
            candidates = [*candidates, refined]
    return min(
        candidates,
        key=lambda one: (one.rounded_violation, one.result.residual > tol, one.result.fun),
    )


def _refine_fit(fitter: Fitter, candidate: Candidate) -> Candidate:
    """The solution of the problem of a rough fit to all digits."""
    problem = candidate.result.evaluation.problem
    return fitter.fit(problem, candidate.result.x, limit_iterations(fitter.solver))


def _calibrate_subsample(fitter: Fitter, candidate: Candidate) -> tuple[Candidate, list]:
    """Where the fits of all samples begin, and the rows that theirs are like.

    Its gaps are those on the subsample. Rows are None if there is no subsample, or no need of rows.
    """
    on_subsample = make_subsample_fitter(fitter, candidate.parameters)
    no_rows = [None] * len(fitter.constraint)
    if on_subsample is None:
        return candidate, no_rows
    try:
        calibrated = calibrate_tolerances(on_subsample)
    except ValueError:  # too few samples of a class have a rank in an interval
        return candidate, no_rows
    rows = calibrated.result.evaluation.problem.constraint
    if not len(rows):
        return candidate, no_rows
    scores = fitter.counter.predict_scores(calibrated.parameters)
    return calibrated._replace(scores=scores), list(rows)


def _fit_rows(
    fitter: Fitter, latest: Candidate, rows: list[BoundConstraint | None], max_solves: int
) -> list[Candidate]:
    """Fits, each under rows that follow from the gaps of the last fit."""
    # One search per constraint. A gap that cannot be measured counts as 1.
    gaps = np.nan_to_num(latest.gaps, nan=1.0)
    searches = [
        (CorrectionSearch if one.gap.is_correctable else SecantSearch)(one, row, gap)
        for one, row, gap in zip(fitter.constraint, rows, gaps, strict=True)
    ]
    # The metric decides what is solved next: few digits of a solution are enough.
    tol = fitter.solver.tol
    rough_solver = clone(limit_iterations(fitter.solver, 20)).set_params(tol=max(1e-5, tol))
    fits: list[Candidate] = []
    while len(fits) < max_solves:
        # The next rows. Sums depend on the memory that they are in: fits go on from equal digits.
        parameters = round_to_bits(latest.parameters, _START_BITS)
        scores = fitter.counter.predict_scores(parameters)
        system = ConstraintSystem(search.make_rows(scores) for search in searches)
        problem = fitter.problem_with_constraint(system)
        # Thresholds start at the last ones; other auxiliary unknowns are easily placed again.
        is_other = any(one.gap.is_correctable for one in fitter.constraint)
        is_other |= len(latest.result.x) != problem.n_unknowns
        x = problem.initial_point(parameters) if is_other else latest.result.x
        latest = fitter.fit(problem, round_to_bits(x, _START_BITS), rough_solver)
        fits.append(latest)
        # All digits of one that may be the last.
        is_rough = latest.result.residual > tol and len(fits) < max_solves
        if is_rough and _is_final(fitter, system, latest):
            latest = _refine_fit(fitter, latest)
            fits.append(latest)
        if _is_final(fitter, system, latest):
            break
        # What each search learns from the gaps.
        gaps = np.nan_to_num(latest.gaps, nan=1.0)
        is_infeasible = latest.result.status == "infeasible"
        facts = zip(searches, gaps, _find_active(fitter, system, latest), strict=True)
        is_open = [search.learn(gap, is_infeasible, one) for search, gap, one in facts]
        if not all(is_open):
            break
    return fits


def _find_active(
    fitter: Fitter | SimpleNamespace,
    rows: ConstraintSystem | list,
    candidate: Candidate | SimpleNamespace,
) -> np.ndarray:
    """Which constraints have active rows, (n_constraints,).

    Multipliers up to the solver's tolerance are rounding: an interior point leaves no exact 0.
    """
    ends = np.cumsum([len(row.rows.lower) for row in rows])[:-1]
    multipliers = np.split(np.abs(candidate.result.multipliers), ends)
    return np.array([of_rows.max(initial=0.0) > fitter.solver.tol for of_rows in multipliers])


def _is_final(
    fitter: Fitter | SimpleNamespace, rows: ConstraintSystem, candidate: Candidate | SimpleNamespace
) -> bool:
    """Whether a candidate keeps the bound, and all constraints with active rows use theirs."""
    is_used = candidate.gaps >= fitter.constraint.tolerances - SLACK
    return candidate.keeps_bound and bool(is_used[_find_active(fitter, rows, candidate)].all())


def _aimed_gap(tolerance: float) -> float:
    return tolerance - min(SLACK, tolerance) / 2


class CorrectionSearch:
    """Rows that count the decisions, as they are at the scores of the last fit.

    The residual of the surrogate is averaged with the one before, because a model that follows one
    correction in full often needs the opposite one next.
    """

    def __init__(self, bound, warm_bound, gap):
        self.bound = bound
        self.aim = _aimed_gap(bound.tolerance)
        self.tolerance = self.aim if warm_bound is None else warm_bound.tolerance
        self.offset = None

    def make_rows(self, scores: np.ndarray) -> BoundConstraint:
        """The rows at scores."""
        rows = replace(self.bound.linearize_at(scores), tolerance=self.tolerance)
        residual = rows.rows.residual(scores)
        self.offset = residual if self.offset is None else (self.offset + residual) / 2
        return replace(rows, offset=self.offset)

    def learn(self, gap: float, is_infeasible: bool, is_active: bool) -> bool:
        """Change the tolerance by the gap of a fit under the last rows; always True."""
        # Decisions change sample by sample: half of what still exceeds the aim is added.
        self.tolerance = min(self.aim, max(0.0, self.tolerance + (self.aim - gap) / 2))
        return True


@dataclass
class Bracket:
    """A tolerance that leads to a gap above the aim, and a lower one to a gap below it."""

    aim: float
    high: float
    high_gap: float
    low: float = 0.0
    low_gap: float = 0.0
    is_guessed: bool = False  # from an earlier fit
    is_measured: bool = False  # until then the gap of the plain fit stands for any tolerance above

    def add(self, tolerance: float, gap: float) -> None:
        """Replace an end by a tolerance and the gap that it leads to."""
        if gap > self.aim:
            self.high = tolerance
            self.high_gap = gap
            self.is_measured = True
            return
        self.low = tolerance
        self.low_gap = gap
        if self.is_guessed and not self.is_measured and gap > self.aim / 8:  # nearly proportional
            self.high = 2.0 * tolerance * self.aim / gap
            self.high_gap = 2.0 * self.aim
        elif not self.is_measured and tolerance > self.high / 2:
            self.high *= 2.0

    def split(self, largest: float) -> float:
        """The tolerance that the secant points to; shares of the bracket are .1 to the largest."""
        share = (self.aim - self.low_gap) / max(self.high_gap - self.low_gap, 1e-12)
        return self.low + min(max(share, 0.1), largest) * (self.high - self.low)


class SecantSearch:
    """Rows with another tolerance, found by the secant method in a bracket.

    Where the ramp does not show the gap it is made narrower, and the next time rows are refined
    too.
    """

    def __init__(
        self, bound: BoundConstraint, warm_bound: BoundConstraint | None, gap: float
    ) -> None:
        self.bound = bound
        self.requested = bound.tolerance
        self.is_narrowed = False
        self.gaps_at_zero: list[float] = []
        self._open_bracket(gap)
        if warm_bound is not None:  # nearly right, so the bracket is narrow
            self.bound = replace(bound, gap=warm_bound.gap)
            self.tolerance = warm_bound.tolerance
            aim = self.bracket.aim  # type: ignore[has-type]
            self.bracket = Bracket(aim, 2.0 * self.tolerance, 2.0 * aim, is_guessed=True)

    def make_rows(self, scores: np.ndarray) -> BoundConstraint:
        """The rows at scores."""
        return replace(self.bound.linearize_at(scores), tolerance=self.tolerance)

    def learn(self, gap: float, is_infeasible: bool, is_active: bool) -> bool:
        """Change tolerance or ramp by the gap of a fit under the last rows; False is the end."""
        bracket = self.bracket
        is_larger = bracket.is_measured and gap > bracket.high_gap + SLACK / 2
        if self.tolerance == 0.0:
            gaps = self.gaps_at_zero
            gaps.append(gap)
            # The two latest gaps are no smaller than one before them.
            is_stagnant = min(gaps[-2:]) >= min(gaps[:-2], default=np.inf)
            if gap <= self.requested or is_stagnant:
                return False  # more than enough, or narrower ramps come no nearer
            self._narrow_ramp(gap)
        elif is_infeasible and gap > bracket.aim:
            if self.is_narrowed:
                return False  # no model can keep more than 0
            self._narrow_ramp(gap)  # perhaps infeasible only by this ramp
        elif is_larger and bracket.low == 0.0:
            self._narrow_ramp(gap)  # less tolerance has increased the gap
        else:
            bracket.add(self.tolerance, gap)
            if bracket.high - bracket.low < 1e-3 * self.requested and bracket.low > 0.0:
                return False  # ranks of equal scores change at once: no tolerance comes nearer
            # Rows that are not active say nothing about the gap: halve the bracket.
            self.tolerance = bracket.split(0.9 if is_active else 0.5)
            if self.tolerance < 0.02 * self.requested:
                self.tolerance = 0.0
        return True

    def _open_bracket(self, gap: float) -> None:
        """Begin at the requested tolerance."""
        self.tolerance = self.requested
        self.bracket = Bracket(_aimed_gap(self.requested), max(self.requested, gap), gap)

    def _narrow_ramp(self, gap: float) -> None:
        """Begin again with a narrower ramp."""
        criterion = self.bound.gap.criterion
        if self.is_narrowed and self.requested > 0.0:  # at 0 more rows only increase the violation
            criterion = criterion._refine()
        narrowed = replace(self.bound.gap, criterion=criterion._narrow(0.25))  # type: ignore[type-var]
        self.bound = replace(self.bound, gap=narrowed)
        self.is_narrowed = True
        self._open_bracket(gap)
