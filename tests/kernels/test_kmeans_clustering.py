"""A clustering and what a move does to it, against one computed from scratch."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skfair._kernels import kmeans as kernels
from skfair._kernels.limits import balance_limits
from tests.kernels.clusterings import (
    check_against_scratch,
    cost_by_definition,
    make_problem,
    problems,
)
from tests.kernels.standalone import standalone

# Compiled kernels divide by zero in silence; run by the interpreter, they warn.
pytestmark = pytest.mark.filterwarnings("ignore:.* encountered in scalar:RuntimeWarning")


@given(problems())
def test_a_clustering_is_what_its_labels_say(problem):
    X, weights, codes, labels, n_clusters, n_groups, _ = problem
    clustering = problem.clustering()
    masses = problem.masses
    in_cluster = np.eye(n_clusters)[labels]
    in_group = np.eye(n_groups)[codes]
    counts = (in_cluster * weights[:, None]).T @ in_group
    np.testing.assert_allclose(clustering.counts, counts, atol=1e-12)
    np.testing.assert_allclose(clustering.sizes, masses @ in_cluster)
    np.testing.assert_array_equal(clustering.members, in_cluster.T @ in_group)
    for k in range(n_clusters):
        mean = np.average(X[labels == k], axis=0, weights=masses[labels == k])
        np.testing.assert_allclose(clustering.centers[k], mean, atol=1e-12)
    assert kernels.clustering_cost(X, masses, clustering) == pytest.approx(
        cost_by_definition(problem)
    )


def test_an_empty_cluster_has_no_centre():
    labels = np.array([0, 2], dtype=np.int32)
    X = np.array([[1.0], [3.0]])
    sums = kernels.cluster_sums(
        X, np.ones(2), np.ones(2), np.array([0, 0]), labels, 3, balance_limits(1)
    )
    clustering = kernels.clustering_from_sums(labels, sums)
    np.testing.assert_array_equal(clustering.centers, [[1], [np.nan], [3]])
    assert clustering.sizes.tolist() == [1, 0, 1]


@pytest.mark.slow
@given(problems(), st.integers(0, 2**32))
def test_moves_keep_the_tables_and_their_change_is_that_of_the_cost(problem, seed):
    X, masses, n_clusters = problem.X, problem.masses, problem.n_clusters
    limits = balance_limits(problem.n_groups)
    rng = np.random.default_rng(seed)
    clustering = problem.clustering()
    labels, centers, sizes = clustering.labels, clustering.centers, clustering.sizes
    for p in rng.integers(len(X), size=10):
        a = labels[p]
        k = rng.integers(n_clusters)
        if k == a or not standalone(kernels.may_leave)(clustering, p, masses[p], limits):
            continue
        before = cost_by_definition(problem.replace_labels(labels))
        to, away = (
            standalone(kernels.squared_distance)(X[p], centers[k]),
            standalone(kernels.squared_distance)(X[p], centers[a]),
        )
        change = standalone(kernels.move_cost)(to, away, sizes[k], sizes[a], masses[p])
        standalone(kernels.move)(problem.kernel_samples, clustering, p, k, limits)
        after = cost_by_definition(problem.replace_labels(labels))
        assert change == pytest.approx(after - before, abs=1e-10)
    check_against_scratch(problem, clustering)


def test_the_last_member_may_not_leave():
    problem = make_problem(np.random.default_rng(0), 4, 2, 1).replace_labels([0, 1, 1, 1])
    clustering = problem.clustering()
    limits = balance_limits(1)
    assert not standalone(kernels.may_leave)(clustering, 0, problem.weights[0], limits)
    assert standalone(kernels.may_leave)(clustering, 1, problem.weights[1], limits)
