"""Decisions of models, counted: errors, gaps and reports by the public metrics.

Solvers see smooth rates; what a search compares is counted here. One class for samples in memory,
one for partitioned samples, whose counts are sums over blocks, and one for ranks of these.
"""

from functools import cached_property
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from skfair.constraints import move_offset, sum_moments
from skfair.enforcement._flips import (
    N_BINS,
    count_bins,
    count_line,
    count_unclear,
    excess_of,
    flip_effects,
    intervals_around_edges,
    round_midpoints,
)
from skfair.problems import PartitionedProblem, PartitionedRankProblem, predict_block
from skfair.solvers import Result

_NEAR = 0.02
"""Share of the decisions that flip where half of the bins of a line are."""


TIE = 1e-12
"""Differences of gaps and errors below it are rounding."""

DIGITS = 10
"""Decimals to which errors and gaps are compared: their sums are taken in any order."""


class Candidate(NamedTuple):
    """A model, evaluated by the public metrics on the training data.

    Attributes
    ----------
    parameters : ndarray of shape (n_parameters,)
        Parameters of the model.
    scores : ndarray of shape (n_samples,) or None
        Its scores; None if they are not in memory.
    error : float
        Weighted share of wrong decisions; nan for ranks of partitioned samples.
    gaps : ndarray of shape (n_constraints,)
        The gap of every constraint; nan where it is unknown.
    is_clear : bool
        Whether no decision that the constraint counts depends on rounding.
    decisions : ndarray of bool, shape (1,) or (2,)
        Whether scores are positive: the answers that occur.
    violation : float
        Largest excess of a gap over its tolerance; infinite if one is unknown.
    result : Result
        The solver's result before any search.
    """

    parameters: np.ndarray
    scores: np.ndarray | None
    error: float
    gaps: np.ndarray
    is_clear: bool
    decisions: np.ndarray
    violation: float
    result: Result

    @property
    def keeps_bound(self):
        """Whether the public metrics keep their bounds."""
        return self.violation == 0.0

    @property
    def is_solution(self):
        """Whether the model is the solver's own result, which no search has moved."""
        return np.array_equal(self.parameters, self.result.x[: len(self.parameters)])

    @property
    def is_plain(self):
        """Whether no constraint has moved the model: the solver's result, without multipliers."""
        return self.is_solution and not self.result.multipliers.any()

    @property
    def rank(self):
        """Key of comparisons: violation first, then clear decisions, then errors."""
        return (round(self.violation, DIGITS), not self.is_clear, round(self.error, DIGITS))


rank = attrgetter("rank")
"""Key by which candidates are compared."""


def make_counter(problem, rounding=TIE):
    """The counter of a problem's decisions."""
    if isinstance(problem, PartitionedRankProblem):
        return RankCounter(problem, rounding)
    if isinstance(problem, PartitionedProblem):
        return PartitionedCounter(problem, rounding)
    return Counter(problem, rounding)


class Counter:
    """Counts of decisions of samples in memory.

    Attributes
    ----------
    problem : ConstrainedProblem
        The problem, whose constraint has the public metrics.
    scored : ConstrainedProblem
        The samples whose scores are in memory: here all.
    """

    def __init__(self, problem, rounding=TIE):
        self.problem = self.scored = problem
        self.tolerances = problem.constraint.tolerances
        # Excess of each gap over its tolerance that is no violation.
        self.rounding = np.maximum(TIE, rounding)

    def evaluate(self, points, result):
        """The candidates with these parameters; the result is the solver's that led to them."""
        pairs = zip(points, self.count(points), strict=True)
        return [self._candidate(parameters, result, *count) for parameters, count in pairs]

    def _candidate(self, parameters, result, scores, error, gaps, is_clear, decisions):
        excess = np.where(np.isnan(gaps), np.inf, gaps - self.tolerances)
        violation = float(np.max(excess, where=excess > self.rounding, initial=0.0))
        return Candidate(
            parameters, scores, round(error, 12), gaps, is_clear, decisions, violation, result
        )

    def count(self, points):
        """What several models come to: scores, error, gaps, is_clear and decisions of each.

        These are attributes of `Candidate`.
        """
        problem = self.problem
        # Scores near 0 matter only to constraints that count decisions.
        counts_any = "decisions" in problem.constraint.statistics
        counts = []
        for parameters in points:
            scores = problem.predict_scores(parameters)
            positive = scores > 0
            error = float(problem.mean_weights @ (positive != (problem.target > 0)))
            is_clear = not (counts_any and count_unclear(scores))
            decisions = np.array([False, True])[[not positive.all(), bool(positive.any())]]
            gaps = problem.constraint.gaps(scores)
            counts.append((scores, error, gaps, is_clear, decisions))
        return counts

    def predict_scores(self, parameters):
        """Scores as predictions will have them; None if they are not in memory."""
        return self.problem.predict_scores(parameters)

    def correct(self, constraint, parameters, step_size=1.0):
        """A constraint with its smooth rates moved to those of the decisions of a model.

        ``step_size`` is the share of the way that offsets are moved.
        """
        return constraint.correct(self.problem.predict_scores(parameters), step_size)

    def count_flips(self, model, parameters, scores, lines, max_error=np.inf):
        """Errors and gaps along lines through a model, between any two flips of decisions.

        ``lines`` are pairs of a direction of the model's parameters and the slopes of the scores
        in memory along it. The result has, of each line, its direction, and, with one entry per
        point on it, the length of the way there, the weighted share of wrong decisions, and the
        largest excess of a gap over its tolerance. Lengths before the first and after the last
        error smaller than ``max_error`` may be left out.
        """
        counts = []
        for direction, slopes in lines:
            line = scores, slopes
            if hasattr(model, "orient_flips"):
                line = model.orient_flips(*line)
            counted = count_line(self.problem, self._flip_effects, *line, max_error)
            counts.append((direction, *counted))
        return counts

    @cached_property
    def _flip_effects(self):
        """What flips of decisions add to the sums of each constraint."""
        return list(map(flip_effects, self.problem.constraint))

    def describe(self, parameters):
        """Objective, number of rows, and report of the constraint, of a model."""
        problem = self.problem
        scores = problem.model.evaluate(parameters).scores
        # Rows on ranks depend on the scores at which they are linearised.
        constraint = problem.constraint.linearize_at(scores)
        objective = problem.evaluate(parameters).fun
        report = constraint.report(problem.predict_scores(parameters))
        return objective, len(constraint.rows.lower), report


class PartitionedCounter(Counter):
    """Counts of decisions of partitioned samples: each is one pass over the blocks.

    The samples in memory are those of the subsample.
    """

    def __init__(self, problem, rounding=TIE):
        super().__init__(problem, rounding)
        self.scored = problem.subsample
        self._sums = {}  # of every model that was counted: the result of a fit is one of them

    def count(self, points):
        """Counts of several models, from one pass.

        All count as clear: of very many samples some have a score near 0, and one sample counts
        for little.
        """
        # One pass for all models that were not counted before.
        new = [point for point in points if point.tobytes() not in self._sums]
        if new:
            reduce = self.problem.partitions.reduce
            errors, decided, objectives, moments = reduce(_count, np.array(new))
            for k, point in enumerate(new):
                of_point = tuple(tuple(values[k] for values in one) for one in moments)
                self._sums[point.tobytes()] = errors[k], decided[k], objectives[k], of_point
        counts = []
        for point in points:
            error, decided, _, moments = self._sums[point.tobytes()]
            pairs = zip(self.problem.constraint, moments, strict=True)
            gaps = [_gap_of_moments(one, of_one) for one, of_one in pairs]
            decisions = np.flatnonzero(decided) == 1
            counts.append((None, float(error), np.array(gaps), True, decisions))
        return counts

    def predict_scores(self, parameters):
        """None: scores are not brought into memory."""
        return None

    def correct(self, constraint, parameters, step_size=1.0):
        """A constraint with its smooth rates moved to those of a model's decisions."""
        residuals = self.problem.partitions.reduce(_residuals, parameters)
        pairs = zip(constraint, residuals, strict=True)
        return type(constraint)(move_offset(one, of_one, step_size) for one, of_one in pairs)

    def count_flips(self, model, parameters, scores, lines, max_error=np.inf):
        """Errors and gaps along lines, from one pass that counts bins.

        Bins are dense where decisions of the subsample flip, whose scores and slopes these are.
        """
        directions, typical = [], []
        for direction, slopes in lines:
            is_moving = slopes != 0.0
            lengths = np.abs(scores[is_moving] / slopes[is_moving])
            near = np.quantile(lengths, _NEAR) if len(lengths) else 0.0
            if near > 0.0:
                directions.append(direction)
                typical.append(np.exp2(np.rint(np.log2(near))))
        if not directions:
            return []
        arguments = parameters, np.array(directions), np.array(typical)
        errors, sums, negative = self.problem.partitions.reduce(count_bins, *arguments)
        # Increments become values: sums of negative decisions and what flips add.
        errors, excess = np.cumsum(errors, axis=1), np.zeros_like(errors)
        for one, increments, low in zip(self.problem.constraint, sums, negative, strict=True):
            values = np.cumsum(increments, axis=2).transpose(1, 0, 2) + low[:, None, None]
            excess = np.maximum(excess, excess_of(one, values))
        lengths = [round_midpoints(*intervals_around_edges(scale, N_BINS)) for scale in typical]
        return list(zip(directions, lengths, errors, excess, strict=True))

    def describe(self, parameters):
        """Objective, number of rows and report of a model, from one pass unless it was counted."""
        self.count([parameters])
        _, _, objective, moments = self._sums[parameters.tobytes()]
        return self._describe(parameters, objective, moments)

    def _describe(self, parameters, objective, moments):
        problem = self.problem
        penalty = float(problem.ridge @ parameters**2 / 2)
        report = problem.constraint.report(moments=moments)
        return float(objective) + penalty, len(problem.lower), report


class RankCounter(PartitionedCounter):
    """Gaps between ranks of partitioned samples, from the few samples near thresholds."""

    def count(self, points):
        """Counts of several models: their gaps alone; errors are nan."""
        no_decisions = np.empty(0, dtype=bool)
        return [(None, np.nan, self._gaps(point), True, no_decisions) for point in points]

    def _gaps(self, parameters):
        condensed = self.problem.condense_all(parameters)
        return np.array([constraint.gap(scores) for constraint, scores in condensed])

    def describe(self, parameters):
        """Objective, number of rows and report of a model."""
        condensed = self.problem.condense_all(parameters)
        thresholds = [
            one.criterion.thresholds(one.ranked, one.tolerance, scores) for one, scores in condensed
        ]
        gaps = [constraint.gap(scores) for constraint, scores in condensed]
        reduce = self.problem.partitions.reduce
        objective, moments = reduce(_count_above, parameters, thresholds)
        return self._describe(parameters, objective, zip(gaps, thresholds, moments, strict=True))


def _gap_of_moments(constraint, moments):
    """The gap, from the sums of a constraint's moments over partitions."""
    return constraint.gap_of(moments[0][: len(constraint.exact) * constraint.n_events])


def _count(block, points):
    """Share of a block in errors, decisions, objectives and moments of several models.

    Moments are those of the report: three arrays of each constraint, (n_points, n_rates).
    """
    # Each model is judged from its scores of this block, which are not stored.
    counts = [
        block.compiled and block.compiled.count(parameters) or _count_point(block, parameters)
        for parameters in points
    ]
    errors, decided, objectives, moments = zip(*counts, strict=True)
    # From one list per model to one array per constraint and moment.
    by_constraint = zip(*moments, strict=True)
    moments = tuple(tuple(map(np.array, zip(*one, strict=True))) for one in by_constraint)
    return np.array(errors), np.array(decided), np.array(objectives), moments


def _count_point(block, parameters):
    """Share of a block in errors, decisions, objective and moments of a model."""
    scores = block.predict_scores(parameters)
    is_positive = scores > 0
    n_positive = np.count_nonzero(is_positive)
    error = block.mean_weights.dot(is_positive != (block.target > 0))
    moments = [sum_moments(one, scores) for one in block.constraint]
    return error, (len(scores) - n_positive, n_positive), block.evaluate(parameters).fun, moments


def _residuals(block, parameters):
    """Share of a block in the differences between exact and smooth sums, by constraint."""
    residuals = block.compiled and block.compiled.residuals(parameters)
    if residuals is not None:
        return residuals
    scores = block.predict_scores(parameters)
    return tuple(one.residual(scores) for one in block.constraint)


def _count_above(block, parameters, thresholds):
    """Contribution of a block to the objective, and to the shares above thresholds."""
    pairs = zip(block.constraint, thresholds, strict=True)
    scores = predict_block(block, parameters)
    moments = tuple(one.partition_sums.moments(scores, of_one) for one, of_one in pairs)
    return float(block.mean_weights @ block.losses(scores).value), moments
