"""Fits of a constrained problem, and searches around the models that they give."""

import itertools
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize
from sklearn.base import clone

from skfair.constraints._bound import ConstraintSystem
from skfair.fitting._counting import (
    COUNTERS,
    DECIMALS,
    TIE_TOLERANCE,
    Candidate,
    LineStart,
    sort_key,
)
from skfair.problems._problem import draw_subsample
from skfair.solvers import SQP

# Fits of a constrained problem, and candidates evaluated by the public metrics.


SUBSAMPLE_TOL = 1e-4
"""Tolerance of the solver for fits to a subsample."""

_WARM_START_SOLVER = SQP(tol=1e-5)
"""Solver of warm starts."""

_ROUGH_RESIDUAL, _CLEAR_VIOLATION = 5e-3, 0.05
"""Residual at which a plain fit ends if its violation is larger: it would not keep the bound."""

_ROUGH_SOLVER = SQP(tol=1e-3)
"""Solver of plain fits from which others start."""

_SEARCH_MESSAGE = (
    "The search took a model that no solver has certified, so another one may have a smaller "
    "objective. A larger tolerance or alpha makes the problem easier."
)
"""Message where the limit of iterations is that of a search, and not the user's."""

_MAX_DEVIATION = 2.0
"""Standard deviation of scores beyond which the slope of a smooth decision is lost."""


def limit_iterations(solver, max_iter):
    """The solver with a limit to its iterations, if they are Newton's."""
    if getattr(solver, "hessian", None) != "exact" or solver.max_iter <= max_iter:
        return solver
    return clone(solver).set_params(max_iter=max_iter)


def _errors_and_margins(constraint, tol):
    """Solver's error of each gap, and the margin by which its tolerance is tightened for that.

    Searches lead decisions and ranks to their bounds. For other metrics, such as mean losses, no
    solver returns the bound to the last digit.
    """
    errors = np.array([tol if one.sums.metric_input == "values" else 0.0 for one in constraint])
    return errors, np.where(constraint.tolerances > errors, errors, 0.0)


@dataclass(frozen=True, eq=False)
class Fitter:
    """Fits of a constrained problem by a solver, evaluated by the public metrics.

    Attributes
    ----------
    problem : ConstrainedProblem
        The problem with smooth rates; its constraint has the public metrics, too.
    start : ndarray of shape (n_parameters,)
        Initial model parameters.
    solver : Solver
        The solver that the user chose.
    options : dict
        Further arguments of ``solver.solve``.
    is_constraint_active : bool
        Whether the constraint is known to be active, so that the plain fit need not be tried.
    earlier_fit : Candidate or None
        An earlier fit under the same constraint on ranks with other tolerances.
    """

    problem: object
    start: np.ndarray
    solver: object
    options: dict = field(default_factory=dict)
    is_constraint_active: bool = False
    earlier_fit: Candidate | None = None

    @property
    def constraint(self):
        """The constraint, which has the public metrics."""
        return self.problem.constraint

    @cached_property
    def counter(self):
        """What counts the decisions of models."""
        errors, margins = _errors_and_margins(self.constraint, self.solver.tol)
        return COUNTERS[type(self.problem)](self.problem, errors - margins)

    def evaluate(self, parameters, result):
        """The candidate with these parameters; the result is the solver's that led to them."""
        return self.counter.evaluate([parameters], result)[0]

    def fit(self, problem, x, solver=None):
        """Solve a problem from unknowns x, and evaluate the result by the fitter's constraint.

        The problem is the fitter's with another constraint, or with other labels and weights.
        Continuous metrics are solved with a margin, to keep their bounds.
        """
        constraint = problem.constraint
        _, margins = _errors_and_margins(constraint, self.solver.tol)
        if margins.any():
            constraint = constraint.replace_tolerances(constraint.tolerances - margins)
            problem = replace(problem, constraint=constraint)
        result = (solver or self.solver).solve(problem, x, **self.options)
        if solver is not None and solver.max_iter < self.solver.max_iter:
            result = replace(result, message=_SEARCH_MESSAGE)
        return self.evaluate(result.x[: problem.n_parameters], result)

    @cached_property
    def plain_fit(self):
        """The fit without constraint, from the start; a rough one if it is far from the bound."""
        callback = self.options.get("callback")

        def is_finished(progress):
            if callback is not None and callback(progress):
                return True
            if not progress.residual <= _ROUGH_RESIDUAL:
                return False
            return self.evaluate(progress.evaluation.x, None).violation > _CLEAR_VIOLATION

        if not isinstance(self.solver, SQP):  # others take many cheap steps
            return self.fit_unconstrained()
        return replace(self, options=self.options | {"callback": is_finished}).fit_unconstrained()

    def fit_unconstrained(self, parameters=None, solver=None):
        """The fit without constraint, from given parameters or the start."""
        x = self.start if parameters is None else parameters
        return self.fit(self.problem_with_constraint(ConstraintSystem(())), x, solver)

    def fit_unconstrained_roughly(self):
        """A fit without constraint that others may start from, on the subsample if there is one."""
        fitter = self.make_subsample_fitter(self.start)
        if fitter is None:
            return self.fit_unconstrained(solver=_ROUGH_SOLVER)
        rough = fitter.fit_unconstrained_roughly()
        return self.evaluate(rough.parameters, rough.result)

    def shrink_scores(self, candidate):
        """A candidate with scores that smooth rates can compare, from which constrained fits start.

        Scores of separable classes are huge: surrogates are then nearly as rough as decisions or
        ranks, which do not depend on the scale.
        """
        compared = [one for one in self.constraint if one.sums.metric_input == "ranks"]
        width = min((one.gap.criterion.width for one in compared), default=_MAX_DEVIATION)
        deviation = 0.0
        if candidate.scores is not None:
            weights = self.problem.mean_weights
            deviation = np.sqrt(np.cov(candidate.scores, aweights=weights, ddof=0))
        # Rows at one threshold are corrected by scores as they are.
        if deviation <= width or any(one.gap.is_correctable for one in compared):
            return candidate
        factor, parameters = width / deviation, candidate.parameters.copy()
        n_last = self.problem.model.last_layer(parameters).n_parameters
        parameters[-n_last:] *= factor
        return candidate._replace(parameters=parameters, scores=factor * candidate.scores)

    def make_subsample_fitter(self, start):
        """The fitter of the subsample, from given parameters; None if there is no subsample."""
        problem = self.problem.subsample
        return None if problem is self.problem else replace(self, problem=problem, start=start)

    def fit_smooth(self):
        """The fit under the smooth rates."""
        start, constraint = self.start, self.constraint
        if "ranks" in constraint.metric_inputs:
            rough = self.shrink_scores(self.fit_unconstrained_roughly())
            start, constraint = rough.parameters, constraint.linearize_at(rough.scores)
        problem = self.problem_with_constraint(constraint)
        if "ranks" not in constraint.metric_inputs and problem.subsample is not problem:
            subsample = problem.subsample
            start = _WARM_START_SOLVER.solve(
                subsample, subsample.initial_point(start), **self.options
            ).x
            start = start[: subsample.n_parameters]
        return self.fit(problem, problem.initial_point(start))

    def problem_with_constraint(self, constraint):
        """The problem under another constraint."""
        return replace(self.problem, constraint=constraint)

    def replace_tolerances(self, tolerances):
        """The same fitter with other tolerances, (n_constraints,)."""
        constraint = self.constraint.replace_tolerances(tolerances)
        return replace(self, problem=self.problem_with_constraint(constraint))

    def restrict_to(self, problem, tol=SUBSAMPLE_TOL):
        """The fitter of a subsample, with a tolerance that suits its sampling error."""
        tol = max(tol, self.solver.tol)
        return replace(self, problem=problem, solver=clone(self.solver).set_params(tol=tol))

    def warm_start_from(self, candidate):
        """The same fitter, started at a candidate of a similar fitter."""
        constraint, compares_ranks = self.constraint, "ranks" in self.constraint.metric_inputs
        if not compares_ranks:
            constraint = constraint.correct(candidate.scores)
        is_active = candidate.result.multipliers.any()
        is_active = bool(is_active or (candidate.gaps > constraint.tolerances).any())
        has_rows = len(candidate.result.evaluation.problem.constraint)
        is_like = compares_ranks and has_rows and not np.isnan(candidate.gaps).any()
        return replace(
            self,
            problem=self.problem_with_constraint(constraint),
            start=candidate.parameters,
            is_constraint_active=is_active,
            earlier_fit=candidate if is_active and is_like else None,
        )


# Searches along lines of models, by counting the decisions that flip on the way.
#
# Lines are those of the last layer, whose scores are linear in its parameters. Of samples in memory
# the counts are exact; partitioned ones are counted in bins, one pass for all lines.
#
# A single sample can decide which of two points a search goes on from. So starting points,
# directions, lengths, errors and violations are rounded first: all processors take the same point,
# in whatever order they add.


_MAX_ROUNDS = 6
"""Rounds of searches along lines."""

_MAX_DIRECTIONS = 3
"""Directions of a round that rows of the constraint give."""

_MAX_COEFFICIENTS = 4
"""Coefficients of a model that are searched one by one."""

_REPEATED = 1e-4
"""Relative difference of coefficients up to which their columns may be the same."""

_MAX_BREADTH = 3
"""Points from which a round starts."""

_MAX_POINTS = 20
"""Points of a line that are tried."""

_N_SORTED = 64
"""Points that are sorted at first."""

_MAX_PARTITIONED_POINTS = 2
"""Points of a round that are tried on partitioned samples, all in one pass."""

_MAX_SINGLE_SEARCH_SAMPLES = 1 << 14
"""Samples up to which single ones count for much: coefficients are searched one by one."""

_MAX_STARTING_SAMPLES = 24_576
"""Samples of all points from which a round starts, if these are several."""

_MAX_PLANE_SAMPLES = 512
"""Samples up to which the intercept is also searched beside the best point."""

_PLANE_ROUNDS, _PLANE_STEPS = 2, (1.0, 0.5, 0.25, -0.25, -0.5, -1.0)
"""Rounds of this search, and lengths of its steps along lines, whose steepest slope is about 1."""

_MIN_GAIN, _MIN_PARTITIONED_GAIN = 2e-5, 1e-4
"""Share of the samples by which a round must lower the error for another one to follow. A round on
partitioned samples is two passes."""

_MAX_HESSIAN_SAMPLES = 1 << 13
"""Samples up to which all of them give the Hessian of Newton's directions."""

_DIRECTION_BITS, _POINT_BITS = 16, 30
"""Binary digits of directions and of starting points: solvers agree on more."""


def search_intercept(fitter, candidate):
    """The best intercept for a candidate's coefficients."""
    intercept = fitter.problem.model.last_layer(candidate.parameters).intercept_direction()
    return candidate if intercept is None else search_line(fitter, candidate, intercept)


def search_line(fitter, candidate, direction):
    """The best point on the line through a candidate, by decisions; ties stay near it."""
    lines = _LineSearch(fitter, candidate)
    points = lines.better_points([(candidate, lines.scale([direction]))])
    return next(lines.improvements(points), (candidate, None))[0]


def search_lines(
    fitter,
    candidate,
    max_rounds=_MAX_ROUNDS,
    max_breadth=_MAX_BREADTH,
    max_coefficients=_MAX_COEFFICIENTS,
):
    """The best point of searches along several lines at a time, round after round.

    The lines are the intercept's, those along which the tightest rows of the constraint move most
    at the least loss, those of the largest coefficients, and the one that leads all rows which
    decisions violate back to their bounds. Of few samples, lines of the intercept beside the best
    point follow.
    """
    is_partitioned = fitter.counter.scored is not fitter.problem
    min_gain = _MIN_PARTITIONED_GAIN if is_partitioned else _MIN_GAIN
    lines = _LineSearch(fitter, candidate, max_coefficients)
    breadth = min(max(1, _MAX_STARTING_SAMPLES // lines.n_in_memory), max_breadth)
    best = fitter.evaluate(
        lines.join(round_to_bits(lines.parameters, _POINT_BITS)), candidate.result
    )
    starts = [(best, None)]
    for _ in range(max_rounds):
        points = lines.better_points(
            [(one, lines.find_lines(one, latest)) for one, latest in starts]
        )
        starts = sorted(
            itertools.islice(lines.improvements(points), breadth),
            key=lambda start: start[0].sort_key,
        )
        if not starts or not starts[0][0].sort_key < best.sort_key:
            break
        is_slow = best.keeps_bound and best.error - starts[0][0].error < min_gain
        best = starts[0][0]
        if is_slow:
            break
        if is_partitioned:  # directions come from the subsample, and cost no pass
            lines = _LineSearch(fitter, best, max_coefficients)
    if max_rounds > 1 and lines.n_in_memory <= _MAX_PLANE_SAMPLES:
        best = _search_planes(lines, best)
    return min(best, candidate, key=sort_key)


def _search_planes(lines, best):
    """The best point on lines of the intercept through points beside a candidate.

    Where no line through a point is better, a step along one and another intercept may be.
    """
    intercept, n_before = lines.model.intercept_direction(), len(lines.before)
    across = [] if intercept is None else lines.scale([intercept])
    for _ in range(_PLANE_ROUNDS if across else 0):
        # Not along single coefficients, which would tell repeated columns apart.
        rows = [line for line in lines.find_lines(best) if np.count_nonzero(line[0]) > 1]
        starts = []
        for (direction, slopes), step in itertools.product(rows, _PLANE_STEPS):
            parameters = best.parameters.copy()
            parameters[n_before:] += step * direction
            beside = best._replace(parameters=parameters, scores=best.scores + step * slopes)
            starts.append((beside, across))
        if not starts:  # all lines are along single coefficients
            break
        points = lines.better_points(starts)
        latest, _ = next(lines.improvements(points), (best, None))
        if latest is best:
            break
        best = latest
    return best


class _LineSearch:
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
            direction = round_to_bits(direction, _DIRECTION_BITS)
            slopes = model.scores(direction)
            steepest = max(slopes.max(), -slopes.min())
            if steepest > 0.0:
                unit = np.exp2(-np.rint(np.log2(steepest)))  # a power of 2 keeps all digits
                lines.append((direction * unit, slopes * unit))
        return lines

    def find_lines(self, candidate, latest=None):
        """Lines to search through a candidate: those found at the start, and one to the bounds.

        That of the latest direction, whose best point the candidate is, is left out.
        """
        if self.directions is None:
            self.directions = self._find_directions()
        lines, newton, effects = self.directions
        lines = [line for line in lines if line[0] is not latest]
        if candidate.keeps_bound:
            return lines
        # Change that leads each row, counted by decisions, to its bounds; 0 within them.
        constraint, scores = self.scored.constraint, self._scores(candidate)
        values = [one.rows.rows_at(one.sums.exact_means(scores))[0] for one in constraint]
        values = np.nan_to_num(np.concatenate(values))  # unknown rates lead nowhere
        steps = np.clip(values, constraint.rows.lower, constraint.rows.upper) - values
        if len(steps) < 2 or not steps.any():
            return lines
        back = newton @ np.linalg.lstsq(effects, steps, rcond=1e-8)[0]
        return [*lines, *self.scale([back])]

    def _find_directions(self):
        """Lines, Newton's direction of each row, and what each row gains by each direction."""
        problem = self.problem.subsample
        x, multipliers = problem.initial_point(self.parameters), np.zeros(len(problem.lower))
        evaluation = problem.evaluate(x, multipliers)
        # Without multipliers the Hessian is that of loss and penalty. A subsample has nearly the
        # same, in a small share of the time, unless one pass has all.
        on_subsample = evaluation
        is_one_pass = getattr(problem.model, "kernel_columns", None) is not None
        if len(problem.target) > _MAX_HESSIAN_SAMPLES and not is_one_pass:
            subsample = draw_subsample(problem, _MAX_HESSIAN_SAMPLES)
            on_subsample = subsample.evaluate(x, multipliers)
        is_rough = getattr(self.fitter.solver, "hessian", None) == "secants"
        hessian = on_subsample.hessian(multipliers, **({"is_rough": True} if is_rough else {}))
        newton, effects = _newton_directions(evaluation, hessian)
        # The tightest rows of the constraint, and the intercept.
        slack = np.minimum(problem.upper - evaluation.values, evaluation.values - problem.lower)
        tightest = np.argsort(np.round(slack, 6), kind="stable")[:_MAX_DIRECTIONS]
        intercept = self.problem.model.intercept_direction()
        directions = [*newton.T[tightest], *([] if intercept is None else [intercept])]
        if self.n_in_memory <= _MAX_SINGLE_SEARCH_SAMPLES:
            # The largest coefficients one by one, but those of repeated columns together.
            coef = self.parameters if intercept is None else np.where(intercept, 0, self.parameters)
            coef = round_to_bits(coef, _DIRECTION_BITS)
            largest = np.argsort(-np.abs(coef), kind="stable")
            n_coefficients = min(self.max_coefficients, len(coef) - (intercept is not None))
            for value in coef[largest[:n_coefficients]]:
                is_equal = np.isclose(coef, value, rtol=_REPEATED, atol=0.0)
                directions.append((is_equal & (coef != 0.0)).astype(float))
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
        ranks = np.array([start.sort_key for start, _ in starts], dtype=np.float64)
        # Only fewer errors are better than a start within all bounds.
        is_within = (ranks[:, 0] == 0.0) & (ranks[:, 1] == 0.0)
        max_errors = np.where(is_within, ranks[:, 2], np.inf)
        line_starts = [
            LineStart(start.parameters[len(self.before) :], self._scores(start), lines, max_error)
            for (start, lines), max_error in zip(starts, max_errors.tolist(), strict=True)
        ]
        numbers, lengths, errors, excess = self.fitter.counter.evaluate_along_lines(
            self.model, line_starts
        )
        # Compare each point with its start.
        steps = [(start, direction) for start, lines in starts for direction, _ in lines]
        start_of = np.repeat(np.arange(len(starts)), [len(lines) for _, lines in starts])
        violation, is_unclear, error = ranks[start_of[numbers]].T
        errors = np.round(errors, DECIMALS)
        violations = np.round(np.where(excess > TIE_TOLERANCE, excess, 0.0), DECIMALS)
        is_better = violations < violation
        is_better |= (violations == violation) & ((is_unclear > 0.0) | (errors < error))
        points = violations, errors, numbers, lengths
        return _sort_points(*(values[is_better] for values in points), steps)

    def improvements(self, points):
        """Yield the first point of each line that is better than its start, and its direction."""
        n_at_once = 1
        if self.scored is not self.fitter.problem:
            n_at_once = _MAX_PARTITIONED_POINTS
            points = itertools.islice(points, n_at_once)
        lines, points = set(), iter(points)
        while batch := list(itertools.islice(points, n_at_once)):
            batch = [point for point in batch if point[1] not in lines]
            if not batch:
                continue
            n_before = len(self.before)
            parameters = [
                self.join(start.parameters[n_before:] + length * direction)
                for start, _, direction, length in batch
            ]
            candidates = self.fitter.counter.evaluate(parameters, batch[0][0].result)
            evaluated = zip(batch, candidates, strict=True)
            for (start, line, direction, _), candidate in sorted(
                evaluated, key=lambda pair: pair[1].sort_key
            ):
                if (
                    line not in lines
                    and candidate.has_stable_decisions
                    and candidate.sort_key < start.sort_key
                ):
                    lines.add(line)
                    yield candidate, direction


def _sort_points(violations, errors, numbers, lengths, steps):
    """Yield points by violation, error, line and distance to the start, of each line the first few.

    ``steps`` are start and direction of each line, and a point is these and its line and length.
    """
    keys, n_of_line = (np.abs(lengths), numbers, errors, violations), [0] * len(steps)
    # One of the first is taken mostly: the others are sorted only if they are asked for.
    is_first = violations == violations.min(initial=np.inf)
    if np.count_nonzero(is_first) > _N_SORTED:
        is_first &= errors <= np.partition(errors[is_first], _N_SORTED)[_N_SORTED]
    for subset in (np.flatnonzero(is_first), np.flatnonzero(~is_first)):
        for k in subset[np.lexsort([key[subset] for key in keys])].tolist():
            line = int(numbers[k])
            n_of_line[line] += 1
            if n_of_line[line] <= _MAX_POINTS:
                start, direction = steps[line]
                yield start, line, direction, float(lengths[k])


def _newton_directions(evaluation, hessian):
    """Newton's direction ``H^-1 J'`` of each row, and what each row gains by each."""
    n_parameters = evaluation.problem.n_parameters
    jacobian = evaluation.jacobian[:, :n_parameters]
    hessian = hessian[:n_parameters, :n_parameters]
    # Where all scores are far from 0, as those of separable classes, no curvature is left.
    hessian = hessian + 1e-10 * max(hessian.diagonal().max(), 1e-200) * np.eye(len(hessian))
    newton = cho_solve(cho_factor(hessian), jacobian.T)
    return newton, jacobian @ newton


def round_to_bits(values, bits):
    """Values rounded to this number of binary digits of the largest."""
    largest = np.abs(values).max(initial=0.0)
    if not largest > 0.0:
        return values
    unit = np.exp2(np.floor(np.log2(largest)) - bits)
    return np.rint(values / unit) * unit


# Random local search for parameters that keep tolerances of ranks, where no solver finds any.
#
# Smooth rows compare shares at several thresholds by a ramp, and their problem is not convex: all
# fits may violate a tolerance that other parameters keep. The metrics are piecewise constant, so
# they have no useful derivatives. But often a point near a fit that nearly keeps a tolerance keeps
# it, or one among random parameters.


_RADII = (0.03, 0.1, 0.3, 1.0)
"""Lengths of random steps, relative to the parameters."""

_N_STEPS = 60
"""Random steps of each length."""

_N_STARTS = 100
"""Random parameters, of which the best is the second start."""

_DISTANCES = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8)
"""Distances of random parameters from the fairest fit, relative to its length. Near ones rank best.
"""

_LOG_FACTOR_BOUNDS = (-3.0, 3.0)
"""Logarithms of the smallest and the largest factor of parameters."""

_MAX_METRIC_SEARCH_SAMPLES = 1 << 15
"""Samples above which the metric is not evaluated hundreds of times."""

_MAX_DISTANCE_SAMPLES = 1 << 13
"""Samples above which the metric is not evaluated thousands of times."""


def search_metric(fitter, fairest):
    """The candidate of least violation, by a search of the last layer from the fairest fit.

    Where the metrics depend on ranks alone, its scale and intercept are those of least objective.
    The fairest fit itself is returned if no other is better, and where samples are partitioned or
    too many.
    """
    problem = fitter.problem
    if fitter.counter.scored is not problem or len(problem.target) > _MAX_METRIC_SEARCH_SAMPLES:
        return fairest
    # by the user's solver, whose limits it reports
    plain = fitter.fit_unconstrained(fairest.parameters)
    layer = problem.model.last_layer(fairest.parameters)
    before = fairest.parameters[: -layer.n_parameters]
    rng = np.random.default_rng(0)  # the same search for the same samples

    def evaluate(parameters):
        return fitter.evaluate(np.concatenate((before, parameters)), plain.result)

    # Near the fairest fit, where the objective is low.
    center = fairest.parameters[len(before) :]
    best = _local_search(evaluate, center, rng)
    # Farther and farther away; at last anywhere, first where scores agree with those of the plain
    # fit, then where they do not.
    drawn = rng.normal(size=(_N_STARTS, layer.n_parameters))
    steps = np.linalg.norm(center) / np.sqrt(len(center)) * drawn
    drawn *= np.where(drawn @ plain.parameters[len(before) :] < 0.0, -1.0, 1.0)[:, np.newaxis]
    distances = _DISTANCES if len(problem.target) <= _MAX_DISTANCE_SAMPLES else ()
    for starts in (*(center + distance * steps for distance in distances), drawn, -drawn):
        if best.violation > 0.0:
            start = min(map(evaluate, starts), key=_violation)
            other = _local_search(evaluate, start.parameters[len(before) :], rng)
            best = best if other.violation > 0.0 else other
    if best.violation >= fairest.violation:
        return fairest
    # Ranks depend neither on scale nor on intercept.
    free = fitter.problem_with_constraint(ConstraintSystem(()))
    parameters = best.parameters[len(before) :]
    rescaled = _optimize_scale_intercept(
        parameters, layer, lambda x: free.evaluate(np.append(before, x)).fun
    )
    return min(evaluate(rescaled), best, key=_violation)


def _violation(candidate):
    return candidate.violation


def _local_search(evaluate, parameters, rng):
    """The least violation by random steps, each from the best parameters so far."""
    best = evaluate(parameters)
    for radius in np.tile(_RADII, _N_STEPS):
        if best.violation == 0.0:
            break
        center = best.parameters[-len(parameters) :]
        size = radius * np.linalg.norm(center) / np.sqrt(len(center))
        best = min(best, evaluate(center + size * rng.normal(size=len(center))), key=_violation)
    return best


def _optimize_scale_intercept(parameters, layer, objective):
    """Parameters times a factor, plus an intercept, of least objective."""
    intercept = layer.intercept_direction()
    directions = np.zeros((0, len(parameters))) if intercept is None else intercept[np.newaxis]

    def move(steps):
        return np.exp(steps[0]) * parameters + steps[1:] @ directions

    steps = minimize(
        lambda steps: objective(move(steps)),
        np.zeros(1 + len(directions)),
        method="Nelder-Mead",
        # Scores that are nearly equal lose the digits by which they are ranked.
        bounds=[_LOG_FACTOR_BOUNDS, *len(directions) * [(None, None)]],
        options={"maxfev": 200},
    )
    return move(steps.x)
