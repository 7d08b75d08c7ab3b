"""Exact searches along lines of models, by counting the decisions that flip on the way.

Lines are those of the last layer, whose scores are linear in its parameters; of a linear model that
is all there is.

A search jumps: of two points it takes the better by a single person, and goes on from there. So
that all processors take the same one, whatever the order in which they add, numbers that decide are
rounded first: starting points, directions and lengths, errors and violations.
"""

import itertools
from dataclasses import replace
from functools import cached_property

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from skfair.enforcement._stops import MARGIN, between, exact_stops, spread_stops
from skfair.enforcement._task import DIGITS, TIE, canonical, rank

_MAX_ROUNDS = 6
_MAX_DIRECTIONS = 3
_MAX_COEFFICIENTS = 4
_MAX_TRIES = 20
_MAX_ENTRIES = 1 << 18
"""Numbers that one search may hold: means of events at every stop."""

_FEW = 1 << 14
"""People up to whom single ones count for much: coefficients are searched one by one, and several
points of a round are gone on from."""

_MAX_BREADTH = 3

_LEAST_GAIN = 2e-5
"""Share of the people by which a round must lower the error for another one to follow."""

_DIRECTION_BITS, _POINT_BITS = 16, 30
"""Binary digits of directions and of starting points: solvers agree on more."""


def sweep(task, candidate):
    """The best intercept for a candidate's coefficients."""
    layer = _Layer(task, candidate)
    intercept = layer.model.intercept_direction()
    return candidate if intercept is None else search(task, candidate, intercept)


def search(task, candidate, direction):
    """The best point on the line through a candidate, by decisions; ties stay near it."""
    layer = _Layer(task, candidate)
    lines = [(candidate, line) for line in layer.lines([direction])]
    return next(layer.found(lines), candidate)


def polish(task, candidate, max_rounds=_MAX_ROUNDS, max_breadth=_MAX_BREADTH):
    """Exact searches along several lines at a time; the best points are where the next ones start.

    The lines are the intercept's, those along which the tightest rows of the constraint move most
    at the least loss, those of the largest coefficients, and the one that leads all rows whose
    decisions miss their bounds back to them. Many people are searched for less: single ones count
    for little.
    """
    layer = _Layer(task, candidate)
    fixed, way_back = layer.promising_lines()
    breadth = min(max(1, 2 * _FEW // len(task.problem.target)), max_breadth)
    best = task.judge(layer.joined(canonical(layer.own, _POINT_BITS)), candidate.result)
    kept = [best]
    for _ in range(max_rounds):
        lines = [(one, line) for one in kept for line in [*fixed, *way_back(one)]]
        kept = _first(layer.found(lines), breadth)
        if not kept or not kept[0].rank < best.rank:
            break
        is_slow = best.keeps_bound and best.error - kept[0].error < _LEAST_GAIN
        best = kept[0]
        if is_slow:
            break
    return min(best, candidate, key=rank)


def _first(found, n_most):
    """The first few candidates, in the order of their ranks."""
    return sorted(itertools.islice(found, n_most), key=rank)


def directions_of(task, candidate):
    """Directions in which decisions of a linear model may gain, each with the slopes of scores."""
    lines, way_back = _Layer(task, candidate).promising_lines()
    return [*lines, *way_back(candidate)]


class _Layer:
    """The last layer of a task's model at a candidate, all before it held fixed."""

    def __init__(self, task, candidate):
        self.task = task
        self.model = task.problem.model.last_layer(candidate.parameters)
        self.before, self.own = np.split(candidate.parameters, [-self.model.n_parameters])

    def joined(self, own):
        """Parameters of the whole model."""
        return np.concatenate((self.before, own))

    @property
    def is_small(self):
        """Whether single people count for much."""
        return len(self.task.problem.target) <= _FEW

    @cached_property
    def n_events(self):
        return sum(one.events.n_events for one in self.task.constraint)

    @cached_property
    def _effects(self):
        """What a positive decision adds to the error, by sample."""
        return -self.task.problem.share * self.task.problem.target

    def _errors(self, stops):
        """Weighted share of wrong decisions at every stop."""
        problem, n_turns = self.task.problem, len(stops.low) - 1
        none_positive = problem.share @ (problem.target > 0)
        first = none_positive + self._effects @ (stops.decisions > 0)
        steps = np.bincount(stops.turns, -stops.decisions * self._effects, n_turns + 1)
        return np.cumsum(np.concatenate(([first], steps[:n_turns])))

    def lines(self, directions):
        """Directions, each with the slope of every score along it; not those that move no score.

        The steepest slope of a line is about 1.
        """
        found = []
        for direction in itertools.chain.from_iterable(map(self.model.lines, directions)):
            direction = canonical(direction, _DIRECTION_BITS)
            slopes = self.model.scores(direction)
            steepest = max(slopes.max(), -slopes.min())
            if steepest > 0.0:
                unit = np.exp2(-np.rint(np.log2(steepest)))  # which takes no digits
                found.append((direction * unit, slopes * unit))
        return found

    def promising_lines(self):
        """Lines to search, and a function of a candidate that gives the line back to the bounds."""
        # Which way to search can be told by some of very many people.
        problem = self.task.among_few(replace(self.task.problem, model=self.model))
        evaluation = problem.evaluate(problem.initial_point(self.own))
        newton, effects = _newton_directions(evaluation)
        slack = np.minimum(problem.upper - evaluation.values, evaluation.values - problem.lower)
        tightest = np.argsort(np.round(slack, 6), kind="stable")[:_MAX_DIRECTIONS]
        intercept = self.model.intercept_direction()
        directions = [*newton.T[tightest], *([] if intercept is None else [intercept])]
        if self.is_small:
            coefficients = self.own if intercept is None else np.where(intercept, 0.0, self.own)
            largest = np.argsort(-np.abs(canonical(coefficients, _DIRECTION_BITS)), kind="stable")
            n_coefficients = len(coefficients) - (intercept is not None)
            directions += [
                *np.eye(len(self.own))[largest[: min(_MAX_COEFFICIENTS, n_coefficients)]]
            ]

        def way_back(candidate):
            missed = _missed(self.task.constraint, candidate.scores)
            if len(missed) < 2 or not missed.any():
                return []
            return self.lines([newton @ np.linalg.lstsq(effects, missed, rcond=1e-8)[0]])

        return self.lines(directions), way_back

    def found(self, lines):
        """Yield the best candidate of each line that has one better than its start; best first.

        Parameters
        ----------
        lines : list of (Candidate, (ndarray, ndarray))
            Starts and lines through them.
        """
        points = []
        for number, (start, line) in enumerate(lines):
            points += [(*key, number, own) for *key, own in self._points(start, line)]
        taken = set()
        # Ties go to the first line, and on a line to the point nearest to its start.
        for *_, number, own in sorted(points, key=lambda point: (*point[:2], point[3], point[2])):
            start, _ = lines[number]
            if number in taken:
                continue
            candidate = self.task.judge(self.joined(own), start.result)
            if candidate.is_clear and candidate.rank < start.rank:
                taken.add(number)
                yield candidate

    def _points(self, start, line):
        """The best points of a line that are better than its start, by decisions.

        Along the line every sample's decision flips once, at ``-score / slope``, so errors and gaps
        of all points follow from sorting these lengths once, or from counting them between stops.

        Returns
        -------
        points : list of (violation, error, distance, own)
            As the flips on the way there foretell them, and the parameters of the layer.
        """
        direction, slopes = line
        scores, slopes = self.model.orient_flips(start.scores, slopes)
        n_most = max(1000, _MAX_ENTRIES // self.n_events)
        if len(slopes) <= n_most:
            stops = exact_stops(scores, slopes)
        else:
            stops = spread_stops(scores, slopes, n_most)
        errors = self._errors(stops)
        violation, hangs_on_rounding, error = start.rank
        if violation == 0.0 and not hangs_on_rounding:
            # Only what errs less is better, and lies on a short piece of most lines.
            promising = np.flatnonzero(errors < error)
            if not len(promising):
                return []
            first, last = map(int, promising[[0, -1]])
            stops, errors = stops.within(first, last), errors[first : last + 1]
        # Equal numbers of people must be equal here, whatever the order in which they were added.
        errors = np.round(errors, DIGITS)
        violations = np.round(_violations(self.task.constraint, stops), DIGITS)
        better = violations < violation
        better |= (violations == violation) & (hangs_on_rounding | (errors < error))
        better = np.flatnonzero(better & (stops.high - stops.low > MARGIN))
        errors, violations = errors[better], violations[better]
        lengths = between(stops.low[better], stops.high[better])
        ranking = np.lexsort((np.abs(lengths), errors, violations))[:_MAX_TRIES]
        own = start.parameters[len(self.before) :]
        return [
            (violations[t], errors[t], abs(lengths[t]), own + lengths[t] * direction)
            for t in ranking
        ]


def _newton_directions(evaluation):
    """Newton's direction ``H^-1 J'`` of each row, and what each row gains by each."""
    problem = evaluation.problem
    jacobian = evaluation.jacobian[:, : problem.n_parameters]
    hessian = evaluation.point.gram(evaluation.loss_curvature) + np.diag(problem.ridge)
    # Where all scores are far from 0, as those of separable people, no curvature is left.
    hessian += 1e-10 * max(hessian.diagonal().max(), 1e-200) * np.eye(len(hessian))
    newton = cho_solve(cho_factor(hessian), jacobian.T)
    return newton, jacobian @ newton


def _missed(constraint, scores):
    """What each row, counted by decisions, lacks to its bounds, (n_rows,); 0 within them."""
    values = np.concatenate([one.rows.exact_at(scores)[0] for one in constraint])
    return np.clip(values, constraint.rows.lower, constraint.rows.upper) - values


def _violations(constraint, stops):
    """Largest excess of a gap at every stop; 0 where all tolerances are kept."""
    n_turns = len(stops.low) - 1
    excess = [
        one.aggregate(one.means.along_flips(stops.decisions, stops.turns, n_turns)) - one.tolerance
        for one in constraint
    ]
    worst = np.max(excess, axis=0)
    return np.where(worst > TIE, worst, 0.0)
