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
    maximize_size_dual,
    measure_candidates,
    select_smallest,
)
from skfair._kernels.limits import intersection_coefficients
from skfair._kernels.sparse_samples import multiply, squared_norms

MANY_CLUSTERS = 50  # clusters, from which candidates are faster than all distances
MIN_SAMPLES = 100  # above which samples are many even for few clusters
MAX_ENTRIES = 100_000  # distances, up to which all are measured for more clusters as well
N_CANDIDATES, MAX_CANDIDATES = 16, 64  # of a sample, at first and at most ...
MAX_LISTED = 32_000_000  # ... and of all samples, which take 12 bytes each, or 16 at last
LAST_SHORT_SHARE = 1e-5  # the same in the last assignment
MAX_SELECTIONS = 6  # of candidates in a round
BLOCK_ROWS = 4096  # samples of which all distances are in memory at once
FLOAT32_ROUNDING = 1e-6  # of squared norms, in distances of float32


def bounds_many_sizes(problem, n_clusters, limits):
    """Whether sizes of many clusters are bounded, and nothing else."""
    return (
        (n_clusters >= MANY_CLUSTERS or problem.n_samples > MIN_SAMPLES)
        and bounds_only_sizes(limits)
        and problem.has_equal_weights
        and problem.unit_costs is None
        and problem.background is None
        # Distances are compared in float32, where extreme values have no square.
        and 1e-12 < max(problem.X.max(), -problem.X.min()) < 1e15
    )


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
    n_candidates: int = N_CANDIDATES


class SizeEvaluation(NamedTuple):
    """The dual on candidates at some multipliers."""

    value: float
    n_short: int  # number of samples that may need more candidates
    residual: float  # number of samples by which a size misses its bound
    labels: np.ndarray
    gaps: np.ndarray  # to the next best cluster


def select_candidates(X, centers, multipliers, n_candidates):
    """The candidates of samples of float32, from products of blocks."""
    n_samples, n_clusters = X.shape[0], len(centers)
    shape = n_samples, min(n_candidates, n_clusters)
    clusters, distances = np.empty(shape, np.int32), np.empty(shape, np.float32)
    limits = np.full(n_samples, np.inf, np.float32)
    narrow = centers.astype(np.float32)
    squares, factors = np.einsum("ij,ij->i", narrow, narrow), -2 * narrow.T
    offsets, shifts = (squares + multipliers).astype(np.float32), multipliers.astype(np.float32)
    costs = np.empty((min(BLOCK_ROWS, n_samples), n_clusters), np.float32)
    for begin in range(0, n_samples, BLOCK_ROWS):
        rows = slice(begin, begin + BLOCK_ROWS)
        block = X[rows]
        reduced = multiply(block, factors, costs[: block.shape[0]])
        reduced += offsets
        select_smallest(reduced, clusters[rows], distances[rows])
        norms = squared_norms(block).astype(np.float32)
        distances[rows] += norms[:, np.newaxis]
        if shape[1] < n_clusters:
            limits[rows] = distances[rows, -1] - FLOAT32_ROUNDING * (norms + squares.max())
        distances[rows] -= shifts[clusters[rows]]
    np.maximum(distances, 0, out=distances)
    return Candidates(clusters, distances, limits, multipliers.copy())


def list_all(X, n_clusters, dtype=np.float32):
    """All clusters as candidates, with distances that are not measured yet."""
    shape = X.shape[0], n_clusters
    clusters = np.empty(shape, np.int32)
    clusters[:] = np.arange(n_clusters)
    limits = np.full(shape[0], np.inf, np.float32)
    return Candidates(clusters, np.empty(shape, dtype), limits, np.zeros(n_clusters))


def can_list_all(n_samples, n_clusters):
    """Whether all clusters are candidates of each sample, as that takes little time."""
    return n_clusters < MANY_CLUSTERS or n_samples * n_clusters <= MAX_ENTRIES


def max_candidates(n_samples):
    """Number of candidates above which they would take more memory than all else."""
    return min(max(MAX_LISTED // n_samples, N_CANDIDATES), MAX_CANDIDATES)


def ascend(candidates, bounds, dual, slack, is_strict=False):
    """The dual after an ascent until sizes are within ``slack`` samples; its last evaluation.

    Stops as well where candidates are too few.
    """
    n_samples, n_clusters = len(candidates.limits), len(dual.multipliers)
    multipliers, evaluations = dual.multipliers.copy(), allocate_evaluations(n_samples, n_clusters)
    at, value, n_short, residual, width, ridge = maximize_size_dual(
        candidates,
        bounds,
        multipliers,
        dual.width,
        dual.ridge,
        float(slack),
        is_strict,
        evaluations,
    )
    labels, gaps = evaluations.labels[at], evaluations.gaps[at]
    now = SizeEvaluation(value, n_short, residual, labels, gaps)
    return dual._replace(multipliers=multipliers, width=width, ridge=ridge), now


def spread_bounds(smallest, largest, n_clusters):
    """The same minimum and maximum size for each cluster."""
    return np.full(n_clusters, float(smallest)), np.full(n_clusters, float(largest))


def assign_sizes(X, centers, bounds, dual, slack):
    """Candidates at the multipliers of a dual, more of them where these are too few; the ascent."""
    for i in range(MAX_SELECTIONS):
        candidates = select_candidates(X, centers, dual.multipliers, dual.n_candidates)
        dual, now = ascend(candidates, bounds, dual, slack)
        is_short = now.n_short > SHORT_SHARE * X.shape[0]
        if not is_short and (
            i > 0 or dual.n_candidates > N_CANDIDATES or now.residual <= 3 * slack
        ):
            break
        if is_short:
            n_candidates = min(2 * dual.n_candidates, max_candidates(X.shape[0]))
            dual = dual._replace(n_candidates=n_candidates)
    return candidates, dual, now


def assign_precisely(problem, centers, bounds, dual):
    """The dual at centres to within a sample, on exact distances to enough candidates."""
    X, n_clusters, n_candidates = problem.X, len(centers), N_CANDIDATES
    bounds = spread_bounds(*bounds, n_clusters)
    while True:
        if can_list_all(X.shape[0], n_clusters):
            candidates = list_all(X, n_clusters, np.float64)
        else:
            narrow = X.astype(np.float32, copy=False)
            selected = select_candidates(narrow, centers, dual.multipliers, n_candidates)
            candidates = selected._replace(distances=np.empty(selected.distances.shape))
        measure_candidates(X, centers, *candidates[:2])
        dual, now = ascend(candidates, bounds, dual, 0.75, is_strict=True)
        is_short = now.n_short > LAST_SHORT_SHARE * X.shape[0]
        if not is_short or n_candidates >= max_candidates(X.shape[0]):
            return candidates, dual, now
        n_candidates *= 2
