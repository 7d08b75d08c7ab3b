"""Small fits that compile what fits with default settings need."""

import warnings

import numpy as np
from scipy import sparse

from skfair.classification import ConstrainedERMClassifier, PartialParityClassifier
from skfair.cluster import FairKMeans, FairSpectralClustering, fair_kmeans_front
from skfair.regression import PartialParityRegressor


def fit_all():
    """Fit every estimator that has kernels to a few people of two unlike groups."""
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 2, 300)
    X = rng.normal(size=(300, 3))
    X[:, 0] += 1.5 * groups
    y = X.sum(axis=1) + rng.logistic(size=300) > 0.5
    people = {"sensitive_features": groups}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        FairKMeans(4, random_state=0).fit(X, **people)
        fair_kmeans_front(X, **people, n_clusters=4, n_levels=3, random_state=0)
        FairSpectralClustering(4, random_state=0).fit(X, **people)
        PartialParityClassifier(tolerance=0.2).fit(X, y, **people)
        PartialParityRegressor(tolerance=0.2).fit(X, X.sum(axis=1), **people)
        ConstrainedERMClassifier().fit(sparse.csr_array(X * (X > 1.0)), y, **people)
