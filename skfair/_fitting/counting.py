"""Decisions of models, counted: errors, gaps and reports by the public metrics.

Solvers see smooth rates; what a search compares is counted here. One class for samples in memory,
one for partitioned samples, whose counts are sums over blocks, and one for ranks of these.
"""

from __future__ import annotations

from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from skfair._bound.bound import decision_outcomes, rate_moments
from skfair._bound.ranks import report_thresholds, share_moments
from skfair._fitting.lines import bin_line_flips, choose_n_bins, find_line_points
from skfair._kernels import COUNT, ERROR, MEANS, MIN_ERROR, TOTAL_CHANGE
from skfair._problems.evaluation import evaluate_losses
from skfair._problems.partitioned import PartitionedProblem, PartitionedRankProblem, predict_block
from skfair._problems.problem import ConstrainedProblem, Problem
from skfair.solvers._solver import Result

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skfair._bound.bound import BoundConstraint, ConstraintSystem
    from skfair._groups.events import Events
    from skfair._problems.linear import LinearModel


# Errors and gaps along a line of models, from the decisions that flip on the way.
#
# Along a line every score is linear in the length, so its sign changes once at most. Between two
# flips nothing changes: a model is placed in such an interval. A few samples are sorted by the
# lengths of their flips; many are counted in bins.


N_BINS = 1024
"""Bins of a line of partitioned samples."""

MAX_ENTRIES = 1 << 18
"""Numbers that the counts of one line may hold: means of events in every interval."""

SIGN_TOLERANCE = 1e-9
"""Scores nearer to 0 than this, relative to the largest, might change sign if terms were added in
another order. Intervals between flips must be wider."""


def excess_of(bound: BoundConstraint, sums: np.ndarray) -> np.ndarray | float:
    """Excess of the gap over the tolerance, of sums (n_sums, ...); infinite where it is unknown."""
    excess = bound.gap(bound.sums.rates(sums)) - bound.tolerance
    return np.nan_to_num(excess, nan=np.inf) if bound.sums.is_quotient else excess


def tabulate_flips(problem: Problem) -> tuple:
    """Effects of positive decisions, as the kernels of lines take them.

    The terms of all constraints follow each other, each as often as samples may be in one of its
    events. The cells of a term are its events, and one more for samples in none of them.
    """
    on_means = []
    cells = []
    negative = [np.empty(0)]
    for sums in (one.sums for one in problem.constraint):
        for low, change in decision_outcomes(sums):
            first = sum(map(len, negative))
            members = sums.events.codes_and_mean_weights
            for codes, weights in disjoint_layers(sums.events) if members is None else [members]:
                cells.append(codes + first)
                on_means.append(weights * change)
            negative.append(np.append(sums.events.means(low), 0.0))
    shape = len(cells), len(problem.target)
    return (
        -problem.mean_weights * problem.target,
        np.reshape(on_means, shape),
        np.array(cells, dtype=np.intp).reshape(shape),
        float(problem.mean_weights @ (problem.target > 0)),
        np.concatenate(negative),
    )


def disjoint_layers(events: Events) -> list[tuple[np.ndarray, np.ndarray]]:
    """As `Events.codes_and_mean_weights`, one pair for each membership that a sample may have."""
    averaging = sparse.csc_array(events.averaging_matrix)
    starts = averaging.indptr[:-1]
    sizes = np.diff(averaging.indptr)
    layers = []
    for number in range(sizes.max(initial=0)):
        inside = np.flatnonzero(sizes > number)
        entries = starts[inside] + number
        codes = np.full(events.n_samples, events.n_events)
        weights = np.zeros(events.n_samples)
        codes[inside] = averaging.indices[entries]
        weights[inside] = averaging.data[entries]
        layers.append((codes, weights))
    return layers


def evaluate_lines(problem: Problem, effects: tuple, starts: list[LineStart]) -> tuple:
    """Points on lines of several starts: line, length, error and excess of each, (n_points,).

    ``effects`` are those of `tabulate_flips`, and ``starts`` as in
    `DecisionCounter.evaluate_along_lines`. Points that are worse than others of their line are left
    out, but for a few.
    """
    # Directions that several starts share are stored once.
    rows: dict = {}
    lines = np.array(
        [
            (k, rows.setdefault(id(slopes), (len(rows), slopes))[0])
            for k, line_start in enumerate(starts)
            for _, slopes in line_start.lines
        ],
        dtype=np.intp,
    ).reshape(-1, 2)
    if not len(lines):
        return np.empty(0, dtype=np.intp), *np.empty((3, 0))
    scores = np.array([one.scores for one in starts])
    slopes = np.array([one for _, one in rows.values()])
    limits = np.array([one.max_error for one in starts])[lines[:, 0]]
    # Bins are dense where most of the decisions flip. The factor of their scale is no simple one:
    # flips that many samples share are not at the ends of bins.
    subsample = slice(None, None, max(1, len(problem.target) // 1001))
    sizes, steps = (np.abs(values[:, subsample]).sum(axis=1) for values in (scores, slopes))
    scales = 1.1180339887 * sizes[lines[:, 0]] / np.maximum(steps[lines[:, 1]], 1e-300)
    scales = np.where(scales > 0.0, scales, 1.0)
    n_bins = choose_n_bins(len(problem.target), len(effects[-1]), MAX_ENTRIES)
    bins, tables = bin_line_flips(scores, slopes, lines, scales, SIGN_TOLERANCE, effects, n_bins)
    is_useful = (tables[:, :-2, MIN_ERROR] < limits[:, np.newaxis]) & (tables[:, :-2, COUNT] > 0)
    line, b = np.nonzero(is_useful)
    edges = tables[line, b]  # error and means at the ends of bins
    excess = _excess_of_means(problem, edges[:, MEANS:])
    # Of points within all bounds, those of an end of a bin are as good or better.
    is_better = (excess <= 0.0) & (edges[:, ERROR] < limits[line])
    max_errors = _max_useful_values(limits, line[is_better], edges[is_better, ERROR])
    is_useful[line, b] = edges[:, MIN_ERROR] < max_errors[line]
    # Of others, too. In a bin gaps change at most by all changes of means, if these are the rates.
    if not any(one.gap.is_ratio or one.sums.is_quotient for one in problem.constraint):
        limits = np.where(np.isfinite(limits), 0.0, np.inf)  # a start within all bounds
        max_excess = _max_useful_values(limits, line, np.maximum(excess, 0.0))
        is_useful[line, b] &= excess - edges[:, TOTAL_CHANGE] <= max_excess[line]
    line, low, high, errors, means = find_line_points(
        scores, slopes, lines, is_useful, max_errors, SIGN_TOLERANCE, effects, bins, tables
    )
    return line, round_midpoints(low, high), errors, _excess_of_means(problem, means)


def _max_useful_values(limits: np.ndarray, line: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Largest value of a useful point on each line, of the values at ends of bins.

    It is at most the limit of the line, and that of its best end, but for rounding.
    """
    best = np.full(len(limits), np.inf)
    np.minimum.at(best, line, values + 1e-10)
    return np.minimum(limits + 1e-10, best)


def _excess_of_means(problem: Problem, means: np.ndarray) -> np.ndarray:
    """The largest excess of a gap over its tolerance, of means in cells (n_points, n_cells)."""
    by_constraint = zip(problem.constraint, _split_cells(problem, means.T), strict=True)
    excess = [np.asarray(excess_of(one, sums)) for one, sums in by_constraint]
    return excess[0] if len(excess) == 1 else np.max(excess, axis=0)


def _split_cells(problem: Problem, values: np.ndarray) -> list[np.ndarray]:
    """Values of the sums of each constraint, (n_sums, ...), from those of all cells."""
    by_constraint = []
    first = 0
    for sums in (one.sums for one in problem.constraint):
        n_events = sums.events.n_events
        of_terms = []
        for _ in sums.exact:
            of_terms.append(values[first : first + n_events])
            first += n_events + 1
        by_constraint.append(of_terms[0] if len(of_terms) == 1 else np.concatenate(of_terms))
    return by_constraint


def intervals_around_edges(typical: float, n_bins: int) -> tuple[np.ndarray, np.ndarray]:
    """Low and high ends of a narrow interval around each end of the bins, two (n_bins + 1,)."""
    position = np.linspace(-1.0, 1.0, n_bins + 1)
    position[[0, -1]] = (position[[0, -1]] + position[[1, -2]]) / 2  # short of infinity
    lengths = typical * position / (1.0 - np.abs(position))
    width = 1e-3 * np.diff(lengths).min()
    return lengths - width, lengths + width


def round_midpoints(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """A number of few digits near the middle of each interval."""
    grid = np.exp2(np.floor(np.log2((high - low) / 4.0)))
    return np.rint((low + high) / 2.0 / grid) * grid


def count_along_lines(
    block: ConstrainedProblem, start: np.ndarray, directions: np.ndarray, typical: np.ndarray
) -> tuple:
    """Share of a block in the errors and means at the ends of the bins of several lines.

    Returns errors (n_lines, n_bins + 1) and, of each constraint, sums (n_lines, n_sums, n_bins +
    1): first values and increments, without the sums of negative decisions, which come last,
    (n_sums,).
    """
    compiled = block.compiled
    if compiled is not None:
        sums = compiled.sum_along_lines(start, directions, SIGN_TOLERANCE, typical, N_BINS)
        if sums is not None:
            return sums
    scores = block.model.evaluate(start).scores
    effects = tabulate_flips(block)
    lines = zip(directions, typical, strict=True)
    counts = [_count_bins(block, effects, scores, *line) for line in lines]
    errors, sums = zip(*counts, strict=True)
    negative = tuple(_split_cells(block, effects[-1]))
    return np.array(errors), tuple(map(np.array, zip(*sums, strict=True))), negative


def _count_bins(
    block: ConstrainedProblem,
    effects: tuple,
    scores: np.ndarray,
    direction: np.ndarray,
    typical: float,
) -> tuple:
    """Errors and sums of decisions by bins of the length at which they flip along a direction.

    Returns changes of the error, (1, N_BINS + 1), and of the sums, (n_cells, N_BINS + 1).
    """
    from skfair._kernels.scores import add_flips, bin_flips

    bins, decisions = bin_flips(
        scores, block.model.scores(direction), SIGN_TOLERANCE, typical, N_BINS
    )
    on_error, on_means, cells, first_error, negative = effects
    positions = np.arange(len(scores))
    errors = np.zeros((1, N_BINS + 1))
    sums = np.zeros((len(negative), N_BINS + 1))
    add_flips(positions, np.zeros_like(positions), on_error, decisions, bins, errors)
    for of_cells, added in zip(cells, on_means, strict=True):
        add_flips(positions, of_cells, added, decisions, bins, sums)
    errors[0, 0] += first_error
    return errors[0], tuple(_split_cells(block, sums))


# Candidates, and what counts their decisions.


TIE_TOLERANCE = 1e-12
"""Differences of gaps and errors below it are rounding."""

DECIMALS = 10
"""Decimals to which errors and gaps are compared: their sums are taken in any order."""


class LineStart(NamedTuple):
    """A point from which models are searched along lines.

    Attributes
    ----------
    parameters : ndarray of shape (n_parameters,)
        Parameters of the model there.
    scores : ndarray of shape (n_samples,)
        Its scores in memory.
    lines : list of (ndarray of shape (n_parameters,), ndarray of shape (n_samples,))
        Directions of the parameters, and the slopes of the scores along them.
    max_error : float
        Error from which on points are not better than the start; infinite if any may be.
    """

    parameters: np.ndarray
    scores: np.ndarray
    lines: list
    max_error: float


class Candidate(NamedTuple):
    """A model, evaluated by the public metrics on the training data.

    Attributes
    ----------
    parameters : ndarray of shape (n_parameters,)
        Parameters of the model.
    scores : ndarray of shape (n_samples,)
        Its scores; empty if they are not in memory.
    error : float
        Weighted share of wrong decisions; nan for ranks of partitioned samples.
    gaps : ndarray of shape (n_constraints,)
        The gap of every constraint; nan where it is unknown.
    has_stable_decisions : bool
        Whether no decision that the constraint counts depends on rounding.
    occurring_decisions : ndarray of bool, shape (1,) or (2,)
        Whether scores are positive: the answers that occur.
    violation : float
        Largest excess of a gap over its tolerance; infinite if one is unknown.
    result : Result
        The solver's result before any search.
    is_local : bool, default=False
        Whether other starts of the solver have ended at other objectives.
    objective_bound : float, default=-inf
        A number that no objective of a model that keeps the bound is below.
    """

    parameters: np.ndarray
    scores: np.ndarray
    error: float
    gaps: np.ndarray
    has_stable_decisions: bool
    occurring_decisions: np.ndarray
    violation: float
    result: Result
    is_local: bool = False
    objective_bound: float = -np.inf

    @property
    def keeps_bound(self) -> bool:
        """Whether the public metrics keep their bounds."""
        return self.violation == 0.0

    @property
    def rounded_violation(self) -> float:
        """Violation without the last digits, which must not decide between two candidates."""
        return round(self.violation, DECIMALS)

    @property
    def is_solver_result(self) -> bool:
        """Whether the model is the solver's own result, which no search has moved."""
        return np.array_equal(self.parameters, self.result.x[: len(self.parameters)])

    @property
    def is_unconstrained(self) -> bool:
        """Whether no constraint has moved the model: the solver's result, without multipliers."""
        return self.is_solver_result and not self.result.multipliers.any()

    @property
    def sort_key(self) -> tuple[float, bool, float]:
        """Key of comparisons: violation first, then clear decisions, then errors."""
        return (
            self.rounded_violation,
            not self.has_stable_decisions,
            round(self.error, DECIMALS),
        )


sort_key = attrgetter("sort_key")
"""Key by which candidates are compared."""


class DecisionCounter:
    """Counts of decisions of samples in memory.

    Attributes
    ----------
    problem : ConstrainedProblem
        The problem, whose constraint has the public metrics.
    scored : ConstrainedProblem
        The samples whose scores are in memory: here all.
    """

    def __init__(self, problem: Problem, rounding: np.ndarray | float = TIE_TOLERANCE) -> None:
        self.problem = self.scored = problem
        self.tolerances = problem.constraint.tolerances
        # Excess of each gap over its tolerance that is no violation.
        self.rounding = np.maximum(TIE_TOLERANCE, rounding)

    def evaluate(self, points: list[np.ndarray], result: Result) -> list[Candidate]:
        """The candidates with these parameters; the result is the solver's that led to them."""
        candidates = []
        for parameters, count in zip(points, self.measure_models(points), strict=True):
            scores, error, gaps, is_clear, decisions = count
            excess = np.where(np.isnan(gaps), np.inf, gaps - self.tolerances)
            violation = float(np.max(excess, where=excess > self.rounding, initial=0.0))
            candidate = Candidate(
                parameters=parameters,
                scores=scores,
                error=round(error, 12),
                gaps=gaps,
                has_stable_decisions=is_clear,
                occurring_decisions=decisions,
                violation=violation,
                result=result,
            )
            candidates.append(candidate)
        return candidates

    def measure_models(self, points: np.ndarray | list[np.ndarray]) -> list[tuple]:
        """Scores, error, gaps, whether decisions are stable, and which occur, of several models.

        These are attributes of `Candidate`.
        """
        problem = self.problem
        # Scores near 0 might change sign; that matters only to constraints that count decisions.
        counts_any = "decisions" in problem.constraint.metric_inputs
        counts = []
        for parameters in points:
            scores = problem.predict_scores(parameters)
            positive = scores > 0
            error = float(problem.mean_weights @ (positive != (problem.target > 0)))
            is_clear = not (counts_any and _may_change_sign(scores))
            decisions = np.array([False, True])[[not positive.all(), bool(positive.any())]]
            gaps = problem.constraint.gaps(scores)
            counts.append((scores, error, gaps, is_clear, decisions))
        return counts

    def predict_scores(self, parameters: np.ndarray) -> np.ndarray:
        """Scores as predictions will have them; none if they are not in memory."""
        return self.problem.predict_scores(parameters)

    def correct(
        self, system: ConstraintSystem, parameters: np.ndarray, step_size: float = 1.0
    ) -> ConstraintSystem:
        """A constraint with its smooth rates moved to those of the decisions of a model.

        ``step_size`` is the share of the way that offsets are moved.
        """
        return system.correct(self.problem.predict_scores(parameters), step_size)

    def evaluate_along_lines(self, model: Any, starts: list[LineStart]) -> tuple:
        """Errors and gaps along lines through models, between any two flips of decisions.

        ``starts`` are `LineStart`. The result has, with one entry per point, the number of its
        line, the length of the way there, the weighted share of wrong decisions, and the largest
        excess of a gap over its tolerance: four (n_points,). Lines are numbered from the first of
        the first start. Points may be left out whose error is not below the start's `max_error`, or
        that are worse than others of their line.
        """
        orient = getattr(model, "orient_flips", None)
        if orient is not None:
            starts = [
                LineStart(
                    line_start.parameters, scores, [(direction, oriented)], line_start.max_error
                )
                for line_start in starts
                for direction, slopes in line_start.lines
                for scores, oriented in [orient(line_start.scores, slopes)]
            ]
        return evaluate_lines(self.problem, self._flip_table, starts)

    @cached_property
    def _flip_table(self) -> tuple:
        """What kernels take of flips."""
        return tabulate_flips(self.problem)

    def summarize_model(self, parameters: np.ndarray) -> tuple:
        """Objective, number of rows, and columns of the constraint's report, of a model."""
        problem = self.problem
        system = self.problem.constraint
        if "ranks" in system.metric_inputs:  # rows depend on scores where they are linearised
            system = system.linearize_at(problem.model.evaluate(parameters).scores)
        objective = problem.evaluate(parameters).fun
        report = system.report_columns(problem.predict_scores(parameters))
        return objective, len(system.rows.lower), report


def _may_change_sign(scores: np.ndarray) -> bool:
    """Whether a score is so near 0 that its sign depends on the order of sums."""
    sizes = np.abs(scores)
    is_near = (sizes > 0) & (sizes <= SIGN_TOLERANCE * (1.0 + sizes.max(initial=0.0)))
    return bool(is_near.any())


_NO_SCORES = np.empty(0)
"""Of samples in partitions."""


class PartitionedCounter(DecisionCounter):
    """Counts of decisions of partitioned samples: each is one pass over the blocks.

    The samples in memory are those of the subsample.
    """

    def __init__(self, problem: Problem, rounding: np.ndarray | float = TIE_TOLERANCE) -> None:
        super().__init__(problem, rounding)
        self.scored = problem.subsample
        self._sums: dict[
            bytes, tuple
        ] = {}  # of every model that was counted: the result of a fit is one of them

    def measure_models(self, points: np.ndarray | list[np.ndarray]) -> list[tuple]:
        """Counts of several models, from one pass.

        All count as clear: of very many samples some have a score near 0, and one sample counts
        for little.
        """
        # One pass for all models that were not counted before.
        new = [point for point in points if point.tobytes() not in self._sums]
        if new:
            reduce = self.problem.partitions.reduce
            sums = reduce(_measure_models, np.array(new))
            self._sums |= {point.tobytes(): of_one for point, of_one in zip(new, sums, strict=True)}
        counts = []
        for point in points:
            error, decided, _, moments = self._sums[point.tobytes()]
            pairs = zip(self.problem.constraint, moments, strict=True)
            gaps = [_gap_of_moments(one, of_one) for one, of_one in pairs]
            decisions = np.flatnonzero(decided) == 1
            counts.append((_NO_SCORES, float(error), np.array(gaps), True, decisions))
        return counts

    def predict_scores(self, parameters: np.ndarray) -> np.ndarray:
        """No scores: they are not brought into memory."""
        return _NO_SCORES

    def correct(
        self, system: ConstraintSystem, parameters: np.ndarray, step_size: float = 1.0
    ) -> ConstraintSystem:
        """A constraint with its smooth rates moved to those of a model's decisions."""
        residuals = self.problem.partitions.reduce(_residuals, parameters)
        pairs = zip(system, residuals, strict=True)
        return type(system)(one.move_offset(of_one, step_size) for one, of_one in pairs)

    def evaluate_along_lines(self, model: LinearModel, starts: list[LineStart]) -> tuple:
        """Errors and gaps along lines, from one pass per start that counts bins.

        Bins are dense where decisions of the subsample flip, whose scores and slopes these are.
        """
        lines = [line for line_start in starts for line in self._evaluate_bin_ends(line_start)]
        numbers = np.repeat(np.arange(len(lines)), [len(lengths) for lengths, *_ in lines])
        return numbers, *map(np.concatenate, zip(np.empty((3, 0)), *lines, strict=True))

    def _evaluate_bin_ends(self, line_start: LineStart) -> list:
        """Lengths, errors and excess of the gap at the ends of the bins of each line."""
        directions = []
        typical = []
        for direction, slopes in line_start.lines:
            is_moving = slopes != 0.0
            lengths = np.abs(line_start.scores[is_moving] / slopes[is_moving])
            # Half of the bins are where a fiftieth of the decisions flip.
            near = np.quantile(lengths, 0.02) if len(lengths) else 0.0
            directions.append(direction)
            # Where so many scores are 0 no scale is known: the line is left out.
            typical.append(np.exp2(np.rint(np.log2(near))) if near > 0.0 else 0.0)
        is_counted = np.array(typical) > 0.0
        nothing = np.empty((3, 0))
        if not is_counted.any():
            return [nothing] * len(typical)
        scales = np.array(typical)[is_counted]
        errors, sums, negative = self.problem.partitions.reduce(
            count_along_lines, line_start.parameters, np.array(directions)[is_counted], scales
        )
        # Increments become values: sums of negative decisions and what flips add.
        errors, excess = np.cumsum(errors, axis=1), np.zeros_like(errors)
        for one, increments, low in zip(self.problem.constraint, sums, negative, strict=True):
            values = np.cumsum(increments, axis=2).transpose(1, 0, 2) + low[:, None, None]
            excess = np.maximum(excess, excess_of(one, values))
        lengths = [round_midpoints(*intervals_around_edges(scale, N_BINS)) for scale in scales]
        counted = iter(zip(lengths, errors, excess, strict=True))
        return [next(counted) if is_one else nothing for is_one in is_counted]

    def summarize_model(self, parameters: np.ndarray) -> tuple:
        """Objective, number of rows and report of a model, from one pass unless it was counted."""
        self.measure_models([parameters])
        _, _, objective, moments = self._sums[parameters.tobytes()]
        return self._summarize_model(parameters, objective, moments)

    def _summarize_model(
        self,
        parameters: np.ndarray,
        objective: float,
        moments: Iterator | tuple[tuple[np.ndarray, ...], ...],
    ) -> tuple:
        problem = self.problem
        penalty = float(problem.ridge @ parameters**2 / 2)
        report = problem.constraint.report_columns(moments=moments)
        return float(objective) + penalty, len(problem.lower), report


class RankCounter(PartitionedCounter):
    """Gaps between ranks of partitioned samples, from the few samples near thresholds."""

    def measure_models(self, points: np.ndarray | list[np.ndarray]) -> list[tuple]:
        """Counts of several models: their gaps alone; errors are nan."""
        no_decisions = np.empty(0, dtype=bool)
        return [(_NO_SCORES, np.nan, self._gaps(point), True, no_decisions) for point in points]

    def _gaps(self, parameters: np.ndarray) -> np.ndarray:
        condensed = self.problem.condense_all(parameters)
        return np.array([bound.value(scores) for bound, scores in condensed])

    def summarize_model(self, parameters: np.ndarray) -> tuple[float, int, dict[str, list]]:
        """Objective, number of rows and report of a model."""
        condensed = self.problem.condense_all(parameters)
        thresholds = [
            report_thresholds(one.sums, one.gap.criterion, one.tolerance, scores)
            for one, scores in condensed
        ]
        gaps = [bound.value(scores) for bound, scores in condensed]
        reduce = self.problem.partitions.reduce
        objective, moments = reduce(_sum_above_thresholds, parameters, thresholds)
        return self._summarize_model(
            parameters, objective, zip(gaps, thresholds, moments, strict=True)
        )


COUNTERS: dict[type, type[DecisionCounter]] = {
    ConstrainedProblem: DecisionCounter,
    PartitionedProblem: PartitionedCounter,
    PartitionedRankProblem: RankCounter,
}
"""Counters of the decisions of problems, by class."""


def _gap_of_moments(bound: BoundConstraint, moments: tuple[np.ndarray, ...]) -> float:
    """The gap, from the sums of a constraint's moments over partitions."""
    sums = moments[0][: len(bound.sums.exact) * bound.sums.events.n_events]
    return float(bound.gap(bound.sums.rates(sums)))


def _measure_models(
    block: ConstrainedProblem, points: np.ndarray
) -> tuple[tuple[float, tuple, float, tuple], ...]:
    """Share of a block in error, decisions, objective and moments of each of several models.

    Moments are those of the report: three arrays for each constraint.
    """
    # Each model is judged from its scores of this block, which are not stored.
    return tuple(
        block.compiled
        and block.compiled.measure_model(parameters)
        or _measure_model(block, parameters)
        for parameters in points
    )


def _measure_model(block: ConstrainedProblem, parameters: np.ndarray) -> tuple:
    """Share of a block in error, decisions, objective and moments of a model."""
    scores = block.predict_scores(parameters)
    is_positive = scores > 0
    n_positive = np.count_nonzero(is_positive)
    error = block.mean_weights.dot(is_positive != (block.target > 0))
    moments = tuple(rate_moments(one, scores) for one in block.constraint)
    return error, (len(scores) - n_positive, n_positive), block.evaluate(parameters).fun, moments


def _residuals(block: ConstrainedProblem, parameters: np.ndarray) -> tuple[np.ndarray, ...]:
    """Share of a block in the differences between exact and smooth sums, by constraint."""
    residuals = None if block.compiled is None else block.compiled.residuals(parameters)
    if residuals is not None:
        return residuals
    scores = block.predict_scores(parameters)
    return tuple(one.rows.residual(scores) for one in block.constraint)


def _sum_above_thresholds(
    block: ConstrainedProblem, parameters: np.ndarray, thresholds: list[np.ndarray]
) -> tuple:
    """Contribution of a block to the objective, and to the shares above thresholds."""
    pairs = zip(block.constraint, thresholds, strict=True)
    scores = predict_block(block, parameters)
    moments = tuple(share_moments(one, scores, of_one) for one, of_one in pairs)
    return float(block.mean_weights @ evaluate_losses(block, scores).value), moments


# Spread and ranks of scores.


def trimmed_deviation(scores: np.ndarray, weights: np.ndarray) -> float:
    """Standard deviation of the normal distribution with the range of the middle nine tenths.

    A few huge scores, as of separable samples, do not change it. The weights have the sum 1.
    """
    order = np.argsort(scores, kind="stable")
    reached = weights[order].cumsum()
    # The guard decides where rounded sums end at a level.
    low, high = np.searchsorted(reached, np.array([0.05, 0.95]) - 1e-9)
    return float(scores[order[high]] - scores[order[low]]) / _NORMAL_RANGE


_NORMAL_RANGE = 3.2897072539
"""Range of the middle nine tenths of the standard normal distribution."""

# Ranks are compared with the target.


def average_ranks(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Weighted share of the samples that have lower values, and half of those with equal ones."""
    distinct, place = np.unique(values, return_inverse=True)
    tied = np.bincount(place, weights, len(distinct))
    return (tied.cumsum() - tied / 2)[place]


class TargetRanks:
    """Ranks of the target, with which ranks of scores are compared.

    Ties have mean ranks. The weights have the sum 1. ``deviation`` is the standard deviation of the
    correlation of random ranks.
    """

    def __init__(self, target: np.ndarray, weights: np.ndarray) -> None:
        self.weights = weights
        centered = average_ranks(target, weights) - 0.5
        variance = max(weights @ centered**2, np.finfo(float).tiny)
        self._coefficients = weights * centered / variance
        # 1 / 12 is the variance of ranks.
        self.deviation = np.sqrt((weights**2).sum() / (12.0 * variance))

    def correlate(self, scores: np.ndarray) -> float:
        """Correlation of ranks of scores with those of the target.

        Of two classes it is 2 AUC - 1, with AUC the area under the ROC curve.
        """
        order = np.argsort(scores)
        ordered = scores[order]
        first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))  # of equal scores
        tied = np.add.reduceat(self.weights[order], first)
        coefficients = np.add.reduceat(self._coefficients[order], first)
        return float(coefficients @ (tied.cumsum() - tied / 2 - 0.5))
