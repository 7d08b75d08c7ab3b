"""From surrogate to true tolerance: a model that keeps its bounds by the public metrics.

Solvers bound smooth rates, but the guarantee is about decisions. Steps from one to the other:

- the plain fit, tried where the decisions of the smooth fit keep the bound: perhaps no constraint
  is needed;
- correction: the smooth rates are moved by their residual to those of the decisions, and solved
  again; if that is not enough, with tighter tolerances;
- the path: fixed multipliers weigh the rows in labels and weights that count decisions, and grow
  until the decisions keep the bound;
- the sweep: of all intercepts the one whose decisions keep the bound with the fewest errors, found
  by sorting the scores (exactly, unless samples times groups are very many: then in bins). One
  exists wherever constant decisions keep the bound. The same search goes on along directions in
  which the rows of the constraint move fastest;
- calibration, where ranks are compared and not decisions: the rows keep the tolerance at which the
  metric just keeps the requested one; if none of its fits keeps it, random local search lowers the
  metric itself;
- constant decisions, as the last resort: they keep every parity of decisions.

Every step proposes candidates. Of those that keep the bound the one with the fewest errors is
taken, and where ranks are compared that of least objective. Partitioned samples take the same
steps: a subsample in memory goes through them first, and the full data through the last ones.
"""

from collections import ChainMap
from dataclasses import replace
from functools import partial

import numpy as np

from skfair.constraints import ConstraintSystem
from skfair.enforcement._calibration import calibrate
from skfair.enforcement._correction import correct_partitioned, corrections, path, tighten
from skfair.enforcement._fitter import Candidate as Candidate
from skfair.enforcement._fitter import Fitter as Fitter
from skfair.enforcement._fitter import rank
from skfair.enforcement._guarantee import Guarantee as Guarantee
from skfair.enforcement._guarantee import fit_with_guarantee as fit_with_guarantee
from skfair.enforcement._line_search import polish, sweep
from skfair.enforcement._metric_search import search_metric

__all__ = ["ENFORCEMENTS"]

_LOW_COST, _HIGH_COST = 4e-3, 1e-2
"""Share of the samples whose decisions a refinement may make wrong: below the first no correction
is needed, above the second corrections go on even if one did not help at once."""

_MAX_PARTITIONED_ROUNDS = 5

_PATIENCE = 5
"""Iterations in a row that decrease no violation, after which a tolerance is infeasible."""


def enforce(fitter, strategy):
    """The candidate that meets the constraint of a fitter, by a strategy in ``ENFORCEMENTS``.

    A strategy of None takes the smooth problem as it is. The plain fit is returned if there is no
    constraint or it keeps the bound, the smooth fit if no row of it is active.
    """
    compares_ranks = "ranks" in fitter.constraint.statistics
    if fitter.problem.scored_problem is not fitter.problem and not compares_ranks:
        return _enforce_partitioned(fitter, strategy)
    if not len(fitter.constraint):
        return fitter.fit_plain()
    if compares_ranks:
        return _enforce_ranks(fitter, strategy)
    first = fitter.fit_smooth()
    if strategy is None:
        return first
    multiplier = np.abs(first.result.multipliers).max(initial=0.0)
    counts_any = "decisions" in fitter.constraint.statistics
    # Smooth rates of decisions may bind where decisions keep the bound: try the plain fit. Those of
    # losses are the metric itself, and bind if their multipliers are more than rounding.
    is_active = fitter.is_active or (multiplier > fitter.tol and not counts_any)
    if first.keeps_bound and multiplier > 0 and not is_active:
        plain = fitter.fit_plain(first.parameters)
        first = plain if plain.keeps_bound else first
    if first.keeps_bound and not first.result.multipliers.any():
        return first if first.is_clear else sweep(fitter, first)
    return _best_or_constant(fitter, _SEARCHES[strategy](fitter, first))


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

    # All fits, about a dozen, are searched in the same short way.
    if strategy == "auto" and "ranks" not in constraint.statistics:
        strategy = "brief"

    def make_fit(rows, start):
        fitter_of_all = fitter if rows is None or train_without is None else train_without(rows)
        # Fits of folds are solved to the digits that their sampling noise leaves.
        fold = fitter_of_all
        if rows is not None:
            fold = fitter_of_all.restrict_to(fitter_of_all.problem.take(rows))
        if start is not None:  # another network has other parameters
            start = start._replace(scores=start.scores[rows]) if fitter_of_all is fitter else None

        def fit(tolerances):
            nonlocal start  # each fit starts where the one before has ended
            tighter = fold.replace_tolerances(tolerances)
            tighter = tighter if start is None else _refit(tighter, start)
            start = enforce(tighter, strategy)
            if rows is None:
                return fitter.evaluate(start.parameters, start.result)
            # Only the scores of a fit without a fold are needed.
            return start._replace(scores=fitter_of_all.problem.predict_scores(start.parameters))

        return fit

    return fit_with_guarantee(constraint, confidence, make_fit, clusters)


def _refit(fitter, start):
    """The fitter started at a fit of other tolerances.

    Mean losses have a minimum above 0, so a lower tolerance may be infeasible. Solvers then go on
    with ever larger penalties. They are stopped once the violation is at its minimum.
    """
    fitter = fitter.restart_at(start)
    if "values" not in fitter.constraint.statistics:
        return fitter
    callback, violations = fitter.options.get("callback"), []

    def stop(progress):
        if progress.n_iter == 0:
            violations.clear()
        violations.append(progress.evaluation.violation)
        is_stopped = callback is not None and callback(progress)
        smallest = min(violations[:-_PATIENCE], default=np.inf)
        return is_stopped or min(violations[-_PATIENCE:]) >= smallest > fitter.tol

    return replace(fitter, options={**fitter.options, "callback": stop})


def _enforce_ranks(fitter, strategy):
    """The candidate that keeps constraints on ranks: by calibration, then by random search."""
    if strategy is None:
        return fitter.fit_smooth()
    if strategy not in ("auto", "calibration"):
        name = next(one.name for one in fitter.constraint if one.statistic == "ranks")
        raise ValueError(
            f"enforcement={strategy!r} leads decisions to their bounds, but {name} compares "
            "ranks; pass enforcement='auto'."
        )
    candidate = calibrate(fitter)
    return candidate if candidate.keeps_bound else search_metric(fitter, candidate)


def _enforce_partitioned(fitter, strategy):
    """The candidate of partitioned samples, warm-started by enforcement on the subsample."""
    on_subsample = fitter.restrict_to(fitter.problem.subsample)
    # Searches would fit the decisions of the subsample: they are left to the full data.
    counts_all = fitter.constraint.statistics <= {"decisions"}
    start = enforce(on_subsample, "correction" if strategy == "auto" and counts_all else strategy)
    if strategy is None:
        return fitter.fit(fitter.problem, fitter.problem.initial_point(start.parameters))
    # Where no row was active on the subsample, the plain fit may keep the bound.
    if not start.result.multipliers.any():
        plain = fitter.fit_plain(start.parameters)
        if plain.keeps_bound:
            return plain
    best = correct_partitioned(fitter, on_subsample, start)
    if counts_all:
        best = polish(fitter, best, _MAX_PARTITIONED_ROUNDS)
    return _best_or_constant(fitter, best)


def _best_or_constant(fitter, candidate):
    """A candidate, or the best constant decisions if it does not keep the bound."""
    if candidate.keeps_bound:
        return candidate
    model = fitter.problem.model.last_layer(candidate.parameters)
    before = candidate.parameters[: -model.n_parameters]
    points = [np.concatenate((before, constant)) for constant in model.constants()]
    return min([candidate, *fitter.evaluate_all(points, candidate.result)], key=rank)


def _refine(fitter, candidates, refine):
    """The best of the refined candidates, until more of them hardly help."""
    best = None
    for candidate in candidates:
        refined = refine(fitter, candidate)
        improved = best is None or refined.rank < best.rank
        if improved:
            best = refined
        # Cost of the bound in addition to the smooth fit: decisions that become wrong.
        cost = best.error - candidate.error
        if best.keeps_bound and (cost <= _LOW_COST or (not improved and cost <= _HIGH_COST)):
            break
    return best


def _enforce_auto(fitter, start, refine=polish):
    counts_any = "decisions" in fitter.constraint.statistics
    if not counts_any and start.keeps_bound:
        return start  # smooth rates of mean losses are the public metric
    if not fitter.constraint.statistics <= {"decisions"}:
        return _correct(fitter, start)
    return _refine(fitter, corrections(fitter, start), refine)


def _enforce_briefly(fitter, start):
    """As "auto", with a shorter search: of many models one seems fairer by chance."""
    counts_any = "decisions" in fitter.constraint.statistics
    if not counts_any and start.result.status == "infeasible":
        return start  # mean losses are the public metric: no correction changes them
    return _enforce_auto(fitter, start, partial(polish, max_rounds=1, max_breadth=1))


def _correct(fitter, start):
    candidates = corrections(fitter, start)
    return tighten(fitter, _refine(fitter, candidates, lambda fitter, candidate: candidate))


def _follow_path(fitter, start):
    return _refine(fitter, path(fitter, start), sweep)


def _calibrate(fitter, start):
    return calibrate(replace(fitter, start=start.parameters))


ENFORCEMENTS = {
    "auto": _enforce_auto,
    "correction": _correct,
    "sweep": sweep,
    "path": _follow_path,
    "calibration": _calibrate,
}
"""Ways to keep a bound by the public metrics, by name."""

_SEARCHES = ChainMap({"brief": _enforce_briefly}, ENFORCEMENTS)
