"""Searches along lines of models, by counting the decisions that flip on the way.

Lines are those of the last layer, whose scores are linear in its parameters. Of samples in memory
the counts are exact; partitioned ones are counted in bins, one pass for all lines.

A search decides by single samples: of two points it takes the better by one sample, and goes on
from there. Starting points, directions, lengths, errors and violations are rounded first, so that
all processors take the same one, in whatever order they add.
"""

import itertools
from dataclasses import replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from skfair.enforcement._counting import DIGITS, TIE, rank
from skfair.enforcement._fitter import canonical

_MAX_ROUNDS = 6
_MAX_DIRECTIONS = 3
_MAX_COEFFICIENTS = 4
_MAX_BREADTH = 3
_MAX_POINTS = 20
"""Points of a line that are tried."""

_MAX_PARTITIONED_POINTS = 2
"""Points of a round that are tried on partitioned samples, all in one pass."""

_SMALL = 1 << 14
"""Samples up to which single ones count for much: coefficients are searched one by one, and the
next round starts from several points."""

_MIN_GAIN, _MIN_PARTITIONED_GAIN = 2e-5, 1e-4
"""Share of the samples by which a round must lower the error for another one to follow. A round on
partitioned samples is two passes."""

_DIRECTION_BITS, _POINT_BITS = 16, 30
"""Binary digits of directions and of starting points: solvers agree on more."""


def sweep(fitter, candidate):
    """The best intercept for a candidate's coefficients."""
    intercept = fitter.problem.model.last_layer(candidate.parameters).intercept_direction()
    return candidate if intercept is None else search(fitter, candidate, intercept)


def search(fitter, candidate, direction):
    """The best point on the line through a candidate, by decisions; ties stay near it."""
    lines = _Lines(fitter, candidate)
    points = lines.better_points([(candidate, lines.scale([direction]))])
    return next(lines.improvements(points), candidate)


def polish(
    fitter,
    candidate,
    max_rounds=_MAX_ROUNDS,
    max_breadth=_MAX_BREADTH,
    max_coefficients=_MAX_COEFFICIENTS,
):
    """The best point of searches along several lines at a time, round after round.

    The lines are the intercept's, those along which the tightest rows of the constraint move most
    at the least loss, those of the largest coefficients, and the one that leads all rows which
    decisions violate back to their bounds.
    """
    is_partitioned = fitter.counter.scored is not fitter.problem
    min_gain = _MIN_PARTITIONED_GAIN if is_partitioned else _MIN_GAIN
    lines = _Lines(fitter, candidate, max_coefficients)
    breadth = min(max(1, 2 * _SMALL // lines.n_in_memory), max_breadth)
    best = fitter.evaluate(lines.join(canonical(lines.parameters, _POINT_BITS)), candidate.result)
    starts = [best]
    for _ in range(max_rounds):
        points = lines.better_points([(one, lines.through(one)) for one in starts])
        starts = sorted(itertools.islice(lines.improvements(points), breadth), key=rank)
        if not starts or not starts[0].rank < best.rank:
            break
        is_slow = best.keeps_bound and best.error - starts[0].error < min_gain
        best = starts[0]
        if is_slow:
            break
        if is_partitioned:  # directions come from the subsample, and cost no pass
            lines = _Lines(fitter, best, max_coefficients)
    return min(best, candidate, key=rank)


class _Lines:
    """Lines of the last layer of a model, all layers before it fixed, and points on them."""

    def __init__(self, fitter, candidate, max_coefficients=0):
        self.fitter, self.max_coefficients = fitter, max_coefficients
        model = fitter.problem.model.last_layer(candidate.parameters)
        is_all = model is fitter.problem.model
        self.problem = fitter.problem if is_all else replace(fitter.problem, model=model)
        self.before, self.parameters = np.split(candidate.parameters, [-model.n_parameters])
        self.scored = fitter.counter.scored
        self.model = model if self.scored is fitter.problem else self.scored.model
        self.n_in_memory = len(self.scored.target)
        self.directions = None

    def join(self, parameters):
        """Parameters of the whole model from those of the last layer."""
        return np.concatenate((self.before, parameters))

    def scale(self, directions):
        """Directions and slopes of scores along them, scaled to a steepest slope of about 1.

        Directions that move no score are left out.
        """
        model, lines = self.model, []
        if hasattr(model, "lines"):
            directions = itertools.chain.from_iterable(map(model.lines, directions))
        for direction in directions:
            direction = canonical(direction, _DIRECTION_BITS)
            slopes = model.scores(direction)
            steepest = max(slopes.max(), -slopes.min())
            if steepest > 0.0:
                unit = np.exp2(-np.rint(np.log2(steepest)))  # a power of 2 keeps all digits
                lines.append((direction * unit, slopes * unit))
        return lines

    def through(self, candidate):
        """Lines to search through a candidate: those found at the start, and one to the bounds."""
        if self.directions is None:
            self.directions = self._find_directions()
        lines, newton, effects = self.directions
        steps = _steps_to_bounds(self.scored.constraint, self._scores(candidate))
        if len(steps) < 2 or not steps.any():
            return lines
        back = newton @ np.linalg.lstsq(effects, steps, rcond=1e-8)[0]
        return [*lines, *self.scale([back])]

    def _find_directions(self):
        """Lines, Newton's direction of each row, and what each row gains by each direction."""
        problem = self.problem.subsample
        evaluation = problem.evaluate(problem.initial_point(self.parameters))
        newton, effects = _newton_directions(evaluation)
        # The tightest rows of the constraint, and the intercept.
        slack = np.minimum(problem.upper - evaluation.values, evaluation.values - problem.lower)
        tightest = np.argsort(np.round(slack, 6), kind="stable")[:_MAX_DIRECTIONS]
        intercept = self.problem.model.intercept_direction()
        directions = [*newton.T[tightest], *([] if intercept is None else [intercept])]
        if self.n_in_memory <= _SMALL:
            # The largest coefficients, one by one.
            coef = self.parameters if intercept is None else np.where(intercept, 0, self.parameters)
            largest = np.argsort(-np.abs(canonical(coef, _DIRECTION_BITS)), kind="stable")
            n_coefficients = min(self.max_coefficients, len(coef) - (intercept is not None))
            directions += [*np.eye(len(coef))[largest[:n_coefficients]]]
        return self.scale(directions), newton, effects

    def _scores(self, candidate):
        """Scores in memory of a candidate: of all samples, or of the subsample."""
        if candidate.scores is not None:
            return candidate.scores
        return self.scored.predict_scores(candidate.parameters)

    def better_points(self, starts):
        """Points that are better than their start by count, best first, before they are evaluated.

        Each is its start, the number of its line, and the line's direction and the length along it.

        `starts` are pairs of a candidate and lines through it. Ties go to the first line, and on a
        line to the point nearest to its start.
        """
        points, n_lines = [], 0
        for start, lines in starts:
            violation, is_unclear, error = start.rank
            parameters = start.parameters[len(self.before) :]
            # Only fewer errors are better than a start within all bounds.
            max_error = error if violation == 0.0 and not is_unclear else np.inf
            counts = self.fitter.counter.count_flips(
                self.model, parameters, self._scores(start), lines, max_error
            )
            for number, (direction, lengths, errors, excess) in enumerate(counts, start=n_lines):
                errors = np.round(errors, DIGITS)
                violations = np.round(np.where(excess > TIE, excess, 0.0), DIGITS)
                better = violations < violation
                better |= (violations == violation) & (is_unclear | (errors < error))
                better = np.flatnonzero(better)
                distances = np.abs(lengths[better])
                order = np.lexsort((distances, errors[better], violations[better]))[:_MAX_POINTS]
                columns = violations[better], errors[better], distances, lengths[better]
                for *rank_of_point, distance, length in np.transpose(columns)[order].tolist():
                    points.append(((*rank_of_point, number, distance), start, direction, length))
            n_lines += len(counts)
        points.sort(key=lambda point: point[0])
        return [(start, key[2], direction, length) for key, start, direction, length in points]

    def improvements(self, points):
        """Yield the first point of each line that is better than its start."""
        n_at_once = 1
        if self.scored is not self.fitter.problem:
            n_at_once = _MAX_PARTITIONED_POINTS
            points = points[:n_at_once]
        lines = set()
        for first in range(0, len(points), n_at_once):
            batch = [point for point in points[first : first + n_at_once] if point[1] not in lines]
            if not batch:
                continue
            n_before = len(self.before)
            parameters = [
                self.join(start.parameters[n_before:] + length * direction)
                for start, _, direction, length in batch
            ]
            candidates = self.fitter.counter.evaluate(parameters, batch[0][0].result)
            evaluated = zip(batch, candidates, strict=True)
            for (start, line, *_), candidate in sorted(evaluated, key=lambda pair: pair[1].rank):
                if line not in lines and candidate.is_clear and candidate.rank < start.rank:
                    lines.add(line)
                    yield candidate


def _newton_directions(evaluation):
    """Newton's direction ``H^-1 J'`` of each row, and what each row gains by each."""
    problem = evaluation.problem
    jacobian = evaluation.jacobian[:, : problem.n_parameters]
    hessian = evaluation.point.gram(evaluation.loss_curvature) + np.diag(problem.ridge)
    # Where all scores are far from 0, as those of separable classes, no curvature is left.
    hessian += 1e-10 * max(hessian.diagonal().max(), 1e-200) * np.eye(len(hessian))
    newton = cho_solve(cho_factor(hessian), jacobian.T)
    return newton, jacobian @ newton


def _steps_to_bounds(constraint, scores):
    """Change that leads each row, counted by decisions, to its bounds, (n_rows,); 0 within them."""
    values = np.concatenate([one.rows_at(one.exact_sums(scores))[0] for one in constraint])
    return np.clip(values, constraint.rows.lower, constraint.rows.upper) - values
