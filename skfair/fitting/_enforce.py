"""From smooth rates to decisions: the loop that proposes candidates and takes the best.

Solvers bound smooth rates, but the guarantee is about decisions. Steps from one to the other:

- the plain fit, which is returned if it keeps the bound;
- several starts, where mean losses are compared and one start may end at a bad local minimum;
- correction: the smooth rates are moved by their residual to those of the decisions, and solved
  again; if that is not enough, with tighter tolerances;
- line searches: of all intercepts the one whose decisions keep the bound with the fewest errors,
  found by sorting the scores (exactly, unless samples times groups are very many: then in bins).
  One exists wherever constant decisions keep the bound. The same search goes on along directions
  in which the rows of the constraint move fastest, and for the plain coefficients;
- calibration, where ranks are compared and not decisions: the rows keep the tolerance at which the
  metric just keeps the requested one; if none of its fits keeps it, random local search lowers the
  metric itself;
- constant decisions, as the last resort: they keep every parity of decisions.

Every step proposes candidates. Of those that keep the bound the one with the fewest errors is
taken, and where ranks are compared that of least objective. Partitioned samples take the same
steps: a subsample in memory goes through them first, and the full data through the last ones.
"""

from dataclasses import replace
from functools import partial

import numpy as np

from skfair.fitting._calibration import MAX_SOLVES, SLACK, calibrate_tolerances
from skfair.fitting._counting import sort_key
from skfair.fitting._fitter import limit_iterations, search_intercept, search_lines, search_metric
from skfair.fitting._guarantee import Guarantee, fit_with_guarantee
from skfair.fitting._leave_one_out import LeaveOneOut, can_leave_one_out
from skfair.losses import SquaredLoss

# Smooth rates adapted to decisions: by corrections, and tighter tolerances.


_MAX_CORRECTIONS = 6
_MAX_PARTITIONED_CORRECTIONS = 4
_MAX_TIGHTENINGS = 8

_MAX_NEWTON_STEPS = 40
"""Iterations of SQP on a corrected problem: 3 to 10 are usual, and more lead nowhere."""


def fit_corrections(fitter, start):
    """Yield the fit under smooth rates, then fits under rates corrected at the best so far.

    A correction that takes the decisions further from the bound is made half as far.
    """
    problem, best, step_size = fitter.problem, start, 1.0
    yield best
    for _ in range(_MAX_CORRECTIONS):
        corrected = fitter.problem_with_constraint(
            fitter.counter.correct(problem.constraint, best.parameters, step_size)
        )
        x = corrected.initial_point(best.parameters)
        candidate = fitter.fit(corrected, x, limit_iterations(fitter.solver, _MAX_NEWTON_STEPS))
        yield candidate
        if candidate.violation < best.violation or candidate.keeps_bound:
            problem, best = corrected, candidate
        else:
            step_size /= 2


def fit_partitioned_corrections(fitter, on_subsample, start):
    """The best of fits to partitioned samples, each corrected at the one before.

    Each begins at the fit of the subsample under the same correction.
    """
    best, parameters = None, start.parameters
    for _ in range(_MAX_PARTITIONED_CORRECTIONS):
        corrected, warm = (
            one.problem_with_constraint(one.counter.correct(one.constraint, parameters))
            for one in (fitter, on_subsample)
        )
        warm = on_subsample.fit(warm, warm.initial_point(parameters))
        candidate = fitter.fit(corrected, corrected.initial_point(warm.parameters))
        best = candidate if best is None else min(best, candidate, key=sort_key)
        # Searches lead decisions to their bounds. Without a residual, as of mean losses, the next
        # fit would be the same.
        is_exact = not any(np.any(one.offset) for one in corrected.constraint)
        if candidate.keeps_bound or fitter.constraint.metric_inputs <= {"decisions"} or is_exact:
            break
        parameters = candidate.parameters
    return best


def tighten_tolerances(fitter, candidate):
    """Correct with tolerances less the excess of decisions so far, until these keep the bound.

    Gaps of decisions jump: a smooth rate that is right at the bound leaves them on either side.
    """
    best, excess = candidate, np.zeros(len(fitter.constraint))
    for _ in range(_MAX_TIGHTENINGS):
        if best.keeps_bound:
            break
        excess += np.maximum(
            0.0, fitter.constraint.gaps(best.scores) - fitter.constraint.tolerances
        )
        tolerances = np.maximum(0.0, fitter.constraint.tolerances - excess)
        constraint = fitter.constraint.correct(best.scores).replace_tolerances(tolerances)
        problem = fitter.problem_with_constraint(constraint)
        x = problem.initial_point(best.parameters)
        latest = fitter.fit(problem, x, limit_iterations(fitter.solver, _MAX_NEWTON_STEPS))
        if latest.result.status == "infeasible":
            break
        best = min(best, latest, key=sort_key)
    return best


# Several starts, where differences of mean losses have many local minima.


_N_STARTS = 5
"""Random starts in addition to the usual one."""

_AGREEMENT = 1e-6
"""Difference of objectives, relative to 1 plus the objective, up to which two are equal."""


def fit_from_starts(fitter, first):
    """The best of fits from several starts under smooth rates, where one start may mislead.

    That is where linear models bound mean losses and the Lagrangian is not convex. If the fits that
    keep the bound differ in their objectives, the best one need not be optimal.
    """
    model = fitter.problem.model
    is_linear = model.last_layer(first.parameters) is model
    if not is_linear or "values" not in fitter.constraint.metric_inputs or _is_global(first.result):
        return first
    rng, fits = np.random.default_rng(0), [first]
    for _ in range(_N_STARTS):
        x = fitter.problem.initial_point(rng.normal(size=len(first.parameters)))
        fits.append(fitter.fit(fitter.problem, x))
    best = min(fits, key=lambda one: (not one.keeps_bound and one.violation, one.result.fun))
    slack = _AGREEMENT * (1.0 + abs(best.result.fun))
    agree = [one.keeps_bound and one.result.fun - best.result.fun <= slack for one in fits]
    # Fits that agree differ by rounding, and not all of them may have converged.
    return (first if agree[0] else best)._replace(is_local=not all(agree))


def _is_global(result):
    """Whether a solution is known to be a global one, as the Lagrangian there is convex."""
    evaluation, multipliers = result.evaluation, result.multipliers
    if result.status != "optimal" or not len(multipliers):
        return result.status == "optimal"
    if (evaluation.rows.curvature(multipliers) >= 0.0).all():
        return True
    if not isinstance(evaluation.problem.loss, SquaredLoss):
        return False
    # The Hessian is equal everywhere; duality has no gap where it is positive semi-definite.
    eigenvalues = np.linalg.eigvalsh(evaluation.hessian(multipliers, is_near=True))
    return eigenvalues[0] >= -1e-10 * eigenvalues[-1]


# The loop that proposes candidates and takes the best.


_LOW_COST, _HIGH_COST = 4e-3, 1e-2
"""Share of the samples whose decisions a refinement may make wrong: below the first no correction
is needed, above the second corrections go on even if one did not help at once."""

_MAX_PARTITIONED_ROUNDS = 5

_NEAR_MULTIPLE = 2.0
"""Multiple of a tolerance up to which a plain fit of a subsample does not rule that of all out."""

_PATIENCE = 5
"""Iterations in a row that decrease no violation, after which a tolerance is infeasible."""


def enforce(fitter, strategy):
    """The candidate that meets the constraint of a fitter, by a strategy in ``STRATEGIES``.

    A strategy of None takes the smooth problem as it is. All others return the plain fit if it
    keeps the bound.
    """
    statistics = fitter.constraint.metric_inputs
    if fitter.counter.scored is not fitter.problem and "ranks" not in statistics:
        return _enforce_partitioned(fitter, strategy)
    if not len(fitter.constraint):
        return fitter.fit_unconstrained()
    if "ranks" in statistics:
        return _enforce_ranks(fitter, strategy)
    if strategy is None:
        return fit_from_starts(fitter, fitter.fit_smooth())
    if not fitter.is_constraint_active:
        plain = fitter.plain_fit
        if plain.keeps_bound:
            return plain if plain.has_stable_decisions else search_intercept(fitter, plain)
        # Linear models start at scores of 0, where smooth rates are nearly linear.
        if fitter.problem.model.last_layer(fitter.start) is not fitter.problem.model:
            fitter = replace(fitter, start=fitter.shrink_scores(plain).parameters)
    first = fitter.fit_smooth()
    if strategy != "brief":  # of many models one seems fairer by chance
        first = fit_from_starts(fitter, first)
    if first.keeps_bound and not first.result.multipliers.any():
        return first if first.has_stable_decisions else search_intercept(fitter, first)
    # Rates of losses are the public metric: no search is needed, and none helps if infeasible.
    counts_any, counts_all = "decisions" in statistics, statistics <= {"decisions"}
    is_final = first.keeps_bound or (strategy == "brief" and first.result.status == "infeasible")
    if strategy in ("auto", "brief") and not counts_all:
        strategy = "correction" if counts_any or not is_final else "none"
    propose, refine, finish = STRATEGIES[strategy]
    best = None
    for candidate in propose(fitter, first):
        refined = refine(fitter, candidate)
        improved = best is None or refined.sort_key < best.sort_key
        best = refined if improved else best
        # Cost of the bound in addition to the smooth fit: decisions that become wrong.
        cost = best.error - candidate.error
        if best.keeps_bound and (cost <= _LOW_COST or (not improved and cost <= _HIGH_COST)):
            break
    if strategy == "auto" and not fitter.is_constraint_active:
        # The plain coefficients with their best intercept.
        shifted = search_intercept(fitter, plain)._replace(result=best.result)
        best = min(best, shifted, key=sort_key)
    return _best_or_constant(fitter, finish(fitter, best))


def _propose_start(fitter, start):
    yield start


def _keep(fitter, candidate):
    return candidate


STRATEGIES = {
    "auto": (fit_corrections, search_lines, _keep),
    # A shorter search: of many models one seems fairer by chance.
    "brief": (
        fit_corrections,
        partial(search_lines, max_rounds=1, max_breadth=1, max_coefficients=0),
        _keep,
    ),
    # Searches count decisions alone: they would lead mean losses away from their bounds.
    "correction": (fit_corrections, _keep, tighten_tolerances),
    "intercept": (_propose_start, search_intercept, _keep),
    "none": (_propose_start, _keep, _keep),
}
"""Ways to keep a bound by the public metrics, by name: which candidates are proposed, how each is
refined, and how the best of them is finished. Users choose "auto", the others are its parts."""


def enforce_in_population(fitter, strategy, confidence, train_without=None, clusters=None):
    """The guarantee of a model that meets the constraint of a fitter, in the population too.

    `strategy` is as in `enforce`. `confidence` is the probability with which the population keeps
    the tolerances; None guarantees them on the training data alone. `train_without` makes the
    fitter of all samples with features learned from given rows alone; None means that the features
    were not learned. Samples of equal code in `clusters` belong together. Raises a ValueError if a
    confidence is requested but not that decisions keep the bound.
    """
    constraint = fitter.constraint
    if confidence is None:
        return Guarantee(enforce(fitter, strategy), constraint.tolerances)
    if strategy is None:
        raise ValueError(
            "confidence_level is about decisions, but enforcement=None leaves the smooth rates as "
            "they are; pass enforcement='auto', or confidence_level=None."
        )

    # All fits are searched in the same short way.
    strategy = "brief" if strategy == "auto" else strategy

    def make_fit(rows):
        of_all = fitter if rows is None or train_without is None else train_without(rows)
        return _FoldFit(of_all, strategy, rows, train_without is not None)

    needs_folds = train_without is not None or not can_leave_one_out(fitter.problem, clusters)
    leave_one_out = None if needs_folds else LeaveOneOut(fitter, clusters)
    return fit_with_guarantee(constraint, confidence, make_fit, clusters, fitter, leave_one_out)


_RANK_FOLD_TOL = 1e-3
"""Tolerance of the solver for fits without a fold under ranks, whose gaps alone are needed."""

_MAX_FOLD_SOLVES = 4
"""Problems with rows on ranks that are solved without a fold: the gaps that they leave count."""

_FOLD_TOL = 0.05
"""Tolerance of the solver for other fits without a fold, divided by the root of the sample size.

The samples of a fold change the mean gradient by about ten times as much."""


class _FoldFit:
    """Fits of given rows, or of all samples, at several tolerances; each starts at the last.

    ``fitter`` is that of all samples, whose scores a fit has. A call with `latest`, a fit of all
    samples, starts there if there is no last one. Nothing starts at other rows where the features
    were learned, as another network has other parameters, nor under ranks.
    """

    def __init__(self, fitter, strategy, rows, has_learned_features):
        self.fitter, self.strategy, self.rows = fitter, strategy, rows
        self.has_learned_features, self.start = has_learned_features, None
        self.fold = fitter
        if rows is not None:
            compares_ranks = "ranks" in fitter.constraint.metric_inputs
            tol = _RANK_FOLD_TOL if compares_ranks else _FOLD_TOL / np.sqrt(len(rows))
            self.fold = fitter.restrict_to(fitter.problem.take(rows), tol)
            if compares_ranks:
                self.strategy = "fold"

    def fit_plain(self):
        """Model and parameters of the plain fit; the model has the columns of all samples."""
        return self.fitter.problem.model, self.fold.fit_unconstrained().parameters

    def _starts_at_all(self, latest):
        """Whether the next fit starts at the latest one of all samples, and not at its last one."""
        if latest is None or self.rows is None or self.has_learned_features:
            return False
        # Of the many local solutions on ranks that of all samples has seen the fold.
        return self.start is None and "ranks" not in self.fitter.constraint.metric_inputs

    def __call__(self, tolerances, latest=None):
        if self._starts_at_all(latest):
            self.start = latest._replace(scores=latest.scores[self.rows])
        tighter = self.fold.replace_tolerances(tolerances)
        tighter = tighter if self.start is None else _warm_start_fitter(tighter, self.start)
        self.start = enforce(tighter, self.strategy)
        if self.rows is None:
            return self.fitter.evaluate(self.start.parameters, self.start.result)
        # Only the scores of a fit without a fold are needed.
        scores = self.fitter.counter.predict_scores(self.start.parameters)
        return self.start._replace(scores=scores)


def _warm_start_fitter(fitter, start):
    """The fitter started at a fit of other tolerances.

    Mean losses have a minimum above 0, so a lower tolerance may be infeasible. Solvers then go on
    with ever larger penalties. They are stopped once the violation is at its minimum.
    """
    fitter = fitter.warm_start_from(start)
    if "values" not in fitter.constraint.metric_inputs:
        return fitter
    callback, violations = fitter.options.get("callback"), []

    def stop(progress):
        if progress.n_iter == 0:
            violations.clear()
        violations.append(progress.evaluation.violation)
        is_stopped = callback is not None and callback(progress)
        smallest = min(violations[:-_PATIENCE], default=np.inf)
        return is_stopped or min(violations[-_PATIENCE:]) >= smallest > fitter.solver.tol

    return replace(fitter, options={**fitter.options, "callback": stop})


def _enforce_ranks(fitter, strategy):
    """The candidate that keeps constraints on ranks: by calibration, then by random search.

    Brief strategies have no random search, whose fits seem fairer by chance.
    """
    if strategy is None:
        return fitter.fit_smooth()
    candidate = calibrate_tolerances(fitter, _MAX_FOLD_SOLVES if strategy == "fold" else MAX_SOLVES)
    is_final = candidate.keeps_bound or strategy in ("brief", "fold")
    return candidate if is_final else search_metric(fitter, candidate)


def _enforce_partitioned(fitter, strategy):
    """The candidate of partitioned samples, warm-started by enforcement on the subsample."""
    on_subsample = fitter.restrict_to(fitter.problem.subsample)
    if strategy is not None:
        # The plain fit of the subsample shows whether that of all samples may keep the bound.
        plain = on_subsample.fit_unconstrained()
        on_subsample = replace(on_subsample, start=plain.parameters)
        if (plain.gaps <= _NEAR_MULTIPLE * fitter.constraint.tolerances + SLACK).all():
            plain = fitter.fit_unconstrained(plain.parameters)
            if plain.keeps_bound:
                return plain
    # Searches would fit the decisions of the subsample: they are left to the full data.
    counts_all = fitter.constraint.metric_inputs <= {"decisions"}
    start = enforce(on_subsample, "correction" if strategy == "auto" and counts_all else strategy)
    if strategy is None:
        best = fitter.fit(fitter.problem, fitter.problem.initial_point(start.parameters))
        return best._replace(is_local=start.is_local)
    best = fit_partitioned_corrections(fitter, on_subsample, start)
    if counts_all:
        best = search_lines(fitter, best, _MAX_PARTITIONED_ROUNDS)
    return _best_or_constant(fitter, best)._replace(is_local=start.is_local)


def _best_or_constant(fitter, candidate):
    """A candidate, or the best constant decisions if it does not keep the bound."""
    if candidate.keeps_bound:
        return candidate
    model = fitter.problem.model.last_layer(candidate.parameters)
    before = candidate.parameters[: -model.n_parameters]
    points = [np.concatenate((before, constant)) for constant in model.constants()]
    return min([candidate, *fitter.counter.evaluate(points, candidate.result)], key=sort_key)
