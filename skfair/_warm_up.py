"""Fits that compile what fits with default settings need."""

import warnings

import numpy as np

from skfair.classification import ConstrainedERMClassifier, PartialParityClassifier
from skfair.cluster import FairKMeans, FairSpectralClustering, fair_kmeans_front
from skfair.regression import PartialParityRegressor

MANY = 150_000  # so many decisions are counted by kernels


def fit_all():
    """Fit every estimator that has kernels, to a few people of two unlike groups or to many."""
    X, y, people = _draw(300)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        FairKMeans(4, random_state=0).fit(X, **people)
        # Of 300 in four: so tight that some are sent from cluster to cluster.
        FairKMeans(4, min_cluster_size=74, random_state=0).fit(X, **people)
        fair_kmeans_front(X, **people, n_clusters=4, n_levels=3, random_state=0)
        FairSpectralClustering(4, random_state=0).fit(X, **people)
        PartialParityClassifier(tolerance=0.2).fit(X, y, **people)
        PartialParityRegressor(tolerance=0.2).fit(X, X.sum(axis=1), **people)
        X, y, people = _draw(MANY)
        # Mostly zeros, which are not stored. One iteration: its decisions are corrected then.
        ConstrainedERMClassifier(max_iter=1).fit(X * (X > 1.0), y, **people)


def _draw(n_samples):
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 2, n_samples)
    X = rng.normal(size=(n_samples, 3))
    X[:, 0] += 1.5 * groups
    y = X.sum(axis=1) + rng.logistic(size=n_samples) > 0.5
    return X, y, {"sensitive_features": groups}
