"""Fits of a constrained problem, and searches around the models that they give."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize
from sklearn.base import clone

from skfair._bound.bound import ConstraintSystem
from skfair._bound.rows import ConstraintValues, ScoreJacobian, StackedRows
from skfair._fitting.counting import (
    COUNTERS,
    DECIMALS,
    TIE_TOLERANCE,
    Candidate,
    LineStart,
    sort_key,
    trimmed_deviation,
)
from skfair._problems.problem import draw_subsample
from skfair.solvers import SQP

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from skfair._fitting.counting import DecisionCounter
    from skfair._problems.linear import LinearModel
    from skfair._problems.problem import Problem
    from skfair.solvers import Solver
    from skfair.solvers._solver import Progress, Result


MAX_SEARCHED = 1 << 15
"""Samples up to which metrics of ranks are searched: they are evaluated hundreds of times."""

# Fits of a constrained problem, and candidates evaluated by the public metrics.


class Effort(NamedTuple):
    """How thoroughly models are searched: numbers, at most, of each loop.

    Attributes
    ----------
    rounds : int
        Rounds of searches along lines.
    breadth : int
        Points from which a round starts.
    coefficients : int
        Coefficients of a model that are searched one by one.
    starts : int
        Random starts of constraints on losses. Without any nothing else is tried: neither other
        intercepts of the plain fit nor random parameters under ranks.
    corrections : int
        Fits under corrected smooth rates, where losses are bounded.
    decision_corrections : int
        The same where only decisions are bounded.
    solves : int
        Fits under rows on ranks.
    planes : int
        Samples up to which lines beside the best point are searched, too.
    """

    rounds: int = 6
    breadth: int = 3
    coefficients: int = 4
    starts: int = 5
    corrections: int = 6
    decision_corrections: int = 0
    solves: int = 16
    planes: int = 512


FULL = Effort()
"""Of a single fit."""

SHORT = Effort(rounds=1, breadth=1, coefficients=0, starts=0, decision_corrections=6)
"""Of each of many fits of a guarantee, of which one seems fairer by chance."""


def limit_iterations(solver: Solver, max_iter: int = 40) -> Solver:
    """The solver with a limit to its iterations, if they are Newton's.

    From a similar fit 3 to 10 are usual, and more lead nowhere.
    """
    if getattr(solver, "hessian", None) != "exact" or solver.max_iter <= max_iter:
        return solver
    return clone(solver).set_params(max_iter=max_iter)


def _errors_and_margins(system: ConstraintSystem, tol: float) -> tuple[np.ndarray, np.ndarray]:
    """Solver's error of each gap, and the margin by which its tolerance is tightened for that.

    Searches lead decisions and ranks to their bounds. For other metrics, such as mean losses, no
    solver returns the bound to the last digit.
    """
    errors = np.array([tol if one.sums.metric_input == "values" else 0.0 for one in system])
    return errors, np.where(system.tolerances > errors, errors, 0.0)


_ROUNDED_SLOPE = 1e-12
"""Below 0 by which a slope may be, relative to the largest parameter."""


class Slopes(NamedTuple):
    """Slopes of decisions in a score, as linear forms of the parameters.

    Each rises with the parameter of the score itself, whatever else it depends on.
    """

    forms: np.ndarray  # (n_forms, n_parameters)
    leads: np.ndarray  # (n_forms,), the parameter of the score of each form

    def are_allowed(self, parameters: np.ndarray) -> bool:
        """Whether no slope is negative."""
        least = -_ROUNDED_SLOPE * np.abs(parameters).max(initial=0.0)
        return bool((self.forms @ parameters >= least).all())

    def raise_slopes(self, parameters: np.ndarray) -> np.ndarray:
        """The parameters, with that of each score so large that no slope is negative."""
        parameters = parameters.copy()
        positions = np.arange(len(self.leads))
        lacking = -(self.forms @ parameters) / self.forms[positions, self.leads]
        for lead in np.unique(self.leads):
            parameters[lead] += max(0.0, lacking[self.leads == lead].max())
        return parameters


class SlopeRows:
    """Slopes that may not be negative, as rows that solvers see.

    Scores s = A w show the parameters w, so that the forms F w are F (A' A)^+ A' s.
    """

    n_aux = 0

    def __init__(self, forms: np.ndarray, model: LinearModel) -> None:
        self.lower = np.zeros(len(forms))
        self.upper = np.full(len(forms), np.inf)
        self.columns = np.array([model.scores(one) for one in np.eye(model.n_parameters)])  # A'
        inverse = np.linalg.pinv(self.columns @ self.columns.T, hermitian=True)
        units = forms / np.abs(forms).max(axis=1, keepdims=True)
        self.combine = units @ inverse  # (n_rows, n_parameters)
        self._jacobian = ScoreJacobian(self.combine, lambda: sparse.csr_array(self.columns))

    def initial_aux(self, scores: np.ndarray) -> np.ndarray:
        """No auxiliary unknowns."""
        return np.empty(0)

    def __call__(self, scores: np.ndarray, aux: np.ndarray) -> ConstraintValues:
        """Rows and derivatives, as `ConstraintValues`."""
        none = np.empty((len(self.combine), 0))
        values = self.combine @ (self.columns @ scores)
        return ConstraintValues(values, self._jacobian, none, lambda v: np.zeros(len(scores)))


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
    share : float or None
        Share of the samples that are selected by their scores; None where the sign decides.
    slopes : Slopes or None
        Slopes of decisions in a score, which may not be negative; None where they may be.
    """

    problem: Any
    start: np.ndarray
    solver: Solver
    options: dict = field(default_factory=dict)
    is_constraint_active: bool = False
    earlier_fit: Candidate | None = None
    share: float | None = None
    slopes: Slopes | None = None

    @property
    def constraint(self) -> ConstraintSystem:
        """The constraint, which has the public metrics."""
        return self.problem.constraint

    @cached_property
    def counter(self) -> DecisionCounter:
        """What counts the decisions of models."""
        errors, margins = _errors_and_margins(self.constraint, self.solver.tol)
        return COUNTERS[type(self.problem)](self.problem, errors - margins)

    def evaluate(self, parameters: np.ndarray, result: Result) -> Candidate:
        """The candidate with these parameters; the result is the solver's that led to them."""
        parameters = self.project(parameters)
        parameters = parameters if self.share is None else move_cut(self, parameters)
        return self.counter.evaluate([parameters], result)[0]

    def allows(self, parameters: np.ndarray) -> bool:
        """Whether decisions rise with the score, or need not."""
        return self.slopes is None or self.slopes.are_allowed(parameters)

    def project(self, parameters: np.ndarray) -> np.ndarray:
        """The parameters, or those around them whose decisions rise with the score."""
        if self.slopes is None or self.slopes.are_allowed(parameters):
            return parameters
        return self.slopes.raise_slopes(parameters)

    def fit(self, problem, x, solver=None, is_finished=None):
        """Solve a problem from unknowns x, and evaluate the result by the fitter's constraint.

        The problem is the fitter's with another constraint, or with other labels and weights.
        Continuous metrics are solved with a margin, to keep their bounds. The solver's iterations
        end early where ``is_finished(progress)`` is true.
        """
        system = problem.constraint
        _, margins = _errors_and_margins(system, self.solver.tol)
        if margins.any():
            system = system.replace_tolerances(system.tolerances - margins)
            problem = replace(problem, constraint=system)
        callback = self.options.get("callback")

        def is_last(progress: Progress) -> bool:
            is_stopped = callback is not None and callback(progress)
            return is_stopped or (is_finished is not None and is_finished(progress))

        solve = partial(
            (solver or self.solver).solve,
            random_state=self.options.get("random_state"),
            callback=is_last,
        )
        result = solve(problem, x)
        # Searches of decisions leave out models whose slopes are negative. Ranks and losses are not
        # searched: where a slope comes out negative, their solver has to know.
        solves_slopes = self.slopes is not None and system.metric_inputs - {"decisions"}
        if solves_slopes and not self.allows(result.x[: problem.n_parameters]):
            slopes = SlopeRows(self.slopes.forms, problem.model)
            rows = StackedRows([system.rows, slopes])
            result = solve(replace(problem, constraint=rows), x)
            evaluation = result.evaluation.replace_constraint(system)
            multipliers = result.multipliers[: len(problem.lower)]
            result = replace(result, evaluation=evaluation, multipliers=multipliers)
        if solver is not None and solver.max_iter < self.solver.max_iter:
            # The limit of iterations is that of a search, and not the user's.
            result = replace(
                result,
                message="The search took a model that no solver has certified, so another one may "
                "have a smaller objective. A larger tolerance or alpha makes the problem easier.",
                is_cut_short=False,
            )
        parameters = self.project(result.x[: problem.n_parameters])
        if self.share is not None:
            parameters = move_cut(self, parameters)
            result = replace(result, x=parameters)
        return self.counter.evaluate([parameters], result)[0]

    @cached_property
    def plain_fit(self) -> Candidate | None:
        """The fit without constraint, from the start; a rough one if it is far from the bound.

        None if the constraint is known to be active.
        """
        if self.is_constraint_active:
            return None

        def is_finished(progress: Progress) -> bool:
            if not progress.residual <= 5e-3:
                return False
            # More digits would not lead a clear violation back to the bound.
            gaps = self.constraint.gaps(self.problem.predict_scores(progress.evaluation.x))
            return not (gaps - self.constraint.tolerances <= 0.05).all()

        free = self.problem_with_constraint(ConstraintSystem(()))
        is_newton = isinstance(self.solver, SQP)  # others take many cheap steps
        return self.fit(free, self.start, is_finished=is_finished if is_newton else None)

    @cached_property
    def converged_plain_fit(self) -> Candidate:
        """The fit without constraint to all digits, by Newton's method: it is smooth and convex."""
        rough = self.fit_unconstrained_roughly()
        return self.fit_unconstrained(rough.parameters, SQP(tol=1e-8))

    def fit_unconstrained(
        self, parameters: np.ndarray | None = None, solver: Solver | None = None
    ) -> Candidate:
        """The fit without constraint, from given parameters or the start."""
        x = self.start if parameters is None else parameters
        return self.fit(self.problem_with_constraint(ConstraintSystem(())), x, solver)

    def fit_unconstrained_roughly(self) -> Candidate:
        """A fit without constraint that others may start from, on the subsample if there is one."""
        fitter = make_subsample_fitter(self, self.start)
        if fitter is None:
            return self.fit_unconstrained(solver=SQP(tol=1e-3))
        rough = fitter.fit_unconstrained_roughly()
        return self.evaluate(rough.parameters, rough.result)

    def shrink_scores(self, candidate: Candidate) -> Candidate:
        """A candidate with scores that smooth rates can compare, from which constrained fits start.

        Scores of separable classes are huge: surrogates are then nearly as rough as decisions or
        ranks, which do not depend on the scale.
        """
        compared = [one for one in self.constraint if one.sums.metric_input == "ranks"]
        # Where decisions are counted, a larger deviation loses the slope of a smooth decision.
        width = min((one.gap.criterion.width for one in compared), default=2.0)
        deviation = 0.0
        if len(candidate.scores):
            deviation = trimmed_deviation(candidate.scores, self.problem.mean_weights)
        # Rows at one threshold are corrected by scores as they are.
        if deviation <= width or any(one.gap.is_correctable for one in compared):
            return candidate
        factor = width / deviation
        parameters = candidate.parameters.copy()
        n_last = self.problem.model.last_layer(parameters).n_parameters
        parameters[-n_last:] *= factor
        return candidate._replace(parameters=parameters, scores=factor * candidate.scores)

    def fit_smooth(self, plain: Candidate | None = None) -> Candidate:
        """The fit under the smooth rates; that of a network starts at a plain fit.

        Linear models start at scores of 0, where smooth rates are nearly linear.
        """
        problem = self.problem
        start = self.start
        model = self.problem.model
        if plain is not None and model.last_layer(start) is not model:
            start = self.shrink_scores(plain).parameters
        if "ranks" in self.constraint.metric_inputs:
            rough = self.shrink_scores(self.fit_unconstrained_roughly())
            start = rough.parameters
            problem = self.problem_with_constraint(self.constraint.linearize_at(rough.scores))
        elif problem.subsample is not problem:
            subsample = problem.subsample
            warm = SQP(tol=1e-5).solve(subsample, subsample.initial_point(start), **self.options)
            start = warm.x[: subsample.n_parameters]
        return self.fit(problem, problem.initial_point(start))

    def problem_with_constraint(self, system: ConstraintSystem) -> Problem:
        """The problem under another constraint."""
        return replace(self.problem, constraint=system)

    def replace_tolerances(self, tolerances: np.ndarray) -> Fitter:
        """The same fitter with other tolerances, (n_constraints,)."""
        system = self.constraint.replace_tolerances(tolerances)
        return replace(self, problem=self.problem_with_constraint(system))

    def restrict_to(self, problem: Problem, tol: float = 1e-4) -> Fitter:
        """The fitter of a subsample, with a tolerance that suits its sampling error."""
        tol = max(tol, self.solver.tol)
        return replace(self, problem=problem, solver=clone(self.solver).set_params(tol=tol))


# Searches along lines of models, by counting the decisions that flip on the way.
#
# Lines are those of the last layer, whose scores are linear in its parameters. Of samples in memory
# the counts are exact; partitioned ones are counted in bins, one pass for all lines.
#
# A single sample can decide which of two points a search goes on from. So starting points,
# directions, lengths, errors and violations are rounded first: all processors take the same point,
# in whatever order they add.


_DIRECTION_BITS = 16
"""Binary digits of directions: solvers agree on more."""


def make_subsample_fitter(fitter: Fitter, start: np.ndarray) -> Fitter | None:
    """The fitter of the subsample, from given parameters; None if there is no subsample."""
    problem = fitter.problem.subsample
    return None if problem is fitter.problem else replace(fitter, problem=problem, start=start)


def move_cut(fitter: Fitter, parameters: np.ndarray) -> np.ndarray:
    """The parameters with the intercept by which the fitter's share of samples is selected.

    Of equal scores at the cut all or none are selected, whichever is nearer to the share.
    """
    problem = fitter.problem
    costs, codes = np.unique(-problem.predict_scores(parameters), return_inverse=True)
    filled = np.cumsum(np.bincount(codes)) / len(codes)
    last = np.argmin(np.abs(filled - fitter.share).round(DECIMALS))
    ends = np.append(costs, costs[-1] + 1.0)[last : last + 2]
    if ends[0] < 0.0 <= ends[1]:
        return parameters
    coef, intercept = problem.model.coefficients(parameters)
    return problem.model.parameters(coef, intercept + ends.mean())


def search_intercept(fitter: Fitter, candidate: Candidate) -> Candidate:
    """The best intercept for a candidate's coefficients, by decisions; ties stay near it."""
    lines = _LineSearch(fitter, candidate)
    intercept = lines.model.intercept_direction()
    if intercept is None:
        return candidate
    return next(lines.improve([(candidate, lines.scale([intercept]))]), (candidate, None))[0]


def search_lines(fitter: Fitter, candidate: Candidate, effort: Effort = FULL) -> Candidate:
    """The best point of searches along several lines at a time, round after round.

    The lines are the intercept's, those along which the tightest rows of the constraint move most
    at the least loss, those of the largest coefficients, and the one that leads all rows which
    decisions violate back to their bounds. Of few samples, lines of the intercept beside the best
    point follow.
    """
    is_partitioned = fitter.problem.is_partitioned
    # Share of the samples by which a round lowers the error if another one follows. A round on
    # partitioned samples is two passes.
    min_gain = 1e-4 if is_partitioned else 2e-5
    lines = _LineSearch(fitter, candidate, effort.coefficients)
    breadth = min(max(1, 24_576 // lines.n_in_memory), effort.breadth)
    rounded = np.append(lines.before, round_to_bits(lines.parameters, 30))
    best = fitter.evaluate(rounded, candidate.result)
    starts = [(best, None)]
    for _ in range(effort.rounds):
        points = lines.improve([(one, lines.find_lines(one, latest)) for one, latest in starts])
        starts = sorted(itertools.islice(points, breadth), key=lambda pair: pair[0].sort_key)
        if not starts or not starts[0][0].sort_key < best.sort_key:
            break
        is_slow = best.keeps_bound and best.error - starts[0][0].error < min_gain
        best = starts[0][0]
        if is_slow:
            break
        if is_partitioned:  # directions come from the subsample, and cost no pass
            lines = _LineSearch(fitter, best, effort.coefficients)
    if effort.rounds > 1 and lines.is_small(best, effort.planes):
        best = _search_planes(lines, best)
    return min(best, candidate, key=sort_key)


def _search_planes(lines: _LineSearch, best: Candidate) -> Candidate:
    """The best point on lines of the intercept through points beside a candidate.

    Where no line through a point is better, a step along one and another intercept may be.
    """
    intercept = lines.model.intercept_direction()
    n_before = len(lines.before)
    across = [] if intercept is None else lines.scale([intercept])
    for _ in range(2 if across else 0):
        # Not along single coefficients, which would tell repeated columns apart.
        rows = [line for line in lines.find_lines(best) if np.count_nonzero(line[0]) > 1]
        starts = []
        for (direction, slopes), step in itertools.product(rows, (1, 0.5, 0.25, -0.25, -0.5, -1)):
            parameters = best.parameters.copy()
            parameters[n_before:] += step * direction
            beside = best._replace(parameters=parameters, scores=best.scores + step * slopes)
            starts.append((beside, across))
        if not starts:  # all lines are along single coefficients
            break
        latest, _ = next(lines.improve(starts), (best, None))
        if latest is best:
            break
        best = latest
    return best


class _LineSearch:
    """Lines of the last layer of a model, all layers before it fixed, and points on them."""

    def __init__(self, fitter: Fitter, candidate: Candidate, max_coefficients: int = 0) -> None:
        self.fitter = fitter
        self.max_coefficients = max_coefficients
        problem = fitter.problem
        model = problem.model.last_layer(candidate.parameters)
        self.problem = problem if model is problem.model else replace(problem, model=model)
        self.before, self.parameters = np.split(candidate.parameters, [-model.n_parameters])
        self.scored = fitter.counter.scored
        self.model = self.scored.model if problem.is_partitioned else model
        self.n_in_memory = len(self.scored.target)

    def is_small(self, candidate: Candidate, max_samples: int) -> bool:
        """Whether there are few samples, where rows that repeat one count as one."""
        if self.n_in_memory <= max_samples or self.n_in_memory > 8 * max_samples:
            return self.n_in_memory <= max_samples
        return len(np.unique(self._scores(candidate))) <= max_samples

    def scale(self, directions: Iterable[np.ndarray]) -> list[tuple[np.ndarray, np.ndarray]]:
        """Directions and slopes of scores along them, scaled to a steepest slope of about 1.

        Directions that move no score are left out.
        """
        model = self.model
        lines = []
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

    def find_lines(
        self, candidate: Candidate, latest: np.ndarray | None = None
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Lines to search through a candidate: those found at the start, and one to the bounds.

        That of the latest direction, whose best point the candidate is, is left out.
        """
        lines, newton, effects = self.directions
        lines = [line for line in lines if line[0] is not latest]
        if candidate.keeps_bound:
            return lines
        # Change that leads each row, counted by decisions, to its bounds; 0 within them.
        system = self.scored.constraint
        scores = self._scores(candidate)
        values = [one.rows.rows_at(one.sums.exact_means(scores))[0] for one in system]
        values = np.nan_to_num(np.concatenate(values))  # unknown rates lead nowhere
        steps = np.clip(values, system.rows.lower, system.rows.upper) - values
        if len(steps) < 2 or not steps.any():
            return lines
        back = newton @ np.linalg.lstsq(effects, steps, rcond=1e-8)[0]
        return [*lines, *self.scale([back])]

    @cached_property
    def directions(self) -> tuple[list[tuple], np.ndarray, np.ndarray]:
        """Lines, Newton's direction of each row, and what each row gains by each direction."""
        problem = self.problem.subsample
        x = problem.initial_point(self.parameters)
        multipliers = np.zeros(len(problem.lower))
        evaluation = problem.evaluate(x, multipliers)
        # Without multipliers the Hessian is that of loss and penalty. A subsample has nearly the
        # same, in a small share of the time, unless one pass has all.
        on_subsample = evaluation
        is_one_pass = getattr(problem.model, "kernel_columns", None) is not None
        if len(problem.target) > 1 << 13 and not is_one_pass:
            subsample = draw_subsample(problem, 1 << 13)
            on_subsample = subsample.evaluate(x, multipliers)
        is_rough = getattr(self.fitter.solver, "hessian", None) == "secants"
        hessian = on_subsample.hessian(multipliers, **({"is_rough": True} if is_rough else {}))
        # Newton's direction H^-1 J' of each row, and what each row gains by each.
        p = len(self.parameters)
        jacobian = evaluation.jacobian[:, :p]
        hessian = hessian[:p, :p]
        # Where all scores are far from 0, as those of separable classes, no curvature is left.
        hessian = hessian + 1e-10 * max(hessian.diagonal().max(), 1e-200) * np.eye(p)
        newton = cho_solve(cho_factor(hessian), jacobian.T)
        # The three tightest rows of the constraint, and the intercept.
        slack = np.minimum(problem.upper - evaluation.values, evaluation.values - problem.lower)
        tightest = np.argsort(np.round(slack, 6), kind="stable")[:3]
        intercept = self.problem.model.intercept_direction()
        directions = [*newton.T[tightest], *([] if intercept is None else [intercept])]
        if self.n_in_memory <= 1 << 14:  # where single samples count for much
            # The largest coefficients one by one, but those of repeated columns together.
            coef = self.parameters if intercept is None else np.where(intercept, 0, self.parameters)
            coef = round_to_bits(coef, _DIRECTION_BITS)
            largest = np.argsort(-np.abs(coef), kind="stable")
            n_coefficients = min(self.max_coefficients, len(coef) - (intercept is not None))
            for value in coef[largest[:n_coefficients]]:
                is_equal = np.isclose(coef, value, rtol=1e-4, atol=0.0)
                directions.append((is_equal & (coef != 0.0)).astype(float))
        return self.scale(directions), newton, jacobian @ newton

    def _scores(self, candidate: Candidate) -> np.ndarray:
        """Scores in memory of a candidate: of all samples, or of the subsample."""
        if len(candidate.scores):
            return candidate.scores
        return self.scored.predict_scores(candidate.parameters)

    def improve(self, starts: list[tuple[Candidate, list]]) -> Iterator[tuple[Candidate, Any]]:
        """Yield the first point of each line that is better than its start, and its direction.

        `starts` are pairs of a candidate and lines through it. The points that are better by count
        are evaluated one after the other, best first. Ties go to the first line, and on a line to
        the point nearest to its start.
        """
        ranks = np.array([candidate.sort_key for candidate, _ in starts], dtype=float)
        # Only fewer errors are better than a start within all bounds.
        is_within = (ranks[:, 0] == 0.0) & (ranks[:, 1] == 0.0)
        max_errors = np.where(is_within, ranks[:, 2], np.inf)
        line_starts = [
            LineStart(
                candidate.parameters[len(self.before) :], self._scores(candidate), lines, max_error
            )
            for (candidate, lines), max_error in zip(starts, max_errors.tolist(), strict=True)
        ]
        numbers, lengths, errors, excess = self.fitter.counter.evaluate_along_lines(
            self.model, line_starts
        )
        # Compare each point with its start.
        steps = [(candidate, direction) for candidate, lines in starts for direction, _ in lines]
        start_of = np.repeat(np.arange(len(starts)), [len(lines) for _, lines in starts])
        violation, is_unclear, error = ranks[start_of[numbers]].T
        errors = np.round(errors, DECIMALS)
        violations = np.round(np.where(excess > TIE_TOLERANCE, excess, 0.0), DECIMALS)
        is_better = violations < violation
        is_better |= (violations == violation) & ((is_unclear > 0.0) | (errors < error))
        points = _sort_points(
            violations[is_better], errors[is_better], numbers[is_better], lengths[is_better], steps
        )
        # Evaluate them, until each line has one.
        lines = set()
        batches: Iterable[list] = ([point] for point in points if point[1] not in lines)
        if self.fitter.problem.is_partitioned:  # two points, both in one pass
            pair = list(itertools.islice(points, 2))
            batches = [pair] if pair else []
        for batch in batches:
            parameters = [
                np.append(self.before, origin.parameters[len(self.before) :] + length * direction)
                for origin, _, direction, length in batch
            ]
            candidates = self.fitter.counter.evaluate(parameters, batch[0][0].result)
            keys = [one.sort_key for one in candidates]
            for k in sorted(range(len(batch)), key=keys.__getitem__):
                origin, line, direction, _ = batch[k]
                is_allowed = self.fitter.allows(candidates[k].parameters)
                is_stable = candidates[k].has_stable_decisions
                if line not in lines and is_allowed and is_stable and keys[k] < origin.sort_key:
                    lines.add(line)
                    yield candidates[k], direction


def _sort_points(
    violations: np.ndarray,
    errors: np.ndarray,
    numbers: np.ndarray,
    lengths: np.ndarray,
    steps: list[tuple[Candidate, np.ndarray]],
) -> Iterator[tuple[Candidate, int, np.ndarray, float]]:
    """Yield points by violation, error, line and distance to the start, of each line the first few.

    ``steps`` are start and direction of each line, and a point is these and its line and length.
    """
    keys = (np.abs(lengths), numbers, errors, violations)
    n_of_line = [0] * len(steps)
    # One of the first is taken mostly: the others are sorted only if they are asked for.
    is_first = violations == violations.min(initial=np.inf)
    if np.count_nonzero(is_first) > 64:
        is_first &= errors <= np.partition(errors[is_first], 64)[64]
    for subset in (np.flatnonzero(is_first), np.flatnonzero(~is_first)):
        for k in subset[np.lexsort([key[subset] for key in keys])].tolist():
            line = int(numbers[k])
            n_of_line[line] += 1
            if n_of_line[line] <= 20:
                candidate, direction = steps[line]
                yield candidate, line, direction, float(lengths[k])


def round_to_bits(values: np.ndarray, bits: int) -> np.ndarray:
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


def search_metric(fitter: Fitter, fairest: Candidate) -> Candidate:
    """The candidate of least violation, by a search of the last layer from the fairest fit.

    Where the metrics depend on ranks alone, its scale and intercept are those of least objective.
    The fairest fit itself is returned if no other is better, and where samples are partitioned or
    too many.
    """
    problem = fitter.problem
    if problem.is_partitioned or len(problem.target) > MAX_SEARCHED:
        return fairest
    # by the user's solver, whose limits it reports
    plain = fitter.fit_unconstrained(fairest.parameters)
    layer = problem.model.last_layer(fairest.parameters)
    before = fairest.parameters[: -layer.n_parameters]
    rng = np.random.default_rng(0)  # the same search for the same samples

    def evaluate(parameters: np.ndarray) -> Candidate:
        return fitter.evaluate(np.append(before, parameters), plain.result)

    # Near the fairest fit, where the objective is low.
    center = fairest.parameters[len(before) :]
    best = _local_search(evaluate, center, rng)
    # Farther and farther away, at distances relative to its length, unless samples are many; at
    # last anywhere, first where scores agree with those of the plain fit, then where they do not.
    drawn = rng.normal(size=(100, layer.n_parameters))
    steps = np.linalg.norm(center) / np.sqrt(len(center)) * drawn
    drawn *= np.where(drawn @ plain.parameters[len(before) :] < 0.0, -1.0, 1.0)[:, np.newaxis]
    is_large = len(problem.target) > 1 << 13
    distances = () if is_large else (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8)
    for starts in (*(center + distance * steps for distance in distances), drawn, -drawn):
        if best.violation > 0.0:
            chosen = min(map(evaluate, starts), key=attrgetter("rounded_violation"))
            other = _local_search(evaluate, chosen.parameters[len(before) :], rng)
            best = best if other.violation > 0.0 else other
    if best.violation >= fairest.violation:
        return fairest
    # Ranks depend neither on scale nor on intercept.
    free = fitter.problem_with_constraint(ConstraintSystem(()))
    parameters = best.parameters[len(before) :]
    rescaled = optimize_scale_intercept(
        parameters, layer, lambda x: free.evaluate(np.append(before, x)).fun
    )
    return min(evaluate(rescaled), best, key=attrgetter("rounded_violation"))


def _local_search(
    evaluate: Callable, parameters: np.ndarray, rng: np.random.Generator
) -> Candidate:
    """The least violation by random steps, each from the best parameters so far.

    There are 60 of each length, relative to the parameters.
    """
    best = evaluate(parameters)
    for radius in np.tile((0.03, 0.1, 0.3, 1.0), 60):
        if best.violation == 0.0:
            break
        center = best.parameters[-len(parameters) :]
        size = radius * np.linalg.norm(center) / np.sqrt(len(center))
        moved = evaluate(center + size * rng.normal(size=len(center)))
        best = min(best, moved, key=attrgetter("rounded_violation"))
    return best


def optimize_scale_intercept(
    parameters: np.ndarray, layer: LinearModel, objective: Callable
) -> np.ndarray:
    """Parameters times a factor, plus an intercept, of least objective."""
    intercept = layer.intercept_direction()
    directions = np.zeros((0, len(parameters))) if intercept is None else intercept[np.newaxis]

    def move(steps: np.ndarray) -> np.ndarray:
        return np.exp(steps[0]) * parameters + steps[1:] @ directions

    steps = minimize(
        lambda steps: objective(move(steps)),
        np.zeros(1 + len(directions)),
        method="Nelder-Mead",
        # Scores that are nearly equal lose the digits by which they are ranked.
        bounds=[(-3.0, 3.0), *len(directions) * [(None, None)]],
        options={"maxfev": 200},
    )
    return move(steps.x)
