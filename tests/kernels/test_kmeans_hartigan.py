"""Passes of moves against all the moves there are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skfair._kernels import kmeans as kernels
from skfair._kernels.limits import balance_limits
from tests.kernels.clusterings import (
    Problem,
    all_moves,
    assert_none_is_cheaper,
    check_against_scratch,
    cost_by_definition,
    is_allowed,
    problems,
    ratios_by_definition,
)

# Compiled kernels divide by zero in silence; run by the interpreter, they warn.
pytestmark = pytest.mark.filterwarnings("ignore:.* encountered in scalar:RuntimeWarning")


def hartigan(problem, floor):
    """A pass from the problem's labels: the number of moves, and the problem it leads to."""
    clustering = problem.clustering()
    distances = problem.distances()
    limits = balance_limits(problem.n_groups, floor)
    n_moves = kernels.hartigan_pass(problem.kernel_samples, distances, clustering, limits)
    check_against_scratch(problem, clustering)
    return n_moves, problem.replace_labels(clustering.labels)


@given(problems(), st.sampled_from([0.0, 0.5, 0.9, 1.0]))
def test_a_pass_lowers_the_cost_and_keeps_the_balance(problem, share):
    floor = share * ratios_by_definition(problem).min()
    n_moves, after = hartigan(problem, floor)
    assert is_allowed(after, floor)
    if n_moves:
        assert cost_by_definition(after) < cost_by_definition(problem)
    else:
        np.testing.assert_array_equal(after.labels, problem.labels)


@given(problems(), st.sampled_from([0.0, 0.5, 1.0]))
def test_a_pass_without_a_move_proves_that_none_lowers_the_cost(problem, share):
    floor = share * ratios_by_definition(problem).min()
    n_moves = 1
    while n_moves:
        n_moves, problem = hartigan(problem, floor)
    assert_none_is_cheaper(problem, all_moves(problem), floor)


def test_a_sample_moves_to_where_it_costs_least():
    X = np.array([[0.0], [0.0], [5.0], [9.0], [9.0], [5.4], [5.4]])
    problem = Problem(X, np.ones(7), np.zeros(7, int), np.array([0, 0, 0, 1, 1, 2, 2]), 3, 1)
    n_moves, after = hartigan(problem, 0.0)
    assert n_moves == 1
    assert after.labels.tolist() == [0, 0, 2, 1, 1, 2, 2]


def test_a_pass_moves_what_kmeans_would_leave():
    """The sample at 2 is as near to its own mean at 1 as to that at 3, but drags its own along."""
    X = np.array([[0.0], [2.0], [3.0], [3.0], [3.0]])
    problem = Problem(X, np.ones(5), np.zeros(5, int), np.array([0, 0, 1, 1, 1]), 2, 1)
    n_moves, after = hartigan(problem, 0.0)
    assert n_moves == 1
    assert after.labels.tolist() == [0, 1, 1, 1, 1]
