"""The tolerance of a surrogate at which the public metric just keeps the tolerance asked for."""

import warnings
from dataclasses import dataclass, replace
from itertools import islice
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from skfair.constraints._constraint import People
from skfair.constraints._partial_parity import PartialParity
from skfair.metrics import (
    partial_demographic_parity_difference,
    partial_equal_opportunity_difference,
    partial_equalized_odds_difference,
    partial_group_auc_difference,
    partial_statistical_parity_difference,
)
from skfair.solvers import DampedSQP, Result
from skfair.utils._groups import Groups

MAX_SOLVES = 8
SLACK = 0.01
"""How far below its tolerance the metric may end."""

_ROUGH = DampedSQP(tol=1e-3)
_EXACT = DampedSQP(tol=1e-8)
"""Newton's method: problems without constraint are smooth and convex."""


class Candidate(NamedTuple):
    """A model, and how fair its scores are on the training data.

    Attributes
    ----------
    x : ndarray of shape (n_unknowns,)
        Parameters of the model, and the auxiliary unknowns of its problem.
    scores : ndarray of shape (n_samples,)
        Its scores.
    gap : float
        The public metric; nan if it is unknown.
    result : Result
        What the solver found.
    """

    x: np.ndarray
    scores: np.ndarray
    gap: float
    result: Result

    def rank(self, tolerance):
        """Candidates that keep the tolerance come first, by objective; then others, by gap."""
        kept = self.gap <= tolerance
        return (not kept, self.result.fun if kept else np.nan_to_num(self.gap, nan=np.inf))


@dataclass(frozen=True, eq=False)
class PartialTask:
    """A model to be trained under partial fairness.

    Attributes
    ----------
    problem : ConstrainedProblem
        The plain problem, without constraint.
    people : People
        Targets, groups and weights.
    parity : PartialParity
        The criterion.
    solve : callable
        (problem, x, solver) -> Result, from given unknowns; None is the solver of the user's
        choice.
    """

    problem: object
    people: People
    parity: PartialParity
    solve: object

    def rough(self):
        """A fit without constraint that others may start from."""
        return self._candidate(self.problem, np.zeros(self.problem.n_parameters), _ROUGH)

    def plain(self, start):
        """The fit without constraint, from where a rough one ended."""
        return self._candidate(self.problem, start.x, _EXACT)

    def bind(self, start, tolerance):
        """Rows, as seen from where a fit ended."""
        return self.parity.bind(self.people, start.scores, tolerance)

    def constrained(self, start, constraint):
        """The fit under a constraint, from where another one ended."""
        problem = replace(self.problem, constraint=constraint)
        # Thresholds go on from where they were; levels, which are easily placed, do not.
        warm = len(start.x) == problem.n_unknowns and not self.parity.at_one_threshold
        x = start.x if warm else problem.initial_point(start.x[: problem.n_parameters])
        return self._candidate(problem, x)

    def _candidate(self, problem, x, solver=None):
        result = self.solve(problem, x, solver)
        scores = problem.evaluate(result.x).scores
        return Candidate(result.x, scores, self.gap(scores), result)

    def gap(self, scores):
        """The public metric of the criterion; nan if nobody ranks in an interval."""
        groups, parity = self.people.groups, self.parity
        disjoint = isinstance(groups, Groups)
        common = {
            "sensitive_features": groups.codes if disjoint else groups.matrix,
            "interval": dict(enumerate(parity.intervals)),
            "sample_weight": self.people.weights,
        }
        scaled = common | {"scale": parity.scale}
        decided = scaled | {"threshold": parity.threshold}
        with warnings.catch_warnings():
            # Unknown rates give nan; the estimator's own message says what to do.
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            if parity.criterion == "statistical_parity":
                return partial_statistical_parity_difference(scores, **scaled)
            if parity.criterion == "group_auc":
                return partial_group_auc_difference(scores, **common)
            if parity.criterion == "demographic_parity":
                return partial_demographic_parity_difference(scores, **decided)
            metric = {
                "equal_opportunity": partial_equal_opportunity_difference,
                "equalized_odds": partial_equalized_odds_difference,
            }[parity.criterion]
            decided["rank_within"] = parity.rank_within
            return metric(self.people.target, scores, **decided)


def calibrate(task, tolerance):
    """Find a model whose scores keep a tolerance by the public metric, and waste little of it.

    If the plain fit keeps it, that is the answer. Else fits follow, each from where the last one
    ended, until the metric lies at most 0.01 below the tolerance asked for.

    Parameters
    ----------
    task : PartialTask
        The model to be trained.
    tolerance : float
        Largest value of the public metric.

    Returns
    -------
    candidate : Candidate
        Of those found to keep the tolerance the one of least objective, else the fairest.
    """
    start = task.rough()
    if start.gap <= tolerance + SLACK:
        start = task.plain(start)
        if start.gap <= tolerance:
            return start
    found = [start]
    search = _corrections if task.parity.at_one_threshold else _secant
    for candidate in islice(search(task, start, tolerance), MAX_SOLVES):
        found.append(candidate)
        if tolerance - SLACK <= candidate.gap <= tolerance:
            break
    return min(found, key=lambda candidate: candidate.rank(tolerance))


def _aim(tolerance):
    return tolerance - min(SLACK, tolerance) / 2


def _corrections(task, latest, tolerance):
    """Yield fits whose rows count the decisions, as they are at the fits before.

    What the surrogate misses of the decisions is averaged with what it missed before, because a
    model that answers one correction in full often calls for the opposite one.
    """
    aim = effective = _aim(tolerance)
    missed = None
    while True:
        constraint = task.bind(latest, effective)
        misses = constraint.missed(latest.scores)
        missed = misses if missed is None else (missed + misses) / 2
        latest = task.constrained(latest, constraint.shifted(missed))
        yield latest
        # Decisions come in persons: what still exceeds the aim is asked for in advance.
        effective = min(aim, max(0.0, effective + (aim - _known(latest.gap)) / 2))


def _secant(task, latest, tolerance):
    """Yield fits whose surrogate keeps another tolerance, found by the secant method in a bracket.

    The share of the interval that the secant points to is kept away from the ends of the bracket.
    """
    aim, effective = _aim(tolerance), tolerance
    low = (0.0, 0.0)
    high = (max(tolerance, _known(latest.gap)), _known(latest.gap))
    measured = False  # the plain fit stands for any tolerance above
    while True:
        latest = task.constrained(latest, task.bind(latest, effective))
        yield latest
        gap = _known(latest.gap)
        if effective == 0.0:
            return  # groups that are alike by the surrogate differ by more
        if gap > aim:
            high, measured = (effective, gap), True
        else:
            low = (effective, gap)
            if not measured and effective > high[0] / 2:
                high = (2.0 * high[0], high[1])
        share = (aim - low[1]) / max(high[1] - low[1], 1e-12)
        effective = low[0] + min(max(share, 0.1), 0.9) * (high[0] - low[0])
        if effective < 0.02 * tolerance:
            effective = 0.0


def _known(gap):
    """The gap, or the largest there is where it cannot be measured."""
    return 1.0 if np.isnan(gap) else gap
