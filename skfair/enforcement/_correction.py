"""Smooth rates adapted to decisions: by corrections, tighter tolerances, or fixed multipliers."""

from dataclasses import replace

import numpy as np

from skfair.constraints import ConstraintSystem, spread_over_samples
from skfair.enforcement._counting import rank

_MAX_CORRECTIONS = 6
_MAX_PARTITIONED_CORRECTIONS = 4
_MAX_TIGHTENINGS = 8
_MAX_LENGTHS = 8


def corrections(fitter, start):
    """Yield the fit under smooth rates, then fits under rates corrected at the best so far.

    A correction that takes the decisions further from the bound is made half as far.
    """
    problem, best, step_size = fitter.problem, start, 1.0
    yield best
    for _ in range(_MAX_CORRECTIONS):
        corrected = fitter.replace_constraint(
            fitter.counter.correct(problem.constraint, best.parameters, step_size)
        )
        candidate = fitter.fit(corrected, corrected.initial_point(best.parameters))
        yield candidate
        if candidate.violation < best.violation or candidate.keeps_bound:
            problem, best = corrected, candidate
        else:
            step_size /= 2


def correct_partitioned(fitter, on_subsample, start):
    """The best of fits to partitioned samples, each corrected at the one before.

    Each begins at the fit of the subsample under the same correction.
    """
    best, parameters = None, start.parameters
    for _ in range(_MAX_PARTITIONED_CORRECTIONS):
        corrected, warm = (
            one.replace_constraint(one.counter.correct(one.constraint, parameters))
            for one in (fitter, on_subsample)
        )
        warm = on_subsample.fit(warm, warm.initial_point(parameters))
        candidate = fitter.fit(corrected, corrected.initial_point(warm.parameters))
        best = candidate if best is None else min(best, candidate, key=rank)
        # Searches lead decisions to their bounds. Without a residual, as of mean losses, the next
        # fit would be the same.
        is_exact = not any(np.any(one.offset) for one in corrected.constraint)
        if candidate.keeps_bound or fitter.constraint.statistics <= {"decisions"} or is_exact:
            break
        parameters = candidate.parameters
    return best


def tighten(fitter, candidate):
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
        problem = fitter.replace_constraint(constraint)
        latest = fitter.fit(problem, problem.initial_point(best.parameters))
        if latest.result.status == "infeasible":
            break
        best = min(best, latest, key=rank)
    return best


def path(fitter, start):
    """Yield fits with fixed multipliers, as labels and weights, until decisions keep the bound.

    With multipliers p the cost of deciding 1 rather than 0 is ``-share * target + effects(p)`` for
    each sample, so a fit with minus its sign as label and its size as weight has the costs of
    decisions in the Lagrangian (A. Agarwal et al., A reductions approach to fair classification,
    ICML 2018, section 3). The multipliers are those of the smooth fit times a length.
    """
    yield start
    problem, multipliers = fitter.problem, start.result.multipliers
    effects = _decision_effects(problem.constraint, start.scores, multipliers)
    low, high, parameters = 0.0, np.inf, start.parameters
    length = 1.0
    for _ in range(_MAX_LENGTHS):
        gain = problem.mean_weights * problem.target - length * effects
        weighted = replace(
            problem,
            constraint=ConstraintSystem(()),
            target=np.where(gain > 0, 1.0, -1.0),
            weights=np.abs(gain),
        )
        candidate = fitter.fit(weighted, parameters)  # there are no auxiliary unknowns
        yield candidate._replace(result=replace(candidate.result, multipliers=length * multipliers))
        parameters = candidate.parameters
        # Bisection: rows beyond their bounds need larger multipliers, rows within smaller ones.
        is_beyond = _weighted_excess(problem.constraint, candidate.scores, multipliers) > 0
        low, high = (length, high) if is_beyond else (low, length)
        length = 2.0 * low if np.isinf(high) else (low + high) / 2


def _decision_effects(constraint, scores, multipliers):
    """Change of ``multipliers @ rows`` by a positive decision of each sample, by the metric."""
    effects = np.zeros(len(scores))
    for one, of_rows in zip(constraint, constraint.split_by_constraint(multipliers), strict=True):
        _, slope = one.rows_at(one.exact_sums(scores))
        changes = [
            np.subtract(
                *(term(np.full(len(scores), sign), one.target).value for sign in (1.0, -1.0))
            )
            for term in one.exact
        ]
        effects = effects + spread_over_samples(one.events, changes, slope.T @ of_rows)
    return effects


def _weighted_excess(constraint, scores, multipliers):
    """Multipliers times the excess of the rows over their bounds, by the metric.

    It is positive if the rows are beyond their bounds on the whole. Multipliers are positive at
    upper bounds, negative at lower ones.
    """
    total = 0.0
    for one, of_rows in zip(constraint, constraint.split_by_constraint(multipliers), strict=True):
        active = of_rows != 0
        bounds = np.where(of_rows > 0, one.upper, one.lower)[active]
        total += float(of_rows[active] @ (one.rows_at(one.exact_sums(scores))[0][active] - bounds))
    return total
