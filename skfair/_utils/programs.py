"""Linear and integer programs, which HiGHS solves by scipy.

HiGHS has absolute tolerances: it takes rows that are missed by 1e-6 for satisfied, and loses
differences of costs below 1e-7. So programs are scaled before, by powers of two: the result does
not depend on the unit of the costs, nor on the unit of a row.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from scipy import optimize, sparse

# "stopped": at a limit of nodes or seconds, or where HiGHS shows nothing.
Status = Literal["optimal", "infeasible", "unbounded", "stopped"]

# By the number of scipy; others show nothing.
_STATUSES: dict[int, Status] = {0: "optimal", 2: "infeasible", 3: "unbounded"}


class Program(NamedTuple):
    """Minimise ``costs @ x`` over unknowns x, such that ``low <= rows @ x <= high``."""

    costs: np.ndarray  # (n_unknowns,)
    rows: sparse.csr_array  # (n_rows, n_unknowns)
    low: np.ndarray | float  # (n_rows,), may be -inf
    high: np.ndarray | float  # (n_rows,), may be inf
    smallest: np.ndarray | float = 0.0  # (n_unknowns,) bounds of the unknowns
    largest: np.ndarray | float = np.inf  # (n_unknowns,)
    is_integer: np.ndarray | bool = False  # (n_unknowns,)


class Solution(NamedTuple):
    """What a program ends with."""

    unknowns: np.ndarray | None  # (n_unknowns,); None if none were found
    status: Status
    cost: float  # inf if none were found
    gap: float  # share of the cost by which the optimum may be lower; inf if none were found
    # Of programs without integers that are "optimal", else empty:
    row_multipliers: np.ndarray = np.empty(0)  # (n_rows,) change of the cost by unit of a bound
    reduced_costs: np.ndarray = np.empty(0)  # (n_unknowns,)

    def require_unknowns(self) -> np.ndarray:
        """Return the unknowns of a program that has a solution."""
        if self.unknowns is None:
            raise RuntimeError(
                f"HiGHS must solve a program that has a solution, but its status is {self.status!r}"
                "; report the data."
            )
        return self.unknowns


def solve_program(
    program: Program,
    *,
    max_gap: float = 1e-6,
    max_nodes: int | None = None,
    max_seconds: float | None = None,
    presolve: bool = True,
) -> Solution:
    """Return the best unknowns found, and whether they are optimal.

    A search for integers may end at a cost that is above the optimum by a share ``max_gap`` of it.
    Limits of nodes give equal results on all machines, limits of seconds may not. ``presolve`` says
    whether HiGHS simplifies programs with integers first.
    """
    cost_unit = _find_unit(program.costs)
    row_units = _find_row_units(program.rows)  # (n_rows,)
    scaled = program._replace(
        costs=program.costs / cost_unit,
        rows=sparse.csr_array(sparse.diags_array(1.0 / row_units) @ program.rows),
        low=program.low / row_units,
        high=program.high / row_units,
    )
    if np.any(program.is_integer):
        options = {"mip_rel_gap": max_gap, "presolve": presolve}
        if max_nodes is not None:
            options["node_limit"] = max_nodes
        if max_seconds is not None:
            options["time_limit"] = max_seconds
        solution = _solve_integers(scaled, options)
    else:
        solution = _solve_linear(scaled, max_seconds)
    return _restore_units(solution, cost_unit, row_units)


def _find_unit(values: np.ndarray) -> float:
    """Power of two near the median of the absolute values that are not 0; 1 without any."""
    sizes = np.abs(values[values != 0])
    return float(2.0 ** np.floor(np.log2(np.median(sizes)))) if len(sizes) else 1.0


def _find_row_units(rows: sparse.csr_array) -> np.ndarray:
    """Power of two below the largest absolute coefficient of each row, (n_rows,)."""
    largest = abs(rows).max(axis=1).toarray().ravel()
    return 2.0 ** np.floor(np.log2(np.where(largest > 0, largest, 1.0)))


def _read_status(number: int) -> Status:
    """The status of a number of scipy."""
    return _STATUSES.get(number, "stopped")


def _solve_integers(program: Program, options: dict[str, float | bool]) -> Solution:
    """Solve a scaled program with integers by branch and bound."""
    solved = optimize.milp(
        program.costs,
        integrality=np.broadcast_to(program.is_integer, program.costs.shape).astype(int),
        bounds=optimize.Bounds(program.smallest, program.largest),
        constraints=optimize.LinearConstraint(program.rows, program.low, program.high),
        options=options,
    )
    status = _read_status(solved.status)
    if solved.x is None:
        return Solution(None, status, np.inf, np.inf)
    return Solution(solved.x, status, float(solved.fun), float(solved.mip_gap))


def _solve_linear(program: Program, max_seconds: float | None) -> Solution:
    """Solve a scaled program without integers by the dual simplex method."""
    n_rows = program.rows.shape[0]
    low, high = np.broadcast_to(program.low, n_rows), np.broadcast_to(program.high, n_rows)
    # scipy takes equations, and rows with upper bounds.
    is_equal = low == high
    has_high = np.flatnonzero(~is_equal & (high < np.inf))
    has_low = np.flatnonzero(~is_equal & (low > -np.inf))
    options = {} if max_seconds is None else {"time_limit": max_seconds}
    shape = program.costs.shape
    solved = optimize.linprog(
        program.costs,
        A_ub=sparse.vstack([program.rows[has_high], -program.rows[has_low]]),
        b_ub=np.append(high[has_high], -low[has_low]),
        A_eq=program.rows[is_equal],
        b_eq=high[is_equal],
        bounds=np.column_stack(
            [np.broadcast_to(program.smallest, shape), np.broadcast_to(program.largest, shape)]
        ),
        method="highs-ds",
        options=options,
    )
    status = _read_status(solved.status)
    if status != "optimal":
        return Solution(None, status, np.inf, np.inf)
    multipliers = np.zeros(n_rows)
    multipliers[is_equal] = solved.eqlin.marginals
    multipliers[has_high] = solved.ineqlin.marginals[: len(has_high)]
    multipliers[has_low] -= solved.ineqlin.marginals[len(has_high) :]
    reduced_costs = solved.lower.marginals + solved.upper.marginals
    return Solution(solved.x, status, float(solved.fun), 0.0, multipliers, reduced_costs)


def _restore_units(solution: Solution, cost_unit: float, row_units: np.ndarray) -> Solution:
    """The solution with costs and multipliers in the units of the program before scaling."""
    solution = solution._replace(cost=cost_unit * solution.cost)
    if len(solution.row_multipliers) == 0:
        return solution
    return solution._replace(
        row_multipliers=cost_unit * solution.row_multipliers / row_units,
        reduced_costs=cost_unit * solution.reduced_costs,
    )
