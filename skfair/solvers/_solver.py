"""What all solvers share: stopping, the best iterate, and the certificate of an answer."""

from abc import abstractmethod
from dataclasses import dataclass
from numbers import Integral, Real
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from skfair.problems import Evaluation
from skfair.utils._sklearn import Interval, validate_parameter_constraints


class Iterate(NamedTuple):
    """Where a solver stands.

    Attributes
    ----------
    evaluation : Evaluation
        The problem at the iterate.
    multipliers : ndarray of shape (n_rows,)
        The solver's own multipliers, positive at upper and negative at lower bounds.
    chosen : bool or None
        Whether the iterate is the answer so far, by an output rule of the solver's own; None
        leaves the choice to the driver, who keeps the best feasible one.
    details : dict
        What else a solver shows to callbacks, by the names of its paper.
    """

    evaluation: Evaluation
    multipliers: np.ndarray
    chosen: bool | None = None
    details: dict = MappingProxyType({})


class Progress(NamedTuple):
    """What a callback of a solver is told.

    Attributes
    ----------
    n_iter : int
        Iterations so far.
    evaluation : Evaluation
        The problem at the iterate.
    residual : float
        Residual of the optimality conditions; nan at iterations where it is not measured.
    multipliers : ndarray of shape (n_rows,)
        Multipliers of the rows, positive at upper and negative at lower bounds.
    details : dict
        What else the solver shows, by the names of its paper: :class:`PLADA` its two multipliers.

    Examples
    --------
    >>> from skfair.solvers import Progress
    >>> Progress._fields
    ('n_iter', 'evaluation', 'residual', 'multipliers', 'details')
    """

    n_iter: int
    evaluation: Evaluation
    residual: float
    multipliers: np.ndarray
    details: dict


@dataclass(frozen=True, eq=False)
class Result:
    """What a solver found.

    Attributes
    ----------
    x : ndarray of shape (n_unknowns,)
        Model parameters and auxiliary unknowns.
    fun : float
        Objective at x.
    violation : float
        Largest excess of a row of the constraint at x.
    residual : float
        Largest residual of the optimality (KKT) conditions at x with these multipliers.
    multipliers : ndarray of shape (n_rows,)
        Positive where an upper bound presses, negative where a lower one does.
    n_iter : int
        Number of iterations.
    status : {"optimal", "max_iter", "infeasible"}
        "optimal": violation and residual are at most ``tol``. "max_iter": the constraint is kept,
        but optimality is not certified. "infeasible": it is not kept.
    message : str
        The same in words, with the numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.solvers import Result
    >>> Result(np.zeros(1), 0.5, 0.0, 1e-9, np.zeros(0), 3, "optimal", "done").status
    'optimal'
    """

    x: np.ndarray
    fun: float
    violation: float
    residual: float
    multipliers: np.ndarray
    n_iter: int
    status: str
    message: str


class Solver(BaseEstimator):
    """Base of all solvers: a solver's own part is one generator of iterates.

    Parameters
    ----------
    max_iter : int
        Most iterations.
    tol : float
        Largest violation of a row and largest residual of the optimality conditions at which the
        solver stops.
    """

    _parameter_constraints = {
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    check_every = 1
    """Iterations between two measurements of the optimality conditions, which cost a pass."""

    @abstractmethod
    def _iterate(self, problem, x, random_state):
        """Yield an `Iterate` for x, and for every point after it."""

    def solve(self, problem, x0=None, *, random_state=None, callback=None):
        """Solve a problem.

        Parameters
        ----------
        problem : ConstrainedProblem
            What to minimise, and what must hold.
        x0 : ndarray of shape (n_unknowns,), default=None
            Where to start; None takes ``problem.initial_point()``.
        random_state : int, RandomState instance or None, default=None
            Determines the draws of a stochastic solver.
        callback : callable, default=None
            Called with a `Progress` after every iteration; returning True stops.

        Returns
        -------
        result : Result
            The iterate that is certified; else of those that keep the constraint up to ``tol`` the
            one of least objective; else the one of least violation. The start counts only if there
            is no other: it may keep the constraint by deciding nothing.

        Raises
        ------
        ValueError
            If a parameter is out of range, or the objective is not finite at the start.
        """
        validate_parameter_constraints(
            self._parameter_constraints, self.get_params(deep=False), type(self).__name__
        )
        x0 = problem.initial_point() if x0 is None else np.asarray(x0, dtype=np.float64)
        if not np.isfinite(start := problem.evaluate(x0).fun):
            raise ValueError(
                f"The objective is {start} at the start: rescale the columns of X, or start "
                "elsewhere."
            )
        best = None
        iterates = self._iterate(problem, x0, check_random_state(random_state))
        for n_iter, iterate in enumerate(iterates):
            measured = n_iter % self.check_every == 0
            residual = kkt_residual(iterate) if measured else np.nan
            after_start = n_iter == 1 and iterate.chosen is None
            if best is None or after_start or _replaces(iterate, best, self.tol):
                best = iterate
            certified = residual <= self.tol and iterate.evaluation.violation <= self.tol
            if certified:
                best = iterate
            told = Progress(
                n_iter, iterate.evaluation, residual, iterate.multipliers, iterate.details
            )
            stopped = callback is not None and callback(told)
            if certified or stopped or n_iter >= self.max_iter:
                break
        return self._result(best, n_iter)

    def _result(self, best, n_iter):
        evaluation, residual, multipliers = best.evaluation, kkt_residual(best), best.multipliers
        if residual > self.tol:
            estimate = least_squares_multipliers(evaluation, self.tol)
            estimated = kkt_residual(Iterate(evaluation, estimate))
            if estimated < residual:
                residual, multipliers = estimated, estimate
        kept, certified = evaluation.violation <= self.tol, residual <= self.tol
        status = "infeasible" if not kept else "optimal" if certified else "max_iter"
        message = (
            f"{type(self).__name__} stopped after {n_iter} iterations with violation "
            f"{evaluation.violation:.2g} and residual {residual:.2g} (tol={self.tol:g})."
        )
        return Result(
            evaluation.x,
            evaluation.fun,
            evaluation.violation,
            residual,
            multipliers,
            n_iter,
            status,
            message,
        )


def _replaces(iterate, best, tol):
    """Whether an iterate is feasible at a lower objective, or nearer to being feasible."""
    if iterate.chosen is not None:
        return iterate.chosen
    new, old = iterate.evaluation, best.evaluation
    if old.violation <= tol:
        return new.violation <= tol and new.fun < old.fun
    return new.violation < old.violation


def kkt_residual(iterate):
    r"""Largest residual of stationarity and complementarity.

    .. math::

        \max\bigl(\|\nabla f + J^T \lambda\|_\infty,\;
        \max_r \lambda_r^+ (upper_r - c_r)^+,\; \max_r \lambda_r^- (c_r - lower_r)^+\bigr)

    Parameters
    ----------
    iterate : Iterate
        The point and its multipliers.

    Returns
    -------
    residual : float
    """
    evaluation, multipliers = iterate.evaluation, iterate.multipliers
    stationarity = np.abs(evaluation.lagrangian_gradient(multipliers)).max(initial=0.0)
    problem, values = evaluation.problem, evaluation.values
    pressing = multipliers != 0
    bound = np.where(multipliers > 0, problem.upper, problem.lower)[pressing]
    slack = np.maximum(0.0, np.sign(multipliers[pressing]) * (bound - values[pressing]))
    complementarity = np.abs(multipliers[pressing]) * slack
    return float(max(stationarity, complementarity.max(initial=0.0)))


def least_squares_multipliers(evaluation, tol):
    """Multipliers of the active rows that make the gradient of the Lagrangian least.

    Parameters
    ----------
    evaluation : Evaluation
        The problem at a point.
    tol : float
        Rows within it of a bound, or beyond, are active.

    Returns
    -------
    multipliers : ndarray of shape (n_rows,)
    """
    problem, values = evaluation.problem, evaluation.values
    above = np.flatnonzero(values >= problem.upper - tol)
    below = np.flatnonzero(values <= problem.lower + tol)
    multipliers = np.zeros(len(values))
    if len(above) + len(below):
        jacobian = evaluation.jacobian
        columns = np.vstack((jacobian[above], -jacobian[below])).T
        pressures = nnls(columns, -evaluation.grad)[0]
        np.add.at(multipliers, above, pressures[: len(above)])
        np.subtract.at(multipliers, below, pressures[len(above) :])
    return multipliers
