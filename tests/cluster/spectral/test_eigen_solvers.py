"""The parts of the eigen-solvers; whole embeddings are tested with `fair_embedding`."""

import numpy as np
import pytest
from scipy import linalg
from sklearn.metrics.pairwise import rbf_kernel

from skfair.cluster.spectral._eigen_solvers import (
    NormalizedAffinity,
    _lower_bound,
    _ritz_errors,
    orthonormalize,
)
from skfair.cluster.spectral._fair_embedding import EIGEN_SOLVERS
from skfair.datasets import make_fair_sbm


def test_estimated_errors_by_hand():
    residuals = np.diag([0.1, 0.02, 1e-7, 0.5]).astype(np.float32)
    values = np.array([0.9, 0.8, 0.7, 0.5], dtype=np.float32)
    # r^2 / gap; the same; a rounding error; r itself, where there is no gap.
    np.testing.assert_allclose(
        _ritz_errors(values, residuals), [0.025, 4e-4 / 0.3, 0, 0.5], rtol=1e-5
    )


@pytest.mark.parametrize("shape", ["random", "bipartite", "complete", "kernel", "two nodes"])
def test_the_lower_bound_is_close_below_all_eigenvalues(shape):
    graph = make_fair_sbm(200, n_clusters=3, n_groups=1, random_state=0)[0].toarray()
    empty = np.zeros_like(graph)
    graph = {
        "random": graph,
        "bipartite": np.block([[empty, graph], [graph, empty]]),
        "complete": np.ones((200, 200)) - np.eye(200),
        "kernel": rbf_kernel(np.random.default_rng(0).normal(size=(200, 2))),
        "two nodes": linalg.block_diag(graph, [[0, 1], [1, 0]]),
    }[shape]
    operator = NormalizedAffinity(graph)
    v = np.random.default_rng(0).normal(size=(len(graph), 1)).astype(np.float32)
    least = linalg.eigvalsh(operator.to_dense())[0]
    assert least - 0.1 <= _lower_bound(operator, v) <= least + 1e-6


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("condition", [1.0, 1e3, 1e30])
def test_orthonormalize_copes_with_any_condition(dtype, condition):
    rng = np.random.default_rng(0)
    outside = np.linalg.qr(rng.normal(size=(80, 3)))[0].astype(dtype)
    scales = np.logspace(0, -np.log10(condition), 6)
    X = (rng.normal(size=(80, 6)) * scales) @ rng.normal(size=(6, 6))
    X = (X + outside @ rng.normal(size=(3, 6))).astype(dtype)
    Q = orthonormalize(outside, X)
    accuracy = 20 * np.finfo(dtype).eps
    assert Q.dtype == dtype
    np.testing.assert_allclose(Q.T @ Q, np.eye(6), atol=accuracy)
    np.testing.assert_allclose(outside.T @ Q, 0, atol=accuracy)
    if condition == 1.0:
        inside = X - outside @ (outside.T @ X)
        np.testing.assert_allclose(Q @ (Q.T @ inside), inside, atol=100 * accuracy)


def test_registry_names_are_hyphenated():
    assert all(name == name.lower() and "_" not in name for name in EIGEN_SOLVERS)
