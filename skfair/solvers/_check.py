"""A check for solvers of one's own."""

from __future__ import annotations

import numpy as np
from sklearn.base import clone

from skfair.problems import example_problem
from skfair.solvers._certificate import kkt_residual
from skfair.solvers._solver import Iterate, Solver
from skfair.solvers._sqp import SQP


def check_solver(solver: Solver, *, atol: float = 1e-2) -> None:
    """Check a solver's answers, certificates, callbacks and seeds on a small convex problem.

    Parameters
    ----------
    solver : Solver
        The solver, for instance of a class of one's own, with settings by which it solves a problem
        of three parameters and one row.
    atol : float, default=0.01
        Distance of the objective to the minimum that is accepted, beyond what the violation of the
        row is worth.

    Returns
    -------
    None
        If no check fails.

    Raises
    ------
    ValueError
        If the answer is too far from the minimum, a status contradicts the violation or the
        residual, the certificate cannot be recomputed, two runs with one seed differ, or a callback
        does not stop the solver.

    Examples
    --------
    >>> from skfair.solvers import GDA, check_solver
    >>> check_solver(GDA(max_iter=2000))
    """
    problem = example_problem()
    exact = SQP(tol=1e-9).solve(problem)
    name, solver = type(solver).__name__, clone(solver)
    result = solver.solve(problem, random_state=0)
    # The answer: feasible, and near the minimum; a violated row gains its multiplier.
    gained = result.violation * np.abs(exact.multipliers).sum()
    _require(result.violation <= max(solver.tol, atol), name, "violates the row", result.violation)
    distance = abs(result.fun - exact.fun)
    _require(distance <= atol + gained, name, "misses the minimum", distance)
    # The certificate: what is called optimal is, by a residual that can be recomputed.
    of_row = problem.single() if solver.one_row else problem
    again = kkt_residual(Iterate(of_row.evaluate(result.x), result.multipliers))
    _require(again <= result.residual + 1e-8, name, "reports a residual smaller than it is", again)
    is_certified = result.residual <= solver.tol and result.violation <= solver.tol
    _require(
        (result.status == "optimal") == is_certified, name, f"has status {result.status!r}", again
    )
    # Seeds and callbacks.
    repeated = solver.solve(problem, random_state=0)
    _require(np.array_equal(result.x, repeated.x), name, "differs between runs of one seed", 0.0)
    calls: list = []

    def stop_at_once(progress):
        calls.append(progress)
        return True

    solver.solve(problem, random_state=0, callback=stop_at_once)
    _require(len(calls) == 1, name, "goes on after a callback returned True", len(calls))


def _require(holds, name, what, value):
    """Raise if a requirement does not hold."""
    if not holds:
        raise ValueError(
            f"{name} {what} ({value:.3g}) on example_problem(). Check its steps and multipliers, "
            "or pass settings by which it solves a problem of three parameters."
        )
