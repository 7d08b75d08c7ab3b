"""Passes of exchanges against all the exchanges there are."""

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skfair._kernels import kmeans as kernels
from skfair._kernels.limits import balance_limits
from tests.kernels.clusterings import (
    Problem,
    all_exchanges,
    assert_none_is_cheaper,
    check_against_scratch,
    cost_by_definition,
    is_allowed,
    move_samples,
    problems,
    ratios_by_definition,
)
from tests.kernels.standalone import standalone

# Compiled kernels divide by zero in silence; run by the interpreter, they warn.
pytestmark = pytest.mark.filterwarnings("ignore:.* encountered in scalar:RuntimeWarning")


def all_bounds(problem):
    """The bound of each sample for going to each cluster, and the lowest bounds."""
    clustering = problem.clustering()
    distances = problem.distances()
    codes = problem.codes
    lowest = kernels.min_exchange_bounds(distances, codes, 1.0, clustering, problem.n_groups)
    n_clusters, _, n_groups = lowest.shape
    # For partners with so low a bound all samples are candidates.
    anyone = np.full((n_clusters, n_groups, n_clusters), -1e300)
    rows, lowest_of_rows, cells = kernels.find_exchange_candidates(
        distances, codes, 1.0, clustering, anyone
    )
    bounds = np.full((len(codes), n_clusters), np.nan)
    bounds[rows, cells // n_groups % n_clusters] = lowest_of_rows
    return bounds, lowest


def exchange(problem, floor):
    _, weights, codes, *_ = problem
    clustering = problem.clustering()
    distances = problem.distances()
    limits = balance_limits(problem.n_groups, floor)
    lowest = kernels.min_exchange_bounds(distances, codes, weights[0], clustering, problem.n_groups)
    partners = kernels.partner_bounds(clustering, lowest, weights[0], limits)
    candidates = kernels.find_exchange_candidates(
        distances, codes, weights[0], clustering, partners
    )
    order = kernels.argsort_candidates(*candidates[1:], lowest.size)
    candidates = (column[order] for column in candidates)
    samples = problem.kernel_samples
    n_exchanges = kernels.exchange_pass(samples, clustering, *candidates, lowest, limits)
    check_against_scratch(problem, clustering)
    return n_exchanges, problem.replace_labels(clustering.labels)


@given(problems(equal_weights=True), st.sampled_from([0.0, 0.5, 0.9, 1.0]))
def test_exchanges_lower_the_cost_and_keep_the_balance(problem, share):
    floor = share * ratios_by_definition(problem).min()
    n_exchanges, after = exchange(problem, floor)
    assert is_allowed(after, floor)
    np.testing.assert_array_equal(np.bincount(after.labels), np.bincount(problem.labels))
    if n_exchanges:
        assert cost_by_definition(after) < cost_by_definition(problem)
    else:
        np.testing.assert_array_equal(after.labels, problem.labels)


@given(problems(equal_weights=True), st.sampled_from([0.0, 0.5, 1.0]))
def test_a_pass_without_an_exchange_proves_that_none_lowers_the_cost(problem, share):
    floor = share * ratios_by_definition(problem).min()
    n_exchanges = 1
    while n_exchanges:
        n_exchanges, problem = exchange(problem, floor)
    assert_none_is_cheaper(problem, all_exchanges(problem), floor)


@pytest.mark.slow
@given(problems(equal_weights=True))
def test_two_bounds_add_up_to_less_than_their_exchange(problem):
    bounds, lowest = all_bounds(problem)
    cost = cost_by_definition(problem)
    labels, codes = problem.labels, problem.codes
    for p, q in permutations(range(len(labels)), 2):
        a, c = labels[p], labels[q]
        if a != c:
            change = cost_by_definition(move_samples(problem, (p, c), (q, a))) - cost
            assert bounds[p, c] + bounds[q, a] <= change + 1e-9
            assert lowest[a, c, codes[p]] <= bounds[p, c]


@pytest.mark.slow
@given(problems(equal_weights=True), st.floats(0, 1))
def test_an_exchange_is_allowed_where_both_balances_stay(problem, bound):
    clustering = problem.clustering()
    limits = balance_limits(problem.n_groups, bound)
    labels, codes = problem.labels, problem.codes
    for p, q in combinations(range(len(labels)), 2):
        a = labels[p]
        c = labels[q]
        g = codes[p]
        h = codes[q]
        if a != c and g != h:
            after = ratios_by_definition(move_samples(problem, (p, c), (q, a)))[[a, c]].min()
            assert standalone(kernels._may_exchange)(clustering, a, c, g, h, 1.0, limits) == (
                after >= bound * (1 - 1e-12)
            )
            assert standalone(kernels._may_exchange)(clustering, a, c, g, g, 1.0, limits)
    check_against_scratch(problem, clustering)


@given(problems(equal_weights=True), st.sampled_from([0.0, 0.5, 1.0]))
def test_candidates_are_all_samples_of_improving_exchanges(problem, share):
    labels = problem.labels
    codes = problem.codes
    clustering = problem.clustering()
    floor = share * ratios_by_definition(problem).min()
    bounds, lowest = all_bounds(problem)
    limits = balance_limits(problem.n_groups, floor)
    partners = kernels.partner_bounds(clustering, lowest, 1.0, limits)
    rows, least, cells = kernels.find_exchange_candidates(
        problem.distances(), codes, 1.0, clustering, partners
    )
    n_clusters, _, n_kinds = lowest.shape
    hopeful = set()
    for p, q in permutations(range(len(labels)), 2):
        a, c = labels[p], labels[q]
        if a != c and bounds[p, c] + bounds[q, a] < 0:
            after = ratios_by_definition(move_samples(problem, (p, c), (q, a)))[[a, c]].min()
            if codes[p] == codes[q] or after >= floor * (1 - 1e-12):
                hopeful.add((p, (a * n_clusters + c) * n_kinds + codes[p]))
    assert set(zip(rows.tolist(), cells.tolist(), strict=True)) == hopeful
    np.testing.assert_array_equal(least, bounds[rows, cells // n_kinds % n_clusters])


def test_samples_of_one_group_change_places_at_any_floor():
    X = np.array([[0.0], [9.0], [0.1], [9.1]])
    problem = Problem(X, np.ones(4), np.array([0, 0, 1, 1]), np.array([0, 1, 1, 0]), 2, 2)
    n_exchanges, after = exchange(problem, 1.0)
    assert n_exchanges == 1
    assert after.labels[0] == after.labels[2] != after.labels[1] == after.labels[3]
