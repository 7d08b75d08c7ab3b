"""The dual of the assignment against linear programs (HiGHS)."""

import numpy as np
import pytest
from scipy import optimize, sparse

from skfair._kernels.limits import add_rows, balance_limits, pair_rows, size_rows
from skfair._partitions.partitions import make_partitions
from skfair.cluster.kmeans._dual import solve_dual, zero_solution


def draw_problem(kind, seed, n_samples=60, n_clusters=6):
    """Costs of samples to clusters that are far from where samples are, codes, and limits."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n_samples, 2))
    centers = points[rng.choice(n_samples, n_clusters, replace=False)] * 0.3 + [2.0, 0.0]
    costs = ((points - centers[:, np.newaxis]) ** 2).sum(axis=2)
    codes = (rng.uniform(size=n_samples) < 0.3).astype(np.intp)
    shares = np.bincount(codes) / n_samples
    limits = balance_limits(2)
    if kind != "sizes":
        limits = limits._replace(level=0.8 * shares.min() / shares.max())
    if kind != "balance":
        mean = n_samples / n_clusters
        limits = add_rows(limits, *size_rows(limits, 0.8 * mean, 1.2 * mean))
    return costs, codes, limits


def solve_program(costs, codes, limits):
    """The minimum of the linear program of the assignment."""
    n_clusters, n_samples = costs.shape
    rows, bounds = pair_rows(limits)
    rows = np.vstack([limits.rows, rows])
    bounds = np.append(limits.bounds[0], bounds)
    clusters = sparse.eye_array(n_clusters)
    solved = optimize.linprog(
        costs.ravel(),
        A_ub=sparse.vstack([sparse.kron(clusters, row[codes][np.newaxis]) for row in rows]),
        b_ub=np.repeat(bounds, n_clusters),
        A_eq=sparse.kron(np.ones((1, n_clusters)), sparse.eye_array(n_samples)),
        b_eq=np.ones(n_samples),
    )
    return solved.fun


@pytest.mark.parametrize("kind", ["sizes", "balance", "both"])
@pytest.mark.parametrize("seed", range(3))
def test_the_dual_reaches_the_linear_program_at_poor_centres(kind, seed):
    costs, codes, limits = draw_problem(kind, seed)
    rows = make_partitions([(costs, codes, np.ones(len(codes)))])
    solution, _ = solve_dual(rows, limits, zero_solution(len(costs), limits), slack=0.25)
    least = solve_program(costs, codes, limits)
    assert 0.99 * least <= solution.value <= least * (1 + 1e-9)
