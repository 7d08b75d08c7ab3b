"""Sparse X: the fit of the same dense X, in memory that grows with the stored entries."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from skfair._kernels import compile_at_first_call
from skfair.cluster import FairKMeans, cluster_front
from skfair.cluster.kmeans._problem import distinct_rows

SETTINGS = {  # number of samples and clusters, and the bounds
    "few samples": (60, 3, {}),
    "balance": (300, 4, {}),
    "ratio of shares": (400, 4, {"min_share_ratio": 0.8, "init": "random"}),
    "sizes": (600, 5, {"min_balance": None, "max_cluster_size": 130}),
    "subsample": (6000, 3, {"max_iter": 5}),
}


def draw_entries(rng, shape, density):
    """Samples whose entries are stored with a probability, in [0, 1)."""
    return sparse.csr_array(rng.random(shape) * (rng.random(shape) < density))


def draw(n_samples, seed=0):
    rng = np.random.default_rng(seed)
    return draw_entries(rng, (n_samples, 15), 0.3), rng.integers(2, size=n_samples)


@pytest.mark.covering(0)
@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_sparse_fit_is_that_of_the_dense_samples(name):
    n_samples, n_clusters, settings = SETTINGS[name]
    X, groups = draw(n_samples)
    model = FairKMeans(n_clusters, n_init=1, random_state=0, **settings)
    expected = FairKMeans(n_clusters, n_init=1, random_state=0, **settings)
    model.fit(X, sensitive_features=groups)
    expected.fit(X.toarray(), sensitive_features=groups)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    np.testing.assert_allclose(model.cluster_centers_, expected.cluster_centers_, atol=1e-12)
    assert type(model.cluster_centers_) is np.ndarray
    assert model.inertia_ == pytest.approx(expected.inertia_)
    assert model.assignment_lower_bound_ == pytest.approx(expected.assignment_lower_bound_)
    assert model.status_ == expected.status_
    # New samples.
    new, codes = draw(50, seed=1)
    np.testing.assert_array_equal(model.predict(new), expected.predict(new.toarray()))
    by_group = {"sensitive_features": codes}
    labels = expected.predict(new.toarray(), **by_group)
    np.testing.assert_array_equal(model.predict(new, **by_group), labels)
    np.testing.assert_allclose(model.transform(new), expected.transform(new.toarray()))
    assert model.score(new) == pytest.approx(expected.score(new.toarray()))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_new_sparse_samples_take_the_places_that_are_left(dtype):
    X, groups = draw(300)
    new, codes = draw(70, seed=1)
    X = X.astype(dtype)
    new = new.astype(dtype)
    model = FairKMeans(5, max_cluster_size=75, n_init=1, random_state=0)
    model.fit(X, sensitive_features=groups)
    for by_group in ({}, {"sensitive_features": codes}):
        labels = model.predict(new, respect_sizes=True, **by_group)
        expected = model.predict(new.toarray(), respect_sizes=True, **by_group)
        np.testing.assert_array_equal(labels, expected)
        assert (model.cluster_sizes_ + np.bincount(labels, minlength=5)).max() <= 75


@pytest.mark.slow
def test_sizes_of_many_clusters_are_exact_and_cost_as_much_as_dense():
    X, _ = draw(1500)
    settings = {"min_balance": None, "max_cluster_size": 27, "n_init": 1, "random_state": 0}
    model = FairKMeans(60, **settings).fit(X)
    assert model.cluster_sizes_.max() <= 27
    # Rounds compare distances in float32, which other sums of the same dense samples do not repeat.
    expected = FairKMeans(60, **settings).fit(X.toarray())
    assert model.inertia_ == pytest.approx(expected.inertia_, rel=0.02)
    members = sparse.csr_array((np.ones(1500), (model.labels_, np.arange(1500))))
    centers = (members @ X).toarray() / model.cluster_sizes_[:, np.newaxis]
    np.testing.assert_allclose(model.cluster_centers_, centers)
    cost = ((X.toarray() - centers[model.labels_]) ** 2).sum()
    assert model.inertia_ == pytest.approx(cost)
    assert 0.99 * cost <= model.assignment_lower_bound_ <= cost


@pytest.mark.slow
@pytest.mark.covering(0)
@pytest.mark.parametrize("container", [sparse.csc_matrix, sparse.csr_matrix, sparse.coo_array])
def test_formats_duplicates_and_stored_zeros_change_nothing(container):
    X, groups = draw(200)
    expected = FairKMeans(3, random_state=0).fit(X, sensitive_features=groups).labels_
    entries = X.tocoo()
    rows, columns = (np.concatenate([part, part, [0]]) for part in entries.coords)
    halves = np.concatenate([entries.data, entries.data, [0.0]]) / 2
    halved = sparse.coo_array((halves, (rows, columns)), shape=X.shape)
    for stored in (container(X), halved):
        model = FairKMeans(3, random_state=0).fit(stored, sensitive_features=groups)
        np.testing.assert_array_equal(model.labels_, expected)


@pytest.mark.slow
def test_float32_stays_and_the_input_is_not_changed():
    X, groups = draw(200)
    X = X.astype(np.float32)
    data = X.data.copy()
    indices = X.indices.copy()
    model = FairKMeans(3, random_state=0).fit(X, sensitive_features=groups)
    assert model.cluster_centers_.dtype == model.transform(X).dtype == np.float32
    np.testing.assert_array_equal(X.data, data)
    np.testing.assert_array_equal(X.indices, indices)


def test_samples_without_weight_go_to_the_nearest_centre():
    X, groups = draw(200)
    weights = np.repeat([1.0, 0.0], [150, 50])
    model = FairKMeans(3, random_state=0)
    model.fit(X, sensitive_features=groups, sample_weight=weights)
    np.testing.assert_array_equal(model.labels_[150:], model.predict(X[150:]))


def test_equal_sparse_samples_are_counted():
    X, _ = draw(3)
    with pytest.warns(UserWarning, match="3"):
        model = FairKMeans(5, min_balance=None, random_state=0).fit(X[np.arange(30) % 3])
    assert (model.cluster_sizes_ > 0).sum() == 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_clusters", "bounds"),
    [
        (5, {"max_cluster_size": 250}),
        (60, {"max_cluster_size": 20}),
        (5, {"min_balance": 0.95}),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_memory_grows_with_stored_entries(n_clusters, bounds):
    n_samples, n_features = 1000, 4000
    rng = np.random.default_rng(0)
    X = draw_entries(rng, (n_samples, n_features), 2.5e-3)
    model = FairKMeans(n_clusters, n_init=1, max_iter=3, random_state=0)
    model.set_params(**({"min_balance": None} | bounds))
    groups = rng.integers(2, size=n_samples)
    with compile_at_first_call():  # in every process, also where kernels are not stored yet
        model.fit(X, sensitive_features=groups).predict(X)
    tracemalloc.start()
    try:
        model.fit(X, sensitive_features=groups)
        labels = model.predict(X)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(labels) == n_samples
    dense = 8 * n_samples * n_features  # 32 MB
    assert peak < 0.6 * dense
    assert (
        peak < 8 * (12 * n_clusters * n_features + 40 * X.nnz + 20 * n_samples * n_clusters) + 5e6
    )


def test_alternating_swaps_require_dense_samples():
    X, groups = draw(40)
    with pytest.raises(TypeError, match="requires dense X, but X is sparse"):
        FairKMeans(2, algorithm="alternating").fit(X, sensitive_features=groups)


@pytest.mark.slow
def test_a_front_of_sparse_samples_is_that_of_dense_ones():
    X, groups = draw(200)
    kmeans = FairKMeans(3, random_state=0)
    front, expected = (
        cluster_front(kmeans, samples, sensitive_features=groups) for samples in (X, X.toarray())
    )
    np.testing.assert_allclose(front.cost, expected.cost)
    np.testing.assert_allclose(front.balance, expected.balance)


def test_distinct_rows_of_blocks_differ():
    X = sparse.csr_array([[1.0, 0.0], [2.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 2.0], [0.0, 0.0]])
    blocks = [distinct_rows(X[:3], 9), distinct_rows(X[3:], 9)]
    assert [len(block) for block in blocks] == [2, 3]
    assert len(distinct_rows(np.concatenate(blocks), 9)) == 5
    assert len(distinct_rows(X, 3)) == 3
