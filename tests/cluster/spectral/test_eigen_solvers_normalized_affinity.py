"""Products with the normalised affinity, and the group constraint."""

import numpy as np
import pytest
from scipy import linalg, sparse
from sklearn.metrics.pairwise import rbf_kernel

from skfair.cluster import RBFAffinity, fair_embedding
from skfair.cluster.spectral import _eigen_solvers
from skfair.cluster.spectral._eigen_solvers import NormalizedAffinity
from skfair.datasets import make_fair_sbm


@pytest.mark.parametrize("dtype, accuracy", [(np.float32, 1e-6), (np.float64, 1e-14)])
@pytest.mark.parametrize("storage", ["dense", "csr", "tiles"])
def test_products_and_rows_follow_the_definition(monkeypatch, dtype, accuracy, storage):
    monkeypatch.setattr(_eigen_solvers, "ROWS_PER_TASK", 16)  # in three blocks
    monkeypatch.setattr(_eigen_solvers, "STRIPE_ROWS", 16)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    V = rng.normal(size=(40, 3))
    K = rbf_kernel(X, gamma=0.7)
    stored = {"dense": K, "csr": sparse.csr_array(K), "tiles": RBFAffinity(X, 0.7)}[storage]
    degrees = K.sum(axis=1)
    M = K / np.sqrt(np.outer(degrees, degrees))
    operator = NormalizedAffinity(stored)
    product = operator(V.astype(dtype))
    assert product.dtype == dtype
    np.testing.assert_allclose(product, M @ V, atol=accuracy)
    np.testing.assert_allclose(operator.rows(np.array([3, 17])), M[[3, 17]], atol=1e-14)
    np.testing.assert_allclose(operator.to_dense(), M, atol=1e-14)
    assert operator.n_products == 3
    np.testing.assert_allclose(operator.quadratic_form(V), V.T @ M @ V, atol=1e-13)
    np.testing.assert_allclose(operator.degrees, degrees, rtol=1e-14)


def test_graphs_are_distinguished_from_kernels():
    graph = make_fair_sbm(40, n_clusters=2, random_state=0)[0].toarray()
    kernel = rbf_kernel(np.arange(6.0)[:, None])
    assert NormalizedAffinity(graph).may_be_indefinite
    assert NormalizedAffinity(sparse.csr_array(graph + np.eye(40))).may_be_indefinite
    assert not NormalizedAffinity(kernel).may_be_indefinite
    assert not NormalizedAffinity(linalg.block_diag(kernel, 0)).may_be_indefinite
    assert not NormalizedAffinity(RBFAffinity(np.arange(6.0)[:, None])).may_be_indefinite


@pytest.mark.slow
def test_any_number_of_threads_gives_the_same_bits(monkeypatch):
    monkeypatch.setattr(_eigen_solvers, "ROWS_PER_TASK", 16)
    monkeypatch.setattr(_eigen_solvers, "STRIPE_ROWS", 16)
    monkeypatch.setattr(_eigen_solvers, "TILE_BYTES", 4096)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 2))
    groups = np.arange(700) % 2
    K = rbf_kernel(X)
    for affinities in (
        [K] * 2,
        [sparse.csr_array(K)] * 2,
        [RBFAffinity(X, 0.5, n_jobs) for n_jobs in (1, 2)],
    ):
        one, two = (
            fair_embedding(
                affinity, sensitive_features=groups, n_components=4, random_state=0, n_jobs=n_jobs
            )
            for affinity, n_jobs in zip(affinities, (1, 2), strict=True)
        )
        np.testing.assert_array_equal(one.embedding, two.embedding)
        np.testing.assert_array_equal(one.eigenvalues, two.eigenvalues)
