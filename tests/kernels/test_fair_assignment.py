"""The dual of the fair assignment against its definitions and against the linear programme.

The dual is piecewise linear, so that finite differences say nothing at its breakpoints. That the
counts are its slope is tested by the inequality that defines supergradients of a concave function.
"""

import functools
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from skfair._kernels import fair_assignment
from skfair._kernels import fair_assignment as kernels
from skfair._kernels.limits import add_rows, balance_limits, required_ratios, size_rows
from skfair._partitions.partitions import make_partitions
from skfair.cluster.kmeans import _dual
from tests.kernels.standalone import standalone


def balance_ratios(n_groups, ratio):
    return required_ratios(balance_limits(n_groups, ratio))


def limits_of(n_groups, ratio=0.0, smallest=-np.inf, largest=np.inf):
    """Limits on the balance and, of two, on the size of clusters."""
    limits = balance_limits(n_groups, ratio)
    return add_rows(limits, *size_rows(limits, smallest, largest))


def multipliers_of(multipliers, limits, sizes=None):
    """Multipliers of pairs and of the rows of sizes, all 0 by default."""
    rows = np.zeros((len(multipliers), len(limits.rows))) if sizes is None else sizes
    return fair_assignment.Multipliers(multipliers, rows)


def fill_offsets(multipliers, ratio, sizes=None, limits=None):
    n_groups = multipliers.shape[1]
    limits = limits or (
        limits_of(n_groups) if sizes is None else limits_of(n_groups, 0.0, 0.0, 1.0)
    )
    duals = multipliers_of(multipliers, limits, sizes)
    offsets = np.empty(multipliers.shape[:2])
    ratios = ratio if np.ndim(ratio) else balance_ratios(n_groups, ratio)
    standalone(fair_assignment.fill_offsets)(duals, ratios, limits, offsets)
    return offsets


class Problem(NamedTuple):
    distances: np.ndarray  # (n_clusters, n_samples)
    codes: np.ndarray
    weights: np.ndarray
    ratio: float
    n_groups: int
    smallest: float = -np.inf
    largest: float = np.inf

    @property
    def limits(self):
        return limits_of(self.n_groups, self.ratio, self.smallest, self.largest)

    @property
    def rows(self):
        return self.distances, self.codes, self.weights

    @property
    def memberships(self):
        """Weight of each sample in the column of its group, (n_samples, n_groups)."""
        return np.eye(self.n_groups)[self.codes] * self.weights[:, None]


def make_problem(rng, n_samples, n_clusters, n_groups, share=0.8):
    """Random points and centres; the ratio is a share of the balance of the data."""
    X = rng.normal(size=(n_samples, 2))
    centers = rng.normal(size=(n_clusters, 2))
    codes = rng.permutation(np.arange(n_samples) % n_groups)
    X[:, 0] += 2 * codes  # separated groups make the constraints bind
    weights = rng.uniform(0.5, 2.0, n_samples)
    by_group = np.bincount(codes, weights)
    distances = ((X - centers[:, None]) ** 2).sum(axis=2)
    return Problem(distances, codes, weights, share * by_group.min() / by_group.max(), n_groups)


def random_multipliers(rng, n_clusters, n_groups):
    """About half of them zero, as is the diagonal, where a group is bound to itself."""
    multipliers = rng.exponential(size=(n_clusters, n_groups, n_groups))
    return multipliers * (rng.random(multipliers.shape) < 0.5) * (1 - np.eye(n_groups))


@st.composite
def problems(draw):
    """A random problem and two sets of multipliers."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_clusters, n_groups = draw(st.integers(1, 4)), draw(st.integers(2, 4))
    problem = make_problem(rng, draw(st.integers(4, 20)), n_clusters, n_groups, rng.random())
    scale = 10.0 ** draw(st.integers(-2, 2))
    return problem, *(scale * random_multipliers(rng, n_clusters, n_groups) for _ in range(2))


def dual(problem, multipliers, width=np.inf):
    """Value of the dual and the assignment of minimum cost."""
    evaluation = kernels.evaluate_dual(
        problem.rows, fill_offsets(multipliers, problem.ratio), width
    )
    return evaluation.value, evaluation


def solve(problem, start=None, slack=0.0, n_partitions=1):
    start = start or _dual.zero_solution(len(problem.distances), problem.limits)
    cuts = np.array_split(np.arange(len(problem.codes)), n_partitions)
    partitioned = make_partitions(
        [(problem.distances[:, p].copy(), problem.codes[p], problem.weights[p]) for p in cuts]
    )
    solution, evaluation = _dual.solve_dual(partitioned, problem.limits, start, slack)
    labels, gaps = _dual.gather_labels_and_gaps(evaluation)
    return solution._replace(labels=labels, gaps=gaps)


def programme_optimum(problem):
    """Cost of the cheapest fractional assignment, by HiGHS."""
    n_clusters, n_samples = problem.distances.shape
    memberships = problem.memberships.T  # rows: n[k, i] as a function of the shares s[k]
    pairs = [(i, j) for i in range(problem.n_groups) for j in range(problem.n_groups) if i != j]
    shortfall = [problem.ratio * memberships[j] - memberships[i] for i, j in pairs]
    bounds = [0.0] * len(pairs)
    if problem.smallest > 0:
        shortfall.append(-memberships.sum(axis=0))
        bounds.append(-problem.smallest)
    if problem.largest < np.inf:
        shortfall.append(memberships.sum(axis=0))
        bounds.append(problem.largest)
    result = linprog(
        (problem.distances * problem.weights).ravel(),
        A_ub=np.kron(np.eye(n_clusters), np.array(shortfall)),
        b_ub=np.tile(bounds, n_clusters),
        A_eq=np.tile(np.eye(n_samples), n_clusters),
        b_eq=np.ones(n_samples),
        method="highs",
    )
    assert result.success
    return result.fun


def violations(problem, counts):
    """``ratio n[k, j] - n[k, i]`` at position (k, i, j); 0 where i = j."""
    excess = problem.ratio * counts[:, None, :] - counts[:, :, None]
    return excess * (1 - np.eye(problem.n_groups))


# One assignment -----------------------------------------------------------------------


@pytest.mark.slow
@given(problems())
def test_offsets_equal_their_formula(drawn):
    problem, y, _ = drawn
    expected = problem.ratio * np.einsum("kji->ki", y) - np.einsum("kij->ki", y)
    np.testing.assert_allclose(fill_offsets(y, problem.ratio), expected, atol=1e-12)


@pytest.mark.parametrize("n_samples", [1, 127, 128, 130])
@pytest.mark.parametrize("n_clusters", [1, 2, 4])
def test_an_assignment_is_the_argmin_of_the_costs(n_samples, n_clusters):
    rng = np.random.default_rng(n_samples)
    problem = make_problem(rng, n_samples, n_clusters, 1 if n_samples == 1 else 3)
    multipliers = random_multipliers(rng, n_clusters, problem.n_groups)
    value, assignment = dual(problem, multipliers)
    offsets = fill_offsets(multipliers, problem.ratio)
    costs = problem.distances + offsets[:, problem.codes]
    ranked = np.argsort(costs, axis=0, kind="stable")
    np.testing.assert_array_equal(assignment.labels, ranked[0])
    if n_clusters > 1:
        next_to = np.zeros((problem.n_groups, n_clusters, n_clusters))
        np.add.at(next_to, (problem.codes, *ranked[:2]), problem.weights)
        np.testing.assert_allclose(assignment.tie_weights, next_to, rtol=1e-12)
        gaps = np.diff(np.sort(costs, axis=0)[:2], axis=0)[0]
        np.testing.assert_array_equal(assignment.gaps, gaps)
    else:
        assert (assignment.gaps == np.inf).all()
    members = np.eye(n_clusters)[assignment.labels]
    np.testing.assert_allclose(assignment.counts, members.T @ problem.memberships, atol=1e-12)
    assert value == pytest.approx(problem.weights @ costs.min(axis=0))


def test_equal_costs_go_to_the_lowest_index():
    distances = np.array([[2.0, 1.0], [1.0, 1.0], [1.0, 1.0]])
    problem = Problem(distances, np.array([0, 1]), np.ones(2), 1.0, 2)
    _, assignment = dual(problem, np.zeros((3, 2, 2)))
    assert assignment.labels.tolist() == [1, 0]
    assert np.argwhere(assignment.tie_weights).tolist() == [[0, 1, 2], [1, 0, 1]]
    assert assignment.gaps.tolist() == [0, 0]


@given(problems())
def test_the_counts_are_a_supergradient_of_the_dual(drawn):
    problem, y, z = drawn
    value, assignment = dual(problem, y)
    slope = (violations(problem, assignment.counts) * (z - y)).sum()
    other, _ = dual(problem, z)
    assert other <= value + slope + 1e-10 * (1 + abs(value) + abs(slope))


@given(problems())
def test_any_multipliers_bound_the_cost_from_below(drawn):
    problem, y, _ = drawn
    optimum = programme_optimum(problem)
    for multipliers in (y, 0.01 * y, solve(problem).multipliers.ratios):
        assert dual(problem, multipliers)[0] <= optimum + 1e-8 * (1 + optimum)


# The parts of a Newton step -----------------------------------------------------------


def test_ties_are_those_of_the_samples_whose_gap_is_below_the_width():
    problem = make_problem(np.random.default_rng(0), 60, 3, 2)
    width = 0.5
    nothing = np.zeros((3, 2, 2))
    _, assignment = dual(problem, nothing, width)
    near = assignment.gaps < width
    assert 0 < assignment.n_near_ties == near.sum() < 60
    subset = problem._replace(
        distances=problem.distances[:, near].copy(),
        codes=problem.codes[near],
        weights=problem.weights[near],
    )
    np.testing.assert_array_equal(assignment.tie_weights, dual(subset, nothing)[1].tie_weights)


def fitting_width(gaps):
    evaluation = kernels.DualEvaluation(None, gaps, 0.0, None, None, 0)
    return _dual._near_tie_width(
        SimpleNamespace(block_evaluations=make_partitions([evaluation]), n_samples=len(gaps))
    )


def test_the_width_takes_in_a_share_of_the_gaps():
    gaps = np.random.default_rng(0).exponential(size=500)
    assert (gaps < fitting_width(gaps)).mean() == pytest.approx(_dual.NEAR_TIE_SHARE, abs=1 / 500)
    assert fitting_width(np.zeros(9)) > 0


@pytest.fixture(params=[2, 3], ids=lambda n_groups: f"{n_groups} groups")
def step(request):
    """Multipliers, counts, ratio and tie density of a random Newton step."""
    n_clusters, n_groups = 3, request.param
    rng = np.random.default_rng(n_groups)
    multipliers = random_multipliers(rng, n_clusters, n_groups)
    counts = rng.uniform(1, 9, (n_clusters, n_groups))
    density = rng.uniform(size=(n_groups, n_clusters, n_clusters))
    density = (density + density.transpose(0, 2, 1)) * (1 - np.eye(n_clusters))
    return multipliers, counts, 0.7, density


def free_and_gradient(multipliers, counts, ratio):
    """Positive multipliers, and violated bounds of a cluster's smallest and largest group."""
    k, i, j = np.indices(multipliers.shape)
    violation = ratio * counts[k, j] - counts[k, i]
    extreme = (i == counts.argmin(axis=1)[k]) | (j == counts.argmax(axis=1)[k])
    free = (i != j) & ((multipliers > 0) | (extreme & (violation > 0)))
    return free, np.where(free, violation, 0)


def dense_hessian(multipliers, ratio, density):
    """M L M': M maps multipliers to offsets, L is the Laplacian of the ties of each group."""
    n_clusters, n_groups, _ = multipliers.shape
    laplacian = np.zeros((n_clusters, n_groups, n_clusters, n_groups))
    for g in range(n_groups):
        laplacian[:, g, :, g] = np.diag(density[g].sum(axis=1)) - density[g]
    laplacian = laplacian.reshape(n_clusters * n_groups, -1)
    units = np.eye(multipliers.size).reshape(-1, *multipliers.shape)
    to_offsets = np.array([fill_offsets(unit, ratio).ravel() for unit in units])
    return to_offsets @ laplacian @ to_offsets.T


def rows_of(multipliers, counts, ratio, sizes=None, smallest=-np.inf, largest=np.inf):
    """The rows of a step, and the ratios."""
    limits = limits_of(multipliers.shape[1], ratio, smallest, largest)
    ratios = required_ratios(limits)
    duals = multipliers_of(multipliers, limits, sizes)
    n_rows, *columns = list_free_multipliers()(duals, counts, limits, ratios)
    return fair_assignment.FreeMultipliers(n_rows, *(column[:n_rows] for column in columns)), ratios


@functools.cache
def list_free_multipliers():
    """The rows as a tuple of arrays."""
    compiled = fair_assignment.list_free_multipliers

    def as_tuple(duals, counts, limits, ratios):
        rows = compiled(duals, counts, limits, ratios)
        return rows.n_rows, rows.cells, rows.values, rows.violations

    return standalone(as_tuple)


def entries_at(rows, table):
    """What a table of all pairs has at the rows."""
    return table[tuple(rows.cells.T)]


@pytest.mark.slow
@pytest.mark.covering(0)
def test_free_are_the_multipliers_that_a_step_may_change(step):
    multipliers, counts, ratio, _ = step
    free, gradient = free_and_gradient(multipliers, counts, ratio)
    rows, _ = rows_of(multipliers, counts, ratio)
    np.testing.assert_array_equal(rows.cells, np.argwhere(free))
    np.testing.assert_array_equal(entries_at(rows, gradient), rows.violations)
    np.testing.assert_array_equal(entries_at(rows, multipliers), rows.values)


@pytest.mark.slow
def test_sizes_out_of_bounds_and_those_with_a_multiplier_are_rows():
    counts = np.array([[3.0, 3.0], [1.0, 1.0], [4.0, 4.0]])
    duals = np.array([[0.0, 0.0], [0.5, 0.0], [0.25, 0.0]])
    nothing = np.zeros((3, 2, 2))
    rows, _ = rows_of(nothing, counts, 0.0, duals, smallest=3.0, largest=7.0)
    row = fair_assignment.ROW_SENTINEL
    assert rows.cells.tolist() == [[1, row, 0], [2, row, 0], [2, row, 1]]
    assert rows.values.tolist() == [0.5, 0.25, 0]
    assert rows.violations.tolist() == [3 - 2, 3 - 8, 8 - 7]
    offsets = np.empty((3, 2))
    standalone(fair_assignment.fill_free_offsets)(
        rows, np.array([0.5, 0.25, 2.0]), np.zeros((2, 2)), limits_of(2, 0.0, 3.0, 7.0), offsets
    )
    np.testing.assert_array_equal(offsets, [[0, 0], [-0.5, -0.5], [1.75, 1.75]])


@pytest.mark.slow
def test_the_hessian_is_applied_as_a_matrix_would_be(step):
    multipliers, counts, ratio, density = step
    free, direction = free_and_gradient(multipliers, counts, ratio)
    hessian = dense_hessian(multipliers, ratio, density)
    product = (hessian @ direction.ravel()).reshape(direction.shape) + 0.1 * direction
    rows, ratios = rows_of(multipliers, counts, ratio)
    result = np.full(rows.n_rows, np.nan)
    standalone(fair_assignment._apply_negative_hessian)(
        rows.violations,
        rows,
        fair_assignment.list_ties(density),
        ratios,
        limits_of(len(ratios), 0.0, 0.0, 1.0),
        0.1,
        result,
    )
    np.testing.assert_allclose(result, entries_at(rows, product), atol=1e-10)
    diagonal = np.diag(hessian)[free.ravel()]
    mean = standalone(fair_assignment._mean_hessian_diagonal)(
        rows, fair_assignment.list_ties(density), ratios, limits_of(len(ratios), 0.0, 0.0, 1.0)
    )
    assert mean == pytest.approx(diagonal.mean())


def matrix_of(rows, ratios, density):
    """What `_apply_negative_hessian` multiplies by, column by column."""
    matrix = np.empty((rows.n_rows, rows.n_rows))
    for column, unit in zip(matrix.T, np.eye(rows.n_rows), strict=True):
        image = np.empty(rows.n_rows)
        standalone(fair_assignment._apply_negative_hessian)(
            unit,
            rows,
            fair_assignment.list_ties(density),
            ratios,
            limits_of(len(ratios), 0.0, 0.0, 1.0),
            0.0,
            image,
        )
        column[:] = image
    return matrix


@pytest.mark.covering(1)
@pytest.mark.parametrize("sized", [False, True])
@pytest.mark.parametrize("scale", [1e3, 1.0, 0.1])
def test_the_newton_step_solves_the_damped_system_and_leaves_no_multiplier_negative(
    step, sized, scale
):
    multipliers, counts, ratio, density = step
    ridge = 0.1
    mean = counts.sum(axis=1).mean()
    limits = {"smallest": mean, "largest": mean} if sized else {}
    rows, ratios = rows_of(scale * multipliers, counts, ratio, **limits)
    matrix = matrix_of(rows, ratios, density)
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-12)
    assert np.linalg.eigvalsh(matrix).min() > -1e-9
    if sized:  # every cluster but one at the mean is too large or too small
        assert (rows.cells[:, 1] < 0).sum() >= len(counts) - 1
    # A cluster with a bound on its size counts as having the ties of an average one at least.
    mean = standalone(fair_assignment._mean_hessian_diagonal)(
        rows, fair_assignment.list_ties(density), ratios, limits_of(len(ratios), 0.0, 0.0, 1.0)
    )
    exact = np.diag(matrix).mean()
    assert exact <= mean if sized else mean == pytest.approx(exact)
    damped = matrix + ridge * mean * np.eye(rows.n_rows)
    direction, gain = newton_direction(rows, ratios, density, ridge)
    assert (rows.values + direction >= 0).all()
    # Far from 0 none stops there; where some do, the others solve what is left of the system.
    stopped = rows.values + direction == 0
    assert stopped[rows.values > 0].any() == (scale < 1e3)
    residual = (damped @ direction - rows.violations)[~stopped]
    limit = 1.01 * fair_assignment.CG_TOLERANCE * np.linalg.norm(rows.violations)
    assert np.linalg.norm(residual) <= limit
    assert gain == pytest.approx(direction @ (rows.violations - matrix @ direction / 2))


def newton_direction(rows, ratios, density, ridge):
    return standalone(fair_assignment.newton_direction)(
        rows,
        ratios,
        limits_of(len(ratios), 0.0, 0.0, 1.0),
        fair_assignment.list_ties(density),
        ridge,
    )


@pytest.mark.covering(0)
def test_without_ties_the_newton_step_is_finite(step):
    """Nothing says how far to go; whatever comes out, the ascent tries it and then shrinks it."""
    multipliers, counts, ratio, density = step
    rows, ratios = rows_of(multipliers, counts, ratio)
    direction, gain = newton_direction(rows, ratios, 0 * density, 0.1)
    assert np.isfinite(direction).all()
    assert np.isfinite(gain)


def worst_violation(multipliers, counts, ratio, sizes=None, smallest=-np.inf, largest=np.inf):
    limits = limits_of(counts.shape[1], ratio, smallest, largest)
    duals = multipliers_of(multipliers, limits, sizes)
    ratios = required_ratios(limits)
    return fair_assignment.kkt_residual(duals, counts, limits, ratios)


def test_the_worst_violation_breaks_feasibility_or_slackness():
    counts = np.array([[4.0, 10.0]])  # at ratio .5: group 0 lacks 1, group 1 has 8 too many
    multipliers = np.zeros((1, 2, 2))
    assert worst_violation(multipliers, counts, 0.5) == 1
    assert worst_violation(multipliers, counts, 0.5, smallest=17.0) == 3
    assert worst_violation(multipliers, counts, 0.5, largest=10.0) == 4
    size_duals = np.array([[1.0]])  # a multiplier of a minimum size with 10 to spare
    assert worst_violation(multipliers, counts, 0.5, size_duals, smallest=4.0) == 10
    multipliers[0, 0, 1] = 1  # a multiplier of the violated constraint: still 1
    assert worst_violation(multipliers, counts, 0.5) == 1
    multipliers[0, 1, 0] = 1  # a multiplier of a constraint with 8 to spare
    assert worst_violation(multipliers, counts, 0.5) == 8


def test_ratios_in_several_scales_are_the_strictest():
    limits = balance_limits(2, 0.5)
    np.testing.assert_array_equal(required_ratios(limits), np.full((2, 2), 0.5))
    # Shares of groups of 10 and 40: .8 of a share of 4 to 1.
    shares = limits._replace(level=0.8, scales=np.array([[1.0, 0.25]]))
    np.testing.assert_allclose(required_ratios(shares), [[0.8, 0.2], [3.2, 0.8]])
    both = limits._replace(
        scales=np.array([[1.0, 1.0], [1.0, 0.25]]), factors=np.array([1.0, 0.5 / 0.8])
    )
    np.testing.assert_allclose(required_ratios(both), [[0.8, 0.5], [3.2, 0.8]])


# The ascent ---------------------------------------------------------------------------


@pytest.mark.parametrize("n_groups", [2, 3, 4])
def test_the_ascent_reaches_the_optimum_of_the_programme(n_groups):
    problem = make_problem(np.random.default_rng(n_groups), 400, 4, n_groups)
    optimum = programme_optimum(problem)
    unfair, _ = dual(problem, np.zeros((4, n_groups, n_groups)))
    assert unfair < 0.98 * optimum  # else nothing would be shown
    assert solve(problem).value == pytest.approx(optimum, rel=1e-3)


@pytest.mark.covering(1)
@pytest.mark.parametrize("share", [0.0, 0.9])
@pytest.mark.parametrize("sizes", [(95.0, np.inf), (-np.inf, 105.0), (100.0, 100.0), (90.0, 120.0)])
def test_the_ascent_reaches_the_optimum_with_bounds_on_sizes(share, sizes):
    problem = make_problem(np.random.default_rng(1), 400, 4, 2, share)
    problem = problem._replace(weights=np.ones(400), smallest=sizes[0], largest=sizes[1])
    optimum = programme_optimum(problem)
    without = programme_optimum(problem._replace(smallest=-np.inf, largest=np.inf))
    assert without < 0.99 * optimum  # else nothing would be shown
    solution = solve(problem)
    assert solution.value <= optimum * (1 + 1e-9)
    assert solution.value == pytest.approx(optimum, rel=1e-3)
    duals = solution.multipliers
    offsets = fill_offsets(duals.ratios, problem.ratio, duals.rows, problem.limits)
    np.testing.assert_allclose(solution.offsets, offsets, atol=1e-12)


@pytest.mark.slow
@given(problems())
def test_a_solution_is_consistent(drawn):
    problem, y, _ = drawn
    start = _dual.zero_solution(len(problem.distances), problem.limits)
    start = start._replace(multipliers=start.multipliers._replace(ratios=y.copy()))
    solution = solve(problem, start)
    assert (solution.multipliers.ratios >= 0).all()
    offsets = fill_offsets(solution.multipliers.ratios, problem.ratio)
    np.testing.assert_array_equal(solution.offsets, offsets)
    value, assignment = dual(problem, solution.multipliers.ratios)
    np.testing.assert_array_equal(solution.labels, assignment.labels)
    np.testing.assert_array_equal(solution.gaps, assignment.gaps)
    assert solution.value == pytest.approx(value, rel=1e-12, abs=1e-12)
    assert solution.value >= dual(problem, y)[0]  # it never goes down
    np.testing.assert_array_equal(start.multipliers.ratios, y)


def test_the_ascent_stops_where_every_constraint_holds_within_the_slack():
    problem = make_problem(np.random.default_rng(3), 400, 3, 2)
    slack = 4.0
    solution = solve(problem, slack=slack)
    _, assignment = dual(problem, solution.multipliers.ratios)
    assert violations(problem, assignment.counts).max() <= slack
    again = solve(problem, solution, slack=slack)  # a warm start that needs no step
    np.testing.assert_array_equal(again.multipliers.ratios, solution.multipliers.ratios)


def test_partitioned_samples_have_the_same_solution():
    problem = make_problem(np.random.default_rng(3), 400, 3, 2)
    full = solve(problem)
    partitioned = solve(problem, n_partitions=9)
    assert partitioned.value == pytest.approx(full.value, rel=1e-7)
    assert (partitioned.labels == full.labels).mean() > 0.98


def test_a_ratio_of_zero_has_no_offsets():
    problem = make_problem(np.random.default_rng(0), 50, 3, 2, share=0.0)
    solution = solve(problem)
    assert not solution.offsets.any()
    np.testing.assert_array_equal(solution.labels, problem.distances.argmin(axis=0))


def test_one_group_has_no_offsets():
    problem = make_problem(np.random.default_rng(0), 50, 3, 1, share=1.0)
    solution = solve(problem)
    assert not solution.offsets.any()
    assert solution.value == pytest.approx(problem.weights @ problem.distances.min(axis=0))


def test_separated_groups_share_clusters_at_the_optimal_offsets():
    """Two sites, one group each: at ratio 1 half of either group changes clusters, by symmetry."""
    X = np.repeat([0.0, 1.0], 50)
    distances = np.array([X**2, (X - 1) ** 2])
    problem = Problem(distances, np.repeat([0, 1], 50), np.ones(100), 1.0, 2)
    assert programme_optimum(problem) == pytest.approx(50)
    assert solve(problem).value == pytest.approx(50)
