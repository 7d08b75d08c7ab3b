"""The integer program of an assignment, against all assignments of few samples."""

from itertools import product

import numpy as np
import pytest

from skfair._kernels.limits import add_rows, balance_limits, size_rows
from skfair.cluster import _assignment
from skfair.cluster._assignment import AssignmentProblem, assign_samples


def make_problem(seed, level=0.0, largest=np.inf, weights=None):
    """Nine samples of two groups in three clusters."""
    rng = np.random.default_rng(seed)
    costs = rng.exponential(10.0, (9, 3))
    codes = np.arange(9, dtype=np.intp) % 2
    limits = balance_limits(2, level)
    limits = add_rows(limits, *size_rows(limits, -np.inf, largest))
    weights = np.ones(9) if weights is None else weights
    return AssignmentProblem(costs, weights, codes, limits, float(weights.min()))


def find_best(problem):
    """The best of all assignments."""
    labels = np.array(list(product(range(3), repeat=9)), dtype=np.int32)
    return min((problem.measure(one) for one in labels), key=lambda one: one.rank)


@pytest.mark.slow
@pytest.mark.parametrize("level", [0.0, 0.6])
@pytest.mark.parametrize("largest", [4.0, 2.0])
def test_assignments_miss_least_at_least_cost(level, largest):
    problem = make_problem(0, level, largest)
    assigned = assign_samples(problem, np.zeros((3, 2)))
    best = find_best(problem)
    assert assigned.rank == pytest.approx(best.rank, rel=1e-3)
    assert assigned.keeps_limits == (largest == 4.0)


@pytest.mark.slow
def test_weights_that_differ():
    weights = np.random.default_rng(1).integers(1, 5, 9).astype(float)
    problem = make_problem(1, largest=np.ceil(weights.sum() / 3), weights=weights)
    assigned = assign_samples(problem, np.zeros((3, 2)))
    assert assigned.rank == pytest.approx(find_best(problem).rank, rel=1e-3)


def test_nearest_clusters_where_they_keep_the_limits():
    problem = make_problem(0, largest=9.0)
    costs = problem.costs.copy()
    costs[np.arange(9), np.arange(9) % 3] = 0.0
    assigned = assign_samples(problem._replace(costs=costs), np.zeros((3, 2)))
    assert assigned.labels.tolist() == [0, 1, 2] * 3 and assigned.cost == 0


def test_samples_far_from_a_tie_stay(monkeypatch):
    problem = make_problem(0, largest=4.0)
    monkeypatch.setattr(_assignment, "N_PAIRS", (6, 27))
    costs = problem.costs.copy()
    costs[:6] += 1000.0 * (np.arange(3) != np.arange(6)[:, np.newaxis] % 2)
    problem = problem._replace(costs=costs)
    assigned = assign_samples(problem, np.zeros((3, 2)))
    assert assigned.keeps_limits and assigned.labels[:6].tolist() == [0, 1] * 3


def test_no_cluster_is_empty():
    problem = make_problem(0)
    assigned = assign_samples(problem._replace(costs=np.zeros((9, 3))), np.zeros((3, 2)))
    assert np.bincount(assigned.labels, minlength=3).min() > 0 and assigned.cost == 0


def test_more_pairs_where_those_near_a_tie_keep_no_limits(monkeypatch):
    problem = make_problem(0, largest=3.0)
    offsets = np.outer([0.0, 100.0, 200.0], [1.0, 1.0])  # far from those of the dual
    monkeypatch.setattr(_assignment, "N_PAIRS", (6, 27))
    assigned = assign_samples(problem, offsets)
    assert np.bincount(assigned.labels).tolist() == [3, 3, 3] and assigned.keeps_limits
