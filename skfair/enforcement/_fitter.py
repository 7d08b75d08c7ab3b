"""Fits of a constrained problem, and candidates evaluated by the public metrics."""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from sklearn.base import clone

from skfair.constraints import ConstraintSystem
from skfair.enforcement._counting import Candidate, make_counter
from skfair.solvers import SQP

_SUBSAMPLE_TOL = 1e-4
_WARM_START = SQP(tol=1e-5)
_ROUGH = SQP(tol=1e-3)
_ROUGH_TOL = 1e-5
"""Tolerances of solvers: of fits to a subsample, of warm starts, of plain fits that others start
from, and of problems after which the metric decides what is solved next."""


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
    is_active : bool
        Whether the constraint is known to be active, so that the plain fit need not be tried.
    earlier : Candidate or None
        An earlier fit under the same constraint on ranks with other tolerances.
    """

    problem: object
    start: np.ndarray
    solver: object
    options: dict = field(default_factory=dict)
    is_active: bool = False
    earlier: Candidate | None = None
    constraint: object = field(init=False)
    """The constraint, which has the public metrics."""
    tol: float = field(init=False)
    """The solver's tolerance."""

    def __post_init__(self):
        """Store what is constant."""
        vars(self).update(constraint=self.problem.constraint, tol=self.solver.tol)

    @cached_property
    def counter(self):
        """What counts the decisions of models."""
        errors, margins = self._margins(self.constraint)
        return make_counter(self.problem, errors - margins)

    def evaluate(self, parameters, result):
        """The candidate with these parameters; the result is the solver's that led to them."""
        return self.counter.evaluate([parameters], result)[0]

    def _margins(self, constraint):
        """Solver's error of each gap, and the margin by which its tolerance is tightened for that.

        Searches lead decisions and ranks to their bounds. For other metrics, such as mean losses,
        no solver returns the bound to the last digit.
        """
        errors = np.array([self.tol if one.statistic == "values" else 0.0 for one in constraint])
        return errors, np.where(constraint.tolerances > errors, errors, 0.0)

    def fit(self, problem, x, solver=None):
        """Solve a problem from unknowns x, and evaluate the result by the fitter's constraint.

        The problem is the fitter's with another constraint, or with other labels and weights.
        Continuous metrics are solved with a margin, to keep their bounds.
        """
        constraint = problem.constraint
        _, margins = self._margins(constraint)
        if margins.any():
            constraint = constraint.replace_tolerances(constraint.tolerances - margins)
            problem = replace(problem, constraint=constraint)
        result = (solver or self.solver).solve(problem, x, **self.options)
        return self.evaluate(result.x[: problem.n_parameters], result)

    def fit_roughly(self, problem, x):
        """`fit` to fewer digits, where the metric decides what is solved next."""
        tol = max(_ROUGH_TOL, self.tol)
        return self.fit(problem, x, clone(self.solver).set_params(tol=tol))

    def fit_plain(self, parameters=None, solver=None):
        """The fit without constraint, from given parameters or the start."""
        x = self.start if parameters is None else parameters
        return self.fit(self.replace_constraint(ConstraintSystem(())), x, solver)

    def fit_plain_roughly(self):
        """A fit without constraint that others may start from, on the subsample if there is one."""
        fitter = self.take_subsample(self.start)
        if fitter is None:
            return self.fit_plain(solver=_ROUGH)
        rough = fitter.fit_plain_roughly()
        return self.evaluate(rough.parameters, rough.result)

    def take_subsample(self, start):
        """The fitter of the subsample, from given parameters; None if there is no subsample."""
        problem = self.problem.subsample
        return None if problem is self.problem else replace(self, problem=problem, start=start)

    def fit_smooth(self):
        """The fit under the smooth rates."""
        start, constraint = self.start, self.constraint
        if "ranks" in constraint.statistics:
            rough = self.fit_plain_roughly()
            start, constraint = rough.parameters, constraint.linearize_at(rough.scores)
        problem = self.replace_constraint(constraint)
        if "ranks" not in constraint.statistics and problem.subsample is not problem:
            subsample = problem.subsample
            start = _WARM_START.solve(subsample, subsample.initial_point(start), **self.options).x
            start = start[: subsample.n_parameters]
        return self.fit(problem, problem.initial_point(start))

    def start_at(self, candidate):
        """The same fitter, started at the parameters of a candidate."""
        return replace(self, start=candidate.parameters)

    def replace_constraint(self, constraint):
        """The problem under another constraint."""
        return replace(self.problem, constraint=constraint)

    def replace_tolerances(self, tolerances, optimism=None):
        """The same fitter with other tolerances, (n_constraints,), and rates with an optimism."""
        constraint = self.constraint.replace_tolerances(tolerances)
        if optimism is not None:
            constraint = constraint.add_optimism(optimism)
        return replace(self, problem=self.replace_constraint(constraint))

    def restrict_to(self, problem):
        """The fitter of a subsample, with a tolerance that suits its sampling error."""
        tol = max(_SUBSAMPLE_TOL, self.tol)
        return replace(self, problem=problem, solver=clone(self.solver).set_params(tol=tol))

    def restart_at(self, candidate):
        """The same fitter, started at a candidate of a similar fitter."""
        constraint, compares_ranks = self.constraint, "ranks" in self.constraint.statistics
        if not compares_ranks:
            constraint = constraint.correct(candidate.scores)
        is_active = candidate.result.multipliers.any()
        is_active = bool(is_active or (candidate.gaps > constraint.tolerances).any())
        has_rows = len(candidate.result.evaluation.problem.constraint)
        is_like = compares_ranks and has_rows and not np.isnan(candidate.gaps).any()
        return replace(
            self,
            problem=self.replace_constraint(constraint),
            start=candidate.parameters,
            is_active=is_active,
            earlier=candidate if is_active and is_like else None,
        )


def canonical(values, bits):
    """Values rounded to this number of binary digits of the largest."""
    largest = np.abs(values).max(initial=0.0)
    if not largest > 0.0:
        return values
    unit = np.exp2(np.floor(np.log2(largest)) - bits)
    return np.rint(values / unit) * unit
