"""What tests of clusterings share."""

from typing import NamedTuple

import numpy as np
import pytest


class Recomputed(NamedTuple):
    centers: np.ndarray  # (n_clusters, n_features)
    cost: float  # summed over the samples
    total: float  # the cost of a single cluster
    counts: np.ndarray  # (n_clusters, n_groups) weights
    balance: float


def recompute(X, labels, groups, sample_weight=None):
    """A clustering by its definition, in float64, from data that are shifted exactly."""
    X = np.asarray(X, dtype=np.float64)
    _, codes = np.unique(groups, return_inverse=True)
    weights = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight)
    shift = X[0]
    Z = X - shift
    in_cluster = np.eye(labels.max() + 1)[labels] * weights[:, None]
    centers = in_cluster.T @ Z / in_cluster.sum(axis=0)[:, None]
    squares = ((Z - centers[labels]) ** 2).sum(axis=1)
    spread = ((Z - np.average(Z, axis=0, weights=weights)) ** 2).sum(axis=1)
    counts = in_cluster.T @ np.eye(codes.max() + 1)[codes]
    balance = (counts.min(axis=1) / counts.max(axis=1)).min()
    return Recomputed(centers + shift, weights @ squares, weights @ spread, counts, balance)


@pytest.fixture(scope="session")
def from_scratch():
    """The function that recomputes a clustering from its labels."""
    return recompute
