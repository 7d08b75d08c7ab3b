"""A check for solvers of one's own."""

from dataclasses import replace

import numpy as np
from scipy import optimize
from sklearn.base import clone

from skfair._problems.evaluation import Box
from skfair._problems.problem import Problem, example_problem
from skfair.solvers._solver import Iterate, Progress, Result, Solver, choose_rows, kkt_residual
from skfair.solvers._sqp import SQP


def check_solver(solver: Solver, *, tol: float = 1e-2) -> None:
    """Check a solver's answers, certificates, callbacks and seeds on a small problem.

    A solver that ``projects`` onto regions is also tried in a box that cuts off the minimum.

    Parameters
    ----------
    solver : Solver
        The solver, for instance of a class of one's own, with settings by which it solves a problem
        of three parameters and one row.
    tol : float, default=0.01
        Distance of the objective to the minimum that is accepted, beyond what the violation of the
        row is worth.

    Returns
    -------
    None
        If no check fails.

    Raises
    ------
    ValueError
        If the answer is outside of the region or too far from the minimum, a status contradicts the
        violation or the residual, the certificate cannot be recomputed, two runs with one seed
        differ, or a callback does not stop the solver.

    Examples
    --------
    >>> from skfair.solvers import GDA, check_solver
    >>> check_solver(GDA(max_iter=2000))
    """
    problem = example_problem()
    exact = SQP(tol=1e-9).solve(problem)
    name = type(solver).__name__
    solver = clone(solver)
    dual = np.abs(exact.multipliers).sum()
    result = _check_answer(solver, problem, exact.fun, dual, tol)
    if solver.projects:
        # A box that cuts off the minimum by one parameter, and holds the others.
        box = Box(exact.x - 1.0, exact.x + np.where(np.arange(len(exact.x)) == 1, -0.3, 1.0))
        problem_in_box = replace(problem, region=box)
        in_box = _check_answer(solver, problem_in_box, _minimum_in(box, problem), dual, tol)
        distance = np.abs(problem_in_box.project(in_box.x) - in_box.x).max()
        _require(distance == 0.0, name, "leaves the region", distance)
    # Seeds and callbacks.
    repeated = solver.solve(problem, random_state=0)
    _require(np.array_equal(result.x, repeated.x), name, "differs between runs of one seed", 0.0)
    calls: list = []

    def stop_at_once(progress: Progress) -> bool:
        calls.append(progress)
        return True

    solver.solve(problem, random_state=0, callback=stop_at_once)
    _require(len(calls) == 1, name, "goes on after a callback returned True", len(calls))


def _check_answer(
    solver: Solver, problem: Problem, minimum: float, dual: float, atol: float
) -> Result:
    """Solve a problem, and compare the answer with the minimum and its certificate."""
    name = type(solver).__name__
    result = solver.solve(problem, random_state=0)
    # The answer: feasible, and near the minimum; a violated row gains its multiplier.
    _require(result.violation <= max(solver.tol, atol), name, "violates the row", result.violation)
    place = "" if problem.region is None else " in a region"
    distance = abs(result.fun - minimum)
    is_near = distance <= atol + result.violation * dual
    _require(is_near, name, f"misses the minimum{place}", distance)
    # The certificate: what is called optimal is, by a residual that can be recomputed.
    of_row = choose_rows(solver, problem)
    again = kkt_residual(Iterate(of_row.evaluate(result.x), result.multipliers))
    _require(again <= result.residual + 1e-8, name, "reports a residual smaller than it is", again)
    is_certified = result.residual <= solver.tol and result.violation <= solver.tol
    _require(
        (result.status == "optimal") == is_certified, name, f"has status {result.status!r}", again
    )
    return result


def _minimum_in(box: Box, problem: Problem) -> float:
    """The minimum of a problem in a box, by another method (SLSQP)."""
    rows = optimize.NonlinearConstraint(
        lambda x: problem.evaluate(x).values,
        problem.lower,
        problem.upper,
        jac=lambda x: problem.evaluate(x).jacobian,
    )
    return optimize.minimize(
        lambda x: problem.evaluate(x).fun,
        box.upper,
        jac=lambda x: problem.evaluate(x).grad,
        # The box is rows too: some versions of SciPy leave bounds by a last digit, and warn.
        constraints=[rows, optimize.LinearConstraint(np.eye(len(box.upper)), box.lower, box.upper)],
        method="SLSQP",
        options={"ftol": 1e-12},
    ).fun


def _require(holds: bool, name: str, what: str, value: float) -> None:
    """Raise if a requirement does not hold."""
    if not holds:
        raise ValueError(
            f"{name} {what} ({value:.3g}) on example_problem(). Check its steps and multipliers, "
            "or pass settings by which it solves a problem of three parameters."
        )
