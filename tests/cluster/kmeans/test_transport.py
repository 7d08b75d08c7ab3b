"""Moves to required counts at the least cost, against all labels with these counts."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from skfair.cluster.kmeans._problem import SizeDual, assign_sizes
from skfair.cluster.kmeans._tables import _move_surplus, scale_distances
from skfair.cluster.kmeans._transport import solve_transport


def draw(seed, n_samples, n_clusters):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, 2))
    centers = rng.normal(size=(n_clusters, 2))
    return rng, X, centers


def squared_distances(X, centers):
    return ((X[:, np.newaxis] - centers) ** 2).sum(axis=2)


@given(st.integers(0, 2**32), st.integers(2, 3), st.integers(2, 7), st.booleans())
def test_the_counts_are_reached_at_the_least_cost(seed, n_clusters, n_samples, has_unit_costs):
    rng, X, centers = draw(seed, n_samples, n_clusters)
    costs = squared_distances(X, centers)
    required = np.bincount(rng.integers(n_clusters, size=n_samples), minlength=n_clusters)
    if has_unit_costs:
        unit_costs = rng.uniform(0.1, 3.0, n_samples)
        costs *= unit_costs[:, np.newaxis]
        X, centers = scale_distances(X, centers, unit_costs)
    labels = solve_transport(X, centers, (required, required), np.zeros(n_clusters)).labels
    np.testing.assert_array_equal(np.bincount(labels, minlength=n_clusters), required)
    least = min(
        costs[np.arange(n_samples), list(other)].sum()
        for other in product(range(n_clusters), repeat=n_samples)
        if (np.bincount(other, minlength=n_clusters) == required).all()
    )
    assert costs[np.arange(n_samples), labels].sum() == pytest.approx(least)


def problem_of(X, codes, centers):
    """What moves look at of a problem without limits, and of a point."""
    codes = np.asarray(codes)
    problem = SimpleNamespace(X=X, codes=codes, unit_costs=None)
    return problem, SimpleNamespace(centers=centers, n_clusters=len(centers), dual=None)


def test_a_path_may_pass_through_another_cluster():
    # The member of 0 is far from 2. It moves to 1, and the member of 1, near 2, moves there.
    X = np.array([[1.0], [0.0], [2.6]])
    centers = np.array([[0.0], [2.0], [4.0]])
    labels = np.array([0, 0, 1])
    surplus = np.array([[1], [0], [-1]])
    _move_surplus(*problem_of(X, [0, 0, 0], centers), labels, surplus)
    assert labels.tolist() == [1, 0, 2]


def test_members_take_the_places_of_members_of_the_same_intersection():
    X = np.array([[0.0], [0.4], [0.0], [0.1]])
    centers = np.array([[0.0], [1.0]])
    labels = np.zeros(4, np.int64)
    surplus = np.array([[1, 0], [-1, 0]])
    _move_surplus(*problem_of(X, [0, 0, 1, 1], centers), labels, surplus)
    assert labels.tolist() == [0, 1, 0, 0]


@given(st.integers(0, 2**32), st.sampled_from([0.0, 1e-5, 1.0]))
def test_equal_and_nearly_equal_samples_move_at_the_least_cost(seed, spread):
    """The linear program of assignments has the same cost."""
    rng, distinct, centers = draw(seed, 4, 4)
    X = distinct[rng.integers(4, size=30)] + spread * rng.normal(size=(30, 2))
    smallest = np.array([2, 2, 2, 2])
    largest = np.array([10, 9, 8, 7])
    costs = squared_distances(X, centers)
    multipliers = np.maximum(rng.normal(size=4), 0)
    solved = solve_transport(X, centers, (smallest, largest), multipliers)
    sizes = np.bincount(solved.labels, minlength=4)
    assert (smallest <= sizes).all()
    assert (sizes <= largest).all()
    by_cluster = np.tile(np.eye(4), 30)
    program = linprog(
        costs.ravel(),
        A_ub=np.vstack([by_cluster, -by_cluster]),
        b_ub=np.append(largest, -smallest),
        A_eq=np.kron(np.eye(30), np.ones(4)),
        b_eq=np.ones(30),
        method="highs",
    )
    assert costs[np.arange(30), solved.labels].sum() == pytest.approx(program.fun)


def test_queues_that_run_empty_are_filled_again():
    # A queue has 64 members: 90 must leave one cluster, the nearest to the other one first.
    X = np.linspace(0.0, 1.0, 100)[:, np.newaxis]
    centers = np.array([[0.0], [3.0]])
    bounds = np.zeros(2), np.array([10.0, 100.0])
    solved = solve_transport(X, centers, bounds, np.zeros(2))
    np.testing.assert_array_equal(solved.labels, np.arange(100) >= 10)
    # The next member that would leave, or return, lies between 9/99 and 10/99.
    difference = solved.multipliers[0] - solved.multipliers[1]
    assert 9 - 6 * 10 / 99 <= difference + 1e-12
    assert difference <= 9 - 6 * 9 / 99 + 1e-12


def test_of_equal_clusters_the_one_with_most_places_is_chosen():
    X = np.zeros((9, 1))
    centers = np.zeros((3, 1))
    bounds = np.zeros(3), np.array([2.0, 3.0, 4.0])
    solved = solve_transport(X, centers, bounds, np.zeros(3))
    assert np.bincount(solved.labels).tolist() == [2, 3, 4]
    np.testing.assert_allclose(solved.multipliers, 0.0)


def test_multipliers_prove_the_least_cost_among_equal_samples():
    rng = np.random.default_rng(0)
    X = np.vstack([np.ones((500, 2)), rng.normal(size=(500, 2))])
    centers = rng.normal(size=(8, 2))
    bounds = np.zeros(8), np.full(8, 150.0)
    _, dual, _ = assign_sizes(X, centers, bounds, SizeDual(np.zeros(8)))
    solved = solve_transport(X, centers, bounds, dual.multipliers)
    assert np.bincount(solved.labels, minlength=8).max() <= 150
    # The multipliers prove that the cost is the least: the dual has the same value.
    costs = squared_distances(X, centers)
    value = (costs + solved.multipliers).min(axis=1).sum() - 150 * solved.multipliers.sum()
    assert solved.value == pytest.approx(value)
