"""Values of exchanges, and starts."""

import numpy as np

from skfair._kernels.limits import add_rows, balance_limits, size_rows
from skfair._kernels.medoids import exchange_values
from skfair.cluster.kmedoids._sites import (
    SiteProblem,
    bound_exchanges,
    build_sites,
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
