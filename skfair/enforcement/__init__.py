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
from skfair.enforcement._guarantee import Guarantee as Guarantee
from skfair.enforcement._guarantee import fit_with_guarantee as fit_with_guarantee
from skfair.enforcement._line_search import polish, sweep
from skfair.enforcement._metric_search import search_metric
from skfair.enforcement._task import Candidate as Candidate
from skfair.enforcement._task import Task as Task
from skfair.enforcement._task import rank

__all__ = ["ENFORCEMENTS"]

_LOW_COST, _HIGH_COST = 4e-3, 1e-2
"""Share of the samples whose decisions a refinement may make wrong: below the first no correction
is needed, above the second corrections go on even if one did not help at once."""

_MAX_PARTITIONED_ROUNDS = 5

_PATIENCE = 5
"""Iterations in a row that decrease no violation, after which a tolerance is infeasible."""


def enforce(task, strategy):
    """The candidate that keeps the constraint of a task, by a strategy in ``ENFORCEMENTS``.

    A strategy of None takes the smooth problem as it is. The plain fit is returned if there is no
    constraint or it keeps the bound, the smooth fit if no row of it is active.
    """
    compares_ranks = "ranks" in task.constraint.statistics
    if task.problem.scored_problem is not task.problem and not compares_ranks:
        return _enforce_partitioned(task, strategy)
    if not len(task.constraint):
        return task.fit_plain()
    if compares_ranks:
        return _enforce_ranks(task, strategy)
    first = task.fit_smooth()
    if strategy is None:
        return first
    multiplier = np.abs(first.result.multipliers).max(initial=0.0)
    counts_any = "decisions" in task.constraint.statistics
    # Smooth rates of decisions may bind where decisions keep the bound: try the plain fit. Those of
    # losses are the metric itself, and bind if their multipliers are more than rounding.
    is_active = task.is_active or (multiplier > task.tol and not counts_any)
    if first.keeps_bound and multiplier > 0 and not is_active:
        plain = task.fit_plain(first.parameters)
        first = plain if plain.keeps_bound else first
    if first.keeps_bound and not first.result.multipliers.any():
        return first if first.is_clear else sweep(task, first)
    return _best_or_constant(task, _SEARCHES[strategy](task, first))


def enforce_in_population(task, strategy, confidence, train_without=None, clusters=None):
    """The guarantee of a model that keeps the constraint of a task, in the population too.

    `strategy` is as in `enforce`. `confidence` is the probability with which the population keeps
    the tolerances; None guarantees them on the training data alone. `train_without` makes the task
    of all samples with features learned from given rows alone; None means that the features were
    not learned. Samples of equal code in `clusters` belong together. Raises a ValueError if a
    confidence is requested but not that decisions keep the bound.
    """
    constraint = task.constraint
    if confidence is None:
        return Guarantee(enforce(task, strategy), constraint.tolerances)
    if strategy is None:
        raise ValueError(
            "confidence_level is about decisions, but enforcement=None leaves the smooth rates as "
            "they are; pass enforcement='auto', or confidence_level=None."
        )

    # All fits, about a dozen, are searched in the same short way.
    if strategy == "auto" and "ranks" not in constraint.statistics:
        strategy = "brief"

    def make_fit(rows, start):
        task_of_all = task if rows is None or train_without is None else train_without(rows)
        # Fits of folds are solved to the digits that their sampling noise leaves.
        fold = task_of_all
        if rows is not None:
            fold = task_of_all.restrict_to(task_of_all.problem.take(rows))
        if start is not None:  # another network has other parameters
            start = start._replace(scores=start.scores[rows]) if task_of_all is task else None

        def fit(tolerances):
            nonlocal start  # each fit starts where the one before has ended
            tighter = fold.replace_tolerances(tolerances)
            tighter = tighter if start is None else _refit(tighter, start)
            start = enforce(tighter, strategy)
            return task_of_all.judge(start.parameters, start.result)

        return fit

    return fit_with_guarantee(constraint, confidence, make_fit, clusters)


def _refit(task, start):
    """The task started at a fit of other tolerances.

    Mean losses have a minimum above 0, so a lower tolerance may be infeasible. Solvers then go on
    with ever larger penalties. They are stopped once the violation is at its minimum.
    """
    task = task.restart_at(start)
    if "values" not in task.constraint.statistics:
        return task
    callback, violations = task.options.get("callback"), []

    def stop(progress):
        if progress.n_iter == 0:
            violations.clear()
        violations.append(progress.evaluation.violation)
        is_stopped = callback is not None and callback(progress)
        smallest = min(violations[:-_PATIENCE], default=np.inf)
        return is_stopped or min(violations[-_PATIENCE:]) >= smallest > task.tol

    return replace(task, options={**task.options, "callback": stop})


def _enforce_ranks(task, strategy):
    """The candidate that keeps constraints on ranks: by calibration, then by random search."""
    if strategy is None:
        return task.fit_smooth()
    if strategy not in ("auto", "calibration"):
        name = next(one.name for one in task.constraint if one.statistic == "ranks")
        raise ValueError(
            f"enforcement={strategy!r} leads decisions to their bounds, but {name} compares "
            "ranks; pass enforcement='auto'."
        )
    candidate = calibrate(task)
    return candidate if candidate.keeps_bound else search_metric(task, candidate)


def _enforce_partitioned(task, strategy):
    """The candidate of partitioned samples, warm-started by enforcement on the subsample."""
    on_subsample = task.restrict_to(task.problem.subsample)
    # Searches would fit the decisions of the subsample: they are left to the full data.
    counts_all = task.constraint.statistics <= {"decisions"}
    start = enforce(on_subsample, "correction" if strategy == "auto" and counts_all else strategy)
    if strategy is None:
        return task.fit(task.problem, task.problem.initial_point(start.parameters))
    # Where no row was active on the subsample, the plain fit may keep the bound.
    if not start.result.multipliers.any():
        plain = task.fit_plain(start.parameters)
        if plain.keeps_bound:
            return plain
    best = correct_partitioned(task, on_subsample, start)
    if counts_all:
        best = polish(task, best, _MAX_PARTITIONED_ROUNDS)
    return _best_or_constant(task, best)


def _best_or_constant(task, candidate):
    """A candidate, or the best constant decisions if it does not keep the bound."""
    if candidate.keeps_bound:
        return candidate
    model = task.problem.model.last_layer(candidate.parameters)
    before = candidate.parameters[: -model.n_parameters]
    points = [np.concatenate((before, constant)) for constant in model.constants()]
    return min([candidate, *task.judge_all(points, candidate.result)], key=rank)


def _refine(task, candidates, refine):
    """The best of the refined candidates, until more of them hardly help."""
    best = None
    for candidate in candidates:
        refined = refine(task, candidate)
        improved = best is None or refined.rank < best.rank
        if improved:
            best = refined
        # Cost of the bound in addition to the smooth fit: decisions that become wrong.
        cost = best.error - candidate.error
        if best.keeps_bound and (cost <= _LOW_COST or (not improved and cost <= _HIGH_COST)):
            break
    return best


def _enforce_auto(task, start, refine=polish):
    counts_any = "decisions" in task.constraint.statistics
    if not counts_any and start.keeps_bound:
        return start  # smooth rates of mean losses are the public metric
    if not task.constraint.statistics <= {"decisions"}:
        return _correct(task, start)
    return _refine(task, corrections(task, start), refine)


def _enforce_briefly(task, start):
    """As "auto", with a shorter search: of many models one seems fairer by chance."""
    counts_any = "decisions" in task.constraint.statistics
    if not counts_any and start.result.status == "infeasible":
        return start  # mean losses are the public metric: no correction changes them
    return _enforce_auto(task, start, partial(polish, max_rounds=2, max_breadth=1))


def _correct(task, start):
    candidates = corrections(task, start)
    return tighten(task, _refine(task, candidates, lambda task, candidate: candidate))


def _follow_path(task, start):
    return _refine(task, path(task, start), sweep)


def _calibrate(task, start):
    return calibrate(replace(task, start=start.parameters))


ENFORCEMENTS = {
    "auto": _enforce_auto,
    "correction": _correct,
    "sweep": sweep,
    "path": _follow_path,
    "calibration": _calibrate,
}
"""Ways to keep a bound by the public metrics, by name."""

_SEARCHES = ChainMap({"brief": _enforce_briefly}, ENFORCEMENTS)
