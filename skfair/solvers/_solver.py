"""The driver of all solvers: stopping, the best iterate, and the certificate of the answer."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.optimize import lsq_linear, nnls
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from skfair._problems.evaluation import Evaluation
from skfair._problems.linear import has_rough_gram
from skfair._problems.problem import ConstrainedProblem
from skfair._utils.api import RandomState
from skfair._utils.checks import number_text
from skfair._utils.parameters import NonNegative, PositiveInt, validate_params

if TYPE_CHECKING:
    from skfair._problems.problem import Problem


# The certificate of an answer: multipliers and the residual of the optimality conditions.


_MAX_ENTRIES = 1 << 25
"""Maximum number of entries of the Jacobian of the active rows."""


def kkt_residual(iterate: Iterate) -> float:
    r"""Maximum residual of stationarity and complementarity.

    .. math::

        \max\bigl(\|\nabla f + J^T \lambda\|_\infty,\;
        \max_r \lambda_r^+ (upper_r - c_r)^+,\; \max_r \lambda_r^- (c_r - lower_r)^+\bigr)

    With a region of the problem, stationarity is the length of the projected gradient step.
    """
    evaluation, multipliers = iterate.evaluation, iterate.multipliers
    gradient = iterate.lagrangian_gradient
    if gradient is None:
        gradient = evaluation.lagrangian_gradient(multipliers)
    problem, values, x = evaluation.problem, evaluation.values, evaluation.x
    # On a region: how far the projected gradient step moves.
    if problem.region is not None:
        gradient = x - problem.project(x - gradient)
    stationarity = np.abs(gradient).max(initial=0.0)
    is_active = multipliers != 0
    # The bound that a multiplier belongs to: the upper one if it is positive.
    bound = np.where(multipliers > 0, problem.upper, problem.lower)[is_active]
    slack = np.maximum(0.0, np.sign(multipliers[is_active]) * (bound - values[is_active]))
    complementarity = np.abs(multipliers[is_active]) * slack
    return float(max(stationarity, complementarity.max(initial=0.0)))


def estimate_multipliers(evaluation: Evaluation, distance: float) -> np.ndarray:
    """Multipliers that minimise the Lagrangian's gradient, of rows within ``distance`` of a bound.

    All are 0 if the Jacobian of the active rows would have more than 2 ** 25 entries, as for many
    groups in a network.
    """
    problem = evaluation.problem
    one_sided = problem.one_sided
    active = np.flatnonzero(one_sided.values(evaluation.values) >= -distance)
    duals = np.zeros(len(one_sided.rows))
    if 0 < len(active) * problem.n_unknowns <= _MAX_ENTRIES:
        # Duals of upper and lower bounds are non-negative: least squares with signs.
        jacobian = evaluation.jacobian_of(one_sided.rows[active])
        columns = (one_sided.signs[active, np.newaxis] * jacobian).T
        try:
            duals[active] = nnls(columns, -evaluation.grad)[0]
        except RuntimeError:  # SciPy before 1.15 may go round in circles
            duals[active] = lsq_linear(columns, -evaluation.grad, (0.0, np.inf)).x
    return one_sided.multipliers(duals)


# The driver of all solvers: stopping, the best iterate, and the certificate of the answer.


class Iterate(NamedTuple):
    """An iterate of a solver.

    Read more in the :ref:`guide <solvers>`.

    Attributes
    ----------
    evaluation : Evaluation
        The problem at the iterate.
    multipliers : ndarray of shape (n_rows,)
        The multipliers of the solver, positive at upper and negative at lower bounds.
    chosen : bool or None
        Whether the iterate is the answer so far, by an output rule of the solver; None leaves the
        choice to the driver, which keeps the best feasible one.
    details : dict
        Further values for callbacks, by the names of the solver's paper.
    lagrangian_gradient : ndarray of shape (n_unknowns,) or None
        Gradient of the Lagrangian with these multipliers, from solvers that have computed it; None
        leaves it to the driver, when it measures the optimality conditions.

    Examples
    --------
    >>> from skfair.solvers import Iterate
    >>> Iterate(evaluation=None, multipliers=None).chosen is None
    True
    """

    evaluation: Evaluation
    multipliers: np.ndarray
    chosen: bool | None = None
    details: Mapping[str, Any] = MappingProxyType({})
    lagrangian_gradient: np.ndarray | None = None


class Progress(NamedTuple):
    """The argument of a callback of a solver.

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
        Further values, by the names of the solver's paper, such as both multipliers of PLADA.
    best : Evaluation
        The problem at the answer if this were the last iteration.
    make_result : callable or None
        Gives the `Result` if this were the last iteration.

    Examples
    --------
    >>> from skfair.solvers._solver import Progress
    >>> Progress._fields
    ('n_iter', 'evaluation', 'residual', 'multipliers', 'details', 'best', 'make_result')
    """

    n_iter: int
    evaluation: Evaluation
    residual: float
    multipliers: np.ndarray
    details: dict
    best: Evaluation
    make_result: Callable | None = None


@dataclass(frozen=True, eq=False)
class Result:
    """The answer of a solver with its certificate.

    Attributes
    ----------
    x : ndarray of shape (n_unknowns,)
        Model parameters and auxiliary unknowns.
    fun : float
        Objective at x.
    violation : float
        Maximum excess of a row of the constraint at x.
    evaluation : Evaluation
        The problem at the answer, with scores, objective and rows.
    residual : float
        Maximum residual of the optimality (KKT) conditions at x with these multipliers.
    multipliers : ndarray of shape (n_rows,)
        Positive where an upper bound is active, negative where a lower one is.
    n_iter : int
        Number of iterations.
    status : {"optimal", "max_iter", "infeasible"}
        "optimal": violation and residual are at most ``tol``. "max_iter": the constraint holds, but
        optimality is not certified. "infeasible": the constraint is violated.
    message : str
        The status in words, with the numbers and, unless it is "optimal", what to do.
    is_cut_short : bool, default=False
        Whether ``max_iter`` ended the solver.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair._bound.bound import ConstraintSystem
    >>> from skfair.losses import SquaredLoss
    >>> from skfair._problems.linear import LinearModel
    >>> from skfair._problems.problem import ConstrainedProblem
    >>> from skfair.solvers import SQP
    >>> X, y, weights = np.array([[-1.0], [1.0]]), np.array([-1.0, 1.0]), np.ones(2)
    >>> model = LinearModel.from_features(X, weights)
    >>> problem = ConstrainedProblem(model, SquaredLoss(), y, weights, 0.0, ConstraintSystem(()))
    >>> result = SQP().solve(problem)
    >>> result.status, result.x.round(6)
    ('optimal', array([1., 0.]))
    """

    x: np.ndarray
    fun: float
    violation: float
    evaluation: Evaluation
    residual: float
    multipliers: np.ndarray
    n_iter: int
    status: str
    message: str
    is_cut_short: bool = False


class Solver(BaseEstimator):
    """Base class of all solvers, which implement one generator of iterates.

    Read more in the :ref:`guide <solvers>`.

    Parameters
    ----------
    max_iter : int
        Maximum number of iterations.
    tol : float
        Maximum violation of a row and maximum residual of the optimality conditions at which the
        solver stops.

    Examples
    --------
    Gradient descent, which ignores the rows:

    >>> import numpy as np
    >>> from skfair._bound.bound import ConstraintSystem
    >>> from skfair.losses import SquaredLoss
    >>> from skfair._problems.linear import LinearModel
    >>> from skfair._problems.problem import ConstrainedProblem
    >>> from skfair.solvers._solver import Iterate
    >>> from skfair.solvers import Solver
    >>> class Descent(Solver):
    ...     def __init__(self, max_iter=100, tol=1e-6):
    ...         super().__init__(max_iter, tol)
    ...
    ...     def _iterate(self, problem, x, random_state):
    ...         while True:
    ...             evaluation = problem.evaluate(x)
    ...             yield Iterate(evaluation, np.zeros(len(problem.lower)))
    ...             x = x - 0.5 * evaluation.grad
    >>> X, y, weights = np.array([[-1.0], [1.0]]), np.array([-1.0, 1.0]), np.ones(2)
    >>> model = LinearModel.from_features(X, weights)
    >>> problem = ConstrainedProblem(model, SquaredLoss(), y, weights, 0.0, ConstraintSystem(()))
    >>> Descent().solve(problem).status
    'optimal'
    """

    requires: tuple[str, ...] = ()
    """Requirements of a solver: names in ``REQUIREMENTS``; a property if they depend on the
    solver's settings."""

    advice = "Raise max_iter or tol, or try solver='sqp'."
    """What to do if an answer is not certified."""

    check_every = 1
    """Iterations between two measurements of the optimality conditions, which cost a pass.

    In between the driver only evaluates objective and rows, and only to choose the best iterate:
    nothing is computed of an iterate with ``chosen=False``.
    """

    projects = False
    """Whether iterates are projected onto the region of the problem."""

    one_row = False
    """Whether each gap is one piecewise smooth row, without auxiliary unknowns."""

    by_pair = False
    """Whether each range has a row for each ordered pair of its means, without such unknowns."""

    def __init__(self, max_iter: PositiveInt, tol: NonNegative):
        self.max_iter = max_iter
        self.tol = tol

    @abstractmethod
    def _iterate(
        self, problem: Problem, x: np.ndarray, random_state: np.random.RandomState
    ) -> Iterator | None:
        """Yield an `Iterate` for the start x and for every point after it; the driver stops."""

    def solve(
        self,
        problem: ConstrainedProblem,
        x0: np.ndarray | None = None,
        *,
        random_state: RandomState = None,
        callback: Callable | None = None,
    ) -> Result:
        """Solve a problem.

        Parameters
        ----------
        problem : ConstrainedProblem
            What to minimise, and what must hold.
        x0 : ndarray of shape (n_unknowns,), default=None
            Starting point; None is ``problem.initial_point()``. Solvers with one row per gap
            (``one_row``) solve ``problem.join_rows()``, those with a row for each pair of means
            (``by_pair``) ``problem.separate_pairs()``, and take the model parameters of it.
        random_state : int, RandomState instance or None, default=None
            Determines the draws of a stochastic solver.
        callback : callable, default=None
            Called with a `Progress` after every iteration; if it returns True, the solver stops.

        Returns
        -------
        result : Result
            The certified iterate; otherwise the feasible one (up to ``tol``) of minimum objective;
            otherwise the one of minimum violation. The start only counts if there is no other
            iterate, as constant decisions may be feasible.

        Raises
        ------
        ValueError
            If a parameter is out of range, the model or the constraint lacks what the solver
            requires, or the objective is not finite at the start.
        """
        for progress in self.iterate(problem, x0, random_state):
            if callback is not None and callback(progress):
                break
        assert progress.make_result is not None  # solvers give it, training loops do not
        return progress.make_result()

    def iterate(
        self,
        problem: ConstrainedProblem,
        x0: np.ndarray | None = None,
        random_state: RandomState = None,
    ) -> Iterator[Progress]:
        """Yield the progress after every iteration of `solve`, to the last one.

        A caller that stops early takes the answer of ``progress.make_result()``.

        Parameters
        ----------
        problem : ConstrainedProblem
            What to minimise, and what must hold.
        x0 : ndarray of shape (n_unknowns,), default=None
            Starting point, as in `solve`.
        random_state : int, RandomState instance or None, default=None
            Determines the draws of a stochastic solver.

        Yields
        ------
        progress : Progress
            The state after an iteration; the first one is the start.

        Raises
        ------
        ValueError
            As in `solve`, before the first iteration.
        """
        validate_params(self)
        problem = choose_rows(self, problem)
        random_state = check_random_state(random_state)
        x0 = problem.initial_point(random_state=random_state) if x0 is None else np.asarray(x0)
        # One row per gap has no auxiliary unknowns.
        x0 = problem.project(x0[: problem.n_unknowns].astype(np.float64))
        initial_evaluation = problem.evaluate(x0)
        check_solver_requirements(self, initial_evaluation)
        if not np.isfinite(initial_evaluation.fun):
            raise ValueError(
                f"The objective must be finite at the start, but it is {initial_evaluation.fun}. "
                "Rescale the columns of X, or pass another x0."
            )
        # Keep the best iterate: any certified one, else by feasibility and objective.
        best = None
        iterates = self._iterate(problem, initial_evaluation.x, random_state)
        for n_iter, iterate in enumerate(iterates):
            # Certificate of the iterate.
            is_measured = n_iter % self.check_every == 0
            residual = kkt_residual(iterate) if is_measured else np.nan
            after_start = n_iter == 1 and iterate.chosen is None
            is_certified = residual <= self.tol and iterate.evaluation.violation <= self.tol
            if is_certified or best is None or after_start or _is_better(iterate, best, self.tol):
                best, residual_of_best = iterate, residual
            # What callers see, and stopping.
            yield Progress(
                n_iter=n_iter,
                evaluation=iterate.evaluation,
                residual=residual,
                multipliers=iterate.multipliers,
                details=iterate.details,
                best=best.evaluation,
                make_result=partial(self._make_result, best, residual_of_best, n_iter),
            )
            if is_certified or n_iter >= self.max_iter:
                break

    def _make_result(self, best: Iterate, residual: float, n_iter: int) -> Result:
        """The result of the best iterate, whose multipliers may be estimated again."""
        evaluation, multipliers = best.evaluation, best.multipliers
        residual = kkt_residual(best) if np.isnan(residual) else residual
        # Least-squares multipliers may certify what the solver's multipliers do not.
        if residual > self.tol:
            estimate = estimate_multipliers(evaluation, self.tol)
            estimated = kkt_residual(Iterate(evaluation, estimate))
            if estimated < residual:
                residual, multipliers = estimated, estimate
        is_feasible = evaluation.violation <= self.tol
        is_certified = residual <= self.tol
        status = "infeasible" if not is_feasible else "optimal" if is_certified else "max_iter"
        is_cut_short = status != "optimal" and n_iter >= self.max_iter
        message = (
            f"{type(self).__name__} stopped after {n_iter} iterations with "
            f"violation {number_text(evaluation.violation, 2)} and "
            f"residual {residual:.2g} (tol={self.tol:g})."
        )
        if status != "optimal":
            # Where no step was better, or a callback stopped the solver, more would be no remedy.
            advice = self.advice if is_cut_short else self.advice.replace("max_iter or ", "")
            message += f" {advice}"
        return Result(
            x=evaluation.x,
            fun=evaluation.fun,
            violation=evaluation.violation,
            evaluation=evaluation,
            residual=residual,
            multipliers=multipliers,
            n_iter=n_iter,
            status=status,
            message=message,
            is_cut_short=is_cut_short,
        )


REQUIREMENTS = {
    "gram": (
        "a model that gives Gram matrices",
        lambda evaluation: hasattr(evaluation.point, "gram"),
        "use SQP(hessian='lbfgs') or another first-order solver",
    ),
    "rough gram": (
        "a linear model of 200 dense columns or more",
        lambda evaluation: has_rough_gram(evaluation.problem.model),
        "use SQP(hessian='exact')",
    ),
    "linear": (
        "a model that is linear in its parameters, to estimate its step sizes",
        lambda evaluation: hasattr(evaluation.point, "push_forward"),
        "give the step sizes as numbers, or use SQP(hessian='lbfgs')",
    ),
    "majorant": (
        "a constraint that is a difference of convex functions, with a majorant",
        lambda evaluation: _all_have_attribute("majorant", evaluation.problem.rows),
        "use solver='sqp'",
    ),
    "drawn majorant": (
        "a constraint whose majorant is a mean over samples, of which mini-batches can be drawn",
        lambda evaluation: _all_have_attribute("has_batch_majorant", evaluation.problem.rows),
        "use solver='sqp', or IDCA, which uses all samples at once",
    ),
    "batches": (
        "a constraint that mini-batches can be drawn from, by its method take_batch",
        lambda evaluation: _all_have_attribute("take_batch", evaluation.problem.rows),
        "use solver='sqp', or for networks 'sqp-lbfgs'",
    ),
    "decisions": (
        "a constraint that can be shifted to count decisions, by its method correct",
        lambda evaluation: _all_have_attribute("correct", evaluation.problem.rows),
        "use solver='sqp'",
    ),
}
"""Requirements by name: description, test of an evaluation, and what to do without."""


def choose_rows(solver: BaseEstimator, problem: ConstrainedProblem) -> ConstrainedProblem:
    """The problem with rows of the form that a solver takes."""
    if solver.by_pair:
        return problem.separate_pairs()
    return problem.join_rows() if solver.one_row else problem


def _all_have_attribute(name: str, rows: object) -> bool:
    """Whether rows, or each component of stacked ones, have an attribute."""
    components = getattr(rows, "components", (rows,))
    return all(getattr(one, name, False) for one in components)


def check_solver_requirements(solver: BaseEstimator, evaluation: Evaluation) -> None:
    """Raise for a problem that does not meet the requirements of a solver."""
    if evaluation.problem.region is not None and not solver.projects:
        raise ValueError(
            f"{type(solver).__name__} cannot project onto a region, but the problem has the region "
            f"{evaluation.problem.region}; use a first-order solver, such as solver='gda'."
        )
    for name in solver.requires:
        need, has_it, remedy = REQUIREMENTS[name]
        if not has_it(evaluation):
            problem = evaluation.problem
            raise ValueError(
                f"{type(solver).__name__} needs {need}, but the problem has a "
                f"{type(problem.model).__name__} and a {type(problem.constraint).__name__} "
                f"without it; {remedy}."
            )


def _is_better(iterate: Iterate, best: Iterate, max_violation: float) -> bool:
    """Whether an iterate is feasible with lower objective, or has a smaller violation."""
    # Some solvers choose their answer by themselves, such as by a random draw.
    if iterate.chosen is not None:
        return iterate.chosen
    new, old = iterate.evaluation, best.evaluation
    if old.violation <= max_violation:
        return new.violation <= max_violation and new.fun < old.fun
    return new.violation < old.violation
