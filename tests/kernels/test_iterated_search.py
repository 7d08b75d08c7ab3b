"""Searches after kicks against all moves and exchanges there are."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skfair._kernels.iterated_search import SamplesWithDistances, search_from_kicks
from skfair._kernels.limits import balance_limits, pair_rows
from tests.kernels.clusterings import (
    Problem,
    all_exchanges,
    all_moves,
    assert_none_is_cheaper,
    cost_by_definition,
    is_allowed,
    problems,
    ratios_by_definition,
)

# Compiled kernels divide by zero in silence; run by the interpreter, they warn.
pytestmark = pytest.mark.filterwarnings("ignore:.* encountered in scalar:RuntimeWarning")


def search(problem, level, n_kicks=20, seed=0):
    """The problem with the labels that a search leads to, and its number of failures."""
    X, weights, codes, labels, n_clusters, n_groups, _ = problem
    rows, bounds = pair_rows(balance_limits(n_groups, level))
    added = weights[:, None] * rows.T[codes]
    rounding = 1e-12 * weights.sum()
    distances = ((X[:, None] - X) ** 2).sum(axis=2)
    bounds = np.tile(bounds + rounding, (n_clusters, 1))
    samples = SamplesWithDistances(distances, problem.masses, added, bounds, rounding)
    rng = np.random.default_rng(seed)
    kicked = rng.integers(-1, len(labels), (n_kicks, 4))
    kicks = kicked, rng.integers(n_clusters, size=kicked.shape)
    labels = labels.astype(np.int32)
    n_failures = search_from_kicks(samples, labels, n_clusters, kicks, 0, n_kicks)
    return problem.replace_labels(labels), n_failures


@given(problems(), st.sampled_from([0.0, 0.5, 0.9, 1.0]), st.integers(0, 9))
def test_a_search_lowers_the_cost_and_keeps_the_balance(problem, share, seed):
    level = share * ratios_by_definition(problem).min()
    after, n_failures = search(problem, level, seed=seed)
    assert is_allowed(after, level)
    if n_failures < 20:
        assert cost_by_definition(after) < cost_by_definition(problem)
    else:
        np.testing.assert_array_equal(after.labels, problem.labels)


@pytest.mark.slow
@given(problems(), st.sampled_from([0.0, 0.5, 1.0]), st.integers(0, 9))
def test_a_search_ends_where_no_move_nor_exchange_is_cheaper(problem, share, seed):
    level = share * ratios_by_definition(problem).min()
    after, n_failures = search(problem, level, seed=seed)
    if n_failures < 20:
        assert_none_is_cheaper(after, all_moves(after), level)
        assert_none_is_cheaper(after, all_exchanges(after), level)


@pytest.mark.covering(1)
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("level", [0.0, 0.5, 1.0])
def test_many_kicks_lead_to_the_cheapest_clustering_there_is(seed, level):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(8, 2))
    codes = np.arange(8) % 2
    labels = np.arange(8) // 4
    problem = Problem(X, np.ones(8), codes, labels, 2, 2)
    every = [problem.replace_labels(labels) for labels in product(range(2), repeat=8)]
    costs = [cost_by_definition(other) for other in every if is_allowed(other, level)]
    after, _ = search(problem, level, n_kicks=300)
    assert cost_by_definition(after) == pytest.approx(min(costs))


def test_a_kick_that_empties_a_cluster_fails():
    problem = Problem(
        np.array([[0.0], [1.0], [9.0]]), np.ones(3), np.zeros(3, int), [0, 0, 1], 2, 1
    )
    samples = SamplesWithDistances(
        (problem.X - problem.X.T) ** 2, np.ones(3), *np.empty((2, 3, 0)), 0.0
    )
    samples = samples._replace(bounds=np.empty((2, 0)))
    labels = np.array([0, 0, 1], np.int32)
    kicks = (np.array([[2]]), np.array([[0]]))
    assert search_from_kicks(samples, labels, 2, kicks, 3, 9) == 4
    np.testing.assert_array_equal(labels, [0, 0, 1])
