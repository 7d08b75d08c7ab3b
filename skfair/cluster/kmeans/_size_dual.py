"""The dual of bounds on the sizes of many clusters, on a few candidate clusters per sample.

A sample has distances to a few candidate clusters only, of least squared distance plus multiplier.
They suffice if no other cluster could cost less, which every evaluation of the dual tests.
"""

from functools import partial
from typing import NamedTuple

import numpy as np
from scipy import sparse

from skfair._kernels.candidates import (
    Candidates,
    evaluate_candidates,
    measure_candidates,
    select_smallest,
    solve_laplacian,
)
from skfair._kernels.limits import intersection_coefficients
from skfair._kernels.sparse_samples import multiply, squared_norms
from skfair.cluster.kmeans._assignment import (
    FIRST_RIDGE,
    GOOD_GAIN,
    NEAR_TIE_SHARE,
    NEAR_TIE_SHARE_RANGE,
    POOR_GAIN,
    RIDGE_FALL,
    RIDGE_GROWTH,
    RIDGE_RISE,
)

MANY_CLUSTERS = 50  # clusters, from which candidates are faster than all distances
N_CANDIDATES, MAX_CANDIDATES = 16, 64  # of a sample, at first and in rounds
SHORT_SHARE = 0.01  # share of the samples that may need more candidates in a round
LAST_SHORT_SHARE = 1e-5  # the same in the last assignment
MAX_SELECTIONS = 6  # of candidates in a round
MIN_RIDGE, MAX_RIDGE = 3e-3, 10.0
BLOCK_ROWS = 4096  # samples of which all distances are in memory at once
FLOAT32_ROUNDING = 1e-6  # of squared norms, in distances of float32
MIN_DUAL_GAIN = 1e-9  # relative gain of the dual below which the ascent stops


def bounds_many_sizes(problem, n_clusters, limits):
    """Whether sizes of many clusters are bounded, and nothing else."""
    return (
        n_clusters >= MANY_CLUSTERS
        and bounds_only_sizes(limits)
        and problem.has_equal_weights
        and problem.unit_costs is None
        and problem.background is None
        # Distances are compared in float32, where extreme values have no square.
        and 1e-12 < max(problem.X.max(), -problem.X.min()) < 1e15
    )


def bounds_only_sizes(limits):
    """Whether there are bounds on sizes, and nothing bounds the composition."""
    coefficients = intersection_coefficients(limits)
    is_composition = limits.level > 0 and limits.scales.shape[1] > 1
    is_size = (coefficients == coefficients[0]).all() and not limits.rounding.any()
    return len(limits.bounds) > 0 and is_size and not is_composition


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
    labels: np.ndarray
    second: np.ndarray  # next best cluster
    gaps: np.ndarray  # between the two
    counts: np.ndarray
    ties: np.ndarray  # samples with a gap below the width


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


def evaluate(candidates, bounds, is_strict, multipliers, width):
    """Evaluate the dual; a strict value is a lower bound of the cost of an assignment."""
    n_samples, n_clusters = len(candidates.limits), len(multipliers)
    # Rounds tolerate a few clusters whose multiplier has fallen more than those of others.
    changes = multipliers - candidates.multipliers
    shift = float(changes.min() if is_strict else np.quantile(changes, 0.05))
    labels, second = np.empty(n_samples, np.int32), np.empty(n_samples, np.int32)
    gaps, counts = np.empty(n_samples), np.empty(n_clusters, np.int64)
    ties = np.empty(n_samples, np.int64)
    outputs = labels, second, gaps, counts, ties
    total, n_short, n_ties = evaluate_candidates(candidates, multipliers, shift, width, *outputs)
    smallest, largest = bounds
    value = total - np.where(multipliers > 0, largest, smallest) @ multipliers
    return SizeEvaluation(value, n_short, labels, second, gaps, counts, ties[:n_ties])


def gradient(counts, multipliers, bounds):
    """The gradient of the dual; at multipliers of zero only what a bound is missed by."""
    smallest, largest = bounds
    residuals = np.maximum(counts - largest, 0) - np.maximum(smallest - counts, 0)
    bound = np.where(multipliers > 0, largest, smallest)
    return np.where(multipliers == 0, residuals, counts - bound).astype(float)


def ascend(candidates, bounds, dual, slack, is_strict=False):
    """Maximise the dual on candidates by damped Newton steps; sizes end within ``slack`` samples.

    Stops as well where candidates are too few. Returns the dual and its last evaluation.
    """
    multipliers, width, ridge, _ = dual
    evaluate_at = partial(evaluate, candidates, bounds, is_strict)
    now, n_samples = evaluate_at(multipliers, width), len(candidates.limits)
    for _ in range(40):
        slope = gradient(now.counts, multipliers, bounds)
        if now.n_short > 2 * SHORT_SHARE * n_samples or np.abs(slope).max() <= slack:
            break
        if not NEAR_TIE_SHARE_RANGE[0] <= len(now.ties) / n_samples <= NEAR_TIE_SHARE_RANGE[1]:
            gaps = now.gaps[:: 1 + n_samples // 4000]
            width = max(float(np.quantile(gaps, NEAR_TIE_SHARE)) * (1 + 1e-9), 1e-12)
            now = evaluate_at(multipliers, width)
        ties = _count_ties(now, width)
        for _ in range(10):
            stepped, predicted = _take_step(ties, multipliers, slope, ridge)
            trial = evaluate_at(stepped, width)
            gain = trial.value - now.value
            if gain > 0:
                break
            ridge *= RIDGE_GROWTH
        if not gain > 0:
            break
        if gain > GOOD_GAIN * predicted:
            ridge = max(RIDGE_FALL * ridge, MIN_RIDGE)
        elif gain < POOR_GAIN * predicted:
            ridge *= RIDGE_RISE
        multipliers, now = stepped, trial
        if gain <= MIN_DUAL_GAIN * abs(now.value):
            break
    ridge = min(max(ridge, MIN_RIDGE), MAX_RIDGE)
    return dual._replace(multipliers=multipliers, width=width, ridge=ridge), now


def _count_ties(now, width):
    """Weights of a sparse graph of clusters: near ties between them, by twice the width."""
    pairs = now.labels[now.ties], now.second[now.ties]
    shape, weights = (len(now.counts),) * 2, np.full(len(now.ties), 0.5 / width)
    ties = sparse.coo_array((weights, pairs), shape=shape).tocsr()
    return ties + ties.T


def _take_step(ties, multipliers, slope, ridge):
    """Multipliers after a Newton step, none of which changes its sign; the predicted gain."""
    degrees = np.asarray(ties.sum(axis=1)).ravel()
    free, step = (multipliers != 0) | (slope != 0), np.zeros(len(slope))
    damping = ridge * max(degrees[free].mean(), degrees.mean(), 1e-300)
    scratch = tuple(np.empty((3, len(slope))))
    graph = ties.indptr, ties.indices, ties.data
    for _ in range(3):
        solve_laplacian(*graph, degrees + damping, free, slope, step, 1e-3, scratch)
        is_crossing = free & (multipliers * (multipliers + step) < 0)
        if not is_crossing.any():
            break
        step[is_crossing] = -multipliers[is_crossing]
        free &= ~is_crossing
    crosses = multipliers * (multipliers + step) < 0
    stepped = np.where(crosses, 0.0, multipliers + step)
    step = stepped - multipliers
    return stepped, step @ (slope - 0.5 * (degrees * step - ties @ step))


def assign_sizes(X, centers, bounds, dual, slack):
    """Candidates at the multipliers of a dual, more of them where these are too few; the ascent."""
    for i in range(MAX_SELECTIONS):
        candidates = select_candidates(X, centers, dual.multipliers, dual.n_candidates)
        dual, now = ascend(candidates, bounds, dual, slack)
        residuals = np.abs(gradient(now.counts, dual.multipliers, bounds)).max()
        is_short = now.n_short > SHORT_SHARE * X.shape[0]
        if not is_short and (i > 0 or dual.n_candidates > N_CANDIDATES or residuals <= 3 * slack):
            break
        if is_short:
            n_candidates = min(2 * dual.n_candidates, MAX_CANDIDATES)
            dual = dual._replace(n_candidates=n_candidates)
    return candidates, dual, now


def assign_precisely(problem, centers, bounds, dual):
    """The dual at centres to within a sample, on exact distances to enough candidates."""
    narrow, n_candidates = problem.X.astype(np.float32, copy=False), N_CANDIDATES
    while True:
        selected = select_candidates(narrow, centers, dual.multipliers, n_candidates)
        distances = np.empty(selected.distances.shape)
        measure_candidates(problem.X, centers, selected.clusters, distances)
        candidates = selected._replace(distances=distances)
        dual, now = ascend(candidates, bounds, dual, 0.75, is_strict=True)
        if now.n_short <= LAST_SHORT_SHARE * narrow.shape[0] or n_candidates >= len(centers):
            return candidates, dual, now
        n_candidates *= 2
