"""From surrogate to true tolerance: a model that keeps its bounds by the public metrics.

Solvers hold smooth rates; the promise is about decisions. Between the two stand

- the plain fit, tried where the decisions of the smooth fit keep the bound: perhaps none is needed;
- correction: the smooth rates are shifted by what they miss of the decisions, and solved again;
  where that is not enough, with tolerances that leave room for what is still missed;
- the path: rows weigh in at a fixed price instead, on labels and weights that count decisions; the
  price is raised until the decisions keep the bound;
- the sweep: of all intercepts the one whose decisions keep the bound and err least, found by
  sorting the scores (exactly, unless samples times groups are very many: then at evenly spread
  thresholds). One exists wherever constant decisions keep the bound. The same search goes on along
  other directions, those in which the rows of the constraint move fastest;
- calibration, where ranks are compared and not decisions: the rows keep the tolerance at which the
  metric just keeps the one asked for; where none of its fits keeps it, random local search lowers
  the metric itself;
- constant decisions, where nothing else was found: they keep every parity of decisions.

Every step proposes candidates; of those that keep the bound the one that errs least is taken, and
where ranks are compared the one of least objective.
"""

from collections import ChainMap
from dataclasses import replace
from functools import partial

import numpy as np

from skfair.enforcement._at_large import enforce_at_large
from skfair.enforcement._calibration import calibrate
from skfair.enforcement._correction import corrections, path, tighten
from skfair.enforcement._guarantee import Guarantee as Guarantee
from skfair.enforcement._guarantee import promise as promise
from skfair.enforcement._line_search import polish, sweep
from skfair.enforcement._metric_search import search_metric
from skfair.enforcement._task import Candidate as Candidate
from skfair.enforcement._task import Task as Task
from skfair.enforcement._task import rank
from skfair.problems import PartitionedProblem

__all__ = ["ENFORCEMENTS"]

_CHEAP, _DEAR = 4e-3, 1e-2
"""Share of the people whose decisions a refinement may make wrong: below the first no correction
is needed, above the second one goes on correcting even where that did not help at once."""


def enforce(task, strategy):
    """Find a model that keeps the constraint of a task.

    Parameters
    ----------
    task : Task
        What is to be solved, and how.
    strategy : {"auto", "correction", "sweep", "path", "calibration"} or None
        Name in ``ENFORCEMENTS``; None takes the smooth problem as it is.

    Returns
    -------
    candidate : Candidate
        The plain fit if there is no constraint or it keeps the bound; the smooth fit if no row of
        it presses; else what the strategy finds.

    Raises
    ------
    ValueError
        If the strategy moves decisions, but the constraint compares ranks.
    """
    compares_ranks = "ranks" in task.constraint.statistics
    if isinstance(task.problem, PartitionedProblem) and not compares_ranks:
        return _at_large(task, strategy)
    if not len(task.constraint):
        return task.plain()
    if strategy is None:
        return task.smooth()
    if compares_ranks and strategy not in ("auto", "calibration"):
        name = next(one.name for one in task.constraint if one.statistic == "ranks")
        raise ValueError(
            f"enforcement={strategy!r} leads decisions to their bounds, but {name} compares "
            "ranks; pass enforcement='auto'."
        )
    if compares_ranks:
        found = calibrate(task)
        return found if found.keeps_bound else search_metric(task, found)
    first = task.smooth()
    pressure = np.abs(first.result.multipliers).max(initial=0.0)
    counts_any = "decisions" in task.constraint.statistics
    # Smooth rates of decisions may ask for more than these need: perhaps they need nothing. Those
    # of losses are the metric itself, and press if their multipliers are more than rounding.
    is_known = task.presses or (pressure > task.tol and not counts_any)
    if first.keeps_bound and pressure > 0 and not is_known:
        unconstrained = task.plain(first.parameters)
        first = unconstrained if unconstrained.keeps_bound else first
    if first.keeps_bound and not first.result.multipliers.any():
        return first if first.is_clear else sweep(task, first)
    found = _SEARCHES[strategy](task, first)
    return found if found.keeps_bound else min([found, *_constants(task, found)], key=rank)


def enforce_for_all(task, strategy, confidence, unseen=None, clusters=None):
    """Find a model that keeps the constraint of a task, in the population too.

    Parameters
    ----------
    task : Task
        What is to be solved, and how.
    strategy : str or None
        As in `enforce`.
    confidence : float or None
        Probability with which the population shall keep the tolerances; None guarantees them on the
        training data alone.
    unseen : callable, default=None
        rows -> the task of all samples as it looks to a model trained on these rows alone; None
        where the features of the task were not learned.
    clusters : ndarray of int, shape (n_samples,), default=None
        Samples of equal code belong together; None means that samples are independent.

    Returns
    -------
    promise : Guarantee
        Its candidate is judged by the requested tolerances.

    Raises
    ------
    ValueError
        If a confidence is requested but not that decisions keep the bound.
    """
    requested = task.constraint
    if confidence is None:
        return Guarantee(enforce(task, strategy), requested.tolerances)
    if strategy is None:
        raise ValueError(
            "confidence_level is about decisions, but enforcement=None leaves the smooth rates as "
            "they are; pass enforcement='auto', or confidence_level=None."
        )

    # All fits are searched alike, and a dozen are needed.
    if strategy == "auto" and "ranks" not in requested.statistics:
        strategy = "brief"

    def make_fit(rows, start):
        whole = task if rows is None or unseen is None else unseen(rows)
        # Of folds nobody needs more digits than their sampling noise leaves.
        own = whole if rows is None else whole.rehearsed_by(whole.problem.take(rows))
        if start is not None:
            own_start = own.judge(start.parameters, start.result)._replace(gaps=start.gaps)
            start = own_start if whole is task else None

        def fit(tolerances):
            nonlocal start  # each fit starts where the one before has ended
            tighter = own.with_tolerances(tolerances)
            start = enforce(tighter if start is None else tighter.from_there(start), strategy)
            return whole.judge(start.parameters, start.result)

        return fit

    return promise(requested, confidence, make_fit, clusters)


def _at_large(task, strategy):
    """What everybody does where the problem lies in parts, after some have rehearsed it."""
    few = task.rehearsed_by(task.problem.few)
    # Searches would lead the decisions of these few to bounds that everybody's do not keep.
    is_searched = strategy == "auto" and task.constraint.statistics <= {"decisions"}
    rehearsed = enforce(few, "correction" if is_searched else strategy)
    return enforce_at_large(task, strategy, few, rehearsed)


def _constants(task, found):
    """The last resort: models that decide alike of everybody."""
    model = task.problem.model.last_layer(found.parameters)
    before = found.parameters[: -model.n_parameters]
    levels = model.constants()
    return [task.judge(np.concatenate((before, level)), found.result) for level in levels]


def _best(task, candidates, refine):
    """The best of the refined candidates, as far as making more of them pays."""
    best = None
    for found in candidates:
        refined = refine(task, found)
        improved = best is None or refined.rank < best.rank
        if improved:
            best = refined
        # What the bound costs beyond the smooth fit: people whose decisions become wrong.
        cost = best.error - found.error
        if best.keeps_bound and (cost <= _CHEAP or (not improved and cost <= _DEAR)):
            break
    return best


def _as_it_is(task, candidate):
    return candidate


def _auto(task, start, refine=polish):
    counts_any = "decisions" in task.constraint.statistics
    if not counts_any and start.keeps_bound:
        return start  # of mean losses, the smooth rates are the public metric themselves
    if not task.constraint.statistics <= {"decisions"}:
        return _correction(task, start)
    return _best(task, corrections(task, start), refine)


def _brief(task, start):
    """As "auto", with a shorter search: of many models it is by chance that one seems fairer."""
    counts_any = "decisions" in task.constraint.statistics
    if not counts_any and start.result.status == "infeasible":
        return start  # mean losses are the public metric: no correction changes them
    return _auto(task, start, partial(polish, max_rounds=2, max_breadth=1))


def _correction(task, start):
    return tighten(task, _best(task, corrections(task, start), _as_it_is))


def _path(task, start):
    return _best(task, path(task, start), sweep)


def _calibration(task, start):
    return calibrate(replace(task, start=start.parameters))


ENFORCEMENTS = {
    "auto": _auto,
    "correction": _correction,
    "sweep": sweep,
    "path": _path,
    "calibration": _calibration,
}
"""Ways to keep a bound by the public metrics, by name."""

_SEARCHES = ChainMap({"brief": _brief}, ENFORCEMENTS)
