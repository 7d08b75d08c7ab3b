"""Affinities by name: within the data of a fit and to new rows."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel

from skfair.cluster import FairSpectralClustering, RBFAffinity
from skfair.cluster.spectral._fair_embedding import Affinity

X = np.random.default_rng(0).normal(size=(30, 2))


def affinity_of(**parameters):
    return Affinity(FairSpectralClustering(**parameters))


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"gamma": 0.5}, rbf_kernel(X, gamma=0.5)),
        ({"affinity": laplacian_kernel}, laplacian_kernel(X)),
        ({"affinity": lambda X, Y: sparse.csr_array(rbf_kernel(X, Y))}, rbf_kernel(X)),
    ],
)
def test_within_and_between_agree(parameters, expected):
    affinity = affinity_of(**parameters)
    np.testing.assert_allclose(affinity.compute(X), expected)
    np.testing.assert_allclose(affinity.compute_pairwise(X[:4], X), expected[:4])


def test_neighbours_within_are_those_of_either_side():
    affinity = affinity_of(affinity="nearest_neighbors", n_neighbors=4)
    within = affinity.compute(X).toarray()
    between = affinity.compute_pairwise(X, X).toarray()
    np.testing.assert_array_equal(within, (between + between.T) / 2)
    assert (between.sum(axis=1) == 4).all()


def test_a_precomputed_affinity_is_itself():
    kernel = rbf_kernel(X)
    affinity = affinity_of(affinity="precomputed")
    assert affinity.compute(kernel) is kernel
    assert affinity.compute_pairwise(kernel[:3], None).shape == (3, 30)


def test_what_does_not_fit_is_tiled_if_it_may_be():
    n_bytes = 8 * 30**2
    with config_context(working_memory=n_bytes / 2**20):
        assert isinstance(affinity_of().compute(X), np.ndarray)
    with config_context(working_memory=(n_bytes - 1) / 2**20):
        assert isinstance(affinity_of().compute(X), RBFAffinity)
        with pytest.raises(MemoryError, match=rf"would take {n_bytes} bytes.*working_memory=1\)"):
            affinity_of(eigen_solver="nullspace").compute(X)
