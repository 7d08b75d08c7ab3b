"""A checked input of spectral clustering, and the way of its embedding to new rows."""

import numpy as np
import pytest

from skfair._groups.arguments import FitArguments
from skfair.cluster import FairSpectralClustering, fair_embedding
from skfair.cluster.spectral._problem import make_spectral_problem

# Two linked pairs, weakly joined, and a node alone.
K = np.array(
    [
        [0.0, 4, 1, 0, 0],
        [4, 0, 0, 1, 0],
        [1, 0, 0, 4, 0],
        [0, 1, 4, 0, 0],
        [0, 0, 0, 0, 0],
    ]
)


@pytest.fixture
def problem():
    estimator = FairSpectralClustering(2, affinity="precomputed", min_balance=None)
    groups = ["a", "b", "a", "b", "a"]
    result = fair_embedding(K, sensitive_features=groups, n_components=2)
    arguments = FitArguments(X=K, sensitive_features=groups)
    return make_spectral_problem(estimator, arguments)._replace(embedding=result)


def test_the_data_balance_is_that_of_the_groups(problem):
    assert problem.data_balance == 2 / 3


def test_means_are_weighted_by_degrees(problem):
    labels = np.array([0, 0, 1, 1, 1])
    T = problem.coordinates()
    degrees = problem.operator.degrees
    assert degrees.tolist() == [5, 5, 5, 5, 5]
    expected = [np.average(T[labels == k], axis=0, weights=degrees[labels == k]) for k in (0, 1)]
    np.testing.assert_allclose(problem.means(labels, 2), expected)


def test_the_extension_reproduces_training_coordinates_up_to_the_constraint(problem):
    # Without groups the embedding is spanned by eigenvectors, and the extension is exact.
    plain = fair_embedding(K, sensitive_features=["all"] * 5, n_components=2)
    problem = problem._replace(embedding=plain)
    extended = K[:4] @ problem.extension() / problem.operator.degrees[:4, None]
    np.testing.assert_allclose(extended, problem.coordinates()[:4], atol=1e-12)


def test_annihilated_directions_extend_to_zero(problem):
    lame = problem.embedding._replace(eigenvalues=np.array([1.0, 1e-9]))
    extension = problem._replace(embedding=lame).extension()
    assert (extension[:, 1] == 0).all()
    assert np.isfinite(extension).all()
