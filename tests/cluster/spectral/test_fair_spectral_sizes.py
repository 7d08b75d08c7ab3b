"""Bounds on the sizes of spectral clusters, and on every attribute."""

from itertools import combinations

import numpy as np
import pytest

from skfair.cluster import FairSpectralClustering
from skfair.metrics import normalized_cut

GRAPH = {"affinity": "precomputed", "random_state": 0}


def draw_graph(n_nodes, seed):
    """Similarities of points on the plane, and two attributes of theirs."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n_nodes, 2))
    affinity = np.exp(-20 * ((X[:, np.newaxis] - X) ** 2).sum(axis=2))
    attributes = (rng.uniform(size=(n_nodes, 2)) < 0.3 + 0.4 * (X > 0.5)).astype(int)
    return affinity, attributes


@pytest.mark.covering(0)
@pytest.mark.parametrize("seed", range(3))
def test_equal_halves_have_the_least_cut_of_all(seed):
    affinity, _ = draw_graph(12, seed)
    model = FairSpectralClustering(
        2, **GRAPH, min_balance=None, min_cluster_size=6, max_cluster_size=6
    ).fit(affinity)
    cuts = []
    for first in combinations(range(1, 12), 5):
        labels = np.ones(12, dtype=int)
        labels[[0, *first]] = 0
        cuts.append(normalized_cut(labels, affinity))
    assert model.cluster_sizes_.tolist() == [6, 6]
    assert model.objective_ == pytest.approx(min(cuts))


def test_sizes_and_balance_are_kept_together():
    affinity, attributes = draw_graph(120, 0)
    model = FairSpectralClustering(
        4, **GRAPH, min_balance=0.7, min_cluster_size=0.2, max_cluster_size=0.3
    ).fit(affinity, sensitive_features=attributes[:, 0])
    assert model.cluster_sizes_.min() >= 24 and model.cluster_sizes_.max() <= 36
    counts = model.group_counts_
    level = 0.7 * model.data_balance_
    assert (counts.min(axis=1) + 1 >= level * (counts.max(axis=1) - 1)).all()
    assert model.constraint_violation_ == 0


def test_every_attribute_is_balanced():
    affinity, attributes = draw_graph(120, 1)
    model = FairSpectralClustering(3, **GRAPH, attributes="each")
    model.fit(affinity, sensitive_features=attributes)
    for j, one in enumerate(attributes.T):
        counts = np.array([np.bincount(one[model.labels_ == k], minlength=2) for k in range(3)])
        np.testing.assert_array_equal(model.group_counts_[:, 2 * j : 2 * j + 2], counts)
        level = 0.8 * np.bincount(one).min() / np.bincount(one).max()
        assert (counts.min(axis=1) + 1 >= level * (counts.max(axis=1) - 1)).all()
    assert model.embedding_violation_ < 1e-6
    assert len(model.groups_.labels) == 4


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"min_cluster_size": 41}, "requires 41 samples in each of 3 clusters"),
        ({"max_cluster_size": 39}, "allows 39 samples in each of 3 clusters"),
        ({"max_cluster_size": 60, "n_landmarks": 20, "affinity": "rbf"}, "max_cluster_size=60"),
    ],
)
def test_errors_say_what_must_hold(params, message):
    affinity, _ = draw_graph(120, 0)
    model = FairSpectralClustering(3, **(GRAPH | {"min_balance": None} | params))
    with pytest.raises(ValueError, match=message):
        model.fit(affinity)
