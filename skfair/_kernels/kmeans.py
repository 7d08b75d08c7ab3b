"""Distances to centres and the nearest of them.

Samples are processed in blocks, feature by feature. So the innermost loop runs over samples and
vectorises for any number of features and clusters. Differences are squared, not expanded into a
matrix product, which keeps full accuracy far from the origin and an order of the sums that does not
depend on the number of threads.
"""

import numpy as np

from skfair._kernels import helper, jit

BLOCK = 128


@helper
def _fill_block(X, centers, start, block, features, distances):
    """Squared distances of ``block`` samples from ``start`` on, (n_clusters, BLOCK)."""
    n_clusters, n_features = centers.shape
    # Transpose the block, so that the innermost loop runs over samples.
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


def squared_distances(X, centers):
    """Squared Euclidean distances, (n_samples, n_clusters)."""
    distances = np.empty((len(X), len(centers)))
    _squared_distances(X, centers, distances)
    return distances


@jit
def _squared_distances(X, centers, result):
    n_samples, n_clusters = result.shape
    features = np.zeros((X.shape[1], BLOCK))
    distances = np.empty((n_clusters, BLOCK))
    for start in range(0, n_samples, BLOCK):
        block = min(BLOCK, n_samples - start)
        _fill_block(X, centers, start, block, features, distances)
        for i in range(block):
            for k in range(n_clusters):
                result[start + i, k] = distances[k, i]


def squared_distances_by_cluster(X, centers):
    """Squared Euclidean distances, transposed: (n_clusters, n_samples)."""
    distances = np.empty((len(centers), len(X)))
    _squared_distances_by_cluster(X, centers, distances)
    return distances


@jit
def _squared_distances_by_cluster(X, centers, result):
    n_clusters, n_samples = result.shape
    features = np.zeros((X.shape[1], BLOCK))
    distances = np.empty((n_clusters, BLOCK))
    for start in range(0, n_samples, BLOCK):
        block = min(BLOCK, n_samples - start)
        _fill_block(X, centers, start, block, features, distances)
        for k in range(n_clusters):
            for i in range(block):
                result[k, start + i] = distances[k, i]


def nearest_centers(X, centers):
    """Index of the nearest centre (ties to the lowest) and the squared distance to it."""
    labels, least, _ = assign_nearest(X, np.ones(len(X)), centers)
    return labels, least


def assign_nearest(X, masses, centers):
    """The nearest centres as `nearest_centers`, and sums over the samples of each.

    The sums are those of masses times samples, of masses, and the total cost.
    """
    labels, least = np.empty(len(X), np.int32), np.empty(len(X))
    sums, sizes = np.zeros(centers.shape), np.zeros(len(centers))
    cost = _assign_nearest(X, masses, centers, labels, least, sums, sizes)
    return labels, least, (sums, sizes, cost)


@jit
def _assign_nearest(X, masses, centers, labels, least, sums, sizes):
    n_samples, n_clusters = X.shape[0], centers.shape[0]
    features = np.zeros((X.shape[1], BLOCK))
    distances = np.empty((n_clusters, BLOCK))
    best, first = np.empty(BLOCK), np.empty(BLOCK, np.int64)
    cost = 0.0
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
            p, k = start + i, first[i]
            x, total, mass = X[p], sums[k], masses[p]
            labels[p], least[p] = k, best[i]
            sizes[k] += mass
            cost += mass * best[i]
            for f in range(x.size):
                total[f] += mass * x[f]
    return cost
