"""Clusters of units of which pairs must be apart."""

from itertools import product

import numpy as np
import pytest

from skfair.cluster import FairSpectralClustering
from skfair.cluster.spectral._coloring import (
    Coloring,
    color_component,
    color_units,
    search_coloring,
)
from skfair.exceptions import InfeasibleConstraintWarning


def n_broken(clusters, pairs):
    return int((clusters[pairs[:, 0]] == clusters[pairs[:, 1]]).sum())


def neighbors(pairs, n_units):
    return [
        np.unique(np.append(pairs[pairs[:, 0] == u, 1], pairs[pairs[:, 1] == u, 0]))
        for u in range(n_units)
    ]


def test_pairs_of_random_sets_are_broken_only_where_all_clusterings_break_one():
    n_colorable = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n_units = 7
        n_clusters = int(rng.integers(2, 4))
        pairs = rng.integers(0, n_units, (int(rng.integers(4, 14)), 2))
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        colorings = np.array(list(product(range(n_clusters), repeat=n_units)))
        is_colorable = (colorings[:, pairs[:, 0]] != colorings[:, pairs[:, 1]]).all(axis=1).any()
        clusters = color_units(rng.random((n_units, n_clusters)), pairs)
        assert (n_broken(clusters, pairs) == 0) == is_colorable
        n_colorable += is_colorable
    assert 10 < n_colorable < 60


@pytest.mark.parametrize("n_clusters", [2, 3, 5])
def test_pairs_of_true_classes_are_kept(n_clusters):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        truth = rng.integers(0, n_clusters, 40)
        pairs = rng.integers(0, 40, (40 * n_clusters, 2))
        pairs = pairs[truth[pairs[:, 0]] != truth[pairs[:, 1]]]
        assert n_broken(color_units(rng.random((40, n_clusters)), pairs), pairs) == 0


def test_units_without_rivals_go_where_they_prefer():
    scores = np.array([[0.1, 0.9], [0.8, 0.2], [0.3, 0.4]])
    np.testing.assert_array_equal(color_units(scores, np.empty((0, 2), int)), [1, 0, 1])
    # Of two rivals the one with the clearer preference comes first.
    np.testing.assert_array_equal(color_units(scores, np.array([[0, 2]])), [1, 0, 0])


def test_a_chain_of_two_clusters_frees_one():
    # A path 0 - 1 - 2 - 3, and a unit 4 that is a rival of both ends, which have clusters 0 and 1.
    pairs = np.array([[0, 1], [1, 2], [2, 3], [4, 0], [4, 3]])
    coloring = Coloring.start(np.zeros((5, 3)), neighbors(pairs, 5))
    for unit, cluster in enumerate([0, 1, 0, 1]):
        coloring.assign(unit, cluster)
    # Clusters 0 and 1 are those of the path: its ends swap, and stay apart.
    assert coloring.find_chain(4, 0, 1) is None
    assert coloring.find_chain(4, 0, 2) == [0]
    assert coloring.free_by_chain(4)
    assert coloring.list_clusters(4)
    taken = coloring.taken.copy()
    for unit in range(4):
        coloring.assign(unit, coloring.clusters[unit])
    np.testing.assert_array_equal(coloring.taken, taken)


def test_branch_and_bound_knows_what_cannot_be_kept():
    triangle = neighbors(np.array([[0, 1], [1, 2], [0, 2]]), 3)
    assert search_coloring(np.zeros((3, 2)), triangle) is None
    assert set(search_coloring(np.zeros((3, 3)), triangle)) == {0, 1, 2}
    assert len(set(color_component(np.zeros((3, 2)), triangle))) == 2


def test_a_fit_with_a_broken_pair_is_infeasible():
    X = np.arange(8.0)[:, None]
    group = np.arange(8) % 2
    model = FairSpectralClustering(2, random_state=0, min_balance=None)
    pairs = np.array([[0, 1], [1, 2], [0, 2], [3, 4]])
    with pytest.warns(InfeasibleConstraintWarning, match="of cannot_link") as caught:
        model.fit(X, sensitive_features=group, cannot_link=pairs)
    assert len(caught) == 1
    assert (model.status_, model.violated_bound_) == ("not_found", "cannot_link")
    assert model.constraint_violation_ == n_broken(model.labels_, pairs) == 1
