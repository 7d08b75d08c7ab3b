"""Enforcement among very many people, who lie in parts: rehearsed among some, performed by all.

Smooth fits and their corrections are gone through by some of the people, in memory. Everybody's
part is the end: how many decisions the smooth rates miss where the rehearsal ended, the smooth fit
corrected by that, and searches along a few lines, all of them counted at once. Every step is one
look at all parts, and there are about a dozen.
"""

from dataclasses import replace

import numpy as np

from skfair.constraints import ConstraintSystem
from skfair.enforcement._counts import N_TURNS, decide, flips, missed
from skfair.enforcement._line_search import directions_of
from skfair.enforcement._stops import between, place_stops
from skfair.enforcement._task import DIGITS, TIE, Candidate, canonical, rank

_MAX_CORRECTIONS = 4
_MAX_ROUNDS = 5
_MAX_TRIES = 2
"""Fits, rounds of searches, and points of a round that everybody is asked about."""

_NEAR = 0.02
"""Share of the decisions that flip where half of the stops of a line are."""

_LEAST_GAIN = 1e-4
"""Share of the people by which a round must lower the error for another one to follow."""

_POINT_BITS = 30


def enforce_at_large(task, strategy, few, rehearsed):
    """Find a model that keeps the constraint of a task whose problem lies in parts.

    Parameters
    ----------
    task : Task
        Of a `PartitionedProblem`.
    strategy : "auto" or None
        As in `enforce`.
    few : Task
        The task among some of its people, in memory.
    rehearsed : Candidate
        Where these people's enforcement ended.

    Returns
    -------
    candidate : Candidate
    """
    people = _Everybody(task, few)
    start = rehearsed.parameters
    if strategy is None:
        return people.solved(task.problem, start)
    if not rehearsed.result.multipliers.any():  # perhaps everybody's decisions need nothing either
        plain = people.solved(task.under(ConstraintSystem(())), start)
        if plain.keeps_bound:
            return plain
    found = people.corrected(start)
    if task.constraint.statistics <= {"decisions"}:
        found = people.searched(found)
    if found.keeps_bound:
        return found
    return min([found, *people.judged(task.problem.model.constants(), found.result)], key=rank)


class _Everybody:
    """Everybody's looks at models.

    Parameters
    ----------
    task : Task
        Of a `PartitionedProblem`.
    few : Task
        Of some people, who tell which way to search.
    """

    def __init__(self, task, few):
        self.task = task
        self.few = few
        self.parts = task.problem.parts

    def judged(self, points, result):
        """The candidates that several parameters make, from one look."""
        return self._candidates(self.parts.reduce(decide, np.array(points)), points, result)

    def _candidates(self, counted, points, result):
        errors, decided, unclear, means = counted
        pairs = zip(self.task.constraint, means, strict=True)
        gaps = np.array([one.aggregate(own.T) for one, own in pairs]).reshape(-1, len(points))
        counts_any = "decisions" in self.task.constraint.statistics
        return [
            Candidate(
                own,
                scores=None,
                error=round(float(errors[k]), 12),
                gaps=gaps[:, k],
                violation=self.task.violation(gaps[:, k]),
                is_clear=not (counts_any and unclear[k]),
                result=result,
                decisions=np.flatnonzero(decided[k]) == 1,
            )
            for k, own in enumerate(points)
        ]

    def solved(self, problem, start):
        """The smooth fit of a problem, judged."""
        result = self.task.solved(problem, problem.initial_point(start))
        point = result.x[: problem.n_parameters]
        counted = self.task.problem.total_and_told(_decide_one, point)
        (found,) = self._candidates(counted, [point], result)
        return found

    def missed(self, parameters):
        """What smooth rates miss of the decisions, by constraint."""
        return self.parts.reduce(missed, parameters)

    def corrected(self, start):
        """The best of smooth fits, each corrected by what the last one missed of the decisions."""
        task, best = self.task, None
        for _ in range(_MAX_CORRECTIONS):
            offsets = self.missed(start)
            constraint = task.constraint.map(_with_offset, offsets)
            found = self.solved(task.under(constraint), self._rehearsed(start))
            best = found if best is None else min(best, found, key=rank)
            # Searches lead decisions to their bounds, if there are any to flip. What misses nothing
            # of the metric, as mean losses do, would be fitted again as it is.
            misses = any(own.any() for own in offsets)
            counts_all = task.constraint.statistics <= {"decisions"}
            if found.keeps_bound or counts_all or not misses:
                break
            start = found.parameters
        return best

    def _rehearsed(self, start):
        """The same fit among few: everybody's is near."""
        few = self.few
        problem = few.under(few.constraint.correct(few.problem.model.at(start).scores))
        result = few.solve(problem, problem.initial_point(start), None)
        return result.x[: problem.n_parameters]

    def searched(self, start):
        """The best point along lines through a candidate, round after round."""
        best = start
        for _ in range(_MAX_ROUNDS):
            points = self._promising(best)
            if not points:
                break
            found = min(self.judged(points, best.result), key=rank)
            if not found.rank < best.rank:
                break
            gain = best.error - found.error
            is_slow = best.keeps_bound and gain < _LEAST_GAIN
            best = found
            if is_slow:
                break
        return best

    def _promising(self, start):
        """Points of lines through a candidate that are better than it by count, best first."""
        origin = canonical(start.parameters, _POINT_BITS)
        directions, typical = self._lines(origin)
        if not len(directions):
            return []
        errors, means, negative = self.parts.reduce(flips, origin, directions, typical)
        errors = np.round(np.cumsum(errors, axis=1), DIGITS)
        violations = np.zeros_like(errors)
        for one, own, low in zip(self.task.constraint, means, negative, strict=True):
            at = np.cumsum(own, axis=2).transpose(1, 0, 2) + low[:, np.newaxis, np.newaxis]
            violations = np.maximum(violations, one.aggregate(at) - one.tolerance)
        violations = np.where(violations > TIE, np.round(violations, DIGITS), 0.0)
        better = violations < start.violation
        better |= (violations == start.violation) & (errors < start.error)
        line, stop = np.nonzero(better)
        if not len(line):
            return []
        order = np.lexsort((np.abs(stop - N_TURNS // 2), errors[better], violations[better]))
        return [
            origin + _length(typical[line[k]], stop[k]) * directions[line[k]]
            for k in order[:_MAX_TRIES]
        ]

    def _lines(self, origin):
        """Directions, and how far off half of the stops on each shall lie."""
        start, directions, typical = self.few.judge(origin, None), [], []
        for direction, slopes in directions_of(self.few, start):
            lengths = np.abs(start.scores[slopes != 0.0] / slopes[slopes != 0.0])
            near = np.quantile(lengths, _NEAR) if len(lengths) else 0.0
            if near > 0.0:
                directions.append(direction)
                typical.append(np.exp2(np.rint(np.log2(near))))
        return np.array(directions), np.array(typical)


def _with_offset(constraint, offset):
    return replace(constraint, offset=offset)


def _decide_one(part, point):
    return decide(part, point[np.newaxis])


def _length(typical, stop):
    """A length of few digits at a stop of a line."""
    low, high = place_stops(typical, N_TURNS)
    return between(low[stop], high[stop])
