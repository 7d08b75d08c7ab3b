"""Pairs of samples that must be, or must not be, in one cluster."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV

from skfair.cluster import DCADMM, SFSC, FairSpectralClustering
from skfair.datasets import make_fair_sbm
from skfair.exceptions import InfeasibleConstraintWarning


@pytest.fixture(scope="module")
def network():
    return make_fair_sbm(600, n_clusters=3, n_groups=2, average_degree=12, random_state=0)


@pytest.fixture(scope="module")
def pairs(network):
    """Fifty pairs, by the communities."""
    communities = network[1]
    drawn = np.random.default_rng(0).integers(len(communities), size=(50, 2))
    same = communities[drawn[:, 0]] == communities[drawn[:, 1]]
    return {"must_link": drawn[same], "cannot_link": drawn[~same]}


def graph_model(**changes):
    return FairSpectralClustering(3, affinity="precomputed", random_state=0, **changes)


def n_broken(labels, must_link, cannot_link):
    must_link, cannot_link = (np.reshape(pairs, (-1, 2)) for pairs in (must_link, cannot_link))
    apart = labels[must_link[:, 0]] != labels[must_link[:, 1]]
    return apart.sum() + (labels[cannot_link[:, 0]] == labels[cannot_link[:, 1]]).sum()


def test_pairs_are_kept_and_improve_the_agreement(network, pairs):
    graph, communities, group = network
    plain = graph_model().fit(graph, sensitive_features=group)
    model = graph_model().fit(graph, sensitive_features=group, **pairs)
    assert n_broken(plain.labels_, **pairs) > 0 == n_broken(model.labels_, **pairs)
    assert model.status_ == "feasible" and model.relative_balance_ >= 0.8
    agreements = [adjusted_rand_score(communities, one.labels_) for one in (plain, model)]
    assert agreements[1] > agreements[0]


def test_linked_samples_have_equal_coordinates(network, pairs):
    graph, _, group = network
    model = graph_model().fit(graph, sensitive_features=group, **pairs)
    coordinates = model.embedding_ / np.sqrt(graph.sum(axis=0))[:, None]
    first, second = pairs["must_link"].T
    np.testing.assert_allclose(coordinates[first], coordinates[second], atol=1e-6)


@pytest.mark.parametrize("kind", ["dense", "nullspace", "rbf", "tiles"])
def test_pairs_are_kept_by_all_affinities_and_exact_solvers(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    group = np.arange(200) % 2
    must_link = [[0, 1], [1, 2]]
    cannot_link = [[0, 3], [4, 5]]
    model = FairSpectralClustering(3, random_state=0, n_init=2)
    if kind == "dense":
        X = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
        model.set_params(affinity="precomputed", eigen_solver="block-lanczos", eigen_tol=1e-3)
    elif kind == "nullspace":
        model.set_params(eigen_solver="nullspace")
    with config_context(working_memory=0.1 if kind == "tiles" else 1024):
        model.fit(X, sensitive_features=group, must_link=must_link, cannot_link=cannot_link)
    assert n_broken(model.labels_, must_link, cannot_link) == 0


def test_small_data_where_all_samples_are_in_pairs():
    X = np.arange(8.0)[:, None]
    group = np.arange(8) % 2
    pairs = {"must_link": [[0, 7], [1, 6]], "cannot_link": [[2, 3], [4, 5], [0, 1]]}
    model = FairSpectralClustering(2, random_state=0, min_balance=None)
    labels = model.fit(X, sensitive_features=group, **pairs).labels_
    assert n_broken(labels, **pairs) == 0
    unlinked = model.fit(X, sensitive_features=group, must_link=[], cannot_link=None).labels_
    np.testing.assert_array_equal(unlinked, model.fit(X, sensitive_features=group).labels_)


def test_a_pair_that_cannot_be_kept_is_named():
    X = np.arange(8.0)[:, None]
    group = np.arange(8) % 2
    model = FairSpectralClustering(2, random_state=0, min_balance=None)
    with pytest.warns(InfeasibleConstraintWarning, match=r"pairs \[\(\d, \d\)\] of cannot_link"):
        model.fit(X, sensitive_features=group, cannot_link=[[0, 1], [1, 2], [0, 2]])


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ({"must_link": [[0, 1], [1, 2]], "cannot_link": [[2, 0]]}, r"pair \(2, 0\), but pairs"),
        ({"cannot_link": [[3, 3]]}, r"pair \(3, 3\)"),
        ({"must_link": [[0, 8]]}, r"must_link has the pair \(0, 8\), but X has 8 rows.*cross-val"),
        ({"cannot_link": [[-1, 0]]}, r"cannot_link has the pair \(-1, 0\)"),
        ({"must_link": [0, 1]}, r"shape \(n_pairs, 2\), but has shape \(2,\)"),
        ({"must_link": [[0.0, 1.0]]}, "dtype float64"),
    ],
)
def test_invalid_pairs(pairs, message):
    X = np.arange(8.0)[:, None]
    group = np.arange(8) % 2
    with pytest.raises(ValueError, match=message):
        FairSpectralClustering(2, random_state=0).fit(X, sensitive_features=group, **pairs)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"eigen_solver": DCADMM.from_paper()}, "one of the eigen_solver"),
        ({"eigen_solver": SFSC.from_paper()}, "one of the eigen_solver"),
        ({"eigen_solver": "nystroem"}, "'nystroem'"),
        ({"assign_labels": "kmeans"}, "assign_labels='ncut'"),
        ({"n_landmarks": 4}, "no landmarks"),
    ],
)
def test_presets_landmarks_and_plain_kmeans_refuse_pairs(changes, message):
    X = np.arange(8.0)[:, None]
    group = np.arange(8) % 2
    model = FairSpectralClustering(2, random_state=0, **changes)
    with pytest.raises(ValueError, match=message):
        model.fit(X, sensitive_features=group, must_link=[[0, 1]])


def test_searches_refuse_pairs():
    X = np.arange(8.0)[:, None]
    group = np.arange(8) % 2
    search = GridSearchCV(FairSpectralClustering(2), {"gamma": [1.0]}, cv=2)
    with config_context(enable_metadata_routing=True), pytest.raises(TypeError, match="must_link"):
        search.fit(X, sensitive_features=group, must_link=[[0, 1]])
