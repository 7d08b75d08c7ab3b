"""Moves of unequal weights that bring clusters within their limits at little cost."""

from itertools import product

import numpy as np
import pytest
from scipy import sparse

from skfair._kernels.limits import satisfies_rows
from skfair.cluster import FairKMeans
from skfair.cluster._base import ClusterRequirements
from skfair.cluster.kmeans._moves import (
    MARGIN,
    MoveProgram,
    choose_moves,
    repair_by_moves,
    solve_relaxation,
)
from skfair.cluster.kmeans._problem import (
    ClusteringPoint,
    ClusteringProblem,
    assign_fairly,
    recompute_point,
)


def places(n_samples, seed, sigma=1.0):
    """Coordinates, populations and groups of places around some towns."""
    rng = np.random.default_rng(seed)
    towns = rng.normal(size=(8, 2)) * 30
    X = towns[rng.integers(0, 8, n_samples)] + rng.normal(size=(n_samples, 2)) * 6
    population = rng.lognormal(5, sigma, n_samples)
    groups = np.where(rng.random(n_samples) < 0.2 + 0.4 * (X[:, 0] > 0), "b", "a")
    return X, population, groups


def random_program(seed, n_moves=9, n_clusters=3, n_rows=2):
    rng = np.random.default_rng(seed)
    shape = n_moves, n_clusters * n_rows
    changes = rng.normal(size=shape) * (rng.random(shape) < 0.6)
    excess = rng.normal(size=(n_clusters, n_rows)) + 0.3
    samples = np.sort(rng.integers(0, 7, n_moves))
    goals = rng.integers(0, n_clusters, n_moves)
    costs = rng.exponential(size=n_moves)
    return MoveProgram(samples, goals, costs, sparse.csr_array(changes), excess, 50.0)


def measure_cost(program, is_made):
    excess = program.excess + (program.changes.T @ is_made).reshape(program.excess.shape)
    residual = np.maximum(excess.max(axis=1) + MARGIN, 0.0)
    return program.costs @ is_made + program.residual_cost * (residual + (residual > 0)).sum()


@pytest.mark.covering(0)
@pytest.mark.parametrize("seed", range(8))
def test_moves_are_the_cheapest_of_all_choices(seed):
    program = random_program(seed)
    is_made = choose_moves(program)
    allowed = [
        np.array(choice, dtype=bool)
        for choice in product([False, True], repeat=len(program.costs))
        if np.bincount(program.samples, choice).max() <= 1
    ]
    assert np.bincount(program.samples, is_made).max() <= 1
    assert measure_cost(program, is_made) == min(
        measure_cost(program, choice) for choice in allowed
    )
    # Moves in part cost no more.
    assert solve_relaxation(program).cost <= measure_cost(program, is_made) + 1e-9


@pytest.mark.parametrize("required", [ClusterRequirements(0.8), ClusterRequirements(0.8, 0, 0.3)])
def test_moves_bring_clusters_within_limits_near_the_bound_of_the_dual(required):
    X, population, groups = places(400, seed=3)
    codes = (groups == "b").astype(np.intp)
    weights = population / population.sum()
    limits = required.limits(np.bincount(codes, weights))
    problem = ClusteringProblem(X - weights @ X, weights, codes, limits)
    centers = problem.X[:3]
    clustering = problem.clustering_from_labels(np.arange(400) % 3, 3)._replace(centers=centers)
    point = assign_fairly(problem, ClusteringPoint(clustering), limits.level)
    point = recompute_point(problem, point.clustering.labels, 3, point.dual)
    assert not (point.balance >= limits.level and satisfies_rows(point.clustering.counts, limits))
    labels = repair_by_moves(problem, point, limits.level)
    after = recompute_point(problem, labels, 3)
    assert after.balance >= limits.level
    assert satisfies_rows(after.clustering.counts, limits)
    # Where all limits are kept, nothing moves.
    np.testing.assert_array_equal(
        repair_by_moves(problem, after._replace(dual=point.dual), limits.level), labels
    )


@pytest.mark.parametrize("seed", [1, 2])
def test_fits_of_unequal_weights_come_near_their_bound(seed):
    X, population, groups = places(1100, seed)
    fit = FairKMeans(6, random_state=0, n_init=1)
    fit.fit(X, sensitive_features=groups, sample_weight=population)
    assert fit.constraint_violation_ == 0
    assert fit.inertia_ <= 1.02 * fit.assignment_lower_bound_
