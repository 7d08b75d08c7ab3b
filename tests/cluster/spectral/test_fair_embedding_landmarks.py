"""Spectral clustering through landmarks: in memory, block by block, and on a cluster."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel
from sklearn.neighbors import NearestNeighbors

from skfair._partitions.blocks import Blocks
from skfair._partitions.partitions import SUBSAMPLE_SIZES
from skfair._utils.arrays import group_constraint_basis
from skfair.cluster import FairSpectralClustering, fair_embedding
from skfair.cluster.spectral import _problem
from skfair.datasets import make_fair_blobs, open_blocks
from skfair.exceptions import MissingSensitiveFeaturesWarning
from skfair.metrics import normalized_cut


def draw(n_samples=400, n_features=3):
    """Rows and three groups, one of them rare."""
    X, _, groups = make_fair_blobs(
        n_samples, n_features=n_features, centers=4, cluster_std=2.0, random_state=0
    )
    groups[::9] = 2
    return X, groups


def moons(n_samples=1500):
    X, moon = make_moons(n_samples, noise=0.05, random_state=0)
    return X, moon, np.random.default_rng(0).choice(["left", "right"], n_samples, p=[0.6, 0.4])


def fit_model(X, groups, n_clusters=4, **settings):
    settings = {"n_landmarks": 40, "gamma": 0.1, "random_state": 0, **settings}
    return FairSpectralClustering(n_clusters, **settings).fit(X, sensitive_features=groups)


def make_partitions(X, groups, lengths):
    """Columns of X and of groups that are read block by block."""
    table = np.column_stack((X, groups))
    ends = np.cumsum([0, *lengths])

    def read(number, columns):
        return table[ends[number] : ends[number + 1], columns]

    columns = Blocks(read, lengths, range(table.shape[1]))
    return columns[list(range(X.shape[1]))], columns[X.shape[1]]


# Definition ---------------------------------------------------------------------------


def link_through_landmarks(similarity):
    """The affinity of samples with these similarities to landmarks."""
    background = 0.1 * similarity.sum() / len(similarity)
    C = np.column_stack((similarity, np.full(len(similarity), background)))
    return C / C.sum(axis=0) @ C.T


def neighbors(X, Y):
    return NearestNeighbors(n_neighbors=10).fit(Y).kneighbors_graph(X).toarray()


@pytest.mark.covering(1)
@pytest.mark.parametrize("min_balance", [None, 0.8])
@pytest.mark.parametrize(
    ("settings", "similarity"),
    [
        ({}, lambda X, Y: rbf_kernel(X, Y, gamma=0.1)),
        ({"affinity": "nearest_neighbors"}, neighbors),
        ({"affinity": laplacian_kernel}, laplacian_kernel),
        ({"affinity": lambda X, Y: sparse.csr_array(laplacian_kernel(X, Y))}, laplacian_kernel),
    ],
)
def test_the_embedding_is_that_of_the_affinity_through_landmarks(settings, similarity, min_balance):
    X, groups = draw()
    model = fit_model(X, groups, min_balance=min_balance, **settings)
    assert model.landmarks_.shape == (40, 3)
    affinity = link_through_landmarks(similarity(X, model.landmarks_))
    exact = fair_embedding(affinity, sensitive_features=groups, n_components=4)
    H = model.embedding_
    np.testing.assert_allclose(model.eigenvalues_, exact.eigenvalues, atol=1e-9)
    np.testing.assert_allclose(H.T @ H, np.eye(4), atol=1e-9)
    np.testing.assert_allclose(np.abs(H.T @ exact.embedding), np.eye(4), atol=1e-6)
    assert model.embedding_violation_ < 1e-12
    C = group_constraint_basis(groups, 3, affinity.sum(axis=1))
    assert np.linalg.norm(C.T @ H) < 1e-12
    assert model.objective_ == pytest.approx(normalized_cut(model.labels_, affinity))


def test_with_all_samples_of_a_circle_as_landmarks_it_is_the_embedding_of_the_kernel():
    """All have the same degree: but for the background it is the square of M."""
    angles = 2 * np.pi * np.arange(24) / 24
    X = np.column_stack((np.cos(angles), np.sin(angles)))
    groups = np.arange(24) % 2
    model = fit_model(X, groups, 3, n_landmarks=24, gamma=1.0)
    exact = fair_embedding(rbf_kernel(X, gamma=1.0), sensitive_features=groups, n_components=3)
    np.testing.assert_allclose(model.eigenvalues_[1:], exact.eigenvalues[1:] ** 2 / 1.1, rtol=1e-9)
    np.testing.assert_allclose(model.landmarks_, X)
    # The second and the third column are any two of a plane.
    embedding, others = model.embedding_, exact.embedding
    np.testing.assert_allclose(embedding @ embedding.T, others @ others.T, atol=1e-6)


@pytest.mark.parametrize("settings", [{"gamma": 30.0}, {"affinity": "nearest_neighbors"}])
def test_it_finds_moons_as_the_full_affinity_does(settings):
    X, moon, sides = moons()
    model = fit_model(X, sides, 2, n_landmarks=150, **settings)
    assert adjusted_rand_score(moon, model.labels_) > 0.99
    exact = fit_model(X, sides, 2, n_landmarks=None, **settings)
    assert adjusted_rand_score(exact.labels_, model.labels_) > 0.99
    assert model.status_ == "feasible"
    assert adjusted_rand_score(model.labels_, model.predict(X)) > 0.99
    new, of_moon = make_moons(300, noise=0.05, random_state=1)
    assert adjusted_rand_score(of_moon, model.predict(new)) > 0.99


def test_the_guaranteed_balance_holds_for_all_samples():
    X, groups = draw()
    loose, strict = (fit_model(X, groups, min_balance=level) for level in (None, 1.0))
    assert strict.relative_balance_ > 0.9 > loose.relative_balance_
    assert strict.constraint_violation_ == 0
    assert strict.objective_ > loose.objective_
    counts = np.zeros((4, 3))
    np.add.at(counts, (strict.labels_, groups), 1)
    np.testing.assert_array_equal(strict.group_counts_, counts)
    np.testing.assert_array_equal(strict.groups_.counts, np.bincount(groups))
    shares = fit_model(X, groups, min_balance=None, min_share_ratio=0.9)
    assert shares.constraint_violation_ == 0
    assert shares.share_ratio_ > 0.85


def test_new_samples_are_embedded_by_their_landmarks():
    X, groups = draw()
    old, new = X[:300], X[300:]
    model = fit_model(old, groups[:300])

    def extend_embedding(rows):
        similarity = rbf_kernel(rows, model.landmarks_, gamma=0.1)
        degrees = similarity.sum(axis=1, keepdims=True) + model._background
        return similarity @ model._extension / degrees, degrees / (10 * model._background)

    nearest = ((extend_embedding(new)[0][:, None] - model._means) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(model.predict(new), nearest)
    # Training samples are shifted by the u of their group over their degree, and all by a constant;
    # the mean of u is 0.
    places, degrees = extend_embedding(old)
    moved = places - model.embedding_ / np.sqrt(degrees)
    terms = np.column_stack((np.eye(3)[groups[:300]] / degrees, np.ones(300)))
    coefficients = np.linalg.lstsq(terms, moved)[0]
    np.testing.assert_allclose(terms @ coefficients, moved, atol=1e-12)
    shifts = coefficients[:3, 1:]
    np.testing.assert_allclose(np.bincount(groups[:300]) @ shifts, 0, atol=1e-9)
    assert np.abs(shifts).max() > 1e-3


def test_outliers_form_no_cluster_but_join_those_that_lack_their_group():
    X, _, groups = make_fair_blobs(600, centers=3, group_separation=0.0, random_state=0)
    far = X[:6] + 1e3 * np.arange(1, 7)[:, None]
    rows = np.vstack((X, far))
    all_groups = np.append(groups, [0, 1] * 3)
    model = fit_model(rows, all_groups, 3, gamma=1.0, n_landmarks=60)
    assert model.cluster_sizes_.min() > 150
    assert model.constraint_violation_ == 0
    assert np.isfinite(model.embedding_).all()


def test_a_fit_without_landmarks_keeps_none():
    X, groups = draw(100)
    model = fit_model(X, groups)
    assert not hasattr(model, "affinity_matrix_")
    model.set_params(n_landmarks=None).fit(X, sensitive_features=groups)
    assert not hasattr(model, "landmarks_")
    assert model.affinity_matrix_.shape == (100, 100)


def test_a_direction_without_similarity_is_left_out():
    """Samples at two points differ in one direction, equal samples in none."""
    X = np.repeat([[0.0], [100.0]], 20, axis=0)
    groups = np.arange(40) % 2
    model = fit_model(X, groups, 2, n_landmarks=2, gamma=1.0, n_components=2)
    np.testing.assert_allclose(model.eigenvalues_, [1, 1 / 1.1])  # the background has the rest
    assert adjusted_rand_score(X.ravel(), model.labels_) == 1
    with pytest.warns(UserWarning, match="All rows are equally similar"):
        same = fit_model(np.zeros((40, 1)), groups, 2, n_landmarks=3)
    np.testing.assert_allclose(same.eigenvalues_, [1, 0], atol=1e-12)
    np.testing.assert_allclose(same.embedding_[:, 1], 0)
    assert same.cluster_sizes_.all()
    assert same.constraint_violation_ == 0


# Memory, files and Dask ---------------------------------------------------------------


def same_bits(one, other):
    for name in ("labels_", "embedding_"):
        np.testing.assert_array_equal(
            np.asarray(getattr(one, name)), np.asarray(getattr(other, name))
        )
    for name in ("landmarks_", "eigenvalues_", "objective_", "group_counts_", "_means"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def make_chunked(X, groups, chunks):
    da = pytest.importorskip("dask.array")
    return da.from_array(X, chunks=(chunks, -1)), da.from_array(groups, chunks=(chunks,))


@pytest.mark.slow
@pytest.mark.parametrize("affinity", ["rbf", "nearest_neighbors"])
def test_memory_files_and_a_cluster_give_the_same_bits(local_client, affinity, monkeypatch):
    monkeypatch.setitem(SUBSAMPLE_SIZES, "k-means", 1500)
    monkeypatch.setattr(_problem, "BLOCK_SIZE", 2000)
    X, groups = draw(5000)
    lengths = (2000, 2000, 1000)
    settings = {"affinity": affinity, "n_init": 2}
    alone, two = (fit_model(X, groups, n_jobs=n_jobs, **settings) for n_jobs in (1, 2))
    same_bits(alone, two)
    same_bits(alone, fit_model(*make_partitions(X, groups, lengths), **settings))
    lazy = make_chunked(X, groups, lengths)
    model = fit_model(*lazy, **settings)
    same_bits(alone, model)
    assert model.labels_.chunks == (lengths,)
    assert model.embedding_.chunks == (lengths, (4,))
    np.testing.assert_array_equal(model.predict(lazy[0]).compute(), alone.predict(X))
    assert alone.constraint_violation_ == 0


def test_files_are_opened_and_named(tmp_path):
    X, groups = draw()
    np.save(tmp_path / "rows.npy", np.column_stack((X, groups)))
    columns = open_blocks(tmp_path / "rows.npy")
    same_bits(fit_model(columns[[0, 1, 2]], columns[3]), fit_model(X, groups))


@pytest.mark.slow
def test_partitions_may_be_empty_or_have_a_single_group(local_client):
    X, groups = draw()
    order = np.argsort(groups, kind="stable")
    lengths = (0, 100, 0, 50, 250, 0)
    model = fit_model(*make_chunked(X[order], groups[order], lengths))
    same_bits(model, fit_model(*make_partitions(X[order], groups[order], lengths)))
    assert model.constraint_violation_ == 0
    assert model.embedding_violation_ < 1e-12


def test_partitioned_data_use_landmarks_by_default():
    X, groups = draw()
    data = make_partitions(X, groups, [150, 250])
    model = fit_model(*data, n_landmarks=None)
    same_bits(model, fit_model(*data, n_landmarks=400))
    np.testing.assert_array_equal(model.landmarks_, X)


# Refusals -----------------------------------------------------------------------------


@pytest.mark.parametrize("is_partitioned", [False, True])
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"affinity": "precomputed"}, "no similarities to landmarks"),
        ({"eigen_solver": "chebyshev"}, "eigen_solver='chebyshev' needs the affinity"),
        ({"assign_labels": "kmeans"}, "set min_balance=None"),
        ({"n_landmarks": 401}, "at most n_samples=400, got 401"),
        ({"n_landmarks": 3}, "at least n_components=4 .*, got 3"),
        ({"affinity": lambda X, Y: np.zeros((len(X), len(Y)))}, "not all 0"),
        ({"affinity": lambda X, Y: np.full((len(X), len(Y)), np.nan)}, "finite"),
        ({"affinity": lambda X, Y: 1 - 1.1 * rbf_kernel(X, Y)}, "not negative"),
    ],
)
def test_parameters_that_landmarks_cannot_use_are_refused(settings, message, is_partitioned):
    X, groups = draw()
    data = make_partitions(X, groups, [150, 250]) if is_partitioned else (X, groups)
    with pytest.raises(ValueError, match=message):
        fit_model(*data, **settings)


def test_errors_name_their_partition():
    X, groups = draw()
    X[200] = np.nan
    with pytest.raises(ValueError, match="Partition 1: .*NaN"):
        fit_model(*make_partitions(X, groups, [150, 250]))
    with pytest.raises(TypeError, match="dense data is required"):
        fit_model(sparse.csr_array(draw()[0]), groups)


def test_groups_are_needed():
    X, groups = draw()
    with pytest.raises(ValueError, match="sensitive_features, but none came"):
        fit_model(make_partitions(X, groups, [150, 250])[0], None)
    with pytest.warns(MissingSensitiveFeaturesWarning):
        model = fit_model(X, None)
    assert model.status_ == "unconstrained"
    assert fit_model(X, None, min_balance=None).status_ == "feasible"
