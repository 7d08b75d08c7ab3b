"""Distances to centres and the nearest of them.

Samples are taken in blocks, feature by feature, so that the innermost loop runs over samples and
becomes vector code however few features or clusters there are. Differences are squared, not
expanded into a matrix product: that keeps full accuracy far from the origin, and the order of the
sums does not depend on the number of threads.
"""

import numpy as np

from skfair._kernels import jit

BLOCK = 128


@jit
def _fill_block(X, centers, start, block, features, distances):
    """Squared distances of ``block`` samples from ``start`` on, (n_clusters, BLOCK)."""
    n_clusters, n_features = centers.shape
    for i in range(block):
        for f in range(n_features):
            features[f, i] = X[start + i, f]
    for k in range(n_clusters):
        row = distances[k]
        row[:] = 0.0
        for f in range(n_features):
            column, c = features[f], centers[k, f]
            for i in range(BLOCK):
                d = column[i] - c
                row[i] += d * d


@jit
def squared_distances(X, centers):
    """(n_samples, n_clusters) squared Euclidean distances."""
    n_samples, n_clusters = X.shape[0], centers.shape[0]
    result = np.empty((n_samples, n_clusters))
    features = np.zeros((X.shape[1], BLOCK))
    distances = np.empty((n_clusters, BLOCK))
    for start in range(0, n_samples, BLOCK):
        block = min(BLOCK, n_samples - start)
        _fill_block(X, centers, start, block, features, distances)
        for i in range(block):
            for k in range(n_clusters):
                result[start + i, k] = distances[k, i]
    return result


@jit
def squared_distances_by_cluster(X, centers):
    """The same, transposed: (n_clusters, n_samples)."""
    n_samples, n_clusters = X.shape[0], centers.shape[0]
    result = np.empty((n_clusters, n_samples))
    features = np.zeros((X.shape[1], BLOCK))
    distances = np.empty((n_clusters, BLOCK))
    for start in range(0, n_samples, BLOCK):
        block = min(BLOCK, n_samples - start)
        _fill_block(X, centers, start, block, features, distances)
        for k in range(n_clusters):
            for i in range(block):
                result[k, start + i] = distances[k, i]
    return result


@jit
def nearest_centers(X, centers):
    """Index of the nearest centre (ties to the lowest) and the squared distance to it."""
    n_samples, n_clusters = X.shape[0], centers.shape[0]
    labels = np.empty(n_samples, np.int32)
    least = np.empty(n_samples)
    features = np.zeros((X.shape[1], BLOCK))
    distances = np.empty((n_clusters, BLOCK))
    best, first = np.empty(BLOCK), np.empty(BLOCK, np.int64)
    for start in range(0, n_samples, BLOCK):
        block = min(BLOCK, n_samples - start)
        _fill_block(X, centers, start, block, features, distances)
        best[:], first[:] = np.inf, 0
        for k in range(n_clusters):
            row = distances[k]
            for i in range(BLOCK):
                wins = row[i] < best[i]
                first[i] = k if wins else first[i]
                best[i] = row[i] if wins else best[i]
        for i in range(block):
            labels[start + i], least[start + i] = first[i], best[i]
    return labels, least
