"""Linear and integer programs, against results by hand and all integers."""

from itertools import product

import numpy as np
import pytest
from scipy import sparse

from skfair._utils.programs import Program, solve_program


def make_knapsack(cost_unit=1.0, row_unit=1.0):
    """Eight things of a value and a weight each, of which some fit."""
    rng = np.random.default_rng(0)
    values = rng.integers(1, 30, 8).astype(float)
    weights = rng.integers(1, 30, 8).astype(float)
    rows = sparse.csr_array(row_unit * weights[np.newaxis])
    high = np.array([row_unit * weights.sum() / 2])
    return Program(-cost_unit * values, rows, np.array([-np.inf]), high, 0.0, 1.0, True)


@pytest.mark.parametrize("cost_unit", [2.0**-40, 1.0, 2.0**30])
@pytest.mark.parametrize("row_unit", [2.0**-40, 1.0, 2.0**30])
def test_integers_in_any_unit(cost_unit, row_unit, capfd):
    program = make_knapsack(cost_unit, row_unit)
    solution = solve_program(program)
    choices = np.array(list(product((0, 1), repeat=8)))
    fits = choices @ program.rows.toarray()[0] <= program.high[0]
    assert solution.status == "optimal" and solution.gap == pytest.approx(0, abs=1e-6)
    assert solution.cost == pytest.approx((choices[fits] @ program.costs).min(), rel=1e-12)
    assert (solution.unknowns == solve_program(make_knapsack()).unknowns).all()
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize("cost_unit", [2.0**-40, 1.0])
@pytest.mark.parametrize("row_unit", [2.0**-40, 1.0])
def test_multipliers_of_a_linear_program(cost_unit, row_unit):
    # min x + 3 y, x + y = 4, 1 <= y <= 3, x <= 2: (2, 2), and one more of x <= 2 saves 2.
    rows = np.array([[1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    program = Program(
        cost_unit * np.array([1.0, 3.0]),
        sparse.csr_array(row_unit * rows),
        row_unit * np.array([4.0, 1.0, -np.inf]),
        row_unit * np.array([4.0, 3.0, 2.0]),
        -np.inf,
    )
    solution = solve_program(program)
    assert solution.status == "optimal" and solution.unknowns.tolist() == [2, 2]
    assert solution.cost == 8 * cost_unit and solution.reduced_costs.tolist() == [0, 0]
    expected = np.array([3.0, 0.0, -2.0]) * cost_unit / row_unit
    assert solution.row_multipliers == pytest.approx(expected)


@pytest.mark.parametrize("is_integer", [False, True])
def test_lower_bounds_have_positive_multipliers_and_infeasible_rows_none(is_integer):
    rows = sparse.csr_array(np.ones((1, 2)))
    program = Program(np.array([1.0, 2.0]), rows, 1.0, np.inf, 0.0, 5.0, is_integer)
    solution = solve_program(program)
    assert solution.cost == 1 and solution.unknowns.tolist() == [1, 0]
    if not is_integer:
        assert solution.row_multipliers.tolist() == [1]
        assert solution.reduced_costs.tolist() == [0, 1]
    impossible = solve_program(program._replace(low=11.0))
    assert (impossible.unknowns, impossible.status) == (None, "infeasible")
    endless = solve_program(program._replace(costs=np.array([-1.0, 2.0]), largest=np.inf))
    assert endless.unknowns is None and endless.status in ("unbounded", "stopped")


def test_a_search_that_is_stopped_says_so():
    rng = np.random.default_rng(0)
    rows = sparse.csr_array(rng.integers(1, 100, (5, 40)).astype(float))
    high = rows.sum(axis=1) / 2
    program = Program(-rng.uniform(1, 2, 40), rows, -np.inf, high, 0.0, 1.0, True)
    stopped = solve_program(program, max_nodes=1)
    assert stopped.status == "stopped" and stopped.gap > 1e-6
    assert (rows @ stopped.unknowns <= high + 1e-6).all()
