"""Values of exchanges, and starts."""

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.spatial.distance import cdist

from skfair._kernels.limits import add_rows, balance_limits, size_rows
from skfair._kernels.medoids import exchange_values
from skfair.cluster.kmedoids._sites import (
    SearchSettings,
    SearchStart,
    SiteProblem,
    alternate_sites,
    bound_exchanges,
    build_sites,
    draw_sites,
    find_ends,
    find_medoids,
    solve_sites,
)


def test_values_of_exchanges_are_sums_of_least_costs():
    rng = np.random.default_rng(0)
    costs = rng.exponential(size=(40, 300))
    codes = rng.integers(0, 2, 40)
    weights = rng.uniform(1, 2, 40)
    offsets = rng.normal(size=(3, 2))
    sites = np.array([4, 7, 299])
    at_sites = costs[:, sites] + offsets.T[codes]
    least = np.sort(at_sites, axis=1)[:, :2].copy()
    labels = at_sites.argmin(axis=1).astype(np.int32)
    values = exchange_values(costs, codes, weights, offsets, labels, least)
    for k, site in ((0, 5), (1, 256), (2, 0)):
        changed = at_sites.copy()
        changed[:, k] = costs[:, site] + offsets[k, codes]
        np.testing.assert_allclose(values[k, site], weights @ changed.min(axis=1))


def test_bounds_of_exchanges_are_below_their_costs():
    rng = np.random.default_rng(0)
    costs = rng.exponential(size=(60, 12))
    limits = balance_limits(1)
    largest = rng.integers(22, 30, 12).astype(float)
    limits = add_rows(limits, *size_rows(limits, np.full(12, 5.0), largest))
    codes = np.zeros(60, dtype=np.intp)
    problem = SiteProblem(costs, np.ones(60), codes, limits, np.ones(12, dtype=bool))
    start = solve_sites(problem, np.array([0, 1, 2]))
    values = bound_exchanges(problem, start)
    assert np.isinf(values[:, :3]).all()
    for k in range(3):
        for site in range(3, 12):
            sites = start.sites.copy()
            sites[k] = site
            assert values[k, site] <= solve_sites(problem, sites).value * (1 + 1e-3)


def test_build_adds_the_cheapest_site():
    costs = np.random.default_rng(0).exponential(size=(30, 8))
    limits = balance_limits(1)
    allowed = np.arange(8) != 2
    problem = SiteProblem(costs, np.ones(30), np.zeros(30, dtype=np.intp), limits, allowed)
    sites = build_sites(problem, 3)
    expected = []
    for _ in range(3):
        free = [j for j in range(8) if j != 2 and j not in expected]
        expected.append(min(free, key=lambda j: costs[:, [*expected, j]].min(axis=1).sum()))
    assert sites.tolist() == expected


def draw_balanced_points(n_samples, seed=0):
    """Points of two groups around different centres, each a possible site; a balance of 0.8."""
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.arange(n_samples) % 2).astype(np.intp)
    X = rng.normal(size=(n_samples, 2)) + codes[:, np.newaxis]
    allowed = np.ones(n_samples, dtype=bool)
    limits = balance_limits(2, level=0.8)
    return SiteProblem(cdist(X, X), np.ones(n_samples), codes, limits, allowed)


def solve_linear_program(problem, sites):
    """Cost of the cheapest assignment of parts of samples within a balance, by scipy."""
    n_samples, n_clusters = len(problem.costs), len(sites)
    counts = np.zeros((2, n_clusters, n_samples, n_clusters))
    for cluster in range(n_clusters):
        for group in range(2):
            counts[group, cluster, problem.codes == group, cluster] = 1.0
    level = problem.limits.level
    pairs = np.vstack([level * counts[0] - counts[1], level * counts[1] - counts[0]])
    solved = linprog(
        problem.costs[:, sites].ravel(),
        A_ub=pairs.reshape(2 * n_clusters, -1),
        b_ub=np.zeros(2 * n_clusters),
        A_eq=np.kron(np.eye(n_samples), np.ones(n_clusters)),
        b_eq=np.ones(n_samples),
    )
    return solved.fun


@pytest.mark.parametrize("ridge", [1.0, 1e9])
def test_duals_arrive_from_those_of_other_sites(ridge):
    problem = draw_balanced_points(80)
    rng = np.random.default_rng(1)
    dual = None
    for _ in range(5):
        sites = rng.choice(80, 4, replace=False)
        solved = solve_sites(problem, sites, dual)
        expected = solve_linear_program(problem, sites)
        assert expected * (1 - 1e-3) <= solved.value <= expected * (1 + 1e-9)
        # What an ascent ends with that got stuck near a tie.
        dual = solved.dual._replace(ridge=ridge)


def test_medoids_are_the_cheapest_sites_of_clusters():
    problem = draw_balanced_points(60)._replace(fixed=np.array([7]))
    weights = np.random.default_rng(0).uniform(1, 2, 60)
    problem = problem._replace(weights=weights)
    problem.allowed[:5] = False
    solved = solve_sites(problem, np.array([7, 20, 40]))
    sites = find_medoids(problem, solved)
    assert sites[0] == 7
    candidates = [site for site in range(5, 60) if site != 7]
    for cluster in (1, 2):
        members = solved.labels == cluster
        sums = [weights[members] @ problem.costs[members, site] for site in candidates]
        assert sites[cluster] == candidates[np.argmin(sums)]


def test_alternation_lowers_the_cost_until_a_callback_ends_it():
    problem = draw_balanced_points(200)
    start = solve_sites(problem, np.array([0, 1, 2, 3, 4]))
    values = []

    def watch(solved):
        values.append(solved.value)
        return False

    end, n_rounds, is_stopped = alternate_sites(problem, start, SearchSettings(300, 1e-6, watch))
    assert n_rounds == len(values) > 1
    assert not is_stopped
    assert values == sorted(values, reverse=True)
    assert end.value == values[-1] < start.value
    stopped, n_rounds, is_stopped = alternate_sites(
        problem, start, SearchSettings(300, 1e-6, lambda _: True)
    )
    assert (stopped.value, n_rounds, is_stopped) == (values[0], 1, True)


@pytest.mark.parametrize("seed", range(3))
def test_searches_find_the_best_of_all_sets_under_a_balance(seed):
    problem = draw_balanced_points(18, seed)
    best = min(solve_sites(problem, np.array(sites)).value for sites in combinations(range(18), 3))
    random_states = [np.random.RandomState(number) for number in range(4)]
    starts = (SearchStart(draw_sites(problem, 3, one), one) for one in random_states)
    ends = find_ends(problem, starts, SearchSettings(300, 1e-6, lambda _: False))
    assert ends.site_sets[0].value <= best * (1 + 1e-3)
