"""A clustering and what a move does to it, against one computed from scratch."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skfair._kernels import clustering as kernels
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
    clustering, masses = problem.clustering(), problem.masses
    in_cluster, in_group = np.eye(n_clusters)[labels], np.eye(n_groups)[codes]
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


def test_labels_are_copied_and_an_empty_cluster_has_no_centre():
    labels = np.array([0, 2], dtype=np.uint8)
    X = np.array([[1.0], [3.0]])
    clustering = kernels.build_clustering(
        X, np.ones(2), np.ones(2), np.array([0, 0]), labels, 3, kernels.balance_limits(1)
    )
    assert clustering.labels.dtype == np.int32
    clustering.labels[0] = 1
    assert labels.tolist() == [0, 2]
    np.testing.assert_array_equal(clustering.centers, [[1], [np.nan], [3]])
    assert clustering.sizes.tolist() == [1, 0, 1]


def ratio(counts, members, **limits):
    limits = kernels.balance_limits(len(counts))._replace(**limits)
    return standalone(kernels.ratio)(np.array(counts), np.array(members), limits)


def test_the_ratio_is_smallest_over_largest_group():
    assert ratio([2.0, 8.0, 4.0], [1, 3, 2]) == 0.25
    assert ratio([5.0], [2]) == 1
    # Rounding may leave some weight where the last member has gone: members decide.
    assert ratio([1e-17, 8.0], [0, 3]) == 0


def test_the_ratio_in_other_scales_and_up_to_one_sample():
    # 2 of 4 and 8 of 8: shares of .5 and 1.
    shares = np.array([[1 / 4, 1 / 8]])
    assert ratio([2.0, 8.0], [2, 8], scales=shares) == 0.5
    both = {"scales": np.array([[1.0, 1.0], [1 / 4, 1 / 8]]), "factors": np.array([1.0, 0.4])}
    assert ratio([2.0, 8.0], [2, 8], **both) == pytest.approx(0.2)  # the second, times .4
    assert ratio([2.0, 8.0], [2, 8], slack=1.0) == 3 / 7
    assert ratio([0.0, 8.0], [0, 8], slack=1.0) == 0  # a group is missing all the same
    assert ratio([1.0, 1.0], [1, 1], slack=1.0) == np.inf


def test_the_groups_that_bind_are_those_of_the_least_ratio():
    counts = np.array([2.0, 8.0, 3.0])
    limits = kernels.balance_limits(3)
    assert standalone(kernels.binding_groups)(counts, limits) == (0, 1)
    scales = np.array([[1.0, 1.0, 1.0], [1.0, 0.5, 9.0]])
    limits = limits._replace(scales=scales, factors=np.ones(2))
    assert standalone(kernels.binding_groups)(counts, limits) == (0, 2)
    limits = limits._replace(factors=np.array([1.0, 9.0]))
    assert standalone(kernels.binding_groups)(counts, limits) == (0, 1)


def test_the_ratio_after_a_change_leaves_the_table_as_it_is():
    counts, members = np.array([2.0, 4.0]), np.array([1, 2])
    limits = kernels.balance_limits(2)
    assert standalone(kernels.ratio_after)(counts, members, 0, 2.0, limits) == 1
    assert standalone(kernels.ratio_after)(counts, members, 0, -2.0, limits) == 0
    assert counts.tolist() == [2, 4]
    assert members.tolist() == [1, 2]


@given(problems(), st.integers(0, 2**32))
def test_moves_keep_the_tables_and_their_change_is_that_of_the_cost(problem, seed):
    X, weights, codes, _, n_clusters, n_groups, _ = problem
    masses = problem.masses
    limits = kernels.balance_limits(n_groups)
    rng = np.random.default_rng(seed)
    clustering = problem.clustering()
    labels, centers, sizes = clustering.labels, clustering.centers, clustering.sizes
    for p in rng.integers(len(X), size=10):
        a, k = labels[p], rng.integers(n_clusters)
        if k == a or not standalone(kernels.may_leave)(clustering, p, masses[p], limits):
            continue
        before = cost_by_definition(problem.replace_labels(labels))
        to, away = (
            standalone(kernels.distance)(X[p], centers[k]),
            standalone(kernels.distance)(X[p], centers[a]),
        )
        change = standalone(kernels.change)(to, away, sizes[k], sizes[a], masses[p])
        standalone(kernels.move)(X, masses, weights, codes, clustering, p, k, limits)
        after = cost_by_definition(problem.replace_labels(labels))
        assert change == pytest.approx(after - before, abs=1e-10)
    check_against_scratch(problem, clustering)


def test_the_last_member_may_not_leave():
    problem = make_problem(np.random.default_rng(0), 4, 2, 1).replace_labels([0, 1, 1, 1])
    clustering, limits = problem.clustering(), kernels.balance_limits(1)
    assert not standalone(kernels.may_leave)(clustering, 0, problem.weights[0], limits)
    assert standalone(kernels.may_leave)(clustering, 1, problem.weights[1], limits)
