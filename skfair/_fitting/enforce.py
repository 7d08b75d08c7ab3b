"""From smooth rates to decisions: a loop for each thing that constraints count.

Solvers bound smooth rates, but the guarantee is about decisions. `choose_loop` names the loop:

- `enforce_decisions`: the plain fit, which is returned if it keeps the bound; the fit under smooth
  rates, and under a guarantee its corrections; around them line searches, which find of all
  intercepts the one whose decisions keep the bound with the fewest errors, by sorting the scores
  (exactly, unless samples times groups are very many: then in bins), and go on along directions in
  which the rows of the constraint move fastest; the plain coefficients with their best intercept;
- `enforce_losses`, alone or beside decisions: several starts, where one may end at a bad local
  minimum, then corrections, which move the smooth rates by their residual to those of the decisions
  and solve again; if these are not enough, tighter tolerances. Searches count decisions alone: they
  would lead losses away from their bounds;
- `enforce_ranks`: calibration, where the rows keep the tolerance at which the metric just keeps the
  requested one; where this ends without a certified model, fits under tighter tolerances; if none
  of all fits keeps the bound, random local search lowers the metric itself; of these models, and
  that which the fit starts at, the one of least objective;
- `enforce_blocks`: partitioned samples, of which a subsample in memory is fitted first; from there
  the full data is corrected and searched.

Of the candidates that keep the bound that with the fewest errors is taken, and where ranks are
compared that of least objective. Constant decisions, which keep every parity of decisions, are the
last resort.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from skfair._bound.bound import ConstraintSystem
from skfair._fitting.calibration import (
    SLACK,
    calibrate_tolerances,
    choose_calibration,
    fit_calibrations,
)
from skfair._fitting.counting import sort_key
from skfair._fitting.fitter import (
    FULL,
    SHORT,
    Fitter,
    limit_iterations,
    search_intercept,
    search_lines,
    search_metric,
)
from skfair._fitting.guarantee import Guarantee, fit_with_guarantee
from skfair._fitting.leave_one_out import LeaveOneOut, can_leave_one_out
from skfair._fitting.outcome import FAR_GAP
from skfair._fitting.quadratic import QuadraticProgram
from skfair.losses import SquaredLoss

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from skfair._fitting.counting import Candidate
    from skfair._fitting.fitter import Effort
    from skfair._problems.model import Model
    from skfair.solvers._solver import Progress, Result


_TIGHTER = 0.7
"""Tolerances of further fits relative to those of the first, which is no solution."""

# The loops.


def choose_loop(fitter: Fitter) -> Callable:
    """The loop ``enforce(fitter, effort)`` for what the constraint of a fitter counts."""
    counted = fitter.constraint.metric_inputs
    if "ranks" in counted:
        return enforce_ranks
    if fitter.problem.is_partitioned:
        return enforce_blocks
    return enforce_decisions if counted <= {"decisions"} else enforce_losses


def enforce_decisions(fitter, effort):
    """The candidate whose decisions keep the bound with the fewest errors."""
    # The plain fit, or that under smooth rates, if it keeps the bound and no row binds.
    plain = first = fitter.plain_fit
    if plain is None or not plain.keeps_bound:
        first = fitter.fit_smooth(plain)
    if first.keeps_bound and not first.result.multipliers.any():
        return _clear_decisions(fitter, first)
    best = _search_decisions(fitter, first, effort)
    # Plain coefficients with their best intercept: no fit is worse than a cut of the plain scores.
    if effort.starts and plain is not None:
        shifted = search_intercept(fitter, plain)._replace(result=best.result)
        best = min(best, shifted, key=sort_key)
    return _best_or_constant(fitter, best)


_MAX_UNCORRECTED_SHARE = 0.01
"""Share of the samples that a bound makes wrong, up to which no correction is tried."""


def _search_decisions(fitter: Fitter, first: Candidate, effort: Effort) -> Candidate:
    """Return the best decisions around the fit under smooth rates, and around its corrections.

    Only fits of a guarantee are corrected: smooth rates under their tight tolerances are far from
    the rates of decisions. In other fits corrections save no held-out error and raise the log loss.
    """
    best = search_lines(fitter, first, effort)
    for candidate in fit_corrections(fitter, first, effort.decision_corrections):
        if candidate is not first:
            best = min(best, search_lines(fitter, candidate, effort), key=sort_key)
        if best.keeps_bound and best.error - candidate.error <= _MAX_UNCORRECTED_SHARE:
            break
    return best


def enforce_losses(fitter: Fitter, effort: Effort) -> Candidate:
    """The candidate whose losses, or losses and decisions, keep the bound, without any search."""
    first = fitter.plain_fit
    if first is None or not first.keeps_bound:
        first = fit_from_starts(fitter, fitter.fit_smooth(first), effort.starts)
    if first.keeps_bound:
        return _clear_decisions(fitter, first)
    # Smooth rates of losses are the public metric: no correction helps what is infeasible.
    is_exact = "decisions" not in fitter.constraint.metric_inputs
    if is_exact and not effort.starts and first.result.status == "infeasible":
        return _best_or_constant(fitter, first)  # of a fold, whose scores alone are needed
    best = first
    for candidate in fit_corrections(fitter, first, effort.corrections):
        best = min(best, candidate, key=sort_key)
        if best.keeps_bound:
            break
    best = tighten_tolerances(fitter, best)
    return _best_or_constant(fitter, spread_violation(fitter, best))


def enforce_ranks(fitter: Fitter, effort: Effort) -> Candidate:
    """The candidate that keeps constraints on ranks: by calibration, then by a random search."""
    candidate = calibrate_tolerances(fitter, effort.solves)
    is_plain = candidate.keeps_bound and candidate.is_unconstrained
    if is_plain or not effort.starts or fitter.problem.is_partitioned:
        return candidate
    # Other models that keep these tolerances: the model that the fit starts at, and all fits under
    # tighter tolerances, unless a kept bound is certified.
    others = []
    if fitter.start.any():
        others.append(fitter.evaluate(fitter.start, candidate.result))
    is_certified = candidate.is_solver_result and candidate.result.status == "optimal"
    if not (candidate.keeps_bound and is_certified):
        tighter = fitter.replace_tolerances(_TIGHTER * fitter.constraint.tolerances)
        fits = [fitter.evaluate(one.parameters, one.result) for one in fit_calibrations(tighter)]
        fit = choose_calibration(fitter, fits)
        if not candidate.keeps_bound:
            candidate = min(candidate, fit, key=lambda one: one.rounded_violation)
        elif fit.keeps_bound:
            others.append(fit)
    # Random search for a model that keeps the bound, where no fit does.
    if not candidate.keeps_bound:
        candidate = search_metric(fitter, candidate)
    return choose_cheapest(fitter, [candidate, *others])


def enforce_blocks(fitter: Fitter, effort: Effort) -> Candidate:
    """The candidate of partitioned samples, whose fits begin at those of the subsample."""
    on_subsample = fitter.restrict_to(fitter.problem.subsample)
    # The plain fit, if it keeps the bound: not if that of the subsample leaves twice the tolerance.
    plain = on_subsample.fit_unconstrained()
    on_subsample = replace(on_subsample, start=plain.parameters)
    if (plain.gaps <= 2.0 * fitter.constraint.tolerances + SLACK).all():
        plain = fitter.fit_unconstrained(plain.parameters)
        if plain.keeps_bound:
            return plain
    # The fit of the subsample. Searches would fit its decisions: they are left to the full data.
    subsample_fit = enforce_losses(on_subsample, effort)
    # Fits under corrections at the one before, each first of the subsample.
    candidates = []
    parameters = subsample_fit.parameters
    counts_all = fitter.constraint.metric_inputs <= {"decisions"}
    for _ in range(4):
        corrected, warm = (
            one.problem_with_constraint(one.counter.correct(one.constraint, parameters))
            for one in (fitter, on_subsample)
        )
        warm = on_subsample.fit(warm, warm.initial_point(parameters))
        candidate = fitter.fit(corrected, corrected.initial_point(warm.parameters))
        candidates.append(candidate)
        # Searches lead decisions to their bounds. Without a residual, as of mean losses, the next
        # fit would be the same.
        is_exact = not any(np.any(one.offset) for one in corrected.constraint)
        if candidate.keeps_bound or counts_all or is_exact:
            break
        parameters = candidate.parameters
    best = min(candidates, key=sort_key)
    if counts_all:
        best = search_lines(fitter, best, effort._replace(rounds=5))  # each is two passes
    return _best_or_constant(fitter, best)._replace(is_local=subsample_fit.is_local)


def fit_smooth_rates(fitter: Fitter) -> Candidate:
    """The fit under the smooth rates as they are, whatever its decisions."""
    problem = fitter.problem
    statistics = fitter.constraint.metric_inputs
    if problem.is_partitioned and "ranks" not in statistics:
        candidate = fit_smooth_rates(fitter.restrict_to(problem.subsample))
        best = fitter.fit(problem, problem.initial_point(candidate.parameters))
        return best._replace(is_local=candidate.is_local)
    first = fitter.fit_smooth() if statistics else fitter.fit_unconstrained()
    return first if "ranks" in statistics else fit_from_starts(fitter, first, FULL.starts)


def _clear_decisions(fitter: Fitter, candidate: Candidate) -> Candidate:
    """A candidate that keeps the bound, with another intercept if a decision depends on rounding.

    One that a row binds is left as it is.
    """
    is_clear = candidate.has_stable_decisions or candidate.result.multipliers.any()
    return candidate if is_clear else search_intercept(fitter, candidate)


def _best_or_constant(fitter: Fitter, candidate: Candidate) -> Candidate:
    """A candidate, or the best constant decisions where no search has come to these.

    These are better if it does not keep the bound, or perhaps if there is no intercept.
    """
    model = fitter.problem.model.last_layer(candidate.parameters)
    is_searched = model.intercept_direction() is not None
    if candidate.keeps_bound and (is_searched or "values" in fitter.constraint.metric_inputs):
        return candidate
    before = candidate.parameters[: -model.n_parameters]
    points = [np.append(before, constant) for constant in model.constants()]
    return min([candidate, *fitter.counter.evaluate(points, candidate.result)], key=sort_key)


def choose_cheapest(fitter: Fitter, candidates: list[Candidate]) -> Candidate:
    """The candidate of least objective that keeps the bound; of equal ones the first.

    The first one is returned if none keeps the bound.
    """
    first, *others = candidates
    free = fitter.problem_with_constraint(ConstraintSystem(()))
    best = first
    smallest = free.evaluate(first.parameters).fun if first.keeps_bound else np.inf
    for candidate in others:
        if candidate.keeps_bound:
            objective = free.evaluate(candidate.parameters).fun
            if objective < smallest - 1e-9 * abs(objective):
                best, smallest = candidate, objective
    return best


# Their steps: several starts, where differences of mean losses have many local minima.


def fit_from_starts(fitter: Fitter, first: Candidate, n_starts: int) -> Candidate:
    """The best of fits from several starts under smooth rates, where one start may mislead.

    That is where linear models bound mean losses and the Lagrangian is not convex. If the fits that
    keep the bound differ in their objectives, the best one need not be optimal. Besides the usual
    start there are `n_starts` others: random ones, or those of the quadratic program of squared
    losses. Its bound ends them, or shows that more of them are due.
    """
    model = fitter.problem.model
    is_linear = model.last_layer(first.parameters) is model
    is_exact = not n_starts or "values" not in fitter.constraint.metric_inputs
    if is_exact or not is_linear or _is_global(first.result):
        return first
    program = QuadraticProgram.from_problem(fitter.problem)
    if program is None:
        rng = np.random.default_rng(0)
        starts = [rng.normal(size=len(first.parameters)) for _ in range(n_starts)]
        bound = -np.inf
    else:
        # There are up to four times as many starts where a fit stays far above its bound.
        bound, starts = program.bound_and_starts(4 * n_starts)
    fits = [first]
    best = first
    for number, start in enumerate(starts):
        # No objective is below the bound.
        is_far = not best.keeps_bound or best.result.fun - bound > FAR_GAP * abs(bound)
        is_solved = _is_near(best, bound) and best.result.status == "optimal"
        if is_solved or (number >= n_starts and not is_far):
            break
        fits.append(fitter.fit(fitter.problem, fitter.problem.initial_point(start)))
        best = _choose_fit(fits)
    all_agree = all(_is_near(one, best.result.fun) for one in fits)
    is_local = not _is_near(best, bound) and not all_agree
    return best._replace(objective_bound=bound, is_local=is_local)


def _choose_fit(fits: list[Candidate]) -> Candidate:
    """The fit of least objective that keeps the bound; of those that agree the first converged."""
    best = min(fits, key=lambda one: (one.rounded_violation, one.result.fun))
    agree = [one for one in fits if _is_near(one, best.result.fun)]
    return next((one for one in agree if one.result.status == "optimal"), best)


def _is_near(candidate: Candidate, objective: float) -> bool:
    """Whether a candidate keeps the bound, and its objective exceeds another only by rounding."""
    is_known = np.isfinite(objective)
    slack = 1e-6 * (1.0 + abs(objective))
    return is_known and candidate.keeps_bound and candidate.result.fun - objective <= slack


def _is_global(result: Result) -> bool:
    """Whether a solution is known to be a global one, as the Lagrangian there is convex."""
    evaluation = result.evaluation
    multipliers = result.multipliers
    if result.status != "optimal" or not len(multipliers):
        return result.status == "optimal"
    if (evaluation.rows.curvature(multipliers) >= 0.0).all():
        return True
    if not isinstance(evaluation.problem.loss, SquaredLoss):
        return False
    # The Hessian is equal everywhere; duality has no gap where it is positive semi-definite.
    eigenvalues = np.linalg.eigvalsh(evaluation.hessian(multipliers, is_near=True))
    return eigenvalues[0] >= -1e-10 * eigenvalues[-1]


# Smooth rates adapted to decisions: by corrections, and tighter tolerances.


def fit_corrections(
    fitter: Fitter, candidate: Candidate, n_corrections: int
) -> Iterator[Candidate]:
    """Yield the fit under smooth rates, then fits under rates corrected at the best so far.

    A correction that takes the decisions further from the bound is made half as far.
    """
    problem = fitter.problem
    best = candidate
    step_size = 1.0
    yield best
    for _ in range(n_corrections):
        corrected = fitter.problem_with_constraint(
            fitter.counter.correct(problem.constraint, best.parameters, step_size)
        )
        x = corrected.initial_point(best.parameters)
        latest = fitter.fit(corrected, x, limit_iterations(fitter.solver))
        yield latest
        if latest.violation < best.violation or latest.keeps_bound:
            problem = corrected
            best = latest
        else:
            step_size /= 2


def tighten_tolerances(fitter: Fitter, candidate: Candidate) -> Candidate:
    """Correct with tolerances less the excess of decisions so far, until these keep the bound.

    Gaps of decisions jump: a smooth rate that is right at the bound leaves them on either side.
    """
    best = candidate
    excess = np.zeros(len(fitter.constraint))
    for _ in range(8):
        if best.keeps_bound:
            break
        excess += np.maximum(0.0, best.gaps - fitter.constraint.tolerances)
        tolerances = np.maximum(0.0, fitter.constraint.tolerances - excess)
        system = fitter.constraint.correct(best.scores).replace_tolerances(tolerances)
        problem = fitter.problem_with_constraint(system)
        x = problem.initial_point(best.parameters)
        latest = fitter.fit(problem, x, limit_iterations(fitter.solver))
        if latest.result.status == "infeasible":
            break
        best = min(best, latest, key=sort_key)
    return best


def spread_violation(fitter: Fitter, candidate: Candidate) -> Candidate:
    """The candidate of least violation where no model keeps several constraints.

    Solvers minimise the sum of all excesses, which one constraint alone may have. The least
    violation is the smallest number that, added to every tolerance, leaves a model that keeps all.
    """
    best = candidate
    if best.keeps_bound or len(fitter.constraint) == 1 or not np.isfinite(best.violation):
        return best
    low, high = 0.0, best.violation
    for _ in range(8):
        added = (low + high) / 2.0
        looser = fitter.replace_tolerances(fitter.constraint.tolerances + added)
        x = looser.problem.initial_point(best.parameters)
        latest = looser.fit(looser.problem, x, limit_iterations(fitter.solver))
        if not latest.keeps_bound:
            low = added
            continue
        latest = fitter.evaluate(latest.parameters, latest.result)
        high = min(added, latest.violation)
        best = min(best, latest, key=sort_key)
    return best


# Guarantees for the population: the loop for each tolerance, and without each fold.


def enforce_in_population(
    fitter: Fitter,
    enforcement: str | None,
    confidence: float | None,
    train_without: Callable | None = None,
    clusters: np.ndarray | None = None,
) -> Guarantee:
    """The guarantee of a model that meets the constraint of a fitter, in the population too.

    `enforcement` is the estimator's: "auto", or None for the smooth rates as they are. `confidence`
    is the probability with which the population keeps the tolerances; None guarantees them on the
    training data alone. `train_without` makes the fitter of all samples with features learned from
    given rows alone; None means that the features were not learned. Samples of equal code in
    `clusters` belong together. Raises a ValueError if a confidence is requested but not that
    decisions keep the bound.
    """
    system = fitter.constraint
    enforce = choose_loop(fitter)
    if confidence is None:
        candidate = fit_smooth_rates(fitter) if enforcement is None else enforce(fitter, FULL)
        return Guarantee(candidate, system.tolerances)
    if enforcement is None:
        raise ValueError(
            "confidence_level is about decisions, but enforcement=None leaves the smooth rates as "
            "they are; pass enforcement='auto', or confidence_level=None."
        )

    def make_fit(rows: np.ndarray | None) -> _FoldFit:
        of_all = fitter if rows is None or train_without is None else train_without(rows)
        return _FoldFit(of_all, rows, train_without is not None)

    needs_folds = train_without is not None or not can_leave_one_out(fitter.problem, clusters)
    leave_one_out = None if needs_folds else LeaveOneOut(fitter, clusters)
    return fit_with_guarantee(system, confidence, make_fit, clusters, fitter, leave_one_out)


class _FoldFit:
    """Fits of given rows, or of all samples, at several tolerances; each starts at the last.

    All are searched in the same short way: of many models one seems fairer by chance. ``fitter`` is
    that of all samples, whose scores a fit has. A call with `latest`, a fit of all samples, starts
    there if there is no last one. Nothing starts at other rows where the features were learned, as
    another network has other parameters, nor under ranks.
    """

    def __init__(self, fitter: Fitter, rows: np.ndarray | None, has_learned_features: bool) -> None:
        self.fitter = fitter
        self.rows = rows
        self.start = None
        self.fold = fitter
        self.effort = SHORT
        compares_ranks = "ranks" in fitter.constraint.metric_inputs
        # Of the many local solutions on ranks that of all samples has seen the fold.
        self.starts_at_all = not (rows is None or has_learned_features or compares_ranks)
        if rows is not None:
            # Of ranks the gaps alone are needed: few digits, and few problems. Otherwise the
            # samples of a fold change the mean gradient by about ten times this tolerance.
            tol = 1e-3 if compares_ranks else 0.05 / np.sqrt(len(rows))
            self.fold = fitter.restrict_to(fitter.problem.take(rows), tol)
            self.effort = SHORT._replace(solves=4)
        self.enforce = choose_loop(self.fold)

    def fit_plain(self) -> tuple[Model, np.ndarray]:
        """Model and parameters of the plain fit; the model has the columns of all samples."""
        return self.fitter.problem.model, self.fold.fit_unconstrained().parameters

    def __call__(self, tolerances, latest=None):
        if self.start is None and latest is not None and self.starts_at_all:
            self.start = latest._replace(scores=latest.scores[self.rows])
        tighter = self.fold.replace_tolerances(tolerances)
        tighter = tighter if self.start is None else _warm_start_fitter(tighter, self.start)
        self.start = self.enforce(tighter, self.effort)
        if self.rows is None:
            return self.fitter.evaluate(self.start.parameters, self.start.result)
        # Only the scores of a fit without a fold are needed.
        scores = self.fitter.counter.predict_scores(self.start.parameters)
        return self.start._replace(scores=scores)


def _warm_start_fitter(fitter: Fitter, candidate: Candidate) -> Fitter:
    """The fitter started at a fit of other tolerances.

    Mean losses have a minimum above 0, so a lower tolerance may be infeasible. Solvers then go on
    with ever larger penalties. They are stopped once five iterations have not decreased the
    violation.
    """
    fitter = _start_at(fitter, candidate)
    if "values" not in fitter.constraint.metric_inputs:
        return fitter
    callback = fitter.options.get("callback")
    violations: list[float] = []

    def stop(progress: Progress) -> bool:
        if progress.n_iter == 0:
            violations.clear()
        violations.append(progress.evaluation.violation)
        is_stopped = callback is not None and callback(progress)
        smallest = min(violations[:-5], default=np.inf)
        return is_stopped or min(violations[-5:]) >= smallest > fitter.solver.tol

    return replace(fitter, options=fitter.options | {"callback": stop})


def _start_at(fitter, candidate):
    """The same fitter, started at a candidate of a similar fitter."""
    system = fitter.constraint
    compares_ranks = "ranks" in fitter.constraint.metric_inputs
    if not compares_ranks:
        system = system.correct(candidate.scores)
    is_active = candidate.result.multipliers.any()
    is_active = bool(is_active or (candidate.gaps > system.tolerances).any())
    has_rows = len(candidate.result.evaluation.problem.constraint)
    is_like = compares_ranks and has_rows and not np.isnan(candidate.gaps).any()
    return replace(
        fitter,
        problem=fitter.problem_with_constraint(system),
        start=candidate.parameters,
        is_constraint_active=is_active,
        earlier_fit=candidate if is_active and is_like else None,
    )
