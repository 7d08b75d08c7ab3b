"""The cheapest assignment to centres with a maximum number of samples of each cluster."""

import numpy as np

from skfair.cluster.kmeans._size_dual import SizeDual, assign_sizes
from skfair.cluster.kmeans._transport import solve_transport


def assign_within_capacities(X, centers, capacities):
    """Labels of the least sum of squared distances with ``capacities``, positive integers."""
    # Distances are compared in float32, in a scale in which they have squares.
    scale = max(abs(X).max() if X.shape[0] else 0.0, np.abs(centers).max()) or 1.0
    X, centers = X.astype(np.float64) / scale, centers / scale
    bounds = np.zeros(len(centers)), capacities.astype(float)
    dual = assign_sizes(X, centers, bounds, SizeDual(np.zeros(len(centers))))[1]
    return solve_transport(X, centers, bounds, np.maximum(dual.multipliers, 0)).labels
