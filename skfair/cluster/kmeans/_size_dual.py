"""The dual of bounds on the sizes of many clusters, on a few candidate clusters per sample.

A sample has distances to a few candidate clusters only, of least squared distance plus multiplier.
They suffice if no other cluster could cost less, which every evaluation of the dual tests.
"""

from typing import NamedTuple

import numpy as np

from skfair._kernels.candidates import (
    FIRST_RIDGE,
    SHORT_SHARE,
    Candidates,
    allocate_evaluations,
    find_short_lists,
    maximize_size_dual,
    measure_candidates,
    select_smallest,
)
from skfair._kernels.limits import intersection_coefficients
from skfair._kernels.sparse_samples import multiply, squared_norms

MANY_CLUSTERS = 50  # clusters, from which candidates are faster than all distances
MIN_SAMPLES = 100  # above which samples are many even for few clusters
MAX_ENTRIES = 100_000  # distances, up to which all are measured for more clusters as well
N_CANDIDATES = 16  # of a sample
MAX_SELECTIONS, MAX_LAST_SELECTIONS = 6, 100  # of candidates in a round, and at last
SLACK = 0.75  # samples by which sizes may miss their bounds, before shortest paths are searched
BLOCK_ROWS = 4096  # samples of which all distances are in memory at once
FLOAT32_ROUNDING = 1e-6  # of squared norms, in distances of float32


def bounds_only_sizes(limits):
    """Whether all clusters share bounds on sizes, and nothing bounds the composition."""
    coefficients = intersection_coefficients(limits)
    is_composition = limits.level > 0 and limits.scales.shape[1] > 1
    is_size = (coefficients == coefficients[0]).all() and not limits.rounding.any()
    is_size &= len(limits.rows) > 0 and len(limits.bounds) == 1
    return is_size and not is_composition


# The dual of sizes: one multiplier per cluster, positive at the maximum, negative at the minimum.


class SizeDual(NamedTuple):
    """The end of a dual ascent, from which the next one starts."""

    multipliers: np.ndarray  # (n_clusters,)
    width: float = 0.0
    ridge: float = FIRST_RIDGE


class SizeEvaluation(NamedTuple):
    """The dual on candidates at some multipliers."""

    value: float
    n_short: int  # number of samples that may need more candidates
    residual: float  # weight by which a size misses its bound
    labels: np.ndarray
    gaps: np.ndarray  # to the next best cluster


def select_candidates(X, centers, multipliers, n_candidates=N_CANDIDATES, dtype=np.float32):
    """The candidates of all samples at the multipliers."""
    shape = X.shape[0], min(n_candidates, len(centers))
    arrays = np.empty(shape, np.int32), np.empty(shape, dtype), np.full(shape[0], np.inf)
    candidates = Candidates(*arrays, multipliers.copy())
    select_again(X, centers, candidates, np.arange(shape[0]))
    return candidates


def select_again(X, centers, candidates, rows):
    """Select the candidates of some samples again, from products of blocks of float32."""
    clusters, distances, limits, multipliers = candidates
    narrow = centers.astype(np.float32)
    squares, factors = np.einsum("ij,ij->i", narrow, narrow), -2 * narrow.T
    offsets, shifts = (squares + multipliers).astype(np.float32), multipliers.astype(np.float32)
    costs = np.empty((min(BLOCK_ROWS, len(rows)), len(centers)), np.float32)
    for begin in range(0, len(rows), BLOCK_ROWS):
        part = rows[begin : begin + BLOCK_ROWS]
        block, chosen = X[part].astype(np.float32, copy=False), clusters[part]
        nearest = np.empty(chosen.shape, np.float32)
        reduced = multiply(block, factors, costs[: len(part)])
        reduced += offsets
        select_smallest(reduced, chosen, nearest)
        norms = squared_norms(block).astype(np.float32)
        nearest += norms[:, np.newaxis]
        if chosen.shape[1] < len(centers):
            limits[part] = nearest[:, -1] - FLOAT32_ROUNDING * (norms + squares.max())
        clusters[part], distances[part] = chosen, np.maximum(nearest - shifts[chosen], 0)


def list_all(X, n_clusters, dtype=np.float32):
    """All clusters as candidates, with distances that are not measured yet."""
    shape = X.shape[0], n_clusters
    clusters = np.empty(shape, np.int32)
    clusters[:] = np.arange(n_clusters)
    limits = np.full(shape[0], np.inf)
    return Candidates(clusters, np.empty(shape, dtype), limits, np.zeros(n_clusters))


def can_list_all(n_samples, n_clusters):
    """Whether all clusters are candidates of each sample, as that takes little time."""
    return n_clusters < MANY_CLUSTERS or n_samples * n_clusters <= MAX_ENTRIES


def _list_candidates(X, centers, multipliers):
    """All clusters as candidates of all samples where they are few, else some of them."""
    if not can_list_all(X.shape[0], len(centers)):
        return select_candidates(X, centers, multipliers)
    candidates = list_all(X, len(centers))
    measure_candidates(X.astype(np.float32), centers.astype(np.float32), *candidates[:2])
    return candidates


def ascend(candidates, weights, bounds, dual, slack):
    """The dual after an ascent until sizes are within a ``slack``; its last evaluation.

    Stops as well where candidates are too few.
    """
    n_samples, n_clusters = len(candidates.limits), len(dual.multipliers)
    multipliers, evaluations = dual.multipliers.copy(), allocate_evaluations(n_samples, n_clusters)
    at, value, n_short, residual, width, ridge = maximize_size_dual(
        candidates, weights, bounds, multipliers, dual.width, dual.ridge, float(slack), evaluations
    )
    labels, gaps = evaluations.labels[at], evaluations.gaps[at]
    now = SizeEvaluation(value, n_short, residual, labels, gaps)
    return SizeDual(multipliers, width, ridge), now


def measure_excess(multipliers, members, bounds):
    """Sum of samples by which sizes miss their bounds, and the bounds times multipliers."""
    targets = np.where(multipliers < 0, *bounds)
    excess = members - np.where(multipliers == 0, np.clip(members, *bounds), targets)
    return abs(excess).sum(), multipliers @ targets


def spread_bounds(smallest, largest, n_clusters):
    """The same minimum and maximum size for each cluster."""
    return np.full(n_clusters, float(smallest)), np.full(n_clusters, float(largest))


def assign_sizes(
    X,
    centers,
    bounds,
    dual,
    slack=SLACK,
    candidates=None,
    max_selections=MAX_LAST_SELECTIONS,
    weights=None,
):
    """The ascent on candidates, of which those of some samples are selected again in between.

    Without ``candidates`` they are selected at the multipliers of the dual, and without ``weights``
    all samples count 1.
    """
    if candidates is None:
        candidates = _list_candidates(X, centers, dual.multipliers)
    weights = np.ones(X.shape[0]) if weights is None else weights
    for _ in range(max_selections):
        dual, now = ascend(candidates, weights, bounds, dual, slack)
        if now.n_short <= SHORT_SHARE * X.shape[0]:
            break
        rows = find_short_lists(candidates, dual.multipliers)
        select_again(X, centers, candidates, rows)
    return candidates, dual, now
