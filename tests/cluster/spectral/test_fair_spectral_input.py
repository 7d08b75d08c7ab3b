"""What FairSpectralClustering does with affinities of all kinds and with bad or odd input."""

import tracemalloc
import warnings
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from scipy import linalg, sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils import get_tags

from skfair.cluster import FairSpectralClustering, cluster_front
from skfair.cluster.spectral._fair_embedding import EIGEN_SOLVERS
from tests.cluster.spectral.test_fair_spectral import two_cliques

STORAGES = [np.asarray, sparse.csr_array, sparse.csr_matrix, sparse.coo_array, sparse.csc_array]


def model(n_clusters=3, **params):
    return FairSpectralClustering(n_clusters, **{"random_state": 0, **params})


def graph_model(n_clusters=2, **params):
    return model(n_clusters, affinity="precomputed", **params)


def is_balanced(fitted):
    """Every cluster has all groups, and the required balance up to one sample."""
    counts = fitted.group_counts_
    ratio = (fitted.min_balance or 0) * fitted.data_balance_
    least = ratio * (counts.max(axis=1) - 1)
    return (counts.min(axis=1) + 1 >= least - 1e-9).all() and (counts > 0).all()


# Affinities ---------------------------------------------------------------------------


@pytest.mark.parametrize("min_balance", [None, 0.8, 1])
def test_tiles_give_the_labels_of_the_stored_kernel(blobs, min_balance):
    X, groups = blobs
    stored = model(min_balance=min_balance).fit(X, sensitive_features=groups)
    with config_context(working_memory=(8 * 120**2 - 1) / 2**20):
        tiled = clone(stored).fit(X, sensitive_features=groups)
    np.testing.assert_array_equal(tiled.labels_, stored.labels_)
    np.testing.assert_array_equal(tiled.predict(X), stored.predict(X))
    assert tiled.objective_ == pytest.approx(stored.objective_)
    assert tiled.score(X) == pytest.approx(stored.score(X))
    assert hasattr(stored, "affinity_matrix_")
    assert not hasattr(tiled, "affinity_matrix_")
    with config_context(working_memory=2**-20):
        stored.fit(X, sensitive_features=groups)
    assert not hasattr(stored, "affinity_matrix_")


def never(X, Y):
    raise AssertionError("the affinity was computed")


@pytest.mark.parametrize(
    ("storage", "params"),
    [
        (np.asarray, {"affinity": never}),
        (np.asarray, {"eigen_solver": "nullspace"}),
        (sparse.csr_array, {}),
    ],
    ids=["callable", "nullspace", "sparse rows"],
)
def test_too_little_memory_is_reported_before_allocation(storage, params):
    X = storage(np.random.default_rng(0).random((5000, 2)))
    groups = np.arange(5000) % 2
    tracemalloc.start()
    try:
        message = "200000000 bytes.*tile by tile.*nearest_neighbors"
        with config_context(working_memory=100), pytest.raises(MemoryError, match=message):
            model(**params).fit(X, sensitive_features=groups)
        assert tracemalloc.get_traced_memory()[1] < 5e6
    finally:
        tracemalloc.stop()


def test_nearest_neighbors_are_symmetrised(blobs):
    X, groups = blobs
    fitted = model(affinity="nearest_neighbors", n_neighbors=6).fit(X, sensitive_features=groups)
    affinity = fitted.affinity_matrix_.toarray()
    distances = np.linalg.norm(X[:, None] - X, axis=2)
    nearest = (distances <= np.sort(distances)[:, 5:6]).astype(float)
    np.testing.assert_array_equal(affinity, (nearest + nearest.T) / 2)
    complete = model(affinity="nearest_neighbors", n_neighbors=999)
    with pytest.warns(UserWarning, match="All rows are equally similar"):
        complete.fit(X, sensitive_features=groups)
    assert complete.affinity_matrix_.nnz == 120**2


def test_rows_may_be_sparse_or_a_frame_or_a_kernel(blobs):
    X, groups = blobs
    expected = model().fit(X, sensitive_features=groups).labels_
    for rows in (X.tolist(), pd.DataFrame(X, columns=["x", "y"]), sparse.csr_array(X)):
        labels = model().fit_predict(rows, sensitive_features=groups)
        assert adjusted_rand_score(labels, expected) == 1
    kernel = rbf_kernel(X, gamma=1.0)
    np.testing.assert_array_equal(
        graph_model(3).fit_predict(kernel, sensitive_features=groups), expected
    )
    np.testing.assert_array_equal(
        model(affinity=rbf_kernel).fit(X, sensitive_features=groups).labels_,
        model(gamma=0.5).fit(X, sensitive_features=groups).labels_,  # rbf_kernel's 1 / n_features
    )


@pytest.mark.covering(1)
@pytest.mark.filterwarnings("ignore:The embedding of eigen_solver='dca-admm'")
@pytest.mark.parametrize("eigen_solver", ["auto", *EIGEN_SOLVERS])
@pytest.mark.parametrize("affinity", ["rbf", "nearest_neighbors"])
def test_every_solver_gives_balanced_clusters(blobs, affinity, eigen_solver):
    X, groups = blobs
    fitted = model(affinity=affinity, eigen_solver=eigen_solver).fit(X, sensitive_features=groups)
    assert is_balanced(fitted)
    assert fitted.embedding_.shape == (120, 3)
    assert len(set(fitted.labels_)) == 3


def test_n_components(blobs):
    X, groups = blobs
    fitted = model(n_components=5).fit(X, sensitive_features=groups)
    assert fitted.embedding_.shape == (120, 5)
    assert is_balanced(fitted)
    with pytest.raises(
        ValueError, match="119, the number of feasible directions of n_samples=120 .*, got 120"
    ):
        model(n_components=120).fit(X, sensitive_features=groups)


# Odd graphs ---------------------------------------------------------------------------


def test_isolated_nodes_go_where_their_group_lacks():
    # Each clique lacks one "b"; the two isolated nodes are "b".
    graph = linalg.block_diag(*[np.ones((3, 3))] * 2, np.zeros((2, 2)))
    groups = list("aabaabbb")
    fitted = graph_model(min_balance=1).fit(sparse.csr_array(graph), sensitive_features=groups)
    assert fitted.labels_[0] != fitted.labels_[3]
    assert fitted.group_counts_.tolist() == [[2, 2], [2, 2]]
    assert fitted.objective_ == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no division by the degree of a node without edges
        assert fitted.predict(np.zeros((1, 8)))[0] in (0, 1)


@pytest.mark.parametrize("storage", STORAGES)
def test_no_edges_at_all(storage):
    with pytest.warns(UserWarning, match=r"100\.0% of the rows are similar to no other row"):
        fitted = graph_model().fit(storage(np.zeros((8, 8))), sensitive_features=[0, 1] * 4)
    assert fitted.objective_ == 0
    assert is_balanced(fitted)
    assert sorted(set(fitted.labels_)) == [0, 1]


@pytest.mark.parametrize("eigen_solver", ["auto", "block-lanczos", "chebyshev", "nullspace"])
def test_components_of_a_disconnected_graph_are_the_clusters(eigen_solver):
    component = np.repeat(np.arange(8), 10)
    graph = sparse.csr_array((component[:, None] == component).astype(float))
    fitted = graph_model(8, min_balance=1, eigen_solver=eigen_solver).fit(
        graph, sensitive_features=np.arange(80) % 2
    )
    assert adjusted_rand_score(fitted.labels_, component) == 1
    assert fitted.objective_ == pytest.approx(0, abs=1e-12)


def test_duplicates_and_bipartite_graphs_are_fine():
    groups = [0, 1] * 6
    with pytest.warns(UserWarning, match="All rows are equally similar"):
        identical = model(min_balance=1).fit(np.zeros((12, 2)), sensitive_features=groups)
    assert is_balanced(identical)
    assert identical.objective_ == pytest.approx(2)  # no cut is better than another
    bipartite = np.kron(1 - np.eye(2), np.ones((6, 6)))
    assert is_balanced(graph_model(min_balance=1).fit(bipartite, sensitive_features=groups))


@pytest.mark.parametrize(("gamma", "message"), [(1e-12, "equally similar"), (1e6, "no other row")])
def test_extreme_kernels_still_give_balanced_clusters(blobs, gamma, message):
    X, groups = blobs
    with pytest.warns(UserWarning, match=message):
        fitted = model(gamma=gamma).fit(X, sensitive_features=groups)
    assert is_balanced(fitted)
    assert np.isfinite(fitted.embedding_).all()


IN_DOLLARS = np.random.default_rng(0).normal([[60e3, 40.0]], [30e3, 12.0], size=(80, 2))
MOSTLY_ISOLATED = linalg.block_diag(np.ones((24, 24)), np.zeros((56, 56)))
NO_CLUSTERS = {
    "unscaled columns": (IN_DOLLARS, {}, "100.0% of the rows"),
    "computed in tiles": (IN_DOLLARS, {"memory": 0}, "100.0% of the rows"),
    "landmarks": (IN_DOLLARS, {"n_landmarks": 20}, "% of the rows"),
    "one neighbour": (IN_DOLLARS, {"affinity": "nearest_neighbors", "n_neighbors": 1}, "100.0%"),
    "loops": (np.eye(80), {"affinity": "precomputed"}, "100.0% of the rows"),
    "isolated": (MOSTLY_ISOLATED, {"affinity": "precomputed"}, "70.0% of the rows"),
    "complete": (1 - np.eye(80), {"affinity": "precomputed"}, "All rows are equally similar"),
    "callable": (IN_DOLLARS, {"affinity": rbf_kernel}, "100.0% of the rows"),
    "equally similar": (IN_DOLLARS, {"gamma": 1e-30}, "All rows are equally similar"),
    "equally similar, landmarks": (IN_DOLLARS, {"gamma": 1e-30, "n_landmarks": 20}, "All rows are"),
}


@pytest.mark.parametrize("case", NO_CLUSTERS)
def test_affinities_without_clusters_are_warned_of(case):
    """With groups, without them, and in fronts."""
    X, settings, message = NO_CLUSTERS[case]
    settings = {"gamma": 1.0, **settings}
    memory = settings.pop("memory", 1024)
    groups = np.arange(80) % 2
    with config_context(working_memory=memory), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fits = [
            lambda: model(2, **settings).fit(X, sensitive_features=groups),
            lambda: model(2, min_balance=None, **settings).fit(X),
            lambda: cluster_front(model(2, **settings), X, sensitive_features=groups, n_levels=2),
        ]
        for fit in fits[: 2 if "n_landmarks" in settings else 3]:
            caught.clear()
            fit()
            assert [message in str(one.message) for one in caught] == [True]
            assert caught[0].filename == __file__


def test_scaled_columns_and_few_isolated_nodes_are_not_warned_of():
    X = IN_DOLLARS / IN_DOLLARS.std(axis=0)
    groups = np.arange(80) % 2
    graph = linalg.block_diag(*[np.ones((35, 35))] * 2, np.zeros((10, 10)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model(2).fit(X, sensitive_features=groups)
        model(2, n_landmarks=20).fit(X, sensitive_features=groups)
        graph_model(2).fit(graph, sensitive_features=groups)


# Refusals -----------------------------------------------------------------------------


def test_fronts_refuse_landmarks(blobs):
    X, groups = blobs
    with pytest.raises(ValueError, match="n_landmarks must be None in a front, got 20"):
        cluster_front(model(n_landmarks=20), X, sensitive_features=groups)


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    ("entry", "message"),
    [(3.0, "symmetric"), (-1.0, "negative"), (np.nan, "NaN"), (np.inf, "infinity")],
)
def test_bad_affinities_are_refused(storage, entry, message):
    graph = two_cliques()
    graph[0, 1] = entry
    with pytest.raises(ValueError, match=message):
        graph_model().fit(storage(graph), sensitive_features=[0, 1] * 4)
    if np.isfinite(entry):
        with pytest.raises(ValueError, match=message):
            model(2, affinity=lambda X, Y: graph).fit(np.eye(8), sensitive_features=[0, 1] * 4)


@pytest.mark.covering(1)
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("affinity", ["rbf", "nearest_neighbors"])
def test_a_graph_without_precomputed_affinity_is_warned_of(storage, affinity):
    graph = storage(linalg.block_diag(*[np.ones((15, 15))] * 3) - np.eye(45))
    groups = np.arange(45) % 2
    with pytest.warns(UserWarning, match=r"rows for features.*Pass affinity='precomputed'"):
        model(affinity=affinity).fit(graph, sensitive_features=groups)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        graph_model(3).fit(graph, sensitive_features=groups)


@pytest.mark.parametrize("storage", STORAGES)
def test_square_features_are_not_taken_for_a_graph(storage):
    X = np.random.default_rng(0).normal(size=(40, 40))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model(gamma=0.01).fit(storage(X), sensitive_features=np.arange(40) % 2)


@pytest.mark.parametrize("n_landmarks", [None, 5])
def test_sparse_features_are_taken_as_the_tag_says(n_landmarks):
    fair = model(2, n_landmarks=n_landmarks)
    X = sparse.csr_array(np.random.default_rng(0).normal(size=(40, 3)))
    assert get_tags(fair).input_tags.sparse == (n_landmarks is None)
    with nullcontext() if n_landmarks is None else pytest.raises(TypeError, match="Sparse"):
        fair.fit(X, sensitive_features=np.arange(40) % 2)


def test_affinities_of_the_wrong_shape_are_refused(blobs):
    X, groups = blobs
    with pytest.raises(ValueError, match=r"shape \(120, 120\), but it returned shape \(120,\)"):
        model(affinity=lambda X, Y: X[:, 0]).fit(X, sensitive_features=groups)
    with pytest.raises(ValueError, match=r"square, but its shape is \(120, 2\)"):
        graph_model().fit(X, sensitive_features=groups)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_clusters": 9}, "n_samples=8 should be >= n_clusters=9"),
        ({"n_clusters": 8}, "between 1 and 7, the number of feasible directions"),
        ({"n_clusters": 0}, "'n_clusters' parameter"),
        ({"min_balance": 1.5}, "'min_balance' parameter"),
        ({"affinity": "cosine"}, "'affinity' parameter .*'nearest_neighbors'"),
        ({"eigen_solver": "lobpcg"}, "'eigen_solver' parameter .*'chebyshev'"),
        ({"assign_labels": "qr"}, "'assign_labels' parameter .*'ncut'"),
        ({"gamma": 0.0}, "'gamma' parameter"),
    ],
)
def test_bad_parameters_are_refused(params, message):
    X = np.arange(8.0)[:, None]
    with pytest.raises(ValueError, match=message):
        model(**params).fit(X, sensitive_features=[0, 1] * 4)


def test_affinities_may_be_zero_on_the_diagonal(blobs):
    """As those of Ng, Jordan and Weiss (2001), of a width of the size of a blob."""
    X, groups = blobs
    kernel = rbf_kernel(X, gamma=1.0)
    expected = graph_model(3).fit_predict(kernel, sensitive_features=groups)
    np.fill_diagonal(kernel, 0.0)
    labels = graph_model(3).fit_predict(kernel, sensitive_features=groups)
    assert adjusted_rand_score(labels, expected) > 0.9


@pytest.mark.parametrize("power", [1, 2])
def test_distances_in_place_of_affinities_are_warned_of(blobs, power):
    X, groups = blobs
    distances = np.linalg.norm(X[:, None] - X, axis=2) ** power
    with pytest.warns(UserWarning, match="keeps the triangle inequality, as distances do"):
        graph_model(3).fit(distances, sensitive_features=groups)
