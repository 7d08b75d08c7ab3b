"""From surrogate to true tolerance: a model whose decisions keep the bound.

Solvers hold smooth rates; the promise is about decisions. Between the two stand

- the plain fit: if its decisions keep the bound already, it is the answer;
- correction: the smooth rates are shifted by what they miss of the decisions, and solved again;
- the path: rows weigh in at a fixed price instead, on labels and weights that count decisions; the
  price is raised until the decisions keep the bound;
- the sweep: of all intercepts the one whose decisions keep the bound and err least, found exactly
  by sorting the scores. One exists wherever constant decisions keep the bound. The same search goes
  on along other directions, those in which the rows of the constraint move fastest.

Every step proposes candidates; the one that errs least among those that keep the bound is taken.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from skfair.constraints._unconstrained import Unconstrained
from skfair.solvers import Result

_MAX_CORRECTIONS = 8
_CONVERGED = 0.1
"""Corrections have converged when the gap is this near to its tolerance, relatively."""
_MAX_PRICES = 8
_MAX_ROUNDS = 3
_MAX_DIRECTIONS = 8
_MAX_TRIES = 20

_MARGIN = 1e-9
"""Scores nearer to 0 than this, relative to the largest, might change sign when summed in another
order: no sweep returns a model with such scores."""

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
    result : Result
        What the solver found before any sweep.
    """

    parameters: np.ndarray
    scores: np.ndarray
    error: float
    violation: float
    result: Result

    @property
    def keeps_bound(self):
        """Whether the decisions keep the bound."""
        return self.violation == 0.0

    @property
    def rank(self):
        """Those that keep the bound come first, by error; then the others, by violation."""
        return (self.violation, self.error)


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
        problem = self.problem
        scores = problem.model.scores(parameters)
        wrong = (scores > 0) != (problem.target > 0)
        violation = problem.constraint.violation(scores)
        if violation <= (_TIE if problem.constraint.counts_decisions else self.tol):
            violation = 0.0
        return Candidate(parameters, scores, float(problem.share @ wrong), violation, result)

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
        The plain fit if that keeps the bound; else what the strategy finds.
    """
    unconstrained = plain(task)
    if unconstrained.keeps_bound:
        return unconstrained
    return ENFORCEMENTS[strategy](task, unconstrained)


def plain(task):
    """The fit without constraint."""
    return task.candidate(replace(task.problem, constraint=Unconstrained()), task.start)


def smooth(task, parameters):
    """The fit under the smooth rates, from given parameters."""
    return task.candidate(task.problem, parameters)


def corrections(task, start):
    """Yield the fit under smooth rates, then those under rates corrected at the best so far.

    A correction that takes the decisions further from the bound is made half as far.
    """
    problem, share = task.problem, 1.0
    best = smooth(task, start.parameters)
    yield best
    for _ in range(_MAX_CORRECTIONS):
        corrected = replace(problem, constraint=problem.constraint.corrected(best.scores, share))
        found = task.candidate(corrected, best.parameters)
        yield found
        if found.violation < best.violation or found.keeps_bound:
            problem, best = corrected, found
        else:
            share /= 2


def path(task, start):
    """Yield fits whose labels and weights price the rows, until decisions just keep the bound.

    With multipliers p the cost of deciding 1 rather than 0 is ``-share * target + effects(p)`` for
    each sample, so a fit with minus its sign as label and its size as weight prices decisions as
    the Lagrangian does (A. Agarwal et al., A reductions approach to fair classification, ICML 2018,
    section 3). The prices lie on the ray through the multipliers of the smooth fit.
    """
    problem, first = task.problem, smooth(task, start.parameters)
    yield first
    prices = first.result.multipliers
    effects = problem.constraint.decision_effects(first.scores, prices)
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
        yield found
        parameters = found.parameters
        # Rows that still press beyond their bounds want a higher price, rows within a lower one.
        pressing = problem.constraint.decision_pressure(found.scores, prices)
        low, high = (length, high) if pressing > 0 else (low, length)
        length = 2.0 * low if np.isinf(high) else (low + high) / 2


def sweep(task, candidate):
    """The best intercept for a candidate's coefficients."""
    problem = task.problem
    intercept = problem.model.intercept_direction()
    return candidate if intercept is None else _search(task, candidate, intercept)


def polish(task, candidate):
    """Exact searches along the intercept and the directions in which active rows move fastest."""
    for _ in range(_MAX_ROUNDS):
        before = candidate.rank
        for direction in _directions(task.problem, candidate):
            candidate = _search(task, candidate, direction)
        candidate = sweep(task, candidate)
        if not candidate.rank < before:
            break
    return candidate


def _directions(problem, candidate):
    """Newton's directions of the rows, ``H^-1 J'``: they move a row most at the least loss."""
    evaluation = problem.evaluate(problem.initial_point(candidate.parameters))
    jacobian = evaluation.jacobian[:, : problem.n_parameters]
    tightness = np.minimum(problem.upper - evaluation.values, evaluation.values - problem.lower)
    rows = np.argsort(tightness, kind="stable")[:_MAX_DIRECTIONS]
    hessian = problem.model.gram(evaluation.loss_curvature) + np.diag(problem.ridge)
    hessian += 1e-10 * hessian.diagonal().max() * np.eye(len(hessian))
    return cho_solve(cho_factor(hessian), jacobian[rows].T).T


def _search(task, candidate, direction):
    """The best point on the line through a candidate, by decisions; ties stay near it.

    Along the line every sample's decision flips once, at ``-score / slope``, so errors and gaps of
    all points follow from sorting these lengths once.
    """
    problem, model = task.problem, task.problem.model
    slopes = model.scores(candidate.parameters + direction) - candidate.scores
    moving = np.flatnonzero(np.abs(slopes) > _MARGIN * np.abs(slopes).max(initial=0.0))
    if not len(moving):
        return candidate
    flips = -candidate.scores[moving] / slopes[moving]
    order = np.argsort(flips, kind="stable")
    flips, order = flips[order], moving[order]
    decisions = np.where(candidate.scores > 0, 1.0, -1.0)
    decisions[moving] = -np.sign(slopes[moving])
    gains = problem.share * problem.target * decisions
    errors = problem.share @ (decisions != problem.target) + np.append(0.0, np.cumsum(gains[order]))
    violations = _sweep_violations(task.constraint, decisions, order)
    span = np.append(flips, flips[-1] + 1.0) - np.append(flips[0] - 1.0, flips)
    lengths = np.concatenate(([flips[0] - 1.0], (flips[:-1] + flips[1:]) / 2, [flips[-1] + 1.0]))
    ranking = np.lexsort((np.abs(lengths), errors, violations))
    ranking = ranking[span[ranking] > 0]
    for t in ranking[:_MAX_TRIES]:
        if (violations[t], errors[t]) >= candidate.rank:
            break
        found = task.judge(candidate.parameters + lengths[t] * direction, candidate.result)
        if found.rank < candidate.rank and _is_clear(found.scores):
            return found
    return candidate


def _sweep_violations(constraint, decisions, order):
    excess = [part.sweep(decisions, order) - part.tolerance for part in constraint.parts]
    worst = np.max(excess, axis=0)
    return np.where(worst > _TIE, worst, 0.0)


def _is_clear(scores):
    sizes = np.abs(scores)
    return sizes.min() > _MARGIN * (1.0 + sizes.max())


def _best(task, candidates, refine):
    """The best of the refined candidates; those after the first converged failure are not made."""
    best = None
    for found in candidates:
        refined = refine(task, found)
        if best is None or refined.rank < best.rank:
            best = refined
        elif _has_converged(task.constraint, found):
            break
    return best


def _has_converged(constraint, candidate):
    return all(
        abs(part.gap(candidate.scores) - part.tolerance) <= _CONVERGED * part.tolerance
        for part in constraint.parts
    )


def _as_it_is(task, candidate):
    return candidate


def _auto(task, start):
    constraint = task.constraint
    if not any(part.counts_decisions for part in constraint.parts):
        return smooth(task, start.parameters)  # the rates are the public metric themselves
    if not constraint.counts_decisions:
        return _best(task, corrections(task, start), _as_it_is)
    return polish(task, _best(task, corrections(task, start), sweep))


def _correction(task, start):
    return _best(task, corrections(task, start), _as_it_is)


def _sweep(task, start):
    return sweep(task, smooth(task, start.parameters))


def _path(task, start):
    return _best(task, path(task, start), sweep)


ENFORCEMENTS = {"auto": _auto, "correction": _correction, "sweep": _sweep, "path": _path}
"""Ways to make decisions keep a bound, by name."""
