"""What is to be solved under which promise, and how an answer is judged."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from sklearn.base import clone

from skfair.constraints import ConstraintSystem
from skfair.enforcement._stops import MARGIN
from skfair.problems import PartitionedRankProblem
from skfair.solvers import SQP, Result

TIE = 1e-12
"""Differences of gaps and errors below it are rounding."""

DIGITS = 10
"""Decimals to which errors and gaps are compared: people are added in any order."""

_ROUGH = SQP(tol=1e-3)
_REHEARSED_DIGITS = 1e-4
_FEW_DIGITS = 1e-5
"""Tolerances of solvers: where the plain fit is only the start of another one, where that of
everybody follows, and where what is solved next depends on the metric alone."""

_MANY = 1 << 17
_REHEARSED = 1 << 16
"""From how many people on a fit is rehearsed on some, and on how many."""


class Candidate(NamedTuple):
    """A model, judged by the public metrics on the training data.

    Attributes
    ----------
    parameters : ndarray of shape (n_parameters,)
        Parameters of the model.
    scores : ndarray of shape (n_samples,) or None
        Its scores; None of problems in parts, where they lie with the samples.
    error : float
        Weighted share of wrong decisions; nan where ranks are compared in parts, and nobody asks.
    gaps : ndarray of shape (n_parts,)
        The gap of every part of the constraint; nan where it is unknown.
    violation : float
        Largest excess of a gap over its tolerance; infinite if one is unknown.
    is_clear : bool
        Whether no decision that the constraint counts hangs on rounding.
    result : Result
        What the solver found before any sweep.
    decisions : ndarray of bool, shape (1,) or (2,)
        Whether scores are positive: the answers that occur.
    """

    parameters: np.ndarray
    scores: np.ndarray | None
    error: float
    gaps: np.ndarray
    violation: float
    is_clear: bool
    result: Result
    decisions: np.ndarray

    @property
    def keeps_bound(self):
        """Whether the public metrics keep their bounds."""
        return self.violation == 0.0

    @property
    def is_solution(self):
        """Whether the model is the solver's own answer, which no search has moved."""
        return np.array_equal(self.parameters, self.result.x[: len(self.parameters)])

    @property
    def rank(self):
        """Those that keep the bound come first, by error; then the others, by violation."""
        return (round(self.violation, DIGITS), not self.is_clear, round(self.error, DIGITS))


@dataclass(frozen=True, eq=False)
class Task:
    """What is to be solved, and how.

    Attributes
    ----------
    problem : ConstrainedProblem
        The problem with smooth rates; its constraint knows the public metrics too.
    solve : callable
        (problem, x, solver) -> Result, from given unknowns; None is the solver of the user's
        choice.
    start : ndarray of shape (n_parameters,)
        Model parameters to start from.
    solver : Solver
        The solver of the user's choice.
    presses : bool
        Whether it is known that the constraint presses, so that the plain fit need not be tried.
    earlier : Candidate or None
        An earlier fit under a constraint on ranks that is like this one but for its tolerances.
    """

    problem: object
    solve: object
    start: np.ndarray
    solver: object
    presses: bool = False
    earlier: Candidate | None = None

    @property
    def constraint(self):
        """The constraint, which knows the public metrics."""
        return self.problem.constraint

    @property
    def tol(self):
        """The solver's tolerance."""
        return self.solver.tol

    def judge(self, parameters, result):
        """The candidate that parameters make."""
        if isinstance(self.problem, PartitionedRankProblem):
            return self._judge_ranks(parameters, result)
        problem, scores = self.problem, self.problem.predicted(parameters)
        wrong = (scores > 0) != (problem.target > 0)
        gaps = self.constraint.gaps(scores)
        is_clear = "decisions" not in self.constraint.statistics or is_clear_of_0(scores)
        error = round(float(problem.share @ wrong), 12)
        violation, decisions = self.violation(gaps), np.unique(scores > 0)
        return Candidate(parameters, scores, error, gaps, violation, is_clear, result, decisions)

    def predicted(self, parameters):
        """Everybody's scores as predictions will have them; None where they lie in parts."""
        return (
            None
            if isinstance(self.problem, PartitionedRankProblem)
            else self.problem.predicted(parameters)
        )

    def _judge_ranks(self, parameters, result):
        gaps, nobody = self.problem.gaps(parameters), np.empty(0, dtype=bool)
        violation = self.violation(gaps)
        return Candidate(parameters, None, np.nan, gaps, violation, True, result, nobody)

    def violation(self, gaps):
        """Largest excess of gaps (n_parts,) over their tolerances; 0 if it is rounding."""
        excess = np.where(np.isnan(gaps), np.inf, gaps - self.constraint.tolerances)
        missed, room = self._missed_and_room(self.constraint)
        rounding = np.maximum(TIE, missed - room)
        return float(np.max(excess, where=excess > rounding, initial=0.0))

    def _missed_and_room(self, constraint):
        """What solvers may miss of each tolerance, and what is left for that, both (n_parts,).

        Metrics that jump are led to their bounds by searches. Of others, such as mean losses, no
        solver returns the bound to the last digit: unless hardly anything is allowed, they are held
        to so much less.
        """
        missed = np.array([self.tol if one.statistic == "values" else 0.0 for one in constraint])
        return missed, np.where(constraint.tolerances > missed, missed, 0.0)

    def solved(self, problem, x, solver=None):
        """Solve a problem from given unknowns; its answer keeps the bounds of continuous metrics.

        Parameters
        ----------
        problem : ConstrainedProblem
            This task's, perhaps with another constraint, other labels or weights.
        x : ndarray of shape (n_unknowns,)
            Where to start.
        solver : Solver or None, default=None
            None is the solver of the user's choice.

        Returns
        -------
        result : Result
        """
        constraint = problem.constraint
        _, room = self._missed_and_room(constraint)
        if room.any():
            held = constraint.with_tolerances(constraint.tolerances - room)
            problem = replace(problem, constraint=held)
        return self.solve(problem, x, solver)

    def candidate(self, problem, x, solver=None):
        """Solve a problem from given unknowns, and judge its answer by the constraint of this task.

        Parameters
        ----------
        problem : ConstrainedProblem
            This task's with another constraint, or with other labels and weights.
        x : ndarray of shape (n_unknowns,)
            Where to start.
        solver : Solver or None, default=None
            None is the solver of the user's choice.
        """
        result = self.solved(problem, x, solver)
        return self.judge(result.x[: problem.n_parameters], result)

    def rehearsed_by(self, few):
        """The same task among few people, solved to the digits that they can know of everybody."""
        solver = clone(self.solver).set_params(tol=max(_REHEARSED_DIGITS, self.tol))

        def solve(problem, x, other=None):
            return self.solve(problem, x, other or solver)

        return replace(self, problem=few, solve=solve, solver=solver)

    def roughly(self, problem, x):
        """The same to fewer digits, for problems of which the metric tells where to go next."""
        tol = max(_FEW_DIGITS, self.tol)
        return self.candidate(problem, x, clone(self.solver).set_params(tol=tol))

    def under(self, constraint):
        """The problem under another constraint."""
        return replace(self.problem, constraint=constraint)

    def with_tolerances(self, tolerances):
        """The same task with other tolerances, (n_parts,)."""
        return replace(self, problem=self.under(self.constraint.with_tolerances(tolerances)))

    def take(self, rows):
        """The same task among some of the people."""
        return replace(self, problem=self.problem.take(rows))

    def from_there(self, found):
        """The same task begun where a candidate is that has met it before, or one much like it."""
        constraint, compares_ranks = self.constraint, "ranks" in self.constraint.statistics
        if not compares_ranks:
            constraint = constraint.correct(found.scores)
        presses = found.result.multipliers.any() or (found.gaps > constraint.tolerances).any()
        return replace(
            self,
            problem=self.under(constraint),
            start=found.parameters,
            presses=bool(presses),
            earlier=found if presses and compares_ranks and _has_rows(found) else None,
        )

    def plain(self, parameters=None, solver=None):
        """The fit without constraint, from given parameters or the start."""
        x = self.start if parameters is None else parameters
        return self.candidate(self.under(ConstraintSystem(())), x, solver)

    def rough(self):
        """A fit without constraint that others may start from."""
        few = self.rehearsal(self.start)
        if few is None:
            return self.plain(solver=_ROUGH)
        found = few.rough()
        return self.judge(found.parameters, found.result)

    def rehearsed(self, constraint):
        """Parameters fitted to some of many people, from which few steps lead to everybody's fit.

        Parameters
        ----------
        constraint : ConstraintSystem
            What their smooth rates keep.
        """
        few = self.among_few(self.under(constraint))
        return self.solve(few, few.initial_point(self.start), SQP(tol=1e-5)).x[: few.n_parameters]

    def rehearsal(self, start):
        """The same task among some of very many people; None where they are not many.

        Parameters
        ----------
        start : ndarray of shape (n_parameters,)
            Model parameters to start from.
        """
        few = self.among_few(self.problem)
        return None if few is self.problem else replace(self, problem=few, start=start)

    def among_few(self, problem):
        """A problem of everybody among some of very many people; itself where they are not many."""
        if getattr(problem, "few", None) is not None:
            return problem.few
        n_samples = len(problem.target)
        if n_samples <= _MANY:
            return problem
        # Fixed draws: fits of the same people are the same.
        rows = np.unique(np.random.default_rng(0).integers(n_samples, size=_REHEARSED))
        try:
            return replace(
                problem,
                model=problem.model.take(rows),
                target=problem.target[rows],
                weights=problem.weights[rows],
                constraint=problem.constraint.take(rows),
            )
        except ValueError:  # an event has nobody among them
            return problem

    def smooth(self):
        """The fit under the smooth rates, as the papers have it."""
        start, constraint = self.start, self.constraint
        if "ranks" in constraint.statistics:
            rough = self.rough()
            start, constraint = rough.parameters, constraint.linearize_at(rough.scores)
        elif len(self.problem.target) > _MANY:
            start = self.rehearsed(constraint)
        problem = self.under(constraint)
        return self.candidate(problem, problem.initial_point(start))


def _has_rows(found):
    """Whether a fit was under constraints, and its gaps are known."""
    return len(found.result.evaluation.problem.constraint) and not np.isnan(found.gaps).any()


def is_clear_of_0(scores):
    """Whether no score is so near to 0 that it might change sign; an exact 0 stays one."""
    sizes = np.abs(scores)
    return not ((sizes > 0) & (sizes <= MARGIN * (1.0 + sizes.max()))).any()


def canonical(values, bits):
    """Values rounded to so many binary digits of the largest."""
    largest = np.abs(values).max(initial=0.0)
    if not largest > 0.0:
        return values
    unit = np.exp2(np.floor(np.log2(largest)) - bits)
    return np.rint(values / unit) * unit


def rank(candidate):
    """Key by which candidates are compared."""
    return candidate.rank
