"""From surrogate to true tolerance: a model whose decisions keep the bound.

Solvers hold smooth rates; the promise is about decisions. Between the two stand

- the plain fit, tried where the decisions of the smooth fit keep the bound: perhaps none is needed;
- correction: the smooth rates are shifted by what they miss of the decisions, and solved again;
  where that is not enough, with tolerances that leave room for what is still missed;
- the path: rows weigh in at a fixed price instead, on labels and weights that count decisions; the
  price is raised until the decisions keep the bound;
- the sweep: of all intercepts the one whose decisions keep the bound and err least, found by
  sorting the scores (exactly, unless samples times groups are very many: then at evenly spread
  thresholds). One exists wherever constant decisions keep the bound. The same search goes on along
  other directions, those in which the rows of the constraint move fastest.

Every step proposes candidates; the one that errs least among those that keep the bound is taken.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from skfair.constraints._unconstrained import Unconstrained
from skfair.solvers import Result

_MAX_CORRECTIONS = 6
_CHEAP, _DEAR = 4e-3, 1e-2
"""Share of the people whose decisions a refinement may make wrong: below the first no correction
is needed, above the second one goes on correcting even where that did not help at once."""
_MAX_TIGHTENINGS = 8
_MAX_PRICES = 8
_MAX_ROUNDS = 6
_MAX_DIRECTIONS = 3
_MAX_TRIES = 20
_MAX_ENTRIES = 1 << 18
"""Numbers that one search may hold: means of events at every stop."""

_MARGIN = 1e-9
"""Scores nearer to 0 than this, relative to the largest, might change sign when summed in another
order: a model with such scores is taken only where there is no other."""

_TIE = 1e-12
"""Differences of gaps and errors below it are rounding."""


class Candidate(NamedTuple):
    """A model, judged by its decisions on the training data.

    Attributes
    ----------
    parameters : ndarray of shape (n_parameters,)
        Parameters of the model.
    scores : ndarray of shape (n_samples,)
        Its scores.
    error : float
        Weighted share of wrong decisions.
    violation : float
        Largest excess of a gap over its tolerance, by the public metric.
    is_clear : bool
        Whether no decision that the constraint counts hangs on rounding.
    result : Result
        What the solver found before any sweep.
    """

    parameters: np.ndarray
    scores: np.ndarray
    error: float
    violation: float
    is_clear: bool
    result: Result

    @property
    def keeps_bound(self):
        """Whether the decisions keep the bound."""
        return self.violation == 0.0

    @property
    def rank(self):
        """Those that keep the bound come first, by error; then the others, by violation."""
        return (self.violation, not self.is_clear, self.error)


@dataclass(frozen=True, eq=False)
class Task:
    """What is to be solved, and how.

    Attributes
    ----------
    problem : ConstrainedProblem
        The problem with smooth rates; its constraint knows the public metric too.
    solve : callable
        (problem, parameters) -> Result, from given model parameters.
    start : ndarray of shape (n_parameters,)
        Model parameters to start from.
    tol : float
        Violations up to it count as kept where the public metric is continuous, as mean losses
        are: no solver returns the bound to the last digit.
    """

    problem: object
    solve: object
    start: np.ndarray
    tol: float

    @property
    def constraint(self):
        """The constraint, which knows the public metric."""
        return self.problem.constraint

    def judge(self, parameters, result):
        """The candidate that parameters make."""
        problem, constraint = self.problem, self.constraint
        scores = problem.model.scores(parameters)
        wrong = (scores > 0) != (problem.target > 0)
        violation = constraint.violation(scores)
        if violation <= (_TIE if constraint.counts_decisions else self.tol):
            violation = 0.0
        is_clear = not _counts_any(constraint) or _is_clear(scores)
        return Candidate(
            parameters, scores, float(problem.share @ wrong), violation, is_clear, result
        )

    def candidate(self, problem, parameters):
        """Solve a problem, and judge its answer by the constraint of this task."""
        result = self.solve(problem, parameters)
        return self.judge(result.x[: problem.n_parameters], result)


def enforce(task, strategy):
    """Find a model whose decisions keep the constraint of a task.

    Parameters
    ----------
    task : Task
        What is to be solved, and how.
    strategy : {"auto", "correction", "sweep", "path"}
        Name in ``ENFORCEMENTS``.

    Returns
    -------
    candidate : Candidate
        The smooth fit if no row of it presses; the plain fit if the smooth one's decisions keep the
        bound and its own do too; else what the strategy finds.
    """
    first = smooth(task)
    if first.keeps_bound and first.result.multipliers.any():
        # The smooth rates asked for more than the decisions need: perhaps they need nothing.
        unconstrained = plain(replace(task, start=first.parameters))
        first = unconstrained if unconstrained.keeps_bound else first
    if first.keeps_bound and not first.result.multipliers.any():
        return first if first.is_clear else sweep(task, first)
    return ENFORCEMENTS[strategy](task, first)


def plain(task):
    """The fit without constraint."""
    return task.candidate(replace(task.problem, constraint=Unconstrained()), task.start)


def smooth(task):
    """The fit under the smooth rates."""
    return task.candidate(task.problem, task.start)


def corrections(task, start):
    """Yield the fit under smooth rates, then fits under rates corrected at the best so far.

    A correction that takes the decisions further from the bound is made half as far.
    """
    problem, best, share = task.problem, start, 1.0
    yield best
    for _ in range(_MAX_CORRECTIONS):
        corrected = replace(problem, constraint=problem.constraint.corrected(best.scores, share))
        found = task.candidate(corrected, best.parameters)
        yield found
        if found.violation < best.violation or found.keeps_bound:
            problem, best = corrected, found
        else:
            share /= 2


def tighten(task, candidate):
    """Correct with tolerances less what decisions missed so far, until these keep the bound.

    Gaps of decisions jump: a smooth rate that is right at the bound leaves them on either side.
    """
    best, room = candidate, np.zeros(len(task.constraint.parts))
    for _ in range(_MAX_TIGHTENINGS):
        if best.keeps_bound:
            break
        room += [part.violation(best.scores) for part in task.constraint.parts]
        tightened = _less(task.constraint.corrected(best.scores), room)
        found = task.candidate(replace(task.problem, constraint=tightened), best.parameters)
        if found.result.status == "infeasible":
            break
        best = min(best, found, key=_rank)
    return best


def _less(constraint, room):
    """The same constraints, each with so much less tolerance."""
    pairs = zip(constraint.parts, room, strict=True)
    return replace(
        constraint,
        parts=tuple(replace(part, tolerance=max(0.0, part.tolerance - own)) for part, own in pairs),
    )


def path(task, start):
    """Yield fits whose labels and weights price the rows, until decisions just keep the bound.

    With multipliers p the cost of deciding 1 rather than 0 is ``-share * target + effects(p)`` for
    each sample, so a fit with minus its sign as label and its size as weight prices decisions as
    the Lagrangian does (A. Agarwal et al., A reductions approach to fair classification, ICML 2018,
    section 3). The prices lie on the ray through the multipliers of the smooth fit.
    """
    yield start
    problem, prices = task.problem, start.result.multipliers
    effects = problem.constraint.decision_effects(start.scores, prices)
    low, high, parameters = 0.0, np.inf, start.parameters
    length = 1.0
    for _ in range(_MAX_PRICES):
        gain = problem.share * problem.target - length * effects
        priced = replace(
            problem,
            constraint=Unconstrained(),
            target=np.where(gain > 0, 1.0, -1.0),
            weights=np.abs(gain),
        )
        found = task.candidate(priced, parameters)
        yield found._replace(result=replace(found.result, multipliers=length * prices))
        parameters = found.parameters
        # Rows that still press beyond their bounds want a higher price, rows within a lower one.
        pressing = problem.constraint.decision_pressure(found.scores, prices)
        low, high = (length, high) if pressing > 0 else (low, length)
        length = 2.0 * low if np.isinf(high) else (low + high) / 2


def sweep(task, candidate):
    """The best intercept for a candidate's coefficients."""
    intercept = task.problem.model.intercept_direction()
    return candidate if intercept is None else _search(task, candidate, intercept)


def polish(task, candidate):
    """Exact searches along several lines at a time, the best of which is where the next ones start.

    The lines are the intercept's, those along which the tightest rows of the constraint move most
    at the least loss, and the one that leads all rows whose decisions miss their bounds back to
    them.
    """
    problem = task.problem
    evaluation = problem.evaluate(problem.initial_point(candidate.parameters))
    newton, effects = _newton_directions(evaluation)
    slack = np.minimum(problem.upper - evaluation.values, evaluation.values - problem.lower)
    tightest = np.argsort(slack, kind="stable")[:_MAX_DIRECTIONS]
    intercept = problem.model.intercept_direction()
    fixed = [*newton.T[tightest], *([] if intercept is None else [intercept])]
    for _ in range(_MAX_ROUNDS):
        lines = list(fixed)
        missed = _missed(task.constraint, candidate.scores)
        if len(missed) > 1 and missed.any():
            lines.append(newton @ np.linalg.lstsq(effects, missed, rcond=1e-8)[0])
        found = min((_search(task, candidate, line) for line in lines), key=_rank)
        if not found.rank < candidate.rank:
            break
        candidate = found
    return candidate


def _newton_directions(evaluation):
    """Newton's direction ``H^-1 J'`` of each row, and what each row gains by each."""
    problem = evaluation.problem
    jacobian = evaluation.jacobian[:, : problem.n_parameters]
    hessian = problem.model.gram(evaluation.loss_curvature) + np.diag(problem.ridge)
    # Where all scores are far from 0, as those of separable people, no curvature is left.
    hessian += 1e-10 * max(hessian.diagonal().max(), 1e-200) * np.eye(len(hessian))
    newton = cho_solve(cho_factor(hessian), jacobian.T)
    return newton, jacobian @ newton


def _missed(constraint, scores):
    """What each row, counted by decisions, lacks to its bounds, (n_rows,); 0 within them."""
    values = np.concatenate([part.decision_values(scores) for part in constraint.parts])
    return np.clip(values, constraint.lower, constraint.upper) - values


def _search(task, candidate, direction):
    """The best point on the line through a candidate, by decisions; ties stay near it.

    Along the line every sample's decision flips once, at ``-score / slope``, so errors and gaps of
    all points follow from sorting these lengths once.
    """
    problem, model = task.problem, task.problem.model
    slopes = model.scores(candidate.parameters + direction) - candidate.scores
    fastest = np.abs(slopes).max()
    if fastest == 0.0:
        return candidate
    direction, slopes = direction / fastest, slopes / fastest
    moving = np.flatnonzero(np.abs(slopes) > _MARGIN)
    flips = -candidate.scores[moving] / slopes[moving]
    order = np.argsort(flips)
    flips, order = flips[order], moving[order]
    decisions = np.where(candidate.scores > 0, 1.0, -1.0)
    decisions[moving] = -np.sign(slopes[moving])
    gains = problem.share * problem.target * decisions
    errors = problem.share @ (decisions != problem.target) + np.append(0.0, np.cumsum(gains[order]))
    # Point t lies after the first `ends[t]` flips; very many flips are taken several at a time.
    ends = _stops(len(order), sum(len(part.table.names) for part in task.constraint.parts))
    turns = np.full(len(candidate.scores), len(ends) - 1)
    turns[order] = np.arange(len(order)) // ends[1]
    violations = _sweep_violations(task.constraint, decisions, turns, len(ends) - 1)
    errors = errors[ends]
    bounded = np.concatenate(([flips[0] - 2.0], flips, [flips[-1] + 2.0]))
    low, high = bounded[ends], bounded[ends + 1]
    lengths = (low + high) / 2
    violation, hangs_on_rounding, error = candidate.rank
    better = violations < violation
    better |= (violations == violation) & (hangs_on_rounding | (errors < error))
    better = np.flatnonzero(better & (high > low))
    ranking = np.lexsort((np.abs(lengths[better]), errors[better], violations[better]))
    for t in better[ranking[:_MAX_TRIES]]:
        found = task.judge(candidate.parameters + lengths[t] * direction, candidate.result)
        if found.is_clear and found.rank < candidate.rank:
            return found
    return candidate


def _stops(n_flips, n_events):
    """After how many flips gaps are counted: after each, or evenly spread if these are too many."""
    stride = -(-n_flips // max(1000, _MAX_ENTRIES // n_events))
    return np.append(np.arange(0, n_flips, stride), n_flips)


def _sweep_violations(constraint, decisions, turns, n_turns):
    excess = [part.sweep(decisions, turns, n_turns) - part.tolerance for part in constraint.parts]
    worst = np.max(excess, axis=0)
    return np.where(worst > _TIE, worst, 0.0)


def _is_clear(scores):
    """Whether no score is so near to 0 that it might change sign; an exact 0 stays one."""
    sizes = np.abs(scores)
    return not ((sizes > 0) & (sizes <= _MARGIN * (1.0 + sizes.max()))).any()


def _counts_any(constraint):
    """Whether the public metric of a part sees of a score only whether it is positive."""
    return any(part.counts_decisions for part in constraint.parts)


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


def _rank(candidate):
    return candidate.rank


def _as_it_is(task, candidate):
    return candidate


def _auto(task, start):
    constraint = task.constraint
    if not _counts_any(constraint) and start.keeps_bound:
        return start  # of mean losses, the smooth rates are the public metric themselves
    if not constraint.counts_decisions:
        return _correction(task, start)
    return _best(task, corrections(task, start), polish)


def _correction(task, start):
    return tighten(task, _best(task, corrections(task, start), _as_it_is))


def _path(task, start):
    return _best(task, path(task, start), sweep)


ENFORCEMENTS = {"auto": _auto, "correction": _correction, "sweep": sweep, "path": _path}
"""Ways to make decisions keep a bound, by name."""
