import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skfair._kernels.literature import alternating as kernels
from skfair._kernels.literature.alternating import SwapRule, run
from tests.kernels.literature.test_alternating import (
    mean_cost,
    minimum_balance,
    new_state,
    problems,
    table,
)


def new_members(samples, labellings, n_clusters, capacity):
    n = len(samples.X)
    n_columns = samples.columns[-1]
    members = kernels.FrontList(
        np.zeros((capacity, n), dtype=np.uint8),
        np.zeros((capacity, n_clusters, samples.X.shape[1])),
        np.zeros((capacity, n_clusters, n_columns)),
        np.zeros((capacity, n_clusters, n_columns), dtype=np.int64),
        np.zeros(capacity),
        np.zeros(capacity),
        np.arange(capacity)[::-1].copy(),
        np.array([len(labellings)]),
    )
    members.labels[members.slot[: len(labellings)]] = labellings
    kernels.recompute_members(samples, members)
    return members


@given(problems(), st.integers(1, 2**60), st.integers(1, 3))
def test_children_join_with_what_a_recomputation_gives(problem, seed, n_repeats):
    samples, codes, labels, n_clusters = problem
    parents = np.stack([labels, labels[::-1]])
    members = new_members(samples, parents, n_clusters, capacity=2 + 2 * 3)
    pairs = np.array([[3, 0], [2, 1], [0, 2]])
    rng = np.array([seed], dtype=np.uint64)
    kernels.add_children(samples, members, (0, 2), pairs, SwapRule(2, True, False, n_repeats), rng)
    size = members.length[0]
    assert 2 <= size <= 8
    assert sorted(members.slot) == list(range(8))
    assert np.array_equal(members.labels[members.slot[:2]], parents)
    for i in range(size):
        row = members.labels[members.slot[i]]
        tables = table(samples, codes, row, n_clusters)
        assert members.cost[i] == pytest.approx(mean_cost(samples, row), abs=1e-9)
        assert members.balance[i] == pytest.approx(minimum_balance(samples, tables), abs=1e-9)
    for i in range(2, size):  # no earlier entry is strictly better in both
        better = (members.cost[:i] < members.cost[i]) & (members.balance[:i] > members.balance[i])
        assert not better.any()


@given(problems(), st.integers(1, 2**60), st.integers(1, 4))
def test_a_child_is_the_result_of_its_iterations_of_algorithm_2(problem, seed, n_repeats):
    samples, _, labels, n_clusters = problem
    members = new_members(samples, labels[np.newaxis], n_clusters, capacity=2)
    pair = np.array([3, 2])
    rule = SwapRule(4, True, False)
    rng, same = np.array([seed], dtype=np.uint64), np.array([seed], dtype=np.uint64)
    kernels.add_children(
        samples, members, (0, 1), pair[np.newaxis], rule._replace(n_repeats=n_repeats), rng
    )
    state = new_state(samples, labels, n_clusters)
    run(samples, state, pair, rule, np.full(n_repeats, 4), same)
    assert rng == same
    if members.length[0] == 2:  # the parent may be strictly better
        assert np.array_equal(members.labels[members.slot[1]], state.labels)


def test_dominated_means_strictly_worse_in_both():
    cost = np.array([1.0, 2.0, 0.0])
    balance = np.array([0.5, 0.9, 1.0])
    members = kernels.FrontList(*[None] * 4, cost, balance, None, np.array([2]))
    is_dominated = getattr(kernels.is_dominated, "py_func", kernels.is_dominated)
    assert is_dominated(members, 1.5, 0.4)
    assert not is_dominated(members, 1.0, 0.4)
    assert not is_dominated(members, 1.5, 0.5)
    assert not is_dominated(members, 0.5, 0.1)  # the third is no entry
